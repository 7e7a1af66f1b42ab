/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays whose items are compared: those that need two equal items (not uniqueItems), which is exact, and unique arrays
 * of objects and arrays, where an item may have no choice but to be one that is there: then a mask allows at least
 * every token that can be completed, a dead end is a status, and going back gets out of it. */
#include "constraint_group.h"

#include <stdbool.h>

struct place {
  tombola_matcher *m;
  struct tombola_schema_verdict verdict;
};

/* No white space. */
static struct place open_schema(const char *schema) {
  struct tombola_grammar_source source = support_source(TOMBOLA_GRAMMAR_JSON_SCHEMA, schema);
  source.whitespace = TOMBOLA_WHITESPACE_NONE;
  struct place p = {0};
  tombola_grammar *const g = support_grammar(&source, trie);
  tombola_grammar_verdict(g, &p.verdict);
  p.m = support_matcher(g);
  tombola_grammar_free(g);
  return p;
}

static bool bit(const struct tombola_mask *mask, size_t token) {
  return mask->words[token / 32] >> token % 32 & 1;
}

/* Byte by byte, each one a token of the mask in front of it. Returns how many fit. */
static size_t read_text(tombola_matcher *m, const char *text) {
  size_t n = 0;
  for (; text[n]; n++) {
    struct tombola_mask mask;
    const enum tombola_status status = tombola_matcher_mask(m, &mask, NULL);
    const bool fits = tombola_matcher_accept(m, (uint8_t)text[n], NULL) == TOMBOLA_OK;
    assert_int_equal(fits, status == TOMBOLA_OK && bit(&mask, (uint8_t)text[n]));
    if (!fits) break;
  }
  return n;
}

/* Which of the bytes may come next. */
static void want_next(tombola_matcher *m, const char *bytes) {
  struct tombola_mask mask;
  assert_int_equal(tombola_matcher_mask(m, &mask, NULL), TOMBOLA_OK);
  for (unsigned byte = 0; byte < 256; byte++)
    if (bit(&mask, byte) != (byte && strchr(bytes, (int)byte)))
      fail_msg("byte '%c' isn't as in '%s'", byte, bytes);
}

static void want_text(const char *schema, const char *text, size_t fits, bool complete) {
  struct place p = open_schema(schema);
  const size_t n = read_text(p.m, text);
  if (n != fits) fail_msg("%s: '%s' fits up to byte %zu", schema, text, n);
  if (!text[fits]) assert_int_equal(tombola_matcher_is_complete(p.m), complete);
  tombola_matcher_free(p.m);
}

/* ---- two equal items ---- */

static const char three[] = "{\"type\":\"array\",\"not\":{\"uniqueItems\":true},\"maxItems\":3,"
                            "\"items\":{\"enum\":[1,2,3,[1],{\"a\":1,\"b\":2}]}}";

static void the_last_chance_is_forced(void **state) {
  (void)state;
  struct place p = open_schema(three);
  assert_int_equal(p.verdict.verdict, TOMBOLA_VERDICT_EXACT);
  assert_int_equal(read_text(p.m, "[1"), 2);
  want_next(p.m, ",.eE0");
  assert_int_equal(read_text(p.m, ",2,"), 3);
  want_next(p.m, "012");
  tombola_matcher_free(p.m);
}

static void two_equal_items(void **state) {
  (void)state;
  want_text(three, "[]", 1, false);
  want_text(three, "[1]", 2, false);
  want_text(three, "[1,1]", 5, true);
  want_text(three, "[1,10e-1,3]", 11, true);
  want_text(three, "[1,2,[1]]", 5, false);
  want_text(three, "[1,[1],[1]]", 11, true);
  want_text(three, "[{\"b\":2,\"a\":1},3,{\"a\":1.0,\"b\":2}]", 33, true);
  want_text(three, "[1,2,3]", 5, false);
  want_text(three, "[1,1,3,1]", 6, false);
  /* items of their own: the second one is the only one that can be like the first */
  const char *const own =
      "{\"type\":\"array\",\"not\":{\"uniqueItems\":true},\"prefixItems\":[{\"type\":\"string\"},"
      "{\"enum\":[\"x\",null]},{\"enum\":[null,true]}],\"items\":false}";
  want_text(own, "[\"x\",\"x\"]", 9, true);
  want_text(own, "[\"x\",\"x\",true]", 14, true);
  want_text(own, "[\"y\",\"x\"]", 5, false);
  want_text(own, "[\"y\",null]", 9, false);
  want_text(own, "[\"y\",null,null]", 15, true);
  want_text(own, "[\"x\",null,true]", 10, false);
  const char *const last = "{\"type\":\"array\",\"not\":{\"uniqueItems\":true},\"maxItems\":2,"
                           "\"prefixItems\":[{\"type\":\"string\"}],\"items\":{\"enum\":[\"x\",null]}}";
  want_text(last, "[\"x\",\"x\"]", 9, true);
  want_text(last, "[\"y\"]", 2, false);
  const char *const open = "{\"type\":\"array\",\"not\":{\"uniqueItems\":true}}";
  want_text(open, "[1,\"a\",{},[2,3],null,{\"k\":[]},{\"k\":[]}]", 39, true);
  want_text(open, "[1,\"a\",{},[2,3],null]", 20, false);
  const char *const apart =
      "{\"if\":{\"uniqueItems\":true},\"then\":{\"maxItems\":1},\"else\":{\"minItems\":3}}";
  want_text(apart, "[1]", 3, true);
  want_text(apart, "[1,2]", 4, false);
  want_text(apart, "[1,1]", 4, false);
  want_text(apart, "[1,1,2]", 7, true);
}

static void none_is_refused(void **state) {
  (void)state;
  static const char *const none[] = {
      "{\"type\":\"array\",\"not\":{\"uniqueItems\":true},\"maxItems\":1}",
      "{\"type\":\"array\",\"not\":{\"uniqueItems\":true},\"prefixItems\":[{\"const\":1},{\"const\":2}],"
      "\"items\":"
      "false}",
      "{\"type\":\"array\",\"not\":{\"uniqueItems\":true},\"uniqueItems\":true}",
  };
  for (size_t i = 0; i < TOMBOLA__COUNT(none); i++) {
    const struct tombola_grammar_source source = support_source(TOMBOLA_GRAMMAR_JSON_SCHEMA, none[i]);
    tombola_grammar *g = NULL;
    assert_int_equal(tombola_grammar_new(&source, trie, NULL, &g, NULL, NULL), TOMBOLA_NO_CANDIDATE);
  }
}

static void counts_with_equal_items(void **state) {
  (void)state;
  struct place p =
      open_schema("{\"type\":\"array\",\"not\":{\"uniqueItems\":true},\"contains\":{\"const\":1},"
                  "\"maxContains\":2}");
  assert_int_equal(p.verdict.verdict, TOMBOLA_VERDICT_EXACT);
  tombola_matcher_free(p.m);
  p = open_schema(
      "{\"type\":\"array\",\"not\":{\"uniqueItems\":true},\"contains\":{\"const\":1},\"maxItems\":9}");
  assert_int_equal(p.verdict.verdict, TOMBOLA_VERDICT_MAY_BACKTRACK);
  assert_non_null(strstr(p.verdict.reason, "contains"));
  tombola_matcher_free(p.m);
}

/* ---- items that may have to be one that is there ---- */

static const char pairs[] =
    "{\"type\":\"array\",\"uniqueItems\":true,\"items\":{\"type\":\"array\",\"prefixItems\":"
    "[{\"type\":\"integer\"},{\"type\":\"boolean\"}],\"items\":false,\"minItems\":2}}";

static void a_dead_end_is_a_status(void **state) {
  (void)state;
  struct place p = open_schema(pairs);
  assert_int_equal(p.verdict.verdict, TOMBOLA_VERDICT_MAY_BACKTRACK);
  assert_int_equal(tombola_matcher_may_backtrack(p.m), 1);
  const char *const text = "[[1,true],[1,false],[1,true";
  assert_int_equal(read_text(p.m, text), strlen(text));
  struct tombola_mask mask;
  assert_int_equal(tombola_matcher_mask(p.m, &mask, NULL), TOMBOLA_NO_CANDIDATE);
  assert_int_equal(tombola_matcher_is_complete(p.m), 0);
  assert_int_equal(tombola_matcher_accepted(p.m), strlen(text));
  /* Back to the number, which can be another one. */
  assert_int_equal(tombola_matcher_rollback(p.m, 5), TOMBOLA_OK);
  assert_int_equal(read_text(p.m, "0,true]]"), 8);
  assert_int_equal(tombola_matcher_is_complete(p.m), 1);
  tombola_matcher_free(p.m);
}

/* Every array of different pairs is in the masks, byte by byte. */
static void nothing_that_can_be_completed_is_missing(void **state) {
  (void)state;
  struct support_rng rng = support_rng(11);
  struct place p = open_schema(pairs);
  for (size_t i = 0; i < 200; i++) {
    char text[512] = "[";
    bool there[8] = {false};
    for (size_t left = support_below(&rng, 9); left > 0; left--) {
      const size_t k = support_below(&rng, 8);
      if (there[k]) continue;
      there[k] = true;
      const size_t n = strlen(text);
      snprintf(text + n, sizeof text - n, "%s[%zu%s,%s]", n > 1 ? "," : "", k / 2,
               support_below(&rng, 2) ? "" : ".0", k % 2 ? "true" : "false");
    }
    strcat(text, "]");
    if (read_text(p.m, text) != strlen(text)) fail_msg("%s", text);
    assert_int_equal(tombola_matcher_is_complete(p.m), 1);
    tombola_matcher_reset(p.m);
  }
  tombola_matcher_free(p.m);
}

/* Whoever goes back at every dead end, and never the same way again, gets through. */
static bool get_through(tombola_matcher *m, size_t left, size_t *dead) {
  static const char order[] = "[1,tfalseru]23"; /* what leads into dead ends first */
  bool allowed[sizeof order] = {false};
  struct tombola_mask mask; /* as long as nothing else is asked */
  const enum tombola_status status = tombola_matcher_mask(m, &mask, NULL);
  if (status == TOMBOLA_NO_CANDIDATE) ++*dead;
  if (status) return false;
  for (size_t i = 0; order[i]; i++)
    allowed[i] = bit(&mask, (uint8_t)order[i]);
  if (tombola_matcher_is_complete(m)) return true;
  for (size_t i = 0; order[i] && left; i++) {
    if (!allowed[i]) continue;
    assert_int_equal(tombola_matcher_accept(m, (uint8_t)order[i], NULL), TOMBOLA_OK);
    if (get_through(m, left - 1, dead)) return true;
    assert_int_equal(tombola_matcher_rollback(m, 1), TOMBOLA_OK);
  }
  return false;
}

static void going_back_gets_through(void **state) {
  (void)state;
  struct place p = open_schema(
      "{\"type\":\"array\",\"uniqueItems\":true,\"minItems\":3,\"maxItems\":3,\"items\":{\"type\":\"array\","
      "\"prefixItems\":[{\"type\":\"integer\",\"maximum\":400,\"minimum\":1},{\"const\":true}],\"items\":"
      "false,"
      "\"minItems\":2}}");
  size_t dead = 0;
  assert_int_equal(p.verdict.verdict, TOMBOLA_VERDICT_MAY_BACKTRACK);
  assert_true(get_through(p.m, 40, &dead));
  assert_true(dead > 0);
  tombola_matcher_free(p.m);
}

static int set_up(void **state) {
  (void)state;
  return set_up_words(72);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_last_chance_is_forced), cmocka_unit_test(two_equal_items),
      cmocka_unit_test(none_is_refused),           cmocka_unit_test(counts_with_equal_items),
      cmocka_unit_test(a_dead_end_is_a_status),    cmocka_unit_test(nothing_that_can_be_completed_is_missing),
      cmocka_unit_test(going_back_gets_through),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
