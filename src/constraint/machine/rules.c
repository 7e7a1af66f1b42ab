/* SPDX-License-Identifier: Apache-2.0 */
/* Reading by rules. A place is an element that is a language, its state, and the bytes of a character that isn't whole
 * yet; or an element that is a token, which is taken as a whole. Around it is the frame of the innermost open rule. A frame is shared by all that begin its rule at one point of
 * the text and lists where each of them goes on (a graph-structured stack: Tomita, 1985), so that many readings cost
 * what few do. A call at the end of a production has no frame of its own: recursion to the right takes no room.
 *
 * As soon as a language accepts what was read the places behind it are made too, so that a place never ends between two
 * bytes. A rule that may be empty is passed over by its caller and begins only with texts that aren't. So beginning
 * comes to an end, there being no left recursion; and a rule ends later than it begins, when all its callers are known.
 */
#include "constraint/machine/rules.h"

#include <stddef.h>

/* What has been made at one point of the text: something begun in a frame, where the same again would be the same
 * places; or, MADE, a frame itself. */
struct item {
  struct item *next, *chain;      /* all of them; those of a slot */
  uint32_t kind, position, turns; /* as in a link; HERE and MADE: the rule is `position` */
  uint32_t count;                 /* REPEAT: the lowest there was; `turns` is it or min, if that is less */
};

/* A list at first, then a table. */
struct items {
  struct item *list;
  struct item **slots;
  uint32_t n, n_slots; /* n_slots is a power of two */
};

enum { NEXT, REPEAT, HERE, MADE };

#define FEW 16 /* items are looked at one by one */

#define AWAITS \
  1 /* a place's phase: its element is a token. Of a character's bytes it is their number, from 2 */

/* Where a rule goes on when it has ended. */
struct link {
  struct link *next;
  struct call *caller;
  uint32_t kind;     /* NEXT or REPEAT */
  uint32_t position; /* NEXT: the element that comes next. REPEAT: the one that is repeated */
  uint32_t count;    /* REPEAT: how often it was there before; no higher than min when there is no max */
  struct item begun;
};

/* A frame. The key is of what the links lead to; it is 0 until the point where the frame was made is over. */
struct call {
  struct tombola__frame head;
  struct base *base;
  struct link *links; /* none in the outermost */
  uint32_t rule;
  struct item made;

  /* Of one point of the text, `turn`. */
  uint64_t turn;
  struct items begun;
  bool returned;
  struct call *return_next;
};

/* The outermost, of the whole grammar. */
struct base {
  struct call call;
  const struct tombola__rules *rules;
  uint64_t turn; /* of `calls` */
  struct items calls;
};

static void begin(struct tombola__machine *m, struct call *up, uint32_t rule);

/* What changes in a frame is what it knows of one point. */
static struct call *call_of(const struct tombola__frame *frame) {
  return (struct call *)(uintptr_t)frame;
}

static const struct tombola__element *element_at(const struct call *up, uint32_t position) {
  return &up->base->rules->elements[position];
}

static void refresh(struct call *call, uint64_t turn) {
  if (call->turn == turn) return;
  call->turn = turn;
  call->begun = (struct items){.list = NULL};
  call->returned = false;
}

static struct item **slot_of(const struct items *items, const struct item *item) {
  const uint64_t hash = tombola__mix(tombola__mix(item->kind, item->position),
                                     item->turns); /* its upper half is the better one */
  return &items->slots[hash >> 32 & (items->n_slots - 1)];
}

static struct item *find_item(const struct items *items, const struct item *like) {
  struct item *i = items->slots ? *slot_of(items, like) : items->list;
  while (i && (i->position != like->position || i->kind != like->kind || i->turns != like->turns))
    i = items->slots ? i->chain : i->next;
  return i;
}

static void add_item(struct tombola__machine *m, struct items *items, struct item *item) {
  item->next = items->list;
  items->list = item;
  if (++items->n > FEW && items->n > items->n_slots) {
    items->n_slots = items->n_slots ? 2 * items->n_slots : 4 * FEW;
    items->slots = tombola__machine_take(m, items->n_slots * sizeof(struct item *));
    if (!items->slots) return;
    for (struct item *i = items->list->next; i; i = i->next) {
      struct item **const slot = slot_of(items, i);
      i->chain = *slot;
      *slot = i;
    }
  }
  if (!items->slots) return;
  struct item **const slot = slot_of(items, item);
  item->chain = *slot;
  *slot = item;
}

/* Whether this has begun in the frame, or something that allows all that it does: with min turns behind it, whoever had
 * fewer of them may go on as whoever had more. *noted: its item is there already. */
static bool has_begun(struct tombola__machine *m, struct call *up, const struct item *like, bool *noted) {
  tombola__store_work(tombola__machine_store(m), 1);
  refresh(up, tombola__machine_turn(m));
  struct item *const known = find_item(&up->begun, like);
  *noted = known != NULL;
  if (!known || known->count <= like->count) return known != NULL;
  known->count = like->count;
  return false;
}

/* The key of a frame when the point where it was made is over. A frame gets it before a byte is read in it, so that the
 * callers from other points have theirs: it recurses no deeper than rules begin with each other. */
static void find_key(struct call *call) {
  if (call->head.key[1]) return;
  uint64_t key[2] = {call->rule + UINT64_C(1), call->rule};
  for (const struct link *l = call->links; l; l = l->next) {
    const uint64_t place = (uint64_t)l->position << 32 | l->count;
    find_key(l->caller);
    key[0] +=
        tombola__mix(tombola__mix(l->caller->head.key[0], place), l->kind); /* a sum: a set has no order */
    key[1] += tombola__mix(tombola__mix(l->caller->head.key[1], l->kind + UINT64_C(2)), place);
  }
  call->head.key[0] = key[0];
  call->head.key[1] = key[1] | 1;
}

/* The frame of a rule that begins at this point; *fresh: it has only now been made. */
static struct call *frame_of(struct tombola__machine *m, struct base *base, uint32_t rule, bool *fresh) {
  const struct item like = {.kind = MADE, .position = rule};
  const uint64_t turn = tombola__machine_turn(m);
  *fresh = false;
  if (base->turn != turn) {
    base->turn = turn;
    base->calls = (struct items){.list = NULL};
  }
  struct item *const known = find_item(&base->calls, &like);
  if (known) return (struct call *)(void *)((char *)known - offsetof(struct call, made));
  struct call *const call = tombola__machine_take(m, sizeof *call);
  if (!call) return NULL;
  call->head =
      (struct tombola__frame){.up = &base->call.head, .part = TOMBOLA__RULES, .depth = base->call.head.depth};
  call->base = base;
  call->rule = rule;
  call->made = like;
  add_item(m, &base->calls, &call->made);
  *fresh = true;
  return call;
}

/* Begins a rule that goes on in `up`; false when that was done already. */
static bool begin_inside(struct tombola__machine *m, struct call *up, uint32_t kind, uint32_t position,
                         uint32_t count, const struct tombola__element *e) {
  const struct item like = {
      .kind = kind, .position = position, .turns = count < e->min ? count : e->min, .count = count};
  bool fresh, noted;
  if (has_begun(m, up, &like, &noted)) return false;
  struct link *const link = tombola__machine_take(m, sizeof *link);
  struct call *const call = link ? frame_of(m, up->base, e->target, &fresh) : NULL;
  if (!call) return true;
  *link = (struct link){
      .next = call->links, .caller = up, .kind = kind, .position = position, .count = count, .begun = like};
  call->links = link;
  if (!noted) add_item(m, &up->begun, &link->begun);
  if (fresh) begin(m, call, e->target);
  return true;
}

/* Begins a rule in `up` itself, unless that was done already. */
static void begin_here(struct tombola__machine *m, struct call *up, uint32_t rule) {
  const struct item like = {.kind = HERE, .position = rule};
  bool noted;
  if (has_begun(m, up, &like, &noted)) return;
  struct item *const begun = tombola__machine_take(m, sizeof *begun);
  if (!begun) return;
  *begun = like;
  add_item(m, &up->begun, begun);
  begin(m, up, rule);
}

/* A call that goes on behind the element at `position`; false when it was begun already. */
static bool begin_call(struct tombola__machine *m, struct call *up, uint32_t position) {
  const struct tombola__element *const e = element_at(up, position);
  if (e[1].kind != TOMBOLA__ELEMENT_END) return begin_inside(m, up, NEXT, position + 1, 0, e);
  begin_here(m, up, e->target);
  return true;
}

/* Once more what has been there `count` times. The last time nothing has to be counted any more. */
static bool begin_repeat(struct tombola__machine *m, struct call *up, uint32_t position, uint32_t count) {
  const struct tombola__element *const e = element_at(up, position);
  if (e->max == TOMBOLA__LANG_UNBOUNDED)
    return begin_inside(m, up, REPEAT, position, count < e->min ? count : e->min, e);
  if (count + 1 < e->max) return begin_inside(m, up, REPEAT, position, count, e);
  return begin_call(m, up, position);
}

static void emit(struct tombola__machine *m, const struct tombola__frame *up, uint32_t position,
                 tombola__lang lang) {
  const struct tombola__thread place = {.up = up, .part = TOMBOLA__RULES, .a = position, .b = lang};
  tombola__machine_emit(m, &place);
}

static void emit_awaiting(struct tombola__machine *m, const struct tombola__frame *up, uint32_t position) {
  const struct tombola__thread place = {
      .up = up, .part = TOMBOLA__RULES, .phase = AWAITS, .a = position, .b = TOMBOLA__LANG_NONE};
  tombola__machine_emit(m, &place);
}

/* Makes the places that begin at an element, and behind it as far as elements may be empty. True at the end of the
 * production. Where a call was begun already, so was what is behind it. */
static bool pass(struct tombola__machine *m, struct call *up, uint32_t position) {
  for (;; position++) {
    tombola__store_work(tombola__machine_store(m), 1);
    const struct tombola__element *const e = element_at(up, position);
    switch (e->kind) {
    case TOMBOLA__ELEMENT_END: return true;
    case TOMBOLA__ELEMENT_LANG: emit(m, &up->head, position, e->target); break;
    case TOMBOLA__ELEMENT_TOKEN: emit_awaiting(m, &up->head, position); break;
    case TOMBOLA__ELEMENT_CALL:
      if (!begin_call(m, up, position)) return false;
      break;
    default:
      if (!begin_repeat(m, up, position, 0)) return false;
      break;
    }
    if (!e->nullable) return false;
  }
}

static void begin(struct tombola__machine *m, struct call *up, uint32_t rule) {
  const struct tombola__rules *const r = up->base->rules;
  const uint32_t *const starts = r->starts + r->rules[rule].first;
  const uint32_t n = r->rules[rule].n;
  for (uint32_t i = 0; i < n && !tombola__machine_store(m)->status; i++)
    pass(m, up, starts[i]);
}

/* Goes on where a rule was begun. True when its caller has ended with it. */
static bool follow(struct tombola__machine *m, const struct link *link) {
  tombola__store_work(tombola__machine_store(m), 1);
  if (link->kind == NEXT) return pass(m, link->caller, link->position);
  begin_repeat(m, link->caller, link->position, link->count + 1);
  return link->count + 1 >= element_at(link->caller, link->position)->min &&
         pass(m, link->caller, link->position + 1);
}

/* Puts a frame on the list of those that end at this point, once. */
static void will_return(struct call *call, uint64_t turn, struct call **list) {
  refresh(call, turn);
  if (call->returned) return;
  call->returned = true;
  call->return_next = *list;
  *list = call;
}

static void return_to(struct tombola__machine *m, struct call *up) {
  const uint64_t turn = tombola__machine_turn(m);
  struct call *list = NULL;
  will_return(up, turn, &list);
  while (list && !tombola__machine_store(m)->status) {
    const struct call *const call = list;
    list = call->return_next;
    if (call == &call->base->call) tombola__machine_return(m, call->head.up);
    for (const struct link *l = call->links; l; l = l->next)
      if (follow(m, l)) will_return(l->caller, turn, &list);
  }
}

void tombola__rules_return(struct tombola__machine *m, const struct tombola__frame *up) {
  return_to(m, call_of(up));
}

void tombola__rules_start(struct tombola__machine *m, const struct tombola__rules *rules,
                          const struct tombola__frame *up) {
  struct base *const base = tombola__machine_take(m, sizeof *base);
  if (!base) return;
  base->call.head = (struct tombola__frame){
      .up = up,
      .key = {tombola__mix(up ? up->key[0] : 0, (uintptr_t)rules),
              tombola__mix(up ? up->key[1] : 0, ~(uintptr_t)rules) | 1},
      .part = TOMBOLA__RULES,
      .depth = up ? (uint16_t)(up->depth + 1) : 0,
  };
  base->call.base = base;
  base->rules = rules;
  begin(m, &base->call, rules->root);
  if (rules->nullable) return_to(m, &base->call);
}

/* ---- a byte ---- */

static void go_on_behind(struct tombola__machine *m, const struct tombola__thread *thread) {
  struct call *const up = call_of(thread->up);
  if (pass(m, up, thread->a + 1)) return_to(m, up);
}

/* The language has read a character. Where nothing can follow it there is no place. */
static void put(struct tombola__machine *m, const struct tombola__thread *thread, tombola__lang next,
                bool accepts) {
  if (next != TOMBOLA__LANG_EMPTY) emit(m, thread->up, thread->a, next);
  if (accepts) go_on_behind(m, thread);
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
    if (thread->phase == AWAITS || (byte & 0xC0) != 0x80) return;
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
  find_key(call_of(thread->up));
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

/* ---- a token ---- */

bool tombola__rules_awaits(const struct tombola__thread *thread, uint32_t *token, bool *negated) {
  if (thread->part != TOMBOLA__RULES || thread->phase != AWAITS) return false;
  const struct tombola__element *const e = element_at(call_of(thread->up), thread->a);
  *token = e->target;
  *negated = e->negated;
  return true;
}

void tombola__rules_take(struct tombola__machine *m, const struct tombola__thread *thread, uint32_t token) {
  uint32_t awaited;
  bool negated;
  if (!tombola__rules_awaits(thread, &awaited, &negated) || (token == awaited) == negated) return;
  find_key(call_of(thread->up));
  go_on_behind(m, thread);
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
  find_key(call_of(thread->up));
  const uint32_t most = horizon < UINT32_MAX ? (uint32_t)horizon : UINT32_MAX;
  const tombola__lang like = tombola__lang_like(tombola__machine_store(m), thread->b, most);
  const uint64_t place = (uint64_t)thread->a << 32 | like;
  const uint64_t piece = (uint64_t)thread->c << 16 | (uint64_t)thread->d << 8 | thread->phase;
  key[0] = tombola__mix(tombola__mix(thread->up->key[0], place), piece);
  key[1] = tombola__mix(tombola__mix(thread->up->key[1], piece), place);
}
