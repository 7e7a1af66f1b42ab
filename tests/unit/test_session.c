/* SPDX-License-Identifier: Apache-2.0 */
/* The session: prefix reuse, chunked prefill, the order in which an answer ends, the sampler's history. */
#include "scripts.h"
#include "session_support.h"
#include "support.h"
#include "toy.h"

/* ---- prefix reuse ---- */

/* Case G10: an identical prompt, a shorter one, a stale suffix. Each answer is that of a cold model. */
static void test_g10(void **state) {
  (void)state;
  static const struct {
    tombola_token prompt[4];
    size_t count, reused;
  } turns[] = {{{1, 2, 3, 4}, 4, 0}, {{1, 2, 3, 4}, 4, 3}, {{1, 2}, 2, 1},
               {{1, 2, 9, 4}, 4, 2}, {{5}, 1, 0},          {{1, 2, 3, 4}, 4, 0}};
  tombola_model *model = toy_model(TOY_CONTEXT, 8, -1);
  struct toy *toy = toy_last;
  tombola_session *session = session_on(model, 0);
  tombola_sampler *sampler = sampler_with(TOY_VOCAB, NULL, NULL);
  for (size_t i = 0; i < sizeof turns / sizeof turns[0]; i++) {
    struct heard warm, cold;
    struct tombola_generation_stats stats =
        answer(session, sampler, turns[i].prompt, turns[i].count, 6, &warm);
    assert_int_equal(stats.prompt_reused, turns[i].reused);
    assert_int_equal(stats.generated, 6);
    assert_int_equal(stats.stop, TOMBOLA_STOP_MAX_TOKENS);
    expect_toy(&warm, turns[i].prompt, turns[i].count);
    check_cache(session, toy, turns[i].count + 5); /* the token at the limit isn't run */

    tombola_model *fresh = toy_model(TOY_CONTEXT, 8, -1);
    tombola_session *other = session_on(fresh, 0);
    stats = answer(other, sampler, turns[i].prompt, turns[i].count, 6, &cold);
    assert_int_equal(stats.prompt_reused, 0);
    assert_memory_equal(warm.tokens, cold.tokens, 6 * sizeof cold.tokens[0]);
    tombola_session_free(other);
    tombola_model_free(fresh);
  }
  tombola_sampler_free(sampler);
  tombola_session_free(session);
  tombola_model_free(model);
}

/* Random prompts that share random parts with what came before. */
static void test_reuse_random(void **state) {
  (void)state;
  struct support_rng rng = support_rng(2);
  tombola_model *model = toy_model(TOY_CONTEXT, 5, -1);
  tombola_session *session = session_on(model, 0);
  tombola_sampler *sampler = sampler_with(TOY_VOCAB, NULL, NULL);
  tombola_token prompt[32] = {0};
  for (int i = 0; i < 2000; i++) {
    size_t held, shared = 0, count = 1 + support_below(&rng, 32);
    const tombola_token *tokens = tombola_session_tokens(session, &held);
    size_t copied = support_below(&rng, held + 1);
    for (size_t j = 0; j < count; j++)
      prompt[j] = j < copied ? tokens[j] : (tombola_token)support_below(&rng, TOY_VOCAB);
    while (shared < held && shared < count - 1 && tokens[shared] == prompt[shared])
      shared++;
    struct heard heard;
    struct tombola_generation_stats stats =
        answer(session, sampler, prompt, count, 1 + (int64_t)support_below(&rng, 8), &heard);
    assert_int_equal(stats.prompt_reused, shared);
    expect_toy(&heard, prompt, count);
    check_cache(session, toy_last, count + heard.count - 1);
  }
  tombola_sampler_free(sampler);
  tombola_session_free(session);
  tombola_model_free(model);
}

/* The session's own token list as the prompt: "go on from here". */
static void test_go_on(void **state) {
  (void)state;
  tombola_model *model = toy_model(TOY_CONTEXT, 8, -1);
  tombola_session *session = session_on(model, 0);
  tombola_sampler *sampler = sampler_with(TOY_VOCAB, NULL, NULL);
  const tombola_token prompt[] = {3, 1, 4};
  struct heard heard;
  answer(session, sampler, prompt, 3, 4, &heard);
  size_t count;
  const tombola_token *tokens = tombola_session_tokens(session, &count);
  assert_int_equal(count, 6);
  struct tombola_generation_stats stats = answer(session, sampler, tokens, count, 1, &heard);
  assert_int_equal(stats.prompt_reused, 5);
  expect_toy(&heard, tokens, count);
  tombola_sampler_free(sampler);
  tombola_session_free(session);
  tombola_model_free(model);
}

/* A model that can only forget all of its sequence. */
static void test_all_or_nothing(void **state) {
  (void)state;
  tombola_model *model = toy_model(TOY_CONTEXT, 8, -1);
  tombola_session *session = session_on(model, 0);
  tombola_sampler *sampler = sampler_with(TOY_VOCAB, NULL, NULL);
  toy_last->all_or_nothing = 1;
  const tombola_token first[] = {1, 2, 3}, second[] = {1, 2, 4}, third[] = {1, 2, 4, 7, 5};
  struct heard heard;
  answer(session, sampler, first, 3, 2, &heard);
  struct tombola_generation_stats stats = answer(session, sampler, second, 3, 2, &heard);
  assert_int_equal(stats.prompt_reused, 0);
  expect_toy(&heard, second, 3);
  assert_int_equal(heard.tokens[0], 7);
  stats = answer(session, sampler, third, 5, 2, &heard); /* what only grows needs no cut */
  assert_int_equal(stats.prompt_reused, 4);
  expect_toy(&heard, third, 5);
  tombola_sampler_free(sampler);
  tombola_session_free(session);
  tombola_model_free(model);
}

/* ---- prefill ---- */

static void test_chunks(void **state) {
  (void)state;
  tombola_model *model = toy_model(TOY_CONTEXT, 4, -1);
  struct toy *toy = toy_last;
  tombola_session *session = session_on(model, 0);
  tombola_sampler *sampler = sampler_with(TOY_VOCAB, NULL, NULL);
  tombola_token prompt[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  struct heard heard;
  answer(session, sampler, prompt, 10, 1, &heard);
  expect_toy(&heard, prompt, 10);
  assert_int_equal(toy->calls, 3);
  assert_int_equal(toy->sizes[0], 4);
  assert_int_equal(toy->sizes[1], 4);
  assert_int_equal(toy->sizes[2], 2);
  assert_int_equal(toy->rows_asked, 1); /* of the last position alone */
  assert_int_equal(heard.prefills, 3);
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(heard.done[i], 4 * i);
    assert_int_equal(heard.total[i], 10);
  }

  answer(session, sampler, prompt, 12, 3, &heard); /* two more tokens of the prompt, two of the answer */
  expect_toy(&heard, prompt, 12);
  assert_int_equal(heard.prefills, 1);
  assert_int_equal(heard.total[0], 2);
  assert_int_equal(toy->calls, 6);
  assert_int_equal(toy->sizes[3], 2);
  assert_int_equal(toy->sizes[4], 1);
  assert_int_equal(toy->rows_asked, 4);
  tombola_sampler_free(sampler);
  tombola_session_free(session);
  tombola_model_free(model);
}

static void test_cancel(void **state) {
  (void)state;
  tombola_model *model = toy_model(TOY_CONTEXT, 4, -1);
  tombola_session *session = session_on(model, 0);
  tombola_sampler *sampler = sampler_with(TOY_VOCAB, NULL, NULL);
  tombola_token prompt[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  struct heard heard = {.cancel_at = 2};
  struct tombola_generate_params params = with(&heard, 3);
  struct tombola_generation_stats stats;
  struct tombola_error error;
  assert_int_equal(tombola_session_generate(session, sampler, prompt, 10, &params, &stats, &error),
                   TOMBOLA_CANCELLED);
  assert_string_equal(error.message, "cancelled after 4 of 10 prompt tokens");
  assert_int_equal(stats.prompt_run, 4);
  assert_int_equal(stats.generated, 0);
  check_cache(session, toy_last, 4);
  stats = answer(session, sampler, prompt, 10, 3, &heard);
  assert_int_equal(stats.prompt_reused, 4);
  expect_toy(&heard, prompt, 10);
  tombola_sampler_free(sampler);
  tombola_session_free(session);
  tombola_model_free(model);
}

/* ---- the end of an answer ---- */

/* The answer to {1, 2, 3} is 6 12 7 14 11 5 10 3 6 12 ... */
static const tombola_token one_two_three[] = {1, 2, 3};

static struct tombola_generation_stats ended(int end, const tombola_token *stop_ids, size_t n_stop_ids,
                                             size_t stop_at, int64_t max_tokens, size_t context,
                                             size_t want_cache) {
  tombola_model *model = toy_model(context, 8, end);
  tombola_session *session = session_on(model, 0);
  tombola_sampler *sampler = sampler_with(TOY_VOCAB, NULL, NULL);
  struct heard heard = {.stop_at = stop_at};
  struct tombola_generate_params params = with(&heard, max_tokens);
  params.stop_ids = stop_ids;
  params.n_stop_ids = n_stop_ids;
  struct tombola_generation_stats stats;
  assert_int_equal(tombola_session_generate(session, sampler, one_two_three, 3, &params, &stats, NULL),
                   TOMBOLA_OK);
  assert_int_equal(stats.generated, heard.count);
  expect_toy(&heard, one_two_three, 3);
  check_cache(session, toy_last, want_cache);
  tombola_sampler_free(sampler);
  tombola_session_free(session);
  tombola_model_free(model);
  return stats;
}

static void test_stop_order(void **state) {
  (void)state;
  const tombola_token stops[] = {16, 7};
  struct tombola_generation_stats stats;

  /* The end token is neither counted nor reported nor run, wherever the limit is. */
  stats = ended(7, NULL, 0, 0, 100, TOY_CONTEXT, 5);
  assert_int_equal(stats.stop, TOMBOLA_STOP_END_TOKEN);
  assert_int_equal(stats.generated, 2);
  stats = ended(7, NULL, 0, 0, 3, TOY_CONTEXT, 5);
  assert_int_equal(stats.stop, TOMBOLA_STOP_END_TOKEN);
  stats = ended(6, NULL, 0, 1, 1, 3, 3); /* it goes before everything else */
  assert_int_equal(stats.stop, TOMBOLA_STOP_END_TOKEN);
  assert_int_equal(stats.generated, 0);
  stats = ended(-1, stops, 2, 0, 100, TOY_CONTEXT, 5);
  assert_int_equal(stats.stop, TOMBOLA_STOP_END_TOKEN);
  assert_int_equal(stats.generated, 2);

  /* The callback goes before the limit, the limit before the full context. */
  stats = ended(-1, NULL, 0, 2, 2, TOY_CONTEXT, 4);
  assert_int_equal(stats.stop, TOMBOLA_STOP_CALLER);
  assert_int_equal(stats.generated, 2);
  stats = ended(-1, NULL, 0, 0, 2, TOY_CONTEXT, 4); /* the token at the limit is reported and not run */
  assert_int_equal(stats.stop, TOMBOLA_STOP_MAX_TOKENS);
  assert_int_equal(stats.generated, 2);
  stats = ended(-1, NULL, 0, 3, 3, 5, 5);
  assert_int_equal(stats.stop, TOMBOLA_STOP_CALLER);
  stats = ended(-1, NULL, 0, 0, 3, 5, 5);
  assert_int_equal(stats.stop, TOMBOLA_STOP_MAX_TOKENS);
  stats = ended(-1, NULL, 0, 0, 4, 5, 5);
  assert_int_equal(stats.stop, TOMBOLA_STOP_CONTEXT_FULL);
  assert_int_equal(stats.generated, 3);

  /* A prompt as long as the context leaves room for one token, which is reported. */
  stats = ended(-1, NULL, 0, 0, 100, 3, 3);
  assert_int_equal(stats.stop, TOMBOLA_STOP_CONTEXT_FULL);
  assert_int_equal(stats.generated, 1);
}

static void test_stop_names(void **state) {
  (void)state;
  assert_string_equal(tombola_stop_name(TOMBOLA_STOP_END_TOKEN), "end_token");
  assert_string_equal(tombola_stop_name(TOMBOLA_STOP_CONTEXT_FULL), "context_full");
  assert_string_equal(tombola_stop_finish(TOMBOLA_STOP_CALLER), "stop");
  assert_string_equal(tombola_stop_finish(TOMBOLA_STOP_MAX_TOKENS), "length");
  assert_string_equal(tombola_stop_name((enum tombola_stop)99), "unknown");
}

static void test_ignore_end(void **state) {
  (void)state;
  tombola_model *model =
      script_load("{\"vocab\": [\"a\",\"b\",\"c\",\"d\"], \"end\": [1, 3], \"after\": \"repeat\", "
                  "\"steps\": [{\"logits\": [1, 9, 2, 8]}, {\"logits\": [3, 9, 2, 8]}]}",
                  NULL);
  tombola_session *session = session_on(model, 0);
  tombola_sampler *sampler = sampler_with(4, NULL, NULL);
  const tombola_token prompt[] = {0}, stop[] = {0};
  struct heard heard = {.count = 0};
  struct tombola_generate_params params = with(&heard, 4);
  struct tombola_generation_stats stats;
  params.ignore_end = 1;
  assert_int_equal(tombola_session_generate(session, sampler, prompt, 1, &params, &stats, NULL), TOMBOLA_OK);
  assert_int_equal(stats.generated, 4);
  assert_int_equal(heard.tokens[0], 2);
  assert_int_equal(heard.tokens[1], 0);
  assert_int_equal(stats.stop, TOMBOLA_STOP_MAX_TOKENS);

  heard.count = 0;
  params.stop_ids = stop;
  params.n_stop_ids = 1;
  assert_int_equal(tombola_session_generate(session, sampler, prompt, 1, &params, &stats, NULL), TOMBOLA_OK);
  assert_int_equal(stats.stop, TOMBOLA_STOP_END_TOKEN);
  assert_int_equal(stats.generated, 1);

  params.ignore_end = 0;
  assert_int_equal(tombola_session_generate(session, sampler, prompt, 1, &params, &stats, NULL), TOMBOLA_OK);
  assert_int_equal(stats.stop, TOMBOLA_STOP_END_TOKEN);
  assert_int_equal(stats.generated, 0);
  tombola_sampler_free(sampler);
  tombola_session_free(session);
  tombola_model_free(model);
}

/* ---- the sampler's history ---- */

/* Every row prefers a, b, c in this order by little; a presence penalty of 1 moves what was there behind the
 * rest. */
static void test_history(void **state) {
  (void)state;
  tombola_model *model =
      script_load("{\"vocab\": [\"a\",\"b\",\"c\",\"e\"], \"end\": [3], \"after\": \"repeat\", "
                  "\"steps\": [{\"logits\": [3, 2.9, 2.8, 0]}]}",
                  NULL);
  tombola_session *session = session_on(model, 0);
  tombola_sampler *sampler = sampler_with(4, "presence_penalty", "1");
  struct heard heard;
  answer(session, sampler, (const tombola_token[]){0}, 1, 3,
         &heard); /* the prompt counts, and so does each token */
  assert_memory_equal(heard.tokens, ((const tombola_token[]){1, 2, 0}), 3 * sizeof(tombola_token));
  answer(session, sampler, (const tombola_token[]){2}, 1, 3, &heard); /* nothing is left of the turn before */
  assert_memory_equal(heard.tokens, ((const tombola_token[]){0, 1, 0}), 3 * sizeof(tombola_token));
  tombola_sampler_free(sampler);
  tombola_session_free(session);
  tombola_model_free(model);
}

/* ---- the scripted model under a session ---- */

/* Each turn gets the answer of a cold model, also when it goes exactly one token beyond what the cache holds.
 */
static void test_turns(void **state) {
  (void)state;
  const char *json = "{\"vocab\": [\"e\",\"a\",\"b\",\"c\",\"x\"], \"end\": [0], \"steps\": [1, 2, 3]}";
  tombola_model *model = script_load(json, NULL);
  tombola_session *session = session_on(model, 0);
  tombola_sampler *sampler = sampler_with(5, NULL, NULL);
  tombola_token prompt[32] = {4, 4};
  size_t count = 2;
  for (int turn = 0; turn < 5; turn++) {
    struct heard heard;
    struct tombola_generation_stats stats = answer(session, sampler, prompt, count, 100, &heard);
    assert_int_equal(stats.stop, TOMBOLA_STOP_END_TOKEN);
    assert_int_equal(heard.count, 3);
    assert_memory_equal(heard.tokens, ((const tombola_token[]){1, 2, 3}), 3 * sizeof(tombola_token));
    assert_int_equal(stats.prompt_reused, turn == 0 ? 0 : count - 1);
    memcpy(prompt + count, heard.tokens, 3 * sizeof *prompt);
    prompt[count + 3] = 4;
    count += 4;
  }
  tombola_sampler_free(sampler);
  tombola_session_free(session);
  tombola_model_free(model);
}

static void test_times(void **state) {
  (void)state;
  tombola_model *model =
      script_load("{\"vocab\": [\"e\",\"a\"], \"end\": [0], \"steps\": [1, 1, 1], \"delay_ms\": 20}", NULL);
  tombola_session *session = session_on(model, 0);
  tombola_sampler *sampler = sampler_with(2, NULL, NULL);
  struct heard heard;
  struct tombola_generation_stats stats =
      answer(session, sampler, (const tombola_token[]){1, 1}, 2, 3, &heard);
  assert_true(stats.prefill_seconds >= 0.020);
  assert_true(stats.decode_seconds >= 0.040); /* two forward passes: the third token isn't run */
  assert_true(stats.sample_seconds > 0 && stats.sample_seconds < stats.decode_seconds);
  tombola_sampler_free(sampler);
  tombola_session_free(session);
  tombola_model_free(model);
}

/* Two sessions on one model, a token at a time in turns, don't disturb each other. */
static void test_two_sequences(void **state) {
  (void)state;
  tombola_model *model = toy_model(TOY_CONTEXT, 8, -1);
  tombola_session *sessions[] = {session_on(model, 0), session_on(model, 1)};
  tombola_sampler *sampler = sampler_with(TOY_VOCAB, NULL, NULL);
  tombola_token prompts[2][32] = {{1, 2, 3}, {9, 9}};
  size_t counts[] = {3, 2};
  for (size_t i = 0; i < 40; i++) {
    struct heard heard;
    size_t s = i % 2;
    struct tombola_generation_stats stats = answer(sessions[s], sampler, prompts[s], counts[s], 1, &heard);
    assert_int_equal(stats.prompt_run, i < 2 ? counts[s] : 1);
    expect_toy(&heard, prompts[s], counts[s]);
    prompts[s][counts[s]++] = heard.tokens[0];
  }
  tombola_session_free(sessions[0]); /* empties its sequence, not the other */
  assert_int_equal(toy_last->length[0], 0);
  assert_int_equal(toy_last->length[1], 21);
  tombola_session_clear(sessions[1]);
  assert_int_equal(toy_last->length[1], 0);
  size_t count = 1;
  tombola_session_tokens(sessions[1], &count);
  assert_int_equal(count, 0);
  tombola_session_free(sessions[1]);
  tombola_sampler_free(sampler);
  tombola_model_free(model);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_g10),           cmocka_unit_test(test_reuse_random),
      cmocka_unit_test(test_go_on),         cmocka_unit_test(test_all_or_nothing),
      cmocka_unit_test(test_chunks),        cmocka_unit_test(test_cancel),
      cmocka_unit_test(test_stop_order),    cmocka_unit_test(test_stop_names),
      cmocka_unit_test(test_ignore_end),    cmocka_unit_test(test_history),
      cmocka_unit_test(test_turns),         cmocka_unit_test(test_times),
      cmocka_unit_test(test_two_sequences),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
