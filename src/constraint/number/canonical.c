/* SPDX-License-Identifier: Apache-2.0 */
/* The canonical text of a JSON value, by which equal values are found. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "constraint/number/number_internal.h"

struct writer {
  struct tombola__store *s;
  char *text;
  size_t length, room;
  bool failed; /* the store's failure, or a name that comes twice */
};

static char *extend(struct writer *w, size_t more) {
  if (w->failed) return NULL;
  if (more > w->room - w->length) {
    const size_t room = w->room * 2 + more + 64;
    char *const text =
        room <= w->s->max_bytes ? tombola__resize(&w->s->allocator, w->text, w->room, room, 1) : NULL;
    if (!text) {
      tombola__store_fail(w->s, TOMBOLA_NO_MEMORY, NULL, "out of memory");
      w->failed = true;
      return NULL;
    }
    w->text = text;
    w->room = room;
  }
  char *const at = w->text + w->length;
  w->length += more;
  return at;
}

static void put(struct writer *w, const char *bytes, size_t n) {
  char *const at = extend(w, n);
  if (at && n) memcpy(at, bytes, n);
}

static void put_string(struct writer *w, const char *text, size_t n) {
  put(w, "\"", 1);
  for (size_t i = 0, start = 0; i <= n; i++) {
    const unsigned char c = i < n ? (unsigned char)text[i] : 0;
    if (i < n && c >= 0x20 && c != '"' && c != '\\') continue;
    put(w, text + start, i - start);
    start = i + 1;
    if (i == n) break;
    char escape[8];
    if (c == '"' || c == '\\')
      snprintf(escape, sizeof escape, "\\%c", c);
    else
      snprintf(escape, sizeof escape, "\\u%04x", c);
    put(w, escape, strlen(escape));
  }
  put(w, "\"", 1);
}

static void put_number(struct writer *w, const char *text, size_t n) {
  char *const buffer = extend(w, n);
  struct tombola__decimal d;
  if (!buffer) return;
  /* The digits stay where they are, or are moved to the front. */
  if (!tombola__decimal_read(text, n, buffer, &d)) {
    w->failed = true;
    return;
  }
  w->length -= n;
  if (!d.length) {
    put(w, "0", 1);
    return;
  }
  char *const at = extend(w, (size_t)d.length + d.negative);
  if (!at) return;
  memmove(at + d.negative, d.digits, d.length);
  if (d.negative) *at = '-';
  if (d.exponent) {
    char exponent[32];
    put(w, exponent, (size_t)snprintf(exponent, sizeof exponent, "e%" PRId64, d.exponent));
  }
}

static int by_bytes(const void *a, const void *b) {
  yyjson_val *const x = *(yyjson_val *const *)a, *const y = *(yyjson_val *const *)b;
  const size_t n_x = yyjson_get_len(x), n_y = yyjson_get_len(y);
  const int order = memcmp(yyjson_get_str(x), yyjson_get_str(y), n_x < n_y ? n_x : n_y);
  return order ? order : (n_x > n_y) - (n_x < n_y);
}

static void put_value(struct writer *w, yyjson_val *value, size_t depth);

static void put_object(struct writer *w, yyjson_val *object, size_t depth) {
  const size_t n = yyjson_obj_size(object);
  yyjson_val **const keys = tombola__new(&w->s->allocator, n, sizeof *keys);
  if (!keys) {
    tombola__store_fail(w->s, TOMBOLA_NO_MEMORY, NULL, "out of memory");
    w->failed = true;
    return;
  }
  size_t i, most;
  yyjson_val *key, *value;
  yyjson_obj_foreach(object, i, most, key, value) keys[i] = key;
  qsort((void *)keys, n, sizeof *keys, by_bytes);
  put(w, "{", 1);
  for (i = 0; i < n && !w->failed; i++) {
    if (i > 0 && !by_bytes(&keys[i - 1], &keys[i])) w->failed = true;
    if (i > 0) put(w, ",", 1);
    put_string(w, yyjson_get_str(keys[i]), yyjson_get_len(keys[i]));
    put(w, ":", 1);
    put_value(w, yyjson_obj_iter_get_val(keys[i]), depth + 1);
  }
  put(w, "}", 1);
  tombola__free(&w->s->allocator, (void *)keys);
}

static void put_array(struct writer *w, yyjson_val *array, size_t depth) {
  size_t i, most;
  yyjson_val *item;
  put(w, "[", 1);
  yyjson_arr_foreach(array, i, most, item) {
    if (w->failed) return;
    if (i > 0) put(w, ",", 1);
    put_value(w, item, depth + 1);
  }
  put(w, "]", 1);
}

static void put_value(struct writer *w, yyjson_val *value, size_t depth) {
  if (w->failed) return;
  if (depth > w->s->max_depth) {
    tombola__store_fail(w->s, TOMBOLA_OUT_OF_RANGE, "max_depth",
                        "a value is nested deeper than max_depth, %zu", w->s->max_depth);
    w->failed = true;
  } else if (yyjson_is_obj(value)) {
    put_object(w, value, depth);
  } else if (yyjson_is_arr(value)) {
    put_array(w, value, depth);
  } else if (yyjson_is_str(value)) {
    put_string(w, yyjson_get_str(value), yyjson_get_len(value));
  } else if (yyjson_is_raw(value)) {
    put_number(w, yyjson_get_raw(value), yyjson_get_len(value));
  } else if (yyjson_is_bool(value)) {
    put(w, yyjson_get_bool(value) ? "true" : "false", yyjson_get_bool(value) ? 4 : 5);
  } else {
    put(w, "null", 4);
  }
}

const char *tombola__canonical_in(struct tombola__store *s, tombola__take_fn take, void *context,
                                  const char *json, size_t length, size_t *canonical_length) {
  const struct tombola_allocator *const a = &s->allocator;
  const yyjson_alc memory = {a->allocate, a->resize, a->release, a->context};
  yyjson_read_err problem;
  if (s->status) return NULL;
  /* Without YYJSON_READ_INSITU the text isn't written to; the parameter just isn't const. */
  yyjson_doc *const document =
      yyjson_read_opts((char *)(uintptr_t)json, length, YYJSON_READ_NUMBER_AS_RAW, &memory, &problem);
  if (!document) {
    if (problem.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
      tombola__store_fail(s, TOMBOLA_NO_MEMORY, NULL, "out of memory");
    return NULL;
  }
  struct writer w = {.s = s};
  put_value(&w, yyjson_doc_get_root(document), 0);
  yyjson_doc_free(document);
  char *const text = w.failed ? NULL : take(context, w.length + 1);
  if (text) {
    memcpy(text, w.text, w.length);
    text[w.length] = 0;
    *canonical_length = w.length;
  }
  tombola__free(a, w.text);
  return text;
}

static void *take_from_store(void *context, size_t size) {
  return tombola__store_take(context, size, 1);
}

const char *tombola__canonical(struct tombola__store *s, const char *json, size_t length,
                               size_t *canonical_length) {
  return tombola__canonical_in(s, take_from_store, s, json, length, canonical_length);
}
