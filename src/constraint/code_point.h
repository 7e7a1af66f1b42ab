/* SPDX-License-Identifier: Apache-2.0 */
/* Code points in UTF-8, as all of the constraint reads and writes them. */
#ifndef TOMBOLA_CODE_POINT_H
#define TOMBOLA_CODE_POINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many bytes of a well-formed character are at the front of a text that isn't empty: all of them, or as many as
 * there are where the end cuts it; 0 when there is none (Unicode 15, table 3-7). Arithmetic, as texts mix lengths. */
static inline size_t tombola__utf8_size(const char *text, size_t length) {
  const unsigned lead = (unsigned char)text[0];
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  const size_t size = 2u + (lead >= 0xE0) + (lead >= 0xF0);
  const size_t here = size < length ? size : length;
  if (here > 1) {
    const unsigned second = (unsigned char)text[1];
    const unsigned low = 0x80u + 0x20u * (lead == 0xE0) + 0x10u * (lead == 0xF0);
    const unsigned high = 0xBFu - 0x20u * (lead == 0xED) - 0x30u * (lead == 0xF4);
    if (second < low || second > high) return 0;
  }
  for (size_t i = 2; i < here; i++)
    if (((unsigned char)text[i] & 0xC0) != 0x80) return 0;
  return here;
}

/* The length of the well-formed character at the front of a text, and the character; 0 when there is none. */
static inline size_t tombola__utf8_read(const char *text, size_t length, uint32_t *code_point) {
  const size_t n = length ? tombola__utf8_size(text, length) : 0;
  const unsigned lead = n ? (unsigned char)text[0] : 0;
  if (n != 1u + (lead >= 0xC0) + (lead >= 0xE0) + (lead >= 0xF0)) return 0; /* none, or cut */
  uint32_t c = n == 1 ? lead : lead & (0x7Fu >> n);
  for (size_t i = 1; i < n; i++)
    c = c << 6 | ((unsigned char)text[i] & 0x3Fu);
  *code_point = c;
  return n;
}

/* Whether it is one of the characters beyond ASCII that \s of a pattern means; `.` leaves two of them out. */
static inline bool tombola__is_wide_space(uint32_t code_point) {
  if (code_point < 0x1680) return code_point == 0xA0;
  if (code_point - 0x2000u < 0x60u)
    return code_point <= 0x200A || code_point == 0x2028 || code_point == 0x2029 || code_point == 0x202F ||
           code_point == 0x205F;
  return code_point == 0x1680 || code_point == 0x3000 || code_point == 0xFEFF;
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
