/* SPDX-License-Identifier: Apache-2.0 */
/* Masks in strings with a vocabulary of every text of up to four letters of a few, against every token tried byte by byte:
 * most are told apart by the first letters that a language has, or by their last one, without its states. And with one
 * that has spaces beyond ASCII, and what is next to them, whole and cut. */
#include "constraint/code_point.h"
#include "masks_support.h"

static const char letters[] = "ab0-", spaced[] = "ab0-/.\\";

static const char *const schemas[] = {
    "{\"enum\":[\"a\",\"ab\",\"aba\",\"abb0\",\"b-\",\"b-a0b\",\"b0\",\"0ab\",\"-\"]}",
    "{\"enum\":[\"aab\",\"bba\",\"0000000a\",\"0000000b\",\"\\u00e9a\",\"\\\"b\",\"a\\u00e9\"]}",
    "{\"type\":\"string\",\"pattern\":\"^a{2}-[b0]{3}-(?:ab|ba)*$\"}",
    "{\"type\":\"string\",\"pattern\":\"^(?:a|b?0|ab-)+$\",\"minLength\":3,\"maxLength\":7}",
    "{\"type\":\"string\",\"pattern\":\"^(?=.*a)(?=..b)(?!.*--)[ab-]{3,6}$\"}",
    "{\"type\":\"string\",\"pattern\":\"^[^a]*a[^b]*$\",\"not\":{\"const\":\"a0\"}}",
    "{\"anyOf\":[{\"pattern\":\"^a+b$\"},{\"pattern\":\"^[a0]{2}b?$\"},{\"pattern\":\"^b[ab]{2,}$\"}],"
    "\"type\":\"string\"}",
    "{\"type\":\"array\",\"uniqueItems\":true,\"items\":{\"enum\":[\"a\",\"ab\",\"abb\",\"b\",\"b0\"]}}",
    "{\"type\":\"object\",\"properties\":{\"a\":true,\"ab\":{\"enum\":[\"b\",\"b0\"]}},\"patternProperties\":"
    "{\"^b\":{\"const\":\"0\"}},"
    "\"additionalProperties\":false}",
    "{\"type\":\"string\",\"format\":\"date-time\"}",
    "{\"type\":\"string\",\"format\":\"uuid\"}",
};

static void test_masks(void **state) {
  (void)state;
  walk_all(schemas, TOMBOLA__COUNT(schemas), letters, 60);
}

static void add_all(char *text, size_t length) {
  for (size_t i = 0; letters[i]; i++) {
    text[length] = letters[i];
    text[length + 1] = 0;
    if (length) add(text);
    if (length < 3) add_all(text, length + 1);
  }
}

static int make(void **state) {
  (void)state;
  static const char *const others[] = {"a\"",   "ab\"", "\"a",  "b\",\"", "\\u00", "\xC3\xA9", "a\xC3",
                                       "\\\"b", "0\"]", "-b\"", "2024",   "12",    "23:",      "59",
                                       "T0",    ":60",  "-0",   "Z\"",    "+01:"};
  char text[8];
  add_bytes();
  add_all(text, 0);
  for (size_t i = 0; i < TOMBOLA__COUNT(others); i++)
    add(others[i]);
  make_trie();
  return 0;
}

/* ---- spaces ---- */

static const char *const patterns[] = {
    "^.+$",
    "^\\S+$",
    "^[^\\s]+-$",
    "^\\S+( \\S+)*$",
    "^.*\\.a$",
    "^(?!.*ab).*$",
    "^.{1,5}$",
    "^(?=..b)[^\\u2028\\u2029]{3,40}$",
    "^[^\\u3000]*-?$",
    "^[^\\u2028\\u2029]*$",
    "^[^\\u2001]*b$",
    "^[^\\u2001\\u200B]*$",
    "^[^\\u1680\\u205F\\u202F\\uFEFF]+$",
    "^[^\\u1681]+$",
    "^[^\\u0080-\\u009F\\u00A0]+$",
    "^[\\s-]+$",
    "^[\\u3000-]+$",
    "^/?([^/]+/)*[^/]+/?$",
    "^/?(\\S+/)*[^/]+/?$",
};

static void test_spaces(void **state) {
  (void)state;
  struct support_rng rng = support_rng(72);
  for (size_t i = 0; i < TOMBOLA__COUNT(patterns); i++)
    for (size_t round = 0; round < (support_long() ? 60 : 6); round++) {
      char schema[200], in_json[100];
      size_t n = 0;
      for (const char *c = patterns[i]; *c; in_json[n++] = *c++)
        if (*c == '\\') in_json[n++] = '\\';
      snprintf(schema, sizeof schema, "{\"type\":\"string\",\"pattern\":\"%.*s\"}", (int)n, in_json);
      struct tombola_grammar_source source = support_source(TOMBOLA_GRAMMAR_JSON_SCHEMA, schema);
      walk_source(&source, round % 2 ? "\"\\" : "\"", spaced, &rng);
      source.spelling = TOMBOLA_SPELLING_PLAIN;
      walk_source(&source, round % 2 ? "\"\\" : "\"", spaced, &rng);
      source = support_source(TOMBOLA_GRAMMAR_REGEX, patterns[i]);
      walk_source(&source, "", spaced, &rng);
    }
}

static void add_piece(const char *front, const char *middle, size_t from, size_t to, const char *back) {
  char text[16];
  const int n = snprintf(text, sizeof text, "%s%.*s%s", front, (int)(to - from), middle + from, back);
  (void)support_add(&words, text, (size_t)n, 0);
}

/* Spaces and their neighbours, between letters and without, and all that is left where they are cut. */
static int make_spaced(void **state) {
  (void)state;
  static const uint16_t points[] = {0x9F,   0xA0,   0xA1,   0x167F, 0x1680, 0x1681, 0x1FFF, 0x2000, 0x2001,
                                    0x200A, 0x200B, 0x2027, 0x2028, 0x2029, 0x202A, 0x202E, 0x202F, 0x2030,
                                    0x205E, 0x205F, 0x2060, 0x2FFF, 0x3000, 0x3001, 0xFEFE, 0xFEFF, 0xFF00};
  static const char *const around[][2] = {{"", ""}, {"b", ""}, {"", "a"}, {"-", "/"}, {"\xC3\xA9", "0"}};
  char text[8];
  memset(&words, 0, sizeof words);
  add_bytes();
  add_all(text, 0);
  for (size_t i = 0; i < TOMBOLA__COUNT(points); i++) {
    char c[8] = {0};
    const size_t n = tombola__utf8_write(points[i], c);
    for (size_t k = 0; k < TOMBOLA__COUNT(around); k++)
      for (size_t cut = 0; cut < n; cut++) {
        add_piece(around[k][0], c, 0, n - cut, around[k][1]);
        if (cut) add_piece(around[k][0], c, cut, n, around[k][1]);
      }
  }
  make_trie();
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_masks)};
  const struct CMUnitTest spaces[] = {cmocka_unit_test(test_spaces)};
  const int failed = cmocka_run_group_tests(tests, make, drop);
  return failed + cmocka_run_group_tests(spaces, make_spaced, drop);
}
