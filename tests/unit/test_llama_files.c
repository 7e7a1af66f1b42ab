/* SPDX-License-Identifier: Apache-2.0 */
/* The backend over libllama with files that are made here: none that can be loaded wrongly, none that ends
 * the process, and nothing on standard error; and a tiny model in f32, whose rows can be compared narrowly.
 */
#include "llama_support.h"
#include "tiny_gguf.h"

#include <fcntl.h>
#include <sys/stat.h>

static char folder[] = "/tmp/tombola-llama-XXXXXX";
static char path[64];

static int make_folder(void **state) {
  (void)state;
  if (!mkdtemp(folder)) return -1;
  snprintf(path, sizeof path, "%s/model.gguf", folder);
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  unlink(path);
  return rmdir(folder);
}

static void write_bytes(const void *bytes, size_t length) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, length, file), length);
  assert_int_equal(fclose(file), 0);
}

static size_t read_bytes(char *bytes, size_t size) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  size_t length = fread(bytes, 1, size, file);
  fclose(file);
  return length;
}

/* Loads `path` with standard error going to a file, and sees that nothing was written there. */
static enum tombola_status quiet_load(const struct tombola_model_params *params, tombola_model **model,
                                      struct tombola_error *error) {
  FILE *written = tmpfile();
  assert_non_null(written);
  fflush(stderr);
  int saved = dup(STDERR_FILENO);
  dup2(fileno(written), STDERR_FILENO);
  enum tombola_status status = support_load(path, params, model, error);
  fflush(stderr);
  dup2(saved, STDERR_FILENO);
  close(saved);
  assert_int_equal(lseek(fileno(written), 0, SEEK_END), 0);
  fclose(written);
  return status;
}

static void refused(enum tombola_status expected, const char *word,
                    const struct tombola_model_params *params) {
  tombola_model *model;
  struct tombola_error error = {0};
  enum tombola_status status = quiet_load(params, &model, &error);
  if (status == TOMBOLA_OK || !strstr(error.message, word)) printf("%s: %s\n", word, error.message);
  assert_int_equal(status, expected);
  assert_null(model);
  assert_int_equal(error.status, expected);
  assert_non_null(strstr(error.message, word));
  assert_null(strchr(error.message, '\n'));
}

static tombola_model *loaded(enum tiny_kind kind, const struct tombola_model_params *params) {
  tombola_model *model;
  struct tombola_error error = {0};
  assert_true(tiny_write(path, kind));
  if (quiet_load(params, &model, &error) != TOMBOLA_OK) fail_msg("%s", error.message);
  return model;
}

/* ---- files that are no models ---- */

static void not_models(void **state) {
  (void)state;
  struct tombola_model_params params = support_params(256, 1);
  unlink(path);
  refused(TOMBOLA_NOT_FOUND, "no such file", &params);
  write_bytes("", 0);
  refused(TOMBOLA_FORMAT, "empty", &params);
  write_bytes("Hello, I am a text.\n", 20);
  refused(TOMBOLA_FORMAT, "not a GGUF file", &params);
  write_bytes("GG", 2);
  refused(TOMBOLA_FORMAT, "not a GGUF file", &params);
  write_bytes("GGUF", 4);
  refused(TOMBOLA_FORMAT, "cannot be loaded", &params);
  write_bytes("GGUF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 16);
  refused(TOMBOLA_FORMAT, "cannot be loaded", &params);
  unlink(path);
  assert_int_equal(mkdir(path, 0700), 0);
  refused(TOMBOLA_INVALID_ARGUMENT, "directory", &params);
  rmdir(path);
  assert_int_equal(mkfifo(path, 0600), 0);
  refused(TOMBOLA_FORMAT, "not a regular file", &params);
  unlink(path);
}

/* Cut anywhere: in the header, between keys, in a token, in the list of tensors, in the weights. */
static void truncated(void **state) {
  (void)state;
  enum { MOST = 1 << 20 };
  struct tombola_model_params params = support_params(256, 1);
  char *bytes = malloc(MOST);
  assert_non_null(bytes);
  assert_true(tiny_write(path, TINY_WHOLE));
  size_t length = read_bytes(bytes, MOST);
  assert_true(length > 10000 && length < MOST);
  for (size_t cut = 4; cut < length; cut += cut < 600 ? 7 : length / 40) {
    write_bytes(bytes, cut);
    refused(TOMBOLA_FORMAT, "cannot be loaded", &params);
  }
  write_bytes(bytes, length - 1);
  refused(TOMBOLA_FORMAT, "cannot be loaded", &params);
  free(bytes);
}

static void models_of_other_kinds(void **state) {
  (void)state;
  struct tombola_model_params params = support_params(256, 1);
  assert_true(tiny_write(path, TINY_NO_TENSORS));
  refused(TOMBOLA_UNSUPPORTED, "no weights", &params);
  assert_true(tiny_write(path, TINY_EMBEDDING));
  refused(TOMBOLA_UNSUPPORTED, "embeddings", &params);
}

/* On each of these libllama ends the process. */
static void damaged(void **state) {
  (void)state;
  struct tombola_model_params params = support_params(256, 1);
  static const struct {
    enum tiny_kind kind;
    const char *word;
  } files[] = {{TINY_NO_LAYERS, "0 layers"},
               {TINY_ODD_HEADS, "odd number"},
               {TINY_BAD_EPSILON, "epsilon"},
               {TINY_TWICE, "'the' is there twice"}};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    assert_true(tiny_write(path, files[i].kind));
    refused(TOMBOLA_FORMAT, files[i].word, &params);
  }
}

/* ---- parameters ---- */

static int give_up(void *context, float done) {
  (void)done;
  ++*(int *)context;
  return 0;
}

static int go_on(void *context, float done) {
  *(float *)context = done;
  return 1;
}

static void progress(void **state) {
  (void)state;
  int calls = 0;
  float reached = 0;
  assert_true(tiny_write(path, TINY_WHOLE));
  struct tombola_model_params params = support_params(256, 1);
  params.progress = give_up;
  params.progress_context = &calls;
  refused(TOMBOLA_CANCELLED, "cancelled", &params);
  assert_int_equal(calls, 1);
  params.progress = go_on;
  params.progress_context = &reached;
  tombola_model_free(loaded(TINY_WHOLE, &params));
  assert_true(reached >= 1);
}

static void sizes(void **state) {
  (void)state;
  assert_true(tiny_write(path, TINY_WHOLE));
  struct tombola_model_params params = support_params(INT32_MAX - 512, 1);
  params.kv_type = TOMBOLA_KV_F32; /* a terabyte */
  refused(TOMBOLA_NO_MEMORY, "context", &params);
  params = support_params(INT32_MAX - 512, 2);
  refused(TOMBOLA_INVALID_ARGUMENT, "context is 2147483135", &params);
  params = support_params(256, 100000);
  refused(TOMBOLA_INVALID_ARGUMENT, "sequences is 100000", &params);
  params = support_params(256, 1);
  params.threads = 100000;
  refused(TOMBOLA_INVALID_ARGUMENT, "threads is 100000", &params);

  /* Sizes that libllama rounds or asserts on. */
  params = support_params(1, 1);
  tombola_model_free(loaded(TINY_WHOLE, &params));
  params = support_params(100, 5);
  params.batch = 1;
  tombola_model *model = loaded(TINY_WHOLE, &params);
  struct tombola_model_info info = {.struct_size = sizeof info};
  tombola_model_info(model, &info);
  assert_int_equal(info.context, 100);
  assert_int_equal(info.sequences, 5);
  assert_int_equal(info.batch, 1);
  assert_string_equal(info.name, "model.gguf");
  assert_null(info.chat_template);
  tombola_model_free(model);

  model = loaded(TINY_WHOLE, NULL);
  tombola_model_info(model, &info);
  assert_int_equal(info.context, TINY_CONTEXT); /* trained for less than 4096 */
  assert_int_equal(info.sequences, 1);
  struct tombola_chat_message message = {"user", "x"};
  char text[8];
  size_t length;
  struct tombola_error error = {0};
  assert_int_equal(
      tombola_model_apply_template(model, NULL, &message, 1, 1, text, sizeof text, &length, &error),
      TOMBOLA_NOT_FOUND);
  tombola_model_free(model);
}

/* ---- the vocabulary ---- */

/* A token's type, not its spelling, says whether it is a byte. */
static void bytes_are_bytes(void **state) {
  (void)state;
  struct tombola_model_params params = support_params(256, 1);
  tombola_model *model = loaded(TINY_WHOLE, &params);
  const tombola_vocabulary *vocabulary = tombola_model_vocabulary(model);
  size_t length;
  for (unsigned byte = 0, id = TINY_FIRST_BYTE; byte < 256; byte++) {
    if (byte == 0xEA) continue;
    const char *bytes = tombola_vocabulary_bytes(vocabulary, (tombola_token)id, &length);
    assert_int_equal(length, 1);
    assert_int_equal((unsigned char)bytes[0], byte);
    assert_int_equal(tombola_vocabulary_flags(vocabulary, (tombola_token)id), TOMBOLA_TOKEN_BYTE);
    id++;
  }
  const char *word = tombola_vocabulary_bytes(vocabulary, TINY_FIRST_WORD, &length);
  assert_int_equal(length, 6);
  assert_memory_equal(word, "<0xEA>", 6);
  assert_int_equal(tombola_vocabulary_flags(vocabulary, TINY_FIRST_WORD), 0);
  word = tombola_vocabulary_bytes(vocabulary, TINY_FIRST_WORD + 2, &length);
  assert_int_equal(length, 4);
  assert_memory_equal(word, " the", 4);
  assert_int_equal(tombola_vocabulary_flags(vocabulary, TINY_UNKNOWN), TOMBOLA_TOKEN_SPECIAL);
  assert_int_equal(tombola_vocabulary_flags(vocabulary, TINY_END), TOMBOLA_TOKEN_SPECIAL | TOMBOLA_TOKEN_END);

  tombola_token tokens[16];
  assert_ok(tombola_model_tokenize(model, "x", 1, TOMBOLA_TOKENIZE_ADD_SPECIAL, tokens, 16, &length, NULL));
  assert_int_equal(length, 3); /* libllama puts a space in front */
  assert_int_equal(tokens[0], TINY_START);
  assert_int_equal(tokens[2], TINY_FIRST_WORD + 4);
  tombola_model_free(model);
}

/* Without byte tokens libllama throws for a character that is no token; here that is a status. */
static void characters_without_token(void **state) {
  (void)state;
  struct tombola_model_params params = support_params(256, 1);
  tombola_model *model = loaded(TINY_NO_BYTES, &params);
  tombola_token tokens[16];
  size_t count;
  struct tombola_error error = {0};
  static const char *const known[] = {"x", "", "x\xE2\x98\x83x", "x x"};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    assert_ok(tombola_model_tokenize(model, known[i], strlen(known[i]), 0, tokens, 16, &count, &error));
  static const char *const unknown[] = {"q", "x\xE2\x98\x82", "\xE2\x98", "\xFF", "x q"};
  for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
    assert_int_equal(
        tombola_model_tokenize(model, unknown[i], strlen(unknown[i]), 0, tokens, 16, &count, &error),
        TOMBOLA_INVALID_ARGUMENT);
    assert_int_equal(count, 0);
  }
  tombola_model_free(model);
  /* A start token that isn't there is left out, where libllama asserts. */
  model = loaded(TINY_NO_START, &params);
  assert_ok(tombola_model_tokenize(model, "x", 1, TOMBOLA_TOKENIZE_ADD_SPECIAL, tokens, 16, &count, &error));
  tombola_model_free(model);
}

/* ---- rows in f32 ---- */

enum { LENGTH = 40, LAST = LENGTH - 1 };

static tombola_token token_at(int32_t position) {
  return TINY_FIRST_BYTE + position * 7 % 200;
}

/* Tokens [from, to) at positions shifted by `by`; returns the last one's row, which belongs to the model. */
static const float *run(tombola_model *model, int32_t sequence, int32_t from, int32_t to, int32_t by) {
  struct tombola_batch_item items[LENGTH];
  struct tombola_error error = {0};
  size_t count = 0;
  for (int32_t p = from; p < to; p++)
    items[count++] = (struct tombola_batch_item){token_at(p), p + by, sequence, p + 1 == to};
  if (tombola_model_decode(model, items, count, &error) != TOMBOLA_OK) fail_msg("%s", error.message);
  struct tombola_row row;
  assert_ok(tombola_model_logits(model, count - 1, &row));
  return row.data;
}

static double distance(const float *a, const float *b) {
  double largest = 0;
  for (size_t i = 0; i < tiny_count(TINY_WHOLE); i++) {
    double difference = fabs((double)a[i] - (double)b[i]);
    if (!(difference <= largest)) largest = difference;
  }
  return largest;
}

static void cache_type(enum tombola_kv_type type, double bound) {
  struct tombola_model_params params = support_params(256, 2);
  params.kv_type = type;
  tombola_model *model = loaded(TINY_WHOLE, &params);
  float expected[TINY_FIRST_BYTE + 255];
  memcpy(expected, run(model, 0, 0, LENGTH, 0), sizeof expected);

  assert_ok(tombola_model_remove(model, 0, LAST - 9, -1));
  double rest = distance(expected, run(model, 0, LAST - 9, LENGTH, 0));
  for (int32_t p = 0; p < LAST; p++)
    run(model, 1, p, p + 1, 0);
  double single = distance(expected, run(model, 1, LAST, LENGTH, 0));
  assert_ok(tombola_model_remove(model, 1, 0, -1));
  assert_ok(tombola_model_copy(model, 0, 1, 0, LAST));
  double copied = distance(expected, run(model, 1, LAST, LENGTH, 0));
  /* Only distances between positions count, so a sequence that is shifted as a whole goes on as before. */
  assert_ok(tombola_model_remove(model, 1, LAST, -1));
  assert_ok(tombola_model_shift(model, 1, 0, -1, 50));
  double shifted = distance(expected, run(model, 1, LAST, LENGTH, 50));
  assert_ok(tombola_model_remove(model, 0, LAST, -1));
  assert_ok(tombola_model_remove(model, 0, 0, LENGTH / 2));
  double other = distance(expected, run(model, 0, LAST, LENGTH, 0));
  printf("kv type %d: rest %.2g, single %.2g, copied %.2g, shifted %.2g, without its start %.2g\n", type,
         rest, single, copied, shifted, other);
  assert_true(rest <= bound && single <= bound && copied <= bound && shifted <= bound);
  assert_true(other > 5 * bound);
  tombola_model_free(model);
}

static void cache_types(void **state) {
  (void)state;
  cache_type(TOMBOLA_KV_F32, 0.02);
  cache_type(TOMBOLA_KV_F16, 0.02);
  cache_type(TOMBOLA_KV_I8, 0.2);
}

static void context_fills_to_the_last_position(void **state) {
  (void)state;
  struct tombola_model_params params = support_params(3 * LENGTH, 2);
  tombola_model *model = loaded(TINY_WHOLE, &params);
  for (int32_t at = 0; at < 3; at++)
    run(model, 1, 0, LENGTH, at * LENGTH);
  struct tombola_batch_item item = {TINY_START, 3 * LENGTH, 1, 1};
  struct tombola_error error = {0};
  assert_int_equal(tombola_model_decode(model, &item, 1, &error), TOMBOLA_OUT_OF_RANGE);
  assert_non_null(strstr(error.message, "120"));
  run(model, 0, 0, LENGTH, 0); /* the other sequence has its own room */
  tombola_model_free(model);
}

/* libllama follows a null pointer there. */
static void small_heads_of_bytes_cannot_shift(void **state) {
  (void)state;
  struct tombola_model_params params = support_params(256, 1);
  params.kv_type = TOMBOLA_KV_I8;
  tombola_model *model = loaded(TINY_SMALL_HEADS, &params);
  run(model, 0, 0, LENGTH, 0);
  assert_int_equal(tombola_model_shift(model, 0, 0, -1, 50), TOMBOLA_UNSUPPORTED);
  run(model, 0, 0, 1, LENGTH);
  tombola_model_free(model);
}

/* ---- memory ---- */

static void allocations_fail(void **state) {
  (void)state;
  assert_true(tiny_write(path, TINY_WHOLE));
  struct tombola_model_params params = support_params(256, 2);
  for (size_t n = 1;; n++) {
    struct support_allocator counting = support_allocator(n);
    params.allocator = support_allocator_use(&counting);
    tombola_model *model;
    struct tombola_error error = {0};
    enum tombola_status status = quiet_load(&params, &model, &error);
    tombola_model_free(model);
    support_allocator_check(&counting);
    if (counting.requests < n) {
      assert_int_equal(status, TOMBOLA_OK);
      assert_true(n > 10);
      return;
    }
    assert_int_equal(status, TOMBOLA_NO_MEMORY);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(not_models),
      cmocka_unit_test(truncated),
      cmocka_unit_test(models_of_other_kinds),
      cmocka_unit_test(progress),
      cmocka_unit_test(damaged),
      cmocka_unit_test(sizes),
      cmocka_unit_test(bytes_are_bytes),
      cmocka_unit_test(characters_without_token),
      cmocka_unit_test(cache_types),
      cmocka_unit_test(context_fills_to_the_last_position),
      cmocka_unit_test(small_heads_of_bytes_cannot_shift),
      cmocka_unit_test(allocations_fail),
  };
  return cmocka_run_group_tests_name("llama_files", tests, make_folder, remove_folder);
}
