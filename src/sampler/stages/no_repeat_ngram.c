/* SPDX-License-Identifier: Apache-2.0 */
/* no_repeat_ngram: bans each token that would complete a sequence of n tokens a second time (fairseq's and
 * transformers' no_repeat_ngram_size). With n = 1 every token of the history is banned. It looks at the whole
 * history, and does nothing until there are n tokens. */
#include <math.h>

#include "../repeats.h"

static const struct tombola_param_info rows[] = {
    {.name = "no_repeat_ngram",
     .help = "no sequence of N tokens occurs twice; 0: off",
     .stage = "no_repeat_ngram",
     .type = TOMBOLA_PARAM_INT,
     .offset = offsetof(struct tombola_sampler_params, no_repeat_ngram),
     .min = 0,
     .max = INT32_MAX,
     .off = 0},
};

static bool active(const struct tombola_sampler_params *params, const struct tombola__dialect *dialect) {
  (void)dialect;
  return params->no_repeat_ngram > 0;
}

static size_t window(const struct tombola__plan *plan) {
  (void)plan;
  return SIZE_MAX;
}

static float ban(const void *context, size_t index, float logit) {
  (void)context, (void)index, (void)logit;
  return -INFINITY;
}

/* The ids may repeat: a token that is banned stays so. */
static enum tombola_status apply(struct tombola__stage_call *call) {
  size_t same = (size_t)call->params->no_repeat_ngram - 1; /* tokens that must have been there before */
  if (call->history->count <= same) return TOMBOLA_OK;
  struct tombola__repeats repeats;
  enum tombola_status status = tombola__repeats_find(call, SIZE_MAX, &repeats);
  if (status) return status;
  tombola_token *ids = (tombola_token *)(void *)(call->candidates->list + repeats.first_hit);
  size_t n = 0;
  for (size_t k = 1; k < repeats.count; k++)
    if (repeats.back[k].length >= same) ids[n++] = repeats.back[k - 1].token;
  if (same == 0) ids[n++] = repeats.back[repeats.count - 1].token; /* nothing stands before it */
  return n ? tombola__candidates_edit(call->candidates, ids, n, ban, NULL) : TOMBOLA_OK;
}

const struct tombola__stage tombola__stage_no_repeat_ngram = {
    .name = "no_repeat_ngram",
    .edits = true,
    .bans = true,
    .params = rows,
    .n_params = TOMBOLA__COUNT(rows),
    .active = active,
    .window = window,
    .apply = apply,
};
