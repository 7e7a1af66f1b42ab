/* SPDX-License-Identifier: Apache-2.0 */
/* Languages over code points: random ones against a slow matcher that knows only what the operations mean, and what the
 * rest of the engine builds on (what can follow, counts, freedom, states that are alike), also at sizes that schemas
 * have. */
#include "support.h"

#include <stdbool.h>
#include <string.h>

#include "constraint/lang.h"

#define UNBOUNDED TOMBOLA__LANG_UNBOUNDED

static void begin(struct tombola__store *s, const struct tombola_grammar_limits *limits) {
  struct tombola_error error = {0};
  if (tombola__store_new(s, limits, NULL, &error)) fail_msg("%s", error.message);
}

static void end(struct tombola__store *s) {
  if (s->status) fail_msg("%s", s->error.message);
  tombola__store_free(s);
}

static tombola__lang text(struct tombola__store *s, const char *t) {
  return tombola__lang_text(s, t, strlen(t));
}

static bool matches(struct tombola__store *s, tombola__lang a, const char *t) {
  return tombola__lang_matches(s, a, t, strlen(t));
}

static tombola__lang range(struct tombola__store *s, uint32_t lo, uint32_t hi) {
  return tombola__lang_set(s, &(struct tombola__range){lo, hi}, 1);
}

static tombola__lang walk(struct tombola__store *s, tombola__lang a, const char *ascii) {
  for (; *ascii; ascii++)
    a = tombola__lang_step(s, a, (unsigned char)*ascii);
  return a;
}

/* ---- the slow matcher ---- */

/* Four letters stand for all: what a random set has of the code points other than the first three, it has whole. */
#define LETTERS 4
static const uint32_t points[LETTERS] = {'a', 'b', 0xE9, 'z'};
static const char *const spelt[LETTERS] = {"a", "b", "\xC3\xA9", "z"};

enum kind { NOTHING, EMPTY_TEXT, SET, CONCAT, OR, AND, NOT, REPEAT, LENGTH, TEXTS, KINDS };

struct node {
  enum kind kind;
  unsigned set; /* bits of letters */
  uint32_t min, max;
  const struct node *a, *b;
  uint8_t texts[4][3]; /* letters + 1, 0 ends */
  tombola__lang lang;
};

static bool naive(const struct node *node, const uint8_t *t, size_t n);

/* Times that take nothing are left out, and count only where the text is over. */
static bool naive_repeat(const struct node *a, const uint8_t *t, size_t n, uint32_t min, uint32_t max) {
  if (!n) return !min || naive(a, t, 0);
  for (size_t i = 1; max && i <= n; i++)
    if (naive(a, t, i) && naive_repeat(a, t + i, n - i, min ? min - 1 : 0, max == UNBOUNDED ? max : max - 1))
      return true;
  return false;
}

static bool naive_texts(const struct node *node, const uint8_t *t, size_t n) {
  for (size_t i = 0; i < node->max; i++) {
    size_t length = 0;
    while (length < 3 && node->texts[i][length])
      length++;
    bool same = length == n;
    for (size_t k = 0; same && k < n; k++)
      same = t[k] + 1 == node->texts[i][k];
    if (same) return true;
  }
  return false;
}

static bool naive(const struct node *node, const uint8_t *t, size_t n) {
  switch (node->kind) {
  case NOTHING: return false;
  case EMPTY_TEXT: return !n;
  case SET: return n == 1 && node->set >> t[0] & 1;
  case CONCAT:
    for (size_t i = 0; i <= n; i++)
      if (naive(node->a, t, i) && naive(node->b, t + i, n - i)) return true;
    return false;
  case OR: return naive(node->a, t, n) || naive(node->b, t, n);
  case AND: return naive(node->a, t, n) && naive(node->b, t, n);
  case NOT: return !naive(node->a, t, n);
  case REPEAT: return naive_repeat(node->a, t, n, node->min, node->max);
  case LENGTH: return n >= node->min && (node->max == UNBOUNDED || n <= node->max);
  case TEXTS: return naive_texts(node, t, n);
  case KINDS: break;
  }
  return false;
}

/* ---- random languages ---- */

struct pool {
  struct tombola__store *s;
  struct support_rng rng;
  struct node nodes[64];
  size_t n;
};

static tombola__lang set_of(struct tombola__store *s, unsigned set) {
  struct tombola__range ranges[8];
  size_t n = 0;
  for (unsigned i = 3; i-- > 0;)
    if (set >> i & 1) ranges[n++] = (struct tombola__range){points[i], points[i]};
  if (set >> 3 & 1) {
    ranges[n++] = (struct tombola__range){0, 'a' - 1};
    ranges[n++] = (struct tombola__range){'b' + 1, 0xE8};
    ranges[n++] = (struct tombola__range){0xEA, TOMBOLA__LAST_CODE_POINT};
  }
  return tombola__lang_set(s, ranges, n);
}

static tombola__lang texts_of(struct pool *p, struct node *node) {
  char bytes[4][8] = {{0}};
  struct tombola_bytes texts[4];
  node->max = (uint32_t)support_below(&p->rng, 4) + 1;
  for (size_t i = 0; i < node->max; i++) {
    const size_t length = support_below(&p->rng, 4);
    for (size_t k = 0; k < length; k++) {
      node->texts[i][k] = (uint8_t)(1 + support_below(&p->rng, LETTERS));
      strcat(bytes[i], spelt[node->texts[i][k] - 1]);
    }
    texts[i] = (struct tombola_bytes){bytes[i], strlen(bytes[i])};
  }
  return tombola__lang_texts(p->s, texts, node->max);
}

static const struct node *random_node(struct pool *p, unsigned depth) {
  struct node *const node = &p->nodes[p->n++];
  const size_t r = support_below(&p->rng, 32);
  *node = (struct node){.kind = r < 1 ? NOTHING : r < 2 ? EMPTY_TEXT : SET};
  if (r >= 8 && r < 10) node->kind = LENGTH;
  if (r >= 10 && r < 13) node->kind = TEXTS;
  if (r >= 13 && depth && p->n < 50) {
    static const enum kind kinds[] = {CONCAT, CONCAT, CONCAT, OR, OR, AND, AND, NOT, REPEAT, REPEAT};
    node->kind = kinds[support_below(&p->rng, TOMBOLA__COUNT(kinds))];
  }
  node->set = 1 + (unsigned)support_below(&p->rng, (1u << LETTERS) - 1);
  node->min = (uint32_t)support_below(&p->rng, 4);
  node->max = support_below(&p->rng, 3) ? node->min + (uint32_t)support_below(&p->rng, 4) : UNBOUNDED;
  if (node->kind >= CONCAT && node->kind <= REPEAT) node->a = random_node(p, depth - 1);
  if (node->kind >= CONCAT && node->kind <= AND) node->b = random_node(p, depth - 1);
  struct tombola__store *const s = p->s;
  switch (node->kind) {
  case NOTHING: node->lang = TOMBOLA__LANG_NONE; break;
  case EMPTY_TEXT: node->lang = TOMBOLA__LANG_EMPTY; break;
  case SET: node->lang = set_of(s, node->set); break;
  case CONCAT: node->lang = tombola__lang_concat(s, node->a->lang, node->b->lang); break;
  case OR: node->lang = tombola__lang_or(s, node->a->lang, node->b->lang); break;
  case AND: node->lang = tombola__lang_and(s, node->a->lang, node->b->lang); break;
  case NOT: node->lang = tombola__lang_not(s, node->a->lang); break;
  case REPEAT: node->lang = tombola__lang_repeat(s, node->a->lang, node->min, node->max); break;
  case LENGTH: node->lang = tombola__lang_length(s, node->min, node->max); break;
  case TEXTS: node->lang = texts_of(p, node); break;
  case KINDS: break;
  }
  return node;
}

/* ---- what is checked of each ---- */

#define MOST 5 /* letters of the texts that are tried: all of them */

/* The next text of at most MOST letters, below `letters`, in order of length; false behind the last. */
static bool next_text(uint8_t *t, size_t *n, size_t letters) {
  for (size_t i = *n; i; i--) {
    if (++t[i - 1] < letters) return true;
    t[i - 1] = 0;
  }
  return ++*n <= MOST;
}

static tombola__lang follow(struct tombola__store *s, tombola__lang a, const uint8_t *t, size_t n) {
  for (size_t i = 0; i < n; i++)
    a = tombola__lang_step(s, a, points[t[i]]);
  return a;
}

/* Some text of a state, found by looking at all states in order of distance: that a state isn't NONE must mean that
 * there is one. Returns its length. */
static size_t find_text(struct tombola__store *s, tombola__lang a, uint8_t *t, size_t room) {
  enum { STATES = 4096 };
  static tombola__lang states[STATES];
  static size_t from[STATES];
  static uint8_t by[STATES];
  size_t n = 1, i = 0;
  states[0] = a;
  for (; i < n && !tombola__lang_accepts_empty(s, states[i]); i++) {
    for (size_t c = 0; c < LETTERS; c++) {
      const tombola__lang next = tombola__lang_step(s, states[i], points[c]);
      size_t k = 0;
      while (k < n && states[k] != next)
        k++;
      if (next == TOMBOLA__LANG_NONE || k < n || n == STATES) continue;
      states[n] = next;
      from[n] = i;
      by[n++] = (uint8_t)c;
    }
  }
  assert_true(i < n);
  size_t length = 0;
  for (size_t k = i; k; k = from[k])
    length++;
  assert_true(length <= room);
  for (size_t k = i, at = length; k && at; k = from[k])
    t[--at] = by[k];
  return length;
}

static void check_texts(struct tombola__store *s, const struct node *node) {
  uint8_t t[64] = {0};
  size_t n = 0;
  bool any = false;
  do {
    const tombola__lang state = follow(s, node->lang, t, n);
    const bool want = naive(node, t, n);
    any |= want;
    if (tombola__lang_accepts_empty(s, state) != want) fail_msg("a text of %zu letters: want %d", n, want);
    for (size_t c = 0; c < LETTERS; c++)
      assert_int_equal(tombola__lang_can_step(s, state, points[c], points[c]),
                       tombola__lang_step(s, state, points[c]) != TOMBOLA__LANG_NONE);
    if (n == 2 && state != TOMBOLA__LANG_NONE) { /* and what is behind it, as far as that can be tried */
      uint8_t whole[64];
      memcpy(whole, t, n);
      const size_t length = n + find_text(s, state, whole + n, 60);
      if (length <= 12) assert_true(naive(node, whole, length));
    }
  } while (next_text(t, &n, LETTERS));
  const bool none = tombola__lang_is_none(s, node->lang);
  if (any) assert_false(none);
  if (!none) {
    n = find_text(s, node->lang, t, 60);
    if (n <= 12) assert_true(naive(node, t, n));
  }
}

struct listed {
  char last[32];
  size_t n;
};

static void list(void *context, const char *t, size_t length) {
  struct listed *const l = context;
  char now[32] = {0};
  assert_true(length < sizeof now);
  memcpy(now, t, length);
  if (l->n) assert_true(strcmp(l->last, now) < 0);
  memcpy(l->last, now, sizeof now);
  l->n++;
}

static void check_count(struct tombola__store *s, const struct node *node) {
  const tombola__lang few = tombola__lang_repeat(s, set_of(s, 7), 0, MOST);
  const tombola__lang both = tombola__lang_and(s, node->lang, few);
  uint8_t t[64] = {0};
  size_t n = 0, count = 0;
  do
    count += naive(node, t, n);
  while (next_text(t, &n, 3));
  assert_int_equal(tombola__lang_count(s, both, 3), count < 3 ? count : 3);
  assert_int_equal(tombola__lang_count(s, both, 100000), count);
  struct listed l = {.n = 0};
  assert_true(tombola__lang_enumerate(s, both, count, list, &l));
  assert_int_equal(l.n, count);
  l.n = 0;
  if (count) assert_false(tombola__lang_enumerate(s, both, count - 1, list, &l));
  assert_int_equal(l.n, 0);
}

static void check_freedom(struct pool *p, tombola__lang a) {
  const struct tombola__freedom f = tombola__lang_freedom(p->s, a);
  uint32_t allowed[LETTERS + 2];
  size_t n = 0;
  for (size_t i = 0; i < LETTERS; i++)
    if (points[i] < 128 ? f.ascii[points[i] / 32] >> points[i] % 32 & 1 : f.others) allowed[n++] = points[i];
  if (f.others) allowed[n++] = 0x1F600;
  if (f.ascii[0] >> 10 & 1) allowed[n++] = '\n';
  if (!n) return;
  for (size_t i = 0; i < 20; i++) {
    tombola__lang state = a;
    for (size_t k = 0; k < f.length && k < 12; k++) {
      state = tombola__lang_step(p->s, state, allowed[support_below(&p->rng, n)]);
      assert_int_not_equal(state, TOMBOLA__LANG_NONE);
    }
  }
}

static void check_like(struct tombola__store *s, tombola__lang a) {
  for (uint32_t horizon = 0; horizon <= MOST; horizon++) {
    const tombola__lang like = tombola__lang_like(s, a, horizon);
    uint8_t t[64] = {0};
    size_t n = 0;
    do {
      if (n > horizon) break;
      const tombola__lang x = follow(s, a, t, n), y = follow(s, like, t, n);
      assert_int_equal(tombola__lang_accepts_empty(s, x), tombola__lang_accepts_empty(s, y));
      if (n) assert_int_equal(x != TOMBOLA__LANG_NONE, y != TOMBOLA__LANG_NONE);
    } while (next_text(t, &n, LETTERS));
  }
}

/* What can be reached from a language, and from it with a bound of the length. */
static void check_states(struct pool *p, const struct node *node) {
  for (size_t k = 0; k < 3; k++) {
    const uint8_t t[2] = {(uint8_t)support_below(&p->rng, LETTERS), (uint8_t)support_below(&p->rng, LETTERS)};
    const tombola__lang at = follow(p->s, node->lang, t, k);
    check_freedom(p, at);
    check_like(p->s, at);
    const uint32_t min = (uint32_t)support_below(&p->rng, 12), more = (uint32_t)support_below(&p->rng, 12);
    const tombola__lang bounded = tombola__lang_and(p->s, at, tombola__lang_length(p->s, min, min + more));
    check_freedom(p, bounded);
    check_like(p->s, bounded);
  }
}

static void test_random(void **state) {
  (void)state;
  const int terms = support_long() ? 20000 : 1200;
  struct tombola__store s;
  struct pool p = {.s = &s, .rng = support_rng(1)};
  begin(&s, NULL);
  for (int i = 0; i < terms; i++) {
    if (i % 100 == 99) { /* most share one store, so that what is remembered is used */
      end(&s);
      begin(&s, NULL);
    }
    p.n = 0;
    const struct node *const node = random_node(&p, 4);
    check_texts(&s, node);
    check_count(&s, node);
    check_states(&p, node);
    struct node bound = {.kind = LENGTH, .min = (uint32_t)support_below(&p.rng, MOST + 1)};
    bound.max = bound.min + (uint32_t)support_below(&p.rng, 3);
    bound.lang = tombola__lang_length(&s, bound.min, bound.max);
    const struct node bounded = {
        .kind = AND, .a = node, .b = &bound, .lang = tombola__lang_and(&s, node->lang, bound.lang)};
    check_texts(&s, &bounded);
  }
  end(&s);
}

/* ---- laws and sizes ---- */

static void test_laws(void **state) {
  (void)state;
  struct tombola__store s;
  begin(&s, NULL);
  const tombola__lang a = text(&s, "a"), b = text(&s, "bc"), any = tombola__lang_any(&s);
  const tombola__lang none = TOMBOLA__LANG_NONE, empty = TOMBOLA__LANG_EMPTY, all = TOMBOLA__LANG_ALL;
  assert_int_equal(tombola__lang_or(&s, a, b), tombola__lang_or(&s, b, a));
  assert_int_equal(tombola__lang_or(&s, a, none), a);
  assert_int_equal(tombola__lang_or(&s, a, all), all);
  assert_int_equal(tombola__lang_and(&s, a, all), a);
  assert_int_equal(tombola__lang_and(&s, a, none), none);
  assert_int_equal(tombola__lang_and(&s, a, b), none);
  assert_int_equal(tombola__lang_concat(&s, a, none), none);
  assert_int_equal(tombola__lang_concat(&s, empty, a), a);
  assert_int_equal(tombola__lang_not(&s, tombola__lang_not(&s, b)), b);
  assert_int_equal(tombola__lang_not(&s, none), all);
  assert_int_equal(tombola__lang_not(&s, all), none);
  assert_int_equal(tombola__lang_or(&s, b, tombola__lang_not(&s, b)), all);
  assert_int_equal(tombola__lang_length(&s, 0, UNBOUNDED), all);
  assert_int_equal(tombola__lang_repeat(&s, any, 3, 2), none);
  assert_int_equal(tombola__lang_repeat(&s, b, 0, 0), empty);
  assert_int_equal(tombola__lang_repeat(&s, none, 0, 5), empty);
  assert_int_equal(tombola__lang_repeat(&s, none, 1, 5), none);
  assert_int_equal(
      tombola__lang_and(&s, tombola__lang_length(&s, 2, 9), tombola__lang_length(&s, 5, UNBOUNDED)),
      tombola__lang_length(&s, 5, 9));
  assert_int_equal(tombola__lang_concat(&s, tombola__lang_length(&s, 2, 9), tombola__lang_length(&s, 0, 3)),
                   tombola__lang_length(&s, 2, 12));
  /* (aa){0,1} isn't a{0,2}; (a{2,3}){2,3} is a{4,9}. */
  assert_false(matches(&s, tombola__lang_repeat(&s, tombola__lang_repeat(&s, a, 2, 2), 0, 1), "a"));
  assert_int_equal(tombola__lang_repeat(&s, tombola__lang_repeat(&s, a, 2, 3), 2, 3),
                   tombola__lang_repeat(&s, a, 4, 9));
  end(&s);
}

static void test_code_points(void **state) {
  (void)state;
  struct tombola__store s;
  begin(&s, NULL);
  const tombola__lang any = tombola__lang_any(&s);
  assert_int_equal(tombola__lang_count(&s, any, UINT64_MAX), 0x110000 - 0x800);
  assert_int_equal(tombola__lang_step(&s, any, 0xD800), TOMBOLA__LANG_NONE);
  assert_int_equal(tombola__lang_step(&s, any, 0xDFFF), TOMBOLA__LANG_NONE);
  assert_int_equal(tombola__lang_step(&s, any, 0x110000), TOMBOLA__LANG_NONE);
  assert_int_equal(tombola__lang_step(&s, any, 0xD7FF), TOMBOLA__LANG_EMPTY);
  assert_int_equal(tombola__lang_step(&s, any, 0xE000), TOMBOLA__LANG_EMPTY);
  assert_int_equal(tombola__lang_step(&s, any, 0x10FFFF), TOMBOLA__LANG_EMPTY);
  assert_false(tombola__lang_can_step(&s, any, 0xD800, 0xDFFF));
  assert_true(tombola__lang_can_step(&s, any, 0xD800, 0xE000));
  assert_int_equal(range(&s, 0xD800, 0xDFFF), TOMBOLA__LANG_NONE);
  const tombola__lang high = range(&s, 0xD000, 0xE010); /* over the surrogates */
  assert_int_equal(tombola__lang_count(&s, high, UINT64_MAX), 0x800 + 0x11);
  assert_true(tombola__lang_can_step(&s, high, 0xDC00, 0xF000));
  assert_false(tombola__lang_can_step(&s, high, 0xE011, 0x10FFFF));
  assert_false(tombola__lang_can_step(&s, high, 0, 0xCFFF));
  assert_true(matches(&s, high, "\xEE\x80\x90"));
  assert_false(matches(&s, high, "\xEE\x80\x91"));
  assert_true(matches(&s, tombola__lang_repeat(&s, any, 2, 2), "\xF0\x9F\x98\x80\xC3\xA9"));
  end(&s);
}

static void test_dead_ends(void **state) {
  (void)state;
  struct tombola__store s;
  begin(&s, NULL);
  /* Ends with x, and doesn't have y: a y can never be made good. */
  const tombola__lang ends = tombola__lang_concat(&s, TOMBOLA__LANG_ALL, text(&s, "x"));
  const tombola__lang has = tombola__lang_concat(&s, ends, TOMBOLA__LANG_ALL);
  const tombola__lang not_y =
      tombola__lang_not(&s, tombola__lang_concat(&s, TOMBOLA__LANG_ALL,
                                                 tombola__lang_concat(&s, text(&s, "y"), TOMBOLA__LANG_ALL)));
  tombola__lang a = tombola__lang_and(&s, ends, not_y);
  assert_int_equal(walk(&s, a, "axby"), TOMBOLA__LANG_NONE);
  assert_int_not_equal(walk(&s, a, "axb"), TOMBOLA__LANG_NONE);
  assert_false(tombola__lang_can_step(&s, a, 'y', 'y'));
  /* At most three letters, an x among them. */
  a = tombola__lang_and(&s, has, tombola__lang_length(&s, 0, 3));
  assert_int_not_equal(walk(&s, a, "ab"), TOMBOLA__LANG_NONE);
  assert_int_equal(walk(&s, a, "abc"), TOMBOLA__LANG_NONE);
  assert_true(matches(&s, a, "abx"));
  /* (ab)* of an odd length. */
  const tombola__lang odd = tombola__lang_concat(
      &s, tombola__lang_any(&s), tombola__lang_repeat(&s, tombola__lang_length(&s, 2, 2), 0, UNBOUNDED));
  assert_true(tombola__lang_is_none(
      &s, tombola__lang_and(&s, tombola__lang_repeat(&s, text(&s, "ab"), 0, UNBOUNDED), odd)));
  /* What is neither even nor odd. */
  const tombola__lang even = tombola__lang_repeat(&s, tombola__lang_length(&s, 2, 2), 0, UNBOUNDED);
  assert_true(tombola__lang_is_none(&s, tombola__lang_not(&s, tombola__lang_or(&s, even, odd))));
  /* (a+bb)* has no text of one or two letters, though it has of none, and of all numbers from three on. */
  a = tombola__lang_concat(&s, tombola__lang_repeat(&s, text(&s, "a"), 1, UNBOUNDED), text(&s, "bb"));
  a = tombola__lang_repeat(&s, a, 0, UNBOUNDED);
  assert_true(tombola__lang_is_none(&s, tombola__lang_and(&s, a, tombola__lang_length(&s, 1, 2))));
  end(&s);
}

/* Texts of an enum: 300 of them, some with ends and beginnings in common. */
static void test_texts(void **state) {
  (void)state;
  struct tombola__store s;
  static char bytes[300][32];
  struct tombola_bytes texts[301];
  tombola__lang one_by_one = TOMBOLA__LANG_NONE;
  begin(&s, NULL);
  for (size_t i = 0; i < 300; i++) {
    const int length = snprintf(bytes[i], sizeof bytes[i], "%s-%03zu-%s", i % 3 ? "item" : "it\xC3\xA9m",
                                i * 7 % 300, i % 2 ? "even" : "odd");
    texts[i] = (struct tombola_bytes){bytes[i], (size_t)length};
    one_by_one = tombola__lang_or(&s, one_by_one, tombola__lang_text(&s, bytes[i], (size_t)length));
  }
  texts[300] = texts[5]; /* twice is once */
  const tombola__lang a = tombola__lang_texts(&s, texts, 301);
  for (size_t i = 0; i < 300; i++) {
    assert_true(matches(&s, a, bytes[i]));
    assert_true(matches(&s, one_by_one, bytes[i]));
    bytes[i][6] = '~';
    assert_false(matches(&s, a, bytes[i]));
  }
  assert_int_equal(tombola__lang_count(&s, a, 1000), 300);
  assert_int_equal(a, one_by_one);
  assert_true(s.states < 2000); /* ends are shared: 300 texts of 12 letters have 3600 places */
  assert_int_equal(tombola__lang_texts(&s, texts, 0), TOMBOLA__LANG_NONE);
  const tombola__lang empty = tombola__lang_texts(&s, &(struct tombola_bytes){"", 0}, 1);
  assert_int_equal(empty, TOMBOLA__LANG_EMPTY);
  end(&s);
}

/* Counts aren't unrolled: making one and asking about it takes a few states. */
static void test_counts(void **state) {
  (void)state;
  struct tombola__store s;
  begin(&s, NULL);
  const tombola__lang many = tombola__lang_length(&s, 0, 65536);
  const tombola__lang word = tombola__lang_repeat(&s, range(&s, 'a', 'z'), 1000, 2000000);
  const tombola__lang search = tombola__lang_concat(
      &s, TOMBOLA__LANG_ALL, tombola__lang_concat(&s, text(&s, "abc"), TOMBOLA__LANG_ALL));
  const tombola__lang bounded = tombola__lang_and(&s, search, tombola__lang_length(&s, 0, 2000));
  assert_false(tombola__lang_is_none(&s, many));
  assert_false(tombola__lang_is_none(&s, tombola__lang_and(&s, word, many)));
  assert_false(tombola__lang_is_none(&s, bounded));
  assert_true(tombola__lang_is_none(&s, tombola__lang_and(&s, search, tombola__lang_length(&s, 0, 2))));
  assert_int_equal(tombola__lang_count(&s, many, 64), 64);
  assert_int_equal(tombola__lang_count(&s, word, 64), 64);
  assert_int_equal(tombola__lang_freedom(&s, many).length, 65536);
  assert_int_equal(tombola__lang_freedom(&s, bounded).length, 1997);
  assert_true(tombola__lang_freedom(&s, bounded).others);
  assert_true(s.states < 30);
  assert_int_equal(tombola__lang_like(&s, many, 100), tombola__lang_like(&s, walk(&s, many, "xyz"), 100));
  const tombola__lang next = walk(&s, bounded, "zzz");
  assert_int_not_equal(next, bounded);
  assert_int_equal(tombola__lang_like(&s, bounded, 100), tombola__lang_like(&s, next, 100));
  /* A long way to the only text: the search must not be deep. */
  const tombola__lang far = tombola__lang_and(&s, tombola__lang_repeat(&s, text(&s, "ab"), 0, UNBOUNDED),
                                              tombola__lang_length(&s, 20001, 20002));
  assert_false(tombola__lang_is_none(&s, far));
  assert_int_equal(tombola__lang_count(&s, far, 10), 1);
  end(&s);
}

/* A state that goes round in itself is free for the letters that do. */
static void test_freedom(void **state) {
  (void)state;
  struct tombola__store s;
  begin(&s, NULL);
  const tombola__lang label = tombola__lang_or(&s, range(&s, 'a', 'z'), text(&s, "-"));
  const tombola__lang host =
      tombola__lang_concat(&s, tombola__lang_repeat(&s, label, 0, UNBOUNDED), text(&s, ".org"));
  struct tombola__freedom f = tombola__lang_freedom(&s, host);
  assert_int_equal(f.length, UNBOUNDED);
  assert_int_equal(f.ascii[3], 0x7FFFFFE);
  assert_int_equal(f.ascii[1], 1u << ('-' - 32));
  assert_false(f.others);
  f = tombola__lang_freedom(&s, tombola__lang_and(&s, host, tombola__lang_length(&s, 0, 63)));
  assert_int_equal(f.length, 59);
  f = tombola__lang_freedom(&s, tombola__lang_not(&s, text(&s, "name")));
  assert_int_equal(f.length, UNBOUNDED);
  assert_true(f.others);
  f = tombola__lang_freedom(
      &s, tombola__lang_and(&s, tombola__lang_not(&s, text(&s, "name")), tombola__lang_length(&s, 0, 10)));
  assert_int_equal(f.length, 10);
  f = tombola__lang_freedom(
      &s, tombola__lang_and(&s, tombola__lang_not(&s, text(&s, "name")), tombola__lang_length(&s, 0, 4)));
  assert_true(f.length < 4); /* n-a-m isn't free to go on with an e */
  assert_int_equal(tombola__lang_freedom(&s, TOMBOLA__LANG_ALL).length, UNBOUNDED);
  assert_int_equal(tombola__lang_freedom(&s, TOMBOLA__LANG_NONE).length, 0);
  assert_int_equal(tombola__lang_freedom(&s, TOMBOLA__LANG_EMPTY).length, 0);
  end(&s);
}

/* ---- failures ---- */

static void test_limits(void **state) {
  (void)state;
  struct tombola__store s;
  const struct tombola_grammar_limits states = {.struct_size = sizeof states, .max_states = 500};
  begin(&s, &states);
  /* The tenth letter from the end is an a: some thousand states. */
  const tombola__lang a = tombola__lang_concat(
      &s, TOMBOLA__LANG_ALL, tombola__lang_concat(&s, text(&s, "a"), tombola__lang_length(&s, 10, 10)));
  const tombola__lang b = tombola__lang_and(&s, a, tombola__lang_not(&s, tombola__lang_concat(&s, a, a)));
  uint64_t walked = 0;
  struct support_rng rng = support_rng(2);
  for (tombola__lang at = b; !s.status && walked < 100000; walked++) {
    at = tombola__lang_step(&s, at, support_below(&rng, 2) ? 'a' : 'b');
    if (at == TOMBOLA__LANG_NONE) at = a;
  }
  assert_int_equal(s.status, TOMBOLA_OUT_OF_RANGE);
  assert_int_equal(tombola__lang_or(&s, a, b), TOMBOLA__LANG_NONE);
  assert_false(tombola__lang_is_none(&s, a));
  /* What exists still works, and what failed isn't remembered as a dead end. */
  tombola__store_clear(&s);
  s.max_states = 1000000;
  assert_true(matches(&s, a, "baaaaaaaaaaa"));
  assert_false(matches(&s, a, "abbbbbbbbb"));
  end(&s);
  const struct tombola_grammar_limits bytes = {.struct_size = sizeof bytes, .max_bytes = (size_t)1 << 20};
  begin(&s, &bytes);
  static char long_text[100000];
  memset(long_text, 'q', sizeof long_text);
  assert_int_equal(tombola__lang_text(&s, long_text, sizeof long_text), TOMBOLA__LANG_NONE);
  assert_int_equal(s.status, TOMBOLA_OUT_OF_RANGE);
  tombola__store_free(&s);
}

/* a?b?a?b?… and complements in complements: refused, not a crash. */
static void test_depth(void **state) {
  (void)state;
  struct tombola__store s;
  begin(&s, NULL);
  tombola__lang a = text(&s, "end");
  const tombola__lang ab[] = {tombola__lang_repeat(&s, text(&s, "a"), 0, 1),
                              tombola__lang_repeat(&s, text(&s, "b"), 0, 1)};
  for (size_t i = 0; i < 3000; i++)
    a = tombola__lang_concat(&s, ab[i % 2], a);
  assert_false(tombola__lang_is_none(&s, a));
  assert_true(matches(&s, a, "aaend"));
  tombola__lang nested = text(&s, "x");
  for (size_t i = 0; i < 20000; i++)
    nested = tombola__lang_not(&s, tombola__lang_concat(&s, nested, text(&s, "y")));
  tombola__lang_step(&s, nested, 'x');
  assert_int_equal(s.status, TOMBOLA_OUT_OF_RANGE);
  tombola__store_free(&s);
}

static void test_memory(void **state) {
  (void)state;
  static const char *const words[] = {"alpha", "beta", "gamma", "delt\xC3\xA4", ""};
  struct tombola_bytes texts[5];
  for (size_t i = 0; i < 5; i++)
    texts[i] = (struct tombola_bytes){words[i], strlen(words[i])};
  for (size_t n = 1;; n++) {
    struct support_allocator a = support_allocator(n);
    struct tombola__store s;
    struct tombola_error error = {0};
    enum tombola_status status = tombola__store_new(&s, NULL, support_allocator_use(&a), &error);
    if (!status) {
      const tombola__lang names = tombola__lang_texts(&s, texts, 5);
      const tombola__lang word = tombola__lang_repeat(&s, range(&s, 'a', 0x2FF), 0, 300);
      const tombola__lang both = tombola__lang_and(&s, word, tombola__lang_not(&s, names));
      tombola__lang_count(&s, names, 10);
      tombola__lang_is_none(
          &s, tombola__lang_and(&s, names, tombola__lang_not(&s, tombola__lang_or(&s, names, word))));
      tombola__lang_freedom(&s, both);
      tombola__lang_like(&s, both, 50);
      matches(&s, both, "alphabet");
      status = s.status;
      tombola__store_free(&s);
    }
    support_allocator_check(&a);
    if (a.requests < n) {
      assert_int_equal(status, TOMBOLA_OK);
      break;
    }
    assert_int_equal(status, TOMBOLA_NO_MEMORY);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random),    cmocka_unit_test(test_laws),   cmocka_unit_test(test_code_points),
      cmocka_unit_test(test_dead_ends), cmocka_unit_test(test_texts),  cmocka_unit_test(test_counts),
      cmocka_unit_test(test_freedom),   cmocka_unit_test(test_limits), cmocka_unit_test(test_depth),
      cmocka_unit_test(test_memory),
  };
  return cmocka_run_group_tests_name("lang", tests, NULL, NULL);
}
