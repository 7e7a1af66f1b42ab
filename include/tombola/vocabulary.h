/* SPDX-License-Identifier: Apache-2.0 */
/* A model's vocabulary as tombola sees it: each token's bytes and what kind of token it is, and a way to
 * tokenise. Sampling stages that speak of text (string biases, sequence breakers), constraints and text
 * output all read it. */
#ifndef TOMBOLA_VOCABULARY_H
#define TOMBOLA_VOCABULARY_H

#include <tombola/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a token is; bits of a set. A token without a bit is ordinary text. */
enum tombola_token_flags {
  TOMBOLA_TOKEN_SPECIAL = 1, /* control token: carries no text of an answer */
  TOMBOLA_TOKEN_END = 2,     /* ends an answer (end of sequence, of turn, of message) */
  TOMBOLA_TOKEN_BYTE = 4,  /* one raw byte (byte fallback); its bytes are that byte, whatever its spelling */
  TOMBOLA_TOKEN_UNUSED = 8 /* a placeholder that no text maps to */
};

/* Turns text into tokens. Writes at most `capacity` ids and always stores in *count how many there are; when
 * that is more than `capacity` it returns OUT_OF_RANGE, and the caller comes again with room. `special` says
 * whether the spelling of a special token in the text stands for that token. Called from any thread, so it
 * must be thread-safe. */
typedef enum tombola_status (*tombola_tokenize_fn)(void *context, const char *text, size_t length,
                                                   int special, tombola_token *tokens, size_t capacity,
                                                   size_t *count);

/* Immutable once made: any number of threads may read one. */
typedef struct tombola_vocabulary tombola_vocabulary;

/* What a vocabulary is made of; everything is copied. */
struct tombola_vocabulary_source {
  size_t struct_size;
  size_t count;      /* number of tokens, 1 to 2^24 */
  const char *bytes; /* the bytes of all tokens, one after the other, not NUL-terminated */
  const size_t
      *offsets; /* count + 1 rising offsets into bytes; token i is bytes[offsets[i] .. offsets[i + 1]) */
  const uint8_t *flags;         /* count sets of tombola_token_flags, or NULL when every token is ordinary */
  tombola_tokenize_fn tokenize; /* or NULL */
  void *tokenize_context;       /* not owned; must outlive the vocabulary */
};

/* Makes a vocabulary. INVALID_ARGUMENT (falling offsets, bad count), NO_MEMORY. Free it with _free after
 * everything that was made from it. It allocates later, too, on the thread that makes a sampler: tables of
 * sequence breakers, which it keeps and shares; so an allocator of the caller's must be thread-safe if
 * samplers are made on several threads. */
TOMBOLA_API enum tombola_status tombola_vocabulary_new(const struct tombola_vocabulary_source *source,
                                                       const struct tombola_allocator *allocator,
                                                       tombola_vocabulary **out, struct tombola_error *error);
TOMBOLA_API void tombola_vocabulary_free(tombola_vocabulary *vocabulary);

TOMBOLA_API size_t tombola_vocabulary_count(const tombola_vocabulary *vocabulary);

/* The token's bytes (not NUL-terminated, valid as long as the vocabulary) and their number; NULL and 0 for an
 * id that isn't in the vocabulary. A special token's bytes are its spelling. */
TOMBOLA_API const char *tombola_vocabulary_bytes(const tombola_vocabulary *vocabulary, tombola_token token,
                                                 size_t *length);

/* The token's tombola_token_flags; 0 for an id that isn't in the vocabulary. */
TOMBOLA_API unsigned tombola_vocabulary_flags(const tombola_vocabulary *vocabulary, tombola_token token);

/* The tokens that end an answer, ascending; owned by the vocabulary. */
TOMBOLA_API const tombola_token *tombola_vocabulary_ends(const tombola_vocabulary *vocabulary, size_t *count);

/* As tombola_tokenize_fn; UNSUPPORTED when the vocabulary has no tokenise callback. */
TOMBOLA_API enum tombola_status tombola_vocabulary_tokenize(const tombola_vocabulary *vocabulary,
                                                            const char *text, size_t length, int special,
                                                            tombola_token *tokens, size_t capacity,
                                                            size_t *count);

#ifdef __cplusplus
}
#endif
#endif
