/* SPDX-License-Identifier: Apache-2.0 */
/* Filling in a tombola_error. Values that end up in a message come from users and files, so they are made fit
 * to print: one line, no control characters, never half a UTF-8 character at a cut. */
#include "base.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Number of bytes, out of the first `length`, that don't end inside a UTF-8 character. */
static size_t whole_length(const char *text, size_t length) {
  size_t start = length;
  while (start > 0 && length - start < 3 && ((unsigned char)text[start - 1] & 0xC0) == 0x80)
    start--;
  if (start == 0) return length;
  unsigned char lead = (unsigned char)text[start - 1];
  size_t need = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
  return length - (start - 1) < need ? start - 1 : length;
}

/* C0 controls, DEL, and C1 controls (U+0080 to U+009F, two bytes in UTF-8) become '?'. */
static void mask_controls(char *text) {
  for (unsigned char *c = (unsigned char *)text; *c; c++) {
    if (*c < 0x20 || *c == 0x7F) {
      *c = '?';
    } else if (*c == 0xC2 && c[1] >= 0x80 && c[1] <= 0x9F) {
      c[0] = '?';
      c[1] = '?';
    }
  }
}

/* Copies with a cut at `size`; `from` may be the text that `to` held before. */
static void copy_cut(char *to, size_t size, const char *from) {
  size_t length = strlen(from);
  if (length >= size) length = whole_length(from, size - 1);
  memmove(to, from, length);
  to[length] = '\0';
  mask_controls(to);
}

enum tombola_status tombola__fail(struct tombola_error *error, enum tombola_status status, const char *param,
                                  const char *format, ...) {
  if (!error) return status;

  /* The arguments may point into the error itself (a message that wraps another), so it is written last. */
  char message[sizeof error->message + 1];
  va_list arguments;
  va_start(arguments, format);
  int written = vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  if (written < 0) message[0] = '\0';

  error->status = status;
  error->offset = 0;
  copy_cut(error->param, sizeof error->param, param ? param : "");
  copy_cut(error->message, sizeof error->message, message);
  return status;
}

enum tombola_status tombola__no_memory(struct tombola_error *error) {
  return tombola__fail(error, TOMBOLA_NO_MEMORY, NULL, "%s", tombola_status_text(TOMBOLA_NO_MEMORY));
}
