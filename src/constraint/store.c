/* SPDX-License-Identifier: Apache-2.0 */
#include "constraint/store.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "constraint/formula/formula.h"
#include "constraint/lang/lang.h"
#include "constraint/number/number.h"

#define CHUNK     ((size_t)16 << 10)
#define ALIGNMENT ((size_t)16)

#define STATE_WORK 100 /* a new state, when it is a matcher that needs it */
/* A step takes 15 to 85 ns: a second or two. */
#define DEFAULT_WORK ((size_t)20000000)

struct tombola__chunk {
  struct tombola__chunk *next;
  size_t size, used; /* of the bytes behind this head */
};

/* Keeps what follows a head aligned. */
#define HEAD ((sizeof(struct tombola__chunk) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT)

static double now(void) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static size_t value_or(size_t value, size_t otherwise) {
  return value ? value : otherwise;
}

enum tombola_status tombola__store_new(struct tombola__store *store,
                                       const struct tombola_grammar_limits *limits,
                                       const struct tombola_allocator *allocator,
                                       struct tombola_error *error) {
  static const struct tombola_grammar_limits none = {.struct_size = sizeof none};
  if (!limits) limits = &none;
  *store = (struct tombola__store){
      .allocator = tombola__allocator(allocator),
      .max_bytes = value_or(limits->max_bytes, (size_t)256 << 20),
      .max_states = value_or(limits->max_states, 1000000),
      .max_depth = value_or(limits->max_depth, 256),
      .max_refs = value_or(limits->max_refs, 4096),
      .max_threads = value_or(limits->max_threads, 4096),
      .max_work = value_or(limits->max_work, DEFAULT_WORK),
      .deadline = now() + (limits->max_seconds > 0 ? limits->max_seconds : 5),
  };
  tombola__store_begin(store);
  if ((store->langs = tombola__langs_new(store)) && (store->numbers = tombola__numbers_new(store)))
    store->formulas = tombola__formulas_new(store);
  if (store->formulas && store->status == TOMBOLA_OK) return TOMBOLA_OK;
  const enum tombola_status status = store->status ? store->status : TOMBOLA_NO_MEMORY;
  if (error) *error = store->error;
  tombola__store_free(store);
  return status;
}

void tombola__store_free(struct tombola__store *store) {
  tombola__formulas_free(store->formulas);
  tombola__numbers_free(store->numbers);
  tombola__langs_free(store->langs);
  for (struct tombola__chunk *c = store->chunks, *next; c; c = next) {
    next = c->next;
    tombola__free(&store->allocator, c);
  }
  *store = (struct tombola__store){0};
}

bool tombola__store_fits(struct tombola__store *store, size_t more) {
  if (store->bytes <= store->max_bytes && more <= store->max_bytes - store->bytes) return true;
  tombola__store_fail(store, TOMBOLA_OUT_OF_RANGE, "max_bytes", "more than %zu bytes of memory (max_bytes)",
                      store->max_bytes);
  return false;
}

static bool add_chunk(struct tombola__store *store, size_t size) {
  if (!tombola__store_fits(store, HEAD + size)) return false;
  struct tombola__chunk *const c = tombola__new(&store->allocator, 1, HEAD + size);
  if (!c) {
    tombola__store_fail(store, TOMBOLA_NO_MEMORY, NULL, "out of memory");
    return false;
  }
  *c = (struct tombola__chunk){.next = store->chunks, .size = size};
  store->chunks = c;
  return tombola__store_count(store, (ptrdiff_t)(HEAD + size));
}

void *tombola__store_take(struct tombola__store *store, size_t count, size_t size) {
  size_t bytes;
  if (store->status) return NULL;
  if (!tombola__multiply(count, size, &bytes) || bytes > store->max_bytes) {
    tombola__store_fail(store, TOMBOLA_OUT_OF_RANGE, "max_bytes",
                        "%zu items of %zu bytes are beyond max_bytes, %zu", count, size, store->max_bytes);
    return NULL;
  }
  bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  if (!store->chunks || store->chunks->size - store->chunks->used < bytes)
    if (!add_chunk(store, bytes > CHUNK / 4 ? bytes : CHUNK)) return NULL;
  void *const memory = (char *)store->chunks + HEAD + store->chunks->used;
  store->chunks->used += bytes;
  return memory;
}

bool tombola__store_count(struct tombola__store *store, ptrdiff_t more) {
  store->bytes += (size_t)more;
  if (more <= 0 || store->bytes <= store->max_bytes) return true;
  tombola__store_fail(store, TOMBOLA_OUT_OF_RANGE, "max_bytes", "more than %zu bytes of memory (max_bytes)",
                      store->max_bytes);
  return false;
}

bool tombola__store_state(struct tombola__store *store) {
  if (store->status) return false;
  if (++store->states > store->max_states) {
    tombola__store_fail(store, TOMBOLA_OUT_OF_RANGE, "max_states", "more than %zu states (max_states)",
                        store->max_states);
    return false;
  }
  if (store->deadline <= 0) tombola__store_work(store, STATE_WORK);
  if (store->deadline > 0 && store->states % 256 == 0 && now() > store->deadline) {
    tombola__store_fail(store, TOMBOLA_OUT_OF_RANGE, "max_seconds",
                        "compiling takes longer than max_seconds");
    return false;
  }
  return store->status == TOMBOLA_OK;
}

void tombola__store_begin(struct tombola__store *store) {
  store->work_left = store->max_work;
}

void tombola__store_overworked(struct tombola__store *store) {
  store->work_left = 0;
  tombola__store_fail(store, TOMBOLA_OUT_OF_RANGE, "max_work", "more than %zu steps in one call (max_work)",
                      store->max_work);
}

enum tombola_status tombola__store_fail(struct tombola__store *store, enum tombola_status status,
                                        const char *param, const char *format, ...) {
  if (store->status) return store->status;
  char message[sizeof store->error.message];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  store->status = status;
  tombola__fail(&store->error, status, param, "%s", message);
  return status;
}

void tombola__store_hint(struct tombola__store *store, const char *format, ...) {
  va_list arguments;
  if (store->hint[0]) return;
  va_start(arguments, format);
  if (vsnprintf(store->hint, sizeof store->hint, format, arguments) < 0) store->hint[0] = '\0';
  va_end(arguments);
}

void tombola__store_clear(struct tombola__store *store) {
  store->status = TOMBOLA_OK;
  memset(&store->error, 0, sizeof store->error);
}
