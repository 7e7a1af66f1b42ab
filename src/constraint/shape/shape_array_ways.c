/* SPDX-License-Identifier: Apache-2.0 */
/* An array as far as it is written: what may come next so that it can still be completed. */
#include <string.h>

#include "constraint/shape/shape_parts.h"

#define MOST_VECTORS  4096 /* counts that are reached at one length */
#define MOST_STEPS    200000
#define MOST_TOGETHER 8 /* counts, when there are several */
#define MOST_FEW      8 /* different item formulas of few values in a unique array */

static const struct tombola__array *array_of(const struct tombola__array_state *state) {
  return (const struct tombola__array *)(const void *)state->shape;
}

static tombola__formula item_at(const struct tombola__array_shape *shape, uint32_t i) {
  return i < shape->n_items ? shape->items[i] : shape->rest;
}

/* ---- counts ---- */

/* One count: how many items must be counted, and how many can be, grow with the length. */
static bool one_count(struct tombola__store *s, const struct tombola__array_shape *shape, uint32_t length,
                      uint32_t counted) {
  const struct tombola__item_count *const c = &shape->counts[0];
  const tombola__formula out = c->max == TOMBOLA__MANY ? TOMBOLA__TRUE : tombola__not(s, c->value);
  uint64_t least = counted, most = counted;
  for (uint64_t n = length;; n++) {
    if (least > c->max || s->status) return false;
    if (n >= shape->min && n <= shape->max && most >= c->min) return true;
    if (n >= shape->max) return false;
    const tombola__formula item = item_at(shape, (uint32_t)n);
    const bool counts = n >= c->from;
    const bool can = counts && tombola__sat(s, tombola__and2(s, item, c->value));
    const bool must = counts && c->max != TOMBOLA__MANY && !tombola__sat(s, tombola__and2(s, item, out));
    if (counts && n >= shape->n_items) { /* from here on all items are the same */
      uint64_t more = n < shape->min ? shape->min - n : 0;
      if (most < c->min && !can) return false;
      if (most < c->min && c->min - most > more) more = c->min - most;
      return n + more <= shape->max && (!must || least + more <= c->max);
    }
    least += must;
    most += can;
  }
}

/* Several counts: which vectors of them are reached at each length. */
struct vectors {
  struct tombola__store *s;
  const struct tombola__array_shape *shape;
  uint32_t *now, *next; /* n_counts numbers each */
  size_t n_now, n_next;
  size_t steps;
  bool full;
};

static void add_vector(struct vectors *v, const uint32_t *counts) {
  const size_t width = v->shape->n_counts;
  for (size_t i = 0; i < v->n_next; i++)
    if (!memcmp(v->next + i * width, counts, width * sizeof *counts)) return;
  if (v->n_next == MOST_VECTORS)
    v->full = true;
  else
    memcpy(v->next + v->n_next++ * width, counts, width * sizeof *counts);
}

/* Counts as far as they matter; false: too many. */
static bool count_in(const struct tombola__item_count *c, uint32_t *count) {
  if (c->max == TOMBOLA__MANY) {
    if (*count < c->min) ++*count;
    return true;
  }
  return (*count)++ < c->max;
}

/* All that item n can do to the vector, from the count `i` on. */
static void split_vector(struct vectors *v, tombola__formula item, uint32_t n, size_t i, uint32_t *counts) {
  if (++v->steps > MOST_STEPS) v->full = true;
  if (v->full || v->s->status || !tombola__sat(v->s, item)) return;
  if (i == v->shape->n_counts) {
    add_vector(v, counts);
    return;
  }
  const struct tombola__item_count *const c = &v->shape->counts[i];
  if (n < c->from) {
    split_vector(v, item, n, i + 1, counts);
    return;
  }
  const uint32_t before = counts[i];
  if (count_in(c, &counts[i])) split_vector(v, tombola__and2(v->s, item, c->value), n, i + 1, counts);
  counts[i] = before;
  const tombola__formula out = c->max == TOMBOLA__MANY ? TOMBOLA__TRUE : tombola__not(v->s, c->value);
  split_vector(v, tombola__and2(v->s, item, out), n, i + 1, counts);
}

static bool reached(const struct vectors *v, uint64_t n) {
  const struct tombola__array_shape *const shape = v->shape;
  if (n < shape->min || n > shape->max) return false;
  for (size_t i = 0; i < v->n_now; i++) {
    bool all = true;
    for (size_t k = 0; k < shape->n_counts; k++)
      all &= v->now[i * shape->n_counts + k] >= shape->counts[k].min;
    if (all) return true;
  }
  return false;
}

static bool same_vectors(const struct vectors *v) {
  const size_t width = v->shape->n_counts;
  if (v->n_now != v->n_next) return false;
  for (size_t i = 0; i < v->n_now; i++) {
    bool there = false;
    for (size_t k = 0; k < v->n_next && !there; k++)
      there = !memcmp(v->now + i * width, v->next + k * width, width * sizeof *v->now);
    if (!there) return false;
  }
  return true;
}

static bool walk_vectors(struct vectors *v, uint32_t length) {
  const struct tombola__array_shape *const shape = v->shape;
  const size_t width = shape->n_counts;
  uint32_t steady = (uint32_t)shape->n_items, counts[TOMBOLA__MOST_WANTS];
  for (size_t k = 0; k < width; k++)
    if (shape->counts[k].from > steady) steady = shape->counts[k].from;
  for (uint64_t n = length; n <= shape->max && v->n_now; n++) {
    if (reached(v, n)) return true;
    v->n_next = 0;
    for (size_t i = 0; i < v->n_now; i++) {
      memcpy(counts, v->now + i * width, width * sizeof *counts);
      split_vector(v, item_at(shape, (uint32_t)n), (uint32_t)n, 0, counts);
    }
    if (v->full) {
      v->s->shapes->inexact = true;
      return true;
    }
    if (v->s->status) return false;
    const bool same = n >= steady && same_vectors(v);
    uint32_t *const now = v->now;
    v->now = v->next;
    v->next = now;
    v->n_now = v->n_next;
    if (same) return n >= shape->min ? false : shape->min <= shape->max && reached(v, shape->min);
  }
  return false;
}

static bool counts_completable(struct tombola__store *s, const struct tombola__array_shape *shape,
                               uint32_t length, const uint32_t *counts) {
  if (shape->n_counts == 1) return one_count(s, shape, length, counts[0]);
  if (shape->n_counts > MOST_TOGETHER) {
    s->shapes->inexact = true;
    return true;
  }
  const size_t width = shape->n_counts;
  uint32_t *const room = tombola__new(&s->allocator, 2 * MOST_VECTORS * width, sizeof *room);
  if (!room) {
    tombola__store_fail(s, TOMBOLA_NO_MEMORY, NULL, "out of memory");
    return false;
  }
  struct vectors v = {.s = s, .shape = shape, .now = room, .next = room + MOST_VECTORS * width, .n_now = 1};
  memcpy(v.now, counts, width * sizeof *counts);
  const bool good = walk_vectors(&v, length);
  tombola__free(&s->allocator, room);
  return good;
}

/* ---- different items ---- */

/* Item formulas of few values that must still come, and how many items each. */
struct scarce {
  tombola__formula at[MOST_FEW];
  uint32_t times[MOST_FEW];
  size_t n;
};

/* Not one of the values that are there whose canonical text begins so; "": any of them. */
static tombola__formula without_seen(struct tombola__store *s, const struct tombola__array_state *state,
                                     const char *first) {
  const uint32_t n = state->seen ? state->count : 0;
  tombola__formula *const parts = tombola__new(&s->allocator, (size_t)n + 1, sizeof *parts);
  if (!parts) {
    tombola__store_fail(s, TOMBOLA_NO_MEMORY, NULL, "out of memory");
    return TOMBOLA__FALSE;
  }
  size_t n_parts = 0;
  for (uint32_t i = 0; i < n; i++)
    if (!*first || strchr(first, state->seen[i][0]))
      parts[n_parts++] = tombola__not(s, tombola__equal_to(s, state->seen[i], strlen(state->seen[i])));
  const tombola__formula f = tombola__and(s, parts, n_parts);
  tombola__free(&s->allocator, parts);
  return f;
}

static void find_scarce(struct tombola__store *s, const struct tombola__array_shape *shape, uint32_t from,
                        struct scarce *out) {
  out->n = 0;
  for (uint32_t i = from; i < shape->min; i++) {
    const tombola__formula item = item_at(shape, i);
    const uint32_t times = i < shape->n_items ? 1 : shape->min - i;
    size_t k = 0;
    while (k < out->n && out->at[k] != item)
      k++;
    if (k == out->n) {
      if (tombola__value_count(s, item, shape->min) >= shape->min) {
        if (i >= shape->n_items) return;
        continue;
      }
      if (out->n == MOST_FEW) {
        s->shapes->inexact = true;
        return;
      }
      out->at[out->n] = item;
      out->times[out->n++] = 0;
    }
    out->times[k] += times;
    if (i >= shape->n_items) return;
  }
}

/* Hall's theorem (J. London Math. Soc. 10, 1935): the items can be different values if and only if each set of them has
 * as many values as items. *item, when it isn't NULL, loses the values that a set can't spare. */
static bool different(struct tombola__store *s, const struct scarce *scarce, tombola__formula without,
                      tombola__formula *item) {
  const tombola__formula whole = item ? *item : TOMBOLA__FALSE;
  for (size_t set = 1; set < (size_t)1 << scarce->n && !s->status; set++) {
    tombola__formula values = TOMBOLA__FALSE;
    uint64_t times = 0;
    for (size_t i = 0; i < scarce->n; i++) {
      if (!(set >> i & 1)) continue;
      values = tombola__or2(s, values, scarce->at[i]);
      times += scarce->times[i];
    }
    const uint64_t count = tombola__value_count(s, tombola__and2(s, values, without), times + 1);
    if (count < times) return false;
    if (count == times && item && tombola__sat(s, tombola__and2(s, whole, values)))
      *item = tombola__and2(s, *item, tombola__not(s, values));
  }
  return !s->status;
}

/* ---- an array ---- */

bool tombola__array_can_be(struct tombola__store *s, const struct tombola__array *a) {
  const struct tombola__array_shape *const shape = &a->shape;
  const uint32_t none[TOMBOLA__MOST_WANTS] = {0};
  if (shape->min > shape->max) return false;
  if (shape->unique) {
    struct scarce scarce;
    find_scarce(s, shape, 0, &scarce);
    if (!different(s, &scarce, TOMBOLA__TRUE, NULL)) return false;
  }
  if (shape->not_unique && !tombola__pair_can_be(s, shape)) return false;
  return shape->n_counts == 0 || counts_completable(s, shape, 0, none);
}

bool tombola__array_may_end(struct tombola__store *s, const struct tombola__array_state *state) {
  (void)s;
  const struct tombola__array_shape *const shape = state->shape;
  if (state->count < shape->min || state->count > shape->max) return false;
  if (shape->not_unique && !state->paired) return false;
  for (size_t i = 0; i < shape->n_counts; i++)
    if (state->counts[i] < shape->counts[i].min) return false;
  return true;
}

/* What the next item of a unique array may be: without those values that a later item can't do without, and, of few
 * values, without those that are there. A literal can only become itself, and a string may have to become one that is
 * there unless every string goes; numbers are told apart as they are read. */
static tombola__formula new_item(struct tombola__store *s, const struct tombola__array_state *state,
                                 tombola__formula item) {
  struct scarce scarce;
  find_scarce(s, state->shape, state->count + 1, &scarce);
  const bool few = tombola__value_count(s, item, TOMBOLA__FEW_VALUES + 1) <= TOMBOLA__FEW_VALUES;
  const tombola__lang text = tombola__scalars(s, item).text;
  const bool strings = text != TOMBOLA__LANG_NONE && text != TOMBOLA__LANG_ALL;
  item = tombola__and2(s, item, without_seen(s, state, few ? "" : strings ? "\"tfn" : "tfn"));
  if (scarce.n == 0) return item;
  return different(s, &scarce, without_seen(s, state, ""), &item) ? item : TOMBOLA__FALSE;
}

struct ways {
  struct tombola__store *s;
  const struct tombola__array_state *state;
  tombola__way_fn visit;
  void *context;
  uint32_t counts[TOMBOLA__MOST_WANTS];
};

/* All that the item can do to the counts from `i` on. */
static void split(struct ways *w, tombola__formula item, size_t i) {
  struct tombola__store *const s = w->s;
  const struct tombola__array_shape *const shape = w->state->shape;
  if (s->status) return;
  if (i == shape->n_counts) {
    if (counts_completable(s, shape, w->state->count + 1, w->counts)) w->visit(w->context, item, w->counts);
    return;
  }
  const struct tombola__item_count *const c = &shape->counts[i];
  const bool bounded = c->max != TOMBOLA__MANY;
  const uint32_t before = w->counts[i];
  if (w->state->count < c->from || (!bounded && before >= c->min)) {
    split(w, item, i + 1);
    return;
  }
  const tombola__formula in = tombola__and2(s, item, c->value);
  const bool can = tombola__sat(s, in);
  const tombola__formula out = bounded && can ? tombola__and2(s, item, tombola__not(s, c->value)) : item;
  const bool must = can && (in == item || (bounded && !tombola__sat(s, out)));
  if (can && count_in(c, &w->counts[i])) split(w, must ? item : in, i + 1);
  w->counts[i] = before;
  if (!must) split(w, out, i + 1);
}

void tombola__array_ways(struct tombola__store *s, const struct tombola__array_state *state,
                         tombola__way_fn visit, void *context) {
  const struct tombola__array_shape *const shape = state->shape;
  if (state->count >= array_of(state)->shape.max) return;
  tombola__formula item = item_at(shape, state->count);
  const bool unpaired = shape->not_unique && !state->paired;
  if (shape->n_counts == 0 && !shape->unique && !unpaired) {
    static const uint32_t none;
    visit(context, item, &none);
    return;
  }
  struct ways w = {.s = s, .state = state, .visit = visit, .context = context};
  if (shape->n_counts) memcpy(w.counts, state->counts, shape->n_counts * sizeof *w.counts);
  if (shape->unique || unpaired) {
    item = unpaired ? tombola__pair_item(s, state, item) : new_item(s, state, item);
    if (!tombola__sat(s, item)) return;
  }
  if (shape->n_counts)
    split(&w, item, 0);
  else
    visit(context, item, w.counts);
}
