/* SPDX-License-Identifier: Apache-2.0 */
/* Keywords that say nothing, because no draft knows them or this one doesn't: annotations, as the standard has it, and
 * mostly typing errors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "constraint/grammar.h"
#include "constraint/schema/internal.h"

#define LONGEST ((size_t)40) /* of a name that may be another one misspelled */

/* Annotations of the drafts and of OpenAPI, which say nothing and are meant so. */
static const char *const annotations[] = {
    "$comment", "$vocabulary",  "contentEncoding", "contentMediaType", "default",
    "title",    "deprecated",   "description",     "discriminator",    "example",
    "examples", "externalDocs", "readOnly",        "writeOnly",        "xml"};

static bool is_annotation(const char *name, size_t length) {
  if (length > 2 && memcmp(name, "x-", 2) == 0) return true;
  for (size_t i = 0; i < TOMBOLA__COUNT(annotations); i++)
    if (strlen(annotations[i]) == length && memcmp(annotations[i], name, length) == 0) return true;
  return false;
}

/* ---- what was meant ---- */

static char lower(char c) {
  return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Letters to insert, delete, change or swap with the neighbour, in any case, to get from one name to the other. */
static size_t distance(const char *a, size_t n, const char *b, size_t m) {
  size_t rows[3][LONGEST + 1];
  for (size_t j = 0; j <= m; j++)
    rows[0][j] = j;
  for (size_t i = 1; i <= n; i++) {
    size_t *const row = rows[i % 3], *const above = rows[(i + 2) % 3], *const twice = rows[(i + 1) % 3];
    row[0] = i;
    for (size_t j = 1; j <= m; j++) {
      size_t best = above[j - 1] + (lower(a[i - 1]) != lower(b[j - 1]));
      if (above[j] + 1 < best) best = above[j] + 1;
      if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]) &&
          twice[j - 2] + 1 < best)
        best = twice[j - 2] + 1;
      row[j] = best;
    }
  }
  return rows[n % 3][m];
}

size_t tombola__misspelled(size_t length) {
  return length <= 4 ? 2 : 3;
}

bool tombola__is_nearer(const char *name, size_t length, const char *known, size_t known_length,
                        size_t *least) {
  if (length > LONGEST || known_length > LONGEST) return false;
  if (length + *least <= known_length || known_length + *least <= length) return false;
  const size_t far = distance(name, length, known, known_length);
  if (far >= *least) return false;
  *least = far;
  return true;
}

/* The keyword of the draft, or the annotation, that is nearest, or "". */
static const char *nearest(const char *name, size_t length, unsigned draft) {
  const char *found = "";
  size_t least = tombola__misspelled(length);
  for (size_t i = 0; i < TOMBOLA__N_KEYWORDS + TOMBOLA__COUNT(annotations); i++) {
    const bool is_keyword = i < TOMBOLA__N_KEYWORDS;
    const char *const known = is_keyword ? tombola__keywords[i].name : annotations[i - TOMBOLA__N_KEYWORDS];
    if (is_keyword && !(tombola__keywords[i].drafts & draft)) continue;
    if (tombola__is_nearer(name, length, known, strlen(known), &least)) found = known;
  }
  return found;
}

/* ---- one schema ---- */

struct search {
  struct tombola__compiler *c;
  struct tombola_schema_note *notes;
  size_t capacity, count;
  const yyjson_val **schemas; /* all places, in the order of their addresses */
};

static int by_address(const void *a, const void *b) {
  const uintptr_t x = (uintptr_t) * (const yyjson_val *const *)a,
                  y = (uintptr_t) * (const yyjson_val *const *)b;
  return x < y ? -1 : x > y;
}

static bool sort_places(struct search *s) {
  const size_t n = s->c->n_places;
  s->schemas = tombola__store_take(s->c->s, n ? n : 1, sizeof *s->schemas);
  for (size_t i = 0; s->schemas && i < n; i++)
    s->schemas[i] = s->c->places[i].schema;
  if (s->schemas) qsort(s->schemas, n, sizeof *s->schemas, by_address);
  return s->schemas != NULL;
}

/* Whether a schema stands in a value: under a name that is no keyword only a reference leads to one. */
static bool holds_schema(const struct search *s, yyjson_val *value) {
  size_t lo = 0, hi = s->c->n_places;
  if (!yyjson_is_ctn(value)) return false;
  while (lo < hi) {
    const size_t middle = lo + (hi - lo) / 2;
    if ((uintptr_t)s->schemas[middle] < (uintptr_t)value)
      lo = middle + 1;
    else
      hi = middle;
  }
  return lo < s->c->n_places && (uintptr_t)s->schemas[lo] < (uintptr_t)unsafe_yyjson_get_next(value);
}

/* Copies what fits, in whole characters. */
static void copy(char *out, size_t size, const char *text, size_t length) {
  size_t n = length < size ? length : size - 1;
  if (n < length)
    while (n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80)
      n--;
  memcpy(out, text, n);
  out[n] = '\0';
}

static void note(struct search *s, const struct tombola__resource *r, yyjson_val *key, yyjson_val *value) {
  const char *const name = yyjson_get_str(key);
  const size_t length = yyjson_get_len(key);
  const int k = tombola__keyword_find(name, length);
  const unsigned draft = r->dialect.draft;
  if (k == TOMBOLA__K_CONTENT_SCHEMA || (k < 0 && is_annotation(name, length))) return;
  const bool is_off = k == TOMBOLA__K_NULLABLE && yyjson_is_true(value) && !s->c->source->nullable;
  if (k >= 0 && !is_off && (tombola__keywords[k].drafts & draft || tombola__keywords[k].refused_elsewhere))
    return;
  if (holds_schema(s, value) || s->count++ >= s->capacity) return;
  struct tombola_schema_note *const out = &s->notes[s->count - 1];
  *out = (struct tombola_schema_note){.pointer = ""};
  tombola__pointer(r->document, value, out->pointer, sizeof out->pointer);
  copy(out->keyword, sizeof out->keyword, name, length);
  if (is_off) {
    snprintf(out->reason, sizeof out->reason, "isn't a keyword of JSON Schema");
    return;
  }
  if (k >= 0) {
    snprintf(out->reason, sizeof out->reason, "isn't a keyword of draft %s", tombola__draft_name(draft));
    return;
  }
  snprintf(out->reason, sizeof out->reason, "isn't a keyword of any draft");
  snprintf(out->nearest, sizeof out->nearest, "%s", nearest(name, length, draft));
}

/* Where a place's references lead: that makes further places known. */
static void follow(struct search *s, uint32_t place) {
  static const enum tombola__keyword references[] = {TOMBOLA__K_REF, TOMBOLA__K_DYNAMIC_REF,
                                                     TOMBOLA__K_RECURSIVE_REF};
  const struct tombola__place at = s->c->places[place];
  const struct tombola__anchor *anchor;
  const char *why;
  struct tombola__keys keys;
  if (!yyjson_is_obj(at.schema) || at.resource->dialect.draft == 0) return;
  tombola__keys_read(&at.resource->dialect, at.schema, 0, &keys);
  for (size_t i = 0; i < TOMBOLA__COUNT(references); i++)
    if (yyjson_is_str(keys.v[references[i]]) && !s->c->s->status)
      (void)tombola__reference(s->c, at.resource, keys.v[references[i]], &anchor, &why);
}

static void note_place(struct search *s, const struct tombola__place *at) {
  size_t index, max;
  yyjson_val *key, *value;
  if (!yyjson_is_obj(at->schema) || at->resource->dialect.draft == 0) return;
  yyjson_obj_foreach(at->schema, index, max, key, value) note(s, at->resource, key, value);
}

static void search_all(struct tombola__store *store, const struct tombola__schema_source *source,
                       struct search *s) {
  struct tombola__compiler *const c = s->c = tombola__store_take(store, 1, sizeof *c);
  if (!c) return;
  c->s = store;
  (void)tombola__schema_root(c, source);
  for (uint32_t i = 0; i < c->n_places && !store->status; i++)
    if (tombola__store_state(store)) follow(s, i);
  const bool sorted = !store->status && sort_places(s);
  for (uint32_t i = 0; sorted && i < c->n_places && tombola__store_state(store); i++)
    note_place(s, &c->places[i]);
  tombola__schema_close(c);
}

/* ---- for the caller ---- */

enum tombola_status tombola_schema_unknown(const struct tombola_grammar_source *source,
                                           const struct tombola_allocator *allocator,
                                           struct tombola_schema_note *notes, size_t capacity, size_t *count,
                                           struct tombola_error *error) {
  struct tombola_error own = {.message = ""};
  struct tombola__store store;
  struct search s = {.notes = notes, .capacity = notes ? capacity : 0};
  if (!error) error = &own;
  if (!count) return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "count", "count is NULL");
  *count = 0;
  enum tombola_status status = tombola__grammar_check(source, error);
  if (status) return status;
  if (source->kind != TOMBOLA_GRAMMAR_JSON_SCHEMA) return TOMBOLA_OK;
  const struct tombola__schema_source schema = {
      .source = source, .text = source->text, .length = source->length};
  const struct tombola_allocator use = tombola__allocator(allocator);
  status = tombola__store_new(&store, source->limits, &use, error);
  if (status) return status;
  search_all(&store, &schema, &s);
  status = store.status;
  if (status) *error = store.error;
  tombola__store_free(&store);
  *count = status ? 0 : s.count;
  return status;
}
