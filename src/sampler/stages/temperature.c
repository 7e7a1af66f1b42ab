/* SPDX-License-Identifier: Apache-2.0 */
/* temperature: divides the logits. The division is by the inverse and late, on the difference to the best, so
 * that no temperature overflows: the best always stands at 0. A temperature that the dialect calls greedy
 * never gets here; the chain then ends with the best token. */
#include <float.h>
#include <math.h>

#include "../internal.h"

static const char *const param_aliases[] = {"temp", NULL};
static const char *const stage_aliases[] = {"temp", NULL};

static const struct tombola_param_info rows[] = {
    {.name = "temperature",
     .aliases = param_aliases,
     .help = "flattens (> 1) or sharpens (< 1); 0: always the best token",
     .stage = "temperature",
     .type = TOMBOLA_PARAM_FLOAT,
     .offset = offsetof(struct tombola_sampler_params, temperature),
     .min = -HUGE_VAL,
     .max = HUGE_VAL,
     .off = 1},
};

static bool active(const struct tombola_sampler_params *params, const struct tombola__dialect *dialect) {
  (void)dialect;
  return params->temperature != 1;
}

static enum tombola_status apply(struct tombola__stage_call *call) {
  double inverse = 1 / (double)call->params->temperature;
  tombola__candidates_scale(call->candidates, inverse < (double)FLT_MAX ? (float)inverse : FLT_MAX);
  return TOMBOLA_OK;
}

const struct tombola__stage tombola__stage_temperature = {
    .name = "temperature",
    .aliases = stage_aliases,
    .letter = 't',
    .keeps_best = true,
    .params = rows,
    .n_params = TOMBOLA__COUNT(rows),
    .active = active,
    .apply = apply,
};
