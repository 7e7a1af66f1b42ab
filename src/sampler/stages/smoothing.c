/* SPDX-License-Identifier: Apache-2.0 */
/* smoothing: quadratic sampling (text-generation-webui's smoothing_factor). Each logit moves to the parabola
 * below the best one, max - factor * (logit - max)^2: near the best the distribution flattens, the tail falls
 * off. */
#include <float.h>
#include <math.h>

#include "../internal.h"

static const struct tombola_param_info rows[] = {
    {.name = "smoothing_factor",
     .help = "quadratic smoothing: max - factor * (logit - max)^2; 0: off",
     .stage = "smoothing",
     .type = TOMBOLA_PARAM_FLOAT,
     .offset = offsetof(struct tombola_sampler_params, smoothing_factor),
     .min = 0,
     .max = HUGE_VAL,
     .off = 0},
};

static bool active(const struct tombola_sampler_params *params, const struct tombola__dialect *dialect) {
  (void)dialect;
  return params->smoothing_factor > 0;
}

/* Huge logits stay finite: the difference of infinities is no number. */
static float kept_finite(float x) {
  return x > FLT_MAX ? FLT_MAX : x < -FLT_MAX ? -FLT_MAX : x;
}

/* Equal results may leave a ranked list with ids out of order, which its next reader puts right. */
static enum tombola_status apply(struct tombola__stage_call *call) {
  struct tombola__candidates *c = call->candidates;
  enum tombola_status status = tombola__candidates_list(c, false);
  if (status) return status;
  float best = kept_finite(c->max * c->scale), factor = call->params->smoothing_factor;
  for (size_t i = 0; i < c->count; i++) {
    float distance = kept_finite(c->list[i].logit * c->scale) - best;
    float moved = best - factor * distance * distance;
    c->list[i].logit = moved > -FLT_MAX ? moved : -FLT_MAX;
  }
  if (c->order == TOMBOLA__BY_RANK) c->order = TOMBOLA__BY_CHANCE;
  c->scale = 1;
  c->max = best;
  c->summed = false;
  return TOMBOLA_OK;
}

const struct tombola__stage tombola__stage_smoothing = {
    .name = "smoothing",
    .keeps_best = true,
    .params = rows,
    .n_params = TOMBOLA__COUNT(rows),
    .active = active,
    .apply = apply,
};
