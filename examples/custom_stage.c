/* SPDX-License-Identifier: Apache-2.0 */
/* A sampling stage of one's own: "alternate" lets a token follow only one of the other parity. It reads the
 * history, takes candidates out, keeps a count in its state, and is named in the order like any other stage.
 *
 *   cc -std=c11 custom_stage.c $(pkg-config --cflags --libs tombola) -o custom_stage */
#include <stdio.h>
#include <stdlib.h>
#include <tombola/tombola.h>

/* What each sampler remembers for the stage; zeroed at the beginning, copied by snapshots and clones. */
struct alternate {
  size_t accepted;
};

static enum tombola_status alternate_apply(void *context, void *state, struct tombola_stage_view *view) {
  (void)context, (void)state;
  if (view->n_history == 0) return TOMBOLA_OK;
  tombola_token last = view->history[view->n_history - 1];
  size_t kept = 0;
  for (size_t i = 0; i < view->count; i++)
    if ((view->candidates[i].id + last) % 2) view->candidates[kept++] = view->candidates[i];
  if (kept > 0) view->count = kept; /* at least one must stay */
  return TOMBOLA_OK;
}

static void alternate_accept(void *context, void *state, tombola_token token) {
  struct alternate *alternate = state;
  (void)context, (void)token;
  alternate->accepted++;
}

static void check(enum tombola_status status, const struct tombola_error *error) {
  if (status == TOMBOLA_OK) return;
  fprintf(stderr, "custom_stage: %s\n", error->message);
  exit(1);
}

int main(void) {
  const struct tombola_custom_stage alternate = {.struct_size = sizeof alternate,
                                                 .name = "alternate",
                                                 .state_size = sizeof(struct alternate),
                                                 .history = 1,
                                                 .apply = alternate_apply,
                                                 .accept = alternate_accept};
  const struct tombola_custom_stage *const stages[] = {&alternate};
  const char *const order[] = {"alternate", "min_p", "temperature"};

  struct tombola_error error = {0};
  struct tombola_sampler_params params = {.struct_size = sizeof params};
  check(tombola_sampler_params_default(&params, NULL, &error), &error);
  params.custom_stages = stages;
  params.n_custom_stages = 1;
  params.samplers = order;
  params.n_samplers = 3;
  params.seed_mode = TOMBOLA_SEED_FIXED;
  params.seed = 42;

  const float logits[] = {1.0F, 2.0F, 1.5F, 0.5F, 1.2F, 1.8F, 0.2F, 0.9F};
  const struct tombola_row row = {logits, 8, TOMBOLA_F32};
  tombola_sampler *sampler;
  check(tombola_sampler_new(&params, NULL, row.count, NULL, &sampler, &error), &error);
  char chain[256];
  tombola_sampler_describe(sampler, chain, sizeof chain);
  printf("%s\n", chain);
  for (int i = 0; i < 12; i++) {
    tombola_token token;
    check(tombola_sampler_sample(sampler, &row, NULL, &token), tombola_sampler_error(sampler));
    check(tombola_sampler_accept(sampler, token), tombola_sampler_error(sampler));
    printf("%d ", (int)token);
  }
  printf("\n");
  tombola_sampler_free(sampler);
  return 0;
}
