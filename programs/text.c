/* SPDX-License-Identifier: Apache-2.0 */
#include "text.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The next size of an array that must hold `needed`; 0 when that is too much. */
static size_t grown(size_t room, size_t needed, size_t size) {
  size_t next = room < 64 ? 64 : room;
  while (next < needed)
    if (next > SIZE_MAX / 2 / size)
      return 0;
    else
      next *= 2;
  return next;
}

bool text_reserve(struct text *text, size_t more) {
  size_t room;
  char *data;
  if (more > SIZE_MAX / 4 || text->length > SIZE_MAX / 4) return false;
  if (text->data && text->length + more + 1 <= text->room) return true;
  room = grown(text->room, text->length + more + 1, 1);
  data = room ? realloc(text->data, room) : NULL;
  if (!data) return false;
  data[text->length] = '\0';
  text->data = data;
  text->room = room;
  return true;
}

bool text_add(struct text *text, const char *bytes, size_t length) {
  if (!text_reserve(text, length)) return false;
  if (length) memcpy(text->data + text->length, bytes, length);
  text->length += length;
  text->data[text->length] = '\0';
  return true;
}

bool text_add_string(struct text *text, const char *string) {
  return text_add(text, string, strlen(string));
}

void text_cut(struct text *text, size_t length) {
  if (length >= text->length) return;
  text->length = length;
  text->data[length] = '\0';
}

/* The length of the UTF-8 character (RFC 3629) that a string begins with; 0: none, or a control character. */
static size_t printable_length(const unsigned char *at) {
  size_t length = at[0] < 0x80 ? 1 : at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : at[0] < 0xf5 ? 4 : 0;
  if (length == 1) return at[0] >= 0x20 && at[0] != 0x7f;
  for (size_t i = 1; i < length; i++)
    if ((at[i] & 0xc0) != 0x80) return 0; /* also the string's end */
  if (at[0] == 0xc2 && at[1] < 0xa0) return 0;
  if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xf0 && at[1] < 0x90)) return 0; /* too long for what they are */
  if ((at[0] == 0xed && at[1] > 0x9f) || (at[0] == 0xf4 && at[1] > 0x8f)) return 0; /* a surrogate; past the last */
  return length;
}

void text_clean(char *string) {
  while (*string) {
    size_t length = printable_length((const unsigned char *)string);
    if (!length) *string = '?';
    string += length ? length : 1;
  }
}

void text_free(struct text *text) {
  free(text->data);
  *text = (struct text){NULL, 0, 0};
}

bool text_starts_with(const struct text *text, const struct text *start) {
  return text->length >= start->length &&
         (!start->length || memcmp(text->data, start->data, start->length) == 0);
}

bool text_add_stream(struct text *text, FILE *stream) {
  for (;;) {
    size_t got;
    errno = 0;
    if (!text_reserve(text, 65536)) {
      errno = ENOMEM;
      return false;
    }
    got = fread(text->data + text->length, 1, 65536, stream);
    text->length += got;
    text->data[text->length] = '\0';
    if (ferror(stream)) return false;
    if (got == 0 || feof(stream))
      return true; /* asking again would make a terminal wait for a second Ctrl-D */
  }
}

bool tokens_reserve(struct tokens *tokens, size_t more) {
  size_t room;
  tombola_token *data;
  if (more > SIZE_MAX / 16 || tokens->count > SIZE_MAX / 16) return false;
  if (tokens->data && tokens->count + more <= tokens->room) return true;
  room = grown(tokens->room, tokens->count + more, sizeof(*data));
  data = room ? realloc(tokens->data, room * sizeof(*data)) : NULL;
  if (!data) return false;
  tokens->data = data;
  tokens->room = room;
  return true;
}

bool tokens_add(struct tokens *tokens, const tombola_token *ids, size_t count) {
  if (!tokens_reserve(tokens, count)) return false;
  if (count) memcpy(tokens->data + tokens->count, ids, count * sizeof(*ids));
  tokens->count += count;
  return true;
}

void tokens_free(struct tokens *tokens) {
  free(tokens->data);
  *tokens = (struct tokens){NULL, 0, 0};
}
