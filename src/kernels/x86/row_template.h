/* SPDX-License-Identifier: Apache-2.0 */
/* The AVX2 kernels over a row, written once and included by avx2.c once for each dtype with
 *   NAME(x)         the function's name for this dtype
 *   LOAD8(data, i)  elements i to i + 7 as eight floats
 * Each function exists without and with a mask: the `_any` ones are always inlined, and a mask that is the constant
 * NULL leaves no branch behind. The last, short block goes through the scalar load64. */

/* Vector k of block b, masked-out tokens as -inf. */
static inline AVX2_INLINE __m256 NAME(load_vector)(const void *data, const uint32_t *mask, size_t b, size_t k) {
  __m256 x = LOAD8(data, b * TOMBOLA__BLOCK + 8 * k);
  return mask ? mask_vector(x, mask, b, k) : x;
}

/* The lanewise maxima of a full block; *nan collects lanes in which a NaN was seen. Two vectors share a comparison,
 * since "unordered" holds if either is NaN. */
static inline AVX2_INLINE __m256 NAME(lanes_of_block)(const void *data, const uint32_t *mask, size_t b, __m256 *nan) {
  __m256 x0 = NAME(load_vector)(data, mask, b, 0), x1 = NAME(load_vector)(data, mask, b, 1);
  __m256 x2 = NAME(load_vector)(data, mask, b, 2), x3 = NAME(load_vector)(data, mask, b, 3);
  __m256 x4 = NAME(load_vector)(data, mask, b, 4), x5 = NAME(load_vector)(data, mask, b, 5);
  __m256 x6 = NAME(load_vector)(data, mask, b, 6), x7 = NAME(load_vector)(data, mask, b, 7);
  __m256 n0 = _mm256_or_ps(_mm256_cmp_ps(x0, x1, _CMP_UNORD_Q), _mm256_cmp_ps(x2, x3, _CMP_UNORD_Q));
  __m256 n1 = _mm256_or_ps(_mm256_cmp_ps(x4, x5, _CMP_UNORD_Q), _mm256_cmp_ps(x6, x7, _CMP_UNORD_Q));
  *nan = _mm256_or_ps(*nan, _mm256_or_ps(n0, n1));
  __m256 m0 = _mm256_max_ps(_mm256_max_ps(x0, x1), _mm256_max_ps(x2, x3));
  __m256 m1 = _mm256_max_ps(_mm256_max_ps(x4, x5), _mm256_max_ps(x6, x7));
  return _mm256_max_ps(m0, m1);
}

/* The same where most blocks of a mask have all tokens or none, as those of constraints have. */
static inline AVX2_INLINE __m256 NAME(block_lanes)(const void *data, const uint32_t *mask, size_t b, __m256 *nan) {
  if (!mask) return NAME(lanes_of_block)(data, NULL, b, nan);
  uint64_t allowed = mask_block(mask, b);
  if (allowed == UINT64_MAX) return NAME(lanes_of_block)(data, NULL, b, nan);
  if (allowed == 0) return _mm256_set1_ps(-__builtin_inff());
  return NAME(lanes_of_block)(data, mask, b, nan);
}

static inline AVX2_INLINE int NAME(block_max_any)(const struct tombola_row *row, const uint32_t *mask, float *maxima) {
  const void *data = row->data;
  size_t full = row->count / TOMBOLA__BLOCK, b = 0;
  __m256 nan = _mm256_setzero_ps();
  for (; b + 8 <= full; b += 8) {
    __m256 p01 = max_pair(NAME(block_lanes)(data, mask, b, &nan), NAME(block_lanes)(data, mask, b + 1, &nan));
    __m256 p23 = max_pair(NAME(block_lanes)(data, mask, b + 2, &nan), NAME(block_lanes)(data, mask, b + 3, &nan));
    __m256 q0 = max_quad(p01, p23);
    __m256 p45 = max_pair(NAME(block_lanes)(data, mask, b + 4, &nan), NAME(block_lanes)(data, mask, b + 5, &nan));
    __m256 p67 = max_pair(NAME(block_lanes)(data, mask, b + 6, &nan), NAME(block_lanes)(data, mask, b + 7, &nan));
    _mm256_storeu_ps(maxima + b, positive_zero(max_octet(q0, max_quad(p45, p67))));
  }
  for (; b < full; b++)
    maxima[b] = max_lanes(NAME(block_lanes)(data, mask, b, &nan));
  int found = _mm256_movemask_ps(nan) != 0;
  return full < tombola__block_count(row->count) ? found | last_block_max(row, mask, maxima) : found;
}

static AVX2 int NAME(block_max)(const struct tombola_row *row, const uint32_t *mask, float *maxima) {
  return mask ? NAME(block_max_any)(row, mask, maxima) : NAME(block_max_any)(row, NULL, maxima);
}

static inline AVX2_INLINE void NAME(block_expsum_any)(const struct tombola_row *row, const uint32_t *mask,
                                                      const float *maxima, float max, float scale, float *sums) {
  size_t full = row->count / TOMBOLA__BLOCK;
  __m256 vmax = _mm256_set1_ps(max), vscale = _mm256_set1_ps(scale);
  for (size_t b = 0; b < full; b++) {
    sums[b] = 0.0f;
    if (!((maxima[b] - max) * scale >= EXP_CUT)) continue;
    __m256 sum = weigh8(NAME(load_vector)(row->data, mask, b, 0), vmax, vscale);
    for (size_t k = 1; k < 8; k++)
      sum = _mm256_add_ps(sum, weigh8(NAME(load_vector)(row->data, mask, b, k), vmax, vscale));
    sums[b] = sum_lanes(sum);
  }
  if (full < tombola__block_count(row->count)) last_block_expsum(row, mask, max, scale, sums);
}

static AVX2 void NAME(block_expsum)(const struct tombola_row *row, const uint32_t *mask, const float *maxima, float max,
                                    float scale, float *sums) {
  if (mask)
    NAME(block_expsum_any)(row, mask, maxima, max, scale, sums);
  else
    NAME(block_expsum_any)(row, NULL, maxima, max, scale, sums);
}

static AVX2 void NAME(load64)(const struct tombola_row *row, const uint32_t *mask, size_t block, float *out) {
  if (block >= row->count / TOMBOLA__BLOCK) {
    tombola__scalar_load64(row, mask, block, out);
    return;
  }
  for (size_t k = 0; k < 8; k++)
    _mm256_storeu_ps(out + 8 * k, NAME(load_vector)(row->data, mask, block, k));
}

/* NaN is never between two bounds, so a masked-out NaN needs no care here; only the mask's bits do. */
static inline AVX2_INLINE size_t NAME(gather_block)(const struct tombola_row *row, const uint32_t *mask, size_t b,
                                                    __m256 low, __m256 high, struct tombola__entry *entries,
                                                    size_t count) {
  for (size_t k = 0; k < 8; k++) {
    __m256 x = LOAD8(row->data, b * TOMBOLA__BLOCK + 8 * k);
    unsigned chosen = between(x, low, high);
    if (mask) chosen &= mask_byte(mask, b, k);
    count = append(x, chosen, b * TOMBOLA__BLOCK + 8 * k, entries, count); /* also none: no branch to mispredict */
  }
  return count;
}

static AVX2 void NAME(gather)(const struct tombola_row *row, const uint32_t *mask, const float *maxima, size_t first,
                              size_t last, float low, float high, size_t limit, struct tombola__entry *entries,
                              struct tombola__gather *out) {
  size_t full = row->count / TOMBOLA__BLOCK, b = first, count = out->count;
  __m256 vlow = _mm256_set1_ps(low), vhigh = _mm256_set1_ps(high);
  while (b < last && count < limit) {
    b = next_reaching(maxima, b, last, low);
    if (b == last) break;
    if (b < full)
      count = NAME(gather_block)(row, mask, b, vlow, vhigh, entries, count);
    else
      count = gather_last_block(row, mask, vlow, vhigh, entries, count);
    b++;
  }
  *out = (struct tombola__gather){count, b};
}

/* ---- parts ---- */

static inline AVX2_INLINE void NAME(part_expsum_any)(const struct tombola__part *part, const uint32_t *mask,
                                                     float max, float scale, float *sums) {
  size_t full = part->row->count / TOMBOLA__BLOCK;
  __m256 vmax = _mm256_set1_ps(max), vscale = _mm256_set1_ps(scale), vlow = _mm256_set1_ps(part->low);
  for (size_t b = part->first; b < part->last; b++) {
    sums[b] = 0.0f;
    if (!(part->maxima[b] >= part->low && (part->maxima[b] - max) * scale >= EXP_CUT)) continue;
    if (b == full) {
      float x[TOMBOLA__BLOCK];
      tombola__scalar_load_part(part, b, x);
      sums[b] = expsum64(x, max, scale, x);
      break;
    }
    __m256 sum = _mm256_setzero_ps();
    for (size_t k = 0; k < 8; k++) {
      __m256 x = NAME(load_vector)(part->row->data, mask, b, k);
      __m256 w = weigh8(x, vmax, vscale);
      sum = _mm256_add_ps(sum, _mm256_and_ps(w, _mm256_cmp_ps(x, vlow, _CMP_GE_OQ)));
    }
    sums[b] = sum_lanes(sum);
  }
}

static AVX2 void NAME(part_expsum)(const struct tombola__part *part, float max, float scale, float *sums) {
  if (part->mask)
    NAME(part_expsum_any)(part, part->mask, max, scale, sums);
  else
    NAME(part_expsum_any)(part, NULL, max, scale, sums);
}

static inline AVX2_INLINE double NAME(part_entropy_any)(const struct tombola__part *part, const uint32_t *mask,
                                                        float max, float scale, float *sums) {
  size_t full = part->row->count / TOMBOLA__BLOCK;
  __m256 vmax = _mm256_set1_ps(max), vscale = _mm256_set1_ps(scale), vlow = _mm256_set1_ps(part->low);
  __m256 cut = _mm256_set1_ps(EXP_CUT);
  double total = 0.0;
  for (size_t b = part->first; b < part->last; b++) {
    sums[b] = 0.0f;
    if (!(part->maxima[b] >= part->low && (part->maxima[b] - max) * scale >= EXP_CUT)) continue;
    if (b == full) {
      float x[TOMBOLA__BLOCK], spread;
      tombola__scalar_load_part(part, b, x);
      sums[b] = entropy64(x, max, scale, &spread);
      return total + (double)spread;
    }
    __m256 sum = _mm256_setzero_ps(), product = sum;
    for (size_t k = 0; k < 8; k++) {
      __m256 x = NAME(load_vector)(part->row->data, mask, b, k);
      __m256 y = _mm256_mul_ps(_mm256_sub_ps(x, vmax), vscale);
      __m256 w = _mm256_and_ps(exp8(y), _mm256_cmp_ps(x, vlow, _CMP_GE_OQ));
      sum = _mm256_add_ps(sum, w);
      product = _mm256_add_ps(product, _mm256_mul_ps(w, _mm256_max_ps(y, cut)));
    }
    sums[b] = sum_lanes(sum);
    total += (double)sum_lanes(product);
  }
  return total;
}

static AVX2 double NAME(part_entropy)(const struct tombola__part *part, float max, float scale, float *sums) {
  return part->mask ? NAME(part_entropy_any)(part, part->mask, max, scale, sums)
                    : NAME(part_entropy_any)(part, NULL, max, scale, sums);
}

/* Most blocks have no -inf, which would show in the squares: only then is each value looked at. */
static inline AVX2_INLINE void NAME(block_moments)(const struct tombola__part *part, const uint32_t *mask, size_t b,
                                                   __m256 low, __m256 origin, bool whole, struct lanes *l) {
  const void *data = part->row->data;
  struct block_lanes s = {_mm256_setzero_ps(), _mm256_setzero_ps()};
  if (whole) {
    for (size_t k = 0; k < 8; k++) {
      __m256 d = _mm256_sub_ps(NAME(load_vector)(data, mask, b, k), origin);
      s.sum = _mm256_add_ps(s.sum, d);
      s.squares = _mm256_fmadd_ps(d, d, s.squares);
    }
    __m256 finite = _mm256_cmp_ps(s.squares, _mm256_set1_ps(__builtin_inff()), _CMP_LT_OQ);
    whole = _mm256_movemask_ps(finite) == 255;
    l->count += whole ? TOMBOLA__BLOCK : 0;
  }
  if (!whole) {
    s = (struct block_lanes){_mm256_setzero_ps(), _mm256_setzero_ps()};
    for (size_t k = 0; k < 8; k++)
      add_some(&s, &l->count, NAME(load_vector)(data, mask, b, k), low, origin);
  }
  end_block(l, &s);
}

static inline AVX2_INLINE void NAME(part_moments_any)(const struct tombola__part *part, const uint32_t *mask,
                                                      float origin, struct tombola__moments *moments) {
  size_t full = part->row->count / TOMBOLA__BLOCK;
  __m256 vlow = _mm256_set1_ps(part->low), vorigin = _mm256_set1_ps(origin);
  struct lanes l = no_lanes();
  for (size_t b = part->first; b < part->last; b++) {
    if (!(part->maxima[b] >= part->low)) continue;
    if (b == full) {
      float values[TOMBOLA__BLOCK];
      tombola__scalar_load_part(part, b, values);
      add_loaded(&l, values, origin);
      break;
    }
    NAME(block_moments)(part, mask, b, vlow, vorigin, part->low == -FLT_MAX, &l);
  }
  end_moments(&l, moments);
}

static AVX2 void NAME(part_moments)(const struct tombola__part *part, float origin,
                                    struct tombola__moments *moments) {
  if (part->mask)
    NAME(part_moments_any)(part, part->mask, origin, moments);
  else
    NAME(part_moments_any)(part, NULL, origin, moments);
}

#undef NAME
#undef LOAD8
