/* SPDX-License-Identifier: Apache-2.0 */
/* The options whose value has a form of its own and that steer an answer: stop strings, banned phrases, the guard
 * against loops. */
#include "options.h"
#include "sample.h"
#include "terminal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tombola/session.h>
#include <yyjson.h>

TERMINAL_PRINTF(3, 4)
static enum tombola_status refuse(struct tombola_error *error, const char *param, const char *format, ...) {
  va_list arguments;
  *error = (struct tombola_error){.status = TOMBOLA_INVALID_ARGUMENT};
  snprintf(error->param, sizeof(error->param), "%s", param);
  va_start(arguments, format);
  vsnprintf(error->message, sizeof(error->message), format, arguments);
  va_end(arguments);
  return TOMBOLA_INVALID_ARGUMENT;
}

/* ---- lists of texts ---- */

/* What the library takes of one list. */
enum { TEXTS_MAX = 16384 };

static size_t total(const struct tombola_bytes *list, size_t count) {
  size_t length = 0;
  for (size_t i = 0; i < count; i++)
    length += list[i].length;
  return length;
}

/* `escapes`: \n and the like are what they stand for. */
static enum tombola_status add_text(struct tombola_bytes **list, size_t *count, const char *name,
                                    const char *text, bool escapes, struct tombola_error *error) {
  struct tombola_bytes *grown = realloc(*list, (*count + 1) * sizeof(*grown));
  char *copy;
  if (!grown) return TOMBOLA_NO_MEMORY;
  *list = grown;
  if (!*text) return refuse(error, name, "%s: an empty text is not allowed", name);
  if (total(grown, *count) + strlen(text) > TEXTS_MAX)
    return refuse(error, name, "%s: the texts are longer than 16384 bytes together", name);
  copy = escapes ? option_unescape(text) : strdup(text);
  if (!copy) return TOMBOLA_NO_MEMORY;
  grown[(*count)++] = (struct tombola_bytes){copy, strlen(copy)};
  return TOMBOLA_OK;
}

static void show_texts(const struct tombola_bytes *list, size_t count, char *text, size_t size) {
  snprintf(text, size, "%s", count ? "" : "none");
  for (size_t i = 0; i < count; i++) {
    size_t length = strlen(text);
    snprintf(text + length, size - length, "%s\"%s\"", i ? " " : "", list[i].data);
  }
}

static void free_texts(struct tombola_bytes *list, size_t count) {
  for (size_t i = 0; i < count; i++)
    free((void *)(uintptr_t)list[i].data);
  free(list);
}

enum tombola_status option_set_stop(struct options *options, const char *text, struct tombola_error *error) {
  return add_text(&options->stops, &options->n_stops, "stop", text, true, error);
}

void option_show_stop(const struct options *options, char *text, size_t size) {
  show_texts(options->stops, options->n_stops, text, size);
}

enum tombola_status option_set_ban(struct options *options, const char *text, struct tombola_error *error) {
  return add_text(&options->bans, &options->n_bans, "ban", text, true, error);
}

void option_show_ban(const struct options *options, char *text, size_t size) {
  show_texts(options->bans, options->n_bans, text, size);
}

enum tombola_status option_set_choice(struct options *options, const char *text,
                                      struct tombola_error *error) {
  return add_text(&options->choices, &options->n_choices, "choice", text, false, error);
}

void option_show_choice(const struct options *options, char *text, size_t size) {
  show_texts(options->choices, options->n_choices, text, size);
}

enum tombola_status option_set_instance(struct options *options, const char *text,
                                        struct tombola_error *error) {
  return add_text(&options->instances, &options->n_instances, "instance", text, false, error);
}

void option_show_instance(const struct options *options, char *text, size_t size) {
  show_texts(options->instances, options->n_instances, text, size);
}

enum tombola_status option_set_ref(struct options *options, const char *text, struct tombola_error *error) {
  if (!strchr(text, '=')) return refuse(error, "ref", "ref: \"%.80s\" is not URI=FILE", text);
  return add_text(&options->refs, &options->n_refs, "ref", text, false, error);
}

void option_show_ref(const struct options *options, char *text, size_t size) {
  show_texts(options->refs, options->n_refs, text, size);
}

void options_free_answer(struct options *options) {
  free_texts(options->stops, options->n_stops);
  free_texts(options->bans, options->n_bans);
  free_texts(options->choices, options->n_choices);
  free_texts(options->instances, options->n_instances);
  free_texts(options->refs, options->n_refs);
}

/* ---- white space of JSON ---- */

enum tombola_status option_set_whitespace(struct options *options, const char *text,
                                          struct tombola_error *error) {
  char *end;
  long bytes = strtol(text, &end, 10);
  if (strcmp(text, "any") == 0)
    options->json_whitespace = JSON_WHITESPACE_ANY;
  else if (strcmp(text, "none") == 0)
    options->json_whitespace = 0;
  else if (end != text && !*end && bytes >= 0 && bytes <= 65535)
    options->json_whitespace = bytes;
  else
    return refuse(error, "json_whitespace",
                  "json_whitespace: \"%.80s\" is not none, any, or a number of bytes up to 65535", text);
  return TOMBOLA_OK;
}

void option_show_whitespace(const struct options *options, char *text, size_t size) {
  if (options->json_whitespace > 0)
    snprintf(text, size, "%lld", (long long)options->json_whitespace);
  else
    snprintf(text, size, "%s", options->json_whitespace == 0 ? "none" : "any");
}

/* ---- the guard against loops ---- */

enum tombola_status option_set_loop_guard(struct options *options, const char *text,
                                          struct tombola_error *error) {
  long period, repeats;
  char *end;
  period = strtol(text, &end, 10);
  if (end != text && *end == ',') {
    const char *second = end + 1;
    repeats = strtol(second, &end, 10);
    if (end != second && !*end && period >= 1 && period <= 4096 && repeats >= 2 && repeats <= 1000000) {
      options->loop_period = period;
      options->loop_repeats = repeats;
      return TOMBOLA_OK;
    }
  }
  return refuse(error, "loop_guard",
                "loop_guard: \"%.80s\" is not P,N (a pattern of 1 to 4096 tokens, 2 to 1000000 times)", text);
}

void option_show_loop_guard(const struct options *options, char *text, size_t size) {
  if (options->loop_period)
    snprintf(text, size, "%lld,%lld", (long long)options->loop_period, (long long)options->loop_repeats);
  else
    snprintf(text, size, "off");
}

/* ---- drafts ---- */

bool option_draft_is_number(const char *text) {
  return *text && text[strspn(text, "0123456789")] == '\0';
}

enum tombola_status option_set_draft(struct options *options, const char *text, struct tombola_error *error) {
  long tokens;
  if (!option_draft_is_number(text)) {
    options->draft_model = text;
    return TOMBOLA_OK;
  }
  tokens = strlen(text) < 5 ? strtol(text, NULL, 10) : 0;
  if (tokens < 1 || tokens > 64)
    return refuse(error, "draft", "draft: \"%.40s\" is not allowed (1 to 64 tokens, or the path of a model)",
                  text);
  options->draft_tokens = tokens;
  return TOMBOLA_OK;
}

static const struct {
  const char *name;
  enum tombola_speculation_kind kind;
} draft_kinds[] = {{"full-model", TOMBOLA_SPECULATION_DRAFT_MODEL},
                   {"prompt-lookup", TOMBOLA_SPECULATION_PROMPT_LOOKUP}};

enum tombola_status option_set_draft_kind(struct options *options, const char *text,
                                          struct tombola_error *error) {
  for (size_t i = 0; i < sizeof(draft_kinds) / sizeof(draft_kinds[0]); i++) {
    if (strcmp(draft_kinds[i].name, text) != 0) continue;
    options->draft_kind = (int)draft_kinds[i].kind;
    return TOMBOLA_OK;
  }
  if (strcmp(text, "dflash") == 0 || strcmp(text, "mtp") == 0)
    return refuse(error, "draft_kind",
                  "draft_kind: %s is not supported: it needs a drafter of its own that no model here has "
                  "(full-model, prompt-lookup)",
                  text);
  return refuse(error, "draft_kind", "draft_kind: \"%.40s\" is not allowed (full-model, prompt-lookup)",
                text);
}

void option_show_draft_kind(const struct options *options, char *text, size_t size) {
  int kind = options->draft_kind;
  if (!kind && options->draft_model) kind = TOMBOLA_SPECULATION_DRAFT_MODEL;
  if (!kind && options->prompt_lookup) kind = TOMBOLA_SPECULATION_PROMPT_LOOKUP;
  snprintf(text, size, "none");
  for (size_t i = 0; i < sizeof(draft_kinds) / sizeof(draft_kinds[0]); i++)
    if ((int)draft_kinds[i].kind == kind) snprintf(text, size, "%s", draft_kinds[i].name);
}

/* ---- biases in a file ---- */

enum tombola_status option_set_bias_file(struct options *options, const char *text,
                                         struct tombola_error *error) {
  yyjson_read_err failure;
  enum tombola_status status;
  yyjson_doc *doc = yyjson_read_file(text, 0, NULL, &failure);
  if (!doc) return refuse(error, "bias_file", "%.120s: %s (byte %zu)", text, failure.msg, failure.pos);
  status = sample_biases(yyjson_doc_get_root(doc), "bias_file", &options->bias_file,
                         &options->sampler.n_fallback_bias, error);
  options->sampler.fallback_bias = options->bias_file;
  yyjson_doc_free(doc);
  return status;
}

void option_show_bias_file(const struct options *options, char *text, size_t size) {
  if (options->bias_file)
    snprintf(text, size, "%zu biases", options->sampler.n_fallback_bias);
  else
    snprintf(text, size, "none");
}
