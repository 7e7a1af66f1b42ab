/* SPDX-License-Identifier: Apache-2.0 */
/* Speculation in a session: greedy answers are the same as without in everything that can be seen, whatever
 * else is asked of the generation; a stop inside an accepted run cuts exactly there; and what is counted. The
 * law of sampled answers is tests/property/test_speculation_law.c's. */
#include <stdbool.h>

#include "scripts.h"
#include "session_support.h"
#include "support.h"

enum { VOCAB = 12, MOST = 96 };

/* ---- scripts ---- */

/* Tokens a to j, a marker of two, and an end; rows of a hash. Some tokens may be followed by rows of their
 * own, so that a draft model with the same hash is often right and sometimes wrong. */
static tombola_model *hashed(unsigned seed, const char *by_last, const char *more, size_t batch) {
  char json[1024];
  snprintf(json, sizeof json,
           "{\"vocab\": [\"a\", \"b\", \"c\", \"d\", \"e\", \"f\", \"g\", \"h\", \"i\", \"j\", \"<x>\", "
           "\"<end>\"], "
           "\"end\": [11], \"hash\": %u, \"by_last\": {%s}%s}",
           seed, by_last, more);
  struct tombola_model_params params = {.struct_size = sizeof params, .batch = batch};
  return script_load(json, &params);
}

static tombola_speculation *speculate(tombola_model *model, tombola_model *draft, size_t n) {
  struct tombola_speculation_params params = {.struct_size = sizeof params,
                                              .kind = draft ? TOMBOLA_SPECULATION_DRAFT_MODEL
                                                            : TOMBOLA_SPECULATION_PROMPT_LOOKUP,
                                              .draft = draft,
                                              .draft_tokens = n,
                                              .max_draft = n,
                                              .ngram_min = 1};
  tombola_speculation *speculation;
  struct tombola_error error = {.message = ""};
  if (tombola_speculation_new(model, &params, NULL, &speculation, &error)) fail_msg("%s", error.message);
  return speculation;
}

/* ---- everything that can be seen of an answer ---- */

struct seen {
  tombola_token tokens[MOST];
  size_t count;
  char text[4 * MOST];
  size_t length;
  size_t stop_at;
  struct tombola_generation_stats stats;
  enum tombola_status status;
  tombola_token cache[2 * MOST];
  size_t cached;
  uint32_t word;
};

static int see_token(void *context, const struct tombola_token_event *event) {
  struct seen *seen = context;
  assert_true(seen->count < MOST);
  assert_int_equal(event->index, seen->count);
  seen->tokens[seen->count++] = event->token;
  return seen->count != seen->stop_at;
}

static int see_piece(void *context, enum tombola_channel channel, const char *text, size_t length) {
  struct seen *seen = context;
  assert_true(seen->length + length + 1 < sizeof seen->text);
  seen->text[seen->length++] = channel == TOMBOLA_REASONING ? '~' : '=';
  memcpy(seen->text + seen->length, text, length);
  seen->length += length;
  return 1;
}

/* Forbids a token that depends on how many there are and on the last one. */
static enum tombola_status see_mask(void *context, const tombola_token *answer, size_t count,
                                    struct tombola_mask *mask) {
  struct seen *seen = context;
  seen->word = ~(UINT32_C(1) << ((count + (count ? (size_t)answer[count - 1] : 0)) % 10));
  *mask = (struct tombola_mask){&seen->word, VOCAB, NULL, 0};
  return TOMBOLA_OK;
}

static void see(tombola_session *session, tombola_sampler *sampler, const tombola_token *prompt, size_t count,
                struct tombola_generate_params params, struct seen *seen) {
  memset(seen, 0, sizeof *seen);
  struct tombola_error error = {.message = ""};
  params.struct_size = sizeof params;
  params.on_token = see_token;
  params.on_piece = params.text ? see_piece : NULL;
  params.context = seen;
  seen->status = tombola_session_generate(session, sampler, prompt, count, &params, &seen->stats, &error);
  if (seen->status) fail_msg("generate: %s", error.message);
  const tombola_token *tokens = tombola_session_tokens(session, &seen->cached);
  assert_true(seen->cached <= 2 * MOST);
  memcpy(seen->cache, tokens, seen->cached * sizeof *tokens);
}

static void expect_same(const struct seen *a, const struct seen *b) {
  assert_int_equal(a->count, b->count);
  assert_memory_equal(a->tokens, b->tokens, a->count * sizeof *a->tokens);
  assert_int_equal(a->length, b->length);
  assert_memory_equal(a->text, b->text, a->length);
  assert_int_equal(a->stats.generated, b->stats.generated);
  assert_int_equal(a->stats.stop, b->stats.stop);
  assert_int_equal(a->stats.stop_string, b->stats.stop_string);
  assert_int_equal(a->stats.forced, b->stats.forced);
  assert_int_equal(a->stats.reasoning, b->stats.reasoning);
  assert_int_equal(a->stats.rollbacks, b->stats.rollbacks);
  assert_int_equal(a->stats.rolled_back, b->stats.rolled_back);
  /* Tokens at the end needn't have been run, but may have been, as drafts that turned out right. */
  size_t both = a->cached < b->cached ? a->cached : b->cached,
         prompt = a->stats.prompt_run + a->stats.prompt_reused;
  assert_memory_equal(a->cache, b->cache, both * sizeof *a->cache);
  assert_true(b->cached <= prompt + b->count && b->cached + b->stats.forced + 1 >= prompt + b->count);
  if (b->cached > prompt)
    assert_memory_equal(b->cache + prompt, b->tokens, (b->cached - prompt) * sizeof *b->cache);
}

/* ---- greedy: the same ---- */

struct wish {
  const char *name, *value; /* a parameter of the sampler */
  struct tombola_generate_params params;
  const char *more; /* of the script */
  size_t batch;
};

static const struct tombola_bytes stop_strings[] = {{"ba", 2}, {"gg", 2}};
static const struct tombola_bytes phrases[] = {{"ab", 2}, {"cde", 3}, {"gh", 2}, {"ji", 2}};
static const struct tombola_text_params stops = {
    .struct_size = sizeof stops, .stops = stop_strings, .n_stops = 2};
static const struct tombola_text_params thinks = {
    .struct_size = sizeof thinks, .think_open = "b", .think_close = "<x>"};
static const struct tombola_phrase_bans bans = {
    .struct_size = sizeof bans, .phrases = phrases, .n_phrases = 4};
static const struct tombola_think_budget budget = {.struct_size = sizeof budget, .tokens = 3, .closing = "c"};
static const tombola_token stop_ids[] = {7, 4};

static const struct wish wishes[] = {
    {NULL, NULL, {.max_tokens = 40}, "", 0},
    {NULL, NULL, {.max_tokens = 40, .ignore_end = 1}, "", 0},
    {NULL, NULL, {.max_tokens = 40, .ignore_end = 1}, "", 3},
    {NULL, NULL, {.max_tokens = 40, .ignore_end = 1}, "", 1},
    {NULL, NULL, {.max_tokens = 60, .ignore_end = 1}, ", \"context\": 31", 0},
    {"repeat_penalty", "1.6", {.max_tokens = 40, .ignore_end = 1}, "", 0},
    {"frequency_penalty", "0.7", {.max_tokens = 40, .ignore_end = 1}, "", 0},
    {"dry_multiplier", "2", {.max_tokens = 40, .ignore_end = 1}, "", 0},
    {"presence_penalty", "1.5", {.max_tokens = 40, .ignore_end = 1}, "", 0},
    {NULL, NULL, {.max_tokens = 40, .stop_ids = stop_ids, .n_stop_ids = 2}, "", 0},
    {NULL, NULL, {.max_tokens = 40, .min_tokens = 9, .stop_ids = stop_ids, .n_stop_ids = 2}, "", 0},
    {NULL, NULL, {.max_tokens = 40, .ignore_end = 1, .text = &stops}, "", 0},
    {NULL, NULL, {.max_tokens = 40, .ignore_end = 1, .bans = &bans, .text = &stops}, "", 0},
    {NULL, NULL, {.max_tokens = 40, .ignore_end = 1, .text = &thinks, .think_budget = &budget}, "", 0},
    {NULL,
     NULL,
     {.max_tokens = 40, .ignore_end = 1, .bans = &bans, .text = &thinks, .think_budget = &budget},
     "",
     0},
    {NULL, NULL, {.max_tokens = 40, .on_mask = see_mask}, "", 0},
    {NULL, NULL, {.max_tokens = 60, .ignore_end = 1, .loop_period = 3, .loop_repeats = 3}, "", 0},
};
enum { WISHES = sizeof wishes / sizeof *wishes };

struct sums {
  size_t drafted, accepted, rounds;
};

static void add(struct sums *sums, const struct seen *seen) {
  const struct tombola_speculation_stats *stats = &seen->stats.speculation;
  assert_true(stats->accepted <= stats->drafted && stats->drafted_rounds <= stats->rounds);
  assert_true(stats->rounds == 0 || stats->emitted + 1 + seen->stats.forced == seen->count);
  sums->drafted += stats->drafted;
  sums->accepted += stats->accepted;
  sums->rounds += stats->rounds;
}

/* Two turns in one session, so that what a round leaves behind would be seen in the next. */
static void compare_turns(const struct wish *wish, tombola_model *plain_model, tombola_model *model,
                          tombola_model *draft, struct support_rng *rng, struct sums *sums) {
  tombola_sampler *plain_sampler = sampler_with(VOCAB, wish->name, wish->value);
  tombola_sampler *sampler = sampler_with(VOCAB, wish->name, wish->value);
  tombola_session *plain_session = session_on(plain_model, 0), *session = session_on(model, 0);
  tombola_speculation *speculation = speculate(model, draft, 1 + support_below(rng, 7));
  tombola_token prompt[2 * MOST];
  size_t count = 1 + support_below(rng, 12);
  for (size_t i = 0; i < count; i++)
    prompt[i] = (tombola_token)support_below(rng, 10);
  for (int turn = 0; turn < 2; turn++) {
    struct seen want, got;
    struct tombola_generate_params params = wish->params;
    see(plain_session, plain_sampler, prompt, count, params, &want);
    params.speculation = speculation;
    see(session, sampler, prompt, count, params, &got);
    expect_same(&want, &got);
    add(sums, &got);
    count = 1 + support_below(rng, want.cached < 20 ? want.cached : 20);
    memcpy(prompt, want.cache, count * sizeof *prompt);
    prompt[count++] = (tombola_token)support_below(rng, 10);
  }
  tombola_speculation_free(speculation);
  tombola_session_free(session);
  tombola_session_free(plain_session);
  tombola_sampler_free(sampler);
  tombola_sampler_free(plain_sampler);
}

static void compare_wish(const struct wish *wish, bool with_draft, struct sums *sums) {
  unsigned seeds = support_long() ? 400 : 40;
  for (unsigned seed = 0; seed < seeds; seed++) {
    struct support_rng rng = support_rng(1000 + seed);
    tombola_model *plain = hashed(seed, "", wish->more, wish->batch);
    tombola_model *model = hashed(seed, "", wish->more, wish->batch);
    tombola_model *draft = with_draft ? hashed(seed, "\"3\": 5, \"6\": 1", "", 0) : NULL;
    compare_turns(wish, plain, model, draft, &rng, sums);
    tombola_model_free(draft);
    tombola_model_free(model);
    tombola_model_free(plain);
  }
}

static void test_greedy_is_the_same(void **state) {
  (void)state;
  for (size_t i = 0; i < WISHES; i++) {
    struct sums draft = {0}, lookup = {0};
    compare_wish(&wishes[i], true, &draft);
    compare_wish(&wishes[i], false, &lookup);
    print_message("wish %zu: draft %zu of %zu accepted, lookup %zu of %zu\n", i, draft.accepted,
                  draft.drafted, lookup.accepted, lookup.drafted);
    if (wishes[i].batch == 1) {
      assert_int_equal(draft.drafted + lookup.drafted, 0); /* nothing fits behind the token that waits */
      continue;
    }
    assert_true(draft.accepted > 0 && draft.accepted < draft.drafted);
    assert_true(lookup.drafted > 0);
  }
}

/* ---- stops inside an accepted run (case F03) ---- */

/* The model and its draft play the same run, so that every draft is right. */
struct pair {
  tombola_model *model, *draft;
  tombola_session *session;
  tombola_sampler *sampler;
  tombola_speculation *speculation;
};

static const char run_script[] =
    "{\"vocab\": [\"<end>\", \"a\", \"b\", \"c\", \"d\", \"e\", \"f\", \"g\", \"h\", \"i\", \"j\", \"k\"], "
    "\"end\": [0], \"steps\": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0], \"after\": \"end\"}";

static struct pair pair_of(const char *model, const char *draft, size_t n) {
  struct pair pair = {.model = script_load(model, NULL), .draft = script_load(draft, NULL)};
  pair.session = session_on(pair.model, 0);
  pair.sampler = sampler_with(VOCAB, NULL, NULL);
  pair.speculation = speculate(pair.model, pair.draft, n);
  return pair;
}

static void free_pair(struct pair *pair) {
  tombola_speculation_free(pair->speculation);
  tombola_sampler_free(pair->sampler);
  tombola_session_free(pair->session);
  tombola_model_free(pair->draft);
  tombola_model_free(pair->model);
}

static void expect_run(struct pair *pair, struct tombola_generate_params params, size_t n,
                       enum tombola_stop stop) {
  static const tombola_token prompt[] = {1, 2, 3};
  struct seen seen;
  params.speculation = pair->speculation;
  see(pair->session, pair->sampler, prompt, 3, params, &seen);
  assert_int_equal(seen.count, n);
  for (size_t i = 0; i < n; i++)
    assert_int_equal(seen.tokens[i], i + 1);
  assert_int_equal(seen.stats.stop, stop);
  assert_int_equal(seen.stats.generated, n);
  /* The token at a limit isn't run, not even as a draft; all others are, and none behind them. */
  assert_int_equal(seen.cached, 3 + n - (stop != TOMBOLA_STOP_END_TOKEN));
  assert_int_equal(seen.stats.speculation.emitted, n - 1); /* the first is the prompt's */
  assert_true(seen.stats.speculation.accepted <= n - 1);
}

static void test_f03(void **state) {
  (void)state;
  for (size_t drafts = 1; drafts <= 8; drafts++) {
    struct pair pair = pair_of(run_script, run_script, drafts);
    for (tombola_token stop = 2; stop <= 11; stop++) { /* the stop id at every place of the run */
      struct tombola_generate_params params = {.max_tokens = 50, .stop_ids = &stop, .n_stop_ids = 1};
      expect_run(&pair, params, (size_t)stop - 1, TOMBOLA_STOP_END_TOKEN);
      params.max_tokens = stop; /* wins over a limit right behind it */
      expect_run(&pair, params, (size_t)stop - 1, TOMBOLA_STOP_END_TOKEN);
      params.max_tokens = stop - 1; /* which wins over it one before */
      expect_run(&pair, params, (size_t)stop - 1, TOMBOLA_STOP_MAX_TOKENS);
    }
    expect_run(&pair, (struct tombola_generate_params){.max_tokens = 50}, 11, TOMBOLA_STOP_END_TOKEN);
    free_pair(&pair);
  }
}

static void test_stops_in_a_run(void **state) {
  (void)state;
  static const tombola_token prompt[] = {1, 2, 3};
  struct pair pair = pair_of(run_script, run_script, 6);
  static const struct tombola_bytes strings[] = {{"cd", 2}};
  static const struct tombola_text_params text = {.struct_size = sizeof text, .stops = strings, .n_stops = 1};
  struct seen seen;
  see(pair.session, pair.sampler, prompt, 3,
      (struct tombola_generate_params){.max_tokens = 50, .text = &text, .speculation = pair.speculation},
      &seen);
  assert_int_equal(seen.stats.stop, TOMBOLA_STOP_STOP_STRING);
  assert_int_equal(seen.count, 4); /* a b c d, as without speculation */
  assert_int_equal(seen.length, 4);
  assert_memory_equal(seen.text, "=a=b", 4);
  assert_int_equal(seen.cached, 3 + 4);               /* the last one was run as a draft */
  for (size_t stop_at = 1; stop_at < 11; stop_at++) { /* the caller's word at every place */
    struct heard heard = {.stop_at = stop_at};
    struct tombola_generate_params params = with(&heard, 50);
    struct tombola_generation_stats stats;
    params.speculation = pair.speculation;
    assert_int_equal(tombola_session_generate(pair.session, pair.sampler, prompt, 3, &params, &stats, NULL),
                     TOMBOLA_OK);
    assert_int_equal(heard.count, stop_at);
    assert_int_equal(stats.stop, TOMBOLA_STOP_CALLER);
    size_t cached;
    const tombola_token *tokens = tombola_session_tokens(pair.session, &cached);
    assert_true(cached == 3 + stop_at - 1 || cached == 3 + stop_at);
    for (size_t i = 3; i < cached; i++)
      assert_int_equal(tokens[i], i - 2);
  }
  free_pair(&pair);
}

/* ---- what is counted ---- */

static struct tombola_speculation_stats counts_of(struct pair *pair, int64_t max_tokens) {
  static const tombola_token prompt[] = {1, 2, 3};
  struct seen seen;
  see(pair->session, pair->sampler, prompt, 3,
      (struct tombola_generate_params){.max_tokens = max_tokens, .speculation = pair->speculation}, &seen);
  return seen.stats.speculation;
}

static void test_counts(void **state) {
  (void)state;
  struct pair pair = pair_of(run_script, run_script, 4);
  struct tombola_speculation_stats stats = counts_of(&pair, 11); /* 1, then 4 + 1, then 4 + 1 */
  assert_int_equal(stats.rounds, 2);
  assert_int_equal(stats.drafted_rounds, 2);
  assert_int_equal(stats.drafted, 8);
  assert_int_equal(stats.accepted, 8);
  assert_int_equal(stats.emitted, 10);
  assert_true(stats.acceptance_rate == 1 && stats.tokens_per_round == 5);
  assert_int_equal(stats.failures, 0);
  stats = counts_of(&pair, 3); /* one draft is all that the limit has use for */
  assert_int_equal(stats.drafted, 1);
  assert_int_equal(stats.accepted, 1);
  assert_int_equal(stats.emitted, 2);
  stats = counts_of(&pair, 1);
  assert_int_equal(stats.rounds, 0);
  assert_true(stats.acceptance_rate == 0 && stats.tokens_per_round == 0);
  free_pair(&pair);

  static const char wrong[] =
      "{\"vocab\": [\"<end>\", \"a\", \"b\", \"c\", \"d\", \"e\", \"f\", \"g\", \"h\", \"i\", \"j\", \"k\"], "
      "\"end\": [0], \"steps\": [1, 2, 3, 9, 5, 6, 9, 8, 9, 9, 11, 0], \"after\": \"end\"}";
  pair = pair_of(run_script, wrong, 3);
  stats = counts_of(&pair, 11); /* 1 | 2 3 (9) 4 | 5 6 (9) 7 | 8 9 (9) 10 | 11 */
  assert_int_equal(stats.rounds, 4);
  assert_int_equal(stats.drafted, 9); /* for the last token none is worth it */
  assert_int_equal(stats.accepted, 6);
  assert_int_equal(stats.emitted, 10);
  free_pair(&pair);
}

/* Drafts that are always wrong: after three the governor pauses four rounds, then eight. */
static void test_pauses(void **state) {
  (void)state;
  tombola_model *model =
      script_load("{\"vocab\": [\"<end>\", \"a\", \"b\", \"c\"], \"end\": [0], \"steps\": "
                  "[1, 1, 2, 1, 1, 3, 2, 1, 1, 1, 3, 1, 2, 2, 1, 1, 2, 3], \"after\": \"repeat\"}",
                  NULL);
  static const tombola_token prompt[] = {1, 2, 3};
  tombola_session *session = session_on(model, 0);
  tombola_sampler *sampler = sampler_with(4, NULL, NULL);
  tombola_speculation *speculation = speculate(model, NULL, 7);
  struct seen seen;
  see(session, sampler, prompt, 3,
      (struct tombola_generate_params){.max_tokens = 60, .speculation = speculation}, &seen);
  const struct tombola_speculation_stats *stats = &seen.stats.speculation;
  print_message("%zu rounds, %zu drafted, %zu paused\n", stats->rounds, stats->drafted_rounds,
                stats->paused_rounds);
  assert_true(stats->drafted_rounds + stats->paused_rounds <= stats->rounds);
  assert_true(stats->drafted_rounds > 0);
  for (size_t i = 0; i < 60; i++) {
    static const tombola_token steps[] = {1, 1, 2, 1, 1, 3, 2, 1, 1, 1, 3, 1, 2, 2, 1, 1, 2, 3};
    assert_int_equal(seen.tokens[i], steps[i % 18]);
  }
  tombola_speculation_free(speculation);
  tombola_sampler_free(sampler);
  tombola_session_free(session);
  tombola_model_free(model);
}

/* A model that can only forget all of its sequence: the first draft that is wrong is the last. */
static void test_all_or_nothing(void **state) {
  (void)state;
  static const tombola_token prompt[] = {1, 2, 3, 1, 2, 3, 1, 2, 3, 1};
  tombola_model *model = toy_model(TOY_CONTEXT, TOY_CONTEXT, -1);
  struct toy *toy = toy_last;
  toy->all_or_nothing = 1;
  tombola_session *session = session_on(model, 0);
  tombola_sampler *sampler = sampler_with(TOY_VOCAB, NULL, NULL);
  tombola_speculation *speculation = speculate(model, NULL, 7);
  struct heard heard = {.count = 0};
  struct tombola_generate_params params = with(&heard, 40);
  struct tombola_generation_stats stats;
  params.speculation = speculation;
  assert_int_equal(tombola_session_generate(session, sampler, prompt, 10, &params, &stats, NULL), TOMBOLA_OK);
  assert_int_equal(heard.count, 40);
  expect_toy(&heard, prompt, 10);
  check_cache(session, toy, 49);
  assert_int_equal(stats.speculation.drafted_rounds, 1);
  assert_int_equal(stats.speculation.accepted, 0);
  tombola_speculation_free(speculation);
  tombola_sampler_free(sampler);
  tombola_session_free(session);
  tombola_model_free(model);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_greedy_is_the_same),
      cmocka_unit_test(test_f03),
      cmocka_unit_test(test_stops_in_a_run),
      cmocka_unit_test(test_counts),
      cmocka_unit_test(test_pauses),
      cmocka_unit_test(test_all_or_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
