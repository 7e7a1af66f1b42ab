/* SPDX-License-Identifier: Apache-2.0 */
/* Building the automaton: a trie of the patterns, then, breadth first, every missing step filled in with the
 * step of the longest proper suffix. */
#include "automaton.h"

#include <string.h>

#define NONE UINT16_MAX

static enum tombola_status check(const struct tombola_bytes *patterns, size_t n, const char *param,
                                 size_t *total, struct tombola_error *error) {
  *total = 0;
  for (size_t i = 0; i < n; i++) {
    if (!patterns || (!patterns[i].data && patterns[i].length))
      return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, param, "%s: there are no bytes", param);
    if (patterns[i].length == 0)
      return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, param, "%s: an empty string matches everywhere",
                           param);
    if (patterns[i].length > TOMBOLA__AUTOMATON_BYTES - *total)
      return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, param, "%s: more than %d bytes together", param,
                           TOMBOLA__AUTOMATON_BYTES);
    *total += patterns[i].length;
  }
  return TOMBOLA_OK;
}

static void classify(struct tombola__automaton *a, const struct tombola_bytes *patterns, size_t n) {
  bool used[256] = {false};
  size_t distinct = 0;
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < patterns[i].length; k++)
      used[(unsigned char)patterns[i].data[k]] = true;
  for (size_t b = 0; b < 256; b++)
    distinct += used[b];
  bool all = distinct == 256; /* then no byte is outside, and class 0 is a byte's own */
  a->n_classes = all ? 0 : 1;
  for (size_t b = 0; b < 256; b++)
    a->class_of[b] = used[b] ? (unsigned char)a->n_classes++ : 0;
}

static bool allocate(struct tombola__automaton *a, size_t total) {
  size_t states = total + 1, steps;
  if (!tombola__multiply(states, a->n_classes, &steps)) return false;
  a->next = tombola__new(&a->allocator, steps, sizeof *a->next);
  a->depth = tombola__new(&a->allocator, states, sizeof *a->depth);
  a->length = tombola__new(&a->allocator, states, sizeof *a->length);
  a->pattern = tombola__new(&a->allocator, states, sizeof *a->pattern);
  a->text_at = tombola__new(&a->allocator, states, sizeof *a->text_at);
  a->text = tombola__new(&a->allocator, total, 1);
  if (!a->next || !a->depth || !a->length || !a->pattern || !a->text_at || !a->text) return false;
  for (size_t i = 0; i < steps; i++)
    a->next[i] = NONE;
  return true;
}

static void add(struct tombola__automaton *a, struct tombola_bytes pattern, size_t index, size_t at) {
  size_t state = 0;
  memcpy(a->text + at, pattern.data, pattern.length);
  for (size_t k = 0; k < pattern.length; k++) {
    uint16_t *step = &a->next[state * a->n_classes + a->class_of[(unsigned char)pattern.data[k]]];
    if (*step == NONE) {
      *step = (uint16_t)a->n_states;
      a->depth[a->n_states] = (uint16_t)(k + 1);
      a->text_at[a->n_states++] = (uint16_t)at;
    }
    state = *step;
  }
  if (a->length[state]) return; /* the same string stands earlier in the list */
  a->length[state] = (uint16_t)pattern.length;
  a->pattern[state] = (uint16_t)index;
}

/* `queue` has room for every state; `fallback` holds each state's longest proper suffix. */
static void complete(struct tombola__automaton *a, uint16_t *queue, uint16_t *fallback) {
  size_t head = 0, tail = 0;
  for (size_t c = 0; c < a->n_classes; c++) {
    uint16_t *step = &a->next[c];
    if (*step == NONE)
      *step = 0;
    else
      queue[tail++] = *step;
  }
  while (head < tail) {
    size_t state = queue[head++], suffix = fallback[state];
    if (!a->length[state]) { /* a pattern that is a suffix of this string ends here as well */
      a->length[state] = a->length[suffix];
      a->pattern[state] = a->pattern[suffix];
    }
    for (size_t c = 0; c < a->n_classes; c++) {
      uint16_t *step = &a->next[state * a->n_classes + c], other = a->next[suffix * a->n_classes + c];
      if (*step == NONE) {
        *step = other;
      } else {
        fallback[*step] = other;
        queue[tail++] = *step;
      }
    }
  }
}

enum tombola_status tombola__automaton_new(struct tombola__automaton *a, const struct tombola_bytes *patterns,
                                           size_t n, const char *param,
                                           const struct tombola_allocator *allocator,
                                           struct tombola_error *error) {
  size_t total;
  *a = (struct tombola__automaton){.allocator = *allocator};
  enum tombola_status status = check(patterns, n, param, &total, error);
  if (status) return status;
  classify(a, patterns, n);
  uint16_t *queue = tombola__new(allocator, 2 * (total + 1), sizeof *queue);
  if (!queue || !allocate(a, total)) {
    tombola__free(allocator, queue);
    tombola__automaton_free(a);
    return tombola__no_memory(error);
  }
  a->n_states = 1;
  for (size_t i = 0, at = 0; i < n; at += patterns[i++].length)
    add(a, patterns[i], i, at);
  complete(a, queue, queue + total + 1);
  tombola__free(allocator, queue);
  return TOMBOLA_OK;
}

void tombola__automaton_free(struct tombola__automaton *a) {
  tombola__free(&a->allocator, a->next);
  tombola__free(&a->allocator, a->depth);
  tombola__free(&a->allocator, a->length);
  tombola__free(&a->allocator, a->pattern);
  tombola__free(&a->allocator, a->text_at);
  tombola__free(&a->allocator, a->text);
  a->next = a->depth = a->length = a->pattern = a->text_at = NULL;
  a->text = NULL;
}
