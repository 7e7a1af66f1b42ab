/* SPDX-License-Identifier: Apache-2.0 */
/* Banned phrases: against a slow model of the rule (text and rows from scratch for every token), against the
 * exact law of whole sequences, and one by one what they must get along with. */
#include <math.h>

#include "bans.h"
#include "play.h"
#include "support.h"

#define EOS TOMBOLA_STOP_END_TOKEN

/* ---- by hand ---- */

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
    struct tombola_mask mask = {&word, VOCAB, NULL, 0};
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
  size_t bad = 0;
  tombola_model *model = script_load(json, NULL);
  tombola_session *session;
  assert_int_equal(tombola_session_new(model, 0, NULL, &session, NULL), TOMBOLA_OK);
  for (size_t d = 0; d < tombola_dialect_count(); d++) {
    for (int draw = TOMBOLA_DRAW_CDF; draw <= TOMBOLA_DRAW_REJECTION; draw++) {
      const char *dialect = tombola_dialect_at(d)->name;
      struct tombola_sampler_params params = {.struct_size = sizeof params};
      assert_int_equal(tombola_sampler_params_default(&params, dialect, NULL), TOMBOLA_OK);
      params.temperature = params.top_p = params.repeat_penalty = 1;
      params.min_p = 0;
      params.top_k = 0;
      params.draw = (enum tombola_draw_rule)draw;
      params.seed = 5;
      params.seed_mode = TOMBOLA_SEED_FIXED;
      tombola_sampler *sampler;
      assert_int_equal(tombola_sampler_new(&params, NULL, 3, NULL, &sampler, NULL), TOMBOLA_OK);
      size_t seen[SEQUENCES] = {0}, draws = 6000;
      const tombola_token prompt = 1;
      for (size_t i = 0; i < draws; i++) {
        struct play p = {.params = {.bans = &bans, .max_tokens = 3}};
        play_on(&p, session, sampler, &prompt, 1);
        play_ok(&p, TOMBOLA_STOP_MAX_TOKENS);
        seen[p.tokens[0] * 9 + p.tokens[1] * 3 + p.tokens[2]]++;
      }
      double chance = support_chi_square(seen, right, SEQUENCES, draws);
      if (chance < 1e-5) print_message("%s, draw %d: %g\n", dialect, draw, chance);
      bad += chance < 1e-5;
      assert_true(support_chi_square(seen, wrong, SEQUENCES, draws) < 1e-9);
      tombola_sampler_free(sampler);
    }
  }
  assert_int_equal(bad, 0);
  tombola_session_free(session);
  tombola_model_free(model);
}

/* A rewound sampler has its history back, and the numbers of one that just went on. */
static void test_rewind(void **state) {
  (void)state;
  const char *stages[] = {"penalties", "xtc", "temperature"};
  for (size_t d = 0; d < tombola_dialect_count(); d++) {
    struct tombola_sampler_params params = {.struct_size = sizeof params};
    assert_int_equal(tombola_sampler_params_default(&params, tombola_dialect_at(d)->name, NULL), TOMBOLA_OK);
    bool xtc = strcmp(params.dialect, "llama.cpp") == 0;
    params.temperature = params.top_p = 1;
    params.repeat_penalty = 3;
    params.seed = 9;
    params.seed_mode = TOMBOLA_SEED_FIXED;
    if (xtc) params.samplers = stages, params.n_samplers = 3, params.xtc_probability = 0.5F;
    tombola_sampler *went_back, *went_on;
    tombola_snapshot *snapshot;
    assert_int_equal(tombola_sampler_new(&params, NULL, VOCAB, NULL, &went_back, NULL), TOMBOLA_OK);
    assert_int_equal(tombola_sampler_new(&params, NULL, VOCAB, NULL, &went_on, NULL), TOMBOLA_OK);
    assert_int_equal(tombola_snapshot_new(went_back, &snapshot), TOMBOLA_OK);
    float row[VOCAB];
    struct tombola_row logits = {row, VOCAB, TOMBOLA_F32};
    for (tombola_token i = 0; i < 200; i++) {
      tombola_token a, b;
      hash_row(7, &i, 1, row);
      assert_int_equal(tombola_sampler_sample(went_back, &logits, NULL, &a), TOMBOLA_OK);
      assert_int_equal(tombola_sampler_sample(went_on, &logits, NULL, &b), TOMBOLA_OK);
      assert_int_equal(a, b);
      assert_int_equal(tombola_sampler_accept(went_back, a), TOMBOLA_OK);
      assert_int_equal(tombola_snapshot_rewind(snapshot, went_back), TOMBOLA_OK);
    }
    tombola_snapshot_free(snapshot);
    tombola_sampler_free(went_back);
    tombola_sampler_free(went_on);
  }
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_by_hand), cmocka_unit_test(test_slow),   cmocka_unit_test(test_law),
      cmocka_unit_test(test_rewind),  cmocka_unit_test(test_case),   cmocka_unit_test(test_dead_end),
      cmocka_unit_test(test_time),    cmocka_unit_test(test_limits), cmocka_unit_test(test_long_chain),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
