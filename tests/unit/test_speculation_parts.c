/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of speculation: a row sampled with a draft in hand (case F01), vocabularies that differ (case F05),
 * draft models that fail, what is refused, what is repeated, and memory. */
#include <math.h>
#include <stdbool.h>

#include "scripts.h"
#include "support.h"

#include <tombola/session.h>

/* ---- a row, given a draft (case F01) ---- */

enum { DRAWS = 100000 };

static tombola_sampler *plain_sampler(const char *dialect, const char *temperature, const char *top_k,
                                      size_t vocab_size) {
  const char *const values[][2] = {
      {"temperature", temperature}, {"top_k", top_k}, {"top_p", "1"}, {"min_p", "0"}, {"seed", "3"},
      {"repeat_penalty", "1"}};
  struct tombola_sampler_params params = {.struct_size = sizeof params};
  tombola_sampler *sampler;
  assert_int_equal(tombola_sampler_params_default(&params, dialect, NULL), TOMBOLA_OK);
  for (size_t i = 0; i < sizeof values / sizeof *values; i++)
    assert_int_equal(tombola_sampler_params_set(&params, values[i][0], values[i][1], NULL), TOMBOLA_OK);
  assert_int_equal(tombola_sampler_new(&params, NULL, vocab_size, NULL, &sampler, NULL), TOMBOLA_OK);
  return sampler;
}

struct judged {
  double token[3], rejected[3]; /* shares of all, and of those after a rejection */
  double accepted;
};

/* Drafts from `drawn_from`, or token 0 always; judged with q. */
static struct judged judge(const float *p, const float *q, const float *drawn_from, const char *top_k) {
  tombola_sampler *sampler = plain_sampler("llama.cpp", "1", top_k, 3);
  struct support_rng rng = support_rng(9);
  struct judged judged = {{0}, {0}, 0};
  float logits[3], room[3];
  for (size_t i = 0; i < 3; i++)
    logits[i] = logf(p[i]);
  struct tombola_row row = {logits, 3, TOMBOLA_F32};
  for (size_t i = 0; i < DRAWS; i++) {
    double u = support_uniform(&rng);
    tombola_token draft = 0, token;
    for (double sum = 0; drawn_from && draft < 2 && (sum += (double)drawn_from[draft]) <= u;)
      draft++;
    int accepted;
    assert_int_equal(tombola_sampler_verify(sampler, &row, NULL, draft, q, room, 3, &accepted, &token),
                     TOMBOLA_OK);
    assert_true(!accepted || token == draft);
    judged.accepted += accepted;
    judged.token[token]++;
    if (!accepted) judged.rejected[token]++;
  }
  for (size_t i = 0; i < 3; i++) {
    judged.rejected[i] /= DRAWS - judged.accepted;
    judged.token[i] /= DRAWS;
  }
  judged.accepted /= DRAWS;
  tombola_sampler_free(sampler);
  return judged;
}

/* Within 4 sigma of 100,000 draws; what is impossible never occurs. */
static bool near(double share, double want, double draws) {
  return fabs(share - want) <= 4 * sqrt(want * (1 - want) / draws);
}

static void expect(const struct judged *judged, const double token[3], double accepted,
                   const double rejected[3]) {
  assert_true(near(judged->accepted, accepted, DRAWS));
  for (size_t i = 0; i < 3; i++) {
    assert_true(near(judged->token[i], token[i], DRAWS));
    assert_true(near(judged->rejected[i], rejected[i], DRAWS * (1 - accepted)));
  }
}

static void test_f01(void **state) {
  (void)state;
  const float p[3] = {0.5f, 0.3f, 0.2f}, q[3] = {0.2f, 0.5f, 0.3f}, softmax[3] = {0.6f, 0.3f, 0.1f};
  struct judged judged = judge(p, NULL, NULL, "0");
  expect(&judged, (const double[3]){0.5, 0.3, 0.2}, 0.5, (const double[3]){0, 0.6, 0.4});
  judged = judge(p, q, q, "0");
  expect(&judged, (const double[3]){0.5, 0.3, 0.2}, 0.7, (const double[3]){1, 0, 0});
  judged = judge(p, q, q, "2");
  expect(&judged, (const double[3]){0.625, 0.375, 0}, 0.575, (const double[3]){1, 0, 0});
  /* The mistake that the case is about: a draft that is always the best one, judged by its softmax. */
  judged = judge(p, softmax, NULL, "0");
  assert_true(near(judged.token[0], 0.8333333, DRAWS) && near(judged.token[2], 0.1666667, DRAWS));
  assert_true(judged.token[1] == 0);
}

static void test_verify_edges(void **state) {
  (void)state;
  tombola_sampler *sampler = plain_sampler("llama.cpp", "1", "0", 3);
  float logits[3] = {0, 0, -INFINITY}, room[3];
  struct tombola_row row = {logits, 3, TOMBOLA_F32};
  tombola_token token;
  int accepted;
  /* A draft whose share vanished: taken where p has it, never where p excludes it. */
  const float vanished[3] = {0, 1, 0};
  for (int i = 0; i < 50; i++) {
    assert_int_equal(tombola_sampler_verify(sampler, &row, NULL, 0, vanished, room, 3, &accepted, &token),
                     TOMBOLA_OK);
    assert_true(accepted && token == 0);
    assert_int_equal(tombola_sampler_verify(sampler, &row, NULL, 2, vanished, room, 3, &accepted, &token),
                     TOMBOLA_OK);
    assert_true(!accepted && token == 0); /* what p has more than q */
  }
  const float q[3] = {0.5f, 0.25f, 0.25f}, bad[3] = {0.5f, -0.5f, 1};
  assert_int_equal(tombola_sampler_verify(sampler, &row, NULL, 3, q, room, 3, &accepted, &token),
                   TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(token, TOMBOLA_NO_TOKEN);
  assert_int_equal(tombola_sampler_verify(sampler, &row, NULL, 0, q, room, 2, &accepted, &token),
                   TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_sampler_verify(sampler, &row, NULL, 0, bad, room, 3, &accepted, &token),
                   TOMBOLA_INVALID_ARGUMENT);
  logits[0] = NAN;
  assert_int_equal(tombola_sampler_verify(sampler, &row, NULL, 0, q, room, 3, &accepted, &token),
                   TOMBOLA_NOT_FINITE);
  assert_int_equal(tombola_sampler_follow(sampler, sampler), TOMBOLA_INVALID_ARGUMENT);
  tombola_sampler *stranger = plain_sampler("llama.cpp", "1", "0", 3);
  assert_int_equal(tombola_sampler_follow(stranger, sampler), TOMBOLA_INVALID_ARGUMENT);
  tombola_sampler_free(stranger);
  tombola_sampler_free(sampler);
}

/* A drafter draws other numbers than its target is going to, and leaves the target's alone. */
static void test_follow(void **state) {
  (void)state;
  tombola_sampler *target = plain_sampler("llama.cpp", "1", "0", 64), *twin, *drafter;
  float logits[64] = {0};
  struct tombola_row row = {logits, 64, TOMBOLA_F32};
  tombola_token history[] = {3, 1, 4, 1, 5};
  assert_int_equal(tombola_sampler_begin(target, history, 5), TOMBOLA_OK);
  assert_int_equal(tombola_sampler_clone(target, &twin), TOMBOLA_OK);
  assert_int_equal(tombola_sampler_clone(target, &drafter), TOMBOLA_OK);
  size_t equal = 0;
  for (int i = 0; i < 200; i++) {
    tombola_token drafted, again, token, plain;
    assert_int_equal(tombola_sampler_follow(drafter, target), TOMBOLA_OK);
    assert_int_equal(tombola_sampler_sample(drafter, &row, NULL, &drafted), TOMBOLA_OK);
    assert_int_equal(tombola_sampler_follow(drafter, target), TOMBOLA_OK);
    assert_int_equal(tombola_sampler_sample(drafter, &row, NULL, &again), TOMBOLA_OK);
    assert_int_equal(drafted, again);
    assert_int_equal(tombola_sampler_sample(target, &row, NULL, &token), TOMBOLA_OK);
    assert_int_equal(tombola_sampler_sample(twin, &row, NULL, &plain), TOMBOLA_OK);
    assert_int_equal(token, plain);
    equal += drafted == token;
  }
  assert_true(equal < 20); /* 200 / 64 by chance */
  tombola_sampler_free(drafter);
  tombola_sampler_free(twin);
  tombola_sampler_free(target);
}

/* ---- vocabularies (case F05) ---- */

/* `count` tokens t0, t1, …; the `odd` one is spelled otherwise; the last of `favoured` first gets the best row. */
static tombola_model *numbered(unsigned count, int odd, int favoured) {
  char json[4096];
  size_t n = (size_t)snprintf(json, sizeof json, "{\"end\": [], \"after\": \"repeat\", \"vocab\": [");
  for (unsigned i = 0; i < count; i++)
    n += (size_t)snprintf(json + n, sizeof json - n, "%s\"%s%u\"", i ? ", " : "",
                          (int)i == odd ? "odd\\n" : "t", i);
  if (favoured >= 0)
    snprintf(json + n, sizeof json - n, "], \"steps\": [%d]}", favoured);
  else
    snprintf(json + n, sizeof json - n, "], \"hash\": 5}");
  return script_load(json, NULL);
}

static enum tombola_status speculate(tombola_model *target, tombola_model *draft,
                                     tombola_speculation **speculation, struct tombola_error *error) {
  struct tombola_speculation_params params = {
      .struct_size = sizeof params, .kind = TOMBOLA_SPECULATION_DRAFT_MODEL, .draft = draft};
  return tombola_speculation_new(target, &params, NULL, speculation, error);
}

struct answer {
  tombola_token tokens[64];
  size_t count;
};

static int note(void *context, const struct tombola_token_event *event) {
  struct answer *answer = context;
  answer->tokens[answer->count++] = event->token;
  return 1;
}

static enum tombola_status generate(tombola_model *model, tombola_sampler *sampler,
                                    tombola_speculation *speculation, int64_t max_tokens,
                                    struct answer *answer, struct tombola_generation_stats *stats) {
  static const tombola_token prompt[] = {1, 2, 3};
  tombola_session *session;
  struct tombola_generate_params params = {.struct_size = sizeof params,
                                           .max_tokens = max_tokens,
                                           .on_token = note,
                                           .context = answer,
                                           .speculation = speculation};
  answer->count = 0;
  assert_int_equal(tombola_session_new(model, 0, NULL, &session, NULL), TOMBOLA_OK);
  enum tombola_status status = tombola_session_generate(session, sampler, prompt, 3, &params, stats, NULL);
  tombola_session_free(session);
  return status;
}

static void test_f05_other_pieces(void **state) {
  (void)state;
  tombola_model *target = numbered(100, -1, -1), *draft = numbered(100, 57, -1);
  tombola_speculation *speculation;
  struct tombola_error error = {.message = ""};
  assert_int_equal(speculate(target, draft, &speculation, &error), TOMBOLA_INVALID_ARGUMENT);
  assert_null(speculation);
  assert_string_equal(error.message,
                      "the draft model has another vocabulary: token 57 is \"odd\\x0a57\", in the "
                      "model it is \"t57\"");
  tombola_model_free(draft);
  tombola_model_free(target);
}

static void expect_plain(unsigned target_count, unsigned draft_count, int favoured, const char *temperature) {
  tombola_model *target = numbered(target_count, -1, -1), *draft = numbered(draft_count, -1, favoured);
  tombola_sampler *sampler = plain_sampler("llama.cpp", temperature, "0", target_count);
  tombola_speculation *speculation;
  struct tombola_generation_stats stats;
  struct answer plain, answer;
  assert_int_equal(speculate(target, draft, &speculation, NULL), TOMBOLA_OK);
  assert_int_equal(generate(target, sampler, NULL, 40, &plain, &stats), TOMBOLA_OK);
  assert_int_equal(generate(target, sampler, speculation, 40, &answer, &stats), TOMBOLA_OK);
  assert_int_equal(answer.count, 40);
  assert_true(stats.speculation.drafted > 0);
  if (temperature[0] == '0') assert_memory_equal(plain.tokens, answer.tokens, sizeof(tombola_token) * 40);
  for (size_t i = 0; i < 40; i++)
    assert_true(answer.tokens[i] >= 0 && answer.tokens[i] < (tombola_token)target_count);
  tombola_speculation_free(speculation);
  tombola_sampler_free(sampler);
  tombola_model_free(draft);
  tombola_model_free(target);
}

static void test_f05_sizes(void **state) {
  (void)state;
  expect_plain(100, 104, 102, "0"); /* favours a token of padding */
  expect_plain(100, 104, 102, "1");
  expect_plain(104, 100, -1, "0");
  expect_plain(104, 100, -1, "1");
  expect_plain(104, 100, 99, "0");
}

/* ---- failures ---- */

static tombola_model *failing(int at) {
  char json[256];
  snprintf(json, sizeof json,
           "{\"vocab\": [\"a\", \"b\", \"c\", \"d\"], \"end\": [], \"hash\": 3, \"fail_at\": %d}", at);
  return script_load(json, NULL);
}

/* A draft model that fails costs a round its draft, and nothing else. */
static void test_draft_fails(void **state) {
  (void)state;
  for (int at = 0; at < 12; at++) {
    tombola_model *target = failing(-1), *draft = failing(at);
    tombola_sampler *sampler = plain_sampler("llama.cpp", "0", "0", 4);
    tombola_speculation *speculation;
    struct tombola_generation_stats stats;
    struct answer plain, answer;
    assert_int_equal(speculate(target, draft, &speculation, NULL), TOMBOLA_OK);
    assert_int_equal(generate(target, sampler, NULL, 30, &plain, &stats), TOMBOLA_OK);
    assert_int_equal(generate(target, sampler, speculation, 30, &answer, &stats), TOMBOLA_OK);
    assert_int_equal(answer.count, 30);
    assert_memory_equal(plain.tokens, answer.tokens, sizeof(tombola_token) * 30);
    assert_true(stats.speculation.failures <= 1);
    assert_true(stats.speculation.accepted > 10);
    tombola_speculation_free(speculation);
    tombola_sampler_free(sampler);
    tombola_model_free(draft);
    tombola_model_free(target);
  }
}

/* The target's failure is reported, and the next generation works. */
static void test_target_fails(void **state) {
  (void)state;
  tombola_model *target = failing(9), *draft = failing(-1), *good = failing(-1);
  tombola_sampler *sampler = plain_sampler("llama.cpp", "0", "0", 4);
  tombola_speculation *speculation;
  struct tombola_generation_stats stats;
  struct answer plain, answer;
  assert_int_equal(speculate(target, draft, &speculation, NULL), TOMBOLA_OK);
  assert_int_equal(generate(target, sampler, speculation, 30, &answer, &stats), TOMBOLA_MODEL);
  assert_true(answer.count > 0 && answer.count <= 9);
  assert_int_equal(stats.generated, answer.count);
  assert_int_equal(generate(good, sampler, NULL, 30, &plain, &stats), TOMBOLA_OK);
  assert_memory_equal(plain.tokens, answer.tokens, sizeof(tombola_token) * answer.count);
  assert_int_equal(generate(target, sampler, speculation, 30, &answer, &stats), TOMBOLA_OK);
  assert_memory_equal(plain.tokens, answer.tokens, sizeof(tombola_token) * 30);
  tombola_speculation_free(speculation);
  tombola_sampler_free(sampler);
  tombola_model_free(good);
  tombola_model_free(draft);
  tombola_model_free(target);
}

/* ---- what is refused ---- */

static void expect_refused(tombola_model *target, struct tombola_speculation_params params,
                           const char *message) {
  tombola_speculation *speculation;
  struct tombola_error error = {.message = ""};
  params.struct_size = sizeof params;
  assert_int_equal(tombola_speculation_new(target, &params, NULL, &speculation, &error),
                   TOMBOLA_INVALID_ARGUMENT);
  assert_null(speculation);
  assert_string_equal(error.message, message);
}

static void test_ranges(void **state) {
  (void)state;
  const enum tombola_speculation_kind by_lookup = TOMBOLA_SPECULATION_PROMPT_LOOKUP;
  const enum tombola_speculation_kind by_model = TOMBOLA_SPECULATION_DRAFT_MODEL;
  tombola_model *target = failing(-1), *draft = failing(-1);
  expect_refused(target, (struct tombola_speculation_params){.kind = by_lookup, .ngram_max = 17},
                 "ngram_max is 17; it must be 1 to 16");
  expect_refused(target,
                 (struct tombola_speculation_params){.kind = by_lookup, .ngram_max = 2, .ngram_min = 3},
                 "ngram_min is 3; it must be 1 to 2");
  expect_refused(target, (struct tombola_speculation_params){.kind = by_lookup, .max_draft = 65},
                 "max_draft is 65; it must be 1 to 64");
  expect_refused(target,
                 (struct tombola_speculation_params){.kind = by_model, .draft = draft, .draft_tokens = 65},
                 "draft_tokens is 65; it must be 1 to 64");
  expect_refused(target, (struct tombola_speculation_params){.kind = by_model}, "there is no draft model");
  expect_refused(target,
                 (struct tombola_speculation_params){.kind = by_model, .draft = draft, .draft_sequence = 1},
                 "draft_sequence is 1; the draft model has 0 to 0");
  expect_refused(target, (struct tombola_speculation_params){.kind = by_model, .draft = target},
                 "the draft model is the model itself; a batch of drafts would overwrite its rows");
  tombola_speculation *speculation;
  struct tombola_generation_stats stats;
  struct answer answer;
  tombola_sampler *sampler = plain_sampler("llama.cpp", "0", "0", 4);
  assert_int_equal(speculate(target, draft, &speculation, NULL), TOMBOLA_OK);
  assert_int_equal(generate(draft, sampler, speculation, 5, &answer, &stats), TOMBOLA_INVALID_ARGUMENT);
  tombola_speculation_free(speculation);
  tombola_sampler_free(sampler);
  tombola_model_free(draft);
  tombola_model_free(target);
}

/* rMLX speculates only greedily; no other dialect has the rule. */
static void test_policy(void **state) {
  (void)state;
  tombola_model *target = failing(-1), *draft = failing(-1);
  for (size_t i = 0; i < tombola_dialect_count(); i++) {
    const char *dialect = tombola_dialect_at(i)->name;
    bool refuses = strcmp(dialect, "rmlx") == 0;
    for (int allowed = 0; allowed < 2; allowed++) {
      struct tombola_speculation_params params = {.struct_size = sizeof params,
                                                  .kind = TOMBOLA_SPECULATION_DRAFT_MODEL,
                                                  .draft = draft,
                                                  .allow_refused = allowed};
      tombola_speculation *speculation;
      struct tombola_generation_stats stats;
      struct answer answer;
      assert_int_equal(tombola_speculation_new(target, &params, NULL, &speculation, NULL), TOMBOLA_OK);
      tombola_sampler *greedy = plain_sampler(dialect, "0", "0", 4),
                      *sampled = plain_sampler(dialect, "1", "0", 4);
      assert_int_equal(tombola_sampler_refuses_speculation(sampled), refuses);
      assert_int_equal(tombola_sampler_refuses_speculation(greedy), 0);
      assert_int_equal(generate(target, greedy, speculation, 9, &answer, &stats), TOMBOLA_OK);
      assert_int_equal(generate(target, sampled, speculation, 9, &answer, &stats),
                       refuses && !allowed ? TOMBOLA_UNSUPPORTED : TOMBOLA_OK);
      tombola_sampler_free(greedy);
      tombola_sampler_free(sampled);
      tombola_speculation_free(speculation);
    }
  }
  tombola_model_free(draft);
  tombola_model_free(target);
}

/* ---- repetition and memory ---- */

/* A seed repeats a sampled answer, drafts included, whatever was generated in between. */
static void test_repeats(void **state) {
  (void)state;
  tombola_model *target = numbered(40, -1, -1), *draft = numbered(40, -1, -1);
  tombola_speculation *speculation;
  struct tombola_generation_stats first_stats, stats;
  struct answer first, other, again;
  assert_int_equal(speculate(target, draft, &speculation, NULL), TOMBOLA_OK);
  for (int i = 0; i < 2; i++) {
    tombola_sampler *sampler = plain_sampler("llama.cpp", "6", "0", 40);
    assert_int_equal(
        generate(target, sampler, speculation, 40, i ? &again : &first, i ? &stats : &first_stats),
        TOMBOLA_OK);
    assert_int_equal(generate(target, sampler, speculation, 40, &other, &stats), TOMBOLA_OK);
    assert_memory_not_equal(first.tokens, other.tokens, sizeof(tombola_token) * 40);
    tombola_sampler_reset(sampler);
    assert_int_equal(generate(target, sampler, speculation, 40, &again, &stats), TOMBOLA_OK);
    assert_memory_equal(first.tokens, again.tokens, sizeof(tombola_token) * 40);
    assert_int_equal(first_stats.speculation.accepted, stats.speculation.accepted);
    tombola_sampler_free(sampler);
  }
  assert_true(stats.speculation.accepted > 0);
  tombola_speculation_free(speculation);
  tombola_model_free(draft);
  tombola_model_free(target);
}

static void test_memory(void **state) {
  (void)state;
  tombola_model *target = numbered(12, -1, -1), *draft = numbered(10, -1, -1);
  for (size_t n = 1;; n++) {
    struct support_allocator a = support_allocator(n);
    struct tombola_speculation_params params = {
        .struct_size = sizeof params, .kind = TOMBOLA_SPECULATION_DRAFT_MODEL, .draft = draft};
    tombola_speculation *speculation;
    enum tombola_status status =
        tombola_speculation_new(target, &params, support_allocator_use(&a), &speculation, NULL);
    tombola_speculation_free(speculation);
    support_allocator_check(&a);
    if (a.requests < n) break;
    assert_int_equal(status, TOMBOLA_NO_MEMORY);
    assert_null(speculation);
  }
  tombola_speculation_free(NULL);
  tombola_model_free(draft);
  tombola_model_free(target);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_f01),          cmocka_unit_test(test_verify_edges),
      cmocka_unit_test(test_follow),       cmocka_unit_test(test_f05_other_pieces),
      cmocka_unit_test(test_f05_sizes),    cmocka_unit_test(test_draft_fails),
      cmocka_unit_test(test_target_fails), cmocka_unit_test(test_ranges),
      cmocka_unit_test(test_policy),       cmocka_unit_test(test_repeats),
      cmocka_unit_test(test_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
