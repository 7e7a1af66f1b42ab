/* SPDX-License-Identifier: Apache-2.0 */
/* Scripts for the tests of the model, the scripted model and the session: written to a file of their own,
 * loaded, and the file removed again at once, since a script is whole in memory once it is loaded. */
#ifndef TESTS_SCRIPTS_H
#define TESTS_SCRIPTS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tombola/model.h>
#include <unistd.h>

#include "support.h"

/* Writes text to a new temporary file, whose name goes to `path` (at least 64 bytes). */
static inline void script_write(char *path, const char *json, size_t length) {
  snprintf(path, 64, "/tmp/tombola-script-XXXXXX");
  int file = mkstemp(path);
  assert_true(file >= 0);
  assert_int_equal(write(file, json, length), (ssize_t)length);
  assert_int_equal(close(file), 0);
}

static inline enum tombola_status script_load_text(const char *json, size_t length,
                                                   const struct tombola_model_params *params,
                                                   tombola_model **out, struct tombola_error *error) {
  char path[64], name[80];
  script_write(path, json, length);
  snprintf(name, sizeof name, "script:%s", path);
  const struct tombola_backend *backend = tombola_backend_scripted();
  enum tombola_status status = tombola_model_load(&backend, 1, name, params, out, error);
  unlink(path);
  return status;
}

static inline tombola_model *script_load(const char *json, const struct tombola_model_params *params) {
  tombola_model *model = NULL;
  struct tombola_error error = {.status = TOMBOLA_OK};
  if (script_load_text(json, strlen(json), params, &model, &error) != TOMBOLA_OK)
    fail_msg("script refused: %s", error.message);
  return model;
}

#endif
