/* SPDX-License-Identifier: Apache-2.0 */
/* Slices of a vocabulary: its plain tokens, by the characters that they are made of and by how many.
 *
 * A token is plain when it is made of characters that a JSON string holds as they are, ASCII and others; its last
 * character may be cut, because what begins with it can be completed by any of its continuations. */
#include "constraint/trie/trie.h"

#include <string.h>

#include "constraint/code_point.h"

/* The categories of ASCII characters; those beyond ASCII have one of their own, and spaces among them another one too,
 * the highest. Characters that patterns and triggers tell apart are apart. */
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

#define OTHERS    ((uint32_t)1 << TOMBOLA__COUNT(categories))
#define SPACES    (2 * OTHERS)
#define NOT_PLAIN (4 * OTHERS)

uint32_t tombola__all_categories(void) {
  return NOT_PLAIN - 1;
}

uint32_t tombola__free_categories(const struct tombola__freedom *freedom) {
  uint32_t found = (freedom->others ? OTHERS : 0) | (freedom->spaces ? SPACES : 0);
  for (size_t i = 0; i < TOMBOLA__COUNT(categories); i++) {
    const char *c = categories[i];
    while (*c && freedom->ascii[(uint8_t)*c / 32] >> ((uint8_t)*c % 32) & 1)
      c++;
    if (!*c) found |= (uint32_t)1 << i;
  }
  return found;
}

uint32_t tombola__met_categories(const struct tombola__freedom *letters) {
  uint32_t found = (letters->others ? OTHERS : 0) | (letters->spaces ? SPACES : 0);
  for (size_t i = 0; i < TOMBOLA__COUNT(categories); i++)
    for (const char *c = categories[i]; *c; c++)
      if (letters->ascii[(uint8_t)*c / 32] >> ((uint8_t)*c % 32) & 1) found |= (uint32_t)1 << i;
  return found;
}

/* The category's bit by byte; those that aren't plain have NOT_PLAIN, those of other characters OTHERS. */
static void category_table(uint32_t table[256]) {
  for (size_t i = 0; i < 256; i++)
    table[i] = i < 128 ? NOT_PLAIN : OTHERS;
  for (size_t i = 0; i < TOMBOLA__COUNT(categories); i++)
    for (const char *c = categories[i]; *c; c++)
      table[(uint8_t)*c] = (uint32_t)1 << i;
}

/* Whether a well-formed character, perhaps cut, is a space beyond ASCII. One that is cut isn't: it can be completed to a
 * character that is none. */
static bool is_space(const char *bytes, size_t size) {
  const unsigned lead = (unsigned char)bytes[0];
  uint32_t c;
  if (lead - 0xE1u > 2 && lead != 0xC2 && lead != 0xEF) return false;
  return tombola__utf8_read(bytes, size, &c) && tombola__is_wide_space(c);
}

/* The number of characters, the last one perhaps cut; 0 when one is ill-formed. Adds to the categories. */
static uint32_t characters_of(const char *bytes, size_t length, uint32_t *found) {
  uint32_t n = 0;
  for (size_t i = 0, step; i < length; i += step, n++) {
    if ((step = tombola__utf8_size(bytes + i, length - i)) == 0) return 0;
    if (is_space(bytes + i, step)) *found |= SPACES;
  }
  return n;
}

/* What a token is made of: its categories and number of characters, which is 0 when it isn't plain. */
static uint32_t plain_token(const uint32_t table[256], const char *bytes, size_t length,
                            uint32_t *characters) {
  uint32_t found = 0;
  for (size_t i = 0; i < length; i += 8)
    for (size_t k = i; k < i + 8; k++) /* beyond the end the last one again: no branch for each length */
      found |= table[(uint8_t)bytes[k < length ? k : length - 1]];
  *characters = 0;
  if (!(found & NOT_PLAIN))
    *characters = found & OTHERS ? characters_of(bytes, length, &found) : (uint32_t)length;
  return found;
}

/* What is found out about the tokens. */
struct slicing {
  uint32_t *group;              /* by token */
  struct tombola__plain *by_id; /* plain tokens */
  struct tombola__plain *by_length;
  uint32_t *table;   /* group + 1 by hash of its signature; 0: free */
  size_t table_size; /* a power of two */
  size_t room;       /* for groups */
  uint32_t *sums;    /* by number of characters */
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

/* The group of a signature, made when it is new; TOMBOLA__NO_GROUP: no memory. */
static uint32_t group_of(tombola_trie *trie, struct slicing *s, uint32_t signature) {
  if (trie->n_groups == s->room && !grow(trie, s)) return TOMBOLA__NO_GROUP;
  size_t at = hash_of(signature) & (s->table_size - 1);
  for (; s->table[at]; at = (at + 1) & (s->table_size - 1))
    if (trie->groups[s->table[at] - 1].signature == signature) return s->table[at] - 1;
  trie->groups[trie->n_groups] = (struct tombola__group){.signature = signature};
  s->table[at] = (uint32_t)++trie->n_groups;
  return (uint32_t)trie->n_groups - 1;
}

static bool classify(tombola_trie *trie, struct slicing *s, const uint64_t *keys, size_t n) {
  uint32_t table[256];
  category_table(table);
  for (size_t i = 0; i < n; i++) {
    const uint32_t token = tombola__key_token(keys[i]);
    size_t length;
    uint32_t characters;
    const char *const bytes = tombola_vocabulary_bytes(trie->vocabulary, (tombola_token)token, &length);
    const uint32_t signature = plain_token(table, bytes, length, &characters);
    s->group[token] = TOMBOLA__NO_GROUP;
    if (!characters) continue;
    if ((s->group[token] = group_of(trie, s, signature)) == TOMBOLA__NO_GROUP) return false;
    trie->groups[s->group[token]].last++; /* a count, for now */
    s->by_id[trie->n_plain++] = (struct tombola__plain){token, characters};
    if (characters > trie->most_characters) trie->most_characters = characters;
  }
  return true;
}

/* Plain tokens by rising number of characters, then by id. */
static void order_by_length(const tombola_trie *trie, struct slicing *s) {
  for (size_t i = 0; i < trie->n_plain; i++)
    s->sums[s->by_id[i].characters]++;
  uint32_t sum = 0;
  for (size_t i = 0; i <= trie->most_characters; i++) {
    const uint32_t here = s->sums[i];
    s->sums[i] = sum;
    sum += here;
  }
  for (size_t i = 0; i < trie->n_plain; i++)
    s->by_length[s->sums[s->by_id[i].characters]++] = s->by_id[i];
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

/* Masks of at most 1, 2, … characters, of tokens by rising number of characters; how many tokens they have. */
static size_t fill_masks(uint32_t *mask, size_t lengths, size_t words, const struct tombola__plain *tokens,
                         size_t n) {
  size_t at = 0;
  memset(mask, 0, words * sizeof *mask);
  for (size_t length = 1; length <= lengths; length++, mask += words) {
    if (length > 1) memcpy(mask, mask - words, words * sizeof *mask);
    for (; at < n && tokens[at].characters == length; at++)
      mask[tokens[at].token / 32] |= (uint32_t)1 << tokens[at].token % 32;
  }
  return at;
}

void tombola__slices_widen(tombola_trie *trie) {
  uint32_t *masks = trie->wide_masks;
  for (size_t i = 0; i < TOMBOLA__WIDE_GROUPS; i++, masks += TOMBOLA__WIDE_LENGTHS * trie->words) {
    struct tombola__group *widest = NULL;
    for (size_t g = 0; g < trie->n_groups; g++) {
      struct tombola__group *const group = &trie->groups[g];
      if (!group->masks && (!widest || group->last - group->first > widest->last - widest->first))
        widest = group;
    }
    if (!widest) break;
    widest->masks = masks;
    fill_masks(masks, TOMBOLA__WIDE_LENGTHS, trie->words, trie->plain + widest->first,
               widest->last - widest->first);
  }
}

static bool fill(tombola_trie *trie, struct slicing *s) {
  const struct tombola_allocator *const a = &trie->allocator;
  s->sums = tombola__new(a, trie->most_characters + 1, sizeof *s->sums);
  trie->plain = tombola__trie_room(trie, trie->n_plain, sizeof *trie->plain);
  trie->plain_masks =
      tombola__trie_room(trie, TOMBOLA__MASK_LENGTHS * trie->words, sizeof *trie->plain_masks);
  if (!s->sums || !trie->plain || !trie->plain_masks) return false;
  order_by_length(trie, s);
  fill_groups(trie, s);
  trie->n_long = trie->n_plain - fill_masks(trie->plain_masks, TOMBOLA__MASK_LENGTHS, trie->words,
                                            s->by_length, trie->n_plain);
  trie->long_ones = tombola__new(a, trie->n_long, sizeof *trie->long_ones);
  if (!trie->long_ones) return false;
  if (trie->n_long)
    memcpy(trie->long_ones, s->by_length + (trie->n_plain - trie->n_long),
           trie->n_long * sizeof *trie->long_ones);
  trie->size += s->room * sizeof *trie->groups + (trie->n_plain + trie->n_long) * sizeof *trie->plain +
                TOMBOLA__MASK_LENGTHS * trie->words * sizeof *trie->plain_masks;
  return true;
}

bool tombola__slices(tombola_trie *trie, const uint64_t *keys, size_t n, struct tombola__plain *scratch,
                     uint32_t *group) {
  struct slicing s = {.group = group, .by_id = scratch, .by_length = scratch + n};
  const bool done = classify(trie, &s, keys, n) && fill(trie, &s);
  tombola__free(&trie->allocator, s.table);
  tombola__free(&trie->allocator, s.sums);
  return done;
}
