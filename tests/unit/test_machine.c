/* SPDX-License-Identifier: Apache-2.0 */
/* The machine over JSON, with random formulas: what it accepts against a slow second opinion, every text that it reads
 * can be completed, going back is as if it hadn't gone on, equal keys allow the same, memory and limits. */
#include "machine_support.h"

#include "formula_value.h"

/* ---- random formulas ---- */

static uint32_t pick(struct support_rng *r, uint32_t n) {
  return (uint32_t)support_below(r, n);
}

static const struct tombola__name *name_of(struct support_rng *r) {
  return tombola__name(&store, pick(r, 2) ? "a" : "b", 1);
}

static tombola__lang random_lang(struct support_rng *r) {
  switch (pick(r, 4)) {
  case 0: return tombola__lang_text(&store, "a", 1);
  case 1: return tombola__lang_not(&store, tombola__lang_text(&store, "b", 1));
  case 2: return tombola__lang_length(&store, 0, 1);
  default: return TOMBOLA__LANG_ALL;
  }
}

static tombola__formula random_atom(struct support_rng *r) {
  static const unsigned types[] = {TOMBOLA__ARRAY, TOMBOLA__OBJECT, TOMBOLA__STRING | TOMBOLA__ARRAY,
                                   TOMBOLA__NUMBER | TOMBOLA__NULL, TOMBOLA__ALL_TYPES & ~TOMBOLA__NUMBER};
  static const char *const constants[] = {"1", "null", "\"a\"", "[]", "{}"};
  const char *constant = constants[pick(r, 5)];
  switch (pick(r, 4)) {
  case 0: return tombola__text(&store, random_lang(r));
  case 1: return tombola__equal_to(&store, constant, strlen(constant));
  default: return tombola__types(&store, types[pick(r, 5)]);
  }
}

static tombola__formula random_formula(struct support_rng *r, unsigned depth);

static tombola__formula random_array(struct support_rng *r, unsigned depth) {
  const uint32_t min = pick(r, 2);
  switch (pick(r, 6)) {
  case 0: return tombola__length(&store, min, min + pick(r, 3));
  case 1: return tombola__item(&store, pick(r, 2), random_formula(r, depth));
  case 2: return tombola__items(&store, pick(r, 2), random_formula(r, depth));
  case 3: return tombola__unique(&store);
  default:
    return tombola__contains(&store, 0, random_formula(r, depth), min, pick(r, 2) ? min + 1 : TOMBOLA__MANY);
  }
}

static tombola__formula random_object(struct support_rng *r, unsigned depth) {
  const uint32_t min = pick(r, 2);
  switch (pick(r, 6)) {
  case 0: return tombola__size(&store, min, min + pick(r, 3));
  case 1: return tombola__required(&store, name_of(r));
  case 2: return tombola__depends(&store, name_of(r), name_of(r));
  case 3: return tombola__keys(&store, random_lang(r), random_formula(r, depth));
  default: return tombola__property(&store, name_of(r), pick(r, 2), random_formula(r, depth));
  }
}

static tombola__formula random_formula(struct support_rng *r, unsigned depth) {
  if (!depth) return random_atom(r);
  tombola__formula parts[3];
  const uint32_t n = 2 + pick(r, 2);
  switch (pick(r, 7)) {
  case 0: return random_atom(r);
  case 1:
  case 2: return random_array(r, depth - 1);
  case 3:
  case 4: return random_object(r, depth - 1);
  case 5: return tombola__not(&store, random_formula(r, depth - 1));
  default: break;
  }
  for (uint32_t i = 0; i < n; i++)
    parts[i] = random_formula(r, depth - 1);
  switch (pick(r, 3)) {
  case 0: return tombola__or(&store, parts, n);
  case 1: return tombola__one_of(&store, parts, n);
  default: return tombola__and(&store, parts, n);
  }
}

/* A few at the top say more than one. */
static tombola__formula random_schema(struct support_rng *r) {
  const tombola__formula parts[] = {random_formula(r, 2), random_formula(r, 2), random_formula(r, 1)};
  return tombola__and(&store, parts, 1 + pick(r, 3));
}

/* ---- every text of a few tokens ---- */

static const char *const tokens[] = {"[",     "]",           "{", "}",   ",",   ":",   "\"a\"",
                                     "\"b\"", "\"\\u0061\"", "1", "1.0", "1e1", "null"};

#define MOST_TEXT  80
#define MOST_NODES 4000 /* less than there is room for */

struct search {
  struct tombola__machine *json, *m; /* any JSON text; the formula */
  tombola__formula f;
  char text[MOST_TEXT];
  size_t length, accepted;
};

static void compare_text(struct search *s) {
  yyjson_doc *const document = yyjson_read(s->text, s->length, YYJSON_READ_NUMBER_AS_RAW);
  if (!document) fail_msg("%.*s isn't JSON", (int)s->length, s->text);
  const bool want = support_satisfies(&store, s->f, yyjson_doc_get_root(document));
  yyjson_doc_free(document);
  if (accepts(s->m, s->text, s->length) != want)
    fail_msg("%.*s must be %s", (int)s->length, s->text, want ? "accepted" : "rejected");
  s->accepted += want;
}

static void every_text(struct search *s, unsigned left) {
  if (s->length && tombola__machine_complete(s->json)) compare_text(s);
  if (!left) return;
  for (size_t i = 0; i < TOMBOLA__COUNT(tokens); i++) {
    const size_t n = strlen(tokens[i]);
    const size_t fit = fits(s->json, tokens[i], n);
    if (fit == n) {
      memcpy(s->text + s->length, tokens[i], n);
      s->length += n;
      every_text(s, left - 1);
      s->length -= n;
    }
    tombola__machine_pop(s->json, fit);
  }
}

/* ---- completions ---- */

static const char alphabet[] = "\"ab}]:1,nultresf02.63\\{[";

/* Places that a search has been to, by key, with the bytes that were left then. */
static struct visit {
  uint64_t key[2];
  unsigned left, search;
} visits[1 << 16];
static unsigned n_searches;
static bool was_cut; /* a place was left because of the bound */

static bool was_here(struct tombola__machine *m, unsigned left) {
  uint64_t key[2];
  tombola__machine_key(m, 64, key);
  size_t i = (size_t)key[0] % TOMBOLA__COUNT(visits);
  while (visits[i].search == n_searches && memcmp(visits[i].key, key, sizeof key))
    i = (i + 1) % TOMBOLA__COUNT(visits);
  if (visits[i].search == n_searches && visits[i].left >= left) return true;
  visits[i] = (struct visit){{key[0], key[1]}, left, n_searches};
  return false;
}

/* What a search goes on by, in an order that comes to an end soon. */
static const char *const moves[] = {"\"",      "}",       "]",       ":",       "\"b\"", "1", "null",
                                    "{\"b\":", "{\"a\":", ",\"b\":", ",\"a\":", "\"a\"", "[", ",",
                                    "{",       "false",   "true",    "a",       "b",     "u", "l",
                                    "s",       "e",       "r",       "0",       "2",     "6", "1"};

/* Looks for a text that completes what is read: by at most `left` moves. `nodes` counts down. */
static bool completes(struct tombola__machine *m, unsigned left, size_t *nodes) {
  if (tombola__machine_complete(m)) return true;
  was_cut |= !left;
  if (!left || was_here(m, left)) return false;
  for (size_t i = 0; i < TOMBOLA__COUNT(moves) && *nodes; i++) {
    const size_t length = strlen(moves[i]), n = fits(m, moves[i], length);
    bool found = false;
    if (n == length) {
      --*nodes;
      found = completes(m, left - 1, nodes);
    }
    tombola__machine_pop(m, n);
    if (found) return true;
  }
  return false;
}

static size_t n_checks, n_undecided;

/* False: a search without bounds found nothing. One that met its bounds is counted. */
static bool can_be_completed(struct tombola__machine *m) {
  n_checks++;
  for (unsigned left = 2; left <= 24; left += left < 8 ? 2 : 8) {
    size_t nodes = MOST_NODES;
    n_searches++;
    was_cut = false;
    if (completes(m, left, &nodes)) return true;
    if (!was_cut && nodes) return false;
  }
  n_undecided++;
  return true;
}

/* A random byte that fits; false: none. */
static bool push_any(struct tombola__machine *m, struct support_rng *r) {
  for (unsigned tries = 0; tries < 200; tries++)
    if (tombola__machine_push(m, (uint8_t)alphabet[pick(r, sizeof alphabet - 1)])) return true;
  return false;
}

static bool is_usable(tombola__formula f) {
  const bool can_be = tombola__satisfiable(&store, f);
  well();
  return can_be;
}

static void walk(struct tombola__machine *m, struct support_rng *r) {
  for (unsigned i = 0; i < 14; i++) {
    if (!can_be_completed(m))
      fail_msg("'%.*s' is a dead end", (int)tombola__machine_length(m),
               (const char *)tombola__machine_text(m));
    if (!push_any(m, r)) break;
  }
  tombola__machine_pop(m, tombola__machine_length(m));
}

static void test_exact(void **state) {
  (void)state;
  struct support_rng r = support_rng(1);
  size_t machines = 0, accepted = 0, exacts = 0;
  for (unsigned round = 0; round < 100; round++) {
    open_store(TOMBOLA_WHITESPACE_NONE, 0);
    const tombola__formula f = random_schema(&r);
    struct search s = {.f = f};
    bool exact = false;
    const char *reason = NULL;
    if (is_usable(f) && tombola__explore(&store, f, &exact, &reason) == TOMBOLA_OK) {
      store.deadline = 0;
      s.json = machine_of(TOMBOLA__TRUE);
      s.m = machine_of(f);
      every_text(&s, 6);
      for (unsigned i = 0; i < 2 && exact; i++)
        walk(s.m, &r);
      well();
      tombola__machine_free(s.m);
      tombola__machine_free(s.json);
      machines++;
      accepted += s.accepted;
      exacts += exact;
    }
    tombola__store_free(&store);
  }
  assert_true(machines >= 60 && exacts >= 50 && accepted >= 5000);
  assert_true(n_checks >= 1500 && n_undecided * 20 <= n_checks);
}

/* ---- going back, and keys ---- */

/* What may follow: texts of up to `depth` bytes, hashed. */
static uint64_t what_follows(struct tombola__machine *m, unsigned depth) {
  uint64_t hash = tombola__machine_complete(m);
  for (const char *c = alphabet; depth && *c; c++) {
    if (!tombola__machine_push(m, (uint8_t)*c)) continue;
    hash = tombola__mix(hash, (uint8_t)*c);
    hash = tombola__mix(hash, what_follows(m, depth - 1));
    tombola__machine_pop(m, 1);
  }
  return hash;
}

static void test_back(void **state) {
  (void)state;
  struct support_rng r = support_rng(2);
  for (unsigned round = 0; round < 60; round++) {
    open_store(round % 2 ? TOMBOLA_WHITESPACE_BOUNDED : TOMBOLA_WHITESPACE_NONE, 2);
    const tombola__formula f = random_schema(&r);
    bool exact;
    const char *reason;
    if (is_usable(f) && tombola__explore(&store, f, &exact, &reason) == TOMBOLA_OK) {
      struct tombola__machine *const m = machine_of(f), *const fresh = machine_of(f);
      for (unsigned i = 0; i < 60; i++) {
        for (unsigned k = pick(&r, 9); k && push_any(m, &r); k--) {
        }
        tombola__machine_pop(m, pick(&r, 8));
        uint64_t one[2], two[2];
        const size_t n = tombola__machine_length(m);
        assert_int_equal(fits(fresh, (const char *)tombola__machine_text(m), n), n);
        tombola__machine_key(m, 32, one);
        tombola__machine_key(fresh, 32, two);
        assert_memory_equal(one, two, sizeof one);
        assert_true(what_follows(m, 2) == what_follows(fresh, 2));
        tombola__machine_pop(fresh, n);
      }
      well();
      tombola__machine_free(m);
      tombola__machine_free(fresh);
    }
    tombola__store_free(&store);
  }
}

#define MOST_PLACES 4000
#define HORIZON     3

struct place {
  uint64_t key[2], follows;
};

/* Equal keys: the same texts of HORIZON bytes may follow. Random walks come to the same places in many ways. */
static void test_keys(void **state) {
  (void)state;
  static struct place places[MOST_PLACES];
  struct support_rng r = support_rng(3);
  size_t same = 0;
  for (unsigned round = 0; round < 25; round++) {
    open_store(TOMBOLA_WHITESPACE_BOUNDED, 2);
    const tombola__formula f = round ? random_schema(&r) : TOMBOLA__TRUE;
    size_t n = 0;
    bool exact;
    const char *reason;
    if (is_usable(f) && tombola__explore(&store, f, &exact, &reason) == TOMBOLA_OK) {
      struct tombola__machine *const m = machine_of(f);
      for (unsigned i = 0; i < 160; i++) {
        if (!push_any(m, &r) || pick(&r, 12) == 0) tombola__machine_pop(m, pick(&r, 16));
        struct place p;
        tombola__machine_key(m, HORIZON, p.key);
        p.follows = what_follows(m, HORIZON);
        for (size_t k = 0; k < n; k++) {
          if (memcmp(places[k].key, p.key, sizeof p.key)) continue;
          same++;
          if (places[k].follows != p.follows)
            fail_msg("'%.*s' has the key of another place", (int)tombola__machine_length(m),
                     (const char *)tombola__machine_text(m));
        }
        places[n++] = p;
      }
      well();
      tombola__machine_free(m);
    }
    tombola__store_free(&store);
  }
  assert_true(same > 1000);
}

/* A place inside of a long string, or behind any number of items, has one key. */
static void test_keys_are_shared(void **state) {
  (void)state;
  static const char *const pairs[][2] = {
      {"[\"aaaaaaaa", "[\"b"}, {"[1,2,3,", "[true,"}, {"[[],\"x\"", "[{}"}, {"[\"\\u0041", "[\"\xc3\xa9"}};
  open_store(TOMBOLA_WHITESPACE_BOUNDED, 64);
  struct tombola__machine *const m = machine_of(TOMBOLA__TRUE);
  for (size_t i = 0; i < TOMBOLA__COUNT(pairs); i++) {
    uint64_t keys[2][2];
    for (size_t k = 0; k < 2; k++) {
      const size_t n = fits(m, pairs[i][k], strlen(pairs[i][k]));
      assert_int_equal(n, strlen(pairs[i][k]));
      tombola__machine_key(m, 32, keys[k]);
      tombola__machine_pop(m, n);
    }
    assert_memory_equal(keys[0], keys[1], sizeof keys[0]);
  }
  tombola__machine_free(m);
  tombola__store_free(&store);
}

/* ---- freedom ---- */

static bool is_free(const struct tombola__freedom *f, unsigned c) {
  return f->ascii[c / 32] >> c % 32 & 1;
}

static void test_freedom(void **state) {
  (void)state;
  open_store(TOMBOLA_WHITESPACE_NONE, 0);
  struct tombola__machine *m = machine_of(TOMBOLA__TRUE);
  struct tombola__freedom f;
  assert_false(tombola__machine_freedom(m, &f));
  static const char *const places[] = {"[\"", "[\"a\xc3\xa9", "{\"", "{\"a\":1,\"b"};
  for (size_t i = 0; i < TOMBOLA__COUNT(places); i++) {
    const size_t n = fits(m, places[i], strlen(places[i]));
    assert_true(tombola__machine_freedom(m, &f));
    assert_true(f.others && f.length == TOMBOLA__LANG_UNBOUNDED);
    for (unsigned c = 0; c < 128; c++)
      assert_int_equal(is_free(&f, c), c >= 0x20 && c != '"' && c != '\\');
    tombola__machine_pop(m, n);
  }
  assert_int_equal(fits(m, "[\"\\", 3), 3);
  assert_false(tombola__machine_freedom(m, &f));
  tombola__machine_free(m);
  /* Five more code points are free, whatever they are. */
  m = machine_of(tombola__and2(&store, tombola__types(&store, TOMBOLA__STRING),
                               tombola__text(&store, tombola__lang_length(&store, 0, 9))));
  assert_int_equal(fits(m, "\"abcd", 5), 5);
  assert_true(tombola__machine_freedom(m, &f));
  assert_true(f.length > 0 && f.length <= 5);
  tombola__machine_free(m);
  tombola__store_free(&store);
}

/* ---- memory and limits ---- */

static const char document[] =
    "{\"alpha\":[1,2.5e3,\"x\\u0041\\ud83d\\ude00\",true,null,{}],\"beta\":{\"a\":[[[]]]},"
    "\"gamma\":\"caf\xc3\xa9\"}";

static void test_warm(void **state) {
  (void)state;
  struct support_allocator a = support_allocator(0);
  open_store(TOMBOLA_WHITESPACE_NONE, 0);
  const struct tombola__program program = {.part = TOMBOLA__JSON, .formula = TOMBOLA__TRUE};
  struct tombola__machine *m = NULL;
  assert_int_equal(tombola__machine_new(&store, &program, support_allocator_use(&a), &m), TOMBOLA_OK);
  size_t requests = 0;
  for (unsigned i = 0; i < 5; i++) {
    assert_int_equal(fits(m, document, strlen(document)), strlen(document));
    assert_true(tombola__machine_complete(m));
    tombola__machine_pop(m, strlen(document) - i);
    tombola__machine_pop(m, i);
    if (i) assert_int_equal(a.requests, requests);
    requests = a.requests;
  }
  tombola__machine_free(m);
  support_allocator_check(&a);
  tombola__store_free(&store);
}

static void test_no_memory(void **state) {
  (void)state;
  for (size_t n = 1;; n++) {
    struct support_allocator a = support_allocator(n);
    open_store(TOMBOLA_WHITESPACE_NONE, 0);
    const struct tombola__program program = {.part = TOMBOLA__JSON, .formula = TOMBOLA__TRUE};
    struct tombola__machine *m = NULL;
    const enum tombola_status status = tombola__machine_new(&store, &program, support_allocator_use(&a), &m);
    size_t read = 0;
    if (status == TOMBOLA_OK) {
      /* What failed changed nothing: it goes on from there. */
      read = fits(m, document, strlen(document));
      if (store.status == TOMBOLA_NO_MEMORY) {
        assert_int_equal(tombola__machine_length(m), read);
        tombola__store_clear(&store);
        read += fits(m, document + read, strlen(document) - read);
      }
      assert_int_equal(read, strlen(document));
    } else {
      assert_int_equal(status, TOMBOLA_NO_MEMORY);
    }
    tombola__machine_free(m);
    support_allocator_check(&a);
    tombola__store_free(&store);
    if (a.requests < n) break;
  }
}

static void test_limits(void **state) {
  (void)state;
  struct tombola_grammar_limits limits = {.struct_size = sizeof limits, .max_depth = 10, .max_threads = 3};
  assert_int_equal(tombola__store_new(&store, &limits, NULL, NULL), TOMBOLA_OK);
  struct tombola__machine *m = machine_of(TOMBOLA__TRUE);
  assert_int_equal(fits(m, "[[[[[[[[[[[[", 12), 10);
  assert_int_equal(store.status, TOMBOLA_OUT_OF_RANGE);
  assert_string_equal(store.error.param, "max_depth");
  tombola__store_clear(&store);
  assert_int_equal(fits(m, "]]", 2), 2); /* nothing has changed */
  tombola__machine_free(m);
  /* Four objects at a time, of which nothing is known in front of the value. */
  tombola__formula parts[4];
  for (uint32_t i = 0; i < 4; i++) {
    const char value[] = {'"', (char)('a' + i), '"'};
    const tombola__formula both[] = {
        tombola__types(&store, TOMBOLA__OBJECT), tombola__required(&store, tombola__name(&store, "k", 1)),
        tombola__property(&store, tombola__name(&store, "k", 1), 0, tombola__equal_to(&store, value, 3)),
        tombola__size(&store, i + 1, i + 1)};
    parts[i] = tombola__and(&store, both, 4);
  }
  m = machine_of(tombola__or(&store, parts, 4));
  assert_false(tombola__machine_push(m, '{'));
  assert_int_equal(store.status, TOMBOLA_OUT_OF_RANGE);
  assert_string_equal(store.error.param, "max_threads");
  tombola__machine_free(m);
  tombola__store_free(&store);
}

static void test_nothing_fits(void **state) {
  (void)state;
  open_store(TOMBOLA_WHITESPACE_NONE, 0);
  const struct tombola__program program = {.part = TOMBOLA__JSON, .formula = TOMBOLA__FALSE};
  struct tombola__machine *m = NULL;
  assert_int_equal(tombola__machine_new(&store, &program, NULL, &m), TOMBOLA_NO_CANDIDATE);
  assert_null(m);
  tombola__store_free(&store);
}

/* Many readings at a time, found by hash: an array with one of 40 things in it that begin alike. */
static void test_many_threads(void **state) {
  (void)state;
  open_store(TOMBOLA_WHITESPACE_NONE, 0);
  tombola__formula parts[40];
  for (uint32_t i = 0; i < 40; i++) {
    const tombola__formula both[] = {tombola__types(&store, TOMBOLA__ARRAY),
                                     tombola__length(&store, 2 * i + 1, 2 * i + 1)};
    parts[i] = tombola__and(&store, both, 2);
  }
  struct tombola__machine *const m = machine_of(tombola__or(&store, parts, 40));
  for (unsigned items = 1; items < 84; items++) {
    tombola__machine_pop(m, tombola__machine_length(m));
    size_t n = fits(m, "[", 1);
    for (unsigned i = 0; i < items; i++)
      n += fits(m, i ? ",1" : "1", i ? 2 : 1);
    n += fits(m, "]", 1);
    const bool is = n == 2 * (size_t)items + 1 && tombola__machine_complete(m);
    assert_int_equal(is, items % 2 == 1 && items < 80);
    well();
  }
  tombola__machine_free(m);
  tombola__store_free(&store);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_exact),        cmocka_unit_test(test_back),
      cmocka_unit_test(test_keys),         cmocka_unit_test(test_keys_are_shared),
      cmocka_unit_test(test_freedom),      cmocka_unit_test(test_warm),
      cmocka_unit_test(test_no_memory),    cmocka_unit_test(test_limits),
      cmocka_unit_test(test_nothing_fits), cmocka_unit_test(test_many_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
