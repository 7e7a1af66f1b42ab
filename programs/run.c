/* SPDX-License-Identifier: Apache-2.0 */
/* `tombola run`: one prompt, one answer. */
#include "run.h"
#include "conversation.h"
#include "terminal.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the prompt ---- */

static int read_stream(FILE *stream, const char *name, struct text *prompt) {
  if (!text_add_stream(prompt, stream)) return complain("cannot read %s: %s", name, strerror(errno));
  if (prompt->length && prompt->data[prompt->length - 1] == '\n') text_cut(prompt, prompt->length - 1);
  if (prompt->length && prompt->data[prompt->length - 1] == '\r') text_cut(prompt, prompt->length - 1);
  return EXIT_OK;
}

static int read_file(const char *path, struct text *prompt) {
  FILE *stream = fopen(path, "rb");
  int exit_status;
  if (!stream) return complain("cannot open the prompt file %s: %s", path, strerror(errno));
  exit_status = read_stream(stream, path, prompt);
  fclose(stream);
  return exit_status;
}

static int read_input(struct text *prompt) {
  if (isatty(STDIN_FILENO)) note("type the prompt; Ctrl-D on a line of its own ends it");
  return read_stream(stdin, "standard input", prompt);
}

static int read_prompt(const struct options *options, struct text *prompt) {
  int exit_status = EXIT_OK;
  if (options->prompt) {
    if (!text_add_string(prompt, options->prompt)) return complain("out of memory");
  } else if (options->file && strcmp(options->file, "-") != 0) {
    exit_status = read_file(options->file, prompt);
  } else {
    exit_status = read_input(prompt);
  }
  if (exit_status != EXIT_OK) return exit_status;
  if (!prompt->length) return complain_usage("the prompt is empty");
  if (strlen(prompt->data) != prompt->length)
    return complain_usage("the prompt holds a NUL byte at offset %zu; a prompt is text",
                          strlen(prompt->data));
  return EXIT_OK;
}

/* ---- --json ---- */

static int print_json(const struct turn *turn, const struct engine *engine) {
  char *json = turn_json(turn, engine);
  if (!json) return complain("out of memory");
  output_write(json, strlen(json));
  free(json);
  return turn->exit_status;
}

/* ---- the answer ---- */

static int answer(struct engine *engine, const char *prompt) {
  struct conversation conversation = {0};
  struct turn turn;
  int exit_status;
  if (!conversation_start(&conversation, engine)) return complain("out of memory");
  conversation_ask(&conversation, engine, prompt, &turn);
  exit_status = turn.exit_status;
  if (engine->options->json && turn.end <= TURN_STOPPED) exit_status = print_json(&turn, engine);
  if (turn_is_cut(&turn)) {
    char cut[160];
    turn_say_cut(&turn, cut, sizeof(cut));
    complain("%s", cut);
    if (exit_status == EXIT_OK) exit_status = EXIT_INCOMPLETE;
  }
  turn_report(&turn, engine);
  turn_free(&turn);
  conversation_free(&conversation);
  return exit_status;
}

/* Says so where a prompt leaves out what another program has written for it. Asked after the model was loaded, when
 * that has come; an empty pipe, which scripts leave open, is none. */
static void note_unread_input(const struct options *options) {
  struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
  struct stat kind;
  bool reads = !options->prompt && (!options->file || strcmp(options->file, "-") == 0);
  if (reads || fstat(STDIN_FILENO, &kind) != 0 || !S_ISFIFO(kind.st_mode)) return;
  if (poll(&input, 1, 0) == 1 && (input.revents & POLLIN))
    note("standard input is not read: the prompt is %s's; without it, or with --file -, it is the prompt",
         options->prompt ? "--prompt" : "--file");
}

int run_once(struct options *options) {
  struct engine engine = {0};
  struct text prompt = {NULL, 0, 0};
  int exit_status = read_prompt(options, &prompt);
  int written;
  if (exit_status == EXIT_OK) exit_status = engine_start(&engine, options);
  if (exit_status == EXIT_OK) {
    int finished;
    note_unread_input(options);
    exit_status = answer(&engine, prompt.data);
    finished = engine_finish(&engine);
    if (exit_status == EXIT_OK) exit_status = finished;
  }
  engine_free(&engine);
  text_free(&prompt);
  written = output_finish();
  return exit_status == EXIT_OK ? written : exit_status;
}

int command_run(struct options *options) {
  return run_once(options);
}
