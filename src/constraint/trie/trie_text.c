/* SPDX-License-Identifier: Apache-2.0 */
/* What tokens do inside of a JSON string's text, where no character is half-read: plain ones stay in it, and so do some
 * with escapes; those with a closing quote are cut there. What is in front of the quote only the string has to do with,
 * what is behind it only what is around, so that each is looked at by itself. */
#include <stdlib.h>
#include <string.h>

#include "constraint/machine/json.h"
#include "constraint/trie/trie.h"

#define MOST_ESCAPED \
  64u /* bytes of a front with escapes; where there are longer ones names aren't taken apart */

/* A part of a token. */
struct item {
  const char *bytes;
  uint32_t length;
  uint32_t what; /* a token, or the place of an end */
};

enum fate { NEVER, STAYS, ENDS };

static enum fate fate_of(const char *bytes, size_t length, uint32_t *at) {
  struct tombola__thread t = {.phase = TOMBOLA__JSON_PLAIN};
  struct tombola__json_step step;
  for (uint32_t i = 0; i < length; i++) {
    *at = i;
    if (t.phase == TOMBOLA__JSON_PLAIN && bytes[i] == '"') return ENDS;
    tombola__json_decode(TOMBOLA_SPELLING_ANY, &t, (uint8_t)bytes[i], &step);
    if (!step.n_ranges) return NEVER;
    t.phase = (uint16_t)step.phase;
    t.b = step.b;
    t.c = step.c;
  }
  return STAYS;
}

static int compare(const void *x, const void *y) {
  const struct item *const a = x, *const b = y;
  const uint32_t both = a->length < b->length ? a->length : b->length;
  const int order = both ? memcmp(a->bytes, b->bytes, both) : 0;
  if (order) return order;
  if (a->length != b->length) return a->length < b->length ? -1 : 1;
  return (a->what > b->what) - (a->what < b->what);
}

static bool is_same(const struct item *a, const struct item *b) {
  return a->length == b->length && !memcmp(a->bytes, b->bytes, a->length);
}

/* Writes the trie of n sorted items; with `nodes` NULL it only counts them. Leaf k is the k-th different text; its items
 * are those from first[k] to first[k + 1]. */
static size_t write(const struct item *items, size_t n, struct tombola__trie_node *nodes, size_t at,
                    uint32_t *first, uint32_t *stack, uint32_t *n_leaves) {
  uint32_t depth = 0, leaf = 0;
  for (size_t i = 0; i < n; i++) {
    uint32_t shared = 0;
    if (i && is_same(&items[i - 1], &items[i])) continue;
    for (; i && shared < items[i - 1].length && items[i - 1].bytes[shared] == items[i].bytes[shared];)
      shared++;
    for (; nodes && depth > shared; depth--)
      nodes[stack[depth - 1]].end = (uint32_t)at;
    for (depth = shared; depth < items[i].length; depth++, at++) {
      stack[depth] = (uint32_t)at;
      if (nodes)
        nodes[at] = (struct tombola__trie_node){.token = TOMBOLA__NO_NODE_TOKEN,
                                                .place = (depth + 1) << 8 | (uint8_t)items[i].bytes[depth]};
    }
    if (nodes && depth) nodes[at - 1].token = leaf;
    if (first) first[leaf] = (uint32_t)i;
    leaf++;
  }
  for (; nodes && depth > 0; depth--)
    nodes[stack[depth - 1]].end = (uint32_t)at;
  if (first) first[leaf] = (uint32_t)n;
  *n_leaves = leaf;
  return at;
}

/* The three lists that tries are made of. */
struct lists {
  struct item *stays, *fronts, *backs;
  size_t n_stays, n_ends;
};

static bool split(const tombola_trie *trie, const struct tombola__trie_entry *entries, const uint32_t *rest,
                  size_t n, struct lists *l) {
  l->stays = tombola__new(&trie->allocator, n, sizeof *l->stays);
  l->fronts = tombola__new(&trie->allocator, n, sizeof *l->fronts);
  l->backs = tombola__new(&trie->allocator, n, sizeof *l->backs);
  if (!l->stays || !l->fronts || !l->backs) return false;
  for (size_t i = 0; i < n; i++) {
    const uint32_t token = entries[rest[i]].token;
    size_t length;
    uint32_t at = 0;
    const char *const bytes = tombola_vocabulary_bytes(trie->vocabulary, (tombola_token)token, &length);
    switch (fate_of(bytes, length, &at)) {
    case NEVER: break;
    case STAYS: l->stays[l->n_stays++] = (struct item){bytes, (uint32_t)length, token}; break;
    case ENDS:
      l->fronts[l->n_ends] = (struct item){bytes, at, token};
      l->backs[l->n_ends++] = (struct item){bytes + at + 1, (uint32_t)length - at - 1, token};
      break;
    }
  }
  qsort(l->stays, l->n_stays, sizeof *l->stays, compare);
  qsort(l->fronts, l->n_ends, sizeof *l->fronts, compare);
  qsort(l->backs, l->n_ends, sizeof *l->backs, compare);
  return true;
}

/* Whether a text may hold a whole name of an object whose previous name ends in front of it. */
static bool holds_name(const struct item *back) {
  uint32_t i = 0, quotes = 0;
  while (i < back->length && tombola__json_is_space((uint8_t)back->bytes[i]))
    i++;
  if (i == back->length || back->bytes[i] != ':') return false;
  while (i < back->length && back->bytes[i] != ',')
    i++;
  for (; i < back->length; i++)
    quotes += back->bytes[i] == '"';
  return quotes > 1;
}

/* Which of the texts behind a quote each token has. */
static int by_token(const void *x, const void *y) {
  const struct tombola__text_end *const a = x, *const b = y;
  return (a->token > b->token) - (a->token < b->token);
}

static bool fill_ends(const tombola_trie *trie, struct tombola__text_tries *t, const struct lists *l,
                      const uint32_t *first_back) {
  struct tombola__text_end *const found = tombola__new(&trie->allocator, l->n_ends, sizeof *found);
  if (!found) return false;
  for (uint32_t k = 0; k < t->n_backs; k++)
    for (uint32_t i = first_back[k]; i < first_back[k + 1]; i++) {
      found[i] = (struct tombola__text_end){l->backs[i].what, k};
      t->holds_names |= holds_name(&l->backs[i]);
    }
  qsort(found, l->n_ends, sizeof *found, by_token);
  for (size_t i = 0; i < l->n_ends; i++) {
    const struct tombola__text_end wanted = {l->fronts[i].what, 0};
    t->ends[i] =
        *(const struct tombola__text_end *)bsearch(&wanted, found, l->n_ends, sizeof wanted, by_token);
  }
  tombola__free(&trie->allocator, found);
  return true;
}

/* What a front spells: its bytes, at most MOST_ESCAPED. */
static size_t spelled(const struct item *front, char *out) {
  return tombola__json_decoded((const uint8_t *)front->bytes, front->length, out);
}

/* Fronts with a backslash. */
static bool find_escaped(tombola_trie *trie, const struct lists *l) {
  struct tombola__text_tries *const t = &trie->text;
  t->escaped = tombola__new(&trie->allocator, t->n_fronts, sizeof *t->escaped);
  for (uint32_t k = 0; k < t->n_fronts && t->escaped; k++) {
    const struct item *const front = &l->fronts[t->first_end[k]];
    char text[MOST_ESCAPED];
    if (!memchr(front->bytes, '\\', front->length)) continue;
    t->holds_names |= front->length > MOST_ESCAPED;
    if (front->length <= MOST_ESCAPED)
      t->escaped[t->n_escaped++] = (struct tombola__escaped_front){k, (uint32_t)spelled(front, text)};
  }
  return t->escaped != NULL;
}

/* A mask: plain tokens that begin with one of these, as the trie of all has them; NULL: no memory. */
static uint32_t *find_behind_escape(const tombola_trie *trie, const char *ends) {
  const size_t n_ends = strlen(ends);
  uint32_t *const words = tombola__new(&trie->allocator, trie->words, sizeof *words);
  if (!words) return NULL;
  for (uint32_t i = trie->all.first; i < trie->all.end; i = trie->nodes[i].end) {
    if (!memchr(ends, (int)(trie->nodes[i].place & 0xFF), n_ends)) continue;
    for (uint32_t k = i; k < trie->nodes[i].end; k++) {
      const uint32_t token = trie->nodes[k].token & ~TOMBOLA__SAME_BYTES;
      size_t n = 0;
      if (trie->nodes[k].token == TOMBOLA__NO_NODE_TOKEN) continue;
      const tombola_token *const pairs =
          trie->nodes[k].token == token ? NULL : tombola__trie_same(trie, (tombola_token)token, &n);
      words[token / 32] |= (uint32_t)1 << token % 32;
      for (; n > 0; n--)
        words[pairs[2 * n - 1] / 32] |= (uint32_t)1 << pairs[2 * n - 1] % 32;
    }
  }
  const uint32_t *const plain = tombola__plain_mask(trie, TOMBOLA__MASK_LENGTHS);
  for (size_t w = 0; w < trie->words; w++)
    words[w] &= plain[w];
  for (size_t i = 0; i < trie->n_long; i++) { /* which that mask doesn't have */
    const uint32_t token = trie->long_ones[i].token;
    size_t length;
    const char *const bytes = tombola_vocabulary_bytes(trie->vocabulary, (tombola_token)token, &length);
    if (memchr(ends, *bytes, n_ends)) words[token / 32] |= (uint32_t)1 << token % 32;
  }
  return words;
}

void tombola__text_fronts_of(const tombola_trie *trie, const char *text, size_t length,
                             void (*visit)(void *context, uint32_t leaf), void *context) {
  const struct tombola__text_tries *const t = &trie->text;
  size_t read = 0;
  if (length == 0 && t->empty_front) visit(context, 0);
  for (uint32_t i = t->fronts.first; i < t->fronts.end && read < length;) {
    const struct tombola__trie_node *const node = &t->nodes[i];
    if (node->place >> 8 <= read) break; /* behind the children of what is read */
    if ((char)node->place != text[read]) {
      i = node->end;
      continue;
    }
    if (++read == length && node->token != TOMBOLA__NO_NODE_TOKEN) visit(context, node->token);
    i++;
  }
  for (size_t k = 0; k < t->n_escaped; k++) {
    char plain[MOST_ESCAPED];
    if (t->escaped[k].length != length) continue;
    struct item front = {.length = 0};
    const struct tombola__text_end *const end = &t->ends[t->first_end[t->escaped[k].leaf]];
    front.bytes = tombola_vocabulary_bytes(trie->vocabulary, (tombola_token)end->token, &read);
    fate_of(front.bytes, read, &front.length);
    if (spelled(&front, plain) == length && !memcmp(plain, text, length)) visit(context, t->escaped[k].leaf);
  }
}

static bool fill(tombola_trie *trie, const struct lists *l, uint32_t *stack, uint32_t *first_back) {
  struct tombola__text_tries *const t = &trie->text;
  const struct tombola_allocator *const a = &trie->allocator;
  uint32_t unused;
  size_t n = write(l->stays, l->n_stays, NULL, 0, NULL, stack, &unused);
  n = write(l->fronts, l->n_ends, NULL, n, NULL, stack, &unused);
  n = write(l->backs, l->n_ends, NULL, n, NULL, stack, &unused);
  t->nodes = tombola__new(a, n, sizeof *t->nodes);
  t->stay = tombola__new(a, l->n_stays, sizeof *t->stay);
  t->first_stay = tombola__new(a, l->n_stays + 1, sizeof *t->first_stay);
  t->ends = tombola__new(a, l->n_ends, sizeof *t->ends);
  t->first_end = tombola__new(a, l->n_ends + 1, sizeof *t->first_end);
  if (!t->nodes || !t->stay || !t->first_stay || !t->ends || !t->first_end) return false;
  size_t at = write(l->stays, l->n_stays, t->nodes, 0, t->first_stay, stack, &t->n_stays);
  t->stays = (struct tombola__trie_span){0, (uint32_t)at};
  at = write(l->fronts, l->n_ends, t->nodes, at, t->first_end, stack, &t->n_fronts);
  t->fronts = (struct tombola__trie_span){t->stays.end, (uint32_t)at};
  at = write(l->backs, l->n_ends, t->nodes, at, first_back, stack, &t->n_backs);
  t->backs = (struct tombola__trie_span){t->fronts.end, (uint32_t)at};
  t->empty_front = l->n_ends && !l->fronts[0].length;
  t->empty_back = l->n_ends && !l->backs[0].length;
  for (size_t i = 0; i < l->n_stays; i++)
    t->stay[i] = (tombola_token)l->stays[i].what;
  trie->size += n * sizeof *t->nodes + (2 * l->n_stays + 1) * sizeof *t->stay + l->n_ends * sizeof *t->ends +
                (l->n_ends + 1) * sizeof *t->first_end + t->n_fronts * sizeof *t->escaped +
                2 * trie->words * sizeof *t->behind_escape;
  if (!fill_ends(trie, t, l, first_back) || !find_escaped(trie, l)) return false;
  t->behind_escape = find_behind_escape(trie, "/bfnrt");
  t->behind_plain = find_behind_escape(trie, "bfnrt");
  return t->behind_escape && t->behind_plain;
}

bool tombola__text_tries(tombola_trie *trie, const struct tombola__trie_entry *entries, const uint32_t *rest,
                         size_t n) {
  const struct tombola_allocator *const a = &trie->allocator;
  struct lists l = {.stays = NULL};
  uint32_t *const stack = tombola__new(a, trie->longest, sizeof *stack);
  bool done = stack && split(trie, entries, rest, n, &l);
  uint32_t *const first_back = done ? tombola__new(a, l.n_ends + 1, sizeof *first_back) : NULL;
  done = first_back && fill(trie, &l, stack, first_back);
  void *const held[] = {stack, l.stays, l.fronts, l.backs, first_back};
  for (size_t i = 0; i < TOMBOLA__COUNT(held); i++)
    tombola__free(a, held[i]);
  return done;
}

void tombola__text_tries_free(tombola_trie *trie) {
  void *const held[] = {trie->text.nodes,         trie->text.stay,        trie->text.first_stay,
                        trie->text.ends,          trie->text.first_end,   trie->text.escaped,
                        trie->text.behind_escape, trie->text.behind_plain};
  for (size_t i = 0; i < TOMBOLA__COUNT(held); i++)
    tombola__free(&trie->allocator, held[i]);
}
