/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions as languages: what a pattern accepts and rejects, what is refused and where. Case D06. */
#include "store_group.h"

#include <stdlib.h>

enum { SEARCH = TOMBOLA__REGEX_SEARCH, WHOLE = TOMBOLA__REGEX_WHOLE };

struct row {
  const char *pattern;
  int mode;
  const char *accepted[8], *rejected[8];
};

static void check(const struct row *row) {
  struct tombola_error error = {0};
  tombola__lang lang;
  if (tombola__regex(&store, row->pattern, strlen(row->pattern), (enum tombola__regex_mode)row->mode, &lang,
                     &error))
    fail_msg("%s: %s", row->pattern, error.message);
  check_texts(row->pattern, lang, row->accepted, row->rejected, 8);
}

static void check_all(const struct row *rows, size_t n) {
  for (size_t i = 0; i < n; i++)
    check(&rows[i]);
}

/* D06: a pattern is a search unless it says otherwise. */
static void case_d06(void **state) {
  (void)state;
  static const struct row rows[] = {
      {"b+", SEARCH, {"abbc", "b"}, {"ac", ""}},
      {"^ab$", SEARCH, {"ab"}, {"xab", "abx"}},
      {"^ab", SEARCH, {"abx"}, {"xab"}},
      {"^https:\\/\\/x$", SEARCH, {"https://x"}, {"https:\\/\\/x"}},
      {"^\"$", SEARCH, {"\""}, {"", "\"\""}},
      {"^[0-9]{2}-\\d$", SEARCH, {"12-3"}, {"1-3", "12-d"}},
  };
  check_all(rows, TOMBOLA__COUNT(rows));
}

static void syntax(void **state) {
  (void)state;
  static const struct row rows[] = {
      {"", WHOLE, {""}, {"a"}},
      {"", SEARCH, {"", "a"}, {NULL}},
      {"a|", WHOLE, {"a", ""}, {"aa"}},
      {"(|a)b", WHOLE, {"b", "ab"}, {"a"}},
      {"a*?b+?c??", WHOLE, {"b", "aabbc"}, {"", "ac"}},
      {"a{2}", WHOLE, {"aa"}, {"a", "aaa"}},
      {"a{2,}", WHOLE, {"aa", "aaaaa"}, {"a"}},
      {"a{1,3}?", WHOLE, {"a", "aaa"}, {"", "aaaa"}},
      {"a{0}", WHOLE, {""}, {"a"}},
      {"(ab){0,2147483647}", WHOLE, {"", "abab"}, {"aba"}},
      {"(?:ab)+(?<year>c)", WHOLE, {"ababc"}, {"abab", "c"}},
      {".",
       WHOLE,
       {"a", "\xC3\xA9", "\xF0\x9F\x98\x80", "\xC2\x85"},
       {"\n", "\r", "\xE2\x80\xA8", "\xE2\x80\xA9", "ab", ""}},
      {"foo|bar|baz|\xC3\xA9", WHOLE, {"foo", "bar", "baz", "\xC3\xA9"}, {"fo", "fbar", "ba", "e"}},
      {"(?:foo|bar)x|y", WHOLE, {"foox", "barx", "y"}, {"foo", "bary"}},
      {"\\(\\)\\[\\]\\{\\}\\^\\$\\.\\*\\+\\?\\|\\\\\\/", WHOLE, {"()[]{}^$.*+?|\\/"}, {""}},
      {"\\-\\_\\\"\\@\\'\\ \\#", WHOLE, {"-_\"@' #"}, {""}},
      {"}]{a}", WHOLE, {"}]{a}"}, {"a"}},
      {"\\t\\n\\v\\f\\r\\cJ\\cj", WHOLE, {"\t\n\v\f\r\n\n"}, {""}},
      {"\\x41\\u0042\\u{43}\\u{01F600}\\ud83d\\ude00",
       WHOLE,
       {"ABC\xF0\x9F\x98\x80\xF0\x9F\x98\x80"},
       {"ABC"}},
      {"\xF0\x9F\x98\x80{2}", WHOLE, {"\xF0\x9F\x98\x80\xF0\x9F\x98\x80"}, {"\xF0\x9F\x98\x80"}},
      {"\\ud83d", SEARCH, {NULL}, {"", "a", "\xF0\x9F\x98\x80"}}, /* no text holds half a pair */
  };
  check_all(rows, TOMBOLA__COUNT(rows));
}

static void classes(void **state) {
  (void)state;
  static const struct row rows[] = {
      {"[a-cx]", WHOLE, {"a", "b", "c", "x"}, {"d", "w", "", "ab"}},
      {"[^a-cx]", WHOLE, {"d", "w", "\n", "\xF0\x9F\x98\x80"}, {"a", "b", "c", "x", ""}},
      {"[^zab]", WHOLE, {"c", "y"}, {"a", "b", "z"}},
      {"[^c-fa-db]", WHOLE, {"g", "`"}, {"a", "b", "c", "d", "e", "f"}},
      {"[]", SEARCH, {NULL}, {"", "a"}},
      {"[^]", WHOLE, {"\n", "a"}, {"", "ab"}},
      {"[-a]", WHOLE, {"-", "a"}, {"b"}},
      {"[a-]", WHOLE, {"-", "a"}, {"b"}},
      {"[\\]\\\\^[&]", WHOLE, {"]", "\\", "^", "[", "&"}, {"a"}},
      {"[\\b]", WHOLE, {"\b"}, {"b"}},
      {"[\\w-.]+", WHOLE, {"a-b.c", "_"}, {"/", ","}},
      {"[+-\\d]", WHOLE, {"+", "-", "0"}, {",", "."}},
      {"\\d\\D",
       WHOLE,
       {"0a", "9\xD9\xA0"},
       {"00", "\xD9\xA0"
              "0"}},
      {"\\w\\W", WHOLE, {"a-", "Z\xC3\xA9", "_ ", "0/"}, {"aa", "\xC3\xA9-"}},
      {"\\s",
       WHOLE,
       {" ", "\t", "\v", "\xC2\xA0", "\xE1\x9A\x80", "\xE2\x80\xA9", "\xEF\xBB\xBF"},
       {"a", "\xC2\x85", "\xE2\x80\x8B"}},
      {"\\S", WHOLE, {"a", "\xC2\x85", "\xE2\x80\x8B"}, {" ", "\n", "\xE3\x80\x80", "\xEF\xBB\xBF"}},
      {"[^\\d\\s]", WHOLE, {"a", "_"}, {"0", " "}},
      {"[\\x41-\\u{43}]", WHOLE, {"A", "C"}, {"D"}},
  };
  check_all(rows, TOMBOLA__COUNT(rows));
}

static void properties(void **state) {
  (void)state;
  static const struct row rows[] = {
      {"\\p{L}", WHOLE, {"a", "\xC3\x89", "\xE6\xBC\xA2", "\xCA\xB0"}, {"0", "_", "\xCC\x81"}},
      {"\\p{Letter}cole",
       SEARCH,
       {"l'\xC3\xA9"
        "cole"},
       {"cole", "L'\xC3\x89"
                "COLE"}},
      {"\\P{L}", WHOLE, {"0", "_"}, {"a"}},
      {"\\p{Lu}\\p{gc=Ll}", WHOLE, {"Aa", "\xC3\x89\xC3\xA9"}, {"aA"}},
      {"\\p{General_Category=Decimal_Number}", WHOLE, {"7", "\xD9\xA0"}, {"\xC2\xB2", "a"}},
      {"^\\p{digit}+$", SEARCH, {"42", "\xE0\xA7\xAA\xE0\xA7\xA8"}, {"-%#"}},
      {"[^\\P{Lu}B]", WHOLE, {"A", "C"}, {"B", "a"}},
      {"\\p{Any}", WHOLE, {"a", "\xF4\x8F\xBF\xBF"}, {""}},
      {"\\p{ASCII}", WHOLE, {"a", "\x7F"}, {"\xC2\x80"}},
      {"\\p{Assigned}", WHOLE, {"a"}, {"\xCD\xB8"}}, /* U+0378 */
      {"\\p{Uppercase}",
       WHOLE,
       {"A", "\xE2\x85\xA0"},
       {"a", "\xC7\x85"}}, /* Roman one, but not a titlecase letter */
      {"\\p{Lower}", WHOLE, {"a", "\xC2\xAA"}, {"A"}},
      {"\\p{White_Space}", WHOLE, {" ", "\xC2\x85"}, {"\x1C", "\xEF\xBB\xBF"}},
      {"\\p{Sc}\\p{P}\\p{Zs}\\p{Cc}", WHOLE, {"\xE2\x82\xAC! \t"}, {"a! \t"}},
      {"\\p{Cs}", SEARCH, {NULL}, {"", "a"}},
  };
  check_all(rows, TOMBOLA__COUNT(rows));
}

static void anchors(void **state) {
  (void)state;
  static const struct row rows[] = {
      {"^abc$", WHOLE, {"abc"}, {"abc\n", "ab"}},
      {"a?^b", SEARCH, {"b", "bx"}, {"ab", "xb"}},
      {"a?(?:^b|c)", WHOLE, {"b", "c", "ac"}, {"ab", "xc", "aac"}},
      {"a^b", SEARCH, {NULL}, {"ab", "b", "a^b"}},
      {"a$b?", SEARCH, {"a", "xa"}, {"ab"}},
      {"^", SEARCH, {"", "a"}, {NULL}},
      {"$^", SEARCH, {""}, {"a"}},
      {"^a|b$", SEARCH, {"a", "ax", "b", "xb"}, {"xa", "bx"}},
      {"(^|,)a(,|$)", SEARCH, {"a", "x,a", "a,x", "x,a,y"}, {"xa", "ax", "x,ax"}},
      {"(?:^a){1,3}", WHOLE, {"a"}, {"aa", "aaa"}},
      {"(?:^a)*b", SEARCH, {"ab", "b", "xb"}, {"a"}},
      {"(?:^a|b)c", SEARCH, {"ac", "bc", "xbc"}, {"xac"}},
      {"\\bfoo\\b", SEARCH, {"foo", "a foo.", "-foo-"}, {"food", "afoo", "_foo", "foo0"}},
      {"a\\Bb", SEARCH, {"ab", "xaby"}, {"a b", "a"}},
      {"\\B", SEARCH, {"", "ab", " "}, {"a"}},
      {"a\\b", SEARCH, {"a", "a\xC3\xA9"}, {"ab"}}, /* of ASCII only */
      {"\\ba*\\b", SEARCH, {"a", "-aa", "b"}, {"", "--"}},
      {"x\\ba*\\b", WHOLE, {"x"}, {"xa", "xaa"}},
  };
  check_all(rows, TOMBOLA__COUNT(rows));
}

/* In a group that repeats without end $ ends the last round, and ^ begins the first. */
static void anchors_in_repeats(void **state) {
  (void)state;
  static const struct row rows[] = {
      {"^([a-z]+(,|$)){2,}$", SEARCH, {"a,b", "a,b,", "ab,c,d"}, {"a", "a,", "a,,b", ",a,b", "a,b,,"}},
      {"^(/?(\\.\\.|[a-z]*)(/|$))*$", SEARCH, {"", "/", "a", "a/b", "../a/", "//"}, {".", "a/.", "..."}},
      {"(?:^x|y|z$)*", WHOLE, {"", "x", "xyyz", "yy", "z"}, {"yx", "zy", "xx", "zz"}},
      {"(?:^x|y)+", WHOLE, {"x", "y", "xyy"}, {"", "xx", "yx"}},
      {"a(?:^x|y)*", WHOLE, {"a", "ayy"}, {"ax", "axy"}},
      {"(?:y|z$)*a", WHOLE, {"a", "yya"}, {"za", "yza"}},
      {"(?:^x$|y)*", WHOLE, {"", "x", "yyy"}, {"xy", "yx", "xx"}},
      {"(?:(?:^a|b)*,|c$)*", WHOLE, {"", "a,b,c", "bb,,c", "abb,"}, {"b,a,", "c,", "a", "a,ca,"}},
      {"b(?:x|$)*^", SEARCH, {NULL}, {"b", "bx"}},
      {"(?:a|$)*\\bb", SEARCH, {"b", " b"}, {"ab", "a"}},
  };
  check_all(rows, TOMBOLA__COUNT(rows));
}

static void look_ahead(void **state) {
  (void)state;
  static const struct row rows[] = {
      {"^(?=.*\\d)(?=.*[a-z]).{4,}$", SEARCH, {"a123", "1bbb"}, {"aaaa", "1111", "a1"}},
      {"^(?!admin$)\\w+$", SEARCH, {"administrator", "a"}, {"admin", ""}},
      {"a(?=b)", SEARCH, {"ab", "aab"}, {"a", "ac"}},
      {"a(?=b)", WHOLE, {NULL}, {"a", "ab"}},
      {"a(?!b)", SEARCH, {"a", "ac", "aba"}, {"ab", "b"}},
      {"^((?!foo).)*$", SEARCH, {"", "fo", "of", "barfo"}, {"foo", "afoo", "foob", "afo\no"}},
      {"^(?:(?!ab)[a-c]){2,3}$", SEARCH, {"ba", "cca", "aaa"}, {"ab", "a", "bab", "aaaa"}},
      {"^(?:(?=a.)[ab])*$", SEARCH, {""}, {"a", "aa", "ab"}},
      {"(?=(?!b)[ab])\\w", WHOLE, {"a"}, {"b", "c"}},
      {"^(?=a$|b)..?$", SEARCH, {"a", "b", "bx"}, {"ax", "c"}},
      {"(?:a(?=b)b?){2}c", WHOLE, {"ababc"}, {"aabc", "abac"}},
  };
  check_all(rows, TOMBOLA__COUNT(rows));
}

/* ---- what is refused ---- */

struct refused {
  const char *pattern;
  enum tombola_status status;
  size_t offset;
  const char *says;
};

static void check_refused(const struct refused *r) {
  struct tombola_error error = {0};
  tombola__lang lang = TOMBOLA__LANG_ALL;
  const enum tombola_status status =
      tombola__regex(&store, r->pattern, strlen(r->pattern), TOMBOLA__REGEX_SEARCH, &lang, &error);
  if (status != r->status || error.offset != r->offset || !strstr(error.message, r->says))
    fail_msg("%s: %d, byte %zu: %s", r->pattern, (int)status, error.offset, error.message);
  assert_int_equal(error.status, status);
  assert_int_equal(lang, TOMBOLA__LANG_NONE);
  assert_int_equal(store.status, TOMBOLA_OK); /* others may go on */
}

static void syntax_errors(void **state) {
  (void)state;
  static const struct refused rows[] = {
      {"ab(c", TOMBOLA_FORMAT, 2, "isn't closed: (c"},
      {"^(abc]", TOMBOLA_FORMAT, 1, "isn't closed"},
      {"abc)", TOMBOLA_FORMAT, 3, "no group is open"},
      {"x[ab", TOMBOLA_FORMAT, 1, "class isn't closed"},
      {"[a\\]", TOMBOLA_FORMAT, 0, "class isn't closed"},
      {"*a", TOMBOLA_FORMAT, 0, "nothing to repeat"},
      {"a**", TOMBOLA_FORMAT, 2, "nothing to repeat"},
      {"a|+", TOMBOLA_FORMAT, 2, "nothing to repeat"},
      {"({2})", TOMBOLA_FORMAT, 1, "nothing to repeat"},
      {"a++", TOMBOLA_FORMAT, 2, "nothing to repeat"},
      {"^*", TOMBOLA_FORMAT, 1, "assertion"},
      {"(?=a)?", TOMBOLA_FORMAT, 5, "assertion"},
      {"ab{3,2}", TOMBOLA_FORMAT, 2, "out of order"},
      {"a{,2}", TOMBOLA_FORMAT, 1, "least count"},
      {"[b-a]", TOMBOLA_FORMAT, 1, "out of order"},
      {"a\\", TOMBOLA_FORMAT, 1, "backslash"},
      {"\\Z", TOMBOLA_FORMAT, 0, "escape"},
      {"ab\\a", TOMBOLA_FORMAT, 2, "escape"},
      {"\\x4", TOMBOLA_FORMAT, 0, "\\x"},
      {"\\u12", TOMBOLA_FORMAT, 0, "\\u"},
      {"\\u{110000}", TOMBOLA_FORMAT, 0, "10FFFF"},
      {"\\u{}", TOMBOLA_FORMAT, 0, "10FFFF"},
      {"\\c1", TOMBOLA_FORMAT, 0, "\\c"},
      {"\\01", TOMBOLA_FORMAT, 0, "octal"},
      {"[\\1]", TOMBOLA_FORMAT, 1, "escape"},
      {"\\pL", TOMBOLA_FORMAT, 0, "\\p"},
      {"(?P<n>a)", TOMBOLA_FORMAT, 0, "(?<name>"},
      {"(?<1>a)", TOMBOLA_FORMAT, 0, "name"},
      {"(?<>a)", TOMBOLA_FORMAT, 0, "name"},
      {"(?a)", TOMBOLA_FORMAT, 0, "group"},
      {"(?", TOMBOLA_FORMAT, 0, "group"},
      {"\xC3\xA9(", TOMBOLA_FORMAT, 2, "isn't closed"},
      {"a\xFF", TOMBOLA_FORMAT, 1, "UTF-8"},
      {"\xED\xA0\x80", TOMBOLA_FORMAT, 0, "UTF-8"},
  };
  for (size_t i = 0; i < TOMBOLA__COUNT(rows); i++)
    check_refused(&rows[i]);
}

static void unsupported(void **state) {
  (void)state;
  static const struct refused rows[] = {
      {"(a)\\1", TOMBOLA_UNSUPPORTED, 3, "back reference"},
      {"(?<n>a)\\k<n>", TOMBOLA_UNSUPPORTED, 7, "back reference"},
      {"a(?<=a)", TOMBOLA_UNSUPPORTED, 1, "look-behind"},
      {"(?<!a)b", TOMBOLA_UNSUPPORTED, 0, "look-behind"},
      {"(?i)a", TOMBOLA_UNSUPPORTED, 0, "flags"},
      {"(?-i:a)", TOMBOLA_UNSUPPORTED, 0, "flags"},
      {"(?>a)", TOMBOLA_UNSUPPORTED, 0, "atomic"},
      {"\\p{Script=Greek}", TOMBOLA_UNSUPPORTED, 0, "property"},
      {"a\\p{Greek}", TOMBOLA_UNSUPPORTED, 1, "property"},
      {"\\p{lu}", TOMBOLA_UNSUPPORTED, 0, "property"},
      {"\\p{gc=Any}", TOMBOLA_UNSUPPORTED, 0, "property"},
      {"[[:alpha:]]", TOMBOLA_UNSUPPORTED, 1, "POSIX"},
      {"[\\w--[a]]", TOMBOLA_UNSUPPORTED, 3, "set operations"},
      {"[a&&[b]]", TOMBOLA_UNSUPPORTED, 2, "set operations"},
      {"^(?:(?!^b)[ab])*$", TOMBOLA_UNSUPPORTED, 1, "repeats without end"},
      {"^(?:(?!b)[ab])*c", TOMBOLA_UNSUPPORTED, 1, "repeats without end"},
      {"x(?:a(?=[ab]))*b", TOMBOLA_UNSUPPORTED, 1, "repeats without end"},
      {"((?:(?:\\ba?){99}b?){99}c?){99}", TOMBOLA_UNSUPPORTED, 4, "too often"},
      {"a{2147483648}", TOMBOLA_OUT_OF_RANGE, 1, "2147483647"},
      {"a{1,99999999999999999999}", TOMBOLA_OUT_OF_RANGE, 1, "2147483647"},
  };
  for (size_t i = 0; i < TOMBOLA__COUNT(rows); i++)
    check_refused(&rows[i]);
}

/* Hostile patterns end in a status, or soon. */
static void bounds(void **state) {
  (void)state;
  enum { DEEP = 100000 };
  char *const text = malloc(2 * DEEP + 1);
  struct tombola_error error = {0};
  tombola__lang lang;
  memset(text, '(', DEEP);
  memset(text + DEEP, ')', DEEP);
  assert_int_equal(tombola__regex(&store, text, (size_t)2 * DEEP, TOMBOLA__REGEX_WHOLE, &lang, &error),
                   TOMBOLA_OUT_OF_RANGE);
  assert_int_equal(error.offset, store.max_depth);
  for (size_t i = 0; i < DEEP; i++)
    memcpy(text + 2 * i, "a|", 2);
  assert_int_equal(tombola__regex(&store, text, (size_t)2 * DEEP - 1, TOMBOLA__REGEX_WHOLE, &lang, &error),
                   TOMBOLA_OK);
  assert_true(tombola__lang_matches(&store, lang, "a", 1));
  for (size_t i = 0; i < 1000; i++)
    memcpy(text + 3 * i, "(a)", 3); /* side by side is not deep */
  assert_int_equal(tombola__regex(&store, text, 3000, TOMBOLA__REGEX_WHOLE, &lang, &error), TOMBOLA_OK);
  for (size_t i = 0; i < 10; i++)
    memcpy(text + 2 * i, ".?", 2);
  assert_int_equal(tombola__regex(&store, text, 20, TOMBOLA__REGEX_WHOLE, &lang, &error), TOMBOLA_OK);
  assert_true(tombola__lang_matches(&store, lang, "aaaaaaaaaa", 10));
  assert_false(tombola__lang_matches(&store, lang, "aaaaaaaaaaa", 11));
  free(text);
}

/* A failure of the store is what the call returns. */
static void store_fails(void **state) {
  (void)state;
  const struct tombola_grammar_limits limits = {.struct_size = sizeof limits, .max_bytes = 200000};
  struct tombola__store small;
  struct tombola_error error = {0};
  tombola__lang lang = TOMBOLA__LANG_ALL;
  enum { LONG = 100000 };
  char *const text = malloc(LONG);
  memset(text, 'a', LONG);
  assert_int_equal(tombola__store_new(&small, &limits, NULL, &error), TOMBOLA_OK);
  assert_int_equal(tombola__regex(&small, text, LONG, TOMBOLA__REGEX_SEARCH, &lang, &error),
                   TOMBOLA_OUT_OF_RANGE);
  assert_string_equal(error.param, "max_bytes");
  assert_int_equal(small.status, TOMBOLA_OUT_OF_RANGE);
  assert_int_equal(lang, TOMBOLA__LANG_NONE);
  tombola__store_free(&small);
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(case_d06, set_up, tear_down),
      cmocka_unit_test_setup_teardown(syntax, set_up, tear_down),
      cmocka_unit_test_setup_teardown(classes, set_up, tear_down),
      cmocka_unit_test_setup_teardown(properties, set_up, tear_down),
      cmocka_unit_test_setup_teardown(anchors, set_up, tear_down),
      cmocka_unit_test_setup_teardown(anchors_in_repeats, set_up, tear_down),
      cmocka_unit_test_setup_teardown(look_ahead, set_up, tear_down),
      cmocka_unit_test_setup_teardown(syntax_errors, set_up, tear_down),
      cmocka_unit_test_setup_teardown(unsupported, set_up, tear_down),
      cmocka_unit_test_setup_teardown(bounds, set_up, tear_down),
      cmocka_unit_test_setup_teardown(store_fails, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
