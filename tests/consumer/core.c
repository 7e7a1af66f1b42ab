/* SPDX-License-Identifier: Apache-2.0 */
/* A program that uses the core as a stranger would: a row in, a token out. Also compiled as C++. */
#include <stdio.h>
#include <string.h>
#include <tombola/tombola.h>

static int failed(const char *what, const struct tombola_error *error) {
  fprintf(stderr, "%s: %s\n", what, error->message);
  return 1;
}

int main(void) {
  static const float logits[5] = {0.5f, 1.0f, 4.0f, -1.0f, 2.0f};
  struct tombola_row row;
  struct tombola_error error;
  struct tombola_sampler_params params;
  tombola_sampler *sampler = NULL;
  tombola_token token = TOMBOLA_NO_TOKEN;

  memset(&error, 0, sizeof error);
  memset(&params, 0, sizeof params);
  params.struct_size = sizeof params;
  if (tombola_sampler_params_default(&params, "llama.cpp", &error) != TOMBOLA_OK) return failed("defaults", &error);
  params.temperature = 0.0f;
  if (tombola_sampler_new(&params, NULL, 5, NULL, &sampler, &error) != TOMBOLA_OK) return failed("new", &error);
  row.data = logits;
  row.count = 5;
  row.dtype = TOMBOLA_F32;
  if (tombola_sampler_sample(sampler, &row, NULL, &token) != TOMBOLA_OK) {
    return failed("sample", tombola_sampler_error(sampler));
  }
  tombola_sampler_free(sampler);
  printf("tombola %s drew token %d\n", tombola_version(), (int)token);
  return token == 2 && strcmp(tombola_version(), TOMBOLA_VERSION_STRING) == 0 ? 0 : 1;
}
