/* SPDX-License-Identifier: Apache-2.0 */
/* Sheets that masks are made on, and the cache of those that were made. A mask is mostly one of a few bases and some
 * tokens more, so that only these are written and kept; a mask that is wanted again and again gets words of its own. */
#include <string.h>

#include "constraint/grammar.h"

#define OFTEN 4u /* uses after which a mask has words */

static size_t words_size(const struct tombola_grammar *grammar) {
  return grammar->trie->words * sizeof(uint32_t);
}

/* ---- sheets ---- */

enum tombola_status tombola__mask_room_new(struct tombola_grammar *grammar, struct tombola__mask_room *room) {
  *room = (struct tombola__mask_room){.backs = NULL};
  if (!grammar->trie) return TOMBOLA_OK;
  room->backs = tombola__new(&grammar->allocator, grammar->trie->text.n_backs + 1, sizeof *room->backs);
  room->taken = tombola__new(&grammar->allocator, grammar->trie->text.n_fronts + 1, sizeof *room->taken);
  bool done = room->backs && room->taken;
  for (size_t i = 0; i < TOMBOLA__COUNT(room->sheets) && done; i++) {
    struct tombola__sheet *const sheet = &room->sheets[i];
    sheet->words = tombola__new(&grammar->allocator, grammar->trie->words, sizeof *sheet->words);
    sheet->ids = tombola__new(&grammar->allocator, TOMBOLA__SHEET_IDS, sizeof *sheet->ids);
    done = sheet->words && sheet->ids;
  }
  return done ? TOMBOLA_OK : TOMBOLA_NO_MEMORY;
}

void tombola__mask_room_free(struct tombola_grammar *grammar, struct tombola__mask_room *room) {
  for (size_t i = 0; i < TOMBOLA__COUNT(room->sheets); i++) {
    tombola__free(&grammar->allocator, room->sheets[i].words);
    tombola__free(&grammar->allocator, room->sheets[i].ids);
  }
  tombola__free(&grammar->allocator, room->backs);
  tombola__free(&grammar->allocator, room->taken);
  *room = (struct tombola__mask_room){.backs = NULL};
}

struct tombola__sheet *tombola__sheet(struct tombola_grammar *grammar, struct tombola__mask_room *room,
                                      const uint32_t *base) {
  struct tombola__sheet *const sheet = &room->sheets[base != NULL];
  if (sheet->dirty || sheet->base != base) {
    if (base)
      memcpy(sheet->words, base, words_size(grammar));
    else
      memset(sheet->words, 0, words_size(grammar));
  } else {
    for (size_t i = 0; i < sheet->n_ids; i++) {
      const size_t word = (size_t)sheet->ids[i] / 32;
      sheet->words[word] = base ? base[word] : 0;
    }
  }
  sheet->base = base;
  sheet->n_ids = 0;
  sheet->dirty = sheet->is_kept = false;
  return sheet;
}

/* ---- the cache ---- */

static bool is_free(const struct tombola__mask_entry *e) {
  return !e->words && !e->ids;
}

static struct tombola__mask_entry *find(const struct tombola__mask_cache *cache, const uint64_t key[2]) {
  size_t at = key[0] & (cache->n_slots - 1);
  for (;; at = (at + 1) & (cache->n_slots - 1)) {
    struct tombola__mask_entry *const e = &cache->slots[at];
    if (is_free(e) || (e->key[0] == key[0] && e->key[1] == key[1])) return e;
  }
}

struct tombola__mask_entry *tombola__mask_find(struct tombola_grammar *grammar, const uint64_t key[2]) {
  if (!grammar->masks.n_slots) return NULL;
  struct tombola__mask_entry *const e = find(&grammar->masks, key);
  return is_free(e) ? NULL : e;
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
    if (!is_free(&cache->slots[i])) *find(&wider, cache->slots[i].key) = cache->slots[i];
  tombola__free(&grammar->allocator, cache->slots);
  *cache = wider;
  return true;
}

/* Counted memory; NULL: there is no space. */
static void *allocate(struct tombola_grammar *grammar, size_t bytes) {
  struct tombola__mask_cache *const cache = &grammar->masks;
  if (bytes > cache->max_bytes - cache->bytes) return NULL;
  void *const memory = grammar->allocator.allocate(grammar->allocator.context, bytes);
  if (memory) cache->bytes += bytes;
  return memory;
}

void tombola__mask_keep(struct tombola_grammar *grammar, struct tombola__sheet *sheet, const uint64_t key[2],
                        bool listed) {
  struct tombola__mask_entry entry = {.key = {key[0], key[1]}, .base = sheet->base, .listed = listed};
  if (!make_space(grammar)) return;
  if (sheet->dirty) {
    if (!(entry.words = allocate(grammar, words_size(grammar)))) return;
    memcpy(entry.words, sheet->words, words_size(grammar));
  } else {
    if (!(entry.ids = allocate(grammar, (sheet->n_ids + 1) * sizeof *entry.ids))) return;
    memcpy(entry.ids, sheet->ids, sheet->n_ids * sizeof *entry.ids);
    entry.n_ids = (uint32_t)sheet->n_ids;
    sheet->is_kept = true;
    memcpy(sheet->key, key, sizeof sheet->key);
  }
  *find(&grammar->masks, key) = entry;
  grammar->masks.n++;
}

/* Base and ids become words. */
static void use_words(struct tombola_grammar *grammar, struct tombola__mask_entry *e, const uint32_t *words) {
  uint32_t *const own = allocate(grammar, words_size(grammar));
  if (!own) return;
  memcpy(own, words, words_size(grammar));
  grammar->masks.bytes -= (e->n_ids + 1) * sizeof *e->ids;
  tombola__free(&grammar->allocator, e->ids);
  e->ids = NULL;
  e->words = own;
}

const uint32_t *tombola__mask_words(struct tombola_grammar *grammar, struct tombola__mask_entry *e,
                                    struct tombola__mask_room *room) {
  if (e->words) return e->words;
  struct tombola__sheet *sheet = &room->sheets[e->base != NULL];
  if (!sheet->is_kept || sheet->key[0] != e->key[0] || sheet->key[1] != e->key[1]) {
    sheet = tombola__sheet(grammar, room, e->base);
    for (size_t i = 0; i < e->n_ids; i++)
      sheet->words[e->ids[i] / 32] |= (uint32_t)1 << e->ids[i] % 32;
    memcpy(sheet->ids, e->ids, e->n_ids * sizeof *e->ids);
    sheet->n_ids = e->n_ids;
    sheet->is_kept = true;
    memcpy(sheet->key, e->key, sizeof sheet->key);
  }
  if (!e->listed && ++e->uses >= OFTEN) use_words(grammar, e, sheet->words);
  return e->words ? e->words : sheet->words;
}

void tombola__mask_cache_free(struct tombola_grammar *grammar) {
  struct tombola__mask_cache *const cache = &grammar->masks;
  for (size_t i = 0; i < cache->n_slots; i++) {
    tombola__free(&grammar->allocator, cache->slots[i].words);
    tombola__free(&grammar->allocator, cache->slots[i].ids);
  }
  tombola__free(&grammar->allocator, cache->slots);
  *cache = (struct tombola__mask_cache){0};
  tombola__mask_texts_free(grammar);
}
