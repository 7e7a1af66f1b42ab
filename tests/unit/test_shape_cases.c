/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes, case by case: values that would be infinite, alternatives that are told apart, different items, counts of
 * values, limits. */
#include "shape_readers.h"

static struct tombola__store one;  /* each case's */
static tombola__formula built[16]; /* what LATER parts are */

static int open_one(void **state) {
  (void)state;
  open_store(&one, TOMBOLA_ORDER_ANY);
  return 0;
}

static int close_one(void **state) {
  (void)state;
  tombola__store_free(&one);
  return 0;
}

static tombola__formula build(struct tombola__store *s, void *context, uint32_t id) {
  (void)s;
  (void)context;
  return built[id];
}

static tombola__formula later(uint32_t id) {
  return tombola__later(&one, build, NULL, id);
}

static tombola__formula all_of(tombola__formula a, tombola__formula b, tombola__formula c) {
  const tombola__formula parts[] = {a, b, c};
  return tombola__and(&one, parts, 3);
}

static const struct tombola__name *named(const char *name) {
  return tombola__name(&one, name, strlen(name));
}

/* An object that must have the property. */
static tombola__formula with(const char *name, tombola__formula value) {
  return all_of(tombola__types(&one, TOMBOLA__OBJECT), tombola__required(&one, named(name)),
                tombola__property(&one, named(name), 0, value));
}

static tombola__formula text(const char *t) {
  return tombola__and2(&one, tombola__types(&one, TOMBOLA__STRING),
                       tombola__text(&one, tombola__lang_text(&one, t, strlen(t))));
}

static tombola__formula texts(const char *prefix, size_t n) {
  tombola__formula f = TOMBOLA__FALSE;
  for (size_t i = 0; i < n; i++) {
    char t[32];
    snprintf(t, sizeof t, "%s%zu", prefix, i);
    f = tombola__or2(&one, f, text(t));
  }
  return f;
}

/* Values are finite: what always holds another of its kind isn't one. */
static void test_recursion(void **state) {
  (void)state;
  const tombola__formula string = tombola__types(&one, TOMBOLA__STRING);
  built[0] = with("c", later(0));
  assert_false(tombola__satisfiable(&one, later(0)));
  assert_false(tombola__satisfiable(&one, with("x", later(0))));
  built[1] = with("c", tombola__or2(&one, later(1), string));
  assert_true(tombola__satisfiable(&one, later(1)));
  built[2] = with("c", later(3)); /* two that need each other, and one that doesn't */
  built[3] = with("d", later(2));
  assert_false(tombola__satisfiable(&one, tombola__or2(&one, later(2), later(3))));
  built[4] = with("c", later(5));
  built[5] = tombola__or2(&one, with("d", later(4)), with("e", string));
  assert_true(tombola__satisfiable(&one, later(4)));
  built[6] = all_of(tombola__types(&one, TOMBOLA__ARRAY), tombola__length(&one, 1, TOMBOLA__MANY),
                    tombola__items(&one, 0, later(6)));
  assert_false(tombola__satisfiable(&one, later(6)));
  check_store(&one);
  built[7] = tombola__or2(&one, later(7), string); /* itself, in place */
  tombola__satisfiable(&one, later(7));
  assert_int_equal(one.status, TOMBOLA_UNSUPPORTED);
}

#define PARTS 16

/* Random parts that need each other, against the least solution step by step: each is an OR of objects that must have
 * values of one or two of the parts; a few may be a string as well. */
static void test_fixpoint(void **state) {
  (void)state;
  struct support_rng rng = support_rng(4);
  static const char *const names[] = {"a", "b"};
  size_t satisfied = 0;
  for (size_t round = 0; round < 3000; round++) {
    size_t needs[PARTS][3][2], n[PARTS];
    bool good[PARTS] = {false};
    tombola__store_free(&one);
    open_store(&one, TOMBOLA_ORDER_ANY);
    for (size_t i = 0; i < PARTS; i++) {
      n[i] = 1 + support_u32(&rng) % 3;
      good[i] = support_u32(&rng) % 6 == 0;
      built[i] = good[i] ? text("s") : TOMBOLA__FALSE;
      for (size_t k = 0; k < n[i]; k++) {
        tombola__formula object = TOMBOLA__TRUE;
        for (size_t j = 0; j < 2; j++) {
          needs[i][k][j] = support_u32(&rng) % PARTS;
          object = tombola__and2(&one, object, with(names[j], later((uint32_t)needs[i][k][j])));
        }
        built[i] = tombola__or2(&one, built[i], object);
      }
    }
    for (size_t pass = 0; pass < PARTS; pass++)
      for (size_t i = 0; i < PARTS; i++)
        for (size_t k = 0; k < n[i]; k++)
          good[i] |= good[needs[i][k][0]] && good[needs[i][k][1]];
    for (size_t i = 0; i < PARTS; i++) {
      if (tombola__satisfiable(&one, later((uint32_t)i)) != good[i])
        fail_msg("round %zu, part %zu", round, i);
      satisfied += good[i];
    }
    check_store(&one);
  }
  assert_in_range(satisfied, 3000, 45000);
}

/* A value inside a value inside …: a status, not a crash. */
static void test_depth(void **state) {
  (void)state;
  tombola__formula f = tombola__types(&one, TOMBOLA__NULL);
  for (size_t i = 0; i < 200; i++)
    f = with("x", f);
  assert_true(tombola__satisfiable(&one, f));
  for (size_t i = 0; i < 5000; i++)
    f = with("x", f);
  assert_false(tombola__satisfiable(&one, f));
  assert_int_equal(one.status, TOMBOLA_OUT_OF_RANGE);
}

/* A oneOf whose parts a property tells apart is a choice of as many branches as parts, also a level further in. */
static void test_discriminated(void **state) {
  (void)state;
  tombola__formula parts[40], inner[40];
  const tombola__formula string = tombola__types(&one, TOMBOLA__STRING);
  for (size_t i = 0; i < 40; i++) {
    char name[16];
    snprintf(name, sizeof name, "kind%zu", i);
    parts[i] = all_of(with("type", text(name)), with("shared", string),
                      tombola__property(&one, named(name), 3, string));
    inner[i] = with("head", parts[i]);
  }
  const struct tombola__value *v = tombola__value(&one, tombola__one_of(&one, parts, 40));
  check_store(&one);
  assert_int_equal(v->n_objects, 1);
  assert_int_equal(v->objects[0]->n_choices, 1);
  assert_int_equal(v->objects[0]->n_branches, 40);
  v = tombola__value(&one, tombola__one_of(&one, inner, 40));
  check_store(&one);
  assert_int_equal(v->n_objects, 1);
  assert_in_range(v->objects[0]->n_branches, 0, 40);
  const tombola__formula twice[] = {tombola__one_of(&one, parts, 40), tombola__not(&one, parts[3])};
  v = tombola__value(&one, tombola__and(&one, twice, 2));
  check_store(&one);
  assert_int_equal(v->n_objects, 1);
  assert_in_range(v->objects[0]->n_branches, 39, 80); /* the other kinds, and two ways not to be the third */
}

/* Alternatives that multiply are refused, in time: where the number of properties couples them. */
static void test_blow_up(void **state) {
  (void)state;
  tombola__formula f = tombola__size(&one, 3, 20);
  for (size_t i = 0; i < 30; i++) {
    char a[16], b[16];
    snprintf(a, sizeof a, "a%zu", i);
    snprintf(b, sizeof b, "b%zu", i);
    f = tombola__and2(
        &one, f, tombola__or2(&one, tombola__required(&one, named(a)), tombola__required(&one, named(b))));
  }
  assert_null(tombola__value(&one, f));
  assert_int_equal(one.status, TOMBOLA_OUT_OF_RANGE);
  assert_non_null(strstr(one.error.message, "alternatives"));
}

static tombola__formula unique(tombola__formula items, uint32_t min) {
  return tombola__and2(&one, all_of(tombola__types(&one, TOMBOLA__ARRAY), tombola__unique(&one), items),
                       tombola__length(&one, min, TOMBOLA__MANY));
}

/* Different items: as many values as items, for every set of them. */
static void test_unique(void **state) {
  (void)state;
  const tombola__formula few = texts("v", 30);
  assert_int_equal(tombola__value_count(&one, few, 1000), 30);
  assert_true(tombola__satisfiable(&one, unique(tombola__items(&one, 0, few), 30)));
  assert_false(tombola__satisfiable(&one, unique(tombola__items(&one, 0, few), 31)));
  assert_true(tombola__satisfiable(
      &one, unique(tombola__items(&one, 0, tombola__types(&one, TOMBOLA__NUMBER)), 5000)));
  /* v0, v0 or v1, v0 or v1: two values for three */
  const tombola__formula two = texts("v", 2);
  const tombola__formula first =
      tombola__and2(&one, tombola__item(&one, 0, text("v0")), tombola__item(&one, 1, two));
  assert_true(tombola__satisfiable(&one, unique(first, 2)));
  assert_false(
      tombola__satisfiable(&one, unique(tombola__and2(&one, first, tombola__item(&one, 2, two)), 3)));
  /* The first item may not take what the second one needs. */
  const struct tombola__value *const v = tombola__value(
      &one, unique(tombola__and2(&one, tombola__item(&one, 0, two), tombola__item(&one, 1, text("v0"))), 2));
  check_store(&one);
  static const struct value v0 = {.type = TOMBOLA__STRING, .string = "v0", .text = "\"v0\""};
  static const struct value v1 = {.type = TOMBOLA__STRING, .string = "v1", .text = "\"v1\""};
  struct threads from = {.at[0].array = v->arrays[0], .n = 1}, to;
  read_item(&one, &from, NULL, &v0, &to);
  assert_int_equal(to.n, 0);
  read_item(&one, &from, NULL, &v1, &to);
  assert_int_equal(to.n, 1);
}

static void test_count(void **state) {
  (void)state;
  const tombola__formula boolean = tombola__types(&one, TOMBOLA__BOOLEAN);
  const tombola__formula array =
      tombola__and2(&one, tombola__types(&one, TOMBOLA__ARRAY), tombola__items(&one, 0, boolean));
  assert_int_equal(tombola__value_count(&one, tombola__and2(&one, array, tombola__length(&one, 2, 4)), 100),
                   4 + 8 + 16);
  assert_int_equal(tombola__value_count(&one, array, 100), 100);
  assert_int_equal(tombola__value_count(&one, unique(tombola__items(&one, 0, boolean), 0), 100), 1 + 2 + 2);
  tombola__formula object = tombola__keys(&one, lang_of(&one, 8), TOMBOLA__FALSE);
  object = all_of(object, with("a", boolean), tombola__keys(&one, TOMBOLA__LANG_ALL, boolean));
  assert_int_equal(tombola__value_count(&one, object, 100), 2 * 3 * 3);
  assert_int_equal(tombola__value_count(&one, tombola__and2(&one, object, tombola__size(&one, 0, 2)), 100),
                   2 + 4 + 4);
  const tombola__formula either =
      tombola__or2(&one, tombola__and2(&one, object, tombola__required(&one, named("b"))),
                   tombola__and2(&one, object, tombola__required(&one, named("c"))));
  assert_int_equal(tombola__value_count(&one, either, 100), 18 - 2);
  built[0] =
      tombola__and2(&one, tombola__types(&one, TOMBOLA__ARRAY),
                    tombola__and2(&one, tombola__length(&one, 0, 1), tombola__items(&one, 0, later(0))));
  assert_int_equal(tombola__value_count(&one, later(0), 1000), 1000);
  check_store(&one);
}

static tombola__formula counted(tombola__formula items, tombola__formula part, uint32_t from, uint32_t least,
                                uint32_t most) {
  return all_of(tombola__types(&one, TOMBOLA__ARRAY), items,
                tombola__contains(&one, from, part, least, most));
}

/* How many items must be counted, and how many can be, against the length. */
static void test_contains(void **state) {
  (void)state;
  const tombola__formula number = tombola__types(&one, TOMBOLA__NUMBER),
                         string = tombola__types(&one, TOMBOLA__STRING);
  const tombola__formula numbers = tombola__items(&one, 0, number), any = TOMBOLA__TRUE;
  const tombola__formula two = tombola__length(&one, 2, 2),
                         many = tombola__length(&one, 1000000, TOMBOLA__MANY);
  assert_true(tombola__satisfiable(&one, counted(numbers, number, 0, 0, 1)));
  assert_false(tombola__satisfiable(&one, counted(tombola__and2(&one, numbers, two), number, 0, 0, 1)));
  assert_true(tombola__satisfiable(&one, counted(tombola__and2(&one, numbers, two), number, 1, 0, 1)));
  assert_false(tombola__satisfiable(&one, counted(tombola__and2(&one, numbers, many), number, 1, 0, 5)));
  assert_true(tombola__satisfiable(&one, counted(many, number, 1, 0, 5)));
  assert_false(tombola__satisfiable(&one, counted(two, number, 0, 3, TOMBOLA__MANY)));
  assert_false(tombola__satisfiable(&one, counted(numbers, string, 0, 1, TOMBOLA__MANY)));
  /* Items of their own that can't but be counted. */
  const tombola__formula own = all_of(tombola__item(&one, 0, number), tombola__item(&one, 1, number), two);
  assert_false(tombola__satisfiable(&one, counted(own, number, 0, 0, 1)));
  assert_true(tombola__satisfiable(&one, counted(own, number, 0, 0, 2)));
  /* two counts share the items */
  const tombola__formula strings = counted(two, string, 0, 1, 1);
  assert_true(
      tombola__satisfiable(&one, tombola__and2(&one, strings, counted(any, number, 0, 1, TOMBOLA__MANY))));
  assert_false(
      tombola__satisfiable(&one, tombola__and2(&one, strings, counted(any, number, 0, 2, TOMBOLA__MANY))));
  assert_true(tombola__satisfiable(
      &one, tombola__and2(&one, counted(many, string, 0, 1, 3), counted(any, number, 0, 2, 4))));
  check_store(&one);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, open_one, close_one)

int main(void) {
  const struct CMUnitTest tests[] = {
      CASE(test_recursion), CASE(test_fixpoint), CASE(test_depth),    CASE(test_discriminated),
      CASE(test_blow_up),   CASE(test_unique),   CASE(test_contains), CASE(test_count),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
