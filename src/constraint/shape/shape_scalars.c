/* SPDX-License-Identifier: Apache-2.0 */
/* What a formula says of scalars: one language and one set of numbers, by their algebra. */
#include "constraint/shape/shape_parts.h"

static const struct tombola__scalars every = {TOMBOLA__NULL | TOMBOLA__BOOLEAN, TOMBOLA__LANG_ALL,
                                              TOMBOLA__NUMBERS_ALL};

static struct tombola__scalars both_of(struct tombola__store *s, struct tombola__scalars a,
                                       struct tombola__scalars b) {
  return (struct tombola__scalars){a.literals & b.literals, tombola__lang_and(s, a.text, b.text),
                                   tombola__numbers_and(s, a.numbers, b.numbers)};
}

static struct tombola__scalars either_of(struct tombola__store *s, struct tombola__scalars a,
                                         struct tombola__scalars b) {
  return (struct tombola__scalars){a.literals | b.literals, tombola__lang_or(s, a.text, b.text),
                                   tombola__numbers_or(s, a.numbers, b.numbers)};
}

static struct tombola__scalars neither(struct tombola__store *s, struct tombola__scalars a) {
  return (struct tombola__scalars){every.literals & ~a.literals, tombola__lang_not(s, a.text),
                                   tombola__numbers_not(s, a.numbers)};
}

static struct tombola__scalars scalars_of(struct tombola__store *s, const struct tombola__node *n) {
  struct tombola__scalars out = n->kind == TOMBOLA__AND ? every : (struct tombola__scalars){0};
  struct tombola__scalars none = every;
  switch (n->kind) {
  case TOMBOLA__AND:
    for (size_t i = 0; i < n->n_parts && !s->shapes->unknown; i++)
      out = both_of(s, out, tombola__scalars(s, n->parts[i]));
    return out;
  case TOMBOLA__OR:
    for (size_t i = 0; i < n->n_parts && !s->shapes->unknown; i++)
      out = either_of(s, out, tombola__scalars(s, n->parts[i]));
    return out;
  case TOMBOLA__ONE_OF:
    for (size_t i = 0; i < n->n_parts && !s->shapes->unknown; i++) {
      const struct tombola__scalars part = tombola__scalars(s, n->parts[i]), rest = neither(s, part);
      out = either_of(s, both_of(s, out, rest), both_of(s, none, part));
      none = both_of(s, none, rest);
    }
    return out;
  case TOMBOLA__TYPES:
    return (struct tombola__scalars){
        n->types & every.literals, n->types & TOMBOLA__STRING ? TOMBOLA__LANG_ALL : TOMBOLA__LANG_NONE,
        n->types & TOMBOLA__NUMBER ? TOMBOLA__NUMBERS_ALL : TOMBOLA__NUMBERS_NONE};
  case TOMBOLA__TEXT: return (struct tombola__scalars){every.literals, n->lang, every.numbers};
  case TOMBOLA__NUMERIC: return (struct tombola__scalars){every.literals, every.text, n->numbers};
  case TOMBOLA__LATER:
  case TOMBOLA__LENGTH:
  case TOMBOLA__ITEM:
  case TOMBOLA__ITEMS:
  case TOMBOLA__CONTAINS:
  case TOMBOLA__UNIQUE:
  case TOMBOLA__NOT_UNIQUE:
  case TOMBOLA__SIZE:
  case TOMBOLA__PROPERTY:
  case TOMBOLA__REQUIRED:
  case TOMBOLA__DEPENDS:
  case TOMBOLA__KEYS:
  case TOMBOLA__SOME_KEY: break;
  }
  return every;
}

/* Numbers without a plain text aren't there where texts must be plain. */
static struct tombola__scalars spelled(struct tombola__store *s, struct tombola__scalars a) {
  if (s->spelling == TOMBOLA_SPELLING_PLAIN)
    a.numbers = tombola__numbers_and(s, a.numbers, tombola__numbers_plain(s));
  return a;
}

struct tombola__scalars tombola__scalars(struct tombola__store *s, tombola__formula f) {
  f = tombola__resolve(s, f);
  const struct tombola__node *const n = tombola__node(s, f);
  if (n->kind > TOMBOLA__LATER) return spelled(s, scalars_of(s, n));
  struct tombola__known *const k = tombola__known(s, f);
  if (!k || s->status) return (struct tombola__scalars){0};
  if (k->has_scalars) return k->scalars;
  if (!tombola__enter(s, k, 2)) return (struct tombola__scalars){0};
  struct tombola__scalars out = spelled(s, scalars_of(s, n));
  tombola__leave(s, k, 2);
  if (out.text && tombola__lang_is_none(s, out.text)) out.text = TOMBOLA__LANG_NONE;
  if (out.numbers && tombola__numbers_is_none(s, out.numbers)) out.numbers = TOMBOLA__NUMBERS_NONE;
  if (s->status || s->shapes->unknown) return (struct tombola__scalars){0};
  k->scalars = out;
  k->has_scalars = true;
  return out;
}
