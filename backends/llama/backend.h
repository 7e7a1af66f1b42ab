/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the backend share. Rule for all of them: libllama asserts, aborts or throws on arguments
 * that it doesn't like, so what model.h doesn't promise to have checked is checked before it is handed over.
 */
#ifndef TOMBOLA_LLAMA_BACKEND_H
#define TOMBOLA_LLAMA_BACKEND_H

#include "base/base.h"

#include <llama.h>
#include <tombola/model.h>

/* One loaded model with its context. */
struct tombola__llama {
  struct tombola_allocator allocator;
  struct llama_model *model;
  struct llama_context *context;
  const struct llama_vocab *vocab; /* the model's */
  tombola_vocabulary *vocabulary;
  struct tombola_model_info info;
  char *name;
  char device[160];
  struct llama_batch batch;  /* arrays of info.batch elements, made once */
  llama_seq_id *sequence_of; /* what batch.seq_id points to */
  int32_t *start;   /* by sequence: its first position in the batch at hand, -1 when it isn't in it */
  int32_t *next;    /* by sequence: the position that must come next */
  size_t decoded;   /* items of the last batch, 0 when that failed */
  uint32_t kv_type; /* as it was loaded */
  bool can_shift;   /* positions in the cache can be moved */
  bool add_special; /* the model's own start and end tokens exist, so that libllama can be asked for them */
  bool every_byte;  /* any text can be tokenised (see tokenize.c) */
};

/* ---- log.c: libllama's log ---- */

/* Sends libllama's log to us, once, and starts libllama. Called before anything else of libllama. */
void tombola__llama_start(void);
/* Forgets this thread's last message. */
void tombola__llama_log_clear(void);
/* The first error since then on this thread, without newline and function name; "" when there is none. */
const char *tombola__llama_log_text(void);
/* The status for a failure that only the log explains: NO_MEMORY when it speaks of allocation, else
 * `otherwise`. */
enum tombola_status tombola__llama_log_status(enum tombola_status otherwise);
/* Fails with "PATH: cannot be loaded: …". */
enum tombola_status tombola__llama_log_fail(struct tombola_error *error, const char *path);

/* ---- header.c: the file's keys ---- */

/* Refuses what libllama would end the process on. */
enum tombola_status tombola__llama_check_header(const char *path, const struct tombola_allocator *allocator,
                                                struct tombola_error *error);

/* ---- machine.c: the machine ---- */

/* Processor cores that this process may use, at least 1, at most 16. */
unsigned tombola__machine_threads(void);
/* Bytes of memory that can be had without swapping; 0 when that is unknown. */
uint64_t tombola__machine_memory(void);
/* What computes, in plain words: "CPU (AVX2, 2 threads)". */
void tombola__machine_device(char *text, size_t size, unsigned threads);
/* Whether libllama found a GPU that it will put layers on. */
bool tombola__machine_has_gpu(void);

/* ---- tokenize.c: the vocabulary ---- */

enum tombola_status tombola__llama_make_vocabulary(struct tombola__llama *self, struct tombola_error *error);
enum tombola_status tombola__llama_tokenize(void *self, const char *text, size_t length, unsigned flags,
                                            tombola_token *tokens, size_t capacity, size_t *count,
                                            struct tombola_error *error);

/* ---- template.c: chat templates ---- */

enum tombola_status tombola__llama_apply_template(void *self, const char *chat_template,
                                                  const struct tombola_chat_message *messages,
                                                  size_t n_messages, int add_assistant, char *text,
                                                  size_t capacity, size_t *length,
                                                  struct tombola_error *error);

/* ---- state.c: a sequence's state as bytes ---- */

enum tombola_status tombola__llama_state_get(void *self, int32_t sequence, void *data, size_t capacity,
                                             size_t *length, struct tombola_error *error);
enum tombola_status tombola__llama_state_set(void *self, int32_t sequence, const void *data, size_t length,
                                             struct tombola_error *error);

/* ---- load.c ---- */

enum tombola_status tombola__llama_load(const char *path, const struct tombola_model_params *params,
                                        struct tombola__llama **out, struct tombola_error *error);
void tombola__llama_free(struct tombola__llama *self);

#endif
