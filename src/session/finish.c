/* SPDX-License-Identifier: Apache-2.0 */
/* From a token to the caller: the one way for every token, whether it was drawn alone, accepted from a draft
 * or forced. A token is taken (end token, history, reasoning, bans), perhaps held back, and released:
 * counted, put into the text pipe, reported, and looked at for a reason to end. */
#include <string.h>

#include "session/internal.h"

/* ---- small things ---- */

struct tombola__held *tombola__held_at(struct tombola__generation *g, size_t i) {
  return &g->held[(g->held_first + i) % g->held_room];
}

void tombola__end(struct tombola__generation *g, enum tombola_stop stop) {
  if (!g->ended) g->stats.stop = stop;
  g->ended = true;
}

void tombola__set_sampler(struct tombola__generation *g) {
  bool answers = g->place.closed && g->place.channel == TOMBOLA_CONTENT;
  g->sampler = g->second && answers ? g->second : g->first;
}

/* Tokens of the answer so far. */
static uint64_t taken_so_far(const struct tombola__generation *g) {
  return (uint64_t)g->stats.generated + g->n_held;
}

size_t tombola__tokens_left(const struct tombola__generation *g) {
  uint64_t most = (uint64_t)g->params.max_tokens, taken = taken_so_far(g);
  uint64_t left = most > taken ? most - taken : 0;
  return left < SIZE_MAX ? (size_t)left : SIZE_MAX;
}

enum tombola_status tombola__sampler_failed(const struct tombola__generation *g,
                                            const tombola_sampler *sampler, enum tombola_status status) {
  const struct tombola_error *why = tombola_sampler_error(sampler);
  if (why && why->status == status) {
    if (g->error) *g->error = *why;
    return status;
  }
  return tombola__fail(g->error, status, "sampler", "the sampler failed: %s", tombola_status_text(status));
}

static bool is_marker(const char *marker, const char *bytes, size_t length) {
  return strlen(marker) == length && memcmp(marker, bytes, length) == 0;
}

/* A special token's bytes are its name; only a marker's name is text. */
const char *tombola__text_of(const struct tombola__generation *g, tombola_token token, size_t *length) {
  const char *bytes = tombola_vocabulary_bytes(g->session->vocabulary, token, length);
  if (!(tombola_vocabulary_flags(g->session->vocabulary, token) & TOMBOLA_TOKEN_SPECIAL)) return bytes;
  const struct tombola_text_params *text = g->params.text;
  if (g->has_markers &&
      (is_marker(text->think_open, bytes, *length) || is_marker(text->think_close, bytes, *length)))
    return bytes;
  *length = 0;
  return "";
}

/* ---- before a token ---- */

static enum tombola_status keep_state(const struct tombola__generation *g, const tombola_sampler *sampler,
                                      tombola_snapshot **snapshot) {
  if (!sampler) return TOMBOLA_OK;
  enum tombola_status status =
      *snapshot ? tombola_snapshot_take(*snapshot, sampler) : tombola_snapshot_new(sampler, snapshot);
  return status == TOMBOLA_OK ? TOMBOLA_OK : tombola__no_memory(g->error);
}

uint32_t *tombola__own_mask(struct tombola__generation *g) {
  tombola_session *session = g->session;
  const size_t bytes = (session->vocab_size + 31) / 32 * sizeof *session->mask;
  if (g->mask.words && g->mask.words != session->mask)
    memcpy(session->mask, g->mask.words, bytes);
  else if (!g->mask.words)
    memset(session->mask, 0xFF, bytes);
  g->mask.words = session->mask;
  g->mask.ids = NULL;
  return session->mask;
}

/* A mask that doesn't have the tokens stays as it is. */
static void ban(struct tombola__generation *g, const tombola_token *tokens, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const uint32_t bit = UINT32_C(1) << (tokens[i] % 32);
    if (!g->mask.words || g->mask.words[tokens[i] / 32] & bit) tombola__own_mask(g)[tokens[i] / 32] &= ~bit;
  }
}

static enum tombola_status callers_mask(const struct tombola__generation *g, struct tombola_mask *mask) {
  const tombola_session *session = g->session;
  if (!g->params.on_mask) return TOMBOLA_OK;
  enum tombola_status status =
      g->params.on_mask(g->params.context, session->tokens + g->prompt, g->position - g->prompt, mask);
  if (status != TOMBOLA_OK)
    return tombola__fail(g->error, status, "on_mask", "there is no mask for the next token: %s",
                         tombola_status_text(status));
  if (mask->words && mask->count != session->vocab_size)
    return tombola__fail(g->error, TOMBOLA_INVALID_ARGUMENT, "on_mask",
                         "the mask must be of %zu tokens, it is of %zu", session->vocab_size, mask->count);
  return TOMBOLA_OK;
}

/* Whether a mask allows nothing but end tokens: then the constraint ends the answer, whatever else would have it go
 * on. */
static bool only_ends(const struct tombola__generation *g, const struct tombola_mask *mask) {
  for (size_t i = 0; mask->ids && i < mask->n_ids; i++) {
    if (!(tombola_vocabulary_flags(g->session->vocabulary, mask->ids[i]) & TOMBOLA_TOKEN_END)) return false;
  }
  return mask->ids && mask->n_ids > 0;
}

/* Takes what the session itself bans out of the mask of the position. */
static void apply_bans(struct tombola__generation *g, bool early) {
  size_t n_ends;
  const tombola_token *ends = tombola_vocabulary_ends(g->session->vocabulary, &n_ends);
  g->only_ends = g->params.matcher && only_ends(g, &g->mask);
  if ((g->params.ignore_end || early) && !g->only_ends) ban(g, ends, n_ends);
  if (early && !g->only_ends) ban(g, g->params.stop_ids, g->params.n_stop_ids);
  if (g->params.matcher) tombola__constraint_bans(g);
  if (tombola__bans_apply(g, NULL)) tombola__bans_apply(g, tombola__own_mask(g));
}

enum tombola_status tombola__mask_here(struct tombola__generation *g) {
  g->mask = (struct tombola_mask){NULL, g->session->vocab_size, NULL, 0};
  enum tombola_status status = callers_mask(g, &g->mask);
  if (status == TOMBOLA_OK && g->params.matcher) status = tombola__constraint_mask(g, &g->mask);
  if (status == TOMBOLA_OK) apply_bans(g, taken_so_far(g) < (uint64_t)g->params.min_tokens);
  return status;
}

enum tombola_status tombola__prepare(struct tombola__generation *g, const struct tombola_mask **mask) {
  *mask = NULL;
  g->went_back = false;
  if (g->bans.on || g->back.held > 0) {
    struct tombola__held *held = tombola__held_at(g, g->n_held);
    enum tombola_status status = keep_state(g, g->first, &held->sampler);
    if (status == TOMBOLA_OK) status = keep_state(g, g->second, &held->answer);
    if (status != TOMBOLA_OK) return status;
  }
  enum tombola_status status = tombola__mask_here(g);
  if (status == TOMBOLA_NO_CANDIDATE && g->params.matcher) return tombola__constraint_dead_end(g);
  if (status != TOMBOLA_OK) return status;
  if (g->mask.words) *mask = &g->mask;
  return TOMBOLA_OK;
}

/* What a draw has come to. */
static enum tombola_status drawn(struct tombola__generation *g, enum tombola_status status) {
  if (status == TOMBOLA_NO_CANDIDATE && g->back.held > 0) return tombola__constraint_dead_end(g);
  if (status == TOMBOLA_NO_CANDIDATE && tombola__bans_apply(g, NULL)) {
    status = tombola__release_all(g);
    tombola__end(g, TOMBOLA_STOP_BAN);
    return status;
  }
  return status == TOMBOLA_OK ? TOMBOLA_OK : tombola__sampler_failed(g, g->sampler, status);
}

enum tombola_status tombola__draw_token(struct tombola__generation *g, const struct tombola_row *row,
                                        const struct tombola_mask *mask, tombola_token *token) {
  double start = tombola__now();
  enum tombola_status status = tombola_sampler_sample(g->sampler, row, mask, token);
  g->stats.sample_seconds += tombola__now() - start;
  return drawn(g, status);
}

enum tombola_status tombola__choose(struct tombola__generation *g, const struct tombola_row *row,
                                    tombola_token *token) {
  const struct tombola_mask *mask;
  enum tombola_status status = tombola__prepare(g, &mask);
  return status == TOMBOLA_OK && !g->ended && !g->went_back ? tombola__draw_token(g, row, mask, token)
                                                            : status;
}

enum tombola_status tombola__choose_drafted(struct tombola__generation *g, const struct tombola_row *row,
                                            tombola_token draft, const float *q, float *p,
                                            tombola_token *token) {
  const struct tombola_mask *mask;
  int accepted;
  enum tombola_status status = tombola__prepare(g, &mask);
  if (status != TOMBOLA_OK || g->ended || g->went_back) return status;
  double start = tombola__now();
  status = tombola_sampler_verify(g->sampler, row, mask, draft, q, p, row->count, &accepted, token);
  g->stats.sample_seconds += tombola__now() - start;
  return drawn(g, status);
}

/* ---- releasing ---- */

/* Whether the last tokens are one pattern over and over. */
static bool loops(struct tombola__generation *g, tombola_token token) {
  size_t most = g->params.loop_period, index = g->stats.generated - 1;
  if (!g->loop_ring) return false;
  bool found = false;
  for (size_t period = 1; period <= most && period <= index; period++) {
    bool same = g->loop_ring[(index - period) % most] == token;
    g->loop_runs[period] = same ? g->loop_runs[period] + 1 : 0;
    found = found || g->loop_runs[period] >= period * (g->params.loop_repeats - 1);
  }
  g->loop_ring[index % most] = token;
  return found;
}

static bool report(const struct tombola__generation *g, const struct tombola__held *held) {
  if (!g->params.on_token) return true;
  struct tombola_token_event event = {.token = held->token,
                                      .index = g->stats.generated - 1,
                                      .forced = held->forced,
                                      .channel = held->after.channel,
                                      .logprobs = held->has_logprobs ? &held->logprobs : NULL};
  event.bytes = tombola_vocabulary_bytes(g->session->vocabulary, held->token, &event.length);
  return g->params.on_token(g->params.context, &event) != 0;
}

static enum tombola_status push_text(struct tombola__generation *g, tombola_token token) {
  size_t length;
  const char *bytes = tombola__text_of(g, token, &length);
  if (!g->text || length == 0) return TOMBOLA_OK;
  enum tombola_status status =
      tombola_text_push(g->text, bytes, length, g->params.on_piece, g->params.context);
  if (status != TOMBOLA_CANCELLED) return status == TOMBOLA_OK ? status : tombola__no_memory(g->error);
  g->refused = true;
  return TOMBOLA_OK;
}

/* The order in which the loop looks. */
static enum tombola_status release(struct tombola__generation *g, const struct tombola__held *held) {
  enum tombola_status status = push_text(g, held->token);
  if (status != TOMBOLA_OK) return status;
  g->stats.generated++;
  g->stats.forced += held->forced;
  g->stats.reasoning += held->after.channel == TOMBOLA_REASONING;
  bool goes_on = report(g, held) && !g->refused;
  bool loop = loops(g, held->token);
  g->stats.stop_string = g->text ? tombola_text_stopped(g->text) : -1;
  if (g->stats.stop_string >= 0) tombola__end(g, TOMBOLA_STOP_STOP_STRING);
  if (!goes_on) tombola__end(g, TOMBOLA_STOP_CALLER);
  if (loop) tombola__end(g, TOMBOLA_STOP_LOOP);
  if (g->stats.generated >= (uint64_t)g->params.max_tokens) tombola__end(g, TOMBOLA_STOP_MAX_TOKENS);
  return TOMBOLA_OK;
}

/* Releases all but the newest `stay`; what is left when the answer ends is dropped. */
static enum tombola_status release_but(struct tombola__generation *g, size_t stay) {
  while (g->n_held > stay && !g->ended) {
    struct tombola__held *held = tombola__held_at(g, 0);
    g->held_first = (g->held_first + 1) % g->held_room;
    g->n_held--;
    enum tombola_status status = release(g, held);
    if (status != TOMBOLA_OK) return status;
  }
  if (!g->ended || g->n_held == 0) return TOMBOLA_OK;
  const size_t dropped = g->n_held;
  g->position -= dropped;
  g->n_held = 0;
  return tombola__constraint_go_back(g, dropped);
}

enum tombola_status tombola__release_all(struct tombola__generation *g) {
  return release_but(g, 0);
}

/* ---- taking ---- */

static bool ends_answer(const struct tombola__generation *g, tombola_token token) {
  /* Under ignore_end they are banned, unless the constraint has nothing else. */
  const bool may_end = !g->params.ignore_end || g->params.matcher;
  if (may_end && (tombola_vocabulary_flags(g->session->vocabulary, token) & TOMBOLA_TOKEN_END)) return true;
  for (size_t i = 0; i < g->params.n_stop_ids; i++) {
    if (g->params.stop_ids[i] == token) return true;
  }
  return false;
}

static enum tombola_status copy_logprobs(const struct tombola__generation *g, struct tombola__held *held,
                                         const struct tombola_logprobs *logprobs) {
  held->has_logprobs = logprobs != NULL;
  if (!logprobs) return TOMBOLA_OK;
  if (logprobs->count > held->top_room) {
    struct tombola_logprob *top = tombola__new(&g->session->allocator, logprobs->count, sizeof *top);
    if (!top) return tombola__no_memory(g->error);
    tombola__free(&g->session->allocator, held->top);
    held->top = top;
    held->top_room = logprobs->count;
  }
  held->logprobs = *logprobs;
  held->logprobs.top = held->top;
  if (logprobs->count > 0) memcpy(held->top, logprobs->top, logprobs->count * sizeof *held->top);
  return TOMBOLA_OK;
}

/* All that follow the answer, or none. */
static enum tombola_status follow(struct tombola__generation *g, tombola_token token) {
  tombola_sampler *const samplers[] = {g->first, g->second};
  enum tombola_status status = tombola__constraint_take(g, token);
  if (status != TOMBOLA_OK) return status;
  for (size_t i = 0; i < 2 && samplers[i] && status == TOMBOLA_OK; i++) {
    status = tombola_sampler_accept(samplers[i], token);
    if (status != TOMBOLA_OK) tombola__sampler_failed(g, samplers[i], status);
  }
  if (status != TOMBOLA_OK && g->params.matcher) tombola_matcher_rollback(g->params.matcher, 1);
  return status;
}

/* Into the list, the histories and the ring. */
static enum tombola_status append(struct tombola__generation *g, const struct tombola__taken *taken) {
  tombola_session *session = g->session;
  struct tombola__held *held = tombola__held_at(g, g->n_held);
  enum tombola_status status = copy_logprobs(g, held, taken->forced ? NULL : taken->logprobs);
  if (status == TOMBOLA_OK && g->position < session->count && session->tokens[g->position] != taken->token)
    status = tombola__cut(g, g->position);
  if (status == TOMBOLA_OK) status = follow(g, taken->token);
  if (status != TOMBOLA_OK) return status;
  held->token = taken->token;
  held->forced = taken->forced;
  held->length = 0;
  held->before = g->place;
  g->n_held++;
  session->tokens[g->position++] = taken->token;
  g->row_valid = false;
  return TOMBOLA_OK;
}

/* The phrases' automaton over the newest token; true when one was taken back. Forced tokens, and those
 * without text, end whatever could have begun. */
static enum tombola_status look_for_phrases(struct tombola__generation *g, const char *bytes, size_t length,
                                            bool *taken_back) {
  struct tombola__held *held = tombola__held_at(g, g->n_held - 1);
  *taken_back = false;
  if (held->forced || length == 0) {
    g->place.ban_state = 0;
    g->place.lead = 0;
    return TOMBOLA_OK;
  }
  size_t used, phrase = tombola__bans_scan(g, bytes, length, &used);
  held->length = length;
  if (!phrase) return TOMBOLA_OK;
  *taken_back = true;
  return tombola__bans_roll_back(g, phrase, used);
}

/* The limits that hold whether or not tokens are held back. */
static enum tombola_status look_at_limits(struct tombola__generation *g, bool *moved) {
  enum tombola_status status = TOMBOLA_OK;
  if (!g->ended && tombola__tokens_left(g) == 0) status = tombola__release_all(g);
  if (status == TOMBOLA_OK && !g->ended && g->deadline > 0 && tombola__now() >= g->deadline) {
    status = tombola__release_all(g);
    tombola__end(g, TOMBOLA_STOP_TIME_LIMIT);
  }
  if (status != TOMBOLA_OK || g->ended || g->position <= g->session->context) return status;
  if (g->params.context_shift) status = tombola__shift_context(g, moved);
  if (status != TOMBOLA_OK || *moved) return status;
  status = tombola__release_all(g);
  tombola__end(g, TOMBOLA_STOP_CONTEXT_FULL);
  return status;
}

/* What happens to a token once it is appended. */
static enum tombola_status settle(struct tombola__generation *g, bool *turned) {
  struct tombola__held *held = tombola__held_at(g, g->n_held - 1);
  enum tombola_channel before = g->place.channel;
  size_t length;
  bool moved = false;
  const char *bytes = tombola__text_of(g, held->token, &length);
  if (g->bans.on) {
    enum tombola_status status = look_for_phrases(g, bytes, length, turned);
    if (status != TOMBOLA_OK) return status;
    if (*turned) return look_at_limits(g, &moved); /* rollbacks take time, too */
  }
  if (g->has_markers) {
    tombola__think_scan(g, bytes, length);
    if (!held->forced) tombola__think_count(g, before);
    tombola__set_sampler(g);
    *turned = g->forced_left > 0;
  }
  held->after = g->place;
  size_t hold = g->bans.on ? tombola__bans_hold(g) : 0;
  enum tombola_status status = release_but(g, hold > g->back.held ? hold : g->back.held);
  if (status == TOMBOLA_OK) status = look_at_limits(g, &moved);
  *turned = *turned || moved;
  return status;
}

enum tombola_status tombola__take(struct tombola__generation *g, const struct tombola__taken *taken,
                                  enum tombola__verdict *verdict) {
  enum tombola_status status;
  bool turned = false;
  *verdict = TOMBOLA__ENDED;
  if (!taken->forced && ends_answer(g, taken->token)) {
    status = tombola__release_all(g);
    tombola__end(g, TOMBOLA_STOP_END_TOKEN);
    return status;
  }
  status = append(g, taken);
  if (status == TOMBOLA_OK) status = settle(g, &turned);
  if (status == TOMBOLA_OK && !g->ended) *verdict = turned ? TOMBOLA__TURN : TOMBOLA__GO_ON;
  return status;
}
