/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the session share: a greedy sampler, callbacks that write down what they hear, and the
 * toy's answer to compare with. */
#ifndef TESTS_SESSION_SUPPORT_H
#define TESTS_SESSION_SUPPORT_H

#include <string.h>
#include <tombola/session.h>

#include "support.h"
#include "toy.h"

static inline tombola_sampler *sampler_with(size_t vocab_size, const char *name, const char *value) {
  struct tombola_sampler_params params = {.struct_size = sizeof params};
  tombola_sampler *sampler;
  assert_int_equal(tombola_sampler_params_default(&params, "llama.cpp", NULL), TOMBOLA_OK);
  assert_int_equal(tombola_sampler_params_set(&params, "temperature", "0", NULL), TOMBOLA_OK);
  if (name) assert_int_equal(tombola_sampler_params_set(&params, name, value, NULL), TOMBOLA_OK);
  assert_int_equal(tombola_sampler_new(&params, NULL, vocab_size, NULL, &sampler, NULL), TOMBOLA_OK);
  return sampler;
}

static inline tombola_session *session_on(tombola_model *model, int32_t sequence) {
  tombola_session *session;
  assert_int_equal(tombola_session_new(model, sequence, NULL, &session, NULL), TOMBOLA_OK);
  return session;
}

/* What the callbacks saw, and when they are to say stop. */
struct heard {
  tombola_token tokens[128];
  size_t count;
  size_t stop_at; /* on_token says stop at this many tokens; 0: never */
  size_t done[128], total[128], prefills;
  size_t cancel_at; /* on_prefill gives up at its n-th call; 0: never */
};

static inline int on_token(void *context, const struct tombola_token_event *event) {
  struct heard *heard = context;
  assert_int_equal(event->index, heard->count);
  assert_non_null(event->bytes);
  heard->tokens[heard->count++] = event->token;
  return heard->count != heard->stop_at;
}

static inline int on_prefill(void *context, size_t done, size_t total) {
  struct heard *heard = context;
  heard->done[heard->prefills] = done;
  heard->total[heard->prefills++] = total;
  return heard->prefills != heard->cancel_at;
}

static inline struct tombola_generate_params with(struct heard *heard, int64_t max_tokens) {
  struct tombola_generate_params params = {.struct_size = sizeof params,
                                           .max_tokens = max_tokens,
                                           .on_token = on_token,
                                           .on_prefill = on_prefill,
                                           .context = heard};
  return params;
}

/* One generation from scratch: callbacks that only listen. */
static inline struct tombola_generation_stats answer(tombola_session *session, tombola_sampler *sampler,
                                                     const tombola_token *prompt, size_t count,
                                                     int64_t max_tokens, struct heard *heard) {
  memset(heard, 0, sizeof *heard);
  struct tombola_generate_params params = with(heard, max_tokens);
  struct tombola_generation_stats stats;
  struct tombola_error error = {.message = ""};
  if (tombola_session_generate(session, sampler, prompt, count, &params, &stats, &error) != TOMBOLA_OK)
    fail_msg("generate: %s", error.message);
  assert_int_equal(stats.generated, heard->count);
  assert_int_equal(stats.prompt_run + stats.prompt_reused, count);
  return stats;
}

/* The cache as the session tells it is what the toy has, and begins with the prompt. */
static inline void check_cache(const tombola_session *session, const struct toy *toy, size_t want) {
  size_t count;
  const tombola_token *tokens = tombola_session_tokens(session, &count);
  assert_int_equal(count, want);
  assert_int_equal(toy->length[0], want);
  assert_memory_equal(tokens, toy->cells[0], want * sizeof *tokens);
}

/* What the toy would say, by itself. */
static inline void expect_toy(const struct heard *heard, const tombola_token *prompt, size_t count) {
  tombola_token all[256];
  memcpy(all, prompt, count * sizeof *prompt);
  for (size_t i = 0; i < heard->count; i++) {
    all[count] = toy_sum(all, count);
    assert_int_equal(heard->tokens[i], all[count]);
    count++;
  }
}

#endif
