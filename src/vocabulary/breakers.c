/* SPDX-License-Identifier: Apache-2.0 */
/* Sequence breakers of DRY (p-e-w, oobabooga/text-generation-webui #5677), as llama.cpp reads them: a token
 * whose text contains the breaker breaks by itself; one whose text ends with the breaker's beginning breaks
 * when the tokens of the rest follow. A breaker is cut to 40 bytes, a tail to 20 tokens.
 *
 * The tokens' bytes lie one after the other, so that one search for the breaker's first byte goes through the
 * whole vocabulary, and only where it is found is anything compared. Without a tokenise callback no rest has
 * tokens, and only what contains the whole breaker breaks. */
#include "breakers.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BYTES  40
#define MOST_TAIL   20
#define MOST_CACHED 32

struct tail {
  size_t first, count; /* in the pool */
};

struct tombola__breakers {
  struct tombola_allocator allocator;
  struct tombola__breakers *next; /* in the vocabulary's cache */
  char *key;                      /* the texts, each NUL-terminated */
  size_t key_size;
  size_t n_tokens;
  uint32_t *whole, *heads; /* a bit for each token */
  uint64_t *records;       /* token << 32 | tail, rising; tokens that break by themselves need none */
  size_t n_records, records_capacity;
  struct tail *tails;
  size_t n_tails, tails_capacity;
  tombola_token *pool;
  size_t pool_size, pool_capacity;
};

/* ---- reading ---- */

static bool bit(const struct tombola__breakers *b, const uint32_t *bits, tombola_token token) {
  size_t i = (size_t)token;
  return token >= 0 && i < b->n_tokens && (bits[i / 32] >> (i % 32) & 1);
}

bool tombola__breakers_whole(const struct tombola__breakers *b, tombola_token token) {
  return b && bit(b, b->whole, token);
}

bool tombola__breakers_head(const struct tombola__breakers *b, tombola_token token) {
  return b && bit(b, b->heads, token);
}

bool tombola__breakers_tail(const struct tombola__breakers *b, tombola_token token, size_t i,
                            struct tombola__tail *out) {
  if (!tombola__breakers_head(b, token)) return false;
  if (tombola__breakers_whole(b, token) && i-- == 0) {
    *out = (struct tombola__tail){NULL, 0};
    return true;
  }
  uint64_t wanted = (uint64_t)(uint32_t)token << 32;
  size_t first = 0, last = b->n_records;
  while (first < last) {
    size_t middle = first + (last - first) / 2;
    if (b->records[middle] < wanted)
      first = middle + 1;
    else
      last = middle;
  }
  if (first + i >= b->n_records || b->records[first + i] >> 32 != (uint32_t)token) return false;
  const struct tail *tail = &b->tails[(uint32_t)b->records[first + i]];
  *out = (struct tombola__tail){b->pool + tail->first, tail->count};
  return true;
}

/* ---- making ---- */

/* Room for `more` elements behind the `used` ones. */
static bool grow(const struct tombola_allocator *allocator, void **array, size_t used, size_t more,
                 size_t *capacity, size_t size) {
  if (used + more <= *capacity) return true;
  size_t wanted = 2 * *capacity > used + more ? 2 * *capacity : used + more + 16;
  void *larger = tombola__resize(allocator, *array, *capacity, wanted, size);
  if (!larger) return false;
  *array = larger;
  *capacity = wanted;
  return true;
}

static void set_bit(uint32_t *bits, size_t token) {
  bits[token / 32] |= 1u << (token % 32);
}

static enum tombola_status add_record(struct tombola__breakers *b, size_t token, size_t tail) {
  void *records = b->records;
  if (!grow(&b->allocator, &records, b->n_records, 1, &b->records_capacity, sizeof *b->records))
    return TOMBOLA_NO_MEMORY;
  b->records = records;
  b->records[b->n_records++] = (uint64_t)token << 32 | tail;
  set_bit(b->heads, token);
  return TOMBOLA_OK;
}

/* The number of the tail of these tokens, a new one when they weren't there. */
static enum tombola_status add_tail(struct tombola__breakers *b, const tombola_token *tokens, size_t count,
                                    size_t *out) {
  for (*out = 0; *out < b->n_tails; (*out)++) {
    const struct tail *tail = &b->tails[*out];
    if (tail->count == count && !memcmp(b->pool + tail->first, tokens, count * sizeof *tokens))
      return TOMBOLA_OK;
  }
  void *tails = b->tails, *pool = b->pool;
  if (!grow(&b->allocator, &tails, b->n_tails, 1, &b->tails_capacity, sizeof *b->tails))
    return TOMBOLA_NO_MEMORY;
  b->tails = tails;
  if (!grow(&b->allocator, &pool, b->pool_size, count, &b->pool_capacity, sizeof *b->pool))
    return TOMBOLA_NO_MEMORY;
  b->pool = pool;
  memcpy(b->pool + b->pool_size, tokens, count * sizeof *tokens);
  b->tails[b->n_tails++] = (struct tail){b->pool_size, count};
  b->pool_size += count;
  return TOMBOLA_OK;
}

/* One breaker, and the tails of its rests; SIZE_MAX where a rest has no tokens. */
struct scan {
  const tombola_vocabulary *vocabulary;
  struct tombola__breakers *table;
  const char *text;
  size_t length;
  size_t tail_from[MOST_BYTES]; /* of the rest that begins there */
};

/* llama.cpp tokenises the rests without special tokens, and cuts what is too long. */
static enum tombola_status find_tails(struct scan *s) {
  for (size_t from = 1; from < s->length; from++) {
    tombola_token tokens[4 * MOST_BYTES];
    size_t count;
    enum tombola_status status = tombola_vocabulary_tokenize(s->vocabulary, s->text + from, s->length - from,
                                                             0, tokens, TOMBOLA__COUNT(tokens), &count);
    s->tail_from[from] = SIZE_MAX;
    if (status == TOMBOLA_UNSUPPORTED || (status == TOMBOLA_OK && count == 0)) continue;
    if (status && status != TOMBOLA_OUT_OF_RANGE) return status;
    if (count > MOST_TAIL) count = MOST_TAIL;
    status = add_tail(s->table, tokens, count, &s->tail_from[from]);
    if (status) return status;
  }
  return TOMBOLA_OK;
}

/* Looks at one token in whose text the breaker's first byte was found at `at`. */
static enum tombola_status scan_token(struct scan *s, size_t token, const char *at, const char *end) {
  size_t partial[MOST_BYTES], n_partial = 0;
  for (; at; at = memchr(at + 1, s->text[0], (size_t)(end - at - 1))) {
    size_t left = (size_t)(end - at);
    size_t compared = left < s->length ? left : s->length;
    if (memcmp(at, s->text, compared) != 0) continue;
    if (compared == s->length) {
      set_bit(s->table->heads, token);
      set_bit(s->table->whole, token);
      return TOMBOLA_OK;
    }
    if (s->tail_from[compared] != SIZE_MAX) partial[n_partial++] = s->tail_from[compared];
  }
  for (size_t i = 0; i < n_partial; i++) {
    enum tombola_status status = add_record(s->table, token, partial[i]);
    if (status) return status;
  }
  return TOMBOLA_OK;
}

static enum tombola_status scan_vocabulary(struct scan *s) {
  size_t n = tombola_vocabulary_count(s->vocabulary), length;
  const char *bytes = tombola_vocabulary_bytes(s->vocabulary, 0, &length);
  const char *end = tombola_vocabulary_bytes(s->vocabulary, (tombola_token)(n - 1), &length) + length;
  const char *at = bytes;
  for (size_t token = 0; at < end; at++) {
    at = memchr(at, s->text[0], (size_t)(end - at));
    if (!at) break;
    const char *token_end;
    do {
      token_end = tombola_vocabulary_bytes(s->vocabulary, (tombola_token)token, &length) + length;
      token++;
    } while (token_end <= at);
    enum tombola_status status = scan_token(s, token - 1, at, token_end);
    if (status) return status;
    at = token_end - 1;
  }
  return TOMBOLA_OK;
}

static int by_value(const void *a, const void *b) {
  const uint64_t *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

static void sort_records(struct tombola__breakers *b) {
  size_t kept = 0;
  if (b->n_records) qsort(b->records, b->n_records, sizeof *b->records, by_value);
  for (size_t i = 0; i < b->n_records; i++)
    if (!kept || b->records[i] != b->records[kept - 1]) b->records[kept++] = b->records[i];
  b->n_records = kept;
}

static enum tombola_status fill_in(struct tombola__breakers *b, const tombola_vocabulary *vocabulary) {
  size_t words = (b->n_tokens + 31) / 32;
  b->whole = tombola__new(&b->allocator, words, sizeof *b->whole);
  b->heads = tombola__new(&b->allocator, words, sizeof *b->heads);
  if (!b->whole || !b->heads) return TOMBOLA_NO_MEMORY;
  for (const char *text = b->key; text < b->key + b->key_size; text += strlen(text) + 1) {
    struct scan scan = {.vocabulary = vocabulary, .table = b, .text = text, .length = strlen(text)};
    enum tombola_status status = find_tails(&scan);
    if (!status) status = scan_vocabulary(&scan);
    if (status) return status;
  }
  sort_records(b);
  return TOMBOLA_OK;
}

static size_t cut_length(const char *text) {
  size_t length = text ? strlen(text) : 0;
  return length < MOST_BYTES ? length : MOST_BYTES;
}

/* An empty table that knows which texts it is for. */
static struct tombola__breakers *new_table(const tombola_vocabulary *vocabulary,
                                           const struct tombola_allocator *allocator,
                                           const char *const *texts, size_t n) {
  struct tombola__breakers *b = tombola__new(allocator, 1, sizeof *b);
  if (!b) return NULL;
  b->allocator = *allocator;
  b->n_tokens = tombola_vocabulary_count(vocabulary);
  for (size_t i = 0; i < n; i++)
    b->key_size += cut_length(texts[i]) ? cut_length(texts[i]) + 1 : 0;
  b->key = tombola__new(allocator, b->key_size, 1);
  if (!b->key) {
    tombola__breakers_free(b);
    return NULL;
  }
  char *at = b->key;
  for (size_t i = 0; i < n; i++) {
    size_t length = cut_length(texts[i]);
    if (!length) continue;
    memcpy(at, texts[i], length);
    at += length + 1;
  }
  return b;
}

void tombola__breakers_free(const struct tombola__breakers *breakers) {
  if (!breakers) return;
  struct tombola_allocator own = breakers->allocator;
  void *parts[] = {breakers->key,     breakers->whole, breakers->heads,
                   breakers->records, breakers->tails, breakers->pool};
  for (size_t i = 0; i < TOMBOLA__COUNT(parts); i++)
    tombola__free(&own, parts[i]);
  union {
    const struct tombola__breakers *read;
    struct tombola__breakers *write;
  } table = {breakers};
  tombola__free(&own, table.write);
}

/* ---- the cache ---- */

/* Tables are only ever put in front, and live as long as the vocabulary: reading needs no lock. */
struct tombola__breaker_cache {
  _Atomic(struct tombola__breakers *) first;
  atomic_size_t count;
};

struct tombola__breaker_cache *tombola__breaker_cache_new(const struct tombola_allocator *allocator) {
  struct tombola__breaker_cache *cache = tombola__new(allocator, 1, sizeof *cache);
  if (!cache) return NULL;
  atomic_init(&cache->first, NULL);
  atomic_init(&cache->count, 0);
  return cache;
}

void tombola__breaker_cache_free(struct tombola__breaker_cache *cache,
                                 const struct tombola_allocator *allocator) {
  if (!cache) return;
  struct tombola__breakers *next;
  for (struct tombola__breakers *b = atomic_load(&cache->first); b; b = next) {
    next = b->next;
    tombola__breakers_free(b);
  }
  tombola__free(allocator, cache);
}

static const struct tombola__breakers *find(const struct tombola__breakers *first,
                                            const struct tombola__breakers *like) {
  for (; first; first = first->next)
    if (first->key_size == like->key_size && !memcmp(first->key, like->key, like->key_size)) return first;
  return NULL;
}

/* Puts a finished table into the cache, unless another thread was faster with the same one. */
static const struct tombola__breakers *publish(struct tombola__breaker_cache *cache,
                                               struct tombola__breakers *b, bool *owned) {
  struct tombola__breakers *first = atomic_load(&cache->first);
  *owned = atomic_fetch_add(&cache->count, 1) >= MOST_CACHED;
  if (*owned) {
    atomic_fetch_sub(&cache->count, 1);
    return b;
  }
  do {
    const struct tombola__breakers *same = find(first, b);
    if (same) {
      atomic_fetch_sub(&cache->count, 1);
      tombola__breakers_free(b);
      return same;
    }
    b->next = first;
  } while (!atomic_compare_exchange_weak(&cache->first, &first, b));
  return b;
}

enum tombola_status tombola__breakers_get(const tombola_vocabulary *vocabulary, const char *const *texts,
                                          size_t n, const struct tombola__breakers **out, bool *owned,
                                          struct tombola_error *error) {
  struct tombola_allocator allocator;
  struct tombola__breaker_cache *cache = tombola__vocabulary_breakers(vocabulary, &allocator);
  *owned = false;
  *out = NULL;
  struct tombola__breakers *b = new_table(vocabulary, &allocator, texts, n);
  if (!b) return tombola__no_memory(error);
  *out = find(atomic_load(&cache->first), b);
  if (*out) {
    tombola__breakers_free(b);
    return TOMBOLA_OK;
  }
  enum tombola_status status = fill_in(b, vocabulary);
  if (status) {
    tombola__breakers_free(b);
    return tombola__fail(error, status, "dry_sequence_breakers", "dry_sequence_breakers: %s",
                         tombola_status_text(status));
  }
  *out = publish(cache, b, owned);
  return TOMBOLA_OK;
}
