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

struct walk {
  double centre, target;
  bool exceeds, ties;
  size_t min_keep;
};

static float distance(const struct walk *w, float logit) {
  double d = (double)logit - w->centre;
  return (float)(d < 0 ? -d : d);
}

/* Rises with the distance; of two at the same distance the upper one comes first. */
static uint32_t key_of(const struct walk *w, float logit) {
  float d = distance(w, logit);
  uint32_t bits;
  memcpy(&bits, &d, sizeof bits);
  return bits << 1 | ((double)logit < w->centre);
}

/* Sorts by distance, radix 256. It is stable, so that equal logits keep ids ascending. There is room behind
 * the list for as many. */
static void sort(const struct walk *w, struct tombola__entry *list, size_t n) {
  size_t at[4][256] = {{0}};
  for (size_t i = 0; i < n; i++)
    for (unsigned digit = 0; digit < 4; digit++)
      at[digit][key_of(w, list[i].logit) >> 8 * digit & 255]++;
  struct tombola__entry *from = list, *to = list + n;
  for (unsigned digit = 0; digit < 4; digit++) {
    size_t sum = 0;
    for (size_t k = 0; k < 256; k++) {
      size_t here = at[digit][k];
      at[digit][k] = sum;
      sum += here;
    }
    for (size_t i = 0; i < n; i++)
      to[at[digit][key_of(w, from[i].logit) >> 8 * digit & 255]++] = from[i];
    struct tombola__entry *other = from;
    from = to;
    to = other;
  }
}

static void sort_few(const struct walk *w, struct tombola__entry *list, size_t n) {
  for (size_t i = 1; i < n; i++) {
    struct tombola__entry e = list[i];
    size_t k = i;
    for (; k > 0 && key_of(w, list[k - 1].logit) > key_of(w, e.logit); k--)
      list[k] = list[k - 1];
    list[k] = e;
  }
}

/* Ranks a run upside down. */
static void rank_rising(struct tombola__entry *run, size_t n) {
  for (size_t i = 0; i < n; i++)
    run[i].logit = -run[i].logit;
  tombola__entries_rank(run, n);
  for (size_t i = 0; i < n; i++)
    run[i].logit = -run[i].logit;
}

/* Distances that round to the same float: of logits that differ the one nearer to the centre comes first. */
static void settle(const struct walk *w, struct tombola__entry *list, size_t n) {
  for (size_t first = 0, end; first < n; first = end) {
    uint32_t key = key_of(w, list[first].logit);
    bool differ = false;
    for (end = first + 1; end < n && key_of(w, list[end].logit) == key; end++)
      differ = differ || list[end].logit != list[first].logit;
    if (differ && (key & 1)) tombola__entries_rank(list + first, end - first);
    if (differ && !(key & 1)) rank_rising(list + first, end - first);
  }
}

/* How many of the sorted list are needed; false when all of it doesn't hold enough. */
static bool count_needed(const struct walk *w, const struct tombola__candidates *c, size_t *needed) {
  double mass = 0;
  for (size_t first = 0, n; first < c->count; first += n) {
    float weights[TOMBOLA__BLOCK];
    n = tombola__candidates_weights(c, first, weights);
    for (size_t i = 0; i < n; i++) {
      mass += (double)weights[i];
      *needed = first + i + 1;
      bool enough = w->exceeds ? mass > w->target : mass >= w->target;
      if (enough && *needed >= w->min_keep) return true;
    }
  }
  return false;
}

/* Sorts what is in the list and walks it; *enough when the walk ends in it. Equal logits stand there by id.
 */
static enum tombola_status walk(const struct walk *w, struct tombola__candidates *c, size_t *needed,
                                bool *enough) {
  if (tombola__candidates_reserve(c, 2 * c->count)) return TOMBOLA_NO_MEMORY;
  if (c->count <= 64)
    sort_few(w, c->list, c->count);
  else
    sort(w, c->list, c->count);
  settle(w, c->list, c->count);
  *needed = 0;
  *enough = count_needed(w, c, needed);
  while (*enough && w->ties && *needed < c->count &&
         distance(w, c->list[*needed].logit) == distance(w, c->list[*needed - 1].logit))
    ++*needed;
  return TOMBOLA_OK;
}

static void keep(struct tombola__candidates *c, size_t needed) {
  c->dense = false;
  c->count = needed;
  c->order = TOMBOLA__BY_CHANCE;
  c->indexed = c->summed = false; /* the best may be gone */
}

/* Gathers [low, high) around [*from, *to), which there is already. */
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

/* The radius doubles until the walk ends within it: only there both sides are complete. */
static enum tombola_status walk_dense(const struct walk *w, struct tombola__candidates *c) {
  float from = 1, to = 0;
  size_t needed = 0;
  bool enough = false, all = false;
  enum tombola_status status = TOMBOLA_OK;
  for (double radius = 0.125 / (double)c->scale; !enough && !all && !status; radius *= 2) {
    double low = w->centre - radius, high = w->centre + radius;
    all = low <= -(double)FLT_MAX || radius * (double)c->scale > 1024;
    if (all) low = -(double)FLT_MAX;
    status = widen(c, (float)low, all || high > (double)FLT_MAX ? INFINITY : (float)high, &from, &to);
    if (status || (!all && tombola__candidates_list_mass(c, 0, c->count) < w->target)) continue;
    c->dense = false;
    status = walk(w, c, &needed, &enough);
    c->dense = true;
    if (status || all || !enough) continue;
    double below = w->centre - (double)from, above = (double)to - w->centre;
    enough = (double)distance(w, c->list[needed - 1].logit) < (below < above ? below : above) * (1 - 1e-6);
  }
  if (!status) keep(c, needed);
  return status;
}

/* Of a list. Where equal logits might not stand by id it is ranked first. */
static enum tombola_status walk_list(const struct walk *w, struct tombola__candidates *c) {
  size_t needed;
  bool enough;
  enum tombola_status status = c->order == TOMBOLA__BY_ID ? TOMBOLA_OK : tombola__candidates_list(c, true);
  if (!status) status = walk(w, c, &needed, &enough);
  if (!status) keep(c, needed);
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
  const struct walk w = {.centre = (double)c->max + (tombola__log(c->total) - entropy) / (double)c->scale,
                         .target = p * c->total,
                         .exceeds = call->dialect->typical_exceeds,
                         .ties = call->dialect->typical_ties,
                         .min_keep = call->link->min_keep};
  return c->dense ? walk_dense(&w, c) : walk_list(&w, c);
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
