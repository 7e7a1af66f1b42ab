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

/* Blocks [first, last) of a row with their maxima. Only values >= low count (low >= -FLT_MAX); the others,
 * and -inf with them, are as if they weren't there. */
struct tombola__part {
  const struct tombola_row *row;
  const uint32_t *mask;
  const float *maxima;
  size_t first, last;
  float low;
};

/* How many values, the sum of their distances from an origin and of the squares of those. */
struct tombola__moments {
  size_t count;
  double sum, squares;
};

struct tombola__kernels {
  const char *name; /* "scalar", "avx2" */

  /* maxima[b] = the largest allowed value of block b, for every block (-inf when there is none; never -0,
   * so that the order of the values doesn't show). Returns 1 when an allowed value is NaN (the maxima then
   * mean nothing), else 0. +inf simply is a maximum. */
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

  /* block_expsum of a part: sums[b] for b in [first, last), nothing else is written. Blocks whose maximum is
   * below low have the sum 0. */
  void (*part_expsum)(const struct tombola__part *part, float max, float scale, float *sums);

  /* expsum64 with y = (x - max) * scale held, and *spread = the sum of weight * y by the same tree, where a
   * weight of 0 adds 0. entropy64 doesn't write the weights. part_entropy writes the same sums as part_expsum
   * and returns the sum of the blocks' spreads, in doubles, in order. With Z the sum of all weights the
   * entropy is ln Z - spread / Z. */
  float (*entropy64)(const float *x, float max, float scale, float *spread);
  double (*part_entropy)(const struct tombola__part *part, float max, float scale, float *sums);

  /* Adds to *moments what 64 values (-inf where there is none), or those of a part, have. Within a block
   * d = x - origin is added up in eight lanes of floats, and d * d by fused multiply-add; the lanes are added up
   * over a part's blocks in doubles and in the end by the tree of block_expsum. */
  void (*moments64)(const float *x, float origin, struct tombola__moments *moments);
  void (*part_moments)(const struct tombola__part *part, float origin, struct tombola__moments *moments);

  /* Loads block b as 64 floats, -inf where masked out or past the end. */
  void (*load64)(const struct tombola_row *row, const uint32_t *mask, size_t block, float *out);

  /* Appends (id, value) of every allowed value v with low <= v < high, ids ascending, from blocks [first,
   * last) whose maximum reaches low; stops after the first block with which out->count reaches `limit`.
   * `entries` has room for 64 more than `limit`, and what lies behind the last one counted may be
   * overwritten. out->count counts what was there before, too. Values keep their bits, those of -0 too. With
   * low = -inf an allowed -inf is a value like others: -FLT_MAX leaves the banned tokens out. */
  void (*gather)(const struct tombola_row *row, const uint32_t *mask, const float *maxima, size_t first,
                 size_t last, float low, float high, size_t limit, struct tombola__entry *entries,
                 struct tombola__gather *out);

  /* Of n floats, none of them NaN: how many are >= threshold; the largest (-inf when n is 0, never -0). */
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
