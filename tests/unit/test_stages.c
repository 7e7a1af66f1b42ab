/* SPDX-License-Identifier: Apache-2.0 */
/* The keeping and shaping stages, each against a slow model in doubles that sorts everything, on random,
 * tied, masked and large rows, dense and as lists; then worked numbers, exact ties, both sides of each
 * boundary, off values, and what the flags of a dialect change. */
#include "support.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/internal.h"

#define MOST 9000

/* A token of the model: rank order, and what it weighs. */
struct token {
  float logit;
  tombola_token id;
  double y, p; /* scaled distance from the best; probability */
};

struct bench {
  float row[MOST];
  uint32_t mask[MOST / 32 + 1];
  size_t n;
  bool masked;
  struct token t[MOST]; /* the candidates before the stage, ranked */
  size_t count;
  double total, entropy;
  bool kept[MOST]; /* by id, after the stage */
  size_t n_kept;
  struct tombola__candidates c;
  struct tombola__plan plan;
  struct tombola__dialect dialect;
};

static struct bench b;

static int by_rank(const void *a, const void *o) {
  const struct token *x = a, *y = o;
  if (x->logit != y->logit) return x->logit > y->logit ? -1 : 1;
  return x->id < y->id ? -1 : 1;
}

/* ---- setting up ---- */

static void make_row(struct support_rng *rng) {
  const size_t sizes[] = {1, 2, 3, 40, 64, 65, 700, 3000, 8999};
  int shape = (int)support_below(rng, 8);
  b.n = sizes[support_below(rng, TOMBOLA__COUNT(sizes))];
  for (size_t i = 0; i < b.n; i++) {
    float x = support_normal(rng, 0, 2.5f);
    if (shape == 1) x = roundf(x);
    if (shape == 2) x = 1.25f;
    if (shape == 3) x = (float)i * 0.01f;
    if (shape == 4) x = support_normal(rng, 0, 0.02f);
    if (shape == 5 && support_below(rng, 10)) x = -INFINITY;
    if (shape == 6 && i < 20) x = 8 + (float)i * 0.5f;
    if (shape == 7) x = x * 4 - 500;
    b.row[i] = x;
  }
  if (b.row[0] == -INFINITY) b.row[0] = 0;
  b.masked = support_below(rng, 3) == 0;
  for (size_t i = 0; i < TOMBOLA__COUNT(b.mask); i++)
    b.mask[i] = support_u32(rng) | 1;
}

static void begin(void) {
  struct tombola_allocator allocator = tombola__allocator(NULL);
  struct tombola_row row = {b.row, b.n, TOMBOLA_F32};
  assert_int_equal(tombola__candidates_init(&b.c, tombola__kernels(NULL), &allocator, b.n, 3), TOMBOLA_OK);
  tombola__candidates_begin(&b.c, &row, b.masked ? b.mask : NULL);
}

static void weigh_model(void) {
  b.total = b.entropy = 0;
  for (size_t i = 0; i < b.count; i++) {
    b.t[i].y = ((double)b.t[i].logit - (double)b.t[0].logit) * (double)b.c.scale;
    b.total += exp(b.t[i].y);
  }
  for (size_t i = 0; i < b.count; i++) {
    b.t[i].p = exp(b.t[i].y) / b.total;
    b.entropy += b.t[i].p * (log(b.total) - b.t[i].y);
  }
}

static void make_model(void) {
  b.count = 0;
  for (size_t i = 0; i < b.n; i++) {
    if (b.masked && !(b.mask[i / 32] >> (i % 32) & 1)) continue;
    if (b.row[i] > -INFINITY) b.t[b.count++] = (struct token){b.row[i], (tombola_token)i, 0, 0};
  }
  qsort(b.t, b.count, sizeof b.t[0], by_rank);
  weigh_model();
}

/* The candidates as dense set, list by id, ranked list, or dense with a floor. */
static void prepare(struct support_rng *rng) {
  make_row(rng);
  begin();
  make_model();
  size_t how = support_below(rng, 4), keep = 1 + support_below(rng, b.count);
  if (how == 1) assert_int_equal(tombola__candidates_list(&b.c, support_below(rng, 2)), TOMBOLA_OK);
  if (how == 2) {
    assert_int_equal(tombola__candidates_keep_top(&b.c, keep), TOMBOLA_OK);
    b.count = keep;
  }
  if (how == 3) {
    float low = b.t[keep - 1].logit;
    assert_int_equal(tombola__candidates_keep_at_least(&b.c, low), TOMBOLA_OK);
    while (b.t[b.count - 1].logit < low)
      b.count--;
  }
  if (support_below(rng, 2)) tombola__candidates_scale(&b.c, support_between(rng, 0.3f, 2));
  weigh_model();
}

static void reset_plan(void) {
  memset(&b.plan, 0, sizeof b.plan);
  memset(&b.dialect, 0, sizeof b.dialect);
  struct tombola_sampler_params *p = &b.plan.params;
  p->struct_size = sizeof *p;
  assert_int_equal(tombola_sampler_params_default(p, NULL, NULL), TOMBOLA_OK);
  p->temperature = p->top_p = p->typical_p = p->tfs_z = 1;
  p->top_k = 0;
  p->min_p = 0;
  p->min_keep = 0;
  b.dialect.draw_order = TOMBOLA__DRAW_AS_IS;
  b.plan.dialect = &b.dialect;
}

static const struct tombola__stage *stage_of(const char *name) {
  const struct tombola__stage *stage = tombola__stage_find(name);
  assert_non_null(stage);
  return stage;
}

/* Runs one stage, as the first of a chain that has `next` (or NULL) behind it; what is left goes to `kept`.
 */
static void run(const char *name, const char *next) {
  b.plan.chain[0] = (struct tombola__link){.stage = stage_of(name), .active = true};
  b.plan.n_chain = 1;
  if (next) b.plan.chain[b.plan.n_chain++] = (struct tombola__link){.stage = stage_of(next), .active = true};
  assert_true(stage_of(name)->active(&b.plan.params, &b.dialect));
  struct tombola__stage_call call = {.plan = &b.plan,
                                     .params = &b.plan.params,
                                     .dialect = &b.dialect,
                                     .candidates = &b.c,
                                     .link = &b.plan.chain[0]};
  assert_int_equal(stage_of(name)->apply(&call), TOMBOLA_OK);
}

static void collect(void) {
  memset(b.kept, 0, sizeof b.kept);
  assert_int_equal(tombola__candidates_list(&b.c, false), TOMBOLA_OK);
  for (size_t i = 0; i < b.c.count; i++) {
    assert_false(b.kept[b.c.list[i].id]);
    b.kept[b.c.list[i].id] = true;
  }
  b.n_kept = b.c.count;
  for (size_t i = 0; i < b.count; i++)
    b.n_kept -= b.kept[b.t[i].id]; /* nothing that wasn't a candidate */
  assert_int_equal(b.n_kept, 0);
  b.n_kept = b.c.count;
}

static void end(void) {
  tombola__candidates_free(&b.c);
}

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
  for (int round = 0; round < 2500; round++) {
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
  for (int round = 0; round < 2000; round++) {
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
  for (int round = 0; round < 2000; round++) {
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
  for (int round = 0; round < 1500; round++) {
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
  for (int round = 0; round < 1500; round++) {
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
  for (int round = 0; round < 2500; round++) {
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
  for (int round = 0; round < 600; round++) {
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
  for (int round = 0; round < 1000; round++) {
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
      cmocka_unit_test(test_thresholds),
      cmocka_unit_test(test_nucleus),
      cmocka_unit_test(test_top_k),
      cmocka_unit_test(test_top_h),
      cmocka_unit_test(test_tfs),
      cmocka_unit_test(test_typical),
      cmocka_unit_test(test_smoothing),
      cmocka_unit_test(test_dynamic_temperature),
      cmocka_unit_test(test_worked_numbers),
      cmocka_unit_test(test_ties_and_flags),
      cmocka_unit_test(test_dynamic_zero),
      cmocka_unit_test(test_huge_logits),
      cmocka_unit_test(test_off),
      cmocka_unit_test(test_bool),
  };
  return cmocka_run_group_tests_name("stages", tests, NULL, NULL);
}
