/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of which some property, it isn't said which one, must be of a kind: many of these at once, closed kinds of
 * which each needs a property of its own, and a least number of properties in the declared order. */
#include "machine_support.h"

#include <stdio.h>

#include "constraint/shape/shape.h"

static const struct tombola__name *named(size_t i) {
  char text[16];
  const int n = snprintf(text, sizeof text, "k%zu", i);
  return tombola__name(&store, text, (size_t)n);
}

/* All names but k`from` to k`to` - 1. */
static tombola__lang names_but(size_t from, size_t to) {
  struct tombola_bytes names[64];
  for (size_t i = from; i < to; i++)
    names[i - from] = (struct tombola_bytes){named(i)->text, named(i)->length};
  return tombola__lang_not(&store, tombola__lang_texts(&store, names, to - from));
}

static bool text_fits(struct tombola__machine *m, const char *text) {
  return accepts(m, text, strlen(text));
}

/* Thirty closed objects of one optional property each, and one that is none of them: two properties are enough. */
static void many_wants(void **state) {
  (void)state;
  enum { N = 30 };
  tombola__formula f = tombola__and2(&store, tombola__types(&store, TOMBOLA__OBJECT),
                                     tombola__keys(&store, names_but(0, N), TOMBOLA__FALSE));
  for (size_t i = 0; i < N; i++)
    f = tombola__and2(&store, f,
                      tombola__not(&store, tombola__keys(&store, names_but(i, i + 1), TOMBOLA__FALSE)));
  const char *reason;
  bool exact;
  assert_int_equal(tombola__explore(&store, f, &exact, &reason), TOMBOLA_OK);
  assert_true(exact);
  struct tombola__machine *const m = machine_of(f);
  assert_false(text_fits(m, "{}"));
  assert_false(text_fits(m, "{\"k7\":1}"));
  assert_true(text_fits(m, "{\"k7\":1,\"k8\":1}"));
  assert_true(text_fits(m, "{\"k29\":1,\"k0\":1,\"k3\":null}"));
  well();
  tombola__machine_free(m);
}

/* The same where undeclared names can be what is wanted, and no more than two properties are allowed. */
static void wants_of_other_names(void **state) {
  (void)state;
  enum { N = 12 };
  tombola__formula f =
      tombola__and2(&store, tombola__types(&store, TOMBOLA__OBJECT), tombola__size(&store, 0, 2));
  for (size_t i = 0; i < N; i++)
    f = tombola__and2(&store, f,
                      tombola__not(&store, tombola__keys(&store, names_but(i, i + 1), TOMBOLA__FALSE)));
  struct tombola__machine *const m = machine_of(f);
  assert_false(text_fits(m, "{\"k3\":1}"));
  assert_true(text_fits(m, "{\"k3\":1,\"k4\":1}"));
  assert_true(text_fits(m, "{\"else\":1}"));
  assert_true(text_fits(m, "{\"else\":1,\"k1\":1}"));
  assert_false(text_fits(m, "{\"else\":1,\"k1\":1,\"k2\":1}"));
  well();
  tombola__machine_free(m);
}

/* Conditions of which a property may meet each, or not: too many are refused when the formula is looked at, not when a
 * text has come that far. */
static void open_wants_are_refused(void **state) {
  (void)state;
  tombola__formula f = tombola__types(&store, TOMBOLA__OBJECT);
  for (size_t i = 0; i < 10; i++) {
    char text[2] = {(char)('a' + i), 0};
    const tombola__formula other =
        tombola__not(&store, tombola__and2(&store, tombola__types(&store, TOMBOLA__STRING),
                                           tombola__text(&store, tombola__lang_text(&store, text, 1))));
    f = tombola__and2(&store, f, tombola__not(&store, tombola__keys(&store, TOMBOLA__LANG_ALL, other)));
  }
  const char *reason;
  bool exact;
  assert_int_equal(tombola__explore(&store, f, &exact, &reason), TOMBOLA_OUT_OF_RANGE);
  assert_non_null(strstr(store.error.message, "8 conditions"));
}

/* Closed kinds tell themselves apart by the property that each must have: no product of their negations. */
static void closed_kinds_exclude_each_other(void **state) {
  (void)state;
  enum { N = 40 };
  tombola__formula kinds[N];
  for (size_t i = 0; i < N; i++) {
    const tombola__formula parts[] = {tombola__types(&store, TOMBOLA__OBJECT),
                                      tombola__required(&store, named(i)),
                                      tombola__keys(&store, names_but(i, i + 1), TOMBOLA__FALSE)};
    kinds[i] = tombola__and(&store, parts, 3);
  }
  const tombola__formula f = tombola__one_of(&store, kinds, N);
  const char *reason;
  bool exact;
  assert_int_equal(tombola__explore(&store, f, &exact, &reason), TOMBOLA_OK);
  assert_true(exact);
  struct tombola__machine *const m = machine_of(f);
  assert_true(text_fits(m, "{\"k39\":1}"));
  assert_false(text_fits(m, "{}"));
  assert_int_equal(fits(m, "{\"k1\":1,\"k2\":1}", 15), 7);
  well();
  tombola__machine_free(m);
}

/* In the declared order, names without an order come last: none may come where one with an order is still needed. */
static void least_number_in_order(void **state) {
  (void)state;
  store.order = TOMBOLA_ORDER_DECLARED;
  const tombola__formula parts[] = {
      tombola__types(&store, TOMBOLA__OBJECT), tombola__size(&store, 3, 3),
      tombola__property(&store, named(1), 0, tombola__types(&store, TOMBOLA__NULL)),
      tombola__keys(&store, names_but(0, 3), TOMBOLA__FALSE)};
  struct tombola__machine *const m = machine_of(tombola__and(&store, parts, 4));
  assert_int_equal(fits(m, "{\"k0\":1", 7), 3);
  tombola__machine_pop(m, 3);
  assert_int_equal(fits(m, "{\"k2\":1", 7), 3);
  tombola__machine_pop(m, 3);
  assert_true(text_fits(m, "{\"k1\":null,\"k2\":1,\"k0\":1}"));
  well();
  tombola__machine_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(many_wants, open_one, close_one),
      cmocka_unit_test_setup_teardown(wants_of_other_names, open_one, close_one),
      cmocka_unit_test_setup_teardown(open_wants_are_refused, open_one, close_one),
      cmocka_unit_test_setup_teardown(closed_kinds_exclude_each_other, open_one, close_one),
      cmocka_unit_test_setup_teardown(least_number_in_order, open_one, close_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
