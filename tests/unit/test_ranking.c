/* SPDX-License-Identifier: Apache-2.0 */
/* Places in the ranking of large dense sets, against sorting all of it: rows of equal, near-equal, rising and few
 * different values, masked, edited, with a floor; and the draw down the ranking, which uses them. */
#include "support.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/internal.h"

#define MOST 60000

static float row[MOST];
static uint32_t mask[MOST / 32 + 1];
static struct tombola__entry ranked[MOST];
static double sums[MOST + 1]; /* of the weights of the first i */
static size_t count;
static struct tombola__candidates c;

static int by_rank(const void *a, const void *b) {
  const struct tombola__entry *x = a, *y = b;
  if (x->logit != y->logit) return x->logit > y->logit ? -1 : 1;
  return (x->id > y->id) - (x->id < y->id);
}

static float shape_value(struct support_rng *rng, int shape, size_t i) {
  float x = support_normal(rng, 0, 2);
  if (shape == 0) return 1.5f;
  if (shape == 1) return x * 0.01f;
  if (shape == 2) return (float)i * 1e-4f;
  if (shape == 3) return -(float)i * 1e-4f;
  if (shape == 4) return roundf(x);
  if (shape == 5) return i % 2 ? 1.5f : x * 0.01f + 1.5f;
  if (shape == 6) return i % 50 ? -30 + x : 3 + x * 0.1f;
  return x;
}

static float set_to(const void *context, size_t index, float logit) {
  (void)logit;
  return ((const float *)context)[index];
}

static void begin(struct support_rng *rng) {
  struct tombola_allocator allocator = tombola__allocator(NULL);
  int shape = (int)support_below(rng, 8);
  size_t n = 20000 + support_below(rng, MOST - 20000);
  for (size_t i = 0; i < n; i++)
    row[i] = shape_value(rng, shape, i);
  for (size_t i = 0; i < TOMBOLA__COUNT(mask); i++)
    mask[i] = support_u32(rng);
  struct tombola_row r = {row, n, TOMBOLA_F32};
  assert_int_equal(tombola__candidates_init(&c, tombola__kernels(NULL), &allocator, n, 3), TOMBOLA_OK);
  const struct tombola_mask allowed = {mask, n, NULL, 0};
  tombola__candidates_begin(&c, &r, support_below(rng, 2) ? &allowed : NULL);
  for (size_t edits = support_below(rng, 2) * support_below(rng, 50); edits > 0; edits--) {
    tombola_token id = (tombola_token)support_below(rng, n);
    float value = shape_value(rng, shape, (size_t)id);
    assert_int_equal(tombola__candidates_edit(&c, &id, 1, set_to, &value), TOMBOLA_OK);
  }
  if (support_below(rng, 3) == 0) tombola__candidates_scale(&c, 0.5f);
  assert_int_equal(tombola__candidates_index(&c), TOMBOLA_OK);
  if (support_below(rng, 3) == 0)
    assert_int_equal(tombola__candidates_keep_at_least(&c, c.max - 0.5f * fabsf(c.max)), TOMBOLA_OK);
}

/* The whole ranking, of what the set says it holds. */
static void make_model(void) {
  count = 0;
  for (size_t b = 0; b < c.n_blocks; b++) {
    float room[TOMBOLA__BLOCK];
    const float *values = tombola__candidates_block(&c, b, room);
    for (size_t i = 0; i < TOMBOLA__BLOCK; i++)
      if (values[i] > -INFINITY)
        ranked[count++] = (struct tombola__entry){values[i], (tombola_token)(b * TOMBOLA__BLOCK + i)};
  }
  qsort(ranked, count, sizeof ranked[0], by_rank);
  for (size_t i = 0; i < count; i++)
    sums[i + 1] = sums[i] + exp(((double)ranked[i].logit - (double)ranked[0].logit) * (double)c.scale);
}

static size_t place_of(struct tombola__entry e) {
  const struct tombola__entry *at = bsearch(&e, ranked, count, sizeof e, by_rank);
  if (!at) fail_msg("token %d is no candidate", (int)e.id);
  return (size_t)(at - ranked);
}

/* Sums in floats by block are exact to 1e-6 of the total. */
static void check_place(size_t at, double target) {
  double near = 2e-6 * sums[count];
  assert_true(sums[at] < target + near);
  assert_true(sums[at + 1] > target - near || at + 1 == count);
}

static void test_find(void **state) {
  (void)state;
  struct support_rng rng = support_rng(61);
  for (int round = 0; round < 150; round++) {
    begin(&rng);
    if (!c.dense) {
      tombola__candidates_free(&c);
      continue;
    }
    make_model();
    for (int question = 0; question < 4; question++) {
      double share = question == 0 ? 1e-7 : question == 1 ? 0.9999 : support_uniform(&rng);
      struct tombola__place place;
      assert_int_equal(tombola__candidates_sum(&c), TOMBOLA_OK);
      double target = share * c.total;
      assert_int_equal(tombola__candidates_find(&c, target, question % 2, INFINITY, 0, &place), TOMBOLA_OK);
      assert_true(place.found);
      size_t at = place_of(place.last);
      check_place(at, target);
      assert_true(fabs(place.mass - sums[at + 1]) <= 2e-6 * sums[count]);
      tombola_token token;
      assert_int_equal(tombola__draw_ranked(&c, target, question % 2, &token), TOMBOLA_OK);
      size_t drawn = 0;
      while (drawn < count && ranked[drawn].id != token)
        drawn++;
      check_place(drawn, target);
      assert_true(c.dense && c.count == 0);
    }
    tombola__candidates_free(&c);
  }
}

/* Cutting at the place leaves exactly the ranking down to it. */
static void test_keep(void **state) {
  (void)state;
  struct support_rng rng = support_rng(62);
  size_t dense = 0;
  for (int round = 0; round < 120; round++) {
    begin(&rng);
    if (c.dense) {
      make_model();
      bool ties = support_below(&rng, 2);
      double p = support_uniform(&rng), target;
      assert_int_equal(tombola__candidates_sum(&c), TOMBOLA_OK);
      target = p * c.total;
      assert_int_equal(ties ? tombola__candidates_keep_mass_ties(&c, p, false, 0)
                            : tombola__candidates_keep_mass(&c, p, false, 0),
                       TOMBOLA_OK);
      dense += c.dense;
      assert_int_equal(tombola__candidates_list(&c, true), TOMBOLA_OK);
      size_t n = c.count;
      for (size_t i = 0; i < n; i++)
        assert_int_equal(c.list[i].id, ranked[i].id);
      if (ties) assert_true(n == count || ranked[n].logit < ranked[n - 1].logit);
      while (ties && n > 1 && ranked[n - 2].logit == ranked[n - 1].logit && sums[n - 1] >= target)
        n--;
      check_place(n - 1, target);
    }
    tombola__candidates_free(&c);
  }
  assert_true(dense > 30);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_find), cmocka_unit_test(test_keep)};
  return cmocka_run_group_tests_name("ranking", tests, NULL, NULL);
}
