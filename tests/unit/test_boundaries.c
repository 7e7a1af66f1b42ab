/* SPDX-License-Identifier: Apache-2.0 */
/* The stages exactly at their boundaries, where only numbers that are exact in binary can stand: what random
 * rows and rounded examples never reach. */
#include "support.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "tombola/stage.h"
#include "tombola/tombola.h"

static struct tombola_sampler_params neutral(const char *dialect) {
  struct tombola_sampler_params params = {.struct_size = sizeof params};
  assert_int_equal(tombola_sampler_params_default(&params, dialect, NULL), TOMBOLA_OK);
  params.temperature = params.top_p = params.repeat_penalty = 1;
  params.top_k = 0;
  params.min_p = 0;
  return params;
}

/* The candidates that are kept of a row, by the draw's order; their number. */
static size_t kept(const struct tombola_sampler_params *params, const float *row, size_t n,
                   struct tombola_candidate *out) {
  tombola_sampler *s = NULL;
  struct tombola_error error = {0};
  struct tombola_row r = {row, n, TOMBOLA_F32};
  size_t count;
  if (tombola_sampler_new(params, NULL, n, NULL, &s, &error)) fail_msg("%s", error.message);
  assert_int_equal(tombola_candidates(s, &r, NULL, out, n, &count), TOMBOLA_OK);
  tombola_sampler_free(s);
  return count;
}

/* Equal tokens: k of n hold exactly k / n. Where the set ends once p is reached, k stay; where p must be passed, one
 * more; where ties stay, all. */
static void test_top_p(void **state) {
  (void)state;
  static const struct {
    const char *dialect;
    bool passes, ties;
  } rules[] = {{"llama.cpp", false, false}, {"rml", false, false},   {"rmlx", false, false},
               {"mlxcel", true, false},     {"minfer", true, false}, {"mlx-lm", false, true},
               {"tombola", false, false}};
  const float row[256] = {0};
  struct tombola_candidate c[256];
  for (size_t d = 0; d < sizeof rules / sizeof *rules; d++) {
    struct tombola_sampler_params params = neutral(rules[d].dialect);
    for (size_t n = 2; n <= 256; n *= 2) {
      for (size_t k = 1; k < n; k += 1 + n / 8) {
        params.top_p = (float)k / (float)n;
        assert_int_equal(kept(&params, row, n, c), rules[d].ties ? n : k + rules[d].passes);
        params.top_p = nextafterf(params.top_p, 1);
        assert_int_equal(kept(&params, row, n, c), rules[d].ties ? n : k + 1);
      }
    }
  }
}

/* At 0 top_p keeps the best alone, or is off. */
static void test_top_p_zero(void **state) {
  (void)state;
  static const struct {
    const char *dialect;
    size_t kept;
  } rules[] = {{"llama.cpp", 1}, {"transformers", 1}, {"tombola", 1}, {"rmlx", 4},
               {"mlxcel", 4},    {"minfer", 4},       {"mlx-lm", 4}};
  const float row[4] = {1, 2, 3, 4};
  struct tombola_candidate c[4];
  for (size_t d = 0; d < sizeof rules / sizeof *rules; d++) {
    struct tombola_sampler_params params = neutral(rules[d].dialect);
    params.top_p = 0;
    assert_int_equal(kept(&params, row, 4, c), rules[d].kept);
  }
}

/* The same of typical_p, to which equal tokens are equally typical. */
static void test_typical_p(void **state) {
  (void)state;
  static const struct {
    const char *dialect;
    bool passes, ties;
  } rules[] = {{"llama.cpp", true, false},
               {"mlxcel", false, false},
               {"tombola", false, false},
               {"transformers", false, true}};
  const float row[64] = {0};
  struct tombola_candidate c[64];
  for (size_t d = 0; d < sizeof rules / sizeof *rules; d++) {
    struct tombola_sampler_params params = neutral(rules[d].dialect);
    for (size_t n = 2; n <= 64; n *= 2) {
      for (size_t k = 1; k < n; k += 1 + n / 8) {
        params.typical_p = (float)k / (float)n;
        assert_int_equal(kept(&params, row, n, c), rules[d].ties ? n : k + rules[d].passes);
      }
    }
  }
}

/* Equal tokens again: exactly k by the lowest ids, or all that tie with the k-th. */
static void test_top_k(void **state) {
  (void)state;
  static const struct {
    const char *dialect;
    bool ties;
  } rules[] = {{"llama.cpp", false}, {"rml", false},         {"rmlx", false},   {"mlxcel", true},
               {"minfer", true},     {"transformers", true}, {"tombola", false}};
  float row[200] = {0};
  struct tombola_candidate c[200];
  for (size_t i = 0; i < 200; i += 3)
    row[i] = 1;
  for (size_t d = 0; d < sizeof rules / sizeof *rules; d++) {
    struct tombola_sampler_params params = neutral(rules[d].dialect);
    for (params.top_k = 2; params.top_k < 67; params.top_k += 13) {
      size_t n = kept(&params, row, 200, c);
      assert_int_equal(n, rules[d].ties ? 67 : params.top_k);
      for (size_t i = 0; i < n; i++)
        assert_int_equal(c[i].id, 3 * i);
    }
  }
}

/* A token as likely as the best stays under min_p 1, and the threshold follows a temperature that came
 * before. */
static void test_min_p(void **state) {
  (void)state;
  struct tombola_candidate c[3];
  const float row[3] = {0, -1, 0};
  struct tombola_sampler_params params = neutral("llama.cpp");
  params.min_p = 1;
  assert_int_equal(kept(&params, row, 3, c), 2);
  assert_true(c[0].id == 0 && c[1].id == 2);
  params.top_k = 3; /* the same of a list */
  assert_int_equal(kept(&params, row, 3, c), 2);
  params = neutral("rml"); /* exp(-1) = 0.37 is above 0.3; at temperature 0.5 it is exp(-2) = 0.14 */
  params.min_p = 0.3f;
  assert_int_equal(kept(&params, row, 3, c), 3);
  params.temperature = 0.5f;
  assert_int_equal(kept(&params, row, 3, c), 2);
  params = neutral("llama.cpp"); /* here the temperature comes after */
  params.min_p = 0.3f;
  params.temperature = 0.5f;
  assert_int_equal(kept(&params, row, 3, c), 3);
}

static void test_bias_adds_up(void **state) {
  (void)state;
  struct tombola_candidate c[3];
  const float row[3] = {1, 2, 3};
  const struct tombola_logit_bias biases[] = {{1, 4}, {0, 0.5f}, {1, -1}, {1, 0.25f}};
  struct tombola_sampler_params params = neutral("llama.cpp");
  params.logit_bias = biases;
  params.n_logit_bias = 4;
  assert_int_equal(kept(&params, row, 3, c), 3);
  assert_true(c[0].logit == 1.5f && c[1].logit == 5.25f && c[2].logit == 3);
}

/* Temperature 0 is greedy under every dialect, where equals have one answer, and the least above minfer's bound, which
 * is the highest, is not. */
static void test_greedy(void **state) {
  (void)state;
  const float row[3] = {1, 5, 5};
  struct tombola_row r = {row, 3, TOMBOLA_F32};
  for (size_t d = 0; d < tombola_dialect_count(); d++) {
    struct tombola_sampler_params params = neutral(tombola_dialect_at(d)->name);
    for (int hot = 0; hot < 2; hot++) {
      tombola_sampler *s = NULL;
      char chain[1024];
      params.temperature = hot ? 1e-6f : 0;
      params.seed_mode = TOMBOLA_SEED_FIXED;
      params.seed = 1;
      assert_int_equal(tombola_sampler_new(&params, NULL, 3, NULL, &s, NULL), TOMBOLA_OK);
      tombola_sampler_describe(s, chain, sizeof chain);
      assert_non_null(strstr(chain, hot ? "-> draw" : "-> greedy"));
      bool second = false;
      for (int i = 0; i < 50; i++) {
        tombola_token token;
        assert_int_equal(tombola_sampler_sample(s, &r, NULL, &token), TOMBOLA_OK);
        second = second || token == 2;
        assert_true(token == 1 || token == 2);
      }
      assert_int_equal(second, hot);
      tombola_sampler_free(s);
    }
  }
}

/* dry sees its own window, however much history another stage keeps: 5 was followed by 6, but six tokens ago. */
static void test_dry_window(void **state) {
  (void)state;
  static const tombola_token history[] = {5, 6, 9, 9, 9, 5};
  const float row[10] = {0};
  struct tombola_row r = {row, 10, TOMBOLA_F32};
  struct tombola_sampler_params params = neutral("llama.cpp");
  params.presence_penalty = 0.25f;
  params.repeat_last_n = 64;
  params.dry_multiplier = 1;
  params.dry_base = 2;
  params.dry_allowed_length = 1;
  for (int32_t window = 3; window <= 6; window += 3) {
    params.dry_penalty_last_n = window;
    tombola_sampler *s = NULL;
    struct tombola_candidate c[10];
    size_t n;
    assert_int_equal(tombola_sampler_new(&params, NULL, 10, NULL, &s, NULL), TOMBOLA_OK);
    for (size_t i = 0; i < 6; i++)
      assert_int_equal(tombola_sampler_accept(s, history[i]), TOMBOLA_OK);
    assert_int_equal(tombola_candidates(s, &r, NULL, c, 10, &n), TOMBOLA_OK);
    assert_int_equal(n, 10);
    assert_true(c[6].id == 6 && c[6].logit == (window == 6 ? -1.25f : -0.25f));
    tombola_sampler_free(s);
  }
}

/* The same of a caller's stage: it sees the last tokens that it asked for, not the oldest that are kept. */
static enum tombola_status look(void *context, void *state, struct tombola_stage_view *view) {
  (void)state;
  tombola_token *seen = context;
  seen[0] = (tombola_token)view->n_history;
  for (size_t i = 0; i < view->n_history && i < 2; i++)
    seen[1 + i] = view->history[i];
  return TOMBOLA_OK;
}

static void test_custom_window(void **state) {
  (void)state;
  tombola_token seen[3] = {0}, token;
  const struct tombola_custom_stage stage = {
      .struct_size = sizeof stage, .name = "looks", .context = seen, .history = 2, .apply = look};
  const struct tombola_custom_stage *const stages[] = {&stage};
  static const char *const order[] = {"penalties", "looks"};
  const float row[10] = {0};
  struct tombola_row r = {row, 10, TOMBOLA_F32};
  struct tombola_sampler_params params = neutral("llama.cpp");
  params.presence_penalty = 1;
  params.repeat_last_n = 64;
  params.custom_stages = stages;
  params.n_custom_stages = 1;
  params.samplers = order;
  params.n_samplers = 2;
  tombola_sampler *s = NULL;
  assert_int_equal(tombola_sampler_new(&params, NULL, 10, NULL, &s, NULL), TOMBOLA_OK);
  for (tombola_token i = 1; i < 6; i++)
    assert_int_equal(tombola_sampler_accept(s, i), TOMBOLA_OK);
  assert_int_equal(tombola_sampler_sample(s, &r, NULL, &token), TOMBOLA_OK);
  assert_true(seen[0] == 2 && seen[1] == 4 && seen[2] == 5);
  tombola_sampler_free(s);
}

/* Greedy is after the edits, under every dialect: the best token is penalized, banned or biased first. */
static void test_greedy_edits(void **state) {
  (void)state;
  const float row[3] = {3, 2, 1};
  const struct tombola_logit_bias bias = {1, -INFINITY};
  struct tombola_row r = {row, 3, TOMBOLA_F32};
  for (size_t d = 0; d < tombola_dialect_count(); d++) {
    struct tombola_sampler_params params = neutral(tombola_dialect_at(d)->name);
    tombola_sampler *s = NULL;
    tombola_token token;
    params.temperature = 0;
    params.presence_penalty = 5;
    params.repeat_last_n = 20;
    params.logit_bias = &bias;
    params.n_logit_bias = 1;
    assert_int_equal(tombola_sampler_new(&params, NULL, 3, NULL, &s, NULL), TOMBOLA_OK);
    assert_int_equal(tombola_sampler_sample(s, &r, NULL, &token), TOMBOLA_OK);
    assert_int_equal(token, 0);
    assert_int_equal(tombola_sampler_accept(s, 0), TOMBOLA_OK);
    assert_int_equal(tombola_sampler_sample(s, &r, NULL, &token), TOMBOLA_OK);
    assert_int_equal(token, 2);
    tombola_sampler_free(s);
  }
}

/* A clone has all of the history, the first token too. */
static void test_clone(void **state) {
  (void)state;
  const float row[4] = {0};
  struct tombola_row r = {row, 4, TOMBOLA_F32};
  struct tombola_sampler_params params = neutral("llama.cpp");
  struct tombola_candidate c[4];
  tombola_sampler *s = NULL, *clone = NULL;
  size_t n;
  params.frequency_penalty = 1;
  params.repeat_last_n = 3;
  assert_int_equal(tombola_sampler_new(&params, NULL, 4, NULL, &s, NULL), TOMBOLA_OK);
  for (tombola_token i = 0; i < 4; i++) /* 0 leaves the window */
    assert_int_equal(tombola_sampler_accept(s, i), TOMBOLA_OK);
  assert_int_equal(tombola_sampler_clone(s, &clone), TOMBOLA_OK);
  tombola_sampler_free(s);
  assert_int_equal(tombola_candidates(clone, &r, NULL, c, 4, &n), TOMBOLA_OK);
  for (size_t i = 0; i < 4; i++)
    assert_true(c[i].logit == (i ? -1 : 0));
  tombola_sampler_free(clone);
}

/* "ab:ab": llama.cpp never penalizes a breaker, mlxcel only lets it end what comes before. */
static void test_dry_breaker(void **state) {
  (void)state;
  static const size_t offsets[] = {0, 1, 2, 3};
  static const char *const breakers[] = {":"}, *const dialects[] = {"llama.cpp", "mlxcel"};
  static const tombola_token history[] = {0, 1, 2, 0, 1};
  const struct tombola_vocabulary_source source = {
      .struct_size = sizeof source, .count = 3, .bytes = "ab:", .offsets = offsets};
  const float row[3] = {0};
  struct tombola_row r = {row, 3, TOMBOLA_F32};
  tombola_vocabulary *vocabulary = NULL;
  assert_int_equal(tombola_vocabulary_new(&source, NULL, &vocabulary, NULL), TOMBOLA_OK);
  for (size_t d = 0; d < 2; d++) {
    struct tombola_sampler_params params = neutral(dialects[d]);
    struct tombola_candidate c[3];
    tombola_sampler *s = NULL;
    size_t n;
    params.dry_multiplier = 1;
    params.dry_base = 2;
    params.dry_allowed_length = 1;
    params.dry_penalty_last_n = 64;
    params.dry_sequence_breakers = breakers;
    params.n_dry_sequence_breakers = 1;
    assert_int_equal(tombola_sampler_new(&params, vocabulary, 3, NULL, &s, NULL), TOMBOLA_OK);
    for (size_t i = 0; i < 5; i++)
      assert_int_equal(tombola_sampler_accept(s, history[i]), TOMBOLA_OK);
    assert_int_equal(tombola_candidates(s, &r, NULL, c, 3, &n), TOMBOLA_OK);
    assert_int_equal(n, 3);
    assert_true(c[2].logit == (d ? -2 : 0)); /* a match of two, one more than allowed: 2^1 */
    tombola_sampler_free(s);
  }
  tombola_vocabulary_free(vocabulary);
}

/* A bare draw has no way to say that there is nothing: token 0. */
static void test_no_mass(void **state) {
  (void)state;
  const float none[4] = {0};
  for (size_t d = 0; d < tombola_dialect_count(); d++) {
    struct tombola_sampler_params params = neutral(tombola_dialect_at(d)->name);
    tombola_sampler *s = NULL;
    tombola_token token = 3;
    assert_int_equal(tombola_sampler_new(&params, NULL, 4, NULL, &s, NULL), TOMBOLA_OK);
    assert_int_equal(tombola_draw(s, none, 4, &token), TOMBOLA_OK);
    assert_int_equal(token, 0);
    tombola_sampler_free(s);
  }
}

/* Some engines mask with the lowest float: where all is masked, a cut still cuts, for whoever reads the set. */
static void test_lowest(void **state) {
  (void)state;
  enum { N = 20000 };
  static float row[N], p[N];
  static struct tombola_candidate c[N];
  for (size_t i = 0; i < N; i++)
    row[i] = -FLT_MAX;
  struct tombola_row r = {row, N, TOMBOLA_F32};
  struct tombola_sampler_params params = {.struct_size = sizeof params};
  assert_int_equal(tombola_sampler_params_default(&params, NULL, NULL), TOMBOLA_OK);
  params.top_k = 0, params.min_p = 0, params.top_p = 0.5f;
  tombola_sampler *sampler;
  size_t count;
  assert_int_equal(tombola_sampler_new(&params, NULL, N, NULL, &sampler, NULL), TOMBOLA_OK);
  assert_int_equal(tombola_distribution(sampler, &r, NULL, p, N), TOMBOLA_OK);
  assert_int_equal(tombola_candidates(sampler, &r, NULL, c, N, &count), TOMBOLA_OK);
  assert_int_equal(count, N / 2);
  for (size_t i = 0; i < N; i++)
    if ((p[i] > 0) != (i < N / 2)) fail_msg("token %zu has %g", i, (double)p[i]);
  tombola_sampler_free(sampler);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lowest),     cmocka_unit_test(test_top_p),
      cmocka_unit_test(test_min_p),      cmocka_unit_test(test_bias_adds_up),
      cmocka_unit_test(test_greedy),     cmocka_unit_test(test_greedy_edits),
      cmocka_unit_test(test_no_mass),    cmocka_unit_test(test_dry_breaker),
      cmocka_unit_test(test_top_p_zero), cmocka_unit_test(test_typical_p),
      cmocka_unit_test(test_top_k),      cmocka_unit_test(test_clone),
      cmocka_unit_test(test_dry_window), cmocka_unit_test(test_custom_window),
  };
  return cmocka_run_group_tests_name("boundaries", tests, NULL, NULL);
}
