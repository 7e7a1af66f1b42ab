/* SPDX-License-Identifier: Apache-2.0 */
/* Divisibility of decimals. A modulus is 2^a * 5^b * c with c prime to 10: whether digits * 10^t is a multiple is a
 * matter of c and the digits alone, and of a least t. So no exponent, however large, is ever multiplied out. */
#include "number_internal.h"

#define MOST_D   ((uint64_t)1 << 63) /* moduli's d and c are below */
#define FIVE_27  UINT64_C(7450580596923828125)
#define FAST_MOD (UINT64_MAX / 10 - 1) /* r * 10 + 9 fits for r below it */

/* ---- arithmetic modulo m < 2^63 ---- */

static uint64_t add_mod(uint64_t x, uint64_t y, uint64_t m) {
  return (x + y) % m;
}

static uint64_t times_mod(uint64_t x, uint64_t y, uint64_t m) {
  uint64_t product = 0;
  for (x %= m; y > 0; y >>= 1) {
    if (y & 1) product = add_mod(product, x, m);
    x = add_mod(x, x, m);
  }
  return product;
}

static uint64_t ten_to_mod(int64_t power, uint64_t m) {
  uint64_t result = 1 % m, base = 10 % m;
  for (; power > 0; power >>= 1) {
    if (power & 1) result = times_mod(result, base, m);
    base = times_mod(base, base, m);
  }
  return result;
}

static uint64_t digits_mod(const char *digits, uint64_t n, uint64_t m) {
  uint64_t r = 0;
  for (uint64_t i = 0; i < n; i++) {
    const uint64_t digit = (uint64_t)(digits[i] - '0');
    if (m < FAST_MOD) {
      r = (r * 10 + digit) % m;
    } else {
      const uint64_t twice = add_mod(r, r, m), four = add_mod(twice, twice, m);
      r = add_mod(add_mod(add_mod(four, four, m), twice, m), digit % m, m);
    }
  }
  return r;
}

/* ---- moduli ---- */

static uint64_t gcd(uint64_t x, uint64_t y) {
  while (y) {
    const uint64_t r = x % y;
    x = y;
    y = r;
  }
  return x;
}

/* d and e from a, b and c. */
static bool complete(struct tombola__modulus *m) {
  m->e = m->a < m->b ? m->a : m->b;
  m->d = m->c;
  for (int64_t i = m->e; i < m->a; i++) {
    if (m->d >= MOST_D / 2) return false;
    m->d *= 2;
  }
  for (int64_t i = m->e; i < m->b; i++) {
    if (m->d >= MOST_D / 5) return false;
    m->d *= 5;
  }
  return true;
}

bool tombola__modulus_of(const struct tombola__decimal *m, struct tombola__modulus *out) {
  uint64_t c;
  if (!tombola__digits_value(m->digits, m->length, &c) || c >= MOST_D || c == 0) return false;
  *out = (struct tombola__modulus){.a = m->exponent, .b = m->exponent};
  for (; c % 2 == 0; c /= 2)
    out->a++;
  for (; c % 5 == 0; c /= 5)
    out->b++;
  out->c = c;
  return complete(out);
}

bool tombola__modulus_lcm(const struct tombola__modulus *x, const struct tombola__modulus *y,
                          struct tombola__modulus *out) {
  const uint64_t factor = y->c / gcd(x->c, y->c);
  struct tombola__modulus m = {.a = x->a > y->a ? x->a : y->a, .b = x->b > y->b ? x->b : y->b};
  if (x->c >= MOST_D / factor) return false;
  m.c = x->c * factor;
  if (!complete(&m)) return false;
  *out = m;
  return true;
}

bool tombola__modulus_divides(const struct tombola__modulus *x, const struct tombola__modulus *y) {
  return x->a <= y->a && x->b <= y->b && y->c % x->c == 0;
}

/* How often 2 divides the digits (at most 63, so that a modulus can't tell the difference: d < 2^63). The last 64 of
 * them say, as 10^64 is a multiple of 2^64. */
static int64_t twos(const struct tombola__decimal *x) {
  uint64_t low = 0;
  for (uint32_t i = x->length > 64 ? x->length - 64 : 0; i < x->length; i++)
    low = low * 10 + (uint64_t)(x->digits[i] - '0');
  int64_t n = 0;
  for (; n < 63 && low % 2 == 0; low /= 2)
    n++;
  return n;
}

/* The same of 5, at most 27: 5^28 is beyond 2^63. */
static int64_t fives(const struct tombola__decimal *x) {
  const uint32_t from = x->length > 27 ? x->length - 27 : 0;
  uint64_t low = digits_mod(x->digits + from, x->length - from, FIVE_27);
  int64_t n = 0;
  for (; n < 27 && low % 5 == 0; low /= 5)
    n++;
  return n;
}

int64_t tombola__modulus_from(const struct tombola__modulus *m, const struct tombola__decimal *x) {
  if (m->c != 1) {
    uint64_t value;
    if (x->length <= 19 && tombola__digits_value(x->digits, x->length, &value)) {
      if (value % m->c) return TOMBOLA__EXPONENTS;
    } else if (digits_mod(x->digits, x->length, m->c)) {
      return TOMBOLA__EXPONENTS;
    }
  }
  /* The digits aren't a multiple of 10, so that 2 or 5 doesn't divide them. */
  if (m->a == m->b) return m->a;
  int64_t a = m->a, b = m->b;
  if (a > b)
    a -= twos(x);
  else
    b -= fives(x);
  return a > b ? a : b;
}

/* ---- counting ---- */

static int digit_at(const struct tombola__decimal *d, int64_t place) {
  const int64_t i = tombola__point(d) - 1 - place;
  return i >= 0 && i < (int64_t)d->length ? d->digits[i] - '0' : 0;
}

/* floor(hi / 10^e) - floor(lo / 10^e), hi not below lo; cut at UINT64_MAX. */
static uint64_t difference(const struct tombola__decimal *hi, const struct tombola__decimal *lo, int64_t e) {
  const int64_t last = hi->exponent < lo->exponent || !lo->length ? hi->exponent : lo->exponent;
  uint64_t d = 0;
  if (!hi->length) return 0;
  for (int64_t place = tombola__point(hi) - 1; place >= e; place--) {
    if (d == 0 && place < last) return 0; /* no digits of either any more */
    if (d > (UINT64_MAX - 9) / 10) return UINT64_MAX;
    d = d * 10 + (uint64_t)(digit_at(hi, place) - digit_at(lo, place));
  }
  return d;
}

/* floor(x / 10^e) modulo m */
static uint64_t units_mod(const struct tombola__decimal *x, int64_t e, uint64_t m) {
  const int64_t places = tombola__point(x) - e;
  if (!x->length || places <= 0) return 0;
  if (places <= (int64_t)x->length) return digits_mod(x->digits, (uint64_t)places, m);
  return times_mod(digits_mod(x->digits, x->length, m), ten_to_mod(x->exponent - e, m), m);
}

uint64_t tombola__multiples_within(const struct tombola__modulus *m, const struct tombola__bounds *bounds,
                                   bool *at_least) {
  const struct tombola__decimal *lo = bounds->lo, *hi = bounds->hi;
  *at_least = false;
  const int order = tombola__magnitude_compare(lo, hi);
  if (order > 0 || (order == 0 && (bounds->lo_open || bounds->hi_open))) return 0;
  /* In units of 10^e: from floor(lo) + up to floor(hi) - down. */
  const uint64_t up = !lo->length || lo->exponent >= m->e ? bounds->lo_open : 1;
  const uint64_t down = !hi->length || hi->exponent >= m->e ? bounds->hi_open : 0;
  uint64_t width = difference(hi, lo, m->e);
  if (width < up + down) return 0;
  *at_least = width == UINT64_MAX;
  if (*at_least)
    width = UINT64_MAX / 2; /* safely below; and m->d fits into it */
  else
    width -= up + down;
  const uint64_t r = add_mod(units_mod(lo, m->e, m->d), up, m->d), first = r ? m->d - r : 0;
  return first > width ? 0 : (width - first) / m->d + 1;
}
