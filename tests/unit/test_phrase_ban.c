/* SPDX-License-Identifier: Apache-2.0 */
/* Banned phrases: against a slow model of the rule (text and rows from scratch for every token), against the
 * exact law of whole sequences, and one by one what they must get along with. */
#include <math.h>

#include "play.h"
#include "session_support.h"
#include "support.h"
#include "toy.h"

#define EOS TOMBOLA_STOP_END_TOKEN

static struct tombola_phrase_bans bans_of(struct tombola_bytes *list, const char *const *phrases) {
  struct tombola_phrase_bans bans = {.struct_size = sizeof bans, .phrases = list};
  for (; phrases[bans.n_phrases]; bans.n_phrases++)
    list[bans.n_phrases] = (struct tombola_bytes){phrases[bans.n_phrases], strlen(phrases[bans.n_phrases])};
  return bans;
}

/* ---- by hand ---- */

/* Tokens: 1 "a ", 2 "bad", 3 " wo", 4 "rd", 5 "fine", 6 "n", 7 " wo". What comes second is there, too. */
static const char bad_word[] =
    "{\"vocab\": [\"<eos>\", \"a \", \"bad\", \" wo\", \"rd\", \"fine\", \"n\", \".\"], \"end\": [0], "
    "\"steps\": [1,"
    " {\"logits\": [0, 0, 9, 0, 0, 8, 0, 0]}, {\"logits\": [0, 0, 0, 9, 0, 0, 0, 8]},"
    " {\"logits\": [0, 0, 0, 0, 9, 0, 8, 0]}, {\"logits\": [9, 0, 0, 0, 0, 0, 0, 0]}]}";

static void test_by_hand(void **state) {
  (void)state;
  static const struct {
    const char *phrases[3], *text;
    size_t rollbacks, rolled_back;
  } cases[] = {
      {{"worse"}, "a bad word", 0, 0},  {{"bad word"}, "a fine word", 1, 3},
      {{"d wor"}, "a fine word", 1, 3}, /* begins inside a token */
      {{" wor"}, "a bad.rd", 1, 2},     /* ends inside one */
      {{"rd"}, "a bad won", 1, 1},      {{"d"}, "a fine won", 2, 2},
  };
  struct tombola_text_params text = {.struct_size = sizeof text};
  const tombola_token prompt = 7;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct tombola_bytes list[3];
    struct tombola_phrase_bans bans = bans_of(list, cases[i].phrases);
    struct play p = {.params = {.bans = &bans, .text = &text}};
    play(&p, bad_word, &prompt, 1);
    play_ok(&p, EOS);
    play_text(&p, cases[i].text, "");
    assert_int_equal(p.stats.rollbacks, cases[i].rollbacks);
    assert_int_equal(p.stats.rolled_back, cases[i].rolled_back);
  }
}

/* ---- the slow model ---- */

#define VOCAB 8
static const char *const piece_of[VOCAB] = {"", "a", "b", "ab", "ba", "aab", "c", "abc"};
static const char slow_json[] =
    "{\"vocab\": [\"<eos>\", \"a\", \"b\", \"ab\", \"ba\", \"aab\", \"c\", \"abc\"],"
    " \"end\": [0], \"hash\": %u}";

static uint64_t mix(uint64_t z) {
  z += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* The row of the hash, as docs/script.md has it. */
static void hash_row(uint64_t seed, const tombola_token *tokens, size_t count, float *row) {
  uint64_t hash = seed;
  for (size_t i = 4; i > 0; i--)
    hash = mix(hash ^ (i <= count ? (uint64_t)tokens[count - i] + 1 : 0));
  for (size_t id = 0; id < VOCAB; id++)
    row[id] = (float)(mix(hash + id) >> 40) * 0x1p-20F - 8.0F;
}

struct slow {
  uint64_t seed;
  const char *const *phrases;
  size_t max_tokens, max_rollbacks;
  tombola_sampler *sampler;

  tombola_token tokens[80]; /* the prompt in front */
  size_t n_prompt, count;   /* of the answer */
  uint32_t banned[80];
  size_t rollbacks, rolled_back;
  enum tombola_stop stop;
  float logprob[80];
};

/* The phrase that ends first within the last token, the longest at one end: where it begins, or SIZE_MAX. */
static size_t phrase_at(const struct slow *s) {
  char text[400] = "";
  for (size_t i = 0; i < s->count; i++)
    strcat(text, piece_of[s->tokens[s->n_prompt + i]]);
  size_t length = strlen(text), last = strlen(piece_of[s->tokens[s->n_prompt + s->count - 1]]);
  for (size_t end = length - last + 1; end <= length; end++) {
    size_t best = 0;
    for (size_t i = 0; s->phrases[i]; i++) {
      size_t n = strlen(s->phrases[i]);
      if (n <= end && n > best && !memcmp(text + end - n, s->phrases[i], n)) best = n;
    }
    if (best) return end - best;
  }
  return SIZE_MAX;
}

static void go_back(struct slow *s, size_t start) {
  size_t token = 0, at = 0;
  for (; at + strlen(piece_of[s->tokens[s->n_prompt + token]]) <= start; token++)
    at += strlen(piece_of[s->tokens[s->n_prompt + token]]);
  s->banned[token] |= UINT32_C(1) << s->tokens[s->n_prompt + token];
  memset(s->banned + token + 1, 0, sizeof s->banned - (token + 1) * sizeof s->banned[0]);
  s->rollbacks++;
  s->rolled_back += s->count - token;
  s->count = token;
}

static void run_slow(struct slow *s) {
  s->stop = TOMBOLA_STOP_MAX_TOKENS;
  while (s->count < s->max_tokens) {
    float row[VOCAB];
    hash_row(s->seed, s->tokens, s->n_prompt + s->count, row);
    uint32_t word = ~s->banned[s->count];
    struct tombola_mask mask = {&word, VOCAB};
    struct tombola_row logits = {row, VOCAB, TOMBOLA_F32};
    tombola_token token;
    tombola_sampler_begin(s->sampler, s->tokens, s->n_prompt + s->count);
    s->stop = TOMBOLA_STOP_BAN;
    if (tombola_sampler_sample(s->sampler, &logits, &mask, &token) != TOMBOLA_OK) return;
    s->stop = EOS;
    if (token == 0) return;
    double sum = 0;
    for (size_t i = 0; i < VOCAB; i++)
      sum += exp((double)row[i]);
    s->logprob[s->count] = (float)((double)row[token] - log(sum));
    s->tokens[s->n_prompt + s->count++] = token;
    s->stop = TOMBOLA_STOP_BAN;
    size_t start = phrase_at(s);
    bool last = s->rollbacks == s->max_rollbacks;
    if (start != SIZE_MAX) go_back(s, start);
    if (start != SIZE_MAX && last) return;
    s->stop = TOMBOLA_STOP_MAX_TOKENS;
  }
}

/* Called before each draw: what is held back then is exactly what could still begin a phrase. */
struct watched {
  struct play play;
  const char *const *phrases;
  size_t looks;
};

/* The longest end of the text that begins a phrase. */
static size_t begun(const char *text, size_t length, const char *const *phrases) {
  size_t most = 0;
  for (size_t i = 0; phrases[i]; i++)
    for (size_t n = strlen(phrases[i]) - 1; n > most; n--)
      if (n <= length && !memcmp(text + length - n, phrases[i], n)) most = n;
  return most;
}

static enum tombola_status look(void *context, const tombola_token *answer, size_t count,
                                struct tombola_mask *mask) {
  struct watched *w = context;
  char text[400] = "";
  (void)mask;
  for (size_t i = 0; i < count; i++)
    strcat(text, piece_of[answer[i]]);
  size_t length = strlen(text), need = begun(text, length, w->phrases), held = 0;
  while (need > 0) { /* and what stands in front of what is held, since a rollback may lead there */
    size_t bytes = strlen(piece_of[answer[count - 1 - held++]]);
    length -= bytes;
    need = bytes < need ? need - bytes : begun(text, length, w->phrases);
  }
  assert_int_equal(w->play.count, count - held);
  w->looks++;
  return TOMBOLA_OK;
}

static void test_slow(void **state) {
  (void)state;
  static const char *const sets[][4] = {{"ab"},      {"abab", "bc"},  {"aa", "bb", "cc"},      {"abcab"},
                                        {"b", "ca"}, {"a", "b", "c"}, {"baab", "abba", "aba"}, {"c"}};
  struct support_rng rng = support_rng(8);
  size_t stops[8] = {0}, rollbacks = 0;
  for (unsigned i = 0; i < 800; i++) {
    const char *const *phrases = sets[i % 8];
    const char *penalty = i % 3 == 0 ? "1.8" : "1";
    struct slow s = {.seed = i,
                     .phrases = phrases,
                     .max_tokens = 1 + support_below(&rng, 40),
                     .max_rollbacks = i % 5 == 0 ? 2 : 256,
                     .sampler = play_sampler(VOCAB, "repeat_penalty", penalty)};
    s.n_prompt = 1 + support_below(&rng, 5);
    for (size_t j = 0; j < s.n_prompt; j++)
      s.tokens[j] = (tombola_token)(1 + support_below(&rng, VOCAB - 1));
    tombola_token prompt[5];
    memcpy(prompt, s.tokens, sizeof prompt);
    run_slow(&s);

    char json[256];
    snprintf(json, sizeof json, slow_json, i);
    struct tombola_bytes list[4];
    struct tombola_phrase_bans bans = bans_of(list, phrases);
    bans.max_rollbacks = s.max_rollbacks;
    struct watched w = {
        .phrases = phrases,
        .play = {.params = {.bans = &bans, .max_tokens = (int64_t)s.max_tokens, .on_mask = look},
                 .sampler = play_sampler(VOCAB, "repeat_penalty", penalty)}};
    w.play.params.context = &w;
    assert_int_equal(tombola_sampler_set_logprobs(w.play.sampler, TOMBOLA_LOGPROB_RAW, 2), TOMBOLA_OK);
    play(&w.play, json, prompt, s.n_prompt);
    play_ok(&w.play, s.stop);
    play_tokens(&w.play, s.tokens + s.n_prompt, s.count);
    assert_int_equal(w.play.stats.rollbacks, s.rollbacks);
    assert_int_equal(w.play.stats.rolled_back, s.rolled_back);
    assert_true(w.looks > 0);
    for (size_t j = 0; j < s.count; j++)
      assert_float_equal(w.play.logprob[j], s.logprob[j], 1e-4);
    stops[s.stop]++;
    rollbacks += s.rollbacks;
    tombola_sampler_free(s.sampler);
    tombola_sampler_free(w.play.sampler);
  }
  assert_true(stops[EOS] > 20 && stops[TOMBOLA_STOP_MAX_TOKENS] > 20 && stops[TOMBOLA_STOP_BAN] > 20);
  assert_true(rollbacks > 800);
}

/* ---- the law ---- */

/* Three tokens a, b, c; phrases "ab" and "cc"; sequences of three. Bans of a place are bits. */
#define LETTERS   3
#define SEQUENCES 27
static const double letter_p[LETTERS] = {0.5, 0.3, 0.2};

static void law(tombola_token *tokens, size_t count, const unsigned *banned, double p, double *out) {
  if (count == 3) {
    out[tokens[0] * 9 + tokens[1] * 3 + tokens[2]] += p;
    return;
  }
  double free = 0;
  for (tombola_token t = 0; t < LETTERS; t++)
    free += banned[count] >> t & 1 ? 0 : letter_p[t];
  for (tombola_token t = 0; t < LETTERS; t++) {
    if (banned[count] >> t & 1) continue;
    unsigned next[3] = {banned[0], banned[1], banned[2]};
    bool phrase = count > 0 && ((tokens[count - 1] == 0 && t == 1) || (tokens[count - 1] == 2 && t == 2));
    tokens[count] = t;
    if (phrase) {
      tombola_token kept = tokens[count - 1];
      next[count - 1] |= 1u << kept;
      for (size_t i = count; i < 3; i++)
        next[i] = 0;
      law(tokens, count - 1, next, p * letter_p[t] / free, out);
      tokens[count - 1] = kept;
    } else {
      law(tokens, count + 1, next, p * letter_p[t] / free, out);
    }
  }
}

/* A wrong law to tell apart: sequences with a phrase are thrown away whole. */
static void conditional_law(double *out) {
  double sum = 0;
  for (int s = 0; s < SEQUENCES; s++) {
    int a = s / 9, b = s / 3 % 3, c = s % 3;
    bool phrase = (a == 0 && b == 1) || (b == 0 && c == 1) || (a == 2 && b == 2) || (b == 2 && c == 2);
    out[s] = phrase ? 0 : letter_p[a] * letter_p[b] * letter_p[c];
    sum += out[s];
  }
  for (int s = 0; s < SEQUENCES; s++)
    out[s] /= sum;
}

static void test_law(void **state) {
  (void)state;
  double right[SEQUENCES] = {0}, wrong[SEQUENCES];
  tombola_token tokens[3];
  law(tokens, 0, (const unsigned[]){0, 0, 0}, 1, right);
  conditional_law(wrong);
  char json[300];
  snprintf(json, sizeof json,
           "{\"vocab\": [\"a\", \"b\", \"c\"], \"end\": [], \"after\": \"repeat\", \"steps\": [{\"logits\": "
           "[%.9g, %.9g, %.9g]}]}",
           log(0.5), log(0.3), log(0.2));
  struct tombola_bytes list[2];
  struct tombola_phrase_bans bans = bans_of(list, (const char *const[]){"ab", "cc", NULL});
  tombola_model *model = script_load(json, NULL);
  tombola_session *session;
  assert_int_equal(tombola_session_new(model, 0, NULL, &session, NULL), TOMBOLA_OK);
  const char *dialects[] = {"llama.cpp", "rml"};
  for (size_t d = 0; d < 2; d++) {
    struct tombola_sampler_params params = {.struct_size = sizeof params};
    assert_int_equal(tombola_sampler_params_default(&params, dialects[d], NULL), TOMBOLA_OK);
    params.temperature = params.top_p = params.repeat_penalty = 1;
    params.min_p = 0;
    params.top_k = 0;
    params.seed = 5;
    params.seed_mode = TOMBOLA_SEED_FIXED;
    tombola_sampler *sampler;
    assert_int_equal(tombola_sampler_new(&params, NULL, 3, NULL, &sampler, NULL), TOMBOLA_OK);
    size_t seen[SEQUENCES] = {0}, draws = 30000;
    const tombola_token prompt = 1;
    for (size_t i = 0; i < draws; i++) {
      struct play p = {.params = {.bans = &bans, .max_tokens = 3}};
      play_on(&p, session, sampler, &prompt, 1);
      play_ok(&p, TOMBOLA_STOP_MAX_TOKENS);
      seen[p.tokens[0] * 9 + p.tokens[1] * 3 + p.tokens[2]]++;
    }
    assert_true(support_chi_square(seen, right, SEQUENCES, draws) > 1e-4);
    assert_true(support_chi_square(seen, wrong, SEQUENCES, draws) < 1e-9);
    tombola_sampler_free(sampler);
  }
  tombola_session_free(session);
  tombola_model_free(model);
}

/* ---- letters without case ---- */

static void test_case(void **state) {
  (void)state;
  static const struct {
    const char *phrase, *pieces[4];
    int found;
  } cases[] = {
      {"Hello", {"hE", "LLo"}, 1},
      {"hello", {"HELL", "o"}, 1},
      {"\xc3\x89t\xc3\xa9", {"\xc3\xa9T\xc3", "\x89"}, 1}, /* Été, éTÉ; a letter over two tokens */
      {"\xc3\x97", {"\xc3\xb7"}, 0},                       /* multiplied is not divided */
      {"\xce\xa3\xce\x9f", {"\xcf\x83", "\xce\xbf"}, 1},   /* ΣΟ, σο */
      {"\xd0\x96\xd0\xa3\xd0\x81", {"\xd0\xb6\xd1\x83\xd1\x91"}, 1},     /* ЖУЁ, жуё */
      {"\xd0\xb6\xd1\x83\xd1\x91", {"\xd0\x96\xd0", "\xa3\xd0\x81"}, 1}, /* and back */
      {"[x]", {"{X}"}, 0},
      {"@", {"`"}, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    for (int ignore = 0; ignore < 2; ignore++) {
      struct tombola_bytes phrase = {cases[i].phrase, strlen(cases[i].phrase)};
      struct tombola_phrase_bans bans = {
          .struct_size = sizeof bans, .phrases = &phrase, .n_phrases = 1, .ignore_case = ignore};
      struct tombola_text_params text = {.struct_size = sizeof text};
      struct play p = {.params = {.bans = &bans, .text = &text}};
      play_pieces(&p, cases[i].pieces);
      assert_int_equal(p.status, TOMBOLA_OK);
      assert_int_equal(p.stats.rollbacks > 0, ignore && cases[i].found);
      if (!ignore || !cases[i].found) play_ok(&p, EOS);
    }
  }
}

/* ---- limits ---- */

/* Every way is banned: the answer ends, with what was said before. */
static void test_dead_end(void **state) {
  (void)state;
  const char json[] = "{\"vocab\": [\"<eos>\", \"a\", \"b\", \"x\"], \"end\": [0], \"steps\": ["
                      "{\"logits\": [0, 1, 0, 9]}, {\"logits\": [\"-inf\", 9, 8, \"-inf\"]}]}";
  struct tombola_bytes list[3];
  struct tombola_phrase_bans bans = bans_of(list, (const char *const[]){"a", "b", NULL});
  struct tombola_text_params text = {.struct_size = sizeof text};
  struct play p = {.params = {.bans = &bans, .text = &text}};
  const tombola_token prompt = 3;
  play(&p, json, &prompt, 1);
  play_ok(&p, TOMBOLA_STOP_BAN);
  assert_string_equal(tombola_stop_finish(p.stats.stop), "stop");
  play_text(&p, "x", "");
  assert_int_equal(p.stats.rollbacks, 2);

  bans = bans_of(list, (const char *const[]){
                           "xa", "xb", NULL}); /* a dead end inside what is held back: there is another */
  play(&p, json, &prompt, 1);
  play_ok(&p, EOS);
  play_text(&p, "aa", "");
}

static void test_limits(void **state) {
  (void)state;
  const char json[] = "{\"vocab\": [\"<eos>\", \"a\", \"b\", \"x\"], \"end\": [0], \"after\": \"repeat\","
                      " \"steps\": [{\"logits\": [0, 9, 8, 7]}]}";
  struct tombola_bytes list[2];
  struct tombola_phrase_bans bans = bans_of(list, (const char *const[]){"aaa", NULL});
  struct tombola_text_params text = {.struct_size = sizeof text};
  struct play p = {.params = {.bans = &bans, .text = &text, .max_tokens = 50}};
  const tombola_token prompt = 3;
  play(&p, json, &prompt, 1); /* baabaabaa…: at each place where aaa begins, b stands instead */
  play_ok(&p, TOMBOLA_STOP_MAX_TOKENS);
  assert_memory_equal(p.text[0], "bbbbbb", 6);
  assert_null(strstr(p.text[0], "aaa"));
  bans.max_rollbacks = 5;
  play(&p, json, &prompt, 1);
  play_ok(&p, TOMBOLA_STOP_BAN);
  play_text(&p, "bbbbb", "");
  assert_int_equal(p.stats.rollbacks, 6); /* the sixth was one too many, and is in front of the end */
  assert_int_equal(p.cached, 6);          /* nothing of it is left */
  bans.max_rollbacks = 0;
  bans.max_tokens = 6;
  play(&p, json, &prompt, 1);
  play_ok(&p, TOMBOLA_STOP_BAN);
  play_text(&p, "bb", "");
  assert_int_equal(p.stats.rolled_back, 9);
}

/* Rollbacks take time, and the limit of time holds among them. */
static void test_time(void **state) {
  (void)state;
  const char slow[] =
      "{\"vocab\": [\"<eos>\", \"a\", \"b\", \"c\", \"d\", \"e\", \"f\", \"g\", \"h\", \"i\"], \"end\": [],"
      " \"after\": \"repeat\", \"delay_ms\": 10,"
      " \"steps\": [{\"logits\": [\"-inf\", 9, 8, 7, 6, 5, 4, 3, 2, 1]}]}";
  struct tombola_bytes list[9];
  struct tombola_phrase_bans bans =
      bans_of(list, (const char *const[]){"a", "b", "c", "d", "e", "f", "g", "h", NULL});
  struct play p = {.params = {.bans = &bans, .max_tokens = 1}};
  const tombola_token prompt = 1;
  play(&p, slow, &prompt, 1);
  play_ok(&p, TOMBOLA_STOP_MAX_TOKENS);
  play_tokens(&p, (const tombola_token[]){9}, 1);
  assert_int_equal(p.stats.rollbacks, 8);
  p.params.time_limit = 0.045;
  play(&p, slow, &prompt, 1);
  play_ok(&p, TOMBOLA_STOP_TIME_LIMIT);
  assert_in_range(p.stats.rollbacks, 0, 5); /* each takes 10 ms at least; on a busy machine more */
}

/* A chain of tokens that each could begin the phrase again: only so many are held back, and when the phrase
 * begins with one that was let go, the first that is still held stands for it. The phrase never shows. */
static void test_long_chain(void **state) {
  (void)state;
  char json[4096];
  int at =
      snprintf(json, sizeof json, "{\"vocab\": [\"<eos>\", \"a\", \"b\", \"x\"], \"end\": [0], \"steps\": [");
  for (int i = 0; i < 200; i++)
    at += snprintf(json + at, sizeof json - (size_t)at, "%s1", i ? "," : "");
  snprintf(json + at, sizeof json - (size_t)at, ", {\"logits\": [0, 6, 9, 5]}, 2, 2]}");
  struct tombola_bytes list[1];
  struct tombola_phrase_bans bans = bans_of(list, (const char *const[]){"ab", NULL});
  struct tombola_text_params text = {.struct_size = sizeof text};
  struct play p = {.params = {.bans = &bans, .text = &text, .max_tokens = 204}};
  const tombola_token prompt = 3;
  play(&p, json, &prompt, 1);
  assert_int_equal(p.status, TOMBOLA_OK);
  assert_null(strstr(p.text[0], "ab"));
  assert_true(p.stats.rollbacks > 0);
  assert_true(p.count > 100);
  for (size_t i = 0; i < 130; i++)
    assert_int_equal(p.tokens[i], 1);
}

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
  snprintf(json, sizeof json, slow_json, 77u);
  struct support_allocator memory = support_allocator(0);
  const struct tombola_allocator *allocator = support_allocator_use(&memory);
  tombola_model *model = script_load(json, NULL);
  struct tombola_sampler_params params = {.struct_size = sizeof params};
  assert_int_equal(tombola_sampler_params_default(&params, "llama.cpp", NULL), TOMBOLA_OK);
  params.seed_mode = TOMBOLA_SEED_FIXED;
  tombola_sampler *sampler;
  tombola_session *session;
  assert_int_equal(tombola_sampler_new(&params, NULL, VOCAB, allocator, &sampler, NULL), TOMBOLA_OK);
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
      cmocka_unit_test(test_by_hand),
      cmocka_unit_test(test_slow),
      cmocka_unit_test(test_law),
      cmocka_unit_test(test_case),
      cmocka_unit_test(test_dead_end),
      cmocka_unit_test(test_time),
      cmocka_unit_test(test_limits),
      cmocka_unit_test(test_long_chain),
      cmocka_unit_test(test_with_budget),
      cmocka_unit_test(test_with_stop),
      cmocka_unit_test(test_with_limit),
      cmocka_unit_test(test_all_or_nothing),
      cmocka_unit_test(test_failed_forward),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_memory),
      cmocka_unit_test(test_no_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
