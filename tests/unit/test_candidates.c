/* SPDX-License-Identifier: Apache-2.0 */
/* The candidates against a plain model: sort everything, then ask. Rows are random, tied, equal, rising,
 * falling, masked and edited; every question must be answered exactly, ties included. */
#include "support.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/internal.h"

/* The plain model: every candidate of the row, ranked by sorting. */
struct plain {
  struct tombola__entry e[5000];
  size_t n;
};

static int by_rank(const void *a, const void *b) {
  const struct tombola__entry *x = a, *y = b;
  if (x->logit != y->logit) return x->logit > y->logit ? -1 : 1;
  return x->id < y->id ? -1 : 1;
}

static int by_id(const void *a, const void *b) {
  const struct tombola__entry *x = a, *y = b;
  return x->id < y->id ? -1 : 1;
}

static void plain_of(struct plain *p, const float *row, const uint32_t *mask, size_t n) {
  p->n = 0;
  for (size_t i = 0; i < n; i++) {
    if (mask && !(mask[i / 32] >> (i % 32) & 1)) continue;
    if (row[i] > -INFINITY) p->e[p->n++] = (struct tombola__entry){row[i], (tombola_token)i};
  }
  qsort(p->e, p->n, sizeof p->e[0], by_rank);
}

/* ---- entries ---- */

static void test_entries(void **state) {
  (void)state;
  struct support_rng rng = support_rng(10);
  static struct tombola__entry mine[5000], theirs[5000];
  for (int round = 0; round < 400; round++) {
    size_t n = support_below(&rng, round % 4 ? 300 : 5000);
    int shape = (int)support_below(&rng, 4);
    for (size_t i = 0; i < n; i++) {
      float x = support_between(&rng, -20, 20);
      if (shape == 1) x = roundf(x / 4);
      if (shape == 2) x = support_below(&rng, 2) ? 0.0f : -0.0f;
      if (shape == 3) x = ldexpf(x, (int)support_below(&rng, 200) - 100);
      mine[i] = (struct tombola__entry){x, (tombola_token)i};
    }
    for (size_t i = n; i > 1; i--) { /* shuffled, so that ids aren't already in order */
      size_t j = support_below(&rng, i);
      struct tombola__entry t = mine[i - 1];
      mine[i - 1] = mine[j];
      mine[j] = t;
    }
    memcpy(theirs, mine, sizeof mine);
    qsort(theirs, n, sizeof theirs[0], by_rank);
    size_t k = support_below(&rng, n + 1);
    tombola__entries_select(mine, n, k);
    tombola__entries_rank(mine, k);
    for (size_t i = 0; i < k; i++)
      assert_int_equal(mine[i].id, theirs[i].id);
    tombola__entries_rank(mine, n);
    for (size_t i = 0; i < n; i++) {
      assert_int_equal(mine[i].id, theirs[i].id);
      assert_true(mine[i].logit == theirs[i].logit);
    }
    tombola__entries_by_id(mine, n);
    for (size_t i = 0; i < n; i++)
      assert_int_equal(mine[i].id, i);
  }
}

static void test_log(void **state) {
  (void)state;
  struct support_rng rng = support_rng(11);
  for (int i = 0; i < 200000; i++) {
    double x = ldexp(support_uniform(&rng) + 1e-9, (int)support_below(&rng, 120) - 100);
    double want = log(x);
    assert_true(fabs(tombola__log(x) - want) <= 4e-16 * fabs(want) + 2e-16);
  }
  assert_true(tombola__log(1) == 0);
}

/* ---- history ---- */

static void test_history(void **state) {
  (void)state;
  struct support_rng rng = support_rng(12);
  struct tombola_allocator allocator = tombola__allocator(NULL);
  const size_t windows[] = {1, 2, 5, 64, 300, 1000, SIZE_MAX}; /* every second one counts one less */
  static tombola_token all[3000];
  for (size_t w = 0; w < TOMBOLA__COUNT(windows); w++) {
    struct tombola__history h;
    assert_int_equal(tombola__history_init(&h, &allocator, windows[w], windows[w] - w % 2), TOMBOLA_OK);
    size_t vocabulary = 1 + support_below(&rng, 200);
    for (size_t n = 0; n < 3000; n++) {
      all[n] = (tombola_token)support_below(&rng, vocabulary);
      assert_int_equal(tombola__history_push(&h, all[n]), TOMBOLA_OK);
      if (n % 37 && n > 70) continue;
      size_t begin = n + 1 > windows[w] ? n + 1 - windows[w] : 0;
      uint32_t counts[200] = {0};
      size_t distinct = 0;
      for (size_t i = begin; i <= n; i++) {
        assert_int_equal(tombola__history_at(&h, i - begin), all[i]);
        if (n - i < windows[w] - w % 2) distinct += counts[all[i]]++ == 0;
      }
      assert_int_equal(h.count, n + 1 - begin);
      assert_int_equal(h.distinct, distinct);
      for (size_t i = 0; i < h.table_capacity; i++) {
        if (!h.table[i].n) continue;
        assert_int_equal(h.table[i].n, counts[h.table[i].id]);
        counts[h.table[i].id] = 0;
      }
      for (size_t i = 0; i < 200; i++)
        assert_int_equal(counts[i], 0);
    }
    tombola__history_clear(&h);
    assert_int_equal(h.count, 0);
    tombola__history_free(&h);
  }
}

/* ---- candidates ---- */

struct setting {
  float row[5000];
  uint32_t mask_words[160];
  const uint32_t *mask;
  size_t n;
  struct plain plain;
  struct tombola__candidates c;
};

static float set_to(const void *context, size_t index, float logit) {
  (void)logit;
  return ((const float *)context)[index];
}

static void make_row(struct setting *s, struct support_rng *rng) {
  const size_t sizes[] = {1, 2, 63, 64, 65, 129, 700, 4999};
  s->n = sizes[support_below(rng, TOMBOLA__COUNT(sizes))];
  int shape = (int)support_below(rng, 8);
  for (size_t i = 0; i < s->n; i++) {
    float x = support_between(rng, -12, 12);
    if (shape == 1) x = roundf(x);
    if (shape == 2) x = 1.25f;
    if (shape == 3) x = (float)i * 0.01f;
    if (shape == 4) x = -(float)i * 0.01f;
    if (shape == 5 && support_below(rng, 10)) x = -INFINITY;
    if (shape == 6) x = ldexpf(x, (int)support_below(rng, 60));
    if (shape == 7) x = x * 0.001f - 500;
    s->row[i] = x;
  }
  if (s->row[0] == -INFINITY) s->row[0] = 0; /* token 0 is always a candidate */
  s->mask = NULL;
  if (support_below(rng, 3) == 0) {
    for (size_t i = 0; i < 160; i++)
      s->mask_words[i] = support_u32(rng) & support_u32(rng);
    s->mask_words[0] |= 1;
    s->mask = s->mask_words;
  }
}

static void begin(struct setting *s, struct support_rng *rng, const struct tombola__kernels *kernels) {
  make_row(s, rng);
  struct tombola_allocator allocator = tombola__allocator(NULL);
  struct tombola_row row = {s->row, s->n, TOMBOLA_F32};
  static float edited_row[5000];
  assert_int_equal(tombola__candidates_init(&s->c, kernels, &allocator, s->n, 3), TOMBOLA_OK);
  const struct tombola_mask allowed = {s->mask, s->n, NULL, 0};
  tombola__candidates_begin(&s->c, &row, s->mask ? &allowed : NULL);
  memcpy(edited_row, s->row, sizeof edited_row);
  size_t edits = support_below(rng, 3) ? 0 : support_below(rng, 40);
  for (size_t e = 0; e < edits; e++) {
    tombola_token id = (tombola_token)support_below(rng, s->n);
    float value = support_below(rng, 8) ? support_between(rng, -15, 15) : -INFINITY;
    if (id == 0) value = 3; /* the one token that every mask allows stays a candidate */
    assert_int_equal(tombola__candidates_edit(&s->c, &id, 1, set_to, &value), TOMBOLA_OK);
    if (edited_row[id] > -INFINITY) edited_row[id] = value;
  }
  plain_of(&s->plain, edited_row, s->mask, s->n);
}

static void same_list(struct setting *s, size_t n, bool ranked) {
  if (s->c.dense) { /* only what may be large stays dense */
    assert_true(s->n > 4096);
    assert_int_equal(tombola__candidates_list(&s->c, false), TOMBOLA_OK);
  }
  assert_int_equal(s->c.count, n);
  if (!ranked) qsort(s->plain.e, n, sizeof s->plain.e[0], by_id);
  for (size_t i = 0; i < n; i++) {
    assert_int_equal(s->c.list[i].id, s->plain.e[i].id);
    assert_true(s->c.list[i].logit == s->plain.e[i].logit);
  }
}

/* The exact prefix by long sums; near a boundary (1e-9 of the total) either neighbour is right. */
static void same_mass(struct setting *s, double p, size_t min_keep) {
  double total = 0, cum = 0, scale = (double)s->c.scale;
  if (s->c.dense) {
    assert_true(s->n >= 64 && s->c.ranked);
    assert_int_equal(tombola__candidates_list(&s->c, false), TOMBOLA_OK);
    assert_int_equal(s->c.order, TOMBOLA__BY_RANK);
  }
  for (size_t i = 0; i < s->plain.n; i++)
    total += exp(((double)s->plain.e[i].logit - (double)s->plain.e[0].logit) * scale);
  for (size_t i = 0; i < s->c.count; i++) {
    assert_int_equal(s->c.list[i].id, s->plain.e[i].id);
    if (i + 1 < s->c.count && i + 1 >= min_keep) assert_true(cum < (p + 2e-6) * total);
    cum += exp(((double)s->plain.e[i].logit - (double)s->plain.e[0].logit) * scale);
    if (i + 1 < s->c.count && i + 1 >= min_keep) assert_true(cum < (p + 2e-6) * total);
  }
  assert_true(cum > (p - 2e-6) * total || s->c.count == s->plain.n);
  assert_true(s->c.count >= min_keep || s->c.count == s->plain.n);
}

static void ask(struct setting *s, struct support_rng *rng) {
  size_t question = support_below(rng, 6), k = 1 + support_below(rng, 120),
         at = support_below(rng, s->plain.n);
  if (question == 0) {
    assert_int_equal(tombola__candidates_keep_best(&s->c), TOMBOLA_OK);
    same_list(s, 1, true);
  } else if (question == 1) {
    assert_int_equal(tombola__candidates_keep_top(&s->c, k), TOMBOLA_OK);
    same_list(s, k < s->plain.n ? k : s->plain.n, true);
  } else if (question == 2) {
    float threshold = s->plain.e[at].logit;
    size_t n = 0;
    while (n < s->plain.n && s->plain.e[n].logit >= threshold)
      n++;
    assert_int_equal(tombola__candidates_keep_at_least(&s->c, threshold), TOMBOLA_OK);
    same_list(s, n, false);
  } else if (question == 3) {
    assert_int_equal(tombola__candidates_list(&s->c, true), TOMBOLA_OK);
    same_list(s, s->plain.n, true);
  } else {
    double p = support_uniform(rng);
    size_t min_keep = support_below(rng, 3) ? 0 : support_below(rng, 50);
    tombola__candidates_scale(&s->c, support_between(rng, 0.2f, 3));
    assert_int_equal(tombola__candidates_keep_mass(&s->c, p, false, min_keep), TOMBOLA_OK);
    same_mass(s, p, min_keep);
  }
}

static void test_questions(void **state) {
  (void)state;
  struct support_rng rng = support_rng(13);
  static struct setting s;
  const struct tombola__kernels *kernels = tombola__kernels(NULL);
  assert_non_null(kernels);
  for (int round = 0; round < 6000; round++) {
    begin(&s, &rng, kernels);
    ask(&s, &rng);
    tombola__candidates_free(&s.c);
  }
}

/* A list, then a second question: the same as asking the plain list. */
static void test_second_question(void **state) {
  (void)state;
  struct support_rng rng = support_rng(14);
  static struct setting s;
  for (int round = 0; round < 3000; round++) {
    begin(&s, &rng, tombola__kernels(NULL));
    size_t first = 1 + support_below(&rng, 200);
    if (support_below(&rng, 2)) {
      assert_int_equal(tombola__candidates_keep_top(&s.c, first), TOMBOLA_OK);
      s.plain.n = first < s.plain.n ? first : s.plain.n;
    } else {
      float threshold = s.plain.e[support_below(&rng, s.plain.n)].logit;
      assert_int_equal(tombola__candidates_keep_at_least(&s.c, threshold), TOMBOLA_OK);
      while (s.plain.e[s.plain.n - 1].logit < threshold)
        s.plain.n--;
    }
    bool was_ranked = s.c.order == TOMBOLA__BY_RANK;
    if (was_ranked && support_below(&rng, 2)) { /* at_least keeps the order of a ranked list */
      float threshold = s.plain.e[support_below(&rng, s.plain.n)].logit;
      assert_int_equal(tombola__candidates_keep_at_least(&s.c, threshold), TOMBOLA_OK);
      while (s.plain.e[s.plain.n - 1].logit < threshold)
        s.plain.n--;
      same_list(&s, s.plain.n, true);
    } else {
      size_t k = 1 + support_below(&rng, 100);
      assert_int_equal(tombola__candidates_keep_top(&s.c, k), TOMBOLA_OK);
      same_list(&s, k < s.plain.n ? k : s.plain.n, true);
    }
    tombola__candidates_free(&s.c);
  }
}

/* ---- the floor ---- */

/* Drops from the plain model what is below the entry at a place of its ranking. */
static void drop_plain(struct setting *s, float threshold) {
  while (s->plain.n && s->plain.e[s->plain.n - 1].logit < threshold)
    s->plain.n--;
}

static void edit_plain(struct setting *s, tombola_token id, float value) {
  size_t kept = 0;
  for (size_t i = 0; i < s->plain.n; i++) {
    if (s->plain.e[i].id == id) s->plain.e[i].logit = value;
    if (s->plain.e[i].logit > -INFINITY) s->plain.e[kept++] = s->plain.e[i];
  }
  s->plain.n = kept;
  qsort(s->plain.e, s->plain.n, sizeof s->plain.e[0], by_rank);
}

/* What the set says of itself while it is dense: walk, sum, entropy, moments. */
static void same_figures(struct setting *s) {
  struct tombola__candidates *c = &s->c;
  double total = 0, spread = 0, sum = 0, squares = 0, entropy;
  float weights[64], top = s->plain.e[0].logit, origin = s->plain.e[s->plain.n / 2].logit;
  size_t seen = 0;
  for (size_t i = 0; i < s->plain.n; i++) {
    double y = ((double)s->plain.e[i].logit - (double)top) * (double)c->scale;
    double d = (double)s->plain.e[i].logit - (double)origin;
    total += exp(y);
    if (y > -600) spread += exp(y) * y;
    sum += d;
    squares += d * d;
  }
  assert_int_equal(tombola__candidates_entropy(c, &entropy), TOMBOLA_OK);
  assert_true(fabs(entropy - (log(total) - spread / total)) < 2e-5);
  double held = c->total;
  c->summed = false;
  assert_int_equal(tombola__candidates_sum(c), TOMBOLA_OK);
  assert_true(held == c->total && fabs(c->total - total) <= total * 2e-5);
  struct tombola__moments m;
  assert_int_equal(tombola__candidates_moments(c, origin, &m), TOMBOLA_OK);
  assert_int_equal(m.count, s->plain.n);
  assert_true(fabs(m.squares - squares) <= squares * 1e-5 + 1e-9);
  assert_true(fabs(m.sum - sum) <= sqrt(squares * (double)m.count) * 1e-5 + 1e-9);
  for (size_t first = 0, n; first < tombola__candidates_span(c); first += n) {
    n = tombola__candidates_weights(c, first, weights);
    for (size_t i = 0; i < n && weights[i] > 0; i++)
      seen += tombola__candidates_logit(c, first + i) > -INFINITY;
  }
  assert_true(seen <= s->plain.n);
}

/* Floors, cuts and edits in any order on dense sets, then a question. */
static void test_floor(void **state) {
  (void)state;
  struct support_rng rng = support_rng(15);
  static struct setting s;
  size_t floors = 0, cuts = 0;
  for (int round = 0; round < 1500; round++) {
    do {
      if (s.n) tombola__candidates_free(&s.c);
      begin(&s, &rng, tombola__kernels(NULL));
    } while (s.n < 700);
    assert_int_equal(tombola__candidates_index(&s.c), TOMBOLA_OK);
    for (size_t steps = support_below(&rng, 6); steps > 0 && s.c.dense && s.plain.n > 1; steps--) {
      size_t at = support_below(&rng, s.plain.n);
      if (support_below(&rng, 3) == 0) {
        tombola_token id = (tombola_token)support_below(&rng, s.n);
        float value = id == 0 ? 2 : support_below(&rng, 8) ? support_between(&rng, -15, 15) : -INFINITY;
        assert_int_equal(tombola__candidates_edit(&s.c, &id, 1, set_to, &value), TOMBOLA_OK);
        assert_int_equal(tombola__candidates_index(&s.c), TOMBOLA_OK);
        edit_plain(&s, id, value);
      } else if (support_below(&rng, 2)) {
        float threshold = s.plain.e[at].logit;
        assert_int_equal(tombola__candidates_keep_at_least(&s.c, threshold), TOMBOLA_OK);
        drop_plain(&s, threshold);
        floors += s.c.dense;
      } else {
        assert_int_equal(tombola__candidates_cut(&s.c, s.plain.e[at]), TOMBOLA_OK);
        s.plain.n = at + 1;
        cuts++;
      }
    }
    s.c.scale = 0.7f;
    s.c.summed = false;
    if (s.c.order == TOMBOLA__BY_ID || s.c.dense) same_figures(&s);
    s.c.scale = 1;
    s.c.summed = false;
    ask(&s, &rng);
  }
  tombola__candidates_free(&s.c);
  s.n = 0;
  assert_true(floors > 100 && cuts > 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_entries),         cmocka_unit_test(test_log),
      cmocka_unit_test(test_history),         cmocka_unit_test(test_questions),
      cmocka_unit_test(test_second_question), cmocka_unit_test(test_floor),
  };
  return cmocka_run_group_tests_name("candidates", tests, NULL, NULL);
}
