/* SPDX-License-Identifier: Apache-2.0 */
/* Code points in UTF-8, as all of the constraint reads and writes them. */
#ifndef TOMBOLA_CODE_POINT_H
#define TOMBOLA_CODE_POINT_H

#include <stddef.h>
#include <stdint.h>

/* The length of the well-formed character at the front of a text, and the character; 0 when there is none (Unicode 15,
 * table 3-7). */
static inline size_t tombola__utf8_read(const char *text, size_t length, uint32_t *code_point) {
  static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
  if (length == 0) return 0;
  const unsigned char lead = (unsigned char)text[0];
  const size_t n = lead < 0x80   ? 1
                   : lead < 0xC2 ? 0
                   : lead < 0xE0 ? 2
                   : lead < 0xF0 ? 3
                   : lead < 0xF5 ? 4
                                 : 0;
  if (!n || n > length) return 0;
  uint32_t c = n == 1 ? lead : lead & (0x7Fu >> n);
  for (size_t i = 1; i < n; i++) {
    const unsigned char byte = (unsigned char)text[i];
    if ((byte & 0xC0) != 0x80) return 0;
    c = c << 6 | (byte & 0x3Fu);
  }
  *code_point = c;
  return c < least[n] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF) ? 0 : n;
}

static inline unsigned tombola__utf8_length(uint32_t code_point) {
  return code_point < 0x80 ? 1 : code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
}

/* Writes at most 4 bytes; how many. */
static inline size_t tombola__utf8_write(uint32_t code_point, char *out) {
  static const unsigned char lead[5] = {0, 0, 0xC0, 0xE0, 0xF0};
  const size_t n = tombola__utf8_length(code_point);
  for (size_t i = n; i-- > 1; code_point >>= 6)
    out[i] = (char)(0x80 | (code_point & 0x3F));
  out[0] = (char)(lead[n] | code_point);
  return n;
}

#endif
