/* SPDX-License-Identifier: Apache-2.0 */
/* The loop that turns a prompt into tokens, in the order of rml's Session: reuse, prefill, then token by
 * token (or round by round) through finish.c, and what is left to do at the end. */
#include <math.h>
#include <string.h>

#include "session/internal.h"

#define MOST_PERIOD     4096
#define MOST_ROLLBACKS  256
#define MOST_TAKEN_BACK 4096

/* ---- checks ---- */

#define REFUSE(error, name, ...) return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, name, name __VA_ARGS__)

static enum tombola_status complete_params(const struct tombola_generate_params *given,
                                           struct tombola_generate_params *full,
                                           struct tombola_error *error) {
  memset(full, 0, sizeof *full);
  if (!given) REFUSE(error, "params", " is NULL");
  if (given->struct_size < sizeof given->struct_size)
    REFUSE(error, "struct_size", " of the parameters is not set");
  memcpy(full, given, given->struct_size < sizeof *full ? given->struct_size : sizeof *full);
  if (full->max_tokens < 1)
    REFUSE(error, "max_tokens", " is %lld; it must be at least 1", (long long)full->max_tokens);
  if (!full->stop_ids && full->n_stop_ids > 0) REFUSE(error, "stop_ids", " is NULL");
  return TOMBOLA_OK;
}

static enum tombola_status check_guards(const struct tombola__generation *g) {
  const struct tombola_generate_params *p = &g->params;
  if (p->min_tokens < 0)
    REFUSE(g->error, "min_tokens", " is %lld; it can't be negative", (long long)p->min_tokens);
  if (!(p->time_limit >= 0) || isinf(p->time_limit))
    REFUSE(g->error, "time_limit", " is %g; it must be 0 or more seconds", p->time_limit);
  if (p->loop_period > MOST_PERIOD)
    REFUSE(g->error, "loop_period", " is %zu; it must be at most %d", p->loop_period, MOST_PERIOD);
  if (p->loop_period > 0 && (p->loop_repeats < 2 || p->loop_repeats > INT32_MAX))
    REFUSE(g->error, "loop_repeats", " is %zu; it must be at least 2", p->loop_repeats);
  if (p->answer_sampler == g->first) REFUSE(g->error, "answer_sampler", " is the sampler itself");
  if (!p->context_shift) return TOMBOLA_OK;
  if (p->on_mask) REFUSE(g->error, "context_shift", " doesn't go together with a mask");
  if (p->keep_tokens >= g->session->context - 1)
    REFUSE(g->error, "keep_tokens", " is %zu; a context of %zu tokens can keep less than %zu", p->keep_tokens,
           g->session->context, g->session->context - 1);
  if (tombola_model_shift(g->session->model, g->session->sequence, 0, 0, 0) != TOMBOLA_OK)
    return tombola__fail(g->error, TOMBOLA_UNSUPPORTED, "context_shift", "the model can't shift its context");
  return TOMBOLA_OK;
}

static enum tombola_status check_budget(struct tombola__generation *g) {
  const struct tombola_think_budget *given = g->params.think_budget;
  struct tombola_think_budget *full = &g->budget;
  if (!given) return TOMBOLA_OK;
  if (given->struct_size < sizeof given->struct_size) REFUSE(g->error, "think_budget", " has no struct_size");
  memcpy(full, given, given->struct_size < sizeof *full ? given->struct_size : sizeof *full);
  if (full->tokens < 0)
    REFUSE(g->error, "think_budget", " is %lld; it must be 0 or more", (long long)full->tokens);
  if (!g->params.text || !g->params.text->think_open || !g->params.text->think_close)
    REFUSE(g->error, "think_budget", " needs the markers of the text");
  return TOMBOLA_OK;
}

static enum tombola_status check_tokens(const struct tombola__generation *g, const char *name,
                                        const tombola_token *tokens, size_t count) {
  size_t vocab_size = g->session->vocab_size;
  for (size_t i = 0; i < count; i++) {
    if (tokens[i] < 0 || (size_t)tokens[i] >= vocab_size)
      return tombola__fail(g->error, TOMBOLA_INVALID_ARGUMENT, name,
                           "%s[%zu] is %d; the vocabulary has 0 to %zu", name, i, (int)tokens[i],
                           vocab_size - 1);
  }
  return TOMBOLA_OK;
}

static enum tombola_status check_prompt(const struct tombola__generation *g, const tombola_token *prompt,
                                        size_t count) {
  size_t context = g->session->context;
  if (!prompt || count == 0)
    return tombola__fail(g->error, TOMBOLA_INVALID_ARGUMENT, "prompt",
                         "the prompt is empty; it must have at least one token");
  if (count > context)
    return tombola__fail(g->error, TOMBOLA_OUT_OF_RANGE, "prompt",
                         "the prompt has %zu tokens, the context has room for %zu", count, context);
  return check_tokens(g, "prompt", prompt, count);
}

/* ---- beginning ---- */

/* The text pipe has room of its own in the caller's structure only as far as the caller knows it. */
static enum tombola_status make_text(struct tombola__generation *g) {
  const struct tombola_text_params *given = g->params.text;
  if (!given) return TOMBOLA_OK;
  if (given->struct_size < sizeof given->struct_size) REFUSE(g->error, "text", " has no struct_size");
  memcpy(&g->text_params, given,
         given->struct_size < sizeof g->text_params ? given->struct_size : sizeof g->text_params);
  g->text_params.struct_size = sizeof g->text_params;
  g->params.text = &g->text_params;
  return tombola_text_new(&g->text_params, &g->session->allocator, &g->text, g->error);
}

static enum tombola_status make_loop_guard(struct tombola__generation *g) {
  size_t period = g->params.loop_period;
  if (period == 0) return TOMBOLA_OK;
  g->loop_ring = tombola__new(&g->session->allocator, period, sizeof *g->loop_ring);
  g->loop_runs = tombola__new(&g->session->allocator, period + 1, sizeof *g->loop_runs);
  return g->loop_ring && g->loop_runs ? TOMBOLA_OK : tombola__no_memory(g->error);
}

static enum tombola_status begin_sampler(const struct tombola__generation *g, tombola_sampler *sampler,
                                         const tombola_token *prompt, size_t count) {
  if (!sampler) return TOMBOLA_OK;
  enum tombola_status status = tombola_sampler_begin(sampler, prompt, count);
  return status == TOMBOLA_OK ? TOMBOLA_OK : tombola__sampler_failed(g, sampler, status);
}

static enum tombola_status prepare(struct tombola__generation *g, const tombola_token *prompt, size_t count,
                                   const struct tombola_generate_params *params) {
  if (!g->session || !g->first)
    return tombola__fail(g->error, TOMBOLA_INVALID_ARGUMENT, g->session ? "sampler" : "session", "%s is NULL",
                         g->session ? "sampler" : "session");
  g->held = &g->one;
  g->held_room = 1;
  g->back.max_rollbacks = MOST_ROLLBACKS;
  g->back.max_tokens = MOST_TAKEN_BACK;
  enum tombola_status status = complete_params(params, &g->params, g->error);
  if (status == TOMBOLA_OK) status = check_prompt(g, prompt, count);
  if (status == TOMBOLA_OK) status = check_tokens(g, "stop_ids", g->params.stop_ids, g->params.n_stop_ids);
  if (status == TOMBOLA_OK) status = check_guards(g);
  if (status == TOMBOLA_OK) status = make_text(g);
  if (status == TOMBOLA_OK) status = check_budget(g);
  if (status == TOMBOLA_OK) status = tombola__think_init(g);
  if (status == TOMBOLA_OK) status = tombola__bans_init(g);
  if (status == TOMBOLA_OK) status = tombola__constraint_init(g);
  if (status == TOMBOLA_OK) status = make_loop_guard(g);
  if (status == TOMBOLA_OK) status = tombola__speculation_begin(g);
  if (status != TOMBOLA_OK) return status;
  g->second = g->params.answer_sampler;
  tombola__set_sampler(g);
  status = begin_sampler(g, g->first, prompt, count);
  return status == TOMBOLA_OK ? begin_sampler(g, g->second, prompt, count) : status;
}

static void clean_up(struct tombola__generation *g) {
  if (!g->session || !g->held) return;
  const struct tombola_allocator *own = &g->session->allocator;
  for (size_t i = 0; i < g->held_room; i++) {
    tombola_snapshot_free(g->held[i].sampler);
    tombola_snapshot_free(g->held[i].answer);
    tombola__free(own, g->held[i].top);
  }
  if (g->held != &g->one) tombola__free(own, g->held);
  tombola__bans_free(g);
  tombola__free(own, g->back.list);
  tombola__free(own, g->enders);
  tombola__think_free(g);
  tombola_text_free(g->text);
  tombola__free(own, g->loop_ring);
  tombola__free(own, g->loop_runs);
}

/* ---- the prompt ---- */

/* Cuts the cache down to what it shares with the prompt; at least one token is left to run, for its logits.
 */
static enum tombola_status reuse_prefix(struct tombola__generation *g, const tombola_token *prompt,
                                        size_t count) {
  tombola_session *session = g->session;
  size_t shared = 0, most = count - 1 < session->count ? count - 1 : session->count;
  while (shared < most && session->tokens[shared] == prompt[shared])
    shared++;
  g->prompt = g->position = count;
  enum tombola_status status = tombola__cut(g, shared);
  if (status != TOMBOLA_OK) return status;
  g->stats.prompt_reused = session->count;
  memmove(session->tokens, prompt, count * sizeof *prompt); /* the prompt may be this very list */
  return tombola_model_begin(session->model, session->sequence, count);
}

static bool out_of_time(const struct tombola__generation *g) {
  return g->deadline > 0 && tombola__now() >= g->deadline;
}

static enum tombola_status run_prompt(struct tombola__generation *g) {
  tombola_session *session = g->session;
  size_t count = g->position, total = count - session->count;
  while (session->count < count) {
    size_t rest = count - session->count;
    size_t chunk = rest < session->batch ? rest : session->batch;
    if (g->params.on_prefill && !g->params.on_prefill(g->params.context, total - rest, total))
      return tombola__fail(g->error, TOMBOLA_CANCELLED, NULL, "cancelled after %zu of %zu prompt tokens",
                           total - rest, total);
    double start = tombola__now();
    enum tombola_status status =
        tombola__feed(g, session->tokens + session->count, chunk, chunk == rest ? 1 : 0);
    /* Some backends compute only when the logits are fetched: that is part of the pass and its time. */
    if (status == TOMBOLA_OK && chunk == rest) {
      status = tombola__row_of(g, chunk - 1, &g->row);
      g->row_valid = status == TOMBOLA_OK;
    }
    g->stats.prefill_seconds += tombola__now() - start;
    if (status != TOMBOLA_OK) return status;
    g->stats.prompt_run += chunk;
    if (out_of_time(g)) {
      tombola__end(g, TOMBOLA_STOP_TIME_LIMIT);
      return TOMBOLA_OK;
    }
  }
  return TOMBOLA_OK;
}

/* ---- the answer ---- */

/* Where only one token may come, it is taken as it is: nothing needs to be drawn, and so no row is needed: the model
 * runs it later, in one batch with those that follow. Its log-probabilities would need the row, and so would a sampler
 * that learns from its draws. */
static bool jumps(const struct tombola__generation *g, const struct tombola_mask *mask) {
  if (!mask || !mask->ids || g->params.no_jump_ahead) return false;
  if (g->only_ends) return true; /* which of them is all the same */
  return mask->n_ids == 1 && tombola_sampler_wants_logprobs(g->sampler) == 0 &&
         !tombola_sampler_learns(g->sampler) && !(g->second && tombola_sampler_learns(g->second));
}

enum tombola_status tombola__one_token(struct tombola__generation *g) {
  const struct tombola_mask *mask;
  enum tombola__verdict verdict;
  struct tombola__taken taken = {.token = TOMBOLA_NO_TOKEN};
  enum tombola_status status = tombola__prepare(g, &mask);
  if (status != TOMBOLA_OK || g->ended || g->went_back) return status;
  if (jumps(g, mask)) {
    taken.token = mask->ids[0];
    g->stats.jumped += !g->only_ends;
  } else {
    status = tombola__catch_up(g);
    if (status == TOMBOLA_OK) status = tombola__draw_token(g, &g->row, mask, &taken.token);
    if (status != TOMBOLA_OK || g->ended || g->went_back) return status;
    taken.logprobs = tombola_sampler_logprobs(g->sampler);
  }
  return tombola__take(g, &taken, &verdict);
}

static enum tombola_status say_forced(struct tombola__generation *g) {
  enum tombola__verdict verdict;
  struct tombola__taken taken = {.token = g->forced[g->n_forced - g->forced_left--], .forced = true};
  return tombola__take(g, &taken, &verdict);
}

static enum tombola_status run_answer(struct tombola__generation *g) {
  enum tombola_status status = TOMBOLA_OK;
  while (status == TOMBOLA_OK && !g->ended) {
    if (g->forced_left > 0)
      status = say_forced(g);
    else
      status = g->round ? g->round(g) : tombola__one_token(g);
  }
  return status;
}

/* What is held back comes out, whatever ended the answer, an error too: it was generated. Then the cache
 * keeps only what was taken. */
static enum tombola_status wind_up(struct tombola__generation *g, enum tombola_status status) {
  struct tombola_error *error = g->error;
  if (status != TOMBOLA_OK) g->error = NULL; /* the first one counts */
  enum tombola_status last = tombola__release_all(g);
  tombola__constraint_end(g);
  tombola__speculation_end(g);
  if (g->text && !g->refused && tombola_text_stopped(g->text) < 0) {
    enum tombola_status flushed = tombola_text_finish(g->text, g->params.on_piece, g->params.context);
    if (flushed == TOMBOLA_CANCELLED) flushed = TOMBOLA_OK; /* it has ended already */
    if (last == TOMBOLA_OK && flushed != TOMBOLA_OK) last = tombola__no_memory(g->error);
  }
  enum tombola_status cut = tombola__cut(g, g->position);
  if (last == TOMBOLA_OK) last = cut;
  g->error = error;
  return status == TOMBOLA_OK ? last : status;
}

static enum tombola_status generate(struct tombola__generation *g, const tombola_token *prompt, size_t count,
                                    const struct tombola_generate_params *params) {
  enum tombola_status status = prepare(g, prompt, count, params);
  if (status != TOMBOLA_OK) return status;
  if (g->params.time_limit > 0) g->deadline = tombola__now() + g->params.time_limit;
  status = reuse_prefix(g, prompt, count);
  if (status == TOMBOLA_OK) status = run_prompt(g);
  if (status == TOMBOLA_OK) status = run_answer(g);
  return wind_up(g, status);
}

enum tombola_status tombola_session_generate(tombola_session *session, tombola_sampler *sampler,
                                             const tombola_token *prompt, size_t count,
                                             const struct tombola_generate_params *params,
                                             struct tombola_generation_stats *stats,
                                             struct tombola_error *error) {
  struct tombola__generation g = {
      .session = session, .first = sampler, .error = error, .stats = {.stop_string = -1}};
  enum tombola_status status = generate(&g, prompt, count, params);
  clean_up(&g);
  if (stats) *stats = g.stats;
  return status;
}
