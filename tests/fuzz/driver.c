/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target without a fuzzer: on the files that are named, else on FUZZ_RUNS seeded random inputs whose bytes
 * come from a small alphabet, so that markers and stop strings do occur, or with FUZZ_ANY_BYTE are anything. */
#include <string.h>

#include "../support/rng.h"
#include "fuzz.h"

#define LONGEST 400
#ifndef FUZZ_RUNS
#define FUZZ_RUNS 100000
#endif
#ifdef FUZZ_ANY_BYTE
#define OTHERS 8 /* of 8 bytes */
#else
#define OTHERS 1
#endif

static int replay(const char *path) {
  static uint8_t data[1 << 20];
  FILE *file = fopen(path, "rb");
  if (!file) return fprintf(stderr, "%s: can't be read\n", path), 1;
  size_t size = fread(data, 1, sizeof data, file);
  fclose(file);
  return LLVMFuzzerTestOneInput(data, size);
}

int main(int argc, char **argv) {
  static const char alphabet[] = "<>/thinkstop\n\r\xe4\xb8\xad\xf0\x9f\x80\xc3\xa9"
                                 "ab \x01\x02\x03\x04";
  uint8_t data[LONGEST];
  size_t runs = (support_long() ? (size_t)20 : (size_t)1) * FUZZ_RUNS;
  struct support_rng rng = support_rng(90);
  for (int i = 1; i < argc; i++)
    if (replay(argv[i])) return 1;
  for (size_t r = 0; argc < 2 && r < runs; r++) {
    size_t size = support_below(&rng, LONGEST);
    for (size_t i = 0; i < size; i++)
      data[i] = support_below(&rng, 8) >= OTHERS ? (uint8_t)alphabet[support_below(&rng, sizeof alphabet)]
                                                 : (uint8_t)support_u32(&rng);
    LLVMFuzzerTestOneInput(data, size);
  }
  return 0;
}
