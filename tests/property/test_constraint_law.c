/* SPDX-License-Identifier: Apache-2.0 */
/* The law of answers under a constraint: every answer that a grammar has in a small vocabulary is enumerated with its
 * probability, by the distributions of the plain chain under masks made by hand, and many answers are compared with them
 * by a chi-square test: one by one, jumping ahead, with drafts from the text and from a model. A law that is wrong (free
 * answers, of which only those that fit are kept) must be told apart. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <tombola/session.h>

#include "../unit/scripts.h"
#include "chi_square.h"
#include "support.h"

enum { VOCAB = 7, MOST_TOKENS = 16, MOST_ANSWERS = 2048 };

#define GOOD_FIT  1e-3
#define WRONG_FIT 1e-9

static const char vocabulary_json[] =
    "\"vocab\": [\"<eos>\", \"a\", \"b\", \"c\", \"ab\", \"bc\", \"x\"], \"end\": [0]";
/* Some places have one token only, some several, and what is one text can be several rows of tokens. */
static const char pattern[] = "a(b|c)xx(a|b|ab|bc){1,2}xcb?";
static const tombola_token prompt[] = {1, 2, 6, 6, 1, 2, 3};
enum { PROMPT = sizeof prompt / sizeof *prompt };

static size_t draws(void) {
  return support_long() ? 200000 : 10000;
}

struct answer {
  tombola_token tokens[MOST_TOKENS];
  size_t count;
};

struct law {
  tombola_model *model;
  tombola_sampler *sampler;
  tombola_matcher *bytes; /* of a grammar without a trie */
  struct answer answers[MOST_ANSWERS];
  double chances[MOST_ANSWERS], free_chances[MOST_ANSWERS];
  size_t n;
};

static tombola_model *load(unsigned hash) {
  char json[256];
  snprintf(json, sizeof json, "{%s, \"hash\": %u}", vocabulary_json, hash);
  return script_load(json, NULL);
}

static tombola_grammar *grammar_with(const tombola_trie *trie) {
  const struct tombola_grammar_source source = {.struct_size = sizeof source,
                                                .kind = TOMBOLA_GRAMMAR_REGEX,
                                                .text = pattern,
                                                .length = sizeof pattern - 1};
  tombola_grammar *grammar;
  assert_int_equal(tombola_grammar_new(&source, trie, NULL, &grammar, NULL, NULL), TOMBOLA_OK);
  return grammar;
}

static tombola_sampler *sampler_of(const char *const more[][2], const char *seed) {
  static const char *const common[][2] = {
      {"temperature", "2.5"},    {"top_k", "0"}, {"top_p", "1"}, {"min_p", "0"},
      {"repeat_penalty", "1.3"}, {NULL, NULL}};
  struct tombola_sampler_params params = {.struct_size = sizeof params};
  tombola_sampler *sampler;
  assert_int_equal(tombola_sampler_params_default(&params, "llama.cpp", NULL), TOMBOLA_OK);
  for (size_t i = 0; common[i][0]; i++)
    assert_int_equal(tombola_sampler_params_set(&params, common[i][0], common[i][1], NULL), TOMBOLA_OK);
  for (size_t i = 0; more && more[i][0]; i++)
    assert_int_equal(tombola_sampler_params_set(&params, more[i][0], more[i][1], NULL), TOMBOLA_OK);
  assert_int_equal(tombola_sampler_params_set(&params, "seed", seed, NULL), TOMBOLA_OK);
  assert_int_equal(tombola_sampler_new(&params, NULL, VOCAB, NULL, &sampler, NULL), TOMBOLA_OK);
  return sampler;
}

/* ---- the law by hand ---- */

static void distribution(const struct law *law, const struct answer *answer, const struct tombola_mask *mask,
                         float *probs) {
  struct tombola_batch_item items[PROMPT + MOST_TOKENS];
  struct tombola_row row;
  const size_t n = PROMPT + answer->count;
  tombola_model_remove(law->model, 0, 0, -1);
  assert_int_equal(tombola_model_begin(law->model, 0, PROMPT), TOMBOLA_OK);
  assert_int_equal(tombola_sampler_begin(law->sampler, prompt, PROMPT), TOMBOLA_OK);
  for (size_t i = 0; i < n; i++)
    items[i] = (struct tombola_batch_item){.token = i < PROMPT ? prompt[i] : answer->tokens[i - PROMPT],
                                           .position = (int32_t)i,
                                           .want_logits = i + 1 >= PROMPT};
  for (size_t i = 0; i < answer->count; i++)
    assert_int_equal(tombola_sampler_accept(law->sampler, answer->tokens[i]), TOMBOLA_OK);
  assert_int_equal(tombola_model_decode(law->model, items, n, NULL), TOMBOLA_OK);
  assert_int_equal(tombola_model_logits(law->model, n - 1, &row), TOMBOLA_OK);
  assert_int_equal(tombola_distribution(law->sampler, &row, mask, probs, VOCAB), TOMBOLA_OK);
}

static bool may_come(const struct law *law, tombola_token token) {
  size_t length;
  const char *const text = tombola_vocabulary_bytes(tombola_model_vocabulary(law->model), token, &length);
  if (token == 0) return tombola_matcher_is_complete(law->bytes);
  if (tombola_matcher_accept_bytes(law->bytes, text, length, NULL, NULL) != TOMBOLA_OK) return false;
  tombola_matcher_rollback(law->bytes, 1);
  return true;
}

static void enumerate(struct law *law, struct answer *answer, double chance, double free_chance) {
  float probs[VOCAB], free_probs[VOCAB];
  uint32_t word = 0;
  const struct tombola_mask mask = {&word, VOCAB, NULL, 0};
  for (tombola_token i = 0; i < VOCAB; i++)
    word |= (uint32_t)may_come(law, i) << i;
  distribution(law, answer, &mask, probs);
  distribution(law, answer, NULL, free_probs);
  for (tombola_token i = 0; i < VOCAB; i++) {
    if (!(word >> i & 1)) continue;
    if (i == 0) {
      assert_true(law->n < MOST_ANSWERS);
      law->answers[law->n] = *answer;
      law->free_chances[law->n] = free_chance * (double)free_probs[0];
      law->chances[law->n++] = chance * (double)probs[0];
      continue;
    }
    size_t length;
    const char *const text = tombola_vocabulary_bytes(tombola_model_vocabulary(law->model), i, &length);
    assert_true(answer->count < MOST_TOKENS);
    answer->tokens[answer->count++] = i;
    assert_int_equal(tombola_matcher_accept_bytes(law->bytes, text, length, NULL, NULL), TOMBOLA_OK);
    enumerate(law, answer, chance * (double)probs[i], free_chance * (double)free_probs[i]);
    tombola_matcher_rollback(law->bytes, 1);
    answer->count--;
  }
}

static struct law *law_of(tombola_model *model) {
  struct law *const law = calloc(1, sizeof *law);
  struct answer answer = {.count = 0};
  tombola_grammar *const grammar = grammar_with(NULL);
  assert_non_null(law);
  law->model = model;
  law->sampler = sampler_of(NULL, "1");
  assert_int_equal(tombola_matcher_new(grammar, NULL, &law->bytes, NULL), TOMBOLA_OK);
  enumerate(law, &answer, 1, 1);
  double sum = 0;
  for (size_t i = 0; i < law->n; i++)
    sum += law->free_chances[i];
  for (size_t i = 0; i < law->n; i++)
    law->free_chances[i] /= sum;
  tombola_matcher_free(law->bytes);
  tombola_grammar_free(grammar);
  tombola_sampler_free(law->sampler);
  return law;
}

/* ---- many answers ---- */

static int note(void *context, const struct tombola_token_event *event) {
  struct answer *const answer = context;
  assert_true(answer->count < MOST_TOKENS);
  answer->tokens[answer->count++] = event->token;
  return 1;
}

static size_t class_of(const struct law *law, const struct answer *answer) {
  for (size_t i = 0; i < law->n; i++)
    if (law->answers[i].count == answer->count &&
        memcmp(law->answers[i].tokens, answer->tokens, answer->count * sizeof *answer->tokens) == 0)
      return i;
  fail_msg("an answer that the grammar doesn't have");
  return 0;
}

struct counted {
  size_t classes[MOST_ANSWERS], jumped, accepted, drafted;
};

static void count_answers(const struct law *law, tombola_sampler *sampler, tombola_speculation *speculation,
                          int no_jump_ahead, struct counted *counted) {
  tombola_trie *trie;
  tombola_matcher *matcher;
  tombola_session *session;
  assert_int_equal(tombola_trie_new(tombola_model_vocabulary(law->model), NULL, &trie, NULL), TOMBOLA_OK);
  tombola_grammar *const grammar = grammar_with(trie);
  assert_int_equal(tombola_matcher_new(grammar, NULL, &matcher, NULL), TOMBOLA_OK);
  assert_int_equal(tombola_session_new(law->model, 0, NULL, &session, NULL), TOMBOLA_OK);
  memset(counted, 0, sizeof *counted);
  for (size_t i = 0; i < draws(); i++) {
    struct answer answer = {.count = 0};
    struct tombola_generation_stats stats;
    const struct tombola_generate_params params = {.struct_size = sizeof params,
                                                   .max_tokens = 100,
                                                   .on_token = note,
                                                   .context = &answer,
                                                   .matcher = matcher,
                                                   .speculation = speculation,
                                                   .no_jump_ahead = no_jump_ahead};
    tombola_matcher_reset(matcher);
    assert_int_equal(tombola_session_generate(session, sampler, prompt, PROMPT, &params, &stats, NULL),
                     TOMBOLA_OK);
    counted->classes[class_of(law, &answer)]++;
    counted->jumped += stats.jumped;
    counted->drafted += stats.speculation.drafted;
    counted->accepted += stats.speculation.accepted;
  }
  tombola_session_free(session);
  tombola_matcher_free(matcher);
  tombola_grammar_free(grammar);
  tombola_trie_free(trie);
}

static tombola_speculation *speculation_of(tombola_model *model, tombola_model *draft) {
  const struct tombola_speculation_params params = {.struct_size = sizeof params,
                                                    .kind = draft ? TOMBOLA_SPECULATION_DRAFT_MODEL
                                                                  : TOMBOLA_SPECULATION_PROMPT_LOOKUP,
                                                    .draft = draft,
                                                    .draft_tokens = 3,
                                                    .ngram_min = 1,
                                                    .governor = TOMBOLA_GOVERNOR_OFF};
  tombola_speculation *speculation;
  assert_int_equal(tombola_speculation_new(model, &params, NULL, &speculation, NULL), TOMBOLA_OK);
  return speculation;
}

static void test_law(void **state) {
  (void)state;
  static const char *const ways[] = {"one by one", "jumping ahead", "prompt lookup", "draft model"};
  struct counted *const counted = malloc(sizeof *counted);
  for (unsigned hash = 1; hash < 4; hash++) {
    tombola_model *const model = load(hash), *const draft = load(hash + 100);
    struct law *const law = law_of(model);
    for (int way = 0; way < 4; way++) {
      tombola_speculation *const speculation =
          way < 2 ? NULL : speculation_of(model, way == 3 ? draft : NULL);
      tombola_sampler *const sampler = sampler_of(NULL, "5");
      count_answers(law, sampler, speculation, way == 0, counted);
      const double fit = support_chi_square(counted->classes, law->chances, law->n, draws());
      const double wrong = support_chi_square(counted->classes, law->free_chances, law->n, draws());
      print_message("%zu answers, %-13s p %.3f, of the wrong law %.1g; jumped %zu, accepted %zu of %zu\n",
                    law->n, ways[way], fit, wrong, counted->jumped, counted->accepted, counted->drafted);
      assert_true(fit > GOOD_FIT && wrong < WRONG_FIT);
      if (way == 0) assert_int_equal(counted->jumped, 0);
      if (way == 1 || way == 2) assert_true(counted->jumped > draws());
      if (way >= 2) assert_true(counted->accepted > 0 && counted->accepted < counted->drafted);
      tombola_sampler_free(sampler);
      tombola_speculation_free(speculation);
    }
    free(law);
    tombola_model_free(draft);
    tombola_model_free(model);
  }
  free(counted);
}

/* What a stage learns from a choice it learns from the only one too: two samples of one law. */
static void test_what_learns(void **state) {
  (void)state;
  static const char *const more[][3][2] = {
      {{"mirostat", "2"}, {"mirostat_tau", "1.2"}, {NULL, NULL}},
      {{"adaptive_target", "0.3"}, {"adaptive_decay", "0.5"}, {NULL, NULL}},
  };
  struct counted *const counted = malloc(2 * sizeof *counted);
  tombola_model *const model = load(7);
  struct law *const law = law_of(model);
  for (size_t i = 0; i < 2; i++) {
    for (int jumps = 0; jumps < 2; jumps++) {
      tombola_sampler *const sampler = sampler_of(more[i], jumps ? "5" : "6");
      count_answers(law, sampler, NULL, !jumps, &counted[jumps]);
      tombola_sampler_free(sampler);
    }
    double statistic = 0;
    size_t classes = 0;
    for (size_t c = 0; c < law->n; c++) {
      const double a = (double)counted[0].classes[c], b = (double)counted[1].classes[c];
      if (a + b < 10) continue;
      statistic += (a - b) * (a - b) / (a + b);
      classes++;
    }
    assert_true(classes > 1);
    const double fit = support_gamma_q((double)(classes - 1) / 2, statistic / 2);
    print_message("%s: p %.3f\n", more[i][0][0], fit);
    assert_true(fit > GOOD_FIT);
  }
  free(counted);
  free(law);
  tombola_model_free(model);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_law), cmocka_unit_test(test_what_learns)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
