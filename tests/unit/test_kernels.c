/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of every instruction set: against plain double arithmetic, and bit for bit against scalar.
 * Rows, masks and results end at a page that can't be touched, so rows are aligned to their element alone and
 * any access beyond them ends the program. */
#include "support.h"

#include "kernels/kernels.h"

#include <float.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define MOST        151936
#define MOST_BLOCKS ((MOST + 63) / 64)

/* ---- rows to try ---- */

enum content {
  PLAIN,  /* what logits look like */
  WILD,   /* any bits that aren't NaN or +inf: subnormals, -0, -inf, the largest */
  TIES,   /* few values, both zeros and -inf among them */
  DEAD,   /* -inf alone */
  TOP,    /* plain with +inf */
  BROKEN, /* plain with one NaN */
  CONTENTS
};

/* BLOCKS: some whole blocks are allowed, some banned, the others are mixed. */
enum mask_kind { NO_MASK, ANY_MASK, FEW_MASK, BLOCKS_MASK, FULL_MASK, EMPTY_MASK, MASKS };

static const struct tombola__kernels *scalar, *sets[2];
static size_t set_count;
static struct support_guard row_memory, mask_memory, maxima_memory, sums_memory, entries_memory;
static struct support_guard second_maxima, second_sums;

static uint16_t half_of(float x) {
  uint32_t bits = support_bits(x), sign = bits >> 16 & 0x8000;
  uint32_t exponent = bits >> 23 & 255, fraction = bits >> 13 & 1023;
  if (exponent == 255) return (uint16_t)(sign | 0x7C00 | (bits & 0x7FFFFF ? 0x200 | fraction : 0));
  if (exponent < 113) return (uint16_t)sign;
  return (uint16_t)(sign | (exponent - 112) << 10 | fraction);
}

static float wild(struct support_rng *rng) {
  for (;;) {
    float x = support_from_bits(support_u32(rng));
    if (!isnan(x) && x != INFINITY) return x;
  }
}

static uint16_t wild16(struct support_rng *rng, enum tombola_dtype dtype) {
  for (;;) {
    uint16_t code = (uint16_t)support_u32(rng);
    float x = dtype == TOMBOLA_F16 ? tombola__f16_to_f32(code) : tombola__bf16_to_f32(code);
    if (!isnan(x) && x != INFINITY) return code;
  }
}

static float content_value(struct support_rng *rng, enum content content) {
  static const float ties[] = {-1.0f, -0.0f, 0.0f, 0.0f, 1.0f, -INFINITY};
  if (content == DEAD) return -INFINITY;
  if (content == TIES) return ties[support_below(rng, 6)];
  if (content == TOP && support_below(rng, 50) == 0) return INFINITY;
  return content == WILD ? wild(rng) : support_normal(rng, -2.0f, 5.0f);
}

static void put(void *data, size_t i, enum tombola_dtype dtype, float x) {
  if (dtype == TOMBOLA_F32) ((float *)data)[i] = x;
  if (dtype == TOMBOLA_F16) ((uint16_t *)data)[i] = half_of(x);
  if (dtype == TOMBOLA_BF16) ((uint16_t *)data)[i] = (uint16_t)(support_bits(x) >> 16);
}

static float value_at(const struct tombola_row *row, size_t i) {
  if (row->dtype == TOMBOLA_F32) return ((const float *)row->data)[i];
  uint16_t code = ((const uint16_t *)row->data)[i];
  return row->dtype == TOMBOLA_F16 ? tombola__f16_to_f32(code) : tombola__bf16_to_f32(code);
}

static bool allowed(const uint32_t *mask, size_t i) {
  return !mask || (mask[i / 32] >> i % 32 & 1);
}

static struct tombola_row make_row(struct support_rng *rng, size_t n, enum tombola_dtype dtype,
                                   enum content content) {
  void *data = support_guard_end(&row_memory, n * (dtype == TOMBOLA_F32 ? 4 : 2));
  for (size_t i = 0; i < n; i++) {
    if (content == WILD && dtype != TOMBOLA_F32)
      ((uint16_t *)data)[i] = wild16(rng, dtype);
    else
      put(data, i, dtype, content_value(rng, content));
  }
  if (content == BROKEN) put(data, support_below(rng, n), dtype, support_below(rng, 2) ? NAN : -NAN);
  return (struct tombola_row){data, n, dtype};
}

/* The bits beyond the row are random too: they must not matter. */
static const uint32_t *make_mask(struct support_rng *rng, size_t n, enum mask_kind kind) {
  if (kind == NO_MASK) return NULL;
  size_t words = (n + 31) / 32;
  uint32_t *mask = support_guard_end(&mask_memory, 4 * words);
  for (size_t i = 0; i < words; i++) {
    mask[i] = kind == EMPTY_MASK ? 0 : kind == FULL_MASK ? UINT32_MAX : support_u32(rng);
    if (kind == FEW_MASK) mask[i] &= support_u32(rng) & support_u32(rng) & support_u32(rng);
  }
  for (size_t b = 0; kind == BLOCKS_MASK && b < words / 2; b++) {
    const size_t which = support_below(rng, 3);
    if (which < 2) mask[2 * b] = mask[2 * b + 1] = which ? UINT32_MAX : 0;
  }
  if (kind == EMPTY_MASK && n % 32) mask[words - 1] = support_u32(rng) << n % 32;
  return mask;
}

/* ---- one row through every kernel ---- */

static size_t block_count(size_t n) {
  return (n + 63) / 64;
}

/* The largest allowed value of a block in double, and whether an allowed one is NaN. */
static double slow_block_max(const struct tombola_row *row, const uint32_t *mask, size_t b, bool *nan) {
  double most = (double)-INFINITY;
  for (size_t i = 64 * b; i < row->count && i < 64 * b + 64; i++) {
    if (!allowed(mask, i)) continue;
    double x = (double)value_at(row, i);
    if (isnan(x)) *nan = true;
    if (x > most) most = x;
  }
  return most;
}

/* Checks block_max; returns whether the row can be used further (no NaN), with its largest value. */
static bool check_block_max(const struct tombola__kernels *k, const struct tombola_row *row,
                            const uint32_t *mask, float *maxima, float *max) {
  size_t blocks = block_count(row->count);
  int found = k->block_max(row, mask, maxima);
  bool nan = false;
  *max = -INFINITY;
  for (size_t b = 0; b < blocks; b++) {
    double want = slow_block_max(row, mask, b, &nan);
    if (!found && (double)maxima[b] != want) fail_msg("%s: maximum of block %zu", k->name, b);
    if (!found && signbit(maxima[b]) && maxima[b] == 0.0f) fail_msg("%s: a maximum of -0", k->name);
    if (maxima[b] > *max) *max = maxima[b];
  }
  assert_int_equal(found, nan);
  if (!nan) assert_same_bits(k->max(maxima, blocks), *max);
  return !nan;
}

/* Rounding x - max to f32, and that times scale, moves the exponent by at most 2^-23 of itself, which is
 * below 88. */
static void check_block_expsum(const struct tombola__kernels *k, const struct tombola_row *row,
                               const uint32_t *mask, const float *maxima, float max, float scale,
                               float *sums) {
  k->block_expsum(row, mask, maxima, max, scale, sums);
  for (size_t b = 0; b < block_count(row->count); b++) {
    double want = 0.0;
    for (size_t i = 64 * b; i < row->count && i < 64 * b + 64; i++)
      if (allowed(mask, i)) want += exp(((double)value_at(row, i) - (double)max) * (double)scale);
    double off = fabs((double)sums[b] - want);
    /* The second term: what lies below the cut may be missing. */
    if (!(off <= want * 88.0 * 0x1p-22 + 64.0 * 1.3e-38)) fail_msg("%s: the sum of block %zu", k->name, b);
  }
}

/* A part against doubles, and against the 64-value kernels by bits. */
static void check_part(const struct tombola__kernels *k, const struct tombola__part *part, float max,
                       float scale, float origin) {
  float sums[65], entropy_sums[65], x[64];
  double spread = 0.0, sum = 0.0, squares = 0.0, size = 0.0;
  size_t n = part->last - part->first, count = 0;
  struct tombola__moments moments = {1, 2.0, 3.0};
  sums[n] = entropy_sums[n] = 77.0f;
  k->part_expsum(part, max, scale, sums - part->first);
  double got = k->part_entropy(part, max, scale, entropy_sums - part->first);
  k->part_moments(part, origin, &moments);
  for (size_t b = part->first; b < part->last; b++) {
    float one = 0.0f;
    double want = 0.0, want_spread = 0.0;
    k->load64(part->row, part->mask, b, x);
    for (size_t i = 0; i < 64; i++) {
      if (!(x[i] >= part->low)) {
        x[i] = -INFINITY;
        continue;
      }
      double y = ((double)x[i] - (double)max) * (double)scale, d = (double)x[i] - (double)origin;
      want += exp(y);
      if (y > -87.0) want_spread += exp(y) * y;
      count++;
      sum += d;
      squares += d * d;
      size += fabs(d);
    }
    if (!(fabs((double)sums[b - part->first] - want) <= want * 88.0 * 0x1p-22 + 64.0 * 1.3e-38))
      fail_msg("%s: part_expsum, block %zu", k->name, b);
    assert_same_bits(entropy_sums[b - part->first], sums[b - part->first]);
    if (part->maxima[b] >= part->low && (part->maxima[b] - max) * scale >= -87.33f) {
      assert_same_bits(k->entropy64(x, max, scale, &one), sums[b - part->first]);
      spread += (double)one;
      if (!(fabs((double)one - want_spread) <= fabs(want_spread) * 88.0 * 0x1p-21 + 1e-30))
        fail_msg("%s: entropy64, block %zu", k->name, b);
    }
    struct tombola__moments block = {0, 0.0, 0.0}, same = block;
    k->moments64(x, origin, &block);
    scalar->moments64(x, origin, &same);
    assert_memory_equal(&block, &same, sizeof same);
  }
  assert_same_bits(sums[n], 77.0f);
  assert_same_bits(entropy_sums[n], 77.0f);
  assert_true(got == spread);
  assert_int_equal(moments.count, count + 1);
  if (!(size < 1e15)) return; /* squares of huge values overflow, as they may */
  assert_true(fabs(moments.sum - 2.0 - sum) <= size * 0x1p-20 + 1e-12);
  assert_true(fabs(moments.squares - 3.0 - squares) <= squares * 0x1p-19 + 1e-12);
}

/* What another set gives for a part, against scalar by bits. */
static void check_same_part(const struct tombola__kernels *k, const struct tombola__part *part, float max,
                            float scale, float origin) {
  float mine[64], reference[64];
  struct tombola__moments a = {0, 0.0, 0.0}, b = a;
  size_t n = part->last - part->first;
  k->part_expsum(part, max, scale, mine - part->first);
  scalar->part_expsum(part, max, scale, reference - part->first);
  assert_memory_equal(mine, reference, n * sizeof *mine);
  assert_true(k->part_entropy(part, max, scale, mine - part->first) ==
              scalar->part_entropy(part, max, scale, reference - part->first));
  assert_memory_equal(mine, reference, n * sizeof *mine);
  k->part_moments(part, origin, &a);
  scalar->part_moments(part, origin, &b);
  assert_memory_equal(&a, &b, sizeof a);
}

static void check_parts(const struct tombola__kernels *k, const struct tombola_row *row, const uint32_t *mask,
                        const float *maxima, float max, float scale, struct support_rng *rng) {
  size_t blocks = block_count(row->count);
  struct tombola__part part = {row, mask, maxima, 0, blocks < 64 ? blocks : 64, -FLT_MAX};
  for (int round = 0; round < 2; round++) {
    check_part(k, &part, max, scale, max);
    check_same_part(k, &part, max, scale, 0.5f);
    part.last = blocks - support_below(rng, blocks);
    part.first = part.last > 60 ? part.last - 60 : support_below(rng, part.last + 1);
    float low = value_at(row, support_below(rng, row->count));
    part.low = low >= -FLT_MAX ? low : -2.0f;
  }
}

static void check_load64(const struct tombola__kernels *k, const struct tombola_row *row,
                         const uint32_t *mask) {
  for (size_t b = 0; b < block_count(row->count); b++) {
    float got[64];
    k->load64(row, mask, b, got);
    for (size_t i = 0; i < 64; i++) {
      size_t id = 64 * b + i;
      float want = id < row->count && allowed(mask, id) ? value_at(row, id) : -INFINITY;
      if (support_bits(got[i]) != support_bits(want)) fail_msg("%s: load64, id %zu", k->name, id);
    }
  }
}

/* The whole gather in steps of `limit`, each checked by the rule of kernels.h. Returns the number of entries.
 */
static size_t check_gather(const struct tombola__kernels *k, const struct tombola_row *row,
                           const uint32_t *mask, const float *maxima, float low, float high, size_t limit,
                           const struct support_guard *memory) {
  size_t blocks = block_count(row->count), next = 0, total = 0;
  struct tombola__entry *entries = support_guard_end(memory, (limit + 64) * sizeof *entries);
  while (next < blocks) {
    struct tombola__gather out = {0, 12345};
    k->gather(row, mask, maxima, next, blocks, low, high, limit, entries, &out);
    size_t count = 0, b = next;
    for (; b < blocks && count < limit; b++) {
      for (size_t i = 64 * b; i < row->count && i < 64 * b + 64; i++) {
        float x = value_at(row, i);
        if (!allowed(mask, i) || !(x >= low) || !(x < high)) continue;
        if (count >= out.count || entries[count].id != (tombola_token)i ||
            support_bits(entries[count].logit) != support_bits(x))
          fail_msg("%s: gather lost id %zu", k->name, i);
        count++;
      }
    }
    assert_int_equal(out.count, count);
    assert_int_equal(out.next_block, b);
    next = b;
    total += count;
  }
  return total;
}

static void check_gathers(const struct tombola__kernels *k, const struct tombola_row *row,
                          const uint32_t *mask, const float *maxima, float max, struct support_rng *rng) {
  size_t n = row->count;
  float middle = value_at(row, support_below(rng, n)), other = value_at(row, support_below(rng, n));
  check_gather(k, row, mask, maxima, max, INFINITY, 1, &entries_memory); /* the argmax, then the rest */
  check_gather(k, row, mask, maxima, middle, INFINITY, 1 + support_below(rng, n), &entries_memory);
  check_gather(k, row, mask, maxima, fminf(middle, other), fmaxf(middle, other), n, &entries_memory);
  size_t count = 0;
  for (size_t i = 0; i < n; i++)
    count += allowed(mask, i) && value_at(row, i) < INFINITY;
  assert_int_equal(check_gather(k, row, mask, maxima, -INFINITY, INFINITY, n, &entries_memory), count);
}

static void check_counts(const struct tombola__kernels *k, const float *values, size_t n,
                         struct support_rng *rng) {
  const float thresholds[] = {values[support_below(rng, n)], 0.0f, -0.0f, -INFINITY, INFINITY};
  for (size_t t = 0; t < 5; t++) {
    size_t want = 0;
    for (size_t i = 0; i < n; i++)
      want += values[i] >= thresholds[t];
    assert_int_equal(k->count_at_least(values, n, thresholds[t]), want);
  }
}

/* Another set's results against scalar's, by bits. What gather and load64 give is exact and has been
 * compared. */
static void check_same_bits(const struct tombola__kernels *k, const struct tombola_row *row,
                            const uint32_t *mask, const float *maxima, float max, float scale,
                            const float *sums) {
  size_t size = block_count(row->count) * sizeof(float);
  float *reference = support_guard_end(&second_maxima, size),
        *reference_sums = support_guard_end(&second_sums, size);
  assert_int_equal(scalar->block_max(row, mask, reference), 0);
  if (memcmp(reference, maxima, size) != 0) fail_msg("%s: maxima differ from scalar's", k->name);
  if (!sums) return;
  scalar->block_expsum(row, mask, reference, max, scale, reference_sums);
  if (memcmp(reference_sums, sums, size) != 0) fail_msg("%s: sums differ from scalar's", k->name);
}

static void check_row(const struct tombola__kernels *k, const struct tombola_row *row, const uint32_t *mask,
                      struct support_rng *rng) {
  static const float scales[] = {1.0f, 0.5f, 1.7f, 40.0f, 1e-3f};
  size_t size = block_count(row->count) * sizeof(float);
  float *maxima = support_guard_end(&maxima_memory, size), *sums = support_guard_end(&sums_memory, size);
  float max, scale = scales[support_below(rng, 5)];
  check_load64(k, row, mask);
  if (!check_block_max(k, row, mask, maxima, &max)) return;
  check_gathers(k, row, mask, maxima, max, rng);
  check_counts(k, maxima, block_count(row->count), rng);
  bool finite = max > -INFINITY && max < INFINITY;
  if (finite) {
    check_block_expsum(k, row, mask, maxima, max, scale, sums);
    check_parts(k, row, mask, maxima, max, scale, rng);
  }
  check_same_bits(k, row, mask, maxima, max, scale, finite ? sums : NULL);
}

static void check_length(size_t n, struct support_rng *rng) {
  for (enum tombola_dtype dtype = TOMBOLA_F32; dtype <= TOMBOLA_BF16; dtype++) {
    for (enum content content = PLAIN; content < CONTENTS; content++) {
      struct tombola_row row = make_row(rng, n, dtype, content);
      for (enum mask_kind kind = NO_MASK; kind < MASKS; kind++) {
        const uint32_t *mask = make_mask(rng, n, kind);
        for (size_t s = 0; s < set_count; s++)
          check_row(sets[s], &row, mask, rng);
      }
    }
  }
}

/* ---- tests ---- */

static void every_short_length(void **state) {
  (void)state;
  struct support_rng rng = support_rng(31);
  for (size_t n = 1; n <= 200; n++)
    check_length(n, &rng);
}

static void lengths_around_a_thousand(void **state) {
  (void)state;
  struct support_rng rng = support_rng(32);
  for (size_t n = 960; n <= 1090; n += support_long() ? 1 : 13)
    check_length(n, &rng);
}

static void a_whole_vocabulary(void **state) {
  (void)state;
  struct support_rng rng = support_rng(33);
  for (enum tombola_dtype dtype = TOMBOLA_F32; dtype <= TOMBOLA_BF16; dtype++) {
    struct tombola_row row = make_row(&rng, MOST, dtype, PLAIN);
    for (size_t s = 0; s < set_count; s++) {
      check_row(sets[s], &row, NULL, &rng);
      check_row(sets[s], &row, make_mask(&rng, MOST, ANY_MASK), &rng);
    }
  }
}

/* A NaN at each place of a row: found where it is allowed, without any effect where it isn't. */
static void a_nan_anywhere(void **state) {
  (void)state;
  struct support_rng rng = support_rng(34);
  const size_t n = 64 * 9 + 37;
  for (enum tombola_dtype dtype = TOMBOLA_F32; dtype <= TOMBOLA_BF16; dtype++) {
    struct tombola_row row = make_row(&rng, n, dtype, PLAIN);
    void *data = support_guard_end(&row_memory, n * (dtype == TOMBOLA_F32 ? 4 : 2));
    uint32_t *mask = support_guard_end(&mask_memory, (n + 31) / 32 * 4);
    memset(mask, 0xFF, (n + 31) / 32 * 4);
    for (size_t i = 0; i < n; i++) {
      float before = value_at(&row, i);
      put(data, i, dtype, i % 2 ? NAN : -NAN);
      for (size_t s = 0; s < set_count; s++) {
        float *maxima = support_guard_end(&maxima_memory, block_count(n) * sizeof(float));
        assert_int_equal(sets[s]->block_max(&row, NULL, maxima), 1);
        assert_int_equal(sets[s]->block_max(&row, mask, maxima), 1);
        mask[i / 32] &= ~(1u << i % 32);
        check_row(sets[s], &row, mask, &rng);
        mask[i / 32] |= 1u << i % 32;
      }
      put(data, i, dtype, before);
    }
  }
}

/* expsum64 by its definition, in place and not: eight lanes, eight additions each, then the tree. */
static void expsum64_is_the_pinned_sum(void **state) {
  (void)state;
  struct support_rng rng = support_rng(35);
  for (int round = 0; round < 2000; round++) {
    float x[64], want[64], got[64], lane[8] = {0};
    float max = support_normal(&rng, 3.0f, 2.0f), scale = support_between(&rng, 0.1f, 4.0f);
    for (size_t i = 0; i < 64; i++) {
      x[i] = support_below(&rng, 9) ? fminf(max, support_normal(&rng, -4.0f, 9.0f)) : -INFINITY;
      want[i] = tombola__exp((x[i] - max) * scale);
      lane[i % 8] += want[i];
    }
    float sum = ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
    for (size_t s = 0; s < set_count; s++) {
      assert_same_bits(sets[s]->expsum64(x, max, scale, got), sum);
      assert_memory_equal(got, want, sizeof want);
      memcpy(got, x, sizeof x);
      assert_same_bits(sets[s]->expsum64(got, max, scale, got), sum);
      assert_memory_equal(got, want, sizeof want);
    }
  }
}

/* block_expsum leaves out blocks whose sum would be 0, and must agree with expsum64 on all the others. */
static void block_sums_are_expsum64s(void **state) {
  (void)state;
  struct support_rng rng = support_rng(36);
  struct tombola_row row = make_row(&rng, 64 * 40 + 11, TOMBOLA_F32, PLAIN);
  float maxima[41], sums[41], x[64], max;
  for (size_t s = 0; s < set_count; s++) {
    for (float scale = 0.25f; scale < 100.0f; scale *= 1.9f) {
      check_block_max(sets[s], &row, NULL, maxima, &max);
      sets[s]->block_expsum(&row, NULL, maxima, max, scale, sums);
      for (size_t b = 0; b < 41; b++) {
        sets[s]->load64(&row, NULL, b, x);
        assert_same_bits(sums[b], sets[s]->expsum64(x, max, scale, x));
      }
    }
  }
}

/* A gather adds to what is there, from the first block asked for, and stops at once when the limit is
 * reached. */
static void a_gather_goes_on_where_it_stood(void **state) {
  (void)state;
  struct support_rng rng = support_rng(37);
  struct tombola_row row = make_row(&rng, 64 * 20, TOMBOLA_F32, PLAIN);
  float maxima[20], max;
  struct tombola__entry entries[64 * 21];
  for (size_t s = 0; s < set_count; s++) {
    check_block_max(sets[s], &row, NULL, maxima, &max);
    struct tombola__gather out = {3, 0};
    entries[2].id = 77;
    sets[s]->gather(&row, NULL, maxima, 5, 7, -1e30f, INFINITY, 1000, entries, &out);
    assert_int_equal(out.count, 3 + 128);
    assert_int_equal(out.next_block, 7);
    assert_int_equal(entries[2].id, 77);
    assert_int_equal(entries[3].id, 5 * 64);
    sets[s]->gather(&row, NULL, maxima, 9, 20, -1e30f, INFINITY, 100, entries, &out);
    assert_int_equal(out.count, 131);
    assert_int_equal(out.next_block, 9);
    out.count = 0;
    sets[s]->gather(&row, NULL, maxima, 9, 20, -1e30f, INFINITY, 65, entries, &out);
    assert_int_equal(out.count, 128);
    assert_int_equal(out.next_block, 11);
    sets[s]->gather(&row, NULL, maxima, 4, 4, -1e30f, INFINITY, 65, entries, &out);
    assert_int_equal(out.next_block, 4);
  }
}

static void counts_and_maxima_of_any_length(void **state) {
  (void)state;
  struct support_rng rng = support_rng(38);
  for (size_t s = 0; s < set_count; s++) {
    assert_same_bits(sets[s]->max(NULL, 0), -INFINITY);
    assert_int_equal(sets[s]->count_at_least(NULL, 0, 0.0f), 0);
    for (size_t n = 1; n <= 200; n++) {
      float *values = support_guard_end(&row_memory, n * sizeof *values), want = -INFINITY;
      for (size_t i = 0; i < n; i++) {
        values[i] = content_value(&rng, n % 3 ? WILD : TIES);
        if (values[i] > want) want = values[i];
      }
      assert_same_bits(sets[s]->max(values, n), want + 0.0f);
      check_counts(sets[s], values, n, &rng);
      for (size_t i = 0; i < n; i++)
        values[i] = -0.0f;
      assert_same_bits(sets[s]->max(values, n), 0.0f);
    }
  }
}

/* ---- set-up ---- */

static int make_memories(void **state) {
  (void)state;
  scalar = tombola__kernels_find("scalar");
  sets[set_count++] = scalar;
  sets[set_count] = tombola__kernels_find("avx2");
  if (sets[set_count]) set_count++;
  fprintf(stderr, "sets: scalar%s\n", set_count > 1 ? ", avx2" : "");
  row_memory = support_guard_new(MOST * sizeof(float));
  mask_memory = support_guard_new(MOST / 8);
  maxima_memory = support_guard_new(MOST_BLOCKS * sizeof(float));
  sums_memory = support_guard_new(MOST_BLOCKS * sizeof(float));
  second_maxima = support_guard_new(MOST_BLOCKS * sizeof(float));
  second_sums = support_guard_new(MOST_BLOCKS * sizeof(float));
  entries_memory = support_guard_new((MOST + 64) * sizeof(struct tombola__entry));
  return 0;
}

static int free_memories(void **state) {
  (void)state;
  struct support_guard *all[] = {&row_memory,    &mask_memory, &maxima_memory, &sums_memory,
                                 &second_maxima, &second_sums, &entries_memory};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    support_guard_free(all[i]);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_short_length),
      cmocka_unit_test(lengths_around_a_thousand),
      cmocka_unit_test(a_whole_vocabulary),
      cmocka_unit_test(a_nan_anywhere),
      cmocka_unit_test(expsum64_is_the_pinned_sum),
      cmocka_unit_test(block_sums_are_expsum64s),
      cmocka_unit_test(a_gather_goes_on_where_it_stood),
      cmocka_unit_test(counts_and_maxima_of_any_length),
  };
  return cmocka_run_group_tests(tests, make_memories, free_memories);
}
