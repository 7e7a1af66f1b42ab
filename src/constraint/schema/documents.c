/* SPDX-License-Identifier: Apache-2.0 */
/* Reading JSON texts, places in them, and what is said of a place when it can't be used. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "constraint/schema/internal.h"

#define MOST_SHOWN ((size_t)64) /* bytes of a pointer in a message */

bool tombola__room(struct tombola__store *s, void **memory, size_t *room, size_t count, size_t size) {
  if (count < *room) return true;
  const size_t larger = *room ? *room * 2 : 16;
  void *const moved = tombola__store_take(s, larger, size);
  if (!moved) return false;
  if (count) memcpy(moved, *memory, count * size);
  *memory = moved;
  *room = larger;
  return true;
}

char *tombola__copy(struct tombola__store *s, const char *text, size_t length) {
  char *const copy = tombola__store_take(s, length + 1, 1);
  if (copy && length) memcpy(copy, text, length);
  return copy;
}

/* ---- pointers ---- */

/* Writes "/step" behind `at`, escaped; false: no room, and nothing is written. */
static bool put_step(char *out, size_t size, size_t *at, const char *step, size_t length) {
  size_t end = *at;
  if (end + 1 < size) out[end] = '/';
  end++;
  for (size_t i = 0; i < length; i++) {
    const char c = step[i];
    if (end + 2 >= size) break;
    if (c == '~' || c == '/') out[end++] = '~';
    out[end++] = c == '~' ? '0' : c == '/' ? '1' : c;
  }
  if (end + 2 >= size) {
    out[*at] = '\0';
    return false;
  }
  out[ *at = end] = '\0';
  return true;
}

/* Values of a document lie one behind the other, a container in front of what it holds: the way to a value follows from
 * where it lies. */
void tombola__pointer(const struct tombola__document *document, const yyjson_val *value, char *out,
                      size_t size) {
  yyjson_val *in = yyjson_doc_get_root(document->json);
  size_t at = 0;
  out[0] = '\0';
  if (document->uri[0]) {
    const int n = snprintf(out, size, "%s#", document->uri);
    at = n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
  }
  while (in != value) {
    yyjson_val *key = NULL, *child = NULL, *next_key, *next;
    size_t index, max, place = 0;
    if (yyjson_is_obj(in)) {
      yyjson_obj_foreach(in, index, max, next_key, next) {
        if (next > value && next_key != value) break;
        key = next_key;
        child = next;
      }
    } else if (yyjson_is_arr(in)) {
      yyjson_arr_foreach(in, index, max, next) {
        if (next > value) break;
        child = next;
        place = index;
      }
    }
    if (!child) return;
    char number[24];
    const int digits = snprintf(number, sizeof number, "%zu", place);
    const char *const step = key ? yyjson_get_str(key) : number;
    if (!put_step(out, size, &at, step, key ? yyjson_get_len(key) : (size_t)digits)) return;
    if (key == value) return;
    in = child;
  }
}

/* ---- failures ---- */

static void note(struct tombola__compiler *c, const char *pointer, const char *keyword, const char *reason) {
  struct tombola_schema_verdict *const v = c->verdict;
  if (!v || c->s->status) return;
  v->verdict = TOMBOLA_VERDICT_REFUSED;
  snprintf(v->pointer, sizeof v->pointer, "%s", pointer);
  snprintf(v->keyword, sizeof v->keyword, "%s", keyword);
  snprintf(v->reason, sizeof v->reason, "%s", reason);
}

/* How many bytes of a text a message has room for: whole characters. */
static int shown(const char *text) {
  size_t n = strlen(text);
  if (n > MOST_SHOWN)
    for (n = MOST_SHOWN; n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80;)
      n--;
  return (int)n;
}

/* Of a long way only the beginning is told: what the reason says is worth more. */
static void fail(struct tombola__compiler *c, const char *pointer, const char *keyword,
                 enum tombola_status status, const char *reason) {
  const char *const where = pointer[0] ? pointer : "the root";
  note(c, pointer, keyword, reason);
  tombola__store_fail(c->s, status, pointer, "%.*s%s%sat %.*s%s: %s", shown(keyword), keyword,
                      keyword[shown(keyword)] ? "..." : "", keyword[0] ? " " : "", shown(where), where,
                      where[shown(where)] ? "..." : "", reason);
}

void tombola__complain(struct tombola__compiler *c, const struct tombola__resource *resource,
                       const yyjson_val *at, const char *keyword, enum tombola_status status,
                       const char *format, ...) {
  char pointer[512], reason[256];
  va_list arguments;
  va_start(arguments, format);
  if (vsnprintf(reason, sizeof reason, format, arguments) < 0) reason[0] = '\0';
  va_end(arguments);
  tombola__pointer(resource->document, at, pointer, sizeof pointer);
  fail(c, pointer, keyword, status, reason);
}

/* Adds to the list of what is left out. */
static void drop(struct tombola__compiler *c, const char *pointer, const char *keyword, const char *reason) {
  for (const struct tombola__dropped *d = c->dropped ? *c->dropped : NULL; d; d = d->next)
    if (strcmp(d->pointer, pointer) == 0 && strcmp(d->keyword, keyword) == 0) return;
  struct tombola__dropped *const d = tombola__store_take(c->s, 1, sizeof *d);
  if (!d || !c->dropped) return;
  d->pointer = tombola__copy(c->s, pointer, strlen(pointer));
  d->keyword = tombola__copy(c->s, keyword, strlen(keyword));
  d->reason = tombola__copy(c->s, reason, strlen(reason));
  if (c->s->status) return;
  *c->dropped_end = d;
  c->dropped_end = &d->next;
}

tombola__formula tombola__refuse(struct tombola__build *b, const yyjson_val *at,
                                 enum tombola__keyword keyword, const char *format, ...) {
  struct tombola__compiler *const c = b->c;
  char pointer[512], reason[256];
  va_list arguments;
  va_start(arguments, format);
  if (vsnprintf(reason, sizeof reason, format, arguments) < 0) reason[0] = '\0';
  va_end(arguments);
  tombola__pointer(b->resource->document, at, pointer, sizeof pointer);
  if (!c->source->lenient) {
    fail(c, pointer, tombola__keywords[keyword].name, TOMBOLA_UNSUPPORTED, reason);
    return TOMBOLA__FALSE;
  }
  drop(c, pointer, tombola__keywords[keyword].name, reason);
  void *memory = c->left_out;
  if (!tombola__room(c->s, &memory, &c->left_out_room, c->n_left_out, sizeof *c->left_out))
    return TOMBOLA__FALSE;
  c->left_out = memory;
  c->left_out[c->n_left_out++] = at;
  return TOMBOLA__TRUE;
}

tombola__formula tombola__must(struct tombola__build *b, const yyjson_val *at, enum tombola__keyword keyword,
                               const char *what) {
  tombola__complain(b->c, b->resource, at, tombola__keywords[keyword].name, TOMBOLA_FORMAT, "must be %s",
                    what);
  return TOMBOLA__FALSE;
}

bool tombola__is_loose(const struct tombola__compiler *c, yyjson_val *value) {
  if (!c->again) return false;
  yyjson_val *const end = yyjson_is_ctn(value) ? unsafe_yyjson_get_next(value) : value + 1;
  for (size_t i = 0; i < c->n_left_out; i++)
    if (c->left_out[i] >= value && c->left_out[i] < end) return true;
  for (yyjson_val *v = value; v < end; v++) /* who knows where it leads */
    if (yyjson_equals_str(v, "$ref") || yyjson_equals_str(v, "$dynamicRef") ||
        yyjson_equals_str(v, "$recursiveRef"))
      return true;
  return false;
}

/* ---- reading ---- */

static int by_text(const void *a, const void *b) {
  yyjson_val *const x = *(yyjson_val *const *)a, *const y = *(yyjson_val *const *)b;
  const size_t n = yyjson_get_len(x), m = yyjson_get_len(y);
  const int order = memcmp(yyjson_get_str(x), yyjson_get_str(y), n < m ? n : m);
  return order ? order : n < m ? -1 : n > m;
}

/* A key that an object has twice, or NULL. */
static yyjson_val *double_key(struct tombola__store *s, yyjson_val *object) {
  const size_t n = yyjson_obj_size(object);
  if (n < 2) return NULL;
  yyjson_val *few[32], **keys = n <= TOMBOLA__COUNT(few) ? few : tombola__new(&s->allocator, n, sizeof *keys);
  if (!keys) {
    tombola__store_fail(s, TOMBOLA_NO_MEMORY, NULL, "out of memory");
    return NULL;
  }
  size_t index, max;
  yyjson_val *key, *value, *twice = NULL;
  yyjson_obj_foreach(object, index, max, key, value) keys[index] = key;
  qsort(keys, n, sizeof(yyjson_val *), by_text);
  for (size_t i = 1; i < n && !twice; i++)
    if (by_text(&keys[i - 1], &keys[i]) == 0) twice = keys[i - 1] > keys[i] ? keys[i - 1] : keys[i];
  if (keys != few) tombola__free(&s->allocator, keys);
  return twice;
}

static void check_keys(struct tombola__compiler *c, const struct tombola__document *d) {
  yyjson_val *const first = yyjson_doc_get_root(d->json);
  const size_t n = yyjson_doc_get_val_count(d->json);
  for (size_t i = 0; i < n && !c->s->status; i++) {
    if (!yyjson_is_obj(first + i)) continue;
    yyjson_val *const key = double_key(c->s, first + i);
    if (!key) continue;
    char pointer[512];
    tombola__pointer(d, key, pointer, sizeof pointer);
    fail(c, pointer, yyjson_get_str(key), TOMBOLA_FORMAT, "is given twice");
  }
}

struct tombola__document *tombola__document_read(struct tombola__compiler *c, const char *uri,
                                                 const char *text, size_t length) {
  struct tombola__store *const s = c->s;
  struct tombola__document *const d = tombola__store_take(s, 1, sizeof *d);
  if (!d) return NULL;
  c->bytes += length;
  if (c->bytes > c->max_source || c->bytes < length) {
    tombola__store_fail(s, TOMBOLA_OUT_OF_RANGE, "max_source",
                        "the schema and its documents have more than %zu bytes (max_source)", c->max_source);
    return NULL;
  }
  const yyjson_alc memory = {s->allocator.allocate, s->allocator.resize, s->allocator.release,
                             s->allocator.context};
  yyjson_read_err problem;
  char *const copy = tombola__new(&s->allocator, length + 1, 1); /* yyjson asks for memory that isn't const */
  if (!copy) {
    tombola__store_fail(s, TOMBOLA_NO_MEMORY, NULL, "out of memory");
    return NULL;
  }
  if (length) memcpy(copy, text, length);
  d->uri = uri;
  d->json = yyjson_read_opts(copy, length, YYJSON_READ_NUMBER_AS_RAW, &memory, &problem);
  tombola__free(&s->allocator, copy);
  if (!d->json) {
    if (problem.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) {
      tombola__store_fail(s, TOMBOLA_NO_MEMORY, NULL, "out of memory");
      return NULL;
    }
    char reason[256];
    snprintf(reason, sizeof reason, "not JSON: %s at byte %zu", problem.msg, problem.pos);
    const bool first = s->status == TOMBOLA_OK;
    fail(c, uri, "", TOMBOLA_FORMAT, reason);
    if (first) s->error.offset = problem.pos;
    return NULL;
  }
  d->next = c->documents;
  c->documents = d;
  check_keys(c, d);
  return s->status ? NULL : d;
}
