/* SPDX-License-Identifier: Apache-2.0 */
/* Drafts from the text itself: where the last tokens occurred before, what followed them there. */
#ifndef TOMBOLA_SESSION_PROMPT_LOOKUP_H
#define TOMBOLA_SESSION_PROMPT_LOOKUP_H

#include <tombola/vocabulary.h>

#define TOMBOLA__MAX_NGRAM 16
#define TOMBOLA__MAX_DRAFT 64

/* Looks for the last n tokens, n from ngram_max down to ngram_min, at their most recent earlier occurrence,
 * which may overlap them; up to max_draft of the tokens that follow it (there is at least one, and the last n
 * may be among them) are the draft. *draft points into tokens. Returns how many; 0: no occurrence. */
size_t tombola__prompt_lookup(const tombola_token *tokens, size_t count, size_t ngram_min, size_t ngram_max,
                              size_t max_draft, const tombola_token **draft);

#endif
