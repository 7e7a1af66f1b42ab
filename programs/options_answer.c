/* SPDX-License-Identifier: Apache-2.0 */
/* The options whose value has a form of its own and that steer an answer: stop strings, banned phrases, the guard
 * against loops. */
#include "options.h"
#include "terminal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- lists of texts
 * ---------------------------------------------------------------------------------------------- */

/* What the library takes of one list. */
enum { TEXTS_MAX = 16384 };

static size_t total(const struct tombola_bytes *list, size_t count) {
  size_t length = 0;
  for (size_t i = 0; i < count; i++)
    length += list[i].length;
  return length;
}

static enum tombola_status add_text(struct tombola_bytes **list, size_t *count, const char *name,
                                    const char *text, struct tombola_error *error) {
  struct tombola_bytes *grown = realloc(*list, (*count + 1) * sizeof(*grown));
  char *copy;
  if (!grown) return TOMBOLA_NO_MEMORY;
  *list = grown;
  if (!*text) return refuse(error, name, "%s: an empty text is not allowed", name);
  if (total(grown, *count) + strlen(text) > TEXTS_MAX)
    return refuse(error, name, "%s: the texts are longer than 16384 bytes together", name);
  copy = option_unescape(text);
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
  return add_text(&options->stops, &options->n_stops, "stop", text, error);
}

void option_show_stop(const struct options *options, char *text, size_t size) {
  show_texts(options->stops, options->n_stops, text, size);
}

enum tombola_status option_set_ban(struct options *options, const char *text, struct tombola_error *error) {
  return add_text(&options->bans, &options->n_bans, "ban", text, error);
}

void option_show_ban(const struct options *options, char *text, size_t size) {
  show_texts(options->bans, options->n_bans, text, size);
}

void options_free_answer(struct options *options) {
  free_texts(options->stops, options->n_stops);
  free_texts(options->bans, options->n_bans);
}

/* ---- the guard against loops
 * ------------------------------------------------------------------------------------- */

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
