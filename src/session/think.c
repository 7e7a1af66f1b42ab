/* SPDX-License-Identifier: Apache-2.0 */
/* Where reasoning begins and ends, found on the tokens as they are taken, since the text pipe sees them only
 * when they are released; and the budget of the reasoning. Source of the budget: rMLX's thinking_budget,
 * which `rule_of_pieces` follows to the token. */
#include <string.h>

#include "session/internal.h"

/* ---- what is forced ---- */

/* Whether the tokens spell the text's end: a tokeniser may have put a space in front, or lost something. */
static bool spells(const struct tombola__generation *g, const char *marker) {
  size_t left = strlen(marker);
  for (size_t i = g->n_forced; i-- > 0 && left > 0;) {
    size_t length;
    const char *bytes = tombola_vocabulary_bytes(g->session->vocabulary, g->forced[i], &length);
    size_t part = length < left ? length : left;
    if (memcmp(bytes + length - part, marker + left - part, part) != 0) return false;
    left -= part;
  }
  return left == 0;
}

static enum tombola_status encode(struct tombola__generation *g, const char *text, size_t length) {
  const struct tombola_allocator *own = &g->session->allocator;
  tombola_model *model = g->session->model;
  size_t count;
  enum tombola_status status =
      tombola_model_tokenize(model, text, length, TOMBOLA_TOKENIZE_PARSE_SPECIAL, NULL, 0, &count, NULL);
  if (status != TOMBOLA_OUT_OF_RANGE) return status == TOMBOLA_NO_MEMORY ? status : TOMBOLA_OK;
  g->forced = tombola__new(own, count, sizeof *g->forced);
  if (!g->forced) return TOMBOLA_NO_MEMORY;
  status = tombola_model_tokenize(model, text, length, TOMBOLA_TOKENIZE_PARSE_SPECIAL, g->forced, count,
                                  &g->n_forced, NULL);
  if (status == TOMBOLA_OK) return TOMBOLA_OK;
  g->n_forced = 0;
  return status == TOMBOLA_NO_MEMORY ? status : TOMBOLA_OK;
}

static enum tombola_status make_forced(struct tombola__generation *g,
                                       const struct tombola_think_budget *budget) {
  const char *marker = g->params.text->think_close, *closing = budget->closing ? budget->closing : "";
  size_t length = strlen(closing), whole = length + strlen(marker);
  char *text = tombola__new(&g->session->allocator, whole + 1, 1);
  if (!text) return tombola__no_memory(g->error);
  memcpy(text, closing, length);
  memcpy(text + length, marker, whole - length);
  enum tombola_status status = encode(g, text, whole);
  tombola__free(&g->session->allocator, text);
  if (status != TOMBOLA_OK) return tombola__no_memory(g->error);
  if (budget->rule_of_pieces && g->n_forced > 0) {
    g->forced[0] = g->forced[g->n_forced - 1];
    g->n_forced = 1;
  } else if (g->n_forced > 0 && !spells(g, marker)) {
    g->n_forced = 0;
  }
  if (g->n_forced == 0) g->stats.think = TOMBOLA_THINK_IGNORED;
  return TOMBOLA_OK;
}

static void force(struct tombola__generation *g) {
  g->place.spent = true;
  g->forced_left = g->n_forced;
  g->stats.think = TOMBOLA_THINK_CLOSED;
}

/* ---- the calls ---- */

enum tombola_status tombola__think_init(struct tombola__generation *g) {
  const struct tombola_text_params *text = g->params.text;
  struct tombola_think_budget *budget = &g->budget;
  if (!text || !text->think_open) return TOMBOLA_OK;
  struct tombola_bytes markers[2] = {{text->think_open, strlen(text->think_open)},
                                     {text->think_close, strlen(text->think_close)}};
  enum tombola_status status =
      tombola__automaton_new(&g->markers, markers, 2, "think_open", &g->session->allocator, g->error);
  if (status != TOMBOLA_OK) return status;
  g->has_markers = true;
  g->place.channel = text->starts_in_reasoning ? TOMBOLA_REASONING : TOMBOLA_CONTENT;
  if (!g->params.think_budget) return TOMBOLA_OK;
  status = make_forced(g, budget);
  if (status == TOMBOLA_OK && g->n_forced > 0 && g->place.channel == TOMBOLA_REASONING &&
      budget->tokens == 0 && !budget->rule_of_pieces)
    force(g);
  return status;
}

void tombola__think_free(struct tombola__generation *g) {
  if (g->has_markers) tombola__automaton_free(&g->markers);
  tombola__free(&g->session->allocator, g->forced);
}

void tombola__think_scan(struct tombola__generation *g, const char *bytes, size_t length) {
  const struct tombola__automaton *a = &g->markers;
  struct tombola__place *place = &g->place;
  bool pieces = g->params.text->marker_rule_of_pieces;
  uint16_t state = pieces ? 0 : place->marker_state;
  for (size_t i = 0; i < length; i++) {
    state = tombola__automaton_step(a, state, bytes[i]);
    if (!a->length[state]) continue;
    enum tombola_channel channel = a->pattern[state] == 0 ? TOMBOLA_REASONING : TOMBOLA_CONTENT;
    if (place->channel == TOMBOLA_REASONING && channel == TOMBOLA_CONTENT) place->closed = true;
    place->channel = channel;
    state = 0;
  }
  place->marker_state = pieces ? 0 : state;
}

void tombola__think_count(struct tombola__generation *g, enum tombola_channel before) {
  struct tombola__place *place = &g->place;
  const struct tombola_think_budget *budget = &g->budget;
  if (g->n_forced == 0 || place->spent || place->channel != TOMBOLA_REASONING) return;
  if (budget->rule_of_pieces) {
    if (++place->thought > budget->tokens) force(g);
    return;
  }
  place->thought += before == TOMBOLA_REASONING;
  if (place->thought >= budget->tokens) force(g);
}
