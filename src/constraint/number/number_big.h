/* SPDX-License-Identifier: Apache-2.0 */
/* Natural numbers beyond 64 bits, as far as divisibility of decimals takes them. Of a fixed size, so that they can be on
 * the stack: room for the product of two numbers of MOST_LIMBS limbs. */
#ifndef TOMBOLA_NUMBER_BIG_H
#define TOMBOLA_NUMBER_BIG_H

#include "base/base.h"

enum {
  TOMBOLA__BIG_DIGITS = 4096, /* of a modulus */
  TOMBOLA__BIG_LIMBS = 426,   /* 2^(32 * 426) > 10^4096 */
  TOMBOLA__BIG_ROOM = 2 * TOMBOLA__BIG_LIMBS + 8
};

struct tombola__big {
  uint32_t n;                       /* limbs: the highest isn't 0; of zero there is none */
  uint32_t limb[TOMBOLA__BIG_ROOM]; /* the lowest first */
};

void tombola__big_of(struct tombola__big *out, uint64_t value);
/* Decimal digits, at most as many as a modulus has. */
void tombola__big_read(struct tombola__big *out, const char *digits, size_t n);
void tombola__big_copy(struct tombola__big *out, const struct tombola__big *a);

int tombola__big_compare(const struct tombola__big *a, const struct tombola__big *b);
/* False when it doesn't fit. */
bool tombola__big_value(const struct tombola__big *a, uint64_t *value);
/* How often 2 divides a number that isn't 0. */
uint32_t tombola__big_twos(const struct tombola__big *a);

/* a * factor + more, which isn't below 0; more is less than 2^32 in size. */
void tombola__big_scale(struct tombola__big *a, uint32_t factor, int64_t more);
void tombola__big_add(struct tombola__big *a, const struct tombola__big *b);
/* b is at most a. */
void tombola__big_subtract(struct tombola__big *a, const struct tombola__big *b);
/* `out` is neither of them. */
void tombola__big_times(struct tombola__big *out, const struct tombola__big *a, const struct tombola__big *b);

/* b isn't 0. `quotient` may be NULL; `rest` may be a, and neither may be b. */
void tombola__big_divide(const struct tombola__big *a, const struct tombola__big *b,
                         struct tombola__big *quotient, struct tombola__big *rest);
/* a / divisor; the remainder. */
uint32_t tombola__big_shrink(struct tombola__big *a, uint32_t divisor);
/* Takes out 2 or 5 as often as it divides a, which isn't 0, but at most `most` times: how often. */
uint32_t tombola__big_take_out(struct tombola__big *a, uint32_t prime, uint32_t most);
void tombola__big_gcd(struct tombola__big *out, const struct tombola__big *a, const struct tombola__big *b);

/* Decimal digits modulo m, any number of them. */
void tombola__big_digits_mod(struct tombola__big *out, const char *digits, uint64_t n,
                             const struct tombola__big *m);
/* 10^power modulo m. */
void tombola__big_ten_mod(struct tombola__big *out, int64_t power, const struct tombola__big *m);

#endif
