/* SPDX-License-Identifier: Apache-2.0 */
/* dry and no_repeat_ngram against slow models that are written from their descriptions, and the table of
 * sequence breakers. */
#include "support.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "sampler/internal.h"
#include "tombola/tombola.h"
#include "vocabulary/breakers.h"

#define MOST 256

/* ---- a small vocabulary ---- */

static const char *const words[] = {"a",  "b", "c",   "ab", "ba", "bc",  "abc", "x", "\n",
                                    "cx", "",  "b\n", "cc", "ca", "cab", "y",   ":", "xa"};
#define WORDS TOMBOLA__COUNT(words)

/* The longest token that fits, again and again. */
static enum tombola_status tokenize(void *context, const char *text, size_t length, int special,
                                    tombola_token *tokens, size_t capacity, size_t *count) {
  (void)context, (void)special;
  *count = 0;
  for (size_t at = 0, step; at < length; at += step, (*count)++) {
    size_t best = WORDS;
    step = 0;
    for (size_t i = 0; i < WORDS; i++) {
      size_t n = strlen(words[i]);
      if (n <= step || n > length - at || memcmp(words[i], text + at, n) != 0) continue;
      best = i;
      step = n;
    }
    if (best == WORDS) return TOMBOLA_INVALID_ARGUMENT;
    if (*count < capacity) tokens[*count] = (tombola_token)best;
  }
  return *count > capacity ? TOMBOLA_OUT_OF_RANGE : TOMBOLA_OK;
}

static tombola_vocabulary *small_vocabulary(bool tokenizes, const struct tombola_allocator *allocator) {
  char bytes[WORDS * 4];
  size_t offsets[WORDS + 1] = {0};
  for (size_t i = 0; i < WORDS; i++) {
    offsets[i + 1] = offsets[i] + strlen(words[i]);
    memcpy(bytes + offsets[i], words[i], strlen(words[i]));
  }
  struct tombola_vocabulary_source source = {.struct_size = sizeof source,
                                             .count = WORDS,
                                             .bytes = bytes,
                                             .offsets = offsets,
                                             .tokenize = tokenizes ? tokenize : NULL};
  tombola_vocabulary *vocabulary;
  assert_int_equal(tombola_vocabulary_new(&source, allocator, &vocabulary, NULL), TOMBOLA_OK);
  return vocabulary;
}

/* ---- the samplers ---- */

static struct tombola_sampler_params dry_params(float multiplier, float base, int32_t allowed,
                                                int32_t last_n) {
  static const char *const order[] = {"dry"};
  struct tombola_sampler_params params = {.struct_size = sizeof params};
  assert_int_equal(tombola_sampler_params_default(&params, "llama.cpp", NULL), TOMBOLA_OK);
  params.samplers = order;
  params.n_samplers = 1;
  params.temperature = 1;
  params.seed_mode = TOMBOLA_SEED_FIXED;
  params.dry_multiplier = multiplier;
  params.dry_base = base;
  params.dry_allowed_length = allowed;
  params.dry_penalty_last_n = last_n;
  return params;
}

static tombola_sampler *make(const struct tombola_sampler_params *params,
                             const tombola_vocabulary *vocabulary, size_t n) {
  tombola_sampler *sampler = NULL;
  struct tombola_error error = {0};
  if (tombola_sampler_new(params, vocabulary, n, NULL, &sampler, &error)) fail_msg("%s", error.message);
  return sampler;
}

/* What the chain takes from each of n logits, which are 5 (banned: INFINITY). */
static void taken(tombola_sampler *sampler, size_t n, float *out) {
  float row[MOST];
  struct tombola_candidate candidates[MOST];
  size_t count;
  for (size_t i = 0; i < n; i++) {
    row[i] = 5;
    out[i] = INFINITY;
  }
  struct tombola_row r = {row, n, TOMBOLA_F32};
  assert_int_equal(tombola_candidates(sampler, &r, NULL, candidates, MOST, &count), TOMBOLA_OK);
  for (size_t i = 0; i < count; i++)
    out[candidates[i].id] = 5 - candidates[i].logit;
}

static void accept_all(tombola_sampler *sampler, const tombola_token *history, size_t n) {
  for (size_t i = 0; i < n; i++)
    assert_int_equal(tombola_sampler_accept(sampler, history[i]), TOMBOLA_OK);
}

/* ---- worked cases ---- */

static void test_worked(void **state) {
  (void)state;
  static const char *const lists[][2] = {{NULL, NULL}, {"x", NULL}, {"xy", "xy:"}};
  const struct {
    tombola_token history[9];
    size_t n;
    float multiplier, base;
    int32_t allowed, last_n;
    size_t breakers; /* how many, of lists; "x" is token 7, "y" 15, ":" 16 */
    tombola_token token;
    float loses;
  } cases[] = {
      {{0, 1}, 2, 1, 1.1f, 2, 4, 0, 2, 0},             /* too short to repeat anything */
      {{0, 1, 2, 0, 1}, 5, 1, 1.1f, 2, 5, 0, 2, 1},    /* two repeated: base^0 */
      {{0, 1, 2, 0, 1}, 5, 2, 1.1f, 2, 5, 0, 2, 2},    /* times the multiplier */
      {{0, 1, 2, 0, 1}, 5, 1, 2, 1, 5, 0, 2, 2},       /* one more than allowed: base^1 */
      {{0, 1, 7, 4, 0, 1}, 6, 1, 1.1f, 2, 6, 1, 7, 0}, /* what would come next is a breaker itself */
      {{7, 1, 2, 7, 1}, 5, 1, 2, 2, 5, 1, 2, 0},       /* only one token since the breaker */
      {{7, 1, 2, 7, 1}, 5, 1, 2, 1, 5, 1, 2, 1},
      {{0, 1, 2, 3, 4, 0, 1}, 7, 1, 1.1f, 4, 7, 0, 2, 0}, /* shorter than is allowed */
      {{0, 1, 2, 0, 1}, 5, 1, 2, 1, 3, 0, 2, 0},          /* the window begins too late */
      {{0, 1, 2, 0, 1}, 5, 1, 2, 1, 0, 0, 2, 0},          /* off */
      {{0, 1, 2, 0, 1}, 5, 1, 0.5f, 1, 5, 0, 2, 0},       /* off */
      {{0, 0, 0, 0}, 4, 1, 2, 1, 4, 0, 0, 4},             /* a match may overlap the end */
      {{16, 0, 1, 9, 7, 15, 16, 0, 1}, 9, 1, 2, 2, 9, 0, 9, 2},
      {{16, 0, 1, 9, 7, 15, 16, 0, 1}, 9, 1, 2, 2, 9, 2, 9, 1}, /* the longer breaker of two ends it */
  };
  tombola_vocabulary *vocabulary = small_vocabulary(true, NULL);
  for (size_t i = 0; i < TOMBOLA__COUNT(cases); i++) {
    struct tombola_sampler_params params =
        dry_params(cases[i].multiplier, cases[i].base, cases[i].allowed, cases[i].last_n);
    params.dry_sequence_breakers = lists[cases[i].breakers];
    params.n_dry_sequence_breakers = cases[i].breakers;
    tombola_sampler *sampler = make(&params, vocabulary, WORDS);
    float loses[WORDS];
    accept_all(sampler, cases[i].history, cases[i].n);
    taken(sampler, WORDS, loses);
    for (size_t t = 0; t < WORDS; t++) {
      float want = t == (size_t)cases[i].token ? cases[i].loses : 0;
      if (fabsf(loses[t] - want) > 1e-6f) fail_msg("case %zu: token %zu loses %g", i, t, (double)loses[t]);
    }
    tombola_sampler_free(sampler);
  }
  tombola_vocabulary_free(vocabulary);
}

/* Powers that are no float: the penalty stays finite, the token stays a candidate. */
static void test_overflow(void **state) {
  (void)state;
  struct tombola_sampler_params params = dry_params(1e30f, 10, 1, 64);
  tombola_sampler *sampler = make(&params, NULL, 4);
  float loses[4];
  for (int i = 0; i < 64; i++)
    assert_int_equal(tombola_sampler_accept(sampler, 1), TOMBOLA_OK);
  taken(sampler, 4, loses);
  assert_true(loses[1] > 1e38f && loses[1] < INFINITY && loses[0] == 0);
  tombola_sampler_free(sampler);
}

/* ---- the slow model ---- */

struct model {
  const char *const *breakers;
  size_t n_breakers;
  const tombola_token *window;
  size_t n;
  bool at_head;
};

/* Every way in which `token` begins a breaker that the window goes on with from `from`: the longest number of
 * tokens that follow it, or -1. */
static int breaker_after(const struct model *m, tombola_token token, size_t from) {
  int longest = -1;
  const char *word = words[token];
  for (size_t b = 0; b < m->n_breakers; b++) {
    const char *text = m->breakers[b];
    if (strstr(word, text) && longest < 0) longest = 0;
    if (strstr(word, text)) continue;
    for (size_t cut = 1; cut < strlen(text); cut++) {
      size_t length = strlen(word), count, matched = 0;
      tombola_token tail[MOST];
      if (length < cut || strncmp(word + length - cut, text, cut) != 0) continue;
      assert_int_equal(tokenize(NULL, text + cut, strlen(text) - cut, 0, tail, MOST, &count), TOMBOLA_OK);
      if (count > 20) count = 20;
      while (matched < count && from + matched < m->n && m->window[from + matched] == tail[matched])
        matched++;
      if (matched == count && (int)count > longest) longest = (int)count;
    }
  }
  return longest;
}

static bool is_breaker(const struct model *m, tombola_token token) {
  for (size_t b = 0; b < m->n_breakers; b++)
    if (strstr(words[token], m->breakers[b])) return true;
  return false;
}

/* The number of tokens before and at `pos` that are also the last ones, walking back one by one. */
static size_t match_length(const struct model *m, size_t pos) {
  size_t length = 0;
  while (length <= pos && m->window[pos - length] == m->window[m->n - 1 - length]) {
    if (m->at_head && length > 0 && breaker_after(m, m->window[pos - length], pos - length + 1) >= 0) break;
    length++;
  }
  return length;
}

static void slow_dry(const struct model *m, const struct tombola_sampler_params *p, float *out) {
  size_t allowed = (size_t)p->dry_allowed_length, limit = m->n;
  size_t longest[WORDS];
  bool hit[WORDS] = {false};
  for (size_t i = m->n; !m->at_head && i-- > 0;) {
    int tail = breaker_after(m, m->window[i], i + 1);
    if (tail < 0) continue;
    limit = m->n - 1 - i - (size_t)tail;
    break;
  }
  for (size_t pos = 0; pos + 1 < m->n && m->n > allowed && limit >= allowed; pos++) {
    size_t length = match_length(m, pos);
    tombola_token next = m->window[pos + 1];
    if (length > limit) length = limit;
    if (length < allowed || (m->at_head && length == 0) || (!m->at_head && is_breaker(m, next))) continue;
    if (!hit[next] || length > longest[next]) longest[next] = length;
    hit[next] = true;
  }
  for (size_t t = 0; t < WORDS; t++)
    out[t] =
        hit[t] ? (float)((double)p->dry_multiplier * pow((double)p->dry_base, (double)(longest[t] - allowed)))
               : 0;
}

static const char *const breaker_lists[][3] = {{NULL, NULL, NULL},  {"x", NULL, NULL},  {"ab", "x", NULL},
                                               {"abc", NULL, NULL}, {"\n", ":", "bcx"}, {"xaab", "cab", NULL},
                                               {"xy", "xy:", NULL}};

static void run_random(struct support_rng *rng, const tombola_vocabulary *vocabulary, bool at_head) {
  const char *const *list = breaker_lists[support_below(rng, TOMBOLA__COUNT(breaker_lists))];
  size_t n = support_below(rng, 60), kinds = 1 + support_below(rng, WORDS), count = 0;
  while (count < 3 && list[count])
    count++;
  struct tombola_sampler_params params =
      dry_params(support_between(rng, 0.1f, 2), support_between(rng, 1, 1.2f), (int32_t)support_below(rng, 4),
                 (int32_t)support_below(rng, 70));
  params.dry_sequence_breakers = list;
  params.n_dry_sequence_breakers = count;
  tombola_sampler *sampler = make(&params, vocabulary, WORDS);
  struct tombola__dialect dialect = *sampler->plan->dialect;
  dialect.dry_breaks_at_head = at_head;
  sampler->plan->dialect = &dialect;
  tombola_token history[64];
  for (size_t i = 0; i < n; i++)
    history[i] = (tombola_token)support_below(rng, kinds);
  accept_all(sampler, history, n);
  size_t last_n = (size_t)params.dry_penalty_last_n < n ? (size_t)params.dry_penalty_last_n : n;
  struct model model = {list, count, history + n - last_n, last_n, at_head};
  float want[WORDS], got[WORDS];
  slow_dry(&model, &params, want);
  taken(sampler, WORDS, got);
  for (size_t t = 0; t < WORDS; t++)
    if (fabsf(got[t] - want[t]) > 1e-5f + 1e-5f * fabsf(want[t]))
      fail_msg("token %zu loses %g, not %g", t, (double)got[t], (double)want[t]);
  tombola_sampler_free(sampler);
}

static void test_random(void **state) {
  (void)state;
  struct support_rng rng = support_rng(1);
  tombola_vocabulary *vocabulary = small_vocabulary(true, NULL);
  for (int i = 0; i < (support_long() ? 100000 : 6000); i++)
    run_random(&rng, vocabulary, i % 2);
  tombola_vocabulary_free(vocabulary);
}

/* A list that a stage has ranked, a temperature before, and a history that is older than the window. */
static void test_on_a_list(void **state) {
  (void)state;
  static const char *const order[] = {"temperature", "top_k", "dry"};
  struct tombola_sampler_params params = dry_params(1, 2, 1, 5);
  params.samplers = order;
  params.n_samplers = 3;
  params.temperature = 0.5f;
  params.top_k = 2;
  tombola_sampler *sampler = make(&params, NULL, 4);
  static const tombola_token history[] = {3, 3, 3, 0, 1, 2, 0, 1};
  static const float row[] = {0, 0, 3, 2.5f};
  struct tombola_row r = {row, 4, TOMBOLA_F32};
  struct tombola_candidate out[4];
  size_t count;
  accept_all(sampler, history, 8);
  assert_int_equal(tombola_candidates(sampler, &r, NULL, out, 4, &count), TOMBOLA_OK);
  assert_int_equal(count, 2);
  for (size_t i = 0; i < 2; i++)
    assert_true(fabsf(out[i].logit - (out[i].id == 2 ? 4.0f : 5.0f)) < 1e-6f);
  tombola_sampler_free(sampler);
}

/* ---- n-grams ---- */

static void test_ngrams(void **state) {
  (void)state;
  static const char *const order[] = {"no_repeat_ngram"};
  struct support_rng rng = support_rng(2);
  for (int round = 0; round < 3000; round++) {
    size_t size = 1 + support_below(&rng, 5), n = support_below(&rng, 40), kinds = 1 + support_below(&rng, 5);
    struct tombola_sampler_params params = dry_params(0, 1, 0, 0);
    params.samplers = order;
    params.no_repeat_ngram = (int32_t)size;
    tombola_sampler *sampler = make(&params, NULL, 8);
    tombola_token history[40];
    bool banned[8] = {false};
    float got[8];
    for (size_t i = 0; i < n; i++)
      history[i] = (tombola_token)support_below(&rng, kinds);
    for (size_t at = 0; at + size <= n; at++)
      if (!memcmp(history + at, history + n - (size - 1), (size - 1) * sizeof *history))
        banned[history[at + size - 1]] = true;
    accept_all(sampler, history, n);
    taken(sampler, 8, got);
    for (size_t t = 0; t < 8; t++)
      if (banned[t] != (got[t] == INFINITY)) fail_msg("round %d: token %zu", round, t);
    tombola_sampler_free(sampler);
  }
}

/* ---- the table ---- */

static size_t tails_of(const struct tombola__breakers *b, tombola_token token) {
  struct tombola__tail tail;
  size_t n = 0;
  while (tombola__breakers_tail(b, token, n, &tail))
    n++;
  return n;
}

static const struct tombola__breakers *get(const tombola_vocabulary *v, const char *const *texts, size_t n,
                                           bool *owned) {
  const struct tombola__breakers *b;
  assert_int_equal(tombola__breakers_get(v, texts, n, &b, owned, NULL), TOMBOLA_OK);
  return b;
}

static void test_table(void **state) {
  (void)state;
  static const char *const texts[] = {"abc", "", "\n"};
  tombola_vocabulary *v = small_vocabulary(true, NULL);
  bool owned;
  const struct tombola__breakers *b = get(v, texts, 3, &owned);
  struct tombola__tail tail;
  assert_true(tombola__breakers_whole(b, 6) && tombola__breakers_whole(b, 8) &&
              tombola__breakers_whole(b, 11));
  assert_false(tombola__breakers_whole(b, 3)); /* "ab" needs "c" */
  assert_true(tombola__breakers_head(b, 3) && tombola__breakers_head(b, 0) && tombola__breakers_head(b, 4));
  assert_false(tombola__breakers_head(b, 1) || tombola__breakers_head(b, 10) ||
               tombola__breakers_head(b, -1));
  assert_false(tombola__breakers_head(b, (tombola_token)WORDS));
  assert_true(tombola__breakers_tail(b, 3, 0, &tail) && tail.count == 1 && tail.tokens[0] == 2);
  assert_true(tombola__breakers_tail(b, 0, 0, &tail) && tail.count == 1 && tail.tokens[0] == 5); /* "bc" */
  assert_true(tails_of(b, 3) == 1 && tails_of(b, 8) == 1 && tails_of(b, 7) == 0);
  assert_false(owned);
  tombola_vocabulary_free(v);
}

/* What no token can be made of is passed over; only the whole breaker then breaks. */
static void test_table_without_tokeniser(void **state) {
  (void)state;
  static const char *const texts[] = {"ab"};
  tombola_vocabulary *v = small_vocabulary(false, NULL);
  bool owned;
  const struct tombola__breakers *b = get(v, texts, 1, &owned);
  assert_true(tombola__breakers_whole(b, 3) && tombola__breakers_whole(b, 6) &&
              tombola__breakers_whole(b, 14));
  assert_false(tombola__breakers_head(b, 0));
  tombola_vocabulary_free(v);
}

/* A breaker is cut to 40 bytes, its tail to 20 tokens. */
static void test_table_cuts(void **state) {
  (void)state;
  char text[64];
  const char *const texts[] = {text};
  tombola_vocabulary *v = small_vocabulary(true, NULL);
  struct tombola__tail tail;
  bool owned;
  memset(text, 'y', 60);
  text[60] = 0;
  text[0] = 'x';
  const struct tombola__breakers *b = get(v, texts, 1, &owned);
  assert_true(tombola__breakers_tail(b, 7, 0, &tail) && tail.count == 20 && tail.tokens[19] == 15);
  text[40] = 0; /* the same, once it is cut */
  assert_ptr_equal(get(v, texts, 1, &owned), b);
  text[22] = 0;
  assert_ptr_not_equal(get(v, texts, 1, &owned), b);
  b = get(v, texts, 1, &owned);
  assert_true(tombola__breakers_tail(b, 7, 0, &tail) && tail.count == 20); /* of 21 */
  tombola_vocabulary_free(v);
}

static void test_table_is_shared(void **state) {
  (void)state;
  static const char *const one[] = {"x"}, *const same[] = {"x", ""}, *const other[] = {"x", "y"};
  tombola_vocabulary *v = small_vocabulary(true, NULL);
  bool owned;
  const struct tombola__breakers *b = get(v, one, 1, &owned);
  assert_ptr_equal(get(v, same, 2, &owned), b);
  assert_ptr_not_equal(get(v, other, 2, &owned), b);
  char text[4] = "caa";
  bool full = false;
  for (int i = 0; i < 64; i++) { /* it doesn't keep any number of them */
    const char *const texts[] = {text};
    for (int digit = 0; digit < 3; digit++)
      text[digit] = "abcx"[i >> 2 * digit & 3];
    const struct tombola__breakers *more = get(v, texts, 1, &owned);
    if (owned) tombola__breakers_free(more);
    full = full || owned;
  }
  assert_true(full);
  assert_ptr_equal(get(v, one, 1, &owned), b);
  assert_false(owned);
  tombola_vocabulary_free(v);
}

struct racer {
  const tombola_vocabulary *vocabulary;
  const struct tombola__breakers *got[4];
};

static void *race(void *context) {
  static const char *const texts[] = {"a", "b", "c", "x"};
  struct racer *racer = context;
  for (size_t i = 0; i < 4; i++) {
    bool owned;
    if (tombola__breakers_get(racer->vocabulary, &texts[i], 1, &racer->got[i], &owned, NULL)) return NULL;
  }
  return NULL;
}

static void test_table_on_threads(void **state) {
  (void)state;
  for (int round = 0; round < 50; round++) {
    tombola_vocabulary *v = small_vocabulary(true, NULL);
    struct racer racers[3] = {{v, {NULL}}, {v, {NULL}}, {v, {NULL}}};
    pthread_t threads[3];
    for (size_t i = 0; i < 3; i++)
      assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
    for (size_t i = 0; i < 3; i++)
      assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (size_t i = 0; i < 4; i++) {
      assert_non_null(racers[0].got[i]);
      assert_ptr_equal(racers[0].got[i], racers[1].got[i]);
      assert_ptr_equal(racers[0].got[i], racers[2].got[i]);
    }
    tombola_vocabulary_free(v);
  }
}

static void test_refusals(void **state) {
  (void)state;
  static const char *const texts[] = {"x"};
  struct tombola_sampler_params params = dry_params(1, 2, 1, 64);
  struct tombola_error error = {0};
  tombola_sampler *sampler;
  tombola_sampler_free(make(&params, NULL, 8)); /* the dialect's own breakers nobody asked for */
  params.dry_sequence_breakers = texts;
  params.n_dry_sequence_breakers = 1;
  assert_int_equal(tombola_sampler_new(&params, NULL, 8, NULL, &sampler, &error), TOMBOLA_INVALID_ARGUMENT);
  assert_string_equal(error.param, "dry_sequence_breakers");
}

static void test_no_memory(void **state) {
  (void)state;
  static const char *const texts[] = {"abc", "x"};
  for (size_t n = 1;; n++) {
    struct support_allocator a = support_allocator(0);
    tombola_vocabulary *v = small_vocabulary(true, support_allocator_use(&a));
    a.requests = 0;
    a.fail_at = n;
    const struct tombola__breakers *b;
    bool owned;
    enum tombola_status status = tombola__breakers_get(v, texts, 2, &b, &owned, NULL);
    bool done = a.requests < n;
    assert_int_equal(status, done ? TOMBOLA_OK : TOMBOLA_NO_MEMORY);
    tombola_vocabulary_free(v);
    support_allocator_check(&a);
    if (done) break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_worked),          cmocka_unit_test(test_overflow),
      cmocka_unit_test(test_random),          cmocka_unit_test(test_on_a_list),
      cmocka_unit_test(test_ngrams),          cmocka_unit_test(test_table),
      cmocka_unit_test(test_table_cuts),      cmocka_unit_test(test_table_without_tokeniser),
      cmocka_unit_test(test_table_is_shared), cmocka_unit_test(test_table_on_threads),
      cmocka_unit_test(test_refusals),        cmocka_unit_test(test_no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
