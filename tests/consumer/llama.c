/* SPDX-License-Identifier: Apache-2.0 */
/* A program that links tombola::llama: loads a file that is no model, and gets a status. */
#include <stdio.h>
#include <string.h>
#include <tombola/llama.h>
#include <tombola/model.h>

int main(int argc, char **argv) {
  const struct tombola_backend *const backends[1] = {tombola_backend_llama()};
  struct tombola_error error;
  tombola_model *model = NULL;
  enum tombola_status status;

  memset(&error, 0, sizeof error);
  status = tombola_model_load(backends, 1, argc > 1 ? argv[1] : argv[0], NULL, &model, &error);
  tombola_model_free(model);
  printf("%s: %s\n", tombola_status_name(status), error.message);
  return status == TOMBOLA_OK || model != NULL;
}
