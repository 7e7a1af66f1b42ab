/* SPDX-License-Identifier: Apache-2.0 */
/* How many values satisfy a formula, up to a bound. */
#include "constraint/shape/shape_parts.h"

#define MOST_LISTED 6 /* alternatives that are told apart by what they have in common */

/* Sums and products that stop at `most`. */
static uint64_t add(uint64_t a, uint64_t b, uint64_t most) {
  return a >= most || b >= most - a ? most : a + b;
}

static uint64_t times(uint64_t a, uint64_t b, uint64_t most) {
  if (a == 0 || b == 0) return 0;
  return a >= most || b >= most || a > most / b ? most : a * b < most ? a * b : most;
}

static uint64_t count_scalars(struct tombola__store *s, tombola__formula f, uint64_t most) {
  const struct tombola__scalars v = tombola__scalars(s, f);
  uint64_t n = 0;
  for (unsigned bits = v.literals; bits; bits &= bits - 1)
    n++;
  if (n < most && v.text) n = add(n, tombola__lang_count(s, v.text, most), most);
  if (n < most && v.numbers) n = add(n, tombola__numbers_count(s, v.numbers, most), most);
  return n < most ? n : most;
}

/* ---- arrays ---- */

static tombola__formula item_at(const struct tombola__array_shape *shape, uint64_t i) {
  return i < shape->n_items ? shape->items[i] : shape->rest;
}

/* Arrays of one shape. Different items, when all are of one formula: falling factorials. Counts, different items of
 * different formulas, and two equal ones: an upper bound only. */
static uint64_t count_array(struct tombola__store *s, const struct tombola__array_shape *shape,
                            uint64_t most) {
  uint64_t sum = 0, product = 1;
  const bool plain = shape->n_counts == 0 && !shape->not_unique && (!shape->unique || shape->n_items == 0);
  for (uint64_t n = 0; n <= shape->max && sum < most && !s->status; n++) {
    if (n >= shape->min) sum = add(sum, product, most);
    if (n == shape->max) break;
    uint64_t item =
        tombola__sat(s, item_at(shape, n))
            ? tombola__value_count(s, item_at(shape, n), shape->unique ? add(most, n, UINT64_MAX) : most)
            : 0;
    if (shape->unique && shape->n_items == 0) item -= item < n ? item : n;
    if (item == 0) break;
    if (item == 1 && n >= shape->n_items && !shape->unique) { /* one array of each length that is left */
      const uint64_t from = n + 1 > shape->min ? n + 1 : shape->min;
      if (from > shape->max) break;
      sum = add(sum, times(product, shape->max == TOMBOLA__MANY ? most : shape->max - from + 1, most), most);
      break;
    }
    product = times(product, item, most);
    if (product >= most && n + 1 < shape->min) { /* more items don't make fewer arrays */
      sum = most;
      break;
    }
  }
  if (!plain && sum > 0) s->shapes->inexact = true;
  return sum;
}

/* ---- objects ---- */

/* Objects of one shape: by how many properties they have. What properties ask for, and wants: an upper bound only. */
static uint64_t count_object(struct tombola__store *s, const struct tombola__object *o, uint64_t most) {
  const struct tombola__object_shape *const shape = &o->shape;
  if (o->extra_count && shape->max > o->n_required) return most;
  uint64_t *const of_size = tombola__new(&s->allocator, shape->n_declared + 2, sizeof *of_size);
  if (!of_size) {
    tombola__store_fail(s, TOMBOLA_NO_MEMORY, NULL, "out of memory");
    return 0;
  }
  size_t n = 0;
  of_size[0] = 1;
  for (size_t i = 0; i < shape->n_declared && !s->status; i++) {
    const struct tombola__declared *const d = &shape->declared[i];
    if (!d->possible) continue;
    const uint64_t values = tombola__value_count(s, d->value, most);
    n++;
    for (size_t k = n; k > 0; k--) {
      const uint64_t with = times(of_size[k - 1], values, most);
      of_size[k] = d->required ? with : add(of_size[k], with, most);
    }
    if (d->required) of_size[0] = 0;
  }
  uint64_t sum = 0;
  for (size_t k = 0; k <= n; k++)
    if (k >= shape->min && k <= shape->max) sum = add(sum, of_size[k], most);
  tombola__free(&s->allocator, of_size);
  if (sum > 0 && (o->asking || shape->n_wants)) s->shapes->inexact = true;
  return sum;
}

/* ---- formulas ---- */

static uint64_t count_conjunct(struct tombola__store *s, struct tombola__conjunct *c, int which,
                               uint64_t most) {
  if (which == 0) {
    if (!tombola__array_sat(s, c)) return 0;
    const struct tombola__array *const a = tombola__array_complete(s, tombola__array_draft(s, c));
    return a ? count_array(s, &a->shape, most) : 0;
  }
  if (!tombola__object_sat(s, c)) return 0;
  const struct tombola__object *const o = tombola__object_complete(s, tombola__object_draft(s, c));
  return o ? count_object(s, o, most) : 0;
}

/* Alternatives may share values: inclusion and exclusion. */
static uint64_t count_plain(struct tombola__store *s, const struct tombola__conjuncts *list, int which,
                            uint64_t most) {
  uint64_t alone[MOST_LISTED] = {0}, largest = 0, sum = 0;
  for (size_t i = 0; i < list->n && !s->status; i++) {
    const uint64_t n = count_conjunct(s, list->at[i], which, most);
    if (n >= most) return most;
    if (i < MOST_LISTED) alone[i] = n;
    if (n > largest) largest = n;
    sum = add(sum, n, most);
  }
  if (sum == largest) return sum;
  if (list->n > MOST_LISTED) {
    s->shapes->inexact = true;
    return sum;
  }
  int64_t exact = 0;
  for (size_t set = 1; set < (size_t)1 << list->n && !s->status; set++) {
    struct tombola__conjunct *all = NULL;
    int64_t sign = -1;
    uint64_t n = 0;
    bool dead = false;
    for (size_t i = 0; i < list->n && !dead; i++) {
      if (!(set >> i & 1)) continue;
      sign = -sign;
      n = alone[i];
      all = all ? tombola__join(s, all, list->at[i], which) : list->at[i];
      dead = !all;
    }
    if (dead) continue;
    if (set & (set - 1)) n = count_conjunct(s, all, which, most);
    exact += sign * (int64_t)n;
  }
  return exact < 0 ? 0 : (uint64_t)exact;
}

/* Whether one with choices has undeclared properties, which nothing is chosen about: as many values as anyone asks for. */
static bool is_open(struct tombola__store *s, const struct tombola__conjuncts *list) {
  for (size_t i = 0; i < list->n && !s->status; i++) {
    if (!list->at[i]->n_choices || !tombola__object_sat(s, list->at[i])) continue;
    const struct tombola__object *const o =
        tombola__object_complete(s, tombola__object_draft(s, list->at[i]));
    if (o && o->extra_count) return true;
  }
  return false;
}

static uint64_t count_alternatives(struct tombola__store *s, const struct tombola__conjuncts *list, int which,
                                   uint64_t most) {
  if (which && is_open(s, list)) return most;
  const struct tombola__conjuncts plain = which ? tombola__expanded(s, list) : *list;
  return count_plain(s, &plain, which, most);
}
static uint64_t count(struct tombola__store *s, tombola__formula f, uint64_t most) {
  uint64_t n = count_scalars(s, f, most);
  for (int which = 0; which < 2 && n < most && !s->status; which++) {
    const struct tombola__conjuncts *const list = tombola__alternatives(s, f, which);
    if (list && list->n) n = add(n, count_alternatives(s, list, which, most), most);
  }
  return n;
}

uint64_t tombola__value_count(struct tombola__store *s, tombola__formula f, uint64_t most) {
  if (most == 0 || s->status) return 0;
  f = tombola__resolve(s, f);
  struct tombola__known *const k = tombola__known(s, f);
  if (!k || s->status || !tombola__sat(s, f)) return 0;
  if (k->counted_to && (k->count < k->counted_to || k->counted_to >= most))
    return k->count < most ? k->count : most;
  if (k->counting) return most; /* a value within a value of the same kind, and so on */
  struct tombola__shapes *const shapes = s->shapes;
  if (shapes->nesting >= 4 * s->max_depth) {
    tombola__store_fail(s, TOMBOLA_OUT_OF_RANGE, "max_depth", "values nested deeper than max_depth, %zu",
                        s->max_depth);
    return 0;
  }
  const bool settled = shapes->depth == 0;
  shapes->nesting++;
  k->counting = true;
  const uint64_t n = count(s, f, most);
  k->counting = false;
  shapes->nesting--;
  if (s->status) return 0;
  if (settled) {
    k->count = n;
    k->counted_to = most;
  }
  return n;
}
