/* SPDX-License-Identifier: Apache-2.0 */
/* The chat: what its loop (chat.c) and its commands (chat_commands.c) share. */
#ifndef TOMBOLA_PROGRAMS_CHAT_H
#define TOMBOLA_PROGRAMS_CHAT_H

#include "conversation.h"

/* Sums over all turns since the start. */
struct chat_totals {
  size_t turns, prompt_run, prompt_reused, generated;
  double prefill_seconds, decode_seconds, seconds;
};

struct chat {
  struct options *options; /* the engine's, to be changed by /set */
  struct engine engine;
  struct conversation conversation;
  struct chat_totals totals;
  struct text system; /* what options->system points to once /system or /load has set it */
  struct text block;  /* the lines between """ and """, while they come */
  bool in_block;
  bool leaves;
  int exit_status;
};

/* Names of the commands, NULL-terminated, for completion. */
const char *const *chat_command_names(void);

/* Does what a line that begins with '/' says. */
void chat_command(struct chat *chat, const char *line);

/* Asks, or asks the last question again when `question` is NULL; says how it went. */
void chat_ask(struct chat *chat, const char *question);

/* Whether an empty line leaves, as in the chat of the dialect's engine. */
bool chat_empty_line_quits(const struct chat *chat);

/* A conversation as a JSON file (chat_file.c). False after a complaint; the conversation then is as before. */
bool chat_save(const struct conversation *conversation, const char *path);
bool chat_load(struct conversation *conversation, const char *path);

#endif
