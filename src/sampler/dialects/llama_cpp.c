/* SPDX-License-Identifier: Apache-2.0 */
/* llama.cpp, as its common library sets up a chain (commit 0c1e57098: src/llama-sampler.cpp,
 * common/sampling.cpp, common/common.h). The draw walks the candidates as the chain left them: by id, or
 * ranked once a stage has ranked. Its program and its server have the same defaults. */
#include "../internal.h"

static const char *const order[] = {"logit_bias", "penalties", "dry",   "top_n_sigma", "top_k",
                                    "typical_p",  "top_p",     "min_p", "xtc",         "temperature"};

static const char *const min_keep_stages[] = {"typical_p", "top_p", "min_p", "xtc"};

static const struct tombola__default defaults[] = {{"temperature", 0.8},  {"top_k", 40},
                                                   {"top_p", 0.95},       {"min_p", 0.05},
                                                   {"repeat_last_n", 64}, {"dry_penalty_last_n", 64}};

static const char *const breakers[] = {"\n", ":", "\"", "*"};

const struct tombola__dialect tombola__dialect_llama_cpp = {
    .info = {.name = "llama.cpp",
             .summary = "llama-cli and llama-server: filters first, temperature last",
             .source = "ggml-org/llama.cpp 0c1e57098, src/llama-sampler.cpp and common/sampling.cpp",
             .order = order,
             .n_order = TOMBOLA__COUNT(order)},
    .defaults = defaults,
    .n_defaults = TOMBOLA__COUNT(defaults),
    .greedy_at = 0,
    .greedy_draws = true,    /* its dist sampler draws for a list of one, too */
    .top_p_exceeds = false,  /* stops at the first running sum >= p */
    .typical_exceeds = true, /* and typical at the first > p */
    .penalty_form = TOMBOLA__REPEAT_THEN_SUM,
    .negative_window_off = true, /* penalties and dry clamp a negative last_n to 0 */
    .select_saves = true,        /* std::discrete_distribution needs no number to choose among one */
    .dry_breakers = breakers,
    .n_dry_breakers = TOMBOLA__COUNT(breakers),
    .min_keep_stages = min_keep_stages,
    .n_min_keep_stages = TOMBOLA__COUNT(min_keep_stages),
    .draw_order = TOMBOLA__DRAW_AS_IS,
    .draw_strict = false, /* the first running sum >= u * total */
    .generator = &tombola__mt19937,
    .seed_random = true,
    .random_seed_value = 0xFFFFFFFF, /* LLAMA_DEFAULT_SEED */
};
