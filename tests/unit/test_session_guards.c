/* SPDX-License-Identifier: Apache-2.0 */
/* What keeps an answer within bounds: the thinking budget, the sampler of the answering phase, the fewest
 * tokens, the time, the loop guard, a shift of a full context, and masks of the caller's. The budget's
 * numbers are those of rMLX's rule, and of ours, which counts tokens of reasoning alone. */
#include <math.h>

#include "play.h"
#include "support.h"
#include "toy.h"

#define THINK .think_open = "<think>", .think_close = "</think>"
#define EOS   TOMBOLA_STOP_END_TOKEN

/* ---- the thinking budget ---- */

/* Tokens: 0 end, 1 "<think>", 2 "</think>", 3 "x", 4 "y", 5 "So.". It thinks x for good unless it is closed;
 * after the closing marker it says y and ends. */
static const char thinker[] =
    "{\"vocab\": [\"<eos>\", \"<think>\", \"</think>\", \"x\", \"y\", \"So.\"], \"end\": [0],"
    " \"special\": [0, 1, 2], \"steps\": [1],"
    " \"by_last\": {\"1\": 3, \"3\": 3, \"2\": 4, \"4\": 0, \"5\": 3}}";

struct budget_case {
  int opened, rule_of_pieces; /* the prompt has opened the block; rMLX's rule */
  int64_t tokens;
  const char *closing;
  size_t thought; /* tokens of reasoning before what is forced, the marker that opens it not among them */
};

static void play_budget(struct play *p, const struct budget_case *c) {
  struct tombola_think_budget budget = {.struct_size = sizeof budget,
                                        .tokens = c->tokens,
                                        .closing = c->closing,
                                        .rule_of_pieces = c->rule_of_pieces};
  struct tombola_text_params text = {.struct_size = sizeof text, THINK, .starts_in_reasoning = c->opened};
  p->params.text = &text;
  p->params.think_budget = &budget;
  const tombola_token prompt = c->opened ? 1 : 5, other[] = {5, 3};
  char json[1024];
  snprintf(json, sizeof json, "%s", thinker);
  /* A prompt that doesn't open the block is followed by step 0, the opening marker. */
  char *by_last = strstr(json, ", \"5\": 3");
  if (!c->closing) memset(by_last, ' ', strlen(", \"5\": 3"));
  play(p, json, c->opened ? &prompt : c->closing ? other : &prompt, 1);
}

static void test_budget(void **state) {
  (void)state;
  static const struct budget_case cases[] = {
      /* Ours: N tokens of reasoning, then the marker. */
      {0, 0, 0, NULL, 0},
      {0, 0, 1, NULL, 1},
      {0, 0, 7, NULL, 7},
      {1, 0, 0, NULL, 0},
      {1, 0, 1, NULL, 1},
      {1, 0, 7, NULL, 7},
      /* rMLX: the N + 1st piece triggers, and the piece that opens the block is one. */
      {0, 1, 0, NULL, 0},
      {0, 1, 1, NULL, 1},
      {0, 1, 7, NULL, 7},
      {1, 1, 0, NULL, 1},
      {1, 1, 1, NULL, 2},
      {1, 1, 7, NULL, 8},
      {1, 0, 2, "So.", 2},
      {1, 1, 2, "So.", 3},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const struct budget_case *c = &cases[i];
    struct play p = {.count = 0};
    play_budget(&p, c);
    play_ok(&p, EOS);
    tombola_token want[32], at = 0;
    if (!c->opened) want[at++] = 1;
    for (size_t j = 0; j < c->thought; j++)
      want[at++] = 3;
    size_t first_forced = (size_t)at;
    if (c->closing && !c->rule_of_pieces) want[at++] = 5; /* rMLX forces the last token alone */
    want[at++] = 2;
    size_t end_forced = (size_t)at;
    want[at++] = 4;
    play_tokens(&p, want, (size_t)at);
    for (size_t j = 0; j < p.count; j++)
      assert_int_equal(p.forced[j], j >= first_forced && j < end_forced);
    assert_int_equal(p.stats.forced, end_forced - first_forced);
    assert_int_equal(p.stats.think, TOMBOLA_THINK_CLOSED);
    assert_string_equal(p.text[TOMBOLA_CONTENT], "y");
    assert_int_equal(p.length[TOMBOLA_REASONING], c->thought + (end_forced - first_forced - 1) * 3);
    assert_int_equal(p.cached, 1 + p.count); /* forced tokens are run like any other */
  }
}

/* The end is forced once: a block that is opened again isn't closed again, and one that ends by itself never
 * is. */
static void test_budget_once(void **state) {
  (void)state;
  struct tombola_text_params text = {.struct_size = sizeof text, THINK};
  struct tombola_think_budget budget = {.struct_size = sizeof budget, .tokens = 2};
  struct play p = {.params = {.text = &text, .think_budget = &budget, .max_tokens = 20}};
  const tombola_token prompt = 4;
  const char again[] = "{\"vocab\": [\"<eos>\", \"<think>\", \"</think>\", \"x\", \"y\"], \"end\": [0],"
                       " \"by_last\": {\"4\": 1, \"1\": 3, \"3\": 3, \"2\": 4}}";
  play(&p, again, &prompt, 1);
  play_ok(&p, TOMBOLA_STOP_MAX_TOKENS);
  assert_int_equal(p.stats.forced, 1);
  assert_int_equal(p.forced[3], 1);
  assert_int_equal(p.tokens[5], 1); /* opened again */
  for (size_t i = 6; i < 20; i++)
    assert_int_equal(p.tokens[i], 3);

  const char *closes[] = {"<think>", "x", "x", "</think>", "y", NULL};
  budget.tokens = 3;
  play_pieces(&p, closes);
  play_ok(&p, EOS);
  assert_int_equal(p.stats.forced, 0);
  assert_int_equal(p.stats.think, TOMBOLA_THINK_OPEN);
  play_text(&p, "y", "xx");

  /* Two blocks share one budget: three tokens of reasoning in all. */
  const char *two[] = {"<think>", "a", "</think>", "b", "<think>", "c", "d", "e", "f", NULL};
  play_pieces(&p, two);
  assert_int_equal(p.stats.forced, 1);
  assert_memory_equal(p.text[TOMBOLA_REASONING], "acd", 3);
}

/* The limit of tokens holds among forced ones, too. */
static void test_budget_and_limit(void **state) {
  (void)state;
  struct tombola_text_params text = {.struct_size = sizeof text, THINK, .starts_in_reasoning = 1};
  struct tombola_think_budget budget = {.struct_size = sizeof budget, .tokens = 2, .closing = "So.So."};
  const tombola_token prompt = 1, want[] = {3, 3, 5, 5, 2, 4};
  for (size_t limit = 1; limit <= 6; limit++) {
    struct play p = {.params = {.text = &text, .think_budget = &budget, .max_tokens = (int64_t)limit}};
    play(&p, thinker, &prompt, 1);
    play_ok(&p, TOMBOLA_STOP_MAX_TOKENS);
    play_tokens(&p, want, limit);
    assert_int_equal(p.cached, limit < 2 ? limit : limit < 6 ? 2 : 6); /* forced tokens run together */
  }
}

static void test_budget_ignored(void **state) {
  (void)state;
  struct tombola_text_params text = {
      .struct_size = sizeof text, .think_open = "x", .think_close = "</none>", .starts_in_reasoning = 1};
  struct tombola_think_budget budget = {.struct_size = sizeof budget};
  struct play p = {.params = {.text = &text, .think_budget = &budget, .max_tokens = 5}};
  const tombola_token prompt = 1;
  play(&p, thinker, &prompt, 1);
  play_ok(&p, TOMBOLA_STOP_MAX_TOKENS);
  assert_int_equal(p.stats.think, TOMBOLA_THINK_IGNORED);
  assert_int_equal(p.stats.forced, 0);

  budget.tokens = -1;
  play(&p, thinker, &prompt, 1);
  assert_int_equal(p.status, TOMBOLA_INVALID_ARGUMENT);
  assert_string_equal(p.error.message, "think_budget is -1; it must be 0 or more");
  budget.tokens = 1;
  text = (struct tombola_text_params){.struct_size = sizeof text};
  play(&p, thinker, &prompt, 1);
  assert_int_equal(p.status, TOMBOLA_INVALID_ARGUMENT);
  p.params.text = NULL;
  play(&p, thinker, &prompt, 1);
  assert_int_equal(p.status, TOMBOLA_INVALID_ARGUMENT);
  assert_string_equal(p.error.param, "think_budget");
}

/* Forced tokens count like others: a script goes on with the step behind them. */
static void test_budget_steps(void **state) {
  (void)state;
  const char json[] =
      "{\"vocab\": [\"<eos>\", \"<t>\", \"</t>\", \"x\", \"y\", \"So.\", \"z\"], \"end\": [0],"
      " \"steps\": [3, 3, 4, 6]}";
  struct tombola_text_params text = {
      .struct_size = sizeof text, .think_open = "<t>", .think_close = "</t>", .starts_in_reasoning = 1};
  struct tombola_think_budget budget = {.struct_size = sizeof budget, .closing = "So."};
  struct play p = {.params = {.text = &text, .think_budget = &budget}};
  const tombola_token prompt = 1;
  play(&p, json, &prompt, 1);
  play_ok(&p, EOS);
  play_tokens(&p, (const tombola_token[]){5, 2, 4, 6}, 4);
}

/* A tokeniser that gives tokens of another text: what they spell counts. */
static void test_budget_spelling(void **state) {
  (void)state;
  tombola_model *model = toy_model(TOY_CONTEXT, 8, -1);
  tombola_sampler *sampler = play_sampler(TOY_VOCAB, NULL, NULL);
  tombola_session *session;
  assert_int_equal(tombola_session_new(model, 0, NULL, &session, NULL), TOMBOLA_OK);
  toy_last->spells_d = 1;
  struct tombola_text_params text = {
      .struct_size = sizeof text, .think_open = "zz", .think_close = "d", .starts_in_reasoning = 1};
  struct tombola_think_budget budget = {.struct_size = sizeof budget};
  struct play p = {.params = {.text = &text, .think_budget = &budget, .max_tokens = 3}};
  const tombola_token prompt = 1;
  play_on(&p, session, sampler, &prompt, 1);
  assert_int_equal(p.stats.think, TOMBOLA_THINK_CLOSED);
  assert_int_equal(p.tokens[0], 3);
  text.think_close = "dd";
  play_on(&p, session, sampler, &prompt, 1);
  assert_int_equal(p.stats.think, TOMBOLA_THINK_IGNORED);
  assert_int_equal(p.stats.forced, 0);
  toy_last->spells_d = 0; /* and one that can't at all */
  text.think_close = "d";
  play_on(&p, session, sampler, &prompt, 1);
  assert_int_equal(p.stats.think, TOMBOLA_THINK_IGNORED);
  tombola_session_free(session);
  tombola_sampler_free(sampler);
  tombola_model_free(model);
}

/* Forced tokens have no log-probabilities; the tokens around them do. And the model's row is used for nothing
 * else: the tokens after the marker are those of a model that said it by itself. */
static void test_budget_logprobs(void **state) {
  (void)state;
  struct tombola_text_params text = {.struct_size = sizeof text, THINK, .starts_in_reasoning = 1};
  struct tombola_think_budget budget = {.struct_size = sizeof budget, .tokens = 2};
  tombola_sampler *sampler = play_sampler(6, NULL, NULL);
  assert_int_equal(tombola_sampler_set_logprobs(sampler, TOMBOLA_LOGPROB_RAW, 3), TOMBOLA_OK);
  struct play p = {.params = {.text = &text, .think_budget = &budget}, .sampler = sampler};
  const tombola_token prompt = 1;
  play(&p, thinker, &prompt, 1);
  play_ok(&p, EOS);
  static const unsigned char with[] = {1, 1, 0, 1};
  assert_int_equal(p.count, 4);
  assert_memory_equal(p.with_logprobs, with, 4);
  float all = logf(expf(10) + 5) - 10;
  assert_float_equal(p.logprob[0], -all, 1e-5);
  tombola_sampler_free(sampler);
}

/* A stretch of hash rows: the same tokens whether a prompt is run at once or in parts, so what follows the
 * forced marker must be what the model says after exactly these tokens. */
static void test_budget_rows(void **state) {
  (void)state;
  const char json[] = "{\"vocab\": [\"<eos>\", \"<t>\", \"</t>\", \"a\", \"b\", \"c\", \"d\"], \"end\": [],"
                      " \"special\": [0, 1, 2], \"hash\": 3}";
  struct tombola_text_params text = {
      .struct_size = sizeof text, .think_open = "<t>", .think_close = "</t>", .starts_in_reasoning = 1};
  struct tombola_think_budget budget = {.struct_size = sizeof budget, .tokens = 0, .closing = "abcd"};
  struct play p = {.params = {.text = &text, .think_budget = &budget, .max_tokens = 12}};
  const tombola_token prompt = 1, as_if[] = {1, 3, 4, 5, 6, 2};
  for (size_t batch = 1; batch <= 6; batch++) { /* forced tokens that don't fit into one batch */
    p.batch = batch;
    play(&p, json, &prompt, 1);
    play_ok(&p, TOMBOLA_STOP_MAX_TOKENS);
    assert_int_equal(p.stats.forced, 5);
    struct play q = {.params = {.max_tokens = 7}};
    play(&q, json, as_if, 6);
    assert_memory_equal(p.tokens, as_if + 1, 5 * sizeof as_if[0]);
    assert_memory_equal(p.tokens + 5, q.tokens, 7 * sizeof q.tokens[0]);
  }
}

/* ---- the sampler of the answer ---- */

/* Greedy gives 3 everywhere but behind a marker; the other sampler prefers 4. The history is common. */
static void test_answer_sampler(void **state) {
  (void)state;
  const char json[] =
      "{\"vocab\": [\"<eos>\", \"<t>\", \"</t>\", \"x\", \"y\", \"z\"], \"end\": [0], \"steps\": ["
      "1, 3, 3, 2, {\"logits\": [0, 0, 0, 6, 5, 4]}, {\"logits\": [0, 0, 0, 6, 5, 4]}, 1, 3, 2,"
      " {\"logits\": [0, 0, 0, 6, 5, 4]}]}";
  struct tombola_sampler_params params = {.struct_size = sizeof params};
  assert_int_equal(tombola_sampler_params_default(&params, "llama.cpp", NULL), TOMBOLA_OK);
  params.temperature = 0;
  params.repeat_penalty = 10;
  tombola_sampler *second;
  assert_int_equal(tombola_sampler_new(&params, NULL, 6, NULL, &second, NULL), TOMBOLA_OK);
  struct tombola_text_params text = {.struct_size = sizeof text, .think_open = "<t>", .think_close = "</t>"};
  struct play p = {.params = {.text = &text, .answer_sampler = second}};
  const tombola_token prompt = 0;
  play(&p, json, &prompt, 1);
  play_ok(&p, EOS);
  /* 3 was thought, so its penalty keeps it out of the answer, then 4's keeps 4 out; while it thinks again, 3
   * is no trouble; behind that all are penalised alike, and 3 has the largest logit left. */
  play_tokens(&p, (const tombola_token[]){1, 3, 3, 2, 4, 5, 1, 3, 2, 3}, 10);
  p.params.answer_sampler = NULL;
  play(&p, json, &prompt, 1);
  play_tokens(&p, (const tombola_token[]){1, 3, 3, 2, 3, 3, 1, 3, 2, 3}, 10);

  p.sampler = p.params.answer_sampler = second;
  play(&p, json, &prompt, 1);
  assert_int_equal(p.status, TOMBOLA_INVALID_ARGUMENT);
  assert_string_equal(p.error.message, "answer_sampler is the sampler itself");
  tombola_sampler_free(second);
}

/* ---- min tokens, ignored ends, time ---- */

static void test_min_tokens(void **state) {
  (void)state;
  const char json[] =
      "{\"vocab\": [\"<eos>\", \"a\", \"b\", \"<end>\"], \"end\": [0, 3], \"after\": \"repeat\","
      " \"steps\": [{\"logits\": [9, 2, 1, 8]}]}";
  const tombola_token prompt = 1, stop = 1;
  for (int64_t min = 0; min <= 6; min++) {
    struct play p = {.params = {.min_tokens = min}};
    play(&p, json, &prompt, 1);
    play_ok(&p, EOS);
    assert_int_equal(p.count, min);
    p.params.stop_ids = &stop; /* kept out of the draw as well */
    p.params.n_stop_ids = 1;
    play(&p, json, &prompt, 1);
    play_ok(&p, EOS);
    assert_int_equal(p.count, min);
    for (size_t i = 0; i < p.count; i++)
      assert_int_equal(p.tokens[i], 2);
    p.params.ignore_end = 1; /* the ends go, the stop ids come back */
    play(&p, json, &prompt, 1);
    play_ok(&p, EOS);
    assert_int_equal(p.count, min);
  }
  struct play p = {.params = {.min_tokens = -1}};
  play(&p, json, &prompt, 1);
  assert_int_equal(p.status, TOMBOLA_INVALID_ARGUMENT);
  assert_string_equal(p.error.message, "min_tokens is -1; it can't be negative");
  p.params.min_tokens = 50; /* the limit holds nevertheless */
  p.params.max_tokens = 4;
  play(&p, json, &prompt, 1);
  play_ok(&p, TOMBOLA_STOP_MAX_TOKENS);
  assert_int_equal(p.count, 4);
}

static void test_time_limit(void **state) {
  (void)state;
  const char json[] = "{\"vocab\": [\"<eos>\", \"a\"], \"end\": [0], \"after\": \"repeat\", \"steps\": [1],"
                      " \"delay_ms\": 10}";
  const tombola_token prompt[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  struct play p = {.params = {.time_limit = 0.045}};
  play(&p, json, prompt, 1);
  assert_int_equal(p.status, TOMBOLA_OK);
  assert_int_equal(p.stats.stop, TOMBOLA_STOP_TIME_LIMIT);
  assert_string_equal(tombola_stop_finish(p.stats.stop), "stop");
  assert_in_range(p.count, 0, 5); /* the fifth pass ends behind the limit; what it gave is reported */
  p.params.max_tokens = 100;      /* a prompt that is too long for it */
  p.batch = 1;
  play(&p, json, prompt, 8);
  assert_int_equal(p.status, TOMBOLA_OK);
  assert_int_equal(p.stats.stop, TOMBOLA_STOP_TIME_LIMIT);
  assert_int_equal(p.count, 0);
  assert_in_range(p.cached, 1, 5);
  /* The time is up within a callback: the token is the last one, and a limit of tokens goes first. */
  for (int64_t limit = 1; limit <= 2; limit++) {
    struct play late = {.params = {.time_limit = 0.5, .max_tokens = limit}, .token_ms = 550};
    const char *pieces[] = {"a", "b", "c", NULL};
    play_pieces(&late, pieces);
    play_ok(&late, limit == 1 ? TOMBOLA_STOP_MAX_TOKENS : TOMBOLA_STOP_TIME_LIMIT);
    assert_int_equal(late.count, 1);
  }
  for (int i = 0; i < 3; i++) {
    p.params.time_limit = i == 0 ? -1.0 : i == 1 ? (double)NAN : (double)INFINITY;
    play(&p, json, prompt, 1);
    assert_int_equal(p.status, TOMBOLA_INVALID_ARGUMENT);
    assert_string_equal(p.error.param, "time_limit");
  }
}

/* ---- the loop guard ---- */

/* The definition itself: the last tokens are `repeats` times one pattern of at most `period` tokens. */
static bool is_loop(const tombola_token *tokens, size_t count, size_t period, size_t repeats) {
  for (size_t p = 1; p <= period; p++) {
    bool same = p * repeats <= count;
    for (size_t i = 0; same && i < p * (repeats - 1); i++)
      same = tokens[count - 1 - i] == tokens[count - 1 - i - p];
    if (same) return true;
  }
  return false;
}

static void test_loop_guard(void **state) {
  (void)state;
  struct support_rng rng = support_rng(5);
  size_t found = 0;
  for (int round = 0; round < 300; round++) {
    char json[2048];
    int at = snprintf(json, sizeof json,
                      "{\"vocab\": [\"<eos>\", \"a\", \"b\", \"c\"], \"end\": [0], \"steps\": [");
    tombola_token said[60];
    size_t count = 60, kinds = 2 + support_below(&rng, 2);
    for (size_t i = 0; i < count; i++) {
      size_t back = 1 + support_below(&rng, 4);
      bool copies = i >= back && support_below(&rng, 2) > 0;
      said[i] = copies ? said[i - back] : (tombola_token)(1 + support_below(&rng, (uint32_t)kinds));
      at += snprintf(json + at, sizeof json - (size_t)at, "%s%d", i ? "," : "", (int)said[i]);
    }
    snprintf(json + at, sizeof json - (size_t)at, "]}");
    size_t period = 1 + support_below(&rng, 6), repeats = 2 + support_below(&rng, 6), ends = 1;
    while (ends < count && !is_loop(said, ends, period, repeats))
      ends++;
    bool loops = is_loop(said, ends, period, repeats);
    struct play p = {.params = {.loop_period = period, .loop_repeats = repeats}};
    const tombola_token prompt[] = {1, 1, 1, 1, 1, 1, 1, 1}; /* a prompt doesn't count */
    play(&p, json, prompt, 8);
    play_ok(&p, loops ? TOMBOLA_STOP_LOOP : EOS);
    play_tokens(&p, said, loops ? ends : count);
    found += loops;
  }
  assert_in_range(found, 100, 290);
  struct play p = {.params = {.loop_period = 5, .loop_repeats = 1}};
  const char *pieces[] = {"a", NULL};
  play_pieces(&p, pieces);
  assert_int_equal(p.status, TOMBOLA_INVALID_ARGUMENT);
  assert_string_equal(p.error.message, "loop_repeats is 1; it must be at least 2");
  p.params.loop_period = 5000;
  play_pieces(&p, pieces);
  assert_int_equal(p.status, TOMBOLA_INVALID_ARGUMENT);
}

/* ---- the shift ---- */

/* The rows of a hash depend on the last four tokens, so an answer isn't changed by a shift that keeps those.
 */
static void test_shift(void **state) {
  (void)state;
  const char json[] =
      "{\"vocab\": [\"<eos>\", \"a\", \"b\", \"c\", \"d\", \"e\"], \"end\": [], \"hash\": 11}";
  const tombola_token prompt[] = {1, 2, 3, 4, 5, 1, 2};
  struct play wide = {.params = {.max_tokens = 200}, .context = 1000};
  play(&wide, json, prompt, 7);
  for (size_t keep = 0; keep <= 8; keep += 2) {
    struct play p = {.params = {.max_tokens = 200, .context_shift = 1, .keep_tokens = keep}, .context = 20};
    play(&p, json, prompt, 7);
    play_ok(&p, TOMBOLA_STOP_MAX_TOKENS);
    play_tokens(&p, wide.tokens, 200);
    assert_int_equal(p.shifts, p.stats.shifts);
    assert_true(p.shifts > 10);
    assert_true(p.cached <= 20);
    assert_int_equal(p.cached + p.stats.shifted_away, 7 + 200 - 1);
    size_t kept = keep < 7 ? keep : 7;
    assert_memory_equal(p.cache, prompt, kept * sizeof prompt[0]);
    size_t tail = p.cached - keep; /* and the newest ones */
    assert_memory_equal(p.cache + keep, p.tokens + 199 - tail, tail * sizeof prompt[0]);
  }
  /* A long prompt, of which a part is forgotten. */
  const tombola_token lengthy[] = {1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1, 2};
  play(&wide, json, lengthy, 17);
  struct play q = {.params = {.max_tokens = 200, .context_shift = 1, .keep_tokens = 2}, .context = 20};
  play(&q, json, lengthy, 17);
  play_ok(&q, TOMBOLA_STOP_MAX_TOKENS);
  play_tokens(&q, wide.tokens, 200);
  struct play p = {.params = {.max_tokens = 200}, .context = 20}; /* never silently */
  play(&p, json, prompt, 7);
  play_ok(&p, TOMBOLA_STOP_CONTEXT_FULL);
  assert_int_equal(p.count, 14);
  p.params.context_shift = 1;
  p.params.keep_tokens = 19;
  play(&p, json, prompt, 7);
  assert_int_equal(p.status, TOMBOLA_INVALID_ARGUMENT);
  assert_string_equal(p.error.param, "keep_tokens");
}

/* The next turn finds the kept tokens in the cache, and what it says is right. */
static void test_after_shift(void **state) {
  (void)state;
  const char json[] =
      "{\"vocab\": [\"<eos>\", \"a\", \"b\", \"c\", \"d\", \"e\"], \"end\": [], \"hash\": 12}";
  struct tombola_model_params params = {.struct_size = sizeof params, .context = 16};
  tombola_model *model = script_load(json, &params);
  tombola_sampler *sampler = play_sampler(6, NULL, NULL);
  tombola_session *session;
  assert_int_equal(tombola_session_new(model, 0, NULL, &session, NULL), TOMBOLA_OK);
  const tombola_token prompt[] = {1, 2, 3, 4, 5};
  struct play p = {.params = {.max_tokens = 30, .context_shift = 1, .keep_tokens = 3}};
  play_on(&p, session, sampler, prompt, 5);
  play_ok(&p, TOMBOLA_STOP_MAX_TOKENS);
  p.params.max_tokens = 5;
  play_on(&p, session, sampler, prompt, 5);
  assert_in_range(p.stats.prompt_reused, 3, 4);
  struct play fresh = {.params = {.max_tokens = 5}};
  play(&fresh, json, prompt, 5);
  play_tokens(&p, fresh.tokens, 5);
  tombola_session_free(session);
  tombola_sampler_free(sampler);
  tombola_model_free(model);
}

/* ---- masks of the caller's ---- */

struct mask_state {
  struct play play; /* the callbacks' context begins with it */
  uint32_t word;
  size_t calls;
  enum tombola_status status;
  bool lists; /* the tokens that it allows */
  tombola_token id;
};

/* Only the token that follows the last one in the alphabet. */
static enum tombola_status next_letter(void *context, const tombola_token *answer, size_t count,
                                       struct tombola_mask *mask) {
  struct mask_state *s = context;
  assert_int_equal(count, s->calls);
  s->calls++;
  if (count == 6) return s->status;
  s->id = count == 0 ? 1 : answer[count - 1] + 1;
  s->word = UINT32_C(1) << s->id;
  *mask = (struct tombola_mask){&s->word, 8, s->lists ? &s->id : NULL, s->lists};
  return TOMBOLA_OK;
}

static void test_mask(void **state) {
  (void)state;
  const char json[] =
      "{\"vocab\": [\"<eos>\", \"a\", \"b\", \"c\", \"d\", \"e\", \"f\", \"g\"], \"end\": [0],"
      " \"after\": \"end\"}";
  const tombola_token prompt = 7;
  struct mask_state s = {.play = {.params = {.on_mask = next_letter}}, .status = TOMBOLA_OK};
  s.play.params.context = &s;
  play(&s.play, json, &prompt, 1);
  play_ok(&s.play, EOS);
  play_tokens(&s.play, (const tombola_token[]){1, 2, 3, 4, 5, 6},
              6); /* then it has none, and the end is free */
  s.calls = 0;
  s.play.params.ignore_end = 1; /* both hold */
  s.play.params.max_tokens = 8;
  play(&s.play, json, &prompt, 1);
  play_ok(&s.play, TOMBOLA_STOP_MAX_TOKENS);
  play_tokens(&s.play, (const tombola_token[]){1, 2, 3, 4, 5, 6, 1, 2}, 8);
  s.play.params.ignore_end = 0;
  s.calls = 0;
  s.status = TOMBOLA_UNSUPPORTED; /* its own failure is the generation's */
  play(&s.play, json, &prompt, 1);
  assert_int_equal(s.play.status, TOMBOLA_UNSUPPORTED);
  assert_int_equal(s.play.count, 6);
  s.play.params.context_shift = 1;
  play(&s.play, json, &prompt, 1);
  assert_int_equal(s.play.status, TOMBOLA_INVALID_ARGUMENT);
  assert_string_equal(s.play.error.message, "context_shift doesn't go together with a mask");
}

/* A token that is the only one is taken without a draw, and a row of them runs in one batch: the same answer with
 * fewer forward passes. Log-probabilities need the rows. */
static void test_jump_ahead(void **state) {
  (void)state;
  const char json[] =
      "{\"vocab\": [\"<eos>\", \"a\", \"b\", \"c\", \"d\", \"e\", \"f\", \"g\"], \"end\": [0],"
      " \"after\": \"end\"}";
  const tombola_token prompt = 7;
  for (int lists = 0; lists < 2; lists++) {
    for (int off = 0; off < 2; off++) {
      struct mask_state s = {.play = {.params = {.on_mask = next_letter, .no_jump_ahead = off}},
                             .lists = lists};
      s.play.params.context = &s;
      play(&s.play, json, &prompt, 1);
      play_ok(&s.play, EOS);
      play_tokens(&s.play, (const tombola_token[]){1, 2, 3, 4, 5, 6}, 6);
      assert_int_equal(s.play.stats.jumped, lists && !off ? 6 : 0);
    }
  }
  struct mask_state s = {.play = {.params = {.on_mask = next_letter}, .sampler = play_sampler(8, NULL, NULL)},
                         .lists = true};
  s.play.params.context = &s;
  assert_int_equal(tombola_sampler_set_logprobs(s.play.sampler, TOMBOLA_LOGPROB_RAW, 1), TOMBOLA_OK);
  play(&s.play, json, &prompt, 1);
  play_tokens(&s.play, (const tombola_token[]){1, 2, 3, 4, 5, 6}, 6);
  assert_int_equal(s.play.stats.jumped, 0);
  for (size_t i = 0; i < 6; i++)
    assert_true(s.play.with_logprobs[i]);
  tombola_sampler_free(s.play.sampler);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_jump_ahead),       cmocka_unit_test(test_budget),
      cmocka_unit_test(test_budget_once),      cmocka_unit_test(test_budget_ignored),
      cmocka_unit_test(test_budget_spelling),  cmocka_unit_test(test_budget_steps),
      cmocka_unit_test(test_budget_and_limit), cmocka_unit_test(test_budget_rows),
      cmocka_unit_test(test_budget_logprobs),  cmocka_unit_test(test_answer_sampler),
      cmocka_unit_test(test_min_tokens),       cmocka_unit_test(test_time_limit),
      cmocka_unit_test(test_loop_guard),       cmocka_unit_test(test_shift),
      cmocka_unit_test(test_after_shift),      cmocka_unit_test(test_mask),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
