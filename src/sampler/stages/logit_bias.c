/* SPDX-License-Identifier: Apache-2.0 */
/* logit_bias: adds to the logits of given tokens. Entries for one token add up (llama.cpp adds them up or
 * takes the first, depending on how its array lies; OpenAI's map can't hold duplicates); -inf bans. */
#include <math.h>

#include "../internal.h"

static const struct tombola_param_info rows[] = {
    {.name = "logit_bias",
     .help = "adds B to a token's logit (ID+B or ID-B); -inf bans the token",
     .stage = "logit_bias",
     .type = TOMBOLA_PARAM_LOGIT_BIAS,
     .offset = offsetof(struct tombola_sampler_params, logit_bias),
     .min = -HUGE_VAL,
     .max = HUGE_VAL,
     .off = (double)NAN},
    {.name = "fallback_bias",
     .help = "biases that are used when logit_bias gives none",
     .stage = "logit_bias",
     .type = TOMBOLA_PARAM_LOGIT_BIAS,
     .offset = offsetof(struct tombola_sampler_params, fallback_bias),
     .min = -HUGE_VAL,
     .max = HUGE_VAL,
     .off = (double)NAN},
    {.name = "suppress",
     .help = "tokens that are never drawn, whatever a bias says",
     .stage = "logit_bias",
     .type = TOMBOLA_PARAM_TOKENS,
     .offset = offsetof(struct tombola_sampler_params, suppress),
     .off = (double)NAN},
};

/* The biases that count: the fallback's only when there are no others. */
static const struct tombola_logit_bias *biases_of(const struct tombola_sampler_params *params, size_t *n) {
  bool own = params->n_logit_bias > 0;
  *n = own ? params->n_logit_bias : params->n_fallback_bias;
  return own ? params->logit_bias : params->fallback_bias;
}

static bool active(const struct tombola_sampler_params *params, const struct tombola__dialect *dialect) {
  (void)dialect;
  return params->n_logit_bias + params->n_fallback_bias + params->n_suppress > 0;
}

/* The plan's copy: by id, what stood for one token added up. */
struct biases {
  size_t count;
  tombola_token *ids;
  float values[];
};

static bool is_outside(const struct tombola__plan *plan, tombola_token id) {
  return id < 0 || (size_t)id >= plan->vocab_size;
}

static enum tombola_status check(const struct tombola__plan *plan, const char *param, tombola_token id,
                                 float bias, struct tombola_error *error) {
  if (is_outside(plan, id) && !plan->dialect->bias_skips_outside)
    return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, param,
                         "%s: token %d is outside the vocabulary of %zu", param, (int)id, plan->vocab_size);
  if (!(bias < INFINITY))
    return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, param, "%s of token %d must be a number or -inf",
                         param, (int)id);
  return TOMBOLA_OK;
}

/* Suppression is a bias of -inf: no other bias, being finite or -inf, brings the token back. */
static enum tombola_status collect(const struct tombola__plan *plan, struct tombola__entry *out,
                                   struct tombola_error *error) {
  const struct tombola_sampler_params *params = &plan->params;
  size_t n;
  const struct tombola_logit_bias *biases = biases_of(params, &n);
  const char *name = params->n_logit_bias ? "logit_bias" : "fallback_bias";
  for (size_t i = 0; i < n; i++) {
    enum tombola_status status = check(plan, name, biases[i].token, biases[i].bias, error);
    if (status) return status;
    out[i] = (struct tombola__entry){biases[i].bias, biases[i].token};
  }
  for (size_t i = 0; i < params->n_suppress; i++) {
    enum tombola_status status = check(plan, "suppress", params->suppress[i], 0, error);
    if (status) return status;
    out[n + i] = (struct tombola__entry){-INFINITY, params->suppress[i]};
  }
  return TOMBOLA_OK;
}

static struct biases *new_biases(const struct tombola__plan *plan, size_t n) {
  struct biases *b = tombola__new(&plan->allocator, 1, sizeof *b + n * sizeof b->values[0]);
  if (b) b->ids = tombola__new(&plan->allocator, n, sizeof *b->ids);
  if (b && b->ids) return b;
  tombola__free(&plan->allocator, b);
  return NULL;
}

static void add_up(const struct tombola__plan *plan, struct biases *b, const struct tombola__entry *sorted,
                   size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (is_outside(plan, sorted[i].id)) continue;
    if (b->count && sorted[i].id == b->ids[b->count - 1]) {
      b->values[b->count - 1] += sorted[i].logit;
    } else {
      b->ids[b->count] = sorted[i].id;
      b->values[b->count++] = sorted[i].logit;
    }
  }
}

/* Sorting before adding up makes the sum independent of the caller's order. */
static enum tombola_status prepare(const struct tombola__plan *plan, void **data,
                                   struct tombola_error *error) {
  size_t n;
  biases_of(&plan->params, &n);
  n += plan->params.n_suppress;
  struct tombola__entry *sorted = tombola__new(&plan->allocator, n, sizeof *sorted);
  if (!sorted) return tombola__no_memory(error);
  enum tombola_status status = collect(plan, sorted, error);
  struct biases *b = status ? NULL : new_biases(plan, n);
  if (!status && !b) status = tombola__no_memory(error);
  if (!status) {
    tombola__entries_by_id(sorted, n);
    add_up(plan, b, sorted, n);
    *data = b;
  }
  tombola__free(&plan->allocator, sorted);
  return status;
}

static void release(const struct tombola__plan *plan, void *data) {
  struct biases *b = data;
  tombola__free(&plan->allocator, b->ids);
  tombola__free(&plan->allocator, b);
}

static float add(const void *context, size_t index, float logit) {
  const struct biases *b = context;
  return logit + b->values[index];
}

static enum tombola_status apply(struct tombola__stage_call *call) {
  const struct biases *b = call->link->data;
  return tombola__candidates_edit(call->candidates, b->ids, b->count, add, b);
}

const struct tombola__stage tombola__stage_logit_bias = {
    .name = "logit_bias",
    .edits = true,
    .bans = true,
    .params = rows,
    .n_params = TOMBOLA__COUNT(rows),
    .active = active,
    .prepare = prepare,
    .release = release,
    .apply = apply,
};
