/* SPDX-License-Identifier: Apache-2.0 */
/* Divisibility of decimals. A modulus is 2^a * 5^b * c with c prime to 10: whether digits * 10^t is a multiple is a
 * matter of c and the digits alone, and of a least t. So no exponent, however large, is ever multiplied out. */
#include "constraint/number/number_internal.h"

#define MOST_D   ((uint64_t)1 << 63) /* d and c of moduli without `big` are below */
#define FIVE_13  1220703125
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

/* The same from c in the room. */
static bool complete_big(struct tombola__modulus *m, struct tombola__big_modulus *room) {
  struct tombola__big *const d = &room->d;
  const int64_t twos = m->a > m->b ? m->a - m->b : 0, fives = m->b > m->a ? m->b - m->a : 0;
  tombola__big_copy(d, &room->c);
  for (int64_t left = twos; left > 0 && d->n <= TOMBOLA__BIG_LIMBS; left -= 31)
    tombola__big_scale(d, UINT32_C(1) << (left < 31 ? left : 31), 0);
  for (int64_t left = fives; left > 0 && d->n <= TOMBOLA__BIG_LIMBS; left -= left < 13 ? 1 : 13)
    tombola__big_scale(d, left < 13 ? 5 : FIVE_13, 0);
  m->e = m->a < m->b ? m->a : m->b;
  m->c = m->d = 0;
  m->big = room;
  return d->n <= TOMBOLA__BIG_LIMBS;
}

bool tombola__modulus_of(const struct tombola__decimal *m, struct tombola__big_modulus *room,
                         struct tombola__modulus *out) {
  uint64_t c;
  *out = (struct tombola__modulus){.a = m->exponent, .b = m->exponent};
  if (m->length == 0 || m->length > TOMBOLA__BIG_DIGITS) return false;
  if (tombola__digits_value(m->digits, m->length, &c) && c < MOST_D) {
    for (; c % 2 == 0; c /= 2)
      out->a++;
    for (; c % 5 == 0; c /= 5)
      out->b++;
    out->c = c;
    if (complete(out)) return true;
  }
  tombola__big_read(&room->c, m->digits, m->length);
  out->a = m->exponent + tombola__big_take_out(&room->c, 2, UINT32_MAX);
  out->b = m->exponent + tombola__big_take_out(&room->c, 5, UINT32_MAX);
  return complete_big(out, room);
}

static void c_of(const struct tombola__modulus *m, struct tombola__big *c) {
  if (m->big)
    tombola__big_copy(c, &m->big->c);
  else
    tombola__big_of(c, m->c);
}

static void d_of(const struct tombola__modulus *m, struct tombola__big *d) {
  if (m->big)
    tombola__big_copy(d, &m->big->d);
  else
    tombola__big_of(d, m->d);
}

static bool lcm_big(const struct tombola__modulus *x, const struct tombola__modulus *y,
                    struct tombola__big_modulus *room, struct tombola__modulus *out) {
  struct tombola__big c, other, common;
  c_of(x, &c);
  c_of(y, &other);
  tombola__big_gcd(&common, &c, &other);
  tombola__big_divide(&other, &common, &room->d, &common); /* `other` without what both have */
  tombola__big_times(&room->c, &c, &room->d);
  return room->c.n <= TOMBOLA__BIG_LIMBS && complete_big(out, room);
}

bool tombola__modulus_lcm(const struct tombola__modulus *x, const struct tombola__modulus *y,
                          struct tombola__big_modulus *room, struct tombola__modulus *out) {
  struct tombola__modulus m = {.a = x->a > y->a ? x->a : y->a, .b = x->b > y->b ? x->b : y->b};
  bool good = !x->big && !y->big;
  if (good) {
    const uint64_t factor = y->c / gcd(x->c, y->c);
    good = x->c < MOST_D / factor;
    m.c = good ? x->c * factor : 0;
    good = good && complete(&m);
  } else if (tombola__modulus_divides(x, y)) {
    m = *y;
    good = true;
  } else if (tombola__modulus_divides(y, x)) {
    m = *x;
    good = true;
  }
  if (!good && !lcm_big(x, y, room, &m)) return false;
  *out = m;
  return true;
}

static bool same_big(const void *item, const void *key) {
  const struct tombola__big_modulus *const x = item, *const y = key;
  return tombola__big_compare(&x->d, &y->d) == 0; /* c follows from d */
}

bool tombola__modulus_keep(struct tombola__store *s, struct tombola__modulus *m) {
  if (!m->big) return true;
  struct tombola__table *const table = &s->numbers->moduli;
  uint64_t hash = m->big->d.n;
  for (uint32_t i = 0; i < m->big->d.n; i++)
    hash = tombola__mix(hash, m->big->d.limb[i]);
  const struct tombola__big_modulus *const known = tombola__table_find(table, hash, same_big, m->big, NULL);
  if (known) {
    m->big = known;
    return true;
  }
  struct tombola__big_modulus *const kept = tombola__store_take(s, 1, sizeof *kept);
  if (!kept) return false;
  tombola__big_copy(&kept->c, &m->big->c);
  tombola__big_copy(&kept->d, &m->big->d);
  m->big = kept;
  return tombola__table_add(s, table, hash, kept);
}

bool tombola__modulus_divides(const struct tombola__modulus *x, const struct tombola__modulus *y) {
  if (x->a > y->a || x->b > y->b) return false;
  if (!x->big && !y->big) return y->c % x->c == 0;
  struct tombola__big c, other;
  c_of(x, &c);
  c_of(y, &other);
  tombola__big_divide(&other, &c, NULL, &other);
  return other.n == 0;
}

int tombola__modulus_order(const struct tombola__modulus *x, const struct tombola__modulus *y) {
  if (!x->big != !y->big) return x->big ? 1 : -1;
  const int order = x->big ? tombola__big_compare(&x->big->c, &y->big->c) : (x->c > y->c) - (x->c < y->c);
  if (order) return order;
  if (x->a != y->a) return x->a < y->a ? -1 : 1;
  return (x->b > y->b) - (x->b < y->b);
}

/* ---- divisibility ---- */

/* How often 2 divides the digits (at most 63: a modulus below 2^63 can't tell the difference). The last 64 of
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

/* The remainder of the digits modulo d says all: d is 2^(a - b) * c or 5^(b - a) * c. */
static int64_t from_big(const struct tombola__modulus *m, const struct tombola__decimal *x) {
  struct tombola__big rest, c;
  tombola__big_digits_mod(&rest, x->digits, x->length, &m->big->d);
  if (rest.n == 0) return m->e;
  tombola__big_divide(&rest, &m->big->c, NULL, &c);
  if (c.n) return TOMBOLA__EXPONENTS;
  if (m->a > m->b) {
    const int64_t most = m->a - m->b, twos = tombola__big_twos(&rest);
    return m->a - (twos < most ? twos : most);
  }
  return m->b - tombola__big_take_out(&rest, 5, (uint32_t)(m->b - m->a));
}

int64_t tombola__modulus_from(const struct tombola__modulus *m, const struct tombola__decimal *x) {
  if (m->big) return from_big(m, x);
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

/* How far the multiples within bounds are from whole units of 10^e: they are in floor(lo) + up to floor(hi) - down. */
struct margins {
  uint64_t up, down;
};

static struct margins margins_of(const struct tombola__modulus *m, const struct tombola__bounds *b) {
  return (struct margins){
      .up = !b->lo->length || b->lo->exponent >= m->e ? b->lo_open : 1,
      .down = !b->hi->length || b->hi->exponent >= m->e ? b->hi_open : 0,
  };
}

/* The same as difference(), of any size; false: far more than 2^64 times d. */
static bool difference_big(const struct tombola__decimal *hi, const struct tombola__decimal *lo, int64_t e,
                           const struct tombola__big *d, struct tombola__big *out) {
  const int64_t last = hi->exponent < lo->exponent || !lo->length ? hi->exponent : lo->exponent;
  out->n = 0;
  for (int64_t place = tombola__point(hi) - 1; place >= e;) {
    int64_t digits = 0;
    uint32_t scale = 1;
    if (out->n == 0 && place < last) return true;
    if (out->n > d->n + 3) return false;
    for (int i = 0; i < 9 && place >= e; i++, place--, scale *= 10)
      digits = digits * 10 + digit_at(hi, place) - digit_at(lo, place);
    tombola__big_scale(out, scale, digits);
  }
  return true;
}

static void units_mod_big(const struct tombola__decimal *x, int64_t e, const struct tombola__big *m,
                          struct tombola__big *out) {
  const int64_t places = tombola__point(x) - e;
  out->n = 0;
  if (!x->length || places <= 0) return;
  tombola__big_digits_mod(out, x->digits, places < (int64_t)x->length ? (uint64_t)places : x->length, m);
  if (places <= (int64_t)x->length) return;
  struct tombola__big ten, product;
  tombola__big_ten_mod(&ten, x->exponent - e, m);
  tombola__big_times(&product, out, &ten);
  tombola__big_divide(&product, m, NULL, out);
}

static uint64_t within_big(const struct tombola__modulus *m, const struct tombola__bounds *b) {
  const struct margins margins = margins_of(m, b);
  struct tombola__big d, width, first, other;
  d_of(m, &d);
  if (!difference_big(b->hi, b->lo, m->e, &d, &width)) return UINT64_MAX;
  tombola__big_of(&other, margins.up + margins.down);
  if (tombola__big_compare(&width, &other) < 0) return 0;
  tombola__big_subtract(&width, &other);
  /* The first multiple is -(lo + up) modulo d behind. */
  units_mod_big(b->lo, m->e, &d, &first);
  tombola__big_of(&other, margins.up);
  tombola__big_add(&first, &other);
  tombola__big_divide(&first, &d, NULL, &first);
  if (first.n) {
    tombola__big_copy(&other, &d);
    tombola__big_subtract(&other, &first);
    tombola__big_copy(&first, &other);
  }
  if (tombola__big_compare(&width, &first) < 0) return 0;
  tombola__big_subtract(&width, &first);
  tombola__big_divide(&width, &d, &other, &first);
  uint64_t n;
  return tombola__big_value(&other, &n) && n < UINT64_MAX ? n + 1 : UINT64_MAX;
}

uint64_t tombola__multiples_within(const struct tombola__modulus *m, const struct tombola__bounds *bounds) {
  const struct tombola__decimal *const lo = bounds->lo, *const hi = bounds->hi;
  const int order = tombola__magnitude_compare(lo, hi);
  if (order > 0 || (order == 0 && (bounds->lo_open || bounds->hi_open))) return 0;
  if (m->big) return within_big(m, bounds);
  const struct margins margins = margins_of(m, bounds);
  uint64_t width = difference(hi, lo, m->e);
  if (width < margins.up + margins.down) return 0;
  if (width == UINT64_MAX) return within_big(m, bounds);
  width -= margins.up + margins.down;
  const uint64_t r = add_mod(units_mod(lo, m->e, m->d), margins.up, m->d), first = r ? m->d - r : 0;
  return first > width ? 0 : (width - first) / m->d + 1;
}
