/* SPDX-License-Identifier: Apache-2.0 */
/* Matchers: masks against every token tried byte by byte, going on and back, end tokens and special ones, and what may
 * not be done. */
#include "constraint_group.h"

static bool bit(const struct tombola_mask *mask, size_t token) {
  return mask->words[token / 32] >> token % 32 & 1;
}

/* ---- masks ---- */

static const struct tombola_mix_rule tools[] = {
    {"<tool>", 6, TOMBOLA_GRAMMAR_JSON_OBJECT, NULL, 0, "</tool>", 7, 0},
    {"a1", 2, TOMBOLA_GRAMMAR_REGEX, "[0-9a-f]{2,4}!", 14, NULL, 0, 0},
};

/* Grammars whose places have every kind of freedom, and none. */
static const struct {
  enum tombola_grammar_kind kind;
  const char *text;
  enum tombola_whitespace whitespace;
} grammars[] = {
    {TOMBOLA_GRAMMAR_JSON, NULL, TOMBOLA_WHITESPACE_BOUNDED},
    {TOMBOLA_GRAMMAR_JSON_OBJECT, NULL, TOMBOLA_WHITESPACE_NONE},
    {TOMBOLA_GRAMMAR_JSON_SCHEMA, "{\"type\":\"string\"}", TOMBOLA_WHITESPACE_NONE},
    {TOMBOLA_GRAMMAR_JSON_SCHEMA, "{\"type\":\"string\",\"maxLength\":5}", TOMBOLA_WHITESPACE_NONE},
    {TOMBOLA_GRAMMAR_JSON_SCHEMA, "{\"type\":\"string\",\"minLength\":3,\"maxLength\":40}",
     TOMBOLA_WHITESPACE_NONE},
    {TOMBOLA_GRAMMAR_JSON_SCHEMA, "{\"type\":\"string\",\"pattern\":\"^[a-z]{2,9}$\"}",
     TOMBOLA_WHITESPACE_NONE},
    {TOMBOLA_GRAMMAR_JSON_SCHEMA, "{\"type\":\"string\",\"pattern\":\"^[^\\\\n]{2}[ab]{0,30}$\"}",
     TOMBOLA_WHITESPACE_NONE},
    {TOMBOLA_GRAMMAR_JSON_SCHEMA, "{\"type\":\"string\",\"pattern\":\"^[a-zA-Z]+$\"}",
     TOMBOLA_WHITESPACE_NONE},
    {TOMBOLA_GRAMMAR_JSON_SCHEMA, "{\"type\":\"string\",\"pattern\":\"[0-9]\"}", TOMBOLA_WHITESPACE_NONE},
    {TOMBOLA_GRAMMAR_JSON_SCHEMA, "{\"type\":\"string\",\"pattern\":\"^[^a]*$\",\"maxLength\":9}",
     TOMBOLA_WHITESPACE_NONE},
    {TOMBOLA_GRAMMAR_JSON_SCHEMA, "{\"type\":\"array\",\"items\":{\"type\":\"integer\"},\"maxItems\":9}",
     TOMBOLA_WHITESPACE_ANY},
    {TOMBOLA_GRAMMAR_JSON_SCHEMA,
     "{\"properties\":{\"a\":{\"type\":\"number\",\"minimum\":-3},\"k\":{\"enum\":[\"ab\",true,null,\"aa1\"]}"
     "},"
     "\"required\":[\"k\"],\"type\":\"object\"}",
     TOMBOLA_WHITESPACE_NONE},
    {TOMBOLA_GRAMMAR_JSON_SCHEMA, "{\"not\":{\"type\":\"string\"},\"maxItems\":3,\"maxProperties\":2}",
     TOMBOLA_WHITESPACE_NONE},
    /* Names: declared ones beside others, all alike, few, of several kinds, those of items that differ. */
    {TOMBOLA_GRAMMAR_JSON_SCHEMA,
     "{\"type\":\"object\",\"properties\":{\"a\":{\"const\":1},\"ab\":true},"
     "\"additionalProperties\":{\"type\":\"boolean\"}}",
     TOMBOLA_WHITESPACE_NONE},
    {TOMBOLA_GRAMMAR_JSON_SCHEMA,
     "{\"type\":\"object\",\"additionalProperties\":{\"type\":\"object\",\"additionalProperties\":{}}}",
     TOMBOLA_WHITESPACE_NONE},
    {TOMBOLA_GRAMMAR_JSON_SCHEMA,
     "{\"type\":\"object\",\"propertyNames\":{\"maxLength\":1},\"minProperties\":2}",
     TOMBOLA_WHITESPACE_NONE},
    {TOMBOLA_GRAMMAR_JSON_SCHEMA,
     "{\"type\":\"object\",\"patternProperties\":{\"^a\":{\"type\":\"null\"},\"b$\":{\"type\":[\"null\","
     "\"string\"]}}}",
     TOMBOLA_WHITESPACE_NONE},
    {TOMBOLA_GRAMMAR_JSON_SCHEMA,
     "{\"type\":\"array\",\"uniqueItems\":true,\"items\":{\"type\":[\"string\",\"object\"]}}",
     TOMBOLA_WHITESPACE_NONE},
    {TOMBOLA_GRAMMAR_REGEX, "[a-z ]+(-[0-9]+)?|true[A-Z]{3}", TOMBOLA_WHITESPACE_NONE},
    {TOMBOLA_GRAMMAR_REGEX, "(.|\\n)*", TOMBOLA_WHITESPACE_NONE},
    {TOMBOLA_GRAMMAR_REGEX, "[^\"]{0,12}", TOMBOLA_WHITESPACE_NONE},
    {TOMBOLA_GRAMMAR_GBNF, "root ::= \"[\" item (\",\" item)* \"]\"\nitem ::= [a-z]+ | [0-9]{1,3} | root",
     TOMBOLA_WHITESPACE_NONE},
    {TOMBOLA_GRAMMAR_CHOICE, NULL, TOMBOLA_WHITESPACE_NONE},
    {TOMBOLA_GRAMMAR_MIX, NULL, TOMBOLA_WHITESPACE_NONE},
};

static const struct tombola_bytes choices[] = {{"aaa", 3},  {"aab", 3},      {"aa", 2},
                                               {"true", 4}, {"\xC3\xA9", 2}, {"bz 09", 5}};

static struct tombola_grammar_source source_at(size_t i) {
  struct tombola_grammar_source source = support_source(grammars[i].kind, grammars[i].text);
  source.whitespace = grammars[i].whitespace;
  if (source.kind == TOMBOLA_GRAMMAR_CHOICE) {
    source.choices = choices;
    source.n_choices = TOMBOLA__COUNT(choices);
  }
  if (source.kind == TOMBOLA_GRAMMAR_MIX) {
    source.rules = tools;
    source.n_rules = TOMBOLA__COUNT(tools);
  }
  return source;
}

/* Whether a token may come, told by the matcher of a grammar without a trie, which knows of bytes only. */
static bool fits(tombola_matcher *bytes, size_t token, bool is_mix) {
  const size_t length = words.offsets[token + 1] - words.offsets[token];
  const unsigned flags = words.flags[token];
  const bool engaged = tombola_matcher_engaged(bytes);
  if (flags & TOMBOLA_TOKEN_END) return tombola_matcher_is_complete(bytes);
  if (flags & TOMBOLA_TOKEN_UNUSED || length == 0) return false;
  if (flags & TOMBOLA_TOKEN_SPECIAL &&
      !(is_mix && (token == SUPPORT_SPECIAL || token == SUPPORT_SPECIAL_END)))
    return false;
  if (tombola_matcher_accept_bytes(bytes, words.bytes + words.offsets[token], length, NULL, NULL))
    return false;
  const bool engaged_now = tombola_matcher_engaged(bytes);
  assert_int_equal(tombola_matcher_rollback(bytes, 1), TOMBOLA_OK);
  if (token == SUPPORT_SPECIAL) return !engaged;
  if (token == SUPPORT_SPECIAL_END) return engaged && !engaged_now;
  return true;
}

/* Compares the mask with every token; fills in those that may come. */
static size_t check_mask(size_t grammar, tombola_matcher *matcher, tombola_matcher *bytes, size_t *allowed) {
  struct tombola_mask mask;
  struct tombola_error error;
  const enum tombola_status status = tombola_matcher_mask(matcher, &mask, &error);
  if (status) fail_msg("grammar %zu: %s: %s", grammar, tombola_status_name(status), error.message);
  size_t n = 0;
  for (size_t token = 0; token < words.count; token++) {
    const bool expected = fits(bytes, token, grammars[grammar].kind == TOMBOLA_GRAMMAR_MIX);
    if (bit(&mask, token) != expected)
      fail_msg("grammar %zu: token %zu '%.*s' is %s", grammar, token,
               (int)(words.offsets[token + 1] - words.offsets[token]), words.bytes + words.offsets[token],
               expected ? "missing" : "too much");
    if (expected) allowed[n++] = token;
  }
  assert_int_equal(mask.count, words.count);
  for (size_t i = 0; mask.ids && i < n; i++)
    assert_int_equal(mask.ids[i], allowed[i]);
  assert_true(!mask.ids || mask.n_ids == n);
  return n;
}

static void accept_both(tombola_matcher *matcher, tombola_matcher *bytes, size_t token) {
  assert_int_equal(tombola_matcher_accept(matcher, (tombola_token)token, NULL), TOMBOLA_OK);
  assert_int_equal(tombola_matcher_accept_bytes(bytes, words.bytes + words.offsets[token],
                                                words.offsets[token + 1] - words.offsets[token], NULL, NULL),
                   TOMBOLA_OK);
}

static void walk(size_t grammar, enum tombola_spelling spelling, const struct tombola_grammar_limits *limits,
                 struct support_rng *rng) {
  struct tombola_grammar_source source = source_at(grammar);
  source.limits = limits;
  source.spelling = spelling;
  tombola_grammar *const g = support_grammar(&source, trie), *const plain = support_grammar(&source, NULL);
  tombola_matcher *const matcher = support_matcher(g), *const bytes = support_matcher(plain);
  static size_t allowed[SUPPORT_TOKENS];
  for (size_t step = 0; step < 25; step++) {
    const size_t n = check_mask(grammar, matcher, bytes, allowed);
    /* Rather short tokens, so that many places are seen; those behind the end of a text end the walk. */
    size_t token = allowed[support_below(rng, n)];
    for (size_t i = 0; i < 6 && words.offsets[token + 1] - words.offsets[token] > 2; i++)
      token = allowed[support_below(rng, n)];
    if (words.flags[token] & TOMBOLA_TOKEN_END) break;
    accept_both(matcher, bytes, token);
    const size_t refused = support_below(rng, words.count);
    if (!fits(bytes, refused, source.kind == TOMBOLA_GRAMMAR_MIX))
      assert_int_equal(tombola_matcher_accept(matcher, (tombola_token)refused, NULL),
                       TOMBOLA_INVALID_ARGUMENT);
    if (support_below(rng, 4) == 0) {
      const size_t back = support_below(rng, tombola_matcher_accepted(matcher) + 1);
      assert_int_equal(tombola_matcher_rollback(matcher, back), TOMBOLA_OK);
      assert_int_equal(tombola_matcher_rollback(bytes, back), TOMBOLA_OK);
    }
  }
  tombola_matcher_free(matcher);
  tombola_matcher_free(bytes);
  tombola_grammar_free(g);
  tombola_grammar_free(plain);
}

static void test_masks(void **state) {
  (void)state;
  struct support_rng rng = support_rng(61);
  const size_t rounds = support_long() ? 60 : 4;
  for (size_t i = 0; i < TOMBOLA__COUNT(grammars); i++)
    for (size_t round = 0; round < rounds; round++)
      for (int plain = 0; plain < 2; plain++)
        walk(i, plain ? TOMBOLA_SPELLING_PLAIN : TOMBOLA_SPELLING_ANY, NULL, &rng);
}

/* Without room in the cache the matcher's own words serve. */
static void test_masks_without_cache(void **state) {
  (void)state;
  struct support_rng rng = support_rng(62);
  const struct tombola_grammar_limits limits = {.struct_size = sizeof limits, .mask_bytes = 1};
  for (size_t i = 0; i < TOMBOLA__COUNT(grammars); i++)
    walk(i, i % 2 ? TOMBOLA_SPELLING_PLAIN : TOMBOLA_SPELLING_ANY, &limits, &rng);
}

/* ---- going on and back ---- */

static void accept_text(tombola_matcher *matcher, const char *text) {
  size_t fit;
  if (tombola_matcher_accept_bytes(matcher, text, strlen(text), &fit, NULL))
    fail_msg("'%s' fits up to byte %zu", text, fit);
  assert_int_equal(fit, strlen(text));
}

/* A whole text, by one byte a token, and the masks on the way; then again after going back, in a copy, and after a reset. */
static void test_back(void **state) {
  (void)state;
  static const char text[] = "{\"a\":-1.5,\"k\":\"aa1\"}";
  struct tombola_grammar_source source = source_at(11);
  tombola_grammar *const g = support_grammar(&source, trie);
  tombola_matcher *const matcher = support_matcher(g);
  const size_t n = strlen(text), size = (words.count + 31) / 32;
  uint32_t *const seen = calloc((n + 1) * size, sizeof *seen);
  for (size_t round = 0; round < 3; round++) {
    for (size_t i = 0; i <= n; i++) {
      struct tombola_mask mask;
      assert_int_equal(tombola_matcher_mask(matcher, &mask, NULL), TOMBOLA_OK);
      if (round == 0) memcpy(seen + i * size, mask.words, size * sizeof *seen);
      assert_memory_equal(seen + i * size, mask.words, size * sizeof *seen);
      if (i < n) assert_int_equal(tombola_matcher_accept(matcher, (tombola_token)text[i], NULL), TOMBOLA_OK);
    }
    assert_true(tombola_matcher_is_complete(matcher));
    tombola_matcher *copy = NULL;
    assert_int_equal(tombola_matcher_clone(matcher, &copy, NULL), TOMBOLA_OK);
    assert_int_equal(tombola_matcher_accepted(copy), n);
    for (size_t i = n + 1; i-- > 0;) {
      struct tombola_mask mask;
      assert_int_equal(tombola_matcher_mask(copy, &mask, NULL), TOMBOLA_OK);
      assert_memory_equal(seen + i * size, mask.words, size * sizeof *seen);
      assert_int_equal(tombola_matcher_rollback(copy, 1), i ? TOMBOLA_OK : TOMBOLA_OUT_OF_RANGE);
    }
    tombola_matcher_free(copy);
    if (round == 0)
      assert_int_equal(tombola_matcher_rollback(matcher, n), TOMBOLA_OK);
    else
      tombola_matcher_reset(matcher);
    assert_int_equal(tombola_matcher_accepted(matcher), 0);
  }
  free(seen);
  tombola_grammar_free(g);
  tombola_matcher_free(matcher); /* it holds the grammar */
}

static void test_ends(void **state) {
  (void)state;
  const struct tombola_grammar_source source = support_source(TOMBOLA_GRAMMAR_REGEX, "true(true)?");
  tombola_grammar *const g = support_grammar(&source, trie);
  tombola_matcher *const m = support_matcher(g);
  struct tombola_mask mask;
  struct tombola_error error = {0};
  assert_int_equal(tombola_matcher_accept(m, SUPPORT_END, &error), TOMBOLA_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "isn't complete"));
  assert_int_equal(tombola_matcher_accept(m, SUPPORT_TRUE_TOO, NULL), TOMBOLA_OK);
  assert_true(tombola_matcher_is_complete(m));
  assert_int_equal(tombola_matcher_mask(m, &mask, NULL), TOMBOLA_OK);
  assert_true(bit(&mask, SUPPORT_END) && bit(&mask, SUPPORT_END_TOO) && bit(&mask, SUPPORT_TRUE) &&
              bit(&mask, 't'));
  assert_int_equal(tombola_matcher_accept(m, SUPPORT_TRUE, NULL), TOMBOLA_OK);
  assert_int_equal(tombola_matcher_mask(m, &mask, NULL), TOMBOLA_OK);
  assert_int_equal(mask.n_ids, 2);
  assert_int_equal(mask.ids[0], SUPPORT_END);
  assert_int_equal(mask.ids[1], SUPPORT_END_TOO);
  assert_int_equal(tombola_matcher_accept(m, SUPPORT_END_TOO, NULL), TOMBOLA_OK);
  assert_true(tombola_matcher_is_complete(m));
  assert_int_equal(tombola_matcher_accept(m, 't', NULL), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_matcher_accept_bytes(m, "t", 1, NULL, NULL), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_matcher_accept(m, SUPPORT_END, NULL), TOMBOLA_OK);
  assert_int_equal(tombola_matcher_mask(m, &mask, NULL), TOMBOLA_OK);
  assert_int_equal(mask.n_ids, 2);
  assert_int_equal(tombola_matcher_rollback(m, 3), TOMBOLA_OK);
  assert_int_equal(tombola_matcher_accept(m, 't', NULL), TOMBOLA_OK);
  for (int token = SUPPORT_SPECIAL; token <= SUPPORT_EMPTY; token++)
    assert_int_equal(tombola_matcher_accept(m, token, NULL), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_matcher_accept(m, -1, NULL), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_matcher_accept(m, SUPPORT_TOKENS, NULL), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_matcher_accepted(m), 2);
  tombola_matcher_free(m);
  tombola_grammar_free(g);
}

static void test_special(void **state) {
  (void)state;
  const struct tombola_grammar_source source = source_at(TOMBOLA__COUNT(grammars) - 1);
  tombola_grammar *const g = support_grammar(&source, trie);
  tombola_matcher *const m = support_matcher(g);
  assert_false(tombola_matcher_engaged(m));
  assert_int_equal(tombola_matcher_accept(m, 'z', NULL), TOMBOLA_OK);
  assert_int_equal(tombola_matcher_accept(m, SUPPORT_OTHER, NULL), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_matcher_accept(m, SUPPORT_SPECIAL_END, NULL), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_matcher_accept(m, SUPPORT_SPECIAL, NULL), TOMBOLA_OK);
  assert_true(tombola_matcher_engaged(m));
  assert_int_equal(tombola_matcher_accept(m, SUPPORT_SPECIAL, NULL), TOMBOLA_INVALID_ARGUMENT);
  accept_text(m, "{\"a\":\"");
  assert_int_equal(tombola_matcher_accept(m, SUPPORT_SPECIAL_END, NULL), TOMBOLA_INVALID_ARGUMENT);
  accept_text(m, "<tool></tool>\"}");
  assert_int_equal(tombola_matcher_accept(m, SUPPORT_SPECIAL_END, NULL), TOMBOLA_OK);
  assert_false(tombola_matcher_engaged(m));
  assert_int_equal(tombola_matcher_rollback(m, 1), TOMBOLA_OK);
  assert_true(tombola_matcher_engaged(m));
  accept_text(m, "</tool> a1ff!");
  assert_false(tombola_matcher_engaged(m));
  tombola_matcher_free(m);
  tombola_grammar_free(g);
}

static void check_forced(tombola_matcher *matcher, size_t capacity, const char *expected) {
  char bytes[32];
  size_t length;
  const size_t before = tombola_matcher_accepted(matcher);
  assert_int_equal(tombola_matcher_forced(matcher, bytes, capacity, &length, NULL), TOMBOLA_OK);
  assert_int_equal(length, strlen(expected));
  assert_memory_equal(bytes, expected, length);
  assert_int_equal(tombola_matcher_accepted(matcher), before);
}

static void test_forced(void **state) {
  (void)state;
  /* A key may be spelled with escapes, so that JSON forces little: the brace and the quote, the end of a literal. (With
   * PLAIN it does more: test_spelling.c.) */
  struct tombola_grammar_source source = support_source(
      TOMBOLA_GRAMMAR_JSON_SCHEMA, "{\"type\":\"object\",\"properties\":{\"key\":{\"type\":\"boolean\"}},"
                                   "\"required\":[\"key\"],\"additionalProperties\":false}");
  source.whitespace = TOMBOLA_WHITESPACE_NONE;
  tombola_grammar *const g = support_grammar(&source, NULL);
  tombola_matcher *const m = support_matcher(g);
  check_forced(m, 32, "{\"");
  check_forced(m, 1, "{");
  accept_text(m, "{\"key\"");
  check_forced(m, 32, ":");
  accept_text(m, ":f");
  check_forced(m, 32, "alse}");
  accept_text(m, "alse}");
  check_forced(m, 32, "");
  tombola_matcher_free(m);
  tombola_grammar_free(g);
}

/* Where the text may end nothing is forced. */
static void test_forced_end(void **state) {
  (void)state;
  const struct tombola_grammar_source source = support_source(TOMBOLA_GRAMMAR_REGEX, "abc(def(gh|gi))?");
  tombola_grammar *const g = support_grammar(&source, NULL);
  tombola_matcher *const m = support_matcher(g);
  check_forced(m, 32, "abc");
  accept_text(m, "abc");
  check_forced(m, 32, "");
  accept_text(m, "d");
  check_forced(m, 32, "efg");
  tombola_matcher_free(m);
  tombola_grammar_free(g);
}

static void test_thinking(void **state) {
  (void)state;
  const struct tombola_grammar_source source = support_source(TOMBOLA_GRAMMAR_REGEX, "ab");
  tombola_grammar *const g = support_grammar(&source, trie);
  tombola_matcher *const m = support_matcher(g);
  assert_true(tombola_matcher_wants_mask(m));
  accept_text(m, "a");
  tombola_matcher_set_thinking(m, 1);
  assert_false(tombola_matcher_wants_mask(m));
  assert_int_equal(tombola_matcher_accept(m, 'x', NULL), TOMBOLA_OK);
  assert_int_equal(tombola_matcher_accept(m, SUPPORT_END, NULL), TOMBOLA_OK);
  assert_int_equal(tombola_matcher_accept_bytes(m, "yy", 2, NULL, NULL), TOMBOLA_OK);
  assert_int_equal(tombola_matcher_accepted(m), 4);
  tombola_matcher_set_thinking(m, 0);
  assert_int_equal(tombola_matcher_accept(m, 'x', NULL), TOMBOLA_INVALID_ARGUMENT);
  accept_text(m, "b");
  assert_int_equal(tombola_matcher_rollback(m, 4), TOMBOLA_OK);
  accept_text(m, "b");
  assert_true(tombola_matcher_is_complete(m));
  tombola_matcher_reset(m);
  assert_false(tombola_matcher_is_complete(m));
  tombola_matcher_free(m);
  tombola_grammar_free(g);
}

/* ---- what may not be done, and what a matcher costs ---- */

static void test_without_trie(void **state) {
  (void)state;
  const struct tombola_grammar_source source = support_source(TOMBOLA_GRAMMAR_JSON, NULL);
  tombola_grammar *const g = support_grammar(&source, NULL);
  tombola_matcher *const m = support_matcher(g);
  struct tombola_mask mask;
  size_t fit;
  assert_int_equal(tombola_matcher_mask(m, &mask, NULL), TOMBOLA_UNSUPPORTED);
  assert_int_equal(tombola_matcher_accept(m, 'a', NULL), TOMBOLA_UNSUPPORTED);
  assert_int_equal(tombola_matcher_accept_bytes(m, "[1,2x", 5, &fit, NULL), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(fit, 4);
  assert_int_equal(tombola_matcher_accepted(m), 0);
  accept_text(m, "[1,2]");
  assert_int_equal(tombola_matcher_new(NULL, NULL, NULL, NULL), TOMBOLA_INVALID_ARGUMENT);
  tombola_matcher_free(NULL);
  tombola_matcher_free(m);
  tombola_grammar_free(g);
}

/* A vocabulary that lacks bytes can come to a dead end: a status. */
static void test_dead_end(void **state) {
  (void)state;
  struct support_words *const few = calloc(1, sizeof *few);
  support_add(few, "a", 1, 0);
  support_add(few, "</s>", 4, TOMBOLA_TOKEN_END);
  tombola_vocabulary *const v = support_vocabulary(few);
  tombola_trie *const t = support_trie(v);
  const struct tombola_grammar_source source = support_source(TOMBOLA_GRAMMAR_REGEX, "ab");
  tombola_grammar *const g = support_grammar(&source, t);
  tombola_matcher *const m = support_matcher(g);
  struct tombola_mask mask;
  assert_int_equal(tombola_matcher_accept(m, 0, NULL), TOMBOLA_OK);
  for (size_t i = 0; i < 2; i++) /* the second time from the cache */
    assert_int_equal(tombola_matcher_mask(m, &mask, NULL), TOMBOLA_NO_CANDIDATE);
  assert_int_equal(tombola_matcher_rollback(m, 1), TOMBOLA_OK);
  assert_int_equal(tombola_matcher_mask(m, &mask, NULL), TOMBOLA_OK);
  tombola_matcher_free(m);
  tombola_grammar_free(g);
  tombola_trie_free(t);
  tombola_vocabulary_free(v);
  free(few);
}

/* Once warm, a token costs no allocation: a mask that was wanted a few times has all that it needs. */
static void test_warm(void **state) {
  (void)state;
  static const char text[] = "{\"a\":[1,2,\"word\",{\"b\":null}],\"zz\":\"\xC3\xA9 \\n\"}";
  struct support_allocator a = support_allocator(0);
  const struct tombola_grammar_source source = support_source(TOMBOLA_GRAMMAR_JSON, NULL);
  tombola_grammar *g = NULL;
  tombola_matcher *m = NULL;
  assert_int_equal(tombola_grammar_new(&source, trie, support_allocator_use(&a), &g, NULL, NULL), TOMBOLA_OK);
  assert_int_equal(tombola_matcher_new(g, support_allocator_use(&a), &m, NULL), TOMBOLA_OK);
  size_t requests = 0;
  for (size_t round = 0; round < 6; round++) {
    requests = a.requests;
    for (size_t i = 0; text[i]; i++) {
      struct tombola_mask mask;
      assert_int_equal(tombola_matcher_mask(m, &mask, NULL), TOMBOLA_OK);
      assert_int_equal(tombola_matcher_accept(m, (uint8_t)text[i], NULL), TOMBOLA_OK);
    }
    tombola_matcher_reset(m);
  }
  assert_int_equal(a.requests, requests);
  tombola_matcher_free(m);
  tombola_grammar_free(g);
  support_allocator_check(&a);
}

static int set_up(void **state) {
  (void)state;
  return set_up_words(60);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_masks),        cmocka_unit_test(test_masks_without_cache),
      cmocka_unit_test(test_back),         cmocka_unit_test(test_ends),
      cmocka_unit_test(test_special),      cmocka_unit_test(test_forced),
      cmocka_unit_test(test_forced_end),   cmocka_unit_test(test_thinking),
      cmocka_unit_test(test_without_trie), cmocka_unit_test(test_dead_end),
      cmocka_unit_test(test_warm),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
