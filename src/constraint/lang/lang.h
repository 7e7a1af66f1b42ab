/* SPDX-License-Identifier: Apache-2.0 */
/* Regular languages over Unicode code points (0 to 0x10FFFF without surrogates), closed under every boolean operation.
 *
 * A language is a hash-consed term; its derivative by a code point (Brzozowski, JACM 11(4), 1964; classes of code points
 * that share one as in Owens, Reppy and Turon, JFP 19(2), 2009) is again a term, so that terms are the states of a DFA
 * that is built as it is used. Counts {m,n} stay counts. A state whose language is empty is TOMBOLA__LANG_NONE, always:
 * a step that leads to a dead end says so at once. */
#ifndef TOMBOLA_LANG_H
#define TOMBOLA_LANG_H

#include "constraint/store.h"

typedef uint32_t tombola__lang;

enum {
  TOMBOLA__LANG_NONE = 0,  /* no text */
  TOMBOLA__LANG_EMPTY = 1, /* the empty text only */
  TOMBOLA__LANG_ALL = 2    /* every text */
};

#define TOMBOLA__LANG_UNBOUNDED  UINT32_MAX
#define TOMBOLA__LAST_CODE_POINT 0x10FFFFu

/* Code points lo to hi, both included. */
struct tombola__range {
  uint32_t lo, hi;
};

struct tombola__langs *tombola__langs_new(struct tombola__store *store);
void tombola__langs_free(struct tombola__langs *langs);

/* ---- making languages; NONE after a failure of the store ---- */

/* One code point of the ranges, which may overlap and be in any order. Surrogates are left out. */
tombola__lang tombola__lang_set(struct tombola__store *s, const struct tombola__range *ranges, size_t n);
tombola__lang tombola__lang_any(struct tombola__store *s); /* one code point, any */

/* This text, or one of these (well-formed UTF-8). Many texts become a trie with shared ends: what they cost follows
 * from their bytes, not from their square. */
tombola__lang tombola__lang_text(struct tombola__store *s, const char *text, size_t length);
tombola__lang tombola__lang_texts(struct tombola__store *s, const struct tombola_bytes *texts, size_t n);

tombola__lang tombola__lang_concat(struct tombola__store *s, tombola__lang a, tombola__lang b);
tombola__lang tombola__lang_or(struct tombola__store *s, tombola__lang a, tombola__lang b);
tombola__lang tombola__lang_and(struct tombola__store *s, tombola__lang a, tombola__lang b);
tombola__lang tombola__lang_not(struct tombola__store *s, tombola__lang a);
/* min to max times (UNBOUNDED: any number). */
tombola__lang tombola__lang_repeat(struct tombola__store *s, tombola__lang a, uint32_t min, uint32_t max);
/* Texts of min to max code points. */
tombola__lang tombola__lang_length(struct tombola__store *s, uint32_t min, uint32_t max);

/* ---- asking ---- */

/* Whether no text is in it: a search over the states, remembered; may fail by a limit (then false). */
bool tombola__lang_is_none(struct tombola__store *s, tombola__lang a);
bool tombola__lang_accepts_empty(struct tombola__store *s, tombola__lang a);

/* What must follow the code point: NONE when nothing can. */
static inline tombola__lang tombola__lang_step(struct tombola__store *s, tombola__lang a,
                                               uint32_t code_point);

/* Whether some code point of lo to hi can come next. */
bool tombola__lang_can_step(struct tombola__store *s, tombola__lang a, uint32_t lo, uint32_t hi);
/* The same for one of ASCII: cheaper than _step where what follows doesn't matter. */
bool tombola__lang_can_take(struct tombola__store *s, tombola__lang a, uint8_t ascii);

/* ASCII that can come next, as bits, or more: quickly found by the term's form. */
void tombola__lang_firsts(const struct tombola__store *s, tombola__lang a, uint32_t ascii[4]);
/* The same of what can come behind this letter. */
void tombola__lang_seconds(const struct tombola__store *s, tombola__lang a, uint8_t letter,
                           uint32_t ascii[4]);

bool tombola__lang_matches(struct tombola__store *s, tombola__lang a, const char *text, size_t length);

/* How many texts are in it, at most `most`: the answer is `most` when there are as many or more. */
uint64_t tombola__lang_count(struct tombola__store *s, tombola__lang a, uint64_t most);

/* Every text of a finite language, in order of code points, when there are at most `most` of them: visit is called for
 * each (UTF-8). False when there are more; then visit wasn't called. */
bool tombola__lang_enumerate(struct tombola__store *s, tombola__lang a, size_t most,
                             void (*visit)(void *context, const char *text, size_t length), void *context);

/* What may come next whatever it is: every text of at most `length` code points of the set `ascii` (bit c of the 128)
 * and, with `others`, of code points above 127, is the beginning of a text of the language; but of spaces
 * (tombola__is_wide_space) only with `spaces`. Never too much, sometimes less than there is; `length` 0 when nothing is
 * known, UNBOUNDED for any length. */
struct tombola__freedom {
  uint32_t ascii[4];
  bool others, spaces; /* spaces: not without others */
  uint32_t length;
};
struct tombola__freedom tombola__lang_freedom(struct tombola__store *s, tombola__lang a);

/* The code points that its texts are made of, or more; `length` says nothing. */
struct tombola__freedom tombola__lang_alphabet(const struct tombola__store *s, tombola__lang a);

/* A state that behaves like this one for texts of up to `horizon` code points (both about what can be stepped and where
 * the empty text is accepted), and stands for all of its kind; `a` itself when none is known. So that .{0,9000} and
 * .{0,8999} share a mask. */
tombola__lang tombola__lang_like(struct tombola__store *s, tombola__lang a, uint32_t horizon);

/* ---- the hot path: the table of a state ---- */

/* The next states by ASCII code point, once known. next[class[c]] is UNKNOWN until asked through _step. Pointers stay
 * valid until the next call that may make states. */
#define TOMBOLA__LANG_UNKNOWN UINT32_MAX
struct tombola__lang_table {
  const uint8_t *class_of; /* 128 */
  const uint32_t *next;    /* by class */
  bool accepts;            /* the empty text */
};

struct tombola__terms;
struct tombola__langs {
  struct tombola__lang_table **table; /* by language; NULL: none yet (a step makes it) */
  struct tombola__terms *terms;       /* lang_terms.h */
  struct tombola_allocator allocator;
};

/* NULL for a state that has no table yet. */
static inline const struct tombola__lang_table *tombola__lang_table(const struct tombola__store *s,
                                                                    tombola__lang a) {
  return s->langs->table[a];
}

/* The step that may have to make something. */
tombola__lang tombola__lang_step_slow(struct tombola__store *s, tombola__lang a, uint32_t code_point);

static inline tombola__lang tombola__lang_step(struct tombola__store *s, tombola__lang a,
                                               uint32_t code_point) {
  const struct tombola__lang_table *const t = s->langs->table[a];
  if (t && code_point < 128) {
    const uint32_t next = t->next[t->class_of[code_point]];
    if (next != TOMBOLA__LANG_UNKNOWN) return next;
  }
  return tombola__lang_step_slow(s, a, code_point);
}

#endif
