/* SPDX-License-Identifier: Apache-2.0 */
/* Masks in numbers with a vocabulary of every one to three digits, against every token tried byte by byte: digits that may
 * all follow are allowed without reading them. */
#include "constraint_support.h"

static struct support_words words;
static tombola_vocabulary *vocabulary;
static tombola_trie *trie;

static const char *const schemas[] = {
    "{\"type\":\"number\"}",
    "{\"type\":\"integer\"}",
    "{\"type\":\"integer\",\"minimum\":0,\"maximum\":100}",
    "{\"type\":\"integer\",\"minimum\":1,\"maximum\":65535}",
    "{\"type\":\"integer\",\"minimum\":-1200,\"exclusiveMaximum\":99}",
    "{\"type\":\"integer\",\"minimum\":250,\"maximum\":1999}",
    "{\"type\":\"number\",\"minimum\":-40,\"maximum\":85}",
    "{\"type\":\"number\",\"exclusiveMinimum\":850,\"exclusiveMaximum\":1100}",
    "{\"type\":\"number\",\"minimum\":0.125,\"maximum\":0.1309}",
    "{\"type\":\"number\",\"exclusiveMinimum\":9.99,\"maximum\":10.01}",
    "{\"type\":\"number\",\"minimum\":12,\"not\":{\"multipleOf\":3}}",
    "{\"type\":\"number\",\"minimum\":3,\"maximum\":50,\"not\":{\"const\":31.5}}",
    "{\"multipleOf\":0.01,\"minimum\":0.05,\"maximum\":41.2,\"type\":\"number\"}",
    "{\"multipleOf\":7,\"minimum\":20,\"maximum\":4000,\"type\":\"number\"}",
    "{\"multipleOf\":250,\"minimum\":-20000,\"maximum\":4000,\"type\":\"number\"}",
    "{\"type\":\"integer\",\"minimum\":0,\"maximum\":18446744073709551615}",
    "{\"type\":\"integer\",\"minimum\":99999999999999999,\"maximum\":180000000000000000000}",
    "{\"enum\":[1,12,120,1.25,99,-5,400]}",
    ("{\"anyOf\":[{\"type\":\"integer\",\"minimum\":0,\"maximum\":12},{\"type\":\"number\",\"minimum\":300,"
    "\"maximum\":310},{\"const\":51}]}"),
    "{\"type\":\"array\",\"uniqueItems\":true,\"items\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":12}}",
    "{\"type\":\"array\",\"uniqueItems\":true,\"items\":{\"type\":\"number\",\"minimum\":3,\"maximum\":4}}",
    "{\"type\":\"array\",\"items\":{\"type\":\"integer\",\"not\":{\"minimum\":10,\"maximum\":20}}}",
    "{\"type\":\"object\",\"additionalProperties\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":255}}",
};

static bool fits(tombola_matcher *bytes, size_t token) {
  const size_t length = words.offsets[token + 1] - words.offsets[token];
  if (words.flags[token] & TOMBOLA_TOKEN_END) return tombola_matcher_is_complete(bytes);
  if (tombola_matcher_accept_bytes(bytes, words.bytes + words.offsets[token], length, NULL, NULL))
    return false;
  assert_int_equal(tombola_matcher_rollback(bytes, 1), TOMBOLA_OK);
  return true;
}

/* Compares the mask with every token; fills in those that may come. */
static size_t check_mask(const char *schema, tombola_matcher *matcher, tombola_matcher *bytes,
                         size_t *allowed) {
  struct tombola_mask mask;
  size_t n = 0;
  assert_int_equal(tombola_matcher_mask(matcher, &mask, NULL), TOMBOLA_OK);
  for (size_t token = 0; token < words.count; token++) {
    const bool expected = fits(bytes, token);
    if ((mask.words[token / 32] >> token % 32 & 1) != expected)
      fail_msg("%s: '%.*s' is %s", schema, (int)(words.offsets[token + 1] - words.offsets[token]),
               words.bytes + words.offsets[token], expected ? "missing" : "too much");
    if (expected) allowed[n++] = token;
  }
  return n;
}

/* Along tokens that may come, one byte of a number's in three of four. */
static void walk(const char *schema, enum tombola_spelling spelling, struct support_rng *rng) {
  static size_t allowed[SUPPORT_TOKENS];
  struct tombola_grammar_source source = support_source(TOMBOLA_GRAMMAR_JSON_SCHEMA, schema);
  source.spelling = spelling;
  tombola_grammar *const g = support_grammar(&source, trie), *const plain = support_grammar(&source, NULL);
  tombola_matcher *const matcher = support_matcher(g), *const bytes = support_matcher(plain);
  for (size_t step = 0; step < 12; step++) {
    const size_t n = check_mask(schema, matcher, bytes, allowed);
    size_t token = allowed[support_below(rng, n)];
    for (size_t i = 0; i < 40 && support_below(rng, 4) &&
                       (token > 127 || !strchr("0123456789-.e", (int)token) || token == 0);
         i++)
      token = allowed[support_below(rng, n)];
    if (words.flags[token] & TOMBOLA_TOKEN_END) break;
    assert_int_equal(tombola_matcher_accept(matcher, (tombola_token)token, NULL), TOMBOLA_OK);
    assert_int_equal(tombola_matcher_accept_bytes(bytes, words.bytes + words.offsets[token],
                                                  words.offsets[token + 1] - words.offsets[token], NULL,
                                                  NULL),
                     TOMBOLA_OK);
  }
  tombola_matcher_free(matcher);
  tombola_matcher_free(bytes);
  tombola_grammar_free(g);
  tombola_grammar_free(plain);
}

static void test_masks(void **state) {
  (void)state;
  struct support_rng rng = support_rng(71);
  const size_t rounds = support_long() ? 100 : 6;
  for (size_t i = 0; i < TOMBOLA__COUNT(schemas); i++)
    for (size_t round = 0; round < rounds; round++)
      for (int plain = 0; plain < 2; plain++)
        walk(schemas[i], plain ? TOMBOLA_SPELLING_PLAIN : TOMBOLA_SPELLING_ANY, &rng);
}

static void add(const char *text) {
  (void)support_add(&words, text, strlen(text), 0);
}

static int make(void **state) {
  (void)state;
  static const char *const others[] = {"1.",
                                       "12.",
                                       "0.0",
                                       "7,",
                                       "31]",
                                       "5}",
                                       ".5",
                                       "-1",
                                       "-0.",
                                       "5e-",
                                       "0e1",
                                       "e+",
                                       "10]",
                                       "85.0",
                                       "1e5",
                                       "1,2",
                                       "[12",
                                       "00",
                                       "9,1",
                                       "\": 1",
                                       "12345",
                                       "00000",
                                       "99999999999999999999",
                                       "1234567890123456789012345678"};
  char text[4];
  for (unsigned byte = 0; byte < 256; byte++) {
    const char one = (char)byte;
    (void)support_add(&words, &one, 1, 0);
  }
  (void)support_add(&words, "</s>", 4, TOMBOLA_TOKEN_END);
  for (unsigned digits = 2; digits < 4; digits++)
    for (unsigned i = 0; i < (digits == 2 ? 100u : 1000u); i++) {
      (void)snprintf(text, sizeof text, "%0*u", (int)digits, i);
      add(text);
    }
  for (size_t i = 0; i < TOMBOLA__COUNT(others); i++)
    add(others[i]);
  vocabulary = support_vocabulary(&words);
  trie = support_trie(vocabulary);
  return 0;
}

static int drop(void **state) {
  (void)state;
  tombola_trie_free(trie);
  tombola_vocabulary_free(vocabulary);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_masks)};
  return cmocka_run_group_tests(tests, make, drop);
}
