/* SPDX-License-Identifier: Apache-2.0 */
/* Random test data. The seed is TOMBOLA_TEST_SEED, or 1; it is printed, so that a failure can be run again.
 * The generator is splitmix64 (Steele, Lea and Flood, 2014): none that the library itself uses. */
#ifndef SUPPORT_RNG_H
#define SUPPORT_RNG_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct support_rng {
  uint64_t state;
};

/* The seed of this run; printed once a program, on standard error. */
static inline uint64_t support_seed(void) {
  static int printed = 0;
  const char *text = getenv("TOMBOLA_TEST_SEED");
  uint64_t seed = text && *text ? strtoull(text, NULL, 0) : 1;
  if (printed) return seed; /* threads only look, once main has asked */
  fprintf(stderr, "TOMBOLA_TEST_SEED=%llu\n", (unsigned long long)seed);
  printed = 1;
  return seed;
}

/* A stream of its own for each test: `stream` keeps them apart, so that tests don't depend on each other's
 * order. */
static inline struct support_rng support_rng(uint64_t stream) {
  return (struct support_rng){support_seed() * 0x9E3779B97F4A7C15u + stream * 0xD1B54A32D192ED03u};
}

static inline uint64_t support_u64(struct support_rng *rng) {
  uint64_t z = rng->state += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

static inline uint32_t support_u32(struct support_rng *rng) {
  return (uint32_t)(support_u64(rng) >> 32);
}

/* 0 <= result < n; the bias of the modulus is below n / 2^64. */
static inline size_t support_below(struct support_rng *rng, size_t n) {
  return (size_t)(support_u64(rng) % n);
}

/* [0, 1) */
static inline double support_uniform(struct support_rng *rng) {
  return (double)(support_u64(rng) >> 11) * 0x1p-53;
}

static inline float support_between(struct support_rng *rng, float low, float high) {
  return (float)((double)low + support_uniform(rng) * ((double)high - (double)low));
}

/* Bell-shaped (the sum of twelve uniforms), which is what logits look like. */
static inline float support_normal(struct support_rng *rng, float mean, float deviation) {
  double sum = -6.0;
  for (int i = 0; i < 12; i++)
    sum += support_uniform(rng);
  return (float)((double)mean + (double)deviation * sum);
}

/* Whether larger counts are asked for (`make test-long`). */
static inline int support_long(void) {
  const char *text = getenv("TOMBOLA_TEST_LONG");
  return text && *text && *text != '0';
}

#endif
