/* SPDX-License-Identifier: Apache-2.0 */
/* Speculation leaves the law of whole answers as it is: on a scripted model with four tokens, all answers of
 * up to four tokens are enumerated with their probabilities, by the distributions of the plain chain along
 * each path, and many answers with speculation are compared with them by a chi-square test. For every
 * dialect, with penalties, top_p and a mask that depends on the answer, with drafts from a model and from the
 * text. Where the plain law can't be told from distributions alone (what a stage learns from a choice) plain
 * answers are the yardstick. A loop of the test's own with a wrong rule shows that the test would notice. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <tombola/session.h>

#include "../unit/scripts.h"
#include "support.h"

enum { VOCAB = 4, END = 3, LENGTH = 4, CLASSES = 256, STEPS = 6 };

static const tombola_token prompt[] = {0, 1, 2, 0, 1, 1, 2, 0, 2, 0, 1};
enum { PROMPT = sizeof prompt / sizeof *prompt };

#define GOOD_FIT  1e-3
#define WRONG_FIT 1e-9

static size_t draws(void) {
  return support_long() ? 200000 : 4000;
}

/* ---- the models ---- */

/* A script's rows: after token 0 its own, else by the number of tokens generated. */
struct table {
  float by_last[VOCAB], steps[STEPS][VOCAB];
};

/* The end is unlikely, so that most answers are long. */
static void fill_row(float *row, struct support_rng *rng) {
  for (size_t i = 0; i < VOCAB; i++)
    row[i] = support_between(rng, -1.2f, 1.2f) - (i == END ? 1.2f : 0);
}

static void fill(struct table *table, struct support_rng *rng) {
  fill_row(table->by_last, rng);
  for (size_t s = 0; s < STEPS; s++)
    fill_row(table->steps[s], rng);
}

/* The draft model is wrong in half of what it says. */
static void blur(const struct table *target, struct table *draft, struct support_rng *rng) {
  fill(draft, rng);
  for (size_t i = 0; i < VOCAB; i++)
    draft->by_last[i] = 0.5f * (draft->by_last[i] + target->by_last[i]);
  for (size_t s = 0; s < STEPS; s++)
    for (size_t i = 0; i < VOCAB; i++)
      draft->steps[s][i] = 0.5f * (draft->steps[s][i] + target->steps[s][i]);
}

static size_t print_row(char *text, size_t size, const float *row) {
  return (size_t)snprintf(text, size, "{\"logits\": [%.9g, %.9g, %.9g, %.9g]}", (double)row[0],
                          (double)row[1], (double)row[2], (double)row[3]);
}

static tombola_model *load(const struct table *table) {
  char json[2048];
  size_t n = (size_t)snprintf(json, sizeof json,
                              "{\"vocab\": [\"a\", \"b\", \"c\", \"<end>\"], \"end\": [3], \"context\": 64, "
                              "\"after\": \"repeat\", \"by_last\": {\"0\": ");
  n += print_row(json + n, sizeof json - n, table->by_last);
  n += (size_t)snprintf(json + n, sizeof json - n, "}, \"steps\": [");
  for (size_t s = 0; s < STEPS; s++) {
    n += print_row(json + n, sizeof json - n, table->steps[s]);
    n += (size_t)snprintf(json + n, sizeof json - n, s + 1 < STEPS ? ", " : "]}");
  }
  assert_true(n < sizeof json);
  return script_load(json, NULL);
}

static const float *row_of(const struct table *table, tombola_token last, size_t step) {
  return last == 0 ? table->by_last : table->steps[step];
}

/* Forbids one token of a, b, c, in turn and by what came last. */
/* In the narrow setting only one token may come at every other place, and the mask lists it. */
static bool narrow;

static uint32_t mask_word(const tombola_token *answer, size_t count) {
  tombola_token last = count ? answer[count - 1] : 1;
  if (narrow && (count + (size_t)last) % 2) return 1u << (size_t)(last + 1) % 3;
  return 0xFu & ~(1u << ((count + (size_t)last) % 3));
}

static enum tombola_status mask_of(void *context, const tombola_token *answer, size_t count,
                                   struct tombola_mask *mask) {
  uint32_t *word = context;
  *word = mask_word(answer, count);
  *mask = (struct tombola_mask){word, VOCAB, NULL, 0};
  static const tombola_token tokens[] = {0, 1, 2, 3};
  for (size_t i = 0; i < VOCAB; i++) {
    if (*word != 1u << i) continue;
    mask->ids = &tokens[i];
    mask->n_ids = 1;
  }
  return TOMBOLA_OK;
}

/* ---- a chain ---- */

struct setting {
  const char *dialect;
  const char *more[4][2]; /* further parameters */
};

static tombola_sampler *sampler_of(const struct setting *setting, const char *name, const char *value) {
  static const char *const common[][2] = {{"temperature", "0.9"},
                                          {"top_p", "0.9"},
                                          {"top_k", "0"},
                                          {"min_p", "0"},
                                          {"repeat_penalty", "1.3"},
                                          {"repeat_last_n", "16"},
                                          {"presence_penalty", "0.2"},
                                          {"frequency_penalty", "0.1"},
                                          {"seed", "7"}};
  struct tombola_sampler_params params = {.struct_size = sizeof params};
  struct tombola_error error = {.message = ""};
  tombola_sampler *sampler = NULL;
  enum tombola_status status = tombola_sampler_params_default(&params, setting->dialect, &error);
  for (size_t i = 0; i < sizeof common / sizeof *common && !status; i++)
    status = tombola_sampler_params_set(&params, common[i][0], common[i][1], &error);
  for (size_t i = 0; i < 4 && setting->more[i][0] && !status; i++)
    status = tombola_sampler_params_set(&params, setting->more[i][0], setting->more[i][1], &error);
  if (name && !status) status = tombola_sampler_params_set(&params, name, value, &error);
  if (!status) status = tombola_sampler_new(&params, NULL, VOCAB, NULL, &sampler, &error);
  if (status) fail_msg("%s: %s", setting->dialect, error.message);
  return sampler;
}

/* An answer's class: its tokens as digits, ended by END and filled up with it. */
static size_t class_of(const tombola_token *answer, size_t count) {
  size_t class = 0;
  for (size_t i = 0; i < LENGTH; i++)
    class = class * VOCAB + (size_t)(i < count ? answer[i] : END);
  return class;
}

/* ---- the plain law ---- */

/* Two samplers that differ in a gate which opens with probability one half; without one they are the same. */
struct law {
  const struct table *table;
  tombola_sampler *shut, *open;
  double classes[CLASSES];
};

static void add_distribution(const struct law *law, tombola_sampler *sampler, const tombola_token *answer,
                             size_t count, double weight, double *sum) {
  float probs[VOCAB];
  uint32_t word = mask_word(answer, count);
  struct tombola_mask mask = {&word, VOCAB, NULL, 0};
  tombola_token last = count ? answer[count - 1] : prompt[PROMPT - 1];
  struct tombola_row row = {row_of(law->table, last, count), VOCAB, TOMBOLA_F32};
  assert_int_equal(tombola_sampler_begin(sampler, prompt, PROMPT), TOMBOLA_OK);
  for (size_t i = 0; i < count; i++)
    assert_int_equal(tombola_sampler_accept(sampler, answer[i]), TOMBOLA_OK);
  assert_int_equal(tombola_distribution(sampler, &row, &mask, probs, VOCAB), TOMBOLA_OK);
  for (size_t i = 0; i < VOCAB; i++)
    sum[i] += weight * (double)probs[i];
}

static void enumerate(struct law *law, tombola_token *answer, size_t count, double chance) {
  if (count == LENGTH || (count && answer[count - 1] == END)) {
    law->classes[class_of(answer, count)] += chance;
    return;
  }
  double probs[VOCAB] = {0};
  add_distribution(law, law->shut, answer, count, 0.5, probs);
  add_distribution(law, law->open, answer, count, 0.5, probs);
  for (size_t i = 0; i < VOCAB; i++) {
    answer[count] = (tombola_token)i;
    if (probs[i] > 0) enumerate(law, answer, count + 1, chance * probs[i]);
  }
}

/* ---- many answers ---- */

struct counted {
  size_t classes[CLASSES];
  size_t drafted, accepted, rounds, emitted;
};

struct answer {
  tombola_token tokens[LENGTH + 1];
  size_t count;
  uint32_t word;
};

static int note(void *context, const struct tombola_token_event *event) {
  struct answer *answer = context;
  assert_true(answer->count < LENGTH);
  answer->tokens[answer->count++] = event->token;
  return 1;
}

static enum tombola_status note_mask(void *context, const tombola_token *tokens, size_t count,
                                     struct tombola_mask *mask) {
  struct answer *answer = context;
  return mask_of(&answer->word, tokens, count, mask);
}

static void count_answers(tombola_model *model, tombola_sampler *sampler, tombola_speculation *speculation,
                          size_t n, struct counted *counted) {
  tombola_session *session;
  assert_int_equal(tombola_session_new(model, 0, NULL, &session, NULL), TOMBOLA_OK);
  memset(counted, 0, sizeof *counted);
  for (size_t i = 0; i < n; i++) {
    struct answer answer = {.count = 0};
    struct tombola_generate_params params = {.struct_size = sizeof params,
                                             .max_tokens = LENGTH,
                                             .on_token = note,
                                             .on_mask = note_mask,
                                             .context = &answer,
                                             .speculation = speculation};
    struct tombola_generation_stats stats;
    struct tombola_error error = {.message = ""};
    if (tombola_session_generate(session, sampler, prompt, PROMPT, &params, &stats, &error))
      fail_msg("generate: %s", error.message);
    counted->classes[class_of(answer.tokens, answer.count)]++;
    counted->drafted += stats.speculation.drafted;
    counted->accepted += stats.speculation.accepted;
    counted->rounds += stats.speculation.rounds;
    counted->emitted += stats.speculation.emitted;
  }
  tombola_session_free(session);
}

static tombola_speculation *speculation_of(tombola_model *model, tombola_model *draft) {
  struct tombola_speculation_params params = {.struct_size = sizeof params,
                                              .kind = draft ? TOMBOLA_SPECULATION_DRAFT_MODEL
                                                            : TOMBOLA_SPECULATION_PROMPT_LOOKUP,
                                              .draft = draft,
                                              .draft_tokens = 2,
                                              .ngram_max = 2,
                                              .ngram_min = 1,
                                              .max_draft = 2,
                                              .allow_refused = 1};
  tombola_speculation *speculation;
  assert_int_equal(tombola_speculation_new(model, &params, NULL, &speculation, NULL), TOMBOLA_OK);
  return speculation;
}

struct models {
  struct table target_table, draft_table;
  tombola_model *target, *draft;
};

static struct models models_for(uint64_t stream) {
  struct support_rng rng = support_rng(stream);
  struct models m;
  fill(&m.target_table, &rng);
  blur(&m.target_table, &m.draft_table, &rng);
  m.target = load(&m.target_table);
  m.draft = load(&m.draft_table);
  return m;
}

static void free_models(struct models *m) {
  tombola_model_free(m->target);
  tombola_model_free(m->draft);
}

static void check_work(const struct setting *setting, const char *kind, const struct counted *counted,
                       double fit) {
  print_message("%-12s %-7s p %.3f, accepted %zu of %zu, %.2f tokens a round\n", setting->dialect, kind, fit,
                counted->accepted, counted->drafted, (double)counted->emitted / (double)counted->rounds);
  assert_true(counted->accepted > 0 && counted->accepted < counted->drafted);
}

/* ---- against the enumerated law ---- */

static void check_setting(const struct setting *setting, const char *gate, uint64_t stream) {
  struct models m = models_for(stream);
  struct law *law = calloc(1, sizeof *law);
  assert_non_null(law);
  law->table = &m.target_table;
  law->shut = sampler_of(setting, gate, "0");
  law->open = sampler_of(setting, gate, "1");
  tombola_token answer[LENGTH];
  enumerate(law, answer, 0, 1);
  for (int kind = 0; kind < 2; kind++) {
    tombola_sampler *sampler = sampler_of(setting, gate, "0.5");
    tombola_speculation *speculation = speculation_of(m.target, kind ? NULL : m.draft);
    struct counted counted;
    count_answers(m.target, sampler, speculation, draws(), &counted);
    double fit = support_chi_square(counted.classes, law->classes, CLASSES, draws());
    check_work(setting, kind ? "lookup" : "draft", &counted, fit);
    assert_true(fit > GOOD_FIT);
    tombola_speculation_free(speculation);
    tombola_sampler_free(sampler);
  }
  tombola_sampler_free(law->shut);
  tombola_sampler_free(law->open);
  free(law);
  free_models(&m);
}

static void test_every_dialect(void **state) {
  (void)state;
  assert_true(tombola_dialect_count() >= 2);
  for (size_t i = 0; i < tombola_dialect_count(); i++) {
    struct setting setting = {.dialect = tombola_dialect_at(i)->name};
    check_setting(&setting, NULL, 100 + i);
  }
}

/* Tokens that are taken without a draw, because no other is allowed, leave the law as it is. */
static void test_jump_ahead(void **state) {
  (void)state;
  narrow = true;
  for (size_t i = 0; i < tombola_dialect_count(); i++) {
    struct setting setting = {.dialect = tombola_dialect_at(i)->name};
    check_setting(&setting, NULL, 500 + i);
  }
  narrow = false;
}

/* The rules that aren't the dialect's own. */
static void test_every_draw(void **state) {
  (void)state;
  static const char *const rules[] = {"cdf", "gumbel", "rejection"};
  for (size_t i = 0; i < tombola_dialect_count(); i++) {
    for (size_t j = 0; j < 3; j++) {
      struct setting setting = {.dialect = tombola_dialect_at(i)->name, .more = {{"draw", rules[j]}}};
      struct tombola_sampler_params params = {.struct_size = sizeof params};
      assert_int_equal(tombola_sampler_params_default(&params, setting.dialect, NULL), TOMBOLA_OK);
      if (params.draw != (enum tombola_draw_rule)j) check_setting(&setting, NULL, 200 + 3 * i + j);
    }
  }
}

static bool has_stage(const struct tombola_dialect_info *dialect, const char *name) {
  for (size_t i = 0; i < dialect->n_order; i++)
    if (strcmp(dialect->order[i], name) == 0) return true;
  return false;
}

/* A gate that a random number opens, from the stage's own generator or from the one that the draw uses. */
static void test_xtc(void **state) {
  (void)state;
  size_t checked = 0;
  for (size_t i = 0; i < tombola_dialect_count(); i++) {
    if (!has_stage(tombola_dialect_at(i), "xtc")) continue;
    struct setting setting = {.dialect = tombola_dialect_at(i)->name, .more = {{"xtc_threshold", "0.25"}}};
    check_setting(&setting, "xtc_probability", 300 + i);
    checked++;
  }
  assert_true(checked > 0);
}

/* ---- against plain answers ---- */

/* Two samples from one law. */
static double two_samples(const size_t *a, const size_t *b) {
  double statistic = 0;
  size_t classes = 0;
  for (size_t i = 0; i < CLASSES; i++) {
    double sum = (double)(a[i] + b[i]), difference = (double)a[i] - (double)b[i];
    if (sum < 10) continue;
    statistic += difference * difference / sum;
    classes++;
  }
  assert_true(classes > 1);
  return support_gamma_q((double)(classes - 1) / 2, statistic / 2);
}

static void compare_with_plain(const struct setting *setting, uint64_t stream) {
  struct models m = models_for(stream);
  struct counted plain, counted;
  tombola_sampler *sampler = sampler_of(setting, "seed", "99");
  count_answers(m.target, sampler, NULL, draws(), &plain);
  tombola_sampler_free(sampler);
  assert_int_equal(plain.rounds, 0);
  for (int kind = 0; kind < 2; kind++) {
    sampler = sampler_of(setting, NULL, NULL);
    tombola_speculation *speculation = speculation_of(m.target, kind ? NULL : m.draft);
    count_answers(m.target, sampler, speculation, draws(), &counted);
    double fit = two_samples(plain.classes, counted.classes);
    check_work(setting, kind ? "lookup" : "draft", &counted, fit);
    assert_true(fit > GOOD_FIT);
    tombola_speculation_free(speculation);
    tombola_sampler_free(sampler);
  }
  free_models(&m);
}

static void test_what_learns(void **state) {
  (void)state;
  static const struct setting settings[] = {
      {"llama.cpp", {{"mirostat", "2"}, {"mirostat_tau", "1.2"}, {"mirostat_eta", "0.5"}}},
      {"llama.cpp", {{"mirostat", "1"}, {"mirostat_tau", "1.2"}, {"mirostat_eta", "0.5"}}},
      {"llama.cpp", {{"adaptive_target", "0.3"}, {"adaptive_decay", "0.5"}}},
      {"llama.cpp", {{"dry_multiplier", "0.8"}, {"dry_allowed_length", "1"}}},
  };
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
    compare_with_plain(&settings[i], 420 + i);
}

/* ---- the control ---- */

enum rule { RIGHT, ALWAYS, NO_RESIDUAL, BEST_BY_SHARE, RULES };

static size_t pick(const double *weights, struct support_rng *rng) {
  double total = 0, sum = 0;
  for (size_t i = 0; i < VOCAB; i++)
    total += weights[i];
  double target = support_uniform(rng) * total;
  size_t last = 0;
  for (size_t i = 0; i < VOCAB; i++) {
    if (!(weights[i] > 0)) continue;
    last = i;
    sum += weights[i];
    if (sum > target) break;
  }
  return last;
}

/* One token from p by way of one drafted from q, by a rule that may be wrong. */
static size_t by_rule(enum rule rule, const double *p, const double *q, struct support_rng *rng) {
  size_t x = pick(q, rng);
  for (size_t i = 0; i < VOCAB && rule == BEST_BY_SHARE; i++)
    if (q[i] > q[x]) x = i;
  if (rule == ALWAYS) return x;
  if (support_uniform(rng) * q[x] < p[x]) return x;
  double left[VOCAB];
  for (size_t i = 0; i < VOCAB; i++)
    left[i] = rule == NO_RESIDUAL ? p[i] : p[i] > q[i] ? p[i] - q[i] : 0;
  return pick(left, rng);
}

static size_t answer_by_rule(enum rule rule, const struct law *p_law, const struct law *q_law,
                             struct support_rng *rng) {
  tombola_token answer[LENGTH];
  size_t count = 0;
  while (count < LENGTH && (count == 0 || answer[count - 1] != END)) {
    double p[VOCAB] = {0}, q[VOCAB] = {0};
    add_distribution(p_law, p_law->shut, answer, count, 1, p);
    add_distribution(q_law, q_law->shut, answer, count, 1, q);
    answer[count++] = (tombola_token)by_rule(rule, p, q, rng);
  }
  return class_of(answer, count);
}

static void test_wrong_rules(void **state) {
  (void)state;
  const struct setting setting = {.dialect = "llama.cpp"};
  struct models m = models_for(500);
  struct law *laws = calloc(2, sizeof *laws);
  assert_non_null(laws);
  laws[0].table = &m.target_table;
  laws[1].table = &m.draft_table;
  laws[0].shut = laws[0].open = laws[1].shut = laws[1].open = sampler_of(&setting, NULL, NULL);
  tombola_token answer[LENGTH];
  enumerate(&laws[0], answer, 0, 1);
  for (int rule = RIGHT; rule < RULES; rule++) {
    struct support_rng rng = support_rng(501);
    size_t classes[CLASSES] = {0};
    for (size_t i = 0; i < draws(); i++)
      classes[answer_by_rule((enum rule)rule, &laws[0], &laws[1], &rng)]++;
    double fit = support_chi_square(classes, laws[0].classes, CLASSES, draws());
    print_message("rule %d: p %g\n", rule, fit);
    assert_true(rule == RIGHT ? fit > GOOD_FIT : fit < WRONG_FIT);
  }
  tombola_sampler_free(laws[0].shut);
  free(laws);
  free_models(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_dialect), cmocka_unit_test(test_jump_ahead),
      cmocka_unit_test(test_every_draw),    cmocka_unit_test(test_xtc),
      cmocka_unit_test(test_what_learns),   cmocka_unit_test(test_wrong_rules),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
