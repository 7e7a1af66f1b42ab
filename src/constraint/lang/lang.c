/* SPDX-License-Identifier: Apache-2.0 */
/* Making languages: sets, texts, concatenation, repetition, complement. Each maker simplifies what it can see without
 * a search, so that languages that are the same mostly are one term. Unions and intersections: lang_sums.c. */
#include <stdlib.h>
#include <string.h>

#include "constraint/lang/lang_terms.h"

#define NONE      TOMBOLA__LANG_NONE
#define EMPTY     TOMBOLA__LANG_EMPTY
#define ALL       TOMBOLA__LANG_ALL
#define UNBOUNDED TOMBOLA__LANG_UNBOUNDED

static bool dead(const struct tombola__store *s, tombola__lang a) {
  return tombola__term(s, a)->flags & TOMBOLA__DEAD;
}

/* ---- sets ---- */

tombola__lang tombola__term_of_set(struct tombola__store *s, uint32_t set) {
  if (set == UINT32_MAX || s->status) return NONE;
  return tombola__term_intern(s, (struct tombola__term){.kind = TOMBOLA__TERM_SET, .a = set});
}

tombola__lang tombola__lang_set(struct tombola__store *s, const struct tombola__range *ranges, size_t n) {
  if (s->status || !n) return NONE;
  struct tombola__range few[32], *letters = few;
  if (n > 16) letters = tombola__new(&s->allocator, 2 * n, sizeof *letters);
  if (!letters) {
    tombola__store_fail(s, TOMBOLA_NO_MEMORY, NULL, "out of memory");
    return NONE;
  }
  size_t out = 0;
  for (size_t i = 0; i < n; i++) {
    const uint32_t lo = ranges[i].lo,
                   hi = ranges[i].hi > TOMBOLA__LAST_CODE_POINT ? TOMBOLA__LAST_CODE_POINT : ranges[i].hi;
    /* In front of the surrogates, and behind them. */
    if (lo <= hi && lo < 0xD800) letters[out++] = (struct tombola__range){lo, hi < 0xD800 ? hi : 0xD7FF};
    if (lo <= hi && hi > 0xDFFF)
      letters[out++] =
          (struct tombola__range){tombola__letter(lo > 0xE000 ? lo : 0xE000), tombola__letter(hi)};
  }
  const tombola__lang result = out ? tombola__term_of_set(s, tombola__letters(s, letters, out)) : NONE;
  if (letters != few) tombola__free(&s->allocator, letters);
  return result;
}

tombola__lang tombola__lang_any(struct tombola__store *s) {
  return s->status ? NONE : tombola__terms(s)->any;
}

/* ---- concatenation ---- */

/* a{m,n} as what it repeats: a is a{1,1}. */
static tombola__lang base_of(const struct tombola__store *s, tombola__lang a, uint32_t *min, uint32_t *max) {
  const struct tombola__term *const t = tombola__term(s, a);
  const bool repeat = t->kind == TOMBOLA__TERM_REPEAT;
  *min = repeat ? t->min : 1;
  *max = repeat ? t->max : 1;
  return repeat ? t->a : a;
}

static uint32_t sum(uint32_t a, uint32_t b) {
  return tombola__length_sum(a, b);
}

/* a{i,j} a{k,l} is a{i+k,j+l}; not a a, so that texts stay chains of sets. */
static bool merge(struct tombola__store *s, tombola__lang a, tombola__lang b, tombola__lang *out) {
  uint32_t min_a, max_a, min_b, max_b;
  const tombola__lang base = base_of(s, a, &min_a, &max_a);
  if (base != base_of(s, b, &min_b, &max_b) || (a == base && b == base)) return false;
  if (sum(min_a, min_b) >= TOMBOLA__FINITE || sum(max_a, max_b) == TOMBOLA__FINITE) return false;
  *out = tombola__lang_repeat(s, base, sum(min_a, min_b), sum(max_a, max_b));
  return true;
}

/* a is no CONCAT. */
static tombola__lang concat(struct tombola__store *s, tombola__lang a, tombola__lang b) {
  if (s->status || dead(s, a) || dead(s, b)) return NONE;
  if (a == EMPTY) return b;
  if (b == EMPTY) return a;
  if ((a == ALL && tombola__nullable(s, b)) || (b == ALL && tombola__nullable(s, a))) return ALL;
  tombola__lang merged;
  if (merge(s, a, b, &merged)) return merged;
  const struct tombola__term head = *tombola__term(s, b);
  if (head.kind == TOMBOLA__TERM_CONCAT) {
    if (merge(s, a, head.a, &merged)) return concat(s, merged, head.b);
  }
  return tombola__term_intern(s, (struct tombola__term){.kind = TOMBOLA__TERM_CONCAT, .a = a, .b = b});
}

tombola__lang tombola__lang_concat(struct tombola__store *s, tombola__lang a, tombola__lang b) {
  if (s->status || dead(s, a) || dead(s, b)) return NONE;
  struct tombola__vector *const v = &tombola__terms(s)->scratch;
  const size_t base = v->n;
  while (tombola__term(s, a)->kind == TOMBOLA__TERM_CONCAT) {
    if (!tombola__push(s, tombola__term(s, a)->a)) break;
    a = tombola__term(s, a)->b;
  }
  b = concat(s, a, b);
  while (v->n > base)
    b = concat(s, v->at[--v->n], b);
  return s->status ? NONE : b;
}

/* ---- repetition ---- */

/* (a{p,q}){m,n} where that is a{pm,qn}: no number of times is missing in between. */
static bool flatten(struct tombola__store *s, tombola__lang a, uint32_t min, uint32_t max,
                    tombola__lang *out) {
  const struct tombola__term t = *tombola__term(s, a);
  if (t.kind != TOMBOLA__TERM_REPEAT) return false;
  const uint64_t p = t.min, q = t.max, m = min;
  const bool gap = min != max && q != UNBOUNDED && p > 1 && (m + 1) * p > m * q + 1;
  if (gap || (q == UNBOUNDED && !m && p > 1)) return false;
  const bool endless = q == UNBOUNDED || max == UNBOUNDED;
  const uint64_t lo = p * m, hi = endless ? 0 : q * max;
  if (lo >= TOMBOLA__FINITE || hi >= TOMBOLA__FINITE) return false;
  *out = tombola__lang_repeat(s, t.a, (uint32_t)lo, endless ? UNBOUNDED : (uint32_t)hi);
  return true;
}

tombola__lang tombola__lang_repeat(struct tombola__store *s, tombola__lang a, uint32_t min, uint32_t max) {
  if (s->status || min > max) return NONE;
  if (dead(s, a)) return min ? NONE : EMPTY;
  if (!max || a == EMPTY) return EMPTY;
  if (a == ALL) return ALL;
  if (min == 1 && max == 1) return a;
  if (tombola__nullable(s, a)) min = 0;
  if (!min && max == 1 && tombola__nullable(s, a)) return a;
  tombola__lang flat;
  if (flatten(s, a, min, max, &flat)) return flat;
  return tombola__term_intern(
      s, (struct tombola__term){.kind = TOMBOLA__TERM_REPEAT, .a = a, .min = min, .max = max});
}

tombola__lang tombola__lang_length(struct tombola__store *s, uint32_t min, uint32_t max) {
  return tombola__lang_repeat(s, tombola__lang_any(s), min, max);
}

/* ---- complement ---- */

tombola__lang tombola__lang_not(struct tombola__store *s, tombola__lang a) {
  if (s->status) return NONE;
  if (dead(s, a)) return ALL;
  if (a == ALL) return NONE;
  if (a == EMPTY) return tombola__lang_length(s, 1, UNBOUNDED);
  const struct tombola__term t = *tombola__term(s, a);
  if (t.kind == TOMBOLA__TERM_NOT) return t.a;
  if (tombola__is_length(s, a)) { /* shorter, or longer */
    const tombola__lang shorter = t.min ? tombola__lang_length(s, 0, t.min - 1) : NONE;
    const tombola__lang longer =
        t.max < TOMBOLA__FINITE ? tombola__lang_length(s, t.max + 1, UNBOUNDED) : NONE;
    return tombola__lang_or(s, shorter, longer);
  }
  return tombola__term_intern(s, (struct tombola__term){.kind = TOMBOLA__TERM_NOT, .a = a});
}

/* ---- texts ---- */

static tombola__lang letter(struct tombola__store *s, uint32_t code_point) {
  struct tombola__terms *const terms = tombola__terms(s);
  if (code_point < 128 && terms->byte[code_point]) return terms->byte[code_point] - 1;
  const struct tombola__range range = {code_point, code_point};
  const tombola__lang a = tombola__lang_set(s, &range, 1);
  if (code_point < 128 && !s->status) terms->byte[code_point] = a + 1;
  return a;
}

tombola__lang tombola__lang_text(struct tombola__store *s, const char *text, size_t length) {
  tombola__lang a = EMPTY;
  while (length && !s->status) { /* from its end */
    size_t start = length - 1, at;
    while (start && ((unsigned char)text[start] & 0xC0) == 0x80)
      start--;
    at = start;
    a = concat(s, letter(s, tombola__utf8_decode(text, length, &at)), a);
    length = start;
  }
  return s->status ? NONE : a;
}

/* A trie of sorted texts, whose nodes are made from the leaves up: equal ends are one term by interning. A node is open
 * while texts may still go through it. */
struct node {
  size_t base;  /* its pairs (code point, what follows) on the stack of lists */
  uint32_t via; /* the code point that leads to it */
  bool accepts;
};

static int by_bytes(const void *a, const void *b) {
  const struct tombola_bytes *const x = a, *const y = b;
  const size_t n = x->length < y->length ? x->length : y->length;
  const int order = n ? memcmp(x->data, y->data, n) : 0;
  return order ? order : (x->length > y->length) - (x->length < y->length);
}

/* Closes the node: the pairs become a term. */
static tombola__lang close_node(struct tombola__store *s, const struct node *node) {
  struct tombola__vector *const v = &tombola__terms(s)->scratch;
  for (size_t i = node->base; i < v->n && !s->status; i += 2)
    v->at[i] = tombola__term(s, letter(s, v->at[i]))->a;
  if (s->status) return NONE;
  const tombola__lang choice = tombola__term_choice(s, node->base);
  return node->accepts ? tombola__lang_or(s, EMPTY, choice) : choice;
}

/* Closes the nodes deeper than `depth`. */
static size_t close_nodes(struct tombola__store *s, const struct node *nodes, size_t n, size_t depth) {
  while (n > depth + 1 && !s->status) {
    const tombola__lang rest = close_node(s, &nodes[--n]);
    tombola__push(s, nodes[n].via);
    tombola__push(s, rest);
  }
  return n;
}

/* The bytes that a whole number of code points of both share. */
static size_t shared(const struct tombola_bytes *a, const struct tombola_bytes *b) {
  size_t n = 0;
  while (n < a->length && n < b->length && a->data[n] == b->data[n])
    n++;
  while (n && n < b->length && ((unsigned char)b->data[n] & 0xC0) == 0x80)
    n--;
  return n;
}

static size_t count_points(const char *text, size_t length) {
  size_t n = 0;
  for (size_t i = 0; i < length; i++)
    n += ((unsigned char)text[i] & 0xC0) != 0x80;
  return n;
}

/* `nodes` has room for one more than the longest text has code points. */
static tombola__lang trie(struct tombola__store *s, const struct tombola_bytes *sorted, size_t n,
                          struct node *nodes) {
  struct tombola__vector *const v = &tombola__terms(s)->scratch;
  size_t open = 1;
  nodes[0] = (struct node){.base = v->n};
  for (size_t i = 0; i < n && !s->status; i++) {
    size_t at = i ? shared(&sorted[i - 1], &sorted[i]) : 0;
    open = close_nodes(s, nodes, open, count_points(sorted[i].data, at));
    if (s->status) break; /* nodes are still open */
    while (at < sorted[i].length) {
      const uint32_t c = tombola__utf8_decode(sorted[i].data, sorted[i].length, &at);
      nodes[open++] = (struct node){.base = v->n, .via = c};
    }
    nodes[open - 1].accepts = true;
  }
  close_nodes(s, nodes, open, 0);
  const tombola__lang result = s->status ? NONE : close_node(s, nodes);
  return s->status ? NONE : result;
}

tombola__lang tombola__lang_texts(struct tombola__store *s, const struct tombola_bytes *texts, size_t n) {
  if (s->status || !n) return NONE;
  const size_t base = tombola__terms(s)->scratch.n;
  size_t longest = 0;
  for (size_t i = 0; i < n; i++)
    if (texts[i].length > longest) longest = texts[i].length;
  struct tombola_bytes *const sorted = tombola__new(&s->allocator, n, sizeof *sorted);
  struct node *const nodes = tombola__new(&s->allocator, longest + 1, sizeof *nodes);
  tombola__lang result = NONE;
  if (sorted && nodes) {
    memcpy(sorted, texts, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_bytes);
    result = trie(s, sorted, n, nodes);
  } else {
    tombola__store_fail(s, TOMBOLA_NO_MEMORY, NULL, "out of memory");
  }
  tombola__terms(s)->scratch.n = base;
  tombola__free(&s->allocator, nodes);
  tombola__free(&s->allocator, sorted);
  return result;
}
