/* SPDX-License-Identifier: Apache-2.0 */
/* A seed from the system. getentropy needs no file descriptor and works in a jail without /dev; where there
 * is no such call, or it fails, the device is read with nothing but C. */
#if defined(__linux__) || defined(__APPLE__) || defined(__FreeBSD__) || defined(__OpenBSD__) || \
    defined(__NetBSD__)
#define _DEFAULT_SOURCE 1 /* glibc and musl then declare getentropy in unistd.h */
#define HAVE_GETENTROPY 1
#include <unistd.h>
#if defined(__APPLE__)
#include <sys/random.h>
#endif
#endif

#include "random.h"

#include <stdio.h>

static int from_device(uint64_t *seed) {
  FILE *device = fopen("/dev/urandom", "rb");
  if (!device) return 0;
  setvbuf(device, NULL, _IONBF, 0);
  size_t read = fread(seed, sizeof *seed, 1, device);
  fclose(device);
  return read == 1;
}

int tombola__random_seed(uint64_t *seed) {
#if defined(HAVE_GETENTROPY)
  if (getentropy(seed, sizeof *seed) == 0) return 1;
#endif
  return from_device(seed);
}
