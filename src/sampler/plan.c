/* SPDX-License-Identifier: Apache-2.0 */
/* A plan: parameters checked, the chain in its order, what stages compiled. It never changes once made, so
 * that a sampler and its clones share one. */
#include <string.h>

#include "internal.h"

#define MAX_VOCAB ((size_t)1 << 24)
#define MAX_STATE ((size_t)1 << 24) /* bytes of one stage */

/* ---- custom stages ---- */

static enum tombola_status check_custom(const struct tombola_custom_stage *custom,
                                        struct tombola_error *error) {
  const enum tombola_status bad = TOMBOLA_INVALID_ARGUMENT;
  if (!custom || custom->struct_size < sizeof *custom)
    return tombola__fail(error, bad, "custom_stages", "custom_stages: struct_size must be at least %zu",
                         sizeof *custom);
  if (!custom->name || !custom->name[0] || !custom->apply)
    return tombola__fail(error, bad, "custom_stages", "custom_stages: a stage needs a name and apply");
  if (tombola__stage_find(custom->name))
    return tombola__fail(error, bad, "custom_stages", "custom_stages: there is a stage '%s' already",
                         custom->name);
  return TOMBOLA_OK;
}

/* The caller's list may go away, so the plan keeps copies of the descriptors and the names. */
static enum tombola_status copy_customs(struct tombola__plan *plan, struct tombola_error *error) {
  const struct tombola_custom_stage *const *given = plan->params.custom_stages;
  size_t n = plan->params.n_custom_stages, size = 0;
  for (size_t i = 0; i < n; i++) {
    enum tombola_status status = check_custom(given[i], error);
    if (status) return status;
    size += strlen(given[i]->name) + 1;
  }
  if (!n) return TOMBOLA_OK;
  plan->customs = tombola__new(&plan->allocator, n, sizeof *plan->customs);
  plan->custom_names = tombola__new(&plan->allocator, size, 1);
  if (!plan->customs || !plan->custom_names) return tombola__no_memory(error);
  char *name = plan->custom_names;
  for (size_t i = 0; i < n; i++) {
    size_t length = strlen(given[i]->name) + 1;
    memcpy(&plan->customs[i], given[i], sizeof plan->customs[i]);
    memcpy(name, given[i]->name, length);
    plan->customs[i].name = name;
    name += length;
  }
  return TOMBOLA_OK;
}

static const struct tombola_custom_stage *find_custom(const struct tombola__plan *plan, const char *name) {
  for (size_t i = 0; name && i < plan->params.n_custom_stages; i++)
    if (!strcmp(plan->customs[i].name, name)) return &plan->customs[i];
  return NULL;
}

/* ---- the chain ---- */

static size_t min_keep_of(const struct tombola__plan *plan, const char *stage) {
  const struct tombola__dialect *dialect = plan->dialect;
  bool heeds = !dialect->min_keep_stages;
  for (size_t i = 0; i < dialect->n_min_keep_stages; i++)
    heeds = heeds || !strcmp(dialect->min_keep_stages[i], stage);
  return heeds ? (size_t)plan->params.min_keep : 0;
}

static enum tombola_status add_link(struct tombola__plan *plan, const char *name,
                                    struct tombola_error *error) {
  const struct tombola_custom_stage *custom = find_custom(plan, name);
  const struct tombola__stage *stage = custom ? &tombola__stage_custom : tombola__stage_find(name);
  if (!stage)
    return tombola__fail(error, TOMBOLA_NOT_FOUND, "samplers", "samplers: there is no stage '%s'",
                         name ? name : "");
  const char *own = custom ? custom->name : stage->name;
  for (size_t i = 0; i < plan->n_chain; i++)
    if (plan->chain[i].name == own)
      return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "samplers", "samplers names %s twice", own);
  if (plan->n_chain == TOMBOLA__MAX_CHAIN)
    return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "samplers", "samplers names more than %d stages",
                         TOMBOLA__MAX_CHAIN);
  struct tombola__link *link = &plan->chain[plan->n_chain++];
  *link = (struct tombola__link){.stage = stage,
                                 .name = own,
                                 .custom = custom,
                                 .min_keep = min_keep_of(plan, own),
                                 .active = stage->active(&plan->params, plan->dialect)};
  if (stage->selects && plan->dialect->select_saves) plan->single_saves = true;
  return TOMBOLA_OK;
}

static bool names(const char *const *order, size_t n, const struct tombola__stage *stage) {
  for (size_t i = 0; i < n; i++)
    if (tombola__stage_find(order[i]) == stage) return true;
  return false;
}

/* Biases come first unless the order places them: no engine makes the user name them. adaptive_p is the draw
 * of its engines, so it comes last wherever the order names it. */
static enum tombola_status add_all(struct tombola__plan *plan, const char *const *order, size_t n,
                                   bool adaptive, struct tombola_error *error) {
  enum tombola_status status = TOMBOLA_OK;
  if (!names(order, n, &tombola__stage_logit_bias)) status = add_link(plan, "logit_bias", error);
  for (size_t i = 0; i < n && !status; i++) {
    if (tombola__stage_find(order[i]) == &tombola__stage_adaptive_p)
      adaptive = true;
    else
      status = add_link(plan, order[i], error);
  }
  if (!status && adaptive) status = add_link(plan, "adaptive_p", error);
  return status;
}

/* The dialect's own order, or its order with mirostat, which replaces everything but biases and temperature.
 */
static enum tombola_status add_own(struct tombola__plan *plan, struct tombola_error *error) {
  static const char *const mirostat_order[] = {"logit_bias", "temperature", "mirostat"};
  const struct tombola__dialect *dialect = plan->dialect;
  if (!plan->params.mirostat)
    return add_all(plan, dialect->info.order, dialect->info.n_order, plan->params.adaptive_target >= 0,
                   error);
  if (dialect->mirostat_order)
    return add_all(plan, dialect->mirostat_order, dialect->n_mirostat_order, false, error);
  return add_all(plan, mirostat_order, TOMBOLA__COUNT(mirostat_order), false, error);
}

/* The place of the temperature, n_chain when there is none. */
static size_t temperature_place(const struct tombola__plan *plan) {
  size_t i = 0;
  while (i < plan->n_chain && plan->chain[i].stage != &tombola__stage_temperature)
    i++;
  return i;
}

/* Greedy: nothing from the temperature on matters but what forbids tokens and the caller's own stages, nor what
 * keeps the best candidate the best, unless a stage follows that may change which is the best: what such a stage
 * does depends on what was kept before it. A zero
 * temperature is greedy even when the order doesn't name the temperature: that is what its user asked for. */
static void make_greedy(struct tombola__plan *plan) {
  size_t end = temperature_place(plan), last = 0;
  for (size_t i = 0; i < plan->n_chain; i++) {
    struct tombola__link *link = &plan->chain[i];
    bool skipped = plan->dialect->greedy_edits_only && !link->stage->edits && !link->custom;
    if (skipped || (i >= end && !link->stage->bans)) link->active = false;
    if (link->active && !link->stage->keeps_best) last = i;
  }
  for (size_t i = last; i < plan->n_chain; i++)
    if (plan->chain[i].stage->keeps_best) plan->chain[i].active = false;
}

static enum tombola_status build_chain(struct tombola__plan *plan, struct tombola_error *error) {
  const struct tombola_sampler_params *params = &plan->params;
  enum tombola_status status = copy_customs(plan, error);
  if (!status)
    status = params->samplers ? add_all(plan, params->samplers, params->n_samplers, false, error)
                              : add_own(plan, error);
  if (status) return status;
  plan->greedy = ((double)params->temperature <= plan->dialect->greedy_at && !(params->dynatemp_range > 0)) ||
                 (params->top_k == 1 && plan->dialect->greedy_at_top_k_1);
  if (plan->greedy) make_greedy(plan);
  tombola__rejection_plan(plan);
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
    if (link->custom) window = link->custom->history;
    if (window > plan->window) plan->window = window;
    if (link->stage == &tombola__stage_penalties) plan->count_window = window;
    link->state_offset = plan->state_size;
    link->state_size = link->stage->state_size ? link->stage->state_size(plan) : 0;
    if (link->custom) link->state_size = link->custom->state_size;
    if (link->state_size > MAX_STATE)
      return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "custom_stages",
                           "the state_size of %s must be at most %zu, it is %zu", link->name, MAX_STATE,
                           link->state_size);
    plan->state_size += aligned(link->state_size);
    plan->spends = plan->spends || link->stage->random_state || (link->custom && link->state_size);
  }
  return TOMBOLA_OK;
}

/* ---- life ---- */

/* The lists are the caller's and may go away: the chain and the stages hold what they said. */
static void forget_lists(struct tombola_sampler_params *params) {
  params->samplers = NULL;
  params->logit_bias = params->fallback_bias = NULL;
  params->suppress = NULL;
  params->dry_sequence_breakers = NULL;
  params->custom_stages = NULL;
  params->n_samplers = params->n_logit_bias = params->n_fallback_bias = params->n_suppress = 0;
  params->n_dry_sequence_breakers = params->n_custom_stages = 0;
}

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
  forget_lists(&plan->params);
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
  tombola__free(&own, plan->customs);
  tombola__free(&own, plan->custom_names);
  tombola__free(&own, plan);
}
