/* SPDX-License-Identifier: Apache-2.0 */
/* mlxcel (lablup/mlxcel; mlxcel-core sampling.rs, newest version read; generate.rs;
 * turbo/sampling_rejection.cpp at 0c09b02; server request_options.rs at 01eea6d). Filters look at penalised,
 * untempered logits, the temperature comes last.
 *
 * Where its document and its code differ, the code is followed:
 * - an early section tempers first, a later one last: last (#1379);
 * - DRY's penalty begins at the allowed length, not above it (#1436);
 * - top_p keeps while the mass above is <= p, not until the sum reaches p;
 * - history penalties have a window, -1 all, 0 off, N: the program's -1, the server's 64;
 * - the server's top_p and min_p are 0.95 and 0.05 (manifest, #1430), not 0.9 and 0.1;
 * - its rejection draw is not "the same filters, faster": with top_k and top_p both on it asks both of the
 * whole row, while the sort chain lets top_p see top_k's survivors. The chain here is the sort chain; a tie
 * that its sort leaves open goes to the lowest id. docs/dialects.md says what that means.
 *
 * Every draw takes a key of mlx's sequence; without filters its Gumbel kernel makes the noise with philox. */
#include "../internal.h"

static const char *const order[] = {"logit_bias", "penalties", "dry",        "top_n_sigma",
                                    "p_less",     "typical_p", "top_k",      "top_p",
                                    "min_p",      "xtc",       "temperature"};

static const struct tombola__default defaults[] = {
    {"temperature", 0}, {"repeat_last_n", -1}, {"dry_penalty_last_n", -1}, {"draw", TOMBOLA_DRAW_GUMBEL}};

static const struct tombola__default server_defaults[] = {
    {"temperature", 0.8}, {"top_k", 40},         {"top_p", 0.95},
    {"min_p", 0.05},      {"repeat_last_n", 64}, {"dry_penalty_last_n", 64},
};

static const char *const breakers[] = {"\n", ":", "\"", "*"};

const struct tombola__dialect tombola__dialect_mlxcel = {
    .info =
        {.name = "mlxcel",
         .summary = "mlxcel: filters on untempered logits, ties stay, every filter of llama.cpp",
         .source =
             "lablup/mlxcel, mlxcel-core sampling.rs (newest read), turbo/sampling_rejection.cpp (0c09b02)",
         .order = order,
         .n_order = TOMBOLA__COUNT(order)},
    .defaults = defaults,
    .n_defaults = TOMBOLA__COUNT(defaults),
    .server_defaults = server_defaults,
    .n_server_defaults = TOMBOLA__COUNT(server_defaults),
    .greedy_at = 0,
    .greedy_draws = false,
    .greedy_edits_only = true, /* sigma, p_less and typical are skipped; so is XTC, see docs/dialects.md */
    .greedy_at_top_k_1 = true,
    .bias_skips_outside = true,
    .penalty_form = TOMBOLA__REPEAT_THEN_SUM,
    .negative_window_off = false,
    .top_k_ties = true,
    .top_p_exceeds = true, /* keeps while the mass above is <= p */
    .zero_is_off = true,   /* top_p and min_p act inside (0, 1) */
    .typical_exceeds = false,
    .typical_top_k_first = true,
    .dynatemp_floor = 1e-6,
    .xtc_strict = true,
    .xtc_exempts = true,
    .xtc_keeps_first = true, /* argmin */
    .dry_breaks_at_head = true,
    .stages_share_generator = true, /* XTC's gate is drawn before the token */
    .dry_breakers = breakers,
    .n_dry_breakers = TOMBOLA__COUNT(breakers),
    .dry_breakers_of_server = true,
    .draw_order = TOMBOLA__DRAW_BY_ID,
    .rejection_joint = true,
    .draw_strict = true,
    .generator = &tombola__philox,
    .seed_random = true,
};
