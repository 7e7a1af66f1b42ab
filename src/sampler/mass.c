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
  if (!c->dense) { /* a finite logit stays one */
    float logit = c->list[place].logit * c->scale;
    return logit > FLT_MAX ? FLT_MAX : logit < -FLT_MAX ? -FLT_MAX : logit;
  }
  float room[TOMBOLA__BLOCK];
  return tombola__candidates_block(c, place / TOMBOLA__BLOCK, room)[place % TOMBOLA__BLOCK] * c->scale;
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
  const float *values = tombola__candidates_block(c, first / TOMBOLA__BLOCK, weights);
  c->kernels->expsum64(values, c->max, c->scale, weights);
  return TOMBOLA__BLOCK;
}

/* The next stretch of a dense set's blocks that have no private copy; part->last is where the one before
 * ended. A split is a private copy, so that one floor holds in each stretch. */
static bool next_part(const struct tombola__candidates *c, struct tombola__part *part) {
  size_t first = part->last, last = c->n_blocks;
  while (first < last && tombola__slot(c, first))
    first++;
  if (first == last) return false;
  if (c->n_slots)
    for (last = first; last < c->n_blocks && !tombola__slot(c, last);)
      last++;
  float low = first > c->split ? nextafterf(c->floor, INFINITY) : c->floor;
  *part = (struct tombola__part){&c->row, c->mask, c->maxima, first, last, low};
  return true;
}

static enum tombola_status make_sums(struct tombola__candidates *c) {
  if (!c->sums) c->sums = tombola__new(&c->allocator, c->n_blocks, sizeof *c->sums);
  return c->sums ? TOMBOLA_OK : TOMBOLA_NO_MEMORY;
}

static void total_up(struct tombola__candidates *c) {
  c->total = 0;
  for (size_t b = 0; b < c->n_blocks; b++)
    c->total += (double)c->sums[b];
  c->summed = true;
}

/* Sums over what is at or above a logit. */
static enum tombola_status sum_above(struct tombola__candidates *c, float low) {
  if (make_sums(c)) return TOMBOLA_NO_MEMORY;
  struct tombola__part part = {.last = 0};
  while (next_part(c, &part)) {
    if (part.low < low) part.low = low;
    c->kernels->part_expsum(&part, c->max, c->scale, c->sums);
  }
  for (size_t s = 0; s < c->n_slots; s++) {
    float values[TOMBOLA__BLOCK];
    for (size_t i = 0; i < TOMBOLA__BLOCK; i++)
      values[i] = c->blocks[s][i] >= low ? c->blocks[s][i] : -INFINITY;
    c->sums[c->block_of[s]] = c->kernels->expsum64(values, c->max, c->scale, values);
  }
  return TOMBOLA_OK;
}

static enum tombola_status sum_dense(struct tombola__candidates *c) {
  if (make_sums(c)) return TOMBOLA_NO_MEMORY;
  struct tombola__part part = {.last = 0};
  if (c->floor == -FLT_MAX && c->split >= c->n_blocks)
    c->kernels->block_expsum(&c->row, c->mask, c->maxima, c->max, c->scale, c->sums);
  else
    while (next_part(c, &part))
      c->kernels->part_expsum(&part, c->max, c->scale, c->sums);
  float weights[TOMBOLA__BLOCK];
  for (size_t s = 0; s < c->n_slots; s++)
    c->sums[c->block_of[s]] = c->kernels->expsum64(c->blocks[s], c->max, c->scale, weights);
  total_up(c);
  return TOMBOLA_OK;
}

enum tombola_status tombola__candidates_sum(struct tombola__candidates *c) {
  enum tombola_status status = tombola__candidates_index(c);
  if (status || c->summed) return status;
  if (c->dense) return sum_dense(c);
  c->total = 0;
  float weights[TOMBOLA__BLOCK];
  for (size_t first = 0, n; first < c->count; first += n) {
    n = tombola__candidates_weights(c, first, weights);
    for (size_t i = 0; i < n; i++)
      c->total += (double)weights[i];
  }
  c->summed = true;
  return TOMBOLA_OK;
}

enum tombola_status tombola__candidates_sum_from(struct tombola__candidates *c, float threshold,
                                                 double *mass) {
  enum tombola_status status = tombola__candidates_index(c);
  if (!status) status = sum_above(c, threshold);
  if (status) return status;
  c->summed = false;
  *mass = 0;
  for (size_t b = 0; b < c->n_blocks; b++)
    *mass += (double)c->sums[b];
  return TOMBOLA_OK;
}

double tombola__candidates_list_mass(const struct tombola__candidates *c, size_t first, size_t last) {
  double mass = 0;
  float weights[TOMBOLA__BLOCK];
  for (; first < last; first += TOMBOLA__BLOCK) {
    size_t n = last - first < TOMBOLA__BLOCK ? last - first : TOMBOLA__BLOCK;
    list_weights(c, first, n, weights);
    for (size_t i = 0; i < n; i++)
      mass += (double)weights[i];
  }
  return mass;
}

/* ---- entropy and moments ---- */

/* 64 logits of a list from `first`, -inf beyond its end. */
static void list_values(const struct tombola__candidates *c, size_t first, float values[TOMBOLA__BLOCK]) {
  for (size_t i = 0; i < TOMBOLA__BLOCK; i++)
    values[i] = first + i < c->count ? c->list[first + i].logit : -INFINITY;
}

static enum tombola_status spread_dense(struct tombola__candidates *c, double *spread) {
  if (make_sums(c)) return TOMBOLA_NO_MEMORY;
  struct tombola__part part = {.last = 0};
  while (next_part(c, &part))
    *spread += c->kernels->part_entropy(&part, c->max, c->scale, c->sums);
  for (size_t s = 0; s < c->n_slots; s++) {
    float one;
    c->sums[c->block_of[s]] = c->kernels->entropy64(c->blocks[s], c->max, c->scale, &one);
    *spread += (double)one;
  }
  total_up(c);
  return TOMBOLA_OK;
}

enum tombola_status tombola__candidates_entropy(struct tombola__candidates *c, double *entropy) {
  enum tombola_status status = tombola__candidates_index(c);
  double spread = 0;
  if (!status && c->dense) status = spread_dense(c, &spread);
  if (!status) status = tombola__candidates_sum(c);
  if (status) return status;
  for (size_t first = 0; !c->dense && first < c->count; first += TOMBOLA__BLOCK) {
    float values[TOMBOLA__BLOCK], one;
    list_values(c, first, values);
    c->kernels->entropy64(values, c->max, c->scale, &one);
    spread += (double)one;
  }
  *entropy = tombola__log(c->total) - spread / c->total;
  if (*entropy < 0) *entropy = 0; /* by rounding, where one token has all the mass */
  return TOMBOLA_OK;
}

enum tombola_status tombola__candidates_moments(struct tombola__candidates *c, float origin,
                                                struct tombola__moments *moments) {
  enum tombola_status status = tombola__candidates_index(c);
  if (status) return status;
  *moments = (struct tombola__moments){0, 0, 0};
  struct tombola__part part = {.last = 0};
  while (c->dense && next_part(c, &part))
    c->kernels->part_moments(&part, origin, moments);
  for (size_t s = 0; c->dense && s < c->n_slots; s++)
    c->kernels->moments64(c->blocks[s], origin, moments);
  for (size_t first = 0; !c->dense && first < c->count; first += TOMBOLA__BLOCK) {
    float values[TOMBOLA__BLOCK];
    list_values(c, first, values);
    c->kernels->moments64(values, origin, moments);
  }
  return TOMBOLA_OK;
}

/* A point among the logits, so that distances from it are small: the mean of some maxima or of the list. */
static float middle(const struct tombola__candidates *c) {
  double sum = 0;
  size_t n = 0, places = c->dense ? c->n_blocks : c->count;
  for (size_t i = 0; i < places; i += 1 + places / TOMBOLA__BLOCK) {
    float x = c->dense ? c->maxima[i] : c->list[i].logit;
    if (!(x > -INFINITY)) continue;
    sum += (double)x;
    n++;
  }
  return n ? (float)(sum / (double)n) : c->max;
}

/* In doubles, for logits whose squared distances no float can hold. */
static struct tombola__moments wide_moments(const struct tombola__candidates *c, double origin) {
  struct tombola__moments m = {0, 0, 0};
  for (size_t first = 0; first < tombola__candidates_span(c); first += TOMBOLA__BLOCK) {
    float room[TOMBOLA__BLOCK];
    const float *values = room;
    if (c->dense)
      values = tombola__candidates_block(c, first / TOMBOLA__BLOCK, room);
    else
      list_values(c, first, room);
    for (size_t i = 0; i < TOMBOLA__BLOCK; i++) {
      if (!(values[i] > -INFINITY)) continue;
      double d = (double)values[i] - origin;
      m.count++;
      m.sum += d;
      m.squares += d * d;
    }
  }
  return m;
}

enum tombola_status tombola__candidates_deviation(struct tombola__candidates *c, size_t *count,
                                                  double *deviation) {
  struct tombola__moments m;
  enum tombola_status status = tombola__candidates_index(c);
  if (status) return status;
  float origin = middle(c);
  status = tombola__candidates_moments(c, origin, &m);
  if (status) return status;
  if (!isfinite(m.squares)) m = wide_moments(c, (double)origin);
  double n = (double)m.count, mean = m.sum / n, variance = m.squares / n - mean * mean;
  *count = m.count;
  *deviation = variance > 0 ? sqrt(variance) : 0;
  return TOMBOLA_OK;
}

/* ---- the mass of the ranking ---- */

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

/* A slice of more than so many isn't ranked to be walked. */
#define MOST_WALKED 4096

/* Ranks a dense set from the top, a slice at a time, until the walk holds enough: true then. So small a part
 * of most rows holds nearly all; where it doesn't, or where many are equal, the walk ends before [.., *high).
 */
static enum tombola_status walk_top(struct walk *w, struct tombola__candidates *c, float *high, bool *held) {
  *high = INFINITY;
  *held = false;
  for (size_t k = 32; k <= 256 && !*held; k *= 8) {
    float low = k < c->n_blocks ? tombola__candidates_bound(c, k) : -FLT_MAX;
    if (low >= *high) continue; /* equal maxima: the slice would be empty */
    if (c->kernels->count_at_least(c->maxima, c->n_blocks, low) > 2 * k) break;
    if (tombola__candidates_gather(c, low, *high, MOST_WALKED)) return TOMBOLA_NO_MEMORY;
    if (c->count >= MOST_WALKED) break;
    tombola__entries_rank(c->list + w->done, c->count - w->done);
    *held = walk_on(w, c);
    *high = low;
    if (low == -FLT_MAX) *held = true;
  }
  return TOMBOLA_OK;
}

/* The whole ranking. */
static enum tombola_status walk_all(struct walk *w, struct tombola__candidates *c) {
  enum tombola_status status = tombola__candidates_list(c, true);
  w->done = 0;
  w->mass = 0;
  if (!status) walk_on(w, c);
  return status;
}

/* A large set stays dense, cut below its last one. */
static enum tombola_status cut_below(struct walk *w, struct tombola__candidates *c, float high, bool ties) {
  struct tombola__place place;
  c->count = 0;
  enum tombola_status status = tombola__candidates_find(c, w->target, w->exceed, high, w->mass, &place);
  if (status) return status;
  c->ranked = true;
  if (!place.found) return TOMBOLA_OK; /* by rounding all of it is needed */
  return ties ? tombola__candidates_keep_at_least(c, place.last.logit)
              : tombola__candidates_cut(c, place.last);
}

static enum tombola_status keep_mass(struct tombola__candidates *c, double mass, bool exceed, bool ties,
                                     size_t min_keep) {
  enum tombola_status status = tombola__candidates_sum(c);
  if (status) return status;
  struct walk w = {.target = mass * c->total, .exceed = exceed, .min_keep = min_keep};
  if (c->dense) {
    float high;
    bool held;
    status = walk_top(&w, c, &high, &held);
    if (status) return status;
    if (!held && w.done >= min_keep) return cut_below(&w, c, high, ties);
    if (!held) c->count = 0;
    if (!held) status = walk_all(&w, c);
    c->dense = false;
    c->order = TOMBOLA__BY_RANK;
  } else {
    status = walk_all(&w, c);
  }
  if (status) return status;
  /* The slice that holds the last one holds its equals too. */
  while (ties && w.done < c->count && c->list[w.done].logit == c->list[w.done - 1].logit)
    w.done++;
  c->count = w.done;
  c->summed = false;
  return TOMBOLA_OK;
}

enum tombola_status tombola__candidates_keep_mass(struct tombola__candidates *c, double mass, bool exceed,
                                                  size_t min_keep) {
  return keep_mass(c, mass, exceed, false, min_keep);
}

enum tombola_status tombola__candidates_keep_mass_ties(struct tombola__candidates *c, double mass,
                                                       bool exceed, size_t min_keep) {
  return keep_mass(c, mass, exceed, true, min_keep);
}
