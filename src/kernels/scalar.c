/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels in plain C: the specification that every other instruction set must match bit for bit. Each one loads a
 * block of 64 values, so that a dtype, a mask and a row's end are dealt with in one place, load64. */
#include "scalar.h"

#include "exp.h"

#include <math.h>
#include <string.h>

#if defined(__FAST_MATH__)
#error "tombola's arithmetic is pinned: compile it without -ffast-math"
#endif

static uint32_t bits_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static float float_of(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* ---- conversions ---- */

/* As F16C converts: exact, and a signalling NaN becomes quiet. */
float tombola__f16_to_f32(uint16_t half) {
  uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
  uint32_t exponent = (half >> 10) & 0x1Fu, fraction = half & 0x3FFu;
  if (exponent == 0x1F) return float_of(sign | 0x7F800000u | (fraction ? 0x400000u | fraction << 13 : 0));
  if (exponent != 0) return float_of(sign | (exponent + 112) << 23 | fraction << 13);
  float magnitude = (float)fraction * 0x1p-24f; /* zero or subnormal; exact */
  return float_of(sign | bits_of(magnitude));
}

float tombola__bf16_to_f32(uint16_t bits) { return float_of((uint32_t)bits << 16); }

/* ---- the exponential ---- */

float tombola__exp(float x) {
  if (!(x >= EXP_CUT)) return 0.0f;
  float shifted = fmaf(x, EXP_LOG2E, EXP_MAGIC);
  float n = shifted - EXP_MAGIC;
  float r = fmaf(n, -EXP_LN2_LOW, fmaf(n, -EXP_LN2_HIGH, x));
  float p = fmaf(EXP_C6, r, EXP_C5);
  p = fmaf(p, r, EXP_C4);
  p = fmaf(p, r, EXP_C3);
  p = fmaf(p, r, EXP_C2);
  p = fmaf(p, r, 1.0f);
  p = fmaf(p, r, 1.0f);
  return float_of(bits_of(p) + (bits_of(shifted) << 23));
}

/* ---- blocks ---- */

uint64_t tombola__allowed64(size_t count, const uint32_t *mask, size_t block) {
  size_t left = count - block * TOMBOLA__BLOCK;
  uint64_t bits = left >= TOMBOLA__BLOCK ? UINT64_MAX : (UINT64_C(1) << left) - 1;
  if (!mask) return bits;
  uint64_t words = mask[2 * block];
  if (left > 32) words |= (uint64_t)mask[2 * block + 1] << 32;
  return bits & words;
}

void tombola__scalar_load64(const struct tombola_row *row, const uint32_t *mask, size_t block, float *out) {
  size_t first = block * TOMBOLA__BLOCK;
  size_t left = row->count - first;
  size_t n = left < TOMBOLA__BLOCK ? left : TOMBOLA__BLOCK;
  if (row->dtype == TOMBOLA_F32) {
    memcpy(out, (const float *)row->data + first, n * sizeof(float));
  } else {
    const uint16_t *values = (const uint16_t *)row->data + first;
    for (size_t i = 0; i < n; i++)
      out[i] = row->dtype == TOMBOLA_F16 ? tombola__f16_to_f32(values[i]) : tombola__bf16_to_f32(values[i]);
  }
  uint64_t allowed = tombola__allowed64(row->count, mask, block);
  if (allowed == UINT64_MAX) return;
  for (size_t i = 0; i < TOMBOLA__BLOCK; i++)
    if (!(allowed >> i & 1)) out[i] = -INFINITY;
}

/* The addition turns -0 into +0, so that the maximum doesn't depend on which of the two came first. */
static float max_of(const float *values, size_t n) {
  float most = -INFINITY;
  for (size_t i = 0; i < n; i++)
    if (values[i] > most) most = values[i];
  return most + 0.0f;
}

static int block_max(const struct tombola_row *row, const uint32_t *mask, float *maxima) {
  int nan = 0;
  for (size_t b = 0; b < tombola__block_count(row->count); b++) {
    float x[TOMBOLA__BLOCK];
    tombola__scalar_load64(row, mask, b, x);
    for (size_t i = 0; i < TOMBOLA__BLOCK; i++)
      nan |= x[i] != x[i];
    maxima[b] = max_of(x, TOMBOLA__BLOCK);
  }
  return nan;
}

static float tree(const float lane[8]) {
  return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

static float expsum64(const float *x, float max, float scale, float *weights) {
  float lane[8] = {0};
  for (size_t i = 0; i < TOMBOLA__BLOCK; i++) {
    weights[i] = tombola__exp((x[i] - max) * scale);
    lane[i % 8] += weights[i];
  }
  return tree(lane);
}

/* Where the weight is 0 the exponent may be -inf, and the product with it no number: the cut stands in. */
static float entropy64(const float *x, float max, float scale, float *spread) {
  float lane[8] = {0}, product[8] = {0};
  for (size_t i = 0; i < TOMBOLA__BLOCK; i++) {
    float y = (x[i] - max) * scale;
    float weight = tombola__exp(y);
    lane[i % 8] += weight;
    product[i % 8] += weight * (y > EXP_CUT ? y : EXP_CUT);
  }
  *spread = tree(product);
  return tree(lane);
}

/* The lanes of moments as they grow from block to block. */
struct moment_lanes {
  double sum[8], squares[8];
  size_t count;
};

static void add_block(struct moment_lanes *m, const float *x, float origin) {
  float lane[8] = {0}, square[8] = {0};
  for (size_t i = 0; i < TOMBOLA__BLOCK; i++) {
    if (!(x[i] > -INFINITY)) continue;
    float d = x[i] - origin;
    m->count++;
    lane[i % 8] += d;
    square[i % 8] = fmaf(d, d, square[i % 8]);
  }
  for (size_t k = 0; k < 8; k++) {
    m->sum[k] += (double)lane[k];
    m->squares[k] += (double)square[k];
  }
}

static double wide_tree(const double lane[8]) {
  return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

static void end_moments(const struct moment_lanes *m, struct tombola__moments *moments) {
  moments->count += m->count;
  moments->sum += wide_tree(m->sum);
  moments->squares += wide_tree(m->squares);
}

static void moments64(const float *x, float origin, struct tombola__moments *moments) {
  struct moment_lanes m = {{0}, {0}, 0};
  add_block(&m, x, origin);
  end_moments(&m, moments);
}

static void block_expsum(const struct tombola_row *row, const uint32_t *mask, const float *maxima, float max,
                         float scale, float *sums) {
  for (size_t b = 0; b < tombola__block_count(row->count); b++) {
    sums[b] = 0.0f;
    if (!((maxima[b] - max) * scale >= EXP_CUT)) continue;
    float x[TOMBOLA__BLOCK];
    tombola__scalar_load64(row, mask, b, x);
    sums[b] = expsum64(x, max, scale, x);
  }
}

/* ---- parts ---- */

/* Whether anything in a block of the part has a weight above 0. */
static bool weighs(const struct tombola__part *part, size_t b, float max, float scale) {
  return part->maxima[b] >= part->low && (part->maxima[b] - max) * scale >= EXP_CUT;
}

void tombola__scalar_load_part(const struct tombola__part *part, size_t block, float *out) {
  tombola__scalar_load64(part->row, part->mask, block, out);
  for (size_t i = 0; i < TOMBOLA__BLOCK; i++)
    if (!(out[i] >= part->low)) out[i] = -INFINITY;
}

static void part_expsum(const struct tombola__part *part, float max, float scale, float *sums) {
  for (size_t b = part->first; b < part->last; b++) {
    sums[b] = 0.0f;
    if (!weighs(part, b, max, scale)) continue;
    float x[TOMBOLA__BLOCK];
    tombola__scalar_load_part(part, b, x);
    sums[b] = expsum64(x, max, scale, x);
  }
}

static double part_entropy(const struct tombola__part *part, float max, float scale, float *sums) {
  double total = 0.0;
  for (size_t b = part->first; b < part->last; b++) {
    sums[b] = 0.0f;
    if (!weighs(part, b, max, scale)) continue;
    float x[TOMBOLA__BLOCK], spread;
    tombola__scalar_load_part(part, b, x);
    sums[b] = entropy64(x, max, scale, &spread);
    total += (double)spread;
  }
  return total;
}

static void part_moments(const struct tombola__part *part, float origin, struct tombola__moments *moments) {
  struct moment_lanes m = {{0}, {0}, 0};
  for (size_t b = part->first; b < part->last; b++) {
    if (!(part->maxima[b] >= part->low)) continue;
    float x[TOMBOLA__BLOCK];
    tombola__scalar_load_part(part, b, x);
    add_block(&m, x, origin);
  }
  end_moments(&m, moments);
}

static void gather(const struct tombola_row *row, const uint32_t *mask, const float *maxima, size_t first, size_t last,
                   float low, float high, size_t limit, struct tombola__entry *entries, struct tombola__gather *out) {
  size_t b = first;
  for (; b < last && out->count < limit; b++) {
    if (!(maxima[b] >= low)) continue;
    float x[TOMBOLA__BLOCK];
    tombola__scalar_load64(row, mask, b, x);
    uint64_t allowed = tombola__allowed64(row->count, mask, b);
    for (size_t i = 0; i < TOMBOLA__BLOCK; i++)
      if ((allowed >> i & 1) && x[i] >= low && x[i] < high)
        entries[out->count++] = (struct tombola__entry){x[i], (tombola_token)(b * TOMBOLA__BLOCK + i)};
  }
  out->next_block = b;
}

static size_t count_at_least(const float *values, size_t n, float threshold) {
  size_t count = 0;
  for (size_t i = 0; i < n; i++)
    count += values[i] >= threshold;
  return count;
}

const struct tombola__kernels tombola__kernels_scalar = {
    .name = "scalar",
    .block_max = block_max,
    .block_expsum = block_expsum,
    .expsum64 = expsum64,
    .part_expsum = part_expsum,
    .entropy64 = entropy64,
    .part_entropy = part_entropy,
    .moments64 = moments64,
    .part_moments = part_moments,
    .load64 = tombola__scalar_load64,
    .gather = gather,
    .count_at_least = count_at_least,
    .max = max_of,
};
