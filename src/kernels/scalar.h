/* SPDX-License-Identifier: Apache-2.0 */
/* What the instruction sets' files share with the scalar one, and the tables that dispatch.c chooses from. */
#ifndef TOMBOLA_KERNELS_SCALAR_H
#define TOMBOLA_KERNELS_SCALAR_H

#include "kernels.h"

#include <stdbool.h>
#include <stddef.h>

extern const struct tombola__kernels tombola__kernels_scalar;

/* The table for x86-64 with AVX2, FMA and F16C; NULL when this machine or this build hasn't got it. */
const struct tombola__kernels *tombola__kernels_avx2(void);
/* The table for 64-bit ARM; NULL elsewhere. */
const struct tombola__kernels *tombola__kernels_neon(void);

/* load64 of the table; the other sets use it for the last, short block of a row. */
void tombola__scalar_load64(const struct tombola_row *row, const uint32_t *mask, size_t block, float *out);

/* load64 with -inf for what is below the part's low. */
void tombola__scalar_load_part(const struct tombola__part *part, size_t block, float *out);

/* The allowed tokens of a block as 64 bits, tokens that the row doesn't have left out. */
uint64_t tombola__allowed64(size_t count, const uint32_t *mask, size_t block);

static inline size_t tombola__block_count(size_t count) {
  return count / TOMBOLA__BLOCK + (count % TOMBOLA__BLOCK != 0);
}

#endif
