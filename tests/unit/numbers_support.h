/* SPDX-License-Identifier: Apache-2.0 */
/* Short ways to write sets of numbers, and to ask what the beginnings of texts are to them. */
#ifndef NUMBERS_SUPPORT_H
#define NUMBERS_SUPPORT_H

#include "support.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "constraint/number/number.h"

static struct tombola__store store;

static inline int setup(void **state) {
  (void)state;
  static const struct tombola_grammar_limits limits = {.struct_size = sizeof limits, .max_seconds = 250};
  assert_int_equal(tombola__store_new(&store, &limits, NULL, NULL), TOMBOLA_OK);
  return 0;
}

static inline int teardown(void **state) {
  (void)state;
  tombola__store_free(&store);
  return 0;
}

/* One of the last 64, whose digits stay for as long. */
static inline struct tombola__decimal decimal(const char *text) {
  static char buffers[64][2][1024];
  static unsigned next;
  char(*const buffer)[1024] = buffers[next++ % 64];
  struct tombola__decimal d;
  assert_true(strlen(text) < sizeof buffer[0]);
  strcpy(buffer[0], text);
  assert_true(tombola__decimal_read(buffer[0], strlen(text), buffer[1], &d));
  return d;
}

/* "[1,5)": NULL ends are written as nothing. */
static inline tombola__numset interval(const char *text) {
  char lo[1024] = "", hi[1024] = "";
  const char *const comma = strchr(text, ',');
  const size_t end = strlen(text) - 1;
  memcpy(lo, text + 1, (size_t)(comma - text - 1));
  memcpy(hi, comma + 1, end - (size_t)(comma + 1 - text));
  const struct tombola__decimal a = *lo ? decimal(lo) : (struct tombola__decimal){0};
  const struct tombola__decimal b = *hi ? decimal(hi) : (struct tombola__decimal){0};
  return tombola__numbers_interval(&store, *lo ? &a : NULL, *text == '(', *hi ? &b : NULL, text[end] == ')');
}

static inline tombola__numset multiple(const char *text) {
  const struct tombola__decimal m = decimal(text);
  return tombola__numbers_multiple(&store, &m);
}

static inline tombola__numset both(tombola__numset a, tombola__numset b) {
  return tombola__numbers_and(&store, a, b);
}

static inline tombola__numset either(tombola__numset a, tombola__numset b) {
  return tombola__numbers_or(&store, a, b);
}

static inline tombola__numset not(tombola__numset a) {
  return tombola__numbers_not(&store, a);
}

static inline bool has(tombola__numset a, const char *text) {
  const struct tombola__decimal x = decimal(text);
  return tombola__numbers_has(&store, a, &x);
}

static inline unsigned scan(tombola__numset a, const char *text) {
  return tombola__number_scan(&store, a, text, strlen(text), NULL, 0);
}

#define IS   TOMBOLA__NUMBER_IS
#define ON   TOMBOLA__NUMBER_CAN_GO_ON
#define ALL  TOMBOLA__NUMBERS_ALL
#define NONE TOMBOLA__NUMBERS_NONE

static inline void want(tombola__numset a, const char *text, unsigned result) {
  const unsigned got = scan(a, text);
  if (got != result) fail_msg("'%.60s': %u, not %u", text, got, result);
  assert_int_equal(store.status, TOMBOLA_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
