/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of mask_server share. Bytes travel in JSON as characters U+0000 to U+00FF. */
#ifndef MASK_SERVER_H
#define MASK_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <tombola/constraint.h>
#include <yyjson.h>

#include "rng.h"

struct text {
  char *data;
  size_t length, room;
};

void text_add(struct text *text, const char *bytes, size_t length);

struct server {
  tombola_vocabulary *vocabulary;
  tombola_trie *trie;
  size_t n_tokens, n_words;
  uint64_t vocabulary_digest;
  /* Of one request. */
  tombola_grammar *grammar;
  tombola_matcher *matcher;
  yyjson_mut_doc *doc; /* the answer */
  yyjson_mut_val *problems;
  size_t n_problems;
  yyjson_val *hints; /* texts that values of the grammar are made of */
  struct support_rng rng;
};

/* Notes what is wrong, with the text that it is about; the first few are kept. */
void problem(struct server *server, const char *what, const struct text *text);

yyjson_mut_val *bytes_value(struct server *server, const char *bytes, size_t length);
/* The bytes of a string of the request; freed by the caller. */
struct text bytes_of(yyjson_val *value);

/* The mask where the matcher is: n_words words, those beyond the vocabulary clear. Notes failures. */
bool mask_of(struct server *server, tombola_matcher *matcher, uint32_t *words, const struct text *text);

static inline bool has(const uint32_t *words, size_t token) {
  return words[token / 32] >> token % 32 & 1;
}

/* Walks from where the matcher is until the text is complete, adds what it read to `out`, and goes back. */
bool complete_text(struct server *server, tombola_matcher *matcher, struct text *out);

/* The commands: each adds its member to the answer. */
void explore(struct server *server, yyjson_val *request, yyjson_mut_val *answer);
void walks(struct server *server, yyjson_val *request, yyjson_mut_val *answer);
void accept_tokens(struct server *server, yyjson_val *request, yyjson_mut_val *answer);
void stops(struct server *server, yyjson_val *request, yyjson_mut_val *answer);

#endif
