/* SPDX-License-Identifier: Apache-2.0 */
/* A matcher: a machine in a grammar, the accepts that can be taken back, and the mask of its place. */
#include <string.h>

#include "constraint/grammar.h"

#define END_TOKEN UINT32_MAX /* in place of an accept's number of levels */
#define NO_TOKEN  (-1)

/* What can be taken back. */
struct accept {
  uint32_t levels;     /* of the machine, or END_TOKEN */
  tombola_token token; /* NO_TOKEN: bytes */
};

struct tombola_matcher {
  struct tombola_allocator allocator;
  struct tombola_grammar *grammar;
  struct tombola__machine *machine;
  struct tombola__mask_room room;
  struct accept *accepts;
  size_t n_accepts, accepts_room;
  size_t n_ends; /* END_TOKENs among them */
  bool thinking;
  bool has_mask; /* `mask` is that of this place */
  struct tombola_mask mask;
};

/* For one call, which may take so much work. */
static void lock(const tombola_matcher *matcher) {
  pthread_mutex_lock(&matcher->grammar->lock);
  tombola__store_begin(&matcher->grammar->store);
}

/* To see what may follow: nothing of it stays. */
static void lock_to_look(const tombola_matcher *matcher) {
  lock(matcher);
  matcher->grammar->store.looking = true;
}

static void unlock(const tombola_matcher *matcher) {
  matcher->grammar->store.looking = false;
  pthread_mutex_unlock(&matcher->grammar->lock);
}

/* The store's failure, which it forgets. Under the lock. */
static enum tombola_status store_failed(const tombola_matcher *matcher, struct tombola_error *error) {
  struct tombola__store *const store = &matcher->grammar->store;
  const enum tombola_status status = store->status;
  if (status && error) *error = store->error;
  tombola__store_clear(store);
  return status;
}

enum tombola_status tombola_matcher_new(tombola_grammar *grammar, const struct tombola_allocator *allocator,
                                        tombola_matcher **out, struct tombola_error *error) {
  if (!out) return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "out", "out is NULL");
  *out = NULL;
  if (!grammar) return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "grammar", "grammar is NULL");
  const struct tombola_allocator use = tombola__allocator(allocator);
  tombola_matcher *const matcher = tombola__new(&use, 1, sizeof *matcher);
  if (!matcher) return tombola__no_memory(error);
  matcher->allocator = use;
  matcher->grammar = tombola_grammar_retain(grammar);
  lock(matcher);
  enum tombola_status status = tombola__mask_room_new(grammar, &matcher->room);
  if (!status) status = tombola__machine_new(&grammar->store, &grammar->program, &use, &matcher->machine);
  const enum tombola_status failure = store_failed(matcher, error);
  unlock(matcher);
  if (!status) {
    *out = matcher;
    return TOMBOLA_OK;
  }
  tombola_matcher_free(matcher);
  return failure ? failure : tombola__fail(error, status, NULL, "%s", tombola_status_text(status));
}

void tombola_matcher_free(tombola_matcher *matcher) {
  if (!matcher) return;
  const struct tombola_allocator allocator = matcher->allocator;
  lock(matcher);
  tombola__machine_free(matcher->machine);
  tombola__mask_room_free(matcher->grammar, &matcher->room);
  unlock(matcher);
  tombola_grammar_free(matcher->grammar);
  tombola__free(&allocator, matcher->accepts);
  tombola__free(&allocator, matcher);
}

enum tombola_status tombola_matcher_mask(tombola_matcher *matcher, struct tombola_mask *mask,
                                         struct tombola_error *error) {
  if (!matcher->grammar->trie)
    return tombola__fail(error, TOMBOLA_UNSUPPORTED, "trie",
                         "the grammar was made without a trie: it has no masks");
  if (!matcher->has_mask) {
    lock_to_look(matcher);
    const enum tombola_status status = tombola__mask_at(
        matcher->grammar, matcher->n_ends ? NULL : matcher->machine, &matcher->room, &matcher->mask, error);
    unlock(matcher);
    if (status) return status;
    matcher->has_mask = true;
  }
  *mask = matcher->mask;
  return TOMBOLA_OK;
}

/* ---- going on ---- */

/* Room for another accept. */
static bool reserve(tombola_matcher *matcher) {
  if (matcher->n_accepts < matcher->accepts_room) return true;
  const size_t room = matcher->accepts_room ? 2 * matcher->accepts_room : 256;
  struct accept *const accepts =
      tombola__resize(&matcher->allocator, matcher->accepts, matcher->accepts_room, room, sizeof *accepts);
  if (!accepts) return false;
  matcher->accepts = accepts;
  matcher->accepts_room = room;
  return true;
}

static enum tombola_status accepted_one(tombola_matcher *matcher, uint32_t levels, tombola_token token) {
  matcher->accepts[matcher->n_accepts++] = (struct accept){levels, token};
  matcher->has_mask = false;
  if (levels == END_TOKEN) matcher->n_ends++;
  return TOMBOLA_OK;
}

/* Reads bytes, all or none; *fit is how many could be read. */
static enum tombola_status read_bytes(tombola_matcher *matcher, const char *bytes, size_t length, size_t *fit,
                                      struct tombola_error *error) {
  size_t n = 0;
  lock(matcher);
  while (n < length && tombola__machine_push(matcher->machine, (uint8_t)bytes[n]))
    n++;
  if (n < length) tombola__machine_pop(matcher->machine, n);
  const enum tombola_status failure = store_failed(matcher, error);
  unlock(matcher);
  *fit = n;
  return failure ? failure : n < length ? TOMBOLA_INVALID_ARGUMENT : TOMBOLA_OK;
}

enum tombola_status tombola_matcher_accept_bytes(tombola_matcher *matcher, const char *bytes, size_t length,
                                                 size_t *accepted, struct tombola_error *error) {
  size_t fit = 0;
  if (accepted) *accepted = 0;
  if (!bytes && length > 0) return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "bytes", "bytes is NULL");
  if (length >= END_TOKEN)
    return tombola__fail(error, TOMBOLA_OUT_OF_RANGE, "length", "%zu bytes at once", length);
  if (!reserve(matcher)) return tombola__no_memory(error);
  if (!matcher->thinking) {
    if (matcher->n_ends && length > 0)
      return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "bytes",
                           "an end token was accepted: nothing follows it");
    const enum tombola_status status = read_bytes(matcher, bytes, length, &fit, error);
    if (accepted) *accepted = fit;
    if (status == TOMBOLA_INVALID_ARGUMENT)
      return tombola__fail(error, status, "bytes", "byte %zu, 0x%02X, doesn't fit", fit,
                           (unsigned)(uint8_t)bytes[fit]);
    if (status) return status;
  }
  if (accepted) *accepted = length;
  return accepted_one(matcher, (uint32_t)fit, NO_TOKEN);
}

static enum tombola_status not_allowed(tombola_token token, const char *why, struct tombola_error *error) {
  return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "token", "token %ld isn't allowed here: %s",
                       (long)token, why);
}

/* Reads a token; *levels is 0 when it isn't allowed. */
static enum tombola_status read_token(tombola_matcher *matcher, tombola_token token, size_t *levels,
                                      struct tombola_error *error) {
  lock(matcher);
  *levels = tombola__token_push(matcher->grammar, matcher->machine, token);
  const enum tombola_status failure = store_failed(matcher, error);
  if (failure) tombola__machine_pop(matcher->machine, *levels);
  unlock(matcher);
  return failure;
}

/* Why a token that isn't allowed isn't. */
static const char *reason(const tombola_trie *trie, tombola_token token) {
  size_t length;
  const unsigned flags = tombola_vocabulary_flags(trie->vocabulary, token);
  (void)tombola_vocabulary_bytes(trie->vocabulary, token, &length);
  if (flags & TOMBOLA_TOKEN_UNUSED) return "it is an unused one";
  if (flags & TOMBOLA_TOKEN_SPECIAL) return "it is a special token";
  return length == 0 ? "it has no bytes" : "its bytes don't fit";
}

enum tombola_status tombola_matcher_accept(tombola_matcher *matcher, tombola_token token,
                                           struct tombola_error *error) {
  const tombola_trie *const trie = matcher->grammar->trie;
  if (!trie && !matcher->thinking)
    return tombola__fail(error, TOMBOLA_UNSUPPORTED, "trie",
                         "the grammar was made without a trie: it knows no tokens");
  if (!reserve(matcher)) return tombola__no_memory(error);
  if (matcher->thinking) return accepted_one(matcher, 0, token);
  if (token < 0 || (size_t)token >= trie->count)
    return not_allowed(token, "the vocabulary doesn't have it", error);
  if (tombola_vocabulary_flags(trie->vocabulary, token) & TOMBOLA_TOKEN_END)
    return tombola_matcher_is_complete(matcher) ? accepted_one(matcher, END_TOKEN, token)
                                                : not_allowed(token, "the text isn't complete", error);
  if (matcher->n_ends) return not_allowed(token, "an end token was accepted", error);
  size_t levels;
  const enum tombola_status status = read_token(matcher, token, &levels, error);
  if (status) return status;
  return levels ? accepted_one(matcher, (uint32_t)levels, token)
                : not_allowed(token, reason(trie, token), error);
}

/* ---- going back ---- */

enum tombola_status tombola_matcher_rollback(tombola_matcher *matcher, size_t n) {
  if (n > matcher->n_accepts) return TOMBOLA_OUT_OF_RANGE;
  size_t levels = 0;
  for (size_t i = 0; i < n; i++) {
    const uint32_t here = matcher->accepts[--matcher->n_accepts].levels;
    if (here == END_TOKEN)
      matcher->n_ends--;
    else
      levels += here;
  }
  lock(matcher);
  tombola__machine_pop(matcher->machine, levels);
  unlock(matcher);
  if (n > 0) matcher->has_mask = false;
  return TOMBOLA_OK;
}

size_t tombola_matcher_accepted(const tombola_matcher *matcher) {
  return matcher->n_accepts;
}

void tombola_matcher_reset(tombola_matcher *matcher) {
  tombola_matcher_rollback(matcher, matcher->n_accepts);
  matcher->thinking = false;
}

/* ---- looking ---- */

/* The only byte that can follow, read; -1: none, more than one, or a token. */
static int only_byte(struct tombola__machine *m) {
  int only = -1;
  if (tombola__machine_awaits(m)) return -1;
  for (int byte = 0; byte < 256; byte++) {
    if (!tombola__machine_push(m, (uint8_t)byte)) continue;
    tombola__machine_pop(m, 1);
    if (only >= 0) return -1;
    only = byte;
  }
  if (only >= 0 && !tombola__machine_push(m, (uint8_t)only)) return -1;
  return only;
}

enum tombola_status tombola_matcher_forced(tombola_matcher *matcher, char *bytes, size_t capacity,
                                           size_t *length, struct tombola_error *error) {
  *length = 0;
  if (!bytes && capacity > 0) return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "bytes", "bytes is NULL");
  if (matcher->n_ends) return TOMBOLA_OK;
  size_t n = 0;
  lock_to_look(matcher);
  while (n < capacity && !tombola__machine_complete(matcher->machine)) {
    const int byte = only_byte(matcher->machine);
    if (byte < 0) break;
    bytes[n++] = (char)byte;
  }
  tombola__machine_pop(matcher->machine, n);
  const enum tombola_status failure = store_failed(matcher, error);
  unlock(matcher);
  if (!failure) *length = n;
  return failure;
}

int tombola_matcher_is_complete(const tombola_matcher *matcher) {
  if (matcher->n_ends) return 1;
  lock(matcher);
  const bool complete = tombola__machine_complete(matcher->machine);
  store_failed(matcher, NULL); /* finding out may have gone beyond a limit, which is nobody else's business */
  unlock(matcher);
  return complete;
}

/* Reads what another has read, token by token: it matters which bytes were one. */
static enum tombola_status replay_accepts(tombola_matcher *matcher, const tombola_matcher *from,
                                          struct tombola_error *error) {
  const char *text = (const char *)tombola__machine_text(from->machine);
  enum tombola_status status = TOMBOLA_OK;
  for (size_t i = 0; i < from->n_accepts && !status; i++) {
    const struct accept a = from->accepts[i];
    size_t n;
    if (a.levels == 0 || a.levels == END_TOKEN) continue;
    status = a.token == NO_TOKEN ? read_bytes(matcher, text, a.levels, &n, error)
                                 : read_token(matcher, a.token, &n, error);
    text += a.levels;
  }
  return status;
}

static enum tombola_status replay(tombola_matcher *matcher, const tombola_matcher *from,
                                  struct tombola_error *error) {
  matcher->accepts = tombola__new(&matcher->allocator, from->accepts_room, sizeof *matcher->accepts);
  if (!matcher->accepts) return tombola__no_memory(error);
  const enum tombola_status status = replay_accepts(matcher, from, error);
  if (status) return status;
  if (from->n_accepts) memcpy(matcher->accepts, from->accepts, from->n_accepts * sizeof *matcher->accepts);
  matcher->accepts_room = from->accepts_room;
  matcher->n_accepts = from->n_accepts;
  matcher->n_ends = from->n_ends;
  matcher->thinking = from->thinking;
  return TOMBOLA_OK;
}

enum tombola_status tombola_matcher_clone(const tombola_matcher *matcher, tombola_matcher **out,
                                          struct tombola_error *error) {
  if (!out) return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "out", "out is NULL");
  enum tombola_status status = tombola_matcher_new(matcher->grammar, &matcher->allocator, out, error);
  if (!status && (status = replay(*out, matcher, error))) {
    tombola_matcher_free(*out);
    *out = NULL;
  }
  return status;
}

void tombola_matcher_set_thinking(tombola_matcher *matcher, int thinking) {
  matcher->thinking = thinking != 0;
}

int tombola_matcher_wants_mask(const tombola_matcher *matcher) {
  return !matcher->thinking;
}

int tombola_matcher_may_backtrack(const tombola_matcher *matcher) {
  return matcher->grammar->verdict.verdict == TOMBOLA_VERDICT_MAY_BACKTRACK;
}

int tombola_matcher_engaged(const tombola_matcher *matcher) {
  lock(matcher);
  const bool engaged = tombola__machine_engaged(matcher->machine);
  unlock(matcher);
  return engaged;
}
