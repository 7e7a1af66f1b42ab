/* SPDX-License-Identifier: Apache-2.0 */
/* top_a: keeps tokens with a probability of at least a times the square of the best one's (BlinkDL's sampler
 * for RWKV): the surer the model, the fewer. Of the best token, whose weight is 1, the probability is 1 /
 * total. */
#include "../internal.h"

static const struct tombola_param_info rows[] = {
    {.name = "top_a",
     .help = "keep tokens at least a * (probability of the best)^2 likely; 0: off",
     .stage = "top_a",
     .type = TOMBOLA_PARAM_FLOAT,
     .offset = offsetof(struct tombola_sampler_params, top_a),
     .min = 0,
     .max = 1,
     .off = 0},
};

static bool active(const struct tombola_sampler_params *params, const struct tombola__dialect *dialect) {
  (void)dialect;
  return params->top_a > 0;
}

static enum tombola_status apply(struct tombola__stage_call *call) {
  struct tombola__candidates *c = call->candidates;
  enum tombola_status status = tombola__candidates_sum(c);
  if (status) return status;
  double cutoff = tombola__log((double)call->params->top_a) - tombola__log(c->total);
  return tombola__candidates_keep_share(c, cutoff, call->link->min_keep);
}

const struct tombola__stage tombola__stage_top_a = {
    .name = "top_a",
    .keeps_best = true,
    .params = rows,
    .n_params = TOMBOLA__COUNT(rows),
    .active = active,
    .apply = apply,
};
