/* SPDX-License-Identifier: Apache-2.0 */
/* eta: keeps tokens with a probability of at least min(epsilon, sqrt(epsilon) * exp(-entropy)), and the best
 * one (arXiv 2210.15191): the flatter the distribution, the less a token needs. */
#include "../internal.h"

static const struct tombola_param_info rows[] = {
    {.name = "eta_cutoff",
     .help = "keep tokens at least so likely, less where the distribution is flat; 0: off",
     .stage = "eta",
     .type = TOMBOLA_PARAM_FLOAT,
     .offset = offsetof(struct tombola_sampler_params, eta_cutoff),
     .min = 0,
     .max = 1,
     .max_open = 1,
     .off = 0},
};

static bool active(const struct tombola_sampler_params *params, const struct tombola__dialect *dialect) {
  (void)dialect;
  return params->eta_cutoff > 0;
}

static enum tombola_status apply(struct tombola__stage_call *call) {
  struct tombola__candidates *c = call->candidates;
  double entropy;
  enum tombola_status status = tombola__candidates_entropy(c, &entropy);
  if (status) return status;
  double epsilon = tombola__log((double)call->params->eta_cutoff), eta = epsilon / 2 - entropy;
  double cutoff = (eta < epsilon ? eta : epsilon) + tombola__log(c->total);
  return tombola__candidates_keep_share(c, cutoff < 0 ? cutoff : 0, call->link->min_keep);
}

const struct tombola__stage tombola__stage_eta = {
    .name = "eta",
    .keeps_best = true,
    .params = rows,
    .n_params = TOMBOLA__COUNT(rows),
    .active = active,
    .apply = apply,
};
