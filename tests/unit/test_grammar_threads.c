/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that share a grammar, a cache of grammars and what both make on the way: each sees the masks that one thread
 * alone sees. For the thread sanitizer above all. */
#include "constraint_support.h"

#include <pthread.h>

#define THREADS 4
#define STEPS   40
#define WORDS   ((SUPPORT_TOKENS + 31) / 32)

static const struct {
  enum tombola_grammar_kind kind;
  const char *text;
} grammars[] = {
    {TOMBOLA_GRAMMAR_JSON, NULL},
    {TOMBOLA_GRAMMAR_JSON_SCHEMA,
     "{\"type\":\"array\",\"uniqueItems\":true,\"items\":{\"anyOf\":[{\"type\":\"integer\",\"multipleOf\":3},"
     "{\"type\":\"string\",\"pattern\":\"^[a-z]{2,20}$\"},{\"$ref\":\"#\"}]}}"},
    {TOMBOLA_GRAMMAR_REGEX, "([a-z ]{2,9}|[0-9]+){3,40}true"},
    {TOMBOLA_GRAMMAR_GBNF, "root ::= \"[\" item (\",\" item)* \"]\"\nitem ::= [a-z]+ | [0-9]{1,3} | root"},
};

enum { GRAMMARS = TOMBOLA__COUNT(grammars) };

/* One walk: its masks, one after the other. */
struct walk {
  uint32_t words[STEPS][WORDS];
  size_t steps;
};

struct worker {
  pthread_t thread;
  tombola_grammar_cache *cache;
  struct walk *walks; /* GRAMMARS of them */
  size_t first;       /* the grammar that it begins with */
  bool failed;
};

static tombola_token choose(const struct tombola_mask *mask, struct support_rng *rng) {
  for (size_t from = support_below(rng, mask->count), i = 0; i < mask->count; i++) {
    const size_t token = (from + i) % mask->count;
    if (mask->words[token / 32] >> token % 32 & 1) return (tombola_token)token;
  }
  return -1;
}

/* The same tokens in every thread: they follow from the grammar's number. Halfway some are taken back, and the rest is a
 * clone's. */
static bool walk(tombola_grammar *grammar, size_t number, struct walk *out) {
  struct support_rng rng = support_rng(80 + number);
  struct tombola_mask mask;
  tombola_matcher *matcher, *clone;
  if (tombola_matcher_new(grammar, NULL, &matcher, NULL)) return false;
  for (out->steps = 0; out->steps < STEPS; out->steps++) {
    if (out->steps == STEPS / 2) {
      if (tombola_matcher_clone(matcher, &clone, NULL)) break;
      tombola_matcher_free(matcher);
      matcher = clone;
      if (tombola_matcher_rollback(matcher, 5)) break;
    }
    if (tombola_matcher_mask(matcher, &mask, NULL)) break;
    memcpy(out->words[out->steps], mask.words, sizeof out->words[0]);
    if (tombola_matcher_accept(matcher, choose(&mask, &rng), NULL)) break;
    char forced[8];
    size_t length;
    if (tombola_matcher_forced(matcher, forced, sizeof forced, &length, NULL)) break;
  }
  tombola_matcher_free(matcher);
  return out->steps == STEPS;
}

static void *work(void *context) {
  struct worker *const w = context;
  for (size_t i = 0; i < GRAMMARS; i++) {
    const size_t number = (w->first + i) % GRAMMARS;
    const struct tombola_grammar_source source = support_source(grammars[number].kind, grammars[number].text);
    tombola_grammar *grammar = NULL;
    w->failed |= tombola_grammar_cache_get(w->cache, &source, &grammar, NULL, NULL) != TOMBOLA_OK;
    if (w->failed) break;
    w->failed |= !walk(grammar, number, &w->walks[number]);
    tombola_grammar_free(grammar);
  }
  return NULL;
}

static const tombola_trie *trie;

/* All begin with the same grammar, or each with another; the cache holds all, or fewer than there are. */
static void check(size_t capacity, bool same) {
  struct worker workers[THREADS + 1] = {{.failed = false}};
  tombola_grammar_cache *cache, *alone;
  assert_int_equal(tombola_grammar_cache_new(trie, capacity, NULL, &cache, NULL), TOMBOLA_OK);
  assert_int_equal(tombola_grammar_cache_new(trie, 0, NULL, &alone, NULL), TOMBOLA_OK);
  for (size_t i = 0; i <= THREADS; i++) {
    workers[i].cache = i < THREADS ? cache : alone;
    workers[i].first = same ? 0 : i % GRAMMARS;
    workers[i].walks = calloc(GRAMMARS, sizeof *workers[i].walks);
    assert_non_null(workers[i].walks);
  }
  work(&workers[THREADS]);
  for (size_t i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
  for (size_t i = 0; i < THREADS; i++)
    assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
  for (size_t i = 0; i <= THREADS; i++) {
    assert_false(workers[i].failed);
    assert_memory_equal(workers[i].walks, workers[THREADS].walks, GRAMMARS * sizeof *workers[i].walks);
  }
  for (size_t i = 0; i <= THREADS; i++)
    free(workers[i].walks);
  tombola_grammar_cache_free(cache);
  tombola_grammar_cache_free(alone);
}

static void one_grammar(void **state) {
  (void)state;
  check(0, true);
}

static void several_grammars(void **state) {
  (void)state;
  check(0, false);
}

static void grammars_that_go(void **state) {
  (void)state;
  check(1, false);
}

int main(void) {
  static struct support_words words;
  struct support_rng rng = support_rng(79);
  support_words_fill(&words, &rng);
  tombola_vocabulary *const vocabulary = support_vocabulary(&words);
  tombola_trie *const made = support_trie(vocabulary);
  trie = made;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_grammar),
      cmocka_unit_test(several_grammars),
      cmocka_unit_test(grammars_that_go),
  };
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tombola_trie_free(made);
  tombola_vocabulary_free(vocabulary);
  return failed;
}
