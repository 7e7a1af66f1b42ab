/* SPDX-License-Identifier: Apache-2.0 */
/* A vocabulary: what it holds, what it refuses, and that it gives its memory back. */
#include "support.h"

#include <string.h>
#include <tombola/vocabulary.h>

static const char bytes[] = "..abc</s>\xF0<end>";
static const size_t offsets[] = {2, 3, 3, 5, 9, 10, 15};
static const uint8_t flags[] = {0,
                                TOMBOLA_TOKEN_UNUSED,
                                0,
                                TOMBOLA_TOKEN_SPECIAL | TOMBOLA_TOKEN_END,
                                TOMBOLA_TOKEN_BYTE,
                                TOMBOLA_TOKEN_END};

/* Counts its calls, and gives a token for each byte. */
static enum tombola_status tokenize(void *context, const char *text, size_t length, int special,
                                    tombola_token *tokens, size_t capacity, size_t *count) {
  *(int *)context += special ? 100 : 1;
  *count = length;
  if (length > capacity) return TOMBOLA_OUT_OF_RANGE;
  for (size_t i = 0; i < length; i++)
    tokens[i] = text[i] - 'a';
  return TOMBOLA_OK;
}

static struct tombola_vocabulary_source good_source(void) {
  return (struct tombola_vocabulary_source){
      sizeof(struct tombola_vocabulary_source), 6, bytes, offsets, flags, NULL, NULL};
}

static void it_holds_bytes_flags_and_ends(void **state) {
  (void)state;
  static const char *const want[] = {"a", "", "bc", "</s>", "\xF0", "<end>"};
  char changing[sizeof bytes];
  memcpy(changing, bytes, sizeof bytes);
  struct tombola_vocabulary_source source = good_source();
  source.bytes = changing;
  struct support_allocator a = support_allocator(0);
  tombola_vocabulary *v;
  assert_int_equal(tombola_vocabulary_new(&source, support_allocator_use(&a), &v, NULL), TOMBOLA_OK);
  memset(changing, 0, sizeof changing); /* it has a copy */

  size_t length, count;
  assert_int_equal(tombola_vocabulary_count(v), 6);
  for (tombola_token t = 0; t < 6; t++) {
    const char *got = tombola_vocabulary_bytes(v, t, &length);
    assert_non_null(got);
    assert_int_equal(length, strlen(want[t]));
    assert_memory_equal(got, want[t], length);
    assert_int_equal(tombola_vocabulary_flags(v, t), flags[t]);
  }
  const tombola_token *ends = tombola_vocabulary_ends(v, &count);
  assert_int_equal(count, 2);
  assert_int_equal(ends[0], 3);
  assert_int_equal(ends[1], 5);
  tombola_vocabulary_free(v);
  support_allocator_check(&a);
}

static void an_id_outside_has_nothing(void **state) {
  (void)state;
  struct tombola_vocabulary_source source = good_source();
  tombola_vocabulary *v;
  assert_int_equal(tombola_vocabulary_new(&source, NULL, &v, NULL), TOMBOLA_OK);
  static const tombola_token outside[] = {-1, 6, INT32_MAX, INT32_MIN};
  for (size_t i = 0; i < 4; i++) {
    size_t length = 99;
    assert_null(tombola_vocabulary_bytes(v, outside[i], &length));
    assert_int_equal(length, 0);
    assert_int_equal(tombola_vocabulary_flags(v, outside[i]), 0);
  }
  tombola_vocabulary_free(v);
  tombola_vocabulary_free(NULL);
}

static void flags_may_be_missing(void **state) {
  (void)state;
  struct tombola_vocabulary_source source = good_source();
  source.flags = NULL;
  tombola_vocabulary *v;
  assert_int_equal(tombola_vocabulary_new(&source, NULL, &v, NULL), TOMBOLA_OK);
  size_t count = 99;
  tombola_vocabulary_ends(v, &count);
  assert_int_equal(count, 0);
  assert_int_equal(tombola_vocabulary_flags(v, 3), 0);
  tombola_vocabulary_free(v);
}

static void it_tokenizes_through_the_callback(void **state) {
  (void)state;
  int calls = 0;
  tombola_token tokens[4];
  size_t count = 99;
  struct tombola_vocabulary_source source = good_source();
  tombola_vocabulary *v;
  assert_int_equal(tombola_vocabulary_new(&source, NULL, &v, NULL), TOMBOLA_OK);
  assert_int_equal(tombola_vocabulary_tokenize(v, "abc", 3, 0, tokens, 4, &count), TOMBOLA_UNSUPPORTED);
  assert_int_equal(count, 0);
  tombola_vocabulary_free(v);

  source.tokenize = tokenize;
  source.tokenize_context = &calls;
  assert_int_equal(tombola_vocabulary_new(&source, NULL, &v, NULL), TOMBOLA_OK);
  assert_int_equal(tombola_vocabulary_tokenize(v, "abc", 3, 1, tokens, 4, &count), TOMBOLA_OK);
  assert_int_equal(count, 3);
  assert_int_equal(tokens[2], 2);
  assert_int_equal(calls, 100);
  assert_int_equal(tombola_vocabulary_tokenize(v, "abcdef", 6, 0, tokens, 4, &count), TOMBOLA_OUT_OF_RANGE);
  assert_int_equal(count, 6);
  tombola_vocabulary_free(v);
}

static void expect_refusal(const struct tombola_vocabulary_source *source, const char *param,
                           const char *message) {
  struct tombola_error error = {TOMBOLA_OK, 0, "", ""};
  tombola_vocabulary *v = (tombola_vocabulary *)&error;
  assert_int_equal(tombola_vocabulary_new(source, NULL, &v, &error), TOMBOLA_INVALID_ARGUMENT);
  assert_null(v);
  assert_int_equal(error.status, TOMBOLA_INVALID_ARGUMENT);
  assert_string_equal(error.param, param);
  assert_non_null(strstr(error.message, message));
}

static void bad_sources_are_refused(void **state) {
  (void)state;
  static const size_t falling[] = {2, 3, 5, 4, 9, 10, 15};
  struct tombola_vocabulary_source source = good_source();
  source.offsets = falling;
  expect_refusal(&source, "offsets", "offsets[3] is 4, must be at least offsets[2], which is 5");
  source.offsets = NULL;
  expect_refusal(&source, "offsets", "NULL");
  source = good_source();
  source.count = 0;
  expect_refusal(&source, "count", "count is 0, allowed: 1 to 16777216");
  source.count = ((size_t)1 << 24) + 1;
  expect_refusal(&source, "count", "count is 16777217, allowed: 1 to 16777216");
  source = good_source();
  source.bytes = NULL;
  expect_refusal(&source, "bytes", "13 bytes");
  source = good_source();
  source.struct_size = sizeof source - 1;
  expect_refusal(&source, "struct_size", "must be at least");
  expect_refusal(NULL, "source", "NULL");
  source = good_source();
  assert_int_equal(tombola_vocabulary_new(&source, NULL, NULL, NULL), TOMBOLA_INVALID_ARGUMENT);
}

static void each_failing_allocation_is_a_status(void **state) {
  (void)state;
  struct tombola_vocabulary_source source = good_source();
  size_t n = 1;
  for (;; n++) {
    struct support_allocator a = support_allocator(n);
    struct tombola_error error = {TOMBOLA_OK, 0, "", ""};
    tombola_vocabulary *v;
    enum tombola_status status = tombola_vocabulary_new(&source, support_allocator_use(&a), &v, &error);
    if (a.requests < n) {
      assert_int_equal(status, TOMBOLA_OK);
      tombola_vocabulary_free(v);
      support_allocator_check(&a);
      break;
    }
    assert_int_equal(status, TOMBOLA_NO_MEMORY);
    assert_int_equal(error.status, TOMBOLA_NO_MEMORY);
    assert_null(v);
    support_allocator_check(&a);
  }
  assert_true(n > 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(it_holds_bytes_flags_and_ends), cmocka_unit_test(an_id_outside_has_nothing),
      cmocka_unit_test(flags_may_be_missing),          cmocka_unit_test(it_tokenizes_through_the_callback),
      cmocka_unit_test(bad_sources_are_refused),       cmocka_unit_test(each_failing_allocation_is_a_status),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
