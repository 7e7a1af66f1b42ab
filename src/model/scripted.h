/* SPDX-License-Identifier: Apache-2.0 */
/* The scripted model's parts: the script as it stands in the file (scripted_read.c), its text side
 * (scripted_text.c), and the model that plays it (scripted.c). The format is described in docs/script.md. */
#ifndef TOMBOLA_SCRIPTED_H
#define TOMBOLA_SCRIPTED_H

#include "base/base.h"

#include <tombola/model.h>

/* A row as a script gives it: all its logits, or, when that is NULL, one favoured token. */
struct tombola__script_row {
  float *logits;
  tombola_token favoured;
};

/* A script, immutable once read. */
struct tombola__script {
  struct tombola_allocator allocator;
  tombola_vocabulary
      *vocabulary; /* its tokenise callback is tombola__script_tokenize_callback with this script */
  size_t vocab_size;

  /* Tokens by their bytes: open addressing, a power of two of slots, TOMBOLA_NO_TOKEN in the free ones. */
  tombola_token *table;
  size_t table_size;
  size_t longest_token;

  struct tombola__script_row *steps;
  size_t n_steps;
  struct tombola__script_row *last_rows; /* the rows of by_last, in the file's order */
  size_t n_last_rows;
  int32_t *by_last; /* for each token the index of its row in last_rows, or -1; NULL without by_last */

  tombola_token first_end; /* the first of `end` as the file has it, or TOMBOLA_NO_TOKEN */
  uint64_t hash;
  int64_t fail_at; /* -1: never */
  size_t context;  /* 0: the file doesn't say */
  int delay_ms;
  bool has_hash;
  bool has_template; /* "chatml", the only one there is */
  bool repeats;      /* "after": "repeat" */
};

/* Reads a script into *script, which is zeroed first. On an error nothing needs to be freed. FORMAT, with the
 * JSON pointer in error->param; IO; NO_MEMORY. `allocator` is whole. */
enum tombola_status tombola__script_read(struct tombola__script *script, const char *path,
                                         const struct tombola_allocator *allocator,
                                         struct tombola_error *error);
void tombola__script_free(struct tombola__script *script);

/* Fills in the table, once vocab_size and vocabulary are there. NO_MEMORY. */
enum tombola_status tombola__script_index_tokens(struct tombola__script *script, struct tombola_error *error);

/* Text to tokens by longest match. Special tokens are matched only when `special` says so. */
enum tombola_status tombola__script_tokenize(const struct tombola__script *script, const char *text,
                                             size_t length, bool special, tombola_token *tokens,
                                             size_t capacity, size_t *count, struct tombola_error *error);

/* A tombola_tokenize_fn; `context` is the script. */
enum tombola_status tombola__script_tokenize_callback(void *context, const char *text, size_t length,
                                                      int special, tombola_token *tokens, size_t capacity,
                                                      size_t *count);

/* Messages in ChatML. As tombola_model_apply_template. */
enum tombola_status tombola__chatml(const struct tombola_chat_message *messages, size_t n_messages,
                                    bool add_assistant, char *text, size_t capacity, size_t *length,
                                    struct tombola_error *error);

#endif
