/* SPDX-License-Identifier: Apache-2.0 */
/* Choices that are as few and as small as what is plain to see makes them: branches that what is said anyway excludes are
 * gone, a single one is no choice, and choices that speak of the same properties are one where that has few branches. */
#include <stdlib.h>
#include <string.h>

#include "constraint/shape/shape_lists.h"

#define FEW   64 /* branches of a choice that stands for several */
#define TRIES 8  /* choices that another one may become one with */

struct settling {
  struct tombola__store *s;
  struct tombola__conjunct *base;
  struct tombola__conjuncts *choices;
  size_t n, room;
};

static bool add_choice(struct settling *t, struct tombola__conjuncts choice) {
  if (t->n == t->room) {
    const size_t room = t->room ? 2 * t->room : 8;
    struct tombola__conjuncts *const more = tombola__store_take(t->s, room, sizeof *more);
    if (!more) return false;
    if (t->n) memcpy(more, t->choices, t->n * sizeof *more);
    t->choices = more;
    t->room = room;
  }
  t->choices[t->n++] = choice;
  return true;
}

/* The branch, where what the base requires is required: so branches exclude each other that want different values of it.
 * NULL: the base excludes it, or a failure. */
static struct tombola__conjunct *narrow_branch(struct settling *t, struct tombola__conjunct *branch) {
  struct tombola__store *const s = t->s;
  struct tombola__fact *facts = NULL;
  if (tombola__exclude(s, t->base, branch, 1)) return NULL;
  for (size_t i = 0; i < branch->n_facts; i++) {
    const struct tombola__fact *const known =
        branch->facts[i].required ? NULL : tombola__fact_of(t->base, branch->facts[i].key);
    if (!known || !known->required) continue;
    if (!facts) {
      struct tombola__conjunct *const copy = tombola__store_take(s, 1, sizeof *copy);
      facts = tombola__store_take(s, branch->n_facts, sizeof *facts);
      if (s->status) return NULL;
      memcpy(facts, branch->facts, branch->n_facts * sizeof *facts);
      *copy = *branch;
      copy->facts = facts;
      branch = copy;
    }
    facts[i].required = true;
  }
  if (facts) branch->hash = tombola__conjunct_hash(branch);
  return branch;
}

/* Leaves the branches that the base doesn't exclude. False: there is none. */
static bool narrow_choice(struct settling *t, struct tombola__conjuncts *choice) {
  struct tombola__store *const s = t->s;
  size_t kept = 0;
  bool changed = false;
  struct tombola__conjunct **const at = tombola__store_take(s, choice->n, sizeof *at);
  for (size_t i = 0; i < choice->n && !s->status; i++) {
    struct tombola__conjunct *const branch = narrow_branch(t, choice->at[i]);
    changed |= branch != choice->at[i];
    if (branch) at[kept++] = branch;
  }
  if (changed) *choice = (struct tombola__conjuncts){at, kept};
  return kept > 0 && !s->status;
}

/* Until nothing is left that the base decides. False: it can't be, or a failure. */
static bool narrow(struct settling *t) {
  for (bool more = true; more;) {
    more = false;
    size_t kept = 0;
    for (size_t i = 0; i < t->n; i++) {
      struct tombola__conjuncts choice = t->choices[i];
      bool met = false;
      if (!narrow_choice(t, &choice)) return false;
      for (size_t k = 0; k < choice.n && !met; k++)
        met = tombola__covers(choice.at[k], t->base);
      if (met) continue;
      if (choice.n > 1) {
        t->choices[kept++] = choice;
        continue;
      }
      t->base = tombola__join(t->s, t->base, choice.at[0], 1);
      if (!t->base) return false;
      more = true;
    }
    t->n = kept;
  }
  return true;
}

/* The AND of two choices, when it has no more than `most` branches; a list of none with `room`: it has more. */
static struct tombola__list both_choices(struct tombola__store *s, struct tombola__conjuncts a,
                                         struct tombola__conjuncts b, size_t most) {
  struct tombola__list out = {0};
  bool all = true;
  for (size_t i = 0; i < a.n && all; i++)
    for (size_t k = 0; k < b.n && all && !s->status && !s->shapes->unknown; k++) {
      tombola__list_push(s, &out, tombola__join(s, a.at[i], b.at[k], 1));
      all = out.n <= 2 * most && out.n < TOMBOLA__MOST_ALTERNATIVES; /* some of them may be dropped */
    }
  if (all) tombola__list_tidy(s, &out, 1);
  return all && out.n <= most ? out : (struct tombola__list){.room = 1};
}

/* A name that a branch of a choice speaks of. */
struct mention {
  uintptr_t key;
  size_t choice;
};

static int by_mention(const void *a, const void *b) {
  const struct mention *const x = a, *const y = b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  return x->choice < y->choice ? -1 : x->choice > y->choice;
}

static size_t root_of(const size_t *up, size_t i) {
  while (up[i] != i)
    i = up[i];
  return i;
}

/* For each choice the first one of those that speak of the same names, also by way of others. */
static size_t *groups_of(const struct settling *t) {
  size_t n = 0;
  for (size_t i = 0; i < t->n; i++)
    for (size_t k = 0; k < t->choices[i].n; k++)
      n += t->choices[i].at[k]->n_facts;
  struct mention *const all = tombola__store_take(t->s, n + 1, sizeof *all);
  size_t *const up = tombola__store_take(t->s, t->n + 1, sizeof *up);
  if (!all || !up) return NULL;
  n = 0;
  for (size_t i = 0; i < t->n; i++) {
    up[i] = i;
    for (size_t k = 0; k < t->choices[i].n; k++)
      for (size_t f = 0; f < t->choices[i].at[k]->n_facts; f++)
        all[n++] = (struct mention){t->choices[i].at[k]->facts[f].key, i};
  }
  if (n > 1) qsort(all, n, sizeof *all, by_mention);
  for (size_t i = 1; i < n; i++)
    if (all[i].key == all[i - 1].key) {
      const size_t a = root_of(up, all[i].choice), b = root_of(up, all[i - 1].choice);
      if (a < b) up[b] = a;
      if (b < a) up[a] = b;
    }
  for (size_t i = 0; i < t->n; i++)
    up[i] = root_of(up, i);
  return up;
}

/* Makes one of choices of a group when that has no more branches than both. */
static void merge_group(struct settling *t, struct settling *out, const size_t *up, size_t root) {
  struct tombola__store *const s = t->s;
  const size_t first = out->n;
  for (size_t i = root; i < t->n && !s->status; i++) {
    if (up[i] != root) continue;
    bool merged = false;
    for (size_t k = first; k < out->n && k < first + TRIES && !merged; k++) {
      const struct tombola__conjuncts a = out->choices[k], b = t->choices[i];
      const struct tombola__list both = both_choices(s, a, b, a.n + b.n);
      merged = !both.room || both.n > 0;
      if (merged) out->choices[k] = (struct tombola__conjuncts){both.at, both.n};
    }
    if (!merged && !add_choice(out, t->choices[i])) return;
  }
  uint64_t all = 1;
  for (size_t k = first; k < out->n && all <= FEW; k++)
    all *= out->choices[k].n;
  for (size_t k = first + 1; all <= FEW && k < out->n && !s->status; k++) {
    const struct tombola__list both =
        both_choices(s, out->choices[first], out->choices[k], TOMBOLA__MOST_ALTERNATIVES);
    out->choices[first] = (struct tombola__conjuncts){both.at, both.n};
  }
  if (all <= FEW && out->n > first + 1) out->n = first + 1;
}

static bool merge(struct settling *t) {
  if (t->n < 2) return true;
  const size_t *const up = groups_of(t);
  struct settling out = {.s = t->s, .base = t->base};
  for (size_t i = 0; up && i < t->n && !t->s->status; i++)
    if (up[i] == i) merge_group(t, &out, up, i);
  t->choices = out.choices;
  t->n = out.n;
  t->room = out.room;
  return !t->s->status;
}

/* Whether the base says something that the choices can't be looked at without. */
static bool is_tight(struct tombola__store *s, const struct tombola__conjunct *c) {
  size_t required = 0;
  for (size_t i = 0; i < c->n_facts; i++)
    required += c->facts[i].required;
  for (size_t i = 0; i < c->n_others; i++)
    if (tombola__node(s, c->others[i])->kind == TOMBOLA__SOME_KEY) return true;
  return c->min > required || c->max != TOMBOLA__MANY;
}

static struct tombola__conjunct *of_fact(struct tombola__store *s, struct tombola__fact fact) {
  struct tombola__conjunct *const c = tombola__store_take(s, 1, sizeof *c);
  struct tombola__fact *const facts = tombola__store_take(s, 1, sizeof *facts);
  if (s->status) return NULL;
  *facts = fact;
  *c = (struct tombola__conjunct){.facts = facts, .n_facts = 1, .max = TOMBOLA__MANY};
  c->hash = tombola__conjunct_hash(c);
  return c;
}

/* What a property asks for is a choice too: it isn't there, or the other one is. */
static bool choose_asks(struct settling *t) {
  struct tombola__store *const s = t->s;
  struct tombola__conjunct *const base = tombola__store_take(s, 1, sizeof *base);
  tombola__formula *const others = tombola__store_take(s, t->base->n_others + 1, sizeof *others);
  if (s->status) return false;
  *base = *t->base;
  base->others = others;
  base->n_others = 0;
  for (size_t i = 0; i < t->base->n_others && !s->status; i++) {
    const struct tombola__node *const n = tombola__node(s, t->base->others[i]);
    if (n->kind != TOMBOLA__DEPENDS) {
      others[base->n_others++] = t->base->others[i];
      continue;
    }
    struct tombola__list ways = {0};
    tombola__list_push(s, &ways,
                       of_fact(s, (struct tombola__fact){.key = (uintptr_t)n->name, .order = TOMBOLA__MANY}));
    tombola__list_push(s, &ways,
                       of_fact(s, (struct tombola__fact){.key = (uintptr_t)n->other,
                                                         .value = TOMBOLA__TRUE,
                                                         .order = TOMBOLA__MANY,
                                                         .required = true}));
    add_choice(t, (struct tombola__conjuncts){ways.at, ways.n});
  }
  t->base = base;
  return !s->status;
}

static void settle(struct tombola__store *s, struct tombola__conjunct *c, struct tombola__list *out) {
  struct settling t = {.s = s};
  t.base = tombola__store_take(s, 1, sizeof *t.base);
  if (!t.base) return;
  *t.base = *c;
  t.base->choices = NULL;
  t.base->n_choices = 0;
  t.base->draft = NULL;
  for (size_t i = 0; i < c->n_choices; i++)
    if (!add_choice(&t, c->choices[i])) return;
  if (!narrow(&t)) return;
  for (size_t before = t.n + 1; t.n > 1 && t.n < before;) {
    before = t.n;
    if (!merge(&t) || !narrow(&t)) return;
  }
  const bool tight = t.n && is_tight(s, t.base);
  if (t.n && !tight && (!choose_asks(&t) || !narrow(&t) || !merge(&t) || !narrow(&t))) return;
  struct tombola__conjunct *const settled = tombola__store_take(s, 1, sizeof *settled);
  if (!settled) return;
  *settled = *t.base;
  settled->choices = t.choices;
  settled->n_choices = t.n;
  settled->draft = NULL;
  settled->hash = tombola__conjunct_hash(settled);
  if (tight)
    tombola__expand(s, settled, out);
  else
    tombola__list_push(s, out, settled);
}

struct tombola__list tombola__settle(struct tombola__store *s, struct tombola__list list) {
  struct tombola__list out = {0};
  bool plain = true;
  for (size_t i = 0; i < list.n; i++)
    plain &= list.at[i]->n_choices == 0;
  if (plain) return list;
  for (size_t i = 0; i < list.n && !s->status; i++)
    if (list.at[i]->n_choices == 0)
      tombola__list_push(s, &out, list.at[i]);
    else
      settle(s, list.at[i], &out);
  tombola__list_tidy(s, &out, 1);
  return out;
}
