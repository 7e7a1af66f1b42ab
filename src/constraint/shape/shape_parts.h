/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of shapes share: conjuncts, what is known of a formula, and shapes with what helps to follow them.
 *
 *   formula ──shape_dnf.c──▶ conjuncts ──draft──▶ drafts ──shape_sat.c──▶ which can be ──complete──▶ shapes
 *             shape_choices.c
 *
 * A conjunct and its draft depend on the formula only. Whether they can be satisfied is the least solution of equations
 * between formulas (a value is finite), so it is settled before the first shape is completed. */
#ifndef TOMBOLA_SHAPE_PARTS_H
#define TOMBOLA_SHAPE_PARTS_H

#include "constraint/shape/shape.h"

#define TOMBOLA__MOST_ALTERNATIVES 4096
#define TOMBOLA__FEW_NAMES         64
#define TOMBOLA__FEW_VALUES        256
#define TOMBOLA__MANY_NAMES        65536 /* as good as any number */

/* What a conjunct says of one property, one item, or all items from one on. */
struct tombola__fact {
  uintptr_t key; /* the name's address; ITEM: 2 * index, ITEMS: 2 * index + 1 */
  tombola__formula value;
  uint32_t order;
  bool required;
};

/* OR of conjuncts. */
struct tombola__conjuncts {
  struct tombola__conjunct **at;
  size_t n;
};

/* An AND of atoms about one type, either ARRAY or OBJECT, and of choices (OBJECT). */
struct tombola__conjunct {
  const struct tombola__fact *facts; /* by key */
  size_t n_facts;
  const tombola__formula *others; /* the remaining atoms, ascending */
  size_t n_others;
  uint32_t min, max;
  bool unique, not_unique;
  /* Each an OR of conjuncts of facts and of KEYS that say the same of all names without a fact; those of a settled
   * conjunct have two or more. */
  const struct tombola__conjuncts *choices;
  size_t n_choices;
  uint64_t hash;
  void *draft; /* struct tombola__object or tombola__array */
};

/* What a formula says of scalars. */
struct tombola__scalars {
  unsigned literals; /* NULL, FALSE_VALUE, TRUE_VALUE */
  tombola__lang text;
  tombola__numset numbers;
};

enum tombola__sat { TOMBOLA__UNSETTLED, TOMBOLA__SETTLING, TOMBOLA__NO_SO_FAR, TOMBOLA__NO, TOMBOLA__YES };

/* All that is known of one formula. */
struct tombola__known {
  bool has_scalars, has[2]; /* 0: arrays, 1: objects */
  uint8_t busy[3];          /* being made, at this level of clashes + 1: arrays, objects, scalars */
  uint8_t sat;
  bool counting;
  uint32_t depth, low, trues; /* shape_sat.c */
  struct tombola__scalars scalars;
  struct tombola__conjuncts alternatives[2];
  const struct tombola__value *value;
  uint64_t count, counted_to; /* values, at most counted_to; 0: not counted */
};

struct tombola__shapes {
  struct tombola__known ***pages;
  size_t n_pages;
  unsigned clashes;           /* tombola__clash within tombola__clash */
  unsigned nesting;           /* of formulas in place */
  bool unknown;               /* shape_dnf.c: what is asked for is being made further out */
  uint32_t depth, low, trues; /* shape_sat.c */
  struct tombola__known **tentative;
  size_t n_tentative, tentative_room;
  bool inexact; /* since it was last cleared, something wasn't settled */
  tombola__formula blamed[16];
  size_t n_blamed;
};

struct tombola__object {
  struct tombola__object_shape shape;
  const struct tombola__conjunct *conjunct;
  tombola__lang forbidden, allowed; /* names, of the KEYS that say FALSE */
  size_t n_forbidden;               /* declared ones */
  /* Of a completed one: */
  size_t words;
  uint64_t *possible, *required, *unordered; /* bits of the declared ones */
  size_t n_possible, n_required;
  uint64_t extra_count; /* names in extra, MANY or less */
  bool asking;          /* some declared property asks for others */
  bool simple;          /* no name rules out another one, but for the order */
  bool exact;
};

static inline const struct tombola__object *tombola__object_of(const struct tombola__object_state *at) {
  return (const struct tombola__object *)(const void *)at->shape;
}

struct tombola__array {
  struct tombola__array_shape shape;
  bool exact;
};

/* Where the store has failed, adds what the work was about. */
void tombola__blame(struct tombola__store *s, tombola__formula f);

/* NULL after a failure. f is resolved. */
struct tombola__known *tombola__known(struct tombola__store *s, tombola__formula f);

/* shape_dnf.c. which: 0 for arrays, 1 for objects. */
const struct tombola__conjuncts *tombola__alternatives(struct tombola__store *s, tombola__formula f,
                                                       int which);
/* Both; NULL when they plainly exclude each other, or after a failure. */
struct tombola__conjunct *tombola__join(struct tombola__store *s, struct tombola__conjunct *a,
                                        struct tombola__conjunct *b, int which);
/* Around making part i of what is known (0 arrays, 1 objects, 2 scalars). False: it is being made already, or the
 * schema is nested too deep. */
bool tombola__enter(struct tombola__store *s, struct tombola__known *k, int i);
void tombola__leave(struct tombola__store *s, struct tombola__known *k, int i);

/* shape_choices.c: all alternatives without choices; fails the store when there are too many. */
struct tombola__conjuncts tombola__expanded(struct tombola__store *s, const struct tombola__conjuncts *list);

/* shape_scalars.c */
struct tombola__scalars tombola__scalars(struct tombola__store *s, tombola__formula f);

/* shape_sat.c: whether something finite satisfies it, as far as is known: a false may be of the moment only while depth
 * isn't 0. */
bool tombola__sat(struct tombola__store *s, tombola__formula f);
bool tombola__object_sat(struct tombola__store *s, struct tombola__conjunct *c);
bool tombola__array_sat(struct tombola__store *s, struct tombola__conjunct *c);

/* shape_object.c, shape_array.c */
struct tombola__object *tombola__object_draft(struct tombola__store *s, struct tombola__conjunct *c);
struct tombola__object *tombola__object_complete(struct tombola__store *s,
                                                 const struct tombola__object *draft);
struct tombola__array *tombola__array_draft(struct tombola__store *s, struct tombola__conjunct *c);
struct tombola__array *tombola__array_complete(struct tombola__store *s, const struct tombola__array *draft);

/* shape_object_ways.c, shape_array_ways.c: whether anything at all is of the shape. */
bool tombola__object_can_be(struct tombola__store *s, const struct tombola__object *o);
/* Whether few enough wants can be met or not by one property; else the store has failed. */
bool tombola__wants_split(struct tombola__store *s, const struct tombola__object_shape *shape);
bool tombola__array_can_be(struct tombola__store *s, const struct tombola__array *a);

/* shape_object.c: the place of a name among declared properties, which are sorted; n: it isn't there. */
size_t tombola__declared_find(const struct tombola__declared *declared, size_t n,
                              const struct tombola__name *name);

/* shape_object_choices.c: the branches of o->conjunct, by o's declared properties; completed: `possible` is known, and
 * branches that can't be are left out. */
bool tombola__object_branches(struct tombola__store *s, struct tombola__object *o, bool completed);
/* Whether all choices can be met together. */
bool tombola__choices_can_be(struct tombola__store *s, const struct tombola__object *o);
/* Of an object with choices, as the functions of shape.h. */
void tombola__choices_names(struct tombola__store *s, const struct tombola__object_state *at,
                            uint64_t *names);
bool tombola__choices_may_end(const struct tombola__object_state *at);
void tombola__choices_ways(struct tombola__store *s, const struct tombola__object_state *at, uint32_t index,
                           tombola__way_fn visit, void *context);

/* shape_array_pairs.c. Whether two equal items can always follow that no count with a max counts. */
bool tombola__pair_can_follow(struct tombola__store *s, const struct tombola__array_shape *shape);
/* Whether an array that needs two equal items can have them, whatever is counted. */
bool tombola__pair_can_be(struct tombola__store *s, const struct tombola__array_shape *shape);
/* What the next item must be so that two can still be equal. */
tombola__formula tombola__pair_item(struct tombola__store *s, const struct tombola__array_state *state,
                                    tombola__formula item);

/* The value of an undeclared name: AND of the groups that have it. */
tombola__formula tombola__group_value(struct tombola__store *s, const struct tombola__object_shape *shape,
                                      const char *name, size_t length);

/* Undeclared names of `names` whose groups, together with `value`, can be satisfied. */
tombola__lang tombola__possible_names(struct tombola__store *s, const struct tombola__object_shape *shape,
                                      tombola__lang names, tombola__formula value);

/* `word` isn't 0. */
static inline unsigned tombola__lowest(uint64_t word) {
  unsigned n = 0;
  while (!(word >> n & 1))
    n++;
  return n;
}

static inline bool tombola__bit(const uint64_t *bits, size_t i) {
  return bits[i / 64] >> i % 64 & 1;
}

static inline void tombola__set_bit(uint64_t *bits, size_t i) {
  bits[i / 64] |= UINT64_C(1) << i % 64;
}

#endif
