/* SPDX-License-Identifier: Apache-2.0 */
/* The same tokens as llama.cpp: its chain with dist(seed) and ours, in one process, on the same rows, 50
 * draws each, every token accepted on both sides. Kept sets and probabilities are compared as well.
 *
 * What may differ, each time worked out in double precision by the model of the chain, and counted:
 *   cut       the kept sets differ in tokens that tie at the cut, or whose cumulative mass is within 1e-5 of
 * the bound order     equal logits stand in another order, which llama.cpp leaves to its sort; ours is by id
 *   boundary  the uniform is within 1e-6 of a boundary of the cumulative sum
 * Anything else is a failure. */
#include <llama.h>
#include <math.h>
#include <string.h>

#include "chain_model.h"
#include "random_rows.h"
#include "recorded_rows.h"
#include "support.h"

#define DRAWS   50
#define MAX_ROW 49152 /* the default model's vocabulary; room is made for more when it needs it */

struct counts {
  size_t rows, pairs, draws, judged, cut, single, order, boundary, failures;
};

/* One row and one parameter set. Memory is shared by all pairs. */
struct pair {
  const float *row;
  size_t count;
  const struct chain_params *set;
  tombola_sampler *ours;
  struct llama_sampler *theirs;
  llama_token_data_array array; /* after the chain: what llama.cpp kept */
  struct model_mt mt;
  tombola_token history[DRAWS];
  size_t n_history;
  struct counts *counts;
};

static llama_token_data data[MAX_ROW];
static struct tombola_candidate kept[MAX_ROW];
static struct model_item low_items[MAX_ROW], wide_items[MAX_ROW], our_items[MAX_ROW], their_items[MAX_ROW];
static double our_weights[MAX_ROW];
static unsigned char marks[MAX_ROW];
static const struct model_item *wide_of[MAX_ROW];

/* ---- the two samplers ---- */

static struct llama_sampler *stage_of(const char *name, const struct chain_params *set, size_t count) {
  size_t keep = (size_t)set->min_keep;
  if (strcmp(name, "penalties") == 0)
    return llama_sampler_init_penalties((int32_t)count, set->repeat_last_n, set->repeat_penalty,
                                        set->frequency_penalty, set->presence_penalty);
  if (strcmp(name, "top_k") == 0) return llama_sampler_init_top_k(set->top_k);
  if (strcmp(name, "top_p") == 0) return llama_sampler_init_top_p(set->top_p, keep);
  if (strcmp(name, "min_p") == 0) return llama_sampler_init_min_p(set->min_p, keep);
  if (strcmp(name, "temperature") == 0) return llama_sampler_init_temp(set->temperature);
  llama_logit_bias bias[4];
  for (size_t i = 0; i < set->n_bias; i++)
    bias[i] = (llama_logit_bias){set->bias[i].token, set->bias[i].bias};
  return llama_sampler_init_logit_bias((int32_t)count, (int32_t)set->n_bias, bias);
}

static void pair_open(struct pair *pair, const struct chain_params *ours, uint32_t seed) {
  struct tombola_sampler_params params = library_params(ours, "llama.cpp", seed);
  struct tombola_error error = {0};
  if (tombola_sampler_new(&params, NULL, pair->count, NULL, &pair->ours, &error) != TOMBOLA_OK)
    fail_msg("%s: %s", ours->name, error.message);
  pair->theirs = llama_sampler_chain_init(llama_sampler_chain_default_params());
  for (size_t i = 0; pair->set->order[i]; i++)
    llama_sampler_chain_add(pair->theirs, stage_of(pair->set->order[i], pair->set, pair->count));
  llama_sampler_chain_add(pair->theirs, llama_sampler_init_dist(seed));
  model_mt_seed(&pair->mt, seed);
  pair->n_history = 0;
  pair->counts->pairs++;
}

static void pair_close(struct pair *pair) {
  tombola_sampler_free(pair->ours);
  llama_sampler_free(pair->theirs);
}

static tombola_token their_token(struct pair *pair) {
  for (size_t i = 0; i < pair->count; i++)
    data[i] = (llama_token_data){(llama_token)i, pair->row[i], 0};
  pair->array = (llama_token_data_array){.data = data, .size = pair->count, .selected = -1, .sorted = false};
  llama_sampler_apply(pair->theirs, &pair->array);
  return pair->array.data[pair->array.selected].id;
}

/* ---- the judge ---- */

static bool judge_fails(const struct pair *pair, const char *what, int token) {
  if (pair->counts->failures++ < 20)
    print_error("%s, row of %zu, draw %zu: %s (token %d)\n", pair->set->name, pair->count, pair->n_history,
                what, token);
  return false;
}

/* llama.cpp's candidates without the banned ones, which its list keeps. */
static size_t their_kept(struct pair *pair) {
  size_t n = 0;
  for (size_t i = 0; i < pair->array.size; i++)
    if (pair->array.data[i].logit > -INFINITY) pair->array.data[n++] = pair->array.data[i];
  pair->array.size = n;
  return n;
}

/* Marks of a set: 1 ours, 2 theirs. */
static bool same_sets(const struct pair *pair, size_t n_ours) {
  memset(marks, 0, pair->count);
  for (size_t i = 0; i < n_ours; i++)
    marks[kept[i].id] |= 1;
  for (size_t i = 0; i < pair->array.size; i++)
    marks[pair->array.data[i].id] |= 2;
  for (size_t i = 0; i < pair->count; i++)
    if (marks[i] == 1 || marks[i] == 2) return false;
  return true;
}

/* llama.cpp sums a softmax and a nucleus in single precision: over thousands of tokens in the tail that is
 * wrong by 1e-4. The sums are made again as it makes them, over the row by id and then down the ranking (the
 * two orders of its top_p), and must stop where it stopped. Only for a top_p that meets the row as it came.
 */
static bool single_precision_explains(const struct pair *pair) {
  const struct chain_params *set = pair->set;
  float max = -INFINITY, total = 0, running = 0;
  if (set->top_p >= 1 || set->top_k > 0 || set->biased || pair->set->repeat_last_n || set->min_p > 0)
    return false;
  for (size_t i = 0; i < pair->count; i++)
    max = pair->row[i] > max ? pair->row[i] : max;
  for (size_t i = 0; i < pair->count; i++)
    total += expf(pair->row[i] - max);
  for (size_t i = 0; i < pair->array.size; i++) {
    if (running >= set->top_p) return false;
    running += expf(pair->row[pair->array.data[i].id] - max) / total;
  }
  return running >= set->top_p;
}

/* What is above the last of the strict set must be kept, and what is kept must be in the wide set. 0 when all
 * is right, else 1 and the token. */
static int set_is_wrong(const struct pair *pair, const struct chain_model *low, unsigned whose, int *token) {
  double cut = HUGE_VAL;
  for (size_t i = 0; i < low->count; i++)
    cut = low->items[i].logit < cut ? low->items[i].logit : cut;
  for (size_t i = 0; i < low->count; i++) {
    *token = low->items[i].id;
    if (!chain_model_tied(low->items[i].logit, cut) && !(marks[*token] & whose)) return 1;
  }
  for (size_t i = 0; i < pair->count; i++) {
    *token = (int)i;
    if ((marks[i] & whose) && !wide_of[i]) return 1;
  }
  return 0;
}

static bool sets_are_right(struct pair *pair) {
  struct chain_model low;
  int token = 0;
  chain_model_run(&low, low_items, pair->row, pair->count, pair->set, pair->history, pair->n_history,
                  -MODEL_SLACK, false);
  if (set_is_wrong(pair, &low, 1, &token)) return judge_fails(pair, "our set is wrong", token);
  if (!set_is_wrong(pair, &low, 2, &token)) {
    pair->counts->cut++;
    return true;
  }
  if (!single_precision_explains(pair)) return judge_fails(pair, "their set is wrong", token);
  pair->counts->single++;
  pair->array.size = 0; /* nothing of it can be compared */
  return true;
}

/* 1e-6 and 4 units in the last place of the largest |logit| / temperature. */
static double tolerance_of(const struct pair *pair) {
  float largest = 0;
  for (size_t i = 0; i < pair->count; i++)
    if (isfinite(pair->row[i]) && fabsf(pair->row[i]) > largest) largest = fabsf(pair->row[i]);
  if (pair->set->temperature > 0) largest /= pair->set->temperature;
  return 1e-6 + 4 * (double)(nextafterf(largest, INFINITY) - largest);
}

static bool probabilities_are_right(struct pair *pair, size_t n_ours, bool same) {
  double tolerance = tolerance_of(pair);
  chain_model_weights(our_items, n_ours, our_weights);
  for (size_t i = 0; i < n_ours; i++)
    if (!(fabs(kept[i].p - our_weights[i]) <= tolerance))
      return judge_fails(pair, "our probability is wrong", kept[i].id);
  if (!same) return true;
  static double ours_of[MAX_ROW];
  for (size_t i = 0; i < n_ours; i++)
    ours_of[kept[i].id] = kept[i].p;
  for (size_t i = 0; i < pair->array.size; i++)
    if (!(fabs((double)pair->array.data[i].p - ours_of[pair->array.data[i].id]) <= tolerance))
      return judge_fails(pair, "the probabilities differ", pair->array.data[i].id);
  return true;
}

/* The order of a draw: by id until a stage has ranked, then by the ranking. Ours breaks ties by id. */
static bool order_is_right(const struct model_item *items, size_t n, bool ranked, bool strict) {
  for (size_t i = 1; i < n; i++) {
    const struct model_item *a = &items[i - 1], *b = &items[i];
    bool tie = !ranked || (strict && a->key == b->key);
    bool rises = ranked && a->key < b->key && !chain_model_tied(a->key, b->key);
    if (rises || (tie && a->id > b->id)) return false;
  }
  return true;
}

static bool draw_is_right(const struct model_item *items, size_t n, tombola_token token, double u) {
  size_t place = 0;
  while (place < n && items[place].id != token)
    place++;
  return place < n && chain_model_near(items, n, place, u);
}

static bool draws_are_right(struct pair *pair, const struct chain_model *wide, size_t n_ours, bool same,
                            tombola_token ours, tombola_token theirs, double u) {
  size_t n_theirs = pair->array.size;
  bool same_order = same;
  for (size_t i = 0; i < n_theirs; i++) {
    their_items[i] = *wide_of[pair->array.data[i].id];
    same_order = same_order && their_items[i].id == our_items[i].id;
  }
  if (!order_is_right(our_items, n_ours, wide->ranked, true))
    return judge_fails(pair, "our order is wrong", ours);
  if (!order_is_right(their_items, n_theirs, wide->ranked, false))
    return judge_fails(pair, "their order is no ranking", theirs);
  if (!draw_is_right(our_items, n_ours, ours, u)) return judge_fails(pair, "our draw is wrong", ours);
  if (ours == theirs || n_theirs == 0) return true;
  if (!draw_is_right(their_items, n_theirs, theirs, u))
    return judge_fails(pair, "the draws differ and theirs is wrong", theirs);
  if (same) {
    pair->counts->order += !same_order;
    pair->counts->boundary += same_order;
  }
  return true;
}

/* Both samplers stand before the acceptance of the tokens that they chose with u. */
static bool judge(struct pair *pair, tombola_token ours, tombola_token theirs, double u) {
  struct tombola_row row = {pair->row, pair->count, TOMBOLA_F32};
  struct chain_model wide;
  size_t n_ours = 0;
  pair->counts->judged++;
  their_kept(pair);
  if (tombola_candidates(pair->ours, &row, NULL, kept, pair->count, &n_ours) != TOMBOLA_OK)
    return judge_fails(pair, tombola_sampler_error(pair->ours)->message, ours);
  chain_model_run(&wide, wide_items, pair->row, pair->count, pair->set, pair->history, pair->n_history,
                  MODEL_SLACK, true);
  memset(wide_of, 0, pair->count * sizeof *wide_of);
  for (size_t i = 0; i < wide.count; i++)
    wide_of[wide.items[i].id] = &wide.items[i];
  bool same = same_sets(pair, n_ours);
  if (!same && !sets_are_right(pair)) return false;
  for (size_t i = 0; i < n_ours; i++) {
    if (!wide_of[kept[i].id]) return judge_fails(pair, "both keep it wrongly", kept[i].id);
    our_items[i] = *wide_of[kept[i].id];
  }
  return probabilities_are_right(pair, n_ours, same) &&
         draws_are_right(pair, &wide, n_ours, same, ours, theirs, u);
}

/* ---- runs ---- */

/* 50 draws in lockstep. The first and the last are judged in any case. */
static void run_pair(struct pair *pair) {
  struct tombola_row row = {pair->row, pair->count, TOMBOLA_F32};
  for (size_t i = 0; i < DRAWS; i++) {
    tombola_token ours;
    double u = model_mt_uniform(&pair->mt);
    if (tombola_sampler_sample(pair->ours, &row, NULL, &ours) != TOMBOLA_OK) {
      judge_fails(pair, tombola_sampler_error(pair->ours)->message, ours);
      return;
    }
    tombola_token theirs = their_token(pair);
    bool look = i == 0 || (i == DRAWS - 1 && pair->count <= 2048);
    if ((look || ours != theirs) && !judge(pair, ours, theirs, u)) return;
    tombola_sampler_accept(pair->ours, theirs);
    llama_sampler_accept(pair->theirs, theirs);
    pair->history[pair->n_history++] = theirs;
    pair->counts->draws++;
  }
}

/* A row against `sets` of the parameter sets, beginning with the row's own number, so that all get their
 * turn. */
static void run_row(const float *row, size_t count, size_t sets, struct counts *counts) {
  size_t first = counts->rows++ * sets;
  for (size_t i = 0; i < sets; i++) {
    struct chain_params set = parameter_set_for((first + i) % parameter_set_count, count);
    if (set.edits_after_a_cut && row_has_ties(row, count)) continue;
    struct pair pair = {.row = row, .count = count, .set = &set, .counts = counts};
    pair_open(&pair, &set, (uint32_t)(counts->pairs * 2654435761u + 1));
    run_pair(&pair);
    pair_close(&pair);
  }
}

static void report(const struct counts *c) {
  print_message("%zu rows, %zu pairs, %zu draws, %zu judged: %zu cut, %zu single, %zu order, %zu boundary, "
                "%zu failures\n",
                c->rows, c->pairs, c->draws, c->judged, c->cut, c->single, c->order, c->boundary,
                c->failures);
  assert_int_equal(c->failures, 0);
  assert_true(c->draws == c->pairs * DRAWS);
}

static void run_random(uint64_t stream, size_t rows, size_t smallest, size_t largest, size_t sets) {
  struct support_rng rng = support_rng(stream);
  struct counts counts = {0};
  static float row[MAX_ROW];
  for (size_t i = 0; i < rows; i++) {
    size_t count = smallest + support_below(&rng, largest - smallest + 1);
    random_row(&rng, (enum row_shape)(i % ROW_SHAPES), row, count);
    run_row(row, count, sets, &counts);
  }
  report(&counts);
}

static void test_small(void **state) {
  (void)state;
  run_random(1, support_long() ? 8000 : 2000, 8, 64, parameter_set_count);
}

static void test_middle(void **state) {
  (void)state;
  run_random(2, support_long() ? 1000 : 200, 129, 1500, support_long() ? parameter_set_count : 5);
}

static void test_large(void **state) {
  (void)state;
  run_random(3, support_long() ? 200 : 45, 4000, 32000, support_long() ? parameter_set_count : 2);
}

static void test_recorded(void **state) {
  (void)state;
  struct recorded_rows rows;
  struct counts counts = {0};
  if (!recorded_rows_make(&rows, 100)) {
    print_message("the default model isn't there: scripts/default-model fetches it\n");
    skip();
  }
  assert_true(rows.vocab <= MAX_ROW && rows.count == 100);
  for (size_t i = 0; i < rows.count; i++)
    run_row(rows.logits + i * rows.vocab, rows.vocab, support_long() ? parameter_set_count : 2, &counts);
  recorded_rows_free(&rows);
  report(&counts);
}

/* The judge must notice a sampler that is a little wrong: other parameters than llama.cpp's. */
static void test_judge(void **state) {
  (void)state;
  struct support_rng rng = support_rng(4);
  static float row[100];
  for (size_t which = 0; which < 4; which++) {
    struct counts counts = {.failures = 1000}; /* so that nothing is printed */
    for (size_t i = 0; i < 20; i++) {
      struct chain_params right = parameter_set_for(1, 100), wrong;
      right.repeat_penalty = 1.1f;
      right.repeat_last_n = 8;
      wrong = right;
      wrong.top_k += which == 0 ? -35 : 0;
      wrong.top_p -= which == 1 ? 0.02f : 0;
      wrong.repeat_last_n += which == 2;
      wrong.temperature += which == 3 ? 0.001f : 0;
      random_row(&rng, ROW_NORMAL, row, 100);
      struct pair pair = {.row = row, .count = 100, .set = &right, .counts = &counts};
      pair_open(&pair, &wrong, 5);
      run_pair(&pair);
      pair_close(&pair);
    }
    assert_true(counts.failures > 1000);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_judge), cmocka_unit_test(test_small),    cmocka_unit_test(test_middle),
      cmocka_unit_test(test_large), cmocka_unit_test(test_recorded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
