/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of `tombola selftest` share: how a check reports, and random numbers to check with. */
#ifndef TOMBOLA_SELFTEST_H
#define TOMBOLA_SELFTEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the checks stand. */
struct selftest {
  bool json, color;
  size_t done, expected; /* for the progress bar */
  size_t failed;
};

/* The verdict of a check, one line: "draws  llama.cpp  cdf, plain  p 0.431  ok". */
#if defined(__GNUC__)
__attribute__((format(printf, 5, 6)))
#endif
void selftest_verdict(struct selftest *test, bool good, const char *group, const char *subject,
                      const char *format, ...);
/* Shows how far the check that is running has come, 0 to 1. */
void selftest_progress(const struct selftest *test, double part);

/* splitmix64 (Steele, Lea and Flood, 2014): none of the generators that are checked. */
uint64_t selftest_random(uint64_t *state);
/* About normal: the sum of twelve uniforms, less six. */
float selftest_normal(uint64_t *state);

/* ---- selftest_kernels.c, selftest_draws.c ---- */

size_t selftest_kernels_count(void);
void selftest_kernels(struct selftest *test);

size_t selftest_draws_count(void);
void selftest_draws(struct selftest *test, size_t draws);

#endif
