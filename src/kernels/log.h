/* SPDX-License-Identifier: Apache-2.0 */
/* The pinned logarithm in f32, and Gumbel noise made with it. Only operations that IEEE 754 rounds correctly,
 * and no fused ones, so that plain C gives the same bits on every machine and a compiler may vectorise it. */
#ifndef TOMBOLA_KERNELS_LOG_H
#define TOMBOLA_KERNELS_LOG_H

/* ln x within 1 ulp; -inf at 0, +inf at +inf. Subnormal, negative and NaN x mean nothing. */
float tombola__logf(float x);

/* gumbel[i] = -ln(-ln uniforms[i]) for 64 uniforms in [0, 1), each 0 or at least 2^-126. The arrays may be
 * the same. */
void tombola__gumbel64(const float *uniforms, float *gumbel);

/* No uniform below 1 gives more: -ln(-ln(1 - 2^-24)) is 16.6355. */
#define TOMBOLA__GUMBEL_MAX 16.64f

#endif
