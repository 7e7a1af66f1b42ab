/* SPDX-License-Identifier: Apache-2.0 */
/* dry: makes a token less likely that would go on repeating (p-e-w, oobabooga/text-generation-webui #5677;
 * the rules are llama.cpp's, commit 0c1e57098). Where the last n tokens have occurred before, n >=
 * dry_allowed_length, the token that followed there loses dry_multiplier * dry_base^(n - dry_allowed_length),
 * for the longest such n. A sequence breaker in between ends a repetition.
 *
 * llama.cpp looks for the breaker that is nearest to the end and counts only what follows all of its tokens;
 * a token that breaks by itself is never penalised. With the dialect's dry_breaks_at_head (mlxcel) each
 * occurrence is walked back on its own: it ends before the first token that begins a breaker, and its own
 * last token isn't asked. */
#include <float.h>
#include <math.h>

#include "../../vocabulary/breakers.h"
#include "../repeats.h"

static const char *const breaker_aliases[] = {"dry_sequence_breaker", NULL};

#define AT(member) .stage = "dry", .offset = offsetof(struct tombola_sampler_params, member)

static const struct tombola_param_info rows[] = {
    {.name = "dry_multiplier",
     .help = "how much tokens lose that would go on repeating; 0: off",
     .type = TOMBOLA_PARAM_FLOAT,
     AT(dry_multiplier),
     .min = 0,
     .max = HUGE_VAL,
     .off = 0},
    {.name = "dry_base",
     .help = "by how much the loss grows with each repeated token; below 1: off",
     .type = TOMBOLA_PARAM_FLOAT,
     AT(dry_base),
     .min = 0,
     .max = HUGE_VAL,
     .off = (double)NAN},
    {.name = "dry_allowed_length",
     .help = "repetitions of so many tokens are where the loss begins",
     .type = TOMBOLA_PARAM_INT,
     AT(dry_allowed_length),
     .min = 0,
     .max = INT32_MAX,
     .off = (double)NAN},
    {.name = "dry_penalty_last_n",
     .help = "how many recent tokens are searched for repetitions; 0: off",
     .type = TOMBOLA_PARAM_INT,
     AT(dry_penalty_last_n),
     .min = -1,
     .max = INT32_MAX,
     .off = 0},
    {.name = "dry_sequence_breakers",
     .aliases = breaker_aliases,
     .help = "texts that end a repetition",
     .type = TOMBOLA_PARAM_STRINGS,
     AT(dry_sequence_breakers),
     .off = (double)NAN},
};

static bool active(const struct tombola_sampler_params *params, const struct tombola__dialect *dialect) {
  return params->dry_multiplier > 0 && params->dry_base >= 1 &&
         tombola__window_of(params->dry_penalty_last_n, dialect) > 0;
}

static size_t window(const struct tombola__plan *plan) {
  return tombola__window_of(plan->params.dry_penalty_last_n, plan->dialect);
}

struct dry {
  const struct tombola__breakers *breakers; /* NULL: none */
  bool owned;
};

/* The dialect's own breakers need a vocabulary too, but without one nobody asked for them. */
static enum tombola_status prepare(const struct tombola__plan *plan, void **data,
                                   struct tombola_error *error) {
  const struct tombola_sampler_params *params = &plan->params;
  const char *const *texts = params->dry_sequence_breakers;
  size_t n = texts ? params->n_dry_sequence_breakers : plan->dialect->n_dry_breakers;
  if (texts && n && !plan->vocabulary)
    return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "dry_sequence_breakers",
                         "dry_sequence_breakers needs a vocabulary");
  struct dry *dry = tombola__new(&plan->allocator, 1, sizeof *dry);
  if (!dry) return tombola__no_memory(error);
  *data = dry;
  if (!n || !plan->vocabulary) return TOMBOLA_OK;
  return tombola__breakers_get(plan->vocabulary, texts ? texts : plan->dialect->dry_breakers, n,
                               &dry->breakers, &dry->owned, error);
}

static void release(const struct tombola__plan *plan, void *data) {
  struct dry *dry = data;
  if (dry->owned) tombola__breakers_free(dry->breakers);
  tombola__free(&plan->allocator, dry);
}

/* ---- breakers in the history ---- */

/* How long the longest breaker is that begins `i` tokens from the end, without its first token; -1: none. */
static long breaker_at(const struct dry *dry, const struct tombola__repeats *repeats, size_t i) {
  const struct tombola__repeat *back = repeats->back;
  struct tombola__tail tail;
  long longest = -1;
  for (size_t t = 0; tombola__breakers_tail(dry->breakers, back[i].token, t, &tail); t++) {
    size_t matched = 0;
    if (tail.count > i || (long)tail.count <= longest) continue;
    while (matched < tail.count && tail.tokens[matched] == back[i - 1 - matched].token)
      matched++;
    if (matched == tail.count) longest = (long)tail.count;
  }
  return longest;
}

/* How many tokens follow the nearest breaker. */
static size_t free_length(const struct dry *dry, const struct tombola__repeats *repeats) {
  for (size_t i = 0; i < repeats->count; i++) {
    if (!tombola__breakers_head(dry->breakers, repeats->back[i].token)) continue;
    long length = breaker_at(dry, repeats, i);
    if (length >= 0) return i - (size_t)length;
  }
  return repeats->count;
}

/* ---- the penalties ---- */

struct hits {
  struct tombola__entry *entries; /* logit: the length, id: the token */
  size_t count;
};

/* A token that repeats itself makes one hit, so that a history of little else leaves little to sort. */
static void add_hit(struct hits *hits, tombola_token token, size_t length) {
  struct tombola__entry hit = {(float)length, token};
  struct tombola__entry *before = hits->count ? &hits->entries[hits->count - 1] : NULL;
  if (!before || before->id != token)
    hits->entries[hits->count++] = hit;
  else if (before->logit < hit.logit)
    *before = hit;
}

static void hits_from_end(const struct dry *dry, const struct tombola__repeats *repeats, size_t allowed,
                          struct hits *hits) {
  size_t limit = free_length(dry, repeats);
  if (limit < allowed) return;
  for (size_t k = 1; k < repeats->count; k++) {
    size_t length = repeats->back[k].length < limit ? repeats->back[k].length : limit;
    tombola_token next = repeats->back[k - 1].token;
    if (length >= allowed && !tombola__breakers_whole(dry->breakers, next)) add_hit(hits, next, length);
  }
}

static void hits_by_head(const struct dry *dry, const struct tombola__repeats *repeats, size_t allowed,
                         struct hits *hits) {
  size_t breaker = repeats->count; /* the nearest one before the place, counted from the end too */
  for (size_t k = repeats->count - 1; k > 0; k--) {
    size_t length = repeats->back[k].length;
    if (length > breaker - k) length = breaker - k;
    if (length && length >= allowed) add_hit(hits, repeats->back[k - 1].token, length);
    if (tombola__breakers_head(dry->breakers, repeats->back[k].token) && breaker_at(dry, repeats, k) >= 0)
      breaker = k;
  }
}

/* base^exponent by squaring: exponents are whole, and products of doubles are the same everywhere. */
static double whole_power(double base, unsigned exponent) {
  double power = 1;
  for (; exponent; exponent >>= 1, base *= base)
    if (exponent & 1) power *= base;
  return power;
}

/* The exponent is bounded so that the power stays a float, as in llama.cpp: ln FLT_MAX = 88.7228391. */
static float penalty_of(const struct tombola_sampler_params *params, size_t length) {
  size_t exponent = length - (size_t)params->dry_allowed_length;
  if (params->dry_base > 1.000001f) {
    size_t most = (size_t)(88.7228391 / tombola__log((double)params->dry_base));
    if (most > 0 && exponent > most) exponent = most;
  }
  double penalty = (double)params->dry_multiplier * whole_power((double)params->dry_base, (unsigned)exponent);
  return penalty < (double)FLT_MAX ? (float)penalty : FLT_MAX;
}

static float subtract(const void *context, size_t index, float logit) {
  const float *penalties = context;
  return logit - penalties[index];
}

/* Sorted by token and length, the last of each token is its longest. The ids and penalties take the place of
 * the repeats, which are done with. */
static enum tombola_status penalize(struct tombola__stage_call *call, struct tombola__repeats *repeats,
                                    const struct hits *hits) {
  tombola_token *ids = (tombola_token *)(void *)repeats->back;
  float *penalties = (float *)(void *)(ids + repeats->count);
  size_t n = 0;
  tombola__entries_by_id(hits->entries, hits->count);
  for (size_t i = 0; i < hits->count; i++) {
    if (i + 1 < hits->count && hits->entries[i + 1].id == hits->entries[i].id) continue;
    ids[n] = hits->entries[i].id;
    penalties[n++] = penalty_of(call->params, (size_t)hits->entries[i].logit);
  }
  return tombola__candidates_edit(call->candidates, ids, n, subtract, penalties);
}

static enum tombola_status apply(struct tombola__stage_call *call) {
  const struct dry *dry = call->link->data;
  size_t allowed = (size_t)call->params->dry_allowed_length;
  size_t last_n = window(call->plan);
  if (call->history->count <= allowed || last_n <= allowed) return TOMBOLA_OK;
  struct tombola__repeats repeats;
  enum tombola_status status = tombola__repeats_find(call, last_n, &repeats);
  if (status) return status;
  struct hits hits = {call->candidates->list + repeats.first_hit, 0};
  if (call->dialect->dry_breaks_at_head)
    hits_by_head(dry, &repeats, allowed, &hits);
  else
    hits_from_end(dry, &repeats, allowed, &hits);
  return hits.count ? penalize(call, &repeats, &hits) : TOMBOLA_OK;
}

const struct tombola__stage tombola__stage_dry = {
    .name = "dry",
    .letter = 'd',
    .edits = true,
    .params = rows,
    .n_params = TOMBOLA__COUNT(rows),
    .active = active,
    .prepare = prepare,
    .release = release,
    .window = window,
    .apply = apply,
};
