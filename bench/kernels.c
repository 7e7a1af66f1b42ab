/* SPDX-License-Identifier: Apache-2.0 */
/* Times every kernel of every instruction set on one thread, at three vocabulary sizes: `bench_kernels
 * [REPEATS]`. A line is the set, the kernel, the dtype, the tokens, and the nanoseconds of one call: the
 * median and the fastest of the repeats. The row is warm: it has been read just before, as it would be after
 * the model wrote it. */
#define _POSIX_C_SOURCE 200809L
#include "kernels/kernels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST_TOKENS  262144
#define MOST_BLOCKS  (MOST_TOKENS / TOMBOLA__BLOCK)
#define MOST_REPEATS 10000

static float row_f32[MOST_TOKENS], maxima[MOST_BLOCKS], sums[MOST_BLOCKS];
static uint16_t row_f16[MOST_TOKENS], row_bf16[MOST_TOKENS];
static uint32_t mask[MOST_TOKENS / 32];
static struct tombola__entry entries[MOST_TOKENS + TOMBOLA__BLOCK];
static volatile float sink; /* keeps results alive */

/* What one measurement works on. */
struct task {
  const struct tombola__kernels *kernels;
  struct tombola_row row;
  const uint32_t *mask;
  size_t blocks;
  float max;
};

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static uint32_t next_random(void) {
  static uint32_t state = 1;
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}

/* Cut to f16, for magnitudes from 2^-14 to 2^16; smaller ones become 0. */
static uint16_t half_of(uint32_t bits) {
  uint32_t exponent = bits >> 23 & 0xFF;
  if (exponent < 113) return 0;
  return (uint16_t)(bits >> 16 & 0x8000u) | (uint16_t)((exponent - 112) << 10 | (bits >> 13 & 0x3FF));
}

/* Logits as a model gives them: a bell of deviation 3 around -2, and a few far above. */
static void fill(void) {
  for (size_t i = 0; i < MOST_TOKENS; i++) {
    float sum = -6.0f;
    for (int k = 0; k < 12; k++)
      sum += (float)next_random() * 0x1p-24f;
    float x = -2.0f + 3.0f * sum + (next_random() % 5000 == 0 ? 12.0f : 0.0f);
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    row_f32[i] = x;
    row_bf16[i] = (uint16_t)(bits >> 16);
    row_f16[i] = half_of(bits);
  }
  for (size_t i = 0; i < MOST_TOKENS / 32; i++)
    mask[i] = next_random() << 16 ^ next_random();
}

static void run_block_max(struct task *t) {
  sink = (float)t->kernels->block_max(&t->row, t->mask, maxima);
}

static void run_block_expsum(struct task *t) {
  t->kernels->block_expsum(&t->row, t->mask, maxima, t->max, 1.0f, sums);
  sink = sums[0];
}

static void gather_from(struct task *t, float low) {
  struct tombola__gather out = {0, 0};
  t->kernels->gather(&t->row, t->mask, maxima, 0, t->blocks, low, INFINITY, MOST_TOKENS, entries, &out);
  sink = (float)out.count;
}

static void run_gather_few(struct task *t) {
  gather_from(t, t->max - 3.0f);
}
static void run_gather_half(struct task *t) {
  gather_from(t, -2.0f);
}
static void run_gather_all(struct task *t) {
  gather_from(t, -1e30f);
}

static void run_count(struct task *t) {
  sink = (float)t->kernels->count_at_least(maxima, t->blocks, t->max - 5.0f);
}
static void run_max(struct task *t) {
  sink = t->kernels->max(maxima, t->blocks);
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void measure(struct task *t, const char *kernel, void (*run)(struct task *), int repeats) {
  static const char *const dtypes[] = {"f32", "f16", "bf16"};
  static double times[MOST_REPEATS];
  run(t);
  for (int i = 0; i < repeats; i++) {
    double start = now_ns();
    run(t);
    times[i] = now_ns() - start;
  }
  qsort(times, (size_t)repeats, sizeof *times, by_value);
  printf("%-7s %-18s %-5s %7zu %12.0f %12.0f\n", t->kernels->name, kernel, dtypes[t->row.dtype], t->row.count,
         times[repeats / 2], times[0]);
}

static void measure_row(const struct tombola__kernels *kernels, const void *data, enum tombola_dtype dtype,
                        size_t n, int repeats) {
  struct task t = {kernels, {data, n, dtype}, mask, n / TOMBOLA__BLOCK, 0.0f};
  measure(&t, "block_max masked", run_block_max, repeats);
  t.max = kernels->max(maxima, t.blocks);
  measure(&t, "block_expsum masked", run_block_expsum, repeats);
  t.mask = NULL;
  measure(&t, "block_max", run_block_max, repeats);
  t.max = kernels->max(maxima, t.blocks);
  measure(&t, "block_expsum", run_block_expsum, repeats);
  measure(&t, "gather few", run_gather_few, repeats);
  measure(&t, "gather half", run_gather_half, repeats);
  measure(&t, "gather all", run_gather_all, repeats);
  measure(&t, "count_at_least", run_count, repeats);
  measure(&t, "max", run_max, repeats);
}

int main(int argc, char **argv) {
  static const size_t sizes[] = {32000, 151936, 262144};
  static const char *const names[] = {"avx2", "scalar"};
  int repeats = argc > 1 ? atoi(argv[1]) : 200;
  if (repeats < 1 || repeats > MOST_REPEATS) {
    fprintf(stderr, "bench_kernels: REPEATS must be 1 to %d\n", MOST_REPEATS);
    return 2;
  }
  fill();
  printf("%-7s %-18s %-5s %7s %12s %12s\n", "set", "kernel", "dtype", "tokens", "median ns", "least ns");
  for (size_t k = 0; k < 2; k++) {
    const struct tombola__kernels *kernels = tombola__kernels_find(names[k]);
    for (size_t s = 0; kernels && s < 3; s++) {
      measure_row(kernels, row_f32, TOMBOLA_F32, sizes[s], repeats);
      measure_row(kernels, row_f16, TOMBOLA_F16, sizes[s], repeats);
      measure_row(kernels, row_bf16, TOMBOLA_BF16, sizes[s], repeats);
    }
  }
  return 0;
}
