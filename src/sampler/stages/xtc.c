/* SPDX-License-Identifier: Apache-2.0 */
/* xtc, "exclude top choices" (p-e-w, oobabooga/text-generation-webui #6335): with a probability, of all
 * tokens above a threshold only the least likely one stays. At most 1 / threshold tokens can be above it, so
 * a dense set only loses those few.
 *
 * The gate is one uniform for each row. llama.cpp gives the stage a generator of its own, seeded with the
 * seed, and takes a float from one word of it, but none when fewer than two tokens are left; an engine with
 * one generator for everything takes it from there, always. */
#include <math.h>
#include <string.h>

#include "../../vocabulary/breakers.h"
#include "../internal.h"

#define AT(member) .stage = "xtc", .offset = offsetof(struct tombola_sampler_params, member)

static const struct tombola_param_info rows[] = {
    {.name = "xtc_probability",
     .help = "how often the most likely tokens are taken out; 0: off",
     .type = TOMBOLA_PARAM_FLOAT,
     AT(xtc_probability),
     .min = 0,
     .max = 1,
     .off = 0},
    {.name = "xtc_threshold",
     .help = "how likely a token must be to be taken out; above 0.5: off",
     .type = TOMBOLA_PARAM_FLOAT,
     AT(xtc_threshold),
     .min = 0,
     .max = 1,
     .off = (double)NAN},
};

static bool active(const struct tombola_sampler_params *params, const struct tombola__dialect *dialect) {
  (void)dialect;
  return params->xtc_probability > 0 && params->xtc_threshold <= 0.5f;
}

/* ---- exempt tokens ---- */

struct exempt {
  size_t count;
  tombola_token ids[];
};

static enum tombola_status prepare(const struct tombola__plan *plan, void **data,
                                   struct tombola_error *error) {
  size_t n_ends = 0, n_newlines = 0;
  const tombola_token *ends = NULL, *newlines = NULL;
  if (plan->vocabulary && plan->dialect->xtc_exempts) {
    ends = tombola_vocabulary_ends(plan->vocabulary, &n_ends);
    newlines = tombola__vocabulary_newlines(plan->vocabulary, &n_newlines);
  }
  size_t n = n_ends + n_newlines;
  struct exempt *exempt = tombola__new(&plan->allocator, 1, sizeof *exempt + n * sizeof exempt->ids[0]);
  if (!exempt) return tombola__no_memory(error);
  exempt->count = n;
  if (n_ends) memcpy(exempt->ids, ends, n_ends * sizeof *ends);
  if (n_newlines) memcpy(exempt->ids + n_ends, newlines, n_newlines * sizeof *newlines);
  *data = exempt;
  return TOMBOLA_OK;
}

static void release(const struct tombola__plan *plan, void *data) {
  tombola__free(&plan->allocator, data);
}

static bool is_exempt(const struct exempt *exempt, tombola_token id) {
  for (size_t i = 0; i < exempt->count; i++)
    if (exempt->ids[i] == id) return true;
  return false;
}

/* ---- the gate ---- */

/* A generator that is keyed by the stage needs no state here, nor does one that all share. */
static bool has_own_state(const struct tombola__plan *plan) {
  return !plan->dialect->stages_share_generator && !plan->dialect->generator->stage_uniform;
}

static size_t state_size(const struct tombola__plan *plan) {
  return has_own_state(plan) ? plan->dialect->generator->state_size : 0;
}

static void reset(struct tombola__stage_call *call) {
  if (call->state) call->dialect->generator->seed(call->state, call->sampler->seed);
}

/* libstdc++'s uniform_real_distribution<float>: a word over 2^32 in f32, below 1. */
static double float_uniform(void *state) {
  float u = (float)tombola__mt19937_next(state) / 0x1p32f;
  return (double)(u < 1 ? u : nextafterf(1, 0));
}

static double gate(struct tombola__stage_call *call) {
  const struct tombola__generator *generator = call->dialect->generator;
  if (generator->stage_uniform)
    return generator->stage_uniform(call->sampler->state, tombola__stage_stream("xtc"));
  if (!call->state) return generator->uniform(call->sampler->state);
  return generator == &tombola__mt19937 ? float_uniform(call->state) : generator->uniform(call->state);
}

static bool gate_opens(struct tombola__stage_call *call) {
  const struct tombola__candidates *c = call->candidates;
  if (call->state && !c->dense && c->count < 2) return false;
  double u = gate(call), probability = (double)call->params->xtc_probability;
  return call->dialect->xtc_strict ? u < probability : u <= probability;
}

/* ---- what goes ---- */

/* The tokens above the threshold, and the one among them that stays. */
struct above {
  float threshold;
  double total; /* of the weights; before anything goes */
  bool strict, keeps_ties, keeps_first;
  const struct exempt *exempt;
  bool any;
  struct tombola__entry least;
};

/* In single precision, as the engines compare: a tenth of the mass is then a threshold of 0.1. */
static bool is_above(const struct above *a, const struct tombola__candidates *c, float logit) {
  float weight = tombola__exp((logit - c->max) * c->scale);
  float p = (float)((double)weight / a->total);
  return a->strict ? p > a->threshold : p >= a->threshold;
}

static void look_at(struct above *a, const struct tombola__candidates *c, struct tombola__entry e) {
  if (!is_above(a, c, e.logit)) return;
  if (!a->any || e.logit < a->least.logit) a->least = e;
  a->any = true;
  if (e.logit > a->least.logit) return;
  if (a->keeps_first ? e.id < a->least.id : e.id > a->least.id) a->least.id = e.id;
}

static bool goes(const struct above *a, const struct tombola__candidates *c, struct tombola__entry e) {
  if (!is_above(a, c, e.logit) || e.id == a->least.id) return false;
  if (a->keeps_ties && e.logit == a->least.logit) return false;
  return !is_exempt(a->exempt, e.id);
}

/* Candidates that are few: the whole list, or a dense set's tokens that may be above the threshold, which lie
 * in the list meanwhile. Moves what goes to the front; the number of them. */
static size_t choose(struct above *a, struct tombola__candidates *c) {
  size_t n = 0;
  for (size_t i = 0; i < c->count; i++)
    look_at(a, c, c->list[i]);
  for (size_t i = 0; i < c->count; i++)
    if (goes(a, c, c->list[i])) c->list[n++] = c->list[i];
  return n;
}

static float ban(const void *context, size_t index, float logit) {
  (void)context, (void)index, (void)logit;
  return -INFINITY;
}

/* The threshold as a logit only finds the tokens to look at: a little below, because weights and it are
 * rounded. */
static enum tombola_status apply_dense(struct above *a, struct tombola__candidates *c) {
  double drop = tombola__log((double)a->threshold * a->total) / (double)c->scale;
  double slack = 1e-4 * fabs(drop) + 1e-5 / (double)c->scale + 1e-6 * fabs((double)c->max);
  float low = (float)((double)c->max + drop - slack);
  enum tombola_status status = tombola__candidates_gather(c, low, INFINITY, SIZE_MAX);
  if (status) return status;
  size_t n = choose(a, c);
  c->count = 0;
  for (size_t i = 0; i < n && !status; i++) {
    tombola_token id = c->list[i].id;
    status = tombola__candidates_edit(c, &id, 1, ban, NULL);
  }
  return status;
}

static void apply_list(struct above *a, struct tombola__candidates *c, size_t min_keep) {
  size_t removed = 0, kept = 0;
  for (size_t i = 0; i < c->count; i++)
    look_at(a, c, c->list[i]);
  for (size_t i = 0; i < c->count; i++)
    removed += goes(a, c, c->list[i]);
  if (!removed || c->count - removed < min_keep) return;
  for (size_t i = 0; i < c->count; i++)
    if (!goes(a, c, c->list[i])) c->list[kept++] = c->list[i];
  c->count = kept;
  c->indexed = c->summed = false;
}

/* Below it most tokens may be above the threshold, and a list of all is better. */
#define DENSE_LEAST 1e-4f

/* llama.cpp ranks its candidates once the gate is open, and its draw then walks the ranking. */
static enum tombola_status apply(struct tombola__stage_call *call) {
  struct tombola__candidates *c = call->candidates;
  if (!gate_opens(call)) return TOMBOLA_OK;
  enum tombola_status status = tombola__candidates_sum(c);
  if (status) return status;
  struct above above = {.threshold = call->params->xtc_threshold,
                        .total = c->total,
                        .strict = call->dialect->xtc_strict,
                        .keeps_ties = call->dialect->xtc_keeps_ties,
                        .keeps_first = call->dialect->xtc_keeps_first,
                        .exempt = call->link->data};
  size_t min_keep = call->link->min_keep;
  bool ranks = call->dialect->draw_order == TOMBOLA__DRAW_AS_IS;
  if (c->dense && min_keep < 2 && above.threshold >= DENSE_LEAST) {
    status = apply_dense(&above, c);
    c->ranked = c->ranked || ranks;
    return status;
  }
  status = tombola__candidates_list(c, ranks);
  if (!status) apply_list(&above, c, min_keep);
  return status;
}

const struct tombola__stage tombola__stage_xtc = {
    .name = "xtc",
    .letter = 'x',
    .params = rows,
    .n_params = TOMBOLA__COUNT(rows),
    .active = active,
    .prepare = prepare,
    .release = release,
    .state_size = state_size,
    .random_state = true,
    .reset = reset,
    .apply = apply,
};
