/* SPDX-License-Identifier: Apache-2.0 */
/* A slow, plain model of the chain in double precision, to judge where two samplers differ: llama.cpp's
 * rules, stage by stage, over a list. It shares no code with the library.
 *
 * The bound of top_p can be moved, because a mass that is summed in single precision passes it a little
 * earlier or later: a kept set is right when it lies between the one for p - 1e-5 and the one for p + 1e-5,
 * the first without and the second with the tokens that tie with its last one. */
#ifndef CHAIN_MODEL_H
#define CHAIN_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tombola/sampler.h>

#define MODEL_MAX_STAGES 8
#define MODEL_SLACK      1e-5 /* of cumulative mass, at the bound of top_p */
#define MODEL_NEAR       1e-6 /* of a uniform, at a boundary of the cumulative sum */

/* Parameters for both samplers; `order` ends with NULL. */
struct chain_params {
  const char *name;
  const char *order[MODEL_MAX_STAGES];
  float temperature, top_p, min_p, repeat_penalty, frequency_penalty, presence_penalty;
  int32_t top_k, repeat_last_n, min_keep;
  bool biased; /* with the biases below */
  struct tombola_logit_bias bias[4];
  size_t n_bias;
  bool edits_after_a_cut; /* only for rows without ties: other tokens kept there are edited differently */
};

struct model_item {
  tombola_token id;
  double logit;
  double key; /* the logit by which the item was ranked last */
};

/* The candidates, in the order of the draw. */
struct chain_model {
  struct model_item *items;
  size_t count;
  bool sorted; /* as llama.cpp's flag */
  bool ranked; /* some stage has ranked: equal keys may stand in any order */
};

/* Runs the chain. `items` must have room for the row. */
void chain_model_run(struct chain_model *model, struct model_item *items, const float *row, size_t count,
                     const struct chain_params *params, const tombola_token *history, size_t n_history,
                     double move, bool ties);

/* The probability of each item. */
void chain_model_weights(const struct model_item *items, size_t count, double *probabilities);

/* Whether two logits are equal but for the rounding of single precision: within 4 units in the last place. */
bool chain_model_tied(double a, double b);

/* Whether the draw with the uniform u may fall on the item at `place`: u lies in its part of the cumulative
 * sum, or within MODEL_NEAR of it. */
bool chain_model_near(const struct model_item *items, size_t count, size_t place, double u);

/* std::mt19937 and its double uniform, once more. */
struct model_mt {
  uint32_t words[624];
  size_t next;
};
void model_mt_seed(struct model_mt *mt, uint32_t seed);
double model_mt_uniform(struct model_mt *mt);

#endif
