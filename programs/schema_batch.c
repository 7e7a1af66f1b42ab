/* SPDX-License-Identifier: Apache-2.0 */
/* `tombola schema check --batch`: one JSON object a line, one answer a line. Numbers stay text from end to end. */
#include "schema.h"
#include "terminal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

/* A line, as far as it is read, and its answer. */
struct line {
  struct tombola_grammar_source source;
  struct tombola_schema_document *documents;
  char *schema;
  tombola_grammar *grammar;
  struct tombola_schema_verdict verdict;
  struct tombola_error error;
  yyjson_mut_doc *answer;
};

static bool refuse(struct line *line, const char *param, const char *message) {
  line->error = (struct tombola_error){.status = TOMBOLA_INVALID_ARGUMENT};
  snprintf(line->error.param, sizeof line->error.param, "%s", param);
  snprintf(line->error.message, sizeof line->error.message, "%s%s%s", param, *param ? ": " : "", message);
  return false;
}

/* The value as JSON text, numbers as they were written. */
static char *text_of(yyjson_val *value, size_t *length) {
  return yyjson_val_write(value, YYJSON_WRITE_NOFLAG, length);
}

/* The index of a text in a list; the default for a member that isn't there; -1 with an error. */
static int choose(struct line *line, yyjson_val *root, const char *name, const char *const *choices) {
  yyjson_val *value = yyjson_obj_get(root, name);
  if (!value) return 0;
  for (int i = 0; choices[i]; i++)
    if (yyjson_equals_str(value, choices[i])) return i;
  refuse(line, name, "this value is not allowed");
  return -1;
}

static bool read_switch(struct line *line, yyjson_val *root, const char *name, int *out) {
  yyjson_val *value = yyjson_obj_get(root, name);
  if (value && !yyjson_is_bool(value)) return refuse(line, name, "must be true or false");
  *out = yyjson_get_bool(value);
  return true;
}

static bool read_options(struct line *line, yyjson_val *root) {
  static const char *const formats[] = {"assert", "annotate", NULL};
  static const char *const spaces[] = {"bounded", "none", "any", NULL};
  static const char *const spellings[] = {"any", "plain", NULL};
  static const char *const orders[] = {"any", "declared", NULL};
  static const char *const known[] = {"schema",  "format",   "refs",      "whitespace", "spelling", "order",
                                      "lenient", "nullable", "instances", "texts",      "id",       NULL};
  size_t i, max;
  yyjson_val *key, *value;
  yyjson_obj_foreach(root, i, max, key, value) {
    size_t k = 0;
    while (known[k] && !yyjson_equals_str(key, known[k]))
      k++;
    const char *name = yyjson_get_str(key);
    if (!known[k]) return refuse(line, name ? name : "", "no such member");
    if (yyjson_obj_getn(root, name, yyjson_get_len(key)) != value)
      return refuse(line, name, "stands there twice");
  }
  int format = choose(line, root, "format", formats), space = choose(line, root, "whitespace", spaces);
  int spelling = choose(line, root, "spelling", spellings), order = choose(line, root, "order", orders);
  if (format < 0 || space < 0 || spelling < 0 || order < 0) return false;
  if (!read_switch(line, root, "lenient", &line->source.lenient)) return false;
  if (!read_switch(line, root, "nullable", &line->source.nullable)) return false;
  line->source.order = (enum tombola_property_order)order;
  line->source.format = (enum tombola_format)format;
  line->source.whitespace = (enum tombola_whitespace)space;
  line->source.spelling = (enum tombola_spelling)spelling;
  return true;
}

static bool read_refs(struct line *line, yyjson_val *refs) {
  size_t i, max;
  yyjson_val *key, *value;
  if (!refs) return true;
  if (!yyjson_is_obj(refs)) return refuse(line, "refs", "must be an object of schemas");
  line->documents = calloc(yyjson_obj_size(refs) + 1, sizeof *line->documents);
  if (!line->documents) return refuse(line, "refs", "out of memory");
  line->source.documents = line->documents;
  yyjson_obj_foreach(refs, i, max, key, value) {
    struct tombola_schema_document *document = &line->documents[line->source.n_documents];
    document->uri = yyjson_get_str(key);
    document->text = text_of(value, &document->length);
    if (!document->text) return refuse(line, "refs", "out of memory");
    line->source.n_documents++;
  }
  return true;
}

static bool compile(struct line *line, yyjson_val *root) {
  yyjson_val *schema = yyjson_obj_get(root, "schema");
  line->source = (struct tombola_grammar_source){.struct_size = sizeof line->source,
                                                 .kind = TOMBOLA_GRAMMAR_JSON_SCHEMA};
  if (!yyjson_is_obj(root)) return refuse(line, "", "the line must be a JSON object");
  if (!schema) return refuse(line, "schema", "is missing");
  if (!read_options(line, root) || !read_refs(line, yyjson_obj_get(root, "refs"))) return false;
  line->schema = text_of(schema, &line->source.length);
  if (!line->schema) return refuse(line, "schema", "out of memory");
  line->source.text = line->schema;
  enum tombola_status status =
      tombola_grammar_new(&line->source, NULL, NULL, &line->grammar, &line->verdict, &line->error);
  return status == TOMBOLA_OK || line->verdict.verdict == TOMBOLA_VERDICT_REFUSED;
}

/* Typing errors. */
static bool add_unknown(struct line *line, yyjson_mut_val *out) {
  size_t count, more;
  struct tombola_schema_note *const notes = constrain_unknown(&line->source, &count, &more);
  const bool good = notes && schema_add_notes(line->answer, out, notes, count);
  free(notes);
  return good || refuse(line, "", "out of memory");
}

static bool fit_one(struct line *line, const char *text, size_t length, yyjson_mut_val *list) {
  struct schema_fit fit;
  if (schema_fit(line->grammar, NULL, text, length, &fit, &line->error) != TOMBOLA_OK) return false;
  return yyjson_mut_arr_add_bool(line->answer, list, fit.accepted) || refuse(line, "", "out of memory");
}

/* The documents of a member, as JSON values or as raw texts. */
static bool fit_all(struct line *line, yyjson_val *documents, const char *name, bool raw) {
  size_t i, max, length;
  yyjson_val *value;
  yyjson_mut_val *list = yyjson_mut_obj_add_arr(line->answer, yyjson_mut_doc_get_root(line->answer), name);
  if (!list) return refuse(line, name, "out of memory");
  if (documents && !yyjson_is_arr(documents)) return refuse(line, name, "must be an array");
  yyjson_arr_foreach(documents, i, max, value) {
    if (raw && !yyjson_is_str(value)) return refuse(line, name, "must be an array of strings");
    if (raw) {
      if (!fit_one(line, yyjson_get_str(value), yyjson_get_len(value), list)) return false;
      continue;
    }
    char *text = text_of(value, &length);
    bool good = text ? fit_one(line, text, length, list) : refuse(line, name, "out of memory");
    free(text);
    if (!good) return false;
  }
  return true;
}

/* A line's own name, whatever it is, stands in the answer, be that an error. */
static bool copy_id(yyjson_mut_doc *doc, yyjson_mut_val *out, yyjson_val *root) {
  yyjson_val *id = yyjson_obj_get(root, "id");
  return !id || yyjson_mut_obj_add_val(doc, out, "id", yyjson_val_mut_copy(doc, id));
}

static bool answer(struct line *line, yyjson_val *root) {
  const struct tombola_schema_verdict *verdict = &line->verdict;
  yyjson_mut_doc *doc = line->answer;
  yyjson_mut_val *out = yyjson_mut_doc_get_root(doc);
  if (!copy_id(doc, out, root)) return refuse(line, "id", "out of memory");
  yyjson_mut_obj_add_str(doc, out, "verdict", schema_verdict_name(verdict->verdict));
  if (verdict->verdict != TOMBOLA_VERDICT_EXACT) {
    yyjson_mut_obj_add_str(doc, out, "pointer", verdict->pointer);
    yyjson_mut_obj_add_str(doc, out, "keyword", verdict->keyword);
    yyjson_mut_obj_add_str(doc, out, "reason", verdict->reason);
  }
  if (!add_unknown(line, out)) return false;
  if (!line->grammar) return true;
  if (line->source.lenient && !schema_add_dropped(doc, out, line->grammar))
    return refuse(line, "", "out of memory");
  return fit_all(line, yyjson_obj_get(root, "instances"), "instances", false) &&
         fit_all(line, yyjson_obj_get(root, "texts"), "texts", true);
}

static void answer_error(struct line *line, yyjson_val *root) {
  yyjson_mut_doc *doc = line->answer;
  yyjson_mut_val *out = yyjson_mut_obj(doc);
  yyjson_mut_doc_set_root(doc, out);
  copy_id(doc, out, root);
  yyjson_mut_val *error = yyjson_mut_obj_add_obj(doc, out, "error");
  yyjson_mut_obj_add_str(doc, error, "status", tombola_status_name(line->error.status));
  yyjson_mut_obj_add_strcpy(doc, error, "param", line->error.param);
  yyjson_mut_obj_add_strcpy(doc, error, "message", line->error.message);
}

static void free_line(struct line *line) {
  for (size_t i = 0; i < line->source.n_documents; i++)
    free((void *)(uintptr_t)line->documents[i].text);
  free(line->documents);
  free(line->schema);
  tombola_grammar_free(line->grammar);
  yyjson_mut_doc_free(line->answer);
}

static bool answer_line(char *text, size_t length) {
  struct line line = {.answer = yyjson_mut_doc_new(NULL)};
  yyjson_read_err problem;
  yyjson_doc *doc = yyjson_read_opts(text, length, YYJSON_READ_NUMBER_AS_RAW, NULL, &problem);
  yyjson_val *root = yyjson_doc_get_root(doc);
  size_t size = 0;
  bool good = line.answer != NULL;
  if (good) {
    yyjson_mut_doc_set_root(line.answer, yyjson_mut_obj(line.answer));
    if (!doc) {
      line.error = (struct tombola_error){.status = TOMBOLA_FORMAT, .offset = problem.pos};
      snprintf(line.error.message, sizeof line.error.message, "byte %zu: %s", problem.pos, problem.msg);
    }
    if (!doc || !compile(&line, root) || !answer(&line, root)) answer_error(&line, root);
  }
  char *out = good ? yyjson_mut_write(line.answer, 0, &size) : NULL;
  good = out && output_write(out, size) && output_write("\n", 1) && output_flush();
  free(out);
  free_line(&line);
  yyjson_doc_free(doc);
  return good;
}

int schema_batch(const struct options *options, const char *path) {
  FILE *in = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
  char *line = NULL;
  size_t room = 0;
  ssize_t length;
  int exit_status = EXIT_OK;
  struct option option;
  for (size_t i = 0; option_at(i, &option); i++)
    if (option.group == GROUP_CONSTRAINT && strcmp(option.name, "batch") != 0 &&
        options->origins[i] == ORIGIN_FLAG)
      return complain_usage("--%s can't be given with --batch: each line has its own", option.name);
  if (!in) return complain("%s: %s", path, strerror(errno));
  while (exit_status == EXIT_OK && (length = getline(&line, &room, in)) >= 0)
    if (!answer_line(line, (size_t)length)) exit_status = EXIT_FAILED;
  if (ferror(in)) exit_status = complain("%s: %s", path, strerror(errno));
  free(line);
  if (in != stdin) fclose(in);
  return exit_status;
}
