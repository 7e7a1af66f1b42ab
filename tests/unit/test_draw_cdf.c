/* SPDX-License-Identifier: Apache-2.0 */
/* The draw by inverse CDF with uniforms that fall exactly on a boundary of the cumulative sum, which random
 * ones never do: weights are powers of two, so that every sum is exact. */
#include "support.h"

#include <math.h>
#include <stdbool.h>

#include "sampler/internal.h"
#include "tombola/tombola.h"

#define MOST 512

/* What a dialect with that boundary rule gives for one uniform; the row dense, or first made a list. */
static tombola_token draw(const float *row, size_t n, bool strict, bool listed, double u) {
  struct tombola_sampler_params params = {.struct_size = sizeof params};
  tombola_sampler *s = NULL;
  tombola_token token = TOMBOLA_NO_TOKEN;
  assert_int_equal(tombola_sampler_params_default(&params, "rml", NULL), TOMBOLA_OK);
  params.temperature = params.top_p = params.repeat_penalty = 1;
  params.top_k = 0;
  params.min_p = 0;
  assert_int_equal(tombola_sampler_new(&params, NULL, n, NULL, &s, NULL), TOMBOLA_OK);
  struct tombola__dialect rule = *s->plan->dialect;
  const struct tombola__dialect *own = s->plan->dialect;
  rule.draw_strict = strict;
  s->plan->dialect = &rule;
  struct tombola_row r = {row, n, TOMBOLA_F32};
  assert_int_equal(tombola__chain_run(s, &r, NULL), TOMBOLA_OK);
  if (listed) assert_int_equal(tombola__candidates_list(&s->candidates, false), TOMBOLA_OK);
  assert_int_equal(tombola__candidates_sum(&s->candidates), TOMBOLA_OK);
  assert_int_equal(tombola__draw(s, u, &token), TOMBOLA_OK);
  s->plan->dialect = own;
  tombola_sampler_free(s);
  return token;
}

/* Equal weights: u = k / n is the end of token k - 1's part. It is still hers where >= holds, and the next
 * one's where > does. */
static void test_boundaries(void **state) {
  (void)state;
  static const size_t sizes[] = {2, 4, 64, 256, MOST};
  float row[MOST] = {0};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    size_t n = sizes[i];
    for (size_t k = 0; k < n; k += n < 32 ? 1 : 7) {
      for (int listed = 0; listed < 2; listed++) {
        double u = (double)k / (double)n;
        assert_int_equal(draw(row, n, false, listed, u), k ? k - 1 : 0);
        assert_int_equal(draw(row, n, true, listed, u), k);
        assert_int_equal(draw(row, n, false, listed, nextafter(u, 1)), k);
      }
    }
  }
}

/* A token without weight is never drawn, however the uniform falls: neither before the first with weight nor
 * behind the last. */
static void test_weightless(void **state) {
  (void)state;
  float row[MOST];
  const double last = nextafter(1, 0);
  for (size_t first = 0; first < 300; first += 37) {
    for (size_t i = 0; i < MOST; i++)
      row[i] = i == first || i == first + 100 ? 0 : i % 2 ? -200 : -INFINITY;
    for (int rule = 0; rule < 4; rule++) {
      assert_int_equal(draw(row, MOST, rule & 1, rule & 2, 0), first);
      assert_int_equal(draw(row, MOST, rule & 1, rule & 2, last), first + 100);
      assert_int_equal(draw(row, MOST, rule & 1, rule & 2, 0.5), rule & 1 ? first + 100 : first);
    }
  }
}

/* What the walk through a block adds up, and the block's own sum, which eight lanes have added in floats. */
static double walked(const float *row, double *total) {
  struct tombola_sampler_params params = {.struct_size = sizeof params};
  struct tombola_row r = {row, 64, TOMBOLA_F32};
  tombola_sampler *s = NULL;
  float weights[64];
  double sum = 0;
  assert_int_equal(tombola_sampler_params_default(&params, "rml", NULL), TOMBOLA_OK);
  assert_int_equal(tombola_sampler_new(&params, NULL, 64, NULL, &s, NULL), TOMBOLA_OK);
  tombola__candidates_begin(&s->candidates, &r, NULL);
  assert_int_equal(tombola__candidates_sum(&s->candidates), TOMBOLA_OK);
  tombola__candidates_weights(&s->candidates, 0, weights);
  for (size_t i = 0; i < 64; i++)
    sum += (double)weights[i];
  *total = s->candidates.total;
  tombola_sampler_free(s);
  return sum;
}

/* A walk that rounding leaves short of the block's sum ends at the last token with weight. */
static void test_short_sum(void **state) {
  (void)state;
  struct support_rng rng = support_rng(41);
  float row[64];
  size_t found = 0;
  for (int round = 0; round < 200; round++) {
    double total, sum;
    for (size_t i = 0; i < 64; i++)
      row[i] = i < 60 ? support_normal(&rng, 0, 2) : -INFINITY;
    sum = walked(row, &total);
    double u = (sum / total + 1) / 2;
    if (!(u < 1 && u * total > sum)) continue;
    assert_int_equal(draw(row, 64, false, false, u), 59);
    assert_int_equal(draw(row, 64, true, false, u), 59);
    found++;
  }
  assert_true(found > 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_boundaries),
      cmocka_unit_test(test_weightless),
      cmocka_unit_test(test_short_sum),
  };
  return cmocka_run_group_tests_name("draw_cdf", tests, NULL, NULL);
}
