/* SPDX-License-Identifier: Apache-2.0 */
/* epsilon: keeps tokens with a probability of at least epsilon, and the best one (arXiv 2210.15191). */
#include "../internal.h"

static const struct tombola_param_info rows[] = {
    {.name = "epsilon_cutoff",
     .help = "keep tokens at least so likely; 0: off",
     .stage = "epsilon",
     .type = TOMBOLA_PARAM_FLOAT,
     .offset = offsetof(struct tombola_sampler_params, epsilon_cutoff),
     .min = 0,
     .max = 1,
     .max_open = 1,
     .off = 0},
};

static bool active(const struct tombola_sampler_params *params, const struct tombola__dialect *dialect) {
  (void)dialect;
  return params->epsilon_cutoff > 0;
}

static enum tombola_status apply(struct tombola__stage_call *call) {
  struct tombola__candidates *c = call->candidates;
  enum tombola_status status = tombola__candidates_sum(c);
  if (status) return status;
  double cutoff = tombola__log((double)call->params->epsilon_cutoff) + tombola__log(c->total);
  return tombola__candidates_keep_share(c, cutoff < 0 ? cutoff : 0, call->link->min_keep);
}

const struct tombola__stage tombola__stage_epsilon = {
    .name = "epsilon",
    .keeps_best = true,
    .params = rows,
    .n_params = TOMBOLA__COUNT(rows),
    .active = active,
    .apply = apply,
};
