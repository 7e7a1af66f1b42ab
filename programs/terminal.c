/* SPDX-License-Identifier: Apache-2.0 */
#include "terminal.h"
#include "text.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static struct {
  bool terminal; /* standard error */
  bool able;     /* and it knows escape sequences */
  bool color;
  bool quiet;
  bool output_terminal; /* standard output */
  bool bar;             /* a progress bar stands on the current line */
  int bar_percent;      /* what it shows */
  int output_error;     /* errno of the first failed write, or 0 */
  bool reasons;         /* a line of reasoning is open on standard error */
  bool reasons_begin;   /* and nothing stands on it yet */
} state;

/* ---- messages ---- */

/* One line, cut at LINE_SIZE. What users and files put into it can't send commands to the terminal. */
TERMINAL_PRINTF(3, 0)
static void message(const char *lead, const char *tail, const char *format, va_list arguments) {
  enum { LINE_SIZE = 8192 };
  char line[LINE_SIZE];
  if (vsnprintf(line, sizeof(line), format, arguments) < 0) line[0] = '\0';
  text_clean(line);
  progress_clear();
  terminal_reasoning_end();
  fflush(stdout);
  fprintf(stderr, "%s%s%s\n", lead, line, tail);
}

int complain(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  message("tombola: ", "", format, arguments);
  va_end(arguments);
  return EXIT_FAILED;
}

int complain_usage(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  message("tombola: ", "", format, arguments);
  va_end(arguments);
  return EXIT_USAGE;
}

void note(const char *format, ...) {
  va_list arguments;
  if (state.quiet) return;
  va_start(arguments, format);
  message("tombola: ", "", format, arguments);
  va_end(arguments);
}

int complain_error(enum tombola_status status, const struct tombola_error *error) {
  const char *text = error->message[0] ? error->message : tombola_status_text(status);
  return status == TOMBOLA_INVALID_ARGUMENT ? complain_usage("%s", text) : complain("%s", text);
}

void terminal_dim(const char *format, ...) {
  va_list arguments;
  if (state.quiet) return;
  va_start(arguments, format);
  message(state.color ? "\033[2m" : "", state.color ? "\033[0m" : "", format, arguments);
  va_end(arguments);
}

/* ---- the terminal ---- */

static bool is_set(const char *name) {
  const char *value = getenv(name);
  return value && *value;
}

/* A flag decides; then NO_COLOR (no-color.org), CLICOLOR_FORCE (bixense.com/clicolors), and what standard
 * error is. */
static bool wants_color(enum color_mode mode) {
  if (mode != COLOR_AUTO) return mode == COLOR_ALWAYS;
  if (is_set("NO_COLOR")) return false;
  if (is_set("CLICOLOR_FORCE") && strcmp(getenv("CLICOLOR_FORCE"), "0") != 0) return true;
  return state.able;
}

void terminal_start(const struct options *options) {
  signal(SIGPIPE, SIG_IGN);
  state.terminal = isatty(STDERR_FILENO);
  state.able = state.terminal && is_set("TERM") && strcmp(getenv("TERM"), "dumb") != 0;
  state.output_terminal = isatty(STDOUT_FILENO);
  state.color = wants_color((enum color_mode)options->color);
  state.quiet = options->quiet;
}

bool terminal_is(void) {
  return state.terminal;
}
bool terminal_color(void) {
  return state.color;
}

/* ---- progress ---- */

enum { BAR_WIDTH = 30 };

void progress_show(const char *label, double done) {
  char bar[BAR_WIDTH + 1];
  int percent = (int)(done * 100);
  int filled;
  if (!state.able || state.quiet) return;
  if (percent < 0) percent = 0;
  if (percent > 100) percent = 100;
  if (state.bar && percent == state.bar_percent) return;
  filled = percent * BAR_WIDTH / 100;
  memset(bar, '#', (size_t)filled);
  memset(bar + filled, ' ', (size_t)(BAR_WIDTH - filled));
  bar[BAR_WIDTH] = '\0';
  fprintf(stderr, "\r\033[K%s [%s] %d %%", label, bar, percent);
  fflush(stderr);
  state.bar = true;
  state.bar_percent = percent;
}

void progress_clear(void) {
  if (!state.bar) return;
  fputs("\r\033[K", stderr);
  fflush(stderr);
  state.bar = false;
}

/* ---- standard output ---- */

static bool output_result(bool good) {
  if (!good && !state.output_error) state.output_error = errno ? errno : EIO;
  return state.output_error == 0;
}

bool output_write(const char *text, size_t length) {
  errno = 0;
  return output_result(fwrite(text, 1, length, stdout) == length);
}

/* The length of the control character at the beginning of the text: C0 but tab and line ends, DEL, C1; else
 * 0. */
static size_t control_length(const unsigned char *text, size_t length) {
  if (text[0] == '\t' || text[0] == '\n' || text[0] == '\r') return 0;
  if (text[0] < 0x20 || text[0] == 0x7f) return 1;
  return length > 1 && text[0] == 0xc2 && text[1] < 0xa0 ? 2 : 0;
}

/* Writes text of a model to a terminal. */
static bool write_plain(FILE *stream, const char *text, size_t length) {
  static const char replacement[] = "\xef\xbf\xbd";
  size_t plain = 0;
  while (plain < length) {
    size_t control = control_length((const unsigned char *)text + plain, length - plain);
    if (!control) {
      plain++;
      continue;
    }
    if (fwrite(text, 1, plain, stream) != plain || fwrite(replacement, 1, 3, stream) != 3) return false;
    text += plain + control;
    length -= plain + control;
    plain = 0;
  }
  return fwrite(text, 1, length, stream) == length;
}

bool output_text(const char *text, size_t length) {
  if (!state.output_terminal) return output_write(text, length);
  errno = 0;
  return output_result(write_plain(stdout, text, length));
}

void terminal_text(const char *text) {
  if (state.terminal)
    write_plain(stderr, text, strlen(text));
  else
    fputs(text, stderr);
  fputc('\n', stderr);
}

void terminal_reasoning(const char *text, size_t length) {
  if (!length) return;
  if (!state.reasons) fflush(stdout);
  if (!state.reasons && state.color) fputs("\033[2m", stderr);
  state.reasons = true;
  state.reasons_begin = text[length - 1] == '\n';
  if (state.terminal)
    write_plain(stderr, text, length);
  else
    fwrite(text, 1, length, stderr);
  fflush(stderr);
}

void terminal_reasoning_end(void) {
  if (!state.reasons) return;
  if (state.color) fputs("\033[0m", stderr);
  if (!state.reasons_begin) fputc('\n', stderr);
  fflush(stderr);
  state.reasons = false;
}

bool output_flush(void) {
  errno = 0;
  return output_result(fflush(stdout) == 0);
}

int output_finish(void) {
  output_flush();
  if (!state.output_error && ferror(stdout)) state.output_error = EIO;
  if (!state.output_error) return EXIT_OK;
  if (state.output_error == EPIPE) return EXIT_FAILED;
  return complain("cannot write to standard output: %s", strerror(state.output_error));
}

/* ---- signals ---- */

static volatile sig_atomic_t mode = INTERRUPT_LEAVES;
static volatile sig_atomic_t count;
static struct termios saved;
static volatile sig_atomic_t is_saved;
static volatile sig_atomic_t pastes; /* bracketed paste is on */

/* How the handlers leave the terminal; only calls that are allowed in one. */
static void restore_terminal(void) {
  static const char clear_line[] = "\r\033[K";
  ssize_t ignored = 0;
  if (state.bar) ignored = write(STDERR_FILENO, clear_line, sizeof(clear_line) - 1);
  if (state.reasons && state.color) ignored = write(STDERR_FILENO, "\033[0m", 4);
  if (pastes) ignored = write(STDERR_FILENO, "\033[?2004l", 8);
  if (!is_saved) return;
  if (state.terminal) ignored = write(STDERR_FILENO, "\n", 1);
  (void)ignored;
  tcsetattr(STDIN_FILENO, TCSANOW, &saved);
}

/* The first Ctrl-C of a mode may be waited for; a second one always ends the process. */
static void on_interrupt(int number) {
  (void)number;
  if (++count < 2 && mode != INTERRUPT_LEAVES) return;
  restore_terminal();
  _exit(EXIT_INTERRUPTED);
}

static void on_end(int number) {
  restore_terminal();
  signal(number, SIG_DFL);
  raise(number);
}

static void catch_signal(int number, void (*handler)(int)) {
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_handler = handler; /* without SA_RESTART: a read that waits returns */
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, NULL);
}

void interrupt_set(enum interrupt_mode new_mode) {
  mode = (sig_atomic_t)new_mode;
  count = 0;
  catch_signal(SIGINT, on_interrupt);
}

bool terminal_pastes(bool on) {
  pastes = state.able && on;
  return state.able;
}

bool interrupted(void) {
  return count > 0;
}

void terminal_save(void) {
  if (is_saved || tcgetattr(STDIN_FILENO, &saved) != 0) return;
  is_saved = 1;
  catch_signal(SIGTERM, on_end);
  catch_signal(SIGHUP, on_end);
  catch_signal(SIGQUIT, on_end);
}

double monotonic_seconds(void) {
  struct timespec time;
  if (clock_gettime(CLOCK_MONOTONIC, &time) != 0) return 0;
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}
