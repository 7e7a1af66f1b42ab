/* SPDX-License-Identifier: Apache-2.0 */
/* The model interface: which backend a name goes to, what is said of a file that isn't there, and the
 * arguments that are refused before a backend sees them. */
#include "scripts.h"

#include <sys/stat.h>

#include "support.h"

/* A backend that only remembers what it was called with. */
static struct {
  char path[256];
  struct tombola_model_params params;
  int loads, frees, decodes, begins;
} seen;
static tombola_vocabulary *stub_words;

static void stub_free(void *self) {
  (void)self;
  seen.frees++;
}

static void stub_info(void *self, struct tombola_model_info *info) {
  (void)self;
  info->name = "stub";
  info->device = "nothing";
  info->context = 8;
  info->sequences = 2;
  info->batch = 4;
}

static const tombola_vocabulary *stub_vocabulary(void *self) {
  (void)self;
  return stub_words;
}

static enum tombola_status stub_tokenize(void *self, const char *text, size_t length, unsigned flags,
                                         tombola_token *tokens, size_t capacity, size_t *count,
                                         struct tombola_error *error) {
  (void)self, (void)text, (void)length, (void)flags, (void)tokens, (void)capacity, (void)error;
  *count = 0;
  return TOMBOLA_OK;
}

static enum tombola_status stub_template(void *self, const char *chat_template,
                                         const struct tombola_chat_message *messages, size_t n_messages,
                                         int add_assistant, char *text, size_t capacity, size_t *length,
                                         struct tombola_error *error) {
  (void)self, (void)chat_template, (void)messages, (void)n_messages, (void)add_assistant, (void)text,
      (void)capacity;
  (void)error;
  *length = 0;
  return TOMBOLA_OK;
}

static enum tombola_status stub_decode(void *self, const struct tombola_batch_item *items, size_t count,
                                       struct tombola_error *error) {
  (void)self, (void)items, (void)count, (void)error;
  seen.decodes++;
  return TOMBOLA_OK;
}

static enum tombola_status stub_logits(void *self, size_t item, struct tombola_row *row) {
  (void)self, (void)item, (void)row;
  return TOMBOLA_INVALID_ARGUMENT;
}

static enum tombola_status stub_remove(void *self, int32_t sequence, int32_t from, int32_t to) {
  (void)self, (void)sequence, (void)from, (void)to;
  return TOMBOLA_OK;
}

static void stub_begin(void *self, int32_t sequence, size_t prompt) {
  (void)self, (void)sequence, (void)prompt;
  seen.begins++;
}

static struct tombola_model_ops stub_ops = {.struct_size = sizeof stub_ops,
                                            .free = stub_free,
                                            .info = stub_info,
                                            .vocabulary = stub_vocabulary,
                                            .tokenize = stub_tokenize,
                                            .apply_template = stub_template,
                                            .decode = stub_decode,
                                            .logits = stub_logits,
                                            .remove = stub_remove,
                                            .begin = stub_begin};

static enum tombola_status stub_load(const char *path, const struct tombola_model_params *params,
                                     const struct tombola_model_ops **ops, void **self,
                                     struct tombola_error *error) {
  (void)error;
  snprintf(seen.path, sizeof seen.path, "%s", path);
  seen.params = *params;
  seen.loads++;
  *ops = &stub_ops;
  *self = &seen;
  return TOMBOLA_OK;
}

static const struct tombola_backend plain = {"plain", NULL, stub_load};
static const struct tombola_backend prefixed = {"prefixed", "stub:", stub_load};

static int setup(void **state) {
  (void)state;
  static const size_t offsets[] = {0, 1, 2, 3};
  struct tombola_vocabulary_source source = {
      .struct_size = sizeof source, .count = 3, .bytes = "abc", .offsets = offsets};
  return tombola_vocabulary_new(&source, NULL, &stub_words, NULL) == TOMBOLA_OK ? 0 : -1;
}

static int teardown(void **state) {
  (void)state;
  tombola_vocabulary_free(stub_words);
  return 0;
}

static tombola_model *load(const struct tombola_backend *backend, const char *name) {
  tombola_model *model = NULL;
  memset(&seen, 0, sizeof seen);
  assert_int_equal(tombola_model_load(&backend, 1, name, NULL, &model, NULL), TOMBOLA_OK);
  return model;
}

/* ---- loading ---- */

static void test_backend_choice(void **state) {
  (void)state;
  char path[64], name[80];
  script_write(path, "x", 1);
  snprintf(name, sizeof name, "stub:%s", path);
  const struct tombola_backend *both[] = {&plain, &prefixed};
  tombola_model *model;

  memset(&seen, 0, sizeof seen);
  assert_int_equal(tombola_model_load(both, 2, name, NULL, &model, NULL), TOMBOLA_OK);
  assert_string_equal(seen.path,
                      path); /* the prefix is gone: the prefixed backend had it, though it is listed last */
  tombola_model_free(model);
  assert_int_equal(seen.frees, 1);

  assert_int_equal(tombola_model_load(both, 2, path, NULL, &model, NULL), TOMBOLA_OK);
  assert_string_equal(seen.path, path);
  tombola_model_free(model);

  /* Without the backend of a prefix the whole name is a path; with nothing but prefixes a path has no taker.
   */
  struct tombola_error error;
  const struct tombola_backend *one = &plain;
  assert_int_equal(tombola_model_load(&one, 1, name, NULL, &model, &error), TOMBOLA_NOT_FOUND);
  assert_null(model);
  one = &prefixed;
  assert_int_equal(tombola_model_load(&one, 1, path, NULL, &model, &error), TOMBOLA_UNSUPPORTED);
  assert_int_equal(tombola_model_load(NULL, 0, path, NULL, &model, &error), TOMBOLA_UNSUPPORTED);
  unlink(path);
}

static enum tombola_status load_error(const char *name, struct tombola_error *error) {
  const struct tombola_backend *backends[] = {&plain, &prefixed};
  tombola_model *model = (tombola_model *)&seen;
  int loads = seen.loads;
  enum tombola_status status = tombola_model_load(backends, 2, name, NULL, &model, error);
  assert_null(model);
  assert_int_equal(seen.loads, loads); /* a backend doesn't see a file that can't be read */
  assert_int_equal(error->status, status);
  assert_string_equal(error->param, "model");
  return status;
}

static void test_files(void **state) {
  (void)state;
  struct tombola_error error;
  assert_int_equal(load_error("/tmp/no/such/file", &error), TOMBOLA_NOT_FOUND);
  assert_string_equal(error.message, "/tmp/no/such/file: no such file");
  assert_int_equal(load_error("stub:/tmp/no such file", &error), TOMBOLA_NOT_FOUND);
  assert_string_equal(error.message, "/tmp/no such file: no such file");
  assert_int_equal(load_error("/etc/passwd/x", &error), TOMBOLA_NOT_FOUND);
  assert_int_equal(load_error("/tmp", &error), TOMBOLA_INVALID_ARGUMENT);
  assert_string_equal(error.message, "/tmp: is a directory, not a model file");
  assert_int_equal(load_error("", &error), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(load_error("stub:", &error), TOMBOLA_INVALID_ARGUMENT);
}

/* A link to itself can't be opened by anyone, not even by root, whom permissions don't stop. */
static void test_unreadable(void **state) {
  (void)state;
  struct tombola_error error;
  char path[64];
  script_write(path, "x", 1);
  unlink(path);
  assert_int_equal(symlink(path, path), 0);
  assert_int_equal(load_error(path, &error), TOMBOLA_IO);
  assert_non_null(strstr(error.message, path));
  unlink(path);

  if (geteuid() == 0) return;
  script_write(path, "x", 1);
  assert_int_equal(chmod(path, 0), 0);
  assert_int_equal(load_error(path, &error), TOMBOLA_IO);
  unlink(path);
}

static void test_params(void **state) {
  (void)state;
  tombola_model *model;
  struct tombola_error error;
  const struct tombola_backend *one = &plain;
  char path[64];
  script_write(path, "x", 1);

  struct tombola_model_params params = {.struct_size = sizeof params, .context = 7, .threads = 3};
  assert_int_equal(tombola_model_load(&one, 1, path, &params, &model, NULL), TOMBOLA_OK);
  assert_int_equal(seen.params.context, 7);
  assert_int_equal(seen.params.threads, 3);
  tombola_model_free(model);

  /* A caller that was compiled against a shorter structure: the rest is the default, whatever lies behind it.
   */
  params.struct_size = offsetof(struct tombola_model_params, threads);
  assert_int_equal(tombola_model_load(&one, 1, path, &params, &model, NULL), TOMBOLA_OK);
  assert_int_equal(seen.params.context, 7);
  assert_int_equal(seen.params.threads, 0);
  assert_int_equal(seen.params.struct_size, sizeof params);
  tombola_model_free(model);

  params.struct_size = 0;
  assert_int_equal(tombola_model_load(&one, 1, path, &params, &model, &error), TOMBOLA_INVALID_ARGUMENT);
  assert_string_equal(error.param, "struct_size");
  params = (struct tombola_model_params){.struct_size = sizeof params};
  params.kv_type = (enum tombola_kv_type)3;
  assert_int_equal(tombola_model_load(&one, 1, path, &params, &model, &error), TOMBOLA_INVALID_ARGUMENT);
  assert_string_equal(error.param, "kv_type");
  params.kv_type = TOMBOLA_KV_F16;
  params.sequences = (size_t)INT32_MAX + 1;
  assert_int_equal(tombola_model_load(&one, 1, path, &params, &model, &error), TOMBOLA_INVALID_ARGUMENT);
  assert_string_equal(error.message, "sequences is 2147483648; it must be at most 2147483647");
  assert_int_equal(tombola_model_load(&one, 1, path, NULL, NULL, &error), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_model_load(&one, 1, NULL, NULL, &model, &error), TOMBOLA_INVALID_ARGUMENT);
  unlink(path);
}

/* Slots that a backend must have, and slots that it needn't. */
static void test_ops(void **state) {
  (void)state;
  tombola_model *model;
  struct tombola_error error;
  const struct tombola_backend *one = &plain;
  char path[64];
  script_write(path, "x", 1);
  struct tombola_model_ops whole = stub_ops;

  memset(&seen, 0, sizeof seen);
  stub_ops.decode = NULL;
  assert_int_equal(tombola_model_load(&one, 1, path, NULL, &model, &error), TOMBOLA_UNSUPPORTED);
  assert_int_equal(seen.frees, 1);
  stub_ops = whole;

  /* A backend that was compiled before there was `begin`. */
  stub_ops.struct_size = offsetof(struct tombola_model_ops, begin);
  assert_int_equal(tombola_model_load(&one, 1, path, NULL, &model, &error), TOMBOLA_OK);
  assert_int_equal(tombola_model_begin(model, 0, 3), TOMBOLA_OK);
  assert_int_equal(seen.begins, 0);
  tombola_model_free(model);
  stub_ops = whole;

  assert_int_equal(tombola_model_load(&one, 1, path, NULL, &model, &error), TOMBOLA_OK);
  assert_int_equal(tombola_model_begin(model, 1, 3), TOMBOLA_OK);
  assert_int_equal(seen.begins, 1);
  assert_int_equal(tombola_model_begin(model, 2, 3), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_model_copy(model, 0, 1, 0, -1), TOMBOLA_UNSUPPORTED);
  assert_int_equal(tombola_model_shift(model, 0, 0, -1, 1), TOMBOLA_UNSUPPORTED);
  tombola_model_free(model);
  unlink(path);
}

/* ---- arguments ---- */

static void test_decode_arguments(void **state) {
  (void)state;
  char path[64];
  script_write(path, "x", 1);
  tombola_model *model = load(&plain, path);
  struct tombola_error error;
  struct tombola_batch_item items[5] = {{0, 0, 0, 0}, {2, 7, 1, 1}, {0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}};
  assert_int_equal(tombola_model_decode(model, items, 4, &error), TOMBOLA_OK);
  assert_int_equal(tombola_model_decode(model, items, 5, &error), TOMBOLA_INVALID_ARGUMENT);
  assert_string_equal(error.message, "a batch of 5 items; allowed are 1 to 4");
  assert_int_equal(tombola_model_decode(model, items, 0, &error), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_model_decode(model, NULL, 1, &error), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_model_decode(NULL, items, 1, &error), TOMBOLA_INVALID_ARGUMENT);

  items[1].token = 3;
  assert_int_equal(tombola_model_decode(model, items, 2, &error), TOMBOLA_INVALID_ARGUMENT);
  assert_string_equal(error.message, "item 1: token 3 is not in the vocabulary (0 to 2)");
  items[1].token = -1;
  assert_int_equal(tombola_model_decode(model, items, 2, &error), TOMBOLA_INVALID_ARGUMENT);
  items[1] = (struct tombola_batch_item){0, 8, 0, 0};
  assert_int_equal(tombola_model_decode(model, items, 2, &error), TOMBOLA_OUT_OF_RANGE);
  assert_string_equal(error.message, "item 1: position 8 is outside the context of 8 tokens");
  items[1].position = -1;
  assert_int_equal(tombola_model_decode(model, items, 2, &error), TOMBOLA_OUT_OF_RANGE);
  items[1] = (struct tombola_batch_item){0, 0, 2, 0};
  assert_int_equal(tombola_model_decode(model, items, 2, &error), TOMBOLA_INVALID_ARGUMENT);
  assert_string_equal(error.message, "item 1: there is no sequence 2 (0 to 1)");
  items[1].sequence = -1;
  assert_int_equal(tombola_model_decode(model, items, 2, &error), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(seen.decodes, 1);

  assert_int_equal(tombola_model_remove(model, 2, 0, -1), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_model_remove(model, -1, 0, -1), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_model_remove(model, 0, -1, -1), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_model_remove(model, 1, 0, -1), TOMBOLA_OK);
  assert_int_equal(tombola_model_logits(model, 0, NULL), TOMBOLA_INVALID_ARGUMENT);
  tombola_model_free(model);
  tombola_model_free(NULL);
  unlink(path);
}

static void test_text_arguments(void **state) {
  (void)state;
  char path[64], text[4];
  script_write(path, "x", 1);
  tombola_model *model = load(&plain, path);
  struct tombola_error error;
  tombola_token tokens[4];
  size_t n = 9;
  assert_int_equal(tombola_model_tokenize(model, NULL, 0, 0, NULL, 0, &n, &error), TOMBOLA_OK);
  assert_int_equal(n, 0);
  assert_int_equal(tombola_model_tokenize(model, NULL, 1, 0, tokens, 4, &n, &error),
                   TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_model_tokenize(model, "a", 1, 0, NULL, 4, &n, &error), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_model_tokenize(model, "a", 1, 0, tokens, 4, NULL, &error),
                   TOMBOLA_INVALID_ARGUMENT);

  struct tombola_chat_message message = {"user", NULL};
  assert_int_equal(tombola_model_apply_template(model, NULL, &message, 1, 0, text, 4, &n, &error),
                   TOMBOLA_INVALID_ARGUMENT);
  assert_string_equal(error.message, "message 0 has no content");
  message = (struct tombola_chat_message){NULL, "x"};
  assert_int_equal(tombola_model_apply_template(model, NULL, &message, 1, 0, text, 4, &n, &error),
                   TOMBOLA_INVALID_ARGUMENT);
  assert_string_equal(error.message, "message 0 has no role");
  assert_int_equal(tombola_model_apply_template(model, NULL, NULL, 1, 0, text, 4, &n, &error),
                   TOMBOLA_INVALID_ARGUMENT);
  tombola_model_free(model);
  unlink(path);
}

static void test_info_size(void **state) {
  (void)state;
  char path[64];
  script_write(path, "x", 1);
  tombola_model *model = load(&plain, path);
  struct tombola_model_info info = {.struct_size = offsetof(struct tombola_model_info, context),
                                    .context = 99};
  tombola_model_info(model, &info);
  assert_string_equal(info.name, "stub");
  assert_int_equal(info.context, 99); /* beyond what the caller knows nothing is written */
  assert_int_equal(info.struct_size, offsetof(struct tombola_model_info, context));
  info.struct_size = sizeof info;
  tombola_model_info(model, &info);
  assert_int_equal(info.context, 8);
  assert_ptr_equal(tombola_model_vocabulary(model), stub_words);
  assert_null(tombola_model_vocabulary(NULL));
  tombola_model_free(model);
  unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_backend_choice),
      cmocka_unit_test(test_files),
      cmocka_unit_test(test_unreadable),
      cmocka_unit_test(test_params),
      cmocka_unit_test(test_ops),
      cmocka_unit_test(test_info_size),
      cmocka_unit_test(test_decode_arguments),
      cmocka_unit_test(test_text_arguments),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
