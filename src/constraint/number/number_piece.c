/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of sets of numbers: made in a normal form in which none is empty, and combined. */
#include <string.h>

#include "constraint/number/number_internal.h"

#define MOST_COUNTED ((uint64_t)1 << 62) /* multiples, exactly */
#define MOST_EFFORT  ((uint64_t)1 << 15) /* limbs of all moduli of a piece together, for each set of them */

/* ---- asking ---- */

bool tombola__within(const struct tombola__bounds *bounds, const struct tombola__decimal *x) {
  const int low = tombola__magnitude_compare(bounds->lo, x);
  if (low > 0 || (low == 0 && bounds->lo_open)) return false;
  if (!bounds->hi) return true;
  const int high = tombola__magnitude_compare(x, bounds->hi);
  return high < 0 || (high == 0 && !bounds->hi_open);
}

static bool is_left(const struct tombola__piece *p, const struct tombola__decimal *x) {
  for (size_t low = 0, high = p->n_left; low < high;) {
    const size_t middle = low + (high - low) / 2;
    const int order = tombola__magnitude_compare(p->left[middle], x);
    if (order == 0) return true;
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return false;
}

bool tombola__piece_has(const struct tombola__piece *p, const struct tombola__decimal *x) {
  if (p->point) return tombola__magnitude_equal(p->bounds.lo, x);
  if (!tombola__within(&p->bounds, x)) return false;
  if (p->has_m && x->exponent < tombola__modulus_from(&p->m, x)) return false;
  for (size_t i = 0; i < p->n_nots; i++)
    if (x->exponent >= tombola__modulus_from(&p->nots[i], x)) return false;
  return !p->n_left || !is_left(p, x);
}

bool tombola__is_excluded(const struct tombola__excluded *excluded, const struct tombola__decimal *x) {
  for (size_t i = 0; i < excluded->n; i++) {
    const struct tombola__decimal *const v = &excluded->values[i];
    if (v->length && v->negative == excluded->negative && tombola__magnitude_equal(v, x)) return true;
  }
  return false;
}

/* ---- counting ---- */

/* Multiples of m, n of them, minus those of any of nots[i…], by inclusion and exclusion. make() has seen that all of them
 * together aren't too large. */
static int64_t count_without(const struct tombola__piece *p, size_t i, const struct tombola__modulus *m,
                             const struct tombola__bounds *bounds, uint64_t n) {
  int64_t total = (int64_t)n;
  for (; i < p->n_nots && total > 0; i++) {
    struct tombola__big_modulus room;
    struct tombola__modulus both;
    if (!tombola__modulus_lcm(m, &p->nots[i], &room, &both)) continue;
    const uint64_t of_both = tombola__multiples_within(&both, bounds);
    if (of_both) total -= count_without(p, i + 1, &both, bounds, of_both);
  }
  return total;
}

/* Of N multiples in a row at least N / (n + 1) - 2^n aren't multiples of any of n others: take a prime factor of each
 * index: N * (1 - 1/2)(1 - 1/3)… less an error of 1 for each of 2^n terms. */
static uint64_t at_least_without(const struct tombola__piece *p, uint64_t all) {
  const uint64_t share = all / (p->n_nots + 1), error = p->n_nots ? (uint64_t)1 << p->n_nots : 0;
  return share > error ? share - error : 0;
}

/* Those of `all` multiples within bounds that are in the piece, whatever is left out. *at_least: there may be more. */
static uint64_t multiples_without(const struct tombola__piece *p, const struct tombola__bounds *bounds,
                                  uint64_t all, bool *at_least) {
  *at_least = all > MOST_COUNTED;
  if (!p->n_nots || !all) return all;
  return *at_least ? at_least_without(p, all) : (uint64_t)count_without(p, 0, &p->m, bounds, all);
}

/* How many of `left`, which ascends, are within bounds. */
static uint64_t left_within(const struct tombola__piece *p, const struct tombola__bounds *bounds) {
  size_t at[2];
  for (int end = 0; end < 2; end++) {
    size_t low = 0, high = p->n_left;
    while (low < high) { /* the first one that isn't below, or that is above */
      const size_t middle = low + (high - low) / 2;
      const int order = tombola__magnitude_compare(p->left[middle], end ? bounds->hi : bounds->lo);
      if (order < 0 || (order == 0 && (end ? !bounds->hi_open : bounds->lo_open)))
        low = middle + 1;
      else
        high = middle;
    }
    at[end] = low;
  }
  return at[1] > at[0] ? at[1] - at[0] : 0;
}

static uint64_t count_multiples(const struct tombola__piece *p, const struct tombola__bounds *bounds,
                                const struct tombola__excluded *excluded, uint64_t all, bool *at_least) {
  const uint64_t n = multiples_without(p, bounds, all, at_least);
  uint64_t out = p->n_left && n ? left_within(p, bounds) : 0;
  for (size_t i = 0; i < excluded->n && n; i++) {
    const struct tombola__decimal *const v = &excluded->values[i];
    const struct tombola__excluded before = {excluded->values, i, excluded->negative};
    if (v->length && v->negative == excluded->negative && tombola__within(bounds, v) &&
        tombola__piece_has(p, v) && !tombola__is_excluded(&before, v))
      out++;
  }
  return n > out ? n - out : 0;
}

/* 0 or 1: settled so; -1: many multiples, or infinitely many numbers. */
static int count_few(const struct tombola__piece *p, const struct tombola__bounds *bounds,
                     const struct tombola__excluded *excluded) {
  const int order = bounds->hi ? tombola__magnitude_compare(bounds->lo, bounds->hi) : -1;
  if (order < 0) return -1;
  if (order > 0 || bounds->lo_open || bounds->hi_open) return 0;
  return tombola__piece_has(p, bounds->lo) && !tombola__is_excluded(excluded, bounds->lo);
}

uint64_t tombola__piece_count(const struct tombola__piece *p, const struct tombola__bounds *bounds,
                              const struct tombola__excluded *excluded, bool *at_least) {
  *at_least = false;
  const int few = count_few(p, bounds, excluded);
  if (few >= 0) return (uint64_t)few;
  if (!bounds->hi || !p->has_m) return UINT64_MAX;
  return count_multiples(p, bounds, excluded, tombola__multiples_within(&p->m, bounds), at_least);
}

bool tombola__piece_has_some(const struct tombola__piece *p, const struct tombola__bounds *bounds,
                             const struct tombola__excluded *excluded) {
  const int few = count_few(p, bounds, excluded);
  if (few >= 0) return few;
  if (!bounds->hi || !p->has_m) return true;
  const uint64_t all = tombola__multiples_within(&p->m, bounds);
  if (at_least_without(p, all) > p->n_left + excluded->n) return true;
  bool at_least;
  return count_multiples(p, bounds, excluded, all, &at_least) > 0;
}

/* ---- making ---- */

/* Nothing in it is normal yet. Its `left` is the scratch memory of the store. */
struct draft {
  struct tombola__piece piece;
  struct tombola__modulus nots[2 * TOMBOLA__MOST_NOTS + 1];
};

static void fail_moduli(struct tombola__store *s) {
  tombola__store_fail(s, TOMBOLA_OUT_OF_RANGE, "multipleOf",
                      "multipleOf: too many digits, or too many combinations");
}

static bool same_modulus(const struct tombola__modulus *x, const struct tombola__modulus *y) {
  return x->a == y->a && x->b == y->b && x->c == y->c && x->big == y->big;
}

static bool same_piece(const void *item, const void *key) {
  const struct tombola__piece *const p = item, *const q = key;
  if (p->bounds.lo != q->bounds.lo || p->bounds.hi != q->bounds.hi ||
      p->bounds.lo_open != q->bounds.lo_open || p->bounds.hi_open != q->bounds.hi_open ||
      p->has_m != q->has_m || p->n_nots != q->n_nots || p->n_left != q->n_left)
    return false;
  if (p->has_m && !same_modulus(&p->m, &q->m)) return false;
  for (size_t i = 0; i < p->n_nots; i++)
    if (!same_modulus(&p->nots[i], &q->nots[i])) return false;
  return !p->n_left || !memcmp(p->left, q->left, p->n_left * sizeof *p->left);
}

static uint64_t mix_modulus(uint64_t hash, const struct tombola__modulus *m) {
  hash = tombola__mix(tombola__mix(tombola__mix(hash, (uint64_t)m->a), (uint64_t)m->b), m->c);
  return m->big ? tombola__mix(hash, (uint64_t)(uintptr_t)m->big) : hash;
}

static uint64_t hash_piece(const struct tombola__piece *p) {
  uint64_t hash =
      tombola__mix((uint64_t)p->bounds.lo_open * 2 + p->bounds.hi_open, (uint64_t)(uintptr_t)p->bounds.lo);
  hash = tombola__mix(hash, (uint64_t)(uintptr_t)p->bounds.hi);
  if (p->has_m) hash = mix_modulus(hash, &p->m);
  for (size_t i = 0; i < p->n_nots; i++)
    hash = mix_modulus(hash, &p->nots[i]);
  for (size_t i = 0; i < p->n_left; i++)
    hash = tombola__mix(hash, (uint64_t)(uintptr_t)p->left[i]);
  return hash;
}

static const struct tombola__piece *intern(struct tombola__store *s, const struct tombola__piece *piece) {
  struct tombola__table *const table = &s->numbers->pieces;
  const uint64_t hash = hash_piece(piece);
  const struct tombola__piece *const known = tombola__table_find(table, hash, same_piece, piece, NULL);
  if (known) return known;
  struct tombola__piece *const p = tombola__store_take(s, 1, sizeof *p);
  struct tombola__modulus *const nots = tombola__store_take(s, piece->n_nots, sizeof *nots);
  const struct tombola__decimal **const left = tombola__store_take(s, piece->n_left, sizeof *left);
  if (!p || !nots || !left) return NULL;
  *p = *piece;
  if (p->n_nots) memcpy(nots, piece->nots, p->n_nots * sizeof *nots);
  for (size_t i = 0; i < p->n_left; i++)
    left[i] = piece->left[i];
  p->nots = nots;
  p->left = left;
  p->id = table->n;
  return tombola__table_add(s, table, hash, p) ? p : NULL;
}

/* The single number x, if the draft has it. */
static const struct tombola__piece *point_of(struct tombola__store *s, const struct tombola__piece *p,
                                             const struct tombola__decimal *x) {
  if (!tombola__piece_has(p, x)) return NULL;
  const struct tombola__piece point = {.bounds = {.lo = x, .hi = x}, .point = true};
  return intern(s, &point);
}

/* *m becomes the least common multiple. */
static bool multiply(struct tombola__store *s, struct tombola__modulus *m,
                     const struct tombola__modulus *other) {
  struct tombola__big_modulus room;
  if (tombola__modulus_lcm(m, other, &room, m)) return tombola__modulus_keep(s, m);
  fail_moduli(s);
  return false;
}

/* All together must fit, and be counted in reasonable time. */
static bool check_nots(struct tombola__store *s, const struct draft *d) {
  const size_t n = d->piece.n_nots;
  struct tombola__big_modulus room;
  struct tombola__modulus all = d->nots[0];
  bool good = n <= TOMBOLA__MOST_NOTS;
  for (size_t i = 1; i < n && good; i++)
    good = tombola__modulus_lcm(&all, &d->nots[i], &room, &all);
  if (good && (!all.big || (uint64_t)all.big->d.n << n <= MOST_EFFORT)) return true;
  fail_moduli(s);
  return false;
}

/* Non-multiples as multiples of m as well, and none that another one implies. False: nothing is left. */
static bool normal_nots(struct tombola__store *s, struct draft *d) {
  struct tombola__piece *const p = &d->piece;
  size_t n = 0;
  for (size_t i = 0; i < p->n_nots; i++) {
    struct tombola__modulus m = d->nots[i];
    bool implied = false;
    if (p->has_m && !multiply(s, &m, &p->m)) return false;
    if (p->has_m && same_modulus(&p->m, &m)) return false;
    for (size_t j = 0; j < n && !implied; j++)
      implied = tombola__modulus_divides(&d->nots[j], &m);
    if (implied) continue;
    size_t kept = 0;
    for (size_t j = 0; j < n; j++)
      if (!tombola__modulus_divides(&m, &d->nots[j])) d->nots[kept++] = d->nots[j];
    d->nots[kept] = m;
    n = kept + 1;
  }
  for (size_t i = 1; i < n; i++) /* few: by insertion */
    for (size_t j = i; j > 0 && tombola__modulus_order(&d->nots[j], &d->nots[j - 1]) < 0; j--) {
      const struct tombola__modulus m = d->nots[j];
      d->nots[j] = d->nots[j - 1];
      d->nots[j - 1] = m;
    }
  p->n_nots = n;
  return n == 0 || check_nots(s, d);
}

/* Bounds of multiples become multiples, where they fit into 64 bits. False: there is none. */
static bool tighten(struct tombola__store *s, struct tombola__piece *p) {
  bool exact_lo, exact_hi;
  uint64_t lo, hi;
  char digits[20];
  if (p->m.big || !tombola__units(p->bounds.lo, p->m.e, &lo, &exact_lo) ||
      !tombola__units(p->bounds.hi, p->m.e, &hi, &exact_hi))
    return true;
  if (exact_hi && p->bounds.hi_open) {
    if (hi == 0) return false;
    hi--;
  }
  if (!exact_lo || p->bounds.lo_open) {
    if (lo >= hi) return false;
    lo++;
  }
  hi -= hi % p->m.d;
  const uint64_t above = lo % p->m.d ? p->m.d - lo % p->m.d : 0;
  if (lo > hi || above > hi - lo) return false;
  lo += above;
  struct tombola__decimal x = tombola__of_units(lo, p->m.e, digits);
  p->bounds.lo = tombola__decimal_keep(s, &x);
  x = tombola__of_units(hi, p->m.e, digits);
  p->bounds.hi = tombola__decimal_keep(s, &x);
  p->bounds.lo_open = p->bounds.hi_open = false;
  p->small = true;
  p->lo_units = lo;
  p->hi_units = hi;
  return p->bounds.lo && p->bounds.hi;
}

/* Only numbers that would be in it are left out; of a dense piece, bounds aren't. `left` ascends. */
static void normal_left(struct tombola__store *s, struct tombola__piece *p) {
  const size_t n = p->n_left;
  size_t kept = 0;
  p->n_left = 0;
  for (size_t i = 0; i < n; i++) {
    const struct tombola__decimal *const x = s->numbers->left[i];
    if (!tombola__piece_has(p, x)) continue;
    if (!p->has_m && x == p->bounds.lo)
      p->bounds.lo_open = true;
    else if (!p->has_m && x == p->bounds.hi)
      p->bounds.hi_open = true;
    else
      s->numbers->left[kept++] = x;
  }
  p->n_left = kept;
}

/* The piece of a draft, NULL when it is empty or after a failure. */
static const struct tombola__piece *make(struct tombola__store *s, struct draft *d) {
  struct tombola__piece *const p = &d->piece;
  p->nots = d->nots;
  p->left = s->numbers->left;
  if (s->status || !normal_nots(s, d)) return NULL;
  if (p->bounds.hi) {
    const int order = tombola__magnitude_compare(p->bounds.lo, p->bounds.hi);
    if (order > 0 || (order == 0 && (p->bounds.lo_open || p->bounds.hi_open))) return NULL;
    if (order == 0) return point_of(s, p, p->bounds.lo);
    if (p->has_m && !tighten(s, p)) return NULL;
    if (p->bounds.lo == p->bounds.hi) return point_of(s, p, p->bounds.lo);
  }
  normal_left(s, p);
  if (p->has_m && p->bounds.hi && !(p->small && !p->n_nots && !p->n_left)) {
    const struct tombola__excluded none = {0};
    if (!tombola__piece_has_some(p, &p->bounds, &none)) return NULL;
  }
  return intern(s, p);
}

static bool left_room(struct tombola__store *s, size_t n) {
  struct tombola__numbers *const numbers = s->numbers;
  if (n <= numbers->left_room) return true;
  const size_t room = n < 64 ? 64 : n + n / 2;
  const struct tombola__decimal **const left =
      tombola__resize(&s->allocator, (void *)numbers->left, numbers->left_room, room, sizeof *left);
  if (!left) {
    tombola__store_fail(s, TOMBOLA_NO_MEMORY, NULL, "out of memory");
    return false;
  }
  numbers->left = left;
  const size_t more = room - numbers->left_room;
  numbers->left_room = room;
  return tombola__store_count(s, (ptrdiff_t)(more * sizeof *left));
}

const struct tombola__piece *tombola__piece_interval(struct tombola__store *s,
                                                     const struct tombola__bounds *bounds) {
  struct draft d = {.piece = {.bounds = *bounds}};
  return make(s, &d);
}

const struct tombola__piece *tombola__piece_multiple(struct tombola__store *s,
                                                     const struct tombola__modulus *m) {
  struct draft d = {.piece = {.bounds = {.lo = s->numbers->zero, .lo_open = true}, .has_m = true, .m = *m}};
  return make(s, &d);
}

/* ---- combining ---- */

static void narrow(struct tombola__bounds *b, const struct tombola__bounds *other) {
  const int low = tombola__magnitude_compare(b->lo, other->lo);
  if (low < 0 || (low == 0 && other->lo_open)) {
    b->lo = other->lo;
    b->lo_open = other->lo_open;
  }
  if (!other->hi) return;
  const int high = b->hi ? tombola__magnitude_compare(b->hi, other->hi) : 1;
  if (high > 0 || (high == 0 && other->hi_open)) {
    b->hi = other->hi;
    b->hi_open = other->hi_open;
  }
}

/* Both lists of what is left out, ascending, into the scratch memory. */
static bool merge_left(struct tombola__store *s, const struct tombola__piece *p,
                       const struct tombola__piece *q, size_t *n) {
  *n = 0;
  if (!left_room(s, p->n_left + q->n_left)) return false;
  for (size_t i = 0, j = 0; i < p->n_left || j < q->n_left;) {
    const int order = i == p->n_left   ? 1
                      : j == q->n_left ? -1
                                       : tombola__magnitude_compare(p->left[i], q->left[j]);
    s->numbers->left[(*n)++] = order <= 0 ? p->left[i] : q->left[j];
    i += order <= 0;
    j += order >= 0;
  }
  return true;
}

static bool apart(const struct tombola__bounds *a, const struct tombola__bounds *b) {
  return (a->hi && tombola__magnitude_compare(a->hi, b->lo) < 0) ||
         (b->hi && tombola__magnitude_compare(b->hi, a->lo) < 0);
}

const struct tombola__piece *tombola__piece_and(struct tombola__store *s, const struct tombola__piece *p,
                                                const struct tombola__piece *q) {
  if (p == q) return p;
  if (p->point) return tombola__piece_has(q, p->bounds.lo) ? p : NULL;
  if (q->point) return tombola__piece_has(p, q->bounds.lo) ? q : NULL;
  if (apart(&p->bounds, &q->bounds)) return NULL;
  struct draft d = {.piece = {.bounds = p->bounds, .has_m = p->has_m || q->has_m}};
  narrow(&d.piece.bounds, &q->bounds);
  if (d.piece.has_m) d.piece.m = p->has_m ? p->m : q->m;
  if (p->has_m && q->has_m && !multiply(s, &d.piece.m, &q->m)) return NULL;
  d.piece.n_nots = p->n_nots + q->n_nots;
  if (p->n_nots) memcpy(d.nots, p->nots, p->n_nots * sizeof *d.nots);
  if (q->n_nots) memcpy(d.nots + p->n_nots, q->nots, q->n_nots * sizeof *d.nots);
  return merge_left(s, p, q, &d.piece.n_left) ? make(s, &d) : NULL;
}

const struct tombola__piece *tombola__piece_without(struct tombola__store *s,
                                                    const struct tombola__piece *const *points, size_t n) {
  struct draft d = {.piece = {.bounds = {.lo = s->numbers->zero, .lo_open = true}, .n_left = n}};
  if (!left_room(s, n)) return NULL;
  for (size_t i = 0; i < n; i++)
    s->numbers->left[i] = points[i]->bounds.lo;
  return make(s, &d);
}

void tombola__piece_not(struct tombola__store *s, const struct tombola__piece *p,
                        struct tombola__pieces *out) {
  const struct tombola__bounds *const b = &p->bounds;
  const struct tombola__decimal *const zero = s->numbers->zero;
  tombola__pieces_add(s, out,
                      tombola__piece_interval(s, &(struct tombola__bounds){zero, b->lo, true, !b->lo_open}));
  if (b->hi)
    tombola__pieces_add(
        s, out, tombola__piece_interval(s, &(struct tombola__bounds){b->hi, NULL, !b->hi_open, false}));
  if (p->has_m) {
    struct draft d = {.piece = {.bounds = *b, .n_nots = 1}, .nots = {p->m}};
    tombola__pieces_add(s, out, make(s, &d));
  }
  for (size_t i = 0; i < p->n_nots; i++) { /* multiples of the i-th, and of none of those in front */
    struct draft d = {.piece = {.bounds = *b, .has_m = true, .m = p->nots[i], .n_nots = i}};
    memcpy(d.nots, p->nots, i * sizeof *d.nots);
    tombola__pieces_add(s, out, make(s, &d));
  }
  for (size_t i = 0; i < p->n_left; i++)
    tombola__pieces_add(
        s, out, tombola__piece_interval(s, &(struct tombola__bounds){p->left[i], p->left[i], false, false}));
}

bool tombola__piece_covers(const struct tombola__piece *p, const struct tombola__piece *q) {
  if (p == q) return true;
  if (q->point) return tombola__piece_has(p, q->bounds.lo);
  if (p->point || (p->has_m && !(q->has_m && tombola__modulus_divides(&p->m, &q->m)))) return false;
  struct tombola__bounds both = q->bounds;
  narrow(&both, &p->bounds);
  if (both.lo != q->bounds.lo || both.lo_open != q->bounds.lo_open || both.hi != q->bounds.hi ||
      both.hi_open != q->bounds.hi_open)
    return false;
  for (size_t i = 0; i < p->n_nots; i++) {
    bool has = false;
    for (size_t j = 0; j < q->n_nots && !has; j++)
      has = tombola__modulus_divides(&q->nots[j], &p->nots[i]);
    if (!has) return false;
  }
  for (size_t i = 0; i < p->n_left; i++)
    if (tombola__piece_has(q, p->left[i])) return false;
  return true;
}
