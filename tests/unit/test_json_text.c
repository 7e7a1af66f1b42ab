/* SPDX-License-Identifier: Apache-2.0 */
/* JSON texts: the kinds of JSONTestSuite, white space, strings (case D03), keys and properties (D05), the end (D01),
 * numbers, and arrays whose items are all different. Keys that come twice are rejected, unlike there. */
#include "machine_support.h"

#include "json_texts.h"

/* ---- any JSON text ---- */

static void test_corpus(void **state) {
  (void)state;
  size_t n[2] = {0};
  open_store(TOMBOLA_WHITESPACE_ANY, 0);
  struct tombola__machine *const m = machine_of(TOMBOLA__TRUE);
  for (size_t i = 0; i < TOMBOLA__COUNT(json_texts); i++) {
    const struct json_text *const t = &json_texts[i];
    n[t->accept]++;
    if (accepts(m, t->text, t->length) != (bool)t->accept)
      fail_msg("%s: must be %s", t->name, t->accept ? "accepted" : "rejected");
    well();
  }
  assert_true(n[1] >= 95 && n[0] >= 180);
  tombola__machine_free(m);
  tombola__store_free(&store);
}

/* ---- tables ---- */

struct texts {
  tombola__formula (*make)(void);
  const char *accept[10], *reject[10];
};

static void check(const struct texts *table, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const tombola__formula f = table[i].make();
    well();
    struct tombola__machine *const m = machine_of(f);
    for (const char *const *t = table[i].accept; *t; t++)
      if (!accepts(m, *t, strlen(*t))) fail_msg("%zu: %s must be accepted", i, *t);
    for (const char *const *t = table[i].reject; *t; t++)
      if (accepts(m, *t, strlen(*t))) fail_msg("%zu: %s must be rejected", i, *t);
    well();
    tombola__machine_free(m);
  }
}

#define CHECK(table) check(table, TOMBOLA__COUNT(table))

static const struct tombola__name *name(const char *text) {
  return tombola__name(&store, text, strlen(text));
}

static tombola__formula typed(unsigned types, tombola__formula f) {
  return tombola__and2(&store, tombola__types(&store, types), f);
}

static tombola__formula all(const tombola__formula *parts, size_t n) {
  return tombola__and(&store, parts, n);
}
#define ALL(...)                               \
  all((const tombola__formula[]){__VA_ARGS__}, \
      sizeof((const tombola__formula[]){__VA_ARGS__}) / sizeof(tombola__formula))

static tombola__formula strings_of(uint32_t min, uint32_t max) {
  return typed(TOMBOLA__STRING, tombola__text(&store, tombola__lang_length(&store, min, max)));
}

static tombola__formula equal(const char *json) {
  return tombola__equal_to(&store, json, strlen(json));
}

static tombola__formula integers(void) {
  return typed(TOMBOLA__NUMBER, tombola__numeric(&store, tombola__numbers_integers(&store)));
}

static tombola__formula property(const char *key, uint32_t order, tombola__formula f) {
  return tombola__property(&store, name(key), order, f);
}

static tombola__formula required(const char *key) {
  return tombola__required(&store, name(key));
}

/* ---- D03: strings ---- */

static tombola__formula any_string(void) {
  return tombola__types(&store, TOMBOLA__STRING);
}

static tombola__formula up_to_two(void) {
  return strings_of(0, 2);
}

static tombola__formula two_or_more(void) {
  return strings_of(2, TOMBOLA__LANG_UNBOUNDED);
}

static tombola__formula one_face(void) {
  const struct tombola__range faces = {0x1F600, 0x1F64F};
  return typed(TOMBOLA__STRING, tombola__text(&store, tombola__lang_set(&store, &faces, 1)));
}

static const struct texts strings[] = {
    {any_string,
     {"\"a\\nb\"", "\"\\u0041\"", "\"\\ud83d\\ude00\"", "\"😀\"", "\"\\/\"", "\"\"", "\"\x7f\""},
     {"\"a\nb\"", "\"a\tb\"", "\"\\x41\"", "\"\\u12\"", "\"\\'\"", "\"\\ud83d\"", "\"\xed\xa0\xbd\"", "1"}},
    {up_to_two,
     {"\"😀😀\"", "\"\\ud83d\\ude00\\ud83d\\ude00\"", "\"é\"", "\"\\n\\n\"", "\"\""},
     {"\"abc\"", "\"😀😀😀\"", "\"\\u0061\\u0061\\u0061\""}},
    {two_or_more, {"\"😀😀\"", "\"ab\"", "\"a\\u0000\"", "\"abc\""}, {"\"😀\"", "\"\"", "\"\\ud83d\\ude00\""}},
    {one_face,
     {"\"😀\"", "\"🙏\"", "\"\\ud83d\\ude00\"", "\"\\uD83D\\uDE4F\""},
     {"\"a\"", "\"\"", "\"\\ud83d\\ude50\"", "\"😀😀\""}},
};

/* Nothing that can't be completed is read: the byte that goes wrong is refused. */
static const struct {
  tombola__formula (*make)(void);
  const char *text;
  size_t fits;
} beginnings[] = {
    {one_face, "\"\xf0\x9f\x98\x80\"", 6},
    {one_face, "\"\xf0\x9f\x99\x90", 4}, /* U+1F650 */
    {one_face, "\"\xf0\x9f\xa4", 3},
    {one_face, "\"a", 1},
    {one_face, "\"\xe2", 1},
    {one_face, "\"\\n", 2},
    {one_face, "\"\\u0", 3},
    {one_face, "\"\\ud83c", 6},
    {one_face, "\"\\ud83d\\udd", 10}, /* U+1F500 to U+1F5FF */
    {one_face, "\"\\ud83d\\ude5", 11},
    {one_face, "\"\\ud83d\\ude4f\"", 14},
    {one_face, "\"\xf0\x9f\x98\x80x", 5},
    {one_face, "\"\xf0\x9f\x98\x80\\", 5},
    {up_to_two, "\"ab\\", 3},
    {up_to_two, "\"ab\xc3", 3},
    {any_string, "\"\xc0", 1},
    {any_string, "\"\xe0\x9f", 2},
    {any_string, "\"\xed\xa0", 2},
    {any_string, "\"\xf4\x90", 2},
    {any_string, "\"\xf5", 1},
    {any_string, "\"\\udc", 4},
    {any_string, "\"\\ud800\"", 7},
    {any_string, "\"\\ud800\\n", 8},
    {any_string, "\"\\ud800\\ud8", 10},
    {any_string, "\"\\ud800\\ue", 9},
};

static void test_strings(void **state) {
  (void)state;
  open_store(TOMBOLA_WHITESPACE_NONE, 0);
  CHECK(strings);
  for (size_t i = 0; i < TOMBOLA__COUNT(beginnings); i++) {
    struct tombola__machine *const m = machine_of(beginnings[i].make());
    const size_t n = fits(m, beginnings[i].text, strlen(beginnings[i].text));
    if (n != beginnings[i].fits) fail_msg("%zu: %zu bytes fit, not %zu", i, n, beginnings[i].fits);
    tombola__machine_free(m);
  }
  tombola__store_free(&store);
}

/* ---- D05: objects and arrays ---- */

static tombola__formula foo_and_bar(void) {
  return ALL(tombola__types(&store, TOMBOLA__OBJECT), property("a", 0, equal("\"foo\"")),
             property("b", 1, equal("\"bar\"")), required("b"));
}

static tombola__formula any_object(void) {
  return tombola__types(&store, TOMBOLA__OBJECT);
}

/* additionalProperties: false */
static tombola__formula only(const char *key) {
  const tombola__lang others = tombola__lang_not(&store, tombola__lang_text(&store, key, strlen(key)));
  return tombola__keys(&store, others, TOMBOLA__FALSE);
}

static tombola__formula only_v(void) {
  return ALL(tombola__types(&store, TOMBOLA__OBJECT), required("v"), only("v"));
}

static tombola__formula no_items(void) {
  return ALL(tombola__types(&store, TOMBOLA__ARRAY), tombola__items(&store, 0, integers()),
             tombola__length(&store, 0, 0));
}

static tombola__formula one_or_two(void) {
  return ALL(tombola__types(&store, TOMBOLA__ARRAY), tombola__items(&store, 0, integers()),
             tombola__length(&store, 1, 2));
}

/* Names of one letter, x to z, and no others. */
static tombola__formula few_names(void) {
  const struct tombola__range letters = {'x', 'z'};
  const tombola__lang others = tombola__lang_not(&store, tombola__lang_set(&store, &letters, 1));
  return ALL(tombola__types(&store, TOMBOLA__OBJECT), tombola__keys(&store, others, TOMBOLA__FALSE));
}

/* Declared names that begin alike, and one of two bytes. */
static tombola__formula alike(void) {
  return ALL(tombola__types(&store, TOMBOLA__OBJECT), property("a", 0, equal("1")),
             property("ab", 1, equal("2")), property("é", 2, equal("3")), required("é"));
}

static const struct texts properties[] = {
    {foo_and_bar,
     {"{\"b\":\"bar\"}", "{\"a\":\"foo\",\"b\":\"bar\"}", "{\"b\":\"bar\",\"a\":\"foo\"}",
      "{\"b\":\"bar\",\"c\":[]}", "{\"c\":1,\"\\u0062\":\"b\\u0061r\"}"},
     {"{\"b\":\"bar\",\"a\":\"BAD\"}", "{\"a\":\"foo\"}", "{}", "{,\"b\":\"bar\"}", "{\"b\":\"bar\",}",
      "{\"b\":\"bar\",\"\\u0061\":\"BAD\"}", "{\"b\":\"bar\",\"b\":\"bar\"}"}},
    {any_object, {"{}", "{\"a\":{}}"}, {"{", "[]", "null"}},
    {only_v,
     {"{\"v\":1}", "{\"v\":[{}]}", "{\"v\":null}", "{\"\\u0076\":1}"},
     {"{}", "{\"v\":1,\"w\":2}", "{\"v\":1,\"v\":2}", "{\"vv\":1}"}},
    {no_items, {"[]"}, {"[1]", "[", "[,]"}},
    {one_or_two, {"[1]", "[1,2]", "[-0,1e2]"}, {"[]", "[1,2,3]", "[1,]", "[1.5]", "[\"a\"]"}},
    {few_names,
     {"{}", "{\"x\":1}", "{\"z\":1,\"x\":2,\"y\":{}}"},
     {"{\"a\":1}", "{\"x\":1,\"x\":2}", "{\"xx\":1}", "{\"\":1}", "{\"x\":1,\"\\u0078\":2}"}},
    {alike,
     {"{\"é\":3}", "{\"ab\":2,\"a\":1,\"é\":3}", "{\"abc\":0,\"\\u00e9\":3}", "{\"\":0,\"é\":3,\"b\":0}"},
     {"{\"a\":2,\"é\":3}", "{\"ab\":1,\"é\":3}", "{\"a\":1}", "{\"é\":4}", "{\"é\":3,\"\\u00e9\":3}"}},
};

static void test_properties(void **state) {
  (void)state;
  open_store(TOMBOLA_WHITESPACE_NONE, 0);
  CHECK(properties);
  /* What can't be a name any more isn't read. */
  struct tombola__machine *const m = machine_of(few_names());
  static const char *const dead[] = {"{\"x\":1,\"x", "{\"x\":1,\"y\":1,\"z\":1,", "{\"w", "{\"\\u0077"};
  for (size_t i = 0; i < TOMBOLA__COUNT(dead); i++) {
    const size_t n = fits(m, dead[i], strlen(dead[i]));
    if (n != strlen(dead[i]) - 1) fail_msg("%s: %zu bytes fit", dead[i], n);
    tombola__machine_pop(m, n);
  }
  tombola__machine_free(m);
  tombola__store_free(&store);
}

/* ---- undeclared names that run out ---- */

/* 100 names of two digits: too many to be declared. The others are all there in the end. */
static tombola__formula two_digits(void) {
  const struct tombola__range digits = {'0', '9'};
  const tombola__lang digit = tombola__lang_set(&store, &digits, 1);
  const tombola__lang others = tombola__lang_not(&store, tombola__lang_repeat(&store, digit, 2, 2));
  return ALL(tombola__types(&store, TOMBOLA__OBJECT), tombola__keys(&store, others, TOMBOLA__FALSE));
}

static void push_text(struct tombola__machine *m, const char *text) {
  const size_t n = fits(m, text, strlen(text));
  if (n != strlen(text)) fail_msg("%s: %zu bytes fit", text, n);
}

static void test_names_run_out(void **state) {
  (void)state;
  open_store(TOMBOLA_WHITESPACE_NONE, 0);
  struct tombola__machine *const m = machine_of(two_digits());
  push_text(m, "{\"00\":0");
  for (int i = 1; i < 100; i++) {
    char text[32];
    snprintf(text, sizeof text, ",\"%02d\":0", i);
    /* All names that begin with an earlier digit are there. */
    if (i >= 10) {
      push_text(m, ",\"");
      assert_false(tombola__machine_push(m, (uint8_t)('0' + i / 10 - 1)));
      assert_int_equal(fits(m, "\\u0030", 6), 5);
      tombola__machine_pop(m, 7);
    }
    push_text(m, text);
  }
  assert_false(tombola__machine_push(m, ','));
  assert_true(tombola__machine_push(m, '}'));
  assert_true(tombola__machine_complete(m));
  well();
  tombola__machine_free(m);
  tombola__store_free(&store);
}

/* ---- D01: white space, and the end ---- */

static tombola__formula closed_a(void) {
  return ALL(tombola__types(&store, TOMBOLA__OBJECT), property("a", 0, integers()), required("a"), only("a"));
}

/* How many spaces fit behind the text. */
static size_t spaces(struct tombola__machine *m, const char *text) {
  push_text(m, text);
  size_t n = 0;
  while (n < 1000 && tombola__machine_push(m, n % 2 ? ' ' : '\n'))
    n++;
  tombola__machine_pop(m, n + strlen(text));
  return n;
}

static void test_white_space(void **state) {
  (void)state;
  static const char *const places[] = {
      "",          "{",          "{\"a\"",    "{\"a\":",   "{\"a\":1",     "{\"a\":[",
      "{\"a\":[1", "{\"a\":[1,", "{\"a\":1,", "{\"a\":[{", "{\"a\":[true", "{\"a\":[{}"};
  static const enum tombola_whitespace modes[] = {TOMBOLA_WHITESPACE_NONE, TOMBOLA_WHITESPACE_BOUNDED,
                                                  TOMBOLA_WHITESPACE_ANY};
  static const size_t want[] = {0, 3, 1000};
  for (size_t i = 0; i < TOMBOLA__COUNT(modes); i++) {
    open_store(modes[i], 3);
    struct tombola__machine *const m = machine_of(TOMBOLA__TRUE);
    for (size_t p = 0; p < TOMBOLA__COUNT(places); p++)
      if (spaces(m, places[p]) != want[i]) fail_msg("mode %zu, behind '%s'", i, places[p]);
    assert_int_equal(spaces(m, "{}"), i == 2 ? 1000 : 0); /* none behind the end */
    assert_int_equal(spaces(m, "12"), i == 2 ? 1000 : 0);
    assert_int_equal(spaces(m, "\"a"), 0); /* a newline in a string */
    assert_int_equal(spaces(m, "tru"), 0);
    well();
    tombola__machine_free(m);
    tombola__store_free(&store);
  }
}

static void test_end(void **state) {
  (void)state;
  open_store(TOMBOLA_WHITESPACE_BOUNDED, 64);
  struct tombola__machine *const m = machine_of(closed_a());
  push_text(m, "{\"a\":1");
  assert_false(tombola__machine_complete(m));
  assert_true(tombola__machine_can_go_on(m));
  push_text(m, "}");
  assert_true(tombola__machine_complete(m));
  assert_false(tombola__machine_can_go_on(m));
  for (unsigned byte = 0; byte < 256; byte++)
    assert_false(tombola__machine_push(m, (uint8_t)byte));
  well();
  tombola__machine_free(m);
  tombola__store_free(&store);
}

/* ---- arrays of different items ---- */

static tombola__formula different(void) {
  return typed(TOMBOLA__ARRAY, tombola__unique(&store));
}

static tombola__formula different_strings(void) {
  return ALL(tombola__types(&store, TOMBOLA__ARRAY), tombola__unique(&store),
             tombola__items(&store, 0, tombola__types(&store, TOMBOLA__STRING)),
             tombola__length(&store, 2, TOMBOLA__MANY));
}

static const struct texts uniques[] = {
    {different,
     {"[]", "[1,2,\"1\",null,[1],{\"a\":1}]", "[1,10,1e2]", "[\"a\",\"A\"]", "[[1,2],[2,1]]",
      "[0,false,\"\",null]", "[{\"a\":1,\"b\":2},{\"a\":2,\"b\":1}]", "[1,12,123]", "[[1,1],[1]]"},
     {"[1,1]", "[1,1.0]", "[10,1e1]", "[\"a\",\"\\u0061\"]", "[{\"a\":1,\"b\":2},{\"b\":2,\"a\":1}]",
      "[null,null]", "[[],[ ]]", "[0,-0]", "[1,2,3,2]"}},
    {different_strings,
     {"[\"a\",\"b\"]", "[\"a\",\"ab\",\"\"]"},
     {"[\"a\"]", "[\"a\",\"a\"]", "[1,2]", "[\"a\",\"b\",\"a\"]"}},
};

static void test_uniques(void **state) {
  (void)state;
  open_store(TOMBOLA_WHITESPACE_ANY, 0);
  CHECK(uniques);
  struct tombola__machine *const m = machine_of(different());
  /* The value that comes again is refused where it ends. */
  assert_int_equal(fits(m, "[\"a\",\"a\"", 8), 7);
  tombola__machine_pop(m, 7);
  assert_int_equal(fits(m, "[1,1]", 5), 4);
  tombola__machine_pop(m, 4);
  /* A literal can only become itself. */
  assert_int_equal(fits(m, "[true,null,t", 12), 11);
  tombola__machine_pop(m, 11);
  assert_int_equal(fits(m, "[true,null,false,n", 18), 17);
  tombola__machine_pop(m, 17);
  assert_int_equal(fits(m, "[{},{}", 6), 5);
  tombola__machine_pop(m, 5);
  /* What is compared is the machine's memory: the store doesn't grow. */
  size_t bytes = 0;
  for (int i = 0; i < 1000; i++) {
    assert_true(accepts(m, "[[1,2],{\"b\":1},\"text\",3.5]", 26));
    if (i) assert_int_equal(store.bytes, bytes);
    bytes = store.bytes;
  }
  tombola__machine_free(m);
  tombola__store_free(&store);
}

/* ---- the declared order ---- */

static tombola__formula three_in_order(void) {
  return ALL(tombola__types(&store, TOMBOLA__OBJECT), property("c", 0, TOMBOLA__TRUE),
             property("a", 1, TOMBOLA__TRUE), property("b", 2, TOMBOLA__TRUE), required("a"));
}

static const struct texts ordered[] = {
    {three_in_order,
     {"{\"c\":1,\"a\":1,\"b\":1}", "{\"a\":1}", "{\"c\":1,\"a\":1}", "{\"a\":1,\"b\":1,\"x\":1}"},
     {"{\"a\":1,\"c\":1}", "{\"b\":1,\"a\":1}", "{\"b\":1}", "{\"a\":1,\"x\":1,\"b\":1}", "{\"c\":1}"}},
};

static void test_order(void **state) {
  (void)state;
  open_store(TOMBOLA_WHITESPACE_NONE, 0);
  store.order = TOMBOLA_ORDER_DECLARED;
  CHECK(ordered);
  tombola__store_free(&store);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_corpus),      cmocka_unit_test(test_strings),
      cmocka_unit_test(test_properties),  cmocka_unit_test(test_names_run_out),
      cmocka_unit_test(test_white_space), cmocka_unit_test(test_end),
      cmocka_unit_test(test_uniques),     cmocka_unit_test(test_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
