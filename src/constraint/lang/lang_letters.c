/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of letters, and partitions of the alphabet into classes of letters that a term doesn't tell apart; both
 * interned. */
#include "constraint/lang/lang_terms.h"

#include <stdlib.h>
#include <string.h>

/* ---- sets ---- */

static bool same_set(const struct tombola__terms *terms, uint32_t element, const void *what) {
  const struct tombola__letters *const a = &terms->sets[element], *const b = what;
  return a->hash == b->hash && a->n == b->n && !memcmp(a->ranges, b->ranges, a->n * sizeof *a->ranges);
}

static uint32_t set_hash(const struct tombola__terms *terms, uint32_t element) {
  return terms->sets[element].hash;
}

static int by_first(const void *a, const void *b) {
  const uint32_t x = ((const struct tombola__range *)a)->lo, y = ((const struct tombola__range *)b)->lo;
  return (x > y) - (x < y);
}

static size_t join(struct tombola__range *ranges, size_t n) {
  bool sorted = true;
  for (size_t i = 1; i < n && sorted; i++)
    sorted = ranges[i - 1].lo <= ranges[i].lo;
  if (!sorted) qsort(ranges, n, sizeof *ranges, by_first);
  size_t out = 0;
  for (size_t i = 0; i < n; i++) {
    if (out && ranges[i].lo <= ranges[out - 1].hi + 1) {
      if (ranges[i].hi > ranges[out - 1].hi) ranges[out - 1].hi = ranges[i].hi;
    } else {
      ranges[out++] = ranges[i];
    }
  }
  return out;
}

static void set_ascii(struct tombola__letters *set) {
  for (size_t i = 0; i < set->n && set->ranges[i].lo < 128; i++)
    for (uint32_t c = set->ranges[i].lo; c <= set->ranges[i].hi && c < 128; c++)
      set->ascii[c / 32] |= UINT32_C(1) << c % 32;
}

uint32_t tombola__letters(struct tombola__store *s, struct tombola__range *ranges, size_t n) {
  struct tombola__terms *const terms = tombola__terms(s);
  struct tombola__letters set = {.n = (uint32_t)join(ranges, n), .ranges = ranges};
  uint64_t hash = set.n;
  for (size_t i = 0; i < set.n; i++)
    hash = tombola__mix(hash, (uint64_t)ranges[i].lo << 32 | ranges[i].hi);
  set.hash = (uint32_t)(hash >> 16);
  uint32_t *const slot = tombola__index_slot(s, &terms->set_index, set.hash, same_set, &set, set_hash);
  if (!slot) return UINT32_MAX;
  if (*slot) return *slot - 1;
  void *array = terms->sets;
  if (!tombola__terms_room(s, &array, terms->n_sets, &terms->room_sets, sizeof *terms->sets))
    return UINT32_MAX;
  terms->sets = array;
  struct tombola__range *const copy = tombola__store_take(s, set.n, sizeof *copy);
  if (!copy) return UINT32_MAX;
  memcpy(copy, ranges, set.n * sizeof *copy);
  set.ranges = copy;
  set_ascii(&set);
  terms->sets[terms->n_sets++] = set;
  terms->set_index.n++;
  return *slot = (uint32_t)terms->n_sets, *slot - 1;
}

bool tombola__letters_have(const struct tombola__letters *set, uint32_t letter) {
  if (letter < 128) return set->ascii[letter / 32] >> letter % 32 & 1;
  size_t lo = 0, hi = set->n; /* the first range that doesn't end in front of it */
  while (lo < hi) {
    const size_t middle = (lo + hi) / 2;
    if (set->ranges[middle].hi < letter)
      lo = middle + 1;
    else
      hi = middle;
  }
  return lo < set->n && set->ranges[lo].lo <= letter;
}

bool tombola__letters_meet(const struct tombola__letters *a, const struct tombola__letters *b) {
  for (size_t i = 0; i < 4; i++)
    if (a->ascii[i] & b->ascii[i]) return true;
  for (size_t i = 0, j = 0; i < a->n && j < b->n;) {
    if (a->ranges[i].hi < b->ranges[j].lo)
      i++;
    else if (b->ranges[j].hi < a->ranges[i].lo)
      j++;
    else
      return true;
  }
  return false;
}

/* What is in `a` and, or and not, in `b`; out has room for a->n + b->n + 1 ranges. */
static size_t meet_ranges(const struct tombola__letters *a, const struct tombola__letters *b,
                          struct tombola__range *out) {
  size_t n = 0;
  for (size_t i = 0, j = 0; i < a->n && j < b->n;) {
    const struct tombola__range x = a->ranges[i], y = b->ranges[j];
    const uint32_t lo = x.lo > y.lo ? x.lo : y.lo, hi = x.hi < y.hi ? x.hi : y.hi;
    if (lo <= hi) out[n++] = (struct tombola__range){lo, hi};
    if (x.hi < y.hi)
      i++;
    else
      j++;
  }
  return n;
}

static size_t minus_ranges(const struct tombola__letters *a, const struct tombola__letters *b,
                           struct tombola__range *out) {
  size_t n = 0, j = 0;
  for (size_t i = 0; i < a->n; i++) {
    struct tombola__range x = a->ranges[i];
    bool rest = true;
    while (j < b->n && b->ranges[j].hi < x.lo)
      j++;
    for (size_t k = j; rest && k < b->n && b->ranges[k].lo <= x.hi; k++) {
      if (b->ranges[k].lo > x.lo) out[n++] = (struct tombola__range){x.lo, b->ranges[k].lo - 1};
      if (b->ranges[k].hi >= x.hi)
        rest = false;
      else
        x.lo = b->ranges[k].hi + 1;
    }
    if (rest) out[n++] = x;
  }
  return n;
}

uint32_t tombola__letters_op(struct tombola__store *s, enum tombola__letters_op op, uint32_t a, uint32_t b) {
  if (s->status) return UINT32_MAX;
  const struct tombola__letters *const x = &tombola__terms(s)->sets[a], *const y =
                                                                            &tombola__terms(s)->sets[b];
  struct tombola__range few[64], *out = few;
  const size_t room = (size_t)x->n + y->n + 1;
  if (room > 64) out = tombola__new(&s->allocator, room, sizeof *out);
  if (!out) {
    tombola__store_fail(s, TOMBOLA_NO_MEMORY, NULL, "out of memory");
    return UINT32_MAX;
  }
  size_t n = 0;
  if (op == TOMBOLA__LETTERS_OR) {
    memcpy(out, x->ranges, x->n * sizeof *out);
    memcpy(out + x->n, y->ranges, y->n * sizeof *out);
    n = (size_t)x->n + y->n;
  } else {
    n = op == TOMBOLA__LETTERS_AND ? meet_ranges(x, y, out) : minus_ranges(x, y, out);
  }
  const uint32_t result = n ? tombola__letters(s, out, n) : UINT32_MAX;
  if (out != few) tombola__free(&s->allocator, out);
  return result;
}

/* ---- partitions ---- */

/* A range that is being made into a partition: where it begins, and a mark; the same mark is the same class. */
struct piece {
  uint32_t start;
  uint64_t mark;
};

static bool same_partition(const struct tombola__terms *terms, uint32_t element, const void *what) {
  const struct tombola__partition *const a = terms->partitions[element], *const b = what;
  return a->hash == b->hash && a->n == b->n && !memcmp(a->start, b->start, a->n * sizeof *a->start) &&
         !memcmp(a->class_at, b->class_at, a->n * sizeof *a->class_at);
}

static uint32_t partition_hash(const struct tombola__terms *terms, uint32_t element) {
  return terms->partitions[element]->hash;
}

/* Numbers the marks in the order in which they come: open addressing over the pieces. Joins equal neighbours. `start`
 * and `class_at` have room for n; `slots` for `room`, a power of two above n, zeroed. Returns the ranges. */
static uint32_t number(const struct piece *pieces, size_t n, uint32_t *start, uint32_t *class_at,
                       uint32_t *slots, size_t room, uint32_t *n_classes) {
  uint32_t out = 0, classes = 0;
  for (size_t i = 0; i < n; i++) {
    if (i && pieces[i].mark == pieces[i - 1].mark) continue;
    size_t at = (size_t)tombola__mix(1, pieces[i].mark) & (room - 1);
    while (slots[2 * at] && pieces[slots[2 * at] - 1].mark != pieces[i].mark)
      at = (at + 1) & (room - 1);
    if (!slots[2 * at]) {
      slots[2 * at] = (uint32_t)i + 1;
      slots[2 * at + 1] = classes++;
    }
    start[out] = pieces[i].start;
    class_at[out++] = slots[2 * at + 1];
  }
  *n_classes = classes;
  return out;
}

static bool keep(struct tombola__store *s, struct tombola__partition *p) {
  struct tombola__partition *const kept = tombola__store_take(s, 1, sizeof *kept);
  uint32_t *const numbers = tombola__store_take(s, 2 * (size_t)p->n + p->n_classes, sizeof *numbers);
  if (!kept || !numbers) return false;
  memcpy(numbers, p->start, p->n * sizeof *numbers);
  memcpy(numbers + p->n, p->class_at, p->n * sizeof *numbers);
  *kept = *p;
  kept->start = numbers;
  kept->class_at = numbers + p->n;
  kept->sample = numbers + 2 * (size_t)p->n;
  for (uint32_t i = p->n; i-- > 0;)
    kept->sample[p->class_at[i]] = p->start[i];
  for (uint32_t i = 0; i < p->n && p->start[i] < 128; i++)
    for (uint32_t c = p->start[i]; c <= tombola__partition_end(p, i) && c < 128; c++)
      kept->ascii[c] = (uint8_t)p->class_at[i];
  struct tombola__terms *const terms = tombola__terms(s);
  terms->partitions[terms->n_partitions++] = kept;
  terms->partition_index.n++;
  return true;
}

static uint32_t intern(struct tombola__store *s, struct tombola__partition *p) {
  struct tombola__terms *const terms = tombola__terms(s);
  uint64_t hash = p->n;
  for (uint32_t i = 0; i < p->n; i++)
    hash = tombola__mix(hash, (uint64_t)p->start[i] << 32 | p->class_at[i]);
  p->hash = (uint32_t)(hash >> 16);
  void *array = (void *)terms->partitions;
  if (!tombola__terms_room(s, &array, terms->n_partitions, &terms->room_partitions,
                           sizeof *terms->partitions))
    return UINT32_MAX;
  terms->partitions = array;
  uint32_t *const slot =
      tombola__index_slot(s, &terms->partition_index, p->hash, same_partition, p, partition_hash);
  if (!slot) return UINT32_MAX;
  if (*slot) return *slot - 1;
  if (!keep(s, p)) return UINT32_MAX;
  return *slot = (uint32_t)terms->n_partitions, *slot - 1;
}

/* The partition of these pieces, which begin with letter 0 and ascend. */
static uint32_t partition(struct tombola__store *s, const struct piece *pieces, size_t n) {
  size_t room = 4;
  while (room < 2 * n)
    room *= 2;
  uint32_t few[512], *work = few;
  const size_t need = 2 * n + 2 * room;
  if (need > TOMBOLA__COUNT(few)) {
    work = tombola__new(&s->allocator, need, sizeof *work);
    if (!work) {
      tombola__store_fail(s, TOMBOLA_NO_MEMORY, NULL, "out of memory");
      return UINT32_MAX;
    }
  } else {
    memset(few, 0, need * sizeof *few);
  }
  struct tombola__partition p = {.start = work, .class_at = work + n};
  p.n = number(pieces, n, work, work + n, work + 2 * n, room, &p.n_classes);
  const uint32_t result = intern(s, &p);
  if (work != few) tombola__free(&s->allocator, work);
  return result;
}

/* A range of a set. */
struct marked {
  uint32_t lo, hi, mark;
};

static int by_lo(const void *a, const void *b) {
  const uint32_t x = ((const struct marked *)a)->lo, y = ((const struct marked *)b)->lo;
  return (x > y) - (x < y);
}

/* The pieces of ascending ranges; what is in none of them has the mark 0. Room for 2 n + 1. */
static size_t cut(const struct marked *ranges, size_t n, struct piece *out) {
  size_t pieces = 0;
  uint32_t at = 0; /* the first letter that has no piece yet */
  for (size_t i = 0; i < n; i++) {
    if (ranges[i].lo > at) out[pieces++] = (struct piece){at, 0};
    out[pieces++] = (struct piece){ranges[i].lo, ranges[i].mark};
    at = ranges[i].hi + 1;
  }
  if (at <= TOMBOLA__LAST_LETTER) out[pieces++] = (struct piece){at, 0};
  return pieces;
}

/* Of disjoint sets: sets[stride * i] has the mark i + 1. */
static uint32_t partition_of_sets(struct tombola__store *s, const uint32_t *sets, size_t stride, size_t n) {
  const struct tombola__terms *const terms = tombola__terms(s);
  if (s->status) return UINT32_MAX;
  size_t n_ranges = 0, k = 0;
  for (size_t i = 0; i < n; i++)
    n_ranges += terms->sets[sets[stride * i]].n;
  const size_t marked_bytes = (n_ranges * sizeof(struct marked) + 15) / 16 * 16;
  char *const work = tombola__new(&s->allocator, 1, marked_bytes + (2 * n_ranges + 1) * sizeof(struct piece));
  if (!work) {
    tombola__store_fail(s, TOMBOLA_NO_MEMORY, NULL, "out of memory");
    return UINT32_MAX;
  }
  struct marked *const ranges = (void *)work;
  struct piece *const pieces = (void *)(work + marked_bytes);
  for (size_t i = 0; i < n; i++) {
    const struct tombola__letters *const set = &terms->sets[sets[stride * i]];
    for (size_t j = 0; j < set->n; j++)
      ranges[k++] = (struct marked){set->ranges[j].lo, set->ranges[j].hi, (uint32_t)i + 1};
  }
  qsort(ranges, k, sizeof *ranges, by_lo);
  const uint32_t result = partition(s, pieces, cut(ranges, k, pieces));
  tombola__free(&s->allocator, work);
  return result;
}

uint32_t tombola__partition_of_set(struct tombola__store *s, uint32_t set) {
  const uint32_t known = tombola__terms(s)->sets[set].partition;
  if (known) return known - 1;
  const uint32_t result = partition_of_sets(s, &set, 1, 1);
  if (!s->status) tombola__terms(s)->sets[set].partition = result + 1;
  return result;
}

uint32_t tombola__partition_of_choice(struct tombola__store *s, const uint32_t *pairs, size_t n) {
  return partition_of_sets(s, pairs, 2, n);
}

uint32_t tombola__partition_class(const struct tombola__partition *p, uint32_t letter) {
  if (letter < 128) return p->ascii[letter];
  size_t lo = 0, hi = p->n; /* the first range that begins behind it */
  while (lo < hi) {
    const size_t middle = (lo + hi) / 2;
    if (p->start[middle] <= letter)
      lo = middle + 1;
    else
      hi = middle;
  }
  return p->class_at[lo - 1];
}

/* ---- the common refinement, remembered ---- */

static bool same_meet(const struct tombola__terms *terms, uint32_t element, const void *what) {
  const struct tombola__meet *const a = &terms->meets[element], *const b = what;
  return a->a == b->a && a->b == b->b;
}

static uint32_t meet_hash(const struct tombola__terms *terms, uint32_t element) {
  return terms->meets[element].hash;
}

static uint32_t meet(struct tombola__store *s, uint32_t a, uint32_t b) {
  const struct tombola__partition *const x = tombola__terms(s)->partitions[a], *const y = tombola__terms(s)
                                                                                              ->partitions[b];
  const size_t room = (size_t)x->n + y->n;
  struct piece few[64], *pieces = few;
  if (room > 64) pieces = tombola__new(&s->allocator, room, sizeof *pieces);
  if (!pieces) {
    tombola__store_fail(s, TOMBOLA_NO_MEMORY, NULL, "out of memory");
    return UINT32_MAX;
  }
  size_t n = 0;
  uint32_t i = 0, j = 0;
  do { /* both end with the last letter */
    const uint32_t start = x->start[i] > y->start[j] ? x->start[i] : y->start[j];
    pieces[n++] = (struct piece){start, (uint64_t)x->class_at[i] << 32 | y->class_at[j]};
    const uint32_t x_end = tombola__partition_end(x, i), y_end = tombola__partition_end(y, j);
    i += x_end <= y_end;
    j += y_end <= x_end;
  } while (i < x->n && j < y->n);
  const uint32_t result = partition(s, pieces, n);
  if (pieces != few) tombola__free(&s->allocator, pieces);
  return result;
}

uint32_t tombola__partition_meet(struct tombola__store *s, uint32_t a, uint32_t b) {
  if (s->status || a == UINT32_MAX || b == UINT32_MAX) return UINT32_MAX;
  struct tombola__terms *const terms = tombola__terms(s);
  if (a == b || terms->partitions[b]->n_classes == 1) return a;
  if (terms->partitions[a]->n_classes == 1) return b;
  struct tombola__meet m = {.a = a < b ? a : b, .b = a < b ? b : a};
  m.hash = (uint32_t)(tombola__mix(1, (uint64_t)m.a << 32 | m.b) >> 16);
  uint32_t *slot = tombola__index_slot(s, &terms->meet_index, m.hash, same_meet, &m, meet_hash);
  if (!slot) return UINT32_MAX;
  if (*slot) return terms->meets[*slot - 1].result;
  void *array = terms->meets;
  if (!tombola__terms_room(s, &array, terms->n_meets, &terms->room_meets, sizeof *terms->meets))
    return UINT32_MAX;
  terms->meets = array;
  m.result = meet(s, m.a, m.b);
  if (s->status) return UINT32_MAX;
  terms->meets[terms->n_meets++] = m;
  terms->meet_index.n++;
  *slot = (uint32_t)terms->n_meets;
  return m.result;
}
