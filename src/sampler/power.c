/* SPDX-License-Identifier: Apache-2.0 */
/* Powers that are the same on every machine, for the same reason as the logarithm in log.c: only operations
 * that IEEE 754 rounds correctly are used. */
#include <math.h>

#include "internal.h"

/* exp(x) = 2^n * exp(r) with |r| <= ln(2) / 2 = 0.347: the series' fifteenth term is below 4e-18. ln 2 is in
 * the two parts of log.c, so that n * high is exact. */
static double exponential(double x) {
  if (x > 709.78) return HUGE_VAL;
  if (x < -745.13) return 0;
  double n = floor(x * 1.4426950408889634 + 0.5);
  double r = (x - n * 0x1.62e42feep-1) - n * 0x1.a39ef35793c76p-33;
  double sum = 1;
  for (int k = 14; k > 0; k--)
    sum = sum * r / k + 1;
  return ldexp(sum, (int)n);
}

double tombola__power(double x, double y) {
  return x > 0 ? exponential(y * tombola__log(x)) : 0;
}
