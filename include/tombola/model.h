/* SPDX-License-Identifier: Apache-2.0 */
/* What a session needs of a model: an interface, not an engine. A backend fills a vtable; `tombola::llama`
 * has the one for GGUF files, and `script:FILE` plays rows back (for tests, replay and examples).
 *
 * A model holds one context: a cache of positions for each of its sequences. One thread at a time uses a
 * model. */
#ifndef TOMBOLA_MODEL_H
#define TOMBOLA_MODEL_H

#include <tombola/sampler.h>

#ifdef __cplusplus
extern "C" {
#endif

enum tombola_kv_type { TOMBOLA_KV_F16 = 0, TOMBOLA_KV_F32 = 1, TOMBOLA_KV_I8 = 2 };

/* Told the part of the loading that is done, 0 to 1; returns 0 to give up (the load then is CANCELLED). */
typedef int (*tombola_progress_fn)(void *context, float done);

/* How to load. All zero but struct_size means the defaults. */
struct tombola_model_params {
  size_t struct_size;
  size_t
      context; /* positions for each sequence; 0: 4096, or what the model was trained for when that is less */
  size_t sequences; /* number of sequences; 0: 1 */
  size_t batch;     /* most tokens in one decode; 0: 512 */
  unsigned threads; /* 0: the machine's physical share, at least 1 */
  enum tombola_kv_type kv_type;
  tombola_progress_fn progress; /* or NULL */
  void *progress_context;
  const struct tombola_allocator *allocator; /* for the memory that tombola takes itself, or NULL; copied */
};

/* Facts for people and for the session; strings are the model's own. */
struct tombola_model_info {
  size_t struct_size;
  const char *name;          /* as the file says, or the file's name */
  const char *device;        /* what computes: "CPU (AVX2, 2 threads)" */
  const char *chat_template; /* the template's name or source, NULL when the model has none */
  size_t context;            /* positions of a sequence */
  size_t trained_context;    /* what the model was trained for; 0 unknown */
  size_t sequences;
  size_t batch; /* most tokens in one decode */
};

struct tombola_chat_message {
  const char *role; /* "system", "user", "assistant" */
  const char *content;
};

/* One token of a batch. Positions of a sequence are consecutive. */
struct tombola_batch_item {
  tombola_token token;
  int32_t position;
  int32_t sequence;
  int want_logits; /* 1: tombola_model_logits() can be asked for this item */
};

enum tombola_tokenize_flags {
  TOMBOLA_TOKENIZE_ADD_SPECIAL = 1,  /* put the model's own start (and end) tokens around the text */
  TOMBOLA_TOKENIZE_PARSE_SPECIAL = 2 /* the spelling of a special token stands for the token */
};

/* What a backend implements. Every slot but copy, shift, begin and the two of the state is required; NULL in
 * copy or shift means UNSUPPORTED, in begin that the backend doesn't care. The calls come checked: pointers
 * that must be there are, a batch has 1 to info.batch items, and tokens, positions and sequences are within
 * the model's ranges.
 */
struct tombola_model_ops {
  size_t struct_size;
  void (*free)(void *self);
  void (*info)(void *self, struct tombola_model_info *info);
  const tombola_vocabulary *(*vocabulary)(void *self);
  enum tombola_status (*tokenize)(void *self, const char *text, size_t length, unsigned flags,
                                  tombola_token *tokens, size_t capacity, size_t *count,
                                  struct tombola_error *error);
  enum tombola_status (*apply_template)(void *self, const char *chat_template,
                                        const struct tombola_chat_message *messages, size_t n_messages,
                                        int add_assistant, char *text, size_t capacity, size_t *length,
                                        struct tombola_error *error);
  enum tombola_status (*decode)(void *self, const struct tombola_batch_item *items, size_t count,
                                struct tombola_error *error);
  enum tombola_status (*logits)(void *self, size_t item, struct tombola_row *row);
  enum tombola_status (*remove)(void *self, int32_t sequence, int32_t from, int32_t to);
  enum tombola_status (*copy)(void *self, int32_t source, int32_t target, int32_t from, int32_t to);
  enum tombola_status (*shift)(void *self, int32_t sequence, int32_t from, int32_t to, int32_t delta);
  void (*begin)(void *self, int32_t sequence, size_t prompt);

  /* What the cache holds of a sequence, as bytes that only this backend reads. NULL in either of them means
   * UNSUPPORTED. state_get always stores the length; OUT_OF_RANGE when that is more than `capacity`.
   * state_set replaces what the sequence holds; FORMAT when it refuses the bytes before it has touched the
   * sequence, and MODEL when it fails later, with the sequence empty. */
  enum tombola_status (*state_get)(void *self, int32_t sequence, void *data, size_t capacity, size_t *length,
                                   struct tombola_error *error);
  enum tombola_status (*state_set)(void *self, int32_t sequence, const void *data, size_t length,
                                   struct tombola_error *error);
};

/* A model: a backend's operations on a backend's object. Free it with tombola_model_free. */
typedef struct tombola_model tombola_model;

/* A way to load models. `prefix` ("script:") marks the names that only this backend takes; a backend without
 * one takes file paths. `load` gets the path without the prefix, of something that is there, is no folder and
 * may be read; `params` is whole and never NULL. */
struct tombola_backend {
  const char *name;
  const char *prefix; /* or NULL */
  enum tombola_status (*load)(const char *path, const struct tombola_model_params *params,
                              const struct tombola_model_ops **ops, void **self, struct tombola_error *error);
};

/* The backend that plays back a script (JSON; docs/script.md). Loads "script:FILE". */
TOMBOLA_API const struct tombola_backend *tombola_backend_scripted(void);

/* Loads `name` with the first of the backends that takes it: the first whose prefix it has, else the first
 * without a prefix. NOT_FOUND (no such file), IO, FORMAT (not a model, or a damaged one), INVALID_ARGUMENT (a
 * folder, an empty name, a parameter), UNSUPPORTED (no backend takes it), NO_MEMORY, CANCELLED. `params` may
 * be NULL. */
TOMBOLA_API enum tombola_status tombola_model_load(const struct tombola_backend *const *backends,
                                                   size_t n_backends, const char *name,
                                                   const struct tombola_model_params *params,
                                                   tombola_model **out, struct tombola_error *error);
TOMBOLA_API void tombola_model_free(tombola_model *model);

/* Fills in what fits into info->struct_size bytes, which the caller sets. The strings live as long as the
 * model. */
TOMBOLA_API void tombola_model_info(tombola_model *model, struct tombola_model_info *info);

/* Owned by the model. */
TOMBOLA_API const tombola_vocabulary *tombola_model_vocabulary(tombola_model *model);

/* Text to tokens; `flags` of tombola_tokenize_flags. Always stores the number of tokens in *count (0 when
 * it fails otherwise); OUT_OF_RANGE when that is more than `capacity`. INVALID_ARGUMENT when a byte has no
 * token. */
TOMBOLA_API enum tombola_status tombola_model_tokenize(tombola_model *model, const char *text, size_t length,
                                                       unsigned flags, tombola_token *tokens, size_t capacity,
                                                       size_t *count, struct tombola_error *error);

/* Messages to a prompt, by `chat_template` (a name or a template's source) or, when that is NULL, by the
 * model's own. Always stores the length (without a NUL, which isn't written) in *length; OUT_OF_RANGE when
 * that is more than `capacity`. NOT_FOUND: the model has none, or no template of that name is known (the
 * message lists them). */
TOMBOLA_API enum tombola_status tombola_model_apply_template(tombola_model *model, const char *chat_template,
                                                             const struct tombola_chat_message *messages,
                                                             size_t n_messages, int add_assistant, char *text,
                                                             size_t capacity, size_t *length,
                                                             struct tombola_error *error);

/* Runs a batch: at most info.batch items, of any sequences. On an error nothing of the batch is in the cache.
 * OUT_OF_RANGE: a position outside the context; INVALID_ARGUMENT; MODEL: the forward pass failed. */
TOMBOLA_API enum tombola_status tombola_model_decode(tombola_model *model,
                                                     const struct tombola_batch_item *items, size_t count,
                                                     struct tombola_error *error);

/* The logits of item `item` of the last batch, valid until the next decode. INVALID_ARGUMENT when it wasn't
 * asked. */
TOMBOLA_API enum tombola_status tombola_model_logits(tombola_model *model, size_t item,
                                                     struct tombola_row *row);

/* Says that the sequence's tokens up to position `prompt` are a prompt and what comes after them is an
 * answer. Whoever runs a prompt calls it after reusing what the cache holds and before running the rest. Only
 * a model that counts the tokens of its answer (a script) needs to be told; the others take no notice.
 * INVALID_ARGUMENT: no such sequence. */
TOMBOLA_API enum tombola_status tombola_model_begin(tombola_model *model, int32_t sequence, size_t prompt);

/* The cache, positions [from, to) of a sequence; to < 0 means to the end. `remove` forgets them; `copy`
 * shares them with another sequence; `shift` adds `delta` to their positions. UNSUPPORTED where the model
 * can't; INVALID_ARGUMENT: no such sequence, from < 0, or a place that is outside the context or taken. */
TOMBOLA_API enum tombola_status tombola_model_remove(tombola_model *model, int32_t sequence, int32_t from,
                                                     int32_t to);
TOMBOLA_API enum tombola_status tombola_model_copy(tombola_model *model, int32_t source, int32_t target,
                                                   int32_t from, int32_t to);
TOMBOLA_API enum tombola_status tombola_model_shift(tombola_model *model, int32_t sequence, int32_t from,
                                                    int32_t to, int32_t delta);

/* The state of a sequence, to be kept and put back (into any sequence of the same model, loaded with the same
 * parameters). Statuses and lengths as the slots of tombola_model_ops say; INVALID_ARGUMENT: no such
 * sequence. */
TOMBOLA_API enum tombola_status tombola_model_state_get(tombola_model *model, int32_t sequence, void *data,
                                                        size_t capacity, size_t *length,
                                                        struct tombola_error *error);
TOMBOLA_API enum tombola_status tombola_model_state_set(tombola_model *model, int32_t sequence,
                                                        const void *data, size_t length,
                                                        struct tombola_error *error);

#ifdef __cplusplus
}
#endif
#endif
