/* SPDX-License-Identifier: Apache-2.0 */
/* Penalties in their three forms, by the numbers that the engines' own tests and documents give, and biases
 * with a fallback and suppressed tokens. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "sampler/internal.h"
#include "tombola/tombola.h"

#define N 10

static struct tombola_sampler_params neutral(void) {
  static const char *const order[] = {"penalties"};
  struct tombola_sampler_params params = {.struct_size = sizeof params};
  assert_int_equal(tombola_sampler_params_default(&params, "llama.cpp", NULL), TOMBOLA_OK);
  params.samplers = order;
  params.n_samplers = 1;
  params.temperature = 1;
  params.repeat_last_n = 64;
  params.seed_mode = TOMBOLA_SEED_FIXED;
  return params;
}

/* The logits after the chain; -inf where no candidate is. */
static void after(const struct tombola_sampler_params *params, const struct tombola__dialect *rules,
                  const float *row, size_t n, const tombola_token *history, size_t n_history, float *out) {
  tombola_sampler *sampler;
  struct tombola_error error = {0};
  if (tombola_sampler_new(params, NULL, n, NULL, &sampler, &error)) fail_msg("%s", error.message);
  struct tombola__dialect dialect = *sampler->plan->dialect;
  if (rules) {
    dialect.penalty_form = rules->penalty_form;
    dialect.penalty_once_one = rules->penalty_once_one;
    dialect.penalty_dead_zone = rules->penalty_dead_zone;
  }
  sampler->plan->dialect = &dialect;
  for (size_t i = 0; i < n_history; i++)
    assert_int_equal(tombola_sampler_accept(sampler, history[i]), TOMBOLA_OK);
  struct tombola_row r = {row, n, TOMBOLA_F32};
  struct tombola_candidate kept[128];
  size_t count;
  assert_int_equal(tombola_candidates(sampler, &r, NULL, kept, 128, &count), TOMBOLA_OK);
  for (size_t i = 0; i < n; i++)
    out[i] = -INFINITY;
  for (size_t i = 0; i < count; i++)
    out[kept[i].id] = kept[i].logit;
  tombola_sampler_free(sampler);
}

/* ---- penalties ---- */

enum { SUM = TOMBOLA__REPEAT_THEN_SUM, EACH = TOMBOLA__REPEAT_THEN_EACH, FIRST = TOMBOLA__EACH_THEN_REPEAT };

static const struct {
  int form;
  float repeat, presence, frequency;
  float row[4];
  size_t n_history;
  tombola_token history[4];
  float want[4];
} numbers[] = {
    /* rMLX */
    {EACH, 2, 0, 0, {4, -2, 3, 9}, 2, {0, 1}, {2, -4, 3, 9}},
    {EACH, 1, 0.5f, 0, {5, 5, 5, 5}, 4, {0, 1, 1, 1}, {4.5f, 4.5f, 5, 5}},
    {EACH, 1, 0, 0.5f, {5, 5, 5, 5}, 4, {0, 0, 0, 1}, {3.5f, 4.5f, 5, 5}},
    {EACH, 2, 0.3f, 0.2f, {3, 0, 0, 0}, 2, {0, 0}, {0.8f, 0, 0, 0}},
    /* minfer */
    {FIRST, 2, 0, 0, {1, 2, 3, 4}, 1, {3}, {1, 2, 3, 2}},
    {FIRST, 2, 0, 0, {-4, -2, -1, -3}, 1, {3}, {-4, -2, -1, -6}},
    {FIRST, 1, 0, 0.5f, {1, 2, 3, 4}, 2, {3, 3}, {1, 2, 3, 3}},
    {FIRST, 1, 0.8f, 0, {1, 2, 3, 4}, 1, {3}, {1, 2, 3, 3.2f}},
    {FIRST, 1, 0.8f, 0, {1, 2, 3, 4}, 2, {3, 3}, {1, 2, 3, 3.2f}},
    {FIRST, 2, 1, 1, {4, -4, 0, 0}, 1, {0}, {1, -4, 0, 0}},
    {FIRST, 2, 0, 0, {4, -4, 0, 0}, 1, {1}, {4, -8, 0, 0}},
    {FIRST, 1, 0, 0, {1, 2, 3, 4}, 3, {1, 2, 3}, {1, 2, 3, 4}},
    {FIRST, 1.1f, 0.3f, 0.5f, {4, 7.5f, 0, 0}, 2, {0, 1}, {2.909091f, 6.090909f, 0, 0}},
    /* rml, and llama.cpp's one subtraction */
    {SUM, 1.1f, 0, 0, {2, 1, 0, -1}, 2, {0, 3}, {1.818182f, 1, 0, -1.1f}},
    {SUM, 2, 0.3f, 0.2f, {3, -3, 0, 0}, 3, {0, 0, 1}, {0.8f, -6.5f, 0, 0}},
};

static void test_numbers(void **state) {
  (void)state;
  for (size_t i = 0; i < TOMBOLA__COUNT(numbers); i++) {
    struct tombola_sampler_params params = neutral();
    struct tombola__dialect rules = {.penalty_form = (enum tombola__penalty_form)numbers[i].form};
    float got[4];
    params.repeat_penalty = numbers[i].repeat;
    params.presence_penalty = numbers[i].presence;
    params.frequency_penalty = numbers[i].frequency;
    after(&params, &rules, numbers[i].row, 4, numbers[i].history, numbers[i].n_history, got);
    for (size_t t = 0; t < 4; t++)
      if (fabsf(got[t] - numbers[i].want[t]) > 2e-6f)
        fail_msg("case %zu: token %zu is %g, not %g", i, t, (double)got[t], (double)numbers[i].want[t]);
  }
}

/* One number tells the forms apart. */
static void test_forms_differ(void **state) {
  (void)state;
  static const float row[] = {3, 0}, want[] = {3.0f / 2 - 0.7f, 3.0f / 2 - 0.7f, (3 - 0.7f) / 2};
  static const tombola_token history[] = {0, 0};
  struct tombola_sampler_params params = neutral();
  params.repeat_penalty = 2;
  params.presence_penalty = 0.3f;
  params.frequency_penalty = 0.2f;
  for (int form = SUM; form <= FIRST; form++) {
    struct tombola__dialect rules = {.penalty_form = (enum tombola__penalty_form)form};
    float got[2];
    after(&params, &rules, row, 2, history, 2, got);
    assert_true(fabsf(got[0] - want[form]) < 1e-6f && got[1] == 0);
  }
}

/* The last 20 of 50 tokens; ids that only lie before them are left alone. */
static void test_window(void **state) {
  (void)state;
  struct tombola_sampler_params params = neutral();
  tombola_token history[50];
  float row[100], got[100];
  for (size_t i = 0; i < 100; i++)
    row[i] = 4;
  for (size_t i = 0; i < 50; i++)
    history[i] = i < 30 ? 99 : 0;
  params.repeat_penalty = 2;
  params.repeat_last_n = 20;
  after(&params, NULL, row, 100, history, 50, got);
  for (size_t i = 0; i < 100; i++)
    assert_true(got[i] == (i ? 4 : 2));
}

/* minfer: a repeat_penalty below 1 is ignored, and so is what is within 1e-6 of neutral. */
static void test_ignored(void **state) {
  (void)state;
  static const float row[] = {4, -4, 1};
  static const tombola_token history[] = {0, 1};
  struct tombola__dialect rules = {
      .penalty_form = TOMBOLA__EACH_THEN_REPEAT, .penalty_once_one = true, .penalty_dead_zone = 1e-6};
  struct tombola_sampler_params params = neutral();
  float got[3];
  params.repeat_penalty = 0.5f;
  params.presence_penalty = 1;
  after(&params, &rules, row, 3, history, 2, got);
  assert_true(got[0] == 3 && got[1] == -5 && got[2] == 1);
  after(&params, NULL, row, 3, history, 2, got);
  assert_true(got[0] == 7 && got[1] == -3 && got[2] == 1);
  params.repeat_penalty = 1 + 5e-7f;
  params.presence_penalty = 9e-7f;
  after(&params, &rules, row, 3, history, 2, got);
  assert_true(got[0] == 4 && got[1] == -4);
}

/* Greedy with penalties: [1, 2, 3, 4] and a window of token 3 gives token 2; a loop breaks after one step. */
static void test_greedy(void **state) {
  (void)state;
  static const float first[] = {1, 2, 3, 4}, loop[] = {3, 2, 1.5f, 1, 0.5f, 0};
  struct tombola_sampler_params params = neutral();
  struct tombola_row r = {first, 4, TOMBOLA_F32}, l = {loop, 6, TOMBOLA_F32};
  tombola_sampler *sampler;
  tombola_token token;
  params.temperature = 0;
  params.repeat_penalty = 2;
  assert_int_equal(tombola_sampler_new(&params, NULL, 4, NULL, &sampler, NULL), TOMBOLA_OK);
  assert_int_equal(tombola_sampler_accept(sampler, 3), TOMBOLA_OK);
  assert_int_equal(tombola_sampler_sample(sampler, &r, NULL, &token), TOMBOLA_OK);
  assert_int_equal(token, 2);
  tombola_sampler_free(sampler);
  params.repeat_penalty = 3;
  assert_int_equal(tombola_sampler_new(&params, NULL, 6, NULL, &sampler, NULL), TOMBOLA_OK);
  for (tombola_token want = 0; want < 2; want++) {
    assert_int_equal(tombola_sampler_sample(sampler, &l, NULL, &token), TOMBOLA_OK);
    assert_int_equal(token, want);
    assert_int_equal(tombola_sampler_accept(sampler, token), TOMBOLA_OK);
  }
  tombola_sampler_free(sampler);
}

/* ---- biases ---- */

static void assert_biased(const struct tombola_sampler_params *params, const float *want) {
  float row[N], got[N];
  for (size_t i = 0; i < N; i++)
    row[i] = 1;
  after(params, NULL, row, N, NULL, 0, got);
  for (size_t i = 0; i < N; i++)
    if (got[i] != want[i]) fail_msg("token %zu is %g, not %g", i, (double)got[i], (double)want[i]);
}

static void test_biases(void **state) {
  (void)state;
  static const struct tombola_logit_bias own[] = {{5, 2}, {9, -3}, {5, 0.5f}, {2, -INFINITY}},
                                         fallback[] = {{1, 4}, {5, -1}};
  static const tombola_token suppress[] = {5, 0, 5};
  struct tombola_sampler_params params = neutral();
  assert_biased(&params, (const float[N]){1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  params.fallback_bias = fallback;
  params.n_fallback_bias = 2;
  assert_biased(&params, (const float[N]){1, 5, 1, 1, 1, 0, 1, 1, 1, 1});
  params.logit_bias = own;
  params.n_logit_bias = 4;
  assert_biased(&params, (const float[N]){1, 1, -INFINITY, 1, 1, 3.5f, 1, 1, 1, -2});
  params.suppress = suppress;
  params.n_suppress = 3;
  assert_biased(&params, (const float[N]){-INFINITY, 1, -INFINITY, 1, 1, -INFINITY, 1, 1, 1, -2});
  params.n_logit_bias = 0;
  assert_biased(&params, (const float[N]){-INFINITY, 5, 1, 1, 1, -INFINITY, 1, 1, 1, 1});
  params.n_fallback_bias = 0;
  assert_biased(&params, (const float[N]){-INFINITY, 1, 1, 1, 1, -INFINITY, 1, 1, 1, 1});
}

static void assert_refused(const struct tombola_sampler_params *params, const char *param) {
  struct tombola_error error = {0};
  tombola_sampler *sampler;
  assert_int_equal(tombola_sampler_new(params, NULL, N, NULL, &sampler, &error), TOMBOLA_INVALID_ARGUMENT);
  assert_string_equal(error.param, param);
  assert_null(sampler);
}

static void test_refusals(void **state) {
  (void)state;
  static const struct tombola_logit_bias outside = {N, 1}, endless = {1, INFINITY}, nothing = {1, NAN};
  static const tombola_token below = -1;
  struct tombola_sampler_params params = neutral();
  params.n_fallback_bias = 1;
  params.fallback_bias = &outside;
  assert_refused(&params, "fallback_bias");
  params.fallback_bias = &endless;
  assert_refused(&params, "fallback_bias");
  params.fallback_bias = &nothing;
  assert_refused(&params, "fallback_bias");
  params = neutral();
  params.n_suppress = 1;
  params.suppress = &below;
  assert_refused(&params, "suppress");
}

/* What is suppressed is never drawn, and when all is, there is no candidate. */
static void test_all_suppressed(void **state) {
  (void)state;
  static const tombola_token all[] = {0, 1, 2};
  static const float row[] = {5, 1, 1};
  struct tombola_sampler_params params = neutral();
  struct tombola_row r = {row, 3, TOMBOLA_F32};
  tombola_sampler *sampler;
  tombola_token token;
  params.suppress = all;
  for (size_t n = 1; n <= 3; n++) {
    params.n_suppress = n;
    assert_int_equal(tombola_sampler_new(&params, NULL, 3, NULL, &sampler, NULL), TOMBOLA_OK);
    for (int i = 0; i < 50; i++) {
      assert_int_equal(tombola_sampler_sample(sampler, &r, NULL, &token),
                       n < 3 ? TOMBOLA_OK : TOMBOLA_NO_CANDIDATE);
      assert_true(n < 3 ? token >= (tombola_token)n : token == TOMBOLA_NO_TOKEN);
    }
    tombola_sampler_free(sampler);
  }
}

/* Greedy skips what follows the temperature, but a ban holds wherever the order has it. */
static void test_greedy_heeds_bans(void **state) {
  (void)state;
  static const char *const order[] = {"top_p", "temperature", "logit_bias"};
  static const tombola_token suppress[] = {0};
  static const float row[] = {5, 3, 4};
  for (size_t d = 0; d < tombola_dialect_count(); d++) {
    struct tombola_sampler_params params = {.struct_size = sizeof params};
    const char *dialect = tombola_dialect_at(d)->name;
    assert_int_equal(tombola_sampler_params_default(&params, dialect, NULL), TOMBOLA_OK);
    struct tombola_row r = {row, 3, TOMBOLA_F32};
    tombola_sampler *sampler;
    tombola_token token;
    params.temperature = 0;
    params.top_p = 1;
    params.samplers = order, params.n_samplers = 3;
    params.suppress = suppress, params.n_suppress = 1;
    assert_int_equal(tombola_sampler_new(&params, NULL, 3, NULL, &sampler, NULL), TOMBOLA_OK);
    assert_int_equal(tombola_sampler_sample(sampler, &r, NULL, &token), TOMBOLA_OK);
    if (token != 2) fail_msg("%s gives %d", dialect, (int)token);
    tombola_sampler_free(sampler);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_numbers),
      cmocka_unit_test(test_forms_differ),
      cmocka_unit_test(test_window),
      cmocka_unit_test(test_ignored),
      cmocka_unit_test(test_greedy),
      cmocka_unit_test(test_biases),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_all_suppressed),
      cmocka_unit_test(test_greedy_heeds_bans),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
