/* SPDX-License-Identifier: Apache-2.0 */
/* Memory through the caller's allocator, and the checked arithmetic that sizes go through. */
#include "base.h"

#include <stdlib.h>
#include <string.h>

static void *default_allocate(void *context, size_t size) {
  (void)context;
  return malloc(size);
}

static void *default_resize(void *context, void *memory, size_t old_size, size_t new_size) {
  (void)context;
  (void)old_size;
  return realloc(memory, new_size);
}

static void default_release(void *context, void *memory) {
  (void)context;
  free(memory);
}

struct tombola_allocator tombola__allocator(const struct tombola_allocator *allocator) {
  if (allocator) return *allocator;
  return (struct tombola_allocator){default_allocate, default_resize, default_release, NULL};
}

/* An array of no elements still gets a byte: NULL then means one thing only, and allocators that return NULL
 * for a size of 0 need no special case. */
static bool array_size(size_t count, size_t size, size_t *bytes) {
  if (!tombola__multiply(count, size, bytes)) return false;
  if (*bytes == 0) *bytes = 1;
  return true;
}

void *tombola__new(const struct tombola_allocator *allocator, size_t count, size_t size) {
  size_t bytes;
  if (!array_size(count, size, &bytes)) return NULL;
  /* calloc gets large blocks from the system already zeroed, and then touches no page of them. */
  if (!allocator) return calloc(1, bytes);
  void *memory = allocator->allocate(allocator->context, bytes);
  if (memory) memset(memory, 0, bytes);
  return memory;
}

void tombola__free(const struct tombola_allocator *allocator, void *memory) {
  if (!memory) return;
  struct tombola_allocator use = tombola__allocator(allocator);
  use.release(use.context, memory);
}

void *tombola__resize(const struct tombola_allocator *allocator, void *memory, size_t old_count,
                      size_t new_count, size_t size) {
  size_t old_bytes, new_bytes;
  if (!array_size(old_count, size, &old_bytes) || !array_size(new_count, size, &new_bytes)) return NULL;
  struct tombola_allocator use = tombola__allocator(allocator);
  if (!memory) return use.allocate(use.context, new_bytes);
  return use.resize(use.context, memory, old_bytes, new_bytes);
}

bool tombola__multiply(size_t a, size_t b, size_t *product) {
  if (b != 0 && a > SIZE_MAX / b) return false;
  *product = a * b;
  return true;
}

bool tombola__add(size_t a, size_t b, size_t *sum) {
  if (a > SIZE_MAX - b) return false;
  *sum = a + b;
  return true;
}
