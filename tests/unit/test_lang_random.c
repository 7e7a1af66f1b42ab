/* SPDX-License-Identifier: Apache-2.0 */
/* Random languages against a slow matcher that knows only what the operations mean: texts, what can follow, counts,
 * freedom, states that are alike. */
#include "lang_support.h"

/* ---- the slow matcher ---- */

/* Four letters stand for all: what a random set has of the code points other than the first three, it has whole. A fifth
 * one is in no list of texts, so that what is left without these has a text too. */
#define LETTERS 4
static const uint32_t points[LETTERS + 1] = {'a', 'b', 0xE9, 'z', 'y'};
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
  case SET: return n == 1 && node->set >> (t[0] < LETTERS ? t[0] : LETTERS - 1) & 1;
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

#define FAR 1000

static size_t far_away; /* searches that ended so */

/* Some text of a state, found by looking at all states in order of distance: that a state isn't NONE must mean that
 * there is one. Returns its length; FAR: there are too many states to tell. */
static size_t find_text(struct tombola__store *s, tombola__lang a, uint8_t *t, size_t room) {
  enum { STATES = 4096 };
  static tombola__lang states[STATES];
  static size_t from[STATES];
  static uint8_t by[STATES];
  size_t n = 1, i = 0;
  states[0] = a;
  for (; i < n && !tombola__lang_accepts_empty(s, states[i]); i++) {
    for (size_t c = 0; c <= LETTERS; c++) {
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
  if (i == n && n == STATES) {
    far_away++;
    return FAR;
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

/* Whether a letter can come next: all that is asked about it says the same, and the set that is quickly found has it. */
static void check_letter(struct tombola__store *s, tombola__lang state, uint32_t point) {
  uint32_t firsts[4];
  tombola__lang_firsts(s, state, firsts);
  const bool takes = point < 128 && tombola__lang_can_take(s, state, (uint8_t)point);
  const bool can = tombola__lang_can_step(s, state, point, point);
  const tombola__lang next = tombola__lang_step(s, state, point);
  assert_int_equal(next != TOMBOLA__LANG_NONE, can);
  if (point >= 128) return;
  assert_int_equal(takes, can);
  if (can) assert_true(firsts[point / 32] >> point % 32 & 1);
  tombola__lang_seconds(s, state, (uint8_t)point, firsts);
  for (size_t c = 0; c < LETTERS; c++)
    if (points[c] < 128 && tombola__lang_can_step(s, next, points[c], points[c]))
      assert_true(firsts[points[c] / 32] >> points[c] % 32 & 1);
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
      check_letter(s, state, points[c]);
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
  uint32_t allowed[LETTERS + 3];
  size_t n = 0;
  for (size_t i = 0; i < LETTERS; i++)
    if (points[i] < 128 ? f.ascii[points[i] / 32] >> points[i] % 32 & 1 : f.others) allowed[n++] = points[i];
  if (f.others) allowed[n++] = 0x1F600;
  if (f.spaces) allowed[n++] = 0x2028;
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
  print_message("%d terms, %zu states too far from an end\n", terms, far_away);
  assert_true(far_away <= (size_t)terms / 500);
  end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
  return cmocka_run_group_tests_name("lang_random", tests, NULL, NULL);
}
