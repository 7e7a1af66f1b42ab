/* SPDX-License-Identifier: Apache-2.0 */
/* JSON texts: values, white space, numbers and literals; the other files of the part have the rest. */
#include "constraint/machine/json.h"

#include <string.h>

static const struct {
  const char *text;
  unsigned type;
} literals[] = {{"null", TOMBOLA__NULL}, {"false", TOMBOLA__FALSE_VALUE}, {"true", TOMBOLA__TRUE_VALUE}};

static uint32_t length_of(const struct tombola__machine *m) {
  return (uint32_t)tombola__machine_length(m);
}

/* ---- white space ---- */

void tombola__json_space(struct tombola__machine *m, const struct tombola__thread *t) {
  const struct tombola__store *const s = tombola__machine_store(m);
  struct tombola__thread again = *t;
  if (s->whitespace == TOMBOLA_WHITESPACE_NONE) return;
  if (s->whitespace == TOMBOLA_WHITESPACE_BOUNDED && again.b++ >= s->whitespace_max) return;
  tombola__machine_emit(m, &again);
}

/* ---- ends ---- */

bool tombola__json_after(struct tombola__machine *m, const struct tombola__frame *up, uint32_t end,
                         struct tombola__thread *next) {
  if (up->kind == TOMBOLA__JSON_ARRAY) {
    up = tombola__json_item(m, tombola__json_array_of(up), end);
    if (!up) return false;
  }
  *next = (struct tombola__thread){.up = up, .part = TOMBOLA__JSON, .kind = TOMBOLA__JSON_NEXT};
  return true;
}

/* The places behind the root value. */
static struct tombola__thread behind(const struct tombola__frame *up) {
  return (struct tombola__thread){.up = up, .part = TOMBOLA__JSON, .kind = TOMBOLA__JSON_AFTER};
}

static bool space_may_follow(const struct tombola__machine *m) {
  return tombola__machine_store(m)->whitespace == TOMBOLA_WHITESPACE_ANY;
}

void tombola__json_end(struct tombola__machine *m, const struct tombola__frame *up, uint32_t end) {
  struct tombola__thread next;
  if (tombola__is_json(up)) {
    if (tombola__json_after(m, up, end, &next)) tombola__json_emit_next(m, &next);
    return;
  }
  if (space_may_follow(m)) {
    next = behind(up);
    tombola__machine_emit(m, &next);
    if (!up) return;
  }
  tombola__machine_return(m, up);
}

void tombola__json_return(struct tombola__machine *m, const struct tombola__frame *up) {
  tombola__json_end(m, up, length_of(m) + 1);
}

static void after_step(struct tombola__machine *m, const struct tombola__thread *t, uint8_t byte) {
  if (!tombola__json_is_space(byte)) return;
  tombola__machine_emit(m, t);
  if (t->up) tombola__machine_return(m, t->up);
}

/* A number ends in front of the byte. */
static void end_before(struct tombola__machine *m, const struct tombola__frame *up, uint8_t byte) {
  struct tombola__thread next;
  if (tombola__is_json(up)) {
    if (tombola__json_after(m, up, length_of(m), &next)) tombola__json_step(m, &next, byte);
    return;
  }
  if (space_may_follow(m)) {
    next = behind(up);
    after_step(m, &next, byte);
  }
  tombola__machine_return_before(m, up, byte);
}

/* ---- frames ---- */

void *tombola__json_frame(struct tombola__machine *m, const struct tombola__frame *up, size_t size,
                          enum tombola__json_frame kind) {
  struct tombola__store *const s = tombola__machine_store(m);
  const unsigned depth = up ? up->depth + 1u : 1;
  if (kind != TOMBOLA__JSON_NAMES && (depth > s->max_depth || depth == UINT16_MAX)) {
    if (!s->looking)
      tombola__store_fail(s, TOMBOLA_OUT_OF_RANGE, "max_depth", "more than %zu nested values (max_depth)",
                          s->max_depth);
    return NULL;
  }
  struct tombola__json_head *const head = tombola__machine_take(m, size);
  if (!head) return NULL;
  head->frame = (struct tombola__frame){
      .up = up, .part = TOMBOLA__JSON, .kind = (uint8_t)kind, .depth = (uint16_t)depth};
  head->unique = tombola__is_json(up) ? ((const struct tombola__json_head *)(const void *)up)->unique
                                      : TOMBOLA__JSON_NOWHERE;
  return head;
}

/* ---- numbers ---- */

/* The text up to the byte, as a number. */
static void scan(struct tombola__machine *m, const struct tombola__thread *t) {
  const struct tombola__decimal *excluded = NULL;
  size_t n = 0;
  if (tombola__is_json(t->up) && t->up->kind == TOMBOLA__JSON_ARRAY) {
    const struct tombola__json_array *const array = tombola__json_array_of(t->up);
    if (array->n_numbers) {
      excluded = array->seen->numbers;
      n = array->n_numbers;
    }
  }
  struct tombola__thread next = *t;
  const char *const text = (const char *)tombola__machine_text(m) + t->b;
  next.phase = (uint16_t)tombola__number_scan(tombola__machine_store(m), t->a, text, length_of(m) + 1 - t->b,
                                              excluded, n);
  if (next.phase) tombola__machine_emit(m, &next);
}

static void number_step(struct tombola__machine *m, const struct tombola__thread *t, uint8_t byte) {
  if (tombola__json_in_number(byte)) {
    if (t->phase & TOMBOLA__NUMBER_CAN_GO_ON) scan(m, t);
  } else if (t->phase & TOMBOLA__NUMBER_IS) {
    end_before(m, t->up, byte);
  }
}

/* ---- literals ---- */

static void literal_step(struct tombola__machine *m, const struct tombola__thread *t, uint8_t byte) {
  const char *const text = literals[t->a].text;
  if ((uint8_t)text[t->b] != byte) return;
  struct tombola__thread next = *t;
  next.b++;
  if (text[next.b])
    tombola__machine_emit(m, &next);
  else
    tombola__json_end(m, t->up, length_of(m) + 1);
}

static void begin_literal(struct tombola__machine *m, const struct tombola__thread *t, unsigned types,
                          uint8_t byte) {
  for (uint32_t i = 0; i < TOMBOLA__COUNT(literals); i++) {
    if ((uint8_t)literals[i].text[0] != byte || !(types & literals[i].type)) continue;
    const struct tombola__thread next = {
        .up = t->up, .part = TOMBOLA__JSON, .kind = TOMBOLA__JSON_LITERAL, .a = i, .b = 1};
    tombola__machine_emit(m, &next);
  }
}

/* ---- values ---- */

static void begin_value(struct tombola__machine *m, const struct tombola__thread *t,
                        const struct tombola__value *v, uint8_t byte) {
  struct tombola__thread next = {.up = t->up, .part = TOMBOLA__JSON};
  if (byte == '"') {
    next.kind = TOMBOLA__JSON_STRING;
    next.a = v->text;
    if (v->types & TOMBOLA__STRING) tombola__machine_emit(m, &next);
  } else if (byte == '{') {
    for (size_t i = 0; i < v->n_objects && v->types & TOMBOLA__OBJECT; i++)
      tombola__json_open_object(m, v->objects[i], t->up);
  } else if (byte == '[') {
    for (size_t i = 0; i < v->n_arrays && v->types & TOMBOLA__ARRAY; i++)
      tombola__json_open_array(m, v->arrays[i], t->up);
  } else if (tombola__json_in_number(byte)) {
    next.kind = TOMBOLA__JSON_NUMBER;
    next.a = v->numbers;
    next.b = length_of(m);
    if (v->types & TOMBOLA__NUMBER) scan(m, &next);
  } else {
    begin_literal(m, t, v->types, byte);
  }
}

static void value_step(struct tombola__machine *m, const struct tombola__thread *t, uint8_t byte) {
  if (tombola__json_is_space(byte)) {
    tombola__json_space(m, t);
    return;
  }
  if (byte == ']') { /* an empty array: `up` is the frame of an item that isn't there */
    if (t->c) tombola__json_end(m, t->up->up, length_of(m) + 1);
    return;
  }
  const struct tombola__value *const v = tombola__value(tombola__machine_store(m), t->a);
  if (v) begin_value(m, t, v, byte);
}

/* ---- by kind ---- */

static void name_step(struct tombola__machine *m, const struct tombola__thread *t, uint8_t byte) {
  if (tombola__json_is_space(byte))
    tombola__json_space(m, t);
  else if (byte == '"')
    tombola__json_begin_key(m, tombola__json_names_of(t->up));
  else if (byte == '}' && t->c)
    tombola__json_end(m, t->up->up->up, length_of(m) + 1);
}

static void colon_step(struct tombola__machine *m, const struct tombola__thread *t, uint8_t byte) {
  if (tombola__json_is_space(byte)) {
    tombola__json_space(m, t);
  } else if (byte == ':') {
    const struct tombola__thread next = {
        .up = t->up, .part = TOMBOLA__JSON, .kind = TOMBOLA__JSON_VALUE, .a = t->a};
    tombola__machine_emit(m, &next);
  }
}

static void next_step(struct tombola__machine *m, const struct tombola__thread *t, uint8_t byte) {
  if (tombola__json_is_space(byte))
    tombola__json_space(m, t);
  else if (t->up->kind == TOMBOLA__JSON_ARRAY)
    tombola__json_array_step(m, t, byte);
  else
    tombola__json_object_step(m, t, byte);
}

static void close_step(struct tombola__machine *m, const struct tombola__thread *t, uint8_t byte) {
  if (tombola__json_is_space(byte))
    tombola__json_space(m, t);
  else if (byte == (t->up->kind == TOMBOLA__JSON_ARRAY ? ']' : '}'))
    tombola__json_end(m, t->up->up, length_of(m) + 1);
}

void tombola__json_start(struct tombola__machine *m, tombola__formula f, const struct tombola__frame *up) {
  if (!tombola__satisfiable(tombola__machine_store(m), f)) return;
  const struct tombola__thread first = {.up = up, .part = TOMBOLA__JSON, .kind = TOMBOLA__JSON_VALUE, .a = f};
  tombola__machine_emit(m, &first);
}

void tombola__json_step(struct tombola__machine *m, const struct tombola__thread *thread, uint8_t byte) {
  switch ((enum tombola__json_kind)thread->kind) {
  case TOMBOLA__JSON_VALUE: value_step(m, thread, byte); break;
  case TOMBOLA__JSON_STRING: tombola__json_string_step(m, thread, byte); break;
  case TOMBOLA__JSON_KEY: tombola__json_key_step(m, thread, byte); break;
  case TOMBOLA__JSON_NAME: name_step(m, thread, byte); break;
  case TOMBOLA__JSON_COLON: colon_step(m, thread, byte); break;
  case TOMBOLA__JSON_NUMBER: number_step(m, thread, byte); break;
  case TOMBOLA__JSON_LITERAL: literal_step(m, thread, byte); break;
  case TOMBOLA__JSON_NEXT: next_step(m, thread, byte); break;
  case TOMBOLA__JSON_CLOSE: close_step(m, thread, byte); break;
  case TOMBOLA__JSON_AFTER: after_step(m, thread, byte); break;
  }
}
