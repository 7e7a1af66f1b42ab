/* SPDX-License-Identifier: Apache-2.0 */
/* How many texts a language has, and which. Over states, where each text is one path; every state that can be reached
 * has texts, so that a cycle means that there is no end of them. */
#include <string.h>

#include "constraint/code_point.h"
#include "constraint/lang/lang_terms.h"

#define NONE TOMBOLA__LANG_NONE

/* A walk in depth: the states on the way, each with the range that comes next. */
struct step {
  tombola__lang lang;
  struct tombola__lang_state *state;
  uint32_t range;  /* of its partition */
  uint32_t letter; /* enumerating: of that range */
  uint64_t least;  /* counting: texts that branch off on the way to it, at least */
};

struct walk {
  struct step *steps;
  size_t n, room;
};

static struct step *enter(struct tombola__store *s, struct walk *w, tombola__lang a) {
  void *steps = w->steps;
  struct tombola__lang_state *const state = tombola__lang_state(s, a);
  if (!state) return NULL;
  const bool done = tombola__terms_room(s, &steps, w->n, &w->room, sizeof *w->steps);
  w->steps = steps;
  if (!done) return NULL;
  struct step *const step = &w->steps[w->n++];
  *step = (struct step){.lang = a, .state = state};
  return step;
}

static void walk_free(struct tombola__store *s, struct walk *w) {
  tombola__store_count(s, -(ptrdiff_t)(w->room * sizeof *w->steps));
  tombola__free(&s->allocator, w->steps);
}

/* Texts that begin in a state and don't go on with one letter: those that leave the way there. */
static uint64_t branches(struct tombola__store *s, const struct step *step) {
  const struct tombola__partition *const p = step->state->partition;
  uint64_t n = step->state->table.accepts;
  for (uint32_t i = 0; i < p->n && !s->status; i++)
    if (tombola__lang_next(s, step->state, step->lang, p->class_at[i]) != NONE)
      n += tombola__partition_end(p, i) - p->start[i] + 1;
  return n ? n - 1 : 0;
}

/* The count of a state whose successors are counted. */
static uint64_t total(struct tombola__store *s, const struct step *step, uint64_t most) {
  const struct tombola__partition *const p = step->state->partition;
  uint64_t n = step->state->table.accepts;
  for (uint32_t i = 0; i < p->n && n < most; i++) {
    const tombola__lang next = tombola__lang_next(s, step->state, step->lang, p->class_at[i]);
    if (next == NONE || s->status) continue;
    const uint64_t each = tombola__lang_state_of(s, next)->count;
    const uint64_t letters = tombola__partition_end(p, i) - p->start[i] + 1;
    n = each && letters > (most - n) / each ? most : n + letters * each;
  }
  return n < most ? n : most;
}

/* What is known of a state: exact, or enough. */
static bool counted(const struct tombola__lang_state *state, uint64_t most) {
  return state->exact || state->count >= most;
}

/* Counts what follows the last step, one successor at a time. False: it goes round, or there are enough. */
static bool count_on(struct tombola__store *s, struct walk *w, uint64_t most) {
  struct step *const top = &w->steps[w->n - 1];
  const struct tombola__partition *const p = top->state->partition;
  while (top->range < p->n) {
    const tombola__lang next = tombola__lang_next(s, top->state, top->lang, p->class_at[top->range++]);
    if (s->status) return false;
    if (next == NONE) continue;
    struct tombola__lang_state *const state = tombola__lang_state(s, next);
    if (!state || state->open) return false;
    if (counted(state, most)) continue;
    const uint64_t least = top->least;
    struct step *const step = enter(s, w, next);
    if (!step) return false;
    step->state->open = true;
    step->least = least + branches(s, step);
    return step->least < most && !s->status;
  }
  top->state->count = total(s, top, most);
  top->state->exact = top->state->count < most;
  top->state->open = false;
  w->n--;
  return true;
}

uint64_t tombola__lang_count(struct tombola__store *s, tombola__lang a, uint64_t most) {
  if (tombola__lang_is_none(s, a) || s->status) return 0;
  if (tombola__term(s, a)->flags & TOMBOLA__CONTIGUOUS) { /* one of every length, at least */
    const struct tombola__term *const t = tombola__term(s, a);
    if (t->longest == TOMBOLA__LANG_UNBOUNDED || (uint64_t)t->longest - t->shortest + 1 >= most) return most;
  }
  struct tombola__lang_state *const state = tombola__lang_state(s, a);
  if (!state || counted(state, most)) return !state ? 0 : state->count < most ? state->count : most;
  struct walk w = {0};
  struct step *const first = enter(s, &w, a);
  if (first) {
    state->open = true;
    first->least = branches(s, first);
  }
  bool goes_on = first && first->least < most;
  while (goes_on && w.n)
    goes_on = count_on(s, &w, most);
  for (size_t i = 0; i < w.n; i++)
    w.steps[i].state->open = false;
  if (!goes_on && !s->status && state->count < most) state->count = most;
  walk_free(s, &w);
  return s->status ? 0 : state->count < most ? state->count : most;
}

/* ---- which ---- */

struct text {
  char *bytes;
  size_t length, room;
};

static bool append(struct tombola__store *s, struct text *t, uint32_t code_point) {
  void *bytes = t->bytes;
  const bool done = tombola__terms_room(s, &bytes, t->length + 4, &t->room, 1);
  t->bytes = bytes;
  if (!done) return false;
  t->length += tombola__utf8_write(code_point, t->bytes + t->length);
  return true;
}

/* The next letter of the last step that something follows; false: there is none. */
static bool next_letter(struct tombola__store *s, struct step *top, uint32_t *letter, tombola__lang *next) {
  const struct tombola__partition *const p = top->state->partition;
  for (; top->range < p->n; top->range++, top->letter = 0) {
    *next = tombola__lang_next(s, top->state, top->lang, p->class_at[top->range]);
    const uint32_t lo = p->start[top->range] + top->letter;
    if (*next == NONE || lo > tombola__partition_end(p, top->range)) continue;
    top->letter++;
    *letter = lo;
    return true;
  }
  return false;
}

/* Counting has made the states, so that nothing is visited when there are too many. */
bool tombola__lang_enumerate(struct tombola__store *s, tombola__lang a, size_t most,
                             void (*visit)(void *context, const char *text, size_t length), void *context) {
  if (tombola__lang_count(s, a, (uint64_t)most + 1) > most || s->status) return false;
  if (tombola__lang_is_none(s, a)) return !s->status;
  struct walk w = {0};
  struct text text = {0};
  struct step *top = enter(s, &w, a);
  if (top && top->state->table.accepts) visit(context, "", 0);
  while (top && w.n && !s->status) {
    uint32_t letter;
    tombola__lang next;
    if (!next_letter(s, &w.steps[w.n - 1], &letter, &next)) {
      w.n--;
      while (text.length && ((unsigned char)text.bytes[--text.length] & 0xC0) == 0x80) {
      }
      continue;
    }
    if (!append(s, &text, tombola__code_point(letter)) || !(top = enter(s, &w, next))) break;
    if (top->state->table.accepts) visit(context, text.bytes, text.length);
  }
  walk_free(s, &w);
  tombola__store_count(s, -(ptrdiff_t)text.room);
  tombola__free(&s->allocator, text.bytes);
  return !s->status;
}
