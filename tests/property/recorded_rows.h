/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that the default model computes while the test runs. */
#ifndef RECORDED_ROWS_H
#define RECORDED_ROWS_H

#include <stdbool.h>
#include <stddef.h>

struct recorded_rows {
  float *logits; /* count rows of vocab */
  size_t count, vocab;
};

/* Reads a text with the default model and keeps the logits of up to `count` positions. False when the model
 * isn't in the cache (scripts/default-model puts it there). */
bool recorded_rows_make(struct recorded_rows *rows, size_t count);
void recorded_rows_free(struct recorded_rows *rows);

/* The default model without its weights, for its vocabulary; NULL when it isn't in the cache. */
struct llama_model *recorded_rows_vocabulary(void);

#endif
