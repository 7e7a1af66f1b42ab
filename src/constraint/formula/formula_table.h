/* SPDX-License-Identifier: Apache-2.0 */
/* The table of formulas, for the files that make them. */
#ifndef TOMBOLA_FORMULA_TABLE_H
#define TOMBOLA_FORMULA_TABLE_H

#include "constraint/formula/formula.h"

struct tombola__formula_entry {
  struct tombola__node node;
  uint64_t hash;
  tombola__formula dual; /* MANY: not made yet */
};

struct tombola__later {
  tombola__build_fn build;
  void *context;
  uint32_t id;
  tombola__formula built[2]; /* the part and its negation; MANY: not yet */
  bool building;
};

struct tombola__formulas {
  struct tombola__store *store;
  struct tombola__formula_entry **pages;
  size_t page_room;
  uint32_t count;
  uint32_t *slots; /* formula + 1; 0: free */
  size_t n_slots;
  const struct tombola__name **name_slots;
  size_t n_names, n_name_slots;
  struct tombola__later *laters;
  size_t n_laters, later_room;
  size_t depth; /* of tombola__resolve in itself */
};

/* Valid until the next formula is made only as far as the table goes; an entry itself never moves. */
struct tombola__formula_entry *tombola__formula_entry(const struct tombola__store *s, tombola__formula f);

/* The formula of a node, whose parts are copied. */
tombola__formula tombola__formula_intern(struct tombola__store *s, const struct tombola__node *node);

/* What a LATER has turned out to be; others, and those that aren't built yet, are themselves. */
tombola__formula tombola__formula_seen(struct tombola__store *s, tombola__formula f);

/* Atoms that only a negation makes. */
tombola__formula tombola__formula_some_key(struct tombola__store *s, tombola__lang lang,
                                           tombola__formula part);
tombola__formula tombola__formula_not_unique(struct tombola__store *s);

#endif
