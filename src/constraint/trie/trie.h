/* SPDX-License-Identifier: Apache-2.0 */
/* A vocabulary, prepared for masks: tries to walk with a machine, and sets of tokens to take whole.
 *
 * A trie is an array of nodes in the order of a depth-first walk, children by rising bytes; what is dead is skipped by a
 * jump. All tokens are in one trie. The plain ones, which only a text's own characters are in, are also in groups by the
 * characters that they are made of, each with a trie, and the others in a trie of the rest: where the next characters
 * are free (struct tombola__freedom) whole groups are taken, and only what is left is walked. */
#ifndef TOMBOLA_TRIE_H
#define TOMBOLA_TRIE_H

#include <tombola/constraint.h>

#include "base/base.h"
#include "constraint/lang/lang.h"

#define TOMBOLA__NO_NODE_TOKEN UINT32_MAX
#define TOMBOLA__SAME_BYTES    ((uint32_t)1 << 31) /* other tokens have these bytes too */
#define TOMBOLA__MASK_LENGTHS  32 /* plain tokens have a mask for each number of characters up to it */

#define TOMBOLA__WIDE_GROUPS  8 /* that have masks of their own */
#define TOMBOLA__WIDE_LENGTHS 16

struct tombola__trie_node {
  uint32_t end;   /* behind the subtree */
  uint32_t token; /* the lowest id with these bytes, perhaps with SAME_BYTES; NO_NODE_TOKEN */
  uint32_t place; /* depth, from 1, in the upper 24 bits; the byte in the lower 8 */
};

/* A node near the root, in a list with its siblings: they are looked at in a row, where the nodes themselves are far
 * apart. */
struct tombola__trie_kid {
  uint32_t place;    /* the node in the upper 24 bits; its byte in the lower 8 */
  uint32_t first, n; /* of kids: its children; n is 0 when they are only in the trie, or there are none */
};
#define TOMBOLA__KID_DEPTH 3 /* of the deepest kids */

/* Nodes first to end. */
struct tombola__trie_span {
  uint32_t first, end;
};

/* Plain tokens that are made of the same categories of characters. */
struct tombola__group {
  uint32_t signature;    /* bits: categories */
  uint32_t first, last;  /* of the trie's plain[]: by rising number of characters, then by id */
  uint32_t most;         /* characters of its longest token */
  const uint32_t *masks; /* of the widest groups: WIDE_LENGTHS masks, as plain_masks; NULL */
  struct tombola__trie_span nodes;
};

/* A plain token, and its number of characters. */
struct tombola__plain {
  uint32_t token;
  uint32_t characters;
};

/* A token that ends a string: which of the texts behind the quote it has. */
struct tombola__text_end {
  uint32_t token, back;
};

/* A leaf of fronts with escapes, and the bytes that they stand for. */
struct tombola__escaped_front {
  uint32_t leaf, length;
};

/* Tokens of the rest, by what they do in the text of a JSON string (trie_text.c). The `token` of a node is the number of
 * a leaf. */
struct tombola__text_tries {
  struct tombola__trie_node *nodes;
  struct tombola__trie_span stays;  /* those that stay in the text */
  struct tombola__trie_span fronts; /* of those that end it: what is in front of the quote */
  struct tombola__trie_span backs;  /* and what is behind it */
  uint32_t n_stays, n_fronts, n_backs;
  tombola_token *stay;            /* leaf k of stays: first_stay[k] to first_stay[k + 1] */
  struct tombola__text_end *ends; /* leaf k of fronts: first_end[k] to first_end[k + 1] */
  uint32_t *first_stay, *first_end;
  struct tombola__escaped_front *escaped; /* fronts that aren't spelled as they are */
  size_t n_escaped;
  uint32_t *behind_escape; /* a mask: plain tokens whose first character ends an escape of two characters */
  uint32_t *behind_plain;  /* the same of those of TOMBOLA_SPELLING_PLAIN */
  bool empty_front, empty_back; /* leaf 0 is the empty text, which has no node */
  bool holds_names;             /* a token may hold a whole name behind the end of another one */
};

struct tombola_trie {
  struct tombola_allocator allocator;
  const tombola_vocabulary *vocabulary;
  size_t count, words; /* tokens, 32-bit words of a mask */
  size_t size;         /* bytes held */
  size_t longest;      /* bytes of the longest token that is in it */

  struct tombola__trie_node *nodes;
  size_t n_nodes;
  struct tombola__trie_span all, rest;
  struct tombola__trie_kid *kids; /* of `all`; NULL: there are too many nodes */
  size_t n_kids, n_roots;         /* the first ones are the roots */
  tombola_token *same;            /* pairs: a node's token and another with its bytes; ascending */
  size_t n_same;

  struct tombola__group *groups;
  size_t n_groups;
  struct tombola__plain *plain;
  size_t n_plain;
  size_t most_characters;           /* of a plain token */
  struct tombola__plain *long_ones; /* plain tokens of more than MASK_LENGTHS characters, by rising number */
  size_t n_long;
  uint32_t *matchable; /* a mask: what an element that is a token can match (token.h) */
  struct tombola__text_tries text;
  uint32_t *wide_masks;
  uint32_t *plain_masks; /* MASK_LENGTHS masks: plain tokens of at most 1, 2, … characters */
};

/* The mask of plain tokens of at most `characters`, 1 to MASK_LENGTHS. */
static inline const uint32_t *tombola__plain_mask(const tombola_trie *trie, size_t characters) {
  return trie->plain_masks + (characters - 1) * trie->words;
}

/* The other tokens with the bytes of `token`: *n pairs from the one returned on. */
const tombola_token *tombola__trie_same(const tombola_trie *trie, tombola_token token, size_t *n);

/* The categories all of whose characters are in the set: bits as in a group's signature. */
uint32_t tombola__free_categories(const struct tombola__freedom *freedom);
/* The categories some of whose characters are in the set. */
uint32_t tombola__met_categories(const struct tombola__freedom *letters);
/* All categories. */
uint32_t tombola__all_categories(void);

/* ---- between trie.c, slices.c and trie_text.c ---- */

/* A token while tries are made. */
struct tombola__trie_entry {
  uint64_t head, next; /* the first 8 bytes and those behind them, the first one highest, 0 behind the end */
  uint32_t token;
  uint32_t length; /* bytes */
};

/* Memory that isn't zeroed: all of it is written. */
static inline void *tombola__trie_room(const tombola_trie *trie, size_t count, size_t size) {
  return tombola__resize(&trie->allocator, NULL, 0, count, size);
}

/* Of a token: its first 5 bytes, the first one highest, 0 behind the end; and its id, which is below 2^24. */
#define TOMBOLA__KEY_TOKEN_BITS 24
static inline uint32_t tombola__key_token(uint64_t key) {
  return (uint32_t)key & (((uint32_t)1 << TOMBOLA__KEY_TOKEN_BITS) - 1);
}

#define TOMBOLA__NO_GROUP UINT32_MAX

/* Finds the plain tokens by keys that are in the order of the ids. Makes groups (nodes stay empty), plain, long_ones and
 * plain_masks; `group` is by token: its group, or NO_GROUP. `scratch` is room for 2n of struct tombola__plain. False: no
 * memory. */
bool tombola__slices(tombola_trie *trie, const uint64_t *keys, size_t n, struct tombola__plain *scratch,
                     uint32_t *group);
/* Fills the masks of the widest groups. */
void tombola__slices_widen(tombola_trie *trie);

/* Makes `text` of the rest: n numbers of entries. False: no memory. */
bool tombola__text_tries(tombola_trie *trie, const struct tombola__trie_entry *entries, const uint32_t *rest,
                         size_t n);
void tombola__text_tries_free(tombola_trie *trie);
/* Calls visit for each leaf of fronts that spells this text. */
void tombola__text_fronts_of(const tombola_trie *trie, const char *text, size_t length,
                             void (*visit)(void *context, uint32_t leaf), void *context);

#endif
