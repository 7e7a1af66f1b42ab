/* SPDX-License-Identifier: Apache-2.0 */
/* xtc against a plain model, under the rules of each dialect; the gate's uniforms; what a dense set keeps. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "sampler/internal.h"
#include "tombola/tombola.h"

#define MOST 400

static struct tombola_sampler_params xtc_params(float probability, float threshold) {
  static const char *const order[] = {"top_k", "xtc"};
  struct tombola_sampler_params params = {.struct_size = sizeof params};
  assert_int_equal(tombola_sampler_params_default(&params, "llama.cpp", NULL), TOMBOLA_OK);
  params.samplers = order;
  params.n_samplers = 2;
  params.top_k = 0;
  params.temperature = 1;
  params.seed_mode = TOMBOLA_SEED_FIXED;
  params.seed = 42;
  params.xtc_probability = probability;
  params.xtc_threshold = threshold;
  return params;
}

static tombola_sampler *make(const struct tombola_sampler_params *params,
                             const tombola_vocabulary *vocabulary, size_t n) {
  tombola_sampler *sampler = NULL;
  struct tombola_error error = {0};
  if (tombola_sampler_new(params, vocabulary, n, NULL, &sampler, &error)) fail_msg("%s", error.message);
  return sampler;
}

static size_t kept_of(tombola_sampler *sampler, const float *row, size_t n, struct tombola_candidate *out) {
  struct tombola_row r = {row, n, TOMBOLA_F32};
  size_t count;
  assert_int_equal(tombola_candidates(sampler, &r, NULL, out, MOST, &count), TOMBOLA_OK);
  return count;
}

/* ---- worked cases, probabilities as logits ---- */

static void test_worked(void **state) {
  (void)state;
  static const float probabilities[] = {0.35f, 0.05f, 0.3f, 0.1f, 0.2f};
  const struct {
    float threshold;
    int32_t top_k, min_keep;
    const char *kept; /* in the order of the draw */
  } cases[] = {
      {0.4f, 0, 0, "02431"},  /* nothing is above */
      {0.32f, 0, 0, "02431"}, /* one is, and stays */
      {0.25f, 0, 0, "2431"},  {0.15f, 0, 0, "431"}, {0.07f, 0, 0, "31"},
      {0.01f, 0, 0, "1"},     {0.15f, 0, 3, "431"}, {0.15f, 0, 4, "02431"}, /* too few would be left */
      {0.25f, 4, 0, "243"},   {0.01f, 2, 0, "2"},
  };
  float row[5];
  for (size_t i = 0; i < 5; i++)
    row[i] = logf(probabilities[i]);
  for (size_t i = 0; i < TOMBOLA__COUNT(cases); i++) {
    struct tombola_sampler_params params = xtc_params(1, cases[i].threshold);
    params.top_k = cases[i].top_k;
    params.min_keep = cases[i].min_keep;
    tombola_sampler *sampler = make(&params, NULL, 5);
    struct tombola_candidate out[MOST];
    size_t n = kept_of(sampler, row, 5, out);
    char text[8] = "";
    for (size_t k = 0; k < n; k++)
      text[k] = (char)('0' + out[k].id);
    if (strcmp(text, cases[i].kept)) fail_msg("case %zu keeps %s", i, text);
    tombola_sampler_free(sampler);
  }
}

/* ---- random rows under all rules ---- */

struct rules {
  bool strict, ties, first, by_id;
};

static void set_rules(tombola_sampler *sampler, struct tombola__dialect *dialect, struct rules rules) {
  *dialect = *sampler->plan->dialect;
  dialect->xtc_strict = rules.strict;
  dialect->xtc_keeps_ties = rules.ties;
  dialect->xtc_keeps_first = rules.first;
  if (rules.by_id) dialect->draw_order = TOMBOLA__DRAW_BY_ID;
  sampler->plan->dialect = dialect;
}

/* Which tokens the rule takes out. */
static void slow_xtc(const float *row, size_t n, float threshold, struct rules rules, bool *gone) {
  double total = 0, max = -HUGE_VAL;
  size_t least = n;
  for (size_t i = 0; i < n; i++)
    max = (double)row[i] > max ? (double)row[i] : max;
  for (size_t i = 0; i < n; i++)
    total += exp((double)row[i] - max);
  for (size_t i = 0; i < n; i++) {
    float p = (float)(exp((double)row[i] - max) / total);
    gone[i] = rules.strict ? p > threshold : p >= threshold;
    if (!gone[i]) continue;
    if (least == n || row[i] < row[least] || (row[i] == row[least] && !rules.first)) least = i;
  }
  for (size_t i = 0; i < n; i++)
    if (i == least || (rules.ties && least < n && row[i] == row[least])) gone[i] = false;
}

static void test_random(void **state) {
  (void)state;
  struct support_rng rng = support_rng(1);
  size_t removed = 0;
  for (int round = 0; round < 4000; round++) {
    float row[MOST];
    size_t n = 2 + support_below(&rng, MOST - 2), count;
    for (size_t i = 0; i < n; i++) {
      row[i] = support_normal(&rng, 0, 1);
      if (round % 3 == 0) row[i] = roundf(row[i]);
    }
    for (int i = 0; i < 4; i++)
      row[support_below(&rng, n)] = (float)(6 + (int)support_below(&rng, 4)) / 2;
    float threshold = support_between(&rng, 0.0005f, 0.2f);
    struct rules rules = {round & 1, round & 2, round & 4, round & 8};
    struct tombola_sampler_params params = xtc_params(1, threshold);
    params.top_k = round & 16 ? 1000 : 0;
    tombola_sampler *sampler = make(&params, NULL, n);
    struct tombola__dialect dialect;
    set_rules(sampler, &dialect, rules);
    struct tombola_candidate out[MOST];
    bool gone[MOST], there[MOST] = {false};
    slow_xtc(row, n, threshold, rules, gone);
    count = kept_of(sampler, row, n, out);
    for (size_t i = 0; i < count; i++) {
      there[out[i].id] = true;
      if (i && rules.by_id) assert_true(out[i - 1].id < out[i].id);
      if (i && !rules.by_id) assert_true(out[i - 1].logit >= out[i].logit);
    }
    for (size_t i = 0; i < n; i++) {
      removed += gone[i];
      if (gone[i] == there[i]) fail_msg("round %d: token %zu", round, i);
    }
    tombola_sampler_free(sampler);
  }
  assert_true(removed > 4000);
}

/* A draw from a dense set walks the ranking, as it does from the list. */
static void test_draws_agree(void **state) {
  (void)state;
  struct support_rng rng = support_rng(2);
  float row[MOST];
  for (size_t i = 0; i < MOST; i++)
    row[i] = support_normal(&rng, 0, 2);
  struct tombola_row r = {row, MOST, TOMBOLA_F32};
  struct tombola_sampler_params params = xtc_params(0.5f, 0.02f);
  tombola_sampler *dense = make(&params, NULL, MOST);
  params.min_keep = 2; /* makes it look at a list */
  tombola_sampler *list = make(&params, NULL, MOST);
  for (int i = 0; i < 2000; i++) {
    tombola_token a, b;
    assert_int_equal(tombola_sampler_sample(dense, &r, NULL, &a), TOMBOLA_OK);
    assert_int_equal(tombola_sampler_sample(list, &r, NULL, &b), TOMBOLA_OK);
    assert_int_equal(a, b);
  }
  tombola_sampler_free(dense);
  tombola_sampler_free(list);
}

/* ---- the gate ---- */

/* How often the best token is there in 4000 distributions, each after a draw. */
static size_t times_closed(tombola_sampler *sampler) {
  static const float row[] = {3, 3.1f, 0, 0};
  struct tombola_row r = {row, 4, TOMBOLA_F32};
  size_t closed = 0;
  for (int i = 0; i < 4000; i++) {
    float p[4], again[4];
    tombola_token token;
    assert_int_equal(tombola_distribution(sampler, &r, NULL, p, 4), TOMBOLA_OK);
    assert_int_equal(tombola_distribution(sampler, &r, NULL, again, 4), TOMBOLA_OK);
    assert_memory_equal(p, again, sizeof p); /* looking doesn't move the gate */
    closed += p[1] > 0;
    assert_int_equal(tombola_sampler_sample(sampler, &r, NULL, &token), TOMBOLA_OK);
    assert_true(p[token] > 0); /* what was foretold */
  }
  return closed;
}

static void test_gate(void **state) {
  (void)state;
  static const float probabilities[] = {0.1f, 0.5f, 0.9f};
  for (size_t i = 0; i < 3; i++) {
    for (int share = 0; share < 2; share++) {
      struct tombola_sampler_params params = xtc_params(probabilities[i], 0.1f);
      tombola_sampler *sampler = make(&params, NULL, 4);
      struct tombola__dialect dialect = *sampler->plan->dialect;
      unsigned char *state_block = sampler->state;
      if (share) { /* as a plan for such a dialect would have it */
        dialect.stages_share_generator = true;
        for (size_t k = 0; k < sampler->plan->n_chain; k++)
          sampler->plan->chain[k].state_size = 0;
        sampler->plan->dialect = &dialect;
      }
      double expected = 4000 * (1 - (double)probabilities[i]);
      double deviation = sqrt(4000 * (double)probabilities[i] * (1 - (double)probabilities[i]));
      assert_true(fabs((double)times_closed(sampler) - expected) < 4 * deviation);
      assert_ptr_equal(sampler->state, state_block);
      tombola_sampler_free(sampler);
    }
  }
}

/* llama.cpp: a float of one word of an own generator with the sampler's seed. Seed 42: 0.37454, 0.79654,
 * 0.95071, 0.18343, 0.73199 are the first five. No word is used when one candidate is left. */
static void test_gate_stream(void **state) {
  (void)state;
  static const float row[] = {3, 3.1f, 0, 0}, single[] = {3, -INFINITY, -INFINITY, -INFINITY};
  static const bool opens[] = {true, false, false, true, false};
  struct tombola_sampler_params params = xtc_params(0.5f, 0.1f);
  tombola_sampler *sampler = make(&params, NULL, 4);
  params.top_k = 1;
  tombola_sampler *one = make(&params, NULL, 4);
  struct tombola_row r = {row, 4, TOMBOLA_F32}, s = {single, 4, TOMBOLA_F32};
  float p[4];
  tombola_token token;
  for (size_t i = 0; i < 5; i++) {
    assert_int_equal(tombola_distribution(sampler, &r, NULL, p, 4), TOMBOLA_OK);
    assert_int_equal(p[1] == 0, opens[i]);
    assert_int_equal(tombola_sampler_sample(sampler, &r, NULL, &token), TOMBOLA_OK);
    unsigned char before[4096];
    assert_true(one->plan->state_size < sizeof before * 4);
    size_t at = one->plan->chain[2].state_offset, size = one->plan->chain[2].state_size;
    assert_true(size > 0 && size <= sizeof before);
    memcpy(before, one->state + at, size);
    assert_int_equal(tombola_sampler_sample(one, &s, NULL, &token), TOMBOLA_OK);
    assert_memory_equal(before, one->state + at, size);
  }
  tombola_sampler_free(sampler);
  tombola_sampler_free(one);
}

/* A tenth of the mass each, and a threshold of 0.1; a gate that is the probability itself. */
static void test_bounds(void **state) {
  (void)state;
  static const float row[10] = {0};
  struct tombola_candidate out[MOST];
  for (int strict = 0; strict < 2; strict++) {
    for (int gate = 0; gate < 2; gate++) {
      struct tombola_sampler_params params =
          xtc_params(gate ? (float)1608637542 / 0x1p32f : 1, gate ? 0.05f : 0.1f);
      tombola_sampler *sampler = make(&params, NULL, 10);
      struct tombola__dialect dialect;
      set_rules(sampler, &dialect, (struct rules){strict, false, false, false});
      assert_int_equal(kept_of(sampler, row, 10, out), strict ? 10 : 1);
      assert_int_equal(out[0].id, strict ? 0 : 9);
      tombola_sampler_free(sampler);
    }
  }
}

static void test_off(void **state) {
  (void)state;
  static const float off[][2] = {{0, 0.1f}, {1, 0.51f}};
  for (size_t i = 0; i < 2; i++) {
    struct tombola_sampler_params params = xtc_params(off[i][0], off[i][1]);
    tombola_sampler *sampler = make(&params, NULL, 4);
    char text[128];
    tombola_sampler_describe(sampler, text, sizeof text);
    assert_non_null(strstr(text, "?xtc"));
    tombola_sampler_free(sampler);
  }
}

/* ---- exempt tokens ---- */

static void test_exempt(void **state) {
  (void)state;
  static const char bytes[] = "a\nbc";
  static const size_t offsets[] = {0, 1, 2, 3, 4};
  static const uint8_t flags[] = {0, 0, TOMBOLA_TOKEN_END, 0};
  static const float row[] = {3, 3.1f, 3.2f, 2.9f};
  struct tombola_vocabulary_source source = {
      .struct_size = sizeof source, .count = 4, .bytes = bytes, .offsets = offsets, .flags = flags};
  tombola_vocabulary *vocabulary;
  assert_int_equal(tombola_vocabulary_new(&source, NULL, &vocabulary, NULL), TOMBOLA_OK);
  struct tombola_sampler_params params = xtc_params(1, 0.1f);
  for (int exempts = 0; exempts < 2; exempts++) {
    tombola_sampler *sampler = make(&params, vocabulary, 4);
    struct tombola__dialect dialect = *sampler->plan->dialect;
    struct tombola_candidate out[MOST];
    dialect.xtc_exempts = exempts;
    sampler->plan->dialect = &dialect;
    struct tombola__link *link = &sampler->plan->chain[2];
    tombola__stage_xtc.release(sampler->plan, link->data);
    assert_int_equal(tombola__stage_xtc.prepare(sampler->plan, &link->data, NULL), TOMBOLA_OK);
    size_t n = kept_of(sampler, row, 4, out);
    assert_int_equal(n, exempts ? 3 : 1);
    assert_int_equal(out[n - 1].id, 3);
    for (size_t i = 0; i < n; i++)
      assert_int_not_equal(out[i].id, 0);
    tombola_sampler_free(sampler);
  }
  tombola_vocabulary_free(vocabulary);
}

/* ---- rows that fail ---- */

/* The gate's uniform is drawn before the row is read, and a later ban may leave nothing. */
static void test_errors_use_nothing_up(void **state) {
  (void)state;
  static const char *const order[] = {"xtc", "logit_bias"};
  static const char *const dialects[] = {"llama.cpp", "mlxcel", "mlx-lm", "tombola"};
  enum { N = 6 };
  static const float good[N] = {1, 1.5f, 0.5f, 1.25f, 2, -INFINITY};
  static const float bad[N] = {1, NAN, 0.5f, 1.25f, 2, 0},
                     empty[N] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY};
  static const float banned[N] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, 3};
  static const struct tombola_logit_bias bias[] = {{5, -INFINITY}};
  const struct tombola_row g = {good, N, TOMBOLA_F32};
  const struct tombola_row failing[] = {
      {bad, N, TOMBOLA_F32}, {empty, N, TOMBOLA_F32}, {banned, N, TOMBOLA_F32}};
  for (size_t d = 0; d < TOMBOLA__COUNT(dialects); d++) {
    struct tombola_sampler_params params = {.struct_size = sizeof params};
    assert_int_equal(tombola_sampler_params_default(&params, dialects[d], NULL), TOMBOLA_OK);
    params.samplers = order, params.n_samplers = 2;
    params.logit_bias = bias, params.n_logit_bias = 1;
    params.seed_mode = TOMBOLA_SEED_FIXED, params.seed = 7;
    params.temperature = 1;
    params.xtc_probability = 0.5f, params.xtc_threshold = 0.1f;
    tombola_sampler *undisturbed = make(&params, NULL, N), *disturbed = make(&params, NULL, N);
    for (size_t i = 0; i < 60; i++) {
      tombola_token expected, token;
      float p[N];
      int accepted;
      static const float q[N] = {0.5f, 0.5f};
      const struct tombola_row *row = &failing[i % TOMBOLA__COUNT(failing)];
      assert_int_not_equal(tombola_sampler_sample(disturbed, row, NULL, &token), TOMBOLA_OK);
      assert_int_not_equal(tombola_sampler_verify(disturbed, row, NULL, 1, q, p, N, &accepted, &token),
                           TOMBOLA_OK);
      assert_int_equal(tombola_sampler_sample(undisturbed, &g, NULL, &expected), TOMBOLA_OK);
      assert_int_equal(tombola_sampler_sample(disturbed, &g, NULL, &token), TOMBOLA_OK);
      if (token != expected) fail_msg("%s: draw %zu gives %d, not %d", dialects[d], i, token, expected);
    }
    tombola_sampler_free(undisturbed);
    tombola_sampler_free(disturbed);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_worked),
      cmocka_unit_test(test_random),
      cmocka_unit_test(test_draws_agree),
      cmocka_unit_test(test_gate),
      cmocka_unit_test(test_gate_stream),
      cmocka_unit_test(test_bounds),
      cmocka_unit_test(test_off),
      cmocka_unit_test(test_exempt),
      cmocka_unit_test(test_errors_use_nothing_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
