/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers beyond 64 bits: the arithmetic by itself, moduli and bounds of many digits, and sets of many single numbers.
 * Sets that are written in two ways (multiples in an interval, and the same numbers one by one) must agree on every
 * text. */
#include "numbers_support.h"

#include <stdio.h>

#include "constraint/number/number_big.h"

/* ---- arithmetic ---- */

static void random_big(struct support_rng *rng, uint32_t most, struct tombola__big *out) {
  static const uint32_t special[] = {
      0, 1, UINT32_MAX, UINT32_MAX - 1, UINT32_C(1) << 31, (UINT32_C(1) << 31) - 1};
  out->n = (uint32_t)support_below(rng, most + 1);
  for (uint32_t i = 0; i < out->n; i++)
    out->limb[i] = support_below(rng, 2) ? special[support_below(rng, 6)] : support_u32(rng);
  while (out->n && !out->limb[out->n - 1])
    out->n--;
}

static void divisions_come_back(void **state) {
  (void)state;
  struct support_rng rng = support_rng(3);
  static struct tombola__big a, b, quotient, rest, back, other;
  for (size_t i = 0; i < 200000; i++) {
    const uint32_t most = i % 1000 ? 6 : TOMBOLA__BIG_LIMBS;
    random_big(&rng, 2 * most, &a);
    random_big(&rng, most, &b);
    if (!b.n) continue;
    tombola__big_divide(&a, &b, &quotient, &rest);
    assert_true(tombola__big_compare(&rest, &b) < 0);
    tombola__big_times(&back, &quotient, &b);
    tombola__big_add(&back, &rest);
    assert_int_equal(tombola__big_compare(&back, &a), 0);
    tombola__big_subtract(&back, &rest);
    tombola__big_divide(&back, &b, &other, &rest);
    assert_int_equal(rest.n, 0);
    assert_int_equal(tombola__big_compare(&other, &quotient), 0);
    tombola__big_divide(&a, &b, NULL, &a); /* in place */
    tombola__big_divide(&a, &b, NULL, &other);
    assert_int_equal(tombola__big_compare(&a, &other), 0);
  }
}

/* Against 64 bits. */
static void small_ones_are_as_usual(void **state) {
  (void)state;
  struct support_rng rng = support_rng(4);
  static struct tombola__big a, b, c;
  for (size_t i = 0; i < 100000; i++) {
    uint64_t x = (uint64_t)support_u32(&rng) << 32 | support_u32(&rng), y, value;
    x >>= support_below(&rng, 64);
    y = support_u32(&rng) >> support_below(&rng, 31);
    if (!x || !y) continue;
    char digits[32];
    const int n = snprintf(digits, sizeof digits, "%llu", (unsigned long long)x);
    tombola__big_read(&a, digits, (size_t)n);
    assert_true(tombola__big_value(&a, &value) && value == x);
    tombola__big_of(&b, y);
    tombola__big_digits_mod(&c, digits, (uint64_t)n, &b);
    assert_true(tombola__big_value(&c, &value) && value == x % y);
    uint64_t g = x, h = y;
    while (h) {
      const uint64_t r = g % h;
      g = h;
      h = r;
    }
    tombola__big_gcd(&c, &a, &b);
    assert_true(tombola__big_value(&c, &value) && value == g);
    uint32_t twos = 0, fives = 0;
    while (!(x >> twos & 1))
      twos++;
    assert_int_equal(tombola__big_twos(&a), twos);
    assert_int_equal(tombola__big_take_out(&a, 2, UINT32_MAX), twos);
    for (y = x >> twos; y % 5 == 0; y /= 5)
      fives++;
    assert_int_equal(tombola__big_take_out(&a, 5, UINT32_MAX), fives);
    assert_true(tombola__big_value(&a, &value) && value == y);
    tombola__big_scale(&a, 10, -9);
    tombola__big_subtract(&a, (tombola__big_of(&b, 1), &b));
    assert_true(y >= UINT64_MAX / 10 || (tombola__big_value(&a, &value) && value == y * 10 - 10));
  }
}

/* ---- moduli ---- */

static void moduli_of_many_digits(void **state) {
  (void)state;
  const tombola__numset two_64 = multiple("18446744073709551616");
  assert_true(has(two_64, "55340232221128654848"));
  assert_false(has(two_64, "55340232221128654849"));
  assert_true(has(two_64, "-1e64"));
  assert_false(has(two_64, "1e63"));
  assert_true(has(two_64, "0"));
  want(two_64, "18446744073709551616", IS | ON);
  want(two_64, "18446744073709551615", ON);
  want(two_64, "18446744073709551615e", ON);
  want(two_64, "18446744073709551615e-", 0);
  const tombola__numset two = both(two_64, interval("[1,36893488147419103232]"));
  assert_int_equal(tombola__numbers_count(&store, two, 100), 2);
  want(two, "1", ON);
  want(two, "2", 0);
  want(two, "18446744073709551616", IS | ON);
  want(two, "18446744073709551617", 0);
  want(two, "3.6893488147419103232e18", 0);
  want(two, "3.6893488147419103232e1", ON);
  want(two, "3.6893488147419103232e19", IS);
  assert_int_equal(both(two_64, interval("(18446744073709551616,36893488147419103232)")), NONE);
  const tombola__numset fine = multiple("0.12345678901234567890123");
  assert_true(has(fine, "0.86419752308641975230861"));
  assert_false(has(fine, "0.86419752308641975230862"));
  assert_true(has(fine, "12345678901234567890123e-17"));
  assert_false(has(fine, "12345678901234567890123e-24"));
  want(both(fine, interval("(0,0.2)")), "0.12345678901234567890123", IS | ON);
  want(both(fine, interval("(0,0.2)")), "0.12345678901234567890124", 0);
  /* 2^200 and 5^90 */
  const char *const two_200 = "1606938044258990275541962092341162602522202993782792835301376";
  const char *const five_90 = "807793566946316088741610050849573099185363389551639556884765625";
  assert_true(has(multiple(two_200), "1e200"));
  assert_false(has(multiple(two_200), "1e199"));
  assert_true(has(multiple(five_90), "3e90"));
  assert_false(has(multiple(five_90), "3e89"));
  assert_true(has(multiple(five_90), five_90));
  assert_true(has(both(multiple(two_200), multiple(five_90)), "1e200"));
  assert_false(has(both(multiple(two_200), multiple(five_90)), two_200));
  /* two primes, and what both divide */
  const tombola__numset p = multiple("9223372036854775783"), q = multiple("9223372036854775643");
  assert_int_equal(both(p, q), multiple("85070591730234614113402964855534653469"));
  assert_int_equal(both(both(p, q), p), both(p, q));
  assert_int_equal(both(both(p, q), not(q)), NONE);
  assert_int_not_equal(both(p, not(q)), NONE);
  assert_false(has(both(p, not(q)), "85070591730234614113402964855534653469"));
  assert_true(has(both(p, not(q)), "18446744073709551566"));
  const tombola__numset few = both(both(p, not(q)), interval("[1,85070591730234614113402964855534653469]"));
  assert_int_equal(tombola__numbers_count(&store, few, 1000), 1000);
  want(few, "85070591730234614113402964855534653469", 0);
  want(few, "85070591730234614113402964855534653469", 0);
  want(few, "8507059173023461411340296485553465346", 0);
  want(few, "850705917302346141", ON);
  const tombola__numset quarter = both(few, interval("[1,21267647932558653528350741213883663367]"));
  assert_int_equal(tombola__numbers_count(&store, quarter, UINT64_MAX), UINT64_C(2305843009213693910));
  assert_int_equal(store.status, TOMBOLA_OK);
}

/* Bounds of hundreds of digits, far beyond and next to each other. */
static void bounds_of_many_digits(void **state) {
  (void)state;
  char lo[512], hi[512], text[1100], next[512];
  memset(lo, '7', 300);
  strcpy(lo + 300, "3");
  memset(hi, '7', 300);
  strcpy(hi + 300, "6");
  snprintf(text, sizeof text, "[%s,%s)", lo, hi);
  const tombola__numset three = both(tombola__numbers_integers(&store), interval(text));
  assert_int_equal(tombola__numbers_count(&store, three, 100), 3);
  assert_int_equal(both(three, both(multiple("2"), multiple("3"))) != NONE, 0);
  for (unsigned digit = 0; digit < 10; digit++) {
    memset(next, '7', 300);
    snprintf(next + 300, 8, "%u", digit);
    want(three, next, digit >= 3 && digit < 6 ? IS | ON : 0);
  }
  next[300] = 0;
  want(three, next, ON);
  next[299] = '8';
  want(three, next, 0);
  memset(next, '7', 150);
  next[150] = 0;
  want(three, next, ON);
  strcat(next, "e");
  want(three, next, 0);
}

/* ---- two ways to write a set ---- */

/* digits * factor */
static void times(const char *digits, unsigned factor, char *out) {
  char reversed[256];
  size_t n = 0;
  unsigned carry = 0;
  for (size_t i = strlen(digits); i-- > 0 || carry;) {
    if (i != SIZE_MAX) carry += (unsigned)(digits[i] - '0') * factor;
    if (i == SIZE_MAX) i = 0;
    reversed[n++] = (char)('0' + carry % 10);
    carry /= 10;
  }
  while (n > 1 && reversed[n - 1] == '0')
    n--;
  for (size_t i = 0; i < n; i++)
    out[i] = reversed[n - 1 - i];
  out[n] = 0;
}

/* Every beginning of the text, and of those that differ in one byte. */
static void same_texts(tombola__numset a, tombola__numset b, const char *text) {
  static const char bytes[] = "0123456789.e-+";
  char beginning[300];
  for (size_t n = 1; n <= strlen(text); n++) {
    memcpy(beginning, text, n);
    for (size_t i = 0; i + 1 < sizeof bytes; i++) {
      beginning[n - 1] = bytes[i];
      beginning[n] = 0;
      want(a, beginning, scan(b, beginning));
    }
  }
}

static void multiples_one_by_one(void **state) {
  (void)state;
  static const char *const moduli[] = {"18446744073709551616",
                                       "9223372036854775808",
                                       "12345678901234567890123",
                                       "100000000000000000000000000000000000007",
                                       "1606938044258990275541962092341162602522202993782792835301376",
                                       "807793566946316088741610050849573099185363389551639556884765625",
                                       "7"};
  struct support_rng rng = support_rng(5);
  for (size_t i = 0; i < 70; i++) {
    const char *const m = moduli[i % 7];
    const int exponent = (int)support_below(&rng, 81) - 40;
    const unsigned first = 1 + (unsigned)support_below(&rng, 50),
                   last = first + (unsigned)support_below(&rng, 12);
    const unsigned without = 2 + (unsigned)support_below(&rng, 4);
    char lo[256], hi[256], text[640], number[300];
    times(m, first, lo);
    times(m, last, hi);
    snprintf(text, sizeof text, "[%se%d,%se%d]", lo, exponent, hi, exponent);
    snprintf(number, sizeof number, "%se%d", m, exponent);
    tombola__numset a = both(multiple(number), interval(text)), b = NONE;
    times(m, without, lo);
    snprintf(number, sizeof number, "%se%d", lo, exponent);
    a = both(a, not(multiple(number)));
    size_t n = 0;
    for (unsigned k = first; k <= last; k++) {
      if (k % without == 0) continue;
      times(m, k, lo);
      snprintf(text, sizeof text, "[%se%d,%se%d]", lo, exponent, lo, exponent);
      b = either(b, interval(text));
      n++;
    }
    assert_int_equal(tombola__numbers_count(&store, a, 100), n);
    for (unsigned k = first; k <= last; k++) {
      times(m, k, lo);
      snprintf(number, sizeof number, "%s%se%d", support_below(&rng, 2) ? "0.0" : "", lo,
               (int)support_below(&rng, 9) - 4);
      same_texts(a, b, number);
      snprintf(number, sizeof number, "%se%d", lo, exponent);
      same_texts(a, b, number);
      snprintf(number, sizeof number, "%s00e%d", lo, exponent - 2);
      same_texts(a, b, number);
    }
    assert_int_equal(store.status, TOMBOLA_OK);
  }
}

/* ---- many single numbers ---- */

#define MANY 1000

/* Without an order: each number is asked. */
static unsigned slow_scan(const tombola__numset *each, size_t n, const char *text,
                          const struct tombola__decimal *gone, size_t n_gone) {
  unsigned result = 0;
  for (size_t i = 0; i < n; i++)
    result |= tombola__number_scan(&store, each[i], text, strlen(text), gone, n_gone);
  return result;
}

static void many_single_numbers(void **state) {
  (void)state;
  struct support_rng rng = support_rng(6);
  static tombola__numset each[MANY];
  static char numbers[MANY][32];
  tombola__numset all = NONE;
  for (size_t i = 0; i < MANY; i++) {
    const unsigned digits = (unsigned)support_below(&rng, support_below(&rng, 2) ? 100 : 100000);
    snprintf(numbers[i], sizeof *numbers, "%s%ue%d", support_below(&rng, 3) ? "" : "-", digits,
             (int)support_below(&rng, 9) - 4);
    char text[80];
    snprintf(text, sizeof text, "[%.31s,%.31s]", numbers[i], numbers[i]);
    each[i] = interval(text);
    all = either(all, each[i]);
  }
  struct tombola__decimal gone[20];
  for (size_t i = 0; i < 20; i++)
    gone[i] = decimal(numbers[i * 7]);
  static const char *const tails[] = {"",   ".",  "0",   ".0",  "00", "e",  "e-", "e+",
                                      "e0", "e1", "e-1", "e-2", "e3", "0e", "e10"};
  for (size_t i = 0; i < 3000; i++) {
    char text[64];
    const size_t from = support_below(&rng, MANY);
    snprintf(text, sizeof text, "%s%u%s", support_below(&rng, 3) ? "" : "-",
             (unsigned)support_below(&rng, i % 2 ? 100 : 100000), tails[support_below(&rng, 15)]);
    if (i % 3 == 0) snprintf(text, sizeof text, "%.*s", (int)(1 + support_below(&rng, 8)), numbers[from]);
    const size_t n_gone = i % 5 ? 0 : 20;
    assert_int_equal(tombola__number_scan(&store, all, text, strlen(text), gone, n_gone),
                     slow_scan(each, MANY, text, gone, n_gone));
  }
  assert_int_equal(store.status, TOMBOLA_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(divisions_come_back),   TEST(small_ones_are_as_usual), TEST(moduli_of_many_digits),
      TEST(bounds_of_many_digits), TEST(multiples_one_by_one),    TEST(many_single_numbers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
