/* SPDX-License-Identifier: Apache-2.0 */
/* From a formula to its alternatives: the disjunctive normal form of what it says of arrays, or of objects; of objects as
 * far as it isn't a choice that can be left open (shape_choices.c). */
#include <string.h>

#include "constraint/shape/shape_lists.h"

#define MOST_CLASHES 4 /* how deep a contradiction is looked for */

static unsigned type_of(int which) {
  return which ? TOMBOLA__OBJECT : TOMBOLA__ARRAY;
}

/* ---- formulas ---- */

enum meaning { FALSE_HERE, TRUE_HERE, ATOM, COMPOSITE };

/* What a node is to values of the type. */
static enum meaning meaning(const struct tombola__node *n, int which) {
  switch (n->kind) {
  case TOMBOLA__AND:
  case TOMBOLA__OR:
  case TOMBOLA__ONE_OF:
  case TOMBOLA__LATER: return COMPOSITE;
  case TOMBOLA__TYPES: return n->types & type_of(which) ? TRUE_HERE : FALSE_HERE;
  case TOMBOLA__TEXT:
  case TOMBOLA__NUMERIC: return TRUE_HERE;
  case TOMBOLA__LENGTH:
  case TOMBOLA__ITEM:
  case TOMBOLA__ITEMS:
  case TOMBOLA__CONTAINS:
  case TOMBOLA__UNIQUE:
  case TOMBOLA__NOT_UNIQUE: return which ? TRUE_HERE : ATOM;
  case TOMBOLA__SIZE:
  case TOMBOLA__PROPERTY:
  case TOMBOLA__REQUIRED:
  case TOMBOLA__DEPENDS:
  case TOMBOLA__KEYS:
  case TOMBOLA__SOME_KEY: return which ? ATOM : TRUE_HERE;
  }
  return FALSE_HERE;
}

static struct tombola__conjuncts alternatives_of(struct tombola__store *s, tombola__formula f, int which) {
  const struct tombola__conjuncts *const made = tombola__alternatives(s, f, which);
  return made ? *made : (struct tombola__conjuncts){0};
}

static bool can_meet(struct tombola__store *s, const struct tombola__list *a,
                     const struct tombola__conjuncts *b, int which) {
  for (size_t i = 0; i < a->n; i++)
    for (size_t k = 0; k < b->n && tombola__store_state(s); k++)
      if (!tombola__exclude(s, a->at[i], b->at[k], which)) return true;
  return false;
}

static bool can_meet_in(struct tombola__store *s, struct tombola__list context, const struct tombola__list *a,
                        const struct tombola__conjuncts *b, int which) {
  if (!can_meet(s, a, b, which)) return false;
  const struct tombola__list inside =
      tombola__list_product(s, context, (struct tombola__conjuncts){a->at, a->n}, which);
  return can_meet(s, &inside, b, which);
}

/* Exactly one: each part without those others that it doesn't exclude anyway, given the context, which is true too. */
static struct tombola__list of_one_of(struct tombola__store *s, const struct tombola__node *n, int which,
                                      struct tombola__list context) {
  struct tombola__list out = {0};
  struct tombola__conjuncts *const lists = tombola__store_take(s, n->n_parts, sizeof *lists);
  if (!lists) return out;
  for (size_t i = 0; i < n->n_parts; i++)
    lists[i] = alternatives_of(s, n->parts[i], which);
  for (size_t i = 0; i < n->n_parts && !s->shapes->unknown; i++) {
    struct tombola__list mine = {0};
    for (size_t k = 0; k < lists[i].n; k++)
      tombola__list_push(s, &mine, lists[i].at[k]);
    for (size_t j = 0; j < n->n_parts && mine.n && !s->status; j++)
      if (j != i && can_meet_in(s, context, &mine, &lists[j], which))
        mine = tombola__list_product(s, mine, alternatives_of(s, tombola__not(s, n->parts[j]), which), which);
    for (size_t k = 0; k < mine.n; k++)
      tombola__list_push(s, &out, mine.at[k]);
  }
  tombola__list_tidy(s, &out, which);
  return which ? tombola__gather(s, out) : out;
}

static struct tombola__list of_and(struct tombola__store *s, const struct tombola__node *n, int which) {
  struct tombola__list out = {0};
  tombola__formula *const atoms = tombola__store_take(s, n->n_parts + 1, sizeof *atoms);
  size_t n_atoms = 0, n_composites = 0;
  if (!atoms) return out;
  for (size_t i = 0; i < n->n_parts; i++) {
    const enum meaning m = meaning(tombola__node(s, n->parts[i]), which);
    if (m == FALSE_HERE) return out;
    if (m == ATOM) atoms[n_atoms++] = n->parts[i];
    n_composites += m == COMPOSITE;
  }
  tombola__list_push(s, &out, tombola__conjunct_of(s, atoms, n_atoms, which));
  if (out.n == 0 || n_composites == 0) return out;
  struct tombola__conjuncts *const lists = tombola__store_take(s, n_composites, sizeof *lists);
  if (!lists) return (struct tombola__list){0};
  const struct tombola__list context = out;
  size_t n_lists = 0;
  for (size_t i = 0; i < n->n_parts; i++) {
    const struct tombola__node *const part = tombola__node(s, n->parts[i]);
    if (meaning(part, which) != COMPOSITE) continue;
    struct tombola__conjuncts l;
    if (part->kind == TOMBOLA__ONE_OF) {
      const struct tombola__list ways = of_one_of(s, part, which, context);
      l = (struct tombola__conjuncts){ways.at, ways.n};
    } else {
      l = alternatives_of(s, n->parts[i], which);
    }
    if (l.n == 0) return (struct tombola__list){0};
    size_t at = n_lists++;
    for (; at > 0 && lists[at - 1].n > l.n; at--) /* the shortest first: they may rule others out */
      lists[at] = lists[at - 1];
    lists[at] = l;
  }
  for (size_t i = 0; i < n_lists && out.n; i++)
    out = tombola__list_product(s, out, lists[i], which);
  return out;
}

static struct tombola__list of_or(struct tombola__store *s, const struct tombola__node *n, int which) {
  struct tombola__list out = {0};
  for (size_t i = 0; i < n->n_parts && !s->status && !s->shapes->unknown; i++) {
    const struct tombola__conjuncts l = alternatives_of(s, n->parts[i], which);
    for (size_t k = 0; k < l.n; k++)
      tombola__list_push(s, &out, l.at[k]);
  }
  tombola__list_tidy(s, &out, which);
  return which ? tombola__gather(s, out) : out;
}

static struct tombola__list of_node(struct tombola__store *s, tombola__formula f, int which) {
  const struct tombola__node *const n = tombola__node(s, f);
  struct tombola__list out = {0};
  switch (meaning(n, which)) {
  case FALSE_HERE: break;
  case TRUE_HERE: tombola__list_push(s, &out, tombola__conjunct_of(s, NULL, 0, which)); break;
  case ATOM: tombola__list_push(s, &out, tombola__conjunct_of(s, &f, 1, which)); break;
  case COMPOSITE:
    if (n->kind == TOMBOLA__AND) out = of_and(s, n, which);
    if (n->kind == TOMBOLA__OR) out = of_or(s, n, which);
    if (n->kind == TOMBOLA__ONE_OF) {
      tombola__list_push(s, &out, tombola__conjunct_of(s, NULL, 0, which));
      out = of_one_of(s, n, which, out);
    }
    break;
  }
  return out;
}

/* A part that says what it is by itself, without an object or array in between, says nothing. */
static void fail_cycle(struct tombola__store *s) {
  tombola__store_fail(s, TOMBOLA_UNSUPPORTED, NULL,
                      "a reference leads back to itself without an object or an array in between");
}

bool tombola__enter(struct tombola__store *s, struct tombola__known *k, int i) {
  struct tombola__shapes *const shapes = s->shapes;
  if (k->busy[i]) {
    if (k->busy[i] == shapes->clashes + 1)
      fail_cycle(s);
    else
      shapes->unknown = true;
    return false;
  }
  if (shapes->nesting >= 4 * s->max_depth) {
    tombola__store_fail(s, TOMBOLA_OUT_OF_RANGE, "max_depth", "schemas nested deeper than max_depth, %zu",
                        s->max_depth);
    return false;
  }
  shapes->nesting++;
  k->busy[i] = (uint8_t)(shapes->clashes + 1);
  return true;
}

void tombola__leave(struct tombola__store *s, struct tombola__known *k, int i) {
  s->shapes->nesting--;
  k->busy[i] = 0;
}

const struct tombola__conjuncts *tombola__alternatives(struct tombola__store *s, tombola__formula f,
                                                       int which) {
  f = tombola__resolve(s, f);
  struct tombola__known *const k = tombola__known(s, f);
  if (!k || s->status) return NULL;
  if (k->has[which]) return &k->alternatives[which];
  if (!tombola__enter(s, k, which)) return NULL;
  struct tombola__list list = of_node(s, f, which);
  if (which) list = tombola__settle(s, list);
  tombola__leave(s, k, which);
  tombola__blame(s, f);
  if (s->status || s->shapes->unknown) return NULL;
  k->alternatives[which] = (struct tombola__conjuncts){list.at, list.n};
  k->has[which] = true;
  return &k->alternatives[which];
}

/* Whether the formula has no alternative at all, as far as is seen without going deep. */
static bool is_empty(struct tombola__store *s, tombola__formula f) {
  const struct tombola__scalars scalars = tombola__scalars(s, f);
  bool empty = !scalars.literals && !scalars.text && !scalars.numbers;
  for (int which = 0; which < 2 && empty && !s->shapes->unknown; which++)
    empty = alternatives_of(s, f, which).n == 0;
  return empty;
}

/* Settles by scalars and types alone whether both can be: 1 yes, 0 no, -1 that takes the conjunction. */
static int meet_plainly(struct tombola__store *s, tombola__formula a, tombola__formula b) {
  const struct tombola__scalars x = tombola__scalars(s, a), y = tombola__scalars(s, b);
  if (s->status || s->shapes->unknown || (x.literals & y.literals)) return 1;
  if (x.numbers && y.numbers && !tombola__numbers_is_none(s, tombola__numbers_and(s, x.numbers, y.numbers)))
    return 1;
  if (x.text && y.text && !tombola__lang_is_none(s, tombola__lang_and(s, x.text, y.text))) return 1;
  for (int which = 0; which < 2; which++)
    if (alternatives_of(s, a, which).n && alternatives_of(s, b, which).n) return -1;
  return 0;
}

bool tombola__clash(struct tombola__store *s, tombola__formula a, tombola__formula b) {
  struct tombola__shapes *const shapes = s->shapes;
  if (a == TOMBOLA__FALSE || b == TOMBOLA__FALSE) return true;
  if (a == TOMBOLA__TRUE || b == TOMBOLA__TRUE || s->status || shapes->clashes >= MOST_CLASHES) return false;
  shapes->clashes++;
  const int met = a == b ? -1 : meet_plainly(s, a, b);
  const bool none = met == 0 || (met < 0 && !shapes->unknown && is_empty(s, tombola__and2(s, a, b)));
  shapes->clashes--;
  if (shapes->unknown) {
    shapes->unknown = false;
    return false;
  }
  return none && !s->status;
}
