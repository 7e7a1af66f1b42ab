/* SPDX-License-Identifier: Apache-2.0 */
/* Choices of objects: what would multiply alternatives, kept as it is. Most alternatives of a schema only say different
 * things of some properties (kinds of an object, conditions, what a property asks for): they are one conjunct with a
 * choice, and an AND of several such is one conjunct with several choices, instead of all combinations. */
#include <stdlib.h>
#include <string.h>

#include "constraint/shape/shape_lists.h"

#define FEW       64 /* alternatives that are better multiplied out than kept apart */
#define MANY      1024
#define MOST_BITS 65536 /* words of bits of all branches */
#define MOST_OPEN 512   /* names that a KEYS leaves out */

/* ---- what KEYS leave out ---- */

/* A KEYS of all names but some. */
struct closed {
  tombola__formula atom, part;
  const struct tombola__name **names; /* NULL: it isn't one */
  size_t n;
};

struct closing {
  struct tombola__store *s;
  struct closed *c;
};

static void add_name(void *context, const char *text, size_t length) {
  const struct closing *const closing = context;
  const struct tombola__name *const name = tombola__name(closing->s, text, length);
  if (name) closing->c->names[closing->c->n++] = name;
}

/* What gathering remembers. */
struct gathering {
  struct tombola__store *s;
  struct closed *closed;
  size_t n_closed, closed_room;
};

static const struct closed *closed_of(struct gathering *g, tombola__formula atom) {
  struct tombola__store *const s = g->s;
  for (size_t i = 0; i < g->n_closed; i++)
    if (g->closed[i].atom == atom) return &g->closed[i];
  if (g->n_closed == g->closed_room) {
    const size_t room = g->closed_room ? 2 * g->closed_room : 8;
    struct closed *const more = tombola__store_take(s, room, sizeof *more);
    if (!more) return NULL;
    if (g->n_closed) memcpy(more, g->closed, g->n_closed * sizeof *more);
    g->closed = more;
    g->closed_room = room;
  }
  const struct tombola__node *const n = tombola__node(s, atom);
  struct closed *const c = &g->closed[g->n_closed++];
  *c = (struct closed){.atom = atom, .part = n->part};
  if (n->kind != TOMBOLA__KEYS) return c;
  const tombola__lang others = tombola__lang_not(s, n->lang);
  const uint64_t count = tombola__lang_count(s, others, MOST_OPEN + 1);
  if (count > MOST_OPEN) return c;
  struct closing closing = {s, c};
  c->names = tombola__store_take(s, (size_t)count + 1, sizeof *c->names);
  if (c->names && !tombola__lang_enumerate(s, others, (size_t)count, add_name, &closing)) c->names = NULL;
  return c;
}

/* ---- members of a choice ---- */

/* What alternatives must have in common to be branches of one choice: all but facts, and of KEYS that leave out some names
 * what they say of the others. */
struct member {
  struct tombola__conjunct *c;
  uint64_t *marks; /* ascending: atoms, and 1 << 32 | part of closed ones */
  uint64_t hash;
  size_t group; /* + 1 */
};

static int by_mark(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

static bool make_member(struct gathering *g, struct member *m, struct tombola__conjunct *c) {
  *m = (struct member){.c = c};
  m->marks = tombola__store_take(g->s, c->n_others + 1, sizeof *m->marks);
  if (!m->marks) return false;
  for (size_t i = 0; i < c->n_others; i++) {
    const struct closed *const closed = closed_of(g, c->others[i]);
    if (!closed) return false;
    m->marks[i] = closed->names ? UINT64_C(1) << 32 | closed->part : c->others[i];
  }
  if (c->n_others > 1) qsort(m->marks, c->n_others, sizeof *m->marks, by_mark);
  m->hash = tombola__mix(c->min, c->max);
  for (size_t i = 0; i < c->n_others; i++)
    m->hash = tombola__mix(m->hash, m->marks[i]);
  return true;
}

static bool alike(const struct member *a, const struct member *b) {
  return a->hash == b->hash && a->c->min == b->c->min && a->c->max == b->c->max &&
         a->c->n_others == b->c->n_others && !a->c->n_choices && !b->c->n_choices &&
         (!a->c->n_others || !memcmp(a->marks, b->marks, a->c->n_others * sizeof *a->marks));
}

static bool same_others(const struct tombola__conjunct *a, const struct tombola__conjunct *b) {
  return a->n_others == b->n_others &&
         (!a->n_others || !memcmp(a->others, b->others, a->n_others * sizeof *a->others));
}

const struct tombola__fact *tombola__fact_of(const struct tombola__conjunct *c, uintptr_t key) {
  size_t lo = 0, hi = c->n_facts;
  while (lo < hi) {
    const size_t middle = lo + (hi - lo) / 2;
    if (c->facts[middle].key < key)
      lo = middle + 1;
    else
      hi = middle;
  }
  return lo < c->n_facts && c->facts[lo].key == key ? &c->facts[lo] : NULL;
}

/* ---- a choice of members ---- */

/* What all members say of a property. */
static size_t common_facts(const struct member *const *members, size_t n, struct tombola__fact *out) {
  const struct tombola__conjunct *const first = members[0]->c;
  size_t kept = 0;
  for (size_t i = 0; i < first->n_facts; i++) {
    struct tombola__fact fact = first->facts[i];
    bool common = true;
    for (size_t k = 1; k < n && common; k++) {
      const struct tombola__fact *const other = tombola__fact_of(members[k]->c, fact.key);
      common = other && other->value == fact.value;
      if (!common) break;
      fact.required &= other->required;
      if (other->order < fact.order) fact.order = other->order;
    }
    if (common) out[kept++] = fact;
  }
  return kept;
}

static int by_address(const void *a, const void *b) {
  const uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;
  return x < y ? -1 : x > y;
}

/* All names that the members' closed KEYS leave out, each once, ascending by address. */
static uintptr_t *open_names(struct gathering *g, const struct member *const *members, size_t n,
                             size_t *count) {
  size_t room = 1;
  for (int fill = 0;; fill++) {
    uintptr_t *const out = fill ? tombola__store_take(g->s, room, sizeof *out) : NULL;
    if (fill && !out) return NULL;
    *count = 0;
    for (size_t k = 0; k < n; k++)
      for (size_t i = 0; i < members[k]->c->n_others; i++) {
        const struct closed *const c = closed_of(g, members[k]->c->others[i]);
        for (size_t j = 0; c && c->names && j < c->n; j++, ++*count)
          if (fill) out[*count] = (uintptr_t)c->names[j];
      }
    room = *count + 1;
    if (!fill) continue;
    if (*count > 1) qsort(out, *count, sizeof *out, by_address);
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++)
      if (kept == 0 || out[kept - 1] != out[i]) out[kept++] = out[i];
    *count = kept;
    return out;
  }
}

static tombola__lang all_but(struct tombola__store *s, const uintptr_t *names, size_t n) {
  struct tombola_bytes *const texts = tombola__store_take(s, n + 1, sizeof *texts);
  if (!texts) return TOMBOLA__LANG_NONE;
  for (size_t i = 0; i < n; i++) {
    const struct tombola__name *const name = (const struct tombola__name *)names[i];
    texts[i] = (struct tombola_bytes){name->text, name->length};
  }
  return tombola__lang_not(s, tombola__lang_texts(s, texts, n));
}

/* Facts that say nothing of the names, so that they are declared. */
static size_t add_names(struct tombola__fact *facts, size_t n, const uintptr_t *names, size_t n_names) {
  const struct tombola__conjunct known = {.facts = facts, .n_facts = n};
  const size_t before = n;
  for (size_t i = 0; i < n_names; i++)
    if (!tombola__fact_of(&known, names[i]))
      facts[n++] = (struct tombola__fact){.key = names[i], .value = TOMBOLA__TRUE, .order = TOMBOLA__MANY};
  if (n > before) tombola__sort_facts(facts, n);
  return n;
}

/* The part that is common: KEYS say of names that no member knows what all members say of them. */
static struct tombola__conjunct *common_part(struct gathering *g, const struct member *const *members,
                                             size_t n, bool same, const uintptr_t *names, size_t n_names) {
  struct tombola__store *const s = g->s;
  const struct tombola__conjunct *const first = members[0]->c;
  struct tombola__conjunct *const c = tombola__store_take(s, 1, sizeof *c);
  struct tombola__fact *const facts = tombola__store_take(s, first->n_facts + n_names + 1, sizeof *facts);
  tombola__formula *const others = tombola__store_take(s, first->n_others + 1, sizeof *others);
  if (s->status) return NULL;
  *c = (struct tombola__conjunct){.facts = facts, .others = others, .min = first->min, .max = first->max};
  c->n_facts = add_names(facts, common_facts(members, n, facts), names, n_names);
  const tombola__lang unknown = same ? TOMBOLA__LANG_ALL : all_but(s, names, n_names);
  for (size_t i = 0; i < first->n_others; i++) {
    const struct closed *const closed = closed_of(g, first->others[i]);
    if (!closed) return NULL;
    const bool as_it_is = same || !closed->names;
    others[i] = as_it_is ? first->others[i] : tombola__keys(s, unknown, closed->part);
  }
  /* KEYS of no name at all would be TRUE, of all names a SIZE: `unknown` is neither. */
  tombola__sort_atoms(others, first->n_others);
  for (size_t i = 0; i < first->n_others; i++)
    if (c->n_others == 0 || others[c->n_others - 1] != others[i]) others[c->n_others++] = others[i];
  c->hash = tombola__conjunct_hash(c);
  return c;
}

/* What a member says beside the common part. */
static struct tombola__conjunct *branch_of(struct gathering *g, const struct tombola__conjunct *member,
                                           const struct tombola__conjunct *common, bool same) {
  struct tombola__store *const s = g->s;
  struct tombola__conjunct *const c = tombola__store_take(s, 1, sizeof *c);
  struct tombola__fact *const facts = tombola__store_take(s, member->n_facts + 1, sizeof *facts);
  tombola__formula *const others = tombola__store_take(s, member->n_others + 1, sizeof *others);
  if (s->status) return NULL;
  *c = (struct tombola__conjunct){.facts = facts, .others = others, .max = TOMBOLA__MANY};
  for (size_t i = 0; i < member->n_facts; i++) {
    struct tombola__fact fact = member->facts[i];
    const struct tombola__fact *const known = tombola__fact_of(common, fact.key);
    if (known && known->value == fact.value) fact.value = TOMBOLA__TRUE;
    if (known && known->required) fact.required = false;
    if (fact.required || fact.value != TOMBOLA__TRUE) facts[c->n_facts++] = fact;
  }
  for (size_t i = 0; i < member->n_others && !same; i++) {
    const struct closed *const closed = closed_of(g, member->others[i]);
    if (closed && closed->names) others[c->n_others++] = member->others[i];
  }
  c->hash = tombola__conjunct_hash(c);
  return c;
}

static bool says_nothing(const struct tombola__conjunct *c) {
  return c->n_facts == 0 && c->n_others == 0;
}

static struct tombola__conjunct *with_choice(struct gathering *g, const struct member *const *members,
                                             size_t n) {
  struct tombola__store *const s = g->s;
  bool same = true;
  for (size_t i = 1; i < n; i++)
    same &= same_others(members[0]->c, members[i]->c);
  size_t n_names = 0;
  const uintptr_t *const names = same ? NULL : open_names(g, members, n, &n_names);
  if (s->status || (!same && !names)) return NULL;
  struct tombola__conjunct *const c = common_part(g, members, n, same, names, n_names);
  struct tombola__conjuncts *const choice = tombola__store_take(s, 1, sizeof *choice);
  struct tombola__list branches = {0};
  bool met = false;
  for (size_t i = 0; i < n && c && !s->status; i++) {
    struct tombola__conjunct *const branch = branch_of(g, members[i]->c, c, same);
    met |= branch && says_nothing(branch);
    tombola__list_push(s, &branches, branch);
  }
  if (s->status || !c) return NULL;
  if (met) return c;
  *choice = (struct tombola__conjuncts){branches.at, branches.n};
  c->choices = choice;
  c->n_choices = 1;
  c->hash = tombola__conjunct_hash(c);
  return c;
}

/* ---- gathering ---- */

static uint64_t combinations(const struct tombola__conjunct *c) {
  uint64_t n = 1;
  for (size_t i = 0; i < c->n_choices; i++) {
    n *= c->choices[i].n;
    if (n > TOMBOLA__MOST_ALTERNATIVES) return n;
  }
  return n;
}

void tombola__expand(struct tombola__store *s, struct tombola__conjunct *c, struct tombola__list *out) {
  if (c->n_choices == 0) {
    tombola__list_push(s, out, c);
    return;
  }
  struct tombola__conjunct *const base = tombola__store_take(s, 1, sizeof *base);
  struct tombola__list list = {0};
  if (!base) return;
  *base = *c;
  base->choices = NULL;
  base->n_choices = 0;
  base->draft = NULL;
  base->hash = tombola__conjunct_hash(base);
  tombola__list_push(s, &list, base);
  for (size_t i = 0; i < c->n_choices && !s->status; i++)
    list = tombola__list_product(s, list, c->choices[i], 1);
  for (size_t i = 0; i < list.n; i++)
    tombola__list_push(s, out, list.at[i]);
}

struct tombola__conjuncts tombola__expanded(struct tombola__store *s, const struct tombola__conjuncts *list) {
  bool plain = true;
  struct tombola__list out = {0};
  for (size_t i = 0; i < list->n; i++)
    plain &= list->at[i]->n_choices == 0;
  if (plain) return *list;
  for (size_t i = 0; i < list->n && !s->status; i++)
    tombola__expand(s, list->at[i], &out);
  tombola__list_tidy(s, &out, 1);
  return s->status ? (struct tombola__conjuncts){0} : (struct tombola__conjuncts){out.at, out.n};
}

/* Alternatives with few combinations are told apart by these: as one choice, they are all decided by what is read. */
static struct tombola__list without_small_choices(struct tombola__store *s, struct tombola__list list) {
  struct tombola__list out = {0};
  uint64_t all = 0;
  bool plain = true;
  for (size_t i = 0; i < list.n; i++) {
    all += combinations(list.at[i]);
    plain &= list.at[i]->n_choices == 0;
  }
  if (plain) return list;
  for (size_t i = 0; i < list.n && !s->status; i++)
    if (all <= FEW || (all <= MANY && combinations(list.at[i]) <= 4))
      tombola__expand(s, list.at[i], &out);
    else
      tombola__list_push(s, &out, list.at[i]);
  tombola__list_tidy(s, &out, 1);
  return out;
}

/* Bits of all branches take words: so many names and branches are better off as alternatives. */
static bool too_large(const struct tombola__list *list) {
  uint64_t names = 0;
  for (size_t i = 0; i < list->n; i++)
    names += list->at[i]->n_facts;
  return (names / 64 + 1) * list->n > MOST_BITS;
}

struct tombola__list tombola__gather(struct tombola__store *s, struct tombola__list list) {
  if (list.n < 2 || s->status || s->order == TOMBOLA_ORDER_DECLARED) return list;
  list = without_small_choices(s, list);
  if (list.n < 2 || too_large(&list)) return list;
  struct gathering g = {.s = s};
  struct tombola__list out = {0};
  struct member *const all = tombola__store_take(s, list.n, sizeof *all);
  const struct member **const group = tombola__store_take(s, list.n, sizeof *group);
  if (!all || !group) return out;
  for (size_t i = 0; i < list.n; i++)
    if (!make_member(&g, &all[i], list.at[i])) return out;
  for (size_t i = 0; i < list.n && !s->status; i++) {
    size_t n = 0;
    if (!all[i].c) continue;
    group[n++] = &all[i];
    for (size_t k = i + 1; k < list.n; k++)
      if (all[k].c && alike(&all[i], &all[k])) group[n++] = &all[k];
    tombola__list_push(s, &out, n > 1 ? with_choice(&g, group, n) : all[i].c);
    for (size_t k = n; k-- > 0;)
      all[group[k] - all].c = NULL;
  }
  return out;
}
