/* SPDX-License-Identifier: Apache-2.0 */
/* Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011), the words
 * of a row as mlxcel's kernels index them, and tombola's own generator. */
#include "random.h"

#define MULTIPLIER_0 UINT64_C(0xD2511F53)
#define MULTIPLIER_1 UINT64_C(0xCD9E8D57)
#define WEYL_0       0x9E3779B9u
#define WEYL_1       0xBB67AE85u

void tombola__philox4x32(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4]) {
  uint32_t k0 = key[0], k1 = key[1];
  uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
  for (int round = 0; round < 10; round++) {
    uint64_t p0 = MULTIPLIER_0 * c0, p1 = MULTIPLIER_1 * c2;
    c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
    c1 = (uint32_t)p1;
    c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c3 = (uint32_t)p0;
    k0 += WEYL_0;
    k1 += WEYL_1;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}

/* ---- the noise of a row ---- */

static void words4(const struct tombola__noise_key *key, size_t first, uint32_t out[4]) {
  const uint32_t counter[4] = {(uint32_t)(first / 4), key->counter[0], key->counter[1], key->counter[2]};
  tombola__philox4x32(key->key, counter, out);
}

static uint32_t word(const struct tombola__noise_key *key, size_t count, size_t id) {
  (void)count;
  uint32_t words[4];
  words4(key, id, words);
  return words[id % 4];
}

/* Sixteen blocks abreast, which a compiler turns into vectors. */
static void words64(const struct tombola__noise_key *key, size_t count, size_t first, uint32_t words[64]) {
  (void)count;
  uint32_t c0[16], c1[16], c2[16], c3[16], k0 = key->key[0], k1 = key->key[1];
  for (uint32_t i = 0; i < 16; i++) {
    c0[i] = (uint32_t)(first / 4) + i;
    c1[i] = key->counter[0];
    c2[i] = key->counter[1];
    c3[i] = key->counter[2];
  }
  for (int round = 0; round < 10; round++) {
    for (int i = 0; i < 16; i++) {
      uint64_t p0 = MULTIPLIER_0 * c0[i], p1 = MULTIPLIER_1 * c2[i];
      c0[i] = (uint32_t)(p1 >> 32) ^ c1[i] ^ k0;
      c1[i] = (uint32_t)p1;
      c2[i] = (uint32_t)(p0 >> 32) ^ c3[i] ^ k1;
      c3[i] = (uint32_t)p0;
    }
    k0 += WEYL_0;
    k1 += WEYL_1;
  }
  for (int i = 0; i < 16; i++) {
    words[4 * i] = c0[i];
    words[4 * i + 1] = c1[i];
    words[4 * i + 2] = c2[i];
    words[4 * i + 3] = c3[i];
  }
}

/* Both ends are open: 24 bits could round to exactly 1. */
static float open_uniform(uint32_t w) {
  return ((float)(w >> 9) + 0.5f) * 0x1p-23f;
}

static void open_uniform64(const uint32_t words[64], float uniforms[64]) {
  for (int i = 0; i < 64; i++)
    uniforms[i] = ((float)(int32_t)(words[i] >> 9) + 0.5f) * 0x1p-23f;
}

const struct tombola__noise tombola__noise_philox = {
    .name = "philox4x32-10",
    .word = word,
    .words64 = words64,
    .uniform = open_uniform,
    .uniform64 = open_uniform64,
};

/* ---- the generator keyed by (seed, request, step, stage) ---- */

/* Streams of the counter's second word that no stage's name gives. */
enum { STREAM_DRAW = 0, STREAM_ROW = 1, FIRST_STAGE = 2 };

struct state {
  uint32_t key[2]; /* the seed */
  uint32_t request, step, index;
};

static void seed(void *memory, uint64_t value) {
  struct state *state = memory;
  *state = (struct state){.key = {(uint32_t)value, (uint32_t)(value >> 32)}};
}

static double uniform_at(const struct state *state, uint32_t stream, uint32_t index) {
  const uint32_t counter[4] = {index, stream, state->step, state->request};
  uint32_t words[4];
  tombola__philox4x32(state->key, counter, words);
  uint64_t bits = (uint64_t)words[0] << 32 | words[1];
  return (double)(bits >> 11) * 0x1p-53;
}

static double uniform(void *memory) {
  struct state *state = memory;
  return uniform_at(state, STREAM_DRAW, state->index++);
}

static void key(void *memory, struct tombola__noise_key *out) {
  const struct state *state = memory;
  *out = (struct tombola__noise_key){.key = {state->key[0], state->key[1]},
                                     .counter = {STREAM_ROW, state->step, state->request}};
}

static void request(void *memory, uint32_t number) {
  struct state *state = memory;
  state->request = number;
}

static void next_step(void *memory) {
  struct state *state = memory;
  state->step++;
  state->index = 0;
}

static double stage_uniform(const void *memory, uint32_t stage) {
  return uniform_at(memory, stage, 0);
}

/* FNV-1a, moved past the streams that are taken. */
uint32_t tombola__stage_stream(const char *stage) {
  uint32_t hash = 2166136261u;
  for (const char *c = stage; *c; c++)
    hash = (hash ^ (unsigned char)*c) * 16777619u;
  return hash < FIRST_STAGE ? hash + FIRST_STAGE : hash;
}

const struct tombola__generator tombola__counter = {
    .name = "counter",
    .state_size = sizeof(struct state),
    .max_seed = UINT64_MAX,
    .seed = seed,
    .uniform = uniform,
    .key = key,
    .noise = &tombola__noise_philox,
    .request = request,
    .next_step = next_step,
    .stage_uniform = stage_uniform,
};
