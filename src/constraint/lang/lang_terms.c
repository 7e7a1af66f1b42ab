/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of the languages, and interning: equal terms have one number. */
#include "constraint/lang/lang_terms.h"

#include <string.h>

#define MOST_DEPTH 800 /* of recursions; a level takes some hundred bytes of stack */

static const struct tombola__range everything = {0, TOMBOLA__LAST_CODE_POINT};

struct tombola__langs *tombola__langs_new(struct tombola__store *store) {
  struct tombola__langs *const langs = tombola__store_take(store, 1, sizeof *langs);
  struct tombola__terms *const terms = tombola__store_take(store, 1, sizeof *terms);
  if (!langs || !terms) return NULL;
  *langs = (struct tombola__langs){.terms = terms, .allocator = store->allocator};
  store->langs = langs;
  tombola__term_intern(store, (struct tombola__term){.kind = TOMBOLA__TERM_NONE});
  tombola__term_intern(store, (struct tombola__term){.kind = TOMBOLA__TERM_EMPTY});
  /* ALL is any letter, any number of times; its number is given, and what it repeats has the one after it. */
  terms->any = TOMBOLA__LANG_ALL + 1;
  tombola__term_intern(
      store,
      (struct tombola__term){.kind = TOMBOLA__TERM_REPEAT, .a = terms->any, .max = TOMBOLA__LANG_UNBOUNDED});
  tombola__lang_set(store, &everything, 1);
  if (!store->status) {
    tombola__term_measure(store, &terms->terms[TOMBOLA__LANG_ALL]);
    return langs;
  }
  tombola__langs_free(langs);
  return NULL;
}

void tombola__langs_free(struct tombola__langs *langs) {
  if (!langs || !langs->terms) return;
  struct tombola__terms *const t = langs->terms;
  const struct tombola_allocator *const allocator = &langs->allocator;
  tombola__free(allocator, t->terms);
  tombola__free(allocator, t->sets);
  tombola__free(allocator, t->partitions);
  tombola__free(allocator, t->meets);
  tombola__free(allocator, t->term_index.slots);
  tombola__free(allocator, t->set_index.slots);
  tombola__free(allocator, t->partition_index.slots);
  tombola__free(allocator, t->meet_index.slots);
  tombola__free(allocator, t->scratch.at);
  tombola__free(allocator, langs->table);
}

bool tombola__terms_room(struct tombola__store *s, void **array, size_t n, size_t *room, size_t size) {
  if (s->status) return false;
  if (n < *room) return true;
  const size_t more = *room ? 2 * *room : 64;
  if (!tombola__store_count(s, (ptrdiff_t)((more - *room) * size))) return false;
  void *const bigger = tombola__resize(&s->allocator, *array, *room, more, size);
  if (!bigger) {
    tombola__store_count(s, -(ptrdiff_t)((more - *room) * size));
    tombola__store_fail(s, TOMBOLA_NO_MEMORY, NULL, "out of memory");
    return false;
  }
  *array = bigger;
  *room = more;
  return true;
}

bool tombola__push(struct tombola__store *s, uint32_t value) {
  struct tombola__vector *const v = &tombola__terms(s)->scratch;
  void *at = v->at;
  if (!tombola__terms_room(s, &at, v->n, &v->room, sizeof *v->at)) return false;
  v->at = at;
  v->at[v->n++] = value;
  return true;
}

bool tombola__terms_enter(struct tombola__store *s) {
  if (++tombola__terms(s)->depth <= MOST_DEPTH) return true;
  tombola__store_fail(s, TOMBOLA_OUT_OF_RANGE, "max_depth", "a language is nested more than %d deep",
                      MOST_DEPTH);
  return false;
}

/* ---- indices ---- */

static bool index_grow(struct tombola__store *s, struct tombola__index *index, tombola__hash_fn hash_of) {
  const size_t room = index->room ? 2 * index->room : 256;
  if (!tombola__store_fits(s, room * sizeof *index->slots))
    return false; /* beside the old ones, for a moment */
  uint32_t *const slots = tombola__new(&s->allocator, room, sizeof *slots);
  if (!slots) {
    tombola__store_fail(s, TOMBOLA_NO_MEMORY, NULL, "out of memory");
    return false;
  }
  for (size_t i = 0; i < index->room; i++) {
    if (!index->slots[i]) continue;
    size_t at = hash_of(tombola__terms(s), index->slots[i] - 1) & (room - 1);
    while (slots[at])
      at = (at + 1) & (room - 1);
    slots[at] = index->slots[i];
  }
  tombola__free(&s->allocator, index->slots);
  tombola__store_count(s, (ptrdiff_t)((room - index->room) * sizeof *slots));
  index->slots = slots;
  index->room = room;
  return true;
}

uint32_t *tombola__index_slot(struct tombola__store *s, struct tombola__index *index, uint32_t hash,
                              tombola__same_fn same, const void *what, tombola__hash_fn hash_of) {
  if (s->status) return NULL;
  if (index->n >= index->room / 2 && !index_grow(s, index, hash_of)) return NULL;
  size_t at = hash & (index->room - 1);
  while (index->slots[at] && !same(tombola__terms(s), index->slots[at] - 1, what))
    at = (at + 1) & (index->room - 1);
  return &index->slots[at];
}

/* ---- terms ---- */

static size_t list_length(const struct tombola__term *t) {
  if (t->kind == TOMBOLA__TERM_CHOICE) return 2 * (size_t)t->b;
  return t->kind == TOMBOLA__TERM_OR || t->kind == TOMBOLA__TERM_AND ? t->b : 0;
}

static bool same_term(const struct tombola__terms *terms, uint32_t element, const void *what) {
  const struct tombola__term *const a = &terms->terms[element], *const b = what;
  return a->hash == b->hash && a->kind == b->kind && a->a == b->a && a->b == b->b && a->min == b->min &&
         a->max == b->max && (!a->list || !memcmp(a->list, b->list, list_length(a) * sizeof *a->list));
}

static uint32_t term_hash(const struct tombola__terms *terms, uint32_t element) {
  return terms->terms[element].hash;
}

static uint32_t hash_term(const struct tombola__term *t) {
  uint64_t hash = tombola__mix(t->kind, (uint64_t)t->a << 32 | t->b);
  hash = tombola__mix(hash, (uint64_t)t->min << 32 | t->max);
  for (size_t i = 0, n = list_length(t); i < n; i++)
    hash = tombola__mix(hash, t->list[i]);
  return (uint32_t)(hash >> 16);
}

static bool make_room(struct tombola__store *s) {
  struct tombola__terms *const terms = tombola__terms(s);
  const size_t n = terms->n_terms, had = terms->room_terms, had_tables = terms->room_tables;
  void *array = terms->terms, *tables = (void *)s->langs->table;
  const bool done = tombola__terms_room(s, &array, n, &terms->room_terms, sizeof *terms->terms) &&
                    tombola__terms_room(s, &tables, n, &terms->room_tables, sizeof *s->langs->table);
  terms->terms = array;
  s->langs->table = tables;
  if (terms->room_terms > had)
    memset(terms->terms + had, 0, (terms->room_terms - had) * sizeof *terms->terms);
  for (size_t i = had_tables; i < terms->room_tables; i++)
    s->langs->table[i] = NULL;
  return done;
}

tombola__lang tombola__term_intern(struct tombola__store *s, struct tombola__term term) {
  struct tombola__terms *const terms = tombola__terms(s);
  term.hash = hash_term(&term);
  uint32_t *const slot = tombola__index_slot(s, &terms->term_index, term.hash, same_term, &term, term_hash);
  if (!slot) return TOMBOLA__LANG_NONE;
  if (*slot) return *slot - 1;
  if (!make_room(s)) return TOMBOLA__LANG_NONE;
  const size_t n = list_length(&term);
  if (n) {
    uint32_t *const list = tombola__store_take(s, n, sizeof *list);
    if (!list) return TOMBOLA__LANG_NONE;
    memcpy(list, term.list, n * sizeof *list);
    term.list = list;
  }
  tombola__term_measure(s, &term);
  terms->terms[terms->n_terms++] = term;
  terms->term_index.n++;
  return *slot = (uint32_t)terms->n_terms, *slot - 1;
}
