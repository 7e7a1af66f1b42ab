/* SPDX-License-Identifier: Apache-2.0 */
/* What may come next whatever it is, and states that are as good as each other for a while. Both go by the form of the
 * term: where nothing is known the answer is "nothing", and "itself". */
#include <string.h>

#include "constraint/code_point.h"
#include "constraint/lang/lang_terms.h"

#define NONE      TOMBOLA__LANG_NONE
#define EMPTY     TOMBOLA__LANG_EMPTY
#define ALL       TOMBOLA__LANG_ALL
#define UNBOUNDED TOMBOLA__LANG_UNBOUNDED

#define MOST_STATES 128 /* that are looked at for a reach */
#define MOST_HEADS  8   /* that are looked at for a freedom, where they can be empty */
#define MOST_DEEP   4   /* so many terms within each other at most */

/* The letters and lengths that are free, and what ends such a text: from behind each of them some text of `tail` letters
 * ends it; with `endless`, of every larger number too. */
struct free {
  struct tombola__freedom what;
  uint32_t tail;
  bool endless;
};

static const struct free everything = {
    {{UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX}, true, true, UNBOUNDED}, 0, true};

static uint32_t smaller(uint32_t a, uint32_t b) {
  return a < b ? a : b;
}

/* ---- freedom ---- */

/* How much a freedom is worth: letters, and lengths up to what tokens have. */
static uint64_t worth(const struct tombola__freedom *f) {
  uint64_t letters = (f->others ? 128u : 0u) + (f->spaces ? 1u : 0u);
  for (size_t i = 0; i < 4; i++)
    for (uint32_t bits = f->ascii[i]; bits; bits &= bits - 1)
      letters++;
  return letters * smaller(f->length, 64);
}

static struct tombola__freedom better(struct tombola__freedom a, struct tombola__freedom b) {
  return worth(&a) >= worth(&b) ? a : b;
}

/* The letters lo to hi aren't free. */
static void leave_out(struct tombola__freedom *f, uint32_t lo, uint32_t hi) {
  if (hi < 128 || lo > hi) return;
  f->spaces = false;
  for (uint32_t c = lo < 128 ? 128 : lo; f->others && c <= hi; c++)
    f->others = tombola__is_wide_space(tombola__code_point(c));
}

static struct tombola__freedom of_set(const struct tombola__store *s, uint32_t number, uint32_t length) {
  const struct tombola__letters *const set = &tombola__terms(s)->sets[number];
  struct tombola__freedom f = {.others = true, .spaces = true, .length = length};
  uint32_t end = TOMBOLA__LAST_LETTER + 1; /* of what isn't known yet */
  for (size_t i = 0; i < 4; i++)
    f.ascii[i] = set->ascii[i];
  for (size_t i = set->n; i-- > 0 && end > 128 && f.others; end = set->ranges[i].lo)
    leave_out(&f, set->ranges[i].hi + 1, end - 1);
  if (end > 128) leave_out(&f, 128, end - 1);
  return f;
}

/* Whether a letter leads from a state to itself, of those without which few tokens are free. */
static bool loops(struct tombola__store *s, struct tombola__lang_state *state, tombola__lang a) {
  static const uint32_t letters[] = {'a', 'g', 'A', 'G', TOMBOLA__LAST_LETTER};
  for (size_t i = 0; i < TOMBOLA__COUNT(letters); i++)
    if (tombola__lang_next(s, state, a, tombola__partition_class(state->partition, letters[i])) == a)
      return true;
  return false;
}

/* The letters that lead from a state to itself; length 0 when there are none that matter. */
static struct tombola__freedom of_loop(struct tombola__store *s, tombola__lang a) {
  struct tombola__freedom f = {.others = true, .spaces = true, .length = 0};
  if (tombola__term(s, a)->longest != UNBOUNDED) return f;
  struct tombola__lang_state *const state = tombola__lang_state(s, a);
  if (!state || !loops(s, state, a)) return f;
  const struct tombola__partition *const p = state->partition;
  for (uint32_t i = 0; i < p->n; i++) {
    const bool stays = tombola__lang_next(s, state, a, p->class_at[i]) == a;
    for (uint32_t c = p->start[i]; stays && c < 128 && c <= tombola__partition_end(p, i); c++)
      f.ascii[c / 32] |= UINT32_C(1) << c % 32;
    if (!stays) leave_out(&f, p->start[i], tombola__partition_end(p, i));
    if (stays) f.length = UNBOUNDED;
  }
  if (s->status) f.length = 0;
  return f;
}

/* The head of a term, if it is what a freedom can be read from, and what follows it. */
static tombola__lang head_of(const struct tombola__store *s, tombola__lang a, tombola__lang *rest) {
  const struct tombola__term *const t = tombola__term(s, a);
  *rest = t->kind == TOMBOLA__TERM_CONCAT ? t->b : EMPTY;
  return t->kind == TOMBOLA__TERM_CONCAT ? t->a : a;
}

/* A language that isn't empty, with what ends it; false when that isn't known. */
static bool open_ended(struct tombola__store *s, tombola__lang a, struct free *out) {
  tombola__lang rest;
  const tombola__lang head = head_of(s, a, &rest);
  const struct tombola__term h = *tombola__term(s, head), r = *tombola__term(s, rest);
  if (h.kind == TOMBOLA__TERM_NOT && rest == EMPTY && tombola__term(s, h.a)->longest != UNBOUNDED) {
    *out = everything; /* what is longer than the longest that is left out */
    return true;
  }
  if (!(r.flags & TOMBOLA__ATTAINED)) return false;
  if (head == ALL) {
    *out = everything;
    out->tail = r.shortest;
    return true;
  }
  if (h.kind == TOMBOLA__TERM_REPEAT && tombola__term(s, h.a)->kind == TOMBOLA__TERM_SET &&
      (h.max == UNBOUNDED || r.flags & TOMBOLA__CONTIGUOUS)) {
    *out = (struct free){of_set(s, tombola__term(s, h.a)->a, h.max), r.shortest, h.max == UNBOUNDED};
    return true;
  }
  const struct tombola__term t = *tombola__term(s, a);
  *out = (struct free){of_loop(s, a), t.shortest, true};
  return t.flags & TOMBOLA__ATTAINED && out->what.length;
}

/* Of a language, a bound of the length, and a finite number of texts that are left out: some text that is long enough to
 * be none of those, and short enough, must remain. */
static struct tombola__freedom of_and(struct tombola__store *s, const struct tombola__term *t) {
  struct tombola__freedom nothing = {.length = 0};
  uint32_t most = UNBOUNDED, longest_out = 0;
  bool leaves_out = false, has_other = false;
  struct free f = everything;
  for (size_t i = 0; i < t->b; i++) {
    const struct tombola__term m = *tombola__term(s, t->list[i]);
    if (tombola__is_length(s, t->list[i])) {
      most = m.max;
    } else if (m.kind == TOMBOLA__TERM_NOT && tombola__term(s, m.a)->longest != UNBOUNDED) {
      leaves_out = true;
      longest_out = tombola__term(s, m.a)->longest;
    } else if (has_other || !open_ended(s, t->list[i], &f)) {
      return nothing;
    } else {
      has_other = true;
    }
  }
  if (leaves_out && (!f.endless || longest_out >= most)) return nothing;
  if (most != UNBOUNDED) f.what.length = smaller(f.what.length, most > f.tail ? most - f.tail : 0);
  return f.what;
}

static struct tombola__freedom freedom(struct tombola__store *s, tombola__lang a);

/* What is free in front, and, where that can be empty, behind it; there not within much else, as terms are shared. */
static struct tombola__freedom of_concat(struct tombola__store *s, tombola__lang a) {
  tombola__lang rest;
  tombola__lang head = head_of(s, a, &rest);
  struct tombola__freedom f = freedom(s, head);
  const unsigned most = tombola__terms(s)->depth <= MOST_DEEP ? MOST_HEADS : 0;
  for (unsigned i = 0; i < most && rest != EMPTY && tombola__nullable(s, head); i++) {
    head = head_of(s, rest, &rest);
    f = better(f, freedom(s, head));
  }
  return f;
}

static struct tombola__freedom freedom(struct tombola__store *s, tombola__lang a) {
  const struct tombola__freedom nothing = {.length = 0};
  struct tombola__freedom f = nothing;
  const struct tombola__term t = *tombola__term(s, a);
  if (s->status) return nothing;
  if (a == ALL) return everything.what;
  if (!tombola__terms_enter(s)) {
    tombola__terms_leave(s);
    return nothing;
  }
  switch ((enum tombola__term_kind)t.kind) {
  case TOMBOLA__TERM_NONE:
  case TOMBOLA__TERM_EMPTY:
  case TOMBOLA__TERM_CHOICE: break;
  case TOMBOLA__TERM_SET: f = of_set(s, t.a, 1); break;
  case TOMBOLA__TERM_CONCAT: f = of_concat(s, a); break;
  case TOMBOLA__TERM_OR:
    for (size_t i = 0; i < t.b; i++)
      f = better(f, freedom(s, t.list[i]));
    break;
  case TOMBOLA__TERM_AND: f = of_and(s, &t); break;
  case TOMBOLA__TERM_NOT:
    if (tombola__term(s, t.a)->longest != UNBOUNDED) f = everything.what;
    break;
  case TOMBOLA__TERM_REPEAT:
    f = tombola__term(s, t.a)->kind == TOMBOLA__TERM_SET ? of_set(s, tombola__term(s, t.a)->a, t.max)
                                                         : freedom(s, t.a);
    break;
  }
  tombola__terms_leave(s);
  if (!f.length || tombola__lang_is_none(s, a) || s->status) return nothing; /* it may take a search: last */
  return f;
}

struct tombola__freedom tombola__lang_freedom(struct tombola__store *s, tombola__lang a) {
  const struct tombola__freedom nothing = {.length = 0};
  struct tombola__lang_state *const state = tombola__lang_state(s, a);
  if (!state) return nothing;
  if (state->freedom) return *state->freedom;
  struct tombola__freedom f = freedom(s, a);
  if (worth(&f) < worth(&everything.what) && !tombola__lang_is_none(s, a)) f = better(f, of_loop(s, a));
  struct tombola__freedom *const kept = tombola__store_take(s, 1, sizeof *kept);
  if (!kept || s->status) return nothing;
  *kept = f;
  state->freedom = kept;
  return f;
}

/* ---- letters ---- */

static struct tombola__freedom joined(struct tombola__freedom a, struct tombola__freedom b, bool both) {
  for (size_t i = 0; i < 4; i++)
    a.ascii[i] = both ? a.ascii[i] & b.ascii[i] : a.ascii[i] | b.ascii[i];
  a.others = both ? a.others && b.others : a.others || b.others;
  a.spaces = a.others;
  return a;
}

/* `budget` terms are looked at; what is beyond them may have every letter. */
static struct tombola__freedom alphabet(const struct tombola__store *s, tombola__lang a, unsigned *budget) {
  struct tombola__freedom f = {.length = 0};
  const struct tombola__term *const t = tombola__term(s, a);
  if (*budget == 0) return everything.what;
  --*budget;
  switch ((enum tombola__term_kind)t->kind) {
  case TOMBOLA__TERM_NONE:
  case TOMBOLA__TERM_EMPTY: break;
  case TOMBOLA__TERM_SET:
    memcpy(f.ascii, tombola__terms(s)->sets[t->a].ascii, sizeof f.ascii);
    f.others = tombola__terms(s)->sets[t->a].ranges[tombola__terms(s)->sets[t->a].n - 1].hi >= 128;
    f.spaces = f.others;
    break;
  case TOMBOLA__TERM_CONCAT: f = joined(alphabet(s, t->a, budget), alphabet(s, t->b, budget), false); break;
  case TOMBOLA__TERM_CHOICE: return everything.what;
  case TOMBOLA__TERM_OR:
  case TOMBOLA__TERM_AND:
    f = alphabet(s, t->list[0], budget);
    for (size_t i = 1; i < t->b; i++)
      f = joined(f, alphabet(s, t->list[i], budget), t->kind == TOMBOLA__TERM_AND);
    break;
  case TOMBOLA__TERM_NOT: return everything.what;
  case TOMBOLA__TERM_REPEAT: return alphabet(s, t->a, budget);
  }
  return f;
}

struct tombola__freedom tombola__lang_alphabet(const struct tombola__store *s, tombola__lang a) {
  unsigned budget = 64; /* no deeper than that, either */
  return alphabet(s, a, &budget);
}

/* A set of ASCII, as bits. */
struct ascii {
  uint32_t bits[4];
};

static const struct ascii every = {{UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX}};

static struct ascii with(struct ascii a, struct ascii b, bool both) {
  for (size_t i = 0; i < 4; i++)
    a.bits[i] = both ? a.bits[i] & b.bits[i] : a.bits[i] | b.bits[i];
  return a;
}

/* What comes first, or behind a letter; `budget` terms are looked at. */
struct look {
  const struct tombola__store *s;
  uint32_t letter;
  unsigned budget;
};

static struct ascii of_list(struct look *l, const struct tombola__term *t,
                            struct ascii (*of)(struct look *l, tombola__lang a)) {
  struct ascii all = of(l, t->list[0]);
  for (size_t k = 1; k < t->b; k++)
    all = with(all, of(l, t->list[k]), t->kind == TOMBOLA__TERM_AND);
  return all;
}

static struct ascii firsts(struct look *l, tombola__lang a) {
  struct ascii all = {{0}};
  const struct tombola__term *const t = tombola__term(l->s, a);
  const struct tombola__letters *const sets = tombola__terms(l->s)->sets;
  if (l->budget == 0) return every;
  l->budget--;
  switch ((enum tombola__term_kind)t->kind) {
  case TOMBOLA__TERM_NONE:
  case TOMBOLA__TERM_EMPTY: break;
  case TOMBOLA__TERM_SET: memcpy(all.bits, sets[t->a].ascii, sizeof all.bits); break;
  case TOMBOLA__TERM_CHOICE:
    for (size_t k = 0; k < t->b; k++)
      for (size_t i = 0; i < 4; i++)
        all.bits[i] |= sets[t->list[2 * k]].ascii[i];
    break;
  case TOMBOLA__TERM_CONCAT:
    all = firsts(l, t->a);
    if (tombola__nullable(l->s, t->a)) all = with(all, firsts(l, t->b), false);
    break;
  case TOMBOLA__TERM_OR:
  case TOMBOLA__TERM_AND: return of_list(l, t, firsts);
  case TOMBOLA__TERM_REPEAT: return firsts(l, t->a);
  case TOMBOLA__TERM_NOT: return every;
  }
  return all;
}

static struct ascii seconds(struct look *l, tombola__lang a) {
  struct ascii all = {{0}};
  const struct tombola__term *const t = tombola__term(l->s, a);
  const struct tombola__letters *const sets = tombola__terms(l->s)->sets;
  if (l->budget == 0) return every;
  l->budget--;
  switch ((enum tombola__term_kind)t->kind) {
  case TOMBOLA__TERM_NONE:
  case TOMBOLA__TERM_EMPTY:
  case TOMBOLA__TERM_SET: break;
  case TOMBOLA__TERM_CHOICE:
    for (size_t k = 0; k < t->b; k++)
      if (tombola__letters_have(&sets[t->list[2 * k]], l->letter))
        all = with(all, firsts(l, t->list[2 * k + 1]), false);
    break;
  case TOMBOLA__TERM_CONCAT:
    if (tombola__term(l->s, t->a)->kind != TOMBOLA__TERM_SET) return every;
    if (tombola__letters_have(&sets[tombola__term(l->s, t->a)->a], l->letter)) return firsts(l, t->b);
    break;
  case TOMBOLA__TERM_OR:
  case TOMBOLA__TERM_AND: return of_list(l, t, seconds);
  case TOMBOLA__TERM_REPEAT:
  case TOMBOLA__TERM_NOT: return every;
  }
  return all;
}

void tombola__lang_firsts(const struct tombola__store *s, tombola__lang a, uint32_t ascii[4]) {
  struct look l = {s, 0, 32};
  const struct ascii found = firsts(&l, a);
  memcpy(ascii, found.bits, sizeof found.bits);
}

void tombola__lang_seconds(const struct tombola__store *s, tombola__lang a, uint8_t letter,
                           uint32_t ascii[4]) {
  struct look l = {s, letter, 64};
  const struct ascii found = seconds(&l, a);
  memcpy(ascii, found.bits, sizeof found.bits);
}

/* ---- alike ---- */

/* The states that can be reached, marked; the list ends with NONE when there are too many. */
static size_t explore(struct tombola__store *s, tombola__lang a, tombola__lang list[MOST_STATES]) {
  size_t n = 0;
  list[n++] = a;
  struct tombola__lang_state *state = tombola__lang_state(s, a);
  if (state) state->mark = 1;
  for (size_t i = 0; i < n && state && !s->status; i++) {
    state = tombola__lang_state(s, list[i]);
    for (uint32_t c = 0; state && c < state->partition->n_classes && !s->status; c++) {
      const tombola__lang next = tombola__lang_next(s, state, list[i], c);
      struct tombola__lang_state *const to = next == NONE ? NULL : tombola__lang_state(s, next);
      if (!to || to->mark) continue;
      if (n == MOST_STATES) return n + 1;
      list[n++] = next;
      to->mark = (uint32_t)n;
    }
  }
  return n;
}

/* The largest number of letters that is needed from one of these states. */
static uint32_t farthest(const struct tombola__store *s, const tombola__lang *list, size_t n) {
  uint32_t needs[MOST_STATES], largest = 0;
  for (size_t i = 0; i < n; i++)
    needs[i] = tombola__lang_state_of(s, list[i])->table.accepts ? 0 : UNBOUNDED;
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < n; i++) {
      const struct tombola__lang_state *const state = tombola__lang_state_of(s, list[i]);
      for (uint32_t c = 0; c < state->partition->n_classes; c++) {
        if (state->next[c] == NONE) continue;
        const uint32_t by =
            tombola__length_sum(needs[tombola__lang_state_of(s, state->next[c])->mark - 1], 1);
        if (by >= needs[i]) continue;
        needs[i] = by;
        changed = true;
      }
    }
  }
  for (size_t i = 0; i < n; i++)
    if (needs[i] > largest) largest = needs[i];
  return largest;
}

/* From every state that can be reached from this one, a text of at most so many letters remains. */
static uint32_t reach(struct tombola__store *s, tombola__lang a) {
  struct tombola__lang_state *const state = tombola__lang_state(s, a);
  if (!state) return UNBOUNDED;
  if (state->has_reach) return state->reach;
  tombola__lang list[MOST_STATES];
  const size_t found = explore(s, a, list), n = found > MOST_STATES ? MOST_STATES : found;
  const uint32_t largest = found > MOST_STATES || s->status ? UNBOUNDED : farthest(s, list, n);
  for (size_t i = 0; i < n; i++) {
    if (!s->langs->table[list[i]]) continue;
    struct tombola__lang_state *const each = tombola__lang_state_of(s, list[i]);
    each->mark = 0;
    if (s->status || each->has_reach || (largest == UNBOUNDED && i)) continue;
    each->has_reach = true;
    each->reach = largest;
  }
  return largest;
}

/* a{m,n} x, counts beyond the horizon are as good as any; where m is, x isn't seen. */
static tombola__lang like_repeat(struct tombola__store *s, tombola__lang a, uint32_t horizon) {
  tombola__lang rest;
  const struct tombola__term h = *tombola__term(s, head_of(s, a, &rest));
  if (h.kind != TOMBOLA__TERM_REPEAT || tombola__term(s, h.a)->kind != TOMBOLA__TERM_SET) return a;
  if (tombola__lang_is_none(s, rest) || h.max <= horizon) return a;
  const uint32_t min = h.min > horizon ? horizon + 1 : h.min;
  return tombola__lang_concat(s, tombola__lang_repeat(s, h.a, min, UNBOUNDED),
                              h.min > horizon ? EMPTY : rest);
}

/* A bound of the length that can't be met within the horizon: what is read until then, and what ends it, is short
 * enough. */
static tombola__lang like_and(struct tombola__store *s, tombola__lang a, uint32_t horizon) {
  const struct tombola__term t = *tombola__term(s, a);
  size_t length = t.b;
  for (size_t i = 0; i < t.b; i++)
    if (tombola__is_length(s, t.list[i])) length = i;
  if (length == t.b || tombola__lang_is_none(s, a)) return a;
  const struct tombola__term bound = *tombola__term(s, t.list[length]);
  if (bound.max == UNBOUNDED || bound.max <= horizon) return a;
  const size_t base = tombola__terms(s)->scratch.n;
  for (size_t i = 0; i < t.b; i++)
    if (i != length) tombola__push(s, t.list[i]);
  const tombola__lang others = tombola__term_and(s, base);
  const uint32_t needed = tombola__length_sum(reach(s, others), bound.min > horizon ? bound.min : horizon);
  if (s->status || needed >= TOMBOLA__FINITE || bound.max < needed) return a;
  return tombola__lang_and(s, others, tombola__lang_length(s, bound.min, UNBOUNDED));
}

tombola__lang tombola__lang_like(struct tombola__store *s, tombola__lang a, uint32_t horizon) {
  if (s->status || horizon >= TOMBOLA__FINITE) return a;
  tombola__lang like = a;
  switch ((enum tombola__term_kind)tombola__term(s, a)->kind) {
  case TOMBOLA__TERM_CONCAT:
  case TOMBOLA__TERM_REPEAT: like = like_repeat(s, a, horizon); break;
  case TOMBOLA__TERM_AND: like = like_and(s, a, horizon); break;
  case TOMBOLA__TERM_NONE:
  case TOMBOLA__TERM_EMPTY:
  case TOMBOLA__TERM_SET:
  case TOMBOLA__TERM_CHOICE:
  case TOMBOLA__TERM_OR:
  case TOMBOLA__TERM_NOT: break;
  }
  return s->status ? a : like;
}
