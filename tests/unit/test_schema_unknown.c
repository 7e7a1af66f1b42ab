/* SPDX-License-Identifier: Apache-2.0 */
/* Keywords that say nothing: which are listed, with what, and which are not. */
#include "constraint_support.h"

#include <stdio.h>

enum { MOST = 8 };

/* What is found, as "pointer keyword[ nearest]" and a line end each. */
static void find(const struct tombola_grammar_source *source, char *out, size_t size) {
  struct tombola_schema_note notes[MOST];
  struct tombola_error error = {.message = ""};
  size_t count = 99, used = 0;
  assert_int_equal(tombola_schema_unknown(source, NULL, notes, MOST, &count, &error), TOMBOLA_OK);
  assert_true(count <= MOST);
  out[0] = '\0';
  for (size_t i = 0; i < count; i++) {
    assert_true(notes[i].reason[0]);
    used += (size_t)snprintf(out + used, size - used, "%s %s%s%s\n", notes[i].pointer, notes[i].keyword,
                             notes[i].nearest[0] ? " " : "", notes[i].nearest);
  }
}

static const struct {
  const char *schema, *found;
} worked[] = {
    {"true", ""},
    {"{}", ""},
    {"{'propertys': {'a': {'lbael': 1}}}", "/propertys propertys properties\n"},
    {"{'require': ['a'], 'maxlength': 3}", "/require require required\n/maxlength maxlength maxLength\n"},
    {"{'items': {'anyOf': [{'minimun': 3}, {'tpye': 'null'}]}}",
     "/items/anyOf/0/minimun minimun minimum\n/items/anyOf/1/tpye tpye type\n"},
    {"{'properties': {'require': {'xyzzy': 1}, 'maxlength': true}}", "/properties/require/xyzzy xyzzy\n"},
    {"{'dependentSchemas': {'q': {'ref': 1}}, '$defs': {'a': {'iff': true}}}",
     "/$defs/a/iff iff if\n/dependentSchemas/q/ref ref $ref\n"},
    {"{'a~/b': 1, '': 2}", "/a~0~1b a~/b\n/ \n"},
    {"{'ADDITIONALPROPERTIES': false}", "/ADDITIONALPROPERTIES ADDITIONALPROPERTIES additionalProperties\n"},
    /* Values are no schemas. */
    {"{'const': {'propertys': 1}, 'enum': [{'require': 1}], 'default': {'tpye': 1}, 'examples': [{'tpye': "
     "1}]}",
     ""},
    /* Annotations. */
    {"{'title': 'a', 'description': 'a', 'default': 1, 'examples': [], '$comment': 'a', 'deprecated': true,"
     " 'readOnly': true, 'writeOnly': true, 'contentMediaType': 'a', 'contentEncoding': 'a', "
     "'contentSchema': {},"
     " 'x-order': 1, 'example': 1, 'discriminator': {}, 'xml': {}, 'externalDocs': {}, 'nullable': false}",
     ""},
    /* OpenAPI's, which isn't asked for. */
    {"{'nullable': true, 'items': {'nullable': true}}", "/nullable nullable\n/items/nullable nullable\n"},
    {"{'descripton': 'a', 'X-order': 1, 'x': 1, 'x-': 1}",
     "/descripton descripton description\n/X-order X-order\n/x x\n/x- x-\n"},
    /* Other drafts' keywords; those that would constrain are refused when the schema is compiled. */
    {"{'id': 'urn:a', 'additionalItems': false}", "/id id\n/additionalItems additionalItems\n"},
    {"{'$schema': 'http://json-schema.org/draft-04/schema#', 'id': 'urn:a', 'additionalItems': false, '$id': "
     "'urn:a'}",
     "/$id $id\n"},
    {"{'$schema': 'http://json-schema.org/draft-07/schema#', '$anchor': 'a', 'prefixItems': [{}]}",
     "/$anchor $anchor\n"},
    {"{'$schema': 'urn:unknown', 'tpye': 1}", ""},
    /* A name that is no keyword may hold what references lead to. */
    {"{'$ref': '#/components/a', 'components': {'a': {'tpye': 1}, 'b': {'tpye': 1}}}",
     "/components/a/tpye tpye type\n"},
    {"{'$ref': '#/components/a', 'components': {'a': {'$ref': '#/other'}}, 'other': {'tpye': 1}, 'last': {}}",
     "/last last\n/other/tpye tpye type\n"},
    /* Refused, or nothing fits: it is told all the same. */
    {"{'format': 'no-such', 'tpye': 1}", "/tpye tpye type\n"},
    {"{'required': ['a'], 'propertys': {'a': {}}, 'additionalProperties': false}",
     "/propertys propertys properties\n"},
    {"{'$ref': 'urn:not-there', 'tpye': 1}", "/tpye tpye type\n"},
    {"{'type': 5, 'tpye': 1}", "/tpye tpye type\n"},
};

/* JSON with ' for the quotes. */
static char *quoted(const char *text) {
  char *const json = strdup(text);
  assert_non_null(json);
  for (char *c = json; *c; c++)
    if (*c == '\'') *c = '"';
  return json;
}

static void test_worked(void **state) {
  (void)state;
  char found[2048];
  for (size_t i = 0; i < TOMBOLA__COUNT(worked); i++) {
    char *const schema = quoted(worked[i].schema);
    const struct tombola_grammar_source source = support_source(TOMBOLA_GRAMMAR_JSON_SCHEMA, schema);
    find(&source, found, sizeof found);
    if (strcmp(found, worked[i].found)) fail_msg("%s:\n%s", worked[i].schema, found);
    free(schema);
  }
}

static void test_documents(void **state) {
  (void)state;
  char found[2048];
  static const char used[] = "{\"tpye\": 1}", idle[] = "{\"maxlength\": 1}";
  const struct tombola_schema_document documents[] = {{"urn:used", used, sizeof used - 1},
                                                      {"urn:idle", idle, sizeof idle - 1}};
  struct tombola_grammar_source source =
      support_source(TOMBOLA_GRAMMAR_JSON_SCHEMA, "{\"items\": {\"$ref\": \"urn:used\"}, \"require\": 1}");
  source.documents = documents;
  source.n_documents = 2;
  find(&source, found, sizeof found);
  assert_string_equal(found, "/require require required\nurn:used#/tpye tpye type\n");
}

/* A long name is cut in whole characters, and isn't taken for another one. */
static void test_long_names(void **state) {
  (void)state;
  char schema[256] = "{\"x", found[2048];
  for (size_t i = 0; i < 40; i++)
    strcat(schema, "\xC3\xA9"); /* 3 + 80 bytes */
  strcat(schema, "\": 1}");
  struct tombola_grammar_source source = support_source(TOMBOLA_GRAMMAR_JSON_SCHEMA, schema);
  struct tombola_schema_note note;
  size_t count;
  assert_int_equal(tombola_schema_unknown(&source, NULL, &note, 1, &count, NULL), TOMBOLA_OK);
  assert_int_equal(count, 1);
  assert_int_equal(strlen(note.keyword), 63); /* x, and 31 of two bytes */
  assert_memory_equal(note.keyword, schema + 2, 63);
  source = support_source(TOMBOLA_GRAMMAR_JSON_SCHEMA, "{\"propertiespropertiespropertiesproperties_\": 1}");
  find(&source, found, sizeof found);
  assert_string_equal(
      found, "/propertiespropertiespropertiesproperties_ propertiespropertiespropertiesproperties_\n");
}

static void test_capacity(void **state) {
  (void)state;
  const struct tombola_grammar_source source =
      support_source(TOMBOLA_GRAMMAR_JSON_SCHEMA, "{\"q\": 1, \"tpye\": 1, \"r\": 1}");
  struct tombola_schema_note notes[3] = {{.keyword = "old"}, {.keyword = "old"}, {.keyword = "old"}};
  size_t count = 0;
  assert_int_equal(tombola_schema_unknown(&source, NULL, notes, 2, &count, NULL), TOMBOLA_OK);
  assert_int_equal(count, 3);
  assert_string_equal(notes[1].keyword, "tpye");
  assert_string_equal(notes[2].keyword, "old");
  assert_int_equal(tombola_schema_unknown(&source, NULL, NULL, 2, &count, NULL), TOMBOLA_OK);
  assert_int_equal(count, 3);
}

static void test_failures(void **state) {
  (void)state;
  struct tombola_schema_note note;
  struct tombola_error error = {.message = ""};
  size_t count = 7;
  struct tombola_grammar_source source = support_source(TOMBOLA_GRAMMAR_JSON_SCHEMA, "{\"tpye\": ");
  assert_int_equal(tombola_schema_unknown(&source, NULL, &note, 1, &count, &error), TOMBOLA_FORMAT);
  assert_int_equal(count, 0);
  assert_true(error.message[0]);
  assert_int_equal(tombola_schema_unknown(NULL, NULL, &note, 1, &count, &error), TOMBOLA_INVALID_ARGUMENT);
  source = support_source(TOMBOLA_GRAMMAR_JSON_SCHEMA, "{\"tpye\": 1}");
  assert_int_equal(tombola_schema_unknown(&source, NULL, &note, 1, NULL, &error), TOMBOLA_INVALID_ARGUMENT);
  struct tombola_grammar_limits limits = {.struct_size = sizeof limits, .max_depth = 2};
  source = support_source(TOMBOLA_GRAMMAR_JSON_SCHEMA, "{\"not\": {\"not\": {\"not\": {\"tpye\": 1}}}}");
  source.limits = &limits;
  assert_int_equal(tombola_schema_unknown(&source, NULL, &note, 1, &count, &error), TOMBOLA_OUT_OF_RANGE);
  source = support_source(TOMBOLA_GRAMMAR_REGEX, "tpye");
  assert_int_equal(tombola_schema_unknown(&source, NULL, &note, 1, &count, &error), TOMBOLA_OK);
  assert_int_equal(count, 0);
}

static void test_no_memory(void **state) {
  (void)state;
  const struct tombola_grammar_source source =
      support_source(TOMBOLA_GRAMMAR_JSON_SCHEMA,
                     "{\"$ref\": \"#/other\", \"tpye\": 1, \"other\": {\"items\": {\"tpye\": 1}}}");
  struct tombola_schema_note notes[MOST];
  bool done = false;
  for (size_t n = 1; !done; n++) {
    struct support_allocator failing = support_allocator(n);
    size_t count;
    const enum tombola_status status =
        tombola_schema_unknown(&source, support_allocator_use(&failing), notes, MOST, &count, NULL);
    assert_true(status == TOMBOLA_OK || status == TOMBOLA_NO_MEMORY);
    assert_int_equal(count, status ? 0 : 2);
    support_allocator_check(&failing);
    done = status == TOMBOLA_OK;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_worked),     cmocka_unit_test(test_documents),
                                     cmocka_unit_test(test_long_names), cmocka_unit_test(test_capacity),
                                     cmocka_unit_test(test_failures),   cmocka_unit_test(test_no_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
