/* SPDX-License-Identifier: Apache-2.0 */
/* The registries of stages and dialects, and the chain: which stages run, in which order, on a row. */
#include <string.h>

#include "internal.h"

/* ---- registries ---- */

static const struct tombola__stage *const stages[] = {
#define TOMBOLA_STAGE(name) &tombola__stage_##name,
#include "stages.def"
#undef TOMBOLA_STAGE
};

#define TOMBOLA_DIALECT(name) extern const struct tombola__dialect tombola__dialect_##name;
#include "dialects.def"
#undef TOMBOLA_DIALECT

static const struct tombola__dialect *const dialects[] = {
#define TOMBOLA_DIALECT(name) &tombola__dialect_##name,
#include "dialects.def"
#undef TOMBOLA_DIALECT
};

const struct tombola__stage *tombola__stage_at(size_t index) {
  return index < TOMBOLA__COUNT(stages) ? stages[index] : NULL;
}

const struct tombola__stage *tombola__stage_find(const char *name) {
  for (size_t i = 0; name && i < TOMBOLA__COUNT(stages); i++) {
    const struct tombola__stage *stage = stages[i];
    if (!strcmp(stage->name, name)) return stage;
    if (stage->letter && name[0] == stage->letter && !name[1]) return stage;
    for (const char *const *alias = stage->aliases; alias && *alias; alias++)
      if (!strcmp(*alias, name)) return stage;
  }
  return NULL;
}

size_t tombola_stage_count(void) {
  return TOMBOLA__COUNT(stages);
}

const char *tombola_stage_at(size_t index) {
  const struct tombola__stage *stage = tombola__stage_at(index);
  return stage ? stage->name : NULL;
}

const char *tombola_stage_find(const char *name) {
  const struct tombola__stage *stage = tombola__stage_find(name);
  return stage ? stage->name : NULL;
}

size_t tombola_dialect_count(void) {
  return TOMBOLA__COUNT(dialects);
}

const struct tombola_dialect_info *tombola_dialect_at(size_t index) {
  return index < TOMBOLA__COUNT(dialects) ? &dialects[index]->info : NULL;
}

const struct tombola__dialect *tombola__dialect_find(const char *name) {
  for (size_t i = 0; name && i < TOMBOLA__COUNT(dialects); i++)
    if (!strcmp(dialects[i]->info.name, name)) return dialects[i];
  return NULL;
}

const struct tombola_dialect_info *tombola_dialect_find(const char *name) {
  const struct tombola__dialect *dialect = tombola__dialect_find(name);
  return dialect ? &dialect->info : NULL;
}

/* ---- running ---- */

struct tombola__stage_call tombola__call(struct tombola_sampler *s, size_t place) {
  const struct tombola__link *link = &s->plan->chain[place];
  return (struct tombola__stage_call){.plan = s->plan,
                                      .params = &s->plan->params,
                                      .dialect = s->plan->dialect,
                                      .sampler = s,
                                      .history = &s->history,
                                      .candidates = &s->candidates,
                                      .link = link,
                                      .state = link->state_size ? s->state + link->state_offset : NULL};
}

static enum tombola_status run_stages(struct tombola_sampler *s, const struct tombola_row *row,
                                      const struct tombola_mask *mask) {
  const struct tombola__plan *plan = s->plan;
  s->filter_scale = 0;
  tombola__candidates_begin(&s->candidates, row, mask);
  for (size_t i = 0; i < plan->n_chain; i++) {
    if (!plan->chain[i].active) continue;
    if (plan->chain[i].in_draw) {
      if (s->filter_scale == 0) s->filter_scale = s->candidates.scale;
      continue;
    }
    struct tombola__stage_call call = tombola__call(s, i);
    enum tombola_status status = plan->chain[i].stage->apply(&call);
    if (status) return status;
    if (s->trace) tombola__trace_look(s, call.link->name);
  }
  return plan->greedy ? tombola__candidates_keep_best(&s->candidates)
                      : tombola__candidates_index(&s->candidates);
}

void tombola__take_back(struct tombola_sampler *s) {
  if (s->plan->spends) memcpy(s->state, s->aside, s->plan->state_size);
}

/* Whoever only looks has put the same state aside already. */
enum tombola_status tombola__chain_run(struct tombola_sampler *s, const struct tombola_row *row,
                                       const struct tombola_mask *mask) {
  if (s->plan->spends) memcpy(s->aside, s->state, s->plan->state_size);
  enum tombola_status status = run_stages(s, row, mask);
  if (status) tombola__take_back(s);
  return status;
}

size_t tombola_sampler_describe(const tombola_sampler *sampler, char *text, size_t size) {
  const struct tombola__plan *plan = sampler->plan;
  size_t length = 0;
  if (size) text[0] = 0;
  for (size_t i = 0; i < plan->n_chain + 2; i++) {
    const char *name = i == 0 ? "logits" : plan->greedy ? "greedy" : "draw";
    const char *mark = "";
    if (i && i <= plan->n_chain) {
      name = plan->chain[i - 1].name;
      mark = plan->chain[i - 1].active ? "" : "?";
    }
    const char *parts[] = {i ? " -> " : "", mark, name};
    for (size_t p = 0; p < TOMBOLA__COUNT(parts); p++) {
      if (length < size) strncat(text, parts[p], size - 1 - strlen(text));
      length += strlen(parts[p]);
    }
  }
  return length;
}
