/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOMBOLA_PROGRAMS_RUN_H
#define TOMBOLA_PROGRAMS_RUN_H

#include "options.h"

/* Answers the prompt of --prompt, --file or standard input once. Returns the exit status. */
int run_once(struct options *options);

#endif
