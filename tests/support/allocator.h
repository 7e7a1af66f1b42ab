/* SPDX-License-Identifier: Apache-2.0 */
/* An allocator that counts, checks what it is told, and fails when asked.
 *
 *   struct support_allocator a = support_allocator(0);      // 0: never fails; n: the n-th request fails
 *   ... tombola_x_new(..., support_allocator_use(&a), ...) ...
 *   support_allocator_check(&a);                            // everything was given back
 *
 * The sweep over every allocation of a constructor:
 *   for (size_t n = 1;; n++) {
 *     struct support_allocator a = support_allocator(n);
 *     status = make(support_allocator_use(&a));
 *     if (a.requests < n) break;                            // it never came so far: this one succeeded
 *     assert_int_equal(status, TOMBOLA_NO_MEMORY);
 *     support_allocator_check(&a);
 *   }
 * The structure must not move while it is in use. */
#ifndef SUPPORT_ALLOCATOR_H
#define SUPPORT_ALLOCATOR_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tombola/status.h>

struct support_allocator {
  struct tombola_allocator allocator; /* context is NULL until support_allocator_use() */
  size_t requests;                    /* allocations and resizes asked for */
  size_t live;                        /* blocks not yet released */
  size_t bytes;                       /* their bytes */
  size_t fail_at;                     /* the request that fails; 0: none */
};

#define SUPPORT_BLOCK_MAGIC 0x70B01A70B01A70B0u

struct support_block {
  uint64_t magic;
  size_t size;
};

/* The state of the allocator in use hangs on its context. */
static inline int support_allocator_refuses(struct support_allocator *a) {
  return ++a->requests == a->fail_at;
}

static inline void support_allocator_broken(const char *what) {
  fprintf(stderr, "allocator: %s\n", what);
  abort();
}

static inline void *support_allocate(void *context, size_t size) {
  struct support_allocator *a = context;
  if (support_allocator_refuses(a)) return NULL;
  struct support_block *block = malloc(sizeof *block + size);
  if (!block) return NULL;
  *block = (struct support_block){SUPPORT_BLOCK_MAGIC, size};
  memset(block + 1, 0xA5, size); /* whoever counts on zeros must have asked for them */
  a->live++;
  a->bytes += size;
  return block + 1;
}

static inline void support_release(void *context, void *memory) {
  struct support_allocator *a = context;
  if (!memory) return;
  struct support_block *block = (struct support_block *)memory - 1;
  if (block->magic != SUPPORT_BLOCK_MAGIC) support_allocator_broken("released twice, or not ours");
  a->live--;
  a->bytes -= block->size;
  block->magic = 0;
  free(block);
}

static inline void *support_resize(void *context, void *memory, size_t old_size, size_t new_size) {
  struct support_allocator *a = context;
  struct support_block *block = (struct support_block *)memory - 1;
  if (block->magic != SUPPORT_BLOCK_MAGIC) support_allocator_broken("resized after its release, or not ours");
  if (block->size != old_size) support_allocator_broken("resized with a wrong old size");
  void *moved = support_allocate(context, new_size); /* always moves, so that a stale pointer shows */
  if (!moved) return NULL;
  memcpy(moved, memory, old_size < new_size ? old_size : new_size);
  support_release(a, memory);
  return moved;
}

static inline struct support_allocator support_allocator(size_t fail_at) {
  struct support_allocator a = {{support_allocate, support_resize, support_release, NULL}, 0, 0, 0, fail_at};
  return a;
}

/* The allocator to pass on: &a.allocator with its context set to where `a` is now. */
static inline const struct tombola_allocator *support_allocator_use(struct support_allocator *a) {
  a->allocator.context = a;
  return &a->allocator;
}

#define support_allocator_check(a)   \
  do {                               \
    assert_int_equal((a)->live, 0);  \
    assert_int_equal((a)->bytes, 0); \
  } while (0)

#endif
