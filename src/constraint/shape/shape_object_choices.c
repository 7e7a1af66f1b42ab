/* SPDX-License-Identifier: Apache-2.0 */
/* An object's choices, as far as it is written: what each branch says of the declared properties, and which branches what
 * is there leaves. Only properties that must be there make branches of different choices exclude each other, so those that
 * don't share names are looked at by themselves. */
#include <stdlib.h>
#include <string.h>

#include "constraint/shape/shape_parts.h"

#define MOST_CHOICES 1024
#define MOST_WORDS   1026 /* of bits of declared properties */
#define MOST_ALIVE   ((TOMBOLA__MOST_ALTERNATIVES + 63) / 64)

/* ---- making branches ---- */

struct making {
  struct tombola__store *s;
  const struct tombola__object *o;
  tombola__formula *values; /* of the declared properties, for one branch */
  size_t words;
  bool completed;
};

/* What the branch says of each declared property; its bits of required ones. */
static void read_branch(struct making *m, const struct tombola__conjunct *c, uint64_t *required) {
  const struct tombola__object_shape *const shape = &m->o->shape;
  struct tombola__store *const s = m->s;
  for (size_t i = 0; i < shape->n_declared; i++)
    m->values[i] = TOMBOLA__TRUE;
  for (size_t i = 0; i < c->n_facts; i++) {
    const size_t at = tombola__declared_find(shape->declared, shape->n_declared,
                                             (const struct tombola__name *)c->facts[i].key);
    m->values[at] = c->facts[i].value;
    if (c->facts[i].required) tombola__set_bit(required, at);
  }
  for (size_t k = 0; k < c->n_others && !s->status; k++) {
    const struct tombola__node *const n = tombola__node(s, c->others[k]);
    for (size_t i = 0; i < shape->n_declared; i++) {
      const struct tombola__name *const name = shape->declared[i].name;
      if (m->values[i] == TOMBOLA__FALSE || shape->declared[i].value == TOMBOLA__FALSE) continue;
      if (tombola__lang_matches(s, n->lang, name->text, name->length))
        m->values[i] = tombola__and2(s, m->values[i], n->part);
    }
  }
}

/* False: the branch can't be (known when completed only), or a failure. */
static bool make_branch(struct making *m, const struct tombola__conjunct *c, struct tombola__branch *out) {
  struct tombola__store *const s = m->s;
  const struct tombola__object_shape *const shape = &m->o->shape;
  uint64_t *const bits = tombola__store_take(s, 3 * m->words + 1, sizeof *bits);
  if (!bits) return false;
  uint64_t *const required = bits, *const possible = bits + m->words, *const named = bits + 2 * m->words;
  read_branch(m, c, required);
  size_t n = 0;
  bool can_be = true;
  for (size_t i = 0; i < shape->n_declared; i++)
    n += m->values[i] != TOMBOLA__TRUE && m->values[i] != TOMBOLA__FALSE;
  struct tombola__branch_fact *const facts = tombola__store_take(s, n + 1, sizeof *facts);
  if (!facts) return false;
  n = 0;
  for (size_t i = 0; i < shape->n_declared; i++) {
    const struct tombola__declared *const d = &shape->declared[i];
    const bool must = tombola__bit(required, i);
    bool may = m->values[i] != TOMBOLA__FALSE && d->value != TOMBOLA__FALSE;
    if (may && m->completed)
      may = m->values[i] == TOMBOLA__TRUE ? d->possible
                                          : tombola__sat(s, tombola__and2(s, d->value, m->values[i]));
    if (may) tombola__set_bit(possible, i);
    if (!may && (must || d->required)) can_be = false;
    if (!must && (m->values[i] == TOMBOLA__TRUE || d->value == TOMBOLA__FALSE)) continue;
    tombola__set_bit(named, i);
    if (m->values[i] != TOMBOLA__TRUE && m->values[i] != TOMBOLA__FALSE)
      facts[n++] = (struct tombola__branch_fact){(uint32_t)i, m->values[i]};
  }
  *out = (struct tombola__branch){facts, n, required, possible, named};
  return can_be || !m->completed;
}

static bool make_choice(struct making *m, const struct tombola__conjuncts *from,
                        struct tombola__choice *out) {
  struct tombola__store *const s = m->s;
  struct tombola__branch *const at = tombola__store_take(s, from->n, sizeof *at);
  uint64_t *const named = tombola__store_take(s, m->words + 1, sizeof *named);
  if (!at || !named) return false;
  size_t n = 0;
  for (size_t i = 0; i < from->n && !s->status; i++) {
    if (!make_branch(m, from->at[i], &at[n])) continue;
    for (size_t w = 0; w < m->words; w++)
      named[w] |= at[n].named[w];
    n++;
  }
  if (n == 0) n = 1; /* the last one, which can't be: a choice without branches would be one that is met */
  *out = (struct tombola__choice){.at = at, .n = n, .named = named};
  return !s->status;
}

static bool share_names(const struct tombola__choice *a, const struct tombola__choice *b, size_t words) {
  for (size_t w = 0; w < words; w++)
    if (a->named[w] & b->named[w]) return true;
  return false;
}

/* Puts those that share names next to each other. */
static void group(struct tombola__choice *at, size_t n, size_t words) {
  for (size_t first = 0, groups = 0; first < n; groups++) {
    size_t end = first + 1;
    for (size_t i = first; i < end; i++) {
      at[i].group = groups;
      for (size_t k = end; k < n; k++) {
        if (!share_names(&at[i], &at[k], words)) continue;
        const struct tombola__choice other = at[end];
        at[end++] = at[k];
        at[k] = other;
      }
    }
    for (size_t i = first; i < end; i++)
      at[i].alone = end == first + 1;
    first = end;
  }
}

bool tombola__object_branches(struct tombola__store *s, struct tombola__object *o, bool completed) {
  const struct tombola__conjunct *const c = o->conjunct;
  struct making m = {.s = s, .o = o, .words = tombola__seen_words(&o->shape), .completed = completed};
  if (c->n_choices == 0) return true;
  if (c->n_choices > MOST_CHOICES) {
    tombola__store_fail(s, TOMBOLA_OUT_OF_RANGE, "alternatives", "an object with more than %d conditions",
                        MOST_CHOICES);
    return false;
  }
  struct tombola__choice *const at = tombola__store_take(s, c->n_choices, sizeof *at);
  m.values = tombola__store_take(s, o->shape.n_declared + 1, sizeof *m.values);
  if (!at || !m.values) return false;
  for (size_t i = 0; i < c->n_choices; i++)
    if (!make_choice(&m, &c->choices[i], &at[i])) return false;
  group(at, c->n_choices, m.words);
  size_t n = 0;
  for (size_t i = 0; i < c->n_choices; n += at[i++].n)
    at[i].first = n;
  if (n > TOMBOLA__MOST_ALTERNATIVES) {
    tombola__store_fail(s, TOMBOLA_OUT_OF_RANGE, "alternatives", "a schema has more than %d alternatives",
                        TOMBOLA__MOST_ALTERNATIVES);
    return false;
  }
  o->shape.choices = at;
  o->shape.n_choices = c->n_choices;
  o->shape.n_branches = n;
  return true;
}

/* ---- asking them ---- */

void tombola__object_begin(const struct tombola__object_shape *shape, uint64_t *alive) {
  for (size_t i = 0; i < shape->n_branches; i += 64)
    alive[i / 64] = shape->n_branches - i < 64 ? (UINT64_C(1) << (shape->n_branches - i)) - 1 : UINT64_MAX;
}

/* Whether a bit from `from` to `end` is set. */
static bool any_bit(const uint64_t *bits, size_t from, size_t end) {
  for (size_t i = from; i < end;) {
    const uint64_t word = bits[i / 64] >> i % 64;
    const size_t left = 64 - i % 64, n = end - i < left ? end - i : left;
    if (n == 64 ? word : word & ((UINT64_C(1) << n) - 1)) return true;
    i += n;
  }
  return false;
}

static void clear_bits(uint64_t *bits, size_t from, size_t end) {
  for (size_t i = from; i < end; i++)
    bits[i / 64] &= ~(UINT64_C(1) << i % 64);
}

static bool is_alive(const struct tombola__object_state *at, const struct tombola__choice *c, size_t i) {
  return tombola__bit(at->alive, c->first + i);
}

static bool is_open(const struct tombola__object_state *at, const struct tombola__choice *c) {
  return any_bit(at->alive, c->first, c->first + c->n);
}

/* What the branch wants of a property; FALSE: also what can't be. */
static tombola__formula value_of(const struct tombola__branch *b, size_t index) {
  if (!tombola__bit(b->possible, index)) return TOMBOLA__FALSE;
  size_t lo = 0, hi = b->n_facts;
  while (lo < hi) {
    const size_t middle = lo + (hi - lo) / 2;
    if (b->facts[middle].index < index)
      lo = middle + 1;
    else
      hi = middle;
  }
  return lo < b->n_facts && b->facts[lo].index == index ? b->facts[lo].value : TOMBOLA__TRUE;
}

bool tombola__choices_may_end(const struct tombola__object_state *at) {
  const struct tombola__object_shape *const shape = at->shape;
  const size_t words = tombola__seen_words(shape);
  for (size_t i = 0; i < shape->n_choices; i++) {
    const struct tombola__choice *const c = &shape->choices[i];
    bool met = false;
    for (size_t k = 0; k < c->n && !met; k++) {
      if (!is_alive(at, c, k)) continue;
      met = true;
      for (size_t w = 0; w < words && met; w++)
        met = !(c->at[k].required[w] & ~at->seen[w]);
    }
    if (!met && is_open(at, c)) return false;
  }
  return true;
}

/* ---- whether they can be met together ---- */

struct search {
  struct tombola__store *s;
  const struct tombola__object_state *at;
  const struct tombola__branch *chosen[MOST_CHOICES];
  size_t n;
};

/* Whether a property can be what the object and all that is chosen want of it. */
static bool can_have(struct search *p, const struct tombola__branch *also, size_t index) {
  const struct tombola__object *const o = tombola__object_of(p->at);
  const struct tombola__declared *const d = &o->shape.declared[index];
  bool required = d->required || tombola__bit(also->required, index), shared = false;
  for (size_t i = 0; i < p->n; i++) {
    required |= tombola__bit(p->chosen[i]->required, index);
    shared |= tombola__bit(p->chosen[i]->named, index);
  }
  if (!required) return true;
  if (o->possible && !shared) return tombola__bit(also->possible, index);
  tombola__formula value = tombola__and2(p->s, d->value, value_of(also, index));
  for (size_t i = 0; i < p->n; i++)
    value = tombola__and2(p->s, value, value_of(p->chosen[i], index));
  return tombola__sat(p->s, value);
}

static bool fits(struct search *p, const struct tombola__branch *b) {
  const size_t words = tombola__seen_words(p->at->shape);
  for (size_t w = 0; w < words; w++)
    for (uint64_t left = b->named[w] & ~p->at->seen[w]; left; left &= left - 1)
      if (!can_have(p, b, w * 64 + tombola__lowest(left))) return false;
  return true;
}

/* Whether a branch of each choice from i to end goes together with what is chosen. */
static bool choose(struct search *p, size_t i, size_t end) {
  const struct tombola__choice *const c = &p->at->shape->choices[i];
  if (i == end) return true;
  if (!is_open(p->at, c)) return choose(p, i + 1, end);
  for (size_t k = 0; k < c->n && !p->s->status; k++) {
    tombola__store_work(p->s, 1);
    if (!is_alive(p->at, c, k) || !fits(p, &c->at[k])) continue;
    p->chosen[p->n++] = &c->at[k];
    const bool good = choose(p, i + 1, end);
    p->n--;
    if (good) return true;
  }
  return false;
}

/* The choices from `first` on that are of one group. */
static size_t group_end(const struct tombola__object_shape *shape, size_t first) {
  size_t end = first + 1;
  while (end < shape->n_choices && shape->choices[end].group == shape->choices[first].group)
    end++;
  return end;
}

static bool group_can_be(struct tombola__store *s, const struct tombola__object_state *at, size_t first,
                         size_t end) {
  /* Branches that can't be by themselves are left out of a completed shape. */
  if (at->shape->choices[first].alone && tombola__object_of(at)->possible) return true;
  struct search p;
  p.s = s;
  p.at = at;
  p.n = 0;
  return choose(&p, first, end);
}

bool tombola__choices_can_be(struct tombola__store *s, const struct tombola__object *o) {
  const struct tombola__object_shape *const shape = &o->shape;
  uint64_t none[MOST_WORDS], all[MOST_ALIVE];
  memset(none, 0, tombola__seen_words(shape) * sizeof *none);
  tombola__object_begin(shape, all);
  const struct tombola__object_state at = {.shape = shape, .seen = none, .alive = all};
  for (size_t first = 0, end; first < shape->n_choices; first = end) {
    end = group_end(shape, first);
    if (!group_can_be(s, &at, first, end)) return false;
  }
  return true;
}

/* ---- ways ---- */

struct picking {
  struct tombola__store *s;
  const struct tombola__object_state *at;
  size_t index;
  tombola__way_fn visit;
  void *context;
  size_t n; /* ways */
  uint64_t seen[MOST_WORDS], alive[MOST_ALIVE];
  struct wanted {
    tombola__formula value;
    uint32_t bit;                       /* of the branch that wants it */
  } wanted[TOMBOLA__MOST_ALTERNATIVES]; /* a choice has the part of its branches */
};

static void set_met(const struct tombola__choice *c, const uint64_t *seen, size_t words, uint64_t *alive) {
  for (size_t k = 0; k < c->n; k++) {
    const size_t bit = c->first + k;
    if (!(alive[bit / 64] >> bit % 64)) { /* no other in this word */
      k += 63 - bit % 64;
      continue;
    }
    if (!tombola__bit(alive, bit)) continue;
    bool met = true;
    for (size_t w = 0; w < words && met; w++)
      met = !(c->at[k].named[w] & ~seen[w]);
    if (!met) continue;
    clear_bits(alive, c->first, c->first + c->n);
    return;
  }
}

/* What is left of all choices is known. */
static void end_way(struct picking *p, tombola__formula value) {
  const struct tombola__object_shape *const shape = p->at->shape;
  const size_t words = tombola__seen_words(shape);
  uint64_t alive[MOST_ALIVE];
  memcpy(alive, p->alive, tombola__alive_words(shape) * sizeof *alive);
  for (size_t i = 0; i < shape->n_choices; i++)
    if (tombola__bit(shape->choices[i].named, p->index)) set_met(&shape->choices[i], p->seen, words, alive);
  struct tombola__object_state next = *p->at;
  next.seen = p->seen;
  next.alive = alive;
  for (size_t first = 0, end; first < shape->n_choices; first = end) {
    end = group_end(shape, first);
    bool touched = false;
    for (size_t i = first; i < end && !touched; i++)
      touched = tombola__bit(shape->choices[i].named, p->index);
    if (touched && !group_can_be(p->s, &next, first, end)) return;
  }
  if (++p->n > TOMBOLA__MOST_ALTERNATIVES) {
    tombola__store_fail(p->s, TOMBOLA_OUT_OF_RANGE, "alternatives",
                        "a property has more than %d alternatives", TOMBOLA__MOST_ALTERNATIVES);
    return;
  }
  p->visit(p->context, value, &(struct tombola__object_way){0, alive});
}

static int by_value(const void *a, const void *b) {
  const struct wanted *const x = a, *const y = b;
  if (x->value != y->value) return x->value < y->value ? -1 : 1;
  return x->bit < y->bit ? -1 : x->bit > y->bit;
}

/* What the branches of a choice that are alive want of the property, sorted; how many do that can. */
static size_t list_wanted(const struct picking *p, const struct tombola__choice *c, struct wanted *out) {
  size_t n = 0;
  bool sorted = true;
  for (size_t k = 0; k < c->n; k++) {
    const tombola__formula value = is_alive(p->at, c, k) ? value_of(&c->at[k], p->index) : TOMBOLA__FALSE;
    if (value == TOMBOLA__FALSE) continue;
    sorted &= n == 0 || out[n - 1].value <= value;
    out[n++] = (struct wanted){value, (uint32_t)(c->first + k)};
  }
  if (!sorted) qsort(out, n, sizeof *out, by_value);
  return n;
}

/* Picks a value of each choice from i on that has a say: those branches stay that want just that. */
static void pick(struct picking *p, size_t i, tombola__formula value) {
  const struct tombola__object_shape *const shape = p->at->shape;
  while (i < shape->n_choices &&
         !(tombola__bit(shape->choices[i].named, p->index) && is_open(p->at, &shape->choices[i])))
    i++;
  if (i == shape->n_choices) {
    end_way(p, value);
    return;
  }
  const struct tombola__choice *const c = &shape->choices[i];
  struct wanted *const wanted = p->wanted + c->first;
  const size_t n = list_wanted(p, c, wanted);
  clear_bits(p->alive, c->first, c->first + c->n);
  for (size_t k = 0, end; k < n && !p->s->status; k = end) {
    tombola__store_work(p->s, 1);
    for (end = k; end < n && wanted[end].value == wanted[k].value; end++)
      tombola__set_bit(p->alive, wanted[end].bit);
    const tombola__formula both = tombola__and2(p->s, value, wanted[k].value);
    if (tombola__sat(p->s, both)) pick(p, i + 1, both);
    for (size_t j = k; j < end; j++)
      p->alive[wanted[j].bit / 64] &= ~(UINT64_C(1) << wanted[j].bit % 64);
  }
}

void tombola__choices_ways(struct tombola__store *s, const struct tombola__object_state *at, uint32_t index,
                           tombola__way_fn visit, void *context) {
  const struct tombola__object_shape *const shape = at->shape;
  struct picking p;
  p.s = s;
  p.at = at;
  p.index = index;
  p.visit = visit;
  p.context = context;
  p.n = 0;
  memcpy(p.seen, at->seen, tombola__seen_words(shape) * sizeof *p.seen);
  tombola__set_bit(p.seen, index);
  memcpy(p.alive, at->alive, tombola__alive_words(shape) * sizeof *p.alive);
  pick(&p, 0, shape->declared[index].value);
}

/* ---- names ---- */

static void note(void *context, tombola__formula value, const void *more) {
  (void)value;
  (void)more;
  *(bool *)context = true;
}

/* Names that a choice by itself leaves: those that some branch that is alive does. */
static void keep_possible(const struct tombola__object_state *at, const struct tombola__choice *c,
                          uint64_t *names) {
  const size_t words = tombola__seen_words(at->shape);
  for (size_t w = 0; w < words; w++) {
    uint64_t any = names[w] & ~c->named[w];
    for (size_t k = 0; k < c->n && any != names[w]; k++)
      if (is_alive(at, c, k)) any |= names[w] & c->at[k].possible[w];
    names[w] = any;
  }
}

void tombola__choices_names(struct tombola__store *s, const struct tombola__object_state *at,
                            uint64_t *names) {
  const struct tombola__object_shape *const shape = at->shape;
  const size_t words = tombola__seen_words(shape);
  for (size_t i = 0; i < shape->n_choices; i++)
    if (is_open(at, &shape->choices[i])) keep_possible(at, &shape->choices[i], names);
  for (size_t w = 0; w < words; w++) {
    uint64_t together = 0; /* names of choices that don't stand alone */
    for (size_t i = 0; i < shape->n_choices; i++)
      if (!shape->choices[i].alone && is_open(at, &shape->choices[i])) together |= shape->choices[i].named[w];
    for (uint64_t left = names[w] & together; left && !s->status; left &= left - 1) {
      bool any = false;
      tombola__choices_ways(s, at, (uint32_t)(w * 64 + tombola__lowest(left)), note, &any);
      if (!any) names[w] &= ~(left & -left);
    }
  }
}

/* ---- two readings that are one ---- */

bool tombola__object_unite(const struct tombola__object_shape *shape, const uint64_t *a, const uint64_t *b,
                           uint64_t *both) {
  const size_t words = tombola__alive_words(shape);
  size_t differ = 0, at = 0;
  bool a_more = true, b_more = true; /* says at least as much */
  for (size_t i = 0; i < shape->n_choices; i++) {
    const size_t first = shape->choices[i].first, end = first + shape->choices[i].n;
    bool same = true;
    const bool a_met = !any_bit(a, first, end), b_met = !any_bit(b, first, end);
    for (size_t k = first; k < end; k++) {
      const bool x = a_met || tombola__bit(a, k), y = b_met || tombola__bit(b, k);
      same &= x == y;
      a_more &= x || !y;
      b_more &= y || !x;
    }
    same &= a_met == b_met;
    a_more &= a_met || !b_met;
    b_more &= b_met || !a_met;
    if (same) continue;
    differ++;
    at = i;
  }
  if (a_more || b_more) {
    memmove(both, a_more ? a : b, words * sizeof *both);
    return true;
  }
  if (differ != 1) return false;
  const size_t first = shape->choices[at].first, end = first + shape->choices[at].n;
  if (both != a) memmove(both, a, words * sizeof *both);
  for (size_t k = first; k < end; k++)
    if (tombola__bit(b, k)) tombola__set_bit(both, k);
  return true;
}
