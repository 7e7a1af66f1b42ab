/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes: what a formula asks of a value of each type, with nothing left to decide but what the text says.
 *
 * For strings and numbers that is one language and one set. For arrays and objects it is a list of alternatives, each a
 * conjunction (a disjunctive normal form, made when a formula is first looked at): the machine follows the alternatives
 * in parallel. An alternative that no finite value satisfies is never in a list.
 *
 * An object's alternatives would multiply where conditions are independent of each other, so what can wait does: a shape
 * may have choices, each an OR of branches that say something of declared properties. How far they are decided is a set
 * of branches that are alive, which every property that is read makes smaller; a reading splits only where branches want
 * different values of the property that comes next. */
#ifndef TOMBOLA_SHAPE_H
#define TOMBOLA_SHAPE_H

#include "constraint/formula/formula.h"

#define TOMBOLA__MOST_WANTS 32 /* SOME_KEYs, or CONTAINS, of one alternative */

/* One declared property of an object. */
struct tombola__declared {
  const struct tombola__name *name;
  tombola__formula value; /* everything that its value must be; FALSE: it may not be there */
  bool required;
  bool possible;        /* value can be satisfied */
  uint32_t order;       /* place in the schema's order, MANY: undeclared there */
  const uint32_t *asks; /* declared properties (indices) that must be there when this one is: direct ones */
  size_t n_asks;
};

struct tombola__key_group {
  tombola__lang keys;
  tombola__formula value;
};

struct tombola__branch_fact {
  uint32_t index; /* of the declared property */
  tombola__formula value;
};

/* What a choice may come to, on top of what the shape says itself. Bits are of declared properties. */
struct tombola__branch {
  const struct tombola__branch_fact *facts; /* ascending; what they leave out may be anything */
  size_t n_facts;
  const uint64_t *required,
      *possible;         /* must be there; may be there, as far as this branch and the shape go */
  const uint64_t *named; /* it says something of them */
};

/* At least one of the branches holds. */
struct tombola__choice {
  const struct tombola__branch *at;
  size_t n;
  size_t first; /* the bit of at[0] among those of all branches of the shape */
  size_t group; /* choices of one group, which are next to each other, speak of the same properties */
  bool alone;   /* in its group */
  const uint64_t *named; /* some branch says something of them */
};

struct tombola__object_shape {
  const struct tombola__declared *declared; /* ascending by the bytes of their names, at most 65535 */
  size_t n_declared;
  const struct tombola__key_group
      *groups; /* of undeclared names: the value is the AND of all groups that have it */
  size_t n_groups;
  /* Undeclared names that may be there at all. A language of few names has been made into declared ones, so this one
   * is NONE, or has more than 64 names. */
  tombola__lang extra;
  uint32_t min, max; /* properties */
  const struct tombola__key_group
      *wants; /* each must be met by some property: its name in keys, its value too */
  size_t n_wants;
  /* Each must be met. Then there are no wants, nobody asks, and any number of properties is good. */
  const struct tombola__choice *choices;
  size_t n_choices, n_branches;
};

/* Words of a state's bits. */
static inline size_t tombola__seen_words(const struct tombola__object_shape *shape) {
  return (shape->n_declared + 63) / 64;
}

static inline size_t tombola__alive_words(const struct tombola__object_shape *shape) {
  return (shape->n_branches + 63) / 64;
}

struct tombola__item_count {
  tombola__formula value;
  uint32_t from, min, max; /* min to max of the items from `from` on are `value` */
};

struct tombola__array_shape {
  const tombola__formula *items; /* the first ones */
  size_t n_items;
  tombola__formula rest;
  uint32_t min, max; /* max is cut to where an item can't be any more */
  const struct tombola__item_count *counts;
  size_t n_counts;
  bool unique;
  bool not_unique; /* two items are equal */
};

/* What a formula allows. */
struct tombola__value {
  unsigned types; /* those of which some value satisfies it */
  tombola__lang text;
  tombola__numset numbers;
  const struct tombola__array_shape *const *arrays;
  size_t n_arrays;
  const struct tombola__object_shape *const *objects;
  size_t n_objects;
  bool exact; /* false: satisfiability wasn't settled somewhere below: may backtrack */
};

/* Made once; NULL after a failure of the store (too many alternatives, …). Valid as long as the store. */
const struct tombola__value *tombola__value(struct tombola__store *s, tombola__formula f);

/* Whether some finite value satisfies it. */
bool tombola__satisfiable(struct tombola__store *s, tombola__formula f);

/* How many different values satisfy it, at most `most` (exact up to there). */
uint64_t tombola__value_count(struct tombola__store *s, tombola__formula f, uint64_t most);

/* Looks at every formula that the machine could reach from f, so that limits, refusals and the verdict are known when
 * compiling ends. Sets *exact to false where some prefix may be a dead end, and *reason to a static text why. */
enum tombola_status tombola__explore(struct tombola__store *s, tombola__formula f, bool *exact,
                                     const char **reason);

/* What the work was about when the store failed: formulas, the innermost first. How many there are. */
size_t tombola__blamed(const struct tombola__store *s, const tombola__formula **out);

/* ---- an object, as far as it is written ---- */

struct tombola__object_state {
  const struct tombola__object_shape *shape;
  uint32_t count;       /* properties so far */
  uint32_t extras;      /* of them, undeclared ones */
  uint32_t met;         /* bits: wants that are met */
  uint32_t last_order;  /* ORDER_DECLARED: the order of the last declared property + 1 */
  const uint64_t *seen; /* bits: declared properties that are there */
  /* Bits: branches that what is there leaves. All of a choice are alive at first; none is once it is met, whatever
   * follows. NULL will do where the shape has no choices. */
  const uint64_t *alive;
};

/* Sets the bits of a new object's `alive`. */
void tombola__object_begin(const struct tombola__object_shape *shape, uint64_t *alive);

/* Two readings of one text that have come to the same but for what is alive are one, if a set of branches says as much as
 * both: writes it into `both`, which may be `a`. False: there is none. */
bool tombola__object_unite(const struct tombola__object_shape *shape, const uint64_t *a, const uint64_t *b,
                           uint64_t *both);

/* Which names may come next: bits of the declared ones into `names` ((n_declared + 63) / 64 words), and whether an
 * undeclared one may. Only such that the object can still be completed afterwards. False when none may. */
bool tombola__object_names(struct tombola__store *s, const struct tombola__object_state *state,
                           uint64_t *names, bool *extra);

/* Whether the object may end here. */
bool tombola__object_may_end(struct tombola__store *s, const struct tombola__object_state *state);

/* The ways to go on with a property: its value's formula, and what else it comes to (an object_way). `index` is
 * the declared one's, or MANY and then `name` is the undeclared name (for groups and wants). Calls visit for each way
 * whose object can be completed. `state` is the object before this property. */
typedef void (*tombola__way_fn)(void *context, tombola__formula value, const void *more);
void tombola__object_ways(struct tombola__store *s, const struct tombola__object_state *state, uint32_t index,
                          const char *name, size_t length, tombola__way_fn visit, void *context);
/* What `more` points to; valid during the call. */
struct tombola__object_way {
  uint32_t met;          /* the wants that this property meets */
  const uint64_t *alive; /* the branches that are left; NULL: as they were */
};

/* ---- an array, as far as it is written ---- */

struct tombola__array_state {
  const struct tombola__array_shape *shape;
  uint32_t count;          /* items so far */
  const uint32_t *counts;  /* n_counts: items so far that are counted, cut at what matters */
  const char *const *seen; /* unique, and not_unique unless paired: the canonical texts of the items so far */
  bool paired;             /* not_unique: two of the items so far are equal */
};

bool tombola__array_may_end(struct tombola__store *s, const struct tombola__array_state *state);

/* The ways to go on with another item: its formula, and the counts with it (`more`: n_counts of uint32_t, valid during
 * the call). Only such that the array can still be completed. None when there may be no other. In a unique array an item
 * of few possible values comes without those that were seen; of others the machine refuses a value that comes again
 * when it ends, and tombola__explore() says when that may be a dead end. An array that needs two equal items, when there
 * is no other chance, comes to items that must be one that is there. */
void tombola__array_ways(struct tombola__store *s, const struct tombola__array_state *state,
                         tombola__way_fn visit, void *context);

#endif
