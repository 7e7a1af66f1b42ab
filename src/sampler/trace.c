/* SPDX-License-Identifier: Apache-2.0 */
/* A trace: the chain is run once with the state put back afterwards, and looked at after every stage; then
 * the token is sampled as always. So a trace can't change a token, and sampling without one has nothing to do
 * but to see that there is none. */
#include <math.h>
#include <string.h>
#include <tombola/trace.h>

#include "internal.h"

/* The tokens after a step, by id, with their effective logits. */
struct look {
  struct tombola_trace_step step;
  struct tombola__entry *entries; /* room for the vocabulary */
  double total;                   /* of exp(logit - max) */
  float max;
};

struct tombola_trace {
  struct tombola_allocator allocator;
  struct tombola__plan *plan;
  struct look *looks;
  size_t count, capacity;
  struct tombola__entry *walk; /* the candidates in the order of the draw; their logits are weights */
  size_t walk_count;
  double walk_total;
  struct tombola_trace_draw draw;
  bool drawn;
};

/* ---- making ---- */

/* The row, what the draw does by itself, and the stages. */
static size_t looks_of(const struct tombola__plan *plan) {
  size_t n = 2;
  for (size_t i = 0; i < plan->n_chain; i++)
    n += plan->chain[i].active;
  return n;
}

enum tombola_status tombola_trace_new(const tombola_sampler *sampler, tombola_trace **out) {
  const struct tombola_allocator *allocator = &sampler->allocator;
  size_t size = sampler->plan->vocab_size;
  *out = NULL;
  tombola_trace *trace = tombola__new(allocator, 1, sizeof *trace);
  if (!trace) return TOMBOLA_NO_MEMORY;
  trace->allocator = *allocator;
  trace->plan = tombola__plan_share(sampler->plan);
  trace->capacity = looks_of(sampler->plan);
  trace->looks = tombola__new(allocator, trace->capacity, sizeof *trace->looks);
  trace->walk = tombola__new(allocator, size, sizeof *trace->walk);
  bool all = trace->looks && trace->walk;
  for (size_t i = 0; all && i < trace->capacity; i++) {
    trace->looks[i].entries = tombola__new(allocator, size, sizeof *trace->walk);
    all = trace->looks[i].entries != NULL;
  }
  if (!all) {
    tombola_trace_free(trace);
    return TOMBOLA_NO_MEMORY;
  }
  *out = trace;
  return TOMBOLA_OK;
}

void tombola_trace_free(tombola_trace *trace) {
  if (!trace) return;
  struct tombola_allocator own = trace->allocator;
  for (size_t i = 0; trace->looks && i < trace->capacity; i++)
    tombola__free(&own, trace->looks[i].entries);
  tombola__free(&own, trace->looks);
  tombola__free(&own, trace->walk);
  tombola__plan_free(trace->plan);
  tombola__free(&own, trace);
}

/* ---- looking ---- */

/* The candidates, by id; nothing of them is changed. */
static size_t copy_candidates(const struct tombola__candidates *c, struct tombola__entry *out) {
  size_t n = 0;
  for (size_t b = 0; c->dense && b < c->n_blocks; b++) {
    float room[TOMBOLA__BLOCK];
    const float *logits = tombola__candidates_block(c, b, room);
    for (size_t i = 0; i < TOMBOLA__BLOCK; i++)
      if (logits[i] > -INFINITY)
        out[n++] = (struct tombola__entry){logits[i] * c->scale, (tombola_token)(b * TOMBOLA__BLOCK + i)};
  }
  if (c->dense) return n;
  for (; n < c->count; n++)
    out[n] = (struct tombola__entry){c->list[n].logit * c->scale, c->list[n].id};
  tombola__entries_by_id(out, n);
  return n;
}

static double weight_of(const struct look *look, float logit) {
  return (double)tombola__exp(logit - look->max);
}

static void measure(struct look *look, size_t count) {
  look->step.after = (struct tombola_trace_set){.count = count};
  look->max = -INFINITY;
  look->total = 0;
  float least = INFINITY;
  for (size_t i = 0; i < count; i++) {
    if (look->entries[i].logit > look->max) look->max = look->entries[i].logit;
    if (look->entries[i].logit < least) least = look->entries[i].logit;
  }
  for (size_t i = 0; i < count; i++)
    look->total += weight_of(look, look->entries[i].logit);
  look->step.after.least = count ? least : 0;
}

/* The part of `of`'s probability that the tokens of `look`, which are some of them, have there. */
static double part_of(const struct look *look, const struct look *of) {
  if (look->step.after.count == of->step.after.count) return 1;
  double sum = 0;
  size_t k = 0;
  for (size_t i = 0; i < look->step.after.count; i++) {
    while (of->entries[k].id < look->entries[i].id)
      k++;
    sum += weight_of(of, of->entries[k].logit);
  }
  return of->total > 0 ? sum / of->total : 0;
}

void tombola__trace_look(struct tombola_sampler *s, const char *name) {
  tombola_trace *trace = s->trace;
  if (trace->count == trace->capacity) return;
  struct look *look = &trace->looks[trace->count], *before = trace->count ? look - 1 : look;
  measure(look, copy_candidates(&s->candidates, look->entries));
  look->step.name = name;
  look->step.after.share = part_of(look, &trace->looks[0]);
  look->step.before = before->step.after;
  look->step.kept = part_of(look, before);
  trace->count++;
}

/* ---- the draw ---- */

/* Whether the draw takes a uniform here; as sampler.c's. */
static bool takes_uniform(const struct tombola_sampler *s) {
  const struct tombola__plan *plan = s->plan;
  if (plan->single_saves && !s->candidates.dense && s->candidates.count == 1) return false;
  return plan->greedy ? plan->dialect->greedy_draws : plan->params.draw == TOMBOLA_DRAW_CDF;
}

/* The candidates as the draw walks them; it destroys the candidates. */
static enum tombola_status copy_walk(struct tombola_sampler *s) {
  struct tombola__candidates *c = &s->candidates;
  tombola_trace *trace = s->trace;
  enum tombola_status status = tombola__candidates_list(c, false);
  if (status) return status;
  tombola__draw_order(s);
  trace->walk_count = c->count;
  trace->walk_total = 0;
  float weights[TOMBOLA__BLOCK];
  for (size_t first = 0, n; first < c->count; first += n) {
    n = tombola__candidates_weights(c, first, weights);
    for (size_t i = 0; i < n; i++) {
      trace->walk[first + i] = (struct tombola__entry){weights[i], c->list[first + i].id};
      trace->walk_total += (double)weights[i];
    }
  }
  return TOMBOLA_OK;
}

/* The chain and all that comes before the choice. The state is changed. */
static enum tombola_status run(struct tombola_sampler *s, const struct tombola_row *row,
                               const struct tombola_mask *mask) {
  const struct tombola__plan *plan = s->plan;
  struct tombola_trace_draw *draw = &s->trace->draw;
  tombola__candidates_begin(&s->candidates, row, mask);
  tombola__trace_look(s, "row");
  enum tombola_status status = tombola__chain_run(s, row, mask);
  if (status) return status;
  if (plan->greedy) tombola__trace_look(s, "greedy");
  draw->has_uniform = takes_uniform(s);
  if (draw->has_uniform) draw->uniform = plan->dialect->generator->uniform(s->state);
  status = tombola__rejection_support(s);
  if (!status && plan->rejection.on) tombola__trace_look(s, "rejection");
  if (!status) status = tombola__candidates_index(&s->candidates);
  return status ? status : copy_walk(s);
}

static void note_token(tombola_trace *trace, tombola_token token) {
  double sum = 0;
  size_t i = 0;
  while (i < trace->walk_count && trace->walk[i].id != token)
    sum += (double)trace->walk[i++].logit;
  if (i == trace->walk_count) return;
  trace->draw.token = token;
  trace->draw.low = sum / trace->walk_total;
  trace->draw.high = (sum + (double)trace->walk[i].logit) / trace->walk_total;
  trace->draw.place = i;
  trace->draw.count = trace->walk_count;
  trace->drawn = true;
}

enum tombola_status tombola_sampler_trace(tombola_sampler *sampler, const struct tombola_row *row,
                                          const struct tombola_mask *mask, tombola_trace *trace,
                                          tombola_token *token) {
  *token = TOMBOLA_NO_TOKEN;
  trace->count = trace->walk_count = 0;
  trace->drawn = false;
  if (trace->plan != sampler->plan)
    return tombola__fail(&sampler->error, TOMBOLA_INVALID_ARGUMENT, "trace",
                         "the trace was made for another sampler");
  enum tombola_status status = tombola__check_row(sampler, row, mask);
  if (status) return status;
  trace->draw =
      (struct tombola_trace_draw){.rule = sampler->plan->params.draw, .greedy = sampler->plan->greedy};
  memcpy(sampler->aside, sampler->state, sampler->plan->state_size);
  sampler->trace = trace;
  run(sampler, row, mask); /* what fails here fails below, where it is explained */
  sampler->trace = NULL;
  memcpy(sampler->state, sampler->aside, sampler->plan->state_size);
  status = tombola_sampler_sample(sampler, row, mask, token);
  if (!status) note_token(trace, *token);
  return status;
}

/* ---- reading ---- */

size_t tombola_trace_count(const tombola_trace *trace) {
  return trace->count;
}

const struct tombola_trace_step *tombola_trace_step(const tombola_trace *trace, size_t index) {
  return index < trace->count ? &trace->looks[index].step : NULL;
}

const struct tombola_trace_draw *tombola_trace_draw(const tombola_trace *trace) {
  return trace->drawn ? &trace->draw : NULL;
}

static const struct tombola__entry *find(const struct look *look, tombola_token token) {
  size_t first = 0, last = look->step.after.count;
  while (first < last) {
    size_t middle = first + (last - first) / 2;
    if (look->entries[middle].id < token)
      first = middle + 1;
    else
      last = middle;
  }
  bool there = first < look->step.after.count && look->entries[first].id == token;
  return there ? &look->entries[first] : NULL;
}

enum tombola_status tombola_trace_find(const tombola_trace *trace, size_t step, tombola_token token,
                                       struct tombola_trace_place *place) {
  *place = (struct tombola_trace_place){0};
  if (step >= trace->count || token < 0 || (size_t)token >= trace->plan->vocab_size)
    return TOMBOLA_OUT_OF_RANGE;
  const struct look *look = &trace->looks[step];
  const struct tombola__entry *entry = find(look, token);
  if (!entry) return TOMBOLA_OK;
  place->there = 1;
  place->logit = entry->logit;
  place->p = weight_of(look, entry->logit) / look->total;
  for (size_t i = 0; i < look->step.after.count; i++) {
    const struct tombola__entry *other = &look->entries[i];
    place->rank += other->logit > entry->logit || (other->logit == entry->logit && other->id < token);
  }
  return TOMBOLA_OK;
}

size_t tombola_trace_removed(const tombola_trace *trace, tombola_token token) {
  for (size_t i = 0; i < trace->count; i++)
    if (!find(&trace->looks[i], token)) return i;
  return trace->count;
}
