/* SPDX-License-Identifier: Apache-2.0 */
/* top_h: of the hundred best tokens, keeps the best ones whose terms of the entropy add up to no more than h
 * times the entropy of the hundred (arXiv 2509.02510, as transformers' TopHLogitsWarper has it). The best one
 * always stays. */
#include "../internal.h"

#define LOOKED_AT 100

static const struct tombola_param_info rows[] = {
    {.name = "top_h",
     .help = "keep the best tokens that hold the share h of the entropy; 0: off",
     .stage = "top_h",
     .type = TOMBOLA_PARAM_FLOAT,
     .offset = offsetof(struct tombola_sampler_params, top_h),
     .min = 0,
     .max = 1,
     .off = 0},
};

static bool active(const struct tombola_sampler_params *params, const struct tombola__dialect *dialect) {
  (void)dialect;
  return params->top_h > 0;
}

/* -p ln p of each, added up in the order of the ranking. */
static enum tombola_status add_up(struct tombola__candidates *c, double sums[LOOKED_AT]) {
  enum tombola_status status = tombola__candidates_sum(c);
  if (status) return status;
  double log_total = tombola__log(c->total), sum = 0;
  for (size_t first = 0, n; first < c->count; first += n) {
    float weights[TOMBOLA__BLOCK];
    n = tombola__candidates_weights(c, first, weights);
    for (size_t i = 0; i < n; i++) {
      double y = ((double)c->list[first + i].logit - (double)c->max) * (double)c->scale;
      if (weights[i] > 0) sum += (double)weights[i] / c->total * (log_total - y);
      sums[first + i] = sum;
    }
  }
  return TOMBOLA_OK;
}

static enum tombola_status apply(struct tombola__stage_call *call) {
  struct tombola__candidates *c = call->candidates;
  double sums[LOOKED_AT];
  size_t min_keep = call->link->min_keep, keep = 1;
  enum tombola_status status = tombola__candidates_keep_top(c, LOOKED_AT);
  if (!status) status = add_up(c, sums);
  if (status) return status;
  double bound = (double)call->params->top_h * sums[c->count - 1];
  while (keep < c->count && (keep < min_keep || sums[keep] <= bound))
    keep++;
  return tombola__candidates_keep_top(c, keep);
}

const struct tombola__stage tombola__stage_top_h = {
    .name = "top_h",
    .keeps_best = true,
    .params = rows,
    .n_params = TOMBOLA__COUNT(rows),
    .active = active,
    .apply = apply,
};
