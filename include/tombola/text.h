/* SPDX-License-Identifier: Apache-2.0 */
/* From token bytes to text that can be shown: only whole characters leave.
 * Rule for ill-formed bytes: one U+FFFD for each maximal subpart (Unicode 15, section 3.9, table 3-8), at
 * once. */
#ifndef TOMBOLA_TEXT_H
#define TOMBOLA_TEXT_H

#include <tombola/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A UTF-8 assembler. All zero is its initial state; it holds at most three bytes of an unfinished character.
 */
struct tombola_utf8 {
  unsigned char held[4];
  unsigned char count;
};

/* The room that `length` further bytes can need: each may end an unfinished character or become a U+FFFD. */
#define TOMBOLA_UTF8_ROOM(length) (3 * ((size_t)(length) + 3))

/* Takes bytes, writes the whole characters that they complete (and U+FFFD for ill-formed ones) to `out`,
 * holds back an unfinished character at the end. Returns the number of bytes written. `out` must have
 * TOMBOLA_UTF8_ROOM(length) bytes and not overlap `bytes`; it isn't NUL-terminated. Never fails. */
TOMBOLA_API size_t tombola_utf8_push(struct tombola_utf8 *utf8, const char *bytes, size_t length, char *out);

/* The end of the text: what is still held becomes one U+FFFD. `out` must have 3 bytes. Returns the number
 * written. */
TOMBOLA_API size_t tombola_utf8_finish(struct tombola_utf8 *utf8, char *out);

/* The length of the longest prefix of bytes that doesn't end inside a character. Ill-formed bytes don't count
 * as the beginning of one. */
TOMBOLA_API size_t tombola_utf8_whole(const char *bytes, size_t length);

#ifdef __cplusplus
}
#endif
#endif
