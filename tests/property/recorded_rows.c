/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the default model, by libllama alone, so that nothing of ours stands between the model and the
 * test. */
#include "recorded_rows.h"

#include <llama.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char text[] =
    "The drum turned slowly while the crowd waited. Inside it lay ninety numbered slips, folded twice, and "
    "nobody but "
    "the clerk had seen them. \"Five numbers,\" he called, \"and not one more!\" An old woman counted her "
    "coins: 3, 7, "
    "12, 40. If the first slip was hers, she would pay the baker; if the second came too, she would pay the "
    "rent.\n\n"
    "def draw(weights, u):\n    total = sum(weights)\n    running = 0.0\n    for i, w in "
    "enumerate(weights):\n"
    "        running += w\n        if running >= u * total:\n            return i\n\n"
    "| city | country |\n| Paris | France |\n| Rome | Italy |\n| Madrid | Spain |\n| Berlin |";

#define MAX_TOKENS 256

static void silent(enum ggml_log_level level, const char *message, void *context) {
  (void)level;
  (void)message;
  (void)context;
}

static bool model_path(char *path, size_t size) {
  static const char name[] = "tombola/models/SmolLM2-135M-Instruct.Q4_1.gguf";
  const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  if (cache && *cache)
    snprintf(path, size, "%s/%s", cache, name);
  else
    snprintf(path, size, "%s/.cache/%s", home ? home : "", name);
  FILE *file = fopen(path, "rb");
  if (file) fclose(file);
  return file != NULL;
}

/* Decodes all tokens in one batch and copies the logits of the last `rows->count`. */
static bool record(struct llama_model *model, struct llama_context *context, struct recorded_rows *rows,
                   size_t count) {
  const struct llama_vocab *vocab = llama_model_get_vocab(model);
  llama_token tokens[MAX_TOKENS];
  int n = llama_tokenize(vocab, text, (int32_t)strlen(text), tokens, MAX_TOKENS, true, false);
  if (n <= 0) return false;
  struct llama_batch batch = llama_batch_init(n, 0, 1);
  batch.n_tokens = n;
  for (int i = 0; i < n; i++) {
    batch.token[i] = tokens[i];
    batch.pos[i] = i;
    batch.n_seq_id[i] = 1;
    batch.seq_id[i][0] = 0;
    batch.logits[i] = 1;
  }
  bool done = llama_decode(context, batch) == 0;
  rows->vocab = (size_t)llama_vocab_n_tokens(vocab);
  rows->count = (size_t)n < count ? (size_t)n : count;
  rows->logits = malloc(rows->count * rows->vocab * sizeof *rows->logits);
  for (size_t i = 0; done && rows->logits && i < rows->count; i++)
    memcpy(rows->logits + i * rows->vocab,
           llama_get_logits_ith(context, (int32_t)((size_t)n - rows->count + i)),
           rows->vocab * sizeof *rows->logits);
  llama_batch_free(batch);
  return done && rows->logits;
}

bool recorded_rows_make(struct recorded_rows *rows, size_t count) {
  char path[4096];
  memset(rows, 0, sizeof *rows);
  if (!model_path(path, sizeof path)) return false;
  llama_log_set(silent, NULL);
  llama_backend_init();
  struct llama_model *model = llama_model_load_from_file(path, llama_model_default_params());
  struct llama_context_params params = llama_context_default_params();
  params.n_ctx = params.n_batch = params.n_ubatch = MAX_TOKENS;
  params.n_threads = params.n_threads_batch = 2;
  struct llama_context *context = model ? llama_init_from_model(model, params) : NULL;
  bool done = context && record(model, context, rows, count);
  llama_free(context);
  llama_model_free(model);
  return done;
}

void recorded_rows_free(struct recorded_rows *rows) {
  free(rows->logits);
  rows->logits = NULL;
}

struct llama_model *recorded_rows_vocabulary(void) {
  char path[4096];
  if (!model_path(path, sizeof path)) return NULL;
  llama_log_set(silent, NULL);
  llama_backend_init();
  struct llama_model_params params = llama_model_default_params();
  params.vocab_only = true;
  return llama_model_load_from_file(path, params);
}
