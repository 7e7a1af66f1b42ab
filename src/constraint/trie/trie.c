/* SPDX-License-Identifier: Apache-2.0 */
/* Making the tries: tokens are sorted, with their first 16 bytes at hand, so that the vocabulary is seldom looked at in
 * this order, and then written depth first. */
#include "constraint/trie/trie.h"

#include <string.h>

#include "constraint/machine/token.h"

#define BUCKETS     ((size_t)1 << 16)
#define MOST_LENGTH (((size_t)1 << 24) - 1) /* of a token: its depth must fit into a node */

static const char *bytes_of(const tombola_trie *trie, uint32_t token) {
  size_t length;
  return tombola_vocabulary_bytes(trie->vocabulary, (tombola_token)token, &length);
}

/* 8 bytes from `from` on. */
static uint64_t word_of(const char *bytes, size_t length, size_t from) {
  uint64_t word = 0;
  for (size_t i = from; i < from + 8; i++)
    word = word << 8 | (i < length ? (uint8_t)bytes[i] : 0u);
  return word;
}

/* The tokens that can be part of a value, in the order of their ids. */
static size_t gather(tombola_trie *trie, struct tombola__trie_entry *entries) {
  const unsigned out = TOMBOLA_TOKEN_SPECIAL | TOMBOLA_TOKEN_END | TOMBOLA_TOKEN_UNUSED;
  size_t n = 0;
  for (size_t token = 0; token < trie->count; token++) {
    size_t length;
    const char *const bytes = tombola_vocabulary_bytes(trie->vocabulary, (tombola_token)token, &length);
    if (length == 0 || length > MOST_LENGTH) continue;
    if (tombola_vocabulary_flags(trie->vocabulary, (tombola_token)token) & out) continue;
    if (length > trie->longest) trie->longest = length;
    entries[n++] = (struct tombola__trie_entry){word_of(bytes, length, 0), word_of(bytes, length, 8),
                                                (uint32_t)token, (uint32_t)length};
  }
  return n;
}

static bool is_before(const tombola_trie *trie, const struct tombola__trie_entry *a,
                      const struct tombola__trie_entry *b) {
  const size_t both = a->length < b->length ? a->length : b->length;
  if (a->head != b->head) return a->head < b->head;
  if (a->next != b->next) return a->next < b->next;
  if (both > 16) {
    const int order = memcmp(bytes_of(trie, a->token) + 16, bytes_of(trie, b->token) + 16, both - 16);
    if (order != 0) return order < 0;
  }
  return a->length != b->length ? a->length < b->length : a->token < b->token;
}

/* Merge sort. */
static void sort_bucket(const tombola_trie *trie, struct tombola__trie_entry *entries,
                        struct tombola__trie_entry *scratch, size_t n) {
  for (size_t width = 1; width < n; width *= 2) {
    for (size_t low = 0; low + width < n; low += 2 * width) {
      const size_t middle = low + width, high = n - middle < width ? n : middle + width;
      size_t a = low, b = middle, at = low;
      if (!is_before(trie, &entries[b], &entries[b - 1])) continue;
      while (a < middle && b < high)
        scratch[at++] = is_before(trie, &entries[b], &entries[a]) ? entries[b++] : entries[a++];
      while (a < middle)
        scratch[at++] = entries[a++];
      memcpy(entries + low, scratch + low, (at - low) * sizeof *entries);
    }
  }
}

/* By bytes, and by ids where those are equal: into buckets by the first two bytes, which are small enough for a fast
 * memory, and then each bucket. False: no memory. */
static bool sort(const tombola_trie *trie, struct tombola__trie_entry *entries,
                 struct tombola__trie_entry *to, size_t n) {
  uint32_t *const at = tombola__new(&trie->allocator, BUCKETS, sizeof *at);
  if (!at) return false;
  uint32_t sum = 0;
  for (size_t i = 0; i < n; i++)
    at[entries[i].head >> 48]++;
  for (size_t b = 0; b < BUCKETS; b++) {
    const uint32_t here = at[b];
    at[b] = sum;
    sum += here;
  }
  for (size_t i = 0; i < n; i++)
    to[at[entries[i].head >> 48]++] = entries[i];
  for (size_t b = 0, from = 0; b < BUCKETS; from = at[b++])
    sort_bucket(trie, to + from, entries, at[b] - from);
  tombola__free(&trie->allocator, at);
  return true;
}

/* How many leading bytes of two words, at most `most`, are the same. */
static size_t common_of(uint64_t a, uint64_t b, size_t most) {
  const size_t n = a == b ? 8 : (size_t)__builtin_clzll(a ^ b) / 8;
  return n < most ? n : most;
}

/* How many bytes two entries begin with in common. */
static size_t common(const tombola_trie *trie, const struct tombola__trie_entry *a,
                     const struct tombola__trie_entry *b) {
  const size_t both = a->length < b->length ? a->length : b->length;
  size_t n = common_of(a->head, b->head, both);
  if (n < 8 || both == 8) return n;
  n += common_of(a->next, b->next, both - 8);
  if (n < 16 || both == 16) return n;
  const char *const left = bytes_of(trie, a->token), *const right = bytes_of(trie, b->token);
  while (n < both && left[n] == right[n])
    n++;
  return n;
}

static uint8_t byte_at(const tombola_trie *trie, const struct tombola__trie_entry *entry, size_t i) {
  if (i >= 16) return (uint8_t)bytes_of(trie, entry->token)[i];
  return (uint8_t)((i < 8 ? entry->head : entry->next) >> (56 - 8 * (i % 8)));
}

/* Another token with the bytes of the last one. */
static void add_same(struct tombola__trie_writer *w, uint32_t token) {
  if (w->nodes) {
    uint32_t *const first = &w->nodes[w->at - 1].token;
    *first |= TOMBOLA__SAME_BYTES;
    if (w->same) {
      w->same[2 * w->n_same] = (tombola_token)(*first & ~TOMBOLA__SAME_BYTES);
      w->same[2 * w->n_same + 1] = (tombola_token)token;
    }
  }
  w->n_same++;
}

/* The trie of n sorted entries. */
static struct tombola__trie_span append(struct tombola__trie_writer *w,
                                        const struct tombola__trie_entry *entries, size_t n) {
  const size_t first = w->at;
  size_t depth = 0;
  for (size_t i = 0; i < n; i++) {
    const struct tombola__trie_entry *const entry = &entries[i];
    const size_t shared = i ? common(w->trie, entry - 1, entry) : 0;
    if (i && shared == entry->length && entry[-1].length == entry->length) {
      add_same(w, entry->token);
      continue;
    }
    if (!w->nodes) {
      w->at += entry->length - shared;
      continue;
    }
    while (depth > shared)
      w->nodes[w->stack[--depth]].end = (uint32_t)w->at;
    for (; depth < entry->length; depth++) {
      w->stack[depth] = (uint32_t)w->at;
      w->nodes[w->at++] = (struct tombola__trie_node){
          .token = TOMBOLA__NO_NODE_TOKEN,
          .place = (uint32_t)(depth + 1) << 8 | byte_at(w->trie, entry, depth),
      };
    }
    w->nodes[w->at - 1].token = entry->token;
  }
  while (depth > 0)
    w->nodes[w->stack[--depth]].end = (uint32_t)w->at;
  return (struct tombola__trie_span){(uint32_t)first, (uint32_t)w->at};
}

/* The pairs lie by rising bytes; they are few, and are wanted by rising ids. A binary merge would do as well: this is
 * a heap, which needs no room. */
static void sift(tombola_token *pairs, size_t at, size_t n) {
  for (size_t child; (child = 2 * at + 1) < n; at = child) {
    const tombola_token *const c = pairs + 2 * child;
    if (child + 1 < n && (c[2] > c[0] || (c[2] == c[0] && c[3] > c[1]))) child++;
    tombola_token *const a = pairs + 2 * at, *const b = pairs + 2 * child;
    if (a[0] > b[0] || (a[0] == b[0] && a[1] > b[1])) return;
    const tombola_token held[2] = {a[0], a[1]};
    memcpy(a, b, sizeof held);
    memcpy(b, held, sizeof held);
  }
}

static void sort_pairs(tombola_token *pairs, size_t n) {
  for (size_t i = n / 2; i-- > 0;)
    sift(pairs, i, n);
  while (n-- > 1) {
    const tombola_token held[2] = {pairs[0], pairs[1]};
    memcpy(pairs, pairs + 2 * n, sizeof held);
    memcpy(pairs + 2 * n, held, sizeof held);
    sift(pairs, 0, n);
  }
}

const tombola_token *tombola__trie_same(const tombola_trie *trie, tombola_token token, size_t *n) {
  size_t low = 0, high = trie->n_same;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (trie->same[2 * middle] < token)
      low = middle + 1;
    else
      high = middle;
  }
  for (high = low; high < trie->n_same && trie->same[2 * high] == token;)
    high++;
  *n = high - low;
  return trie->same + 2 * low;
}

/* All tries: first counts their nodes, then writes them. */
static bool write_tries(tombola_trie *trie, const struct tombola__trie_entry *sorted,
                        const struct tombola__trie_entry *parted, size_t n, size_t n_rest) {
  struct tombola__trie_writer w = {.trie = trie,
                                   .stack = tombola__new(&trie->allocator, trie->longest, sizeof *w.stack)};
  for (int fill = 0; fill < 2 && w.stack; fill++) {
    w.at = w.n_same = 0;
    trie->all = append(&w, sorted, n);
    if (!fill) trie->same = tombola__new(&trie->allocator, 2 * w.n_same, sizeof *trie->same);
    trie->n_same = w.n_same;
    w.same = NULL; /* those of the other tries are the same again */
    trie->rest = append(&w, parted + n - n_rest, n_rest);
    for (size_t g = 0, from = 0; g < trie->n_groups; g++) {
      const size_t here = trie->groups[g].last - trie->groups[g].first;
      trie->groups[g].nodes = append(&w, parted + from, here);
      from += here;
    }
    if (fill) break;
    if (w.at >= UINT32_MAX || !trie->same) break;
    trie->nodes = w.nodes = tombola__new(&trie->allocator, w.at, sizeof *w.nodes);
    if (!w.nodes) break;
    w.same = trie->same;
  }
  trie->n_nodes = w.at;
  trie->size += trie->n_nodes * sizeof *trie->nodes + 2 * trie->n_same * sizeof *trie->same;
  tombola__free(&trie->allocator, w.stack);
  return trie->nodes != NULL;
}

static bool find_matchable(tombola_trie *trie) {
  trie->matchable = tombola__new(&trie->allocator, trie->words, sizeof *trie->matchable);
  if (!trie->matchable) return false;
  for (uint32_t token = 0; token < trie->count; token++)
    trie->matchable[token / 32] |= (uint32_t)tombola__token_is_matchable(trie->vocabulary, token)
                                   << token % 32;
  trie->size += trie->words * sizeof *trie->matchable;
  return true;
}

/* The children of a node, or the roots, at the end of the list; false: no memory. */
static bool add_kids(tombola_trie *trie, size_t *room, struct tombola__trie_span span) {
  for (uint32_t i = span.first; i < span.end; i = trie->nodes[i].end) {
    if (trie->n_kids == *room) {
      const size_t wider = *room ? 2 * *room : 4096;
      struct tombola__trie_kid *const kids =
          tombola__resize(&trie->allocator, trie->kids, *room, wider, sizeof *kids);
      if (!kids) return false;
      trie->kids = kids;
      *room = wider;
    }
    trie->kids[trie->n_kids++] = (struct tombola__trie_kid){.place = i << 8 | (trie->nodes[i].place & 0xFF)};
  }
  return true;
}

static bool list_kids(tombola_trie *trie) {
  size_t room = 0, from = 0;
  if (trie->n_nodes >= (size_t)1 << 24) return true;
  if (!add_kids(trie, &room, trie->all)) return false;
  trie->n_roots = trie->n_kids;
  for (unsigned depth = 1; depth < TOMBOLA__KID_DEPTH; depth++) {
    const size_t to = trie->n_kids;
    for (; from < to; from++) {
      const uint32_t node = trie->kids[from].place >> 8, first = (uint32_t)trie->n_kids;
      const struct tombola__trie_span children = {node + 1, trie->nodes[node].end};
      if (!add_kids(trie, &room, children)) return false;
      trie->kids[from].first = first;
      trie->kids[from].n = (uint32_t)trie->n_kids - first;
    }
  }
  trie->size += room * sizeof *trie->kids;
  return true;
}

static bool build(tombola_trie *trie) {
  struct tombola__trie_entry *const a = tombola__new(&trie->allocator, trie->count, sizeof *a);
  struct tombola__trie_entry *const b = tombola__new(&trie->allocator, trie->count, sizeof *b);
  bool done = false;
  if (a && b) {
    const size_t n = gather(trie, a);
    size_t n_rest = 0;
    done =
        sort(trie, a, b, n) && tombola__slices(trie, b, n, a, &n_rest) && write_tries(trie, b, a, n, n_rest);
    if (done) sort_pairs(trie->same, trie->n_same);
    done = done && list_kids(trie) && tombola__text_tries(trie, a + n - n_rest, n_rest);
  }
  tombola__free(&trie->allocator, a);
  tombola__free(&trie->allocator, b);
  return done;
}

enum tombola_status tombola_trie_new(const tombola_vocabulary *vocabulary,
                                     const struct tombola_allocator *allocator, tombola_trie **out,
                                     struct tombola_error *error) {
  if (!out) return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "out", "out is NULL");
  *out = NULL;
  if (!vocabulary) return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "vocabulary", "vocabulary is NULL");
  const struct tombola_allocator use = tombola__allocator(allocator);
  tombola_trie *const trie = tombola__new(&use, 1, sizeof *trie);
  if (!trie) return tombola__no_memory(error);
  trie->allocator = use;
  trie->vocabulary = vocabulary;
  trie->count = tombola_vocabulary_count(vocabulary);
  trie->words = (trie->count + 31) / 32;
  trie->size = sizeof *trie;
  if (!find_matchable(trie) || !build(trie)) {
    tombola_trie_free(trie);
    return tombola__no_memory(error);
  }
  *out = trie;
  return TOMBOLA_OK;
}

void tombola_trie_free(tombola_trie *trie) {
  if (!trie) return;
  const struct tombola_allocator allocator = trie->allocator;
  void *const held[] = {trie->nodes, trie->same,      trie->groups,     trie->matchable,
                        trie->plain, trie->long_ones, trie->plain_masks};
  for (size_t i = 0; i < TOMBOLA__COUNT(held); i++)
    tombola__free(&allocator, held[i]);
  tombola__free(&allocator, trie->wide_masks);
  tombola__free(&allocator, trie->kids);
  tombola__text_tries_free(trie);
  tombola__free(&allocator, trie);
}

size_t tombola_trie_size(const tombola_trie *trie) {
  return trie->size;
}
