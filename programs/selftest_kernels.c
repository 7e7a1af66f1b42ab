/* SPDX-License-Identifier: Apache-2.0 */
/* Every instruction set of this machine against plain C: each kernel must give the same bits for the same
 * rows, of all types, odd lengths, masked and not, with -inf, ties and both zeros among them. */
#include "selftest.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"

#define MOST   4099 /* a prime: the last block is a short one */
#define BLOCKS ((MOST + TOMBOLA__BLOCK - 1) / TOMBOLA__BLOCK)
#define ROWS   600

/* One row, and what several kernels want to know of it. */
struct probe {
  struct tombola_row row;
  const uint32_t *mask;
  float maxima[BLOCKS], max, scale, low;
  struct tombola__part part;
};

struct memory {
  uint32_t data[MOST], mask[MOST / 32 + 1];
  struct probe probe;
  struct tombola__entry entries[BLOCKS * TOMBOLA__BLOCK + TOMBOLA__BLOCK];
};

/* FNV-1a: what a kernel gave, as one number. */
static uint64_t digest(uint64_t hash, const void *data, size_t size) {
  const unsigned char *bytes = data;
  for (size_t i = 0; i < size; i++)
    hash = (hash ^ bytes[i]) * 0x100000001B3u;
  return hash;
}

static size_t blocks_of(const struct probe *p) {
  return (p->row.count + TOMBOLA__BLOCK - 1) / TOMBOLA__BLOCK;
}

typedef uint64_t (*probe_fn)(const struct tombola__kernels *k, const struct probe *p, struct memory *m);

static uint64_t probe_block_max(const struct tombola__kernels *k, const struct probe *p, struct memory *m) {
  float maxima[BLOCKS];
  (void)m;
  int nan = k->block_max(&p->row, p->mask, maxima);
  return digest((uint64_t)nan, maxima, nan ? 0 : blocks_of(p) * sizeof *maxima);
}

static uint64_t probe_block_expsum(const struct tombola__kernels *k, const struct probe *p,
                                   struct memory *m) {
  float sums[BLOCKS];
  (void)m;
  k->block_expsum(&p->row, p->mask, p->maxima, p->max, p->scale, sums);
  return digest(1, sums, blocks_of(p) * sizeof *sums);
}

static uint64_t probe_part_expsum(const struct tombola__kernels *k, const struct probe *p, struct memory *m) {
  float sums[BLOCKS] = {0};
  (void)m;
  k->part_expsum(&p->part, p->max, p->scale, sums);
  return digest(1, sums, sizeof sums);
}

static uint64_t probe_part_entropy(const struct tombola__kernels *k, const struct probe *p,
                                   struct memory *m) {
  float sums[BLOCKS] = {0};
  (void)m;
  double spread = k->part_entropy(&p->part, p->max, p->scale, sums);
  return digest(digest(1, sums, sizeof sums), &spread, sizeof spread);
}

static uint64_t probe_part_moments(const struct tombola__kernels *k, const struct probe *p,
                                   struct memory *m) {
  struct tombola__moments moments = {0, 0, 0};
  (void)m;
  k->part_moments(&p->part, p->max, &moments);
  return digest(1, &moments, sizeof moments);
}

static uint64_t probe_blocks(const struct tombola__kernels *k, const struct probe *p, struct memory *m) {
  float values[TOMBOLA__BLOCK], weights[TOMBOLA__BLOCK], results[3];
  struct tombola__moments moments = {0, 0, 0};
  uint64_t hash = 1;
  (void)m;
  for (size_t b = 0; b < blocks_of(p); b++) {
    k->load64(&p->row, p->mask, b, values);
    hash = digest(hash, values, sizeof values);
    results[0] = k->expsum64(values, p->max, p->scale, weights);
    results[1] = k->entropy64(values, p->max, p->scale, &results[2]);
    hash = digest(digest(hash, results, sizeof results), weights, sizeof weights);
    k->moments64(values, p->max, &moments);
  }
  return digest(hash, &moments, sizeof moments);
}

static uint64_t probe_gather(const struct tombola__kernels *k, const struct probe *p, struct memory *m) {
  struct tombola__gather g = {0, 0};
  k->gather(&p->row, p->mask, p->maxima, 0, blocks_of(p), p->low, INFINITY, MOST, m->entries, &g);
  return digest(g.count, m->entries, g.count * sizeof m->entries[0]);
}

static uint64_t probe_counts(const struct tombola__kernels *k, const struct probe *p, struct memory *m) {
  (void)m;
  float max = k->max(p->maxima, blocks_of(p));
  return digest(k->count_at_least(p->maxima, blocks_of(p), p->low), &max, sizeof max);
}

static const struct {
  const char *name;
  probe_fn run;
} probes[] = {
    {"block_max", probe_block_max},
    {"block_expsum", probe_block_expsum},
    {"part_expsum", probe_part_expsum},
    {"part_entropy", probe_part_entropy},
    {"part_moments", probe_part_moments},
    {"blocks of 64", probe_blocks},
    {"gather", probe_gather},
    {"count, max", probe_counts},
};
enum { PROBES = sizeof probes / sizeof probes[0] };

/* ---- rows ---- */

static float value(uint64_t *state) {
  static const float odd[] = {-INFINITY, 0.0f, -0.0f, 1.0f, 1.0f, 1e-40f, -FLT_MAX, -80.0f};
  uint64_t kind = selftest_random(state) % 16;
  return kind < 4 ? odd[selftest_random(state) % 8] : 4 * selftest_normal(state);
}

/* The upper half of the float; as f16 the same bits are another number, which serves as well, but not NaN or
 * inf. */
static uint16_t narrow(enum tombola_dtype dtype, float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  uint16_t half = (uint16_t)(bits >> 16);
  return dtype == TOMBOLA_F16 && (half & 0x7C00) == 0x7C00 ? (uint16_t)(half ^ 0x4000) : half;
}

/* The value 0 at the front keeps a row from being all -inf. */
static void fill(struct memory *m, uint64_t *state) {
  static const enum tombola_dtype dtypes[] = {TOMBOLA_F32, TOMBOLA_F16, TOMBOLA_BF16};
  struct probe *p = &m->probe;
  p->row =
      (struct tombola_row){m->data, 1 + selftest_random(state) % MOST, dtypes[selftest_random(state) % 3]};
  for (size_t i = 0; i < p->row.count; i++) {
    float x = i ? value(state) : 0;
    uint16_t half = narrow(p->row.dtype, x);
    if (p->row.dtype == TOMBOLA_F32)
      memcpy((char *)m->data + i * sizeof x, &x, sizeof x);
    else
      memcpy((char *)m->data + i * sizeof half, &half, sizeof half);
  }
  for (size_t i = 0; i < MOST / 32 + 1; i++)
    m->mask[i] = (uint32_t)selftest_random(state) | (i == 0);
  p->mask = selftest_random(state) % 2 ? m->mask : NULL;
  const struct tombola__kernels *scalar = tombola__kernels_find("scalar");
  scalar->block_max(&p->row, p->mask, p->maxima);
  p->max = scalar->max(p->maxima, blocks_of(p));
  p->scale = 0.25f + (float)(selftest_random(state) % 8);
  p->low = p->max - (float)(selftest_random(state) % 12);
  p->part = (struct tombola__part){&p->row, p->mask, p->maxima, blocks_of(p) / 4, blocks_of(p), p->low};
}

/* ---- the checks ---- */

static const char *const names[] = {"avx512", "avx2", "neon"};
enum { NAMES = sizeof names / sizeof names[0] };

static size_t sets_here(void) {
  size_t n = 0;
  for (size_t i = 0; i < NAMES; i++)
    n += tombola__kernels_find(names[i]) != NULL;
  return n;
}

size_t selftest_kernels_count(void) {
  return sets_here() * PROBES + 1;
}

static void check_set(struct selftest *test, struct memory *m, const char *name) {
  const struct tombola__kernels *scalar = tombola__kernels_find("scalar"), *set = tombola__kernels_find(name);
  size_t differ[PROBES] = {0};
  uint64_t state = 1;
  for (size_t row = 0; row < ROWS; row++) {
    fill(m, &state);
    for (size_t i = 0; i < PROBES; i++)
      differ[i] += probes[i].run(set, &m->probe, m) != probes[i].run(scalar, &m->probe, m);
    if (row % 50 == 0) selftest_progress(test, (double)row / ROWS * PROBES);
  }
  for (size_t i = 0; i < PROBES; i++) {
    char subject[64];
    snprintf(subject, sizeof subject, "%s, %s", name, probes[i].name);
    if (differ[i])
      selftest_verdict(test, false, "kernels", subject, "%zu of %d rows differ from scalar", differ[i], ROWS);
    else
      selftest_verdict(test, true, "kernels", subject, "the same bits as scalar in %d rows", ROWS);
  }
}

/* The control: the last bit of one logit must be seen. */
static void check_control(struct selftest *test, struct memory *m) {
  const struct tombola__kernels *scalar = tombola__kernels_find("scalar");
  uint64_t state = 2;
  do
    fill(m, &state);
  while (m->probe.row.dtype != TOMBOLA_F32 || m->probe.mask);
  uint64_t before = probe_blocks(scalar, &m->probe, m);
  m->data[m->probe.row.count / 2] ^= 1;
  bool seen = probe_blocks(scalar, &m->probe, m) != before;
  selftest_verdict(test, seen, "kernels", "control",
                   seen ? "one bit of one logit changed: noticed" : "one bit of one logit changed: missed");
}

void selftest_kernels(struct selftest *test) {
  struct memory *m = malloc(sizeof *m);
  if (!m) {
    selftest_verdict(test, false, "kernels", "memory", "out of memory");
    return;
  }
  for (size_t i = 0; i < NAMES; i++)
    if (tombola__kernels_find(names[i])) check_set(test, m, names[i]);
  check_control(test, m);
  free(m);
}
