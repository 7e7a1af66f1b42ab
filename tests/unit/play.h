/* SPDX-License-Identifier: Apache-2.0 */
/* A generation over a script, written down: what the tests of text, guards and bans have in common. A script
 * is made of pieces, one token each: token 0 ends the answer, tokens 1, 2, … are the pieces, and the model
 * says them in this order; the token behind the last piece is the prompt. */
#ifndef TESTS_PLAY_H
#define TESTS_PLAY_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <tombola/session.h>

#include "scripts.h"
#include "support.h"

#define PLAY_TEXT   4096
#define PLAY_TOKENS 512

struct play {
  struct tombola_generate_params params;     /* the callbacks are filled in */
  const char *sampler_param, *sampler_value; /* one more parameter of the greedy sampler, or NULL */
  size_t refuse_piece, refuse_token;         /* say stop at the n-th; 0: never */
  int token_ms;                              /* each token's callback takes so long */
  const struct tombola_allocator *allocator; /* of the session, or NULL */
  size_t context, batch, sequences;          /* of the model */
  tombola_sampler *sampler;                  /* the caller's own, or NULL */

  enum tombola_status status;
  struct tombola_error error;
  struct tombola_generation_stats stats;
  char text[2][PLAY_TEXT];
  size_t length[2], pieces;
  tombola_token tokens[PLAY_TOKENS];
  unsigned char forced[PLAY_TOKENS], channel[PLAY_TOKENS], with_logprobs[PLAY_TOKENS];
  float logprob[PLAY_TOKENS];
  size_t count, shifts, cached;
  tombola_token cache[PLAY_TOKENS];
};

static inline int play_piece(void *context, enum tombola_channel channel, const char *text, size_t length) {
  struct play *p = context;
  assert_true(length > 0);
  assert_true(p->length[channel] + length < PLAY_TEXT);
  memcpy(p->text[channel] + p->length[channel], text, length);
  p->length[channel] += length;
  assert_true(!p->refuse_piece || p->pieces < p->refuse_piece); /* it had said stop */
  return ++p->pieces != p->refuse_piece;
}

static inline int play_token(void *context, const struct tombola_token_event *event) {
  struct play *p = context;
  assert_int_equal(event->index, p->count);
  assert_true(p->count < PLAY_TOKENS);
  assert_true(!p->refuse_token || p->count < p->refuse_token);
  p->forced[p->count] = (unsigned char)event->forced;
  p->channel[p->count] = (unsigned char)event->channel;
  p->with_logprobs[p->count] = event->logprobs != NULL;
  if (event->logprobs) {
    assert_int_equal(event->logprobs->token, event->token);
    p->logprob[p->count] = event->logprobs->logprob;
  }
  p->tokens[p->count++] = event->token;
  if (p->token_ms) nanosleep(&(struct timespec){0, p->token_ms * 1000000L}, NULL);
  return p->count != p->refuse_token;
}

static inline void play_shift(void *context, size_t kept, size_t discarded) {
  struct play *p = context;
  assert_int_equal(kept, p->params.keep_tokens);
  assert_true(discarded > 0);
  p->shifts++;
}

static inline tombola_sampler *play_sampler(size_t vocab_size, const char *name, const char *value) {
  struct tombola_sampler_params params = {.struct_size = sizeof params};
  tombola_sampler *sampler;
  assert_int_equal(tombola_sampler_params_default(&params, "llama.cpp", NULL), TOMBOLA_OK);
  assert_int_equal(tombola_sampler_params_set(&params, "temperature", "0", NULL), TOMBOLA_OK);
  if (name) assert_int_equal(tombola_sampler_params_set(&params, name, value, NULL), TOMBOLA_OK);
  assert_int_equal(tombola_sampler_new(&params, NULL, vocab_size, NULL, &sampler, NULL), TOMBOLA_OK);
  return sampler;
}

/* One generation by a session that is there. */
static inline void play_on(struct play *p, tombola_session *session, tombola_sampler *sampler,
                           const tombola_token *prompt, size_t n_prompt) {
  p->params.struct_size = sizeof p->params;
  if (!p->params.max_tokens) p->params.max_tokens = 100;
  p->params.on_token = play_token;
  p->params.on_piece = play_piece;
  p->params.on_shift = play_shift;
  if (!p->params.context) p->params.context = p;
  p->count = p->pieces = p->shifts = p->length[0] = p->length[1] = 0;
  memset(p->text, 0, sizeof p->text);
  p->status = tombola_session_generate(session, sampler, prompt, n_prompt, &p->params, &p->stats, &p->error);
  assert_int_equal(p->stats.generated, p->count);
  const tombola_token *cache = tombola_session_tokens(session, &p->cached);
  assert_true(p->cached <= PLAY_TOKENS);
  memcpy(p->cache, cache, p->cached * sizeof *cache);
  if (p->stats.shifts > 0 || p->status != TOMBOLA_OK) return;
  /* What is in the cache is the prompt and what was reported, the last token (and forced and jumped ones) perhaps not.
   */
  assert_true(p->cached <= n_prompt + p->count);
  if (p->cached < n_prompt && p->count == 0) return; /* the time was up before */
  assert_true(p->cached + 1 + p->stats.forced + p->stats.jumped >= n_prompt + p->count);
  assert_memory_equal(cache, prompt, n_prompt * sizeof *prompt);
  assert_memory_equal(cache + n_prompt, p->tokens, (p->cached - n_prompt) * sizeof *prompt);
}

/* One generation from scratch over a script. */
static inline void play(struct play *p, const char *json, const tombola_token *prompt, size_t n_prompt) {
  struct tombola_model_params params = {
      .struct_size = sizeof params, .context = p->context, .batch = p->batch, .sequences = p->sequences};
  tombola_model *model = script_load(json, &params);
  size_t vocab_size = tombola_vocabulary_count(tombola_model_vocabulary(model));
  tombola_sampler *sampler =
      p->sampler ? p->sampler : play_sampler(vocab_size, p->sampler_param, p->sampler_value);
  tombola_session *session;
  assert_int_equal(tombola_session_new(model, 0, p->allocator, &session, NULL), TOMBOLA_OK);
  play_on(p, session, sampler, prompt, n_prompt);
  tombola_session_free(session);
  if (!p->sampler) tombola_sampler_free(sampler);
  tombola_model_free(model);
}

/* The script of a list of pieces that NULL ends; `more` are further members. Returns the prompt's token. */
static inline tombola_token play_script(char *json, size_t size, const char *const *pieces,
                                        const char *more) {
  int at = snprintf(json, size, "{\"vocab\": [\"<eos>\"");
  size_t n = 0;
  for (; pieces[n]; n++) {
    at += snprintf(json + at, size - (size_t)at, ", {\"hex\": \"");
    for (const char *byte = pieces[n]; *byte; byte++)
      at += snprintf(json + at, size - (size_t)at, "%02x", (unsigned)(unsigned char)*byte);
    at += snprintf(json + at, size - (size_t)at, "\"}");
  }
  at += snprintf(json + at, size - (size_t)at, ", \"PROMPT\"], \"end\": [0], \"steps\": [");
  for (size_t i = 0; i < n; i++)
    at += snprintf(json + at, size - (size_t)at, "%s%zu", i ? ", " : "", i + 1);
  at += snprintf(json + at, size - (size_t)at, "]%s}", more ? more : "");
  assert_true((size_t)at < size);
  return (tombola_token)n + 1;
}

/* Pieces, said one after the other. */
static inline void play_pieces(struct play *p, const char *const *pieces) {
  char json[8192];
  tombola_token prompt = play_script(json, sizeof json, pieces, NULL);
  play(p, json, &prompt, 1);
}

static inline void play_ok(const struct play *p, enum tombola_stop stop) {
  if (p->status != TOMBOLA_OK) fail_msg("%s", p->error.message);
  if (p->stats.stop != stop)
    fail_msg("it ended by %s, not %s", tombola_stop_name(p->stats.stop), tombola_stop_name(stop));
}

static inline void play_text(const struct play *p, const char *content, const char *reasoning) {
  if (strcmp(p->text[TOMBOLA_CONTENT], content) != 0)
    fail_msg("content '%s', not '%s'", p->text[TOMBOLA_CONTENT], content);
  if (strcmp(p->text[TOMBOLA_REASONING], reasoning) != 0)
    fail_msg("reasoning '%s', not '%s'", p->text[TOMBOLA_REASONING], reasoning);
}

static inline void play_tokens(const struct play *p, const tombola_token *tokens, size_t count) {
  assert_int_equal(p->count, count);
  for (size_t i = 0; i < count; i++)
    assert_int_equal(p->tokens[i], tokens[i]);
}

#endif
