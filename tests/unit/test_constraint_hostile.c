/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile sources: each ends in a grammar that can be read with or in a status that says why, soon, within the memory
 * that it may have, on a small stack. */
#include "limits_support.h"

/* A few tokens, whichever come first or last. A limit may end it. */
static void look_around(tombola_grammar *grammar, const char *name) {
  tombola_matcher *const matcher = support_matcher(grammar);
  for (size_t i = 0; i < 24; i++) {
    struct tombola_error error = {0};
    struct tombola_mask mask;
    const enum tombola_status status = tombola_matcher_mask(matcher, &mask, &error);
    if (status == TOMBOLA_OUT_OF_RANGE && names_limit(error.message)) break;
    if (status == TOMBOLA_NO_CANDIDATE && tombola_matcher_may_backtrack(matcher)) break;
    if (status) fail_msg("%s: token %zu: %s", name, i, error.message);
    size_t token = i % 2 ? mask.count - 1 : 0;
    while (!(mask.words[token / 32] >> token % 32 & 1))
      token += i % 2 ? (size_t)-1 : 1;
    assert_int_equal(tombola_matcher_accept(matcher, (tombola_token)token, NULL), TOMBOLA_OK);
  }
  tombola_matcher_free(matcher);
}

/* Compiles with a second, 64 MiB, 64 readings and 1,000,000 steps a call. `expected`: OK, or what it is refused with; 1: any of those. */
static void try(const char *name, enum tombola_grammar_kind kind, struct text *t, int expected) {
  static const char *const verbose = "TOMBOLA_TEST_VERBOSE";
  const struct tombola_grammar_limits limits = {.struct_size = sizeof limits,
                                                .max_bytes = 64 * MIB,
                                                .max_threads = 64,
                                                .max_seconds = 1,
                                                .max_work = 1000000};
  struct tombola_grammar_source source = {
      .struct_size = sizeof source, .kind = kind, .text = t->bytes, .length = t->length, .limits = &limits};
  struct tombola_error error = {0};
  tombola_grammar *grammar = NULL;
  struct meter meter;
  meter_start(&meter);
  const double start = seconds();
  const enum tombola_status status =
      tombola_grammar_new(&source, trie, &meter.allocator, &grammar, NULL, &error);
  const double compiled = seconds();
  if (grammar) look_around(grammar, name);
  const double ended = seconds();
  tombola_grammar_free(grammar);
  if (getenv(verbose))
    fprintf(stderr, "%-24s %6zu kB: %5.2f s, %5.2f s, %5.1f MiB, %s %s\n", name, t->length / 1024,
            compiled - start, ended - compiled, (double)meter.peak / (double)MIB, tombola_status_name(status),
            error.message);
  assert_int_equal(meter.inner.live, 0);
  if (meter.peak > 66 * MIB + 16 * t->length) fail_msg("%s: %zu bytes", name, meter.peak);
  if (compiled - start > 2.0 * SLOW) fail_msg("%s: %.2f s to compile", name, compiled - start);
  if (ended - compiled > 2.0 * SLOW) fail_msg("%s: %.2f s to read", name, ended - compiled);
  if (status == TOMBOLA_OUT_OF_RANGE && !names_limit(error.message))
    fail_msg("%s: which limit? %s", name, error.message);
  if (expected != 1 && (int)status != expected)
    fail_msg("%s: %s, not %s: %s", name, tombola_status_name(status),
             tombola_status_name((enum tombola_status)expected), error.message);
  free(t->bytes);
  *t = (struct text){0};
}

#define ANY 1

static void deep_schemas(void **state) {
  (void)state;
  struct text t = {0};
  nest(&t, "[", "", "]", 100000);
  try("brackets", SCHEMA, &t, TOMBOLA_FORMAT);
  nest(&t, "{\"not\":", "{}", "}", 100000);
  try("not", SCHEMA, &t, TOMBOLA_OUT_OF_RANGE);
  nest(&t, "{\"properties\":{\"a\":", "{}", "}}", 100000);
  try("properties", SCHEMA, &t, TOMBOLA_OUT_OF_RANGE);
  nest(&t, "{\"default\":[", "", "]}", 1);
  try("default", SCHEMA, &t, TOMBOLA_OK);
  put(&t, "{\"const\":", 1);
  nest(&t, "[", "1", "]", 100000);
  put(&t, "}", 1);
  try("const", SCHEMA, &t, TOMBOLA_OUT_OF_RANGE);
  put(&t, "{\"enum\":[", 1);
  nest(&t, "{\"a\":", "1", "}", 250);
  put(&t, "]}", 1);
  try("deep enum", SCHEMA, &t, ANY);
  nest(&t, "{\"items\":", "{}", "}", 120);
  try("items", SCHEMA, &t, ANY);
  nest(&t, "{\"if\":", "{}", ",\"then\":{\"minimum\":3},\"else\":{\"maxLength\":3}}", 60);
  try("if", SCHEMA, &t, ANY);
  nest(&t, "{\"oneOf\":[{\"type\":\"string\"},", "{}", "]}", 100);
  try("oneOf", SCHEMA, &t, ANY);
  put(&t, "[", 100000);
  try("open brackets", SCHEMA, &t, ANY);
  nest(&t, "{\"unevaluatedProperties\":{\"allOf\":[", "{}", "]}}", 100);
  try("unevaluated", SCHEMA, &t, ANY);
  put(&t,
      "{\"$defs\":{\"a\":{\"unevaluatedProperties\":false,\"$ref\":\"#/$defs/a\"}},\"$ref\":\"#/$defs/a\"}",
      1);
  try("unevaluated in a circle", SCHEMA, &t, ANY);
}

static void products(void **state) {
  (void)state;
  struct text t = {0};
  put(&t, "{\"allOf\":[true", 1);
  put(&t, ",{\"anyOf\":[{\"required\":[\"a%\"]},{\"required\":[\"b%\"]}]}", 40);
  put(&t, "]}", 1);
  try("allOf anyOf", SCHEMA, &t, ANY);
  put(&t, "{\"type\":\"object\",\"allOf\":[true", 1);
  put(&t, ",{\"oneOf\":[{\"required\":[\"a%\"]},{\"required\":[\"b%\"]},{\"required\":[\"c%\"]}]}", 40);
  put(&t, "]}", 1);
  try("allOf oneOf", SCHEMA, &t, ANY);
  put(&t, "{\"oneOf\":[false", 1);
  put(&t, ",{\"properties\":{\"a%\":{\"type\":\"string\"}}}", 300);
  put(&t, "]}", 1);
  try("oneOf many", SCHEMA, &t, ANY);
  put(&t, "{\"type\":\"array\",\"allOf\":[true", 1);
  put(&t, ",{\"contains\":{\"multipleOf\":1.%}}", 60);
  put(&t, "]}", 1);
  try("contains", SCHEMA, &t, ANY);
  put(&t, "{\"type\":\"object\",\"allOf\":[true", 1);
  put(&t, ",{\"patternProperties\":{\"a.{%}b\":{\"minimum\":%}}}", 60);
  put(&t, "]}", 1);
  try("patternProperties", SCHEMA, &t, ANY);
  put(&t, "{\"type\":\"string\",\"allOf\":[true", 1);
  put(&t, ",{\"pattern\":\"a.{%}b\"}", 40);
  put(&t, "]}", 1);
  try("patterns", SCHEMA, &t, ANY);
  put(&t, "{\"type\":\"object\",\"dependentRequired\":{\"x\":[]", 1);
  put(&t, ",\"a%\":[\"b%\"]", 5000);
  put(&t, "}}", 1);
  try("dependentRequired", SCHEMA, &t, ANY);
  put(&t, "{\"type\":\"number\",\"allOf\":[true", 1);
  put(&t, ",{\"anyOf\":[{\"multipleOf\":3%},{\"minimum\":1%},{\"not\":{\"multipleOf\":7%}}]}", 40);
  put(&t, "]}", 1);
  try("numbers", SCHEMA, &t, ANY);
  put(&t, "{\"type\":\"object\",\"allOf\":[true", 1);
  put(&t,
      ",{\"if\":{\"properties\":{\"a%\":{\"const\":1}}},\"then\":{\"required\":[\"b%\"]},\"else\":{"
      "\"minProperties\":%}}",
      40);
  put(&t, "]}", 1);
  try("if then else", SCHEMA, &t, ANY);
  put(&t, "{\"type\":\"object\",\"allOf\":[true", 1);
  put(&t,
      ",{\"if\":{\"properties\":{\"a\":{\"const\":%}},\"required\":[\"a\"]},\"then\":{\"required\":[\"b%\"]}"
      "}",
      40);
  put(&t, "]}", 1);
  try("if then of one property", SCHEMA, &t, TOMBOLA_OK);
  put(&t, "{\"type\":\"object\",\"required\":[\"a\"],\"properties\":{\"a\":{}},\"oneOf\":[false", 1);
  put(&t, ",{\"properties\":{\"a\":{\"const\":%},\"b%\":{\"type\":\"integer\"}}}", 40);
  put(&t, "]}", 1);
  try("one of, told apart from outside", SCHEMA, &t, TOMBOLA_OK);
}

static void large(void **state) {
  (void)state;
  struct text t = {0};
  put(&t, "{\"enum\":[-1", 1);
  put(&t, ",%", 100000);
  put(&t, "]}", 1);
  try("enum of numbers", SCHEMA, &t, ANY);
  put(&t, "{\"enum\":[\"x\"", 1);
  put(&t, ",\"a value %\"", 100000);
  put(&t, "]}", 1);
  try("enum of strings", SCHEMA, &t, ANY);
  put(&t, "{\"enum\":[{}", 1);
  put(&t, ",{\"a\":%,\"b\":[%]}", 20000);
  put(&t, "]}", 1);
  try("enum of objects", SCHEMA, &t, ANY);
  put(&t, "{\"not\":{\"enum\":[-1", 1);
  put(&t, ",%", 20000);
  put(&t, "]}}", 1);
  try("not enum", SCHEMA, &t, ANY);
  put(&t, "{\"type\":\"object\",\"properties\":{\"x\":{}", 1);
  put(&t, ",\"a%\":{\"type\":\"integer\"}", 20000);
  put(&t, "}}", 1);
  try("many properties", SCHEMA, &t, ANY);
  put(&t, "{\"type\":\"object\",\"properties\":{\"x\":{}", 1);
  put(&t, ",\"a%\":{\"minimum\":%}", 3000);
  put(&t, "},\"required\":[\"x\"", 1);
  put(&t, ",\"a%\"", 3000);
  put(&t, "]}", 1);
  try("many required", SCHEMA, &t, ANY);
  put(&t, "{\"anyOf\":[false", 1);
  put(&t, ",{\"type\":\"object\",\"properties\":{\"a%\":{\"const\":%}},\"required\":[\"a%\"]}", 2000);
  put(&t, "]}", 1);
  try("many anyOf", SCHEMA, &t, ANY);
  put(&t, "{\"prefixItems\":[true", 1);
  put(&t, ",{\"minimum\":%}", 20000);
  put(&t, "],\"minItems\":20000}", 1);
  try("prefixItems", SCHEMA, &t, ANY);
  put(&t, "{\"const\":\"", 1);
  put(&t, "long ", 100000);
  put(&t, "\"}", 1);
  try("long const", SCHEMA, &t, ANY);
  put(&t, "{\"properties\":{\"", 1);
  put(&t, "long ", 100000);
  put(&t, "\":{}}}", 1);
  try("long name", SCHEMA, &t, ANY);
  put(&t, "{\"minItems\":4000000000,\"minLength\":4000000000,\"type\":[\"array\",\"string\"]}", 1);
  try("large counts", SCHEMA, &t, ANY);
  put(&t, "{\"type\":\"array\",\"uniqueItems\":true,\"minItems\":100000,\"items\":{\"type\":\"integer\"}}",
      1);
  try("many unique", SCHEMA, &t, ANY);
  put(&t, "{\"type\":\"object\",\"minProperties\":100000,\"propertyNames\":{\"pattern\":\"^[ab]*$\"}}", 1);
  try("minProperties", SCHEMA, &t, ANY);
  put(&t, "{\"type\":\"array\",\"contains\":{\"type\":\"integer\"},\"minContains\":100000}", 1);
  try("minContains", SCHEMA, &t, ANY);
}

static void numbers(void **state) {
  (void)state;
  struct text t = {0};
  put(&t, "{\"minimum\":1e999999999,\"type\":\"number\"}", 1);
  try("large minimum", SCHEMA, &t, ANY);
  put(&t, "{\"maximum\":-1e-999999999999999999999,\"type\":\"number\"}", 1);
  try("small maximum", SCHEMA, &t, ANY);
  put(&t, "{\"minimum\":1e999999999,\"maximum\":1e1000000000,\"multipleOf\":7,\"type\":\"number\"}", 1);
  try("large multiples", SCHEMA, &t, ANY);
  put(&t, "{\"multipleOf\":1e-999999,\"type\":\"number\"}", 1);
  try("small multipleOf", SCHEMA, &t, ANY);
  put(&t, "{\"multipleOf\":1", 1);
  put(&t, "7", 100000);
  put(&t, ",\"type\":\"number\"}", 1);
  try("long multipleOf", SCHEMA, &t, ANY);
  put(&t, "{\"minimum\":1", 1);
  put(&t, "7", 100000);
  put(&t, ",\"type\":\"integer\"}", 1);
  try("long minimum", SCHEMA, &t, ANY);
  put(&t, "{\"const\":1.", 1);
  put(&t, "7", 100000);
  put(&t, "}", 1);
  try("long const", SCHEMA, &t, ANY);
  put(&t, "{\"type\":\"integer\",\"allOf\":[true", 1);
  put(&t, ",{\"multipleOf\":1%1}", 200);
  put(&t, "]}", 1);
  try("many multipleOf", SCHEMA, &t, ANY);
  put(&t, "{\"type\":\"integer\",\"minimum\":0,\"maximum\":1e30,\"allOf\":[true", 1);
  put(&t, ",{\"not\":{\"multipleOf\":1%1}}", 200);
  put(&t, "]}", 1);
  try("many not multipleOf", SCHEMA, &t, ANY);
  put(&t, "{\"maxLength\":1e400,\"minItems\":-0.0,\"maxItems\":1", 1);
  put(&t, "0", 1000);
  put(&t, "}", 1);
  try("count of many digits", SCHEMA, &t, ANY);
}

static void references(void **state) {
  (void)state;
  struct text t = {0};
  put(&t, "{\"$ref\":\"#\"}", 1);
  try("cycle in place", SCHEMA, &t, ANY);
  put(&t,
      "{\"allOf\":[{\"$ref\":\"#/$defs/"
      "a\"}],\"$defs\":{\"a\":{\"anyOf\":[{\"$ref\":\"#\"},{\"not\":{\"$ref\":\"#/$defs/a\"}}]}}}",
      1);
  try("cycle through not", SCHEMA, &t, ANY);
  put(&t, "{\"$ref\":\"#/$defs/a0\",\"$defs\":{\"end\":{}", 1);
  for (size_t i = 0; i < 40; i++) {
    char piece[200];
    snprintf(
        piece, sizeof piece,
        ",\"a%zu\":{\"properties\":{\"x\":{\"$ref\":\"#/$defs/a%zu\"},\"y\":{\"$ref\":\"#/$defs/a%zu\"}}}", i,
        i + 1, i + 1);
    put(&t, piece, 1);
  }
  put(&t, ",\"a40\":{\"type\":\"integer\"}}}", 1);
  try("bomb", SCHEMA, &t, TOMBOLA_OK);
  put(&t, "{\"$ref\":\"#/$defs/a0\",\"$defs\":{\"end\":{}", 1);
  for (size_t i = 0; i < 40; i++) {
    char piece[200];
    snprintf(piece, sizeof piece,
             ",\"a%zu\":{\"allOf\":[{\"$ref\":\"#/$defs/a%zu\"},{\"anyOf\":[{\"$ref\":\"#/$defs/"
             "a%zu\"},{\"minimum\":%zu}]}]}",
             i, i + 1, i + 1, i);
    put(&t, piece, 1);
  }
  put(&t, ",\"a40\":{\"type\":\"integer\"}}}", 1);
  try("bomb in place", SCHEMA, &t, ANY);
  put(&t, "{\"$ref\":\"#/$defs/a0\",\"$defs\":{\"end\":{}", 1);
  for (size_t i = 0; i < 3000; i++) {
    char piece[100];
    snprintf(piece, sizeof piece, ",\"a%zu\":{\"$ref\":\"#/$defs/a%zu\"}", i, i + 1);
    put(&t, piece, 1);
  }
  put(&t, ",\"a3000\":{\"type\":\"integer\"}}}", 1);
  try("chain", SCHEMA, &t, ANY);
  put(&t, "{\"properties\":{\"a\":true", 1);
  put(&t, ",\"a%\":{\"$ref\":\"#\"}", 5000);
  put(&t, "}}", 1);
  try("many", SCHEMA, &t, TOMBOLA_OUT_OF_RANGE);
  put(&t, "{\"type\":\"array\",\"items\":{\"$ref\":\"#\"},\"minItems\":1}", 1);
  try("endless", SCHEMA, &t, TOMBOLA_NO_CANDIDATE);
  put(&t, "{\"$ref\":\"#", 1);
  put(&t, "/a", 100000);
  put(&t, "\"}", 1);
  try("long pointer", SCHEMA, &t, ANY);
}

static void expressions(void **state) {
  (void)state;
  static const char *const texts[] = {"(a*)*b",
                                      "(a|aa)*",
                                      "((a|aa){50}){50}",
                                      "(a|aa){1000}b",
                                      "(.*a.{20})",
                                      ".*a.{200}b.*c.{200}",
                                      "(.*a.{60}){3}",
                                      "a{1000000000}",
                                      "((a{1000}){1000}){1000}",
                                      "(a{0,1000}){0,1000}b",
                                      "a{99999999999999999999}",
                                      "(\\p{L}|\\p{N}|\\p{Lu}|\\P{Ll}|\\p{S}){1,200}",
                                      "(\\p{L}+\\p{N}+)*\\P{Z}",
                                      "((((((a*)*)*)*)*)*)*b",
                                      "(a?){200}a{200}",
                                      "(x+x+)+y",
                                      "(?=.*a)(?=.*b)(?=.*c)(?=.*d)(?=.*e)(?=.*f)(?=.*g)(?=.*h).{8,}",
                                      "(?!.*aa)(?!.*bb)(?!.*cc)(?!.*dd).{200}",
                                      "(\\b.){60}",
                                      "[^a]{65535}",
                                      "(.{0,300}a){20}",
                                      "((a|b|c){3,700}d){3,700}"};
  struct text t = {0};
  for (size_t i = 0; i < TOMBOLA__COUNT(texts); i++) {
    put(&t, texts[i], 1);
    try(texts[i], REGEX, &t, ANY);
    if (strchr(texts[i], '\\')) continue;
    put(&t, "{\"type\":\"string\",\"minLength\":3,\"pattern\":\"", 1);
    put(&t, texts[i], 1);
    put(&t, "\",\"not\":{\"pattern\":\"b.{9}$\"}}", 1);
    try(texts[i], SCHEMA, &t, ANY);
  }
}

static void long_expressions(void **state) {
  (void)state;
  struct text t = {0};
  nest(&t, "(", "a", ")*", 100000);
  try("deep groups", REGEX, &t, TOMBOLA_OUT_OF_RANGE);
  nest(&t, "(?=", "a", ")", 200);
  try("deep look-ahead", REGEX, &t, ANY);
  nest(&t, "(?!a|", "b", ")a?", 60);
  try("deep negation", REGEX, &t, ANY);
  put(&t, "abcdefghij", 100000);
  try("long literal", REGEX, &t, ANY);
  put(&t, "x", 1);
  put(&t, "|word%", 20000);
  try("many words", REGEX, &t, ANY);
  put(&t, "x", 1);
  put(&t, "|.*word%.*", 300);
  try("many searches", REGEX, &t, ANY);
  put(&t, "[", 1);
  put(&t, "a-zb-y", 50000);
  put(&t, "]", 1);
  try("long class", REGEX, &t, ANY);
  put(&t, "a*", 20000);
  try("many stars", REGEX, &t, ANY);
  put(&t, "(a|b)?", 5000);
  try("many optional", REGEX, &t, ANY);
  put(&t, "^", 100000);
  try("many anchors", REGEX, &t, ANY);
  put(&t, "\\u{", 100000);
  try("open escapes", REGEX, &t, TOMBOLA_FORMAT);
}

static void grammars(void **state) {
  (void)state;
  struct text t = {0};
  put(&t, "root ::= r0 | r99999\n", 1);
  put(&t, "r% ::= \"a%\" | \"b\"\n", 100000);
  try("many rules", GBNF, &t, ANY);
  put(&t, "root ::= r0\n", 1);
  for (size_t i = 0; i < 20000; i++) {
    char piece[80];
    snprintf(piece, sizeof piece, "r%zu ::= r%zu\n", i, i + 1);
    put(&t, piece, 1);
  }
  put(&t, "r20000 ::= \"a\"\n", 1);
  try("chain of rules", GBNF, &t, ANY);
  put(&t, "root ::= ", 1);
  nest(&t, "(", "\"a\"", ")", 100000);
  try("deep groups", GBNF, &t, TOMBOLA_OUT_OF_RANGE);
  put(&t, "root ::= \"a\" | root root", 1);
  try("left recursion", GBNF, &t, TOMBOLA_UNSUPPORTED);
  put(&t, "root ::= \"a\" root root | \"a\"", 1);
  try("ambiguous", GBNF, &t, ANY);
  put(&t, "root ::= a | b\na ::= \"a\" a \"a\" | \"a\" a | \"a\"\nb ::= \"a\" b b | \"a\" a | \"\"", 1);
  try("more ambiguous", GBNF, &t, ANY);
  put(&t, "root ::= (((\"a\"{0,1000}){0,1000}){0,1000}){0,1000}", 1);
  try("repeats", GBNF, &t, ANY);
  put(&t, "root ::= x{1000000000}\nx ::= \"a\" | \"b\" x", 1);
  try("a repeat", GBNF, &t, ANY);
  put(&t, "root ::= \"", 1);
  put(&t, "long ", 100000);
  put(&t, "\"", 1);
  try("long text", GBNF, &t, ANY);
  put(&t, "root ::= a0\n", 1);
  for (size_t i = 0; i < 40; i++) {
    char piece[80];
    snprintf(piece, sizeof piece, "a%zu ::= a%zu a%zu\n", i, i + 1, i + 1);
    put(&t, piece, 1);
  }
  put(&t, "a40 ::= \"a\" | \"b\" a40\n", 1);
  try("doubling", GBNF, &t, ANY);
}

/* Many readings of one text: what may be empty, may be repeated, and begins or ends at many places at once. */
static void ambiguous_grammars(void **state) {
  (void)state;
  static const char x[] = "\nx ::= \"a\" x? | \"b\" root";
  struct text t = {0};
  put(&t, "root ::= (x{0,1000}){0,1000}", 1);
  put(&t, x, 1);
  try("repeats of repeats", GBNF, &t, ANY);
  put(&t, "root ::= (((x{0,1000}){0,1000}){0,1000}){0,1000}", 1);
  put(&t, x, 1);
  try("repeats of those", GBNF, &t, ANY);
  put(&t, "root ::= ((x{7,1000}){5,1000}){3,1000}", 1);
  put(&t, x, 1);
  try("repeats with a least", GBNF, &t, ANY);
  put(&t, "root ::= ((x*)*)*", 1);
  put(&t, x, 1);
  try("stars", GBNF, &t, ANY);
  put(&t, "root ::= ", 1);
  put(&t, "x? ", 3000);
  put(&t, x, 1);
  try("optional", GBNF, &t, ANY);
  put(&t, "root ::= ", 1);
  put(&t, "x? y? ", 1500);
  put(&t, x, 1);
  put(&t, "\ny ::= \"a\" | \"c\" y", 1);
  try("optional, of two kinds", GBNF, &t, ANY);
  put(&t, "root ::= ", 1);
  put(&t, "x{0,9} ", 3000);
  put(&t, x, 1);
  try("optional repeats", GBNF, &t, ANY);
  put(&t, "root ::= \"x\"", 1);
  put(&t, " | \"a%\" root", 20000);
  try("alternatives", GBNF, &t, ANY);
  put(&t, "root ::= \"x\"", 1);
  put(&t, " | r%", 20000);
  for (size_t i = 0; i < 20000; i++) {
    char piece[80];
    snprintf(piece, sizeof piece, "\nr%zu ::= \"a%zu\" root?", i, i);
    put(&t, piece, 1);
  }
  try("alternatives of rules", GBNF, &t, ANY);
}

static void odd_bytes(void **state) {
  (void)state;
  struct text t = {0};
  put_bytes(&t, "{\"a\0b\":1}", 9);
  try("NUL in a schema", SCHEMA, &t, TOMBOLA_FORMAT);
  put(&t, "{\"const\":\"a\\u0000b\",\"pattern\":\"\\u0000\"}", 1);
  try("NUL escaped", SCHEMA, &t, TOMBOLA_OK);
  put(&t, "{\"const\":\"\xC3\"}", 1);
  try("half a character", SCHEMA, &t, TOMBOLA_FORMAT);
  put(&t, "{\"const\":\"\\ud800\"}", 1);
  try("half a pair", SCHEMA, &t, TOMBOLA_FORMAT);
  put(&t, "{\"pattern\":\"\\ud800\"}", 1);
  try("half a pair in a pattern", SCHEMA, &t, TOMBOLA_FORMAT);
  put(&t, "\xED\xA0\x80", 1);
  try("a surrogate", REGEX, &t, TOMBOLA_FORMAT);
  put_bytes(&t, "a\0b", 3);
  try("NUL in an expression", REGEX, &t, TOMBOLA_OK);
  put(&t, "root ::= \"\xFF\"", 1);
  try("no UTF-8 in a grammar", GBNF, &t, ANY);
  put_bytes(&t, "root ::= \"a\"\0", 13);
  try("NUL in a grammar", GBNF, &t, ANY);
  put(&t, "\xEF\xBB\xBF{}", 1);
  try("a byte-order mark", SCHEMA, &t, ANY);
  put(&t, "", 1);
  put_bytes(&t, "", 0);
  try("nothing", SCHEMA, &t, TOMBOLA_FORMAT);
}

static void mixes(void **state) {
  (void)state;
  enum { N = 4096 };
  static char triggers[N + 1][16];
  static struct tombola_mix_rule rules[N + 1];
  for (size_t i = 0; i <= N; i++) {
    const int n = snprintf(triggers[i], sizeof triggers[i], "<%zu>", i);
    rules[i] = (struct tombola_mix_rule){.trigger = triggers[i],
                                         .trigger_length = (size_t)n,
                                         .kind = TOMBOLA_GRAMMAR_JSON_OBJECT,
                                         .end = "</t>",
                                         .end_length = 4};
  }
  struct tombola_grammar_source source = {
      .struct_size = sizeof source, .kind = TOMBOLA_GRAMMAR_MIX, .rules = rules, .n_rules = 2000};
  const double start = seconds();
  tombola_grammar *const grammar = support_grammar(&source, trie);
  look_around(grammar, "mix");
  tombola_grammar_free(grammar);
  assert_true(seconds() - start < 4.0 * SLOW);
  source.n_rules = N + 1;
  struct tombola_error error = {0};
  tombola_grammar *none = NULL;
  assert_int_equal(tombola_grammar_new(&source, trie, NULL, &none, NULL, &error), TOMBOLA_OUT_OF_RANGE);
  assert_non_null(strstr(error.message, "4096"));
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(deep_schemas),     cmocka_unit_test(products),   cmocka_unit_test(large),
      cmocka_unit_test(numbers),          cmocka_unit_test(references), cmocka_unit_test(expressions),
      cmocka_unit_test(long_expressions), cmocka_unit_test(grammars),   cmocka_unit_test(ambiguous_grammars),
      cmocka_unit_test(odd_bytes),        cmocka_unit_test(mixes),
  };
  return run_limited(argc, argv, tests, TOMBOLA__COUNT(tests));
}
