/* SPDX-License-Identifier: Apache-2.0 */
/* The draw by inverse CDF down the ranking of a dense set, as llama.cpp's draw walks candidates that it has
 * sorted: without sorting them. The best few are ranked and walked; where the draw falls lower, a histogram
 * of the weights over the logits says in which narrow slice, and only that slice is ranked. */
#include <float.h>
#include <math.h>

#include "internal.h"

#define BUCKETS 512
#define FEW     2048

/* Candidates with low <= logit < high; what is above them has the mass `above`. */
struct slice {
  float low, high;
  double above;
  size_t count;
};

struct histogram {
  double mass[BUCKETS];
  uint32_t count[BUCKETS];
  float least[BUCKETS], most[BUCKETS]; /* of the logits */
};

struct search {
  struct tombola__candidates *c;
  double target;
  bool strict;
  tombola_token token; /* the answer, or the last token with weight that was passed */
  struct histogram h;
};

static bool hit(const struct search *s, double sum) {
  return s->strict ? sum > s->target : sum >= s->target;
}

static bool is_equal(const struct slice *slice) {
  return nextafterf(slice->low, INFINITY) >= slice->high;
}

/* Ranks a slice of at most `limit` candidates and walks it; *found when the draw has fallen. `above` grows by
 * what was walked. Equals are gathered in the order that they have in the ranking. */
static enum tombola_status walk(struct search *s, struct slice *slice, size_t limit, bool *found) {
  struct tombola__candidates *c = s->c;
  c->count = 0;
  enum tombola_status status = tombola__candidates_gather(c, slice->low, slice->high, limit);
  if (status) return status;
  if (!is_equal(slice)) tombola__entries_rank(c->list, c->count);
  for (size_t i = 0; i < c->count && !*found; i++) {
    float weight = tombola__exp((c->list[i].logit - c->max) * c->scale);
    if (!(weight > 0)) continue;
    slice->above += (double)weight;
    s->token = c->list[i].id;
    *found = hit(s, slice->above);
  }
  c->count = 0;
  return TOMBOLA_OK;
}

/* The index of a bucket rises with the logit, by the monotony of rounding, so that buckets are slices
 * whatever their edges round to. */
static void add_block(struct histogram *h, const struct tombola__candidates *c, size_t block,
                      const struct slice *slice, float per_unit) {
  float room[TOMBOLA__BLOCK], weights[TOMBOLA__BLOCK];
  const float *values = tombola__candidates_block(c, block, room);
  c->kernels->expsum64(values, c->max, c->scale, weights);
  for (size_t i = 0; i < TOMBOLA__BLOCK; i++) {
    float x = values[i];
    if (!(x >= slice->low && x < slice->high)) continue;
    float place = (x - slice->low) * per_unit;
    size_t k = place < BUCKETS - 1 ? (size_t)place : BUCKETS - 1;
    h->mass[k] += (double)weights[i];
    if (!h->count[k]++) h->least[k] = h->most[k] = x;
    if (x < h->least[k]) h->least[k] = x;
    if (x > h->most[k]) h->most[k] = x;
  }
}

static void fill(struct histogram *h, const struct tombola__candidates *c, const struct slice *slice) {
  float top = slice->high < c->max ? slice->high : c->max;
  float per_unit = (float)(BUCKETS / ((double)top - (double)slice->low + (double)FLT_MIN));
  if (!(per_unit < FLT_MAX)) per_unit = FLT_MAX;
  for (size_t k = 0; k < BUCKETS; k++) {
    h->mass[k] = 0;
    h->count[k] = 0;
  }
  for (size_t b = 0; b < c->n_blocks; b++)
    if (c->maxima[b] >= slice->low) add_block(h, c, b, slice, per_unit);
}

/* Narrows a slice to the bucket in which the draw falls, else to the lowest one that has a weight. */
static void narrow(struct search *s, struct slice *slice) {
  const struct histogram *h = &s->h;
  struct slice found = *slice;
  double sum = slice->above;
  found.count = 0;
  for (size_t k = BUCKETS; k-- > 0;) {
    if (!h->count[k]) continue;
    if (h->mass[k] > 0)
      found = (struct slice){h->least[k], nextafterf(h->most[k], INFINITY), sum, h->count[k]};
    sum += h->mass[k];
    if (found.count && hit(s, sum)) break;
  }
  *slice = found;
}

/* So many of equal logits are needed as their weight goes into what is missing. */
static enum tombola_status walk_equals(struct search *s, struct slice *slice, bool *found) {
  float weight = tombola__exp((slice->low - s->c->max) * s->c->scale);
  double needed = (s->target - slice->above) / (double)weight + 2;
  size_t limit = needed < (double)slice->count ? (size_t)needed : slice->count;
  return walk(s, slice, limit, found);
}

/* Below the logit at which weights are 0 nothing is ever drawn. */
static enum tombola_status search_below(struct search *s, float high, double above) {
  double least = (double)s->c->max - 87.4 / (double)s->c->scale;
  struct slice slice = {least > -(double)FLT_MAX ? (float)least : -FLT_MAX, high, above, SIZE_MAX};
  bool found = false;
  while (slice.count > FEW) {
    float low = slice.low, before = slice.high;
    fill(&s->h, s->c, &slice);
    narrow(s, &slice);
    if (slice.count == 0) return TOMBOLA_OK; /* rounding: the last one that was walked */
    if (is_equal(&slice)) return walk_equals(s, &slice, &found);
    if (slice.low == low && slice.high == before) break;
  }
  return walk(s, &slice, slice.count, &found);
}

enum tombola_status tombola__draw_ranked(struct tombola__candidates *c, double target, bool strict,
                                         tombola_token *token) {
  struct search s;
  s.c = c;
  s.target = target;
  s.strict = strict;
  s.token = TOMBOLA_NO_TOKEN;
  struct slice slice = {INFINITY, INFINITY, 0, 0};
  bool found = false;
  for (size_t k = 32; k <= 256 && k < c->n_blocks; k *= 8) {
    float low = tombola__candidates_bound(c, k);
    if (low >= slice.high) continue; /* equal maxima: the slice would be empty */
    slice.low = low;
    if (c->kernels->count_at_least(c->maxima, c->n_blocks, low) > 2 * k) break; /* many equals */
    enum tombola_status status = walk(&s, &slice, SIZE_MAX, &found);
    if (status) return status;
    if (found) break;
    slice.high = low;
  }
  enum tombola_status status = found ? TOMBOLA_OK : search_below(&s, slice.high, slice.above);
  *token = s.token;
  return status;
}
