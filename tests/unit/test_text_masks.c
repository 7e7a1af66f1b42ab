/* SPDX-License-Identifier: Apache-2.0 */
/* Masks in strings with a vocabulary of every text of up to four letters of a few, against every token tried byte by byte:
 * most are told apart by the first letters that a language has, or by their last one, without its states. */
#include "masks_support.h"

static const char letters[] = "ab0-";

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

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_masks)};
  return cmocka_run_group_tests(tests, make, drop);
}
