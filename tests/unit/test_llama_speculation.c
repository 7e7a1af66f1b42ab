/* SPDX-License-Identifier: Apache-2.0 */
/* Speculation on the default model, greedily: the answers of many prompts with drafts in batches against single-token
 * passes. The model's own arithmetic may differ between a batch and a single pass; where that makes the two best
 * tokens change places, both rows are compared: as near as the arithmetic leaves them, it is the model's doing,
 * counted and printed, and the rest of that answer can't be compared. Rows that are further apart are a failure: a
 * stale or missing token in the cache moves logits by whole units. */
#include "llama_support.h"

#include <math.h>
#include <tombola/session.h>

enum { SHORT_PROMPTS = 20, LONG_PROMPTS = 200, TOKENS = 24, MOST_PROMPT = 64, CONTEXT = 256 };

/* How far two rows of one position may be apart. With one thread on AVX2 they were equal to the last bit; other
 * kernels sum in another order, which for a model of this size moves logits by hundredths. */
#define ARITHMETIC 0.5f

static char model_path[512];

/* ---- a model that remembers the rows it gave ---- */

struct recorder {
  tombola_model *model;
  size_t vocab_size;
  float *rows; /* CONTEXT of them, by position */
  int32_t positions[CONTEXT];
};

static void recorder_free(void *self) {
  (void)self;
}

static void recorder_info(void *self, struct tombola_model_info *info) {
  tombola_model_info(((struct recorder *)self)->model, info);
}

static const tombola_vocabulary *recorder_vocabulary(void *self) {
  return tombola_model_vocabulary(((struct recorder *)self)->model);
}

static enum tombola_status recorder_tokenize(void *self, const char *text, size_t length, unsigned flags,
                                             tombola_token *tokens, size_t capacity, size_t *count,
                                             struct tombola_error *error) {
  return tombola_model_tokenize(((struct recorder *)self)->model, text, length, flags, tokens, capacity,
                                count, error);
}

static enum tombola_status recorder_template(void *self, const char *chat_template,
                                             const struct tombola_chat_message *messages, size_t n_messages,
                                             int add_assistant, char *text, size_t capacity, size_t *length,
                                             struct tombola_error *error) {
  return tombola_model_apply_template(((struct recorder *)self)->model, chat_template, messages, n_messages,
                                      add_assistant, text, capacity, length, error);
}

static enum tombola_status recorder_decode(void *self, const struct tombola_batch_item *items, size_t count,
                                           struct tombola_error *error) {
  struct recorder *recorder = self;
  assert_true(count <= CONTEXT);
  for (size_t i = 0; i < count; i++)
    recorder->positions[i] = items[i].position;
  return tombola_model_decode(recorder->model, items, count, error);
}

static enum tombola_status recorder_logits(void *self, size_t item, struct tombola_row *row) {
  struct recorder *recorder = self;
  enum tombola_status status = tombola_model_logits(recorder->model, item, row);
  if (status) return status;
  assert_int_equal(row->dtype, TOMBOLA_F32);
  memcpy(recorder->rows + (size_t)recorder->positions[item] * recorder->vocab_size, row->data,
         recorder->vocab_size * sizeof(float));
  return TOMBOLA_OK;
}

static enum tombola_status recorder_remove(void *self, int32_t sequence, int32_t from, int32_t to) {
  return tombola_model_remove(((struct recorder *)self)->model, sequence, from, to);
}

static const struct tombola_model_ops recorder_ops = {.struct_size = sizeof recorder_ops,
                                                      .free = recorder_free,
                                                      .info = recorder_info,
                                                      .vocabulary = recorder_vocabulary,
                                                      .tokenize = recorder_tokenize,
                                                      .apply_template = recorder_template,
                                                      .decode = recorder_decode,
                                                      .logits = recorder_logits,
                                                      .remove = recorder_remove};

static struct recorder *recorder_next; /* a backend's load() has no other way to be told */

static enum tombola_status recorder_load(const char *path, const struct tombola_model_params *params,
                                         const struct tombola_model_ops **ops, void **self,
                                         struct tombola_error *error) {
  (void)path, (void)params, (void)error;
  *ops = &recorder_ops;
  *self = recorder_next;
  return TOMBOLA_OK;
}

static tombola_model *record(struct recorder *recorder, tombola_model *model) {
  static const struct tombola_backend backend = {"recorder", NULL, recorder_load};
  const struct tombola_backend *backends = &backend;
  tombola_model *recording;
  recorder->model = model;
  recorder->vocab_size = tombola_vocabulary_count(tombola_model_vocabulary(model));
  recorder->rows = calloc(CONTEXT * recorder->vocab_size, sizeof *recorder->rows);
  assert_non_null(recorder->rows);
  recorder_next = recorder;
  assert_ok(tombola_model_load(&backends, 1, "/dev/null", NULL, &recording, NULL));
  return recording;
}

/* ---- one way of answering ---- */

struct way {
  struct recorder recorder;
  tombola_model *model;
  tombola_session *session;
  tombola_sampler *sampler;
  tombola_speculation *speculation; /* or NULL */
  tombola_token answer[TOKENS];
  size_t count;
  struct tombola_speculation_stats sums;
};

static void way_make(struct way *way, tombola_model *model, int32_t sequence,
                     struct tombola_speculation_params *speculation) {
  struct tombola_sampler_params params = {.struct_size = sizeof params};
  memset(way, 0, sizeof *way);
  way->model = record(&way->recorder, model);
  assert_ok(tombola_sampler_params_default(&params, NULL, NULL));
  params.temperature = 0;
  assert_ok(tombola_sampler_new(&params, NULL, way->recorder.vocab_size, NULL, &way->sampler, NULL));
  assert_ok(tombola_session_new(way->model, sequence, NULL, &way->session, NULL));
  if (speculation) assert_ok(tombola_speculation_new(way->model, speculation, NULL, &way->speculation, NULL));
}

static void way_free(struct way *way) {
  tombola_speculation_free(way->speculation);
  tombola_session_free(way->session);
  tombola_sampler_free(way->sampler);
  tombola_model_free(way->model);
  free(way->recorder.rows);
}

static int note(void *context, const struct tombola_token_event *event) {
  struct way *way = context;
  way->answer[way->count++] = event->token;
  return 1;
}

static void way_answer(struct way *way, const tombola_token *prompt, size_t count) {
  struct tombola_generate_params params = {.struct_size = sizeof params,
                                           .max_tokens = TOKENS,
                                           .ignore_end = 1,
                                           .on_token = note,
                                           .context = way,
                                           .speculation = way->speculation};
  struct tombola_generation_stats stats;
  way->count = 0;
  assert_ok(tombola_session_generate(way->session, way->sampler, prompt, count, &params, &stats, NULL));
  way->sums.drafted += stats.speculation.drafted;
  way->sums.accepted += stats.speculation.accepted;
  way->sums.rounds += stats.speculation.rounds;
  way->sums.emitted += stats.speculation.emitted;
}

/* ---- comparing ---- */

static const float *row_at(const struct way *way, size_t position) {
  return way->recorder.rows + position * way->recorder.vocab_size;
}

static float distance(const float *a, const float *b, size_t count) {
  float most = 0;
  for (size_t i = 0; i < count; i++)
    if (!(fabsf(a[i] - b[i]) <= most)) most = fabsf(a[i] - b[i]);
  return most;
}

struct outcome {
  size_t same, flips;
  float furthest;
};

static void compare(const struct way *plain, const struct way *other, size_t prompt, size_t number,
                    struct outcome *outcome) {
  size_t vocab_size = plain->recorder.vocab_size;
  assert_int_equal(plain->count, TOKENS);
  assert_int_equal(other->count, TOKENS);
  for (size_t i = 0; i < TOKENS; i++) {
    const float *a = row_at(plain, prompt + i - 1), *b = row_at(other, prompt + i - 1);
    float far = distance(a, b, vocab_size);
    if (far > outcome->furthest) outcome->furthest = far;
    assert_true(far <= ARITHMETIC); /* a NaN isn't */
    tombola_token x = plain->answer[i], y = other->answer[i];
    if (x == y) {
      outcome->same++;
      continue;
    }
    print_message(
        "prompt %zu, token %zu: single pass %d (%.6f, and %.6f for %d), batch %d (%.6f, and %.6f for %d); "
        "the rows differ by at most %.6f\n",
        number, i, (int)x, (double)a[x], (double)a[y], (int)y, (int)y, (double)b[y], (double)b[x], (int)x,
        (double)far);
    outcome->flips++;
    return;
  }
}

static size_t write_prompt(tombola_model *model, size_t number, tombola_token *prompt) {
  static const char *const forms[] = {"Tell me about %s.",
                                      "The history of %s begins",
                                      "Question: what is %s?\nAnswer:",
                                      "A poem on %s:\n",
                                      "def %s(x):\n    return",
                                      "Here are ten facts about %s:\n1.",
                                      "Once upon a time, %s was",
                                      "%s, %s and %s are words that rhyme with",
                                      "In French, %s means",
                                      "My opinion of %s is that"};
  static const char *const topics[] = {
      "the sea", "bread", "Paris",   "music", "trains",    "the moon", "cats",  "gold",  "chess", "rivers",
      "winter",  "silk",  "bridges", "salt",  "mountains", "bicycles", "glass", "honey", "maps",  "thunder"};
  enum { FORMS = sizeof forms / sizeof *forms, TOPICS = sizeof topics / sizeof *topics };
  const char *form = forms[number % FORMS], *topic = topics[(number + number / FORMS) % TOPICS];
  char text[256];
  size_t length = 0, count;
  for (; *form && length < sizeof text - 16; form++) {
    if (form[0] == '%' && form[1] == 's') {
      length += (size_t)snprintf(text + length, sizeof text - length, "%s", topic);
      form++;
    } else {
      text[length++] = *form;
    }
  }
  assert_ok(tombola_model_tokenize(model, text, length, TOMBOLA_TOKENIZE_ADD_SPECIAL, prompt, MOST_PROMPT,
                                   &count, NULL));
  return count;
}

static void compare_prompts(struct way *plain, struct way *other, size_t prompts) {
  struct outcome outcome = {0};
  tombola_token prompt[MOST_PROMPT];
  for (size_t i = 0; i < prompts; i++) {
    size_t count = write_prompt(plain->model, i, prompt);
    way_answer(plain, prompt, count);
    way_answer(other, prompt, count);
    compare(plain, other, count, i, &outcome);
  }
  print_message(
      "%zu prompts: %zu tokens the same, %zu near-ties flipped by the model's arithmetic, rows differ by at "
      "most %.6f; accepted %zu of %zu, %.2f tokens a round\n",
      prompts, outcome.same, outcome.flips, (double)outcome.furthest, other->sums.accepted,
      other->sums.drafted, (double)other->sums.emitted / (double)other->sums.rounds);
  assert_true(other->sums.drafted > prompts && other->sums.accepted > 0);
  assert_true(outcome.flips * 10 <= prompts);
}

static tombola_model *load(size_t sequences) {
  struct tombola_model_params params = support_params(CONTEXT, sequences);
  struct tombola_error error = {.message = ""};
  tombola_model *model;
  if (support_load(model_path, &params, &model, &error)) fail_msg("%s", error.message);
  return model;
}

/* Drafts at every chance, so that nearly every token is judged in a batch. */
static void test_lookup(void **state) {
  (void)state;
  tombola_model *model = load(2);
  struct tombola_speculation_params params = {.struct_size = sizeof params,
                                              .kind = TOMBOLA_SPECULATION_PROMPT_LOOKUP,
                                              .ngram_max = 3,
                                              .ngram_min = 1,
                                              .max_draft = 3,
                                              .governor = TOMBOLA_GOVERNOR_OFF};
  struct way plain, lookup;
  way_make(&plain, model, 0, NULL);
  way_make(&lookup, model, 1, &params);
  compare_prompts(&plain, &lookup, support_long() ? LONG_PROMPTS : SHORT_PROMPTS);
  way_free(&lookup);
  way_free(&plain);
  tombola_model_free(model);
}

/* The model as its own draft, loaded a second time: what is accepted fills whole batches. */
static void test_draft_model(void **state) {
  (void)state;
  tombola_model *model = load(2), *draft = load(1);
  struct tombola_speculation_params params = {
      .struct_size = sizeof params, .kind = TOMBOLA_SPECULATION_DRAFT_MODEL, .draft = draft};
  struct way plain, drafted;
  way_make(&plain, model, 0, NULL);
  way_make(&drafted, model, 1, &params);
  compare_prompts(&plain, &drafted, support_long() ? SHORT_PROMPTS : 3);
  assert_true(drafted.sums.accepted * 10 >= drafted.sums.drafted * 8);
  way_free(&drafted);
  way_free(&plain);
  tombola_model_free(draft);
  tombola_model_free(model);
}

int main(void) {
  if (!support_default_model(model_path, sizeof model_path)) {
    fprintf(stderr, "skipped: the default model is not here\n");
    return EXIT_SKIPPED;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lookup),
      cmocka_unit_test(test_draft_model),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
