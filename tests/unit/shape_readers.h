/* SPDX-License-Identifier: Apache-2.0 */
/* Reads values by shapes, as the machine does: all ways at once, property by property and item by item. */
#ifndef SHAPE_READERS_H
#define SHAPE_READERS_H

#include "shape_trees.h"

static inline void open_store(struct tombola__store *s, enum tombola_property_order order) {
  struct tombola_error error = {0};
  if (tombola__store_new(s, NULL, NULL, &error)) fail_msg("%s", error.message);
  s->order = order;
}

static inline void check_store(const struct tombola__store *s) {
  if (s->status) fail_msg("%s", s->error.message);
}

/* ---- reading values by shapes ---- */

#define MOST_THREADS 256

struct thread {
  const struct tombola__object_shape *object;
  const struct tombola__array_shape *array;
  uint32_t count, extras, met, last_order;
  uint32_t counts[8];
  uint64_t seen[2], alive[64];
  bool paired;
};

struct threads {
  struct thread at[MOST_THREADS];
  size_t n;
};

/* What one way leads to. */
struct step {
  struct tombola__store *s;
  const struct thread *from;
  uint32_t index; /* of a declared property */
  const struct value *value;
  bool there; /* among the items already */
  struct threads *to;
};

static inline bool accepts(struct tombola__store *s, tombola__formula f, const struct value *v);

/* Whether it is one with another that is there. */
static inline bool united(struct threads *to, const struct thread *t) {
  for (size_t i = 0; t->object && i < to->n; i++) {
    struct thread *const other = &to->at[i];
    if (other->object == t->object && other->count == t->count && other->extras == t->extras &&
        other->met == t->met && other->last_order == t->last_order &&
        !memcmp(other->seen, t->seen, sizeof t->seen) &&
        tombola__object_unite(t->object, other->alive, t->alive, other->alive))
      return true;
  }
  return false;
}

static inline void add_thread(struct threads *to, struct thread t) {
  if (united(to, &t)) return;
  assert_true(to->n < MOST_THREADS);
  to->at[to->n++] = t;
}

static inline struct tombola__object_state object_state(const struct thread *t) {
  return (struct tombola__object_state){t->object,     t->count, t->extras, t->met,
                                        t->last_order, t->seen,  t->alive};
}

static inline void object_way(void *context, tombola__formula f, const void *more) {
  struct step *const step = context;
  if (!accepts(step->s, f, step->value)) return;
  struct thread t = *step->from;
  t.count++;
  const struct tombola__object_way *const way = more;
  t.met |= way->met;
  if (way->alive) memcpy(t.alive, way->alive, tombola__alive_words(t.object) * sizeof *way->alive);
  if (step->index == TOMBOLA__MANY) {
    t.extras++;
  } else {
    t.seen[step->index / 64] |= UINT64_C(1) << step->index % 64;
    if (t.object->declared[step->index].order != TOMBOLA__MANY)
      t.last_order = t.object->declared[step->index].order + 1;
  }
  add_thread(step->to, t);
}

/* The declared property's index, MANY for an undeclared one; false when the name may not come next. */
static inline bool find_name(struct tombola__store *s, const struct thread *t, const char *name,
                             uint32_t *index) {
  uint64_t names[2] = {0};
  bool extra = false;
  assert_true(t->object->n_declared <= 128);
  const struct tombola__object_state state = object_state(t);
  const bool any = tombola__object_names(s, &state, names, &extra);
  *index = TOMBOLA__MANY;
  for (uint32_t i = 0; i < t->object->n_declared; i++)
    if (!strcmp(t->object->declared[i].name->text, name)) {
      *index = i;
      if (names[i / 64] >> i % 64 & 1) assert_true(any);
      return names[i / 64] >> i % 64 & 1;
    }
  return extra && tombola__lang_matches(s, t->object->extra, name, strlen(name));
}

static inline bool offers(struct tombola__store *s, const struct threads *threads, const char *name) {
  uint32_t index;
  for (size_t i = 0; i < threads->n; i++)
    if (find_name(s, &threads->at[i], name, &index)) return true;
  return false;
}

static inline void read_property(struct tombola__store *s, const struct threads *from, const char *name,
                                 const struct value *v, struct threads *to) {
  to->n = 0;
  for (size_t i = 0; i < from->n; i++) {
    struct step step = {.s = s, .from = &from->at[i], .value = v, .to = to};
    if (!find_name(s, step.from, name, &step.index)) continue;
    const struct tombola__object_state state = object_state(step.from);
    tombola__object_ways(s, &state, step.index, name, strlen(name), object_way, &step);
  }
}

static inline bool object_ends(struct tombola__store *s, const struct threads *threads) {
  for (size_t i = 0; i < threads->n; i++) {
    const struct tombola__object_state state = object_state(&threads->at[i]);
    if (tombola__object_may_end(s, &state)) return true;
  }
  return false;
}

static inline void start_objects(struct tombola__store *s, tombola__formula f, struct threads *threads) {
  const struct tombola__value *const v = tombola__value(s, f);
  threads->n = 0;
  for (size_t i = 0; v && i < v->n_objects; i++) {
    struct thread t = {.object = v->objects[i]};
    tombola__object_begin(t.object, t.alive);
    add_thread(threads, t);
  }
}

static inline void array_way(void *context, tombola__formula f, const void *more) {
  struct step *const step = context;
  if (!accepts(step->s, f, step->value)) return;
  struct thread t = *step->from;
  t.paired |= step->there;
  t.count++;
  if (t.array->n_counts) memcpy(t.counts, more, t.array->n_counts * sizeof *t.counts);
  add_thread(step->to, t);
}

static inline struct tombola__array_state array_state(const struct thread *t, const char *const *seen) {
  const bool compares = t->array->unique || (t->array->not_unique && !t->paired);
  return (struct tombola__array_state){t->array, t->count, t->counts, compares ? seen : NULL, t->paired};
}

static inline bool is_among(const char *text, const char *const *seen, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!strcmp(text, seen[i])) return true;
  return false;
}

static inline void read_item(struct tombola__store *s, const struct threads *from, const char *const *seen,
                             const struct value *v, struct threads *to) {
  to->n = 0;
  for (size_t i = 0; i < from->n; i++) {
    struct step step = {.s = s, .from = &from->at[i], .value = v, .to = to};
    assert_true(step.from->array->n_counts <= 8);
    step.there = is_among(v->text, seen, step.from->count);
    if (step.from->array->unique && step.there) continue;
    const struct tombola__array_state state = array_state(step.from, seen);
    tombola__array_ways(s, &state, array_way, &step);
  }
}

static inline bool array_ends(struct tombola__store *s, const struct threads *threads) {
  for (size_t i = 0; i < threads->n; i++) {
    const struct tombola__array_state state = array_state(&threads->at[i], NULL);
    if (tombola__array_may_end(s, &state)) return true;
  }
  return false;
}

static inline void start_arrays(struct tombola__store *s, tombola__formula f, struct threads *threads) {
  const struct tombola__value *const v = tombola__value(s, f);
  threads->n = 0;
  for (size_t i = 0; v && i < v->n_arrays; i++)
    add_thread(threads, (struct thread){.array = v->arrays[i]});
}

static inline bool accepts_inside(struct tombola__store *s, tombola__formula f, const struct value *v) {
  struct threads sets[2];
  const char *seen[MOST_CHILDREN];
  struct threads *now = &sets[0], *next = &sets[1];
  const bool object = v->type == TOMBOLA__OBJECT;
  (object ? start_objects : start_arrays)(s, f, now);
  for (size_t i = 0; i < v->n; i++) {
    if (object)
      read_property(s, now, v->names[i], v->children[i], next);
    else
      read_item(s, now, seen, v->children[i], next);
    seen[i] = v->children[i]->text;
    struct threads *const old = now;
    now = next;
    next = old;
  }
  return object ? object_ends(s, now) : array_ends(s, now);
}

static inline bool accepts(struct tombola__store *s, tombola__formula f, const struct value *v) {
  const struct tombola__value *const allowed = tombola__value(s, f);
  if (!allowed || !(allowed->types & v->type)) return false;
  struct tombola__decimal number = {v->number ? "1" : "", v->number ? 1 : 0, false, 0};
  if (v->type == TOMBOLA__STRING)
    return tombola__lang_matches(s, allowed->text, v->string, strlen(v->string));
  if (v->type == TOMBOLA__NUMBER) return tombola__numbers_has(s, allowed->numbers, &number);
  return !(v->type & (TOMBOLA__ARRAY | TOMBOLA__OBJECT)) || accepts_inside(s, f, v);
}

#endif
