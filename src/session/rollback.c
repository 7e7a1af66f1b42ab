/* SPDX-License-Identifier: Apache-2.0 */
/* Going back: tokens that are held (taken, not reported) can be taken back, to the one in front of which the answer is
 * to go on in another way; that token is banned there for as long as what is in front of it stays. */
#include "session/internal.h"

enum tombola_status tombola__hold_room(struct tombola__generation *g, size_t room) {
  if (room <= g->held_room) return TOMBOLA_OK;
  struct tombola__held *ring = tombola__new(&g->session->allocator, room, sizeof *ring);
  if (!ring) return tombola__no_memory(g->error);
  if (g->held != &g->one) tombola__free(&g->session->allocator, g->held);
  g->held = ring; /* nothing is held yet */
  g->held_room = room;
  return TOMBOLA_OK;
}

/* Bans behind `position` were for other tokens in front of them; those of released tokens are never asked
 * again. */
static void forget_bans(struct tombola__back *back, size_t oldest, size_t position) {
  size_t kept = 0;
  for (size_t i = 0; i < back->n; i++) {
    if (back->list[i].position >= oldest && back->list[i].position <= position)
      back->list[kept++] = back->list[i];
  }
  back->n = kept;
}

static enum tombola_status add_ban(struct tombola__generation *g, size_t position, tombola_token token) {
  struct tombola__back *back = &g->back;
  forget_bans(back, g->position - g->n_held, position);
  if (back->n == back->room) {
    size_t room = back->room ? 2 * back->room : 16;
    void *list =
        back->list ? tombola__resize(&g->session->allocator, back->list, back->room, room, sizeof *back->list)
                   : tombola__new(&g->session->allocator, room, sizeof *back->list);
    if (!list) return tombola__no_memory(g->error);
    back->list = list;
    back->room = room;
  }
  back->list[back->n++] = (struct tombola__banned){position, token};
  return TOMBOLA_OK;
}

static enum tombola_status restore(struct tombola__generation *g, const tombola_snapshot *snapshot,
                                   tombola_sampler *sampler) {
  if (!sampler) return TOMBOLA_OK;
  enum tombola_status status = tombola_snapshot_rewind(snapshot, sampler);
  return status == TOMBOLA_OK ? TOMBOLA_OK : tombola__sampler_failed(g, sampler, status);
}

enum tombola_status tombola__go_back(struct tombola__generation *g, size_t first, bool *again) {
  size_t lost = g->n_held - first;
  struct tombola__held *held = tombola__held_at(g, first);
  size_t position = g->position - lost;
  *again = g->stats.rollbacks < g->back.max_rollbacks && g->stats.rolled_back + lost <= g->back.max_tokens;
  enum tombola_status status = *again ? add_ban(g, position, held->token) : TOMBOLA_OK;
  if (status == TOMBOLA_OK) status = restore(g, held->sampler, g->first);
  if (status == TOMBOLA_OK) status = restore(g, held->answer, g->second);
  if (status == TOMBOLA_OK) status = tombola__constraint_go_back(g, lost);
  if (status != TOMBOLA_OK) return status;
  g->place = held->before;
  g->position = position;
  g->n_held = first;
  g->row_valid = false;
  tombola__set_sampler(g);
  g->stats.rollbacks++;
  g->stats.rolled_back += lost;
  return TOMBOLA_OK;
}

bool tombola__bans_apply(const struct tombola__generation *g, uint32_t *words) {
  bool any = false;
  for (size_t i = 0; i < g->back.n; i++) {
    if (g->back.list[i].position != g->position) continue;
    tombola_token token = g->back.list[i].token;
    if (words) words[token / 32] &= ~(UINT32_C(1) << (token % 32));
    any = true;
  }
  return any;
}
