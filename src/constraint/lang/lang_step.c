/* SPDX-License-Identifier: Apache-2.0 */
/* Derivatives, and the tables of the states. A state's classes come from the heads of its term; what follows a class is
 * derived when it is first asked for. */
#include <string.h>

#include "constraint/lang/lang_terms.h"

#define NONE    TOMBOLA__LANG_NONE
#define EMPTY   TOMBOLA__LANG_EMPTY
#define UNKNOWN TOMBOLA__LANG_UNKNOWN

#define FEW_STEPS   32 /* cost about what a table does */
#define FEW_MEMBERS 16 /* of a union, to be asked one by one */

/* ---- classes ---- */

static uint32_t partition_of(struct tombola__store *s, tombola__lang a);

/* a b c…: the heads as far as what is in front of them may be empty. */
static uint32_t of_concat(struct tombola__store *s, tombola__lang a) {
  uint32_t p = partition_of(s, tombola__term(s, a)->a);
  while (!s->status && tombola__nullable(s, tombola__term(s, a)->a)) {
    a = tombola__term(s, a)->b;
    if (tombola__term(s, a)->kind != TOMBOLA__TERM_CONCAT)
      return tombola__partition_meet(s, p, partition_of(s, a));
    p = tombola__partition_meet(s, p, partition_of(s, tombola__term(s, a)->a));
  }
  return p;
}

static uint32_t of_members(struct tombola__store *s, const uint32_t *list, size_t n) {
  uint32_t p = partition_of(s, list[0]);
  for (size_t i = 1; i < n; i++)
    p = tombola__partition_meet(s, p, partition_of(s, list[i]));
  return p;
}

static uint32_t partition_of(struct tombola__store *s, tombola__lang a) {
  const struct tombola__term t = *tombola__term(s, a);
  if (s->status) return UINT32_MAX;
  if (t.partition) return t.partition - 1;
  uint32_t p = UINT32_MAX;
  if (tombola__terms_enter(s)) {
    switch ((enum tombola__term_kind)t.kind) {
    case TOMBOLA__TERM_NONE:
    case TOMBOLA__TERM_EMPTY: /* one class, as that of any */
      p = tombola__partition_of_set(s, tombola__term(s, tombola__terms(s)->any)->a);
      break;
    case TOMBOLA__TERM_SET: p = tombola__partition_of_set(s, t.a); break;
    case TOMBOLA__TERM_CHOICE: p = tombola__partition_of_choice(s, t.list, t.b); break;
    case TOMBOLA__TERM_CONCAT: p = of_concat(s, a); break;
    case TOMBOLA__TERM_OR:
    case TOMBOLA__TERM_AND: p = of_members(s, t.list, t.b); break;
    case TOMBOLA__TERM_NOT:
    case TOMBOLA__TERM_REPEAT: p = partition_of(s, t.a); break;
    }
  }
  tombola__terms_leave(s);
  if (!s->status) tombola__term(s, a)->partition = p + 1;
  return p;
}

/* ---- states ---- */

struct tombola__lang_state *tombola__lang_state(struct tombola__store *s, tombola__lang a) {
  if (s->status) return NULL;
  if (s->langs->table[a]) return tombola__lang_state_of(s, a);
  const uint32_t number = partition_of(s, a);
  if (s->status || !tombola__store_state(s)) return NULL;
  const struct tombola__partition *const p = tombola__terms(s)->partitions[number];
  struct tombola__lang_state *const state = tombola__store_take(s, 1, sizeof *state);
  uint32_t *const next = tombola__store_take(s, 2 * (size_t)p->n_classes, sizeof *next);
  if (!state || !next) return NULL;
  memset(next, 0xFF, 2 * (size_t)p->n_classes * sizeof *next);
  state->partition = p;
  state->next = next;
  state->raw = next + p->n_classes;
  state->table =
      (struct tombola__lang_table){.class_of = p->ascii, .next = next, .accepts = tombola__nullable(s, a)};
  s->langs->table[a] = &state->table;
  return state;
}

/* ---- derivatives ---- */

static tombola__lang derive(struct tombola__store *s, tombola__lang a, uint32_t letter);

static bool has_letter(const struct tombola__store *s, uint32_t set, uint32_t letter) {
  return tombola__letters_have(&tombola__terms(s)->sets[set], letter);
}

/* The derivative of a part, through its own table where that saves work. */
static tombola__lang derive_part(struct tombola__store *s, tombola__lang a, uint32_t letter) {
  const struct tombola__term *const t = tombola__term(s, a);
  const enum tombola__term_kind kind = t->kind;
  if (kind <= TOMBOLA__TERM_SET || kind == TOMBOLA__TERM_CHOICE) return derive(s, a, letter);
  if ((kind == TOMBOLA__TERM_CONCAT || kind == TOMBOLA__TERM_REPEAT) &&
      tombola__term(s, t->a)->kind == TOMBOLA__TERM_SET)
    return derive(s, a, letter);
  struct tombola__lang_state *const state = tombola__lang_state(s, a);
  if (!state) return NONE;
  return tombola__lang_raw(s, state, a, tombola__partition_class(state->partition, letter));
}

/* The pairs ascend by first letters: the last one that doesn't begin behind the letter has it, or one in front of it
 * when the sets aren't ranges. */
static tombola__lang derive_choice(const struct tombola__store *s, const struct tombola__term *t,
                                   uint32_t letter) {
  size_t lo = 0, hi = t->b;
  while (lo < hi) {
    const size_t middle = (lo + hi) / 2;
    if (tombola__terms(s)->sets[t->list[2 * middle]].ranges[0].lo <= letter)
      lo = middle + 1;
    else
      hi = middle;
  }
  while (lo-- > 0)
    if (has_letter(s, t->list[2 * lo], letter)) return t->list[2 * lo + 1];
  return NONE;
}

static tombola__lang derive_concat(struct tombola__store *s, tombola__lang a, uint32_t letter) {
  const size_t base = tombola__terms(s)->scratch.n;
  while (!s->status) {
    const struct tombola__term t = *tombola__term(s, a);
    if (t.kind != TOMBOLA__TERM_CONCAT) {
      tombola__push(s, derive_part(s, a, letter));
      break;
    }
    tombola__push(s, tombola__lang_concat(s, derive_part(s, t.a, letter), t.b));
    if (!tombola__nullable(s, t.a)) break;
    a = t.b;
  }
  return tombola__term_or(s, base);
}

static tombola__lang derive_members(struct tombola__store *s, const struct tombola__term *t,
                                    uint32_t letter) {
  const size_t base = tombola__terms(s)->scratch.n;
  for (size_t i = 0; i < t->b && !s->status; i++)
    tombola__push(s, derive_part(s, t->list[i], letter));
  return t->kind == TOMBOLA__TERM_OR ? tombola__term_or(s, base) : tombola__term_and(s, base);
}

static tombola__lang derive_repeat(struct tombola__store *s, const struct tombola__term *t, uint32_t letter) {
  const tombola__lang first = derive_part(s, t->a, letter);
  if (first == NONE) return NONE;
  const uint32_t min = t->min ? t->min - 1 : 0;
  const uint32_t max = t->max == TOMBOLA__LANG_UNBOUNDED ? t->max : t->max - 1;
  return tombola__lang_concat(s, first, tombola__lang_repeat(s, t->a, min, max));
}

static tombola__lang derive(struct tombola__store *s, tombola__lang a, uint32_t letter) {
  const struct tombola__term t = *tombola__term(s, a);
  tombola__lang result = NONE;
  if (tombola__terms_enter(s)) {
    switch ((enum tombola__term_kind)t.kind) {
    case TOMBOLA__TERM_NONE:
    case TOMBOLA__TERM_EMPTY: break;
    case TOMBOLA__TERM_SET: result = has_letter(s, t.a, letter) ? EMPTY : NONE; break;
    case TOMBOLA__TERM_CHOICE: result = derive_choice(s, &t, letter); break;
    case TOMBOLA__TERM_CONCAT: result = derive_concat(s, a, letter); break;
    case TOMBOLA__TERM_OR:
    case TOMBOLA__TERM_AND: result = derive_members(s, &t, letter); break;
    case TOMBOLA__TERM_NOT: result = tombola__lang_not(s, derive_part(s, t.a, letter)); break;
    case TOMBOLA__TERM_REPEAT: result = derive_repeat(s, &t, letter); break;
    }
  }
  tombola__terms_leave(s);
  return s->status ? NONE : result;
}

tombola__lang tombola__lang_raw(struct tombola__store *s, struct tombola__lang_state *state, tombola__lang a,
                                uint32_t class_index) {
  if (state->raw[class_index] != UNKNOWN) return state->raw[class_index];
  const tombola__lang next = derive(s, a, state->partition->sample[class_index]);
  if (s->status) return NONE;
  return state->raw[class_index] = next;
}

tombola__lang tombola__lang_next(struct tombola__store *s, struct tombola__lang_state *state, tombola__lang a,
                                 uint32_t class_index) {
  if (state->next[class_index] != UNKNOWN) return state->next[class_index];
  tombola__lang next = tombola__lang_raw(s, state, a, class_index);
  if (tombola__lang_is_none(s, next)) next = NONE;
  if (s->status) return NONE;
  return state->next[class_index] = next;
}

/* ---- asking ---- */

static tombola__lang unless_none(struct tombola__store *s, tombola__lang a) {
  return tombola__lang_is_none(s, a) || s->status ? NONE : a;
}

/* A set with what follows it, or a choice between sets, of which most texts and formats are made, is stepped without a
 * table at first: its head, and what follows that. False: it isn't that, or a table pays off. */
static bool is_stepped(struct tombola__store *s, tombola__lang a, struct tombola__term *head,
                       tombola__lang *rest) {
  struct tombola__term *const t = tombola__term(s, a);
  const bool more = t->kind == TOMBOLA__TERM_CONCAT;
  *head = more ? *tombola__term(s, t->a) : *t;
  *rest = more ? t->b : EMPTY;
  const bool simple = head->kind == TOMBOLA__TERM_SET || (head->kind == TOMBOLA__TERM_CHOICE && !more);
  if (!simple || t->steps == FEW_STEPS || s->langs->table[a] || s->status) return false;
  t->steps++;
  return true;
}

tombola__lang tombola__lang_step_slow(struct tombola__store *s, tombola__lang a, uint32_t code_point) {
  if (code_point - 0xD800 < 0x800 || code_point > TOMBOLA__LAST_CODE_POINT) return NONE;
  const uint32_t letter = tombola__letter(code_point);
  struct tombola__term head;
  tombola__lang rest;
  if (is_stepped(s, a, &head, &rest)) {
    if (head.kind == TOMBOLA__TERM_CHOICE) return unless_none(s, derive_choice(s, &head, letter));
    return has_letter(s, head.a, letter) ? unless_none(s, rest) : NONE;
  }
  struct tombola__lang_state *const state = tombola__lang_state(s, a);
  if (!state) return NONE;
  return tombola__lang_next(s, state, a, tombola__partition_class(state->partition, letter));
}

static bool meets(const struct tombola__store *s, uint32_t set, struct tombola__range range) {
  const struct tombola__letters letters = {.n = 1, .ranges = &range};
  return tombola__letters_meet(&tombola__terms(s)->sets[set], &letters);
}

static bool takes_search(const struct tombola__store *s, tombola__lang a) {
  const uint8_t kind = tombola__term(s, a)->kind;
  return kind == TOMBOLA__TERM_AND || kind == TOMBOLA__TERM_NOT;
}

/* Of letters. A union is asked by its members, none of which is one. */
static bool can_step(struct tombola__store *s, tombola__lang a, struct tombola__range range) {
  struct tombola__term t = *tombola__term(s, a);
  tombola__lang rest;
  if (t.kind == TOMBOLA__TERM_OR && t.b <= FEW_MEMBERS) {
    bool can = false;
    for (unsigned searched = 0; searched < 2 && !can; searched++) /* what may take a search comes last */
      for (size_t i = 0; i < t.b && !can && !s->status; i++)
        if (takes_search(s, t.list[i]) == (bool)searched) can = can_step(s, t.list[i], range);
    return can;
  }
  if (is_stepped(s, a, &t, &rest)) {
    if (t.kind == TOMBOLA__TERM_SET) return meets(s, t.a, range) && unless_none(s, rest) != NONE;
    for (size_t i = 0; i < t.b; i++)
      if (meets(s, t.list[2 * i], range) && unless_none(s, t.list[2 * i + 1]) != NONE) return true;
    return false;
  }
  struct tombola__lang_state *const state = tombola__lang_state(s, a);
  if (!state) return false;
  const struct tombola__partition *const p = state->partition;
  uint32_t from = 0, to = p->n; /* the first range that ends at lo or behind it */
  while (from < to) {
    const uint32_t middle = (from + to) / 2;
    if (tombola__partition_end(p, middle) < range.lo)
      from = middle + 1;
    else
      to = middle;
  }
  for (uint32_t i = from; i < p->n && p->start[i] <= range.hi && !s->status; i++)
    if (tombola__lang_next(s, state, a, p->class_at[i]) != NONE) return true;
  return false;
}

bool tombola__lang_can_step(struct tombola__store *s, tombola__lang a, uint32_t lo, uint32_t hi) {
  if (hi > TOMBOLA__LAST_CODE_POINT) hi = TOMBOLA__LAST_CODE_POINT;
  if (lo - 0xD800 < 0x800) lo = 0xE000;
  if (hi - 0xD800 < 0x800) hi = 0xD7FF;
  if (lo > hi) return false;
  return can_step(s, a, (struct tombola__range){tombola__letter(lo), tombola__letter(hi)});
}

bool tombola__lang_can_take(struct tombola__store *s, tombola__lang a, uint8_t ascii) {
  const struct tombola__lang_table *const t = tombola__lang_table(s, a);
  const uint32_t next = t ? t->next[t->class_of[ascii]] : UNKNOWN;
  return next == UNKNOWN ? can_step(s, a, (struct tombola__range){ascii, ascii}) : next != NONE;
}

bool tombola__lang_accepts_empty(struct tombola__store *s, tombola__lang a) {
  return tombola__nullable(s, a);
}

bool tombola__lang_matches(struct tombola__store *s, tombola__lang a, const char *text, size_t length) {
  for (size_t at = 0; at < length && a != NONE;)
    a = tombola__lang_step(s, a, tombola__utf8_decode(text, length, &at));
  return !s->status && tombola__nullable(s, a);
}
