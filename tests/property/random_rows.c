/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of many shapes, and parameters for them. */
#include "random_rows.h"

#include <math.h>
#include <string.h>

static float shaped(struct support_rng *rng, enum row_shape shape, size_t i, size_t count) {
  uint32_t bits;
  float x = support_normal(rng, 0, 2);
  switch (shape) {
  case ROW_NORMAL:
  case ROW_PEAKS: return x;
  case ROW_SHARP: return 4 * x;
  case ROW_BF16:
    memcpy(&bits, &x, sizeof bits);
    bits = (bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000u;
    memcpy(&x, &bits, sizeof x);
    return x;
  case ROW_TIED: return roundf(2 * x) / 2;
  case ROW_EQUAL: return 0.75f;
  case ROW_BANNED: return support_u32(rng) & 1 ? -INFINITY : x;
  case ROW_WIDE: return (float)(-100 + 120 * (double)i / (double)count) + x;
  case ROW_FLAT: return 0.025f * x;
  case ROW_SHAPES: break;
  }
  return 0;
}

void random_row(struct support_rng *rng, enum row_shape shape, float *row, size_t count) {
  for (size_t i = 0; i < count; i++)
    row[i] = shaped(rng, shape, i, count);
  for (size_t rank = 1; shape == ROW_PEAKS && rank <= 12; rank++)
    row[support_below(rng, count)] = (float)(14 - 1.5 * log((double)rank));
  if (shape == ROW_BANNED) row[support_below(rng, count)] = 1; /* at least one is left */
}

static int by_value(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

bool row_has_ties(const float *row, size_t count) {
  float *sorted = malloc(count * sizeof *sorted);
  bool ties = !sorted;
  for (size_t i = 0; sorted && i < count; i++)
    sorted[i] = row[i];
  if (sorted) qsort(sorted, count, sizeof *sorted, by_value);
  for (size_t i = 1; sorted && i < count; i++)
    ties = ties || (sorted[i] == sorted[i - 1] && sorted[i] > -INFINITY);
  free(sorted);
  return ties;
}

#define LLAMA_ORDER \
  { "logit_bias", "penalties", "top_k", "top_p", "min_p", "temperature" }
#define UNCUT   .temperature = 1, .top_p = 1
#define NEUTRAL UNCUT, .repeat_penalty = 1

const struct chain_params parameter_sets[] = {
    {.name = "plain", .order = LLAMA_ORDER, NEUTRAL},
    {.name = "default",
     .order = LLAMA_ORDER,
     .temperature = 0.8f,
     .top_k = 40,
     .top_p = 0.95f,
     .min_p = 0.05f,
     .repeat_penalty = 1},
    {.name = "greedy",
     .order = LLAMA_ORDER,
     .temperature = 0,
     .top_k = 40,
     .top_p = 0.95f,
     .min_p = 0.05f,
     .repeat_penalty = 1},
    {.name = "greedy with a penalty",
     .order = LLAMA_ORDER,
     .temperature = 0,
     .top_p = 1,
     .repeat_penalty = 1.3f,
     .repeat_last_n = 32},
    {.name = "top_k 1", .order = LLAMA_ORDER, NEUTRAL, .top_k = 1},
    {.name = "top_k 5", .order = LLAMA_ORDER, NEUTRAL, .top_k = 5},
    {.name = "top_k 200", .order = LLAMA_ORDER, NEUTRAL, .top_k = 200},
    {.name = "top_p 0", .order = LLAMA_ORDER, .temperature = 1, .top_p = 0, .repeat_penalty = 1},
    {.name = "top_p 0.5", .order = LLAMA_ORDER, .temperature = 1, .top_p = 0.5f, .repeat_penalty = 1},
    {.name = "top_p 0.9", .order = LLAMA_ORDER, .temperature = 1, .top_p = 0.9f, .repeat_penalty = 1},
    {.name = "top_p 0.99", .order = LLAMA_ORDER, .temperature = 1, .top_p = 0.99f, .repeat_penalty = 1},
    {.name = "top_p 0.9, temperature 0.7",
     .order = LLAMA_ORDER,
     .temperature = 0.7f,
     .top_p = 0.9f,
     .repeat_penalty = 1},
    {.name = "min_p 0.1", .order = LLAMA_ORDER, NEUTRAL, .min_p = 0.1f},
    {.name = "min_p 0.02, temperature 1.5",
     .order = LLAMA_ORDER,
     .temperature = 1.5f,
     .top_p = 1,
     .min_p = 0.02f,
     .repeat_penalty = 1},
    {.name = "min_p 1", .order = LLAMA_ORDER, NEUTRAL, .min_p = 1},
    {.name = "temperature 0.5", .order = LLAMA_ORDER, .temperature = 0.5f, .top_p = 1, .repeat_penalty = 1},
    {.name = "temperature 2", .order = LLAMA_ORDER, .temperature = 2, .top_p = 1, .repeat_penalty = 1},
    {.name = "repeat 1.3 over 64", .order = LLAMA_ORDER, UNCUT, .repeat_penalty = 1.3f, .repeat_last_n = 64},
    {.name = "repeat 0.8 over 5", .order = LLAMA_ORDER, UNCUT, .repeat_penalty = 0.8f, .repeat_last_n = 5},
    {.name = "repeat over -1, which is off",
     .order = LLAMA_ORDER,
     UNCUT,
     .repeat_penalty = 1.3f,
     .repeat_last_n = -1},
    {.name = "frequency and presence",
     .order = LLAMA_ORDER,
     NEUTRAL,
     .frequency_penalty = 0.4f,
     .presence_penalty = 0.3f,
     .repeat_last_n = 16},
    {.name = "penalties, then the default",
     .order = LLAMA_ORDER,
     .temperature = 0.8f,
     .top_k = 40,
     .top_p = 0.95f,
     .min_p = 0.05f,
     .repeat_penalty = 1.1f,
     .frequency_penalty = 0.1f,
     .repeat_last_n = 64},
    {.name = "biases", .order = LLAMA_ORDER, NEUTRAL, .biased = true},
    {.name = "biases, then the default",
     .order = LLAMA_ORDER,
     .temperature = 0.8f,
     .top_k = 40,
     .top_p = 0.95f,
     .min_p = 0.05f,
     .repeat_penalty = 1,
     .biased = true},
    {.name = "top_p keeps 5",
     .order = LLAMA_ORDER,
     .temperature = 1,
     .top_p = 0.3f,
     .repeat_penalty = 1,
     .min_keep = 5},
    {.name = "min_p keeps 5", .order = LLAMA_ORDER, NEUTRAL, .min_p = 0.6f, .min_keep = 5},
    {.name = "temperature first",
     .order = {"temperature", "top_k", "top_p", "min_p"},
     .temperature = 0.7f,
     .top_k = 50,
     .top_p = 0.9f,
     .min_p = 0.05f,
     .repeat_penalty = 1},
    {.name = "min_p, top_p, top_k",
     .order = {"min_p", "top_p", "top_k"},
     .temperature = 1,
     .top_k = 7,
     .top_p = 0.9f,
     .min_p = 0.03f,
     .repeat_penalty = 1},
    {.name = "penalties after a ranking",
     .order = {"top_p", "penalties", "min_p"},
     .edits_after_a_cut = true,
     .temperature = 1,
     .top_p = 0.95f,
     .min_p = 0.02f,
     .repeat_penalty = 1.2f,
     .presence_penalty = 0.2f,
     .repeat_last_n = 20},
    {.name = "penalties between two rankings",
     .order = {"top_k", "penalties", "top_p", "temperature"},
     .edits_after_a_cut = true,
     .temperature = 1.2f,
     .top_k = 20,
     .top_p = 0.8f,
     .repeat_penalty = 1.5f,
     .repeat_last_n = 20},
    {.name = "penalties after the temperature",
     .order = {"temperature", "penalties", "min_p"},
     .temperature = 0.6f,
     .top_p = 1,
     .min_p = 0.01f,
     .repeat_penalty = 1.2f,
     .frequency_penalty = 0.3f,
     .repeat_last_n = 20},
};
const size_t parameter_set_count = sizeof parameter_sets / sizeof *parameter_sets;

struct chain_params parameter_set_for(size_t index, size_t count) {
  struct chain_params set = parameter_sets[index];
  if (!set.biased) return set;
  set.n_bias = 4;
  set.bias[0] = (struct tombola_logit_bias){0, 2.5f};
  set.bias[1] = (struct tombola_logit_bias){(tombola_token)(count / 3), -1.5f};
  set.bias[2] = (struct tombola_logit_bias){(tombola_token)(count / 2), -INFINITY};
  set.bias[3] = (struct tombola_logit_bias){(tombola_token)(count - 1), 4};
  return set;
}

struct tombola_sampler_params library_params(const struct chain_params *set, const char *dialect,
                                             uint64_t seed) {
  struct tombola_sampler_params params = {.struct_size = sizeof params};
  tombola_sampler_params_default(&params, dialect, NULL);
  params.seed = seed;
  params.seed_mode = TOMBOLA_SEED_FIXED;
  params.samplers = set->order;
  while (set->order[params.n_samplers])
    params.n_samplers++;
  params.logit_bias = set->biased ? set->bias : NULL;
  params.n_logit_bias = set->biased ? set->n_bias : 0;
  params.temperature = set->temperature;
  params.top_p = set->top_p;
  params.min_p = set->min_p;
  params.repeat_penalty = set->repeat_penalty;
  params.frequency_penalty = set->frequency_penalty;
  params.presence_penalty = set->presence_penalty;
  params.top_k = set->top_k;
  params.repeat_last_n = set->repeat_last_n;
  params.min_keep = set->min_keep;
  return params;
}
