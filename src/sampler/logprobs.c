/* SPDX-License-Identifier: Apache-2.0 */
/* Log-probabilities of the best tokens and the chosen one. The sum is taken in doubles over all tokens that
 * add anything to it, ln and exp are libm's: these numbers are reported, no token depends on them.
 *
 * raw and penalized run the row once more, the latter through the edits that begin the chain; final takes the
 * candidates as the draw left them. */
#include <math.h>

#include "internal.h"

/* exp(-46) is below 2^-66: even 2^24 such terms don't reach the last bit of a sum that is at least 1. */
#define NEGLIGIBLE (-46.0)

/* What one walk over the candidates finds. */
struct survey {
  double sum;   /* of exp((logit - max) * scale) */
  float chosen; /* its logit, -inf when it is no candidate */
  tombola_token token;
  size_t before; /* candidates that rank before it */
};

static double distance(const struct tombola__candidates *c, float logit) {
  return ((double)logit - (double)c->max) * (double)c->scale;
}

static void look_at(struct survey *s, const struct tombola__candidates *c, float logit, tombola_token id) {
  double x = distance(c, logit);
  if (x > NEGLIGIBLE) s->sum += exp(x);
  s->before += logit > s->chosen || (logit == s->chosen && id < s->token);
}

/* Blocks that neither add to the sum nor hold a token before the chosen one are passed over. */
static void survey_dense(struct survey *s, const struct tombola__candidates *c) {
  float room[TOMBOLA__BLOCK];
  for (size_t b = 0; b < c->n_blocks; b++) {
    if (!(distance(c, c->maxima[b]) > NEGLIGIBLE) && c->maxima[b] < s->chosen) continue;
    const float *logits = tombola__candidates_block(c, b, room);
    for (size_t i = 0; i < TOMBOLA__BLOCK; i++)
      if (logits[i] > -INFINITY) look_at(s, c, logits[i], (tombola_token)(b * TOMBOLA__BLOCK + i));
  }
}

static float logit_of(const struct tombola__candidates *c, tombola_token token) {
  float room[TOMBOLA__BLOCK];
  if (token < 0 || (size_t)token >= c->vocab_size) return -INFINITY;
  if (c->dense) {
    size_t b = (size_t)token / TOMBOLA__BLOCK;
    return tombola__candidates_block(c, b, room)[(size_t)token % TOMBOLA__BLOCK];
  }
  for (size_t i = 0; i < c->count; i++)
    if (c->list[i].id == token) return c->list[i].logit;
  return -INFINITY;
}

static enum tombola_status reserve(struct tombola_sampler *s, size_t count) {
  struct tombola__logprobs *l = &s->logprobs;
  if (count > s->plan->vocab_size) count = s->plan->vocab_size;
  if (count <= l->capacity) return TOMBOLA_OK;
  void *top = l->top ? tombola__resize(&s->allocator, l->top, l->capacity, count, sizeof *l->top)
                     : tombola__new(&s->allocator, count, sizeof *l->top);
  if (!top) return tombola__no_memory(&s->error);
  l->top = top;
  l->capacity = count;
  return TOMBOLA_OK;
}

/* From the candidates, which end as a ranked list. There is room for `count`. */
static enum tombola_status collect(struct tombola_sampler *s, tombola_token token, size_t count) {
  struct tombola__candidates *c = &s->candidates;
  struct tombola_logprobs *out = &s->logprobs.result;
  enum tombola_status status = tombola__candidates_index(c);
  if (status) return status;
  struct survey survey = {.token = token, .chosen = logit_of(c, token)};
  if (c->dense) {
    survey_dense(&survey, c);
  } else {
    for (size_t i = 0; i < c->count; i++)
      look_at(&survey, c, c->list[i].logit, c->list[i].id);
  }
  double sum = log(survey.sum);
  bool occurs = survey.chosen > -INFINITY;
  *out = (struct tombola_logprobs){.token = token,
                                   .logprob = occurs ? (float)(distance(c, survey.chosen) - sum) : -INFINITY,
                                   .rank = occurs ? survey.before : SIZE_MAX,
                                   .top = s->logprobs.top};
  if (count) status = tombola__candidates_keep_top(c, count);
  for (; !status && out->count < count && out->count < c->count; out->count++) {
    struct tombola__entry e = c->list[out->count];
    s->logprobs.top[out->count] = (struct tombola_logprob){e.id, (float)(distance(c, e.logit) - sum)};
  }
  return status;
}

/* The edits that begin the chain; the first active stage of another kind ends them. */
static enum tombola_status run_edits(struct tombola_sampler *s) {
  const struct tombola__plan *plan = s->plan;
  for (size_t i = 0; i < plan->n_chain; i++) {
    if (!plan->chain[i].active) continue;
    if (!plan->chain[i].stage->edits) break;
    struct tombola__stage_call call = tombola__call(s, i);
    enum tombola_status status = call.link->stage->apply(&call);
    if (status) return status;
  }
  return TOMBOLA_OK;
}

/* Makes the candidates those of a stage, but for final. */
static enum tombola_status run_stage(struct tombola_sampler *s, const struct tombola_row *row,
                                     const struct tombola_mask *mask, enum tombola_logprob_stage stage) {
  bool raw = stage == TOMBOLA_LOGPROB_RAW;
  tombola__candidates_begin(&s->candidates, row, raw ? NULL : mask);
  return raw ? TOMBOLA_OK : run_edits(s);
}

void tombola__logprobs_note(struct tombola_sampler *s, const struct tombola_row *row,
                            const struct tombola_mask *mask, tombola_token token) {
  struct tombola__logprobs *l = &s->logprobs;
  enum tombola_status status =
      l->stage == TOMBOLA_LOGPROB_FINAL ? tombola__rejection_support(s) : run_stage(s, row, mask, l->stage);
  if (!status) status = collect(s, token, l->wanted);
  l->valid = !status;
}

static enum tombola_status check_stage(struct tombola_sampler *s, enum tombola_logprob_stage stage) {
  if (stage == TOMBOLA_LOGPROB_RAW || stage == TOMBOLA_LOGPROB_PENALIZED || stage == TOMBOLA_LOGPROB_FINAL)
    return TOMBOLA_OK;
  return tombola__fail(&s->error, TOMBOLA_INVALID_ARGUMENT, "stage",
                       "the stage of log-probabilities must be raw, penalized or final, got %d", (int)stage);
}

enum tombola_status tombola_sampler_set_logprobs(tombola_sampler *sampler, enum tombola_logprob_stage stage,
                                                 size_t count) {
  enum tombola_status status = check_stage(sampler, stage);
  if (!status) status = reserve(sampler, count);
  if (status) return status;
  sampler->logprobs.stage = stage;
  sampler->logprobs.wanted = count;
  sampler->logprobs.valid = false;
  return TOMBOLA_OK;
}

size_t tombola_sampler_wants_logprobs(const tombola_sampler *sampler) {
  return sampler->logprobs.wanted;
}

const struct tombola_logprobs *tombola_sampler_logprobs(const tombola_sampler *sampler) {
  return sampler->logprobs.valid ? &sampler->logprobs.result : NULL;
}

enum tombola_status tombola_logprobs(tombola_sampler *sampler, const struct tombola_row *row,
                                     const struct tombola_mask *mask, enum tombola_logprob_stage stage,
                                     tombola_token token, size_t count, const struct tombola_logprobs **out) {
  struct tombola__logprobs *l = &sampler->logprobs;
  *out = &l->result;
  l->valid = false;
  l->result = (struct tombola_logprobs){.token = token, .logprob = -INFINITY, .rank = SIZE_MAX};
  if (token == TOMBOLA_NO_TOKEN && count == 0) return TOMBOLA_OK;
  enum tombola_status status = check_stage(sampler, stage);
  if (!status) status = reserve(sampler, count);
  if (!status) status = tombola__check_row(sampler, row, mask);
  if (status) return status;
  if (stage == TOMBOLA_LOGPROB_FINAL) {
    status = tombola__look(sampler, row, mask);
    if (status) return status;
  } else {
    status = run_stage(sampler, row, mask, stage);
  }
  if (!status) status = collect(sampler, token, count);
  return status ? tombola__explain(sampler, status) : TOMBOLA_OK;
}
