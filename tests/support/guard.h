/* SPDX-License-Identifier: Apache-2.0 */
/* A buffer whose last byte is followed by a page that can't be touched, and whose first page is preceded by
 * one: a read or write past the end ends the program there and then. */
#ifndef SUPPORT_GUARD_H
#define SUPPORT_GUARD_H

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct support_guard {
  unsigned char *map;
  size_t map_size;
  size_t room; /* bytes between the two guard pages */
};

/* Room for up to `room` bytes. Ends the program when the system gives no memory: a test can't go on without.
 */
static inline struct support_guard support_guard_new(size_t room) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  size_t inner = (room + page - 1) / page * page;
  if (inner == 0) inner = page;
  int zero = open("/dev/zero", O_RDWR);
  void *map =
      zero < 0 ? MAP_FAILED : mmap(NULL, inner + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, zero, 0);
  if (map == MAP_FAILED || mprotect(map, page, PROT_NONE) != 0 ||
      mprotect((unsigned char *)map + page + inner, page, PROT_NONE) != 0) {
    perror("support_guard_new");
    exit(1);
  }
  close(zero);
  return (struct support_guard){map, inner + 2 * page, inner};
}

/* The address from which `size` bytes reach exactly to the guard page. */
static inline void *support_guard_end(const struct support_guard *guard, size_t size) {
  return guard->map + (guard->map_size - guard->room) / 2 + guard->room - size;
}

/* The address right behind the first guard page. */
static inline void *support_guard_start(const struct support_guard *guard) {
  return guard->map + (guard->map_size - guard->room) / 2;
}

static inline void support_guard_free(struct support_guard *guard) {
  munmap(guard->map, guard->map_size);
  guard->map = NULL;
}

#endif
