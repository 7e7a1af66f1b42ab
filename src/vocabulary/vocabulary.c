/* SPDX-License-Identifier: Apache-2.0 */
/* A vocabulary: the bytes of all tokens in one block, found by their offsets, and their flags. */
#include "base/base.h"
#include "vocabulary/breakers.h"

#include <string.h>
#include <tombola/vocabulary.h>

#define MOST_TOKENS ((size_t)1 << 24)

struct tombola_vocabulary {
  struct tombola_allocator allocator;
  size_t count;
  char *bytes;
  size_t *offsets; /* count + 1, the first is 0 */
  uint8_t *flags;
  tombola_token *ends;
  size_t end_count;
  tombola_token *newlines; /* the tokens whose text is a newline */
  size_t newline_count;
  struct tombola__breaker_cache *breakers;
  tombola_tokenize_fn tokenize;
  void *tokenize_context;
};

static enum tombola_status check(const struct tombola_vocabulary_source *source, struct tombola_error *error) {
  const enum tombola_status bad = TOMBOLA_INVALID_ARGUMENT;
  if (!source) return tombola__fail(error, bad, "source", "source is NULL");
  if (source->struct_size < sizeof *source)
    return tombola__fail(error, bad, "struct_size", "struct_size is %zu, must be at least %zu", source->struct_size,
                         sizeof *source);
  if (source->count < 1 || source->count > MOST_TOKENS)
    return tombola__fail(error, bad, "count", "count is %zu, allowed: 1 to %zu", source->count, MOST_TOKENS);
  if (!source->offsets) return tombola__fail(error, bad, "offsets", "offsets is NULL");
  for (size_t i = 0; i < source->count; i++)
    if (source->offsets[i] > source->offsets[i + 1])
      return tombola__fail(error, bad, "offsets", "offsets[%zu] is %zu, must be at least offsets[%zu], which is %zu",
                           i + 1, source->offsets[i + 1], i, source->offsets[i]);
  if (!source->bytes && source->offsets[source->count] > source->offsets[0])
    return tombola__fail(error, bad, "bytes", "bytes is NULL, but the offsets speak of %zu bytes",
                         source->offsets[source->count] - source->offsets[0]);
  return TOMBOLA_OK;
}

static size_t count_ends(const struct tombola_vocabulary_source *source) {
  size_t ends = 0;
  for (size_t i = 0; source->flags && i < source->count; i++)
    ends += (source->flags[i] & TOMBOLA_TOKEN_END) != 0;
  return ends;
}

static bool is_newline(const struct tombola_vocabulary_source *source, size_t token) {
  size_t start = source->offsets[token];
  return source->offsets[token + 1] - start == 1 && source->bytes[start] == '\n';
}

static size_t count_newlines(const struct tombola_vocabulary_source *source) {
  size_t newlines = 0;
  for (size_t i = 0; i < source->count; i++)
    newlines += is_newline(source, i);
  return newlines;
}

/* Room for everything; what can't be had stays NULL. */
static bool allocate(tombola_vocabulary *v, const struct tombola_vocabulary_source *source) {
  v->count = source->count;
  v->bytes = tombola__new(&v->allocator, source->offsets[source->count] - source->offsets[0], 1);
  v->offsets = tombola__new(&v->allocator, source->count + 1, sizeof *v->offsets);
  v->flags = tombola__new(&v->allocator, source->count, sizeof *v->flags);
  v->ends = tombola__new(&v->allocator, count_ends(source), sizeof *v->ends);
  v->newlines = tombola__new(&v->allocator, count_newlines(source), sizeof *v->newlines);
  v->breakers = tombola__breaker_cache_new(&v->allocator);
  return v->bytes && v->offsets && v->flags && v->ends && v->newlines && v->breakers;
}

static void copy(tombola_vocabulary *v, const struct tombola_vocabulary_source *source) {
  size_t start = source->offsets[0], size = source->offsets[source->count] - start;
  if (size > 0) memcpy(v->bytes, source->bytes + start, size);
  for (size_t i = 0; i <= source->count; i++)
    v->offsets[i] = source->offsets[i] - start;
  if (source->flags) memcpy(v->flags, source->flags, source->count);
  for (size_t i = 0; i < source->count; i++)
    if (v->flags[i] & TOMBOLA_TOKEN_END) v->ends[v->end_count++] = (tombola_token)i;
  for (size_t i = 0; i < v->count; i++)
    if (is_newline(source, i)) v->newlines[v->newline_count++] = (tombola_token)i;
  v->tokenize = source->tokenize;
  v->tokenize_context = source->tokenize_context;
}

enum tombola_status tombola_vocabulary_new(const struct tombola_vocabulary_source *source,
                                           const struct tombola_allocator *allocator, tombola_vocabulary **out,
                                           struct tombola_error *error) {
  if (!out) return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "out", "out is NULL");
  *out = NULL;
  enum tombola_status status = check(source, error);
  if (status != TOMBOLA_OK) return status;

  tombola_vocabulary *v = tombola__new(allocator, 1, sizeof *v);
  if (!v) return tombola__no_memory(error);
  v->allocator = tombola__allocator(allocator);
  if (!allocate(v, source)) {
    tombola_vocabulary_free(v);
    return tombola__no_memory(error);
  }
  copy(v, source);
  *out = v;
  return TOMBOLA_OK;
}

void tombola_vocabulary_free(tombola_vocabulary *vocabulary) {
  if (!vocabulary) return;
  struct tombola_allocator allocator = vocabulary->allocator;
  tombola__free(&allocator, vocabulary->bytes);
  tombola__free(&allocator, vocabulary->offsets);
  tombola__free(&allocator, vocabulary->flags);
  tombola__free(&allocator, vocabulary->ends);
  tombola__free(&allocator, vocabulary->newlines);
  tombola__breaker_cache_free(vocabulary->breakers, &allocator);
  tombola__free(&allocator, vocabulary);
}

size_t tombola_vocabulary_count(const tombola_vocabulary *vocabulary) { return vocabulary->count; }

static bool has(const tombola_vocabulary *vocabulary, tombola_token token) {
  return token >= 0 && (size_t)token < vocabulary->count;
}

const char *tombola_vocabulary_bytes(const tombola_vocabulary *vocabulary, tombola_token token, size_t *length) {
  *length = 0;
  if (!has(vocabulary, token)) return NULL;
  *length = vocabulary->offsets[token + 1] - vocabulary->offsets[token];
  return vocabulary->bytes + vocabulary->offsets[token];
}

unsigned tombola_vocabulary_flags(const tombola_vocabulary *vocabulary, tombola_token token) {
  return has(vocabulary, token) ? vocabulary->flags[token] : 0;
}

const tombola_token *tombola_vocabulary_ends(const tombola_vocabulary *vocabulary, size_t *count) {
  *count = vocabulary->end_count;
  return vocabulary->ends;
}

enum tombola_status tombola_vocabulary_tokenize(const tombola_vocabulary *vocabulary, const char *text, size_t length,
                                                int special, tombola_token *tokens, size_t capacity, size_t *count) {
  *count = 0;
  if (!vocabulary->tokenize) return TOMBOLA_UNSUPPORTED;
  return vocabulary->tokenize(vocabulary->tokenize_context, text, length, special, tokens, capacity, count);
}

struct tombola__breaker_cache *tombola__vocabulary_breakers(const tombola_vocabulary *vocabulary,
                                                            struct tombola_allocator *allocator) {
  *allocator = vocabulary->allocator;
  return vocabulary->breakers;
}

const tombola_token *tombola__vocabulary_newlines(const tombola_vocabulary *vocabulary, size_t *count) {
  *count = vocabulary->newline_count;
  return vocabulary->newlines;
}
