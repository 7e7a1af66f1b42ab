/* SPDX-License-Identifier: Apache-2.0 */
/* top_p: keeps the smallest set of the most likely tokens that holds the mass p (Holtzman et al., arXiv
 * 1904.09751). The mass is that of the candidates that come in. Whether the set ends when the mass reaches p
 * or passes it is the dialect's rule; the token that does it is kept, and where the dialect says so what ties
 * with it. At 0 it is off or keeps the best alone. */
#include "../internal.h"

static const struct tombola_param_info rows[] = {
    {.name = "top_p",
     .help = "keep the most likely tokens that hold the mass p; 1: off",
     .stage = "top_p",
     .type = TOMBOLA_PARAM_FLOAT,
     .offset = offsetof(struct tombola_sampler_params, top_p),
     .min = 0,
     .max = 1,
     .off = 1},
};

static bool active(const struct tombola_sampler_params *params, const struct tombola__dialect *dialect) {
  return params->top_p < 1 && !(dialect->zero_is_off && params->top_p <= 0);
}

static enum tombola_status apply(struct tombola__stage_call *call) {
  double p = (double)call->params->top_p;
  size_t min_keep = call->link->min_keep;
  return call->dialect->top_p_ties
             ? tombola__candidates_keep_mass_ties(call->candidates, p, call->dialect->top_p_exceeds, min_keep)
             : tombola__candidates_keep_mass(call->candidates, p, call->dialect->top_p_exceeds, min_keep);
}

const struct tombola__stage tombola__stage_top_p = {
    .name = "top_p",
    .letter = 'p',
    .keeps_best = true,
    .params = rows,
    .n_params = TOMBOLA__COUNT(rows),
    .active = active,
    .apply = apply,
};
