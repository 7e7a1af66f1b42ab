/* SPDX-License-Identifier: Apache-2.0 */
/* Reading by rules. A place is an element that is a language, its state, and the bytes of a character that isn't whole
 * yet; around it is a frame for every rule that is open and has something behind it in the rule that called it (a call
 * at the end of a production needs none, so that recursion to the right takes no room).
 *
 * As soon as a language accepts what was read the places behind it are made too, so that a place never ends between two
 * bytes. A rule that may be empty is passed over by its caller and begins only with texts that aren't; so beginning
 * comes to an end, there being no left recursion. What has begun in a frame at one point of the text is noted in the
 * frame: the same again would be the same places. */
#include "rules.h"

enum { BASE, RETURN, REPEAT }; /* kinds of frames */

/* What has begun in a frame: a frame inside of it, or a rule that needs none. */
struct begun {
  struct begun *next;
  uint32_t kind, position, count; /* of the frame; BASE: the rule is `position` */
};

struct call {
  struct tombola__frame head;
  const struct tombola__rules *rules;
  uint32_t position; /* RETURN: the element that comes next. REPEAT: the one that is repeated */
  uint32_t count;    /* REPEAT: how often it was there before; no higher than min when there is no max */
  struct begun begun;

  /* Of one point of the text, `turn`. */
  uint64_t turn;
  struct begun *first;
  bool returned;
};

static void begin(struct tombola__machine *m, struct call *up, uint32_t rule);

/* A frame's notes are the only thing of it that changes. */
static struct call *call_of(const struct tombola__frame *frame) {
  return (struct call *)(uintptr_t)frame;
}

static void refresh(const struct tombola__machine *m, struct call *call) {
  const uint64_t turn = tombola__machine_turn(m);
  if (call->turn == turn) return;
  call->turn = turn;
  call->first = NULL;
  call->returned = false;
}

static bool has_begun(const struct tombola__machine *m, struct call *up, uint32_t kind, uint32_t position,
                      uint32_t count) {
  refresh(m, up);
  for (const struct begun *b = up->first; b; b = b->next)
    if (b->position == position && b->kind == kind && b->count == count) return true;
  return false;
}

static void note(struct call *up, struct begun *begun, uint32_t kind, uint32_t position, uint32_t count) {
  *begun = (struct begun){.next = up->first, .kind = kind, .position = position, .count = count};
  up->first = begun;
}

/* Begins a rule in a frame inside of `up`, unless that was done already. */
static void begin_inside(struct tombola__machine *m, struct call *up, uint32_t kind, uint32_t position,
                         uint32_t count, uint32_t rule) {
  if (has_begun(m, up, kind, position, count)) return;
  if (up->head.depth == UINT16_MAX) {
    tombola__store_fail(tombola__machine_store(m), TOMBOLA_OUT_OF_RANGE, "max_depth",
                        "rules are nested deeper than %d", UINT16_MAX);
    return;
  }
  struct call *const call = tombola__machine_take(m, sizeof *call);
  if (!call) return;
  const uint64_t place = (uint64_t)position << 32 | count;
  call->head = (struct tombola__frame){
      .up = &up->head,
      .key = {tombola__mix(up->head.key[0] + kind, place), tombola__mix(up->head.key[1] ^ place, kind)},
      .part = TOMBOLA__RULES,
      .kind = (uint8_t)kind,
      .depth = (uint16_t)(up->head.depth + 1),
  };
  call->rules = up->rules;
  call->position = position;
  call->count = count;
  note(up, &call->begun, kind, position, count);
  begin(m, call, rule);
}

/* Begins a rule in `up` itself, unless that was done already. */
static void begin_here(struct tombola__machine *m, struct call *up, uint32_t rule) {
  if (has_begun(m, up, BASE, rule, 0)) return;
  struct begun *const begun = tombola__machine_take(m, sizeof *begun);
  if (!begun) return;
  note(up, begun, BASE, rule, 0);
  begin(m, up, rule);
}

/* A call that goes on behind the element at `position`. */
static void begin_call(struct tombola__machine *m, struct call *up, uint32_t position) {
  const struct tombola__element *const e = &up->rules->elements[position];
  if (e[1].kind == TOMBOLA__ELEMENT_END)
    begin_here(m, up, e->target);
  else
    begin_inside(m, up, RETURN, position + 1, 0, e->target);
}

/* Once more what has been there `count` times. The last time nothing has to be counted any more. */
static void begin_repeat(struct tombola__machine *m, struct call *up, uint32_t position, uint32_t count) {
  const struct tombola__element *const e = &up->rules->elements[position];
  if (e->max != TOMBOLA__LANG_UNBOUNDED && count + 1 == e->max)
    begin_call(m, up, position);
  else
    begin_inside(m, up, REPEAT, position, count, e->target);
}

static void emit(struct tombola__machine *m, const struct tombola__frame *up, uint32_t position,
                 tombola__lang lang) {
  const struct tombola__thread place = {.up = up, .part = TOMBOLA__RULES, .a = position, .b = lang};
  tombola__machine_emit(m, &place);
}

/* Makes the places that begin at an element, and behind it as far as elements may be empty. True at the end of the
 * production. */
static bool pass(struct tombola__machine *m, struct call *up, uint32_t position) {
  for (;; position++) {
    const struct tombola__element *const e = &up->rules->elements[position];
    switch (e->kind) {
    case TOMBOLA__ELEMENT_END: return true;
    case TOMBOLA__ELEMENT_LANG: emit(m, &up->head, position, e->target); break;
    case TOMBOLA__ELEMENT_CALL: begin_call(m, up, position); break;
    default: begin_repeat(m, up, position, 0); break;
    }
    if (!e->nullable) return false;
  }
}

static void begin(struct tombola__machine *m, struct call *up, uint32_t rule) {
  const struct tombola__rules *const r = up->rules;
  const uint32_t *const starts = r->starts + r->rules[rule].first;
  const uint32_t n = r->rules[rule].n;
  for (uint32_t i = 0; i < n && !tombola__machine_store(m)->status; i++)
    pass(m, up, starts[i]);
}

/* What was begun in `up` has ended. True when its caller's production goes on at *position. */
static bool end_repeat(struct tombola__machine *m, struct call *up, uint32_t *position) {
  const struct tombola__element *const e = &up->rules->elements[up->position];
  if (e->max == TOMBOLA__LANG_UNBOUNDED && up->count == e->min)
    begin_here(m, up, e->target);
  else
    begin_repeat(m, call_of(up->head.up), up->position, up->count + 1);
  *position = up->position + 1;
  return up->count + 1 >= e->min;
}

static void return_to(struct tombola__machine *m, struct call *up) {
  while (!tombola__machine_store(m)->status) {
    refresh(m, up);
    if (up->returned) return;
    up->returned = true;
    uint32_t position = up->position;
    if (up->head.kind == BASE) {
      tombola__machine_return(m, up->head.up);
      return;
    }
    if (up->head.kind == REPEAT && !end_repeat(m, up, &position)) return;
    up = call_of(up->head.up);
    if (!pass(m, up, position)) return;
  }
}

void tombola__rules_return(struct tombola__machine *m, const struct tombola__frame *up) {
  return_to(m, call_of(up));
}

void tombola__rules_start(struct tombola__machine *m, const struct tombola__rules *rules,
                          const struct tombola__frame *up) {
  struct call *const base = tombola__machine_take(m, sizeof *base);
  if (!base) return;
  base->head = (struct tombola__frame){
      .up = up,
      .key = {tombola__mix(up ? up->key[0] : 0, (uintptr_t)rules),
              tombola__mix(up ? ~up->key[1] : 0, (uintptr_t)rules)},
      .part = TOMBOLA__RULES,
      .kind = BASE,
      .depth = up ? (uint16_t)(up->depth + 1) : 0,
  };
  base->rules = rules;
  begin(m, base, rules->root);
  if (rules->nullable) return_to(m, base);
}

/* ---- a byte ---- */

/* The language has read a character. Where nothing can follow it there is no place. */
static void put(struct tombola__machine *m, const struct tombola__thread *thread, tombola__lang next,
                bool accepts) {
  if (next != TOMBOLA__LANG_EMPTY) emit(m, thread->up, thread->a, next);
  if (!accepts) return;
  struct call *const up = call_of(thread->up);
  if (pass(m, up, thread->a + 1)) return_to(m, up);
}

static void step_character(struct tombola__machine *m, const struct tombola__thread *thread,
                           uint32_t character) {
  struct tombola__store *const s = tombola__machine_store(m);
  const tombola__lang next = tombola__lang_step(s, thread->b, character);
  if (next != TOMBOLA__LANG_NONE) put(m, thread, next, tombola__lang_accepts_empty(s, next));
}

/* A byte of a character of several (Unicode 15, table 3-7). The thread holds its length, the bits so far and how many
 * bytes are missing; some character with these bits must be one that can come next. */
static void step_piece(struct tombola__machine *m, const struct tombola__thread *thread, uint8_t byte) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  struct tombola__thread next = *thread;
  if (thread->phase) {
    if ((byte & 0xC0) != 0x80) return;
    next.c = thread->c << 6 | (byte & 0x3F);
    next.d = thread->d - 1;
  } else {
    if (byte < 0xC2 || byte > 0xF4) return;
    next.phase = byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
    next.c = byte & (0x7Fu >> next.phase);
    next.d = next.phase - 1u;
  }
  uint32_t lo = next.c << 6 * next.d, hi = lo | ((1u << 6 * next.d) - 1);
  if (lo < least[next.phase]) lo = least[next.phase];
  if (hi > TOMBOLA__LAST_CODE_POINT) hi = TOMBOLA__LAST_CODE_POINT;
  if (lo < 0xD800 && hi >= 0xD800 && hi < 0xE000) hi = 0xD7FF;
  if (lo > hi || (lo >= 0xD800 && hi < 0xE000)) return;
  if (next.d == 0)
    step_character(m, thread, lo);
  else if (tombola__lang_can_step(tombola__machine_store(m), thread->b, lo, hi))
    tombola__machine_emit(m, &next);
}

void tombola__rules_step(struct tombola__machine *m, const struct tombola__thread *thread, uint8_t byte) {
  if (byte >= 0x80) {
    step_piece(m, thread, byte);
    return;
  }
  if (thread->phase) return;
  const struct tombola__store *const s = tombola__machine_store(m);
  const struct tombola__lang_table *table = tombola__lang_table(s, thread->b);
  const tombola__lang next = table ? table->next[table->class_of[byte]] : TOMBOLA__LANG_UNKNOWN;
  if (next == TOMBOLA__LANG_NONE) return;
  table = next == TOMBOLA__LANG_UNKNOWN ? NULL : tombola__lang_table(s, next);
  if (table)
    put(m, thread, next, table->accepts);
  else
    step_character(m, thread, byte);
}

/* ---- asking ---- */

/* Never between two bytes: where a language accepts, what is behind it has begun too. */
bool tombola__rules_complete(struct tombola__machine *m, const struct tombola__thread *thread) {
  (void)m;
  (void)thread;
  return false;
}

bool tombola__rules_freedom(struct tombola__machine *m, const struct tombola__thread *thread,
                            struct tombola__freedom *out) {
  if (thread->phase) return false;
  *out = tombola__lang_freedom(tombola__machine_store(m), thread->b);
  return out->length > 0;
}

void tombola__rules_key(struct tombola__machine *m, const struct tombola__thread *thread, size_t horizon,
                        uint64_t key[2]) {
  const uint32_t most = horizon < UINT32_MAX ? (uint32_t)horizon : UINT32_MAX;
  const tombola__lang like = tombola__lang_like(tombola__machine_store(m), thread->b, most);
  const uint64_t place = (uint64_t)thread->a << 32 | like;
  const uint64_t piece = (uint64_t)thread->c << 16 | (uint64_t)thread->d << 8 | thread->phase;
  key[0] = tombola__mix(tombola__mix(thread->up->key[0], place), piece);
  key[1] = tombola__mix(tombola__mix(thread->up->key[1], piece), place);
}
