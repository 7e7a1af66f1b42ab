/* SPDX-License-Identifier: Apache-2.0 */
/* Machines over formulas, for the tests of the constraints' parts. */
#ifndef MACHINE_SUPPORT_H
#define MACHINE_SUPPORT_H

#include "support.h"

#include <stdbool.h>
#include <string.h>

#include "constraint/machine/machine.h"

static struct tombola__store store;

static inline void open_store(enum tombola_whitespace whitespace, size_t most) {
  assert_int_equal(tombola__store_new(&store, NULL, NULL, NULL), TOMBOLA_OK);
  store.whitespace = whitespace;
  store.whitespace_max = most;
}

/* Around a test of its own store. */
static inline int open_one(void **state) {
  (void)state;
  open_store(TOMBOLA_WHITESPACE_NONE, 0);
  return 0;
}

static inline int close_one(void **state) {
  (void)state;
  tombola__store_free(&store);
  return 0;
}

static inline void well(void) {
  if (store.status) fail_msg("%s", store.error.message);
}

static inline struct tombola__machine *machine_of(tombola__formula f) {
  const struct tombola__program program = {.part = TOMBOLA__JSON, .formula = f};
  struct tombola__machine *m = NULL;
  if (tombola__machine_new(&store, &program, NULL, &m)) fail_msg("%s", store.error.message);
  return m;
}

/* How many bytes fit. */
static inline size_t fits(struct tombola__machine *m, const char *text, size_t length) {
  size_t n = 0;
  while (n < length && tombola__machine_push(m, (uint8_t)text[n]))
    n++;
  return n;
}

/* Whether the whole text is one of the machine, which is at its beginning then. */
static inline bool accepts(struct tombola__machine *m, const char *text, size_t length) {
  const size_t n = fits(m, text, length);
  const bool is = n == length && tombola__machine_complete(m);
  tombola__machine_pop(m, n);
  return is;
}

#endif
