/* SPDX-License-Identifier: Apache-2.0 */
/* Stages of a caller's own: a name, and functions that change a list of candidates. Put it into
 * tombola_sampler_params.custom_stages and name it in `samplers`. examples/custom_stage.c adds one. */
#ifndef TOMBOLA_STAGE_H
#define TOMBOLA_STAGE_H

#include <tombola/sampler.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a custom stage is given: every candidate that is left, by id or ranked (as the chain left them), with
 * its effective logit and its probability. A logit of -inf takes an entry out as well. The sampling ends with
 * NOT_FINITE for a logit of NaN or +inf, with INVALID_ARGUMENT for an id outside the vocabulary or more
 * entries than were given, and with NO_CANDIDATE when none is left. */
struct tombola_stage_view {
  size_t struct_size;
  struct tombola_candidate *candidates; /* change logits, or take entries out by moving the others up;
                                           no id may stand there twice */
  size_t count;                         /* lower it when entries were taken out; at least 1 must stay */
  const tombola_token *history;         /* the last tokens, oldest first */
  size_t n_history;
};

struct tombola_custom_stage {
  size_t struct_size;
  const char *name; /* must not be a built-in stage's */
  void *context;    /* the caller's; must outlive every sampler that uses the stage */
  size_t
      state_size; /* bytes of plain memory that each sampler keeps for the stage, zeroed at the beginning */
  size_t history; /* tokens of history that it wants to see */
  /* Called for each row; a status other than OK ends the sampling with that status. Must not allocate if the
   * sampler isn't to, and must be the same function of its inputs each time. */
  enum tombola_status (*apply)(void *context, void *state, struct tombola_stage_view *view);
  /* Told each token that was taken, or NULL. */
  void (*accept)(void *context, void *state, tombola_token token);
};

#ifdef __cplusplus
}
#endif
#endif
