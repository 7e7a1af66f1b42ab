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

/* tombola_grammar_new(), which blames the plain spelling for a schema without any value only where another one helps. */
enum tombola_status constrain_compile(const struct tombola_grammar_source *source, const tombola_trie *trie,
                                      tombola_grammar **grammar, struct tombola_schema_verdict *verdict,
                                      struct tombola_error *error);

/* Where the source's schema stands in a response format or the definition of a tool, as requests to OpenAI, Anthropic,
 * llama.cpp and ollama have them, takes it out, into `room`, and says so; the source may point into `room` before. `name`
 * is for the note; *pointer is where it stood, static, or NULL. Returns the exit status after a complaint. */
int constrain_unwrap(struct tombola_grammar_source *source, const char *name, struct text *room,
                     const char **pointer);

/* The first CONSTRAIN_NOTES keywords of a schema that say nothing, and how many more there are; freed by the caller. NULL:
 * no memory, and *count is 0. */
enum { CONSTRAIN_NOTES = 16 };
struct tombola_schema_note *constrain_unknown(const struct tombola_grammar_source *source, size_t *count,
                                              size_t *more);
void constrain_note_unknown(const struct tombola_schema_note *notes, size_t count, size_t more);

/* Whether what stands for a schema is the schema itself, and no file's name. */
bool constrain_is_schema(const char *text);

/* Reads a file whole; "-" is standard input. Returns the exit status after a complaint. */
int constrain_read(const char *path, struct text *text);

/* Notes, one a keyword, what a lenient grammar doesn't enforce. */
void constrain_note_dropped(const tombola_grammar *grammar);

#endif
