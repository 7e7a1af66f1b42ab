/* SPDX-License-Identifier: Apache-2.0 */
/* From a formula to its alternatives: the disjunctive normal form of what it says of arrays, or of objects. Contradictions
 * that are cheap to see are dropped while conjuncts are joined, since without that the number of alternatives multiplies:
 * schemas with many alternatives nearly always tell them apart by a property. */
#include <stdlib.h>
#include <string.h>

#include "constraint/shape/shape_parts.h"

#define MOST_CLASHES 4 /* how deep a contradiction is looked for */

static unsigned type_of(int which) {
  return which ? TOMBOLA__OBJECT : TOMBOLA__ARRAY;
}

/* ---- one conjunct ---- */

static int by_key(const void *a, const void *b) {
  const struct tombola__fact *const x = a, *const y = b;
  return x->key < y->key ? -1 : x->key > y->key;
}

static int ascending(const void *a, const void *b) {
  const tombola__formula x = *(const tombola__formula *)a, y = *(const tombola__formula *)b;
  return x < y ? -1 : x > y;
}

static struct tombola__fact joined(struct tombola__store *s, const struct tombola__fact *a,
                                   const struct tombola__fact *b) {
  return (struct tombola__fact){
      .key = a->key,
      .value = a->value == b->value ? a->value : tombola__and2(s, a->value, b->value),
      .order = a->order < b->order ? a->order : b->order,
      .required = a->required || b->required,
  };
}

/* Whether what the fact speaks of must be there. */
static bool is_there(const struct tombola__fact *fact, int which, uint32_t min) {
  return which ? fact->required : !(fact->key & 1) && fact->key / 2 < min;
}

static bool plainly_dead(const struct tombola__conjunct *c, int which) {
  if (c->min > c->max || (c->not_unique && (c->unique || c->max < 2))) return true;
  for (size_t i = 0; i < c->n_facts; i++)
    if (c->facts[i].value == TOMBOLA__FALSE && is_there(&c->facts[i], which, c->min)) return true;
  return false;
}

static uint64_t hash_of(const struct tombola__conjunct *c) {
  uint64_t h = tombola__mix(c->min, c->max);
  h = tombola__mix(h, (uint64_t)c->unique << 1 | c->not_unique);
  for (size_t i = 0; i < c->n_facts; i++) {
    h = tombola__mix(h, c->facts[i].key);
    h = tombola__mix(h, (uint64_t)c->facts[i].value << 1 | c->facts[i].required);
  }
  for (size_t i = 0; i < c->n_others; i++)
    h = tombola__mix(h, c->others[i]);
  return h;
}

static void add_atom(struct tombola__conjunct *c, struct tombola__fact *facts, tombola__formula *others,
                     tombola__formula f, const struct tombola__node *n) {
  struct tombola__fact fact = {.value = n->part, .order = TOMBOLA__MANY};
  switch (n->kind) {
  case TOMBOLA__LENGTH:
  case TOMBOLA__SIZE:
    if (n->min > c->min) c->min = n->min;
    if (n->max < c->max) c->max = n->max;
    return;
  case TOMBOLA__UNIQUE: c->unique = true; return;
  case TOMBOLA__NOT_UNIQUE: c->not_unique = true; return;
  case TOMBOLA__ITEM: fact.key = (uintptr_t)n->index * 2; break;
  case TOMBOLA__ITEMS: fact.key = (uintptr_t)n->index * 2 + 1; break;
  case TOMBOLA__PROPERTY:
    fact.key = (uintptr_t)n->name;
    fact.order = n->order;
    break;
  case TOMBOLA__REQUIRED:
    fact.key = (uintptr_t)n->name;
    fact.value = TOMBOLA__TRUE;
    fact.required = true;
    break;
  case TOMBOLA__AND:
  case TOMBOLA__OR:
  case TOMBOLA__ONE_OF:
  case TOMBOLA__LATER:
  case TOMBOLA__TYPES:
  case TOMBOLA__TEXT:
  case TOMBOLA__NUMERIC:
  case TOMBOLA__CONTAINS:
  case TOMBOLA__DEPENDS:
  case TOMBOLA__KEYS:
  case TOMBOLA__SOME_KEY: others[c->n_others++] = f; return;
  }
  facts[c->n_facts++] = fact;
}

/* Whether a and b can be seen not to be satisfied together, without going deep. */
static bool clash(struct tombola__store *s, tombola__formula a, tombola__formula b);

/* Sorts the facts and joins those of one key. False: two of them exclude each other. */
static bool settle_facts(struct tombola__store *s, struct tombola__conjunct *c, struct tombola__fact *facts,
                         int which) {
  size_t kept = 0;
  if (c->n_facts > 1) qsort(facts, c->n_facts, sizeof *facts, by_key);
  for (size_t i = 0; i < c->n_facts; kept++) {
    struct tombola__fact fact = facts[i++];
    bool several = false; /* values that differ */
    for (; i < c->n_facts && facts[i].key == fact.key; i++) {
      several |=
          fact.value != TOMBOLA__TRUE && facts[i].value != TOMBOLA__TRUE && fact.value != facts[i].value;
      fact = joined(s, &fact, &facts[i]);
    }
    if (several && is_there(&fact, which, c->min) && clash(s, fact.value, fact.value)) return false;
    facts[kept] = fact;
  }
  c->n_facts = kept;
  return true;
}

/* The conjunct of atoms of one type; NULL when it is plainly dead, or after a failure. */
static struct tombola__conjunct *of_atoms(struct tombola__store *s, const tombola__formula *atoms, size_t n,
                                          int which) {
  struct tombola__conjunct *const c = tombola__store_take(s, 1, sizeof *c);
  struct tombola__fact *const facts = tombola__store_take(s, n + 1, sizeof *facts);
  tombola__formula *const others = tombola__store_take(s, n + 1, sizeof *others);
  if (s->status) return NULL;
  *c = (struct tombola__conjunct){.facts = facts, .others = others, .max = TOMBOLA__MANY};
  for (size_t i = 0; i < n; i++)
    add_atom(c, facts, others, atoms[i], tombola__node(s, atoms[i]));
  if (!settle_facts(s, c, facts, which)) return NULL;
  if (c->n_others > 1) qsort(others, c->n_others, sizeof *others, ascending);
  c->hash = hash_of(c);
  return plainly_dead(c, which) ? NULL : c;
}

/* ---- joining conjuncts ---- */

/* Whether the two plainly exclude each other. */
static bool exclude(struct tombola__store *s, const struct tombola__conjunct *a,
                    const struct tombola__conjunct *b, int which) {
  const uint32_t min = a->min > b->min ? a->min : b->min, max = a->max < b->max ? a->max : b->max;
  if (min > max) return true;
  if ((a->unique && b->not_unique) || (a->not_unique && b->unique)) return true;
  for (size_t i = 0, k = 0; i < a->n_facts || k < b->n_facts;) {
    struct tombola__fact fact;
    const bool first = k == b->n_facts || (i < a->n_facts && a->facts[i].key <= b->facts[k].key);
    const bool both = first && k < b->n_facts && a->facts[i].key == b->facts[k].key;
    if (both) {
      fact = a->facts[i];
      fact.required |= b->facts[k].required;
      const tombola__formula x = a->facts[i].value, y = b->facts[k].value;
      if (x != y && is_there(&fact, which, min) && clash(s, x, y)) return true;
    } else {
      fact = first ? a->facts[i] : b->facts[k];
      if (fact.value == TOMBOLA__FALSE && is_there(&fact, which, min)) return true;
    }
    i += first;
    k += both || !first;
  }
  return false;
}

static void join_facts(struct tombola__store *s, struct tombola__conjunct *c, struct tombola__fact *out,
                       const struct tombola__conjunct *a, const struct tombola__conjunct *b) {
  size_t i = 0, k = 0, n = 0;
  while (i < a->n_facts && k < b->n_facts)
    if (a->facts[i].key == b->facts[k].key)
      out[n++] = joined(s, &a->facts[i++], &b->facts[k++]);
    else
      out[n++] = a->facts[i].key < b->facts[k].key ? a->facts[i++] : b->facts[k++];
  while (i < a->n_facts)
    out[n++] = a->facts[i++];
  while (k < b->n_facts)
    out[n++] = b->facts[k++];
  c->facts = out;
  c->n_facts = n;
}

static void join_others(struct tombola__conjunct *c, tombola__formula *out, const struct tombola__conjunct *a,
                        const struct tombola__conjunct *b) {
  size_t i = 0, k = 0, n = 0;
  while (i < a->n_others || k < b->n_others) {
    const bool first = k == b->n_others || (i < a->n_others && a->others[i] <= b->others[k]);
    const bool both = first && k < b->n_others && a->others[i] == b->others[k];
    out[n++] = first ? a->others[i] : b->others[k];
    i += first;
    k += both || !first;
  }
  c->others = out;
  c->n_others = n;
}

/* Both; NULL when they exclude each other, or after a failure. */
struct tombola__conjunct *tombola__join(struct tombola__store *s, struct tombola__conjunct *a,
                                        struct tombola__conjunct *b, int which) {
  if (!tombola__store_state(s) || exclude(s, a, b, which)) return NULL;
  const size_t n_facts = a->n_facts + b->n_facts, n_others = a->n_others + b->n_others;
  struct tombola__conjunct *const c = tombola__store_take(s, 1, sizeof *c);
  struct tombola__fact *const facts = n_facts ? tombola__store_take(s, n_facts, sizeof *facts) : NULL;
  tombola__formula *const others = n_others ? tombola__store_take(s, n_others, sizeof *others) : NULL;
  if (s->status) return NULL;
  *c = (struct tombola__conjunct){
      .min = a->min > b->min ? a->min : b->min,
      .max = a->max < b->max ? a->max : b->max,
      .unique = a->unique || b->unique,
      .not_unique = a->not_unique || b->not_unique,
  };
  join_facts(s, c, facts, a, b);
  join_others(c, others, a, b);
  c->hash = hash_of(c);
  return plainly_dead(c, which) ? NULL : c;
}

/* ---- lists of them ---- */

static bool same_fact(const struct tombola__fact *general, const struct tombola__fact *special) {
  return general->key == special->key &&
         (general->value == special->value || general->value == TOMBOLA__TRUE) &&
         (special->required || !general->required);
}

/* Whether everything that the general one asks for, the special one does too. */
static bool covers(const struct tombola__conjunct *general, const struct tombola__conjunct *special) {
  if (general->n_facts > special->n_facts || general->n_others > special->n_others) return false;
  if (general->min > special->min || general->max < special->max) return false;
  if ((general->unique && !special->unique) || (general->not_unique && !special->not_unique)) return false;
  size_t k = 0;
  for (size_t i = 0; i < general->n_facts; i++, k++) {
    while (k < special->n_facts && special->facts[k].key < general->facts[i].key)
      k++;
    if (k == special->n_facts || !same_fact(&general->facts[i], &special->facts[k])) return false;
  }
  k = 0;
  for (size_t i = 0; i < general->n_others; i++, k++) {
    while (k < special->n_others && special->others[k] < general->others[i])
      k++;
    if (k == special->n_others || special->others[k] != general->others[i]) return false;
  }
  return true;
}

struct list {
  struct tombola__conjunct **at;
  size_t n, room;
};

static void push(struct tombola__store *s, struct list *list, struct tombola__conjunct *c) {
  if (!c || s->status) return;
  if (list->n == list->room) {
    if (list->n >= TOMBOLA__MOST_ALTERNATIVES) {
      tombola__store_fail(s, TOMBOLA_OUT_OF_RANGE, "alternatives", "a schema has more than %d alternatives",
                          TOMBOLA__MOST_ALTERNATIVES);
      return;
    }
    const size_t room = list->room ? list->room * 2 : 4;
    struct tombola__conjunct **const at = tombola__store_take(s, room, sizeof *at);
    if (!at) return;
    if (list->n) memcpy(at, list->at, list->n * sizeof *at);
    list->at = at;
    list->room = room;
  }
  list->at[list->n++] = c;
}

static int by_hash(const void *a, const void *b) {
  const uint64_t x = (*(struct tombola__conjunct *const *)a)->hash,
                 y = (*(struct tombola__conjunct *const *)b)->hash;
  return x < y ? -1 : x > y;
}

/* Drops equal ones, of a short list all that another one covers. */
static void tidy(struct list *list) {
  if (list->n < 2) return;
  size_t kept = 0;
  if (list->n > 64) {
    qsort(list->at, list->n, sizeof(struct tombola__conjunct *), by_hash);
    for (size_t i = 0; i < list->n; i++)
      if (kept == 0 || list->at[kept - 1]->hash != list->at[i]->hash ||
          !covers(list->at[kept - 1], list->at[i]))
        list->at[kept++] = list->at[i];
    list->n = kept;
    return;
  }
  for (size_t i = 0; i < list->n; i++) {
    bool covered = false;
    for (size_t k = 0; k < list->n && !covered; k++)
      covered = k != i && list->at[k] && covers(list->at[k], list->at[i]);
    if (covered) list->at[i] = NULL;
  }
  for (size_t i = 0; i < list->n; i++)
    if (list->at[i]) list->at[kept++] = list->at[i];
  list->n = kept;
}

static struct list product(struct tombola__store *s, struct list a, struct tombola__conjuncts b, int which) {
  struct list out = {0};
  for (size_t i = 0; i < a.n; i++)
    for (size_t k = 0; k < b.n && !s->status && !s->shapes->unknown; k++)
      push(s, &out, tombola__join(s, a.at[i], b.at[k], which));
  tidy(&out);
  return out;
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

static bool can_meet(struct tombola__store *s, const struct list *a, const struct tombola__conjuncts *b,
                     int which) {
  for (size_t i = 0; i < a->n; i++)
    for (size_t k = 0; k < b->n && tombola__store_state(s); k++)
      if (!exclude(s, a->at[i], b->at[k], which)) return true;
  return false;
}

static bool can_meet_in(struct tombola__store *s, struct list context, const struct list *a,
                        const struct tombola__conjuncts *b, int which) {
  if (!can_meet(s, a, b, which)) return false;
  const struct list inside = product(s, context, (struct tombola__conjuncts){a->at, a->n}, which);
  return can_meet(s, &inside, b, which);
}

/* Exactly one: each part without those others that it doesn't exclude anyway, given the context, which is true too. */
static struct list of_one_of(struct tombola__store *s, const struct tombola__node *n, int which,
                             struct list context) {
  struct list out = {0};
  struct tombola__conjuncts *const lists = tombola__store_take(s, n->n_parts, sizeof *lists);
  if (!lists) return out;
  for (size_t i = 0; i < n->n_parts; i++)
    lists[i] = alternatives_of(s, n->parts[i], which);
  for (size_t i = 0; i < n->n_parts && !s->shapes->unknown; i++) {
    struct list mine = {0};
    for (size_t k = 0; k < lists[i].n; k++)
      push(s, &mine, lists[i].at[k]);
    for (size_t j = 0; j < n->n_parts && mine.n && !s->status; j++)
      if (j != i && can_meet_in(s, context, &mine, &lists[j], which))
        mine = product(s, mine, alternatives_of(s, tombola__not(s, n->parts[j]), which), which);
    for (size_t k = 0; k < mine.n; k++)
      push(s, &out, mine.at[k]);
  }
  tidy(&out);
  return out;
}

static struct list of_and(struct tombola__store *s, const struct tombola__node *n, int which) {
  struct list out = {0};
  tombola__formula *const atoms = tombola__store_take(s, n->n_parts + 1, sizeof *atoms);
  size_t n_atoms = 0, n_composites = 0;
  if (!atoms) return out;
  for (size_t i = 0; i < n->n_parts; i++) {
    const enum meaning m = meaning(tombola__node(s, n->parts[i]), which);
    if (m == FALSE_HERE) return out;
    if (m == ATOM) atoms[n_atoms++] = n->parts[i];
    n_composites += m == COMPOSITE;
  }
  push(s, &out, of_atoms(s, atoms, n_atoms, which));
  if (out.n == 0 || n_composites == 0) return out;
  struct tombola__conjuncts *const lists = tombola__store_take(s, n_composites, sizeof *lists);
  if (!lists) return (struct list){0};
  const struct list context = out;
  size_t n_lists = 0;
  for (size_t i = 0; i < n->n_parts; i++) {
    const struct tombola__node *const part = tombola__node(s, n->parts[i]);
    if (meaning(part, which) != COMPOSITE) continue;
    struct tombola__conjuncts l;
    if (part->kind == TOMBOLA__ONE_OF) {
      const struct list ways = of_one_of(s, part, which, context);
      l = (struct tombola__conjuncts){ways.at, ways.n};
    } else {
      l = alternatives_of(s, n->parts[i], which);
    }
    if (l.n == 0) return (struct list){0};
    size_t at = n_lists++;
    for (; at > 0 && lists[at - 1].n > l.n; at--) /* the shortest first: they may rule others out */
      lists[at] = lists[at - 1];
    lists[at] = l;
  }
  for (size_t i = 0; i < n_lists && out.n; i++)
    out = product(s, out, lists[i], which);
  return out;
}

static struct list of_or(struct tombola__store *s, const struct tombola__node *n, int which) {
  struct list out = {0};
  for (size_t i = 0; i < n->n_parts && !s->status && !s->shapes->unknown; i++) {
    const struct tombola__conjuncts l = alternatives_of(s, n->parts[i], which);
    for (size_t k = 0; k < l.n; k++)
      push(s, &out, l.at[k]);
  }
  tidy(&out);
  return out;
}

static struct list of_node(struct tombola__store *s, tombola__formula f, int which) {
  const struct tombola__node *const n = tombola__node(s, f);
  struct list out = {0};
  switch (meaning(n, which)) {
  case FALSE_HERE: break;
  case TRUE_HERE: push(s, &out, of_atoms(s, NULL, 0, which)); break;
  case ATOM: push(s, &out, of_atoms(s, &f, 1, which)); break;
  case COMPOSITE:
    if (n->kind == TOMBOLA__AND) out = of_and(s, n, which);
    if (n->kind == TOMBOLA__OR) out = of_or(s, n, which);
    if (n->kind == TOMBOLA__ONE_OF) {
      push(s, &out, of_atoms(s, NULL, 0, which));
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
  const struct list list = of_node(s, f, which);
  tombola__leave(s, k, which);
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

static bool clash(struct tombola__store *s, tombola__formula a, tombola__formula b) {
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
