/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked about where a machine is: all its places are asked, each by its part. */
#include "constraint/machine/json.h"
#include "constraint/machine/machine_state.h"

struct tombola__store *tombola__machine_store(const struct tombola__machine *m) {
  return m->store;
}

uint64_t tombola__machine_turn(const struct tombola__machine *m) {
  return m->turn;
}

void tombola__machine_look_back(struct tombola__machine *m, size_t bytes) {
  m->behind = bytes;
}

size_t tombola__machine_length(const struct tombola__machine *m) {
  return m->n_levels - 1 - m->behind;
}

const uint8_t *tombola__machine_text(const struct tombola__machine *m) {
  return m->text;
}

bool tombola__machine_can_go_on(struct tombola__machine *m) {
  const struct level *const top = &m->levels[m->n_levels - 1];
  if (top->n == 1 && m->threads[top->first].part == TOMBOLA__DONE) return false;
  if (tombola__machine_awaits(m)) return true;
  for (unsigned byte = 0; byte < 256 && !m->store->status; byte++)
    if (tombola__machine_push(m, (uint8_t)byte)) {
      tombola__machine_pop(m, 1);
      return true;
    }
  return false;
}

bool tombola__machine_awaits(const struct tombola__machine *m) {
  const struct level top = m->levels[m->n_levels - 1];
  uint32_t token;
  bool negated;
  for (uint32_t i = 0; i < top.n; i++)
    if (tombola__rules_awaits(&m->threads[top.first + i], &token, &negated)) return true;
  return false;
}

static bool freedom_of(struct tombola__machine *m, const struct tombola__thread *t,
                       struct tombola__freedom *out) {
  switch ((enum tombola__part)t->part) {
  case TOMBOLA__JSON: return tombola__json_freedom(m, t, out);
  case TOMBOLA__RULES: return tombola__rules_freedom(m, t, out);
  case TOMBOLA__MIX: return tombola__mix_freedom(m, t, out);
  case TOMBOLA__DONE: return false;
  }
  return false;
}

bool tombola__machine_in_text(struct tombola__machine *m, tombola__lang *lang) {
  const struct level *const top = &m->levels[m->n_levels - 1];
  const struct tombola__thread *const t = &m->threads[top->first];
  if (top->n != 1 || t->part != TOMBOLA__JSON || !tombola__json_in_text(m, t)) return false;
  *lang = t->a;
  return true;
}

bool tombola__machine_in_escape(struct tombola__machine *m, size_t length) {
  const struct level *const top = &m->levels[m->n_levels - 1];
  const struct tombola__thread t = m->threads[top->first];
  return top->n == 1 && t.part == TOMBOLA__JSON && tombola__json_in_escape(m, &t, length);
}

struct tombola__digits tombola__machine_digits(const struct tombola__machine *m) {
  const struct level *const top = &m->levels[m->n_levels - 1];
  const struct tombola__thread *const t = &m->threads[top->first];
  if (top->n != 1 || t->part != TOMBOLA__JSON) return (struct tombola__digits){.free = 0};
  return tombola__json_digits(m, t);
}

bool tombola__machine_declared(const struct tombola__machine *m, uint32_t *i, struct tombola_bytes *rest) {
  return tombola__json_declared(&m->threads[m->levels[m->n_levels - 1].first], i, rest);
}

bool tombola__machine_taken(const struct tombola__machine *m, const void **at, struct tombola_bytes *rest) {
  return tombola__json_taken(m, &m->threads[m->levels[m->n_levels - 1].first], at, rest);
}

static unsigned bits(uint32_t word) {
  unsigned n = 0;
  for (; word; word &= word - 1)
    n++;
  return n;
}

/* Which of two says more: the set counts first, as nearly every token is a short one. */
static uint64_t worth(const struct tombola__freedom *f) {
  const unsigned ascii = bits(f->ascii[0]) + bits(f->ascii[1]) + bits(f->ascii[2]) + bits(f->ascii[3]);
  return (uint64_t)ascii << 34 | (uint64_t)f->others << 33 | (uint64_t)f->spaces << 32 | f->length;
}

bool tombola__machine_freedom(struct tombola__machine *m, struct tombola__freedom *out) {
  const struct level top = m->levels[m->n_levels - 1];
  uint64_t best = 0;
  for (uint32_t i = 0; i < top.n; i++) {
    struct tombola__freedom one = {.length = 0};
    const struct tombola__thread t = m->threads[top.first + i];
    if (!freedom_of(m, &t, &one) || !one.length || worth(&one) <= best) continue;
    best = worth(&one);
    *out = one;
  }
  return best > 0;
}

const struct tombola__thread *tombola__machine_readings(const struct tombola__machine *m, size_t *n) {
  const struct level top = m->levels[m->n_levels - 1];
  *n = top.n;
  return m->threads + top.first;
}

void tombola__machine_key(struct tombola__machine *m, size_t horizon, uint64_t key[2]) {
  const struct level top = m->levels[m->n_levels - 1];
  key[0] = top.n;
  key[1] = m->program.part;
  for (uint32_t i = 0; i < top.n; i++) {
    const struct tombola__thread t = m->threads[top.first + i];
    uint64_t one[2] = {t.part, t.kind};
    switch ((enum tombola__part)t.part) {
    case TOMBOLA__JSON: tombola__json_key(m, &t, horizon, one); break;
    case TOMBOLA__RULES: tombola__rules_key(m, &t, horizon, one); break;
    case TOMBOLA__MIX: tombola__mix_key(m, &t, horizon, one); break;
    case TOMBOLA__DONE: break;
    }
    key[0] += tombola__mix(one[0], t.part); /* a sum: the order of the threads says nothing */
    key[1] += tombola__mix(one[1], t.part);
  }
}

bool tombola__machine_engaged(const struct tombola__machine *m) {
  const struct level top = m->levels[m->n_levels - 1];
  for (uint32_t i = 0; i < top.n; i++) {
    const struct tombola__thread t = m->threads[top.first + i];
    if (t.part != TOMBOLA__MIX || tombola__mix_engaged(m, &t)) return true;
  }
  return false;
}
