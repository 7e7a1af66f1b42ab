/* SPDX-License-Identifier: Apache-2.0 */
/* What a draw gives for given numbers: the boundary rules of the inverse CDF, Gumbel-max, the bare draw. The
 * laws are in tests/property/test_draw_laws.c. */
#include "draw_support.h"

#include "kernels/log.h"

static tombola_token sample(tombola_sampler *sampler, const float *row, size_t count) {
  struct tombola_row r = {row, count, TOMBOLA_F32};
  tombola_token token;
  assert_int_equal(tombola_sampler_sample(sampler, &r, NULL, &token), TOMBOLA_OK);
  return token;
}

/* ---- the bare draw ---- */

static void bare(bool strict, const float *weights, size_t count, const double *uniforms,
                 const tombola_token *expected, size_t n) {
  struct tombola_sampler_params params = plain_params();
  tombola_sampler *sampler = make_sampler(&params, 8);
  struct tombola__dialect dialect = *sampler->plan->dialect;
  dialect.draw_strict = strict;
  replace_dialect(sampler, &dialect, &script_generator);
  script(uniforms, n);
  for (size_t i = 0; i < n; i++) {
    tombola_token token;
    assert_int_equal(tombola_draw(sampler, weights, count, &token), TOMBOLA_OK);
    assert_int_equal(token, expected[i]);
  }
  assert_int_equal(script_next, n); /* one uniform each, also where there is no mass */
  tombola_sampler_free(sampler);
}

/* rMLX: the first whose running sum exceeds r * total. */
static void strict_bare_draws(void **state) {
  (void)state;
  bare(true, (float[]){0, 0.5f, 0, 0.5f}, 4, (double[]){0, 0.4999, 0.5, 0.999999},
       (tombola_token[]){1, 1, 3, 3}, 4);
  bare(true, (float[]){0.2f, 0.3f, 0.5f}, 3, (double[]){0.1, 0.35, 0.8}, (tombola_token[]){0, 1, 2}, 3);
  bare(true, (float[]){0, 0, 0}, 3, (double[]){0.7}, (tombola_token[]){0}, 1);
  bare(true, (float[]){0, 12, 4, 0}, 4, (double[]){0.74, 0.75}, (tombola_token[]){1, 2}, 2);
}

/* minfer: the first with r <= the running sum. Its documentation's dart, .85 over .731 .209 .060, lands in
 * the second. */
static void inclusive_bare_draws(void **state) {
  (void)state;
  bare(false, (float[]){0, 0.5f, 0, 0.5f}, 4, (double[]){0, 0.4999, 0.5, 0.500001},
       (tombola_token[]){1, 1, 1, 3}, 4);
  bare(false, (float[]){0.731f, 0.209f, 0.060f}, 3, (double[]){0.85}, (tombola_token[]){1}, 1);
  bare(false, (float[]){0, 0, 0}, 3, (double[]){0}, (tombola_token[]){0}, 1);
  bare(false, (float[]){0, 1, 0}, 3, (double[]){0}, (tombola_token[]){1}, 1);
}

static void bare_draws_refuse(void **state) {
  (void)state;
  struct tombola_sampler_params params = plain_params();
  tombola_sampler *sampler = make_sampler(&params, 8), *other;
  assert_int_equal(tombola_sampler_clone(sampler, &other), TOMBOLA_OK);
  const float bad[][2] = {{1, -1}, {NAN, 1}, {INFINITY, 1}};
  tombola_token token, wanted;
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(tombola_draw(sampler, bad[i], 2, &token), TOMBOLA_INVALID_ARGUMENT);
    assert_int_equal(token, TOMBOLA_NO_TOKEN);
    assert_non_null(strstr(tombola_sampler_error(sampler)->message, "weight"));
  }
  assert_int_equal(tombola_draw(sampler, bad[0], 0, &token), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_draw(sampler, NULL, 2, &token), TOMBOLA_INVALID_ARGUMENT);
  const float flat[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  for (int i = 0; i < 20; i++) { /* no random number was used */
    assert_int_equal(tombola_draw(sampler, flat, 8, &token), TOMBOLA_OK);
    assert_int_equal(tombola_draw(other, flat, 8, &wanted), TOMBOLA_OK);
    assert_int_equal(token, wanted);
  }
  tombola_sampler_free(sampler);
  tombola_sampler_free(other);
}

/* ---- rows ---- */

/* Equal logits have weights of exactly 1, so the bounds are exact: a uniform on one of them is where the
 * rules part. Dense, and as lists. */
static void rows_at_exact_bounds(void **state) {
  (void)state;
  const float row[4] = {2, 2, 2, 2};
  const double uniforms[] = {0, 0.25, 0.5, 0.75, 0.999};
  static const tombola_token expected[2][5] = {{0, 0, 1, 2, 3}, {0, 1, 2, 3, 3}};
  for (int strict = 0; strict < 2; strict++) {
    for (int list = 0; list < 2; list++) {
      struct tombola_sampler_params params = plain_params();
      if (list) params.top_k = 4;
      tombola_sampler *sampler = make_sampler(&params, 4);
      struct tombola__dialect dialect = *sampler->plan->dialect;
      dialect.draw_strict = strict;
      replace_dialect(sampler, &dialect, &script_generator);
      script(uniforms, 5);
      for (int i = 0; i < 5; i++)
        assert_int_equal(sample(sampler, row, 4), expected[strict][i]);
      tombola_sampler_free(sampler);
    }
  }
}

/* The same over several blocks, where whole blocks are passed over by their sums: 64 * 3 equal tokens. */
static void blocks_at_exact_bounds(void **state) {
  (void)state;
  float row[256];
  for (int i = 0; i < 256; i++)
    row[i] = 1;
  const double uniforms[] = {0.25, 0.5, 0.49609375, 1 - 0x1p-53};
  static const tombola_token expected[2][4] = {{63, 127, 126, 255}, {64, 128, 127, 255}};
  for (int strict = 0; strict < 2; strict++) {
    struct tombola_sampler_params params = plain_params();
    tombola_sampler *sampler = make_sampler(&params, 256);
    struct tombola__dialect dialect = *sampler->plan->dialect;
    dialect.draw_strict = strict;
    replace_dialect(sampler, &dialect, &script_generator);
    script(uniforms, 4);
    for (int i = 0; i < 4; i++)
      assert_int_equal(sample(sampler, row, 256), expected[strict][i]);
    tombola_sampler_free(sampler);
  }
}

/* ---- the logarithm ---- */

static void logarithm(void **state) {
  (void)state;
  double worst = 0;
  for (uint32_t bits = 0x00800000u; bits < 0x7F800000u; bits += 4099) {
    float x = support_from_bits(bits);
    if (x == 1) continue;
    double error = support_ulp_error(tombola__logf(x), logl((long double)x));
    worst = error > worst ? error : worst;
  }
  assert_true(worst < 1);
  assert_same_bits(tombola__logf(1), 0.0f);
  assert_same_bits(tombola__logf(0), -INFINITY);
  assert_same_bits(tombola__logf(INFINITY), INFINITY);
}

/* The bound by which blocks are passed over, at the uniforms that give most. */
static void gumbel_bound(void **state) {
  (void)state;
  float u = nextafterf(1, 0);
  for (int i = 0; i < 1000; i++, u = nextafterf(u, 0))
    assert_true(-tombola__logf(-tombola__logf(u)) <= TOMBOLA__GUMBEL_MAX);
  assert_true(fabsf(-tombola__logf(-tombola__logf(nextafterf(1, 0))) - 16.6355f) < 1e-3f);
  assert_true(-tombola__logf(-tombola__logf(0)) == -INFINITY);
}

/* ---- Gumbel-max ---- */

/* The definition, over all tokens in order. */
static tombola_token plain_gumbel(const struct tombola__noise *noise, const struct tombola__noise_key *key,
                                  const float *row, size_t count, float temperature) {
  float max = -INFINITY, best = -INFINITY, scale = 1 / temperature;
  tombola_token token = TOMBOLA_NO_TOKEN;
  for (size_t i = 0; i < count; i++)
    max = row[i] > max ? row[i] : max;
  for (size_t i = 0; i < count; i++) {
    float u = noise->uniform(noise->word(key, count, i));
    float sum = (row[i] - max) * scale - tombola__logf(-tombola__logf(u));
    if (sum > best) {
      best = sum;
      token = (tombola_token)i;
    }
  }
  return token;
}

static void gumbel_is_its_definition(void **state) {
  (void)state;
  static const struct tombola__generator *const generators[] = {&tombola__threefry, &tombola__philox,
                                                                &tombola__counter, &tombola__pcg32};
  static const size_t counts[] = {3, 64, 1000, 1001};
  struct support_rng rng = support_rng(62);
  float row[1001];
  for (size_t g = 0; g < 4; g++) {
    for (size_t c = 0; c < 4; c++) {
      size_t n = counts[c];
      struct tombola_sampler_params params = plain_params();
      params.draw = TOMBOLA_DRAW_GUMBEL;
      params.temperature = c % 2 ? 0.7f : 1;
      tombola_sampler *sampler = make_sampler(&params, n);
      struct tombola__dialect dialect = *sampler->plan->dialect;
      replace_dialect(sampler, &dialect, generators[g]);
      uint64_t memory[512];
      generators[g]->seed(memory, 42);
      for (int round = 0; round < 50; round++) {
        for (size_t i = 0; i < n; i++)
          row[i] = support_normal(&rng, 0, round % 2 ? 8 : 1);
        struct tombola__noise_key key;
        generators[g]->key(memory, &key);
        tombola_token wanted = plain_gumbel(generators[g]->noise, &key, row, n, params.temperature);
        if (generators[g]->next_step) generators[g]->next_step(memory);
        assert_int_equal(sample(sampler, row, n), wanted);
      }
      tombola_sampler_free(sampler);
    }
  }
}

/* The noise is by id: what a filter leaves wins if it won before. */
static void gumbel_survives_filters(void **state) {
  (void)state;
  struct support_rng rng = support_rng(63);
  float row[500];
  struct tombola_sampler_params params = plain_params();
  params.draw = TOMBOLA_DRAW_GUMBEL;
  tombola_sampler *whole = make_sampler(&params, 500);
  params.top_k = 20;
  tombola_sampler *few = make_sampler(&params, 500);
  size_t same = 0;
  for (int round = 0; round < 200; round++) {
    for (size_t i = 0; i < 500; i++)
      row[i] = support_normal(&rng, 0, 4);
    float probs[500];
    struct tombola_row r = {row, 500, TOMBOLA_F32};
    assert_int_equal(tombola_distribution(few, &r, NULL, probs, 500), TOMBOLA_OK);
    tombola_token a = sample(whole, row, 500), b = sample(few, row, 500);
    assert_true(probs[b] > 0);
    if (probs[a] > 0) assert_int_equal(a, b);
    same += a == b;
  }
  assert_true(same > 100 && same < 200);
  tombola_sampler_free(whole);
  tombola_sampler_free(few);
}

/* Equal sums: the lowest id, dense and as a list; noise of -inf everywhere is no reason to give none. */
static void gumbel_ties(void **state) {
  (void)state;
  const float row[6] = {1, -INFINITY, 3, 3, 2, 3}, banned[2] = {-INFINITY, -INFINITY};
  for (int list = 0; list < 2; list++) {
    for (uint32_t half = 0; half < 2; half++) {
      uint32_t word = half << 31;
      struct tombola_sampler_params params = plain_params();
      params.draw = TOMBOLA_DRAW_GUMBEL;
      if (list) params.top_k = 6;
      tombola_sampler *sampler = make_sampler(&params, 6);
      struct tombola__dialect dialect = *sampler->plan->dialect;
      replace_dialect(sampler, &dialect, &script_generator);
      script_word = word;
      tombola_token token = sample(sampler, row, 6);
      assert_true(word ? token == 2 : row[token] > -INFINITY);
      tombola_sampler_free(sampler);
    }
  }
  struct tombola_sampler_params params = plain_params();
  params.draw = TOMBOLA_DRAW_GUMBEL;
  tombola_sampler *sampler = make_sampler(&params, 2);
  struct tombola_row r = {banned, 2, TOMBOLA_F32};
  tombola_token token;
  assert_int_equal(tombola_sampler_sample(sampler, &r, NULL, &token), TOMBOLA_NO_CANDIDATE);
  assert_int_equal(token, TOMBOLA_NO_TOKEN);
  tombola_sampler_free(sampler);
}

/* ---- rejection ---- */

/* The vector that tells the dialects apart, judged together over the whole row as mlxcel's kernel does. */
static void rejection_judges_together(void **state) {
  (void)state;
  const float row[7] = {2, 3, 2.5f, 1.5f, 2, 1.5f, 2};
  static const double expected[7] = {.108513, .452797, .221663, 0, .108513, 0, .108513};
  struct tombola_sampler_params params = plain_params();
  params.draw = TOMBOLA_DRAW_REJECTION;
  params.temperature = 0.7f;
  params.top_k = 3;
  params.top_p = 0.8f;
  params.min_p = 0.2f;
  tombola_sampler *sampler = make_sampler(&params, 7);
  struct tombola__dialect dialect = *sampler->plan->dialect;
  dialect.rejection_joint = dialect.top_p_exceeds = true; /* which lets equals share their fate */
  replace_dialect(sampler, &dialect, &tombola__philox);
  struct tombola_row r = {row, 7, TOMBOLA_F32};
  float probs[7];
  assert_int_equal(tombola_distribution(sampler, &r, NULL, probs, 7), TOMBOLA_OK);
  for (int i = 0; i < 7; i++)
    assert_true(fabs((double)probs[i] - expected[i]) < 1e-6);
  for (int i = 0; i < 1000; i++)
    assert_true(expected[sample(sampler, row, 7)] > 0);
  struct tombola_draw_counts counts = tombola_sampler_draw_counts(sampler);
  assert_true(counts.draws == 1000 && counts.rounds > 1000 && counts.most <= 32 && counts.exhausted == 0);
  tombola_sampler_free(sampler);
}

/* For each filter alone the support and the law are the ranking's, ties and all. */
static void rejection_has_the_same_support(void **state) {
  (void)state;
  struct support_rng rng = support_rng(64);
  for (int round = 0; round < 300; round++) {
    float row[200], by_cdf[200], by_rejection[200];
    for (int i = 0; i < 200; i++) {
      row[i] = support_normal(&rng, 0, 3);
      if (round % 3 == 0) row[i] = roundf(row[i]);
      if (round % 5 == 0 && i % 3 == 0) row[i] = -INFINITY;
    }
    struct tombola_sampler_params params = plain_params();
    params.temperature = 0.8f;
    if (round % 4 == 0) params.top_k = 1 + (int32_t)support_below(&rng, 150);
    if (round % 4 == 1) params.top_p = support_between(&rng, 0.05f, 0.99f);
    if (round % 4 == 2) params.min_p = support_between(&rng, 0.01f, 0.9f);
    if (round % 4 == 3) params.top_p = 0.7f, params.min_p = support_between(&rng, 0.01f, 0.5f);
    struct tombola_row r = {row, 200, TOMBOLA_F32};
    tombola_sampler *cdf = make_sampler(&params, 200);
    params.draw = TOMBOLA_DRAW_REJECTION;
    tombola_sampler *rejection = make_sampler(&params, 200);
    assert_true(rejection->plan->rejection.on);
    assert_int_equal(tombola_distribution(cdf, &r, NULL, by_cdf, 200), TOMBOLA_OK);
    assert_int_equal(tombola_distribution(rejection, &r, NULL, by_rejection, 200), TOMBOLA_OK);
    for (int i = 0; i < 200; i++)
      assert_true(fabsf(by_cdf[i] - by_rejection[i]) < 2e-6f);
    for (int i = 0; i < 20; i++)
      assert_true(by_rejection[sample(rejection, row, 200)] > 0);
    tombola_sampler_free(cdf);
    tombola_sampler_free(rejection);
  }
}

/* Where the chain's own stages must stay, the draw is over what they leave, in one round. */
static void rejection_leaves_other_chains_alone(void **state) {
  (void)state;
  struct tombola_sampler_params params = plain_params();
  params.draw = TOMBOLA_DRAW_REJECTION;
  params.top_k = 10;
  params.top_p = 0.9f;
  tombola_sampler *sampler = make_sampler(&params, 100);
  assert_false(sampler->plan->rejection.on);
  float row[100], probs[100];
  for (int i = 0; i < 100; i++)
    row[i] = (float)(i % 17) * 0.3f;
  struct tombola_row r = {row, 100, TOMBOLA_F32};
  assert_int_equal(tombola_distribution(sampler, &r, NULL, probs, 100), TOMBOLA_OK);
  for (int i = 0; i < 100; i++)
    assert_true(probs[sample(sampler, row, 100)] > 0);
  assert_true(tombola_sampler_draw_counts(sampler).rounds == 100);
  tombola_sampler_free(sampler);
}

/* ---- memory ---- */

/* Once warm, no draw allocates, with log-probabilities or without. */
static void warm_draws_allocate_nothing(void **state) {
  (void)state;
  struct support_rng rng = support_rng(65);
  float row[3000];
  for (int i = 0; i < 3000; i++)
    row[i] = support_normal(&rng, 0, 3);
  struct tombola_row r = {row, 3000, TOMBOLA_F32};
  for (int kind = 0; kind < 12; kind++) {
    struct support_allocator a = support_allocator(0);
    struct tombola_sampler_params params = plain_params();
    params.draw = (enum tombola_draw_rule)(kind % 3);
    if (kind / 3 % 2) params.top_p = 0.8f;
    tombola_sampler *sampler;
    tombola_token token;
    assert_int_equal(tombola_sampler_new(&params, NULL, 3000, support_allocator_use(&a), &sampler, NULL),
                     TOMBOLA_OK);
    if (kind / 6)
      assert_int_equal(tombola_sampler_set_logprobs(sampler, TOMBOLA_LOGPROB_RAW, 20), TOMBOLA_OK);
    size_t requests = 0;
    for (int i = 0; i < 200; i++) {
      if (i == 100) requests = a.requests;
      assert_int_equal(tombola_sampler_sample(sampler, &r, NULL, &token), TOMBOLA_OK);
    }
    assert_int_equal(a.requests, requests);
    tombola_sampler_free(sampler);
    support_allocator_check(&a);
  }
}

/* ---- the parameter ---- */

static void the_rule_is_a_parameter(void **state) {
  (void)state;
  struct tombola_sampler_params params = plain_params();
  struct tombola_error error;
  char text[32];
  static const char *const names[] = {"cdf", "gumbel", "rejection"};
  for (int i = 0; i < 3; i++) {
    assert_int_equal(tombola_sampler_params_set(&params, "draw", names[i], &error), TOMBOLA_OK);
    assert_int_equal(params.draw, i);
    assert_int_equal(tombola_sampler_params_get(&params, "draw", text, sizeof text), TOMBOLA_OK);
    assert_string_equal(text, names[i]);
  }
  assert_int_equal(tombola_sampler_params_set(&params, "draw", "lots", &error), TOMBOLA_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "lots"));
  params.temperature = 0; /* greedy is greedy by any rule */
  const float row[3] = {1, 3, 3};
  for (int i = 0; i < 3; i++) {
    params.draw = (enum tombola_draw_rule)i;
    tombola_sampler *sampler = make_sampler(&params, 3);
    for (int n = 0; n < 10; n++)
      assert_int_equal(sample(sampler, row, 3), 1);
    tombola_sampler_free(sampler);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(strict_bare_draws),
      cmocka_unit_test(inclusive_bare_draws),
      cmocka_unit_test(bare_draws_refuse),
      cmocka_unit_test(rows_at_exact_bounds),
      cmocka_unit_test(blocks_at_exact_bounds),
      cmocka_unit_test(logarithm),
      cmocka_unit_test(gumbel_bound),
      cmocka_unit_test(gumbel_is_its_definition),
      cmocka_unit_test(gumbel_survives_filters),
      cmocka_unit_test(gumbel_ties),
      cmocka_unit_test(rejection_judges_together),
      cmocka_unit_test(rejection_has_the_same_support),
      cmocka_unit_test(rejection_leaves_other_chains_alone),
      cmocka_unit_test(warm_draws_allocate_nothing),
      cmocka_unit_test(the_rule_is_a_parameter),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
