/* SPDX-License-Identifier: Apache-2.0 */
/* The constructors of formulas: what is plain to see is simplified here, so that equal schemas are equal formulas more
 * often. An atom is true of all values of other types; that alone decides much of AND and OR. */
#include <stdlib.h>
#include <string.h>

#include "constraint/formula/formula_table.h"

/* The type that an atom speaks of; 0: not an atom of one type. */
static unsigned atom_type(enum tombola__node_kind kind) {
  switch (kind) {
  case TOMBOLA__TEXT: return TOMBOLA__STRING;
  case TOMBOLA__NUMERIC: return TOMBOLA__NUMBER;
  case TOMBOLA__LENGTH:
  case TOMBOLA__ITEM:
  case TOMBOLA__ITEMS:
  case TOMBOLA__CONTAINS:
  case TOMBOLA__UNIQUE:
  case TOMBOLA__NOT_UNIQUE: return TOMBOLA__ARRAY;
  case TOMBOLA__SIZE:
  case TOMBOLA__PROPERTY:
  case TOMBOLA__REQUIRED:
  case TOMBOLA__DEPENDS:
  case TOMBOLA__KEYS:
  case TOMBOLA__SOME_KEY: return TOMBOLA__OBJECT;
  case TOMBOLA__AND:
  case TOMBOLA__OR:
  case TOMBOLA__ONE_OF:
  case TOMBOLA__LATER:
  case TOMBOLA__TYPES: break;
  }
  return 0;
}

/* ---- AND and OR ---- */

/* What is being joined. */
struct parts {
  tombola__formula *f;
  size_t n, room;
  unsigned types; /* AND: of all TYPES, all that are left; OR: the union */
  unsigned atoms; /* OR: types that some atom speaks of */
  bool decided;   /* an AND with FALSE, an OR with TRUE */
};

static int ascending(const void *a, const void *b) {
  const tombola__formula x = *(const tombola__formula *)a, y = *(const tombola__formula *)b;
  return x < y ? -1 : x > y;
}

/* How many parts there are once nested nodes of the kind are laid out; nested ones are flat themselves. */
static size_t flat_count(struct tombola__store *s, enum tombola__node_kind kind,
                         const tombola__formula *parts, size_t n) {
  size_t count = 0;
  for (size_t i = 0; i < n; i++) {
    const struct tombola__node *const node = tombola__node(s, parts[i]);
    count += node->kind == kind ? node->n_parts : 1;
  }
  return count;
}

static void add(struct tombola__store *s, struct parts *p, enum tombola__node_kind kind, tombola__formula f) {
  f = tombola__formula_seen(s, f);
  const struct tombola__node *const n = tombola__node(s, f);
  if (n->kind == TOMBOLA__TYPES) {
    p->types = kind == TOMBOLA__AND ? p->types & n->types : p->types | n->types;
    return;
  }
  if (f == (kind == TOMBOLA__AND ? TOMBOLA__FALSE : TOMBOLA__TRUE)) p->decided = true;
  if (kind == TOMBOLA__OR) p->atoms |= atom_type(n->kind);
  p->f[p->n++] = f;
}

/* Sorted, each part once. True: a part and its negation are both there. */
static bool settle(struct tombola__store *s, struct parts *p) {
  if (p->n == 0) return false;
  qsort(p->f, p->n, sizeof *p->f, ascending);
  size_t kept = 1;
  for (size_t i = 1; i < p->n; i++)
    if (p->f[i] != p->f[kept - 1]) p->f[kept++] = p->f[i];
  p->n = kept;
  for (size_t i = 0; i < p->n; i++) {
    const tombola__formula dual = tombola__formula_entry(s, p->f[i])->dual;
    if (dual > p->f[i] && dual != TOMBOLA__MANY && bsearch(&dual, p->f, p->n, sizeof *p->f, ascending))
      return true;
  }
  return false;
}

/* Leaves out what the types alone decide. True: the whole is decided. */
static bool weigh_types(struct tombola__store *s, struct parts *p, enum tombola__node_kind kind) {
  if (p->decided) return true;
  if (kind == TOMBOLA__AND) {
    if (p->types == 0) return true;
    size_t kept = 0;
    for (size_t i = 0; i < p->n; i++) {
      const unsigned type = atom_type(tombola__node(s, p->f[i])->kind);
      if (type == 0 || (type & p->types)) p->f[kept++] = p->f[i];
    }
    p->n = kept;
    return false;
  }
  if (p->types == TOMBOLA__ALL_TYPES || (p->atoms & p->types) || (p->atoms & (p->atoms - 1))) return true;
  if (p->atoms) p->types = 0; /* an atom is true of all types but its own */
  return false;
}

static tombola__formula make(struct tombola__store *s, enum tombola__node_kind kind,
                             const tombola__formula *parts, size_t n) {
  const tombola__formula neutral = kind == TOMBOLA__AND ? TOMBOLA__TRUE : TOMBOLA__FALSE;
  const tombola__formula decided = kind == TOMBOLA__AND ? TOMBOLA__FALSE : TOMBOLA__TRUE;
  tombola__formula few[16];
  struct parts p = {.f = few, .types = kind == TOMBOLA__AND ? TOMBOLA__ALL_TYPES : 0};
  p.room = flat_count(s, kind, parts, n) + 1;
  if (s->status) return TOMBOLA__FALSE;
  if (p.room > TOMBOLA__COUNT(few)) p.f = tombola__new(&s->allocator, p.room, sizeof *p.f);
  if (!p.f) {
    tombola__store_fail(s, TOMBOLA_NO_MEMORY, NULL, "out of memory");
    return TOMBOLA__FALSE;
  }
  for (size_t i = 0; i < n; i++) {
    const tombola__formula f = tombola__formula_seen(s, parts[i]);
    const struct tombola__node *const node = tombola__node(s, f);
    if (node->kind != kind) add(s, &p, kind, f);
    for (size_t k = 0; node->kind == kind && k < node->n_parts; k++)
      add(s, &p, kind, node->parts[k]);
  }
  tombola__formula result = decided;
  if (!weigh_types(s, &p, kind)) {
    if (p.types != (kind == TOMBOLA__AND ? TOMBOLA__ALL_TYPES : 0u)) p.f[p.n++] = tombola__types(s, p.types);
    if (settle(s, &p))
      result = decided;
    else if (p.n <= 1)
      result = p.n ? p.f[0] : neutral;
    else
      result =
          tombola__formula_intern(s, &(struct tombola__node){.kind = kind, .parts = p.f, .n_parts = p.n});
  }
  if (p.f != few) tombola__free(&s->allocator, p.f);
  return s->status ? TOMBOLA__FALSE : result;
}

tombola__formula tombola__and(struct tombola__store *s, const tombola__formula *parts, size_t n) {
  return make(s, TOMBOLA__AND, parts, n);
}

tombola__formula tombola__or(struct tombola__store *s, const tombola__formula *parts, size_t n) {
  return make(s, TOMBOLA__OR, parts, n);
}

tombola__formula tombola__and2(struct tombola__store *s, tombola__formula a, tombola__formula b) {
  const tombola__formula parts[] = {a, b};
  return make(s, TOMBOLA__AND, parts, 2);
}

tombola__formula tombola__or2(struct tombola__store *s, tombola__formula a, tombola__formula b) {
  const tombola__formula parts[] = {a, b};
  return make(s, TOMBOLA__OR, parts, 2);
}

/* ---- ONE_OF ---- */

/* Moves those that can't be the one (TRUE, or there twice) behind the others, negated: all of them must be false. */
static size_t set_apart(struct tombola__store *s, tombola__formula *f, size_t n, tombola__formula *never,
                        size_t *n_never) {
  size_t kept = 0;
  for (size_t i = 0; i < n;) {
    size_t end = i + 1;
    while (end < n && f[end] == f[i])
      end++;
    if (end - i > 1)
      never[(*n_never)++] = tombola__not(s, f[i]);
    else if (f[i] != TOMBOLA__FALSE)
      f[kept++] = f[i];
    i = end;
  }
  return kept;
}

tombola__formula tombola__one_of(struct tombola__store *s, const tombola__formula *parts, size_t n) {
  if (s->status || n == 0) return TOMBOLA__FALSE;
  tombola__formula *const f = tombola__new(&s->allocator, 2 * n + 1, sizeof *f);
  if (!f) {
    tombola__store_fail(s, TOMBOLA_NO_MEMORY, NULL, "out of memory");
    return TOMBOLA__FALSE;
  }
  for (size_t i = 0; i < n; i++)
    f[i] = tombola__formula_seen(s, parts[i]);
  qsort(f, n, sizeof *f, ascending);
  tombola__formula *const never = f + n;
  size_t n_never = 0, kept = set_apart(s, f, n, never, &n_never);
  if (kept > 0 && f[0] == TOMBOLA__TRUE) { /* the one: FALSE and TRUE are the least, and FALSE is gone */
    for (size_t i = 1; i < kept; i++)
      f[i] = tombola__not(s, f[i]);
  } else if (kept > 1) {
    f[0] = tombola__formula_intern(
        s, &(struct tombola__node){.kind = TOMBOLA__ONE_OF, .parts = f, .n_parts = kept});
    kept = 1;
  } else if (kept == 0) {
    f[kept++] = TOMBOLA__FALSE;
  }
  memmove(f + kept, never, n_never * sizeof *f);
  const tombola__formula result = tombola__and(s, f, kept + n_never);
  tombola__free(&s->allocator, f);
  return result;
}

/* ---- atoms ---- */

static tombola__formula other_types(struct tombola__store *s, unsigned types) {
  return tombola__types(s, TOMBOLA__ALL_TYPES & ~types);
}

static uint32_t plus(uint32_t a, uint32_t b) {
  return a >= TOMBOLA__MANY - b ? TOMBOLA__MANY : a + b;
}

tombola__formula tombola__types(struct tombola__store *s, unsigned types) {
  types &= TOMBOLA__ALL_TYPES;
  if (types == 0) return TOMBOLA__FALSE;
  if (types == TOMBOLA__ALL_TYPES) return s->status ? TOMBOLA__FALSE : TOMBOLA__TRUE;
  return tombola__formula_intern(s, &(struct tombola__node){.kind = TOMBOLA__TYPES, .types = types});
}

tombola__formula tombola__text(struct tombola__store *s, tombola__lang lang) {
  if (s->status) return TOMBOLA__FALSE;
  if (lang == TOMBOLA__LANG_ALL) return TOMBOLA__TRUE;
  if (lang == TOMBOLA__LANG_NONE) return other_types(s, TOMBOLA__STRING);
  return tombola__formula_intern(s, &(struct tombola__node){.kind = TOMBOLA__TEXT, .lang = lang});
}

tombola__formula tombola__numeric(struct tombola__store *s, tombola__numset numbers) {
  if (s->status) return TOMBOLA__FALSE;
  if (numbers == TOMBOLA__NUMBERS_ALL) return TOMBOLA__TRUE;
  if (numbers == TOMBOLA__NUMBERS_NONE) return other_types(s, TOMBOLA__NUMBER);
  return tombola__formula_intern(s, &(struct tombola__node){.kind = TOMBOLA__NUMERIC, .numbers = numbers});
}

static tombola__formula range(struct tombola__store *s, enum tombola__node_kind kind, unsigned type,
                              uint32_t min, uint32_t max) {
  if (s->status) return TOMBOLA__FALSE;
  if (min == 0 && max == TOMBOLA__MANY) return TOMBOLA__TRUE;
  if (min > max || min == TOMBOLA__MANY) return other_types(s, type);
  return tombola__formula_intern(s, &(struct tombola__node){.kind = kind, .min = min, .max = max});
}

tombola__formula tombola__length(struct tombola__store *s, uint32_t min, uint32_t max) {
  return range(s, TOMBOLA__LENGTH, TOMBOLA__ARRAY, min, max);
}

tombola__formula tombola__size(struct tombola__store *s, uint32_t min, uint32_t max) {
  return range(s, TOMBOLA__SIZE, TOMBOLA__OBJECT, min, max);
}

tombola__formula tombola__item(struct tombola__store *s, uint32_t index, tombola__formula part) {
  part = tombola__formula_seen(s, part);
  if (part == TOMBOLA__TRUE) return part;
  if (part == TOMBOLA__FALSE) return tombola__length(s, 0, index);
  return tombola__formula_intern(
      s, &(struct tombola__node){.kind = TOMBOLA__ITEM, .index = index, .part = part});
}

tombola__formula tombola__items(struct tombola__store *s, uint32_t index, tombola__formula part) {
  part = tombola__formula_seen(s, part);
  if (part == TOMBOLA__TRUE) return part;
  if (part == TOMBOLA__FALSE) return tombola__length(s, 0, index);
  return tombola__formula_intern(
      s, &(struct tombola__node){.kind = TOMBOLA__ITEMS, .index = index, .part = part});
}

tombola__formula tombola__contains(struct tombola__store *s, uint32_t index, tombola__formula what,
                                   uint32_t min, uint32_t max) {
  if (s->status) return TOMBOLA__FALSE;
  const tombola__formula part = tombola__formula_seen(s, what);
  if (min > max || min == TOMBOLA__MANY) return other_types(s, TOMBOLA__ARRAY);
  if (min == 0 && max == TOMBOLA__MANY) return TOMBOLA__TRUE;
  if (part == TOMBOLA__FALSE) return min == 0 ? TOMBOLA__TRUE : other_types(s, TOMBOLA__ARRAY);
  if (part == TOMBOLA__TRUE) return tombola__length(s, min == 0 ? 0 : plus(index, min), plus(index, max));
  /* A LATER's negation, not that of what it was built as: this may be a step of negating the very same. */
  if (max == 0) return tombola__items(s, index, tombola__not(s, what));
  return tombola__formula_intern(
      s, &(struct tombola__node){
             .kind = TOMBOLA__CONTAINS, .index = index, .part = part, .min = min, .max = max});
}

tombola__formula tombola__unique(struct tombola__store *s) {
  return tombola__formula_intern(s, &(struct tombola__node){.kind = TOMBOLA__UNIQUE});
}

tombola__formula tombola__property(struct tombola__store *s, const struct tombola__name *name, uint32_t order,
                                   tombola__formula part) {
  if (s->status) return TOMBOLA__FALSE;
  part = tombola__formula_seen(s, part);
  if (s->order != TOMBOLA_ORDER_DECLARED) order = TOMBOLA__MANY; /* says nothing then */
  if (part == TOMBOLA__TRUE && order == TOMBOLA__MANY) return TOMBOLA__TRUE;
  return tombola__formula_intern(
      s, &(struct tombola__node){.kind = TOMBOLA__PROPERTY, .name = name, .order = order, .part = part});
}

tombola__formula tombola__required(struct tombola__store *s, const struct tombola__name *name) {
  return tombola__formula_intern(
      s, &(struct tombola__node){.kind = TOMBOLA__REQUIRED, .name = name, .order = TOMBOLA__MANY});
}

tombola__formula tombola__depends(struct tombola__store *s, const struct tombola__name *name,
                                  const struct tombola__name *other) {
  if (s->status) return TOMBOLA__FALSE;
  if (name == other) return TOMBOLA__TRUE;
  return tombola__formula_intern(
      s, &(struct tombola__node){.kind = TOMBOLA__DEPENDS, .name = name, .other = other});
}

tombola__formula tombola__keys(struct tombola__store *s, tombola__lang lang, tombola__formula part) {
  if (s->status) return TOMBOLA__FALSE;
  part = tombola__formula_seen(s, part);
  if (lang == TOMBOLA__LANG_NONE || part == TOMBOLA__TRUE) return TOMBOLA__TRUE;
  if (lang == TOMBOLA__LANG_ALL && part == TOMBOLA__FALSE) return tombola__size(s, 0, 0);
  return tombola__formula_intern(s,
                                 &(struct tombola__node){.kind = TOMBOLA__KEYS, .lang = lang, .part = part});
}

tombola__formula tombola__formula_some_key(struct tombola__store *s, tombola__lang lang,
                                           tombola__formula part) {
  if (s->status) return TOMBOLA__FALSE;
  part = tombola__formula_seen(s, part);
  if (lang == TOMBOLA__LANG_NONE || part == TOMBOLA__FALSE) return other_types(s, TOMBOLA__OBJECT);
  if (lang == TOMBOLA__LANG_ALL && part == TOMBOLA__TRUE) return tombola__size(s, 1, TOMBOLA__MANY);
  return tombola__formula_intern(
      s, &(struct tombola__node){.kind = TOMBOLA__SOME_KEY, .lang = lang, .part = part});
}

tombola__formula tombola__formula_not_unique(struct tombola__store *s) {
  return tombola__formula_intern(s, &(struct tombola__node){.kind = TOMBOLA__NOT_UNIQUE});
}
