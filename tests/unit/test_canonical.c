/* SPDX-License-Identifier: Apache-2.0 */
/* Canonical texts of JSON values: equal exactly where the values are (src/constraint/number/number.h). */
#include "support.h"

#include <string.h>

#include "constraint/number/number.h"

static void canonical_texts(void **state) {
  (void)state;
  struct tombola__store store;
  assert_int_equal(tombola__store_new(&store, NULL, NULL, NULL), TOMBOLA_OK);
  static const char *const texts[][2] = {
      {" { \"b\" : 1.0 , \"a\" : [ true , null ] } ", "{\"a\":[true,null],\"b\":1}"},
      {"[1e2,-0,0.0e7,100,-12.50,1E-3]", "[1e2,0,0,1e2,-125e-1,1e-3]"},
      {"\"\\u0041\\n\\/\\\"\\u00e9\"", "\"A\\u000a/\\\"\xC3\xA9\""},
      {"{\"aa\":1,\"a\":2,\"\":3,\"B\":4}", "{\"\":3,\"B\":4,\"a\":2,\"aa\":1}"},
      {"18446744073709551616", "18446744073709551616"},
      {"\"a\\u0000b\"", "\"a\\u0000b\""},
      {"1e400", "1e400"},
      {"{}", "{}"},
      {"false", "false"},
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    size_t length = 0;
    const char *const got = tombola__canonical(&store, texts[i][0], strlen(texts[i][0]), &length);
    assert_non_null(got);
    assert_int_equal(length, strlen(texts[i][1]));
    assert_memory_equal(got, texts[i][1], length);
  }
  static const char *const wrong[] = {"",     "{",   "01",          "{\"a\":1,\"\\u0061\":2}",
                                      "[1,]", "nul", "\"\\ud800\"", "1 2"};
  size_t length;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    assert_null(tombola__canonical(&store, wrong[i], strlen(wrong[i]), &length));
  assert_int_equal(store.status, TOMBOLA_OK);
  char deep[1024];
  memset(deep, '[', 512);
  memset(deep + 512, ']', 512);
  assert_null(tombola__canonical(&store, deep, sizeof deep, &length));
  assert_int_equal(store.status, TOMBOLA_OUT_OF_RANGE);
  tombola__store_free(&store);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(canonical_texts)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
