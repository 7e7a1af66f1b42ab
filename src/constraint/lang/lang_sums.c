/* SPDX-License-Identifier: Apache-2.0 */
/* Unions and intersections. Lists of terms are made on the stack of lists of struct tombola__terms. */
#include <stdlib.h>
#include <string.h>

#include "constraint/lang/lang_terms.h"

#define NONE      TOMBOLA__LANG_NONE
#define EMPTY     TOMBOLA__LANG_EMPTY
#define ALL       TOMBOLA__LANG_ALL
#define UNBOUNDED TOMBOLA__LANG_UNBOUNDED
#define NO_SET    UINT32_MAX

/* Splits of overlapping sets that one union may do: each can make a common part of what follows, and those more. */
#define MOST_SPLITS 64
#define MOST_PAIRS  48 /* terms of a union in which counts are compared with each other */

static bool dead(const struct tombola__store *s, tombola__lang a) {
  return tombola__term(s, a)->flags & TOMBOLA__DEAD;
}

static int by_number(const void *a, const void *b) {
  const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

/* Sorts what is on the stack from base on; each once. */
static void sort(struct tombola__vector *v, size_t base) {
  bool sorted = true;
  for (size_t i = base + 1; i < v->n && sorted; i++)
    sorted = v->at[i - 1] < v->at[i];
  if (sorted) return;
  qsort(v->at + base, v->n - base, sizeof *v->at, by_number);
  size_t out = base;
  for (size_t i = base; i < v->n; i++)
    if (out == base || v->at[out - 1] != v->at[i]) v->at[out++] = v->at[i];
  v->n = out;
}

static bool has(const struct tombola__vector *v, size_t base, uint32_t value) {
  return v->n > base && bsearch(&value, v->at + base, v->n - base, sizeof value, by_number);
}

/* Puts the members of terms of this kind in the place of the term. */
static void unfold(struct tombola__store *s, size_t base, enum tombola__term_kind kind) {
  struct tombola__vector *const v = &tombola__terms(s)->scratch;
  for (size_t i = base; i < v->n && !s->status; i++) {
    const struct tombola__term t = *tombola__term(s, v->at[i]);
    if (t.kind != kind) continue;
    v->at[i] = t.list[0];
    for (size_t j = 1; j < t.b; j++)
      tombola__push(s, t.list[j]);
  }
}

/* Takes the i-th off, the last comes in its place. */
static void take_off(struct tombola__vector *v, size_t i) {
  v->at[i] = v->at[--v->n];
}

static tombola__lang fold(struct tombola__store *s, size_t base, enum tombola__term_kind kind,
                          tombola__lang neutral) {
  struct tombola__vector *const v = &tombola__terms(s)->scratch;
  sort(v, base);
  const size_t n = v->n - base;
  tombola__lang result = neutral;
  if (n == 1) result = v->at[base];
  if (n > 1)
    result = tombola__term_intern(
        s, (struct tombola__term){.kind = (uint8_t)kind, .b = (uint32_t)n, .list = v->at + base});
  v->n = base;
  return s->status ? NONE : result;
}

/* ---- choices: unions that are told apart by the first letter ---- */

struct pair {
  uint32_t first, set, rest;
};

static int by_rest(const void *a, const void *b) {
  const struct pair *const x = a, *const y = b;
  if (x->rest != y->rest) return x->rest < y->rest ? -1 : 1;
  return (x->first > y->first) - (x->first < y->first);
}

static int by_first(const void *a, const void *b) {
  const uint32_t x = ((const struct pair *)a)->first, y = ((const struct pair *)b)->first;
  return (x > y) - (x < y);
}

static uint32_t first_of(const struct tombola__store *s, uint32_t set) {
  return tombola__terms(s)->sets[set].ranges[0].lo;
}

/* The set of all pairs from i on that have one end. */
static uint32_t union_of(struct tombola__store *s, const struct pair *pairs, size_t i, size_t end) {
  if (end == i + 1) return pairs[i].set;
  size_t n = 0, k = 0;
  for (size_t j = i; j < end; j++)
    n += tombola__terms(s)->sets[pairs[j].set].n;
  struct tombola__range *const ranges = tombola__new(&s->allocator, n, sizeof *ranges);
  if (!ranges) {
    tombola__store_fail(s, TOMBOLA_NO_MEMORY, NULL, "out of memory");
    return NO_SET;
  }
  for (size_t j = i; j < end; j++) {
    const struct tombola__letters *const set = &tombola__terms(s)->sets[pairs[j].set];
    memcpy(ranges + k, set->ranges, set->n * sizeof *ranges);
    k += set->n;
  }
  const uint32_t result = tombola__letters(s, ranges, n);
  tombola__free(&s->allocator, ranges);
  return result;
}

/* Joins equal ends, sorts by first letters; the new number of pairs. */
static size_t order_pairs(struct tombola__store *s, struct pair *pairs, size_t n) {
  size_t out = 0;
  for (size_t i = 0; i < n; i++)
    pairs[i].first = first_of(s, pairs[i].set);
  qsort(pairs, n, sizeof *pairs, by_rest);
  for (size_t i = 0, end; i < n && !s->status; i = end) {
    for (end = i + 1; end < n && pairs[end].rest == pairs[i].rest; end++) {
    }
    const uint32_t set = union_of(s, pairs, i, end);
    pairs[out++] = (struct pair){pairs[i].first, set, pairs[i].rest};
  }
  qsort(pairs, out, sizeof *pairs, by_first);
  return out;
}

tombola__lang tombola__term_choice(struct tombola__store *s, size_t base) {
  struct tombola__vector *const v = &tombola__terms(s)->scratch;
  const size_t n = (v->n - base) / 2;
  tombola__lang result = NONE;
  struct pair few[16], *pairs = few;
  if (n > 16) pairs = tombola__new(&s->allocator, n, sizeof *pairs);
  if (!pairs) tombola__store_fail(s, TOMBOLA_NO_MEMORY, NULL, "out of memory");
  if (pairs && !s->status && n) {
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
      if (!dead(s, v->at[base + 2 * i + 1]))
        pairs[kept++] = (struct pair){0, v->at[base + 2 * i], v->at[base + 2 * i + 1]};
    kept = order_pairs(s, pairs, kept);
    v->n = base; /* there is room for what was there */
    for (size_t i = 0; i < kept; i++) {
      tombola__push(s, pairs[i].set);
      tombola__push(s, pairs[i].rest);
    }
    if (kept == 1)
      result = tombola__lang_concat(s, tombola__term_of_set(s, pairs[0].set), pairs[0].rest);
    else if (kept && !s->status)
      result = tombola__term_intern(
          s, (struct tombola__term){.kind = TOMBOLA__TERM_CHOICE, .b = (uint32_t)kept, .list = v->at + base});
  }
  if (pairs != few) tombola__free(&s->allocator, pairs);
  v->n = base;
  return s->status ? NONE : result;
}

/* Pushes the pairs of a term that begins with a set; false when it doesn't. */
static bool push_pairs(struct tombola__store *s, tombola__lang a) {
  const struct tombola__term t = *tombola__term(s, a);
  if (t.kind == TOMBOLA__TERM_SET) return tombola__push(s, t.a) && tombola__push(s, EMPTY);
  if (t.kind == TOMBOLA__TERM_CONCAT && tombola__term(s, t.a)->kind == TOMBOLA__TERM_SET)
    return tombola__push(s, tombola__term(s, t.a)->a) && tombola__push(s, t.b);
  if (t.kind != TOMBOLA__TERM_CHOICE) return false;
  for (size_t i = 0; i < 2 * (size_t)t.b; i++)
    tombola__push(s, t.list[i]);
  return !s->status;
}

static bool is_headed(const struct tombola__store *s, tombola__lang a) {
  const struct tombola__term *const t = tombola__term(s, a);
  return t->kind == TOMBOLA__TERM_SET || t->kind == TOMBOLA__TERM_CHOICE ||
         (t->kind == TOMBOLA__TERM_CONCAT && tombola__term(s, t->a)->kind == TOMBOLA__TERM_SET);
}

/* The pair at `at`, against those of the second choice, from..to: common letters go on with the union of both. Pushes
 * the common parts and what is left of the pair. False: too much overlaps. */
static bool overlay_pair(struct tombola__store *s, size_t at, size_t from, size_t to) {
  struct tombola__terms *const terms = tombola__terms(s);
  struct tombola__vector *const v = &terms->scratch;
  uint32_t set = v->at[at];
  const uint32_t rest = v->at[at + 1];
  for (size_t j = from; j < to && set != NO_SET; j += 2) {
    const uint32_t other = v->at[j];
    if (other == NO_SET || !tombola__letters_meet(&terms->sets[set], &terms->sets[other])) continue;
    const uint32_t both = set == other ? set : tombola__letters_op(s, TOMBOLA__LETTERS_AND, set, other);
    if (set != other && rest != v->at[j + 1] && !terms->splits--) {
      terms->splits = 0;
      return false;
    }
    const tombola__lang follows = tombola__lang_or(s, rest, v->at[j + 1]);
    if (!tombola__push(s, both) || !tombola__push(s, follows)) return false;
    v->at[j] = set == other ? NO_SET : tombola__letters_op(s, TOMBOLA__LETTERS_MINUS, other, both);
    set = set == other ? NO_SET : tombola__letters_op(s, TOMBOLA__LETTERS_MINUS, set, both);
    if (s->status) return false;
  }
  if (set != NO_SET) return tombola__push(s, set) && tombola__push(s, rest);
  return true;
}

/* The union of two terms that begin with sets, as one such term; false: as it is, too much overlaps. */
static bool overlay(struct tombola__store *s, tombola__lang a, tombola__lang b, tombola__lang *out) {
  struct tombola__vector *const v = &tombola__terms(s)->scratch;
  const size_t base = v->n;
  bool done = push_pairs(s, a);
  const size_t middle = v->n;
  done = done && push_pairs(s, b);
  const size_t end = v->n;
  for (size_t i = base; done && i < middle; i += 2)
    done = overlay_pair(s, i, middle, end);
  for (size_t j = middle; done && j < end; j += 2)
    if (v->at[j] != NO_SET) done = tombola__push(s, v->at[j]) && tombola__push(s, v->at[j + 1]);
  if (done) *out = tombola__term_choice(s, end);
  v->n = base;
  return done && !s->status;
}

/* Makes one of all members from base on that begin with a set, as far as that goes. */
static void join_heads(struct tombola__store *s, size_t base) {
  struct tombola__terms *const terms = tombola__terms(s);
  struct tombola__vector *const v = &terms->scratch;
  size_t head = SIZE_MAX;
  if (terms->depth > 200) return; /* a deep union stays as it is: the derivative does the same later */
  for (size_t i = base; i < v->n && !s->status; i++) {
    if (!is_headed(s, v->at[i])) continue;
    if (head == SIZE_MAX) {
      head = i;
      continue;
    }
    tombola__lang joined;
    if (!overlay(s, v->at[head], v->at[i], &joined)) continue;
    v->at[head] = joined;
    take_off(v, i--);
  }
}

/* ---- counts ---- */

/* a{m,n} x as its parts. */
struct counted {
  tombola__lang base, rest;
  uint32_t min, max;
};

static struct counted counted(const struct tombola__store *s, tombola__lang a) {
  const struct tombola__term *const t = tombola__term(s, a);
  if (t->kind == TOMBOLA__TERM_REPEAT) return (struct counted){t->a, EMPTY, t->min, t->max};
  if (t->kind == TOMBOLA__TERM_CONCAT) {
    const struct tombola__term *const head = tombola__term(s, t->a);
    if (head->kind == TOMBOLA__TERM_REPEAT) return (struct counted){head->a, t->b, head->min, head->max};
  }
  return (struct counted){a, EMPTY, 1, 1};
}

/* a{i,j} x | a{k,l} x is one where the counts touch. */
static void join_counts(struct tombola__store *s, size_t base) {
  struct tombola__vector *const v = &tombola__terms(s)->scratch;
  if (v->n - base > MOST_PAIRS) return;
  for (size_t i = base; i < v->n && !s->status; i++) {
    for (size_t j = i + 1; j < v->n; j++) {
      const struct counted x = counted(s, v->at[i]), y = counted(s, v->at[j]);
      if (x.base != y.base || x.rest != y.rest) continue;
      if ((x.max != UNBOUNDED && x.max + 1 < y.min) || (y.max != UNBOUNDED && y.max + 1 < x.min)) continue;
      const tombola__lang joined = tombola__lang_concat(
          s, tombola__lang_repeat(s, x.base, x.min < y.min ? x.min : y.min, x.max > y.max ? x.max : y.max),
          x.rest);
      v->at[i] = joined;
      take_off(v, j);
      j = i; /* compares with all others again */
    }
  }
}

/* ---- or ---- */

/* Leaves out what adds nothing; true when the union is ALL. */
static bool or_trivial(struct tombola__store *s, size_t base, bool *empty) {
  struct tombola__vector *const v = &tombola__terms(s)->scratch;
  bool nullable = false;
  *empty = false;
  for (size_t i = base; i < v->n; i++) {
    const tombola__lang a = v->at[i];
    if (a == ALL) return true;
    if (a == EMPTY || dead(s, a)) {
      *empty |= a == EMPTY;
      take_off(v, i--);
    } else {
      nullable |= tombola__nullable(s, a);
    }
  }
  *empty &= !nullable;
  return false;
}

/* x | not x. */
static bool is_everything(const struct tombola__store *s, size_t base) {
  const struct tombola__vector *const v = &tombola__terms(s)->scratch;
  for (size_t i = base; i < v->n; i++) {
    const struct tombola__term *const t = tombola__term(s, v->at[i]);
    if (t->kind == TOMBOLA__TERM_NOT && has(v, base, t->a)) return true;
  }
  return false;
}

/* The empty text is counted in where there is an a{1,n}. */
static void add_empty(struct tombola__store *s, size_t base) {
  struct tombola__vector *const v = &tombola__terms(s)->scratch;
  for (size_t i = base; i < v->n; i++) {
    const struct tombola__term t = *tombola__term(s, v->at[i]);
    if (t.kind != TOMBOLA__TERM_REPEAT || t.min != 1) continue;
    v->at[i] = tombola__lang_repeat(s, t.a, 0, t.max);
    return;
  }
  tombola__push(s, EMPTY);
}

tombola__lang tombola__term_or(struct tombola__store *s, size_t base) {
  struct tombola__terms *const terms = tombola__terms(s);
  struct tombola__vector *const v = &terms->scratch;
  bool empty = false;
  if (!terms->depth) terms->splits = MOST_SPLITS;
  const bool entered = tombola__terms_enter(s);
  tombola__lang result = NONE;
  if (entered) {
    unfold(s, base, TOMBOLA__TERM_OR);
    if (or_trivial(s, base, &empty)) {
      result = ALL;
    } else {
      sort(v, base);
      join_heads(s, base);
      join_counts(s, base);
      if (empty) add_empty(s, base);
      sort(v, base);
      result = is_everything(s, base) || has(v, base, ALL) ? ALL : fold(s, base, TOMBOLA__TERM_OR, NONE);
    }
  }
  tombola__terms_leave(s);
  v->n = base;
  return s->status ? NONE : result;
}

tombola__lang tombola__lang_or(struct tombola__store *s, tombola__lang a, tombola__lang b) {
  if (s->status) return NONE;
  if (a == b || dead(s, b)) return dead(s, a) ? NONE : a;
  if (dead(s, a)) return b;
  const size_t base = tombola__terms(s)->scratch.n;
  tombola__push(s, a);
  tombola__push(s, b);
  return tombola__term_or(s, base);
}

/* ---- and ---- */

/* Bounds of the length become one, sets become one, complements one of the union. True: nothing is left. */
static bool join_kinds(struct tombola__store *s, size_t base) {
  struct tombola__vector *const v = &tombola__terms(s)->scratch;
  size_t length = SIZE_MAX, set = SIZE_MAX, not = SIZE_MAX;
  for (size_t i = base; i < v->n && !s->status; i++) {
    const struct tombola__term t = *tombola__term(s, v->at[i]);
    size_t *const first = tombola__is_length(s, v->at[i]) ? &length
                          : t.kind == TOMBOLA__TERM_SET   ? &set
                          : t.kind == TOMBOLA__TERM_NOT   ? &not
                                                          : NULL;
    if (!first) continue;
    if (*first == SIZE_MAX) {
      *first = i;
      continue;
    }
    const struct tombola__term u = *tombola__term(s, v->at[*first]);
    tombola__lang joined;
    if (first == &length)
      joined = tombola__lang_length(s, t.min > u.min ? t.min : u.min, t.max < u.max ? t.max : u.max);
    else if (first == &set)
      joined = tombola__term_of_set(s, tombola__letters_op(s, TOMBOLA__LETTERS_AND, t.a, u.a));
    else
      joined = tombola__lang_not(s, tombola__lang_or(s, t.a, u.a));
    if (joined == NONE) return true;
    v->at[*first] = joined;
    take_off(v, i--);
  }
  return false;
}

/* By lengths: true when nothing is left; a bound of the length that the others imply goes. */
static bool by_lengths(struct tombola__store *s, size_t base) {
  struct tombola__vector *const v = &tombola__terms(s)->scratch;
  uint32_t lo = 0, hi = UNBOUNDED, others_lo = 0, others_hi = UNBOUNDED;
  size_t length = SIZE_MAX;
  for (size_t i = base; i < v->n; i++) {
    const struct tombola__term *const t = tombola__term(s, v->at[i]);
    if (t->shortest > lo) lo = t->shortest;
    if (t->longest < hi) hi = t->longest;
    if (tombola__is_length(s, v->at[i])) {
      length = i;
      continue;
    }
    if (t->shortest > others_lo) others_lo = t->shortest;
    if (t->longest < others_hi) others_hi = t->longest;
  }
  if (lo > hi) return true;
  if (length == SIZE_MAX || v->n - base < 2) return false;
  const struct tombola__term *const t = tombola__term(s, v->at[length]);
  if (t->min <= others_lo && (t->max == UNBOUNDED || t->max >= others_hi)) take_off(v, length);
  return false;
}

/* x and not x; the empty text and what hasn't it. */
static bool and_is_none(struct tombola__store *s, size_t base) {
  const struct tombola__vector *const v = &tombola__terms(s)->scratch;
  bool empty = false, nullable = true;
  for (size_t i = base; i < v->n; i++) {
    const struct tombola__term *const t = tombola__term(s, v->at[i]);
    if (t->flags & TOMBOLA__DEAD) return true;
    if (t->kind == TOMBOLA__TERM_NOT && has(v, base, t->a)) return true;
    empty |= v->at[i] == EMPTY;
    nullable = nullable && t->flags & TOMBOLA__NULLABLE;
  }
  return empty && !nullable;
}

tombola__lang tombola__term_and(struct tombola__store *s, size_t base) {
  struct tombola__vector *const v = &tombola__terms(s)->scratch;
  const bool entered = tombola__terms_enter(s);
  bool none = !entered;
  tombola__lang result = NONE;
  if (entered) {
    unfold(s, base, TOMBOLA__TERM_AND);
    for (size_t i = base; i < v->n; i++)
      if (v->at[i] == ALL) take_off(v, i--);
    sort(v, base);
    none = join_kinds(s, base);
    unfold(s, base, TOMBOLA__TERM_AND); /* a complement may have become something else */
    sort(v, base);
    none = none || s->status || and_is_none(s, base) || by_lengths(s, base);
    if (!none && v->n > base && v->at[base] == EMPTY)
      result = EMPTY;
    else if (!none)
      result = fold(s, base, TOMBOLA__TERM_AND, ALL);
  }
  tombola__terms_leave(s);
  v->n = base;
  return s->status ? NONE : result;
}

tombola__lang tombola__lang_and(struct tombola__store *s, tombola__lang a, tombola__lang b) {
  if (s->status || dead(s, a) || dead(s, b)) return NONE;
  if (a == b || b == ALL) return a;
  if (a == ALL) return b;
  const size_t base = tombola__terms(s)->scratch.n;
  tombola__push(s, a);
  tombola__push(s, b);
  return tombola__term_and(s, base);
}
