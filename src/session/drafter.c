/* SPDX-License-Identifier: Apache-2.0 */
/* Drafts from a smaller model. Its cache follows the session's list of tokens by their common prefix; its
 * sampler is a clone of the target's, so that penalties and all that remembers see the same history, drafts
 * included, and what it drew a token from is known exactly. Whatever goes wrong here only ends the draft: the
 * answer doesn't need it. */
#include <math.h>
#include <string.h>

#include "session/speculation.h"

/* ---- making ---- */

/* The spelling of a token for a message. */
static void spell(const tombola_vocabulary *vocabulary, tombola_token token, char out[48]) {
  size_t length, n = 0;
  const char *bytes = tombola_vocabulary_bytes(vocabulary, token, &length);
  for (size_t i = 0; i < length && n < 40; i++) {
    unsigned char byte = (unsigned char)bytes[i];
    bool plain = byte >= 0x20 && byte < 0x7F && byte != '"' && byte != '\\';
    if (plain) {
      out[n++] = (char)byte;
      continue;
    }
    static const char digits[] = "0123456789abcdef";
    memcpy(out + n, (const char[]){'\\', 'x', digits[byte / 16], digits[byte % 16]}, 4);
    n += 4;
  }
  out[n] = '\0';
}

static enum tombola_status compare(const tombola_vocabulary *target, const tombola_vocabulary *draft,
                                   struct tombola_error *error) {
  size_t n = tombola_vocabulary_count(target), other = tombola_vocabulary_count(draft);
  for (size_t i = 0; i < n && i < other; i++) {
    tombola_token token = (tombola_token)i;
    size_t length, draft_length;
    const char *bytes = tombola_vocabulary_bytes(target, token, &length);
    const char *draft_bytes = tombola_vocabulary_bytes(draft, token, &draft_length);
    if (length == draft_length && memcmp(bytes, draft_bytes, length) == 0) continue;
    char ours[48], theirs[48];
    spell(target, token, ours);
    spell(draft, token, theirs);
    return tombola__fail(
        error, TOMBOLA_INVALID_ARGUMENT, "draft",
        "the draft model has another vocabulary: token %zu is \"%s\", in the model it is \"%s\"", i, theirs,
        ours);
  }
  return TOMBOLA_OK;
}

enum tombola_status tombola__drafter_check(tombola_model *target,
                                           const struct tombola_speculation_params *params,
                                           struct tombola_error *error) {
  if (!params->draft)
    return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "draft", "there is no draft model");
  struct tombola_model_info info = {.struct_size = sizeof info};
  tombola_model_info(params->draft, &info);
  if (params->draft_sequence < 0 || (size_t)params->draft_sequence >= info.sequences)
    return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "draft_sequence",
                         "draft_sequence is %d; the draft model has 0 to %zu", (int)params->draft_sequence,
                         info.sequences - 1);
  if (params->draft == target)
    return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "draft",
                         "the draft model is the model itself; a batch of drafts would overwrite its rows");
  return compare(tombola_model_vocabulary(target), tombola_model_vocabulary(params->draft), error);
}

bool tombola__drafter_init(tombola_speculation *s, size_t most) {
  struct tombola__drafter *d = &s->drafter;
  const struct tombola_allocator *allocator = &s->allocator;
  struct tombola_model_info info = {.struct_size = sizeof info};
  tombola_model_info(s->params.draft, &info);
  d->context = info.context;
  d->batch = info.batch < info.context ? info.batch : info.context;
  d->vocab_size = tombola_vocabulary_count(tombola_model_vocabulary(s->params.draft));
  d->tokens = tombola__new(allocator, d->context, sizeof *d->tokens);
  d->items = tombola__new(allocator, d->batch, sizeof *d->items);
  size_t floats;
  if (!tombola__multiply(most, s->vocab_size, &floats)) return false;
  d->q = tombola__new(allocator, floats, sizeof *d->q);
  s->p = tombola__new(allocator, s->vocab_size, sizeof *s->p);
  if (d->vocab_size < s->vocab_size) {
    d->padded = tombola__new(allocator, s->vocab_size, sizeof(float));
    if (!d->padded) return false;
  }
  if (!d->tokens || !d->items || !d->q || !s->p) return false;
  tombola_model_remove(s->params.draft, s->params.draft_sequence, 0, -1);
  return true;
}

void tombola__drafter_free(tombola_speculation *s) {
  struct tombola__drafter *d = &s->drafter;
  if (d->tokens) tombola_model_remove(s->params.draft, s->params.draft_sequence, 0, -1);
  tombola_sampler_free(d->sampler);
  tombola__free(&s->allocator, d->tokens);
  tombola__free(&s->allocator, d->items);
  tombola__free(&s->allocator, d->q);
  tombola__free(&s->allocator, d->padded);
  tombola__free(&s->allocator, s->p);
}

const float *tombola__drafter_weights(const tombola_speculation *s, size_t i) {
  return s->drafter.q ? s->drafter.q + i * s->vocab_size : NULL;
}

/* ---- the cache ---- */

/* Runs tokens behind the cache. Logits are asked for from the prompt's last token on, as the session does. */
static bool feed(struct tombola__generation *g, tombola_speculation *s, const tombola_token *tokens,
                 size_t n) {
  struct tombola__drafter *d = &s->drafter;
  for (size_t i = 0; i < n; i++)
    d->items[i] = (struct tombola_batch_item){.token = tokens[i],
                                              .position = (int32_t)(d->count + i),
                                              .sequence = s->params.draft_sequence,
                                              .want_logits = i + 1 == n || d->count + i + 1 >= g->prompt};
  if (tombola_model_decode(s->params.draft, d->items, n, NULL) != TOMBOLA_OK) return false;
  memcpy(d->tokens + d->count, tokens, n * sizeof *tokens);
  d->count += n;
  return true;
}

/* Cuts the cache down to what it shares with the list, at most all but the list's last token. */
static bool cut(struct tombola__generation *g, tombola_speculation *s) {
  struct tombola__drafter *d = &s->drafter;
  const tombola_token *tokens = g->session->tokens;
  size_t most = g->position - 1 < d->count ? g->position - 1 : d->count, shared = 0;
  while (shared < most && d->tokens[shared] == tokens[shared])
    shared++;
  if (shared < d->count) {
    enum tombola_status status =
        tombola_model_remove(s->params.draft, s->params.draft_sequence, (int32_t)shared, -1);
    if (status != TOMBOLA_OK) {
      shared = 0;
      status = tombola_model_remove(s->params.draft, s->params.draft_sequence, 0, -1);
    }
    if (status != TOMBOLA_OK) return false;
    d->count = shared;
  }
  return tombola_model_begin(s->params.draft, s->params.draft_sequence, g->prompt) == TOMBOLA_OK;
}

/* The cache holds the whole list; *last is the item of its last token. */
static bool catch_up(struct tombola__generation *g, tombola_speculation *s, size_t *last) {
  struct tombola__drafter *d = &s->drafter;
  if (!cut(g, s)) return false;
  while (d->count < g->position) {
    size_t rest = g->position - d->count, n = rest < d->batch ? rest : d->batch;
    if (!feed(g, s, g->session->tokens + d->count, n)) return false;
    *last = n - 1;
  }
  return true;
}

/* ---- drafting ---- */

static bool follow(struct tombola__generation *g, struct tombola__drafter *d) {
  if (d->sampler && tombola_sampler_follow(d->sampler, g->sampler) == TOMBOLA_OK) return true;
  tombola_sampler_free(d->sampler); /* of another sampler's parameters, or none yet */
  d->sampler = NULL;
  if (tombola_sampler_clone(g->sampler, &d->sampler) != TOMBOLA_OK) return false;
  if (tombola_sampler_set_logprobs(d->sampler, TOMBOLA_LOGPROB_RAW, 0) != TOMBOLA_OK) return false;
  return tombola_sampler_follow(d->sampler, g->sampler) == TOMBOLA_OK;
}

/* -inf in each type of row. */
static void fill_banned(void *row, enum tombola_dtype dtype, size_t from, size_t to) {
  for (size_t i = from; i < to; i++) {
    if (dtype == TOMBOLA_F32)
      ((float *)row)[i] = -INFINITY;
    else
      ((uint16_t *)row)[i] = dtype == TOMBOLA_F16 ? 0xFC00 : 0xFF80;
  }
}

/* The draft model's row over the target's vocabulary: rows of padding are left out, missing ones can't occur.
 */
static void fit(tombola_speculation *s, struct tombola_row *row) {
  if (row->count < s->vocab_size) {
    size_t width = row->dtype == TOMBOLA_F32 ? sizeof(float) : sizeof(uint16_t);
    memcpy(s->drafter.padded, row->data, row->count * width);
    fill_banned(s->drafter.padded, row->dtype, row->count, s->vocab_size);
    row->data = s->drafter.padded;
  }
  row->count = s->vocab_size;
}

/* Draws one token and writes down what from. The mask is the one that the token would meet. */
static bool draw(struct tombola__generation *g, tombola_speculation *s, size_t item, float *q,
                 tombola_token *token) {
  struct tombola_row row;
  tombola_sampler *sampler = s->drafter.sampler;
  if (tombola_model_logits(s->params.draft, item, &row) != TOMBOLA_OK) return false;
  fit(s, &row);
  if (tombola__mask_here(g) != TOMBOLA_OK) return false;
  const struct tombola_mask *mask = g->mask.words ? &g->mask : NULL;
  if (tombola_distribution(sampler, &row, mask, q, s->vocab_size) != TOMBOLA_OK) return false;
  if (tombola_sampler_sample(sampler, &row, mask, token) != TOMBOLA_OK) return false;
  return tombola_sampler_accept(sampler, *token) == TOMBOLA_OK;
}

/* What the masks of further drafts depend on goes on with this one; false: nothing can follow it. */
static bool step_over(struct tombola__generation *g, tombola_token draft) {
  size_t length;
  const char *bytes = tombola__text_of(g, draft, &length);
  if (!g->params.matcher) return true;
  if (tombola_vocabulary_flags(g->session->vocabulary, draft) & TOMBOLA_TOKEN_END) return false;
  if (tombola__constraint_take(g, draft) != TOMBOLA_OK) return false;
  if (g->has_markers) tombola__think_scan(g, bytes, length);
  return true;
}

/* The drafts stand behind the list while the masks of their places are asked for; a matcher and the place in the text
 * go with them and come back. */
static size_t draft_from(struct tombola__generation *g, tombola_speculation *s, size_t item, size_t most,
                         tombola_token *draft) {
  size_t position = g->position, n = 0, over = 0;
  const struct tombola__place place = g->place;
  const double constraint_seconds = g->stats.constraint_seconds; /* these are the draft's */
  while (n < most && draw(g, s, item, s->drafter.q + n * s->vocab_size, &draft[n])) {
    g->session->tokens[g->position++] = draft[n++];
    if (n == most || s->drafter.count == s->drafter.context || !step_over(g, draft[n - 1])) break;
    over++;
    if (!feed(g, s, &draft[n - 1], 1)) break;
    item = 0;
  }
  g->position = position;
  g->place = place;
  if (g->params.matcher) tombola_matcher_rollback(g->params.matcher, over);
  g->stats.constraint_seconds = constraint_seconds;
  return n;
}

size_t tombola__drafter_draft(struct tombola__generation *g, tombola_speculation *s, size_t most,
                              tombola_token *draft) {
  if (g->position > s->drafter.context) return 0;
  struct tombola_error *error = g->error;
  g->error = NULL; /* what fails here isn't the answer's failure */
  size_t item = 0, n = 0;
  if (follow(g, &s->drafter) && catch_up(g, s, &item)) n = draft_from(g, s, item, most, draft);
  g->stats.speculation.failures += n == 0;
  g->error = error;
  return n;
}
