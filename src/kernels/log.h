/* SPDX-License-Identifier: Apache-2.0 */
/* The pinned logarithm in f32, which Gumbel noise is made with. Only operations that IEEE 754 rounds correctly, and
 * no fused ones, so that plain C gives the same bits on every machine. */
#ifndef TOMBOLA_KERNELS_LOG_H
#define TOMBOLA_KERNELS_LOG_H

/* ln x within 1 ulp; -inf at 0, +inf at +inf. Subnormal, negative and NaN x mean nothing. */
float tombola__logf(float x);

/* No uniform below 1 has more noise: -ln(-ln(1 - 2^-24)) is 16.6355. */
#define TOMBOLA__GUMBEL_MAX 16.64f

#endif
