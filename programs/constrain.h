/* SPDX-License-Identifier: Apache-2.0 */
/* The constraint of answers: from the options to a grammar and its matcher. */
#ifndef TOMBOLA_PROGRAMS_CONSTRAIN_H
#define TOMBOLA_PROGRAMS_CONSTRAIN_H

#include <tombola/constraint.h>

#include "engine.h"
#include "text.h"

/* Whether the options ask for one constraint at most, and for nothing that goes with none. Returns the exit status after
 * a complaint. */
int constrain_check(const struct options *options);

/* The engine's trie, grammar and matcher, when the options ask for a constraint; says what a lenient schema leaves out.
 * Returns the exit status after a complaint. */
int constrain_make(struct engine *engine);
void constrain_free(struct engine *engine);

/* Whether an answer that has ended so is a whole one. Without a constraint every one is. */
bool constrain_is_whole(const struct engine *engine, const struct text *answer, enum tombola_stop stop);

/* What the options say about JSON, for a grammar's source. */
void constrain_json_options(const struct options *options, struct tombola_grammar_source *source);

/* Reads a file whole; "-" is standard input. Returns the exit status after a complaint. */
int constrain_read(const char *path, struct text *text);

/* Notes, one a keyword, what a lenient grammar doesn't enforce. */
void constrain_note_dropped(const tombola_grammar *grammar);

#endif
