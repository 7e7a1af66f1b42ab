/* SPDX-License-Identifier: Apache-2.0 */
/* Schemas: what they say of instances (by reading their formula node by node), and what is said of those that aren't
 * schemas or can't be enforced: status, JSON pointer, keyword. */
#include "formula_value.h"
#include "support.h"

#include <stdio.h>

#define DRAFT_4    "\"$schema\":\"http://json-schema.org/draft-04/schema#\","
#define DRAFT_7    "\"$schema\":\"http://json-schema.org/draft-07/schema#\","
#define DRAFT_2019 "\"$schema\":\"https://json-schema.org/draft/2019-09/schema\","

#define DOCUMENT(uri, text) \
  { uri, text, sizeof(text) - 1 }
static const struct tombola_schema_document documents[] = {
    DOCUMENT("http://x.example/node.json",
             "{\"$defs\":{\"n\":{\"$id\":\"inner\",\"$anchor\":\"b\",\"type\":\"null\"}}}"),
    DOCUMENT("http://x.example/meta",
             "{\"$vocabulary\":{\"https://json-schema.org/draft/2020-12/vocab/core\":true}}"),
    DOCUMENT("http://x.example/strange", "{\"$vocabulary\":{\"http://x.example/vocab\":true}}"),
    DOCUMENT("http://x.example/broken",
             "{"), /* read only where something asks for it, or for what isn't there */
};
enum { GOOD_DOCUMENTS = 3 };

static struct tombola_grammar_source plain(void) {
  return (struct tombola_grammar_source){.struct_size = sizeof(struct tombola_grammar_source),
                                         .kind = TOMBOLA_GRAMMAR_JSON_SCHEMA,
                                         .documents = documents,
                                         .n_documents = GOOD_DOCUMENTS};
}

/* ---- schemas that are enforced ---- */

/* `good` and `bad` are JSON arrays of instances. */
static const struct {
  const char *schema, *good, *bad;
} enforced[] = {
    {"true", "[1,{}]", "[]"},
    {"false", "[]", "[1,{},null]"},
    {"{\"type\":[\"integer\",\"null\"]}", "[1,1.0,1e3,null]", "[1.5,\"1\",true]"},
    {"{\"type\":\"string\",\"nullable\":true}", "[\"\"]", "[null]"},
    {"{\"const\":{\"a\":[1.0,\"x\"]}}", "[{\"a\":[1,\"x\"]},{\"a\":[10e-1,\"\\u0078\"]}]",
     "[{\"a\":[1]},{}]"},
    {"{\"enum\":[1,\"a\",null,[2],{\"k\":false}]}", "[1.0,\"a\",null,[2.0],{\"k\":false}]",
     "[2,\"b\",false,[],{},[2,2]]"},
    {"{\"minLength\":2.0,\"maxLength\":3,\"pattern\":\"^a\"}", "[\"ab\",\"abc\",7]",
     "[\"a\",\"abcd\",\"bab\"]"},
    {"{\"maxLength\":1}", "[\"\\ud83d\\ude00\"]", "[\"ab\"]"},
    {"{\"minimum\":-1,\"exclusiveMaximum\":2.5,\"multipleOf\":0.5}", "[-1,2,1.5,\"x\"]", "[2.5,-2,0.7]"},
    {"{" DRAFT_4 "\"minimum\":1,\"exclusiveMinimum\":true}", "[1.01]", "[1]"},
    {"{\"format\":\"uuid\"}", "[\"00000000-0000-0000-0000-000000000000\",3]", "[\"x\"]"},
    {"{\"format\":\"int8\"}", "[-128,127,1.0,\"x\",[300]]", "[-129,128,0.5]"},
    {"{\"format\":\"int16\"}", "[-32768,32767]", "[-32769,32768]"},
    {"{\"format\":\"int32\"}", "[-2147483648,2147483647,2147483647e0]", "[-2147483649,2147483648,1.5]"},
    {"{\"format\":\"int64\"}", "[-9223372036854775808,9223372036854775807,\"1\"]",
     "[-9223372036854775809,9223372036854775808]"},
    {"{\"format\":\"uint8\"}", "[0,255]", "[-1,256,0.5]"},
    {"{\"format\":\"uint16\"}", "[0,65535]", "[-1,65536]"},
    {"{\"format\":\"uint32\"}", "[0,4294967295]", "[-1,4294967296]"},
    {"{\"format\":\"uint64\"}", "[0,18446744073709551615]", "[-1,18446744073709551616]"},
    {"{\"format\":\"float\",\"type\":\"number\"}", "[0.1,1e99]", "[\"x\"]"},
    {"{\"format\":\"double\"}", "[0.1,\"x\"]", "[]"},
    {"{\"not\":{\"format\":\"int8\"}}", "[128,0.5]", "[127,\"x\"]"},
    {"{\"prefixItems\":[{\"type\":\"null\"}],\"items\":{\"type\":\"string\"}}", "[[],[null],[null,\"a\"],{}]",
     "[[1],[null,1]]"},
    {"{" DRAFT_7 "\"items\":[{\"type\":\"null\"}],\"additionalItems\":false}", "[[],[null]]", "[[null,1]]"},
    {"{" DRAFT_7 "\"items\":{\"type\":\"null\"},\"additionalItems\":false}", "[[null,null]]", "[[1]]"},
    {"{\"contains\":{\"const\":1},\"minContains\":2,\"maxContains\":3}", "[[1,1],[1,0,1,1]]",
     "[[1],[1,1,1,1]]"},
    {"{\"contains\":{\"const\":1},\"minContains\":0}", "[[],[2]]", "[]"},
    {"{\"minContains\":5}", "[[]]", "[]"},
    {"{\"uniqueItems\":true,\"maxItems\":2}", "[[1,2],[1,\"1\"]]", "[[1,1.0],[1,2,3]]"},
    {"{\"properties\":{\"a\":{\"type\":\"null\"}},\"patternProperties\":{\"^a\":{\"type\":[\"null\","
     "\"array\"]}},"
     "\"additionalProperties\":{\"type\":\"string\"}}",
     "[{\"a\":null},{\"ab\":[]},{\"b\":\"x\"}]", "[{\"a\":[]},{\"ab\":1},{\"b\":null}]"},
    {"{\"propertyNames\":{\"anyOf\":[{\"maxLength\":1},{\"const\":\"long\"},{\"type\":\"object\"}]}}",
     "[{\"a\":1,\"long\":2},3]", "[{\"ab\":1}]"},
    {"{\"propertyNames\":{\"oneOf\":[{\"minLength\":2},{\"maxLength\":3}]}}", "[{\"a\":1,\"abcd\":1}]",
     "[{\"ab\":1}]"},
    {"{\"required\":[\"z\"],\"minProperties\":2}", "[{\"z\":1,\"y\":1}]", "[{\"z\":1},{\"y\":1,\"x\":1}]"},
    {"{\"dependentRequired\":{\"a\":[\"b\"]},\"dependentSchemas\":{\"c\":{\"maxProperties\":1}}}",
     "[{},{\"a\":1,\"b\":1},{\"c\":1},4]", "[{\"a\":1},{\"c\":1,\"d\":1}]"},
    {"{\"dependencies\":{\"a\":[\"b\"],\"c\":false}}", "[{\"b\":1}]", "[{\"a\":1},{\"c\":1}]"},
    {"{\"oneOf\":[{\"minimum\":2},{\"maximum\":4}]}", "[1,5]", "[3,\"x\"]"},
    {"{\"if\":{\"type\":\"string\"},\"then\":{\"minLength\":1},\"else\":{\"minimum\":1}}", "[\"a\",1,null]",
     "[\"\",0]"},
    {"{\"not\":{\"properties\":{\"a\":{\"not\":{\"const\":1}}}}}", "[{\"a\":1}]", "[{},{\"a\":2},1]"},
    {"{\"properties\":{\"n\":{\"$ref\":\"#\"}},\"additionalProperties\":false}", "[{},{\"n\":{\"n\":{}}}]",
     "[{\"n\":{\"m\":1}}]"},
    {"{\"$ref\":\"#/$defs/a~1b%25\",\"$defs\":{\"a/b%\":{\"type\":\"null\"}}}", "[null]", "[1]"},
    {"{" DRAFT_7 "\"$ref\":\"#/definitions/a\",\"minimum\":5,\"definitions\":{\"a\":{\"type\":\"integer\"}}}",
     "[1]", "[\"a\"]"},
    {"{\"$ref\":\"http://x.example/node.json#/$defs/n\"}", "[null]", "[1]"},
    {"{\"$ref\":\"http://x.example/inner#b\"}", "[null]", "[1]"},
    {"{\"$id\":\"http://x.example/\",\"properties\":{\"a\":{\"$ref\":\"./z/../inner\"}}}", "[{\"a\":null}]",
     "[{\"a\":1}]"},
    {"{\"$schema\":\"http://x.example/meta\",\"minimum\":3}", "[1]", "[]"},
    {"{\"$id\":\"http://t.example/"
     "strict\",\"$dynamicAnchor\":\"node\",\"$ref\":\"tree\",\"unevaluatedProperties\":false,"
     "\"$defs\":{\"t\":{\"$id\":\"tree\",\"$dynamicAnchor\":\"node\",\"properties\":{\"data\":true,\"kids\":{"
     "\"items\":"
     "{\"$dynamicRef\":\"#node\"}}}}}}",
     "[{\"kids\":[{\"data\":1}]}]", "[{\"kids\":[{\"daat\":1}]},{\"x\":1}]"},
    {"{" DRAFT_2019 "\"$id\":\"http://t.example/"
     "s\",\"$recursiveAnchor\":true,\"$ref\":\"tree\",\"maxProperties\":1,\"$defs\":"
     "{\"t\":{\"$id\":\"tree\",\"$recursiveAnchor\":true,\"properties\":{\"k\":{\"$recursiveRef\":\"#\"}}}}}",
     "[{\"k\":{\"k\":{}}}]", "[{\"k\":{\"a\":1,\"b\":1}}]"},
    {"{\"anyOf\":[{\"properties\":{\"a\":{\"type\":\"null\"}},\"required\":[\"a\"]},{\"properties\":{\"b\":"
     "true}}],"
     "\"unevaluatedProperties\":false}",
     "[{},{\"a\":null,\"b\":1},{\"b\":1}]", "[{\"a\":1},{\"c\":1},{\"a\":null,\"c\":1}]"},
    {"{\"not\":{\"anyOf\":[{\"properties\":{\"a\":{\"type\":\"null\"}}},{\"properties\":{\"b\":true}}],"
     "\"unevaluatedProperties\":false}}",
     "[{\"a\":1},{\"c\":1}]", "[{},{\"a\":null,\"b\":1}]"},
    {"{\"if\":{\"prefixItems\":[{\"const\":1}]},\"then\":{\"prefixItems\":[true,true]},\"contains\":{"
     "\"const\":\"x\"},"
     "\"minContains\":0,\"unevaluatedItems\":{\"type\":\"null\"}}",
     "[[1,2],[1,2,null,\"x\"],[null,\"x\"]]", "[[1,2,3],[2,2]]"},
    {"{\"anyOf\":[{\"contains\":{\"type\":\"string\"}},{\"contains\":{\"const\":1}}],\"unevaluatedItems\":"
     "false}",
     "[[1,1],[\"a\",1],[\"a\"]]", "[[2],[1,2],[]]"},
    {"{\"unknown\":{\"type\":5},\"title\":3,\"$comment\":\"x\"}", "[1]", "[]"},
};

static void check(struct tombola__store *s, tombola__formula f, const char *schema, const char *list,
                  bool good) {
  yyjson_doc *const d = yyjson_read(list, strlen(list), YYJSON_READ_NUMBER_AS_RAW);
  size_t i, n;
  yyjson_val *instance;
  yyjson_arr_foreach(yyjson_doc_get_root(d), i, n, instance) {
    if (support_satisfies(s, f, instance) != good ||
        support_satisfies(s, tombola__not(s, f), instance) == good)
      fail_msg("%s: instance %zu of %s", schema, i, list);
    assert_int_equal(s->status, TOMBOLA_OK);
  }
  yyjson_doc_free(d);
}

static void test_enforced(void **state) {
  (void)state;
  for (size_t i = 0; i < TOMBOLA__COUNT(enforced); i++) {
    struct tombola__store s;
    struct tombola_error error;
    struct tombola_schema_verdict verdict;
    struct tombola__dropped *dropped;
    tombola__formula f;
    const struct tombola_grammar_source source = plain();
    const struct tombola__schema_source text = {&source, enforced[i].schema, strlen(enforced[i].schema),
                                                NULL};
    assert_int_equal(tombola__store_new(&s, NULL, NULL, NULL), TOMBOLA_OK);
    if (tombola__schema(&s, &text, &f, &dropped, &verdict, &error) != TOMBOLA_OK)
      fail_msg("%s: %s", enforced[i].schema, error.message);
    assert_int_equal(verdict.verdict, TOMBOLA_VERDICT_EXACT);
    assert_null(dropped);
    check(&s, f, enforced[i].schema, enforced[i].good, true);
    check(&s, f, enforced[i].schema, enforced[i].bad, false);
    tombola__store_free(&s);
  }
}

/* ---- schemas that aren't ---- */

static const struct {
  const char *schema;
  enum tombola_status status;
  const char *pointer, *keyword;
} refused[] = {
    {"", TOMBOLA_FORMAT, "", ""},
    {"{\"a\":}", TOMBOLA_FORMAT, "", ""},
    {"3", TOMBOLA_FORMAT, "", ""},
    {"{\"properties\":{\"a\":1}}", TOMBOLA_FORMAT, "/properties/a", ""},
    {"{\"properties\":{\"a\":{\"minimum\":\"3\"}}}", TOMBOLA_FORMAT, "/properties/a/minimum", "minimum"},
    {"{\"items\":{\"type\":\"text\"}}", TOMBOLA_FORMAT, "/items/type", "type"},
    {"{\"type\":[\"null\",\"null\"]}", TOMBOLA_FORMAT, "/type/1", "type"},
    {"{\"enum\":3}", TOMBOLA_FORMAT, "/enum", "enum"},
    {"{\"required\":true}", TOMBOLA_FORMAT, "/required", "required"},
    {"{\"required\":[\"a\",1]}", TOMBOLA_FORMAT, "/required/1", "required"},
    {"{\"required\":[\"a\",\"b\",\"a\"]}", TOMBOLA_FORMAT, "/required/2", "required"},
    {"{\"minLength\":-1}", TOMBOLA_FORMAT, "/minLength", "minLength"},
    {"{\"maxItems\":1.5}", TOMBOLA_FORMAT, "/maxItems", "maxItems"},
    {"{\"multipleOf\":0}", TOMBOLA_FORMAT, "/multipleOf", "multipleOf"},
    {"{\"exclusiveMinimum\":true}", TOMBOLA_FORMAT, "/exclusiveMinimum", "exclusiveMinimum"},
    {"{\"allOf\":[]}", TOMBOLA_FORMAT, "/allOf", "allOf"},
    {"{\"anyOf\":[{},{\"not\":7}]}", TOMBOLA_FORMAT, "/anyOf/1/not", ""},
    {"{\"items\":[{}]}", TOMBOLA_FORMAT, "/items", "items"},
    {"{\"patternProperties\":{\"a/(\":true}}", TOMBOLA_FORMAT, "/patternProperties/a~1(",
     "patternProperties"},
    {"{\"properties\":{\"a\":true,\"b\":true,\"a\":false}}", TOMBOLA_FORMAT, "/properties/a", "a"},
    {"{\"$id\":\"http://a.example/#b\"}", TOMBOLA_FORMAT, "/$id", "$id"},
    {"{\"$ref\":3}", TOMBOLA_FORMAT, "/$ref", "$ref"},
    {"{\"properties\":{\"a\":{\"$ref\":\"#/$defs/b\"}}}", TOMBOLA_UNSUPPORTED, "/properties/a/$ref", "$ref"},
    {"{\"$ref\":\"http://json-schema.org/draft-07/schema#\"}", TOMBOLA_UNSUPPORTED, "/$ref", "$ref"},
    {"{\"$ref\":\"http://x.example/broken\"}", TOMBOLA_FORMAT, "http://x.example/broken", ""},
    {"{\"$schema\":\"http://a.example/unknown\"}", TOMBOLA_UNSUPPORTED, "/$schema", "$schema"},
    {"{\"$schema\":\"http://x.example/strange\"}", TOMBOLA_UNSUPPORTED, "/$schema", "$schema"},
    {"{" DRAFT_7 "\"prefixItems\":[{}]}", TOMBOLA_UNSUPPORTED, "/prefixItems", "prefixItems"},
    {"{" DRAFT_4 "\"const\":1}", TOMBOLA_UNSUPPORTED, "/const", "const"},
    {"{\"not\":{\"items\":{\"format\":\"colour\"}}}", TOMBOLA_UNSUPPORTED, "/not/items/format", "format"},
    {"{\"pattern\":\"(a)\\\\1\"}", TOMBOLA_UNSUPPORTED, "/pattern", "pattern"},
    {"{\"$ref\":\"#\"}", TOMBOLA_UNSUPPORTED, "", "$ref"},
    {"{\"items\":{\"allOf\":[{\"$ref\":\"#/items\"}]}}", TOMBOLA_UNSUPPORTED, "/items", "$ref"},
};

static void test_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < TOMBOLA__COUNT(refused); i++) {
    struct tombola__store s;
    struct tombola_error error = {TOMBOLA_OK, 0, "", ""};
    struct tombola_schema_verdict verdict;
    struct tombola__dropped *dropped;
    tombola__formula f;
    struct tombola_grammar_source source = plain();
    if (strstr(refused[i].schema, "broken")) source.n_documents = TOMBOLA__COUNT(documents);
    const struct tombola__schema_source text = {&source, refused[i].schema, strlen(refused[i].schema), NULL};
    assert_int_equal(tombola__store_new(&s, NULL, NULL, NULL), TOMBOLA_OK);
    const enum tombola_status status = tombola__schema(&s, &text, &f, &dropped, &verdict, &error);
    if (status != refused[i].status || strcmp(verdict.pointer, refused[i].pointer) != 0 ||
        strcmp(verdict.keyword, refused[i].keyword) != 0)
      fail_msg("%s: %d, %s, %s: %s", refused[i].schema, status, verdict.pointer, verdict.keyword,
               error.message);
    assert_int_equal(verdict.verdict, TOMBOLA_VERDICT_REFUSED);
    assert_int_equal(error.status, status);
    assert_true(verdict.reason[0] && error.message[0]);
    assert_string_equal(error.param, verdict.pointer);
    tombola__store_free(&s);
  }
}

/* ---- options and limits ---- */

/* Compiles with what is set in `source`; the store is the caller's. */
static enum tombola_status compile(struct tombola__store *s, const struct tombola_grammar_source *source,
                                   const char *schema, tombola__formula *f, struct tombola__dropped **dropped,
                                   struct tombola_error *error) {
  const struct tombola__schema_source text = {source, schema, strlen(schema), NULL};
  assert_int_equal(tombola__store_new(s, source->limits, NULL, NULL), TOMBOLA_OK);
  return tombola__schema(s, &text, f, dropped, NULL, error);
}

static void test_lenient(void **state) {
  (void)state;
  struct tombola__store s;
  struct tombola__dropped *dropped;
  tombola__formula f;
  struct tombola_grammar_source source = plain();
  source.lenient = 1;
  static const char schema[] =
      "{\"format\":\"colour\",\"maxLength\":3,\"properties\":{\"a\":{\"pattern\":\"(a)\\\\1\"}},"
      "\"$ref\":\"#/$defs/none\"}";
  assert_int_equal(compile(&s, &source, schema, &f, &dropped, NULL), TOMBOLA_OK);
  check(&s, f, schema, "[\"abc\",{\"a\":\"x\"}]", true);
  check(&s, f, schema, "[\"abcd\"]", false);
  static const char *const expected[][2] = {
      {"/$ref", "$ref"}, {"/format", "format"}, {"/properties/a/pattern", "pattern"}};
  for (size_t i = 0; i < 3; i++, dropped = dropped->next) {
    assert_non_null(dropped);
    assert_string_equal(dropped->pointer, expected[i][0]);
    assert_string_equal(dropped->keyword, expected[i][1]);
    assert_true(dropped->reason[0]);
  }
  assert_null(dropped);
  tombola__store_free(&s);
}

/* What is left out below a negation must not make the negation stricter. */
static void test_lenient_negation(void **state) {
  (void)state;
  static const struct {
    const char *schema, *good, *bad, *keyword;
  } cases[] = {
      {"{\"not\":{\"properties\":{\"a\":{\"format\":\"colour\"}}},\"type\":\"object\"}", "[{},{\"a\":\"x\"}]",
       "[1]", "not"},
      {"{\"not\":{\"$ref\":\"#/$defs/c\"},\"$defs\":{\"c\":{\"format\":\"colour\"}}}", "[\"x\",1]", "[]",
       "not"},
      {"{\"oneOf\":[{\"format\":\"colour\"},{\"const\":\"x\"}]}", "[\"x\",\"y\"]", "[]", "oneOf"},
      {"{\"if\":{\"format\":\"colour\"},\"then\":{\"type\":\"null\"}}", "[\"x\",null]", "[]", "if"},
      {"{\"contains\":{\"format\":\"colour\"},\"maxContains\":1}", "[[\"x\",\"y\"]]", "[[]]", "maxContains"},
      {"{\"allOf\":[{\"format\":\"colour\"},{\"not\":{\"const\":1}}]}", "[\"x\"]", "[1]", NULL},
  };
  for (size_t i = 0; i < TOMBOLA__COUNT(cases); i++) {
    struct tombola__store s;
    struct tombola__dropped *dropped;
    tombola__formula f;
    struct tombola_grammar_source source = plain();
    source.lenient = 1;
    assert_int_equal(compile(&s, &source, cases[i].schema, &f, &dropped, NULL), TOMBOLA_OK);
    check(&s, f, cases[i].schema, cases[i].good, true);
    check(&s, f, cases[i].schema, cases[i].bad, false);
    assert_string_equal(dropped->keyword, "format");
    if (cases[i].keyword)
      assert_string_equal(dropped->next->keyword, cases[i].keyword);
    else
      assert_null(dropped->next);
    tombola__store_free(&s);
  }
}

static void test_options(void **state) {
  (void)state;
  struct tombola__store s;
  struct tombola__dropped *dropped;
  tombola__formula f;
  struct tombola_grammar_source source = plain();
  source.nullable = 1;
  source.format = TOMBOLA_FORMAT_ANNOTATE;
  static const char schema[] = "{\"type\":\"string\",\"nullable\":true,\"format\":\"colour\"}";
  assert_int_equal(compile(&s, &source, schema, &f, &dropped, NULL), TOMBOLA_OK);
  check(&s, f, schema, "[null,\"red\"]", true);
  check(&s, f, schema, "[1]", false);
  assert_null(dropped);
  tombola__store_free(&s);
}

static void test_limits(void **state) {
  (void)state;
  static const struct {
    const char *schema, *param;
    struct tombola_grammar_limits limits;
  } cases[] = {
      {"{\"not\":{\"not\":{\"not\":{\"not\":{}}}}}", "/not/not/not/not", {.max_depth = 3}},
      {"{\"const\":[[[[[]]]]]}", "max_depth", {.max_depth = 3}},
      {"{\"allOf\":[{\"$ref\":\"#/$defs/a\"},{\"$ref\":\"#/$defs/a\"}],\"$defs\":{\"a\":{}}}",
       "/allOf/1/$ref",
       {.max_refs = 1}},
      {"{\"type\":\"null\"}", "max_source", {.max_source = 10}},
      {"{\"required\":[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\",\"h\"]}", "max_states", {.max_states = 6}},
  };
  for (size_t i = 0; i < TOMBOLA__COUNT(cases); i++) {
    struct tombola__store s;
    struct tombola__dropped *dropped;
    struct tombola_error error = {TOMBOLA_OK, 0, "", ""};
    tombola__formula f;
    struct tombola_grammar_source source = plain();
    source.limits = &cases[i].limits;
    const enum tombola_status status = compile(&s, &source, cases[i].schema, &f, &dropped, &error);
    if (status != TOMBOLA_OUT_OF_RANGE || strcmp(error.param, cases[i].param) != 0)
      fail_msg("%s: %d, %s: %s", cases[i].schema, status, error.param, error.message);
    tombola__store_free(&s);
  }
}

/* A schema that is nested far deeper than the stack would hold. */
static void test_deep(void **state) {
  (void)state;
  enum { DEEP = 200000 };
  char *const schema = malloc(DEEP * 8 + 8);
  size_t at = 0;
  for (int i = 0; i < DEEP; i++)
    at += (size_t)sprintf(schema + at, "{\"not\":");
  at += (size_t)sprintf(schema + at, "{}");
  memset(schema + at, '}', DEEP);
  schema[at + DEEP] = '\0';
  struct tombola__store s;
  struct tombola__dropped *dropped;
  tombola__formula f;
  const struct tombola_grammar_source source = plain();
  assert_int_equal(compile(&s, &source, schema, &f, &dropped, NULL), TOMBOLA_OUT_OF_RANGE);
  tombola__store_free(&s);
  free(schema);
}

/* ---- memory ---- */

static void test_memory(void **state) {
  (void)state;
  static const char schema[] =
      "{\"$id\":\"http://x.example/s\",\"properties\":{\"a\":{\"$ref\":\"inner\"},\"b\":{\"enum\":[1,"
      "\"x\",{\"y\":[]}]}},\"anyOf\":[{\"properties\":{\"c\":true}},{\"pattern\":\"a|b\"}],"
      "\"unevaluatedProperties\":false,\"items\":{\"$ref\":\"#\"}}";
  for (size_t n = 1;; n++) {
    struct support_allocator a = support_allocator(n);
    struct tombola__store s;
    struct tombola__dropped *dropped;
    tombola__formula f;
    struct tombola_grammar_source source = plain();
    source.n_documents = 1;
    const struct tombola__schema_source text = {&source, schema, sizeof schema - 1, NULL};
    enum tombola_status status = tombola__store_new(&s, NULL, support_allocator_use(&a), NULL);
    if (status == TOMBOLA_OK) {
      status = tombola__schema(&s, &text, &f, &dropped, NULL, NULL);
      tombola__store_free(&s);
    }
    support_allocator_check(&a);
    if (a.requests < n) {
      assert_int_equal(status, TOMBOLA_OK);
      break;
    }
    assert_int_equal(status, TOMBOLA_NO_MEMORY);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_enforced), cmocka_unit_test(test_refused),
      cmocka_unit_test(test_lenient),  cmocka_unit_test(test_lenient_negation),
      cmocka_unit_test(test_options),  cmocka_unit_test(test_limits),
      cmocka_unit_test(test_deep),     cmocka_unit_test(test_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
