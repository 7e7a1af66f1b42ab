/* SPDX-License-Identifier: Apache-2.0 */
#include "constrain.h"
#include "terminal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* As much as a grammar takes. */
#define MOST_READ (16 << 20)

int constrain_read(const char *path, struct text *text) {
  FILE *stream = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
  int exit_status = EXIT_OK;
  if (!stream) return complain("cannot open %s: %s", path, strerror(errno));
  char piece[65536];
  for (size_t n; exit_status == EXIT_OK && (n = fread(piece, 1, sizeof piece, stream)) > 0;) {
    if (!text_add(text, piece, n)) exit_status = complain("out of memory");
    if (text->length > MOST_READ) exit_status = complain("%s is larger than %d MiB", path, MOST_READ >> 20);
  }
  if (exit_status == EXIT_OK && ferror(stream))
    exit_status = complain("cannot read %s: %s", path, strerror(errno));
  if (stream != stdin) fclose(stream);
  return exit_status;
}

void constrain_json_options(const struct options *options, struct tombola_grammar_source *source) {
  source->whitespace = options->json_whitespace == JSON_WHITESPACE_ANY ? TOMBOLA_WHITESPACE_ANY
                       : options->json_whitespace == 0                 ? TOMBOLA_WHITESPACE_NONE
                                                                       : TOMBOLA_WHITESPACE_BOUNDED;
  if (options->json_whitespace > 0) source->whitespace_max = (size_t)options->json_whitespace;
  source->format = (enum tombola_format)options->json_format;
  source->order = (enum tombola_property_order)options->json_order;
  source->spelling = (enum tombola_spelling)options->json_spelling;
  source->nullable = options->json_nullable;
  source->lenient = options->json_lenient;
}

void constrain_note_dropped(const tombola_grammar *grammar) {
  const char *pointer, *keyword;
  for (size_t i = 0; tombola_grammar_dropped(grammar, i, &pointer, &keyword); i++)
    note("not enforced: %s at \"%s\"", keyword, pointer);
}

bool constrain_is_schema(const char *text) {
  text += strspn(text, " \t\r\n");
  return *text == '{' || strcmp(text, "true") == 0 || strcmp(text, "false") == 0;
}

/* The flag of each kind of constraint, and whether the options have it. */
static const char *flag_at(const struct options *options, size_t i, bool *given) {
  static const char *const flags[] = {"--json-object", "--json-schema", "--json-schema-file", "--regex",
                                      "--choice",      "--grammar",     "--grammar-file"};
  const bool has[] = {
      options->json_object,         options->json_schema != NULL, options->json_schema_file != NULL,
      options->regex != NULL,       options->n_choices > 0,       options->grammar != NULL,
      options->grammar_file != NULL};
  if (i >= sizeof flags / sizeof flags[0]) return NULL;
  *given = has[i];
  return flags[i];
}

static size_t count_kinds(const struct options *options) {
  size_t count = 0;
  bool given;
  for (size_t i = 0; flag_at(options, i, &given); i++)
    count += given;
  return count;
}

static const char *flag_of(const struct options *options) {
  const char *flag;
  bool given;
  for (size_t i = 0; (flag = flag_at(options, i, &given)); i++)
    if (given) return flag;
  return "";
}

/* A flag that has nothing to act on is a mistake; what a variable or a preset says waits for an answer that it is for. */
static int check_needless(const struct options *options) {
  static const char *const names[] = {"json-whitespace", "json-spelling", "json-order",
                                      "json-format",     "json-nullable", "json-lenient"};
  if (options->json_object || options->json_schema || options->json_schema_file) return EXIT_OK;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    const size_t index = option_find(names[i], strlen(names[i]), 2, options->command->bit);
    if (index != SIZE_MAX && options->origins[index] == ORIGIN_FLAG)
      return complain_usage("--%s needs --json-schema or --json-object", names[i]);
  }
  return EXIT_OK;
}

int constrain_check(const struct options *options) {
  const size_t kinds = count_kinds(options);
  if (kinds > 1)
    return complain_usage("an answer has one constraint: give one of --json-object, --json-schema, "
                          "--json-schema-file, --regex, --grammar, --grammar-file and --choice");
  if (kinds == 1 && options->context_shift)
    return complain_usage("%s doesn't go together with --context-shift", flag_of(options));
  return check_needless(options);
}

/* The source, whose text may be in `file`. */
static int make_source(const struct options *options, struct tombola_grammar_source *source,
                       struct text *file) {
  const char *text = NULL, *path = NULL;
  *source = (struct tombola_grammar_source){.struct_size = sizeof *source};
  constrain_json_options(options, source);
  if (options->json_object) {
    source->kind = TOMBOLA_GRAMMAR_JSON_OBJECT;
  } else if (options->json_schema || options->json_schema_file) {
    source->kind = TOMBOLA_GRAMMAR_JSON_SCHEMA;
    const bool is_text = options->json_schema && constrain_is_schema(options->json_schema);
    path = options->json_schema_file;
    if (options->json_schema) *(is_text ? &text : &path) = options->json_schema;
  } else if (options->regex) {
    source->kind = TOMBOLA_GRAMMAR_REGEX;
    text = options->regex;
  } else if (options->n_choices) {
    source->kind = TOMBOLA_GRAMMAR_CHOICE;
    source->choices = options->choices;
    source->n_choices = options->n_choices;
  } else {
    source->kind = TOMBOLA_GRAMMAR_GBNF;
    text = options->grammar;
    path = options->grammar_file;
  }
  if (path && !*path) return complain_usage("%s needs the name of a file", flag_of(options));
  if (path) {
    int exit_status = constrain_read(path, file);
    if (exit_status != EXIT_OK) return exit_status;
    source->text = file->data ? file->data : "";
    source->length = file->length;
  } else if (text) {
    source->text = text;
    source->length = strlen(text);
  }
  return EXIT_OK;
}

enum tombola_status constrain_compile(const struct tombola_grammar_source *source, const tombola_trie *trie,
                                      tombola_grammar **grammar, struct tombola_schema_verdict *verdict,
                                      struct tombola_error *error) {
  const enum tombola_status status = tombola_grammar_new(source, trie, NULL, grammar, verdict, error);
  if (status != TOMBOLA_NO_CANDIDATE || source->spelling != TOMBOLA_SPELLING_PLAIN) return status;
  struct tombola_grammar_source any = *source;
  struct tombola_schema_verdict other_verdict;
  struct tombola_error other_error = {0};
  tombola_grammar *other = NULL;
  any.spelling = TOMBOLA_SPELLING_ANY;
  if (tombola_grammar_new(&any, NULL, NULL, &other, &other_verdict, &other_error) == TOMBOLA_NO_CANDIDATE) {
    *verdict = other_verdict;
    *error = other_error;
  }
  tombola_grammar_free(other);
  return status;
}

/* What is said of a schema before it is compiled. */
static int look_at_schema(struct tombola_grammar_source *source, const char *flag, struct text *room) {
  const char *pointer;
  size_t count, more;
  const int exit_status = constrain_unwrap(source, flag, room, &pointer);
  if (exit_status != EXIT_OK) return exit_status;
  struct tombola_schema_note *const notes = constrain_unknown(source, &count, &more);
  constrain_note_unknown(notes, count, more);
  free(notes);
  return EXIT_OK;
}

int constrain_make(struct engine *engine) {
  const struct options *options = engine->options;
  struct tombola_grammar_source source;
  struct text file = {NULL, 0, 0};
  struct tombola_schema_verdict verdict;
  struct tombola_error error = {0};
  if (count_kinds(options) == 0) return EXIT_OK;
  int exit_status = make_source(options, &source, &file);
  if (exit_status == EXIT_OK && source.kind == TOMBOLA_GRAMMAR_JSON_SCHEMA)
    exit_status = look_at_schema(&source, flag_of(options), &file);
  enum tombola_status status = TOMBOLA_OK;
  if (exit_status == EXIT_OK)
    status = tombola_trie_new(tombola_model_vocabulary(engine->model), NULL, &engine->trie, &error);
  if (exit_status == EXIT_OK && status == TOMBOLA_OK)
    status = constrain_compile(&source, engine->trie, &engine->grammar, &verdict, &error);
  if (exit_status == EXIT_OK && status == TOMBOLA_OK)
    status = tombola_matcher_new(engine->grammar, NULL, &engine->matcher, &error);
  text_free(&file);
  if (exit_status != EXIT_OK) return exit_status;
  if (status != TOMBOLA_OK) {
    complain("%s: %s", flag_of(options), error.message[0] ? error.message : tombola_status_text(status));
    return status == TOMBOLA_NO_MEMORY ? EXIT_FAILED : EXIT_USAGE;
  }
  constrain_note_dropped(engine->grammar);
  if (tombola_matcher_may_backtrack(engine->matcher))
    note("this schema may need to take back what was generated: the answer comes a little later");
  return EXIT_OK;
}

/* Tokens of a stop string are part of what the matcher has read, and no part of the answer. */
static bool is_whole_text(const struct engine *engine, const struct text *answer) {
  tombola_matcher *matcher;
  size_t read;
  if (tombola_matcher_new(engine->grammar, NULL, &matcher, NULL) != TOMBOLA_OK) return false;
  const bool whole = tombola_matcher_accept_bytes(matcher, answer->length ? answer->data : "", answer->length,
                                                  &read, NULL) == TOMBOLA_OK &&
                     tombola_matcher_is_complete(matcher);
  tombola_matcher_free(matcher);
  return whole;
}

bool constrain_is_whole(const struct engine *engine, const struct text *answer, enum tombola_stop stop) {
  if (!engine->matcher || stop == TOMBOLA_STOP_END_TOKEN) return true;
  if (stop == TOMBOLA_STOP_STOP_STRING) return is_whole_text(engine, answer);
  return tombola_matcher_is_complete(engine->matcher);
}

void constrain_free(struct engine *engine) {
  tombola_matcher_free(engine->matcher);
  tombola_grammar_free(engine->grammar);
  tombola_trie_free(engine->trie);
  engine->matcher = NULL;
  engine->grammar = NULL;
  engine->trie = NULL;
}
