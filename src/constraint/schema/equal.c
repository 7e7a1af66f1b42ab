/* SPDX-License-Identifier: Apache-2.0 */
/* The formula of being equal to a JSON value (const), or to one of several (enum), in JSON Schema's sense. */
#include <string.h>

#include "constraint/schema/internal.h"

bool tombola__decimal_of(struct tombola__store *s, yyjson_val *value, struct tombola__decimal *out) {
  if (!yyjson_is_raw(value)) return false;
  const size_t length = yyjson_get_len(value);
  char *const buffer = tombola__store_take(s, length + 1, 1);
  return buffer && tombola__decimal_read(yyjson_get_raw(value), length, buffer, out);
}

static tombola__numset number(struct tombola__store *s, yyjson_val *value) {
  struct tombola__decimal d;
  if (!tombola__decimal_of(s, value, &d)) return TOMBOLA__NUMBERS_NONE;
  return tombola__numbers_interval(s, &d, false, &d, false);
}

static tombola__formula equal_array(struct tombola__store *s, yyjson_val *value, size_t depth) {
  const size_t n = yyjson_arr_size(value);
  tombola__formula *const parts = tombola__store_take(s, n + 2, sizeof *parts);
  if (!parts) return TOMBOLA__FALSE;
  size_t index, max;
  yyjson_val *item;
  parts[n] = tombola__types(s, TOMBOLA__ARRAY);
  parts[n + 1] = tombola__length(s, (uint32_t)n, (uint32_t)n);
  yyjson_arr_foreach(value, index, max, item) parts[index] =
      tombola__item(s, (uint32_t)index, tombola__equal_value(s, item, depth + 1));
  return tombola__and(s, parts, n + 2);
}

static tombola__formula equal_object(struct tombola__store *s, yyjson_val *value, size_t depth) {
  const size_t n = yyjson_obj_size(value);
  tombola__formula *const parts = tombola__store_take(s, 2 * n + 2, sizeof *parts);
  if (!parts) return TOMBOLA__FALSE;
  size_t index, max;
  yyjson_val *key, *member;
  parts[2 * n] = tombola__types(s, TOMBOLA__OBJECT);
  parts[2 * n + 1] = tombola__size(s, (uint32_t)n, (uint32_t)n);
  yyjson_obj_foreach(value, index, max, key, member) {
    const struct tombola__name *const name = tombola__name(s, yyjson_get_str(key), yyjson_get_len(key));
    if (!name) return TOMBOLA__FALSE;
    parts[2 * index] = tombola__required(s, name);
    parts[2 * index + 1] =
        tombola__property(s, name, TOMBOLA__MANY, tombola__equal_value(s, member, depth + 1));
  }
  return tombola__and(s, parts, 2 * n + 2);
}

tombola__formula tombola__equal_value(struct tombola__store *s, yyjson_val *value, size_t depth) {
  if (s->status) return TOMBOLA__FALSE;
  if (depth > s->max_depth || depth > 1024) {
    tombola__store_fail(s, TOMBOLA_OUT_OF_RANGE, "max_depth", "a value nested deeper than %zu (max_depth)",
                        s->max_depth);
    return TOMBOLA__FALSE;
  }
  if (yyjson_is_null(value)) return tombola__types(s, TOMBOLA__NULL);
  if (yyjson_is_bool(value))
    return tombola__types(s, yyjson_is_true(value) ? TOMBOLA__TRUE_VALUE : TOMBOLA__FALSE_VALUE);
  if (yyjson_is_str(value))
    return tombola__and2(
        s, tombola__types(s, TOMBOLA__STRING),
        tombola__text(s, tombola__lang_text(s, yyjson_get_str(value), yyjson_get_len(value))));
  if (yyjson_is_arr(value)) return equal_array(s, value, depth);
  if (yyjson_is_obj(value)) return equal_object(s, value, depth);
  return tombola__and2(s, tombola__types(s, TOMBOLA__NUMBER), tombola__numeric(s, number(s, value)));
}

/* ---- one of several ---- */

/* Joined two by two, so that long lists cost no square. */
static tombola__numset join(struct tombola__store *s, tombola__numset *sets, size_t n) {
  for (; n > 1; n = (n + 1) / 2)
    for (size_t i = 0; i < n / 2 + n % 2; i++)
      sets[i] = 2 * i + 1 < n ? tombola__numbers_or(s, sets[2 * i], sets[2 * i + 1]) : sets[2 * i];
  return n ? sets[0] : TOMBOLA__NUMBERS_NONE;
}

/* The values by type: what all strings, all numbers, ... may be. */
struct several {
  struct tombola_bytes *texts;
  tombola__numset *sets;
  tombola__formula *others; /* arrays and objects */
  size_t n_texts, n_sets, n_others;
  unsigned types;
};

static void sort_out(struct tombola__store *s, struct several *v, yyjson_val *value, size_t depth) {
  if (yyjson_is_str(value)) {
    v->texts[v->n_texts++] = (struct tombola_bytes){yyjson_get_str(value), yyjson_get_len(value)};
    v->types |= TOMBOLA__STRING;
  } else if (yyjson_is_raw(value)) {
    v->sets[v->n_sets++] = number(s, value);
    v->types |= TOMBOLA__NUMBER;
  } else if (yyjson_is_arr(value) || yyjson_is_obj(value)) {
    v->others[v->n_others++] = tombola__equal_value(s, value, depth);
  } else {
    v->types |= yyjson_is_null(value)   ? TOMBOLA__NULL
                : yyjson_is_true(value) ? TOMBOLA__TRUE_VALUE
                                        : TOMBOLA__FALSE_VALUE;
  }
}

tombola__formula tombola__equal_any(struct tombola__store *s, yyjson_val *list, size_t depth) {
  const size_t n = yyjson_arr_size(list);
  struct several v = {.texts = tombola__store_take(s, n + 1, sizeof *v.texts),
                      .sets = tombola__store_take(s, n + 1, sizeof *v.sets),
                      .others = tombola__store_take(s, n + 1, sizeof *v.others)};
  if (!v.texts || !v.sets || !v.others) return TOMBOLA__FALSE;
  size_t index, max;
  yyjson_val *value;
  yyjson_arr_foreach(list, index, max, value) sort_out(s, &v, value, depth);
  const tombola__formula scalar[] = {
      tombola__types(s, v.types),
      v.n_texts ? tombola__text(s, tombola__lang_texts(s, v.texts, v.n_texts)) : TOMBOLA__TRUE,
      v.n_sets ? tombola__numeric(s, join(s, v.sets, v.n_sets)) : TOMBOLA__TRUE};
  v.others[v.n_others++] = tombola__and(s, scalar, 3);
  return tombola__or(s, v.others, v.n_others);
}

/* The document of a copy of the text, which strings stay in. */
static yyjson_doc *parse(struct tombola__store *s, const char *json, size_t length,
                         const yyjson_alc *memory) {
  char *const copy = tombola__copy(s, json, length);
  if (!copy) return NULL;
  yyjson_read_err problem;
  yyjson_doc *const d = yyjson_read_opts(copy, length, YYJSON_READ_NUMBER_AS_RAW, memory, &problem);
  if (d) return d;
  if (problem.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
    tombola__store_fail(s, TOMBOLA_NO_MEMORY, NULL, "out of memory");
  else
    tombola__store_fail(s, TOMBOLA_FORMAT, NULL, "not JSON: %s at byte %zu", problem.msg, problem.pos);
  return NULL;
}

static yyjson_alc memory_of(const struct tombola__store *s) {
  return (yyjson_alc){s->allocator.allocate, s->allocator.resize, s->allocator.release, s->allocator.context};
}

tombola__formula tombola__equal_to(struct tombola__store *s, const char *json, size_t length) {
  const yyjson_alc memory = memory_of(s);
  yyjson_doc *const d = parse(s, json, length, &memory);
  if (!d) return TOMBOLA__FALSE;
  const tombola__formula f = tombola__equal_value(s, yyjson_doc_get_root(d), 0);
  yyjson_doc_free(d);
  return f;
}

tombola__formula tombola__equal_to_any(struct tombola__store *s, const char *const *texts, size_t n) {
  size_t length = 2;
  if (n == 0) return TOMBOLA__FALSE;
  for (size_t i = 0; i < n; i++)
    length += strlen(texts[i]) + 1;
  char *const list = tombola__new(&s->allocator, length, 1);
  if (!list) {
    tombola__store_fail(s, TOMBOLA_NO_MEMORY, NULL, "out of memory");
    return TOMBOLA__FALSE;
  }
  char *at = list;
  for (size_t i = 0; i < n; i++) {
    *at++ = i ? ',' : '[';
    const size_t more = strlen(texts[i]);
    memcpy(at, texts[i], more);
    at += more;
  }
  *at++ = ']';
  const yyjson_alc memory = memory_of(s);
  yyjson_doc *const d = parse(s, list, (size_t)(at - list), &memory);
  const tombola__formula f = d ? tombola__equal_any(s, yyjson_doc_get_root(d), 0) : TOMBOLA__FALSE;
  yyjson_doc_free(d);
  tombola__free(&s->allocator, list);
  return f;
}
