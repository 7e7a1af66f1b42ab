/* SPDX-License-Identifier: Apache-2.0 */
/* PCG32 (O'Neill, 2014: XSH-RR, 64 bits of state) with the stream and the seeding that rMLX's sampler.rs has:
 * the increment is the golden ratio's, the seed goes in between two steps. */
#include "random.h"

#define MULTIPLIER UINT64_C(6364136223846793005)
#define INCREMENT  ((UINT64_C(0x9E3779B97F4A7C15) << 1) | 1)

uint32_t tombola__pcg32_next(void *memory) {
  uint64_t *state = memory;
  uint64_t old = *state;
  *state = old * MULTIPLIER + INCREMENT;
  uint32_t x = (uint32_t)(((old >> 18) ^ old) >> 27);
  unsigned by = (unsigned)(old >> 59);
  return x >> by | x << (-by & 31);
}

static void seed(void *memory, uint64_t value) {
  uint64_t *state = memory;
  *state = 0;
  tombola__pcg32_next(state);
  *state += value;
  tombola__pcg32_next(state);
}

static double uniform(void *memory) {
  return (double)(tombola__pcg32_next(memory) >> 8) * 0x1p-24;
}

static void key(void *memory, struct tombola__noise_key *out) {
  *out = (struct tombola__noise_key){0};
  for (int i = 0; i < 2; i++)
    out->key[i] = tombola__pcg32_next(memory);
}

const struct tombola__generator tombola__pcg32 = {
    .name = "pcg32",
    .state_size = sizeof(uint64_t),
    .max_seed = UINT64_MAX,
    .seed = seed,
    .uniform = uniform,
    .key = key,
    .noise = &tombola__noise_philox,
};
