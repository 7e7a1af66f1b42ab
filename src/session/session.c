/* SPDX-License-Identifier: Apache-2.0 */
/* The loop that turns a prompt into tokens, in the order of rml's Session: reuse, prefill, then sample, end
 * token, callback, token limit, full context, feed back. The token list mirrors the model's cache at every
 * moment: it changes only after the model has said that its cache did. */
#define _POSIX_C_SOURCE 200809L
#include "base/base.h"

#include <string.h>
#include <time.h>
#include <tombola/session.h>

struct tombola_session {
  struct tombola_allocator allocator;
  tombola_model *model;
  const tombola_vocabulary *vocabulary;
  int32_t sequence;
  size_t context, batch, vocab_size;
  tombola_token *tokens; /* room for the whole context, so that no token allocates */
  size_t count;
  struct tombola_batch_item *items; /* room for one batch */
  uint32_t *without_ends;           /* the mask that ignore_end samples under */
};

/* One generation, so that the steps below can share it. */
struct generation {
  tombola_session *session;
  tombola_sampler *sampler;
  struct tombola_generate_params params; /* whole */
  struct tombola_mask mask;              /* of ignore_end */
  struct tombola_row row;                /* the logits to sample from */
  struct tombola_generation_stats stats;
  struct tombola_error *error;
};

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

static double now(void) {
  struct timespec time;
  if (clock_gettime(CLOCK_MONOTONIC, &time) != 0) return 0;
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* ---- making and freeing ---- */

static void fill_mask(tombola_session *session) {
  size_t n_ends;
  const tombola_token *ends = tombola_vocabulary_ends(session->vocabulary, &n_ends);
  memset(session->without_ends, 0xFF, (session->vocab_size + 31) / 32 * sizeof *session->without_ends);
  for (size_t i = 0; i < n_ends; i++)
    session->without_ends[ends[i] / 32] &= ~(UINT32_C(1) << (ends[i] % 32));
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
  session->tokens = tombola__new(allocator, session->context, sizeof *session->tokens);
  session->items = tombola__new(allocator, session->batch, sizeof *session->items);
  session->without_ends =
      tombola__new(allocator, (session->vocab_size + 31) / 32, sizeof *session->without_ends);
  if (!session->tokens || !session->items || !session->without_ends) {
    tombola_session_free(session);
    return tombola__no_memory(error);
  }
  fill_mask(session);
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
  tombola__free(&allocator, session->without_ends);
  tombola__free(&allocator, session);
}

const tombola_token *tombola_session_tokens(const tombola_session *session, size_t *count) {
  if (count) *count = session ? session->count : 0;
  return session ? session->tokens : NULL;
}

void tombola_session_clear(tombola_session *session) {
  if (!session) return;
  tombola_model_remove(session->model, session->sequence, 0, -1);
  session->count = 0;
}

/* ---- checks ---- */

static enum tombola_status complete_params(const struct tombola_generate_params *given,
                                           struct tombola_generate_params *full,
                                           struct tombola_error *error) {
  memset(full, 0, sizeof *full);
  if (!given) return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "params", "params is NULL");
  if (given->struct_size < sizeof given->struct_size)
    return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "struct_size",
                         "struct_size of the parameters is not set");
  memcpy(full, given, given->struct_size < sizeof *full ? given->struct_size : sizeof *full);
  if (full->max_tokens < 1)
    return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "max_tokens",
                         "max_tokens is %lld; it must be at least 1", (long long)full->max_tokens);
  if (!full->stop_ids && full->n_stop_ids > 0)
    return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "stop_ids", "stop_ids is NULL");
  return TOMBOLA_OK;
}

static enum tombola_status check_tokens(const tombola_session *session, const char *name,
                                        const tombola_token *tokens, size_t count,
                                        struct tombola_error *error) {
  for (size_t i = 0; i < count; i++) {
    if (tokens[i] < 0 || (size_t)tokens[i] >= session->vocab_size)
      return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, name,
                           "%s[%zu] is %d; the vocabulary has 0 to %zu", name, i, (int)tokens[i],
                           session->vocab_size - 1);
  }
  return TOMBOLA_OK;
}

static enum tombola_status check_prompt(const tombola_session *session, const tombola_token *prompt,
                                        size_t count, struct tombola_error *error) {
  if (!prompt || count == 0)
    return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "prompt",
                         "the prompt is empty; it must have at least one token");
  if (count > session->context)
    return tombola__fail(error, TOMBOLA_OUT_OF_RANGE, "prompt",
                         "the prompt has %zu tokens, the context has room for %zu", count, session->context);
  return check_tokens(session, "prompt", prompt, count, error);
}

/* The sampler's own explanation of a failure, in place of the session's. */
static enum tombola_status sampler_failed(const struct generation *g, enum tombola_status status) {
  const struct tombola_error *why = tombola_sampler_error(g->sampler);
  if (why && why->status == status) {
    if (g->error) *g->error = *why;
    return status;
  }
  return tombola__fail(g->error, status, "sampler", "the sampler failed: %s", tombola_status_text(status));
}

/* ---- the prompt ---- */

/* Runs tokens at the end of the cache; `last` says whether the logits after the last one are wanted. */
static enum tombola_status run_tokens(struct generation *g, const tombola_token *tokens, size_t count,
                                      bool last) {
  tombola_session *session = g->session;
  for (size_t i = 0; i < count; i++)
    session->items[i] = (struct tombola_batch_item){.token = tokens[i],
                                                    .position = (int32_t)(session->count + i),
                                                    .sequence = session->sequence,
                                                    .want_logits = last && i + 1 == count};
  enum tombola_status status = tombola_model_decode(session->model, session->items, count, g->error);
  if (status != TOMBOLA_OK) return status;
  memmove(session->tokens + session->count, tokens,
          count * sizeof *tokens); /* the prompt may be this very list */
  session->count += count;
  if (!last) return TOMBOLA_OK;
  /* Some backends compute only when the logits are fetched, so that belongs to the forward pass and its time.
   */
  status = tombola_model_logits(session->model, count - 1, &g->row);
  if (status == TOMBOLA_OK) return TOMBOLA_OK;
  return tombola__fail(g->error, status, "model", "the model has no logits for the token that it ran");
}

/* Cuts the cache down to what it shares with the prompt; at least one token is left to run, for its logits.
 */
static enum tombola_status reuse_prefix(struct generation *g, const tombola_token *prompt, size_t count) {
  tombola_session *session = g->session;
  size_t shared = 0, most = count - 1 < session->count ? count - 1 : session->count;
  while (shared < most && session->tokens[shared] == prompt[shared])
    shared++;
  if (shared < session->count) {
    enum tombola_status status = tombola_model_remove(session->model, session->sequence, (int32_t)shared, -1);
    if (status != TOMBOLA_OK && shared > 0) {
      /* A model with a recurrent state can't forget a part of its sequence; it can start again. */
      shared = 0;
      status = tombola_model_remove(session->model, session->sequence, 0, -1);
    }
    if (status != TOMBOLA_OK)
      return tombola__fail(g->error, status, "model", "the model could not empty its cache: %s",
                           tombola_status_text(status));
    session->count = shared;
  }
  g->stats.prompt_reused = shared;
  return tombola_model_begin(session->model, session->sequence, count);
}

static enum tombola_status run_prompt(struct generation *g, const tombola_token *prompt, size_t count) {
  tombola_session *session = g->session;
  size_t total = count - session->count;
  while (session->count < count) {
    size_t rest = count - session->count;
    size_t chunk = rest < session->batch ? rest : session->batch;
    if (g->params.on_prefill && !g->params.on_prefill(g->params.context, total - rest, total))
      return tombola__fail(g->error, TOMBOLA_CANCELLED, NULL, "cancelled after %zu of %zu prompt tokens",
                           total - rest, total);
    double start = now();
    enum tombola_status status = run_tokens(g, prompt + session->count, chunk, chunk == rest);
    g->stats.prefill_seconds += now() - start;
    if (status != TOMBOLA_OK) return status;
    g->stats.prompt_run += chunk;
  }
  return TOMBOLA_OK;
}

/* ---- the answer ---- */

static bool ends_answer(const struct generation *g, tombola_token token) {
  if (!g->params.ignore_end && (tombola_vocabulary_flags(g->session->vocabulary, token) & TOMBOLA_TOKEN_END))
    return true;
  for (size_t i = 0; i < g->params.n_stop_ids; i++) {
    if (g->params.stop_ids[i] == token) return true;
  }
  return false;
}

static int report(const struct generation *g, tombola_token token) {
  if (!g->params.on_token) return 1;
  struct tombola_token_event event = {.token = token, .index = g->stats.generated - 1};
  event.bytes = tombola_vocabulary_bytes(g->session->vocabulary, token, &event.length);
  return g->params.on_token(g->params.context, &event);
}

static enum tombola_status sample(struct generation *g, tombola_token *token) {
  double start = now();
  enum tombola_status status =
      tombola_sampler_sample(g->sampler, &g->row, g->params.ignore_end ? &g->mask : NULL, token);
  g->stats.sample_seconds += now() - start;
  return status == TOMBOLA_OK ? TOMBOLA_OK : sampler_failed(g, status);
}

static enum tombola_status run_answer(struct generation *g) {
  tombola_session *session = g->session;
  for (;;) {
    tombola_token token;
    enum tombola_status status = sample(g, &token);
    if (status != TOMBOLA_OK) return status;
    g->stats.stop = TOMBOLA_STOP_END_TOKEN;
    if (ends_answer(g, token)) return TOMBOLA_OK;
    status = tombola_sampler_accept(g->sampler, token);
    if (status != TOMBOLA_OK) return sampler_failed(g, status);
    g->stats.generated++;

    g->stats.stop = TOMBOLA_STOP_CALLER;
    if (!report(g, token)) return TOMBOLA_OK;
    g->stats.stop = TOMBOLA_STOP_MAX_TOKENS;
    if (g->stats.generated >= (uint64_t)g->params.max_tokens) return TOMBOLA_OK;
    g->stats.stop = TOMBOLA_STOP_CONTEXT_FULL;
    if (session->count == session->context) return TOMBOLA_OK;

    double start = now();
    status = run_tokens(g, &token, 1, true);
    g->stats.decode_seconds += now() - start;
    if (status != TOMBOLA_OK) return status;
  }
}

static enum tombola_status generate(struct generation *g, const tombola_token *prompt, size_t count,
                                    const struct tombola_generate_params *params) {
  if (!g->session || !g->sampler)
    return tombola__fail(g->error, TOMBOLA_INVALID_ARGUMENT, g->session ? "sampler" : "session", "%s is NULL",
                         g->session ? "sampler" : "session");
  enum tombola_status status = complete_params(params, &g->params, g->error);
  if (status == TOMBOLA_OK) status = check_prompt(g->session, prompt, count, g->error);
  if (status == TOMBOLA_OK)
    status = check_tokens(g->session, "stop_ids", g->params.stop_ids, g->params.n_stop_ids, g->error);
  if (status != TOMBOLA_OK) return status;

  g->mask = (struct tombola_mask){g->session->without_ends, g->session->vocab_size};
  status = tombola_sampler_begin(g->sampler, prompt, count);
  if (status != TOMBOLA_OK) return sampler_failed(g, status);
  status = reuse_prefix(g, prompt, count);
  if (status == TOMBOLA_OK) status = run_prompt(g, prompt, count);
  return status == TOMBOLA_OK ? run_answer(g) : status;
}

enum tombola_status tombola_session_generate(tombola_session *session, tombola_sampler *sampler,
                                             const tombola_token *prompt, size_t count,
                                             const struct tombola_generate_params *params,
                                             struct tombola_generation_stats *stats,
                                             struct tombola_error *error) {
  struct generation g = {.session = session, .sampler = sampler, .error = error};
  enum tombola_status status = generate(&g, prompt, count, params);
  if (stats) *stats = g.stats;
  return status;
}
