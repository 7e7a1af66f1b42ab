/* SPDX-License-Identifier: Apache-2.0 */
/* One number for everything that the determinism contract promises: random rows, parameters, histories, masks and
 * seeds under every dialect, and a hash of each token drawn and of the bits of each distribution. digest.py runs it on
 * every instruction set, compiler and optimisation level that the machine has; all must print the same lines.
 *
 *   digest [PAIRS [SEED]]
 *
 * It needs nothing but the core, so that it can be built for another machine. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tombola/tombola.h"

#define MOST 3000 /* tokens of a row */

/* splitmix64 (Steele, Lea and Flood, 2014) */
static uint64_t state;

static uint64_t next(void) {
  uint64_t z = state += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

static size_t below(size_t n) {
  return (size_t)(next() % n);
}

/* Exact arithmetic only: a logit is a small integer over a power of two. */
static float number(void) {
  return (float)((int64_t)(next() >> 40) - (1 << 23)) * 0x1p-20f;
}

static uint64_t hash; /* FNV-1a, 64 bits */

static void mix(const void *bytes, size_t n) {
  for (size_t i = 0; i < n; i++)
    hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001B3u;
}

/* ---- rows ---- */

static float wide[MOST];
static uint16_t narrow[MOST];
static uint32_t words[MOST / 32 + 1];

static size_t make_row(struct tombola_row *row, struct tombola_mask *mask) {
  const size_t sizes[] = {1, 2, 7, 63, 64, 65, 200, 511, 1000, MOST};
  size_t n = sizes[below(sizeof sizes / sizeof *sizes)], shape = below(6);
  for (size_t i = 0; i < n; i++) {
    float x = number();
    if (shape == 1) x = rintf(x);
    if (shape == 2) x = 0.5f;
    if (shape == 3) x = x * 0x1p-8f;
    if (shape == 4) x = x * 8;
    if (shape == 5 && below(4)) x = -INFINITY;
    wide[i] = x;
  }
  wide[0] = 1; /* token 0 is always there */
  *row = (struct tombola_row){wide, n, TOMBOLA_F32};
  if (below(4) == 0) { /* bf16 is the upper half; f16 takes what it can hold of it */
    for (size_t i = 0; i < n; i++) {
      uint32_t bits;
      memcpy(&bits, &wide[i], sizeof bits);
      narrow[i] = (uint16_t)(bits >> 16);
    }
    *row = (struct tombola_row){narrow, n, TOMBOLA_BF16};
  }
  *mask = (struct tombola_mask){words, n, NULL, 0};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    words[i] = (uint32_t)next() | (uint32_t)next();
  words[0] |= 1;
  return n;
}

/* ---- parameters ---- */

/* A value inside the row's range, in steps that are exact. */
static void make_value(const struct tombola_param_info *info, char *text, size_t size) {
  double step = (double)below(64) / 32;
  if (info->type == TOMBOLA_PARAM_CHOICE) {
    size_t n = 0;
    while (info->choices[n])
      n++;
    snprintf(text, size, "%s", info->choices[below(n)]);
  } else if (info->type == TOMBOLA_PARAM_INT) {
    snprintf(text, size, "%d", (int)below(40));
  } else if (info->type == TOMBOLA_PARAM_BOOL) {
    snprintf(text, size, "%d", (int)below(2));
  } else {
    snprintf(text, size, "%.9g", info->max <= 1 ? step / 2 : step);
  }
}

/* A value that the dialect refuses leaves its default. */
static void make_params(struct tombola_sampler_params *params, const char *dialect) {
  char text[64];
  const struct tombola_param_info *info;
  *params = (struct tombola_sampler_params){.struct_size = sizeof *params};
  if (tombola_sampler_params_default(params, dialect, NULL)) abort();
  for (size_t i = 0; (info = tombola_param_at(i)); i++) {
    if (info->type > TOMBOLA_PARAM_CHOICE && info->type != TOMBOLA_PARAM_BOOL) continue;
    if (info->type == TOMBOLA_PARAM_SEED || below(6)) continue;
    make_value(info, text, sizeof text);
    tombola_sampler_params_set(params, info->name, text, NULL);
  }
  params->seed_mode = TOMBOLA_SEED_FIXED;
  params->seed = below(1u << 20);
}

/* ---- one pair ---- */

static void pair(const char *dialect) {
  static float probs[MOST];
  struct tombola_sampler_params params;
  struct tombola_row row;
  struct tombola_mask mask;
  tombola_sampler *sampler;
  tombola_token prompt[40], token;
  size_t n = make_row(&row, &mask), length = below(40);
  make_params(&params, dialect);
  for (size_t i = 0; i < length; i++)
    prompt[i] = (tombola_token)below(n < 20 ? n : 20);
  enum tombola_status status = tombola_sampler_new(&params, NULL, n, NULL, &sampler, NULL);
  mix(&status, sizeof status);
  if (status) return;
  const struct tombola_mask *used = below(3) ? NULL : &mask;
  tombola_sampler_begin(sampler, prompt, length);
  for (int draw = 0; draw < 3; draw++) {
    status = tombola_distribution(sampler, &row, used, probs, n);
    mix(&status, sizeof status);
    if (!status) mix(probs, n * sizeof *probs);
    status = tombola_sampler_sample(sampler, &row, used, &token);
    mix(&token, sizeof token);
    if (!status) tombola_sampler_accept(sampler, token);
  }
  tombola_sampler_free(sampler);
}

int main(int argc, char **argv) {
  size_t pairs = argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : 2000;
  uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  const char *cpu;
  struct tombola_error error;
  if (tombola_cpu(&cpu, &error)) return fprintf(stderr, "%s\n", error.message), 1;
  fprintf(stderr, "digest: %s\n", cpu);
  for (size_t d = 0; d < tombola_dialect_count(); d++) {
    const char *dialect = tombola_dialect_at(d)->name;
    state = seed;
    hash = 0xCBF29CE484222325u;
    for (size_t i = 0; i < pairs / tombola_dialect_count() + 1; i++)
      pair(dialect);
    printf("%-14s %016llx\n", dialect, (unsigned long long)hash);
  }
  return 0;
}
