/* SPDX-License-Identifier: Apache-2.0 */
/* What a term says of itself without a search: whether it has the empty text, bounds of the lengths of its texts, and
 * whether it surely has any. */
#include "constraint/lang/lang_terms.h"

#define NULLABLE   TOMBOLA__NULLABLE
#define LIVE       TOMBOLA__LIVE
#define DEAD       TOMBOLA__DEAD
#define ATTAINED   TOMBOLA__ATTAINED
#define CONTIGUOUS TOMBOLA__CONTIGUOUS
#define UNBOUNDED  TOMBOLA__LANG_UNBOUNDED

static uint32_t times(uint32_t a, uint32_t n) {
  if (!a || !n) return 0;
  if (a == UNBOUNDED || n == UNBOUNDED) return UNBOUNDED;
  const uint64_t product = (uint64_t)a * n;
  return product > TOMBOLA__FINITE ? TOMBOLA__FINITE : (uint32_t)product;
}

static void set(struct tombola__term *t, unsigned flags, uint32_t shortest, uint32_t longest) {
  /* Where a sum was cut nothing exact is known any more. */
  if (shortest >= TOMBOLA__FINITE || longest == TOMBOLA__FINITE) flags &= ~(unsigned)(ATTAINED | CONTIGUOUS);
  t->flags = (uint8_t)flags;
  t->shortest = shortest;
  t->longest = longest;
}

static void concat(const struct tombola__store *s, struct tombola__term *t) {
  const struct tombola__term *const a = tombola__term(s, t->a), *const b = tombola__term(s, t->b);
  set(t, a->flags & b->flags & (NULLABLE | LIVE | ATTAINED | CONTIGUOUS),
      tombola__length_sum(a->shortest, b->shortest), tombola__length_sum(a->longest, b->longest));
}

static void repeat(const struct tombola__store *s, struct tombola__term *t) {
  const struct tombola__term *const a = tombola__term(s, t->a);
  unsigned flags = a->flags & (ATTAINED | LIVE | NULLABLE);
  if (!t->min) flags |= NULLABLE | LIVE | ATTAINED;
  /* k times and k + 1 times: no length is missing in between; the first k is the one to look at. */
  const uint64_t lo = a->shortest, hi = a->longest, k = t->min;
  if (a->flags & CONTIGUOUS && (k == t->max || hi == UNBOUNDED || (k + 1) * lo <= k * hi + 1))
    flags |= CONTIGUOUS;
  if (hi == UNBOUNDED && !k && lo > 1) flags &= ~(unsigned)CONTIGUOUS;
  set(t, flags, times(a->shortest, t->min), times(a->longest, t->max));
}

/* An alternative more: what is known of those before is in t. */
static void alternative(struct tombola__term *t, bool first, unsigned flags, uint32_t lo, uint32_t hi) {
  if (first) {
    set(t, flags, lo, hi);
    return;
  }
  unsigned all = (t->flags | flags) & (NULLABLE | LIVE);
  const bool apart =
      (hi != UNBOUNDED && hi + 1 < t->shortest) || (t->longest != UNBOUNDED && t->longest + 1 < lo);
  if (t->flags & flags & CONTIGUOUS && !apart) all |= CONTIGUOUS;
  if ((flags & ATTAINED && lo <= t->shortest) || (t->flags & ATTAINED && t->shortest <= lo)) all |= ATTAINED;
  set(t, all, lo < t->shortest ? lo : t->shortest, hi > t->longest ? hi : t->longest);
}

static void alternatives(const struct tombola__store *s, struct tombola__term *t) {
  const size_t step = t->kind == TOMBOLA__TERM_CHOICE ? 2 : 1;
  const uint32_t one = step == 2;
  for (size_t i = 0; i < t->b; i++) {
    const struct tombola__term *const a = tombola__term(s, t->list[step * i + step - 1]);
    alternative(t, !i, a->flags & (one ? ~(unsigned)NULLABLE : ~0u), tombola__length_sum(a->shortest, one),
                tombola__length_sum(a->longest, one));
  }
}

static void conjunction(const struct tombola__store *s, struct tombola__term *t) {
  unsigned flags = NULLABLE;
  uint32_t lo = 0, hi = UNBOUNDED;
  bool lengths = t->b == 2; /* a language and a bound of its length */
  unsigned known = ~0u;
  for (size_t i = 0; i < t->b; i++) {
    const struct tombola__term *const a = tombola__term(s, t->list[i]);
    flags &= a->flags;
    if (a->shortest > lo) lo = a->shortest;
    if (a->longest < hi) hi = a->longest;
    known &= a->flags;
  }
  lengths = lengths && (tombola__is_length(s, t->list[0]) || tombola__is_length(s, t->list[1]));
  /* The lengths of both have no gaps, so neither have those they share. */
  if (lengths && known & CONTIGUOUS && lo <= hi) flags |= CONTIGUOUS | ATTAINED | LIVE;
  if (lengths && known & ATTAINED && lo <= hi) {
    const bool second = tombola__is_length(s, t->list[1]);
    const struct tombola__term *const a = tombola__term(s, t->list[!second]);
    if (a->shortest == lo) flags |= ATTAINED | LIVE;
  }
  if (flags & NULLABLE) flags |= LIVE | ATTAINED;
  set(t, flags, lo, hi);
}

void tombola__term_measure(const struct tombola__store *s, struct tombola__term *t) {
  const unsigned all = LIVE | ATTAINED | CONTIGUOUS;
  switch ((enum tombola__term_kind)t->kind) {
  case TOMBOLA__TERM_NONE: set(t, DEAD, 0, 0); break;
  case TOMBOLA__TERM_EMPTY: set(t, all | NULLABLE, 0, 0); break;
  case TOMBOLA__TERM_SET: set(t, all, 1, 1); break;
  case TOMBOLA__TERM_CONCAT: concat(s, t); break;
  case TOMBOLA__TERM_CHOICE:
  case TOMBOLA__TERM_OR: alternatives(s, t); break;
  case TOMBOLA__TERM_AND: conjunction(s, t); break;
  case TOMBOLA__TERM_REPEAT: repeat(s, t); break;
  case TOMBOLA__TERM_NOT: {
    const struct tombola__term *const a = tombola__term(s, t->a);
    const bool nullable = !(a->flags & NULLABLE);
    const bool live = nullable || a->longest != UNBOUNDED;
    set(t, (nullable ? NULLABLE | ATTAINED : 0u) | (live ? LIVE : 0u), !nullable, UNBOUNDED);
    break;
  }
  }
}
