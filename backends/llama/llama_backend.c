/* SPDX-License-Identifier: Apache-2.0 */
/* The model backend over libllama: batches, their logits, and the cache. */
#include "backend.h"

#include <limits.h>
#include <string.h>
#include <tombola/llama.h>

/* ---- decode ---- */

/* Positions of a sequence go on where its cache ends. libllama refuses others too, but only after it has
 * logged. */
static enum tombola_status check_position(struct tombola__llama *self, const struct tombola_batch_item *item,
                                          struct tombola_error *error) {
  int32_t sequence = item->sequence;
  if (self->start[sequence] < 0) {
    self->start[sequence] = llama_memory_seq_pos_max(llama_get_memory(self->context), sequence) + 1;
    self->next[sequence] = self->start[sequence];
  }
  if (item->position != self->next[sequence])
    return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "position",
                         "position is %d; the next one of sequence %d is %d", (int)item->position,
                         (int)sequence, (int)self->next[sequence]);
  self->next[sequence]++;
  return TOMBOLA_OK;
}

static enum tombola_status fill_batch(struct tombola__llama *self, const struct tombola_batch_item *items,
                                      size_t count, struct tombola_error *error) {
  for (size_t s = 0; s < self->info.sequences; s++)
    self->start[s] = -1;
  for (size_t i = 0; i < count; i++) {
    enum tombola_status status = check_position(self, &items[i], error);
    if (status != TOMBOLA_OK) return status;
    self->batch.token[i] = items[i].token;
    self->batch.pos[i] = items[i].position;
    self->sequence_of[i] = items[i].sequence;
    self->batch.logits[i] = items[i].want_logits != 0;
  }
  self->batch.n_tokens = (int32_t)count;
  return TOMBOLA_OK;
}

/* After a failure libllama may keep the first part of a batch. A model that can't forget a part forgets the
 * sequence. */
static void forget_batch(struct tombola__llama *self) {
  llama_memory_t memory = llama_get_memory(self->context);
  for (size_t s = 0; s < self->info.sequences; s++) {
    if (self->start[s] < 0) continue;
    if (!llama_memory_seq_rm(memory, (llama_seq_id)s, self->start[s], -1))
      llama_memory_seq_rm(memory, (llama_seq_id)s, -1, -1);
  }
}

static enum tombola_status decode_failed(int32_t result, struct tombola_error *error) {
  const char *cause = tombola__llama_log_text();
  switch (result) {
  case 1:
    return tombola__fail(error, TOMBOLA_OUT_OF_RANGE, "context", "no room is left in the model's cache");
  case 2: return tombola__fail(error, TOMBOLA_CANCELLED, NULL, "the forward pass was cancelled");
  default: break;
  }
  return tombola__fail(error, tombola__llama_log_status(TOMBOLA_MODEL), NULL, "the forward pass failed: %s",
                       cause[0] ? cause : "libllama doesn't say why");
}

static enum tombola_status decode(void *object, const struct tombola_batch_item *items, size_t count,
                                  struct tombola_error *error) {
  struct tombola__llama *self = object;
  self->decoded = 0;
  enum tombola_status status = fill_batch(self, items, count, error);
  if (status != TOMBOLA_OK) return status;
  tombola__llama_log_clear();
  int32_t result = llama_decode(self->context, self->batch);
  if (result != 0) {
    forget_batch(self);
    return decode_failed(result, error);
  }
  self->decoded = count;
  return TOMBOLA_OK;
}

static enum tombola_status logits(void *object, size_t item, struct tombola_row *row) {
  struct tombola__llama *self = object;
  if (item >= self->decoded || !self->batch.logits[item]) return TOMBOLA_INVALID_ARGUMENT;
  const float *data = llama_get_logits_ith(self->context, (int32_t)item);
  if (!data) return TOMBOLA_MODEL;
  *row = (struct tombola_row){data, (size_t)llama_vocab_n_tokens(self->vocab), TOMBOLA_F32};
  return TOMBOLA_OK;
}

/* ---- the cache ---- */

/* A state that isn't stored by position can be dropped, but neither cut nor copied in part. */
static bool is_recurrent(const struct tombola__llama *self) {
  return llama_model_is_recurrent(self->model) || llama_model_is_hybrid(self->model);
}

static int32_t length_of(const struct tombola__llama *self, int32_t sequence) {
  return llama_memory_seq_pos_max(llama_get_memory(self->context), sequence) + 1;
}

static enum tombola_status remove_range(void *object, int32_t sequence, int32_t from, int32_t to) {
  struct tombola__llama *self = object;
  int32_t length = length_of(self, sequence);
  if (to < 0 || to > length) to = length;
  if (from >= to) return TOMBOLA_OK;
  if (is_recurrent(self) && to < length) return TOMBOLA_UNSUPPORTED;
  bool all = from == 0 && to == length;
  bool removed =
      all ? llama_memory_seq_rm(llama_get_memory(self->context), sequence, -1, -1)
          : llama_memory_seq_rm(llama_get_memory(self->context), sequence, from, to == length ? -1 : to);
  return removed ? TOMBOLA_OK : TOMBOLA_UNSUPPORTED;
}

/* Between streams libllama copies whole sequences only (it asserts on less), so the rest is removed
 * afterwards, and what the target held would be lost: it has to be empty. */
static enum tombola_status copy_range(void *object, int32_t source, int32_t target, int32_t from,
                                      int32_t to) {
  struct tombola__llama *self = object;
  int32_t length = length_of(self, source), held = length_of(self, target);
  if (to < 0 || to > length) to = length;
  if (source == target || from >= to) return TOMBOLA_OK;
  if (held > 0) return held > from ? TOMBOLA_INVALID_ARGUMENT : TOMBOLA_UNSUPPORTED;
  if (is_recurrent(self) && (from > 0 || to < length)) return TOMBOLA_UNSUPPORTED;
  llama_memory_t memory = llama_get_memory(self->context);
  llama_memory_seq_cp(memory, source, target, -1, -1);
  bool cut = to >= length || llama_memory_seq_rm(memory, target, to, -1);
  cut = cut && (from == 0 || llama_memory_seq_rm(memory, target, 0, from));
  if (cut) return TOMBOLA_OK;
  llama_memory_seq_rm(memory, target, -1, -1);
  return TOMBOLA_UNSUPPORTED;
}

/* libllama can't say which positions in the middle are free, so a shift onto taken ones isn't noticed. */
static enum tombola_status shift_range(void *object, int32_t sequence, int32_t from, int32_t to,
                                       int32_t delta) {
  struct tombola__llama *self = object;
  int32_t length = length_of(self, sequence);
  if (!self->can_shift) return TOMBOLA_UNSUPPORTED; /* of nothing, too: so a caller can ask ahead */
  if (to < 0 || to > length) to = length;
  if (from >= to || delta == 0) return TOMBOLA_OK;
  int64_t first = (int64_t)from + delta, end = (int64_t)to + delta;
  if (first < 0 || end > (int64_t)self->info.context) return TOMBOLA_INVALID_ARGUMENT;
  llama_memory_seq_add(llama_get_memory(self->context), sequence, from, to, delta);
  return TOMBOLA_OK;
}

/* ---- the vtable ---- */

static void free_model(void *self) {
  tombola__llama_free(self);
}

static void info(void *object, struct tombola_model_info *result) {
  const struct tombola__llama *self = object;
  *result = self->info;
}

static const tombola_vocabulary *vocabulary(void *object) {
  const struct tombola__llama *self = object;
  return self->vocabulary;
}

static const struct tombola_model_ops operations = {
    .struct_size = sizeof operations,
    .free = free_model,
    .info = info,
    .vocabulary = vocabulary,
    .tokenize = tombola__llama_tokenize,
    .apply_template = tombola__llama_apply_template,
    .decode = decode,
    .logits = logits,
    .remove = remove_range,
    .copy = copy_range,
    .shift = shift_range,
    .state_get = tombola__llama_state_get,
    .state_set = tombola__llama_state_set,
};

static enum tombola_status load(const char *path, const struct tombola_model_params *params,
                                const struct tombola_model_ops **ops, void **self,
                                struct tombola_error *error) {
  struct tombola__llama *loaded;
  enum tombola_status status = tombola__llama_load(path, params, &loaded, error);
  *self = loaded;
  *ops = status == TOMBOLA_OK ? &operations : NULL;
  return status;
}

const struct tombola_backend *tombola_backend_llama(void) {
  static const struct tombola_backend backend = {.name = "llama", .prefix = NULL, .load = load};
  return &backend;
}

const char *tombola_llama_version(void) {
  return TOMBOLA_LLAMA_VERSION;
}
