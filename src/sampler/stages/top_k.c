/* SPDX-License-Identifier: Apache-2.0 */
/* top_k: keeps the k best (Fan et al., arXiv 1805.04833): exactly k, ties by the lower id, or with all that
 * tie with the k-th, as the dialect says. */
#include "../internal.h"

static const struct tombola_param_info rows[] = {
    {.name = "top_k",
     .help = "keep the k most likely tokens; 0: off",
     .stage = "top_k",
     .type = TOMBOLA_PARAM_INT,
     .offset = offsetof(struct tombola_sampler_params, top_k),
     .min = INT32_MIN,
     .max = INT32_MAX,
     .off = 0},
};

static bool active(const struct tombola_sampler_params *params, const struct tombola__dialect *dialect) {
  (void)dialect;
  return params->top_k > 0;
}

/* With k at or above the vocabulary nothing is dropped, but where the draw walks the candidates as they lie,
 * ranking them still decides which token a uniform falls on. */
static enum tombola_status apply(struct tombola__stage_call *call) {
  size_t k = (size_t)call->params->top_k, min_keep = (size_t)call->params->min_keep;
  if (call->dialect->top_k_min_keep && k < min_keep) k = min_keep;
  if (k >= call->candidates->vocab_size && call->dialect->draw_order != TOMBOLA__DRAW_AS_IS)
    return TOMBOLA_OK;
  return call->dialect->top_k_ties ? tombola__candidates_keep_top_ties(call->candidates, k)
                                   : tombola__candidates_keep_top(call->candidates, k);
}

const struct tombola__stage tombola__stage_top_k = {
    .name = "top_k",
    .letter = 'k',
    .keeps_best = true,
    .params = rows,
    .n_params = TOMBOLA__COUNT(rows),
    .active = active,
    .apply = apply,
};
