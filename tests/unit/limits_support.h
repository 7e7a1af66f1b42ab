/* SPDX-License-Identifier: Apache-2.0 */
/* For the tests of limits: long texts, an allocator that measures, and a program with a small stack. */
#ifndef LIMITS_SUPPORT_H
#define LIMITS_SUPPORT_H

#include "constraint_support.h"

#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

/* The sanitizers' frames are several times as large, and their programs as slow. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STACK ((size_t)2 * MIB)
#define SLOW  8
#else
#define STACK (MIB / 2)
#define SLOW  1
#endif

/* ---- texts ---- */

struct text {
  char *bytes;
  size_t length, room;
};

static inline void put_bytes(struct text *t, const char *bytes, size_t n) {
  if (t->length + n + 1 > t->room) {
    t->room = 2 * (t->length + n + 1);
    t->bytes = realloc(t->bytes, t->room);
    assert_non_null(t->bytes);
  }
  memcpy(t->bytes + t->length, bytes, n);
  t->length += n;
  t->bytes[t->length] = 0;
}

/* n times; a % stands for the number of the time. */
static inline void put(struct text *t, const char *piece, size_t n) {
  for (size_t i = 0; i < n; i++)
    for (const char *c = piece; *c; c++) {
      char number[24];
      if (*c == '%')
        put_bytes(t, number, (size_t)snprintf(number, sizeof number, "%zu", i));
      else
        put_bytes(t, c, 1);
    }
}

/* Nested: `open` n times, the middle, `close` n times. */
static inline void nest(struct text *t, const char *open, const char *middle, const char *close, size_t n) {
  put(t, open, n);
  put(t, middle, 1);
  put(t, close, n);
}

/* ---- memory and time ---- */

struct meter {
  struct support_allocator inner;
  struct tombola_allocator allocator;
  size_t peak;
};

static inline void *meter_new(void *context, size_t size) {
  struct meter *const m = context;
  void *const memory = support_allocate(&m->inner, size);
  if (m->inner.bytes > m->peak) m->peak = m->inner.bytes;
  return memory;
}

static inline void *meter_resize(void *context, void *memory, size_t old_size, size_t new_size) {
  struct meter *const m = context;
  void *const moved = support_resize(&m->inner, memory, old_size, new_size);
  if (m->inner.bytes > m->peak) m->peak = m->inner.bytes;
  return moved;
}

static inline void meter_free(void *context, void *memory) {
  support_release(&((struct meter *)context)->inner, memory);
}

static inline void meter_start(struct meter *m) {
  *m = (struct meter){.inner = support_allocator(0), .allocator = {meter_new, meter_resize, meter_free, m}};
}

static inline double seconds(void) {
  return (double)clock() / CLOCKS_PER_SEC;
}

/* ---- what both have ---- */

static const tombola_trie *trie;
static const tombola_vocabulary *words_of; /* the trie's */

static inline bool names_limit(const char *message) {
  static const char *const names[] = {"max_", "at most", "too ", "beyond", "more than", "longer", "above"};
  for (size_t i = 0; i < TOMBOLA__COUNT(names); i++)
    if (strstr(message, names[i])) return true;
  return false;
}

#define SCHEMA TOMBOLA_GRAMMAR_JSON_SCHEMA
#define REGEX  TOMBOLA_GRAMMAR_REGEX
#define GBNF   TOMBOLA_GRAMMAR_GBNF

/* Again, with a small stack. */
static inline void begin_anew(char **argv) {
  const struct rlimit small = {.rlim_cur = STACK, .rlim_max = STACK};
  if (getenv("TOMBOLA_TEST_STACK") || setenv("TOMBOLA_TEST_STACK", "small", 1)) return;
  if (setrlimit(RLIMIT_STACK, &small) == 0) execv(argv[0], argv);
}

static inline int run_limited(int argc, char **argv, const struct CMUnitTest *tests, size_t n) {
  static struct support_words words;
  if (argc > 0) begin_anew(argv);
  struct support_rng rng = support_rng(70);
  support_words_fill(&words, &rng);
  tombola_vocabulary *const vocabulary = support_vocabulary(&words);
  tombola_trie *const made = support_trie(vocabulary);
  trie = made;
  words_of = vocabulary;
  const int failed = _cmocka_run_group_tests("limits", tests, n, NULL, NULL);
  tombola_trie_free(made);
  tombola_vocabulary_free(vocabulary);
  return failed;
}

#endif
