/* SPDX-License-Identifier: Apache-2.0 */
/* unevaluatedProperties and unevaluatedItems.
 *
 * What a subschema evaluates counts where it applies and is valid. So the schema's in-place subschemas give a list of
 * units: a condition (a formula about the whole value), and what is evaluated where it holds. "Every property that
 * nothing evaluates is S" is then, for each set of names that the same units evaluate:
 *
 *   one of the conditions holds, or every property with a name of the set is S
 *
 * which is exact, also under negation, and grows with the number of sets instead of the number of combinations. For
 * items it is the same with ranges of indices. `contains` evaluates by value, which has no fixed range: conditional ones
 * are told apart by cases, of which there are at most 2^MOST_CASES. */
#include <string.h>

#include "constraint/schema/internal.h"

#define MOST_UNITS  ((size_t)256)
#define MOST_CELLS  ((size_t)256)
#define MOST_VISITS ((size_t)4096)
#define MOST_NESTED \
  64 /* schemas in each other, or a reference in a circle: a level takes much of the stack */
#define MOST_CASES 6u

struct unit {
  tombola__formula condition;
  tombola__lang names;      /* of properties; ALL: all */
  uint32_t items;           /* the first ones; MANY: all */
  tombola__formula matches; /* items that are this */
};

/* Names, and the conditions of the units that evaluate them: one of them must hold, or `keys` must. */
struct cell {
  tombola__lang names;
  tombola__formula rescue;
};

struct units {
  struct unit u[MOST_UNITS];
  struct cell cells[MOST_CELLS], made[2 * MOST_CELLS];
  size_t n, n_cells, visits, depth;
  bool too_many, unknown; /* unknown: a pattern, or something in an `if`, is left out */
};

static void add_unit(struct units *units, struct unit u) {
  if (u.condition == TOMBOLA__FALSE ||
      (u.names == TOMBOLA__LANG_NONE && u.items == 0 && u.matches == TOMBOLA__FALSE))
    return;
  if (units->n == MOST_UNITS)
    units->too_many = true;
  else
    units->u[units->n++] = u;
}

/* ---- collecting ---- */

/* What the schema's own keywords evaluate. */
static void add_own(struct tombola__build *b, tombola__formula condition, bool top, struct units *units) {
  yyjson_val *const *const v = b->keys.v;
  struct unit u = {condition, TOMBOLA__LANG_NONE, 0, TOMBOLA__FALSE};
  if (!tombola__declared_names(b, &u.names)) units->unknown = true;
  if (v[TOMBOLA__K_ADDITIONAL_PROPERTIES] || (!top && v[TOMBOLA__K_UNEVALUATED_PROPERTIES]))
    u.names = TOMBOLA__LANG_ALL;
  const bool list = yyjson_is_arr(v[TOMBOLA__K_ITEMS]);
  u.items = (uint32_t)yyjson_arr_size(list ? v[TOMBOLA__K_ITEMS] : v[TOMBOLA__K_PREFIX_ITEMS]);
  if ((v[TOMBOLA__K_ITEMS] && !list) || (list && v[TOMBOLA__K_ADDITIONAL_ITEMS]) ||
      (!top && v[TOMBOLA__K_UNEVALUATED_ITEMS]))
    u.items = TOMBOLA__MANY;
  /* Since 2020-12 `contains` evaluates the items that match. */
  if (v[TOMBOLA__K_CONTAINS] && b->resource->dialect.draft == TOMBOLA__DRAFT_2020)
    u.matches = tombola__child(b, v[TOMBOLA__K_CONTAINS]);
  add_unit(units, u);
}

static void collect(struct tombola__build *b, tombola__formula condition, bool top, struct units *units);

static void collect_place(struct tombola__build *b, uint32_t place, tombola__formula condition,
                          struct units *units) {
  struct tombola__build sub;
  if (place == TOMBOLA__NO_PLACE || b->c->s->status) return;
  if (++units->visits > MOST_VISITS || units->depth == MOST_NESTED) {
    units->too_many = true;
    return;
  }
  units->depth++;
  if (tombola__build_begin(&sub, b->c, place, b->scope)) collect(&sub, condition, false, units);
  units->depth--;
}

/* A subschema that counts where `condition` holds and it is valid itself. */
static void collect_branch(struct tombola__build *b, yyjson_val *schema, tombola__formula condition,
                           struct units *units) {
  const tombola__formula both = tombola__and2(b->c->s, condition, tombola__sub(b, schema));
  if (yyjson_is_obj(schema)) collect_place(b, tombola__sub_place(b, schema), both, units);
}

static void collect_list(struct tombola__build *b, enum tombola__keyword keyword, tombola__formula condition,
                         struct units *units) {
  size_t index, max;
  yyjson_val *schema;
  yyjson_arr_foreach(b->keys.v[keyword], index, max, schema) {
    if (keyword != TOMBOLA__K_ALL_OF)
      collect_branch(b, schema, condition, units);
    else if (yyjson_is_obj(schema)) /* valid, or the whole isn't */
      collect_place(b, tombola__sub_place(b, schema), condition, units);
  }
}

static void collect_dependent(struct tombola__build *b, enum tombola__keyword keyword,
                              tombola__formula condition, struct units *units) {
  struct tombola__store *const s = b->c->s;
  size_t index, max;
  yyjson_val *key, *schema;
  yyjson_obj_foreach(b->keys.v[keyword], index, max, key, schema) {
    const struct tombola__name *const name = tombola__name(s, yyjson_get_str(key), yyjson_get_len(key));
    if (!name || !yyjson_is_obj(schema)) continue;
    const tombola__formula present[] = {condition, tombola__types(s, TOMBOLA__OBJECT),
                                        tombola__required(s, name)};
    collect_place(b, tombola__sub_place(b, schema), tombola__and(s, present, 3), units);
  }
}

static void collect(struct tombola__build *b, tombola__formula condition, bool top, struct units *units) {
  struct tombola__store *const s = b->c->s;
  yyjson_val *const *const v = b->keys.v;
  static const enum tombola__keyword references[] = {TOMBOLA__K_REF, TOMBOLA__K_DYNAMIC_REF,
                                                     TOMBOLA__K_RECURSIVE_REF};
  if (s->status || condition == TOMBOLA__FALSE) return;
  add_own(b, condition, top, units);
  for (size_t i = 0; i < TOMBOLA__COUNT(references); i++)
    if (v[references[i]]) collect_place(b, tombola__ref_target(b, references[i]), condition, units);
  collect_list(b, TOMBOLA__K_ALL_OF, condition, units);
  collect_list(b, TOMBOLA__K_ANY_OF, condition, units);
  collect_list(b, TOMBOLA__K_ONE_OF, condition, units);
  collect_dependent(b, TOMBOLA__K_DEPENDENT_SCHEMAS, condition, units);
  collect_dependent(b, TOMBOLA__K_DEPENDENCIES, condition, units);
  if (!v[TOMBOLA__K_IF]) return;
  if (tombola__is_loose(b->c, v[TOMBOLA__K_IF])) units->unknown = true;
  const tombola__formula valid = tombola__sub(b, v[TOMBOLA__K_IF]);
  const tombola__formula yes = tombola__and2(s, condition, valid);
  const tombola__formula no = tombola__and2(s, condition, tombola__not(s, valid));
  if (yyjson_is_obj(v[TOMBOLA__K_IF])) collect_place(b, tombola__sub_place(b, v[TOMBOLA__K_IF]), yes, units);
  if (yyjson_is_obj(v[TOMBOLA__K_THEN]))
    collect_place(b, tombola__sub_place(b, v[TOMBOLA__K_THEN]), yes, units);
  if (yyjson_is_obj(v[TOMBOLA__K_ELSE]))
    collect_place(b, tombola__sub_place(b, v[TOMBOLA__K_ELSE]), no, units);
}

/* ---- properties ---- */

/* Splits each cell by the names of a unit; false: too many. */
static bool split(struct tombola__store *s, struct units *units, const struct unit *u) {
  const tombola__lang others = tombola__lang_not(s, u->names);
  struct cell *const made = units->made;
  size_t kept = 0;
  for (size_t i = 0; i < units->n_cells && !s->status; i++) {
    const struct cell *const cell = &units->cells[i];
    const tombola__lang in = tombola__lang_and(s, cell->names, u->names);
    const tombola__lang out = tombola__lang_and(s, cell->names, others);
    if (!tombola__lang_is_none(s, in))
      made[kept++] = (struct cell){in, tombola__or2(s, cell->rescue, u->condition)};
    if (!tombola__lang_is_none(s, out)) made[kept++] = (struct cell){out, cell->rescue};
  }
  if (kept > MOST_CELLS) return false;
  memcpy(units->cells, made, kept * sizeof *made);
  units->n_cells = kept;
  return true;
}

static void build_properties(struct tombola__build *b, struct units *units) {
  struct tombola__store *const s = b->c->s;
  yyjson_val *const schema = b->keys.v[TOMBOLA__K_UNEVALUATED_PROPERTIES];
  tombola__lang always = TOMBOLA__LANG_NONE;
  const tombola__formula f = tombola__child(b, schema);
  for (size_t i = 0; i < units->n; i++)
    if (units->u[i].condition == TOMBOLA__TRUE) always = tombola__lang_or(s, always, units->u[i].names);
  units->n_cells = 1;
  units->cells[0] = (struct cell){tombola__lang_not(s, always), TOMBOLA__FALSE};
  for (size_t i = 0; i < units->n && !s->status; i++) {
    if (units->u[i].condition == TOMBOLA__TRUE || units->u[i].names == TOMBOLA__LANG_NONE) continue;
    if (split(s, units, &units->u[i])) continue;
    tombola__refuse(b, schema, TOMBOLA__K_UNEVALUATED_PROPERTIES,
                    "more than %zu sets of names are evaluated by different subschemas", MOST_CELLS);
    return;
  }
  for (size_t i = 0; i < units->n_cells && !s->status; i++)
    tombola__part(b, tombola__or2(s, units->cells[i].rescue, tombola__keys(s, units->cells[i].names, f)));
}

/* ---- items ---- */

/* The conditions under which item `index` (MANY: every item) is evaluated by its place. */
static tombola__formula rescue_of(struct tombola__store *s, const struct units *units, uint32_t index) {
  tombola__formula f = TOMBOLA__FALSE;
  for (size_t i = 0; i < units->n; i++)
    if (units->u[i].items > index || units->u[i].items == TOMBOLA__MANY)
      f = tombola__or2(s, f, units->u[i].condition);
  return f;
}

/* Every item that isn't evaluated by its place is `f`. */
static tombola__formula items_are(struct tombola__store *s, const struct units *units, tombola__formula f) {
  uint32_t last = 0; /* from here on only a unit that evaluates all items evaluates one */
  tombola__formula all = TOMBOLA__TRUE;
  for (size_t i = 0; i < units->n; i++)
    if (units->u[i].items != TOMBOLA__MANY && units->u[i].items > last) last = units->u[i].items;
  for (uint32_t i = 0; i < last && !s->status; i++)
    all = tombola__and2(s, all, tombola__or2(s, rescue_of(s, units, i), tombola__item(s, i, f)));
  const tombola__formula rest =
      tombola__or2(s, rescue_of(s, units, TOMBOLA__MANY), tombola__items(s, last, f));
  return tombola__and2(s, all, rest);
}

static void build_items(struct tombola__build *b, const struct units *units) {
  struct tombola__store *const s = b->c->s;
  yyjson_val *const schema = b->keys.v[TOMBOLA__K_UNEVALUATED_ITEMS];
  tombola__formula f = tombola__child(b, schema);
  const struct unit *cases[MOST_CASES] = {NULL};
  unsigned n = 0;
  for (size_t i = 0; i < units->n; i++) {
    const struct unit *const u = &units->u[i];
    if (u->matches == TOMBOLA__FALSE) continue;
    if (u->condition == TOMBOLA__TRUE) {
      f = tombola__or2(s, f, u->matches);
    } else if (n < MOST_CASES) {
      cases[n++] = u;
    } else {
      tombola__refuse(b, schema, TOMBOLA__K_UNEVALUATED_ITEMS,
                      "more than %u `contains` evaluate items under conditions", MOST_CASES);
      return;
    }
  }
  tombola__formula any = TOMBOLA__FALSE;
  for (unsigned set = 0; set < 1u << n && !s->status; set++) {
    tombola__formula holds = TOMBOLA__TRUE, item = f;
    for (unsigned i = 0; i < n; i++) {
      if (!(set >> i & 1)) continue;
      holds = tombola__and2(s, holds, cases[i]->condition);
      item = tombola__or2(s, item, cases[i]->matches);
    }
    any = tombola__or2(s, any, tombola__and2(s, holds, items_are(s, units, item)));
  }
  tombola__part(b, any);
}

void tombola__build_unevaluated(struct tombola__build *b) {
  struct tombola__store *const s = b->c->s;
  yyjson_val *const properties = b->keys.v[TOMBOLA__K_UNEVALUATED_PROPERTIES];
  yyjson_val *const items = b->keys.v[TOMBOLA__K_UNEVALUATED_ITEMS];
  if ((!properties && !items) || s->status) return;
  struct units *const units = tombola__new(&s->allocator, 1, sizeof *units);
  if (!units) {
    tombola__store_fail(s, TOMBOLA_NO_MEMORY, NULL, "out of memory");
    return;
  }
  collect(b, TOMBOLA__TRUE, true, units);
  if (!s->status && (units->too_many || units->unknown))
    tombola__refuse(b, properties ? properties : items,
                    properties ? TOMBOLA__K_UNEVALUATED_PROPERTIES : TOMBOLA__K_UNEVALUATED_ITEMS, "%s",
                    units->too_many ? "too many subschemas may evaluate something"
                                    : "it depends on what can't be enforced");
  else if (!s->status) {
    if (properties) build_properties(b, units);
    if (items) build_items(b, units);
  }
  tombola__free(&s->allocator, units);
}
