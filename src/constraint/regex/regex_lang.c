/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions as languages. What looks at what is around it (anchors, word boundaries, look-ahead) is translated
 * from behind: from the language of what may follow a node to the language of what may stand where the node begins, to
 * the end of the text. So look-ahead is an intersection, and `$` leaves the empty text. What lies before matters to `^`
 * and \b only through three cases, and each has its language. */
#include <string.h>

#include "constraint/code_point.h"
#include "constraint/regex/regex.h"
#include "constraint/regex/regex_ast.h"

/* What is before the place: nothing, a character of \w, another one. */
enum { AT_START, AFTER_WORD, AFTER_OTHER, N_CASES };

struct ways {
  tombola__lang at[N_CASES];
};

typedef struct tombola__regex_parser parser;
typedef struct tombola__regex_node node;

#define MOST_STEPS  20000 /* of nodes within repeats that are written out, one for each time */
#define MOST_ROUNDS 8

struct maker {
  struct tombola__store *s;
  parser *p;
  size_t steps, repeats;     /* repeats: that are open */
  bool no_end;               /* $ is taken to hold nowhere */
  tombola__lang word, other; /* one code point of \w, or not */
};

static const struct ways all = {{TOMBOLA__LANG_ALL, TOMBOLA__LANG_ALL, TOMBOLA__LANG_ALL}};
static const struct ways empty = {{TOMBOLA__LANG_EMPTY, TOMBOLA__LANG_EMPTY, TOMBOLA__LANG_EMPTY}};
static const struct ways none = {{TOMBOLA__LANG_NONE, TOMBOLA__LANG_NONE, TOMBOLA__LANG_NONE}};

static bool same(const struct ways *a, const struct ways *b) {
  return memcmp(a->at, b->at, sizeof a->at) == 0;
}

static bool uniform(const struct ways *a) {
  return a->at[AT_START] == a->at[AFTER_WORD] && a->at[AFTER_WORD] == a->at[AFTER_OTHER];
}

/* ---- plain nodes ---- */

static tombola__lang plain(struct maker *m, node *n);

static bool single(const node *n) {
  return n->kind == TOMBOLA__REGEX_SET && n->n == 1 && n->ranges[0].lo == n->ranges[0].hi &&
         (n->ranges[0].lo & 0x1FF800) != 0xD800;
}

/* Whether the node is one text. */
static bool literal(const node *n) {
  if (n->kind != TOMBOLA__REGEX_SEQUENCE) return single(n);
  for (const node *c = n->first; c; c = c->next)
    if (!single(c)) return false;
  return true;
}

static size_t spell(const node *n, char *out) {
  if (n->kind == TOMBOLA__REGEX_SET) return tombola__utf8_write(n->ranges[0].lo, out);
  size_t length = 0;
  for (const node *c = n->first; c; c = c->next)
    length += tombola__utf8_write(c->ranges[0].lo, out + length);
  return length;
}

/* The alternatives of n when all are texts; false when they aren't. */
static bool texts(struct maker *m, const node *n, tombola__lang *out) {
  size_t characters = 0, used = 0, i = 0;
  for (const node *c = n->first; c; c = c->next) {
    if (!literal(c)) return false;
    characters += c->kind == TOMBOLA__REGEX_SET ? 1 : c->n;
  }
  struct tombola_bytes *const list = tombola__store_take(m->s, n->n, sizeof *list);
  char *const bytes = tombola__store_take(m->s, characters + 1, 4);
  *out = TOMBOLA__LANG_NONE;
  if (!list || !bytes) return true;
  for (const node *c = n->first; c; c = c->next, i++) {
    list[i] = (struct tombola_bytes){bytes + used, spell(c, bytes + used)};
    used += list[i].length;
  }
  *out = tombola__lang_texts(m->s, list, n->n);
  return true;
}

/* The union of list[0..n), which it overwrites; pairs of neighbours first, so that no term is copied often. */
static tombola__lang any_of(struct maker *m, tombola__lang *list, size_t n) {
  for (; n > 1; n = (n + 1) / 2)
    for (size_t i = 0; i < n; i += 2)
      list[i / 2] = i + 1 < n ? tombola__lang_or(m->s, list[i], list[i + 1]) : list[i];
  return n ? list[0] : TOMBOLA__LANG_NONE;
}

static tombola__lang plain_alternatives(struct maker *m, const node *n) {
  tombola__lang out;
  size_t i = 0;
  if (texts(m, n, &out)) return out;
  tombola__lang *const list = tombola__store_take(m->s, n->n, sizeof *list);
  if (!list) return TOMBOLA__LANG_NONE;
  for (node *c = n->first; c; c = c->next)
    list[i++] = plain(m, c);
  return any_of(m, list, n->n);
}

static tombola__lang plain(struct maker *m, node *n) {
  if (n->made || m->s->status) return n->lang;
  n->lang = TOMBOLA__LANG_EMPTY;
  if (single(n)) {
    char text[4];
    n->lang = tombola__lang_text(m->s, text, tombola__utf8_write(n->ranges[0].lo, text));
  } else if (n->kind == TOMBOLA__REGEX_SET)
    n->lang = tombola__lang_set(m->s, n->ranges, n->n);
  else if (n->kind == TOMBOLA__REGEX_REPEAT)
    n->lang = tombola__lang_repeat(m->s, plain(m, n->first), n->min, n->max);
  else if (n->kind == TOMBOLA__REGEX_ALTERNATIVES)
    n->lang = plain_alternatives(m, n);
  else
    for (node *c = n->last; c; c = c->previous)
      n->lang = tombola__lang_concat(m->s, plain(m, c), n->lang);
  n->made = true;
  return n->lang;
}

/* ---- by what follows ---- */

static struct ways follow(struct maker *m, node *n, struct ways k);

static tombola__lang ends_with(struct maker *m, tombola__lang last) {
  return tombola__lang_concat(m->s, TOMBOLA__LANG_ALL, last);
}

static void make_words(struct maker *m) {
  static const struct tombola__range words[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
  static const struct tombola__range others[] = {{0, '0' - 1},
                                                 {'9' + 1, 'A' - 1},
                                                 {'Z' + 1, '_' - 1},
                                                 {'_' + 1, 'a' - 1},
                                                 {'z' + 1, TOMBOLA__LAST_CODE_POINT}};
  if (m->word) return;
  m->word = tombola__lang_set(m->s, words, TOMBOLA__COUNT(words));
  m->other = tombola__lang_set(m->s, others, TOMBOLA__COUNT(others));
}

/* A plain language, then k. Its empty text leaves the case as it is, others lead to the case of their last
 * character. */
static struct ways plain_then(struct maker *m, tombola__lang lang, const struct ways *k) {
  struct ways out;
  tombola__lang more;
  if (uniform(k)) {
    more = tombola__lang_concat(m->s, lang, k->at[AT_START]);
    return (struct ways){{more, more, more}};
  }
  const bool nullable = tombola__lang_accepts_empty(m->s, lang);
  if (k->at[AFTER_WORD] == k->at[AFTER_OTHER]) {
    tombola__lang some = lang;
    if (nullable)
      some = tombola__lang_and(m->s, lang, tombola__lang_length(m->s, 1, TOMBOLA__LANG_UNBOUNDED));
    more = tombola__lang_concat(m->s, some, k->at[AFTER_WORD]);
  } else {
    make_words(m);
    const tombola__lang by_word = tombola__lang_and(m->s, lang, ends_with(m, m->word));
    const tombola__lang by_other = tombola__lang_and(m->s, lang, ends_with(m, m->other));
    more = tombola__lang_or(m->s, tombola__lang_concat(m->s, by_word, k->at[AFTER_WORD]),
                            tombola__lang_concat(m->s, by_other, k->at[AFTER_OTHER]));
  }
  for (int i = 0; i < N_CASES; i++)
    out.at[i] = nullable ? tombola__lang_or(m->s, more, k->at[i]) : more;
  return out;
}

static struct ways unite(struct maker *m, const struct ways *a, const struct ways *b) {
  struct ways out;
  for (int i = 0; i < N_CASES; i++)
    out.at[i] = tombola__lang_or(m->s, a->at[i], b->at[i]);
  return out;
}

static struct ways intersect(struct maker *m, const struct ways *a, const struct ways *b) {
  struct ways out;
  for (int i = 0; i < N_CASES; i++)
    out.at[i] = tombola__lang_and(m->s, a->at[i], b->at[i]);
  return out;
}

/* What a look-ahead demands of the rest of the text. */
static struct ways look(struct maker *m, node *n) {
  struct ways out = follow(m, n->first, all);
  for (int i = 0; n->kind == TOMBOLA__REGEX_NOT_AHEAD && i < N_CASES; i++)
    out.at[i] = tombola__lang_not(m->s, out.at[i]);
  return out;
}

/* \b: a character of \w on exactly one side; \B: not so. */
static struct ways boundary(struct maker *m, bool wanted, const struct ways *k) {
  struct ways out;
  make_words(m);
  const tombola__lang before_word = tombola__lang_concat(m->s, m->word, TOMBOLA__LANG_ALL);
  const tombola__lang elsewhere = tombola__lang_not(m->s, before_word);
  for (int i = 0; i < N_CASES; i++) {
    const bool word_next = (i == AFTER_WORD) != wanted;
    out.at[i] = tombola__lang_and(m->s, word_next ? before_word : elsewhere, k->at[i]);
  }
  return out;
}

static struct ways refuse(struct maker *m, const node *n, const char *what) {
  tombola__regex_error(m->p, TOMBOLA_UNSUPPORTED, n->offset, "%s", what);
  return none;
}

/* (?!x)c, repeated to the end of the text, with any look-aheads and a set c: every rest of the text that isn't empty is
 * one that the look-aheads allow. False when n isn't of that form. */
static bool guarded(struct maker *m, const node *n, const struct ways *k, struct ways *out) {
  node *const body = n->first, *const last = body->last;
  struct ways allowed = all;
  if (body->kind != TOMBOLA__REGEX_SEQUENCE || last->kind != TOMBOLA__REGEX_SET || !same(k, &empty))
    return false;
  for (node *c = body->first; c != last; c = c->next) {
    if (c->kind != TOMBOLA__REGEX_AHEAD && c->kind != TOMBOLA__REGEX_NOT_AHEAD) return false;
    const struct ways one = look(m, c);
    allowed = intersect(m, &allowed, &one);
  }
  if (!uniform(&allowed)) return false;
  struct tombola__store *const s = m->s;
  const tombola__lang refused = tombola__lang_and(s, tombola__lang_not(s, allowed.at[AT_START]),
                                                  tombola__lang_length(s, 1, TOMBOLA__LANG_UNBOUNDED));
  const tombola__lang some_rest = tombola__lang_concat(s, TOMBOLA__LANG_ALL, refused);
  const tombola__lang lang = tombola__lang_and(s, tombola__lang_repeat(s, plain(m, last), n->min, n->max),
                                               tombola__lang_not(s, some_rest));
  *out = (struct ways){{lang, lang, lang}};
  return true;
}

/* Whether nothing but ^ and $ in it looks at what is around it. */
static bool only_anchors(const node *n) {
  if (n->plain || n->kind == TOMBOLA__REGEX_START || n->kind == TOMBOLA__REGEX_END) return true;
  if (n->kind != TOMBOLA__REGEX_SEQUENCE && n->kind != TOMBOLA__REGEX_ALTERNATIVES &&
      n->kind != TOMBOLA__REGEX_REPEAT)
    return false;
  for (const node *c = n->first; c; c = c->next)
    if (!only_anchors(c)) return false;
  return true;
}

/* The body any number of times, then k, where only anchors look around. A round that goes through $ has nothing behind
 * it, so it is the last one that takes a character; one that goes through ^ has nothing before it, so it is the first.
 * In between are rounds through neither, a plain language. */
static struct ways anchored(struct maker *m, node *body, const struct ways *k) {
  const bool no_end = m->no_end;
  struct ways last = intersect(m, k, &empty), more, first;
  last = follow(m, body, last);
  last = unite(m, k, &last);
  m->no_end = true;
  const tombola__lang between = follow(m, body, empty).at[AFTER_OTHER]; /* where ^ doesn't hold */
  more = plain_then(m, tombola__lang_repeat(m->s, between, 0, TOMBOLA__LANG_UNBOUNDED), &last);
  first = follow(m, body, more);
  more.at[AT_START] = tombola__lang_or(m->s, first.at[AT_START], last.at[AT_START]);
  m->no_end = no_end;
  return more;
}

/* The body any number of times, then k: the least solution of x = k or body x. That is what the rounds lead to when they
 * come to rest, since body x only grows with x. */
static struct ways endless(struct maker *m, const node *n, const struct ways *k) {
  struct ways now = *k, next;
  if (only_anchors(n->first)) return anchored(m, n->first, k);
  for (int i = 0; i < MOST_ROUNDS && !m->p->status && !m->s->status; i++, now = next) {
    next = follow(m, n->first, now);
    next = unite(m, k, &next);
    if (same(&next, &now)) return now;
  }
  return refuse(m, n, "look-ahead or \\b in a group that repeats without end isn't supported");
}

/* The body as often as n says, from behind. */
static struct ways written_out(struct maker *m, const node *n, const struct ways *k) {
  const bool bounded = n->max != TOMBOLA__REGEX_UNBOUNDED;
  const uint32_t optional = bounded ? n->max - n->min : 0;
  struct ways now = bounded ? *k : endless(m, n, k), next;
  uint32_t i;
  for (i = 0; i < optional && !m->p->status && !m->s->status; i++, now = next) {
    next = follow(m, n->first, now);
    next = unite(m, k, &next);
    if (same(&next, &now)) break;
  }
  for (i = 0; i < n->min && !m->p->status && !m->s->status; i++, now = next) {
    next = follow(m, n->first, now);
    if (same(&next, &now)) break;
  }
  return now;
}

static struct ways repeat(struct maker *m, const node *n, const struct ways *k) {
  struct ways out;
  if (guarded(m, n, k, &out)) return out;
  m->repeats++;
  out = written_out(m, n, k);
  m->repeats--;
  return out;
}

static struct ways alternatives(struct maker *m, const node *n, const struct ways *k) {
  tombola__lang *lists[N_CASES];
  struct ways out = none;
  size_t at = 0;
  for (int i = 0; i < N_CASES; i++)
    if (!(lists[i] = tombola__store_take(m->s, n->n, sizeof *lists[i]))) return none;
  for (node *c = n->first; c; c = c->next, at++) {
    const struct ways one = follow(m, c, *k);
    for (int i = 0; i < N_CASES; i++)
      lists[i][at] = one.at[i];
  }
  for (int i = 0; i < N_CASES; i++)
    out.at[i] = any_of(m, lists[i], n->n);
  return out;
}

/* What may stand where n begins, when k are the ways to go on behind it. */
static struct ways follow(struct maker *m, node *n, struct ways k) {
  struct ways other;
  if (m->p->status || m->s->status) return none;
  if (n->plain) return plain_then(m, plain(m, n), &k);
  if (m->repeats && ++m->steps > MOST_STEPS)
    return refuse(m, n, "look-ahead, an anchor or \\b in groups that repeat too often isn't supported");
  switch (n->kind) {
  case TOMBOLA__REGEX_SEQUENCE:
    for (node *c = n->last; c; c = c->previous)
      k = follow(m, c, k);
    return k;
  case TOMBOLA__REGEX_ALTERNATIVES: return alternatives(m, n, &k);
  case TOMBOLA__REGEX_REPEAT: return repeat(m, n, &k);
  case TOMBOLA__REGEX_START: k.at[AFTER_WORD] = k.at[AFTER_OTHER] = TOMBOLA__LANG_NONE; return k;
  case TOMBOLA__REGEX_END: return m->no_end ? none : intersect(m, &k, &empty);
  case TOMBOLA__REGEX_BOUNDARY: return boundary(m, true, &k);
  case TOMBOLA__REGEX_NO_BOUNDARY: return boundary(m, false, &k);
  case TOMBOLA__REGEX_AHEAD:
  case TOMBOLA__REGEX_NOT_AHEAD: other = look(m, n); return intersect(m, &other, &k);
  case TOMBOLA__REGEX_SET: break;
  }
  return none;
}

tombola__lang tombola__regex_lang(parser *p, node *root, bool whole) {
  struct tombola__store *const s = p->store;
  struct maker m = {.s = s, .p = p};
  const struct ways ways = follow(&m, root, whole ? empty : all);
  const tombola__lang start = ways.at[AT_START];
  if (whole) return start;
  /* A match may begin further on, behind any text. */
  const tombola__lang by_word = ways.at[AFTER_WORD], by_other = ways.at[AFTER_OTHER];
  if (uniform(&ways)) return tombola__lang_concat(s, TOMBOLA__LANG_ALL, start);
  if (by_word == by_other) {
    const tombola__lang prefix = tombola__lang_length(s, 1, TOMBOLA__LANG_UNBOUNDED);
    return tombola__lang_or(s, start, tombola__lang_concat(s, prefix, by_word));
  }
  make_words(&m);
  const tombola__lang later = tombola__lang_or(s, tombola__lang_concat(s, ends_with(&m, m.word), by_word),
                                               tombola__lang_concat(s, ends_with(&m, m.other), by_other));
  return tombola__lang_or(s, start, later);
}
