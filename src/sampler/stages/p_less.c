/* SPDX-License-Identifier: Apache-2.0 */
/* p_less: keeps tokens at least as likely as a token drawn by chance is on average, the sum of the squared
 * probabilities (arXiv 2509.23234). The probabilities are those at the temperature, also where the chain
 * applies it later. The best token always reaches that. */
#include "../internal.h"

static const struct tombola_param_info rows[] = {
    {.name = "p_less",
     .help = "keep tokens at least as likely as the sum of squared probabilities",
     .stage = "p_less",
     .type = TOMBOLA_PARAM_BOOL,
     .offset = offsetof(struct tombola_sampler_params, p_less),
     .min = 0,
     .max = 1,
     .off = 0},
};

static bool active(const struct tombola_sampler_params *params, const struct tombola__dialect *dialect) {
  (void)dialect;
  return params->p_less != 0;
}

/* What a temperature that is still to come will multiply the logits with. */
static float coming(const struct tombola__stage_call *call) {
  float temperature = call->params->temperature;
  const struct tombola__link *end = call->plan->chain + call->plan->n_chain;
  for (const struct tombola__link *link = call->link + 1; link < end; link++)
    if (link->stage == &tombola__stage_temperature && temperature > 0) return 1 / temperature;
  return 1;
}

/* The sum of the squared weights is the sum of the weights at twice the scale. */
static enum tombola_status apply(struct tombola__stage_call *call) {
  struct tombola__candidates *c = call->candidates;
  float scale = c->scale;
  tombola__candidates_scale(c, coming(call));
  enum tombola_status status = tombola__candidates_sum(c);
  double total = c->total;
  float tempered = c->scale;
  tombola__candidates_scale(c, 2);
  if (!status) status = tombola__candidates_sum(c);
  c->scale = tempered;
  double share = status ? 0 : tombola__log(c->total / total);
  if (!status)
    status = tombola__candidates_keep_share(c, share < 0 ? share : 0, call->link->min_keep);
  c->scale = scale;
  c->summed = false;
  return status;
}

const struct tombola__stage tombola__stage_p_less = {
    .name = "p_less",
    .keeps_best = true,
    .params = rows,
    .n_params = TOMBOLA__COUNT(rows),
    .active = active,
    .apply = apply,
};
