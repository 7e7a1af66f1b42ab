/* SPDX-License-Identifier: Apache-2.0 */
/* Faults that constraint engines have had, the cases that need tokens or a clock: D01 (white space and the end), D07
 * (large bounds), D09 (parts of characters). Those about whole texts are in tests/golden/constraint_cases.jsonl. */
#include "constraint_group.h"

#include <time.h>

static bool bit(const struct tombola_mask *mask, size_t token) {
  return mask->words[token / 32] >> token % 32 & 1;
}

static struct tombola_mask mask_of(tombola_matcher *m) {
  struct tombola_mask mask;
  struct tombola_error error = {0};
  if (tombola_matcher_mask(m, &mask, &error)) fail_msg("%s", error.message);
  return mask;
}

static size_t fits(tombola_matcher *m, const char *text, size_t length) {
  size_t fit;
  tombola_matcher_accept_bytes(m, text, length, &fit, NULL);
  return fit;
}

static void accept_text(tombola_matcher *m, const char *text) {
  const size_t length = strlen(text), fit = fits(m, text, length);
  if (fit != length) fail_msg("'%s' fits up to byte %zu", text, fit);
}

/* ---- D01 ---- */

static const char d01_schema[] = "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"}},"
                                 "\"required\":[\"a\"],\"additionalProperties\":false}";

static tombola_matcher *d01(void) {
  const struct tombola_grammar_source source = support_source(TOMBOLA_GRAMMAR_JSON_SCHEMA, d01_schema);
  tombola_grammar *const g = support_grammar(&source, trie);
  tombola_matcher *const m = support_matcher(g);
  tombola_grammar_free(g);
  return m;
}

/* 64 bytes of white space, one token each; then there is none in the mask. */
static void d01_white_space_is_bounded(void **state) {
  (void)state;
  tombola_matcher *const m = d01();
  assert_int_equal(tombola_matcher_accept(m, '{', NULL), TOMBOLA_OK);
  for (size_t i = 0; i < 64; i++) {
    const uint8_t byte = i == 0 ? '\n' : ' ';
    const struct tombola_mask mask = mask_of(m);
    assert_true(bit(&mask, byte));
    assert_int_equal(tombola_matcher_accept(m, byte, NULL), TOMBOLA_OK);
  }
  const struct tombola_mask mask = mask_of(m);
  assert_true(bit(&mask, '"'));
  for (size_t token = 0; token < words.count; token++) {
    const char *const bytes = words.bytes + words.offsets[token];
    if (words.offsets[token + 1] > words.offsets[token] && strchr(" \t\r\n", *bytes) && *bytes)
      assert_false(bit(&mask, token));
  }
  assert_int_equal(tombola_matcher_accept(m, ' ', NULL), TOMBOLA_INVALID_ARGUMENT);
  tombola_matcher_free(m);
}

static void d01_only_the_end_follows_a_whole_text(void **state) {
  (void)state;
  tombola_matcher *const m = d01();
  accept_text(m, "{\"a\":1");
  const struct tombola_mask before = mask_of(m);
  assert_false(bit(&before, SUPPORT_END) || bit(&before, SUPPORT_END_TOO));
  assert_int_equal(tombola_matcher_accept(m, SUPPORT_END, NULL), TOMBOLA_INVALID_ARGUMENT);
  accept_text(m, "}");
  const struct tombola_mask mask = mask_of(m);
  for (size_t token = 0; token < words.count; token++)
    assert_int_equal(bit(&mask, token), (words.flags[token] & TOMBOLA_TOKEN_END) != 0);
  tombola_matcher_free(m);
}

/* However the text is split into calls. */
static void d01_calls_do_not_matter(void **state) {
  (void)state;
  static const char text[] = "{\"a\":1}";
  tombola_matcher *const m = d01();
  for (size_t split = 0; split <= sizeof text - 1; split++) {
    assert_int_equal(fits(m, text, split), split);
    assert_int_equal(fits(m, text + split, sizeof text - 1 - split), sizeof text - 1 - split);
    assert_int_equal(tombola_matcher_accept(m, SUPPORT_END, NULL), TOMBOLA_OK);
    assert_int_equal(tombola_matcher_accept(m, SUPPORT_END, NULL), TOMBOLA_OK);
    tombola_matcher_reset(m);
  }
  for (size_t i = 0; i < sizeof text - 1; i++)
    assert_int_equal(tombola_matcher_accept(m, (uint8_t)text[i], NULL), TOMBOLA_OK);
  assert_int_equal(tombola_matcher_accept(m, SUPPORT_END_TOO, NULL), TOMBOLA_OK);
  tombola_matcher_free(m);
}

/* ---- D07 ---- */

static double seconds(void) {
  return (double)clock() / CLOCKS_PER_SEC; /* of this process: others don't count */
}

static void d07_an_edge_of_2000(void **state) {
  (void)state;
  static char text[2003];
  const struct tombola_grammar_source source =
      support_source(TOMBOLA_GRAMMAR_JSON_SCHEMA, "{\"type\":\"string\",\"maxLength\":2000}");
  tombola_grammar *const g = support_grammar(&source, trie);
  tombola_matcher *const m = support_matcher(g);
  memset(text, 'x', sizeof text);
  text[0] = '"';
  assert_int_equal(fits(m, text, 2001), 2001);
  const struct tombola_mask mask = mask_of(m);
  assert_true(bit(&mask, '"') && !bit(&mask, 'x') && !bit(&mask, '\\'));
  accept_text(m, "\"");
  assert_true(tombola_matcher_is_complete(m));
  tombola_matcher_reset(m);
  assert_int_equal(fits(m, text, 2002), 2001);
  tombola_matcher_free(m);
  tombola_grammar_free(g);
}

static void d07_a_nested_bound_compiles_at_once(void **state) {
  (void)state;
  const struct tombola_grammar_source source =
      support_source(TOMBOLA_GRAMMAR_JSON_SCHEMA,
                     "{\"type\":\"object\",\"properties\":{\"p\":{\"type\":\"object\",\"properties\":"
                     "{\"s\":{\"type\":\"string\",\"maxLength\":65536}}}}}");
  const double start = seconds();
  tombola_grammar *const g = support_grammar(&source, trie);
  if (seconds() - start > 1) fail_msg("%g s", seconds() - start);
  tombola_grammar_free(g);
}

/* An array of n numbers, token by token with the masks on the way: none takes 50 ms. */
static bool d07_array(tombola_matcher *m, size_t n) {
  double slowest = 0;
  bool good = true;
  tombola_matcher_reset(m);
  for (size_t i = 0; i <= 2 * n && good; i++) {
    const tombola_token token = i == 0 ? '[' : i == 2 * n ? ']' : i % 2 ? '7' : ',';
    const double start = seconds();
    const struct tombola_mask mask = mask_of(m);
    good = tombola_matcher_accept(m, token, NULL) == TOMBOLA_OK;
    const double took = seconds() - start;
    slowest = took > slowest ? took : slowest;
    assert_int_equal(good, bit(&mask, (size_t)token));
  }
  if (slowest > 0.05) fail_msg("%g ms", slowest * 1000);
  return good && tombola_matcher_is_complete(m);
}

static void d07_a_bounded_array_is_exact(void **state) {
  (void)state;
  const struct tombola_grammar_source source = support_source(
      TOMBOLA_GRAMMAR_JSON_SCHEMA,
      "{\"type\":\"array\",\"items\":{\"type\":\"number\"},\"minItems\":10,\"maxItems\":1000}");
  tombola_grammar *const g = support_grammar(&source, trie);
  tombola_matcher *const m = support_matcher(g);
  assert_false(d07_array(m, 9));
  assert_true(d07_array(m, 10));
  assert_true(d07_array(m, 1000));
  assert_false(d07_array(m, 1001));
  tombola_matcher_free(m);
  tombola_grammar_free(g);
}

static void d07_a_hostile_bound_is_a_status(void **state) {
  (void)state;
  static const char text[] = "root ::= \"a\"{2000000000,2147483647}";
  const struct tombola_grammar_limits limits = {.struct_size = sizeof limits, .max_bytes = 1u << 20};
  struct tombola_grammar_source source = support_source(TOMBOLA_GRAMMAR_GBNF, text);
  source.limits = &limits;
  struct tombola_error error = {0};
  tombola_grammar *g = NULL;
  const double start = seconds();
  assert_int_equal(tombola_grammar_new(&source, trie, NULL, &g, NULL, &error), TOMBOLA_OUT_OF_RANGE);
  assert_true(seconds() - start < 1 && error.message[0] && !g);
}

/* ---- D09 ---- */

static void d09_parts_of_characters(void **state) {
  (void)state;
  static const char *const pieces[] = {"</s>", "\xF0\x9F\x98", "\x80", "\xF0\x9F\x99",
                                       "\x8F", "\x90",         "a",    "\xF0\x9F\xA4"};
  static const struct {
    size_t n;
    tombola_token tokens[4];
    unsigned allowed; /* bits by token; 0 is the end */
  } queries[] = {{0, {0}, 1u << 1 | 1u << 3},
                 {1, {1}, 1u << 2 | 1u << 4 | 1u << 5},
                 {2, {1, 2}, 1u << 0 | 1u << 1 | 1u << 3},
                 {1, {3}, 1u << 2 | 1u << 4},
                 {4, {1, 2, 3, 4}, 1u << 0 | 1u << 1 | 1u << 3}};
  struct support_words *const few = calloc(1, sizeof *few);
  for (size_t i = 0; i < TOMBOLA__COUNT(pieces); i++)
    support_add(few, pieces[i], strlen(pieces[i]), i == 0 ? TOMBOLA_TOKEN_END : 0);
  tombola_vocabulary *const v = support_vocabulary(few);
  tombola_trie *const t = support_trie(v);
  const struct tombola_grammar_source source =
      support_source(TOMBOLA_GRAMMAR_GBNF, "root ::= [\xF0\x9F\x98\x80-\xF0\x9F\x99\x8F]+");
  tombola_grammar *const g = support_grammar(&source, t);
  tombola_matcher *const m = support_matcher(g);
  for (size_t q = 0; q < TOMBOLA__COUNT(queries); q++) {
    tombola_matcher_reset(m);
    for (size_t i = 0; i < queries[q].n; i++)
      assert_int_equal(tombola_matcher_accept(m, queries[q].tokens[i], NULL), TOMBOLA_OK);
    const struct tombola_mask mask = mask_of(m);
    for (size_t token = 0; token < few->count; token++)
      if (bit(&mask, token) != (queries[q].allowed >> token & 1)) fail_msg("query %zu: token %zu", q, token);
  }
  tombola_matcher_free(m);
  tombola_grammar_free(g);
  tombola_trie_free(t);
  tombola_vocabulary_free(v);
  free(few);
}

static int set_up(void **state) {
  (void)state;
  return set_up_words(71);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(d01_white_space_is_bounded),
      cmocka_unit_test(d01_only_the_end_follows_a_whole_text),
      cmocka_unit_test(d01_calls_do_not_matter),
      cmocka_unit_test(d07_an_edge_of_2000),
      cmocka_unit_test(d07_a_nested_bound_compiles_at_once),
      cmocka_unit_test(d07_a_bounded_array_is_exact),
      cmocka_unit_test(d07_a_hostile_bound_is_a_status),
      cmocka_unit_test(d09_parts_of_characters),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
