/* SPDX-License-Identifier: Apache-2.0 */
/* Grammars by content. A source and its options are written as one string of bytes; equal strings are one grammar. */
#include <pthread.h>
#include <string.h>

#include "constraint/grammar.h"

#define DEFAULT_CAPACITY ((size_t)64)

struct entry {
  uint64_t hash[2];
  uint8_t *content; /* NULL: a free place */
  size_t length;
  tombola_grammar *grammar; /* NULL: someone compiles it */
  uint64_t used;            /* when: the cache's clock */
};

struct tombola_grammar_cache {
  struct tombola_allocator allocator; /* the cache's own memory is used under the lock */
  const tombola_trie *trie;
  pthread_mutex_t lock;
  pthread_cond_t changed; /* a grammar has been compiled, or has failed to be */
  struct entry *entries;
  size_t n, capacity; /* entries whose grammar is being compiled count too, and may be more than capacity */
  size_t room;
  uint64_t clock;
};

/* ---- content ---- */

/* With `bytes` NULL only the length is found out. */
struct writer {
  uint8_t *bytes;
  size_t length;
  bool overflow;
};

static void put(struct writer *w, const void *bytes, size_t length) {
  if (w->bytes && length) memcpy(w->bytes + w->length, bytes, length);
  if (!tombola__add(w->length, length, &w->length)) w->overflow = true;
}

static void put_number(struct writer *w, uint64_t number) {
  put(w, &number, sizeof number);
}

/* NULL and a text of no bytes are different. */
static void put_text(struct writer *w, const char *text, size_t length) {
  put_number(w, text != NULL);
  put_number(w, text ? length : 0);
  if (text) put(w, text, length);
}

static void put_limits(struct writer *w, const struct tombola_grammar_limits *limits) {
  static const struct tombola_grammar_limits none = {.struct_size = sizeof none};
  if (!limits) limits = &none;
  const size_t numbers[] = {limits->max_states, limits->max_bytes,   limits->max_depth,  limits->max_refs,
                            limits->max_source, limits->max_threads, limits->mask_bytes, limits->max_work};
  for (size_t i = 0; i < TOMBOLA__COUNT(numbers); i++)
    put_number(w, numbers[i]);
  put(w, &limits->max_seconds, sizeof limits->max_seconds);
}

static void put_source(struct writer *w, const struct tombola_grammar_source *source) {
  const uint64_t options[] = {
      source->kind,      source->whitespace,    source->whitespace_max, source->format,
      source->order,     source->nullable != 0, source->lenient != 0,   source->free_prelude != 0,
      source->n_choices, source->n_rules,       source->n_documents,    source->spelling};
  for (size_t i = 0; i < TOMBOLA__COUNT(options); i++)
    put_number(w, options[i]);
  put_text(w, source->text, source->length);
  put_text(w, source->root, source->root ? strlen(source->root) : 0);
  for (size_t i = 0; i < source->n_choices; i++)
    put_text(w, source->choices[i].data, source->choices[i].length);
  for (size_t i = 0; i < source->n_rules; i++) {
    const struct tombola_mix_rule *const rule = &source->rules[i];
    put_text(w, rule->trigger, rule->trigger_length);
    put_number(w, rule->kind);
    put_text(w, rule->text, rule->length);
    put_text(w, rule->end, rule->end_length);
    put_number(w, rule->include_trigger != 0);
  }
  for (size_t i = 0; i < source->n_documents; i++) {
    put_text(w, source->documents[i].uri, strlen(source->documents[i].uri));
    put_text(w, source->documents[i].text, source->documents[i].length);
  }
  put_limits(w, source->limits);
}

/* What can't be written is left to tombola_grammar_new() to refuse. */
static bool is_readable(const struct tombola_grammar_source *source) {
  if (!source || source->struct_size < sizeof *source) return false;
  if (source->limits && source->limits->struct_size < sizeof *source->limits) return false;
  if ((source->n_choices && !source->choices) || (source->n_rules && !source->rules)) return false;
  if (source->n_documents && !source->documents) return false;
  for (size_t i = 0; i < source->n_documents; i++)
    if (!source->documents[i].uri) return false;
  return true;
}

/* Allocates and fills in content, length and hash. Under the lock. */
static bool describe(tombola_grammar_cache *cache, const struct tombola_grammar_source *source,
                     struct entry *e) {
  struct writer w = {.bytes = NULL};
  put_source(&w, source);
  if (w.overflow || !(w.bytes = tombola__new(&cache->allocator, w.length, 1))) return false;
  *e = (struct entry){.content = w.bytes, .length = w.length, .hash = {w.length, ~(uint64_t)w.length}};
  w.length = 0;
  put_source(&w, source);
  for (size_t i = 0; i < e->length; i += 8) {
    uint64_t word = 0;
    memcpy(&word, e->content + i, e->length - i < 8 ? e->length - i : 8);
    e->hash[0] = tombola__mix(e->hash[0], word);
    e->hash[1] = tombola__mix(e->hash[1] + 0x9E37, word);
  }
  return true;
}

/* ---- entries; all under the lock ---- */

static struct entry *find(tombola_grammar_cache *cache, const struct entry *wanted) {
  for (size_t i = 0; i < cache->n; i++) {
    struct entry *const e = &cache->entries[i];
    if (e->hash[0] == wanted->hash[0] && e->hash[1] == wanted->hash[1] && e->length == wanted->length &&
        memcmp(e->content, wanted->content, e->length) == 0)
      return e;
  }
  return NULL;
}

static tombola_grammar *drop(tombola_grammar_cache *cache, struct entry *e) {
  tombola_grammar *const grammar = e->grammar;
  tombola__free(&cache->allocator, e->content);
  *e = cache->entries[--cache->n];
  return grammar;
}

/* The one that wasn't used for longest; NULL: all are being compiled. */
static struct entry *oldest(tombola_grammar_cache *cache) {
  struct entry *found = NULL;
  for (size_t i = 0; i < cache->n; i++)
    if (cache->entries[i].grammar && (!found || cache->entries[i].used < found->used))
      found = &cache->entries[i];
  return found;
}

static bool add(tombola_grammar_cache *cache, const struct entry *e) {
  if (cache->n == cache->room) {
    const size_t room = cache->room ? 2 * cache->room : 8;
    struct entry *const entries =
        tombola__resize(&cache->allocator, cache->entries, cache->room, room, sizeof *entries);
    if (!entries) return false;
    cache->entries = entries;
    cache->room = room;
  }
  cache->entries[cache->n++] = *e;
  return true;
}

/* ---- the cache ---- */

enum tombola_status tombola_grammar_cache_new(const tombola_trie *trie, size_t capacity,
                                              const struct tombola_allocator *allocator,
                                              tombola_grammar_cache **out, struct tombola_error *error) {
  if (!out) return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "out", "out is NULL");
  *out = NULL;
  const struct tombola_allocator use = tombola__allocator(allocator);
  tombola_grammar_cache *const cache = tombola__new(&use, 1, sizeof *cache);
  if (!cache) return tombola__no_memory(error);
  cache->allocator = use;
  cache->trie = trie;
  cache->capacity = capacity ? capacity : DEFAULT_CAPACITY;
  const bool locked = pthread_mutex_init(&cache->lock, NULL) == 0;
  if (!locked || pthread_cond_init(&cache->changed, NULL)) {
    if (locked) pthread_mutex_destroy(&cache->lock);
    tombola__free(&use, cache);
    return tombola__no_memory(error);
  }
  *out = cache;
  return TOMBOLA_OK;
}

void tombola_grammar_cache_free(tombola_grammar_cache *cache) {
  if (!cache) return;
  const struct tombola_allocator allocator = cache->allocator;
  while (cache->n)
    tombola_grammar_free(drop(cache, &cache->entries[0]));
  tombola__free(&allocator, cache->entries);
  pthread_cond_destroy(&cache->changed);
  pthread_mutex_destroy(&cache->lock);
  tombola__free(&allocator, cache);
}

/* Waits while another thread compiles the same. The grammar, or NULL: it is this thread's to compile (an entry says so),
 * or *failed. */
static tombola_grammar *claim(tombola_grammar_cache *cache, const struct tombola_grammar_source *source,
                              struct entry *wanted, bool *failed) {
  tombola_grammar *grammar = NULL;
  pthread_mutex_lock(&cache->lock);
  struct entry *e = NULL;
  *failed = !describe(cache, source, wanted);
  while (!*failed && (e = find(cache, wanted)) && !e->grammar)
    pthread_cond_wait(&cache->changed, &cache->lock);
  if (e) {
    e->used = ++cache->clock;
    grammar = tombola_grammar_retain(e->grammar);
  } else if (!*failed) {
    *failed = !add(cache, wanted);
  }
  if (grammar || (*failed && wanted->content)) {
    tombola__free(&cache->allocator, wanted->content);
    wanted->content = NULL;
  }
  pthread_mutex_unlock(&cache->lock);
  return grammar;
}

/* The grammar is there, or (NULL) isn't going to be. */
static void settle(tombola_grammar_cache *cache, const struct entry *wanted, tombola_grammar *grammar) {
  tombola_grammar *evicted = NULL;
  pthread_mutex_lock(&cache->lock);
  struct entry *e = find(cache, wanted);
  if (!grammar) {
    drop(cache, e);
  } else {
    e->grammar = tombola_grammar_retain(grammar);
    e->used = ++cache->clock;
    if (cache->n > cache->capacity && (e = oldest(cache))) evicted = drop(cache, e); /* one came, one goes */
  }
  pthread_cond_broadcast(&cache->changed);
  pthread_mutex_unlock(&cache->lock);
  tombola_grammar_free(evicted);
}

enum tombola_status tombola_grammar_cache_get(tombola_grammar_cache *cache,
                                              const struct tombola_grammar_source *source,
                                              tombola_grammar **out, struct tombola_schema_verdict *verdict,
                                              struct tombola_error *error) {
  if (!out) return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "out", "out is NULL");
  *out = NULL;
  if (!is_readable(source))
    return tombola_grammar_new(source, cache->trie, &cache->allocator, out, verdict, error);
  struct entry wanted = {.content = NULL};
  bool failed;
  tombola_grammar *const known = claim(cache, source, &wanted, &failed);
  if (failed) return tombola__no_memory(error);
  if (known) {
    if (verdict) tombola_grammar_verdict(known, verdict);
    *out = known;
    return TOMBOLA_OK;
  }
  const enum tombola_status status =
      tombola_grammar_new(source, cache->trie, &cache->allocator, out, verdict, error);
  settle(cache, &wanted, *out);
  return status;
}
