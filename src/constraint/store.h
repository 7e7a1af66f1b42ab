/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of one grammar share: memory that goes all at once, limits, and the first failure.
 *
 * Failures are kept in the store: the first that happens stays, every constructor then returns its neutral "nothing"
 * value, and whoever began the work looks at store->status at the end. So the algebra in between has no error paths. */
#ifndef TOMBOLA_STORE_H
#define TOMBOLA_STORE_H

#include <tombola/constraint.h>

#include "base/base.h"

struct tombola__chunk;
struct tombola__langs;
struct tombola__numbers;
struct tombola__formulas;
struct tombola__shapes;

struct tombola__store {
  struct tombola_allocator allocator;
  struct tombola__chunk *chunks; /* newest first */
  size_t bytes, max_bytes;       /* taken from the allocator */
  size_t states, max_states;
  size_t max_depth, max_refs, max_threads;
  size_t work_left, max_work; /* steps of the call that is under way */
  double deadline;            /* monotonic seconds; 0: none (after compiling) */
  enum tombola_status status;
  struct tombola_error error; /* says why, when status isn't OK */
  char hint[160];             /* what may be why no text fits, or "" */

  struct tombola__langs *langs;       /* languages over code points (lang.h) */
  struct tombola__numbers *numbers;   /* sets of decimals (number.h) */
  struct tombola__formulas *formulas; /* schemas (formula.h) */
  struct tombola__shapes *shapes;     /* what is known of them (shape.h); NULL until first needed */

  /* Of JSON texts. */
  enum tombola_whitespace whitespace;
  size_t whitespace_max;
  enum tombola_property_order order;
  enum tombola_spelling spelling;
  bool looking; /* masks are being made: a value that would be too deep isn't allowed, it fails nothing */
  bool plain_names; /* no token holds a whole name of an object behind the end of another one */
};

/* `limits` may be NULL. Afterwards langs, numbers and formulas exist. */
enum tombola_status tombola__store_new(struct tombola__store *store,
                                       const struct tombola_grammar_limits *limits,
                                       const struct tombola_allocator *allocator,
                                       struct tombola_error *error);
void tombola__store_free(struct tombola__store *store);

/* Zeroed memory, aligned to 16, that lives as long as the store; NULL after a failure. */
void *tombola__store_take(struct tombola__store *store, size_t count, size_t size);

/* Whether there may be so many bytes more; a failure of the store when not. */
bool tombola__store_fits(struct tombola__store *store, size_t more);

/* Counts memory of a growing table that a part has resized by itself (`more` may be negative). False: beyond the
 * limit. */
bool tombola__store_count(struct tombola__store *store, ptrdiff_t more);

/* Counts a state; looks at the clock now and then. False: beyond a limit. */
bool tombola__store_state(struct tombola__store *store);

/* A call begins: it may take max_work steps. */
void tombola__store_begin(struct tombola__store *store);
/* So many steps aren't left. */
void tombola__store_overworked(struct tombola__store *store);
/* Counts steps of reading; a failure of the store beyond max_work. */
static inline void tombola__store_work(struct tombola__store *store, size_t steps) {
  if (store->work_left < steps)
    tombola__store_overworked(store);
  else
    store->work_left -= steps;
}

/* The first failure; returns it. `param` may be NULL. */
enum tombola_status tombola__store_fail(struct tombola__store *store, enum tombola_status status,
                                        const char *param, const char *format, ...) TOMBOLA__PRINTF(4, 5);

/* What may be why no text fits, should it come to that; the first that is told stays. */
void tombola__store_hint(struct tombola__store *store, const char *format, ...) TOMBOLA__PRINTF(2, 3);

/* Forgets a failure, so that what exists can still be used (between calls of a matcher). */
void tombola__store_clear(struct tombola__store *store);

/* 64-bit mixing of a word into a hash; good enough for tables, two of them for keys. */
static inline uint64_t tombola__mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
  return hash ^ hash >> 29;
}

#endif
