/* SPDX-License-Identifier: Apache-2.0 */
/* Objects: frames, and the ways to go on with a property. */
#include <string.h>

#include "constraint/machine/json.h"

/* What a frame is to the keys of masks: the object's shape, and what is there as far as it matters. */
static void make_key(struct tombola__json_object *o) {
  const struct tombola__object_shape *const shape = o->state.shape;
  const struct tombola__object_state *const state = &o->state;
  const struct tombola__frame *const up = o->head.frame.up;
  const uint32_t wants = shape->n_wants < 32 ? (UINT32_C(1) << shape->n_wants) - 1 : UINT32_MAX;
  const bool counts = state->count < shape->min || shape->max != TOMBOLA__MANY || state->met != wants;
  for (unsigned i = 0; i < 2; i++) {
    uint64_t key = tombola__mix(TOMBOLA__JSON_OBJECT + 16 + i, up ? up->key[i] : 0);
    key = tombola__mix(key, (uint64_t)(uintptr_t)shape);
    for (size_t w = 0; w < (shape->n_declared + 63) / 64; w++)
      key = tombola__mix(key, state->seen[w]);
    key = tombola__mix(key, (uint64_t)state->last_order << 32 | state->met);
    if (counts) key = tombola__mix(key, (uint64_t)state->count << 32 | state->extras);
    o->head.frame.key[i] = tombola__mix(key, o->extras_hash);
  }
}

/* In front of a key, when there may be one; `end`: or in front of the end of the object. */
static void expect_name(struct tombola__machine *m, const struct tombola__json_object *o, bool end) {
  struct tombola__store *const s = tombola__machine_store(m);
  const size_t words = (o->state.shape->n_declared + 63) / 64;
  struct tombola__json_names *const names =
      tombola__json_frame(m, &o->head.frame, sizeof *names, TOMBOLA__JSON_NAMES);
  uint64_t *const allowed = names ? tombola__machine_take(m, (words + 1) * sizeof *allowed) : NULL;
  if (!allowed) return;
  struct tombola__thread next = {.part = TOMBOLA__JSON, .kind = TOMBOLA__JSON_CLOSE, .up = &o->head.frame};
  if (tombola__object_names(s, &o->state, allowed, &names->extra)) {
    names->object = o;
    names->allowed = allowed;
    for (unsigned i = 0; i < 2; i++)
      names->head.frame.key[i] = tombola__mix(o->head.frame.key[i], TOMBOLA__JSON_NAMES);
    next.kind = TOMBOLA__JSON_NAME;
    next.up = &names->head.frame;
    next.c = end;
    end = true;
  }
  if (end) tombola__machine_emit(m, &next);
}

void tombola__json_open_object(struct tombola__machine *m, const struct tombola__object_shape *shape,
                               const struct tombola__frame *up) {
  const size_t words = (shape->n_declared + 63) / 64;
  struct tombola__json_object *const o =
      tombola__json_frame(m, up, sizeof *o + words * sizeof(uint64_t), TOMBOLA__JSON_OBJECT);
  if (!o) return;
  o->state.shape = shape;
  o->state.seen = (const uint64_t *)(o + 1);
  make_key(o);
  expect_name(m, o, tombola__object_may_end(tombola__machine_store(m), &o->state));
}

void tombola__json_object_step(struct tombola__machine *m, const struct tombola__thread *t, uint8_t byte) {
  const struct tombola__json_object *const o = tombola__json_object_of(t->up);
  if (byte == ',') {
    expect_name(m, o, false);
  } else if (byte == '}' && tombola__object_may_end(tombola__machine_store(m), &o->state)) {
    tombola__json_end(m, t->up->up, (uint32_t)tombola__machine_length(m) + 1);
  }
}

/* ---- properties ---- */

struct way {
  struct tombola__machine *m;
  const struct tombola__json_object *object; /* without the property */
  const struct tombola__json_extra *extra;
  uint32_t index;
};

/* The object with the property. */
static const struct tombola__frame *with_property(const struct way *way, uint32_t met) {
  const struct tombola__json_object *const o = way->object;
  const size_t words = (o->state.shape->n_declared + 63) / 64;
  struct tombola__json_object *const next =
      tombola__machine_take(way->m, sizeof *next + words * sizeof(uint64_t));
  if (!next) return NULL;
  *next = *o;
  next->state.count++;
  next->state.met |= met;
  if (way->extra) {
    next->state.extras++;
    next->extras = way->extra;
    next->extras_hash += way->extra->hash; /* in any order */
  } else {
    uint64_t *const seen = (uint64_t *)(next + 1);
    memcpy(seen, o->state.seen, words * sizeof *seen);
    seen[way->index / 64] |= UINT64_C(1) << way->index % 64;
    next->state.seen = seen;
    const uint32_t order = o->state.shape->declared[way->index].order;
    if (order != TOMBOLA__MANY) next->state.last_order = order + 1;
  }
  make_key(next);
  return &next->head.frame;
}

static void go_way(void *context, tombola__formula value, const void *more) {
  const struct way *const way = context;
  const struct tombola__thread next = {.up = with_property(way, *(const uint32_t *)more),
                                       .part = TOMBOLA__JSON,
                                       .kind = TOMBOLA__JSON_COLON,
                                       .a = value};
  if (next.up) tombola__machine_emit(way->m, &next);
}

void tombola__json_property(struct tombola__machine *m, const struct tombola__json_object *object,
                            uint32_t index, const struct tombola__json_extra *extra) {
  struct way way = {m, object, extra, index};
  tombola__object_ways(tombola__machine_store(m), &object->state, index, extra ? extra->name : NULL,
                       extra ? extra->length : 0, go_way, &way);
}
