/* SPDX-License-Identifier: Apache-2.0 */
/* What every part of tombola shares: the version, the statuses that calls return, the error that explains
 * one, the allocator that a caller can put in malloc's place, and the token type. */
#ifndef TOMBOLA_STATUS_H
#define TOMBOLA_STATUS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TOMBOLA_VERSION_MAJOR  0
#define TOMBOLA_VERSION_MINOR  1
#define TOMBOLA_VERSION_PATCH  0
#define TOMBOLA_VERSION_STRING "0.1.0"

/* Marks a public function. The libraries are built with hidden visibility, so that nothing else leaves them.
 * A build may define it otherwise. */
#if defined(TOMBOLA_API)
#elif defined(__GNUC__)
#define TOMBOLA_API __attribute__((visibility("default")))
#else
#define TOMBOLA_API
#endif

/* A token's id: 0 <= id < the vocabulary's size. */
typedef int32_t tombola_token;
#define TOMBOLA_NO_TOKEN ((tombola_token)-1)

/* Every status: suffix, pinned value, name (as it stands in JSON), text. Values never change; new ones are
 * appended. */
#define TOMBOLA_STATUS_MAP(X)                                                      \
  X(OK, 0, "ok", "no error")                                                       \
  X(INVALID_ARGUMENT, -1, "invalid_argument", "an argument is not allowed")        \
  X(OUT_OF_RANGE, -2, "out_of_range", "more was asked for than there is room for") \
  X(NO_MEMORY, -3, "no_memory", "out of memory")                                   \
  X(NOT_FINITE, -4, "not_finite", "the row holds NaN or +inf")                     \
  X(NO_CANDIDATE, -5, "no_candidate", "no token is left to choose from")           \
  X(UNSUPPORTED, -6, "unsupported", "not supported")                               \
  X(NOT_FOUND, -7, "not_found", "not found")                                       \
  X(IO, -8, "io", "input or output failed")                                        \
  X(FORMAT, -9, "format", "malformed input")                                       \
  X(MODEL, -10, "model", "the model failed")                                       \
  X(CANCELLED, -11, "cancelled", "cancelled by the caller")

enum tombola_status {
#define TOMBOLA_STATUS_ENUM(suffix, value, name, text) TOMBOLA_##suffix = value,
  TOMBOLA_STATUS_MAP(TOMBOLA_STATUS_ENUM)
#undef TOMBOLA_STATUS_ENUM
};

/* The status's name ("invalid_argument") and its text; both static. An unknown value gives "unknown". */
TOMBOLA_API const char *tombola_status_name(enum tombola_status status);
TOMBOLA_API const char *tombola_status_text(enum tombola_status status);

/* Why a call failed. The caller owns it and passes its address, or NULL when the status is enough; a call
 * that succeeds leaves it alone. Both strings are NUL-terminated and cut, never overrun. */
struct tombola_error {
  enum tombola_status status;
  size_t offset;     /* byte offset in the text that was parsed, or 0 */
  char param[64];    /* the parameter's name, or a JSON pointer, or "" */
  char message[256]; /* one line: the parameter, the value, the allowed range */
};

/* Memory. NULL in place of an allocator means malloc, realloc and free. `resize` gets the old size too, so
 * that an arena can serve it. The functions are called from the thread that called tombola, never at the same
 * time for one object. The structure is copied; `context` must outlive every object that was made with it. */
struct tombola_allocator {
  void *(*allocate)(void *context, size_t size);
  void *(*resize)(void *context, void *memory, size_t old_size, size_t new_size);
  void (*release)(void *context, void *memory);
  void *context;
};

/* The library's version as it was built, "0.1.0". */
TOMBOLA_API const char *tombola_version(void);

/* The instruction set that the kernels use: "scalar" or "avx2". The environment variable TOMBOLA_CPU caps it;
 * a name that it doesn't know or the machine doesn't have is INVALID_ARGUMENT here and from every
 * constructor. */
TOMBOLA_API enum tombola_status tombola_cpu(const char **name, struct tombola_error *error);

#ifdef __cplusplus
}
#endif
#endif
