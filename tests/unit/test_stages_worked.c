/* SPDX-License-Identifier: Apache-2.0 */
/* The keeping and shaping stages by worked numbers: both sides of each boundary, exact ties, off values, and
 * what the flags of a dialect change. */
#include "stages_support.h"

/* ---- worked numbers ---- */

static void set_row(const float *values, size_t n) {
  reset_plan();
  memcpy(b.row, values, n * sizeof *values);
  b.n = n;
  b.masked = false;
  begin();
  make_model();
}

static void set_probabilities(const double *p, size_t n) {
  float logits[8];
  for (size_t i = 0; i < n; i++)
    logits[i] = (float)log(p[i]);
  set_row(logits, n);
}

static void keeps(const char *stage, unsigned ids) {
  run(stage, NULL);
  collect();
  for (size_t i = 0; i < b.n; i++)
    if (b.kept[i] != (ids >> i & 1)) fail_msg("%s: token %zu", stage, i);
  end();
}

static void test_worked_numbers(void **state) {
  (void)state;
  static const double rising[] = {0.1, 0.2, 0.3, 0.4}, flat[] = {0.4, 0.2, 0.2, 0.2},
                      sharp[] = {0.97, 0.01, 0.01, 0.01};
  struct tombola_sampler_params *p = &b.plan.params;
  /* typical_p of the numbers in llama.cpp's own tests. */
  set_probabilities(sharp, 4);
  p->typical_p = 0.5f;
  keeps("typical_p", 1);
  set_probabilities(flat, 4);
  p->typical_p = 0.5f;
  keeps("typical_p", 2 | 4 | 8);
  /* top_n_sigma 1: the deviation of the logits is 0.518, so that 0.2 / 0.4 is too far. */
  set_probabilities(rising, 4);
  p->top_n_sigma = 1;
  keeps("top_n_sigma", 4 | 8);
  set_probabilities(rising, 4);
  p->top_n_sigma = 3;
  keeps("top_n_sigma", 15);
  /* The sum of squares is 0.3. */
  set_probabilities((const double[]){0.1, 0.2, 0.299, 0.401}, 4);
  p->p_less = 1;
  keeps("p_less", 8);
  set_probabilities((const double[]){0.1, 0.2, 0.31, 0.39}, 4);
  p->p_less = 1;
  keeps("p_less", 4 | 8);
  /* epsilon on both sides of 0.2; above all of them the best stays. */
  const float cutoffs[] = {0.19f, 0.21f, 0.9f};
  const unsigned kept[] = {14, 12, 8};
  for (size_t i = 0; i < 3; i++) {
    set_probabilities(rising, 4);
    p->epsilon_cutoff = cutoffs[i];
    keeps("epsilon", kept[i]);
  }
  /* eta: the entropy is 1.2799; sqrt(0.4) * exp(-1.2799) = 0.17586. */
  set_probabilities(rising, 4);
  p->eta_cutoff = 0.4f;
  keeps("eta", 14);
  /* top_a: 1 * 0.4^2 = 0.16; 0.6 * 0.16 = 0.096. */
  set_probabilities(rising, 4);
  p->top_a = 1;
  keeps("top_a", 14);
  set_probabilities(rising, 4);
  p->top_a = 0.6f;
  keeps("top_a", 15);
  /* top_h: the terms are 0.3665, 0.3612, 0.3219, 0.2303 of 1.2799; 0.57 allows two (0.5686), 0.56 one. */
  set_probabilities(rising, 4);
  p->top_h = 0.57f;
  keeps("top_h", 12);
  set_probabilities(rising, 4);
  p->top_h = 0.56f;
  keeps("top_h", 8);
  /* tfs: 0.5, 0.3, 0.15, 0.05 have the second differences 0.05 and 0.05. */
  set_probabilities((const double[]){0.5, 0.3, 0.15, 0.05}, 4);
  p->tfs_z = 0.45f;
  keeps("tfs", 1);
  set_probabilities((const double[]){0.5, 0.3, 0.15, 0.05}, 4);
  p->tfs_z = 0.55f;
  keeps("tfs", 3);
}

static void test_ties_and_flags(void **state) {
  (void)state;
  static const float vector[] = {2, 3, 2.5f, 1.5f, 2, 1.5f, 2}; /* the vector that tells dialects apart */
  struct tombola_sampler_params *p = &b.plan.params;
  set_row(vector, 7);
  p->top_k = 3;
  keeps("top_k", 1 | 2 | 4);
  set_row(vector, 7);
  p->top_k = 3;
  b.dialect.top_k_ties = true;
  keeps("top_k", 1 | 2 | 4 | 16 | 64);
  /* Of four equal tokens the mass 0.5 is reached by two, and passed by the third. */
  static const float equal[] = {1, 1, 1, 1};
  for (unsigned flags = 0; flags < 4; flags++) {
    set_row(equal, 4);
    p->top_p = 0.5f;
    b.dialect.top_p_exceeds = flags & 1;
    b.dialect.top_p_ties = flags & 2;
    keeps("top_p", flags & 2 ? 15 : flags & 1 ? 7 : 3);
    set_row(equal, 4);
    p->typical_p = 0.5f;
    b.dialect.typical_exceeds = flags & 1;
    b.dialect.typical_ties = flags & 2;
    keeps("typical_p", flags & 2 ? 15 : flags & 1 ? 7 : 3);
  }
  /* Everything is as likely as the mean, the average surprise, the best. */
  set_row(equal, 4);
  p->p_less = 1;
  keeps("p_less", 15);
  set_row(equal, 4);
  p->top_n_sigma = 0.001f;
  keeps("top_n_sigma", 15);
  set_row(equal, 4);
  p->min_p = 1;
  keeps("min_p", 15);
  /* 0 keeps the best alone, or is off. */
  set_row(vector, 7);
  p->top_p = 0;
  keeps("top_p", 2);
  set_row(vector, 7);
  p->typical_p = 0;
  b.dialect.typical_exceeds = true;
  run("typical_p", NULL);
  collect();
  assert_int_equal(b.n_kept, 1);
  b.dialect.zero_is_off = true;
  assert_false(stage_of("top_p")->active((p->top_p = 0, p), &b.dialect));
  assert_false(stage_of("typical_p")->active(p, &b.dialect));
  end();
}

/* A range larger than the temperature reaches 0 where one token has all the mass. */
static void test_dynamic_zero(void **state) {
  (void)state;
  static const float sure[] = {0, 300, -5};
  struct tombola_sampler_params *p = &b.plan.params;
  set_row(sure, 3);
  p->temperature = 0.5f;
  p->dynatemp_range = 1;
  keeps("temperature", 2);
  set_row(sure, 3);
  p->temperature = 0.5f;
  p->dynatemp_range = 1;
  b.dialect.dynatemp_floor = 1e-6;
  run("temperature", NULL);
  assert_true(b.c.scale > 9e5f && b.c.scale < 1.1e6f);
  end();
}

/* Values so far apart that no float holds their squares. */
static void test_huge_logits(void **state) {
  (void)state;
  static const float huge[] = {-3e38f, 3e38f, 2.9e38f, -1e38f};
  set_row(huge, 4);
  b.plan.params.top_n_sigma = 0.5f; /* the deviation is 2.5e38 */
  keeps("top_n_sigma", 2 | 4);
}

static void test_off(void **state) {
  (void)state;
  static const char *const names[] = {"top_n_sigma", "p_less",    "top_k",      "typical_p", "top_p",
                                      "min_p",       "epsilon",   "eta",        "top_h",     "top_a",
                                      "tfs",         "smoothing", "temperature"};
  reset_plan();
  b.plan.params.top_n_sigma = -1;
  for (size_t i = 0; i < TOMBOLA__COUNT(names); i++)
    assert_false(stage_of(names[i])->active(&b.plan.params, &b.dialect));
  assert_ptr_equal(stage_of("s"), stage_of("top_nsigma"));
  assert_ptr_equal(stage_of("y"), stage_of("typ_p"));
  assert_ptr_equal(stage_of("typical"), stage_of("typical_p"));
}

static void test_bool(void **state) {
  (void)state;
  struct tombola_sampler_params p = {.struct_size = sizeof p};
  struct tombola_error error;
  char text[16];
  assert_int_equal(tombola_sampler_params_default(&p, NULL, NULL), TOMBOLA_OK);
  assert_int_equal(p.p_less, 0);
  static const char *const yes[] = {"true", "1"}, *const no[] = {"false", "0"};
  for (size_t i = 0; i < 2; i++) {
    assert_int_equal(tombola_sampler_params_set(&p, "p-less", yes[i], &error), TOMBOLA_OK);
    assert_int_equal(p.p_less, 1);
    assert_int_equal(tombola_sampler_params_get(&p, "p_less", text, sizeof text), TOMBOLA_OK);
    assert_string_equal(text, "true");
    assert_int_equal(tombola_sampler_params_set(&p, "p_less", no[i], &error), TOMBOLA_OK);
    assert_int_equal(p.p_less, 0);
    assert_int_equal(tombola_sampler_params_get(&p, "p_less", text, sizeof text), TOMBOLA_OK);
    assert_string_equal(text, "false");
  }
  static const char *const bad[] = {"2", "yes", "", "-1", "0.5"};
  for (size_t i = 0; i < TOMBOLA__COUNT(bad); i++)
    assert_int_equal(tombola_sampler_params_set(&p, "p_less", bad[i], &error), TOMBOLA_INVALID_ARGUMENT);
  p.p_less = 2;
  assert_int_equal(tombola_sampler_params_check(&p, &error), TOMBOLA_INVALID_ARGUMENT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_worked_numbers),
      cmocka_unit_test(test_ties_and_flags),
      cmocka_unit_test(test_dynamic_zero),
      cmocka_unit_test(test_huge_logits),
      cmocka_unit_test(test_off),
      cmocka_unit_test(test_bool),
  };
  return cmocka_run_group_tests_name("stages_worked", tests, NULL, NULL);
}
