/* SPDX-License-Identifier: Apache-2.0 */
/* Earlier occurrences of the end of the history; see repeats.c. */
#ifndef TOMBOLA_REPEATS_H
#define TOMBOLA_REPEATS_H

#include "internal.h"

/* A token of the history, counted from its end, and how many tokens that end there are also the last ones. */
struct tombola__repeat {
  tombola_token token;
  uint32_t length;
};

_Static_assert(sizeof(struct tombola__repeat) == sizeof(struct tombola__entry),
               "it lies in the memory of list entries");

struct tombola__repeats {
  struct tombola__repeat *back; /* [0] is the last token; its length means nothing */
  size_t count;
  size_t first_hit; /* index in the candidates' list of room for `count` entries */
};

/* Over the last `window` tokens. What it gives lies behind the candidates' list and is gone when the list
 * grows. NO_MEMORY. */
enum tombola_status tombola__repeats_find(struct tombola__stage_call *call, size_t window,
                                          struct tombola__repeats *out);

#endif
