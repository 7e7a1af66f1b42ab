/* SPDX-License-Identifier: Apache-2.0 */
/* tombola::llama: models of libllama (GGUF files), and a sampler that other programs over libllama can use.
 * libllama's own header isn't needed to include this one. */
#ifndef TOMBOLA_LLAMA_H
#define TOMBOLA_LLAMA_H

#include <tombola/model.h>
#include <tombola/sampler.h>

#ifdef __cplusplus
extern "C" {
#endif

struct llama_sampler;

/* The backend for GGUF files. Give it to tombola_model_load().
 *
 * It runs on libllama's GPU devices when there are any, otherwise on the CPU. Encoder-decoder, embedding and
 * diffusion models are UNSUPPORTED.
 *
 * Each sequence has its own part of the cache, so that one sequence's rows don't depend on where the others
 * stand. `copy` therefore copies the buffers (before the next decode) and needs an empty target. `shift`
 * doesn't notice when it moves onto taken positions, and some models can't do it, more of them with an i8
 * cache. Recurrent models (Mamba, RWKV) and hybrids can't shift, nor forget or copy a part of a sequence; all
 * that is UNSUPPORTED, and a decode that fails empties the sequences of theirs that it touched.
 *
 * The first load sends libllama's log, which the whole process shares, to this backend: it is silent, and its
 * errors end up in the tombola_error. A program that wants the log calls llama_log_set() after its first
 * load.
 *
 * libllama is C++: where it runs out of memory inside a decode it ends the process, and no status can say so.
 */
TOMBOLA_API const struct tombola_backend *tombola_backend_llama(void);

/* The chat templates that libllama knows by name; static strings. Writes at most `capacity` of them, returns
 * how many there are. Any thread. */
TOMBOLA_API size_t tombola_llama_templates(const char **names, size_t capacity);

/* Given each sampling value that a GGUF file recommends: the key behind "general.sampling." ("top_k", "temp",
 * "penalty_repeat"; llama.cpp's names) and the value as text. Both are valid during the call. */
typedef void (*tombola_llama_recommended_fn)(void *context, const char *key, const char *value);

/* Reads a file's keys, not its weights, and tells the recommended values in the file's order. FORMAT when it
 * can't be read as GGUF. Any thread. */
TOMBOLA_API enum tombola_status tombola_llama_recommended(const char *path, tombola_llama_recommended_fn each,
                                                          void *context);

/* The libllama that this was built with, "0.5.0-dev (0c1e570)"; static. */
TOMBOLA_API const char *tombola_llama_version(void);

/* A llama_sampler that chooses as `sampler` does, to end a llama_sampler_chain or to stand alone.
 * `vocab_size` is what the sampler was made for. NULL when there is no memory or an argument is missing;
 * `sampler` then stays the caller's, otherwise llama_sampler_free() frees both. Belongs to one thread at a
 * time.
 *
 * Apply sets `selected` and leaves the candidates as they are; tokens that an earlier sampler has removed
 * can't be chosen. When the sampler fails, `selected` is -1 and tombola_sampler_error() says why:
 * llama_sampler_apply() leaves that to the caller, llama_sampler_sample() ends the process on it, as for any
 * sampler that selects nothing.
 *
 * Accept tells the sampler, and ignores an id outside the vocabulary; llama_sampler_sample() does it itself.
 * Reset forgets the history and starts the generator again. Clone makes a second one in the same state, or
 * NULL when there is no memory. */
TOMBOLA_API struct llama_sampler *tombola_llama_sampler(tombola_sampler *sampler, size_t vocab_size);

#ifdef __cplusplus
}
#endif
#endif
