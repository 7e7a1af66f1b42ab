/* SPDX-License-Identifier: Apache-2.0 */
/* What a group of tests over the support vocabulary shares: its words, their vocabulary and the trie. */
#ifndef TOMBOLA_TESTS_CONSTRAINT_GROUP_H
#define TOMBOLA_TESTS_CONSTRAINT_GROUP_H

#include "constraint_support.h"

static struct support_words words;
static tombola_vocabulary *vocabulary;
static tombola_trie *trie;

static inline int set_up_words(uint64_t stream) {
  struct support_rng rng = support_rng(stream);
  support_words_fill(&words, &rng);
  vocabulary = support_vocabulary(&words);
  trie = support_trie(vocabulary);
  return 0;
}

static inline int tear_down(void **state) {
  (void)state;
  tombola_trie_free(trie);
  tombola_vocabulary_free(vocabulary);
  return 0;
}

#endif
