/* SPDX-License-Identifier: Apache-2.0 */
/* What the beginning of a number's text is to a set when numbers are spelled plainly: no exponent, no fraction that ends
 * in 0, no -0. Each number then has one text. What can follow P, of d digits behind the point, are the numbers between P
 * and P + 10^-d; and those of [P, P + 1) * 10^k, for every k above 0, while there is no point. */
#include <string.h>

#include "constraint/number/number_internal.h"

struct plain {
  const struct tombola__reading *reading;
  struct tombola__excluded excluded;
  struct tombola__decimal begin, end; /* P and what follows it */
};

/* ---- the numbers that have a plain text ---- */

tombola__numset tombola__numbers_plain(struct tombola__store *s) {
  if (s->numbers->plain) return s->numbers->plain;
  const struct tombola__decimal unit = {"1", 1, false, -TOMBOLA__PLAIN_DIGITS};
  const struct tombola__decimal hi = {"1", 1, false, TOMBOLA__PLAIN_DIGITS};
  struct tombola__decimal lo = hi;
  lo.negative = true;
  const tombola__numset interval = tombola__numbers_interval(s, &lo, true, &hi, true);
  return s->numbers->plain = tombola__numbers_and(s, interval, tombola__numbers_multiple(s, &unit));
}

/* ---- beginnings ---- */

/* P and P + 10^-d; `room` has a byte for each digit. */
static void make_bounds(struct plain *q, char *room) {
  const struct tombola__reading *const r = q->reading;
  const int64_t unit = -r->fraction;
  uint32_t n = r->n;
  while (n > 0 && r->digits[n - 1] == '0')
    n--;
  q->begin = (struct tombola__decimal){.digits = ""};
  if (n > 0) q->begin = (struct tombola__decimal){r->digits, n, false, unit + (r->n - n)};
  for (n = r->n; n > 0 && r->digits[n - 1] == '9';)
    n--;
  q->end = (struct tombola__decimal){"1", 1, false, unit + r->n};
  if (n == 0) return;
  memcpy(room, r->digits, n);
  room[n - 1]++;
  q->end = (struct tombola__decimal){room, n, false, unit + (r->n - n)};
}

/* Whether the text of x begins so and is longer. */
static bool goes_on(const struct plain *q, const struct tombola__decimal *x) {
  const struct tombola__reading *const r = q->reading;
  const int64_t point = tombola__point(x);
  if (r->n == 0) return point <= -r->fraction;
  const uint32_t n = x->length < r->n ? x->length : r->n;
  if (n < q->begin.length || memcmp(x->digits, r->digits, n) != 0) return false;
  if (r->phase == TOMBOLA__AT_INTEGER && point > (int64_t)r->n) return true;
  return point == (int64_t)r->n - r->fraction && x->length > r->n;
}

static bool some_point_in(const struct plain *q, const struct tombola__points *points,
                          struct tombola__point_range range) {
  for (uint32_t i = range.first; i < range.last; i++)
    if (goes_on(q, points->at[i]) && !tombola__is_excluded(&q->excluded, points->at[i])) return true;
  return false;
}

static bool some_point(const struct plain *q, const struct tombola__points *points) {
  const struct tombola__reading *const r = q->reading;
  if (points->n == 0) return false;
  if (r->n == 0) return some_point_in(q, points, (struct tombola__point_range){0, points->n});
  if (some_point_in(q, points, tombola__points_begin(points, r->digits, r->n, false))) return true;
  if (q->begin.length == r->n) return false;
  return some_point_in(q, points, tombola__points_begin(points, q->begin.digits, q->begin.length, true));
}

/* Whether the piece has a number of [P, P + 10^-d) * 10^k; of those greater than P * 10^k, when k is 0. */
static bool some_at(const struct plain *q, const struct tombola__piece *p, int64_t k) {
  struct tombola__decimal lo = q->begin, hi = q->end;
  const int64_t unit = k - q->reading->fraction;
  if (p->has_m && k == 0 && unit <= p->m.e) return false; /* 10^unit divides all of them */
  if (lo.length) lo.exponent += k;
  hi.exponent += k;
  struct tombola__bounds b = {&lo, &hi, k == 0, true};
  const int low = tombola__magnitude_compare(&lo, p->bounds.lo);
  const bool above = low < 0 || (low == 0 && p->bounds.lo_open);
  const bool below = p->bounds.hi && tombola__magnitude_compare(p->bounds.hi, &hi) < 0;
  if (!above && !below && p->has_m && !p->m.big && p->m.d == 1 && unit >= p->m.e && !p->n_nots &&
      !p->n_left && !q->excluded.n)
    return true;
  if (above) {
    b.lo = p->bounds.lo;
    b.lo_open = p->bounds.lo_open || (low == 0 && b.lo_open);
  }
  if (below) {
    b.hi = p->bounds.hi;
    b.hi_open = p->bounds.hi_open;
  }
  return tombola__piece_has_some(p, &b, &q->excluded);
}

static bool some_of(const struct plain *q, const struct tombola__piece *p) {
  if (q->reading->phase == TOMBOLA__AT_INTEGER) {
    if (!p->bounds.hi) return true; /* wide enough for large k */
    const int64_t n = q->reading->n, first = tombola__point(p->bounds.lo) - n;
    for (int64_t k = tombola__point(p->bounds.hi) - n; k > 0 && k >= first; k--)
      if (some_at(q, p, k)) return true;
  }
  return some_at(q, p, 0);
}

static bool can_go_on(struct tombola__store *s, struct plain *q, const struct tombola__number_set *set,
                      char *room) {
  const struct tombola__reading *const r = q->reading;
  if (set->n[r->negative] == 0) return false;
  if (r->phase == TOMBOLA__AT_MINUS) {
    for (uint32_t i = 0; i < set->n[1]; i++)
      if (tombola__piece_has_some(set->pieces[1][i], &set->pieces[1][i]->bounds, &q->excluded)) return true;
    return false;
  }
  const struct tombola__points *const points = tombola__points(s, set, r->negative);
  make_bounds(q, room);
  for (uint32_t i = 0; i < points->n_others; i++)
    if (some_of(q, points->others[i])) return true;
  return some_point(q, points);
}

/* The text as a whole. */
static bool is_number(struct tombola__store *s, tombola__numset a, const struct plain *q, bool zero,
                      char last) {
  const struct tombola__reading *const r = q->reading;
  if (r->phase == TOMBOLA__AT_ZERO) return zero && !r->negative;
  if (r->phase != TOMBOLA__AT_INTEGER && (r->phase != TOMBOLA__AT_FRACTION || last == '0')) return false;
  const struct tombola__decimal x = tombola__number_value(r);
  return tombola__numbers_has(s, a, &x) && !tombola__is_excluded(&q->excluded, &x);
}

unsigned tombola__number_scan_plain(struct tombola__store *s, tombola__numset a,
                                    const struct tombola__plain_text *text) {
  const struct tombola__number_set *const set = tombola__number_set(s, a);
  struct plain q = {.reading = text->reading, .excluded = text->excluded};
  if (q.reading->phase >= TOMBOLA__AT_E) return 0;
  unsigned result = is_number(s, a, &q, text->zero, text->last) ? TOMBOLA__NUMBER_IS : 0;
  return can_go_on(s, &q, set, text->room) ? result | TOMBOLA__NUMBER_CAN_GO_ON : result;
}
