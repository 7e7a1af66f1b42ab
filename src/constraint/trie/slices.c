/* SPDX-License-Identifier: Apache-2.0 */
/* Slices of a vocabulary: its plain tokens, by the characters that they are made of and by how many.
 *
 * A token is plain when it is made of characters that a JSON string holds as they are, ASCII and others; its last
 * character may be cut, because what begins with it can be completed by any of its continuations. */
#include "constraint/trie/trie.h"

#include <string.h>

#define NO_GROUP UINT32_MAX

/* The categories of ASCII characters; those beyond ASCII have one of their own, the highest. Characters that patterns
 * and triggers tell apart are apart. */
static const char *const categories[] = {
    "abcdef",     "ghijklmnopqrstuvwxyz",
    "ABCDEF",     "GHIJKLMNOPQRSTUVWXYZ",
    "0123456789", " ",
    "-",          "_",
    ".",          ",",
    "/",          ":",
    "@",          "+",
    "'",          "<",
    "[",          "{",
    "`",          "!#$%&()*;=>?]^|}~",
};

#define OTHERS ((uint32_t)1 << TOMBOLA__COUNT(categories))

uint32_t tombola__all_categories(void) {
  return 2 * OTHERS - 1;
}

uint32_t tombola__free_categories(const struct tombola__freedom *freedom) {
  uint32_t found = freedom->others ? OTHERS : 0;
  for (size_t i = 0; i < TOMBOLA__COUNT(categories); i++) {
    const char *c = categories[i];
    while (*c && freedom->ascii[(uint8_t)*c / 32] >> ((uint8_t)*c % 32) & 1)
      c++;
    if (!*c) found |= (uint32_t)1 << i;
  }
  return found;
}

uint32_t tombola__met_categories(const struct tombola__freedom *letters) {
  uint32_t found = letters->others ? OTHERS : 0;
  for (size_t i = 0; i < TOMBOLA__COUNT(categories); i++)
    for (const char *c = categories[i]; *c; c++)
      if (letters->ascii[(uint8_t)*c / 32] >> ((uint8_t)*c % 32) & 1) found |= (uint32_t)1 << i;
  return found;
}

/* The category's bit of an ASCII character; 0: not plain. */
static void category_table(uint32_t table[128]) {
  memset(table, 0, 128 * sizeof *table);
  for (size_t i = 0; i < TOMBOLA__COUNT(categories); i++)
    for (const char *c = categories[i]; *c; c++)
      table[(uint8_t)*c] = (uint32_t)1 << i;
}

/* How many bytes of a character beyond ASCII are at the front: all of them, or as many as there are when the end cuts
 * it; 0 when it is ill-formed (Unicode 15, table 3-7). */
static size_t other_character(const uint8_t *bytes, size_t length) {
  const uint8_t lead = bytes[0];
  if (lead < 0xC2 || lead > 0xF4) return 0;
  const size_t size = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  const size_t here = size < length ? size : length;
  if (here > 1) {
    const uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (bytes[1] < low || bytes[1] > high) return 0;
  }
  for (size_t i = 2; i < here; i++)
    if (bytes[i] >> 6 != 2) return 0;
  return here;
}

/* What a token is made of: its categories and number of characters; false when it isn't plain. */
static bool plain_token(const uint32_t table[128], const uint8_t *bytes, size_t length, uint32_t *signature,
                        uint32_t *characters) {
  uint32_t found = 0, n = 0;
  for (size_t i = 0, step; i < length; i += step, n++) {
    step = 1;
    uint32_t bit = OTHERS;
    if (bytes[i] < 128)
      bit = table[bytes[i]];
    else if ((step = other_character(bytes + i, length - i)) == 0)
      return false;
    if (!bit) return false;
    found |= bit;
  }
  *signature = found;
  *characters = n;
  return length > 0;
}

/* What is found out about each token. */
struct slicing {
  uint32_t *group;      /* by token; NO_GROUP: of the rest, or in no trie */
  uint32_t *characters; /* by token */
  uint32_t *table;      /* group + 1 by hash of its signature; 0: free */
  size_t table_size;    /* a power of two */
  size_t room;          /* for groups */
  uint32_t *sums;
  struct tombola__plain *by_length;
};

static uint32_t hash_of(uint32_t signature) {
  signature *= 0x9E3779B1u;
  return signature ^ signature >> 15;
}

static bool grow(tombola_trie *trie, struct slicing *s) {
  const size_t room = s->room ? 2 * s->room : 512;
  uint32_t *const table = tombola__new(&trie->allocator, 2 * room, sizeof *table);
  struct tombola__group *const groups =
      table ? tombola__resize(&trie->allocator, trie->groups, s->room, room, sizeof *groups) : NULL;
  if (!groups) {
    tombola__free(&trie->allocator, table);
    return false;
  }
  tombola__free(&trie->allocator, s->table);
  trie->groups = groups;
  s->table = table;
  s->table_size = 2 * room;
  s->room = room;
  for (size_t g = 0; g < trie->n_groups; g++) {
    size_t at = hash_of(groups[g].signature) & (s->table_size - 1);
    while (table[at])
      at = (at + 1) & (s->table_size - 1);
    table[at] = (uint32_t)g + 1;
  }
  return true;
}

/* The group of a signature, made when it is new; NO_GROUP: no memory. */
static uint32_t group_of(tombola_trie *trie, struct slicing *s, uint32_t signature) {
  if (trie->n_groups == s->room && !grow(trie, s)) return NO_GROUP;
  size_t at = hash_of(signature) & (s->table_size - 1);
  for (; s->table[at]; at = (at + 1) & (s->table_size - 1))
    if (trie->groups[s->table[at] - 1].signature == signature) return s->table[at] - 1;
  trie->groups[trie->n_groups] = (struct tombola__group){.signature = signature};
  s->table[at] = (uint32_t)++trie->n_groups;
  return (uint32_t)trie->n_groups - 1;
}

/* In the order of the ids, in which their bytes lie. */
static bool classify(tombola_trie *trie, struct slicing *s, const struct tombola__trie_entry *entries,
                     size_t n) {
  uint32_t table[128];
  category_table(table);
  memset(s->group, 0xFF, trie->count * sizeof *s->group);
  for (size_t i = 0; i < n; i++)
    s->characters[entries[i].token] = 1; /* it is in a trie */
  for (size_t token = 0; token < trie->count; token++) {
    uint32_t signature, characters;
    size_t length;
    if (!s->characters[token]) continue;
    const char *const bytes = tombola_vocabulary_bytes(trie->vocabulary, (tombola_token)token, &length);
    if (!plain_token(table, (const uint8_t *)bytes, length, &signature, &characters)) continue;
    if ((s->group[token] = group_of(trie, s, signature)) == NO_GROUP) return false;
    s->characters[token] = characters;
    trie->groups[s->group[token]].last++; /* a count, for now */
    trie->n_plain++;
    if (characters > trie->most_characters) trie->most_characters = characters;
  }
  return true;
}

/* Plain tokens by rising number of characters, then by id. */
static void order_by_length(const tombola_trie *trie, struct slicing *s) {
  for (size_t token = 0; token < trie->count; token++)
    if (s->group[token] != NO_GROUP) s->sums[s->characters[token]]++;
  uint32_t sum = 0;
  for (size_t i = 0; i <= trie->most_characters; i++) {
    const uint32_t here = s->sums[i];
    s->sums[i] = sum;
    sum += here;
  }
  for (size_t token = 0; token < trie->count; token++)
    if (s->group[token] != NO_GROUP)
      s->by_length[s->sums[s->characters[token]]++] =
          (struct tombola__plain){(uint32_t)token, s->characters[token]};
}

/* From counts to places, and the tokens of each group. */
static void fill_groups(tombola_trie *trie, const struct slicing *s) {
  uint32_t sum = 0;
  for (size_t g = 0; g < trie->n_groups; g++) {
    const uint32_t here = trie->groups[g].last;
    trie->groups[g].first = trie->groups[g].last = sum;
    sum += here;
  }
  for (size_t i = 0; i < trie->n_plain; i++) {
    struct tombola__group *const group = &trie->groups[s->group[s->by_length[i].token]];
    trie->plain[group->last++] = s->by_length[i];
    group->most = s->by_length[i].characters;
  }
}

static void fill_masks(tombola_trie *trie, const struct slicing *s) {
  size_t at = 0;
  for (size_t length = 1; length <= TOMBOLA__MASK_LENGTHS; length++) {
    uint32_t *const mask = trie->plain_masks + (length - 1) * trie->words;
    if (length > 1) memcpy(mask, mask - trie->words, trie->words * sizeof *mask);
    for (; at < trie->n_plain && s->by_length[at].characters == length; at++)
      mask[s->by_length[at].token / 32] |= (uint32_t)1 << s->by_length[at].token % 32;
  }
  trie->n_long = trie->n_plain - at;
}

/* Masks of the widest groups by length, so that they are taken word by word. */
static bool fill_wide(tombola_trie *trie) {
  const size_t size = TOMBOLA__WIDE_LENGTHS * trie->words;
  trie->wide_masks = tombola__new(&trie->allocator, TOMBOLA__WIDE_GROUPS * size, sizeof *trie->wide_masks);
  if (!trie->wide_masks) return false;
  trie->size += TOMBOLA__WIDE_GROUPS * size * sizeof *trie->wide_masks;
  for (size_t i = 0; i < TOMBOLA__WIDE_GROUPS; i++) {
    struct tombola__group *widest = NULL;
    for (size_t g = 0; g < trie->n_groups; g++) {
      struct tombola__group *const group = &trie->groups[g];
      if (!group->masks && (!widest || group->last - group->first > widest->last - widest->first))
        widest = group;
    }
    if (!widest) break;
    uint32_t *mask = trie->wide_masks + i * size;
    widest->masks = mask;
    uint32_t at = widest->first;
    for (size_t length = 1; length <= TOMBOLA__WIDE_LENGTHS; length++, mask += trie->words) {
      if (length > 1) memcpy(mask, mask - trie->words, trie->words * sizeof *mask);
      for (; at < widest->last && trie->plain[at].characters == length; at++)
        mask[trie->plain[at].token / 32] |= (uint32_t)1 << trie->plain[at].token % 32;
    }
  }
  return true;
}

/* Sorted entries of the groups, one group after the other, then those of the rest. */
static void part(tombola_trie *trie, const struct slicing *s, const struct tombola__trie_entry *entries,
                 size_t n, struct tombola__trie_entry *parted) {
  size_t rest = trie->n_plain;
  for (size_t g = 0; g < trie->n_groups; g++)
    trie->groups[g].last = trie->groups[g].first;
  for (size_t i = 0; i < n; i++) {
    const uint32_t g = s->group[entries[i].token];
    parted[g == NO_GROUP ? rest++ : trie->groups[g].last++] = entries[i];
  }
}

static bool fill(tombola_trie *trie, struct slicing *s) {
  const struct tombola_allocator *const a = &trie->allocator;
  s->sums = tombola__new(a, trie->most_characters + 1, sizeof *s->sums);
  s->by_length = tombola__new(a, trie->n_plain, sizeof *s->by_length);
  trie->plain = tombola__new(a, trie->n_plain, sizeof *trie->plain);
  trie->plain_masks = tombola__new(a, TOMBOLA__MASK_LENGTHS * trie->words, sizeof *trie->plain_masks);
  if (!s->sums || !s->by_length || !trie->plain || !trie->plain_masks) return false;
  order_by_length(trie, s);
  fill_groups(trie, s);
  fill_masks(trie, s);
  if (!fill_wide(trie)) return false;
  trie->long_ones = tombola__new(a, trie->n_long, sizeof *trie->long_ones);
  if (!trie->long_ones) return false;
  if (trie->n_long)
    memcpy(trie->long_ones, s->by_length + (trie->n_plain - trie->n_long),
           trie->n_long * sizeof *trie->long_ones);
  trie->size += s->room * sizeof *trie->groups + (trie->n_plain + trie->n_long) * sizeof *trie->plain +
                TOMBOLA__MASK_LENGTHS * trie->words * sizeof *trie->plain_masks;
  return true;
}

bool tombola__slices(tombola_trie *trie, const struct tombola__trie_entry *entries, size_t n,
                     struct tombola__trie_entry *parted, size_t *n_rest) {
  const struct tombola_allocator *const a = &trie->allocator;
  struct slicing s = {.group = tombola__new(a, trie->count, sizeof *s.group),
                      .characters = tombola__new(a, trie->count, sizeof *s.characters)};
  const bool done = s.group && s.characters && classify(trie, &s, entries, n) && fill(trie, &s);
  if (done) {
    part(trie, &s, entries, n, parted);
    *n_rest = n - trie->n_plain;
  }
  void *const held[] = {s.group, s.characters, s.table, s.sums, s.by_length};
  for (size_t i = 0; i < TOMBOLA__COUNT(held); i++)
    tombola__free(a, held[i]);
  return done;
}
