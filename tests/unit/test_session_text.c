/* SPDX-License-Identifier: Apache-2.0 */
/* The text of an answer, from the model to the callbacks: stop strings, reasoning, characters, and where each
 * of them ends the answer. Cases B01, B03, B05, C01, C03, C04, F03, H01, H03, H05. */
#include "play.h"
#include "support.h"

#define THINK .think_open = "<think>", .think_close = "</think>"
#define EOS   TOMBOLA_STOP_END_TOKEN
#define STOP  TOMBOLA_STOP_STOP_STRING

/* ---- the cases ---- */

struct text_case {
  const char *stops[4];
  struct tombola_text_params text;
  const char *pieces[8];
  const char *content, *reasoning;
  enum tombola_stop stop;
  int which;        /* stop string */
  size_t generated; /* tokens, that of the stop string among them */
};

static const struct text_case cases[] = {
    /* B01 */
    {{"DE"}, {0}, {"ABC", "DEFG", "H"}, "ABC", "", STOP, 0, 2},
    {{"\n"}, {0}, {"?\n"}, "?", "", STOP, 0, 1},
    {{"beta gamma"}, {0}, {"be", "ta gam", "ma delta"}, "", "", STOP, 0, 3},
    /* B03 */
    {{"re", "he"}, {0}, {"there"}, "t", "", STOP, 1, 1},
    {{"he", "re"}, {0}, {"there"}, "t", "", STOP, 0, 1},
    {{"abcd", "bc"}, {0}, {"x", "a", "b", "c", "d", "!"}, "xa", "", STOP, 1, 4},
    {{"abcd", "bc"}, {0}, {"xabcd!"}, "xa", "", STOP, 1, 1},
    /* B05 */
    {{"\xe3\x80\x82"}, {0}, {"\xe5\xa5", "\xbd\xe3", "\x80\x82\xe4"}, "\xe5\xa5\xbd", "", STOP, 0, 3},
    {{"\xf0\x9f\x98\x80"}, {0}, {"\xf0\x9f\x98", "\x81"}, "\xf0\x9f\x98\x81", "", EOS, -1, 2},
    {{"\xc3\xa9"}, {0}, {"a\xc3", "\xa9", "z"}, "a", "", STOP, 0, 2},
    /* C01, C03 */
    {{0}, {0}, {"\xf0\x9f", "\xa4", "\xa3"}, "\xf0\x9f\xa4\xa3", "", EOS, -1, 3},
    {{0},
     {0},
     {" \xc4", "\x8f\xc3\xa1"
               "b"},
     " \xc4\x8f\xc3\xa1"
     "b",
     "",
     EOS,
     -1,
     2},
    {{0}, {0}, {"\xc3", "(", "a"}, "\xef\xbf\xbd(a", "", EOS, -1, 3},
    {{0},
     {0},
     {"a", "\xef\xbf\xbd", "b\xe2\x82"},
     "a\xef\xbf\xbd"
     "b\xef\xbf\xbd",
     "",
     EOS,
     -1,
     3},
    /* H01 */
    {{0}, {THINK}, {"<think>", "plan A", " then B"}, "", "plan A then B", EOS, -1, 3},
    {{0}, {THINK}, {"<think>", "</think>", "ok"}, "ok", "", EOS, -1, 3},
    {{0}, {THINK}, {"<think>\n\n</think>\n\n", "ok"}, "ok", "", EOS, -1, 2},
    /* H03 */
    {{0},
     {THINK, .starts_in_reasoning = 1},
     {"because 2>1</think>\n\nYes"},
     "Yes",
     "because 2>1",
     EOS,
     -1,
     1},
    {{0}, {THINK}, {"Yes"}, "Yes", "", EOS, -1, 1},
    {{0}, {THINK, .starts_in_reasoning = 1}, {"still going"}, "", "still going", EOS, -1, 1},
    /* H05 */
    {{"Question:"},
     {THINK, .starts_in_reasoning = 1},
     {"The Question: is easy", "</think>", "Answer 4\n", "Question: next"},
     "Answer 4\n",
     "The Question: is easy",
     STOP,
     0,
     4},
    {{"Question:"},
     {THINK, .starts_in_reasoning = 1, .stops_in_reasoning = 1},
     {"The Question: is easy", "</think>", "Answer 4\n"},
     "",
     "The ",
     STOP,
     0,
     1},
    /* what is held back for a stop string comes out at the end; minfer's rule holds nothing back */
    {{"stop"}, {0}, {"to", " sto"}, "to sto", "", EOS, -1, 2},
    {{"stop"}, {.stops_at_piece_end = 1}, {"a st", "op", "b"}, "a st", "", STOP, 0, 2},
    {{"stop"}, {.stops_at_piece_end = 1}, {"a stop b"}, "a stop b", "", EOS, -1, 1},
};

static void play_case(struct play *p, const struct text_case *c) {
  struct tombola_text_params text = c->text;
  struct tombola_bytes stops[4];
  text.struct_size = sizeof text;
  for (; text.n_stops < 4 && c->stops[text.n_stops]; text.n_stops++)
    stops[text.n_stops] = (struct tombola_bytes){c->stops[text.n_stops], strlen(c->stops[text.n_stops])};
  text.stops = stops;
  p->params.text = &text;
  play_pieces(p, c->pieces);
}

static void test_cases(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct play p = {.count = 0};
    play_case(&p, &cases[i]);
    play_ok(&p, cases[i].stop);
    play_text(&p, cases[i].content, cases[i].reasoning);
    assert_int_equal(p.stats.stop_string, cases[i].which);
    assert_int_equal(p.stats.generated, cases[i].generated);
    assert_string_equal(tombola_stop_finish(p.stats.stop), "stop");
  }
}

/* However soon the limit comes: never more text than there is without one, and nothing is lost that was said.
 */
static void test_limit_in_text(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    for (size_t limit = 1; limit <= cases[i].generated; limit++) {
      struct play p = {.params = {.max_tokens = (int64_t)limit}};
      play_case(&p, &cases[i]);
      bool stopped = cases[i].stop == STOP && limit == cases[i].generated;
      play_ok(&p, stopped ? STOP : TOMBOLA_STOP_MAX_TOKENS); /* F03: a stop string goes before the limit */
      assert_int_equal(p.count, limit);
      if (limit == cases[i].generated) play_text(&p, cases[i].content, cases[i].reasoning);
    }
  }
}

/* Case F03: [10, 11, STOP, …] with a limit of 5, [… 14, STOP] with 5, an end token in the run. Ids are
 * pieces. */
static void test_f03(void **state) {
  (void)state;
  const char *run[] = {"a", "b", "STOP", "c", "d", "e", NULL};
  struct tombola_bytes stop = {"STOP", 4};
  struct tombola_text_params text = {.struct_size = sizeof text, .stops = &stop, .n_stops = 1};
  struct play p = {.params = {.max_tokens = 5, .text = &text}};
  play_pieces(&p, run);
  play_ok(&p, STOP);
  play_tokens(&p, (const tombola_token[]){1, 2, 3}, 3);
  play_text(&p, "ab", "");

  const char *late[] = {"a", "b", "c", "d", "e", "STOP", NULL};
  play_pieces(&p, late);
  play_ok(&p, TOMBOLA_STOP_MAX_TOKENS);
  play_tokens(&p, (const tombola_token[]){1, 2, 3, 4, 5}, 5);
  play_text(&p, "abcde", "");

  const char *ends[] = {"a", NULL};
  p.params.max_tokens = 50;
  play_pieces(&p, ends);
  play_ok(&p, EOS);
  play_tokens(&p, (const tombola_token[]){1}, 1);
  p.params.max_tokens =
      1; /* the token at the limit is the last one; the end token behind it isn't looked at */
  play_pieces(&p, ends);
  play_ok(&p, TOMBOLA_STOP_MAX_TOKENS);
}

/* ---- tokens that are more than text ---- */

/* A special token has no text, unless it is a marker; C04: a piece that only looks like a byte is text. */
static void test_special(void **state) {
  (void)state;
  const char json[] =
      "{\"vocab\": [\"<eos>\", \"<think>\", \"</think>\", \"<tool>\", \"x\", \"y\", \"<0xEA>\"],"
      " \"end\": [0], \"special\": [0, 1, 2, 3], \"steps\": [1, 4, 3, 4, 2, 5, 3, 6]}";
  struct tombola_text_params text = {.struct_size = sizeof text, THINK};
  struct play p = {.params = {.text = &text}};
  const tombola_token prompt = 4;
  play(&p, json, &prompt, 1);
  play_ok(&p, EOS);
  play_text(&p, "y<0xEA>", "xx");
  assert_int_equal(p.count, 8);
  assert_int_equal(p.stats.reasoning, 4); /* the opening marker's too */
  static const unsigned char channel[] = {1, 1, 1, 1, 0, 0, 0, 0};
  assert_memory_equal(p.channel, channel, sizeof channel);

  text.think_open = text.think_close = NULL; /* then they are like any special token */
  play(&p, json, &prompt, 1);
  play_text(&p, "xxy<0xEA>", "");
}

/* Without a pipe there are no pieces, and nothing else changes. */
static void test_no_pipe(void **state) {
  (void)state;
  const char *pieces[] = {"a", "b", NULL};
  struct play p = {.count = 0};
  play_pieces(&p, pieces);
  play_ok(&p, EOS);
  assert_int_equal(p.count, 2);
  assert_int_equal(p.pieces, 0);
  assert_int_equal(p.stats.stop_string, -1);
}

/* ---- the caller ---- */

static void test_caller(void **state) {
  (void)state;
  const char *pieces[] = {"one ", "two ", "thr", "ee STOP", NULL};
  struct tombola_bytes stop = {"STOP", 4};
  struct tombola_text_params text = {.struct_size = sizeof text, .stops = &stop, .n_stops = 1};
  struct play p = {.params = {.text = &text}, .refuse_piece = 2};
  play_pieces(&p, pieces);
  play_ok(&p, TOMBOLA_STOP_CALLER);
  play_text(&p, "one two ", "");
  assert_int_equal(p.count, 2);

  const char *held_back[] = {"one S", "T", NULL}; /* nor is it asked to take what is held back */
  p.refuse_piece = 1;
  play_pieces(&p, held_back);
  play_ok(&p, TOMBOLA_STOP_CALLER);
  play_text(&p, "one ", "");

  p.refuse_piece = 0;
  p.refuse_token = 3;
  play_pieces(&p, pieces);
  play_ok(&p, TOMBOLA_STOP_CALLER);
  play_text(&p, "one two thr", "");
  p.refuse_token = 4; /* a stop string goes before the caller */
  play_pieces(&p, pieces);
  play_ok(&p, STOP);
  play_text(&p, "one two three ", "");

  struct tombola_bytes held = {"two x", 5}; /* what is held back comes out when the caller stops, too */
  text.stops = &held;
  p.refuse_token = 2;
  play_pieces(&p, pieces);
  play_ok(&p, TOMBOLA_STOP_CALLER);
  play_text(&p, "one two ", "");
}

/* A forward pass that fails in the middle: what was said is heard, the error is the model's, and the session
 * goes on. */
static void test_failed_forward(void **state) {
  (void)state;
  const char *pieces[] = {"one", " st", "op", NULL};
  struct tombola_bytes stop = {"stopped", 7};
  struct tombola_text_params text = {.struct_size = sizeof text, .stops = &stop, .n_stops = 1};
  char json[1024];
  tombola_token prompt = play_script(json, sizeof json, pieces, ", \"fail_at\": 2");
  tombola_model *model = script_load(json, NULL);
  tombola_sampler *sampler = play_sampler(5, NULL, NULL);
  tombola_session *session;
  assert_int_equal(tombola_session_new(model, 0, NULL, &session, NULL), TOMBOLA_OK);
  struct play p = {.params = {.text = &text}};
  play_on(&p, session, sampler, &prompt, 1);
  assert_int_equal(p.status, TOMBOLA_MODEL);
  assert_string_equal(p.error.message, "the script makes the forward pass of step 2 fail");
  play_text(&p, "one st", "");
  assert_int_equal(p.cached, 2);
  play_on(&p, session, sampler, &prompt, 1);
  play_ok(&p, EOS);
  play_text(&p, "one stop", "");
  tombola_session_free(session);
  tombola_sampler_free(sampler);
  tombola_model_free(model);
}

/* ---- memory and arguments ---- */

static void test_refused(void **state) {
  (void)state;
  const char *pieces[] = {"a", NULL};
  struct tombola_bytes empty = {"", 0};
  struct tombola_text_params text = {.struct_size = sizeof text, .stops = &empty, .n_stops = 1};
  struct play p = {.params = {.text = &text}};
  play_pieces(&p, pieces);
  assert_int_equal(p.status, TOMBOLA_INVALID_ARGUMENT);
  text = (struct tombola_text_params){.struct_size = sizeof text, .think_open = "<a>"};
  play_pieces(&p, pieces);
  assert_int_equal(p.status, TOMBOLA_INVALID_ARGUMENT);
  assert_string_equal(p.error.param, "think_close");
  text = (struct tombola_text_params){.struct_size = 0};
  play_pieces(&p, pieces);
  assert_int_equal(p.status, TOMBOLA_INVALID_ARGUMENT);
  assert_string_equal(p.error.param, "text");
}

/* Every request for memory fails once; the session stays usable each time. */
static void test_memory(void **state) {
  (void)state;
  const char *pieces[] = {"<think>", "a", "</think>", "b st", "op", NULL};
  struct tombola_bytes stop = {"stop", 4};
  struct tombola_text_params text = {.struct_size = sizeof text, .stops = &stop, .n_stops = 1, THINK};
  char json[1024];
  tombola_token prompt = play_script(json, sizeof json, pieces, NULL);
  tombola_model *model = script_load(json, NULL);
  tombola_sampler *sampler = play_sampler(7, NULL, NULL);
  assert_int_equal(tombola_sampler_set_logprobs(sampler, TOMBOLA_LOGPROB_RAW, 2), TOMBOLA_OK);
  for (size_t n = 1;; n++) {
    struct support_allocator memory = support_allocator(0);
    tombola_session *session;
    assert_int_equal(tombola_session_new(model, 0, support_allocator_use(&memory), &session, NULL),
                     TOMBOLA_OK);
    struct play p = {.params = {.text = &text, .loop_period = 3, .loop_repeats = 50}};
    size_t before = memory.requests;
    memory.fail_at = before + n;
    play_on(&p, session, sampler, &prompt, 1);
    bool all = memory.requests < before + n;
    assert_int_equal(p.status, all ? TOMBOLA_OK : TOMBOLA_NO_MEMORY);
    memory.fail_at = 0;
    play_on(&p, session, sampler, &prompt, 1);
    play_ok(&p, STOP);
    play_text(&p, "b ", "a");
    tombola_session_free(session);
    support_allocator_check(&memory);
    if (all) {
      assert_true(n > 5);
      break;
    }
  }
  tombola_sampler_free(sampler);
  tombola_model_free(model);
}

/* A long answer asks for no more memory than a short one, whatever is looked at on the way. */
static void test_no_allocation(void **state) {
  (void)state;
  tombola_model *model =
      script_load("{\"vocab\": [\"e\",\"a\",\"b\",\"\\n\"], \"end\": [], \"hash\": 7}", NULL);
  struct support_allocator memory = support_allocator(0);
  tombola_session *session;
  assert_int_equal(tombola_session_new(model, 0, support_allocator_use(&memory), &session, NULL), TOMBOLA_OK);
  tombola_sampler *sampler = play_sampler(4, "temperature", "1");
  assert_int_equal(tombola_sampler_set_logprobs(sampler, TOMBOLA_LOGPROB_RAW, 3), TOMBOLA_OK);
  struct tombola_bytes stop = {"abababababababababababab", 24};
  struct tombola_text_params text = {.struct_size = sizeof text, .stops = &stop, .n_stops = 1, THINK};
  struct tombola_generate_params params = {.struct_size = sizeof params,
                                           .max_tokens = 5,
                                           .text = &text,
                                           .min_tokens = 4,
                                           .time_limit = 100,
                                           .loop_period = 8,
                                           .loop_repeats = 1000};
  const tombola_token prompt = 1;
  size_t requests[2];
  for (int i = 0; i < 2; i++) {
    size_t before = memory.requests;
    struct tombola_generation_stats stats;
    assert_int_equal(tombola_session_generate(session, sampler, &prompt, 1, &params, &stats, NULL),
                     TOMBOLA_OK);
    assert_int_equal(stats.generated, params.max_tokens);
    requests[i] = memory.requests - before;
    params.max_tokens = 3000;
  }
  assert_int_equal(requests[0], requests[1]);
  tombola_sampler_free(sampler);
  tombola_session_free(session);
  support_allocator_check(&memory);
  tombola_model_free(model);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cases),   cmocka_unit_test(test_limit_in_text),
      cmocka_unit_test(test_f03),     cmocka_unit_test(test_special),
      cmocka_unit_test(test_no_pipe), cmocka_unit_test(test_caller),
      cmocka_unit_test(test_refused), cmocka_unit_test(test_failed_forward),
      cmocka_unit_test(test_memory),  cmocka_unit_test(test_no_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
