/* SPDX-License-Identifier: Apache-2.0 */
/* Every draw rule, with every generator, has the law of the distribution: chi-square against probabilities in
 * doubles, fixed seeds, and controls that must be rejected. The kept sets are worked out here by their
 * definitions. */
#include "draw_support.h"

#define VOCAB  96
#define ACCEPT 1e-4 /* with fixed seeds a test either always fails or never does */
#define REJECT 1e-9

static size_t draws(void) {
  return support_long() ? 200000 : 20000;
}

/* What is kept before the draw. */
struct filter {
  const char *name;
  int32_t top_k;
  float top_p, min_p, temperature;
  bool ties, exceeds, joint; /* the dialect's rules */
};

struct experiment {
  const struct tombola__generator *generator;
  struct filter filter;
  enum tombola_draw_rule rule;
  float row[VOCAB];
};

/* Whether a token is kept, from the weights before the temperature: top_k and top_p each over the whole row,
 * or top_p over what top_k left. */
static bool keeps(const struct experiment *e, const double *weight, size_t id) {
  const struct filter *f = &e->filter;
  size_t count = 0;
  double mass = 0, total = 0, best = 0;
  size_t order[VOCAB];
  for (size_t i = 0; i < VOCAB; i++) { /* by rank */
    size_t k = i;
    for (; k > 0 && weight[order[k - 1]] < weight[i]; k--)
      order[k] = order[k - 1];
    order[k] = i;
    best = weight[i] > best ? weight[i] : best;
  }
  for (size_t i = 0; i < VOCAB; i++)
    if (f->joint || !f->top_k || i < (size_t)f->top_k) total += weight[order[i]];
  for (size_t i = 0; order[i] != id; i++) {
    if (f->ties && weight[order[i]] == weight[id]) continue; /* all of a kind share their fate */
    count++;
    mass += weight[order[i]];
  }
  if (f->top_k && count >= (size_t)f->top_k) return false;
  double target = (double)f->top_p * total;
  if (f->top_p < 1 && count && (f->exceeds ? mass > target : mass >= target)) return false;
  return weight[id] >= (double)f->min_p * best;
}

static void exact(const struct experiment *e, double *expected) {
  double weight[VOCAB], total = 0;
  for (size_t i = 0; i < VOCAB; i++)
    weight[i] = exp((double)e->row[i]);
  for (size_t i = 0; i < VOCAB; i++) {
    bool kept = weight[i] > 0 && keeps(e, weight, i);
    expected[i] = kept ? exp((double)e->row[i] / (double)e->filter.temperature) : 0;
    total += expected[i];
  }
  for (size_t i = 0; i < VOCAB; i++)
    expected[i] /= total;
}

static struct tombola_draw_counts draw(const struct experiment *e, size_t *observed) {
  struct tombola_sampler_params params = plain_params();
  params.draw = e->rule;
  params.top_k = e->filter.top_k;
  params.top_p = e->filter.top_p;
  params.min_p = e->filter.min_p;
  params.temperature = e->filter.temperature;
  tombola_sampler *sampler = make_sampler(&params, VOCAB);
  struct tombola__dialect dialect = *sampler->plan->dialect;
  dialect.rejection_joint = e->filter.joint;
  dialect.top_k_ties = dialect.top_p_ties = e->filter.ties;
  dialect.top_p_exceeds = e->filter.exceeds;
  replace_dialect(sampler, &dialect, e->generator);
  struct tombola_row row = {e->row, VOCAB, TOMBOLA_F32};
  memset(observed, 0, VOCAB * sizeof *observed);
  for (size_t i = 0; i < draws(); i++) {
    tombola_token token;
    assert_int_equal(tombola_sampler_sample(sampler, &row, NULL, &token), TOMBOLA_OK);
    observed[token]++;
  }
  struct tombola_draw_counts counts = tombola_sampler_draw_counts(sampler);
  tombola_sampler_free(sampler);
  return counts;
}

enum shape { NORMAL, FLAT, STEEP, TIED, BANNED, SHAPES };

static void make_row(struct support_rng *rng, enum shape shape, float *row) {
  for (size_t i = 0; i < VOCAB; i++) {
    row[i] = support_normal(rng, 0, shape == FLAT ? 0.01f : shape == STEEP ? 5 : 1.5f);
    if (shape == TIED) row[i] = roundf(row[i]);
    if (shape == BANNED && i % 3) row[i] = -INFINITY;
  }
}

static const char *const rules[] = {"cdf", "gumbel", "rejection"};

static const struct tombola__generator *const generators[] = {
    &tombola__mt19937,  &tombola__pcg32,  &tombola__chacha12,
    &tombola__threefry, &tombola__philox, &tombola__counter,
};

static void check(struct experiment *e) {
  double expected[VOCAB];
  size_t observed[VOCAB];
  exact(e, expected);
  draw(e, observed);
  double p = support_chi_square(observed, expected, VOCAB, draws());
  if (p < ACCEPT) fail_msg("%s, %s, %s: p = %g", rules[e->rule], e->generator->name, e->filter.name, p);
}

static const struct filter none = {.name = "none", .top_p = 1, .temperature = 1};

static void every_rule_and_generator(void **state) {
  (void)state;
  struct support_rng rng = support_rng(91);
  size_t n = 0;
  for (int rule = 0; rule < 3; rule++) {
    for (size_t g = 0; g < sizeof generators / sizeof *generators; g++) {
      struct experiment e = {
          .generator = generators[g], .filter = none, .rule = (enum tombola_draw_rule)rule};
      e.filter.temperature = n % 2 ? 0.7f : 1.3f;
      make_row(&rng, (enum shape)(n++ % SHAPES), e.row);
      check(&e);
    }
  }
}

static const struct filter filters[] = {
    {"top_k", 12, 1, 0, 0.8f, false, false, false},
    {"top_k, ties kept", 12, 1, 0, 0.8f, true, false, false},
    {"top_p", 0, 0.6f, 0, 1.2f, false, false, false},
    {"top_p passed, ties kept", 0, 0.6f, 0, 1.2f, true, true, true},
    {"min_p", 0, 1, 0.2f, 1, false, false, false},
    {"top_p and min_p", 0, 0.8f, 0.1f, 0.9f, false, false, false},
    {"all three, judged together", 20, 0.7f, 0.05f, 0.7f, true, true, true},
};

/* The filters are the draw's own here: the counts say so. */
static void rejection_with_filters(void **state) {
  (void)state;
  struct support_rng rng = support_rng(92);
  for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
    for (int shape = 0; shape < SHAPES; shape++) {
      struct experiment e = {
          .generator = &tombola__philox, .filter = filters[i], .rule = TOMBOLA_DRAW_REJECTION};
      double expected[VOCAB];
      size_t observed[VOCAB];
      make_row(&rng, (enum shape)shape, e.row);
      exact(&e, expected);
      struct tombola_draw_counts counts = draw(&e, observed);
      double p = support_chi_square(observed, expected, VOCAB, draws());
      if (p < ACCEPT) fail_msg("%s, shape %d: p = %g", filters[i].name, shape, p);
      assert_true(counts.draws == draws() && counts.most <= 32 && counts.exhausted == 0);
      bool tests = e.filter.top_k || e.filter.top_p < 1; /* min_p needs none: it bounds the first round */
      if (!tests) assert_true(counts.rounds == counts.draws);
      if (tests && shape == FLAT) assert_true(counts.rounds > counts.draws);
    }
  }
}

/* The controls: a law that is a little off is seen by the same test. */
static void wrong_laws_are_seen(void **state) {
  (void)state;
  struct support_rng rng = support_rng(93);
  for (int rule = 0; rule < 3; rule++) {
    struct experiment e = {
        .generator = &tombola__counter, .filter = none, .rule = (enum tombola_draw_rule)rule};
    double expected[VOCAB];
    size_t observed[VOCAB];
    make_row(&rng, NORMAL, e.row);
    draw(&e, observed);
    e.filter.temperature = 1.15f;
    exact(&e, expected);
    assert_true(support_chi_square(observed, expected, VOCAB, draws()) < REJECT);
    e.filter = none;
    e.filter.top_k = VOCAB * 3 / 4; /* the least likely are drawn, though the law says never */
    exact(&e, expected);
    assert_true(support_chi_square(observed, expected, VOCAB, draws()) < REJECT);
  }
}

/* The bare draw, for both boundary rules. */
static void bare_draws(void **state) {
  (void)state;
  struct support_rng rng = support_rng(94);
  for (int strict = 0; strict < 2; strict++) {
    struct tombola_sampler_params params = plain_params();
    tombola_sampler *sampler = make_sampler(&params, VOCAB);
    struct tombola__dialect dialect = *sampler->plan->dialect;
    dialect.draw_strict = strict;
    replace_dialect(sampler, &dialect, &tombola__chacha12);
    float weights[20];
    double expected[20], total = 0;
    size_t observed[20] = {0};
    for (size_t i = 0; i < 20; i++) {
      weights[i] = i % 4 == 1 ? 0 : support_between(&rng, 0, 7);
      total += (double)weights[i];
    }
    for (size_t i = 0; i < 20; i++)
      expected[i] = (double)weights[i] / total;
    for (size_t i = 0; i < draws(); i++) {
      tombola_token token;
      assert_int_equal(tombola_draw(sampler, weights, 20, &token), TOMBOLA_OK);
      observed[token]++;
    }
    assert_true(support_chi_square(observed, expected, 20, draws()) > ACCEPT);
    expected[0] += 0.05; /* the control */
    for (size_t i = 0; i < 20; i++)
      expected[i] /= 1.05;
    assert_true(support_chi_square(observed, expected, 20, draws()) < REJECT);
    tombola_sampler_free(sampler);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_rule_and_generator),
      cmocka_unit_test(rejection_with_filters),
      cmocka_unit_test(wrong_laws_are_seen),
      cmocka_unit_test(bare_draws),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
