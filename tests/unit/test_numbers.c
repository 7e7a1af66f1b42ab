/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of numbers and the beginnings of their texts (src/constraint/number/number.h), against a second reckoning in scaled
 * integers. Every short text is tried: what a text is must fit the reckoning, what can go on must
 * be seen to arrive, and what can't must have no longer text that is a number of the set. */
#include "numbers_support.h"

/* ---- decimals ---- */

static void decimals_are_exact(void **state) {
  (void)state;
  static const char *const ascending[] = {"-1e400",
                                          "-18446744073709551616",
                                          "-18446744073709551615",
                                          "-2",
                                          "-1.5",
                                          "-1e-1000000",
                                          "0",
                                          "1e-1000000",
                                          "0.0075",
                                          "0.01",
                                          "0.1",
                                          "1",
                                          "1.00000000000000000001",
                                          "9",
                                          "10",
                                          "123456789012345678901234567890",
                                          "123456789012345678901234567891",
                                          "1e400",
                                          "1e1000000",
                                          "1e1000000000000000000000"};
  for (size_t i = 0; i < sizeof ascending / sizeof *ascending; i++)
    for (size_t j = 0; j < sizeof ascending / sizeof *ascending; j++) {
      const struct tombola__decimal a = decimal(ascending[i]), b = decimal(ascending[j]);
      const int order = tombola__decimal_compare(&a, &b);
      assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
    }
  static const char *const equal[][2] = {{"1", "10e-1"},    {"1.0", "0.1E+1"},   {"0", "-0.00e5"},
                                         {"100", "1e2"},    {"0.0075", "75e-4"}, {"-12.50", "-1.25e1"},
                                         {"1e007", "10e06"}};
  for (size_t i = 0; i < sizeof equal / sizeof *equal; i++) {
    const struct tombola__decimal a = decimal(equal[i][0]), b = decimal(equal[i][1]);
    assert_int_equal(tombola__decimal_compare(&a, &b), 0);
  }
  static const char *const wrong[] = {"",   "-",    "01",  "1.", ".5",  "1e",   "1e+",
                                      "+1", "1.e5", "0x1", "1 ", "--1", "1e5.5"};
  char buffer[16];
  struct tombola__decimal d;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    assert_false(tombola__decimal_read(wrong[i], strlen(wrong[i]), buffer, &d));
}

/* ---- sets ---- */

static void sets_are_none_exactly_when_they_are(void **state) {
  (void)state;
  const tombola__numset integers = tombola__numbers_integers(&store);
  assert_int_equal(both(interval("(1,2)"), integers), NONE);
  assert_int_not_equal(both(interval("[1,2)"), integers), NONE);
  assert_int_equal(both(multiple("2"), not(multiple("1"))), NONE);
  assert_int_not_equal(both(multiple("2"), not(multiple("3"))), NONE);
  assert_int_equal(both(both(multiple("2"), multiple("3")), not(multiple("6"))), NONE);
  assert_int_equal(both(multiple("0.75"), both(multiple("0.5"), not(multiple("1.5")))), NONE);
  assert_int_equal(both(interval("[2,4]"), both(integers, both(not(multiple("2")), not(multiple("3"))))),
                   NONE);
  assert_int_not_equal(both(interval("[2,5]"), both(integers, both(not(multiple("2")), not(multiple("3"))))),
                       NONE);
  assert_int_equal(both(interval("[0,0]"), not(multiple("7"))), NONE);
  assert_int_equal(both(interval("(1e400,1.1e400)"), multiple("1e400")), NONE);
  assert_int_not_equal(both(interval("(1e400,1.1e400)"), multiple("1e399")), interval("[1.1e400,1.1e400]"));
  assert_int_not_equal(both(interval("(1e400,1.1e400]"), multiple("1e399")), NONE);
  assert_int_equal(both(interval("(1e400,1.1e400]"), multiple("1e399")), interval("[1.1e400,1.1e400]"));
  assert_int_equal(both(interval("[1,2]"), not(interval("[0,5]"))), NONE);
  assert_int_equal(not(not(interval("(1,5]"))), interval("(1,5]"));
  assert_int_equal(either(interval("[,3)"), interval("[3,]")), ALL);
  assert_int_equal(either(interval("[1,3)"), either(interval("[3,3]"), interval("(3,5)"))),
                   interval("[1,5)"));
  assert_int_equal(both(interval("[1,5]"), not(interval("[1,1]"))), interval("(1,5]"));
  assert_int_equal(both(integers, interval("(0.5,4.2)")), both(integers, interval("[1,4]")));
  assert_int_equal(tombola__numbers_not(&store, ALL), NONE);
  assert_int_equal(tombola__numbers_not(&store, NONE), ALL);
}

static void counts_are_exact(void **state) {
  (void)state;
  const tombola__numset integers = tombola__numbers_integers(&store);
  assert_int_equal(tombola__numbers_count(&store, NONE, 9), 0);
  assert_int_equal(tombola__numbers_count(&store, ALL, 9), 9);
  assert_int_equal(tombola__numbers_count(&store, both(integers, interval("[-3,5)")), 100), 8);
  assert_int_equal(tombola__numbers_count(&store, both(integers, interval("[0,1e12]")), UINT64_MAX),
                   1000000000001);
  assert_int_equal(tombola__numbers_count(&store, both(integers, interval("[0,1e100]")), 1000), 1000);
  const tombola__numset odd = both(integers, both(not(multiple("2")), interval("[1,1000]")));
  assert_int_equal(tombola__numbers_count(&store, odd, 1000), 500);
  const tombola__numset some =
      either(both(multiple("2"), interval("[1,20]")), both(multiple("3"), interval("[1,20]")));
  assert_int_equal(tombola__numbers_count(&store, some, 1000), 13);
  assert_int_equal(tombola__numbers_count(&store, either(some, interval("[2,2]")), 1000), 13);
  assert_int_equal(tombola__numbers_count(&store, both(some, not(interval("[6,6]"))), 1000), 12);
}

static void large_numbers_are_exact(void **state) {
  (void)state;
  const tombola__numset most = both(tombola__numbers_integers(&store), interval("[0,18446744073709551615]"));
  want(most, "18446744073709551615", IS | ON);
  want(most, "18446744073709551616", 0);
  want(most, "1844674407370955161", IS | ON);
  want(most, "1844674407370955162", IS | ON); /* .0, e0, e-1… */
  want(most, "1844674407370955162e", ON);
  want(most, "18446744073709551620", ON); /* e-1 */
  want(most, "18446744073709551620e", ON);
  want(most, "18446744073709551629", 0);
  want(most, "-", ON);
  want(most, "-1", 0);
  assert_true(has(multiple("0.123456789"), "0.123456789e1000000"));
  assert_false(has(multiple("0.123456789"), "1e308"));
  assert_true(has(multiple("0.0075"), "1.5e0"));
  assert_true(has(multiple("0.0075"), "0.0375"));
  assert_false(has(multiple("0.0075"), "0.0374"));
  assert_true(has(multiple("0.1"), "0.30000000000000000"));
  assert_true(has(multiple("64"), "1e6"));
  assert_false(has(multiple("128"), "1e6"));
  assert_true(has(multiple("1e400"), "3e400"));
  assert_false(has(multiple("1e400"), "1e399"));
  assert_true(has(multiple("9223372036854775807"), "18446744073709551614"));
  assert_false(has(multiple("9223372036854775807"), "18446744073709551615"));
  const tombola__numset far = both(multiple("3"), interval("[1e400,2e400]"));
  want(far, "1", ON);
  want(far, "1e400", 0);
  want(far, "1.2e400", IS);
  want(far, "1e4", 0);
  want(far, "1.2e4", ON);
  want(far, "3", 0);
  want(far, "2", 0); /* 2e400 is none */
  want(both(multiple("2"), interval("[1e400,2e400]")), "2", ON);
}

/* ---- beginnings of texts ---- */

static void beginnings_by_hand(void **state) {
  (void)state;
  const tombola__numset integers = tombola__numbers_integers(&store);
  static const char *const no[] = {"a", "01", "-a", "1..", "1.e", "1e.", "+", "1e++", "1-", ".", "e", "--"};
  for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
    want(ALL, no[i], 0);
    want(integers, no[i], 0);
  }
  want(ALL, "-", ON);
  want(ALL, "-0", IS | ON);
  want(ALL, "1.", ON);
  want(ALL, "1.5e-", ON);
  want(ALL, "1.5e-7", IS | ON);
  want(integers, "1.5", ON);
  want(integers, "1.5e", ON);
  want(integers, "1.5e-", 0);
  want(integers, "1.5e+", ON);
  want(integers, "1.5e0", ON);
  want(integers, "1.5e01", IS | ON);
  want(integers, "150e-", ON);
  want(integers, "150e-1", IS);
  want(integers, "150e-2", 0);
  want(integers, "150e-0", IS | ON);
  want(integers, "0.000", IS | ON);
  want(integers, "-0e", ON);
  const tombola__numset small = both(integers, interval("[10,20]"));
  want(small, "1", ON);
  want(small, "2", ON);
  want(small, "3", 0);
  want(small, "20", IS | ON);
  want(small, "21", 0);
  want(small, "0", ON);
  want(small, "0.0", ON);
  want(small, "0.02", ON);
  want(small, "0.021", 0);
  want(small, "-", 0);
  want(small, "2e", ON);
  want(small, "2e1", IS);
  want(small, "2e-", 0);
  want(small, "2e0", ON);
  want(small, "2e00000001", IS);
  want(small, "2000e-2", IS);
  want(small, "2000e-", ON);
}

static void beginnings_of_intervals_and_points(void **state) {
  (void)state;
  const tombola__numset integers = tombola__numbers_integers(&store);
  const tombola__numset open = interval("(0,1)");
  want(open, "7", ON);
  want(open, "7e", ON);
  want(open, "7e+", 0);
  want(open, "7e0", 0);
  want(interval("(5,6)"), "5", ON);
  want(interval("(5,6)"), "5e", 0);
  want(interval("[5,6)"), "5e", ON);
  want(open, "7e-0", ON);
  want(open, "-", 0);
  want(open, "0", ON);
  want(open, "0e", 0);
  want(interval("[0,0]"), "0e", ON);
  want(interval("[0,0]"), "-0.0", IS | ON);
  want(interval("[0,0]"), "1", 0);
  want(interval("[,-5)"), "-", ON);
  want(interval("[,-5)"), "5", 0);
  want(interval("[,-5)"), "-5", ON);
  want(interval("[5,5]"), "5", IS | ON);
  want(interval("[5,5]"), "50", ON);
  want(interval("[5,5]"), "51", 0);
  want(interval("[51,51]"), "5", ON);
  want(interval("[51,51]"), "5e", 0);
  want(interval("[51,51]"), "5.1e", ON);
  const struct tombola__decimal gone[] = {decimal("5"), decimal("-0")};
  assert_int_equal(tombola__number_scan(&store, interval("[5,5]"), "5", 1, gone, 2), 0);
  assert_int_equal(tombola__number_scan(&store, interval("[0,0]"), "0", 1, gone, 2), 0);
  assert_int_equal(tombola__number_scan(&store, ALL, "5", 1, gone, 2), ON);
  assert_int_equal(tombola__number_scan(&store, both(integers, interval("[4,5]")), "5", 1, gone, 2), 0);
  assert_int_equal(tombola__number_scan(&store, both(integers, interval("[4,5]")), "0.", 2, gone, 2), ON);
}

/* A long text is like a short one, and reads nothing behind its end. */
static void long_texts(void **state) {
  (void)state;
  const tombola__numset small = both(multiple("0.001"), interval("[1,2]"));
  for (size_t n = 1; n < 1500; n += 7) {
    struct support_guard guard = support_guard_new(n + 2);
    char *const text = support_guard_end(&guard, n + 2);
    memset(text, '0', n + 2);
    memcpy(text, "1.", 2);
    assert_int_equal(tombola__number_scan(&store, small, text, n + 2, NULL, 0), IS | ON);
    text[n + 1] = '7';
    assert_int_equal(tombola__number_scan(&store, small, text, n + 2, NULL, 0), n <= 3 ? IS | ON
                                                                                : n    ? 0
                                                                                       : ON);
    memset(text, '9', n + 2);
    assert_int_equal(tombola__number_scan(&store, interval("(0,1)"), text, n + 2, NULL, 0), ON);
    support_guard_free(&guard);
  }
}

/* ---- against a second reckoning ---- */

/* Numbers are integers of 10^-7. The sets' own numbers have two decimals and are below 1000, so that a larger exponent
 * than 6, or a smaller one than -7, makes no difference to what a number of few digits is. */
#define UNIT 10000000

struct rule {
  enum { RANGE, TIMES, AND, OR, NOT } kind;
  int64_t lo, hi; /* RANGE: in hundredths; TIMES: lo */
  bool lo_open, hi_open;
  const struct rule *a, *b;
};

static bool fits(const struct rule *r, int64_t x) {
  const int64_t scale = UNIT / 100;
  switch (r->kind) {
  case RANGE:
    return (r->lo_open ? x > r->lo * scale : x >= r->lo * scale) &&
           (r->hi_open ? x < r->hi * scale : x <= r->hi * scale);
  case TIMES: return x % (r->lo * scale) == 0;
  case AND: return fits(r->a, x) && fits(r->b, x);
  case OR: return fits(r->a, x) || fits(r->b, x);
  case NOT: break;
  }
  return !fits(r->a, x);
}

static struct tombola__decimal hundredths(int64_t n) {
  char text[32];
  snprintf(text, sizeof text, "%llde-2", (long long)n);
  return decimal(text);
}

static int64_t random_bound(struct support_rng *rng) {
  static const int64_t scales[] = {1, 10, 50, 100, 100, 500, 1000};
  return ((int64_t)support_below(rng, 41) - 20) * scales[support_below(rng, 7)];
}

static tombola__numset random_set(struct support_rng *rng, struct rule *pool, size_t *n, int depth) {
  static const int64_t factors[] = {100, 100, 200, 300, 500, 50, 25, 75, 10, 1, 5, 700, 1200, 800};
  struct rule *const r = &pool[(*n)++];
  const size_t kind = depth ? support_below(rng, 6) : support_below(rng, 2);
  tombola__numset a, b;
  if (kind == 0) {
    *r = (struct rule){.kind = TIMES, .lo = factors[support_below(rng, 14)]};
    const struct tombola__decimal m = hundredths(r->lo);
    return tombola__numbers_multiple(&store, &m);
  }
  if (kind == 1) {
    *r = (struct rule){.kind = RANGE, .lo = random_bound(rng), .hi = random_bound(rng)};
    if (support_below(rng, 3) == 0) r->hi = r->lo;
    r->lo_open = support_below(rng, 3) == 0;
    r->hi_open = support_below(rng, 3) == 0;
    const size_t ends = support_below(rng, 5);
    const struct tombola__decimal lo = hundredths(r->lo), hi = hundredths(r->hi);
    if (ends == 0) r->lo = -90000000000000;
    if (ends == 1) r->hi = 90000000000000;
    return tombola__numbers_interval(&store, ends == 0 ? NULL : &lo, r->lo_open, ends == 1 ? NULL : &hi,
                                     r->hi_open);
  }
  const struct rule *const first = &pool[*n];
  a = random_set(rng, pool, n, depth - 1);
  if (kind == 2) {
    *r = (struct rule){.kind = NOT, .a = first};
    return not(a);
  }
  const struct rule *const second = &pool[*n];
  b = random_set(rng, pool, n, depth - 1);
  *r = (struct rule){.kind = kind == 3 ? OR : AND, .a = first, .b = second};
  return kind == 3 ? either(a, b) : both(a, b);
}

/* The value of a whole number's text of a few digits, read anew: strtod has the digits exactly. */
static bool value_of(const char *text, size_t length, int64_t *value) {
  size_t i = 0;
  int64_t digits = 0, exponent = 0;
  const bool negative = text[0] == '-';
  bool some = false;
  if (negative) i++;
  if (i + 1 < length && text[i] == '0' && text[i + 1] >= '0' && text[i + 1] <= '9') return false;
  for (; i < length && text[i] >= '0' && text[i] <= '9'; i++, some = true)
    digits = digits * 10 + text[i] - '0';
  if (!some) return false;
  if (i < length && text[i] == '.') {
    const size_t start = ++i;
    for (; i < length && text[i] >= '0' && text[i] <= '9'; i++, exponent--)
      digits = digits * 10 + text[i] - '0';
    if (i == start) return false;
  }
  if (i < length && text[i] == 'e') {
    int64_t e = 0;
    const bool down = ++i < length && text[i] == '-';
    if (i < length && (text[i] == '-' || text[i] == '+')) i++;
    const size_t start = i;
    for (; i < length && text[i] >= '0' && text[i] <= '9'; i++)
      if (e < 100000) e = e * 10 + text[i] - '0';
    if (i == start) return false;
    exponent += down ? -e : e;
  }
  if (i != length) return false;
  for (; digits && digits % 10 == 0; exponent++)
    digits /= 10;
  if (exponent > 6) exponent = 6;
  if (exponent < -7) exponent = -7;
  for (exponent += 7; exponent > 0; exponent--)
    digits *= 10;
  *value = negative ? -digits : digits;
  return true;
}

static const char alphabet[] = "0125e.-";

struct trial {
  tombola__numset set;
  const struct rule *rule;
  struct tombola__decimal gone[3];
  int64_t gone_values[3];
  size_t n_gone;
  size_t steps; /* of one search */
  size_t texts, unsettled;
};

static unsigned trial_scan(const struct trial *t, const char *text, size_t length) {
  return tombola__number_scan(&store, t->set, text, length, t->gone, t->n_gone);
}

#define MOST_STEPS 100000

/* Whether following what can go on, some longer text of at most `most` bytes is in the set. */
static bool arrives(struct trial *t, char *text, size_t length, size_t most) {
  static const char bytes[] = "012345678.e9-";
  if (length == most || t->steps++ > MOST_STEPS) return false;
  unsigned results[sizeof bytes];
  for (size_t i = 0; i + 1 < sizeof bytes; i++) {
    text[length] = bytes[i];
    results[i] = trial_scan(t, text, length + 1);
    if (results[i] & IS) return true;
  }
  for (size_t i = 0; i + 1 < sizeof bytes; i++) {
    text[length] = bytes[i];
    if ((results[i] & ON) && arrives(t, text, length + 1, most)) return true;
  }
  return false;
}

/* Tries every text that begins with this one; returns whether one of them is in the set. */
static bool try_texts(struct trial *t, char *text, size_t length, size_t most) {
  const unsigned result = length ? trial_scan(t, text, length) : ON;
  int64_t value;
  bool is = length && value_of(text, length, &value) && fits(t->rule, value), longer = false;
  for (size_t i = 0; is && i < t->n_gone; i++)
    is = value != t->gone_values[i];
  t->texts++;
  if (is != !!(result & IS)) fail_msg("'%.*s': is %d, not %d", (int)length, text, !is, is);
  for (size_t i = 0; i + 1 < sizeof alphabet && length < most; i++) {
    text[length] = alphabet[i];
    if (trial_scan(t, text, length + 1) || tombola__number_scan(&store, ALL, text, length + 1, NULL, 0))
      longer |= try_texts(t, text, length + 1, most);
  }
  if (!length) return longer;
  if (longer && !(result & ON)) fail_msg("'%.*s' can go on", (int)length, text);
  if (!longer && (result & ON)) { /* not with these bytes, or further on */
    t->steps = 0;
    char more[64];
    memcpy(more, text, length);
    bool found = false;
    for (size_t room = length + 1; room < length + 12 && !found; room++)
      found = arrives(t, more, length, room);
    if (!found && t->steps <= MOST_STEPS) fail_msg("'%.*s' can't go on", (int)length, text);
    t->unsettled += !found;
  }
  return is || longer;
}

static void every_short_text(void **state) {
  (void)state;
  struct support_rng rng = support_rng(1);
  const size_t trials = support_long() ? 2000 : 60;
  size_t empty = 0, texts = 0, unsettled = 0;
  for (size_t i = 0; i < trials; i++) {
    struct rule pool[64];
    struct trial t = {.rule = pool};
    size_t n = 0;
    char text[64];
    t.set = random_set(&rng, pool, &n, 1 + (int)(i % 4));
    if (store.status) fail_msg("%s", store.error.message);
    t.n_gone = i % 3 ? 0 : support_below(&rng, 4);
    for (size_t k = 0; k < t.n_gone; k++) {
      t.gone_values[k] = random_bound(&rng);
      t.gone[k] = hundredths(t.gone_values[k]);
      t.gone_values[k] *= UNIT / 100;
    }
    empty += t.set == NONE;
    try_texts(&t, text, 0, i % 8 ? 4 : 6);
    texts += t.texts;
    unsettled += t.unsettled;
    assert_int_equal(store.status, TOMBOLA_OK);
  }
  print_message("%zu texts, %zu of them without an answer in %d steps\n", texts, unsettled, MOST_STEPS);
  assert_true(unsettled * 1000 < texts);
  assert_true(empty < trials / 3);
  assert_true(texts > trials * 500);
}

/* Sets of multiples of 0.25 in [-20, 20], counted one by one. */
static void random_sets_are_counted(void **state) {
  (void)state;
  struct support_rng rng = support_rng(2);
  for (size_t i = 0; i < 3000; i++) {
    struct rule pool[64];
    size_t n = 0;
    uint64_t count = 0;
    tombola__numset set = random_set(&rng, pool, &n, 1 + (int)(i % 4));
    set = both(set, both(multiple("0.25"), interval("[-20,20]")));
    for (int64_t x = -2000; x <= 2000; x += 25)
      count += fits(pool, x * (UNIT / 100));
    const uint64_t counted = tombola__numbers_count(&store, set, 1000);
    if (store.status) fail_msg("%s", store.error.message);
    assert_int_equal(counted, count);
    assert_int_equal(tombola__numbers_is_none(&store, set), count == 0);
    assert_int_equal(tombola__numbers_count(&store, set, 3), count < 3 ? count : 3);
    assert_int_equal(both(set, not(set)), NONE);
  }
}

/* ---- limits ---- */

static void what_is_not_settled_is_refused(void **state) {
  (void)state;
  static char digits[4098]; /* 10^4096 + 1 */
  memset(digits, '0', 4097);
  digits[0] = digits[4096] = '1';
  tombola__numbers_multiple(&store, &(struct tombola__decimal){.digits = digits, .length = 4097});
  assert_int_equal(store.status, TOMBOLA_OUT_OF_RANGE);
  assert_string_equal(store.error.param, "multipleOf");
  assert_int_equal(scan(ALL, "1"), 0);
  tombola__store_clear(&store);
  digits[4095] = '1'; /* 10^4095 + 1, and one more for the common multiple */
  const struct tombola__decimal large = {.digits = digits, .length = 4096};
  const tombola__numset most = tombola__numbers_multiple(&store, &large);
  assert_int_equal(store.status, TOMBOLA_OK);
  assert_true(tombola__numbers_has(&store, most, &large));
  assert_int_equal(both(most, multiple("9223372036854775783")), NONE);
  assert_int_equal(store.status, TOMBOLA_OUT_OF_RANGE);
  tombola__store_clear(&store);
  tombola__numset eleven = tombola__numbers_integers(&store);
  static const char *const primes[] = {"2", "3", "5", "7", "11", "13", "17", "19", "23", "29", "31"};
  for (size_t i = 0; i < 11; i++)
    eleven = both(eleven, not(multiple(primes[i])));
  assert_int_equal(store.status, TOMBOLA_OUT_OF_RANGE);
  tombola__store_clear(&store);
  tombola__numset many = NONE;
  for (int i = 0; i < 5000 && !store.status; i++) {
    char text[64];
    snprintf(text, sizeof text, "[%d,%d.5]", i, i);
    many = either(many, interval(text));
  }
  assert_int_equal(store.status, TOMBOLA_OUT_OF_RANGE);
  tombola__store_clear(&store);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(decimals_are_exact),
      TEST(sets_are_none_exactly_when_they_are),
      TEST(counts_are_exact),
      TEST(large_numbers_are_exact),
      TEST(beginnings_by_hand),
      TEST(beginnings_of_intervals_and_points),
      TEST(long_texts),
      TEST(every_short_text),
      TEST(random_sets_are_counted),
      TEST(what_is_not_settled_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
