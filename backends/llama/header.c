/* SPDX-License-Identifier: Apache-2.0 */
/* A look at a GGUF file's keys before libllama loads it. On a file that is cut off libllama returns an error,
 * but on some damaged or odd values it ends the process with an assertion; those are found here. (Found by
 * changing bytes of a small model: https://github.com/ggml-org/llama.cpp, src/llama-model.cpp and
 * src/llama-vocab.cpp, GGML_ASSERT.) */
#include "backend.h"

#include <gguf.h>
#include <stdio.h>
#include <string.h>

/* libllama's LLAMA_MAX_LAYERS. */
enum { MOST_LAYERS = 512 };

struct header {
  const struct gguf_context *file;
  const struct tombola_allocator *allocator;
  const char *path;
  const char *architecture;
  struct tombola_error *error;
};

/* The key "ARCHITECTURE.NAME" when it is there and of that type, else -1: the calls that read a value assert
 * on it. */
static int64_t find(const struct header *header, const char *name, enum gguf_type type) {
  char key[192];
  snprintf(key, sizeof key, "%s.%s", header->architecture, name);
  int64_t id = gguf_find_key(header->file, key);
  return id >= 0 && gguf_get_kv_type(header->file, id) == type ? id : -1;
}

static enum tombola_status check_layers(const struct header *header) {
  int64_t id = find(header, "block_count", GGUF_TYPE_UINT32);
  uint32_t layers = id >= 0 ? gguf_get_val_u32(header->file, id) : 1;
  if (layers >= 1 && layers <= MOST_LAYERS) return TOMBOLA_OK;
  return tombola__fail(header->error, TOMBOLA_FORMAT, "model",
                       "%s: the model has %u layers; 1 to %d are allowed", header->path, (unsigned)layers,
                       MOST_LAYERS);
}

/* The rotary encoding turns pairs of numbers. */
static enum tombola_status check_heads(const struct header *header) {
  int64_t rotated = find(header, "rope.dimension_count", GGUF_TYPE_UINT32);
  int64_t key = find(header, "attention.key_length", GGUF_TYPE_UINT32);
  int64_t width = find(header, "embedding_length", GGUF_TYPE_UINT32);
  int64_t count = find(header, "attention.head_count", GGUF_TYPE_UINT32);
  uint32_t heads = count >= 0 ? gguf_get_val_u32(header->file, count) : 0, length = 0;
  if (rotated >= 0)
    length = gguf_get_val_u32(header->file, rotated);
  else if (key >= 0)
    length = gguf_get_val_u32(header->file, key);
  else if (width >= 0 && heads > 0)
    length = gguf_get_val_u32(header->file, width) / heads;
  if (length % 2 == 0) return TOMBOLA_OK;
  return tombola__fail(header->error, TOMBOLA_FORMAT, "model",
                       "%s: %u numbers of a head are rotated, an odd number", header->path, (unsigned)length);
}

static enum tombola_status check_epsilons(const struct header *header) {
  static const char *const names[] = {"attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon",
                                      "attention.group_norm_epsilon"};
  for (size_t i = 0; i < TOMBOLA__COUNT(names); i++) {
    int64_t id = find(header, names[i], GGUF_TYPE_FLOAT32);
    if (id >= 0 && !(gguf_get_val_f32(header->file, id) >= 0))
      return tombola__fail(header->error, TOMBOLA_FORMAT, "model", "%s: %s is not 0 or more", header->path,
                           names[i]);
  }
  return TOMBOLA_OK;
}

/* FNV-1a. */
static size_t hash(const char *text) {
  uint64_t value = 0xCBF29CE484222325u;
  for (; *text; text++)
    value = (value ^ (unsigned char)*text) * 0x100000001B3u;
  return (size_t)value;
}

/* No spelling may be there twice. Empty ones may: libllama gives them names of their own. */
static enum tombola_status check_tokens(const struct header *header) {
  int64_t id = gguf_find_key(header->file, "tokenizer.ggml.tokens");
  if (id < 0 || gguf_get_kv_type(header->file, id) != GGUF_TYPE_ARRAY) return TOMBOLA_OK;
  if (gguf_get_arr_type(header->file, id) != GGUF_TYPE_STRING) return TOMBOLA_OK;
  size_t count = gguf_get_arr_n(header->file, id), places = 1;
  while (places < count * 2)
    places *= 2;
  const char **table = tombola__new(header->allocator, places, sizeof *table);
  if (!table) return tombola__no_memory(header->error);
  const char *twice = NULL;
  for (size_t i = 0; i < count && !twice; i++) {
    const char *text = gguf_get_arr_str(header->file, id, i);
    size_t place = hash(text) & (places - 1);
    while (table[place] && strcmp(table[place], text) != 0)
      place = (place + 1) & (places - 1);
    if (table[place] && text[0]) twice = text;
    table[place] = text;
  }
  tombola__free(header->allocator, table);
  if (!twice) return TOMBOLA_OK;
  return tombola__fail(header->error, TOMBOLA_FORMAT, "model", "%s: the token '%s' is there twice",
                       header->path, twice);
}

/* The first part of a model in several files may hold keys only. */
static enum tombola_status check_weights(const struct header *header) {
  bool split = gguf_find_key(header->file, "split.count") >= 0;
  if (split || gguf_get_n_tensors(header->file) > 0) return TOMBOLA_OK;
  return tombola__fail(header->error, TOMBOLA_UNSUPPORTED, "model",
                       "%s: the file has no weights (a vocabulary only?)", header->path);
}

static enum tombola_status check(struct header *header) {
  int64_t id = gguf_find_key(header->file, "general.architecture");
  if (id < 0 || gguf_get_kv_type(header->file, id) != GGUF_TYPE_STRING)
    return tombola__fail(header->error, TOMBOLA_FORMAT, "model",
                         "%s: the file doesn't say what kind of model it is", header->path);
  header->architecture = gguf_get_val_str(header->file, id);
  enum tombola_status status = check_weights(header);
  if (status == TOMBOLA_OK) status = check_layers(header);
  if (status == TOMBOLA_OK) status = check_heads(header);
  if (status == TOMBOLA_OK) status = check_epsilons(header);
  return status == TOMBOLA_OK ? check_tokens(header) : status;
}

enum tombola_status tombola__llama_check_header(const char *path, const struct tombola_allocator *allocator,
                                                struct tombola_error *error) {
  tombola__llama_log_clear();
  struct gguf_context *file =
      gguf_init_from_file(path, (struct gguf_init_params){.no_alloc = true, .ctx = NULL});
  if (!file) return tombola__llama_log_fail(error, path);
  struct header header = {.file = file, .allocator = allocator, .path = path, .error = error};
  enum tombola_status status = check(&header);
  gguf_free(file);
  return status;
}
