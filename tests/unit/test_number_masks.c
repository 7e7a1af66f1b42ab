/* SPDX-License-Identifier: Apache-2.0 */
/* Masks in numbers with a vocabulary of every one to three digits, against every token tried byte by byte: digits that may
 * all follow are allowed without reading them. */
#include "masks_support.h"

static const char *const schemas[] = {
    "{\"type\":\"number\"}",
    "{\"type\":\"integer\"}",
    "{\"type\":\"integer\",\"minimum\":0,\"maximum\":100}",
    "{\"type\":\"integer\",\"minimum\":1,\"maximum\":65535}",
    "{\"type\":\"integer\",\"minimum\":-1200,\"exclusiveMaximum\":99}",
    "{\"type\":\"integer\",\"minimum\":250,\"maximum\":1999}",
    "{\"type\":\"integer\",\"minimum\":-999,\"maximum\":999999}",
    "{\"type\":\"integer\",\"minimum\":0,\"maximum\":99999,\"multipleOf\":20}",
    "{\"type\":\"integer\",\"minimum\":0,\"maximum\":99999,\"not\":{\"enum\":[7,70,701]}}",
    "{\"type\":\"number\",\"minimum\":-40,\"maximum\":85}",
    "{\"type\":\"number\",\"exclusiveMinimum\":850,\"exclusiveMaximum\":1100}",
    "{\"type\":\"number\",\"minimum\":0.125,\"maximum\":0.1309}",
    "{\"type\":\"number\",\"exclusiveMinimum\":9.99,\"maximum\":10.01}",
    "{\"type\":\"number\",\"minimum\":12,\"not\":{\"multipleOf\":3}}",
    "{\"type\":\"number\",\"minimum\":3,\"maximum\":50,\"not\":{\"const\":31.5}}",
    "{\"multipleOf\":0.01,\"minimum\":0.05,\"maximum\":41.2,\"type\":\"number\"}",
    "{\"multipleOf\":7,\"minimum\":20,\"maximum\":4000,\"type\":\"number\"}",
    "{\"multipleOf\":250,\"minimum\":-20000,\"maximum\":4000,\"type\":\"number\"}",
    "{\"type\":\"integer\",\"minimum\":0,\"maximum\":18446744073709551615}",
    "{\"type\":\"integer\",\"minimum\":99999999999999999,\"maximum\":180000000000000000000}",
    "{\"enum\":[1,12,120,1.25,99,-5,400]}",
    ("{\"anyOf\":[{\"type\":\"integer\",\"minimum\":0,\"maximum\":12},{\"type\":\"number\",\"minimum\":300,"
     "\"maximum\":310},{\"const\":51}]}"),
    "{\"type\":\"array\",\"uniqueItems\":true,\"items\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":12}}",
    "{\"type\":\"array\",\"uniqueItems\":true,\"items\":{\"type\":\"number\",\"minimum\":3,\"maximum\":4}}",
    "{\"type\":\"array\",\"items\":{\"type\":\"integer\",\"not\":{\"minimum\":10,\"maximum\":20}}}",
    "{\"type\":\"object\",\"additionalProperties\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":255}}",
};

static void test_masks(void **state) {
  (void)state;
  walk_all(schemas, TOMBOLA__COUNT(schemas), "0123456789-.e", 6);
}

static int make(void **state) {
  (void)state;
  static const char *const others[] = {"1.",
                                       "12.",
                                       "0.0",
                                       "7,",
                                       "31]",
                                       "5}",
                                       ".5",
                                       "-1",
                                       "-0.",
                                       "5e-",
                                       "0e1",
                                       "e+",
                                       "10]",
                                       "85.0",
                                       "1e5",
                                       "1,2",
                                       "[12",
                                       "00",
                                       "9,1",
                                       "\": 1",
                                       "12345",
                                       "00000",
                                       "99999999999999999999",
                                       "1234567890123456789012345678"};
  char text[4];
  add_bytes();
  for (unsigned digits = 2; digits < 4; digits++)
    for (unsigned i = 0; i < (digits == 2 ? 100u : 1000u); i++) {
      (void)snprintf(text, sizeof text, "%0*u", (int)digits, i);
      add(text);
    }
  for (size_t i = 0; i < TOMBOLA__COUNT(others); i++)
    add(others[i]);
  make_trie();
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_masks)};
  return cmocka_run_group_tests(tests, make, drop);
}
