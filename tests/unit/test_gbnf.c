/* SPDX-License-Identifier: Apache-2.0 */
/* GBNF: what grammars accept (the kinds of llama.cpp's own tests, and cases D07 and D09), where their errors are, and
 * what many readings of one text cost. */
#include "support.h"

#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "constraint/machine/machine.h"

#define MOST 8

struct reader {
  struct tombola__store store;
  struct tombola__machine *machine;
};

static enum tombola_status start_with(struct reader *r, const char *grammar, size_t length, const char *root,
                                      const struct tombola_grammar_limits *limits,
                                      struct tombola_error *error) {
  struct tombola__program program = {.part = TOMBOLA__RULES};
  r->machine = NULL;
  assert_int_equal(tombola__store_new(&r->store, limits, NULL, NULL), TOMBOLA_OK);
  enum tombola_status status = tombola__gbnf(&r->store, grammar, length, root, NULL, &program.rules, error);
  if (status) return status;
  return tombola__machine_new(&r->store, &program, NULL, &r->machine);
}

static void start(struct reader *r, const char *grammar) {
  struct tombola_error error = {.message = ""};
  const enum tombola_status status = start_with(r, grammar, strlen(grammar), NULL, NULL, &error);
  if (status) print_message("%s\n%s\n", grammar, error.message);
  assert_int_equal(status, TOMBOLA_OK);
}

static void finish(struct reader *r) {
  tombola__machine_free(r->machine);
  tombola__store_free(&r->store);
}

/* How many bytes can be read; goes back. */
static size_t readable(struct reader *r, const char *text, size_t length, bool *whole) {
  size_t n = 0;
  while (n < length && tombola__machine_push(r->machine, (uint8_t)text[n]))
    n++;
  assert_int_equal(r->store.status, TOMBOLA_OK);
  *whole = n == length && tombola__machine_complete(r->machine);
  tombola__machine_pop(r->machine, n);
  return n;
}

/* ---- what grammars accept ---- */

struct worked {
  const char *grammar, *good[MOST], *bad[MOST];
};

static const struct worked worked[] = {
    {"root ::= \"yes\" | \"no\" | \"maybe\" \" \"? \"not\"?",
     {"yes", "no", "maybe", "maybenot", "maybe not"},
     {"", "ye", "yesno", "maybe  not", "mayben"}},
    {"# a comment\nroot ::= sum # and one more\nsum ::= product (\"+\" product)*\nproduct ::= digits\ndigits "
     "::= [0-9]+\n",
     {"7", "1+2", "10+20+30"},
     {"", "+", "1+", "1++2", "1 + 2"}},
    {"root ::= value\n"
     "value ::= digits | name | \"(\" value (\",\" value)* \")\" | name \"(\" value? \")\"\n"
     "digits ::= [0-9]+\nname ::= [a-z_] [a-z0-9_]*",
     {"1", "x", "(1)", "((1),x)", "f()", "f(g(h(1)))", "(f(x),(2,3))"},
     {"", "()", "f(", "f(x))", "(1,)", "f(1,2)", "1x"}},
    {"root ::= a{3} | b{2,} | c{1,2} | d{0,1}\na ::= \"a\"\nb ::= \"b\"\nc ::= \"c\"\nd ::= \"d\"",
     {"", "aaa", "bb", "bbbbb", "c", "cc", "d"},
     {"a", "aa", "aaaa", "b", "ccc", "dd", "ab"}},
    {"root ::= t{2,3} \"!\"\nt ::= \"x\" | \"(\" t \")\"", /* a body that isn't regular is counted in frames */
     {"xx!", "xxx!", "(x)x!", "((x))(x)x!"},
     {"x!", "xxxx!", "(x)!", "xx", "(xx)x!"}},
    {"root ::= t{0,3}\nt ::= \"x\" | \"(\" t \")\"", {"", "x", "x(x)x"}, {"xxxx", "(x", "()"}},
    {"root ::= x{2,3} \".\"\nx ::= (\"(\" x \")\")?",
     {".", "().", "(())()().", "()()."},
     {"()", "()()()().", "(."}},
    {"root ::= t{2}{2}\nt ::= \"x\" | \"(\" t \")\"", {"xxxx", "(x)xxx"}, {"", "xx", "xxx", "xxxxx"}},
    {"root ::= t+? \".\"\nt ::= \"x\" | \"(\" t \")\"", {".", "x.", "xx."}, {"", "x"}},
    {"root ::= t{0} \"a\"\nt ::= \"(\" t \")\" | \"x\"", {"a"}, {"xa", "", "(x)a"}},
    {"root ::= [\\x41-\\x43]+ \"\\u00e9\" \"\\U0001F600\"",
     {"A\xC3\xA9\xF0\x9F\x98\x80"},
     {"D", "Ae", "A\xC3\xA9"}},
    {"root ::= \"\\\"\\\\\\n\\r\\t\\[\\]\\-\"", {"\"\\\n\r\t[]-"}, {"", "\"\\n"}},
    {"root ::= [^\"\\\\\\x00-\\x1F] [a\\-z] [a-] [\\]\\[^]",
     {"x-a]", "\xC3\xA9za^", "'a-["},
     {"\"aa]", "xba]", "xab^", "\n"}},
    {"root ::= . . \"-\" .", {"ab-c", "\xF0\x9F\x98\x80\n-\xC3\xA9"}, {"a-c", "abc-c", "\xC3-c", "ab-\x80"}},
    {"root ::= (\n  \"a\" # the first\n  | \"b\"\n)\n", {"a", "b"}, {"", "ab"}},
    {"root ::= \"a\" |\n  \"b\" |\n\"\"\r\nother::=\"x\"", {"a", "b", ""}, {"x", "ab"}},
    {"root ::= \"a\"\nroot ::= \"b\"", {"b"}, {"a", ""}}, /* the last definition counts */
    {"root ::= \"(\" root \")\" | \"\"", {"", "()", "((()))"}, {"(", ")", "())", "()()"}},
    {"root ::= \"a\" root | \"b\"", {"b", "ab", "aaaab"}, {"", "a", "ba"}},
    {"root ::= \"a\" root root | \"c\"", {"c", "acc", "aaccc", "acacc"}, {"", "a", "ac", "cc", "accc"}},
    {"root ::= pair*\npair ::= (\"a\" pair \"b\")?", {"", "ab", "abab", "aabbab"}, {"a", "ba", "aab", "abb"}},
    {"root ::= x x x\nx ::= \"<\" x \">\" | \"\"", {"", "<>", "<><<>>", "<><><>"}, {"<", "<><><><>", "><"}},
    {"root ::= \"a\" dead | \"b\" dead? \"c\"\ndead ::= \"x\" dead", {"bc"}, {"a", "bx", "b", "ax"}},
    {"under_score ::= \"u\"\nroot ::= under_score 2nd\n2nd ::= \"2\"", {"u2"}, {"u", "2"}},
};

static void check_worked(struct reader *r, const struct worked *w) {
  bool whole;
  for (size_t i = 0; i < MOST && w->good[i]; i++) {
    const size_t n = readable(r, w->good[i], strlen(w->good[i]), &whole);
    if (n < strlen(w->good[i]) || !whole) fail_msg("%s\nrefuses %s at byte %zu", w->grammar, w->good[i], n);
  }
  for (size_t i = 0; i < MOST && w->bad[i]; i++) {
    readable(r, w->bad[i], strlen(w->bad[i]), &whole);
    if (whole) fail_msg("%s\naccepts %s", w->grammar, w->bad[i]);
  }
}

static void grammars_accept_their_texts(void **state) {
  (void)state;
  for (size_t i = 0; i < TOMBOLA__COUNT(worked); i++) {
    struct reader r;
    start(&r, worked[i].grammar);
    check_worked(&r, &worked[i]);
    finish(&r);
  }
}

static void the_first_rule_can_be_named(void **state) {
  (void)state;
  static const char grammar[] = "a ::= \"x\" b\nb ::= \"y\"";
  struct reader r;
  bool whole;
  assert_int_equal(start_with(&r, grammar, sizeof grammar - 1, "a", NULL, NULL), TOMBOLA_OK);
  assert_int_equal(readable(&r, "xy", 2, &whole), 2);
  assert_true(whole);
  finish(&r);
  assert_int_equal(start_with(&r, grammar, sizeof grammar - 1, "b", NULL, NULL), TOMBOLA_OK);
  assert_int_equal(readable(&r, "xy", 2, &whole), 0);
  finish(&r);
}

/* ---- errors ---- */

struct wrong {
  const char *grammar;
  enum tombola_status status;
  size_t offset;
  const char *says;
};

static const struct wrong wrong[] = {
    {"", TOMBOLA_FORMAT, 0, "first rule, root"},
    {"start ::= \"a\"", TOMBOLA_FORMAT, 13, "first rule, root"},
    {"root ::= \"a\" other", TOMBOLA_FORMAT, 13, "no definition of the rule other"},
    {"root ::= \"a\"\nx ::= y", TOMBOLA_FORMAT, 19, "line 2, byte 19: no definition of the rule y"},
    {"root = \"a\"", TOMBOLA_FORMAT, 5, "expected ::="},
    {"root ::= \"a\"\n\n  | \"b\"", TOMBOLA_FORMAT, 16, "line 3, byte 16: expected a rule's name"},
    {"root ::= \"a", TOMBOLA_FORMAT, 11, "expected \""},
    {"root ::= [a", TOMBOLA_FORMAT, 11, "expected ]"},
    {"root ::= [a-", TOMBOLA_FORMAT, 12, "expected ]"},
    {"root ::= []", TOMBOLA_FORMAT, 10, "expected a character in the class"},
    {"root ::= [b-a]", TOMBOLA_FORMAT, 10, "range"},
    {"root ::= (\"a\"", TOMBOLA_FORMAT, 13, "expected )"},
    {"root ::= \"a\")", TOMBOLA_FORMAT, 12, "expected an element"},
    {"root ::= \"\\q\"", TOMBOLA_FORMAT, 11, "escape"},
    {"root ::= \"\\x4\"", TOMBOLA_FORMAT, 13, "2 hexadecimal digits"},
    {"root ::= \"\\u12g4\"", TOMBOLA_FORMAT, 14, "4 hexadecimal digits"},
    {"root ::= \"\\ud800\"", TOMBOLA_FORMAT, 10, "surrogate"},
    {"root ::= \"\\U00110000\"", TOMBOLA_FORMAT, 10, "U+10FFFF"},
    {"root ::= \"\xC3\"", TOMBOLA_FORMAT, 10, "UTF-8"},
    {"root ::= *", TOMBOLA_FORMAT, 9, "in front of"},
    {"root ::= \"a\" | +", TOMBOLA_FORMAT, 15, "in front of"},
    {"root ::= \"a\"{,3}", TOMBOLA_FORMAT, 13, "a number"},
    {"root ::= \"a\"{3", TOMBOLA_FORMAT, 14, "} or ,"},
    {"root ::= \"a\"{3,x}", TOMBOLA_FORMAT, 15, "} or a number"},
    {"root ::= \"a\"{3,2}", TOMBOLA_FORMAT, 13, "upper bound"},
    {"root ::= \"a\"{4294967295}", TOMBOLA_OUT_OF_RANGE, 13, "4294967294"},
    {"root ::= \"a\"{2000000000,2147483647}", TOMBOLA_OUT_OF_RANGE, 13, "max_states"},
    {"root ::= root{1000001,}", TOMBOLA_OUT_OF_RANGE, 14, "max_states"},
    {"root ::= \"a\"{99999999999999999999999}", TOMBOLA_OUT_OF_RANGE, 13, "4294967294"},
    {"root ::= <[1]>", TOMBOLA_UNSUPPORTED, 9, "token"},
    {"root ::= \"a\" !<think>", TOMBOLA_UNSUPPORTED, 13, "token"},
    {"root ::= root \"a\" | \"b\"", TOMBOLA_UNSUPPORTED, 0, "the rule root begins with itself"},
    {"root ::= \"x\" one\none ::= two \"b\"\ntwo ::= \"c\" | one", TOMBOLA_UNSUPPORTED, 13, "the rule one"},
    {"root ::= n n root \"a\" | \"b\"\nn ::= \"n\"?", TOMBOLA_UNSUPPORTED, 0, "the rule root"},
    {"root ::= (root \"a\")* \"b\"", TOMBOLA_UNSUPPORTED, 0, "the rule root"},
    {"root ::= (\"x\"? (root)){2,9} \"b\"", TOMBOLA_UNSUPPORTED, 0, "the rule root"},
    {"root ::= root", TOMBOLA_UNSUPPORTED, 0, "the rule root"},
    {"root ::= \"a\" root", TOMBOLA_NO_CANDIDATE, 0, "no text"},
    {"root ::= \"a\" x\nx ::= \"(\" y\ny ::= \")\" x", TOMBOLA_NO_CANDIDATE, 0, "no text"},
};

static void errors_say_where_and_what(void **state) {
  (void)state;
  for (size_t i = 0; i < TOMBOLA__COUNT(wrong); i++) {
    struct reader r;
    struct tombola_error error = {.message = ""};
    const enum tombola_status status =
        start_with(&r, wrong[i].grammar, strlen(wrong[i].grammar), NULL, NULL, &error);
    if (status != wrong[i].status || error.offset != wrong[i].offset || !strstr(error.message, wrong[i].says))
      fail_msg("%s\n%d at %zu: %s", wrong[i].grammar, (int)status, error.offset, error.message);
    assert_int_equal(error.status, status);
    finish(&r);
  }
}

static void a_nul_is_no_end(void **state) {
  (void)state;
  static const char grammar[] = "root ::= \"a\"\n\0x";
  struct reader r;
  struct tombola_error error;
  assert_int_equal(start_with(&r, grammar, sizeof grammar - 1, NULL, NULL, &error), TOMBOLA_FORMAT);
  assert_int_equal(error.offset, 13);
  finish(&r);
}

/* ---- the worked cases ---- */

static void case_d07_a_hostile_bound_is_cheap(void **state) {
  (void)state;
  static const char *const grammars[] = {
      "root ::= \"a\"{1000000,2147483647}",
      "root ::= t{1000000,2147483647}\nt ::= \"a\" | \"(\" t \")\"",
      "root ::= ((((\"a\"{0,65536}){0,65536}){0,65536}){0,65536}){0,65536}",
  };
  for (size_t i = 0; i < TOMBOLA__COUNT(grammars); i++) {
    struct reader r;
    bool whole;
    const clock_t begun = clock();
    start(&r, grammars[i]);
    assert_int_equal(readable(&r, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 32, &whole), 32);
    assert_int_equal(whole, i == 2);
    assert_true(clock() - begun < CLOCKS_PER_SEC);
    assert_true(r.store.bytes < (size_t)4 << 20);
    finish(&r);
  }
}

/* The bytes of a list of tokens, then which of the tokens may follow. */
static unsigned allowed_after(struct reader *r, const char *const *tokens, const char *before) {
  unsigned allowed = 0;
  bool whole;
  for (size_t i = 0; before[i]; i++)
    assert_true(tombola__machine_push(r->machine, (uint8_t)before[i]));
  for (unsigned i = 1; i <= 7; i++)
    if (readable(r, tokens[i], strlen(tokens[i]), &whole) == strlen(tokens[i])) allowed |= 1u << i;
  if (tombola__machine_complete(r->machine)) allowed |= 1;
  tombola__machine_pop(r->machine, strlen(before));
  return allowed;
}

static void case_d09_tokens_hold_parts_of_characters(void **state) {
  (void)state;
  static const char *const tokens[] = {"",     "\xF0\x9F\x98", "\x80", "\xF0\x9F\x99",
                                       "\x8F", "\x90",         "a",    "\xF0\x9F\xA4"};
  struct reader r;
  start(&r, "root ::= [\xF0\x9F\x98\x80-\xF0\x9F\x99\x8F]+");
  assert_int_equal(allowed_after(&r, tokens, ""), 1 << 1 | 1 << 3);
  assert_int_equal(allowed_after(&r, tokens, "\xF0\x9F\x98"), 1 << 2 | 1 << 4 | 1 << 5);
  assert_int_equal(allowed_after(&r, tokens, "\xF0\x9F\x98\x80"), 1 << 1 | 1 << 3 | 1);
  assert_int_equal(allowed_after(&r, tokens, "\xF0\x9F\x99"), 1 << 2 | 1 << 4);
  assert_int_equal(allowed_after(&r, tokens, "\xF0\x9F\x98\x80\xF0\x9F\x99\x8F"), 1 << 1 | 1 << 3 | 1);
  finish(&r);
}

/* Every sequence of up to three bytes and, behind the leads of four, every fourth: what . reads is UTF-8. */
static void any_character_is_well_formed(void **state) {
  (void)state;
  static const char *const grammars[] = {"root ::= .", "root ::= \"x\" root | ."};
  for (size_t g = 0; g < 2; g++) {
    struct reader r;
    size_t whole = 0;
    start(&r, grammars[g]);
    for (unsigned a = 0; a < 256; a++) {
      if (!tombola__machine_push(r.machine, (uint8_t)a)) continue;
      whole += tombola__machine_complete(r.machine);
      for (unsigned b = a == 'x' ? 256 : 0; b < 256; b++) {
        if (!tombola__machine_push(r.machine, (uint8_t)b)) continue;
        whole += tombola__machine_complete(r.machine);
        size_t more = 0;
        for (unsigned c = 0; c < 256; c++) {
          if (!tombola__machine_push(r.machine, (uint8_t)c)) continue;
          more += tombola__machine_complete(r.machine) ? 1 : 64;
          tombola__machine_pop(r.machine, 1);
        }
        whole += more;
        tombola__machine_pop(r.machine, 1);
      }
      tombola__machine_pop(r.machine, 1);
    }
    assert_int_equal(whole, 0x110000 - 0x800);
    finish(&r);
  }
}

/* ---- ambiguity ---- */

static void ambiguous_readings_are_merged(void **state) {
  (void)state;
  static const char *const grammars[] = {
      "root ::= (\"a\"? \"a\"?)*",
      "root ::= \"a\" root root | \"a\"",
      "root ::= ([ab] (root) (root root \"a\")){0,2}",
      "root ::= x x x x\nx ::= \"a\" x x x | \"\"",
      "root ::= (x x?)+\nx ::= \"a\" | \"(\" x \")\"",
      "root ::= one | two\none ::= \"a\" one | \"a\" two | \"a\"\ntwo ::= \"a\" one | \"a\" two | \"a\"",
      "root ::= x*\nx ::= y*\ny ::= z*\nz ::= \"a\" | \"(\" root \")\"",
      "root ::= a0\na0 ::= a1 | n? a1\na1 ::= a2 | n? a2\na2 ::= a3 | n? a3\na3 ::= a4 | n? a4\na4 ::= a5 | "
      "n? a5\n"
      "a5 ::= a6 | n? a6\na6 ::= a7 | n? a7\na7 ::= a8 | n? a8\na8 ::= \"a\" root?\nn ::= \"n\" n | \"(\" "
      "root \")\"",
  };
  char text[199];
  memset(text, 'a', sizeof text);
  for (size_t i = 0; i < TOMBOLA__COUNT(grammars); i++) {
    struct reader r;
    bool whole;
    const clock_t begun = clock();
    start(&r, grammars[i]);
    if (readable(&r, text, sizeof text, &whole) < sizeof text) fail_msg("%s", grammars[i]);
    if (!whole) readable(&r, text, sizeof text - 1, &whole); /* one of them has even lengths only */
    assert_true(whole);
    assert_true(clock() - begun < 10 * CLOCKS_PER_SEC);
    finish(&r);
  }
}

static void readings_are_bounded(void **state) {
  (void)state;
  static const char grammar[] = "root ::= \"a\" root root | \"a\"";
  const struct tombola_grammar_limits limits = {.struct_size = sizeof limits, .max_threads = 8};
  struct reader r;
  assert_int_equal(start_with(&r, grammar, sizeof grammar - 1, NULL, &limits, NULL), TOMBOLA_OK);
  size_t n = 0;
  while (n < 100 && tombola__machine_push(r.machine, 'a'))
    n++;
  assert_in_range(n, 3, 20);
  assert_int_equal(r.store.status, TOMBOLA_OUT_OF_RANGE);
  assert_string_equal(r.store.error.param, "max_threads");
  tombola__store_clear(&r.store);
  assert_int_equal(tombola__machine_length(r.machine), n);
  assert_int_equal(tombola__machine_complete(r.machine), n % 2);
  tombola__machine_pop(r.machine, n);
  assert_true(tombola__machine_push(r.machine, 'a'));
  finish(&r);
}

static void right_recursion_takes_no_room(void **state) {
  (void)state;
  struct reader r;
  start(&r, "root ::= \"a\" root | \"b\" more\nmore ::= (\"(\" root \")\")? \"c\" root | \"d\"");
  for (size_t i = 0; i < 199998; i++)
    if (!tombola__machine_push(r.machine, (uint8_t) "abc"[i % 3])) fail_msg("at %zu", i);
  assert_true(tombola__machine_push(r.machine, 'b'));
  assert_true(tombola__machine_push(r.machine, 'd'));
  assert_true(tombola__machine_complete(r.machine));
  finish(&r);
}

/* ---- what is asked of places ---- */

static void freedom_is_what_may_follow(void **state) {
  (void)state;
  struct reader r;
  struct tombola__freedom f = {.length = 0};
  start(&r, "root ::= \"<\" [^<>]* \">\" root?");
  assert_true(tombola__machine_push(r.machine, '<'));
  if (tombola__machine_freedom(r.machine, &f)) {
    assert_false(f.ascii['<' / 32] >> '<' % 32 & 1);
    assert_false(f.ascii['>' / 32] >> '>' % 32 & 1);
    for (unsigned c = 0; c < 128; c++) {
      if (!(f.ascii[c / 32] >> c % 32 & 1)) continue;
      assert_true(tombola__machine_push(r.machine, (uint8_t)c));
      tombola__machine_pop(r.machine, 1);
    }
  }
  assert_true(f.ascii['a' / 32] >> 'a' % 32 & 1);
  assert_true(tombola__machine_push(r.machine, 0xC3));
  assert_false(tombola__machine_freedom(r.machine, &f)); /* inside of a character */
  finish(&r);
}

static void key_of(struct reader *r, const char *text, uint64_t key[2]) {
  for (size_t i = 0; text[i]; i++)
    assert_true(tombola__machine_push(r->machine, (uint8_t)text[i]));
  tombola__machine_key(r->machine, 64, key);
  tombola__machine_pop(r->machine, strlen(text));
}

static void keys_tell_what_is_around_a_place(void **state) {
  (void)state;
  static const struct {
    const char *grammar, *one, *other;
    bool same;
  } pairs[] = {
      {"root ::= \"(\" root \")\" | \"xy\"", "(x", "((x", false},
      {"root ::= \"(\" root \")\" | \"[\" root \"]\" | \"xy\"", "(x", "[x", false},
      {"root ::= t{2,3}\nt ::= \"xy\" | \"(\" t \")\"", "(x", "xy(x", false},
      {"root ::= t*\nt ::= \"xy\" | \"(\" t \")\"", "(x", "xy(x", true},
      {"root ::= \"(\" root \")\" root | \"xy\"", "(x", "(xy)(x", true},
  };
  for (size_t i = 0; i < TOMBOLA__COUNT(pairs); i++) {
    struct reader r;
    uint64_t one[2], other[2];
    start(&r, pairs[i].grammar);
    key_of(&r, pairs[i].one, one);
    key_of(&r, pairs[i].other, other);
    if ((memcmp(one, other, sizeof one) == 0) != pairs[i].same) fail_msg("%s", pairs[i].grammar);
    finish(&r);
  }
}

/* ---- memory ---- */

static void every_allocation_may_fail(void **state) {
  (void)state;
  static const char grammar[] =
      "root ::= \"a\" list (\"-\" root)? | [^x-z]{2,9}\nlist ::= (\"(\" list \")\")* \"b\"";
  for (size_t n = 1, done = 0; !done; n++) {
    struct support_allocator a = support_allocator(n);
    struct tombola__program program = {.part = TOMBOLA__RULES};
    struct tombola__machine *m = NULL;
    struct tombola__store s;
    enum tombola_status status = tombola__store_new(&s, NULL, support_allocator_use(&a), NULL);
    if (!status) {
      status = tombola__gbnf(&s, grammar, sizeof grammar - 1, NULL, NULL, &program.rules, NULL);
      if (!status) status = tombola__machine_new(&s, &program, &a.allocator, &m);
      for (const char *c = "a(b(b)b)b-ab"; !status && *c; c++)
        if (!tombola__machine_push(m, (uint8_t)*c)) status = s.status;
      done = !status;
      tombola__machine_free(m);
      tombola__store_free(&s);
    }
    assert_int_equal(status, done ? TOMBOLA_OK : TOMBOLA_NO_MEMORY);
    assert_int_equal(a.live, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(grammars_accept_their_texts),
      cmocka_unit_test(the_first_rule_can_be_named),
      cmocka_unit_test(errors_say_where_and_what),
      cmocka_unit_test(a_nul_is_no_end),
      cmocka_unit_test(case_d07_a_hostile_bound_is_cheap),
      cmocka_unit_test(case_d09_tokens_hold_parts_of_characters),
      cmocka_unit_test(any_character_is_well_formed),
      cmocka_unit_test(ambiguous_readings_are_merged),
      cmocka_unit_test(readings_are_bounded),
      cmocka_unit_test(right_recursion_takes_no_room),
      cmocka_unit_test(freedom_is_what_may_follow),
      cmocka_unit_test(keys_tell_what_is_around_a_place),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
