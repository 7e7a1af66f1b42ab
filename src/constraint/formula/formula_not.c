/* SPDX-License-Identifier: Apache-2.0 */
/* Negation: each kind of node has a dual. Duals are remembered both ways, so that a negation negated is what it was. A
 * LATER stays one, also when it has been built: that is what ends the way around a recursive schema. */
#include "constraint/formula/formula_table.h"

/* Deeper than any schema that max_depth lets through; keeps the stack small whatever max_depth is. */
#define MOST_DEPTH 4096

static tombola__formula dual(struct tombola__store *s, tombola__formula f, unsigned depth);

/* The dual of an atom is of its type, and says `what`. */
static tombola__formula of_type(struct tombola__store *s, unsigned type, tombola__formula what) {
  return tombola__and2(s, tombola__types(s, type), what);
}

static tombola__formula dual_range(struct tombola__store *s, unsigned type, const struct tombola__node *n,
                                   tombola__formula (*make)(struct tombola__store *, uint32_t, uint32_t)) {
  const tombola__formula less = n->min > 0 ? make(s, 0, n->min - 1) : TOMBOLA__FALSE;
  const tombola__formula more = n->max != TOMBOLA__MANY ? make(s, n->max + 1, TOMBOLA__MANY) : TOMBOLA__FALSE;
  return of_type(s, type, tombola__or2(s, less, more));
}

static tombola__formula dual_contains(struct tombola__store *s, const struct tombola__node *n) {
  const tombola__formula less =
      n->min > 0 ? tombola__contains(s, n->index, n->part, 0, n->min - 1) : TOMBOLA__FALSE;
  const tombola__formula more = n->max != TOMBOLA__MANY
                                    ? tombola__contains(s, n->index, n->part, n->max + 1, TOMBOLA__MANY)
                                    : TOMBOLA__FALSE;
  return of_type(s, TOMBOLA__ARRAY, tombola__or2(s, less, more));
}

/* None of the parts, or two of them. */
static tombola__formula dual_one_of(struct tombola__store *s, const struct tombola__node *n, unsigned depth) {
  const size_t pairs = n->n_parts * (n->n_parts - 1) / 2;
  tombola__formula *const f =
      n->n_parts > 4096 ? NULL : tombola__new(&s->allocator, pairs + n->n_parts + 1, sizeof *f);
  if (!f) {
    if (n->n_parts > 4096)
      tombola__store_fail(s, TOMBOLA_OUT_OF_RANGE, NULL, "the negation of a oneOf of %zu parts", n->n_parts);
    else
      tombola__store_fail(s, TOMBOLA_NO_MEMORY, NULL, "out of memory");
    return TOMBOLA__FALSE;
  }
  for (size_t i = 0; i < n->n_parts; i++)
    f[i] = dual(s, n->parts[i], depth);
  size_t count = 0;
  f[count++] = tombola__and(s, f, n->n_parts);
  for (size_t i = 0; i < n->n_parts && !s->status; i++)
    for (size_t k = i + 1; k < n->n_parts; k++)
      f[count++] = tombola__and2(s, n->parts[i], n->parts[k]);
  const tombola__formula result = tombola__or(s, f, count);
  tombola__free(&s->allocator, f);
  return result;
}

static tombola__formula dual_parts(struct tombola__store *s, const struct tombola__node *n, unsigned depth) {
  tombola__formula *const f = tombola__new(&s->allocator, n->n_parts + 1, sizeof *f);
  if (!f) {
    tombola__store_fail(s, TOMBOLA_NO_MEMORY, NULL, "out of memory");
    return TOMBOLA__FALSE;
  }
  for (size_t i = 0; i < n->n_parts; i++)
    f[i] = dual(s, n->parts[i], depth);
  const tombola__formula result =
      n->kind == TOMBOLA__AND ? tombola__or(s, f, n->n_parts) : tombola__and(s, f, n->n_parts);
  tombola__free(&s->allocator, f);
  return result;
}

static tombola__formula dual_item(struct tombola__store *s, const struct tombola__node *n, unsigned depth) {
  const tombola__formula parts[] = {
      tombola__types(s, TOMBOLA__ARRAY),
      tombola__length(s, n->index == TOMBOLA__MANY ? n->index : n->index + 1, TOMBOLA__MANY),
      tombola__item(s, n->index, dual(s, n->part, depth))};
  return tombola__and(s, parts, 3);
}

static tombola__formula dual_named(struct tombola__store *s, const struct tombola__node *n, unsigned depth) {
  const tombola__formula part =
      n->kind == TOMBOLA__DEPENDS ? tombola__property(s, n->other, TOMBOLA__MANY, TOMBOLA__FALSE)
      : n->part == TOMBOLA__TRUE  ? TOMBOLA__FALSE /* there for its place only */
                                  : tombola__property(s, n->name, n->order, dual(s, n->part, depth));
  const tombola__formula parts[] = {tombola__types(s, TOMBOLA__OBJECT), tombola__required(s, n->name), part};
  return tombola__and(s, parts, 3);
}

static tombola__formula dual_node(struct tombola__store *s, const struct tombola__node *n, unsigned depth) {
  struct tombola__node other = *n;
  switch (n->kind) {
  case TOMBOLA__AND:
  case TOMBOLA__OR: return dual_parts(s, n, depth);
  case TOMBOLA__ONE_OF: return dual_one_of(s, n, depth);
  case TOMBOLA__LATER: other.negated = !n->negated; return tombola__formula_intern(s, &other);
  case TOMBOLA__TYPES: return tombola__types(s, TOMBOLA__ALL_TYPES & ~n->types);
  case TOMBOLA__TEXT: return of_type(s, TOMBOLA__STRING, tombola__text(s, tombola__lang_not(s, n->lang)));
  case TOMBOLA__NUMERIC:
    return of_type(s, TOMBOLA__NUMBER, tombola__numeric(s, tombola__numbers_not(s, n->numbers)));
  case TOMBOLA__LENGTH: return dual_range(s, TOMBOLA__ARRAY, n, tombola__length);
  case TOMBOLA__ITEM: return dual_item(s, n, depth);
  case TOMBOLA__ITEMS:
    return of_type(s, TOMBOLA__ARRAY,
                   tombola__contains(s, n->index, dual(s, n->part, depth), 1, TOMBOLA__MANY));
  case TOMBOLA__CONTAINS: return dual_contains(s, n);
  case TOMBOLA__UNIQUE: return of_type(s, TOMBOLA__ARRAY, tombola__formula_not_unique(s));
  case TOMBOLA__NOT_UNIQUE: return of_type(s, TOMBOLA__ARRAY, tombola__unique(s));
  case TOMBOLA__SIZE: return dual_range(s, TOMBOLA__OBJECT, n, tombola__size);
  case TOMBOLA__REQUIRED:
    return of_type(s, TOMBOLA__OBJECT, tombola__property(s, n->name, TOMBOLA__MANY, TOMBOLA__FALSE));
  case TOMBOLA__PROPERTY:
  case TOMBOLA__DEPENDS: return dual_named(s, n, depth);
  case TOMBOLA__KEYS:
    return of_type(s, TOMBOLA__OBJECT, tombola__formula_some_key(s, n->lang, dual(s, n->part, depth)));
  case TOMBOLA__SOME_KEY:
    return of_type(s, TOMBOLA__OBJECT, tombola__keys(s, n->lang, dual(s, n->part, depth)));
  }
  return TOMBOLA__FALSE;
}

static tombola__formula dual(struct tombola__store *s, tombola__formula f, unsigned depth) {
  if (s->status) return TOMBOLA__FALSE;
  struct tombola__formula_entry *const e = tombola__formula_entry(s, f);
  if (e->dual != TOMBOLA__MANY) return e->dual;
  if (depth >= MOST_DEPTH) {
    tombola__store_fail(s, TOMBOLA_OUT_OF_RANGE, NULL, "a negation nested deeper than %d", MOST_DEPTH);
    return TOMBOLA__FALSE;
  }
  const tombola__formula result = dual_node(s, &e->node, depth + 1);
  if (s->status) return TOMBOLA__FALSE;
  e->dual = result;
  struct tombola__formula_entry *const back = tombola__formula_entry(s, result);
  if (back->dual == TOMBOLA__MANY) back->dual = f;
  return result;
}

tombola__formula tombola__not(struct tombola__store *s, tombola__formula f) {
  return dual(s, f, 0);
}
