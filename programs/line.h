/* SPDX-License-Identifier: Apache-2.0 */
/* Reads lines: from a terminal with a prompt, editing and history (where libedit was there when this was
 * built), else as they come. One reader at a time. */
#ifndef TOMBOLA_PROGRAMS_LINE_H
#define TOMBOLA_PROGRAMS_LINE_H

#include <stdbool.h>
#include <stddef.h>

enum line_result {
  LINE_READ,
  LINE_INTERRUPTED, /* Ctrl-C; *length is 0 when nothing had been typed */
  LINE_END,         /* end of input, Ctrl-D */
  LINE_FAILED       /* errno says why */
};

/* Whether a person sits there: standard input is a terminal, and so is where the prompt is shown. */
bool line_is_interactive(void);

/* Prepares reading; `prompt` is shown to a person, and Tab completes a line to one of `words` (NULL-terminated). Both
 * must stay valid. False: no memory. */
bool line_start(const char *prompt, const char *const *words);
void line_prompt(const char *prompt); /* another one */
void line_stop(void);

/* The next line without its end. The line is NUL-terminated, valid until the next call. *length counts a NUL in it as
 * well. Where lines are edited Ctrl-C drops what was typed; elsewhere, where that can't be known, it leaves the process
 * with status 130. */
enum line_result line_read(const char **line, size_t *length);

#endif
