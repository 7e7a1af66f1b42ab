/* SPDX-License-Identifier: Apache-2.0 */
/* Floats compared by their bits and by units in the last place. */
#ifndef SUPPORT_COMPARE_H
#define SUPPORT_COMPARE_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t support_bits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static inline float support_from_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* Steps from one float to the other along the number line; 0 for -0 and +0, INT64_MAX when one is NaN. */
static inline int64_t support_ulps(float a, float b) {
  if (isnan(a) || isnan(b)) return INT64_MAX;
  int64_t ia = (int64_t)(support_bits(a) & 0x7FFFFFFFu), ib = (int64_t)(support_bits(b) & 0x7FFFFFFFu);
  if (signbit(a)) ia = -ia;
  if (signbit(b)) ib = -ib;
  return ia > ib ? ia - ib : ib - ia;
}

/* The error of `got` against the exact value, in units of the last place of a float near the exact value. */
static inline double support_ulp_error(float got, long double exact) {
  int exponent;
  frexpl(exact, &exponent);
  long double ulp = ldexpl(1.0L, exponent - 24 < -149 ? -149 : exponent - 24);
  return (double)(fabsl((long double)got - exact) / ulp);
}

/* The same bits, so that -0 isn't +0 and NaNs can be compared. */
#define assert_same_bits(a, b) assert_int_equal(support_bits(a), support_bits(b))

#define assert_close(a, b, ulps) assert_true(support_ulps((a), (b)) <= (int64_t)(ulps))

#endif
