/* SPDX-License-Identifier: Apache-2.0 */
/* top_n_sigma: keeps logits within n standard deviations of the largest one (arXiv 2411.07641). The deviation
 * is the population's, over the candidates that come in; a temperature before it changes nothing. */
#include <math.h>

#include "../internal.h"

static const char *const aliases[] = {"top_nsigma", NULL};

static const struct tombola_param_info rows[] = {
    {.name = "top_n_sigma",
     .aliases = aliases,
     .help = "keep logits within so many standard deviations of the largest; 0: off",
     .stage = "top_n_sigma",
     .type = TOMBOLA_PARAM_FLOAT,
     .offset = offsetof(struct tombola_sampler_params, top_n_sigma),
     .min = -HUGE_VAL,
     .max = HUGE_VAL,
     .off = 0},
};

static bool active(const struct tombola_sampler_params *params, const struct tombola__dialect *dialect) {
  (void)dialect;
  return params->top_n_sigma > 0;
}

static enum tombola_status apply(struct tombola__stage_call *call) {
  struct tombola__candidates *c = call->candidates;
  size_t count;
  double deviation;
  enum tombola_status status = tombola__candidates_deviation(c, &count, &deviation);
  if (status || count <= 1) return status;
  double reach = -(double)call->params->top_n_sigma * deviation * (double)c->scale;
  return tombola__candidates_keep_share(c, reach, call->link->min_keep);
}

const struct tombola__stage tombola__stage_top_n_sigma = {
    .name = "top_n_sigma",
    .aliases = aliases,
    .letter = 's',
    .keeps_best = true,
    .params = rows,
    .n_params = TOMBOLA__COUNT(rows),
    .active = active,
    .apply = apply,
};
