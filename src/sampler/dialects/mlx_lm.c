/* SPDX-License-Identifier: Apache-2.0 */
/* mlx-lm 0.32.2 on mlx 0.32.4 (mlx_lm/sample_utils.py: make_sampler, make_logits_processors;
 * mlx_lm/generate.py, mlx_lm/server.py for the defaults, which agree). Filters work on log-probabilities, the
 * temperature comes last, the draw is mx.random.categorical. For logits of [1, V], as its generate_step has them, mlx
 * 0.32.4 draws by inverse CDF with one uniform; for a batch, for a bare [V], and in earlier versions, by Gumbel noise:
 * `draw` gumbel is that.
 *
 * Its three penalties have a window each; here repeat_last_n is the window of all. top_k of the vocabulary's
 * size or more raises an exception there; here it is off, as everywhere. A gate that equals xtc_probability
 * exactly (one draw in 2^24) is open there and shut here. */
#include "../internal.h"

static const char *const order[] = {"logit_bias", "penalties", "top_p",      "min_p",
                                    "xtc",        "top_k",     "temperature"};

static const char *const min_keep_stages[] = {"min_p"};

static const struct tombola__default defaults[] = {
    {"temperature", 0},
    {"repeat_last_n", 20},
};

const struct tombola__dialect tombola__dialect_mlx_lm = {
    .info = {.name = "mlx-lm",
             .summary = "mlx-lm: top_p first and with its ties, temperature last, mlx's own draw",
             .source = "mlx-lm 0.32.2 (sample_utils.py) on mlx 0.32.4",
             .order = order,
             .n_order = TOMBOLA__COUNT(order)},
    .defaults = defaults,
    .n_defaults = TOMBOLA__COUNT(defaults),
    .greedy_at = 0,
    .greedy_draws = false,
    .greedy_edits_only = true, /* temperature 0 is argmax; processors still run */
    .penalty_form = TOMBOLA__REPEAT_THEN_EACH,
    .top_p_exceeds = false,
    .top_p_ties = true, /* a threshold on the value */
    .zero_is_off = true,
    .xtc_strict = true,
    .xtc_exempts = true,
    .xtc_keeps_ties = true,
    .stages_share_generator = true,
    .min_keep_stages = min_keep_stages,
    .n_min_keep_stages = TOMBOLA__COUNT(min_keep_stages),
    .draw_order = TOMBOLA__DRAW_BY_ID,
    .draw_strict = true,
    .generator = &tombola__threefry,
    .seed_random = true,
};
