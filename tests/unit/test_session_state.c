/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions that are forked, and kept in files: what comes back says the same, and what isn't whole or isn't
 * ours is refused and changes nothing. */
#include <sys/stat.h>

#include "play.h"
#include "session_support.h"
#include "support.h"

static const char json[] =
    "{\"vocab\": [\"<eos>\", \"a\", \"b\", \"c\", \"d\", \"e\"], \"end\": [], \"hash\": 21}";
static const char counting[] = "{\"vocab\": [\"<eos>\", \"a\", \"b\", \"c\", \"d\", \"e\"], \"end\": [0],"
                               " \"steps\": [1, 2, 3, 4, 5, 1, 2, 3, 4, 5]}";

/* The script under one name, so that its models count as one. */
static tombola_model *model_of(const char *text, size_t context, size_t sequences) {
  char folder[] = "/tmp/tombola-script-XXXXXX", name[64];
  assert_non_null(mkdtemp(folder));
  snprintf(name, sizeof name, "script:%s/test.json", folder);
  FILE *file = fopen(strchr(name, ':') + 1, "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
  struct tombola_model_params params = {
      .struct_size = sizeof params, .context = context, .sequences = sequences};
  const struct tombola_backend *backend = tombola_backend_scripted();
  tombola_model *model = NULL;
  struct tombola_error error = {.message = ""};
  if (tombola_model_load(&backend, 1, name, &params, &model, &error) != TOMBOLA_OK)
    fail_msg("%s", error.message);
  unlink(strchr(name, ':') + 1);
  rmdir(folder);
  return model;
}

/* ---- fork ---- */

/* Two branches from one point, in turns: each says what a session of its own would. */
static void test_fork(void **state) {
  (void)state;
  tombola_model *model = model_of(json, 200, 3);
  tombola_sampler *sampler = play_sampler(6, NULL, NULL);
  tombola_session *trunk = session_on(model, 0), *branches[2];
  const tombola_token prompt[] = {1, 2, 3, 4, 5};
  struct play p = {.params = {.max_tokens = 10}};
  play_on(&p, trunk, sampler, prompt, 5);
  assert_int_equal(tombola_session_fork(trunk, 1, NULL, &branches[0], NULL), TOMBOLA_OK);
  assert_int_equal(tombola_session_fork(trunk, 2, NULL, &branches[1], NULL), TOMBOLA_OK);
  size_t count;
  const tombola_token *tokens = tombola_session_tokens(branches[1], &count);
  assert_int_equal(count, p.cached);
  assert_memory_equal(tokens, p.cache, count * sizeof *tokens);
  for (int round = 0; round < 3; round++) {
    for (int b = 0; b < 2; b++) {
      tombola_token longer[16];
      memcpy(longer, p.cache, 14 * sizeof *longer);
      longer[14] = (tombola_token)(b + 1);
      longer[15] = (tombola_token)(round + 1);
      struct play branch = {.params = {.max_tokens = 6}}, alone = {.params = {.max_tokens = 6}};
      play_on(&branch, branches[b], sampler, longer, 16);
      assert_int_equal(branch.stats.prompt_reused, round == 0 ? 14 : 15); /* copied, not computed */
      play(&alone, json, longer, 16);
      play_tokens(&branch, alone.tokens, 6);
    }
  }
  struct play again = {.params = {.max_tokens = 10}}; /* the trunk is as it was */
  play_on(&again, trunk, sampler, prompt, 5);
  play_tokens(&again, p.tokens, 10);
  tombola_session_free(branches[0]);
  tombola_session_free(branches[1]);

  struct tombola_error error;
  assert_int_equal(tombola_session_fork(trunk, 0, NULL, &branches[0], &error), TOMBOLA_INVALID_ARGUMENT);
  assert_string_equal(error.message, "sequence 0 is the one that is to be forked");
  assert_null(branches[0]);
  assert_int_equal(tombola_session_fork(trunk, 3, NULL, &branches[0], &error), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_session_fork(NULL, 1, NULL, &branches[0], &error), TOMBOLA_INVALID_ARGUMENT);
  for (size_t n = 1;; n++) {
    struct support_allocator memory = support_allocator(n);
    enum tombola_status status =
        tombola_session_fork(trunk, 1, support_allocator_use(&memory), &branches[0], &error);
    bool all = memory.requests < n;
    assert_int_equal(status, all ? TOMBOLA_OK : TOMBOLA_NO_MEMORY);
    if (all) tombola_session_free(branches[0]);
    support_allocator_check(&memory);
    if (all) break;
  }
  tombola_session_free(trunk);
  tombola_sampler_free(sampler);
  tombola_model_free(model);
}

/* A model that can't copy, nor give out a state. */
static void test_plain_model(void **state) {
  (void)state;
  tombola_model *model = toy_model(TOY_CONTEXT, 8, -1);
  tombola_sampler *sampler = play_sampler(TOY_VOCAB, NULL, NULL);
  tombola_session *trunk = session_on(model, 0), *branch;
  const tombola_token prompt[] = {1, 2, 3, 4, 5};
  struct tombola_error error;
  struct heard heard;
  answer(trunk, sampler, prompt, 3, 2, &heard);
  assert_int_equal(tombola_session_fork(trunk, 1, NULL, &branch, &error), TOMBOLA_UNSUPPORTED);
  assert_int_equal(tombola_session_save(trunk, "/tmp/tombola-state-none", &error), TOMBOLA_UNSUPPORTED);
  assert_string_equal(error.message, "the model can't give out its state");
  struct tombola_generate_params params = with(&heard, 5);
  params.context_shift = 1;
  assert_int_equal(tombola_session_generate(trunk, sampler, prompt, 3, &params, NULL, &error),
                   TOMBOLA_UNSUPPORTED);
  assert_string_equal(error.param, "context_shift");
  check_cache(trunk, toy_last, 4);
  tombola_session_free(trunk);
  tombola_sampler_free(sampler);
  tombola_model_free(model);
}

/* ---- files ---- */

struct saved {
  char path[64];
  unsigned char bytes[8192];
  size_t size;
};

static void read_saved(struct saved *s) {
  FILE *file = fopen(s->path, "rb");
  assert_non_null(file);
  s->size = fread(s->bytes, 1, sizeof s->bytes, file);
  assert_true(s->size < sizeof s->bytes);
  fclose(file);
}

static void write_bytes(const char *path, const unsigned char *bytes, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

/* A session of `script` that has said something, in a file. */
static void save(struct saved *s, const char *script, struct play *p) {
  snprintf(s->path, sizeof s->path, "/tmp/tombola-state-XXXXXX");
  int descriptor = mkstemp(s->path);
  assert_true(descriptor >= 0);
  close(descriptor);
  tombola_model *model = model_of(script, 100, 1);
  tombola_sampler *sampler = play_sampler(6, NULL, NULL);
  tombola_session *session = session_on(model, 0);
  const tombola_token prompt[] = {1, 2, 3};
  p->params.max_tokens = 5;
  play_on(p, session, sampler, prompt, 3);
  struct tombola_error error = {.message = ""};
  if (tombola_session_save(session, s->path, &error) != TOMBOLA_OK) fail_msg("%s", error.message);
  tombola_session_free(session);
  tombola_sampler_free(sampler);
  tombola_model_free(model);
  read_saved(s);
}

static void test_round_trip(void **state) {
  (void)state;
  const char *scripts[] = {json, counting};
  for (int i = 0; i < 2; i++) {
    struct play first = {.count = 0};
    struct saved s;
    save(&s, scripts[i], &first);
    struct stat about;
    assert_int_equal(stat(s.path, &about), 0);
    assert_int_equal(about.st_mode & 077, 0); /* what was said is nobody else's business */

    tombola_model *model = model_of(scripts[i], 50, 2); /* another context, another sequence */
    tombola_sampler *sampler = play_sampler(6, NULL, NULL);
    tombola_session *session = session_on(model, 1);
    assert_int_equal(tombola_session_load(session, s.path, NULL), TOMBOLA_OK);
    size_t count;
    const tombola_token *tokens = tombola_session_tokens(session, &count);
    assert_int_equal(count, first.cached);
    assert_memory_equal(tokens, first.cache, count * sizeof *tokens);
    /* It goes on where the other stopped: a turn on top of the whole, nothing of it computed again. */
    tombola_token prompt[9] = {1, 2, 3};
    memcpy(prompt + 3, first.tokens, 5 * sizeof *prompt);
    struct play next = {.params = {.max_tokens = 5}}, alone = {.params = {.max_tokens = 5}};
    play_on(&next, session, sampler, prompt, 8);
    assert_int_equal(next.stats.prompt_reused, 7);
    play(&alone, scripts[i], prompt, 8);
    play_tokens(&next, alone.tokens, 5);

    tombola_session_clear(session); /* an empty one */
    assert_int_equal(tombola_session_save(session, s.path, NULL), TOMBOLA_OK);
    play_on(&next, session, sampler, prompt, 8);
    assert_int_equal(tombola_session_load(session, s.path, NULL), TOMBOLA_OK);
    tombola_session_tokens(session, &count);
    assert_int_equal(count, 0);
    play_on(&next, session, sampler, prompt, 8);
    play_tokens(&next, alone.tokens, 5);
    unlink(s.path);
    tombola_session_free(session);
    tombola_sampler_free(sampler);
    tombola_model_free(model);
  }
}

/* A script counts the tokens of its answer; the count, too, is in the file. */
static void test_goes_on_counting(void **state) {
  (void)state;
  struct play first = {.count = 0};
  struct saved s;
  save(&s, counting, &first);
  play_tokens(&first, (const tombola_token[]){1, 2, 3, 4, 5}, 5);
  tombola_model *model = model_of(counting, 50, 1);
  tombola_session *session = session_on(model, 0);
  assert_int_equal(tombola_session_load(session, s.path, NULL), TOMBOLA_OK);
  /* The fifth token of the answer was not run; run it as one of an answer. */
  struct tombola_batch_item item = {.token = 5, .position = 7, .want_logits = 1};
  struct tombola_row row;
  assert_int_equal(tombola_model_decode(model, &item, 1, NULL), TOMBOLA_OK);
  assert_int_equal(tombola_model_logits(model, 0, &row), TOMBOLA_OK);
  assert_float_equal(((const float *)row.data)[1], 10, 0); /* steps[5] */
  tombola_session_free(session);
  tombola_model_free(model);
  unlink(s.path);
}

/* What a session was asked to load and refused has changed nothing. */
static void refused(tombola_session *session, const char *path, enum tombola_status want,
                    const char *message) {
  size_t before, after;
  tombola_token tokens[64];
  const tombola_token *now = tombola_session_tokens(session, &before);
  memcpy(tokens, now, before * sizeof *now);
  struct tombola_error error = {.message = ""};
  enum tombola_status status = tombola_session_load(session, path, &error);
  if (status != want) fail_msg("status %d, not %d: %s", (int)status, (int)want, error.message);
  assert_int_equal(error.status, want);
  if (message && !strstr(error.message, message)) fail_msg("'%s' doesn't say '%s'", error.message, message);
  now = tombola_session_tokens(session, &after);
  assert_int_equal(before, after);
  assert_memory_equal(now, tokens, before * sizeof *now);
}

static void test_damage(void **state) {
  (void)state;
  struct play first = {.count = 0};
  struct saved s;
  save(&s, json, &first);
  tombola_model *model = model_of(json, 100, 1);
  tombola_sampler *sampler = play_sampler(6, NULL, NULL);
  tombola_session *session = session_on(model, 0);
  struct play own = {.params = {.max_tokens = 6}};
  const tombola_token prompt[] = {5, 4};
  play_on(&own, session, sampler, prompt, 2);

  for (size_t i = 0; i < s.size; i++) { /* each bit once somewhere, each byte */
    s.bytes[i] ^= (unsigned char)(1u << (i % 8));
    write_bytes(s.path, s.bytes, s.size);
    refused(session, s.path, TOMBOLA_FORMAT, NULL);
    s.bytes[i] ^= (unsigned char)(1u << (i % 8));
  }
  for (size_t size = 0; size < s.size; size++) {
    write_bytes(s.path, s.bytes, size);
    refused(session, s.path, TOMBOLA_FORMAT, size < 48 ? "is no saved session" : "is cut short");
  }
  s.bytes[s.size] = 0;
  write_bytes(s.path, s.bytes, s.size + 1);
  refused(session, s.path, TOMBOLA_FORMAT, "is damaged");
  s.bytes[8] = 2;
  write_bytes(s.path, s.bytes, s.size);
  refused(session, s.path, TOMBOLA_FORMAT, "has layout 2; this version reads layout 1");
  s.bytes[8] = 1;
  write_bytes(s.path, (const unsigned char *)"{\"model\": \"not a session, though long enough to be one\"}",
              56);
  refused(session, s.path, TOMBOLA_FORMAT, "is no saved session");
  refused(session, "/tmp", TOMBOLA_FORMAT, "is no saved session");
  refused(session, "/tmp/there is no such file", TOMBOLA_NOT_FOUND, "No such file");
  struct play again = {.params = {.max_tokens = 6}}; /* and the session is as good as before */
  play_on(&again, session, sampler, prompt, 2);
  play_tokens(&again, own.tokens, 6);
  assert_int_equal(again.stats.prompt_reused, 1);

  write_bytes(s.path, s.bytes, s.size);
  assert_int_equal(tombola_session_load(session, s.path, NULL), TOMBOLA_OK);
  unlink(s.path);
  tombola_session_free(session);
  tombola_sampler_free(sampler);
  tombola_model_free(model);
}

static void test_foreign(void **state) {
  (void)state;
  struct play first = {.count = 0};
  struct saved s;
  save(&s, json, &first);
  tombola_model *model = model_of(
      "{\"vocab\": [\"<eos>\", \"a\", \"b\", \"c\", \"d\", \"E\"], \"end\": [], \"hash\": 21}", 100, 1);
  tombola_session *session = session_on(model, 0);
  refused(session, s.path, TOMBOLA_FORMAT, "is of a model with another vocabulary");
  tombola_session_free(session);
  tombola_model_free(model);
  model = script_load(json, NULL); /* of another name */
  session = session_on(model, 0);
  refused(session, s.path, TOMBOLA_FORMAT, "is of the model test.json, this one is ");
  tombola_session_free(session);
  tombola_model_free(model);
  model = model_of(json, 6, 1);
  session = session_on(model, 0);
  refused(session, s.path, TOMBOLA_OUT_OF_RANGE, "has 7 tokens, the context has room for 6");
  tombola_session_free(session);
  tombola_model_free(model);
  unlink(s.path);
}

/* A file that can't be written leaves nothing behind, and the old one as it was. */
static void test_unwritable(void **state) {
  (void)state;
  tombola_model *model = model_of(json, 100, 1);
  tombola_session *session = session_on(model, 0);
  struct tombola_error error;
  assert_int_equal(tombola_session_save(session, "/tmp/no/such/folder/x", &error), TOMBOLA_IO);
  assert_int_equal(error.status, TOMBOLA_IO);
  assert_non_null(strstr(error.message, "/tmp/no/such/folder/x: No such file"));
  assert_int_equal(tombola_session_save(session, "/tmp", &error), TOMBOLA_IO); /* a folder stands there */
  assert_int_equal(tombola_session_save(session, NULL, &error), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_session_load(session, NULL, &error), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_session_load(NULL, "x", &error), TOMBOLA_INVALID_ARGUMENT);
  tombola_session_free(session);
  tombola_model_free(model);
}

static void test_memory(void **state) {
  (void)state;
  struct play first = {.count = 0};
  struct saved s, old;
  save(&s, json, &first);
  tombola_model *model = model_of(json, 100, 1);
  for (size_t n = 1;; n++) {
    struct support_allocator memory = support_allocator(0);
    tombola_session *session;
    assert_int_equal(tombola_session_new(model, 0, support_allocator_use(&memory), &session, NULL),
                     TOMBOLA_OK);
    size_t before = memory.requests;
    memory.fail_at = before + n;
    enum tombola_status status = tombola_session_load(session, s.path, NULL);
    if (status == TOMBOLA_OK) status = tombola_session_save(session, s.path, NULL);
    bool all = memory.requests < before + n;
    assert_int_equal(status, all ? TOMBOLA_OK : TOMBOLA_NO_MEMORY);
    memcpy(old.path, s.path, sizeof old.path);
    read_saved(&old);
    assert_int_equal(old.size, s.size);
    assert_memory_equal(old.bytes, s.bytes, s.size);
    tombola_session_free(session);
    support_allocator_check(&memory);
    if (all) {
      assert_int_equal(n, 4);
      break;
    }
  }
  tombola_model_free(model);
  unlink(s.path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_fork),
      cmocka_unit_test(test_plain_model),
      cmocka_unit_test(test_round_trip),
      cmocka_unit_test(test_goes_on_counting),
      cmocka_unit_test(test_damage),
      cmocka_unit_test(test_foreign),
      cmocka_unit_test(test_unwritable),
      cmocka_unit_test(test_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
