/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels for x86-64 with AVX2, FMA, F16C and POPCNT (Intel since Haswell, AMD since Excavator). The functions
 * carry the instruction set as an attribute, so that this file compiles without flags and the rest of the library
 * stays baseline code. Every result has the bits of scalar.c's: the eight lanes of a vector are its eight lanes. */
#include "kernels/scalar.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include "kernels/exp.h"

#include <cpuid.h>
#include <float.h>
#include <immintrin.h>
#include <string.h>

#define AVX2        __attribute__((target("avx2,fma,f16c,popcnt")))
#define AVX2_INLINE __attribute__((target("avx2,fma,f16c,popcnt"), always_inline))

/* ---- masks ---- */

/* The bits of the eight tokens of vector k of block b: x86 is little-endian, so they are one byte of the words. */
static inline AVX2_INLINE unsigned mask_byte(const uint32_t *mask, size_t b, size_t k) {
  return ((const unsigned char *)mask)[8 * b + k];
}

/* Those of all of block b. */
static inline AVX2_INLINE uint64_t mask_block(const uint32_t *mask, size_t b) {
  uint64_t bits;
  memcpy(&bits, mask + 2 * b, sizeof bits);
  return bits;
}

/* x with -inf where the bit isn't set. The shift brings each lane's own bit to the sign, which is what the blend
 * looks at. */
static inline AVX2_INLINE __m256 mask_vector(__m256 x, const uint32_t *mask, size_t b, size_t k) {
  __m256i word = _mm256_set1_epi32((int)mask[2 * b + k / 4]);
  int top = 31 - 8 * (int)(k % 4);
  __m256i own = _mm256_setr_epi32(top, top - 1, top - 2, top - 3, top - 4, top - 5, top - 6, top - 7);
  __m256 keep = _mm256_castsi256_ps(_mm256_sllv_epi32(word, own));
  return _mm256_blendv_ps(_mm256_set1_ps(-__builtin_inff()), x, keep);
}

/* ---- maxima ---- */

/* As in scalar.c: a maximum is never -0. */
static inline AVX2_INLINE __m256 positive_zero(__m256 x) { return _mm256_add_ps(x, _mm256_setzero_ps()); }

/* Three steps that turn the lanes of eight vectors into one vector of their eight maxima. Within each half:
 * pair(a, b) = a02 b02 a13 b13; quad(ab, cd) = a b c d; octet joins the halves. */
static inline AVX2_INLINE __m256 max_pair(__m256 a, __m256 b) {
  return _mm256_max_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
}

static inline AVX2_INLINE __m256 max_quad(__m256 ab, __m256 cd) {
  __m256d x = _mm256_castps_pd(ab), y = _mm256_castps_pd(cd);
  return _mm256_max_ps(_mm256_castpd_ps(_mm256_unpacklo_pd(x, y)), _mm256_castpd_ps(_mm256_unpackhi_pd(x, y)));
}

static inline AVX2_INLINE __m256 max_octet(__m256 abcd, __m256 efgh) {
  return _mm256_max_ps(_mm256_permute2f128_ps(abcd, efgh, 0x20), _mm256_permute2f128_ps(abcd, efgh, 0x31));
}

static inline AVX2_INLINE float max_lanes(__m256 x) {
  __m128 m = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  m = _mm_max_ps(m, _mm_movehl_ps(m, m));
  m = _mm_max_ss(m, _mm_movehdup_ps(m));
  return _mm_cvtss_f32(m) + 0.0f;
}

/* ---- the exponential ---- */

/* tombola__exp on eight lanes, operation for operation. Below the cut and for NaN the comparison is false. */
static inline AVX2_INLINE __m256 exp8(__m256 x) {
  __m256 magic = _mm256_set1_ps(EXP_MAGIC);
  __m256 shifted = _mm256_fmadd_ps(x, _mm256_set1_ps(EXP_LOG2E), magic);
  __m256 n = _mm256_sub_ps(shifted, magic);
  __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(EXP_LN2_HIGH), x);
  r = _mm256_fnmadd_ps(n, _mm256_set1_ps(EXP_LN2_LOW), r);
  __m256 p = _mm256_fmadd_ps(_mm256_set1_ps(EXP_C6), r, _mm256_set1_ps(EXP_C5));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(EXP_C4));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(EXP_C3));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(EXP_C2));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f));
  __m256i power = _mm256_slli_epi32(_mm256_castps_si256(shifted), 23);
  __m256 value = _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(p), power));
  return _mm256_and_ps(value, _mm256_cmp_ps(x, _mm256_set1_ps(EXP_CUT), _CMP_GE_OQ));
}

static inline AVX2_INLINE __m256 weigh8(__m256 x, __m256 max, __m256 scale) {
  return exp8(_mm256_mul_ps(_mm256_sub_ps(x, max), scale));
}

/* ((0+4)+(2+6)) + ((1+5)+(3+7)) */
static inline AVX2_INLINE float sum_lanes(__m256 x) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  s = _mm_add_ss(s, _mm_movehdup_ps(s));
  return _mm_cvtss_f32(s);
}

static AVX2 float expsum64(const float *x, float max, float scale, float *weights) {
  __m256 vmax = _mm256_set1_ps(max), vscale = _mm256_set1_ps(scale), sum = _mm256_setzero_ps();
  for (size_t k = 0; k < 8; k++) {
    __m256 w = weigh8(_mm256_loadu_ps(x + 8 * k), vmax, vscale);
    _mm256_storeu_ps(weights + 8 * k, w);
    sum = _mm256_add_ps(sum, w);
  }
  return sum_lanes(sum);
}

static AVX2 float entropy64(const float *x, float max, float scale, float *spread) {
  __m256 vmax = _mm256_set1_ps(max), vscale = _mm256_set1_ps(scale), cut = _mm256_set1_ps(EXP_CUT);
  __m256 sum = _mm256_setzero_ps(), product = sum;
  for (size_t k = 0; k < 8; k++) {
    __m256 y = _mm256_mul_ps(_mm256_sub_ps(_mm256_loadu_ps(x + 8 * k), vmax), vscale);
    __m256 w = exp8(y);
    sum = _mm256_add_ps(sum, w);
    product = _mm256_add_ps(product, _mm256_mul_ps(w, _mm256_max_ps(y, cut)));
  }
  *spread = sum_lanes(product);
  return sum_lanes(sum);
}

/* ---- moments ---- */

/* The lanes as they grow from block to block. */
struct lanes {
  __m256d sum[2], squares[2];
  size_t count;
};

static inline AVX2_INLINE struct lanes no_lanes(void) {
  __m256d zero = _mm256_setzero_pd();
  return (struct lanes){{zero, zero}, {zero, zero}, 0};
}

static inline AVX2_INLINE void widen(__m256d to[2], __m256 lanes) {
  to[0] = _mm256_add_pd(to[0], _mm256_cvtps_pd(_mm256_castps256_ps128(lanes)));
  to[1] = _mm256_add_pd(to[1], _mm256_cvtps_pd(_mm256_extractf128_ps(lanes, 1)));
}

/* The sums of one block. */
struct block_lanes {
  __m256 sum, squares;
};

/* Adds a vector some of whose values may be below low. */
static inline AVX2_INLINE void add_some(struct block_lanes *s, size_t *count, __m256 x, __m256 low,
                                        __m256 origin) {
  __m256 in = _mm256_cmp_ps(x, low, _CMP_GE_OQ);
  __m256 d = _mm256_and_ps(_mm256_sub_ps(x, origin), in);
  *count += (size_t)__builtin_popcount((unsigned)_mm256_movemask_ps(in));
  s->sum = _mm256_add_ps(s->sum, d);
  s->squares = _mm256_fmadd_ps(d, d, s->squares);
}

static inline AVX2_INLINE void end_block(struct lanes *l, const struct block_lanes *s) {
  widen(l->sum, s->sum);
  widen(l->squares, s->squares);
}

/* The tree of sum_lanes, of lanes 0 to 3 in the first half and 4 to 7 in the second. */
static inline AVX2_INLINE double sum_wide(const __m256d lanes[2]) {
  __m256d s = _mm256_add_pd(lanes[0], lanes[1]); /* 0+4 1+5 2+6 3+7 */
  __m128d t = _mm_add_pd(_mm256_castpd256_pd128(s), _mm256_extractf128_pd(s, 1));
  return _mm_cvtsd_f64(t) + _mm_cvtsd_f64(_mm_unpackhi_pd(t, t));
}

static inline AVX2_INLINE void end_moments(const struct lanes *l, struct tombola__moments *moments) {
  moments->count += l->count;
  moments->sum += sum_wide(l->sum);
  moments->squares += sum_wide(l->squares);
}

static inline AVX2_INLINE void add_loaded(struct lanes *l, const float *values, float origin) {
  struct block_lanes s = {_mm256_setzero_ps(), _mm256_setzero_ps()};
  for (size_t k = 0; k < 8; k++)
    add_some(&s, &l->count, _mm256_loadu_ps(values + 8 * k), _mm256_set1_ps(-FLT_MAX), _mm256_set1_ps(origin));
  end_block(l, &s);
}

static AVX2 void moments64(const float *x, float origin, struct tombola__moments *moments) {
  struct lanes l = no_lanes();
  add_loaded(&l, x, origin);
  end_moments(&l, moments);
}

/* ---- selection ---- */

/* For each set of lanes, as the bits of a byte, the numbers of those lanes in ascending order, a byte each. */
#define BITS_BELOW(m, i) /* how many of the bits 0 to i - 1 of m are set */                                            \
  (((m) >> 0 & (i > 0)) + ((m) >> 1 & (i > 1)) + ((m) >> 2 & (i > 2)) + ((m) >> 3 & (i > 3)) + ((m) >> 4 & (i > 4)) +  \
   ((m) >> 5 & (i > 5)) + ((m) >> 6 & (i > 6)))
#define LANE(m, i) ((m) >> (i) & 1 ? UINT64_C(i) << 8 * BITS_BELOW(m, i) : 0)
#define LANES(m)                                                                                                       \
  (LANE(m, 0) | LANE(m, 1) | LANE(m, 2) | LANE(m, 3) | LANE(m, 4) | LANE(m, 5) | LANE(m, 6) | LANE(m, 7))
#define LANES4(m)  LANES(m), LANES((m) + 1), LANES((m) + 2), LANES((m) + 3)
#define LANES16(m) LANES4(m), LANES4((m) + 4), LANES4((m) + 8), LANES4((m) + 12)
#define LANES64(m) LANES16(m), LANES16((m) + 16), LANES16((m) + 32), LANES16((m) + 48)

static const uint64_t lanes_of[256] = {LANES64(0), LANES64(64), LANES64(128), LANES64(192)};

static inline AVX2_INLINE unsigned between(__m256 x, __m256 low, __m256 high) {
  __m256 in = _mm256_and_ps(_mm256_cmp_ps(x, low, _CMP_GE_OQ), _mm256_cmp_ps(x, high, _CMP_LT_OQ));
  return (unsigned)_mm256_movemask_ps(in);
}

/* Appends the chosen lanes as (logit, id) and returns the new count. It always stores eight entries, of which the next
 * call overwrites those that weren't chosen: with at most 64 a block they stay within the 64 beyond the limit that the
 * caller gives. The count is a local of the callers, since these stores could alias one in memory. */
static inline AVX2_INLINE size_t append(__m256 x, unsigned chosen, size_t first_id, struct tombola__entry *entries,
                                        size_t count) {
  __m256i order = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)&lanes_of[chosen]));
  __m256i logits = _mm256_castps_si256(_mm256_permutevar8x32_ps(x, order));
  __m256i ids = _mm256_add_epi32(order, _mm256_set1_epi32((int)first_id));
  __m256i low = _mm256_unpacklo_epi32(logits, ids), high = _mm256_unpackhi_epi32(logits, ids);
  __m256i *to = (__m256i *)(void *)(entries + count);
  _mm256_storeu_si256(to, _mm256_permute2x128_si256(low, high, 0x20));
  _mm256_storeu_si256(to + 1, _mm256_permute2x128_si256(low, high, 0x31));
  return count + (size_t)__builtin_popcount(chosen);
}

/* The first block of [b, last) whose maximum reaches low, or last. */
static inline AVX2_INLINE size_t next_reaching(const float *maxima, size_t b, size_t last, float low) {
  __m256 vlow = _mm256_set1_ps(low);
  for (; b + 8 <= last; b += 8) {
    int reach = _mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(maxima + b), vlow, _CMP_GE_OQ));
    if (reach) return b + (size_t)__builtin_ctz((unsigned)reach);
  }
  while (b < last && !(maxima[b] >= low))
    b++;
  return b;
}

static AVX2 size_t count_at_least(const float *values, size_t n, float threshold) {
  __m256 at = _mm256_set1_ps(threshold);
  __m256i c0 = _mm256_setzero_si256(), c1 = c0, c2 = c0, c3 = c0;
  size_t i = 0;
  for (; i + 32 <= n; i += 32) { /* a true comparison is -1 */
    c0 = _mm256_sub_epi32(c0, _mm256_castps_si256(_mm256_cmp_ps(_mm256_loadu_ps(values + i), at, _CMP_GE_OQ)));
    c1 = _mm256_sub_epi32(c1, _mm256_castps_si256(_mm256_cmp_ps(_mm256_loadu_ps(values + i + 8), at, _CMP_GE_OQ)));
    c2 = _mm256_sub_epi32(c2, _mm256_castps_si256(_mm256_cmp_ps(_mm256_loadu_ps(values + i + 16), at, _CMP_GE_OQ)));
    c3 = _mm256_sub_epi32(c3, _mm256_castps_si256(_mm256_cmp_ps(_mm256_loadu_ps(values + i + 24), at, _CMP_GE_OQ)));
  }
  uint32_t lanes[8];
  c0 = _mm256_add_epi32(_mm256_add_epi32(c0, c1), _mm256_add_epi32(c2, c3));
  _mm256_storeu_si256((__m256i *)(void *)lanes, c0);
  size_t count = 0;
  for (size_t k = 0; k < 8; k++)
    count += lanes[k];
  for (; i < n; i++)
    count += values[i] >= threshold;
  return count;
}

static AVX2 float max_of(const float *values, size_t n) {
  __m256 m0 = _mm256_set1_ps(-__builtin_inff()), m1 = m0, m2 = m0, m3 = m0;
  size_t i = 0;
  for (; i + 32 <= n; i += 32) {
    m0 = _mm256_max_ps(m0, _mm256_loadu_ps(values + i));
    m1 = _mm256_max_ps(m1, _mm256_loadu_ps(values + i + 8));
    m2 = _mm256_max_ps(m2, _mm256_loadu_ps(values + i + 16));
    m3 = _mm256_max_ps(m3, _mm256_loadu_ps(values + i + 24));
  }
  float most = max_lanes(_mm256_max_ps(_mm256_max_ps(m0, m1), _mm256_max_ps(m2, m3)));
  for (; i < n; i++)
    if (values[i] > most) most = values[i];
  return most + 0.0f;
}

/* ---- the last, short block ---- */

static AVX2 int last_block_max(const struct tombola_row *row, const uint32_t *mask, float *maxima) {
  size_t b = row->count / TOMBOLA__BLOCK;
  float x[TOMBOLA__BLOCK];
  tombola__scalar_load64(row, mask, b, x);
  int nan = 0;
  for (size_t i = 0; i < TOMBOLA__BLOCK; i++)
    nan |= x[i] != x[i];
  maxima[b] = max_of(x, TOMBOLA__BLOCK);
  return nan;
}

static AVX2 void last_block_expsum(const struct tombola_row *row, const uint32_t *mask, float max, float scale,
                                   float *sums) {
  size_t b = row->count / TOMBOLA__BLOCK;
  float x[TOMBOLA__BLOCK];
  tombola__scalar_load64(row, mask, b, x);
  sums[b] = expsum64(x, max, scale, x);
}

static AVX2 size_t gather_last_block(const struct tombola_row *row, const uint32_t *mask, __m256 low, __m256 high,
                                     struct tombola__entry *entries, size_t count) {
  size_t b = row->count / TOMBOLA__BLOCK;
  float values[TOMBOLA__BLOCK];
  tombola__scalar_load64(row, mask, b, values);
  uint64_t allowed = tombola__allowed64(row->count, mask, b);
  for (size_t k = 0; k < 8; k++) {
    __m256 x = _mm256_loadu_ps(values + 8 * k);
    unsigned chosen = between(x, low, high) & (unsigned)(allowed >> 8 * k & 0xFF);
    if (chosen) count = append(x, chosen, b * TOMBOLA__BLOCK + 8 * k, entries, count);
  }
  return count;
}

/* ---- rows of each dtype ---- */

static inline AVX2_INLINE __m256 load8_f32(const void *data, size_t i) {
  return _mm256_loadu_ps((const float *)data + i);
}

/* The empty assembly hides from the compiler that the floats were halves: Clang 14 would compare the halves for NaN one
 * by one, with which block_max took fifteen times as long. */
static inline AVX2_INLINE __m256 load8_f16(const void *data, size_t i) {
  __m256 x = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)((const uint16_t *)data + i)));
  __asm__("" : "+x"(x));
  return x;
}

static inline AVX2_INLINE __m256 load8_bf16(const void *data, size_t i) {
  __m128i halves = _mm_loadu_si128((const __m128i *)(const void *)((const uint16_t *)data + i));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
}

#define NAME(x) x##_f32
#define LOAD8   load8_f32
#include "row_template.h"

#define NAME(x) x##_f16
#define LOAD8   load8_f16
#include "row_template.h"

#define NAME(x) x##_bf16
#define LOAD8   load8_bf16
#include "row_template.h"

static int block_max(const struct tombola_row *row, const uint32_t *mask, float *maxima) {
  if (row->dtype == TOMBOLA_F32) return block_max_f32(row, mask, maxima);
  if (row->dtype == TOMBOLA_F16) return block_max_f16(row, mask, maxima);
  return block_max_bf16(row, mask, maxima);
}

static void block_expsum(const struct tombola_row *row, const uint32_t *mask, const float *maxima, float max,
                         float scale, float *sums) {
  if (row->dtype == TOMBOLA_F32)
    block_expsum_f32(row, mask, maxima, max, scale, sums);
  else if (row->dtype == TOMBOLA_F16)
    block_expsum_f16(row, mask, maxima, max, scale, sums);
  else
    block_expsum_bf16(row, mask, maxima, max, scale, sums);
}

static void part_expsum(const struct tombola__part *part, float max, float scale, float *sums) {
  if (part->row->dtype == TOMBOLA_F32)
    part_expsum_f32(part, max, scale, sums);
  else if (part->row->dtype == TOMBOLA_F16)
    part_expsum_f16(part, max, scale, sums);
  else
    part_expsum_bf16(part, max, scale, sums);
}

static double part_entropy(const struct tombola__part *part, float max, float scale, float *sums) {
  if (part->row->dtype == TOMBOLA_F32) return part_entropy_f32(part, max, scale, sums);
  if (part->row->dtype == TOMBOLA_F16) return part_entropy_f16(part, max, scale, sums);
  return part_entropy_bf16(part, max, scale, sums);
}

static void part_moments(const struct tombola__part *part, float origin, struct tombola__moments *moments) {
  if (part->row->dtype == TOMBOLA_F32)
    part_moments_f32(part, origin, moments);
  else if (part->row->dtype == TOMBOLA_F16)
    part_moments_f16(part, origin, moments);
  else
    part_moments_bf16(part, origin, moments);
}

static void load64(const struct tombola_row *row, const uint32_t *mask, size_t block, float *out) {
  if (row->dtype == TOMBOLA_F32)
    load64_f32(row, mask, block, out);
  else if (row->dtype == TOMBOLA_F16)
    load64_f16(row, mask, block, out);
  else
    load64_bf16(row, mask, block, out);
}

static void gather(const struct tombola_row *row, const uint32_t *mask, const float *maxima, size_t first, size_t last,
                   float low, float high, size_t limit, struct tombola__entry *entries, struct tombola__gather *out) {
  if (row->dtype == TOMBOLA_F32)
    gather_f32(row, mask, maxima, first, last, low, high, limit, entries, out);
  else if (row->dtype == TOMBOLA_F16)
    gather_f16(row, mask, maxima, first, last, low, high, limit, entries, out);
  else
    gather_bf16(row, mask, maxima, first, last, low, high, limit, entries, out);
}

static const struct tombola__kernels table = {
    .name = "avx2",
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

/* ---- the machine ---- */

/* Whether the system saves the vector registers: bits 1 (SSE) and 2 (AVX) of XCR0. Only after OSXSAVE is known. */
static bool system_saves_ymm(void) {
  unsigned low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  (void)high;
  return (low & 6) == 6;
}

const struct tombola__kernels *tombola__kernels_avx2(void) {
  const unsigned needed = bit_FMA | bit_OSXSAVE | bit_AVX | bit_F16C | bit_POPCNT;
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & needed) != needed || !system_saves_ymm()) return NULL;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & bit_AVX2)) return NULL;
  return &table;
}

#else

const struct tombola__kernels *tombola__kernels_avx2(void) { return NULL; }

#endif
