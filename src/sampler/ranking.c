/* SPDX-License-Identifier: Apache-2.0 */
/* Where a dense set's ranking has gathered a given mass, without sorting it. A sample of the logits says
 * about where that is; a pass over the weights above a logit says on which side of it; what then may be the
 * place is few tokens, and they are ranked. Of tokens with equal logits, however many, only the needed number
 * is counted. The sample decides how long it takes, never what comes out. */
#include <float.h>
#include <math.h>

#include "internal.h"

#define SAMPLED_BLOCKS 256
#define PER_BLOCK      4
#define SAMPLE         (SAMPLED_BLOCKS * PER_BLOCK)
#define FEW            24 /* sampled tokens, which stand for a few thousand: not worth another pass */
#define MANY_EQUALS    8
#define MOST_ROUNDS    12

struct search {
  struct tombola__candidates *c;
  double target;
  bool exceeds;
  /* The place lies in [low, high), what is above has the mass `above`, with what is in it `within` (if
   * known). */
  float low, high;
  double above, within;
  struct tombola__entry sample[SAMPLE];
  double sums[SAMPLE + 1]; /* of the weights of sample [0, i) */
  double squares[SAMPLE + 1];
  size_t n_sample;
  struct tombola__place *place;
};

static bool enough(const struct search *s, double mass) {
  return s->exceeds ? mass > s->target : mass >= s->target;
}

static double weight_of(const struct tombola__candidates *c, float logit) {
  return (double)tombola__exp((logit - c->max) * c->scale);
}

/* ---- the sample ---- */

static void weigh_sample(struct search *s) {
  const struct tombola__candidates *c = s->c;
  s->sums[0] = s->squares[0] = 0;
  for (size_t first = 0; first < s->n_sample; first += TOMBOLA__BLOCK) {
    float weights[TOMBOLA__BLOCK];
    for (size_t i = 0; i < TOMBOLA__BLOCK; i++)
      weights[i] = first + i < s->n_sample ? s->sample[first + i].logit : -INFINITY;
    c->kernels->expsum64(weights, c->max, c->scale, weights);
    for (size_t i = first; i < s->n_sample && i < first + TOMBOLA__BLOCK; i++) {
      double w = (double)weights[i - first];
      s->sums[i + 1] = s->sums[i] + w;
      s->squares[i + 1] = s->squares[i] + w * w;
    }
  }
}

/* Blocks at even distances, of each some tokens whose places move on from block to block. */
static void take_sample(struct search *s) {
  const struct tombola__candidates *c = s->c;
  size_t blocks = c->n_blocks < SAMPLED_BLOCKS ? c->n_blocks : SAMPLED_BLOCKS;
  s->n_sample = 0;
  for (size_t i = 0; i < blocks; i++) {
    float room[TOMBOLA__BLOCK];
    size_t block = i * c->n_blocks / blocks;
    if (c->maxima[block] == -INFINITY) continue;
    const float *values = tombola__candidates_block(c, block, room);
    for (size_t k = 0; k < PER_BLOCK; k++) {
      size_t lane = (i * 29 + k * (TOMBOLA__BLOCK / PER_BLOCK)) % TOMBOLA__BLOCK;
      if (values[lane] >= s->low && values[lane] < s->high)
        s->sample[s->n_sample++] =
            (struct tombola__entry){values[lane], (tombola_token)(block * TOMBOLA__BLOCK + lane)};
    }
  }
  tombola__entries_rank(s->sample, s->n_sample);
  weigh_sample(s);
}

/* Of the sample [first, last), the first place at which the share of its mass is reached. */
static size_t quantile(const struct search *s, size_t first, size_t last, double share) {
  double bound = s->sums[first] + share * (s->sums[last] - s->sums[first]);
  size_t end = last - 1;
  while (first < end) {
    size_t middle = first + (end - first) / 2;
    if (s->sums[middle + 1] >= bound)
      end = middle;
    else
      first = middle + 1;
  }
  return first;
}

/* How far the share that the sample shows may be off: two deviations. */
static double margin(const struct search *s, size_t first, size_t last, double share) {
  double sum = s->sums[last] - s->sums[first], squares = s->squares[last] - s->squares[first];
  return 2 * sqrt(squares * share * (1 - share)) / sum;
}

/* ---- passes ---- */

/* Takes note of which side of a logit the place is on. */
static enum tombola_status divide(struct search *s, float logit) {
  double mass;
  enum tombola_status status = tombola__candidates_sum_from(s->c, logit, &mass);
  if (status) return status;
  if (enough(s, mass)) {
    s->low = logit;
    s->within = mass - s->above;
  } else {
    s->high = logit;
    s->within -= mass - s->above;
    s->above = mass;
  }
  return TOMBOLA_OK;
}

/* The place among all tokens with this one logit: the needed number is known, blocks are counted up to it. */
static void find_equal(struct search *s, float logit) {
  const struct tombola__candidates *c = s->c;
  float next = nextafterf(logit, INFINITY);
  double weight = weight_of(c, logit), missing = (s->target - s->above) / weight;
  size_t needed = missing < 1 ? 1 : missing > 0x1p30 ? (size_t)1 << 30 : (size_t)missing;
  if (!enough(s, s->above + (double)needed * weight)) needed++;
  size_t seen = 0;
  for (size_t b = 0; b < c->n_blocks && seen < needed; b++) {
    if (c->maxima[b] < logit) continue;
    float room[TOMBOLA__BLOCK];
    const float *values = tombola__candidates_block(c, b, room);
    size_t here = c->kernels->count_at_least(values, TOMBOLA__BLOCK, logit) -
                  c->kernels->count_at_least(values, TOMBOLA__BLOCK, next);
    bool last = seen + here >= needed;
    for (size_t i = 0; last && seen < needed; i++) {
      if (values[i] != logit) continue;
      s->place->last = (struct tombola__entry){logit, (tombola_token)(b * TOMBOLA__BLOCK + i)};
      seen++;
    }
    if (!last && here > 0) {
      seen += here;
      size_t i = TOMBOLA__BLOCK;
      while (values[--i] != logit)
        ;
      s->place->last = (struct tombola__entry){logit, (tombola_token)(b * TOMBOLA__BLOCK + i)};
    }
  }
  s->place->mass = s->above + (double)seen * weight;
  s->place->found = true;
}

/* ---- the few that are left ---- */

/* Walks ranked list entries [first, last); true when the place is there. */
static bool walk(struct search *s, size_t first, size_t last) {
  const struct tombola__candidates *c = s->c;
  for (; first < last; first++) {
    double weight = weight_of(c, c->list[first].logit);
    if (!(weight > 0)) return false;
    s->above += weight;
    s->place->last = c->list[first];
    s->place->mass = s->above;
    if (enough(s, s->above)) return true;
  }
  return false;
}

/* Gathers what is in [low, high) and finds the place in it, if it is there; otherwise high moves down.
 * Buckets of it that are passed whole aren't ranked. */
static enum tombola_status walk_slice(struct search *s, float low) {
  struct tombola__candidates *c = s->c;
  size_t begin[TOMBOLA__DEALT + 1];
  c->count = 0;
  enum tombola_status status = tombola__candidates_gather(c, low, s->high, SIZE_MAX);
  size_t n = c->count;
  c->count = 0;
  if (status) return status;
  tombola__entries_deal(c->list, n, begin);
  for (size_t k = 0; k < TOMBOLA__DEALT && !s->place->found; k++) {
    size_t first = begin[k], last = begin[k + 1];
    if (first == last) continue;
    double mass = tombola__candidates_list_mass(c, first, last);
    if (!enough(s, s->above + mass) && last < n) {
      s->above += mass;
      continue;
    }
    tombola__entries_rank(c->list + first, last - first);
    s->place->found = walk(s, first, last);
  }
  s->high = low;
  return TOMBOLA_OK;
}

/* ---- the search ---- */

/* Where many equal logits may hold the place it is asked on both sides of them. */
static enum tombola_status try_equals(struct search *s, float logit, bool *in) {
  float next = nextafterf(logit, INFINITY);
  enum tombola_status status = next < s->high ? divide(s, next) : TOMBOLA_OK;
  *in = false;
  if (status || s->low >= next) return status;
  if (logit > s->low) status = divide(s, logit);
  *in = !status && s->high > logit;
  return status;
}

static enum tombola_status step(struct search *s, size_t first, size_t last) {
  double share = (s->target - s->above) / s->within;
  share = share < 0 ? 0 : share > 1 ? 1 : share;
  size_t at = quantile(s, first, last, share), same = 0;
  float logit = s->sample[at].logit;
  for (size_t i = first; i < last; i++)
    same += s->sample[i].logit == logit;
  if (same >= MANY_EQUALS) {
    bool in;
    enum tombola_status status = try_equals(s, logit, &in);
    if (!status && in) find_equal(s, logit);
    return status;
  }
  double off = margin(s, first, last, share);
  size_t up = share > off ? quantile(s, first, last, share - off) : first;
  if (up > first) {
    enum tombola_status status = divide(s, s->sample[up].logit);
    if (status || s->low == s->sample[up].logit) return status;
  }
  size_t down = share + off < 1 ? quantile(s, first, last, share + off) + 1 : last;
  float low = down < last ? s->sample[down].logit : s->low;
  return low < s->high ? walk_slice(s, low) : TOMBOLA_OK;
}

/* Below the logit at which weights are 0 there is no mass. */
static float least_logit(const struct tombola__candidates *c) {
  double least = (double)c->max - 87.4 / (double)c->scale;
  return least > -(double)FLT_MAX ? (float)least : -FLT_MAX;
}

enum tombola_status tombola__candidates_find(struct tombola__candidates *c, double target, bool exceeds,
                                             float high, double above, struct tombola__place *place) {
  struct search s = {
      .c = c, .target = target, .exceeds = exceeds, .high = high, .above = above, .place = place};
  enum tombola_status status = tombola__candidates_sum(c);
  if (status) return status;
  s.low = least_logit(c);
  s.within = c->total - above;
  place->found = false;
  take_sample(&s);
  for (size_t round = 0; round < MOST_ROUNDS && !place->found && !status; round++) {
    size_t first = 0, last = s.n_sample;
    while (first < last && s.sample[first].logit >= s.high)
      first++;
    while (first < last && s.sample[last - 1].logit < s.low)
      last--;
    if (last - first < FEW || s.low >= s.high) break;
    status = step(&s, first, last);
  }
  if (!status && !place->found && s.low < s.high) status = walk_slice(&s, s.low);
  return status;
}
