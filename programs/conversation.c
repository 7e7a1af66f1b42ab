/* SPDX-License-Identifier: Apache-2.0 */
#include "conversation.h"
#include "terminal.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- messages ---- */

bool conversation_add(struct conversation *conversation, const char *role, const char *content) {
  size_t size = (conversation->count + 1) * sizeof(*conversation->messages);
  struct tombola_chat_message *messages = realloc(conversation->messages, size);
  char *copy = strdup(content);
  if (messages) conversation->messages = messages;
  if (!messages || !copy) {
    free(copy);
    return false;
  }
  messages[conversation->count++] = (struct tombola_chat_message){role, copy};
  return true;
}

static void drop_messages(struct conversation *conversation, size_t count) {
  while (conversation->count > count)
    free((void *)(uintptr_t)conversation->messages[--conversation->count].content);
}

/* The tokens no longer are the beginning of the next prompt. */
static void forget_tokens(struct conversation *conversation) {
  text_cut(&conversation->text, 0);
  conversation->tokens.count = 0;
}

bool conversation_set_system(struct conversation *conversation, const char *text) {
  struct tombola_chat_message *messages;
  bool has = conversation->count > 0 && strcmp(conversation->messages[0].role, "system") == 0;
  forget_tokens(conversation);
  if (!has && !text) return true;
  if (text && !conversation_add(conversation, "system", text)) return false;
  messages = conversation->messages;
  if (text) { /* from the end to the beginning */
    struct tombola_chat_message added = messages[conversation->count - 1];
    memmove(messages + 1, messages, (conversation->count - 1) * sizeof(*messages));
    messages[0] = added;
  }
  if (!has) return true;
  free((void *)(uintptr_t)messages[text != NULL].content);
  conversation->count--;
  memmove(messages + (text != NULL), messages + (text != NULL) + 1,
          (conversation->count - (text != NULL)) * sizeof(*messages));
  return true;
}

bool conversation_can_undo(const struct conversation *conversation) {
  size_t count = conversation->count;
  return count >= 2 && strcmp(conversation->messages[count - 1].role, "assistant") == 0 &&
         strcmp(conversation->messages[count - 2].role, "user") == 0;
}

bool conversation_undo(struct conversation *conversation) {
  if (!conversation_can_undo(conversation)) return false;
  drop_messages(conversation, conversation->count - 2);
  forget_tokens(conversation);
  return true;
}

bool conversation_start(struct conversation *conversation, const struct engine *engine) {
  const char *system = engine->options->system;
  conversation_free(conversation);
  return !system || conversation_add(conversation, "system", system);
}

void conversation_free(struct conversation *conversation) {
  drop_messages(conversation, 0);
  free(conversation->messages);
  text_free(&conversation->text);
  tokens_free(&conversation->tokens);
  *conversation = (struct conversation){0};
}

/* ---- messages to tokens ---- */

/* Without a chat format an answer continues its question, and the next question begins a line. */
static enum tombola_status render_plain(const struct conversation *conversation, struct text *out) {
  for (size_t i = 0; i < conversation->count; i++) {
    const struct tombola_chat_message *message = &conversation->messages[i];
    bool begins_line = i > 0 && strcmp(message->role, "assistant") != 0;
    if (begins_line && !text_add(out, "\n", 1)) return TOMBOLA_NO_MEMORY;
    if (!text_add_string(out, message->content)) return TOMBOLA_NO_MEMORY;
  }
  return TOMBOLA_OK;
}

static enum tombola_status render(const struct conversation *conversation, const struct engine *engine,
                                  struct text *out, struct tombola_error *error) {
  size_t length = 1024;
  enum tombola_status status = TOMBOLA_OUT_OF_RANGE;
  if (engine->plain) return render_plain(conversation, out);
  for (int attempt = 0; attempt < 2 && status == TOMBOLA_OUT_OF_RANGE; attempt++) {
    if (!text_reserve(out, length)) return TOMBOLA_NO_MEMORY;
    status = tombola_model_apply_template(engine->model, engine->chat_template, conversation->messages,
                                          conversation->count, 1, out->data, out->room - 1, &length, error);
  }
  if (status != TOMBOLA_OK) return status;
  out->length = length;
  out->data[length] = '\0';
  return TOMBOLA_OK;
}

/* Adds the tokens of a text. */
static enum tombola_status tokenize(const struct engine *engine, const char *text, size_t length,
                                    unsigned flags, struct tokens *out, struct tombola_error *error) {
  size_t count = length / 3 + 8;
  enum tombola_status status = TOMBOLA_OUT_OF_RANGE;
  for (int attempt = 0; attempt < 2 && status == TOMBOLA_OUT_OF_RANGE; attempt++) {
    if (!tokens_reserve(out, count)) return TOMBOLA_NO_MEMORY;
    status = tombola_model_tokenize(engine->model, text, length, flags, out->data + out->count,
                                    out->room - out->count, &count, error);
  }
  if (status == TOMBOLA_OK) out->count += count;
  return status;
}

/* Whether the tokens spell exactly this text. A tokeniser may add a space in front of what it takes for the
 * beginning of a text, and the middle of a conversation is none. */
static bool spells(const struct engine *engine, const tombola_token *tokens, size_t count, const char *text,
                   size_t length) {
  const tombola_vocabulary *vocabulary = tombola_model_vocabulary(engine->model);
  for (size_t i = 0; i < count; i++) {
    size_t size;
    const char *bytes = tombola_vocabulary_bytes(vocabulary, tokens[i], &size);
    if (!bytes || size > length || memcmp(bytes, text, size) != 0) return false;
    text += size;
    length -= size;
  }
  return length == 0;
}

/* Continues the tokens of the conversation so far. *done stays false where that is not possible. */
static enum tombola_status encode_rest(const struct conversation *conversation, const struct engine *engine,
                                       const struct text *text, struct tokens *out, bool *done,
                                       struct tombola_error *error) {
  const struct tokens *known = &conversation->tokens;
  size_t start = conversation->text.length;
  enum tombola_status status;
  *done = false;
  if (!known->count || !text_starts_with(text, &conversation->text)) return TOMBOLA_OK;
  if (!tokens_add(out, known->data, known->count)) return TOMBOLA_NO_MEMORY;
  status =
      tokenize(engine, text->data + start, text->length - start, TOMBOLA_TOKENIZE_PARSE_SPECIAL, out, error);
  if (status != TOMBOLA_OK) return status;
  *done = spells(engine, out->data + known->count, out->count - known->count, text->data + start,
                 text->length - start);
  if (!*done) out->count = 0;
  return TOMBOLA_OK;
}

/* A format that spells the start token out, and a tokeniser that adds it, together give two. */
static void drop_second_start(const struct engine *engine, struct tokens *tokens) {
  const tombola_vocabulary *vocabulary = tombola_model_vocabulary(engine->model);
  tombola_token *ids = tokens->data;
  if (tokens->count < 2 || ids[0] != ids[1]) return;
  if (!(tombola_vocabulary_flags(vocabulary, ids[0]) & TOMBOLA_TOKEN_SPECIAL)) return;
  tokens->count--;
  memmove(ids, ids + 1, tokens->count * sizeof(*ids));
}

/* The prompt of the next answer: the text of all messages, and its tokens. */
static enum tombola_status encode(const struct conversation *conversation, const struct engine *engine,
                                  struct text *text, struct tokens *tokens, struct tombola_error *error) {
  const unsigned whole = TOMBOLA_TOKENIZE_ADD_SPECIAL | TOMBOLA_TOKENIZE_PARSE_SPECIAL;
  bool done;
  enum tombola_status status = render(conversation, engine, text, error);
  if (status == TOMBOLA_OK) status = encode_rest(conversation, engine, text, tokens, &done, error);
  if (status != TOMBOLA_OK || done) return status;
  status = tokenize(engine, text->data, text->length, whole, tokens, error);
  if (status == TOMBOLA_OK) drop_second_start(engine, tokens);
  return status;
}

/* ---- one answer ---- */

static void end_turn(struct turn *turn, enum turn_end end, int exit_status) {
  turn->end = end;
  turn->exit_status = exit_status;
}

/* Whether the answer's tokens spell more than the answer, which the next prompt will not repeat: reasoning, or a stop
 * string. Then they are no beginning of it. */
static bool says_more(const struct turn *turn) {
  return turn->reasoning.length || turn->stats.reasoning || turn->stats.stop == TOMBOLA_STOP_STOP_STRING;
}

/* The answer becomes part of the conversation. A message is a C string, so a NUL in an answer is left out of
 * it. */
static bool keep(struct conversation *conversation, struct text *text, struct tokens *prompt,
                 struct turn *turn) {
  struct text content = {NULL, 0, 0};
  bool good = text_reserve(&content, turn->answer.length);
  for (size_t i = 0; good && i < turn->answer.length; i++)
    if (turn->answer.data[i]) good = text_add(&content, turn->answer.data + i, 1);
  good = good && conversation_add(conversation, "assistant", content.data);
  if (!says_more(turn))
    good = good && text_add(text, content.data, content.length) &&
           tokens_add(prompt, turn->tokens.data, turn->tokens.count);
  text_free(&content);
  if (!good) return false;
  text_free(&conversation->text);
  tokens_free(&conversation->tokens);
  conversation->text = *text;
  conversation->tokens = *prompt;
  *text = (struct text){NULL, 0, 0};
  *prompt = (struct tokens){NULL, 0, 0};
  return true;
}

static void too_long(const struct engine *engine, size_t count, struct turn *turn) {
  end_turn(turn, TURN_TOO_LONG, EXIT_FAILED);
  if (engine->options->command->bit == COMMAND_CHAT && !engine->options->prompt && !engine->options->file)
    complain("this was not asked: the conversation would be %zu tokens long and the context holds %zu. "
             "/reset starts again, a larger --ctx holds more",
             count, engine->info.context);
  else
    complain("the prompt is %zu tokens long and the context holds %zu; a larger --ctx holds more", count,
             engine->info.context);
}

/* Whether the chat format opens the reasoning for the model: what stands behind the question says it, so that a
 * question about a marker doesn't. */
static bool opens_reasoning(const struct engine *engine, const struct text *text, const char *question) {
  const struct options *options = engine->options;
  const char *tail = NULL;
  const char *at = text->data;
  size_t length;
  if (engine->plain || !at) return false;
  question += strspn(question, " \t\r\n"); /* formats trim */
  length = strlen(question);
  while (length && strchr(" \t\r\n", question[length - 1]))
    length--;
  for (; length && (at = strchr(at, question[0])); at++)
    if (strncmp(at, question, length) == 0) tail = at + length;
  return tail && tombola_text_prompt_opens(tail, strlen(tail), options->think_open, options->think_close);
}

/* How many tokens a shift of the context spares: those of the system message, else the start token. */
static size_t spared(const struct conversation *conversation, const struct engine *engine, const struct tokens *prompt) {
  const tombola_vocabulary *vocabulary = tombola_model_vocabulary(engine->model);
  const unsigned whole = TOMBOLA_TOKENIZE_ADD_SPECIAL | TOMBOLA_TOKENIZE_PARSE_SPECIAL;
  struct conversation system = {.messages = conversation->messages, .count = 1};
  struct text text = {NULL, 0, 0};
  struct tokens tokens = {NULL, 0, 0};
  size_t same = 0;
  if (prompt->count && tombola_vocabulary_flags(vocabulary, prompt->data[0]) & TOMBOLA_TOKEN_SPECIAL) same = 1;
  if (conversation->count > 1 && strcmp(conversation->messages[0].role, "system") == 0 &&
      render(&system, engine, &text, NULL) == TOMBOLA_OK &&
      tokenize(engine, text.data, text.length, whole, &tokens, NULL) == TOMBOLA_OK) {
    drop_second_start(engine, &tokens);
    for (same = 0; same < tokens.count && same < prompt->count && tokens.data[same] == prompt->data[same];)
      same++;
  }
  text_free(&text);
  tokens_free(&tokens);
  return same + 2 < engine->info.context ? same : 0;
}

/* Makes the prompt; with --context-shift the oldest turns are forgotten until it fits. *turns counts them. */
static enum tombola_status encode_fitting(struct conversation *conversation, const struct engine *engine,
                                          struct text *text, struct tokens *prompt, size_t *turns,
                                          struct tombola_error *error) {
  enum tombola_status status = encode(conversation, engine, text, prompt, error);
  while (status == TOMBOLA_OK && engine->options->context_shift && prompt->count > engine->info.context) {
    size_t first = strcmp(conversation->messages[0].role, "system") == 0;
    if (conversation->count < first + 3) break;
    for (size_t i = first; i < first + 2; i++)
      free((void *)(uintptr_t)conversation->messages[i].content);
    conversation->count -= 2;
    memmove(conversation->messages + first, conversation->messages + first + 2,
            (conversation->count - first) * sizeof(*conversation->messages));
    conversation->tokens.count = 0;
    text->length = 0;
    prompt->count = 0;
    ++*turns;
    status = encode(conversation, engine, text, prompt, error);
  }
  return status;
}

void conversation_ask(struct conversation *conversation, struct engine *engine, const char *question,
                      struct turn *turn) {
  size_t forgotten = 0;
  struct text text = {NULL, 0, 0};
  struct tokens prompt = {NULL, 0, 0};
  struct question asked = {.prompt = &prompt};
  struct tombola_error error = {0};
  enum tombola_status status = TOMBOLA_NO_MEMORY;
  *turn = (struct turn){.end = TURN_FAILED, .exit_status = EXIT_FAILED};
  bool added = conversation_add(conversation, "user", question);
  if (added) status = encode_fitting(conversation, engine, &text, &prompt, &forgotten, &error);
  if (forgotten) note("the context is full: the oldest turns are forgotten (%zu)", forgotten);
  if (status != TOMBOLA_OK) {
    complain("%s", error.message[0] ? error.message : tombola_status_text(status));
  } else if (prompt.count > engine->info.context) {
    too_long(engine, prompt.count, turn);
  } else {
    asked.opens_reasoning = opens_reasoning(engine, &text, question);
    if (engine->options->context_shift) asked.keep = spared(conversation, engine, &prompt);
    generate(engine, &asked, turn);
  }
  size_t before = conversation->count - added;
  if (turn->end > TURN_STOPPED) {
    drop_messages(conversation, before);
  } else if (!keep(conversation, &text, &prompt, turn)) {
    drop_messages(conversation, before);
    end_turn(turn, TURN_FAILED, complain("out of memory"));
  }
  text_free(&text);
  tokens_free(&prompt);
}

void conversation_ask_again(struct conversation *conversation, struct engine *engine, struct turn *turn) {
  struct tombola_chat_message *last = conversation->messages + conversation->count - 2;
  char *question = strdup(last[0].content), *answer = strdup(last[1].content);
  *turn = (struct turn){.end = TURN_FAILED, .exit_status = EXIT_FAILED};
  if (!question || !answer) {
    complain("out of memory");
  } else {
    conversation_undo(conversation);
    conversation_ask(conversation, engine, question, turn);
    if (turn->end > TURN_STOPPED && (!conversation_add(conversation, "user", question) ||
                                     !conversation_add(conversation, "assistant", answer)))
      complain("out of memory");
  }
  free(question);
  free(answer);
}
