/* SPDX-License-Identifier: Apache-2.0 */
/* Banned phrases together with budgets, stop strings, limits, models that can't forget, passes that fail, and
 * memory that runs out. */
#include "bans.h"
#include "play.h"
#include "session_support.h"
#include "support.h"
#include "toy.h"

#define EOS TOMBOLA_STOP_END_TOKEN

static const char eight_tokens[] =
    "{\"vocab\": [\"<eos>\", \"a\", \"b\", \"ab\", \"ba\", \"aab\", \"c\", \"abc\"],"
    " \"end\": [0], \"hash\": %u}";

/* ---- together with the rest ---- */

/* Forced tokens are neither searched nor taken back, though the phrase is their very text; the model's own
 * are. */
static void test_with_budget(void **state) {
  (void)state;
  const char json[] =
      "{\"vocab\": [\"<eos>\", \"<t>\", \"</t>\", \"x\", \"y\"], \"end\": [0], \"special\": [1, 2],"
      " \"by_last\": {\"1\": 3, \"3\": {\"logits\": [0, 0, 9, 8, 0]}, \"2\": 4, \"4\": 0}}";
  struct tombola_bytes list[3];
  struct tombola_phrase_bans bans = bans_of(list, (const char *const[]){"</t>", NULL});
  struct tombola_text_params text = {
      .struct_size = sizeof text, .think_open = "<t>", .think_close = "</t>", .starts_in_reasoning = 1};
  struct tombola_think_budget budget = {.struct_size = sizeof budget, .tokens = 4};
  struct play p = {.params = {.bans = &bans, .text = &text, .think_budget = &budget}};
  const tombola_token prompt = 1;
  play(&p, json, &prompt, 1);
  play_ok(&p, EOS);
  play_text(&p, "y", p.text[1]);
  assert_int_equal(p.count, 6);
  assert_int_equal(p.stats.forced, 1);
  assert_true(p.stats.rollbacks > 0);
}

/* A stop string in what is released ends the answer; what is held back behind it is dropped, from the cache
 * too. */
static void test_with_stop(void **state) {
  (void)state;
  const char *pieces[] = {"one", "STOPba", "nn", "x", "y", NULL};
  struct tombola_bytes list[1], stop = {"STOP", 4};
  struct tombola_phrase_bans bans = bans_of(list, (const char *const[]){"banned", NULL});
  struct tombola_text_params text = {.struct_size = sizeof text, .stops = &stop, .n_stops = 1};
  struct play p = {.params = {.bans = &bans, .text = &text}};
  play_pieces(&p, pieces);
  play_ok(&p, TOMBOLA_STOP_STOP_STRING);
  play_text(&p, "one", "");
  assert_int_equal(p.count, 2);
  assert_int_equal(p.cached, 3); /* "nn" was in the cache */
  assert_int_equal(p.stats.rollbacks, 0);
}

static void test_with_limit(void **state) {
  (void)state;
  const char *pieces[] = {"x", "ba", "nn", "y", NULL};
  struct tombola_bytes list[1];
  struct tombola_phrase_bans bans = bans_of(list, (const char *const[]){"banned", NULL});
  struct tombola_text_params text = {.struct_size = sizeof text};
  static const char *const want[] = {"x", "xba", "xbann", "xbanny"};
  for (int64_t limit = 1; limit <= 4; limit++) {
    struct play p = {.params = {.bans = &bans, .text = &text, .max_tokens = limit}};
    play_pieces(&p, pieces);
    play_ok(&p, TOMBOLA_STOP_MAX_TOKENS);
    play_text(&p, want[limit - 1], "");
  }
}

/* A model that can't forget a part of its cache computes it again, and says the same. */
static void test_all_or_nothing(void **state) {
  (void)state;
  struct tombola_bytes list[2];
  struct tombola_phrase_bans bans =
      bans_of(list, (const char *const[]){"mho", "ca", NULL}); /* of 6 12 7 14 11 5 10 3 */
  const tombola_token prompt[] = {1, 2, 3};
  struct play runs[2] = {{.params = {.bans = &bans, .max_tokens = 20}},
                         {.params = {.bans = &bans, .max_tokens = 20}}};
  for (int i = 0; i < 2; i++) {
    tombola_model *model = toy_model(TOY_CONTEXT, 4, -1);
    toy_last->all_or_nothing = i;
    tombola_sampler *sampler = play_sampler(TOY_VOCAB, NULL, NULL);
    tombola_session *session = session_on(model, 0);
    play_on(&runs[i], session, sampler, prompt, 3);
    play_ok(&runs[i], TOMBOLA_STOP_MAX_TOKENS);
    assert_true(runs[i].stats.rollbacks > 0);
    check_cache(session, toy_last, runs[i].cached);
    tombola_session_free(session);
    tombola_sampler_free(sampler);
    tombola_model_free(model);
  }
  play_tokens(&runs[1], runs[0].tokens, 20);
}

/* The pass that runs a token again fails; each other pass, too. The session goes on as if nothing had been.
 */
static void test_failed_forward(void **state) {
  (void)state;
  struct tombola_bytes list[1];
  struct tombola_phrase_bans bans = bans_of(list, (const char *const[]){"mho", NULL});
  const tombola_token prompt[] = {1, 2, 3};
  tombola_model *model = toy_model(TOY_CONTEXT, 4, -1);
  tombola_sampler *sampler = play_sampler(TOY_VOCAB, NULL, NULL);
  tombola_session *session = session_on(model, 0);
  struct play whole = {.params = {.bans = &bans, .max_tokens = 10}};
  play_on(&whole, session, sampler, prompt, 3);
  size_t passes = toy_last->calls;
  for (size_t fail = 1; fail <= passes; fail++) {
    tombola_session_clear(session);
    struct play p = {.params = {.bans = &bans, .max_tokens = 10}};
    toy_last->fail_in = fail;
    play_on(&p, session, sampler, prompt, 3);
    assert_int_equal(p.status, TOMBOLA_MODEL);
    assert_string_equal(p.error.message, "the toy broke");
    assert_memory_equal(p.tokens, whole.tokens, p.count < 2 ? p.count : 0);
    check_cache(session, toy_last, p.cached);
    play_on(&p, session, sampler, prompt, 3);
    play_ok(&p, TOMBOLA_STOP_MAX_TOKENS);
    play_tokens(&p, whole.tokens, 10);
  }
  tombola_session_free(session);
  tombola_sampler_free(sampler);
  tombola_model_free(model);
}

/* ---- memory and arguments ---- */

static void test_refused(void **state) {
  (void)state;
  static char long_phrase[20000];
  memset(long_phrase, 'x', sizeof long_phrase);
  const char *pieces[] = {"a", NULL};
  struct tombola_bytes phrases[2] = {{"a", 1}, {"", 0}};
  struct tombola_phrase_bans bans = {.struct_size = sizeof bans, .phrases = phrases, .n_phrases = 2};
  struct play p = {.params = {.bans = &bans}};
  play_pieces(&p, pieces);
  assert_int_equal(p.status, TOMBOLA_INVALID_ARGUMENT);
  assert_string_equal(p.error.message, "phrase 1 of bans is empty");
  phrases[1] = (struct tombola_bytes){long_phrase, sizeof long_phrase};
  play_pieces(&p, pieces);
  assert_int_equal(p.status, TOMBOLA_INVALID_ARGUMENT);
  bans.phrases = NULL;
  play_pieces(&p, pieces);
  assert_int_equal(p.status, TOMBOLA_INVALID_ARGUMENT);
  bans.struct_size = 0;
  play_pieces(&p, pieces);
  assert_int_equal(p.status, TOMBOLA_INVALID_ARGUMENT);
  bans = (struct tombola_phrase_bans){.struct_size = sizeof bans}; /* no phrases, no bans */
  play_pieces(&p, pieces);
  play_ok(&p, EOS);
}

static void test_memory(void **state) {
  (void)state;
  struct tombola_bytes list[2];
  struct tombola_phrase_bans bans = bans_of(list, (const char *const[]){"bad word", "fine wo", NULL});
  tombola_model *model = script_load(bad_word, NULL);
  const tombola_token prompt = 7;
  for (size_t n = 1;; n++) {
    struct support_allocator memory = support_allocator(0);
    const struct tombola_allocator *allocator = support_allocator_use(&memory);
    struct tombola_sampler_params params = {.struct_size = sizeof params};
    assert_int_equal(tombola_sampler_params_default(&params, "llama.cpp", NULL), TOMBOLA_OK);
    params.temperature = 0;
    tombola_sampler *sampler;
    tombola_session *session;
    assert_int_equal(tombola_sampler_new(&params, NULL, 8, allocator, &sampler, NULL), TOMBOLA_OK);
    assert_int_equal(tombola_session_new(model, 0, allocator, &session, NULL), TOMBOLA_OK);
    struct play p = {.params = {.bans = &bans}};
    size_t before = memory.requests;
    memory.fail_at = before + n;
    play_on(&p, session, sampler, &prompt, 1);
    bool all = memory.requests < before + n;
    assert_int_equal(p.status, all ? TOMBOLA_OK : TOMBOLA_NO_MEMORY);
    memory.fail_at = 0;
    play_on(&p, session, sampler, &prompt, 1);
    play_ok(&p, EOS);
    tombola_session_free(session);
    tombola_sampler_free(sampler);
    support_allocator_check(&memory);
    if (all) {
      assert_true(n > 8);
      break;
    }
  }
  tombola_model_free(model);
}

/* Room is taken for what can be held back at once, whatever the length of the answer and the rollbacks. */
static void test_no_allocation(void **state) {
  (void)state;
  char json[256];
  snprintf(json, sizeof json, eight_tokens, 77u);
  struct support_allocator memory = support_allocator(0);
  const struct tombola_allocator *allocator = support_allocator_use(&memory);
  tombola_model *model = script_load(json, NULL);
  struct tombola_sampler_params params = {.struct_size = sizeof params};
  assert_int_equal(tombola_sampler_params_default(&params, "llama.cpp", NULL), TOMBOLA_OK);
  params.seed_mode = TOMBOLA_SEED_FIXED;
  tombola_sampler *sampler;
  tombola_session *session;
  assert_int_equal(tombola_sampler_new(&params, NULL, 8, allocator, &sampler, NULL), TOMBOLA_OK);
  assert_int_equal(tombola_session_new(model, 0, allocator, &session, NULL), TOMBOLA_OK);
  struct tombola_bytes list[2];
  struct tombola_phrase_bans bans = bans_of(list, (const char *const[]){"abcab", "bba", NULL});
  bans.max_rollbacks = bans.max_tokens = 1000000;
  struct tombola_generate_params generate = {
      .struct_size = sizeof generate, .max_tokens = 300, .bans = &bans, .ignore_end = 1};
  const tombola_token prompt = 1;
  size_t requests[2];
  for (int i = 0; i < 2; i++) {
    size_t before = memory.requests;
    struct tombola_generation_stats stats;
    assert_int_equal(tombola_session_generate(session, sampler, &prompt, 1, &generate, &stats, NULL),
                     TOMBOLA_OK);
    assert_int_equal(stats.generated, generate.max_tokens);
    assert_true(stats.rollbacks > 5);
    requests[i] = memory.requests - before;
    generate.max_tokens = 3000;
  }
  assert_true(requests[1] <= requests[0] + 4); /* a ring that had not been full yet */
  tombola_sampler_free(sampler);
  tombola_session_free(session);
  support_allocator_check(&memory);
  tombola_model_free(model);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_with_budget),    cmocka_unit_test(test_with_stop),
      cmocka_unit_test(test_with_limit),     cmocka_unit_test(test_all_or_nothing),
      cmocka_unit_test(test_failed_forward), cmocka_unit_test(test_refused),
      cmocka_unit_test(test_memory),         cmocka_unit_test(test_no_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
