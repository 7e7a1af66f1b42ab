/* SPDX-License-Identifier: Apache-2.0 */
/* The UTF-8 assembler against the worked cases C01, C03 and C04, and against a slow decoder that works by
 * code point values and not by byte ranges; and the property that it doesn't matter where the bytes are cut.
 */
#include "support.h"

#include <stdbool.h>
#include <string.h>
#include <tombola/text.h>
#include <tombola/vocabulary.h>

/* ---- the slow decoder ---- */

/* Whether [low, high] holds a code point that needs `length` bytes. */
static bool holds_code_point(uint32_t low, uint32_t high, size_t length) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000}, most[] = {0, 0x7F, 0x7FF, 0xFFFF, 0x10FFFF};
  if (low < least[length]) low = least[length];
  if (high > most[length]) high = most[length];
  if (low >= 0xD800 && low <= 0xDFFF) low = 0xE000;
  return low <= high;
}

/* How many bytes at the start belong to one character or to the start of one; *whole says whether it is
 * complete. 0: the first byte begins no character. */
static size_t longest_start(const unsigned char *bytes, size_t n, bool *whole) {
  *whole = false;
  size_t length = bytes[0] < 0x80       ? 1
                  : bytes[0] >> 5 == 6  ? 2
                  : bytes[0] >> 4 == 14 ? 3
                  : bytes[0] >> 3 == 30 ? 4
                                        : 0;
  if (length == 0) return 0;
  uint32_t value = length == 1 ? bytes[0] : bytes[0] & (0x7Fu >> length);
  size_t good = 0;
  for (size_t i = 1; i <= length && i <= n; i++) {
    if (i > 1) {
      if (bytes[i - 1] >> 6 != 2) break;
      value = value << 6 | (bytes[i - 1] & 0x3Fu);
    }
    unsigned missing = (unsigned)(6 * (length - i));
    if (!holds_code_point(value << missing, (value << missing) + ((1u << missing) - 1), length)) break;
    good = i;
  }
  *whole = good == length;
  return good;
}

/* The text of n bytes; `whole_bytes` gets how many of them stand before an unfinished character at the end.
 */
static size_t slow_text(const unsigned char *bytes, size_t n, char *out, size_t *whole_bytes) {
  size_t written = 0;
  *whole_bytes = n;
  for (size_t i = 0; i < n;) {
    bool whole;
    size_t size = longest_start(bytes + i, n - i, &whole);
    if (whole) {
      memcpy(out + written, bytes + i, size);
      written += size;
    } else {
      if (size > 0 && i + size == n) *whole_bytes = i;
      memcpy(out + written, "\xEF\xBF\xBD", 3);
      written += 3;
    }
    i += size > 0 ? size : 1;
  }
  return written;
}

/* ---- worked cases ---- */

#define MOST_PIECES 5

struct worked {
  const char *pieces[MOST_PIECES];     /* NULL: no more */
  const char *deltas[MOST_PIECES + 1]; /* what each piece brings, then what the end brings */
};

static void run_worked(const struct worked *cases, size_t n) {
  for (size_t c = 0; c < n; c++) {
    struct tombola_utf8 utf8 = {{0}, 0};
    char out[64];
    size_t i = 0;
    for (; i < MOST_PIECES && cases[c].pieces[i]; i++) {
      size_t length = tombola_utf8_push(&utf8, cases[c].pieces[i], strlen(cases[c].pieces[i]), out);
      out[length] = '\0';
      assert_string_equal(out, cases[c].deltas[i]);
    }
    out[tombola_utf8_finish(&utf8, out)] = '\0';
    assert_string_equal(out, cases[c].deltas[i] ? cases[c].deltas[i] : "");
    assert_int_equal(utf8.count, 0);
  }
}

static void case_c01_split_characters_arrive_whole(void **state) {
  (void)state;
  static const struct worked cases[] = {
      {{"\xF0\x9F", "\xA4", "\xA3"}, {"", "", "\xF0\x9F\xA4\xA3"}},
      {{"\x20\xC4", "\x8F\xC3\xA1\x62"},
       {" ", "\xC4\x8F\xC3\xA1"
             "b"}},
      {{"\xE2\x9D\xA4", "\xEF\xB8\x8F"}, {"\xE2\x9D\xA4", "\xEF\xB8\x8F"}},
  };
  run_worked(cases, sizeof cases / sizeof *cases);
  assert_int_equal(tombola_utf8_whole("\xE4\xBD", 2), 0);
  assert_int_equal(tombola_utf8_whole("\xE4\xBD\xA0\xE5", 4), 3);
  assert_int_equal(tombola_utf8_whole("\x61", 1), 1);
  assert_int_equal(tombola_utf8_whole("\xE4\xBD\xA0", 3), 3);
  assert_int_equal(tombola_utf8_whole("", 0), 0);
}

#define BAD "\xEF\xBF\xBD"

static void case_c03_ill_formed_bytes_are_replaced_at_once(void **state) {
  (void)state;
  static const struct worked cases[] = {
      {{"\xC3", "\x28", "\x61"}, {"", BAD "(", "a"}},
      {{"\x80", "\x61"}, {BAD, "a"}},
      {{"\x61", "\xEF\xBF\xBD", "\xEF\xBF\xBD", "\x62"}, {"a", BAD, BAD, "b"}},
      {{"\xED\xA0\xBD", "\x61"}, {BAD BAD BAD, "a"}},
      {{"\xC0\xAF"}, {BAD BAD}},
      {{"\xF0\x9F\xA4"}, {"", BAD}}, /* an incomplete tail is one, at the end */
      {{"\xF4\x90"}, {BAD BAD}},     /* above U+10FFFF */
      {{"\xF4", "\x8F\xBF", "\xBF"}, {"", "", "\xF4\x8F\xBF\xBF"}},
      /* The example of Unicode 15, table 3-8. */
      {{"\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64"}, {"a" BAD BAD BAD "b" BAD "c" BAD BAD "d"}},
  };
  run_worked(cases, sizeof cases / sizeof *cases);
}

/* The flag says that a token is a byte; the vocabulary then holds that byte, and the text is put together
 * from bytes. */
static void case_c04_byte_tokens_are_bytes(void **state) {
  (void)state;
  static const char bytes[] = "\xEC\x9E\xA0 \xEA\xB9\xB0 \xEC\x88\x98x<0xEA>";
  static const size_t offsets[] = {0, 4, 5, 6, 7, 11, 12, 18};
  static const uint8_t flags[] = {0, TOMBOLA_TOKEN_BYTE, TOMBOLA_TOKEN_BYTE, TOMBOLA_TOKEN_BYTE, 0, 0, 0};
  const struct tombola_vocabulary_source source = {sizeof source, 7, bytes, offsets, flags, NULL, NULL};
  static const struct {
    tombola_token tokens[5];
    size_t n;
    const char *text;
  } cases[] = {{{0, 1, 2, 3, 4}, 5, "\xEC\x9E\xA0 \xEA\xB9\xB0 \xEC\x88\x98"},
               {{1, 5}, 2, BAD "x"},
               {{6}, 1, "<0xEA>"}};
  tombola_vocabulary *vocabulary;
  assert_int_equal(tombola_vocabulary_new(&source, NULL, &vocabulary, NULL), TOMBOLA_OK);
  for (size_t c = 0; c < 3; c++) {
    struct tombola_utf8 utf8 = {{0}, 0};
    char text[64];
    size_t written = 0;
    for (size_t i = 0; i < cases[c].n; i++) {
      size_t length;
      const char *piece = tombola_vocabulary_bytes(vocabulary, cases[c].tokens[i], &length);
      written += tombola_utf8_push(&utf8, piece, length, text + written);
    }
    written += tombola_utf8_finish(&utf8, text + written);
    text[written] = '\0';
    assert_string_equal(text, cases[c].text);
  }
  tombola_vocabulary_free(vocabulary);
}

/* ---- properties ---- */

/* Pushes the bytes cut behind each i for which bit i of `cuts` is set (the last piece takes the rest), and
 * compares the text with the slow decoder's. After each piece, what is held must be exactly what isn't whole
 * yet. */
static void check_cut(const unsigned char *bytes, size_t n, uint64_t cuts, const char *want,
                      size_t want_length) {
  struct tombola_utf8 utf8 = {{0}, 0};
  char out[TOMBOLA_UTF8_ROOM(64)], scratch[TOMBOLA_UTF8_ROOM(64)];
  size_t written = 0, start = 0;
  for (size_t i = 0; i < n; i++) {
    if (!(cuts >> i & 1) && i + 1 < n) continue;
    written += tombola_utf8_push(&utf8, (const char *)bytes + start, i + 1 - start, out + written);
    start = i + 1;
    size_t whole;
    slow_text(bytes, start, scratch, &whole);
    if (utf8.count != start - whole) fail_msg("%u bytes held, %zu are unfinished", utf8.count, start - whole);
    if (tombola_utf8_whole((const char *)bytes, start) != whole) fail_msg("a wrong whole prefix");
  }
  written += tombola_utf8_finish(&utf8, out + written);
  if (written != want_length || memcmp(out, want, written) != 0) fail_msg("the text depends on the cut");
}

static void every_short_sequence_cut_everywhere(void **state) {
  (void)state;
  static const unsigned char interesting[] = {0x00, 0x61, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF,
                                              0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE,
                                              0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF};
  const size_t kinds = sizeof interesting;
  for (size_t n = 1, count = kinds; n <= 4; n++, count *= kinds) {
    for (size_t which = 0; which < count; which++) {
      unsigned char bytes[4];
      for (size_t i = 0, rest = which; i < n; i++, rest /= kinds)
        bytes[i] = interesting[rest % kinds];
      char want[16];
      size_t whole, length = slow_text(bytes, n, want, &whole);
      for (uint64_t cuts = 0; cuts < UINT64_C(1) << (n - 1); cuts++)
        check_cut(bytes, n, cuts, want, length);
    }
  }
}

/* Mostly characters, some of them damaged. */
static size_t random_bytes(struct support_rng *rng, unsigned char *bytes, size_t most) {
  static const char *const pieces[] = {
      "a", "\xC3\xA9", "\xE4\xBD\xA0", "\xF0\x9F\xA4\xA3", "\xEF\xBF\xBD", "\xED\x9F\xBF"};
  size_t n = 0;
  while (n + 4 <= most) {
    const char *piece = pieces[support_below(rng, 6)];
    memcpy(bytes + n, piece, strlen(piece));
    n += strlen(piece);
    if (support_below(rng, 4) == 0) bytes[n - 1] = (unsigned char)support_u32(rng);
    if (support_below(rng, 8) == 0) n--;
  }
  return n;
}

static void random_texts_cut_anywhere(void **state) {
  (void)state;
  struct support_rng rng = support_rng(21);
  int rounds = support_long() ? 400000 : 20000;
  for (int round = 0; round < rounds; round++) {
    unsigned char bytes[64];
    char want[TOMBOLA_UTF8_ROOM(64)];
    size_t n = random_bytes(&rng, bytes, 1 + support_below(&rng, 60)), whole;
    if (n == 0) continue;
    size_t length = slow_text(bytes, n, want, &whole);
    check_cut(bytes, n, support_u64(&rng), want, length);
    check_cut(bytes, n, UINT64_MAX, want, length);
    check_cut(bytes, n, 0, want, length);
  }
}

/* The worst input for the output's size, with guard pages behind both. */
static void nothing_beyond_the_promised_room(void **state) {
  (void)state;
  struct support_guard in = support_guard_new(100), out = support_guard_new(TOMBOLA_UTF8_ROOM(100));
  for (size_t n = 0; n <= 100; n++) {
    struct tombola_utf8 utf8 = {{0}, 0};
    char first[16];
    assert_int_equal(tombola_utf8_push(&utf8, "\xF0\x9F\xA4", 3, first), 0);
    char *bytes = support_guard_end(&in, n), *text = support_guard_end(&out, TOMBOLA_UTF8_ROOM(n));
    memset(bytes, 0xFF, n);
    assert_int_equal(tombola_utf8_push(&utf8, bytes, n, text), n == 0 ? 0 : 3 * (n + 1));
    assert_int_equal(tombola_utf8_whole(bytes, n), n);
  }
  char *start = support_guard_start(&in);
  memset(start, 0x80, 8);
  for (size_t n = 0; n <= 8;
       n++) /* nothing but continuation bytes: the search for a first byte stops at the start */
    assert_int_equal(tombola_utf8_whole(start, n), n);
  support_guard_free(&in);
  support_guard_free(&out);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(case_c01_split_characters_arrive_whole),
      cmocka_unit_test(case_c03_ill_formed_bytes_are_replaced_at_once),
      cmocka_unit_test(case_c04_byte_tokens_are_bytes),
      cmocka_unit_test(every_short_sequence_cut_everywhere),
      cmocka_unit_test(random_texts_cut_anywhere),
      cmocka_unit_test(nothing_beyond_the_promised_room),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
