/* SPDX-License-Identifier: Apache-2.0 */
/* Generators of uniforms, each equal to its reference engine bit for bit. A generator is a const descriptor over a
 * block of plain memory, so that a snapshot is a copy. */
#ifndef TOMBOLA_RANDOM_H
#define TOMBOLA_RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct tombola__generator {
  const char *name;
  size_t state_size;
  uint64_t max_seed; /* larger seeds are refused by the parameters' check */
  void (*seed)(void *state, uint64_t seed);
  double (*uniform)(void *state); /* in [0, 1) */
};

/* std::mt19937 and libstdc++'s uniform_real_distribution<double>: two words a uniform, (w0 + w1 * 2^32) / 2^64. */
extern const struct tombola__generator tombola__mt19937;

/* The words themselves, for tests. */
uint32_t tombola__mt19937_next(void *state);

/* Fills a seed from the system; 0 when the system has none to give. */
int tombola__random_seed(uint64_t *seed);

#endif
