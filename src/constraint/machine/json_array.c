/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays: frames, the ways to go on with an item, and items that may not come twice. */
#include <string.h>

#include "constraint/machine/json.h"

#define FIRST_SEEN 8u

/* Whether its items are compared with each other. */
static bool compares(const struct tombola__json_array *a) {
  return a->shape->unique || (a->shape->not_unique && !a->paired);
}

/* The number of items as far as it matters to a key. Where items are counted or compared all of it does. */
static uint64_t count_for_key(const struct tombola__json_array *a) {
  const struct tombola__array_shape *const shape = a->shape;
  if (shape->n_counts || compares(a) || a->count < shape->n_items) return a->count;
  const uint32_t missing = a->count < shape->min ? shape->min - a->count : 0;
  const uint32_t left = shape->max == TOMBOLA__MANY ? TOMBOLA__JSON_FAR : shape->max - a->count;
  const uint32_t few = missing < TOMBOLA__JSON_FAR ? missing : TOMBOLA__JSON_FAR;
  const uint32_t some = left < TOMBOLA__JSON_FAR ? left : TOMBOLA__JSON_FAR;
  return UINT64_C(1) << 63 | (uint64_t)few << 32 | some;
}

static void make_key(struct tombola__json_array *a) {
  const struct tombola__frame *const up = a->head.frame.up;
  for (unsigned i = 0; i < 2; i++) {
    uint64_t key = tombola__mix(TOMBOLA__JSON_ARRAY + 16 + i, up ? up->key[i] : 0);
    key = tombola__mix(key, (uint64_t)(uintptr_t)a->shape);
    key = tombola__mix(key, count_for_key(a));
    for (size_t c = 0; c < a->shape->n_counts; c++)
      key = tombola__mix(key, a->counts[c]);
    a->head.frame.key[i] = tombola__mix(tombola__mix(key, a->seen_hash + a->n_seen), a->paired);
  }
}

static struct tombola__array_state state_of(const struct tombola__json_array *a) {
  return (struct tombola__array_state){
      .shape = a->shape,
      .count = a->count,
      .counts = a->counts,
      .seen = compares(a) && a->seen ? a->seen->texts : NULL,
      .paired = a->paired,
  };
}

/* ---- items ---- */

struct way {
  struct tombola__machine *m;
  const struct tombola__json_array *array; /* without the item */
  bool end;                                /* the array may end instead */
};

static void go_way(void *context, tombola__formula value, const void *more) {
  struct way *const way = context;
  const struct tombola__json_array *const a = way->array;
  const size_t n = a->shape->n_counts;
  struct tombola__json_array *const next = tombola__machine_take(way->m, sizeof *next + n * sizeof(uint32_t));
  if (!next) return;
  *next = *a;
  next->count++;
  next->start = (uint32_t)tombola__machine_length(way->m) + 1;
  if (compares(a) && a->head.unique == TOMBOLA__JSON_NOWHERE) next->head.unique = next->start;
  if (n) {
    uint32_t *const counts = (uint32_t *)(next + 1);
    memcpy(counts, more, n * sizeof *counts);
    next->counts = counts;
  }
  make_key(next);
  const struct tombola__thread item = {
      .up = &next->head.frame, .part = TOMBOLA__JSON, .kind = TOMBOLA__JSON_VALUE, .a = value, .c = way->end};
  tombola__machine_emit(way->m, &item);
}

static void expect_item(struct tombola__machine *m, const struct tombola__json_array *a, bool end) {
  struct tombola__array_state state = state_of(a);
  struct way way = {m, a, end};
  tombola__array_ways(tombola__machine_store(m), &state, go_way, &way);
}

void tombola__json_open_array(struct tombola__machine *m, const struct tombola__array_shape *shape,
                              const struct tombola__frame *up) {
  struct tombola__json_array *const a =
      tombola__json_frame(m, up, sizeof *a + shape->n_counts * sizeof(uint32_t), TOMBOLA__JSON_ARRAY);
  if (!a) return;
  a->shape = shape;
  a->counts = (const uint32_t *)(a + 1);
  make_key(a);
  const struct tombola__array_state state = state_of(a);
  const bool end = tombola__array_may_end(tombola__machine_store(m), &state);
  if (end && !shape->max) {
    const struct tombola__thread close = {
        .up = &a->head.frame, .part = TOMBOLA__JSON, .kind = TOMBOLA__JSON_CLOSE};
    tombola__machine_emit(m, &close);
  } else {
    expect_item(m, a, end);
  }
}

void tombola__json_array_step(struct tombola__machine *m, const struct tombola__thread *t, uint8_t byte) {
  const struct tombola__json_array *const a = tombola__json_array_of(t->up);
  if (byte == ',') {
    expect_item(m, a, false);
  } else if (byte == ']') {
    const struct tombola__array_state state = state_of(a);
    if (tombola__array_may_end(tombola__machine_store(m), &state))
      tombola__json_end(m, t->up->up, (uint32_t)tombola__machine_length(m) + 1);
  }
}

/* ---- items that may not come twice, or must ---- */

static const struct tombola__json_seen *grown(struct tombola__machine *m, const struct tombola__json_array *a,
                                              uint32_t room) {
  struct tombola__json_seen *const seen = tombola__machine_take(m, sizeof *seen);
  if (!seen) return NULL;
  seen->room = room;
  seen->texts = tombola__machine_take(m, room * sizeof *seen->texts);
  seen->hashes = tombola__machine_take(m, room * sizeof *seen->hashes);
  seen->numbers = tombola__machine_take(m, room * sizeof *seen->numbers);
  if (!seen->numbers || !seen->hashes || !seen->texts) return NULL;
  if (a->n_seen) {
    memcpy(seen->texts, a->seen->texts, a->n_seen * sizeof *seen->texts);
    memcpy(seen->hashes, a->seen->hashes, a->n_seen * sizeof *seen->hashes);
    memcpy(seen->numbers, a->seen->numbers, a->n_numbers * sizeof *seen->numbers);
  }
  return seen;
}

static bool is_there(const struct tombola__json_array *a, const char *text, uint64_t hash) {
  for (uint32_t i = 0; i < a->n_seen; i++)
    if (a->seen->hashes[i] == hash && !strcmp(a->seen->texts[i], text)) return true;
  return false;
}

/* The array with an item that isn't there yet. */
static const struct tombola__frame *with_item(struct tombola__machine *m, const struct tombola__json_array *a,
                                              const char *text, size_t length, uint64_t hash) {
  struct tombola__json_array *const next = tombola__machine_take(m, sizeof *next);
  if (!next) return NULL;
  *next = *a;
  if (!a->seen || a->n_seen == a->seen->room)
    next->seen = grown(m, a, a->n_seen ? 2 * a->n_seen : FIRST_SEEN);
  if (!next->seen) return NULL;
  next->seen->texts[a->n_seen] = text;
  next->seen->hashes[a->n_seen] = hash;
  next->n_seen++;
  next->seen_hash += hash;
  if (a->shape->unique && (*text == '-' || (*text >= '0' && *text <= '9'))) {
    char *const digits = tombola__machine_take(m, length);
    if (!digits || !tombola__decimal_read(text, length, digits, &next->seen->numbers[a->n_numbers]))
      return NULL;
    next->n_numbers++;
  }
  make_key(next);
  return &next->head.frame;
}

/* The array with two equal items: what they were doesn't matter any more. */
static const struct tombola__frame *with_pair(struct tombola__machine *m,
                                              const struct tombola__json_array *a) {
  struct tombola__json_array *const next = tombola__machine_take(m, sizeof *next);
  if (!next) return NULL;
  *next = *a;
  next->paired = true;
  next->seen = NULL;
  next->n_seen = 0;
  next->seen_hash = 0;
  const struct tombola__frame *const up = a->head.frame.up;
  next->head.unique = tombola__is_json(up) ? ((const struct tombola__json_head *)(const void *)up)->unique
                                           : TOMBOLA__JSON_NOWHERE;
  make_key(next);
  return &next->head.frame;
}

static void *take(void *machine, size_t size) {
  return tombola__machine_take(machine, size);
}

const struct tombola__frame *tombola__json_item(struct tombola__machine *m,
                                                const struct tombola__json_array *a, uint32_t end) {
  if (!compares(a)) return &a->head.frame;
  size_t length = 0;
  const char *const item = (const char *)tombola__machine_text(m) + a->start;
  const char *const text =
      tombola__canonical_in(tombola__machine_store(m), take, m, item, end - a->start, &length);
  if (!text) return NULL;
  uint64_t hash = tombola__mix(1, length);
  for (size_t i = 0; i < length; i++)
    hash = tombola__mix(hash, (uint8_t)text[i]);
  if (!is_there(a, text, hash)) return with_item(m, a, text, length, hash);
  return a->shape->unique ? NULL : with_pair(m, a);
}
