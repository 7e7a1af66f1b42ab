/* SPDX-License-Identifier: Apache-2.0 */
/* How the program speaks: answers on standard output, everything else on standard error; colour, the progress
 * bar, and what Ctrl-C does. State of the process, so it is kept here once and used from the main thread. */
#ifndef TOMBOLA_PROGRAMS_TERMINAL_H
#define TOMBOLA_PROGRAMS_TERMINAL_H

#include "options.h"

#if defined(__GNUC__)
#define TERMINAL_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define TERMINAL_PRINTF(text, first)
#endif

/* Prints "tombola: " and one line on standard error. The first two return the exit status that goes with it,
 * so that a function can end with them: EXIT_FAILED, EXIT_USAGE. A note is not printed under --quiet. */
int complain(const char *format, ...) TERMINAL_PRINTF(1, 2);
int complain_usage(const char *format, ...) TERMINAL_PRINTF(1, 2);
void note(const char *format, ...) TERMINAL_PRINTF(1, 2);

/* The same for the error of a library call; the exit status is EXIT_USAGE for a bad argument, else
 * EXIT_FAILED. */
int complain_error(enum tombola_status status, const struct tombola_error *error);

/* Takes --color and --quiet, and NO_COLOR, CLICOLOR_FORCE and TERM. Ignores SIGPIPE, so that a closed pipe is
 * an error of the write. */
void terminal_start(const struct options *options);

/* Whether standard error is a terminal; whether text on it may have colour. */
bool terminal_is(void);
bool terminal_color(void);

/* Prints a dim line on standard error, without "tombola: ". */
void terminal_dim(const char *format, ...) TERMINAL_PRINTF(1, 2);

/* Draws the bar on standard error when that is a terminal, no dumb one (TERM unset counts as one); `done` 0 to 1. It is removed by the next message
 * or by progress_clear(). */
void progress_show(const char *label, double done);
void progress_clear(void);

/* Writes to standard output; false when that failed. The first failure is remembered: output_finish()
 * flushes, reports it once (not for a closed pipe) and returns the exit status. */
bool output_write(const char *text, size_t length);
/* The same for what a model wrote, UTF-8: on a terminal, control characters are replaced, so that an answer
 * can't send commands to it. */
bool output_text(const char *text, size_t length);
bool output_flush(void);

/* A text of the person on standard error, with an end of line; on a terminal as output_text() has it. */
void terminal_text(const char *text);

/* Reasoning, dim, on standard error; the next message, or _end, begins a new line. */
void terminal_reasoning(const char *text, size_t length);
void terminal_reasoning_end(void);

int output_finish(void);

/* What Ctrl-C does: leave the process at once with status 130, also while a line is awaited; or stop the answer, or the
 * line, which looks at interrupted(). A second one then leaves as well. */
enum interrupt_mode { INTERRUPT_LEAVES, INTERRUPT_STOPS };
void interrupt_set(enum interrupt_mode mode); /* forgets what was counted */
bool interrupted(void);

/* Of a clock that only goes forward; 0 where there is none. */
double monotonic_seconds(void);

/* Notes that bracketed paste is on or off, so that a signal that ends the process switches it off. Returns whether the
 * terminal is to be told: not a dumb one. */
bool terminal_pastes(bool on);

/* Remembers how the terminal is set, so that a signal that ends the process puts it back. Once, before it is
 * changed. */
void terminal_save(void);

#endif
