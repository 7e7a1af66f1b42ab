/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that runs out: at each allocation in turn while a grammar is compiled, read, masked, cloned and cached. What
 * fails says NO_MEMORY and leaves nothing behind; and what is tried again afterwards is right. */
#include "constraint/store.h"
#include "constraint_support.h"

#define WORDS ((SUPPORT_TOKENS + 31) / 32)

static const tombola_trie *trie;

static const struct tombola_mix_rule rules[] = {
    {"<tool>", 6, TOMBOLA_GRAMMAR_JSON_OBJECT, NULL, 0, "</tool>", 7, 0},
    {"a1", 2, TOMBOLA_GRAMMAR_REGEX, "[0-9a-f]{2,4}!", 14, NULL, 0, 0},
};

/* Grammars, and a text of each. */
static const struct {
  enum tombola_grammar_kind kind;
  const char *text, *answer;
} cases[] = {
    {TOMBOLA_GRAMMAR_JSON, NULL, "{\"a\":[1.5e3,\"\\u00e9\",null],\"b\":{}}"},
    {TOMBOLA_GRAMMAR_JSON_SCHEMA,
     "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"array\",\"uniqueItems\":true,\"contains\":{"
     "\"const\":3},"
     "\"items\":{\"multipleOf\":1.5}},\"b\":{\"anyOf\":[{\"$ref\":\"#\"},{\"enum\":[\"x\",\"y\",[1]]}]}},"
     "\"patternProperties\":{\"^c\":{\"format\":\"date\"}},\"oneOf\":[{\"required\":[\"a\"]},{\"required\":["
     "\"z\"]}]}",
     "{\"a\":[3,4.5,15e-1],\"b\":\"y\",\"cd\":\"2024-02-29\"}"},
    {TOMBOLA_GRAMMAR_REGEX, "(?=.*b)([a-c]|\xC3\xA9){2,9}(-\\p{Nd}+)?\\b",
     "ab\xC3\xA9"
     "c-12"},
    {TOMBOLA_GRAMMAR_GBNF, "root ::= \"[\" item (\",\" item)* \"]\"\nitem ::= [a-z]{1,9} | root",
     "[ab,[c,[d]]]"},
    {TOMBOLA_GRAMMAR_MIX, NULL, "free <tool>{\"a\":1}</tool> a1ff! text"},
};

static struct tombola_grammar_source source_at(size_t i) {
  struct tombola_grammar_source source = support_source(cases[i].kind, cases[i].text);
  if (source.kind == TOMBOLA_GRAMMAR_MIX) {
    source.rules = rules;
    source.n_rules = TOMBOLA__COUNT(rules);
  }
  return source;
}

/* ---- what should be there ---- */

/* The masks of an answer, place by place, and what is forced there, in one number. */
struct answer {
  uint64_t masks;
  size_t places;
};

static void take_mask(struct answer *a, const struct tombola_mask *mask) {
  for (size_t i = 0; i < WORDS; i++)
    a->masks = tombola__mix(a->masks, mask->words[i]);
  a->places++;
}

/* Whether a status is OK; NO_MEMORY when the allocator has just failed, nothing else. */
static bool is_ok(enum tombola_status status, const struct support_allocator *a) {
  if (status == TOMBOLA_OK) return true;
  assert_int_equal(status, TOMBOLA_NO_MEMORY);
  assert_true(a->fail_at && a->requests >= a->fail_at);
  return false;
}

/* What fails is tried once more: the one that failed is behind then. */
#define AGAIN(call) (is_ok(call, a) || is_ok(call, a))

static struct answer read_answer(tombola_grammar *grammar, const char *text, struct support_allocator *a) {
  struct answer answer = {0};
  struct tombola_mask mask;
  tombola_matcher *matcher = NULL, *clone = NULL;
  assert_true(AGAIN(tombola_matcher_new(grammar, &a->allocator, &matcher, NULL)));
  const size_t length = strlen(text);
  for (size_t i = 0; i <= length; i++) {
    char forced[16];
    size_t n = 0;
    assert_true(AGAIN(tombola_matcher_mask(matcher, &mask, NULL)));
    take_mask(&answer, &mask);
    assert_true(AGAIN(tombola_matcher_forced(matcher, forced, sizeof forced, &n, NULL)));
    for (size_t k = 0; k < n; k++)
      answer.masks = tombola__mix(answer.masks, (uint8_t)forced[k]);
    if (i == length) break;
    assert_int_equal(tombola_matcher_accepted(matcher), i);
    assert_true(AGAIN(tombola_matcher_accept_bytes(matcher, text + i, 1, NULL, NULL)));
    if (i != length / 2) continue;
    assert_true(AGAIN(tombola_matcher_clone(matcher, &clone, NULL)));
    tombola_matcher_free(matcher);
    matcher = clone;
  }
  assert_true(tombola_matcher_is_complete(matcher));
  tombola_matcher_free(matcher);
  return answer;
}

/* ---- sweeps ---- */

/* From what happens once to what happens often, the steps grow: all of the first hundred, then one in a few. */
static size_t next(size_t n) {
  return n + 1 + n / 100;
}

/* While compiling, and then while reading (the n-th request of all). Afterwards all is as without a failure. */
static void check_case(size_t i) {
  const struct tombola_grammar_source source = source_at(i);
  struct support_allocator never = support_allocator(0);
  tombola_grammar *grammar = NULL;
  assert_int_equal(tombola_grammar_new(&source, trie, support_allocator_use(&never), &grammar, NULL, NULL),
                   TOMBOLA_OK);
  const struct answer expected = read_answer(grammar, cases[i].answer, &never);
  tombola_grammar_free(grammar);
  support_allocator_check(&never);
  for (size_t n = 1; n <= never.requests; n = next(n)) {
    struct support_allocator failing = support_allocator(n), *const a = &failing;
    struct tombola_error error = {0};
    const enum tombola_status status =
        tombola_grammar_new(&source, trie, support_allocator_use(a), &grammar, NULL, &error);
    if (!is_ok(status, a)) {
      assert_null(grammar);
      assert_int_equal(error.status, TOMBOLA_NO_MEMORY);
      support_allocator_check(a);
      continue;
    }
    const struct answer answer = read_answer(grammar, cases[i].answer, a);
    assert_int_equal(answer.places, expected.places);
    assert_true(answer.masks == expected.masks);
    tombola_grammar_free(grammar);
    support_allocator_check(a);
  }
}

static void test_json(void **state) {
  (void)state;
  check_case(0);
}

static void test_schema(void **state) {
  (void)state;
  check_case(1);
}

static void test_regex(void **state) {
  (void)state;
  check_case(2);
}

static void test_gbnf(void **state) {
  (void)state;
  check_case(3);
}

static void test_mix(void **state) {
  (void)state;
  check_case(4);
}

/* A cache that fails has nothing of it, and gives the grammar the next time. */
static void test_cache(void **state) {
  (void)state;
  for (size_t n = 1, more = 1; more; n = next(n)) {
    struct support_allocator failing = support_allocator(n), *const a = &failing;
    tombola_grammar_cache *cache = NULL;
    const struct tombola_allocator *const allocator = support_allocator_use(a);
    assert_true(AGAIN(tombola_grammar_cache_new(trie, 2, allocator, &cache, NULL)));
    for (size_t i = 0; i < 4; i++) {
      const struct tombola_grammar_source source = source_at(2 + i % 3);
      tombola_grammar *grammar = NULL;
      assert_true(AGAIN(tombola_grammar_cache_get(cache, &source, &grammar, NULL, NULL)));
      read_answer(grammar, cases[2 + i % 3].answer, a);
      tombola_grammar_free(grammar);
    }
    tombola_grammar_cache_free(cache);
    support_allocator_check(a);
    more = a->requests >= n;
  }
}

static void test_trie(void **state) {
  (void)state;
  static struct support_words words;
  struct support_rng rng = support_rng(78);
  support_words_fill(&words, &rng);
  tombola_vocabulary *const vocabulary = support_vocabulary(&words);
  for (size_t n = 1, done = 0; !done; n++) {
    struct support_allocator failing = support_allocator(n), *const a = &failing;
    tombola_trie *made = NULL;
    done = is_ok(tombola_trie_new(vocabulary, support_allocator_use(a), &made, NULL), a);
    assert_int_equal(made != NULL, done);
    tombola_trie_free(made);
    support_allocator_check(a);
  }
  tombola_vocabulary_free(vocabulary);
}

int main(void) {
  static struct support_words words;
  struct support_rng rng = support_rng(77);
  support_words_fill(&words, &rng);
  tombola_vocabulary *const vocabulary = support_vocabulary(&words);
  tombola_trie *const made = support_trie(vocabulary);
  trie = made;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_json), cmocka_unit_test(test_schema), cmocka_unit_test(test_regex),
      cmocka_unit_test(test_gbnf), cmocka_unit_test(test_mix),    cmocka_unit_test(test_cache),
      cmocka_unit_test(test_trie),
  };
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tombola_trie_free(made);
  tombola_vocabulary_free(vocabulary);
  return failed;
}
