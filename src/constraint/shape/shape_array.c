/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of arrays. */
#include <string.h>

#include "constraint/shape/shape_parts.h"

#define MOST_ITEMS 65535

/* What a conjunct says of items: facts and the CONTAINS that are ITEMS in truth. */
struct items {
  size_t n; /* first ones that aren't like the rest */
  tombola__formula *at;
  tombola__formula rest;
};

/* CONTAINS with a max of 0: no item from there on is it. */
static tombola__formula as_items(struct tombola__store *s, const struct tombola__node *n) {
  return n->max == 0 ? tombola__not(s, n->part) : TOMBOLA__TRUE;
}

static size_t count_items(struct tombola__store *s, const struct tombola__conjunct *c) {
  size_t n = 0;
  for (size_t i = 0; i < c->n_facts; i++) {
    const size_t end = c->facts[i].key / 2 + !(c->facts[i].key & 1);
    if (end > n) n = end;
  }
  for (size_t i = 0; i < c->n_others; i++) {
    const struct tombola__node *const node = tombola__node(s, c->others[i]);
    if (node->max == 0 && node->index > n) n = node->index;
  }
  return n;
}

static void add_items(struct tombola__store *s, struct items *items, size_t from, tombola__formula part) {
  for (size_t p = from; p < items->n; p++)
    items->at[p] = tombola__and2(s, items->at[p], part);
  items->rest = tombola__and2(s, items->rest, part);
}

static bool make_items(struct tombola__store *s, const struct tombola__conjunct *c, struct items *items) {
  items->n = count_items(s, c);
  if (items->n > MOST_ITEMS) {
    tombola__store_fail(s, TOMBOLA_OUT_OF_RANGE, "items", "an array with more than %d items of their own",
                        MOST_ITEMS);
    return false;
  }
  items->at = items->n ? tombola__store_take(s, items->n, sizeof *items->at) : NULL;
  if (s->status) return false;
  items->rest = TOMBOLA__TRUE;
  for (size_t p = 0; p < items->n; p++)
    items->at[p] = TOMBOLA__TRUE;
  for (size_t i = 0; i < c->n_facts; i++) {
    const size_t from = c->facts[i].key / 2;
    if (c->facts[i].key & 1)
      add_items(s, items, from, c->facts[i].value);
    else
      items->at[from] = tombola__and2(s, items->at[from], c->facts[i].value);
  }
  for (size_t i = 0; i < c->n_others; i++) {
    const struct tombola__node *const node = tombola__node(s, c->others[i]);
    if (node->max == 0) add_items(s, items, node->index, as_items(s, node));
  }
  while (items->n && items->at[items->n - 1] == items->rest)
    items->n--;
  return !s->status;
}

/* min to max of the items from `from` on are whatever they are: that is about the length. */
static void bound_length(struct tombola__array_shape *shape, const struct tombola__node *n) {
  if (n->min > 0) {
    const uint32_t least = n->min > TOMBOLA__MANY - 1 - n->index ? TOMBOLA__MANY - 1 : n->index + n->min;
    if (least > shape->min) shape->min = least;
  }
  if (n->max != TOMBOLA__MANY && n->max < TOMBOLA__MANY - n->index && n->index + n->max < shape->max)
    shape->max = n->index + n->max;
}

/* Adds a CONTAINS; false: it can't be met. */
static bool add_count(struct tombola__array_shape *shape, struct tombola__item_count *counts,
                      const struct tombola__node *n) {
  if (n->part == TOMBOLA__FALSE) return n->min == 0;
  if (n->part == TOMBOLA__TRUE) {
    bound_length(shape, n);
    return true;
  }
  if (n->max == 0) return n->min == 0;
  for (size_t i = 0; i < shape->n_counts; i++)
    if (counts[i].value == n->part && counts[i].from == n->index) {
      if (n->min > counts[i].min) counts[i].min = n->min;
      if (n->max < counts[i].max) counts[i].max = n->max;
      return counts[i].min <= counts[i].max;
    }
  counts[shape->n_counts++] = (struct tombola__item_count){n->part, n->index, n->min, n->max};
  return n->min <= n->max;
}

struct tombola__array *tombola__array_draft(struct tombola__store *s, struct tombola__conjunct *c) {
  if (c->draft || s->status) return c->draft;
  struct tombola__array *const a = tombola__store_take(s, 1, sizeof *a);
  struct tombola__item_count *const counts =
      c->n_others ? tombola__store_take(s, c->n_others, sizeof *counts) : NULL;
  struct items items;
  if (s->status || !make_items(s, c, &items)) return NULL;
  *a = (struct tombola__array){
      .shape = {.items = items.at,
                .n_items = items.n,
                .rest = items.rest,
                .min = c->min,
                .max = c->max,
                .counts = counts,
                .unique = c->unique,
                .not_unique = c->not_unique},
      .exact = true,
  };
  struct tombola__array_shape *const shape = &a->shape;
  for (size_t i = 0; i < c->n_others; i++)
    if (!add_count(shape, counts, tombola__node(s, c->others[i]))) shape->max = 0, shape->min = 1;
  if (shape->n_counts > TOMBOLA__MOST_WANTS) {
    tombola__store_fail(s, TOMBOLA_OUT_OF_RANGE, "contains",
                        "more than %d contains that count items of one array", TOMBOLA__MOST_WANTS);
    return NULL;
  }
  c->draft = a;
  return a;
}

struct tombola__array *tombola__array_complete(struct tombola__store *s, const struct tombola__array *draft) {
  if (!draft || s->status) return NULL;
  struct tombola__array *const a = tombola__store_take(s, 1, sizeof *a);
  if (!a) return NULL;
  *a = *draft;
  struct tombola__array_shape *const shape = &a->shape;
  for (size_t p = 0; p < shape->n_items && p < shape->max; p++)
    if (!tombola__sat(s, shape->items[p])) shape->max = (uint32_t)p;
  if (shape->n_items < shape->max && !tombola__sat(s, shape->rest)) shape->max = (uint32_t)shape->n_items;
  return a;
}
