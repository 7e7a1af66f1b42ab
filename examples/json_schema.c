/* SPDX-License-Identifier: Apache-2.0 */
/* An answer that is valid under a JSON Schema, whatever the model would rather say. The model here is noise over a
 * vocabulary of bytes; with a real one only make_vocabulary() and model() are others.
 *
 *   cc -std=c11 json_schema.c $(pkg-config --cflags --libs tombola-constraint) -o json_schema */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tombola/constraint.h>
#include <tombola/tombola.h>

enum { END = 256, VOCABULARY = 257 };

static const char schema[] =
    "{"
    "  \"type\": \"object\","
    "  \"properties\": {"
    "    \"name\": {\"enum\": [\"Ada\", \"Grace\", \"Edsger\"]},"
    "    \"born\": {\"type\": \"string\", \"format\": \"date\", \"pattern\": \"^19\"},"
    "    \"scores\": {\"type\": \"array\", \"minItems\": 2, \"maxItems\": 4,"
    "      \"items\": {\"type\": \"integer\", \"minimum\": 0, \"maximum\": 20}}"
    "  },"
    "  \"required\": [\"name\", \"born\", \"scores\"],"
    "  \"additionalProperties\": false"
    "}";

static void check(enum tombola_status status, const struct tombola_error *error) {
  if (status == TOMBOLA_OK) return;
  fprintf(stderr, "json_schema: %s\n", error->message[0] ? error->message : tombola_status_text(status));
  exit(1);
}

/* Every byte is a token, and there is one that ends an answer. */
static tombola_vocabulary *make_vocabulary(void) {
  char bytes[VOCABULARY];
  size_t offsets[VOCABULARY + 1];
  uint8_t flags[VOCABULARY] = {0};
  tombola_vocabulary *vocabulary;
  struct tombola_error error = {0};
  for (size_t i = 0; i < END; i++)
    bytes[i] = (char)i;
  for (size_t i = 0; i <= END; i++)
    offsets[i] = i;
  offsets[VOCABULARY] = END; /* the end has no bytes */
  flags[END] = TOMBOLA_TOKEN_END;
  const struct tombola_vocabulary_source source = {
      .struct_size = sizeof source, .count = VOCABULARY, .bytes = bytes, .offsets = offsets, .flags = flags};
  check(tombola_vocabulary_new(&source, NULL, &vocabulary, &error), &error);
  return vocabulary;
}

/* The logits of the next token: noise, but for the backslash, which would spell keys with escapes. */
static void model(float *logits, unsigned *state) {
  for (size_t i = 0; i < VOCABULARY; i++) {
    *state = *state * 1664525u + 1013904223u;
    logits[i] = (float)(*state >> 24) / 64;
  }
  logits['\\'] = -10;
}

/* One answer, printed as it comes. */
static void answer(tombola_sampler *sampler, tombola_matcher *matcher, unsigned noise) {
  float logits[VOCABULARY];
  const struct tombola_row row = {logits, VOCABULARY, TOMBOLA_F32};
  struct tombola_error error = {0};
  struct tombola_mask mask;
  tombola_token token;
  tombola_matcher_reset(matcher);
  for (;;) {
    model(logits, &noise);
    check(tombola_matcher_mask(matcher, &mask, &error), &error); /* which tokens may come */
    check(tombola_sampler_sample(sampler, &row, &mask, &token), tombola_sampler_error(sampler));
    check(tombola_sampler_accept(sampler, token), tombola_sampler_error(sampler));
    check(tombola_matcher_accept(matcher, token, &error), &error);
    if (token == END) break; /* only where the text is complete */
    putchar((int)token);
  }
  putchar('\n');
}

int main(void) {
  struct tombola_error error = {0};
  tombola_vocabulary *vocabulary = make_vocabulary();

  /* Once for a model. */
  tombola_trie *trie;
  check(tombola_trie_new(vocabulary, NULL, &trie, &error), &error);

  /* Once for a schema; a tombola_grammar_cache does it for a server. */
  const struct tombola_grammar_source source = {.struct_size = sizeof source,
                                                .kind = TOMBOLA_GRAMMAR_JSON_SCHEMA,
                                                .text = schema,
                                                .length = strlen(schema),
                                                .whitespace = TOMBOLA_WHITESPACE_NONE,
                                                .order = TOMBOLA_ORDER_DECLARED};
  tombola_grammar *grammar;
  struct tombola_schema_verdict verdict;
  check(tombola_grammar_new(&source, trie, NULL, &grammar, &verdict, &error), &error);
  printf("%s\n", verdict.verdict == TOMBOLA_VERDICT_EXACT ? "exact" : verdict.reason);

  /* Once for an answer, or reset between answers. */
  tombola_matcher *matcher;
  check(tombola_matcher_new(grammar, NULL, &matcher, &error), &error);

  struct tombola_sampler_params params = {.struct_size = sizeof params};
  tombola_sampler *sampler;
  check(tombola_sampler_params_default(&params, NULL, &error), &error);
  params.seed_mode = TOMBOLA_SEED_FIXED;
  params.seed = 42;
  check(tombola_sampler_new(&params, NULL, VOCABULARY, NULL, &sampler, &error), &error);
  for (unsigned noise = 1; noise <= 3; noise++)
    answer(sampler, matcher, noise);

  tombola_sampler_free(sampler);
  tombola_matcher_free(matcher);
  tombola_grammar_free(grammar);
  tombola_trie_free(trie);
  tombola_vocabulary_free(vocabulary);
  return 0;
}
