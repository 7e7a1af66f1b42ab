/* SPDX-License-Identifier: Apache-2.0 */
/* Free text in which triggers begin grammars. The trigger that is whole first wins, of those that end together the
 * longest, and where that one is listed more than once each of its rules is a reading. Inside of a rule there is only
 * its grammar; where that may end and go on too, both are read. Free text is any bytes.
 *
 * A prelude is free text until the first { or [ with which the one rule's text begins; nothing follows that. */
#include <string.h>

#include "constraint/machine/machine.h"
#include "text/automaton.h"

#define MOST_REPLAYED 256 /* bytes of a trigger that its grammar's text begins with: reading them recurses */

enum {
  FREE,
  PRELUDE,
  END
}; /* kinds of places. FREE: a is the automaton's state. END: a the rule, b its next byte */
enum { BASE, INSIDE, REPLAY }; /* kinds of frames */

struct tombola__mix {
  const struct tombola__mix_part *parts;
  size_t n;
  uint32_t *same; /* the next rule with this trigger: index + 1 */
  bool prelude;
  struct tombola__automaton triggers;
  struct tombola__freedom freedom; /* what no trigger ends with */
};

struct frame {
  struct tombola__frame head;
  const struct tombola__mix *mix;
  uint32_t part; /* INSIDE and REPLAY */
  uint32_t
      at; /* REPLAY: bytes of the text that have been read. INSIDE: the same, at this point; it changes */
  uint32_t first; /* INSIDE: bytes that the grammar's text begins with: before them it doesn't end */
  char byte;      /* REPLAY: a prelude's only one */
};

static struct frame *frame_of(const struct tombola__frame *head) {
  return (struct frame *)(uintptr_t)head;
}

static struct frame *add_frame(struct tombola__machine *m, const struct tombola__mix *mix,
                               const struct tombola__frame *up, uint8_t kind, uint32_t part, uint32_t at) {
  struct frame *const frame = tombola__machine_take(m, sizeof *frame);
  if (!frame) return NULL;
  const uint64_t place = (uint64_t)part << 32 | at;
  frame->head = (struct tombola__frame){
      .up = up,
      .key = {tombola__mix((up ? up->key[0] : 0) + kind, place),
              tombola__mix((up ? up->key[1] : 1) ^ place, kind + 1u)},
      .part = TOMBOLA__MIX,
      .kind = kind,
      .depth = up ? (uint16_t)(up->depth + 1) : 0,
  };
  frame->mix = mix;
  frame->part = part;
  frame->at = at;
  return frame;
}

static void emit(struct tombola__machine *m, const struct tombola__frame *base, uint8_t kind, uint32_t a,
                 uint32_t b) {
  const struct tombola__thread place = {.up = base, .part = TOMBOLA__MIX, .kind = kind, .a = a, .b = b};
  tombola__machine_emit(m, &place);
}

void tombola__mix_start(struct tombola__machine *m, const struct tombola__mix *mix,
                        const struct tombola__frame *up) {
  const struct frame *const base = add_frame(m, mix, up, BASE, 0, 0);
  if (base) emit(m, &base->head, mix->prelude ? PRELUDE : FREE, 0, 0);
}

/* ---- rules ---- */

static void start(struct tombola__machine *m, const struct tombola__program *program,
                  const struct tombola__frame *up) {
  if (program->part == TOMBOLA__JSON)
    tombola__json_start(m, program->formula, up);
  else
    tombola__rules_start(m, program->rules, up);
}

/* Makes the places after the first `at` bytes of a text that the grammar begins with: reads the last of them in the
 * places in front of it. */
static void replay(struct tombola__machine *m, const struct frame *inside, uint32_t at, char byte) {
  const struct tombola__mix_part *const part = &inside->mix->parts[inside->part];
  if (at == 0) {
    start(m, &part->program, &inside->head);
    return;
  }
  struct frame *const before = add_frame(m, inside->mix, &inside->head, REPLAY, inside->part, at - 1);
  if (!before) return;
  before->byte = byte;
  tombola__machine_return_before(m, &before->head,
                                 (uint8_t)(inside->mix->prelude ? byte : part->trigger.data[at - 1]));
}

static void begin(struct tombola__machine *m, const struct frame *base, uint32_t index, char byte) {
  const struct tombola__mix_part *const part = &base->mix->parts[index];
  struct frame *const inside = add_frame(m, base->mix, &base->head, INSIDE, index, 0);
  if (!inside) return;
  inside->first = base->mix->prelude ? 1 : part->include_trigger ? (uint32_t)part->trigger.length : 0;
  replay(m, inside, inside->first, byte);
}

/* A rule has ended, its end text and all. */
static void leave(struct tombola__machine *m, const struct tombola__frame *base) {
  if (frame_of(base)->mix->prelude)
    tombola__machine_return(m, base->up);
  else
    emit(m, base, FREE, 0, 0);
}

/* The places after the frame's bytes; what comes then is the reading of the next byte. */
static void return_again(struct tombola__machine *m, const struct frame *frame) {
  struct frame *const inside = frame_of(frame->head.up);
  tombola__machine_look_back(m, inside->first - frame->at);
  replay(m, inside, frame->at, frame->byte);
  inside->at = frame->at + 1;
  tombola__machine_look_back(m, inside->first - inside->at);
}

void tombola__mix_return(struct tombola__machine *m, const struct tombola__frame *up) {
  const struct frame *const frame = frame_of(up);
  if (up->kind == REPLAY)
    return_again(m, frame);
  else if (frame->at < frame->first)
    return;
  else if (frame->mix->parts[frame->part].end.length)
    emit(m, up->up, END, frame->part, 0);
  else
    leave(m, up->up);
}

/* ---- a byte ---- */

static void step_free(struct tombola__machine *m, const struct tombola__thread *thread, uint8_t byte) {
  const struct frame *const base = frame_of(thread->up);
  const struct tombola__mix *const mix = base->mix;
  const uint16_t state = tombola__automaton_step(&mix->triggers, (uint16_t)thread->a, (char)byte);
  if (!mix->triggers.length[state]) {
    emit(m, thread->up, FREE, state, 0);
    return;
  }
  for (uint32_t i = mix->triggers.pattern[state] + 1u; i; i = mix->same[i - 1])
    begin(m, base, i - 1, 0);
}

void tombola__mix_step(struct tombola__machine *m, const struct tombola__thread *thread, uint8_t byte) {
  const struct frame *const base = frame_of(thread->up);
  if (thread->kind == FREE)
    step_free(m, thread, byte);
  else if (thread->kind == PRELUDE) {
    if (byte == '{' || byte == '[')
      begin(m, base, 0, (char)byte);
    else
      emit(m, thread->up, PRELUDE, 0, 0);
  } else {
    const struct tombola_bytes end = base->mix->parts[thread->a].end;
    if ((uint8_t)end.data[thread->b] != byte) return;
    if (thread->b + 1 == end.length)
      leave(m, thread->up);
    else
      emit(m, thread->up, END, thread->a, thread->b + 1);
  }
}

bool tombola__mix_quick(const struct tombola__thread *thread, uint8_t byte, uint32_t *to) {
  const struct tombola__automaton *const triggers = &frame_of(thread->up)->mix->triggers;
  if (thread->kind == PRELUDE) return byte != '{' && byte != '[';
  if (thread->kind != FREE) return false;
  *to = tombola__automaton_step(triggers, (uint16_t)thread->a, (char)byte);
  return !triggers->length[*to];
}

/* ---- asking ---- */

bool tombola__mix_complete(struct tombola__machine *m, const struct tombola__thread *thread) {
  (void)m;
  return thread->kind == FREE && !thread->up->up;
}

bool tombola__mix_engaged(const struct tombola__machine *m, const struct tombola__thread *thread) {
  (void)m;
  return thread->kind == END;
}

bool tombola__mix_freedom(struct tombola__machine *m, const struct tombola__thread *thread,
                          struct tombola__freedom *out) {
  (void)m;
  *out = frame_of(thread->up)->mix->freedom;
  return thread->kind != END;
}

void tombola__mix_key(struct tombola__machine *m, const struct tombola__thread *thread, size_t horizon,
                      uint64_t key[2]) {
  (void)m;
  (void)horizon;
  const uint64_t place = (uint64_t)thread->a << 32 | thread->b;
  key[0] = tombola__mix(tombola__mix(thread->up->key[0], place), thread->kind);
  key[1] = tombola__mix(tombola__mix(thread->up->key[1], thread->kind), place);
}

/* ---- making one ---- */

static void *take(void *store, size_t size) {
  return tombola__store_take(store, 1, size);
}

static void *take_more(void *store, void *memory, size_t old_size, size_t new_size) {
  void *const more = tombola__store_take(store, 1, new_size);
  if (more && memory) memcpy(more, memory, old_size < new_size ? old_size : new_size);
  return more;
}

static void keep(void *store, void *memory) {
  (void)store;
  (void)memory;
}

/* Whether a text of the program begins with this one. */
static bool begins_with(struct tombola__store *s, const struct tombola__program *program, const char *text,
                        size_t length) {
  struct tombola__machine *m;
  if (tombola__machine_new(s, program, &s->allocator, &m) != TOMBOLA_OK) return false;
  size_t n = 0;
  while (n < length && tombola__machine_push(m, (uint8_t)text[n]))
    n++;
  tombola__machine_free(m);
  return n == length;
}

static void set_freedom(struct tombola__mix *mix) {
  struct tombola__freedom *const f = &mix->freedom;
  *f = (struct tombola__freedom){{~0u, ~0u, ~0u, ~0u}, true, true, TOMBOLA__LANG_UNBOUNDED};
  for (size_t i = 0; i < (mix->prelude ? 2 : mix->n); i++) {
    const struct tombola_bytes t = mix->prelude ? (struct tombola_bytes){&"{["[i], 1} : mix->parts[i].trigger;
    const uint8_t last = (uint8_t)t.data[t.length - 1];
    if (last < 0x80)
      f->ascii[last / 32] &= ~(1u << last % 32);
    else
      f->others = f->spaces = false;
  }
}

static bool set_triggers(struct tombola__store *s, struct tombola__mix *mix) {
  const struct tombola_allocator in_store = {take, take_more, keep, s};
  struct tombola_error error = {.status = TOMBOLA_OK};
  struct tombola_bytes *const triggers = tombola__store_take(s, mix->n, sizeof *triggers);
  mix->same = tombola__store_take(s, mix->n, sizeof *mix->same);
  if (!triggers || !mix->same) return false;
  for (size_t i = 0; i < mix->n; i++)
    triggers[i] = mix->parts[i].trigger;
  if (tombola__automaton_new(&mix->triggers, triggers, mix->n, "trigger", &in_store, &error)) {
    tombola__store_fail(s, error.status, error.param, "%s", error.message);
    return false;
  }
  for (size_t i = mix->n; i-- > 0;) { /* in front of the later ones, behind the first */
    uint16_t state = 0;
    for (size_t k = 0; k < triggers[i].length; k++)
      state = tombola__automaton_step(&mix->triggers, state, triggers[i].data[k]);
    const size_t first = mix->triggers.pattern[state];
    if (first == i) continue;
    mix->same[i] = mix->same[first];
    mix->same[first] = (uint32_t)i + 1;
  }
  return true;
}

static bool check_part(struct tombola__store *s, const struct tombola__mix_part *part, size_t index) {
  if (part->program.part != TOMBOLA__JSON && part->program.part != TOMBOLA__RULES)
    tombola__store_fail(s, TOMBOLA_INVALID_ARGUMENT, "rules", "rule %zu: its grammar is itself a mix", index);
  else if (!part->include_trigger)
    return true;
  else if (part->trigger.length > MOST_REPLAYED)
    tombola__store_fail(s, TOMBOLA_OUT_OF_RANGE, "rules",
                        "rule %zu: a trigger that its text begins with has %d bytes at most", index,
                        MOST_REPLAYED);
  else if (begins_with(s, &part->program, part->trigger.data, part->trigger.length))
    return true;
  else
    tombola__store_fail(s, TOMBOLA_INVALID_ARGUMENT, "rules",
                        "rule %zu: no text of its grammar begins with the trigger", index);
  return false;
}

static void make(struct tombola__store *s, struct tombola__mix *mix) {
  if (mix->prelude) {
    const struct tombola__program *const program = &mix->parts[0].program;
    if (!begins_with(s, program, "{", 1) && !begins_with(s, program, "[", 1))
      tombola__store_fail(s, TOMBOLA_NO_CANDIDATE, "free_prelude",
                          "no text of the grammar begins with { or [");
  } else if (set_triggers(s, mix))
    for (size_t i = 0; i < mix->n && check_part(s, &mix->parts[i], i); i++) {
    }
  if (!s->status) set_freedom(mix);
}

static const char *copied(struct tombola__store *s, struct tombola_bytes text) {
  char *const copy = tombola__store_take(s, text.length ? text.length : 1, 1);
  if (copy && text.length && text.data) memcpy(copy, text.data, text.length);
  return copy;
}

enum tombola_status tombola__mix_new(struct tombola__store *s, const struct tombola__mix_part *parts,
                                     size_t n, bool prelude, const struct tombola__mix **out,
                                     struct tombola_error *error) {
  *out = NULL;
  if (n == 0 || n >= UINT32_MAX || (prelude && n > 1))
    return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "rules", "rules: %zu of them", n);
  struct tombola__mix *const mix = tombola__store_take(s, 1, sizeof *mix);
  struct tombola__mix_part *const own = tombola__store_take(s, n, sizeof *own);
  for (size_t i = 0; i < n && own && !s->status; i++) {
    own[i] = parts[i];
    own[i].trigger.data = copied(s, parts[i].trigger);
    own[i].end.data = copied(s, parts[i].end);
  }
  if (!s->status) {
    *mix = (struct tombola__mix){.parts = own, .n = n, .prelude = prelude};
    make(s, mix);
  }
  if (s->status) {
    if (error) *error = s->error;
    return s->status;
  }
  *out = mix;
  return TOMBOLA_OK;
}
