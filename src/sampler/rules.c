/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of a dialect as text, for `tombola dialects` and for anyone who compares engines. Everything is read from the
 * data that the sampler itself follows. */
#include <stdio.h>
#include <string.h>

#include "internal.h"

typedef void (*write_fn)(const struct tombola__dialect *d, char *text, size_t size);

static void put(char *text, size_t size, const char *value) {
  snprintf(text, size, "%s", value);
}

static void greedy(const struct tombola__dialect *d, char *text, size_t size) {
  snprintf(text, size, "temperature <= %.7g%s", d->greedy_at, d->greedy_at_top_k_1 ? ", top_k 1" : "");
}

static void greedy_runs(const struct tombola__dialect *d, char *text, size_t size) {
  put(text, size, d->greedy_edits_only ? "edits only" : "the whole chain");
}

static void greedy_draws(const struct tombola__dialect *d, char *text, size_t size) {
  put(text, size, d->greedy_draws ? "a number" : "nothing");
}

static void bias_outside(const struct tombola__dialect *d, char *text, size_t size) {
  put(text, size, d->bias_skips_outside ? "does nothing" : "is refused");
}

static void penalty_form(const struct tombola__dialect *d, char *text, size_t size) {
  static const char *const forms[] = {[TOMBOLA__REPEAT_THEN_SUM] = "repeat, sum",
                                      [TOMBOLA__REPEAT_THEN_EACH] = "repeat, each",
                                      [TOMBOLA__EACH_THEN_REPEAT] = "each, repeat"};
  put(text, size, forms[d->penalty_form]);
}

static void repeat_below_one(const struct tombola__dialect *d, char *text, size_t size) {
  put(text, size, d->penalty_once_one ? "does nothing" : "favours");
}

static void negative_window(const struct tombola__dialect *d, char *text, size_t size) {
  put(text, size, d->negative_window_off ? "off" : "all");
}

static const char *ties(bool stay) {
  return stay ? "stay" : "lowest ids";
}

static const char *ends(bool exceeds) {
  return exceeds ? "passes it" : "reaches it";
}

static void top_k_ties(const struct tombola__dialect *d, char *text, size_t size) {
  put(text, size, ties(d->top_k_ties));
}

static void top_p_ends(const struct tombola__dialect *d, char *text, size_t size) {
  put(text, size, ends(d->top_p_exceeds));
}

static void top_p_ties(const struct tombola__dialect *d, char *text, size_t size) {
  put(text, size, ties(d->top_p_ties));
}

static void zero(const struct tombola__dialect *d, char *text, size_t size) {
  put(text, size, d->zero_is_off ? "off" : "best alone");
}

static void typical_ends(const struct tombola__dialect *d, char *text, size_t size) {
  put(text, size, ends(d->typical_exceeds));
}

static void typical_ties(const struct tombola__dialect *d, char *text, size_t size) {
  put(text, size, ties(d->typical_ties));
}

static void xtc_above(const struct tombola__dialect *d, char *text, size_t size) {
  put(text, size, d->xtc_strict ? "above it" : "at or above");
}

static void xtc_ties(const struct tombola__dialect *d, char *text, size_t size) {
  put(text, size, d->xtc_keeps_ties ? "stay" : d->xtc_keeps_first ? "lowest id" : "highest id");
}

static void xtc_exempt(const struct tombola__dialect *d, char *text, size_t size) {
  put(text, size, d->xtc_exempts ? "newline, end" : "none");
}

static void breaks(const struct tombola__dialect *d, char *text, size_t size) {
  put(text, size, d->dry_breaks_at_head ? "each match" : "the whole text");
}

static void default_breakers(const struct tombola__dialect *d, char *text, size_t size) {
  if (!d->n_dry_breakers)
    put(text, size, "none");
  else
    snprintf(text, size, "%s%zu texts", d->dry_breakers_of_server ? "none / " : "", d->n_dry_breakers);
}

static void min_keep(const struct tombola__dialect *d, char *text, size_t size) {
  put(text, size, d->min_keep_stages ? "" : "all that keep");
  for (size_t i = 0; i < d->n_min_keep_stages; i++) {
    size_t length = strlen(text);
    snprintf(text + length, size - length, "%s%s", i ? ", " : "", d->min_keep_stages[i]);
  }
}

static void draw_order(const struct tombola__dialect *d, char *text, size_t size) {
  put(text, size, d->draw_order == TOMBOLA__DRAW_BY_ID ? "by id" : "as kept");
}

static void draw_takes(const struct tombola__dialect *d, char *text, size_t size) {
  put(text, size, d->draw_strict ? "sum > u" : "sum >= u");
}

static void generator(const struct tombola__dialect *d, char *text, size_t size) {
  put(text, size, d->generator->name);
}

static void stage_numbers(const struct tombola__dialect *d, char *text, size_t size) {
  bool own = d->generator->stage_uniform || !d->stages_share_generator;
  put(text, size, own ? "of their own" : "the draw's");
}

static void seed_of(bool random, const struct tombola__dialect *d, char *text, size_t size) {
  if (random)
    put(text, size, "random");
  else
    snprintf(text, size, "%llu", (unsigned long long)d->default_seed);
}

static void seed(const struct tombola__dialect *d, char *text, size_t size) {
  seed_of(d->seed_random, d, text, size);
}

static void server_seed(const struct tombola__dialect *d, char *text, size_t size) {
  seed_of(d->seed_random || d->server_seed_random, d, text, size);
}

static const struct {
  const char *name;
  write_fn write;
} rules[] = {
    {"greedy at", greedy},
    {"greedy runs", greedy_runs},
    {"greedy uses up", greedy_draws},
    {"bias of no token", bias_outside},
    {"penalties", penalty_form},
    {"repeat_penalty < 1", repeat_below_one},
    {"window -1", negative_window},
    {"top_k ties", top_k_ties},
    {"top_p ends where mass", top_p_ends},
    {"top_p ties", top_p_ties},
    {"top_p, min_p 0", zero},
    {"typical ends where mass", typical_ends},
    {"typical ties", typical_ties},
    {"xtc threshold", xtc_above},
    {"xtc ties", xtc_ties},
    {"xtc exempts", xtc_exempt},
    {"dry breakers", default_breakers},
    {"dry breakers end", breaks},
    {"min_keep holds for", min_keep},
    {"draw walks", draw_order},
    {"draw takes first", draw_takes},
    {"generator", generator},
    {"stages' numbers", stage_numbers},
    {"seed", seed},
    {"seed of a server", server_seed},
};

enum tombola_status tombola_dialect_rule(const char *dialect, size_t index, const char **name, char *text,
                                         size_t size) {
  const struct tombola__dialect *d = tombola__dialect_find(dialect);
  if (!d || index >= TOMBOLA__COUNT(rules)) return TOMBOLA_NOT_FOUND;
  *name = rules[index].name;
  rules[index].write(d, text, size);
  return TOMBOLA_OK;
}
