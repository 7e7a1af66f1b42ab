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
    return tombola__fail(&s->error, TOMBOLA_INVALID_ARGUMENT, name, "%s must have 1 to %d weights, it has %zu",
                         name, INT32_MAX, weights ? count : 0);
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

enum tombola_status tombola_speculative_accept(tombola_sampler *sampler, const float *p, size_t p_count,
                                               const float *q, size_t q_count, tombola_token draft,
                                               int *accepted, tombola_token *token) {
  *accepted = 0;
  *token = TOMBOLA_NO_TOKEN;
  enum tombola_status status = check_both(sampler, p, p_count, q, q_count, draft);
  if (status) return status;
  double u = sampler->plan->dialect->generator->uniform(sampler->state);
  *accepted = u < ratio(p[draft], q[draft]);
  *token = draft;
  if (!*accepted) {
    struct weights w = {p, q, p_count};
    double total = total_of(&w);
    if (!(total > 0)) { /* p never exceeds q: they are equal but for rounding */
      w.q = NULL;
      total = total_of(&w);
    }
    *token = pick(sampler, &w, total);
  }
  next_step(sampler);
  return TOMBOLA_OK;
}
