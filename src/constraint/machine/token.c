/* SPDX-License-Identifier: Apache-2.0 */
/* Looking up the tokens of a grammar's elements. */
#include "constraint/machine/token.h"

#include <string.h>

bool tombola__token_is_matchable(const tombola_vocabulary *vocabulary, uint32_t token) {
  size_t length;
  if (token >= tombola_vocabulary_count(vocabulary)) return false;
  (void)tombola_vocabulary_bytes(vocabulary, (tombola_token)token, &length);
  return tombola__is_matchable(tombola_vocabulary_flags(vocabulary, (tombola_token)token), length);
}

bool tombola__token_has_match(const tombola_vocabulary *vocabulary, uint32_t token, bool negated) {
  if (!negated) return tombola__token_is_matchable(vocabulary, token);
  const size_t count = tombola_vocabulary_count(vocabulary);
  for (uint32_t other = 0; other < count; other++)
    if (other != token && tombola__token_is_matchable(vocabulary, other)) return true;
  return false;
}

/* A special token goes before an ordinary one, as with a tokeniser; two of a kind are none. */
static enum tombola_status find_bytes(const tombola_vocabulary *vocabulary, struct tombola_bytes text,
                                      uint32_t *token) {
  const size_t count = tombola_vocabulary_count(vocabulary);
  size_t found[2] = {0, 0}; /* ordinary ones, special ones */
  uint32_t last[2] = {0, 0};
  for (uint32_t i = 0; i < count; i++) {
    size_t here;
    const char *const bytes = tombola_vocabulary_bytes(vocabulary, (tombola_token)i, &here);
    if (here != text.length || memcmp(bytes, text.data, here) != 0) continue;
    const unsigned flags = tombola_vocabulary_flags(vocabulary, (tombola_token)i);
    if (flags & TOMBOLA_TOKEN_UNUSED) continue;
    const bool special = (flags & (TOMBOLA_TOKEN_SPECIAL | TOMBOLA_TOKEN_END)) != 0;
    found[special]++;
    last[special] = i;
  }
  const bool special = found[1] > 0;
  *token = last[special];
  return found[special] == 1 ? TOMBOLA_OK : TOMBOLA_FORMAT;
}

enum tombola_status tombola__token_named(const tombola_vocabulary *vocabulary, struct tombola_bytes text,
                                         uint32_t *token) {
  tombola_token tokens[2] = {0, 0};
  size_t n = 0;
  const enum tombola_status status =
      tombola_vocabulary_tokenize(vocabulary, text.data, text.length, 1, tokens, TOMBOLA__COUNT(tokens), &n);
  if (status == TOMBOLA_UNSUPPORTED) return find_bytes(vocabulary, text, token);
  if (status && status != TOMBOLA_OUT_OF_RANGE) return status;
  if (n != 1 || tokens[0] < 0) return TOMBOLA_FORMAT;
  *token = (uint32_t)tokens[0];
  return TOMBOLA_OK;
}
