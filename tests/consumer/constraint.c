/* SPDX-License-Identifier: Apache-2.0 */
/* A program that links tombola::constraint: the text that a regular expression leaves no choice of. */
#include <stdio.h>
#include <string.h>
#include <tombola/constraint.h>

int main(void) {
  struct tombola_grammar_source source;
  struct tombola_error error;
  tombola_grammar *grammar = NULL;
  tombola_matcher *matcher = NULL;
  char forced[16];
  size_t length = 0;

  memset(&source, 0, sizeof source);
  memset(&error, 0, sizeof error);
  source.struct_size = sizeof source;
  source.kind = TOMBOLA_GRAMMAR_REGEX;
  source.text = "tombola(s|!)";
  source.length = strlen(source.text);
  if (tombola_grammar_new(&source, NULL, NULL, &grammar, NULL, &error) == TOMBOLA_OK &&
      tombola_matcher_new(grammar, NULL, &matcher, &error) == TOMBOLA_OK)
    (void)tombola_matcher_forced(matcher, forced, sizeof forced, &length, &error);
  tombola_matcher_free(matcher);
  tombola_grammar_free(grammar);
  printf("%.*s%s\n", (int)length, forced, error.message);
  return length != 7 || memcmp(forced, "tombola", 7) != 0;
}
