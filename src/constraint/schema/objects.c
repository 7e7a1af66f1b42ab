/* SPDX-License-Identifier: Apache-2.0 */
/* Keywords about objects. */
#include <stdlib.h>
#include <string.h>

#include "constraint/schema/internal.h"

/* ---- names ---- */

bool tombola__declared_names(struct tombola__build *b, tombola__lang *out) {
  struct tombola__store *const s = b->c->s;
  yyjson_val *const declared = b->keys.v[TOMBOLA__K_PROPERTIES];
  yyjson_val *const patterns = b->keys.v[TOMBOLA__K_PATTERN_PROPERTIES];
  size_t index, max;
  yyjson_val *key, *value;
  *out = TOMBOLA__LANG_NONE;
  const size_t n = yyjson_obj_size(declared);
  if (n > 0) {
    struct tombola_bytes *const names = tombola__store_take(s, n, sizeof *names);
    if (!names) return false;
    yyjson_obj_foreach(declared, index, max, key, value) names[index] =
        (struct tombola_bytes){yyjson_get_str(key), yyjson_get_len(key)};
    *out = tombola__lang_texts(s, names, n);
  }
  yyjson_obj_foreach(patterns, index, max, key, value) {
    const tombola__lang *const lang = tombola__pattern(b, key, key, TOMBOLA__K_PATTERN_PROPERTIES);
    if (!lang) return false;
    *out = tombola__lang_or(s, *out, *lang);
  }
  return !s->status;
}

/* The strings that satisfy a formula: what it says of other types doesn't matter, so no search is needed. */
static tombola__lang strings_of(struct tombola__store *s, tombola__formula f, unsigned depth) {
  f = tombola__resolve(s, f);
  if (!tombola__store_state(s) || depth > 1024) {
    tombola__store_fail(s, TOMBOLA_OUT_OF_RANGE, "max_depth", "property names nested too deep");
    return TOMBOLA__LANG_NONE;
  }
  const struct tombola__node *const n = tombola__node(s, f);
  if (n->kind == TOMBOLA__TYPES) return n->types & TOMBOLA__STRING ? TOMBOLA__LANG_ALL : TOMBOLA__LANG_NONE;
  if (n->kind == TOMBOLA__TEXT) return n->lang;
  if (n->kind != TOMBOLA__AND && n->kind != TOMBOLA__OR && n->kind != TOMBOLA__ONE_OF)
    return TOMBOLA__LANG_ALL;
  /* Of ONE_OF: texts in none of the parts so far, and in exactly one. */
  tombola__lang none = TOMBOLA__LANG_ALL, one = TOMBOLA__LANG_NONE;
  tombola__lang all = TOMBOLA__LANG_ALL, any = TOMBOLA__LANG_NONE;
  for (size_t i = 0; i < n->n_parts && !s->status; i++) {
    const tombola__lang part = strings_of(s, n->parts[i], depth + 1);
    if (n->kind == TOMBOLA__AND) all = tombola__lang_and(s, all, part);
    if (n->kind == TOMBOLA__OR) any = tombola__lang_or(s, any, part);
    if (n->kind != TOMBOLA__ONE_OF) continue;
    const tombola__lang not_part = tombola__lang_not(s, part);
    one = tombola__lang_or(s, tombola__lang_and(s, one, not_part), tombola__lang_and(s, none, part));
    none = tombola__lang_and(s, none, not_part);
  }
  return n->kind == TOMBOLA__AND ? all : n->kind == TOMBOLA__OR ? any : one;
}

static void build_names(struct tombola__build *b) {
  struct tombola__store *const s = b->c->s;
  yyjson_val *const schema = b->keys.v[TOMBOLA__K_PROPERTY_NAMES];
  if (!schema) return;
  const tombola__formula f = tombola__sub(b, schema);
  if (s->status) return;
  const tombola__lang lang = strings_of(s, f, 0);
  if (s->status) return;
  tombola__part(b, tombola__keys(s, tombola__lang_not(s, lang), TOMBOLA__FALSE));
}

/* ---- properties ---- */

static bool is_map(struct tombola__build *b, enum tombola__keyword keyword) {
  yyjson_val *const map = b->keys.v[keyword];
  if (map && !yyjson_is_obj(map)) tombola__must(b, map, keyword, "an object of schemas");
  return yyjson_is_obj(map);
}

static void build_properties(struct tombola__build *b) {
  struct tombola__store *const s = b->c->s;
  size_t index, max;
  yyjson_val *key, *schema;
  if (is_map(b, TOMBOLA__K_PROPERTIES)) {
    yyjson_obj_foreach(b->keys.v[TOMBOLA__K_PROPERTIES], index, max, key, schema) {
      const struct tombola__name *const name = tombola__name(s, yyjson_get_str(key), yyjson_get_len(key));
      if (!name) return;
      tombola__part(b, tombola__property(s, name, (uint32_t)index, tombola__child(b, schema)));
    }
  }
  if (!is_map(b, TOMBOLA__K_PATTERN_PROPERTIES)) return;
  yyjson_obj_foreach(b->keys.v[TOMBOLA__K_PATTERN_PROPERTIES], index, max, key, schema) {
    const tombola__lang *const lang = tombola__pattern(b, key, key, TOMBOLA__K_PATTERN_PROPERTIES);
    const tombola__formula f = tombola__child(b, schema);
    if (lang) tombola__part(b, tombola__keys(s, *lang, f));
  }
}

static void build_additional(struct tombola__build *b) {
  struct tombola__store *const s = b->c->s;
  yyjson_val *const schema = b->keys.v[TOMBOLA__K_ADDITIONAL_PROPERTIES];
  tombola__lang names;
  if (!schema || s->status) return;
  const tombola__formula f = tombola__child(b, schema);
  if (f == TOMBOLA__TRUE) return;
  if (tombola__declared_names(b, &names))
    tombola__part(b, tombola__keys(s, tombola__lang_not(s, names), f));
  else if (!s->status)
    tombola__refuse(b, schema, TOMBOLA__K_ADDITIONAL_PROPERTIES,
                    "a pattern of patternProperties isn't supported");
}

static int ascending(const void *a, const void *b) {
  const tombola__formula x = *(const tombola__formula *)a, y = *(const tombola__formula *)b;
  return x < y ? -1 : x > y;
}

/* Complains of a name that is there twice: the parts from `first` on are the list's. */
static void check_once(struct tombola__build *b, yyjson_val *list, size_t first) {
  const size_t n = b->parts.n - first;
  tombola__formula *const sorted = tombola__store_take(b->c->s, n + 1, sizeof *sorted);
  if (!sorted || n < 2) return;
  memcpy(sorted, b->parts.f + first, n * sizeof *sorted);
  qsort(sorted, n, sizeof *sorted, ascending);
  for (size_t i = 1; i < n; i++) {
    if (sorted[i] != sorted[i - 1]) continue;
    size_t last = n - 1;
    while (b->parts.f[first + last] != sorted[i])
      last--;
    tombola__must(b, yyjson_arr_get(list, last), TOMBOLA__K_REQUIRED, "given once");
    return;
  }
}

static void build_required(struct tombola__build *b) {
  struct tombola__store *const s = b->c->s;
  yyjson_val *const list = b->keys.v[TOMBOLA__K_REQUIRED], *value;
  const size_t first = b->parts.n;
  size_t index, max;
  if (!list) return;
  if (!yyjson_is_arr(list)) {
    tombola__must(b, list, TOMBOLA__K_REQUIRED, "an array of names");
    return;
  }
  yyjson_arr_foreach(list, index, max, value) {
    if (!yyjson_is_str(value)) {
      tombola__must(b, value, TOMBOLA__K_REQUIRED, "a string");
      return;
    }
    const struct tombola__name *const name = tombola__name(s, yyjson_get_str(value), yyjson_get_len(value));
    if (name) tombola__part(b, tombola__required(s, name));
  }
  if (!s->status) check_once(b, list, first);
}

void tombola__build_object(struct tombola__build *b) {
  struct tombola__store *const s = b->c->s;
  uint32_t min = 0, max = TOMBOLA__MANY;
  build_properties(b);
  build_additional(b);
  build_names(b);
  build_required(b);
  if (b->keys.v[TOMBOLA__K_MIN_PROPERTIES] &&
      !tombola__count_read(b, TOMBOLA__K_MIN_PROPERTIES, TOMBOLA__MANY - 1, &min))
    return;
  if (b->keys.v[TOMBOLA__K_MAX_PROPERTIES] &&
      !tombola__count_read(b, TOMBOLA__K_MAX_PROPERTIES, TOMBOLA__MANY, &max))
    return;
  tombola__part(b, tombola__size(s, min, max));
}
