/* SPDX-License-Identifier: Apache-2.0 */
/* penalties: makes tokens of the history less likely. For each distinct token among the last repeat_last_n: a
 * positive logit is divided by repeat_penalty, another one multiplied (CTRL, arXiv 1909.05858, with the sign
 * rule that every engine has added), then count * frequency_penalty + presence_penalty is subtracted
 * (OpenAI). */
#include <math.h>

#include "../internal.h"

static const char *const repeat_aliases[] = {"repetition_penalty", NULL};
static const char *const window_aliases[] = {"repetition_context_size", NULL};
static const char *const scopes[] = {"all", "output", NULL};

#define AT(member) .stage = "penalties", .offset = offsetof(struct tombola_sampler_params, member)

static const struct tombola_param_info rows[] = {
    {.name = "repeat_penalty",
     .aliases = repeat_aliases,
     .help = "divides the logits of recent tokens; 1: off",
     .type = TOMBOLA_PARAM_FLOAT,
     AT(repeat_penalty),
     .min = 0,
     .min_open = 1,
     .max = HUGE_VAL,
     .off = 1},
    {.name = "repeat_last_n",
     .aliases = window_aliases,
     .help = "how many recent tokens the penalties see; 0: off",
     .type = TOMBOLA_PARAM_INT,
     AT(repeat_last_n),
     .min = -1,
     .max = INT32_MAX,
     .off = 0},
    {.name = "frequency_penalty",
     .help = "subtracted once for each time that a token occurred; 0: off",
     .type = TOMBOLA_PARAM_FLOAT,
     AT(frequency_penalty),
     .min = -HUGE_VAL,
     .max = HUGE_VAL,
     .off = 0},
    {.name = "presence_penalty",
     .help = "subtracted once from each token that occurred; 0: off",
     .type = TOMBOLA_PARAM_FLOAT,
     AT(presence_penalty),
     .min = -HUGE_VAL,
     .max = HUGE_VAL,
     .off = 0},
    {.name = "penalty_scope",
     .help = "whether penalties see prompt and output (all) or the output alone",
     .type = TOMBOLA_PARAM_CHOICE,
     AT(penalty_scope),
     .choices = scopes,
     .min = 0,
     .max = 1,
     .off = 0},
};

static bool active(const struct tombola_sampler_params *params, const struct tombola__dialect *dialect) {
  bool neutral =
      params->repeat_penalty == 1 && params->frequency_penalty == 0 && params->presence_penalty == 0;
  return !neutral && tombola__penalty_window(params, dialect) > 0;
}

static size_t window(const struct tombola__plan *plan) {
  return tombola__penalty_window(&plan->params, plan->dialect);
}

static float penalize(const struct tombola_sampler_params *p, uint32_t count, float logit) {
  logit = logit <= 0 ? logit * p->repeat_penalty : logit / p->repeat_penalty;
  return logit - ((float)count * p->frequency_penalty + p->presence_penalty);
}

struct context {
  const struct tombola_sampler_params *params;
  uint32_t count;
};

static float edit(const void *context, size_t index, float logit) {
  const struct context *c = context;
  (void)index;
  return penalize(c->params, c->count, logit);
}

static enum tombola_status apply(struct tombola__stage_call *call) {
  const struct tombola__history *h = call->history;
  for (size_t i = 0; i < h->table_capacity; i++) {
    if (!h->table[i].n) continue;
    struct context context = {call->params, h->table[i].n};
    enum tombola_status status =
        tombola__candidates_edit(call->candidates, &h->table[i].id, 1, edit, &context);
    if (status) return status;
  }
  return TOMBOLA_OK;
}

const struct tombola__stage tombola__stage_penalties = {
    .name = "penalties",
    .letter = 'e',
    .params = rows,
    .n_params = TOMBOLA__COUNT(rows),
    .active = active,
    .window = window,
    .apply = apply,
};
