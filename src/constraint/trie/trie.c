/* SPDX-License-Identifier: Apache-2.0 */
/* Making the tries: tokens are sorted by their first bytes, which are in a word with their ids, then among those that
 * have them in common with 16 bytes at hand, so that the vocabulary is seldom looked at in this order. What is sorted is
 * counted, then written depth first. Half of the time goes for memory that is touched for the first time. */
#include "constraint/trie/trie.h"

#include <string.h>

#include "constraint/machine/token.h"

#define MOST_LENGTH (((size_t)1 << 24) - 1) /* of a token: its depth must fit into a node */
#define AT_HAND     16                      /* bytes of a token that an entry has */
#define RUN         ((size_t)16)            /* entries that are sorted by insertion */
#define KEY_DIGITS  5                       /* bytes of a key */

static const char *bytes_of(const tombola_trie *trie, uint32_t token) {
  size_t length;
  return tombola_vocabulary_bytes(trie->vocabulary, (tombola_token)token, &length);
}

/* The first 8 bytes, the first one highest, 0 behind the end. There are 8 readable ones. */
static uint64_t word_of(const char *text, size_t length) {
  const uint8_t *const b = (const uint8_t *)text;
  const uint64_t word = (uint64_t)b[0] << 56 | (uint64_t)b[1] << 48 | (uint64_t)b[2] << 40 |
                        (uint64_t)b[3] << 32 | (uint64_t)b[4] << 24 | (uint64_t)b[5] << 16 |
                        (uint64_t)b[6] << 8 | b[7];
  return length >= 8 ? word : word & ~(UINT64_MAX >> 8 * length);
}

/* Where the bytes of all tokens end, which lie one after the other. */
static const char *end_of(const tombola_vocabulary *vocabulary) {
  size_t length;
  const char *const last = tombola_vocabulary_bytes(
      vocabulary, (tombola_token)(tombola_vocabulary_count(vocabulary) - 1), &length);
  return last + length;
}

/* An entry of a token; `end`: of the vocabulary's bytes. */
static struct tombola__trie_entry entry_of(const char *bytes, size_t length, const char *end,
                                           uint32_t token) {
  char near_end[AT_HAND] = {0};
  const char *const text = (size_t)(end - bytes) >= AT_HAND ? bytes : near_end;
  if (text == near_end) memcpy(near_end, bytes, length);
  return (struct tombola__trie_entry){word_of(text, length), length > 8 ? word_of(text + 8, length - 8) : 0,
                                      token, (uint32_t)length};
}

/* The keys of the tokens that can be part of a value, in the order of their ids; and what an element can match. */
static size_t gather(tombola_trie *trie, uint64_t *keys) {
  const unsigned out = TOMBOLA_TOKEN_SPECIAL | TOMBOLA_TOKEN_END | TOMBOLA_TOKEN_UNUSED;
  const tombola_vocabulary *const v = trie->vocabulary;
  const char *const end = end_of(v);
  size_t n = 0, length;
  for (uint32_t token = 0; token < trie->count; token++) {
    const char *const bytes = tombola_vocabulary_bytes(v, (tombola_token)token, &length);
    const unsigned flags = tombola_vocabulary_flags(v, (tombola_token)token);
    trie->matchable[token / 32] |= (uint32_t)tombola__is_matchable(flags, length) << token % 32;
    if (length == 0 || length > MOST_LENGTH || flags & out) continue;
    if (length > trie->longest) trie->longest = length;
    keys[n++] = entry_of(bytes, length, end, token).head >> TOMBOLA__KEY_TOKEN_BITS
                                                                << TOMBOLA__KEY_TOKEN_BITS |
                token;
  }
  return n;
}

static bool is_before(const tombola_trie *trie, const struct tombola__trie_entry *a,
                      const struct tombola__trie_entry *b) {
  const size_t both = a->length < b->length ? a->length : b->length;
  if (a->head != b->head) return a->head < b->head;
  if (a->next != b->next) return a->next < b->next;
  if (both > AT_HAND) {
    const int order =
        memcmp(bytes_of(trie, a->token) + AT_HAND, bytes_of(trie, b->token) + AT_HAND, both - AT_HAND);
    if (order != 0) return order < 0;
  }
  return a->length != b->length ? a->length < b->length : a->token < b->token;
}

/* A merge sort of runs that were sorted by insertion. */
static void sort_ties(const tombola_trie *trie, struct tombola__trie_entry *entries,
                      struct tombola__trie_entry *scratch, size_t n) {
  for (size_t i = 1; i < n; i++) {
    const struct tombola__trie_entry held = entries[i];
    size_t at = i;
    for (; at % RUN && is_before(trie, &held, &entries[at - 1]); at--)
      entries[at] = entries[at - 1];
    entries[at] = held;
  }
  for (size_t width = RUN; width < n; width *= 2) {
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

/* By the bytes that they have, the last one first; equal ones stay in their order. Where they are then. */
static const uint64_t *sort_keys(uint64_t *keys, uint64_t *scratch, size_t n) {
  uint32_t places[KEY_DIGITS][256] = {{0}};
  for (size_t i = 0; i < n; i++)
    for (unsigned d = 0; d < KEY_DIGITS; d++)
      places[d][keys[i] >> (TOMBOLA__KEY_TOKEN_BITS + 8 * d) & 0xFF]++;
  for (unsigned d = 0; d < KEY_DIGITS; d++) {
    uint32_t sum = 0;
    for (size_t digit = 0; digit < 256; digit++) {
      const uint32_t here = places[d][digit];
      places[d][digit] = sum;
      sum += here;
    }
    for (size_t i = 0; i < n; i++)
      scratch[places[d][keys[i] >> (TOMBOLA__KEY_TOKEN_BITS + 8 * d) & 0xFF]++] = keys[i];
    uint64_t *const sorted = scratch;
    scratch = keys;
    keys = sorted;
  }
  return keys;
}

/* Entries by bytes, and by ids where those are equal: by their keys, then those of the same 5 bytes by comparing. The
 * memory of the keys is room for as many entries. */
static void sort(const tombola_trie *trie, void *memory, size_t n, struct tombola__trie_entry *entries) {
  const uint64_t *const keys = sort_keys(memory, (uint64_t *)memory + n, n);
  const char *const end = end_of(trie->vocabulary);
  for (size_t i = 0; i < n; i++) {
    const uint32_t token = tombola__key_token(keys[i]);
    size_t length;
    const char *const bytes = tombola_vocabulary_bytes(trie->vocabulary, (tombola_token)token, &length);
    entries[i] = entry_of(bytes, length, end, token);
  }
  for (size_t from = 0, to; from < n; from = to) {
    const uint64_t first = entries[from].head >> TOMBOLA__KEY_TOKEN_BITS;
    for (to = from + 1; to < n && entries[to].head >> TOMBOLA__KEY_TOKEN_BITS == first;)
      to++;
    if (to - from > 1) sort_ties(trie, entries + from, memory, to - from);
  }
}

/* How many bytes two entries begin with in common. */
static size_t common(const tombola_trie *trie, const struct tombola__trie_entry *a,
                     const struct tombola__trie_entry *b) {
  const size_t both = a->length < b->length ? a->length : b->length;
  size_t n;
  if (a->head != b->head)
    n = (size_t)__builtin_clzll(a->head ^ b->head) / 8;
  else if (both <= 8)
    return both;
  else if (a->next != b->next)
    n = 8 + (size_t)__builtin_clzll(a->next ^ b->next) / 8;
  else if (both <= AT_HAND)
    return both;
  else {
    const char *const left = bytes_of(trie, a->token), *const right = bytes_of(trie, b->token);
    for (n = AT_HAND; n < both && left[n] == right[n];)
      n++;
  }
  return n < both ? n : both;
}

/* Where tries are written to. */
struct writer {
  const tombola_trie *trie;
  struct tombola__trie_node *nodes;
  uint32_t at;
  tombola_token *same; /* where the next pair goes; NULL: they are known already */
};

/* Another token with the bytes of the last one. */
static void add_same(struct writer *w, uint32_t *first, uint32_t token) {
  *first |= TOMBOLA__SAME_BYTES;
  if (!w->same) return;
  *w->same++ = (tombola_token)(*first & ~TOMBOLA__SAME_BYTES);
  *w->same++ = (tombola_token)token;
}

static uint8_t byte_at(const struct tombola__trie_entry *entry, size_t i) {
  return (uint8_t)((i < 8 ? entry->head : entry->next) >> (56 - 8 * (i % 8)));
}

/* Closes the nodes deeper than `to`; the deepest one that is still open. */
static uint32_t close_nodes(struct tombola__trie_node *nodes, uint32_t open, uint32_t at, size_t depth,
                            size_t to) {
  for (; depth > to; depth--) {
    const uint32_t parent = nodes[open].end;
    nodes[open].end = at;
    open = parent;
  }
  return open;
}

/* The trie of n entries, sorted, and in this order. Where a node ends isn't known while it is open: it has its parent there. */
static struct tombola__trie_span append(struct writer *w, const struct tombola__trie_entry *sorted,
                                        const uint32_t *order, size_t n) {
  static const struct tombola__trie_entry none = {0};
  struct tombola__trie_node *const nodes = w->nodes;
  const struct tombola__trie_entry *before = &none;
  const uint32_t first = w->at;
  uint32_t at = first, open = first;
  for (size_t i = 0; i < n; i++) {
    const struct tombola__trie_entry *const entry = &sorted[order ? order[i] : i];
    const size_t shared = common(w->trie, before, entry), length = entry->length;
    if (shared == length) { /* of what is in front of it only the same is its beginning */
      add_same(w, &nodes[open].token, entry->token);
      continue;
    }
    const char *const text = length > AT_HAND ? bytes_of(w->trie, entry->token) : NULL;
    open = close_nodes(nodes, open, at, before->length, shared);
    for (size_t depth = shared; depth < length; open = at++) {
      const uint8_t byte = depth < AT_HAND ? byte_at(entry, depth) : (uint8_t)text[depth];
      nodes[at] = (struct tombola__trie_node){open, TOMBOLA__NO_NODE_TOKEN, (uint32_t)++depth << 8 | byte};
    }
    nodes[open].token = entry->token;
    before = entry;
  }
  close_nodes(nodes, open, at, before->length, 0);
  w->at = at;
  return (struct tombola__trie_span){first, at};
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

/* Where the entries of the groups are, one group after the other, then those of the rest: `order`. How many nodes all
 * tries have, and how many pairs of tokens with the same bytes there are. */
static void part(tombola_trie *trie, const uint32_t *group, const struct tombola__trie_entry *sorted,
                 size_t n, uint32_t *order) {
  size_t rest = trie->n_plain;
  for (size_t g = 0; g < trie->n_groups; g++)
    trie->groups[g].last = trie->groups[g].first;
  for (size_t i = 0; i < n; i++) {
    const uint32_t g = group[sorted[i].token];
    const bool is_rest = g == TOMBOLA__NO_GROUP;
    const size_t at = is_rest ? rest++ : trie->groups[g].last++;
    const bool is_first = at == (is_rest ? trie->n_plain : trie->groups[g].first);
    const size_t more = sorted[i].length - (i ? common(trie, &sorted[i - 1], &sorted[i]) : 0);
    trie->n_same += !more;
    trie->n_nodes +=
        more + sorted[i].length - (is_first ? 0 : common(trie, &sorted[order[at - 1]], &sorted[i]));
    order[at] = (uint32_t)i;
  }
}

/* All tries. */
static bool write_tries(tombola_trie *trie, const struct tombola__trie_entry *sorted, const uint32_t *order,
                        size_t n) {
  if (trie->n_nodes >= UINT32_MAX) return false;
  trie->nodes = tombola__trie_room(trie, trie->n_nodes, sizeof *trie->nodes);
  trie->same = tombola__trie_room(trie, 2 * trie->n_same, sizeof *trie->same);
  if (!trie->nodes || !trie->same) return false;
  struct writer w = {.trie = trie, .nodes = trie->nodes, .same = trie->same};
  trie->all = append(&w, sorted, NULL, n);
  w.same = NULL; /* those of the other tries are the same again */
  trie->rest = append(&w, sorted, order + trie->n_plain, n - trie->n_plain);
  for (size_t g = 0; g < trie->n_groups; g++) {
    struct tombola__group *const group = &trie->groups[g];
    group->nodes = append(&w, sorted, order + group->first, group->last - group->first);
  }
  sort_pairs(trie->same, trie->n_same);
  trie->size += trie->n_nodes * sizeof *trie->nodes + 2 * trie->n_same * sizeof *trie->same;
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

/* The wide masks, in the memory of the entries, whose pages were touched already. False: no memory. */
static bool widen(tombola_trie *trie, struct tombola__trie_entry *entries) {
  const size_t size = TOMBOLA__WIDE_GROUPS * TOMBOLA__WIDE_LENGTHS * trie->words * sizeof *trie->wide_masks;
  trie->wide_masks = tombola__resize(&trie->allocator, entries, trie->count * sizeof *entries, size, 1);
  if (!trie->wide_masks) return false;
  tombola__slices_widen(trie);
  trie->size += size;
  return true;
}

/* What is held for the time of the building: `keys` is room for as many entries. */
static bool build(tombola_trie *trie) {
  struct tombola__trie_entry *const entries = tombola__trie_room(trie, trie->count, sizeof *entries);
  void *const keys = tombola__trie_room(trie, trie->count, sizeof *entries);
  uint32_t *const group = tombola__trie_room(trie, trie->count, sizeof *group), *const order = keys;
  bool done = false, widened = false;
  trie->matchable = tombola__new(&trie->allocator, trie->words, sizeof *trie->matchable);
  if (entries && keys && group && trie->matchable) {
    const size_t n = gather(trie, keys);
    if (tombola__slices(trie, keys, n, (void *)entries, group)) {
      sort(trie, keys, n, entries);
      part(trie, group, entries, n, order);
      done = write_tries(trie, entries, order, n) && list_kids(trie) &&
             tombola__text_tries(trie, entries, order + trie->n_plain, n - trie->n_plain);
    }
    if (done) done = widened = widen(trie, entries);
  }
  if (!widened) tombola__free(&trie->allocator, entries);
  tombola__free(&trie->allocator, keys);
  tombola__free(&trie->allocator, group);
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
  trie->size = sizeof *trie + trie->words * sizeof *trie->matchable;
  if (!build(trie)) {
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
