/* SPDX-License-Identifier: Apache-2.0 */
/* A sampler's state, to go back to: the states of the generator and the stages, and the history's tokens. The
 * table of counts is made again from the tokens; copying it would cost as much. */
#include <string.h>

#include "internal.h"

struct tombola_snapshot {
  struct tombola_allocator allocator;
  struct tombola__plan *plan;
  unsigned char *state;
  tombola_token *tokens;
  size_t count, capacity;
};

enum tombola_status tombola_snapshot_new(const tombola_sampler *sampler, tombola_snapshot **out) {
  const struct tombola_allocator *allocator = &sampler->allocator;
  *out = NULL;
  struct tombola_snapshot *snapshot = tombola__new(allocator, 1, sizeof *snapshot);
  if (!snapshot) return TOMBOLA_NO_MEMORY;
  snapshot->allocator = *allocator;
  snapshot->plan = tombola__plan_share(sampler->plan);
  snapshot->capacity = sampler->history.ring_capacity;
  snapshot->state = tombola__new(allocator, 1, sampler->plan->state_size);
  if (snapshot->capacity)
    snapshot->tokens = tombola__new(allocator, snapshot->capacity, sizeof *snapshot->tokens);
  if (!snapshot->state || (snapshot->capacity && !snapshot->tokens)) {
    tombola_snapshot_free(snapshot);
    return TOMBOLA_NO_MEMORY;
  }
  *out = snapshot;
  return tombola_snapshot_take(snapshot, sampler);
}

void tombola_snapshot_free(tombola_snapshot *snapshot) {
  if (!snapshot) return;
  struct tombola_allocator allocator = snapshot->allocator;
  tombola__free(&allocator, snapshot->state);
  tombola__free(&allocator, snapshot->tokens);
  tombola__plan_free(snapshot->plan);
  tombola__free(&allocator, snapshot);
}

enum tombola_status tombola_snapshot_take(tombola_snapshot *snapshot, const tombola_sampler *sampler) {
  const struct tombola__history *h = &sampler->history;
  if (snapshot->plan != sampler->plan) return TOMBOLA_INVALID_ARGUMENT;
  if (h->count > snapshot->capacity) {
    void *tokens = tombola__resize(&snapshot->allocator, snapshot->tokens, snapshot->capacity,
                                   h->ring_capacity, sizeof *snapshot->tokens);
    if (!tokens) return TOMBOLA_NO_MEMORY;
    snapshot->tokens = tokens;
    snapshot->capacity = h->ring_capacity;
  }
  memcpy(snapshot->state, sampler->state, sampler->plan->state_size);
  for (size_t i = 0; i < h->count; i++)
    snapshot->tokens[i] = tombola__history_at(h, i);
  snapshot->count = h->count;
  return TOMBOLA_OK;
}

static enum tombola_status restore_history(const tombola_snapshot *snapshot, tombola_sampler *sampler) {
  tombola__history_clear(&sampler->history);
  for (size_t i = 0; i < snapshot->count; i++) {
    enum tombola_status status = tombola__history_push(&sampler->history, snapshot->tokens[i]);
    if (status) return status;
  }
  return TOMBOLA_OK;
}

enum tombola_status tombola_snapshot_restore(const tombola_snapshot *snapshot, tombola_sampler *sampler) {
  if (snapshot->plan != sampler->plan) return TOMBOLA_INVALID_ARGUMENT;
  memcpy(sampler->state, snapshot->state, sampler->plan->state_size);
  return restore_history(snapshot, sampler);
}

/* The generator's state comes first; behind it are those of the stages, of which some are generators. */
enum tombola_status tombola_snapshot_rewind(const tombola_snapshot *snapshot, tombola_sampler *sampler) {
  const struct tombola__plan *plan = sampler->plan;
  if (snapshot->plan != plan) return TOMBOLA_INVALID_ARGUMENT;
  for (size_t i = 0; i < plan->n_chain; i++) {
    const struct tombola__link *link = &plan->chain[i];
    if (link->state_size && !link->stage->random_state)
      memcpy(sampler->state + link->state_offset, snapshot->state + link->state_offset, link->state_size);
  }
  return restore_history(snapshot, sampler);
}
