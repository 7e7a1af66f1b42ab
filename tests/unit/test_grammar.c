/* SPDX-License-Identifier: Apache-2.0 */
/* Grammars: what isn't compiled and with which status, verdicts, and the cache of grammars by content. */
#include "constraint_support.h"

#include <pthread.h>

static enum tombola_status make(const struct tombola_grammar_source *source, struct tombola_error *error) {
  tombola_grammar *grammar = NULL;
  const enum tombola_status status = tombola_grammar_new(source, NULL, NULL, &grammar, NULL, error);
  assert_true((status == TOMBOLA_OK) == (grammar != NULL));
  tombola_grammar_free(grammar);
  return status;
}

static void refused(const struct tombola_grammar_source *source, enum tombola_status expected,
                    const char *param) {
  struct tombola_error error = {0};
  const enum tombola_status status = make(source, &error);
  if (status != expected || error.status != expected || strcmp(error.param, param))
    fail_msg("%s (%s: %s), not %s (%s)", tombola_status_name(status), error.param, error.message,
             tombola_status_name(expected), param);
  assert_true(error.message[0]);
}

/* A failure in a mix says in which of its rules. */
static void test_rules_of_mixes(void **state) {
  (void)state;
  const struct tombola_mix_rule good = {
      .trigger = "x", .trigger_length = 1, .kind = TOMBOLA_GRAMMAR_REGEX, .text = "a", .length = 1};
  struct tombola_mix_rule bad[6] = {good, good, good, good, good, good};
  bad[0].trigger_length = 0;
  bad[1].kind = TOMBOLA_GRAMMAR_CHOICE;
  bad[2].text = "(a";
  bad[2].length = 2;
  bad[3].kind = TOMBOLA_GRAMMAR_GBNF;
  bad[3].text = "root ::= b";
  bad[3].length = 10;
  bad[4].kind = TOMBOLA_GRAMMAR_JSON_SCHEMA;
  bad[4].text = "{\"format\": \"no-such\"}";
  bad[4].length = strlen(bad[4].text);
  bad[5].text = NULL;
  for (size_t i = 0; i < TOMBOLA__COUNT(bad); i++) {
    const struct tombola_mix_rule rules[] = {good, good, bad[i]};
    struct tombola_grammar_source source = support_source(TOMBOLA_GRAMMAR_MIX, NULL);
    struct tombola_error error = {.message = ""};
    source.rules = rules;
    source.n_rules = 3;
    assert_int_not_equal(make(&source, &error), TOMBOLA_OK);
    if (strncmp(error.message, "rules[2]: ", 10) || strlen(error.message) < 20)
      fail_msg("%zu: %s", i, error.message);
  }
}

static void test_options(void **state) {
  (void)state;
  const enum tombola_status bad = TOMBOLA_INVALID_ARGUMENT;
  const struct tombola_grammar_source good = support_source(TOMBOLA_GRAMMAR_JSON, NULL);
  struct tombola_grammar_source s = good;
  refused(NULL, bad, "source");
  s.struct_size--, refused(&s, bad, "struct_size"), s = good;
  s.kind = (enum tombola_grammar_kind)7, refused(&s, bad, "kind"), s = good;
  s.whitespace = (enum tombola_whitespace)3, refused(&s, bad, "whitespace"), s = good;
  s.whitespace_max = 65536, refused(&s, bad, "whitespace_max"), s = good;
  s.format = (enum tombola_format)2, refused(&s, bad, "format"), s = good;
  s.order = (enum tombola_property_order)2, refused(&s, bad, "order"), s = good;
  s.n_documents = 1, refused(&s, bad, "documents"), s = good;
  const struct tombola_schema_document nameless = {NULL, "{}", 2};
  s.documents = &nameless, s.n_documents = 1, refused(&s, bad, "documents"), s = good;
  s.kind = TOMBOLA_GRAMMAR_REGEX, refused(&s, bad, "text");
  s.text = "a", s.length = 1, s.free_prelude = 1, refused(&s, bad, "free_prelude"), s = good;
  s.kind = TOMBOLA_GRAMMAR_CHOICE, refused(&s, bad, "choices");
  const struct tombola_bytes broken = {"\xFF", 1};
  s.choices = &broken, s.n_choices = 1, refused(&s, bad, "choices"), s = good;
  s.kind = TOMBOLA_GRAMMAR_MIX, refused(&s, bad, "rules");
  struct tombola_mix_rule rule = {.trigger = "", .kind = TOMBOLA_GRAMMAR_JSON};
  s.rules = &rule, s.n_rules = 1, refused(&s, bad, "trigger");
  rule.trigger = "x", rule.trigger_length = 1, rule.kind = TOMBOLA_GRAMMAR_MIX, refused(&s, bad, "kind"),
  s = good;
  struct tombola_grammar_limits limits = {.struct_size = sizeof limits, .max_seconds = -1};
  s.limits = &limits, refused(&s, bad, "max_seconds");
  limits.struct_size = 1, refused(&s, bad, "limits");
  limits = (struct tombola_grammar_limits){.struct_size = sizeof limits, .max_source = 3};
  s.kind = TOMBOLA_GRAMMAR_REGEX, s.text = "abcd", s.length = 4,
  refused(&s, TOMBOLA_OUT_OF_RANGE, "max_source");
  s.length = 3;
  assert_int_equal(make(&s, NULL), TOMBOLA_OK);
  assert_int_equal(make(&good, NULL), TOMBOLA_OK);
  assert_int_equal(tombola_grammar_new(&good, NULL, NULL, NULL, NULL, NULL), bad);
}

/* What compiles to nothing, and what isn't in the language of its kind. */
static void test_nothing(void **state) {
  (void)state;
  static const struct {
    enum tombola_grammar_kind kind;
    const char *text;
    enum tombola_status status;
  } cases[] = {
      {TOMBOLA_GRAMMAR_JSON_SCHEMA, "false", TOMBOLA_NO_CANDIDATE},
      {TOMBOLA_GRAMMAR_JSON_SCHEMA, "{\"type\":\"string\",\"minLength\":3,\"maxLength\":2}",
       TOMBOLA_NO_CANDIDATE},
      {TOMBOLA_GRAMMAR_JSON_SCHEMA, "{\"type\":", TOMBOLA_FORMAT},
      {TOMBOLA_GRAMMAR_JSON_SCHEMA, "{\"format\":\"unheard-of\"}", TOMBOLA_UNSUPPORTED},
      {TOMBOLA_GRAMMAR_REGEX, "[^\\s\\S]", TOMBOLA_NO_CANDIDATE},
      {TOMBOLA_GRAMMAR_REGEX, "a(", TOMBOLA_FORMAT},
      {TOMBOLA_GRAMMAR_GBNF, "root ::= ", TOMBOLA_OK},
      {TOMBOLA_GRAMMAR_GBNF, "other ::= \"a\"", TOMBOLA_FORMAT},
      {TOMBOLA_GRAMMAR_REGEX, "", TOMBOLA_OK},
  };
  for (size_t i = 0; i < TOMBOLA__COUNT(cases); i++) {
    const struct tombola_grammar_source source = support_source(cases[i].kind, cases[i].text);
    struct tombola_error error = {0};
    const enum tombola_status status = make(&source, &error);
    if (status != cases[i].status)
      fail_msg("%s: %s, not %s (%s)", cases[i].text, tombola_status_name(status),
               tombola_status_name(cases[i].status), error.message);
  }
}

static void test_lenient(void **state) {
  (void)state;
  struct tombola_grammar_source source =
      support_source(TOMBOLA_GRAMMAR_JSON_SCHEMA, "{\"type\":\"string\",\"format\":\"unheard-of\"}");
  tombola_grammar *g = NULL;
  struct tombola_schema_verdict verdict;
  assert_int_equal(tombola_grammar_new(&source, NULL, NULL, &g, &verdict, NULL), TOMBOLA_UNSUPPORTED);
  assert_int_equal(verdict.verdict, TOMBOLA_VERDICT_REFUSED);
  assert_string_equal(verdict.keyword, "format");
  source.lenient = 1;
  assert_int_equal(tombola_grammar_new(&source, NULL, NULL, &g, &verdict, NULL), TOMBOLA_OK);
  assert_int_equal(verdict.verdict, TOMBOLA_VERDICT_EXACT);
  const char *pointer, *keyword;
  assert_true(tombola_grammar_dropped(g, 0, &pointer, &keyword));
  assert_string_equal(keyword, "format");
  assert_false(tombola_grammar_dropped(g, 1, &pointer, &keyword));
  tombola_grammar_free(tombola_grammar_retain(g));
  struct tombola_schema_verdict again;
  tombola_grammar_verdict(g, &again);
  assert_int_equal(again.verdict, verdict.verdict);
  tombola_grammar_free(g);
  tombola_grammar_free(NULL);
}

/* ---- the cache ---- */

static tombola_grammar *get(tombola_grammar_cache *cache, const struct tombola_grammar_source *source) {
  tombola_grammar *grammar = NULL;
  assert_int_equal(tombola_grammar_cache_get(cache, source, &grammar, NULL, NULL), TOMBOLA_OK);
  return grammar;
}

static void test_cache(void **state) {
  (void)state;
  struct support_allocator a = support_allocator(0);
  tombola_grammar_cache *cache = NULL;
  assert_int_equal(tombola_grammar_cache_new(NULL, 2, support_allocator_use(&a), &cache, NULL), TOMBOLA_OK);
  struct tombola_grammar_source one = support_source(TOMBOLA_GRAMMAR_REGEX, "one");
  char copy[] = "one";
  struct tombola_grammar_source same = support_source(TOMBOLA_GRAMMAR_REGEX, copy), gbnf = one, spaces = one;
  gbnf.kind = TOMBOLA_GRAMMAR_JSON;
  spaces.whitespace = TOMBOLA_WHITESPACE_ANY;
  tombola_grammar *const first = get(cache, &one), *const second = get(cache, &same);
  assert_ptr_equal(first, second);
  tombola_grammar *const other = get(cache, &gbnf); /* now both places are taken */
  assert_ptr_not_equal(first, other);
  tombola_grammar_free(get(cache, &one)); /* used last */
  tombola_grammar *const third = get(cache, &spaces);
  assert_ptr_not_equal(first, third);
  tombola_grammar *const still = get(cache, &one);
  assert_ptr_equal(first, still);
  tombola_grammar *const anew = get(cache, &gbnf); /* it had gone */
  assert_ptr_not_equal(other, anew);

  tombola_grammar *none = NULL;
  struct tombola_error error = {0};
  const struct tombola_grammar_source wrong = support_source(TOMBOLA_GRAMMAR_REGEX, "(");
  for (size_t i = 0; i < 2; i++)
    assert_int_equal(tombola_grammar_cache_get(cache, &wrong, &none, NULL, &error), TOMBOLA_FORMAT);
  assert_null(none);
  assert_int_equal(tombola_grammar_cache_get(cache, NULL, &none, NULL, &error), TOMBOLA_INVALID_ARGUMENT);
  tombola_grammar *const all[] = {first, second, other, third, still, anew};
  for (size_t i = 0; i < TOMBOLA__COUNT(all); i++)
    tombola_grammar_free(all[i]);
  tombola_grammar_cache_free(cache);
  tombola_grammar_cache_free(NULL);
  support_allocator_check(&a);
}

/* Threads that ask for the same few grammars and use them at once get the same ones, and right masks. */
enum { THREADS = 4, SOURCES = 3 };
static tombola_grammar_cache *shared;

static void *use(void *context) {
  static const char *const texts[SOURCES] = {"[a-z]+[0-9]", "(ab|ba)*c", "x{3,9}y?"};
  static const char *const answers[SOURCES] = {"word7", "abbac", "xxxxy"};
  tombola_grammar **const found = context;
  for (size_t i = 0; i < SOURCES; i++) {
    const struct tombola_grammar_source source = support_source(TOMBOLA_GRAMMAR_REGEX, texts[i]);
    tombola_matcher *m = NULL;
    if (tombola_grammar_cache_get(shared, &source, &found[i], NULL, NULL)) return NULL;
    if (tombola_matcher_new(found[i], NULL, &m, NULL)) return NULL;
    for (const char *c = answers[i]; *c; c++) {
      struct tombola_mask mask;
      if (tombola_matcher_mask(m, &mask, NULL) || !(mask.words[(uint8_t)*c / 32] >> *c % 32 & 1)) return NULL;
      if (tombola_matcher_accept(m, *c, NULL)) return NULL;
    }
    const int complete = tombola_matcher_is_complete(m);
    tombola_matcher_free(m);
    if (!complete) return NULL;
  }
  return context;
}

static void test_threads(void **state) {
  (void)state;
  static struct support_words words;
  struct support_rng rng = support_rng(64);
  support_words_fill(&words, &rng);
  tombola_vocabulary *const v = support_vocabulary(&words);
  tombola_trie *const trie = support_trie(v);
  for (size_t round = 0; round < 20; round++) {
    tombola_grammar *found[THREADS][SOURCES] = {{NULL}};
    pthread_t threads[THREADS];
    assert_int_equal(tombola_grammar_cache_new(trie, 0, NULL, &shared, NULL), TOMBOLA_OK);
    for (size_t i = 0; i < THREADS; i++)
      assert_int_equal(pthread_create(&threads[i], NULL, use, found[i]), 0);
    for (size_t i = 0; i < THREADS; i++) {
      void *result;
      pthread_join(threads[i], &result);
      assert_non_null(result);
    }
    for (size_t i = 0; i < THREADS; i++)
      for (size_t k = 0; k < SOURCES; k++) {
        assert_ptr_equal(found[i][k], found[0][k]);
        tombola_grammar_free(found[i][k]);
      }
    tombola_grammar_cache_free(shared);
  }
  tombola_trie_free(trie);
  tombola_vocabulary_free(v);
}

/* Every allocation of compiling and of a first answer may fail: a status, and all is given back. */
static void test_memory(void **state) {
  (void)state;
  const struct tombola_grammar_source source = support_source(
      TOMBOLA_GRAMMAR_JSON_SCHEMA,
      "{\"properties\":{\"a\":{\"pattern\":\"^a+$\"}},\"required\":[\"a\"],\"type\":\"object\"}");
  for (size_t n = 1;; n++) {
    struct support_allocator a = support_allocator(n);
    tombola_grammar *g = NULL;
    tombola_matcher *m = NULL;
    enum tombola_status status =
        tombola_grammar_new(&source, NULL, support_allocator_use(&a), &g, NULL, NULL);
    if (!status) status = tombola_matcher_new(g, support_allocator_use(&a), &m, NULL);
    if (!status) status = tombola_matcher_accept_bytes(m, "{\"a\":\"aa\"}", 10, NULL, NULL);
    tombola_matcher_free(m);
    tombola_grammar_free(g);
    support_allocator_check(&a);
    if (a.requests < n) {
      assert_int_equal(status, TOMBOLA_OK);
      return;
    }
    assert_int_equal(status, TOMBOLA_NO_MEMORY);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_options), cmocka_unit_test(test_rules_of_mixes), cmocka_unit_test(test_nothing),
      cmocka_unit_test(test_lenient), cmocka_unit_test(test_cache),          cmocka_unit_test(test_threads),
      cmocka_unit_test(test_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
