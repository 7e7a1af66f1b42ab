/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 put together from pieces that were cut anywhere. Well-formed sequences are those of Unicode 15, table
 * 3-7; what isn't one becomes one U+FFFD for each maximal subpart (section 3.9). */
#include <stdbool.h>
#include <string.h>
#include <tombola/text.h>

static const char replacement[3] = {'\xEF', '\xBF', '\xBD'};

/* The length of a character by its first byte; 0 when no character begins with it. */
static size_t character_length(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0; /* a continuation byte, or the start of an overlong form */
  if (lead < 0xE0) return 2;
  if (lead < 0xF0) return 3;
  return lead <= 0xF4 ? 4 : 0;
}

/* Whether `byte` can be byte `index` of a character that begins with `lead`. Only the second byte depends on
 * the first: it rules out overlong forms (E0, F0), surrogates (ED) and what lies above U+10FFFF (F4). */
static bool continues(unsigned char lead, size_t index, unsigned char byte) {
  unsigned char least = 0x80, most = 0xBF;
  if (index == 1) {
    if (lead == 0xE0) least = 0xA0;
    if (lead == 0xED) most = 0x9F;
    if (lead == 0xF0) least = 0x90;
    if (lead == 0xF4) most = 0x8F;
  }
  return byte >= least && byte <= most;
}

/* Puts down a replacement; returns its length. */
static size_t replace(char *out) {
  memcpy(out, replacement, sizeof replacement);
  return sizeof replacement;
}

/* A byte that begins something. */
static size_t begin(struct tombola_utf8 *utf8, unsigned char byte, char *out) {
  size_t length = character_length(byte);
  if (length == 0) return replace(out);
  if (length == 1) {
    *out = (char)byte;
    return 1;
  }
  utf8->held[0] = byte;
  utf8->count = 1;
  return 0;
}

/* A byte behind an unfinished character. One that doesn't belong to it ends it, and begins something itself.
 */
static size_t go_on(struct tombola_utf8 *utf8, unsigned char byte, char *out) {
  unsigned char lead = utf8->held[0];
  if (!continues(lead, utf8->count, byte)) {
    utf8->count = 0;
    size_t written = replace(out);
    return written + begin(utf8, byte, out + written);
  }
  utf8->held[utf8->count++] = byte;
  size_t length = character_length(lead);
  if (utf8->count < length) return 0;
  memcpy(out, utf8->held, length);
  utf8->count = 0;
  return length;
}

size_t tombola_utf8_push(struct tombola_utf8 *utf8, const char *bytes, size_t length, char *out) {
  size_t written = 0;
  for (size_t i = 0; i < length; i++) {
    unsigned char byte = (unsigned char)bytes[i];
    written += utf8->count ? go_on(utf8, byte, out + written) : begin(utf8, byte, out + written);
  }
  return written;
}

size_t tombola_utf8_finish(struct tombola_utf8 *utf8, char *out) {
  if (utf8->count == 0) return 0;
  utf8->count = 0;
  return replace(out);
}

size_t tombola_utf8_whole(const char *bytes, size_t length) {
  const unsigned char *text = (const unsigned char *)bytes;
  for (size_t tail = 1; tail <= 3 && tail <= length; tail++) {
    const unsigned char *start = text + length - tail;
    size_t need = character_length(*start);
    if (need <= tail) {
      if (need != 0) return length; /* a whole character, or one that a wrong byte has ended */
      continue;                     /* perhaps a continuation byte; its first byte is further left */
    }
    for (size_t i = 1; i < tail; i++)
      if (!continues(*start, i, start[i])) return length;
    return length - tail;
  }
  return length;
}
