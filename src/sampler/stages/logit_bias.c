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
};

static bool active(const struct tombola_sampler_params *params, const struct tombola__dialect *dialect) {
  (void)dialect;
  return params->n_logit_bias > 0;
}

/* The plan's copy: by id, what stood for one token added up. */
struct biases {
  size_t count;
  tombola_token *ids;
  float values[];
};

static enum tombola_status check_ids(const struct tombola__plan *plan, struct tombola_error *error) {
  for (size_t i = 0; i < plan->params.n_logit_bias; i++) {
    tombola_token id = plan->params.logit_bias[i].token;
    if (id < 0 || (size_t)id >= plan->vocab_size)
      return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "logit_bias",
                           "logit_bias: token %d is outside the vocabulary of %zu", (int)id,
                           plan->vocab_size);
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

/* Sorting before adding up makes the sum independent of the caller's order. */
static enum tombola_status prepare(const struct tombola__plan *plan, void **data,
                                   struct tombola_error *error) {
  size_t n = plan->params.n_logit_bias;
  enum tombola_status status = check_ids(plan, error);
  if (status) return status;
  struct tombola__entry *sorted = tombola__new(&plan->allocator, n, sizeof *sorted);
  struct biases *b = sorted ? new_biases(plan, n) : NULL;
  if (!b) {
    tombola__free(&plan->allocator, sorted);
    return tombola__no_memory(error);
  }
  for (size_t i = 0; i < n; i++)
    sorted[i] = (struct tombola__entry){plan->params.logit_bias[i].bias, plan->params.logit_bias[i].token};
  tombola__entries_by_id(sorted, n);
  for (size_t i = 0; i < n; i++) {
    if (i && sorted[i].id == sorted[i - 1].id) {
      b->values[b->count - 1] += sorted[i].logit;
    } else {
      b->ids[b->count] = sorted[i].id;
      b->values[b->count++] = sorted[i].logit;
    }
  }
  tombola__free(&plan->allocator, sorted);
  *data = b;
  return TOMBOLA_OK;
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
    .params = rows,
    .n_params = TOMBOLA__COUNT(rows),
    .active = active,
    .prepare = prepare,
    .release = release,
    .apply = apply,
};
