/* SPDX-License-Identifier: Apache-2.0 */
/* The scripted model: plays rows back instead of computing them, for tests, replay and examples
 * (docs/script.md).
 *
 * Each sequence is a list of cells, one a position. A cell knows its token and its step, the number of answer
 * tokens up to and including it: 0 for a token of a prompt, else one more than the cell before. A token is an
 * answer's when the logits before it were asked for, as whoever samples must, and tombola_model_begin()
 * hasn't said that it belongs to a prompt. The step is settled when the token is run and stays with the cell,
 * so that a rollback, a fork, a shift and a batch of drafts find what a token-by-token run would have found.
 */
#define _POSIX_C_SOURCE 200809L
#include "model/scripted.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define DEFAULT_CONTEXT 4096
#define DEFAULT_BATCH   512
#define HASHED_TOKENS   4
#define MAX_POSITIONS   ((size_t)1 << 24) /* of all sequences together; a bound on memory */

struct cell {
  tombola_token token; /* TOMBOLA_NO_TOKEN: nothing here */
  int32_t step;
  bool asked; /* its logits were asked for */
};

struct sequence {
  struct cell *cells; /* as many as the context has positions */
  size_t length;      /* one more than the last position that is taken */
  size_t prompt;      /* tokens that are run before this position are a prompt's */
};

struct scripted {
  struct tombola__script script;
  struct sequence *sequences;
  size_t n_sequences, context, batch;
  char *name;
  int32_t *slots; /* for each item of the last batch where its row is, or -1 */
  size_t n_items; /* of the last batch; 0 after a failed one */
  float *rows;
  size_t row_capacity;
  bool has_failed; /* fail_at has done its work */
};

/* ---- rows ---- */

/* The finaliser of splitmix64 (Steele, Lea, Flood 2014) after one step of its counter. */
static uint64_t mix(uint64_t z) {
  z += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* 24 bits of a hash of (seed, last four tokens, id), scaled to [-8, 8): exact in a float, the same on every
 * machine. */
static void hash_row(const struct scripted *model, const struct sequence *sequence, size_t position,
                     float *row) {
  uint64_t last[HASHED_TOKENS] = {0}; /* newest first; a token that isn't there is 0, token i is i + 1 */
  size_t found = 0;
  for (size_t i = position + 1; i-- > 0 && found < HASHED_TOKENS;) {
    if (sequence->cells[i].token != TOMBOLA_NO_TOKEN) last[found++] = (uint64_t)sequence->cells[i].token + 1;
  }
  uint64_t hash = model->script.hash;
  for (size_t i = HASHED_TOKENS; i-- > 0;)
    hash = mix(hash ^ last[i]);
  for (size_t id = 0; id < model->script.vocab_size; id++)
    row[id] = (float)(mix(hash + id) >> 40) * 0x1p-20F - 8.0F;
}

static void favour(const struct scripted *model, tombola_token token, float *row) {
  memset(row, 0, model->script.vocab_size * sizeof *row);
  row[token] = 10.0F;
}

/* The row of a position, by the order of the rules in docs/script.md. */
static void make_row(const struct scripted *model, const struct sequence *sequence, size_t position,
                     float *row) {
  const struct tombola__script *script = &model->script;
  const struct cell *cell = &sequence->cells[position];
  const struct tombola__script_row *given = NULL;
  size_t step = (size_t)cell->step;
  if (script->by_last && script->by_last[cell->token] >= 0) {
    given = &script->last_rows[script->by_last[cell->token]];
  } else if (step < script->n_steps) {
    given = &script->steps[step];
  } else if (script->has_hash) {
    hash_row(model, sequence, position, row);
    return;
  } else if (script->repeats) {
    given = &script->steps[step % script->n_steps];
  }
  if (given && given->logits) {
    memcpy(row, given->logits, script->vocab_size * sizeof *row);
  } else {
    favour(model, given ? given->favoured : script->first_end, row);
  }
}

/* ---- the forward pass ---- */

/* A signal doesn't make a forward pass shorter, so the sleep goes on after one. */
static void delay(int milliseconds) {
  struct timespec rest = {milliseconds / 1000, (milliseconds % 1000) * 1000000L};
  while (milliseconds > 0 && nanosleep(&rest, &rest) != 0 && errno == EINTR)
    continue;
}

static enum tombola_status reserve_rows(struct scripted *model, const struct tombola_batch_item *items,
                                        size_t count, struct tombola_error *error) {
  size_t asked = 0, floats;
  for (size_t i = 0; i < count; i++)
    asked += items[i].want_logits != 0;
  if (asked <= model->row_capacity) return TOMBOLA_OK;
  const struct tombola_allocator *allocator = &model->script.allocator;
  if (!tombola__multiply(asked, model->script.vocab_size, &floats)) return tombola__no_memory(error);
  float *rows = tombola__new(allocator, floats, sizeof *rows);
  if (!rows) return tombola__no_memory(error);
  tombola__free(allocator, model->rows);
  model->rows = rows;
  model->row_capacity = asked;
  return TOMBOLA_OK;
}

static enum tombola_status run_item(struct scripted *model, const struct tombola_batch_item *item,
                                    struct tombola_error *error) {
  struct sequence *sequence = &model->sequences[item->sequence];
  size_t position = (size_t)item->position;
  if (position != sequence->length)
    return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "position",
                         "position %zu of sequence %d doesn't follow: the next one is %zu", position,
                         (int)item->sequence, sequence->length);
  const struct cell *before = position > 0 ? &sequence->cells[position - 1] : NULL;
  bool answers = before && before->asked && position >= sequence->prompt;
  int32_t step = answers ? before->step + 1 : 0;
  if (item->want_logits && step == model->script.fail_at && !model->has_failed) {
    model->has_failed = true;
    return tombola__fail(error, TOMBOLA_MODEL, "fail_at", "the script makes the forward pass of step %d fail",
                         (int)step);
  }
  sequence->cells[position] = (struct cell){item->token, step, item->want_logits != 0};
  sequence->length++;
  return TOMBOLA_OK;
}

/* Takes back the first `count` items of a batch that failed; each was at the end of its sequence. */
static void take_back(struct scripted *model, const struct tombola_batch_item *items, size_t count) {
  while (count-- > 0) {
    struct sequence *sequence = &model->sequences[items[count].sequence];
    sequence->cells[--sequence->length].token = TOMBOLA_NO_TOKEN;
  }
}

static enum tombola_status scripted_decode(void *self, const struct tombola_batch_item *items, size_t count,
                                           struct tombola_error *error) {
  struct scripted *model = self;
  model->n_items = 0;
  enum tombola_status status = reserve_rows(model, items, count, error);
  if (status != TOMBOLA_OK) return status;
  delay(model->script.delay_ms);
  size_t slot = 0;
  for (size_t i = 0; i < count; i++) {
    status = run_item(model, &items[i], error);
    if (status != TOMBOLA_OK) {
      take_back(model, items, i);
      return status;
    }
    model->slots[i] = -1;
    if (!items[i].want_logits) continue;
    make_row(model, &model->sequences[items[i].sequence], (size_t)items[i].position,
             model->rows + slot * model->script.vocab_size);
    model->slots[i] = (int32_t)slot++;
  }
  model->n_items = count;
  return TOMBOLA_OK;
}

static enum tombola_status scripted_logits(void *self, size_t item, struct tombola_row *row) {
  struct scripted *model = self;
  if (item >= model->n_items || model->slots[item] < 0) return TOMBOLA_INVALID_ARGUMENT;
  size_t size = model->script.vocab_size;
  *row = (struct tombola_row){model->rows + (size_t)model->slots[item] * size, size, TOMBOLA_F32};
  return TOMBOLA_OK;
}

/* ---- the cache ---- */

static void scripted_begin(void *self, int32_t sequence, size_t prompt) {
  struct scripted *model = self;
  model->sequences[sequence].prompt = prompt;
}

/* The end of a range that a caller gave: `to` < 0 is the end, and so is what is beyond it. */
static size_t range_end(const struct sequence *sequence, int32_t to) {
  return to < 0 || (size_t)to > sequence->length ? sequence->length : (size_t)to;
}

static void empty_cells(struct sequence *sequence, size_t from, size_t to) {
  for (size_t i = from; i < to; i++)
    sequence->cells[i].token = TOMBOLA_NO_TOKEN;
}

/* The length again after cells went; the announced prompt, too, is over once its last token has been run or
 * cut. */
static void settle_length(struct sequence *sequence, size_t longest) {
  while (longest > 0 && sequence->cells[longest - 1].token == TOMBOLA_NO_TOKEN)
    longest--;
  sequence->length = longest;
  sequence->prompt = 0;
}

static enum tombola_status scripted_remove(void *self, int32_t sequence, int32_t from, int32_t to) {
  struct scripted *model = self;
  struct sequence *s = &model->sequences[sequence];
  empty_cells(s, (size_t)from, range_end(s, to));
  settle_length(s, s->length);
  return TOMBOLA_OK;
}

static enum tombola_status scripted_copy(void *self, int32_t source, int32_t target, int32_t from,
                                         int32_t to) {
  struct scripted *model = self;
  const struct sequence *s = &model->sequences[source];
  struct sequence *t = &model->sequences[target];
  size_t end = range_end(s, to), start = (size_t)from;
  if (source == target || start >= end) return TOMBOLA_OK;
  memcpy(t->cells + start, s->cells + start, (end - start) * sizeof *t->cells);
  settle_length(t, end > t->length ? end : t->length);
  return TOMBOLA_OK;
}

static enum tombola_status scripted_shift(void *self, int32_t sequence, int32_t from, int32_t to,
                                          int32_t delta) {
  struct scripted *model = self;
  struct sequence *s = &model->sequences[sequence];
  int64_t start = from, end = (int64_t)range_end(s, to);
  if (start >= end || delta == 0) return TOMBOLA_OK;
  if (start + delta < 0 || end + delta > (int64_t)model->context) return TOMBOLA_INVALID_ARGUMENT;
  for (int64_t i = start + delta; i < end + delta; i++) {
    bool own = i >= start && i < end;
    if (!own && s->cells[i].token != TOMBOLA_NO_TOKEN) return TOMBOLA_INVALID_ARGUMENT;
  }
  memmove(s->cells + start + delta, s->cells + start, (size_t)(end - start) * sizeof *s->cells);
  if (delta > 0) {
    empty_cells(s, (size_t)start, (size_t)(start + delta < end ? start + delta : end));
  } else {
    empty_cells(s, (size_t)(end + delta > start ? end + delta : start), (size_t)end);
  }
  size_t longest = (size_t)(delta > 0 ? end + delta : end);
  settle_length(s, longest > s->length ? longest : s->length);
  return TOMBOLA_OK;
}

/* ---- the state ---- */

/* Three numbers a cell, least significant byte first: the token, its step, whether its logits were asked for. */
#define CELL_BYTES 12

static void put_number(unsigned char *bytes, int32_t number) {
  for (int i = 0; i < 4; i++)
    bytes[i] = (unsigned char)((uint32_t)number >> (8 * i));
}

static int32_t get_number(const unsigned char *bytes) {
  uint32_t number = 0;
  for (int i = 0; i < 4; i++)
    number |= (uint32_t)bytes[i] << (8 * i);
  return number <= INT32_MAX ? (int32_t)number : -(int32_t)(UINT32_MAX - number) - 1;
}

static enum tombola_status scripted_state_get(void *self, int32_t sequence, void *data, size_t capacity,
                                              size_t *length, struct tombola_error *error) {
  const struct scripted *model = self;
  const struct sequence *s = &model->sequences[sequence];
  unsigned char *bytes = data;
  *length = s->length * CELL_BYTES;
  if (*length > capacity)
    return tombola__fail(error, TOMBOLA_OUT_OF_RANGE, "capacity", "the state has %zu bytes, there is room for %zu",
                         *length, capacity);
  for (size_t i = 0; i < s->length; i++, bytes += CELL_BYTES) {
    put_number(bytes, s->cells[i].token);
    put_number(bytes + 4, s->cells[i].step);
    put_number(bytes + 8, s->cells[i].asked);
  }
  return TOMBOLA_OK;
}

static bool read_cell(const struct scripted *model, const unsigned char *bytes, struct cell *cell) {
  int32_t token = get_number(bytes), step = get_number(bytes + 4), asked = get_number(bytes + 8);
  *cell = (struct cell){token, step, asked != 0};
  bool hole = token == TOMBOLA_NO_TOKEN;
  return (hole || (token >= 0 && (size_t)token < model->script.vocab_size)) && step >= 0 &&
         (asked == 0 || asked == 1);
}

static enum tombola_status scripted_state_set(void *self, int32_t sequence, const void *data, size_t length,
                                              struct tombola_error *error) {
  struct scripted *model = self;
  struct sequence *s = &model->sequences[sequence];
  const unsigned char *bytes = data;
  size_t count = length / CELL_BYTES;
  struct cell cell;
  bool good = length % CELL_BYTES == 0 && count <= model->context;
  for (size_t i = 0; i < count && good; i++)
    good = read_cell(model, bytes + i * CELL_BYTES, &cell);
  if (!good) return tombola__fail(error, TOMBOLA_FORMAT, "state", "the state is of another script");
  for (size_t i = 0; i < count; i++)
    read_cell(model, bytes + i * CELL_BYTES, &s->cells[i]);
  empty_cells(s, count, s->length);
  settle_length(s, count);
  return TOMBOLA_OK;
}

/* ---- facts and text ---- */

static void scripted_info(void *self, struct tombola_model_info *info) {
  const struct scripted *model = self;
  info->name = model->name;
  info->device = "script (plays back, computes nothing)";
  info->chat_template = model->script.has_template ? "chatml" : NULL;
  info->context = model->context;
  info->trained_context = model->script.context;
  info->sequences = model->n_sequences;
  info->batch = model->batch;
}

static const tombola_vocabulary *scripted_vocabulary(void *self) {
  const struct scripted *model = self;
  return model->script.vocabulary;
}

/* A script has no start token, so ADD_SPECIAL adds nothing. */
static enum tombola_status scripted_tokenize(void *self, const char *text, size_t length, unsigned flags,
                                             tombola_token *tokens, size_t capacity, size_t *count,
                                             struct tombola_error *error) {
  const struct scripted *model = self;
  return tombola__script_tokenize(&model->script, text, length, (flags & TOMBOLA_TOKENIZE_PARSE_SPECIAL) != 0,
                                  tokens, capacity, count, error);
}

static enum tombola_status scripted_apply_template(void *self, const char *chat_template,
                                                   const struct tombola_chat_message *messages,
                                                   size_t n_messages, int add_assistant, char *text,
                                                   size_t capacity, size_t *length,
                                                   struct tombola_error *error) {
  const struct scripted *model = self;
  if (!chat_template && !model->script.has_template)
    return tombola__fail(error, TOMBOLA_NOT_FOUND, "chat_template", "the script has no chat template");
  if (chat_template && strcmp(chat_template, "chatml") != 0)
    return tombola__fail(error, TOMBOLA_NOT_FOUND, "chat_template",
                         "a script has no chat template \"%s\"; there is: chatml", chat_template);
  return tombola__chatml(messages, n_messages, add_assistant != 0, text, capacity, length, error);
}

/* ---- making and freeing ---- */

static void scripted_free(void *self) {
  struct scripted *model = self;
  if (!model) return;
  struct tombola_allocator allocator = model->script.allocator;
  for (size_t i = 0; model->sequences && i < model->n_sequences; i++) /* cells may be NULL */
    tombola__free(&allocator, model->sequences[i].cells);
  tombola__free(&allocator, model->sequences);
  tombola__free(&allocator, model->slots);
  tombola__free(&allocator, model->rows);
  tombola__free(&allocator, model->name);
  tombola__script_free(&model->script);
  tombola__free(&allocator, model);
}

static enum tombola_status choose_sizes(struct scripted *model, const struct tombola_model_params *params,
                                        struct tombola_error *error) {
  size_t own_context = model->script.context > 0 ? model->script.context : DEFAULT_CONTEXT, positions;
  model->context = params->context > 0 ? params->context : own_context;
  model->n_sequences = params->sequences > 0 ? params->sequences : 1;
  model->batch = params->batch > 0 ? params->batch : DEFAULT_BATCH;
  if (!tombola__multiply(model->context, model->n_sequences, &positions) || positions > MAX_POSITIONS)
    return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "context",
                         "%zu sequences of %zu positions; a script can have at most %zu positions in all",
                         model->n_sequences, model->context, MAX_POSITIONS);
  if (model->batch > positions) model->batch = positions;
  return TOMBOLA_OK;
}

static enum tombola_status make_parts(struct scripted *model, const char *path, struct tombola_error *error) {
  const struct tombola_allocator *allocator = &model->script.allocator;
  const char *slash = strrchr(path, '/');
  const char *name = slash ? slash + 1 : path;
  model->name = tombola__new(allocator, strlen(name) + 1, 1);
  model->slots = tombola__new(allocator, model->batch, sizeof *model->slots);
  model->sequences = tombola__new(allocator, model->n_sequences, sizeof *model->sequences);
  model->rows = tombola__new(allocator, model->script.vocab_size, sizeof *model->rows);
  if (!model->name || !model->slots || !model->sequences || !model->rows) return tombola__no_memory(error);
  strcpy(model->name, name);
  model->row_capacity = 1;
  for (size_t i = 0; i < model->n_sequences; i++) {
    struct sequence *sequence = &model->sequences[i];
    sequence->cells = tombola__new(allocator, model->context, sizeof *sequence->cells);
    if (!sequence->cells) return tombola__no_memory(error);
    empty_cells(sequence, 0, model->context);
  }
  return TOMBOLA_OK;
}

static const struct tombola_model_ops scripted_ops = {.struct_size = sizeof scripted_ops,
                                                      .free = scripted_free,
                                                      .info = scripted_info,
                                                      .vocabulary = scripted_vocabulary,
                                                      .tokenize = scripted_tokenize,
                                                      .apply_template = scripted_apply_template,
                                                      .decode = scripted_decode,
                                                      .logits = scripted_logits,
                                                      .remove = scripted_remove,
                                                      .copy = scripted_copy,
                                                      .shift = scripted_shift,
                                                      .begin = scripted_begin,
                                                      .state_get = scripted_state_get,
                                                      .state_set = scripted_state_set};

static enum tombola_status scripted_load(const char *path, const struct tombola_model_params *params,
                                         const struct tombola_model_ops **ops, void **self,
                                         struct tombola_error *error) {
  struct tombola_allocator allocator = tombola__allocator(params->allocator);
  if (params->progress && !params->progress(params->progress_context, 0.0F))
    return tombola__fail(error, TOMBOLA_CANCELLED, NULL, "loading was cancelled");
  struct scripted *model = tombola__new(&allocator, 1, sizeof *model);
  if (!model) return tombola__no_memory(error);
  enum tombola_status status = tombola__script_read(&model->script, path, &allocator, error);
  if (status != TOMBOLA_OK) {
    tombola__free(&allocator, model);
    return status;
  }
  status = choose_sizes(model, params, error);
  if (status == TOMBOLA_OK) status = make_parts(model, path, error);
  if (status == TOMBOLA_OK && params->progress && !params->progress(params->progress_context, 1.0F))
    status = tombola__fail(error, TOMBOLA_CANCELLED, NULL, "loading was cancelled");
  if (status != TOMBOLA_OK) {
    scripted_free(model);
    return status;
  }
  *ops = &scripted_ops;
  *self = model;
  return TOMBOLA_OK;
}

const struct tombola_backend *tombola_backend_scripted(void) {
  static const struct tombola_backend backend = {"script", "script:", scripted_load};
  return &backend;
}
