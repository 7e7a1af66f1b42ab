/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of many single numbers (enum): ordered by their digits, so that those that a text begins are next to each
 * other. */
#include <stdlib.h>
#include <string.h>

#include "constraint/number/number_internal.h"

static int by_digits(const void *a, const void *b) {
  const struct tombola__decimal *const x = *(const struct tombola__decimal *const *)a;
  const struct tombola__decimal *const y = *(const struct tombola__decimal *const *)b;
  const int order = tombola__digits_compare(x->digits, x->length, y->digits, y->length);
  return order ? order : (x->exponent > y->exponent) - (x->exponent < y->exponent);
}

#define KEY 16 /* digits of a key */

/* The first digits, in an order that is theirs: four bits each, 0 behind the last. */
static uint64_t key_of(const char *digits, uint32_t n) {
  uint64_t key = 0;
  for (uint32_t i = 0; i < n && i < KEY; i++)
    key |= (uint64_t)(digits[i] - '0' + 1) << 4 * (KEY - 1 - i);
  return key;
}

static void make(struct tombola__store *s, const struct tombola__number_set *set, bool negative,
                 struct tombola__points *points) {
  const uint32_t n = set->n[negative];
  const struct tombola__decimal **const at = tombola__store_take(s, n, sizeof *at);
  const struct tombola__piece **const others = tombola__store_take(s, n, sizeof *others);
  uint64_t *const keys = tombola__store_take(s, n, sizeof *keys);
  if (!at || !others || !keys) return;
  for (uint32_t i = 0; i < n; i++) {
    const struct tombola__piece *const p = set->pieces[negative][i];
    if (p->point)
      at[points->n++] = p->bounds.lo;
    else
      others[points->n_others++] = p;
  }
  if (points->n > 1) qsort((void *)at, points->n, sizeof *at, by_digits);
  for (uint32_t i = 0; i < points->n; i++)
    keys[i] = key_of(at[i]->digits, at[i]->length);
  points->keys = keys;
  points->at = at;
  points->others = others;
  points->made = true;
}

const struct tombola__points *tombola__points(struct tombola__store *s, const struct tombola__number_set *set,
                                              bool negative) {
  struct tombola__points *const points = &set->points[negative];
  if (!points->made) make(s, set, negative, points);
  return points;
}

/* Digits that are looked for. */
struct wanted {
  uint64_t key, mask;
  const char *digits;
  uint32_t n;
  bool whole, by_key; /* the keys say all */
};

static int compare(const struct tombola__points *points, uint32_t i, const struct wanted *w) {
  const uint64_t key = points->keys[i] & w->mask;
  if (key != w->key) return key < w->key ? -1 : 1;
  if (w->by_key) return 0;
  const struct tombola__decimal *const x = points->at[i];
  return tombola__digits_compare(x->digits, w->whole || x->length < w->n ? x->length : w->n, w->digits, w->n);
}

struct tombola__point_range tombola__points_begin(const struct tombola__points *points, const char *digits,
                                                  uint32_t n, bool whole) {
  const struct wanted w = {
      .key = key_of(digits, n),
      .mask = whole || n >= KEY ? UINT64_MAX : ~(UINT64_MAX >> 4 * n),
      .digits = digits,
      .n = n,
      .whole = whole,
      .by_key = n < KEY || (n == KEY && !whole),
  };
  struct tombola__point_range range = {0, points->n};
  for (uint32_t high = points->n; range.first < high;) {
    const uint32_t middle = range.first + (high - range.first) / 2;
    if (compare(points, middle, &w) < 0)
      range.first = middle + 1;
    else
      high = middle;
  }
  for (uint32_t low = range.first; low < range.last;) {
    const uint32_t middle = low + (range.last - low) / 2;
    if (compare(points, middle, &w) <= 0)
      low = middle + 1;
    else
      range.last = middle;
  }
  return range;
}

uint32_t tombola__points_from(const struct tombola__points *points, struct tombola__point_range range,
                              int64_t exponent) {
  while (range.first < range.last) {
    const uint32_t middle = range.first + (range.last - range.first) / 2;
    if (points->at[middle]->exponent < exponent)
      range.first = middle + 1;
    else
      range.last = middle;
  }
  return range.first;
}
