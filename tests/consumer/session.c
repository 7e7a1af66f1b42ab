/* SPDX-License-Identifier: Apache-2.0 */
/* A program that links tombola::session: loads a scripted model that isn't there, and gets a status. */
#include <stdio.h>
#include <string.h>
#include <tombola/session.h>

int main(void) {
  const struct tombola_backend *const backends[1] = {tombola_backend_scripted()};
  struct tombola_error error;
  tombola_model *model = NULL;
  enum tombola_status status;

  memset(&error, 0, sizeof error);
  status = tombola_model_load(backends, 1, "script:/nonexistent/model.json", NULL, &model, &error);
  tombola_model_free(model);
  printf("%s: %s\n", tombola_status_name(status), error.message);
  return status == TOMBOLA_OK || model != NULL;
}
