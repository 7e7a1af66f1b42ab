/* SPDX-License-Identifier: Apache-2.0 */
/* The pinned exponential's constants and shape, once for every instruction set.
 *
 * exp(x) = 2^n * exp(r), with n = round(x / ln 2) and r = x - n * ln 2 in [-0.3466, 0.3466] (Cody and Waite, 1980).
 *
 * n:   x / ln 2 plus 1.5 * 2^23 leaves the integer in the sum's low bits, rounded to nearest even.
 * r:   ln 2 = HIGH + LOW; HIGH has nine bits, so that n * HIGH and x - n * HIGH are exact, and only the step with LOW
 *      rounds.
 * p:   exp(r) = 1 + r * (1 + r * (c2 + r * (c3 + ... c6))), each step one fused multiply-add. The c's minimise the
 *      largest relative error of the polynomial over |r| <= ln 2 / 2, which is 3.8e-9 after their rounding to f32.
 *      They come from scripts/exp-coefficients.
 * 2^n: is added to the exponent of p. For x >= CUT the result is a normal number, so nothing is rounded.
 *
 * Below CUT, and for NaN, the result is +0. Positive x up to 88 work too, but nothing uses them. The error is below
 * 1 ulp (tests/unit/test_exp.c measures it). */
#ifndef TOMBOLA_KERNELS_EXP_H
#define TOMBOLA_KERNELS_EXP_H

#define EXP_CUT      (-87.33f)
#define EXP_LOG2E    0x1.715476p+0f
#define EXP_MAGIC    0x1.8p+23f
#define EXP_LN2_HIGH 0x1.63p-1f
#define EXP_LN2_LOW  (-0x1.bd0106p-13f)
#define EXP_C2       0x1.fffffcp-2f
#define EXP_C3       0x1.555492p-3f
#define EXP_C4       0x1.5558f2p-5f
#define EXP_C5       0x1.1239e2p-7f
#define EXP_C6       0x1.6a2434p-10f

#endif
