/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that need two equal items (not uniqueItems). As long as two items that can be the same value are still to come,
 * or one that can be what is there, the next item is free; where it is the last chance, it must be such a one. */
#include "constraint/shape/shape_parts.h"

#define MOST_APART 64 /* items to come that differ in what they may be */

bool tombola__pair_can_follow(struct tombola__store *s, const struct tombola__array_shape *shape) {
  tombola__formula rest = shape->rest;
  if (shape->max != TOMBOLA__MANY) return false;
  for (size_t i = 0; i < shape->n_counts; i++)
    if (shape->counts[i].max != TOMBOLA__MANY)
      rest = tombola__and2(s, rest, tombola__not(s, shape->counts[i].value));
  return tombola__sat(s, rest);
}

/* What the items to come may be. */
struct chances {
  tombola__formula at[MOST_APART];
  size_t n;
};

/* From item `from` on; false: there are so many that two of them can be equal, or that is taken for granted. */
static bool find_chances(struct tombola__store *s, const struct tombola__array_shape *shape, uint64_t from,
                         struct chances *out) {
  const uint64_t first = from > shape->n_items ? from : shape->n_items;
  out->n = 0;
  if (first + 2 <= shape->max) return false; /* two of the rest */
  for (uint64_t i = from; i < shape->max; i++) {
    if (out->n == MOST_APART) {
      s->shapes->inexact = true;
      return false;
    }
    out->at[out->n++] = i < shape->n_items ? shape->items[i] : shape->rest;
  }
  return true;
}

/* Two of them can be the same value, or one of them one of `seen`. */
static bool can_meet(struct tombola__store *s, const struct chances *chances, tombola__formula seen) {
  for (size_t i = 0; i < chances->n; i++) {
    if (tombola__sat(s, tombola__and2(s, chances->at[i], seen))) return true;
    for (size_t k = 0; k < i; k++)
      if (chances->at[i] == chances->at[k] ||
          tombola__sat(s, tombola__and2(s, chances->at[i], chances->at[k])))
        return true;
  }
  return false;
}

bool tombola__pair_can_be(struct tombola__store *s, const struct tombola__array_shape *shape) {
  struct chances chances;
  if (tombola__pair_can_follow(s, shape)) return true;
  if (shape->n_counts) s->shapes->inexact = true;
  return !find_chances(s, shape, 0, &chances) || can_meet(s, &chances, TOMBOLA__FALSE);
}

tombola__formula tombola__pair_item(struct tombola__store *s, const struct tombola__array_state *state,
                                    tombola__formula item) {
  const struct tombola__array_shape *const shape = state->shape;
  struct chances chances;
  if (tombola__pair_can_follow(s, shape) || !find_chances(s, shape, (uint64_t)state->count + 1, &chances))
    return item;
  /* An item of the rest is there, and one will be. */
  if (state->count > shape->n_items && chances.n) return item;
  const tombola__formula seen = tombola__equal_to_any(s, state->seen, state->seen ? state->count : 0);
  if (can_meet(s, &chances, seen)) return item;
  tombola__formula others = seen;
  for (size_t i = 0; i < chances.n; i++)
    others = tombola__or2(s, others, chances.at[i]);
  return tombola__and2(s, item, others);
}
