/* SPDX-License-Identifier: Apache-2.0 */
/* One request of `tombola sample` through the library, by public calls only. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sample.h"

void sample_request_free(struct sample_request *request) {
  free(request->samplers);
  free(request->sampler_text);
  free(request->bias);
  free(request->fallback_bias);
  free(request->suppress);
  free(request->breakers);
  free(request->breaker_text);
  free(request->row.memory);
  free(request->history);
  free(request->mask_words);
  free(request->watch);
  memset(request, 0, sizeof *request);
}

void sample_result_free(struct sample_result *result) {
  free(result->kept);
  free(result->tokens);
  tombola_trace_free(result->trace);
  memset(result, 0, sizeof *result);
}

enum tombola_status sample_request_mask(struct sample_request *request, const tombola_token *ids, size_t n,
                                        size_t count, struct tombola_error *error) {
  free(request->mask_words);
  request->mask_words = calloc((count + 31) / 32, sizeof *request->mask_words);
  request->mask_count = count;
  if (!request->mask_words) return sample_fail(error, TOMBOLA_NO_MEMORY, "mask", "out of memory");
  for (size_t i = 0; i < n; i++) {
    if (ids[i] < 0 || (size_t)ids[i] >= count)
      return sample_fail(error, TOMBOLA_INVALID_ARGUMENT, "mask",
                         "mask: token %d is outside the row (0 to %zu)", (int)ids[i], count - 1);
    request->mask_words[ids[i] / 32] |= (uint32_t)1 << (ids[i] % 32);
  }
  return TOMBOLA_OK;
}

/* The reason that a call on a sampler failed; a sampler always has one, but a status must never go without a
 * text. */
static enum tombola_status explain(const tombola_sampler *sampler, enum tombola_status status,
                                   struct tombola_error *error) {
  const struct tombola_error *reason = tombola_sampler_error(sampler);
  if (reason && reason->status == status) {
    *error = *reason;
    return status;
  }
  return sample_fail(error, status, "", "%s", tombola_status_text(status));
}

static enum tombola_status list_and_draw(tombola_sampler *sampler, const struct sample_request *request,
                                         struct sample_result *result) {
  const struct tombola_row *row = &request->row.row;
  const struct tombola_mask mask = {request->mask_words, request->mask_count, NULL, 0};
  const struct tombola_mask *allowed = request->mask_words ? &mask : NULL;
  for (size_t i = 0; i < request->n_history; i++) {
    enum tombola_status status = tombola_sampler_accept(sampler, request->history[i]);
    if (status != TOMBOLA_OK) return status;
  }
  enum tombola_status status =
      tombola_candidates(sampler, row, allowed, result->kept, row->count, &result->n_kept);
  for (size_t i = 0; status == TOMBOLA_OK && i < request->draws; i++) {
    if (i == 0 && result->trace)
      status = tombola_sampler_trace(sampler, row, allowed, result->trace, &result->tokens[i]);
    else
      status = tombola_sampler_sample(sampler, row, allowed, &result->tokens[i]);
    result->n_tokens = i + 1;
  }
  return status;
}

static enum tombola_status check_ids(const char *name, const tombola_token *ids, size_t n, size_t count,
                                     struct tombola_error *error) {
  for (size_t i = 0; i < n; i++)
    if (ids[i] < 0 || (size_t)ids[i] >= count)
      return sample_fail(error, TOMBOLA_INVALID_ARGUMENT, name, "%s: token %d is outside the row (0 to %zu)",
                         name, (int)ids[i], count - 1);
  return TOMBOLA_OK;
}

enum tombola_status sample_request_run(const struct sample_request *request, struct sample_result *result,
                                       struct tombola_error *error) {
  tombola_sampler *sampler = NULL;
  memset(result, 0, sizeof *result);
  size_t count = request->row.row.count;
  enum tombola_status status = check_ids("history", request->history, request->n_history, count, error);
  if (status == TOMBOLA_OK) status = check_ids("watch", request->watch, request->n_watch, count, error);
  if (status == TOMBOLA_OK)
    status = tombola_sampler_new(&request->params, NULL, request->row.row.count, NULL, &sampler, error);
  if (status != TOMBOLA_OK) return status;
  result->kept = malloc(request->row.row.count * sizeof *result->kept);
  result->tokens = malloc((request->draws + 1) * sizeof *result->tokens);
  if (request->trace) status = tombola_trace_new(sampler, &result->trace);
  if (status || !result->kept || !result->tokens) {
    status = sample_fail(error, TOMBOLA_NO_MEMORY, "", "out of memory");
  } else {
    status = list_and_draw(sampler, request, result);
    if (status != TOMBOLA_OK) explain(sampler, status, error);
  }
  result->seed = tombola_sampler_seed(sampler);
  tombola_sampler_describe(sampler, result->chain, sizeof result->chain);
  tombola_sampler_free(sampler);
  return status;
}
