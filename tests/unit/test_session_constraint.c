/* SPDX-License-Identifier: Apache-2.0 */
/* Answers under a constraint: the matcher follows what is taken and goes back with it, whatever else takes part: ends,
 * limits, bans, reasoning, drafts, tokens that are the only one, dead ends. */
#include "constrained.h"

#define SCHEMA(json) \
  { .kind = TOMBOLA_GRAMMAR_JSON_SCHEMA, .text = json, .length = sizeof json - 1 }
#define REGEX(pattern) \
  { .kind = TOMBOLA_GRAMMAR_REGEX, .text = pattern, .length = sizeof pattern - 1 }
#define LIST(...)         \
  (const char *const[]) { \
    __VA_ARGS__, NULL     \
  }

#define END  TOMBOLA_STOP_END_TOKEN
#define MOST TOMBOLA_STOP_MAX_TOKENS
#define BAN  TOMBOLA_STOP_BAN

/* ---- ends ---- */

static void test_follows(void **state) {
  (void)state;
  struct scene s = {.source = SCHEMA("{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"}},"
                                     "\"required\":[\"a\"],\"additionalProperties\":false}"),
                    .own = LIST("{\"a\":", "Hello", "12"),
                    .said = LIST("{\"a\":", "12", "}")};
  s.source.whitespace = TOMBOLA_WHITESPACE_NONE;
  scene_ok(&s, END, "{\"a\":12}", "");
  assert_true(s.complete);
  assert_int_equal(s.play.stats.dead_ends + s.play.stats.rollbacks, 0);
  /* Where the model's wish can't be, the lowest id that can. */
  s.said = LIST("Hello", "<eos>", "a", "\"", "Hello", "5", "5", "}");
  scene_ok(&s, END, "{\"a\":55}", "");
}

/* The end tokens where the text is complete, and nowhere else. */
static void test_ends(void **state) {
  (void)state;
  struct scene s = {.source = REGEX("[0-9]{3}")};
  scene_ok(&s, END, "000", "");
  s = (struct scene){.source = REGEX("[0-9]+"), .said = LIST("<eos>", "7", "<eos>", "8")};
  scene_ok(&s, END, "07", "");
}

/* A complete text that can't go on ends the answer, whatever else would have it go on. */
static void test_no_end_wanted(void **state) {
  (void)state;
  for (int off = 0; off < 2; off++) {
    struct scene s = {.play = {.params = {.ignore_end = 1, .min_tokens = 50, .no_jump_ahead = off}},
                      .source = REGEX("yes|no!?"),
                      .said = LIST("y", "e", "s", "s")};
    scene_ok(&s, END, "yes", "");
    s.said = LIST("n", "o", "<eos>");
    scene_ok(&s, END, "no!", ""); /* it could go on, so it has to */
    s = (struct scene){.play = {.params = {.ignore_end = 1, .max_tokens = 7, .no_jump_ahead = off}},
                       .source = REGEX("a*")};
    scene_ok(&s, MOST, "aaaaaaa", "");
    s = (struct scene){.play = {.params = {.min_tokens = 4, .no_jump_ahead = off}}, .source = REGEX("a*")};
    scene_ok(&s, END, "aaaa", "");
  }
}

/* ---- what else ends an answer ---- */

static void test_stops(void **state) {
  (void)state;
  const struct tombola_bytes stop = {"lo", 2};
  const struct tombola_text_params text = {.struct_size = sizeof text, .stops = &stop, .n_stops = 1};
  struct scene s = {.play = {.params = {.text = &text}},
                    .source = {.kind = TOMBOLA_GRAMMAR_JSON},
                    .own = LIST("\"hel", "lo w"),
                    .said = LIST("\"hel", "lo w", "\"")};
  scene_ok(&s, TOMBOLA_STOP_STOP_STRING, "\"hel", "");
  assert_false(s.complete);
  assert_int_equal(s.accepted, 2);
  s.play.params = (struct tombola_generate_params){.max_tokens = 1};
  scene_ok(&s, MOST, "\"hel", "");
  /* Tokens that were held back when the stop string came out are taken back from the matcher too. */
  const struct tombola_bytes ban = {"xaby", 4}, first = {"a", 1};
  const struct tombola_text_params other = {.struct_size = sizeof other, .stops = &first, .n_stops = 1};
  const struct tombola_phrase_bans bans = {.struct_size = sizeof bans, .phrases = &ban, .n_phrases = 1};
  s = (struct scene){.play = {.params = {.text = &other, .bans = &bans}},
                     .source = REGEX("[a-z]*"),
                     .said = LIST("x", "a", "b", "c")};
  scene_ok(&s, TOMBOLA_STOP_STOP_STRING, "x", "");
  assert_int_equal(s.play.count, 2);
}

static void test_bans(void **state) {
  (void)state;
  const struct tombola_bytes cat = {"cat", 3}, value = {"\"re", 3};
  struct tombola_phrase_bans bans = {.struct_size = sizeof bans, .phrases = &cat, .n_phrases = 1};
  struct scene s = {.play = {.params = {.bans = &bans}},
                    .source = REGEX("a (cat|dog|cow)"),
                    .said = LIST("a", " ", "c", "a", "t")};
  scene_ok(&s, END, "a dog", "");
  assert_int_equal(s.play.stats.rollbacks, 1);
  assert_int_equal(s.play.stats.rolled_back, 3);
  s.source = (struct tombola_grammar_source)REGEX("a cat");
  scene_ok(&s, BAN, "a ", ""); /* no way leads around it: what came before stays */
  bans.phrases = &value;
  s = (struct scene){.play = {.params = {.bans = &bans}},
                     .source = SCHEMA("{\"type\":\"array\",\"minItems\":2,\"maxItems\":2,"
                                      "\"items\":{\"enum\":[\"red\",\"green\"]}}"),
                     .said = LIST("[", "\"", "g", "r", "e", "e", "n", "\"", ",", "\"", "r", "e", "d")};
  s.source.whitespace = TOMBOLA_WHITESPACE_NONE;
  /* The phrase begins at the quote, where there is another spelling: none of a quote, so the answer ends there. */
  scene_ok(&s, BAN, "[\"green\",", "");
  assert_false(s.complete);
}

/* ---- reasoning ---- */

static const struct tombola_text_params thinking = {.struct_size = sizeof thinking,
                                                    .think_open = "<think>",
                                                    .think_close = "</think>",
                                                    .starts_in_reasoning = 1};

static void test_reasoning(void **state) {
  (void)state;
  const struct {
    const char *const *own, *const *said;
    const char *reasoning;
  } cases[] = {
      {LIST("</think>"), LIST("h", "m", "</think>", "y"), "hm"},
      {LIST("</th", "ink>"), LIST("h", "</th", "ink>", "y"), "h"},         /* the marker in two tokens */
      {LIST("</think>y"), LIST("</think>y", "e", "s"), ""},                /* with text behind it */
      {LIST("k</", "think>ye"), LIST("h", "k</", "think>ye", "s"), "hk"},  /* both */
      {LIST("</think>yes"), LIST("h", "</think>yes"), "h"},                /* all of the answer */
      {LIST("</think>", "</think>x"), LIST("</think>x", "</think>"), " "}, /* text that doesn't fit */
      {LIST("</th", "ink>", "ink>n"), LIST("</th", "ink>n", "i", "</th", "ink>"), "</th i"},
      {LIST("</think>"), LIST("<eos>", "h", "<eos>", "</think>"), " h "}, /* an end that is none */
      {LIST("</think>", "<think>"), LIST("<think>", "</think>", "<think>"), ""},
      {LIST("</think>y<think>", "</think>"), LIST("</think>y<think>", "</think>"), " "},
  };
  for (size_t i = 0; i < TOMBOLA__COUNT(cases); i++) {
    struct scene s = {.play = {.params = {.text = &thinking}},
                      .source = REGEX("yes"),
                      .own = cases[i].own,
                      .said = cases[i].said};
    scene_ok(&s, END, "yes", cases[i].reasoning);
    assert_true(s.complete);
  }
}

/* A marker inside the answer would be cut out of its text. */
static void test_no_marker_inside(void **state) {
  (void)state;
  struct tombola_text_params text = thinking;
  text.starts_in_reasoning = 0;
  struct scene s = {.play = {.params = {.text = &text}},
                    .source = SCHEMA("{\"type\":\"string\",\"maxLength\":14}"),
                    .own = LIST("<think>", "\"a", "<thi", "nk>b", "</think>"),
                    .said = LIST("<think>", "<thi", "nk>b", "<think>", "</think>", "<eos>")};
  s.source.whitespace = TOMBOLA_WHITESPACE_NONE;
  scene_ok(&s, END, "\"<thi          \"", "");
  s.said = LIST("\"a", "<thi", "n", "k", ">", "\"");
  scene_ok(&s, END, "\"a<think \"", ""); /* the lowest id in place of the last letter of the marker */
  s.play.params.text = NULL;
  scene_ok(&s, END, "\"a<think>\"", ""); /* no markers, no bans */
}

/* rMLX's rule: markers inside one token only, all of whose text counts for where its end is. */
static void test_rule_of_pieces(void **state) {
  (void)state;
  struct tombola_text_params text = thinking;
  text.marker_rule_of_pieces = 1;
  struct scene s = {.play = {.params = {.text = &text}},
                    .source = REGEX("yes"),
                    .own = LIST("</think>", "hm</think>", "</th", "ink>"),
                    .said = LIST("hm</think>", "</th", "ink>", "</think>")};
  scene_ok(&s, END, "yes", " </think>");
  s.own = LIST("</think>ye");
  s.said = LIST("h", "</think>ye");
  scene_ok(&s, END, "yes", "h");
}

static void test_budget(void **state) {
  (void)state;
  for (int64_t tokens = 0; tokens < 3; tokens++) {
    const struct tombola_think_budget budget = {
        .struct_size = sizeof budget, .tokens = tokens, .closing = "ok"};
    struct scene s = {.play = {.params = {.text = &thinking, .think_budget = &budget}},
                      .source = REGEX("yes"),
                      .own = LIST("</think>"),
                      .said = LIST("a", "b", "c")};
    scene_ok(&s, END, "yes", (const char *const[]){"ok", "aok", "abok"}[tokens]);
    assert_int_equal(s.play.stats.forced, 3);
    assert_int_equal(s.play.stats.think, TOMBOLA_THINK_CLOSED);
  }
  /* What is forced can have a second marker, where the constraint reads. */
  const struct tombola_think_budget twice = {
      .struct_size = sizeof twice, .tokens = 0, .closing = "a</think>"};
  struct scene s = {.play = {.params = {.text = &thinking, .think_budget = &twice}},
                    .source = REGEX("yes"),
                    .own = LIST("</think>")};
  scene_play(&s);
  assert_int_equal(s.play.status, TOMBOLA_INVALID_ARGUMENT);
  assert_string_equal(s.play.error.message, "token 97 has a marker of reasoning where the constraint reads");
  assert_string_equal(s.play.error.param, "matcher");
}

#define PAIRS                                                                                             \
  "{\"type\":\"array\",\"uniqueItems\":true,\"minItems\":2,\"maxItems\":2,\"items\":{\"type\":\"array\"," \
  "\"minItems\":2,\"maxItems\":2,\"items\":{\"type\":\"string\",\"pattern\":\"^[a-z]$\"}}}"

static const char *const half[] = {"[[\"a\",\"b\"],[\"a\",\"b\"", NULL};

/* ---- log-probabilities, failures, refusals ---- */

static void test_logprobs(void **state) {
  (void)state;
  struct scene s = {.source = REGEX("yes|yet"), .logprobs = 2, .said = LIST("y", "e", "t")};
  scene_ok(&s, END, "yet", "");
  assert_int_equal(s.play.stats.jumped, 0);
  for (size_t i = 0; i < s.play.count; i++)
    assert_int_equal(s.play.with_logprobs[i], 1);
  s.logprobs = 0;
  scene_ok(&s, END, "yet", "");
  assert_int_equal(s.play.stats.jumped, 2);
  assert_true(s.play.stats.constraint_seconds > 0);
}

/* A sampler that learns from its draws draws the only one too. */
static void test_learning(void **state) {
  (void)state;
  struct scene s = {.source = REGEX("yes|yet"), .said = LIST("y", "e", "t")};
  struct tombola_sampler_params params = {.struct_size = sizeof params};
  assert_int_equal(tombola_sampler_params_default(&params, "llama.cpp", NULL), TOMBOLA_OK);
  for (int learns = 0; learns < 2; learns++) {
    if (learns) assert_int_equal(tombola_sampler_params_set(&params, "mirostat", "2", NULL), TOMBOLA_OK);
    assert_int_equal(tombola_sampler_new(&params, NULL, FIRST_OWN, NULL, &s.play.sampler, NULL), TOMBOLA_OK);
    assert_int_equal(tombola_sampler_learns(s.play.sampler), learns);
    scene_play(&s);
    play_ok(&s.play, END);
    assert_int_equal(s.play.stats.jumped, learns ? 0 : 2);
    tombola_sampler_free(s.play.sampler);
  }
}

static void test_failures(void **state) {
  (void)state;
  struct scene s = {.source = REGEX("[a-z]+"), .more = ", \"fail_at\": 2", .said = LIST("a", "b", "c", "d")};
  scene_play(&s);
  assert_int_equal(s.play.status, TOMBOLA_MODEL);
  assert_string_equal(s.play.text[0], "ab");
  /* A row that the sampler can't use. */
  s.more = ", \"by_last\": {\"67\": {\"logits\": [0";
  char more[4096];
  size_t at = (size_t)snprintf(more, sizeof more, "%s", s.more);
  for (size_t i = 1; i < FIRST_OWN; i++)
    at += (size_t)snprintf(more + at, sizeof more - at, ", \"nan\"");
  snprintf(more + at, sizeof more - at, "]}}");
  s.more = more;
  scene_play(&s); /* token 67 is "b" */
  assert_int_not_equal(s.play.status, TOMBOLA_OK);
  assert_string_equal(s.play.text[0], "ab");
}

/* Whichever allocation fails: a status, nothing is lost, and the matcher is where the answer is. */
static void test_memory(void **state) {
  (void)state;
  struct tombola_text_params text = thinking;
  text.starts_in_reasoning = 0;
  for (size_t n = 1;; n++) {
    struct scene s = {.play = {.params = {.text = &text}},
                      .source = SCHEMA(PAIRS),
                      .own = half,
                      .said = half,
                      .fail_at = n};
    s.source.whitespace = TOMBOLA_WHITESPACE_NONE;
    scene_play(&s);
    if (s.requests < n) {
      assert_true(n > 4);
      play_ok(&s.play, END);
      break;
    }
    assert_int_equal(s.play.status, TOMBOLA_NO_MEMORY);
  }
}

static enum tombola_status no_mask(void *context, const tombola_token *answer, size_t count,
                                   struct tombola_mask *mask) {
  (void)context, (void)answer, (void)count, (void)mask;
  return TOMBOLA_OK;
}

static void test_refused(void **state) {
  (void)state;
  struct scene s = {.play = {.params = {.on_mask = no_mask}}, .source = REGEX("a")};
  scene_play(&s);
  assert_int_equal(s.play.status, TOMBOLA_INVALID_ARGUMENT);
  assert_string_equal(s.play.error.message, "matcher doesn't go together with on_mask");
  s = (struct scene){.play = {.params = {.context_shift = 1}}, .source = REGEX("a")};
  scene_play(&s);
  assert_int_equal(s.play.status, TOMBOLA_INVALID_ARGUMENT);
  assert_string_equal(s.play.error.message, "matcher doesn't go together with context_shift");
}

/* Matchers of another vocabulary, and of none: refused before the model has run. */
static void test_other_vocabulary(void **state) {
  (void)state;
  const struct scene other = {.own = LIST("x", "y"), .own_only = true};
  struct tombola_grammar_source source = support_source(TOMBOLA_GRAMMAR_REGEX, "x");
  tombola_model *const model = scene_model(&other, NULL);
  tombola_trie *const trie = support_trie(tombola_model_vocabulary(model));
  for (int none = 0; none < 2; none++) {
    tombola_grammar *const grammar = support_grammar(&source, none ? NULL : trie);
    struct play p = {.params = {.matcher = support_matcher(grammar)}};
    play_pieces(&p, LIST("a", "b", "c", "d"));
    assert_int_equal(p.status, none ? TOMBOLA_UNSUPPORTED : TOMBOLA_INVALID_ARGUMENT);
    assert_string_equal(p.error.message, none
                                             ? "the grammar was made without a trie: it has no masks"
                                             : "the matcher is of a vocabulary of 3 tokens, the model has 6");
    assert_int_equal(p.stats.prompt_run, 0);
    tombola_matcher_free(p.params.matcher);
    tombola_grammar_free(grammar);
  }
  tombola_trie_free(trie);
  tombola_model_free(model);
}

/* A vocabulary that doesn't spell every byte can't go on where the grammar can. */
static void test_holes(void **state) {
  (void)state;
  struct scene s = {.source = REGEX("abc"), .own = LIST("a", "b"), .own_only = true, .said = LIST("a", "b")};
  scene_play(&s);
  assert_int_equal(s.play.status, TOMBOLA_NO_CANDIDATE);
  assert_string_equal(s.play.error.message,
                      "the constraint can't be met: no token of the vocabulary spells what must come next");
  assert_string_equal(s.play.text[0], "ab");
  assert_int_equal(s.play.stats.dead_ends, 1);
  assert_int_equal(s.play.stats.rollbacks, 0);
}

/* ---- dead ends ---- */

static struct scene pairs(const char *const *said) {
  struct scene s = {.source = SCHEMA(PAIRS), .said = said, .own = half};
  s.source.whitespace = TOMBOLA_WHITESPACE_NONE;
  return s;
}

static void test_dead_end(void **state) {
  (void)state;
  struct scene s = pairs(LIST("[", "[", "\"", "a", "\"", ",", "\"", "b", "\"", "]", ",", "[", "\"", "a", "\"",
                              ",", "\"", "b", "\"", "]", "]"));
  scene_play(&s);
  play_ok(&s.play, END);
  assert_true(s.play.stats.dead_ends > 0);
  assert_true(s.play.stats.rollbacks >= s.play.stats.dead_ends);
  assert_true(s.play.stats.rolled_back >= s.play.stats.rollbacks);
  assert_true(s.complete);
  assert_memory_equal(s.play.text[0], "[[\"a\",\"b\"],[\"a\",\"", 17);
  assert_int_not_equal(s.play.text[0][17], 'b');
  /* Too few tokens held back, or rollbacks: a clear error, and what came before is there. */
  s.play.params = (struct tombola_generate_params){.backtrack_tokens = 1};
  const struct tombola_phrase_bans limits = {.struct_size = sizeof limits, .max_rollbacks = 1};
  for (int limited = 0; limited < 2; limited++) {
    if (limited) s.play.params = (struct tombola_generate_params){.bans = &limits};
    scene_play(&s);
    assert_int_equal(s.play.status, TOMBOLA_NO_CANDIDATE);
    assert_string_equal(s.play.error.param, "matcher");
    assert_non_null(strstr(s.play.error.message, "the constraint has led to a dead end, after "));
    assert_memory_equal(s.play.text[0], "[[\"a\",\"b\"],[\"a\",", 16);
    assert_true(s.play.stats.rollbacks >= 1);
  }
  s.play.params = (struct tombola_generate_params){.backtrack_tokens = 65537};
  scene_play(&s);
  assert_string_equal(s.play.error.message, "backtrack_tokens is 65537; it must be at most 65536");
}

/* The way round a dead end is the same with drafts. */
static void test_dead_end_drafted(void **state) {
  (void)state;
  struct scene plain = pairs(LIST("[[\"a\",\"b\"],[\"a\",\"b\""));
  scene_play(&plain);
  play_ok(&plain.play, END);
  assert_true(plain.play.stats.dead_ends > 0);
  for (int kind = 1; kind < 3; kind++) {
    struct scene s = pairs(LIST("[[\"a\",\"b\"],[\"a\",\"b\""));
    s.speculation.kind = (enum tombola_speculation_kind)kind;
    s.speculation.ngram_max = 1;
    scene_play(&s);
    play_ok(&s.play, END);
    play_tokens(&s.play, plain.play.tokens, plain.play.count);
  }
}

/* ---- masking by hand, drafts, tokens that are the only one ---- */

enum { MOST_BY_HAND = 60 };

static const char *const words[] = {"{\"first_name\":",
                                    "\"last",
                                    "_name\"",
                                    "\",\"",
                                    "name",
                                    "\":",
                                    "true",
                                    "al",
                                    "se",
                                    "null",
                                    "12",
                                    "},",
                                    "}",
                                    "[{",
                                    "]",
                                    NULL};

static const struct {
  struct tombola_grammar_source source;
  enum tombola_whitespace whitespace;
} grammars[] = {
    {SCHEMA("{\"type\":\"object\",\"properties\":{\"first_name\":{\"type\":\"string\",\"maxLength\":5},"
            "\"last_name\":{\"enum\":[\"Miller\",\"Milton\",true,null]},\"flags\":{\"type\":\"array\","
            "\"maxItems\":3,"
            "\"items\":{\"type\":\"boolean\"}}},\"required\":[\"first_name\",\"flags\",\"last_name\"],"
            "\"additionalProperties\":false}"),
     TOMBOLA_WHITESPACE_NONE},
    {SCHEMA("{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"name\":{\"type\":"
            "\"boolean\"}},"
            "\"required\":[\"name\"],\"additionalProperties\":false},\"minItems\":2,\"maxItems\":6}"),
     TOMBOLA_WHITESPACE_NONE},
    {REGEX("(name=(true|false|null);){3,5}"), TOMBOLA_WHITESPACE_NONE},
    {SCHEMA("{\"type\":\"object\",\"maxProperties\":2,\"additionalProperties\":{\"type\":\"integer\"}}"),
     TOMBOLA_WHITESPACE_BOUNDED},
};

static bool may_come(tombola_matcher *bytes, const tombola_vocabulary *vocabulary, tombola_token token) {
  size_t length;
  const char *const text = tombola_vocabulary_bytes(vocabulary, token, &length);
  if (token == 0) return tombola_matcher_is_complete(bytes);
  if (tombola_matcher_accept_bytes(bytes, text, length, NULL, NULL) != TOMBOLA_OK) return false;
  tombola_matcher_rollback(bytes, 1);
  return true;
}

/* The most likely token of each row that may come, found by trying every token; how many until the end token. */
static size_t by_hand(const struct scene *s, tombola_token *tokens) {
  tombola_model *const model = scene_model(s, s->more);
  const tombola_vocabulary *const vocabulary = tombola_model_vocabulary(model);
  tombola_grammar *const grammar = support_grammar(&s->source, NULL);
  tombola_matcher *const bytes = support_matcher(grammar);
  tombola_token last = '?' - ' ' + 1;
  size_t n = 0;
  assert_int_equal(tombola_model_begin(model, 0, 1), TOMBOLA_OK);
  for (; n < MOST_BY_HAND; n++) {
    const struct tombola_batch_item item = {.token = last, .position = (int32_t)n, .want_logits = 1};
    struct tombola_row row;
    size_t length;
    assert_int_equal(tombola_model_decode(model, &item, 1, NULL), TOMBOLA_OK);
    assert_int_equal(tombola_model_logits(model, 0, &row), TOMBOLA_OK);
    const float *const logits = row.data;
    last = -1;
    for (size_t i = 0; i < row.count; i++)
      if (may_come(bytes, vocabulary, (tombola_token)i) && (last < 0 || logits[i] > logits[last]))
        last = (tombola_token)i;
    if (last == 0) break;
    const char *const text = tombola_vocabulary_bytes(vocabulary, last, &length);
    assert_int_equal(tombola_matcher_accept_bytes(bytes, text, length, NULL, NULL), TOMBOLA_OK);
    tokens[n] = last;
  }
  tombola_matcher_free(bytes);
  tombola_grammar_free(grammar);
  tombola_model_free(model);
  return n;
}

/* Greedily the same tokens as by hand: one by one, jumping ahead, with drafts from the text, from a model that says the
 * same (whose drafts all stand, because they met the same masks) and from one that doesn't. */
static void test_by_hand(void **state) {
  (void)state;
  size_t jumped = 0, accepted = 0, rejected = 0;
  for (size_t i = 0; i < 40; i++) {
    tombola_token tokens[MOST_BY_HAND];
    char more[64], other[64];
    snprintf(more, sizeof more, ", \"hash\": %zu", i);
    snprintf(other, sizeof other, ", \"hash\": %zu", i + 1000);
    const size_t g = i % TOMBOLA__COUNT(grammars);
    struct scene s = {.source = grammars[g].source, .own = words, .more = more};
    s.source.whitespace = grammars[g].whitespace;
    s.source.whitespace_max = 2;
    s.source.struct_size = sizeof s.source;
    const size_t n = by_hand(&s, tokens);
    for (int way = 0; way < 6; way++) {
      s.play.params = (struct tombola_generate_params){.max_tokens = MOST_BY_HAND, .no_jump_ahead = way % 2};
      s.speculation.kind = way < 2   ? TOMBOLA_SPECULATION_OFF
                           : way < 4 ? TOMBOLA_SPECULATION_DRAFT_MODEL
                                     : TOMBOLA_SPECULATION_PROMPT_LOOKUP;
      s.speculation.ngram_max = 1;
      s.draft_more = way == 2 ? other : more;
      scene_play(&s);
      play_ok(&s.play, n < MOST_BY_HAND ? END : MOST);
      play_tokens(&s.play, tokens, n);
      const struct tombola_speculation_stats *const stats = &s.play.stats.speculation;
      jumped += s.play.stats.jumped;
      accepted += stats->accepted;
      rejected += stats->drafted - stats->accepted;
      if (way % 2) assert_int_equal(s.play.stats.jumped, 0);
      if (way == 3 && n < MOST_BY_HAND)
        assert_true(stats->accepted + 1 >= stats->drafted); /* an end token is none */
    }
  }
  assert_true(jumped > 100 && accepted > 100 && rejected > 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_follows),
      cmocka_unit_test(test_ends),
      cmocka_unit_test(test_no_end_wanted),
      cmocka_unit_test(test_stops),
      cmocka_unit_test(test_bans),
      cmocka_unit_test(test_reasoning),
      cmocka_unit_test(test_no_marker_inside),
      cmocka_unit_test(test_rule_of_pieces),
      cmocka_unit_test(test_budget),
      cmocka_unit_test(test_logprobs),
      cmocka_unit_test(test_learning),
      cmocka_unit_test(test_failures),
      cmocka_unit_test(test_memory),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_other_vocabulary),
      cmocka_unit_test(test_holes),
      cmocka_unit_test(test_dead_end),
      cmocka_unit_test(test_dead_end_drafted),
      cmocka_unit_test(test_by_hand),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
