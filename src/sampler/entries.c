/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting and selecting list entries. An entry becomes one 64-bit key, in place, and comes back after: the
 * order is total, so that ties never depend on the sort, and one comparison is one instruction. */
#include <string.h>

#include "internal.h"

#define SMALL   32
#define BUCKETS 256
#define COPIED  4096 /* 32 KB of stack */

_Static_assert(sizeof(struct tombola__entry) == sizeof(uint64_t), "an entry is replaced by its key in place");

static uint64_t get(const struct tombola__entry *e) {
  uint64_t key;
  memcpy(&key, e, sizeof key);
  return key;
}

static void put(struct tombola__entry *e, uint64_t key) {
  memcpy(e, &key, sizeof key);
}

/* Rises as the rank falls: logit descending, then id ascending. Adding 0 makes -0 equal to 0. */
static void to_rank_keys(struct tombola__entry *e, size_t n) {
  for (size_t i = 0; i < n; i++) {
    float value = e[i].logit + 0.0f;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t falling = bits >> 31 ? bits : ~(bits | 0x80000000u);
    put(&e[i], (uint64_t)falling << 32 | (uint32_t)e[i].id);
  }
}

static void from_rank_keys(struct tombola__entry *e, size_t n) {
  for (size_t i = 0; i < n; i++) {
    uint64_t key = get(&e[i]);
    uint32_t falling = (uint32_t)(key >> 32);
    uint32_t bits = falling >> 31 ? falling : ~falling & 0x7fffffffu;
    memcpy(&e[i].logit, &bits, sizeof bits);
    e[i].id = (tombola_token)(uint32_t)key;
  }
}

static void to_id_keys(struct tombola__entry *e, size_t n) {
  for (size_t i = 0; i < n; i++) {
    uint32_t bits;
    memcpy(&bits, &e[i].logit, sizeof bits);
    put(&e[i], (uint64_t)(uint32_t)e[i].id << 32 | bits);
  }
}

static void from_id_keys(struct tombola__entry *e, size_t n) {
  for (size_t i = 0; i < n; i++) {
    uint64_t key = get(&e[i]);
    uint32_t bits = (uint32_t)key;
    memcpy(&e[i].logit, &bits, sizeof bits);
    e[i].id = (tombola_token)(uint32_t)(key >> 32);
  }
}

static void insertion(struct tombola__entry *e, size_t n) {
  for (size_t i = 1; i < n; i++) {
    uint64_t key = get(&e[i]);
    size_t j = i;
    for (; j > 0 && get(&e[j - 1]) > key; j--)
      e[j] = e[j - 1];
    put(&e[j], key);
  }
}

static unsigned bit_length(uint64_t x) {
  unsigned n = 0;
  for (; x; x >>= 1)
    n++;
  return n;
}

struct split {
  size_t begin[BUCKETS + 1];
};

/* Puts each key where its bucket goes on, from a copy: no key waits for another one's move, as in place each does. */
static void scatter(struct tombola__entry *e, size_t n, uint64_t low, unsigned shift, size_t next[BUCKETS]) {
  struct tombola__entry copy[COPIED];
  memcpy(copy, e, n * sizeof *e);
  for (size_t i = 0; i < n; i++)
    e[next[(get(&copy[i]) - low) >> shift]++] = copy[i];
}

/* The same in place: a key that isn't at home changes places with the one that is in its way. */
static void permute(struct tombola__entry *e, const struct split *s, uint64_t low, unsigned shift,
                    size_t next[BUCKETS]) {
  for (size_t b = 0; b < BUCKETS; b++) {
    while (next[b] < s->begin[b + 1]) {
      uint64_t key = get(&e[next[b]]);
      size_t home = (size_t)((key - low) >> shift);
      if (home != b) {
        e[next[b]] = e[next[home]];
        put(&e[next[home]], key);
      }
      next[home]++;
    }
  }
}

/* Deals keys into 256 buckets of equal width between the smallest and the largest one. False when all are the
 * same. The width follows the data, so that any distribution of logits is spread at once. */
static bool deal(struct tombola__entry *e, size_t n, struct split *s) {
  uint64_t low = UINT64_MAX, high = 0;
  for (size_t i = 0; i < n; i++) {
    uint64_t key = get(&e[i]);
    if (key < low) low = key;
    if (key > high) high = key;
  }
  if (low >= high) return false;
  unsigned length = bit_length(high - low);
  unsigned shift = length > 8 ? length - 8 : 0;
  size_t next[BUCKETS] = {0};
  for (size_t i = 0; i < n; i++)
    next[(get(&e[i]) - low) >> shift]++;
  size_t at = 0;
  for (size_t b = 0; b < BUCKETS; b++) {
    s->begin[b] = at;
    at += next[b];
    next[b] = s->begin[b];
  }
  s->begin[BUCKETS] = n;
  if (n <= COPIED)
    scatter(e, n, low, shift, next);
  else
    permute(e, s, low, shift, next);
  return true;
}

/* The depth is at most 8: each level settles eight of the 64 bits. */
static void sort(struct tombola__entry *e, size_t n) {
  if (n <= SMALL) {
    insertion(e, n);
    return;
  }
  struct split s;
  if (!deal(e, n, &s)) return;
  for (size_t b = 0; b < BUCKETS; b++) {
    size_t size = s.begin[b + 1] - s.begin[b];
    if (size > 1) sort(e + s.begin[b], size);
  }
}

void tombola__entries_rank(struct tombola__entry *entries, size_t count) {
  to_rank_keys(entries, count);
  sort(entries, count);
  from_rank_keys(entries, count);
}

void tombola__entries_by_id(struct tombola__entry *entries, size_t count) {
  to_id_keys(entries, count);
  sort(entries, count);
  from_id_keys(entries, count);
}

void tombola__entries_select(struct tombola__entry *entries, size_t count, size_t k) {
  struct tombola__entry *e = entries;
  size_t n = count;
  to_rank_keys(entries, count);
  while (k > 0 && k < n) {
    struct split s;
    if (n <= SMALL) {
      insertion(e, n);
      break;
    }
    if (!deal(e, n, &s)) break;
    size_t b = 0;
    while (s.begin[b + 1] <= k)
      b++; /* the bucket that holds place k; all before it are in */
    e += s.begin[b];
    n = s.begin[b + 1] - s.begin[b];
    k -= s.begin[b];
  }
  from_rank_keys(entries, count);
}

_Static_assert(BUCKETS == TOMBOLA__DEALT, "the caller's buckets are ours");

void tombola__entries_deal(struct tombola__entry *entries, size_t count, size_t begin[TOMBOLA__DEALT + 1]) {
  struct split s;
  to_rank_keys(entries, count);
  bool dealt = count > 0 && deal(entries, count, &s);
  from_rank_keys(entries, count);
  for (size_t b = 0; b <= BUCKETS; b++)
    begin[b] = dealt ? s.begin[b] : b ? count : 0;
}
