/* SPDX-License-Identifier: Apache-2.0 */
/* Conjuncts: an AND of what is said of arrays, or of objects. They are joined, compared, and kept in lists that are
 * alternatives. Contradictions that are cheap to see are dropped while conjuncts are joined, since without that the number
 * of alternatives multiplies: schemas with many alternatives nearly always tell them apart by a property. */
#include <stdlib.h>
#include <string.h>

#include "constraint/shape/shape_lists.h"

#define SHORT_LIST 64

/* ---- one conjunct ---- */

static int by_key(const void *a, const void *b) {
  const struct tombola__fact *const x = a, *const y = b;
  return x->key < y->key ? -1 : x->key > y->key;
}

static int ascending(const void *a, const void *b) {
  const tombola__formula x = *(const tombola__formula *)a, y = *(const tombola__formula *)b;
  return x < y ? -1 : x > y;
}

void tombola__sort_facts(struct tombola__fact *facts, size_t n) {
  if (n > 1) qsort(facts, n, sizeof *facts, by_key);
}

void tombola__sort_atoms(tombola__formula *atoms, size_t n) {
  if (n > 1) qsort(atoms, n, sizeof *atoms, ascending);
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

uint64_t tombola__conjunct_hash(const struct tombola__conjunct *c) {
  uint64_t h = tombola__mix(c->min, c->max);
  h = tombola__mix(h, (uint64_t)c->unique << 1 | c->not_unique);
  for (size_t i = 0; i < c->n_facts; i++) {
    h = tombola__mix(h, c->facts[i].key);
    h = tombola__mix(h, (uint64_t)c->facts[i].value << 1 | c->facts[i].required);
  }
  for (size_t i = 0; i < c->n_others; i++)
    h = tombola__mix(h, c->others[i]);
  for (size_t i = 0; i < c->n_choices; i++)
    h = tombola__mix(h, (uintptr_t)c->choices[i].at);
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

/* Sorts the facts and joins those of one key. False: two of them exclude each other. */
static bool settle_facts(struct tombola__store *s, struct tombola__conjunct *c, struct tombola__fact *facts,
                         int which) {
  size_t kept = 0;
  tombola__sort_facts(facts, c->n_facts);
  for (size_t i = 0; i < c->n_facts; kept++) {
    struct tombola__fact fact = facts[i++];
    bool several = false; /* values that differ */
    for (; i < c->n_facts && facts[i].key == fact.key; i++) {
      several |=
          fact.value != TOMBOLA__TRUE && facts[i].value != TOMBOLA__TRUE && fact.value != facts[i].value;
      fact = joined(s, &fact, &facts[i]);
    }
    if (several && is_there(&fact, which, c->min) && tombola__clash(s, fact.value, fact.value)) return false;
    facts[kept] = fact;
  }
  c->n_facts = kept;
  return true;
}

struct tombola__conjunct *tombola__conjunct_of(struct tombola__store *s, const tombola__formula *atoms,
                                               size_t n, int which) {
  struct tombola__conjunct *const c = tombola__store_take(s, 1, sizeof *c);
  struct tombola__fact *const facts = tombola__store_take(s, n + 1, sizeof *facts);
  tombola__formula *const others = tombola__store_take(s, n + 1, sizeof *others);
  if (s->status) return NULL;
  *c = (struct tombola__conjunct){.facts = facts, .others = others, .max = TOMBOLA__MANY};
  for (size_t i = 0; i < n; i++)
    add_atom(c, facts, others, atoms[i], tombola__node(s, atoms[i]));
  if (!settle_facts(s, c, facts, which)) return NULL;
  tombola__sort_atoms(others, c->n_others);
  c->hash = tombola__conjunct_hash(c);
  return plainly_dead(c, which) ? NULL : c;
}

/* ---- joining conjuncts ---- */

/* Whether b asks for a property that a's patterns of names don't let be (additionalProperties: false is one). */
static bool ruled_out(struct tombola__store *s, const struct tombola__conjunct *a,
                      const struct tombola__conjunct *b) {
  for (size_t k = 0; k < a->n_others; k++) {
    const struct tombola__node *const n = tombola__node(s, a->others[k]);
    if (n->kind != TOMBOLA__KEYS) continue;
    for (size_t i = 0; i < b->n_facts; i++) {
      const struct tombola__name *const name = (const void *)b->facts[i].key;
      if (b->facts[i].required && tombola__lang_matches(s, n->lang, name->text, name->length) &&
          tombola__clash(s, b->facts[i].value, n->part))
        return true;
    }
  }
  return false;
}

/* Whether the two plainly exclude each other, but for their choices. */
static bool bases_exclude(struct tombola__store *s, const struct tombola__conjunct *a,
                          const struct tombola__conjunct *b, int which) {
  const uint32_t min = a->min > b->min ? a->min : b->min, max = a->max < b->max ? a->max : b->max;
  if (min > max || (which && (ruled_out(s, a, b) || ruled_out(s, b, a)))) return true;
  if ((a->unique && b->not_unique) || (a->not_unique && b->unique)) return true;
  for (size_t i = 0, k = 0; i < a->n_facts || k < b->n_facts;) {
    struct tombola__fact fact;
    const bool first = k == b->n_facts || (i < a->n_facts && a->facts[i].key <= b->facts[k].key);
    const bool both = first && k < b->n_facts && a->facts[i].key == b->facts[k].key;
    if (both) {
      fact = a->facts[i];
      fact.required |= b->facts[k].required;
      const tombola__formula x = a->facts[i].value, y = b->facts[k].value;
      if (x != y && is_there(&fact, which, min) && tombola__clash(s, x, y)) return true;
    } else {
      fact = first ? a->facts[i] : b->facts[k];
      if (fact.value == TOMBOLA__FALSE && is_there(&fact, which, min)) return true;
    }
    i += first;
    k += both || !first;
  }
  return false;
}

static bool all_exclude(struct tombola__store *s, const struct tombola__conjuncts *a,
                        const struct tombola__conjuncts *b, int which) {
  for (size_t i = 0; i < a->n; i++)
    for (size_t k = 0; k < b->n; k++)
      if (!tombola__store_state(s) || !bases_exclude(s, a->at[i], b->at[k], which)) return false;
  return true;
}

bool tombola__exclude(struct tombola__store *s, const struct tombola__conjunct *a,
                      const struct tombola__conjunct *b, int which) {
  struct tombola__conjunct *x = (struct tombola__conjunct *)(uintptr_t)a,
                           *y = (struct tombola__conjunct *)(uintptr_t)b;
  const struct tombola__conjuncts as = {&x, 1}, bs = {&y, 1};
  if (bases_exclude(s, a, b, which)) return true;
  for (size_t i = 0; i < a->n_choices; i++)
    if (all_exclude(s, &a->choices[i], &bs, which)) return true;
  for (size_t k = 0; k < b->n_choices; k++)
    if (all_exclude(s, &as, &b->choices[k], which)) return true;
  for (size_t i = 0; i < a->n_choices; i++)
    for (size_t k = 0; k < b->n_choices; k++)
      if (all_exclude(s, &a->choices[i], &b->choices[k], which)) return true;
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

/* The choices of both, each once. */
static bool join_choices(struct tombola__store *s, struct tombola__conjunct *c,
                         const struct tombola__conjunct *a, const struct tombola__conjunct *b) {
  if (a->n_choices + b->n_choices == 0) return true;
  struct tombola__conjuncts *const out = tombola__store_take(s, a->n_choices + b->n_choices, sizeof *out);
  if (!out) return false;
  if (a->n_choices) memcpy(out, a->choices, a->n_choices * sizeof *out);
  c->n_choices = a->n_choices;
  for (size_t k = 0; k < b->n_choices; k++) {
    bool there = false;
    for (size_t i = 0; i < a->n_choices && !there; i++)
      there = a->choices[i].at == b->choices[k].at;
    if (!there) out[c->n_choices++] = b->choices[k];
  }
  c->choices = out;
  return true;
}

/* Both; NULL when they exclude each other, or after a failure. */
struct tombola__conjunct *tombola__join(struct tombola__store *s, struct tombola__conjunct *a,
                                        struct tombola__conjunct *b, int which) {
  if (!tombola__store_state(s) || bases_exclude(s, a, b, which)) return NULL;
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
  if (!join_choices(s, c, a, b)) return NULL;
  c->hash = tombola__conjunct_hash(c);
  return plainly_dead(c, which) ? NULL : c;
}

/* ---- lists of them ---- */

static bool same_fact(const struct tombola__fact *general, const struct tombola__fact *special) {
  return general->key == special->key &&
         (general->value == special->value || general->value == TOMBOLA__TRUE) &&
         (special->required || !general->required);
}

static bool has_choice(const struct tombola__conjunct *c, const struct tombola__conjuncts *choice) {
  for (size_t i = 0; i < c->n_choices; i++)
    if (c->choices[i].at == choice->at) return true;
  return false;
}

bool tombola__covers(const struct tombola__conjunct *general, const struct tombola__conjunct *special) {
  if (general->n_facts > special->n_facts || general->n_others > special->n_others) return false;
  if (general->min > special->min || general->max < special->max) return false;
  if ((general->unique && !special->unique) || (general->not_unique && !special->not_unique)) return false;
  for (size_t i = 0; i < general->n_choices; i++)
    if (!has_choice(special, &general->choices[i])) return false;
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

void tombola__list_push(struct tombola__store *s, struct tombola__list *list, struct tombola__conjunct *c) {
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

/* The only fact that differs when all else is the same; n_facts: there is none, or more than one. */
static size_t only_difference(const struct tombola__conjunct *a, const struct tombola__conjunct *b) {
  size_t at = a->n_facts;
  if (a->n_facts != b->n_facts || a->n_others != b->n_others || a->n_choices || b->n_choices) return at;
  if (a->min != b->min || a->max != b->max || a->unique != b->unique || a->not_unique != b->not_unique)
    return at;
  for (size_t i = 0; i < a->n_others; i++)
    if (a->others[i] != b->others[i]) return a->n_facts;
  for (size_t i = 0; i < a->n_facts; i++) {
    const struct tombola__fact *const x = &a->facts[i], *const y = &b->facts[i];
    if (x->key != y->key || x->order != y->order) return a->n_facts;
    if (x->value == y->value && x->required == y->required) continue;
    if (at != a->n_facts) return a->n_facts;
    at = i;
  }
  return at;
}

/* One of the two is enough when they differ in what one property, or item, is: a value that is either; NULL: they differ
 * in more. */
static struct tombola__conjunct *melted(struct tombola__store *s, const struct tombola__conjunct *a,
                                        const struct tombola__conjunct *b, int which) {
  const size_t at = only_difference(a, b);
  if (at == a->n_facts || (which == 0 && a->facts[at].key & 1)) return NULL; /* ITEMS are of all items */
  struct tombola__conjunct *const c = tombola__store_take(s, 1, sizeof *c);
  struct tombola__fact *const facts = tombola__store_take(s, a->n_facts, sizeof *facts);
  if (s->status) return NULL;
  *c = *a;
  memcpy(facts, a->facts, a->n_facts * sizeof *facts);
  facts[at].value = tombola__or2(s, facts[at].value, b->facts[at].value);
  facts[at].required = a->facts[at].required && b->facts[at].required;
  c->facts = facts;
  c->draft = NULL;
  c->hash = tombola__conjunct_hash(c);
  return c;
}

static void melt(struct tombola__store *s, struct tombola__list *list, int which) {
  for (size_t i = 0; i < list->n; i++)
    for (size_t k = i + 1; k < list->n && !s->status;) {
      struct tombola__conjunct *const c = melted(s, list->at[i], list->at[k], which);
      if (!c) {
        k++;
        continue;
      }
      list->at[i] = c;
      list->at[k] = list->at[--list->n];
      k = i + 1; /* what didn't go with the old one may with this one */
    }
}

void tombola__list_tidy(struct tombola__store *s, struct tombola__list *list, int which) {
  if (list->n < 2) return;
  size_t kept = 0;
  if (list->n > SHORT_LIST) {
    qsort(list->at, list->n, sizeof(struct tombola__conjunct *), by_hash);
    for (size_t i = 0; i < list->n; i++)
      if (kept == 0 || list->at[kept - 1]->hash != list->at[i]->hash ||
          !tombola__covers(list->at[kept - 1], list->at[i]))
        list->at[kept++] = list->at[i];
    list->n = kept;
    return;
  }
  for (size_t i = 0; i < list->n; i++) {
    bool covered = false;
    for (size_t k = 0; k < list->n && !covered; k++)
      covered = k != i && list->at[k] && tombola__covers(list->at[k], list->at[i]);
    if (covered) list->at[i] = NULL;
  }
  for (size_t i = 0; i < list->n; i++)
    if (list->at[i]) list->at[kept++] = list->at[i];
  list->n = kept;
  melt(s, list, which);
}

struct tombola__list tombola__list_product(struct tombola__store *s, struct tombola__list a,
                                           struct tombola__conjuncts b, int which) {
  struct tombola__list out = {0};
  for (size_t i = 0; i < a.n; i++)
    for (size_t k = 0; k < b.n && !s->status && !s->shapes->unknown; k++)
      tombola__list_push(s, &out, tombola__join(s, a.at[i], b.at[k], which));
  tombola__list_tidy(s, &out, which);
  return out;
}
