/* SPDX-License-Identifier: Apache-2.0 */
/* The candidates: from a const row to a short list.
 *
 * One pass over the row leaves the maximum of every block of 64. Whatever a stage asks afterwards is a
 * threshold, and only the blocks whose maximum reaches it are read again. Edits go to private copies of the
 * blocks that they touch. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "internal.h"

#define FIRST_LIST 448

/* A selection that may leave more than so many doesn't make a list. */
#define MOST_LISTED 4096

/* ---- life ---- */

/* Both arrays grow or neither, because the next resize must name the size that each of them has. */
static enum tombola_status grow_slots(struct tombola__candidates *c, size_t capacity) {
  if (capacity > c->n_blocks) capacity = c->n_blocks;
  if (!c->slot_of) c->slot_of = tombola__new(&c->allocator, c->n_blocks, sizeof *c->slot_of);
  if (!c->slot_of) return TOMBOLA_NO_MEMORY;
  uint32_t *block_of = tombola__new(&c->allocator, capacity, sizeof *block_of);
  if (!block_of) return TOMBOLA_NO_MEMORY;
  void *blocks = tombola__resize(&c->allocator, c->blocks, c->slot_capacity, capacity, sizeof *c->blocks);
  if (!blocks) {
    tombola__free(&c->allocator, block_of);
    return TOMBOLA_NO_MEMORY;
  }
  if (c->n_slots) memcpy(block_of, c->block_of, c->n_slots * sizeof *block_of);
  tombola__free(&c->allocator, c->block_of);
  c->blocks = blocks;
  c->block_of = block_of;
  c->slot_capacity = capacity;
  return TOMBOLA_OK;
}

enum tombola_status tombola__candidates_init(struct tombola__candidates *c,
                                             const struct tombola__kernels *kernels,
                                             const struct tombola_allocator *allocator, size_t vocab_size,
                                             size_t max_edits) {
  *c = (struct tombola__candidates){.kernels = kernels, .allocator = *allocator, .vocab_size = vocab_size};
  c->n_blocks = (vocab_size + TOMBOLA__BLOCK - 1) / TOMBOLA__BLOCK;
  c->maxima = tombola__new(allocator, c->n_blocks, sizeof *c->maxima);
  if (!c->maxima || (max_edits && grow_slots(c, max_edits))) return TOMBOLA_NO_MEMORY;
  return tombola__candidates_reserve(c, FIRST_LIST);
}

void tombola__candidates_free(struct tombola__candidates *c) {
  tombola__free(&c->allocator, c->maxima);
  tombola__free(&c->allocator, c->sums);
  tombola__free(&c->allocator, c->slot_of);
  tombola__free(&c->allocator, c->blocks);
  tombola__free(&c->allocator, c->block_of);
  tombola__free(&c->allocator, c->list);
}

size_t tombola__candidates_memory(const struct tombola__candidates *c) {
  size_t per_block =
      sizeof *c->maxima + (c->slot_of ? sizeof *c->slot_of : 0) + (c->sums ? sizeof *c->sums : 0);
  return c->n_blocks * per_block + c->slot_capacity * (sizeof *c->blocks + sizeof *c->block_of) +
         c->capacity * sizeof *c->list;
}

enum tombola_status tombola__candidates_reserve(struct tombola__candidates *c, size_t count) {
  count += TOMBOLA__BLOCK;
  if (count <= c->capacity) return TOMBOLA_OK;
  size_t most = c->n_blocks * TOMBOLA__BLOCK + TOMBOLA__BLOCK;
  size_t capacity = count < 2 * c->capacity ? 2 * c->capacity : count;
  if (capacity > most) capacity = count > most ? count : most;
  void *list = tombola__resize(&c->allocator, c->list, c->capacity, capacity, sizeof *c->list);
  if (!list) return TOMBOLA_NO_MEMORY;
  c->list = list;
  c->capacity = capacity;
  return TOMBOLA_OK;
}

void tombola__candidates_begin(struct tombola__candidates *c, const struct tombola_row *row,
                               const struct tombola_mask *mask) {
  for (size_t s = 0; s < c->n_slots; s++)
    c->slot_of[c->block_of[s]] = 0;
  c->n_slots = 0;
  c->row = *row;
  c->mask = mask ? mask->words : NULL;
  c->ids = mask ? mask->ids : NULL;
  c->n_ids = mask ? mask->n_ids : 0;
  c->dense = true;
  c->indexed = c->summed = c->ranked = false;
  c->scale = 1;
  c->floor = -FLT_MAX;
  c->split = c->n_blocks;
  c->count = 0;
}

/* ---- the floor ---- */

/* The least logit that is a candidate in a block without a private copy. */
static float low_of(const struct tombola__candidates *c, size_t block) {
  return block > c->split ? nextafterf(c->floor, INFINITY) : c->floor;
}

/* A floor at the lowest float takes out what equals it behind the split. */
static bool has_floor(const struct tombola__candidates *c) {
  return c->floor > -FLT_MAX || c->split < c->n_blocks;
}

static void drop_below(float values[TOMBOLA__BLOCK], float low) {
  for (size_t i = 0; i < TOMBOLA__BLOCK; i++)
    values[i] = values[i] >= low ? values[i] : -INFINITY;
}

const float *tombola__candidates_block(const struct tombola__candidates *c, size_t block,
                                       float room[TOMBOLA__BLOCK]) {
  size_t slot = tombola__slot(c, block);
  if (slot) return c->blocks[slot - 1];
  c->kernels->load64(&c->row, c->mask, block, room);
  if (has_floor(c)) drop_below(room, low_of(c, block));
  return room;
}

/* Blocks without a private copy that have nothing at or above the floor count as empty. */
static void floor_maxima(struct tombola__candidates *c) {
  float low = c->floor;
  size_t split = c->split < c->n_blocks ? c->split + 1 : c->n_blocks;
  for (size_t b = 0; b < split; b++)
    if (c->maxima[b] < low && !tombola__slot(c, b)) c->maxima[b] = -INFINITY;
  low = nextafterf(low, INFINITY);
  for (size_t b = split; b < c->n_blocks; b++)
    if (c->maxima[b] < low && !tombola__slot(c, b)) c->maxima[b] = -INFINITY;
}

/* Private copies may hold less than the floor, where an edit has lowered a logit: they are always looked at.
 * low <= max, and the index is valid. */
static void set_floor(struct tombola__candidates *c, float low) {
  c->summed = false;
  for (size_t s = 0; s < c->n_slots; s++) {
    drop_below(c->blocks[s], low);
    c->maxima[c->block_of[s]] = c->kernels->max(c->blocks[s], TOMBOLA__BLOCK);
  }
  if (low <= c->floor) return;
  c->floor = low;
  c->split = c->n_blocks;
  floor_maxima(c);
}

/* ---- the index ---- */

static void list_max(struct tombola__candidates *c) {
  c->max = -INFINITY;
  for (size_t i = 0; i < c->count; i++)
    if (c->list[i].logit > c->max) c->max = c->list[i].logit;
}

static enum tombola_status check_max(const struct tombola__candidates *c) {
  if (c->max == INFINITY) return TOMBOLA_NOT_FINITE;
  return c->max == -INFINITY ? TOMBOLA_NO_CANDIDATE : TOMBOLA_OK;
}

/* Of one block alone: the row that begins and ends with it. */
static int one_block_max(const struct tombola__candidates *c, size_t block) {
  static const size_t sizes[] = {[TOMBOLA_F32] = 4, [TOMBOLA_F16] = 2, [TOMBOLA_BF16] = 2};
  const size_t first = block * TOMBOLA__BLOCK, rest = c->row.count - first;
  const struct tombola_row part = {.data = (const char *)c->row.data + first * sizes[c->row.dtype],
                                   .count = rest < TOMBOLA__BLOCK ? rest : TOMBOLA__BLOCK,
                                   .dtype = c->row.dtype};
  return c->kernels->block_max(&part, c->mask + first / 32, c->maxima + block);
}

/* The maxima of all blocks; 1 when an allowed value is NaN. A mask that lists its tokens spares the others. */
static int all_maxima(struct tombola__candidates *c) {
  if (!c->ids) return c->kernels->block_max(&c->row, c->mask, c->maxima);
  for (size_t b = 0; b < c->n_blocks; b++)
    c->maxima[b] = -INFINITY;
  size_t last = SIZE_MAX;
  for (size_t i = 0; i < c->n_ids; i++) {
    const size_t block = (size_t)c->ids[i] / TOMBOLA__BLOCK;
    if (block != last && one_block_max(c, block)) return 1;
    last = block;
  }
  return 0;
}

enum tombola_status tombola__candidates_index(struct tombola__candidates *c) {
  if (c->indexed) return TOMBOLA_OK;
  if (!c->dense) {
    list_max(c);
  } else {
    if (all_maxima(c)) return TOMBOLA_NOT_FINITE;
    c->max = c->kernels->max(c->maxima, c->n_blocks);
    if (c->max == INFINITY) return TOMBOLA_NOT_FINITE;
    for (size_t s = 0; s < c->n_slots; s++)
      c->maxima[c->block_of[s]] = c->kernels->max(c->blocks[s], TOMBOLA__BLOCK);
    if (has_floor(c)) floor_maxima(c);
    if (c->n_slots) c->max = c->kernels->max(c->maxima, c->n_blocks);
  }
  enum tombola_status status = check_max(c);
  c->indexed = status == TOMBOLA_OK;
  return status;
}

/* ---- edits and scale ---- */

static float edited(const struct tombola__candidates *c, tombola__edit_fn edit, const void *context, size_t i,
                    float logit) {
  if (logit == -INFINITY) return logit;
  return c->scale == 1 ? edit(context, i, logit) : edit(context, i, logit * c->scale) / c->scale;
}

/* The private copy of a block; NULL when there is no memory for it. */
static float *own_block(struct tombola__candidates *c, size_t block) {
  if (!tombola__slot(c, block)) {
    if (c->n_slots == c->slot_capacity && grow_slots(c, c->slot_capacity ? 2 * c->slot_capacity : 16))
      return NULL;
    c->kernels->load64(&c->row, c->mask, block, c->blocks[c->n_slots]);
    if (has_floor(c)) drop_below(c->blocks[c->n_slots], low_of(c, block));
    c->block_of[c->n_slots] = (uint32_t)block;
    c->slot_of[block] = (uint32_t)++c->n_slots;
  }
  return c->blocks[c->slot_of[block] - 1];
}

static enum tombola_status edit_dense(struct tombola__candidates *c, const tombola_token *ids, size_t n,
                                      tombola__edit_fn edit, const void *context) {
  for (size_t i = 0; i < n; i++) {
    float *block = own_block(c, (size_t)ids[i] / TOMBOLA__BLOCK);
    if (!block) return TOMBOLA_NO_MEMORY;
    float *logit = &block[(size_t)ids[i] % TOMBOLA__BLOCK];
    *logit = edited(c, edit, context, i, *logit);
  }
  return TOMBOLA_OK;
}

/* The place of an id in the list, or count. A list by id is searched by halves, any other one walked. */
static size_t place_of(const struct tombola__candidates *c, tombola_token id) {
  size_t first = 0, last = c->count;
  if (c->order != TOMBOLA__BY_ID) {
    while (first < last && c->list[first].id != id)
      first++;
    return first;
  }
  while (first < last) {
    size_t middle = first + (last - first) / 2;
    if (c->list[middle].id < id)
      first = middle + 1;
    else
      last = middle;
  }
  return first < c->count && c->list[first].id == id ? first : c->count;
}

static void edit_list(struct tombola__candidates *c, const tombola_token *ids, size_t n,
                      tombola__edit_fn edit, const void *context) {
  for (size_t i = 0; i < n; i++) {
    size_t k = place_of(c, ids[i]);
    if (k == c->count) continue;
    c->list[k].logit = edited(c, edit, context, i, c->list[k].logit);
    if (c->order == TOMBOLA__BY_RANK) c->order = TOMBOLA__BY_CHANCE;
  }
  size_t kept = 0;
  for (size_t k = 0; k < c->count; k++)
    if (c->list[k].logit > -INFINITY) c->list[kept++] = c->list[k];
  c->count = kept;
}

enum tombola_status tombola__candidates_edit(struct tombola__candidates *c, const tombola_token *ids,
                                             size_t n, tombola__edit_fn edit, const void *context) {
  if (c->dense && c->ranked) { /* where the draw walks, the edited ones stay in their places */
    enum tombola_status status = tombola__candidates_list(c, true);
    if (status) return status;
  }
  c->summed = c->indexed = false;
  if (c->dense) return edit_dense(c, ids, n, edit, context);
  edit_list(c, ids, n, edit, context);
  return TOMBOLA_OK;
}

/* Kept finite: a temperature that is too small for its inverse to be a float is the smallest one that isn't.
 */
void tombola__candidates_scale(struct tombola__candidates *c, float factor) {
  c->scale *= factor;
  if (c->scale > FLT_MAX) c->scale = FLT_MAX;
  if (c->scale < FLT_MIN) c->scale = FLT_MIN;
  c->summed = false;
}

/* ---- from dense to list ---- */

static void gather_own(const struct tombola__candidates *c, size_t block, float low, float high,
                       struct tombola__gather *g) {
  const float *own = c->blocks[c->slot_of[block] - 1];
  for (size_t i = 0; i < TOMBOLA__BLOCK; i++)
    if (own[i] >= low && own[i] < high)
      c->list[g->count++] = (struct tombola__entry){own[i], (tombola_token)(block * TOMBOLA__BLOCK + i)};
}

/* Private copies that reach low end a stretch; others hold nothing that is asked for. */
static size_t stretch_end(const struct tombola__candidates *c, size_t b, float low) {
  if (!c->n_slots) return c->n_blocks;
  while (b < c->n_blocks && !(tombola__slot(c, b) && c->maxima[b] >= low))
    b++;
  return b;
}

enum tombola_status tombola__candidates_gather(struct tombola__candidates *c, float low, float high,
                                               size_t limit) {
  if (low < c->floor && !c->n_slots) low = c->floor;
  size_t room = c->kernels->count_at_least(c->maxima, c->n_blocks, low) * TOMBOLA__BLOCK;
  if (limit < c->count + room) room = limit - c->count;
  if (tombola__candidates_reserve(c, c->count + room)) return TOMBOLA_NO_MEMORY;
  if (limit > c->capacity - TOMBOLA__BLOCK) limit = c->capacity - TOMBOLA__BLOCK;
  struct tombola__gather g = {c->count, 0};
  for (size_t b = 0; b < c->n_blocks && g.count < limit; b++) {
    size_t end = stretch_end(c, b, low);
    for (size_t to; b < end; b = to) { /* the split is a private copy, but one that may not reach low */
      to = b <= c->split && c->split < end ? c->split + 1 : end;
      float least = low_of(c, b);
      c->kernels->gather(&c->row, c->mask, c->maxima, b, to, low > least ? low : least, high, limit, c->list,
                         &g);
    }
    if (b < c->n_blocks && g.count < limit) gather_own(c, b, low, high, &g);
  }
  c->count = g.count;
  return TOMBOLA_OK;
}

/* Floats as integers in the same order, and back. */
static int32_t rising(float x) {
  int32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits < 0 ? INT32_MIN - bits : bits;
}

static float from_rising(int32_t key) {
  int32_t bits = key < 0 ? INT32_MIN - key : key;
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* Halves [low, high): n blocks reach low, fewer than k reach high. A few steps between floats find a value
 * that not many more than k reach; where equal maxima prevent that, steps between bit patterns end at the
 * k-th largest. */
static float halve(const struct tombola__candidates *c, size_t k, size_t n, float low, float high) {
  size_t enough = k + k / 2 + 4;
  for (int i = 0; n > enough; i++) {
    float middle = low / 2 + high / 2;
    if (i >= 12) middle = from_rising((int32_t)(((int64_t)rising(low) + rising(high)) >> 1));
    if (!(middle > low && middle < high)) {
      if (i >= 12) break;
      continue;
    }
    size_t at = c->kernels->count_at_least(c->maxima, c->n_blocks, middle);
    if (at >= k) {
      low = middle;
      n = at;
    } else {
      high = middle;
    }
  }
  return low;
}

/* What at least k block maxima reach is reached by at least k candidates. */
float tombola__candidates_bound(const struct tombola__candidates *c, size_t k) {
  if (k > c->n_blocks) return -FLT_MAX;
  float high = c->max, low = c->max, step = 1 / c->scale;
  if (!(step < FLT_MAX / 4)) step = 1;
  size_t n;
  while ((n = c->kernels->count_at_least(c->maxima, c->n_blocks, low)) < k) {
    if (low <= -FLT_MAX) return -FLT_MAX; /* fewer than k blocks hold anything */
    high = low;
    low = low - step > -FLT_MAX ? low - step : -FLT_MAX;
    step *= 2;
    if (low == high) low = -FLT_MAX; /* the step is lost beside a huge value */
  }
  return halve(c, k, n, low, high);
}

static enum tombola_status become_list(struct tombola__candidates *c, enum tombola__order order) {
  c->dense = false;
  c->order = order;
  if (c->ranked && order == TOMBOLA__BY_ID) {
    tombola__entries_rank(c->list, c->count);
    c->order = TOMBOLA__BY_RANK;
  }
  return TOMBOLA_OK;
}

enum tombola_status tombola__candidates_list(struct tombola__candidates *c, bool ranked) {
  enum tombola_status status = tombola__candidates_index(c);
  if (!status && c->dense) {
    status = tombola__candidates_gather(c, -FLT_MAX, INFINITY, SIZE_MAX);
    if (!status) status = become_list(c, TOMBOLA__BY_ID);
  }
  if (!status && ranked && c->order != TOMBOLA__BY_RANK) {
    tombola__entries_rank(c->list, c->count);
    c->order = TOMBOLA__BY_RANK;
  }
  return status;
}

enum tombola_status tombola__candidates_keep_at_least(struct tombola__candidates *c, float threshold) {
  enum tombola_status status = tombola__candidates_index(c);
  if (status) return status;
  if (threshold < -FLT_MAX) threshold = -FLT_MAX;
  if (threshold > c->max) threshold = c->max;
  if (c->dense) {
    if (c->kernels->count_at_least(c->maxima, c->n_blocks, threshold) > MOST_LISTED / TOMBOLA__BLOCK) {
      set_floor(c, threshold);
      return TOMBOLA_OK;
    }
    c->summed = false;
    status = tombola__candidates_gather(c, threshold, INFINITY, SIZE_MAX);
    return status ? status : become_list(c, TOMBOLA__BY_ID);
  }
  c->summed = false;
  size_t kept = 0;
  for (size_t i = 0; i < c->count; i++)
    if (c->list[i].logit >= threshold) c->list[kept++] = c->list[i];
  c->count = kept;
  return TOMBOLA_OK;
}

/* Gathers at least the k best, and no more than needed of those that tie with the last of them. */
static enum tombola_status gather_top(struct tombola__candidates *c, size_t k) {
  float bound = tombola__candidates_bound(c, k);
  float above = bound > -FLT_MAX ? nextafterf(bound, INFINITY) : -FLT_MAX;
  enum tombola_status status = tombola__candidates_gather(c, above, INFINITY, SIZE_MAX);
  if (!status && c->count < k && above > bound) status = tombola__candidates_gather(c, bound, above, k);
  return status;
}

enum tombola_status tombola__candidates_keep_top(struct tombola__candidates *c, size_t k) {
  enum tombola_status status = tombola__candidates_index(c);
  if (status) return status;
  if (c->dense) {
    status = gather_top(c, k);
    if (status) return status;
    become_list(c, TOMBOLA__BY_ID);
  }
  c->summed = false;
  if (c->order != TOMBOLA__BY_RANK) {
    if (k < c->count) {
      tombola__entries_select(c->list, c->count, k);
      c->count = k;
    }
    tombola__entries_rank(c->list, c->count);
    c->order = TOMBOLA__BY_RANK;
  }
  if (k < c->count) c->count = k;
  return TOMBOLA_OK;
}

/* Of a list: the k best and what ties with the k-th, ranked. */
static void list_top_ties(struct tombola__candidates *c, size_t k) {
  tombola__entries_rank(c->list, c->count);
  c->order = TOMBOLA__BY_RANK;
  if (k >= c->count) return;
  float last = c->list[k - 1].logit;
  while (k < c->count && c->list[k].logit == last)
    k++;
  c->count = k;
}

/* Where fewer than k lie above the bound, which k reach, the bound is the k-th logit itself. */
enum tombola_status tombola__candidates_keep_top_ties(struct tombola__candidates *c, size_t k) {
  enum tombola_status status = tombola__candidates_index(c);
  if (status) return status;
  if (c->dense) {
    float bound = tombola__candidates_bound(c, k);
    float above = bound > -FLT_MAX ? nextafterf(bound, INFINITY) : -FLT_MAX;
    status = tombola__candidates_gather(c, above, INFINITY, SIZE_MAX);
    if (status) return status;
    if (c->count < k) {
      c->count = 0;
      return tombola__candidates_keep_at_least(c, bound);
    }
    become_list(c, TOMBOLA__BY_ID);
  }
  list_top_ties(c, k);
  c->summed = false;
  return TOMBOLA_OK;
}

static size_t list_count(const struct tombola__candidates *c, float threshold) {
  size_t n = 0;
  for (size_t i = 0; i < c->count; i++)
    n += c->list[i].logit >= threshold;
  return n;
}

/* min_keep after llama.cpp: a set that would be too small is ranked, and the best min_keep of it stay. So
 * many block maxima that reach the threshold are as many candidates that do; with fewer they are counted. */
enum tombola_status tombola__candidates_keep_share(struct tombola__candidates *c, double log_share,
                                                   size_t min_keep) {
  enum tombola_status status = tombola__candidates_index(c);
  if (status) return status;
  float threshold = c->max + (float)(log_share / (double)c->scale);
  if (min_keep > 1 && c->dense && c->kernels->count_at_least(c->maxima, c->n_blocks, threshold) < min_keep) {
    status = tombola__candidates_gather(c, threshold, INFINITY, SIZE_MAX);
    size_t count = c->count;
    c->count = 0;
    if (status) return status;
    if (count < min_keep) return tombola__candidates_keep_top(c, min_keep);
  } else if (min_keep > 1 && !c->dense && list_count(c, threshold) < min_keep) {
    return tombola__candidates_keep_top(c, min_keep);
  }
  return tombola__candidates_keep_at_least(c, threshold);
}

enum tombola_status tombola__candidates_keep_best(struct tombola__candidates *c) {
  enum tombola_status status = tombola__candidates_index(c);
  if (status) return status;
  struct tombola__entry best = {c->max, TOMBOLA_NO_TOKEN};
  if (c->dense) {
    size_t b = 0;
    while (c->maxima[b] != c->max)
      b++;
    float room[TOMBOLA__BLOCK];
    const float *values = tombola__candidates_block(c, b, room);
    size_t i = 0;
    while (values[i] != c->max)
      i++;
    best.id = (tombola_token)(b * TOMBOLA__BLOCK + i);
  } else {
    for (size_t i = 0; i < c->count; i++)
      if (c->list[i].logit == c->max && (best.id < 0 || c->list[i].id < best.id)) best.id = c->list[i].id;
  }
  c->list[0] = best;
  c->count = 1;
  c->summed = false;
  return become_list(c, TOMBOLA__BY_RANK);
}

/* From the block of the last entry on, equals of that entry with a higher id go. */
static void drop_equals(struct tombola__candidates *c, size_t block, struct tombola__entry last) {
  float *own = c->blocks[c->slot_of[block] - 1];
  for (size_t i = 0; i < TOMBOLA__BLOCK; i++)
    if (own[i] == last.logit && (tombola_token)(block * TOMBOLA__BLOCK + i) > last.id) own[i] = -INFINITY;
  c->maxima[block] = c->kernels->max(own, TOMBOLA__BLOCK);
}

enum tombola_status tombola__candidates_cut(struct tombola__candidates *c, struct tombola__entry last) {
  size_t block = (size_t)last.id / TOMBOLA__BLOCK;
  set_floor(c, last.logit);
  if (!own_block(c, block)) return TOMBOLA_NO_MEMORY;
  if (last.logit == c->floor) c->split = block;
  for (size_t s = 0; s < c->n_slots; s++)
    if (c->block_of[s] >= block) drop_equals(c, c->block_of[s], last);
  if (last.logit == c->floor) floor_maxima(c);
  return TOMBOLA_OK;
}
