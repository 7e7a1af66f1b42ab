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

struct turn {
  enum turn_end end;
  int exit_status; /* what `run` ends with */
  struct text answer;
  struct text reasoning;
  struct tokens tokens; /* of both */
  double seconds;       /* of the whole generation */
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

/* The statistics on standard error. */
void turn_report(const struct turn *turn, const struct engine *engine);

#endif
