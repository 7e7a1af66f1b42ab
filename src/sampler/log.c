/* SPDX-License-Identifier: Apache-2.0 */
/* A logarithm that is the same on every machine: libm's may differ in the last bit, and a threshold that
 * differs by one bit can choose another token. Only operations that IEEE 754 rounds correctly are used. */
#include <math.h>

#include "internal.h"

/* x = m * 2^e with m in [sqrt(1/2), sqrt(2)), ln m = 2 atanh(s) with s = (m - 1) / (m + 1), |s| < 0.1716: the
 * series s^(2k+1) / (2k+1) is below 1e-17 of its first term after eleven terms (0.1716^22 / 23 = 6e-19). */
double tombola__log(double x) {
  int exponent;
  double m = frexp(x, &exponent); /* exact */
  if (m < 0.70710678118654752) {
    m *= 2;
    exponent--;
  }
  double s = (m - 1) / (m + 1);
  double square = s * s;
  double sum = 0;
  for (int k = 10; k >= 0; k--)
    sum = sum * square + 1.0 / (2 * k + 1);
  /* ln 2 in two parts, the first with 21 trailing zero bits so that its product with the exponent is exact.
   */
  double high = 0x1.62e42feep-1, low = 0x1.a39ef35793c76p-33;
  return exponent * high + (2 * s * sum + exponent * low);
}
