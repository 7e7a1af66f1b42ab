/* SPDX-License-Identifier: Apache-2.0 */
/* The table of formulas: hash-consed nodes, interned names, and parts that are built later. */
#include "constraint/formula/formula.h"

#include <string.h>

#include "constraint/formula/formula_table.h"

#define PAGE        ((uint32_t)128)
#define FIRST_SLOTS ((size_t)256)

/* ---- hashes ---- */

static uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 29;
}

static uint64_t hash_bytes(const char *text, size_t length) {
  uint64_t hash = length;
  for (size_t i = 0; i < length; i++)
    hash = (hash ^ (uint8_t)text[i]) * 0x100000001B3u;
  return mix(hash, length);
}

static uint64_t hash_node(const struct tombola__node *n) {
  uint64_t hash = mix(n->kind, n->types);
  hash = mix(hash, (uint64_t)n->lang << 32 | n->numbers);
  hash = mix(hash, (uint64_t)n->index << 32 | n->part);
  hash = mix(hash, (uint64_t)n->min << 32 | n->max);
  hash = mix(hash, (uintptr_t)n->name);
  hash = mix(hash, (uintptr_t)n->other);
  hash = mix(hash, (uint64_t)n->order << 32 | n->later << 1 | n->negated);
  for (size_t i = 0; i < n->n_parts; i++)
    hash = mix(hash, n->parts[i]);
  return hash;
}

static bool same_node(const struct tombola__node *a, const struct tombola__node *b) {
  return a->kind == b->kind && a->types == b->types && a->lang == b->lang && a->numbers == b->numbers &&
         a->index == b->index && a->min == b->min && a->max == b->max && a->part == b->part &&
         a->name == b->name && a->other == b->other && a->order == b->order && a->later == b->later &&
         a->negated == b->negated && a->n_parts == b->n_parts &&
         (a->n_parts == 0 || memcmp(a->parts, b->parts, a->n_parts * sizeof *a->parts) == 0);
}

/* ---- memory ---- */

/* A table of `count` elements that must hold one more: its new room, or 0 after a failure. */
static bool grow(struct tombola__store *s, void **memory, size_t *room, size_t count, size_t size) {
  if (count < *room) return true;
  const size_t larger = *room ? *room * 2 : 64;
  void *const moved = *memory ? tombola__resize(&s->allocator, *memory, *room, larger, size)
                              : tombola__new(&s->allocator, larger, size);
  if (!moved) {
    tombola__store_fail(s, TOMBOLA_NO_MEMORY, NULL, "out of memory");
    return false;
  }
  const size_t more = larger - *room;
  *memory = moved;
  *room = larger;
  return tombola__store_count(s, (ptrdiff_t)(more * size));
}

struct tombola__formula_entry *tombola__formula_entry(const struct tombola__store *s, tombola__formula f) {
  return &s->formulas->pages[f / PAGE][f % PAGE];
}

/* Twice as many slots, with what the table has. */
static bool widen(struct tombola__store *s) {
  struct tombola__formulas *const t = s->formulas;
  const size_t larger = t->n_slots * 2;
  uint32_t *const slots = tombola__new(&s->allocator, larger, sizeof *slots);
  if (!slots) {
    tombola__store_fail(s, TOMBOLA_NO_MEMORY, NULL, "out of memory");
    return false;
  }
  for (uint32_t f = 0; f < t->count; f++) {
    size_t at = (size_t)tombola__formula_entry(s, f)->hash & (larger - 1);
    while (slots[at])
      at = (at + 1) & (larger - 1);
    slots[at] = f + 1;
  }
  tombola__free(&s->allocator, t->slots);
  t->slots = slots;
  const size_t more = larger - t->n_slots;
  t->n_slots = larger;
  return tombola__store_count(s, (ptrdiff_t)(more * sizeof *slots));
}

static bool add_page(struct tombola__store *s) {
  struct tombola__formulas *const t = s->formulas;
  const size_t pages = t->count / PAGE;
  void *memory = t->pages;
  const bool grown = grow(s, &memory, &t->page_room, pages, sizeof *t->pages);
  t->pages = memory; /* also beyond the limit */
  if (!grown) return false;
  t->pages[pages] = tombola__store_take(s, PAGE, sizeof **t->pages);
  return t->pages[pages] != NULL;
}

tombola__formula tombola__formula_intern(struct tombola__store *s, const struct tombola__node *node) {
  struct tombola__formulas *const t = s->formulas;
  if (s->status) return TOMBOLA__FALSE;
  const uint64_t hash = hash_node(node);
  size_t at = (size_t)hash & (t->n_slots - 1);
  for (; t->slots[at]; at = (at + 1) & (t->n_slots - 1)) {
    const struct tombola__formula_entry *const e = tombola__formula_entry(s, t->slots[at] - 1);
    if (e->hash == hash && same_node(&e->node, node)) return t->slots[at] - 1;
  }
  if (!tombola__store_state(s) || (t->count % PAGE == 0 && !add_page(s))) return TOMBOLA__FALSE;
  tombola__formula *parts = NULL;
  if (node->n_parts > 0) {
    if (!(parts = tombola__store_take(s, node->n_parts, sizeof *parts))) return TOMBOLA__FALSE;
    memcpy(parts, node->parts, node->n_parts * sizeof *parts);
  }
  const tombola__formula f = t->count++;
  struct tombola__formula_entry *const e = tombola__formula_entry(s, f);
  *e = (struct tombola__formula_entry){.node = *node, .hash = hash, .dual = TOMBOLA__MANY};
  e->node.parts = parts;
  t->slots[at] = f + 1;
  if ((size_t)t->count * 2 > t->n_slots && !widen(s)) return TOMBOLA__FALSE;
  return f;
}

struct tombola__formulas *tombola__formulas_new(struct tombola__store *store) {
  struct tombola__formulas *const t = tombola__store_take(store, 1, sizeof *t);
  if (!t) return NULL;
  t->store = store;
  store->formulas = t; /* the constructors below look there; whoever calls stores it again */
  t->slots = tombola__new(&store->allocator, FIRST_SLOTS, sizeof *t->slots);
  t->name_slots = tombola__new(&store->allocator, FIRST_SLOTS, sizeof *t->name_slots);
  t->n_slots = t->n_name_slots = FIRST_SLOTS;
  if (!t->slots || !t->name_slots) tombola__store_fail(store, TOMBOLA_NO_MEMORY, NULL, "out of memory");
  tombola__store_count(store, (ptrdiff_t)(FIRST_SLOTS * (sizeof *t->slots + sizeof *t->name_slots)));
  tombola__formula_intern(store, &(struct tombola__node){.kind = TOMBOLA__OR});
  tombola__formula_intern(store, &(struct tombola__node){.kind = TOMBOLA__AND});
  if (store->status == TOMBOLA_OK) {
    tombola__formula_entry(store, TOMBOLA__FALSE)->dual = TOMBOLA__TRUE;
    tombola__formula_entry(store, TOMBOLA__TRUE)->dual = TOMBOLA__FALSE;
  }
  return t;
}

void tombola__formulas_free(struct tombola__formulas *formulas) {
  if (!formulas) return;
  const struct tombola_allocator *const allocator = &formulas->store->allocator;
  tombola__free(allocator, formulas->slots);
  tombola__free(allocator, formulas->name_slots);
  tombola__free(allocator, formulas->pages);
  tombola__free(allocator, formulas->laters);
}

/* ---- names ---- */

static bool widen_names(struct tombola__store *s) {
  struct tombola__formulas *const t = s->formulas;
  const size_t larger = t->n_name_slots * 2;
  const struct tombola__name **const slots = tombola__new(&s->allocator, larger, sizeof *slots);
  if (!slots) {
    tombola__store_fail(s, TOMBOLA_NO_MEMORY, NULL, "out of memory");
    return false;
  }
  for (size_t i = 0; i < t->n_name_slots; i++) {
    const struct tombola__name *const name = t->name_slots[i];
    if (!name) continue;
    size_t at = (size_t)hash_bytes(name->text, name->length) & (larger - 1);
    while (slots[at])
      at = (at + 1) & (larger - 1);
    slots[at] = name;
  }
  tombola__free(&s->allocator, t->name_slots);
  t->name_slots = slots;
  const size_t more = larger - t->n_name_slots;
  t->n_name_slots = larger;
  return tombola__store_count(s, (ptrdiff_t)(more * sizeof *slots));
}

const struct tombola__name *tombola__name(struct tombola__store *s, const char *text, size_t length) {
  struct tombola__formulas *const t = s->formulas;
  size_t at = (size_t)hash_bytes(text, length) & (t->n_name_slots - 1);
  for (; t->name_slots[at]; at = (at + 1) & (t->n_name_slots - 1)) {
    const struct tombola__name *const name = t->name_slots[at];
    if (name->length == length && memcmp(name->text, text, length) == 0) return name;
  }
  struct tombola__name *const name = tombola__store_take(s, 1, sizeof *name);
  char *const copy = tombola__store_take(s, length + 1, 1);
  if (!name || !copy) return NULL;
  memcpy(copy, text, length);
  *name = (struct tombola__name){copy, length};
  t->name_slots[at] = name;
  if (++t->n_names * 2 > t->n_name_slots && !widen_names(s)) return NULL;
  return name;
}

/* ---- parts that are built later ---- */

const struct tombola__node *tombola__node(const struct tombola__store *s, tombola__formula f) {
  const struct tombola__node *n = &tombola__formula_entry(s, f)->node;
  while (n->kind == TOMBOLA__LATER) {
    const tombola__formula built = s->formulas->laters[n->later].built[n->negated];
    if (built == TOMBOLA__MANY) break;
    n = &tombola__formula_entry(s, built)->node;
  }
  return n;
}

tombola__formula tombola__later(struct tombola__store *s, tombola__build_fn build, void *context,
                                uint32_t id) {
  struct tombola__formulas *const t = s->formulas;
  void *memory = t->laters;
  if (s->status) return TOMBOLA__FALSE;
  const bool grown = grow(s, &memory, &t->later_room, t->n_laters, sizeof *t->laters);
  t->laters = memory;
  if (!grown) return TOMBOLA__FALSE;
  t->laters[t->n_laters] = (struct tombola__later){build, context, id, {TOMBOLA__MANY, TOMBOLA__MANY}, false};
  return tombola__formula_intern(
      s, &(struct tombola__node){.kind = TOMBOLA__LATER, .later = (uint32_t)t->n_laters++});
}

/* A negation that nobody has looked at isn't made here: making it could lead back here. */
tombola__formula tombola__formula_seen(struct tombola__store *s, tombola__formula f) {
  const struct tombola__node *const n = &tombola__formula_entry(s, f)->node;
  if (n->kind != TOMBOLA__LATER) return f;
  const tombola__formula built = s->formulas->laters[n->later].built[n->negated];
  return built == TOMBOLA__MANY ? f : built;
}

tombola__formula tombola__resolve(struct tombola__store *s, tombola__formula f) {
  if (s->status) return TOMBOLA__FALSE;
  struct tombola__formulas *const t = s->formulas;
  const struct tombola__node *const n = &tombola__formula_entry(s, f)->node;
  if (n->kind != TOMBOLA__LATER) return f;
  struct tombola__later *later = &t->laters[n->later];
  if (later->built[0] == TOMBOLA__MANY) {
    if (later->building || t->depth >= s->max_depth) {
      if (later->building)
        tombola__store_fail(s, TOMBOLA_UNSUPPORTED, NULL, "the schema is defined by itself alone");
      else
        tombola__store_fail(s, TOMBOLA_OUT_OF_RANGE, "max_depth", "nested deeper than %zu (max_depth)",
                            s->max_depth);
      return TOMBOLA__FALSE;
    }
    later->building = true;
    t->depth++;
    const tombola__formula built = tombola__resolve(s, later->build(s, later->context, later->id));
    t->depth--;
    later = &t->laters[n->later]; /* the table may have moved */
    later->building = false;
    if (s->status) return TOMBOLA__FALSE;
    later->built[0] = built;
  }
  if (n->negated && later->built[1] == TOMBOLA__MANY) {
    const tombola__formula dual = tombola__resolve(s, tombola__not(s, later->built[0]));
    t->laters[n->later].built[1] = dual;
  }
  return tombola__formula_seen(s, f);
}
