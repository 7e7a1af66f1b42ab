/* SPDX-License-Identifier: Apache-2.0 */
/* Draws of every dialect by every rule against the exact distribution: Pearson's chi-square, for the plain
 * softmax, worked out here in doubles, and for the dialect's own chain, against what tombola_distribution
 * says. */
#include "selftest.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <tombola/tombola.h>

#define VOCAB  200  /* several blocks, the last one short */
#define ACCEPT 1e-6 /* draws that are right fall below once in a million checks; the seeds are fixed */
#define REJECT 1e-9
#define LEAST  5 /* expected draws of a class; rarer tokens are counted together */

/* The probability of a chi-square statistic as large or larger, by Wilson and Hilferty's cube root (1931):
 * within a few hundredths of the right exponent, which is enough for a verdict. */
static double p_value(double statistic, size_t freedom) {
  double k = (double)freedom, spread = 2 / (9 * k);
  double z = (cbrt(statistic / k) - (1 - spread)) / sqrt(spread);
  return 0.5 * erfc(z / sqrt(2));
}

/* 0 where a token came that can't. */
static double chi_square(const size_t *observed, const double *expected, size_t draws) {
  double statistic = 0, rare_expected = 0, rare_observed = 0;
  size_t classes = 0;
  for (size_t i = 0; i < VOCAB; i++) {
    double want = expected[i] * (double)draws, got = (double)observed[i];
    if (want <= 0 && got > 0) return 0;
    if (want < LEAST) {
      rare_expected += want;
      rare_observed += got;
      continue;
    }
    statistic += (got - want) * (got - want) / want;
    classes++;
  }
  if (rare_expected >= LEAST) {
    statistic += (rare_observed - rare_expected) * (rare_observed - rare_expected) / rare_expected;
    classes++;
  }
  return classes > 1 ? p_value(statistic, classes - 1) : 1;
}

/* ---- what is drawn ---- */

struct experiment {
  const char *dialect, *rule;
  bool plain; /* every stage off; else the dialect's defaults */
};

static void make_row(float *row) {
  uint64_t state = 3;
  for (size_t i = 0; i < VOCAB; i++)
    row[i] = i % 50 == 7 ? -INFINITY : 2 * selftest_normal(&state);
}

/* Off: each parameter that has an off value has it; a dialect that refuses one has it off by another rule.
 * What changes from draw to draw is off in any case, because then there is no one distribution. */
static enum tombola_status make_params(const struct experiment *e, struct tombola_sampler_params *params,
                                       struct tombola_error *error) {
  static const char *const changing[][2] = {
      {"xtc_probability", "0"}, {"mirostat", "0"}, {"adaptive_target", "-1"}};
  *params = (struct tombola_sampler_params){.struct_size = sizeof *params};
  enum tombola_status status = tombola_sampler_params_default(params, e->dialect, error);
  for (size_t i = 0; i < sizeof changing / sizeof changing[0]; i++)
    tombola_sampler_params_set(params, changing[i][0], changing[i][1], NULL);
  if (params->temperature <= 0) params->temperature = 0.8f; /* greedy by default: there is nothing to draw */
  for (size_t i = 0; e->plain && i < tombola_param_count(); i++) {
    const struct tombola_param_info *info = tombola_param_at(i);
    char text[32];
    bool number = info->type == TOMBOLA_PARAM_FLOAT || info->type == TOMBOLA_PARAM_INT;
    if (!number || isnan(info->off)) continue;
    snprintf(text, sizeof text, "%.9g", info->off);
    tombola_sampler_params_set(params, info->name, text, NULL);
  }
  params->seed = 1;
  params->seed_mode = TOMBOLA_SEED_FIXED;
  return status ? status : tombola_sampler_params_set(params, "draw", e->rule, error);
}

/* The softmax of the row at a temperature. */
static void softmax(const float *row, double temperature, double *probs) {
  double max = -HUGE_VAL, sum = 0;
  for (size_t i = 0; i < VOCAB; i++)
    max = fmax(max, (double)row[i]);
  for (size_t i = 0; i < VOCAB; i++)
    sum += probs[i] = exp(((double)row[i] - max) / temperature);
  for (size_t i = 0; i < VOCAB; i++)
    probs[i] /= sum;
}

static enum tombola_status exact(tombola_sampler *sampler, const struct experiment *e,
                                 const struct tombola_row *row, double *probs) {
  float given[VOCAB];
  softmax(row->data, 1, probs);
  if (e->plain) return TOMBOLA_OK;
  enum tombola_status status = tombola_distribution(sampler, row, NULL, given, VOCAB);
  for (size_t i = 0; i < VOCAB; i++)
    probs[i] = (double)given[i];
  return status;
}

static enum tombola_status draw(const struct selftest *test, tombola_sampler *sampler,
                                const struct tombola_row *row, size_t draws, size_t *observed) {
  memset(observed, 0, VOCAB * sizeof *observed);
  for (size_t i = 0; i < draws; i++) {
    tombola_token token;
    enum tombola_status status = tombola_sampler_sample(sampler, row, NULL, &token);
    if (status != TOMBOLA_OK) return status;
    observed[token]++;
    if (i % 10000 == 0) selftest_progress(test, (double)i / (double)draws);
  }
  return TOMBOLA_OK;
}

/* Draws and the exact distribution; a failure is told as a verdict. */
static bool run(struct selftest *test, const struct experiment *e, const char *subject, size_t draws,
                size_t *observed, double *probs) {
  struct tombola_sampler_params params;
  struct tombola_error error = {0};
  tombola_sampler *sampler = NULL;
  float values[VOCAB];
  make_row(values);
  const struct tombola_row row = {values, VOCAB, TOMBOLA_F32};
  enum tombola_status status = make_params(e, &params, &error);
  if (status == TOMBOLA_OK) status = tombola_sampler_new(&params, NULL, VOCAB, NULL, &sampler, &error);
  if (status == TOMBOLA_OK) status = exact(sampler, e, &row, probs);
  if (status == TOMBOLA_OK) status = draw(test, sampler, &row, draws, observed);
  tombola_sampler_free(sampler);
  if (status != TOMBOLA_OK)
    selftest_verdict(test, false, "draws", subject, "%s", tombola_status_text(status));
  return status == TOMBOLA_OK;
}

/* ---- the checks ---- */

static const char *const *rules(void) {
  return tombola_param_find("draw")->choices;
}

size_t selftest_draws_count(void) {
  size_t n = 0;
  while (rules()[n])
    n++;
  return 2 * n * tombola_dialect_count() + n;
}

static void check(struct selftest *test, const struct experiment *e, size_t draws) {
  size_t observed[VOCAB];
  double probs[VOCAB];
  char subject[64];
  snprintf(subject, sizeof subject, "%s, %s", e->dialect, e->rule);
  if (!run(test, e, subject, draws, observed, probs)) return;
  double p = chi_square(observed, probs, draws);
  selftest_verdict(test, p >= ACCEPT, "draws", subject, "%s: p %.3g", e->plain ? "softmax" : "its own chain",
                   p);
}

/* The control: were the temperature 1.15 in place of 1, the same test must see it. */
static void check_control(struct selftest *test, const char *rule, size_t draws) {
  struct experiment e = {"llama.cpp", rule, true};
  size_t observed[VOCAB];
  double probs[VOCAB];
  float row[VOCAB];
  char subject[64];
  snprintf(subject, sizeof subject, "control, %s", rule);
  if (!run(test, &e, subject, draws, observed, probs)) return;
  make_row(row);
  softmax(row, 1.15, probs);
  double p = chi_square(observed, probs, draws);
  selftest_verdict(test, p < REJECT, "draws", subject,
                   p < REJECT ? "a temperature wrong by 15 %%: noticed, p %.2g"
                              : "a temperature wrong by 15 %%: missed, p %.2g",
                   p);
}

void selftest_draws(struct selftest *test, size_t draws) {
  for (size_t d = 0; d < tombola_dialect_count(); d++) {
    for (const char *const *rule = rules(); *rule; rule++) {
      struct experiment e = {tombola_dialect_at(d)->name, *rule, true};
      check(test, &e, draws);
      e.plain = false;
      check(test, &e, draws);
    }
  }
  for (const char *const *rule = rules(); *rule; rule++)
    check_control(test, *rule, draws);
}
