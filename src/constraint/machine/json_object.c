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
    for (size_t w = 0; w < tombola__seen_words(shape); w++)
      key = tombola__mix(key, state->seen[w]);
    key = tombola__mix(key, (uint64_t)state->last_order << 32 | state->met);
    if (counts) key = tombola__mix(key, (uint64_t)state->count << 32 | state->extras);
    key = o->place[i] = tombola__mix(key, o->extras_hash);
    for (size_t w = 0; w < tombola__alive_words(shape); w++)
      key = tombola__mix(key, state->alive[w]);
    o->head.frame.key[i] = key;
  }
}

/* The frame's bits lie behind it: of declared properties, then of branches. */
static size_t size_of(const struct tombola__object_shape *shape) {
  const size_t words = tombola__seen_words(shape) + tombola__alive_words(shape);
  return sizeof(struct tombola__json_object) + words * sizeof(uint64_t);
}

static uint64_t *own_seen(struct tombola__json_object *o) {
  return (uint64_t *)(o + 1);
}

static uint64_t *own_alive(struct tombola__json_object *o) {
  return own_seen(o) + tombola__seen_words(o->state.shape);
}

/* Points the state to them; they are those of `from`, unless that is NULL. */
static void place_bits(struct tombola__json_object *o, const struct tombola__object_state *from) {
  const size_t seen = tombola__seen_words(o->state.shape), alive = tombola__alive_words(o->state.shape);
  if (from && seen) memcpy(own_seen(o), from->seen, seen * sizeof(uint64_t));
  if (from && alive) memcpy(own_alive(o), from->alive, alive * sizeof(uint64_t));
  o->state.seen = own_seen(o);
  o->state.alive = own_alive(o);
}

/* In front of a key; false: no key may follow, or a failure. */
static bool in_front_of_name(struct tombola__machine *m, const struct tombola__json_object *o,
                             struct tombola__thread *next) {
  struct tombola__store *const s = tombola__machine_store(m);
  struct tombola__json_names *const names =
      tombola__json_frame(m, &o->head.frame, sizeof *names, TOMBOLA__JSON_NAMES);
  uint64_t *const allowed =
      names ? tombola__machine_take(m, (tombola__seen_words(o->state.shape) + 1) * sizeof *allowed) : NULL;
  if (!allowed || !tombola__object_names(s, &o->state, allowed, &names->extra)) return false;
  names->object = o;
  names->allowed = allowed;
  for (unsigned i = 0; i < 2; i++)
    names->head.frame.key[i] = tombola__mix(o->head.frame.key[i], TOMBOLA__JSON_NAMES);
  *next =
      (struct tombola__thread){.up = &names->head.frame, .part = TOMBOLA__JSON, .kind = TOMBOLA__JSON_NAME};
  return true;
}

/* ---- readings that are one ----
 *
 * A value that is right by several branches makes a reading for each. Behind it they are the same but for what is alive,
 * and go on as one where that says as much: or else conditions that overlap would multiply readings. */

static const struct tombola__json_object *object_at(const struct tombola__thread *t) {
  if (t->part != TOMBOLA__JSON) return NULL;
  if (t->kind == TOMBOLA__JSON_NAME) return tombola__json_names_of(t->up)->object;
  return t->kind == TOMBOLA__JSON_NEXT && t->up->kind == TOMBOLA__JSON_OBJECT ? tombola__json_object_of(t->up)
                                                                              : NULL;
}

/* Both as one, or NULL. */
static const struct tombola__json_object *united(struct tombola__machine *m,
                                                 const struct tombola__json_object *a,
                                                 const struct tombola__json_object *b) {
  const struct tombola__object_shape *const shape = a->state.shape;
  if (a->place[0] != b->place[0] || a->place[1] != b->place[1]) return NULL;
  struct tombola__json_object *const both = tombola__machine_take(m, size_of(shape));
  if (!both) return NULL;
  *both = *a;
  place_bits(both, &a->state);
  if (!tombola__object_unite(shape, a->state.alive, b->state.alive, own_alive(both))) return NULL;
  make_key(both);
  return both;
}

/* Emits the place, or makes one of it and of one that has been emitted. */
void tombola__json_emit_next(struct tombola__machine *m, const struct tombola__thread *next) {
  const struct tombola__json_object *const o = object_at(next);
  size_t n = 0;
  struct tombola__thread *const others =
      o && o->state.shape->n_choices ? tombola__machine_emitted(m, &n) : NULL;
  for (size_t i = 0; i < n; i++) {
    if (others[i].kind != next->kind || others[i].b != next->b || others[i].c != next->c) continue;
    const struct tombola__json_object *const other = object_at(&others[i]);
    const struct tombola__json_object *const both = other ? united(m, other, o) : NULL;
    struct tombola__thread place = others[i];
    if (!both) continue;
    if (next->kind == TOMBOLA__JSON_NEXT)
      place.up = &both->head.frame;
    else if (!in_front_of_name(m, both, &place))
      continue;
    others[i] = place;
    return;
  }
  tombola__machine_emit(m, next);
}

/* ---- objects ---- */

void tombola__json_open_object(struct tombola__machine *m, const struct tombola__object_shape *shape,
                               const struct tombola__frame *up) {
  struct tombola__json_object *const o = tombola__json_frame(m, up, size_of(shape), TOMBOLA__JSON_OBJECT);
  if (!o) return;
  o->state.shape = shape;
  place_bits(o, NULL);
  tombola__object_begin(shape, own_alive(o));
  make_key(o);
  struct tombola__thread next = {.up = &o->head.frame, .part = TOMBOLA__JSON, .kind = TOMBOLA__JSON_CLOSE};
  const bool end = tombola__object_may_end(tombola__machine_store(m), &o->state);
  const bool names = in_front_of_name(m, o, &next);
  if (names) next.c = end;
  if (names || end) tombola__machine_emit(m, &next);
}

void tombola__json_object_step(struct tombola__machine *m, const struct tombola__thread *t, uint8_t byte) {
  const struct tombola__json_object *const o = tombola__json_object_of(t->up);
  struct tombola__thread next;
  if (byte == ',') {
    if (in_front_of_name(m, o, &next)) tombola__json_emit_next(m, &next);
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
static const struct tombola__frame *with_property(const struct way *way,
                                                  const struct tombola__object_way *to) {
  const struct tombola__json_object *const o = way->object;
  struct tombola__json_object *const next = tombola__machine_take(way->m, size_of(o->state.shape));
  if (!next) return NULL;
  *next = *o;
  place_bits(next, &o->state);
  next->state.count++;
  next->state.met |= to->met;
  if (to->alive) memcpy(own_alive(next), to->alive, tombola__alive_words(o->state.shape) * sizeof *to->alive);
  if (way->extra) {
    next->state.extras++;
    next->extras = way->extra;
    next->extras_hash += way->extra->hash; /* in any order */
  } else {
    own_seen(next)[way->index / 64] |= UINT64_C(1) << way->index % 64;
    const uint32_t order = o->state.shape->declared[way->index].order;
    if (order != TOMBOLA__MANY) next->state.last_order = order + 1;
  }
  make_key(next);
  return &next->head.frame;
}

static void go_way(void *context, tombola__formula value, const void *more) {
  const struct way *const way = context;
  const struct tombola__thread next = {
      .up = with_property(way, more), .part = TOMBOLA__JSON, .kind = TOMBOLA__JSON_COLON, .a = value};
  if (next.up) tombola__machine_emit(way->m, &next);
}

void tombola__json_property(struct tombola__machine *m, const struct tombola__json_object *object,
                            uint32_t index, const struct tombola__json_extra *extra) {
  struct way way = {m, object, extra, index};
  tombola__object_ways(tombola__machine_store(m), &object->state, index, extra ? extra->name : NULL,
                       extra ? extra->length : 0, go_way, &way);
}
