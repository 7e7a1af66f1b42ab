/* SPDX-License-Identifier: Apache-2.0 */
/* What `run` and `chat` share: a loaded model with its session and sampler, made as the options say. */
#ifndef TOMBOLA_PROGRAMS_ENGINE_H
#define TOMBOLA_PROGRAMS_ENGINE_H

#include "options.h"

#include <stdio.h>
#include <tombola/session.h>

struct engine {
  const struct options *options;
  tombola_model *model;
  tombola_session *session;
  tombola_sampler *sampler;
  tombola_sampler *answer_sampler; /* after the reasoning, or NULL: the same */
  tombola_model *draft; /* or NULL */
  tombola_speculation *speculation; /* or NULL */
  FILE *trace;          /* of --trace, or NULL */
  struct tombola_model_info info;
  tombola_trie *trie;          /* of a constraint, or NULL */
  tombola_grammar *grammar;
  tombola_matcher *matcher;    /* or NULL: answers are free */
  const char *chat_template; /* what tombola_model_apply_template gets */
  bool plain;                /* no chat format: the texts are completed as they are */
};

/* Loads the model (with a progress bar), decides on the chat format and says what computes. Returns the exit
 * status after a complaint. Free the engine either way. */
int engine_start(struct engine *engine, struct options *options);
/* Loads the model that the options name, or the default one, and nothing else. */
int engine_load_model(const struct options *options, tombola_model **model);
/* Makes the samplers again after a change of the options; the old ones stay when that fails. Returns the exit status
 * after a complaint. */
int engine_renew_sampler(struct engine *engine, struct options *options);

/* Ends the trace, and keeps the cache where --prompt-cache says. Returns the exit status. */
int engine_finish(struct engine *engine);
void engine_free(struct engine *engine);

#endif
