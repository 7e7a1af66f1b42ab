/* SPDX-License-Identifier: Apache-2.0 */
/* min_p: keeps tokens that are at least min_p times as likely as the best (arXiv 2407.01082). In logits that
 * is a threshold, max + ln(min_p), and needs no softmax. */
#include "../internal.h"

static const struct tombola_param_info rows[] = {
    {.name = "min_p",
     .help = "keep tokens at least so likely relative to the best; 0: off",
     .stage = "min_p",
     .type = TOMBOLA_PARAM_FLOAT,
     .offset = offsetof(struct tombola_sampler_params, min_p),
     .min = 0,
     .max = 1,
     .off = 0},
};

static bool active(const struct tombola_sampler_params *params, const struct tombola__dialect *dialect) {
  (void)dialect;
  return params->min_p > 0;
}

static enum tombola_status apply(struct tombola__stage_call *call) {
  return tombola__candidates_keep_share(call->candidates, tombola__log((double)call->params->min_p),
                                        call->link->min_keep);
}

const struct tombola__stage tombola__stage_min_p = {
    .name = "min_p",
    .letter = 'm',
    .keeps_best = true,
    .params = rows,
    .n_params = TOMBOLA__COUNT(rows),
    .active = active,
    .apply = apply,
};
