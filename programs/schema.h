/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOMBOLA_PROGRAMS_SCHEMA_H
#define TOMBOLA_PROGRAMS_SCHEMA_H

#include <yyjson.h>

#include "constrain.h"

/* How far a document fits a grammar. */
struct schema_fit {
  bool accepted;
  size_t bytes;  /* those that fit */
  size_t tokens; /* with tokens: those that fit, and how many there are */
  size_t n_tokens;
  bool by_token; /* accepted token by token; means nothing without tokens */
};

/* What a document might have gone on with where it stops. */
enum { SCHEMA_ITEMS = 8, SCHEMA_ITEM = 64 };
struct schema_expected {
  char items[SCHEMA_ITEMS]
            [SCHEMA_ITEM]; /* tokens of JSON as they are written, or in words: a string, a digit, the end */
  size_t count;
  bool more; /* there are others */
  size_t
      at; /* behind so many bytes: fewer than fit where a number went wrong, on the line where the document stops */
};

/* Looks behind the first `at` bytes of a text, which fit. Nothing is found where looking fails. `is_plain`: the grammar's
 * spelling is. */
void schema_expect(tombola_grammar *grammar, bool is_plain, const char *text, size_t length, size_t at,
                   struct schema_expected *expected);
/* Whether those bytes end in a number, and where it begins. */
bool schema_in_number(const char *text, size_t at, size_t *start);
/* Adds the marks between tokens, and the end. */
void schema_expect_marks(tombola_grammar *grammar, const char *text, size_t length,
                         struct schema_expected *expected);
/* "a, b or c" */
void schema_expected_text(const struct schema_expected *expected, char *text, size_t size);

/* Byte by byte, and token by token where the vocabulary isn't NULL. A failure is the status. */
enum tombola_status schema_fit(tombola_grammar *grammar, const tombola_vocabulary *vocabulary,
                               const char *text, size_t length, struct schema_fit *fit,
                               struct tombola_error *error);

/* What a lenient grammar doesn't enforce, as the member `dropped`. False: no memory. */
bool schema_add_dropped(yyjson_mut_doc *doc, yyjson_mut_val *root, const tombola_grammar *grammar);

/* Keywords that say nothing, as the member `unknown_keywords`, where there are any. False: no memory. */
bool schema_add_notes(yyjson_mut_doc *doc, yyjson_mut_val *root, const struct tombola_schema_note *notes,
                      size_t count);

const char *schema_verdict_name(enum tombola_verdict verdict);

/* Answers JSON lines of a file ("-": standard input) with JSON lines. Returns the exit status. */
int schema_batch(const struct options *options, const char *path);

#endif
