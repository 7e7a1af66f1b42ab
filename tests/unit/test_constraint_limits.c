/* SPDX-License-Identifier: Apache-2.0 */
/* Deep and long texts, and that every limit is one. */
#include "limits_support.h"

/* ---- deep and long texts ---- */

/* A text of one grammar, until it ends or a limit does. Returns how many bytes fit. */
static size_t read_text(tombola_grammar *grammar, struct text *t, struct tombola_error *error) {
  tombola_matcher *const matcher = support_matcher(grammar);
  const double start = seconds();
  size_t n = 0;
  for (; n < t->length; n++)
    if (tombola_matcher_accept_bytes(matcher, t->bytes + n, 1, NULL, error)) break;
  assert_true(seconds() - start < 4.0 * SLOW);
  struct tombola_mask mask;
  const enum tombola_status status = tombola_matcher_mask(matcher, &mask, NULL);
  assert_true(status == TOMBOLA_OK || status == TOMBOLA_OUT_OF_RANGE);
  tombola_matcher_free(matcher);
  tombola_grammar_free(grammar);
  free(t->bytes);
  *t = (struct text){0};
  return n;
}

static tombola_grammar *grammar_of(enum tombola_grammar_kind kind, const char *text) {
  const struct tombola_grammar_source source = support_source(kind, text);
  return support_grammar(&source, trie);
}

static void documents(void **state) {
  (void)state;
  struct tombola_error error = {0};
  struct text t = {0};
  put(&t, "[", 100000);
  assert_int_equal(read_text(grammar_of(TOMBOLA_GRAMMAR_JSON, NULL), &t, &error), 256);
  assert_int_equal(error.status, TOMBOLA_OUT_OF_RANGE);
  assert_non_null(strstr(error.message, "max_depth"));
  put(&t, "{\"a\":", 100000);
  assert_int_equal(read_text(grammar_of(TOMBOLA_GRAMMAR_JSON, NULL), &t, &error), 256 * 5);
  assert_non_null(strstr(error.message, "max_depth"));
  put(&t, "(", 100000); /* rules don't nest on the stack */
  assert_int_equal(read_text(grammar_of(GBNF, "root ::= \"(\" root \")\" | \"a\""), &t, &error), 100000);
  put(&t, "(", 100000);
  put(&t, "a", 1);
  assert_int_equal(read_text(grammar_of(GBNF, "root ::= \"(\" root \" \"* | \"a\""), &t, &error), 100000);
  assert_non_null(strstr(error.message, "max_threads"));
  put(&t, "\"", 1);
  put(&t, "long ", 40000);
  put(&t, "\"", 1);
  const size_t length = t.length;
  assert_int_equal(read_text(grammar_of(TOMBOLA_GRAMMAR_JSON, NULL), &t, &error), length);
  put(&t, "1", 2000);
  assert_int_equal(read_text(grammar_of(SCHEMA, "{\"type\":\"number\",\"multipleOf\":7}"), &t, &error), 2000);
  put(&t, "[-1", 1);
  put(&t, ",%", 400);
  assert_true(read_text(grammar_of(SCHEMA, "{\"type\":\"array\",\"uniqueItems\":true}"), &t, &error) > 1000);
  put(&t, "{\"x\":1", 1);
  put(&t, ",\"a%\":1", 400);
  assert_true(read_text(grammar_of(TOMBOLA_GRAMMAR_JSON, NULL), &t, &error) > 1000);
  put(&t, "a", 200);
  assert_true(read_text(grammar_of(GBNF, "root ::= \"a\" root root | \"a\""), &t, &error) > 10);
  put(&t, "a", 200);
  assert_true(read_text(grammar_of(GBNF, "root ::= \"a\" root \"a\" | \"a\" root | \"a\""), &t, &error) > 10);
}

/* ---- each limit ---- */

static void limited(const char *param, struct tombola_grammar_limits limits, enum tombola_grammar_kind kind,
                    const char *text) {
  struct tombola_grammar_source source = support_source(kind, text);
  struct tombola_error error = {0};
  tombola_grammar *grammar = NULL;
  tombola_grammar_free(support_grammar(&source, trie)); /* by default it may */
  limits.struct_size = sizeof limits;
  source.limits = &limits;
  if (tombola_grammar_new(&source, trie, NULL, &grammar, NULL, &error) != TOMBOLA_OUT_OF_RANGE)
    fail_msg("%s: %s of %s", param, tombola_status_name(error.status), text);
  assert_null(grammar);
  assert_int_equal(error.status, TOMBOLA_OUT_OF_RANGE);
  if (!strstr(error.message, param)) fail_msg("%s isn't in: %s", param, error.message);
}

static void limits_of_compiling(void **state) {
  (void)state;
  limited("max_states", (struct tombola_grammar_limits){.max_states = 20}, SCHEMA,
          "{\"type\":\"string\",\"minLength\":9,\"pattern\":\"(a|b)*a(a|b){9}\",\"not\":{\"pattern\":\"b.{5}$"
          "\"}}");
  limited("max_bytes", (struct tombola_grammar_limits){.max_bytes = 1}, TOMBOLA_GRAMMAR_JSON, NULL);
  limited("max_depth", (struct tombola_grammar_limits){.max_depth = 3}, REGEX, "((((a))))");
  limited("max_depth", (struct tombola_grammar_limits){.max_depth = 3}, GBNF, "root ::= ((((\"a\"))))");
  limited("max_depth", (struct tombola_grammar_limits){.max_depth = 3}, SCHEMA,
          "{\"not\":{\"not\":{\"not\":{\"not\":{\"not\":false}}}}}");
  limited("max_refs", (struct tombola_grammar_limits){.max_refs = 2}, SCHEMA,
          "{\"properties\":{\"a\":{\"$ref\":\"#\"},\"b\":{\"$ref\":\"#\"},\"c\":{\"$ref\":\"#\"}}}");
  limited("max_source", (struct tombola_grammar_limits){.max_source = 3}, REGEX, "abcd");
  limited("max_source", (struct tombola_grammar_limits){.max_source = 3}, SCHEMA, "true");
  limited(
      "max_seconds", (struct tombola_grammar_limits){.max_seconds = 1e-9}, SCHEMA,
      "{\"type\":\"string\",\"minLength\":3,\"pattern\":\"(.*a.{20})\",\"not\":{\"pattern\":\"b.{9}$\"}}");
  limited("max_work", (struct tombola_grammar_limits){.max_work = 9}, GBNF,
          "root ::= x? y? x? y? x? y?\nx ::= \"a\" root\ny ::= \"b\" root");
  limited("max_threads", (struct tombola_grammar_limits){.max_threads = 2}, GBNF,
          "root ::= a | b | c\na ::= \"a\" a | \"x\"\nb ::= \"a\" b | \"y\"\nc ::= \"a\" c | \"z\"");
}

/* Whether a mask has the token of these bytes. */
static bool allows(const struct tombola_mask *mask, const char *text) {
  for (size_t i = 0; i < mask->count; i++) {
    size_t length;
    const char *const bytes = tombola_vocabulary_bytes(words_of, (tombola_token)i, &length);
    if (length == strlen(text) && !memcmp(bytes, text, length) && (mask->words[i / 32] >> i % 32 & 1))
      return true;
  }
  return false;
}

/* What a matcher meets while it reads: it stays where it was, and its grammar can be used. */
static void limits_of_matchers(void **state) {
  (void)state;
  struct tombola_grammar_limits limits = {.struct_size = sizeof limits, .max_depth = 4};
  struct tombola_grammar_source source = support_source(TOMBOLA_GRAMMAR_JSON, NULL);
  struct tombola_error error = {0};
  source.limits = &limits;
  tombola_grammar *grammar = support_grammar(&source, trie);
  tombola_matcher *matcher = support_matcher(grammar);
  assert_int_equal(tombola_matcher_accept_bytes(matcher, "[[[[", 4, NULL, NULL), TOMBOLA_OK);
  assert_int_equal(tombola_matcher_accept_bytes(matcher, "[", 1, NULL, &error), TOMBOLA_OUT_OF_RANGE);
  assert_non_null(strstr(error.message, "max_depth"));
  /* A mask leaves out what would be too deep, and has the rest. */
  struct tombola_mask mask;
  assert_int_equal(tombola_matcher_mask(matcher, &mask, &error), TOMBOLA_OK);
  assert_false(allows(&mask, "["));
  assert_true(allows(&mask, "]"));
  assert_int_equal(tombola_matcher_accept_bytes(matcher, "1]]]]", 5, NULL, NULL), TOMBOLA_OK);
  assert_true(tombola_matcher_is_complete(matcher));
  tombola_matcher_free(matcher);
  tombola_grammar_free(grammar);
}

/* One call may take so much work, and the next one too. */
static void limits_of_work(void **state) {
  (void)state;
  struct tombola_grammar_limits limits = {.struct_size = sizeof limits, .max_work = 1000};
  struct tombola_grammar_source source =
      support_source(GBNF, "root ::= (x{7,1000}){5,1000}\nx ::= \"a\" x? | \"b\" root");
  struct tombola_error error = {0};
  struct tombola_mask mask;
  static char text[1000];
  size_t fit, n = 0;
  memset(text, 'a', sizeof text);
  source.limits = &limits;
  tombola_grammar *const grammar = support_grammar(&source, trie);
  tombola_matcher *const matcher = support_matcher(grammar);
  assert_int_equal(tombola_matcher_mask(matcher, &mask, &error), TOMBOLA_OUT_OF_RANGE);
  assert_non_null(strstr(error.message, "max_work"));
  assert_int_equal(tombola_matcher_accept_bytes(matcher, text, sizeof text, &fit, &error),
                   TOMBOLA_OUT_OF_RANGE);
  assert_non_null(strstr(error.message, "max_work"));
  assert_string_equal(error.param, "max_work");
  assert_int_equal(tombola_matcher_accepted(matcher), 0);
  while (n < sizeof text && tombola_matcher_accept_bytes(matcher, "a", 1, NULL, &error) == TOMBOLA_OK)
    n++;
  assert_true(n > 3 && n < 1000); /* each byte takes more than the one in front of it */
  assert_int_equal(tombola_matcher_accept_bytes(matcher, "z", 1, NULL, &error), TOMBOLA_INVALID_ARGUMENT);
  tombola_matcher_reset(matcher);
  for (size_t i = 0; i < n; i++)
    assert_int_equal(tombola_matcher_accept_bytes(matcher, "a", 1, NULL, NULL), TOMBOLA_OK);
  tombola_matcher_free(matcher);
  tombola_grammar_free(grammar);
}

/* How many readings there are of a text doesn't matter where they all go on alike. */
static void many_readings(void **state) {
  (void)state;
  static const char *const texts[] = {"root ::= (x{0,1000}){0,1000}\nx ::= \"a\" x? | \"b\" root",
                                      "root ::= ((x*)*)*\nx ::= \"a\" x? | \"b\" root",
                                      "root ::= (x{0,1000} x? x*)+\nx ::= \"a\" x? | \"b\" root"};
  struct tombola_grammar_limits limits = {.struct_size = sizeof limits, .max_work = 50000};
  for (size_t i = 0; i < TOMBOLA__COUNT(texts); i++) {
    struct tombola_grammar_source source = support_source(GBNF, texts[i]);
    source.limits = &limits;
    tombola_grammar *const grammar = support_grammar(&source, trie);
    tombola_matcher *const matcher = support_matcher(grammar);
    for (size_t n = 0; n < 100; n++) {
      struct tombola_error error = {.message = ""};
      if (tombola_matcher_accept_bytes(matcher, "a", 1, NULL, &error))
        fail_msg("%s: byte %zu: %s", texts[i], n, error.message);
    }
    tombola_matcher_free(matcher);
    tombola_grammar_free(grammar);
  }
}

/* Without room for masks they are made each time. */
static void limits_of_masks(void **state) {
  (void)state;
  struct tombola_grammar_limits limits = {.struct_size = sizeof limits, .mask_bytes = 1};
  struct tombola_grammar_source source = support_source(TOMBOLA_GRAMMAR_JSON, NULL);
  struct meter meter;
  tombola_grammar *grammar = NULL;
  struct tombola_mask mask;
  meter_start(&meter);
  source.limits = &limits;
  assert_int_equal(tombola_grammar_new(&source, trie, &meter.allocator, &grammar, NULL, NULL), TOMBOLA_OK);
  tombola_matcher *const matcher = support_matcher(grammar);
  size_t requests = 0;
  for (size_t i = 0; i < 20; i++) {
    assert_int_equal(tombola_matcher_accept_bytes(matcher, "[1,\"a\\u00", 9, NULL, NULL), TOMBOLA_OK);
    assert_int_equal(tombola_matcher_mask(matcher, &mask, NULL), TOMBOLA_OK);
    tombola_matcher_reset(matcher);
    assert_int_equal(tombola_matcher_mask(matcher, &mask, NULL), TOMBOLA_OK);
    if (i == 0) requests = meter.inner.requests;
  }
  assert_int_equal(meter.inner.requests, requests); /* none was kept */
  tombola_matcher_free(matcher);
  tombola_grammar_free(grammar);
}

/* Beyond max_bytes again and again: it doesn't grow. */
static void limits_hold(void **state) {
  (void)state;
  struct tombola_grammar_limits limits = {.struct_size = sizeof limits, .max_bytes = MIB};
  struct tombola_grammar_source source = support_source(REGEX, "(a|b|c)*a(a|b|c){12}[^x]*");
  struct meter meter;
  tombola_grammar *grammar = NULL;
  meter_start(&meter);
  source.limits = &limits;
  assert_int_equal(tombola_grammar_new(&source, NULL, &meter.allocator, &grammar, NULL, NULL), TOMBOLA_OK);
  tombola_matcher *matcher = NULL;
  assert_int_equal(tombola_matcher_new(grammar, &meter.allocator, &matcher, NULL), TOMBOLA_OK);
  struct support_rng rng = support_rng(71);
  size_t failures = 0;
  for (size_t i = 0; i < 200000; i++) {
    struct tombola_error error = {0};
    const char letter = "abc"[support_below(&rng, 3)];
    const enum tombola_status status = tombola_matcher_accept_bytes(matcher, &letter, 1, NULL, &error);
    if (!status) continue;
    assert_int_equal(status, TOMBOLA_OUT_OF_RANGE);
    assert_non_null(strstr(error.message, "max_bytes"));
    failures++;
    if (i % 64 == 0) tombola_matcher_reset(matcher);
  }
  assert_true(failures > 0);
  if (meter.peak > 3 * MIB) fail_msg("%zu bytes after %zu failures", meter.peak, failures);
  tombola_matcher_free(matcher);
  tombola_grammar_free(grammar);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(documents),          cmocka_unit_test(limits_of_compiling),
      cmocka_unit_test(limits_of_matchers), cmocka_unit_test(limits_of_masks),
      cmocka_unit_test(limits_hold),        cmocka_unit_test(limits_of_work),
      cmocka_unit_test(many_readings),
  };
  return run_limited(argc, argv, tests, TOMBOLA__COUNT(tests));
}
