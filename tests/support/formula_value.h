/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a JSON value satisfies a formula, node by node: slow, and as the headers say it. Numbers are raw
 * (YYJSON_READ_NUMBER_AS_RAW). */
#ifndef SUPPORT_FORMULA_VALUE_H
#define SUPPORT_FORMULA_VALUE_H

#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "constraint/formula/formula.h"

static inline unsigned support_value_type(yyjson_val *v) {
  if (yyjson_is_null(v)) return TOMBOLA__NULL;
  if (yyjson_is_bool(v)) return yyjson_is_true(v) ? TOMBOLA__TRUE_VALUE : TOMBOLA__FALSE_VALUE;
  if (yyjson_is_str(v)) return TOMBOLA__STRING;
  if (yyjson_is_arr(v)) return TOMBOLA__ARRAY;
  return yyjson_is_obj(v) ? TOMBOLA__OBJECT : TOMBOLA__NUMBER;
}

/* The digits are in *buffer, which the caller frees. */
static inline struct tombola__decimal support_decimal(yyjson_val *v, char **buffer) {
  struct tombola__decimal d = {"", 0, false, 0};
  *buffer = malloc(yyjson_get_len(v) + 1);
  if (!*buffer || !tombola__decimal_read(yyjson_get_raw(v), yyjson_get_len(v), *buffer, &d)) abort();
  return d;
}

static inline bool support_equal(yyjson_val *a, yyjson_val *b) {
  const unsigned type = support_value_type(a);
  size_t i, n;
  yyjson_val *key, *value;
  if (type != support_value_type(b)) return false;
  if (type == TOMBOLA__STRING)
    return yyjson_get_len(a) == yyjson_get_len(b) &&
           memcmp(yyjson_get_str(a), yyjson_get_str(b), yyjson_get_len(a)) == 0;
  if (type == TOMBOLA__NUMBER) {
    char *one, *two;
    const struct tombola__decimal x = support_decimal(a, &one), y = support_decimal(b, &two);
    const bool equal = tombola__decimal_compare(&x, &y) == 0;
    free(one);
    free(two);
    return equal;
  }
  if (type == TOMBOLA__ARRAY) {
    if (yyjson_arr_size(a) != yyjson_arr_size(b)) return false;
    yyjson_arr_foreach(a, i, n, value) if (!support_equal(value, yyjson_arr_get(b, i))) return false;
  }
  if (type == TOMBOLA__OBJECT) {
    if (yyjson_obj_size(a) != yyjson_obj_size(b)) return false;
    yyjson_obj_foreach(a, i, n, key, value) {
      yyjson_val *const other = yyjson_obj_getn(b, yyjson_get_str(key), yyjson_get_len(key));
      if (!other || !support_equal(value, other)) return false;
    }
  }
  return true;
}

static inline bool support_satisfies(struct tombola__store *s, tombola__formula f, yyjson_val *v);

static inline bool support_unique(yyjson_val *v) {
  for (size_t i = 0; i < yyjson_arr_size(v); i++)
    for (size_t k = 0; k < i; k++)
      if (support_equal(yyjson_arr_get(v, i), yyjson_arr_get(v, k))) return false;
  return true;
}

static inline bool support_array(struct tombola__store *s, const struct tombola__node *n, yyjson_val *v) {
  const size_t size = yyjson_arr_size(v);
  size_t matches = 0;
  if (n->kind == TOMBOLA__UNIQUE) return support_unique(v);
  if (n->kind == TOMBOLA__NOT_UNIQUE) return !support_unique(v);
  if (n->kind == TOMBOLA__LENGTH) return size >= n->min && (n->max == TOMBOLA__MANY || size <= n->max);
  if (n->kind == TOMBOLA__ITEM)
    return n->index >= size || support_satisfies(s, n->part, yyjson_arr_get(v, n->index));
  for (size_t i = n->index; i < size; i++)
    matches += support_satisfies(s, n->part, yyjson_arr_get(v, i));
  if (n->kind == TOMBOLA__ITEMS) return matches == (size > n->index ? size - n->index : 0);
  return matches >= n->min && (n->max == TOMBOLA__MANY || matches <= n->max);
}

static inline yyjson_val *support_member(yyjson_val *v, const struct tombola__name *name) {
  return yyjson_obj_getn(v, name->text, name->length);
}

static inline bool support_object(struct tombola__store *s, const struct tombola__node *n, yyjson_val *v) {
  const size_t size = yyjson_obj_size(v);
  size_t i, max, in_lang = 0, good = 0;
  yyjson_val *key, *value;
  if (n->kind == TOMBOLA__SIZE) return size >= n->min && (n->max == TOMBOLA__MANY || size <= n->max);
  if (n->kind == TOMBOLA__REQUIRED) return support_member(v, n->name) != NULL;
  if (n->kind == TOMBOLA__DEPENDS) return !support_member(v, n->name) || support_member(v, n->other);
  if (n->kind == TOMBOLA__PROPERTY) {
    value = support_member(v, n->name);
    return !value || support_satisfies(s, n->part, value);
  }
  yyjson_obj_foreach(v, i, max, key, value) {
    if (!tombola__lang_matches(s, n->lang, yyjson_get_str(key), yyjson_get_len(key))) continue;
    in_lang++;
    good += support_satisfies(s, n->part, value);
  }
  return n->kind == TOMBOLA__KEYS ? good == in_lang : good > 0;
}

static inline bool support_joined(struct tombola__store *s, const struct tombola__node *n, yyjson_val *v) {
  size_t good = 0;
  for (size_t i = 0; i < n->n_parts; i++) {
    const bool one = support_satisfies(s, n->parts[i], v);
    if (n->kind == TOMBOLA__AND && !one) return false;
    if (n->kind == TOMBOLA__OR && one) return true;
    good += one;
  }
  return n->kind == TOMBOLA__AND || (n->kind == TOMBOLA__ONE_OF && good == 1);
}

static inline bool support_satisfies(struct tombola__store *s, tombola__formula f, yyjson_val *v) {
  f = tombola__resolve(s, f);
  const struct tombola__node *const n = tombola__node(s, f);
  const unsigned type = support_value_type(v);
  switch (n->kind) {
  case TOMBOLA__AND:
  case TOMBOLA__OR:
  case TOMBOLA__ONE_OF: return support_joined(s, n, v);
  case TOMBOLA__LATER: return false; /* resolved: only after a failure of the store */
  case TOMBOLA__TYPES: return (n->types & type) != 0;
  case TOMBOLA__TEXT:
    return type != TOMBOLA__STRING || tombola__lang_matches(s, n->lang, yyjson_get_str(v), yyjson_get_len(v));
  case TOMBOLA__NUMERIC:
    if (type == TOMBOLA__NUMBER) {
      char *buffer;
      const struct tombola__decimal d = support_decimal(v, &buffer);
      const bool has = tombola__numbers_has(s, n->numbers, &d);
      free(buffer);
      return has;
    }
    return true;
  case TOMBOLA__LENGTH:
  case TOMBOLA__ITEM:
  case TOMBOLA__ITEMS:
  case TOMBOLA__CONTAINS:
  case TOMBOLA__UNIQUE:
  case TOMBOLA__NOT_UNIQUE: return type != TOMBOLA__ARRAY || support_array(s, n, v);
  case TOMBOLA__SIZE:
  case TOMBOLA__PROPERTY:
  case TOMBOLA__REQUIRED:
  case TOMBOLA__DEPENDS:
  case TOMBOLA__KEYS:
  case TOMBOLA__SOME_KEY: return type != TOMBOLA__OBJECT || support_object(s, n, v);
  }
  return false;
}

#endif
