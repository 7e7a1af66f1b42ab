/* SPDX-License-Identifier: Apache-2.0 */
/* tfs: tail-free sampling (https://www.trentonbricken.com/Tail-Free-Sampling/). Of the ranked probabilities
 * the second differences, without their signs and scaled to the sum 1, are added up; where the sum passes z
 * the tail begins. A second difference belongs to the token in its middle, so that the best always stays and
 * the last always goes. */
#include <math.h>

#include "../internal.h"

/* A probability e^-25 of the best one's has no part in the differences that a float could show: it counts as
 * 0. */
#define FAR 25.0

static const struct tombola_param_info rows[] = {
    {.name = "tfs_z",
     .help = "cut the tail off where the curve of the probabilities flattens; 1: off",
     .stage = "tfs",
     .type = TOMBOLA_PARAM_FLOAT,
     .offset = offsetof(struct tombola_sampler_params, tfs_z),
     .min = 0,
     .max = 1,
     .off = 1},
};

static bool active(const struct tombola_sampler_params *params, const struct tombola__dialect *dialect) {
  (void)dialect;
  return params->tfs_z < 1;
}

/* The ranked weights, 64 of them at hand. Behind the list there are zeros. */
struct window {
  const struct tombola__candidates *c;
  size_t first, n;
  float weights[TOMBOLA__BLOCK];
};

static double weight(struct window *w, size_t i) {
  if (i >= w->c->count) return 0;
  if (i < w->first || i >= w->first + w->n) {
    w->first = i;
    w->n = tombola__candidates_weights(w->c, i, w->weights);
  }
  return (double)w->weights[i - w->first];
}

/* Adds up the second differences of `count` weights until the sum passes `bound`; *inside is how many didn't.
 */
static double curve(const struct tombola__candidates *c, size_t count, double bound, size_t *inside) {
  struct window w = {.c = c};
  double sum = 0, a = weight(&w, 0), b = weight(&w, 1);
  for (*inside = 0; *inside + 2 < count; ++*inside) {
    double next = weight(&w, *inside + 2), second = (a - b) - (b - next);
    sum += second < 0 ? -second : second;
    if (sum > bound) break;
    a = b;
    b = next;
  }
  return sum;
}

static enum tombola_status apply(struct tombola__stage_call *call) {
  struct tombola__candidates *c = call->candidates;
  size_t min_keep = call->link->min_keep, inside;
  struct tombola__moments all;
  enum tombola_status status = tombola__candidates_index(c);
  if (!status) status = tombola__candidates_moments(c, c->max, &all);
  if (status || all.count <= 2) return status;
  status = tombola__candidates_keep_share(c, -FAR, min_keep);
  if (!status) status = tombola__candidates_list(c, true);
  if (status) return status;
  size_t count = all.count < c->count + 2 ? all.count : c->count + 2;
  double sum = curve(c, count, (double)INFINITY, &inside);
  if (sum > 0) curve(c, count, (double)call->params->tfs_z * sum, &inside);
  return tombola__candidates_keep_top(c, inside + 1 > min_keep ? inside + 1 : min_keep);
}

const struct tombola__stage tombola__stage_tfs = {
    .name = "tfs",
    .keeps_best = true,
    .params = rows,
    .n_params = TOMBOLA__COUNT(rows),
    .active = active,
    .apply = apply,
};
