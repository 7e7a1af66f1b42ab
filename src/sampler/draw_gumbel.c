/* SPDX-License-Identifier: Apache-2.0 */
/* The draw by the Gumbel-max trick: the candidate with the largest logit + noise, one pass, no sum. The noise
 * of a token depends on its id and the draw's key alone, so that the order of the candidates and what was
 * filtered out don't matter. Equal sums: the lowest id.
 *
 * Logits are taken relative to the best and scaled, as everywhere, so they are at most 0; the noise is at
 * most TOMBOLA__GUMBEL_MAX. A block whose best can't reach what was found is passed over without making its
 * noise. */
#include <math.h>

#include "../kernels/log.h"
#include "internal.h"

struct search {
  const struct tombola__candidates *c;
  const struct tombola__noise *noise;
  struct tombola__noise_key key;
  float best;
  tombola_token token;
};

static float relative(const struct tombola__candidates *c, float logit) {
  return (logit - c->max) * c->scale;
}

static float gumbel(float uniform) {
  return -tombola__logf(-tombola__logf(uniform));
}

/* A token without noise above -inf (mlx's uniform can be 0) still beats none. */
static void offer(struct search *s, float logit, float noise, tombola_token id) {
  if (!(logit > -INFINITY)) return;
  float sum = relative(s->c, logit) + noise;
  bool better = sum > s->best || (sum == s->best && id < s->token);
  if (!better && s->token != TOMBOLA_NO_TOKEN) return;
  s->best = sum;
  s->token = id;
}

/* To win, a token's noise g = -ln(-ln u) must reach best - x. As -ln u >= 1 - u, that needs
 * 1 - u <= exp(x) / exp(best), which is true of few tokens: only theirs is made. The margin is wider than the
 * roundings, so that nothing is lost. */
static void search_block(struct search *s, size_t b) {
  const struct tombola__candidates *c = s->c;
  uint32_t words[TOMBOLA__BLOCK];
  float uniforms[TOMBOLA__BLOCK], weights[TOMBOLA__BLOCK], room[TOMBOLA__BLOCK];
  const float *logits = tombola__candidates_block(c, b, room);
  c->kernels->expsum64(logits, c->max, c->scale, weights);
  s->noise->words64(&s->key, c->row.count, b * TOMBOLA__BLOCK, words);
  s->noise->uniform64(words, uniforms);
  float reach = (float)(1.001 * exp(-(double)s->best));
  for (size_t i = 0; i < TOMBOLA__BLOCK; i++)
    if (!(1.0f - uniforms[i] > weights[i] * reach))
      offer(s, logits[i], gumbel(uniforms[i]), (tombola_token)(b * TOMBOLA__BLOCK + i));
}

/* The best candidate's block first: what it gives lets most others be passed over. */
static void search_dense(struct search *s) {
  const struct tombola__candidates *c = s->c;
  size_t first = 0;
  while (first + 1 < c->n_blocks && c->maxima[first] < c->max)
    first++;
  search_block(s, first);
  for (size_t b = 0; b < c->n_blocks; b++) {
    if (b == first || relative(c, c->maxima[b]) + TOMBOLA__GUMBEL_MAX < s->best) continue;
    search_block(s, b);
  }
}

static void search_list(struct search *s) {
  const struct tombola__candidates *c = s->c;
  for (size_t i = 0; i < c->count; i++) {
    struct tombola__entry entry = c->list[i];
    if (relative(c, entry.logit) + TOMBOLA__GUMBEL_MAX < s->best) continue;
    float u = s->noise->uniform(s->noise->word(&s->key, c->row.count, (size_t)entry.id));
    offer(s, entry.logit, gumbel(u), entry.id);
  }
}

enum tombola_status tombola__draw_gumbel(struct tombola_sampler *sampler, tombola_token *token) {
  const struct tombola__generator *generator = sampler->plan->dialect->generator;
  enum tombola_status status = tombola__candidates_index(&sampler->candidates);
  if (status) return status;
  struct search s = {
      .c = &sampler->candidates, .noise = generator->noise, .best = -INFINITY, .token = TOMBOLA_NO_TOKEN};
  generator->key(sampler->state, &s.key);
  if (s.c->dense)
    search_dense(&s);
  else
    search_list(&s);
  *token = s.token;
  return s.token == TOMBOLA_NO_TOKEN ? TOMBOLA_NO_CANDIDATE : TOMBOLA_OK;
}
