/* SPDX-License-Identifier: Apache-2.0 */
/* A second opinion on formulas: trees that are evaluated on values the slow way, and a small universe of values, for the
 * tests of shapes. */
#ifndef SHAPE_TREES_H
#define SHAPE_TREES_H

#include "support.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "constraint/shape/shape.h"

/* ---- values ---- */

#define MOST_CHILDREN 3

struct value {
  enum tombola__type type;
  int number;         /* NUMBER */
  const char *string; /* STRING: a letter */
  const struct value *children[MOST_CHILDREN];
  const char *names[MOST_CHILDREN]; /* OBJECT: ascending */
  size_t n;
  char text[64]; /* canonical */
};

static const struct value scalar_values[] = {
    {.type = TOMBOLA__NULL, .text = "null"},
    {.type = TOMBOLA__TRUE_VALUE, .text = "true"},
    {.type = TOMBOLA__NUMBER, .number = 0, .text = "0"},
    {.type = TOMBOLA__NUMBER, .number = 1, .text = "1"},
    {.type = TOMBOLA__STRING, .string = "a", .text = "\"a\""},
    {.type = TOMBOLA__STRING, .string = "b", .text = "\"b\""},
};

static const char *const letters[] = {"a", "b", "c"};

/* All arrays of at most `longest` of the children, and all objects over the names a, b, c with such values. */
struct universe {
  const struct value *const *children;
  size_t n_children;
  size_t longest, names;
  struct value values[1024];
  size_t n;
};

static inline void append(struct value *v, const char *text) {
  const size_t length = strlen(v->text), more = strlen(text);
  assert_true(length + more < sizeof v->text);
  memcpy(v->text + length, text, more + 1);
}

static inline void write_text(struct value *v) {
  const bool object = v->type == TOMBOLA__OBJECT;
  v->text[0] = '\0';
  append(v, object ? "{" : "[");
  for (size_t i = 0; i < v->n; i++) {
    if (i) append(v, ",");
    if (object) {
      append(v, "\"");
      append(v, v->names[i]);
      append(v, "\":");
    }
    append(v, v->children[i]->text);
  }
  append(v, object ? "}" : "]");
}

static inline void add_value(struct universe *u, struct value v) {
  assert_true(u->n < sizeof u->values / sizeof *u->values);
  if (v.type == TOMBOLA__ARRAY || v.type == TOMBOLA__OBJECT) write_text(&v);
  u->values[u->n++] = v;
}

static inline void add_arrays(struct universe *u, struct value v) {
  add_value(u, v);
  if (v.n == u->longest) return;
  v.n++;
  for (size_t i = 0; i < u->n_children; i++) {
    v.children[v.n - 1] = u->children[i];
    add_arrays(u, v);
  }
}

static inline void add_objects(struct universe *u, struct value v, size_t name) {
  if (name == u->names) {
    add_value(u, v);
    return;
  }
  add_objects(u, v, name + 1);
  v.names[v.n++] = letters[name];
  for (size_t i = 0; i < u->n_children; i++) {
    v.children[v.n - 1] = u->children[i];
    add_objects(u, v, name + 1);
  }
}

static inline void make_universe(struct universe *u) {
  u->n = 0;
  for (size_t i = 0; i < sizeof scalar_values / sizeof *scalar_values; i++)
    add_value(u, scalar_values[i]);
  add_arrays(u, (struct value){.type = TOMBOLA__ARRAY});
  add_objects(u, (struct value){.type = TOMBOLA__OBJECT}, 0);
}

static inline bool equal(const struct value *a, const struct value *b) {
  return !strcmp(a->text, b->text);
}

/* ---- trees ---- */

#define NOT 100 /* beyond enum tombola__node_kind */

struct tree {
  int kind;
  unsigned types;
  unsigned
      letters; /* TEXT, KEYS, SOME_KEY: bits of a, b, c; bit 3: all other texts. NUMERIC: of 0, 1; bit 3: others */
  uint32_t index, min, max;
  const char *name, *other;
  uint32_t order;
  const struct tree *parts[4];
  size_t n;
};

static inline bool has_letter(unsigned bits, const char *text) {
  for (size_t i = 0; i < 3; i++)
    if (!strcmp(letters[i], text)) return bits >> i & 1;
  return bits >> 3 & 1;
}

static inline const struct value *property(const struct value *v, const char *name) {
  for (size_t i = 0; i < v->n; i++)
    if (!strcmp(v->names[i], name)) return v->children[i];
  return NULL;
}

static inline bool is(const struct tree *t, const struct value *v);

static inline bool array_is(const struct tree *t, const struct value *v) {
  uint32_t count = 0;
  bool same = false;
  switch (t->kind) {
  case TOMBOLA__LENGTH: return v->n >= t->min && v->n <= t->max;
  case TOMBOLA__ITEM: return t->index >= v->n || is(t->parts[0], v->children[t->index]);
  case TOMBOLA__UNIQUE:
    for (size_t i = 0; i < v->n; i++)
      for (size_t k = 0; k < i; k++)
        same |= equal(v->children[i], v->children[k]);
    return !same;
  default:
    for (size_t i = t->index; i < v->n; i++)
      count += is(t->parts[0], v->children[i]);
    if (t->kind == TOMBOLA__CONTAINS) return count >= t->min && count <= t->max;
    return t->index >= v->n || count == v->n - t->index;
  }
}

static inline bool object_is(const struct tree *t, const struct value *v) {
  const struct value *const named = t->name ? property(v, t->name) : NULL;
  switch (t->kind) {
  case TOMBOLA__SIZE: return v->n >= t->min && v->n <= t->max;
  case TOMBOLA__PROPERTY: return !named || is(t->parts[0], named);
  case TOMBOLA__REQUIRED: return named;
  case TOMBOLA__DEPENDS: return !named || property(v, t->other);
  default:
    for (size_t i = 0; i < v->n; i++)
      if (has_letter(t->letters, v->names[i]) && !is(t->parts[0], v->children[i])) return false;
    return true;
  }
}

static inline bool is(const struct tree *t, const struct value *v) {
  size_t count = 0;
  switch (t->kind) {
  case NOT: return !is(t->parts[0], v);
  case TOMBOLA__AND:
  case TOMBOLA__OR:
  case TOMBOLA__ONE_OF:
    for (size_t i = 0; i < t->n; i++)
      count += is(t->parts[i], v);
    return t->kind == TOMBOLA__AND ? count == t->n : t->kind == TOMBOLA__OR ? count > 0 : count == 1;
  case TOMBOLA__TYPES: return t->types & v->type;
  case TOMBOLA__TEXT: return v->type != TOMBOLA__STRING || has_letter(t->letters, v->string);
  case TOMBOLA__NUMERIC: return v->type != TOMBOLA__NUMBER || (t->letters >> v->number & 1);
  default: break;
  }
  if (t->kind < TOMBOLA__SIZE) return v->type != TOMBOLA__ARRAY || array_is(t, v);
  return v->type != TOMBOLA__OBJECT || object_is(t, v);
}

/* ---- the formula of a tree ---- */

static inline tombola__lang lang_of(struct tombola__store *s, unsigned bits) {
  struct tombola_bytes texts[3];
  size_t n = 0;
  const bool others = bits >> 3 & 1;
  for (size_t i = 0; i < 3; i++)
    if ((bits >> i & 1) != others) texts[n++] = (struct tombola_bytes){letters[i], 1};
  const tombola__lang lang = tombola__lang_texts(s, texts, n);
  return others ? tombola__lang_not(s, lang) : lang;
}

static inline tombola__numset numbers_of(struct tombola__store *s, unsigned bits) {
  static const struct tombola__decimal decimals[] = {{"", 0, false, 0}, {"1", 1, false, 0}};
  tombola__numset set = TOMBOLA__NUMBERS_NONE;
  const bool others = bits >> 3 & 1;
  for (size_t i = 0; i < 2; i++)
    if ((bits >> i & 1) != others)
      set =
          tombola__numbers_or(s, set, tombola__numbers_interval(s, &decimals[i], false, &decimals[i], false));
  return others ? tombola__numbers_not(s, set) : set;
}

static inline tombola__formula formula_of(struct tombola__store *s, const struct tree *t) {
  tombola__formula parts[4] = {0};
  for (size_t i = 0; i < t->n; i++)
    parts[i] = formula_of(s, t->parts[i]);
  const struct tombola__name *const name = t->name ? tombola__name(s, t->name, strlen(t->name)) : NULL;
  switch (t->kind) {
  case NOT: return tombola__not(s, parts[0]);
  case TOMBOLA__AND: return tombola__and(s, parts, t->n);
  case TOMBOLA__OR: return tombola__or(s, parts, t->n);
  case TOMBOLA__ONE_OF: return tombola__one_of(s, parts, t->n);
  case TOMBOLA__TYPES: return tombola__types(s, t->types);
  case TOMBOLA__TEXT: return tombola__text(s, lang_of(s, t->letters));
  case TOMBOLA__NUMERIC: return tombola__numeric(s, numbers_of(s, t->letters));
  case TOMBOLA__LENGTH: return tombola__length(s, t->min, t->max);
  case TOMBOLA__ITEM: return tombola__item(s, t->index, parts[0]);
  case TOMBOLA__ITEMS: return tombola__items(s, t->index, parts[0]);
  case TOMBOLA__CONTAINS: return tombola__contains(s, t->index, parts[0], t->min, t->max);
  case TOMBOLA__UNIQUE: return tombola__unique(s);
  case TOMBOLA__SIZE: return tombola__size(s, t->min, t->max);
  case TOMBOLA__PROPERTY: return tombola__property(s, name, t->order, parts[0]);
  case TOMBOLA__REQUIRED: return tombola__required(s, name);
  case TOMBOLA__DEPENDS: return tombola__depends(s, name, tombola__name(s, t->other, strlen(t->other)));
  case TOMBOLA__KEYS: return tombola__keys(s, lang_of(s, t->letters), parts[0]);
  default: fail(); return TOMBOLA__FALSE;
  }
}

/* ---- random trees ---- */

struct trees {
  struct support_rng rng;
  struct tree at[512];
  size_t n;
};

static inline uint32_t below(struct trees *r, uint32_t n) {
  return support_u32(&r->rng) % n;
}

static inline struct tree *new_tree(struct trees *r, int kind) {
  assert_true(r->n < sizeof r->at / sizeof *r->at);
  struct tree *const t = &r->at[r->n++];
  *t = (struct tree){.kind = kind};
  return t;
}

/* Bounds that are often open on one side. */
static inline void random_bounds(struct trees *r, struct tree *t) {
  t->min = below(r, 3);
  t->max = below(r, 2) ? TOMBOLA__MANY : t->min + below(r, 2);
}

/* About a value; `inside`: what is in arrays and objects, may be deeper. */
static inline struct tree *random_tree(struct trees *r, unsigned inside, unsigned depth);

static inline struct tree *random_atom(struct trees *r, unsigned inside) {
  static const int kinds[] = {TOMBOLA__TYPES,    TOMBOLA__TEXT,     TOMBOLA__NUMERIC,  TOMBOLA__LENGTH,
                              TOMBOLA__ITEM,     TOMBOLA__ITEMS,    TOMBOLA__CONTAINS, TOMBOLA__UNIQUE,
                              TOMBOLA__SIZE,     TOMBOLA__PROPERTY, TOMBOLA__PROPERTY, TOMBOLA__REQUIRED,
                              TOMBOLA__REQUIRED, TOMBOLA__DEPENDS,  TOMBOLA__KEYS,     TOMBOLA__TYPES};
  struct tree *const t = new_tree(r, kinds[below(r, inside ? 16 : 3)]);
  t->types = 1 + below(r, TOMBOLA__ALL_TYPES);
  if (below(r, 3) == 0) t->types |= TOMBOLA__ARRAY | TOMBOLA__OBJECT;
  t->letters = below(r, 16);
  t->index = below(r, 3);
  t->name = letters[below(r, 3)];
  t->order = below(r, 4) ? (uint32_t)(t->name[0] - 'a') : TOMBOLA__MANY;
  t->other = letters[below(r, 3)];
  random_bounds(r, t);
  if (t->kind == TOMBOLA__ITEM || t->kind == TOMBOLA__ITEMS || t->kind == TOMBOLA__CONTAINS ||
      t->kind == TOMBOLA__PROPERTY || t->kind == TOMBOLA__KEYS) {
    t->parts[0] = random_tree(r, inside - 1, 1);
    t->n = 1;
  }
  return t;
}

static inline struct tree *random_tree(struct trees *r, unsigned inside, unsigned depth) {
  static const int kinds[] = {TOMBOLA__AND, TOMBOLA__AND, TOMBOLA__AND, TOMBOLA__OR, TOMBOLA__ONE_OF, NOT};
  if (depth == 0 || below(r, 4) == 0) return random_atom(r, inside);
  struct tree *const t = new_tree(r, kinds[below(r, 6)]);
  t->n = t->kind == NOT ? 1 : 2 + below(r, 3);
  for (size_t i = 0; i < t->n; i++)
    t->parts[i] = random_tree(r, inside, depth - 1);
  return t;
}

/* ---- conditions ---- */

static inline struct tree *join_trees(struct trees *r, int kind, struct tree *const *parts, size_t n) {
  struct tree *const t = new_tree(r, kind);
  for (size_t i = 0; i < n; i++)
    t->parts[t->n++] = parts[i];
  return t;
}

/* What a branch says of an object: of a few properties, and seldom of all others. */
static inline struct tree *random_effect(struct trees *r) {
  struct tree *parts[3];
  const size_t n = 1 + below(r, 3);
  for (size_t i = 0; i < n; i++) {
    const uint32_t kind = below(r, 64);
    struct tree *const t = parts[i] = new_tree(r, kind < 36   ? TOMBOLA__PROPERTY
                                                  : kind < 60 ? TOMBOLA__REQUIRED
                                                  : kind < 62 ? TOMBOLA__DEPENDS
                                                              : TOMBOLA__KEYS);
    t->name = letters[below(r, 3)];
    t->other = letters[below(r, 3)];
    t->order = TOMBOLA__MANY;
    if (t->kind != TOMBOLA__PROPERTY && t->kind != TOMBOLA__KEYS) continue;
    t->letters = 8 | below(r, 8); /* a KEYS of all names but some */
    t->parts[0] = random_atom(r, 0);
    if (below(r, 3) == 0) {
      struct tree *const none = new_tree(r, TOMBOLA__OR);
      t->parts[0] = none;
    }
    t->n = 1;
  }
  return join_trees(r, TOMBOLA__AND, parts, n);
}

static inline struct tree *random_condition(struct trees *r) {
  struct tree *branches[4];
  const size_t m = 2 + below(r, 3);
  const uint32_t kind = below(r, 8);
  for (size_t k = 0; k < m; k++)
    branches[k] = random_effect(r);
  if (kind >= 3) return join_trees(r, kind == 3 ? TOMBOLA__ONE_OF : TOMBOLA__OR, branches, m);
  struct tree *const no = join_trees(r, NOT, branches, 1); /* if, then */
  struct tree *const both[] = {no, branches[1]};
  return join_trees(r, TOMBOLA__OR, both, 2);
}

/* An AND of things that a schema's conditions come to; `many`: more than are put together beforehand. */
static inline struct tree *random_conditions(struct trees *r, bool many) {
  struct tree *parts[4];
  const size_t n = many ? 4 : 2 + below(r, 3);
  for (size_t i = 0; i < n; i++) {
    struct tree *few[2];
    for (size_t k = 0; k < 2; k++)
      few[k] = random_condition(r);
    parts[i] = many ? join_trees(r, TOMBOLA__AND, few, 2) : few[0];
  }
  return join_trees(r, TOMBOLA__AND, parts, n);
}

#endif
