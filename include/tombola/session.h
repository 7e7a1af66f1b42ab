/* SPDX-License-Identifier: Apache-2.0 */
/* A session: one conversation's place in a model's cache, and the loop that turns a prompt into tokens.
 * Semantics after rml's Session (its generation.h): the whole context is passed each time, the part that the
 * cache already holds is reused (at most prompt - 1 tokens), the rest runs in chunks, then tokens are
 * sampled, reported and fed back one at a time. A session belongs to one thread, as its model does. */
#ifndef TOMBOLA_SESSION_H
#define TOMBOLA_SESSION_H

#include <tombola/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Why a generation ended, in the order in which the loop looks. */
#define TOMBOLA_STOP_MAP(X)             \
  X(END_TOKEN, "end_token", "stop")     \
  X(CALLER, "caller", "stop")           \
  X(MAX_TOKENS, "max_tokens", "length") \
  X(CONTEXT_FULL, "context_full", "length")

enum tombola_stop {
#define TOMBOLA_STOP_ENUM(suffix, name, finish) TOMBOLA_STOP_##suffix,
  TOMBOLA_STOP_MAP(TOMBOLA_STOP_ENUM)
#undef TOMBOLA_STOP_ENUM
};

/* The precise cause ("context_full"), and what OpenAI's finish_reason would say ("stop", "length"). */
TOMBOLA_API const char *tombola_stop_name(enum tombola_stop stop);
TOMBOLA_API const char *tombola_stop_finish(enum tombola_stop stop);

/* A token that was generated. Its bytes are the vocabulary's, not NUL-terminated. */
struct tombola_token_event {
  tombola_token token;
  const char *bytes;
  size_t length;
  size_t index; /* 0 for the first token of the answer */
};

/* Called for each generated token (not for the end token); returns 0 to end the generation
 * (TOMBOLA_STOP_CALLER). */
typedef int (*tombola_token_fn)(void *context, const struct tombola_token_event *event);

/* Called before each chunk of the prompt; `done` of `total` tokens have run. Returns 0 to give up (CANCELLED;
 * the session keeps what has run). */
typedef int (*tombola_prefill_fn)(void *context, size_t done, size_t total);

struct tombola_generate_params {
  size_t struct_size;
  int64_t max_tokens; /* > 0 */
  int ignore_end; /* 1: the vocabulary's end tokens are banned from the draw instead of ending the answer */
  const tombola_token *stop_ids; /* further end tokens, or NULL; they end the answer under ignore_end too */
  size_t n_stop_ids;
  tombola_token_fn on_token;     /* or NULL */
  tombola_prefill_fn on_prefill; /* or NULL */
  void *context;                 /* of both callbacks */
};

struct tombola_generation_stats {
  size_t prompt_run;    /* prompt tokens that were computed */
  size_t prompt_reused; /* prompt tokens that the cache held */
  size_t generated;     /* tokens reported */
  double prefill_seconds;
  double decode_seconds; /* forward passes of generated tokens */
  double sample_seconds;
  enum tombola_stop stop; /* why it ended; means nothing after an error */
};

typedef struct tombola_session tombola_session;

/* A session on sequence `sequence` of the model, which is borrowed and must outlive it. INVALID_ARGUMENT (no
 * such sequence), NO_MEMORY. */
TOMBOLA_API enum tombola_status tombola_session_new(tombola_model *model, int32_t sequence,
                                                    const struct tombola_allocator *allocator,
                                                    tombola_session **out, struct tombola_error *error);
TOMBOLA_API void tombola_session_free(tombola_session *session);

/* Generates after `prompt`, the whole context so far. The sampler is reset to see exactly this prompt as its
 * history and goes on with its generator. `stats` may be NULL; it is filled on errors too, with what was
 * done. INVALID_ARGUMENT: an empty prompt, a token outside the vocabulary, max_tokens < 1. OUT_OF_RANGE: the
 * prompt is longer than the context. Otherwise what the sampler or the forward pass returned; the session
 * stays usable, and its cache is what session_tokens() says. */
TOMBOLA_API enum tombola_status tombola_session_generate(tombola_session *session, tombola_sampler *sampler,
                                                         const tombola_token *prompt, size_t count,
                                                         const struct tombola_generate_params *params,
                                                         struct tombola_generation_stats *stats,
                                                         struct tombola_error *error);

/* The tokens that the cache holds; owned by the session, valid until its next call. */
TOMBOLA_API const tombola_token *tombola_session_tokens(const tombola_session *session, size_t *count);

/* Empties the cache of this sequence. */
TOMBOLA_API void tombola_session_clear(tombola_session *session);

#ifdef __cplusplus
}
#endif
#endif
