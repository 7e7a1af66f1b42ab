/* SPDX-License-Identifier: Apache-2.0 */
/* Statuses, errors, memory and checked sizes. */
#include "support.h"

#include "base/base.h"

#include <stdio.h>
#include <string.h>

static void every_status_has_a_name_and_a_text(void **state) {
  (void)state;
  static const struct {
    enum tombola_status status;
    int value;
    const char *name;
  } pinned[] = {{TOMBOLA_OK, 0, "ok"},
                {TOMBOLA_INVALID_ARGUMENT, -1, "invalid_argument"},
                {TOMBOLA_OUT_OF_RANGE, -2, "out_of_range"},
                {TOMBOLA_NO_MEMORY, -3, "no_memory"},
                {TOMBOLA_NOT_FINITE, -4, "not_finite"},
                {TOMBOLA_NO_CANDIDATE, -5, "no_candidate"},
                {TOMBOLA_UNSUPPORTED, -6, "unsupported"},
                {TOMBOLA_NOT_FOUND, -7, "not_found"},
                {TOMBOLA_IO, -8, "io"},
                {TOMBOLA_FORMAT, -9, "format"},
                {TOMBOLA_MODEL, -10, "model"},
                {TOMBOLA_CANCELLED, -11, "cancelled"}};
  for (size_t i = 0; i < TOMBOLA__COUNT(pinned); i++) {
    assert_int_equal(pinned[i].status, pinned[i].value);
    assert_string_equal(tombola_status_name(pinned[i].status), pinned[i].name);
    assert_true(strlen(tombola_status_text(pinned[i].status)) > 3);
  }
  assert_string_equal(tombola_status_name((enum tombola_status) - 99), "unknown");
  assert_string_equal(tombola_status_text((enum tombola_status) - 99), "unknown");
}

static void the_version_is_one(void **state) {
  (void)state;
  char text[32];
  snprintf(text, sizeof text, "%d.%d.%d", TOMBOLA_VERSION_MAJOR, TOMBOLA_VERSION_MINOR,
           TOMBOLA_VERSION_PATCH);
  assert_string_equal(tombola_version(), text);
}

static void an_error_says_what(void **state) {
  (void)state;
  struct tombola_error error;
  memset(&error, 0xAA, sizeof error);
  assert_int_equal(tombola__fail(&error, TOMBOLA_NOT_FOUND, "top_p", "top_p is %d, allowed %s", 7, "0 to 1"),
                   TOMBOLA_NOT_FOUND);
  assert_int_equal(error.status, TOMBOLA_NOT_FOUND);
  assert_int_equal(error.offset, 0);
  assert_string_equal(error.param, "top_p");
  assert_string_equal(error.message, "top_p is 7, allowed 0 to 1");
  assert_int_equal(tombola__fail(NULL, TOMBOLA_IO, NULL, "x"), TOMBOLA_IO);
  assert_int_equal(tombola__no_memory(&error), TOMBOLA_NO_MEMORY);
  assert_string_equal(error.param, "");
  assert_string_equal(error.message, "out of memory");
}

static void an_error_can_wrap_itself(void **state) {
  (void)state;
  struct tombola_error error;
  tombola__fail(&error, TOMBOLA_IO, "inner", "inner message");
  tombola__fail(&error, TOMBOLA_IO, error.param, "outer: %s (%s)", error.message, error.param);
  assert_string_equal(error.param, "inner");
  assert_string_equal(error.message, "outer: inner message (inner)");
}

static void messages_are_one_clean_line(void **state) {
  (void)state;
  struct tombola_error error;
  tombola__fail(&error, TOMBOLA_IO, "a\tb", "%s", "one\ntwo\r\x1b[31m\x7f \xC2\x9B \xC3\xA9");
  assert_string_equal(error.param, "a?b");
  assert_string_equal(error.message, "one?two??[31m? ?? \xC3\xA9");
}

/* Characters of one to four bytes at every distance from the cut: what is left ends with a whole one. */
static void cuts_keep_characters_whole(void **state) {
  (void)state;
  static const char *const characters[] = {"x", "\xC3\xA9", "\xE4\xBD\xA0", "\xF0\x9F\xA4\xA3"};
  for (size_t kind = 0; kind < 4; kind++) {
    size_t size = strlen(characters[kind]);
    for (size_t lead = 0; lead < 5; lead++) {
      char text[600] = "";
      memset(text, 'a', lead);
      for (size_t i = lead; i + size < sizeof text; i += size)
        memcpy(text + i, characters[kind], size + 1);
      struct tombola_error error;
      tombola__fail(&error, TOMBOLA_IO, text, "%s", text);
      assert_int_equal(strlen(error.message), lead + (255 - lead) / size * size);
      assert_int_equal(strlen(error.param), lead + (63 - lead) / size * size);
      assert_memory_equal(error.message, text, strlen(error.message));
    }
  }
}

static void exactly_full_is_not_cut(void **state) {
  (void)state;
  char text[256];
  memset(text, 'a', 255);
  text[255] = '\0';
  memcpy(text + 251, "\xF0\x9F\xA4\xA3", 4);
  struct tombola_error error;
  tombola__fail(&error, TOMBOLA_IO, NULL, "%s", text);
  assert_string_equal(error.message, text);
}

static void memory_is_zeroed_and_checked(void **state) {
  (void)state;
  struct support_allocator a = support_allocator(0);
  const struct tombola_allocator *use = support_allocator_use(&a);
  unsigned char *bytes = tombola__new(use, 7, 3);
  for (int i = 0; i < 21; i++)
    assert_int_equal(bytes[i], 0);
  bytes[20] = 9;
  bytes = tombola__resize(use, bytes, 7, 100, 3);
  assert_int_equal(bytes[20], 9);
  assert_null(tombola__resize(use, bytes, 100, SIZE_MAX, 3));
  assert_null(tombola__new(use, SIZE_MAX / 2 + 1, 2));
  assert_int_equal(a.live, 1);
  void *empty = tombola__new(use, 0, 8);
  assert_non_null(empty);
  empty = tombola__resize(use, empty, 0, 4, 8);
  assert_non_null(empty);
  tombola__free(use, empty);
  tombola__free(use, bytes);
  tombola__free(use, NULL);
  support_allocator_check(&a);
}

static void a_failed_resize_keeps_the_old(void **state) {
  (void)state;
  struct support_allocator a = support_allocator(2);
  const struct tombola_allocator *use = support_allocator_use(&a);
  int *numbers = tombola__new(use, 2, sizeof *numbers);
  numbers[1] = 5;
  assert_null(tombola__resize(use, numbers, 2, 9, sizeof *numbers));
  assert_int_equal(numbers[1], 5);
  tombola__free(use, numbers);
  support_allocator_check(&a);
}

static void the_default_allocator_works(void **state) {
  (void)state;
  int *numbers = tombola__new(NULL, 3, sizeof *numbers);
  assert_int_equal(numbers[2], 0);
  numbers[2] = 4;
  numbers = tombola__resize(NULL, numbers, 3, 1000, sizeof *numbers);
  assert_int_equal(numbers[2], 4);
  tombola__free(NULL, numbers);
  void *fresh = tombola__resize(NULL, NULL, 0, 5, 1);
  assert_non_null(fresh);
  tombola__free(NULL, fresh);
}

static void sizes_are_checked(void **state) {
  (void)state;
  size_t result = 0;
  assert_true(tombola__multiply(0, SIZE_MAX, &result));
  assert_true(tombola__multiply(SIZE_MAX, 1, &result) && result == SIZE_MAX);
  assert_true(tombola__multiply(SIZE_MAX / 3, 3, &result) && result == SIZE_MAX / 3 * 3);
  assert_false(tombola__multiply(SIZE_MAX / 3 + 1, 3, &result));
  assert_true(tombola__add(SIZE_MAX - 1, 1, &result) && result == SIZE_MAX);
  assert_false(tombola__add(SIZE_MAX, 1, &result));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_status_has_a_name_and_a_text),
      cmocka_unit_test(the_version_is_one),
      cmocka_unit_test(an_error_says_what),
      cmocka_unit_test(an_error_can_wrap_itself),
      cmocka_unit_test(messages_are_one_clean_line),
      cmocka_unit_test(cuts_keep_characters_whole),
      cmocka_unit_test(exactly_full_is_not_cut),
      cmocka_unit_test(memory_is_zeroed_and_checked),
      cmocka_unit_test(a_failed_resize_keeps_the_old),
      cmocka_unit_test(the_default_allocator_works),
      cmocka_unit_test(sizes_are_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
