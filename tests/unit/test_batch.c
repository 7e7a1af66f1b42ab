/* SPDX-License-Identifier: Apache-2.0 */
/* A batch gives each row the token that it would have alone: in any order, in any company, on any number of
 * threads, with shared plans, seeds and requests of its own. */
#include <pthread.h>

#include "draw_support.h"

#define ROWS  24
#define VOCAB 500
#define STEPS 12

static float logits[STEPS][ROWS][VOCAB];
static uint32_t mask_words[(VOCAB + 31) / 32];
static const struct tombola_mask mask = {mask_words, VOCAB, NULL, 0};

static int make_rows(void **state) {
  (void)state;
  struct support_rng rng = support_rng(81);
  for (size_t s = 0; s < STEPS; s++)
    for (size_t r = 0; r < ROWS; r++)
      for (size_t i = 0; i < VOCAB; i++)
        logits[s][r][i] = support_normal(&rng, 0, 3);
  for (size_t i = 0; i < sizeof mask_words / sizeof *mask_words; i++)
    mask_words[i] = support_u32(&rng) | 1;
  return 0;
}

/* The parameters of row r: five kinds; rows of a kind share a plan. */
static struct tombola_sampler_params params_of(size_t r) {
  struct tombola_sampler_params params = plain_params();
  static const enum tombola_draw_rule rules[] = {TOMBOLA_DRAW_CDF, TOMBOLA_DRAW_GUMBEL,
                                                 TOMBOLA_DRAW_REJECTION, TOMBOLA_DRAW_CDF, TOMBOLA_DRAW_CDF};
  params.draw = rules[r % 5];
  params.top_p = r % 5 == 3 ? 1 : 0.9f;
  params.top_k = r % 5 == 0 ? 40 : 0;
  params.repeat_penalty = r % 5 == 4 ? 1.2f : 1;
  params.temperature = r % 5 == 3 ? 0 : 0.8f;
  return params;
}

static void make_samplers(tombola_sampler **samplers) {
  for (size_t r = 0; r < ROWS; r++) {
    struct tombola_sampler_params params = params_of(r);
    if (r < 5)
      samplers[r] = make_sampler(&params, VOCAB);
    else
      assert_int_equal(tombola_sampler_clone(samplers[r % 5], &samplers[r]), TOMBOLA_OK);
    assert_ptr_equal(samplers[r]->plan, samplers[r % 5]->plan);
  }
  for (size_t r = 0; r < ROWS; r++)
    assert_int_equal(tombola_sampler_set_seed(samplers[r], 1000 + r), TOMBOLA_OK);
}

static void free_samplers(tombola_sampler **samplers) {
  for (size_t r = 0; r < ROWS; r++)
    tombola_sampler_free(samplers[r]);
}

static struct tombola_batch_row batch_row(tombola_sampler *sampler, size_t step, size_t r) {
  return (struct tombola_batch_row){
      .sampler = sampler, .row = {logits[step][r], VOCAB, TOMBOLA_F32}, .mask = r % 3 ? NULL : &mask};
}

/* What each row gives alone, with a sampler made from scratch. */
static void alone(tombola_token tokens[STEPS][ROWS]) {
  for (size_t r = 0; r < ROWS; r++) {
    struct tombola_sampler_params params = params_of(r);
    params.seed = 1000 + r;
    tombola_sampler *sampler = make_sampler(&params, VOCAB);
    for (size_t s = 0; s < STEPS; s++) {
      struct tombola_batch_row b = batch_row(sampler, s, r);
      assert_int_equal(tombola_sampler_sample(sampler, &b.row, b.mask, &tokens[s][r]), TOMBOLA_OK);
      assert_int_equal(tombola_sampler_accept(sampler, tokens[s][r]), TOMBOLA_OK);
    }
    tombola_sampler_free(sampler);
  }
}

static tombola_token wanted[STEPS][ROWS];

static void in_any_order(void **state) {
  (void)state;
  struct support_rng rng = support_rng(82);
  alone(wanted);
  for (int trial = 0; trial < 20; trial++) {
    tombola_sampler *samplers[ROWS];
    make_samplers(samplers);
    for (size_t s = 0; s < STEPS; s++) {
      size_t order[ROWS];
      for (size_t i = 0; i < ROWS; i++) { /* a permutation, another one each step */
        size_t j = support_below(&rng, i + 1);
        order[i] = order[j];
        order[j] = i;
      }
      struct tombola_batch_row rows[ROWS];
      size_t cut = support_below(&rng, ROWS + 1); /* in two batches */
      for (size_t i = 0; i < ROWS; i++)
        rows[i] = batch_row(samplers[order[i]], s, order[i]);
      assert_int_equal(tombola_sample_batch(rows, cut), TOMBOLA_OK);
      assert_int_equal(tombola_sample_batch(rows + cut, ROWS - cut), TOMBOLA_OK);
      for (size_t i = 0; i < ROWS; i++) {
        assert_int_equal(rows[i].token, wanted[s][order[i]]);
        assert_int_equal(tombola_sampler_accept(samplers[order[i]], rows[i].token), TOMBOLA_OK);
      }
    }
    free_samplers(samplers);
  }
}

/* ---- threads ---- */

struct part {
  tombola_sampler **samplers;
  size_t first, last;
  tombola_token tokens[STEPS][ROWS];
};

static void *run_part(void *context) {
  struct part *part = context;
  for (size_t s = 0; s < STEPS; s++) {
    struct tombola_batch_row rows[ROWS];
    size_t n = 0;
    for (size_t r = part->first; r < part->last; r++)
      rows[n++] = batch_row(part->samplers[r], s, r);
    tombola_sample_batch(rows, n);
    for (size_t i = 0; i < n; i++) {
      part->tokens[s][part->first + i] = rows[i].token;
      tombola_sampler_accept(part->samplers[part->first + i], rows[i].token);
    }
  }
  return NULL;
}

static void on_any_threads(void **state) {
  (void)state;
  alone(wanted);
  static struct part parts[8];
  for (size_t n = 1; n <= 8; n++) {
    tombola_sampler *samplers[ROWS];
    pthread_t threads[8];
    make_samplers(samplers);
    for (size_t t = 0; t < n; t++) {
      parts[t] = (struct part){.samplers = samplers, .first = ROWS * t / n, .last = ROWS * (t + 1) / n};
      assert_int_equal(pthread_create(&threads[t], NULL, run_part, &parts[t]), 0);
    }
    for (size_t t = 0; t < n; t++)
      assert_int_equal(pthread_join(threads[t], NULL), 0);
    for (size_t t = 0; t < n; t++)
      for (size_t s = 0; s < STEPS; s++)
        for (size_t r = parts[t].first; r < parts[t].last; r++)
          assert_int_equal(parts[t].tokens[s][r], wanted[s][r]);
    free_samplers(samplers);
  }
}

/* ---- failures ---- */

static void a_bad_row_is_alone(void **state) {
  (void)state;
  tombola_sampler *samplers[ROWS];
  alone(wanted);
  make_samplers(samplers);
  struct tombola_batch_row rows[ROWS];
  for (size_t r = 0; r < ROWS; r++)
    rows[r] = batch_row(samplers[r], 0, r);
  static float nans[VOCAB];
  for (size_t i = 0; i < VOCAB; i++)
    nans[i] = NAN;
  rows[7].row.data = nans;
  rows[9].row.count = 3;
  assert_int_equal(tombola_sample_batch(rows, ROWS), TOMBOLA_NOT_FINITE);
  for (size_t r = 0; r < ROWS; r++) {
    bool bad = r == 7 || r == 9;
    assert_int_equal(rows[r].token, bad ? TOMBOLA_NO_TOKEN : wanted[0][r]);
    if (r == 9) assert_int_equal(rows[r].status, TOMBOLA_INVALID_ARGUMENT);
    if (!bad) assert_int_equal(rows[r].status, TOMBOLA_OK);
  }
  free_samplers(samplers);
}

/* A sampler twice would make the order matter: nothing is sampled, and no random number used. */
static void a_sampler_twice(void **state) {
  (void)state;
  tombola_sampler *samplers[ROWS];
  alone(wanted);
  make_samplers(samplers);
  struct tombola_batch_row rows[3] = {batch_row(samplers[0], 0, 0), batch_row(samplers[1], 0, 1),
                                      batch_row(samplers[0], 0, 0)};
  for (int trial = 0; trial < 2; trial++) {
    assert_int_equal(tombola_sample_batch(rows, 3), TOMBOLA_INVALID_ARGUMENT);
    assert_int_equal(rows[1].token, TOMBOLA_NO_TOKEN);
  }
  rows[2].sampler = NULL;
  assert_int_equal(tombola_sample_batch(rows, 3), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_sample_batch(rows, 2), TOMBOLA_OK);
  assert_int_equal(rows[0].token, wanted[0][0]);
  assert_int_equal(rows[1].token, wanted[0][1]);
  assert_int_equal(tombola_sample_batch(NULL, 0), TOMBOLA_OK);
  free_samplers(samplers);
}

/* ---- seeds and requests ---- */

static void seeds_and_requests(void **state) {
  (void)state;
  struct tombola_sampler_params params = plain_params();
  params.seed = 5;
  tombola_sampler *sampler = make_sampler(&params, VOCAB);
  assert_int_equal(tombola_sampler_set_seed(sampler, UINT64_C(1) << 32), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_sampler_seed(sampler), 5);
  assert_int_equal(tombola_sampler_set_request(sampler, 1), TOMBOLA_UNSUPPORTED);
  assert_int_equal(tombola_sampler_set_request(sampler, 0), TOMBOLA_OK);

  struct tombola__dialect dialect = *sampler->plan->dialect;
  replace_dialect(sampler, &dialect, &tombola__counter);
  tombola_token streams[3][STEPS];
  for (uint32_t request = 0; request < 3; request++) {
    assert_int_equal(tombola_sampler_set_request(sampler, request), TOMBOLA_OK);
    for (size_t s = 0; s < STEPS; s++) {
      struct tombola_batch_row b = batch_row(sampler, s, 1);
      assert_int_equal(tombola_sampler_sample(sampler, &b.row, NULL, &streams[request][s]), TOMBOLA_OK);
    }
  }
  assert_memory_not_equal(streams[0], streams[1], sizeof streams[0]);
  assert_memory_not_equal(streams[1], streams[2], sizeof streams[0]);
  tombola_sampler_reset(sampler); /* request 2 again */
  for (size_t s = 0; s < STEPS; s++) {
    struct tombola_batch_row b = batch_row(sampler, s, 1);
    tombola_token token;
    assert_int_equal(tombola_sampler_sample(sampler, &b.row, NULL, &token), TOMBOLA_OK);
    assert_int_equal(token, streams[2][s]);
  }
  tombola_sampler_free(sampler);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(in_any_order),       cmocka_unit_test(on_any_threads),
      cmocka_unit_test(a_bad_row_is_alone), cmocka_unit_test(a_sampler_twice),
      cmocka_unit_test(seeds_and_requests),
  };
  return cmocka_run_group_tests(tests, make_rows, NULL);
}
