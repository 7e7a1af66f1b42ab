/* SPDX-License-Identifier: Apache-2.0 */
/* Log-probabilities: rMLX's worked numbers, the three stages, ties, the chosen token and its rank, and a
 * plain computation in long doubles. */
#include "draw_support.h"

static struct tombola_row row_of(const float *data, size_t count) {
  return (struct tombola_row){data, count, TOMBOLA_F32};
}

static const struct tombola_logprobs *look(tombola_sampler *sampler, const float *row, size_t count,
                                           enum tombola_logprob_stage stage, tombola_token token, size_t n) {
  struct tombola_row r = row_of(row, count);
  const struct tombola_logprobs *out = NULL;
  assert_int_equal(tombola_logprobs(sampler, &r, NULL, stage, token, n, &out), TOMBOLA_OK);
  return out;
}

static void worked_numbers(void **state) {
  (void)state;
  struct tombola_sampler_params params = plain_params();
  tombola_sampler *sampler = make_sampler(&params, 4);
  const float row[4] = {1, 2, 3, 0};
  const struct tombola_logprobs *l = look(sampler, row, 4, TOMBOLA_LOGPROB_RAW, 1, 2);
  assert_int_equal(l->count, 2);
  assert_int_equal(l->top[0].id, 2);
  assert_true(fabsf(l->top[0].logprob + 0.4401897f) < 1e-7f);
  assert_int_equal(l->top[1].id, 1);
  assert_true(fabsf(l->top[1].logprob + 1.4401897f) < 1e-6f);
  assert_true(l->token == 1 && l->rank == 1 && fabsf(l->logprob + 1.4401897f) < 1e-6f);
  l = look(sampler, row, 4, TOMBOLA_LOGPROB_RAW, 3,
           2); /* not forced into the list, and reported all the same */
  assert_true(l->count == 2 && l->top[1].id == 1 && l->rank == 3 && fabsf(l->logprob + 3.4401897f) < 1e-6f);
  l = look(sampler, row, 4, TOMBOLA_LOGPROB_RAW, 4, 99); /* outside the vocabulary */
  assert_true(l->count == 4 && l->logprob == -INFINITY && l->rank == SIZE_MAX);
  l = look(sampler, row, 4, TOMBOLA_LOGPROB_RAW, TOMBOLA_NO_TOKEN, 1);
  assert_true(l->count == 1 && l->token == TOMBOLA_NO_TOKEN && l->rank == SIZE_MAX);
  l = look(sampler, row, 4, TOMBOLA_LOGPROB_RAW, 0, 0); /* the chosen one alone */
  assert_true(l->count == 0 && l->rank == 2 && fabsf(l->logprob + 2.4401897f) < 1e-6f);
  tombola_sampler_free(sampler);
}

/* raw sees no mask, bias or penalty; penalized sees those, but no filter and no temperature; final sees all.
 */
static void stages(void **state) {
  (void)state;
  struct tombola_sampler_params params = plain_params();
  const struct tombola_logit_bias bias[] = {{0, 2}};
  params.logit_bias = bias;
  params.n_logit_bias = 1;
  params.presence_penalty = 1;
  params.top_k = 2;
  params.temperature = 0.5f;
  tombola_sampler *sampler = make_sampler(&params, 5);
  const tombola_token prompt[] = {2};
  assert_int_equal(tombola_sampler_begin(sampler, prompt, 1), TOMBOLA_OK);
  const float row[5] = {0, 1, 3, 2, 7}; /* masked: the last; then 2 1 2 2 */
  const uint32_t words[] = {0xF};
  struct tombola_mask mask = {words, 5, NULL, 0};
  struct tombola_row r = row_of(row, 5);
  const struct tombola_logprobs *l;
  const double raw = log(exp(0) + exp(1) + exp(3) + exp(2) + exp(7)), penalized = log(3 * exp(2) + exp(1));
  assert_int_equal(tombola_logprobs(sampler, &r, &mask, TOMBOLA_LOGPROB_RAW, 2, 5, &l), TOMBOLA_OK);
  assert_true(l->count == 5 && l->top[0].id == 4 && l->rank == 1);
  assert_true(fabs((double)l->logprob - (3 - raw)) < 1e-6);
  assert_int_equal(tombola_logprobs(sampler, &r, &mask, TOMBOLA_LOGPROB_PENALIZED, 2, 5, &l), TOMBOLA_OK);
  assert_true(l->count == 4 && l->top[0].id == 0 && l->top[1].id == 2 && l->top[2].id == 3);
  assert_true(l->top[3].id == 1 && l->rank == 1);
  assert_true(fabs((double)l->logprob - (2 - penalized)) < 1e-6);
  assert_int_equal(tombola_logprobs(sampler, &r, &mask, TOMBOLA_LOGPROB_FINAL, 3, 5, &l), TOMBOLA_OK);
  assert_true(l->count == 2 && l->top[0].id == 0 && l->top[1].id == 2);
  assert_true(fabs((double)l->top[1].logprob - log(0.5)) < 1e-6);
  assert_true(l->logprob == -INFINITY && l->rank == SIZE_MAX); /* filtered out */
  tombola_sampler_free(sampler);
}

/* Those of a sampled row are those of looking at it with the sampled token, and the tokens are the same with
 * and without them. */
static void beside_sampling(void **state) {
  (void)state;
  struct support_rng rng = support_rng(71);
  for (int stage = 0; stage < 3; stage++) {
    struct tombola_sampler_params params = plain_params();
    params.top_k = 30;
    params.repeat_penalty = 1.3f;
    tombola_sampler *with = make_sampler(&params, 300), *without = make_sampler(&params, 300);
    assert_int_equal(tombola_sampler_set_logprobs(with, (enum tombola_logprob_stage)stage, 5), TOMBOLA_OK);
    assert_null(tombola_sampler_logprobs(with));
    for (int round = 0; round < 50; round++) {
      float row[300];
      for (int i = 0; i < 300; i++)
        row[i] = support_normal(&rng, 0, 2);
      struct tombola_row r = row_of(row, 300);
      tombola_token a, b;
      assert_int_equal(tombola_sampler_sample(with, &r, NULL, &a), TOMBOLA_OK);
      assert_int_equal(tombola_sampler_sample(without, &r, NULL, &b), TOMBOLA_OK);
      assert_int_equal(a, b);
      assert_null(tombola_sampler_logprobs(without));
      const struct tombola_logprobs *got = tombola_sampler_logprobs(with);
      const struct tombola_logprobs *wanted =
          look(without, row, 300, (enum tombola_logprob_stage)stage, a, 5);
      assert_non_null(got);
      assert_true(got->token == a && got->rank == wanted->rank && got->logprob == wanted->logprob);
      assert_int_equal(got->count, wanted->count);
      assert_memory_equal(got->top, wanted->top, got->count * sizeof *got->top);
      assert_int_equal(tombola_sampler_accept(with, a), TOMBOLA_OK);
      assert_int_equal(tombola_sampler_accept(without, a), TOMBOLA_OK);
    }
    assert_int_equal(tombola_sampler_set_logprobs(with, TOMBOLA_LOGPROB_RAW, 0), TOMBOLA_OK);
    assert_null(tombola_sampler_logprobs(with));
    tombola_sampler_free(with);
    tombola_sampler_free(without);
  }
}

/* To the last place of the float, or of the double sum where the result is next to 0. */
static bool is_close(float got, long double exact) {
  return support_ulp_error(got, exact) <= 1 || fabsl((long double)got - exact) < 1e-13L;
}

/* In long doubles, over rows of several shapes and types; ranks by counting. */
static void against_long_doubles(void **state) {
  (void)state;
  struct support_rng rng = support_rng(72);
  struct tombola_sampler_params params = plain_params();
  tombola_sampler *sampler = make_sampler(&params, 1000);
  for (int round = 0; round < 60; round++) {
    float row[1000];
    for (int i = 0; i < 1000; i++) {
      row[i] = support_normal(&rng, 0, round % 3 ? 5 : 40);
      if (round % 4 == 1) row[i] = floorf(row[i]);
      if (round % 5 == 2 && i % 7) row[i] = -INFINITY;
    }
    tombola_token token = (tombola_token)support_below(&rng, 1000);
    size_t n = support_below(&rng, 30);
    const struct tombola_logprobs *l = look(sampler, row, 1000, TOMBOLA_LOGPROB_RAW, token, n);
    long double sum = 0, best = -(long double)INFINITY;
    size_t before = 0, present = 0;
    for (int i = 0; i < 1000; i++)
      best = (long double)row[i] > best ? (long double)row[i] : best;
    for (int i = 0; i < 1000; i++) {
      sum += expl((long double)row[i] - best);
      present += row[i] > -INFINITY;
      before += row[i] > row[token] || (row[i] == row[token] && i < token);
    }
    long double lse = best + logl(sum);
    assert_int_equal(l->count, n < present ? n : present);
    if (row[token] > -INFINITY) {
      assert_int_equal(l->rank, before);
      assert_true(is_close(l->logprob, (long double)row[token] - lse));
    } else {
      assert_true(l->rank == SIZE_MAX && l->logprob == -INFINITY);
    }
    for (size_t i = 0; i < l->count; i++) {
      struct tombola_logprob t = l->top[i];
      assert_true(is_close(t.logprob, (long double)row[t.id] - lse));
      if (i) {
        tombola_token above = l->top[i - 1].id;
        assert_true(row[above] > row[t.id] || (row[above] == row[t.id] && above < t.id));
      }
    }
    if (n && l->count) assert_true(row[l->top[0].id] == (float)best);
  }
  tombola_sampler_free(sampler);
}

/* With nothing asked for nothing is done: a row that can't be read is not looked at. */
static void nothing_for_nothing(void **state) {
  (void)state;
  struct tombola_sampler_params params = plain_params();
  tombola_sampler *sampler = make_sampler(&params, 4);
  const struct tombola_logprobs *out = NULL;
  size_t before = tombola_sampler_memory(sampler);
  assert_int_equal(tombola_logprobs(sampler, NULL, NULL, TOMBOLA_LOGPROB_RAW, TOMBOLA_NO_TOKEN, 0, &out),
                   TOMBOLA_OK);
  assert_true(out && out->count == 0);
  assert_int_equal(tombola_sampler_memory(sampler), before);
  assert_int_equal(tombola_logprobs(sampler, NULL, NULL, TOMBOLA_LOGPROB_RAW, 1, 0, &out),
                   TOMBOLA_INVALID_ARGUMENT);
  tombola_sampler_free(sampler);
}

/* NaN under the mask: sampling goes on, raw has none, penalized has. */
static void rows_without(void **state) {
  (void)state;
  struct tombola_sampler_params params = plain_params();
  tombola_sampler *sampler = make_sampler(&params, 3);
  const float row[3] = {1, NAN, 2};
  const uint32_t words[] = {5};
  struct tombola_mask mask = {words, 3, NULL, 0};
  struct tombola_row r = row_of(row, 3);
  const struct tombola_logprobs *out;
  tombola_token token;
  for (int stage = 0; stage < 3; stage++) {
    assert_int_equal(tombola_sampler_set_logprobs(sampler, (enum tombola_logprob_stage)stage, 3), TOMBOLA_OK);
    assert_int_equal(tombola_sampler_sample(sampler, &r, &mask, &token), TOMBOLA_OK);
    if (stage == TOMBOLA_LOGPROB_RAW)
      assert_null(tombola_sampler_logprobs(sampler));
    else
      assert_int_equal(tombola_sampler_logprobs(sampler)->count, 2);
  }
  assert_int_equal(tombola_logprobs(sampler, &r, &mask, TOMBOLA_LOGPROB_RAW, 0, 1, &out), TOMBOLA_NOT_FINITE);
  assert_int_equal(tombola_logprobs(sampler, &r, &mask, (enum tombola_logprob_stage)3, 0, 1, &out),
                   TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_sampler_set_logprobs(sampler, (enum tombola_logprob_stage)3, 1),
                   TOMBOLA_INVALID_ARGUMENT);
  tombola_sampler_free(sampler);
}

/* Greedy's final distribution is its token; the rejection draw's is its support. */
static void finals(void **state) {
  (void)state;
  struct tombola_sampler_params params = plain_params();
  const float row[4] = {1, 3, 2, 3};
  struct tombola_row r = row_of(row, 4);
  tombola_token token;
  params.temperature = 0;
  tombola_sampler *greedy = make_sampler(&params, 4);
  assert_int_equal(tombola_sampler_set_logprobs(greedy, TOMBOLA_LOGPROB_FINAL, 2), TOMBOLA_OK);
  assert_int_equal(tombola_sampler_sample(greedy, &r, NULL, &token), TOMBOLA_OK);
  const struct tombola_logprobs *l = tombola_sampler_logprobs(greedy);
  assert_true(l->count == 1 && l->token == 1 && l->logprob == 0 && l->rank == 0);
  tombola_sampler_free(greedy);
  params.temperature = 1;
  params.draw = TOMBOLA_DRAW_REJECTION;
  params.top_k = 2;
  tombola_sampler *rejection = make_sampler(&params, 4);
  assert_int_equal(tombola_sampler_set_logprobs(rejection, TOMBOLA_LOGPROB_FINAL, 4), TOMBOLA_OK);
  assert_int_equal(tombola_sampler_sample(rejection, &r, NULL, &token), TOMBOLA_OK);
  l = tombola_sampler_logprobs(rejection);
  assert_true(l->count == 2 && l->top[0].id == 1 && l->top[1].id == 3);
  assert_true(fabs((double)l->logprob - log(0.5)) < 1e-6);
  tombola_sampler_free(rejection);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(worked_numbers),
      cmocka_unit_test(stages),
      cmocka_unit_test(beside_sampling),
      cmocka_unit_test(against_long_doubles),
      cmocka_unit_test(nothing_for_nothing),
      cmocka_unit_test(rows_without),
      cmocka_unit_test(finals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
