/* SPDX-License-Identifier: Apache-2.0 */
/* Aho and Corasick's automaton (CACM 18(6), 1975) over bytes, as one table: one step a byte, whatever the
 * number of patterns. A state stands for the longest suffix of what was read that begins a pattern, so that
 * its depth is how much must be held back, and what is held back is the pattern's own beginning. */
#ifndef TOMBOLA_AUTOMATON_H
#define TOMBOLA_AUTOMATON_H

#include <tombola/text.h>

#include "../base/base.h"

#define TOMBOLA__AUTOMATON_BYTES 16384 /* of all patterns together */

struct tombola__automaton {
  struct tombola_allocator allocator;
  unsigned char class_of[256]; /* bytes that no pattern has share class 0 */
  size_t n_classes, n_states;
  uint16_t *next;    /* n_states * n_classes */
  uint16_t *depth;   /* length of what a state stands for */
  uint16_t *length;  /* of the longest pattern that ends here; 0: none does */
  uint16_t *pattern; /* that pattern, the first of equals */
  uint16_t *text_at; /* where in `text` the string that the state stands for begins */
  char *text;        /* all patterns, one after the other */
};

/* Patterns are copied; none may be empty. INVALID_ARGUMENT (with `param` as the error's name), NO_MEMORY. */
enum tombola_status tombola__automaton_new(struct tombola__automaton *a, const struct tombola_bytes *patterns,
                                           size_t n, const char *param,
                                           const struct tombola_allocator *allocator,
                                           struct tombola_error *error);
void tombola__automaton_free(struct tombola__automaton *a);

static inline uint16_t tombola__automaton_step(const struct tombola__automaton *a, uint16_t state,
                                               char byte) {
  return a->next[state * a->n_classes + a->class_of[(unsigned char)byte]];
}

#endif
