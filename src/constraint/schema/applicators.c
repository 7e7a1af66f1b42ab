/* SPDX-License-Identifier: Apache-2.0 */
/* References, and keywords that apply schemas to the value itself. */
#include "constraint/schema/internal.h"

/* ---- references ---- */

/* The target when the dynamic scope has a say: the outermost resource with an anchor like the one that was found. */
static uint32_t dynamic_target(struct tombola__build *b, const struct tombola__anchor *anchor,
                               uint32_t target) {
  if (!anchor || !anchor->dynamic) return target;
  const struct tombola__anchor *const outermost = tombola__scope_anchor(b->c, b->scope, anchor);
  /* The resource of the target itself is entered by the reference, and is innermost. */
  return outermost ? tombola__place_of(b->c, outermost->schema) : target;
}

/* `$recursiveRef` looks for `$recursiveAnchor`, which is kept as a dynamic anchor without a name. */
static const struct tombola__anchor *recursive_anchor(const struct tombola__build *b, uint32_t target) {
  const struct tombola__resource *const r = b->c->places[target].resource;
  for (const struct tombola__anchor *a = r->anchors; a; a = a->next)
    if (a->dynamic && a->length == 0) return a;
  return NULL;
}

uint32_t tombola__ref_target(struct tombola__build *b, enum tombola__keyword keyword) {
  yyjson_val *const reference = b->keys.v[keyword];
  const struct tombola__anchor *anchor;
  const char *why;
  if (!yyjson_is_str(reference)) {
    tombola__must(b, reference, keyword, "a string");
    return TOMBOLA__NO_PLACE;
  }
  const uint32_t target = tombola__reference(b->c, b->resource, reference, &anchor, &why);
  if (b->c->s->status) return TOMBOLA__NO_PLACE;
  if (target == TOMBOLA__NO_PLACE) {
    tombola__refuse(b, reference, keyword, "%.180s %s", yyjson_get_str(reference), why);
    return TOMBOLA__NO_PLACE;
  }
  if (keyword == TOMBOLA__K_DYNAMIC_REF) return dynamic_target(b, anchor, target);
  if (keyword == TOMBOLA__K_RECURSIVE_REF) return dynamic_target(b, recursive_anchor(b, target), target);
  return target;
}

void tombola__build_references(struct tombola__build *b) {
  static const enum tombola__keyword keywords[] = {TOMBOLA__K_REF, TOMBOLA__K_DYNAMIC_REF,
                                                   TOMBOLA__K_RECURSIVE_REF};
  struct tombola__compiler *const c = b->c;
  for (size_t i = 0; i < TOMBOLA__COUNT(keywords); i++) {
    if (!b->keys.v[keywords[i]] || c->s->status) continue;
    if (++c->refs > c->s->max_refs) {
      tombola__complain(c, b->resource, b->keys.v[keywords[i]], tombola__keywords[keywords[i]].name,
                        TOMBOLA_OUT_OF_RANGE, "more than %zu references (max_refs)", c->s->max_refs);
      return;
    }
    const uint32_t target = tombola__ref_target(b, keywords[i]);
    if (target != TOMBOLA__NO_PLACE) tombola__part(b, tombola__in_place(b, target));
  }
}

static const char loose[] = "not all of it can be enforced, so that its negation can't be";

/* ---- several schemas ---- */

static void build_several(struct tombola__build *b, enum tombola__keyword keyword,
                          tombola__formula (*join)(struct tombola__store *, const tombola__formula *,
                                                   size_t)) {
  yyjson_val *const list = b->keys.v[keyword];
  if (!list) return;
  if (!yyjson_is_arr(list) || yyjson_arr_size(list) == 0) {
    tombola__must(b, list, keyword, "an array of schemas, not empty");
    return;
  }
  tombola__formula *const parts = tombola__store_take(b->c->s, yyjson_arr_size(list), sizeof *parts);
  if (!parts) return;
  size_t index, max;
  yyjson_val *schema;
  yyjson_arr_foreach(list, index, max, schema) parts[index] = tombola__sub(b, schema);
  tombola__part(b, join(b->c->s, parts, yyjson_arr_size(list)));
}

static void build_if(struct tombola__build *b) {
  struct tombola__store *const s = b->c->s;
  yyjson_val *const then = b->keys.v[TOMBOLA__K_THEN], *const otherwise = b->keys.v[TOMBOLA__K_ELSE];
  if (!b->keys.v[TOMBOLA__K_IF]) return;
  const tombola__formula condition = tombola__sub(b, b->keys.v[TOMBOLA__K_IF]);
  if ((then || otherwise) && tombola__is_loose(b->c, b->keys.v[TOMBOLA__K_IF])) {
    tombola__refuse(b, b->keys.v[TOMBOLA__K_IF], TOMBOLA__K_IF, "%s", loose);
    return;
  }
  const tombola__formula no = tombola__not(s, condition);
  /* Conditions on properties mostly ask which of many kinds an object is: said in both ways, they keep these
   * apart, so that a list of them doesn't multiply. */
  const bool both = yyjson_obj_get(b->keys.v[TOMBOLA__K_IF], "properties") != NULL;
  const tombola__formula with = both ? condition : TOMBOLA__TRUE, without = both ? no : TOMBOLA__TRUE;
  if (then) tombola__part(b, tombola__or2(s, no, tombola__and2(s, with, tombola__sub(b, then))));
  if (otherwise)
    tombola__part(b, tombola__or2(s, condition, tombola__and2(s, without, tombola__sub(b, otherwise))));
}

/* ---- what the presence of a property asks for ---- */

static void depend_on_names(struct tombola__build *b, const struct tombola__name *name, yyjson_val *names,
                            enum tombola__keyword keyword) {
  size_t index, max;
  yyjson_val *other;
  yyjson_arr_foreach(names, index, max, other) {
    if (!yyjson_is_str(other)) {
      tombola__must(b, other, keyword, "a string");
      return;
    }
    const struct tombola__name *const asked =
        tombola__name(b->c->s, yyjson_get_str(other), yyjson_get_len(other));
    if (asked) tombola__part(b, tombola__depends(b->c->s, name, asked));
  }
}

static void build_dependent(struct tombola__build *b, enum tombola__keyword keyword) {
  struct tombola__store *const s = b->c->s;
  yyjson_val *const map = b->keys.v[keyword];
  const bool names = keyword != TOMBOLA__K_DEPENDENT_SCHEMAS;
  const bool schemas = keyword != TOMBOLA__K_DEPENDENT_REQUIRED;
  if (!map) return;
  if (!yyjson_is_obj(map)) {
    tombola__must(b, map, keyword, "an object");
    return;
  }
  size_t index, max;
  yyjson_val *key, *value;
  yyjson_obj_foreach(map, index, max, key, value) {
    const struct tombola__name *const name = tombola__name(s, yyjson_get_str(key), yyjson_get_len(key));
    if (!name) return;
    if (names && yyjson_is_arr(value)) {
      depend_on_names(b, name, value, keyword);
    } else if (schemas && tombola__is_schema(value)) {
      const tombola__formula absent = tombola__property(s, name, TOMBOLA__MANY, TOMBOLA__FALSE);
      tombola__part(b, tombola__or2(s, absent, tombola__sub(b, value)));
    } else {
      tombola__must(b, value, keyword,
                    !schemas ? "an array of names"
                    : names  ? "a schema or an array of names"
                             : "a schema");
      return;
    }
  }
}

void tombola__build_applicators(struct tombola__build *b) {
  build_several(b, TOMBOLA__K_ALL_OF, tombola__and);
  build_several(b, TOMBOLA__K_ANY_OF, tombola__or);
  yyjson_val *const one_of = b->keys.v[TOMBOLA__K_ONE_OF], *const negated = b->keys.v[TOMBOLA__K_NOT];
  const bool only_any = one_of && tombola__is_loose(b->c, one_of);
  if (only_any) tombola__refuse(b, one_of, TOMBOLA__K_ONE_OF, "%s", loose);
  build_several(b, TOMBOLA__K_ONE_OF, only_any ? tombola__or : tombola__one_of);
  if (negated) {
    const tombola__formula f = tombola__sub(b, negated);
    tombola__part(b, tombola__is_loose(b->c, negated)
                         ? tombola__refuse(b, negated, TOMBOLA__K_NOT, "%s", loose)
                         : tombola__not(b->c->s, f));
  }
  build_if(b);
  build_dependent(b, TOMBOLA__K_DEPENDENT_REQUIRED);
  build_dependent(b, TOMBOLA__K_DEPENDENT_SCHEMAS);
  build_dependent(b, TOMBOLA__K_DEPENDENCIES);
}
