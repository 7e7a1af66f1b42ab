/* SPDX-License-Identifier: Apache-2.0 */
/* The text pipe: stop strings, reasoning, characters, however the bytes are cut. Cases B01, B03, B05, H01,
 * H03, H05. */
#include "support.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tombola/text.h"

struct sink {
  char text[2][4096]; /* by channel */
  size_t length[2];
  size_t pieces;
  size_t limit; /* refuse further pieces after so many; 0: none */
};

static size_t whole(const char *text, size_t length) {
  return tombola_utf8_whole(text, length);
}

static int collect(void *context, enum tombola_channel channel, const char *text, size_t length) {
  struct sink *s = context;
  assert_true(length > 0);
  assert_int_equal(whole(text, length), length); /* only whole characters leave */
  memcpy(s->text[channel] + s->length[channel], text, length);
  s->length[channel] += length;
  s->pieces++;
  return !s->limit || s->pieces < s->limit;
}

struct setting {
  const char *stops[8];
  struct tombola_text_params params;
};

static tombola_text *make(const struct setting *setting) {
  struct tombola_text_params params = setting->params;
  struct tombola_bytes stops[8];
  params.struct_size = sizeof params;
  while (params.n_stops < 8 && setting->stops[params.n_stops]) {
    const char *stop = setting->stops[params.n_stops];
    stops[params.n_stops++] = (struct tombola_bytes){stop, strlen(stop)};
  }
  params.stops = stops;
  tombola_text *text = NULL;
  struct tombola_error error = {0};
  if (tombola_text_new(&params, NULL, &text, &error)) fail_msg("%s", error.message);
  return text;
}

static void run(struct sink *sink, tombola_text *text, const char *const *pieces, bool finish) {
  memset(sink, 0, sizeof *sink);
  for (size_t i = 0; pieces[i]; i++)
    assert_int_equal(tombola_text_push(text, pieces[i], strlen(pieces[i]), collect, sink), TOMBOLA_OK);
  if (finish) assert_int_equal(tombola_text_finish(text, collect, sink), TOMBOLA_OK);
}

static void same(const struct sink *sink, enum tombola_channel channel, const char *want) {
  if (sink->length[channel] != strlen(want) || memcmp(sink->text[channel], want, strlen(want)))
    fail_msg("channel %d: '%.*s', not '%s'", (int)channel, (int)sink->length[channel], sink->text[channel],
             want);
}

#define THINK .think_open = "<think>", .think_close = "</think>"

/* ---- the cases ---- */

static const struct {
  struct setting setting;
  const char *pieces[8];
  const char *content, *reasoning;
  int stopped;
} texts[] = {
    /* B01 */
    {{{"DE"}, {0}}, {"ABC", "DEFG", "H"}, "ABC", "", 0},
    {{{"\n"}, {0}}, {"?\n"}, "?", "", 0},
    {{{"beta gamma"}, {0}}, {"be", "ta gam", "ma delta"}, "", "", 0},
    /* B03 */
    {{{"re", "he"}, {0}}, {"there"}, "t", "", 1},
    {{{"he", "re"}, {0}}, {"there"}, "t", "", 0},
    {{{"abcd", "bc"}, {0}}, {"x", "a", "b", "c", "d", "!"}, "xa", "", 1},
    {{{"abcd", "bc"}, {0}}, {"xabcd!"}, "xa", "", 1},
    /* B05 */
    {{{"\xe3\x80\x82"}, {0}}, {"\xe5\xa5", "\xbd\xe3", "\x80\x82\xe4"}, "\xe5\xa5\xbd", "", 0},
    {{{"\xf0\x9f\x98\x80"}, {0}}, {"\xf0\x9f\x98", "\x81"}, "\xf0\x9f\x98\x81", "", -1},
    {{{"\xc3\xa9"}, {0}}, {"a\xc3", "\xa9", "z"}, "a", "", 0},
    /* H01 */
    {{{0}, {THINK}}, {"<think>", "plan A", " then B"}, "", "plan A then B", -1},
    {{{0}, {THINK}}, {"<think>", "</think>", "ok"}, "ok", "", -1},
    {{{0}, {THINK}}, {"<think>\n\n</think>\n\n", "ok"}, "ok", "", -1},
    /* H03 */
    {{{0}, {THINK, .starts_in_reasoning = 1}}, {"because 2>1</think>\n\nYes"}, "Yes", "because 2>1", -1},
    {{{0}, {THINK}}, {"Yes"}, "Yes", "", -1},
    {{{0}, {THINK, .starts_in_reasoning = 1}}, {"still going"}, "", "still going", -1},
    /* H05 */
    {{{"Question:"}, {THINK, .starts_in_reasoning = 1}},
     {"The Question: is easy", "</think>", "Answer 4\n", "Question: next"},
     "Answer 4\n",
     "The Question: is easy",
     0},
    {{{"Question:"}, {THINK, .starts_in_reasoning = 1, .stops_in_reasoning = 1}},
     {"The Question: is easy", "</think>", "Answer 4\n"},
     "",
     "The ",
     0},
    /* a marker cut anywhere, near misses, an opening marker inside the reasoning */
    {{{0}, {THINK}}, {"a<", "thi", "nk>b</th", "ink", ">c"}, "ac", "b", -1},
    {{{0}, {THINK}}, {"1 < 2 <thinker <think", "x <"}, "1 < 2 <thinker <thinkx <", "", -1},
    {{{0}, {THINK}}, {"<think>a<think>b</think>c</think>d<think>e"}, "cd", "abe", -1},
    {{{0}, {THINK, .keep_newlines = 1}}, {"<think>\na\n</think>\nb"}, "\nb", "\na\n", -1},
    {{{0}, {THINK}}, {"<think>a\n\nb\n", "\n</think>\n\nc\n\nd\n"}, "c\n\nd\n", "a\n\nb", -1},
    /* what a stop string holds back comes out when the channel changes or the text ends */
    {{{"stop"}, {THINK}}, {"st<think>op</think>op sto"}, "stop sto", "op", -1},
    {{{"stop"}, {.keep_stop = 1}}, {"a st", "op b"}, "a stop", "", 0},
    /* the longest at one end, then list order */
    {{{"b", "ab"}, {0}}, {"xab"}, "x", "", 1},
    {{{"ab", "ab"}, {0}}, {"xab"}, "x", "", 0},
    /* inside a character: what can't be completed any more doesn't leave */
    {{{"\x9f"}, {0}}, {"a\xf0\x9f\xa4\xa3"}, "a", "", 0},
    /* rMLX's dominant channel: a piece goes where its end is; a marker cut in two isn't one */
    {{{0}, {THINK, .marker_rule_of_pieces = 1}}, {"a<think>b", "c", "d</think>e", "f"}, "def", "abc", -1},
    {{{0}, {THINK, .marker_rule_of_pieces = 1}}, {"<th", "ink>a"}, "<think>a", "", -1},
    /* minfer's rule: at the end of a piece, without holding back */
    {{{"stop"}, {.stops_at_piece_end = 1}}, {"a stop b", " sto", "p"}, "a stop b sto", "", 0},
    {{{"stop"}, {.stops_at_piece_end = 1}}, {"a", "b stop"}, "ab ", "", 0},
    {{{"b", "ab"}, {.stops_at_piece_end = 1}}, {"xab"}, "x", "", 1},
    {{{"\xe4\xb8\xad"}, {.stops_at_piece_end = 1}}, {"a\xe4\xb8", "\xad"}, "a", "", 0},
};

static void test_cases(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    struct sink sink;
    tombola_text *text = make(&texts[i].setting);
    for (int again = 0; again < 2; again++) {
      run(&sink, text, texts[i].pieces, true);
      same(&sink, TOMBOLA_CONTENT, texts[i].content);
      same(&sink, TOMBOLA_REASONING, texts[i].reasoning);
      assert_int_equal(tombola_text_stopped(text), texts[i].stopped);
      tombola_text_reset(text, texts[i].setting.params.starts_in_reasoning);
    }
    tombola_text_free(text);
  }
}

/* Exactly the longest proper beginning of a stop string is held back: a look after every piece. */
static void test_hold_back(void **state) {
  (void)state;
  const struct {
    const char *pieces[8], *seen[8];
  } streams[] = {
      {{"ab", "c", "x"}, {"", "", "abcx"}},
      {{"aab", "b"}, {"a", "aabb"}},
      {{"abca", "b", "d"}, {"abc", "abc", "abcabd"}},
      {{"hello a", "b!"}, {"hello ", "hello ab!"}},
  };
  struct setting setting = {.stops = {"abcd"}};
  for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
    tombola_text *text = make(&setting);
    struct sink sink = {0};
    for (size_t k = 0; streams[i].pieces[k]; k++) {
      const char *piece = streams[i].pieces[k];
      assert_int_equal(tombola_text_push(text, piece, strlen(piece), collect, &sink), TOMBOLA_OK);
      if (i == 2 && k == 1) continue;
      same(&sink, TOMBOLA_CONTENT, streams[i].seen[k]);
    }
    tombola_text_free(text);
  }
}

/* ---- however the bytes are cut ---- */

static size_t make_bytes(struct support_rng *rng, char *bytes, size_t most) {
  static const char *const parts[] = {
      "<think>", "</think>",         "<thi",     "</",       ">",    "\n",    "stop", "st", "ab",
      "abab",    "\xf0\x9f\xa4\xa3", "\xe4\xb8", "\xc3\xa9", "\x80", "word ", "\r\n", "o",  "p"};
  size_t n = 0, parts_wanted = support_below(rng, 20);
  for (size_t i = 0; i < parts_wanted; i++) {
    const char *part = parts[support_below(rng, sizeof parts / sizeof *parts)];
    if (n + strlen(part) > most) break;
    memcpy(bytes + n, part, strlen(part));
    n += strlen(part);
  }
  return n;
}

static void test_cuts(void **state) {
  (void)state;
  struct support_rng rng = support_rng(60);
  const struct setting settings[] = {
      {{"stop", "abab", "\xa4"}, {0}},
      {{"stop", "top\n", "b"}, {THINK}},
      {{"stop"}, {THINK, .starts_in_reasoning = 1, .stops_in_reasoning = 1}},
      {{"o", "\xc3\xa9"}, {THINK, .keep_newlines = 1, .keep_stop = 1}},
  };
  for (int round = 0; round < 20000; round++) {
    const struct setting *setting = &settings[round % 4];
    char bytes[256];
    size_t n = make_bytes(&rng, bytes, sizeof bytes);
    struct sink once = {0}, cut = {0};
    tombola_text *text = make(setting);
    assert_int_equal(tombola_text_push(text, bytes, n, collect, &once), TOMBOLA_OK);
    assert_int_equal(tombola_text_finish(text, collect, &once), TOMBOLA_OK);
    int stopped = tombola_text_stopped(text);
    tombola_text_reset(text, setting->params.starts_in_reasoning);
    for (size_t at = 0; at < n;) {
      size_t step = support_below(&rng, 5);
      if (step > n - at) step = n - at;
      assert_int_equal(tombola_text_push(text, bytes + at, step, collect, &cut), TOMBOLA_OK);
      at += step;
    }
    assert_int_equal(tombola_text_finish(text, collect, &cut), TOMBOLA_OK);
    assert_int_equal(tombola_text_stopped(text), stopped);
    for (size_t c = 0; c < 2; c++) {
      assert_int_equal(cut.length[c], once.length[c]);
      assert_memory_equal(cut.text[c], once.text[c], once.length[c]);
    }
    tombola_text_free(text);
  }
}

/* Stop strings against a plain search: for each end, from the longest to the shortest, in list order. */
static void test_plain_search(void **state) {
  (void)state;
  struct support_rng rng = support_rng(61);
  for (int round = 0; round < 20000; round++) {
    char stops[3][6], bytes[40];
    struct setting setting = {.stops = {stops[0], stops[1], stops[2]}};
    for (size_t i = 0; i < 3; i++) {
      size_t length = 1 + support_below(&rng, 5);
      for (size_t k = 0; k < length; k++)
        stops[i][k] = (char)('a' + support_below(&rng, 2));
      stops[i][length] = 0;
    }
    size_t n = support_below(&rng, sizeof bytes), cut = n;
    for (size_t k = 0; k < n; k++)
      bytes[k] = (char)('a' + support_below(&rng, 2 + (round & 1)));
    int want = -1;
    for (size_t end = 1; end <= n && want < 0; end++)
      for (size_t length = 5; length > 0 && want < 0; length--)
        for (int i = 0; i < 3 && want < 0; i++)
          if (strlen(stops[i]) == length && length <= end &&
              !memcmp(bytes + end - length, stops[i], length)) {
            want = i;
            cut = end - length;
          }
    struct sink sink = {0};
    tombola_text *text = make(&setting);
    assert_int_equal(tombola_text_push(text, bytes, n, collect, &sink), TOMBOLA_OK);
    assert_int_equal(tombola_text_finish(text, collect, &sink), TOMBOLA_OK);
    assert_int_equal(tombola_text_stopped(text), want);
    assert_int_equal(sink.length[0], cut);
    assert_memory_equal(sink.text[0], bytes, cut);
    tombola_text_free(text);
  }
}

/* ---- refusals, limits, memory ---- */

static void test_refusals(void **state) {
  (void)state;
  static char much[20000];
  memset(much, 'x', sizeof much);
  struct tombola_bytes nothing = {NULL, 3}, empty = {"", 0}, long_one = {much, sizeof much};
  const struct tombola_text_params bad[] = {
      {.n_stops = 2},
      {.stops = &nothing, .n_stops = 1},
      {.stops = &empty, .n_stops = 1},
      {.stops = &long_one, .n_stops = 1},
      {.think_open = "<think>"},
      {.think_close = "</think>"},
      {.think_open = "", .think_close = "x"},
      {.think_open = "x", .think_close = "x"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    struct tombola_text_params params = bad[i];
    struct tombola_error error = {0};
    tombola_text *text;
    params.struct_size = sizeof params;
    assert_int_equal(tombola_text_new(&params, NULL, &text, &error), TOMBOLA_INVALID_ARGUMENT);
    assert_null(text);
    assert_true(error.message[0] != 0);
  }
  tombola_text_free(NULL);
}

static void test_cancel(void **state) {
  (void)state;
  struct setting setting = {.params = {THINK}};
  struct sink sink = {.limit = 1};
  tombola_text *text = make(&setting);
  assert_int_equal(tombola_text_push(text, "a<think>b", 9, collect, &sink), TOMBOLA_CANCELLED);
  assert_int_equal(sink.pieces, 1);
  tombola_text_free(text);
}

/* All 256 byte values in the patterns, and as many strings as fit. */
static void test_many(void **state) {
  (void)state;
  static char bytes[256][3];
  static struct tombola_bytes stops[256];
  for (size_t i = 0; i < 256; i++) {
    bytes[i][0] = bytes[i][1] = (char)i;
    bytes[i][2] = 1;
    stops[i] = (struct tombola_bytes){bytes[i], 3};
  }
  struct tombola_text_params params = {.struct_size = sizeof params, .stops = stops, .n_stops = 256};
  tombola_text *text;
  struct sink sink = {0};
  assert_int_equal(tombola_text_new(&params, NULL, &text, NULL), TOMBOLA_OK);
  assert_int_equal(tombola_text_push(text, "abccb\xff\xff\x01z", 9, collect, &sink), TOMBOLA_OK);
  assert_int_equal(tombola_text_stopped(text), 255);
  same(&sink, TOMBOLA_CONTENT, "abccb");
  tombola_text_free(text);
}

static void test_memory(void **state) {
  (void)state;
  struct tombola_bytes stop = {"stop", 4};
  struct tombola_text_params params = {.struct_size = sizeof params, .stops = &stop, .n_stops = 1, THINK};
  for (size_t n = 1;; n++) {
    struct support_allocator a = support_allocator(n);
    tombola_text *text;
    enum tombola_status status = tombola_text_new(&params, support_allocator_use(&a), &text, NULL);
    if (a.requests < n) {
      size_t made = a.requests;
      struct sink sink = {0};
      for (int i = 0; i < 200; i++) {
        assert_int_equal(tombola_text_push(text, "some st", 7, collect, &sink), TOMBOLA_OK);
        assert_int_equal(tombola_text_push(text, "\xf0\x9f", 2, collect, &sink), TOMBOLA_OK);
      }
      assert_int_equal(a.requests, made);
      tombola_text_free(text);
      support_allocator_check(&a);
      break;
    }
    assert_int_equal(status, TOMBOLA_NO_MEMORY);
    support_allocator_check(&a);
  }
}

static void test_prompt(void **state) {
  (void)state;
  assert_int_equal(tombola_text_prompt_opens("x", 1, NULL, NULL), 0);
  const struct {
    const char *prompt;
    int opens;
  } prompts[] = {{"<|assistant|>\n<think>\n", 1},
                 {"<think>\n\n</think>\n\n", 0},
                 {"", 0},
                 {"<think>a</think><think>", 1},
                 {"</think>", 0}};
  for (size_t i = 0; i < sizeof prompts / sizeof *prompts; i++)
    assert_int_equal(
        tombola_text_prompt_opens(prompts[i].prompt, strlen(prompts[i].prompt), "<think>", "</think>"),
        prompts[i].opens);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cases),        cmocka_unit_test(test_hold_back), cmocka_unit_test(test_cuts),
      cmocka_unit_test(test_plain_search), cmocka_unit_test(test_refusals),  cmocka_unit_test(test_cancel),
      cmocka_unit_test(test_many),         cmocka_unit_test(test_memory),    cmocka_unit_test(test_prompt),
  };
  return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
