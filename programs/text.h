/* SPDX-License-Identifier: Apache-2.0 */
/* Growing arrays of the program: text, and token ids. All zero is empty. */
#ifndef TOMBOLA_PROGRAMS_TEXT_H
#define TOMBOLA_PROGRAMS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <tombola/status.h>

/* `data` has a NUL after its last byte (unless it is NULL), and may hold others. */
struct text {
  char *data;
  size_t length, room;
};

struct tokens {
  tombola_token *data;
  size_t count, room;
};

/* Each returns false when there is no memory; what was there stays. */
bool text_reserve(struct text *text, size_t more); /* room for so many further bytes and a NUL */
bool text_add(struct text *text, const char *bytes, size_t length);
bool text_add_string(struct text *text, const char *string);
void text_cut(struct text *text, size_t length);
void text_free(struct text *text);
/* Makes a string fit to print, in place: what is a control character (C0, DEL, C1) or no UTF-8 becomes '?'. */
void text_clean(char *string);
bool text_starts_with(const struct text *text, const struct text *start);

bool tokens_reserve(struct tokens *tokens, size_t more);
bool tokens_add(struct tokens *tokens, const tombola_token *ids, size_t count);
void tokens_free(struct tokens *tokens);

/* Adds everything that a stream still holds; false with errno set (ENOMEM as well). */
bool text_add_stream(struct text *text, FILE *stream);

#endif
