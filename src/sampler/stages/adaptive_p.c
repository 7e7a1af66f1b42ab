/* SPDX-License-Identifier: Apache-2.0 */
/* adaptive_p: draws tokens whose probability is near a target, and moves the target so that the average of
 * what was drawn meets it (MrJackSpade and ddh0, llama.cpp #17927). It takes the place of the draw: its law
 * is a softmax of 5 - 10 d^2 / (1 + d), where d is the distance of a token's probability to the adapted
 * target, in units of 0.3. The average learns the probability that a token had before, once that token is
 * accepted. */
#include <math.h>
#include <string.h>

#include "../internal.h"

#define AT(member) .stage = "adaptive_p", .offset = offsetof(struct tombola_sampler_params, member)

static const struct tombola_param_info rows[] = {
    {.name = "adaptive_target",
     .help = "the probability that drawn tokens shall have on average; below 0: off",
     .type = TOMBOLA_PARAM_FLOAT,
     AT(adaptive_target),
     .min = -HUGE_VAL,
     .max = 1,
     .off = -1},
    {.name = "adaptive_decay",
     .help = "how much of the average each token leaves; 0.9 remembers about 10 tokens",
     .type = TOMBOLA_PARAM_FLOAT,
     AT(adaptive_decay),
     .min = 0,
     .max = (double)0.99f,
     .off = (double)NAN},
};

static bool active(const struct tombola_sampler_params *params, const struct tombola__dialect *dialect) {
  (void)dialect;
  return params->adaptive_target >= 0;
}

struct average {
  float sum, weight;   /* of the probabilities, and of their weights */
  float pending;       /* what the chosen token's probability was */
  tombola_token token; /* the chosen token, until one is accepted */
  /* Of the row that was sampled last: whether its logits, still unchanged in the blocks, give the
   * probabilities. */
  bool from_blocks;
  float scale, max;
  double total;
};

static size_t state_size(const struct tombola__plan *plan) {
  (void)plan;
  return sizeof(struct average);
}

/* As if all that went before had met the target. */
static void reset(struct tombola__stage_call *call) {
  float rest = 1 - call->params->adaptive_decay;
  struct average *a = call->state;
  *a = (struct average){
      .sum = call->params->adaptive_target / rest, .weight = 1 / rest, .token = TOMBOLA_NO_TOKEN};
}

static float adapted_target(const struct average *a, float target) {
  float adapted = a->weight == 0 ? target : 2 * target - a->sum / a->weight;
  return adapted < 0 ? 0 : adapted > 1 ? 1 : adapted;
}

static float shaped(float p, float target) {
  float distance = fabsf((p - target) * (1.0f / 0.3f));
  return 5 - 10 * distance * distance / (1 + distance);
}

/* The probabilities of a list, which `chosen` wants, lie behind it; it is in the draw's order already. */
static float *behind(const struct tombola__candidates *c) {
  return (float *)(void *)(c->list + c->count);
}

/* A dense set needs no room for them: making a list of it leaves its blocks as they are. */
static enum tombola_status make_list(struct tombola__stage_call *call, struct average *a) {
  struct tombola__candidates *c = call->candidates;
  a->from_blocks = c->dense;
  enum tombola_status status = tombola__candidates_list(c, false);
  if (status) return status;
  tombola__draw_order(call->sampler);
  status = tombola__candidates_sum(c);
  if (status) return status;
  a->scale = c->scale;
  a->max = c->max;
  a->total = c->total;
  if (a->from_blocks) return TOMBOLA_OK;
  return tombola__candidates_reserve(c, c->count + c->count / 2 + TOMBOLA__BLOCK);
}

static enum tombola_status apply(struct tombola__stage_call *call) {
  struct tombola__candidates *c = call->candidates;
  struct average *a = call->state;
  enum tombola_status status = make_list(call, a);
  if (status) return status;
  float target = adapted_target(a, call->params->adaptive_target);
  for (size_t first = 0, n; first < c->count; first += n) {
    float weights[TOMBOLA__BLOCK];
    n = tombola__candidates_weights(c, first, weights);
    for (size_t i = 0; i < n; i++) {
      float p = (float)((double)weights[i] / a->total);
      if (!a->from_blocks) behind(c)[first + i] = p;
      c->list[first + i].logit = shaped(p, target);
    }
  }
  if (c->order == TOMBOLA__BY_RANK) c->order = TOMBOLA__BY_CHANCE;
  c->scale = 1;
  c->indexed = c->summed = false;
  return TOMBOLA_OK;
}

/* What the token's probability was before it was shaped. */
static float original(const struct tombola__candidates *c, const struct average *a, tombola_token token) {
  size_t i = 0;
  if (a->from_blocks) {
    float room[TOMBOLA__BLOCK];
    size_t place = (size_t)token;
    float logit = tombola__candidates_block(c, place / TOMBOLA__BLOCK, room)[place % TOMBOLA__BLOCK];
    return (float)((double)tombola__exp((logit - a->max) * a->scale) / a->total);
  }
  while (i + 1 < c->count && c->list[i].id != token)
    i++;
  return behind(c)[i];
}

static void chosen(struct tombola__stage_call *call, tombola_token token) {
  struct average *a = call->state;
  a->pending = original(call->candidates, a, token);
  a->token = token;
}

static void accept(struct tombola__stage_call *call, tombola_token token) {
  struct average *a = call->state;
  if (a->token == token) {
    a->sum = a->pending + call->params->adaptive_decay * a->sum;
    a->weight = 1 + call->params->adaptive_decay * a->weight;
  }
  a->token = TOMBOLA_NO_TOKEN;
}

const struct tombola__stage tombola__stage_adaptive_p = {
    .name = "adaptive_p",
    .selects = true,
    .params = rows,
    .n_params = TOMBOLA__COUNT(rows),
    .active = active,
    .state_size = state_size,
    .reset = reset,
    .apply = apply,
    .chosen = chosen,
    .accept = accept,
};
