/* SPDX-License-Identifier: Apache-2.0 */
/* Where the end of the history has occurred before, for dry and no_repeat_ngram: the Z-algorithm over the
 * history read backwards, in time linear in the window. The working memory is the unused end of the
 * candidates' list, so that a stage that needs it allocates nothing once it is warm. */
#include "repeats.h"

enum tombola_status tombola__repeats_find(struct tombola__stage_call *call, size_t window,
                                          struct tombola__repeats *out) {
  const struct tombola__history *h = call->history;
  struct tombola__candidates *c = call->candidates;
  size_t n = h->count < window ? h->count : window;
  *out = (struct tombola__repeats){.count = n, .first_hit = c->count + n};
  /* An entry holds a token and its length; as many again are room for the hits. */
  if (tombola__candidates_reserve(c, c->count + 2 * n)) return TOMBOLA_NO_MEMORY;
  struct tombola__repeat *r = (struct tombola__repeat *)(void *)(c->list + c->count);
  out->back = r;
  for (size_t i = 0; i < n; i++)
    r[i] = (struct tombola__repeat){tombola__history_at(h, h->count - 1 - i), 0};

  /* [left, right) is the match that reaches farthest: r[i] == r[i - left] in it. */
  size_t left = 0, right = 0;
  for (size_t k = 1; k < n; k++) {
    size_t length = 0;
    if (k < right) {
      length = r[k - left].length;
      if (length < right - k) {
        r[k].length = (uint32_t)length;
        continue;
      }
      length = right - k;
    }
    while (k + length < n && r[k + length].token == r[length].token)
      length++;
    r[k].length = (uint32_t)length;
    if (length) {
      left = k;
      right = k + length;
    }
  }
  return TOMBOLA_OK;
}
