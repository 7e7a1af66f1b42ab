/* SPDX-License-Identifier: Apache-2.0 */
/* Drafts from the text: the rule against a plain search that tries every start, and the governor's course. */
#include "session/governor.h"
#include "session/prompt_lookup.h"
#include "support.h"

struct looked {
  size_t n;
  tombola_token draft[TOMBOLA__MAX_DRAFT];
};

static struct looked look(const tombola_token *tokens, size_t count, size_t ngram_min, size_t ngram_max,
                          size_t max_draft) {
  struct looked result = {0};
  const tombola_token *draft;
  result.n = tombola__prompt_lookup(tokens, count, ngram_min, ngram_max, max_draft, &draft);
  assert_true(result.n <= max_draft);
  for (size_t i = 0; i < result.n; i++)
    result.draft[i] = draft[i];
  return result;
}

static void expect(struct looked got, const tombola_token *want, size_t n) {
  assert_int_equal(got.n, n);
  for (size_t i = 0; i < n; i++)
    assert_int_equal(got.draft[i], want[i]);
}

static void test_rule(void **state) {
  (void)state;
  /* The most recent occurrence, not the first. */
  const tombola_token recent[] = {1, 2, 3, 10, 11, 1, 2, 3, 20, 21, 22, 1, 2, 3};
  expect(look(recent, 14, 2, 3, 2), (const tombola_token[]){20, 21}, 2);
  /* As many as asked for, through to the suffix itself. */
  expect(look(recent, 14, 2, 3, 7), (const tombola_token[]){20, 21, 22, 1, 2, 3}, 6);
  /* The longer n-gram wins, although a shorter one occurred later. */
  const tombola_token longer[] = {5, 1, 2, 30, 31, 9, 1, 2, 40, 5, 1, 2};
  expect(look(longer, 12, 2, 3, 2), (const tombola_token[]){30, 31}, 2);
  expect(look(longer, 12, 2, 2, 2), (const tombola_token[]){40, 5}, 2);
  /* An occurrence that overlaps the suffix. */
  const tombola_token run[] = {7, 7, 7, 7};
  expect(look(run, 4, 2, 3, 7), (const tombola_token[]){7}, 1);
  const tombola_token turns[] = {4, 8, 4, 8, 4};
  expect(look(turns, 5, 2, 3, 7), (const tombola_token[]){8, 4}, 2);
  /* None: too short, nothing that repeats, only an n-gram below the least. */
  expect(look(run, 1, 1, 3, 7), NULL, 0);
  expect(look(run, 0, 1, 3, 7), NULL, 0);
  expect(look((const tombola_token[]){1, 2, 3, 4, 3}, 5, 2, 3, 7), NULL, 0);
  expect(look((const tombola_token[]){1, 2, 3, 4, 3}, 5, 1, 3, 7), (const tombola_token[]){4, 3}, 2);
  expect(look(run, 2, 2, 3, 7), NULL, 0);
}

/* Every start, every length, token by token; the last that fits is the most recent. */
static struct looked plain(const tombola_token *tokens, size_t count, size_t ngram_min, size_t ngram_max,
                           size_t max_draft) {
  struct looked result = {0};
  for (size_t n = ngram_max; n >= ngram_min && n > 0 && result.n == 0; n--) {
    for (size_t start = 0; start + n < count; start++) {
      size_t same = 0;
      while (same < n && tokens[start + same] == tokens[count - n + same])
        same++;
      if (same < n) continue;
      result.n = 0;
      for (size_t i = start + n; i < count && result.n < max_draft; i++)
        result.draft[result.n++] = tokens[i];
    }
  }
  return result;
}

static void test_random(void **state) {
  (void)state;
  struct support_rng rng = support_rng(5);
  tombola_token tokens[60];
  size_t found = 0;
  for (int i = 0; i < 20000; i++) {
    size_t count = support_below(&rng, 61), alphabet = 2 + support_below(&rng, 9);
    for (size_t j = 0; j < count; j++)
      tokens[j] = (tombola_token)support_below(&rng, (unsigned)alphabet);
    size_t least = 1 + support_below(&rng, 4), most = least + support_below(&rng, 4);
    size_t max_draft = 1 + support_below(&rng, 12);
    struct looked want = plain(tokens, count, least, most, max_draft);
    expect(look(tokens, count, least, most, max_draft), want.draft, want.n);
    found += want.n > 0;
  }
  assert_true(found > 5000 && found < 19000);
}

static void learn(struct tombola__governor *governor, size_t accepted, size_t times) {
  for (size_t i = 0; i < times; i++) {
    assert_true(tombola__governor_budget(governor) > 0);
    tombola__governor_learn(governor, accepted);
  }
}

static void expect_pause(struct tombola__governor *governor, size_t rounds) {
  for (size_t i = 0; i < rounds; i++)
    assert_int_equal(tombola__governor_budget(governor), 0);
}

static void test_budget(void **state) {
  (void)state;
  struct tombola__governor governor;
  tombola__governor_init(&governor, true, 7);
  assert_int_equal(tombola__governor_budget(&governor), 7); /* 7: it starts hopeful */
  tombola__governor_learn(&governor, 1);                    /* 4 */
  assert_int_equal(tombola__governor_budget(&governor), 7);
  tombola__governor_learn(&governor, 1); /* 2.5: round(5) + 2 = 7 */
  assert_int_equal(tombola__governor_budget(&governor), 7);
  tombola__governor_learn(&governor, 1); /* 1.75: round(3.5) + 2 = 6 */
  assert_int_equal(tombola__governor_budget(&governor), 6);
  tombola__governor_learn(&governor, 1); /* 1.375: round(2.75) + 2 = 5 */
  assert_int_equal(tombola__governor_budget(&governor), 5);
  tombola__governor_learn(&governor, 0); /* 0.6875: round(1.375) + 2 = 3 */
  assert_int_equal(tombola__governor_budget(&governor), 3);
  tombola__governor_learn(&governor, 5); /* 2.84375 */
  assert_int_equal(tombola__governor_budget(&governor), 7);
  tombola__governor_init(&governor, true, 1);
  assert_int_equal(tombola__governor_budget(&governor), 1);
}

static void test_pauses(void **state) {
  (void)state;
  struct tombola__governor governor;
  tombola__governor_init(&governor, true, 7);
  static const size_t pauses[] = {4, 8, 16, 32, 32};
  for (size_t i = 0; i < sizeof pauses / sizeof *pauses; i++) {
    learn(&governor, 0, 3);
    expect_pause(&governor, pauses[i]);
  }
  learn(&governor, 0, 2);
  learn(&governor, 1, 1); /* breaks the row of misses, and the next pause is short again */
  learn(&governor, 0, 3);
  expect_pause(&governor, 4);
  assert_true(tombola__governor_budget(&governor) > 0);
}

static void test_off(void **state) {
  (void)state;
  struct tombola__governor governor;
  tombola__governor_init(&governor, false, 5);
  for (int i = 0; i < 20; i++) {
    assert_int_equal(tombola__governor_budget(&governor), 5);
    tombola__governor_learn(&governor, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rule),   cmocka_unit_test(test_random), cmocka_unit_test(test_budget),
      cmocka_unit_test(test_pauses), cmocka_unit_test(test_off),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
