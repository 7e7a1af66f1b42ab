/* SPDX-License-Identifier: Apache-2.0 */
/* A schema as people have it: perhaps with what a request has around it, perhaps with typing errors. */
#include "constrain.h"
#include "terminal.h"

#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

/* ---- what is around it ---- */

static bool is_schema(yyjson_val *value) {
  return yyjson_is_obj(value) || yyjson_is_bool(value);
}

/* Whether every member is one of OpenAI's `json_schema`. As a JSON Schema such an object would say nothing at all. */
static bool is_named_schema(yyjson_val *root) {
  static const char *const members[] = {"name", "description", "strict", "schema"};
  size_t index, max;
  yyjson_val *key, *value;
  if (!yyjson_is_str(yyjson_obj_get(root, "name")) && !yyjson_is_bool(yyjson_obj_get(root, "strict")))
    return false;
  yyjson_obj_foreach(root, index, max, key, value) {
    size_t i = 0;
    while (i < sizeof members / sizeof members[0] && !yyjson_equals_str(key, members[i]))
      i++;
    if (i == sizeof members / sizeof members[0]) return false;
  }
  return is_schema(yyjson_obj_get(root, "schema"));
}

/* The schema in a response format, or NULL. Its `type` is none of JSON Schema, or all that it has are members that JSON
 * Schema doesn't know: it can't be meant as a schema itself. */
static yyjson_val *find_inner(yyjson_val *root, const char **pointer) {
  yyjson_val *const type = yyjson_obj_get(root, "type"), *const format = yyjson_obj_get(root, "json_schema");
  yyjson_val *const schema = yyjson_obj_get(root, "schema");
  const bool is_format = yyjson_equals_str(type, "json_schema");
  if (is_format && is_schema(yyjson_obj_get(format, "schema"))) {
    *pointer = "/json_schema/schema";
    return yyjson_obj_get(format, "schema");
  }
  *pointer = "/schema";
  if ((is_format || yyjson_equals_str(type, "json_object")) && is_schema(schema)) return schema;
  return !type && is_named_schema(root) ? schema : NULL;
}

int constrain_unwrap(struct tombola_grammar_source *source, const char *name, struct text *room) {
  const char *pointer;
  size_t length;
  char *copy = source->length ? malloc(source->length) : NULL; /* yyjson asks for memory that isn't const */
  if (!copy) return source->length ? complain("out of memory") : EXIT_OK;
  memcpy(copy, source->text, source->length);
  yyjson_doc *doc = yyjson_read_opts(copy, source->length, YYJSON_READ_NUMBER_AS_RAW, NULL, NULL);
  yyjson_val *inner = find_inner(yyjson_doc_get_root(doc), &pointer);
  int exit_status = EXIT_OK;
  if (inner) {
    char *text = yyjson_val_write(inner, YYJSON_WRITE_NOFLAG, &length);
    text_cut(room, 0);
    if (text && text_add(room, text, length)) {
      source->text = room->data;
      source->length = room->length;
      note("%s: a response format of a request; the schema is what stands at %s of it", name, pointer);
    } else {
      exit_status = complain("out of memory");
    }
    free(text);
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
  for (size_t i = 0; i < count; i++)
    note("\"%s\" %s, so it says nothing%s%s%s", notes[i].pointer, notes[i].reason,
         notes[i].nearest[0] ? "; did you mean " : "", notes[i].nearest, notes[i].nearest[0] ? "?" : "");
  if (more) note("and %zu more keywords that say nothing", more);
}
