/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a formula has a finite value: the least solution of its equations, found depth first. A formula that is asked
 * for while it is being settled counts as none. What turns out to be satisfied is so for good; what doesn't, while it
 * rests on a formula further out, is kept only as long as that is being settled and nothing else has turned out to be
 * satisfied since. One pass is enough: a value that has no part of its own kind is found without those further out. */
#include <string.h>

#include "constraint/shape/shape_parts.h"

#define NOTHING UINT32_MAX /* rests on no formula that is being settled */

static bool evaluate(struct tombola__store *s, tombola__formula f) {
  const struct tombola__scalars scalars = tombola__scalars(s, f);
  if (scalars.literals) return true;
  if (scalars.text && !tombola__lang_is_none(s, scalars.text)) return true;
  if (scalars.numbers && !tombola__numbers_is_none(s, scalars.numbers)) return true;
  const struct tombola__conjuncts *c = tombola__alternatives(s, f, 0);
  for (size_t i = 0; c && i < c->n && !s->status; i++)
    if (tombola__array_sat(s, c->at[i])) return true;
  c = tombola__alternatives(s, f, 1);
  for (size_t i = 0; c && i < c->n && !s->status; i++)
    if (tombola__object_sat(s, c->at[i])) return true;
  return false;
}

static void keep_tentative(struct tombola__store *s, struct tombola__known *k) {
  struct tombola__shapes *const shapes = s->shapes;
  if (shapes->n_tentative == shapes->tentative_room) {
    const size_t room = shapes->tentative_room ? shapes->tentative_room * 2 : 32;
    struct tombola__known **const list = tombola__store_take(s, room, sizeof *list);
    if (!list) {
      k->sat = TOMBOLA__UNSETTLED;
      return;
    }
    if (shapes->n_tentative) memcpy(list, shapes->tentative, shapes->n_tentative * sizeof *list);
    shapes->tentative = list;
    shapes->tentative_room = room;
  }
  shapes->tentative[shapes->n_tentative++] = k;
}

/* What was tentative since `first` is now what `sat` says. */
static void settle_tentative(struct tombola__shapes *shapes, size_t first, enum tombola__sat sat) {
  while (shapes->n_tentative > first) {
    struct tombola__known *const k = shapes->tentative[--shapes->n_tentative];
    if (k->sat == TOMBOLA__NO_SO_FAR) k->sat = (uint8_t)sat;
  }
}

/* Not satisfied, as far as is known: for good, when it rests on nothing further out. */
static void settle_no(struct tombola__store *s, struct tombola__known *k, size_t first, uint32_t low,
                      uint32_t trues) {
  struct tombola__shapes *const shapes = s->shapes;
  if (low >= k->depth) {
    settle_tentative(shapes, first, trues == shapes->trues ? TOMBOLA__NO : TOMBOLA__UNSETTLED);
    k->sat = TOMBOLA__NO;
    return;
  }
  for (size_t i = first; i < shapes->n_tentative; i++)
    if (shapes->tentative[i]->low > low) shapes->tentative[i]->low = low;
  k->sat = TOMBOLA__NO_SO_FAR;
  k->low = low;
  k->trues = trues;
  keep_tentative(s, k);
}

static bool settle(struct tombola__store *s, tombola__formula f, struct tombola__known *k) {
  struct tombola__shapes *const shapes = s->shapes;
  if (shapes->depth >= s->max_depth) {
    tombola__store_fail(s, TOMBOLA_OUT_OF_RANGE, "max_depth", "values nested deeper than max_depth, %zu",
                        s->max_depth);
    return false;
  }
  const uint32_t outer = shapes->low;
  const size_t first = shapes->n_tentative;
  k->depth = ++shapes->depth;
  k->sat = TOMBOLA__SETTLING;
  const uint32_t trues = shapes->trues;
  shapes->low = NOTHING;
  const bool yes = evaluate(s, f);
  tombola__blame(s, f);
  const uint32_t low = shapes->low;
  shapes->depth--;
  shapes->low = outer;
  if (yes || s->status) {
    settle_tentative(shapes, first, TOMBOLA__UNSETTLED);
    k->sat = s->status ? TOMBOLA__UNSETTLED : TOMBOLA__YES;
    shapes->trues++;
    return yes && !s->status;
  }
  settle_no(s, k, first, low, trues);
  if (low < k->depth && low < shapes->low) shapes->low = low;
  return false;
}

bool tombola__sat(struct tombola__store *s, tombola__formula f) {
  if (f == TOMBOLA__TRUE) return true;
  if (f == TOMBOLA__FALSE || s->status) return false;
  f = tombola__resolve(s, f);
  struct tombola__known *const k = tombola__known(s, f);
  if (!k || s->status) return false;
  struct tombola__shapes *const shapes = s->shapes;
  if (shapes->depth == 0) shapes->low = NOTHING;
  switch ((enum tombola__sat)k->sat) {
  case TOMBOLA__YES: return true;
  case TOMBOLA__NO: return false;
  case TOMBOLA__SETTLING:
    if (k->depth < shapes->low) shapes->low = k->depth;
    return false;
  case TOMBOLA__NO_SO_FAR:
    if (k->trues == shapes->trues) {
      if (k->low < shapes->low) shapes->low = k->low;
      return false;
    }
    break;
  case TOMBOLA__UNSETTLED: break;
  }
  return settle(s, f, k);
}

bool tombola__satisfiable(struct tombola__store *s, tombola__formula f) {
  return tombola__sat(s, f);
}

/* ---- one alternative ---- */

/* The values of all declared properties that must be there can be. */
static bool required_sat(struct tombola__store *s, const struct tombola__object_shape *shape, size_t *count) {
  *count = 0;
  for (size_t i = 0; i < shape->n_declared; i++) {
    if (!shape->declared[i].required) continue;
    ++*count;
    if (!tombola__sat(s, shape->declared[i].value)) return false;
  }
  return true;
}

bool tombola__object_sat(struct tombola__store *s, struct tombola__conjunct *c) {
  const struct tombola__object *const draft = tombola__object_draft(s, c);
  size_t count;
  if (!draft || !required_sat(s, &draft->shape, &count) || count > draft->shape.max) return false;
  if (draft->shape.n_choices) return tombola__choices_can_be(s, draft);
  if (draft->shape.n_wants == 0 && draft->shape.min <= count) return true;
  const struct tombola__object *const o = tombola__object_complete(s, draft);
  return o && tombola__object_can_be(s, o);
}

static bool items_sat(struct tombola__store *s, const struct tombola__array_shape *shape) {
  for (size_t i = 0; i < shape->min && i < shape->n_items; i++)
    if (!tombola__sat(s, shape->items[i])) return false;
  return shape->min <= shape->n_items || tombola__sat(s, shape->rest);
}

bool tombola__array_sat(struct tombola__store *s, struct tombola__conjunct *c) {
  const struct tombola__array *const draft = tombola__array_draft(s, c);
  if (!draft || draft->shape.min > draft->shape.max || !items_sat(s, &draft->shape)) return false;
  if (draft->shape.n_counts == 0 && !draft->shape.unique && !draft->shape.not_unique) return true;
  const struct tombola__array *const a = tombola__array_complete(s, draft);
  return a && tombola__array_can_be(s, a);
}
