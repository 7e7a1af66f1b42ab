/* SPDX-License-Identifier: Apache-2.0 */
/* logit_bias: adds to the logits of given tokens. Entries for one token add up (llama.cpp adds them up or
 * takes the first, depending on how its array lies; OpenAI's map can't hold duplicates); -inf bans. */
#include <math.h>

#include "../internal.h"

static const struct tombola_param_info rows[] = {
    {.name = "logit_bias",
     .help = "adds B to a token's logit (ID+B or ID-B); -inf bans the token",
     .stage = "logit_bias",
     .type = TOMBOLA_PARAM_LOGIT_BIAS,
     .offset = offsetof(struct tombola_sampler_params, logit_bias),
     .min = -HUGE_VAL,
     .max = HUGE_VAL,
     .off = (double)NAN},
};

static bool active(const struct tombola_sampler_params *params, const struct tombola__dialect *dialect) {
  (void)dialect;
  return params->n_logit_bias > 0;
}

static float add(const void *context, size_t index, float logit) {
  const struct tombola_logit_bias *biases = context;
  return logit + biases[index].bias;
}

static enum tombola_status apply(struct tombola__stage_call *call) {
  const struct tombola_sampler *s = call->sampler;
  return tombola__candidates_edit(call->candidates, s->bias_ids, s->n_biases, add, s->biases);
}

const struct tombola__stage tombola__stage_logit_bias = {
    .name = "logit_bias",
    .params = rows,
    .n_params = TOMBOLA__COUNT(rows),
    .active = active,
    .apply = apply,
};
