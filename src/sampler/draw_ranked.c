/* SPDX-License-Identifier: Apache-2.0 */
/* The draw by inverse CDF down the ranking of a dense set, as llama.cpp's draw walks candidates that it has
 * sorted: without sorting them. The best few are ranked and walked; where the draw falls lower, ranking.c
 * finds the place. */
#include <float.h>
#include <math.h>

#include "internal.h"

/* A slice of more than so many isn't ranked to be walked. */
#define MOST_WALKED 1024

struct walk {
  double target, sum;
  bool strict, found;
  tombola_token last; /* the last token with weight */
};

static void walk_list(struct walk *w, const struct tombola__candidates *c) {
  for (size_t i = 0; i < c->count && !w->found; i++) {
    float weight = tombola__exp((c->list[i].logit - c->max) * c->scale);
    if (!(weight > 0)) return;
    w->sum += (double)weight;
    w->last = c->list[i].id;
    w->found = w->strict ? w->sum > w->target : w->sum >= w->target;
  }
}

enum tombola_status tombola__draw_ranked(struct tombola__candidates *c, double target, bool strict,
                                         tombola_token *token) {
  struct walk w = {.target = target, .strict = strict, .last = TOMBOLA_NO_TOKEN};
  float high = INFINITY;
  for (size_t k = 32; k <= 256 && k < c->n_blocks && !w.found; k *= 8) {
    float low = tombola__candidates_bound(c, k);
    if (low >= high) continue; /* equal maxima: the slice would be empty */
    enum tombola_status status = tombola__candidates_gather(c, low, high, MOST_WALKED);
    size_t count = c->count;
    if (status) return status;
    if (count < MOST_WALKED) {
      tombola__entries_rank(c->list, count);
      walk_list(&w, c);
      high = low;
    }
    c->count = 0;
    if (count >= MOST_WALKED) break;
  }
  *token = w.last;
  if (w.found) return TOMBOLA_OK;
  struct tombola__place place = {.last = {0, w.last}};
  enum tombola_status status = tombola__candidates_find(c, target, strict, high, w.sum, &place);
  *token = place.last.id;
  return status;
}
