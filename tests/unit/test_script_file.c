/* SPDX-License-Identifier: Apache-2.0 */
/* The scripted model's file: what is taken, what is refused and where the complaint points, the text side,
 * memory failures while loading, and the example of docs/script.md. */
#include "scripts.h"

#include <sys/stat.h>
#include <unistd.h>

#include "support.h"

/* ---- refusals ---- */

static const struct {
  const char *json, *pointer, *message; /* message: how it begins after the pointer, or NULL */
} refused[] = {
    {"{\"end\": [0]}", "/vocab", "is missing"},
    {"{\"vocab\": [\"a\"]}", "/end", "is missing"},
    {"[]", "", "a script must be a JSON object"},
    {"{\"vocab\": [], \"end\": [0]}", "/vocab", "must be an array of 1 to"},
    {"{\"vocab\": \"a\", \"end\": [0]}", "/vocab", NULL},
    {"{\"vocab\": [\"a\", 1], \"end\": [0]}", "/vocab/1", "must be a string or"},
    {"{\"vocab\": [\"a\", {\"hex\": 1}], \"end\": [0]}", "/vocab/1", NULL},
    {"{\"vocab\": [{\"hex\": \"00\", \"x\": 1}], \"end\": [0]}", "/vocab/0", NULL},
    {"{\"vocab\": [{\"x\": \"00\"}], \"end\": [0]}", "/vocab/0", NULL},
    {"{\"vocab\": [\"a\", {\"hex\": \"f0g0\"}], \"end\": [0]}", "/vocab/1/hex",
     "must be pairs of hexadecimal digits"},
    {"{\"vocab\": [\"a\", {\"hex\": \"f0a\"}], \"end\": [0]}", "/vocab/1/hex", NULL},
    {"{\"vocab\": [\"a\", {\"hex\": \"f\"}], \"end\": [0]}", "/vocab/1/hex", NULL},
    {"{\"vocab\": [\"a\"], \"end\": [1]}", "/end/0", "1 is outside 0 to 0"},
    {"{\"vocab\": [\"a\"], \"end\": [0, -1]}", "/end/1", "-1 is outside 0 to 0"},
    {"{\"vocab\": [\"a\"], \"end\": 0}", "/end", NULL},
    {"{\"vocab\": [\"a\"], \"end\": []}", "/end", "must name a token"},
    {"{\"vocab\": [\"a\"], \"end\": [0], \"special\": [0.5]}", "/special/0",
     "must be a whole number, 0 to 0"},
    {"{\"vocab\": [\"a\"], \"end\": [0], \"special\": {}}", "/special", NULL},
    {"{\"vocab\": [\"a\"], \"end\": [0], \"template\": \"llama2\"}", "/template", "must be \"chatml\""},
    {"{\"vocab\": [\"a\"], \"end\": [0], \"template\": null}", "/template", NULL},
    {"{\"vocab\": [\"a\"], \"end\": [0], \"context\": 0}", "/context", "0 is outside 1 to 16777216"},
    {"{\"vocab\": [\"a\"], \"end\": [0], \"context\": \"1\"}", "/context", NULL},
    {"{\"vocab\": [\"a\"], \"end\": [0], \"context\": 18446744073709551615}", "/context",
     "18446744073709551615 is"},
    {"{\"vocab\": [\"a\"], \"end\": [0], \"steps\": {}}", "/steps", "must be an array of rows"},
    {"{\"vocab\": [\"a\"], \"end\": [0], \"steps\": [0, 1]}", "/steps/1", "1 is outside 0 to 0"},
    {"{\"vocab\": [\"a\"], \"end\": [0], \"steps\": [\"a\"]}", "/steps/0", "must be a token's id or"},
    {"{\"vocab\": [\"a\"], \"end\": [0], \"steps\": [{}]}", "/steps/0", NULL},
    {"{\"vocab\": [\"a\"], \"end\": [0], \"steps\": [{\"logits\": [1], \"x\": 1}]}", "/steps/0", NULL},
    {"{\"vocab\": [\"a\"], \"end\": [0], \"steps\": [{\"logits\": 1}]}", "/steps/0/logits",
     "must be an array of 1"},
    {"{\"vocab\": [\"a\", \"b\"], \"end\": [0], \"steps\": [0, {\"logits\": [1]}]}", "/steps/1/logits",
     "has 1 numbers, the vocabulary has 2 tokens"},
    {"{\"vocab\": [\"a\", \"b\"], \"end\": [0], \"steps\": [0, {\"logits\": [1, \"x\"]}]}",
     "/steps/1/logits/1", "must be a number, \"-inf\", \"inf\" or \"nan\""},
    {"{\"vocab\": [\"a\"], \"end\": [0], \"steps\": [{\"logits\": [1e39]}]}", "/steps/0/logits/0",
     "1e+39 doesn't fit into a float"},
    {"{\"vocab\": [\"a\"], \"end\": [0], \"by_last\": []}", "/by_last", "must be an object"},
    {"{\"vocab\": [\"a\"], \"end\": [0], \"by_last\": {\"1\": 0}}", "/by_last/1",
     "the name must be a token's id"},
    {"{\"vocab\": [\"a\"], \"end\": [0], \"by_last\": {\"00\": 0}}", "/by_last/00", NULL},
    {"{\"vocab\": [\"a\"], \"end\": [0], \"by_last\": {\"\": 0}}", "/by_last/", NULL},
    {"{\"vocab\": [\"a\"], \"end\": [0], \"by_last\": {\"a~/b\": 0}}", "/by_last/a~0~1b", NULL},
    {"{\"vocab\": [\"a\"], \"end\": [0], \"by_last\": {\"99999999999999999999\": 0}}",
     "/by_last/99999999999999999999", NULL},
    {"{\"vocab\": [\"a\"], \"end\": [0], \"by_last\": {\"0\": 0, \"0\": 0}}", "/by_last/0", "is given twice"},
    {"{\"vocab\": [\"a\"], \"end\": [0], \"by_last\": {\"0\": {\"logits\": [true]}}}", "/by_last/0/logits/0",
     NULL},
    {"{\"vocab\": [\"a\"], \"end\": [0], \"hash\": -1}", "/hash", "must be a whole number"},
    {"{\"vocab\": [\"a\"], \"end\": [0], \"after\": \"stop\"}", "/after", "must be \"end\" or \"repeat\""},
    {"{\"vocab\": [\"a\"], \"end\": [0], \"after\": \"repeat\"}", "/after", "\"repeat\" needs steps"},
    {"{\"vocab\": [\"a\"], \"end\": [0], \"after\": \"repeat\", \"steps\": []}", "/after", NULL},
    {"{\"vocab\": [\"a\"], \"end\": [0], \"delay_ms\": -1}", "/delay_ms", "-1 is outside 0 to 60000"},
    {"{\"vocab\": [\"a\"], \"end\": [0], \"fail_at\": -2}", "/fail_at", "-2 is outside -1 to 2147483647"},
    {"{\"vocab\": [\"a\"], \"end\": [0], \"stepz\": []}", "/stepz", "a script has no such member"},
    {"{\"vocab\": [\"a\"], \"end\": [0], \"end\": [0]}", "/end", "is given twice"},
};

static void test_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
    tombola_model *model;
    struct tombola_error error = {.status = TOMBOLA_OK};
    enum tombola_status status =
        script_load_text(refused[i].json, strlen(refused[i].json), NULL, &model, &error);
    if (status != TOMBOLA_FORMAT || model) fail_msg("taken: %s", refused[i].json);
    assert_int_equal(error.status, TOMBOLA_FORMAT);
    assert_string_equal(error.param, refused[i].pointer);
    const char *rest = error.message;
    if (refused[i].pointer[0]) {
      assert_memory_equal(rest, refused[i].pointer, strlen(refused[i].pointer));
      rest += strlen(refused[i].pointer);
      assert_memory_equal(rest, ": ", 2);
      rest += 2;
    }
    if (refused[i].message && strncmp(rest, refused[i].message, strlen(refused[i].message)) != 0)
      fail_msg("\"%s\" is not \"%s\"", rest, refused[i].message);
  }
}

static void test_not_json(void **state) {
  (void)state;
  static const struct {
    const char *text;
    size_t length, offset;
  } texts[] = {{"", 0, 0},
               {"{\"vocab\": [\"a\"", 14, 14},
               {"{} x", 4, 3},
               {"GGUF\3\0\0\0", 8, 0},
               {"{\"vocab\": [1e400]}", 18, 11}};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    tombola_model *model;
    struct tombola_error error;
    assert_int_equal(script_load_text(texts[i].text, texts[i].length, NULL, &model, &error), TOMBOLA_FORMAT);
    assert_non_null(strstr(error.message, "not JSON"));
    assert_int_equal(error.offset, texts[i].offset);
  }
}

/* ---- what the file and the caller decide ---- */

#define SMALL "{\"vocab\": [\"a\",\"b\"], \"end\": [0], \"steps\": [1]"

static struct tombola_model_info info_of(tombola_model *model) {
  struct tombola_model_info info = {.struct_size = sizeof info};
  tombola_model_info(model, &info);
  return info;
}

static void test_sizes(void **state) {
  (void)state;
  tombola_model *model = script_load(SMALL "}", NULL);
  struct tombola_model_info info = info_of(model);
  assert_int_equal(info.context, 4096);
  assert_int_equal(info.trained_context, 0);
  assert_int_equal(info.sequences, 1);
  assert_int_equal(info.batch, 512);
  assert_null(info.chat_template);
  assert_memory_equal(info.name, "tombola-script-", 15);
  tombola_model_free(model);

  struct tombola_model_params params = {.struct_size = sizeof params, .sequences = 4};
  model = script_load(SMALL ", \"context\": 10, \"template\": \"chatml\"}", &params);
  info = info_of(model);
  assert_int_equal(info.context, 10);
  assert_int_equal(info.trained_context, 10);
  assert_int_equal(info.sequences, 4);
  assert_int_equal(info.batch, 40); /* more could never be run at once */
  assert_string_equal(info.chat_template, "chatml");
  tombola_model_free(model);

  params.context = 20;
  params.batch = 7;
  model = script_load(SMALL ", \"context\": 10}", &params);
  info = info_of(model);
  assert_int_equal(info.context, 20);
  assert_int_equal(info.batch, 7);
  tombola_model_free(model);

  struct tombola_error error;
  params.context = 1 << 24;
  params.sequences = 2;
  assert_int_equal(script_load_text(SMALL "}", strlen(SMALL "}"), &params, &model, &error),
                   TOMBOLA_INVALID_ARGUMENT);
  assert_string_equal(error.param, "context");
}

static int give_up_at(void *context, float done) {
  return done < *(float *)context;
}

static void test_progress(void **state) {
  (void)state;
  float limits[] = {0.0F, 1.0F, 2.0F};
  for (int i = 0; i < 3; i++) {
    struct tombola_model_params params = {
        .struct_size = sizeof params, .progress = give_up_at, .progress_context = &limits[i]};
    tombola_model *model;
    enum tombola_status status = script_load_text(SMALL "}", strlen(SMALL "}"), &params, &model, NULL);
    assert_int_equal(status, i < 2 ? TOMBOLA_CANCELLED : TOMBOLA_OK);
    tombola_model_free(model);
  }
}

/* Every allocation of a load fails once; what was taken until then is given back. */
static void test_no_memory(void **state) {
  (void)state;
  const char *json =
      "{\"vocab\": [\"<eos>\", \"a\", {\"hex\": \"f09f\"}], \"special\": [0], \"end\": [0], \"template\": "
      "\"chatml\", \"context\": 64, \"steps\": [1, {\"logits\": [0.5, \"-inf\", 1]}], \"by_last\": "
      "{\"2\": {\"logits\": [1, 2, 3]}}, \"hash\": 42, \"after\": \"end\"}";
  for (size_t n = 1;; n++) {
    struct support_allocator memory = support_allocator(n);
    struct tombola_model_params params = {
        .struct_size = sizeof params, .sequences = 2, .allocator = support_allocator_use(&memory)};
    tombola_model *model;
    struct tombola_error error;
    enum tombola_status status = script_load_text(json, strlen(json), &params, &model, &error);
    if (memory.requests < n) {
      assert_int_equal(status, TOMBOLA_OK);
      tombola_model_free(model);
      support_allocator_check(&memory);
      assert_true(n > 15); /* the sweep did meet the parts of a load */
      return;
    }
    assert_int_equal(status, TOMBOLA_NO_MEMORY);
    assert_int_equal(error.status, TOMBOLA_NO_MEMORY);
    assert_null(model);
    support_allocator_check(&memory);
  }
}

/* ---- text ---- */

static void test_vocabulary(void **state) {
  (void)state;
  tombola_model *model =
      script_load("{\"vocab\": [\"<eos>\", \"a\\u0000b\", {\"hex\": \"F09f\"}, {\"hex\": \"\"}], "
                  "\"special\": [0, 2], \"end\": [3, 0]}",
                  NULL);
  const tombola_vocabulary *words = tombola_model_vocabulary(model);
  size_t length;
  assert_int_equal(tombola_vocabulary_count(words), 4);
  assert_memory_equal(tombola_vocabulary_bytes(words, 1, &length), "a\0b", 3);
  assert_int_equal(length, 3);
  assert_memory_equal(tombola_vocabulary_bytes(words, 2, &length), "\xF0\x9F", 2);
  assert_int_equal(length, 2);
  tombola_vocabulary_bytes(words, 3, &length);
  assert_int_equal(length, 0);
  assert_int_equal(tombola_vocabulary_flags(words, 0), TOMBOLA_TOKEN_SPECIAL | TOMBOLA_TOKEN_END);
  assert_int_equal(tombola_vocabulary_flags(words, 1), 0);
  assert_int_equal(tombola_vocabulary_flags(words, 2), TOMBOLA_TOKEN_SPECIAL);
  assert_int_equal(tombola_vocabulary_flags(words, 3), TOMBOLA_TOKEN_END);
  tombola_model_free(model);
}

static void check_tokens(tombola_model *model, const char *text, unsigned flags, const tombola_token *want,
                         size_t n_want) {
  tombola_token tokens[16];
  size_t count;
  assert_int_equal(tombola_model_tokenize(model, text, strlen(text), flags, tokens, 16, &count, NULL),
                   TOMBOLA_OK);
  assert_int_equal(count, n_want);
  if (n_want > 0) assert_memory_equal(tokens, want, n_want * sizeof *want);
}

#define CHECK_TOKENS(text, flags, ...)                                   \
  check_tokens(model, text, flags, (const tombola_token[]){__VA_ARGS__}, \
               sizeof((const tombola_token[]){__VA_ARGS__}) / sizeof(tombola_token))

static void test_tokenize(void **state) {
  (void)state;
  /* 0 <s> (special), 1 <, 2 s, 3 >, 4 ab, 5 a, 6 abcd, 7 ab again, 8 an ordinary "aaa", 9 a special "aaa", 10
   * c */
  tombola_model *model =
      script_load("{\"vocab\": [\"<s>\",\"<\",\"s\",\">\",\"ab\",\"a\",\"abcd\",\"ab\",\"aaa\",\"aaa\","
                  "\"c\"], \"special\": [0, 9], \"end\": [0]}",
                  NULL);
  check_tokens(model, "", 0, NULL, 0);
  CHECK_TOKENS("abcd", 0, 6);
  CHECK_TOKENS("abca", 0, 4, 10, 5);
  CHECK_TOKENS("aaaa", TOMBOLA_TOKENIZE_PARSE_SPECIAL, 8, 5);
  CHECK_TOKENS("a<s>", 0, 5, 1, 2, 3);
  CHECK_TOKENS("a<s>", TOMBOLA_TOKENIZE_PARSE_SPECIAL | TOMBOLA_TOKENIZE_ADD_SPECIAL, 5, 0);

  tombola_token tokens[2] = {-7, -7};
  size_t count;
  struct tombola_error error;
  assert_int_equal(tombola_model_tokenize(model, "aca", 3, 0, tokens, 1, &count, &error),
                   TOMBOLA_OUT_OF_RANGE);
  assert_int_equal(count, 3);
  assert_int_equal(tokens[0], 5);
  assert_int_equal(tokens[1], -7);
  assert_int_equal(tombola_model_tokenize(model, "a\xFF", 2, 0, tokens, 2, &count, &error),
                   TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(count, 0);
  assert_int_equal(error.offset, 1);
  assert_string_equal(error.message, "no token of the script begins with byte 0xff at offset 1");

  /* The same through the vocabulary, as the sampler's stages do it. */
  const tombola_vocabulary *words = tombola_model_vocabulary(model);
  assert_int_equal(tombola_vocabulary_tokenize(words, "<s>", 3, 1, tokens, 2, &count), TOMBOLA_OK);
  assert_int_equal(count, 1);
  assert_int_equal(tombola_vocabulary_tokenize(words, "<s>", 3, 0, tokens, 2, &count), TOMBOLA_OUT_OF_RANGE);
  assert_int_equal(count, 3);
  tombola_model_free(model);
}

/* Many tokens, so that the table has collisions: each is found by its own spelling. */
static void test_tokenize_many(void **state) {
  (void)state;
  char json[40000];
  size_t at = (size_t)snprintf(json, sizeof json, "{\"end\": [0], \"vocab\": [\"0\"");
  for (int i = 1; i < 3000; i++)
    at += (size_t)snprintf(json + at, sizeof json - at, ",\"%d.\"", i);
  snprintf(json + at, sizeof json - at, "]}");
  tombola_model *model = script_load(json, NULL);
  for (int i = 1; i < 3000; i++) {
    char text[16];
    snprintf(text, sizeof text, "%d.%d.", i, 3000 - i);
    CHECK_TOKENS(text, 0, i, 3000 - i);
  }
  tombola_model_free(model);
}

static void test_template(void **state) {
  (void)state;
  const struct tombola_chat_message messages[] = {{"system", "Be brief."}, {"user", "Hi\nthere"}};
  const char *want = "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi\nthere<|im_end|>\n"
                     "<|im_start|>assistant\n";
  size_t n_want = strlen(want), length;
  char text[256];
  struct tombola_error error;
  tombola_model *model = script_load(SMALL ", \"template\": \"chatml\"}", NULL);
  memset(text, 'x', sizeof text);
  assert_int_equal(
      tombola_model_apply_template(model, NULL, messages, 2, 1, text, sizeof text, &length, &error),
      TOMBOLA_OK);
  assert_int_equal(length, n_want);
  assert_memory_equal(text, want, n_want);
  assert_int_equal(text[n_want], 'x');

  assert_int_equal(
      tombola_model_apply_template(model, NULL, messages, 2, 0, text, sizeof text, &length, &error),
      TOMBOLA_OK);
  assert_int_equal(length, n_want - strlen("<|im_start|>assistant\n"));
  assert_int_equal(tombola_model_apply_template(model, NULL, messages, 2, 1, text, n_want, &length, &error),
                   TOMBOLA_OK);
  memset(text, 'x', sizeof text);
  assert_int_equal(
      tombola_model_apply_template(model, NULL, messages, 2, 1, text, n_want - 1, &length, &error),
      TOMBOLA_OUT_OF_RANGE);
  assert_int_equal(length, n_want);
  assert_int_equal(text[n_want - 1], 'x');
  assert_int_equal(tombola_model_apply_template(model, NULL, messages, 2, 1, NULL, 0, &length, &error),
                   TOMBOLA_OUT_OF_RANGE);
  assert_int_equal(length, n_want);
  assert_int_equal(
      tombola_model_apply_template(model, "llama3", messages, 2, 1, text, sizeof text, &length, &error),
      TOMBOLA_NOT_FOUND);
  assert_string_equal(error.message, "a script has no chat template \"llama3\"; there is: chatml");
  tombola_model_free(model);

  model = script_load(SMALL "}", NULL);
  assert_int_equal(
      tombola_model_apply_template(model, NULL, messages, 2, 1, text, sizeof text, &length, &error),
      TOMBOLA_NOT_FOUND);
  assert_int_equal(
      tombola_model_apply_template(model, "chatml", messages, 2, 1, text, sizeof text, &length, &error),
      TOMBOLA_OK);
  assert_int_equal(length, n_want);
  tombola_model_free(model);
}

/* ---- the manual ---- */

static char *read_manual(void) {
  const char *source = getenv("TOMBOLA_SOURCE");
  char path[512];
  if (!source) skip();
  snprintf(path, sizeof path, "%s/docs/script.md", source);
  FILE *file = fopen(path, "rb");
  if (!file) fail_msg("%s is missing", path);
  static char text[32768];
  size_t length = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[length] = '\0';
  return text;
}

/* The example is taken as it stands, and answers as the manual says. */
static void test_manual(void **state) {
  (void)state;
  char *text = read_manual();
  char *start = strstr(text, "```json\n");
  assert_non_null(start);
  start += 8;
  char *end = strstr(start, "```\n");
  assert_non_null(end);
  tombola_model *model;
  struct tombola_error error = {.message = ""};
  if (script_load_text(start, (size_t)(end - start), NULL, &model, &error) != TOMBOLA_OK)
    fail_msg("%s", error.message);

  char answer[64] = "";
  struct tombola_batch_item item = {12, 0, 0, 1};
  for (;; item.position++) {
    struct tombola_row row;
    assert_int_equal(tombola_model_decode(model, &item, 1, NULL), TOMBOLA_OK);
    assert_int_equal(tombola_model_logits(model, 0, &row), TOMBOLA_OK);
    const float *logits = row.data;
    item.token = 0;
    for (size_t i = 0; i < row.count; i++) {
      if (logits[i] > logits[item.token]) item.token = (tombola_token)i;
    }
    if (tombola_vocabulary_flags(tombola_model_vocabulary(model), item.token) & TOMBOLA_TOKEN_END) break;
    size_t length;
    const char *bytes = tombola_vocabulary_bytes(tombola_model_vocabulary(model), item.token, &length);
    strncat(answer, bytes, length);
  }
  assert_string_equal(answer, "Hello, world!");
  tombola_model_free(model);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_refused),   cmocka_unit_test(test_not_json),
      cmocka_unit_test(test_sizes),     cmocka_unit_test(test_progress),
      cmocka_unit_test(test_no_memory), cmocka_unit_test(test_vocabulary),
      cmocka_unit_test(test_tokenize),  cmocka_unit_test(test_tokenize_many),
      cmocka_unit_test(test_template),  cmocka_unit_test(test_manual),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
