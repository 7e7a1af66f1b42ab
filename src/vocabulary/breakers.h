/* SPDX-License-Identifier: Apache-2.0 */
/* Sequence breakers over a vocabulary: which tokens begin one. See breakers.c. */
#ifndef TOMBOLA_BREAKERS_H
#define TOMBOLA_BREAKERS_H

#include "../base/base.h"

#include <tombola/vocabulary.h>

/* Immutable once made; any number of threads may read one. */
struct tombola__breakers;

/* What must follow a token so that both together are a breaker; of no tokens when it is one by itself. */
struct tombola__tail {
  const tombola_token *tokens;
  size_t count;
};

/* The table for a list of breakers (texts; empty ones are passed over). The vocabulary keeps it and gives the
 * same one to all who ask, on any thread; a vocabulary that keeps many already gives a table of the caller's
 * own, and then *owned is true and the caller frees it. Statuses: NO_MEMORY, and what the tokeniser gives. */
enum tombola_status tombola__breakers_get(const tombola_vocabulary *vocabulary, const char *const *texts,
                                          size_t n, const struct tombola__breakers **out, bool *owned,
                                          struct tombola_error *error);
void tombola__breakers_free(const struct tombola__breakers *breakers);

/* Whether a token is a breaker by itself; whether it begins one. */
bool tombola__breakers_whole(const struct tombola__breakers *breakers, tombola_token token);
bool tombola__breakers_head(const struct tombola__breakers *breakers, tombola_token token);

/* The i-th tail of a token; false past the last one. */
bool tombola__breakers_tail(const struct tombola__breakers *breakers, tombola_token token, size_t i,
                            struct tombola__tail *out);

/* ---- for the vocabulary ---- */

struct tombola__breaker_cache;

struct tombola__breaker_cache *tombola__breaker_cache_new(const struct tombola_allocator *allocator);
void tombola__breaker_cache_free(struct tombola__breaker_cache *cache,
                                 const struct tombola_allocator *allocator);
struct tombola__breaker_cache *tombola__vocabulary_breakers(const tombola_vocabulary *vocabulary,
                                                            struct tombola_allocator *allocator);

/* The tokens whose text is one newline, rising. */
const tombola_token *tombola__vocabulary_newlines(const tombola_vocabulary *vocabulary, size_t *count);

#endif
