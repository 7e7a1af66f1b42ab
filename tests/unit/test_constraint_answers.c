/* SPDX-License-Identifier: Apache-2.0 */
/* Constraints in answers, over scripted models: a constraint that allows all changes nothing, one that doesn't works
 * together with biases, penalties and draws as the same masks by hand would, and a model that loves white space gets to
 * the end. */
#include "base/base.h"
#include "play.h"
#include "support.h"

#include <math.h>
#include <tombola/constraint.h>

/* ---- a model with every byte, some words and an end, whose rows look random ---- */

enum { END = 256, PROMPT = 263 };

static const char *const pieces[] = {"</s>", "{\"", "\":", "true", "12", ", ", "}", "Answer:"};

static tombola_model *random_model(void) {
  char json[8192];
  int at = snprintf(json, sizeof json, "{\"vocab\":[");
  for (int byte = 0; byte < 256; byte++)
    at += snprintf(json + at, sizeof json - (size_t)at, "{\"hex\":\"%02x\"},", (unsigned)byte);
  for (size_t i = 0; i < TOMBOLA__COUNT(pieces); i++) {
    at += snprintf(json + at, sizeof json - (size_t)at, "%s{\"hex\":\"", i ? "," : "");
    for (const char *c = pieces[i]; *c; c++)
      at += snprintf(json + at, sizeof json - (size_t)at, "%02x", (unsigned)(unsigned char)*c);
    at += snprintf(json + at, sizeof json - (size_t)at, "\"}");
  }
  snprintf(json + at, sizeof json - (size_t)at, "],\"end\":[%d],\"hash\":17}", END);
  return script_load(json, NULL);
}

struct setting {
  tombola_model *model;
  tombola_trie *trie;
  tombola_grammar *grammar;
  tombola_matcher *matcher;
};

static struct setting setting_of(tombola_model *model, const struct tombola_grammar_source *source) {
  struct setting s = {.model = model};
  struct tombola_error error = {.message = ""};
  assert_int_equal(tombola_trie_new(tombola_model_vocabulary(model), NULL, &s.trie, NULL), TOMBOLA_OK);
  if (tombola_grammar_new(source, s.trie, NULL, &s.grammar, NULL, &error)) fail_msg("%s", error.message);
  assert_int_equal(tombola_matcher_new(s.grammar, NULL, &s.matcher, NULL), TOMBOLA_OK);
  return s;
}

static void setting_free(struct setting *s) {
  tombola_matcher_free(s->matcher);
  tombola_grammar_free(s->grammar);
  tombola_trie_free(s->trie);
  tombola_model_free(s->model);
}

static tombola_sampler *sampler_of(size_t vocab_size, const char *const *values,
                                   const struct tombola_logit_bias *biases, size_t n_biases) {
  struct tombola_sampler_params params = {.struct_size = sizeof params};
  tombola_sampler *sampler;
  assert_int_equal(tombola_sampler_params_default(&params, "tombola", NULL), TOMBOLA_OK);
  for (; *values; values += 2)
    assert_int_equal(tombola_sampler_params_set(&params, values[0], values[1], NULL), TOMBOLA_OK);
  params.logit_bias = biases;
  params.n_logit_bias = n_biases;
  assert_int_equal(tombola_sampler_new(&params, NULL, vocab_size, NULL, &sampler, NULL), TOMBOLA_OK);
  return sampler;
}

/* An answer after PROMPT by a session and a sampler of its own. */
static void biased_answer(struct play *p, tombola_model *model, const char *const *values,
                          const struct tombola_logit_bias *biases, size_t n_biases) {
  const tombola_token prompt = PROMPT;
  tombola_session *session;
  const size_t vocab_size = tombola_vocabulary_count(tombola_model_vocabulary(model));
  tombola_sampler *const sampler = sampler_of(vocab_size, values, biases, n_biases);
  assert_int_equal(tombola_session_new(model, 0, NULL, &session, NULL), TOMBOLA_OK);
  play_on(p, session, sampler, &prompt, 1);
  if (p->status != TOMBOLA_OK) print_message("%s\n", p->error.message);
  tombola_session_free(session);
  tombola_sampler_free(sampler);
}

static void answer(struct play *p, tombola_model *model, const char *const *values) {
  biased_answer(p, model, values, NULL, 0);
}

static struct tombola_grammar_source source_of(enum tombola_grammar_kind kind, const char *text) {
  return (struct tombola_grammar_source){.struct_size = sizeof(struct tombola_grammar_source),
                                         .kind = kind,
                                         .text = text,
                                         .length = text ? strlen(text) : 0};
}

static void assert_same(const struct play *a, const struct play *b) {
  assert_int_equal(a->status, TOMBOLA_OK);
  assert_int_equal(b->status, TOMBOLA_OK);
  assert_int_equal(a->stats.stop, b->stats.stop);
  assert_int_equal(a->count, b->count);
  assert_memory_equal(a->tokens, b->tokens, a->count * sizeof *a->tokens);
}

/* ---- R34 ---- */

/* The free text of a mix allows all: the tokens are those of an answer without a constraint, with the same numbers. */
static void what_allows_all_changes_nothing(void **state) {
  (void)state;
  static const char *const values[][12] = {
      {"temperature", "1", "seed", "5", NULL},
      {"temperature", "0.8", "top_k", "40", "repeat_penalty", "1.2", "seed", "6", NULL},
      {"temperature", "0", NULL}};
  const struct tombola_mix_rule rule = {
      "<a trigger that no answer has>", 30, TOMBOLA_GRAMMAR_JSON, NULL, 0, NULL, 0, 0};
  struct tombola_grammar_source source = source_of(TOMBOLA_GRAMMAR_MIX, NULL);
  source.rules = &rule;
  source.n_rules = 1;
  struct setting s = setting_of(random_model(), &source);
  for (size_t i = 0; i < TOMBOLA__COUNT(values); i++) {
    static struct play without, with;
    memset(&without, 0, sizeof without);
    memset(&with, 0, sizeof with);
    tombola_matcher_reset(s.matcher);
    with.params.matcher = s.matcher;
    with.params.ignore_end = without.params.ignore_end = 1;
    answer(&without, s.model, values[i]);
    answer(&with, s.model, values[i]);
    assert_same(&without, &with);
    assert_int_equal(with.count, 100);
    assert_int_equal(tombola_matcher_accepted(s.matcher), with.count);
  }
  setting_free(&s);
}

/* ---- R40, M31 ---- */

/* Masks by hand: another matcher replays the answer. */
struct by_hand {
  struct play play;
  tombola_matcher *matcher;
};

static enum tombola_status mask_by_hand(void *context, const tombola_token *tokens, size_t count,
                                        struct tombola_mask *mask) {
  struct by_hand *const h = context;
  tombola_matcher_reset(h->matcher);
  for (size_t i = 0; i < count; i++)
    assert_int_equal(tombola_matcher_accept(h->matcher, tokens[i], NULL), TOMBOLA_OK);
  return tombola_matcher_mask(h->matcher, mask, NULL);
}

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"boolean\"},\"b\":{\"type\":\"array\",\"items\":{"
    "\"type\":"
    "\"integer\"},\"maxItems\":3}},\"required\":[\"a\",\"b\"],\"additionalProperties\":false}";

static void it_composes_with_penalties_and_draws(void **state) {
  (void)state;
  static const char *const values[][16] = {
      {"temperature", "1", "seed", "5", NULL},
      {"temperature", "0", NULL},
      {"temperature", "0", "repeat_penalty", "1.5", "repeat_last_n", "-1", NULL},
      {"temperature", "1.5", "top_p", "0.9", "min_p", "0.05", "seed", "7", NULL},
      {"temperature", "0.9", "repeat_penalty", "1.3", "frequency_penalty", "0.5", "dry_multiplier", "0.8",
       "seed", "8", NULL}};
  struct tombola_grammar_source source = source_of(TOMBOLA_GRAMMAR_JSON_SCHEMA, schema);
  source.whitespace_max = 3;
  struct setting s = setting_of(random_model(), &source);
  for (size_t i = 0; i < TOMBOLA__COUNT(values); i++) {
    static struct play with;
    static struct by_hand hand;
    memset(&with, 0, sizeof with);
    memset(&hand, 0, sizeof hand);
    tombola_matcher_reset(s.matcher);
    with.params.matcher = s.matcher;
    with.params.max_tokens = hand.play.params.max_tokens = 400;
    answer(&with, s.model, values[i]);
    assert_int_equal(with.stats.stop, TOMBOLA_STOP_END_TOKEN);
    assert_true(tombola_matcher_is_complete(s.matcher)); /* it is where the answer ended */
    assert_int_equal(tombola_matcher_accepted(s.matcher), with.count);
    hand.matcher = s.matcher;
    hand.play.params.on_mask = mask_by_hand;
    hand.play.params.context = &hand;
    answer(&hand.play, s.model, values[i]);
    assert_same(&with, &hand.play);
  }
  setting_free(&s);
}

/* The mask comes before the biases: what is masked no bias brings back, and what is banned too leaves nothing. */
static void masks_come_before_biases(void **state) {
  (void)state;
  struct tombola_grammar_source source = source_of(TOMBOLA_GRAMMAR_REGEX, "[ab]{6}");
  struct setting s = setting_of(random_model(), &source);
  static struct play p;
  memset(&p, 0, sizeof p);
  p.params.matcher = s.matcher;
  static const char *const greedy[] = {"temperature", "0", NULL}, *const drawn[] = {"temperature", "1", NULL};
  static const struct tombola_logit_bias lifted[] = {{'c', 100}, {'a', 50}};
  static const struct tombola_logit_bias banned[] = {{'a', -INFINITY}, {'b', -INFINITY}};
  biased_answer(&p, s.model, greedy, lifted, 2);
  assert_int_equal(p.status, TOMBOLA_OK);
  assert_int_equal(p.stats.stop, TOMBOLA_STOP_END_TOKEN);
  assert_int_equal(p.count, 6);
  for (size_t i = 0; i < 6; i++)
    assert_int_equal(p.tokens[i], 'a');

  memset(&p, 0, sizeof p);
  tombola_matcher_reset(s.matcher);
  p.params.matcher = s.matcher;
  biased_answer(&p, s.model, drawn, banned, 2);
  assert_int_equal(p.status, TOMBOLA_NO_CANDIDATE);
  assert_int_equal(p.count, 0);
  assert_int_equal(tombola_matcher_accepted(s.matcher), 0); /* only what was drawn is followed */
  setting_free(&s);
}

/* Where the text is complete and can't go on the answer ends, whatever else was asked for. */
static void a_finished_matcher_ends_the_answer(void **state) {
  (void)state;
  static const char *const values[] = {"temperature", "1", "seed", "9", NULL};
  struct tombola_grammar_source source = source_of(TOMBOLA_GRAMMAR_REGEX, "[0-9]{4}");
  struct setting s = setting_of(random_model(), &source);
  static struct play p;
  for (int round = 0; round < 3; round++) {
    memset(&p, 0, sizeof p);
    tombola_matcher_reset(s.matcher);
    p.params.matcher = s.matcher;
    p.params.min_tokens = round == 1 ? 50 : 0;
    p.params.ignore_end = round == 2;
    answer(&p, s.model, values);
    assert_int_equal(p.status, TOMBOLA_OK);
    assert_int_equal(p.stats.stop, TOMBOLA_STOP_END_TOKEN);
    assert_true(p.count <= 4 && tombola_matcher_is_complete(s.matcher));
  }
  setting_free(&s);
}

/* ---- R41 ---- */

/* It takes white space wherever it may. With the bound of 64 a place it comes to the end; without, it never does. */
static void a_lover_of_white_space_comes_to_the_end(void **state) {
  (void)state;
  static const char script[] =
      "{\"vocab\":[\"</s>\",\" \",\"{\",\"\\\"\",\"a\",\":\",\"1\",\"}\",\"\\\\\",\"P\"],\"end\":[0],"
      "\"steps\":[{\"logits\":[0,10,2,1,3,2,2,2,0,0]}],\"after\":\"repeat\"}";
  static const char *const greedy[] = {"temperature", "0", NULL};
  static struct play p;
  for (int any = 0; any < 2; any++) {
    struct tombola_grammar_source source =
        source_of(TOMBOLA_GRAMMAR_JSON_SCHEMA,
                  "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"}},\"required\":[\"a\"],"
                  "\"additionalProperties\":false}");
    if (any) source.whitespace = TOMBOLA_WHITESPACE_ANY;
    struct setting s = setting_of(script_load(script, NULL), &source);
    const tombola_token prompt = 9;
    tombola_session *session;
    tombola_sampler *const sampler = sampler_of(10, greedy, NULL, 0);
    assert_int_equal(tombola_session_new(s.model, 0, NULL, &session, NULL), TOMBOLA_OK);
    memset(&p, 0, sizeof p);
    p.params.matcher = s.matcher;
    p.params.max_tokens = 500;
    play_on(&p, session, sampler, &prompt, 1);
    assert_int_equal(p.status, TOMBOLA_OK);
    assert_int_equal(p.stats.stop, any ? TOMBOLA_STOP_MAX_TOKENS : TOMBOLA_STOP_END_TOKEN);
    size_t run = 0, longest = 0, others = 0;
    for (size_t i = 0; i < p.count; i++) {
      run = p.tokens[i] == 1 ? run + 1 : 0;
      others += p.tokens[i] != 1;
      longest = run > longest ? run : longest;
    }
    assert_int_equal(longest, any ? 500 : 64);
    if (!any) assert_int_equal(others, strlen("{\"a\":1}"));
    tombola_session_free(session);
    tombola_sampler_free(sampler);
    setting_free(&s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_allows_all_changes_nothing),
      cmocka_unit_test(it_composes_with_penalties_and_draws),
      cmocka_unit_test(masks_come_before_biases),
      cmocka_unit_test(a_finished_matcher_ends_the_answer),
      cmocka_unit_test(a_lover_of_white_space_comes_to_the_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
