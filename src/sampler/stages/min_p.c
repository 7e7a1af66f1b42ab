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

static size_t count_at_least(const struct tombola__candidates *c, float threshold) {
  size_t n = 0;
  for (size_t i = 0; i < c->count; i++)
    n += c->list[i].logit >= threshold;
  return n;
}

/* min_keep after llama.cpp: a set that would be too small is ranked, and the best min_keep of it stay. To
 * know the number before anything is dropped the candidates must be a list. */
static enum tombola_status apply(struct tombola__stage_call *call) {
  struct tombola__candidates *c = call->candidates;
  enum tombola_status status = tombola__candidates_index(c);
  if (status) return status;
  float threshold = c->max + (float)(tombola__log((double)call->params->min_p) / (double)c->scale);
  size_t min_keep = (size_t)call->params->min_keep;
  if (min_keep > 1) {
    status = tombola__candidates_list(c, false);
    if (status) return status;
    if (count_at_least(c, threshold) < min_keep) return tombola__candidates_keep_top(c, min_keep);
  }
  return tombola__candidates_keep_at_least(c, threshold);
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
