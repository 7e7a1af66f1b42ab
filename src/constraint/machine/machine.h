/* SPDX-License-Identifier: Apache-2.0 */
/* The machine that reads a text byte by byte. It follows every reading that is still possible: a reading is a thread,
 * the place in the innermost open thing and a link to the frames around it. A thread that can't be completed is never
 * made, so that a text is good as long as there is a thread.
 *
 *   bytes ──▶ threads ──┬─ json.c   values by shape: objects, arrays, strings, numbers, literals, white space
 *                       ├─ rules.c  grammars: rules over languages (GBNF, regular expressions, choices)
 *                       └─ mix.c    free text, triggers, and what they begin
 *
 * Frames are immutable and shared by threads. The machine is a stack: each byte is a level, and going back by n bytes
 * drops n levels with what they made. Whoever uses a machine holds the grammar's lock: reading makes states. */
#ifndef TOMBOLA_MACHINE_H
#define TOMBOLA_MACHINE_H

#include "constraint/shape/shape.h"

/* What is around a thread, innermost first. Parts put their own members behind it. */
struct tombola__frame {
  const struct tombola__frame *up; /* NULL: the outermost */
  uint64_t key[2]; /* of all that matters in this frame and those around it, for the keys of masks */
  uint8_t part;    /* enum tombola__part: whose frame it is */
  uint8_t kind;    /* the part's */
  uint16_t depth;  /* frames around it */
};

enum tombola__part { TOMBOLA__JSON, TOMBOLA__RULES, TOMBOLA__MIX, TOMBOLA__DONE };

/* A place. What kind, phase and a to e mean is the part's own business; two threads with the same bytes are the same
 * place, so that unused members must be 0. */
struct tombola__thread {
  const struct tombola__frame *up;
  uint8_t part; /* DONE: the text is complete and nothing may follow */
  uint8_t kind;
  uint16_t phase;
  uint32_t a, b, c, d, e;
};

/* What a grammar has been compiled to. Immutable. */
struct tombola__program {
  enum tombola__part part;
  tombola__formula formula;           /* JSON */
  const struct tombola__rules *rules; /* RULES */
  const struct tombola__mix *mix;     /* MIX; a free prelude too */
};

struct tombola__machine;

enum tombola_status tombola__machine_new(struct tombola__store *store, const struct tombola__program *program,
                                         const struct tombola_allocator *allocator,
                                         struct tombola__machine **out);
void tombola__machine_free(struct tombola__machine *m);

/* Reads a byte: false when nothing that begins with the text and it can be completed (nothing changes then), or after a
 * failure of the store (nothing changes either; look at store->status). */
bool tombola__machine_push(struct tombola__machine *m, uint8_t byte);
void tombola__machine_pop(struct tombola__machine *m, size_t bytes);

/* Reads a token: the readings go on that read its bytes (`read` 0: none does), and those that await it as a whole. The
 * number of levels, which is that of the bytes, 1 for none; what is between them has no places, so only all of them may
 * be popped. 0 as with push. */
size_t tombola__machine_push_token(struct tombola__machine *m, uint32_t token, const char *bytes,
                                   size_t length, bool read);

/* Bytes read; while a byte is being read, those in front of it: it is text[length] then. */
size_t tombola__machine_length(const struct tombola__machine *m);
const uint8_t *tombola__machine_text(const struct tombola__machine *m);
bool tombola__machine_complete(const struct tombola__machine *m); /* the text may end here */
bool tombola__machine_can_go_on(struct tombola__machine *m);      /* some byte, or token, may follow */
bool tombola__machine_awaits(const struct tombola__machine *m);   /* some reading awaits a token as a whole */

/* Texts of code points that may all follow here (in a JSON string without those that need an escape): what of a
 * vocabulary is allowed without looking at it. False: none. */
bool tombola__machine_freedom(struct tombola__machine *m, struct tombola__freedom *out);

/* Whether the only place is in the text of a JSON string, such that it doesn't matter what the text is to whatever
 * follows its end (no token's bytes may hold a whole name behind another: store->plain_names). *lang: what follows here,
 * up to the end. */
bool tombola__machine_in_text(struct tombola__machine *m, tombola__lang *lang);
/* Whether the only place is behind a backslash, and then any text of up to `length` code points may follow. */
bool tombola__machine_in_escape(struct tombola__machine *m, size_t length);
/* Where it is in such a text: what may not follow up to the end. From *at (NULL at first; moved on); false: nothing else. */
bool tombola__machine_taken(const struct tombola__machine *m, const void **at, struct tombola_bytes *rest);
/* Names that are something else: from *i (0 at first; moved on). */
bool tombola__machine_declared(const struct tombola__machine *m, uint32_t *i, struct tombola_bytes *rest);
/* And there: reads the closing quote as if the text could end here. False: the string can't be the one that is wanted. */
bool tombola__machine_end_text(struct tombola__machine *m);

/* Where the only place is in a number. */
struct tombola__digits tombola__machine_digits(const struct tombola__machine *m);

/* The places of the readings; valid until the next push. */
const struct tombola__thread *tombola__machine_readings(const struct tombola__machine *m, size_t *n);

/* Two places with the same key allow the same texts of up to `horizon` bytes. */
void tombola__machine_key(struct tombola__machine *m, size_t horizon, uint64_t key[2]);

/* Whether some reading is inside a grammar (not in free text). */
bool tombola__machine_engaged(const struct tombola__machine *m);

/* ---- for the parts ---- */

/* Memory of the level that is being made, zeroed, aligned to 8; NULL after a failure of the store. */
void *tombola__machine_take(struct tombola__machine *m, size_t size);

/* Adds a reading of the text with the byte that is being read; the same place twice is one. */
void tombola__machine_emit(struct tombola__machine *m, const struct tombola__thread *thread);

/* What has been emitted of the text with the byte that is being read, for a part that can go on with one of them as two
 * readings; NULL while the places in front of a byte are collected. Valid until the next emit. */
struct tombola__thread *tombola__machine_emitted(struct tombola__machine *m, size_t *n);

/* The thing inside of `up` has ended with the byte that is being read: goes on in what is around it. By up->part, to the
 * part's _return; NULL: emits DONE. */
void tombola__machine_return(struct tombola__machine *m, const struct tombola__frame *up);

/* The thing inside of `up` may have ended in front of the byte that is being read (a number, a language that accepts):
 * makes the places that follow _return, and reads the byte in each of them at once. */
void tombola__machine_return_before(struct tombola__machine *m, const struct tombola__frame *up,
                                    uint8_t byte);

/* Tells the points of a text apart while reading: another number (greater than 0) for every push, also one that fails or
 * comes again after a pop, and for each time that _return_before makes places (not for the reading in them, which has
 * the number from before). So that a part can keep in its frames what it has already made at this very point. */
uint64_t tombola__machine_turn(const struct tombola__machine *m);

/* Whether the text may end where the thing inside of `up` has ended; NULL: it may. */
bool tombola__machine_may_end(const struct tombola__machine *m, const struct tombola__frame *up);

/* The reading is at a point so many bytes in front of the byte that is being pushed: bytes that were read as something
 * else are read once more. tombola__machine_length() is that of this point. 0 again before the push ends. */
void tombola__machine_look_back(struct tombola__machine *m, size_t bytes);

/* A byte in the only place of a text, when what it does is known at once. */
enum tombola__quick {
  TOMBOLA__SLOW,    /* it isn't: _step tells */
  TOMBOLA__REFUSED, /* it doesn't fit */
  TOMBOLA__STAYED,  /* the place stays as it is */
  TOMBOLA__MOVED    /* the place is *next, which makes nothing and is no end */
};

/* The part's functions. _start emits the first places of a text that begins here, inside of `up`; _step reads one byte
 * in one place; _return goes on after the thing inside of `up` ended; _complete: may the text end in this place? */
struct tombola__store *tombola__machine_store(const struct tombola__machine *m);

void tombola__json_start(struct tombola__machine *m, tombola__formula f, const struct tombola__frame *up);
void tombola__json_step(struct tombola__machine *m, const struct tombola__thread *thread, uint8_t byte);
void tombola__json_return(struct tombola__machine *m, const struct tombola__frame *up);
enum tombola__quick tombola__json_quick(const struct tombola__store *s, const struct tombola__thread *thread,
                                        uint8_t byte, struct tombola__thread *next);
bool tombola__json_in_text(const struct tombola__machine *m, const struct tombola__thread *thread);
bool tombola__json_in_escape(struct tombola__machine *m, const struct tombola__thread *thread, size_t length);
bool tombola__json_taken(const struct tombola__machine *m, const struct tombola__thread *thread,
                         const void **at, struct tombola_bytes *rest);
bool tombola__json_declared(const struct tombola__thread *thread, uint32_t *i, struct tombola_bytes *rest);
void tombola__json_end_text(struct tombola__machine *m, const struct tombola__thread *thread);
bool tombola__json_complete(struct tombola__machine *m, const struct tombola__thread *thread);
struct tombola__digits tombola__json_digits(const struct tombola__machine *m,
                                            const struct tombola__thread *thread);
bool tombola__json_freedom(struct tombola__machine *m, const struct tombola__thread *thread,
                           struct tombola__freedom *out);
void tombola__json_key(struct tombola__machine *m, const struct tombola__thread *thread, size_t horizon,
                       uint64_t key[2]);
void tombola__rules_start(struct tombola__machine *m, const struct tombola__rules *rules,
                          const struct tombola__frame *up);
void tombola__rules_step(struct tombola__machine *m, const struct tombola__thread *thread, uint8_t byte);
void tombola__rules_return(struct tombola__machine *m, const struct tombola__frame *up);
bool tombola__rules_complete(struct tombola__machine *m, const struct tombola__thread *thread);
bool tombola__rules_freedom(struct tombola__machine *m, const struct tombola__thread *thread,
                            struct tombola__freedom *out);
void tombola__rules_key(struct tombola__machine *m, const struct tombola__thread *thread, size_t horizon,
                        uint64_t key[2]);
/* Whether the place, of any part, awaits a token as a whole, *token or when *negated any other: no byte steps it. */
bool tombola__rules_awaits(const struct tombola__thread *thread, uint32_t *token, bool *negated);
/* Goes on behind the token. */
void tombola__rules_take(struct tombola__machine *m, const struct tombola__thread *thread, uint32_t token);

void tombola__mix_start(struct tombola__machine *m, const struct tombola__mix *mix,
                        const struct tombola__frame *up);
void tombola__mix_step(struct tombola__machine *m, const struct tombola__thread *thread, uint8_t byte);
void tombola__mix_return(struct tombola__machine *m, const struct tombola__frame *up);
bool tombola__mix_complete(struct tombola__machine *m, const struct tombola__thread *thread);
bool tombola__mix_freedom(struct tombola__machine *m, const struct tombola__thread *thread,
                          struct tombola__freedom *out);
void tombola__mix_key(struct tombola__machine *m, const struct tombola__thread *thread, size_t horizon,
                      uint64_t key[2]);
/* The next state of free text, when this byte begins nothing. */
bool tombola__mix_quick(const struct tombola__thread *thread, uint8_t byte, uint32_t *to);
bool tombola__mix_engaged(const struct tombola__machine *m, const struct tombola__thread *thread);

/* ---- compiling what isn't JSON ---- */

/* `vocabulary`: of tokens that are elements, which without one (NULL) are UNSUPPORTED. FORMAT (offset: where),
 * UNSUPPORTED (left recursion, by the rule's name), the store's status. */
enum tombola_status tombola__gbnf(struct tombola__store *s, const char *text, size_t length, const char *root,
                                  const tombola_vocabulary *vocabulary, const struct tombola__rules **out,
                                  struct tombola_error *error);
/* The rules that are one language. */
const struct tombola__rules *tombola__rules_of(struct tombola__store *s, tombola__lang lang);

struct tombola__mix_part {
  struct tombola_bytes trigger, end; /* end: {NULL, 0} for none */
  bool include_trigger;
  struct tombola__program program;
};
/* `prelude`: free text until the first `{` or `[`, then parts[0], once. */
enum tombola_status tombola__mix_new(struct tombola__store *s, const struct tombola__mix_part *parts,
                                     size_t n, bool prelude, const struct tombola__mix **out,
                                     struct tombola_error *error);

#endif
