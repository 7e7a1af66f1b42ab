/* SPDX-License-Identifier: Apache-2.0 */
/* A toy model for the session's tests: of 17 tokens, the next one is the sum of all tokens before it,
 * modulo 17. So a single stale or missing token in the cache gives another answer. It writes down what it is
 * asked to run, and fails when it is told to. */
#ifndef TESTS_TOY_H
#define TESTS_TOY_H

#include <string.h>
#include <tombola/model.h>

#include "support.h"

#define TOY_VOCAB     17
#define TOY_CONTEXT   64
#define TOY_SEQUENCES 2
#define TOY_CALLS     128

struct toy {
  tombola_vocabulary *vocabulary;
  tombola_token cells[TOY_SEQUENCES][TOY_CONTEXT];
  size_t length[TOY_SEQUENCES];
  float rows[TOY_CONTEXT][TOY_VOCAB];
  int asked[TOY_CONTEXT];
  size_t context, batch;

  size_t calls;            /* decode calls that succeeded */
  size_t sizes[TOY_CALLS]; /* and their sizes */
  size_t rows_asked;       /* rows, in all of them */
  size_t removes, copies;
  size_t fail_in;     /* 1: the next decode call fails, 2: the one after it; 0: none */
  int all_or_nothing; /* 1: only a whole sequence can be removed, as with a recurrent state */
  int spells_d;       /* 1: any text is the token "d" */
  int end;            /* the token that ends an answer, or -1 */
};

/* What the next toy is made of; a backend's load() has no other way to be told. */
static struct toy toy_next = {.context = TOY_CONTEXT, .batch = TOY_CONTEXT, .end = -1};

static void toy_free(void *self) {
  struct toy *toy = self;
  tombola_vocabulary_free(toy->vocabulary);
  free(toy);
}

static void toy_info(void *self, struct tombola_model_info *info) {
  const struct toy *toy = self;
  info->name = "toy";
  info->device = "toy";
  info->context = toy->context;
  info->sequences = TOY_SEQUENCES;
  info->batch = toy->batch;
}

static const tombola_vocabulary *toy_vocabulary(void *self) {
  return ((const struct toy *)self)->vocabulary;
}

static enum tombola_status toy_tokenize(void *self, const char *text, size_t length, unsigned flags,
                                        tombola_token *tokens, size_t capacity, size_t *count,
                                        struct tombola_error *error) {
  (void)text, (void)length, (void)flags, (void)error;
  if (!((const struct toy *)self)->spells_d) return TOMBOLA_UNSUPPORTED;
  *count = 1;
  if (capacity == 0) return TOMBOLA_OUT_OF_RANGE;
  tokens[0] = 3;
  return TOMBOLA_OK;
}

static enum tombola_status toy_template(void *self, const char *chat_template,
                                        const struct tombola_chat_message *messages, size_t n_messages,
                                        int add_assistant, char *text, size_t capacity, size_t *length,
                                        struct tombola_error *error) {
  (void)self, (void)chat_template, (void)messages, (void)n_messages, (void)add_assistant, (void)text,
      (void)capacity;
  (void)length, (void)error;
  return TOMBOLA_UNSUPPORTED;
}

static tombola_token toy_sum(const tombola_token *tokens, size_t count) {
  tombola_token sum = 0;
  for (size_t i = 0; i < count; i++)
    sum = (sum + tokens[i]) % TOY_VOCAB;
  return sum;
}

static enum tombola_status toy_decode(void *self, const struct tombola_batch_item *items, size_t count,
                                      struct tombola_error *error) {
  struct toy *toy = self;
  if (toy->fail_in > 0 && --toy->fail_in == 0) {
    if (error) *error = (struct tombola_error){.status = TOMBOLA_MODEL, .message = "the toy broke"};
    return TOMBOLA_MODEL;
  }
  for (size_t i = 0; i < count; i++) {
    size_t *length = &toy->length[items[i].sequence];
    if ((size_t)items[i].position != *length) return TOMBOLA_INVALID_ARGUMENT;
    toy->cells[items[i].sequence][(*length)++] = items[i].token;
    toy->asked[i] = items[i].want_logits;
    toy->rows_asked += items[i].want_logits != 0;
    memset(toy->rows[i], 0, sizeof toy->rows[i]);
    toy->rows[i][toy_sum(toy->cells[items[i].sequence], *length)] = 1.0F;
  }
  if (toy->calls < TOY_CALLS) toy->sizes[toy->calls] = count;
  toy->calls++;
  return TOMBOLA_OK;
}

static enum tombola_status toy_logits(void *self, size_t item, struct tombola_row *row) {
  struct toy *toy = self;
  if (!toy->asked[item]) return TOMBOLA_INVALID_ARGUMENT;
  *row = (struct tombola_row){toy->rows[item], TOY_VOCAB, TOMBOLA_F32};
  return TOMBOLA_OK;
}

static enum tombola_status toy_remove(void *self, int32_t sequence, int32_t from, int32_t to) {
  struct toy *toy = self;
  toy->removes++;
  if (to >= 0 || (toy->all_or_nothing && from > 0)) return TOMBOLA_UNSUPPORTED;
  if ((size_t)from < toy->length[sequence]) toy->length[sequence] = (size_t)from;
  return TOMBOLA_OK;
}

static const struct tombola_model_ops toy_ops = {.struct_size = sizeof toy_ops,
                                                 .free = toy_free,
                                                 .info = toy_info,
                                                 .vocabulary = toy_vocabulary,
                                                 .tokenize = toy_tokenize,
                                                 .apply_template = toy_template,
                                                 .decode = toy_decode,
                                                 .logits = toy_logits,
                                                 .remove = toy_remove};

static struct toy *toy_last; /* the one that was loaded last */

static enum tombola_status toy_load(const char *path, const struct tombola_model_params *params,
                                    const struct tombola_model_ops **ops, void **self,
                                    struct tombola_error *error) {
  (void)path, (void)params;
  static const char bytes[] = "abcdefghijklmnopq";
  size_t offsets[TOY_VOCAB + 1];
  uint8_t flags[TOY_VOCAB] = {0};
  for (size_t i = 0; i <= TOY_VOCAB; i++)
    offsets[i] = i;
  if (toy_next.end >= 0) flags[toy_next.end] = TOMBOLA_TOKEN_END;
  struct toy *toy = malloc(sizeof *toy);
  if (!toy) return TOMBOLA_NO_MEMORY;
  *toy = toy_next;
  struct tombola_vocabulary_source source = {
      .struct_size = sizeof source, .count = TOY_VOCAB, .bytes = bytes, .offsets = offsets, .flags = flags};
  enum tombola_status status = tombola_vocabulary_new(&source, NULL, &toy->vocabulary, error);
  if (status != TOMBOLA_OK) {
    free(toy);
    return status;
  }
  toy_last = toy;
  *ops = &toy_ops;
  *self = toy;
  return TOMBOLA_OK;
}

/* A toy model; `end` < 0: nothing ends its answers. */
static tombola_model *toy_model(size_t context, size_t batch, int end) {
  static const struct tombola_backend backend = {"toy", NULL, toy_load};
  const struct tombola_backend *backends = &backend;
  tombola_model *model;
  memset(&toy_next, 0, sizeof toy_next);
  toy_next.context = context;
  toy_next.batch = batch;
  toy_next.end = end;
  assert_int_equal(tombola_model_load(&backends, 1, "/dev/null", NULL, &model, NULL), TOMBOLA_OK);
  return model;
}

#endif
