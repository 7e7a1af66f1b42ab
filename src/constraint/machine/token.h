/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens as elements of a grammar: which ones an element can match, and which one a text names. */
#ifndef TOMBOLA_TOKEN_H
#define TOMBOLA_TOKEN_H

#include <tombola/constraint.h>

#include "base/base.h"

/* The same of a token with these flags and so many bytes. */
static inline bool tombola__is_matchable(unsigned flags, size_t length) {
  return !(flags & (TOMBOLA_TOKEN_END | TOMBOLA_TOKEN_UNUSED)) &&
         (length > 0 || flags & TOMBOLA_TOKEN_SPECIAL);
}

/* An element matches no end token, which is for the end of the text, no unused one, and an ordinary one only when it has
 * bytes, as in llama.cpp. False for an id that the vocabulary doesn't have, too. */
bool tombola__token_is_matchable(const tombola_vocabulary *vocabulary, uint32_t token);

/* Whether an element can match anything: the token itself, or when negated any other. */
bool tombola__token_has_match(const tombola_vocabulary *vocabulary, uint32_t token, bool negated);

/* The one token that a text is, spellings of special tokens standing for those: by the vocabulary's tokeniser, and
 * without one by its bytes. FORMAT: it isn't one token, or it isn't known which; what the tokeniser failed with. */
enum tombola_status tombola__token_named(const tombola_vocabulary *vocabulary, struct tombola_bytes text,
                                         uint32_t *token);

#endif
