/* SPDX-License-Identifier: Apache-2.0 */
/* Draws follow the distribution: chi-square against exact probabilities (from the model of the chain), with
 * fixed seeds, for both dialects; and the same draws against a slightly wrong distribution, which must be
 * rejected. */
#include <string.h>

#include "chain_model.h"
#include "random_rows.h"
#include "support.h"

#define VOCAB  48
#define ACCEPT 1e-4 /* with fixed seeds a test either always fails or never does */
#define REJECT 1e-9

static size_t draws(void) {
  return support_long() ? 2000000 : 200000;
}

/* What is drawn from. */
struct experiment {
  const char *dialect;
  struct chain_params set;
  float row[VOCAB];
  uint32_t mask[(VOCAB + 31) / 32];
  bool masked;
  uint64_t seed;
};

static void exact(const struct experiment *e, const struct chain_params *set, double *expected) {
  struct chain_model model;
  struct model_item items[VOCAB];
  double weights[VOCAB];
  float row[VOCAB];
  for (size_t i = 0; i < VOCAB; i++)
    row[i] = e->masked && !(e->mask[i / 32] >> (i % 32) & 1) ? -INFINITY : e->row[i];
  chain_model_run(&model, items, row, VOCAB, set, NULL, 0, 0, false);
  chain_model_weights(model.items, model.count, weights);
  memset(expected, 0, VOCAB * sizeof *expected);
  for (size_t i = 0; i < model.count; i++)
    expected[model.items[i].id] = weights[i];
}

static void draw(const struct experiment *e, size_t *observed) {
  struct tombola_sampler_params params = library_params(&e->set, e->dialect, e->seed);
  struct tombola_row row = {e->row, VOCAB, TOMBOLA_F32};
  struct tombola_mask mask = {e->mask, VOCAB, NULL, 0};
  tombola_sampler *sampler = NULL;
  memset(observed, 0, VOCAB * sizeof *observed);
  assert_int_equal(tombola_sampler_new(&params, NULL, VOCAB, NULL, &sampler, NULL), TOMBOLA_OK);
  for (size_t i = 0; i < draws(); i++) {
    tombola_token token;
    assert_int_equal(tombola_sampler_sample(sampler, &row, e->masked ? &mask : NULL, &token), TOMBOLA_OK);
    observed[token]++;
  }
  tombola_sampler_free(sampler);
}

static const char *const dialects[] = {"llama.cpp", "rml"};

static void make(struct experiment *e, struct support_rng *rng, size_t dialect, enum row_shape shape) {
  memset(e, 0, sizeof *e);
  e->dialect = dialects[dialect];
  e->seed = 1000 + support_below(rng, 1000);
  random_row(rng, shape, e->row, VOCAB);
}

static const struct chain_params sets[] = {
    {.name = "plain", .order = {"temperature"}, .temperature = 1, .top_p = 1, .repeat_penalty = 1},
    {.name = "hot", .order = {"temperature"}, .temperature = 1.7f, .top_p = 1, .repeat_penalty = 1},
    {.name = "top_k",
     .order = {"top_k", "temperature"},
     .temperature = 1,
     .top_k = 6,
     .top_p = 1,
     .repeat_penalty = 1},
    {.name = "top_p",
     .order = {"temperature", "top_p"},
     .temperature = 1.2f,
     .top_p = 0.85f,
     .repeat_penalty = 1},
    {.name = "min_p",
     .order = {"min_p", "temperature"},
     .temperature = 0.9f,
     .top_p = 1,
     .min_p = 0.04f,
     .repeat_penalty = 1},
    {.name = "all",
     .order = {"temperature", "top_k", "top_p", "min_p"},
     .temperature = 1.1f,
     .top_k = 20,
     .top_p = 0.95f,
     .min_p = 0.02f,
     .repeat_penalty = 1},
};

static void test_draws(void **state) {
  (void)state;
  struct support_rng rng = support_rng(21);
  static const enum row_shape shapes[] = {ROW_NORMAL, ROW_TIED, ROW_FLAT, ROW_BANNED};
  for (size_t d = 0; d < 2; d++) {
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
      struct experiment e;
      double expected[VOCAB];
      size_t observed[VOCAB];
      make(&e, &rng, d, shapes[i % 4]);
      e.set = sets[i];
      e.masked = i % 2;
      e.mask[0] = 0xdeadbeef;
      e.mask[1] = 0x5a5a;
      if (e.masked && shapes[i % 4] == ROW_BANNED)
        e.row[0] = 1; /* the mask allows token 0: something must be left */
      exact(&e, &e.set, expected);
      draw(&e, observed);
      double p = support_chi_square(observed, expected, VOCAB, draws());
      if (p < ACCEPT) fail_msg("%s, %s: p = %g", e.dialect, e.set.name, p);
    }
  }
}

/* The control: were the draws a little off, the test above would show it. */
static void test_control(void **state) {
  (void)state;
  struct support_rng rng = support_rng(22);
  for (size_t d = 0; d < 2; d++) {
    struct experiment e;
    double expected[VOCAB];
    size_t observed[VOCAB];
    make(&e, &rng, d, ROW_NORMAL);
    e.set = sets[0];
    draw(&e, observed);

    struct chain_params hotter = e.set;
    hotter.temperature = 1.03f;
    exact(&e, &hotter, expected);
    assert_true(support_chi_square(observed, expected, VOCAB, draws()) < REJECT);

    struct chain_params cut = e.set; /* a token of 2 % or so that should not be there */
    cut.order[0] = "top_k";
    cut.top_k = VOCAB / 4;
    exact(&e, &cut, expected);
    assert_true(support_chi_square(observed, expected, VOCAB, draws()) < REJECT);
  }
}

/* Another seed gives other draws, the same seed the same. */
static void test_seeds(void **state) {
  (void)state;
  struct support_rng rng = support_rng(23);
  struct experiment e;
  size_t first[VOCAB], again[VOCAB], other[VOCAB];
  make(&e, &rng, 0, ROW_NORMAL);
  e.set = sets[0];
  draw(&e, first);
  draw(&e, again);
  e.seed++;
  draw(&e, other);
  assert_memory_equal(first, again, sizeof first);
  assert_memory_not_equal(first, other, sizeof first);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_draws),
      cmocka_unit_test(test_control),
      cmocka_unit_test(test_seeds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
