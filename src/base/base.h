/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the library share: memory through the caller's allocator, errors, checked sizes. */
#ifndef TOMBOLA_BASE_H
#define TOMBOLA_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tombola/status.h>

#if defined(__GNUC__)
#define TOMBOLA__PRINTF(text, first) __attribute__((__format__(__printf__, text, first)))
#else
#define TOMBOLA__PRINTF(text, first)
#endif

#define TOMBOLA__COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The allocator to use for a caller's (NULL: malloc, realloc, free). */
struct tombola_allocator tombola__allocator(const struct tombola_allocator *allocator);

/* NULL when there is no memory or when count * size overflows; zeroed. tombola__free takes NULL. */
void *tombola__new(const struct tombola_allocator *allocator, size_t count, size_t size);
void tombola__free(const struct tombola_allocator *allocator, void *memory);

/* Resizes an array from old_count to new_count elements; NULL leaves the old one as it was. */
void *tombola__resize(const struct tombola_allocator *allocator, void *memory, size_t old_count,
                      size_t new_count, size_t size);

/* Fills in `error` (when it isn't NULL) and returns `status`, so that a function can end with it. `param` may
 * be NULL. Long texts are cut at a whole UTF-8 character; control characters of values become '?'. */
enum tombola_status tombola__fail(struct tombola_error *error, enum tombola_status status, const char *param,
                                  const char *format, ...) TOMBOLA__PRINTF(4, 5);

/* The same for "out of memory". */
enum tombola_status tombola__no_memory(struct tombola_error *error);

/* a * b and a + b; false when that overflows. */
bool tombola__multiply(size_t a, size_t b, size_t *product);
bool tombola__add(size_t a, size_t b, size_t *sum);

#endif
