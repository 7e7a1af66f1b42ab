/* SPDX-License-Identifier: Apache-2.0 */
/* `tombola selftest`: does this build sample as it should on this machine? Every instruction set's arithmetic
 * against the plain one, and draws against exact distributions, with controls that must be noticed. The
 * random numbers are the same in each run, so that a verdict is not a matter of luck. */
#include "selftest.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "options.h"
#include "terminal.h"

#define LEAST_DRAWS 5000 /* with fewer the control isn't told from the truth */

uint64_t selftest_random(uint64_t *state) {
  uint64_t z = *state += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

float selftest_normal(uint64_t *state) {
  double sum = -6;
  for (int i = 0; i < 12; i++)
    sum += (double)(selftest_random(state) >> 11) * 0x1p-53;
  return (float)sum;
}

void selftest_progress(const struct selftest *test, double part) {
  progress_show("self-test", ((double)test->done + part) / (double)test->expected);
}

void selftest_verdict(struct selftest *test, bool good, const char *group, const char *subject,
                      const char *format, ...) {
  char text[160];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  progress_clear();
  test->done++;
  test->failed += !good;
  if (test->json) { /* none of the texts holds a character that JSON would escape */
    printf("{\"group\":\"%s\",\"subject\":\"%s\",\"result\":\"%s\",\"good\":%s}\n", group, subject, text,
           good ? "true" : "false");
  } else {
    const char *on = !test->color ? "" : good ? "\033[32m" : "\033[1;31m";
    printf("%-8s %-28s %-52s %s%s%s\n", group, subject, text, on, good ? "ok" : "FAILED",
           test->color ? "\033[0m" : "");
  }
  output_flush();
  selftest_progress(test, 0);
}

int command_selftest(struct options *options) {
  if (options->draws < LEAST_DRAWS)
    return complain_usage("--draws must be at least %d, got %" PRId64, LEAST_DRAWS, options->draws);
  struct selftest test = {
      .json = options->json,
      .color = options->color == COLOR_ALWAYS || (terminal_color() && isatty(STDOUT_FILENO)),
      .expected = selftest_kernels_count() + selftest_draws_count(),
  };
  double start = monotonic_seconds();
  selftest_progress(&test, 0);
  selftest_kernels(&test);
  selftest_draws(&test, (size_t)options->draws);
  progress_clear();
  if (!test.json)
    printf("\n%zu checks, %zu failed, %.1f s: %s\n", test.done, test.failed, monotonic_seconds() - start,
           test.failed ? "this build does not sample as it should here" : "all is well");
  int finished = output_finish();
  return test.failed ? EXIT_FAILED : finished;
}
