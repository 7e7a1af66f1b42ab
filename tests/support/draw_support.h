/* SPDX-License-Identifier: Apache-2.0 */
/* Samplers whose rules and random numbers the test chooses: the dialect of a sampler's plan is replaced by a
 * copy that the test may change. Includes the inside of the sampler; the static library only. */
#ifndef DRAW_SUPPORT_H
#define DRAW_SUPPORT_H

#include "sampler/internal.h"
#include "support.h"

/* ---- numbers from a list ---- */

static double script_uniforms[64];
static size_t script_next;
static uint32_t script_word; /* of every token's noise */

static void script_seed(void *state, uint64_t seed) {
  (void)state, (void)seed;
}

static double script_uniform(void *state) {
  (void)state;
  return script_uniforms[script_next++];
}

static void script_key(void *state, struct tombola__noise_key *key) {
  (void)state;
  script_next++;
  *key = (struct tombola__noise_key){0};
}

static uint32_t script_noise(const struct tombola__noise_key *key, size_t count, size_t id) {
  (void)key, (void)count, (void)id;
  return script_word;
}

static void script_noise64(const struct tombola__noise_key *key, size_t count, size_t first,
                           uint32_t words[64]) {
  (void)key, (void)count, (void)first;
  for (int i = 0; i < 64; i++)
    words[i] = script_word;
}

static float script_noise_uniform(uint32_t word) {
  return (float)word * 0x1p-32f;
}

static void script_noise_uniform64(const uint32_t words[64], float uniforms[64]) {
  for (int i = 0; i < 64; i++)
    uniforms[i] = script_noise_uniform(words[i]);
}

static const struct tombola__noise script_noises = {"script", script_noise, script_noise64,
                                                    script_noise_uniform, script_noise_uniform64};
static const struct tombola__generator script_generator = {.name = "script",
                                                           .state_size = 1,
                                                           .max_seed = UINT64_MAX,
                                                           .seed = script_seed,
                                                           .uniform = script_uniform,
                                                           .key = script_key,
                                                           .noise = &script_noises};

/* The next uniforms are these. */
static inline void script(const double *uniforms, size_t n) {
  assert_true(n <= sizeof script_uniforms / sizeof *script_uniforms);
  memcpy(script_uniforms, uniforms, n * sizeof *uniforms);
  script_next = 0;
}

/* ---- samplers ---- */

/* Every stage off. */
static inline struct tombola_sampler_params plain_params(void) {
  struct tombola_sampler_params params = {.struct_size = sizeof params};
  assert_int_equal(tombola_sampler_params_default(&params, "llama.cpp", NULL), TOMBOLA_OK);
  params.temperature = 1;
  params.top_k = 0;
  params.top_p = 1;
  params.min_p = 0;
  params.repeat_penalty = 1;
  params.seed = 42;
  params.seed_mode = TOMBOLA_SEED_FIXED;
  return params;
}

static inline tombola_sampler *make_sampler(const struct tombola_sampler_params *params, size_t vocab) {
  tombola_sampler *sampler = NULL;
  struct tombola_error error = {0};
  if (tombola_sampler_new(params, NULL, vocab, NULL, &sampler, &error)) fail_msg("%s", error.message);
  return sampler;
}

/* Gives the sampler a dialect of the test's own, and another generator (NULL: its own). A plan that is for
 * rejection is made again for the dialect's new rules. */
static inline void replace_dialect(tombola_sampler *sampler, struct tombola__dialect *dialect,
                                   const struct tombola__generator *generator) {
  struct tombola__plan *plan = sampler->plan;
  if (generator) dialect->generator = generator;
  assert_true(dialect->generator->state_size <= plan->state_size);
  plan->dialect = dialect;
  plan->rejection = (struct tombola__rejection){0};
  for (size_t i = 0; i < plan->n_chain; i++)
    plan->chain[i].in_draw = false;
  tombola__rejection_plan(plan);
  tombola_sampler_reset(sampler);
}

#endif
