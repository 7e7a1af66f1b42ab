/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the languages share: terms, sets of code points, partitions of the alphabet, states.
 *
 * Code points are numbered without the surrogates here ("letters", 0 to TOMBOLA__LAST_LETTER), so that the alphabet has
 * no hole and a complement is one. */
#ifndef TOMBOLA_LANG_TERMS_H
#define TOMBOLA_LANG_TERMS_H

#include "constraint/lang/lang.h"

#define TOMBOLA__LAST_LETTER 0x10F7FFu
#define TOMBOLA__FINITE \
  (UINT32_MAX - 1) /* the largest length that isn't UNBOUNDED: also all that is longer */

enum tombola__term_kind {
  TOMBOLA__TERM_NONE,
  TOMBOLA__TERM_EMPTY,
  TOMBOLA__TERM_SET,    /* a: a set */
  TOMBOLA__TERM_CONCAT, /* a b; a is no CONCAT */
  TOMBOLA__TERM_CHOICE, /* b pairs of a set and what follows it; the sets are disjoint, ascending by first letter */
  TOMBOLA__TERM_OR,    /* b terms, ascending, none of them an OR */
  TOMBOLA__TERM_AND,   /* b terms, ascending, none of them an AND */
  TOMBOLA__TERM_NOT,   /* a */
  TOMBOLA__TERM_REPEAT /* a, min to max times */
};

enum {
  TOMBOLA__NULLABLE = 1,
  TOMBOLA__LIVE = 2,        /* surely not empty */
  TOMBOLA__DEAD = 4,        /* surely empty */
  TOMBOLA__ATTAINED = 8,    /* some text is as short as `shortest` */
  TOMBOLA__CONTIGUOUS = 16, /* there are texts of every length from shortest to longest */
  TOMBOLA__SOUGHT = 32      /* the shortest text was searched for */
};

struct tombola__term {
  uint8_t kind, flags;
  uint8_t steps; /* that were made without a table */
  uint32_t a, b, min, max;
  const uint32_t *list;
  uint32_t shortest, longest; /* bounds of the lengths; longest may be UNBOUNDED */
  uint32_t partition;         /* + 1; 0: not asked yet */
  uint32_t hash;
};

struct tombola__letters {
  uint32_t n, hash;
  const struct tombola__range *ranges; /* ascending, with gaps between them */
  uint32_t ascii[4];
  uint32_t partition; /* + 1 */
};

/* The alphabet cut into ranges, and those into classes whose letters nobody has to tell apart. */
struct tombola__partition {
  uint32_t n, n_classes, hash;
  const uint32_t *start;    /* n: first letters of the ranges, start[0] == 0 */
  const uint32_t *class_at; /* n: class of each; numbered in the order in which they come */
  uint32_t *sample;         /* by class: a letter of it */
  uint8_t ascii[128];
};

struct tombola__meet {
  uint32_t a, b, result, hash;
};

/* A state: a term that was stepped. */
struct tombola__lang_state {
  struct tombola__lang_table table; /* its next: NONE where the target is dead */
  const struct tombola__partition *partition;
  uint32_t *next, *raw; /* by class; raw: as derived, or UNKNOWN */
  uint64_t count;       /* of texts: at least */
  bool exact;           /* count is exact */
  bool open;            /* counting: on the way */
  bool has_reach;
  uint32_t mark; /* looking for the reach: place in the list + 1 */
  uint32_t
      reach; /* from every state that can be reached, a text of at most so many letters remains; or UNBOUNDED */
  const struct tombola__freedom *freedom;
};

struct tombola__index {
  uint32_t *slots; /* an element's number + 1 */
  size_t room, n;
};

struct tombola__vector {
  uint32_t *at;
  size_t n, room;
};

struct tombola__terms {
  struct tombola__term *terms;
  size_t n_terms, room_terms, room_tables;
  struct tombola__letters *sets;
  size_t n_sets, room_sets;
  struct tombola__partition **partitions;
  size_t n_partitions, room_partitions;
  struct tombola__meet *meets;
  size_t n_meets, room_meets;
  struct tombola__index term_index, set_index, partition_index, meet_index;
  struct tombola__vector scratch; /* a stack of lists being made */
  uint32_t depth;                 /* of what is recursive */
  uint32_t splits;                /* that merging choices may still do */
  tombola__lang any, byte[128];   /* byte: + 1, once made */
};

static inline struct tombola__terms *tombola__terms(const struct tombola__store *s) {
  return s->langs->terms;
}

static inline struct tombola__term *tombola__term(const struct tombola__store *s, tombola__lang a) {
  return &s->langs->terms->terms[a];
}

static inline bool tombola__nullable(const struct tombola__store *s, tombola__lang a) {
  return tombola__term(s, a)->flags & TOMBOLA__NULLABLE;
}

/* REPEAT of any letter: a bound of the length. */
static inline bool tombola__is_length(const struct tombola__store *s, tombola__lang a) {
  const struct tombola__term *const t = tombola__term(s, a);
  return t->kind == TOMBOLA__TERM_REPEAT && t->a == s->langs->terms->any;
}

static inline uint32_t tombola__length_sum(uint32_t a, uint32_t b) {
  if (a == TOMBOLA__LANG_UNBOUNDED || b == TOMBOLA__LANG_UNBOUNDED) return TOMBOLA__LANG_UNBOUNDED;
  return a > TOMBOLA__FINITE - b ? TOMBOLA__FINITE : a + b;
}

/* ---- lang_terms.c: memory, interning ---- */

/* Room for one more element of `*array`; false after a failure. */
bool tombola__terms_room(struct tombola__store *s, void **array, size_t n, size_t *room, size_t size);

/* Pushes on the stack of lists; false after a failure. */
bool tombola__push(struct tombola__store *s, uint32_t value);

/* The slot of the index where an element with this hash is, or belongs: `same` tells. NULL after a failure. */
typedef bool (*tombola__same_fn)(const struct tombola__terms *terms, uint32_t element, const void *what);
typedef uint32_t (*tombola__hash_fn)(const struct tombola__terms *terms, uint32_t element);
uint32_t *tombola__index_slot(struct tombola__store *s, struct tombola__index *index, uint32_t hash,
                              tombola__same_fn same, const void *what, tombola__hash_fn hash_of);

/* The term with these kind, a, b, min, max and list; made when it is new. The list is copied. */
tombola__lang tombola__term_intern(struct tombola__store *s, struct tombola__term term);
/* Its flags and bounds; lang_lengths.c. */
void tombola__term_measure(const struct tombola__store *s, struct tombola__term *t);

/* ---- lang_letters.c: sets and partitions ---- */

/* Interned; ranges are sorted, joined, and copied. */
uint32_t tombola__letters(struct tombola__store *s, struct tombola__range *ranges, size_t n);
bool tombola__letters_have(const struct tombola__letters *set, uint32_t letter);
bool tombola__letters_meet(const struct tombola__letters *a, const struct tombola__letters *b);
enum tombola__letters_op { TOMBOLA__LETTERS_OR, TOMBOLA__LETTERS_AND, TOMBOLA__LETTERS_MINUS };
/* UINT32_MAX: empty, or a failure. */
uint32_t tombola__letters_op(struct tombola__store *s, enum tombola__letters_op op, uint32_t a, uint32_t b);

/* Numbers of partitions; UINT32_MAX after a failure. */
uint32_t tombola__partition_of_set(struct tombola__store *s, uint32_t set);
uint32_t tombola__partition_of_choice(struct tombola__store *s, const uint32_t *pairs, size_t n);
uint32_t tombola__partition_meet(struct tombola__store *s, uint32_t a, uint32_t b);
uint32_t tombola__partition_class(const struct tombola__partition *p, uint32_t letter);

/* ---- lang.c, lang_sums.c ---- */

tombola__lang tombola__term_of_set(struct tombola__store *s, uint32_t set); /* UINT32_MAX: NONE */
/* Of the terms on the stack of lists from `base` on, which are taken off. */
tombola__lang tombola__term_or(struct tombola__store *s, size_t base);
tombola__lang tombola__term_and(struct tombola__store *s, size_t base);
/* Of the pairs (set, what follows) on the stack from `base` on, whose sets are disjoint; they are taken off. */
tombola__lang tombola__term_choice(struct tombola__store *s, size_t base);

/* ---- lang_step.c ---- */

/* The state of a term; NULL after a failure. */
struct tombola__lang_state *tombola__lang_state(struct tombola__store *s, tombola__lang a);
/* The derivative by a class; not looked at whether it is empty. NONE after a failure. */
tombola__lang tombola__lang_raw(struct tombola__store *s, struct tombola__lang_state *state, tombola__lang a,
                                uint32_t class_index);
/* The same, NONE when it is empty. */
tombola__lang tombola__lang_next(struct tombola__store *s, struct tombola__lang_state *state, tombola__lang a,
                                 uint32_t class_index);

/* The last letter of the i-th range. */
static inline uint32_t tombola__partition_end(const struct tombola__partition *p, uint32_t i) {
  return i + 1 < p->n ? p->start[i + 1] - 1 : TOMBOLA__LAST_LETTER;
}

/* The state of a term that has a table. */
static inline struct tombola__lang_state *tombola__lang_state_of(const struct tombola__store *s,
                                                                 tombola__lang a) {
  return (void *)s->langs->table[a]; /* its first member */
}

static inline uint32_t tombola__letter(uint32_t code_point) {
  return code_point < 0xD800 ? code_point : code_point - 0x800;
}
static inline uint32_t tombola__code_point(uint32_t letter) {
  return letter < 0xD800 ? letter : letter + 0x800;
}

/* The code point at *at, which moves behind it; the text is well-formed (otherwise the answer is any number). */
static inline uint32_t tombola__utf8_decode(const char *text, size_t length, size_t *at) {
  const unsigned char first = (unsigned char)text[(*at)++];
  size_t more = first < 0xC0 ? 0 : first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
  uint32_t c = more == 0 ? first : first & (0x3Fu >> more);
  for (; more && *at < length; more--)
    c = c << 6 | ((unsigned char)text[(*at)++] & 0x3Fu);
  return c;
}

/* Counts the depth of a recursion: false, and a failure, when it is too deep. */
bool tombola__terms_enter(struct tombola__store *s);
static inline void tombola__terms_leave(struct tombola__store *s) {
  s->langs->terms->depth--;
}

#endif
