/* SPDX-License-Identifier: Apache-2.0 */
/* The model of the chain; see the header. Rules: llama.cpp 0c1e57098, src/llama-sampler.cpp. */
#include "chain_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool chain_model_tied(double a, double b) {
  int exponent;
  frexp(fabs(a) > fabs(b) ? a : b, &exponent);
  return fabs(a - b) <= 4 * ldexp(1, exponent - 24);
}

static int by_rank(const void *a, const void *b) {
  const struct model_item *x = a, *y = b;
  if (x->logit != y->logit) return x->logit < y->logit ? 1 : -1;
  return (x->id > y->id) - (x->id < y->id);
}

static void rank(struct chain_model *m) {
  if (!m->sorted) {
    qsort(m->items, m->count, sizeof *m->items, by_rank);
    for (size_t i = 0; i < m->count; i++)
      m->items[i].key = m->items[i].logit;
  }
  m->sorted = m->ranked = true;
}

static void cut(struct chain_model *m, size_t n, bool ties) {
  while (ties && n < m->count && chain_model_tied(m->items[n].logit, m->items[n - 1].logit))
    n++;
  m->count = n < m->count ? n : m->count;
}

static void drop_banned(struct chain_model *m) {
  size_t kept = 0;
  for (size_t i = 0; i < m->count; i++)
    if (m->items[i].logit > -HUGE_VAL) m->items[kept++] = m->items[i];
  m->count = kept;
}

static void logit_bias(struct chain_model *m, const struct chain_params *p) {
  for (size_t i = 0; i < m->count; i++)
    for (size_t b = 0; p->biased && b < p->n_bias; b++)
      if (m->items[i].id == p->bias[b].token) m->items[i].logit += (double)p->bias[b].bias;
  drop_banned(m);
}

static size_t count_in(const tombola_token *history, size_t n, int32_t window, tombola_token id) {
  size_t first = n > (size_t)window ? n - (size_t)window : 0, count = 0;
  for (size_t i = first; i < n; i++)
    count += history[i] == id;
  return count;
}

static void penalties(struct chain_model *m, const struct chain_params *p, const tombola_token *history,
                      size_t n) {
  bool off = p->repeat_penalty == 1 && p->frequency_penalty == 0 && p->presence_penalty == 0;
  if (p->repeat_last_n <= 0 || off) return;
  for (size_t i = 0; i < m->count; i++) {
    size_t count = count_in(history, n, p->repeat_last_n, m->items[i].id);
    double *logit = &m->items[i].logit;
    if (count == 0) continue;
    *logit = *logit <= 0 ? *logit * (double)p->repeat_penalty : *logit / (double)p->repeat_penalty;
    *logit -= (double)count * (double)p->frequency_penalty + (double)p->presence_penalty;
  }
  m->sorted = false;
}

static double largest(const struct model_item *items, size_t count) {
  double max = -HUGE_VAL;
  for (size_t i = 0; i < count; i++)
    max = items[i].logit > max ? items[i].logit : max;
  return max;
}

static void top_p(struct chain_model *m, const struct chain_params *p, double move, bool ties) {
  if (p->top_p >= 1 || m->count == 0) return;
  rank(m);
  double total = 0, running = 0;
  for (size_t i = 0; i < m->count; i++)
    total += exp(m->items[i].logit - m->items[0].logit);
  for (size_t i = 0; i < m->count; i++) {
    running += exp(m->items[i].logit - m->items[0].logit);
    if (running >= ((double)p->top_p + move) * total && i + 1 >= (size_t)p->min_keep) {
      cut(m, i + 1, ties);
      return;
    }
  }
}

/* The rule itself is in single precision: a logit that lies on the bound is kept. */
static void min_p(struct chain_model *m, const struct chain_params *p, bool ties) {
  if (p->min_p <= 0 || m->count == 0) return;
  float bound = (float)largest(m->items, m->count) + logf(p->min_p);
  size_t matches = 0, kept = 0;
  for (size_t i = 0; i < m->count; i++)
    matches += m->items[i].logit >= (double)bound;
  if (matches < (size_t)p->min_keep) {
    rank(m);
    cut(m, (size_t)p->min_keep, ties);
    return;
  }
  for (size_t i = 0; i < m->count; i++)
    if (m->items[i].logit >= (double)bound) m->items[kept++] = m->items[i];
  m->count = kept;
}

static void temperature(struct chain_model *m, const struct chain_params *p, bool ties) {
  if (p->temperature > 0) {
    for (size_t i = 0; i < m->count; i++)
      m->items[i].logit /= (double)p->temperature;
    return;
  }
  m->sorted = false;
  rank(m);
  cut(m, 1, ties);
}

void chain_model_run(struct chain_model *m, struct model_item *items, const float *row, size_t count,
                     const struct chain_params *p, const tombola_token *history, size_t n_history,
                     double move, bool ties) {
  *m = (struct chain_model){.items = items, .count = count};
  for (size_t i = 0; i < count; i++)
    items[i] = (struct model_item){.id = (tombola_token)i, .logit = (double)row[i], .key = 0};
  drop_banned(m);
  for (size_t i = 0; p->order[i]; i++) {
    const char *stage = p->order[i];
    if (strcmp(stage, "logit_bias") == 0) {
      logit_bias(m, p);
    } else if (strcmp(stage, "penalties") == 0) {
      penalties(m, p, history, n_history);
    } else if (strcmp(stage, "top_k") == 0 && p->top_k > 0) {
      rank(m);
      cut(m, (size_t)p->top_k, ties);
    } else if (strcmp(stage, "top_p") == 0) {
      top_p(m, p, move, ties);
    } else if (strcmp(stage, "min_p") == 0) {
      min_p(m, p, ties);
    } else if (strcmp(stage, "temperature") == 0) {
      temperature(m, p, ties);
    }
  }
}

void chain_model_weights(const struct model_item *items, size_t count, double *probabilities) {
  double max = largest(items, count), total = 0;
  for (size_t i = 0; i < count; i++)
    total += probabilities[i] = exp(items[i].logit - max);
  for (size_t i = 0; i < count; i++)
    probabilities[i] /= total;
}

bool chain_model_near(const struct model_item *items, size_t count, size_t place, double u) {
  double max = largest(items, count), total = 0, before = 0;
  for (size_t i = 0; i < count; i++) {
    double weight = exp(items[i].logit - max);
    before += i < place ? weight : 0;
    total += weight;
  }
  double after = before + exp(items[place].logit - max);
  return before / total - MODEL_NEAR <= u && u <= after / total + MODEL_NEAR;
}

/* Matsumoto and Nishimura, 1998. */
void model_mt_seed(struct model_mt *mt, uint32_t seed) {
  mt->words[0] = seed;
  for (uint32_t i = 1; i < 624; i++)
    mt->words[i] = 1812433253u * (mt->words[i - 1] ^ (mt->words[i - 1] >> 30)) + i;
  mt->next = 624;
}

static uint32_t model_mt_word(struct model_mt *mt) {
  if (mt->next == 624) {
    for (size_t i = 0; i < 624; i++) {
      uint32_t y = (mt->words[i] & 0x80000000u) | (mt->words[(i + 1) % 624] & 0x7fffffffu);
      mt->words[i] = mt->words[(i + 397) % 624] ^ (y >> 1) ^ (y & 1 ? 0x9908b0dfu : 0);
    }
    mt->next = 0;
  }
  uint32_t y = mt->words[mt->next++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}

double model_mt_uniform(struct model_mt *mt) {
  double low = model_mt_word(mt);
  double high = model_mt_word(mt);
  return (low + high * 0x1p32) * 0x1p-64;
}
