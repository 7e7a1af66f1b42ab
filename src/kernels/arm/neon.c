/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels for 64-bit ARM. Every result has the bits of scalar.c's: its eight lanes are the four of `low` and the
 * four of `high`. A block is brought to 64 floats first (an unmasked f32 block where it lies), so that each kernel is
 * written once. AdvSIMD is part of every 64-bit ARM: there is nothing to detect. */
#include "../scalar.h"

#if defined(__aarch64__) && defined(__ARM_NEON) && !defined(__ARM_BIG_ENDIAN)

#include "../exp.h"

#include <arm_neon.h>
#include <math.h>

struct v8 {
  float32x4_t low, high;
};

static inline struct v8 load8(const float *x) {
  return (struct v8){vld1q_f32(x), vld1q_f32(x + 4)};
}

static inline struct v8 all8(float x) {
  return (struct v8){vdupq_n_f32(x), vdupq_n_f32(x)};
}

static inline struct v8 add8(struct v8 a, struct v8 b) {
  return (struct v8){vaddq_f32(a.low, b.low), vaddq_f32(a.high, b.high)};
}

/* ((0+4)+(2+6)) + ((1+5)+(3+7)) */
static inline float tree(struct v8 x) {
  float32x4_t s = vaddq_f32(x.low, x.high);
  float32x2_t t = vadd_f32(vget_low_f32(s), vget_high_f32(s));
  return vget_lane_f32(t, 0) + vget_lane_f32(t, 1);
}

/* ---- blocks ---- */

/* The 64 values of block b: the row's own memory where that is possible, else in `room`. */
static const float *values_of(const struct tombola_row *row, const uint32_t *mask, size_t b, float *room) {
  bool full = b < row->count / TOMBOLA__BLOCK;
  if (full && !mask && row->dtype == TOMBOLA_F32) return (const float *)row->data + b * TOMBOLA__BLOCK;
  if (!full || mask || row->dtype == TOMBOLA_F32) {
    tombola__scalar_load64(row, mask, b, room);
    return room;
  }
  const uint16_t *narrow = (const uint16_t *)row->data + b * TOMBOLA__BLOCK;
  for (size_t i = 0; i < TOMBOLA__BLOCK; i += 4) {
    uint16x4_t x = vld1_u16(narrow + i);
    vst1q_f32(room + i, row->dtype == TOMBOLA_F16 ? vcvt_f32_f16(vreinterpret_f16_u16(x))
                                                  : vreinterpretq_f32_u32(vshll_n_u16(x, 16)));
  }
  return room;
}

static void load64(const struct tombola_row *row, const uint32_t *mask, size_t block, float *out) {
  const float *values = values_of(row, mask, block, out);
  for (size_t i = 0; values != out && i < TOMBOLA__BLOCK; i += 4)
    vst1q_f32(out + i, vld1q_f32(values + i));
}

/* ---- maxima ---- */

/* maxNum leaves NaN out, as scalar.c's comparisons do; the addition makes -0 a +0. */
static float max_of(const float *values, size_t n) {
  float32x4_t most = vdupq_n_f32(-INFINITY);
  size_t i = 0;
  for (; i + 4 <= n; i += 4)
    most = vmaxnmq_f32(most, vld1q_f32(values + i));
  float max = vmaxnmvq_f32(most);
  for (; i < n; i++)
    if (values[i] > max) max = values[i];
  return max + 0.0f;
}

static int block_max(const struct tombola_row *row, const uint32_t *mask, float *maxima) {
  uint32x4_t numbers = vdupq_n_u32(UINT32_MAX);
  for (size_t b = 0; b < tombola__block_count(row->count); b++) {
    float room[TOMBOLA__BLOCK];
    const float *x = values_of(row, mask, b, room);
    float32x4_t most = vdupq_n_f32(-INFINITY);
    for (size_t i = 0; i < TOMBOLA__BLOCK; i += 4) {
      float32x4_t v = vld1q_f32(x + i);
      numbers = vandq_u32(numbers, vceqq_f32(v, v));
      most = vmaxnmq_f32(most, v);
    }
    maxima[b] = vmaxnmvq_f32(most) + 0.0f;
  }
  return vminvq_u32(numbers) == 0;
}

static size_t count_at_least(const float *values, size_t n, float threshold) {
  uint32x4_t counts = vdupq_n_u32(0);
  size_t i = 0;
  for (; i + 4 <= n; i += 4)
    counts = vsubq_u32(counts, vcgeq_f32(vld1q_f32(values + i), vdupq_n_f32(threshold)));
  size_t count = vaddvq_u32(counts);
  for (; i < n; i++)
    count += values[i] >= threshold;
  return count;
}

/* ---- the exponential ---- */

/* tombola__exp on four lanes, operation for operation. */
static inline float32x4_t exp4(float32x4_t x) {
  float32x4_t magic = vdupq_n_f32(EXP_MAGIC), one = vdupq_n_f32(1.0f);
  float32x4_t shifted = vfmaq_f32(magic, x, vdupq_n_f32(EXP_LOG2E));
  float32x4_t n = vsubq_f32(shifted, magic);
  float32x4_t r = vfmsq_f32(x, n, vdupq_n_f32(EXP_LN2_HIGH));
  r = vfmsq_f32(r, n, vdupq_n_f32(EXP_LN2_LOW));
  float32x4_t p = vfmaq_f32(vdupq_n_f32(EXP_C5), vdupq_n_f32(EXP_C6), r);
  p = vfmaq_f32(vdupq_n_f32(EXP_C4), p, r);
  p = vfmaq_f32(vdupq_n_f32(EXP_C3), p, r);
  p = vfmaq_f32(vdupq_n_f32(EXP_C2), p, r);
  p = vfmaq_f32(one, p, r);
  p = vfmaq_f32(one, p, r);
  int32x4_t power = vshlq_n_s32(vreinterpretq_s32_f32(shifted), 23);
  uint32x4_t value = vreinterpretq_u32_s32(vaddq_s32(vreinterpretq_s32_f32(p), power));
  return vreinterpretq_f32_u32(vandq_u32(value, vcgeq_f32(x, vdupq_n_f32(EXP_CUT))));
}

static inline struct v8 exp8(struct v8 y) {
  return (struct v8){exp4(y.low), exp4(y.high)};
}

static inline struct v8 exponent8(const float *x, float max, float scale) {
  float32x4_t m = vdupq_n_f32(max), s = vdupq_n_f32(scale);
  return (struct v8){vmulq_f32(vsubq_f32(vld1q_f32(x), m), s), vmulq_f32(vsubq_f32(vld1q_f32(x + 4), m), s)};
}

static float expsum64(const float *x, float max, float scale, float *weights) {
  struct v8 sum = all8(0);
  for (size_t i = 0; i < TOMBOLA__BLOCK; i += 8) {
    struct v8 w = exp8(exponent8(x + i, max, scale));
    vst1q_f32(weights + i, w.low);
    vst1q_f32(weights + i + 4, w.high);
    sum = add8(sum, w);
  }
  return tree(sum);
}

static float entropy64(const float *x, float max, float scale, float *spread) {
  struct v8 sum = all8(0), product = all8(0);
  float32x4_t cut = vdupq_n_f32(EXP_CUT);
  for (size_t i = 0; i < TOMBOLA__BLOCK; i += 8) {
    struct v8 y = exponent8(x + i, max, scale), w = exp8(y);
    struct v8 part = {vmulq_f32(w.low, vmaxnmq_f32(y.low, cut)), vmulq_f32(w.high, vmaxnmq_f32(y.high, cut))};
    sum = add8(sum, w);
    product = add8(product, part);
  }
  *spread = tree(product);
  return tree(sum);
}

static bool weighs(const float *maxima, size_t b, float max, float scale) {
  return (maxima[b] - max) * scale >= EXP_CUT;
}

static void block_expsum(const struct tombola_row *row, const uint32_t *mask, const float *maxima, float max,
                         float scale, float *sums) {
  for (size_t b = 0; b < tombola__block_count(row->count); b++) {
    float room[TOMBOLA__BLOCK];
    sums[b] = 0.0f;
    if (weighs(maxima, b, max, scale)) sums[b] = expsum64(values_of(row, mask, b, room), max, scale, room);
  }
}

static void part_expsum(const struct tombola__part *part, float max, float scale, float *sums) {
  for (size_t b = part->first; b < part->last; b++) {
    float room[TOMBOLA__BLOCK];
    sums[b] = 0.0f;
    if (!(part->maxima[b] >= part->low) || !weighs(part->maxima, b, max, scale)) continue;
    tombola__scalar_load_part(part, b, room);
    sums[b] = expsum64(room, max, scale, room);
  }
}

static double part_entropy(const struct tombola__part *part, float max, float scale, float *sums) {
  double total = 0.0;
  for (size_t b = part->first; b < part->last; b++) {
    float room[TOMBOLA__BLOCK], spread;
    sums[b] = 0.0f;
    if (!(part->maxima[b] >= part->low) || !weighs(part->maxima, b, max, scale)) continue;
    tombola__scalar_load_part(part, b, room);
    sums[b] = entropy64(room, max, scale, &spread);
    total += (double)spread;
  }
  return total;
}

/* ---- moments ---- */

struct wide {
  float64x2_t lane[4]; /* lanes 0 1, 2 3, 4 5, 6 7 */
};

struct moment_lanes {
  struct wide sum, squares;
  size_t count;
};

static inline void widen(struct wide *w, struct v8 x) {
  w->lane[0] = vaddq_f64(w->lane[0], vcvt_f64_f32(vget_low_f32(x.low)));
  w->lane[1] = vaddq_f64(w->lane[1], vcvt_high_f64_f32(x.low));
  w->lane[2] = vaddq_f64(w->lane[2], vcvt_f64_f32(vget_low_f32(x.high)));
  w->lane[3] = vaddq_f64(w->lane[3], vcvt_high_f64_f32(x.high));
}

static inline double wide_tree(const struct wide *w) {
  float64x2_t s = vaddq_f64(vaddq_f64(w->lane[0], w->lane[2]), vaddq_f64(w->lane[1], w->lane[3]));
  return vgetq_lane_f64(s, 0) + vgetq_lane_f64(s, 1);
}

static struct moment_lanes no_lanes(void) {
  float64x2_t zero = vdupq_n_f64(0);
  struct wide none = {{zero, zero, zero, zero}};
  return (struct moment_lanes){none, none, 0};
}

/* A value that isn't there (-inf) adds 0 to its lane, which leaves the lane's bits alone. */
static void add_block(struct moment_lanes *m, const float *x, float origin) {
  struct v8 sum = all8(0), squares = all8(0);
  float32x4_t none = vdupq_n_f32(-INFINITY), from = vdupq_n_f32(origin);
  uint32x4_t counts = vdupq_n_u32(0);
  for (size_t i = 0; i < TOMBOLA__BLOCK; i += 8) {
    struct v8 v = load8(x + i), d;
    uint32x4_t in = vcgtq_f32(v.low, none), in_high = vcgtq_f32(v.high, none);
    d.low = vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(vsubq_f32(v.low, from)), in));
    d.high = vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(vsubq_f32(v.high, from)), in_high));
    counts = vsubq_u32(vsubq_u32(counts, in), in_high);
    sum = add8(sum, d);
    squares.low = vfmaq_f32(squares.low, d.low, d.low);
    squares.high = vfmaq_f32(squares.high, d.high, d.high);
  }
  m->count += vaddvq_u32(counts);
  widen(&m->sum, sum);
  widen(&m->squares, squares);
}

static void end_moments(const struct moment_lanes *m, struct tombola__moments *moments) {
  moments->count += m->count;
  moments->sum += wide_tree(&m->sum);
  moments->squares += wide_tree(&m->squares);
}

static void moments64(const float *x, float origin, struct tombola__moments *moments) {
  struct moment_lanes m = no_lanes();
  add_block(&m, x, origin);
  end_moments(&m, moments);
}

static void part_moments(const struct tombola__part *part, float origin, struct tombola__moments *moments) {
  struct moment_lanes m = no_lanes();
  for (size_t b = part->first; b < part->last; b++) {
    float room[TOMBOLA__BLOCK];
    if (!(part->maxima[b] >= part->low)) continue;
    tombola__scalar_load_part(part, b, room);
    add_block(&m, room, origin);
  }
  end_moments(&m, moments);
}

/* ---- selection ---- */

/* Four values at a time say whether any is wanted; few are, so that what follows may be plain. */
static size_t gather_block(const float *x, uint64_t allowed, size_t first_id, float low, float high,
                           struct tombola__entry *entries, size_t count) {
  for (size_t i = 0; i < TOMBOLA__BLOCK; i += 4) {
    float32x4_t v = vld1q_f32(x + i);
    uint32x4_t in = vandq_u32(vcgeq_f32(v, vdupq_n_f32(low)), vcltq_f32(v, vdupq_n_f32(high)));
    if (vmaxvq_u32(in) == 0) continue;
    for (size_t k = i; k < i + 4; k++)
      if ((allowed >> k & 1) && x[k] >= low && x[k] < high)
        entries[count++] = (struct tombola__entry){x[k], (tombola_token)(first_id + k)};
  }
  return count;
}

static void gather(const struct tombola_row *row, const uint32_t *mask, const float *maxima, size_t first,
                   size_t last, float low, float high, size_t limit, struct tombola__entry *entries,
                   struct tombola__gather *out) {
  size_t b = first;
  for (; b < last && out->count < limit; b++) {
    if (!(maxima[b] >= low)) continue;
    float room[TOMBOLA__BLOCK];
    const float *x = values_of(row, mask, b, room);
    out->count = gather_block(x, tombola__allowed64(row->count, mask, b), b * TOMBOLA__BLOCK, low, high,
                              entries, out->count);
  }
  out->next_block = b;
}

static const struct tombola__kernels table = {
    .name = "neon",
    .block_max = block_max,
    .block_expsum = block_expsum,
    .expsum64 = expsum64,
    .part_expsum = part_expsum,
    .entropy64 = entropy64,
    .part_entropy = part_entropy,
    .moments64 = moments64,
    .part_moments = part_moments,
    .load64 = load64,
    .gather = gather,
    .count_at_least = count_at_least,
    .max = max_of,
};

const struct tombola__kernels *tombola__kernels_neon(void) {
  return &table;
}

#else

const struct tombola__kernels *tombola__kernels_neon(void) {
  return NULL;
}

#endif
