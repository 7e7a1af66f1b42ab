/* SPDX-License-Identifier: Apache-2.0 */
/* Natural numbers of some thousand digits, the way they are reckoned with on paper, 32 bits at a time. */
#include "constraint/number/number_big.h"

#include <string.h>

#define CHUNK 9 /* digits that fit into a limb */

static const uint32_t tens[CHUNK + 1] = {1,      10,      100,      1000,      10000,
                                         100000, 1000000, 10000000, 100000000, 1000000000};

static void trim(struct tombola__big *a) {
  while (a->n && !a->limb[a->n - 1])
    a->n--;
}

/* ---- making ---- */

void tombola__big_of(struct tombola__big *out, uint64_t value) {
  out->n = 2;
  out->limb[0] = (uint32_t)value;
  out->limb[1] = (uint32_t)(value >> 32);
  trim(out);
}

void tombola__big_copy(struct tombola__big *out, const struct tombola__big *a) {
  out->n = a->n;
  if (a->n) memmove(out->limb, a->limb, a->n * sizeof *a->limb);
}

static uint32_t chunk_of(const char *digits, uint64_t n) {
  uint32_t value = 0;
  for (uint64_t i = 0; i < n; i++)
    value = value * 10 + (uint32_t)(digits[i] - '0');
  return value;
}

void tombola__big_read(struct tombola__big *out, const char *digits, size_t n) {
  out->n = 0;
  for (size_t i = 0; i < n; i += CHUNK) {
    const size_t part = n - i < CHUNK ? n - i : CHUNK;
    tombola__big_scale(out, tens[part], chunk_of(digits + i, part));
  }
}

/* ---- asking ---- */

int tombola__big_compare(const struct tombola__big *a, const struct tombola__big *b) {
  if (a->n != b->n) return a->n < b->n ? -1 : 1;
  for (uint32_t i = a->n; i-- > 0;)
    if (a->limb[i] != b->limb[i]) return a->limb[i] < b->limb[i] ? -1 : 1;
  return 0;
}

bool tombola__big_value(const struct tombola__big *a, uint64_t *value) {
  if (a->n > 2) return false;
  *value = (a->n > 1 ? (uint64_t)a->limb[1] << 32 : 0) | (a->n ? a->limb[0] : 0);
  return true;
}

uint32_t tombola__big_twos(const struct tombola__big *a) {
  uint32_t n = 0;
  while (!(a->limb[n / 32] >> n % 32 & 1))
    n += a->limb[n / 32] >> n % 32 ? 1 : 32 - n % 32;
  return n;
}

/* ---- sums and products ---- */

void tombola__big_scale(struct tombola__big *a, uint32_t factor, int64_t more) {
  int64_t carry = more;
  for (uint32_t i = 0; i < a->n; i++) {
    /* factor * limb is below 2^64 - 2^33, the carry within +-2^32. */
    const uint64_t sum = (uint64_t)factor * a->limb[i] + (uint64_t)carry;
    const bool below = carry < 0 && (uint64_t)factor * a->limb[i] < (uint64_t)-carry;
    a->limb[i] = (uint32_t)sum;
    carry = below ? -1 : (int64_t)(sum >> 32);
  }
  if (carry > 0) a->limb[a->n++] = (uint32_t)carry;
  trim(a);
}

void tombola__big_add(struct tombola__big *a, const struct tombola__big *b) {
  uint64_t carry = 0;
  for (uint32_t i = 0; i < b->n || carry; i++) {
    if (i == a->n) a->limb[a->n++] = 0;
    carry += (uint64_t)a->limb[i] + (i < b->n ? b->limb[i] : 0);
    a->limb[i] = (uint32_t)carry;
    carry >>= 32;
  }
}

void tombola__big_subtract(struct tombola__big *a, const struct tombola__big *b) {
  uint64_t borrow = 0;
  for (uint32_t i = 0; i < b->n || borrow; i++) {
    const uint64_t less = borrow + (i < b->n ? b->limb[i] : 0);
    borrow = a->limb[i] < less;
    a->limb[i] = (uint32_t)(a->limb[i] - less);
  }
  trim(a);
}

void tombola__big_times(struct tombola__big *out, const struct tombola__big *a,
                        const struct tombola__big *b) {
  out->n = a->n + b->n;
  memset(out->limb, 0, out->n * sizeof *out->limb);
  for (uint32_t i = 0; i < a->n; i++) {
    uint64_t carry = 0;
    for (uint32_t j = 0; j < b->n; j++) {
      carry += (uint64_t)a->limb[i] * b->limb[j] + out->limb[i + j];
      out->limb[i + j] = (uint32_t)carry;
      carry >>= 32;
    }
    out->limb[i + b->n] = (uint32_t)carry;
  }
  trim(out);
}

/* ---- quotients ---- */

uint32_t tombola__big_shrink(struct tombola__big *a, uint32_t divisor) {
  uint64_t rest = 0;
  for (uint32_t i = a->n; i-- > 0;) {
    rest = rest << 32 | a->limb[i];
    a->limb[i] = (uint32_t)(rest / divisor);
    rest %= divisor;
  }
  trim(a);
  return (uint32_t)rest;
}

/* a * 2^shift, shift below 32, in one limb more than a has. */
static void shifted(uint32_t *out, const struct tombola__big *a, unsigned shift) {
  uint64_t carry = 0;
  for (uint32_t i = 0; i < a->n; i++) {
    carry |= (uint64_t)a->limb[i] << shift;
    out[i] = (uint32_t)carry;
    carry >>= 32;
  }
  out[a->n] = (uint32_t)carry;
}

/* u -= v * q over n limbs and one more; whether that is below 0. */
static bool subtract_times(uint32_t *u, const uint32_t *v, uint32_t n, uint64_t q) {
  uint64_t carry = 0, borrow = 0;
  for (uint32_t i = 0; i < n; i++) {
    carry += q * v[i];
    const uint64_t less = (uint32_t)carry + borrow;
    borrow = u[i] < less;
    u[i] = (uint32_t)(u[i] - less);
    carry >>= 32;
  }
  const bool below = u[n] < carry + borrow;
  u[n] = (uint32_t)(u[n] - carry - borrow);
  return below;
}

static void add_back(uint32_t *u, const uint32_t *v, uint32_t n) {
  uint64_t carry = 0;
  for (uint32_t i = 0; i < n; i++) {
    carry += (uint64_t)u[i] + v[i];
    u[i] = (uint32_t)carry;
    carry >>= 32;
  }
  u[n] += (uint32_t)carry;
}

/* A digit of the quotient from the first two digits of the rest and the divisor's first: at most 2 too large, and with
 * the second ones looked at, at most 1 (Knuth, The Art of Computer Programming, 4.3.1, algorithm D). */
static uint64_t guess(const uint32_t *u, const uint32_t *v, uint32_t n) {
  const uint64_t base = (uint64_t)1 << 32, top = (uint64_t)u[n] << 32 | u[n - 1];
  uint64_t q = top / v[n - 1], rest = top % v[n - 1];
  while (q >= base || q * v[n - 2] > (rest << 32 | u[n - 2])) {
    q--;
    rest += v[n - 1];
    if (rest >= base) break;
  }
  return q;
}

void tombola__big_divide(const struct tombola__big *a, const struct tombola__big *b,
                         struct tombola__big *quotient, struct tombola__big *rest) {
  if (tombola__big_compare(a, b) < 0) {
    if (rest != a) tombola__big_copy(rest, a);
    if (quotient) quotient->n = 0;
    return;
  }
  if (b->n == 1) {
    struct tombola__big whole;
    tombola__big_copy(&whole, a);
    tombola__big_of(rest, tombola__big_shrink(&whole, b->limb[0]));
    if (quotient) tombola__big_copy(quotient, &whole);
    return;
  }
  uint32_t u[TOMBOLA__BIG_ROOM + 1], v[TOMBOLA__BIG_ROOM + 1];
  const uint32_t n = b->n, digits = a->n - n + 1;
  unsigned shift = 0;
  while (!(b->limb[n - 1] << shift >> 31))
    shift++;
  shifted(u, a, shift);
  shifted(v, b, shift);
  for (uint32_t j = digits; j-- > 0;) {
    uint64_t q = guess(u + j, v, n);
    if (subtract_times(u + j, v, n, q)) {
      q--;
      add_back(u + j, v, n);
    }
    if (quotient) quotient->limb[j] = (uint32_t)q;
  }
  if (quotient) {
    quotient->n = digits;
    trim(quotient);
  }
  rest->n = n;
  for (uint32_t i = 0; i < n; i++)
    rest->limb[i] = (uint32_t)(((uint64_t)u[i + 1] << 32 | u[i]) >> shift);
  trim(rest);
}

uint32_t tombola__big_take_out(struct tombola__big *a, uint32_t prime, uint32_t most) {
  const uint32_t power = prime == 2 ? UINT32_C(1) << 31 : 1220703125; /* 5^13 */
  const uint32_t step = prime == 2 ? 31 : 13;
  struct tombola__big left;
  uint32_t n = 0;
  for (tombola__big_copy(&left, a); most - n >= step && !tombola__big_shrink(&left, power); n += step)
    tombola__big_copy(a, &left);
  for (tombola__big_copy(&left, a); n < most && !tombola__big_shrink(&left, prime); n++)
    tombola__big_copy(a, &left);
  return n;
}

void tombola__big_gcd(struct tombola__big *out, const struct tombola__big *a, const struct tombola__big *b) {
  struct tombola__big x, rest;
  tombola__big_copy(&x, a);
  tombola__big_copy(out, b);
  while (x.n) {
    tombola__big_divide(out, &x, NULL, &rest);
    tombola__big_copy(out, &x);
    tombola__big_copy(&x, &rest);
  }
}

/* ---- modulo m ---- */

void tombola__big_digits_mod(struct tombola__big *out, const char *digits, uint64_t n,
                             const struct tombola__big *m) {
  out->n = 0;
  for (uint64_t i = 0; i < n; i += CHUNK) {
    const uint64_t part = n - i < CHUNK ? n - i : CHUNK;
    tombola__big_scale(out, tens[part], chunk_of(digits + i, part));
    if (out->n > m->n + 64) tombola__big_divide(out, m, NULL, out);
  }
  tombola__big_divide(out, m, NULL, out);
}

void tombola__big_ten_mod(struct tombola__big *out, int64_t power, const struct tombola__big *m) {
  struct tombola__big base, product;
  tombola__big_of(&base, 10);
  tombola__big_divide(&base, m, NULL, &base);
  tombola__big_of(out, 1);
  tombola__big_divide(out, m, NULL, out);
  for (; power > 0; power >>= 1) {
    if (power & 1) {
      tombola__big_times(&product, out, &base);
      tombola__big_divide(&product, m, NULL, out);
    }
    tombola__big_times(&product, &base, &base);
    tombola__big_divide(&product, m, NULL, &base);
  }
}
