/* SPDX-License-Identifier: Apache-2.0 */
/* The sampler's interface: parameters by name, dialects, degenerate rows, masks, history, clones and
 * snapshots. */
#include "support.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "tombola/tombola.h"

static struct tombola_sampler_params defaults(const char *dialect) {
  struct tombola_sampler_params params = {.struct_size = sizeof params};
  assert_int_equal(tombola_sampler_params_default(&params, dialect, NULL), TOMBOLA_OK);
  params.seed_mode = TOMBOLA_SEED_FIXED;
  params.seed = 42;
  return params;
}

/* All stages off: the plain distribution of the row. */
static struct tombola_sampler_params neutral(const char *dialect) {
  struct tombola_sampler_params params = defaults(dialect);
  params.temperature = params.top_p = params.repeat_penalty = 1;
  params.top_k = 0;
  params.min_p = 0;
  return params;
}

static tombola_sampler *make(const struct tombola_sampler_params *params, size_t n) {
  tombola_sampler *sampler = NULL;
  struct tombola_error error = {0};
  if (tombola_sampler_new(params, NULL, n, NULL, &sampler, &error)) fail_msg("%s", error.message);
  return sampler;
}

static enum tombola_status one(const struct tombola_sampler_params *params, const float *row, size_t n,
                               tombola_token *token) {
  tombola_sampler *sampler = make(params, n);
  struct tombola_row r = {row, n, TOMBOLA_F32};
  enum tombola_status status = tombola_sampler_sample(sampler, &r, NULL, token);
  if (status) assert_true(tombola_sampler_error(sampler)->message[0] != 0);
  tombola_sampler_free(sampler);
  return status;
}

/* ---- parameters ---- */

static void test_rows(void **state) {
  (void)state;
  for (size_t i = 0; i < tombola_param_count(); i++) {
    const struct tombola_param_info *row = tombola_param_at(i);
    assert_ptr_equal(tombola_param_find(row->name), row);
    assert_true(row->help && row->help[0]);
    for (const char *const *alias = row->aliases; alias && *alias; alias++)
      assert_ptr_equal(tombola_param_find(*alias), row);
  }
  assert_null(tombola_param_at(tombola_param_count()));
  assert_ptr_equal(tombola_param_find("top-p"), tombola_param_find("top_p"));
  assert_null(tombola_param_find("top_q"));
  assert_null(tombola_param_find(NULL));
  for (size_t i = 0; i < tombola_stage_count(); i++)
    assert_string_equal(tombola_stage_find(tombola_stage_at(i)), tombola_stage_at(i));
  assert_string_equal(tombola_stage_find("temp"), "temperature");
  assert_string_equal(tombola_stage_find("k"), "top_k");
  assert_null(tombola_stage_find("nope"));
}

static void test_set_and_get(void **state) {
  (void)state;
  const struct {
    const char *name, *text, *back;
  } good[] = {{"top_p", "0.9", "0.9"},
              {"top-k", "40", "40"},
              {"temp", "1e-1", "0.1"},
              {"repetition_penalty", "1.1", "1.1"},
              {"seed", "7", "7"},
              {"seed", "-1", "random"},
              {"penalty_scope", "output", "output"},
              {"min_keep", "3", "3"},
              {"min_keep", "2147483647", "2147483647"},
              {"repeat_last_n", "16777217", "16777217"},
              {"presence_penalty", "-0.5", "-0.5"}};
  struct tombola_sampler_params params = defaults(NULL);
  for (size_t i = 0; i < TOMBOLA__COUNT(good); i++) {
    char text[32];
    assert_int_equal(tombola_sampler_params_set(&params, good[i].name, good[i].text, NULL), TOMBOLA_OK);
    assert_int_equal(tombola_sampler_params_get(&params, good[i].name, text, sizeof text), TOMBOLA_OK);
    assert_string_equal(text, good[i].back);
  }
}

static void test_refusals(void **state) {
  (void)state;
  const struct {
    const char *dialect, *name, *text, *says;
  } bad[] = {
      {NULL, "top_p", "1.5", "in [0, 1]"},
      {NULL, "top_p", "nan", "in [0, 1]"},
      {NULL, "top_p", "0.5x", "a number"},
      {NULL, "top_p", "", "a number"},
      {NULL, "min_p", "-0.1", "in [0, 1]"},
      {NULL, "temperature", "inf", "finite"},
      {NULL, "repeat_penalty", "0", "> 0"},
      {NULL, "repeat_last_n", "-2", "[-1"},
      {NULL, "top_k", "1.5", "whole number"},
      {NULL, "top_k", "99999999999", "top_k must be"},
      {NULL, "seed", "1.5", "whole number"},
      {NULL, "seed", "4294967296", "4294967295"},
      {NULL, "penalty_scope", "half", "all, output"},
      {"rml", "temperature", "-1", ">= 0"},
      {"rml", "top_p", "0", "in (0, 1]"},
      {"rml", "min_p", "1", "in [0, 1)"},
      {"rml", "top_k", "-1", "[0"},
      {"rml", "repeat_last_n", "-1", "[0"},
  };
  for (size_t i = 0; i < TOMBOLA__COUNT(bad); i++) {
    struct tombola_sampler_params params = defaults(bad[i].dialect), before = params;
    struct tombola_error error = {0};
    assert_int_equal(tombola_sampler_params_set(&params, bad[i].name, bad[i].text, &error),
                     TOMBOLA_INVALID_ARGUMENT);
    if (!strstr(error.message, bad[i].says)) fail_msg("%s=%s: %s", bad[i].name, bad[i].text, error.message);
    assert_string_equal(error.param, bad[i].name);
    assert_memory_equal(&params, &before, sizeof params);
  }
  struct tombola_sampler_params params = defaults(NULL);
  struct tombola_error error = {0};
  assert_int_equal(tombola_sampler_params_set(&params, "top_q", "1", &error), TOMBOLA_NOT_FOUND);
  assert_non_null(strstr(error.message, "top_q"));
  assert_int_equal(tombola_sampler_params_default(&params, "nope", &error), TOMBOLA_NOT_FOUND);
  assert_non_null(strstr(error.message, "llama.cpp, rml"));
  assert_int_equal(tombola_sampler_params_set(&params, "samplers", "top_k", &error), TOMBOLA_UNSUPPORTED);
}

/* A value that was put into the struct by hand is checked as one from text. */
static void test_check(void **state) {
  (void)state;
  struct tombola_sampler_params params = defaults("rml");
  struct tombola_error error = {0};
  params.top_p = 0;
  tombola_sampler *sampler = NULL;
  assert_int_equal(tombola_sampler_new(&params, NULL, 8, NULL, &sampler, &error), TOMBOLA_INVALID_ARGUMENT);
  assert_null(sampler);
  assert_string_equal(error.param, "top_p");
  assert_non_null(strstr(error.message, "top_p must be in (0, 1], got 0"));
  params = defaults(NULL);
  struct tombola_logit_bias bias = {3, NAN};
  params.logit_bias = &bias;
  params.n_logit_bias = 1;
  assert_int_equal(tombola_sampler_params_check(&params, &error), TOMBOLA_INVALID_ARGUMENT);
  bias = (struct tombola_logit_bias){8, 1};
  assert_int_equal(tombola_sampler_params_check(&params, &error), TOMBOLA_OK);
  assert_int_equal(tombola_sampler_new(&params, NULL, 8, NULL, &sampler, &error), TOMBOLA_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "token 8"));
  params.n_logit_bias = 0;
  assert_int_equal(tombola_sampler_new(&params, NULL, 0, NULL, &sampler, &error), TOMBOLA_INVALID_ARGUMENT);
}

/* A caller that was built against an older, shorter struct gets defaults for the rest; one that is newer and
 * uses what we don't know is refused. */
static void test_struct_size(void **state) {
  (void)state;
  struct tombola_sampler_params old = defaults(NULL);
  old.struct_size = offsetof(struct tombola_sampler_params, temperature);
  old.top_k = -77; /* outside what such a caller has */
  tombola_sampler *sampler = make(&old, 8);
  char chain[256];
  tombola_sampler_describe(sampler, chain, sizeof chain);
  assert_string_equal(chain, "logits -> ?logit_bias -> ?penalties -> ?dry -> ?top_n_sigma -> top_k -> "
                             "?typical_p -> top_p -> min_p -> ?xtc -> temperature -> draw");
  tombola_sampler_free(sampler);
  struct {
    struct tombola_sampler_params params;
    double unknown[4];
  } newer = {.params = {.struct_size = sizeof newer}};
  assert_int_equal(tombola_sampler_params_default(&newer.params, NULL, NULL), TOMBOLA_OK);
  assert_int_equal(tombola_sampler_params_check(&newer.params, NULL), TOMBOLA_OK);
  newer.unknown[3] = 1;
  assert_int_equal(tombola_sampler_params_check(&newer.params, NULL), TOMBOLA_UNSUPPORTED);
  struct tombola_sampler_params none = {0};
  assert_int_equal(tombola_sampler_params_default(&none, NULL, NULL), TOMBOLA_INVALID_ARGUMENT);
}

static void test_order(void **state) {
  (void)state;
  const struct {
    const char *names[4];
    size_t n;
    enum tombola_status status;
    const char *chain;
  } orders[] = {
      {{"top_p", "temperature"}, 2, TOMBOLA_OK, "logits -> ?logit_bias -> top_p -> temperature -> draw"},
      {{"t", "logit_bias", "k"}, 3, TOMBOLA_OK, "logits -> temperature -> ?logit_bias -> top_k -> draw"},
      {{NULL}, 0, TOMBOLA_OK, "logits -> ?logit_bias -> draw"},
      {{"top_k", "k"}, 2, TOMBOLA_INVALID_ARGUMENT, "names top_k twice"},
      {{"top_k", "topk"}, 2, TOMBOLA_NOT_FOUND, "no stage 'topk'"},
  };
  for (size_t i = 0; i < TOMBOLA__COUNT(orders); i++) {
    struct tombola_sampler_params params = defaults(NULL);
    struct tombola_error error = {0};
    tombola_sampler *sampler = NULL;
    char chain[256] = "";
    params.samplers = orders[i].names;
    params.n_samplers = orders[i].n;
    assert_int_equal(tombola_sampler_new(&params, NULL, 8, NULL, &sampler, &error), orders[i].status);
    if (orders[i].status) {
      if (!strstr(error.message, orders[i].chain)) fail_msg("%s", error.message);
      continue;
    }
    size_t length = tombola_sampler_describe(sampler, chain, sizeof chain);
    assert_string_equal(chain, orders[i].chain);
    assert_int_equal(length, strlen(chain));
    char cut[10];
    assert_int_equal(tombola_sampler_describe(sampler, cut, sizeof cut), length);
    assert_int_equal(strlen(cut), sizeof cut - 1);
    tombola_sampler_free(sampler);
  }
}

/* Numbers are read and written with a point whatever the host program's locale. */
static void test_locale(void **state) {
  (void)state;
  const char *names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"};
  const char *set = NULL;
  for (size_t i = 0; i < TOMBOLA__COUNT(names) && !set; i++)
    set = setlocale(LC_NUMERIC, names[i]);
  struct tombola_sampler_params params = defaults(NULL);
  char text[32];
  assert_int_equal(tombola_sampler_params_set(&params, "top_p", "0.25", NULL), TOMBOLA_OK);
  assert_true(params.top_p == 0.25f);
  assert_int_equal(tombola_sampler_params_get(&params, "top_p", text, sizeof text), TOMBOLA_OK);
  assert_string_equal(text, "0.25");
  assert_int_equal(tombola_sampler_params_set(&params, "top_p", "0,25", NULL), TOMBOLA_INVALID_ARGUMENT);
  setlocale(LC_NUMERIC, "C");
}

/* ---- rows that are no distribution ---- */

static void test_degenerate(void **state) {
  (void)state;
  const float nan0[] = {NAN, 1, 3, 2}, nan1[] = {1, NAN, 3, 2}, plus[] = {1, INFINITY, 2},
              none[] = {-INFINITY, -INFINITY, -INFINITY}, all_nan[] = {NAN, NAN}, single[] = {-3},
              one_left[] = {-INFINITY, -5, -INFINITY}, huge[] = {3e38f, -3e38f, 1};
  const struct {
    const float *row;
    size_t n;
    enum tombola_status status;
    tombola_token token;
  } rows[] = {{nan0, 4, TOMBOLA_NOT_FINITE, -1},    {nan1, 4, TOMBOLA_NOT_FINITE, -1},
              {plus, 3, TOMBOLA_NOT_FINITE, -1},    {none, 3, TOMBOLA_NO_CANDIDATE, -1},
              {all_nan, 2, TOMBOLA_NOT_FINITE, -1}, {single, 1, TOMBOLA_OK, 0},
              {one_left, 3, TOMBOLA_OK, 1},         {huge, 3, TOMBOLA_OK, 0}};
  const char *dialects[] = {"llama.cpp", "rml"};
  for (size_t i = 0; i < TOMBOLA__COUNT(rows); i++) {
    for (size_t d = 0; d < 2; d++) {
      for (int greedy = 0; greedy < 3; greedy++) {
        struct tombola_sampler_params params = greedy == 2 ? neutral(dialects[d]) : defaults(dialects[d]);
        if (greedy == 1) params.temperature = 0;
        tombola_token token = 99;
        assert_int_equal(one(&params, rows[i].row, rows[i].n, &token), rows[i].status);
        assert_int_equal(token, rows[i].token);
      }
    }
  }
}

static void test_bad_calls(void **state) {
  (void)state;
  struct tombola_sampler_params params = defaults(NULL);
  tombola_sampler *s = make(&params, 4);
  const float row[] = {1, 2, 3, 4};
  float probs[4];
  uint32_t none = 0, words = 0xF;
  struct tombola_row good = {row, 4, TOMBOLA_F32}, empty = {row, 0, TOMBOLA_F32},
                     null = {NULL, 4, TOMBOLA_F32}, longer = {row, 5, TOMBOLA_F32},
                     odd = {row, 4, (enum tombola_dtype)7};
  struct tombola_mask forbids = {&none, 4, NULL, 0}, shorter = {&words, 3, NULL, 0};
  tombola_token token;
  assert_int_equal(tombola_sampler_sample(s, NULL, NULL, &token), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_sampler_sample(s, &empty, NULL, &token), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_sampler_sample(s, &null, NULL, &token), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_sampler_sample(s, &longer, NULL, &token), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_sampler_sample(s, &odd, NULL, &token), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_sampler_sample(s, &good, &shorter, &token), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_sampler_sample(s, &good, &forbids, &token), TOMBOLA_NO_CANDIDATE);
  assert_int_equal(tombola_distribution(s, &good, NULL, probs, 3), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_sampler_accept(s, 4), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_sampler_accept(s, -1), TOMBOLA_INVALID_ARGUMENT);
  const tombola_token prompt[] = {1, 4};
  assert_int_equal(tombola_sampler_begin(s, prompt, 2), TOMBOLA_INVALID_ARGUMENT);
  assert_non_null(strstr(tombola_sampler_error(s)->message, "token 4"));
  assert_int_equal(tombola_sampler_begin(s, NULL, 2), TOMBOLA_INVALID_ARGUMENT);
  int accepted;
  assert_int_equal(tombola_sampler_verify(s, &good, NULL, 4, NULL, NULL, 0, &accepted, &token),
                   TOMBOLA_INVALID_ARGUMENT);
  /* None of that used up a random number: the first draw is a fresh sampler's. */
  tombola_token first, fresh;
  assert_int_equal(tombola_sampler_sample(s, &good, NULL, &first), TOMBOLA_OK);
  assert_int_equal(one(&params, row, 4, &fresh), TOMBOLA_OK);
  assert_int_equal(first, fresh);
  tombola_sampler_free(s);
  tombola_sampler_free(NULL);
  tombola_snapshot_free(NULL);
}

/* What a mask forbids may hold anything, NaN included, and never comes out. */
static void test_mask(void **state) {
  (void)state;
  float row[100];
  struct support_rng rng = support_rng(20);
  for (size_t i = 0; i < 100; i++)
    row[i] = i % 3 ? NAN : support_between(&rng, -2, 2);
  uint32_t words[4] = {0};
  for (size_t i = 0; i < 100; i += 3)
    words[i / 32] |= 1u << (i % 32);
  struct tombola_mask mask = {words, 100, NULL, 0};
  struct tombola_row r = {row, 100, TOMBOLA_F32};
  const char *dialects[] = {"llama.cpp", "rml"};
  for (size_t d = 0; d < 2; d++) {
    struct tombola_sampler_params params = neutral(dialects[d]);
    tombola_sampler *s = make(&params, 100);
    float probs[100];
    assert_int_equal(tombola_distribution(s, &r, &mask, probs, 100), TOMBOLA_OK);
    double sum = 0;
    for (size_t i = 0; i < 100; i++) {
      if (i % 3) assert_true(probs[i] == 0);
      sum += (double)probs[i];
    }
    assert_true(fabs(sum - 1) < 1e-6);
    for (int i = 0; i < 200; i++) {
      tombola_token token;
      assert_int_equal(tombola_sampler_sample(s, &r, &mask, &token), TOMBOLA_OK);
      assert_int_equal(token % 3, 0);
    }
    tombola_sampler_free(s);
  }
}

/* ---- history ---- */

static void test_penalties(void **state) {
  (void)state;
  struct tombola_sampler_params params = neutral(NULL);
  params.repeat_penalty = 2;
  params.frequency_penalty = 0.5f;
  params.presence_penalty = 0.25f;
  params.repeat_last_n = 3;
  tombola_sampler *s = make(&params, 4);
  const float row[] = {2, -1, 0, 3};
  const tombola_token prompt[] = {3, 0, 1};
  struct tombola_row r = {row, 4, TOMBOLA_F32};
  assert_int_equal(tombola_sampler_begin(s, prompt, 3), TOMBOLA_OK);
  assert_int_equal(tombola_sampler_accept(s, 1), TOMBOLA_OK); /* 3 leaves the window: 0 once, 1 twice */
  struct tombola_candidate c[4];
  size_t n;
  assert_int_equal(tombola_candidates(s, &r, NULL, c, 4, &n), TOMBOLA_OK);
  assert_int_equal(n, 4);
  assert_true(c[0].logit == 2.0f / 2 - 0.75f);
  assert_true(c[1].logit == -1.0f * 2 - 1.25f);
  assert_true(c[2].logit == 0 && c[3].logit == 3);
  assert_true(row[0] == 2 && row[1] == -1); /* the row is const */
  assert_int_equal(tombola_sampler_begin(s, NULL, 0), TOMBOLA_OK);
  assert_int_equal(tombola_candidates(s, &r, NULL, c, 4, &n), TOMBOLA_OK);
  assert_true(c[0].logit == 2 && c[1].logit == -1);
  tombola_sampler_free(s);
}

static void test_scope(void **state) {
  (void)state;
  struct tombola_sampler_params params = neutral(NULL);
  params.presence_penalty = 1;
  params.penalty_scope = TOMBOLA_SCOPE_OUTPUT;
  tombola_sampler *s = make(&params, 2);
  const float row[] = {1, 1};
  const tombola_token prompt[] = {0};
  struct tombola_row r = {row, 2, TOMBOLA_F32};
  struct tombola_candidate c[2];
  size_t n;
  assert_int_equal(tombola_sampler_begin(s, prompt, 1), TOMBOLA_OK);
  assert_int_equal(tombola_sampler_accept(s, 1), TOMBOLA_OK);
  assert_int_equal(tombola_candidates(s, &r, NULL, c, 2, &n), TOMBOLA_OK);
  assert_true(c[0].logit == 1 && c[1].logit == 0);
  tombola_sampler_free(s);
}

/* ---- states ---- */

static void fill(float *row, size_t n, struct support_rng *rng) {
  for (size_t i = 0; i < n; i++)
    row[i] = support_between(rng, -3, 3);
}

/* One token, taken; the row depends on the step alone. */
static tombola_token step(tombola_sampler *s, uint64_t stream) {
  float row[300];
  struct support_rng rng = support_rng(1000 + stream);
  fill(row, 300, &rng);
  struct tombola_row r = {row, 300, TOMBOLA_F32};
  tombola_token token;
  assert_int_equal(tombola_sampler_sample(s, &r, NULL, &token), TOMBOLA_OK);
  assert_int_equal(tombola_sampler_accept(s, token), TOMBOLA_OK);
  return token;
}

static void test_states(void **state) {
  (void)state;
  const char *dialects[] = {"llama.cpp", "rml"};
  for (size_t d = 0; d < 2; d++) {
    struct tombola_sampler_params params = neutral(dialects[d]);
    params.repeat_penalty = 1.5f;
    params.repeat_last_n = 20;
    tombola_sampler *s = make(&params, 300), *clone = NULL;
    tombola_snapshot *snapshot = NULL;
    tombola_token first[40], second[40];
    assert_int_equal(tombola_snapshot_new(s, &snapshot), TOMBOLA_OK);
    for (size_t i = 0; i < 15; i++)
      first[i] = step(s, i);
    assert_int_equal(tombola_snapshot_take(snapshot, s), TOMBOLA_OK);
    assert_int_equal(tombola_sampler_clone(s, &clone), TOMBOLA_OK);
    for (size_t i = 15; i < 40; i++)
      first[i] = step(s, i);
    for (size_t i = 15; i < 40; i++)
      assert_int_equal(step(clone, i), first[i]);
    assert_int_equal(tombola_snapshot_restore(snapshot, s), TOMBOLA_OK);
    for (size_t i = 15; i < 40; i++)
      assert_int_equal(step(s, i), first[i]);
    assert_int_equal(tombola_snapshot_restore(snapshot, clone), TOMBOLA_OK);
    assert_int_equal(step(clone, 15), first[15]);
    tombola_sampler_reset(s);
    for (size_t i = 0; i < 40; i++)
      second[i] = step(s, i);
    assert_memory_equal(first, second, sizeof first);
    tombola_snapshot_free(snapshot);
    tombola_sampler_free(clone);
    tombola_sampler_free(s);
  }
}

static void test_seed(void **state) {
  (void)state;
  struct tombola_sampler_params params = defaults(NULL);
  tombola_sampler *s = make(&params, 8);
  assert_int_equal(tombola_sampler_seed(s), 42);
  tombola_sampler_free(s);
  uint64_t seeds[4];
  for (size_t i = 0; i < 4; i++) {
    params.seed_mode = i == 3 ? TOMBOLA_SEED_FIXED : i % 2 ? TOMBOLA_SEED_RANDOM : TOMBOLA_SEED_POLICY;
    params.seed = 0xFFFFFFFF; /* llama.cpp's word for random */
    s = make(&params, 8);
    seeds[i] = tombola_sampler_seed(s);
    assert_true(seeds[i] < 0xFFFFFFFF);
    for (size_t j = 0; j < i; j++)
      assert_true(seeds[i] != seeds[j]);
    tombola_sampler_free(s);
  }
  params = defaults("rml");
  params.seed_mode = TOMBOLA_SEED_POLICY;
  s = make(&params, 8);
  assert_int_equal(tombola_sampler_seed(s), 0);
  tombola_sampler_free(s);
}

/* A distribution, and the candidates, change nothing: the next draw is the one that would have come. */
static void test_looking(void **state) {
  (void)state;
  struct tombola_sampler_params params = defaults(NULL);
  tombola_sampler *a = make(&params, 300), *b = make(&params, 300);
  float row[300], probs[300];
  struct tombola_candidate c[300];
  size_t n;
  struct support_rng rng = support_rng(30);
  for (uint64_t i = 0; i < 50; i++) {
    fill(row, 300, &rng);
    struct tombola_row r = {row, 300, TOMBOLA_F32};
    assert_int_equal(tombola_distribution(a, &r, NULL, probs, 300), TOMBOLA_OK);
    assert_int_equal(tombola_candidates(a, &r, NULL, c, 300, &n), TOMBOLA_OK);
    double sum = 0;
    for (size_t k = 0; k < n; k++) {
      sum += c[k].p;
      assert_true(fabs(c[k].p - (double)probs[c[k].id]) < 1e-7);
    }
    assert_true(fabs(sum - 1) < 1e-12);
    assert_int_equal(step(a, i), step(b, i));
  }
  tombola_sampler_free(a);
  tombola_sampler_free(b);
}

/* Rows of f16 and bf16 give what the same values in f32 give. */
static void test_dtypes(void **state) {
  (void)state;
  struct support_rng rng = support_rng(31);
  struct tombola_sampler_params params = defaults(NULL);
  params.repeat_penalty = 1.3f;
  for (int round = 0; round < 100; round++) {
    float wide[500];
    uint16_t brain[500];
    for (size_t i = 0; i < 500; i++) {
      float x = support_between(&rng, -8, 8);
      uint32_t bits;
      memcpy(&bits, &x, sizeof bits);
      brain[i] = (uint16_t)(bits >> 16);
      bits &= 0xFFFF0000u;
      memcpy(&wide[i], &bits, sizeof bits);
    }
    tombola_sampler *a = make(&params, 500), *b = make(&params, 500);
    struct tombola_row narrow_row = {brain, 500, TOMBOLA_BF16}, wide_row = {wide, 500, TOMBOLA_F32};
    for (int i = 0; i < 20; i++) {
      tombola_token x, y;
      assert_int_equal(tombola_sampler_sample(a, &narrow_row, NULL, &x), TOMBOLA_OK);
      assert_int_equal(tombola_sampler_sample(b, &wide_row, NULL, &y), TOMBOLA_OK);
      assert_int_equal(x, y);
      assert_int_equal(tombola_sampler_accept(a, x), TOMBOLA_OK);
      assert_int_equal(tombola_sampler_accept(b, y), TOMBOLA_OK);
    }
    tombola_sampler_free(a);
    tombola_sampler_free(b);
  }
}

static void test_memory(void **state) {
  (void)state;
  struct tombola_sampler_params params = defaults(NULL);
  params.repeat_penalty = 1.1f;
  tombola_sampler *s = make(&params, 262144);
  assert_true(tombola_sampler_memory(s) <= 64 * 1024);
  tombola_sampler_free(s);
}

/* A temperature below 1 takes the largest floats out of range: what is shown stays finite, what shapes works. */
static void test_huge(void **state) {
  (void)state;
  static const float rows[][2] = {{FLT_MAX, -FLT_MAX}, {-FLT_MAX, -FLT_MAX}};
  static const char *const order[] = {"temperature", "smoothing"};
  for (size_t i = 0; i < 4; i++) {
    struct tombola_sampler_params params = defaults(NULL);
    params.temperature = 0.5f;
    params.samplers = order;
    params.n_samplers = i % 2 ? 2 : 1;
    params.smoothing_factor = 0.3f;
    tombola_sampler *sampler;
    assert_int_equal(tombola_sampler_new(&params, NULL, 2, NULL, &sampler, NULL), TOMBOLA_OK);
    const struct tombola_row row = {rows[i / 2], 2, TOMBOLA_F32};
    struct tombola_candidate c[2];
    size_t count;
    tombola_token token;
    assert_int_equal(tombola_candidates(sampler, &row, NULL, c, 2, &count), TOMBOLA_OK);
    assert_int_equal(count, 2);
    assert_true(isfinite(c[0].logit) && isfinite(c[1].logit) && fabs(c[0].p + c[1].p - 1) < 1e-9);
    assert_int_equal(tombola_sampler_sample(sampler, &row, NULL, &token), TOMBOLA_OK);
    assert_true(token == 0 || (token == 1 && i / 2));
    tombola_sampler_free(sampler);
  }
}

static void test_lists_that_are_missing(void **state) {
  (void)state;
  for (int i = 0; i < 5; i++) {
    struct tombola_sampler_params params = defaults(NULL);
    struct tombola_error error = {0};
    size_t *counts[] = {&params.n_logit_bias, &params.n_fallback_bias, &params.n_suppress,
                        &params.n_custom_stages};
    if (i < 4) *counts[i] = 3;
    if (i == 4) params.seed_mode = (enum tombola_seed_mode)7;
    tombola_sampler *sampler;
    assert_int_equal(tombola_sampler_new(&params, NULL, 8, NULL, &sampler, &error), TOMBOLA_INVALID_ARGUMENT);
    assert_true(error.param[0] && error.message[0]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rows),
      cmocka_unit_test(test_set_and_get),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_check),
      cmocka_unit_test(test_struct_size),
      cmocka_unit_test(test_order),
      cmocka_unit_test(test_locale),
      cmocka_unit_test(test_degenerate),
      cmocka_unit_test(test_bad_calls),
      cmocka_unit_test(test_mask),
      cmocka_unit_test(test_penalties),
      cmocka_unit_test(test_scope),
      cmocka_unit_test(test_states),
      cmocka_unit_test(test_seed),
      cmocka_unit_test(test_looking),
      cmocka_unit_test(test_dtypes),
      cmocka_unit_test(test_memory),
      cmocka_unit_test(test_huge),
      cmocka_unit_test(test_lists_that_are_missing),
  };
  return cmocka_run_group_tests_name("sampler", tests, NULL, NULL);
}
