/* SPDX-License-Identifier: Apache-2.0 */
/* The Mersenne Twister MT19937 as the C++ standard pins it (ISO C++ [rand.eng.mers], 10000th word of seed
 * 5489 is 4123659995), and the uniform that libstdc++ makes of it (generate_canonical<double, 53>: two
 * words). */
#include "random.h"

#include <math.h>

#define WORDS      624
#define MIDDLE     397
#define UPPER_BIT  0x80000000u
#define LOWER_BITS 0x7FFFFFFFu

struct state {
  uint32_t words[WORDS];
  uint32_t next; /* index of the next word to give; WORDS: a new generation is due */
};

static void seed(void *memory, uint64_t value) {
  struct state *state = memory;
  state->words[0] = (uint32_t)value;
  for (uint32_t i = 1; i < WORDS; i++) {
    uint32_t before = state->words[i - 1];
    state->words[i] = 1812433253u * (before ^ (before >> 30)) + i;
  }
  state->next = WORDS;
}

static uint32_t twist(uint32_t upper, uint32_t lower, uint32_t far) {
  uint32_t joined = (upper & UPPER_BIT) | (lower & LOWER_BITS);
  return far ^ (joined >> 1) ^ ((lower & 1) ? 0x9908B0DFu : 0);
}

static void generate(struct state *state) {
  uint32_t *w = state->words;
  for (int i = 0; i < WORDS - MIDDLE; i++)
    w[i] = twist(w[i], w[i + 1], w[i + MIDDLE]);
  for (int i = WORDS - MIDDLE; i < WORDS - 1; i++)
    w[i] = twist(w[i], w[i + 1], w[i + MIDDLE - WORDS]);
  w[WORDS - 1] = twist(w[WORDS - 1], w[0], w[MIDDLE - 1]);
  state->next = 0;
}

uint32_t tombola__mt19937_next(void *memory) {
  struct state *state = memory;
  if (state->next >= WORDS) generate(state);
  uint32_t y = state->words[state->next++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9D2C5680u;
  y ^= (y << 15) & 0xEFC60000u;
  return y ^ (y >> 18);
}

/* The sum has 64 bits, so it is rounded to a double's 53, possibly up to 2^64; libstdc++ then gives the
 * largest double below 1. */
static double uniform(void *memory) {
  double low = (double)tombola__mt19937_next(memory);
  double high = (double)tombola__mt19937_next(memory);
  double value = (low + high * 0x1p32) / 0x1p64;
  return value < 1.0 ? value : nextafter(1.0, 0.0);
}

static void key(void *memory, struct tombola__noise_key *out) {
  *out = (struct tombola__noise_key){0};
  for (int i = 0; i < 2; i++)
    out->key[i] = tombola__mt19937_next(memory);
}

const struct tombola__generator tombola__mt19937 = {
    .name = "mt19937",
    .state_size = sizeof(struct state),
    .max_seed = UINT32_MAX,
    .seed = seed,
    .uniform = uniform,
    .key = key,
    .noise = &tombola__noise_philox,
};
