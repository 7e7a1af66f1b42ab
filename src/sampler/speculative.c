/* SPDX-License-Identifier: Apache-2.0 */
/* Draws from plain arrays of weights, and the acceptance of speculative drafts, whose residual is such an
 * array that is never written down. The rules, the numbers of uniforms and the float division are rMLX's
 * (its sampler.rs, speculative helpers). */
#include <float.h>
#include <string.h>

#include "internal.h"

/* Weights max(p - q, 0), or p itself without a q. */
struct weights {
  const float *p, *q;
  size_t count;
};

static double weight(const struct weights *w, size_t i) {
  float left = w->q ? w->p[i] - w->q[i] : w->p[i];
  return left > 0 ? (double)left : 0;
}

static bool is_weight(float x) {
  return x >= 0 && x <= FLT_MAX;
}

static enum tombola_status check(tombola_sampler *s, const char *name, const float *weights, size_t count) {
  if (!weights || count == 0 || count > INT32_MAX)
    return tombola__fail(&s->error, TOMBOLA_INVALID_ARGUMENT, name,
                         "%s must have 1 to %d weights, it has %zu", name, INT32_MAX, weights ? count : 0);
  for (size_t i = 0; i < count; i++)
    if (!is_weight(weights[i]))
      return tombola__fail(&s->error, TOMBOLA_INVALID_ARGUMENT, name,
                           "%s must be finite and not negative, weight %zu is %g", name, i,
                           (double)weights[i]);
  return TOMBOLA_OK;
}

static double total_of(const struct weights *w) {
  double total = 0;
  for (size_t i = 0; i < w->count; i++)
    total += weight(w, i);
  return total;
}

/* Where rounding leaves the running sum short it is the last with weight; without any mass, token 0. */
static tombola_token pick(tombola_sampler *s, const struct weights *w, double total) {
  const struct tombola__dialect *dialect = s->plan->dialect;
  double target = dialect->generator->uniform(s->state) * total, sum = 0;
  tombola_token last = 0;
  for (size_t i = 0; i < w->count; i++) {
    double here = weight(w, i);
    if (here <= 0) continue;
    sum += here;
    last = (tombola_token)i;
    if (dialect->draw_strict ? sum > target : sum >= target) break;
  }
  return last;
}

static void next_step(tombola_sampler *s) {
  const struct tombola__generator *generator = s->plan->dialect->generator;
  if (generator->next_step) generator->next_step(s->state);
}

enum tombola_status tombola_draw(tombola_sampler *sampler, const float *weights, size_t count,
                                 tombola_token *token) {
  *token = TOMBOLA_NO_TOKEN;
  enum tombola_status status = check(sampler, "weights", weights, count);
  if (status) return status;
  struct weights w = {.p = weights, .count = count};
  *token = pick(sampler, &w, total_of(&w));
  next_step(sampler);
  return TOMBOLA_OK;
}

static enum tombola_status check_both(tombola_sampler *s, const float *p, size_t p_count, const float *q,
                                      size_t q_count, tombola_token draft) {
  enum tombola_status status = check(s, "p", p, p_count);
  if (!status) status = check(s, "q", q, q_count);
  if (status) return status;
  if (p_count != q_count)
    return tombola__fail(&s->error, TOMBOLA_INVALID_ARGUMENT, "q",
                         "p and q must be of one size, they have %zu and %zu weights", p_count, q_count);
  if (draft < 0 || (size_t)draft >= p_count)
    return tombola__fail(&s->error, TOMBOLA_INVALID_ARGUMENT, "draft",
                         "draft must be a token below %zu, got %d", p_count, (int)draft);
  return TOMBOLA_OK;
}

static double ratio(float p, float q) {
  return q > 0 && p < q ? (double)(p / q) : 1;
}

/* Accepts the draft with this probability; otherwise draws from what p has more than q. */
static bool accept_or_draw(tombola_sampler *s, const struct weights *w, tombola_token draft,
                           double probability, tombola_token *token) {
  *token = draft;
  if (s->plan->dialect->generator->uniform(s->state) < probability) return true;
  struct weights left = *w;
  double total = total_of(&left);
  if (!(total > 0)) { /* p never exceeds q: they are equal but for rounding */
    left.q = NULL;
    total = total_of(&left);
  }
  *token = pick(s, &left, total);
  return false;
}

enum tombola_status tombola_speculative_accept(tombola_sampler *sampler, const float *p, size_t p_count,
                                               const float *q, size_t q_count, tombola_token draft,
                                               int *accepted, tombola_token *token) {
  *accepted = 0;
  *token = TOMBOLA_NO_TOKEN;
  enum tombola_status status = check_both(sampler, p, p_count, q, q_count, draft);
  if (status) return status;
  struct weights w = {p, q, p_count};
  *accepted = accept_or_draw(sampler, &w, draft, ratio(p[draft], q[draft]), token);
  next_step(sampler);
  return TOMBOLA_OK;
}

/* ---- a row, given a draft ---- */

static enum tombola_status run_chain(tombola_sampler *s, const struct tombola_row *row,
                                     const struct tombola_mask *mask) {
  enum tombola_status status = tombola__chain_run(s, row, mask);
  if (!status) status = tombola__rejection_support(s);
  if (!status) status = tombola__candidates_sum(&s->candidates);
  if (!status) return TOMBOLA_OK;
  tombola__take_back(s);
  return tombola__explain(s, status);
}

/* A draft that could only be this one: a draw that meets it accepts it, which has the probabilities of the
 * rule and leaves the plain draw as it is. */
static enum tombola_status sample_and_match(tombola_sampler *s, const struct tombola_row *row,
                                            const struct tombola_mask *mask, tombola_token draft,
                                            int *accepted, tombola_token *token) {
  enum tombola_status status = tombola_sampler_sample(s, row, mask, token);
  *accepted = !status && *token == draft;
  return status;
}

enum tombola_status tombola_sampler_verify(tombola_sampler *sampler, const struct tombola_row *row,
                                           const struct tombola_mask *mask, tombola_token draft,
                                           const float *q, float *p, size_t count, int *accepted,
                                           tombola_token *token) {
  *accepted = 0;
  *token = TOMBOLA_NO_TOKEN;
  if (draft < 0 || (size_t)draft >= sampler->plan->vocab_size)
    return tombola__fail(&sampler->error, TOMBOLA_INVALID_ARGUMENT, "draft",
                         "draft %d is outside the vocabulary of %zu", (int)draft, sampler->plan->vocab_size);
  if (!q || sampler->plan->greedy) return sample_and_match(sampler, row, mask, draft, accepted, token);
  sampler->logprobs.valid = false;
  enum tombola_status status = tombola__check_row(sampler, row, mask);
  if (!status && (!p || count != row->count))
    status = tombola__fail(&sampler->error, TOMBOLA_INVALID_ARGUMENT, "count",
                           "p and q must have %zu places, they have %zu", row->count, p ? count : 0);
  if (!status) status = check_both(sampler, q, count, q, count, draft);
  if (!status && q[draft] >= 1) return sample_and_match(sampler, row, mask, draft, accepted, token);
  if (!status) status = run_chain(sampler, row, mask);
  if (status) return status;
  tombola__write_probs(sampler, p);
  struct weights w = {p, q, count};
  double probability = p[draft] > 0 ? ratio(p[draft], q[draft]) : 0;
  *accepted = accept_or_draw(sampler, &w, draft, probability, token);
  tombola__chosen(sampler, *token);
  if (sampler->logprobs.wanted) tombola__logprobs_note(sampler, row, mask, *token);
  return TOMBOLA_OK;
}

/* ---- a sampler that drafts ---- */

/* FNV-1a of the generator's state, mixed: two generators whose seeds are related by it have nothing in
 * common. */
static uint64_t digest(const unsigned char *state, size_t size) {
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < size; i++)
    hash = (hash ^ state[i]) * 0x100000001b3;
  hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9;
  hash = (hash ^ hash >> 27) * 0x94d049bb133111eb;
  return hash ^ hash >> 31;
}

enum tombola_status tombola_sampler_follow(tombola_sampler *sampler, const tombola_sampler *target) {
  const struct tombola__plan *plan = target->plan;
  if (sampler->plan != plan || sampler == target)
    return tombola__fail(&sampler->error, TOMBOLA_INVALID_ARGUMENT, "target",
                         "a sampler can only follow one that it is a clone of");
  memcpy(sampler->state, target->state, plan->state_size);
  const struct tombola__generator *generator = plan->dialect->generator;
  uint64_t seed = digest(target->state, generator->state_size) & generator->max_seed;
  generator->seed(sampler->state, seed);
  if (generator->request) generator->request(sampler->state, target->request);
  tombola__history_clear(&sampler->history);
  for (size_t i = 0; i < target->history.count; i++)
    if (tombola__history_push(&sampler->history, tombola__history_at(&target->history, i)))
      return tombola__no_memory(&sampler->error);
  return TOMBOLA_OK;
}

int tombola_sampler_refuses_speculation(const tombola_sampler *sampler) {
  return sampler->plan->dialect->refuses_sampled_speculation && !sampler->plan->greedy;
}
