/* SPDX-License-Identifier: Apache-2.0 */
/* Masks against every token tried byte by byte, for tests that make a vocabulary of their own. Its first 256 tokens are
 * the bytes. */
#ifndef MASKS_SUPPORT_H
#define MASKS_SUPPORT_H

#include "constraint_support.h"

static struct support_words words;
static tombola_vocabulary *vocabulary;
static tombola_trie *trie;

static inline bool fits(tombola_matcher *bytes, size_t token) {
  const size_t length = words.offsets[token + 1] - words.offsets[token];
  if (words.flags[token] & TOMBOLA_TOKEN_END) return tombola_matcher_is_complete(bytes);
  if (tombola_matcher_accept_bytes(bytes, words.bytes + words.offsets[token], length, NULL, NULL))
    return false;
  assert_int_equal(tombola_matcher_rollback(bytes, 1), TOMBOLA_OK);
  return true;
}

/* Compares the mask with every token; fills in those that may come. */
static inline size_t check_mask(const char *schema, tombola_matcher *matcher, tombola_matcher *bytes,
                                size_t *allowed) {
  struct tombola_mask mask;
  size_t n = 0;
  assert_int_equal(tombola_matcher_mask(matcher, &mask, NULL), TOMBOLA_OK);
  for (size_t token = 0; token < words.count; token++) {
    const bool expected = fits(bytes, token);
    if ((mask.words[token / 32] >> token % 32 & 1) != expected)
      fail_msg("%s: '%.*s' is %s", schema, (int)(words.offsets[token + 1] - words.offsets[token]),
               words.bytes + words.offsets[token], expected ? "missing" : "too much");
    if (expected) allowed[n++] = token;
  }
  return n;
}

/* Behind `start`, if that may come, along tokens that may come, one byte of `text` in three of four. */
static inline void walk_source(const struct tombola_grammar_source *source, const char *start,
                               const char *text, struct support_rng *rng) {
  static size_t allowed[SUPPORT_TOKENS];
  const char *const schema = source->text;
  tombola_grammar *const g = support_grammar(source, trie), *const plain = support_grammar(source, NULL);
  tombola_matcher *const matcher = support_matcher(g), *const bytes = support_matcher(plain);
  if (!tombola_matcher_accept_bytes(bytes, start, strlen(start), NULL, NULL))
    assert_int_equal(tombola_matcher_accept_bytes(matcher, start, strlen(start), NULL, NULL), TOMBOLA_OK);
  for (size_t step = 0; step < 12; step++) {
    const size_t n = check_mask(schema, matcher, bytes, allowed);
    size_t token = allowed[support_below(rng, n)];
    for (size_t i = 0;
         i < 40 && support_below(rng, 4) && (token > 127 || !strchr(text, (int)token) || token == 0); i++)
      token = allowed[support_below(rng, n)];
    if (words.flags[token] & TOMBOLA_TOKEN_END) break;
    assert_int_equal(tombola_matcher_accept(matcher, (tombola_token)token, NULL), TOMBOLA_OK);
    assert_int_equal(tombola_matcher_accept_bytes(bytes, words.bytes + words.offsets[token],
                                                  words.offsets[token + 1] - words.offsets[token], NULL,
                                                  NULL),
                     TOMBOLA_OK);
  }
  tombola_matcher_free(matcher);
  tombola_matcher_free(bytes);
  tombola_grammar_free(g);
  tombola_grammar_free(plain);
}

static inline void walk(const char *schema, enum tombola_spelling spelling, const char *text,
                        struct support_rng *rng) {
  struct tombola_grammar_source source = support_source(TOMBOLA_GRAMMAR_JSON_SCHEMA, schema);
  source.spelling = spelling;
  walk_source(&source, "", text, rng);
}

static inline void walk_all(const char *const *schemas, size_t n, const char *text, size_t rounds) {
  struct support_rng rng = support_rng(71);
  if (support_long()) rounds *= 16;
  for (size_t i = 0; i < n; i++)
    for (size_t round = 0; round < rounds; round++)
      for (int plain = 0; plain < 2; plain++)
        walk(schemas[i], plain ? TOMBOLA_SPELLING_PLAIN : TOMBOLA_SPELLING_ANY, text, &rng);
}

static inline void add(const char *text) {
  (void)support_add(&words, text, strlen(text), 0);
}

static inline void add_bytes(void) {
  for (unsigned byte = 0; byte < 256; byte++) {
    const char one = (char)byte;
    (void)support_add(&words, &one, 1, 0);
  }
  (void)support_add(&words, "</s>", 4, TOMBOLA_TOKEN_END);
}

static inline void make_trie(void) {
  vocabulary = support_vocabulary(&words);
  trie = support_trie(vocabulary);
}

static inline int drop(void **state) {
  (void)state;
  tombola_trie_free(trie);
  tombola_vocabulary_free(vocabulary);
  return 0;
}

#endif
