/* SPDX-License-Identifier: Apache-2.0 */
/* A compiled grammar, its cache of masks, and what a matcher asks of it. */
#ifndef TOMBOLA_GRAMMAR_H
#define TOMBOLA_GRAMMAR_H

#include <pthread.h>
#include <stdatomic.h>

#include "machine.h"
#include "trie.h"

#define TOMBOLA__LISTED 64 /* a mask of at most so many tokens is a list of them */

/* A mask that was made: a list, or words. Immutable. */
struct tombola__mask_entry {
  uint64_t key[2];
  uint32_t *words;    /* NULL: listed */
  tombola_token *ids; /* ascending; NULL: not listed */
  uint32_t n_ids;
};

struct tombola__mask_cache {
  struct tombola__mask_entry *slots; /* open addressing; a free one has neither words nor ids */
  size_t n, n_slots;                 /* n_slots is a power of two */
  size_t bytes, max_bytes;
};

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
  struct tombola__mask_cache masks;
};

/* A matcher's own words: for masks that are lists, for those that the cache has no room for, and to make masks in. Zero
 * but for the bits of `ids`, or anything at all when `dirty`. */
struct tombola__mask_room {
  uint32_t *words; /* of the grammar's allocator */
  tombola_token ids[TOMBOLA__LISTED];
  size_t n_ids;
  bool dirty;
};

/* All under the grammar's lock. */

enum tombola_status tombola__mask_room_new(struct tombola_grammar *grammar, struct tombola__mask_room *room);
void tombola__mask_room_free(struct tombola_grammar *grammar, struct tombola__mask_room *room);

/* The mask where the machine is; `machine` NULL: only end tokens. NO_CANDIDATE when it is empty; the store's status.
 * *mask is valid until the next call with this room. */
enum tombola_status tombola__mask_at(struct tombola_grammar *grammar, struct tombola__machine *machine,
                                     struct tombola__mask_room *room, struct tombola_mask *mask,
                                     struct tombola_error *error);
void tombola__mask_cache_free(struct tombola_grammar *grammar);

/* Reads a token, in all ways that it may be read where the machine is. The number of levels (undo with pop); 0: it isn't
 * allowed here, or the store has failed. Not for end tokens, which aren't read. */
size_t tombola__token_push(struct tombola_grammar *grammar, struct tombola__machine *machine,
                           tombola_token token);

#endif
