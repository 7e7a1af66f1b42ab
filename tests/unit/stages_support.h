/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the stages share: a row, the model of its candidates in doubles, sorted, and one stage
 * run on them by hand, with the rules of a dialect that a test can change. */
#ifndef STAGES_SUPPORT_H
#define STAGES_SUPPORT_H

#include "support.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/internal.h"

#define MOST 9000

/* A token of the model: rank order, and what it weighs. */
struct token {
  float logit;
  tombola_token id;
  double y, p; /* scaled distance from the best; probability */
};

struct bench {
  float row[MOST];
  uint32_t mask[MOST / 32 + 1];
  size_t n;
  bool masked;
  struct token t[MOST]; /* the candidates before the stage, ranked */
  size_t count;
  double total, entropy;
  bool kept[MOST]; /* by id, after the stage */
  size_t n_kept;
  struct tombola__candidates c;
  struct tombola__plan plan;
  struct tombola__dialect dialect;
};

static struct bench b;

static inline int by_rank(const void *a, const void *o) {
  const struct token *x = a, *y = o;
  if (x->logit != y->logit) return x->logit > y->logit ? -1 : 1;
  return x->id < y->id ? -1 : 1;
}

/* ---- setting up ---- */

static inline void make_row(struct support_rng *rng) {
  const size_t sizes[] = {1, 2, 3, 40, 64, 65, 700, 3000, 8999};
  int shape = (int)support_below(rng, 8);
  b.n = sizes[support_below(rng, TOMBOLA__COUNT(sizes))];
  for (size_t i = 0; i < b.n; i++) {
    float x = support_normal(rng, 0, 2.5f);
    if (shape == 1) x = roundf(x);
    if (shape == 2) x = 1.25f;
    if (shape == 3) x = (float)i * 0.01f;
    if (shape == 4) x = support_normal(rng, 0, 0.02f);
    if (shape == 5 && support_below(rng, 10)) x = -INFINITY;
    if (shape == 6 && i < 20) x = 8 + (float)i * 0.5f;
    if (shape == 7) x = x * 4 - 500;
    b.row[i] = x;
  }
  if (b.row[0] == -INFINITY) b.row[0] = 0;
  b.masked = support_below(rng, 3) == 0;
  for (size_t i = 0; i < TOMBOLA__COUNT(b.mask); i++)
    b.mask[i] = support_u32(rng) | 1;
}

static inline void begin(void) {
  struct tombola_allocator allocator = tombola__allocator(NULL);
  struct tombola_row row = {b.row, b.n, TOMBOLA_F32};
  assert_int_equal(tombola__candidates_init(&b.c, tombola__kernels(NULL), &allocator, b.n, 3), TOMBOLA_OK);
  const struct tombola_mask allowed = {b.mask, b.n, NULL, 0};
  tombola__candidates_begin(&b.c, &row, b.masked ? &allowed : NULL);
}

static inline void weigh_model(void) {
  b.total = b.entropy = 0;
  for (size_t i = 0; i < b.count; i++) {
    b.t[i].y = ((double)b.t[i].logit - (double)b.t[0].logit) * (double)b.c.scale;
    b.total += exp(b.t[i].y);
  }
  for (size_t i = 0; i < b.count; i++) {
    b.t[i].p = exp(b.t[i].y) / b.total;
    b.entropy += b.t[i].p * (log(b.total) - b.t[i].y);
  }
}

static inline void make_model(void) {
  b.count = 0;
  for (size_t i = 0; i < b.n; i++) {
    if (b.masked && !(b.mask[i / 32] >> (i % 32) & 1)) continue;
    if (b.row[i] > -INFINITY) b.t[b.count++] = (struct token){b.row[i], (tombola_token)i, 0, 0};
  }
  qsort(b.t, b.count, sizeof b.t[0], by_rank);
  weigh_model();
}

/* The candidates as dense set, list by id, ranked list, or dense with a floor. */
static inline void prepare(struct support_rng *rng) {
  make_row(rng);
  begin();
  make_model();
  size_t how = support_below(rng, 4), keep = 1 + support_below(rng, b.count);
  if (how == 1) assert_int_equal(tombola__candidates_list(&b.c, support_below(rng, 2)), TOMBOLA_OK);
  if (how == 2) {
    assert_int_equal(tombola__candidates_keep_top(&b.c, keep), TOMBOLA_OK);
    b.count = keep;
  }
  if (how == 3) {
    float low = b.t[keep - 1].logit;
    assert_int_equal(tombola__candidates_keep_at_least(&b.c, low), TOMBOLA_OK);
    while (b.t[b.count - 1].logit < low)
      b.count--;
  }
  if (support_below(rng, 2)) tombola__candidates_scale(&b.c, support_between(rng, 0.3f, 2));
  weigh_model();
}

static inline void reset_plan(void) {
  memset(&b.plan, 0, sizeof b.plan);
  memset(&b.dialect, 0, sizeof b.dialect);
  struct tombola_sampler_params *p = &b.plan.params;
  p->struct_size = sizeof *p;
  assert_int_equal(tombola_sampler_params_default(p, NULL, NULL), TOMBOLA_OK);
  p->temperature = p->top_p = p->typical_p = p->tfs_z = 1;
  p->top_k = 0;
  p->min_p = 0;
  p->min_keep = 0;
  b.dialect.draw_order = TOMBOLA__DRAW_AS_IS;
  b.plan.dialect = &b.dialect;
}

static inline const struct tombola__stage *stage_of(const char *name) {
  const struct tombola__stage *stage = tombola__stage_find(name);
  assert_non_null(stage);
  return stage;
}

/* Runs one stage, as the first of a chain that has `next` (or NULL) behind it; what is left goes to `kept`.
 */
static inline void run(const char *name, const char *next) {
  size_t min_keep = (size_t)b.plan.params.min_keep;
  b.plan.chain[0] = (struct tombola__link){.stage = stage_of(name), .active = true, .min_keep = min_keep};
  b.plan.n_chain = 1;
  if (next) b.plan.chain[b.plan.n_chain++] = (struct tombola__link){.stage = stage_of(next), .active = true};
  assert_true(stage_of(name)->active(&b.plan.params, &b.dialect));
  struct tombola__stage_call call = {.plan = &b.plan,
                                     .params = &b.plan.params,
                                     .dialect = &b.dialect,
                                     .candidates = &b.c,
                                     .link = &b.plan.chain[0]};
  assert_int_equal(stage_of(name)->apply(&call), TOMBOLA_OK);
}

static inline void collect(void) {
  memset(b.kept, 0, sizeof b.kept);
  assert_int_equal(tombola__candidates_list(&b.c, false), TOMBOLA_OK);
  for (size_t i = 0; i < b.c.count; i++) {
    assert_false(b.kept[b.c.list[i].id]);
    b.kept[b.c.list[i].id] = true;
  }
  b.n_kept = b.c.count;
  for (size_t i = 0; i < b.count; i++)
    b.n_kept -= b.kept[b.t[i].id]; /* nothing that wasn't a candidate */
  assert_int_equal(b.n_kept, 0);
  b.n_kept = b.c.count;
}

static inline void end(void) {
  tombola__candidates_free(&b.c);
}

#endif
