/* SPDX-License-Identifier: Apache-2.0 */
/* TOMBOLA_CPU. The choice is made once a process, so each case is a child that reports through a pipe. */
#include "support.h"

#include "kernels/kernels.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct report {
  enum tombola_status status;
  struct tombola_error error;
  char name[16];
  enum tombola_status second_status; /* with TOMBOLA_CPU=scalar, in the same process */
  char second_name[16];
};

static void ask(enum tombola_status *status, char *name, struct tombola_error *error) {
  const char *got = "untouched";
  *status = tombola_cpu(&got, error);
  snprintf(name, 16, "%s", got ? got : "NULL");
}

static struct report in_a_child(const char *cpu) {
  struct report report;
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    memset(&report, 0, sizeof report);
    if (cpu)
      setenv("TOMBOLA_CPU", cpu, 1);
    else
      unsetenv("TOMBOLA_CPU");
    ask(&report.status, report.name, &report.error);
    setenv("TOMBOLA_CPU", "scalar", 1);
    ask(&report.second_status, report.second_name, NULL);
    _exit(write(ends[1], &report, sizeof report) == (ssize_t)sizeof report ? 0 : 1);
  }
  close(ends[1]);
  assert_int_equal(read(ends[0], &report, sizeof report), sizeof report);
  close(ends[0]);
  int status;
  waitpid(child, &status, 0);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  return report;
}

static const char *best(void) {
  return tombola__kernels_find("avx2") ? "avx2" : "scalar";
}

static void without_it_the_best_is_taken(void **state) {
  (void)state;
  static const char *const unset[] = {NULL, ""};
  for (size_t i = 0; i < 2; i++) {
    struct report report = in_a_child(unset[i]);
    assert_int_equal(report.status, TOMBOLA_OK);
    assert_string_equal(report.name, best());
    assert_int_equal(report.second_status, TOMBOLA_OK);
    assert_string_equal(report.second_name, best()); /* chosen once, and kept */
  }
}

static void a_known_name_caps(void **state) {
  (void)state;
  static const char *const names[] = {"scalar", "avx2"};
  for (size_t i = 0; i < 2; i++) {
    struct report report = in_a_child(names[i]);
    if (tombola__kernels_find(names[i])) {
      assert_int_equal(report.status, TOMBOLA_OK);
      assert_string_equal(report.name, names[i]);
    } else {
      assert_int_equal(report.status, TOMBOLA_INVALID_ARGUMENT);
      assert_non_null(strstr(report.error.message, "does not have"));
    }
  }
}

static void an_unknown_name_is_an_error(void **state) {
  (void)state;
  static const char *const names[] = {"avx512", "AVX2", "scalar ", "0"};
  for (size_t i = 0; i < 4; i++) {
    struct report report = in_a_child(names[i]);
    assert_int_equal(report.status, TOMBOLA_INVALID_ARGUMENT);
    assert_string_equal(report.name, "NULL");
    assert_int_equal(report.error.status, TOMBOLA_INVALID_ARGUMENT);
    assert_string_equal(report.error.param, "TOMBOLA_CPU");
    assert_non_null(strstr(report.error.message, names[i]));
    assert_non_null(strstr(report.error.message, "allowed: scalar, avx2"));
    assert_int_equal(report.second_status, TOMBOLA_OK); /* the mistake isn't kept */
    assert_string_equal(report.second_name, "scalar");
  }
}

static void names_find_their_tables(void **state) {
  (void)state;
  static const char *const names[] = {"scalar", "avx2"};
  for (size_t i = 0; i < 2; i++) {
    const struct tombola__kernels *table = tombola__kernels_find(names[i]);
    if (table) assert_string_equal(table->name, names[i]);
  }
  assert_non_null(tombola__kernels_find("scalar"));
  assert_null(tombola__kernels_find("sse"));
  assert_null(tombola__kernels_find(""));
#if defined(__x86_64__) && defined(__GNUC__)
  __builtin_cpu_init();
  int has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  assert_int_equal(tombola__kernels_find("avx2") != NULL, has);
#endif
}

static void *choose(void *context) {
  *(const struct tombola__kernels **)context = tombola__kernels(NULL);
  return NULL;
}

static void threads_choose_the_same(void **state) {
  (void)state;
  pthread_t threads[4];
  const struct tombola__kernels *chosen[4];
  for (size_t i = 0; i < 4; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, choose, &chosen[i]), 0);
  for (size_t i = 0; i < 4; i++)
    pthread_join(threads[i], NULL);
  for (size_t i = 0; i < 4; i++) {
    assert_non_null(chosen[i]);
    assert_ptr_equal(chosen[i], chosen[0]);
  }
}

int main(void) {
  unsetenv("TOMBOLA_CPU"); /* the parent must not inherit a choice */
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(without_it_the_best_is_taken), cmocka_unit_test(a_known_name_caps),
      cmocka_unit_test(an_unknown_name_is_an_error),  cmocka_unit_test(names_find_their_tables),
      cmocka_unit_test(threads_choose_the_same), /* last: it makes the choice of this process */
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
