/* SPDX-License-Identifier: Apache-2.0 */
#include "line.h"
#include "paths.h"
#include "terminal.h"

#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <termios.h>
#include <unistd.h>
#ifdef HAVE_LIBEDIT
#include <histedit.h>
#include <wchar.h>
#endif

enum { HISTORY_SIZE = 1000 };

static struct {
  const char *prompt;
  const char *const *words; /* to complete to */
  FILE *shown;              /* where the prompt stands; NULL when nobody looks */
  char *line;               /* of getline */
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

/* ---- plain ---- */

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

/* ---- with libedit ---- */

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

/* ---- pasted text
 *
 * A terminal that knows bracketed paste puts ESC[200~ and ESC[201~ around it. Its line ends must not send the line, so
 * they become a sign that stands for one until the line is read; its other control characters are dropped.
 * ------------------------------------------------------------------------------------------------------------------ */

static const char paste_on[] = "\033[?2004h", paste_off[] = "\033[?2004l";
static const char line_end_sign[] = "\xe2\x90\xa4"; /* U+2424, SYMBOL FOR NEWLINE */

enum { BRACKET = 6, SIGN = sizeof(line_end_sign) - 1, QUEUE = 64 };

static struct {
  char queue
      [QUEUE]; /* what comes before what is typed: bytes that looked like a bracket, the rest of a command */
  size_t first, count;
  bool inside;
  bool after_return; /* the line feed that follows is the same line end */
} paste;

static bool dropping; /* after Ctrl-C: the editor is being told that the line ends */
static bool was_empty;

/* Waits for a key. A signal that comes between the last look at its flag and the wait must not be slept over, so it is
 * let in only while pselect waits. */
static bool await_key(void) {
  sigset_t blocked, before;
  fd_set input;
  bool came = false;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGCONT);
  sigaddset(&blocked, SIGWINCH);
  sigaddset(&blocked, SIGINT);
  sigprocmask(SIG_BLOCK, &blocked, &before);
  FD_ZERO(&input);
  FD_SET(STDIN_FILENO, &input);
  if (resized || continued || interrupted())
    errno = EINTR;
  else
    came = pselect(STDIN_FILENO + 1, &input, NULL, NULL, NULL, &before) > 0;
  int reason = errno;
  sigprocmask(SIG_SETMASK, &before, NULL);
  errno = reason;
  return came;
}

static ssize_t read_raw(char *byte) {
  if (paste.count) {
    *byte = paste.queue[paste.first++];
    paste.count--;
    return 1;
  }
  return await_key() ? read(STDIN_FILENO, byte, 1) : -1;
}

static bool more_comes(void) {
  struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
  return poll(&input, 1, 50) > 0;
}

/* After an ESC: true when a bracket stood there; else what was read is in the queue. */
static bool take_bracket(void) {
  const char *bracket = paste.inside ? "\033[201~" : "\033[200~";
  char seen[BRACKET];
  size_t count = 1;
  if (paste.count) return false;
  bool fits = true;
  while (fits && count < BRACKET && more_comes() && read(STDIN_FILENO, &seen[count], 1) == 1) {
    fits = seen[count] == bracket[count];
    count++;
  }
  if (fits && count == BRACKET) {
    paste.inside = !paste.inside;
    return true;
  }
  memcpy(paste.queue, seen + 1, count - 1);
  paste.first = 0;
  paste.count = count - 1;
  return false;
}

/* The next byte that the editor gets. */
static ssize_t read_byte(char *byte) {
  for (;;) {
    ssize_t got = read_raw(byte);
    bool returned = paste.after_return;
    if (got != 1) return got;
    if (*byte == '\033' && take_bracket()) continue;
    paste.after_return = paste.inside && *byte == '\r';
    if (!paste.inside || (unsigned char)*byte >= 0x20 || *byte == '\t') return 1;
    if (*byte == '\n' && returned) continue;
    if (*byte != '\n' && *byte != '\r') continue;
    memcpy(paste.queue, line_end_sign + 1, SIGN - 1);
    paste.first = 0;
    paste.count = SIGN - 1;
    *byte = line_end_sign[0];
    return 1;
  }
}

/* Puts line ends back where the sign stands. */
static size_t restore_line_ends(char *line, size_t length) {
  size_t to = 0;
  for (size_t at = 0; at < length; to++) {
    bool sign = length - at >= SIGN && memcmp(line + at, line_end_sign, SIGN) == 0;
    line[to] = sign ? '\n' : line[at];
    at += sign ? SIGN : 1;
  }
  line[to] = '\0';
  return to;
}

/* ---- completion ---- */

/* How much of the words that begin with this text is the same in all of them. */
static size_t common_length(const char *text, size_t length, const char **first, size_t *count) {
  size_t common = 0;
  *count = 0;
  for (const char *const *word = reader.words; word && *word; word++) {
    size_t same = length;
    if (strncmp(*word, text, length) != 0) continue;
    if ((*count)++ == 0) {
      *first = *word;
      common = strlen(*word);
    }
    while (same < common && (*word)[same] == (*first)[same])
      same++;
    common = same;
  }
  return common;
}

/* Lists what a command may become. */
static void list_words(EditLine *editor, const char *text, size_t length) {
  fputc('\n', reader.shown);
  for (const char *const *word = reader.words; *word; word++)
    if (strncmp(*word, text, length) == 0) fprintf(reader.shown, "%s  ", *word);
  fputc('\n', reader.shown);
  fflush(reader.shown);
  el_set(editor, EL_REFRESH);
}

/* Tab: types the rest of a command, or lists those that it may be. False in a text, where it is a tab. It is no function
 * of libedit's own (EL_ADDFN), because libedit never frees their names. */
static bool complete(EditLine *editor) {
  const LineInfo *info = el_line(editor);
  size_t length = (size_t)(info->cursor - info->buffer), count, common;
  const char *first = "";
  if (length == 0 || info->buffer[0] != '/' || memchr(info->buffer, ' ', length)) return false;
  common = common_length(info->buffer, length, &first, &count);
  if (count == 0 || info->cursor != info->lastchar) return true;
  if (common == length && count > 1) {
    list_words(editor, info->buffer, length);
    return true;
  }
  snprintf(paste.queue, sizeof(paste.queue), "%.*s%s", (int)(common - length), first + length,
           count == 1 ? " " : "");
  paste.first = 0;
  paste.count = strlen(paste.queue);
  return true;
}

/* After Ctrl-C the line ends, for the editor, which is the one way out of all of its modes; its text is dropped later. */
static int drop_line(EditLine *editor, wchar_t *character) {
  if (!dropping) {
    const LineInfo *info = el_line(editor);
    was_empty = info->lastchar == info->buffer;
    paste.count = 0;
    fputs("^C", reader.shown);
  }
  dropping = true;
  *character = L'\n';
  return 1;
}

/* Reads one character. libedit's own function reads on after a signal, so Ctrl-C would have to be pressed
 * twice. */
static int read_character(EditLine *editor, wchar_t *character) {
  mbstate_t shift;
  memset(&shift, 0, sizeof(shift));
  for (;;) {
    char byte;
    size_t used;
    ssize_t got = read_byte(&byte);
    if (got < 0 && errno == EINTR && interrupted()) return drop_line(editor, character);
    if (got < 0 && errno == EINTR) {
      after_signal(editor);
      continue;
    }
    if (got <= 0) return (int)got;
    if (byte == '\t' && !paste.inside && !paste.count && complete(editor)) continue;
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
  el_set(reader.editor, EL_BIND, "^I", "ed-insert", NULL);
  el_source(reader.editor, NULL); /* ~/.editrc */
  catch_signal(SIGWINCH, on_terminal_signal);
  catch_signal(SIGCONT, on_terminal_signal);
  if (terminal_pastes(true)) fputs(paste_on, reader.shown);
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
  dropping = false;
  interrupt_set(INTERRUPT_STOPS);
  prepare_terminal(reader.editor);
  got = el_gets(reader.editor, &count);
  prepare_terminal(reader.editor);
  interrupt_set(INTERRUPT_LEAVES);
  if (dropping) {
    *length = was_empty ? 0 : 1;
    return LINE_INTERRUPTED;
  }
  if (!got || count <= 0) return count < 0 && errno ? LINE_FAILED : LINE_END;
  copy = realloc(reader.line, (size_t)count + 1);
  if (!copy) return LINE_FAILED;
  reader.line = copy;
  memcpy(copy, got, (size_t)count);
  if (copy[count - 1] == '\n') count--;
  copy[count] = '\0';
  remember(copy);
  *line = copy;
  *length = restore_line_ends(copy, (size_t)count);
  return LINE_READ;
}

static void stop_editor(void) {
  if (terminal_pastes(false)) fputs(paste_off, reader.shown);
  memset(&paste, 0, sizeof(paste));
  if (reader.editor) el_end(reader.editor);
  if (reader.history) history_end(reader.history);
  catch_signal(SIGWINCH, SIG_DFL);
  catch_signal(SIGCONT, SIG_DFL);
}

#endif

/* ---- both ---- */

/* Text is UTF-8 even where the environment names no locale; only how characters are read is set. */
static void set_locale(void) {
  setlocale(LC_CTYPE, "");
  if (MB_CUR_MAX == 1) setlocale(LC_CTYPE, "C.UTF-8");
}

void line_prompt(const char *prompt) {
  reader.prompt = prompt;
}

bool line_start(const char *prompt, const char *const *words) {
  reader.prompt = prompt;
  reader.words = words;
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
