/* SPDX-License-Identifier: Apache-2.0 */
/* Memory: no allocation once a sampler is warm, neither through its allocator nor around it (malloc is
 * wrapped by the linker), and a status, never a crash or a leak, when the n-th allocation fails. */
#include <string.h>

#include "random_rows.h"
#include "support.h"

#define VOCAB 1500

static size_t mallocs;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

void *__wrap_malloc(size_t size) {
  mallocs++;
  return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
  mallocs++;
  return __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size) {
  mallocs++;
  return __real_realloc(memory, size);
}

static float rows[ROW_SHAPES][VOCAB];

static int make_rows(void **state) {
  (void)state;
  struct support_rng rng = support_rng(31);
  for (size_t i = 0; i < ROW_SHAPES; i++)
    random_row(&rng, (enum row_shape)i, rows[i], VOCAB);
  return 0;
}

static tombola_sampler *make(size_t set_index, const char *dialect, const struct tombola_allocator *allocator,
                             enum tombola_status *status) {
  struct chain_params set = parameter_set_for(set_index, VOCAB);
  struct tombola_sampler_params params = library_params(&set, dialect, 7);
  tombola_sampler *sampler = NULL;
  *status = tombola_sampler_new(&params, NULL, VOCAB, allocator, &sampler, NULL);
  if (*status != TOMBOLA_OK) assert_null(sampler);
  return sampler;
}

/* A token from a row, accepted; with the looks that a caller can take. */
static void step(tombola_sampler *sampler, size_t i, tombola_snapshot *snapshot) {
  static float probs[VOCAB];
  static struct tombola_candidate kept[VOCAB];
  struct tombola_row row = {rows[i % ROW_SHAPES], VOCAB, TOMBOLA_F32};
  tombola_token token;
  size_t count;
  assert_int_equal(tombola_distribution(sampler, &row, NULL, probs, VOCAB), TOMBOLA_OK);
  assert_int_equal(tombola_candidates(sampler, &row, NULL, kept, VOCAB, &count), TOMBOLA_OK);
  assert_int_equal(tombola_sampler_sample(sampler, &row, NULL, &token), TOMBOLA_OK);
  assert_int_equal(tombola_sampler_accept(sampler, token), TOMBOLA_OK);
  assert_int_equal(tombola_snapshot_take(snapshot, sampler), TOMBOLA_OK);
  assert_int_equal(tombola_snapshot_restore(snapshot, sampler), TOMBOLA_OK);
}

static void warm_sampler(size_t set, const struct tombola_allocator *allocator, const size_t *count) {
  enum tombola_status status;
  tombola_snapshot *snapshot = NULL;
  tombola_sampler *sampler = make(set, "llama.cpp", allocator, &status);
  assert_int_equal(status, TOMBOLA_OK);
  assert_int_equal(tombola_snapshot_new(sampler, &snapshot), TOMBOLA_OK);
  for (size_t i = 0; i < 12 * ROW_SHAPES; i++)
    step(sampler, i, snapshot);
  size_t before = *count;
  for (size_t i = 0; i < 200; i++)
    step(sampler, i, snapshot);
  if (*count != before)
    fail_msg("%s: %zu allocations after the warm-up", parameter_sets[set].name, *count - before);
  tombola_snapshot_free(snapshot);
  tombola_sampler_free(sampler);
}

static void test_warm(void **state) {
  (void)state;
  for (size_t set = 0; set < parameter_set_count; set++) {
    struct support_allocator a = support_allocator(0);
    warm_sampler(set, support_allocator_use(&a), &a.requests);
    support_allocator_check(&a);
    warm_sampler(set, NULL, &mallocs);
  }
}

/* With an allocator of one's own nothing comes from malloc but what that allocator takes there. */
static void test_only_the_allocator(void **state) {
  (void)state;
  for (size_t set = 0; set < parameter_set_count; set++) {
    struct support_allocator a = support_allocator(0);
    size_t before = mallocs;
    warm_sampler(set, support_allocator_use(&a), &a.requests);
    assert_int_equal(mallocs - before, a.requests);
  }
}

static void test_new_fails(void **state) {
  (void)state;
  for (size_t set = 0; set < parameter_set_count; set++) {
    size_t n = 1;
    for (;; n++) {
      enum tombola_status status;
      struct support_allocator a = support_allocator(n);
      tombola_sampler *sampler = make(set, "llama.cpp", support_allocator_use(&a), &status);
      bool reached = a.requests >= n;
      assert_int_equal(status, reached ? TOMBOLA_NO_MEMORY : TOMBOLA_OK);
      tombola_sampler_free(sampler);
      support_allocator_check(&a);
      if (!reached) break;
    }
    assert_true(n > 3);
  }
}

/* A sampler with some history, in an allocator that will fail at the n-th request from now. */
static tombola_sampler *warm_up(struct support_allocator *a, size_t set) {
  enum tombola_status status;
  tombola_sampler *sampler = make(set, "rml", support_allocator_use(a), &status);
  if (status != TOMBOLA_OK) return NULL; /* a set that this dialect refuses */
  for (tombola_token i = 0; i < 40; i++)
    assert_int_equal(tombola_sampler_accept(sampler, i), TOMBOLA_OK);
  return sampler;
}

static enum tombola_status copy(const tombola_sampler *sampler, bool clone) {
  tombola_sampler *second = NULL;
  tombola_snapshot *snapshot = NULL;
  enum tombola_status status =
      clone ? tombola_sampler_clone(sampler, &second) : tombola_snapshot_new(sampler, &snapshot);
  if (status != TOMBOLA_OK) {
    assert_null(second);
    assert_null(snapshot);
  }
  tombola_sampler_free(second);
  tombola_snapshot_free(snapshot);
  return status;
}

static void sweep_copies(size_t set, bool clone) {
  for (size_t n = 1;; n++) {
    struct support_allocator a = support_allocator(0);
    tombola_sampler *sampler = warm_up(&a, set);
    if (!sampler) return;
    a.fail_at = a.requests + n;
    enum tombola_status status = copy(sampler, clone);
    bool reached = a.requests >= a.fail_at;
    assert_int_equal(status, reached ? TOMBOLA_NO_MEMORY : TOMBOLA_OK);
    tombola_sampler_free(sampler);
    support_allocator_check(&a);
    if (!reached) break;
  }
}

static void test_copies_fail(void **state) {
  (void)state;
  for (size_t set = 0; set < parameter_set_count; set++) {
    sweep_copies(set, true);
    sweep_copies(set, false);
  }
}

/* A failed call uses no random number: the next one draws what an undisturbed sampler draws. */
static void sweep_sample(size_t set, size_t shape) {
  struct tombola_row row = {rows[shape], VOCAB, TOMBOLA_F32};
  enum tombola_status status;
  tombola_token expected;
  tombola_sampler *undisturbed = make(set, "llama.cpp", NULL, &status);
  assert_int_equal(tombola_sampler_sample(undisturbed, &row, NULL, &expected), TOMBOLA_OK);
  tombola_sampler_free(undisturbed);
  for (size_t n = 1;; n++) {
    struct support_allocator a = support_allocator(0);
    tombola_token token;
    tombola_sampler *sampler = make(set, "llama.cpp", support_allocator_use(&a), &status);
    a.fail_at = a.requests + n;
    status = tombola_sampler_sample(sampler, &row, NULL, &token);
    bool reached = a.requests >= a.fail_at;
    assert_int_equal(status, reached ? TOMBOLA_NO_MEMORY : TOMBOLA_OK);
    if (reached) {
      assert_int_equal(token, TOMBOLA_NO_TOKEN);
      assert_int_equal(tombola_sampler_error(sampler)->status, TOMBOLA_NO_MEMORY);
      assert_int_equal(tombola_sampler_sample(sampler, &row, NULL, &token), TOMBOLA_OK);
    }
    assert_int_equal(token, expected);
    tombola_sampler_free(sampler);
    support_allocator_check(&a);
    if (!reached) break;
  }
}

static void test_sample_fails(void **state) {
  (void)state;
  for (size_t set = 0; set < parameter_set_count; set++)
    for (size_t shape = 0; shape < ROW_SHAPES; shape++)
      sweep_sample(set, shape);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_warm),         cmocka_unit_test(test_only_the_allocator),
      cmocka_unit_test(test_new_fails),    cmocka_unit_test(test_copies_fail),
      cmocka_unit_test(test_sample_fails),
  };
  return cmocka_run_group_tests(tests, make_rows, NULL);
}
