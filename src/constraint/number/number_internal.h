/* SPDX-License-Identifier: Apache-2.0 */
/* What the files about numbers share: how a text is read, divisibility, pieces of sets.
 *
 * Zero stands apart, and both signs are kept by magnitude, so that a piece is about numbers greater than zero. Those
 * that are multiples of m in a bounded interval are finitely many and are counted exactly; all other pieces that are
 * no single point have infinitely many numbers. */
#ifndef TOMBOLA_NUMBER_INTERNAL_H
#define TOMBOLA_NUMBER_INTERNAL_H

#include "constraint/number/number.h"
#include "constraint/number/number_big.h"

#define TOMBOLA__MOST_EXPONENT ((int64_t)1 << 40)
#define TOMBOLA__EXPONENTS     ((int64_t)1 << 60) /* beyond every exponent that occurs: no bound */
#define TOMBOLA__MOST_NOTS     10                 /* non-multiples of one piece: 2^n terms are counted */
#define TOMBOLA__MOST_PIECES   4096

/* ---- decimal.c ---- */

enum tombola__number_phase {
  TOMBOLA__AT_MINUS,
  TOMBOLA__AT_ZERO, /* "0" or "-0" */
  TOMBOLA__AT_INTEGER,
  TOMBOLA__AT_POINT,
  TOMBOLA__AT_FRACTION,
  TOMBOLA__AT_E,
  TOMBOLA__AT_E_SIGN,
  TOMBOLA__AT_EXPONENT
};

/* The beginning of a JSON number. */
struct tombola__reading {
  enum tombola__number_phase phase;
  bool negative, exponent_negative;
  const char *digits; /* from the first one that isn't 0 to the last that is written, without the point */
  uint32_t n;
  uint64_t value;   /* of the digits, when they are at most 19 */
  int64_t fraction; /* digits behind the point */
  int64_t exponent; /* its magnitude, cut */
};

/* False when it is no beginning of a number. The digits point into `text` or `buffer` (`length` bytes). */
bool tombola__number_parse(const char *text, size_t length, char *buffer, struct tombola__reading *out);
bool tombola__number_is_whole(const struct tombola__reading *r);
/* Without trailing zeros. For a text that ends in front of its exponent, the significand. */
struct tombola__decimal tombola__number_value(const struct tombola__reading *r);

/* The number is 0.digits * 10^point; zero's is below all others. */
static inline int64_t tombola__point(const struct tombola__decimal *d) {
  return d->length ? (int64_t)d->length + d->exponent : -2 * TOMBOLA__EXPONENTS;
}

/* Digit strings as fractions: 0.a against 0.b; no trailing zeros. */
int tombola__digits_compare(const char *a, uint32_t n_a, const char *b, uint32_t n_b);
/* Without the signs. */
int tombola__magnitude_compare(const struct tombola__decimal *a, const struct tombola__decimal *b);
bool tombola__magnitude_equal(const struct tombola__decimal *a, const struct tombola__decimal *b);

/* Digits as a number; false when it doesn't fit. */
bool tombola__digits_value(const char *digits, uint32_t n, uint64_t *value);
/* floor(d / 10^e); false when it doesn't fit. */
bool tombola__units(const struct tombola__decimal *d, int64_t e, uint64_t *units, bool *exact);
/* units * 10^e; `buffer` has 20 bytes. */
struct tombola__decimal tombola__of_units(uint64_t units, int64_t e, char *buffer);

/* ---- number_modulus.c ---- */

/* c and d of a modulus that needs more than 64 bits. */
struct tombola__big_modulus {
  struct tombola__big c, d;
};

/* 2^a * 5^b * c, c odd and no multiple of 5; the same as d * 10^e, d no multiple of 10. */
struct tombola__modulus {
  int64_t a, b, e;
  uint64_t c, d;                          /* below 2^63; 0 where `big` has them */
  const struct tombola__big_modulus *big; /* d is at least 2^63 */
};

/* The result may be in `room`, which may be what x or y have, and is as good as that is. False: too many digits. */
bool tombola__modulus_of(const struct tombola__decimal *m, struct tombola__big_modulus *room,
                         struct tombola__modulus *out);
bool tombola__modulus_lcm(const struct tombola__modulus *x, const struct tombola__modulus *y,
                          struct tombola__big_modulus *room, struct tombola__modulus *out);
/* As good as the store, and equal ones have one `big`. False after a failure. */
bool tombola__modulus_keep(struct tombola__store *s, struct tombola__modulus *m);
bool tombola__modulus_divides(const struct tombola__modulus *x, const struct tombola__modulus *y);
/* Some order; 0 when they are equal. */
int tombola__modulus_order(const struct tombola__modulus *x, const struct tombola__modulus *y);

/* digits * 10^t is a multiple exactly when t is at least the result (EXPONENTS: never). x->exponent isn't looked at. */
int64_t tombola__modulus_from(const struct tombola__modulus *m, const struct tombola__decimal *x);

struct tombola__bounds {
  const struct tombola__decimal *lo, *hi;
  bool lo_open, hi_open;
};

/* How many multiples are within bounds, lo at least 0; cut at UINT64_MAX. */
uint64_t tombola__multiples_within(const struct tombola__modulus *m, const struct tombola__bounds *bounds);

/* ---- number_piece.c ---- */

struct tombola__piece {
  struct tombola__bounds bounds; /* lo: zero and open where there is none; hi: NULL for none */
  bool point;                    /* lo alone */
  bool has_m;                    /* only multiples of m */
  bool small; /* has_m, and all of them are u * 10^m.e for multiples u of m.d from lo_units to hi_units */
  uint32_t id;
  struct tombola__modulus m;
  uint64_t lo_units, hi_units;
  const struct tombola__modulus *nots; /* multiples of m that its numbers aren't multiples of */
  size_t n_nots;
  const struct tombola__decimal *const *left; /* numbers left out, each of which would be in it otherwise */
  size_t n_left;
};

/* Values that may not come again, of one sign. */
struct tombola__excluded {
  const struct tombola__decimal *values;
  size_t n;
  bool negative;
};

struct tombola__pieces {
  const struct tombola__piece **items;
  size_t n, room;
};

bool tombola__piece_has(const struct tombola__piece *p, const struct tombola__decimal *x);
bool tombola__within(const struct tombola__bounds *bounds, const struct tombola__decimal *x);
bool tombola__is_excluded(const struct tombola__excluded *excluded, const struct tombola__decimal *x);

/* How many numbers of a piece are within `bounds`, which are inside those of the piece, and not excluded; UINT64_MAX:
 * infinitely many. *at_least: there may be more. */
uint64_t tombola__piece_count(const struct tombola__piece *p, const struct tombola__bounds *bounds,
                              const struct tombola__excluded *excluded, bool *at_least);
/* Whether that is more than 0. */
bool tombola__piece_has_some(const struct tombola__piece *p, const struct tombola__bounds *bounds,
                             const struct tombola__excluded *excluded);
/* Infinitely many numbers. */
static inline bool tombola__piece_is_endless(const struct tombola__piece *p) {
  return !p->bounds.hi || (!p->has_m && !p->point);
}

/* Pieces are interned; NULL: nothing, or a failure. */
const struct tombola__piece *tombola__piece_interval(struct tombola__store *s,
                                                     const struct tombola__bounds *bounds);
const struct tombola__piece *tombola__piece_multiple(struct tombola__store *s,
                                                     const struct tombola__modulus *m);
const struct tombola__piece *tombola__piece_and(struct tombola__store *s, const struct tombola__piece *p,
                                                const struct tombola__piece *q);
/* All magnitudes but those of n points. */
const struct tombola__piece *tombola__piece_without(struct tombola__store *s,
                                                    const struct tombola__piece *const *points, size_t n);
/* Everything else, as pieces that don't overlap. */
void tombola__piece_not(struct tombola__store *s, const struct tombola__piece *p,
                        struct tombola__pieces *out);
/* q's numbers are p's too, as far as that is cheap to see. */
bool tombola__piece_covers(const struct tombola__piece *p, const struct tombola__piece *q);

void tombola__pieces_add(struct tombola__store *s, struct tombola__pieces *list,
                         const struct tombola__piece *p);
void tombola__pieces_free(struct tombola__store *s, struct tombola__pieces *list);

/* ---- number.c ---- */

struct tombola__table {
  const void **items;
  uint64_t *hashes;
  uint32_t *slots; /* a power of two of them: index + 1, or 0 */
  uint32_t n, room;
};

/* The item that `same` finds equal to `key`, or NULL. */
typedef bool (*tombola__same_fn)(const void *item, const void *key);
const void *tombola__table_find(const struct tombola__table *table, uint64_t hash, tombola__same_fn same,
                                const void *key, uint32_t *index);
bool tombola__table_add(struct tombola__store *s, struct tombola__table *table, uint64_t hash,
                        const void *item);

/* The pieces of one sign: single numbers, so that they are found quickly, and the others. */
struct tombola__points {
  bool made;
  const struct tombola__decimal **at; /* by digits, those of the same digits by exponent */
  const uint64_t *keys;               /* their first digits */
  const struct tombola__piece **others;
  uint32_t n, n_others;
};

struct tombola__number_set {
  bool zero;
  bool endless[2]; /* without an upper bound on the magnitude: positive, negative */
  const struct tombola__piece *const *pieces[2]; /* positive, negative; ascending by lo */
  uint32_t n[2];
  uint32_t id;
  struct tombola__points *points; /* two; see tombola__points() */
};

struct tombola__number_memo {
  uint64_t key;
  tombola__numset result;
};

#define TOMBOLA__NUMBER_MEMOS 256

struct tombola__numbers {
  struct tombola_allocator allocator;
  struct tombola__table decimals, moduli, pieces, sets;
  const struct tombola__decimal *zero;
  const struct tombola__decimal **left; /* scratch */
  size_t left_room;
  tombola__numset plain; /* see tombola__numbers_plain(); 0: not made */
  struct tombola__number_memo memos[TOMBOLA__NUMBER_MEMOS];
};

/* The one decimal of this magnitude. */
const struct tombola__decimal *tombola__decimal_keep(struct tombola__store *s,
                                                     const struct tombola__decimal *d);
static inline const struct tombola__number_set *tombola__number_set(const struct tombola__store *s,
                                                                    tombola__numset a) {
  return s->numbers->sets.items[a];
}

/* ---- number_plain.c ---- */

/* The beginning of a text. */
struct tombola__plain_text {
  const struct tombola__reading *reading;
  struct tombola__excluded excluded;
  bool zero;  /* is in the set, and not excluded */
  char last;  /* byte of the text */
  char *room; /* a byte for each digit */
};
/* As tombola__number_scan(), of plain texts. */
unsigned tombola__number_scan_plain(struct tombola__store *s, tombola__numset a,
                                    const struct tombola__plain_text *text);

/* ---- number_points.c ---- */

/* What the pieces of a sign are, made when it is first asked for; empty after a failure. */
const struct tombola__points *tombola__points(struct tombola__store *s, const struct tombola__number_set *set,
                                              bool negative);

/* Points from `first` on, up to `last`. */
struct tombola__point_range {
  uint32_t first, last;
};
/* Those whose digits begin with these, or are these. */
struct tombola__point_range tombola__points_begin(const struct tombola__points *points, const char *digits,
                                                  uint32_t n, bool whole);
/* The first of a range, all of the same digits, whose exponent is at least this one; else range.last. */
uint32_t tombola__points_from(const struct tombola__points *points, struct tombola__point_range range,
                              int64_t exponent);

#endif
