/* SPDX-License-Identifier: Apache-2.0 */
/* typical_p: keeps the tokens whose surprise, -ln p, is nearest to the entropy, until they hold the mass p
 * (Meister et al., arXiv 2202.00666). In logits that is a walk outward from one point, max + (ln total -
 * entropy) / scale: on a dense set only the neighbourhood of that point is gathered, wider and wider. The
 * result is in the order of the walk, and so is llama.cpp's, whose draw goes by that order. Unlike there a
 * token without probability has no part in the entropy. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "../internal.h"

static const char *const param_aliases[] = {"typical", "typ_p", NULL};
static const char *const stage_aliases[] = {"typ_p", "typical", NULL};

static const struct tombola_param_info rows[] = {
    {.name = "typical_p",
     .aliases = param_aliases,
     .help = "keep the tokens of typical surprise that hold the mass p; 1: off",
     .stage = "typical_p",
     .type = TOMBOLA_PARAM_FLOAT,
     .offset = offsetof(struct tombola_sampler_params, typical_p),
     .min = 0,
     .max = 1,
     .off = 1},
};

static bool active(const struct tombola_sampler_params *params, const struct tombola__dialect *dialect) {
  return params->typical_p < 1 && !(dialect->zero_is_off && params->typical_p <= 0);
}

/* The walk: a ranked list, [0, above) still to come upward from the centre, [below, count) downward. What has
 * been taken lies behind the list, from `count` on. */
struct walk {
  double centre, target, mass;
  bool exceeds, ties;
  size_t min_keep, above, below, taken;
};

static double distance(const struct walk *w, float logit) {
  double d = (double)logit - w->centre;
  return d < 0 ? -d : d;
}

/* Takes the nearest group of equal logits, ids ascending; of two at the same distance the upper one. */
static void take(struct walk *w, struct tombola__candidates *c) {
  size_t from = w->below, to;
  bool up = w->above > 0 && (w->below == c->count || distance(w, c->list[w->above - 1].logit) <=
                                                         distance(w, c->list[w->below].logit));
  if (up) {
    to = from = w->above;
    while (from > 0 && c->list[from - 1].logit == c->list[to - 1].logit)
      from--;
    w->above = from;
  } else {
    for (to = from; to < c->count && c->list[to].logit == c->list[from].logit;)
      to++;
    w->below = to;
  }
  memcpy(c->list + c->count + w->taken, c->list + from, (to - from) * sizeof *c->list);
  w->taken += to - from;
}

/* Weighs the group [from, taken) until it is enough; true then, with the rest of the group given back. */
static bool weigh(struct walk *w, struct tombola__candidates *c, size_t from) {
  const struct tombola__entry *group = c->list + c->count;
  for (size_t i = from; i < w->taken; i++) {
    w->mass += (double)tombola__exp((group[i].logit - c->max) * c->scale);
    bool enough = w->exceeds ? w->mass > w->target : w->mass >= w->target;
    if (!enough || i + 1 < w->min_keep) continue;
    if (!w->ties) w->taken = i + 1;
    return true;
  }
  return false;
}

/* Walks the whole list; true when it holds enough. */
static bool walk(struct walk *w, struct tombola__candidates *c) {
  w->mass = 0;
  w->taken = 0;
  for (w->above = 0; w->above < c->count && (double)c->list[w->above].logit >= w->centre;)
    w->above++;
  w->below = w->above;
  bool enough = false;
  while (!enough && (w->above > 0 || w->below < c->count)) {
    size_t from = w->taken;
    take(w, c);
    enough = weigh(w, c, from);
  }
  /* Those at the same distance on the other side. */
  while (enough && w->ties && (w->above > 0 || w->below < c->count)) {
    size_t from = w->taken;
    take(w, c);
    const struct tombola__entry *group = c->list + c->count;
    if (distance(w, group[from].logit) == distance(w, group[from - 1].logit)) continue;
    w->taken = from;
    break;
  }
  return enough;
}

static void finish(const struct walk *w, struct tombola__candidates *c) {
  memmove(c->list, c->list + c->count, w->taken * sizeof *c->list);
  c->count = w->taken;
  c->order = TOMBOLA__BY_CHANCE;
  c->summed = false;
}

/* Ranks what was gathered and walks it. Twice the room, since the walk copies. */
static enum tombola_status try_walk(struct walk *w, struct tombola__candidates *c, bool *enough) {
  if (tombola__candidates_reserve(c, 2 * c->count)) return TOMBOLA_NO_MEMORY;
  tombola__entries_rank(c->list, c->count);
  *enough = walk(w, c);
  return TOMBOLA_OK;
}

/* Gathers [low, high) around what there is, [*from, *to). */
static enum tombola_status widen(struct tombola__candidates *c, float low, float high, float *from,
                                 float *to) {
  enum tombola_status status = TOMBOLA_OK;
  if (*from > *to) { /* nothing yet */
    status = tombola__candidates_gather(c, low, high, SIZE_MAX);
  } else {
    if (low < *from) status = tombola__candidates_gather(c, low, *from, SIZE_MAX);
    if (!status && high > *to) status = tombola__candidates_gather(c, *to, high, SIZE_MAX);
  }
  *from = low;
  *to = high;
  return status;
}

/* The mass of what was gathered. */
static double gathered(const struct tombola__candidates *c) {
  double mass = 0;
  for (size_t i = 0; i < c->count; i++)
    mass += (double)tombola__exp((c->list[i].logit - c->max) * c->scale);
  return mass;
}

/* The radius doubles until the walk ends within it: only there both sides are complete. */
static enum tombola_status walk_dense(struct walk *w, struct tombola__candidates *c) {
  float from = 1, to = 0;
  bool enough = false, all = false;
  enum tombola_status status = TOMBOLA_OK;
  for (double radius = 0.125 / (double)c->scale; !enough && !all && !status; radius *= 2) {
    double low = w->centre - radius, high = w->centre + radius;
    all = low <= -(double)FLT_MAX || radius * (double)c->scale > 1024;
    if (all) low = -(double)FLT_MAX;
    status = widen(c, (float)low, all || high > (double)FLT_MAX ? INFINITY : (float)high, &from, &to);
    if (status || (!all && gathered(c) < w->target)) continue;
    status = try_walk(w, c, &enough);
    if (status || all || !enough) continue;
    double reach =
        w->centre - (double)from < (double)to - w->centre ? w->centre - (double)from : (double)to - w->centre;
    enough = distance(w, c->list[c->count + w->taken - 1].logit) < reach;
  }
  c->dense = false;
  return status;
}

/* mlxcel's top_k cuts before typical_p looks; its own place then finds nothing more to cut. */
static enum tombola_status top_k_first(struct tombola__stage_call *call) {
  size_t k = call->params->top_k > 1 ? (size_t)call->params->top_k : 0;
  if (!call->dialect->typical_top_k_first || k == 0 || k >= call->candidates->vocab_size) return TOMBOLA_OK;
  return call->dialect->top_k_ties ? tombola__candidates_keep_top_ties(call->candidates, k)
                                   : tombola__candidates_keep_top(call->candidates, k);
}

static enum tombola_status apply(struct tombola__stage_call *call) {
  struct tombola__candidates *c = call->candidates;
  enum tombola_status status = top_k_first(call);
  double entropy;
  if (!status) status = tombola__candidates_entropy(c, &entropy);
  if (status) return status;
  double p = (double)call->params->typical_p;
  struct walk w = {.centre = (double)c->max + (tombola__log(c->total) - entropy) / (double)c->scale,
                   .target = p * c->total,
                   .exceeds = call->dialect->typical_exceeds,
                   .ties = call->dialect->typical_ties,
                   .min_keep = (size_t)call->params->min_keep};
  bool enough;
  status = c->dense ? walk_dense(&w, c) : try_walk(&w, c, &enough);
  if (!status) finish(&w, c);
  return status;
}

const struct tombola__stage tombola__stage_typical_p = {
    .name = "typical_p",
    .aliases = stage_aliases,
    .letter = 'y',
    .params = rows,
    .n_params = TOMBOLA__COUNT(rows),
    .active = active,
    .apply = apply,
};
