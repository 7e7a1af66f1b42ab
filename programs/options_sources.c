/* SPDX-License-Identifier: Apache-2.0 */
#include "options_sources.h"
#include "paths.h"
#include "terminal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yyjson.h>

#ifdef TOMBOLA_WITH_LLAMA
#include <tombola/llama.h>
#endif

extern char **environ;

bool assignments_add(struct assignments *assignments, const struct assignment *assignment) {
  struct assignment *list = realloc(assignments->list, (assignments->count + 1) * sizeof(*list));
  if (!list) return false;
  assignments->list = list;
  list[assignments->count++] = *assignment;
  return true;
}

const char *assignments_text(const struct assignments *assignments, const char *name) {
  for (size_t i = assignments->count; i-- > 0;)
    if (strcmp(assignments->list[i].option.name, name) == 0) return assignments->list[i].text;
  return NULL;
}

const char *options_own(struct options *options, char *text) {
  char **owned = text ? realloc(options->owned, (options->n_owned + 1) * sizeof(*owned)) : NULL;
  if (!owned) {
    free(text);
    return NULL;
  }
  options->owned = owned;
  owned[options->n_owned++] = text;
  return text;
}

bool option_truth(const char *text, bool *value) {
  static const char *const yes[] = {"1", "true", "yes", "on"}, *const no[] = {"0", "false", "no", "off"};
  for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
    *value = strcmp(text, yes[i]) == 0;
    if (*value || strcmp(text, no[i]) == 0) return true;
  }
  return false;
}

/* A source gives a text to an option. An option without a value takes yes or no. */
static int give(struct assignments *assignments, struct assignment *assignment) {
  if (!option_takes_value(&assignment->option)) {
    bool wanted;
    if (!option_truth(assignment->text, &wanted))
      return complain_usage("%s: \"%s\" is not allowed (true or false)", assignment->given, assignment->text);
    if (assignment->option.kind == OPTION_PARAM || assignment->option.kind == OPTION_ANSWER)
      assignment->text = wanted ? "true" : "false";
    else if (wanted)
      assignment->text = NULL;
    else
      return EXIT_OK;
  }
  return assignments_add(assignments, assignment) ? EXIT_OK : complain("out of memory");
}

/* Options that a source other than the command line can't set. */
static bool is_command_only(const struct option *option) {
  return strcmp(option->name, "help") == 0 || strcmp(option->name, "print-config") == 0;
}

/* ---- TOMBOLA_ARG_*
 * ----------------------------------------------------------------------------------------------- */

int collect_environment(struct assignments *assignments, struct options *options) {
  static const char prefix[] = "TOMBOLA_ARG_";
  for (char **entry = environ; *entry; entry++) {
    struct assignment assignment = {.origin = ORIGIN_ENVIRONMENT};
    char name[64];
    size_t length = strcspn(*entry, "=");
    int exit_status;
    if (strncmp(*entry, prefix, sizeof(prefix) - 1) != 0 || (*entry)[length] != '=') continue;
    snprintf(name, sizeof(name), "%.*s", (int)(length - (sizeof(prefix) - 1)), *entry + sizeof(prefix) - 1);
    for (char *c = name; *c; c++)
      *c = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
    assignment.index = option_find(name, strlen(name), 2, options->command->bit);
    if (assignment.index == SIZE_MAX || !option_at(assignment.index, &assignment.option) ||
        is_command_only(&assignment.option)) {
      if (option_is_planned(name, strlen(name)))
        return complain_usage("%.*s: the option is not supported yet", (int)length, *entry);
      return complain_usage("%.*s names no option", (int)length, *entry);
    }
    if (!(assignment.option.commands & options->command->bit)) continue;
    assignment.given = options_own(options, strdup(*entry));
    if (!assignment.given) return complain("out of memory");
    options->owned[options->n_owned - 1][length] = '\0';
    assignment.text = assignment.given + length + 1;
    exit_status = give(assignments, &assignment);
    if (exit_status != EXIT_OK) return exit_status;
  }
  return EXIT_OK;
}

/* ---- presets ---- */

/* A value of JSON as the command line would have it. NULL: none of text, number and truth value, nor a schema where one
 * may stand. */
static const char *text_of(struct options *options, const struct option *option, yyjson_val *value) {
  if (yyjson_is_obj(value) && strcmp(option->name, "json-schema") == 0)
    return options_own(options, yyjson_val_write(value, 0, NULL));
  if (yyjson_is_str(value)) return options_own(options, strdup(yyjson_get_str(value)));
  if (!yyjson_is_num(value) && !yyjson_is_bool(value)) return NULL;
  return options_own(options, yyjson_val_write(value, 0, NULL));
}

static int give_json(struct assignments *assignments, struct options *options, struct assignment *assignment,
                     yyjson_val *value) {
  if (yyjson_is_str(value) && strlen(yyjson_get_str(value)) != yyjson_get_len(value))
    return complain_usage("%s holds a NUL character; a text has none", assignment->given);
  assignment->text = text_of(options, &assignment->option, value);
  if (!assignment->text)
    return complain_usage("%s: a text, a number, true or false is needed", assignment->given);
  return give(assignments, assignment);
}

static int give_member(struct assignments *assignments, struct options *options, const char *preset,
                       yyjson_val *key, yyjson_val *value) {
  const char *name = yyjson_get_str(key);
  struct assignment assignment = {.origin = ORIGIN_PRESET};
  char given[160];
  int exit_status = EXIT_OK;
  if (!name) return complain_usage("preset %s: a member without a name", preset); /* a key always has one */
  snprintf(given, sizeof(given), "preset %.50s: %.80s", preset, name);
  assignment.index = option_find(name, strlen(name), 2, options->command->bit);
  if (assignment.index == SIZE_MAX || !option_at(assignment.index, &assignment.option))
    return complain_usage("%s is no option", given);
  if (is_command_only(&assignment.option) || strcmp(assignment.option.name, "preset") == 0)
    return complain_usage("%s can't stand in a preset", given);
  if (!(assignment.option.commands & options->command->bit)) return EXIT_OK;
  assignment.given = options_own(options, strdup(given));
  if (!assignment.given) return complain("out of memory");
  if (!yyjson_is_arr(value)) return give_json(assignments, options, &assignment, value);
  if (!assignment.option.repeats) return complain_usage("%s takes one value, no array", given);
  for (size_t i = 0; i < yyjson_arr_size(value) && exit_status == EXIT_OK; i++)
    exit_status = give_json(assignments, options, &assignment, yyjson_arr_get(value, i));
  return exit_status;
}

static int no_preset(const char *path, const char *preset, yyjson_val *presets) {
  char known[256] = "none";
  yyjson_obj_iter iter = yyjson_obj_iter_with(presets);
  yyjson_val *key;
  size_t length = 0;
  while ((key = yyjson_obj_iter_next(&iter)) && length < sizeof(known)) {
    snprintf(known + length, sizeof(known) - length, "%s%s", length ? ", " : "", yyjson_get_str(key));
    length = strlen(known);
  }
  return complain_usage("--preset: there is no preset \"%s\" in %s (there are %s)", preset, path, known);
}

static int read_preset(struct assignments *assignments, struct options *options, const char *preset,
                       const char *path, yyjson_val *root) {
  yyjson_val *presets = yyjson_obj_get(root, "presets");
  yyjson_val *found = yyjson_obj_get(presets, preset);
  yyjson_obj_iter iter = yyjson_obj_iter_with(found);
  yyjson_val *key;
  int exit_status = EXIT_OK;
  if (!yyjson_is_obj(presets)) return complain_usage("%s: the member \"presets\" must be an object", path);
  if (!found) return no_preset(path, preset, presets);
  if (!yyjson_is_obj(found)) return complain_usage("%s: the preset \"%s\" must be an object", path, preset);
  while (exit_status == EXIT_OK && (key = yyjson_obj_iter_next(&iter)))
    exit_status = give_member(assignments, options, preset, key, yyjson_obj_iter_get_val(key));
  return exit_status;
}

int collect_preset(struct assignments *assignments, struct options *options, const char *preset) {
  char path[PATH_SIZE];
  yyjson_read_err failure;
  yyjson_doc *doc;
  int exit_status;
  if (!path_config(path)) return complain("--preset: HOME is not set, so there is no config.json");
  if (access(path, R_OK) != 0) return complain_usage("--preset: cannot read %s: %s", path, strerror(errno));
  doc = yyjson_read_file(path, 0, NULL, &failure);
  if (!doc) return complain_usage("%s: %s (byte %zu)", path, failure.msg, failure.pos);
  exit_status = read_preset(assignments, options, preset, path, yyjson_doc_get_root(doc));
  yyjson_doc_free(doc);
  return exit_status;
}

/* ---- what the model recommends ---- */

/* generation_config.json of transformers, in the model's folder: its members, and the parameters that they are. */
static const struct {
  const char *member, *name;
} recommended[] = {{"temperature", "temperature"},
                   {"top_k", "top_k"},
                   {"top_p", "top_p"},
                   {"min_p", "min_p"},
                   {"typical_p", "typical_p"},
                   {"repetition_penalty", "repeat_penalty"},
                   {"epsilon_cutoff", "epsilon_cutoff"},
                   {"eta_cutoff", "eta_cutoff"}};

static int recommend(struct assignments *assignments, struct options *options, yyjson_val *root) {
  for (size_t i = 0; i < sizeof(recommended) / sizeof(recommended[0]); i++) {
    const char *name = recommended[i].name;
    struct assignment assignment = {.origin = ORIGIN_MODEL, .given = "generation_config.json"};
    yyjson_val *value = yyjson_obj_get(root, recommended[i].member);
    if (!yyjson_is_num(value)) continue;
    assignment.index = option_find(name, strlen(name), 2, options->command->bit);
    if (!option_at(assignment.index, &assignment.option)) continue;
    assignment.text = text_of(options, &assignment.option, value);
    if (!assignment.text || !assignments_add(assignments, &assignment)) return complain("out of memory");
  }
  return EXIT_OK;
}

#ifdef TOMBOLA_WITH_LLAMA

/* A GGUF file's own keys; those that aren't here have the parameter's name already. */
static const struct {
  const char *key, *name;
} gguf_names[] = {{"sequence", "samplers"},
                  {"temp", "temperature"},
                  {"penalty_last_n", "repeat_last_n"},
                  {"penalty_repeat", "repeat_penalty"}};

struct gguf_values {
  struct assignments *assignments;
  struct options *options;
  int exit_status;
};

static void take_gguf_value(void *context, const char *key, const char *value) {
  struct gguf_values *values = context;
  struct assignment assignment = {.origin = ORIGIN_MODEL, .given = "the model's general.sampling"};
  for (size_t i = 0; i < sizeof(gguf_names) / sizeof(gguf_names[0]); i++)
    if (strcmp(key, gguf_names[i].key) == 0) key = gguf_names[i].name;
  assignment.index = option_find(key, strlen(key), 2, values->options->command->bit);
  if (!option_at(assignment.index, &assignment.option)) return;
  assignment.text = options_own(values->options, strdup(value));
  if (!assignment.text || !assignments_add(values->assignments, &assignment))
    values->exit_status = complain("out of memory");
}

/* A file that can't be read is the loader's to refuse. */
static int recommend_gguf(struct assignments *assignments, struct options *options, const char *path) {
  struct gguf_values values = {assignments, options, EXIT_OK};
  if (access(path, R_OK) == 0) tombola_llama_recommended(path, take_gguf_value, &values);
  return values.exit_status;
}

#else

static int recommend_gguf(struct assignments *assignments, struct options *options, const char *path) {
  (void)assignments;
  (void)options;
  (void)path;
  return EXIT_OK;
}

#endif

int collect_recommended(struct assignments *assignments, struct options *options, const char *model) {
  static const char prefix[] = "script:";
  char path[PATH_SIZE];
  yyjson_doc *doc;
  const char *slash;
  int length, exit_status;
  if (!model && !path_default_model(path)) return EXIT_OK;
  if (!model) model = options_own(options, strdup(path));
  if (!model) return complain("out of memory");
  if (strncmp(model, prefix, sizeof(prefix) - 1) == 0) {
    model += sizeof(prefix) - 1;
  } else {
    exit_status = recommend_gguf(assignments, options, model);
    if (exit_status != EXIT_OK) return exit_status;
  }
  slash = strrchr(model, '/');
  length =
      snprintf(path, sizeof(path), "%.*sgeneration_config.json", slash ? (int)(slash - model) + 1 : 0, model);
  if (length < 0 || (size_t)length >= sizeof(path) || access(path, R_OK) != 0) return EXIT_OK;
  doc = yyjson_read_file(path, 0, NULL, NULL);
  if (!doc) {
    note("%s is no JSON and was left out", path);
    return EXIT_OK;
  }
  exit_status = recommend(assignments, options, yyjson_doc_get_root(doc));
  yyjson_doc_free(doc);
  return exit_status;
}
