/* SPDX-License-Identifier: Apache-2.0 */
/* Digits that may follow a number's text whatever they are. Until an exponent is written any power of ten can still
 * come, so that where [P, P + 1) * 10^k is inside of an interval for some k, P with any digits behind it is too. Where
 * numbers are spelled plainly there is one k for each number of digits that follow. */
#include <string.h>

#include "constraint/number/number_internal.h"

#define MOST_SIGNIFICANT 17u  /* of the digits so far, so that P + 1 and ten times as much fit into 64 bits */
#define MOST_TEXT        192u /* bytes of one that is looked at */
#define MOST_MORE        128u /* digits behind it */

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

/* ---- plain spelling ---- */

/* P with `more` digits behind it, all of them this one; the last stands for 10^e. */
static struct tombola__decimal extended(const struct tombola__reading *r, uint32_t more, char digit,
                                        int64_t e, char room[MOST_TEXT + MOST_MORE]) {
  uint32_t n = r->n + more;
  memcpy(room, r->digits, r->n);
  memset(room + r->n, digit, more);
  for (; n > 0 && room[n - 1] == '0'; n--)
    e++;
  return n > 0 ? (struct tombola__decimal){room, n, false, e} : (struct tombola__decimal){.digits = ""};
}

/* Whether P with any `more` digits is within the bounds; but for zero, which no piece has. */
static bool all_within(const struct tombola__piece *p, const struct tombola__reading *r, uint32_t more,
                       int64_t e) {
  char low[MOST_TEXT + MOST_MORE], high[MOST_TEXT + MOST_MORE];
  const struct tombola__decimal first = extended(r, more, '0', e, low),
                                last = extended(r, more, '9', e, high);
  const bool begins = first.length ? tombola__within(&p->bounds, &first) : !p->bounds.lo->length;
  return begins && tombola__within(&p->bounds, &last);
}

/* The least t such that any 10^t numbers in a row have a multiple of d. */
static int64_t digits_of(uint64_t d) {
  int64_t t = 0;
  for (uint64_t power = 1; power < d && t < 19; power *= 10)
    t++;
  return t;
}

/* Behind the point P goes on to the multiples of m between it and the next text of its length: 10^k units of m, where k
 * digits more are written down to that unit. Of these some must be left behind PQ, as PQ itself may end in 0. In front of
 * the point it goes on to integers of as many digits as the bounds allow, and PQ may be one. */
static uint32_t free_in_plain(const struct tombola__piece *p, const struct tombola__reading *r) {
  if (!p->has_m || p->m.big || p->n_nots || p->n_left || !p->bounds.hi) return 0;
  int64_t n = 0;
  if (r->phase == TOMBOLA__AT_INTEGER) {
    const int64_t most = tombola__point(p->bounds.hi) - r->n;
    if (most > MOST_MORE) return 0;
    int64_t more = most; /* with fewer than most - 1 only the lower bound is nearer */
    while (more > 0 && more >= most - 1 && !all_within(p, r, (uint32_t)more, 0))
      more--;
    n = more < most - 1 ? 0 : more;
    if (p->m.e + digits_of(p->m.d) > 0) n -= p->m.e + digits_of(p->m.d);
  } else {
    const int64_t more = -p->m.e - r->fraction;
    if (more <= 0 || more > MOST_MORE || !all_within(p, r, (uint32_t)more, p->m.e)) return 0;
    n = more - digits_of(p->m.d + 1);
  }
  return n > 0 ? (uint32_t)n : 0;
}

/* Whether P with so many digits behind it, whatever they are, is greater than all. */
static bool is_greater(const struct tombola__points *points, const struct tombola__reading *r,
                       uint32_t more) {
  char room[MOST_TEXT + MOST_MORE];
  if (r->phase != TOMBOLA__AT_INTEGER || points->n || more > MOST_MORE) return false;
  const struct tombola__decimal least = extended(r, more, '0', 0, room);
  for (uint32_t i = 0; i < points->n_others; i++) {
    const struct tombola__bounds *const bounds = &points->others[i]->bounds;
    const int order = bounds->hi ? tombola__magnitude_compare(&least, bounds->hi) : -1;
    if (order < 0 || (order == 0 && !bounds->hi_open)) return false;
  }
  return true;
}

static struct tombola__digits plain_digits(const struct tombola__points *points,
                                           const struct tombola__reading *r) {
  struct tombola__digits found = {.free = 0};
  for (uint32_t i = 0; i < points->n_others; i++) {
    const uint32_t n = free_in_plain(points->others[i], r);
    if (n > found.free) found.free = n;
  }
  found.none = is_greater(points, r, found.free + 1);
  return found;
}

/* ---- all together ---- */

struct tombola__digits tombola__number_digits(struct tombola__store *s, tombola__numset a, const char *text,
                                              size_t length, bool excluding) {
  struct tombola__digits found = {.free = 0};
  struct tombola__reading r;
  char buffer[MOST_TEXT];
  if (s->status || length > sizeof buffer || !tombola__number_parse(text, length, buffer, &r)) return found;
  if (r.phase != TOMBOLA__AT_INTEGER && r.phase != TOMBOLA__AT_POINT && r.phase != TOMBOLA__AT_FRACTION)
    return found;
  const struct tombola__number_set *const set = tombola__number_set(s, a);
  const bool plain = s->spelling == TOMBOLA_SPELLING_PLAIN;
  if (!plain && (a == TOMBOLA__NUMBERS_ALL || set->endless[r.negative]))
    return (struct tombola__digits){.free = UINT32_MAX};
  if (!set->n[r.negative] || (plain && excluding)) return found;
  const struct tombola__points *const points = tombola__points(s, set, r.negative);
  if (plain) return s->status ? found : plain_digits(points, &r);
  const bool fits = r.n > 0 && r.n <= MOST_SIGNIFICANT;
  for (uint32_t i = 0; i < points->n_others; i++) {
    const struct tombola__piece *const p = points->others[i];
    if (is_free_in(p, &r)) return (struct tombola__digits){.free = UINT32_MAX};
    const uint32_t n = p->small && fits && !excluding ? free_in_small(p, r.value) : 0;
    if (n > found.free) found.free = n;
  }
  found.only_zeros = fits && only_zeros(points, r.value, found.free);
  return found;
}
