/* SPDX-License-Identifier: Apache-2.0 */
/* rMLX (Pushkinist/rMLX; rmlx-models sampler.rs at 53e730f, decode_loop.rs at 023ab2b, rmlx-server
 * openai/request.rs at 1066e91). Temperature and softmax come first; top_p, min_p and top_k then zero
 * probabilities.
 *
 * Where its document and its code differ, the code is followed: ties at the cut of top_k and top_p go to the
 * lowest ids (the document: argpartition's order, that is, none); a row that isn't finite and a mask that
 * forbids all are errors (the document ignores the first, and calls the second an invariant). Penalties take
 * an empty mask along under greedy, too. Its walk of the ascending sum drops while cum <= 1 - top_p, in f32;
 * that is the descending prefix until the sum reaches top_p, and we sum exactly. Its server's defaults are
 * the program's. */
#include "../internal.h"

static const char *const order[] = {"logit_bias", "penalties", "temperature", "top_p", "min_p", "top_k"};

static const struct tombola__default defaults[] = {
    {"temperature", 1},
    {"repeat_last_n", 20},
    {"penalty_scope", TOMBOLA_SCOPE_OUTPUT},
};

const struct tombola__dialect tombola__dialect_rmlx = {
    .info = {.name = "rmlx",
             .summary = "rMLX: temperature first, filters on probabilities, penalties see the output alone",
             .source = "Pushkinist/rMLX, rmlx-models sampler.rs (53e730f) and rmlx-server (1066e91)",
             .order = order,
             .n_order = TOMBOLA__COUNT(order)},
    .defaults = defaults,
    .n_defaults = TOMBOLA__COUNT(defaults),
    .greedy_at = 0,
    .greedy_draws = false,
    .bias_skips_outside = true,
    .penalty_form = TOMBOLA__REPEAT_THEN_EACH, /* repetition, presence, frequency */
    .top_p_exceeds = false,
    .zero_is_off = true, /* top_p acts only inside (0, 1) */
    .draw_order = TOMBOLA__DRAW_BY_ID,
    .draw_strict = true, /* the first running sum > r * total */
    .generator = &tombola__pcg32,
    .seed_random = false,
    .default_seed = 0xA7A7,
    .refuses_sampled_speculation = true, /* HTTP 400, says its document */
};
