/* SPDX-License-Identifier: Apache-2.0 */
/* Digits that may follow a number's text whatever they are. Until an exponent is written any power of ten can still
 * come, so that where [P, P + 1) * 10^k is inside of an interval for some k, P with any digits behind it is too. */
#include "constraint/number/number_internal.h"

#define MOST_SIGNIFICANT 17u /* of the digits so far, so that P + 1 and ten times as much fit into 64 bits */

/* Within multiples that fit into 64 bits, u * 10^m.e for u from lo_units to hi_units: P with digits Q behind it is the
 * number PQ * 10^m.e, and so it goes on to a longer spelling of that. */
static uint32_t free_in_small(const struct tombola__piece *p, uint64_t value) {
  uint32_t n = 0;
  if (p->m.d != 1 || p->n_nots || p->n_left || value * 10 < p->lo_units) return 0;
  for (uint64_t end = value + 1; end <= p->hi_units / 10; end *= 10)
    n++;
  return n;
}

/* Whether [P, P + 1) * 10^k, k such that it is 0.P * 10^point, is inside of the piece's interval. */
static bool is_inside(const struct tombola__piece *p, uint64_t value, uint32_t n, int64_t point) {
  char low[20], high[20];
  const struct tombola__decimal lo = tombola__of_units(value, point - n, low);
  const struct tombola__decimal hi = tombola__of_units(value + 1, point - n, high);
  return tombola__magnitude_compare(p->bounds.lo, &lo) <= 0 &&
         tombola__magnitude_compare(&hi, p->bounds.hi) <= 0;
}

static bool is_free_in(const struct tombola__piece *p, const struct tombola__reading *r) {
  if (p->has_m || p->point) return false;
  if (!p->bounds.lo->length) return true; /* small enough for some k */
  if (!r->n || r->n > MOST_SIGNIFICANT) return false;
  const int64_t first = tombola__point(p->bounds.lo), last = tombola__point(p->bounds.hi);
  return is_inside(p, r->value, r->n, first) || is_inside(p, r->value, r->n, first + 1) ||
         is_inside(p, r->value, r->n, last);
}

/* Whether value * 10^(n + 1) is at least `hi`. */
static bool is_past(uint64_t value, uint32_t n, uint64_t hi) {
  for (uint32_t k = 0; k <= n; k++, value *= 10)
    if (value > hi / 10) return true;
  return value >= hi;
}

/* Whether behind P and n digits none but 0 can follow: the units, whose digits are those of PQ but for zeros at the end,
 * would be greater than all of the pieces'. */
static bool only_zeros(const struct tombola__points *points, uint64_t value, uint32_t n) {
  if (points->n) return false;
  for (uint32_t i = 0; i < points->n_others; i++) {
    const struct tombola__piece *const p = points->others[i];
    if (!p->small || !is_past(value, n, p->hi_units)) return false;
  }
  return true;
}

struct tombola__digits tombola__number_digits(struct tombola__store *s, tombola__numset a, const char *text,
                                              size_t length, bool excluding) {
  struct tombola__digits found = {0, false};
  struct tombola__reading r;
  char buffer[64];
  if (s->status || s->spelling == TOMBOLA_SPELLING_PLAIN) return found;
  if (length > sizeof buffer || !tombola__number_parse(text, length, buffer, &r)) return found;
  if (r.phase != TOMBOLA__AT_INTEGER && r.phase != TOMBOLA__AT_POINT && r.phase != TOMBOLA__AT_FRACTION)
    return found;
  const struct tombola__number_set *const set = tombola__number_set(s, a);
  if (a == TOMBOLA__NUMBERS_ALL || set->endless[r.negative])
    return (struct tombola__digits){UINT32_MAX, false};
  if (!set->n[r.negative]) return found;
  const struct tombola__points *const points = tombola__points(s, set, r.negative);
  const bool fits = r.n > 0 && r.n <= MOST_SIGNIFICANT;
  for (uint32_t i = 0; i < points->n_others; i++) {
    const struct tombola__piece *const p = points->others[i];
    if (is_free_in(p, &r)) return (struct tombola__digits){UINT32_MAX, false};
    const uint32_t n = p->small && fits && !excluding ? free_in_small(p, r.value) : 0;
    if (n > found.free) found.free = n;
  }
  found.only_zeros = fits && only_zeros(points, r.value, found.free);
  return found;
}
