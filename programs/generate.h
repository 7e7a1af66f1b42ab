/* SPDX-License-Identifier: Apache-2.0 */
/* One answer: what a session makes of a prompt under the options, streamed to standard output, with the reasoning on
 * standard error. */
#ifndef TOMBOLA_PROGRAMS_GENERATE_H
#define TOMBOLA_PROGRAMS_GENERATE_H

#include "engine.h"
#include "text.h"

/* How a turn ended. Only with the first two it is part of the conversation. */
enum turn_end {
  TURN_ANSWERED,
  TURN_STOPPED,     /* by Ctrl-C; the answer so far counts */
  TURN_INTERRUPTED, /* by Ctrl-C, before there was an answer */
  TURN_TOO_LONG,    /* the conversation doesn't fit the context */
  TURN_FAILED       /* a complaint was made, or standard output is closed */
};

/* The log-probabilities of a token. */
struct record {
  tombola_token token;
  bool known; /* false for a token that was forced */
  float logprob;
  size_t first, count; /* of the turn's `likely` */
};

struct turn {
  enum turn_end end;
  int exit_status; /* what `run` ends with */
  struct text answer;
  struct text reasoning;
  struct tokens tokens; /* of both */
  struct record *records; /* with --logprobs, one a token */
  size_t n_records;
  struct tombola_logprob *likely;
  size_t n_likely;
  bool whole;     /* under a constraint: a whole text of it, not cut; else true */
  double seconds; /* of the whole generation */
  struct tombola_generation_stats stats;
};

/* What is asked. */
struct question {
  const struct tokens *prompt;
  size_t keep;           /* tokens at its beginning that a shift of the context spares */
  bool opens_reasoning;  /* the chat format has opened the reasoning already */
};

/* Fills the turn, whose end must be set: streams the answer (not under --json) and says on standard error what went
 * wrong. */
void generate(const struct engine *engine, const struct question *question, struct turn *turn);
void turn_free(struct turn *turn);

/* A token's time that neither the forward pass nor the sampler nor the drafts took: text, and its output. */
double turn_text_seconds(const struct turn *turn);

/* The answer as one line of JSON, and its statistics alone; NULL: no memory. Freed by the caller. */
char *turn_json(const struct turn *turn, const struct engine *engine);
char *turn_stats_json(const struct turn *turn, const struct engine *engine);

/* One line of --trace for a token: milliseconds since the one before. NULL: no memory. */
char *token_json(const struct tombola_token_event *event, const struct engine *engine, double milliseconds);

/* Why the answer ended, the precise cause. */
const char *turn_stop_reason(const struct turn *turn);

/* Whether a limit cut an answer that its constraint wanted more of; a stop string is no limit. */
bool turn_is_cut(const struct turn *turn);

/* The same in words, for a message. */
void turn_say_cut(const struct turn *turn, char *text, size_t size);

/* The statistics on standard error. */
void turn_report(const struct turn *turn, const struct engine *engine);

#endif
