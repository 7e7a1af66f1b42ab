/* SPDX-License-Identifier: Apache-2.0 */
/* ChaCha (Bernstein, 2008) with twelve rounds as the StdRng of Rust's rand 0.8, which minfer draws with: a
 * 64-bit block counter from 0, stream 0, and seed_from_u64, which makes the key of eight words of PCG32 whose
 * state moves before each word. */
#include "random.h"

#include <string.h>

struct state {
  uint64_t counter; /* of the next block */
  uint32_t key[8];
  uint32_t block[16];
  uint32_t next; /* index of the next word to give; 16: a new block is due */
};

static uint32_t rotate(uint32_t x, unsigned by) {
  return x << by | x >> (32 - by);
}

static void quarter(uint32_t *x, int a, int b, int c, int d) {
  x[a] += x[b];
  x[d] = rotate(x[d] ^ x[a], 16);
  x[c] += x[d];
  x[b] = rotate(x[b] ^ x[c], 12);
  x[a] += x[b];
  x[d] = rotate(x[d] ^ x[a], 8);
  x[c] += x[d];
  x[b] = rotate(x[b] ^ x[c], 7);
}

void tombola__chacha_block(const uint32_t key[8], uint64_t counter, unsigned rounds, uint32_t out[16]) {
  /* "expand 32-byte k" */
  uint32_t begin[16] = {0x61707865u, 0x3320646Eu, 0x79622D32u, 0x6B206574u};
  memcpy(begin + 4, key, 8 * sizeof *key);
  begin[12] = (uint32_t)counter;
  begin[13] = (uint32_t)(counter >> 32);
  memcpy(out, begin, sizeof begin);
  for (unsigned round = 0; round < rounds; round += 2) {
    for (int i = 0; i < 4; i++)
      quarter(out, i, 4 + i, 8 + i, 12 + i);
    for (int i = 0; i < 4; i++)
      quarter(out, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4);
  }
  for (int i = 0; i < 16; i++)
    out[i] += begin[i];
}

static void seed(void *memory, uint64_t value) {
  struct state *state = memory;
  *state = (struct state){.next = 16};
  for (int i = 0; i < 8; i++) {
    value = value * UINT64_C(6364136223846793005) + UINT64_C(11634580027462260723);
    uint32_t x = (uint32_t)(((value >> 18) ^ value) >> 27);
    unsigned by = (unsigned)(value >> 59);
    state->key[i] = x >> by | x << (-by & 31);
  }
}

uint32_t tombola__chacha12_next(void *memory) {
  struct state *state = memory;
  if (state->next >= 16) {
    tombola__chacha_block(state->key, state->counter++, 12, state->block);
    state->next = 0;
  }
  return state->block[state->next++];
}

static double uniform(void *memory) {
  return (double)(tombola__chacha12_next(memory) >> 8) * 0x1p-24;
}

static void key(void *memory, struct tombola__noise_key *out) {
  *out = (struct tombola__noise_key){0};
  for (int i = 0; i < 2; i++)
    out->key[i] = tombola__chacha12_next(memory);
}

const struct tombola__generator tombola__chacha12 = {
    .name = "chacha12",
    .state_size = sizeof(struct state),
    .max_seed = UINT64_MAX,
    .seed = seed,
    .uniform = uniform,
    .key = key,
    .noise = &tombola__noise_philox,
};
