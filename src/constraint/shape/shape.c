/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of formulas, and what a formula allows. */
#include <string.h>

#include "constraint/shape/shape_parts.h"

#define PAGE 256

static struct tombola__shapes *shapes_of(struct tombola__store *s) {
  if (!s->shapes) s->shapes = tombola__store_take(s, 1, sizeof *s->shapes);
  return s->shapes;
}

static bool make_page(struct tombola__store *s, struct tombola__shapes *shapes, size_t page) {
  if (page >= shapes->n_pages) {
    size_t n = shapes->n_pages ? shapes->n_pages : 16;
    while (n <= page)
      n *= 2;
    struct tombola__known ***const pages = tombola__store_take(s, n, sizeof *pages);
    if (!pages) return false;
    if (shapes->n_pages) memcpy(pages, shapes->pages, shapes->n_pages * sizeof *pages);
    shapes->pages = pages;
    shapes->n_pages = n;
  }
  if (!shapes->pages[page])
    shapes->pages[page] = tombola__store_take(s, PAGE, sizeof(struct tombola__known *));
  return shapes->pages[page];
}

struct tombola__known *tombola__known(struct tombola__store *s, tombola__formula f) {
  struct tombola__shapes *const shapes = shapes_of(s);
  const size_t page = f / PAGE;
  if (!shapes) return NULL;
  if ((page >= shapes->n_pages || !shapes->pages[page]) && !make_page(s, shapes, page)) return NULL;
  struct tombola__known **const at = &shapes->pages[page][f % PAGE];
  if (!*at) *at = tombola__store_take(s, 1, sizeof **at);
  return *at;
}

void tombola__blame(struct tombola__store *s, tombola__formula f) {
  struct tombola__shapes *const shapes = s->shapes;
  if (s->status && shapes && shapes->n_blamed < TOMBOLA__COUNT(shapes->blamed))
    shapes->blamed[shapes->n_blamed++] = f;
}

size_t tombola__blamed(const struct tombola__store *s, const tombola__formula **out) {
  *out = s->shapes ? s->shapes->blamed : NULL;
  return s->shapes ? s->shapes->n_blamed : 0;
}

/* ---- values ---- */

static void add_arrays(struct tombola__store *s, struct tombola__value *v,
                       const struct tombola__conjuncts *c) {
  const struct tombola__array_shape **const at = tombola__store_take(s, c->n, sizeof *at);
  for (size_t i = 0; i < c->n && !s->status; i++) {
    if (!tombola__array_sat(s, c->at[i])) continue;
    const struct tombola__array *const a = tombola__array_complete(s, tombola__array_draft(s, c->at[i]));
    if (!a) return;
    at[v->n_arrays++] = &a->shape;
    v->exact &= a->exact;
  }
  v->arrays = at;
  if (v->n_arrays) v->types |= TOMBOLA__ARRAY;
}

static void add_objects(struct tombola__store *s, struct tombola__value *v,
                        const struct tombola__conjuncts *c) {
  const struct tombola__object_shape **const at = tombola__store_take(s, c->n, sizeof *at);
  for (size_t i = 0; i < c->n && !s->status; i++) {
    if (!tombola__object_sat(s, c->at[i])) continue;
    const struct tombola__object *const o = tombola__object_complete(s, tombola__object_draft(s, c->at[i]));
    if (!o) return;
    at[v->n_objects++] = &o->shape;
    v->exact &= o->exact;
  }
  v->objects = at;
  if (v->n_objects) v->types |= TOMBOLA__OBJECT;
}

static void add_scalars(struct tombola__store *s, struct tombola__value *v, tombola__formula f) {
  const struct tombola__scalars scalars = tombola__scalars(s, f);
  v->types = scalars.literals;
  v->text = TOMBOLA__LANG_NONE;
  v->numbers = TOMBOLA__NUMBERS_NONE;
  if (scalars.text && !tombola__lang_is_none(s, scalars.text)) {
    v->types |= TOMBOLA__STRING;
    v->text = scalars.text;
  }
  if (scalars.numbers && !tombola__numbers_is_none(s, scalars.numbers)) {
    v->types |= TOMBOLA__NUMBER;
    v->numbers = scalars.numbers;
  }
}

const struct tombola__value *tombola__value(struct tombola__store *s, tombola__formula f) {
  f = tombola__resolve(s, f);
  struct tombola__known *const k = tombola__known(s, f);
  if (!k || s->status) return NULL;
  if (k->value) return k->value;
  struct tombola__shapes *const shapes = s->shapes;
  const bool inexact = shapes->inexact;
  shapes->inexact = false;
  struct tombola__value *const v = tombola__store_take(s, 1, sizeof *v);
  if (!v) return NULL;
  v->exact = true;
  add_scalars(s, v, f);
  const struct tombola__conjuncts *c = tombola__alternatives(s, f, 0);
  if (c && c->n) add_arrays(s, v, c);
  c = tombola__alternatives(s, f, 1);
  if (c && c->n) add_objects(s, v, c);
  if (shapes->inexact) v->exact = false;
  shapes->inexact |= inexact;
  tombola__blame(s, f);
  if (s->status) return NULL;
  k->value = v;
  k->sat = v->types ? TOMBOLA__YES : TOMBOLA__NO;
  return v;
}
