/* SPDX-License-Identifier: Apache-2.0 */
/* What the beginning of a number's text is to a set. Every spelling counts, so until an exponent is written the
 * numbers that can follow are all those whose digits begin with the digits so far: [P, P+1) * 10^k for every integer
 * k. As soon as there is an e the digits are fixed, and the numbers are those of one geometric row. */
#include <string.h>

#include "constraint/number/number_internal.h"

#define SHORT_TEXT 256

struct scan {
  struct tombola__store *s;
  const struct tombola__reading *reading;
  struct tombola__excluded excluded;
  struct tombola__decimal begin, end; /* P and P + 1, as integers, when they are needed */
  char *room;                         /* reading->n + 1 bytes for the digits of `end` */
  bool begin_fits;                    /* P without trailing zeros in 64 bits */
  uint64_t begin_value;
  uint32_t zeros; /* trailing ones of P */
};

/* Whether a piece has a number within bounds that isn't excluded. */
static bool some_within(struct scan *scan, const struct tombola__piece *p,
                        const struct tombola__bounds *bounds) {
  return tombola__piece_has_some(p, bounds, &scan->excluded);
}

/* Whether a range of points has one up to the exponent `most` that isn't excluded. */
static bool some_point(const struct scan *scan, const struct tombola__points *points,
                       struct tombola__point_range range, int64_t most) {
  for (uint32_t i = range.first; i < range.last && points->at[i]->exponent <= most; i++)
    if (!tombola__is_excluded(&scan->excluded, points->at[i])) return true;
  return false;
}

/* ---- the digits so far, and more ---- */

static void strip(struct scan *scan) {
  const struct tombola__reading *const r = scan->reading;
  uint32_t n = r->n;
  while (r->digits[n - 1] == '0')
    n--;
  scan->zeros = r->n - n;
  scan->begin = (struct tombola__decimal){.digits = r->digits, .length = n, .exponent = scan->zeros};
  scan->begin_fits = true;
  if (r->n <= 19 && n == r->n)
    scan->begin_value = r->value;
  else
    scan->begin_fits = tombola__digits_value(r->digits, n, &scan->begin_value);
}

/* P + 1 */
static void make_end(struct scan *scan) {
  const struct tombola__reading *const r = scan->reading;
  uint32_t n = r->n;
  while (n > 0 && r->digits[n - 1] == '9')
    n--;
  if (n == 0) {
    scan->end = (struct tombola__decimal){.digits = "1", .length = 1, .exponent = r->n};
    return;
  }
  memcpy(scan->room, r->digits, n);
  scan->room[n - 1]++;
  scan->end = (struct tombola__decimal){.digits = scan->room, .length = n, .exponent = r->n - n};
}

/* [P, P + 1) * 10^k within the piece */
static bool some_at(struct scan *scan, const struct tombola__piece *p, int64_t k) {
  struct tombola__decimal lo = scan->begin, hi = scan->end;
  lo.exponent += k;
  hi.exponent += k;
  struct tombola__bounds b = {&lo, &hi, false, true};
  const int low = tombola__magnitude_compare(&lo, p->bounds.lo);
  if (low < 0 || (low == 0 && p->bounds.lo_open)) {
    b.lo = p->bounds.lo;
    b.lo_open = p->bounds.lo_open;
  }
  if (p->bounds.hi && tombola__magnitude_compare(p->bounds.hi, &hi) < 0) {
    b.hi = p->bounds.hi;
    b.hi_open = p->bounds.hi_open;
  }
  return some_within(scan, p, &b);
}

/* Points whose digits begin with P's; or with all but zeros at P's end, which are none of its digits. */
static bool some_point_begins(const struct scan *scan, const struct tombola__points *points) {
  const struct tombola__reading *const r = scan->reading;
  if (points->n == 0) return false;
  struct tombola__point_range range = tombola__points_begin(points, r->digits, r->n, false);
  if (some_point(scan, points, range, TOMBOLA__EXPONENTS)) return true;
  if (scan->zeros == 0) return false;
  range = tombola__points_begin(points, scan->begin.digits, scan->begin.length, true);
  return some_point(scan, points, range, TOMBOLA__EXPONENTS);
}

/* Every k at which the piece and [P, P + 1) * 10^k may meet: largest first, as the widest is likely to settle it. */
static bool some_digits_any(struct scan *scan, const struct tombola__piece *p) {
  const int64_t n = scan->reading->n;
  int64_t last = p->bounds.lo->length ? tombola__point(p->bounds.lo) - n : -TOMBOLA__EXPONENTS;
  const int64_t first = tombola__point(p->bounds.hi) - n;
  /* Multiples of m.d * 10^m.e: P * 10^k must have a digit there. */
  if (p->has_m && last < p->m.e - (int64_t)scan->zeros) last = p->m.e - (int64_t)scan->zeros;
  make_end(scan);
  for (int64_t k = first; k >= last && !scan->s->status; k--)
    if (some_at(scan, p, k)) return true;
  return false;
}

/* The same for multiples that fit into 64 bits. */
static bool some_digits_small(struct scan *scan, const struct tombola__piece *p) {
  if (!scan->begin_fits) return false;
  const uint64_t hi = p->hi_units, lo = p->lo_units, d = p->m.d, hi_tenth = hi / 10;
  const size_t out = p->n_left + scan->excluded.n;
  uint64_t at = scan->begin_value, width = 1;
  for (uint32_t i = 0; at <= hi; i++) {
    const uint64_t end = hi - at < width - 1 ? hi : at + (width - 1), begin = at < lo ? lo : at;
    if (begin <= end) {
      const uint64_t n = d == 1 ? end - begin + 1 : end / d - (begin - 1) / d;
      if (n > out && !p->n_nots) return true;
      if (n > 0) {
        char low[20], high[20];
        const struct tombola__decimal x = tombola__of_units(begin, p->m.e, low);
        const struct tombola__decimal y = tombola__of_units(end, p->m.e, high);
        if (some_within(scan, p, &(struct tombola__bounds){&x, &y, false, false})) return true;
      }
    }
    if (at > hi_tenth) break;
    at *= 10;
    if (i >= scan->zeros) width *= 10;
  }
  return false;
}

static bool some_digits(struct scan *scan, const struct tombola__piece *p) {
  if (!p->bounds.hi) return true; /* wide enough for large k */
  return p->small ? some_digits_small(scan, p) : some_digits_any(scan, p);
}

/* ---- after an e ---- */

struct range {
  int64_t lo, hi; /* TOMBOLA__EXPONENTS: no bound */
};

/* The exponents t for which x->digits * 10^t is in the piece (but for what is left out of it). */
static struct range exponents_of(const struct tombola__piece *p, const struct tombola__decimal *x) {
  const struct tombola__bounds *const b = &p->bounds;
  struct range t = {-TOMBOLA__EXPONENTS, TOMBOLA__EXPONENTS};
  if (b->lo->length) {
    const int order = tombola__digits_compare(x->digits, x->length, b->lo->digits, b->lo->length);
    t.lo = tombola__point(b->lo) - x->length + (order < 0 || (order == 0 && b->lo_open));
  }
  if (b->hi) {
    const int order = tombola__digits_compare(x->digits, x->length, b->hi->digits, b->hi->length);
    t.hi = tombola__point(b->hi) - x->length - (order > 0 || (order == 0 && b->hi_open));
  }
  if (p->has_m) {
    const int64_t from = tombola__modulus_from(&p->m, x);
    if (from == TOMBOLA__EXPONENTS) return (struct range){1, 0};
    if (t.lo < from) t.lo = from;
  }
  for (size_t i = 0; i < p->n_nots; i++) {
    const int64_t from = tombola__modulus_from(&p->nots[i], x);
    if (from != TOMBOLA__EXPONENTS && t.hi > from - 1) t.hi = from - 1;
  }
  return t;
}

/* Whether some t in the range gives a number that isn't left out or excluded. */
static bool some_exponent_in(const struct scan *scan, const struct tombola__piece *p,
                             const struct tombola__decimal *x, struct range t) {
  const size_t out = p->n_left + scan->excluded.n;
  if (t.lo > t.hi) return false;
  if ((uint64_t)(t.hi - t.lo) >= out) return true;
  for (struct tombola__decimal y = {x->digits, x->length, false, t.lo}; y.exponent <= t.hi; y.exponent++)
    if ((!p->n_left || tombola__piece_has(p, &y)) && !tombola__is_excluded(&scan->excluded, &y)) return true;
  return false;
}

static struct range meet(struct range a, struct range b) {
  return (struct range){a.lo > b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi};
}

/* What may have the digits of x: a piece with the exponents `have`, or points. */
struct row {
  const struct tombola__piece *p;
  struct range have;
  const struct tombola__points *points;
  struct tombola__point_range range;
};

static bool some_in(const struct scan *scan, const struct row *row, const struct tombola__decimal *x,
                    struct range t) {
  if (row->p) return some_exponent_in(scan, row->p, x, meet(row->have, t));
  const struct tombola__point_range from = {tombola__points_from(row->points, row->range, t.lo),
                                            row->range.last};
  return some_point(scan, row->points, from, t.hi);
}

static bool some_exponent(const struct scan *scan, const struct row *row, const struct tombola__decimal *x) {
  const struct tombola__reading *const r = scan->reading;
  /* x has the exponent that is written so far in it. */
  const int64_t shift = x->exponent - (r->exponent_negative ? -r->exponent : r->exponent);
  struct range t = {-TOMBOLA__EXPONENTS, TOMBOLA__EXPONENTS};
  if (r->phase == TOMBOLA__AT_E) return some_in(scan, row, x, t);
  if (r->phase == TOMBOLA__AT_E_SIGN || r->exponent == 0) {
    if (r->exponent_negative)
      t.hi = shift;
    else
      t.lo = shift;
    return some_in(scan, row, x, t);
  }
  for (int64_t at = r->exponent * 10, width = 10; at < TOMBOLA__EXPONENTS / 10; at *= 10, width *= 10) {
    t = r->exponent_negative ? (struct range){shift - at - (width - 1), shift - at}
                             : (struct range){shift + at, shift + at + (width - 1)};
    if (some_in(scan, row, x, t)) return true;
  }
  return false;
}

/* ---- all together ---- */

/* Some number of this sign. */
static bool some_number(struct scan *scan, const struct tombola__points *points) {
  if (points->n > scan->excluded.n) return true;
  for (uint32_t i = 0; i < points->n_others; i++) {
    const struct tombola__piece *const p = points->others[i];
    if (!scan->excluded.n || tombola__piece_is_endless(p) || some_within(scan, p, &p->bounds)) return true;
  }
  return some_point(scan, points, (struct tombola__point_range){0, points->n}, TOMBOLA__EXPONENTS);
}

static bool can_go_on(struct scan *scan, const struct tombola__number_set *set, bool zero) {
  const struct tombola__reading *const r = scan->reading;
  const bool negative = r->negative;
  const bool exponent = r->phase >= TOMBOLA__AT_E;
  if (!exponent && set->endless[negative]) return true;
  if (r->n == 0 && (zero || exponent)) return zero;
  if (set->n[negative] == 0) return false;
  const struct tombola__points *const points = tombola__points(scan->s, set, negative);
  if (r->n == 0) return some_number(scan, points);
  if (!exponent) {
    strip(scan);
    for (uint32_t i = 0; i < points->n_others; i++)
      if (some_digits(scan, points->others[i])) return true;
    return some_point_begins(scan, points);
  }
  const struct tombola__decimal x = tombola__number_value(r);
  for (uint32_t i = 0; i < points->n_others; i++) {
    const struct row row = {.p = points->others[i], .have = exponents_of(points->others[i], &x)};
    if (some_exponent(scan, &row, &x)) return true;
  }
  const struct row row = {.points = points, .range = tombola__points_begin(points, x.digits, x.length, true)};
  return row.range.first < row.range.last && some_exponent(scan, &row, &x);
}

static bool zero_is_free(const struct tombola__number_set *set, const struct tombola__excluded *excluded) {
  bool zero = set->zero;
  for (size_t i = 0; i < excluded->n && zero; i++)
    zero = excluded->values[i].length > 0;
  return zero;
}

static unsigned scan_reading(struct scan *scan, tombola__numset a) {
  const struct tombola__reading *const r = scan->reading;
  const struct tombola__number_set *const set = tombola__number_set(scan->s, a);
  const bool whole = tombola__number_is_whole(r);
  if (a == TOMBOLA__NUMBERS_ALL && !scan->excluded.n)
    return whole ? TOMBOLA__NUMBER_CAN_GO_ON | TOMBOLA__NUMBER_IS : TOMBOLA__NUMBER_CAN_GO_ON;
  const bool zero = zero_is_free(set, &scan->excluded);
  unsigned result = 0;
  if (whole) {
    const struct tombola__decimal x = tombola__number_value(r);
    if (x.length ? tombola__numbers_has(scan->s, a, &x) && !tombola__is_excluded(&scan->excluded, &x) : zero)
      result = TOMBOLA__NUMBER_IS;
  }
  return can_go_on(scan, set, zero) ? result | TOMBOLA__NUMBER_CAN_GO_ON : result;
}

unsigned tombola__number_scan(struct tombola__store *s, tombola__numset a, const char *text, size_t length,
                              const struct tombola__decimal *excluded, size_t n_excluded) {
  char stack[2 * SHORT_TEXT], *buffer = stack;
  struct tombola__reading reading;
  unsigned result = 0;
  if (s->status) return 0;
  if (length >= SHORT_TEXT) {
    buffer = length < UINT32_MAX ? tombola__new(&s->allocator, length + 1, 2) : NULL;
    if (!buffer) {
      tombola__store_fail(s, TOMBOLA_NO_MEMORY, NULL, "out of memory");
      return 0;
    }
  }
  if (tombola__number_parse(text, length, buffer, &reading)) {
    struct scan scan;
    scan.s = s;
    scan.reading = &reading;
    scan.excluded = (struct tombola__excluded){excluded, n_excluded, reading.negative};
    scan.room = buffer + length;
    if (s->spelling == TOMBOLA_SPELLING_PLAIN) {
      const bool zero = zero_is_free(tombola__number_set(s, a), &scan.excluded);
      const struct tombola__plain_text plain = {&reading, scan.excluded, zero, text[length - 1], scan.room};
      result = tombola__number_scan_plain(s, a, &plain);
    } else {
      result = scan_reading(&scan, a);
    }
    if (s->status) result = 0;
  }
  if (buffer != stack) tombola__free(&s->allocator, buffer);
  return result;
}
