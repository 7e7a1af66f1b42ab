/* SPDX-License-Identifier: Apache-2.0 */
/* The keeping and shaping stages, each against a slow model in doubles that sorts everything, on random,
 * tied, masked and large rows, as dense sets, with a floor, and as lists. */
#include "stages_support.h"

/* ---- thresholds on y ---- */

/* What lies above the threshold stays, what lies below goes; within the slack either is right. */
static void same_threshold(double threshold, double slack, size_t min_keep) {
  if (threshold > 0) threshold = 0;
  for (size_t i = 0; i < b.count; i++) {
    if (b.t[i].y > threshold + slack && !b.kept[b.t[i].id]) fail_msg("token %d is missing", (int)b.t[i].id);
    if (b.t[i].y < threshold - slack && i >= min_keep && b.kept[b.t[i].id])
      fail_msg("token %d is too much", (int)b.t[i].id);
    if (i < min_keep) assert_true(b.kept[b.t[i].id] || b.t[i].y == b.t[min_keep - 1].y);
  }
  assert_true(b.n_kept >= (min_keep < b.count ? min_keep : b.count));
  assert_true(b.kept[b.t[0].id]);
}

static double slack(void) {
  return 2e-5 + 3e-7 * fabs((double)b.t[0].logit * (double)b.c.scale);
}

static void test_thresholds(void **state) {
  (void)state;
  struct support_rng rng = support_rng(41);
  for (int round = 0; round < 625; round++) {
    reset_plan();
    prepare(&rng);
    struct tombola_sampler_params *p = &b.plan.params;
    size_t min_keep = support_below(&rng, 3) ? 0 : support_below(&rng, 60);
    p->min_keep = (int32_t)min_keep;
    double square = 0, threshold = 0, z = log(b.total), value = pow(10, -4 * support_uniform(&rng));
    float f = (float)value;
    int which = (int)support_below(&rng, 6);
    if (which == 0) {
      p->min_p = f;
      threshold = log((double)f);
      run("min_p", NULL);
    } else if (which == 1) {
      p->epsilon_cutoff = f < 1 ? f : 0.5f;
      threshold = log((double)p->epsilon_cutoff) + z;
      run("epsilon", NULL);
    } else if (which == 2) {
      p->eta_cutoff = f < 1 ? f : 0.5f;
      double e = (double)p->eta_cutoff, other = sqrt(e) * exp(-b.entropy);
      threshold = log(e < other ? e : other) + z;
      run("eta", NULL);
    } else if (which == 3) {
      p->top_a = f;
      threshold = log((double)f * b.t[0].p * b.t[0].p) + z;
      run("top_a", NULL);
    } else if (which == 4) { /* p_less sees the temperature that is still to come, and only that */
      bool later = support_below(&rng, 2);
      p->temperature = 0.6f;
      p->p_less = 1;
      double k = later ? 1 / (double)p->temperature : 1, sum = 0;
      for (size_t i = 0; i < b.count; i++)
        sum += exp(b.t[i].y * k);
      for (size_t i = 0; i < b.count; i++)
        square += exp(2 * b.t[i].y * k) / sum / sum;
      threshold = (log(square) + log(sum)) / k;
      run("p_less", later ? "temperature" : NULL);
    } else {
      p->top_n_sigma = (float)(3 * support_uniform(&rng)) + 0.01f;
      double mean = 0, variance = 0, n = (double)b.count;
      for (size_t i = 0; i < b.count; i++)
        mean += (double)b.t[i].logit / n;
      for (size_t i = 0; i < b.count; i++)
        variance += ((double)b.t[i].logit - mean) * ((double)b.t[i].logit - mean) / n;
      threshold = -(double)p->top_n_sigma * sqrt(variance) * (double)b.c.scale;
      if (b.count < 2) threshold = -1;
      run("top_n_sigma", NULL);
    }
    collect();
    same_threshold(threshold, slack(), min_keep);
    end();
  }
}

/* ---- prefixes of the ranking ---- */

/* The kept ones are the first n of the ranking, n the number at which `sums` (rising) gets to the bound. */
static void same_prefix(const double *sums, double bound, bool exceeds, size_t min_keep, bool ties) {
  size_t n = b.n_kept;
  for (size_t i = 0; i < n; i++)
    assert_true(b.kept[b.t[i].id]);
  if (ties) {
    assert_true(n == b.count || b.t[n].logit < b.t[n - 1].logit);
    while (n > 1 && b.t[n - 2].logit == b.t[n - 1].logit && n - 1 >= min_keep && sums[n - 2] > bound)
      n--;
  }
  double near = 3e-6;
  assert_true(n >= min_keep || n == b.count);
  assert_true(n == b.count || sums[n - 1] > bound - near);
  if (n > 1 && n > min_keep) assert_true(sums[n - 2] < bound + near);
  (void)exceeds;
}

static void test_nucleus(void **state) {
  (void)state;
  struct support_rng rng = support_rng(42);
  static double sums[MOST];
  for (int round = 0; round < 500; round++) {
    reset_plan();
    prepare(&rng);
    size_t min_keep = support_below(&rng, 3) ? 0 : support_below(&rng, 60);
    b.plan.params.min_keep = (int32_t)min_keep;
    b.plan.params.top_p = support_between(&rng, 0, 0.999f);
    b.dialect.top_p_exceeds = support_below(&rng, 2);
    b.dialect.top_p_ties = support_below(&rng, 2);
    double sum = 0;
    for (size_t i = 0; i < b.count; i++)
      sums[i] = sum += b.t[i].p;
    run("top_p", NULL);
    collect();
    same_prefix(sums, (double)b.plan.params.top_p, b.dialect.top_p_exceeds, min_keep, b.dialect.top_p_ties);
    end();
  }
}

static void test_top_k(void **state) {
  (void)state;
  struct support_rng rng = support_rng(43);
  for (int round = 0; round < 500; round++) {
    reset_plan();
    prepare(&rng);
    size_t k = 1 + support_below(&rng, support_below(&rng, 2) ? 100 : b.n + 10),
           min_keep = support_below(&rng, 90);
    b.plan.params.top_k = (int32_t)k;
    b.plan.params.min_keep = (int32_t)min_keep;
    b.dialect.top_k_ties = support_below(&rng, 2);
    b.dialect.top_k_min_keep = support_below(&rng, 2);
    if (support_below(&rng, 2)) b.dialect.draw_order = TOMBOLA__DRAW_BY_ID;
    if (b.dialect.top_k_min_keep && k < min_keep) k = min_keep;
    run("top_k", NULL);
    collect();
    size_t n = k < b.count ? k : b.count;
    while (b.dialect.top_k_ties && n < b.count && b.t[n].logit == b.t[n - 1].logit)
      n++;
    assert_int_equal(b.n_kept, n);
    for (size_t i = 0; i < n; i++)
      assert_true(b.kept[b.t[i].id]);
    end();
  }
}

static void test_top_h(void **state) {
  (void)state;
  struct support_rng rng = support_rng(44);
  static double sums[MOST];
  for (int round = 0; round < 375; round++) {
    reset_plan();
    prepare(&rng);
    b.plan.params.top_h = support_between(&rng, 0.01f, 1);
    if (b.count > 100) b.count = 100;
    weigh_model();
    double sum = 0;
    for (size_t i = 0; i < b.count; i++)
      sums[i] = sum += b.t[i].p * (log(b.total) - b.t[i].y);
    double bound = (double)b.plan.params.top_h * sum;
    run("top_h", NULL);
    size_t all = b.count;
    collect();
    assert_true(b.n_kept <= all && b.n_kept >= 1);
    for (size_t i = 0; i < b.n_kept; i++)
      assert_true(b.kept[b.t[i].id]);
    if (b.n_kept > 1) assert_true(sums[b.n_kept - 1] <= bound + 1e-5);
    if (b.n_kept < all) assert_true(sums[b.n_kept] >= bound - 1e-5);
    end();
  }
}

static void test_tfs(void **state) {
  (void)state;
  struct support_rng rng = support_rng(45);
  static double second[MOST];
  for (int round = 0; round < 375; round++) {
    reset_plan();
    prepare(&rng);
    b.plan.params.tfs_z = support_between(&rng, 0, 0.999f);
    double sum = 0, cum = 0;
    for (size_t i = 0; i + 2 < b.count; i++)
      sum += second[i] = fabs((b.t[i].p - b.t[i + 1].p) - (b.t[i + 1].p - b.t[i + 2].p));
    run("tfs", NULL);
    collect();
    for (size_t i = 0; i < b.n_kept; i++)
      assert_true(b.kept[b.t[i].id]);
    if (b.count > 2 && sum > 1e-9) { /* token k stays while the sum up to k - 1 is within z */
      for (size_t i = 0; i + 1 < b.n_kept; i++)
        cum += second[i] / sum;
      double near = 1e-4 + 1e-6 / sum * (double)b.n_kept;
      if (near < 0.01) {
        if (b.n_kept > 1) assert_true(cum <= (double)b.plan.params.tfs_z + near);
        if (b.n_kept + 1 < b.count && b.t[b.n_kept].y > -20)
          assert_true(cum + second[b.n_kept - 1] / sum >= (double)b.plan.params.tfs_z - near);
      }
    }
    end();
  }
}

/* ---- typical ---- */

static void test_typical(void **state) {
  (void)state;
  struct support_rng rng = support_rng(46);
  for (int round = 0; round < 625; round++) {
    reset_plan();
    prepare(&rng);
    size_t min_keep = support_below(&rng, 3) ? 0 : support_below(&rng, 60);
    double p = support_uniform(&rng);
    b.plan.params.typical_p = (float)(p < 0.999 ? p : 0.5);
    b.plan.params.min_keep = (int32_t)min_keep;
    b.dialect.typical_exceeds = support_below(&rng, 2);
    b.dialect.typical_ties = support_below(&rng, 2);
    bool first = support_below(&rng, 3) == 0;
    if (first) { /* top_k goes before */
      size_t k = 2 + support_below(&rng, 60);
      b.dialect.typical_top_k_first = true;
      b.plan.params.top_k = (int32_t)k;
      if (k < b.count && k < b.n) b.count = k;
      weigh_model();
    }
    run("typical_p", NULL);
    struct tombola__entry last = b.c.list[b.c.count - 1];
    float *list = malloc(b.c.count * sizeof *list);
    for (size_t i = 0; i < b.c.count; i++)
      list[i] = b.c.list[i].logit;
    collect();
    /* The order is that of the scores, which is what the walk of the draw goes by. */
    double centre = log(b.total) - b.entropy, far = 0, near = slack(), mass = 0;
    for (size_t i = 0; i < b.n_kept; i++) {
      double d = fabs(((double)list[i] - (double)b.t[0].logit) * (double)b.c.scale - centre);
      assert_true(d >= far - near);
      if (d > far) far = d;
    }
    free(list);
    double last_p = 0;
    for (size_t i = 0; i < b.count; i++) {
      double d = fabs(b.t[i].y - centre);
      if (b.kept[b.t[i].id]) mass += b.t[i].p;
      if (b.t[i].id == last.id) last_p = b.t[i].p;
      if (d < far - 2 * near) assert_true(b.kept[b.t[i].id]);
      if (d > far + 2 * near) assert_false(b.kept[b.t[i].id]);
    }
    double bound = (double)b.plan.params.typical_p;
    assert_true(mass > bound - 5e-6 || b.n_kept == b.count);
    if (!b.dialect.typical_ties && b.n_kept > 1 && b.n_kept > min_keep)
      assert_true(mass - last_p < bound + 5e-6);
    assert_true(b.n_kept >= min_keep || b.n_kept == b.count);
    end();
  }
}

/* ---- shapes ---- */

static double probability(size_t place) {
  assert_int_equal(tombola__candidates_sum(&b.c), TOMBOLA_OK);
  return exp(((double)b.c.list[place].logit - (double)b.c.max) * (double)b.c.scale) / b.c.total;
}

static void test_smoothing(void **state) {
  (void)state;
  struct support_rng rng = support_rng(47);
  for (int round = 0; round < 150; round++) {
    reset_plan();
    prepare(&rng);
    double f = (double)(b.plan.params.smoothing_factor = support_between(&rng, 0.01f, 3)), total = 0;
    for (size_t i = 0; i < b.count; i++)
      total += exp(-f * b.t[i].y * b.t[i].y);
    double best = (double)b.t[0].logit * (double)b.c.scale, loose = 1e-5 + 2e-7 * fabs(best);
    run("smoothing", NULL);
    collect();
    assert_int_equal(b.n_kept, b.count);
    assert_int_equal(tombola__candidates_list(&b.c, true), TOMBOLA_OK);
    for (size_t i = 0; i < b.count; i++) {
      double want = exp(-f * b.t[i].y * b.t[i].y) / total;
      assert_true(fabs(probability(i) - want) <= want * 50 * loose * (1 + f) + 1e-7);
    }
    end();
  }
}

static void test_dynamic_temperature(void **state) {
  (void)state;
  struct support_rng rng = support_rng(48);
  for (int round = 0; round < 250; round++) {
    reset_plan();
    prepare(&rng);
    struct tombola_sampler_params *p = &b.plan.params;
    p->temperature = support_between(&rng, 0, 2);
    p->dynatemp_range = support_between(&rng, 0.01f, 2);
    p->dynatemp_exponent =
        support_below(&rng, 3) ? support_between(&rng, 0.2f, 3) : (float)support_below(&rng, 2);
    b.dialect.dynatemp_floor = 1e-6;
    double t = (double)p->temperature, r = (double)p->dynatemp_range, low = t > r ? t - r : 0;
    double share = b.count > 1 ? fmin(1, fmax(0, b.entropy) / log((double)b.count)) : 0;
    double want = low + (t + r - low) * pow(share, (double)p->dynatemp_exponent);
    if (want < 1e-6) want = 1e-6;
    double before = (double)b.c.scale;
    run("temperature", NULL);
    double got = before / (double)b.c.scale;
    if (b.count < 2)
      assert_true(got == 1);
    else if (share > 1e-3)
      assert_true(fabs(got - want) < 1e-3 * want);
    assert_true(b.count < 2 || (b.c.dense ? b.c.ranked : b.c.order == TOMBOLA__BY_RANK));
    collect();
    assert_int_equal(b.n_kept, b.count);
    end();
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_thresholds), cmocka_unit_test(test_nucleus),
      cmocka_unit_test(test_top_k),      cmocka_unit_test(test_top_h),
      cmocka_unit_test(test_tfs),        cmocka_unit_test(test_typical),
      cmocka_unit_test(test_smoothing),  cmocka_unit_test(test_dynamic_temperature),
  };
  return cmocka_run_group_tests_name("stages", tests, NULL, NULL);
}
