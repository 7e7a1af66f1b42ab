/* SPDX-License-Identifier: Apache-2.0 */
/* tombola's own recommendation; docs/dialects.md gives the reasons at length.
 *
 * - What bans comes first, then what keeps, then what shapes: no temperature changes which tokens can be
 * drawn.
 * - One filter by default, min_p: it adapts to how sure the model is, needs no mass (so no sum, no rounding,
 * no tie of order), and is the cheapest. The others are there, in an order in which each sees what the
 * cheaper ones left.
 * - Penalties are off, and look at the output alone: a prompt's words are no repetition.
 * - A kept set never depends on a sort: exactly k, ties to the lowest ids; top_p ends where the mass reaches
 * p.
 * - The draw walks ids and takes the first running sum above u * total, so that a token without weight is
 * never drawn and two engines that keep the same set draw the same token.
 * - The generator is keyed by (seed, request, step, stage): a stage more, a draft, a neighbour in the batch
 * shift nothing.
 * - Without a seed it is random, and reported. */
#include "../internal.h"

static const char *const order[] = {"logit_bias",  "no_repeat_ngram", "penalties",  "dry", "min_p",
                                    "top_n_sigma", "top_k",           "epsilon",    "eta", "top_h",
                                    "top_a",       "p_less",          "typical_p",  "tfs", "top_p",
                                    "xtc",         "smoothing",       "temperature"};

static const struct tombola__default defaults[] = {{"temperature", 0.8},
                                                   {"min_p", 0.05},
                                                   {"repeat_last_n", 64},
                                                   {"penalty_scope", TOMBOLA_SCOPE_OUTPUT},
                                                   {"dry_penalty_last_n", 1024}};

static const char *const breakers[] = {"\n", ":", "\"", "*"};

const struct tombola__dialect tombola__dialect_tombola = {
    .info = {.name = "tombola",
             .summary = "our own: min_p on untempered logits, a generator that nothing shifts",
             .source = "this library, docs/dialects.md",
             .order = order,
             .n_order = TOMBOLA__COUNT(order)},
    .defaults = defaults,
    .n_defaults = TOMBOLA__COUNT(defaults),
    .greedy_at = 0,
    .greedy_draws = false,
    .greedy_edits_only = true, /* temperature 0 is the best token, whatever else is set */
    .penalty_form = TOMBOLA__REPEAT_THEN_SUM,
    .top_p_exceeds = false,
    .typical_exceeds = false,
    .xtc_strict = true,
    .xtc_exempts = true,
    .xtc_keeps_first = true,
    .dry_breakers = breakers,
    .n_dry_breakers = TOMBOLA__COUNT(breakers),
    .draw_order = TOMBOLA__DRAW_BY_ID,
    .draw_strict = true,
    .generator = &tombola__counter,
    .seed_random = true,
};
