/* SPDX-License-Identifier: Apache-2.0 */
/* Generators of random numbers, each equal to its reference engine bit for bit, and the noise of a whole row.
 * A generator is a const descriptor over a block of plain memory, so that a snapshot is a copy. */
#ifndef TOMBOLA_RANDOM_H
#define TOMBOLA_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* ---- the noise of a row ---- */

/* What one draw's words are made from: a key, and the words of the counter that stay the same. */
struct tombola__noise_key {
  uint32_t key[2];
  uint32_t counter[3]; /* words 1 to 3 of philox's counter; threefry has none to spare and ignores them */
};

/* A word for each token, whatever the order in which they are asked for, and the Gumbel noise made of it. */
struct tombola__noise {
  const char *name;
  /* The word of token `id` in a row of `count`. */
  uint32_t (*word)(const struct tombola__noise_key *key, size_t count, size_t id);
  /* The words of tokens first to first + 63, first a multiple of 64; those from count on mean nothing. */
  void (*words64)(const struct tombola__noise_key *key, size_t count, size_t first, uint32_t words[64]);
  /* The uniforms that the engine makes of words: in (0, 1), or in [0, 1) for threefry. */
  float (*uniform)(uint32_t word);
  void (*uniform64)(const uint32_t words[64], float uniforms[64]);
};

/* mlxcel's: philox4x32-10 of {id / 4, counter[0], counter[1], counter[2]}, word id % 4; the uniform is
 * ((word >> 9) + 0.5) / 2^23. */
extern const struct tombola__noise tombola__noise_philox;
/* mlx's: the words of bits(key, count); the uniform is word / 2^32 in f32, at most the last float below 1. */
extern const struct tombola__noise tombola__noise_threefry;

/* ---- generators ---- */

struct tombola__generator {
  const char *name;
  size_t state_size;
  uint64_t max_seed; /* larger seeds are refused by the parameters' check */
  void (*seed)(void *state, uint64_t seed);
  double (*uniform)(void *state); /* in [0, 1) */
  /* The key of a draw that needs many words; goes on as after a uniform. */
  void (*key)(void *state, struct tombola__noise_key *key);
  const struct tombola__noise *noise; /* how such a draw makes its words */

  /* Only for a generator that is keyed by the step; NULL otherwise. */
  void (*request)(void *state, uint32_t request);             /* which of many requests with one seed */
  void (*next_step)(void *state);                             /* a token is done */
  double (*stage_uniform)(const void *state, uint32_t stage); /* a stage's own, at this step */
};

/* std::mt19937 and libstdc++'s uniform_real_distribution<double>: two words a uniform, (w0 + w1 * 2^32) /
 * 2^64. */
extern const struct tombola__generator tombola__mt19937;
/* PCG-XSH-RR 64/32 as rMLX seeds it; the uniform is (word >> 8) / 2^24. */
extern const struct tombola__generator tombola__pcg32;
/* ChaCha12 as rand 0.8's StdRng::seed_from_u64; the uniform is (word >> 8) / 2^24. */
extern const struct tombola__generator tombola__chacha12;
/* mlx's global key: a uniform or a key is one split of it. */
extern const struct tombola__generator tombola__threefry;
/* The same key sequence, with philox for the words of a row, as mlxcel's kernels have it. */
extern const struct tombola__generator tombola__philox;
/* tombola's own: philox4x32-10 keyed by the seed, its counter made of (index, stage, step, request), so that
 * no stage and no neighbour shifts another's numbers. The uniform has 53 bits. */
extern const struct tombola__generator tombola__counter;

/* ---- the parts, for draws and tests ---- */

uint32_t tombola__mt19937_next(void *state);
uint32_t tombola__pcg32_next(void *state);
uint32_t tombola__chacha12_next(void *state);

/* One ChaCha block of `rounds` rounds: 64-bit counter, stream 0. */
void tombola__chacha_block(const uint32_t key[8], uint64_t counter, unsigned rounds, uint32_t out[16]);
/* philox4x32-10 (Salmon et al., 2011). */
void tombola__philox4x32(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4]);
/* threefry2x32-20 (the same). */
void tombola__threefry2x32(const uint32_t key[2], const uint32_t counter[2], uint32_t out[2]);
/* Splits a key of mlx: `next` takes its place, `own` is the call's. */
void tombola__threefry_split(const uint32_t key[2], uint32_t next[2], uint32_t own[2]);

/* The stream of a stage in a generator that is keyed by the stage: from its name, so that the order of a
 * chain and stages to come don't matter. */
uint32_t tombola__stage_stream(const char *stage);

/* Fills a seed from the system; 0 when the system has none to give. */
int tombola__random_seed(uint64_t *seed);

#endif
