/* SPDX-License-Identifier: Apache-2.0 */
/* A schema as people have it: perhaps with what a request has around it, perhaps with typing errors. */
#include "constrain.h"
#include "terminal.h"

#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

/* ---- what is around it ---- */

/* Where requests and the tools in them have a schema. With a `type` that is none of JSON Schema they can't be meant as a
 * schema; without one they may only have members that say nothing in one. */
static const struct wrapper {
  const char *type, *pointer;
  const char *member; /* that must be there too, or NULL */
} wrappers[] = {{"json_schema", "/json_schema/schema", NULL},
                {"json_schema", "/schema", NULL},
                {"json_object", "/schema", NULL},
                {"function", "/function/parameters", NULL},
                {"function", "/parameters", NULL},
                {"custom", "/input_schema", NULL},
                {NULL, "/response_format/json_schema/schema", NULL},
                {NULL, "/response_format/schema", NULL},
                {NULL, "/text/format/schema", NULL},
                {NULL, "/json_schema/schema", NULL},
                {NULL, "/function/parameters", NULL},
                {NULL, "/input_schema", NULL},
                {NULL, "/inputSchema", NULL},
                {NULL, "/parameters", "name"},
                {NULL, "/schema", "name"},
                {NULL, "/schema", "strict"},
                {NULL, "/format", NULL}}; /* ollama's, whose schema is an object */

enum { MOST_MEMBERS = 64 }; /* of a request */

/* Whether the library names the member as one that says nothing. */
static bool is_unknown(yyjson_val *key, const struct tombola_schema_note *notes, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (notes[i].pointer[0] == '/' && yyjson_equals_str(key, notes[i].pointer + 1)) return true;
  return false;
}

/* Whether no member of the source, which is `root`, says anything as one of a schema. */
static bool says_nothing(const struct tombola_grammar_source *source, yyjson_val *root) {
  const size_t size = yyjson_obj_size(root);
  struct tombola_schema_note *notes = size > 0 && size <= MOST_MEMBERS ? malloc(size * sizeof *notes) : NULL;
  size_t index, max, count = 0;
  yyjson_val *key, *value;
  bool nothing = notes && tombola_schema_unknown(source, NULL, notes, size, &count, NULL) == TOMBOLA_OK;
  if (count > size) count = size; /* the root's come first */
  yyjson_obj_foreach(root, index, max, key, value) {
    const bool is_description = yyjson_equals_str(key, "description") || yyjson_equals_str(key, "title");
    const bool is_format = yyjson_equals_str(key, "format") && yyjson_is_obj(value);
    nothing = nothing && (is_description || is_format || is_unknown(key, notes, count));
  }
  free(notes);
  return nothing;
}

static bool is_schema(yyjson_val *value) {
  return yyjson_is_obj(value) || yyjson_is_bool(value);
}

/* The schema that stands in what a request has around it, or NULL. */
static yyjson_val *find_inner(const struct tombola_grammar_source *source, yyjson_val *root,
                              const char **pointer) {
  yyjson_val *const type = yyjson_obj_get(root, "type");
  for (size_t i = 0; i < sizeof wrappers / sizeof wrappers[0]; i++) {
    const struct wrapper *const w = &wrappers[i];
    yyjson_val *const inner = yyjson_ptr_get(root, w->pointer);
    if (!is_schema(inner) || (w->type ? !yyjson_equals_str(type, w->type) : type != NULL)) continue;
    if (w->member && !yyjson_obj_get(root, w->member)) continue;
    if (!w->type && !says_nothing(source, root)) return NULL;
    *pointer = w->pointer;
    return inner;
  }
  return NULL;
}

/* A request's type that has no schema: what is refused then is the type, which doesn't tell what to do. */
static void note_type(const char *name, yyjson_val *root) {
  yyjson_val *const type = yyjson_obj_get(root, "type");
  for (size_t i = 0; i < sizeof wrappers / sizeof wrappers[0] && wrappers[i].type; i++) {
    if (!yyjson_equals_str(type, wrappers[i].type)) continue;
    if (yyjson_equals_str(type, "json_object"))
      note("%s: a response format that asks for any object has no schema; --json-object asks for one", name);
    else
      note("%s: part of a request, of type \"%s\", with no schema at %s of it", name, wrappers[i].type,
           wrappers[i].pointer);
    return;
  }
}

int constrain_unwrap(struct tombola_grammar_source *source, const char *name, struct text *room,
                     const char **pointer) {
  size_t length;
  *pointer = NULL;
  char *copy = source->length ? malloc(source->length) : NULL; /* yyjson asks for memory that isn't const */
  if (!copy) return source->length ? complain("out of memory") : EXIT_OK;
  memcpy(copy, source->text, source->length);
  yyjson_doc *doc = yyjson_read_opts(copy, source->length, YYJSON_READ_NUMBER_AS_RAW, NULL, NULL);
  yyjson_val *inner = find_inner(source, yyjson_doc_get_root(doc), pointer);
  int exit_status = EXIT_OK;
  if (inner) {
    char *text = yyjson_val_write(inner, YYJSON_WRITE_NOFLAG, &length);
    text_cut(room, 0);
    if (text && text_add(room, text, length)) {
      source->text = room->data;
      source->length = room->length;
      note("%s: part of a request; the schema is what stands at %s of it", name, *pointer);
    } else {
      exit_status = complain("out of memory");
    }
    free(text);
  } else {
    note_type(name, yyjson_doc_get_root(doc));
  }
  yyjson_doc_free(doc);
  free(copy);
  return exit_status;
}

/* ---- typing errors ---- */

struct tombola_schema_note *constrain_unknown(const struct tombola_grammar_source *source, size_t *count,
                                              size_t *more) {
  struct tombola_schema_note *notes = malloc(CONSTRAIN_NOTES * sizeof *notes);
  *count = *more = 0;
  /* What is wrong with a schema is said when it is compiled. */
  if (!notes || tombola_schema_unknown(source, NULL, notes, CONSTRAIN_NOTES, count, NULL) != TOMBOLA_OK)
    *count = 0;
  if (*count > CONSTRAIN_NOTES) {
    *more = *count - CONSTRAIN_NOTES;
    *count = CONSTRAIN_NOTES;
  }
  return notes;
}

void constrain_note_unknown(const struct tombola_schema_note *notes, size_t count, size_t more) {
  for (size_t i = 0; i < count; i++) {
    const bool is_nullable = strcmp(notes[i].keyword, "nullable") == 0;
    note("\"%s\" %s, so it says nothing%s%s%s%s", notes[i].pointer, notes[i].reason,
         notes[i].nearest[0] ? "; did you mean " : "", notes[i].nearest, notes[i].nearest[0] ? "?" : "",
         is_nullable ? "; with --json-nullable it allows null" : "");
  }
  if (more) note("and %zu more keywords that say nothing", more);
}
