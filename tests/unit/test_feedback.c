/* SPDX-License-Identifier: Apache-2.0 */
/* The stages that learn: mirostat 1 and 2, adaptive_p. Worked numbers, laws, states, and rows where a formula
 * divides by nothing. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "sampler/internal.h"
#include "tombola/tombola.h"

#define MOST 1000

static struct tombola_sampler_params neutral(void) {
  struct tombola_sampler_params params = {.struct_size = sizeof params};
  assert_int_equal(tombola_sampler_params_default(&params, "llama.cpp", NULL), TOMBOLA_OK);
  params.temperature = params.top_p = 1;
  params.top_k = 0;
  params.min_p = 0;
  params.seed_mode = TOMBOLA_SEED_FIXED;
  params.seed = 42;
  return params;
}

static struct tombola_sampler_params mirostat(int32_t version, float tau, float eta) {
  struct tombola_sampler_params params = neutral();
  params.mirostat = version;
  params.mirostat_tau = tau;
  params.mirostat_eta = eta;
  return params;
}

static struct tombola_sampler_params adaptive(float target, float decay) {
  struct tombola_sampler_params params = neutral();
  params.adaptive_target = target;
  params.adaptive_decay = decay;
  return params;
}

static tombola_sampler *make(const struct tombola_sampler_params *params, size_t n) {
  tombola_sampler *sampler = NULL;
  struct tombola_error error = {0};
  if (tombola_sampler_new(params, NULL, n, NULL, &sampler, &error)) fail_msg("%s", error.message);
  return sampler;
}

static tombola_token draw(tombola_sampler *sampler, const float *row, size_t n) {
  struct tombola_row r = {row, n, TOMBOLA_F32};
  tombola_token token;
  assert_int_equal(tombola_sampler_sample(sampler, &r, NULL, &token), TOMBOLA_OK);
  return token;
}

static void look(tombola_sampler *sampler, const float *row, size_t n, float *p) {
  struct tombola_row r = {row, n, TOMBOLA_F32};
  assert_int_equal(tombola_distribution(sampler, &r, NULL, p, n), TOMBOLA_OK);
}

static void assert_law(tombola_sampler *sampler, const float *row, const double *want, size_t n) {
  float p[MOST];
  look(sampler, row, n, p);
  for (size_t i = 0; i < n; i++)
    if (fabs((double)p[i] - want[i]) > 2e-6) fail_msg("token %zu has %g, not %g", i, (double)p[i], want[i]);
}

static size_t support_size(tombola_sampler *sampler, const float *row, size_t n) {
  float p[MOST];
  size_t kept = 0;
  look(sampler, row, n, p);
  for (size_t i = 0; i < n; i++)
    kept += p[i] > 0;
  return kept;
}

/* ---- the chain ---- */

static void assert_chain(const struct tombola_sampler_params *params, const char *want) {
  tombola_sampler *sampler = make(params, 4);
  char text[256];
  tombola_sampler_describe(sampler, text, sizeof text);
  assert_string_equal(text, want);
  tombola_sampler_free(sampler);
}

static void test_chains(void **state) {
  (void)state;
  static const char *const order[] = {"adaptive_p", "temperature", "top_k"}, *const two[] = {"top_k",
                                                                                             "mirostat"};
  struct tombola_sampler_params params = mirostat(2, 5, 0.1f);
  assert_chain(&params, "logits -> ?logit_bias -> ?temperature -> mirostat -> draw");
  params.samplers = two;
  params.n_samplers = 2;
  assert_chain(&params, "logits -> ?logit_bias -> ?top_k -> mirostat -> draw");
  params = adaptive(0.5f, 0.9f);
  params.samplers = order;
  params.n_samplers = 3;
  assert_chain(&params, "logits -> ?logit_bias -> ?temperature -> ?top_k -> adaptive_p -> draw");
  params.samplers = NULL;
  tombola_sampler *sampler = make(&params, 4);
  char text[256];
  tombola_sampler_describe(sampler, text, sizeof text);
  assert_non_null(strstr(text, "-> adaptive_p -> draw"));
  tombola_sampler_free(sampler);
}

/* ---- mirostat ---- */

/* Surprises of 1, 2, 3 and 3 bits; mu begins at 2.1, and an eta of 1 moves it by the whole error. */
static void test_version_2(void **state) {
  (void)state;
  const float row[] = {logf(0.125f), logf(0.5f), logf(0.125f), logf(0.25f)};
  static const double start[] = {0, 2.0 / 3, 0, 1.0 / 3}, best[] = {0, 1, 0, 0};
  struct tombola_sampler_params params = mirostat(2, 1.05f, 1);
  int seen = 0;
  for (uint64_t seed = 0; seed < 40; seed++) {
    params.seed = seed;
    tombola_sampler *sampler = make(&params, 4);
    assert_law(sampler, row, start, 4);
    tombola_token token = draw(sampler, row, 4);
    assert_true(token == 1 || token == 3);
    seen |= 1 << token;
    /* After the likely one (0.585 bits) mu is 2.565: the same; after the other (1.585) it is 1.565: one
     * stays. */
    assert_law(sampler, row, token == 1 ? start : best, 4);
    tombola_sampler_free(sampler);
  }
  assert_int_equal(seen, 2 | 8);
}

/* A row that follows Zipf's law with exponent s: the estimate is s itself, and k follows from the formula. */
static void test_version_1(void **state) {
  (void)state;
  static const double exponents[] = {0.8, 1.1, 1.5};
  float row[MOST];
  for (size_t e = 0; e < TOMBOLA__COUNT(exponents); e++) {
    double s = exponents[e], eps = s - 1;
    for (size_t i = 0; i < MOST; i++)
      row[i] = (float)(-s * log((double)i + 1));
    for (int tau = 1; tau < 4; tau++) {
      double k = pow(eps * pow(2, 2 * tau) / (1 - pow(MOST, -eps)), 1 / s);
      struct tombola_sampler_params params = mirostat(1, (float)tau, 0.1f);
      tombola_sampler *sampler = make(&params, MOST);
      double kept = (double)support_size(sampler, row, MOST), wanted = k < 1 ? 1 : k < MOST ? floor(k) : MOST;
      assert_true(fabs(kept - wanted) <= (k - wanted < 1e-3 * k || k - wanted > 1 - 1e-3 * k ? 1 : 0));
      tombola_sampler_free(sampler);
    }
  }
}

/* The surprise of what is drawn comes to tau. */
static void test_convergence(void **state) {
  (void)state;
  float row[MOST], p[MOST];
  for (size_t i = 0; i < MOST; i++)
    row[i] = -1.1f * logf((float)i + 1);
  for (int32_t version = 1; version <= 2; version++) {
    struct tombola_sampler_params params = mirostat(version, 4, 0.1f);
    tombola_sampler *sampler = make(&params, MOST);
    double sum = 0;
    for (int i = 0; i < 1500; i++) {
      look(sampler, row, MOST, p);
      double surprise = -log2((double)p[draw(sampler, row, MOST)]);
      if (i >= 500) sum += surprise;
    }
    assert_true(fabs(sum / 1000 - 4) < 0.15);
    tombola_sampler_free(sampler);
  }
}

static void test_degenerate(void **state) {
  (void)state;
  static const struct {
    size_t n;
    float row[5];
  } rows[] = {{1, {3}},
              {2, {0, 0}},
              {5, {1, 1, 1, 1, 1}},
              {5, {2, -INFINITY, -INFINITY, -INFINITY, -INFINITY}},
              {5, {300, 0, -300, 1, 2}},
              {5, {1e38f, -1e38f, 0, 0, 0}},
              {3, {0, -0.69314718f, -1.0986123f}}}; /* an exponent of 1 */
  static const float etas[] = {0, 0.1f, 1e30f, 3e38f};
  for (size_t r = 0; r < TOMBOLA__COUNT(rows); r++) {
    for (size_t e = 0; e < 8; e++) {
      struct tombola_sampler_params params = mirostat(1 + (int32_t)(e & 1), e & 4 ? 0.0f : 5.0f, etas[e / 2]);
      tombola_sampler *sampler = make(&params, rows[r].n);
      float p[5];
      for (int i = 0; i < 30; i++) {
        double sum = 0;
        look(sampler, rows[r].row, rows[r].n, p);
        for (size_t t = 0; t < rows[r].n; t++)
          sum += (double)p[t];
        assert_true(fabs(sum - 1) < 1e-6);
        assert_true(p[draw(sampler, rows[r].row, rows[r].n)] > 0);
      }
      tombola_sampler_free(sampler);
    }
  }
}

/* All equal: where 2^mu reaches V - 1 all stay, else one. */
static void test_all_equal(void **state) {
  (void)state;
  float row[MOST];
  for (size_t i = 0; i < MOST; i++)
    row[i] = 1;
  for (int32_t version = 1; version <= 2; version++) {
    for (int many = 0; many < 2; many++) {
      struct tombola_sampler_params params = mirostat(version, many ? 5 : 4.9f, 0.1f);
      tombola_sampler *sampler = make(&params, MOST);
      assert_int_equal(support_size(sampler, row, MOST), many ? MOST : 1);
      tombola_sampler_free(sampler);
    }
  }
}

/* mlxcel's rules: what ties with the best, or with the k-th, stays too. */
static void test_ties(void **state) {
  (void)state;
  static const float row[] = {1, 4, 4, 4, 2, 2, 0, 0};
  for (int32_t version = 1; version <= 2; version++) {
    struct tombola_sampler_params params = mirostat(version, 0, 0);
    tombola_sampler *sampler = make(&params, 8);
    struct tombola__dialect dialect = *sampler->plan->dialect;
    dialect.top_k_ties = true;
    assert_int_equal(support_size(sampler, row, 8), 1);
    sampler->plan->dialect = &dialect;
    assert_int_equal(support_size(sampler, row, 8), 3);
    tombola_sampler_free(sampler);
  }
}

/* ---- adaptive_p ---- */

static const double adaptive_p[] = {0.1, 0.6, 0.3};

static void adapted_law(double adapted, double *law) {
  double sum = 0;
  for (size_t i = 0; i < 3; i++) {
    double d = fabs(adaptive_p[i] - adapted) / 0.3;
    sum += law[i] = exp(5 - 10 * d * d / (1 + d));
  }
  for (size_t i = 0; i < 3; i++)
    law[i] /= sum;
}

/* Target 0.3, decay 0.5: the average begins at 0.6 / 2. */
static void run_adaptive(tombola_sampler *sampler, bool biased, int *seen) {
  const float row[] = {logf(0.1f), logf(0.6f) - (biased ? 1 : 0), logf(0.3f)};
  double law[3], sum = 0.6, weight = 2, adapted = 0.3;
  for (int step = 0; step < 6; step++) {
    adapted_law(adapted, law);
    assert_law(sampler, row, law, 3);
    tombola_token token = draw(sampler, row, 3);
    assert_law(sampler, row, law, 3); /* it isn't accepted yet */
    *seen |= 1 << token;
    if (step % 3 == 2) { /* another one is taken: nothing is learnt, nor from a second acceptance */
      assert_int_equal(tombola_sampler_accept(sampler, (token + 1) % 3), TOMBOLA_OK);
      assert_int_equal(tombola_sampler_accept(sampler, token), TOMBOLA_OK);
      continue;
    }
    assert_int_equal(tombola_sampler_accept(sampler, token), TOMBOLA_OK);
    sum = adaptive_p[token] + 0.5 * sum;
    weight = 1 + 0.5 * weight;
    adapted = 0.6 - sum / weight;
    adapted = adapted < 0 ? 0 : adapted > 1 ? 1 : adapted;
  }
}

/* By id, ranked, ranked but drawn by id, and with a bias on the ranked list. */
static void test_adaptive(void **state) {
  (void)state;
  static const char *const order[] = {"top_k", "logit_bias", "adaptive_p"};
  static const struct tombola_logit_bias bias = {1, 1};
  for (int way = 0; way < 4; way++) {
    int seen = 0;
    for (uint64_t seed = 0; seed < 40; seed++) {
      struct tombola_sampler_params params = adaptive(0.3f, 0.5f);
      params.seed = seed;
      params.top_k = way ? 3 : 0;
      if (way == 3)
        params.samplers = order, params.n_samplers = 3, params.logit_bias = &bias, params.n_logit_bias = 1;
      tombola_sampler *sampler = make(&params, 3);
      struct tombola__dialect dialect = *sampler->plan->dialect;
      if (way == 2) dialect.draw_order = TOMBOLA__DRAW_BY_ID;
      sampler->plan->dialect = &dialect;
      run_adaptive(sampler, way == 3, &seen);
      tombola_sampler_free(sampler);
    }
    assert_int_equal(seen, 7);
  }
}

/* The average probability of what is drawn comes near the target, in another order of the draw too. */
static void test_adaptive_average(void **state) {
  (void)state;
  float row[40], p[40];
  for (size_t i = 0; i < 40; i++)
    row[i] = -0.5f * (float)((i * 7) % 40);
  for (int by_id = 0; by_id < 2; by_id++) {
    struct tombola_sampler_params params = adaptive(0.2f, 0.9f);
    params.min_p = 0.001f;
    params.top_k = 30;
    params.min_keep = 0;
    tombola_sampler *sampler = make(&params, 40), *plain;
    struct tombola__dialect dialect = *sampler->plan->dialect;
    if (by_id) dialect.draw_order = TOMBOLA__DRAW_BY_ID;
    sampler->plan->dialect = &dialect;
    params.adaptive_target = -1;
    plain = make(&params, 40);
    look(plain, row, 40, p);
    double sum = 0;
    for (int i = 0; i < 4000; i++) {
      tombola_token token = draw(sampler, row, 40);
      sum += (double)p[token];
      assert_int_equal(tombola_sampler_accept(sampler, token), TOMBOLA_OK);
    }
    assert_true(sum / 4000 > 0.15 && sum / 4000 < 0.2); /* its control has an offset */
    tombola_sampler_free(sampler);
    tombola_sampler_free(plain);
  }
}

/* ---- laws ---- */

/* Draws without learning fit the distribution that is foretold, and not another one. */
static void assert_draws(const struct tombola_sampler_params *params, const float *row, size_t n) {
  tombola_sampler *sampler = make(params, n);
  size_t observed[16] = {0};
  float p[16];
  double law[16] = {0}, other[16];
  look(sampler, row, n, p);
  for (size_t i = 0; i < n; i++)
    other[i] = law[i] = (double)p[i];
  for (int i = 0; i < 40000; i++)
    observed[draw(sampler, row, n)]++;
  assert_true(support_chi_square(observed, law, n, 40000) > 1e-4);
  size_t first = 0;
  while (law[first] < 0.05)
    first++;
  size_t second = first + 1;
  while (law[second] < 0.05)
    second++;
  other[first] += 0.03;
  other[second] -= 0.03;
  assert_true(support_chi_square(observed, other, n, 40000) < 1e-6);
  tombola_sampler_free(sampler);
}

static void test_laws(void **state) {
  (void)state;
  static const float row[] = {1, 2, 0.5f, 2.5f, -1, 0, 1.5f, 2};
  struct tombola_sampler_params params = mirostat(2, 1.5f, 0);
  assert_draws(&params, row, 8);
  params = mirostat(1, 3, 0);
  assert_draws(&params, row, 8);
  params = adaptive(0.2f, 0.9f);
  assert_draws(&params, row, 8);
}

/* ---- states ---- */

static void sequence(tombola_sampler *sampler, const float *row, size_t n, tombola_token *out, size_t count,
                     bool looks) {
  float p[MOST];
  for (size_t i = 0; i < count; i++) {
    if (looks) look(sampler, row, n, p);
    out[i] = draw(sampler, row, n);
    if (looks) look(sampler, row, n, p);
    assert_int_equal(tombola_sampler_accept(sampler, out[i]), TOMBOLA_OK);
  }
}

static void assert_states(const struct tombola_sampler_params *params) {
  enum { N = 60, LENGTH = 40 };
  float row[N];
  tombola_token first[LENGTH], middle[LENGTH], again[LENGTH];
  tombola_sampler *sampler = make(params, N), *clone;
  tombola_snapshot *snapshot;
  for (size_t i = 0; i < N; i++)
    row[i] = -0.15f * (float)((i * 11) % N);
  sequence(sampler, row, N, first, LENGTH, false);
  assert_int_equal(tombola_snapshot_new(sampler, &snapshot), TOMBOLA_OK);
  assert_int_equal(tombola_sampler_clone(sampler, &clone), TOMBOLA_OK);
  sequence(sampler, row, N, middle, LENGTH, false);
  assert_memory_not_equal(first, middle, sizeof first);
  sequence(clone, row, N, again, LENGTH, true); /* looking changes nothing */
  assert_memory_equal(middle, again, sizeof middle);
  assert_int_equal(tombola_snapshot_restore(snapshot, sampler), TOMBOLA_OK);
  sequence(sampler, row, N, again, LENGTH, false);
  assert_memory_equal(middle, again, sizeof middle);
  tombola_sampler_reset(sampler);
  sequence(sampler, row, N, again, LENGTH, false);
  assert_memory_equal(first, again, sizeof first);
  tombola_snapshot_free(snapshot);
  tombola_sampler_free(clone);
  tombola_sampler_free(sampler);
}

static void test_states(void **state) {
  (void)state;
  static const char *const order[] = {"dry", "no_repeat_ngram", "xtc", "temperature"};
  struct tombola_sampler_params params = mirostat(1, 4, 0.3f);
  assert_states(&params);
  params = mirostat(2, 4, 0.3f);
  assert_states(&params);
  params = adaptive(0.1f, 0.8f);
  assert_states(&params);
  params = neutral();
  params.samplers = order;
  params.n_samplers = 4;
  params.xtc_probability = 0.5f;
  params.xtc_threshold = 0.05f;
  params.dry_multiplier = 1;
  params.dry_allowed_length = 1;
  params.no_repeat_ngram = 3;
  assert_states(&params);
  params.dialect = "rml";
  assert_states(&params);
}

/* A set of one token uses up no uniform where the stage is the draw, as in llama.cpp. */
static void test_single(void **state) {
  (void)state;
  const float row[] = {0, -1, -2, -3}, one[] = {0, -30, -31, -32};
  struct tombola_sampler_params params = mirostat(2, 2, 0);
  tombola_sampler *sampler = make(&params, 4), *other = make(&params, 4);
  for (int i = 0; i < 50; i++) {
    assert_int_equal(draw(sampler, one, 4), 0);
    assert_int_equal(draw(sampler, row, 4), draw(other, row, 4));
  }
  tombola_sampler_free(sampler);
  tombola_sampler_free(other);
}

/* Once it is warm, no stage allocates. */
static void test_no_allocation(void **state) {
  (void)state;
  static const char *const order[] = {"dry", "xtc", "min_p", "temperature"};
  float row[MOST];
  struct support_rng rng = support_rng(3);
  struct tombola_row r = {row, MOST, TOMBOLA_F32};
  struct tombola_sampler_params all[] = {mirostat(1, 4, 0.1f), mirostat(2, 4, 0.1f), adaptive(0.2f, 0.9f),
                                         neutral(), adaptive(0.3f, 0.9f)};
  all[3].samplers = order;
  all[3].n_samplers = 4;
  all[3].dry_multiplier = 1;
  all[3].xtc_probability = 0.5f;
  all[3].xtc_threshold = 0.01f;
  all[4].min_p = 0.05f;
  for (size_t k = 0; k < TOMBOLA__COUNT(all); k++) {
    struct support_allocator a = support_allocator(0);
    tombola_sampler *sampler;
    tombola_token token;
    size_t warm = 0;
    assert_int_equal(tombola_sampler_new(&all[k], NULL, MOST, support_allocator_use(&a), &sampler, NULL),
                     TOMBOLA_OK);
    for (int i = 0; i < 600; i++) {
      if (i == 300) warm = a.requests;
      for (size_t t = 0; t < MOST; t++)
        row[t] = (float)((t * 31 + (size_t)i % 8 * 7) % MOST) * 0.01f;
      row[support_below(&rng, 8)] = 11;
      assert_int_equal(tombola_sampler_sample(sampler, &r, NULL, &token), TOMBOLA_OK);
      assert_int_equal(tombola_sampler_accept(sampler, token), TOMBOLA_OK);
    }
    assert_int_equal(a.requests, warm);
    tombola_sampler_free(sampler);
    support_allocator_check(&a);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_chains),
      cmocka_unit_test(test_version_2),
      cmocka_unit_test(test_version_1),
      cmocka_unit_test(test_convergence),
      cmocka_unit_test(test_degenerate),
      cmocka_unit_test(test_all_equal),
      cmocka_unit_test(test_ties),
      cmocka_unit_test(test_adaptive),
      cmocka_unit_test(test_adaptive_average),
      cmocka_unit_test(test_laws),
      cmocka_unit_test(test_states),
      cmocka_unit_test(test_single),
      cmocka_unit_test(test_no_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
