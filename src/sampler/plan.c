/* SPDX-License-Identifier: Apache-2.0 */
/* A plan: parameters checked, the chain in its order, what stages compiled. It never changes once made, so
 * that a sampler and its clones share one. */
#include "internal.h"

#define MAX_VOCAB ((size_t)1 << 24)

/* ---- the chain ---- */

static enum tombola_status add_link(struct tombola__plan *plan, const struct tombola__stage *stage,
                                    struct tombola_error *error) {
  for (size_t i = 0; i < plan->n_chain; i++)
    if (plan->chain[i].stage == stage)
      return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "samplers", "samplers names %s twice",
                           stage->name);
  struct tombola__link *link = &plan->chain[plan->n_chain++];
  *link = (struct tombola__link){.stage = stage, .active = stage->active(&plan->params, plan->dialect)};
  return TOMBOLA_OK;
}

static enum tombola_status unknown_stage(const char *name, struct tombola_error *error) {
  return tombola__fail(error, TOMBOLA_NOT_FOUND, "samplers", "samplers: there is no stage '%s'",
                       name ? name : "");
}

/* Biases come first unless the order places them: no engine makes the user name them. */
static enum tombola_status add_all(struct tombola__plan *plan, const char *const *names, size_t n,
                                   struct tombola_error *error) {
  bool places_bias = false;
  for (size_t i = 0; i < n; i++) {
    const struct tombola__stage *stage = tombola__stage_find(names[i]);
    if (!stage) return unknown_stage(names[i], error);
    if (stage == &tombola__stage_logit_bias) places_bias = true;
  }
  enum tombola_status status = places_bias ? TOMBOLA_OK : add_link(plan, &tombola__stage_logit_bias, error);
  for (size_t i = 0; i < n && !status; i++)
    status = add_link(plan, tombola__stage_find(names[i]), error);
  return status;
}

/* Greedy: what keeps the best candidate the best needn't run, and nothing after the temperature matters. A
 * zero temperature is greedy even when the order doesn't name the temperature: that is what its user asked
 * for. */
static void make_greedy(struct tombola__plan *plan) {
  bool after = false;
  for (size_t i = 0; i < plan->n_chain; i++) {
    if (after || plan->chain[i].stage->keeps_best) plan->chain[i].active = false;
    if (plan->chain[i].stage == &tombola__stage_temperature) after = true;
  }
}

static enum tombola_status build_chain(struct tombola__plan *plan, struct tombola_error *error) {
  const struct tombola_sampler_params *params = &plan->params;
  const struct tombola_dialect_info *info = &plan->dialect->info;
  enum tombola_status status = params->samplers ? add_all(plan, params->samplers, params->n_samplers, error)
                                                : add_all(plan, info->order, info->n_order, error);
  if (status) return status;
  plan->greedy = (double)params->temperature <= plan->dialect->greedy_at;
  if (plan->greedy) make_greedy(plan);
  plan->params.samplers = NULL; /* used up: the chain holds what they said */
  plan->params.n_samplers = 0;
  return TOMBOLA_OK;
}

/* ---- what stages need ---- */

/* Each state begins where any type may. */
static size_t aligned(size_t size) {
  return (size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
}

static enum tombola_status prepare_stages(struct tombola__plan *plan, struct tombola_error *error) {
  plan->state_size = aligned(plan->dialect->generator->state_size);
  for (size_t i = 0; i < plan->n_chain; i++) {
    struct tombola__link *link = &plan->chain[i];
    if (!link->active) continue;
    enum tombola_status status =
        link->stage->prepare ? link->stage->prepare(plan, &link->data, error) : TOMBOLA_OK;
    if (status) return status;
    size_t window = link->stage->window ? link->stage->window(plan) : 0;
    if (window > plan->window) plan->window = window;
    if (link->stage == &tombola__stage_penalties) plan->count_window = window;
    link->state_offset = plan->state_size;
    link->state_size = link->stage->state_size ? link->stage->state_size(plan) : 0;
    plan->state_size += aligned(link->state_size);
  }
  return TOMBOLA_OK;
}

/* ---- life ---- */

static enum tombola_status fill_in(struct tombola__plan *plan, const struct tombola_sampler_params *params,
                                   struct tombola_error *error) {
  enum tombola_status status = tombola__params_resolve(params, &plan->params, &plan->dialect, error);
  if (status) return status;
  if (plan->vocab_size == 0 && plan->vocabulary)
    plan->vocab_size = tombola_vocabulary_count(plan->vocabulary);
  if (plan->vocab_size == 0 || plan->vocab_size > MAX_VOCAB)
    return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "vocab_size",
                         "vocab_size must be in [1, %zu], got %zu", MAX_VOCAB, plan->vocab_size);
  plan->kernels = tombola__kernels(error);
  if (!plan->kernels) return TOMBOLA_INVALID_ARGUMENT;
  status = build_chain(plan, error);
  if (!status) status = prepare_stages(plan, error);
  plan->params.logit_bias = NULL; /* the caller's; the stage has a copy */
  plan->params.n_logit_bias = 0;
  return status;
}

enum tombola_status tombola__plan_new(const struct tombola_sampler_params *params,
                                      const tombola_vocabulary *vocabulary, size_t vocab_size,
                                      const struct tombola_allocator *allocator, struct tombola__plan **out,
                                      struct tombola_error *error) {
  struct tombola_allocator own = tombola__allocator(allocator);
  struct tombola__plan *plan = tombola__new(&own, 1, sizeof *plan);
  if (!plan) return tombola__no_memory(error);
  atomic_init(&plan->users, 1);
  plan->allocator = own;
  plan->vocabulary = vocabulary;
  plan->vocab_size = vocab_size;
  enum tombola_status status = fill_in(plan, params, error);
  if (status)
    tombola__plan_free(plan);
  else
    *out = plan;
  return status;
}

struct tombola__plan *tombola__plan_share(struct tombola__plan *plan) {
  atomic_fetch_add(&plan->users, 1);
  return plan;
}

void tombola__plan_free(struct tombola__plan *plan) {
  if (!plan || atomic_fetch_sub(&plan->users, 1) > 1) return;
  for (size_t i = 0; i < plan->n_chain; i++)
    if (plan->chain[i].data) plan->chain[i].stage->release(plan, plan->chain[i].data);
  struct tombola_allocator own = plan->allocator;
  tombola__free(&own, plan);
}
