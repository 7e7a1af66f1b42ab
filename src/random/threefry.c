/* SPDX-License-Identifier: Apache-2.0 */
/* Threefry2x32-20 (Salmon et al., 2011) and what mlx makes of it: a global key that every random call splits
 * in two, and the order of the words of an array. Found out from mlx 0.32.4 by comparing draws. */
#include "random.h"

#define PARITY 0x1BD11BDAu

void tombola__threefry2x32(const uint32_t key[2], const uint32_t counter[2], uint32_t out[2]) {
  static const unsigned rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const uint32_t keys[3] = {key[0], key[1], key[0] ^ key[1] ^ PARITY};
  uint32_t a = counter[0] + keys[0], b = counter[1] + keys[1];
  for (unsigned group = 0; group < 5; group++) {
    for (unsigned i = 0; i < 4; i++) {
      unsigned by = rotations[group % 2][i];
      a += b;
      b = (b << by | b >> (32 - by)) ^ a;
    }
    a += keys[(group + 1) % 3];
    b += keys[(group + 2) % 3] + group + 1;
  }
  out[0] = a;
  out[1] = b;
}

/* ---- the words of an array ---- */

/* Counter pairs (i, i + second) give the words i and i + second; with an odd count the middle word has a pair
 * to itself, (count / 2, 0). */
static uint32_t word(const struct tombola__noise_key *key, size_t count, size_t id) {
  size_t half = count / 2, second = count - half;
  uint32_t counter[2] = {(uint32_t)id, (uint32_t)(id + second)}, out[2];
  size_t place = 0;
  if (id >= second) {
    counter[0] = (uint32_t)(id - second);
    counter[1] = (uint32_t)id;
    place = 1;
  } else if (id >= half) {
    counter[1] = 0;
  }
  tombola__threefry2x32(key->key, counter, out);
  return out[place];
}

static void words64(const struct tombola__noise_key *key, size_t count, size_t first, uint32_t words[64]) {
  for (size_t i = 0; i < 64; i++)
    words[i] = word(key, count, first + i);
}

/* mlx divides by f32(2^32 - 1), which is 2^32, and cuts what reaches 1. */
static float uniform_of(uint32_t w) {
  float u = (float)w * 0x1p-32f;
  return u < 0x1.fffffep-1f ? u : 0x1.fffffep-1f;
}

const struct tombola__noise tombola__noise_threefry = {
    .name = "threefry2x32-20",
    .word = word,
    .words64 = words64,
    .uniform = uniform_of,
};

/* ---- the global key ---- */

void tombola__threefry_split(const uint32_t key[2], uint32_t next[2], uint32_t own[2]) {
  const struct tombola__noise_key whole = {.key = {key[0], key[1]}};
  for (size_t i = 0; i < 2; i++) {
    next[i] = word(&whole, 4, i);
    own[i] = word(&whole, 4, 2 + i);
  }
}

static void seed(void *memory, uint64_t value) {
  uint32_t *key = memory;
  key[0] = (uint32_t)(value >> 32);
  key[1] = (uint32_t)value;
}

static void split_off(void *memory, struct tombola__noise_key *out) {
  uint32_t *key = memory, next[2];
  *out = (struct tombola__noise_key){0};
  tombola__threefry_split(key, next, out->key);
  key[0] = next[0];
  key[1] = next[1];
}

static double uniform(void *memory) {
  struct tombola__noise_key own;
  split_off(memory, &own);
  return (double)uniform_of(word(&own, 1, 0));
}

const struct tombola__generator tombola__threefry = {
    .name = "threefry",
    .state_size = 2 * sizeof(uint32_t),
    .max_seed = UINT64_MAX,
    .seed = seed,
    .uniform = uniform,
    .key = split_off,
    .noise = &tombola__noise_threefry,
};

const struct tombola__generator tombola__philox = {
    .name = "philox",
    .state_size = 2 * sizeof(uint32_t),
    .max_seed = UINT64_MAX,
    .seed = seed,
    .uniform = uniform,
    .key = split_off,
    .noise = &tombola__noise_philox,
};
