/* SPDX-License-Identifier: Apache-2.0 */
/* Conjuncts and lists of them, for the files that make alternatives. `which`: 0 for arrays, 1 for objects. */
#ifndef TOMBOLA_SHAPE_LISTS_H
#define TOMBOLA_SHAPE_LISTS_H

#include "constraint/shape/shape_parts.h"

struct tombola__list {
  struct tombola__conjunct **at;
  size_t n, room;
};

/* ---- shape_conjunct.c ---- */

/* The conjunct of atoms of one type; NULL when it is plainly dead, or after a failure. */
struct tombola__conjunct *tombola__conjunct_of(struct tombola__store *s, const tombola__formula *atoms,
                                               size_t n, int which);
/* By key; ascending. */
void tombola__sort_facts(struct tombola__fact *facts, size_t n);
void tombola__sort_atoms(tombola__formula *atoms, size_t n);
uint64_t tombola__conjunct_hash(const struct tombola__conjunct *c);
/* Whether the two plainly exclude each other, whatever their choices come to. */
bool tombola__exclude(struct tombola__store *s, const struct tombola__conjunct *a,
                      const struct tombola__conjunct *b, int which);

/* Whether everything that the general one asks for, the special one does too. */
bool tombola__covers(const struct tombola__conjunct *general, const struct tombola__conjunct *special);

/* Adds one that isn't NULL; fails the store beyond MOST_ALTERNATIVES. */
void tombola__list_push(struct tombola__store *s, struct tombola__list *list, struct tombola__conjunct *c);
/* Drops equal ones. Of a short list, drops what another one covers too, and makes one of two that differ in the value of
 * a single property or item. */
void tombola__list_tidy(struct tombola__store *s, struct tombola__list *list, int which);
struct tombola__list tombola__list_product(struct tombola__store *s, struct tombola__list a,
                                           struct tombola__conjuncts b, int which);

/* ---- shape_dnf.c ---- */

/* Whether a and b can be seen not to be satisfied together, without going deep. */
bool tombola__clash(struct tombola__store *s, tombola__formula a, tombola__formula b);

/* ---- shape_choices.c: of objects ---- */

/* What the conjunct says of a property, or NULL. */
const struct tombola__fact *tombola__fact_of(const struct tombola__conjunct *c, uintptr_t key);
/* Adds all that the conjunct may come to, without choices. */
void tombola__expand(struct tombola__store *s, struct tombola__conjunct *c, struct tombola__list *out);
/* Makes choices: of alternatives that only say different things of some properties, one conjunct is left. */
struct tombola__list tombola__gather(struct tombola__store *s, struct tombola__list list);
/* shape_settle.c: leaves choices as few and as small as what is plain to see makes them; those that can't be left open are multiplied out. */
struct tombola__list tombola__settle(struct tombola__store *s, struct tombola__list list);

#endif
