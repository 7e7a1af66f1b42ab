/* SPDX-License-Identifier: Apache-2.0 */
/* rml: repetition penalty, temperature, top-k, top-p, min-p, draw over weights relative to the best (its
 * sampler.h and its rml-chat's defaults, as its documentation "Generation" tells them). Its numbered list of
 * steps is missing from that text; the order is that of its opening sentence. Its generator and how its draw
 * compares are not published: we use mt19937 and >=, so that rml's law is kept but not its stream. Its
 * penalty window has no published default; 64 is every other engine's. Biases it doesn't know; they come
 * first, as everywhere. It has no server. */
#include <math.h>

#include "../internal.h"

static const char *const order[] = {"logit_bias", "penalties", "temperature", "top_k", "top_p", "min_p"};

static const struct tombola__default defaults[] = {
    {"temperature", 0.7}, {"top_k", 40},           {"top_p", 0.95},
    {"min_p", 0.05},      {"repeat_penalty", 1.1}, {"repeat_last_n", 64},

};

/* What its Create refuses. */
static const struct tombola__range ranges[] = {
    {"temperature", 0, HUGE_VAL, false, false},
    {"top_k", 0, INT32_MAX, false, false},
    {"top_p", 0, 1, true, false},
    {"min_p", 0, 1, false, true},
    {"repeat_penalty", 0, HUGE_VAL, true, false},
    {"repeat_last_n", 0, INT32_MAX, false, false},
};

const struct tombola__dialect tombola__dialect_rml = {
    .info = {.name = "rml",
             .summary = "rml and rml-chat: temperature first, min_p last, weights relative to the best",
             .source = "rml, documentation \"Generation\" (rml/llm/sampler.h, examples/rml_chat/main.cc)",
             .order = order,
             .n_order = TOMBOLA__COUNT(order)},
    .defaults = defaults,
    .n_defaults = TOMBOLA__COUNT(defaults),
    .ranges = ranges,
    .n_ranges = TOMBOLA__COUNT(ranges),
    .greedy_at = 0,
    .greedy_draws = false,
    .top_p_exceeds = false, /* stops when the running sum reaches top_p * total */
    .draw_order = TOMBOLA__DRAW_AS_IS,
    .draw_strict = false,
    .generator = &tombola__mt19937,
    .seed_random = false,
    .default_seed = 0,
};
