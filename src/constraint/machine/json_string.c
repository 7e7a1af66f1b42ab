/* SPDX-License-Identifier: Apache-2.0 */
/* Strings of JSON texts. Their languages are about code points; the bytes are UTF-8 (without overlong forms and
 * surrogates) and escapes. A code point of which some bytes are read is the range of those that it can still be. */
#include "constraint/code_point.h"
#include "constraint/machine/json.h"

#define LAST_BMP   0xFFFFu
#define FIRST_HIGH 0xD800u
#define LAST_HIGH  0xDBFFu
#define FIRST_LOW  0xDC00u
#define LAST_LOW   0xDFFFu

/* ---- half-read code points ---- */

static void whole(struct tombola__json_step *step, uint32_t point) {
  step->phase = TOMBOLA__JSON_PLAIN;
  step->point = point;
  step->b = step->c = 0;
  step->ranges[0] = (struct tombola__range){point, point};
  step->n_ranges = 1;
}

static void add_range(struct tombola__json_step *step, uint32_t lo, uint32_t hi) {
  if (lo <= hi) step->ranges[step->n_ranges++] = (struct tombola__range){lo, hi};
}

static uint32_t least(uint32_t a, uint32_t b) {
  return a < b ? a : b;
}

static uint32_t most(uint32_t a, uint32_t b) {
  return a > b ? a : b;
}

static void lead_byte(uint8_t byte, struct tombola__json_step *step) {
  unsigned more;
  uint32_t lo, hi;
  if (byte >= 0xC2 && byte <= 0xDF) {
    more = 1;
    lo = (byte & 0x1Fu) << 6;
    hi = lo | 0x3F;
  } else if (byte >= 0xE0 && byte <= 0xEF) {
    more = 2;
    lo = (byte & 0x0Fu) << 12;
    hi = lo | 0xFFF;
    if (byte == 0xE0) lo = 0x800;
    if (byte == 0xED) hi = FIRST_HIGH - 1;
  } else if (byte >= 0xF0 && byte <= 0xF4) {
    more = 3;
    lo = (byte & 0x07u) << 18;
    hi = least(lo | 0x3FFFF, TOMBOLA__LAST_CODE_POINT);
    if (byte == 0xF0) lo = LAST_BMP + 1;
  } else {
    return;
  }
  step->phase = TOMBOLA__JSON_UTF8 + more;
  step->b = lo;
  step->c = hi;
  add_range(step, lo, hi);
}

static void next_byte(const struct tombola__thread *t, unsigned left, uint8_t byte,
                      struct tombola__json_step *step) {
  if ((byte & 0xC0) != 0x80) return;
  const unsigned shift = 6 * (left - 1);
  const uint32_t first = ((t->b >> 6 * left << 6) | (byte & 0x3Fu)) << shift;
  const uint32_t lo = most(t->b, first), hi = least(t->c, first | ((1u << shift) - 1));
  if (lo > hi) return;
  if (left == 1) {
    whole(step, lo);
    return;
  }
  step->phase = TOMBOLA__JSON_UTF8 + left - 1;
  step->b = lo;
  step->c = hi;
  add_range(step, lo, hi);
}

static int hex_digit(uint8_t byte) {
  if (byte >= '0' && byte <= '9') return byte - '0';
  if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
  if (byte >= 'A' && byte <= 'F') return byte - 'A' + 10;
  return -1;
}

static void escape(uint8_t byte, struct tombola__json_step *step) {
  switch (byte) {
  case '"':
  case '\\':
  case '/': whole(step, byte); break;
  case 'b': whole(step, '\b'); break;
  case 'f': whole(step, '\f'); break;
  case 'n': whole(step, '\n'); break;
  case 'r': whole(step, '\r'); break;
  case 't': whole(step, '\t'); break;
  case 'u':
    step->phase = TOMBOLA__JSON_HEX + 4;
    add_range(step, 0, TOMBOLA__LAST_CODE_POINT);
    break;
  default: break;
  }
}

/* \uXXXX, `left` digits in front of this one still to come: itself, or half of a pair. */
static void hex_step(uint32_t read, unsigned left, uint8_t byte, struct tombola__json_step *step) {
  const int digit = hex_digit(byte);
  if (digit < 0) return;
  const uint32_t value = read << 4 | (uint32_t)digit;
  const unsigned shift = 4 * (left - 1);
  const uint32_t lo = value << shift, hi = lo | ((1u << shift) - 1);
  step->phase = TOMBOLA__JSON_HEX + left - 1;
  step->b = value;
  add_range(step, lo, least(hi, FIRST_HIGH - 1));
  add_range(step, most(lo, LAST_LOW + 1), hi);
  const uint32_t high_lo = most(lo, FIRST_HIGH), high_hi = least(hi, LAST_HIGH);
  if (high_lo <= high_hi) {
    const uint32_t first = LAST_BMP + 1 + ((high_lo - FIRST_HIGH) << 10);
    add_range(step, first, LAST_BMP + 1 + ((high_hi - FIRST_HIGH) << 10 | 0x3FF));
    if (left == 1) {
      step->phase = TOMBOLA__JSON_PAIR;
      step->b = first;
    }
  } else if (left == 1 && step->n_ranges) {
    whole(step, value);
  }
}

/* The second half of a pair: \uDC00 to \uDFFF. */
static void low_step(const struct tombola__thread *t, unsigned left, uint8_t byte,
                     struct tombola__json_step *step) {
  const int digit = hex_digit(byte);
  if (digit < 0) return;
  const uint32_t value = t->c << 4 | (uint32_t)digit;
  const unsigned shift = 4 * (left - 1);
  const uint32_t lo = most(value << shift, FIRST_LOW);
  const uint32_t hi = least(value << shift | ((1u << shift) - 1), LAST_LOW);
  if (lo > hi) return;
  if (left == 1) {
    whole(step, t->b + (lo - FIRST_LOW));
    return;
  }
  step->phase = TOMBOLA__JSON_LOW + left - 1;
  step->b = t->b;
  step->c = value;
  add_range(step, t->b + (lo - FIRST_LOW), t->b + (hi - FIRST_LOW));
}

static void pair_step(const struct tombola__thread *t, unsigned phase, struct tombola__json_step *step) {
  step->phase = phase;
  step->b = t->b;
  add_range(step, t->b, t->b + 0x3FF);
}

/* What must be escaped, by how it is: behind a backslash, and behind \u. */
static const struct tombola__range escapes[] = {{0, 0x1F}, {'"', '"'}, {'\\', '\\'}};
static const struct tombola__range codes[] = {{0, 7}, {0x0B, 0x0B}, {0x0E, 0x1F}};

/* What of a step is plain: of an escape, only what must be one. */
static void keep_plain(unsigned phase, struct tombola__json_step *step) {
  if (phase >= TOMBOLA__JSON_UTF8 && phase <= TOMBOLA__JSON_UTF8 + 3) return;
  const bool code = phase > TOMBOLA__JSON_HEX || step->phase == TOMBOLA__JSON_HEX + 4;
  const struct tombola__range *const only = code ? codes : escapes;
  if (step->n_ranges == 0) return;
  const struct tombola__range first = step->ranges[0]; /* what must be escaped isn't in the others */
  step->n_ranges = 0;
  for (size_t i = 0; i < TOMBOLA__COUNT(escapes); i++)
    add_range(step, most(first.lo, only[i].lo), least(first.hi, only[i].hi));
}

void tombola__json_decode(enum tombola_spelling spelling, const struct tombola__thread *t, uint8_t byte,
                          struct tombola__json_step *step) {
  const unsigned phase = t->phase & TOMBOLA__JSON_PHASES;
  *step = (struct tombola__json_step){.n_ranges = 0};
  if (phase == TOMBOLA__JSON_PLAIN) {
    if (byte == '\\') {
      step->phase = TOMBOLA__JSON_ESCAPE;
      add_range(step, 0, TOMBOLA__LAST_CODE_POINT);
    } else if (byte >= 0x80) {
      lead_byte(byte, step);
    } else if (byte >= 0x20) {
      whole(step, byte);
    }
  } else if (phase == TOMBOLA__JSON_ESCAPE) {
    escape(byte, step);
  } else if (phase <= TOMBOLA__JSON_UTF8 + 3) {
    next_byte(t, phase - TOMBOLA__JSON_UTF8, byte, step);
  } else if (phase <= TOMBOLA__JSON_HEX + 4) {
    hex_step(t->b, phase - TOMBOLA__JSON_HEX, byte, step);
  } else if (phase == TOMBOLA__JSON_PAIR) {
    if (byte == '\\') pair_step(t, TOMBOLA__JSON_PAIR_U, step);
  } else if (phase == TOMBOLA__JSON_PAIR_U) {
    if (byte == 'u') pair_step(t, TOMBOLA__JSON_LOW + 4, step);
  } else {
    low_step(t, phase - TOMBOLA__JSON_LOW, byte, step);
  }
  if (spelling == TOMBOLA_SPELLING_PLAIN && (byte == '\\' || phase != TOMBOLA__JSON_PLAIN))
    keep_plain(phase, step);
}

/* ---- the text of a string that has been read ---- */

size_t tombola__json_decoded(const uint8_t *text, size_t length, char *out) {
  struct tombola__thread t = {.phase = TOMBOLA__JSON_PLAIN};
  struct tombola__json_step step;
  size_t n = 0;
  for (size_t i = 0; i < length; i++) {
    tombola__json_decode(TOMBOLA_SPELLING_ANY, &t, text[i], &step);
    t.phase = (uint16_t)step.phase;
    t.b = step.b;
    t.c = step.c;
    if (step.phase == TOMBOLA__JSON_PLAIN) n += tombola__utf8_write(step.point, out + n);
  }
  return n;
}

/* ---- strings ---- */

void tombola__json_string_step(struct tombola__machine *m, const struct tombola__thread *t, uint8_t byte) {
  struct tombola__store *const s = tombola__machine_store(m);
  struct tombola__json_step step;
  if (t->phase == TOMBOLA__JSON_PLAIN && byte == '"') {
    if (tombola__lang_accepts_empty(s, t->a))
      tombola__json_end(m, t->up, (uint32_t)tombola__machine_length(m) + 1);
    return;
  }
  tombola__json_decode(s->spelling, t, byte, &step);
  if (!step.n_ranges) return;
  struct tombola__thread next = *t;
  next.phase = (uint16_t)step.phase;
  next.b = step.b;
  next.c = step.c;
  if (step.phase == TOMBOLA__JSON_PLAIN) {
    next.a = tombola__lang_step(s, t->a, step.point);
    if (next.a != TOMBOLA__LANG_NONE) tombola__machine_emit(m, &next);
    return;
  }
  for (unsigned i = 0; i < step.n_ranges; i++)
    if (tombola__lang_can_step(s, t->a, step.ranges[i].lo, step.ranges[i].hi)) {
      tombola__machine_emit(m, &next);
      return;
    }
}
