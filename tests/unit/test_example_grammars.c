/* SPDX-License-Identifier: Apache-2.0 */
/* The grammars in examples/grammars: texts that they accept, and texts that they don't. */
#include "constraint_support.h"

#include <stdio.h>

enum { MOST = 6 };

static const struct {
  const char *file;
  const char *good[MOST];
  const char *bad[MOST]; /* not accepted, whatever the reason */
} grammars[] = {
    {"list.gbnf",
     {"- milk\n", "- one\n- \xC3\xA9t\xC3\xA9\n"},
     {"", "milk\n", "- milk", "-\n", "- a\r\n", "- a\n\n"}},
    {"arithmetic.gbnf",
     {"1 + 2 = 3\n", "x*(y_1 - 7)/2=-z\n0 = 0\n", "((((1))))=1\n"},
     {"1 + = 2\n", "01 = 1\n", "(1 = 1\n", "1 = 1", "1  + 1 = 2\n"}},
    {"chess.gbnf",
     {"1. e4 e5\n2. Nf3 Nc6\n3. Bb5 a6\n", "1. d4 d5\n2. exd5 O-O-O+\n3. e8=Q#\n1-0", "1. Rae1 Nb1xd2\n"},
     {"e4 e5\n", "1. e4\n", "1. e9 e5\n", "1. e4 e5\n2. Kx\n", "2. e4 e5\n"}},
    {"japanese.gbnf",
     {"\xE3\x81\x93\xE3\x82\x93\xE3\x81\xAB\xE3\x81\xA1\xE3\x81\xAF\xE3\x80\x82", /* こんにちは。 */
      "\xE4\xBB\x8A\xE6\x97\xA5\xE3\x80\x81\xE3\x83\x86\xE3\x82\xB9\xE3\x83\x88\xEF\xBC\x81\n"}, /* 今日、テスト！ */
     {"hello", "\xE3\x81\x93", "\xE3\x80\x82", "\xE3\x81\x93.", "\xE3\x81\x93\xE3\x80\x81\xE3\x80\x82"}},
};

static size_t read_grammar(const char *file, char *text, size_t room) {
  char path[512];
  const char *const source = getenv("TOMBOLA_SOURCE");
  snprintf(path, sizeof path, "%s/examples/grammars/%s", source ? source : ".", file);
  FILE *const stream = fopen(path, "rb");
  if (!stream) fail_msg("no file %s", path);
  const size_t length = fread(text, 1, room, stream);
  fclose(stream);
  assert_true(length > 0 && length < room);
  return length;
}

static bool accepts(tombola_matcher *m, const char *text) {
  tombola_matcher_reset(m);
  return tombola_matcher_accept_bytes(m, text, strlen(text), NULL, NULL) == TOMBOLA_OK &&
         tombola_matcher_is_complete(m);
}

static void they_accept_what_they_should(void **state) {
  (void)state;
  static char text[4096];
  for (size_t i = 0; i < TOMBOLA__COUNT(grammars); i++) {
    struct tombola_grammar_source source = support_source(TOMBOLA_GRAMMAR_GBNF, text);
    source.length = read_grammar(grammars[i].file, text, sizeof text);
    tombola_grammar *const g = support_grammar(&source, NULL);
    tombola_matcher *const m = support_matcher(g);
    for (size_t k = 0; k < MOST && grammars[i].good[k]; k++)
      if (!accepts(m, grammars[i].good[k])) fail_msg("%s: not '%s'", grammars[i].file, grammars[i].good[k]);
    for (size_t k = 0; k < MOST && grammars[i].bad[k]; k++)
      if (accepts(m, grammars[i].bad[k])) fail_msg("%s: '%s'", grammars[i].file, grammars[i].bad[k]);
    tombola_matcher_free(m);
    tombola_grammar_free(g);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(they_accept_what_they_should)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
