/* SPDX-License-Identifier: Apache-2.0 */
/* JSON texts: what is asked about a place. */
#include <string.h>

#include "constraint/machine/json.h"

bool tombola__json_complete(struct tombola__machine *m, const struct tombola__thread *t) {
  if (t->kind == TOMBOLA__JSON_AFTER) return tombola__machine_may_end(m, t->up);
  if (t->kind != TOMBOLA__JSON_NUMBER || !(t->phase & TOMBOLA__NUMBER_IS) || tombola__is_json(t->up))
    return false;
  return tombola__machine_may_end(m, t->up);
}

/* ---- texts ---- */

bool tombola__json_in_text(const struct tombola__machine *m, const struct tombola__thread *t) {
  if (t->kind == TOMBOLA__JSON_KEY) return tombola__json_name_is_free(m, t);
  if (t->kind != TOMBOLA__JSON_STRING || t->phase != TOMBOLA__JSON_PLAIN) return false;
  return !tombola__is_json(t->up) ||
         ((const struct tombola__json_head *)(const void *)t->up)->unique == TOMBOLA__JSON_NOWHERE;
}

bool tombola__json_in_escape(struct tombola__machine *m, const struct tombola__thread *t, size_t length) {
  if (t->kind != TOMBOLA__JSON_STRING && t->kind != TOMBOLA__JSON_KEY) return false;
  if (t->phase != TOMBOLA__JSON_ESCAPE || t->a == TOMBOLA__LANG_NONE) return false;
  const struct tombola__freedom f = tombola__lang_freedom(tombola__machine_store(m), t->a);
  return f.length > length && f.others && f.spaces && !~(f.ascii[0] & f.ascii[1] & f.ascii[2] & f.ascii[3]);
}

bool tombola__json_taken(const struct tombola__machine *m, const struct tombola__thread *t, const void **at,
                         struct tombola_bytes *rest) {
  return t->kind == TOMBOLA__JSON_KEY && tombola__json_name_taken(m, t, at, rest);
}

bool tombola__json_declared(const struct tombola__thread *t, uint32_t *i, struct tombola_bytes *rest) {
  return t->kind == TOMBOLA__JSON_KEY && tombola__json_name_declared(t, i, rest);
}

void tombola__json_end_text(struct tombola__machine *m, const struct tombola__thread *t) {
  if (t->kind == TOMBOLA__JSON_KEY)
    tombola__json_end_name(m, t);
  else
    tombola__json_end(m, t->up, (uint32_t)tombola__machine_length(m) + 1);
}

/* ---- freedom ---- */

bool tombola__json_freedom(struct tombola__machine *m, const struct tombola__thread *t,
                           struct tombola__freedom *out) {
  const bool is_key = t->kind == TOMBOLA__JSON_KEY;
  if ((t->kind != TOMBOLA__JSON_STRING && !is_key) || t->phase & TOMBOLA__JSON_PHASES) return false;
  if (t->a == TOMBOLA__LANG_NONE) return false;
  *out = tombola__lang_freedom(tombola__machine_store(m), t->a);
  /* What is left of a name may be one that is there, unless names never run out. */
  if (is_key && t->phase & TOMBOLA__JSON_RIVAL && out->length != TOMBOLA__LANG_UNBOUNDED) return false;
  out->ascii[0] = 0;
  out->ascii['"' / 32] &= ~(UINT32_C(1) << '"' % 32);
  out->ascii['\\' / 32] &= ~(UINT32_C(1) << '\\' % 32);
  return out->length > 0;
}

struct tombola__digits tombola__json_digits(const struct tombola__machine *m,
                                            const struct tombola__thread *t) {
  if (t->kind != TOMBOLA__JSON_NUMBER || !(t->phase & TOMBOLA__NUMBER_CAN_GO_ON))
    return (struct tombola__digits){.free = 0};
  const bool excluding = tombola__is_json(t->up) && t->up->kind == TOMBOLA__JSON_ARRAY &&
                         tombola__json_array_of(t->up)->n_numbers > 0;
  return tombola__number_digits(tombola__machine_store(m), t->a,
                                (const char *)tombola__machine_text(m) + t->b,
                                tombola__machine_length(m) - t->b, excluding);
}

/* ---- keys ---- */

static void mix_into(uint64_t key[2], uint64_t word) {
  key[0] = tombola__mix(key[0], word);
  key[1] = tombola__mix(key[1], word + 0x5851F42D);
}

static void mix_text(const struct tombola__machine *m, uint64_t key[2], size_t from) {
  const uint8_t *const text = tombola__machine_text(m);
  const size_t length = tombola__machine_length(m);
  for (; from + 8 <= length; from += 8) {
    uint64_t word;
    memcpy(&word, text + from, 8);
    mix_into(key, word);
  }
  uint64_t word = length - from;
  for (; from < length; from++)
    word = word << 8 | text[from];
  mix_into(key, word);
}

/* White space that is left, as far as the horizon. */
static uint64_t spaces_left(const struct tombola__store *s, uint32_t spaces, size_t horizon) {
  if (s->whitespace != TOMBOLA_WHITESPACE_BOUNDED) return 0;
  const size_t left = s->whitespace_max - spaces;
  return left < horizon ? left : horizon;
}

/* A key's text matters to the keys behind it, which may not be the same. */
static void mix_key(struct tombola__machine *m, const struct tombola__thread *t, size_t horizon,
                    uint64_t key[2]) {
  const tombola__lang like =
      t->a ? tombola__lang_like(tombola__machine_store(m), t->a, (uint32_t)horizon) : TOMBOLA__LANG_NONE;
  mix_into(key, (uint64_t)like << 32 | t->phase);
  mix_into(key, (uint64_t)t->b << 32 | t->c);
  mix_into(key, (uint64_t)t->d << 32 | t->e);
  const void *at = NULL;
  struct tombola_bytes rest;
  if (t->a && (!tombola__json_name_is_free(m, t) || tombola__json_name_taken(m, t, &at, &rest)))
    mix_text(m, key, tombola__json_names_of(t->up)->start);
}

/* What a thread's kind says besides its frame. */
static void mix_place(struct tombola__machine *m, const struct tombola__thread *t, size_t horizon,
                      uint64_t key[2]) {
  struct tombola__store *const s = tombola__machine_store(m);
  switch ((enum tombola__json_kind)t->kind) {
  case TOMBOLA__JSON_STRING:
    mix_into(key, (uint64_t)tombola__lang_like(s, t->a, (uint32_t)horizon) << 32 | t->phase);
    mix_into(key, (uint64_t)t->b << 32 | t->c);
    break;
  case TOMBOLA__JSON_KEY: mix_key(m, t, horizon, key); break;
  case TOMBOLA__JSON_NUMBER:
    mix_into(key, (uint64_t)t->a << 32 | t->phase);
    mix_text(m, key, t->b);
    break;
  case TOMBOLA__JSON_LITERAL: mix_into(key, (uint64_t)t->a << 32 | t->b); break;
  case TOMBOLA__JSON_VALUE:
  case TOMBOLA__JSON_NAME:
  case TOMBOLA__JSON_COLON:
  case TOMBOLA__JSON_NEXT:
  case TOMBOLA__JSON_CLOSE:
    mix_into(key, (uint64_t)t->a << 32 | t->c);
    mix_into(key, spaces_left(s, t->b, horizon));
    break;
  case TOMBOLA__JSON_AFTER: break;
  }
}

void tombola__json_key(struct tombola__machine *m, const struct tombola__thread *t, size_t horizon,
                       uint64_t key[2]) {
  key[0] = t->up ? t->up->key[0] : 1;
  key[1] = t->up ? t->up->key[1] : 2;
  mix_into(key, t->kind);
  /* Beyond what frames tell apart, only the same text is the same place. */
  if (horizon > 2 * (size_t)TOMBOLA__JSON_FAR) mix_text(m, key, 0);
  if (tombola__is_json(t->up)) {
    const uint32_t unique = ((const struct tombola__json_head *)(const void *)t->up)->unique;
    if (unique != TOMBOLA__JSON_NOWHERE) mix_text(m, key, unique);
  }
  mix_place(m, t, horizon, key);
}
