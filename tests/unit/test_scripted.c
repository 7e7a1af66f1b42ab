/* SPDX-License-Identifier: Apache-2.0 */
/* The scripted model at play: which row a position gets, whatever rollbacks, forks, shifts and batches came
 * before. */
#include "scripts.h"

#include <math.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include "support.h"

/* Runs tokens at the end of sequence `s`, which holds *length; all of them, or only the last, with logits. */
static enum tombola_status run(tombola_model *model, int32_t s, int32_t *length, const tombola_token *tokens,
                               size_t count, bool all) {
  struct tombola_batch_item items[64];
  assert_true(count <= 64);
  for (size_t i = 0; i < count; i++)
    items[i] = (struct tombola_batch_item){tokens[i], *length + (int32_t)i, s, all || i + 1 == count};
  enum tombola_status status = tombola_model_decode(model, items, count, NULL);
  if (status == TOMBOLA_OK) *length += (int32_t)count;
  return status;
}

static const float *row_of(tombola_model *model, size_t item) {
  struct tombola_row row;
  assert_int_equal(tombola_model_logits(model, item, &row), TOMBOLA_OK);
  assert_int_equal(row.dtype, TOMBOLA_F32);
  assert_int_equal(row.count, tombola_vocabulary_count(tombola_model_vocabulary(model)));
  return row.data;
}

/* The token that a row of one favoured token favours; checks that it is such a row. */
static tombola_token favoured(tombola_model *model, size_t item) {
  const float *row = row_of(model, item);
  size_t count = tombola_vocabulary_count(tombola_model_vocabulary(model));
  tombola_token best = TOMBOLA_NO_TOKEN;
  for (size_t i = 0; i < count; i++) {
    if (row[i] == 0.0F) continue;
    assert_true(row[i] == 10.0F);
    assert_int_equal(best, TOMBOLA_NO_TOKEN);
    best = (tombola_token)i;
  }
  assert_int_not_equal(best, TOMBOLA_NO_TOKEN);
  return best;
}

static tombola_token run_one(tombola_model *model, int32_t s, int32_t *length, tombola_token token) {
  assert_int_equal(run(model, s, length, &token, 1, false), TOMBOLA_OK);
  return favoured(model, 0);
}

#define RUN(s, all, ...)                                                                             \
  assert_int_equal(run(model, (s), &length, (const tombola_token[]){__VA_ARGS__},                    \
                       sizeof((const tombola_token[]){__VA_ARGS__}) / sizeof(tombola_token), (all)), \
                   TOMBOLA_OK)

/* Eight tokens; step i favours token i + 1, for six steps. */
#define STEPS \
  "{\"vocab\": [\"0\",\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\"], \"end\": [0], \"steps\": [1,2,3,4,5,6]"

/* ---- rules ---- */

static void test_order_of_rules(void **state) {
  (void)state;
  tombola_model *model =
      script_load("{\"vocab\": [\"a\",\"b\",\"c\"], \"end\": [2,0], \"steps\": "
                  "[1, {\"logits\": [0.5, \"-inf\", 1]}], \"by_last\": {\"1\": {\"logits\": "
                  "[\"nan\", \"inf\", -3e-2]}}}",
                  NULL);
  int32_t length = 0;
  RUN(0, false, 0, 2);
  assert_int_equal(favoured(model, 1), 1); /* steps[0] */
  RUN(0, false, 2);
  const float *row = row_of(model, 0); /* steps[1] */
  assert_true(row[0] == 0.5F && row[1] == -INFINITY && row[2] == 1.0F);
  RUN(0, false, 1);
  row = row_of(model, 0); /* by_last goes first */
  assert_true(isnan(row[0]) && row[1] == INFINITY && row[2] == -0.03F);
  RUN(0, false, 0);
  assert_int_equal(favoured(model, 0), 2); /* after the steps the first end token, as `end` has it */
  tombola_model_free(model);
}

static void test_repeat(void **state) {
  (void)state;
  tombola_model *model = script_load(STEPS ", \"after\": \"repeat\"}", NULL);
  int32_t length = 0;
  for (int i = 0; i < 20; i++)
    assert_int_equal(run_one(model, 0, &length, 7), i % 6 + 1);
  tombola_model_free(model);
}

/* The values come from the description of the hash in docs/script.md, computed by a program of its own
 * (Python). */
static void test_hash(void **state) {
  (void)state;
  tombola_model *model =
      script_load("{\"vocab\": [\"a\",\"b\",\"c\"], \"end\": [], \"hash\": 42, \"steps\": [2]}", NULL);
  int32_t length = 0;
  RUN(0, true, 1, 1, 0, 1, 2, 0, 1);
  assert_int_equal(favoured(model, 0), 2); /* the steps still go first */
  static const float five[] = {-0x1.5f75e0p+1F, -0x1.bbb150p+0F, -0x1.004a20p+0F};
  for (int i = 0; i < 3; i++)
    assert_same_bits(row_of(model, 6)[i], five[i]);
  for (int i = 0; i < 3; i++)
    assert_true(row_of(model, 6)[i] >= -8.0F && row_of(model, 6)[i] < 8.0F);
  tombola_model_free(model);

  model = script_load("{\"vocab\": [\"a\",\"b\",\"c\"], \"end\": [], \"hash\": 42}", NULL);
  length = 0;
  RUN(0, true, 1);
  static const float one[] = {-0x1.9e81c4p+2F, 0x1.b7768cp+2F, 0x1.3fb600p-3F};
  for (int i = 0; i < 3; i++)
    assert_same_bits(row_of(model, 0)[i], one[i]);
  tombola_model_free(model);

  model = script_load("{\"vocab\": [\"a\",\"b\",\"c\"], \"end\": [], \"hash\": 18446744073709551615}", NULL);
  length = 0;
  RUN(0, false, 0, 2, 2, 2, 2);
  static const float most[] = {0x1.26c804p+2F, -0x1.10bd8cp+2F, -0x1.912e20p+2F};
  for (int i = 0; i < 3; i++)
    assert_same_bits(row_of(model, 4)[i], most[i]);
  tombola_model_free(model);
}

/* ---- how many tokens were generated ---- */

static void test_prompt_and_answer(void **state) {
  (void)state;
  tombola_model *model = script_load(STEPS "}", NULL);
  int32_t length = 0;
  RUN(0, false, 7, 7, 7); /* a prompt in two chunks */
  assert_int_equal(tombola_model_remove(model, 0, 0, -1), TOMBOLA_OK);
  length = 0;
  struct tombola_batch_item chunk[] = {{7, 0, 0, 0}, {7, 1, 0, 0}};
  assert_int_equal(tombola_model_decode(model, chunk, 2, NULL), TOMBOLA_OK);
  length = 2;
  RUN(0, false, 7, 7);
  assert_int_equal(favoured(model, 1), 1);
  assert_int_equal(run_one(model, 0, &length, 1), 2);
  assert_int_equal(run_one(model, 0, &length, 5), 3); /* whatever was sampled */

  /* The next turn: more tokens, the last one's logits. It starts the steps again. */
  RUN(0, false, 7, 7);
  assert_int_equal(favoured(model, 1), 1);
  assert_int_equal(run_one(model, 0, &length, 1), 2);

  /* The same prompt again: the last token is run once more. */
  assert_int_equal(tombola_model_remove(model, 0, 7, -1), TOMBOLA_OK);
  length = 7;
  assert_int_equal(run_one(model, 0, &length, 7), 1);
  tombola_model_free(model);
}

/* A prompt that goes one token beyond what was answered looks like one more token of the answer; begin()
 * tells. */
static void test_begin(void **state) {
  (void)state;
  tombola_model *model = script_load(STEPS "}", NULL);
  int32_t length = 0;
  RUN(0, false, 7, 7);
  assert_int_equal(run_one(model, 0, &length, 1), 2);
  assert_int_equal(tombola_model_begin(model, 0, 4), TOMBOLA_OK);
  assert_int_equal(run_one(model, 0, &length, 2), 1);
  assert_int_equal(run_one(model, 0, &length, 2), 2);

  /* A failed forward pass in between doesn't lose what was said. */
  assert_int_equal(tombola_model_begin(model, 0, 6), TOMBOLA_OK);
  struct tombola_batch_item wrong = {1, 9, 0, 1};
  assert_int_equal(tombola_model_decode(model, &wrong, 1, NULL), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(run_one(model, 0, &length, 2), 1);

  /* What was said holds for one sequence, and a rollback ends it. */
  assert_int_equal(tombola_model_begin(model, 0, 100), TOMBOLA_OK);
  assert_int_equal(tombola_model_remove(model, 0, 6, -1), TOMBOLA_OK);
  assert_int_equal(run_one(model, 0, &length, 2), 2);
  tombola_model_free(model);
}

/* A round of speculation: the pending token and three drafts in one batch, all with logits, then a rollback
 * to what was accepted; the rows are those of a run token by token. */
static void test_speculation(void **state) {
  (void)state;
  tombola_model *model = script_load(STEPS "}", NULL);
  int32_t length = 0;
  RUN(0, false, 7, 7, 7);
  assert_int_equal(favoured(model, 2), 1);
  RUN(0, true, 1, 2, 5, 5); /* pending 1, drafts 2 5 5 */
  for (int i = 0; i < 4; i++)
    assert_int_equal(favoured(model, (size_t)i), i + 2);
  const float *before = row_of(model, 1);
  assert_int_equal(tombola_model_remove(model, 0, 5, -1), TOMBOLA_OK); /* 2 is right, 3 was expected */
  length = 5;
  assert_ptr_equal(row_of(model, 1), before); /* rows outlive the rollback */
  assert_int_equal(favoured(model, 1), 3);
  RUN(0, true, 3, 4);
  assert_int_equal(favoured(model, 0), 4);
  assert_int_equal(favoured(model, 1), 5);
  assert_int_equal(run_one(model, 0, &length, 5), 6);
  assert_int_equal(run_one(model, 0, &length, 6), 0); /* the steps are over */
  tombola_model_free(model);
}

static void test_fork(void **state) {
  (void)state;
  struct tombola_model_params params = {.struct_size = sizeof params, .sequences = 3};
  tombola_model *model = script_load(STEPS "}", &params);
  int32_t length = 0;
  RUN(0, false, 7, 7);
  assert_int_equal(run_one(model, 0, &length, 1), 2);
  assert_int_equal(tombola_model_copy(model, 0, 2, 0, -1), TOMBOLA_OK);

  /* Both go on in one batch, the copy twice. */
  struct tombola_batch_item items[] = {{2, 3, 0, 1}, {5, 3, 2, 1}, {5, 4, 2, 1}, {7, 0, 1, 1}};
  assert_int_equal(tombola_model_decode(model, items, 4, NULL), TOMBOLA_OK);
  assert_int_equal(favoured(model, 0), 3);
  assert_int_equal(favoured(model, 1), 3);
  assert_int_equal(favoured(model, 2), 4);
  assert_int_equal(favoured(model, 3), 1);

  /* A copy of a part stands at the same positions; what lies before it there stays as it is. */
  assert_int_equal(tombola_model_copy(model, 2, 1, 1, 4), TOMBOLA_OK);
  length = 4;
  assert_int_equal(run_one(model, 1, &length, 7), 4);
  assert_int_equal(tombola_model_copy(model, 2, 2, 0, -1), TOMBOLA_OK);
  length = 5;
  assert_int_equal(run_one(model, 2, &length, 7), 5);

  /* A copy of less than the target has doesn't shorten the target. */
  assert_int_equal(tombola_model_copy(model, 0, 2, 0, 2), TOMBOLA_OK);
  assert_int_equal(run_one(model, 2, &length, 7), 6);
  tombola_model_free(model);
}

/* The context is shifted as llama.cpp's programs do it: a part in the middle goes, the rest moves down. */
static void test_shift(void **state) {
  (void)state;
  struct tombola_model_params params = {.struct_size = sizeof params, .context = 8};
  tombola_model *model = script_load(STEPS "}", &params);
  int32_t length = 0;
  RUN(0, false, 7, 7, 7, 7);
  for (int i = 1; i <= 4; i++)
    assert_int_equal(run_one(model, 0, &length, (tombola_token)i), i + 1);
  struct tombola_batch_item item = {5, 8, 0, 1};
  assert_int_equal(tombola_model_decode(model, &item, 1, NULL), TOMBOLA_OUT_OF_RANGE);

  assert_int_equal(tombola_model_shift(model, 0, 4, -1, -1), TOMBOLA_INVALID_ARGUMENT); /* taken */
  assert_int_equal(tombola_model_shift(model, 0, 4, -1, 1), TOMBOLA_INVALID_ARGUMENT);  /* outside */
  assert_int_equal(tombola_model_remove(model, 0, 1, 3), TOMBOLA_OK);
  assert_int_equal(tombola_model_decode(model, &item, 1, NULL), TOMBOLA_OUT_OF_RANGE); /* a gap is no room */
  assert_int_equal(tombola_model_shift(model, 0, 3, -1, -2), TOMBOLA_OK);
  length = 6;
  assert_int_equal(run_one(model, 0, &length, 5), 6); /* the fifth token of the answer, still */
  assert_int_equal(tombola_model_shift(model, 0, 3, -1, 1), TOMBOLA_OK);
  length = 8;
  assert_int_equal(tombola_model_remove(model, 0, 5, -1), TOMBOLA_OK);
  assert_int_equal(tombola_model_remove(model, 0, 4, 5), TOMBOLA_OK);
  length = 3; /* the gap at 3 went with what was behind it */
  assert_int_equal(run_one(model, 0, &length, 5), 3);
  tombola_model_free(model);
}

/* Random operations on three sequences, beside a plain list of what each holds: every row must be the rule's.
 */
struct shadow {
  struct {
    tombola_token token;
    int answers; /* -1: a prompt's token before the last */
  } cells[64];
  int32_t length;
};

static tombola_token expected(int answers, tombola_token last) {
  if (last == 6) return 7; /* by_last */
  return answers < 6 ? (tombola_token)(answers + 1) : 0;
}

static void random_prompt(tombola_model *model, struct support_rng *rng, int32_t s, struct shadow *shadow) {
  int32_t keep = shadow->length > 0 ? (int32_t)support_below(rng, (size_t)shadow->length) : 0;
  int32_t total = keep + 1 + (int32_t)support_below(rng, 5);
  struct tombola_batch_item items[8];
  assert_int_equal(tombola_model_remove(model, s, keep, -1), TOMBOLA_OK);
  assert_int_equal(tombola_model_begin(model, s, (size_t)total), TOMBOLA_OK);
  for (int32_t i = keep; i < total; i++) {
    tombola_token token = (tombola_token)support_below(rng, 8);
    items[i - keep] = (struct tombola_batch_item){token, i, s, i + 1 == total};
    shadow->cells[i].token = token;
    shadow->cells[i].answers = 0;
  }
  shadow->length = total;
  assert_int_equal(tombola_model_decode(model, items, (size_t)(total - keep), NULL), TOMBOLA_OK);
  assert_int_equal(favoured(model, (size_t)(total - keep - 1)), expected(0, shadow->cells[total - 1].token));
}

static void random_drafts(tombola_model *model, struct support_rng *rng, int32_t s, struct shadow *shadow) {
  size_t count = 1 + support_below(rng, 4);
  struct tombola_batch_item items[4];
  for (size_t i = 0; i < count; i++) {
    tombola_token token = (tombola_token)support_below(rng, 8);
    int32_t at = shadow->length + (int32_t)i;
    items[i] = (struct tombola_batch_item){token, at, s, 1};
    shadow->cells[at].token = token;
    shadow->cells[at].answers = shadow->cells[at - 1].answers + 1;
  }
  assert_int_equal(tombola_model_decode(model, items, count, NULL), TOMBOLA_OK);
  for (size_t i = 0; i < count; i++) {
    int32_t at = shadow->length + (int32_t)i;
    assert_int_equal(favoured(model, i), expected(shadow->cells[at].answers, shadow->cells[at].token));
  }
  /* Some are rejected; the first of the batch was pending and stays. */
  shadow->length += 1 + (int32_t)support_below(rng, count);
  assert_int_equal(tombola_model_remove(model, s, shadow->length, -1), TOMBOLA_OK);
}

static void test_random_operations(void **state) {
  (void)state;
  struct tombola_model_params params = {.struct_size = sizeof params, .sequences = 3, .context = 64};
  tombola_model *model = script_load(STEPS ", \"by_last\": {\"6\": 7}}", &params);
  struct support_rng rng = support_rng(1);
  struct shadow shadows[3];
  memset(shadows, 0, sizeof shadows);
  size_t rounds = support_long() ? 200000 : 5000;
  for (size_t i = 0; i < rounds; i++) {
    int32_t s = (int32_t)support_below(&rng, 3), other = (int32_t)support_below(&rng, 3);
    size_t what = support_below(&rng, 10);
    if (what == 0) {
      if (s == other) continue;
      assert_int_equal(tombola_model_remove(model, other, 0, -1), TOMBOLA_OK);
      assert_int_equal(tombola_model_copy(model, s, other, 0, -1), TOMBOLA_OK);
      shadows[other] = shadows[s];
    } else if (what <= 2 || shadows[s].length == 0 || shadows[s].length > 50) {
      if (shadows[s].length > 50) shadows[s].length = 20; /* so that prompts stay within the context */
      random_prompt(model, &rng, s, &shadows[s]);
    } else {
      random_drafts(model, &rng, s, &shadows[s]);
    }
  }
  tombola_model_free(model);
}

/* ---- forward passes ---- */

static void test_fail_at(void **state) {
  (void)state;
  tombola_model *model = script_load(STEPS ", \"fail_at\": 2}", NULL);
  struct tombola_error error;
  int32_t length = 0;
  RUN(0, false, 7, 7);
  assert_int_equal(run_one(model, 0, &length, 1), 2);

  /* The batch that contains step 2 fails as a whole, and only once. */
  struct tombola_batch_item items[] = {{2, 3, 0, 1}, {3, 4, 0, 1}};
  struct tombola_row row;
  assert_int_equal(tombola_model_decode(model, items, 2, &error), TOMBOLA_MODEL);
  assert_string_equal(error.message, "the script makes the forward pass of step 2 fail");
  assert_int_equal(tombola_model_logits(model, 0, &row), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_model_decode(model, items, 2, &error), TOMBOLA_OK); /* nothing was in the cache */
  assert_int_equal(favoured(model, 0), 3);
  assert_int_equal(favoured(model, 1), 4);
  tombola_model_free(model);

  model = script_load(STEPS ", \"fail_at\": 0}", NULL);
  length = 0;
  struct tombola_batch_item chunk = {7, 0, 0, 0}; /* no logits, no step */
  assert_int_equal(tombola_model_decode(model, &chunk, 1, &error), TOMBOLA_OK);
  length = 1;
  tombola_token token = 7;
  assert_int_equal(run(model, 0, &length, &token, 1, true), TOMBOLA_MODEL);
  assert_int_equal(run(model, 0, &length, &token, 1, true), TOMBOLA_OK);
  tombola_model_free(model);
}

static void test_bad_batches(void **state) {
  (void)state;
  struct tombola_model_params params = {.struct_size = sizeof params, .sequences = 2, .batch = 3};
  tombola_model *model = script_load(STEPS "}", &params);
  struct tombola_error error;
  struct tombola_batch_item items[] = {{1, 0, 0, 1}, {1, 0, 1, 0}, {1, 2, 0, 1}};
  assert_int_equal(tombola_model_decode(model, items, 3, &error), TOMBOLA_INVALID_ARGUMENT);
  assert_string_equal(error.message, "position 2 of sequence 0 doesn't follow: the next one is 1");
  items[2].position = 1;
  assert_int_equal(tombola_model_decode(model, items, 3, &error), TOMBOLA_OK); /* nothing was in the cache */
  assert_int_equal(favoured(model, 0), 1);
  assert_int_equal(favoured(model, 2), 2);
  struct tombola_row row;
  assert_int_equal(tombola_model_logits(model, 1, &row), TOMBOLA_INVALID_ARGUMENT); /* not asked for */
  assert_int_equal(tombola_model_logits(model, 3, &row), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_model_decode(model, items, 1, &error), TOMBOLA_INVALID_ARGUMENT); /* taken */
  tombola_model_free(model);
}

static void test_delay(void **state) {
  (void)state;
  tombola_model *model = script_load(STEPS ", \"delay_ms\": 30}", NULL);
  struct timespec start, end;
  int32_t length = 0;
  clock_gettime(CLOCK_MONOTONIC, &start);
  RUN(0, true, 7, 7, 7);
  clock_gettime(CLOCK_MONOTONIC, &end);
  double seconds = (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) * 1e-9;
  assert_true(seconds >= 0.030); /* one delay a forward pass; how much more is the machine's affair */
  tombola_model_free(model);
}

/* The rows of a batch are all valid until the next one; a batch no wider than an earlier one allocates
 * nothing. */
static void test_rows_and_memory(void **state) {
  (void)state;
  struct support_allocator memory = support_allocator(0);
  struct tombola_model_params params = {.struct_size = sizeof params,
                                        .allocator = support_allocator_use(&memory)};
  tombola_model *model = script_load(STEPS ", \"hash\": 1}", &params);
  int32_t length = 0;
  RUN(0, true, 1, 2, 3, 4);
  for (size_t i = 1; i < 4; i++)
    assert_true(row_of(model, i) >= row_of(model, i - 1) + 8);
  size_t requests = memory.requests;
  for (int i = 0; i < 100; i++)
    RUN(0, true, 1, 2, 3, 4);
  assert_int_equal(memory.requests, requests);

  memory.fail_at = requests + 1; /* a wider batch finds no memory: nothing has happened */
  tombola_token five[] = {1, 2, 3, 4, 5};
  assert_int_equal(run(model, 0, &length, five, 5, true), TOMBOLA_NO_MEMORY);
  assert_int_equal(run(model, 0, &length, five, 5, true), TOMBOLA_OK);
  tombola_model_free(model);
  support_allocator_check(&memory);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_order_of_rules),
      cmocka_unit_test(test_repeat),
      cmocka_unit_test(test_hash),
      cmocka_unit_test(test_prompt_and_answer),
      cmocka_unit_test(test_begin),
      cmocka_unit_test(test_speculation),
      cmocka_unit_test(test_fork),
      cmocka_unit_test(test_shift),
      cmocka_unit_test(test_random_operations),
      cmocka_unit_test(test_fail_at),
      cmocka_unit_test(test_bad_batches),
      cmocka_unit_test(test_delay),
      cmocka_unit_test(test_rows_and_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
