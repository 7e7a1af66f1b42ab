/* SPDX-License-Identifier: Apache-2.0 */
/* Our sampler as one of libllama's: it draws what libllama's own chain draws, alone and behind other
 * samplers. */
#include "llama_support.h"

#include <llama.h>

enum { VOCABULARY = 1000, DRAWS = 200, SEED = 42 };

struct candidates {
  llama_token_data data[VOCABULARY];
  llama_token_data_array list;
};

static void fill(struct candidates *candidates, struct support_rng *rng) {
  for (int i = 0; i < VOCABULARY; i++)
    candidates->data[i] = (llama_token_data){i, support_normal(rng, 0, 3), 0};
  candidates->list = (llama_token_data_array){candidates->data, VOCABULARY, -1, false};
}

static llama_token chosen(const struct candidates *candidates) {
  assert_in_range(candidates->list.selected, 0, candidates->list.size - 1);
  return candidates->list.data[candidates->list.selected].id;
}

static struct llama_sampler *new_chain(void) {
  struct llama_sampler *chain = llama_sampler_chain_init(llama_sampler_chain_default_params());
  assert_non_null(chain);
  return chain;
}

static struct llama_sampler *ours(void) {
  struct tombola_sampler_params params = {.struct_size = sizeof params};
  assert_ok(tombola_sampler_params_default(&params, "llama.cpp", NULL));
  params.seed = SEED;
  params.seed_mode = TOMBOLA_SEED_FIXED;
  tombola_sampler *sampler;
  assert_ok(tombola_sampler_new(&params, NULL, VOCABULARY, NULL, &sampler, NULL));
  struct llama_sampler *result = tombola_llama_sampler(sampler, VOCABULARY);
  assert_non_null(result);
  assert_string_equal(llama_sampler_name(result), "tombola");
  return result;
}

/* The stages of llama.cpp's default chain that its defaults leave on. */
static struct llama_sampler *theirs(void) {
  struct llama_sampler *chain = new_chain();
  llama_sampler_chain_add(chain, llama_sampler_init_top_k(40));
  llama_sampler_chain_add(chain, llama_sampler_init_top_p(0.95f, 0));
  llama_sampler_chain_add(chain, llama_sampler_init_min_p(0.05f, 0));
  llama_sampler_chain_add(chain, llama_sampler_init_temp(0.8f));
  llama_sampler_chain_add(chain, llama_sampler_init_dist(SEED));
  return chain;
}

static llama_token draw(struct llama_sampler *sampler, struct candidates *candidates) {
  llama_sampler_apply(sampler, &candidates->list);
  llama_token token = chosen(candidates);
  llama_sampler_accept(sampler, token);
  return token;
}

/* Draws from the same rows; says how many tokens differ. */
static int differences(struct llama_sampler *a, struct llama_sampler *b, uint64_t stream) {
  struct support_rng rng = support_rng(stream), same = rng;
  static struct candidates one, two;
  int different = 0;
  for (int i = 0; i < DRAWS; i++) {
    fill(&one, &rng);
    fill(&two, &same);
    different += draw(a, &one) != draw(b, &two);
  }
  return different;
}

static void same_tokens_as_their_chain(void **state) {
  (void)state;
  struct llama_sampler *a = ours(), *b = theirs();
  assert_int_equal(differences(a, b, 1), 0);
  /* Both generators have moved on; the comparison can tell when one hasn't. */
  llama_sampler_reset(a);
  assert_true(differences(a, b, 2) > DRAWS / 4);
  llama_sampler_reset(a);
  llama_sampler_reset(b);
  assert_int_equal(differences(a, b, 3), 0);
  llama_sampler_free(a);
  llama_sampler_free(b);
}

static void ends_a_chain(void **state) {
  (void)state;
  struct llama_sampler *chain = new_chain(), *b = theirs();
  llama_sampler_chain_add(chain,
                          llama_sampler_init_top_k(100)); /* shortens and sorts, changes nothing else */
  llama_sampler_chain_add(chain, ours());
  assert_int_equal(differences(chain, b, 4), 0);
  struct llama_sampler *copy = llama_sampler_clone(chain);
  assert_int_equal(differences(chain, copy, 5), 0); /* the generator's state is copied too */
  llama_sampler_free(chain);
  assert_true(differences(copy, b, 6) > DRAWS / 4);
  llama_sampler_free(copy);
  llama_sampler_free(b);
}

static void removed_tokens_stay_removed(void **state) {
  (void)state;
  static struct candidates candidates;
  struct support_rng rng = support_rng(7);
  struct llama_sampler *sampler = ours();
  for (int i = 0; i < DRAWS; i++) {
    fill(&candidates, &rng);
    candidates.list.data = candidates.data + 990;
    candidates.list.size = 10;
    assert_true(draw(sampler, &candidates) >= 990);
  }
  llama_sampler_free(sampler);
}

static void failures_select_nothing(void **state) {
  (void)state;
  static struct candidates candidates;
  struct support_rng rng = support_rng(8);
  struct llama_sampler *sampler = ours();
  fill(&candidates, &rng);
  candidates.data[5].logit = NAN;
  llama_sampler_apply(sampler, &candidates.list);
  assert_int_equal(candidates.list.selected, -1);
  fill(&candidates, &rng);
  candidates.list.size = 0;
  llama_sampler_apply(sampler, &candidates.list);
  assert_int_equal(candidates.list.selected, -1);
  llama_sampler_accept(sampler, -1);
  llama_sampler_accept(sampler, VOCABULARY);
  fill(&candidates, &rng);
  draw(sampler, &candidates);
  llama_sampler_free(sampler);
  assert_null(tombola_llama_sampler(NULL, VOCABULARY));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(same_tokens_as_their_chain),
      cmocka_unit_test(ends_a_chain),
      cmocka_unit_test(removed_tokens_stay_removed),
      cmocka_unit_test(failures_select_nothing),
  };
  return cmocka_run_group_tests_name("llama_sampler", tests, NULL, NULL);
}
