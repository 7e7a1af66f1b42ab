/* SPDX-License-Identifier: Apache-2.0 */
#include "line.h"
#include "paths.h"
#include "terminal.h"

#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>
#ifdef HAVE_LIBEDIT
#include <histedit.h>
#include <wchar.h>
#endif

enum { HISTORY_SIZE = 1000 };

static struct {
  const char *prompt;
  FILE *shown; /* where the prompt stands; NULL when nobody looks */
  char *line;  /* of getline */
  size_t room;
#ifdef HAVE_LIBEDIT
  EditLine *editor;
  History *history;
  char history_path[PATH_SIZE]; /* "": not kept */
#endif
} reader;

/* Standard error rather than standard output, so that the answers alone go there. */
static FILE *find_shown(void) {
  if (!isatty(STDIN_FILENO)) return NULL;
  if (isatty(STDERR_FILENO)) return stderr;
  return isatty(STDOUT_FILENO) ? stdout : NULL;
}

bool line_is_interactive(void) {
  return find_shown() != NULL;
}

/* ---- plain
 * ------------------------------------------------------------------------------------------------------- */

static enum line_result read_plain(const char **line, size_t *length) {
  ssize_t got;
  if (reader.shown) {
    fputs(reader.prompt, reader.shown);
    fflush(reader.shown);
  }
  errno = 0;
  got = getline(&reader.line, &reader.room, stdin);
  if (got < 0) return feof(stdin) ? LINE_END : LINE_FAILED;
  if (got > 0 && reader.line[got - 1] == '\n') got--;
  if (got > 0 && reader.line[got - 1] == '\r') got--;
  reader.line[got] = '\0';
  *line = reader.line;
  *length = (size_t)got;
  return LINE_READ;
}

/* ---- with libedit
 * ------------------------------------------------------------------------------------------------ */

#ifdef HAVE_LIBEDIT

static volatile sig_atomic_t resized, continued;

static void on_terminal_signal(int number) {
  if (number == SIGWINCH)
    resized = 1;
  else
    continued = 1;
}

static void catch_signal(int number, void (*handler)(int)) {
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, NULL);
}

static char *show_prompt(EditLine *editor) {
  (void)editor;
  return (char *)(uintptr_t)reader.prompt;
}

/* Keys come one by one, and the terminal doesn't show them by itself. This holds between the lines as well,
 * so that what is typed while an answer comes doesn't mix with it and no Ctrl-D is lost. After Ctrl-Z the
 * shell has changed the terminal, which libedit doesn't know: it only acts on what it takes for a change. */
static void prepare_terminal(EditLine *editor) {
  if (continued) el_set(editor, EL_PREP_TERM, 0);
  continued = 0;
  el_set(editor, EL_PREP_TERM, 1);
}

static void after_signal(EditLine *editor) {
  bool redraw = continued;
  prepare_terminal(editor);
  if (resized) el_resize(editor);
  if (redraw) el_set(editor, EL_REFRESH);
  resized = 0;
}

/* Reads one character. libedit's own function reads on after a signal, so Ctrl-C would have to be pressed
 * twice. */
static int read_character(EditLine *editor, wchar_t *character) {
  mbstate_t shift;
  memset(&shift, 0, sizeof(shift));
  for (;;) {
    char byte;
    size_t used;
    ssize_t got = read(STDIN_FILENO, &byte, 1);
    if (got < 0 && errno == EINTR) {
      after_signal(editor);
      continue;
    }
    if (got <= 0) return (int)got;
    used = mbrtowc(character, &byte, 1, &shift);
    if (used == (size_t)-2) continue;
    if (used != (size_t)-1) return 1;
    memset(&shift, 0, sizeof(shift)); /* not a character of this locale: dropped */
  }
}

static bool start_editor(void) {
  HistEvent event;
  reader.editor = el_init("tombola", stdin, reader.shown, stderr);
  if (!reader.editor) return false;
  reader.history = history_init();
  if (!reader.history) return false;
  history(reader.history, &event, H_SETSIZE, HISTORY_SIZE);
  history(reader.history, &event, H_SETUNIQUE, 1);
  if (!path_history(reader.history_path)) reader.history_path[0] = '\0';
  if (reader.history_path[0]) history(reader.history, &event, H_LOAD, reader.history_path);
  el_set(reader.editor, EL_PROMPT, show_prompt);
  el_set(reader.editor, EL_EDITOR, "emacs");
  el_set(reader.editor, EL_HIST, history, reader.history);
  el_set(reader.editor, EL_GETCFN, read_character);
  el_source(reader.editor, NULL); /* ~/.editrc */
  catch_signal(SIGWINCH, on_terminal_signal);
  catch_signal(SIGCONT, on_terminal_signal);
  return true;
}

static void remember(const char *line) {
  HistEvent event;
  if (line[strspn(line, " \t")] == '\0') return;
  history(reader.history, &event, H_ENTER, line);
  if (reader.history_path[0]) history(reader.history, &event, H_SAVE, reader.history_path);
}

static enum line_result read_edited(const char **line, size_t *length) {
  int count = 0;
  const char *got;
  char *copy;
  errno = 0;
  prepare_terminal(reader.editor);
  got = el_gets(reader.editor, &count);
  prepare_terminal(reader.editor);
  if (!got || count <= 0) return count < 0 && errno ? LINE_FAILED : LINE_END;
  copy = realloc(reader.line, (size_t)count + 1);
  if (!copy) return LINE_FAILED;
  reader.line = copy;
  memcpy(copy, got, (size_t)count);
  if (copy[count - 1] == '\n') count--;
  copy[count] = '\0';
  remember(copy);
  *line = copy;
  *length = (size_t)count;
  return LINE_READ;
}

static void stop_editor(void) {
  if (reader.editor) el_end(reader.editor);
  if (reader.history) history_end(reader.history);
  catch_signal(SIGWINCH, SIG_DFL);
  catch_signal(SIGCONT, SIG_DFL);
}

#endif

/* ---- both
 * -------------------------------------------------------------------------------------------------------- */

/* Text is UTF-8 even where the environment names no locale; only how characters are read is set. */
static void set_locale(void) {
  setlocale(LC_CTYPE, "");
  if (MB_CUR_MAX == 1) setlocale(LC_CTYPE, "C.UTF-8");
}

bool line_start(const char *prompt) {
  reader.prompt = prompt;
  reader.shown = find_shown();
  if (!reader.shown) return true;
  set_locale();
  terminal_save();
#ifdef HAVE_LIBEDIT
  return start_editor();
#else
  return true;
#endif
}

void line_stop(void) {
#ifdef HAVE_LIBEDIT
  if (reader.shown) stop_editor();
#endif
  free(reader.line);
  memset(&reader, 0, sizeof(reader));
}

enum line_result line_read(const char **line, size_t *length) {
  fflush(stdout);
  interrupt_set(INTERRUPT_LEAVES);
#ifdef HAVE_LIBEDIT
  if (reader.editor) return read_edited(line, length);
#endif
  return read_plain(line, length);
}
