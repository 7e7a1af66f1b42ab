/* SPDX-License-Identifier: Apache-2.0 */
/* --print-config: every option of a command with the value that holds and where it comes from. */
#include "options.h"
#include "terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

static const char *const origin_names[] = {
    [ORIGIN_DEFAULT] = "default", [ORIGIN_DIALECT] = "dialect",         [ORIGIN_MODEL] = "model",
    [ORIGIN_PRESET] = "preset",   [ORIGIN_ENVIRONMENT] = "environment", [ORIGIN_FLAG] = "flag"};

/* The value as text; false for an option that another one shows. */
static bool show(const struct options *options, const struct option *option, bool given, char *text,
                 size_t size) {
  const char *member = (const char *)options + option->offset;
  const char *string;
  if (!given && option->unset) {
    snprintf(text, size, "(%s)", option->unset);
    return true;
  }
  if (option->show) {
    option->show(options, text, size);
    return true;
  }
  switch (option->kind) {
  case OPTION_SWITCH:
    snprintf(text, size, "%s", *(const bool *)(const void *)member ? "yes" : "no");
    return true;
  case OPTION_TEXT:
    string = *(const char *const *)(const void *)member;
    snprintf(text, size, "%s", string ? string : "");
    return true;
  case OPTION_INTEGER:
    snprintf(text, size, "%lld", (long long)*(const int64_t *)(const void *)member);
    return true;
  case OPTION_SECONDS:
    snprintf(text, size, "%g", *(const double *)(const void *)member);
    return true;
  case OPTION_CHOICE:
    snprintf(text, size, "%s", option->choices[*(const int *)(const void *)member]);
    return true;
  case OPTION_PARAM:
    return tombola_sampler_params_get(&options->sampler, option->name, text, size) == TOMBOLA_OK;
  case OPTION_ANSWER:
    return given && tombola_sampler_params_get(&options->answer_sampler, option->param->name, text, size) == TOMBOLA_OK;
  case OPTION_CUSTOM: break;
  }
  return false;
}

/* Options that say how to print, not what to do. */
static bool is_shown(const struct options *options, const struct option *option) {
  return (option->commands & options->command->bit) && strcmp(option->name, "help") != 0 &&
         strcmp(option->name, "print-config") != 0;
}

static void print_line(FILE *out, const struct options *options, const char *name, const char *text,
                       enum option_origin origin) {
  char where[64];
  char line[512];
  snprintf(line, sizeof(line), "%s", text);
  for (char *c = line; *c; c++)
    if ((unsigned char)*c < 0x20) *c = ' ';
  snprintf(where, sizeof(where), "%s%s%.40s", origin_names[origin],
           origin == ORIGIN_DIALECT || origin == ORIGIN_PRESET ? " " : "",
           origin == ORIGIN_DIALECT  ? options->sampler.dialect
           : origin == ORIGIN_PRESET ? options->preset
                                     : "");
  fprintf(out, "%-20s %-20s %s\n", where, name, line);
}

static bool add_json(yyjson_mut_doc *doc, yyjson_mut_val *root, const char *name, const char *text,
                     enum option_origin origin) {
  yyjson_mut_val *entry = yyjson_mut_obj(doc);
  return yyjson_mut_obj_add_strcpy(doc, entry, "value", text) &&
         yyjson_mut_obj_add_str(doc, entry, "origin", origin_names[origin]) &&
         yyjson_mut_obj_add(root, yyjson_mut_strcpy(doc, name), entry);
}

/* A name as --print-config and the command line spell it. */
static void spell(char *spelled, size_t size, const char *name) {
  snprintf(spelled, size, "%s", name);
  for (char *c = spelled; *c; c++)
    if (*c == '_') *c = '-';
}

bool options_show(const struct options *options, const char *name, FILE *out) {
  struct option option;
  char text[512], spelled[64];
  bool any = false;
  for (size_t i = 0; option_at(i, &option); i++) {
    enum option_origin origin = (enum option_origin)options->origins[i];
    if (!is_shown(options, &option) || !option_is_changeable(&option)) continue;
    if (name && !option_is_named(&option, name, strlen(name))) continue;
    if (!show(options, &option, origin > ORIGIN_DIALECT, text, sizeof(text)) && !name) continue;
    any = true;
    if (option.set == option_set_greedy) snprintf(text, sizeof(text), "temperature 0");
    spell(spelled, sizeof(spelled), option.name);
    print_line(out, options, spelled, text, origin);
  }
  return any;
}

int options_print(const struct options *options) {
  struct option option;
  char text[512];
  bool good = true;
  yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
  yyjson_mut_val *root = yyjson_mut_obj(doc);
  if (!root) {
    yyjson_mut_doc_free(doc);
    return complain("out of memory");
  }
  yyjson_mut_doc_set_root(doc, root);
  for (size_t i = 0; option_at(i, &option); i++) {
    char name[64];
    enum option_origin origin = (enum option_origin)options->origins[i];
    if (!is_shown(options, &option)) continue;
    if (!show(options, &option, origin > ORIGIN_DIALECT, text, sizeof(text))) continue;
    spell(name, sizeof(name), option.name);
    if (options->json)
      good = good && add_json(doc, root, name, text, origin);
    else
      print_line(stdout, options, name, text, origin);
  }
  if (options->json && good) {
    char *json = yyjson_mut_write(doc, YYJSON_WRITE_PRETTY | YYJSON_WRITE_ALLOW_INVALID_UNICODE, NULL);
    good = json && puts(json) >= 0;
    free(json);
  }
  yyjson_mut_doc_free(doc);
  return good ? output_finish() : complain("cannot write the configuration");
}
