/* SPDX-License-Identifier: Apache-2.0 */
/* The constraint of an answer: its matcher follows the tokens that are taken, one accept a token, and goes back with
 * them. It stands aside while reasoning is open: of the token that closes it, it reads what is behind the marker. Where a
 * grammar may lead to a dead end (a schema whose verdict is MAY_BACKTRACK), tokens are held back, and a dead end takes
 * them back one by one.
 *
 * What is read is what the text pipe gives out as the answer. Markers are cut out of it, so that none may come inside;
 * and an answer that ends while reasoning is open is none, so that the constraint isn't met there. */
#include <string.h>

#include "session/internal.h"

#define MOST_HELD 64

/* ---- markers ---- */

static bool thinks(const struct tombola__generation *g) {
  return g->place.channel == TOMBOLA_REASONING;
}

/* From which byte of a token's text on the constraint reads it; false: the token can't come, because the answer's text
 * would not be what the constraint has read. */
static bool reads_from(const struct tombola__generation *g, const char *bytes, size_t length, size_t *from) {
  const struct tombola__automaton *a = &g->markers;
  const bool pieces = g->text_params.marker_rule_of_pieces != 0;
  uint16_t state = pieces ? 0 : g->place.marker_state;
  bool outside = thinks(g);
  *from = outside ? length : 0;
  for (size_t i = 0; g->has_markers && i < length; i++) {
    state = tombola__automaton_step(a, state, bytes[i]);
    if (!a->length[state]) continue;
    if (!outside) return false;
    if (a->pattern[state] == 1) {
      if (pieces && i + 1 > a->length[state]) return false; /* what is in front would count for the answer */
      outside = false;
      *from = i + 1;
    }
    state = 0;
  }
  return true;
}

static bool holds(const char *bytes, size_t length, const char *marker, size_t n) {
  for (size_t i = 0; i + n <= length; i++)
    if (memcmp(bytes + i, marker, n) == 0) return true;
  return false;
}

/* Whether a marker that begins in front of the text could end in it. */
static bool ends_one(const char *bytes, size_t length, const char *marker, size_t n) {
  for (size_t rest = 1; rest < n && rest <= length; rest++)
    if (memcmp(bytes, marker + n - rest, rest) == 0) return true;
  return false;
}

static bool add_enders(struct tombola__generation *g, const char *marker, bool whole) {
  const tombola_session *session = g->session;
  const size_t n = strlen(marker);
  for (size_t i = 0; i < session->vocab_size; i++) {
    size_t length;
    const char *bytes = tombola__text_of(g, (tombola_token)i, &length);
    if (length == 0 || !memchr(bytes, marker[n - 1], length)) continue;
    if (whole != holds(bytes, length, marker, n)) continue;
    if (!whole && !ends_one(bytes, length, marker, n)) continue;
    if (g->n_enders % 64 == 0) {
      tombola_token *more =
          tombola__resize(&session->allocator, g->enders, g->n_enders, g->n_enders + 64, sizeof *more);
      if (!more) return false;
      g->enders = more;
    }
    g->enders[g->n_enders++] = (tombola_token)i;
  }
  return true;
}

/* A token that two markers have is there twice. */
static enum tombola_status find_enders(struct tombola__generation *g) {
  const char *const markers[] = {g->text_params.think_open, g->text_params.think_close};
  for (int whole = 1; whole >= 0; whole--) {
    for (size_t i = 0; i < 2; i++)
      if (!add_enders(g, markers[i], whole)) return tombola__no_memory(g->error);
    if (whole) g->n_whole = g->n_enders;
  }
  return TOMBOLA_OK;
}

/* ---- beginning and end ---- */

static enum tombola_status failed(const struct tombola__generation *g, enum tombola_status status,
                                  const struct tombola_error *why) {
  if (g->error && why->message[0])
    *g->error = *why;
  else
    tombola__fail(g->error, status, "matcher", "%s", tombola_status_text(status));
  return status;
}

/* What the matcher said of a mask. */
static enum tombola_status check_mask(const struct tombola__generation *g, enum tombola_status status,
                                      const struct tombola_mask *mask, const struct tombola_error *why) {
  if (status == TOMBOLA_NO_CANDIDATE) return status; /* a dead end, which isn't the end yet */
  if (status != TOMBOLA_OK) return failed(g, status, why);
  if (mask->count != g->session->vocab_size)
    return tombola__fail(g->error, TOMBOLA_INVALID_ARGUMENT, "matcher",
                         "the matcher is of a vocabulary of %zu tokens, the model has %zu", mask->count,
                         g->session->vocab_size);
  return TOMBOLA_OK;
}

enum tombola_status tombola__constraint_init(struct tombola__generation *g) {
  tombola_matcher *matcher = g->params.matcher;
  struct tombola_error why = {.message = ""};
  if (!matcher) return TOMBOLA_OK;
  if (g->params.on_mask || g->params.context_shift)
    return tombola__fail(g->error, TOMBOLA_INVALID_ARGUMENT, "matcher", "matcher doesn't go together with %s",
                         g->params.on_mask ? "on_mask" : "context_shift");
  struct tombola_mask mask;
  enum tombola_status status = TOMBOLA_OK;
  tombola_matcher_set_thinking(matcher, 0);
  status = check_mask(g, tombola_matcher_mask(matcher, &mask, &why), &mask, &why);
  if (status != TOMBOLA_OK && status != TOMBOLA_NO_CANDIDATE) return status;
  status = g->has_markers ? find_enders(g) : TOMBOLA_OK;
  if (status != TOMBOLA_OK || !tombola_matcher_may_backtrack(matcher)) return status;
  const size_t tokens = g->params.backtrack_tokens ? g->params.backtrack_tokens : MOST_HELD;
  if (tokens > 65536)
    return tombola__fail(g->error, TOMBOLA_INVALID_ARGUMENT, "backtrack_tokens",
                         "backtrack_tokens is %zu; it must be at most 65536", tokens);
  g->back.held = tokens;
  return tombola__hold_room(g, tokens + 2);
}

void tombola__constraint_end(struct tombola__generation *g) {
  if (g->params.matcher) tombola_matcher_set_thinking(g->params.matcher, thinks(g));
}

/* ---- the mask ---- */

enum tombola_status tombola__constraint_mask(struct tombola__generation *g, struct tombola_mask *mask) {
  tombola_matcher *matcher = g->params.matcher;
  struct tombola_error why = {.message = ""};
  if (thinks(g)) return TOMBOLA_OK;
  const double start = tombola__now();
  tombola_matcher_set_thinking(matcher, 0);
  enum tombola_status status = check_mask(g, tombola_matcher_mask(matcher, mask, &why), mask, &why);
  g->stats.constraint_seconds += tombola__now() - start;
  return status;
}

/* Whether the constraint could read the token's text here. */
static bool could_come(struct tombola__generation *g, tombola_token token) {
  tombola_matcher *matcher = g->params.matcher;
  size_t length, from;
  const char *bytes = tombola__text_of(g, token, &length);
  if (!reads_from(g, bytes, length, &from)) return false;
  if (!thinks(g) || from == length) return true;
  if (tombola_matcher_accept_bytes(matcher, bytes + from, length - from, NULL, NULL) != TOMBOLA_OK)
    return false;
  tombola_matcher_rollback(matcher, 1);
  return true;
}

static void forbid(struct tombola__generation *g, tombola_token token) {
  tombola__own_mask(g)[token / 32] &= ~(UINT32_C(1) << (token % 32));
}

void tombola__constraint_bans(struct tombola__generation *g) {
  const double start = tombola__now();
  size_t n_ends;
  const tombola_token *ends = tombola_vocabulary_ends(g->session->vocabulary, &n_ends);
  tombola_matcher_set_thinking(g->params.matcher, 0);
  if (thinks(g) && !tombola_matcher_is_complete(g->params.matcher))
    for (size_t i = 0; i < n_ends; i++)
      forbid(g, ends[i]);
  const bool inside = g->place.marker_state != 0; /* of what may be a marker */
  for (size_t i = 0; i < (inside ? g->n_enders : g->n_whole); i++) {
    const tombola_token token = g->enders[i];
    if (g->mask.words && !(g->mask.words[token / 32] >> token % 32 & 1)) continue;
    if (!could_come(g, token)) forbid(g, token);
  }
  g->stats.constraint_seconds += tombola__now() - start;
}

/* ---- going on and back ---- */

static enum tombola_status take(struct tombola__generation *g, tombola_token token) {
  tombola_matcher *matcher = g->params.matcher;
  struct tombola_error why = {.message = ""};
  enum tombola_status status;
  size_t length, from;
  const char *bytes = tombola__text_of(g, token, &length);
  if (!reads_from(g, bytes, length, &from))
    return tombola__fail(g->error, TOMBOLA_INVALID_ARGUMENT, "matcher",
                         "token %d has a marker of reasoning where the constraint reads", (int)token);
  const bool in_part = thinks(g) && from < length;
  tombola_matcher_set_thinking(matcher, thinks(g) && !in_part);
  if (in_part)
    status = tombola_matcher_accept_bytes(matcher, bytes + from, length - from, NULL, &why);
  else
    status = tombola_matcher_accept(matcher, token, &why);
  return status == TOMBOLA_OK ? status : failed(g, status, &why);
}

enum tombola_status tombola__constraint_take(struct tombola__generation *g, tombola_token token) {
  if (!g->params.matcher) return TOMBOLA_OK;
  const double start = tombola__now();
  enum tombola_status status = take(g, token);
  g->stats.constraint_seconds += tombola__now() - start;
  return status;
}

enum tombola_status tombola__constraint_go_back(struct tombola__generation *g, size_t tokens) {
  if (!g->params.matcher) return TOMBOLA_OK;
  enum tombola_status status = tombola_matcher_rollback(g->params.matcher, tokens);
  if (status == TOMBOLA_OK) return status;
  return tombola__fail(g->error, status, "matcher", "the matcher can't take back %zu tokens", tokens);
}

/* The grammar has nothing to follow here: the newest token goes, and its place is tried in another way. */
enum tombola_status tombola__constraint_dead_end(struct tombola__generation *g) {
  bool again = false;
  g->stats.dead_ends++;
  if (tombola_matcher_is_complete(g->params.matcher)) { /* a vocabulary without an end token */
    enum tombola_status status = tombola__release_all(g);
    tombola__end(g, TOMBOLA_STOP_END_TOKEN);
    g->stats.dead_ends--;
    return status;
  }
  if (g->back.held > 0 && g->n_held > 0) {
    enum tombola_status status = tombola__go_back(g, g->n_held - 1, &again);
    if (status != TOMBOLA_OK) return status;
  }
  g->went_back = again;
  if (again) return TOMBOLA_OK;
  if (g->back.held == 0)
    return tombola__fail(
        g->error, TOMBOLA_NO_CANDIDATE, "matcher",
        "the constraint can't be met: no token of the vocabulary spells what must come next");
  return tombola__fail(g->error, TOMBOLA_NO_CANDIDATE, "matcher",
                       "the constraint has led to a dead end, after %zu rollbacks of %zu tokens in all",
                       g->stats.rollbacks, g->stats.rolled_back);
}
