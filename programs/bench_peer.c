/* SPDX-License-Identifier: Apache-2.0 */
/* The peer of `tombola bench`: llama.cpp's own chain on the same row. As llama_sampler_sample() does for each
 * token, it fills the candidate array (allocated once), applies the chain and accepts the token. */
#ifdef TOMBOLA_WITH_LLAMA
#include <llama.h>
#include <stdlib.h>

#include "bench.h"

struct bench_peer {
  struct llama_sampler *chain;
  llama_token_data *data;
  const float *row;
  size_t count;
  const tombola_token *history;
  size_t n_history;
};

static void add_edits(struct llama_sampler *chain, const struct bench_case *which, size_t vocab) {
  int32_t last_n = (int32_t)which->n_history;
  if (which->repeat_penalty != 1)
    llama_sampler_chain_add(
        chain, llama_sampler_init_penalties((int32_t)vocab, last_n, which->repeat_penalty, 0, 0));
  if (which->dry_multiplier > 0)
    llama_sampler_chain_add(chain, llama_sampler_init_dry(NULL, which->dry_multiplier, BENCH_DRY_BASE,
                                                          BENCH_DRY_ALLOWED, last_n, NULL, 0));
}

static struct llama_sampler *make_chain(const struct bench_case *which, size_t vocab) {
  struct llama_sampler *chain = llama_sampler_chain_init(llama_sampler_chain_default_params());
  if (which->temperature == 0) {
    llama_sampler_chain_add(chain, llama_sampler_init_greedy());
    return chain;
  }
  add_edits(chain, which, vocab);
  if (which->mirostat_tau > 0) {
    llama_sampler_chain_add(chain, llama_sampler_init_temp(which->temperature));
    llama_sampler_chain_add(chain,
                            llama_sampler_init_mirostat_v2(1, which->mirostat_tau, BENCH_MIROSTAT_ETA));
    return chain;
  }
  if (which->top_n_sigma > 0)
    llama_sampler_chain_add(chain, llama_sampler_init_top_n_sigma(which->top_n_sigma));
  if (which->top_k > 0) llama_sampler_chain_add(chain, llama_sampler_init_top_k(which->top_k));
  if (which->typical_p < 1) llama_sampler_chain_add(chain, llama_sampler_init_typical(which->typical_p, 0));
  if (which->top_p < 1) llama_sampler_chain_add(chain, llama_sampler_init_top_p(which->top_p, 0));
  if (which->min_p > 0) llama_sampler_chain_add(chain, llama_sampler_init_min_p(which->min_p, 0));
  if (which->temperature != 1) llama_sampler_chain_add(chain, llama_sampler_init_temp(which->temperature));
  llama_sampler_chain_add(chain, llama_sampler_init_dist(1));
  return chain;
}

static void tell_history(struct bench_peer *peer) {
  for (size_t i = 0; i < peer->n_history; i++)
    llama_sampler_accept(peer->chain, peer->history[i]);
}

struct bench_peer *bench_peer_new(const struct bench_case *which, const float *row, size_t count,
                                  const tombola_token *history) {
  struct bench_peer *peer = calloc(1, sizeof *peer);
  llama_token_data *data = malloc(count * sizeof *data);
  if (!peer || !data) {
    free(peer);
    free(data);
    return NULL;
  }
  *peer = (struct bench_peer){.chain = make_chain(which, count),
                              .data = data,
                              .row = row,
                              .count = count,
                              .history = history,
                              .n_history = which->n_history};
  tell_history(peer);
  return peer;
}

void bench_peer_free(struct bench_peer *peer) {
  if (!peer) return;
  llama_sampler_free(peer->chain);
  free(peer->data);
  free(peer);
}

void bench_peer_reset(void *self) {
  struct bench_peer *peer = self;
  llama_sampler_reset(peer->chain);
  tell_history(peer);
}

void bench_peer_run(void *self) {
  struct bench_peer *peer = self;
  for (size_t i = 0; i < peer->count; i++)
    peer->data[i] = (llama_token_data){(llama_token)i, peer->row[i], 0};
  llama_token_data_array array = {.data = peer->data, .size = peer->count, .selected = -1, .sorted = false};
  llama_sampler_apply(peer->chain, &array);
  llama_sampler_accept(peer->chain, array.data[array.selected].id);
}
#else
/* ISO C wants a declaration in every file. */
extern int tombola_bench_without_peer;
#endif
