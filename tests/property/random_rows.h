/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of many shapes, and parameters for them. */
#ifndef RANDOM_ROWS_H
#define RANDOM_ROWS_H

#include <stddef.h>

#include "chain_model.h"
#include "rng.h"

enum row_shape {
  ROW_NORMAL, /* bell-shaped, deviation 2 */
  ROW_SHARP,  /* the same, 8: a few tokens hold all the mass */
  ROW_PEAKS,  /* a bulk and a few contenders */
  ROW_BF16,   /* rounded as a model that computes in bfloat16 leaves it */
  ROW_TIED,   /* rounded to halves: many equal logits */
  ROW_EQUAL,  /* all the same */
  ROW_BANNED, /* half of it -inf */
  ROW_WIDE,   /* -100 to 20: tails without weight */
  ROW_FLAT,   /* within 0.05 */
  ROW_SHAPES
};

void random_row(struct support_rng *rng, enum row_shape shape, float *row, size_t count);

/* Whether two logits above -inf are equal. */
bool row_has_ties(const float *row, size_t count);

/* The parameter sets: all stages, in llama.cpp's order and in others. */
extern const struct chain_params parameter_sets[];
extern const size_t parameter_set_count;

/* A set with its biases placed in a vocabulary of `count`. */
struct chain_params parameter_set_for(size_t index, size_t count);

/* The library's parameters for a set. The result borrows from `set`. */
struct tombola_sampler_params library_params(const struct chain_params *set, const char *dialect,
                                             uint64_t seed);

#endif
