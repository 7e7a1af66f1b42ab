/* SPDX-License-Identifier: Apache-2.0 */
/* mirostat: keeps the surprise of the tokens near tau (Basu et al., arXiv 2007.14966). Version 1 estimates
 * Zipf's exponent from the best 100 tokens and from it a number of tokens to keep; version 2 keeps the tokens
 * whose surprise, -log2 p, is at most mu. After the draw mu moves by eta times the error of the surprise that
 * was seen.
 *
 * Rules: llama.cpp 0c1e57098. Where it divides 0 by 0 the limit is taken: a single token stays, exponents of
 * 0 (all equal) and of 1 have the values that their neighbours approach; a number that isn't finite keeps all
 * (mlxcel). The estimate ends at the first token without weight (mlxcel). */
#include <float.h>
#include <math.h>

#include "../internal.h"

static const char *const tau_aliases[] = {"mirostat_ent", NULL};
static const char *const eta_aliases[] = {"mirostat_lr", NULL};

#define AT(member)   .stage = "mirostat", .offset = offsetof(struct tombola_sampler_params, member)
#define LN2          0.69314718055994531
#define ESTIMATED    100
#define LEAST_WEIGHT -87.33 /* exponents below it have weight 0 (kernels.h) */

static const struct tombola_param_info rows[] = {
    {.name = "mirostat",
     .help = "keep the surprise of the tokens constant: version 1 or 2; 0: off",
     .type = TOMBOLA_PARAM_INT,
     AT(mirostat),
     .min = 0,
     .max = 2,
     .off = 0},
    {.name = "mirostat_tau",
     .aliases = tau_aliases,
     .help = "the surprise to keep, in bits",
     .type = TOMBOLA_PARAM_FLOAT,
     AT(mirostat_tau),
     .min = 0,
     .max = HUGE_VAL,
     .off = (double)NAN},
    {.name = "mirostat_eta",
     .aliases = eta_aliases,
     .help = "how fast mirostat learns",
     .type = TOMBOLA_PARAM_FLOAT,
     AT(mirostat_eta),
     .min = 0,
     .max = HUGE_VAL,
     .off = (double)NAN},
};

static bool active(const struct tombola_sampler_params *params, const struct tombola__dialect *dialect) {
  (void)dialect;
  return params->mirostat != 0;
}

static size_t state_size(const struct tombola__plan *plan) {
  (void)plan;
  return sizeof(float);
}

static void reset(struct tombola__stage_call *call) {
  float *mu = call->state;
  *mu = 2 * call->params->mirostat_tau;
}

/* ---- keeping ---- */

/* What has at least the logit `low`, but the best one in any case; where draws walk the candidates as they
 * lie, ranked, as llama.cpp leaves them. */
static enum tombola_status keep(struct tombola__stage_call *call, float low) {
  struct tombola__candidates *c = call->candidates;
  if (low > c->max && !call->dialect->top_k_ties) return tombola__candidates_keep_best(c);
  enum tombola_status status = tombola__candidates_keep_at_least(c, low < c->max ? low : c->max);
  if (status || call->dialect->draw_order != TOMBOLA__DRAW_AS_IS) return status;
  if (!c->dense) return tombola__candidates_list(c, true);
  c->ranked = true;
  return TOMBOLA_OK;
}

/* -log2(w / total) <= mu, solved for the logit. */
static enum tombola_status keep_by_surprise(struct tombola__stage_call *call, float mu) {
  struct tombola__candidates *c = call->candidates;
  enum tombola_status status = tombola__candidates_sum(c);
  if (status) return status;
  double exponent = tombola__log(c->total) - (double)mu * LN2;
  return keep(call, (float)((double)c->max + exponent / (double)c->scale));
}

/* Zipf's exponent by least squares over the ranked entries. */
static double estimate(const struct tombola__candidates *c, const struct tombola__entry *best, size_t n) {
  double products = 0, squares = 0;
  for (size_t i = 0; i + 1 < n && i + 1 < ESTIMATED; i++) {
    double scale = (double)c->scale;
    if (((double)best[i + 1].logit - (double)c->max) * scale < LEAST_WEIGHT) break;
    double t = tombola__log((double)(i + 2) / (double)(i + 1));
    double b = ((double)best[i].logit - (double)best[i + 1].logit) * scale;
    products += t * b;
    squares += t * t;
  }
  return squares > 0 ? products / squares : (double)INFINITY;
}

/* How many tokens to keep: ((eps * 2^mu) / (1 - V^-eps))^(1 / s) with eps = s - 1. */
static size_t number_to_keep(double s, float mu, size_t vocab_size) {
  double eps = s - 1, size = (double)vocab_size;
  if (!isfinite(s) || vocab_size < 2) return 1;
  double spread = eps == 0 ? 1 / tombola__log(size) : eps / (1 - tombola__power(size, -eps));
  double base = spread * tombola__power(2, (double)mu);
  double k = s > 0 ? tombola__power(base, 1 / s) : base < 1 ? 0 : (double)INFINITY;
  if (!(k < size)) return vocab_size;
  return k >= 1 ? (size_t)k : 1;
}

/* The k best, and what ties with the last of them where the dialect's top_k has it so. */
static enum tombola_status keep_number(struct tombola__stage_call *call, size_t k) {
  struct tombola__candidates *c = call->candidates;
  enum tombola_status status = TOMBOLA_OK;
  if (!call->dialect->top_k_ties) return tombola__candidates_keep_top(c, k);
  if (c->dense && k < c->vocab_size)
    status = tombola__candidates_keep_at_least(c, tombola__candidates_bound(c, k));
  if (!status) status = tombola__candidates_list(c, true);
  if (status) return status;
  while (k < c->count && c->list[k].logit == c->list[k - 1].logit)
    k++;
  return tombola__candidates_keep_top(c, k);
}

static enum tombola_status keep_by_estimate(struct tombola__stage_call *call, float mu) {
  struct tombola__candidates *c = call->candidates;
  enum tombola_status status = tombola__candidates_index(c);
  if (status) return status;
  size_t n = 0;
  if (c->dense) { /* the best are looked at where the list will be, and the set stays dense */
    status = tombola__candidates_gather(c, tombola__candidates_bound(c, ESTIMATED), INFINITY, SIZE_MAX);
    if (status) return status;
    tombola__entries_rank(c->list, c->count);
    n = c->count;
    c->count = 0;
  } else {
    status = tombola__candidates_list(c, true);
    if (status) return status;
    n = c->count;
  }
  double s = estimate(c, c->list, n);
  return keep_number(call, number_to_keep(s, mu, c->vocab_size));
}

static enum tombola_status apply(struct tombola__stage_call *call) {
  float mu = *(const float *)call->state;
  return call->params->mirostat == 1 ? keep_by_estimate(call, mu) : keep_by_surprise(call, mu);
}

/* ---- learning ---- */

static double weight_of(const struct tombola__candidates *c, tombola_token token) {
  float weights[TOMBOLA__BLOCK];
  size_t place = (size_t)token;
  if (!c->dense)
    for (place = 0; place + 1 < c->count && c->list[place].id != token;)
      place++;
  size_t first = place - place % TOMBOLA__BLOCK;
  tombola__candidates_weights(c, first, weights);
  return (double)weights[place - first];
}

/* mu is kept finite, so that no rate makes it stop being a number. */
static void chosen(struct tombola__stage_call *call, tombola_token token) {
  struct tombola__candidates *c = call->candidates;
  float *mu = call->state;
  if (tombola__candidates_sum(c)) return;
  double p = weight_of(c, token) / c->total;
  float surprise = p > 0 ? (float)(-tombola__log(p) / LN2) : 0;
  *mu -= call->params->mirostat_eta * (surprise - call->params->mirostat_tau);
  if (!(*mu < FLT_MAX)) *mu = FLT_MAX;
  if (*mu < -FLT_MAX) *mu = -FLT_MAX;
}

const struct tombola__stage tombola__stage_mirostat = {
    .name = "mirostat",
    .selects = true,
    .params = rows,
    .n_params = TOMBOLA__COUNT(rows),
    .active = active,
    .state_size = state_size,
    .reset = reset,
    .apply = apply,
    .chosen = chosen,
};
