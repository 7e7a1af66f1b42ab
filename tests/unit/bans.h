/* SPDX-License-Identifier: Apache-2.0 */
/* Banned phrases from a list of strings, and a script that says one, for the tests. */
#ifndef TESTS_BANS_H
#define TESTS_BANS_H

#include <string.h>
#include <tombola/session.h>

static inline struct tombola_phrase_bans bans_of(struct tombola_bytes *list, const char *const *phrases) {
  struct tombola_phrase_bans bans = {.struct_size = sizeof bans, .phrases = list};
  for (; phrases[bans.n_phrases]; bans.n_phrases++)
    list[bans.n_phrases] = (struct tombola_bytes){phrases[bans.n_phrases], strlen(phrases[bans.n_phrases])};
  return bans;
}

/* Tokens: 1 "a ", 2 "bad", 3 " wo", 4 "rd", 5 "fine", 6 "n", 7 " wo". What comes second is there, too. */
static const char bad_word[] =
    "{\"vocab\": [\"<eos>\", \"a \", \"bad\", \" wo\", \"rd\", \"fine\", \"n\", \".\"], \"end\": [0], "
    "\"steps\": [1,"
    " {\"logits\": [0, 0, 9, 0, 0, 8, 0, 0]}, {\"logits\": [0, 0, 0, 9, 0, 0, 0, 8]},"
    " {\"logits\": [0, 0, 0, 0, 9, 0, 8, 0]}, {\"logits\": [9, 0, 0, 0, 0, 0, 0, 0]}]}";

#endif
