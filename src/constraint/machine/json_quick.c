/* SPDX-License-Identifier: Apache-2.0 */
/* JSON texts: bytes that need no more than a look. Masks try many bytes at each place; most of them are refused, or move
 * on within a string, a key that isn't a declared one, or white space. */
#include "constraint/machine/json.h"

static enum tombola__quick moved_if(bool moves) {
  return moves ? TOMBOLA__MOVED : TOMBOLA__REFUSED;
}

/* Text of a string or an undeclared name. */
static enum tombola__quick in_text(const struct tombola__store *s, const struct tombola__thread *t,
                                   uint8_t byte, struct tombola__thread *next) {
  if (byte < 0x20) return t->phase == TOMBOLA__JSON_PLAIN ? TOMBOLA__REFUSED : TOMBOLA__SLOW;
  if (t->phase != TOMBOLA__JSON_PLAIN || !tombola__json_is_plain(byte)) return TOMBOLA__SLOW;
  const struct tombola__lang_table *const table = tombola__lang_table(s, t->a);
  const uint32_t to = table ? table->next[table->class_of[byte]] : TOMBOLA__LANG_UNKNOWN;
  if (to == TOMBOLA__LANG_UNKNOWN) return TOMBOLA__SLOW;
  if (to == t->a) return TOMBOLA__STAYED;
  *next = *t;
  next->a = to;
  return moved_if(to != TOMBOLA__LANG_NONE);
}

static uint8_t byte_of(const struct tombola__name *name, size_t at) {
  return at < name->length ? (uint8_t)name->text[at] : 0;
}

/* A name: the declared ones of the range (`d`) begin like it. They are ascending by their bytes. */
static enum tombola__quick in_name(const struct tombola__store *s, const struct tombola__thread *t,
                                   uint8_t byte, struct tombola__thread *next) {
  if (t->phase != TOMBOLA__JSON_PLAIN || byte == '"' || byte == '\\') return TOMBOLA__SLOW;
  const uint32_t lo = t->d & 0xFFFF, hi = t->d >> 16;
  if (lo < hi) {
    const struct tombola__declared *const names =
        tombola__json_names_of(t->up)->object->state.shape->declared;
    if (byte >= byte_of(names[lo].name, t->e) && byte <= byte_of(names[hi - 1].name, t->e))
      return TOMBOLA__SLOW;
    if (t->a == TOMBOLA__LANG_NONE) return TOMBOLA__REFUSED;
  }
  if (t->a == TOMBOLA__LANG_NONE || !tombola__json_is_plain(byte)) return TOMBOLA__SLOW;
  const enum tombola__quick quick = in_text(s, t, byte, next);
  if (quick == TOMBOLA__REFUSED || quick == TOMBOLA__SLOW || !t->d) return quick;
  if (quick == TOMBOLA__STAYED) *next = *t;
  next->d = next->e = 0;
  return TOMBOLA__MOVED;
}

/* Between the tokens of JSON: white space that is counted in `b`, or one of a few bytes. */
static enum tombola__quick in_structure(const struct tombola__store *s, const struct tombola__thread *t,
                                        uint8_t byte, bool fits, struct tombola__thread *next) {
  if (!tombola__json_is_space(byte)) return fits ? TOMBOLA__SLOW : TOMBOLA__REFUSED;
  if (s->whitespace == TOMBOLA_WHITESPACE_ANY) return TOMBOLA__STAYED;
  *next = *t;
  next->b++;
  return moved_if(s->whitespace == TOMBOLA_WHITESPACE_BOUNDED && t->b < s->whitespace_max);
}

static bool begins_value(const struct tombola__thread *t, uint8_t byte) {
  switch (byte) {
  case '"':
  case '{':
  case '[':
  case 'n':
  case 'f':
  case 't': return true;
  case ']': return t->c;
  default: return tombola__json_in_number(byte);
  }
}

static enum tombola__quick in_number(const struct tombola__thread *t, uint8_t byte) {
  if (tombola__json_in_number(byte))
    return t->phase & TOMBOLA__NUMBER_CAN_GO_ON ? TOMBOLA__SLOW : TOMBOLA__REFUSED;
  if (!(t->phase & TOMBOLA__NUMBER_IS)) return TOMBOLA__REFUSED;
  if (!tombola__is_json(t->up) || tombola__json_is_space(byte)) return TOMBOLA__SLOW;
  const char end = t->up->kind == TOMBOLA__JSON_ARRAY ? ']' : '}';
  return byte == ',' || byte == (uint8_t)end ? TOMBOLA__SLOW : TOMBOLA__REFUSED;
}

static bool follows_value(const struct tombola__thread *t, uint8_t byte) {
  return byte == ',' || byte == (t->up->kind == TOMBOLA__JSON_ARRAY ? ']' : '}');
}

enum tombola__quick tombola__json_quick(const struct tombola__store *s, const struct tombola__thread *t,
                                        uint8_t byte, struct tombola__thread *next) {
  switch ((enum tombola__json_kind)t->kind) {
  case TOMBOLA__JSON_STRING: return in_text(s, t, byte, next);
  case TOMBOLA__JSON_KEY: return in_name(s, t, byte, next);
  case TOMBOLA__JSON_VALUE: return in_structure(s, t, byte, begins_value(t, byte), next);
  case TOMBOLA__JSON_NAME: return in_structure(s, t, byte, byte == '"' || (byte == '}' && t->c), next);
  case TOMBOLA__JSON_COLON: return in_structure(s, t, byte, byte == ':', next);
  case TOMBOLA__JSON_NEXT: return in_structure(s, t, byte, follows_value(t, byte), next);
  case TOMBOLA__JSON_CLOSE: return in_structure(s, t, byte, byte == ']' || byte == '}', next);
  case TOMBOLA__JSON_NUMBER: return in_number(t, byte);
  case TOMBOLA__JSON_LITERAL:
  case TOMBOLA__JSON_AFTER: break;
  }
  return TOMBOLA__SLOW;
}
