/* SPDX-License-Identifier: Apache-2.0 */
/* A conversation: its messages, and the exact tokens that stand for them.
 *
 * The whole conversation is the prompt of every turn, and the session runs only what its cache doesn't hold.
 * For that the tokens of an answer must come back as they were generated: text that is tokenised again need
 * not give the tokens that it was made of. So the tokens are kept, and only what the chat format adds after
 * them is tokenised, as long as the format leaves the earlier text as it was. Where it doesn't, everything is
 * tokenised anew. */
#ifndef TOMBOLA_PROGRAMS_CONVERSATION_H
#define TOMBOLA_PROGRAMS_CONVERSATION_H

#include "generate.h"

struct conversation {
  struct tombola_chat_message *messages; /* contents are owned */
  size_t count;
  struct text text;     /* what the tokens spell, up to the end of the last answer */
  struct tokens tokens; /* empty: nothing was said yet */
};

/* Puts the conversation back to its beginning: the system message, if there is one. False: no memory. */
bool conversation_start(struct conversation *conversation, const struct engine *engine);
void conversation_free(struct conversation *conversation);

/* Adds a message; the role is static. False: no memory. */
bool conversation_add(struct conversation *conversation, const char *role, const char *content);

/* Replaces the system message, NULL for none. False: no memory. */
bool conversation_set_system(struct conversation *conversation, const char *text);

/* Whether the last two messages are a question and its answer; forgets them, false when they aren't. */
bool conversation_can_undo(const struct conversation *conversation);
bool conversation_undo(struct conversation *conversation);

/* Asks the last question again, in place of its answer; when no answer comes the old one stays. There must be one. */
void conversation_ask_again(struct conversation *conversation, struct engine *engine, struct turn *turn);

/* Asks: streams the answer to standard output (not under --json) and says on standard error what went wrong.
 * Free the turn in any case. */
void conversation_ask(struct conversation *conversation, struct engine *engine, const char *question,
                      struct turn *turn);

#endif
