/* SPDX-License-Identifier: Apache-2.0 */
/* Every formula that a text can lead to, looked at once, so that nothing is left to fail when texts are read. */
#include <string.h>

#include "constraint/shape/shape_parts.h"

#define MOST_FORMULAS 20000
#define MOST_GROUPS   6 /* of undeclared names, whose combinations are all looked at */

struct walk {
  struct tombola__store *s;
  tombola__formula *queue;
  size_t n, room;
  uint64_t *seen; /* bits by formula */
  size_t words;
  const char *reason;
};

static void inexact(struct walk *w, const char *reason) {
  if (!w->reason) w->reason = reason;
}

/* Room for `n` more words of bits or formulas in a growing array. */
static void *grown(struct tombola__store *s, void *old, size_t old_count, size_t new_count, size_t size) {
  void *const memory = tombola__resize(&s->allocator, old, old_count, new_count, size);
  if (!memory) tombola__store_fail(s, TOMBOLA_NO_MEMORY, NULL, "out of memory");
  return memory;
}

static void push(struct walk *w, tombola__formula f) {
  struct tombola__store *const s = w->s;
  if (s->status || !tombola__sat(s, f)) return;
  f = tombola__resolve(s, f);
  if (f / 64 >= w->words) {
    const size_t words = (size_t)f / 64 * 2 + 16;
    uint64_t *const seen = grown(s, w->seen, w->words, words, sizeof *seen);
    if (!seen) return;
    memset(seen + w->words, 0, (words - w->words) * sizeof *seen);
    w->seen = seen;
    w->words = words;
  }
  if (tombola__bit(w->seen, f)) return;
  tombola__set_bit(w->seen, f);
  if (w->n == MOST_FORMULAS) {
    inexact(w, "the schema has more kinds of values than are looked at beforehand");
    return;
  }
  if (w->n == w->room) {
    const size_t room = w->room ? w->room * 2 : 64;
    tombola__formula *const queue = grown(s, w->queue, w->room, room, sizeof *queue);
    if (!queue) return;
    w->queue = queue;
    w->room = room;
  }
  w->queue[w->n++] = f;
}

/* ---- objects ---- */

/* The values of undeclared names by the groups that have them. */
static void push_groups(struct walk *w, const struct tombola__object_shape *shape) {
  if (shape->extra == TOMBOLA__LANG_NONE) return;
  push(w, TOMBOLA__TRUE);
  if (shape->n_groups > MOST_GROUPS) {
    for (size_t g = 0; g < shape->n_groups; g++)
      push(w, shape->groups[g].value);
    return;
  }
  for (size_t set = 1; set < (size_t)1 << shape->n_groups; set++) {
    tombola__formula value = TOMBOLA__TRUE;
    tombola__lang names = shape->extra;
    for (size_t g = 0; g < shape->n_groups; g++)
      if (set >> g & 1) {
        value = tombola__and2(w->s, value, shape->groups[g].value);
        names = tombola__lang_and(w->s, names, shape->groups[g].keys);
      }
    if (names != TOMBOLA__LANG_NONE && !tombola__lang_is_none(w->s, names)) push(w, value);
  }
}

static void push_way(void *context, tombola__formula value, const void *more) {
  (void)more;
  push(context, value);
}

/* The values that the branches of its choices want: what comes later has no more of them than what comes first. */
static void push_choices(struct walk *w, const struct tombola__object_shape *shape) {
  const size_t words = tombola__seen_words(shape), n = words + tombola__alive_words(shape);
  uint64_t *const bits = tombola__new(&w->s->allocator, n + 1, sizeof *bits);
  if (!bits) {
    tombola__store_fail(w->s, TOMBOLA_NO_MEMORY, NULL, "out of memory");
    return;
  }
  tombola__object_begin(shape, bits + words);
  const struct tombola__object_state state = {.shape = shape, .seen = bits, .alive = bits + words};
  for (size_t i = 0; i < shape->n_declared && !w->s->status; i++)
    if (shape->declared[i].possible) tombola__object_ways(w->s, &state, (uint32_t)i, NULL, 0, push_way, w);
  tombola__free(&w->s->allocator, bits);
  push_groups(w, shape);
}

static void push_object(struct walk *w, const struct tombola__object_shape *shape) {
  struct tombola__store *const s = w->s;
  if (shape->n_choices) {
    push_choices(w, shape);
    return;
  }
  for (size_t i = 0; i < shape->n_declared; i++) {
    const struct tombola__declared *const d = &shape->declared[i];
    if (!d->possible) continue;
    push(w, d->value);
    for (size_t k = 0; k < shape->n_wants; k++)
      if (tombola__lang_matches(s, shape->wants[k].keys, d->name->text, d->name->length))
        push(w, tombola__and2(s, d->value, shape->wants[k].value));
  }
  push_groups(w, shape);
  for (size_t k = 0; shape->extra && k < shape->n_wants; k++) {
    push(w, shape->wants[k].value);
    for (size_t g = 0; g < shape->n_groups; g++)
      push(w, tombola__and2(s, shape->groups[g].value, shape->wants[k].value));
  }
}

/* ---- arrays ---- */

/* Whether every value of a structured type, wherever it is, can be made another one by going on: so none is forced to
 * become one that is there already. Scalars are told apart before they end. */
static bool extendable(struct tombola__store *s, const struct tombola__value *v) {
  for (size_t i = 0; i < v->n_arrays; i++) {
    const struct tombola__array_shape *const a = v->arrays[i];
    if (a->max != TOMBOLA__MANY || a->n_counts || a->unique) return false;
  }
  for (size_t i = 0; i < v->n_objects; i++) {
    const struct tombola__object_shape *const o = v->objects[i];
    if (o->max != TOMBOLA__MANY || s->order != TOMBOLA_ORDER_ANY || o->extra == TOMBOLA__LANG_NONE)
      return false;
    if (tombola__lang_count(s, o->extra, TOMBOLA__MANY_NAMES) < TOMBOLA__MANY_NAMES) return false;
  }
  return true;
}

static void check_unique(struct walk *w, const struct tombola__array_shape *shape, tombola__formula item) {
  const struct tombola__value *const v = tombola__value(w->s, item);
  if (!v || !(v->types & (TOMBOLA__ARRAY | TOMBOLA__OBJECT)) || shape->max < 2) return;
  if (tombola__value_count(w->s, item, TOMBOLA__FEW_VALUES + 1) <= TOMBOLA__FEW_VALUES) return;
  if (!extendable(w->s, v))
    inexact(w, "uniqueItems of arrays or objects that may have to equal an item that is there");
}

/* Counts and different items are looked at one by one: together that is enough where no value is scarce. */
static void check_counts(struct walk *w, tombola__formula item) {
  if (!tombola__sat(w->s, item)) return;
  if (tombola__value_count(w->s, item, TOMBOLA__FEW_VALUES + 1) <= TOMBOLA__FEW_VALUES)
    inexact(w, "uniqueItems together with contains");
}

static void push_array(struct walk *w, const struct tombola__array_shape *shape) {
  struct tombola__store *const s = w->s;
  if (shape->unique && shape->n_counts) inexact(w, "uniqueItems together with contains");
  if (shape->not_unique && shape->n_counts && !tombola__pair_can_follow(s, shape))
    inexact(w, "two equal items (not uniqueItems) together with contains");
  for (size_t i = 0; i <= shape->n_items && i < shape->max; i++) {
    const tombola__formula item = i < shape->n_items ? shape->items[i] : shape->rest;
    push(w, item);
    if (shape->unique) check_unique(w, shape, item);
    for (size_t k = 0; k < shape->n_counts; k++) {
      const struct tombola__item_count *const c = &shape->counts[k];
      const tombola__formula in = tombola__and2(s, item, c->value);
      const tombola__formula out = tombola__and2(s, item, tombola__not(s, c->value));
      push(w, in);
      if (c->max != TOMBOLA__MANY) push(w, out);
      if (!shape->unique) continue;
      check_counts(w, in);
      check_counts(w, out);
    }
  }
}

/* ---- all ---- */

enum tombola_status tombola__explore(struct tombola__store *s, tombola__formula f, bool *exact,
                                     const char **reason) {
  struct walk w = {.s = s};
  *exact = true;
  *reason = NULL;
  if (tombola__sat(s, f) && s->shapes) s->shapes->inexact = false; /* TRUE has needed none so far */
  push(&w, f);
  for (size_t i = 0; i < w.n && !s->status; i++) {
    const struct tombola__value *const v = tombola__value(s, w.queue[i]);
    if (!v) break;
    for (size_t k = 0; k < v->n_arrays && !s->status; k++)
      push_array(&w, v->arrays[k]);
    for (size_t k = 0; k < v->n_objects && !s->status; k++)
      push_object(&w, v->objects[k]);
    tombola__blame(s, w.queue[i]);
    if (!v->exact || s->shapes->inexact) inexact(&w, "whether some value exists could not be settled");
  }
  tombola__free(&s->allocator, w.queue);
  tombola__free(&s->allocator, w.seen);
  if (s->status) return s->status;
  *exact = w.reason == NULL;
  *reason = w.reason;
  return TOMBOLA_OK;
}
