/* SPDX-License-Identifier: Apache-2.0 */
/* The model's cache follows the list of tokens: run, cut, moved up. `count` mirrors the cache at every
 * moment: it changes only after the model has said that its cache did. */
#include <string.h>

#include "session/internal.h"

/* ---- running ---- */

enum tombola_status tombola__feed(struct tombola__generation *g, const tombola_token *tokens, size_t count,
                                  size_t rows) {
  tombola_session *session = g->session;
  for (size_t i = 0; i < count; i++)
    session->items[i] = (struct tombola_batch_item){.token = tokens[i],
                                                    .position = (int32_t)(session->count + i),
                                                    .sequence = session->sequence,
                                                    .want_logits = i + rows >= count};
  g->row_valid = false;
  enum tombola_status status = tombola_model_decode(session->model, session->items, count, g->error);
  if (status != TOMBOLA_OK) return status;
  memmove(session->tokens + session->count, tokens, count * sizeof *tokens); /* may be that very place */
  session->count += count;
  return TOMBOLA_OK;
}

enum tombola_status tombola__row_of(struct tombola__generation *g, size_t i, struct tombola_row *row) {
  enum tombola_status status = tombola_model_logits(g->session->model, i, row);
  if (status == TOMBOLA_OK) return TOMBOLA_OK;
  return tombola__fail(g->error, status, "model", "the model has no logits for the token that it ran");
}

/* Logits are asked for from the last token of the prompt on, though only the last are read: so a model that
 * counts the tokens of an answer counts those that were forced or are run again. */
static enum tombola_status run_chunk(struct tombola__generation *g) {
  tombola_session *session = g->session;
  size_t rest = g->position - session->count;
  size_t chunk = rest < session->batch ? rest : session->batch, end = session->count + chunk;
  size_t rows = end >= g->prompt ? end - g->prompt + 1 : 0;
  if (rows > chunk) rows = chunk;
  enum tombola_status status = tombola__feed(g, session->tokens + session->count, chunk, rows);
  if (status != TOMBOLA_OK || chunk < rest) return status;
  /* Some backends compute only when the logits are fetched, so that belongs to the forward pass and its time.
   */
  status = tombola__row_of(g, chunk - 1, &g->row);
  g->row_valid = status == TOMBOLA_OK;
  return status;
}

enum tombola_status tombola__catch_up(struct tombola__generation *g) {
  tombola_session *session = g->session;
  if (session->count == g->position && g->row_valid) return TOMBOLA_OK;
  enum tombola_status status = TOMBOLA_OK;
  if (session->count >= g->position) status = tombola__cut(g, g->position - 1);
  double start = tombola__now();
  while (status == TOMBOLA_OK && session->count < g->position)
    status = run_chunk(g);
  g->stats.decode_seconds += tombola__now() - start;
  return status;
}

/* ---- forgetting ---- */

enum tombola_status tombola__cut(struct tombola__generation *g, size_t keep) {
  tombola_session *session = g->session;
  if (keep >= session->count) return TOMBOLA_OK;
  g->row_valid = false;
  enum tombola_status status = tombola_model_remove(session->model, session->sequence, (int32_t)keep, -1);
  if (status != TOMBOLA_OK && keep > 0) {
    /* A model with a recurrent state can't forget a part of its sequence; it can start again. */
    keep = 0;
    status = tombola_model_remove(session->model, session->sequence, 0, -1);
  }
  if (status != TOMBOLA_OK)
    return tombola__fail(g->error, status, "model", "the model could not empty its cache: %s",
                         tombola_status_text(status));
  session->count = keep;
  return tombola_model_begin(session->model, session->sequence, g->prompt);
}

/* ---- the shift ---- */

/* How many tokens to forget: the older half of those behind the kept ones, but nothing that isn't in the
 * cache, nor what a rollback would run again. */
static size_t to_discard(const struct tombola__generation *g) {
  size_t keep = g->params.keep_tokens, end = g->session->count;
  if (g->n_held > 0 && g->position - g->n_held - 1 < end) end = g->position - g->n_held - 1;
  if (end <= keep) return 0;
  size_t half = (g->position - keep) / 2;
  return half < end - keep ? half : end - keep;
}

static void forget(struct tombola__generation *g, size_t keep, size_t discard) {
  tombola_token *tokens = g->session->tokens;
  size_t end = keep + discard;
  memmove(tokens + keep, tokens + end, (g->position - end) * sizeof *tokens);
  g->session->count -= discard;
  g->position -= discard;
  if (g->prompt > keep) g->prompt = g->prompt > end ? g->prompt - discard : keep;
  for (size_t i = 0; i < g->back.n; i++)
    g->back.list[i].position -= discard;
  g->stats.shifts++;
  g->stats.shifted_away += discard;
}

enum tombola_status tombola__shift_context(struct tombola__generation *g, bool *made_room) {
  tombola_session *session = g->session;
  size_t keep = g->params.keep_tokens, discard = to_discard(g);
  *made_room = discard > 0;
  if (discard == 0) return TOMBOLA_OK;
  int32_t from = (int32_t)keep, to = (int32_t)(keep + discard);
  g->row_valid = false;
  enum tombola_status status = tombola_model_remove(session->model, session->sequence, from, to);
  if (status == TOMBOLA_OK) {
    status = tombola_model_shift(session->model, session->sequence, to, -1, -(int32_t)discard);
    if (status != TOMBOLA_OK) tombola__cut(g, keep); /* there is a hole behind it now */
  }
  if (status != TOMBOLA_OK)
    return tombola__fail(g->error, status, "context_shift", "the model can't shift its context: %s",
                         tombola_status_text(status));
  forget(g, keep, discard);
  if (g->params.on_shift) g->params.on_shift(g->params.context, keep, discard);
  return tombola_model_begin(session->model, session->sequence, g->prompt);
}
