/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions over libllama with the default model: states in files, forks, a shifted context, banned phrases.
 * The same tokens are compared, greedily; a token whose logits are nearly a tie could differ where a batch's
 * shape changes the last bits, so the texts are short and were looked at. */
#include "llama_support.h"

#include "play.h"

enum { CONTEXT = 96 };

static tombola_model *model;
static size_t vocab_size;
static char path[4096];

static tombola_model *load_model(const struct tombola_model_params *params) {
  struct tombola_error error = {0};
  tombola_model *loaded = NULL;
  if (support_load(path, params, &loaded, &error) != TOMBOLA_OK) fail_msg("%s", error.message);
  return loaded;
}

static size_t chat_prompt(const char *question, tombola_token *tokens, size_t room) {
  struct tombola_chat_message message = {"user", question};
  char text[1024];
  size_t length, count;
  assert_ok(tombola_model_apply_template(model, NULL, &message, 1, 1, text, sizeof text, &length, NULL));
  assert_ok(tombola_model_tokenize(model, text, length, TOMBOLA_TOKENIZE_PARSE_SPECIAL, tokens, room, &count,
                                   NULL));
  return count;
}

static tombola_session *session_of(tombola_model *of, int32_t sequence) {
  tombola_session *session;
  assert_ok(tombola_session_new(of, sequence, NULL, &session, NULL));
  return session;
}

/* ---- states and forks ---- */

/* Whatever way the cache came to its place, the answer on top of it is that of the session it came from. */
static void test_states(void **state) {
  (void)state;
  tombola_sampler *sampler = play_sampler(vocab_size, NULL, NULL);
  tombola_session *session = session_of(model, 0), *fork, *loaded = session_of(model, 1);
  tombola_token prompt[96];
  size_t count = chat_prompt("Write a long story.", prompt, 60);
  struct play first = {.params = {.max_tokens = 12}}, want = {.params = {.max_tokens = 10}};
  play_on(&first, session, sampler, prompt, count);
  char file[] = "/tmp/tombola-llama-state-XXXXXX";
  int descriptor = mkstemp(file);
  assert_true(descriptor >= 0);
  close(descriptor);
  struct tombola_error error = {0};
  if (tombola_session_save(session, file, &error) != TOMBOLA_OK) fail_msg("%s", error.message);
  memcpy(prompt + count, first.tokens, first.count * sizeof *prompt);
  count += first.count;
  play_on(&want, session, sampler, prompt, count);
  play_ok(&want, want.stats.stop);
  assert_true(want.count > 0);

  if (tombola_session_load(loaded, file, &error) != TOMBOLA_OK) fail_msg("%s", error.message);
  struct play got = {.params = {.max_tokens = 10}};
  play_on(&got, loaded, sampler, prompt, count);
  play_tokens(&got, want.tokens, want.count);
  assert_int_equal(got.stats.prompt_reused, count - 1);

  assert_ok(tombola_session_fork(loaded, 2, NULL, &fork, NULL));
  play_on(&got, fork, sampler, prompt, count);
  play_tokens(&got, want.tokens, want.count);
  assert_int_equal(got.stats.prompt_reused, count - 1);
  tombola_session_free(fork);

  /* A cache of another type takes no such state, and is as it was. */
  struct tombola_model_params params = support_params(CONTEXT, 1);
  params.kv_type = TOMBOLA_KV_F32;
  tombola_model *other = load_model(&params);
  tombola_session *its = session_of(other, 0);
  play_on(&got, its, sampler, prompt, 5);
  assert_int_equal(tombola_session_load(its, file, &error), TOMBOLA_FORMAT);
  assert_non_null(strstr(error.message, "another type (kv_type 0, here it is 1)"));
  size_t held;
  tombola_session_tokens(its, &held);
  assert_int_equal(held, got.cached);
  struct play again = {.params = {.max_tokens = 10}};
  play_on(&again, its, sampler, prompt, 5);
  play_tokens(&again, got.tokens, got.count);
  tombola_session_free(its);
  tombola_model_free(other);
  unlink(file);
  tombola_session_free(loaded);
  tombola_session_free(session);
  tombola_sampler_free(sampler);
}

/* ---- the shift ---- */

static void test_shift(void **state) {
  (void)state;
  tombola_sampler *sampler = play_sampler(vocab_size, NULL, NULL);
  tombola_session *session = session_of(model, 0);
  tombola_token prompt[96];
  size_t count = chat_prompt("Write a long story.", prompt, 80);
  struct play p = {.params = {.max_tokens = 150, .ignore_end = 1, .context_shift = 1, .keep_tokens = 8}};
  play_on(&p, session, sampler, prompt, count);
  play_ok(&p, TOMBOLA_STOP_MAX_TOKENS);
  assert_true(p.stats.shifts > 0);
  assert_true(p.cached <= CONTEXT);
  assert_int_equal(p.cached + p.stats.shifted_away, count + 149);
  assert_memory_equal(p.cache, prompt, 8 * sizeof *prompt);
  tombola_session_free(session);
  tombola_sampler_free(sampler);
}

/* ---- bans ---- */

/* What it says by itself is banned, phrase by phrase: none of them occurs, and the answer goes on. */
static void test_bans(void **state) {
  (void)state;
  tombola_sampler *sampler = play_sampler(vocab_size, NULL, NULL);
  tombola_session *session = session_of(model, 0);
  tombola_token prompt[96];
  size_t count = chat_prompt("Name three colours.", prompt, 80);
  struct tombola_text_params text = {.struct_size = sizeof text};
  struct play plain = {.params = {.max_tokens = 30, .text = &text}};
  play_on(&plain, session, sampler, prompt, count);
  play_ok(&plain, plain.stats.stop);
  assert_true(plain.length[0] > 20);
  struct tombola_bytes phrases[2] = {{plain.text[0] + 3, 6}, {plain.text[0] + 12, 7}};
  struct tombola_phrase_bans bans = {.struct_size = sizeof bans, .phrases = phrases, .n_phrases = 2};
  struct play p = {.params = {.max_tokens = 30, .text = &text, .bans = &bans}};
  play_on(&p, session, sampler, prompt, count);
  play_ok(&p, p.stats.stop);
  assert_true(p.stats.rollbacks > 0);
  assert_true(p.length[0] > 0);
  for (int i = 0; i < 2; i++) {
    char phrase[16] = "";
    memcpy(phrase, phrases[i].data, phrases[i].length);
    assert_null(strstr(p.text[0], phrase));
  }
  tombola_session_free(session);
  tombola_sampler_free(sampler);
}

int main(void) {
  if (!support_default_model(path, sizeof path)) return EXIT_SKIPPED;
  struct tombola_model_params params = support_params(CONTEXT, 3);
  struct tombola_error error = {0};
  if (support_load(path, &params, &model, &error) != TOMBOLA_OK) {
    fprintf(stderr, "%s\n", error.message);
    return EXIT_FAILURE;
  }
  vocab_size = tombola_vocabulary_count(tombola_model_vocabulary(model));
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_states),
      cmocka_unit_test(test_shift),
      cmocka_unit_test(test_bans),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tombola_model_free(model);
  return failed;
}
