/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a language is empty. Mostly its term says so; where intersections and complements don't, a search over the
 * derivatives looks for one that is known to have a text: best first, by the letters read and the least that is left.
 * A search that finds one shows that all on the way have texts; one that ends shows that all it saw have none. */
#include <string.h>

#include "constraint/lang/lang_terms.h"

/* Of a search for the shortest text; beyond it, bounds of the length are searched one by one. */
#define MOST_PLACES 2000

struct place {
  tombola__lang lang;
  uint32_t from; /* the place it was reached from */
  uint32_t read; /* letters */
};

struct search {
  struct place *places;
  size_t n, room;
  uint32_t *heap; /* of places */
  size_t n_heap, room_heap;
  uint32_t *slots; /* places + 1 by language */
  size_t room_slots;
};

static bool known_live(const struct tombola__store *s, tombola__lang a) {
  return tombola__term(s, a)->flags & (TOMBOLA__LIVE | TOMBOLA__NULLABLE);
}

static bool known_dead(const struct tombola__store *s, tombola__lang a) {
  return tombola__term(s, a)->flags & TOMBOLA__DEAD;
}

/* ---- places ---- */

static bool grow_slots(struct tombola__store *s, struct search *q) {
  const size_t room = q->room_slots ? 2 * q->room_slots : 128;
  uint32_t *const slots = tombola__new(&s->allocator, room, sizeof *slots);
  if (!slots) {
    tombola__store_fail(s, TOMBOLA_NO_MEMORY, NULL, "out of memory");
    return false;
  }
  for (size_t i = 0; i < q->n; i++) {
    size_t at = (size_t)tombola__mix(7, q->places[i].lang) & (room - 1);
    while (slots[at])
      at = (at + 1) & (room - 1);
    slots[at] = (uint32_t)i + 1;
  }
  tombola__free(&s->allocator, q->slots);
  q->slots = slots;
  q->room_slots = room;
  return true;
}

/* The least number of letters of a text through this place; of two, the one that has read more comes first. */
static uint64_t rank(const struct tombola__store *s, const struct search *q, uint32_t place) {
  const struct place *const p = &q->places[place];
  return ((uint64_t)p->read + tombola__term(s, p->lang)->shortest) << 24 | (0xFFFFFF - (place & 0xFFFFFF));
}

static void heap_push(const struct tombola__store *s, struct search *q, uint32_t place) {
  size_t i = q->n_heap++;
  const uint64_t mine = rank(s, q, place);
  while (i && rank(s, q, q->heap[(i - 1) / 2]) > mine) {
    q->heap[i] = q->heap[(i - 1) / 2];
    i = (i - 1) / 2;
  }
  q->heap[i] = place;
}

static uint32_t heap_pop(const struct tombola__store *s, struct search *q) {
  const uint32_t top = q->heap[0], last = q->heap[--q->n_heap];
  size_t i = 0;
  const uint64_t mine = rank(s, q, last);
  for (size_t child; (child = 2 * i + 1) < q->n_heap; i = child) {
    if (child + 1 < q->n_heap && rank(s, q, q->heap[child + 1]) < rank(s, q, q->heap[child])) child++;
    if (rank(s, q, q->heap[child]) >= mine) break;
    q->heap[i] = q->heap[child];
  }
  if (q->n_heap) q->heap[i] = last;
  return top;
}

/* A place that wasn't seen yet. */
static void add(struct tombola__store *s, struct search *q, tombola__lang a, uint32_t from, uint32_t read) {
  if (2 * q->n >= q->room_slots && !grow_slots(s, q)) return;
  size_t at = (size_t)tombola__mix(7, a) & (q->room_slots - 1);
  for (; q->slots[at]; at = (at + 1) & (q->room_slots - 1))
    if (q->places[q->slots[at] - 1].lang == a) return;
  void *places = q->places, *heap = q->heap;
  const bool done = tombola__terms_room(s, &places, q->n, &q->room, sizeof *q->places) &&
                    tombola__terms_room(s, &heap, q->n_heap, &q->room_heap, sizeof *q->heap);
  q->places = places;
  q->heap = heap;
  if (!done) return;
  q->places[q->n] = (struct place){a, from, read};
  q->slots[at] = (uint32_t)q->n + 1;
  heap_push(s, q, (uint32_t)q->n++);
}

/* Adds what follows a place; true when something that follows surely has a text (`exact`: that isn't enough). */
static bool expand(struct tombola__store *s, struct search *q, uint32_t place, bool exact) {
  const struct place p = q->places[place];
  struct tombola__lang_state *const state = tombola__lang_state(s, p.lang);
  for (uint32_t c = 0; state && c < state->partition->n_classes && !s->status; c++) {
    const tombola__lang next = tombola__lang_raw(s, state, p.lang, c);
    if (!exact && known_live(s, next)) return true;
    if (!known_dead(s, next)) add(s, q, next, place, p.read + 1);
  }
  return false;
}

static void search_free(struct tombola__store *s, struct search *q) {
  tombola__store_count(s, -(ptrdiff_t)(q->room * sizeof *q->places + q->room_heap * sizeof *q->heap));
  tombola__free(&s->allocator, q->places);
  tombola__free(&s->allocator, q->heap);
  tombola__free(&s->allocator, q->slots);
}

/* All on the way to a place have texts; `length`: of the shortest text, or UNBOUNDED. */
static void mark_way(struct tombola__store *s, const struct search *q, uint32_t place, uint32_t length) {
  for (uint32_t i = place; i != UINT32_MAX; i = q->places[i].from) {
    struct tombola__term *const t = tombola__term(s, q->places[i].lang);
    t->flags |= TOMBOLA__LIVE;
    if (length >= TOMBOLA__FINITE) continue;
    t->flags |= TOMBOLA__ATTAINED;
    t->shortest = length - q->places[i].read;
  }
}

static void mark_dead(struct tombola__store *s, const struct search *q) {
  for (size_t i = 0; i < q->n; i++)
    tombola__term(s, q->places[i].lang)->flags |= TOMBOLA__DEAD;
}

/* Whether there is no text. */
static bool search(struct tombola__store *s, tombola__lang a) {
  struct search q = {0};
  bool found = false;
  add(s, &q, a, UINT32_MAX, 0);
  while (q.n_heap && !found && !s->status) {
    const uint32_t place = heap_pop(s, &q);
    found = expand(s, &q, place, false);
    if (found && !s->status) mark_way(s, &q, place, TOMBOLA__LANG_UNBOUNDED);
  }
  if (!found && !s->status) mark_dead(s, &q);
  search_free(s, &q);
  return !found;
}

/* Looks for the shortest text: afterwards the term says its length, or that there is none, or (too far) nothing. The
 * ranks never promise too little, so that the first end that is taken is the nearest. */
static void search_shortest(struct tombola__store *s, tombola__lang a) {
  struct search q = {0};
  bool found = false;
  add(s, &q, a, UINT32_MAX, 0);
  while (q.n_heap && !found && q.n < MOST_PLACES && !s->status) {
    const uint32_t place = heap_pop(s, &q);
    const struct tombola__term *const t = tombola__term(s, q.places[place].lang);
    found = t->flags & TOMBOLA__ATTAINED;
    if (found)
      mark_way(s, &q, place, tombola__length_sum(q.places[place].read, t->shortest));
    else
      expand(s, &q, place, true);
  }
  if (!found && !q.n_heap && !s->status) mark_dead(s, &q);
  search_free(s, &q);
  if (!s->status) tombola__term(s, a)->flags |= TOMBOLA__SOUGHT;
}

/* ---- by structure ---- */

static bool is_none(struct tombola__store *s, tombola__lang a);

/* Each part of a b c… must have a text. */
static bool concat_is_none(struct tombola__store *s, tombola__lang a) {
  while (tombola__term(s, a)->kind == TOMBOLA__TERM_CONCAT) {
    if (known_live(s, a)) return false;
    if (is_none(s, tombola__term(s, a)->a)) return true;
    a = tombola__term(s, a)->b;
  }
  return is_none(s, a);
}

static bool all_none(struct tombola__store *s, const struct tombola__term *t) {
  const size_t step = t->kind == TOMBOLA__TERM_CHOICE ? 2 : 1;
  for (size_t i = 0; i < t->b; i++)
    if (!is_none(s, t->list[step * i + step - 1])) return false;
  return true;
}

/* Of an intersection with a bound of the length: by the shortest text of the rest, which all bounds share. False: that
 * says nothing. */
static bool by_shortest(struct tombola__store *s, const struct tombola__term *t, bool *none) {
  size_t length = t->b;
  for (size_t i = 0; i < t->b; i++)
    if (tombola__is_length(s, t->list[i])) length = i;
  if (length == t->b) return false;
  const size_t base = tombola__terms(s)->scratch.n;
  for (size_t i = 0; i < t->b; i++)
    if (i != length) tombola__push(s, t->list[i]);
  const tombola__lang rest = tombola__term_and(s, base);
  if (s->status) return false;
  if (!(tombola__term(s, rest)->flags & (TOMBOLA__ATTAINED | TOMBOLA__SOUGHT | TOMBOLA__DEAD)))
    search_shortest(s, rest);
  const struct tombola__term r = *tombola__term(s, rest), bound = *tombola__term(s, t->list[length]);
  *none = r.flags & TOMBOLA__DEAD || r.shortest > bound.max;
  return !s->status && (*none || (r.flags & TOMBOLA__ATTAINED && r.shortest >= bound.min));
}

static bool is_none(struct tombola__store *s, tombola__lang a) {
  const struct tombola__term t = *tombola__term(s, a);
  if (known_live(s, a)) return false;
  if (known_dead(s, a)) return true;
  bool none = false;
  if (tombola__terms_enter(s)) {
    switch ((enum tombola__term_kind)t.kind) {
    case TOMBOLA__TERM_NONE: none = true; break;
    case TOMBOLA__TERM_EMPTY:
    case TOMBOLA__TERM_SET: break;
    case TOMBOLA__TERM_CONCAT: none = concat_is_none(s, a); break;
    case TOMBOLA__TERM_CHOICE:
    case TOMBOLA__TERM_OR: none = all_none(s, &t); break;
    case TOMBOLA__TERM_AND:
      if (!by_shortest(s, &t, &none)) none = search(s, a);
      break;
    case TOMBOLA__TERM_NOT: none = search(s, a); break;
    case TOMBOLA__TERM_REPEAT: none = t.min && is_none(s, t.a); break;
    }
  }
  tombola__terms_leave(s);
  if (s->status) return false;
  tombola__term(s, a)->flags |= none ? TOMBOLA__DEAD : TOMBOLA__LIVE;
  return none;
}

bool tombola__lang_is_none(struct tombola__store *s, tombola__lang a) {
  return !s->status && is_none(s, a);
}
