/* SPDX-License-Identifier: Apache-2.0 */
/* The acceptance of a draft: rMLX's worked numbers, its statistical promise, the uniforms that are used up,
 * and transformers' own acceptances and residuals (tests/golden/hf_aux.jsonl.gz, kind "spec") at fixed
 * uniforms. */
#include "draw_support.h"

static tombola_sampler *new_sampler(struct tombola__dialect *dialect,
                                    const struct tombola__generator *generator) {
  struct tombola_sampler_params params = plain_params();
  tombola_sampler *sampler = make_sampler(&params, 16);
  *dialect = *sampler->plan->dialect;
  dialect->draw_strict = true;
  replace_dialect(sampler, dialect, generator);
  return sampler;
}

/* With these two uniforms; says how many were used. */
static size_t decide(const float *p, const float *q, size_t n, tombola_token draft, double first,
                     double second, int *accepted, tombola_token *token) {
  struct tombola__dialect dialect;
  tombola_sampler *sampler = new_sampler(&dialect, &script_generator);
  script((double[]){first, second}, 2);
  assert_int_equal(tombola_speculative_accept(sampler, p, n, q, n, draft, accepted, token), TOMBOLA_OK);
  tombola_sampler_free(sampler);
  return script_next;
}

static void worked_numbers(void **state) {
  (void)state;
  int accepted;
  tombola_token token;
  const float same[4] = {0.1f, 0.2f, 0.3f, 0.4f};
  for (int x = 0; x < 4; x++) { /* p == q always accepts, with one uniform */
    assert_int_equal(decide(same, same, 4, x, 1 - 0x1p-53, 0, &accepted, &token), 1);
    assert_true(accepted && token == x);
  }
  const float q[4] = {0.999999f, 1e-6f, 0, 0}, p[4] = {0, 0, 0.5f, 0.5f};
  for (int i = 0; i < 100; i++) { /* a draft that p never gives is always rejected */
    assert_int_equal(decide(p, q, 4, 0, i * 0.01, i * 0.01, &accepted, &token), 2);
    assert_true(!accepted && token == (i < 50 ? 2 : 3));
  }
  const float q3[3] = {0.5f, 0.3f, 0.2f}, p3[3] = {0.2f, 0.3f, 0.5f};
  for (int i = 0; i < 100; i++) { /* the residual has all its mass on the last */
    decide(p3, q3, 3, 0, (i + 0.5) * 0.01, i * 0.01, &accepted, &token);
    assert_int_equal(accepted, i < 40);
    assert_int_equal(token, accepted ? 0 : 2);
  }
}

/* u < p / q, strictly, with the float quotient; q = 0 accepts. */
static void at_the_boundary(void **state) {
  (void)state;
  int accepted;
  tombola_token token;
  const float p[2] = {0.25f, 0.75f}, q[2] = {0.5f, 0.5f};
  decide(p, q, 2, 0, 0.5, 0, &accepted, &token);
  assert_true(!accepted && token == 1);
  decide(p, q, 2, 0, nextafter(0.5, 0), 0, &accepted, &token);
  assert_true(accepted && token == 0);
  const float none[2] = {1, 0};
  assert_int_equal(decide(none, (float[]){1, 0}, 2, 1, 1 - 0x1p-53, 0, &accepted, &token), 1);
  assert_true(accepted && token == 1);
}

/* A residual without mass (p below q everywhere: both are rounded) is p itself. */
static void degenerate_residual(void **state) {
  (void)state;
  int accepted;
  tombola_token token;
  const float p[3] = {0.25f, 0.25f, 0.5f}, q[3] = {0.5f, 0.25f, 0.5f};
  assert_int_equal(decide(p, q, 3, 0, 0.9, 0.3, &accepted, &token), 2);
  assert_true(!accepted && token == 1);
  decide(p, q, 3, 0, 0.9, 0.2, &accepted, &token);
  assert_true(!accepted && token == 0);
}

static void refusals(void **state) {
  (void)state;
  struct tombola__dialect dialect;
  tombola_sampler *sampler = new_sampler(&dialect, &script_generator);
  const float p[3] = {0.2f, 0.3f, 0.5f}, negative[3] = {0.5f, -0.1f, 0.6f}, nan[3] = {0.5f, NAN, 0.5f};
  const struct {
    const float *p, *q;
    size_t p_count, q_count;
    tombola_token draft;
  } bad[] = {{p, p, 3, 2, 0},        {p, p, 2, 3, 0},    {p, p, 3, 3, 3},    {p, p, 3, 3, -1},
             {p, p, 0, 0, 0},        {NULL, p, 3, 3, 0}, {p, NULL, 3, 3, 0}, {negative, p, 3, 3, 0},
             {p, negative, 3, 3, 0}, {nan, p, 3, 3, 0},  {p, nan, 3, 3, 0}};
  script((double[]){0, 0}, 2);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    int accepted = 1;
    tombola_token token = 5;
    assert_int_equal(tombola_speculative_accept(sampler, bad[i].p, bad[i].p_count, bad[i].q, bad[i].q_count,
                                                bad[i].draft, &accepted, &token),
                     TOMBOLA_INVALID_ARGUMENT);
    assert_true(!accepted && token == TOMBOLA_NO_TOKEN);
    assert_true(tombola_sampler_error(sampler)->message[0]);
  }
  assert_int_equal(script_next, 0);
  tombola_sampler_free(sampler);
}

/* ---- the law ---- */

#define TOKENS 4
static const float draft_law[TOKENS] = {0.4f, 0.3f, 0.2f, 0.1f};
static const float target_law[TOKENS] = {0.1f, 0.2f, 0.3f, 0.4f};

/* Drafts from q, then the rule; or, for the control, a rule that keeps every draft that p can give. */
static void tokens_of(size_t trials, bool wrong, size_t *observed, size_t *kept) {
  struct tombola__dialect dialect;
  tombola_sampler *sampler = new_sampler(&dialect, &tombola__pcg32);
  assert_int_equal(tombola_sampler_set_seed(sampler, 0xBEEF), TOMBOLA_OK);
  memset(observed, 0, TOKENS * sizeof *observed);
  *kept = 0;
  for (size_t i = 0; i < trials; i++) {
    tombola_token draft, token;
    int accepted;
    assert_int_equal(tombola_draw(sampler, draft_law, TOKENS, &draft), TOMBOLA_OK);
    assert_int_equal(
        tombola_speculative_accept(sampler, target_law, TOKENS, draft_law, TOKENS, draft, &accepted, &token),
        TOMBOLA_OK);
    *kept += (size_t)accepted;
    observed[wrong && i % 20 == 0 ? draft : token]++;
  }
  tombola_sampler_free(sampler);
}

static void the_law_is_the_targets(void **state) {
  (void)state;
  const size_t trials = 200000;
  size_t observed[TOKENS], kept;
  double expected[TOKENS], distance = 0;
  for (int i = 0; i < TOKENS; i++)
    expected[i] = (double)target_law[i];
  tokens_of(trials, false, observed, &kept);
  for (int i = 0; i < TOKENS; i++)
    distance += fabs((double)observed[i] / (double)trials - expected[i]) / 2;
  assert_true(distance < 0.01);
  assert_true(support_chi_square(observed, expected, TOKENS, trials) > 1e-4);
  /* sum of min(p, q) = 0.6, within five standard errors */
  assert_true(fabs((double)kept / (double)trials - 0.6) < 5 * sqrt(0.24 / (double)trials));
  tokens_of(trials, true, observed, &kept); /* the control: one draft in twenty kept whatever p says */
  assert_true(support_chi_square(observed, expected, TOKENS, trials) < 1e-9);
}

/* A draft that is sure (q is 1 for it) is "draw from p, keep if equal": R23. */
static void a_sure_draft(void **state) {
  (void)state;
  struct tombola__dialect dialect;
  tombola_sampler *sampler = new_sampler(&dialect, &tombola__pcg32);
  const float q[TOKENS] = {0, 0, 1, 0};
  size_t observed[TOKENS] = {0}, kept = 0;
  double expected[TOKENS];
  for (int i = 0; i < TOKENS; i++)
    expected[i] = (double)target_law[i];
  for (size_t i = 0; i < 100000; i++) {
    tombola_token token;
    int accepted;
    assert_int_equal(tombola_speculative_accept(sampler, target_law, TOKENS, q, TOKENS, 2, &accepted, &token),
                     TOMBOLA_OK);
    observed[token]++;
    kept += (size_t)accepted;
    assert_true(accepted == (token == 2));
  }
  assert_true(support_chi_square(observed, expected, TOKENS, 100000) > 1e-4);
  assert_true(fabs((double)kept / 1e5 - 0.3) < 5 * sqrt(0.21 / 1e5));
  tombola_sampler_free(sampler);
}

#include "speculative_records.h"

/* One record: drafts in turn until one is rejected; then where the residual's bounds lie. */
static void check_record(const struct speculative_record *r) {
  const size_t v = SPECULATIVE_VOCAB;
  size_t matches = 0;
  int accepted = 1;
  tombola_token token;
  while (matches < r->gamma) {
    decide(r->p[matches], r->q[matches], v, r->draft[matches], (double)r->u[matches], 0, &accepted, &token);
    if (!accepted) break;
    matches++;
  }
  assert_int_equal(matches, r->matches);
  if (accepted) return;
  double sum = 0;
  for (size_t i = 0; i < v; i++) {
    if (!(r->residual[i] > 1e-5f)) continue;
    double middle = sum + (double)r->residual[i] / 2;
    decide(r->p[matches], r->q[matches], v, r->draft[matches], (double)r->u[matches], middle, &accepted,
           &token);
    assert_int_equal(token, i);
    sum += (double)r->residual[i];
  }
}

static void transformers_records(void **state) {
  (void)state;
  const size_t n = sizeof speculative_records / sizeof *speculative_records;
  size_t rejected = 0;
  for (size_t i = 0; i < n; i++) {
    check_record(&speculative_records[i]);
    rejected += speculative_records[i].matches < speculative_records[i].gamma;
  }
  assert_true(n >= 50 && rejected >= 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(worked_numbers),         cmocka_unit_test(at_the_boundary),
      cmocka_unit_test(degenerate_residual),    cmocka_unit_test(refusals),
      cmocka_unit_test(the_law_is_the_targets), cmocka_unit_test(a_sure_draft),
      cmocka_unit_test(transformers_records),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
