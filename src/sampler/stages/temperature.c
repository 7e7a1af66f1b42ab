/* SPDX-License-Identifier: Apache-2.0 */
/* temperature: divides the logits. The division is by the inverse and late, on the difference to the best, so
 * that no temperature overflows: the best always stands at 0. A temperature that the dialect calls greedy
 * never gets here; the chain then ends with the best token.
 *
 * With dynatemp_range the temperature depends on the entropy (arXiv 2309.02772; llama.cpp's temp_ext):
 * between temperature - range, at least 0, and temperature + range, at (entropy / largest possible
 * entropy)^exponent. */
#include <float.h>
#include <math.h>

#include "../internal.h"

static const char *const param_aliases[] = {"temp", NULL};
static const char *const stage_aliases[] = {"temp", NULL};
static const char *const exponent_aliases[] = {"dynatemp_exp", NULL};

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
    {.name = "dynatemp_range",
     .help = "lets the entropy move the temperature so far up and down; 0: off",
     .stage = "temperature",
     .type = TOMBOLA_PARAM_FLOAT,
     .offset = offsetof(struct tombola_sampler_params, dynatemp_range),
     .min = -HUGE_VAL,
     .max = HUGE_VAL,
     .off = 0},
    {.name = "dynatemp_exponent",
     .aliases = exponent_aliases,
     .help = "how the entropy becomes a place in the range of the dynamic temperature",
     .stage = "temperature",
     .type = TOMBOLA_PARAM_FLOAT,
     .offset = offsetof(struct tombola_sampler_params, dynatemp_exponent),
     .min = -HUGE_VAL,
     .max = HUGE_VAL,
     .off = 1},
};

static bool active(const struct tombola_sampler_params *params, const struct tombola__dialect *dialect) {
  (void)dialect;
  return params->temperature != 1 || params->dynatemp_range > 0;
}

static void divide(struct tombola__candidates *c, double temperature) {
  double inverse = 1 / temperature;
  tombola__candidates_scale(c, inverse < (double)FLT_MAX ? (float)inverse : FLT_MAX);
}

/* The entropy's share of the largest that `count` tokens can have, to the power of the exponent. */
static double place(double entropy, size_t count, double exponent) {
  double share = entropy / tombola__log((double)count);
  if (exponent == 0) return 1;
  return share < 1 ? tombola__power(share, exponent) : 1;
}

static enum tombola_status apply_dynamic(struct tombola__stage_call *call) {
  struct tombola__candidates *c = call->candidates;
  const struct tombola_sampler_params *params = call->params;
  double middle = (double)params->temperature, range = (double)params->dynatemp_range, entropy;
  struct tombola__moments moments;
  enum tombola_status status = tombola__candidates_index(c);
  if (!status) status = tombola__candidates_moments(c, c->max, &moments);
  if (status || moments.count <= 1) return status;
  status = tombola__candidates_entropy(c, &entropy);
  if (status) return status;
  double low = middle > range ? middle - range : 0;
  double temperature =
      low + (middle + range - low) * place(entropy, moments.count, (double)params->dynatemp_exponent);
  if (temperature < call->dialect->dynatemp_floor) temperature = call->dialect->dynatemp_floor;
  if (!(temperature > 0)) return tombola__candidates_keep_best(c);
  divide(c, temperature);
  /* llama.cpp ranks to know the entropy, and its draw then walks the ranking. */
  if (!c->dense) return tombola__candidates_list(c, true);
  c->ranked = true;
  return TOMBOLA_OK;
}

static enum tombola_status apply(struct tombola__stage_call *call) {
  if (call->params->dynatemp_range > 0) return apply_dynamic(call);
  divide(call->candidates, (double)call->params->temperature);
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
