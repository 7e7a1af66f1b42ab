/* SPDX-License-Identifier: Apache-2.0 */
/* Writes GGUF files of some kilobytes: a decoder of one layer with seeded weights in f32 and a vocabulary of
 * SentencePiece's kind, whole or with something wrong. Nothing is rounded to a few bits in it, so rows can be
 * compared narrowly. */
#ifndef TINY_GGUF_H
#define TINY_GGUF_H

#include "support.h"

#include <ggml.h>
#include <gguf.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum tiny_kind {
  TINY_WHOLE,
  TINY_NO_TENSORS,  /* only a vocabulary */
  TINY_EMBEDDING,   /* attends to both sides */
  TINY_NO_BYTES,    /* no byte-fallback tokens */
  TINY_SMALL_HEADS, /* two heads of 32 instead of one of 64 */
  TINY_NO_LAYERS,   /* its number of layers is 0 */
  TINY_ODD_HEADS,   /* 64 heads of one number */
  TINY_BAD_EPSILON, /* below 0 */
  TINY_TWICE,       /* one word twice */
  TINY_NO_START     /* asks for a start token that it doesn't have */
};

enum { TINY_WIDTH = 64, TINY_HIDDEN = 128, TINY_WORDS = 6, TINY_CONTEXT = 1024 };

/* Ids: 0 unknown, 1 start, 2 end, then the words, then the bytes. */
enum { TINY_UNKNOWN, TINY_START, TINY_END, TINY_FIRST_WORD };
enum { TINY_FIRST_BYTE = TINY_FIRST_WORD + TINY_WORDS };

/* The first is an ordinary piece that is spelt like a byte; U+2581 is a space. */
static const char *const tiny_words[TINY_WORDS] = {"<0xEA>", "\xE2\x96\x81", "\xE2\x96\x81the", "the",
                                                   "x",      "\xE2\x98\x83"};

static inline size_t tiny_count(enum tiny_kind kind) {
  return kind == TINY_NO_BYTES ? TINY_FIRST_BYTE : TINY_FIRST_BYTE + 255;
}

static inline struct ggml_tensor *tiny_tensor(struct ggml_context *context, struct gguf_context *file,
                                              const char *name, int64_t columns, int64_t rows,
                                              struct support_rng *rng) {
  struct ggml_tensor *tensor = rows == 1 ? ggml_new_tensor_1d(context, GGML_TYPE_F32, columns)
                                         : ggml_new_tensor_2d(context, GGML_TYPE_F32, columns, rows);
  ggml_set_name(tensor, name);
  float *data = tensor->data;
  for (int64_t i = 0; i < columns * rows; i++) {
    float uniform = (float)support_uniform(rng) * 2 - 1;
    data[i] = rows == 1 ? 1 : uniform / 4;
  }
  gguf_add_tensor(file, tensor);
  return tensor;
}

static inline void tiny_weights(struct ggml_context *context, struct gguf_context *file, int64_t count) {
  static const struct {
    const char *name;
    int64_t columns, rows;
  } layer[] = {{"blk.0.attn_norm.weight", TINY_WIDTH, 1},
               {"blk.0.attn_q.weight", TINY_WIDTH, TINY_WIDTH},
               {"blk.0.attn_k.weight", TINY_WIDTH, TINY_WIDTH},
               {"blk.0.attn_v.weight", TINY_WIDTH, TINY_WIDTH},
               {"blk.0.attn_output.weight", TINY_WIDTH, TINY_WIDTH},
               {"blk.0.ffn_norm.weight", TINY_WIDTH, 1},
               {"blk.0.ffn_gate.weight", TINY_WIDTH, TINY_HIDDEN},
               {"blk.0.ffn_down.weight", TINY_HIDDEN, TINY_WIDTH},
               {"blk.0.ffn_up.weight", TINY_WIDTH, TINY_HIDDEN},
               {"output_norm.weight", TINY_WIDTH, 1}};
  struct support_rng rng = support_rng(7);
  tiny_tensor(context, file, "token_embd.weight", TINY_WIDTH, count, &rng);
  tiny_tensor(context, file, "output.weight", TINY_WIDTH, count, &rng);
  for (size_t i = 0; i < sizeof layer / sizeof *layer; i++)
    tiny_tensor(context, file, layer[i].name, layer[i].columns, layer[i].rows, &rng);
}

static inline void tiny_vocabulary(struct gguf_context *file, enum tiny_kind kind) {
  enum { MOST = TINY_FIRST_BYTE + 255, NORMAL = 1, UNKNOWN = 2, CONTROL = 3, BYTE = 6 };
  static char bytes[256][8];
  const char *tokens[MOST];
  float scores[MOST] = {0};
  int32_t types[MOST];
  size_t count = tiny_count(kind);
  tokens[TINY_UNKNOWN] = "<unk>", tokens[TINY_START] = "<s>", tokens[TINY_END] = "</s>";
  types[TINY_UNKNOWN] = UNKNOWN, types[TINY_START] = types[TINY_END] = CONTROL;
  for (size_t i = 0; i < TINY_WORDS; i++) {
    tokens[TINY_FIRST_WORD + i] = tiny_words[i];
    types[TINY_FIRST_WORD + i] = NORMAL;
  }
  if (kind == TINY_TWICE) tokens[TINY_FIRST_WORD + 4] = tiny_words[3];
  /* The spelling of byte 0xEA is taken by the word, so that byte has no token. */
  for (size_t byte = 0, i = TINY_FIRST_BYTE; i < count; byte++) {
    if (byte == 0xEA) continue;
    snprintf(bytes[byte], sizeof bytes[byte], "<0x%02X>", (unsigned)byte);
    tokens[i] = bytes[byte];
    types[i++] = BYTE;
  }
  gguf_set_val_str(file, "tokenizer.ggml.model", "llama");
  gguf_set_arr_str(file, "tokenizer.ggml.tokens", tokens, count);
  gguf_set_arr_data(file, "tokenizer.ggml.scores", GGUF_TYPE_FLOAT32, scores, count);
  gguf_set_arr_data(file, "tokenizer.ggml.token_type", GGUF_TYPE_INT32, types, count);
  gguf_set_val_u32(file, "tokenizer.ggml.eos_token_id", TINY_END);
  gguf_set_val_u32(file, "tokenizer.ggml.bos_token_id", kind == TINY_NO_START ? UINT32_MAX : TINY_START);
}

/* False when the file can't be written. */
static inline bool tiny_write(const char *path, enum tiny_kind kind) {
  struct gguf_context *file = gguf_init_empty();
  struct ggml_context *context = ggml_init((struct ggml_init_params){.mem_size = 1 << 20});
  gguf_set_val_str(file, "general.architecture", "llama");
  gguf_set_val_u32(file, "llama.context_length", TINY_CONTEXT);
  gguf_set_val_u32(file, "llama.embedding_length", TINY_WIDTH);
  gguf_set_val_u32(file, "llama.block_count", kind == TINY_NO_LAYERS ? 0 : 1);
  gguf_set_val_u32(file, "llama.feed_forward_length", TINY_HIDDEN);
  gguf_set_val_u32(file, "llama.attention.head_count",
                   kind == TINY_SMALL_HEADS ? 2
                   : kind == TINY_ODD_HEADS ? TINY_WIDTH
                                            : 1);
  gguf_set_val_f32(file, "llama.attention.layer_norm_rms_epsilon", kind == TINY_BAD_EPSILON ? -1 : 1e-5f);
  if (kind == TINY_EMBEDDING) gguf_set_val_bool(file, "llama.attention.causal", false);
  tiny_vocabulary(file, kind);
  if (kind != TINY_NO_TENSORS) tiny_weights(context, file, (int64_t)tiny_count(kind));
  bool written = gguf_write_to_file(file, path, false);
  ggml_free(context);
  gguf_free(file);
  return written;
}

#endif
