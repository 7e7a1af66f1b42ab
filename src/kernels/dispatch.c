/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the instruction set: the best that the machine has, at most what TOMBOLA_CPU names. The choice is
 * made once and kept; a wrong name is not kept, so that every constructor reports it. */
#include "scalar.h"

#include "base/base.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define KNOWN_NAMES "scalar, avx2, neon"

static const struct tombola__kernels *scalar_table(void) {
  return &tombola__kernels_scalar;
}

/* Best first; each gives NULL where it can't run. */
static const struct {
  const char *name;
  const struct tombola__kernels *(*table)(void);
} sets[] = {{"avx2", tombola__kernels_avx2}, {"neon", tombola__kernels_neon}, {"scalar", scalar_table}};

const struct tombola__kernels *tombola__kernels_find(const char *name) {
  for (size_t i = 0; i < TOMBOLA__COUNT(sets); i++)
    if (strcmp(sets[i].name, name) == 0) return sets[i].table();
  return NULL;
}

static const struct tombola__kernels *best(void) {
  for (size_t i = 0; i + 1 < TOMBOLA__COUNT(sets); i++) {
    const struct tombola__kernels *table = sets[i].table();
    if (table) return table;
  }
  return scalar_table();
}

static bool is_known(const char *name) {
  for (size_t i = 0; i < TOMBOLA__COUNT(sets); i++)
    if (strcmp(sets[i].name, name) == 0) return true;
  return false;
}

static const struct tombola__kernels *choose(struct tombola_error *error) {
  const char *name = getenv("TOMBOLA_CPU");
  if (!name || !*name) return best();
  const struct tombola__kernels *table = tombola__kernels_find(name);
  if (table) return table;
  if (is_known(name))
    tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "TOMBOLA_CPU",
                  "TOMBOLA_CPU is \"%.64s\", which this machine does not have; allowed: %s", name,
                  best()->name);
  else
    tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "TOMBOLA_CPU",
                  "TOMBOLA_CPU is \"%.64s\", which is unknown; allowed: " KNOWN_NAMES, name);
  return NULL;
}

const struct tombola__kernels *tombola__kernels(struct tombola_error *error) {
  static _Atomic(const struct tombola__kernels *) chosen;
  const struct tombola__kernels *table = atomic_load_explicit(&chosen, memory_order_acquire);
  if (table) return table;
  table = choose(error);
  if (table) atomic_store_explicit(&chosen, table, memory_order_release);
  return table;
}

enum tombola_status tombola_cpu(const char **name, struct tombola_error *error) {
  const struct tombola__kernels *table = tombola__kernels(error);
  if (name) *name = table ? table->name : NULL;
  return table ? TOMBOLA_OK : TOMBOLA_INVALID_ARGUMENT;
}
