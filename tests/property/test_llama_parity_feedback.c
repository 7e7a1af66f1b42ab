/* SPDX-License-Identifier: Apache-2.0 */
/* The same tokens as llama.cpp for the stages with a state: dry, xtc, mirostat 1 and 2, adaptive_p. Its
 * samplers and ours run side by side in one process on the same rows; each token is accepted on both sides.
 *
 * A difference is looked into before the next draw, and counted when it is one of these; anything else fails:
 *   cut       tokens that only one side keeps lie on the bound, which llama.cpp computes in single precision
 *   order     the same tokens, equal ones among them in another order, which llama.cpp leaves to its sort
 *   boundary  the uniform is within 1e-5 of a boundary of the cumulative sum
 *   defect    mirostat 1, where llama.cpp divides by a probability that underflows, or converts a number of
 * tokens to int that is none; ours is checked against the formula As the stages learn from the token, a run
 * ends at its first difference. */
#include <llama.h>
#include <math.h>
#include <string.h>

#include "chain_model.h"
#include "random_rows.h"
#include "recorded_rows.h"
#include "sampler/internal.h"
#include "support.h"

#define MAX_ROW 49152
#define ROWS    8

enum kind { XTC, DRY, MIROSTAT, ADAPTIVE };

struct set {
  const char *name;
  enum kind kind;
  float a, b; /* probability, threshold; multiplier, base; tau, eta; target, decay */
  int32_t n;  /* allowed length; mirostat's version */
  int32_t last_n, top_k, min_keep;
  float min_p, temperature;
};

static const struct set sets[] = {
    {"xtc 0.5 0.1", XTC, 0.5f, 0.1f, 0, 0, 0, 0, 0, 1},
    {"xtc 1 0.02", XTC, 1, 0.02f, 0, 0, 0, 0, 0, 0.8f},
    {"top_k 40, min_p 0.02, xtc 0.5 0.05", XTC, 0.5f, 0.05f, 0, 0, 40, 0, 0.02f, 0.7f},
    {"xtc 0.9 0.05, min_keep 5", XTC, 0.9f, 0.05f, 0, 0, 0, 5, 0, 1},
    {"top_k 2, xtc 0.5 0.1", XTC, 0.5f, 0.1f, 0, 0, 2, 0, 0.4f, 1},
    {"dry 0.8 1.75 2", DRY, 0.8f, 1.75f, 2, 64, 0, 0, 0, 1},
    {"dry 0.5 1.2 1", DRY, 0.5f, 1.2f, 1, 20, 0, 0, 0, 0.6f},
    {"dry 0.3 1.1 0, top_k 40", DRY, 0.3f, 1.1f, 0, 1000, 40, 0, 0, 0.6f},
    {"mirostat 2", MIROSTAT, 5, 0.1f, 2, 0, 0, 0, 0, 1},
    {"mirostat 2, tau 1.5, fast", MIROSTAT, 1.5f, 0.9f, 2, 0, 0, 0, 0, 0.8f},
    {"mirostat 2, tau 9", MIROSTAT, 9, 1.5f, 2, 0, 0, 0, 0, 1.5f},
    {"mirostat 1", MIROSTAT, 5, 0.1f, 1, 0, 0, 0, 0, 1},
    {"mirostat 1, tau 2, fast", MIROSTAT, 2, 0.8f, 1, 0, 0, 0, 0, 0.9f},
    {"adaptive_p 0.3", ADAPTIVE, 0.3f, 0.9f, 0, 0, 0, 0, 0.02f, 1},
    {"adaptive_p 0.7, top_k 20", ADAPTIVE, 0.7f, 0.5f, 0, 0, 20, 0, 0, 1.2f},
    {"adaptive_p 0.05, all", ADAPTIVE, 0.05f, 0.99f, 0, 0, 0, 0, 0, 1},
};

struct counts {
  size_t pairs, draws, cut, order, boundary, defects, failures;
};

struct pair {
  const struct set *set;
  const float *rows;
  size_t count;
  tombola_sampler *ours, *probe;
  tombola_snapshot *before;
  struct llama_sampler *theirs;
  llama_token_data_array array;
  struct model_mt mt;
  struct counts *counts;
};

static llama_token_data data[MAX_ROW];
static struct tombola_candidate kept[MAX_ROW];
static unsigned char marks[MAX_ROW];

/* ---- both samplers ---- */

static struct tombola_sampler_params our_params(const struct set *set, uint32_t seed) {
  static const char *const xtc[] = {"top_k", "min_p", "xtc", "temperature"};
  static const char *const dry[] = {"dry", "top_k", "min_p", "temperature"};
  static const char *const adaptive[] = {"adaptive_p", "top_k", "min_p", "temperature"};
  struct tombola_sampler_params p = {.struct_size = sizeof p};
  tombola_sampler_params_default(&p, "llama.cpp", NULL);
  p.samplers = set->kind == XTC ? xtc : set->kind == DRY ? dry : set->kind == ADAPTIVE ? adaptive : NULL;
  p.n_samplers = p.samplers ? 4 : 0;
  p.seed_mode = TOMBOLA_SEED_FIXED;
  p.seed = seed;
  p.temperature = set->temperature;
  p.top_k = set->top_k;
  p.min_p = set->min_p;
  p.min_keep = set->min_keep;
  if (set->kind == XTC) p.xtc_probability = set->a, p.xtc_threshold = set->b;
  if (set->kind == DRY) p.dry_multiplier = set->a, p.dry_base = set->b;
  if (set->kind == DRY) p.dry_allowed_length = set->n, p.dry_penalty_last_n = set->last_n;
  if (set->kind == MIROSTAT) p.mirostat_tau = set->a, p.mirostat_eta = set->b, p.mirostat = set->n;
  if (set->kind == ADAPTIVE) p.adaptive_target = set->a, p.adaptive_decay = set->b;
  return p;
}

static struct llama_sampler *their_chain(const struct set *set, size_t count, uint32_t seed) {
  struct llama_sampler *chain = llama_sampler_chain_init(llama_sampler_chain_default_params());
  if (set->kind == DRY)
    llama_sampler_chain_add(chain,
                            llama_sampler_init_dry(NULL, set->a, set->b, set->n, set->last_n, NULL, 0));
  if (set->kind != MIROSTAT) {
    llama_sampler_chain_add(chain, llama_sampler_init_top_k(set->top_k));
    llama_sampler_chain_add(chain, llama_sampler_init_min_p(set->min_p, (size_t)set->min_keep));
  }
  if (set->kind == XTC)
    llama_sampler_chain_add(chain, llama_sampler_init_xtc(set->a, set->b, (size_t)set->min_keep, seed));
  llama_sampler_chain_add(chain, llama_sampler_init_temp(set->temperature));
  if (set->kind == MIROSTAT && set->n == 1)
    llama_sampler_chain_add(chain, llama_sampler_init_mirostat((int32_t)count, seed, set->a, set->b, 100));
  else if (set->kind == MIROSTAT)
    llama_sampler_chain_add(chain, llama_sampler_init_mirostat_v2(seed, set->a, set->b));
  else if (set->kind == ADAPTIVE)
    llama_sampler_chain_add(chain, llama_sampler_init_adaptive_p(set->a, set->b, seed));
  else
    llama_sampler_chain_add(chain, llama_sampler_init_dist(seed));
  return chain;
}

static void pair_open(struct pair *pair, uint32_t seed) {
  struct tombola_sampler_params params = our_params(pair->set, seed);
  struct tombola_error error = {0};
  if (tombola_sampler_new(&params, NULL, pair->count, NULL, &pair->ours, &error))
    fail_msg("%s: %s", pair->set->name, error.message);
  assert_int_equal(tombola_sampler_clone(pair->ours, &pair->probe), TOMBOLA_OK);
  assert_int_equal(tombola_snapshot_new(pair->ours, &pair->before), TOMBOLA_OK);
  pair->theirs = their_chain(pair->set, pair->count, seed);
  model_mt_seed(&pair->mt, seed);
  pair->counts->pairs++;
}

static void pair_close(struct pair *pair) {
  tombola_snapshot_free(pair->before);
  tombola_sampler_free(pair->probe);
  tombola_sampler_free(pair->ours);
  llama_sampler_free(pair->theirs);
}

static tombola_token their_token(struct pair *pair, const float *row) {
  for (size_t i = 0; i < pair->count; i++)
    data[i] = (llama_token_data){(llama_token)i, row[i], 0};
  pair->array = (llama_token_data_array){.data = data, .size = pair->count, .selected = -1, .sorted = false};
  llama_sampler_apply(pair->theirs, &pair->array);
  return pair->array.data[pair->array.selected].id;
}

/* ---- the judge ---- */

static bool wrong(struct pair *pair, size_t draw, const char *what, int token) {
  if (pair->counts->failures++ < 20)
    print_error("%s, row of %zu, draw %zu: %s (token %d)\n", pair->set->name, pair->count, draw, what, token);
  return false;
}

static double probability_in(const float *row, size_t count, double temperature, int token) {
  double max = -HUGE_VAL, total = 0;
  for (size_t i = 0; i < count; i++)
    max = (double)row[i] > max ? (double)row[i] : max;
  for (size_t i = 0; i < count; i++)
    total += exp(((double)row[i] - max) / temperature);
  return exp(((double)row[token] - max) / temperature) / total;
}

/* mirostat's mu before the draw. */
static double mu_of(const struct pair *pair) {
  const struct tombola__link *link = &pair->probe->plan->chain[pair->probe->plan->n_chain - 1];
  float mu;
  memcpy(&mu, pair->probe->state + link->state_offset, sizeof mu);
  return (double)mu;
}

/* Whether fewer than 100 tokens have a probability, and others none. */
static bool underflows(const struct pair *pair, const float *row) {
  size_t above = 0;
  float max = -INFINITY;
  if (pair->set->kind != MIROSTAT || pair->set->n != 1) return false;
  for (size_t i = 0; i < pair->count; i++)
    max = row[i] > max ? row[i] : max;
  for (size_t i = 0; i < pair->count; i++)
    above += (row[i] - max) / pair->set->temperature > -87;
  return above < 100 && above < pair->count;
}

static int falling(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return (x < y) - (x > y);
}

/* mirostat 1's number of tokens, from the paper's formulae, in double precision. */
static double zipf_number(const struct pair *pair, const float *row) {
  static float sorted[MAX_ROW];
  double products = 0, squares = 0, temperature = (double)pair->set->temperature;
  memcpy(sorted, row, pair->count * sizeof *row);
  qsort(sorted, pair->count, sizeof *sorted, falling);
  for (size_t i = 0; i + 1 < pair->count && i < 99; i++) {
    if ((sorted[i + 1] - sorted[0]) / pair->set->temperature < -87.33f) break;
    double t = log((double)(i + 2) / (double)(i + 1));
    products += t * ((double)sorted[i] - (double)sorted[i + 1]) / temperature;
    squares += t * t;
  }
  double s = products / squares, e = s - 1;
  return pow(e * exp2(mu_of(pair)) / (1 - pow((double)pair->count, -e)), 1 / s);
}

/* Whether a token that only one side keeps lies on the bound. */
static bool is_on_bound(const struct pair *pair, const float *row, size_t n_ours, int token) {
  const struct set *set = pair->set;
  if (set->kind == MIROSTAT && set->n == 1 &&
      (underflows(pair, row) || !(zipf_number(pair, row) < 2147483648.0)))
    return true; /* ours is looked at by its number */
  if (set->kind == MIROSTAT && set->n == 1)
    return fabs((double)n_ours - (double)pair->array.size) <= 1 + 2e-4 * (double)n_ours;
  if (set->kind == MIROSTAT) {
    double p = probability_in(row, pair->count, (double)set->temperature, token);
    return fabs(-log2(p) - mu_of(pair)) < 1e-3;
  }
  return set->kind == XTC && set->top_k == 0 && set->min_p <= 0 &&
         fabs(probability_in(row, pair->count, 1, token) - (double)set->b) < 1e-5;
}

static size_t their_kept(struct pair *pair) {
  size_t n = 0;
  for (size_t i = 0; i < pair->array.size; i++)
    if (pair->array.data[i].logit > -INFINITY) pair->array.data[n++] = pair->array.data[i];
  return pair->array.size = n;
}

/* 1 in `cut` when the sets differ as they may; false when they differ otherwise. */
static bool sets_are_right(struct pair *pair, size_t draw, const float *row, size_t n_ours, bool *cut) {
  memset(marks, 0, pair->count);
  for (size_t i = 0; i < n_ours; i++)
    marks[kept[i].id] |= 1;
  for (size_t i = 0; i < pair->array.size; i++)
    marks[pair->array.data[i].id] |= 2;
  for (size_t i = 0; i < pair->count; i++) {
    if (marks[i] == 0 || marks[i] == 3) continue;
    if (!is_on_bound(pair, row, n_ours, (int)i)) return wrong(pair, draw, "only one side keeps it", (int)i);
    *cut = true;
  }
  return true;
}

static bool same_probabilities(struct pair *pair, size_t draw, size_t n) {
  static double ours_of[MAX_ROW];
  for (size_t i = 0; i < n; i++)
    ours_of[kept[i].id] = kept[i].p;
  for (size_t i = 0; i < n; i++) {
    double theirs = (double)pair->array.data[i].p;
    if (fabs(theirs - ours_of[pair->array.data[i].id]) > 1e-5 + 1e-3 * theirs)
      return wrong(pair, draw, "the probabilities differ", pair->array.data[i].id);
  }
  return true;
}

static bool same_order(const struct pair *pair, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (kept[i].id != pair->array.data[i].id) return false;
  return true;
}

/* The same, but where equal tokens stand in each other's places. */
static bool order_is_right(const struct pair *pair, size_t n) {
  for (size_t i = 0; i < n; i++) {
    double difference = fabs(kept[i].p - (double)pair->array.data[i].p);
    if (difference > 1e-6 + 1e-3 * kept[i].p) return false;
  }
  return true;
}

static bool is_near_boundary(size_t n, double u) {
  double running = 0;
  for (size_t i = 0; i < n; i++)
    if (fabs((running += kept[i].p) - u) < 1e-5) return true;
  return false;
}

/* pair->probe stands where both samplers stood before the draw. */
static bool judge(struct pair *pair, size_t draw, const float *row, tombola_token ours, tombola_token theirs,
                  double u) {
  struct tombola_row r = {row, pair->count, TOMBOLA_F32};
  size_t n;
  bool cut = false;
  their_kept(pair);
  if (tombola_candidates(pair->probe, &r, NULL, kept, pair->count, &n) != TOMBOLA_OK)
    return wrong(pair, draw, "no candidates", ours);
  if (!sets_are_right(pair, draw, row, n, &cut)) return false;
  if (cut && pair->set->kind == MIROSTAT && pair->set->n == 1) {
    double k = zipf_number(pair, row);
    double wanted = k < 1 ? 1 : k < (double)pair->count ? k : (double)pair->count;
    if (fabs(floor(wanted) - (double)n) > 1 + 1e-4 * wanted)
      return wrong(pair, draw, "our number is wrong", ours);
    bool theirs_is_defect = underflows(pair, row) || !(k < 2147483648.0);
    pair->counts->defects += theirs_is_defect;
    if (theirs_is_defect) return true;
  }
  pair->counts->cut += cut;
  if (cut) return true;
  if (!same_probabilities(pair, draw, n)) return false;
  if (ours == theirs) return true;
  if (!same_order(pair, n)) {
    pair->counts->order++;
    return order_is_right(pair, n) || wrong(pair, draw, "the order differs", ours);
  }
  pair->counts->boundary++;
  return is_near_boundary(n, u) || wrong(pair, draw, "another token was drawn", ours);
}

/* ---- runs ---- */

/* The samplers that choose use up no uniform when one token is left. */
static double next_uniform(struct pair *pair) {
  bool chooses = pair->set->kind == MIROSTAT || pair->set->kind == ADAPTIVE;
  return chooses && pair->array.size == 1 ? 0 : model_mt_uniform(&pair->mt);
}

static void run_pair(struct pair *pair, size_t draws) {
  for (size_t i = 0; i < draws; i++) {
    const float *row = pair->rows + i % ROWS * pair->count;
    struct tombola_row r = {row, pair->count, TOMBOLA_F32};
    tombola_token ours;
    assert_int_equal(tombola_snapshot_take(pair->before, pair->ours), TOMBOLA_OK);
    if (tombola_sampler_sample(pair->ours, &r, NULL, &ours) != TOMBOLA_OK) {
      wrong(pair, i, tombola_sampler_error(pair->ours)->message, ours);
      return;
    }
    tombola_token theirs = their_token(pair, row);
    double u = next_uniform(pair);
    bool single = pair->set->kind == MIROSTAT && pair->set->n == 1 && pair->array.size == 1;
    if (ours != theirs || i == 0 || single || (i == draws - 1 && pair->count < 2000)) {
      size_t defects = pair->counts->defects;
      assert_int_equal(tombola_snapshot_restore(pair->before, pair->probe), TOMBOLA_OK);
      if (!judge(pair, i, row, ours, theirs, u) || ours != theirs || pair->counts->defects > defects) return;
    }
    tombola_sampler_accept(pair->ours, theirs);
    llama_sampler_accept(pair->theirs, theirs);
    pair->counts->draws++;
  }
}

static void run_rows(const float *rows, size_t count, size_t draws, struct counts *counts) {
  for (size_t i = 0; i < TOMBOLA__COUNT(sets); i++) {
    struct pair pair = {.set = &sets[i], .rows = rows, .count = count, .counts = counts};
    pair_open(&pair, (uint32_t)(counts->pairs * 2654435761u + 1));
    run_pair(&pair, draws);
    pair_close(&pair);
  }
}

static void report(const struct counts *c, size_t draws) {
  print_message("%zu pairs, %zu draws: %zu cut, %zu order, %zu boundary, %zu defects, %zu failures\n",
                c->pairs, c->draws, c->cut, c->order, c->boundary, c->defects, c->failures);
  assert_int_equal(c->failures, 0);
  assert_true(c->draws > c->pairs * draws * 9 / 10);
}

static void run_random(uint64_t stream, size_t rounds, size_t smallest, size_t largest, size_t draws) {
  static const enum row_shape shapes[] = {ROW_NORMAL, ROW_PEAKS, ROW_SHARP, ROW_WIDE, ROW_PEAKS, ROW_FLAT};
  static float rows[ROWS * 16384];
  struct support_rng rng = support_rng(stream);
  struct counts counts = {0};
  for (size_t i = 0; i < rounds; i++) {
    size_t count = smallest + support_below(&rng, largest - smallest + 1);
    for (size_t r = 0; r < ROWS; r++)
      random_row(&rng, shapes[(i + r / 4) % TOMBOLA__COUNT(shapes)], rows + r * count, count);
    run_rows(rows, count, draws, &counts);
  }
  report(&counts, draws);
}

static void test_small(void **state) {
  (void)state;
  run_random(1, support_long() ? 400 : 60, 8, 64, 300);
}

static void test_middle(void **state) {
  (void)state;
  run_random(2, support_long() ? 80 : 12, 129, 1500, 100);
}

static void test_large(void **state) {
  (void)state;
  run_random(3, support_long() ? 20 : 3, 4000, 16384, 50);
}

static void test_recorded(void **state) {
  (void)state;
  struct recorded_rows rows;
  struct counts counts = {0};
  if (!recorded_rows_make(&rows, 96)) {
    print_message("the default model isn't there: scripts/default-model fetches it\n");
    skip();
  }
  assert_true(rows.vocab <= MAX_ROW);
  for (size_t i = 0; i + ROWS <= rows.count; i += support_long() ? ROWS : 5 * ROWS)
    run_rows(rows.logits + i * rows.vocab, rows.vocab, 24, &counts);
  recorded_rows_free(&rows);
  report(&counts, 24);
}

/* ---- dry with sequence breakers, on the default model's vocabulary ---- */

static const char *const dry_lists[][5] = {{"\n", ":", "\"", "*", NULL},
                                           {" the", "numbers", "; if", NULL, NULL},
                                           {"ment", "\n\n", "0", "clerk had", "e s"}};

static enum tombola_status tokenize(void *context, const char *text, size_t length, int special,
                                    tombola_token *tokens, size_t capacity, size_t *count) {
  int32_t n = llama_tokenize(context, text, (int32_t)length, tokens, (int32_t)capacity, false, special != 0);
  *count = (size_t)(n < 0 ? -n : n);
  return n < 0 ? TOMBOLA_OUT_OF_RANGE : TOMBOLA_OK;
}

static tombola_vocabulary *vocabulary_of(struct llama_vocab *vocab) {
  static char bytes[MAX_ROW * 64];
  static size_t offsets[MAX_ROW + 1];
  size_t n = (size_t)llama_vocab_n_tokens(vocab);
  for (size_t i = 0; i < n; i++) {
    int32_t length = llama_token_to_piece(vocab, (llama_token)i, bytes + offsets[i], 256, 0, true);
    assert_true(length >= 0 && offsets[i] + 512 < sizeof bytes);
    offsets[i + 1] = offsets[i] + (size_t)length;
  }
  struct tombola_vocabulary_source source = {.struct_size = sizeof source,
                                             .count = n,
                                             .bytes = bytes,
                                             .offsets = offsets,
                                             .tokenize = tokenize,
                                             .tokenize_context = vocab};
  tombola_vocabulary *vocabulary;
  assert_int_equal(tombola_vocabulary_new(&source, NULL, &vocabulary, NULL), TOMBOLA_OK);
  return vocabulary;
}

/* Pieces of a text, again and again, so that much repeats. */
static size_t repeating_history(struct support_rng *rng, const llama_token *text, size_t n,
                                tombola_token *out) {
  size_t count = 0;
  while (count < 250) {
    size_t from = support_below(rng, n), length = 1 + support_below(rng, 12);
    for (size_t i = from; i < n && i < from + length; i++)
      out[count++] = text[i];
    if (support_below(rng, 3) == 0) out[count++] = text[0];
  }
  return count;
}

static size_t compare_logits(tombola_sampler *ours, struct llama_sampler *theirs, const float *row,
                             size_t count) {
  struct tombola_row r = {row, count, TOMBOLA_F32};
  size_t n, changed = 0;
  assert_int_equal(tombola_candidates(ours, &r, NULL, kept, count, &n), TOMBOLA_OK);
  assert_int_equal(n, count);
  for (size_t i = 0; i < count; i++)
    data[i] = (llama_token_data){(llama_token)i, row[i], 0};
  llama_token_data_array array = {.data = data, .size = count, .selected = -1, .sorted = false};
  llama_sampler_apply(theirs, &array);
  for (size_t i = 0; i < count; i++) {
    double tolerance = 1e-5 + 1e-5 * fabs((double)data[i].logit);
    changed += data[i].logit != row[i];
    if (fabs((double)kept[i].logit - (double)data[i].logit) > tolerance)
      fail_msg("token %zu: %g, llama.cpp %g", i, (double)kept[i].logit, (double)data[i].logit);
  }
  return changed;
}

/* Histories of one list of breakers; how many logits were changed. */
static size_t run_breakers(struct support_rng *rng, struct llama_vocab *vocab,
                           const tombola_vocabulary *vocabulary, const llama_token *text, size_t n,
                           const char *const list[5]) {
  static float row[MAX_ROW];
  const char *theirs_list[5];
  struct set set = {"breakers", DRY, 0.7f, 1.3f, 2, 100, 0, 0, 0, 1};
  struct tombola_sampler_params params = our_params(&set, 1);
  size_t count = tombola_vocabulary_count(vocabulary), size = 0, changed = 0;
  for (; size < 5 && list[size]; size++)
    theirs_list[size] = list[size];
  params.dry_sequence_breakers = list;
  params.n_dry_sequence_breakers = size;
  tombola_sampler *ours;
  assert_int_equal(tombola_sampler_new(&params, vocabulary, count, NULL, &ours, NULL), TOMBOLA_OK);
  struct llama_sampler *theirs =
      llama_sampler_init_dry(vocab, set.a, set.b, set.n, set.last_n, theirs_list, size);
  random_row(rng, ROW_NORMAL, row, count);
  for (int round = 0; round < 40; round++) {
    tombola_token history[300];
    size_t length = repeating_history(rng, text, n, history);
    tombola_sampler_reset(ours);
    llama_sampler_reset(theirs);
    for (size_t i = 0; i < length; i++) {
      tombola_sampler_accept(ours, history[i]);
      llama_sampler_accept(theirs, history[i]);
      if (i > 200 && i % 16 == 0) changed += compare_logits(ours, theirs, row, count);
    }
  }
  tombola_sampler_free(ours);
  llama_sampler_free(theirs);
  return changed;
}

static void test_breakers(void **state) {
  (void)state;
  static const char text[] =
      "The clerk had seen them. \"Five numbers,\" he called: 3, 7, 10!\n\nIf the first "
      "payment was hers; if the second came, the rent *and* the statement.\n";
  struct llama_model *model = recorded_rows_vocabulary();
  struct support_rng rng = support_rng(5);
  llama_token tokens[128];
  if (!model) skip();
  struct llama_vocab *vocab = (struct llama_vocab *)(uintptr_t)llama_model_get_vocab(model);
  tombola_vocabulary *vocabulary = vocabulary_of(vocab);
  int32_t n = llama_tokenize(vocab, text, (int32_t)strlen(text), tokens, 128, false, false);
  assert_true(n > 20);
  for (size_t l = 0; l < TOMBOLA__COUNT(dry_lists); l++)
    assert_true(run_breakers(&rng, vocab, vocabulary, tokens, (size_t)n, dry_lists[l]) > 30);
  tombola_vocabulary_free(vocabulary);
  llama_model_free(model);
}

/* The judge must notice other parameters than llama.cpp's. */
static void test_judge(void **state) {
  (void)state;
  struct support_rng rng = support_rng(4);
  static float rows[ROWS * 100];
  for (size_t i = 0; i < TOMBOLA__COUNT(sets); i++) {
    struct counts counts = {.failures = 1000}; /* so that nothing is printed */
    for (size_t r = 0; r < ROWS; r++)
      random_row(&rng, ROW_NORMAL, rows + r * 100, 100);
    struct set other = sets[i];
    other.a *= other.kind == MIROSTAT ? 0.5f : 0.9f;
    other.b *= 0.97f;
    struct pair pair = {.set = &other, .rows = rows, .count = 100, .counts = &counts};
    pair_open(&pair, 7);
    llama_sampler_free(pair.theirs);
    pair.theirs = their_chain(&sets[i], 100, 7);
    pair.set = &sets[i];
    run_pair(&pair, 400);
    pair_close(&pair);
    if (counts.failures == 1000) fail_msg("%s: the judge is blind", sets[i].name);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_judge), cmocka_unit_test(test_small),    cmocka_unit_test(test_middle),
      cmocka_unit_test(test_large), cmocka_unit_test(test_recorded), cmocka_unit_test(test_breakers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
