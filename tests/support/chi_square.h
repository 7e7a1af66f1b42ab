/* SPDX-License-Identifier: Apache-2.0 */
/* Pearson's chi-square test. Its p-value is the regularised upper incomplete gamma function Q(df/2, x/2), by
 * the series for P below a + 1 and the continued fraction for Q above (DLMF 8.11.4 and 8.9.2). */
#ifndef SUPPORT_CHI_SQUARE_H
#define SUPPORT_CHI_SQUARE_H

#include <math.h>
#include <stddef.h>

static inline double support_gamma_q_series(double a, double x) {
  double term = 1.0 / a, sum = term;
  for (int n = 1; n < 100000 && term > sum * 1e-16; n++) {
    term *= x / (a + n);
    sum += term;
  }
  return 1.0 - sum * exp(a * log(x) - x - lgamma(a));
}

/* Lentz's evaluation of 1/(x+1-a- 1(1-a)/(x+3-a- 2(2-a)/(x+5-a- ...))). */
static inline double support_gamma_q_fraction(double a, double x) {
  const double tiny = 1e-300;
  double b = x + 1.0 - a, c = 1.0 / tiny, d = 1.0 / b, h = d;
  for (int n = 1; n < 100000; n++) {
    double numerator = -n * (n - a);
    b += 2.0;
    d = numerator * d + b;
    if (fabs(d) < tiny) d = tiny;
    c = b + numerator / c;
    if (fabs(c) < tiny) c = tiny;
    d = 1.0 / d;
    h *= c * d;
    if (fabs(c * d - 1.0) < 1e-15) break;
  }
  return h * exp(a * log(x) - x - lgamma(a));
}

/* Q(a, x) = Gamma(a, x) / Gamma(a), for a > 0. */
static inline double support_gamma_q(double a, double x) {
  if (x <= 0.0) return 1.0;
  return x < a + 1.0 ? support_gamma_q_series(a, x) : support_gamma_q_fraction(a, x);
}

/* The probability that draws from `expected` fit as badly as `observed` does, or worse. `observed` has n
 * counts that sum to `draws`, `expected` n probabilities that sum to 1. Classes with fewer than 5 expected
 * draws are pooled; a draw of an impossible class gives 0. */
static inline double support_chi_square(const size_t *observed, const double *expected, size_t n,
                                        size_t draws) {
  double statistic = 0.0, pooled_expected = 0.0, pooled_observed = 0.0;
  size_t classes = 0;
  for (size_t i = 0; i < n; i++) {
    double want = expected[i] * (double)draws, got = (double)observed[i];
    if (want <= 0.0 && got > 0.0) return 0.0;
    if (want < 5.0) {
      pooled_expected += want;
      pooled_observed += got;
      continue;
    }
    statistic += (got - want) * (got - want) / want;
    classes++;
  }
  if (pooled_expected > 0.0) {
    double off = pooled_observed - pooled_expected;
    statistic += off * off / pooled_expected;
    classes++;
  }
  if (classes < 2) return 1.0;
  return support_gamma_q((double)(classes - 1) / 2.0, statistic / 2.0);
}

#endif
