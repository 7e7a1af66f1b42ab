/* SPDX-License-Identifier: Apache-2.0 */
/* minfer (yusiwen/minfer f9bc1e1: src/sampler.rs, src/main.rs, src/server/types.rs; its document quotes a
 * later commit, 15fa45c, whose code we haven't seen). All three penalties in one pass, frequency and presence
 * first; filters mask logits; the temperature comes last.
 *
 * Where its document and its code differ, the code is followed:
 * - the worked example of its penalties prints 3.7 and 3.36 for the token "a"; the rule gives 3.2 and 2.909;
 * - a dart at 0.85 over .731, .209, .060 lands in C, not in D;
 * - top_p keeps through the first running sum > p, not >= p;
 * - when rounding leaves the running sum short of the uniform, its code takes the last id, whatever its mass
 * (its document: the last finite entry). Our sum is exact, so that neither happens. Its sampler destroys the
 * row; ours never does. */
#include "../internal.h"

static const char *const order[] = {"logit_bias", "penalties", "top_k", "top_p", "temperature"};

static const struct tombola__default defaults[] = {
    {"temperature", 0.8}, {"top_k", 40}, {"top_p", 0.95}, {"repeat_penalty", 1.1}, {"repeat_last_n", 64}};

const struct tombola__dialect tombola__dialect_minfer = {
    .info = {.name = "minfer",
             .summary = "minfer: repetition after frequency and presence, ties stay, temperature last",
             .source = "yusiwen/minfer f9bc1e1, src/sampler.rs",
             .order = order,
             .n_order = TOMBOLA__COUNT(order)},
    .defaults = defaults,
    .n_defaults = TOMBOLA__COUNT(defaults),
    .server_seed_random = true,  /* its program has 42, a request without a seed a random one */
    .greedy_at = 0x1.0c6f78p-20, /* below 1e-6: the largest f32 under it */
    .greedy_draws = false,
    .penalty_form = TOMBOLA__EACH_THEN_REPEAT,
    .penalty_once_one = true, /* a repeat_penalty below 1 does nothing */
    .penalty_dead_zone = 1e-6,
    .top_k_ties = true,
    .top_p_exceeds = true, /* the first running sum > p */
    .zero_is_off = true,
    .draw_order = TOMBOLA__DRAW_BY_ID,
    .draw_strict = false, /* r <= cum */
    .generator = &tombola__chacha12,
    .seed_random = false,
    .default_seed = 42,
};
