/* SPDX-License-Identifier: Apache-2.0 */
/* The rule is mlxcel's (mlxcel-core speculative/prompt_lookup.rs at 2807850). The scan is linear in the text:
 * a few microseconds for thousands of tokens, next to a forward pass of milliseconds. */
#include "session/prompt_lookup.h"

#include <string.h>

/* The start of the most recent n tokens equal to the last n and before them, or `count` when there is none.
 */
static size_t find_earlier(const tombola_token *tokens, size_t count, size_t n) {
  const tombola_token *suffix = tokens + count - n;
  tombola_token last = suffix[n - 1];
  for (size_t start = count - n; start-- > 0;)
    if (tokens[start + n - 1] == last && memcmp(tokens + start, suffix, n * sizeof *tokens) == 0)
      return start;
  return count;
}

size_t tombola__prompt_lookup(const tombola_token *tokens, size_t count, size_t ngram_min, size_t ngram_max,
                              size_t max_draft, const tombola_token **draft) {
  *draft = NULL;
  for (size_t n = ngram_max; n >= ngram_min && n > 0; n--) {
    if (n >= count) continue;
    size_t start = find_earlier(tokens, count, n);
    if (start == count) continue;
    size_t follow = count - (start + n); /* at least 1: the occurrence starts before the suffix */
    *draft = tokens + start + n;
    return follow < max_draft ? follow : max_draft;
  }
  return 0;
}
