/* SPDX-License-Identifier: Apache-2.0 */
/* Chat templates. libllama has no Jinja: it knows the formats of some model families by name, and recognises
 * a template's source by marks in it. That recognition also takes a misspelt name for a source ("mistral-v9"
 * becomes Llama 2), so names are looked up here first. */
#include "backend.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <tombola/llama.h>

size_t tombola_llama_templates(const char **names, size_t capacity) {
  int32_t count = llama_chat_builtin_templates(names, capacity);
  return count > 0 ? (size_t)count : 0;
}

enum { MOST_TEMPLATES = 256 };

static size_t list(const char **names) {
  size_t count = tombola_llama_templates(names, MOST_TEMPLATES);
  return count < MOST_TEMPLATES ? count : MOST_TEMPLATES;
}

static bool is_name(const char *text) {
  const char *names[MOST_TEMPLATES];
  size_t count = list(names);
  for (size_t i = 0; i < count; i++)
    if (strcmp(names[i], text) == 0) return true;
  return false;
}

/* A source has braces; no name has. */
static bool is_source(const char *text) {
  return strchr(text, '{') != NULL;
}

/* "no chat template is called X; there are: …", with as many names as the message holds. */
static enum tombola_status unknown_name(const char *name, struct tombola_error *error) {
  const char *names[MOST_TEMPLATES];
  size_t count = list(names);
  char known[sizeof error->message] = "";
  size_t used = 0, taken = strlen(name) + 60; /* by the rest of the message */
  for (size_t i = 0; i < count; i++) {
    if (taken + used + strlen(names[i]) >= sizeof known) {
      snprintf(known + used, sizeof known - used, "…");
      break;
    }
    used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", names[i], i + 1 < count ? ", " : "");
  }
  return tombola__fail(error, TOMBOLA_NOT_FOUND, "chat_template",
                       "no chat template is called '%s'; there are: %s", name, known);
}

/* The template to give to libllama: what the caller names, else the model's own. */
static enum tombola_status choose(const struct tombola__llama *self, const char *given, const char **chosen,
                                  struct tombola_error *error) {
  *chosen = given ? given : self->info.chat_template;
  if (!*chosen)
    return tombola__fail(error, TOMBOLA_NOT_FOUND, "chat_template", "the model has no chat template");
  if (given && !is_source(given) && !is_name(given)) return unknown_name(given, error);
  return TOMBOLA_OK;
}

static enum tombola_status unrecognised(const char *given, struct tombola_error *error) {
  return tombola__fail(error, TOMBOLA_UNSUPPORTED, "chat_template",
                       given ? "libllama doesn't recognise this template's source; name a known one"
                             : "libllama doesn't recognise the model's chat template; name a known one");
}

enum tombola_status tombola__llama_apply_template(void *object, const char *chat_template,
                                                  const struct tombola_chat_message *messages,
                                                  size_t n_messages, int add_assistant, char *text,
                                                  size_t capacity, size_t *length,
                                                  struct tombola_error *error) {
  const struct tombola__llama *self = object;
  *length = 0;
  if (n_messages == 0)
    return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "messages", "a chat needs at least one message");
  const char *chosen;
  enum tombola_status status = choose(self, chat_template, &chosen, error);
  if (status != TOMBOLA_OK) return status;

  struct llama_chat_message *chat = tombola__new(&self->allocator, n_messages, sizeof *chat);
  if (!chat) return tombola__no_memory(error);
  for (size_t i = 0; i < n_messages; i++)
    chat[i] = (struct llama_chat_message){messages[i].role, messages[i].content};
  int32_t room = capacity > INT32_MAX ? INT32_MAX : (int32_t)capacity;
  int32_t needed = llama_chat_apply_template(chosen, chat, n_messages, add_assistant != 0, text, room);
  tombola__free(&self->allocator, chat);
  if (needed < 0) return unrecognised(chat_template, error);
  *length = (size_t)needed;
  if (*length <= capacity) return TOMBOLA_OK;
  return tombola__fail(error, TOMBOLA_OUT_OF_RANGE, "text",
                       "the prompt needs %zu bytes, there is room for %zu", *length, capacity);
}
