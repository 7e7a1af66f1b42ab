/* SPDX-License-Identifier: Apache-2.0 */
/* What a machine is made of, for machine.c, which changes it, and machine_ask.c, which looks at it. */
#ifndef TOMBOLA_MACHINE_STATE_H
#define TOMBOLA_MACHINE_STATE_H

#include "constraint/machine/machine.h"

struct level {
  uint32_t first, n;    /* its threads; may be those of the level in front */
  uint32_t end;         /* threads in use */
  uint32_t chunk, used; /* memory in use */
};

struct chunk {
  uint8_t *bytes;
  size_t size;
};

/* A place of a level that has many, found by hash. */
struct slot {
  uint32_t stamp, index;
};

struct tombola__machine {
  struct tombola__store *store;
  struct tombola_allocator allocator;
  struct tombola__program program;
  struct tombola__machine *self; /* for questions that make something on the way and drop it */

  struct tombola__thread *threads;
  size_t n_threads, threads_room;
  size_t first; /* of the level that is being made */
  struct level *levels;
  size_t n_levels, levels_room; /* the first is that of the empty text */
  uint8_t *text;
  size_t text_room;

  struct chunk *chunks;
  size_t n_chunks, chunks_room;
  size_t chunk, used;

  struct slot *slots;
  size_t n_slots, n_indexed;
  uint32_t stamp;

  bool collecting; /* emitted threads go to `pending` */
  struct tombola__thread *pending;
  size_t n_pending, pending_room;
  const struct tombola__frame **returned; /* frames that were returned to in front of this byte */
  size_t first_returned, n_returned, returned_room;
  uint64_t turn, turns; /* the number of this point, and of all so far */
  size_t behind;        /* bytes from this point to the byte that is being pushed */
  size_t counted;       /* bytes, in store->bytes */
};

#endif
