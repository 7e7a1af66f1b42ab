/* SPDX-License-Identifier: Apache-2.0 */
/* Many rows at once. Nothing is shared between rows but plans, which never change, so a row's token can't
 * depend on the others. */
#include "internal.h"

/* Marks the samplers as seen; false when one is missing or was seen before. `n` counts those marked. */
static bool mark(struct tombola_batch_row *rows, size_t count, size_t *n) {
  for (*n = 0; *n < count; ++*n) {
    tombola_sampler *sampler = rows[*n].sampler;
    if (!sampler || sampler->in_batch) return false;
    sampler->in_batch = true;
  }
  return true;
}

enum tombola_status tombola_sample_batch(struct tombola_batch_row *rows, size_t count) {
  size_t marked;
  bool good = mark(rows, count, &marked);
  for (size_t i = 0; i < marked; i++)
    rows[i].sampler->in_batch = false;
  enum tombola_status first = TOMBOLA_OK;
  for (size_t i = 0; i < count; i++) {
    struct tombola_batch_row *r = &rows[i];
    r->token = TOMBOLA_NO_TOKEN;
    r->status = TOMBOLA_INVALID_ARGUMENT;
    if (good) r->status = tombola_sampler_sample(r->sampler, &r->row, r->mask, &r->token);
    if (!first) first = r->status;
  }
  return first;
}
