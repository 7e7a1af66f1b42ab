/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic over a row, in blocks of 64. scalar.c is the specification: every other instruction set gives
 * the same bits (same operations, same order: eight lanes, element i in lane i mod 8, one fixed tree at the
 * end).
 *
 * A block's index is id / 64; the last one may be short, and what is missing there counts as -inf. `mask` may
 * be NULL; a token whose bit is 0 counts as -inf, whatever the row holds. Rows may be of any dtype and
 * alignment to their element size; nothing is read beyond row->count elements or beyond (row->count + 31) /
 * 32 mask words. */
#ifndef TOMBOLA_KERNELS_H
#define TOMBOLA_KERNELS_H

#include <stdint.h>
#include <tombola/sampler.h>

#define TOMBOLA__BLOCK 64

/* A candidate of the short list: 8 bytes. */
struct tombola__entry {
  float logit;
  tombola_token id;
};

/* Where a gather stands: entries written, and the block to go on with. */
struct tombola__gather {
  size_t count;
  size_t next_block;
};

struct tombola__kernels {
  const char *name; /* "scalar", "avx2" */

  /* maxima[b] = the largest allowed value of block b, for every block (-inf when there is none). Returns 1
   * when an allowed value is NaN (the maxima then mean nothing), else 0. +inf simply is a maximum. */
  int (*block_max)(const struct tombola_row *row, const uint32_t *mask, float *maxima);

  /* sums[b] = sum over block b's allowed values of exp((x - max) * scale), for every block; blocks whose
   * maximum gives exactly 0 are skipped (their sum is 0). max is finite and >= every maxima[b]; scale > 0 and
   * finite. Within a block: eight lanes, eight additions each, then ((0+4)+(2+6)) + ((1+5)+(3+7)). */
  void (*block_expsum)(const struct tombola_row *row, const uint32_t *mask, const float *maxima, float max,
                       float scale, float *sums);

  /* The same for one block of loaded values: weights[i] = exp((x[i] - max) * scale) for i < 64 (x is 64
   * floats, -inf where there is no token: weight exactly 0); returns the block's sum by the same tree. x may
   * equal weights. */
  float (*expsum64)(const float *x, float max, float scale, float *weights);

  /* Loads block b as 64 floats, -inf where masked out or past the end. */
  void (*load64)(const struct tombola_row *row, const uint32_t *mask, size_t block, float *out);

  /* Appends (id, value) of every allowed value v with low <= v < high, ids ascending, from blocks [first,
   * last) whose maximum reaches low; stops after the first block with which out->count reaches `limit`.
   * `entries` has room for 64 more than `limit`. */
  void (*gather)(const struct tombola_row *row, const uint32_t *mask, const float *maxima, size_t first,
                 size_t last, float low, float high, size_t limit, struct tombola__entry *entries,
                 struct tombola__gather *out);

  /* Of n floats, none of them NaN: how many are >= threshold; the largest (-inf when n is 0). */
  size_t (*count_at_least)(const float *values, size_t n, float threshold);
  float (*max)(const float *values, size_t n);
};

/* The table for this machine, capped by TOMBOLA_CPU; chosen once and kept. NULL, with the error filled in,
 * when TOMBOLA_CPU names a set that is unknown or that the machine doesn't have. Thread-safe. */
const struct tombola__kernels *tombola__kernels(struct tombola_error *error);

/* By name, for tests: NULL when unknown or not on this machine. */
const struct tombola__kernels *tombola__kernels_find(const char *name);

/* The pinned exponential: exp(x) for x <= 0 in f32, within 1 ulp; exactly 0 below -87.33 (and for -inf),
 * exactly 1 at 0. The kernels use the same operations. */
float tombola__exp(float x);

/* Conversions that the scalar path and the tests share. */
float tombola__f16_to_f32(uint16_t half);
float tombola__bf16_to_f32(uint16_t bits);

#endif
