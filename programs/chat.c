/* SPDX-License-Identifier: Apache-2.0 */
/* `tombola chat`: a line is a turn, for a person and in a pipe. */
#include "conversation.h"
#include "line.h"
#include "run.h"
#include "terminal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct chat {
  struct engine engine;
  struct conversation conversation;
  bool leaves;
  int exit_status;
};

/* ---- what differs between the chats of the engines that the dialects follow
 * -------------------------------------- */

/* rml-chat quits on an empty line; others take no notice of one. */
static const struct {
  const char *dialect;
  bool empty_line_quits;
} customs[] = {{"rml", true}};

static bool empty_line_quits(const struct chat *chat) {
  for (size_t i = 0; i < sizeof(customs) / sizeof(customs[0]); i++)
    if (strcmp(customs[i].dialect, chat->engine.options->sampler.dialect) == 0)
      return customs[i].empty_line_quits;
  return false;
}

/* ---- commands
 * ---------------------------------------------------------------------------------------------------- */

static void chat_reset(struct chat *chat);
static void chat_help(struct chat *chat);
static void chat_exit(struct chat *chat);

/* A command, its other names, separated by spaces, and what it does. */
static const struct {
  const char *name, *aliases, *help;
  void (*run)(struct chat *chat);
} chat_commands[] = {
    {"/help", "/?", "this list", chat_help},
    {"/reset", "/clear", "forget the conversation and start again", chat_reset},
    {"/exit", "/quit /bye", "leave (Ctrl-D as well)", chat_exit},
};

enum { CHAT_COMMANDS = sizeof(chat_commands) / sizeof(chat_commands[0]) };

static void chat_reset(struct chat *chat) {
  tombola_session_clear(chat->engine.session);
  tombola_sampler_reset(chat->engine.sampler);
  if (chat->engine.answer_sampler) tombola_sampler_reset(chat->engine.answer_sampler);
  if (!conversation_start(&chat->conversation, &chat->engine)) {
    chat->exit_status = complain("out of memory");
    chat->leaves = true;
    return;
  }
  note("the conversation starts again");
}

static void chat_help(struct chat *chat) {
  for (size_t i = 0; i < CHAT_COMMANDS; i++)
    fprintf(stderr, "  %-8s %-12s %s\n", chat_commands[i].name, chat_commands[i].aliases,
            chat_commands[i].help);
  fprintf(stderr,
          "  Ctrl-C stops an answer; at the prompt it leaves.%s\n"
          "  A line that begins with a space is never a command.\n",
          empty_line_quits(chat) ? " An empty line leaves." : "");
}

static void chat_exit(struct chat *chat) {
  chat->leaves = true;
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

static void run_command(struct chat *chat, const char *line) {
  size_t length = strcspn(line, " \t");
  const char *rest = line + length + strspn(line + length, " \t");
  for (size_t i = 0; i < CHAT_COMMANDS; i++) {
    if (!is_one_of(line, length, chat_commands[i].name) && !is_one_of(line, length, chat_commands[i].aliases))
      continue;
    if (*rest)
      complain("%s takes nothing after it", chat_commands[i].name);
    else
      chat_commands[i].run(chat);
    return;
  }
  complain("there is no command %.*s; /help lists them, and a space before the line sends it", (int)length,
           line);
}

/* ---- turns
 * ------------------------------------------------------------------------------------------------------- */

static void ask(struct chat *chat, const char *line) {
  struct turn turn;
  conversation_ask(&chat->conversation, &chat->engine, line, &turn);
  turn_report(&turn, &chat->engine);
  if (turn.end == TURN_INTERRUPTED)
    note("there is no answer, so the question is not part of the conversation");
  turn_free(&turn);
  if (!output_flush()) chat->leaves = true;
}

static void take_line(struct chat *chat, const char *line, size_t length) {
  if (length == 0 || line[strspn(line, " \t")] == '\0') {
    if (length == 0 && empty_line_quits(chat)) chat->leaves = true;
  } else if (strlen(line) != length) {
    complain("the line holds a NUL byte; it was not sent");
  } else if (line[0] == '/') {
    run_command(chat, line);
  } else {
    ask(chat, line);
  }
}

/* Returns how the last line came. */
static enum line_result converse(struct chat *chat) {
  const char *line;
  size_t length;
  enum line_result result = LINE_READ;
  while (!chat->leaves) {
    result = line_read(&line, &length);
    if (result == LINE_FAILED)
      chat->exit_status = complain("cannot read standard input: %s", strerror(errno));
    if (result != LINE_READ) break;
    take_line(chat, line, length);
  }
  return result;
}

static int hold(struct chat *chat) {
  bool person = line_is_interactive();
  if (!conversation_start(&chat->conversation, &chat->engine) || !line_start(">>> ")) {
    conversation_free(&chat->conversation);
    return complain("out of memory");
  }
  if (person) terminal_dim("/help lists the commands; Ctrl-D leaves");
  if (converse(chat) == LINE_END && person) fputc('\n', stderr);
  line_stop();
  conversation_free(&chat->conversation);
  return chat->exit_status;
}

int command_chat(struct options *options) {
  struct chat chat = {0};
  int exit_status, written;
  if (options->prompt || options->file) return run_once(options);
  exit_status = engine_start(&chat.engine, options);
  if (exit_status == EXIT_OK) {
    int finished;
    exit_status = hold(&chat);
    finished = engine_finish(&chat.engine);
    if (exit_status == EXIT_OK) exit_status = finished;
  }
  engine_free(&chat.engine);
  written = output_finish();
  return exit_status == EXIT_OK ? written : exit_status;
}
