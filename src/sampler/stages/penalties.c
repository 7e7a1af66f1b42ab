/* SPDX-License-Identifier: Apache-2.0 */
/* penalties: makes tokens of the history less likely. For each distinct token among the last repeat_last_n: a
 * positive logit is divided by repeat_penalty, another one multiplied (CTRL, arXiv 1909.05858, with the sign
 * rule that every engine has added), and count * frequency_penalty + presence_penalty is subtracted
 * (OpenAI), in the order that the dialect says. */
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

/* What the dialect leaves of the three: a value within its dead zone of neutral, or a repeat_penalty below 1
 * where that is ignored, becomes neutral. */
struct penalties {
  float repeat, frequency, presence;
  enum tombola__penalty_form form;
};

static bool is_near(float value, double neutral, double zone) {
  return fabs((double)value - neutral) < zone;
}

static struct penalties penalties_of(const struct tombola_sampler_params *params,
                                     const struct tombola__dialect *dialect) {
  double zone = dialect->penalty_dead_zone;
  struct penalties p = {params->repeat_penalty, params->frequency_penalty, params->presence_penalty,
                        dialect->penalty_form};
  if (is_near(p.repeat, 1, zone) || (dialect->penalty_once_one && p.repeat < 1)) p.repeat = 1;
  if (is_near(p.frequency, 0, zone) && is_near(p.presence, 0, zone)) p.frequency = p.presence = 0;
  return p;
}

static bool active(const struct tombola_sampler_params *params, const struct tombola__dialect *dialect) {
  struct penalties p = penalties_of(params, dialect);
  bool neutral = p.repeat == 1 && p.frequency == 0 && p.presence == 0;
  return !neutral && tombola__penalty_window(params, dialect) > 0;
}

static size_t window(const struct tombola__plan *plan) {
  return tombola__penalty_window(&plan->params, plan->dialect);
}

static float repeated(float repeat, float logit) {
  return logit <= 0 ? logit * repeat : logit / repeat;
}

static float penalize(const struct penalties *p, uint32_t count, float logit) {
  float times = (float)count * p->frequency;
  switch (p->form) {
  case TOMBOLA__REPEAT_THEN_SUM: return repeated(p->repeat, logit) - (times + p->presence);
  case TOMBOLA__REPEAT_THEN_EACH: return repeated(p->repeat, logit) - p->presence - times;
  case TOMBOLA__EACH_THEN_REPEAT: return repeated(p->repeat, logit - times - p->presence);
  }
  return logit;
}

struct context {
  struct penalties penalties;
  uint32_t count;
};

static float edit(const void *context, size_t index, float logit) {
  const struct context *c = context;
  (void)index;
  return penalize(&c->penalties, c->count, logit);
}

static enum tombola_status apply(struct tombola__stage_call *call) {
  const struct tombola__history *h = call->history;
  struct context context = {penalties_of(call->params, call->dialect), 0};
  for (size_t i = 0; i < h->table_capacity; i++) {
    if (!h->table[i].n) continue;
    context.count = h->table[i].n;
    enum tombola_status status =
        tombola__candidates_edit(call->candidates, &h->table[i].id, 1, edit, &context);
    if (status) return status;
  }
  return TOMBOLA_OK;
}

const struct tombola__stage tombola__stage_penalties = {
    .name = "penalties",
    .letter = 'e',
    .edits = true,
    .params = rows,
    .n_params = TOMBOLA__COUNT(rows),
    .active = active,
    .window = window,
    .apply = apply,
};
