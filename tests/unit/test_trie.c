/* SPDX-License-Identifier: Apache-2.0 */
/* The vocabulary as tries and slices: what a depth-first walk finds is what the vocabulary has. */
#include "support.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "constraint/trie/trie.h"

enum { MOST = 4096 };

struct words {
  char bytes[MOST * 8];
  size_t offsets[MOST + 1];
  uint8_t flags[MOST];
  size_t count;
};

static void add(struct words *w, const char *bytes, size_t length, uint8_t flags) {
  memcpy(w->bytes + w->offsets[w->count], bytes, length);
  w->flags[w->count] = flags;
  w->offsets[w->count + 1] = w->offsets[w->count] + length;
  w->count++;
}

static tombola_vocabulary *vocabulary_of(const struct words *w) {
  const struct tombola_vocabulary_source source = {.struct_size = sizeof source,
                                                   .count = w->count,
                                                   .bytes = w->bytes,
                                                   .offsets = w->offsets,
                                                   .flags = w->flags};
  tombola_vocabulary *v = NULL;
  assert_int_equal(tombola_vocabulary_new(&source, NULL, &v, NULL), TOMBOLA_OK);
  return v;
}

/* Words of few letters, so that many share beginnings and some are the same; now and then a long one. */
static void random_words(struct words *w, struct support_rng *rng, size_t count) {
  static const char *const pieces[] = {"a",
                                       "b",
                                       "G",
                                       "7",
                                       " ",
                                       "-",
                                       "\"",
                                       "\\",
                                       "\n",
                                       "\0",
                                       "\x7F",
                                       "\xC3",
                                       "\xC3\xA9",
                                       "\xE4\xBD",
                                       "\xBF",
                                       "\xE4\xBD\xA0",
                                       "\xF0\x9F\x99\x82",
                                       "\xED\xA0\x80",
                                       "\xC0\x80",
                                       "\xE2\x80\xA8",
                                       "\xE2\x80\xA7",
                                       "\xE2\x80",
                                       "}"};
  memset(w, 0, sizeof *w);
  while (w->count < count) {
    char text[8 * 4 * 5];
    size_t length = 0;
    for (uint64_t left = support_below(rng, support_below(rng, 8) ? 5 : 25) + (support_below(rng, 20) != 0);
         left > 0; left--) {
      const uint64_t i = support_below(rng, support_below(rng, 2) ? 4 : TOMBOLA__COUNT(pieces));
      const size_t size = pieces[i][0] ? strlen(pieces[i]) : 1;
      memcpy(text + length, pieces[i], size);
      length += size;
    }
    if (w->offsets[w->count] + length > sizeof w->bytes) break;
    const uint64_t kind = support_below(rng, 30);
    const uint8_t flags = kind == 0   ? TOMBOLA_TOKEN_SPECIAL
                          : kind == 1 ? TOMBOLA_TOKEN_END
                          : kind == 2 ? TOMBOLA_TOKEN_UNUSED
                                      : 0;
    add(w, text, length, flags);
  }
}

static bool is_in(const struct words *w, size_t token) {
  return (w->flags[token] & ~TOMBOLA_TOKEN_BYTE) == 0 && w->offsets[token + 1] > w->offsets[token];
}

/* Walks a span, checks that it is a trie, and marks its tokens. */
static void walk(const struct words *w, const tombola_trie *trie, struct tombola__trie_span span,
                 uint8_t *found) {
  uint8_t path[256];
  uint32_t ends[256] = {span.end};
  for (uint32_t i = span.first; i < span.end; i++) {
    const struct tombola__trie_node *const node = &trie->nodes[i];
    const size_t depth = node->place >> 8;
    assert_true(depth >= 1 && depth < sizeof path);
    if (i > span.first) {
      const size_t before = trie->nodes[i - 1].place >> 8;
      assert_true(depth <= before + 1);
      for (size_t d = depth; d <= before; d++)
        assert_int_equal(ends[d], i); /* subtrees end where the next one begins */
      if (depth <= before) assert_true((uint8_t)node->place > path[depth - 1]);
    } else {
      assert_int_equal(depth, 1);
    }
    assert_true(node->end > i && node->end <= ends[depth - 1]);
    ends[depth] = node->end;
    path[depth - 1] = (uint8_t)node->place;
    if (node->token == TOMBOLA__NO_NODE_TOKEN) {
      assert_true(node->end > i + 1);
      continue;
    }
    size_t n = 0;
    const tombola_token token = (tombola_token)(node->token & ~TOMBOLA__SAME_BYTES);
    const tombola_token *const same =
        node->token & TOMBOLA__SAME_BYTES ? tombola__trie_same(trie, token, &n) : &token;
    if (node->token & TOMBOLA__SAME_BYTES) assert_true(n > 0);
    for (size_t k = 0; k <= n; k++) {
      const size_t id = (size_t)(k < n ? same[2 * k + 1] : token);
      assert_false(found[id]);
      found[id] = 1;
      assert_int_equal(w->offsets[id + 1] - w->offsets[id], depth);
      assert_memory_equal(w->bytes + w->offsets[id], path, depth);
    }
  }
}

/* Which bytes the encodings of code points beyond ASCII begin with: 1, 2 or 3 of them, from a list of all code points. */
static uint8_t one[256], two[1 << 16], three[1 << 24];

static void list_encodings(void) {
  for (uint32_t p = 0x80; p <= 0x10FFFF; p++) {
    if (p >= 0xD800 && p <= 0xDFFF) continue;
    const unsigned size = p < 0x800 ? 2 : p < 0x10000 ? 3 : 4;
    const uint32_t lead = (size == 2 ? 0xC0u : size == 3 ? 0xE0u : 0xF0u) | p >> (6 * (size - 1));
    const uint32_t second = 0x80 | (p >> (6 * (size - 2)) & 0x3F);
    one[lead] = (uint8_t)size;
    two[lead << 8 | second] = 1;
    if (size > 2) three[lead << 16 | second << 8 | 0x80 | (p >> (6 * (size - 3)) & 0x3F)] = 1;
  }
}

/* The number of characters, the last one perhaps cut; 0 when it isn't plain. */
static size_t characters_of(const char *bytes, size_t length, bool *other, bool ascii[128]) {
  const uint8_t *const b = (const uint8_t *)bytes;
  size_t n = 0;
  *other = false;
  memset(ascii, 0, 128);
  for (size_t i = 0; i < length; n++) {
    if (b[i] < 0x80) {
      if (b[i] < 0x20 || b[i] == 0x7F || b[i] == '"' || b[i] == '\\') return 0;
      ascii[b[i++]] = true;
      continue;
    }
    const size_t size = one[b[i]], here = size < length - i ? size : length - i;
    if (here == 0 || (here >= 2 && !two[b[i] << 8 | b[i + 1]])) return 0;
    if (here >= 3 && !three[b[i] << 16 | b[i + 1] << 8 | b[i + 2]]) return 0;
    if (here == 4 && b[i + 3] >> 6 != 2) return 0;
    *other = true;
    i += here;
  }
  return n;
}

/* Whether there is a whole space beyond ASCII: of those of the pieces. */
static bool has_space(const char *bytes, size_t length) {
  for (size_t i = 0; i < length; i++)
    if (bytes[i] == '\xE2' && i + 2 < length && bytes[i + 1] == '\x80' && bytes[i + 2] == '\xA8') return true;
  return false;
}

static struct tombola__freedom freedom_of(bool other, const bool ascii[128]) {
  struct tombola__freedom f = {.others = other, .spaces = other, .length = TOMBOLA__LANG_UNBOUNDED};
  for (size_t c = 0; c < 128; c++)
    if (ascii[c]) f.ascii[c / 32] |= (uint32_t)1 << c % 32;
  return f;
}

static void check_slices(const struct words *w, const tombola_trie *trie) {
  uint8_t in_rest[MOST] = {0}, in_group[MOST] = {0};
  walk(w, trie, trie->rest, in_rest);
  for (size_t g = 0; g < trie->n_groups; g++) {
    const struct tombola__group *const group = &trie->groups[g];
    uint8_t here[MOST] = {0};
    walk(w, trie, group->nodes, here);
    for (uint32_t i = group->first; i < group->last; i++) {
      const uint32_t token = trie->plain[i].token;
      assert_true(here[token]);
      here[token] = 0;
      in_group[token] = 1;
      bool other, ascii[128];
      assert_int_equal(characters_of(w->bytes + w->offsets[token], w->offsets[token + 1] - w->offsets[token],
                                     &other, ascii),
                       trie->plain[i].characters);
      assert_true(trie->plain[i].characters <= group->most);
      assert_true(i == group->first || trie->plain[i - 1].characters <= trie->plain[i].characters);
      /* A set that lacks one of its characters doesn't cover it. */
      struct tombola__freedom all = {{~0u, ~0u, ~0u, ~0u}, true, true, 9};
      assert_int_equal(group->signature & ~tombola__free_categories(&all), 0);
      if (other) {
        all.spaces = false;
        assert_int_equal((group->signature & ~tombola__free_categories(&all)) != 0,
                         has_space(w->bytes + w->offsets[token], w->offsets[token + 1] - w->offsets[token]));
        all.others = false;
        assert_int_not_equal(group->signature & ~tombola__free_categories(&all), 0);
      }
      for (size_t c = 0; c < 128; c++) {
        struct tombola__freedom lacks = {{~0u, ~0u, ~0u, ~0u}, true, true, 9};
        lacks.ascii[c / 32] &= ~((uint32_t)1 << c % 32);
        if (ascii[c]) assert_int_not_equal(group->signature & ~tombola__free_categories(&lacks), 0);
      }
      const struct tombola__freedom own = freedom_of(other, ascii);
      if (!ascii['a'] && !ascii['b'] && !ascii['G'] && !ascii['7'] && !ascii['}'])
        assert_int_equal(group->signature & ~tombola__free_categories(&own), 0);
    }
    for (size_t i = 0; i < w->count; i++)
      assert_false(here[i]);
  }
  for (size_t i = 0; i < w->count; i++) {
    bool other, ascii[128];
    const size_t n =
        characters_of(w->bytes + w->offsets[i], w->offsets[i + 1] - w->offsets[i], &other, ascii);
    assert_int_equal(in_group[i], is_in(w, i) && n > 0);
    assert_int_equal(in_rest[i], is_in(w, i) && n == 0);
    for (size_t k = 1; k <= TOMBOLA__MASK_LENGTHS; k++)
      assert_int_equal(tombola__plain_mask(trie, k)[i / 32] >> i % 32 & 1, in_group[i] && n <= k);
  }
  for (size_t i = 0; i < trie->n_long; i++)
    assert_true(trie->long_ones[i].characters > TOMBOLA__MASK_LENGTHS);
}

/* The widest groups have masks: at least as many tokens as any group without. */
static void check_wide(const tombola_trie *trie) {
  size_t n_wide = 0, least = SIZE_MAX;
  for (size_t g = 0; g < trie->n_groups; g++) {
    const struct tombola__group *const group = &trie->groups[g];
    if (!group->masks) continue;
    n_wide++;
    if (group->last - group->first < least) least = group->last - group->first;
    for (size_t k = 1; k <= TOMBOLA__WIDE_LENGTHS; k++) {
      uint32_t wanted[MOST / 32] = {0};
      for (uint32_t i = group->first; i < group->last; i++)
        if (trie->plain[i].characters <= k)
          wanted[trie->plain[i].token / 32] |= (uint32_t)1 << trie->plain[i].token % 32;
      assert_memory_equal(group->masks + (k - 1) * trie->words, wanted, trie->words * sizeof *wanted);
    }
  }
  assert_int_equal(n_wide, trie->n_groups < TOMBOLA__WIDE_GROUPS ? trie->n_groups : TOMBOLA__WIDE_GROUPS);
  for (size_t g = 0; g < trie->n_groups; g++)
    assert_true(trie->groups[g].masks || trie->groups[g].last - trie->groups[g].first <= least);
}

/* Of tokens with the same bytes the lowest is the node's, the others are pairs, all ascending. */
static void check_same(const struct words *w, const tombola_trie *trie) {
  for (size_t i = 0; i < trie->n_same; i++) {
    const tombola_token *const pair = trie->same + 2 * i;
    assert_true(pair[0] < pair[1]);
    if (i) assert_true(pair[-2] < pair[0] || (pair[-2] == pair[0] && pair[-1] < pair[1]));
  }
  for (size_t i = 0; i < w->count; i++) {
    const unsigned flags = w->flags[i];
    const bool matchable = !(flags & (TOMBOLA_TOKEN_END | TOMBOLA_TOKEN_UNUSED)) &&
                           (w->offsets[i + 1] > w->offsets[i] || flags & TOMBOLA_TOKEN_SPECIAL);
    assert_int_equal(trie->matchable[i / 32] >> i % 32 & 1, matchable);
  }
}

static void check(const struct words *w) {
  tombola_vocabulary *const v = vocabulary_of(w);
  tombola_trie *trie = NULL;
  assert_int_equal(tombola_trie_new(v, NULL, &trie, NULL), TOMBOLA_OK);
  uint8_t found[MOST] = {0};
  walk(w, trie, trie->all, found);
  for (size_t i = 0; i < w->count; i++)
    assert_int_equal(found[i], is_in(w, i));
  check_slices(w, trie);
  check_wide(trie);
  check_same(w, trie);
  assert_true(tombola_trie_size(trie) >= trie->n_nodes * sizeof *trie->nodes);
  tombola_trie_free(trie);
  tombola_vocabulary_free(v);
}

static void test_random(void **state) {
  (void)state;
  struct support_rng rng = support_rng(6);
  struct words *const w = malloc(sizeof *w);
  for (size_t round = 0; round < 12; round++) {
    random_words(w, &rng, round < 6 ? 1 + round * 3 : 100 * round);
    check(w);
  }
  free(w);
}

/* The edges: nothing that can be in a trie; bytes that are a beginning of others; zeros behind the end. */
static void test_edges(void **state) {
  (void)state;
  struct words *const w = calloc(1, sizeof *w);
  add(w, "", 0, 0);
  add(w, "<s>", 3, TOMBOLA_TOKEN_SPECIAL);
  check(w);
  add(w, "a", 1, 0);
  add(w, "a\0", 2, 0);
  add(w, "a\0\0", 3, 0);
  add(w, "aaaaaaaa", 8, 0);
  add(w, "aaaaaaaa\0", 9, 0);
  add(w, "aaaaaaaaaaaaaaaa", 16, 0);
  add(w, "aaaaaaaaaaaaaaaab", 17, 0);
  add(w, "aaaaaaaaaaaaaaaaa", 17, 0);
  add(w, "aaaaaaaaaaaaaaaa", 16, 0);
  add(w, "aaaaaaaaaaaaaaaa", 16, 0);
  add(w, "a", 1, 0);
  add(w, "\xFF", 1, TOMBOLA_TOKEN_BYTE);
  add(w, "\x80", 1, TOMBOLA_TOKEN_BYTE);
  check(w);
  free(w);
}

/* Many words that have their first bytes in common, 0 to 23 of them, longer ones and higher letters first, some twice. */
static void test_common_beginnings(void **state) {
  (void)state;
  struct words *const w = malloc(sizeof *w);
  for (size_t common = 0; common < 24; common++) {
    memset(w, 0, sizeof *w);
    char text[32];
    memset(text, 'a', sizeof text);
    for (size_t length = common + 4; length >= common && length > 2; length--)
      for (int letter = 'z'; letter > 'g'; letter--) {
        text[common] = (char)letter;
        text[common + 1] = (char)(letter ^ 3);
        add(w, text, length, 0);
        if (letter % 5 == 0) add(w, text, length, 0);
      }
    check(w);
  }
  free(w);
}

static void test_statuses(void **state) {
  (void)state;
  struct words *const w = malloc(sizeof *w);
  struct support_rng rng = support_rng(7);
  random_words(w, &rng, 300);
  tombola_vocabulary *const v = vocabulary_of(w);
  tombola_trie *trie = NULL;
  struct tombola_error error = {0};
  assert_int_equal(tombola_trie_new(NULL, NULL, &trie, &error), TOMBOLA_INVALID_ARGUMENT);
  assert_string_equal(error.param, "vocabulary");
  assert_int_equal(tombola_trie_new(v, NULL, NULL, &error), TOMBOLA_INVALID_ARGUMENT);
  for (size_t n = 1;; n++) {
    struct support_allocator a = support_allocator(n);
    const enum tombola_status status = tombola_trie_new(v, support_allocator_use(&a), &trie, NULL);
    if (a.requests < n) {
      assert_int_equal(status, TOMBOLA_OK);
      assert_true(a.bytes >= tombola_trie_size(trie)); /* and what an empty array takes */
      assert_true(a.bytes <= tombola_trie_size(trie) + 16);
      tombola_trie_free(trie);
      support_allocator_check(&a);
      break;
    }
    assert_int_equal(status, TOMBOLA_NO_MEMORY);
    assert_null(trie);
    support_allocator_check(&a);
  }
  tombola_trie_free(NULL);
  tombola_vocabulary_free(v);
  free(w);
}

int main(void) {
  list_encodings();
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random), cmocka_unit_test(test_edges),
                                     cmocka_unit_test(test_common_beginnings),
                                     cmocka_unit_test(test_statuses)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
