/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of numbers with exact decimal arithmetic, and JSON's texts of them: which beginnings of a text can still become
 * a number of the set. Every spelling counts (but see store->spelling): 1, 1.0, 10e-1, 1E0 are one
 * number.
 *
 * A set is a union of pieces; a piece is an interval, a list of numbers that its members are multiples of, a list of
 * those that they aren't, and a list of numbers left out. Interned, so that equal sets have one id where that is
 * cheap to see. */
#ifndef TOMBOLA_NUMBER_H
#define TOMBOLA_NUMBER_H

#include "constraint/store.h"

typedef uint32_t tombola__numset;

enum { TOMBOLA__NUMBERS_NONE = 0, TOMBOLA__NUMBERS_ALL = 1 };

/* sign * digits * 10^exponent, the digits without leading or trailing zeros ("" and exponent 0: zero). The exponent is
 * what the text says, cut at +-2^40: what is beyond behaves as at the cut. */
struct tombola__decimal {
  const char *digits; /* '0' to '9' */
  uint32_t length;
  bool negative;
  int64_t exponent;
};

struct tombola__numbers *tombola__numbers_new(struct tombola__store *store);
void tombola__numbers_free(struct tombola__numbers *numbers);

/* Reads a JSON number, whole; false when it isn't one. The digits may point into `text`, or into `buffer`, which has
 * room for `length` bytes. */
bool tombola__decimal_read(const char *text, size_t length, char *buffer, struct tombola__decimal *out);
int tombola__decimal_compare(const struct tombola__decimal *a, const struct tombola__decimal *b);

/* ---- making sets; NONE after a failure of the store. Numbers are copied. ---- */

/* Those from lo to hi; NULL: no bound; the flags leave the bound itself out. */
tombola__numset tombola__numbers_interval(struct tombola__store *s, const struct tombola__decimal *lo,
                                          bool lo_open, const struct tombola__decimal *hi, bool hi_open);
/* Multiples of m, which is greater than zero. */
tombola__numset tombola__numbers_multiple(struct tombola__store *s, const struct tombola__decimal *m);
tombola__numset tombola__numbers_integers(struct tombola__store *s); /* multiples of 1 */
tombola__numset tombola__numbers_and(struct tombola__store *s, tombola__numset a, tombola__numset b);
tombola__numset tombola__numbers_or(struct tombola__store *s, tombola__numset a, tombola__numset b);
tombola__numset tombola__numbers_not(struct tombola__store *s, tombola__numset a);

/* Those that have a plain text (enum tombola_spelling) of at most PLAIN_DIGITS digits on each side of the point. */
enum { TOMBOLA__PLAIN_DIGITS = 64 };
tombola__numset tombola__numbers_plain(struct tombola__store *s);

/* ---- asking ---- */

bool tombola__numbers_is_none(struct tombola__store *s, tombola__numset a);

/* How many numbers are in it, at most `most`. */
uint64_t tombola__numbers_count(struct tombola__store *s, tombola__numset a, uint64_t most);

bool tombola__numbers_has(struct tombola__store *s, tombola__numset a, const struct tombola__decimal *x);

/* What a text is to a set, without the numbers of `excluded` (values that may not come again). `text` is the beginning
 * of a number's text, not empty: CAN_GO_ON when some text that begins with it and is longer is a number of the set, IS
 * when it is one itself; 0 when it is neither, also when it isn't the beginning of a JSON number at all. Of plain texts
 * alone, where the store says so. */
enum { TOMBOLA__NUMBER_CAN_GO_ON = 1, TOMBOLA__NUMBER_IS = 2 };
unsigned tombola__number_scan(struct tombola__store *s, tombola__numset a, const char *text, size_t length,
                              const struct tombola__decimal *excluded, size_t n_excluded);

/* Digits that may follow a text, without reading them. */
struct tombola__digits {
  uint32_t free;   /* any up to so many, each of which can go on; UINT32_MAX: no bound */
  bool only_zeros; /* and behind so many no other one but 0 */
  bool none;       /* and behind so many none */
};
/* `text` as with tombola__number_scan(), which says CAN_GO_ON; `excluding`: some values may not come again. Not all that
 * could be known is found. */
struct tombola__digits tombola__number_digits(struct tombola__store *s, tombola__numset a, const char *text,
                                              size_t length, bool excluding);

/* ---- values as such ---- */

/* The canonical text of a JSON value (UTF-8, well-formed JSON, no duplicate keys): no white space, keys ascending by
 * bytes, strings with the fewest escapes, numbers as [-]digits[e exponent] without leading or trailing zeros: two
 * values are equal in JSON Schema's sense exactly when their canonical texts are. In the store's memory; NULL after a
 * failure, or when the text isn't JSON. */
const char *tombola__canonical(struct tombola__store *s, const char *json, size_t length,
                               size_t *canonical_length);

/* The same in memory that `take` gives (NULL: a failure of the store). */
typedef void *(*tombola__take_fn)(void *context, size_t size);
const char *tombola__canonical_in(struct tombola__store *s, tombola__take_fn take, void *context,
                                  const char *json, size_t length, size_t *canonical_length);

#endif
