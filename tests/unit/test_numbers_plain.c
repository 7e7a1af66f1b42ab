/* SPDX-License-Identifier: Apache-2.0 */
/* Beginnings of numbers that are spelled plainly: sets are drawn, all their plain texts are written out, and each
 * beginning, with each byte behind it, must be what those texts say of it. */
#include "numbers_support.h"

enum { MOST = 9999, VALUES = 2 * MOST + 1 }; /* hundredths */

/* ---- rules: sets that can be asked about hundredths ---- */

enum kind { INTERVAL, MULTIPLE, AND, OR, NOT };
struct rule {
  enum kind kind;
  int lo, hi; /* thousandths; MULTIPLE: lo, hundredths */
  bool lo_open, hi_open;
  const struct rule *a, *b;
};

static bool holds(const struct rule *r, int value) {
  switch (r->kind) {
  case INTERVAL: return 10 * value >= r->lo + r->lo_open && 10 * value <= r->hi - r->hi_open;
  case MULTIPLE: return value % r->lo == 0;
  case AND: return holds(r->a, value) && holds(r->b, value);
  case OR: return holds(r->a, value) || holds(r->b, value);
  case NOT: return !holds(r->a, value);
  }
  return false;
}

static struct tombola__decimal thousandths(int value) {
  char text[32];
  const int size = value < 0 ? -value : value;
  snprintf(text, sizeof text, "%s%d.%03d", value < 0 ? "-" : "", size / 1000, size % 1000);
  return decimal(text);
}

static tombola__numset set_of(const struct rule *r) {
  struct tombola__decimal lo, hi;
  switch (r->kind) {
  case INTERVAL:
    lo = thousandths(r->lo);
    hi = thousandths(r->hi);
    return tombola__numbers_interval(&store, &lo, r->lo_open, &hi, r->hi_open);
  case MULTIPLE: lo = thousandths(10 * r->lo); return tombola__numbers_multiple(&store, &lo);
  case AND: return both(set_of(r->a), set_of(r->b));
  case OR: return either(set_of(r->a), set_of(r->b));
  case NOT: return not(set_of(r->a));
  }
  return NONE;
}

static int some(struct support_rng *rng, int most) {
  return (int)support_below(rng, (size_t)most + 1);
}

static const struct rule *draw(struct support_rng *rng, struct rule *pool, size_t *n, unsigned depth) {
  static const int moduli[] = {1, 2, 3, 5, 7, 10, 20, 25, 50, 100, 150, 300, 700, 1000};
  static const int sizes[] = {5, 100, 1000, 3000, 20000, 99990};
  struct rule *const r = &pool[(*n)++];
  *r = (struct rule){.kind = (enum kind)support_below(rng, depth ? 5 : 2)};
  if (r->kind == MULTIPLE) {
    r->lo = moduli[support_below(rng, TOMBOLA__COUNT(moduli))];
  } else if (r->kind == INTERVAL) {
    const int size = sizes[support_below(rng, TOMBOLA__COUNT(sizes))];
    r->lo = some(rng, 2 * size) - size;
    r->hi = support_below(rng, 3) ? r->lo + some(rng, size) : r->lo;
    if (r->hi == r->lo) r->lo = r->hi = r->lo / 10 * 10;
    r->lo_open = r->hi > r->lo && support_below(rng, 2);
    r->hi_open = r->hi > r->lo && support_below(rng, 2);
  } else {
    r->a = draw(rng, pool, n, depth - 1);
    if (r->kind != NOT) r->b = draw(rng, pool, n, depth - 1);
  }
  return r;
}

/* ---- texts ---- */

struct text {
  char bytes[24];
  int value;
};
static struct text texts[VALUES]; /* ascending */
static size_t below[VALUES + 1];  /* members among the first ones */

static int order(const void *a, const void *b) {
  return strcmp(a, b);
}

static void write_texts(void) {
  for (int value = -MOST; value <= MOST; value++) {
    struct text *const t = &texts[value + MOST];
    const int size = value < 0 ? -value : value;
    size_t n = (size_t)snprintf(t->bytes, sizeof t->bytes, "%s%d.%02d", value < 0 ? "-" : "", size / 100,
                                size % 100);
    while (t->bytes[n - 1] == '0')
      t->bytes[--n] = 0;
    if (t->bytes[n - 1] == '.') t->bytes[--n] = 0;
    t->value = value;
  }
  qsort(texts, VALUES, sizeof *texts, order);
}

static size_t first_from(const char *text) {
  size_t low = 0, high = VALUES;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (strcmp(texts[middle].bytes, text) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

struct trial {
  tombola__numset set, free; /* all the rule says, and what of it is among the texts */
  struct tombola__decimal gone[3];
  size_t n_gone, n_texts;
};

static unsigned ask(const struct trial *t, tombola__numset set, const char *text) {
  return tombola__number_scan(&store, set, text, strlen(text), t->gone, t->n_gone);
}

/* Any digits that are said to be free lead to a text that is one, or goes on; where none is said to follow, none does. */
static void try_digits(const struct trial *t, char *text, size_t length) {
  const struct tombola__digits d = tombola__number_digits(&store, t->set, text, length, t->n_gone > 0);
  assert_false(d.only_zeros);
  size_t all = 1;
  for (uint32_t n = 1; n <= d.free + d.none; n++) {
    all *= 10;
    assert_true(n <= 5);
    for (size_t i = 0; i < all; i++) {
      snprintf(text + length, 16, "%0*zu", (int)n, i);
      if (!ask(t, t->set, text) != (n > d.free))
        fail_msg("'%s': %u digits, %s behind them", text, d.free, d.none ? "none" : "perhaps some");
    }
  }
  text[length] = 0;
}

/* Tries every beginning of texts that begins with this one, and what has a wrong byte behind it. */
static void try_texts(struct trial *t, char *text, size_t length) {
  static const char bytes[] = "-.0123456789eE+";
  for (size_t i = 0; i + 1 < sizeof bytes; i++) {
    text[length] = bytes[i];
    text[length + 1] = '~';
    text[length + 2] = 0;
    const size_t end = first_from(text);
    text[length + 1] = 0;
    const size_t first = first_from(text), n = below[end] - below[first];
    const bool is = first < end && !strcmp(texts[first].bytes, text) && below[first + 1] > below[first];
    const unsigned expected = (is ? IS : 0u) | (n > is ? ON : 0u), got = ask(t, t->set, text);
    if (got != expected) fail_msg("'%s': %u, not %u", text, got, expected);
    if (expected & ~ask(t, t->free, text)) fail_msg("'%s' is refused where more numbers are allowed", text);
    t->n_texts++;
    if (expected & ON) try_digits(t, text, length + 1);
    if (first < end) try_texts(t, text, length + 1);
  }
  text[length] = 0;
}

static void every_beginning(void **state) {
  (void)state;
  struct support_rng rng = support_rng(7);
  const size_t trials = support_long() ? 1000 : 25;
  write_texts();
  store.spelling = TOMBOLA_SPELLING_PLAIN;
  for (size_t i = 0; i < trials; i++) {
    struct rule pool[32];
    struct trial t = {.n_gone = support_below(&rng, 4)};
    int gone[3];
    char text[32] = "";
    size_t n = 0;
    const struct rule *const rule = draw(&rng, pool, &n, 3);
    t.free = set_of(rule);
    t.set = both(t.free, both(interval("(-100,100)"), multiple("0.01")));
    for (size_t k = 0; k < t.n_gone; k++) {
      gone[k] = some(&rng, 2000) - 1000;
      if (support_below(&rng, 2)) gone[k] = gone[k] / 100 * 100;
      t.gone[k] = thousandths(10 * gone[k]);
    }
    for (size_t k = 0; k < VALUES; k++) {
      bool member = holds(rule, texts[k].value);
      for (size_t g = 0; g < t.n_gone; g++)
        member = member && texts[k].value != gone[g];
      below[k + 1] = below[k] + member;
    }
    try_texts(&t, text, 0);
    assert_true(t.n_texts > 100000);
    assert_int_equal(store.status, TOMBOLA_OK);
    teardown(NULL);
    setup(NULL);
    store.spelling = TOMBOLA_SPELLING_PLAIN;
  }
}

static void by_hand(void **state) {
  (void)state;
  store.spelling = TOMBOLA_SPELLING_PLAIN;
  const tombola__numset integers = tombola__numbers_integers(&store), hundred = interval("[0,100]");
  want(hundred, "100", IS);
  want(hundred, "100.", 0);
  want(hundred, "10", IS | ON);
  want(hundred, "99.", ON);
  want(hundred, "1.0", ON);
  want(hundred, "1.50", ON);
  want(hundred, "1e", 0);
  want(hundred, "-", 0);
  want(hundred, "0.0", ON);
  want(integers, "1.", 0);
  want(integers, "-", ON);
  want(integers, "-0", 0);
  want(integers, "0", IS);
  want(ALL, "-0", ON);
  want(ALL, "-0.0", ON);
  want(ALL, "-0.01", IS | ON);
  want(interval("[1e400,1e400]"), "1", ON);
  want(interval("[1e400,1e400]"), "10", ON);
  want(interval("[1e400,1e400]"), "11", 0);
  want(either(interval("[12.5,12.5]"), interval("[1200,1200]")), "12", ON);
  want(either(interval("[12.5,12.5]"), interval("[1200,1200]")), "120", ON);
  want(either(interval("[12.5,12.5]"), interval("[1200,1200]")), "12.50", 0);
}

static void want_digits(tombola__numset set, const char *text, uint32_t free, bool none) {
  const struct tombola__digits d = tombola__number_digits(&store, set, text, strlen(text), false);
  if (d.free != free || d.none != none)
    fail_msg("'%s': %u digits, %s; not %u", text, d.free, d.none ? "then none" : "perhaps more", free);
}

static void digits_by_hand(void **state) {
  (void)state;
  store.spelling = TOMBOLA_SPELLING_PLAIN;
  const tombola__numset plain = tombola__numbers_plain(&store);
  const tombola__numset integers = both(plain, tombola__numbers_integers(&store));
  want_digits(plain, "1", 63, true);
  want_digits(plain, "-31", 62, true);
  want_digits(plain, "0.", 63, false);
  want_digits(plain, "0.000", 60, false);
  want_digits(plain, "120.5", 62, false);
  want_digits(integers, "9", 63, true);
  want_digits(both(integers, interval("[0,999]")), "9", 2, true);
  want_digits(both(integers, interval("[0,1000]")), "5", 2, true);
  want_digits(both(integers, interval("[0,100]")), "5", 1, true);
  want_digits(both(integers, interval("[0,100]")), "10", 0, false);
  want_digits(both(integers, interval("[0,100]")), "11", 0, true);
  want_digits(both(integers, interval("[1200,1900]")), "1", 0, false);
  want_digits(both(integers, interval("[1200,1900]")), "14", 2, true);
  want_digits(both(plain, interval("[-4.5,99]")), "9", 1, true);
  want_digits(both(plain, interval("[-4.5,99]")), "-4", 0, true);
  want_digits(both(plain, multiple("0.01")), "4.", 1, false);
  want_digits(both(integers, multiple("5")), "2", 62, false);
}

/* What is in the set of all plain texts, at its ends. */
static void all_of_them(void **state) {
  (void)state;
  char text[200] = "";
  store.spelling = TOMBOLA_SPELLING_PLAIN;
  const tombola__numset plain = tombola__numbers_plain(&store);
  assert_int_equal(tombola__numbers_plain(&store), plain);
  for (size_t n = 1; n <= TOMBOLA__PLAIN_DIGITS; n++) {
    memset(text, '9', n);
    want(plain, text, IS | ON);
    want(both(plain, tombola__numbers_integers(&store)), text, n < TOMBOLA__PLAIN_DIGITS ? IS | ON : IS);
  }
  text[TOMBOLA__PLAIN_DIGITS] = '9';
  want(plain, text, 0);
  text[TOMBOLA__PLAIN_DIGITS] = '.';
  want(plain, text, ON);
  memset(text + TOMBOLA__PLAIN_DIGITS + 1, '3', TOMBOLA__PLAIN_DIGITS);
  want(plain, text, IS);
  text[2 * TOMBOLA__PLAIN_DIGITS] = 0;
  want(plain, text, IS | ON);
  strcat(text, "0");
  want(plain, text, 0);
  assert_true(tombola__numbers_is_none(&store, both(plain, interval("[1e64,1e90]"))));
  assert_true(tombola__numbers_is_none(&store, both(plain, interval("(0,1e-64)"))));
}

int main(void) {
  const struct CMUnitTest tests[] = {TEST(every_beginning), TEST(by_hand), TEST(digits_by_hand),
                                     TEST(all_of_them)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
