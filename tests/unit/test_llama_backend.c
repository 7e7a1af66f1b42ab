/* SPDX-License-Identifier: Apache-2.0 */
/* The backend over libllama with the default model: text, chat templates, batches, the cache, a whole answer.
 * Rows that were computed in batches of different shapes are compared within a tolerance: ggml may multiply
 * matrices by other kernels for one column than for several, so the last bits of a logit may depend on the
 * batch. */
#include "llama_support.h"

#include <llama.h>
#include <math.h>
#include <tombola/session.h>

enum { CONTEXT = 512, SEQUENCES = 3, MOST_TOKENS = 256 };

/* The largest difference that the batch's shape may make, where logits reach from about -20 to 30. It was 0
 * where this was written (AVX2, one thread). Where kernels differ in the last bits, other roundings of the
 * activations to 8 bits follow, and those alone move a logit of this model by up to 0.9; test_llama_files.c
 * has a model without quantisation, and narrow bounds. Another text differs by more than five times this,
 * which is tested too. */
static const double TOLERANCE = 1.5;

static tombola_model *model;
static size_t vocab_size;

static int load(void **state) {
  (void)state;
  char path[4096];
  struct tombola_error error = {0};
  struct tombola_model_params params = support_params(CONTEXT, SEQUENCES);
  if (!support_default_model(path, sizeof path)) return -1;
  if (support_load(path, &params, &model, &error) != TOMBOLA_OK) {
    fprintf(stderr, "%s\n", error.message);
    return -1;
  }
  vocab_size = tombola_vocabulary_count(tombola_model_vocabulary(model));
  return 0;
}

static int unload(void **state) {
  (void)state;
  tombola_model_free(model);
  return 0;
}

static int forget(void **state) {
  (void)state;
  for (int32_t s = 0; s < SEQUENCES; s++)
    tombola_model_remove(model, s, 0, -1);
  return 0;
}

/* ---- helpers ---- */

static size_t tokenize(const char *text, unsigned flags, tombola_token *tokens) {
  struct tombola_error error = {0};
  size_t count;
  assert_ok(tombola_model_tokenize(model, text, strlen(text), flags, tokens, MOST_TOKENS, &count, &error));
  return count;
}

/* Runs tokens as positions from `position` on; the last one's logits are wanted. */
static void run(const tombola_token *tokens, size_t count, int32_t position, int32_t sequence) {
  struct tombola_batch_item items[MOST_TOKENS];
  struct tombola_error error = {0};
  for (size_t i = 0; i < count; i++)
    items[i] = (struct tombola_batch_item){tokens[i], position + (int32_t)i, sequence, i + 1 == count};
  if (tombola_model_decode(model, items, count, &error) != TOMBOLA_OK) fail_msg("%s", error.message);
}

static const float *row_of(size_t item) {
  struct tombola_row row;
  assert_ok(tombola_model_logits(model, item, &row));
  assert_int_equal(row.dtype, TOMBOLA_F32);
  assert_int_equal(row.count, vocab_size);
  return row.data;
}

static float *copy_row(size_t item) {
  float *copy = malloc(vocab_size * sizeof *copy);
  assert_non_null(copy);
  memcpy(copy, row_of(item), vocab_size * sizeof *copy);
  return copy;
}

static tombola_token best(const float *row) {
  size_t found = 0;
  for (size_t i = 1; i < vocab_size; i++)
    if (row[i] > row[found]) found = i;
  return (tombola_token)found;
}

static double distance(const float *a, const float *b) {
  double largest = 0;
  for (size_t i = 0; i < vocab_size; i++) {
    double difference = fabs((double)a[i] - (double)b[i]);
    if (!(difference <= largest)) largest = difference; /* a NaN is kept */
  }
  return largest;
}

static void assert_near(const char *what, const float *a, const float *b) {
  double far = distance(a, b);
  printf("%s: largest difference of a logit %.3g\n", what, far);
  assert_true(far <= TOLERANCE);
  assert_int_equal(best(a), best(b));
}

/* ---- text ---- */

static void text_comes_back(void **state) {
  (void)state;
  static const char *const texts[] = {"Hello, world",
                                      "  two spaces\n\n\ttab",
                                      "naïve Übergröße",
                                      "日本語のテキスト",
                                      "🤣👩‍👩‍👧 emoji ❤️",
                                      "1234567890",
                                      "<0xEA> is six characters",
                                      "a",
                                      ""};
  for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
    tombola_token tokens[MOST_TOKENS];
    size_t count = tokenize(texts[t], 0, tokens);
    char text[1024] = "";
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
      size_t length;
      const char *bytes = tombola_vocabulary_bytes(tombola_model_vocabulary(model), tokens[i], &length);
      assert_true(used + length < sizeof text);
      memcpy(text + used, bytes, length);
      used += length;
    }
    text[used] = '\0';
    assert_string_equal(text, texts[t]);
  }
}

static void tokenize_says_how_many(void **state) {
  (void)state;
  tombola_token tokens[MOST_TOKENS], few[2] = {-7, -7};
  size_t count, needed = tokenize("one two three four", 0, tokens);
  assert_int_equal(needed, 4);
  assert_int_equal(tombola_model_tokenize(model, "one two three four", 18, 0, few, 1, &count, NULL),
                   TOMBOLA_OUT_OF_RANGE);
  assert_int_equal(count, needed);
  assert_int_equal(few[1], -7);
  assert_int_equal(tombola_model_tokenize(model, "one two three four", 18, 0, NULL, 0, &count, NULL),
                   TOMBOLA_OUT_OF_RANGE);
  assert_int_equal(count, needed);
}

static void special_tokens_only_when_asked(void **state) {
  (void)state;
  tombola_token tokens[MOST_TOKENS];
  assert_int_equal(tokenize("<|im_end|>", TOMBOLA_TOKENIZE_PARSE_SPECIAL, tokens), 1);
  tombola_token end = tokens[0];
  assert_true(tokenize("<|im_end|>", 0, tokens) > 1);
  const tombola_vocabulary *vocabulary = tombola_model_vocabulary(model);
  assert_int_equal(tombola_vocabulary_flags(vocabulary, end), TOMBOLA_TOKEN_SPECIAL | TOMBOLA_TOKEN_END);
  size_t count, length;
  const tombola_token *ends = tombola_vocabulary_ends(vocabulary, &count);
  bool listed = false;
  for (size_t i = 0; i < count; i++)
    listed = listed || ends[i] == end;
  assert_true(listed);
  const char *bytes = tombola_vocabulary_bytes(vocabulary, end, &length);
  assert_int_equal(length, 10);
  assert_memory_equal(bytes, "<|im_end|>", 10);
  tokenize("Paris", 0, tokens);
  assert_int_equal(tombola_vocabulary_flags(vocabulary, tokens[0]), 0);
  /* The vocabulary's own callback is the same tokeniser. */
  assert_ok(tombola_vocabulary_tokenize(vocabulary, "<|im_end|>", 10, 1, tokens, MOST_TOKENS, &count));
  assert_int_equal(count, 1);
  assert_int_equal(tokens[0], end);
}

/* Long runs and bytes that are no UTF-8 have made tokenisers overflow their stack or throw. */
static void hostile_text(void **state) {
  (void)state;
  enum { LONG = 1 << 16 };
  tombola_token *tokens = malloc(LONG * sizeof *tokens);
  char *text = malloc(LONG);
  assert_non_null(tokens);
  assert_non_null(text);
  static const char fillers[] = {'a', ' ', '7', '\n', '!', (char)0xFF, (char)0xE4, '\0'};
  for (size_t f = 0; f < sizeof fillers; f++) {
    size_t count;
    memset(text, fillers[f], LONG);
    assert_ok(tombola_model_tokenize(model, text, LONG, TOMBOLA_TOKENIZE_PARSE_SPECIAL, tokens, LONG, &count,
                                     NULL));
    assert_true(count > 0);
  }
  free(text);
  free(tokens);
}

static void facts(void **state) {
  (void)state;
  struct tombola_model_info info = {.struct_size = sizeof info};
  tombola_model_info(model, &info);
  assert_non_null(strstr(info.name, "Smol"));
  assert_non_null(info.device);
  if (!strstr(info.device, "CPU"))
    printf("device: %s\n", info.device);
  else
    assert_non_null(strstr(info.device, "1 thread)"));
  assert_non_null(info.chat_template);
  assert_int_equal(info.context, CONTEXT);
  assert_int_equal(info.trained_context, 8192);
  assert_int_equal(info.sequences, SEQUENCES);
  assert_int_equal(info.batch, 512);
  assert_int_equal(vocab_size, 49152);
  assert_non_null(strchr(tombola_llama_version(), '('));
}

/* ---- chat templates ---- */

static const struct tombola_chat_message question[] = {{"user", "What is the capital of France?"}};
static const char chatml[] =
    "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n";

static enum tombola_status apply(const char *name, char *text, size_t capacity, size_t *length,
                                 struct tombola_error *error) {
  return tombola_model_apply_template(model, name, question, 1, 1, text, capacity, length, error);
}

static void chat_templates(void **state) {
  (void)state;
  char text[512];
  size_t length;
  struct tombola_error error = {0};
  static const char *const same[] = {NULL, "chatml",
                                     "{% for m in messages %}<|im_start|>{{ m.role }}{% endfor %}"};
  for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
    assert_ok(apply(same[i], text, sizeof text, &length, &error));
    assert_int_equal(length, sizeof chatml - 1);
    assert_memory_equal(text, chatml, length);
  }
  assert_int_equal(apply(NULL, text, 10, &length, &error), TOMBOLA_OUT_OF_RANGE);
  assert_int_equal(length, sizeof chatml - 1);
  assert_ok(apply("llama3", text, sizeof text, &length, &error));
  assert_memory_equal(text, "<|start_header_id|>user", 23);
  /* libllama itself would take this one for Llama 2. */
  assert_int_equal(apply("mistral-v9", text, sizeof text, &length, &error), TOMBOLA_NOT_FOUND);
  assert_non_null(strstr(error.message, "'mistral-v9'"));
  assert_non_null(strstr(error.message, "chatml"));
  assert_string_equal(error.param, "chat_template");
  assert_int_equal(apply("", text, sizeof text, &length, &error), TOMBOLA_NOT_FOUND);
  assert_int_equal(apply("{{ something else }}", text, sizeof text, &length, &error), TOMBOLA_UNSUPPORTED);
  assert_int_equal(
      tombola_model_apply_template(model, NULL, question, 0, 1, text, sizeof text, &length, &error),
      TOMBOLA_INVALID_ARGUMENT);
  const char *names[4];
  assert_true(tombola_llama_templates(names, 4) > 40);
  assert_non_null(names[3]);
}

/* ---- batches and the cache ---- */

static void cached_prefix_equals_cold(void **state) {
  (void)state;
  tombola_token tokens[MOST_TOKENS];
  size_t count = tokenize(chatml, TOMBOLA_TOKENIZE_PARSE_SPECIAL, tokens);
  run(tokens, count, 0, 0);
  float *cold = copy_row(count - 1);
  run(tokens, count, 0, 1);
  assert_int_equal(memcmp(cold, row_of(count - 1), vocab_size * sizeof *cold),
                   0); /* the same batch: the same bits */

  assert_ok(tombola_model_remove(model, 0, (int32_t)count - 1, -1));
  run(tokens + count - 1, 1, (int32_t)count - 1, 0);
  assert_near("one token after a cached prefix", cold, row_of(0));

  assert_ok(tombola_model_remove(model, 0, (int32_t)count / 2, -1));
  run(tokens + count / 2, count - count / 2, (int32_t)count / 2, 0);
  assert_near("half of the prompt after a cached prefix", cold, row_of(count - count / 2 - 1));
  free(cold);
}

static void two_sequences_equal_one(void **state) {
  (void)state;
  tombola_token a[MOST_TOKENS], b[MOST_TOKENS];
  size_t n = tokenize("The capital of France is", 0, a),
         m = tokenize("Once upon a time there was a small", 0, b);
  run(a, n, 0, 2);
  float *alone_a = copy_row(n - 1);
  assert_ok(tombola_model_remove(model, 2, 0, -1));
  run(b, m, 0, 2);
  float *alone_b = copy_row(m - 1);

  /* Interleaved, so that items and rows don't stand in the order of the sequences. */
  struct tombola_batch_item items[MOST_TOKENS];
  size_t count = 0, item_a = 0, item_b = 0;
  for (size_t i = 0; i < n || i < m; i++) {
    if (i < m) items[item_b = count++] = (struct tombola_batch_item){b[i], (int32_t)i, 1, i + 1 == m};
    if (i < n) items[item_a = count++] = (struct tombola_batch_item){a[i], (int32_t)i, 0, i + 1 == n};
  }
  assert_ok(tombola_model_decode(model, items, count, NULL));
  assert_near("a of two", alone_a, row_of(item_a));
  assert_near("b of two", alone_b, row_of(item_b));
  assert_true(distance(alone_a, alone_b) > 5 * TOLERANCE); /* they are different rows */
  struct tombola_row row;
  assert_int_equal(tombola_model_logits(model, 0, &row), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_model_logits(model, count, &row), TOMBOLA_INVALID_ARGUMENT);
  free(alone_a);
  free(alone_b);
}

static void copy_shares_a_prefix(void **state) {
  (void)state;
  tombola_token tokens[MOST_TOKENS];
  size_t count = tokenize("The quick brown fox jumps over the lazy", 0, tokens);
  int32_t last = (int32_t)count - 1;
  run(tokens, count, 0, 0);
  assert_ok(tombola_model_copy(model, 0, 1, 0, last));
  assert_ok(tombola_model_remove(model, 0, last, -1));
  run(tokens + last, 1, last, 1);
  float *copied = copy_row(0);
  run(tokens + last, 1, last, 0);
  assert_int_equal(memcmp(copied, row_of(0), vocab_size * sizeof *copied), 0);
  free(copied);
  assert_int_equal(tombola_model_copy(model, 0, 1, 0, -1), TOMBOLA_INVALID_ARGUMENT); /* taken */
  assert_ok(tombola_model_copy(model, 0, 0, 0, -1));
  assert_ok(tombola_model_copy(model, 0, 2, 3, -1)); /* without its start */
  run(tokens, 1, last + 1, 2);
}

static void shift_closes_a_gap(void **state) {
  (void)state;
  tombola_token tokens[MOST_TOKENS];
  size_t count = tokenize("One two three four five six seven eight nine ten eleven", 0, tokens);
  int32_t length = (int32_t)count;
  run(tokens, count, 0, 0);
  assert_int_equal(tombola_model_shift(model, 0, 0, -1, -1), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_model_shift(model, 0, 0, -1, CONTEXT), TOMBOLA_INVALID_ARGUMENT);
  assert_ok(tombola_model_remove(model, 0, 2, 4));
  assert_ok(tombola_model_shift(model, 0, 4, -1, -2));
  run(tokens, 1, length - 2, 0); /* fails unless that is the next position */
}

static void refused_batches_change_nothing(void **state) {
  (void)state;
  tombola_token tokens[MOST_TOKENS];
  size_t count = tokenize("The capital of France is", 0, tokens);
  run(tokens, count - 1, 0, 0);
  int32_t next = (int32_t)count - 1;
  struct tombola_error error = {0};
  struct tombola_batch_item gap[] = {{tokens[0], next, 0, 1}, {tokens[0], next + 2, 0, 1}};
  assert_int_equal(tombola_model_decode(model, gap, 2, &error), TOMBOLA_INVALID_ARGUMENT);
  assert_string_equal(error.param, "position");
  struct tombola_batch_item outside[] = {{tokens[0], next, 0, 1}, {tokens[0], CONTEXT, 0, 1}};
  assert_int_equal(tombola_model_decode(model, outside, 2, &error), TOMBOLA_OUT_OF_RANGE);
  struct tombola_batch_item unknown = {(tombola_token)vocab_size, next, 0, 1};
  assert_int_equal(tombola_model_decode(model, &unknown, 1, &error), TOMBOLA_INVALID_ARGUMENT);
  struct tombola_row row;
  run(tokens + next, 1, next, 0);
  assert_ok(tombola_model_logits(model, 0, &row));
  /* After a refusal there are no rows to read by mistake. */
  assert_int_equal(tombola_model_decode(model, gap, 2, &error), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_model_logits(model, 0, &row), TOMBOLA_INVALID_ARGUMENT);
}

/* ---- a whole answer ---- */

struct answer {
  char text[1024];
  size_t length;
};

static int on_token(void *context, const struct tombola_token_event *event) {
  struct answer *answer = context;
  if (answer->length + event->length >= sizeof answer->text) return 0;
  memcpy(answer->text + answer->length, event->bytes, event->length);
  answer->length += event->length;
  return 1;
}

static tombola_sampler *new_sampler(float temperature) {
  struct tombola_sampler_params params = {.struct_size = sizeof params};
  struct tombola_error error = {0};
  assert_ok(tombola_sampler_params_default(&params, NULL, &error));
  params.temperature = temperature;
  params.seed = 42;
  params.seed_mode = TOMBOLA_SEED_FIXED;
  tombola_sampler *sampler;
  assert_ok(
      tombola_sampler_new(&params, tombola_model_vocabulary(model), vocab_size, NULL, &sampler, &error));
  return sampler;
}

static void answer_question(struct answer *answer, struct tombola_generation_stats *stats,
                            tombola_session *session, float temperature) {
  tombola_token tokens[MOST_TOKENS];
  size_t count = tokenize(chatml, TOMBOLA_TOKENIZE_PARSE_SPECIAL, tokens);
  tombola_sampler *sampler = new_sampler(temperature);
  struct tombola_generate_params params = {
      .struct_size = sizeof params, .max_tokens = 40, .on_token = on_token, .context = answer};
  struct tombola_error error = {0};
  *answer = (struct answer){0};
  if (tombola_session_generate(session, sampler, tokens, count, &params, stats, &error) != TOMBOLA_OK)
    fail_msg("%s", error.message);
  tombola_sampler_free(sampler);
}

static void names_paris(void **state) {
  (void)state;
  tombola_session *session;
  assert_ok(tombola_session_new(model, 0, NULL, &session, NULL));
  struct answer first, second;
  struct tombola_generation_stats stats;
  answer_question(&first, &stats, session, 0);
  assert_non_null(strstr(first.text, "Paris"));
  assert_int_equal(stats.stop, TOMBOLA_STOP_END_TOKEN);
  assert_int_equal(stats.prompt_reused, 0);
  size_t prompt = stats.prompt_run;
  answer_question(&second, &stats, session, 0); /* on the cached prompt */
  assert_int_equal(stats.prompt_run, 1);
  assert_int_equal(stats.prompt_reused, prompt - 1);
  assert_string_equal(first.text, second.text);
  tombola_session_clear(session);
  answer_question(&first, &stats, session, 0.8f);
  tombola_session_clear(session);
  answer_question(&second, &stats, session, 0.8f);
  assert_string_equal(first.text, second.text);
  tombola_session_free(session);
}

int main(void) {
  char path[4096];
  if (!support_default_model(path, sizeof path)) {
    fprintf(stderr, "the default model isn't there: run scripts/default-model\n");
    return EXIT_SKIPPED;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(text_comes_back),
      cmocka_unit_test(tokenize_says_how_many),
      cmocka_unit_test(special_tokens_only_when_asked),
      cmocka_unit_test(hostile_text),
      cmocka_unit_test(facts),
      cmocka_unit_test(chat_templates),
      cmocka_unit_test_setup(cached_prefix_equals_cold, forget),
      cmocka_unit_test_setup(two_sequences_equal_one, forget),
      cmocka_unit_test_setup(copy_shares_a_prefix, forget),
      cmocka_unit_test_setup(shift_closes_a_gap, forget),
      cmocka_unit_test_setup(refused_batches_change_nothing, forget),
      cmocka_unit_test_setup(names_paris, forget),
  };
  return cmocka_run_group_tests_name("llama_backend", tests, load, unload);
}
