/* SPDX-License-Identifier: Apache-2.0 */
/* A compiled grammar, its cache of masks, and what a matcher asks of it. */
#ifndef TOMBOLA_GRAMMAR_H
#define TOMBOLA_GRAMMAR_H

#include <pthread.h>
#include <stdatomic.h>

#include "constraint/machine/machine.h"
#include "constraint/trie/trie.h"

#define TOMBOLA__LISTED 64 /* a mask of at most so many tokens is a list of them */

/* A mask that was made. Of few tokens it is a list. Others are at first what they have beside a base, and words of their
 * own when they are wanted again and again. Immutable but for that. */
struct tombola__mask_entry {
  uint64_t key[2];
  uint32_t *words;      /* NULL: base and ids */
  const uint32_t *base; /* NULL: no token */
  tombola_token *ids;   /* ascending when the mask is a list; NULL: words */
  uint32_t n_ids;
  uint32_t uses;
  bool listed;
};

struct tombola__mask_cache {
  struct tombola__mask_entry *slots; /* open addressing; a free one has neither words nor ids */
  size_t n, n_slots;                 /* n_slots is a power of two */
  size_t bytes, max_bytes;
};

/* All plain tokens of these categories and at most so many characters, or words that a text needed. */
struct tombola__base {
  uint32_t free, length;
  uint32_t *words;
};

/* What tokens do in a string whose language is `lang` (mask_text.c). */
struct tombola__text {
  tombola__lang lang;
  const uint32_t *base; /* those that stay in it: these (NULL: none), */
  uint32_t n_ids;       /* and these */
  uint32_t n_fronts;    /* leaves of fronts behind which it may end */
};
static inline const uint32_t *tombola__text_ids(const struct tombola__text *text) {
  return (const uint32_t *)(text + 1);
}
static inline const uint32_t *tombola__text_fronts(const struct tombola__text *text) {
  return tombola__text_ids(text) + text->n_ids;
}

/* A special token that may stand in a MIX: its spelling is a trigger, or the text that ends a rule. */
struct tombola__special {
  tombola_token token;
  bool trigger, end;
};

struct tombola_grammar {
  struct tombola_allocator allocator; /* used under the lock once there are matchers */
  atomic_size_t references;
  pthread_mutex_t lock; /* held while a machine reads: that makes states, which all matchers share */
  const tombola_trie *trie;
  struct tombola__store store;
  struct tombola__program program;
  struct tombola_schema_verdict verdict;
  struct tombola__dropped *dropped;
  struct tombola__special *specials;
  size_t n_specials;
  struct tombola__mask_cache masks; /* its bytes are also those of texts and bases */
  struct tombola__text **texts;     /* open addressing by language */
  size_t n_texts, n_text_slots;     /* n_text_slots is a power of two */
  struct tombola__base *bases;
  size_t n_bases;
};

#define TOMBOLA__SHEET_IDS 4096

/* Words to make a mask in: those of the base, and the bits of `ids`; anything at all when `dirty`. */
struct tombola__sheet {
  uint32_t *words;      /* of the grammar's allocator */
  const uint32_t *base; /* NULL: no token */
  tombola_token *ids;   /* room for SHEET_IDS */
  size_t n_ids;
  bool dirty;
  bool is_kept; /* it is the mask that the cache has under `key` */
  uint64_t key[2];
};

/* A matcher's own sheets: one without a base, one with. */
struct tombola__mask_room {
  struct tombola__sheet sheets[2];
  bool *backs; /* which texts behind a quote can be read */
  bool *taken; /* which in front of one may not be: all false but for a moment */
};

/* Whether a source is what it must be, before anything of it is read: INVALID_ARGUMENT, OUT_OF_RANGE. */
enum tombola_status tombola__grammar_check(const struct tombola_grammar_source *source,
                                           struct tombola_error *error);

/* All under the grammar's lock. */

enum tombola_status tombola__mask_room_new(struct tombola_grammar *grammar, struct tombola__mask_room *room);
void tombola__mask_room_free(struct tombola_grammar *grammar, struct tombola__mask_room *room);

/* The mask where the machine is; `machine` NULL: only end tokens. NO_CANDIDATE when it is empty; the store's status.
 * *mask is valid until the next call with this room. */
enum tombola_status tombola__mask_at(struct tombola_grammar *grammar, struct tombola__machine *machine,
                                     struct tombola__mask_room *room, struct tombola_mask *mask,
                                     struct tombola_error *error);

/* ---- mask_cache.c ---- */

/* The sheet for masks with this base, which it shows. */
struct tombola__sheet *tombola__sheet(struct tombola_grammar *grammar, struct tombola__mask_room *room,
                                      const uint32_t *base);
/* The entry under a key; NULL: there is none. */
struct tombola__mask_entry *tombola__mask_find(struct tombola_grammar *grammar, const uint64_t key[2]);
/* Keeps what is on the sheet, if there is space. */
void tombola__mask_keep(struct tombola_grammar *grammar, struct tombola__sheet *sheet, const uint64_t key[2],
                        bool listed);
/* Words of an entry, maybe on a sheet of the room. */
const uint32_t *tombola__mask_words(struct tombola_grammar *grammar, struct tombola__mask_entry *entry,
                                    struct tombola__mask_room *room);
void tombola__mask_cache_free(struct tombola_grammar *grammar);

/* ---- mask_text.c ---- */

/* What tokens do in this language; NULL: no memory, or a failure of the store. */
const struct tombola__text *tombola__mask_text(struct tombola_grammar *grammar, tombola__lang lang);
void tombola__mask_texts_free(struct tombola_grammar *grammar);
/* All plain tokens of these categories and at most so many characters; NULL: no memory. */
const uint32_t *tombola__mask_base(struct tombola_grammar *grammar, uint32_t free, uint32_t length);
/* How many tokens the groups of these categories have. */
size_t tombola__covered(const tombola_trie *trie, uint32_t free);
/* Whether taking free groups spares more than looking at the others costs. */
bool tombola__is_worth_it(const tombola_trie *trie, uint32_t free);

/* Reads a token, in all ways that it may be read where the machine is. The number of levels (undo with pop); 0: it isn't
 * allowed here, or the store has failed. Not for end tokens, which aren't read. */
size_t tombola__token_push(struct tombola_grammar *grammar, struct tombola__machine *machine,
                           tombola_token token);

#endif
