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

/* ---- the pipe: bytes of tokens in, labelled pieces of text out ---- */

enum tombola_channel { TOMBOLA_CONTENT = 0, TOMBOLA_REASONING = 1 };

/* A stop string: bytes, any but none. */
struct tombola_bytes {
  const char *data;
  size_t length;
};

/* What the pipe looks for. Everything is copied. All zero but struct_size: UTF-8 alone, all of it content. */
struct tombola_text_params {
  size_t struct_size;
  const struct tombola_bytes *stops; /* stop strings; at most 16384 bytes in all */
  size_t n_stops;
  int stops_at_piece_end;    /* 1: minfer's rule: a stop string counts only where a piece ends, and nothing is
                                held    back for it */
  int stops_in_reasoning;    /* 1: stop strings are looked for in the reasoning too */
  int keep_stop;             /* 1: the stop string stays in the text */
  const char *think_open;    /* the marker that opens reasoning, or NULL: no reasoning is split off */
  const char *think_close;   /* and the one that closes it */
  int starts_in_reasoning;   /* 1: the prompt has opened the block already */
  int marker_rule_of_pieces; /* 1: rMLX's rule: markers only inside one piece; all of a piece's text goes to
                                the channel that is open at its end */
  int keep_newlines;         /* 1: line ends next to a marker stay in the text */
};

/* Given text that is complete: whole characters, never empty. Returns 0 to take no more; the call that pushed
 * then returns CANCELLED. */
typedef int (*tombola_piece_fn)(void *context, enum tombola_channel channel, const char *text, size_t length);

/* The pipe of one answer. Markers are cut out; then stop strings are looked for, as bytes, wherever pieces
 * are cut: the first to be complete wins, at the same end the longest, then the first of the list. Of the
 * text in front, exactly the longest suffix that could still become a marker or a stop string is held back.
 * One thread at a time. */
typedef struct tombola_text tombola_text;

/* INVALID_ARGUMENT: an empty stop string, too many bytes, one marker without the other, equal markers.
 * NO_MEMORY. */
TOMBOLA_API enum tombola_status tombola_text_new(const struct tombola_text_params *params,
                                                 const struct tombola_allocator *allocator,
                                                 tombola_text **out, struct tombola_error *error);
TOMBOLA_API void tombola_text_free(tombola_text *text);

/* The bytes of one token. What is complete goes to `piece` (which may be NULL) before the call returns. After
 * a stop string nothing more comes out. CANCELLED; NO_MEMORY for a piece larger than any before it. */
TOMBOLA_API enum tombola_status tombola_text_push(tombola_text *text, const char *bytes, size_t length,
                                                  tombola_piece_fn piece, void *context);

/* The natural end: what is held back comes out, an unfinished character as U+FFFD. */
TOMBOLA_API enum tombola_status tombola_text_finish(tombola_text *text, tombola_piece_fn piece,
                                                    void *context);

/* For the next answer. */
TOMBOLA_API void tombola_text_reset(tombola_text *text, int starts_in_reasoning);

/* The index of the stop string that ended the text, or -1. */
TOMBOLA_API int tombola_text_stopped(const tombola_text *text);

/* Whether reasoning is open at this point. */
TOMBOLA_API enum tombola_channel tombola_text_channel(const tombola_text *text);

/* Whether a prompt leaves reasoning open: its last opening marker comes after its last closing one. */
TOMBOLA_API int tombola_text_prompt_opens(const char *prompt, size_t length, const char *think_open,
                                          const char *think_close);

#ifdef __cplusplus
}
#endif
#endif
