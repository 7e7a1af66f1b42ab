/* SPDX-License-Identifier: Apache-2.0 */
/* The model interface: chooses the backend, checks the file and every argument once for all backends, and
 * passes the calls on. The checks stand here so that a backend may rely on them and all backends complain in
 * the same words. */
#define _POSIX_C_SOURCE 200809L
#include "base/base.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <tombola/model.h>
#include <unistd.h>

struct tombola_model {
  struct tombola_allocator allocator;
  struct tombola_model_ops ops; /* a copy; slots that the backend doesn't know yet are NULL */
  void *self;
  size_t vocab_size;
  size_t context, sequences, batch;
};

/* ---- loading ---- */

static enum tombola_status check_file(const char *path, struct tombola_error *error) {
  struct stat file;
  if (path[0] == '\0')
    return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "model", "the model's path is empty");
  if (stat(path, &file) == 0) {
    if (S_ISDIR(file.st_mode))
      return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "model", "%s: is a directory, not a model file",
                           path);
    if (access(path, R_OK) == 0) return TOMBOLA_OK;
  }
  char reason[96];
  int number = errno;
  if (strerror_r(number, reason, sizeof reason) != 0) strcpy(reason, "unknown error");
  bool missing = number == ENOENT || number == ENOTDIR;
  return tombola__fail(error, missing ? TOMBOLA_NOT_FOUND : TOMBOLA_IO, "model", "%s: %s", path,
                       missing ? "no such file" : reason);
}

static const struct tombola_backend *choose_backend(const struct tombola_backend *const *backends,
                                                    size_t count, const char *name) {
  const struct tombola_backend *plain = NULL;
  for (size_t i = 0; i < count; i++) {
    const char *prefix = backends[i]->prefix;
    if (!prefix) {
      if (!plain) plain = backends[i];
    } else if (strncmp(name, prefix, strlen(prefix)) == 0) {
      return backends[i];
    }
  }
  return plain;
}

/* The caller's parameters, as this version of the library knows them. */
static enum tombola_status complete_params(const struct tombola_model_params *given,
                                           struct tombola_model_params *full, struct tombola_error *error) {
  memset(full, 0, sizeof *full);
  if (given) {
    if (given->struct_size < sizeof given->struct_size)
      return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "struct_size",
                           "struct_size of the parameters is not set");
    memcpy(full, given, given->struct_size < sizeof *full ? given->struct_size : sizeof *full);
  }
  full->struct_size = sizeof *full;
  const struct {
    const char *name;
    size_t value;
  } sizes[] = {{"context", full->context}, {"sequences", full->sequences}, {"batch", full->batch}};
  for (size_t i = 0; i < TOMBOLA__COUNT(sizes); i++) {
    if (sizes[i].value > INT32_MAX)
      return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, sizes[i].name, "%s is %zu; it must be at most %d",
                           sizes[i].name, sizes[i].value, INT32_MAX);
  }
  switch (full->kv_type) {
  case TOMBOLA_KV_F16:
  case TOMBOLA_KV_F32:
  case TOMBOLA_KV_I8: return TOMBOLA_OK;
  default:
    return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "kv_type",
                         "kv_type is %d; allowed are 0 (f16), 1 (f32), 2 (i8)", (int)full->kv_type);
  }
}

static bool complete_ops(const struct tombola_model_ops *ops) {
  return ops->free && ops->info && ops->vocabulary && ops->tokenize && ops->apply_template && ops->decode &&
         ops->logits && ops->remove;
}

/* What the checks of every call need to know, asked once. */
static void read_limits(tombola_model *model) {
  struct tombola_model_info info = {.struct_size = sizeof info};
  model->ops.info(model->self, &info);
  model->context = info.context;
  model->sequences = info.sequences;
  model->batch = info.batch;
  model->vocab_size = tombola_vocabulary_count(model->ops.vocabulary(model->self));
}

enum tombola_status tombola_model_load(const struct tombola_backend *const *backends, size_t n_backends,
                                       const char *name, const struct tombola_model_params *params,
                                       tombola_model **out, struct tombola_error *error) {
  if (!out) return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "out", "out is NULL");
  *out = NULL;
  if (!name || (!backends && n_backends > 0))
    return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, name ? "backends" : "model", "%s is NULL",
                         name ? "backends" : "the model's name");
  struct tombola_model_params full;
  enum tombola_status status = complete_params(params, &full, error);
  if (status != TOMBOLA_OK) return status;

  const struct tombola_backend *backend = choose_backend(backends, n_backends, name);
  if (!backend)
    return tombola__fail(error, TOMBOLA_UNSUPPORTED, "model", "%s: no backend takes such a model", name);
  const char *path = name + (backend->prefix ? strlen(backend->prefix) : 0);
  status = check_file(path, error);
  if (status != TOMBOLA_OK) return status;

  tombola_model *model = tombola__new(full.allocator, 1, sizeof *model);
  if (!model) return tombola__no_memory(error);
  model->allocator = tombola__allocator(full.allocator);
  const struct tombola_model_ops *ops = NULL;
  status = backend->load(path, &full, &ops, &model->self, error);
  if (status != TOMBOLA_OK) {
    tombola__free(full.allocator, model);
    return status;
  }
  memcpy(&model->ops, ops, ops->struct_size < sizeof model->ops ? ops->struct_size : sizeof model->ops);
  if (!complete_ops(&model->ops)) {
    tombola_model_free(model);
    return tombola__fail(error, TOMBOLA_UNSUPPORTED, "backends",
                         "the backend %s lacks a call that every backend needs", backend->name);
  }
  read_limits(model);
  *out = model;
  return TOMBOLA_OK;
}

void tombola_model_free(tombola_model *model) {
  if (!model) return;
  if (model->ops.free) model->ops.free(model->self);
  struct tombola_allocator allocator = model->allocator;
  tombola__free(&allocator, model);
}

/* ---- facts and text ---- */

void tombola_model_info(tombola_model *model, struct tombola_model_info *info) {
  if (!model || !info || info->struct_size < sizeof info->struct_size) return;
  struct tombola_model_info full = {.struct_size = sizeof full};
  model->ops.info(model->self, &full);
  full.struct_size = info->struct_size;
  memcpy(info, &full, info->struct_size < sizeof full ? info->struct_size : sizeof full);
}

const tombola_vocabulary *tombola_model_vocabulary(tombola_model *model) {
  return model ? model->ops.vocabulary(model->self) : NULL;
}

static enum tombola_status null_argument(struct tombola_error *error, const char *name) {
  return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, name, "%s is NULL", name);
}

enum tombola_status tombola_model_tokenize(tombola_model *model, const char *text, size_t length,
                                           unsigned flags, tombola_token *tokens, size_t capacity,
                                           size_t *count, struct tombola_error *error) {
  if (!count) return null_argument(error, "count");
  *count = 0;
  if (!model) return null_argument(error, "model");
  if (!text && length > 0) return null_argument(error, "text");
  if (!tokens && capacity > 0) return null_argument(error, "tokens");
  return model->ops.tokenize(model->self, text ? text : "", length, flags, tokens, capacity, count, error);
}

enum tombola_status tombola_model_apply_template(tombola_model *model, const char *chat_template,
                                                 const struct tombola_chat_message *messages,
                                                 size_t n_messages, int add_assistant, char *text,
                                                 size_t capacity, size_t *length,
                                                 struct tombola_error *error) {
  if (!length) return null_argument(error, "length");
  *length = 0;
  if (!model) return null_argument(error, "model");
  if (!messages && n_messages > 0) return null_argument(error, "messages");
  if (!text && capacity > 0) return null_argument(error, "text");
  for (size_t i = 0; i < n_messages; i++) {
    if (!messages[i].role || !messages[i].content)
      return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "messages", "message %zu has no %s", i,
                           messages[i].role ? "content" : "role");
  }
  return model->ops.apply_template(model->self, chat_template, messages, n_messages, add_assistant, text,
                                   capacity, length, error);
}

/* ---- running ---- */

static bool is_sequence(const tombola_model *model, int32_t sequence) {
  return sequence >= 0 && (size_t)sequence < model->sequences;
}

static enum tombola_status check_item(const tombola_model *model, const struct tombola_batch_item *item,
                                      size_t index, struct tombola_error *error) {
  if (item->token < 0 || (size_t)item->token >= model->vocab_size)
    return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "token",
                         "item %zu: token %d is not in the vocabulary (0 to %zu)", index, (int)item->token,
                         model->vocab_size - 1);
  if (!is_sequence(model, item->sequence))
    return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "sequence",
                         "item %zu: there is no sequence %d (0 to %zu)", index, (int)item->sequence,
                         model->sequences - 1);
  if (item->position < 0 || (size_t)item->position >= model->context)
    return tombola__fail(error, TOMBOLA_OUT_OF_RANGE, "position",
                         "item %zu: position %d is outside the context of %zu tokens", index,
                         (int)item->position, model->context);
  return TOMBOLA_OK;
}

enum tombola_status tombola_model_decode(tombola_model *model, const struct tombola_batch_item *items,
                                         size_t count, struct tombola_error *error) {
  if (!model) return null_argument(error, "model");
  if (!items) return null_argument(error, "items");
  if (count == 0 || count > model->batch)
    return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "count",
                         "a batch of %zu items; allowed are 1 to %zu", count, model->batch);
  for (size_t i = 0; i < count; i++) {
    enum tombola_status status = check_item(model, &items[i], i, error);
    if (status != TOMBOLA_OK) return status;
  }
  return model->ops.decode(model->self, items, count, error);
}

enum tombola_status tombola_model_logits(tombola_model *model, size_t item, struct tombola_row *row) {
  if (!model || !row) return TOMBOLA_INVALID_ARGUMENT;
  return model->ops.logits(model->self, item, row);
}

enum tombola_status tombola_model_begin(tombola_model *model, int32_t sequence, size_t prompt) {
  if (!model || !is_sequence(model, sequence)) return TOMBOLA_INVALID_ARGUMENT;
  if (model->ops.begin) model->ops.begin(model->self, sequence, prompt);
  return TOMBOLA_OK;
}

enum tombola_status tombola_model_remove(tombola_model *model, int32_t sequence, int32_t from, int32_t to) {
  if (!model || !is_sequence(model, sequence) || from < 0) return TOMBOLA_INVALID_ARGUMENT;
  return model->ops.remove(model->self, sequence, from, to);
}

enum tombola_status tombola_model_copy(tombola_model *model, int32_t source, int32_t target, int32_t from,
                                       int32_t to) {
  if (!model || !is_sequence(model, source) || !is_sequence(model, target) || from < 0)
    return TOMBOLA_INVALID_ARGUMENT;
  if (!model->ops.copy) return TOMBOLA_UNSUPPORTED;
  return model->ops.copy(model->self, source, target, from, to);
}

enum tombola_status tombola_model_shift(tombola_model *model, int32_t sequence, int32_t from, int32_t to,
                                        int32_t delta) {
  if (!model || !is_sequence(model, sequence) || from < 0) return TOMBOLA_INVALID_ARGUMENT;
  if (!model->ops.shift) return TOMBOLA_UNSUPPORTED;
  return model->ops.shift(model->self, sequence, from, to, delta);
}

/* ---- states ---- */

enum tombola_status tombola_model_state_get(tombola_model *model, int32_t sequence, void *data,
                                            size_t capacity, size_t *length, struct tombola_error *error) {
  if (!length) return null_argument(error, "length");
  *length = 0;
  if (!model) return null_argument(error, "model");
  if (!data && capacity > 0) return null_argument(error, "data");
  if (!is_sequence(model, sequence))
    return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "sequence", "there is no sequence %d (0 to %zu)",
                         (int)sequence, model->sequences - 1);
  if (!model->ops.state_get || !model->ops.state_set)
    return tombola__fail(error, TOMBOLA_UNSUPPORTED, "model", "the model can't give out its state");
  return model->ops.state_get(model->self, sequence, data, capacity, length, error);
}

enum tombola_status tombola_model_state_set(tombola_model *model, int32_t sequence, const void *data,
                                            size_t length, struct tombola_error *error) {
  if (!model) return null_argument(error, "model");
  if (!data) return null_argument(error, "data");
  if (!is_sequence(model, sequence))
    return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "sequence", "there is no sequence %d (0 to %zu)",
                         (int)sequence, model->sequences - 1);
  if (!model->ops.state_set)
    return tombola__fail(error, TOMBOLA_UNSUPPORTED, "model", "the model can't take a state");
  return model->ops.state_set(model->self, sequence, data, length, error);
}
