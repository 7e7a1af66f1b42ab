/* SPDX-License-Identifier: Apache-2.0 */
/* Our sampler as one of libllama's, so that a program that is built on libllama's sampler chains can try it
 * by changing one line. libllama's samplers see a list of candidates, which an earlier sampler may have
 * shortened or reordered; ours reads a row, so the list is spread over one whose other tokens are banned. */
#include "backend.h"

#include <math.h>
#include <tombola/llama.h>

/* The table of functions is a member because libllama takes it without const. */
struct wrapper {
  struct llama_sampler_i table;
  tombola_sampler *sampler;
  size_t vocab_size;
  float row[];
};

static struct wrapper *wrapper_of(const struct llama_sampler *sampler) {
  return sampler->ctx;
}

static const char *name(const struct llama_sampler *sampler) {
  (void)sampler;
  return "tombola";
}

static void accept(struct llama_sampler *sampler, llama_token token) {
  tombola_sampler_accept(wrapper_of(sampler)->sampler, token);
}

/* A list that is the whole vocabulary in order fills every place by itself. */
static void spread(struct wrapper *wrapper, const llama_token_data_array *candidates) {
  if (candidates->size < wrapper->vocab_size)
    for (size_t i = 0; i < wrapper->vocab_size; i++)
      wrapper->row[i] = -INFINITY;
  for (size_t i = 0; i < candidates->size; i++) {
    llama_token id = candidates->data[i].id;
    if (id >= 0 && (size_t)id < wrapper->vocab_size) wrapper->row[id] = candidates->data[i].logit;
  }
}

static int64_t index_of(const llama_token_data_array *candidates, llama_token token) {
  if ((size_t)token < candidates->size && candidates->data[token].id == token) return token;
  for (size_t i = 0; i < candidates->size; i++)
    if (candidates->data[i].id == token) return (int64_t)i;
  return -1;
}

static void apply(struct llama_sampler *sampler, llama_token_data_array *candidates) {
  struct wrapper *wrapper = wrapper_of(sampler);
  candidates->selected = -1;
  if (candidates->size > wrapper->vocab_size) return;
  spread(wrapper, candidates);
  struct tombola_row row = {wrapper->row, wrapper->vocab_size, TOMBOLA_F32};
  tombola_token token;
  if (tombola_sampler_sample(wrapper->sampler, &row, NULL, &token) == TOMBOLA_OK)
    candidates->selected = index_of(candidates, token);
}

static void reset(struct llama_sampler *sampler) {
  tombola_sampler_reset(wrapper_of(sampler)->sampler);
}

static struct llama_sampler *clone(const struct llama_sampler *sampler) {
  const struct wrapper *wrapper = wrapper_of(sampler);
  tombola_sampler *copy;
  if (tombola_sampler_clone(wrapper->sampler, &copy) != TOMBOLA_OK) return NULL;
  struct llama_sampler *result = tombola_llama_sampler(copy, wrapper->vocab_size);
  if (!result) tombola_sampler_free(copy);
  return result;
}

static void free_wrapper(struct llama_sampler *sampler) {
  struct wrapper *wrapper = wrapper_of(sampler);
  tombola_sampler_free(wrapper->sampler);
  tombola__free(NULL, wrapper);
}

struct llama_sampler *tombola_llama_sampler(tombola_sampler *sampler, size_t vocab_size) {
  size_t bytes;
  if (!sampler || vocab_size == 0 || !tombola__multiply(vocab_size, sizeof(float), &bytes)) return NULL;
  if (!tombola__add(bytes, sizeof(struct wrapper), &bytes)) return NULL;
  struct wrapper *wrapper = tombola__new(NULL, 1, bytes);
  if (!wrapper) return NULL;
  wrapper->table = (struct llama_sampler_i){
      .name = name, .accept = accept, .apply = apply, .reset = reset, .clone = clone, .free = free_wrapper};
  wrapper->sampler = sampler;
  wrapper->vocab_size = vocab_size;
  struct llama_sampler *result = llama_sampler_init(&wrapper->table, wrapper);
  if (!result) tombola__free(NULL, wrapper);
  return result;
}
