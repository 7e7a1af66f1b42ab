/* SPDX-License-Identifier: Apache-2.0 */
/* The machine: levels of threads, one level a byte, and the memory that the levels share.
 *
 * Everything that a push makes lies behind the marks of the level in front of it, so that going back is setting four
 * numbers; what has been allocated once is used again. */
#include <string.h>

#include "constraint/machine/json.h"
#include "constraint/machine/machine_state.h"

#define FEW         16u /* threads of a level that are compared one by one */
#define FIRST_TABLE 128u
#define CHUNK       ((size_t)32 << 10)

/* ---- memory ---- */

static bool count(struct tombola__machine *m, size_t bytes) {
  m->counted += bytes;
  return tombola__store_count(m->store, (ptrdiff_t)bytes);
}

/* A growing array, with room for more unless the store has failed. */
static void *with_room(struct tombola__machine *m, void *array, size_t *room, size_t size, size_t first) {
  const size_t wanted = *room ? 2 * *room : first;
  if (!tombola__store_fits(m->store, (wanted - *room) * size)) return array;
  void *const grown = tombola__resize(&m->allocator, array, *room, wanted, size);
  if (!grown) {
    tombola__store_fail(m->store, TOMBOLA_NO_MEMORY, NULL, "out of memory");
    return array;
  }
  count(m, (wanted - *room) * size);
  *room = wanted;
  return grown;
}

#define MORE_ROOM(m, array, room, first) \
  ((array) = with_room(m, array, &(room), sizeof *(array), first), !(m)->store->status)

static bool add_chunk(struct tombola__machine *m, size_t size) {
  if (m->n_chunks == m->chunks_room && !MORE_ROOM(m, m->chunks, m->chunks_room, 16)) return false;
  if (!tombola__store_fits(m->store, size)) return false;
  uint8_t *const bytes = tombola__new(&m->allocator, size, 1);
  if (!bytes) {
    tombola__store_fail(m->store, TOMBOLA_NO_MEMORY, NULL, "out of memory");
    return false;
  }
  m->chunks[m->n_chunks++] = (struct chunk){bytes, size};
  return count(m, size);
}

void *tombola__machine_take(struct tombola__machine *m, size_t size) {
  if (m->store->status) return NULL;
  size = (size + 7) & ~(size_t)7;
  for (; m->chunk < m->n_chunks; m->chunk++, m->used = 0) {
    const struct chunk *const c = &m->chunks[m->chunk];
    if (c->size - m->used < size) continue;
    void *const memory = c->bytes + m->used;
    m->used += size;
    return memset(memory, 0, size);
  }
  if (!add_chunk(m, size > CHUNK / 4 ? size : CHUNK)) return NULL;
  m->used = size;
  return memset(m->chunks[m->chunk].bytes, 0, size);
}

/* ---- threads ---- */

static bool same_frame(const struct tombola__frame *a, const struct tombola__frame *b) {
  if (a == b) return true;
  return a && b && a->key[0] == b->key[0] && a->key[1] == b->key[1] && a->part == b->part &&
         a->kind == b->kind && (a->key[0] | a->key[1]);
}

static bool same_thread(const struct tombola__thread *x, const struct tombola__thread *y) {
  return x->part == y->part && x->kind == y->kind && x->phase == y->phase && x->a == y->a && x->b == y->b &&
         x->c == y->c && x->d == y->d && x->e == y->e && same_frame(x->up, y->up);
}

static uint64_t hash_thread(const struct tombola__thread *t) {
  uint64_t hash = t->up ? t->up->key[0] : 0;
  hash = tombola__mix(hash, (uint64_t)t->part << 24 | (uint64_t)t->kind << 16 | t->phase);
  hash = tombola__mix(hash, (uint64_t)t->a << 32 | t->b);
  hash = tombola__mix(hash, (uint64_t)t->c << 32 | t->d);
  return tombola__mix(hash, t->e);
}

static void new_stamp(struct tombola__machine *m) {
  m->n_indexed = 0;
  if (++m->stamp) return;
  memset(m->slots, 0, m->n_slots * sizeof *m->slots);
  m->stamp = 1;
}

/* Finds a place by hash, or its slot. */
static struct slot *find_slot(const struct tombola__machine *m, const struct tombola__thread *t) {
  size_t i = (size_t)hash_thread(t) & (m->n_slots - 1);
  while (m->slots[i].stamp == m->stamp && !same_thread(&m->threads[m->slots[i].index], t))
    i = (i + 1) & (m->n_slots - 1);
  return &m->slots[i];
}

/* Puts every thread of the level that is being made into the table, which is at most half full. */
static bool index_threads(struct tombola__machine *m) {
  const size_t n = m->n_threads - m->first;
  if (2 * (n + 1) > m->n_slots) {
    size_t wanted = m->n_slots ? m->n_slots : FIRST_TABLE;
    while (2 * (n + 1) > wanted)
      wanted *= 2;
    struct slot *const slots = tombola__new(&m->allocator, wanted, sizeof *slots);
    if (!slots) {
      tombola__store_fail(m->store, TOMBOLA_NO_MEMORY, NULL, "out of memory");
      return false;
    }
    tombola__free(&m->allocator, m->slots);
    if (!count(m, (wanted - m->n_slots) * sizeof *slots)) return false;
    m->slots = slots;
    m->n_slots = wanted;
    m->stamp = 0;
    new_stamp(m);
  }
  for (; m->n_indexed < n; m->n_indexed++) {
    const size_t index = m->first + m->n_indexed;
    *find_slot(m, &m->threads[index]) = (struct slot){m->stamp, (uint32_t)index};
  }
  return true;
}

static bool is_known(struct tombola__machine *m, const struct tombola__thread *t) {
  const size_t n = m->n_threads - m->first;
  if (n > FEW) return index_threads(m) && find_slot(m, t)->stamp == m->stamp;
  for (size_t i = m->first; i < m->n_threads; i++)
    if (same_thread(&m->threads[i], t)) return true;
  return false;
}

static void too_many(struct tombola__machine *m) {
  tombola__store_fail(m->store, TOMBOLA_OUT_OF_RANGE, "max_threads",
                      "more than %zu readings of one text (max_threads)", m->store->max_threads);
}

static void collect(struct tombola__machine *m, const struct tombola__thread *thread) {
  if (m->n_pending >= m->store->max_threads) {
    too_many(m);
    return;
  }
  if (m->n_pending == m->pending_room && !MORE_ROOM(m, m->pending, m->pending_room, 16)) return;
  m->pending[m->n_pending++] = *thread;
}

void tombola__machine_emit(struct tombola__machine *m, const struct tombola__thread *thread) {
  if (m->store->status) return;
  tombola__store_work(m->store, 1);
  if (m->collecting) {
    collect(m, thread);
    return;
  }
  if (m->n_threads > m->first && is_known(m, thread)) return;
  if (m->n_threads - m->first >= m->store->max_threads) {
    too_many(m);
    return;
  }
  if (m->n_threads == m->threads_room && !MORE_ROOM(m, m->threads, m->threads_room, 64)) return;
  m->threads[m->n_threads++] = *thread;
}

struct tombola__thread *tombola__machine_emitted(struct tombola__machine *m, size_t *n) {
  *n = m->collecting ? 0 : m->n_threads - m->first;
  return *n ? m->threads + m->first : NULL;
}

/* ---- by part ---- */

static void step(struct tombola__machine *m, const struct tombola__thread *t, uint8_t byte) {
  tombola__store_work(m->store, 1);
  switch ((enum tombola__part)t->part) {
  case TOMBOLA__JSON: tombola__json_step(m, t, byte); break;
  case TOMBOLA__RULES: tombola__rules_step(m, t, byte); break;
  case TOMBOLA__MIX: tombola__mix_step(m, t, byte); break;
  case TOMBOLA__DONE: break;
  }
}

void tombola__machine_return(struct tombola__machine *m, const struct tombola__frame *up) {
  static const struct tombola__thread done = {.part = TOMBOLA__DONE};
  if (!up) {
    tombola__machine_emit(m, &done);
    return;
  }
  switch ((enum tombola__part)up->part) {
  case TOMBOLA__JSON: tombola__json_return(m, up); break;
  case TOMBOLA__RULES: tombola__rules_return(m, up); break;
  case TOMBOLA__MIX: tombola__mix_return(m, up); break;
  case TOMBOLA__DONE: break;
  }
}

/* Whether it is the first return to this frame in front of this byte: another one would read the same. */
static bool is_first_return(struct tombola__machine *m, const struct tombola__frame *up) {
  tombola__store_work(m->store, 1 + (m->n_returned - m->first_returned) / FEW);
  for (size_t i = m->first_returned; i < m->n_returned; i++)
    if (same_frame(m->returned[i], up)) return false;
  if (m->n_returned == m->returned_room && !MORE_ROOM(m, m->returned, m->returned_room, 16)) return false;
  m->returned[m->n_returned++] = up;
  return true;
}

/* Collects the places that follow a return: a point of its own, since what is made or returned to there is in front of
 * another byte than what is made around it. */
static void make_places(struct tombola__machine *m, const struct tombola__frame *up) {
  const bool outer = m->collecting;
  const size_t first_returned = m->first_returned, n_returned = m->n_returned;
  const uint64_t turn = m->turn;
  m->first_returned = n_returned;
  m->turn = ++m->turns;
  m->collecting = true;
  tombola__machine_return(m, up);
  m->collecting = outer;
  m->turn = turn;
  m->n_returned = n_returned;
  m->first_returned = first_returned;
}

void tombola__machine_return_before(struct tombola__machine *m, const struct tombola__frame *up,
                                    uint8_t byte) {
  if (!up || !is_first_return(m, up)) return; /* nothing follows the end */
  const size_t from = m->n_pending;
  make_places(m, up);
  const size_t to = m->n_pending;
  for (size_t i = from; i < to && !m->store->status; i++) {
    const struct tombola__thread t = m->pending[i];
    step(m, &t, byte);
  }
  /* What the steps have emitted stays, when it is itself collected. */
  for (size_t i = to; i < m->n_pending; i++)
    m->pending[from + i - to] = m->pending[i];
  m->n_pending -= to - from;
}

static bool is_complete(const struct tombola__machine *m, const struct tombola__thread *t) {
  tombola__store_work(m->store, 1);
  switch ((enum tombola__part)t->part) {
  case TOMBOLA__JSON: return tombola__json_complete(m->self, t);
  case TOMBOLA__RULES: return tombola__rules_complete(m->self, t);
  case TOMBOLA__MIX: return tombola__mix_complete(m->self, t);
  case TOMBOLA__DONE: return true;
  }
  return false;
}

bool tombola__machine_may_end(const struct tombola__machine *machine, const struct tombola__frame *up) {
  if (!up) return true;
  struct tombola__machine *const m = machine->self;
  const size_t from = m->n_pending, chunk = m->chunk, used = m->used;
  bool may = false;
  make_places(m, up);
  for (size_t i = from; i < m->n_pending && !may; i++) {
    const struct tombola__thread t = m->pending[i];
    may = is_complete(m, &t);
  }
  m->n_pending = from;
  m->chunk = chunk;
  m->used = used;
  return may;
}

/* ---- reading ---- */

static bool reserve(struct tombola__machine *m) {
  if (m->n_levels == m->levels_room && !MORE_ROOM(m, m->levels, m->levels_room, 256)) return false;
  if (m->n_levels > m->text_room && !MORE_ROOM(m, m->text, m->text_room, 256)) return false;
  if (m->n_levels < UINT32_MAX / 2 && m->n_threads < UINT32_MAX / 2) return true;
  tombola__store_fail(m->store, TOMBOLA_OUT_OF_RANGE, "length", "the text is too long");
  return false;
}

/* Back to where a level was made. */
static void rewind_to(struct tombola__machine *m, const struct level *l) {
  m->n_threads = l->end;
  m->chunk = l->chunk;
  m->used = l->used;
}

static void begin_level(struct tombola__machine *m) {
  m->first = m->n_threads;
  m->turn = ++m->turns;
  m->first_returned = 0;
  m->n_returned = 0;
  m->n_pending = 0;
  m->collecting = false;
  if (m->n_indexed) new_stamp(m);
}

/* Keeps the level, unless it is empty. */
static bool end_level(struct tombola__machine *m) {
  if (m->store->status || m->n_threads == m->first) return false;
  m->levels[m->n_levels++] = (struct level){
      .first = (uint32_t)m->first,
      .n = (uint32_t)(m->n_threads - m->first),
      .end = (uint32_t)m->n_threads,
      .chunk = (uint32_t)m->chunk,
      .used = (uint32_t)m->used,
  };
  return true;
}

static bool push_each(struct tombola__machine *m, uint8_t byte) {
  const struct level top = m->levels[m->n_levels - 1];
  m->text[m->n_levels - 1] = byte;
  begin_level(m);
  for (uint32_t i = 0; i < top.n && !m->store->status; i++) {
    const struct tombola__thread t = m->threads[top.first + i]; /* the array may move */
    step(m, &t, byte);
  }
  if (end_level(m)) return true;
  rewind_to(m, &top);
  return false;
}

/* A level without places, between those of a token that is taken as a whole. */
static bool push_blank(struct tombola__machine *m, uint8_t byte) {
  if (m->store->status || !reserve(m)) return false;
  struct level blank = m->levels[m->n_levels - 1];
  blank.n = 0;
  m->text[m->n_levels - 1] = byte;
  m->levels[m->n_levels++] = blank;
  return true;
}

/* A token's last level: its last byte, where those in front of it were read, and the places at `from` that await it. */
static bool push_last(struct tombola__machine *m, size_t from, uint32_t token, uint8_t byte, bool read) {
  if (m->store->status || !reserve(m)) return false;
  const struct level top = m->levels[m->n_levels - 1], front = m->levels[from];
  m->text[m->n_levels - 1] = byte;
  begin_level(m);
  for (uint32_t i = 0; read && i < top.n && !m->store->status; i++) {
    const struct tombola__thread t = m->threads[top.first + i];
    step(m, &t, byte);
  }
  for (uint32_t i = 0; i < front.n && !m->store->status; i++) {
    const struct tombola__thread t = m->threads[front.first + i];
    tombola__rules_take(m, &t, token);
  }
  if (end_level(m)) return true;
  rewind_to(m, &top);
  return false;
}

/* A byte of a grammar's language: the state is `b`. */
static enum tombola__quick rules_quick(const struct tombola__store *s, const struct tombola__thread *t,
                                       uint8_t byte, struct tombola__thread *next) {
  if (t->phase || byte >= 0x80) return TOMBOLA__SLOW;
  const struct tombola__lang_table *table = tombola__lang_table(s, t->b);
  const uint32_t to = table ? table->next[table->class_of[byte]] : TOMBOLA__LANG_UNKNOWN;
  if (to == TOMBOLA__LANG_NONE) return TOMBOLA__REFUSED;
  if (to == TOMBOLA__LANG_UNKNOWN) return TOMBOLA__SLOW;
  table = tombola__lang_table(s, to);
  if (!table || table->accepts) return TOMBOLA__SLOW; /* where it accepts something begins */
  *next = *t;
  next->b = to;
  return to == t->b ? TOMBOLA__STAYED : TOMBOLA__MOVED;
}

static enum tombola__quick quick(const struct tombola__machine *m, const struct tombola__thread *t,
                                 uint8_t byte, struct tombola__thread *next) {
  switch ((enum tombola__part)t->part) {
  case TOMBOLA__JSON: return tombola__json_quick(m->store, t, byte, next);
  case TOMBOLA__RULES: return rules_quick(m->store, t, byte, next);
  case TOMBOLA__MIX:
    if (t->phase) return TOMBOLA__SLOW;
    *next = *t;
    return tombola__mix_quick(t, byte, &next->a) ? TOMBOLA__MOVED : TOMBOLA__SLOW;
  case TOMBOLA__DONE: break;
  }
  return TOMBOLA__REFUSED;
}

bool tombola__machine_push(struct tombola__machine *m, uint8_t byte) {
  if (m->store->status || !reserve(m)) return false;
  struct level next = m->levels[m->n_levels - 1];
  if (next.n != 1 || m->n_threads == m->threads_room) return push_each(m, byte);
  switch (quick(m, &m->threads[next.first], byte, &m->threads[m->n_threads])) {
  case TOMBOLA__SLOW: return push_each(m, byte);
  case TOMBOLA__REFUSED: return false;
  case TOMBOLA__STAYED: break;
  case TOMBOLA__MOVED:
    next.first = (uint32_t)m->n_threads++;
    next.end = (uint32_t)m->n_threads;
    break;
  }
  m->text[m->n_levels - 1] = byte;
  m->levels[m->n_levels++] = next;
  return true;
}

void tombola__machine_pop(struct tombola__machine *m, size_t bytes) {
  const size_t length = m->n_levels - 1;
  m->n_levels -= bytes < length ? bytes : length;
  rewind_to(m, &m->levels[m->n_levels - 1]);
}

size_t tombola__machine_push_token(struct tombola__machine *m, uint32_t token, const char *bytes,
                                   size_t length, bool read) {
  const bool awaits = tombola__machine_awaits(m);
  const size_t from = m->n_levels - 1, levels = length ? length : 1;
  size_t n = 0;
  while (read && n + awaits < length && tombola__machine_push(m, (uint8_t)bytes[n]))
    n++;
  if (n == levels) return levels;
  while (awaits && n + 1 < levels && push_blank(m, (uint8_t)bytes[n]))
    n++;
  if (awaits && n + 1 == levels && push_last(m, from, token, length ? (uint8_t)bytes[n] : 0, read))
    return levels;
  tombola__machine_pop(m, n);
  return 0;
}

bool tombola__machine_end_text(struct tombola__machine *m) {
  if (m->store->status || !reserve(m)) return false;
  const struct level top = m->levels[m->n_levels - 1];
  const struct tombola__thread t = m->threads[top.first];
  m->text[m->n_levels - 1] = '"';
  begin_level(m);
  tombola__json_end_text(m, &t);
  if (end_level(m)) return true;
  rewind_to(m, &top);
  return false;
}

/* ---- asking ---- */

bool tombola__machine_complete(const struct tombola__machine *m) {
  const struct level top = m->levels[m->n_levels - 1];
  for (uint32_t i = 0; i < top.n; i++) {
    const struct tombola__thread t = m->threads[top.first + i];
    if (is_complete(m, &t)) return true;
  }
  return false;
}

/* ---- beginning and end ---- */

static void start(struct tombola__machine *m) {
  switch (m->program.part) {
  case TOMBOLA__JSON: tombola__json_start(m, m->program.formula, NULL); break;
  case TOMBOLA__RULES: tombola__rules_start(m, m->program.rules, NULL); break;
  case TOMBOLA__MIX: tombola__mix_start(m, m->program.mix, NULL); break;
  case TOMBOLA__DONE: break;
  }
}

enum tombola_status tombola__machine_new(struct tombola__store *store, const struct tombola__program *program,
                                         const struct tombola_allocator *allocator,
                                         struct tombola__machine **out) {
  const struct tombola_allocator a = tombola__allocator(allocator);
  *out = NULL;
  if (store->status) return store->status;
  struct tombola__machine *const m = tombola__new(&a, 1, sizeof *m);
  if (!m) return tombola__store_fail(store, TOMBOLA_NO_MEMORY, NULL, "out of memory");
  *m = (struct tombola__machine){.store = store, .allocator = a, .program = *program, .self = m};
  m->stamp = 1;
  if (reserve(m)) {
    begin_level(m);
    start(m);
    if (end_level(m)) {
      *out = m;
      return TOMBOLA_OK;
    }
  }
  tombola__machine_free(m);
  return store->status ? store->status
                       : tombola__store_fail(store, TOMBOLA_NO_CANDIDATE, NULL, "no text at all would fit");
}

void tombola__machine_free(struct tombola__machine *m) {
  if (!m) return;
  const struct tombola_allocator a = m->allocator;
  tombola__store_count(m->store, -(ptrdiff_t)m->counted);
  for (size_t i = 0; i < m->n_chunks; i++)
    tombola__free(&a, m->chunks[i].bytes);
  tombola__free(&a, m->chunks);
  tombola__free(&a, m->threads);
  tombola__free(&a, m->levels);
  tombola__free(&a, m->text);
  tombola__free(&a, m->slots);
  tombola__free(&a, m->pending);
  tombola__free(&a, m->returned);
  tombola__free(&a, m);
}
