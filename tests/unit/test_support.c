/* SPDX-License-Identifier: Apache-2.0 */
/* The tests' own tools: a tool that can't tell right from wrong would hide every failure behind it. */
#include "support.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Chi-square quantiles from the usual tables (NIST handbook 1.3.6.7.4): 95 % and 99.9 %. */
static void gamma_q_agrees_with_the_tables(void **state) {
  (void)state;
  static const struct {
    double df, x, p;
  } rows[] = {{1, 3.841, 0.05},   {2, 5.991, 0.05},    {10, 18.307, 0.05},  {100, 124.342, 0.05},
              {1, 10.828, 0.001}, {10, 29.588, 0.001}, {50, 86.661, 0.001}, {100, 149.449, 0.001},
              {10, 3.940, 0.95},  {50, 34.764, 0.95},  {100, 77.929, 0.95}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    double p = support_gamma_q(rows[i].df / 2, rows[i].x / 2);
    assert_true(fabs(p - rows[i].p) < 2e-4 * (rows[i].p < 0.01 ? 0.1 : 1.0));
  }
  assert_true(fabs(support_gamma_q(1.0, 2.0) - exp(-2.0)) < 1e-14); /* Q(1, x) = e^-x */
  assert_true(support_gamma_q(3.0, 0.0) == 1.0);
}

static void chi_square_accepts_and_rejects(void **state) {
  (void)state;
  double p[4] = {0.5, 0.25, 0.2, 0.05};
  size_t right[4] = {0}, wrong[4] = {0};
  struct support_rng rng = support_rng(1);
  for (int i = 0; i < 20000; i++) {
    double u = support_uniform(&rng);
    right[u < 0.5 ? 0 : u < 0.75 ? 1 : u < 0.95 ? 2 : 3]++;
    wrong[u < 0.52 ? 0 : u < 0.75 ? 1 : u < 0.95 ? 2 : 3]++;
  }
  assert_true(support_chi_square(right, p, 4, 20000) > 1e-3);
  assert_true(support_chi_square(wrong, p, 4, 20000) < 1e-5);
  double none[2] = {1.0, 0.0};
  size_t impossible[2] = {19999, 1};
  assert_true(support_chi_square(impossible, none, 2, 20000) == 0.0);
}

static int dies_of_a_fault(void (*touch)(struct support_guard *), struct support_guard *guard) {
  pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);
    signal(SIGBUS, SIG_DFL);
    touch(guard);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) && (WTERMSIG(status) == SIGSEGV || WTERMSIG(status) == SIGBUS);
}

static void touch_last(struct support_guard *g) {
  ((volatile unsigned char *)support_guard_end(g, 3))[2] = 1;
}
static void touch_behind(struct support_guard *g) {
  ((volatile unsigned char *)support_guard_end(g, 3))[3] = 1;
}
static void touch_before(struct support_guard *g) {
  ((volatile unsigned char *)support_guard_start(g))[-1] = 1;
}

static void guard_pages_guard(void **state) {
  (void)state;
  struct support_guard guard = support_guard_new(5000);
  assert_true(guard.room >= 5000);
  assert_false(dies_of_a_fault(touch_last, &guard));
  assert_true(dies_of_a_fault(touch_behind, &guard));
  assert_true(dies_of_a_fault(touch_before, &guard));
  support_guard_free(&guard);
}

static void the_allocator_counts_and_fails(void **state) {
  (void)state;
  struct support_allocator a = support_allocator(3);
  const struct tombola_allocator *use = support_allocator_use(&a);
  void *first = use->allocate(use->context, 10);
  void *second = use->allocate(use->context, 20);
  assert_non_null(first);
  assert_null(use->allocate(use->context, 1));
  second = use->resize(use->context, second, 20, 40);
  assert_non_null(second);
  assert_int_equal(a.requests, 4);
  assert_int_equal(a.live, 2);
  assert_int_equal(a.bytes, 50);
  use->release(use->context, first);
  use->release(use->context, second);
  support_allocator_check(&a);
}

static void ulps_count_steps(void **state) {
  (void)state;
  assert_int_equal(support_ulps(1.0f, nextafterf(1.0f, 2.0f)), 1);
  assert_int_equal(support_ulps(-0.0f, 0.0f), 0);
  assert_int_equal(support_ulps(nextafterf(0.0f, -1.0f), nextafterf(0.0f, 1.0f)), 2);
  assert_true(support_ulps(NAN, 1.0f) == INT64_MAX);
  assert_true(fabs(support_ulp_error(1.0f, 1.0L + ldexpl(1.0L, -24)) - 0.5) < 1e-12);
}

static void seeds_repeat(void **state) {
  (void)state;
  struct support_rng a = support_rng(7), b = support_rng(7), c = support_rng(8);
  uint64_t first = support_u64(&a);
  assert_true(first == support_u64(&b));
  assert_true(first != support_u64(&c));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gamma_q_agrees_with_the_tables),
      cmocka_unit_test(chi_square_accepts_and_rejects),
      cmocka_unit_test(guard_pages_guard),
      cmocka_unit_test(the_allocator_counts_and_fails),
      cmocka_unit_test(ulps_count_steps),
      cmocka_unit_test(seeds_repeat),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
