/* SPDX-License-Identifier: Apache-2.0 */
/* `tombola schema check`: whether a schema is enforced exactly, and how far documents fit it, by byte and by token. */
#include "schema.h"
#include "terminal.h"

#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

const char *schema_verdict_name(enum tombola_verdict verdict) {
  static const char *const names[] = {[TOMBOLA_VERDICT_EXACT] = "exact",
                                      [TOMBOLA_VERDICT_MAY_BACKTRACK] = "may_backtrack",
                                      [TOMBOLA_VERDICT_REFUSED] = "refused"};
  return names[verdict];
}

bool schema_add_dropped(yyjson_mut_doc *doc, yyjson_mut_val *root, const tombola_grammar *grammar) {
  const char *pointer, *keyword;
  yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, root, "dropped");
  bool good = list != NULL;
  for (size_t i = 0; good && tombola_grammar_dropped(grammar, i, &pointer, &keyword); i++) {
    yyjson_mut_val *item = yyjson_mut_arr_add_obj(doc, list);
    good = yyjson_mut_obj_add_strcpy(doc, item, "pointer", pointer) &&
           yyjson_mut_obj_add_strcpy(doc, item, "keyword", keyword);
  }
  return good;
}

bool schema_add_notes(yyjson_mut_doc *doc, yyjson_mut_val *root, const struct tombola_schema_note *notes,
                      size_t count) {
  yyjson_mut_val *list = count ? yyjson_mut_obj_add_arr(doc, root, "unknown_keywords") : NULL;
  for (size_t i = 0; i < count; i++) {
    yyjson_mut_val *item = yyjson_mut_arr_add_obj(doc, list);
    if (!yyjson_mut_obj_add_strcpy(doc, item, "pointer", notes[i].pointer) ||
        !yyjson_mut_obj_add_strcpy(doc, item, "keyword", notes[i].keyword) ||
        !yyjson_mut_obj_add_strcpy(doc, item, "reason", notes[i].reason) ||
        (notes[i].nearest[0] && !yyjson_mut_obj_add_strcpy(doc, item, "nearest", notes[i].nearest)))
      return false;
  }
  return true;
}

/* ---- one document ---- */

/* The tokens of a text; NULL: no memory, or the tokeniser failed. */
static tombola_token *tokens_of(const tombola_vocabulary *vocabulary, const char *text, size_t length,
                                size_t *count) {
  size_t room = length + 8;
  tombola_token *tokens = malloc(room * sizeof *tokens);
  if (tokens && tombola_vocabulary_tokenize(vocabulary, text, length, 0, tokens, room, count) != TOMBOLA_OK) {
    free(tokens);
    tokens = NULL;
  }
  return tokens;
}

static enum tombola_status fit_tokens(tombola_matcher *matcher, const tombola_vocabulary *vocabulary,
                                      const char *text, size_t length, struct schema_fit *fit,
                                      struct tombola_error *error) {
  enum tombola_status status = TOMBOLA_OK;
  tombola_token *tokens = tokens_of(vocabulary, text, length, &fit->n_tokens);
  if (!tokens) return TOMBOLA_NO_MEMORY;
  tombola_matcher_reset(matcher);
  while (fit->tokens < fit->n_tokens) {
    status = tombola_matcher_accept(matcher, tokens[fit->tokens], error);
    if (status != TOMBOLA_OK) break;
    fit->tokens++;
  }
  fit->by_token = status == TOMBOLA_OK && tombola_matcher_is_complete(matcher);
  free(tokens);
  return status == TOMBOLA_INVALID_ARGUMENT ? TOMBOLA_OK : status;
}

enum tombola_status schema_fit(tombola_grammar *grammar, const tombola_vocabulary *vocabulary,
                               const char *text, size_t length, struct schema_fit *fit,
                               struct tombola_error *error) {
  tombola_matcher *matcher;
  *fit = (struct schema_fit){.accepted = false};
  enum tombola_status status = tombola_matcher_new(grammar, NULL, &matcher, error);
  if (status != TOMBOLA_OK) return status;
  status = tombola_matcher_accept_bytes(matcher, text, length, &fit->bytes, error);
  fit->accepted = status == TOMBOLA_OK && tombola_matcher_is_complete(matcher);
  if (status == TOMBOLA_OK) fit->bytes = length;
  if (status == TOMBOLA_INVALID_ARGUMENT) status = TOMBOLA_OK;
  if (status == TOMBOLA_OK && vocabulary) status = fit_tokens(matcher, vocabulary, text, length, fit, error);
  tombola_matcher_free(matcher);
  return status;
}

/* ---- for people and as JSON ---- */

struct check {
  const struct options *options;
  tombola_model *model;
  tombola_trie *trie;
  struct tombola_grammar_source source;
  struct tombola_schema_document *documents; /* that $ref may name, */
  struct text *texts;                        /* and their texts */
  const char *place;                         /* of the schema in what a request has around it, or NULL */
  tombola_grammar *grammar;
  tombola_grammar *plain; /* the same in plain spelling, once it is wanted, or NULL */
  bool asked_plain;
  struct tombola_schema_verdict verdict;
  yyjson_mut_doc *json; /* with --json */
  yyjson_mut_val *instances;
  struct tombola_schema_note *notes; /* of what says nothing */
  size_t n_notes, more_notes;
  bool all_accepted;
};

/* Where a byte is: line and column from 1, in bytes. */
static void place_of(const char *text, size_t at, size_t *line, size_t *column) {
  *line = *column = 1;
  for (size_t i = 0; i < at; i++) {
    ++*column;
    if (text[i] == '\n') {
      ++*line;
      *column = 1;
    }
  }
}

/* In a number that only goes on in odd ways (1.5e1 is an integer) what is expected stands where the plain one ends, or
 * begins. */
static void expect_number(struct check *check, const char *text, size_t length, size_t start,
                          struct schema_expected *expected) {
  struct schema_fit fit = {.bytes = 0};
  if (check->plain) (void)schema_fit(check->plain, NULL, text, length, &fit, NULL);
  if (fit.bytes >= start)
    schema_expect(check->plain, true, text, length, fit.bytes, expected);
  else
    schema_expect(check->grammar, false, text, length, start, expected);
}

/* What might have come where the document stops. In plain spelling, where the document has it so far, there are not the
 * many ways of writing the same. */
static void expect(struct check *check, const char *text, size_t length, size_t at,
                   struct schema_expected *expected) {
  struct tombola_grammar_source source = check->source;
  const bool is_plain = source.spelling == TOMBOLA_SPELLING_PLAIN;
  size_t start;
  source.spelling = TOMBOLA_SPELLING_PLAIN;
  if (!is_plain && !check->asked_plain)
    (void)tombola_grammar_new(&source, NULL, NULL, &check->plain, NULL, NULL);
  check->asked_plain = true;
  expected->count = 0;
  if (at == 0 && length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
    *expected = (struct schema_expected){.items = {"no byte order mark (BOM)"}, .count = 1};
    return;
  }
  if (check->plain) schema_expect(check->plain, true, text, length, at, expected);
  if (expected->count) /* behind 1.0 nothing comes that is plain */
    schema_expect_marks(check->grammar, text, at, expected);
  else if (!is_plain && schema_in_number(text, at, &start))
    expect_number(check, text, length, start, expected);
  else
    schema_expect(check->grammar, is_plain, text, length, at, expected);
}

static void say(const char *path, const char *text, size_t length, const struct schema_fit *fit,
                const struct schema_expected *expected, bool tokens) {
  size_t line, column;
  char by_token[96] = "", wanted[SCHEMA_ITEMS * (SCHEMA_ITEM + 4) + 64] = "", list[sizeof wanted - 48],
       where[32] = "";
  schema_expected_text(expected, list, sizeof list);
  place_of(text, expected->at, &line, &column);
  if (expected->at != fit->bytes) snprintf(where, sizeof where, " at column %zu", column);
  if (list[0]) snprintf(wanted, sizeof wanted, ": expected %s%s", list, where);
  if (tokens && fit->by_token)
    snprintf(by_token, sizeof by_token, "; by token too (%zu)", fit->n_tokens);
  else if (tokens)
    snprintf(by_token, sizeof by_token, "; by token: stops at token %zu of %zu", fit->tokens + 1,
             fit->n_tokens);
  place_of(text, fit->bytes, &line, &column);
  if (fit->accepted)
    printf("%s: accepted%s\n", path, by_token);
  else if (fit->bytes == length)
    printf("%s: not accepted: it ends too early, at byte %zu%s%s\n", path, fit->bytes, wanted, by_token);
  else
    printf("%s: not accepted: stops at byte %zu (line %zu, column %zu)%s%s\n", path, fit->bytes, line, column,
           wanted, by_token);
}

static bool add_expected(yyjson_mut_doc *doc, yyjson_mut_val *item, const struct schema_expected *expected) {
  yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, item, "expected");
  bool good = list != NULL;
  for (size_t i = 0; good && i < expected->count; i++)
    good = yyjson_mut_arr_add_strcpy(doc, list, expected->items[i]);
  return good;
}

static bool add_json(struct check *check, const char *path, const struct schema_fit *fit,
                     const struct schema_expected *expected) {
  yyjson_mut_doc *doc = check->json;
  yyjson_mut_val *item = yyjson_mut_arr_add_obj(doc, check->instances);
  bool good = yyjson_mut_obj_add_strcpy(doc, item, "file", path) &&
              yyjson_mut_obj_add_bool(doc, item, "accepted", fit->accepted) &&
              yyjson_mut_obj_add_uint(doc, item, "bytes", fit->bytes) &&
              (fit->accepted || add_expected(doc, item, expected)) &&
              (fit->accepted || expected->at == fit->bytes ||
               yyjson_mut_obj_add_uint(doc, item, "expected_at", expected->at));
  if (!check->model || !good) return good;
  return yyjson_mut_obj_add_bool(doc, item, "accepted_by_token", fit->by_token) &&
         yyjson_mut_obj_add_uint(doc, item, "tokens", fit->tokens);
}

/* A file's last line ends aren't the document's. */
static size_t without_line_ends(const char *data, size_t length) {
  while (length > 0 && data[length - 1] == '\n') {
    length--;
    if (length > 0 && data[length - 1] == '\r') length--;
  }
  return length;
}

static int check_document(struct check *check, const char *path) {
  struct text text = {NULL, 0, 0};
  struct schema_fit fit;
  struct schema_expected expected = {.at = 0};
  struct tombola_error error = {0};
  int exit_status = constrain_read(path, &text);
  if (exit_status == EXIT_OK) {
    const tombola_vocabulary *vocabulary = check->model ? tombola_model_vocabulary(check->model) : NULL;
    const char *data = text.data ? text.data : "";
    text.length = without_line_ends(data, text.length);
    enum tombola_status status = schema_fit(check->grammar, vocabulary, data, text.length, &fit, &error);
    if (status == TOMBOLA_OK && !fit.accepted) expect(check, data, text.length, fit.bytes, &expected);
    if (status != TOMBOLA_OK) /* the other documents are looked at all the same */
      complain("%s: %s", path, error.message[0] ? error.message : tombola_status_text(status));
    else if (!check->json)
      say(path, data, text.length, &fit, &expected, vocabulary != NULL);
    else if (!add_json(check, path, &fit, &expected))
      exit_status = complain("out of memory");
    check->all_accepted = check->all_accepted && status == TOMBOLA_OK && fit.accepted;
  }
  text_free(&text);
  return exit_status;
}

static void say_verdict(const char *path, const struct tombola_schema_verdict *verdict, bool all) {
  static const char *const texts[] = {[TOMBOLA_VERDICT_EXACT] = "exact",
                                      [TOMBOLA_VERDICT_MAY_BACKTRACK] = "exact, may backtrack",
                                      [TOMBOLA_VERDICT_REFUSED] = "refused"};
  printf("%s: %s%s", path, texts[verdict->verdict], all ? "" : ", but for what is left out");
  if (verdict->keyword[0])
    printf(": %s at \"%s\"", verdict->keyword, verdict->pointer);
  else if (verdict->pointer[0]) /* the schema there, none of its keywords */
    printf(" at \"%s\"", verdict->pointer);
  if (verdict->reason[0]) printf(": %s", verdict->reason);
  putchar('\n');
}

static bool begin_json(struct check *check) {
  const struct tombola_schema_verdict *verdict = &check->verdict;
  yyjson_mut_doc *doc = check->json = yyjson_mut_doc_new(NULL);
  yyjson_mut_val *root = yyjson_mut_obj(doc);
  if (!doc || !root) return false;
  yyjson_mut_doc_set_root(doc, root);
  bool good = yyjson_mut_obj_add_str(doc, root, "verdict", schema_verdict_name(verdict->verdict));
  if (verdict->verdict != TOMBOLA_VERDICT_EXACT)
    good = good && yyjson_mut_obj_add_str(doc, root, "pointer", verdict->pointer) &&
           yyjson_mut_obj_add_str(doc, root, "keyword", verdict->keyword) &&
           yyjson_mut_obj_add_str(doc, root, "reason", verdict->reason);
  if (check->options->json_lenient && check->grammar)
    good = good && schema_add_dropped(doc, root, check->grammar);
  good = good && schema_add_notes(doc, root, check->notes, check->n_notes) &&
         (!check->place || yyjson_mut_obj_add_str(doc, root, "schema_at", check->place));
  check->instances = yyjson_mut_obj_add_arr(doc, root, "instances");
  return good && check->instances;
}

static int print_json(const struct check *check) {
  size_t length;
  char *text = yyjson_mut_write(check->json, 0, &length);
  if (!text) return complain("out of memory");
  output_write(text, length);
  output_write("\n", 1);
  free(text);
  return EXIT_OK;
}

/* ---- the command ---- */

/* The documents that $ref may name. */
static int read_refs(const struct options *options, struct tombola_schema_document *documents,
                     struct text *texts) {
  for (size_t i = 0; i < options->n_refs; i++) {
    char *uri = (char *)(uintptr_t)options->refs[i].data, *equals = strrchr(uri, '=');
    if (!equals) return complain_usage("--ref takes URI=FILE");
    int exit_status = constrain_read(equals + 1, &texts[i]);
    if (exit_status != EXIT_OK) return exit_status;
    *equals = '\0'; /* it is our own copy */
    documents[i] = (struct tombola_schema_document){uri, texts[i].data ? texts[i].data : "", texts[i].length};
  }
  return EXIT_OK;
}

static int compile(struct check *check, const char *path, struct text *schema) {
  const struct options *options = check->options;
  struct tombola_grammar_source *source = &check->source;
  struct tombola_error error = {0};
  enum tombola_status status = TOMBOLA_OK;
  check->documents = calloc(options->n_refs + 1, sizeof *check->documents);
  check->texts = calloc(options->n_refs + 1, sizeof *check->texts);
  if (!check->documents || !check->texts) return complain("out of memory");
  int exit_status = read_refs(options, check->documents, check->texts);
  if (exit_status != EXIT_OK) return exit_status;
  *source = (struct tombola_grammar_source){.struct_size = sizeof *source,
                                            .kind = TOMBOLA_GRAMMAR_JSON_SCHEMA,
                                            .text = schema->data ? schema->data : "",
                                            .length = schema->length,
                                            .documents = check->documents,
                                            .n_documents = options->n_refs};
  constrain_json_options(options, source);
  exit_status = constrain_unwrap(source, path, schema, &check->place);
  if (exit_status != EXIT_OK) return exit_status;
  check->notes = constrain_unknown(source, &check->n_notes, &check->more_notes);
  if (check->model)
    status = tombola_trie_new(tombola_model_vocabulary(check->model), NULL, &check->trie, &error);
  if (status == TOMBOLA_OK)
    status = constrain_compile(source, check->trie, &check->grammar, &check->verdict, &error);
  if (status == TOMBOLA_OK || check->verdict.verdict == TOMBOLA_VERDICT_REFUSED) return EXIT_OK;
  return complain("%s: %s", path, error.message[0] ? error.message : tombola_status_text(status));
}

static int report(struct check *check, const char *path) {
  const struct options *options = check->options;
  int exit_status = EXIT_OK;
  if (options->json) {
    if (!begin_json(check)) return complain("out of memory");
  } else {
    const char *pointer, *keyword;
    say_verdict(path, &check->verdict,
                !check->grammar || !tombola_grammar_dropped(check->grammar, 0, &pointer, &keyword));
  }
  constrain_note_unknown(check->notes, check->n_notes, check->more_notes);
  if (check->grammar) constrain_note_dropped(check->grammar);
  for (size_t i = 0; check->grammar && i < options->n_instances && exit_status == EXIT_OK; i++)
    exit_status = check_document(check, options->instances[i].data);
  if (options->json && exit_status == EXIT_OK) exit_status = print_json(check);
  if (exit_status != EXIT_OK) return exit_status;
  return check->grammar && check->all_accepted ? EXIT_OK : EXIT_FAILED;
}

/* `given`: the schema, or the name of its file. */
static int check_one(const struct options *options, const char *given) {
  const bool is_text = constrain_is_schema(given);
  const char *path = is_text ? "schema" : given;
  struct check check = {.options = options, .all_accepted = true};
  struct text schema = {NULL, 0, 0};
  int exit_status = EXIT_OK;
  if (!is_text)
    exit_status = constrain_read(path, &schema);
  else if (!text_add_string(&schema, given))
    exit_status = complain("out of memory");
  if (exit_status == EXIT_OK && options->model) exit_status = engine_load_model(options, &check.model);
  if (exit_status == EXIT_OK) exit_status = compile(&check, path, &schema);
  if (exit_status == EXIT_OK) exit_status = report(&check, path);
  yyjson_mut_doc_free(check.json);
  for (size_t i = 0; check.texts && i < options->n_refs; i++)
    text_free(&check.texts[i]);
  free(check.texts);
  free(check.documents);
  tombola_grammar_free(check.plain);
  tombola_grammar_free(check.grammar);
  tombola_trie_free(check.trie);
  tombola_model_free(check.model);
  free(check.notes);
  text_free(&schema);
  return exit_status;
}

int command_schema(struct options *options) {
  const char *given = options->n_operands > 1 ? options->operands[1] : "-";
  if (options->n_operands < 1 || strcmp(options->operands[0], "check") != 0)
    return complain_usage("tombola schema takes the word check, then a file or a schema");
  if (options->n_operands > 2)
    return complain_usage("schema check takes one file or schema, not %zu; documents come with --instance",
                          options->n_operands - 1);
  int exit_status = options->batch ? schema_batch(options, given) : check_one(options, given);
  int finished = output_finish();
  return exit_status ? exit_status : finished;
}
