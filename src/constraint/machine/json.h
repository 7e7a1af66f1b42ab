/* SPDX-License-Identifier: Apache-2.0 */
/* JSON texts: what the files of the part share.
 *
 *   json.c         values, white space, numbers, literals
 *   json_string.c  strings, and the code points of a string's text
 *   json_key.c     names of properties
 *   json_object.c, json_array.c   their frames, and the ways to go on
 *   json_quick.c   bytes that need no more than a look
 *   json_place.c   what is asked about a place: freedom, keys, whether the text may end
 */
#ifndef TOMBOLA_JSON_H
#define TOMBOLA_JSON_H

#include "constraint/machine/machine.h"

/* Kinds of threads, with their members; `spaces` counts the white space of a place (BOUNDED only). */
enum tombola__json_kind {
  TOMBOLA__JSON_VALUE,  /* in front of a value. a: formula, b: spaces, c: 1: or `]`, which ends `up` */
  TOMBOLA__JSON_STRING, /* a: language, phase, b, c: half-read code point */
  TOMBOLA__JSON_KEY, /* the same, and d: lo | hi << 16 of the declared names, e: bytes of them that are read */
  TOMBOLA__JSON_NAME,    /* in front of a key. b: spaces, c: 1: or `}`; up: names */
  TOMBOLA__JSON_COLON,   /* a: the value's formula, b: spaces */
  TOMBOLA__JSON_NUMBER,  /* a: set, b: where it began, phase: what tombola__number_scan said */
  TOMBOLA__JSON_LITERAL, /* a: 0 null, 1 false, 2 true; b: bytes read */
  TOMBOLA__JSON_NEXT,    /* behind a value. b: spaces */
  TOMBOLA__JSON_CLOSE,   /* nothing but the end of an empty object or array. b: spaces */
  TOMBOLA__JSON_AFTER    /* behind the root value: white space */
};

enum tombola__json_frame { TOMBOLA__JSON_ARRAY, TOMBOLA__JSON_OBJECT, TOMBOLA__JSON_NAMES };

#define TOMBOLA__JSON_NOWHERE UINT32_MAX

/* Numbers of items and properties that are farther from a bound than this are the same to a key; an item has two bytes
 * at least, so that horizons of up to twice as many are safe. */
#define TOMBOLA__JSON_FAR 256u

struct tombola__json_head {
  struct tombola__frame frame;
  uint32_t
      unique; /* where the item of the outermost array around that compares its items begins, or NOWHERE */
};

/* Items of a unique array, or of one that needs two equal ones. Shared by its frames: they write the same. */
struct tombola__json_seen {
  const char **texts; /* canonical */
  uint64_t *hashes;
  struct tombola__decimal *numbers;
  uint32_t room;
};

struct tombola__json_array {
  struct tombola__json_head head;
  const struct tombola__array_shape *shape;
  uint32_t count; /* the item that is being read included */
  uint32_t start; /* of the item's text */
  const uint32_t *counts;
  const struct tombola__json_seen *seen;
  uint32_t n_seen, n_numbers;
  uint64_t seen_hash;
  bool paired; /* two items are equal, and that is what the shape asks for: no other is looked at */
};

/* Names of undeclared properties, the last one first. */
struct tombola__json_extra {
  const struct tombola__json_extra *next;
  const char *name;
  size_t length;
  uint64_t hash;
};

struct tombola__json_object {
  struct tombola__json_head head;
  struct tombola__object_state state;
  const struct tombola__json_extra *extras;
  uint64_t extras_hash;
  uint64_t place[2]; /* the frame's key but for what is alive: see tombola__json_emit_next() */
};

/* In front of and in a key; `up` is the object's frame. */
struct tombola__json_names {
  struct tombola__json_head head;
  const struct tombola__json_object *object;
  const uint64_t *allowed; /* bits of declared names */
  bool extra;
  uint32_t start; /* behind the opening quote */
};

/* ---- values ---- */

/* Bytes that stand for themselves in a string. */
static inline bool tombola__json_is_plain(uint8_t byte) {
  return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
}

static inline bool tombola__json_is_space(uint8_t byte) {
  return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r';
}

static inline bool tombola__json_in_number(uint8_t byte) {
  return (byte >= '0' && byte <= '9') || byte == '.' || byte == 'e' || byte == 'E' || byte == '-' ||
         byte == '+';
}

/* White space in a place that counts it in `b`: emits the place again where it is allowed. */
void tombola__json_space(struct tombola__machine *m, const struct tombola__thread *t);

/* A value ended with the byte that is being read (`end`: behind it), or in front of it. */
void tombola__json_end(struct tombola__machine *m, const struct tombola__frame *up, uint32_t end);
/* In an array or object: the place behind the value; false: there is none. */
bool tombola__json_after(struct tombola__machine *m, const struct tombola__frame *up, uint32_t end,
                         struct tombola__thread *next);

/* A new frame's head. NULL after a failure, also when it is too deep. `size` is the whole frame's. */
void *tombola__json_frame(struct tombola__machine *m, const struct tombola__frame *up, size_t size,
                          enum tombola__json_frame kind);

/* ---- strings ---- */

/* Phases of a string's text. */
enum tombola__json_phase {
  TOMBOLA__JSON_PLAIN,
  TOMBOLA__JSON_ESCAPE, /* behind a backslash */
  TOMBOLA__JSON_UTF8,   /* + bytes that are still to come, 1 to 3; b to c: the code point */
  TOMBOLA__JSON_HEX = TOMBOLA__JSON_UTF8 + 3, /* + digits to come, 1 to 4; b: of those read */
  TOMBOLA__JSON_PAIR =
      TOMBOLA__JSON_HEX + 5, /* behind a high surrogate; b: the first code point that it can begin */
  TOMBOLA__JSON_PAIR_U,
  TOMBOLA__JSON_LOW /* + digits to come, 1 to 4; c: of those read */
};
#define TOMBOLA__JSON_PHASES 0xffu
#define TOMBOLA__JSON_RIVAL  0x100u /* KEY: an undeclared name that is there begins like this one */

/* What a byte does to a half-read code point. */
struct tombola__json_step {
  unsigned phase; /* PLAIN: `point` is whole */
  uint32_t b, c, point;
  struct tombola__range ranges[3]; /* code points that it can be, else */
  unsigned n_ranges;               /* 0: none, the byte is wrong */
};
void tombola__json_decode(enum tombola_spelling spelling, const struct tombola__thread *t, uint8_t byte,
                          struct tombola__json_step *step);

void tombola__json_string_step(struct tombola__machine *m, const struct tombola__thread *t, uint8_t byte);

/* Decodes the text of a string that has been read, up to the last whole code point; returns the bytes. */
size_t tombola__json_decoded(const uint8_t *text, size_t length, char *out);

/* ---- objects ---- */

void tombola__json_open_object(struct tombola__machine *m, const struct tombola__object_shape *shape,
                               const struct tombola__frame *up);
/* Emits the place behind a value or a comma: in an object with choices as one with another that is alike. */
void tombola__json_emit_next(struct tombola__machine *m, const struct tombola__thread *next);
/* Behind a property: `,` and `}`. */
void tombola__json_object_step(struct tombola__machine *m, const struct tombola__thread *t, uint8_t byte);
void tombola__json_begin_key(struct tombola__machine *m, const struct tombola__json_names *names);
void tombola__json_key_step(struct tombola__machine *m, const struct tombola__thread *t, uint8_t byte);

/* Whether undeclared names can't run out, whatever names are there. */
bool tombola__json_names_last(const struct tombola__store *s, const struct tombola__object_shape *shape);
/* Whether all undeclared names are alike to what follows them, and the name that is being read can be one of those. Only
 * those that are there already may not end it, and declared ones are something else. */
bool tombola__json_name_is_free(const struct tombola__machine *m, const struct tombola__thread *t);
/* Of those, from *at (0 at first; moved on), one that begins with what is read: what would be left of it. False: there
 * is no other. */
bool tombola__json_name_taken(const struct tombola__machine *m, const struct tombola__thread *t,
                              const void **at, struct tombola_bytes *rest);
/* Of declared ones, from *i (0 at first; moved on). */
bool tombola__json_name_declared(const struct tombola__thread *t, uint32_t *i, struct tombola_bytes *rest);
/* Goes on behind some such name. */
void tombola__json_end_name(struct tombola__machine *m, const struct tombola__thread *t);

/* The key is whole: goes on to its value in every way there is. `index` as in tombola__object_ways(). */
void tombola__json_property(struct tombola__machine *m, const struct tombola__json_object *object,
                            uint32_t index, const struct tombola__json_extra *extra);

/* ---- arrays ---- */

void tombola__json_open_array(struct tombola__machine *m, const struct tombola__array_shape *shape,
                              const struct tombola__frame *up);
void tombola__json_array_step(struct tombola__machine *m, const struct tombola__thread *t, uint8_t byte);
/* The item is whole: the frame with it, or NULL when it is there already and may not be. */
const struct tombola__frame *tombola__json_item(struct tombola__machine *m,
                                                const struct tombola__json_array *array, uint32_t end);

static inline const struct tombola__json_array *tombola__json_array_of(const struct tombola__frame *f) {
  return (const struct tombola__json_array *)(const void *)f;
}

static inline const struct tombola__json_object *tombola__json_object_of(const struct tombola__frame *f) {
  return (const struct tombola__json_object *)(const void *)f;
}

static inline const struct tombola__json_names *tombola__json_names_of(const struct tombola__frame *f) {
  return (const struct tombola__json_names *)(const void *)f;
}

static inline bool tombola__is_json(const struct tombola__frame *f) {
  return f && f->part == TOMBOLA__JSON;
}

#endif
