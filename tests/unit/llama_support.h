/* SPDX-License-Identifier: Apache-2.0 */
/* For the tests of the backend over libllama: the default model, loaded for one thread. */
#ifndef LLAMA_SUPPORT_H
#define LLAMA_SUPPORT_H

#include "support.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tombola/llama.h>
#include <tombola/model.h>
#include <unistd.h>

enum { EXIT_SKIPPED = 77 };

/* Where scripts/default-model puts the model; false when it isn't there. */
static inline bool support_default_model(char *path, size_t size) {
  const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME"), *given = getenv("TOMBOLA_TEST_MODEL");
  static const char file[] = "tombola/models/SmolLM2-135M-Instruct.Q4_1.gguf";
  if (given)
    snprintf(path, size, "%s", given);
  else if (cache && cache[0])
    snprintf(path, size, "%s/%s", cache, file);
  else
    snprintf(path, size, "%s/.cache/%s", home ? home : "", file);
  return access(path, R_OK) == 0;
}

static inline enum tombola_status support_load(const char *path, const struct tombola_model_params *params,
                                               tombola_model **model, struct tombola_error *error) {
  const struct tombola_backend *const backends[] = {tombola_backend_llama()};
  return tombola_model_load(backends, 1, path, params, model, error);
}

/* Small and with one thread, so that tests can run side by side. */
static inline struct tombola_model_params support_params(size_t context, size_t sequences) {
  return (struct tombola_model_params){.struct_size = sizeof(struct tombola_model_params),
                                       .context = context,
                                       .sequences = sequences,
                                       .threads = 1};
}

#define assert_ok(call) assert_int_equal((call), TOMBOLA_OK)

#endif
