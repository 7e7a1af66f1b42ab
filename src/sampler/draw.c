/* SPDX-License-Identifier: Apache-2.0 */
/* The draw by inverse CDF: one uniform, the running sum of the weights in the dialect's order, the first
 * token that carries it past u times the total. A token without weight is never drawn; when rounding leaves
 * the sum short, the last token with weight is. */
#include <math.h>

#include "internal.h"

/* The part of the walk that still matters: where it stands, and the best answer so far. */
struct aim {
  double target, sum;
  bool strict;
  tombola_token last; /* the last token with weight */
};

static bool hit(const struct aim *aim, double sum) {
  return aim->strict ? sum > aim->target : sum >= aim->target;
}

/* Walks one stretch of up to 64 candidates; true when the draw has fallen on aim->last. */
static bool walk(struct aim *aim, const struct tombola__candidates *c, size_t first, size_t *next) {
  float weights[TOMBOLA__BLOCK];
  size_t n = tombola__candidates_weights(c, first, weights);
  *next = first + n;
  for (size_t i = 0; i < n; i++) {
    if (!(weights[i] > 0)) continue;
    aim->sum += (double)weights[i];
    aim->last = tombola__candidates_id(c, first + i);
    if (hit(aim, aim->sum)) return true;
  }
  return false;
}

/* Dense: the block sums say which block to open. A block whose own walk falls short of its sum by rounding
 * ends at its last token with weight, which is what the draw then takes. */
static void draw_dense(struct aim *aim, const struct tombola__candidates *c) {
  size_t next;
  size_t last_block = 0;
  for (size_t b = 0; b < c->n_blocks; b++) {
    if (!(c->sums[b] > 0)) continue;
    last_block = b;
    if (hit(aim, aim->sum + (double)c->sums[b])) {
      walk(aim, c, b * TOMBOLA__BLOCK, &next);
      return;
    }
    aim->sum += (double)c->sums[b];
  }
  walk(aim, c, last_block * TOMBOLA__BLOCK, &next);
}

void tombola__draw_order(struct tombola_sampler *sampler) {
  struct tombola__candidates *c = &sampler->candidates;
  if (sampler->plan->dialect->draw_order == TOMBOLA__DRAW_AS_IS) return;
  c->ranked = false; /* a dense set is walked by id */
  if (c->dense || c->order == TOMBOLA__BY_ID) return;
  tombola__entries_by_id(c->list, c->count);
  c->order = TOMBOLA__BY_ID;
}

enum tombola_status tombola__draw(struct tombola_sampler *sampler, double u, tombola_token *token) {
  struct tombola__candidates *c = &sampler->candidates;
  enum tombola_status status = tombola__candidates_index(c);
  if (status) return status;
  if (!c->dense && c->count == 1) {
    *token = c->list[0].id;
    return TOMBOLA_OK;
  }
  tombola__draw_order(sampler);
  status = tombola__candidates_sum(c);
  if (status) return status;
  struct aim aim = {
      .target = u * c->total, .strict = sampler->plan->dialect->draw_strict, .last = TOMBOLA_NO_TOKEN};
  if (c->dense && c->ranked) {
    status = tombola__draw_ranked(c, aim.target, aim.strict, &aim.last);
    if (status) return status;
  } else if (c->dense) {
    draw_dense(&aim, c);
  } else {
    for (size_t first = 0, next; first < c->count; first = next)
      if (walk(&aim, c, first, &next)) break;
  }
  *token = aim.last;
  return aim.last < 0 ? TOMBOLA_NO_CANDIDATE : TOMBOLA_OK;
}
