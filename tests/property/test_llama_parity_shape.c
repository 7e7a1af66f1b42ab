/* SPDX-License-Identifier: Apache-2.0 */
/* The same tokens as llama.cpp for top_n_sigma, typical and dynamic temperature: chains with dist(seed) and ours in
 * one process, on the same rows, 50 draws each; the first of each
 * pair is looked into in any case, probabilities too. Rows that ban tokens are left out: there llama.cpp's entropy is no
 * number, and its largest entropy counts what is banned (its golden records cover that).
 *
 * A token that differs is looked into, in double precision, and counted when it is one of these; anything else fails:
 *   cut       the tokens that only one side keeps lie on the bound: a logit at max - n * sigma, a mass within 1e-5 of p
 *             (sums of single precision), a score that ties with the last one kept
 *   draw      both tokens are right for the order in which each side walks: the uniform is in their part of the
 *             cumulative sum, to within 1e-6; where nothing ties the orders are the same */
#include <llama.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chain_model.h"
#include "random_rows.h"
#include "recorded_rows.h"
#include "support.h"

#define DRAWS   50
#define MAX_ROW 49152

struct set {
  const char *name;
  float sigma, typical, temperature, range, exponent;
  int32_t top_k;
};

static const struct set sets[] = {
    {"top_n_sigma 1", 1, 1, 1, 0, 1, 0},
    {"top_n_sigma 0.5, T 1.5", 0.5f, 1, 1.5f, 0, 1, 0},
    {"top_n_sigma 2, top_k 40, T 0.8", 2, 1, 0.8f, 0, 1, 40},
    {"typical 0.9", 0, 0.9f, 1, 0, 1, 0},
    {"typical 0.5, T 0.7", 0, 0.5f, 0.7f, 0, 1, 0},
    {"top_k 40, typical 0.95", 0, 0.95f, 1, 0, 1, 40},
    {"dynamic temperature 1 +- 0.5", 0, 1, 1, 0.5f, 1, 0},
    {"top_k 20, dynamic temperature 0.8 +- 0.8, exponent 2", 0, 1, 0.8f, 0.8f, 2, 20},
};

struct counts {
  size_t pairs, draws, cut, draw, failures;
};

static llama_token_data data[MAX_ROW];
static struct tombola_candidate kept[MAX_ROW];
static struct model_item ours_items[MAX_ROW], theirs_items[MAX_ROW];
static unsigned char marks[MAX_ROW];

struct pair {
  const struct set *set;
  const float *row;
  size_t count;
  tombola_sampler *ours, *probe;
  struct llama_sampler *theirs;
  llama_token_data_array array;
  struct model_mt mt;
};

/* ---- both samplers ---- */

static tombola_sampler *our_sampler(const struct set *set, size_t count, uint32_t seed) {
  static const char *const order[] = {"top_n_sigma", "top_k", "typical_p", "temperature"};
  struct tombola_sampler_params params = {.struct_size = sizeof params};
  tombola_sampler *sampler = NULL;
  assert_int_equal(tombola_sampler_params_default(&params, "llama.cpp", NULL), TOMBOLA_OK);
  params.samplers = order;
  params.n_samplers = 4;
  params.top_n_sigma = set->sigma;
  params.top_k = set->top_k;
  params.typical_p = set->typical;
  params.temperature = set->temperature;
  params.dynatemp_range = set->range;
  params.dynatemp_exponent = set->exponent;
  params.seed_mode = TOMBOLA_SEED_FIXED;
  params.seed = seed;
  assert_int_equal(tombola_sampler_new(&params, NULL, count, NULL, &sampler, NULL), TOMBOLA_OK);
  return sampler;
}

static void open_pair(struct pair *p, uint32_t seed) {
  p->ours = our_sampler(p->set, p->count, seed);
  p->probe = our_sampler(p->set, p->count, seed);
  p->theirs = llama_sampler_chain_init(llama_sampler_chain_default_params());
  llama_sampler_chain_add(p->theirs, llama_sampler_init_top_n_sigma(p->set->sigma));
  llama_sampler_chain_add(p->theirs, llama_sampler_init_top_k(p->set->top_k));
  llama_sampler_chain_add(p->theirs, llama_sampler_init_typical(p->set->typical, 0));
  llama_sampler_chain_add(p->theirs,
                          llama_sampler_init_temp_ext(p->set->temperature, p->set->range, p->set->exponent));
  llama_sampler_chain_add(p->theirs, llama_sampler_init_dist(seed));
  model_mt_seed(&p->mt, seed);
}

static void close_pair(struct pair *p) {
  tombola_sampler_free(p->ours);
  tombola_sampler_free(p->probe);
  llama_sampler_free(p->theirs);
}

static tombola_token their_token(struct pair *p) {
  for (size_t i = 0; i < p->count; i++)
    data[i] = (llama_token_data){(llama_token)i, p->row[i], 0};
  p->array = (llama_token_data_array){.data = data, .size = p->count, .selected = -1, .sorted = false};
  llama_sampler_apply(p->theirs, &p->array);
  return p->array.data[p->array.selected].id;
}

/* ---- the judge ---- */

static int falling(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return x > y ? -1 : x < y;
}

/* The candidates that come to the bound: the row, or its top_k best; llama.cpp's sigma comes before top_k. */
static size_t incoming(const struct pair *p, bool after_top_k, float *sorted) {
  memcpy(sorted, p->row, p->count * sizeof *sorted);
  qsort(sorted, p->count, sizeof *sorted, falling);
  size_t k = (size_t)p->set->top_k;
  return after_top_k && k > 0 && k < p->count ? k : p->count;
}

static bool on_sigma(const struct pair *p, float logit) {
  double sum = 0, squares = 0, max = -HUGE_VAL;
  for (size_t i = 0; i < p->count; i++) {
    sum += (double)p->row[i];
    max = (double)p->row[i] > max ? (double)p->row[i] : max;
  }
  for (size_t i = 0; i < p->count; i++)
    squares += pow((double)p->row[i] - sum / (double)p->count, 2);
  double bound = max - (double)p->set->sigma * sqrt(squares / (double)p->count);
  return fabs((double)logit - bound) <= 1e-5 * (1 + fabs(bound) + fabs(max));
}

/* Whether the mass of all tokens with a smaller score than this one's is within reach of p. */
static bool on_typical(const struct pair *p, float logit) {
  static float sorted[MAX_ROW];
  size_t n = incoming(p, true, sorted);
  double total = 0, entropy = 0, below = 0, up_to = 0;
  for (size_t i = 0; i < n; i++)
    total += exp((double)sorted[i] - (double)sorted[0]);
  for (size_t i = 0; i < n; i++) {
    double log_p = (double)sorted[i] - (double)sorted[0] - log(total);
    entropy -= exp(log_p) * log_p;
  }
  double score = fabs(-((double)logit - (double)sorted[0] - log(total)) - entropy);
  for (size_t i = 0; i < n; i++) {
    double log_p = (double)sorted[i] - (double)sorted[0] - log(total), own = fabs(-log_p - entropy);
    if (own < score - 2e-5 * (1 + score)) below += exp(log_p);
    if (own <= score + 2e-5 * (1 + score)) up_to += exp(log_p);
  }
  return below <= (double)p->set->typical + 1e-5 && up_to >= (double)p->set->typical - 1e-5;
}

static bool on_bound(const struct pair *p, float logit) {
  static float sorted[MAX_ROW];
  if (p->set->sigma > 0 && on_sigma(p, logit)) return true;
  if (p->set->typical < 1 && on_typical(p, logit)) return true;
  if (!p->set->top_k || (size_t)p->set->top_k >= p->count) return false;
  incoming(p, true, sorted);
  return logit == sorted[p->set->top_k - 1]; /* a tie at top_k's cut */
}

/* The items in each side's own order; false when a set is wrong, *same when they are the same. */
static bool sets_are_right(struct pair *p, size_t n_ours, size_t *n_theirs, bool *same) {
  *n_theirs = 0;
  *same = true;
  memset(marks, 0, p->count);
  for (size_t i = 0; i < n_ours; i++) {
    marks[kept[i].id] |= 1;
    ours_items[i] = (struct model_item){kept[i].id, (double)kept[i].logit, 0};
  }
  for (size_t i = 0; i < p->array.size; i++) {
    if (!(p->array.data[i].logit > -INFINITY)) continue;
    marks[p->array.data[i].id] |= 2;
    theirs_items[(*n_theirs)++] = (struct model_item){p->array.data[i].id, (double)p->array.data[i].logit, 0};
  }
  for (size_t i = 0; i < p->count; i++) {
    if (marks[i] != 1 && marks[i] != 2) continue;
    *same = false;
    if (!on_bound(p, p->row[i])) return false;
  }
  return true;
}

static bool drawn_rightly(const struct model_item *items, size_t n, tombola_token token, double u) {
  size_t place = 0;
  while (place < n && items[place].id != token)
    place++;
  return place < n && chain_model_near(items, n, place, u);
}

/* Where the sets are the same, so are the probabilities; but llama.cpp's entropy, and with it a dynamic temperature, is
 * a running sum of single precision, whose error grows with the row. */
static bool probabilities_agree(const struct pair *p, size_t n_ours) {
  double tolerance = 1e-5 + (p->set->range > 0 ? 4e-9 * (double)p->count : 0);
  static double of[MAX_ROW];
  for (size_t i = 0; i < n_ours; i++)
    of[kept[i].id] = kept[i].p;
  for (size_t i = 0; i < p->array.size; i++) {
    const llama_token_data *theirs = &p->array.data[i];
    if (theirs->logit > -INFINITY && fabs((double)theirs->p - of[theirs->id]) > tolerance) return false;
  }
  return true;
}

static void judge(struct pair *p, tombola_token ours, tombola_token theirs, double u, struct counts *counts) {
  struct tombola_row row = {p->row, p->count, TOMBOLA_F32};
  size_t n_ours, n_theirs;
  bool same;
  assert_int_equal(tombola_candidates(p->probe, &row, NULL, kept, p->count, &n_ours), TOMBOLA_OK);
  bool right = sets_are_right(p, n_ours, &n_theirs, &same) && drawn_rightly(ours_items, n_ours, ours, u) &&
               drawn_rightly(theirs_items, n_theirs, theirs, u) && (!same || probabilities_agree(p, n_ours));
  if (!right && counts->failures++ < 10)
    print_error("%s, row of %zu: ours %d of %zu, theirs %d of %zu, u %.9g\n", p->set->name, p->count,
                (int)ours, n_ours, (int)theirs, n_theirs, u);
  counts->cut += right && !same;
  counts->draw += right && same && ours != theirs;
}

/* ---- runs ---- */

static void run(const float *row, size_t count, size_t which, uint32_t seed, struct counts *counts) {
  struct pair p = {.set = &sets[which], .row = row, .count = count};
  struct tombola_row r = {row, count, TOMBOLA_F32};
  open_pair(&p, seed);
  counts->pairs++;
  for (size_t i = 0; i < DRAWS; i++) {
    tombola_token ours, theirs;
    double u = model_mt_uniform(&p.mt);
    assert_int_equal(tombola_sampler_sample(p.ours, &r, NULL, &ours), TOMBOLA_OK);
    theirs = their_token(&p);
    counts->draws++;
    if (i == 0 || ours != theirs) judge(&p, ours, theirs, u, counts);
  }
  close_pair(&p);
}

static void report(const struct counts *c) {
  print_message("%zu pairs, %zu draws: %zu cut, %zu draw, %zu failures\n", c->pairs, c->draws, c->cut,
                c->draw, c->failures);
  assert_int_equal(c->failures, 0);
}

static void run_random(uint64_t stream, size_t rows, size_t smallest, size_t largest) {
  static const enum row_shape shapes[] = {ROW_NORMAL, ROW_SHARP, ROW_PEAKS, ROW_BF16, ROW_TIED, ROW_FLAT};
  const size_t n_sets = sizeof sets / sizeof *sets;
  struct support_rng rng = support_rng(stream);
  struct counts counts = {0};
  static float row[MAX_ROW];
  for (size_t i = 0; i < rows; i++) {
    size_t count = smallest + support_below(&rng, largest - smallest + 1);
    random_row(&rng, shapes[i % (sizeof shapes / sizeof *shapes)], row, count);
    for (size_t s = 0; s < (count < 100 ? n_sets : 2); s++)
      run(row, count, (2 * i + s) % n_sets, (uint32_t)(i * 31 + s + 1), &counts);
  }
  report(&counts);
}

static void test_small(void **state) {
  (void)state;
  run_random(71, support_long() ? 6000 : 1800, 8, 64);
}

static void test_middle(void **state) {
  (void)state;
  run_random(72, support_long() ? 600 : 160, 129, 1500);
}

static void test_large(void **state) {
  (void)state;
  run_random(73, support_long() ? 60 : 12, 8000, 32000);
}

static void test_recorded(void **state) {
  (void)state;
  struct recorded_rows rows;
  struct counts counts = {0};
  if (!recorded_rows_make(&rows, 32)) skip();
  for (size_t i = 0; i < rows.count && rows.vocab <= MAX_ROW; i++)
    run(rows.logits + i * rows.vocab, rows.vocab, i % (sizeof sets / sizeof *sets), (uint32_t)i + 5, &counts);
  recorded_rows_free(&rows);
  report(&counts);
}

/* Another sigma, another p, another range: the judge must see each. */
static void test_judge(void **state) {
  (void)state;
  struct support_rng rng = support_rng(74);
  static float row[200];
  for (size_t which = 0; which < 3; which++) {
    struct set wrong = sets[which == 0 ? 0 : which == 1 ? 3 : 6];
    struct counts counts = {.failures = 1000}; /* so that nothing is printed */
    if (which == 0) wrong.sigma = 1.2f;
    if (which == 1) wrong.typical = 0.85f;
    if (which == 2) wrong.range = 0.45f;
    for (size_t i = 0; i < 20; i++) {
      random_row(&rng, ROW_NORMAL, row, 200);
      struct pair p = {.set = &sets[which == 0 ? 0 : which == 1 ? 3 : 6], .row = row, .count = 200};
      struct tombola_row r = {row, 200, TOMBOLA_F32};
      open_pair(&p, 9);
      tombola_sampler_free(p.ours);
      tombola_sampler_free(p.probe);
      p.ours = our_sampler(&wrong, 200, 9);
      p.probe = our_sampler(&wrong, 200, 9);
      for (size_t k = 0; k < DRAWS; k++) {
        tombola_token ours, theirs;
        double u = model_mt_uniform(&p.mt);
        assert_int_equal(tombola_sampler_sample(p.ours, &r, NULL, &ours), TOMBOLA_OK);
        theirs = their_token(&p);
        if (k == 0 || ours != theirs) judge(&p, ours, theirs, u, &counts);
      }
      close_pair(&p);
    }
    assert_true(counts.failures > 1000);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_judge), cmocka_unit_test(test_small),
                                     cmocka_unit_test(test_middle), cmocka_unit_test(test_large),
                                     cmocka_unit_test(test_recorded)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
