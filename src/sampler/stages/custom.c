/* SPDX-License-Identifier: Apache-2.0 */
/* A caller's own stage (<tombola/stage.h>): the candidates are shown to it as a list, and what it leaves is
 * taken over. The view and the history lie behind the candidates' list, so that nothing is allocated once the
 * sampler is warm. */
#include <math.h>
#include <string.h>

#include "../internal.h"

static bool active(const struct tombola_sampler_params *params, const struct tombola__dialect *dialect) {
  (void)params, (void)dialect;
  return true;
}

static void reset(struct tombola__stage_call *call) {
  if (call->state) memset(call->state, 0, call->link->state_size);
}

_Static_assert(sizeof(struct tombola_candidate) == 2 * sizeof(struct tombola__entry),
               "a candidate takes the place of two entries");

/* The last tokens that the stage wants to see, oldest first, where `room` has space for them. */
static size_t show_history(const struct tombola__stage_call *call, tombola_token *room) {
  const struct tombola__history *h = call->history;
  size_t n = h->count < call->link->custom->history ? h->count : call->link->custom->history;
  for (size_t i = 0; i < n; i++)
    room[i] = tombola__history_at(h, h->count - n + i);
  return n;
}

static void show_candidates(const struct tombola__candidates *c, struct tombola_candidate *view) {
  float weights[TOMBOLA__BLOCK];
  for (size_t first = 0, n; first < c->count; first += n) {
    n = tombola__candidates_weights(c, first, weights);
    for (size_t i = 0; i < n; i++)
      view[first + i] =
          (struct tombola_candidate){tombola__candidates_id(c, first + i),
                                     tombola__candidates_logit(c, first + i), (double)weights[i] / c->total};
  }
}

/* What is left becomes the list; its order is seen from what it holds. Its logits are effective ones. */
static enum tombola_status take_over(struct tombola__candidates *c, size_t vocab_size,
                                     const struct tombola_stage_view *view) {
  bool by_id = true, by_rank = true;
  size_t kept = 0;
  if (view->count > c->count) return TOMBOLA_INVALID_ARGUMENT;
  for (size_t i = 0; i < view->count; i++) {
    struct tombola__entry e = {view->candidates[i].logit, view->candidates[i].id};
    if (e.id < 0 || (size_t)e.id >= vocab_size) return TOMBOLA_INVALID_ARGUMENT;
    if (isnan(e.logit) || e.logit == INFINITY) return TOMBOLA_NOT_FINITE;
    if (e.logit == -INFINITY) continue;
    if (kept) {
      const struct tombola__entry *before = &c->list[kept - 1];
      by_id = by_id && before->id < e.id;
      by_rank = by_rank && (before->logit > e.logit || (before->logit == e.logit && before->id < e.id));
    }
    c->list[kept++] = e;
  }
  c->count = kept;
  c->order = by_id ? TOMBOLA__BY_ID : by_rank ? TOMBOLA__BY_RANK : TOMBOLA__BY_CHANCE;
  c->scale = 1;
  c->indexed = c->summed = false;
  return kept ? TOMBOLA_OK : TOMBOLA_NO_CANDIDATE;
}

static enum tombola_status apply(struct tombola__stage_call *call) {
  const struct tombola_custom_stage *custom = call->link->custom;
  struct tombola__candidates *c = call->candidates;
  enum tombola_status status = tombola__candidates_list(c, false);
  if (!status) status = tombola__candidates_sum(c);
  if (status) return status;
  size_t shown = call->history->count < custom->history ? call->history->count : custom->history;
  if (tombola__candidates_reserve(c, 3 * c->count + shown)) return TOMBOLA_NO_MEMORY;
  struct tombola_candidate *candidates = (struct tombola_candidate *)(void *)(c->list + c->count);
  tombola_token *history = (tombola_token *)(void *)(candidates + c->count);
  show_candidates(c, candidates);
  struct tombola_stage_view view = {.struct_size = sizeof view,
                                    .candidates = candidates,
                                    .count = c->count,
                                    .history = history,
                                    .n_history = show_history(call, history)};
  status = custom->apply(custom->context, call->state, &view);
  return status ? status : take_over(c, call->plan->vocab_size, &view);
}

static void accept(struct tombola__stage_call *call, tombola_token token) {
  const struct tombola_custom_stage *custom = call->link->custom;
  if (custom->accept) custom->accept(custom->context, call->state, token);
}

const struct tombola__stage tombola__stage_custom = {
    .name = "custom",
    .bans = true,
    .active = active,
    .reset = reset,
    .apply = apply,
    .accept = accept,
};
