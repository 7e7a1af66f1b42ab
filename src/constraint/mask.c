/* SPDX-License-Identifier: Apache-2.0 */
/* Masks: which tokens may come where a machine is. Whole sets of plain tokens are taken where their characters are free,
 * and the rest is walked: the machine reads a trie's bytes depth first, and what it refuses is skipped. */
#include <string.h>

#include "grammar.h"
#include "outlook.h"
#include "token.h"

/* Where allowed tokens go. */
struct sink {
  const tombola_trie *trie;
  struct tombola__mask_room *room;
  bool many; /* more than the room's list holds, or some that it doesn't hold */

  /* What can be read where the machine is: exactly; and not more than, also behind it until a string begins when the
   * whole text is JSON. */
  bool firsts[256];
  struct tombola__outlook outlook;
  bool is_json;
};

static void allow(struct sink *sink, uint32_t token) {
  struct tombola__mask_room *const room = sink->room;
  room->words[token / 32] |= (uint32_t)1 << token % 32;
  if (room->n_ids < TOMBOLA__LISTED)
    room->ids[room->n_ids++] = (tombola_token)token;
  else
    sink->many = true;
}

static void allow_same(struct sink *sink, uint32_t token) {
  size_t n;
  token &= ~TOMBOLA__SAME_BYTES;
  const tombola_token *const pairs = tombola__trie_same(sink->trie, (tombola_token)token, &n);
  allow(sink, token);
  for (size_t i = 0; i < n; i++)
    allow(sink, (uint32_t)pairs[2 * i + 1]);
}

/* Whether a byte at this depth can be told to be dead without reading it. `quote`: the depth of the path's first one. */
static bool is_dead(const struct sink *sink, uint32_t depth, uint32_t quote, uint8_t byte) {
  if (depth == 1) return !sink->firsts[byte];
  return depth <= quote && !(sink->outlook.bytes[byte / 32] >> byte % 32 & 1);
}

static void walk(struct sink *sink, struct tombola__machine *m, struct tombola__trie_span span) {
  const struct tombola__trie_node *const nodes = sink->trie->nodes;
  const uint32_t no_quote = sink->is_json ? UINT32_MAX : 0;
  uint32_t read = 0, quote = no_quote; /* bytes of the path, which the machine has read */
  for (uint32_t i = span.first; i < span.end;) {
    const struct tombola__trie_node *const node = &nodes[i];
    const uint32_t depth = node->place >> 8;
    const uint8_t byte = (uint8_t)node->place;
    if (read >= depth) {
      tombola__machine_pop(m, read - depth + 1);
      read = depth - 1;
      if (quote >= depth) quote = no_quote;
    }
    if (is_dead(sink, depth, quote, byte) || !tombola__machine_push(m, byte)) {
      i = node->end;
      continue;
    }
    read = depth;
    if (byte == '"' && depth < quote) quote = depth;
    if (node->token != TOMBOLA__NO_NODE_TOKEN) {
      if (node->token & TOMBOLA__SAME_BYTES)
        allow_same(sink, node->token);
      else
        allow(sink, node->token);
    }
    i++;
  }
  tombola__machine_pop(m, read);
}

/* ---- sets that are taken whole ---- */

/* All plain tokens of at most `length` characters. */
static void take_plain(struct sink *sink, uint32_t length) {
  const tombola_trie *const trie = sink->trie;
  struct tombola__mask_room *const room = sink->room;
  const size_t shown = length < TOMBOLA__MASK_LENGTHS ? length : TOMBOLA__MASK_LENGTHS;
  memcpy(room->words, tombola__plain_mask(trie, shown), trie->words * sizeof *room->words);
  for (size_t i = 0; i < trie->n_long && trie->long_ones[i].characters <= length; i++)
    room->words[trie->long_ones[i].token / 32] |= (uint32_t)1 << trie->long_ones[i].token % 32;
  sink->many = true;
  room->dirty = true;
}

static void take_group(struct sink *sink, const struct tombola__group *group, uint32_t length) {
  const struct tombola__plain *const plain = sink->trie->plain;
  for (uint32_t i = group->first; i < group->last && plain[i].characters <= length; i++)
    allow(sink, plain[i].token);
}

/* How many tokens the groups of these categories have. */
static size_t covered(const tombola_trie *trie, uint32_t free) {
  size_t n = 0;
  for (size_t g = 0; g < trie->n_groups; g++)
    if (!(trie->groups[g].signature & ~free)) n += trie->groups[g].last - trie->groups[g].first;
  return n;
}

static void try_bytes(struct sink *sink, struct tombola__machine *m) {
  for (unsigned byte = 0; byte < 256; byte++) {
    const bool may = sink->outlook.bytes[byte / 32] >> byte % 32 & 1;
    sink->firsts[byte] = may && tombola__machine_push(m, (uint8_t)byte);
    if (sink->firsts[byte]) tombola__machine_pop(m, 1);
  }
}

/* Where only some characters are free: groups of them are taken, the others walked. */
static void take_groups(struct sink *sink, struct tombola__machine *m, uint32_t free, uint32_t length) {
  const tombola_trie *const trie = sink->trie;
  for (size_t g = 0; g < trie->n_groups; g++) {
    const struct tombola__group *const group = &trie->groups[g];
    const bool is_free = !(group->signature & ~free);
    if (is_free) take_group(sink, group, length);
    if (is_free && group->most <= length) continue;
    if (is_free) sink->many = true; /* what was taken is found again, which no list may hold twice */
    walk(sink, m, group->nodes);
  }
  walk(sink, m, trie->rest);
}

/* A walk of all costs what can be read; taking groups pays off when it spares more than the groups' own beginnings. */
static bool is_worth_it(const tombola_trie *trie, uint32_t free) {
  return covered(trie, free) > 8 * trie->n_groups;
}

static void fill(struct sink *sink, struct tombola__machine *m) {
  const tombola_trie *const trie = sink->trie;
  struct tombola__freedom freedom = {.length = 0};
  uint32_t free = 0;
  tombola__machine_outlook(m, &sink->outlook);
  try_bytes(sink, m);
  if (tombola__machine_freedom(m, &freedom) && freedom.length > 0) free = tombola__free_categories(&freedom);
  if (free == tombola__all_categories()) {
    take_plain(sink, freedom.length);
    const bool all = freedom.length >= trie->most_characters || sink->outlook.most <= freedom.length;
    walk(sink, m, all ? trie->rest : trie->all);
  } else if (free && is_worth_it(trie, free)) {
    take_groups(sink, m, free, freedom.length);
  } else {
    walk(sink, m, trie->all);
  }
}

/* ---- tokens that aren't in the tries ---- */

/* Whether a special token's bytes may be read where the machine is. */
static bool reads_special(struct tombola_grammar *grammar, struct tombola__machine *m,
                          const struct tombola__special *special) {
  size_t length, n = 0;
  const char *const bytes = tombola_vocabulary_bytes(grammar->trie->vocabulary, special->token, &length);
  const bool engaged = tombola__machine_engaged(m);
  while (n < length && tombola__machine_push(m, (uint8_t)bytes[n]))
    n++;
  const bool begins = special->trigger && !engaged;
  const bool fits = n == length && (begins || (special->end && engaged && !tombola__machine_engaged(m)));
  tombola__machine_pop(m, n);
  return fits;
}

static const struct tombola__special *special_of(const struct tombola_grammar *grammar, tombola_token token) {
  for (size_t i = 0; i < grammar->n_specials; i++)
    if (grammar->specials[i].token == token) return &grammar->specials[i];
  return NULL;
}

size_t tombola__token_push(struct tombola_grammar *grammar, struct tombola__machine *machine,
                           tombola_token token) {
  const tombola_trie *const trie = grammar->trie;
  if (!tombola__token_is_matchable(trie->vocabulary, (uint32_t)token)) return 0;
  size_t length;
  const char *const bytes = tombola_vocabulary_bytes(trie->vocabulary, token, &length);
  bool read = length > 0 && length <= trie->longest;
  if (tombola_vocabulary_flags(trie->vocabulary, token) & TOMBOLA_TOKEN_SPECIAL) {
    const struct tombola__special *const special = special_of(grammar, token);
    read = special && reads_special(grammar, machine, special);
  }
  return tombola__machine_push_token(machine, (uint32_t)token, bytes, length, read);
}

static void allow_ends(struct sink *sink) {
  size_t n;
  const tombola_token *const ends = tombola_vocabulary_ends(sink->trie->vocabulary, &n);
  for (size_t i = 0; i < n; i++)
    allow(sink, (uint32_t)ends[i]);
}

static void allow_specials(struct sink *sink, struct tombola_grammar *grammar, struct tombola__machine *m) {
  for (size_t i = 0; i < grammar->n_specials; i++)
    if (reads_special(grammar, m, &grammar->specials[i])) allow(sink, (uint32_t)grammar->specials[i].token);
}

/* ---- tokens that are taken as a whole ---- */

/* Those that places await by name. */
static void allow_awaited(struct sink *sink, struct tombola__machine *m) {
  size_t n;
  const struct tombola__thread *const threads = tombola__machine_readings(m, &n);
  for (size_t i = 0; i < n; i++) {
    uint32_t token;
    bool negated;
    if (!tombola__rules_awaits(&threads[i], &token, &negated)) continue;
    if (!(sink->room->words[token / 32] >> token % 32 & 1)) allow(sink, token);
  }
}

/* Where a place awaits any token but one nothing has to be walked: that one is tried. False: there is no such place. */
static bool allow_all_but_one(struct sink *sink, struct tombola_grammar *grammar,
                              struct tombola__machine *m) {
  size_t n, i = 0;
  uint32_t token = 0;
  bool negated = false;
  const struct tombola__thread *const threads = tombola__machine_readings(m, &n);
  while (i < n && !(tombola__rules_awaits(&threads[i], &token, &negated) && negated))
    i++;
  if (i == n) return false;
  memcpy(sink->room->words, sink->trie->matchable, sink->trie->words * sizeof *sink->room->words);
  sink->many = true;
  sink->room->dirty = true;
  if (token >= sink->trie->count) return true;
  const size_t levels = tombola__token_push(grammar, m, (tombola_token)token);
  tombola__machine_pop(m, levels);
  if (!levels) sink->room->words[token / 32] &= ~((uint32_t)1 << token % 32);
  return true;
}

/* ---- the room ---- */

enum tombola_status tombola__mask_room_new(struct tombola_grammar *grammar, struct tombola__mask_room *room) {
  *room = (struct tombola__mask_room){0};
  if (!grammar->trie) return TOMBOLA_OK;
  room->words = tombola__new(&grammar->allocator, grammar->trie->words, sizeof *room->words);
  return room->words ? TOMBOLA_OK : TOMBOLA_NO_MEMORY;
}

void tombola__mask_room_free(struct tombola_grammar *grammar, struct tombola__mask_room *room) {
  tombola__free(&grammar->allocator, room->words);
  *room = (struct tombola__mask_room){0};
}

static void clear_room(const tombola_trie *trie, struct tombola__mask_room *room) {
  if (room->dirty)
    memset(room->words, 0, trie->words * sizeof *room->words);
  else
    for (size_t i = 0; i < room->n_ids; i++)
      room->words[room->ids[i] / 32] = 0;
  room->n_ids = 0;
  room->dirty = false;
}

static void sort_ids(tombola_token *ids, size_t n) {
  for (size_t i = 1; i < n; i++) {
    const tombola_token id = ids[i];
    size_t at = i;
    for (; at > 0 && ids[at - 1] > id; at--)
      ids[at] = ids[at - 1];
    ids[at] = id;
  }
}

/* ---- the cache ---- */

static struct tombola__mask_entry *find(struct tombola__mask_cache *cache, const uint64_t key[2]) {
  size_t at = key[0] & (cache->n_slots - 1);
  for (;; at = (at + 1) & (cache->n_slots - 1)) {
    struct tombola__mask_entry *const e = &cache->slots[at];
    if ((!e->words && !e->ids) || (e->key[0] == key[0] && e->key[1] == key[1])) return e;
  }
}

static bool make_space(struct tombola_grammar *grammar) {
  struct tombola__mask_cache *const cache = &grammar->masks;
  if (cache->n * 4 < cache->n_slots * 3) return true;
  struct tombola__mask_cache wider = *cache;
  wider.n_slots = cache->n_slots ? 2 * cache->n_slots : 64;
  const size_t more = (wider.n_slots - cache->n_slots) * sizeof *wider.slots;
  if (more > cache->max_bytes - cache->bytes) return false;
  wider.slots = tombola__new(&grammar->allocator, wider.n_slots, sizeof *wider.slots);
  if (!wider.slots) return false;
  wider.bytes += more;
  for (size_t i = 0; i < cache->n_slots; i++)
    if (cache->slots[i].words || cache->slots[i].ids) *find(&wider, cache->slots[i].key) = cache->slots[i];
  tombola__free(&grammar->allocator, cache->slots);
  *cache = wider;
  return true;
}

/* Puts what is in the room into the cache, if that has space. Words change hands, and the room gets others. */
static void keep(struct tombola_grammar *grammar, struct tombola__mask_room *room, const uint64_t key[2],
                 bool many) {
  struct tombola__mask_cache *const cache = &grammar->masks;
  const size_t bytes =
      many ? grammar->trie->words * sizeof(uint32_t) : (room->n_ids + 1) * sizeof(tombola_token);
  if (!make_space(grammar) || bytes > cache->max_bytes - cache->bytes) return;
  void *const memory = grammar->allocator.allocate(grammar->allocator.context, bytes);
  if (!memory) return;
  struct tombola__mask_entry *const e = find(cache, key);
  *e = (struct tombola__mask_entry){.key = {key[0], key[1]}};
  if (many) {
    e->words = room->words;
    room->words = memory;
    room->n_ids = 0;
    room->dirty = true;
  } else {
    e->ids = memory;
    e->n_ids = (uint32_t)room->n_ids;
    memcpy(e->ids, room->ids, room->n_ids * sizeof *e->ids);
  }
  cache->n++;
  cache->bytes += bytes;
}

void tombola__mask_cache_free(struct tombola_grammar *grammar) {
  struct tombola__mask_cache *const cache = &grammar->masks;
  for (size_t i = 0; i < cache->n_slots; i++) {
    tombola__free(&grammar->allocator, cache->slots[i].words);
    tombola__free(&grammar->allocator, cache->slots[i].ids);
  }
  tombola__free(&grammar->allocator, cache->slots);
  *cache = (struct tombola__mask_cache){0};
}

/* ---- all of it ---- */

static enum tombola_status show(const tombola_trie *trie, const uint32_t *words, const tombola_token *ids,
                                size_t n, struct tombola_mask *mask, struct tombola_error *error) {
  *mask = (struct tombola_mask){.words = words, .count = trie->count, .ids = ids, .n_ids = ids ? n : 0};
  if (!ids || n > 0) return TOMBOLA_OK;
  return tombola__fail(error, TOMBOLA_NO_CANDIDATE, NULL,
                       "no token of the vocabulary leads to a complete text");
}

/* From the cache: a list has its bits set in the room. */
static enum tombola_status show_entry(const tombola_trie *trie, const struct tombola__mask_entry *e,
                                      struct tombola__mask_room *room, struct tombola_mask *mask,
                                      struct tombola_error *error) {
  if (e->words) return show(trie, e->words, NULL, 0, mask, error);
  clear_room(trie, room);
  for (size_t i = 0; i < e->n_ids; i++)
    room->words[e->ids[i] / 32] |= (uint32_t)1 << e->ids[i] % 32;
  memcpy(room->ids, e->ids, e->n_ids * sizeof *e->ids);
  room->n_ids = e->n_ids;
  return show(trie, room->words, e->ids, e->n_ids, mask, error);
}

static enum tombola_status failed(struct tombola_grammar *grammar, struct tombola_error *error) {
  const enum tombola_status status = grammar->store.status;
  if (error) *error = grammar->store.error;
  tombola__store_clear(&grammar->store);
  return status;
}

enum tombola_status tombola__mask_at(struct tombola_grammar *grammar, struct tombola__machine *machine,
                                     struct tombola__mask_room *room, struct tombola_mask *mask,
                                     struct tombola_error *error) {
  const tombola_trie *const trie = grammar->trie;
  uint64_t key[2] = {0, 0};
  if (machine) {
    tombola__machine_key(machine, trie->longest, key);
    if (grammar->store.status) return failed(grammar, error);
    /* What else decides about tokens: the end, and special ones. */
    key[0] =
        tombola__mix(key[0], 2u * tombola__machine_complete(machine) + tombola__machine_engaged(machine));
    if (grammar->masks.n_slots) {
      const struct tombola__mask_entry *const e = find(&grammar->masks, key);
      if (e->words || e->ids) return show_entry(trie, e, room, mask, error);
    }
  }
  struct sink sink = {.trie = trie, .room = room, .is_json = grammar->program.part == TOMBOLA__JSON};
  clear_room(trie, room);
  if (machine && !allow_all_but_one(&sink, grammar, machine)) {
    fill(&sink, machine);
    allow_specials(&sink, grammar, machine);
    allow_awaited(&sink, machine);
  }
  if (!machine || tombola__machine_complete(machine)) allow_ends(&sink);
  if (sink.many) room->dirty = true;
  if (grammar->store.status) {
    room->dirty = true;
    return failed(grammar, error);
  }
  if (!sink.many) sort_ids(room->ids, room->n_ids);
  const uint32_t *const words = room->words; /* they stay where they are when they change hands */
  if (machine) keep(grammar, room, key, sink.many);
  return show(trie, words, sink.many ? NULL : room->ids, room->n_ids, mask, error);
}
