/* SPDX-License-Identifier: Apache-2.0 */
/* The sampler object: made from parameters, asked for tokens, told what was taken. */
#include "internal.h"

#include <string.h>

#define MAX_VOCAB ((size_t)1 << 24)

/* ---- making
 * ------------------------------------------------------------------------------------------------------ */

/* Adds up what stands for one token; sorting first makes the sum independent of the caller's order. */
static void merge_biases(struct tombola_sampler *s, struct tombola__entry *entries, size_t n) {
  tombola__entries_by_id(entries, n);
  for (size_t i = 0; i < n; i++) {
    if (i && entries[i].id == entries[i - 1].id) {
      s->biases[s->n_biases - 1].bias += entries[i].logit;
      continue;
    }
    s->bias_ids[s->n_biases] = entries[i].id;
    s->biases[s->n_biases++] = (struct tombola_logit_bias){entries[i].id, entries[i].logit};
  }
}

static enum tombola_status copy_biases(struct tombola_sampler *s, struct tombola_error *error) {
  size_t n = s->params.n_logit_bias;
  if (!n) return TOMBOLA_OK;
  s->biases = tombola__new(&s->allocator, n, sizeof *s->biases);
  s->bias_ids = tombola__new(&s->allocator, n, sizeof *s->bias_ids);
  struct tombola__entry *entries = tombola__new(&s->allocator, n, sizeof *entries);
  enum tombola_status status = s->biases && s->bias_ids && entries ? TOMBOLA_OK : tombola__no_memory(error);
  for (size_t i = 0; i < n && !status; i++) {
    struct tombola_logit_bias bias = s->params.logit_bias[i];
    entries[i] = (struct tombola__entry){bias.bias, bias.token};
    if (bias.token < 0 || (size_t)bias.token >= s->vocab_size)
      status = tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "logit_bias",
                             "logit_bias: token %d is outside the vocabulary of %zu", (int)bias.token,
                             s->vocab_size);
  }
  if (!status) merge_biases(s, entries, n);
  tombola__free(&s->allocator, entries);
  return status;
}

static enum tombola_status choose_seed(struct tombola_sampler *s, struct tombola_error *error) {
  bool policy = s->params.seed_mode == TOMBOLA_SEED_POLICY;
  bool random = policy ? s->dialect->seed_random : s->params.seed_mode == TOMBOLA_SEED_RANDOM;
  s->seed = policy ? s->dialect->default_seed : s->params.seed;
  if (!random) return TOMBOLA_OK;
  do {
    if (!tombola__random_seed(&s->seed))
      return tombola__fail(error, TOMBOLA_IO, "seed", "the system gives no random numbers; set a seed");
    s->seed &= s->dialect->generator->max_seed;
  } while (s->seed == s->dialect->random_seed_value && s->seed);
  return TOMBOLA_OK;
}

size_t tombola__penalty_window(const struct tombola_sampler_params *params,
                               const struct tombola__dialect *dialect) {
  if (params->repeat_last_n >= 0) return (size_t)params->repeat_last_n;
  return dialect->negative_window_off ? 0 : SIZE_MAX;
}

static enum tombola_status make_parts(struct tombola_sampler *s, const struct tombola__kernels *kernels,
                                      struct tombola_error *error) {
  enum tombola_status status = tombola__chain_build(s, error);
  if (!status) status = copy_biases(s, error);
  if (!status) status = choose_seed(s, error);
  if (status) return status;
  bool penalties = false;
  for (size_t i = 0; i < s->n_chain; i++)
    penalties = penalties || (s->chain[i].active && s->chain[i].stage == &tombola__stage_penalties);
  size_t window = penalties ? tombola__penalty_window(&s->params, s->dialect) : 0;
  size_t edits = s->n_biases + (window < 1024 ? window : 1024);
  s->generator = tombola__new(&s->allocator, 1, s->dialect->generator->state_size);
  if (!s->generator ||
      tombola__candidates_init(&s->candidates, kernels, &s->allocator, s->vocab_size, edits) ||
      tombola__history_init(&s->history, &s->allocator, window))
    return tombola__no_memory(error);
  s->dialect->generator->seed(s->generator, s->seed);
  s->params.samplers = NULL; /* used up: the chain holds what they said */
  s->params.n_samplers = 0;
  s->params.logit_bias = s->biases;
  s->params.n_logit_bias = s->n_biases;
  return TOMBOLA_OK;
}

enum tombola_status tombola_sampler_new(const struct tombola_sampler_params *params,
                                        const tombola_vocabulary *vocabulary, size_t vocab_size,
                                        const struct tombola_allocator *allocator, tombola_sampler **out,
                                        struct tombola_error *error) {
  *out = NULL;
  struct tombola_sampler_params whole;
  const struct tombola__dialect *dialect;
  enum tombola_status status = tombola__params_resolve(params, &whole, &dialect, error);
  if (status) return status;
  if (vocab_size == 0 && vocabulary) vocab_size = tombola_vocabulary_count(vocabulary);
  if (vocab_size == 0 || vocab_size > MAX_VOCAB)
    return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "vocab_size",
                         "vocab_size must be in [1, %zu], got %zu", MAX_VOCAB, vocab_size);
  const struct tombola__kernels *kernels = tombola__kernels(error);
  if (!kernels) return TOMBOLA_INVALID_ARGUMENT;
  struct tombola_allocator own = tombola__allocator(allocator);
  struct tombola_sampler *s = tombola__new(&own, 1, sizeof *s);
  if (!s) return tombola__no_memory(error);
  s->allocator = own;
  s->params = whole;
  s->dialect = dialect;
  s->vocabulary = vocabulary;
  s->vocab_size = vocab_size;
  status = make_parts(s, kernels, error);
  if (status)
    tombola_sampler_free(s);
  else
    *out = s;
  return status;
}

void tombola_sampler_free(tombola_sampler *sampler) {
  if (!sampler) return;
  struct tombola_allocator own = sampler->allocator;
  tombola__free(&own, sampler->biases);
  tombola__free(&own, sampler->bias_ids);
  tombola__free(&own, sampler->generator);
  if (sampler->candidates.kernels) tombola__candidates_free(&sampler->candidates);
  tombola__history_free(&sampler->history);
  tombola__free(&own, sampler);
}

enum tombola_status tombola_sampler_clone(const tombola_sampler *sampler, tombola_sampler **out) {
  struct tombola_sampler_params params = sampler->params;
  const char *names[TOMBOLA__MAX_CHAIN];
  for (size_t i = 0; i < sampler->n_chain; i++)
    names[i] = sampler->chain[i].stage->name;
  params.samplers = names;
  params.n_samplers = sampler->n_chain;
  params.seed_mode = TOMBOLA_SEED_FIXED;
  params.seed = sampler->seed;
  enum tombola_status status =
      tombola_sampler_new(&params, sampler->vocabulary, sampler->vocab_size, &sampler->allocator, out, NULL);
  if (status) return status;
  memcpy((*out)->generator, sampler->generator, sampler->dialect->generator->state_size);
  for (size_t i = 0; i < sampler->history.count && !status; i++)
    status = tombola__history_push(&(*out)->history, tombola__history_at(&sampler->history, i));
  if (!status) return TOMBOLA_OK;
  tombola_sampler_free(*out);
  *out = NULL;
  return status;
}

/* ---- using
 * ------------------------------------------------------------------------------------------------------- */

static enum tombola_status check_row(struct tombola_sampler *s, const struct tombola_row *row,
                                     const struct tombola_mask *mask) {
  if (!row || !row->data) return tombola__fail(&s->error, TOMBOLA_INVALID_ARGUMENT, "row", "there is no row");
  if (row->count != s->vocab_size)
    return tombola__fail(&s->error, TOMBOLA_INVALID_ARGUMENT, "row",
                         "the row must have %zu logits, it has %zu", s->vocab_size, row->count);
  if (row->dtype != TOMBOLA_F32 && row->dtype != TOMBOLA_F16 && row->dtype != TOMBOLA_BF16)
    return tombola__fail(&s->error, TOMBOLA_INVALID_ARGUMENT, "row",
                         "the row's dtype must be f32, f16 or bf16");
  if (mask && (mask->count != s->vocab_size || !mask->words))
    return tombola__fail(&s->error, TOMBOLA_INVALID_ARGUMENT, "mask",
                         "the mask must be of %zu tokens, it is of %zu", s->vocab_size, mask->count);
  return TOMBOLA_OK;
}

static enum tombola_status explain(struct tombola_sampler *s, enum tombola_status status) {
  const char *text = tombola_status_text(status);
  if (status == TOMBOLA_NO_CANDIDATE) text = "no token is left: every allowed logit is -inf";
  if (status == TOMBOLA_NOT_FINITE) text = "the row holds NaN or +inf where a token is allowed";
  return tombola__fail(&s->error, status, "row", "%s", text);
}

static enum tombola_status run(struct tombola_sampler *s, const struct tombola_row *row,
                               const struct tombola_mask *mask) {
  enum tombola_status status = check_row(s, row, mask);
  if (status) return status;
  status = tombola__chain_run(s, row, mask);
  return status ? explain(s, status) : TOMBOLA_OK;
}

enum tombola_status tombola_sampler_sample(tombola_sampler *sampler, const struct tombola_row *row,
                                           const struct tombola_mask *mask, tombola_token *token) {
  *token = TOMBOLA_NO_TOKEN;
  enum tombola_status status = run(sampler, row, mask);
  if (status) return status;
  bool draws = !sampler->greedy || sampler->dialect->greedy_draws;
  if (!sampler->greedy) {
    /* The sum can fail for want of memory; only after it is a random number used up. */
    status = tombola__candidates_sum(&sampler->candidates);
    if (status) return explain(sampler, status);
  }
  double u = draws ? sampler->dialect->generator->uniform(sampler->generator) : 0;
  status = tombola__draw(sampler, u, token);
  return status ? explain(sampler, status) : TOMBOLA_OK;
}

static enum tombola_status check_token(struct tombola_sampler *s, tombola_token token) {
  if (token >= 0 && (size_t)token < s->vocab_size) return TOMBOLA_OK;
  return tombola__fail(&s->error, TOMBOLA_INVALID_ARGUMENT, "token",
                       "token %d is outside the vocabulary of %zu", (int)token, s->vocab_size);
}

static enum tombola_status push(struct tombola_sampler *s, tombola_token token) {
  enum tombola_status status = check_token(s, token);
  if (status) return status;
  return tombola__history_push(&s->history, token) ? tombola__no_memory(&s->error) : TOMBOLA_OK;
}

enum tombola_status tombola_sampler_accept(tombola_sampler *sampler, tombola_token token) {
  return push(sampler, token);
}

enum tombola_status tombola_sampler_begin(tombola_sampler *sampler, const tombola_token *prompt,
                                          size_t count) {
  for (size_t i = 0; i < count; i++) {
    enum tombola_status status = check_token(sampler, prompt[i]);
    if (status) return status;
  }
  tombola__history_clear(&sampler->history);
  if (sampler->params.penalty_scope == TOMBOLA_SCOPE_OUTPUT) return TOMBOLA_OK;
  size_t skip = count > sampler->history.window ? count - sampler->history.window : 0;
  for (size_t i = skip; i < count; i++) {
    enum tombola_status status = push(sampler, prompt[i]);
    if (status) return status;
  }
  return TOMBOLA_OK;
}

void tombola_sampler_reset(tombola_sampler *sampler) {
  tombola__history_clear(&sampler->history);
  sampler->dialect->generator->seed(sampler->generator, sampler->seed);
}

uint64_t tombola_sampler_seed(const tombola_sampler *sampler) {
  return sampler->seed;
}

const struct tombola_error *tombola_sampler_error(const tombola_sampler *sampler) {
  return &sampler->error;
}

size_t tombola_sampler_memory(const tombola_sampler *sampler) {
  return sizeof *sampler + sampler->n_biases * (sizeof *sampler->biases + sizeof *sampler->bias_ids) +
         sampler->dialect->generator->state_size + tombola__candidates_memory(&sampler->candidates) +
         tombola__history_memory(&sampler->history);
}

/* ---- looking
 * ----------------------------------------------------------------------------------------------------- */

static enum tombola_status run_and_sum(struct tombola_sampler *s, const struct tombola_row *row,
                                       const struct tombola_mask *mask) {
  enum tombola_status status = run(s, row, mask);
  if (status) return status;
  status = tombola__candidates_sum(&s->candidates);
  return status ? explain(s, status) : TOMBOLA_OK;
}

enum tombola_status tombola_distribution(tombola_sampler *sampler, const struct tombola_row *row,
                                         const struct tombola_mask *mask, float *probs, size_t count) {
  if (row && count != row->count)
    return tombola__fail(&sampler->error, TOMBOLA_INVALID_ARGUMENT, "count",
                         "probs must have %zu places, it has %zu", row->count, count);
  enum tombola_status status = run_and_sum(sampler, row, mask);
  if (status) return status;
  const struct tombola__candidates *c = &sampler->candidates;
  float weights[TOMBOLA__BLOCK];
  memset(probs, 0, count * sizeof *probs);
  for (size_t first = 0, n; first < tombola__candidates_span(c); first += n) {
    n = tombola__candidates_weights(c, first, weights);
    for (size_t i = 0; i < n; i++)
      if (weights[i] > 0)
        probs[tombola__candidates_id(c, first + i)] = (float)((double)weights[i] / c->total);
  }
  return TOMBOLA_OK;
}

enum tombola_status tombola_candidates(tombola_sampler *sampler, const struct tombola_row *row,
                                       const struct tombola_mask *mask, struct tombola_candidate *out,
                                       size_t capacity, size_t *count) {
  *count = 0;
  enum tombola_status status = run_and_sum(sampler, row, mask);
  if (!status) status = tombola__candidates_list(&sampler->candidates, false);
  if (status) return status;
  struct tombola__candidates *c = &sampler->candidates;
  tombola__draw_order(sampler);
  float weights[TOMBOLA__BLOCK];
  for (size_t first = 0, n; first < c->count && first < capacity; first += n) {
    n = tombola__candidates_weights(c, first, weights);
    for (size_t i = 0; i < n && first + i < capacity; i++)
      out[first + i] =
          (struct tombola_candidate){tombola__candidates_id(c, first + i),
                                     tombola__candidates_logit(c, first + i), (double)weights[i] / c->total};
  }
  *count = c->count;
  return TOMBOLA_OK;
}
