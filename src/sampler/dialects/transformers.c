/* SPDX-License-Identifier: Apache-2.0 */
/* transformers 5.24.0, generate(do_sample=True) (generation/logits_process.py, generation/utils.py). The
 * temperature comes first, then every filter on what the one before left; the repetition penalty sees the
 * whole sequence.
 *
 * Its draw, torch.multinomial, divides the probabilities by exponential numbers of torch's generator, one for
 * each token, and can't be repeated here: the law is the same, the stream is not. temperature 0 it refuses;
 * here it is greedy, as do_sample=False is there. Frequency and presence it doesn't have; they follow
 * OpenAI's rule. */
#include "../internal.h"

static const char *const order[] = {"logit_bias", "penalties", "no_repeat_ngram", "temperature", "top_h",
                                    "top_k",      "top_p",     "min_p",           "typical_p",   "epsilon",
                                    "eta"};

static const char *const min_keep_stages[] = {"top_p", "min_p", "typical_p", "epsilon", "eta"};

static const struct tombola__default defaults[] = {
    {"temperature", 1},
    {"top_k", 50},
    {"repeat_last_n", -1},
};

const struct tombola__dialect tombola__dialect_transformers = {
    .info = {.name = "transformers",
             .summary = "transformers' generate(): temperature first, ties of top_k stay, no window",
             .source = "huggingface/transformers 5.24.0, generation/logits_process.py",
             .order = order,
             .n_order = TOMBOLA__COUNT(order)},
    .defaults = defaults,
    .n_defaults = TOMBOLA__COUNT(defaults),
    .greedy_at = 0,
    .greedy_draws = false,
    .greedy_edits_only = true, /* warpers run only when it samples */
    .penalty_form = TOMBOLA__REPEAT_THEN_SUM,
    .top_k_min_keep = true,
    .top_k_ties = true, /* removes what is below the k-th value */
    .top_p_exceeds = false,
    .typical_exceeds = false,
    .typical_ties = true, /* a threshold on the value */
    .min_keep_stages = min_keep_stages,
    .n_min_keep_stages = TOMBOLA__COUNT(min_keep_stages),
    .draw_order = TOMBOLA__DRAW_BY_ID,
    .draw_strict = true,
    .generator = &tombola__mt19937,
    .seed_random = true,
};
