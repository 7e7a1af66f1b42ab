/* SPDX-License-Identifier: Apache-2.0 */
/* A vocabulary for tests of constraints: every byte, words of the letters that texts are made of, marks, special and
 * end tokens, tokens with the same bytes, tokens without any. */
#ifndef CONSTRAINT_SUPPORT_H
#define CONSTRAINT_SUPPORT_H

#include "base/base.h"
#include "support.h"

#include <stdlib.h>
#include <string.h>
#include <tombola/constraint.h>

enum { SUPPORT_TOKENS = 3000, SUPPORT_BYTES = SUPPORT_TOKENS * 12 };

struct support_words {
  char bytes[SUPPORT_BYTES];
  size_t offsets[SUPPORT_TOKENS + 1];
  uint8_t flags[SUPPORT_TOKENS];
  size_t count;
};

static inline tombola_token support_add(struct support_words *w, const char *bytes, size_t length,
                                        unsigned flags) {
  assert_true(w->count < SUPPORT_TOKENS && w->offsets[w->count] + length <= SUPPORT_BYTES);
  memcpy(w->bytes + w->offsets[w->count], bytes, length);
  w->flags[w->count] = (uint8_t)flags;
  w->offsets[w->count + 1] = w->offsets[w->count] + length;
  return (tombola_token)w->count++;
}

/* Tokens 0 to 255 are the bytes; then those with a meaning of their own, then words. */
enum {
  SUPPORT_END = 256,         /* "</s>" */
  SUPPORT_END_TOO = 257,     /* an end of two flags */
  SUPPORT_SPECIAL = 258,     /* "<tool>" */
  SUPPORT_SPECIAL_END = 259, /* "</tool>" */
  SUPPORT_OTHER = 260,       /* "<other>", special */
  SUPPORT_UNUSED = 261,      /* "unused" */
  SUPPORT_EMPTY = 262,
  SUPPORT_TRUE = 263,    /* "true" */
  SUPPORT_TRUE_TOO = 264 /* the same bytes */
};

/* What words are made of. */
static const char *const support_pieces[] = {"a",
                                             "b",
                                             "z",
                                             "A",
                                             "F",
                                             "Z",
                                             "0",
                                             "1",
                                             "9",
                                             "00",
                                             "20",
                                             "-",
                                             "_",
                                             ".",
                                             ",",
                                             ":",
                                             "/",
                                             "@",
                                             "+",
                                             " ",
                                             "\"",
                                             "\\",
                                             "\\n",
                                             "\\u00",
                                             "{",
                                             "}",
                                             "[",
                                             "]",
                                             "<",
                                             ">",
                                             "\n",
                                             "\t",
                                             "e",
                                             "E",
                                             "true",
                                             "null",
                                             "k",
                                             "\"a\"",
                                             "\":",
                                             "\",",
                                             "\xC3",
                                             "\xC3\xA9",
                                             "\xA9",
                                             "\xE4\xBD\xA0",
                                             "\xF0\x9F\x99",
                                             "<tool>",
                                             "word",
                                             "T",
                                             "\x7F",
                                             "'",
                                             "#"};

static inline void support_words_fill(struct support_words *w, struct support_rng *rng) {
  memset(w, 0, sizeof *w);
  for (unsigned byte = 0; byte < 256; byte++) {
    const char c = (char)byte;
    support_add(w, &c, 1, byte % 2 ? TOMBOLA_TOKEN_BYTE : 0);
  }
  support_add(w, "</s>", 4, TOMBOLA_TOKEN_END);
  support_add(w, "<eot>", 5, TOMBOLA_TOKEN_END | TOMBOLA_TOKEN_SPECIAL);
  support_add(w, "<tool>", 6, TOMBOLA_TOKEN_SPECIAL);
  support_add(w, "</tool>", 7, TOMBOLA_TOKEN_SPECIAL);
  support_add(w, "<other>", 7, TOMBOLA_TOKEN_SPECIAL);
  support_add(w, "unused", 6, TOMBOLA_TOKEN_UNUSED);
  support_add(w, "", 0, 0);
  support_add(w, "true", 4, 0);
  support_add(w, "true", 4, 0);
  while (w->count < SUPPORT_TOKENS) {
    char text[64 * 8];
    size_t length = 0;
    /* Mostly words of one kind of letter, which slices are about, some mixed, a few long. */
    const size_t kind = support_below(rng, 8), many = support_below(rng, 40) ? 6 : 40;
    for (size_t left = 1 + support_below(rng, many); left > 0; left--) {
      const size_t i =
          kind < 5 ? kind * 2 + support_below(rng, 3) : support_below(rng, TOMBOLA__COUNT(support_pieces));
      const size_t size = strlen(support_pieces[i]);
      memcpy(text + length, support_pieces[i], size);
      length += size;
    }
    support_add(w, text, length, 0);
  }
}

static inline tombola_vocabulary *support_vocabulary(const struct support_words *w) {
  const struct tombola_vocabulary_source source = {.struct_size = sizeof source,
                                                   .count = w->count,
                                                   .bytes = w->bytes,
                                                   .offsets = w->offsets,
                                                   .flags = w->flags};
  tombola_vocabulary *v = NULL;
  assert_int_equal(tombola_vocabulary_new(&source, NULL, &v, NULL), TOMBOLA_OK);
  return v;
}

static inline tombola_trie *support_trie(const tombola_vocabulary *v) {
  tombola_trie *trie = NULL;
  assert_int_equal(tombola_trie_new(v, NULL, &trie, NULL), TOMBOLA_OK);
  return trie;
}

static inline struct tombola_grammar_source support_source(enum tombola_grammar_kind kind, const char *text) {
  return (struct tombola_grammar_source){.struct_size = sizeof(struct tombola_grammar_source),
                                         .kind = kind,
                                         .text = text,
                                         .length = text ? strlen(text) : 0};
}

static inline tombola_grammar *support_grammar(const struct tombola_grammar_source *source,
                                               const tombola_trie *trie) {
  tombola_grammar *grammar = NULL;
  struct tombola_error error = {0};
  const enum tombola_status status = tombola_grammar_new(source, trie, NULL, &grammar, NULL, &error);
  if (status) fail_msg("%s: %s", tombola_status_name(status), error.message);
  return grammar;
}

static inline tombola_matcher *support_matcher(tombola_grammar *grammar) {
  tombola_matcher *matcher = NULL;
  assert_int_equal(tombola_matcher_new(grammar, NULL, &matcher, NULL), TOMBOLA_OK);
  return matcher;
}

#endif
