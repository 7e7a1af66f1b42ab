/* SPDX-License-Identifier: Apache-2.0 */
/* The tokens that penalties look at: a ring of the last `window`, and a hash table of how often each occurs,
 * kept up to date token by token so that no stage ever scans the history. */
#include "internal.h"

#define FIRST_CAPACITY 256

/* Fibonacci hashing: the top bits of the product are spread well; capacity is a power of two. */
static size_t home_of(const struct tombola__history *h, tombola_token id) {
  return (size_t)(((uint32_t)id * 2654435769u) >> 7) & (h->table_capacity - 1);
}

static size_t find(const struct tombola__history *h, tombola_token id) {
  size_t i = home_of(h, id);
  while (h->table[i].n && h->table[i].id != id)
    i = (i + 1) & (h->table_capacity - 1);
  return i;
}

static void count_up(struct tombola__history *h, tombola_token id) {
  size_t i = find(h, id);
  if (h->table[i].n++ == 0) {
    h->table[i].id = id;
    h->distinct++;
  }
}

/* Deletion by shifting back: what follows in the run moves up unless that would put it before its home. */
static void count_down(struct tombola__history *h, tombola_token id) {
  size_t mask = h->table_capacity - 1;
  size_t hole = find(h, id);
  if (--h->table[hole].n) return;
  h->distinct--;
  for (size_t i = (hole + 1) & mask; h->table[i].n; i = (i + 1) & mask) {
    size_t home = home_of(h, h->table[i].id);
    if (((i - home) & mask) >= ((i - hole) & mask)) {
      h->table[hole] = h->table[i];
      h->table[i].n = 0;
      hole = i;
    }
  }
}

enum tombola_status tombola__history_init(struct tombola__history *h,
                                          const struct tombola_allocator *allocator, size_t window,
                                          size_t count_window) {
  *h = (struct tombola__history){.allocator = *allocator, .window = window, .count_window = count_window};
  if (!window) return TOMBOLA_OK;
  size_t capacity = window < FIRST_CAPACITY ? window : FIRST_CAPACITY;
  h->table_capacity = 16;
  while (count_window && h->table_capacity < 2 * capacity)
    h->table_capacity *= 2;
  h->ring = tombola__new(allocator, capacity, sizeof *h->ring);
  h->table = tombola__new(allocator, h->table_capacity, sizeof *h->table);
  h->ring_capacity = capacity;
  if (h->ring && h->table) return TOMBOLA_OK;
  tombola__history_free(h);
  return TOMBOLA_NO_MEMORY;
}

void tombola__history_free(struct tombola__history *h) {
  tombola__free(&h->allocator, h->ring);
  tombola__free(&h->allocator, h->table);
  h->ring = NULL;
  h->table = NULL;
}

void tombola__history_clear(struct tombola__history *h) {
  for (size_t i = 0; i < h->table_capacity; i++)
    h->table[i].n = 0;
  h->start = h->count = h->distinct = 0;
}

/* Twice the room, up to the window. Only a ring that was never full grows, so its tokens begin at 0. */
static enum tombola_status grow(struct tombola__history *h) {
  size_t capacity = h->ring_capacity < h->window / 2 ? h->ring_capacity * 2 : h->window;
  size_t counted = capacity < h->count_window ? capacity : h->count_window;
  size_t table_capacity = h->table_capacity;
  while (table_capacity < counted * 2)
    table_capacity *= 2;
  struct tombola__count *table = tombola__new(&h->allocator, table_capacity, sizeof *table);
  tombola_token *ring =
      table ? tombola__resize(&h->allocator, h->ring, h->ring_capacity, capacity, sizeof *ring) : NULL;
  if (!ring) {
    tombola__free(&h->allocator, table);
    return TOMBOLA_NO_MEMORY;
  }
  tombola__free(&h->allocator, h->table);
  h->table = table;
  h->table_capacity = table_capacity;
  h->ring = ring;
  h->ring_capacity = capacity;
  h->distinct = 0;
  size_t first = h->count > h->count_window ? h->count - h->count_window : 0;
  for (size_t i = first; i < h->count; i++)
    count_up(h, ring[i]);
  return TOMBOLA_OK;
}

enum tombola_status tombola__history_push(struct tombola__history *h, tombola_token token) {
  if (!h->window) return TOMBOLA_OK;
  if (h->count == h->ring_capacity && h->ring_capacity < h->window && grow(h)) return TOMBOLA_NO_MEMORY;
  if (h->count_window && h->count >= h->count_window)
    count_down(h, tombola__history_at(h, h->count - h->count_window));
  if (h->count == h->window) {
    h->ring[h->start] = token;
    h->start = h->start + 1 == h->window ? 0 : h->start + 1;
  } else {
    h->ring[h->count++] = token;
  }
  if (h->count_window) count_up(h, token);
  return TOMBOLA_OK;
}

tombola_token tombola__history_at(const struct tombola__history *h, size_t i) {
  size_t place = h->start + i;
  return h->ring[place < h->ring_capacity ? place : place - h->ring_capacity];
}

size_t tombola__history_memory(const struct tombola__history *h) {
  return h->ring_capacity * sizeof *h->ring + h->table_capacity * sizeof *h->table;
}
