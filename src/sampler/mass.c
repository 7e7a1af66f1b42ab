/* SPDX-License-Identifier: Apache-2.0 */
/* What stages and the draw ask of the candidates' probabilities: weights exp((logit - max) * scale), their
 * sum, and the prefix of the ranking that holds a given mass. Weights are floats, sums of weights are
 * doubles. */
#include <float.h>
#include <math.h>

#include "internal.h"

size_t tombola__candidates_span(const struct tombola__candidates *c) {
  return c->dense ? c->n_blocks * TOMBOLA__BLOCK : c->count;
}

tombola_token tombola__candidates_id(const struct tombola__candidates *c, size_t place) {
  return c->dense ? (tombola_token)place : c->list[place].id;
}

float tombola__candidates_logit(const struct tombola__candidates *c, size_t place) {
  float logit;
  if (!c->dense) {
    logit = c->list[place].logit;
  } else {
    float block[TOMBOLA__BLOCK];
    size_t b = place / TOMBOLA__BLOCK;
    if (c->slot_of[b]) {
      logit = c->blocks[c->slot_of[b] - 1][place % TOMBOLA__BLOCK];
    } else {
      c->kernels->load64(&c->row, c->mask, b, block);
      logit = block[place % TOMBOLA__BLOCK];
    }
  }
  return logit * c->scale;
}

static void list_weights(const struct tombola__candidates *c, size_t first, size_t n,
                         float weights[TOMBOLA__BLOCK]) {
  for (size_t i = 0; i < n; i++)
    weights[i] = c->list[first + i].logit;
  for (size_t i = n; i < TOMBOLA__BLOCK; i++)
    weights[i] = -INFINITY;
  c->kernels->expsum64(weights, c->max, c->scale, weights);
}

size_t tombola__candidates_weights(const struct tombola__candidates *c, size_t first,
                                   float weights[TOMBOLA__BLOCK]) {
  if (!c->dense) {
    size_t n = c->count - first < TOMBOLA__BLOCK ? c->count - first : TOMBOLA__BLOCK;
    list_weights(c, first, n, weights);
    return n;
  }
  size_t b = first / TOMBOLA__BLOCK;
  const float *values = weights;
  if (c->slot_of[b])
    values = c->blocks[c->slot_of[b] - 1];
  else
    c->kernels->load64(&c->row, c->mask, b, weights);
  c->kernels->expsum64(values, c->max, c->scale, weights);
  return TOMBOLA__BLOCK;
}

static enum tombola_status sum_dense(struct tombola__candidates *c) {
  if (!c->sums) c->sums = tombola__new(&c->allocator, c->n_blocks, sizeof *c->sums);
  if (!c->sums) return TOMBOLA_NO_MEMORY;
  c->kernels->block_expsum(&c->row, c->mask, c->maxima, c->max, c->scale, c->sums);
  float weights[TOMBOLA__BLOCK];
  for (size_t s = 0; s < c->n_slots; s++)
    c->sums[c->block_of[s]] = c->kernels->expsum64(c->blocks[s], c->max, c->scale, weights);
  for (size_t b = 0; b < c->n_blocks; b++)
    c->total += (double)c->sums[b];
  return TOMBOLA_OK;
}

enum tombola_status tombola__candidates_sum(struct tombola__candidates *c) {
  enum tombola_status status = tombola__candidates_index(c);
  if (status || c->summed) return status;
  c->total = 0;
  if (c->dense) {
    status = sum_dense(c);
  } else {
    float weights[TOMBOLA__BLOCK];
    for (size_t first = 0, n; first < c->count; first += n) {
      n = tombola__candidates_weights(c, first, weights);
      for (size_t i = 0; i < n; i++)
        c->total += (double)weights[i];
    }
  }
  c->summed = !status;
  return status;
}

/* A walk down the ranking: entries [0, done) have been counted, they hold `mass`. */
struct walk {
  double target, mass;
  bool exceed;
  size_t min_keep, done;
};

/* Walks on through list entries [done, count), which are ranked; true when enough is held. */
static bool walk_on(struct walk *w, const struct tombola__candidates *c) {
  float weights[TOMBOLA__BLOCK];
  while (w->done < c->count) {
    size_t n = c->count - w->done < TOMBOLA__BLOCK ? c->count - w->done : TOMBOLA__BLOCK;
    list_weights(c, w->done, n, weights);
    for (size_t i = 0; i < n; i++) {
      w->mass += (double)weights[i];
      w->done++;
      bool enough = w->exceed ? w->mass > w->target : w->mass >= w->target;
      if (enough && w->done >= w->min_keep) return true;
    }
  }
  return false;
}

/* Ranks a dense set from the top, a slice at a time, until the walk holds enough. */
static enum tombola_status walk_dense(struct walk *w, struct tombola__candidates *c) {
  float high = INFINITY;
  for (size_t k = 32; high > -FLT_MAX; k *= 8) {
    float low = k < c->n_blocks ? tombola__candidates_bound(c, k) : -FLT_MAX;
    if (low >= high) continue; /* equal maxima: the slice would be empty */
    if (tombola__candidates_gather(c, low, high, SIZE_MAX)) return TOMBOLA_NO_MEMORY;
    tombola__entries_rank(c->list + w->done, c->count - w->done);
    if (walk_on(w, c)) break;
    high = low;
  }
  return TOMBOLA_OK;
}

enum tombola_status tombola__candidates_keep_mass(struct tombola__candidates *c, double mass, bool exceed,
                                                  size_t min_keep) {
  enum tombola_status status = tombola__candidates_sum(c);
  if (status) return status;
  struct walk w = {.target = mass * c->total, .exceed = exceed, .min_keep = min_keep};
  if (c->dense) {
    status = walk_dense(&w, c);
    if (status) return status;
    c->dense = false;
    c->order = TOMBOLA__BY_RANK;
  } else {
    status = tombola__candidates_list(c, true);
    if (status) return status;
    walk_on(&w, c);
  }
  c->count = w.done;
  c->summed = false;
  return TOMBOLA_OK;
}
