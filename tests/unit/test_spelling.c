/* SPDX-License-Identifier: Apache-2.0 */
/* Strings and names that are spelled plainly: what is accepted, every beginning of one code point, and what that forces
 * and refuses. */
#include "constraint_support.h"
#include "machine_support.h"

/* ---- texts ---- */

static const struct {
  const char *schema;
  const char *accept[12], *reject[24];
} cases[] = {
    {"{\"type\":\"string\"}",
     {"\"\"", "\"a/b\"", "\"\\\"\\\\\"", "\"\\b\\f\\n\\r\\t\"",
      "\"\\u0000\\u0007\\u000b\\u000B\\u000e\\u001F\"", "\"\xC3\xA9\xF0\x9F\x98\x80\"", "\"\x7F\"",
      "\"\\\\u0061\""},
     {"\"\\/\"", "\"\\u0061\"", "\"\\u0022\"", "\"\\u005c\"", "\"\\u0008\"", "\"\\u0009\"", "\"\\u000a\"",
      "\"\\u000c\"", "\"\\u000D\"", "\"\\u0020\"", "\"\\u007f\"", "\"\\u00e9\"", "\"\\ud83d\\ude00\"",
      "\"\\ud83d\"", "\"\n\"", "\"\\x\""}},
    {"{\"type\":\"number\"}",
     {"0", "-1", "1.5", "100", "0.05", "-0.5", "12345678901234567890.125"},
     {"-0", "0.0", "1.0", "1.50", "1e1", "1E-1", "-0.0", "01", "1.", "+1"}},
    {"{\"type\":\"integer\",\"maximum\":100}",
     {"100", "-100000", "0"},
     {"1000", "100.0", "10e1", "-0", "101"}},
    {"{\"type\":\"number\",\"minimum\":99.5,\"maximum\":100}",
     {"100", "99.5", "99.75"},
     {"99.50", "100.0", "995e-1"}},
    {"{\"enum\":[1.0,2.50,3e2,\"a/b\"]}",
     {"1", "2.5", "300", "\"a/b\""},
     {"1.0", "2.50", "3e2", "\"a\\/b\""}},
    {"{\"type\":\"object\",\"properties\":{\"a/b\":{\"const\":1}},\"additionalProperties\":false}",
     {"{\"a/b\":1}", "{}"},
     {"{\"a\\/b\":1}", "{\"\\u0061/b\":1}", "{\"a/b\":1.0}"}},
    {"{\"type\":\"object\",\"additionalProperties\":{\"const\":1}}",
     {"{\"\\n\":1,\"n\":1}", "{\"\\\"\":1}"},
     {"{\"\\u0061\":1}", "{\"\\/\":1}", "{\"\\n\":1,\"\\n\":1}"}},
    {"{\"type\":\"array\",\"items\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":2},\"uniqueItems\":true}",
     {"[1,2]", "[2,1]", "[]"},
     {"[1,1]", "[1,2,1]", "[1,2e0]"}},
};

static struct tombola_grammar_source plain_source(const char *schema) {
  struct tombola_grammar_source source = support_source(TOMBOLA_GRAMMAR_JSON_SCHEMA, schema);
  source.whitespace = TOMBOLA_WHITESPACE_NONE;
  source.spelling = TOMBOLA_SPELLING_PLAIN;
  return source;
}

static bool is_answer(tombola_grammar *g, const char *text) {
  tombola_matcher *const m = support_matcher(g);
  const bool is =
      !tombola_matcher_accept_bytes(m, text, strlen(text), NULL, NULL) && tombola_matcher_is_complete(m);
  tombola_matcher_free(m);
  return is;
}

static void test_texts(void **state) {
  (void)state;
  for (size_t i = 0; i < TOMBOLA__COUNT(cases); i++) {
    struct tombola_grammar_source source = plain_source(cases[i].schema);
    tombola_grammar *const g = support_grammar(&source, NULL);
    for (const char *const *t = cases[i].accept; *t; t++)
      if (!is_answer(g, *t)) fail_msg("%s: %s must be accepted", cases[i].schema, *t);
    for (const char *const *t = cases[i].reject; *t; t++)
      if (is_answer(g, *t)) fail_msg("%s: %s must be rejected", cases[i].schema, *t);
    tombola_grammar_free(g);
  }
}

/* ---- every beginning ---- */

static const uint32_t points[] = {0,    7,    8,    9,     0x0A,   0x0B,   0x0C,   0x0D,    0x0E,   0x0F,
                                  0x10, 0x1B, 0x1F, ' ',   '"',    '/',    '0',    'u',     '\\',   'n',
                                  0x7F, 0xE9, 0x80, 0x7FF, 0x20AC, 0xD7FF, 0xE000, 0x10000, 0x1F600};
enum { POINTS = sizeof points / sizeof *points };

/* Spellings of a code point; two where hexadecimal digits are letters. Returns how many. */
static size_t spell(uint32_t point, char out[2][8]) {
  static const char controls[] = "\b\f\n\r\t", letters[] = "bfnrt";
  const char *const known = point && point < 0x20 ? strchr(controls, (int)point) : NULL;
  memset(out, 0, 16);
  if (known || point == '"' || point == '\\') {
    out[0][0] = '\\';
    out[0][1] = known ? letters[known - controls] : (char)point;
  } else if (point < 0x20) {
    snprintf(out[0], 8, "\\u%04x", point);
    snprintf(out[1], 8, "\\u%04X", point);
    return strcmp(out[0], out[1]) ? 2 : 1;
  } else if (point < 0x80) {
    out[0][0] = (char)point;
  } else if (point < 0x800) {
    snprintf(out[0], 8, "%c%c", 0xC0 | point >> 6, 0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    snprintf(out[0], 8, "%c%c%c", 0xE0 | point >> 12, 0x80 | (point >> 6 & 0x3F), 0x80 | (point & 0x3F));
  } else {
    snprintf(out[0], 8, "%c%c%c%c", 0xF0 | point >> 18, 0x80 | (point >> 12 & 0x3F),
             0x80 | (point >> 6 & 0x3F), 0x80 | (point & 0x3F));
  }
  return 1;
}

struct spelled {
  char texts[2 * POINTS][8];
  size_t n;
};

/* Follows all beginnings; a byte may come exactly if some text goes on with it. */
static size_t follow(struct tombola__machine *m, const struct spelled *all, char *text, size_t length) {
  size_t tried = 0;
  for (unsigned byte = 0; byte < 256; byte++) {
    bool whole = false, begins = false;
    text[length] = (char)byte;
    for (size_t i = 0; i < all->n; i++) {
      begins |= strlen(all->texts[i]) > length && !memcmp(all->texts[i], text, length + 1);
      whole |= strlen(all->texts[i]) == length && !memcmp(all->texts[i], text, length);
    }
    const bool fits = tombola__machine_push(m, (uint8_t)byte);
    if (fits != (begins || (whole && byte == '"'))) fail_msg("%.*s: byte %02x", (int)length, text, byte);
    if (fits && begins) tried += follow(m, all, text, length + 1);
    if (fits) tombola__machine_pop(m, 1);
    tried++;
  }
  return tried;
}

static void test_beginnings(void **state) {
  (void)state;
  struct support_rng rng = support_rng(3);
  for (size_t trial = 0; trial < 300; trial++) {
    struct tombola__range ranges[POINTS];
    struct spelled all = {.n = 0};
    size_t n = 0, few = 2 + support_below(&rng, 12);
    for (size_t i = 0; i < POINTS; i++) {
      char each[2][8];
      if (support_below(&rng, few)) continue;
      ranges[n++] = (struct tombola__range){points[i], points[i]};
      for (size_t k = spell(points[i], each); k > 0; k--)
        memcpy(all.texts[all.n++], each[k - 1], 8);
    }
    if (n == 0) continue;
    for (int is_key = 0; is_key < 2; is_key++) {
      char text[16];
      open_store(TOMBOLA_WHITESPACE_NONE, 0);
      store.spelling = TOMBOLA_SPELLING_PLAIN;
      tombola__lang lang = TOMBOLA__LANG_NONE;
      for (size_t i = 0; i < n; i++)
        lang = tombola__lang_or(&store, lang, tombola__lang_set(&store, &ranges[i], 1));
      const tombola__formula f =
          is_key
              ? tombola__and2(&store, tombola__types(&store, TOMBOLA__OBJECT),
                              tombola__keys(&store, tombola__lang_not(&store, lang), TOMBOLA__FALSE))
              : tombola__and2(&store, tombola__types(&store, TOMBOLA__STRING), tombola__text(&store, lang));
      struct tombola__machine *const m = machine_of(f);
      assert_int_equal(fits(m, is_key ? "{\"" : "\"", is_key ? 2 : 1), 1 + is_key);
      assert_true(follow(m, &all, text, 0) >= 256);
      well();
      tombola__machine_free(m);
      tombola__store_free(&store);
    }
  }
}

/* ---- what it is good for ---- */

static void check_forced(tombola_grammar *g, const char *text, const char *expected) {
  char bytes[64];
  size_t length;
  tombola_matcher *const m = support_matcher(g);
  assert_int_equal(tombola_matcher_accept_bytes(m, text, strlen(text), NULL, NULL), TOMBOLA_OK);
  assert_int_equal(tombola_matcher_forced(m, bytes, sizeof bytes, &length, NULL), TOMBOLA_OK);
  if (length != strlen(expected) || memcmp(bytes, expected, length))
    fail_msg("behind %s: %.*s, not %s", text, (int)length, bytes, expected);
  tombola_matcher_free(m);
}

static void test_forced(void **state) {
  (void)state;
  struct tombola_grammar_source source = plain_source(
      "{\"type\":\"object\",\"properties\":{\"key\":{\"type\":\"boolean\"},\"kind\":{\"const\":\"a\\n1\"},"
      "\"max\":{\"const\":100}},\"required\":[\"key\",\"kind\",\"max\"],\"additionalProperties\":false}");
  source.order = TOMBOLA_ORDER_DECLARED;
  tombola_grammar *const g = support_grammar(&source, NULL);
  check_forced(g, "", "{\"key\":");
  check_forced(g, "{\"key\":t", "rue,\"kind\":\"a\\n1\",\"max\":100}");
  tombola_grammar_free(g);
}

static void test_refused(void **state) {
  (void)state;
  static const char *const none[] = {"{\"const\":1e64}",
                                     "{\"type\":\"number\",\"exclusiveMinimum\":0,\"maximum\":1e-65}",
                                     "{\"const\":[1e99]}"};
  struct tombola_error error;
  tombola_grammar *g;
  for (size_t i = 0; i < TOMBOLA__COUNT(none); i++) {
    struct tombola_grammar_source source = plain_source(none[i]);
    assert_int_equal(tombola_grammar_new(&source, NULL, NULL, &g, NULL, &error), TOMBOLA_NO_CANDIDATE);
    assert_non_null(strstr(error.message, "spelling"));
    source.spelling = TOMBOLA_SPELLING_ANY;
    tombola_grammar_free(support_grammar(&source, NULL));
  }
  struct tombola_grammar_source source = plain_source("{\"const\":{\"a\":9e63}}");
  tombola_grammar_free(support_grammar(&source, NULL));
  source.spelling = (enum tombola_spelling)2;
  assert_int_equal(tombola_grammar_new(&source, NULL, NULL, &g, NULL, &error), TOMBOLA_INVALID_ARGUMENT);
}

/* The cache tells grammars apart by it. */
static void test_cached(void **state) {
  (void)state;
  tombola_grammar_cache *cache;
  tombola_grammar *g[3];
  struct tombola_grammar_source source = plain_source("{\"type\":\"string\"}");
  assert_int_equal(tombola_grammar_cache_new(NULL, 0, NULL, &cache, NULL), TOMBOLA_OK);
  for (int i = 0; i < 3; i++) {
    source.spelling = i == 1 ? TOMBOLA_SPELLING_ANY : TOMBOLA_SPELLING_PLAIN;
    assert_int_equal(tombola_grammar_cache_get(cache, &source, &g[i], NULL, NULL), TOMBOLA_OK);
  }
  assert_ptr_equal(g[0], g[2]);
  assert_true(is_answer(g[1], "\"\\/\"") && !is_answer(g[0], "\"\\/\""));
  for (int i = 0; i < 3; i++)
    tombola_grammar_free(g[i]);
  tombola_grammar_cache_free(cache);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_texts),   cmocka_unit_test(test_beginnings), cmocka_unit_test(test_forced),
      cmocka_unit_test(test_refused), cmocka_unit_test(test_cached),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
