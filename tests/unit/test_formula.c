/* SPDX-License-Identifier: Apache-2.0 */
/* Formulas against an evaluator that reads them node by node: what the constructors simplify must mean what was asked
 * for, and a negation the opposite, on every value of a list. */
#include "formula_value.h"
#include "support.h"

#include <stdio.h>

static const char *const texts[] = {"null",
                                    "true",
                                    "false",
                                    "0",
                                    "1",
                                    "-1",
                                    "1.0",
                                    "2",
                                    "2.5",
                                    "1e2",
                                    "\"\"",
                                    "\"a\"",
                                    "\"ab\"",
                                    "\"b\"",
                                    "[]",
                                    "[1]",
                                    "[1, 1.0]",
                                    "[1, 2]",
                                    "[2, \"a\"]",
                                    "[\"a\", \"a\"]",
                                    "[1, 2, 3]",
                                    "[[], []]",
                                    "[{}, 1]",
                                    "[null, \"b\", 2]",
                                    "{}",
                                    "{\"a\": 1}",
                                    "{\"b\": 1}",
                                    "{\"a\": \"a\"}",
                                    "{\"a\": 1, \"b\": 2}",
                                    "{\"a\": [1], \"c\": null}",
                                    "{\"a\": 2, \"b\": \"a\", \"c\": 1}",
                                    "{\"ab\": 1}",
                                    "{\"a\": {\"a\": 1}}"};

#define N_VALUES TOMBOLA__COUNT(texts)

struct values {
  struct tombola__store s;
  yyjson_doc *documents[N_VALUES];
  yyjson_val *v[N_VALUES];
};

static int set_up(void **state) {
  struct values *const values = calloc(1, sizeof *values);
  for (size_t i = 0; i < N_VALUES; i++) {
    values->documents[i] = yyjson_read(texts[i], strlen(texts[i]), YYJSON_READ_NUMBER_AS_RAW);
    values->v[i] = yyjson_doc_get_root(values->documents[i]);
    assert_non_null(values->v[i]);
  }
  assert_int_equal(tombola__store_new(&values->s, NULL, NULL, NULL), TOMBOLA_OK);
  values->s.deadline = 0;
  *state = values;
  return 0;
}

static int tear_down(void **state) {
  struct values *const values = *state;
  tombola__store_free(&values->s);
  for (size_t i = 0; i < N_VALUES; i++)
    yyjson_doc_free(values->documents[i]);
  free(values);
  return 0;
}

/* The values that satisfy a formula, as bits. */
static uint64_t bits(struct values *values, tombola__formula f) {
  uint64_t found = 0;
  for (size_t i = 0; i < N_VALUES; i++)
    found |= (uint64_t)support_satisfies(&values->s, f, values->v[i]) << i;
  assert_int_equal(values->s.status, TOMBOLA_OK);
  return found;
}

static const uint64_t every = ((uint64_t)1 << N_VALUES) - 1;

/* ---- random formulas ---- */

static uint32_t next(uint32_t *seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return *seed >> 8;
}

static tombola__formula random_formula(struct tombola__store *s, uint32_t *seed, unsigned depth);

static tombola__lang random_lang(struct tombola__store *s, uint32_t *seed) {
  static const char *const words[] = {"a", "b", "ab", "c"};
  const char *const word = words[next(seed) % 4];
  switch (next(seed) % 4) {
  case 0: return tombola__lang_text(s, word, strlen(word));
  case 1: return tombola__lang_not(s, tombola__lang_text(s, word, strlen(word)));
  case 2: return tombola__lang_length(s, 0, 1);
  default: return next(seed) % 2 ? TOMBOLA__LANG_ALL : TOMBOLA__LANG_NONE;
  }
}

static tombola__formula random_array_atom(struct tombola__store *s, uint32_t *seed, unsigned depth) {
  const uint32_t index = next(seed) % 3, min = next(seed) % 3;
  const uint32_t max = next(seed) % 3 ? min + next(seed) % 2 : TOMBOLA__MANY;
  switch (next(seed) % 5) {
  case 0: return tombola__length(s, min, next(seed) % 3 ? max : min / 2);
  case 1: return tombola__item(s, index, random_formula(s, seed, depth));
  case 2: return tombola__items(s, index, random_formula(s, seed, depth));
  case 3: return tombola__contains(s, index, random_formula(s, seed, depth), min, max);
  default: return tombola__unique(s);
  }
}

static tombola__formula random_object_atom(struct tombola__store *s, uint32_t *seed, unsigned depth) {
  static const char *const names[] = {"a", "b", "c", "ab"};
  const struct tombola__name *const name = tombola__name(s, names[next(seed) % 4], 1);
  const struct tombola__name *const other = tombola__name(s, names[next(seed) % 4], 1);
  const uint32_t min = next(seed) % 3;
  switch (next(seed) % 5) {
  case 0: return tombola__size(s, min, next(seed) % 2 ? min + 1 : TOMBOLA__MANY);
  case 1: return tombola__property(s, name, next(seed) % 3, random_formula(s, seed, depth));
  case 2: return tombola__required(s, name);
  case 3: return tombola__depends(s, name, other);
  default: return tombola__keys(s, random_lang(s, seed), random_formula(s, seed, depth));
  }
}

static tombola__formula random_atom(struct tombola__store *s, uint32_t *seed, unsigned depth) {
  static const char *const numbers[] = {"0", "1", "2.5", "-1"};
  const char *const number = numbers[next(seed) % 4];
  switch (next(seed) % 8) {
  case 0: return next(seed) % 2 ? TOMBOLA__TRUE : TOMBOLA__FALSE;
  case 1: return tombola__types(s, next(seed) % 128);
  case 2: return tombola__text(s, random_lang(s, seed));
  case 3: return tombola__equal_to(s, number, strlen(number));
  case 4: return tombola__numeric(s, tombola__numbers_integers(s));
  case 5:
  case 6: return random_object_atom(s, seed, depth);
  default: return random_array_atom(s, seed, depth);
  }
}

static tombola__formula random_formula(struct tombola__store *s, uint32_t *seed, unsigned depth) {
  if (depth == 0) return next(seed) % 3 ? tombola__types(s, next(seed) % 128) : random_atom(s, seed, 0);
  tombola__formula parts[3];
  const size_t n = next(seed) % 4;
  if (next(seed) % 2) return random_atom(s, seed, depth - 1);
  for (size_t i = 0; i < n; i++)
    parts[i] = random_formula(s, seed, depth - 1);
  switch (next(seed) % 4) {
  case 0: return tombola__and(s, parts, n);
  case 1: return tombola__or(s, parts, n);
  case 2: return tombola__one_of(s, parts, n);
  default: return tombola__not(s, random_formula(s, seed, depth - 1));
  }
}

static void test_negation(void **state) {
  struct values *const values = *state;
  struct tombola__store *const s = &values->s;
  uint32_t seed = 1, settled = 0;
  for (int i = 0; i < 4000; i++) {
    const tombola__formula f = random_formula(s, &seed, 3), g = tombola__not(s, f);
    const uint64_t is = bits(values, f);
    assert_int_equal(bits(values, g), every & ~is);
    assert_int_equal(bits(values, tombola__not(s, g)), is);
    settled += f == TOMBOLA__TRUE || f == TOMBOLA__FALSE;
  }
  assert_true(settled < 2000); /* the formulas say something */
}

static void test_joins(void **state) {
  struct values *const values = *state;
  struct tombola__store *const s = &values->s;
  uint32_t seed = 2;
  for (int i = 0; i < 3000; i++) {
    tombola__formula f[4];
    const size_t n = next(&seed) % 5;
    uint64_t all = every, any = 0, one = 0;
    for (size_t k = 0; k < n; k++) {
      f[k] = k > 0 && next(&seed) % 8 == 0   ? f[k - 1]
             : k > 0 && next(&seed) % 8 == 0 ? tombola__not(s, f[k - 1])
                                             : random_formula(s, &seed, 2);
      const uint64_t is = bits(values, f[k]);
      all &= is;
      one = (one & ~is) | (~any & is);
      any |= is;
    }
    assert_int_equal(bits(values, tombola__and(s, f, n)), all);
    assert_int_equal(bits(values, tombola__or(s, f, n)), any);
    assert_int_equal(bits(values, tombola__one_of(s, f, n)), one);
  }
}

/* ---- what is plain to see ---- */

static void test_simple(void **state) {
  struct tombola__store *const s = &((struct values *)*state)->s;
  const struct tombola__name *const a = tombola__name(s, "a", 1);
  assert_ptr_equal(a, tombola__name(s, "a", 1));
  assert_ptr_not_equal(a, tombola__name(s, "a\0b", 3));
  const tombola__formula x = tombola__required(s, a), y = tombola__length(s, 1, 2);
  const tombola__formula parts[] = {x, tombola__size(s, 2, 3)}, one = tombola__one_of(s, parts, 2);
  assert_int_equal(tombola__and2(s, x, y), tombola__and2(s, y, x));
  assert_int_equal(tombola__and2(s, x, tombola__and2(s, y, x)), tombola__and2(s, y, x));
  assert_int_equal(tombola__or2(s, x, y), TOMBOLA__TRUE); /* atoms of two types */
  assert_int_equal(tombola__and2(s, one, tombola__not(s, one)), TOMBOLA__FALSE);
  assert_int_equal(tombola__and2(s, tombola__types(s, TOMBOLA__STRING), y),
                   tombola__types(s, TOMBOLA__STRING));
  assert_int_equal(tombola__or2(s, tombola__types(s, TOMBOLA__STRING), y), y);
  assert_int_equal(tombola__length(s, 0, TOMBOLA__MANY), TOMBOLA__TRUE);
  assert_int_equal(tombola__items(s, 3, TOMBOLA__FALSE), tombola__length(s, 0, 3));
  assert_int_equal(tombola__contains(s, 0, TOMBOLA__TRUE, 1, 2), tombola__length(s, 1, 2));
  assert_int_equal(tombola__keys(s, TOMBOLA__LANG_ALL, TOMBOLA__FALSE), tombola__size(s, 0, 0));
  assert_int_equal(tombola__property(s, a, 0, TOMBOLA__TRUE), TOMBOLA__TRUE);
  s->order = TOMBOLA_ORDER_DECLARED; /* then its place is something that is said */
  assert_int_not_equal(tombola__property(s, a, 0, TOMBOLA__TRUE), TOMBOLA__TRUE);
  assert_int_equal(tombola__property(s, a, TOMBOLA__MANY, TOMBOLA__TRUE), TOMBOLA__TRUE);
  assert_int_equal(tombola__not(s, tombola__property(s, a, 0, TOMBOLA__TRUE)), TOMBOLA__FALSE);
}

static void test_equal(void **state) {
  struct values *const values = *state;
  for (size_t i = 0; i < N_VALUES; i++) {
    const tombola__formula f = tombola__equal_to(&values->s, texts[i], strlen(texts[i]));
    for (size_t k = 0; k < N_VALUES; k++)
      assert_int_equal(support_satisfies(&values->s, f, values->v[k]),
                       support_equal(values->v[i], values->v[k]));
  }
  assert_int_equal(tombola__equal_to(&values->s, "{\"a\": [1, {}], \"b\": 2.50}", 25),
                   tombola__equal_to(&values->s, "{\"b\":25e-1,\"a\":[1.0,{}]}", 24));
}

/* ---- later ---- */

struct circle {
  tombola__formula later;
  int built, alone;
};

/* A list of numbers, nested as deep as you like; or, alone, itself. */
static tombola__formula build_circle(struct tombola__store *s, void *context, uint32_t id) {
  struct circle *const c = context;
  assert_int_equal(id, 7);
  c->built++;
  if (c->alone) return tombola__resolve(s, c->later);
  return tombola__and2(s, tombola__types(s, TOMBOLA__ARRAY | TOMBOLA__NUMBER),
                       tombola__items(s, 0, c->later));
}

static void test_later(void **state) {
  struct tombola__store *const s = &((struct values *)*state)->s;
  struct circle c = {0, 0, 0};
  c.later = tombola__later(s, build_circle, &c, 7);
  const tombola__formula not_it = tombola__not(s, c.later);
  assert_int_equal(tombola__node(s, c.later)->kind, TOMBOLA__LATER);
  assert_int_equal(tombola__not(s, not_it), c.later);
  assert_int_equal(c.built, 0);
  static const char *const good[] = {"1", "[]", "[1, [2, [[3]]]]"}, *const bad[] = {"{}", "[[[null]]]"};
  for (size_t i = 0; i < 5; i++) {
    const char *const text = i < 3 ? good[i] : bad[i - 3];
    yyjson_doc *const d = yyjson_read(text, strlen(text), YYJSON_READ_NUMBER_AS_RAW);
    assert_int_equal(support_satisfies(s, c.later, yyjson_doc_get_root(d)), i < 3);
    assert_int_equal(support_satisfies(s, not_it, yyjson_doc_get_root(d)), i >= 3);
    yyjson_doc_free(d);
  }
  assert_int_equal(c.built, 1);
  assert_int_not_equal(tombola__node(s, c.later)->kind, TOMBOLA__LATER);
  assert_int_not_equal(tombola__node(s, not_it)->kind, TOMBOLA__LATER);

  c.alone = 1;
  c.later = tombola__later(s, build_circle, &c, 7);
  assert_int_equal(tombola__resolve(s, c.later), TOMBOLA__FALSE);
  assert_int_equal(s->status, TOMBOLA_UNSUPPORTED);
}

/* An array with one to three of itself. */
static tombola__formula build_contains(struct tombola__store *s, void *context, uint32_t id) {
  const tombola__formula *const later = context;
  assert_int_equal(id, 8);
  return tombola__and2(s, tombola__types(s, TOMBOLA__ARRAY), tombola__contains(s, 0, *later, 1, 3));
}

/* Negating what contains itself ends, also when it is built. */
static void test_contains_itself(void **state) {
  struct tombola__store *const s = &((struct values *)*state)->s;
  tombola__formula later = 0;
  later = tombola__later(s, build_contains, &later, 8);
  const tombola__formula built = tombola__resolve(s, later), not_it = tombola__not(s, built);
  assert_int_equal(s->status, TOMBOLA_OK);
  assert_int_equal(tombola__not(s, not_it), built);
  static const char *const finite[] = {"1", "[]", "[[[]], 1]"}; /* finite, so none is one */
  for (size_t i = 0; i < 3; i++) {
    yyjson_doc *const d = yyjson_read(finite[i], strlen(finite[i]), YYJSON_READ_NUMBER_AS_RAW);
    assert_int_equal(support_satisfies(s, built, yyjson_doc_get_root(d)), 0);
    assert_int_equal(support_satisfies(s, not_it, yyjson_doc_get_root(d)), 1);
    yyjson_doc_free(d);
  }
}

/* ---- memory ---- */

static tombola__formula nothing(struct tombola__store *s, void *context, uint32_t id) {
  (void)s;
  (void)context;
  return id;
}

static enum tombola_status make_many(const struct tombola_allocator *allocator,
                                     const struct tombola_grammar_limits *limits) {
  struct tombola__store s;
  enum tombola_status status = tombola__store_new(&s, limits, allocator, NULL);
  if (status != TOMBOLA_OK) return status;
  uint32_t seed = 3;
  char name[16];
  for (int i = 0; i < 300 && !s.status; i++) {
    snprintf(name, sizeof name, "%d", i);
    const struct tombola__name *const n = tombola__name(&s, name, strlen(name));
    if (n) tombola__not(&s, tombola__and2(&s, tombola__required(&s, n), random_formula(&s, &seed, 1)));
    tombola__later(&s, nothing, NULL, 0);
  }
  status = s.status;
  tombola__store_free(&s);
  return status;
}

static void test_memory(void **state) {
  (void)state;
  for (size_t n = 1;; n++) {
    struct support_allocator a = support_allocator(n);
    const enum tombola_status status = make_many(support_allocator_use(&a), NULL);
    support_allocator_check(&a);
    if (a.requests < n) {
      assert_int_equal(status, TOMBOLA_OK);
      break;
    }
    assert_int_equal(status, TOMBOLA_NO_MEMORY);
  }
}

/* A store that meets its limits, also while it is made, gives everything back. */
static void test_small_stores(void **state) {
  (void)state;
  size_t made = 0, refused = 0;
  for (size_t n = 1; n < 1000; n++) {
    struct support_allocator a = support_allocator(0);
    const struct tombola_grammar_limits limits = {
        .struct_size = sizeof limits, .max_bytes = n < 900 ? n * n : 0, .max_states = n < 900 ? 0 : n - 899};
    const enum tombola_status status = make_many(support_allocator_use(&a), &limits);
    support_allocator_check(&a);
    if (status) assert_int_equal(status, TOMBOLA_OUT_OF_RANGE);
    *(status ? &refused : &made) += 1;
  }
  assert_true(made > 0 && refused > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_negation, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_joins, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_simple, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_equal, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_later, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_contains_itself, set_up, tear_down),
      cmocka_unit_test(test_memory),
      cmocka_unit_test(test_small_stores),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
