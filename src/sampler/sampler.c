/* SPDX-License-Identifier: Apache-2.0 */
/* The sampler object: made from parameters, asked for tokens, told what was taken. */
#include "internal.h"

#include <string.h>

size_t tombola__window_of(int32_t last_n, const struct tombola__dialect *dialect) {
  if (last_n >= 0) return (size_t)last_n;
  return dialect->negative_window_off ? 0 : SIZE_MAX;
}

size_t tombola__penalty_window(const struct tombola_sampler_params *params,
                               const struct tombola__dialect *dialect) {
  return tombola__window_of(params->repeat_last_n, dialect);
}

/* ---- making ---- */

static enum tombola_status choose_seed(const struct tombola__plan *plan, uint64_t *seed,
                                       struct tombola_error *error) {
  const struct tombola__dialect *dialect = plan->dialect;
  bool policy = plan->params.seed_mode == TOMBOLA_SEED_POLICY;
  bool random = policy ? dialect->seed_random : plan->params.seed_mode == TOMBOLA_SEED_RANDOM;
  *seed = policy ? dialect->default_seed : plan->params.seed;
  if (!random) return TOMBOLA_OK;
  do {
    if (!tombola__random_seed(seed))
      return tombola__fail(error, TOMBOLA_IO, "seed", "the system gives no random numbers; set a seed");
    *seed &= dialect->generator->max_seed;
  } while (*seed == dialect->random_seed_value && *seed);
  return TOMBOLA_OK;
}

/* The states at their beginning: the generator from the seed, then each stage's. */
static void reset_states(struct tombola_sampler *s) {
  const struct tombola__generator *generator = s->plan->dialect->generator;
  generator->seed(s->state, s->seed);
  if (generator->request) generator->request(s->state, s->request);
  for (size_t i = 0; i < s->plan->n_chain; i++) {
    struct tombola__stage_call call = tombola__call(s, i);
    if (call.link->active && call.link->stage->reset) call.link->stage->reset(&call);
  }
}

/* Room for edits ahead of time: what penalties touch at most, within reason. */
static size_t expected_edits(const struct tombola__plan *plan) {
  return plan->count_window < 256 ? plan->count_window : 256;
}

/* A sampler for a plan, which it takes over. */
static enum tombola_status make(struct tombola__plan *plan, uint64_t seed, tombola_sampler **out) {
  const struct tombola_allocator *own = &plan->allocator;
  struct tombola_sampler *s = tombola__new(own, 1, sizeof *s);
  if (!s) {
    tombola__plan_free(plan);
    return TOMBOLA_NO_MEMORY;
  }
  s->allocator = *own;
  s->plan = plan;
  s->seed = seed;
  s->state = tombola__new(own, 1, plan->state_size);
  s->aside = tombola__new(own, 1, plan->state_size);
  if (!s->state || !s->aside ||
      tombola__candidates_init(&s->candidates, plan->kernels, own, plan->vocab_size, expected_edits(plan)) ||
      tombola__history_init(&s->history, own, plan->window, plan->count_window)) {
    tombola_sampler_free(s);
    return TOMBOLA_NO_MEMORY;
  }
  reset_states(s);
  *out = s;
  return TOMBOLA_OK;
}

enum tombola_status tombola_sampler_new(const struct tombola_sampler_params *params,
                                        const tombola_vocabulary *vocabulary, size_t vocab_size,
                                        const struct tombola_allocator *allocator, tombola_sampler **out,
                                        struct tombola_error *error) {
  *out = NULL;
  struct tombola__plan *plan;
  uint64_t seed;
  enum tombola_status status = tombola__plan_new(params, vocabulary, vocab_size, allocator, &plan, error);
  if (status) return status;
  status = choose_seed(plan, &seed, error);
  if (status) {
    tombola__plan_free(plan);
    return status;
  }
  return make(plan, seed, out) ? tombola__no_memory(error) : TOMBOLA_OK;
}

void tombola_sampler_free(tombola_sampler *sampler) {
  if (!sampler) return;
  struct tombola_allocator own = sampler->allocator;
  tombola__free(&own, sampler->state);
  tombola__free(&own, sampler->aside);
  tombola__free(&own, sampler->logprobs.top);
  if (sampler->candidates.kernels) tombola__candidates_free(&sampler->candidates);
  tombola__history_free(&sampler->history);
  tombola__plan_free(sampler->plan);
  tombola__free(&own, sampler);
}

enum tombola_status tombola_sampler_clone(const tombola_sampler *sampler, tombola_sampler **out) {
  *out = NULL;
  enum tombola_status status = make(tombola__plan_share(sampler->plan), sampler->seed, out);
  if (status) return status;
  memcpy((*out)->state, sampler->state, sampler->plan->state_size);
  (*out)->request = sampler->request;
  status = tombola_sampler_set_logprobs(*out, sampler->logprobs.stage, sampler->logprobs.wanted);
  for (size_t i = 0; i < sampler->history.count && !status; i++)
    status = tombola__history_push(&(*out)->history, tombola__history_at(&sampler->history, i));
  if (!status) return TOMBOLA_OK;
  tombola_sampler_free(*out);
  *out = NULL;
  return status;
}

int tombola_sampler_learns(const tombola_sampler *sampler) {
  const struct tombola__plan *plan = sampler->plan;
  for (size_t i = 0; i < plan->n_chain; i++)
    if (plan->chain[i].active && (plan->chain[i].custom || plan->chain[i].stage->chosen)) return 1;
  return 0;
}

/* ---- using ---- */

/* The tokens that a mask lists, as far as that is cheap to see. */
static enum tombola_status check_ids(struct tombola_sampler *s, const struct tombola_mask *mask) {
  for (size_t i = 0; mask->ids && i < mask->n_ids; i++) {
    const tombola_token id = mask->ids[i];
    if (id < 0 || (size_t)id >= mask->count || (i > 0 && id <= mask->ids[i - 1]) ||
        !(mask->words[id / 32] >> id % 32 & 1))
      return tombola__fail(&s->error, TOMBOLA_INVALID_ARGUMENT, "mask",
                           "ids[%zu] of the mask is %d: they must rise, and the words must allow them", i,
                           (int)id);
  }
  return TOMBOLA_OK;
}

enum tombola_status tombola__check_row(struct tombola_sampler *s, const struct tombola_row *row,
                                       const struct tombola_mask *mask) {
  if (!row || !row->data) return tombola__fail(&s->error, TOMBOLA_INVALID_ARGUMENT, "row", "there is no row");
  if (row->count != s->plan->vocab_size)
    return tombola__fail(&s->error, TOMBOLA_INVALID_ARGUMENT, "row",
                         "the row must have %zu logits, it has %zu", s->plan->vocab_size, row->count);
  if (row->dtype != TOMBOLA_F32 && row->dtype != TOMBOLA_F16 && row->dtype != TOMBOLA_BF16)
    return tombola__fail(&s->error, TOMBOLA_INVALID_ARGUMENT, "row",
                         "the row's dtype must be f32, f16 or bf16");
  if (mask && (mask->count != s->plan->vocab_size || !mask->words))
    return tombola__fail(&s->error, TOMBOLA_INVALID_ARGUMENT, "mask",
                         "the mask must be of %zu tokens, it is of %zu", s->plan->vocab_size, mask->count);
  return mask ? check_ids(s, mask) : TOMBOLA_OK;
}

enum tombola_status tombola__explain(struct tombola_sampler *s, enum tombola_status status) {
  const char *text = tombola_status_text(status);
  if (status == TOMBOLA_NO_CANDIDATE) text = "no token is left: every allowed logit is -inf";
  if (status == TOMBOLA_NOT_FINITE)
    text = "the row, or what the stages make of it, holds NaN or +inf where a token is allowed";
  return tombola__fail(&s->error, status, "row", "%s", text);
}

static enum tombola_status run(struct tombola_sampler *s, const struct tombola_row *row,
                               const struct tombola_mask *mask) {
  enum tombola_status status = tombola__check_row(s, row, mask);
  if (status) return status;
  status = tombola__chain_run(s, row, mask);
  return status ? tombola__explain(s, status) : TOMBOLA_OK;
}

/* The draw by the rule that the parameters name. One that is settled takes no part of the others' randomness:
 * greedy uses the dialect's uniform or none. */
static enum tombola_status draw(struct tombola_sampler *s, tombola_token *token) {
  const struct tombola__plan *plan = s->plan;
  bool draws = !plan->greedy || plan->dialect->greedy_draws;
  if (plan->single_saves && !s->candidates.dense && s->candidates.count == 1) draws = false;
  if (!draws) return tombola__draw(s, 0, token);
  if (!plan->greedy && plan->params.draw == TOMBOLA_DRAW_GUMBEL) return tombola__draw_gumbel(s, token);
  if (!plan->greedy && plan->params.draw == TOMBOLA_DRAW_REJECTION) return tombola__draw_rejection(s, token);
  return tombola__draw(s, plan->dialect->generator->uniform(s->state), token);
}

void tombola__chosen(struct tombola_sampler *s, tombola_token token) {
  const struct tombola__plan *plan = s->plan;
  for (size_t i = 0; i < plan->n_chain; i++) {
    if (!plan->chain[i].active || !plan->chain[i].stage->chosen) continue;
    struct tombola__stage_call call = tombola__call(s, i);
    call.link->stage->chosen(&call, token);
  }
  if (plan->dialect->generator->next_step) plan->dialect->generator->next_step(s->state);
}

/* After the chain: the choice, and the stages that learn from it. The sum can fail for want of memory; only
 * after it is a random number used up. Gumbel noise needs no sum. */
static enum tombola_status choose(struct tombola_sampler *s, tombola_token *token) {
  const struct tombola__plan *plan = s->plan;
  bool sums = !plan->greedy && plan->params.draw != TOMBOLA_DRAW_GUMBEL;
  enum tombola_status status = sums ? tombola__candidates_sum(&s->candidates) : TOMBOLA_OK;
  if (status) return status;
  status = draw(s, token);
  if (!status) tombola__chosen(s, *token);
  return status;
}

enum tombola_status tombola_sampler_sample(tombola_sampler *sampler, const struct tombola_row *row,
                                           const struct tombola_mask *mask, tombola_token *token) {
  *token = TOMBOLA_NO_TOKEN;
  sampler->logprobs.valid = false;
  enum tombola_status status = run(sampler, row, mask);
  if (status) return status;
  status = choose(sampler, token);
  if (status) {
    tombola__take_back(sampler);
    return tombola__explain(sampler, status);
  }
  if (sampler->logprobs.wanted) tombola__logprobs_note(sampler, row, mask, *token);
  return TOMBOLA_OK;
}

static enum tombola_status check_token(struct tombola_sampler *s, tombola_token token) {
  if (token >= 0 && (size_t)token < s->plan->vocab_size) return TOMBOLA_OK;
  return tombola__fail(&s->error, TOMBOLA_INVALID_ARGUMENT, "token",
                       "token %d is outside the vocabulary of %zu", (int)token, s->plan->vocab_size);
}

static enum tombola_status push(struct tombola_sampler *s, tombola_token token) {
  enum tombola_status status = check_token(s, token);
  if (status) return status;
  return tombola__history_push(&s->history, token) ? tombola__no_memory(&s->error) : TOMBOLA_OK;
}

enum tombola_status tombola_sampler_accept(tombola_sampler *sampler, tombola_token token) {
  enum tombola_status status = push(sampler, token);
  for (size_t i = 0; i < sampler->plan->n_chain && !status; i++) {
    struct tombola__stage_call call = tombola__call(sampler, i);
    if (call.link->active && call.link->stage->accept) call.link->stage->accept(&call, token);
  }
  return status;
}

enum tombola_status tombola_sampler_begin(tombola_sampler *sampler, const tombola_token *prompt,
                                          size_t count) {
  if (count && !prompt)
    return tombola__fail(&sampler->error, TOMBOLA_INVALID_ARGUMENT, "prompt",
                         "%zu tokens, and no pointer to them", count);
  for (size_t i = 0; i < count; i++) {
    enum tombola_status status = check_token(sampler, prompt[i]);
    if (status) return status;
  }
  tombola__history_clear(&sampler->history);
  if (sampler->plan->params.penalty_scope == TOMBOLA_SCOPE_OUTPUT) return TOMBOLA_OK;
  size_t skip = count > sampler->history.window ? count - sampler->history.window : 0;
  for (size_t i = skip; i < count; i++) {
    enum tombola_status status = push(sampler, prompt[i]);
    if (status) return status;
  }
  return TOMBOLA_OK;
}

void tombola_sampler_reset(tombola_sampler *sampler) {
  tombola__history_clear(&sampler->history);
  reset_states(sampler);
}

enum tombola_status tombola_sampler_set_seed(tombola_sampler *sampler, uint64_t seed) {
  const struct tombola__dialect *dialect = sampler->plan->dialect;
  if (seed > dialect->generator->max_seed)
    return tombola__fail(
        &sampler->error, TOMBOLA_INVALID_ARGUMENT, "seed", "seed must be 0 to %llu, got %llu (%s)",
        (unsigned long long)dialect->generator->max_seed, (unsigned long long)seed, dialect->info.name);
  sampler->seed = seed;
  reset_states(sampler);
  return TOMBOLA_OK;
}

enum tombola_status tombola_sampler_set_request(tombola_sampler *sampler, uint32_t request) {
  const struct tombola__dialect *dialect = sampler->plan->dialect;
  if (request && !dialect->generator->request)
    return tombola__fail(&sampler->error, TOMBOLA_UNSUPPORTED, "request",
                         "the generator of %s has no streams by request", dialect->info.name);
  sampler->request = request;
  reset_states(sampler);
  return TOMBOLA_OK;
}

struct tombola_draw_counts tombola_sampler_draw_counts(const tombola_sampler *sampler) {
  return sampler->counts;
}

uint64_t tombola_sampler_seed(const tombola_sampler *sampler) {
  return sampler->seed;
}

const struct tombola_error *tombola_sampler_error(const tombola_sampler *sampler) {
  return &sampler->error;
}

size_t tombola_sampler_memory(const tombola_sampler *sampler) {
  return sizeof *sampler + sizeof *sampler->plan + 2 * sampler->plan->state_size +
         sampler->logprobs.capacity * sizeof *sampler->logprobs.top +
         tombola__candidates_memory(&sampler->candidates) + tombola__history_memory(&sampler->history);
}

/* ---- looking ---- */

enum tombola_status tombola__look(struct tombola_sampler *s, const struct tombola_row *row,
                                  const struct tombola_mask *mask) {
  memcpy(s->aside, s->state, s->plan->state_size);
  enum tombola_status status = run(s, row, mask);
  memcpy(s->state, s->aside, s->plan->state_size);
  if (status) return status;
  status = tombola__rejection_support(s);
  if (!status) status = tombola__candidates_sum(&s->candidates);
  return status ? tombola__explain(s, status) : TOMBOLA_OK;
}

void tombola__write_probs(const struct tombola_sampler *s, float *probs) {
  const struct tombola__candidates *c = &s->candidates;
  float weights[TOMBOLA__BLOCK];
  memset(probs, 0, s->plan->vocab_size * sizeof *probs);
  for (size_t first = 0, n; first < tombola__candidates_span(c); first += n) {
    n = tombola__candidates_weights(c, first, weights);
    for (size_t i = 0; i < n; i++)
      if (weights[i] > 0)
        probs[tombola__candidates_id(c, first + i)] = (float)((double)weights[i] / c->total);
  }
}

enum tombola_status tombola_distribution(tombola_sampler *sampler, const struct tombola_row *row,
                                         const struct tombola_mask *mask, float *probs, size_t count) {
  if (row && count != row->count)
    return tombola__fail(&sampler->error, TOMBOLA_INVALID_ARGUMENT, "count",
                         "probs must have %zu places, it has %zu", row->count, count);
  enum tombola_status status = tombola__look(sampler, row, mask);
  if (status) return status;
  tombola__write_probs(sampler, probs);
  return TOMBOLA_OK;
}

enum tombola_status tombola_candidates(tombola_sampler *sampler, const struct tombola_row *row,
                                       const struct tombola_mask *mask, struct tombola_candidate *out,
                                       size_t capacity, size_t *count) {
  *count = 0;
  enum tombola_status status = tombola__look(sampler, row, mask);
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
