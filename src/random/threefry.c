/* SPDX-License-Identifier: Apache-2.0 */
/* Threefry2x32-20 (Salmon et al., 2011) and what mlx makes of it: a global key that every random call splits
 * in two, and the order of the words of an array. Found out from mlx 0.32.4 by comparing draws. */
#include "random.h"

#include <stdbool.h>

#define PARITY 0x1BD11BDAu

static const unsigned rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};

/* n counters abreast, which a compiler turns into vectors: (a[i], b[i]) becomes its two words. */
static inline void encrypt(const uint32_t key[2], uint32_t *a, uint32_t *b, size_t n) {
  const uint32_t keys[3] = {key[0], key[1], key[0] ^ key[1] ^ PARITY};
  for (size_t i = 0; i < n; i++) {
    a[i] += keys[0];
    b[i] += keys[1];
  }
  for (unsigned group = 0; group < 5; group++) {
    for (unsigned r = 0; r < 4; r++) {
      unsigned by = rotations[group % 2][r];
      for (size_t i = 0; i < n; i++) {
        a[i] += b[i];
        b[i] = (b[i] << by | b[i] >> (32 - by)) ^ a[i];
      }
    }
    for (size_t i = 0; i < n; i++) {
      a[i] += keys[(group + 1) % 3];
      b[i] += keys[(group + 2) % 3] + group + 1;
    }
  }
}

void tombola__threefry2x32(const uint32_t key[2], const uint32_t counter[2], uint32_t out[2]) {
  uint32_t a = counter[0], b = counter[1];
  encrypt(key, &a, &b, 1);
  out[0] = a;
  out[1] = b;
}

/* ---- the words of an array ---- */

/* Counter pairs (i, i + second) give the words i and i + second; with an odd count the middle word has a pair
 * to itself, (count / 2, 0). Says which of its two words is the token's. */
static int pair(size_t count, size_t id, uint32_t *a, uint32_t *b) {
  size_t half = count / 2, second = count - half;
  bool late = id >= second;
  *a = (uint32_t)(late ? id - second : id);
  *b = late ? (uint32_t)id : id >= half ? 0 : (uint32_t)(id + second);
  return late;
}

static uint32_t word(const struct tombola__noise_key *key, size_t count, size_t id) {
  uint32_t words[2];
  int place = pair(count, id, &words[0], &words[1]);
  encrypt(key->key, &words[0], &words[1], 1);
  return words[place];
}

static void words64(const struct tombola__noise_key *key, size_t count, size_t first, uint32_t words[64]) {
  uint32_t other[64];
  size_t second = count - count / 2;
  for (size_t i = 0; i < 64; i++)
    pair(count, first + i, &words[i], &other[i]);
  encrypt(key->key, words, other, 64);
  for (size_t i = first < second ? second - first : 0; i < 64; i++)
    words[i] = other[i];
}

/* mlx divides by f32(2^32 - 1), which is 2^32, and cuts what reaches 1. */
static float uniform_of(uint32_t w) {
  float u = (float)w * 0x1p-32f;
  return u < 0x1.fffffep-1f ? u : 0x1.fffffep-1f;
}

static void uniform_of64(const uint32_t words[64], float uniforms[64]) {
  for (int i = 0; i < 64; i++)
    uniforms[i] = uniform_of(words[i]);
}

const struct tombola__noise tombola__noise_threefry = {
    .name = "threefry2x32-20",
    .word = word,
    .words64 = words64,
    .uniform = uniform_of,
    .uniform64 = uniform_of64,
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
