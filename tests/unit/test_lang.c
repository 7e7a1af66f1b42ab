/* SPDX-License-Identifier: Apache-2.0 */
/* Languages over code points: laws, dead ends, counts and freedom at sizes that schemas have, limits. Random ones:
 * test_lang_random.c. */
#include "lang_support.h"

/* ---- laws and sizes ---- */

static void test_laws(void **state) {
  (void)state;
  struct tombola__store s;
  begin(&s, NULL);
  const tombola__lang a = text(&s, "a"), b = text(&s, "bc"), any = tombola__lang_any(&s);
  const tombola__lang none = TOMBOLA__LANG_NONE, empty = TOMBOLA__LANG_EMPTY, all = TOMBOLA__LANG_ALL;
  assert_int_equal(tombola__lang_or(&s, a, b), tombola__lang_or(&s, b, a));
  assert_int_equal(tombola__lang_or(&s, a, none), a);
  assert_int_equal(tombola__lang_or(&s, a, all), all);
  assert_int_equal(tombola__lang_and(&s, a, all), a);
  assert_int_equal(tombola__lang_and(&s, a, none), none);
  assert_int_equal(tombola__lang_and(&s, a, b), none);
  assert_int_equal(tombola__lang_concat(&s, a, none), none);
  assert_int_equal(tombola__lang_concat(&s, empty, a), a);
  assert_int_equal(tombola__lang_not(&s, tombola__lang_not(&s, b)), b);
  assert_int_equal(tombola__lang_not(&s, none), all);
  assert_int_equal(tombola__lang_not(&s, all), none);
  assert_int_equal(tombola__lang_or(&s, b, tombola__lang_not(&s, b)), all);
  assert_int_equal(tombola__lang_length(&s, 0, UNBOUNDED), all);
  assert_int_equal(tombola__lang_repeat(&s, any, 3, 2), none);
  assert_int_equal(tombola__lang_repeat(&s, b, 0, 0), empty);
  assert_int_equal(tombola__lang_repeat(&s, none, 0, 5), empty);
  assert_int_equal(tombola__lang_repeat(&s, none, 1, 5), none);
  assert_int_equal(
      tombola__lang_and(&s, tombola__lang_length(&s, 2, 9), tombola__lang_length(&s, 5, UNBOUNDED)),
      tombola__lang_length(&s, 5, 9));
  assert_int_equal(tombola__lang_concat(&s, tombola__lang_length(&s, 2, 9), tombola__lang_length(&s, 0, 3)),
                   tombola__lang_length(&s, 2, 12));
  /* (aa){0,1} isn't a{0,2}; (a{2,3}){2,3} is a{4,9}. */
  assert_false(matches(&s, tombola__lang_repeat(&s, tombola__lang_repeat(&s, a, 2, 2), 0, 1), "a"));
  assert_int_equal(tombola__lang_repeat(&s, tombola__lang_repeat(&s, a, 2, 3), 2, 3),
                   tombola__lang_repeat(&s, a, 4, 9));
  end(&s);
}

static void test_code_points(void **state) {
  (void)state;
  struct tombola__store s;
  begin(&s, NULL);
  const tombola__lang any = tombola__lang_any(&s);
  assert_int_equal(tombola__lang_count(&s, any, UINT64_MAX), 0x110000 - 0x800);
  assert_int_equal(tombola__lang_step(&s, any, 0xD800), TOMBOLA__LANG_NONE);
  assert_int_equal(tombola__lang_step(&s, any, 0xDFFF), TOMBOLA__LANG_NONE);
  assert_int_equal(tombola__lang_step(&s, any, 0x110000), TOMBOLA__LANG_NONE);
  assert_int_equal(tombola__lang_step(&s, any, 0xD7FF), TOMBOLA__LANG_EMPTY);
  assert_int_equal(tombola__lang_step(&s, any, 0xE000), TOMBOLA__LANG_EMPTY);
  assert_int_equal(tombola__lang_step(&s, any, 0x10FFFF), TOMBOLA__LANG_EMPTY);
  assert_false(tombola__lang_can_step(&s, any, 0xD800, 0xDFFF));
  assert_true(tombola__lang_can_step(&s, any, 0xD800, 0xE000));
  assert_int_equal(range(&s, 0xD800, 0xDFFF), TOMBOLA__LANG_NONE);
  const tombola__lang high = range(&s, 0xD000, 0xE010); /* over the surrogates */
  assert_int_equal(tombola__lang_count(&s, high, UINT64_MAX), 0x800 + 0x11);
  assert_true(tombola__lang_can_step(&s, high, 0xDC00, 0xF000));
  assert_false(tombola__lang_can_step(&s, high, 0xE011, 0x10FFFF));
  assert_false(tombola__lang_can_step(&s, high, 0, 0xCFFF));
  assert_true(matches(&s, high, "\xEE\x80\x90"));
  assert_false(matches(&s, high, "\xEE\x80\x91"));
  assert_true(matches(&s, tombola__lang_repeat(&s, any, 2, 2), "\xF0\x9F\x98\x80\xC3\xA9"));
  end(&s);
}

static void test_dead_ends(void **state) {
  (void)state;
  struct tombola__store s;
  begin(&s, NULL);
  /* Ends with x, and doesn't have y: a y can never be made good. */
  const tombola__lang ends = tombola__lang_concat(&s, TOMBOLA__LANG_ALL, text(&s, "x"));
  const tombola__lang has = tombola__lang_concat(&s, ends, TOMBOLA__LANG_ALL);
  const tombola__lang not_y =
      tombola__lang_not(&s, tombola__lang_concat(&s, TOMBOLA__LANG_ALL,
                                                 tombola__lang_concat(&s, text(&s, "y"), TOMBOLA__LANG_ALL)));
  tombola__lang a = tombola__lang_and(&s, ends, not_y);
  assert_int_equal(walk(&s, a, "axby"), TOMBOLA__LANG_NONE);
  assert_int_not_equal(walk(&s, a, "axb"), TOMBOLA__LANG_NONE);
  assert_false(tombola__lang_can_step(&s, a, 'y', 'y'));
  /* At most three letters, an x among them. */
  a = tombola__lang_and(&s, has, tombola__lang_length(&s, 0, 3));
  assert_int_not_equal(walk(&s, a, "ab"), TOMBOLA__LANG_NONE);
  assert_int_equal(walk(&s, a, "abc"), TOMBOLA__LANG_NONE);
  assert_true(matches(&s, a, "abx"));
  /* (ab)* of an odd length. */
  const tombola__lang odd = tombola__lang_concat(
      &s, tombola__lang_any(&s), tombola__lang_repeat(&s, tombola__lang_length(&s, 2, 2), 0, UNBOUNDED));
  assert_true(tombola__lang_is_none(
      &s, tombola__lang_and(&s, tombola__lang_repeat(&s, text(&s, "ab"), 0, UNBOUNDED), odd)));
  /* What is neither even nor odd. */
  const tombola__lang even = tombola__lang_repeat(&s, tombola__lang_length(&s, 2, 2), 0, UNBOUNDED);
  assert_true(tombola__lang_is_none(&s, tombola__lang_not(&s, tombola__lang_or(&s, even, odd))));
  /* (a+bb)* has no text of one or two letters, though it has of none, and of all numbers from three on. */
  a = tombola__lang_concat(&s, tombola__lang_repeat(&s, text(&s, "a"), 1, UNBOUNDED), text(&s, "bb"));
  a = tombola__lang_repeat(&s, a, 0, UNBOUNDED);
  assert_true(tombola__lang_is_none(&s, tombola__lang_and(&s, a, tombola__lang_length(&s, 1, 2))));
  end(&s);
}

/* Texts of an enum: 300 of them, some with ends and beginnings in common. */
static void test_texts(void **state) {
  (void)state;
  struct tombola__store s;
  static char bytes[300][32];
  struct tombola_bytes texts[301];
  tombola__lang one_by_one = TOMBOLA__LANG_NONE;
  begin(&s, NULL);
  for (size_t i = 0; i < 300; i++) {
    const int length = snprintf(bytes[i], sizeof bytes[i], "%s-%03zu-%s", i % 3 ? "item" : "it\xC3\xA9m",
                                i * 7 % 300, i % 2 ? "even" : "odd");
    texts[i] = (struct tombola_bytes){bytes[i], (size_t)length};
    one_by_one = tombola__lang_or(&s, one_by_one, tombola__lang_text(&s, bytes[i], (size_t)length));
  }
  texts[300] = texts[5]; /* twice is once */
  const tombola__lang a = tombola__lang_texts(&s, texts, 301);
  for (size_t i = 0; i < 300; i++) {
    assert_true(matches(&s, a, bytes[i]));
    assert_true(matches(&s, one_by_one, bytes[i]));
    bytes[i][6] = '~';
    assert_false(matches(&s, a, bytes[i]));
  }
  assert_int_equal(tombola__lang_count(&s, a, 1000), 300);
  assert_int_equal(a, one_by_one);
  assert_true(s.states < 2000); /* ends are shared: 300 texts of 12 letters have 3600 places */
  assert_int_equal(tombola__lang_texts(&s, texts, 0), TOMBOLA__LANG_NONE);
  const tombola__lang empty = tombola__lang_texts(&s, &(struct tombola_bytes){"", 0}, 1);
  assert_int_equal(empty, TOMBOLA__LANG_EMPTY);
  end(&s);
}

/* Counts aren't unrolled: making one and asking about it takes a few states. */
static void test_counts(void **state) {
  (void)state;
  struct tombola__store s;
  begin(&s, NULL);
  const tombola__lang many = tombola__lang_length(&s, 0, 65536);
  const tombola__lang word = tombola__lang_repeat(&s, range(&s, 'a', 'z'), 1000, 2000000);
  const tombola__lang search = tombola__lang_concat(
      &s, TOMBOLA__LANG_ALL, tombola__lang_concat(&s, text(&s, "abc"), TOMBOLA__LANG_ALL));
  const tombola__lang bounded = tombola__lang_and(&s, search, tombola__lang_length(&s, 0, 2000));
  assert_false(tombola__lang_is_none(&s, many));
  assert_false(tombola__lang_is_none(&s, tombola__lang_and(&s, word, many)));
  assert_false(tombola__lang_is_none(&s, bounded));
  assert_true(tombola__lang_is_none(&s, tombola__lang_and(&s, search, tombola__lang_length(&s, 0, 2))));
  assert_int_equal(tombola__lang_count(&s, many, 64), 64);
  assert_int_equal(tombola__lang_count(&s, word, 64), 64);
  assert_int_equal(tombola__lang_freedom(&s, many).length, 65536);
  assert_int_equal(tombola__lang_freedom(&s, bounded).length, 1997);
  assert_true(tombola__lang_freedom(&s, bounded).others);
  assert_true(s.states < 30);
  assert_int_equal(tombola__lang_like(&s, many, 100), tombola__lang_like(&s, walk(&s, many, "xyz"), 100));
  const tombola__lang next = walk(&s, bounded, "zzz");
  assert_int_not_equal(next, bounded);
  assert_int_equal(tombola__lang_like(&s, bounded, 100), tombola__lang_like(&s, next, 100));
  /* A long way to the only text: the search must not be deep. */
  const tombola__lang far = tombola__lang_and(&s, tombola__lang_repeat(&s, text(&s, "ab"), 0, UNBOUNDED),
                                              tombola__lang_length(&s, 20001, 20002));
  assert_false(tombola__lang_is_none(&s, far));
  assert_int_equal(tombola__lang_count(&s, far, 10), 1);
  end(&s);
}

/* A state that goes round in itself is free for the letters that do. */
static void test_freedom(void **state) {
  (void)state;
  struct tombola__store s;
  begin(&s, NULL);
  const tombola__lang label = tombola__lang_or(&s, range(&s, 'a', 'z'), text(&s, "-"));
  const tombola__lang host =
      tombola__lang_concat(&s, tombola__lang_repeat(&s, label, 0, UNBOUNDED), text(&s, ".org"));
  struct tombola__freedom f = tombola__lang_freedom(&s, host);
  assert_int_equal(f.length, UNBOUNDED);
  assert_int_equal(f.ascii[3], 0x7FFFFFE);
  assert_int_equal(f.ascii[1], 1u << ('-' - 32));
  assert_false(f.others);
  f = tombola__lang_freedom(&s, tombola__lang_and(&s, host, tombola__lang_length(&s, 0, 63)));
  assert_int_equal(f.length, 59);
  f = tombola__lang_freedom(&s, tombola__lang_not(&s, text(&s, "name")));
  assert_int_equal(f.length, UNBOUNDED);
  assert_true(f.others);
  f = tombola__lang_freedom(
      &s, tombola__lang_and(&s, tombola__lang_not(&s, text(&s, "name")), tombola__lang_length(&s, 0, 10)));
  assert_int_equal(f.length, 10);
  f = tombola__lang_freedom(
      &s, tombola__lang_and(&s, tombola__lang_not(&s, text(&s, "name")), tombola__lang_length(&s, 0, 4)));
  assert_true(f.length < 4); /* n-a-m isn't free to go on with an e */
  /* What can be empty may be passed over. */
  f = tombola__lang_freedom(
      &s, tombola__lang_concat(&s, tombola__lang_repeat(&s, text(&s, "/"), 0, 1),
                               tombola__lang_repeat(&s, range(&s, 'a', 'z'), 1, UNBOUNDED)));
  assert_int_equal(f.length, UNBOUNDED);
  assert_int_equal(f.ascii[3], 0x7FFFFFE);
  assert_int_equal(tombola__lang_freedom(&s, TOMBOLA__LANG_ALL).length, UNBOUNDED);
  assert_int_equal(tombola__lang_freedom(&s, TOMBOLA__LANG_NONE).length, 0);
  assert_int_equal(tombola__lang_freedom(&s, TOMBOLA__LANG_EMPTY).length, 0);
  end(&s);
}

static bool is_one_of(uint32_t c, const uint32_t *of, size_t n) {
  while (n > 0 && of[n - 1] != c)
    n--;
  return n > 0;
}

/* Whether a set without this code point, and a loop without it, is free for other ones. */
static void test_spaces(void **state) {
  (void)state;
  static const uint32_t spaces[] = {0xA0,   0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004,
                                    0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200A, 0x2028,
                                    0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF};
  struct tombola__store s;
  begin(&s, NULL);
  for (uint32_t c = 0x7F; c <= 0x10FFFF; c += c < 0x30FF ? 1 : 0x100) {
    if (c >= 0xD800 && c < 0xE000) continue;
    const tombola__lang one = tombola__lang_or(&s, range(&s, 0, c - 1), range(&s, c + 1, 0x10FFFF));
    const tombola__lang many = tombola__lang_repeat(&s, one, 0, UNBOUNDED);
    const bool is_space = is_one_of(c, spaces, TOMBOLA__COUNT(spaces));
    const struct tombola__freedom f = tombola__lang_freedom(&s, many);
    assert_int_equal(f.length, UNBOUNDED);
    assert_int_equal(f.others, c < 128 || is_space);
    assert_int_equal(f.spaces, c < 128);
    if (c % 16 != 15 && !is_space) continue;
    const tombola__lang far = tombola__lang_concat(&s, text(&s, "ab"), TOMBOLA__LANG_ALL);
    const tombola__lang loop =
        tombola__lang_not(&s, tombola__lang_concat(&s, many, tombola__lang_concat(&s, range(&s, c, c), far)));
    const struct tombola__freedom l = tombola__lang_freedom(&s, loop);
    assert_int_equal(l.length, UNBOUNDED);
    assert_int_equal(l.others, c < 128 || is_space);
    assert_int_equal(l.spaces, c < 128);
  }
  for (uint32_t c = 0x7F; c < 0xC0; c++) { /* nothing below it */
    const struct tombola__freedom f = tombola__lang_freedom(&s, range(&s, c, 0x10FFFF));
    assert_int_equal(f.others, c <= 0x80);
    assert_int_equal(f.spaces, c <= 0x80);
  }
  for (uint32_t c = 0; c <= 0x81; c++) { /* nothing above it, and the whole alphabet */
    const struct tombola__freedom below = tombola__lang_freedom(&s, range(&s, 0, c));
    assert_false(below.others || below.spaces);
    const struct tombola__freedom all = tombola__lang_freedom(&s, range(&s, c, 0x10FFFF));
    assert_int_equal(all.others && all.spaces, c <= 0x80);
  }
  end(&s);
}

/* ---- failures ---- */

static void test_limits(void **state) {
  (void)state;
  struct tombola__store s;
  const struct tombola_grammar_limits states = {.struct_size = sizeof states, .max_states = 500};
  begin(&s, &states);
  /* The tenth letter from the end is an a: some thousand states. */
  const tombola__lang a = tombola__lang_concat(
      &s, TOMBOLA__LANG_ALL, tombola__lang_concat(&s, text(&s, "a"), tombola__lang_length(&s, 10, 10)));
  const tombola__lang b = tombola__lang_and(&s, a, tombola__lang_not(&s, tombola__lang_concat(&s, a, a)));
  uint64_t walked = 0;
  struct support_rng rng = support_rng(2);
  for (tombola__lang at = b; !s.status && walked < 100000; walked++) {
    at = tombola__lang_step(&s, at, support_below(&rng, 2) ? 'a' : 'b');
    if (at == TOMBOLA__LANG_NONE) at = a;
  }
  assert_int_equal(s.status, TOMBOLA_OUT_OF_RANGE);
  assert_int_equal(tombola__lang_or(&s, a, b), TOMBOLA__LANG_NONE);
  assert_false(tombola__lang_is_none(&s, a));
  /* What exists still works, and what failed isn't remembered as a dead end. */
  tombola__store_clear(&s);
  s.max_states = 1000000;
  assert_true(matches(&s, a, "baaaaaaaaaaa"));
  assert_false(matches(&s, a, "abbbbbbbbb"));
  end(&s);
  const struct tombola_grammar_limits bytes = {.struct_size = sizeof bytes, .max_bytes = (size_t)1 << 20};
  begin(&s, &bytes);
  static char long_text[100000];
  memset(long_text, 'q', sizeof long_text);
  assert_int_equal(tombola__lang_text(&s, long_text, sizeof long_text), TOMBOLA__LANG_NONE);
  assert_int_equal(s.status, TOMBOLA_OUT_OF_RANGE);
  tombola__store_free(&s);
}

/* a?b?a?b?… and complements in complements: refused, not a crash. */
static void test_depth(void **state) {
  (void)state;
  struct tombola__store s;
  begin(&s, NULL);
  tombola__lang a = text(&s, "end");
  const tombola__lang ab[] = {tombola__lang_repeat(&s, text(&s, "a"), 0, 1),
                              tombola__lang_repeat(&s, text(&s, "b"), 0, 1)};
  for (size_t i = 0; i < 3000; i++)
    a = tombola__lang_concat(&s, ab[i % 2], a);
  assert_false(tombola__lang_is_none(&s, a));
  assert_true(matches(&s, a, "aaend"));
  tombola__lang nested = text(&s, "x");
  for (size_t i = 0; i < 20000; i++)
    nested = tombola__lang_not(&s, tombola__lang_concat(&s, nested, text(&s, "y")));
  tombola__lang_step(&s, nested, 'x');
  assert_int_equal(s.status, TOMBOLA_OUT_OF_RANGE);
  tombola__store_free(&s);
}

static void test_memory(void **state) {
  (void)state;
  static const char *const words[] = {"alpha", "beta", "gamma", "delt\xC3\xA4", ""};
  struct tombola_bytes texts[5];
  for (size_t i = 0; i < 5; i++)
    texts[i] = (struct tombola_bytes){words[i], strlen(words[i])};
  for (size_t n = 1;; n++) {
    struct support_allocator a = support_allocator(n);
    struct tombola__store s;
    struct tombola_error error = {0};
    enum tombola_status status = tombola__store_new(&s, NULL, support_allocator_use(&a), &error);
    if (!status) {
      const tombola__lang names = tombola__lang_texts(&s, texts, 5);
      const tombola__lang word = tombola__lang_repeat(&s, range(&s, 'a', 0x2FF), 0, 300);
      const tombola__lang both = tombola__lang_and(&s, word, tombola__lang_not(&s, names));
      tombola__lang_count(&s, names, 10);
      tombola__lang_is_none(
          &s, tombola__lang_and(&s, names, tombola__lang_not(&s, tombola__lang_or(&s, names, word))));
      tombola__lang_freedom(&s, both);
      tombola__lang_like(&s, both, 50);
      matches(&s, both, "alphabet");
      status = s.status;
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
      cmocka_unit_test(test_laws),   cmocka_unit_test(test_code_points), cmocka_unit_test(test_dead_ends),
      cmocka_unit_test(test_texts),  cmocka_unit_test(test_counts),      cmocka_unit_test(test_freedom),
      cmocka_unit_test(test_spaces), cmocka_unit_test(test_limits),      cmocka_unit_test(test_depth),
      cmocka_unit_test(test_memory),
  };
  return cmocka_run_group_tests_name("lang", tests, NULL, NULL);
}
