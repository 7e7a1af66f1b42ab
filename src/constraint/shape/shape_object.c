/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of objects. */
#include <stdlib.h>
#include <string.h>

#include "constraint/shape/shape_parts.h"

#define MOST_DECLARED 65535
#define MOST_REGIONS  1024

/* ---- drafts ---- */

static int by_name(const void *a, const void *b) {
  const struct tombola__name *const x = ((const struct tombola__declared *)a)->name;
  const struct tombola__name *const y = ((const struct tombola__declared *)b)->name;
  const int order = memcmp(x->text, y->text, x->length < y->length ? x->length : y->length);
  return order ? order : x->length < y->length ? -1 : x->length > y->length;
}

static int by_order(const void *a, const void *b) {
  const struct tombola__declared *const x = *(struct tombola__declared *const *)a;
  const struct tombola__declared *const y = *(struct tombola__declared *const *)b;
  if (x->order != y->order) return x->order < y->order ? -1 : 1;
  return x < y ? -1 : x > y;
}

size_t tombola__declared_find(const struct tombola__declared *declared, size_t n,
                              const struct tombola__name *name) {
  const struct tombola__declared key = {.name = name};
  const struct tombola__declared *const found = bsearch(&key, declared, n, sizeof key, by_name);
  return found ? (size_t)(found - declared) : n;
}

/* All names that the conjunct speaks of, sorted, each once. */
static struct tombola__declared *names_of(struct tombola__store *s, const struct tombola__conjunct *c,
                                          size_t *n) {
  size_t room = c->n_facts + 2 * c->n_others + 1;
  for (size_t i = 0; i < c->n_choices; i++)
    for (size_t k = 0; k < c->choices[i].n; k++)
      room += c->choices[i].at[k]->n_facts;
  struct tombola__declared *const out = tombola__store_take(s, room, sizeof *out);
  *n = 0;
  if (!out) return NULL;
  for (size_t i = 0; i < c->n_facts; i++)
    out[(*n)++] = (struct tombola__declared){.name = (const struct tombola__name *)c->facts[i].key,
                                             .value = c->facts[i].value,
                                             .required = c->facts[i].required,
                                             .order = c->facts[i].order};
  for (size_t i = 0; i < c->n_others; i++) {
    const struct tombola__node *const node = tombola__node(s, c->others[i]);
    if (node->kind != TOMBOLA__DEPENDS) continue;
    out[(*n)++] =
        (struct tombola__declared){.name = node->name, .value = TOMBOLA__TRUE, .order = TOMBOLA__MANY};
    out[(*n)++] =
        (struct tombola__declared){.name = node->other, .value = TOMBOLA__TRUE, .order = TOMBOLA__MANY};
  }
  for (size_t i = 0; i < c->n_choices; i++)
    for (size_t k = 0; k < c->choices[i].n; k++)
      for (size_t f = 0; f < c->choices[i].at[k]->n_facts; f++)
        out[(*n)++] = (struct tombola__declared){
            .name = (const struct tombola__name *)c->choices[i].at[k]->facts[f].key,
            .value = TOMBOLA__TRUE,
            .order = TOMBOLA__MANY};
  if (*n < 2) return out;
  qsort(out, *n, sizeof *out, by_name);
  size_t kept = 1;
  for (size_t i = 1; i < *n; i++) {
    if (out[i].name != out[kept - 1].name) {
      out[kept++] = out[i];
      continue;
    }
    out[kept - 1].value = tombola__and2(s, out[kept - 1].value, out[i].value);
    out[kept - 1].required |= out[i].required;
    if (out[i].order < out[kept - 1].order) out[kept - 1].order = out[i].order;
  }
  *n = kept;
  return out;
}

/* Places 0, 1, 2, … in the order of the schema (of several: interleaved); undeclared ones stay MANY. */
static void rank_names(struct tombola__store *s, struct tombola__declared *declared, size_t n) {
  struct tombola__declared **const sorted = tombola__store_take(s, n + 1, sizeof *sorted);
  if (!sorted) return;
  for (size_t i = 0; i < n; i++)
    sorted[i] = &declared[i];
  qsort(sorted, n, sizeof *sorted, by_order);
  for (size_t i = 0; i < n; i++)
    if (sorted[i]->order != TOMBOLA__MANY) sorted[i]->order = (uint32_t)i;
}

static void add_group(struct tombola__store *s, struct tombola__key_group *groups, size_t *n,
                      tombola__lang keys, tombola__formula value) {
  for (size_t i = 0; i < *n; i++) {
    if (groups[i].keys == keys) {
      groups[i].value = tombola__and2(s, groups[i].value, value);
      return;
    }
    if (groups[i].value == value) {
      groups[i].keys = tombola__lang_or(s, groups[i].keys, keys);
      return;
    }
  }
  groups[(*n)++] = (struct tombola__key_group){keys, value};
}

/* KEYS and SOME_KEY of the conjunct. */
static void make_groups(struct tombola__store *s, const struct tombola__conjunct *c,
                        struct tombola__object *o) {
  struct tombola__key_group *const groups = tombola__store_take(s, c->n_others + 1, sizeof *groups);
  struct tombola__key_group *const wants = tombola__store_take(s, c->n_others + 1, sizeof *wants);
  if (s->status) return;
  o->shape.groups = groups;
  o->shape.wants = wants;
  for (size_t i = 0; i < c->n_others; i++) {
    const struct tombola__node *const n = tombola__node(s, c->others[i]);
    if (n->kind == TOMBOLA__SOME_KEY)
      wants[o->shape.n_wants++] = (struct tombola__key_group){n->lang, n->part};
    if (n->kind != TOMBOLA__KEYS || n->part == TOMBOLA__TRUE) continue;
    if (n->part == TOMBOLA__FALSE)
      o->forbidden = tombola__lang_or(s, o->forbidden, n->lang);
    else
      add_group(s, groups, &o->shape.n_groups, n->lang, n->part);
  }
  if (o->shape.n_wants > TOMBOLA__MOST_WANTS)
    tombola__store_fail(s, TOMBOLA_OUT_OF_RANGE, "alternatives",
                        "more than %d properties of an object of which only a pattern is known",
                        TOMBOLA__MOST_WANTS);
}

tombola__formula tombola__group_value(struct tombola__store *s, const struct tombola__object_shape *shape,
                                      const char *name, size_t length) {
  tombola__formula value = TOMBOLA__TRUE;
  for (size_t g = 0; g < shape->n_groups; g++)
    if (tombola__lang_matches(s, shape->groups[g].keys, name, length))
      value =
          value == TOMBOLA__TRUE ? shape->groups[g].value : tombola__and2(s, value, shape->groups[g].value);
  return value;
}

static void apply_groups(struct tombola__store *s, struct tombola__object *o,
                         struct tombola__declared *declared, size_t n) {
  for (size_t i = 0; i < n && !s->status; i++) {
    const struct tombola__name *const name = declared[i].name;
    if (o->forbidden && !tombola__lang_matches(s, o->allowed, name->text, name->length)) {
      declared[i].value = TOMBOLA__FALSE;
      o->n_forbidden++;
    } else if (o->shape.n_groups) {
      const tombola__formula value = tombola__group_value(s, &o->shape, name->text, name->length);
      declared[i].value = tombola__and2(s, declared[i].value, value);
    }
  }
}

/* The asks of property i, from the DEPENDS. */
static void make_asks(struct tombola__store *s, const struct tombola__conjunct *c,
                      struct tombola__declared *declared, size_t n) {
  for (size_t i = 0; i < c->n_others; i++) {
    const struct tombola__node *const node = tombola__node(s, c->others[i]);
    if (node->kind == TOMBOLA__DEPENDS) declared[tombola__declared_find(declared, n, node->name)].n_asks++;
  }
  for (size_t i = 0; i < n; i++) {
    if (declared[i].n_asks == 0) continue;
    uint32_t *const asks = tombola__store_take(s, declared[i].n_asks, sizeof *asks);
    if (!asks) return;
    declared[i].n_asks = 0;
    for (size_t k = 0; k < c->n_others; k++) {
      const struct tombola__node *const node = tombola__node(s, c->others[k]);
      if (node->kind == TOMBOLA__DEPENDS && node->name == declared[i].name)
        asks[declared[i].n_asks++] = (uint32_t)tombola__declared_find(declared, n, node->other);
    }
    declared[i].asks = asks;
  }
}

/* What a required property asks for is required itself. */
static bool settle_required(struct tombola__declared *declared, size_t n) {
  bool asking = false;
  for (bool more = true; more;) {
    more = asking = false;
    for (size_t i = 0; i < n; i++)
      for (size_t k = 0; k < declared[i].n_asks; k++) {
        struct tombola__declared *const other = &declared[declared[i].asks[k]];
        if (other->required) continue;
        asking = true;
        if (declared[i].required) other->required = more = true;
      }
  }
  return asking;
}

struct tombola__object *tombola__object_draft(struct tombola__store *s, struct tombola__conjunct *c) {
  if (c->draft || s->status) return c->draft;
  struct tombola__object *const o = tombola__store_take(s, 1, sizeof *o);
  if (!o) return NULL;
  size_t n;
  struct tombola__declared *const declared = names_of(s, c, &n);
  if (!declared) return NULL;
  if (n > MOST_DECLARED) {
    tombola__store_fail(s, TOMBOLA_OUT_OF_RANGE, "properties", "an object of more than %d properties",
                        MOST_DECLARED);
    return NULL;
  }
  o->exact = true;
  o->conjunct = c;
  o->shape.min = c->n_choices ? 0 : c->min; /* with choices, no more than what is required */
  o->shape.max = c->max;
  o->shape.declared = declared;
  o->shape.n_declared = n;
  make_groups(s, c, o);
  o->allowed = tombola__lang_not(s, o->forbidden);
  if (s->status) return NULL;
  apply_groups(s, o, declared, n);
  if (c->n_others) {
    make_asks(s, c, declared, n);
    o->asking = settle_required(declared, n);
  }
  if (s->order == TOMBOLA_ORDER_DECLARED) rank_names(s, declared, n);
  if (s->status || !tombola__object_branches(s, o, false)) return NULL;
  c->draft = o;
  return o;
}

/* ---- undeclared names ---- */

/* Names that are of the language, in groups up to `group` as far as that is decided. */
struct region {
  tombola__lang names;
  tombola__formula value;
  size_t group;
};

tombola__lang tombola__possible_names(struct tombola__store *s, const struct tombola__object_shape *shape,
                                      tombola__lang names, tombola__formula value) {
  struct region stack[64] = {{names, value, 0}};
  tombola__lang out = TOMBOLA__LANG_NONE;
  size_t n = 1, seen = 0;
  while (n && !s->status) {
    const struct region r = stack[--n];
    if (!tombola__sat(s, r.value) || tombola__lang_is_none(s, r.names)) continue;
    if (r.group == shape->n_groups) {
      out = tombola__lang_or(s, out, r.names);
      continue;
    }
    if (n + 2 > TOMBOLA__COUNT(stack) || ++seen > MOST_REGIONS) {
      tombola__store_fail(s, TOMBOLA_OUT_OF_RANGE, "alternatives",
                          "more than %d combinations of patterns of properties", MOST_REGIONS);
      break;
    }
    const struct tombola__key_group *const g = &shape->groups[r.group];
    stack[n++] =
        (struct region){tombola__lang_and(s, r.names, tombola__lang_not(s, g->keys)), r.value, r.group + 1};
    stack[n++] = (struct region){tombola__lang_and(s, r.names, g->keys), tombola__and2(s, r.value, g->value),
                                 r.group + 1};
  }
  return out;
}

static tombola__lang without_declared(struct tombola__store *s, const struct tombola__object_shape *shape,
                                      tombola__lang names) {
  if (shape->n_declared == 0 || names == TOMBOLA__LANG_NONE) return names;
  struct tombola_bytes *const texts = tombola__new(&s->allocator, shape->n_declared, sizeof *texts);
  if (!texts) {
    tombola__store_fail(s, TOMBOLA_NO_MEMORY, NULL, "out of memory");
    return TOMBOLA__LANG_NONE;
  }
  for (size_t i = 0; i < shape->n_declared; i++)
    texts[i] = (struct tombola_bytes){shape->declared[i].name->text, shape->declared[i].name->length};
  const tombola__lang declared = tombola__lang_texts(s, texts, shape->n_declared);
  tombola__free(&s->allocator, texts);
  return tombola__lang_and(s, names, tombola__lang_not(s, declared));
}

static tombola__lang extra_names(struct tombola__store *s, const struct tombola__object *draft) {
  const struct tombola__object_shape *const shape = &draft->shape;
  if (draft->allowed == TOMBOLA__LANG_NONE) return TOMBOLA__LANG_NONE;
  const size_t declared = shape->n_declared - draft->n_forbidden; /* of the allowed ones */
  if (draft->forbidden && declared && tombola__lang_count(s, draft->allowed, declared + 1) == declared)
    return TOMBOLA__LANG_NONE;
  const tombola__lang names = without_declared(s, shape, draft->allowed);
  if (names == TOMBOLA__LANG_NONE || tombola__lang_is_none(s, names)) return TOMBOLA__LANG_NONE;
  tombola__formula all = TOMBOLA__TRUE;
  for (size_t i = 0; i < shape->n_groups; i++)
    all = tombola__and2(s, all, shape->groups[i].value);
  return tombola__sat(s, all) ? names : tombola__possible_names(s, shape, names, TOMBOLA__TRUE);
}

/* ---- completed shapes ---- */

struct few {
  struct tombola__store *store;
  const struct tombola__object_shape *shape;
  struct tombola__declared *out;
  size_t n;
};

static void add_few(void *context, const char *text, size_t length) {
  struct few *const f = context;
  const struct tombola__name *const name = tombola__name(f->store, text, length);
  if (!name) return;
  f->out[f->n++] = (struct tombola__declared){
      .name = name, .value = tombola__group_value(f->store, f->shape, text, length), .order = TOMBOLA__MANY};
}

/* The declared properties, those of a finite `extra` among them. */
static bool make_declared(struct tombola__store *s, const struct tombola__object *draft,
                          struct tombola__object *o) {
  const struct tombola__object_shape *const shape = &draft->shape;
  struct tombola__declared *const out =
      tombola__store_take(s, shape->n_declared + TOMBOLA__FEW_NAMES + 1, sizeof *out);
  if (!out) return false;
  if (shape->n_declared) memcpy(out, shape->declared, shape->n_declared * sizeof *out);
  struct few few = {.store = s, .shape = shape, .out = out, .n = shape->n_declared};
  const bool open = draft->forbidden == TOMBOLA__LANG_NONE && shape->n_groups == 0;
  if (o->shape.extra && !open &&
      tombola__lang_enumerate(s, o->shape.extra, TOMBOLA__FEW_NAMES, add_few, &few))
    o->shape.extra = TOMBOLA__LANG_NONE;
  o->shape.declared = out;
  o->shape.n_declared = few.n;
  if (few.n == shape->n_declared) return !s->status;
  qsort(out, few.n, sizeof *out, by_name);
  for (size_t i = 0; i < few.n; i++) { /* their indices have moved */
    uint32_t *const asks = out[i].n_asks ? tombola__store_take(s, out[i].n_asks, sizeof *asks) : NULL;
    for (size_t k = 0; k < out[i].n_asks && asks; k++)
      asks[k] = (uint32_t)tombola__declared_find(out, few.n, shape->declared[out[i].asks[k]].name);
    out[i].asks = asks;
  }
  return !s->status;
}

/* Which properties can be there: their values, and what they ask for. */
static void make_possible(struct tombola__store *s, const struct tombola__object *o,
                          struct tombola__declared *declared) {
  const size_t n = o->shape.n_declared;
  for (size_t i = 0; i < n; i++)
    declared[i].possible = tombola__sat(s, declared[i].value);
  for (bool more = o->asking; more;) {
    more = false;
    for (size_t i = 0; i < n; i++)
      for (size_t k = 0; declared[i].possible && k < declared[i].n_asks; k++)
        if (!declared[declared[i].asks[k]].possible) {
          declared[i].possible = false;
          more = true;
        }
  }
}

static bool make_bits(struct tombola__store *s, struct tombola__object *o) {
  struct tombola__object_shape *const shape = &o->shape;
  o->words = (shape->n_declared + 63) / 64;
  uint64_t *const bits = tombola__store_take(s, 3 * o->words + 1, sizeof *bits);
  if (!bits) return false;
  o->possible = bits;
  o->required = bits + o->words;
  o->unordered = bits + 2 * o->words;
  for (size_t i = 0; i < shape->n_declared; i++) {
    if (shape->declared[i].possible) tombola__set_bit(o->possible, i);
    if (shape->declared[i].required) tombola__set_bit(o->required, i);
    if (shape->declared[i].order == TOMBOLA__MANY) tombola__set_bit(o->unordered, i);
    o->n_possible += shape->declared[i].possible;
    o->n_required += shape->declared[i].required;
  }
  return true;
}

struct tombola__object *tombola__object_complete(struct tombola__store *s,
                                                 const struct tombola__object *draft) {
  if (!draft || s->status) return NULL;
  struct tombola__object *const o = tombola__store_take(s, 1, sizeof *o);
  if (!o) return NULL;
  *o = *draft;
  struct tombola__object_shape *const shape = &o->shape;
  shape->extra = extra_names(s, draft);
  if (!make_declared(s, draft, o)) return NULL;
  make_possible(s, o, (struct tombola__declared *)(uintptr_t)shape->declared);
  if (!make_bits(s, o) || !tombola__object_branches(s, o, true)) return NULL;
  const bool open = draft->forbidden == TOMBOLA__LANG_NONE && shape->n_groups == 0;
  o->extra_count = shape->extra == TOMBOLA__LANG_NONE ? 0
                   : open                             ? TOMBOLA__MANY_NAMES
                          : tombola__lang_count(s, shape->extra, TOMBOLA__MANY_NAMES);
  const bool roomy = shape->max == TOMBOLA__MANY || (o->extra_count == 0 && shape->max >= o->n_possible);
  /* With cycles of asks, sizes may be left out between the least and the most. */
  if (o->asking && shape->min > o->n_required && !roomy && o->extra_count < TOMBOLA__MANY_NAMES)
    o->exact = false;
  o->simple = shape->n_wants == 0 && !o->asking && roomy;
  if (shape->n_wants > 1 && !tombola__wants_split(s, shape)) return NULL;
  return s->status ? NULL : o;
}
