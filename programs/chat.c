/* SPDX-License-Identifier: Apache-2.0 */
/* `tombola chat`: a line is a turn, for a person and in a pipe. */
#include "chat.h"
#include "line.h"
#include "run.h"
#include "terminal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- what differs between the chats of the engines that the dialects follow ---- */

/* rml-chat quits on an empty line; others take no notice of one. */
static const struct {
  const char *dialect;
  bool empty_line_quits;
} customs[] = {{"rml", true}};

bool chat_empty_line_quits(const struct chat *chat) {
  for (size_t i = 0; i < sizeof(customs) / sizeof(customs[0]); i++)
    if (strcmp(customs[i].dialect, chat->engine.options->sampler.dialect) == 0)
      return customs[i].empty_line_quits;
  return false;
}

/* ---- turns ---- */

static void add_totals(struct chat_totals *totals, const struct turn *turn) {
  totals->turns += turn->end <= TURN_STOPPED;
  totals->prompt_run += turn->stats.prompt_run;
  totals->prompt_reused += turn->stats.prompt_reused;
  totals->generated += turn->stats.generated;
  totals->prefill_seconds += turn->stats.prefill_seconds;
  totals->decode_seconds += turn->stats.decode_seconds;
  totals->seconds += turn->seconds;
}

void chat_ask(struct chat *chat, const char *question) {
  struct turn turn;
  if (question)
    conversation_ask(&chat->conversation, &chat->engine, question, &turn);
  else
    conversation_ask_again(&chat->conversation, &chat->engine, &turn);
  turn_report(&turn, &chat->engine);
  if (turn_is_cut(&turn)) {
    char cut[160];
    turn_say_cut(&turn, cut, sizeof(cut));
    complain("%s", cut);
  }
  add_totals(&chat->totals, &turn);
  if (turn.end == TURN_INTERRUPTED)
    note(question ? "there is no answer, so the question is not part of the conversation"
                  : "there is no new answer, so the old one stays");
  turn_free(&turn);
  if (!output_flush()) chat->leaves = true;
}

static const char block_mark[] = "\"\"\"";
enum { MARK = sizeof(block_mark) - 1 };

/* A line of a text between """ and """; the last one sends it. */
static void take_block_line(struct chat *chat, const char *line, size_t length) {
  bool ends = length >= MARK && strcmp(line + length - MARK, block_mark) == 0;
  if (!text_add(&chat->block, line, length - (ends ? MARK : 0)) || (!ends && !text_add(&chat->block, "\n", 1))) {
    chat->exit_status = complain("out of memory");
    chat->leaves = true;
  }
  chat->in_block = !ends;
  line_prompt(ends ? ">>> " : "... ");
  if (!ends || chat->leaves) return;
  if (chat->block.data[strspn(chat->block.data, " \t\n")]) chat_ask(chat, chat->block.data);
  text_cut(&chat->block, 0);
}

static void take_line(struct chat *chat, const char *line, size_t length) {
  if (strlen(line) != length) {
    complain("the line holds a NUL byte; it was not sent");
  } else if (chat->in_block) {
    take_block_line(chat, line, length);
  } else if (strncmp(line, block_mark, MARK) == 0) {
    take_block_line(chat, line + MARK, length - MARK);
  } else if (line[strspn(line, " \t")] == '\0') {
    if (length == 0 && chat_empty_line_quits(chat)) chat->leaves = true;
  } else if (line[0] == '/') {
    chat_command(chat, line);
  } else {
    chat_ask(chat, line);
  }
}

/* Ctrl-C at the prompt drops the line, and a text between """ and """ as far as it came; with nothing typed it leaves. */
static void take_interrupt(struct chat *chat, size_t length) {
  if (length == 0 && !chat->in_block) {
    chat->exit_status = EXIT_INTERRUPTED;
    chat->leaves = true;
  }
  chat->in_block = false;
  text_cut(&chat->block, 0);
  line_prompt(">>> ");
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
    if (result == LINE_INTERRUPTED)
      take_interrupt(chat, length);
    else if (result == LINE_READ)
      take_line(chat, line, length);
    else
      break;
  }
  return result;
}

static int hold(struct chat *chat) {
  bool person = line_is_interactive();
  if (!conversation_start(&chat->conversation, &chat->engine) || !line_start(">>> ", chat_command_names())) {
    conversation_free(&chat->conversation);
    return complain("out of memory");
  }
  if (person) terminal_dim("/help lists the commands; Ctrl-D leaves");
  if (converse(chat) == LINE_END && person) fputc('\n', stderr);
  if (chat->in_block) complain("the text that began with \"\"\" has no end; it was not sent");
  line_stop();
  text_free(&chat->block);
  conversation_free(&chat->conversation);
  return chat->exit_status;
}

int command_chat(struct options *options) {
  struct chat chat = {.options = options};
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
  text_free(&chat.system);
  written = output_finish();
  return exit_status == EXIT_OK ? written : exit_status;
}
