/* SPDX-License-Identifier: Apache-2.0 */
/* Loading a GGUF file: is it one, is it a model that can generate, does what was asked for fit into memory.
 * Each refusal is one line that names the cause, because this is where most users meet an error first. */
#define _POSIX_C_SOURCE 200809L
#include "backend.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEFAULT_CONTEXT = 4096, DEFAULT_BATCH = 512, MOST_PER_PASS = 512, MOST_THREADS = 512 };

/* libllama rounds the positions of a sequence up to a multiple of this. */
enum { CONTEXT_STEP = 256 };

/* ---- the file ---- */

/* The first bytes: "GGUF" (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md). */
static enum tombola_status check_magic(const char *path, int file, struct tombola_error *error) {
  struct stat facts;
  if (fstat(file, &facts) != 0)
    return tombola__fail(error, TOMBOLA_IO, "model", "%s: cannot be examined (error %d)", path, errno);
  if (!S_ISREG(facts.st_mode))
    return tombola__fail(error, TOMBOLA_FORMAT, "model", "%s: not a regular file", path);
  if (facts.st_size == 0) return tombola__fail(error, TOMBOLA_FORMAT, "model", "%s: the file is empty", path);
  char magic[4];
  ssize_t got = read(file, magic, sizeof magic);
  if (got < 0) return tombola__fail(error, TOMBOLA_IO, "model", "%s: cannot be read (error %d)", path, errno);
  if (got == (ssize_t)sizeof magic && memcmp(magic, "GGUF", sizeof magic) == 0) return TOMBOLA_OK;
  return tombola__fail(error, TOMBOLA_FORMAT, "model", "%s: not a GGUF file", path);
}

static enum tombola_status check_file(const char *path, struct tombola_error *error) {
  /* Without O_NONBLOCK a named pipe would wait for its other end. */
  int file = open(path, O_RDONLY | O_NONBLOCK);
  if (file < 0)
    return tombola__fail(error, TOMBOLA_IO, "model", "%s: cannot be opened (error %d)", path, errno);
  enum tombola_status status = check_magic(path, file, error);
  close(file);
  return status;
}

/* ---- the parameters ---- */

static enum tombola_status check_range(const char *name, size_t value, size_t most,
                                       struct tombola_error *error) {
  if (value <= most) return TOMBOLA_OK;
  return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, name, "%s is %zu; the allowed range is 1 to %zu",
                       name, value, most);
}

static enum tombola_status complete_params(struct tombola_model_params *params, struct tombola_error *error) {
  const size_t most = INT32_MAX - CONTEXT_STEP;
  enum tombola_status status = check_range("context", params->context, most, error);
  if (!status) status = check_range("sequences", params->sequences, llama_max_parallel_sequences(), error);
  if (!status) status = check_range("batch", params->batch, most, error);
  if (!status) status = check_range("threads", params->threads, MOST_THREADS, error);
  if (params->sequences == 0) params->sequences = 1;
  if (params->batch == 0) params->batch = DEFAULT_BATCH;
  if (params->threads == 0) params->threads = tombola__machine_threads();
  return status;
}

/* ---- facts of the file ---- */

/* A number of the model's own keys, "llama.attention.key_length"; 0 when it isn't there. */
static uint64_t fact(const struct llama_model *model, const char *architecture, const char *key) {
  char name[128], value[32];
  snprintf(name, sizeof name, "%s.%s", architecture, key);
  unsigned long long number = 0;
  if (llama_model_meta_val_str(model, name, value, sizeof value) > 0) sscanf(value, "%llu", &number);
  return number;
}

static void architecture_of(const struct llama_model *model, char *text, size_t size) {
  if (llama_model_meta_val_str(model, "general.architecture", text, size) <= 0)
    snprintf(text, size, "unknown");
}

/* The model's name as the file has it, else the file's. */
static char *name_of(const struct tombola__llama *self, const char *path) {
  static const char key[] = "general.name";
  int32_t length = llama_model_meta_val_str(self->model, key, NULL, 0);
  const char *slash = strrchr(path, '/');
  const char *base = slash ? slash + 1 : path;
  size_t size = (length > 0 ? (size_t)length : strlen(base)) + 1;
  char *name = tombola__new(&self->allocator, size, 1);
  if (!name) return NULL;
  if (length > 0)
    llama_model_meta_val_str(self->model, key, name, size);
  else
    memcpy(name, base, size);
  return name;
}

/* ---- the model ---- */

struct loading {
  const struct tombola_model_params *params;
  bool cancelled;
};

static bool on_progress(float done, void *context) {
  struct loading *loading = context;
  if (!loading->cancelled)
    loading->cancelled = !loading->params->progress(loading->params->progress_context, done);
  return !loading->cancelled;
}

static enum tombola_status load_model(struct tombola__llama *self, const char *path,
                                      const struct tombola_model_params *params,
                                      struct tombola_error *error) {
  struct loading loading = {params, false};
  struct llama_model_params model_params = llama_model_default_params();
  if (params->progress) {
    model_params.progress_callback = on_progress;
    model_params.progress_callback_user_data = &loading;
  }
  tombola__llama_log_clear();
  self->model = llama_model_load_from_file(path, model_params);
  if (self->model) return TOMBOLA_OK;
  if (loading.cancelled)
    return tombola__fail(error, TOMBOLA_CANCELLED, "model", "%s: loading was cancelled", path);
  return tombola__llama_log_fail(error, path);
}

/* Models that libllama loads but that don't continue a text by themselves. */
static enum tombola_status check_kind(const struct llama_model *model, struct tombola_error *error) {
  const char *kind = NULL;
  if (!llama_model_has_decoder(model))
    kind = "an encoder";
  else if (llama_model_has_encoder(model))
    kind = "an encoder-decoder model";
  else if (llama_model_is_diffusion(model))
    kind = "a diffusion model";
  else if (llama_vocab_type(llama_model_get_vocab(model)) == LLAMA_VOCAB_TYPE_NONE)
    kind = "a model without vocabulary";
  if (!kind) return TOMBOLA_OK;
  char architecture[64];
  architecture_of(model, architecture, sizeof architecture);
  return tombola__fail(error, TOMBOLA_UNSUPPORTED, "model", "%s is %s; only decoders of text are supported",
                       architecture, kind);
}

/* ---- the context ---- */

/* Bytes of one number in the cache, times 32 (q8_0 has 34 bytes for 32 numbers). */
static uint64_t bytes_of_32(enum tombola_kv_type type) {
  switch (type) {
  case TOMBOLA_KV_F32: return 128;
  case TOMBOLA_KV_I8: return 34;
  case TOMBOLA_KV_F16: break;
  }
  return 64;
}

/* Numbers in a key of one head. */
static uint64_t key_length(const struct llama_model *model) {
  char architecture[64];
  architecture_of(model, architecture, sizeof architecture);
  uint64_t length = fact(model, architecture, "attention.key_length");
  int32_t heads = llama_model_n_head(model), width = llama_model_n_embd(model);
  if (length == 0 && heads > 0 && width > 0) length = (uint64_t)(width / heads);
  return length;
}

/* The system grants more memory than there is, and then kills who uses it: libllama can't refuse a cache that
 * is too large, so we do. What a GPU holds is left to its driver, which does refuse; what isn't an ordinary
 * cache of keys and values (recurrent layers) is small. */
static enum tombola_status check_memory(const struct llama_model *model,
                                        const struct tombola_model_params *params, uint64_t positions,
                                        struct tombola_error *error) {
  if (tombola__machine_has_gpu() || llama_model_is_recurrent(model) || llama_model_is_hybrid(model))
    return TOMBOLA_OK;
  int32_t layers = llama_model_n_layer(model), heads = llama_model_n_head_kv(model);
  uint64_t key = key_length(model);
  if (layers <= 0 || heads <= 0 || key == 0) return TOMBOLA_OK;
  char architecture[64];
  architecture_of(model, architecture, sizeof architecture);
  uint64_t value = fact(model, architecture, "attention.value_length");
  if (value == 0) value = key;
  /* As a floating-point number, because the factors come from a file that may hold anything. */
  double needed = (double)positions * (double)layers * (double)heads * ((double)key + (double)value) *
                  (double)bytes_of_32(params->kv_type) / 32;
  uint64_t available = tombola__machine_memory();
  if (available == 0 || needed < (double)available) return TOMBOLA_OK;
  const double gib = 1024.0 * 1024.0 * 1024.0;
  return tombola__fail(
      error, TOMBOLA_NO_MEMORY, "context",
      "a context of %zu positions for %zu sequences needs %.1f GiB of memory, %.1f are available",
      params->context, params->sequences, needed / gib, (double)available / gib);
}

static enum ggml_type cache_type(enum tombola_kv_type type) {
  switch (type) {
  case TOMBOLA_KV_F32: return GGML_TYPE_F32;
  case TOMBOLA_KV_I8: return GGML_TYPE_Q8_0;
  case TOMBOLA_KV_F16: break;
  }
  return GGML_TYPE_F16;
}

/* Each sequence gets its own stream of the cache (kv_unified stays false): its rows then don't depend on the
 * others' places in it, and models that choose their rotary factors by the length of a sequence choose
 * rightly. */
static struct llama_context_params context_params(const struct tombola_model_params *params,
                                                  uint32_t positions) {
  struct llama_context_params result = llama_context_default_params();
  size_t batch = params->batch;
  /* libllama asserts that a batch can hold one output for each sequence. */
  if (batch < params->sequences) batch = params->sequences;
  result.n_ctx = positions;
  result.n_batch = (uint32_t)batch;
  result.n_ubatch = (uint32_t)(batch < MOST_PER_PASS ? batch : MOST_PER_PASS);
  result.n_seq_max = (uint32_t)params->sequences;
  result.n_threads = (int32_t)params->threads;
  result.n_threads_batch = (int32_t)params->threads;
  result.type_k = cache_type(params->kv_type);
  result.type_v = cache_type(params->kv_type);
  /* libllama stores quantised values only in the layout of flash attention. */
  if (params->kv_type == TOMBOLA_KV_I8) result.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_ENABLED;
  return result;
}

static enum tombola_status make_context(struct tombola__llama *self, struct tombola_model_params *params,
                                        struct tombola_error *error) {
  int32_t trained = llama_model_n_ctx_train(self->model);
  if (params->context == 0)
    params->context = trained > 0 && trained < DEFAULT_CONTEXT ? (size_t)trained : DEFAULT_CONTEXT;
  size_t padded = (params->context + CONTEXT_STEP - 1) / CONTEXT_STEP * CONTEXT_STEP;
  if (padded > INT32_MAX / params->sequences)
    return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "context",
                         "context is %zu; with %zu sequences the allowed range is 1 to %zu", params->context,
                         params->sequences, INT32_MAX / params->sequences / CONTEXT_STEP * CONTEXT_STEP);
  uint64_t positions = (uint64_t)padded * params->sequences;
  enum tombola_status status = check_memory(self->model, params, positions, error);
  if (status != TOMBOLA_OK) return status;

  if (params->batch > params->context) params->batch = params->context;
  tombola__llama_log_clear();
  self->context = llama_init_from_model(self->model, context_params(params, (uint32_t)positions));
  if (!self->context) {
    const char *cause = tombola__llama_log_text();
    return tombola__fail(error, tombola__llama_log_status(TOMBOLA_UNSUPPORTED), "model",
                         "cannot make a context of %zu positions: %s", params->context,
                         cause[0] ? cause : "libllama doesn't say why");
  }
  if (llama_get_memory(self->context) && llama_get_causal_attn(self->context)) return TOMBOLA_OK;
  return tombola__fail(error, TOMBOLA_UNSUPPORTED, "model",
                       "the model is one for embeddings; only decoders of text are supported");
}

/* libllama moves the keys of a quantised cache through a rotation that it makes only for heads of a multiple
 * of 64, all of one size, and unless this variable is set; without it, it follows a null pointer. */
static bool can_shift(const struct tombola__llama *self, enum tombola_kv_type type) {
  if (llama_model_is_recurrent(self->model) || llama_model_is_hybrid(self->model)) return false;
  if (!llama_memory_can_shift(llama_get_memory(self->context))) return false;
  if (type != TOMBOLA_KV_I8) return true;
  return key_length(self->model) % 64 == 0 && llama_model_n_swa(self->model) == 0 &&
         !getenv("LLAMA_ATTN_ROT_DISABLE");
}

/* ---- all of it ---- */

static bool make_batch(struct tombola__llama *self, size_t size, size_t sequences) {
  struct llama_batch *batch = &self->batch;
  batch->token = tombola__new(&self->allocator, size, sizeof *batch->token);
  batch->pos = tombola__new(&self->allocator, size, sizeof *batch->pos);
  batch->n_seq_id = tombola__new(&self->allocator, size, sizeof *batch->n_seq_id);
  batch->seq_id = tombola__new(&self->allocator, size, sizeof *batch->seq_id);
  batch->logits = tombola__new(&self->allocator, size, sizeof *batch->logits);
  self->sequence_of = tombola__new(&self->allocator, size, sizeof *self->sequence_of);
  self->start = tombola__new(&self->allocator, sequences, sizeof *self->start);
  self->next = tombola__new(&self->allocator, sequences, sizeof *self->next);
  if (!batch->token || !batch->pos || !batch->n_seq_id || !batch->seq_id || !batch->logits) return false;
  if (!self->sequence_of || !self->start || !self->next) return false;
  for (size_t i = 0; i < size; i++) {
    batch->n_seq_id[i] = 1;
    batch->seq_id[i] = &self->sequence_of[i];
  }
  return true;
}

static bool fill_info(struct tombola__llama *self, const char *path,
                      const struct tombola_model_params *params) {
  int32_t trained = llama_model_n_ctx_train(self->model);
  self->name = name_of(self, path);
  tombola__machine_device(self->device, sizeof self->device, params->threads);
  self->info = (struct tombola_model_info){
      .struct_size = sizeof self->info,
      .name = self->name,
      .device = self->device,
      .chat_template = llama_model_chat_template(self->model, NULL),
      .context = params->context,
      .trained_context = trained > 0 ? (size_t)trained : 0,
      .sequences = params->sequences,
      .batch = params->batch,
  };
  return self->name != NULL;
}

static enum tombola_status load(struct tombola__llama *self, const char *path,
                                struct tombola_model_params *params, struct tombola_error *error) {
  enum tombola_status status = load_model(self, path, params, error);
  if (status == TOMBOLA_OK) status = check_kind(self->model, error);
  if (status == TOMBOLA_OK) status = make_context(self, params, error);
  if (status != TOMBOLA_OK) return status;
  self->vocab = llama_model_get_vocab(self->model);
  self->can_shift = can_shift(self, params->kv_type);
  self->kv_type = (uint32_t)params->kv_type;
  if (!make_batch(self, params->batch, params->sequences)) return tombola__no_memory(error);
  if (!fill_info(self, path, params)) return tombola__no_memory(error);
  return tombola__llama_make_vocabulary(self, error);
}

enum tombola_status tombola__llama_load(const char *path, const struct tombola_model_params *given,
                                        struct tombola__llama **out, struct tombola_error *error) {
  *out = NULL;
  tombola__llama_start();
  struct tombola_model_params params = *given;
  enum tombola_status status = complete_params(&params, error);
  if (status == TOMBOLA_OK) status = check_file(path, error);
  if (status == TOMBOLA_OK) status = tombola__llama_check_header(path, params.allocator, error);
  if (status != TOMBOLA_OK) return status;
  struct tombola__llama *self = tombola__new(params.allocator, 1, sizeof *self);
  if (!self) return tombola__no_memory(error);
  self->allocator = tombola__allocator(params.allocator);
  status = load(self, path, &params, error);
  if (status == TOMBOLA_OK)
    *out = self;
  else
    tombola__llama_free(self);
  return status;
}

void tombola__llama_free(struct tombola__llama *self) {
  if (!self) return;
  tombola_vocabulary_free(self->vocabulary);
  if (self->context) llama_free(self->context);
  if (self->model) llama_model_free(self->model);
  struct tombola_allocator allocator = self->allocator;
  void *const arrays[] = {
      self->batch.token, self->batch.pos, self->batch.n_seq_id, self->batch.seq_id, self->batch.logits,
      self->sequence_of, self->start,     self->next,           self->name,         self};
  for (size_t i = 0; i < TOMBOLA__COUNT(arrays); i++)
    tombola__free(&allocator, arrays[i]);
}
