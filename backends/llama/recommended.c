/* SPDX-License-Identifier: Apache-2.0 */
/* What a GGUF file recommends for sampling: its keys "general.sampling.*" (llama.cpp's enum llama_model_meta_key). */
#include <tombola/llama.h>

#include "backend.h"

#include <gguf.h>
#include <stdio.h>
#include <string.h>

static const char prefix[] = "general.sampling.";

/* The value as text; NULL for a type that no such key has. */
static const char *text_of(const struct gguf_context *file, int64_t id, char *room, size_t size) {
  enum gguf_type type = gguf_get_kv_type(file, id);
  if (type == GGUF_TYPE_STRING) return gguf_get_val_str(file, id);
  if (type == GGUF_TYPE_FLOAT32)
    snprintf(room, size, "%.9g", (double)gguf_get_val_f32(file, id));
  else if (type == GGUF_TYPE_INT32)
    snprintf(room, size, "%d", (int)gguf_get_val_i32(file, id));
  else if (type == GGUF_TYPE_UINT32)
    snprintf(room, size, "%u", (unsigned)gguf_get_val_u32(file, id));
  else
    return NULL;
  return room;
}

enum tombola_status tombola_llama_recommended(const char *path, tombola_llama_recommended_fn each,
                                              void *context) {
  struct gguf_init_params params = {.no_alloc = true, .ctx = NULL};
  tombola__llama_start();
  tombola__llama_log_clear();
  struct gguf_context *file = gguf_init_from_file(path, params);
  if (!file) return TOMBOLA_FORMAT;
  for (int64_t id = 0; id < gguf_get_n_kv(file); id++) {
    const char *key = gguf_get_key(file, id);
    char room[32];
    if (strncmp(key, prefix, sizeof prefix - 1) != 0) continue;
    const char *text = text_of(file, id, room, sizeof room);
    if (text) each(context, key + sizeof prefix - 1, text);
  }
  gguf_free(file);
  return TOMBOLA_OK;
}
