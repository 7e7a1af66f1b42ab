/* SPDX-License-Identifier: Apache-2.0 */
/* Traces: what each stage left against a plain count over the row, where tokens stood and what took them out,
 * the draw's place, and that a trace changes nothing. */
#include "support.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "tombola/tombola.h"

#define MOST 3000

static struct tombola_sampler_params params_of(const char *dialect) {
  struct tombola_sampler_params params = {.struct_size = sizeof params};
  assert_int_equal(tombola_sampler_params_default(&params, dialect, NULL), TOMBOLA_OK);
  params.seed_mode = TOMBOLA_SEED_FIXED;
  params.seed = 42;
  return params;
}

static tombola_sampler *make(const struct tombola_sampler_params *params, size_t n, tombola_trace **trace) {
  tombola_sampler *sampler = NULL;
  struct tombola_error error = {0};
  if (tombola_sampler_new(params, NULL, n, NULL, &sampler, &error)) fail_msg("%s", error.message);
  if (trace) assert_int_equal(tombola_trace_new(sampler, trace), TOMBOLA_OK);
  return sampler;
}

static const struct tombola_trace_step *step(const tombola_trace *trace, const char *name) {
  for (size_t i = 0; i < tombola_trace_count(trace); i++)
    if (!strcmp(tombola_trace_step(trace, i)->name, name)) return tombola_trace_step(trace, i);
  fail_msg("no step %s", name);
  return NULL;
}

/* ---- one row worked out by hand ---- */

/* Probabilities 1/2, 1/4, 1/8, 1/16, 1/16 by logits that are multiples of ln 2; a mask forbids token 5. */
static const float ln2 = 0.69314718f;

static void check_places(const tombola_trace *trace) {
  struct tombola_trace_place place;
  assert_int_equal(tombola_trace_find(trace, 0, 0, &place), TOMBOLA_OK);
  assert_true(place.there && place.rank == 2 && fabs(place.p - 0.125) < 1e-6 && place.logit == 2 * ln2);
  assert_int_equal(tombola_trace_find(trace, 3, 3, &place), TOMBOLA_OK);
  assert_true(place.there && place.rank == 1 && fabs(place.p - 0.2) < 1e-6);
  assert_int_equal(tombola_trace_find(trace, 2, 0, &place), TOMBOLA_OK);
  assert_true(!place.there && place.p == 0);
  assert_int_equal(tombola_trace_find(trace, 0, 4, &place), TOMBOLA_OK);
  assert_true(place.rank == 4); /* token 2 has the same logit and goes first */
  assert_int_equal(tombola_trace_find(trace, 4, 0, &place), TOMBOLA_OUT_OF_RANGE);
  assert_int_equal(tombola_trace_find(trace, 0, 6, &place), TOMBOLA_OUT_OF_RANGE);
  static const size_t removed[] = {2, 4, 2, 4, 1, 0};
  for (tombola_token i = 0; i < 6; i++)
    assert_int_equal(tombola_trace_removed(trace, i), removed[i]);
}

static void test_by_hand(void **state) {
  (void)state;
  static const char *const order[] = {"top_k", "top_p", "temperature"};
  const float row[] = {2 * ln2, 4 * ln2, ln2, 3 * ln2, ln2, 9};
  const uint32_t words = 0x1F;
  struct tombola_row r = {row, 6, TOMBOLA_F32};
  struct tombola_mask mask = {&words, 6, NULL, 0};
  struct tombola_sampler_params params = params_of("llama.cpp");
  params.samplers = order;
  params.n_samplers = 3;
  params.top_k = 4;
  params.top_p = 0.75f;
  params.temperature = 0.5f;
  tombola_trace *trace;
  tombola_sampler *s = make(&params, 6, &trace);
  tombola_token token;
  assert_int_equal(tombola_sampler_trace(s, &r, &mask, trace, &token), TOMBOLA_OK);
  assert_int_equal(tombola_trace_count(trace), 4);
  assert_null(tombola_trace_step(trace, 4));

  const struct tombola_trace_step *t = tombola_trace_step(trace, 0);
  assert_string_equal(t->name, "row");
  assert_int_equal(t->after.count, 5);
  assert_true(t->after.share == 1 && t->after.least == ln2);
  t = step(trace, "top_k");
  assert_int_equal(t->before.count, 5);
  assert_int_equal(t->after.count, 4);
  assert_true(fabs(t->after.share - 15.0 / 16) < 1e-6 && fabs(t->kept - 15.0 / 16) < 1e-6);
  t = step(trace, "top_p"); /* of the four 8/15, 4/15: 12/15 reach 0.75 */
  assert_int_equal(t->after.count, 2);
  assert_true(t->after.least == 3 * ln2);
  assert_true(fabs(t->after.share - 0.75) < 1e-6 && fabs(t->kept - 0.8) < 1e-6);
  assert_true(t->before.share == tombola_trace_step(trace, 1)->after.share);
  t = step(trace, "temperature");
  assert_true(t->kept == 1 && t->after.count == 2 && t->after.least == 6 * ln2);

  check_places(trace);

  const struct tombola_trace_draw *draw = tombola_trace_draw(trace);
  assert_int_equal(draw->token, token);
  assert_true(draw->rule == TOMBOLA_DRAW_CDF && !draw->greedy && draw->has_uniform);
  assert_true(fabs(draw->uniform - 0.796542984287846) < 1e-15); /* the first of mt19937(42) */
  assert_int_equal(token, 1);                                   /* its part ends at 0.8 */
  assert_true(draw->low == 0 && fabs(draw->high - 0.8) < 1e-6 && draw->place == 0 && draw->count == 2);
  tombola_trace_free(trace);
  tombola_sampler_free(s);
}

/* ---- random rows, every dialect and rule ---- */

static bool set_up(struct tombola_sampler_params *params, struct support_rng *rng, size_t round) {
  *params = params_of(tombola_dialect_at(round % tombola_dialect_count())->name);
  static const char *const settings[][2] = {
      {"top_k", "50"},      {"top_p", "0.8"},           {"min_p", "0.1"},          {"temperature", "1.3"},
      {"temperature", "0"}, {"xtc_probability", "0.5"}, {"repeat_penalty", "2"},   {"mirostat", "2"},
      {"draw", "gumbel"},   {"draw", "rejection"},      {"adaptive_target", "0.5"}};
  for (size_t i = 0; i < 4; i++) {
    const char *const *set = settings[support_below(rng, sizeof settings / sizeof *settings)];
    tombola_sampler_params_set(params, set[0], set[1], NULL); /* a dialect may refuse one */
  }
  tombola_sampler *probe = NULL;
  bool fine = tombola_sampler_new(params, NULL, 8, NULL, &probe, NULL) == TOMBOLA_OK;
  tombola_sampler_free(probe);
  return fine;
}

static void check_steps(const tombola_trace *trace) {
  size_t n = tombola_trace_count(trace);
  for (size_t i = 0; i < n; i++) {
    const struct tombola_trace_step *t = tombola_trace_step(trace, i);
    assert_true(t->after.count >= 1 && t->after.count <= t->before.count);
    assert_true(t->kept > 0 && t->kept <= 1 && t->after.share <= t->before.share + 1e-9);
    if (t->after.count == t->before.count) assert_true(t->kept == 1);
    if (i) assert_int_equal(t->before.count, tombola_trace_step(trace, i - 1)->after.count);
  }
}

/* The last step is what the sampler says it draws from, and the draw lies where the uniform points. */
static void check_end(const struct tombola_row *row, const tombola_trace *trace, const float *probs,
                      tombola_token token) {
  const struct tombola_trace_draw *draw = tombola_trace_draw(trace);
  size_t last = tombola_trace_count(trace) - 1, left = 0;
  for (size_t i = 0; i < row->count; i++) {
    struct tombola_trace_place place;
    if (i % 7 && (tombola_token)i != token && row->count > 200) continue; /* ranks cost a walk each */
    assert_int_equal(tombola_trace_find(trace, last, (tombola_token)i, &place), TOMBOLA_OK);
    assert_true(fabs(place.p - (double)probs[i]) < 2e-6);
    assert_int_equal(place.there, tombola_trace_removed(trace, (tombola_token)i) > last);
    left += place.there != 0;
  }
  assert_true(left >= 1);
  assert_int_equal(draw->token, token);
  assert_int_equal(draw->count, tombola_trace_step(trace, last)->after.count);
  assert_true(fabs(draw->high - draw->low - (double)probs[token]) < 2e-6);
  if (draw->has_uniform && !draw->greedy)
    assert_true(draw->low - 1e-6 <= draw->uniform && draw->uniform <= draw->high + 1e-6);
}

static void test_random(void **state) {
  (void)state;
  struct support_rng rng = support_rng(77);
  static float row[MOST], probs[MOST];
  size_t done = 0;
  for (size_t round = 0; round < 400; round++) {
    struct tombola_sampler_params params;
    if (!set_up(&params, &rng, round)) continue;
    size_t n = 1 + support_below(&rng, support_below(&rng, 2) ? 100 : MOST);
    tombola_trace *trace;
    tombola_sampler *traced = make(&params, n, &trace), *plain = make(&params, n, NULL);
    for (size_t k = 0; k < 5; k++) {
      for (size_t i = 0; i < n; i++)
        row[i] = support_below(&rng, 20) ? support_normal(&rng, 0, 3) : i ? -INFINITY : 0;
      struct tombola_row r = {row, n, TOMBOLA_F32};
      tombola_token a, b;
      assert_int_equal(tombola_distribution(plain, &r, NULL, probs, n), TOMBOLA_OK);
      assert_int_equal(tombola_sampler_trace(traced, &r, NULL, trace, &a), TOMBOLA_OK);
      assert_int_equal(tombola_sampler_sample(plain, &r, NULL, &b), TOMBOLA_OK);
      assert_int_equal(a, b);
      assert_int_equal(tombola_sampler_accept(traced, a), TOMBOLA_OK);
      assert_int_equal(tombola_sampler_accept(plain, a), TOMBOLA_OK);
      check_steps(trace);
      check_end(&r, trace, probs, a);
      done++;
    }
    tombola_trace_free(trace);
    tombola_sampler_free(traced);
    tombola_sampler_free(plain);
  }
  assert_true(done > 500);
}

/* ---- what fails, and what it costs ---- */

static void test_failures(void **state) {
  (void)state;
  struct tombola_sampler_params params = params_of("llama.cpp");
  tombola_trace *trace, *foreign;
  tombola_sampler *s = make(&params, 4, &trace), *other = make(&params, 4, &foreign), *clone = NULL;
  const float good[] = {1, 2, 3, 4}, nan[] = {1, NAN, 3, 4},
              none[] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
  struct tombola_row r = {good, 4, TOMBOLA_F32};
  tombola_token token, fresh;
  assert_int_equal(tombola_sampler_trace(s, &r, NULL, foreign, &token), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_sampler_error(s)->status, TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_sampler_trace(s, NULL, NULL, trace, &token), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_trace_count(trace), 0);
  r.data = nan;
  assert_int_equal(tombola_sampler_trace(s, &r, NULL, trace, &token), TOMBOLA_NOT_FINITE);
  assert_null(tombola_trace_draw(trace));
  r.data = none;
  assert_int_equal(tombola_sampler_trace(s, &r, NULL, trace, &token), TOMBOLA_NO_CANDIDATE);
  assert_int_equal(token, TOMBOLA_NO_TOKEN);
  assert_int_equal(tombola_trace_step(trace, 0)->after.count, 0);
  r.data = good; /* none of that used up a random number, and a clone may use the trace */
  assert_int_equal(tombola_sampler_clone(s, &clone), TOMBOLA_OK);
  assert_int_equal(tombola_sampler_trace(clone, &r, NULL, trace, &token), TOMBOLA_OK);
  assert_int_equal(tombola_sampler_sample(other, &r, NULL, &fresh), TOMBOLA_OK);
  assert_int_equal(token, fresh);
  tombola_sampler_free(s);
  tombola_sampler_free(clone);
  tombola_sampler_free(other);
  assert_string_equal(tombola_trace_step(trace, 0)->name, "row"); /* it outlives its sampler */
  tombola_trace_free(trace);
  tombola_trace_free(foreign);
  tombola_trace_free(NULL);
}

static void test_no_memory(void **state) {
  (void)state;
  struct tombola_sampler_params params = params_of("llama.cpp");
  for (size_t n = 1;; n++) {
    struct support_allocator a = support_allocator(0);
    tombola_sampler *s = NULL;
    tombola_trace *trace = NULL;
    assert_int_equal(tombola_sampler_new(&params, NULL, 100, support_allocator_use(&a), &s, NULL),
                     TOMBOLA_OK);
    size_t before = a.requests;
    a.fail_at = before + n;
    enum tombola_status status = tombola_trace_new(s, &trace);
    bool failed = a.requests >= a.fail_at;
    assert_int_equal(status, failed ? TOMBOLA_NO_MEMORY : TOMBOLA_OK);
    tombola_trace_free(trace);
    tombola_sampler_free(s);
    support_allocator_check(&a);
    if (!failed) break;
  }
}

/* The draw walks what the last stage left, in no order; the trace and the candidates show that walk. */
static void test_walk_after_shaping(void **state) {
  (void)state;
  enum { N = 40 };
  float row[N];
  struct support_rng rng = support_rng(79);
  for (size_t i = 0; i < N; i++)
    row[i] = support_normal(&rng, 0, 2);
  struct tombola_row r = {row, N, TOMBOLA_F32};
  struct tombola_sampler_params params = params_of("llama.cpp");
  params.dynatemp_range = 0.5f;
  params.adaptive_target = 0.1f;
  params.top_k = 0, params.top_p = 1, params.min_p = 0; /* dense to the end */
  tombola_trace *trace;
  tombola_sampler *s = make(&params, N, &trace);
  for (int i = 0; i < 200; i++) {
    struct tombola_candidate c[N];
    size_t count;
    tombola_token token;
    assert_int_equal(tombola_candidates(s, &r, NULL, c, N, &count), TOMBOLA_OK);
    assert_int_equal(tombola_sampler_trace(s, &r, NULL, trace, &token), TOMBOLA_OK);
    const struct tombola_trace_draw *draw = tombola_trace_draw(trace);
    assert_non_null(draw);
    assert_true(draw->uniform > draw->low - 1e-6 && draw->uniform < draw->high + 1e-6);
    assert_true(draw->count == count && c[draw->place].id == token);
    assert_int_equal(tombola_sampler_accept(s, token), TOMBOLA_OK);
  }
  tombola_trace_free(trace);
  tombola_sampler_free(s);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double fastest(tombola_sampler *s, const struct tombola_row *row) {
  double best = HUGE_VAL;
  for (int i = 0; i < 200; i++) {
    tombola_token token;
    double start = now();
    for (int k = 0; k < 20; k++)
      assert_int_equal(tombola_sampler_sample(s, row, NULL, &token), TOMBOLA_OK);
    double took = now() - start;
    best = took < best ? took : best;
  }
  return best;
}

/* A sampler that has been traced samples as fast as one that never was: nothing of it stays on. The bound is
 * wide, because others use the machine; a trace itself costs many times a sample. */
static void test_off_costs_nothing(void **state) {
  (void)state;
  static float row[MOST];
  struct support_rng rng = support_rng(78);
  for (size_t i = 0; i < MOST; i++)
    row[i] = support_normal(&rng, 0, 3);
  struct tombola_row r = {row, MOST, TOMBOLA_F32};
  struct tombola_sampler_params params = params_of("llama.cpp");
  tombola_trace *trace;
  tombola_sampler *traced = make(&params, MOST, &trace), *plain = make(&params, MOST, NULL);
  tombola_token token;
  assert_int_equal(tombola_sampler_trace(traced, &r, NULL, trace, &token), TOMBOLA_OK);
  size_t before = tombola_trace_count(trace);
  double never = fastest(plain, &r), after = fastest(traced, &r);
  print_message("20 samples: %.2f us untraced, %.2f us after a trace\n", 1e6 * never, 1e6 * after);
  assert_int_equal(tombola_trace_count(trace), before);
  assert_true(after < 1.5 * never);
  tombola_trace_free(trace);
  tombola_sampler_free(traced);
  tombola_sampler_free(plain);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_by_hand),           cmocka_unit_test(test_random),
      cmocka_unit_test(test_failures),          cmocka_unit_test(test_no_memory),
      cmocka_unit_test(test_off_costs_nothing), cmocka_unit_test(test_walk_after_shaping),
  };
  return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}
