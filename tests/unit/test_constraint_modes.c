/* SPDX-License-Identifier: Apache-2.0 */
/* What the engines that tombola follows promise of their constraints: rMLX's operations, its free prelude, its table of
 * keywords, its terminal rule; mlxcel's schemas, GBNF, lazy triggers and limits. At the matcher; what a session makes of
 * it is in test_constraint_answers.c. */
#include "constraint_group.h"

#define SCHEMA(text) support_source(TOMBOLA_GRAMMAR_JSON_SCHEMA, text)

static bool bit(const struct tombola_mask *mask, size_t token) {
  return mask->words[token / 32] >> token % 32 & 1;
}

static struct tombola_mask mask_of(tombola_matcher *m) {
  struct tombola_mask mask;
  struct tombola_error error = {0};
  if (tombola_matcher_mask(m, &mask, &error)) fail_msg("%s", error.message);
  return mask;
}

static tombola_matcher *matcher_of(const struct tombola_grammar_source *source) {
  tombola_grammar *const g = support_grammar(source, trie);
  tombola_matcher *const m = support_matcher(g);
  tombola_grammar_free(g); /* the matcher holds it */
  return m;
}

static size_t fits(tombola_matcher *m, const char *text) {
  size_t fit;
  tombola_matcher_accept_bytes(m, text, strlen(text), &fit, NULL);
  return fit;
}

static void accept_text(tombola_matcher *m, const char *text) {
  const size_t fit = fits(m, text);
  if (fit != strlen(text)) fail_msg("'%s' fits up to byte %zu", text, fit);
}

/* Whether a whole document fits; the matcher is at the beginning again then. */
static bool is_valid(tombola_matcher *m, const char *document) {
  const bool valid = fits(m, document) == strlen(document) && tombola_matcher_is_complete(m);
  tombola_matcher_reset(m);
  return valid;
}

/* ---- rMLX ---- */

/* step_mask, advance, finished, wants_mask, engaged. */
static void the_five_operations(void **state) {
  (void)state;
  const struct tombola_grammar_source source = support_source(TOMBOLA_GRAMMAR_JSON_OBJECT, NULL);
  tombola_matcher *const m = matcher_of(&source);
  assert_true(tombola_matcher_wants_mask(m) && tombola_matcher_engaged(m) && !tombola_matcher_is_complete(m));
  const struct tombola_mask first = mask_of(m), again = mask_of(m);
  assert_int_equal(first.count, words.count);
  assert_ptr_equal(first.words, again.words); /* borrowed, not made twice */
  assert_true(bit(&first, '{') && !bit(&first, '[') && !bit(&first, SUPPORT_END));
  assert_int_equal(tombola_matcher_accept(m, '[', NULL), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_matcher_accept(m, '{', NULL), TOMBOLA_OK);
  assert_int_equal(tombola_matcher_accept(m, '}', NULL), TOMBOLA_OK);
  assert_true(tombola_matcher_is_complete(m));
  tombola_matcher_set_thinking(m, 1);
  assert_false(tombola_matcher_wants_mask(m));
  tombola_matcher_free(m);
}

/* Anything until the value begins, but not the end; inside of reasoning it doesn't begin. */
static void a_prelude_is_free_until_the_value(void **state) {
  (void)state;
  struct tombola_grammar_source source = support_source(TOMBOLA_GRAMMAR_JSON, NULL);
  source.free_prelude = 1;
  tombola_matcher *const m = matcher_of(&source);
  tombola_matcher_set_thinking(m, 1);
  accept_text(m, "perhaps {\"a\":1} or [x");
  tombola_matcher_set_thinking(m, 0);
  assert_false(tombola_matcher_engaged(m));
  const struct tombola_mask mask = mask_of(m);
  for (size_t byte = 0; byte < 256; byte++)
    assert_true(bit(&mask, byte));
  assert_false(bit(&mask, SUPPORT_END) || bit(&mask, SUPPORT_EMPTY));
  accept_text(m, "Sure: \"12\" }] \xFF ");
  assert_false(tombola_matcher_engaged(m) || tombola_matcher_is_complete(m));
  accept_text(m, "\xC3\xA9{"); /* from that byte on */
  assert_true(tombola_matcher_engaged(m));
  assert_int_equal(fits(m, "a"), 0);
  accept_text(m, "\"a\":[1]}");
  const struct tombola_mask end = mask_of(m);
  assert_true(tombola_matcher_is_complete(m) && end.n_ids == 2 && bit(&end, SUPPORT_END));
  tombola_matcher_reset(m);
  assert_int_equal(fits(m, "so [tru,"), 7); /* a bracket begins a value too */
  tombola_matcher_free(m);
}

struct table {
  const char *schema;
  const char *valid[4], *invalid[4];
};

/* What rMLX enforces, and what it degrades to any value or drops unless it is strict: here all of it holds. */
static const struct table enforced[] = {
    {"{\"$defs\":{\"n\":{\"type\":\"null\"}},\"$ref\":\"#/$defs/n\"}", {"null"}, {"1", "\"\""}},
    {"{\"allOf\":[{\"type\":\"integer\"},{\"minimum\":3},{\"maximum\":4}]}", {"3", "4.0"}, {"2", "5", "[]"}},
    {"{\"type\":\"integer\",\"not\":{\"const\":10}}", {"1", "11"}, {"10", "1e1"}},
    {"{\"if\":{\"type\":\"string\"},\"then\":{\"maxLength\":1},\"else\":{\"const\":2}}",
     {"\"a\"", "2"},
     {"\"ab\"", "3"}},
    {"{\"properties\":{\"a\":true},\"unevaluatedProperties\":false,\"type\":\"object\"}",
     {"{}", "{\"a\":1}"},
     {"{\"b\":1}"}},
    {"{\"oneOf\":[{\"type\":\"number\"},{\"type\":\"integer\"}]}", {"1.5"}, {"1", "\"\""}},
    {"{\"anyOf\":[{\"const\":\"ab\"},{\"enum\":[\"ac\",7]}]}", {"\"ab\"", "\"ac\"", "7"}, {"\"ad\"", "8"}},
    {"{\"type\":\"string\",\"pattern\":\"^a+$\"}", {"\"aa\""}, {"\"ab\"", "\"\""}},
    {"{\"type\":\"string\",\"format\":\"date\"}", {"\"2024-02-29\""}, {"\"2023-02-29\""}},
    {"{\"type\":\"number\",\"minimum\":-1.5,\"maximum\":2}", {"-1.5", "2", "0e9"}, {"-1.51", "2.1"}},
    {"{\"type\":\"string\",\"minLength\":2,\"maxLength\":3}",
     {"\"ab\"", "\"\\n\\u00e9b\""},
     {"\"a\"", "\"abcd\""}},
    {"{\"type\":\"array\",\"prefixItems\":[{\"const\":1},{\"const\":2}],\"items\":false}",
     {"[]", "[1]", "[1,2]"},
     {"[2]", "[1,2,3]"}},
    {"{\"type\":\"array\",\"items\":{\"type\":\"null\"},\"minItems\":1,\"maxItems\":2}",
     {"[null]", "[null,null]"},
     {"[]", "[1]", "[null,null,null]"}},
    {"{\"type\":\"object\",\"additionalProperties\":{\"type\":\"boolean\"},\"properties\":{\"a\":{\"const\":"
     "1}}}",
     {"{\"b\":true,\"a\":1}"},
     {"{\"b\":1}", "{\"a\":true}"}},
    {"{\"type\":\"object\",\"required\":[\"z\"]}", {"{\"z\":0}", "{\"a\":1,\"z\":0}"}, {"{}", "{\"a\":1}"}},
    {"{\"type\":\"integer\"}", {"0", "-7", "1e2"}, {"01", "1.5", "-", "+1"}},
};

static void the_table_of_keywords(void **state) {
  (void)state;
  for (size_t i = 0; i < TOMBOLA__COUNT(enforced); i++) {
    const struct table *const t = &enforced[i];
    struct tombola_schema_verdict verdict;
    const struct tombola_grammar_source source = SCHEMA(t->schema);
    tombola_grammar *const g = support_grammar(&source, NULL);
    tombola_matcher *const m = support_matcher(g);
    tombola_grammar_verdict(g, &verdict);
    assert_int_equal(verdict.verdict, TOMBOLA_VERDICT_EXACT);
    for (size_t k = 0; k < 4 && t->valid[k]; k++)
      if (!is_valid(m, t->valid[k])) fail_msg("%s: %s isn't accepted", t->schema, t->valid[k]);
    for (size_t k = 0; k < 4 && t->invalid[k]; k++)
      if (is_valid(m, t->invalid[k])) fail_msg("%s: %s is accepted", t->schema, t->invalid[k]);
    tombola_matcher_free(m);
    tombola_grammar_free(g);
  }
}

/* What can't be enforced is refused by name; lenient, which stands for rMLX's degrading, leaves out that and nothing
 * else, and says what. */
static void what_is_refused_can_be_left_out(void **state) {
  (void)state;
  static const struct {
    const char *schema, *pointer, *keyword;
  } refused[] = {
      {"{\"type\":\"string\",\"maxLength\":3,\"format\":\"idn-email\"}", "/format", "format"},
      {"{\"type\":\"string\",\"maxLength\":3,\"pattern\":\"^(a)\\\\1$\"}", "/pattern", "pattern"},
      {"{\"type\":\"string\",\"maxLength\":3,\"$ref\":\"https://example.com/s\"}", "/$ref", "$ref"},
  };
  for (size_t i = 0; i < TOMBOLA__COUNT(refused); i++) {
    struct tombola_grammar_source source = SCHEMA(refused[i].schema);
    struct tombola_schema_verdict verdict;
    struct tombola_error error = {0};
    tombola_grammar *g = NULL;
    const char *pointer, *keyword;
    assert_int_equal(tombola_grammar_new(&source, NULL, NULL, &g, &verdict, &error), TOMBOLA_UNSUPPORTED);
    assert_int_equal(verdict.verdict, TOMBOLA_VERDICT_REFUSED);
    assert_string_equal(verdict.pointer, refused[i].pointer);
    assert_string_equal(verdict.keyword, refused[i].keyword);
    assert_true(verdict.reason[0] && strstr(error.message, refused[i].keyword) &&
                !strchr(error.message, '\n'));
    source.lenient = 1;
    g = support_grammar(&source, NULL);
    assert_true(tombola_grammar_dropped(g, 0, &pointer, &keyword));
    assert_string_equal(pointer, refused[i].pointer);
    assert_string_equal(keyword, refused[i].keyword);
    assert_false(tombola_grammar_dropped(g, 1, &pointer, &keyword));
    tombola_matcher *const m = support_matcher(g);
    assert_true(is_valid(m, "\"xyz\"") && !is_valid(m, "\"wxyz\"") && !is_valid(m, "1"));
    tombola_matcher_free(m);
    tombola_grammar_free(g);
  }
}

/* The first byte fits, the last one doesn't; no bytes at all. */
static void all_bytes_of_a_token_must_fit(void **state) {
  (void)state;
  static const char *const pieces[] = {"true", "tr", "tru ", "truth", "t", " true", "ue", "", "</s>"};
  static const char at_start[] = "110010000", inside[] = "000000100"; /* inside: behind "tr" */
  struct support_words *const few = calloc(1, sizeof *few);
  for (size_t i = 0; i < TOMBOLA__COUNT(pieces); i++)
    support_add(few, pieces[i], strlen(pieces[i]), i == 8 ? TOMBOLA_TOKEN_END : 0);
  tombola_vocabulary *const v = support_vocabulary(few);
  tombola_trie *const t = support_trie(v);
  struct tombola_grammar_source source = SCHEMA("{\"type\":\"boolean\"}");
  source.whitespace = TOMBOLA_WHITESPACE_NONE;
  tombola_grammar *const g = support_grammar(&source, t);
  tombola_matcher *const m = support_matcher(g);
  for (size_t round = 0; round < 2; round++) {
    const struct tombola_mask mask = mask_of(m);
    for (size_t token = 0; token < few->count; token++)
      if (bit(&mask, token) != ((round ? inside : at_start)[token] == '1')) fail_msg("%s", pieces[token]);
    assert_int_equal(tombola_matcher_accept(m, 7, NULL), TOMBOLA_INVALID_ARGUMENT);
    if (round == 0) assert_int_equal(tombola_matcher_accept(m, 1, NULL), TOMBOLA_OK);
  }
  tombola_matcher_free(m);
  tombola_grammar_free(g);
  tombola_trie_free(t);
  tombola_vocabulary_free(v);
  free(few);
}

/* Behind a whole text only end tokens; white space only where any was asked for. */
static void a_whole_text_is_the_end(void **state) {
  (void)state;
  for (int whitespace = TOMBOLA_WHITESPACE_BOUNDED; whitespace <= TOMBOLA_WHITESPACE_ANY; whitespace++) {
    struct tombola_grammar_source source = support_source(TOMBOLA_GRAMMAR_JSON_OBJECT, NULL);
    source.whitespace = (enum tombola_whitespace)whitespace;
    tombola_matcher *const m = matcher_of(&source);
    accept_text(m, "{\"a\":1}");
    const struct tombola_mask mask = mask_of(m);
    assert_int_equal(bit(&mask, ' '), whitespace == TOMBOLA_WHITESPACE_ANY);
    for (size_t token = 0; token < words.count; token++) {
      const bool end = words.flags[token] & TOMBOLA_TOKEN_END;
      const size_t length = words.offsets[token + 1] - words.offsets[token];
      const bool space = length > 0 && strspn(words.bytes + words.offsets[token], " \t\r\n") >= length;
      assert_int_equal(bit(&mask, token), end || (space && whitespace == TOMBOLA_WHITESPACE_ANY));
    }
    tombola_matcher_free(m);
  }
}

/* Also where the text could have gone on. */
static void nothing_follows_an_end_token(void **state) {
  (void)state;
  const struct tombola_grammar_source source = support_source(TOMBOLA_GRAMMAR_REGEX, "(true)+");
  tombola_matcher *const m = matcher_of(&source);
  assert_int_equal(tombola_matcher_accept(m, SUPPORT_TRUE, NULL), TOMBOLA_OK);
  assert_int_equal(tombola_matcher_accept(m, SUPPORT_END, NULL), TOMBOLA_OK);
  const struct tombola_mask mask = mask_of(m);
  assert_int_equal(mask.n_ids, 2);
  assert_int_equal(tombola_matcher_accept(m, SUPPORT_TRUE, NULL), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(fits(m, "true"), 0);
  assert_int_equal(tombola_matcher_rollback(m, 1), TOMBOLA_OK);
  assert_int_equal(tombola_matcher_accept(m, SUPPORT_TRUE, NULL), TOMBOLA_OK);
  tombola_matcher_free(m);
}

/* Values without braces, and calls of tools that must come: the first token is under the grammar. */
static void scalars_and_required_tools_engage_at_once(void **state) {
  (void)state;
  static const struct {
    const char *schema;
    const char *may; /* first bytes */
  } roots[] = {{"{\"type\":\"integer\"}", "-0123456789"},
               {"{\"type\":\"boolean\"}", "tf"},
               {"{\"type\":[\"string\",\"null\"]}", "\"n"},
               {"{\"enum\":[\"a\",1,null]}", "\"1n"},
               {"{\"const\":-2}", "-"},
               {"{\"oneOf\":[{\"properties\":{\"name\":{\"const\":\"f\"}},\"required\":[\"name\"]},"
                "{\"properties\":{\"name\":{\"const\":\"g\"}},\"required\":[\"name\"]}],\"type\":\"object\"}",
                "{"}};
  for (size_t i = 0; i < TOMBOLA__COUNT(roots); i++) {
    struct tombola_grammar_source source = SCHEMA(roots[i].schema);
    source.whitespace = TOMBOLA_WHITESPACE_NONE;
    tombola_matcher *const m = matcher_of(&source);
    assert_true(tombola_matcher_engaged(m));
    const struct tombola_mask mask = mask_of(m);
    for (int byte = 1; byte < 256; byte++) {
      const bool may = strchr(roots[i].may, byte) != NULL || (i == 3 && byte == '1');
      /* 1 may be written as 10e-1, 0.1e1 and so on. */
      if (i == 3 && byte == '0') continue;
      if (i == 4 && byte != '-') assert_false(bit(&mask, (size_t)byte));
      if (bit(&mask, (size_t)byte) != may) fail_msg("%s: %c", roots[i].schema, byte);
    }
    tombola_matcher_free(m);
  }
  /* A choice that the model has: free text, or the call. */
  const struct tombola_mix_rule call = {"<call>", 6, TOMBOLA_GRAMMAR_JSON_OBJECT, NULL, 0, "</call>", 7, 0};
  struct tombola_grammar_source source = support_source(TOMBOLA_GRAMMAR_MIX, NULL);
  source.rules = &call;
  source.n_rules = 1;
  tombola_matcher *const m = matcher_of(&source);
  assert_false(tombola_matcher_engaged(m));
  accept_text(m, "as I said: <call>");
  assert_true(tombola_matcher_engaged(m));
  assert_int_equal(fits(m, "x"), 0);
  accept_text(m, "{}</call> and so on");
  assert_false(tombola_matcher_engaged(m));
  tombola_matcher_free(m);
}

/* ---- mlxcel ---- */

/* A grammar that sleeps until its trigger: llama.cpp's lazy grammars, whose text begins with the trigger. */
static void lazy_grammars(void **state) {
  (void)state;
  static const char grammar[] = "root ::= \"<tool>\" name \"(\" [0-9]+ \")\"\nname ::= \"add\" | \"sub\"";
  const struct tombola_mix_rule rule = {"<tool>", 6, TOMBOLA_GRAMMAR_GBNF, grammar, sizeof grammar - 1, NULL,
                                        0,        1};
  struct tombola_grammar_source source = support_source(TOMBOLA_GRAMMAR_MIX, NULL);
  source.rules = &rule;
  source.n_rules = 1;
  tombola_matcher *const m = matcher_of(&source);
  accept_text(m, "(1) <tool <to");
  assert_true(tombola_matcher_is_complete(m) && !tombola_matcher_engaged(m));
  accept_text(m, "ol>");
  assert_true(tombola_matcher_engaged(m));
  assert_int_equal(fits(m, "mul"), 0);
  assert_int_equal(fits(m, "add(x"), 4);
  accept_text(m, "sub(12");
  assert_false(tombola_matcher_is_complete(m));
  accept_text(m, ")");
  assert_true(tombola_matcher_is_complete(m));
  /* The vocabulary has the trigger as a special token. */
  tombola_matcher_reset(m);
  assert_int_equal(tombola_matcher_accept(m, SUPPORT_SPECIAL, NULL), TOMBOLA_OK);
  assert_true(tombola_matcher_engaged(m));
  accept_text(m, "add(7)");
  tombola_matcher_free(m);
}

/* Beyond a limit: a status, and a short message that names it. */
static void limits_are_named(void **state) {
  (void)state;
  static char deep[4096], many[8192];
  size_t at = 0;
  for (size_t i = 0; i < 40; i++)
    at += (size_t)snprintf(deep + at, sizeof deep - at, "{\"items\":");
  at += (size_t)snprintf(deep + at, sizeof deep - at, "true");
  for (size_t i = 0; i < 40; i++)
    at += (size_t)snprintf(deep + at, sizeof deep - at, "}");
  at = (size_t)snprintf(many, sizeof many, "{\"$defs\":{\"n\":true},\"allOf\":[true");
  for (size_t i = 0; i < 65; i++)
    at += (size_t)snprintf(many + at, sizeof many - at, ",{\"items\":{\"$ref\":\"#/$defs/n\"}}");
  snprintf(many + at, sizeof many - at, "]}");
  struct {
    struct tombola_grammar_source source;
    struct tombola_grammar_limits limits;
    const char *name;
  } cases[] = {{SCHEMA(deep), {.max_depth = 32}, "max_depth"},
               {SCHEMA(many), {.max_refs = 64}, "max_refs"},
               {SCHEMA(many), {.max_source = 1024}, "max_source"},
               {SCHEMA("{\"pattern\":\"^(ab|cd|ef){2}x[0-4]+$\"}"), {.max_states = 3}, "max_states"},
               {support_source(TOMBOLA_GRAMMAR_GBNF, "root ::= (\"a\" | \"b\"){3000}"),
                {.max_states = 100},
                "max_states"},
               {SCHEMA("{\"type\":\"object\"}"), {.max_bytes = 100}, "max_bytes"}};
  for (size_t i = 0; i < TOMBOLA__COUNT(cases); i++) {
    struct tombola_error error = {0};
    tombola_grammar *g = NULL;
    cases[i].limits.struct_size = sizeof cases[i].limits;
    cases[i].source.limits = &cases[i].limits;
    const enum tombola_status status = tombola_grammar_new(&cases[i].source, trie, NULL, &g, NULL, &error);
    if (status != TOMBOLA_OUT_OF_RANGE || !strstr(error.message, cases[i].name))
      fail_msg("case %zu: %s, %s", i, tombola_status_name(status), error.message);
    if (g || strlen(error.message) > 250) fail_msg("case %zu: %s", i, error.message);
    cases[i].source.limits = NULL;
    g = support_grammar(&cases[i].source, trie); /* and without it the same is fine */
    tombola_grammar_free(g);
  }
}

/* What a user wrote wrong: FORMAT, with the place, in one line. */
static void errors_are_short_and_clear(void **state) {
  (void)state;
  static const struct {
    enum tombola_grammar_kind kind;
    const char *text;
    const char *says;
  } wrong[] = {
      {TOMBOLA_GRAMMAR_GBNF, "root ::= \"a\" |\n\"b", "line 2"},
      {TOMBOLA_GRAMMAR_GBNF, "root ::= nothing", "nothing"},
      {TOMBOLA_GRAMMAR_GBNF, "start ::= \"a\"", "root"},
      {TOMBOLA_GRAMMAR_JSON_SCHEMA, "{\"type\":\"object\"", "byte"},
      {TOMBOLA_GRAMMAR_JSON_SCHEMA, "{\"properties\":{\"a\":{\"type\":\"text\"}}}", "/properties/a/type"},
      {TOMBOLA_GRAMMAR_JSON_SCHEMA, "[]", "schema"},
      {TOMBOLA_GRAMMAR_REGEX, "a(b", "byte 1"}};
  for (size_t i = 0; i < TOMBOLA__COUNT(wrong); i++) {
    struct tombola_grammar_source source = support_source(wrong[i].kind, wrong[i].text);
    struct tombola_error error = {0};
    tombola_grammar *g = NULL;
    assert_int_equal(tombola_grammar_new(&source, NULL, NULL, &g, NULL, &error), TOMBOLA_FORMAT);
    if (!strstr(error.message, wrong[i].says)) fail_msg("%s: %s", wrong[i].text, error.message);
    assert_true(strlen(error.message) < 200 && !strchr(error.message, '\n'));
  }
}

static int set_up(void **state) {
  (void)state;
  return set_up_words(72);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_five_operations),
      cmocka_unit_test(a_prelude_is_free_until_the_value),
      cmocka_unit_test(the_table_of_keywords),
      cmocka_unit_test(what_is_refused_can_be_left_out),
      cmocka_unit_test(all_bytes_of_a_token_must_fit),
      cmocka_unit_test(a_whole_text_is_the_end),
      cmocka_unit_test(nothing_follows_an_end_token),
      cmocka_unit_test(scalars_and_required_tools_engage_at_once),
      cmocka_unit_test(lazy_grammars),
      cmocka_unit_test(limits_are_named),
      cmocka_unit_test(errors_are_short_and_clear),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
