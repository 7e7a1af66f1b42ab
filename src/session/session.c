/* SPDX-License-Identifier: Apache-2.0 */
/* A session's life: made, forked, emptied, freed; and the names of the ways an answer ends. */
#define _POSIX_C_SOURCE 200809L
#include "session/internal.h"

#include <string.h>
#include <time.h>

const char *tombola_stop_name(enum tombola_stop stop) {
  switch (stop) {
#define STOP_NAME(suffix, name, finish) \
  case TOMBOLA_STOP_##suffix: return name;
    TOMBOLA_STOP_MAP(STOP_NAME)
#undef STOP_NAME
  default: return "unknown";
  }
}

const char *tombola_stop_finish(enum tombola_stop stop) {
  switch (stop) {
#define STOP_FINISH(suffix, name, finish) \
  case TOMBOLA_STOP_##suffix: return finish;
    TOMBOLA_STOP_MAP(STOP_FINISH)
#undef STOP_FINISH
  default: return "unknown";
  }
}

double tombola__now(void) {
  struct timespec time;
  if (clock_gettime(CLOCK_MONOTONIC, &time) != 0) return 0;
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* ---- making and freeing ---- */

static bool make_parts(tombola_session *session) {
  const struct tombola_allocator *allocator = &session->allocator;
  session->tokens = tombola__new(allocator, session->context + 1, sizeof *session->tokens);
  session->items = tombola__new(allocator, session->batch, sizeof *session->items);
  session->mask = tombola__new(allocator, (session->vocab_size + 31) / 32, sizeof *session->mask);
  return session->tokens && session->items && session->mask;
}

enum tombola_status tombola_session_new(tombola_model *model, int32_t sequence,
                                        const struct tombola_allocator *allocator, tombola_session **out,
                                        struct tombola_error *error) {
  if (!out) return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "out", "out is NULL");
  *out = NULL;
  if (!model) return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "model", "model is NULL");
  struct tombola_model_info info = {.struct_size = sizeof info};
  tombola_model_info(model, &info);
  if (sequence < 0 || (size_t)sequence >= info.sequences)
    return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "sequence", "there is no sequence %d (0 to %zu)",
                         (int)sequence, info.sequences - 1);

  tombola_session *session = tombola__new(allocator, 1, sizeof *session);
  if (!session) return tombola__no_memory(error);
  session->allocator = tombola__allocator(allocator);
  session->model = model;
  session->vocabulary = tombola_model_vocabulary(model);
  session->sequence = sequence;
  session->context = info.context;
  session->batch = info.batch < info.context ? info.batch : info.context;
  session->vocab_size = tombola_vocabulary_count(session->vocabulary);
  bool made = make_parts(session);
  if (!made) {
    tombola_session_free(session);
    return tombola__no_memory(error);
  }
  tombola_session_clear(session); /* of what an earlier session may have left there */
  *out = session;
  return TOMBOLA_OK;
}

void tombola_session_free(tombola_session *session) {
  if (!session) return;
  tombola_session_clear(session);
  struct tombola_allocator allocator = session->allocator;
  tombola__free(&allocator, session->tokens);
  tombola__free(&allocator, session->items);
  tombola__free(&allocator, session->mask);
  tombola__free(&allocator, session);
}

enum tombola_status tombola_session_fork(const tombola_session *session, int32_t sequence,
                                         const struct tombola_allocator *allocator, tombola_session **out,
                                         struct tombola_error *error) {
  if (!out) return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "out", "out is NULL");
  *out = NULL;
  if (!session) return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "session", "session is NULL");
  if (sequence == session->sequence)
    return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "sequence",
                         "sequence %d is the one that is to be forked", (int)sequence);
  tombola_session *fork;
  enum tombola_status status = tombola_session_new(session->model, sequence, allocator, &fork, error);
  if (status != TOMBOLA_OK) return status;
  if (session->count > 0)
    status = tombola_model_copy(session->model, session->sequence, sequence, 0, (int32_t)session->count);
  if (status != TOMBOLA_OK) {
    tombola_session_free(fork);
    return tombola__fail(error, status, "model", "the model can't copy its cache: %s",
                         tombola_status_text(status));
  }
  memcpy(fork->tokens, session->tokens, session->count * sizeof *fork->tokens);
  fork->count = session->count;
  *out = fork;
  return TOMBOLA_OK;
}

/* ---- what it holds ---- */

const tombola_token *tombola_session_tokens(const tombola_session *session, size_t *count) {
  if (count) *count = session ? session->count : 0;
  return session ? session->tokens : NULL;
}

void tombola_session_clear(tombola_session *session) {
  if (!session) return;
  tombola_model_remove(session->model, session->sequence, 0, -1);
  session->count = 0;
}
