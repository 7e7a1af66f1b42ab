/* SPDX-License-Identifier: Apache-2.0 */
/* libllama's log. It is one for the whole process and goes to standard error unless somebody takes it; we
 * take it, and keep of each call the first error, because that is the precise one (the later ones only say
 * that the caller failed too). Kept by thread, so that two loads at once don't mix their messages. */
#define _POSIX_C_SOURCE 200809L
#include "backend.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char first_error[256];

/* Messages look like "function_name: what happened\n", some with several names in front, as errors were
 * passed on. */
static const char *without_prefixes(const char *text) {
  static const char loading[] = "error loading model: ";
  for (;;) {
    const char *end = text;
    while (isalnum((unsigned char)*end) || *end == '_' || *end == '~')
      end++;
    if (strncmp(text, loading, sizeof loading - 1) == 0)
      text += sizeof loading - 1;
    else if (end != text && end[0] == ':' && end[1] == ' ')
      text = end + 2;
    else
      return text;
  }
}

static void on_log(enum ggml_log_level level, const char *text, void *context) {
  (void)context;
  if (level != GGML_LOG_LEVEL_ERROR || first_error[0] != '\0') return;
  snprintf(first_error, sizeof first_error, "%s", without_prefixes(text));
  first_error[strcspn(first_error, "\n")] = '\0';
}

static void start(void) {
  llama_log_set(on_log, NULL);
  llama_backend_init();
  /* Distributions build ggml's devices as plugins, which have to be asked for. */
  if (ggml_backend_dev_count() == 0) ggml_backend_load_all();
}

void tombola__llama_start(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, start);
}

void tombola__llama_log_clear(void) {
  first_error[0] = '\0';
}

const char *tombola__llama_log_text(void) {
  return first_error;
}

enum tombola_status tombola__llama_log_status(enum tombola_status otherwise) {
  return strstr(first_error, "alloc") ? TOMBOLA_NO_MEMORY : otherwise;
}

enum tombola_status tombola__llama_log_fail(struct tombola_error *error, const char *path) {
  return tombola__fail(error, tombola__llama_log_status(TOMBOLA_FORMAT), "model", "%s: cannot be loaded: %s",
                       path, first_error[0] ? first_error : "libllama doesn't say why");
}
