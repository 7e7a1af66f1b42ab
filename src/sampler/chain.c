/* SPDX-License-Identifier: Apache-2.0 */
/* The registries of stages and dialects, and the chain: which stages run, in which order, on a row. */
#include <string.h>

#include "internal.h"

/* ---- registries
 * -------------------------------------------------------------------------------------------------- */

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

/* ---- building
 * ---------------------------------------------------------------------------------------------------- */

static enum tombola_status add_link(struct tombola_sampler *s, const struct tombola__stage *stage,
                                    struct tombola_error *error) {
  for (size_t i = 0; i < s->n_chain; i++)
    if (s->chain[i].stage == stage)
      return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "samplers", "samplers names %s twice",
                           stage->name);
  s->chain[s->n_chain++] = (struct tombola__link){stage, stage->active(&s->params, s->dialect)};
  return TOMBOLA_OK;
}

static enum tombola_status unknown_stage(const char *name, struct tombola_error *error) {
  char known[160] = "";
  for (size_t i = 0; i < TOMBOLA__COUNT(stages); i++) {
    if (i) strncat(known, ", ", sizeof known - strlen(known) - 1);
    strncat(known, stages[i]->name, sizeof known - strlen(known) - 1);
  }
  return tombola__fail(error, TOMBOLA_NOT_FOUND, "samplers",
                       "samplers: there is no stage '%s'; there are: %s", name ? name : "", known);
}

/* Biases come first unless the order places them: no engine makes the user name them. */
static enum tombola_status add_all(struct tombola_sampler *s, const char *const *names, size_t n,
                                   struct tombola_error *error) {
  bool places_bias = false;
  for (size_t i = 0; i < n; i++) {
    const struct tombola__stage *stage = tombola__stage_find(names[i]);
    if (!stage) return unknown_stage(names[i], error);
    if (stage == &tombola__stage_logit_bias) places_bias = true;
  }
  enum tombola_status status = places_bias ? TOMBOLA_OK : add_link(s, &tombola__stage_logit_bias, error);
  for (size_t i = 0; i < n && !status; i++)
    status = add_link(s, tombola__stage_find(names[i]), error);
  return status;
}

/* Greedy: what keeps the best candidate the best needn't run, and nothing after the temperature matters. A
 * zero temperature is greedy even when the order doesn't name the temperature: that is what its user asked
 * for. */
static void make_greedy(struct tombola_sampler *s) {
  bool after = false;
  for (size_t i = 0; i < s->n_chain; i++) {
    if (after || s->chain[i].stage->keeps_best) s->chain[i].active = false;
    if (s->chain[i].stage == &tombola__stage_temperature) after = true;
  }
}

enum tombola_status tombola__chain_build(struct tombola_sampler *s, struct tombola_error *error) {
  bool own_order = s->params.samplers != NULL;
  const char *const *names = own_order ? s->params.samplers : s->dialect->info.order;
  enum tombola_status status =
      add_all(s, names, own_order ? s->params.n_samplers : s->dialect->info.n_order, error);
  if (status) return status;
  s->greedy = (double)s->params.temperature <= s->dialect->greedy_at;
  if (s->greedy) make_greedy(s);
  return TOMBOLA_OK;
}

/* ---- running
 * ----------------------------------------------------------------------------------------------------- */

enum tombola_status tombola__chain_run(struct tombola_sampler *s, const struct tombola_row *row,
                                       const struct tombola_mask *mask) {
  struct tombola__stage_call call = {s, &s->params, s->dialect, &s->history, &s->candidates};
  tombola__candidates_begin(&s->candidates, row, mask ? mask->words : NULL);
  for (size_t i = 0; i < s->n_chain; i++) {
    enum tombola_status status = s->chain[i].active ? s->chain[i].stage->apply(&call) : TOMBOLA_OK;
    if (status) return status;
  }
  return s->greedy ? tombola__candidates_keep_best(&s->candidates)
                   : tombola__candidates_index(&s->candidates);
}

size_t tombola_sampler_describe(const tombola_sampler *sampler, char *text, size_t size) {
  size_t length = 0;
  if (size) text[0] = 0;
  for (size_t i = 0; i < sampler->n_chain + 2; i++) {
    const char *name = i == 0 ? "logits" : sampler->greedy ? "greedy" : "draw";
    const char *mark = "";
    if (i && i <= sampler->n_chain) {
      name = sampler->chain[i - 1].stage->name;
      mark = sampler->chain[i - 1].active ? "" : "?";
    }
    const char *parts[] = {i ? " -> " : "", mark, name};
    for (size_t p = 0; p < TOMBOLA__COUNT(parts); p++) {
      if (length < size) strncat(text, parts[p], size - 1 - strlen(text));
      length += strlen(parts[p]);
    }
  }
  return length;
}
