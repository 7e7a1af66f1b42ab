/* SPDX-License-Identifier: Apache-2.0 */
/* Where options come from beside the command line: the environment, presets, what the model recommends. Each source
 * gives assignments; options.c applies them from the weakest to the strongest. */
#ifndef TOMBOLA_PROGRAMS_OPTIONS_SOURCES_H
#define TOMBOLA_PROGRAMS_OPTIONS_SOURCES_H

#include "options.h"

/* One value that a source gives to an option. */
struct assignment {
  struct option option;
  size_t index;      /* of the option */
  const char *text;  /* the value, NULL for an option without one */
  const char *given; /* how the source spells the option, for messages */
  enum option_origin origin;
};

struct assignments {
  struct assignment *list;
  size_t count;
};

/* False: no memory. */
bool assignments_add(struct assignments *assignments, const struct assignment *assignment);

/* The last text that a list gives to the option of this name, or NULL. */
const char *assignments_text(const struct assignments *assignments, const char *name);

/* Keeps a text until the options are freed; takes it over. NULL: no memory. */
const char *options_own(struct options *options, char *text);

/* A flag of llama-cli's that isn't an option here: how many arguments it takes where it asks for what is done anyway, 0
 * after a complaint, -1 where it is none of them. */
int foreign_take(const struct command *command, int argc, char **argv, int *exit_status);

/* Each returns the exit status, after a complaint when that isn't EXIT_OK. Texts live as long as `options`. */
int collect_environment(struct assignments *assignments, struct options *options);
int collect_preset(struct assignments *assignments, struct options *options, const char *preset);
int collect_recommended(struct assignments *assignments, struct options *options, const char *model);

#endif
