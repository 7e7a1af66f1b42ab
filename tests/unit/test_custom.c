/* SPDX-License-Identifier: Apache-2.0 */
/* Custom stages: what they are shown, what is taken over from them, their state, and what is refused. */
#include "support.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "tombola/stage.h"
#include "tombola/tombola.h"

#define N 100

enum { LEAVE, ODD, NEGATE, NOTHING, TOO_MANY, BAD_ID, NOT_A_NUMBER, BAN, FAIL };

/* What the stage saw last, and what it shall do. */
struct probe {
  int calls, accepts;
  size_t count, n_history;
  struct tombola_candidate seen[N];
  tombola_token history[8];
  void *state;
  int does; /* one of the above */
};

static enum tombola_status probe_apply(void *context, void *state, struct tombola_stage_view *view) {
  struct probe *probe = context;
  probe->calls++;
  probe->state = state;
  probe->count = view->count;
  probe->n_history = view->n_history;
  assert_true(view->struct_size == sizeof *view && view->n_history <= 8);
  memcpy(probe->seen, view->candidates, view->count * sizeof *view->candidates);
  for (size_t i = 0; i < view->n_history; i++)
    probe->history[i] = view->history[i];
  size_t kept = 0;
  for (size_t i = 0; probe->does == ODD && i < view->count; i++)
    if (view->candidates[i].id % 2) view->candidates[kept++] = view->candidates[i];
  if (probe->does == ODD) view->count = kept;
  for (size_t i = 0; probe->does == NEGATE && i < view->count; i++)
    view->candidates[i].logit = -view->candidates[i].logit;
  if (probe->does == NOTHING) view->count = 0;
  if (probe->does == TOO_MANY) view->count++;
  if (probe->does == BAD_ID) view->candidates[0].id = N;
  if (probe->does == NOT_A_NUMBER) view->candidates[0].logit = NAN;
  if (probe->does == BAN) view->candidates[1].logit = -INFINITY;
  return probe->does == FAIL ? TOMBOLA_UNSUPPORTED : TOMBOLA_OK;
}

static void probe_accept(void *context, void *state, tombola_token token) {
  struct probe *probe = context;
  probe->accepts++;
  assert_true(token >= 0 && token < N);
  *(int *)state += token;
}

static struct tombola_custom_stage stage_of(struct probe *probe, const char *name) {
  return (struct tombola_custom_stage){.struct_size = sizeof(struct tombola_custom_stage),
                                       .name = name,
                                       .context = probe,
                                       .state_size = sizeof(int),
                                       .history = 3,
                                       .apply = probe_apply,
                                       .accept = probe_accept};
}

static enum tombola_status make(const struct tombola_custom_stage *const *stages, size_t n,
                                const char *const *order, size_t n_order, float temperature,
                                const struct tombola_allocator *allocator, tombola_sampler **out,
                                struct tombola_error *error) {
  struct tombola_sampler_params params = {.struct_size = sizeof params};
  assert_int_equal(tombola_sampler_params_default(&params, "llama.cpp", NULL), TOMBOLA_OK);
  params.temperature = temperature;
  params.samplers = order;
  params.n_samplers = n_order;
  params.custom_stages = stages;
  params.n_custom_stages = n;
  params.seed_mode = TOMBOLA_SEED_FIXED;
  params.top_k = 10;
  return tombola_sampler_new(&params, NULL, N, allocator, out, error);
}

static tombola_sampler *sampler_with(struct probe *probe, const char *const *order, size_t n_order,
                                     float temperature) {
  struct tombola_custom_stage stage = stage_of(probe, "probe");
  char name[] = "probe"; /* everything may go away once the sampler is made */
  stage.name = name;
  const struct tombola_custom_stage *stages[] = {&stage};
  tombola_sampler *sampler;
  assert_int_equal(make(stages, 1, order, n_order, temperature, NULL, &sampler, NULL), TOMBOLA_OK);
  memset(name, 'x', 5);
  memset(&stage, 0xA5, sizeof stage);
  return sampler;
}

static const char *const alone[] = {"probe"}, *const last[] = {"temperature", "top_k", "probe"};

static void make_row(float *row) {
  for (size_t i = 0; i < N; i++)
    row[i] = 0.1f * (float)((i * 37) % N);
}

static void test_view(void **state) {
  (void)state;
  struct probe probe = {0};
  float row[N], p[N];
  struct tombola_row r = {row, N, TOMBOLA_F32};
  make_row(row);
  row[7] = -INFINITY;
  for (int ranked = 0; ranked < 2; ranked++) {
    tombola_sampler *sampler = sampler_with(&probe, ranked ? last : alone, ranked ? 3 : 1, ranked ? 0.5f : 1);
    for (tombola_token t = 1; t <= 5; t++)
      assert_int_equal(tombola_sampler_accept(sampler, t), TOMBOLA_OK);
    assert_int_equal(tombola_distribution(sampler, &r, NULL, p, N), TOMBOLA_OK);
    assert_int_equal(probe.count, ranked ? 10 : N - 1);
    double sum = 0;
    for (size_t i = 0; i < probe.count; i++) {
      tombola_token id = probe.seen[i].id;
      assert_true(fabs((double)probe.seen[i].p - (double)p[id]) < 1e-6);
      assert_true(fabsf(probe.seen[i].logit - row[id] * (ranked ? 2.0f : 1.0f)) < 1e-5f);
      if (i) assert_true(ranked ? probe.seen[i - 1].logit >= probe.seen[i].logit : probe.seen[i - 1].id < id);
      sum += probe.seen[i].p;
    }
    assert_true(fabs(sum - 1) < 1e-6);
    assert_true(probe.n_history == 3 && probe.history[0] == 3 && probe.history[2] == 5);
    tombola_sampler_free(sampler);
  }
  assert_int_equal(probe.accepts, 10);
}

static void test_taken_over(void **state) {
  (void)state;
  struct probe probe = {.does = ODD};
  float row[N], p[N];
  struct tombola_row r = {row, N, TOMBOLA_F32};
  make_row(row);
  tombola_sampler *sampler = sampler_with(&probe, last, 3, 0.5f);
  assert_int_equal(tombola_distribution(sampler, &r, NULL, p, N), TOMBOLA_OK);
  for (size_t i = 0; i < N; i++)
    assert_true((p[i] > 0) == (i % 2 == 1 && row[i] > 8.95f));
  probe.does = NEGATE; /* the least of the ten becomes the best */
  assert_int_equal(tombola_distribution(sampler, &r, NULL, p, N), TOMBOLA_OK);
  double total = 0;
  for (size_t i = 0; i < N; i++)
    total += row[i] > 8.95f ? exp(-2 * (double)row[i]) : 0;
  for (size_t i = 0; i < N; i++)
    assert_true(fabs((double)p[i] - (row[i] > 8.95f ? exp(-2 * (double)row[i]) / total : 0)) < 1e-6);
  probe.does = BAN;
  assert_int_equal(tombola_distribution(sampler, &r, NULL, p, N), TOMBOLA_OK);
  assert_true(p[probe.seen[1].id] == 0 && p[probe.seen[0].id] > 0);
  tombola_sampler_free(sampler);
}

static void test_faults(void **state) {
  (void)state;
  static const struct {
    int does;
    enum tombola_status status;
  } faults[] = {{NOTHING, TOMBOLA_NO_CANDIDATE},
                {TOO_MANY, TOMBOLA_INVALID_ARGUMENT},
                {BAD_ID, TOMBOLA_INVALID_ARGUMENT},
                {NOT_A_NUMBER, TOMBOLA_NOT_FINITE},
                {FAIL, TOMBOLA_UNSUPPORTED}};
  float row[N];
  struct tombola_row r = {row, N, TOMBOLA_F32};
  make_row(row);
  for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
    struct probe probe = {.does = faults[i].does};
    tombola_sampler *sampler = sampler_with(&probe, alone, 1, 1);
    tombola_token token = 0;
    assert_int_equal(tombola_sampler_sample(sampler, &r, NULL, &token), faults[i].status);
    assert_true(token == TOMBOLA_NO_TOKEN && tombola_sampler_error(sampler)->message[0]);
    tombola_sampler_free(sampler);
  }
}

/* A snapshot goes back in it, a clone has its own, a reset forgets it. */
static void test_state(void **state) {
  (void)state;
  struct probe probe = {0};
  float row[N], p[N];
  struct tombola_row r = {row, N, TOMBOLA_F32};
  tombola_snapshot *snapshot;
  tombola_sampler *clone, *sampler = sampler_with(&probe, alone, 1, 1);
  make_row(row);
#define STATE(s) \
  (assert_int_equal(tombola_distribution((s), &r, NULL, p, N), TOMBOLA_OK), *(int *)probe.state)
  assert_int_equal(STATE(sampler), 0);
  tombola_sampler_accept(sampler, 5);
  assert_int_equal(tombola_snapshot_new(sampler, &snapshot), TOMBOLA_OK);
  assert_int_equal(tombola_sampler_clone(sampler, &clone), TOMBOLA_OK);
  tombola_sampler_accept(sampler, 7);
  assert_int_equal(STATE(sampler), 12);
  assert_int_equal(STATE(clone), 5);
  assert_int_equal(tombola_snapshot_restore(snapshot, sampler), TOMBOLA_OK);
  assert_int_equal(STATE(sampler), 5);
  tombola_sampler_reset(sampler);
  assert_int_equal(STATE(sampler), 0);
  tombola_snapshot_free(snapshot);
  tombola_sampler_free(clone);
  tombola_sampler_free(sampler);
}

static void test_refusals(void **state) {
  (void)state;
  static const char *const order[] = {"a", "top_k", "b"}, *const twice[] = {"a", "a"},
                           *const unknown[] = {"c"};
  struct probe probe = {0};
  struct tombola_error error = {0};
  tombola_sampler *sampler;
  struct tombola_custom_stage a = stage_of(&probe, "a"), b = stage_of(&probe, "b");
  const struct tombola_custom_stage *stages[] = {&a, &b};
  assert_int_equal(make(stages, 2, order, 3, 1, NULL, &sampler, NULL), TOMBOLA_OK);
  char text[128];
  tombola_sampler_describe(sampler, text, sizeof text);
  assert_string_equal(text, "logits -> ?logit_bias -> a -> top_k -> b -> draw");
  tombola_sampler_free(sampler);
  assert_int_equal(make(stages, 2, twice, 2, 1, NULL, &sampler, &error), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(make(stages, 2, unknown, 1, 1, NULL, &sampler, &error), TOMBOLA_NOT_FOUND);
  b.name = "top_p";
  assert_int_equal(make(stages, 2, order, 1, 1, NULL, &sampler, &error), TOMBOLA_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "'top_p'"));
  b.name = "";
  assert_int_equal(make(stages, 2, order, 1, 1, NULL, &sampler, &error), TOMBOLA_INVALID_ARGUMENT);
  b.name = "b";
  b.apply = NULL;
  assert_int_equal(make(stages, 2, order, 1, 1, NULL, &sampler, &error), TOMBOLA_INVALID_ARGUMENT);
  b = stage_of(&probe, "b");
  b.struct_size = 8;
  assert_int_equal(make(stages, 2, order, 1, 1, NULL, &sampler, &error), TOMBOLA_INVALID_ARGUMENT);
  assert_string_equal(error.param, "custom_stages");
}

/* Greedy skips what follows the temperature, but not the caller's stages, which may forbid tokens. */
static void test_greedy(void **state) {
  (void)state;
  static const char *const order[] = {"temperature", "probe"};
  static const float row[N] = {[4] = 2, [7] = 1};
  const struct tombola_row r = {row, N, TOMBOLA_F32};
  struct probe probe = {.does = ODD};
  tombola_sampler *sampler = sampler_with(&probe, order, 2, 0);
  tombola_token token;
  assert_int_equal(tombola_sampler_sample(sampler, &r, NULL, &token), TOMBOLA_OK);
  assert_int_equal(token, 7);
  assert_int_equal(probe.calls, 1);
  tombola_sampler_free(sampler);
}

static void test_state_size(void **state) {
  (void)state;
  struct probe probe = {0};
  struct tombola_custom_stage a = stage_of(&probe, "a");
  const struct tombola_custom_stage *stages[] = {&a};
  static const char *const order[] = {"a"};
  tombola_sampler *sampler;
  struct tombola_error error = {0};
  a.state_size = SIZE_MAX;
  assert_int_equal(make(stages, 1, order, 1, 1, NULL, &sampler, &error), TOMBOLA_INVALID_ARGUMENT);
  assert_string_equal(error.param, "custom_stages");
}

static void test_no_memory(void **state) {
  (void)state;
  struct probe probe = {0};
  struct tombola_custom_stage a = stage_of(&probe, "a");
  const struct tombola_custom_stage *stages[] = {&a};
  static const char *const order[] = {"a"};
  for (size_t n = 1;; n++) {
    struct support_allocator allocator = support_allocator(n);
    tombola_sampler *sampler;
    enum tombola_status status =
        make(stages, 1, order, 1, 1, support_allocator_use(&allocator), &sampler, NULL);
    bool done = allocator.requests < n;
    assert_int_equal(status, done ? TOMBOLA_OK : TOMBOLA_NO_MEMORY);
    tombola_sampler_free(sampler);
    support_allocator_check(&allocator);
    if (done) break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_view),   cmocka_unit_test(test_taken_over), cmocka_unit_test(test_faults),
      cmocka_unit_test(test_state),  cmocka_unit_test(test_refusals),   cmocka_unit_test(test_no_memory),
      cmocka_unit_test(test_greedy), cmocka_unit_test(test_state_size),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
