/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of numbers: unions of pieces, for either sign, and zero; interned. */
#include <stdlib.h>
#include <string.h>

#include "constraint/number/number_internal.h"

/* ---- tables ---- */

const void *tombola__table_find(const struct tombola__table *table, uint64_t hash, tombola__same_fn same,
                                const void *key, uint32_t *index) {
  if (!table->room) return NULL;
  for (uint32_t mask = table->room - 1, i = (uint32_t)hash & mask; table->slots[i]; i = (i + 1) & mask) {
    const uint32_t at = table->slots[i] - 1;
    if (table->hashes[at] != hash || !same(table->items[at], key)) continue;
    if (index) *index = at;
    return table->items[at];
  }
  return NULL;
}

static void place(struct tombola__table *table, uint32_t at) {
  const uint32_t mask = table->room - 1;
  uint32_t i = (uint32_t)table->hashes[at] & mask;
  while (table->slots[i])
    i = (i + 1) & mask;
  table->slots[i] = at + 1;
}

static bool grow(struct tombola__store *s, struct tombola__table *table) {
  const uint32_t room = table->room ? table->room * 2 : 64;
  uint32_t *const slots = tombola__new(&s->allocator, room, sizeof *slots);
  const void **const items = (const void **)tombola__resize(&s->allocator, (void *)table->items,
                                                            table->room / 2, room / 2, sizeof *items);
  if (items) table->items = items;
  uint64_t *const hashes =
      items ? tombola__resize(&s->allocator, table->hashes, table->room / 2, room / 2, sizeof *hashes) : NULL;
  if (hashes) table->hashes = hashes;
  if (!slots || !hashes) {
    tombola__free(&s->allocator, slots);
    tombola__store_fail(s, TOMBOLA_NO_MEMORY, NULL, "out of memory");
    return false;
  }
  tombola__free(&s->allocator, table->slots);
  const size_t bytes = sizeof *slots + (sizeof *items + sizeof *hashes) / 2;
  const bool counted = tombola__store_count(s, (ptrdiff_t)((room - table->room) * bytes));
  table->slots = slots;
  table->room = room;
  for (uint32_t i = 0; i < table->n; i++)
    place(table, i);
  return counted;
}

bool tombola__table_add(struct tombola__store *s, struct tombola__table *table, uint64_t hash,
                        const void *item) {
  if (s->status || (table->n >= table->room / 2 && !grow(s, table))) return false;
  table->items[table->n] = item;
  table->hashes[table->n] = hash;
  place(table, table->n++);
  return true;
}

static void free_table(const struct tombola_allocator *allocator, struct tombola__table *table) {
  tombola__free(allocator, (void *)table->items);
  tombola__free(allocator, table->hashes);
  tombola__free(allocator, table->slots);
}

static bool same_decimal(const void *item, const void *key) {
  return tombola__magnitude_equal(item, key);
}

const struct tombola__decimal *tombola__decimal_keep(struct tombola__store *s,
                                                     const struct tombola__decimal *d) {
  struct tombola__table *const table = &s->numbers->decimals;
  uint64_t hash = tombola__mix(d->length, (uint64_t)d->exponent);
  for (uint32_t i = 0; i < d->length; i++)
    hash = tombola__mix(hash, (uint64_t)d->digits[i]);
  const struct tombola__decimal *const known = tombola__table_find(table, hash, same_decimal, d, NULL);
  if (known) return known;
  struct tombola__decimal *const kept = tombola__store_take(s, 1, sizeof *kept);
  char *const digits = tombola__store_take(s, (size_t)d->length + 1, 1);
  if (!kept || !digits) return NULL;
  if (d->length) memcpy(digits, d->digits, d->length);
  *kept = (struct tombola__decimal){digits, d->length, false, d->exponent};
  return tombola__table_add(s, table, hash, kept) ? kept : NULL;
}

/* ---- lists of pieces ---- */

void tombola__pieces_add(struct tombola__store *s, struct tombola__pieces *list,
                         const struct tombola__piece *p) {
  if (!p || s->status) return;
  if (list->n == 2 * TOMBOLA__MOST_PIECES) {
    tombola__store_fail(s, TOMBOLA_OUT_OF_RANGE, "number", "more than %d pieces of a set of numbers",
                        TOMBOLA__MOST_PIECES);
    return;
  }
  if (list->n == list->room) {
    const size_t room = list->room ? list->room * 2 : 16;
    const struct tombola__piece **const items = (const struct tombola__piece **)tombola__resize(
        &s->allocator, (void *)list->items, list->room, room, sizeof *items);
    if (!items) {
      tombola__store_fail(s, TOMBOLA_NO_MEMORY, NULL, "out of memory");
      return;
    }
    list->items = items;
    list->room = room;
  }
  list->items[list->n++] = p;
}

void tombola__pieces_free(struct tombola__store *s, struct tombola__pieces *list) {
  tombola__free(&s->allocator, (void *)list->items);
  *list = (struct tombola__pieces){0};
}

static int by_lo(const void *a, const void *b) {
  const struct tombola__piece *const p = *(const struct tombola__piece *const *)a;
  const struct tombola__piece *const q = *(const struct tombola__piece *const *)b;
  const int order = tombola__magnitude_compare(p->bounds.lo, q->bounds.lo);
  if (order) return order;
  if (p->bounds.lo_open != q->bounds.lo_open) return p->bounds.lo_open ? 1 : -1;
  return p->id < q->id ? -1 : p->id > q->id;
}

static bool is_plain(const struct tombola__piece *p) {
  return !p->has_m && !p->n_nots && !p->n_left;
}

/* The union of two plain pieces, p not beginning behind q, when it is one interval; else NULL. */
static const struct tombola__piece *join(struct tombola__store *s, const struct tombola__piece *p,
                                         const struct tombola__piece *q) {
  struct tombola__bounds b = p->bounds;
  if (b.hi) {
    const int gap = tombola__magnitude_compare(q->bounds.lo, b.hi);
    if (gap > 0 || (gap == 0 && q->bounds.lo_open && b.hi_open)) return NULL;
    const int order = q->bounds.hi ? tombola__magnitude_compare(q->bounds.hi, b.hi) : 1;
    if (order > 0 || (order == 0 && !q->bounds.hi_open)) {
      b.hi = q->bounds.hi;
      b.hi_open = q->bounds.hi_open;
    }
  }
  return tombola__piece_interval(s, &b);
}

/* Drops pieces that others cover. Plain ones don't cover each other: they have been joined. */
static void drop_covered(struct tombola__pieces *list) {
  size_t special = 0, kept = 0;
  for (size_t i = 0; i < list->n; i++)
    special += !is_plain(list->items[i]);
  if (!special) return;
  for (size_t i = 0; i < list->n; i++) {
    const struct tombola__piece *const p = list->items[i];
    const bool plain = is_plain(p);
    bool covered = false;
    size_t seen = 0; /* of the special ones */
    for (size_t j = 0; j < list->n && !covered && !(plain && seen == special); j++) {
      const struct tombola__piece *const q = list->items[j];
      if (!q || (plain && is_plain(q))) continue;
      seen += !is_plain(q);
      covered = j != i && tombola__piece_covers(q, p);
    }
    special -= covered && !plain;
    list->items[i] = NULL;
    if (!covered) list->items[kept++] = p;
  }
  list->n = kept;
}

static void normalize(struct tombola__store *s, struct tombola__pieces *list) {
  if (list->n < 2) return;
  qsort((void *)list->items, list->n, sizeof *list->items, by_lo);
  size_t kept = 0, last = SIZE_MAX; /* the last plain piece */
  for (size_t i = 0; i < list->n; i++) {
    const struct tombola__piece *const p = list->items[i];
    const bool plain = is_plain(p);
    const struct tombola__piece *const joined =
        plain && last != SIZE_MAX ? join(s, list->items[last], p) : NULL;
    if (joined) {
      list->items[last] = joined;
      continue;
    }
    if (plain) last = kept;
    list->items[kept++] = p;
  }
  list->n = kept;
  drop_covered(list);
}

/* ---- sets ---- */

static bool same_set(const void *item, const void *key) {
  const struct tombola__number_set *const a = item, *const b = key;
  if (a->zero != b->zero || a->n[0] != b->n[0] || a->n[1] != b->n[1]) return false;
  for (int sign = 0; sign < 2; sign++)
    if (a->n[sign] && memcmp(a->pieces[sign], b->pieces[sign], a->n[sign] * sizeof *a->pieces[sign]))
      return false;
  return true;
}

/* The set of two lists; frees them. */
static tombola__numset set_of(struct tombola__store *s, bool zero, struct tombola__pieces lists[2]) {
  struct tombola__number_set set = {.zero = zero};
  struct tombola__table *const table = &s->numbers->sets;
  uint64_t hash = zero;
  uint32_t index = TOMBOLA__NUMBERS_NONE;
  for (int sign = 0; sign < 2; sign++) {
    normalize(s, &lists[sign]);
    if (lists[sign].n > TOMBOLA__MOST_PIECES)
      tombola__store_fail(s, TOMBOLA_OUT_OF_RANGE, "number", "more than %d pieces of a set of numbers",
                          TOMBOLA__MOST_PIECES);
    set.pieces[sign] = lists[sign].items;
    set.n[sign] = (uint32_t)lists[sign].n;
    hash = tombola__mix(hash, lists[sign].n);
    for (size_t i = 0; i < lists[sign].n; i++) {
      hash = tombola__mix(hash, lists[sign].items[i]->id);
      if (!lists[sign].items[i]->bounds.hi) set.endless[sign] = true;
    }
  }
  if (!s->status && !tombola__table_find(table, hash, same_set, &set, &index)) {
    struct tombola__number_set *const kept = tombola__store_take(s, 1, sizeof *kept);
    set.points = tombola__store_take(s, 2, sizeof *set.points);
    for (int sign = 0; sign < 2; sign++) {
      const struct tombola__piece **const items = tombola__store_take(s, set.n[sign], sizeof *items);
      if (items && set.n[sign])
        memcpy((void *)items, (const void *)set.pieces[sign], set.n[sign] * sizeof *items);
      set.pieces[sign] = items;
    }
    set.id = table->n;
    if (kept && set.points) *kept = set;
    if (tombola__table_add(s, table, hash, kept)) index = set.id;
  }
  tombola__pieces_free(s, &lists[0]);
  tombola__pieces_free(s, &lists[1]);
  return index;
}

struct tombola__numbers *tombola__numbers_new(struct tombola__store *s) {
  struct tombola__numbers *const numbers = tombola__new(&s->allocator, 1, sizeof *numbers);
  if (!numbers) {
    tombola__store_fail(s, TOMBOLA_NO_MEMORY, NULL, "out of memory");
    return NULL;
  }
  tombola__store_count(s, (ptrdiff_t)sizeof *numbers);
  numbers->allocator = s->allocator;
  s->numbers = numbers;
  numbers->zero = tombola__decimal_keep(s, &(struct tombola__decimal){.digits = ""});
  struct tombola__pieces lists[2] = {{0}};
  if (numbers->zero) set_of(s, false, lists); /* NONE */
  const struct tombola__bounds all = {.lo = numbers->zero, .lo_open = true};
  for (int sign = 0; sign < 2 && numbers->zero; sign++)
    tombola__pieces_add(s, &lists[sign], tombola__piece_interval(s, &all));
  set_of(s, true, lists); /* ALL */
  if (!s->status) return numbers;
  tombola__numbers_free(numbers);
  s->numbers = NULL;
  return NULL;
}

void tombola__numbers_free(struct tombola__numbers *numbers) {
  if (!numbers) return;
  const struct tombola_allocator allocator = numbers->allocator;
  free_table(&allocator, &numbers->decimals);
  free_table(&allocator, &numbers->moduli);
  free_table(&allocator, &numbers->pieces);
  free_table(&allocator, &numbers->sets);
  tombola__free(&allocator, (void *)numbers->left);
  tombola__free(&allocator, numbers);
}

/* ---- making ---- */

tombola__numset tombola__numbers_interval(struct tombola__store *s, const struct tombola__decimal *lo,
                                          bool lo_open, const struct tombola__decimal *hi, bool hi_open) {
  if (s->status) return TOMBOLA__NUMBERS_NONE;
  const struct tombola__decimal *const zero = s->numbers->zero;
  const struct tombola__decimal *const ends[2] = {lo ? tombola__decimal_keep(s, lo) : NULL,
                                                  hi ? tombola__decimal_keep(s, hi) : NULL};
  if ((lo && !ends[0]) || (hi && !ends[1])) return TOMBOLA__NUMBERS_NONE;
  const int low = lo ? tombola__decimal_compare(lo, zero) : -1;
  const int high = hi ? tombola__decimal_compare(hi, zero) : 1;
  struct tombola__pieces lists[2] = {{0}};
  if (high > 0) {
    struct tombola__bounds b = {.lo = zero, .lo_open = true, .hi = ends[1], .hi_open = hi && hi_open};
    if (low > 0) {
      b.lo = ends[0];
      b.lo_open = lo_open;
    }
    tombola__pieces_add(s, &lists[0], tombola__piece_interval(s, &b));
  }
  if (low < 0) {
    struct tombola__bounds b = {.lo = zero, .lo_open = true, .hi = ends[0], .hi_open = lo && lo_open};
    if (high < 0) {
      b.lo = ends[1];
      b.lo_open = hi_open;
    }
    tombola__pieces_add(s, &lists[1], tombola__piece_interval(s, &b));
  }
  return set_of(s, (low < 0 || (low == 0 && !lo_open)) && (high > 0 || (high == 0 && !hi_open)), lists);
}

tombola__numset tombola__numbers_multiple(struct tombola__store *s, const struct tombola__decimal *m) {
  struct tombola__big_modulus room;
  struct tombola__modulus modulus;
  struct tombola__pieces lists[2] = {{0}};
  if (s->status) return TOMBOLA__NUMBERS_NONE;
  if (!tombola__modulus_of(m, &room, &modulus)) {
    tombola__store_fail(s, TOMBOLA_OUT_OF_RANGE, "multipleOf", "multipleOf of more than %d digits",
                        TOMBOLA__BIG_DIGITS);
    return TOMBOLA__NUMBERS_NONE;
  }
  if (!tombola__modulus_keep(s, &modulus)) return TOMBOLA__NUMBERS_NONE;
  for (int sign = 0; sign < 2; sign++)
    tombola__pieces_add(s, &lists[sign], tombola__piece_multiple(s, &modulus));
  return set_of(s, true, lists);
}

tombola__numset tombola__numbers_integers(struct tombola__store *s) {
  return tombola__numbers_multiple(s, &(struct tombola__decimal){.digits = "1", .length = 1});
}

/* ---- combining ---- */

enum { AND = 1, OR, NOT };

static struct tombola__number_memo *memo(struct tombola__store *s, uint64_t op, tombola__numset a,
                                         tombola__numset b, uint64_t *key) {
  *key = op << 62 | (uint64_t)a << 31 | b;
  return &s->numbers->memos[tombola__mix(0, *key) >> 32 & (TOMBOLA__NUMBER_MEMOS - 1)];
}

static tombola__numset remember(const struct tombola__store *s, struct tombola__number_memo *m, uint64_t key,
                                tombola__numset result) {
  if (!s->status) *m = (struct tombola__number_memo){key, result};
  return result;
}

/* The products of all pairs. */
static void and_lists(struct tombola__store *s, const struct tombola__piece *const *a, size_t n_a,
                      const struct tombola__piece *const *b, size_t n_b, struct tombola__pieces *out) {
  for (size_t i = 0; i < n_a && !s->status; i++)
    for (size_t j = 0; j < n_b && !s->status; j++) {
      const struct tombola__piece *const p = tombola__piece_and(s, a[i], b[j]);
      if (p && tombola__store_state(s)) tombola__pieces_add(s, out, p);
    }
}

tombola__numset tombola__numbers_and(struct tombola__store *s, tombola__numset a, tombola__numset b) {
  if (s->status) return TOMBOLA__NUMBERS_NONE;
  if (a > b) {
    const tombola__numset other = a;
    a = b;
    b = other;
  }
  if (a == b || a == TOMBOLA__NUMBERS_NONE) return a;
  if (a == TOMBOLA__NUMBERS_ALL) return b;
  uint64_t key;
  struct tombola__number_memo *const known = memo(s, AND, a, b, &key);
  if (known->key == key) return known->result;
  const struct tombola__number_set *const x = tombola__number_set(s, a), *const y = tombola__number_set(s, b);
  struct tombola__pieces lists[2] = {{0}};
  for (int sign = 0; sign < 2; sign++)
    and_lists(s, x->pieces[sign], x->n[sign], y->pieces[sign], y->n[sign], &lists[sign]);
  return remember(s, known, key, set_of(s, x->zero && y->zero, lists));
}

tombola__numset tombola__numbers_or(struct tombola__store *s, tombola__numset a, tombola__numset b) {
  if (s->status) return TOMBOLA__NUMBERS_NONE;
  if (a > b) {
    const tombola__numset other = a;
    a = b;
    b = other;
  }
  if (a == b || a == TOMBOLA__NUMBERS_NONE) return b;
  if (a == TOMBOLA__NUMBERS_ALL) return a;
  uint64_t key;
  struct tombola__number_memo *const known = memo(s, OR, a, b, &key);
  if (known->key == key) return known->result;
  const struct tombola__number_set *const x = tombola__number_set(s, a), *const y = tombola__number_set(s, b);
  struct tombola__pieces lists[2] = {{0}};
  for (int sign = 0; sign < 2; sign++) {
    for (uint32_t i = 0; i < x->n[sign]; i++)
      tombola__pieces_add(s, &lists[sign], x->pieces[sign][i]);
    for (uint32_t i = 0; i < y->n[sign]; i++)
      tombola__pieces_add(s, &lists[sign], y->pieces[sign][i]);
  }
  return remember(s, known, key, set_of(s, x->zero || y->zero, lists));
}

/* Everything but the pieces; they don't overlap. All single points at once, and then the others one by one. */
static void not_list(struct tombola__store *s, const struct tombola__piece *const *pieces, size_t n,
                     struct tombola__pieces *out) {
  struct tombola__pieces points = {0};
  for (size_t i = 0; i < n; i++)
    if (pieces[i]->point) tombola__pieces_add(s, &points, pieces[i]);
  if (!s->status) tombola__pieces_add(s, out, tombola__piece_without(s, points.items, points.n));
  tombola__pieces_free(s, &points);
  for (size_t i = 0; i < n && !s->status; i++) {
    if (pieces[i]->point) continue;
    struct tombola__pieces outside = {0}, both = {0};
    tombola__piece_not(s, pieces[i], &outside);
    and_lists(s, out->items, out->n, outside.items, outside.n, &both);
    tombola__pieces_free(s, &outside);
    tombola__pieces_free(s, out);
    *out = both;
  }
}

tombola__numset tombola__numbers_not(struct tombola__store *s, tombola__numset a) {
  if (s->status) return TOMBOLA__NUMBERS_NONE;
  if (a <= TOMBOLA__NUMBERS_ALL) return a ? TOMBOLA__NUMBERS_NONE : TOMBOLA__NUMBERS_ALL;
  uint64_t key;
  struct tombola__number_memo *const known = memo(s, NOT, a, 0, &key);
  if (known->key == key) return known->result;
  const struct tombola__number_set *const x = tombola__number_set(s, a);
  struct tombola__pieces lists[2] = {{0}};
  for (int sign = 0; sign < 2; sign++)
    not_list(s, x->pieces[sign], x->n[sign], &lists[sign]);
  return remember(s, known, key, set_of(s, !x->zero, lists));
}

/* ---- asking ---- */

bool tombola__numbers_is_none(struct tombola__store *s, tombola__numset a) {
  (void)s;
  return a == TOMBOLA__NUMBERS_NONE; /* no piece is empty */
}

/* Of pieces[i], what none of those in front has. */
static uint64_t count_new(struct tombola__store *s, const struct tombola__piece *const *pieces, size_t i) {
  const struct tombola__excluded none = {0};
  struct tombola__pieces rest = {0};
  uint64_t count = 0;
  tombola__pieces_add(s, &rest, pieces[i]);
  for (size_t j = 0; j < i && rest.n; j++) {
    if (pieces[j]->point && pieces[i]->point) continue; /* different ones */
    if (!tombola__piece_and(s, pieces[j], pieces[i])) continue;
    struct tombola__pieces outside = {0}, both = {0};
    not_list(s, &pieces[j], 1, &outside);
    and_lists(s, rest.items, rest.n, outside.items, outside.n, &both);
    tombola__pieces_free(s, &outside);
    tombola__pieces_free(s, &rest);
    rest = both;
  }
  for (size_t k = 0; k < rest.n && !s->status; k++) {
    bool at_least;
    const uint64_t n = tombola__piece_count(rest.items[k], &rest.items[k]->bounds, &none, &at_least);
    count = n > UINT64_MAX - count ? UINT64_MAX : count + n;
  }
  tombola__pieces_free(s, &rest);
  return count;
}

uint64_t tombola__numbers_count(struct tombola__store *s, tombola__numset a, uint64_t most) {
  if (s->status) return 0;
  const struct tombola__number_set *const x = tombola__number_set(s, a);
  const struct tombola__excluded none = {0};
  uint64_t count = x->zero;
  bool unknown = false;
  for (int sign = 0; sign < 2; sign++)
    for (uint32_t i = 0; i < x->n[sign] && count < most; i++) {
      const struct tombola__piece *const p = x->pieces[sign][i];
      bool at_least;
      uint64_t n = tombola__piece_count(p, &p->bounds, &none, &at_least);
      if (at_least && n < most) unknown = true;
      if (n < most) n = count_new(s, x->pieces[sign], i);
      count = n > UINT64_MAX - count ? UINT64_MAX : count + n;
    }
  if (unknown && count < most)
    tombola__store_fail(s, TOMBOLA_OUT_OF_RANGE, "multipleOf", "multipleOf: too many numbers to count");
  return count < most ? count : most;
}

bool tombola__numbers_has(struct tombola__store *s, tombola__numset a, const struct tombola__decimal *x) {
  const struct tombola__number_set *const set = tombola__number_set(s, a);
  if (!x->length) return set->zero;
  if (set->n[x->negative] == 0) return false;
  const struct tombola__points *const points = tombola__points(s, set, x->negative);
  for (uint32_t i = 0; i < points->n_others; i++)
    if (tombola__piece_has(points->others[i], x)) return true;
  if (points->n == 0) return false;
  const struct tombola__point_range range = tombola__points_begin(points, x->digits, x->length, true);
  const uint32_t at = tombola__points_from(points, range, x->exponent);
  return at < range.last && points->at[at]->exponent == x->exponent;
}
