/* SPDX-License-Identifier: Apache-2.0 */
/* Names of properties. A key's thread follows all declared names at once, as a range of the shape's sorted names that
 * begin with what is read, and the language of undeclared names next to it. A name that is there already can't come
 * again: declared ones have a bit; of undeclared ones the languages that would run out are looked at. */
#include <string.h>

#include "constraint/code_point.h"
#include "constraint/lang/lang_terms.h"
#include "constraint/machine/json.h"

static uint32_t range_lo(const struct tombola__thread *t) {
  return t->d & 0xFFFF;
}

static uint32_t range_hi(const struct tombola__thread *t) {
  return t->d >> 16;
}

/* ---- declared names ---- */

/* The code point at a byte of a name, + 1; 0 at its end. */
static uint32_t point_at(const struct tombola__name *name, size_t at) {
  if (at >= name->length) return 0;
  uint32_t point = 0;
  tombola__utf8_read(name->text + at, name->length - at, &point);
  return point + 1;
}

/* The first name of lo to hi whose code point at `at` is `point` or more. UTF-8 sorts as code points do. */
static uint32_t lower_bound(const struct tombola__object_shape *shape, uint32_t lo, uint32_t hi, size_t at,
                            uint32_t point) {
  while (lo < hi) {
    const uint32_t middle = lo + (hi - lo) / 2;
    if (point_at(shape->declared[middle].name, at) < point + 1)
      lo = middle + 1;
    else
      hi = middle;
  }
  return lo;
}

/* Whether a bit of lo to hi (without it) is set. */
static bool any_bit(const uint64_t *bits, uint32_t lo, uint32_t hi) {
  for (uint32_t word = lo / 64; lo < hi; word++, lo = word * 64) {
    uint64_t w = bits[word] >> lo % 64 << lo % 64;
    if (hi < (word + 1) * 64) w &= (UINT64_C(1) << hi % 64) - 1;
    if (w) return true;
  }
  return false;
}

/* The allowed names of the thread's range that go on with a code point of the range; lo == hi: none. */
static uint32_t narrowed(const struct tombola__json_names *names, const struct tombola__thread *t,
                         struct tombola__range points) {
  const struct tombola__object_shape *const shape = names->object->state.shape;
  uint32_t lo = range_lo(t), hi = range_hi(t);
  if (lo == hi) return 0;
  lo = lower_bound(shape, lo, hi, t->e, points.lo);
  hi = lower_bound(shape, lo, hi, t->e, points.hi + 1);
  return any_bit(names->allowed, lo, hi) ? hi << 16 | lo : 0;
}

/* ---- undeclared names that are there ---- */

/* How many of them begin with what the key says so far, and then a code point of `points` (NULL: anything, or end). */
static uint64_t rivals(struct tombola__machine *m, const struct tombola__json_names *names,
                       const struct tombola__range *points) {
  const size_t length = tombola__machine_length(m) + 1 - names->start;
  char *const prefix = tombola__machine_take(m, length + 4);
  if (!prefix) return 0;
  const size_t n = tombola__json_decoded(tombola__machine_text(m) + names->start, length, prefix);
  uint64_t count = 0;
  for (const struct tombola__json_extra *x = names->object->extras; x; x = x->next) {
    if (x->length < n || memcmp(x->name, prefix, n)) continue;
    const struct tombola__name name = {x->name, x->length};
    const uint32_t point = point_at(&name, n);
    if (!points || (point > points->lo && point <= points->hi + 1)) count++;
  }
  return count;
}

/* Whether the language has more texts than those of the rivals, which are all in it. */
static bool has_more(struct tombola__machine *m, tombola__lang lang, uint64_t n_rivals) {
  return tombola__lang_count(tombola__machine_store(m), lang, n_rivals + 1) > n_rivals;
}

/* Whether an undeclared name can go on with a code point of `points`. */
static bool extra_can_step(struct tombola__machine *m, const struct tombola__json_names *names,
                           const struct tombola__thread *t, struct tombola__range points) {
  struct tombola__store *const s = tombola__machine_store(m);
  if (t->a == TOMBOLA__LANG_NONE || !tombola__lang_can_step(s, t->a, points.lo, points.hi)) return false;
  if (!(t->phase & TOMBOLA__JSON_RIVAL)) return true;
  const uint64_t n = rivals(m, names, &points);
  if (!n) return true;
  const tombola__lang first = tombola__lang_set(s, &points, 1);
  return has_more(m, tombola__lang_and(s, t->a, tombola__lang_concat(s, first, TOMBOLA__LANG_ALL)), n);
}

/* The language behind a whole code point, and whether it still has rivals. */
static void extra_step(struct tombola__machine *m, const struct tombola__json_names *names,
                       struct tombola__thread *t, uint32_t point) {
  if (t->a == TOMBOLA__LANG_NONE) return;
  t->a = tombola__lang_step(tombola__machine_store(m), t->a, point);
  if (!(t->phase & TOMBOLA__JSON_RIVAL)) return;
  const uint64_t n = t->a == TOMBOLA__LANG_NONE ? 0 : rivals(m, names, NULL);
  if (!n || !has_more(m, t->a, n)) {
    t->phase &= TOMBOLA__JSON_PHASES;
    if (n) t->a = TOMBOLA__LANG_NONE;
  }
}

bool tombola__json_names_last(const struct tombola__store *s, const struct tombola__object_shape *shape) {
  const struct tombola__term *const t = tombola__term(s, shape->extra);
  return shape->extra == TOMBOLA__LANG_ALL ||
         (t->kind == TOMBOLA__TERM_NOT && tombola__term(s, t->a)->longest != TOMBOLA__LANG_UNBOUNDED);
}

/* Whether every undeclared name has the same ways to go on. */
static bool are_alike(const struct tombola__object_shape *shape) {
  for (size_t i = 0; i < shape->n_groups; i++)
    if (shape->groups[i].keys != TOMBOLA__LANG_ALL && shape->groups[i].keys != shape->extra) return false;
  return !shape->n_wants;
}

bool tombola__json_name_is_free(const struct tombola__machine *m, const struct tombola__thread *t) {
  const struct tombola__store *const s = tombola__machine_store(m);
  const struct tombola__json_names *const names = tombola__json_names_of(t->up);
  const struct tombola__object_shape *const shape = names->object->state.shape;
  if (t->phase != TOMBOLA__JSON_PLAIN || t->a == TOMBOLA__LANG_NONE || !s->plain_names) return false;
  if (names->head.unique != TOMBOLA__JSON_NOWHERE) return false;
  if (!are_alike(shape) || !tombola__json_names_last(s, shape)) return false;
  const char *const text = (const char *)tombola__machine_text(m) + names->start;
  const size_t length = tombola__machine_length(m) - names->start;
  return !memchr(text, '\\', length);
}

bool tombola__json_name_taken(const struct tombola__machine *m, const struct tombola__thread *t,
                              const void **at, struct tombola_bytes *rest) {
  const struct tombola__json_names *const names = tombola__json_names_of(t->up);
  const char *const text = (const char *)tombola__machine_text(m) + names->start;
  const size_t length = tombola__machine_length(m) - names->start;
  const struct tombola__json_extra *x =
      *at ? ((const struct tombola__json_extra *)*at)->next : names->object->extras;
  while (x && (x->length < length || memcmp(x->name, text, length)))
    x = x->next;
  if (!x) return false;
  *at = x;
  *rest = (struct tombola_bytes){x->name + length, x->length - length};
  return true;
}

bool tombola__json_name_declared(const struct tombola__thread *t, uint32_t *i, struct tombola_bytes *rest) {
  const struct tombola__object_shape *const shape = tombola__json_names_of(t->up)->object->state.shape;
  if (range_lo(t) + *i >= range_hi(t)) return false;
  const struct tombola__name *const name = shape->declared[range_lo(t) + (*i)++].name;
  *rest = (struct tombola_bytes){name->text + t->e, name->length - t->e};
  return true;
}

void tombola__json_end_name(struct tombola__machine *m, const struct tombola__thread *t) {
  const struct tombola__json_object *const object = tombola__json_names_of(t->up)->object;
  struct tombola__json_extra *const extra = tombola__machine_take(m, sizeof *extra);
  if (!extra) return;
  /* No name is like this one: it isn't well-formed. */
  *extra = (struct tombola__json_extra){.next = object->extras, .name = "\xFF", .length = 1, .hash = 1};
  tombola__json_property(m, object, TOMBOLA__MANY, extra);
}

/* ---- keys ---- */

void tombola__json_begin_key(struct tombola__machine *m, const struct tombola__json_names *names) {
  const struct tombola__json_object *const object = names->object;
  struct tombola__json_names *const inside = tombola__machine_take(m, sizeof *inside);
  if (!inside) return;
  *inside = *names;
  inside->start = (uint32_t)tombola__machine_length(m) + 1;
  struct tombola__thread key = {.up = &inside->head.frame, .part = TOMBOLA__JSON, .kind = TOMBOLA__JSON_KEY};
  key.a = names->extra ? object->state.shape->extra : TOMBOLA__LANG_NONE;
  key.d = (uint32_t)object->state.shape->n_declared << 16;
  if (!any_bit(names->allowed, 0, (uint32_t)object->state.shape->n_declared)) key.d = 0;
  if (names->extra && object->extras &&
      !tombola__json_names_last(tombola__machine_store(m), object->state.shape))
    key.phase = TOMBOLA__JSON_RIVAL;
  tombola__machine_emit(m, &key);
}

static bool is_there(const struct tombola__json_object *object, const struct tombola__json_extra *extra) {
  for (const struct tombola__json_extra *x = object->extras; x; x = x->next)
    if (x->hash == extra->hash && x->length == extra->length && !memcmp(x->name, extra->name, x->length))
      return true;
  return false;
}

/* The closing quote. */
static void end_key(struct tombola__machine *m, const struct tombola__thread *t) {
  const struct tombola__json_names *const names = tombola__json_names_of(t->up);
  const struct tombola__json_object *const object = names->object;
  const uint32_t lo = range_lo(t);
  if (lo < range_hi(t) && object->state.shape->declared[lo].name->length == t->e) {
    if (any_bit(names->allowed, lo, lo + 1)) tombola__json_property(m, object, lo, NULL);
    return;
  }
  if (t->a == TOMBOLA__LANG_NONE || !tombola__lang_accepts_empty(tombola__machine_store(m), t->a)) return;
  const size_t length = tombola__machine_length(m) - names->start;
  struct tombola__json_extra *const extra = tombola__machine_take(m, sizeof *extra + length + 1);
  if (!extra) return;
  char *const name = (char *)(extra + 1);
  extra->next = object->extras;
  extra->name = name;
  extra->length = tombola__json_decoded(tombola__machine_text(m) + names->start, length, name);
  extra->hash = tombola__mix(1, extra->length);
  for (size_t i = 0; i < extra->length; i++)
    extra->hash = tombola__mix(extra->hash, (uint8_t)name[i]);
  if (!is_there(object, extra)) tombola__json_property(m, object, TOMBOLA__MANY, extra);
}

/* A whole code point. */
static void key_point(struct tombola__machine *m, const struct tombola__thread *t, uint32_t point) {
  const struct tombola__json_names *const names = tombola__json_names_of(t->up);
  struct tombola__thread next = *t;
  next.phase &= TOMBOLA__JSON_RIVAL;
  next.b = next.c = 0;
  next.d = narrowed(names, t, (struct tombola__range){point, point});
  next.e = next.d ? t->e + tombola__utf8_length(point) : 0;
  extra_step(m, names, &next, point);
  if (next.d || next.a != TOMBOLA__LANG_NONE) tombola__machine_emit(m, &next);
}

void tombola__json_key_step(struct tombola__machine *m, const struct tombola__thread *t, uint8_t byte) {
  const unsigned phase = t->phase & TOMBOLA__JSON_PHASES;
  if (phase == TOMBOLA__JSON_PLAIN) {
    if (byte == '"') {
      end_key(m, t);
      return;
    }
    if (tombola__json_is_plain(byte)) {
      key_point(m, t, byte);
      return;
    }
  }
  struct tombola__json_step step;
  tombola__json_decode(tombola__machine_store(m)->spelling, t, byte, &step);
  if (!step.n_ranges) return;
  if (step.phase == TOMBOLA__JSON_PLAIN) {
    key_point(m, t, step.point);
    return;
  }
  const struct tombola__json_names *const names = tombola__json_names_of(t->up);
  struct tombola__thread next = *t;
  next.phase = (uint16_t)((t->phase & TOMBOLA__JSON_RIVAL) | step.phase);
  next.b = step.b;
  next.c = step.c;
  for (unsigned i = 0; i < step.n_ranges; i++)
    if (narrowed(names, t, step.ranges[i]) || extra_can_step(m, names, t, step.ranges[i])) {
      tombola__machine_emit(m, &next);
      return;
    }
}
