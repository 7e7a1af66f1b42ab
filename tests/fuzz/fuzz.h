/* SPDX-License-Identifier: Apache-2.0 */
/* A fuzz target is one function, as libFuzzer calls it; it aborts where a promise doesn't hold. Built by itself with
 * -fsanitize=fuzzer,address it is a fuzzer; linked with driver.c it is a test that runs seeded random inputs, and the
 * files that it is given. */
#ifndef TOMBOLA_FUZZ_H
#define TOMBOLA_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_ASSERT(condition)                                                \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      abort();                                                                \
    }                                                                         \
  } while (0)

#endif
