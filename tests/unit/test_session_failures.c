/* SPDX-License-Identifier: Apache-2.0 */
/* The session when something goes wrong: arguments that are refused, a model or a sampler that fails, no
 * memory. And that it asks for none once it is warm. */
#include "scripts.h"
#include "session_support.h"
#include "support.h"
#include "toy.h"

/* ---- failures ---- */

static enum tombola_status failure(tombola_session *session, tombola_sampler *sampler,
                                   const tombola_token *prompt, size_t count,
                                   const struct tombola_generate_params *params, const char *param,
                                   const char *message) {
  struct tombola_error error = {.message = ""};
  struct tombola_generation_stats stats;
  enum tombola_status status =
      tombola_session_generate(session, sampler, prompt, count, params, &stats, &error);
  assert_int_equal(status, error.status);
  assert_string_equal(error.param, param);
  if (message) assert_string_equal(error.message, message);
  assert_int_equal(stats.generated, 0);
  assert_int_equal(stats.prompt_run, 0);
  return status;
}

static void test_arguments(void **state) {
  (void)state;
  tombola_model *model = toy_model(4, 8, -1);
  tombola_session *s = session_on(model, 0);
  tombola_sampler *sampler = sampler_with(TOY_VOCAB, NULL, NULL);
  struct heard heard = {.count = 0};
  struct tombola_generate_params good = with(&heard, 1), p = good;
  const tombola_token prompt[] = {1, 2, 3, 4, 5}, bad[] = {1, 17}, worse[] = {-1};

  assert_int_equal(
      failure(s, sampler, prompt, 0, &good, "prompt", "the prompt is empty; it must have at least one token"),
      TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(failure(s, sampler, NULL, 3, &good, "prompt", NULL), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(
      failure(s, sampler, prompt, 5, &good, "prompt", "the prompt has 5 tokens, the context has room for 4"),
      TOMBOLA_OUT_OF_RANGE);
  assert_int_equal(
      failure(s, sampler, bad, 2, &good, "prompt", "prompt[1] is 17; the vocabulary has 0 to 16"),
      TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(failure(s, sampler, worse, 1, &good, "prompt", NULL), TOMBOLA_INVALID_ARGUMENT);
  p.max_tokens = 0;
  assert_int_equal(failure(s, sampler, prompt, 3, &p, "max_tokens", "max_tokens is 0; it must be at least 1"),
                   TOMBOLA_INVALID_ARGUMENT);
  p.max_tokens = -5;
  assert_int_equal(failure(s, sampler, prompt, 3, &p, "max_tokens", NULL), TOMBOLA_INVALID_ARGUMENT);
  p = good;
  p.n_stop_ids = 1;
  assert_int_equal(failure(s, sampler, prompt, 3, &p, "stop_ids", NULL), TOMBOLA_INVALID_ARGUMENT);
  p.stop_ids = worse;
  assert_int_equal(failure(s, sampler, prompt, 3, &p, "stop_ids", NULL), TOMBOLA_INVALID_ARGUMENT);
  p = good;
  p.struct_size = 0;
  assert_int_equal(failure(s, sampler, prompt, 3, &p, "struct_size", NULL), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(failure(s, sampler, prompt, 3, NULL, "params", NULL), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(failure(s, NULL, prompt, 3, &good, "sampler", NULL), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(failure(NULL, sampler, prompt, 3, &good, "session", NULL), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(toy_last->calls, 0);

  /* A caller that knows only the first members, and no callbacks. */
  p.struct_size = offsetof(struct tombola_generate_params, on_token);
  assert_int_equal(tombola_session_generate(s, sampler, prompt, 3, &p, NULL, NULL), TOMBOLA_OK);
  assert_int_equal(heard.count, 0);
  tombola_sampler_free(sampler);
  tombola_session_free(s);
  tombola_model_free(model);
}

/* A forward pass that fails, first in the prompt, then in the answer: the session knows what is in the cache,
 * and the next call goes on from there. */
static void test_failed_forward(void **state) {
  (void)state;
  tombola_model *model = toy_model(TOY_CONTEXT, 4, -1);
  struct toy *toy = toy_last;
  tombola_session *session = session_on(model, 0);
  tombola_sampler *sampler = sampler_with(TOY_VOCAB, NULL, NULL);
  const tombola_token prompt[] = {1, 2, 3, 4, 5, 6};
  struct heard heard = {.count = 0};
  struct tombola_generate_params params = with(&heard, 5);
  struct tombola_generation_stats stats;
  struct tombola_error error;

  toy->fail_in = 2;
  assert_int_equal(tombola_session_generate(session, sampler, prompt, 6, &params, &stats, &error),
                   TOMBOLA_MODEL);
  assert_string_equal(error.message, "the toy broke");
  assert_int_equal(stats.prompt_run, 4);
  check_cache(session, toy, 4);

  toy->fail_in = 3; /* the rest of the prompt, one token, then */
  assert_int_equal(tombola_session_generate(session, sampler, prompt, 6, &params, &stats, &error),
                   TOMBOLA_MODEL);
  assert_int_equal(stats.prompt_reused, 4);
  assert_int_equal(stats.prompt_run, 2);
  assert_int_equal(stats.generated, 2);
  assert_int_equal(heard.count, 2);
  check_cache(session, toy, 7); /* the second token was reported, and isn't in the cache */

  stats = answer(session, sampler, prompt, 6, 5, &heard);
  assert_int_equal(stats.prompt_reused, 5);
  expect_toy(&heard, prompt, 6);
  check_cache(session, toy, 10);
  tombola_sampler_free(sampler);
  tombola_session_free(session);
  tombola_model_free(model);
}

static void test_failed_sampler(void **state) {
  (void)state;
  tombola_model *model = script_load(
      "{\"vocab\": [\"e\",\"a\"], \"end\": [0], \"steps\": [1, {\"logits\": [1, \"nan\"]}]}", NULL);
  tombola_session *session = session_on(model, 0);
  tombola_sampler *sampler = sampler_with(2, NULL, NULL);
  struct heard heard = {.count = 0};
  struct tombola_generate_params params = with(&heard, 5);
  struct tombola_generation_stats stats;
  struct tombola_error error;
  const tombola_token prompt[] = {1, 1};
  for (int i = 0; i < 2; i++) {
    heard.count = 0;
    assert_int_equal(tombola_session_generate(session, sampler, prompt, 2, &params, &stats, &error),
                     TOMBOLA_NOT_FINITE);
    assert_int_equal(error.status, TOMBOLA_NOT_FINITE);
    assert_true(strlen(error.message) > 0);
    assert_int_equal(stats.generated, 1);
    size_t count;
    tombola_session_tokens(session, &count);
    assert_int_equal(count, 3);
  }
  answer(session, sampler, prompt, 2, 1, &heard); /* up to there it works */
  tombola_sampler_free(sampler);

  sampler = sampler_with(3, NULL, NULL); /* of another vocabulary */
  assert_int_equal(tombola_session_generate(session, sampler, prompt, 2, &params, &stats, &error),
                   TOMBOLA_INVALID_ARGUMENT);
  tombola_sampler_free(sampler);
  tombola_session_free(session);
  tombola_model_free(model);
}

/* ---- memory ---- */

static void test_new(void **state) {
  (void)state;
  tombola_model *model = toy_model(TOY_CONTEXT, 8, -1);
  tombola_session *session;
  struct tombola_error error;
  for (size_t n = 1;; n++) {
    struct support_allocator memory = support_allocator(n);
    enum tombola_status status =
        tombola_session_new(model, 0, support_allocator_use(&memory), &session, &error);
    if (memory.requests < n) {
      assert_int_equal(status, TOMBOLA_OK);
      tombola_session_free(session);
      support_allocator_check(&memory);
      assert_true(n > 3);
      break;
    }
    assert_int_equal(status, TOMBOLA_NO_MEMORY);
    assert_int_equal(error.status, TOMBOLA_NO_MEMORY);
    assert_null(session);
    support_allocator_check(&memory);
  }
  assert_int_equal(tombola_session_new(model, 2, NULL, &session, &error), TOMBOLA_INVALID_ARGUMENT);
  assert_string_equal(error.message, "there is no sequence 2 (0 to 1)");
  assert_int_equal(tombola_session_new(model, -1, NULL, &session, &error), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_session_new(NULL, 0, NULL, &session, &error), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_session_new(model, 0, NULL, NULL, &error), TOMBOLA_INVALID_ARGUMENT);
  tombola_session_free(NULL);
  tombola_model_free(model);
}

/* Once it is warm, a session, its sampler and a script allocate nothing, however long the answer. */
static void test_no_allocation(void **state) {
  (void)state;
  struct support_allocator memory = support_allocator(0);
  const struct tombola_allocator *allocator = support_allocator_use(&memory);
  struct tombola_model_params model_params = {.struct_size = sizeof model_params, .allocator = allocator};
  tombola_model *model =
      script_load("{\"vocab\": [\"e\",\"a\",\"b\",\"c\"], \"end\": [], \"hash\": 7}", &model_params);
  struct tombola_sampler_params params = {.struct_size = sizeof params};
  assert_int_equal(tombola_sampler_params_default(&params, "llama.cpp", NULL), TOMBOLA_OK);
  assert_int_equal(tombola_sampler_params_set(&params, "repeat_penalty", "1.1", NULL), TOMBOLA_OK);
  tombola_sampler *sampler;
  tombola_session *session;
  assert_int_equal(tombola_sampler_new(&params, NULL, 4, allocator, &sampler, NULL), TOMBOLA_OK);
  assert_int_equal(tombola_session_new(model, 0, allocator, &session, NULL), TOMBOLA_OK);
  struct heard heard;
  const tombola_token prompt[] = {1, 2, 3};
  answer(session, sampler, prompt, 3, 5, &heard);
  size_t requests = memory.requests;
  struct tombola_generate_params generate = {.struct_size = sizeof generate, .max_tokens = 3000};
  struct tombola_generation_stats stats;
  assert_int_equal(tombola_session_generate(session, sampler, prompt, 2, &generate, &stats, NULL),
                   TOMBOLA_OK);
  assert_int_equal(stats.generated, 3000);
  assert_int_equal(memory.requests, requests);
  tombola_sampler_free(sampler);
  tombola_session_free(session);
  tombola_model_free(model);
  support_allocator_check(&memory);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_arguments),      cmocka_unit_test(test_failed_forward),
      cmocka_unit_test(test_failed_sampler), cmocka_unit_test(test_new),
      cmocka_unit_test(test_no_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
