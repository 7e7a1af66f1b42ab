/* SPDX-License-Identifier: Apache-2.0 */
/* The constraint of an answer: its matcher follows the tokens that are taken, one accept a token, and goes back with
 * them. It stands aside while reasoning is open. Where a grammar may lead to a dead end (a schema whose verdict is
 * MAY_BACKTRACK), tokens are held back, and a dead end takes them back one by one. */
#include "session/internal.h"

#define MOST_HELD 64

enum tombola_status tombola__constraint_init(struct tombola__generation *g) {
  tombola_matcher *matcher = g->params.matcher;
  if (!matcher) return TOMBOLA_OK;
  if (g->params.on_mask || g->params.context_shift)
    return tombola__fail(g->error, TOMBOLA_INVALID_ARGUMENT, "matcher", "matcher doesn't go together with %s",
                         g->params.on_mask ? "on_mask" : "context_shift");
  if (!tombola_matcher_may_backtrack(matcher)) return TOMBOLA_OK;
  const size_t tokens = g->params.backtrack_tokens ? g->params.backtrack_tokens : MOST_HELD;
  if (tokens > 65536)
    return tombola__fail(g->error, TOMBOLA_INVALID_ARGUMENT, "backtrack_tokens",
                         "backtrack_tokens is %zu; it must be at most 65536", tokens);
  g->back.held = tokens;
  return tombola__hold_room(g, tokens + 2);
}

static enum tombola_status failed(const struct tombola__generation *g, enum tombola_status status,
                                  const struct tombola_error *why) {
  if (g->error && why->message[0])
    *g->error = *why;
  else
    tombola__fail(g->error, status, "matcher", "%s", tombola_status_text(status));
  return status;
}

enum tombola_status tombola__constraint_mask(struct tombola__generation *g, struct tombola_mask *mask) {
  tombola_matcher *matcher = g->params.matcher;
  struct tombola_error why = {.message = ""};
  tombola_matcher_set_thinking(matcher, g->place.channel == TOMBOLA_REASONING);
  if (!tombola_matcher_wants_mask(matcher)) return TOMBOLA_OK;
  enum tombola_status status = tombola_matcher_mask(matcher, mask, &why);
  if (status == TOMBOLA_NO_CANDIDATE) return status; /* a dead end, which isn't the end yet */
  if (status != TOMBOLA_OK) return failed(g, status, &why);
  if (mask->count != g->session->vocab_size)
    return tombola__fail(g->error, TOMBOLA_INVALID_ARGUMENT, "matcher",
                         "the matcher is of a vocabulary of %zu tokens, the model has %zu", mask->count,
                         g->session->vocab_size);
  return TOMBOLA_OK;
}

enum tombola_status tombola__constraint_take(struct tombola__generation *g, tombola_token token) {
  tombola_matcher *matcher = g->params.matcher;
  struct tombola_error why = {.message = ""};
  if (!matcher) return TOMBOLA_OK;
  tombola_matcher_set_thinking(matcher, g->place.channel == TOMBOLA_REASONING);
  enum tombola_status status = tombola_matcher_accept(matcher, token, &why);
  return status == TOMBOLA_OK ? status : failed(g, status, &why);
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
  return tombola__fail(g->error, TOMBOLA_NO_CANDIDATE, "matcher",
                       "the constraint has led to a dead end, after %zu rollbacks of %zu tokens in all",
                       g->stats.rollbacks, g->stats.rolled_back);
}
