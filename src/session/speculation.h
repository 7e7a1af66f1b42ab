/* SPDX-License-Identifier: Apache-2.0 */
/* What the rounds (speculation.c) and the draft model (drafter.c) share. */
#ifndef TOMBOLA_SESSION_SPECULATION_H
#define TOMBOLA_SESSION_SPECULATION_H

#include "session/governor.h"
#include "session/internal.h"

/* The draft model's side. `tokens` mirrors its cache, as the session's list does the target's. */
struct tombola__drafter {
  size_t context, batch, vocab_size;
  tombola_token *tokens;
  size_t count;
  struct tombola_batch_item *items;
  tombola_sampler *sampler; /* a clone of the sampler that it follows, made when it first does */
  float *q;                 /* a distribution of the target's size for each draft */
  void *padded;             /* a row made as long as the target's, for a smaller vocabulary */
};

struct tombola_speculation {
  struct tombola_allocator allocator;
  struct tombola_speculation_params params; /* whole */
  tombola_model *target;
  size_t vocab_size; /* the target's */
  struct tombola__governor governor;
  bool off;           /* for this generation */
  tombola_token *run; /* the token that waits to be run, and the drafts behind it */
  float *p;           /* room for a distribution; NULL without a draft model */
  struct tombola__drafter drafter;
};

/* Whether the draft model can draft for the target. */
enum tombola_status tombola__drafter_check(tombola_model *target,
                                           const struct tombola_speculation_params *params,
                                           struct tombola_error *error);
/* Makes room for drafts of `most` tokens; false: no memory. */
bool tombola__drafter_init(tombola_speculation *s, size_t most);
void tombola__drafter_free(tombola_speculation *s);

/* Drafts up to `most` tokens behind what is taken; how many. A draft model that fails drafts none. */
size_t tombola__drafter_draft(struct tombola__generation *g, tombola_speculation *s, size_t most,
                              tombola_token *draft);
/* What the i-th draft was drawn from; NULL for one from the text. */
const float *tombola__drafter_weights(const tombola_speculation *s, size_t i);

#endif
