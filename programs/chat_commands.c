/* SPDX-License-Identifier: Apache-2.0 */
#include "chat.h"
#include "terminal.h"

#include <stdio.h>
#include <string.h>

/* What may follow a command. */
enum rest { REST_NONE, REST_OPTIONAL, REST_NEEDED };

static void chat_help(struct chat *chat, const char *rest);

/* ---- the conversation ---- */

static void out_of_memory(struct chat *chat) {
  chat->exit_status = complain("out of memory");
  chat->leaves = true;
}

static void chat_reset(struct chat *chat, const char *rest) {
  (void)rest;
  tombola_session_clear(chat->engine.session);
  tombola_sampler_reset(chat->engine.sampler);
  if (chat->engine.answer_sampler) tombola_sampler_reset(chat->engine.answer_sampler);
  if (!conversation_start(&chat->conversation, &chat->engine))
    out_of_memory(chat);
  else
    note("the conversation starts again");
}

static void chat_regen(struct chat *chat, const char *rest) {
  (void)rest;
  if (conversation_can_undo(&chat->conversation))
    chat_ask(chat, NULL);
  else
    complain("there is no answer yet");
}

static void chat_undo(struct chat *chat, const char *rest) {
  (void)rest;
  if (conversation_undo(&chat->conversation))
    note("the last question and its answer are forgotten");
  else
    complain("there is nothing to undo");
}

/* Takes the text as system message, of this conversation and of those after a /reset; NULL for none. */
static bool set_system(struct chat *chat, const char *text) {
  text_cut(&chat->system, 0);
  if (text && !text_add_string(&chat->system, text)) return false;
  chat->options->system = text ? chat->system.data : NULL;
  return true;
}

static void chat_system(struct chat *chat, const char *rest) {
  const char *text = strcmp(rest, "none") == 0 ? NULL : rest;
  if (!*rest) {
    terminal_text(chat->options->system ? chat->options->system : "(no system message)");
    return;
  }
  if (!set_system(chat, text) || !conversation_set_system(&chat->conversation, text))
    out_of_memory(chat);
  else
    note(text ? "the system message holds from the next answer on" : "there is no system message any more");
}

static void chat_save_command(struct chat *chat, const char *rest) {
  if (!chat->conversation.count)
    complain("there is nothing to save yet");
  else if (chat_save(&chat->conversation, rest))
    note("%zu messages are in %s", chat->conversation.count, rest);
}

static void chat_load_command(struct chat *chat, const char *rest) {
  const struct tombola_chat_message *first;
  if (!chat_load(&chat->conversation, rest)) return;
  first = chat->conversation.messages;
  if (!set_system(chat, strcmp(first->role, "system") == 0 ? first->content : NULL))
    out_of_memory(chat);
  else
    note("the conversation of %s goes on, %zu messages", rest, chat->conversation.count);
}

/* ---- values ---- */

/* A value may stand in quotes, as on a command line; false after a complaint. */
static bool set_value(struct chat *chat, const char *name, const char *value) {
  struct text bare = {NULL, 0, 0};
  size_t length = strlen(value);
  bool quoted = length > 1 && value[0] == '"' && value[length - 1] == '"', good;
  if (!text_add(&bare, quoted ? value + 1 : value, quoted ? length - 2 : length)) {
    out_of_memory(chat);
    return false;
  }
  good = options_set(chat->options, name, bare.data) == EXIT_OK;
  text_free(&bare);
  return good;
}

static void chat_set(struct chat *chat, const char *rest) {
  const struct tombola_sampler_params before = chat->options->sampler, answer = chat->options->answer_sampler;
  char name[64];
  size_t length = strcspn(rest, " \t=");
  const char *value = rest + length + strspn(rest + length, " \t=");
  if (!*value || length >= sizeof(name)) {
    complain("/set NAME VALUE sets an option, as in /set temperature 0.5; /show lists them");
    return;
  }
  snprintf(name, sizeof(name), "%.*s", (int)length, rest);
  if (!set_value(chat, name, value)) return;
  if (engine_renew_sampler(&chat->engine, chat->options) == EXIT_OK) {
    options_show(chat->options, name, stderr);
    return;
  }
  chat->options->sampler = before;
  chat->options->answer_sampler = answer;
}

static void chat_show(struct chat *chat, const char *rest) {
  if (!options_show(chat->options, *rest ? rest : NULL, stderr))
    complain("there is no option %.60s that /set could change; /show lists them", rest);
}

static void chat_stats(struct chat *chat, const char *rest) {
  const struct chat_totals *totals = &chat->totals;
  size_t held;
  (void)rest;
  tombola_session_tokens(chat->engine.session, &held);
  fprintf(stderr,
          "  answers %zu, tokens %zu in %.1f s (%.1f tok/s)\n"
          "  prompts %zu tokens computed in %.1f s, %zu from the cache\n"
          "  context %zu of %zu tokens, %zu messages\n",
          totals->turns, totals->generated, totals->decode_seconds,
          totals->decode_seconds > 0 ? (double)totals->generated / totals->decode_seconds : 0, totals->prompt_run,
          totals->prefill_seconds, totals->prompt_reused, held, chat->engine.info.context, chat->conversation.count);
}

static void chat_exit(struct chat *chat, const char *rest) {
  (void)rest;
  chat->leaves = true;
}

/* ---- the table ---- */

/* A command, its other names, separated by spaces, what follows it, and what it does. */
static const struct {
  const char *name, *aliases, *value, *help;
  enum rest rest;
  void (*run)(struct chat *chat, const char *rest);
} table[] = {
    {"/help", "/?", "", "this list", REST_NONE, chat_help},
    {"/regen", "", "", "answer the last question anew", REST_NONE, chat_regen},
    {"/undo", "", "", "forget the last question and its answer", REST_NONE, chat_undo},
    {"/reset", "/clear", "", "forget the conversation and start again", REST_NONE, chat_reset},
    {"/system", "", "[TEXT]", "show or change the system message (none: without one)", REST_OPTIONAL, chat_system},
    {"/set", "", "NAME VALUE", "change an option: /set temperature 0.5", REST_OPTIONAL, chat_set},
    {"/show", "", "[NAME]", "the options that /set changes, and where their values come from", REST_OPTIONAL, chat_show},
    {"/stats", "", "", "tokens and times of all answers so far", REST_NONE, chat_stats},
    {"/save", "", "FILE", "write the conversation to a file (JSON)", REST_NEEDED, chat_save_command},
    {"/load", "", "FILE", "go on with a conversation that was saved", REST_NEEDED, chat_load_command},
    {"/exit", "/quit /bye", "", "leave (Ctrl-D as well)", REST_NONE, chat_exit},
};

enum { COMMANDS = sizeof(table) / sizeof(table[0]) };

const char *const *chat_command_names(void) {
  static const char *names[COMMANDS + 1];
  for (size_t i = 0; i < COMMANDS; i++)
    names[i] = table[i].name;
  return names;
}

static void chat_help(struct chat *chat, const char *rest) {
  (void)rest;
  for (size_t i = 0; i < COMMANDS; i++) {
    char name[32];
    snprintf(name, sizeof(name), "%s %s", table[i].name, table[i].value);
    fprintf(stderr, "  %-16s %-11s %s\n", name, table[i].aliases, table[i].help);
  }
  fprintf(stderr,
          "  Ctrl-C stops an answer, drops a line; with nothing typed it leaves.%s Tab completes a command.\n"
          "  \"\"\" begins and ends a text of several lines. A line that begins with a space is never a command.\n",
          chat_empty_line_quits(chat) ? " An empty line leaves." : "");
}

/* Whether `word` is one of the words in `list`. */
static bool is_one_of(const char *word, size_t length, const char *list) {
  while (*list) {
    size_t known = strcspn(list, " ");
    if (known == length && strncmp(list, word, length) == 0) return true;
    list += known + strspn(list + known, " ");
  }
  return false;
}

void chat_command(struct chat *chat, const char *line) {
  size_t length = strcspn(line, " \t");
  const char *rest = line + length + strspn(line + length, " \t");
  for (size_t i = 0; i < COMMANDS; i++) {
    if (!is_one_of(line, length, table[i].name) && !is_one_of(line, length, table[i].aliases)) continue;
    if (*rest && table[i].rest == REST_NONE)
      complain("%s takes nothing after it", table[i].name);
    else if (!*rest && table[i].rest == REST_NEEDED)
      complain("%s needs a %s after it", table[i].name, table[i].value);
    else
      table[i].run(chat, rest);
    return;
  }
  complain("there is no command %.*s; /help lists them, and a space before the line sends it", (int)length,
           line);
}
