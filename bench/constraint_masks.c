/* SPDX-License-Identifier: Apache-2.0 */
/* Times the masks of a schema along a document's tokens: `bench_constraint_masks VOCABULARY REPLAYS {SCHEMA TOKENS}...`.
 *
 * VOCABULARY: a number n, n + 1 rising offsets (all of 32 bits, little-endian), n bytes of flags (enum
 * tombola_token_flags), the tokens' bytes; bench/constraint_peers.py writes it. SCHEMA: a file of JSON. TOKENS: a file
 * of ids, white space between them. The output is JSON, a line for the trie and one a schema, with the nanoseconds of
 * each place: in fresh grammars (cold), in one that has made them all (warm), cold with a greedy choice from a row of
 * logits (choice). A place's figure is the fastest of the replays; a fresh grammar is as cold each time. */
#define _POSIX_C_SOURCE 200809L
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <tombola/constraint.h>

#define MOST_PLACES 100000

struct bench {
  tombola_vocabulary *vocabulary;
  tombola_trie *trie;
  tombola_sampler *sampler;
  float *row;
  size_t count;
  int replays;
  char *schema;
  size_t schema_length;
  tombola_token *tokens;
  size_t n;
  double *cold, *warm, *choice; /* n each */
  double first;                 /* from the schema's text to the first mask */
  size_t bytes, most_bytes;     /* of the grammar */
  size_t few, one;              /* masks that are a list, and of one token */
};

static double clock_of(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double now(void) {
  return clock_of(CLOCK_MONOTONIC);
}

static void fail(const char *what, const char *why) {
  fprintf(stderr, "bench_constraint_masks: %s: %s\n", what, why);
  exit(1);
}

static void check(enum tombola_status status, const char *what, const struct tombola_error *error) {
  if (status) fail(what, error->message);
}

static void *take(size_t n, size_t size) {
  void *const memory = calloc(n ? n : 1, size);
  if (!memory) fail("memory", "there is none");
  return memory;
}

static char *read_file(const char *name, size_t *length) {
  FILE *const file = fopen(name, "rb");
  if (!file) fail(name, "can't be opened");
  size_t n = 0, room = 1 << 16;
  char *bytes = take(room, 1);
  for (size_t got; (got = fread(bytes + n, 1, room - n - 1, file)) > 0;) {
    n += got;
    if (n + 1 < room) continue;
    room *= 2;
    if (!(bytes = realloc(bytes, room))) fail("memory", "there is none");
  }
  fclose(file);
  bytes[n] = 0;
  *length = n;
  return bytes;
}

/* ---- memory of a grammar ---- */

struct tally {
  size_t now, most;
};

#define HEAD 16u

static void *counted(struct tally *tally, void *memory, size_t old_size, size_t size) {
  char *const grown = realloc(memory ? (char *)memory - HEAD : NULL, size + HEAD);
  if (!grown) return NULL;
  memcpy(grown, &size, sizeof size);
  tally->now += size - old_size;
  if (tally->now > tally->most) tally->most = tally->now;
  return grown + HEAD;
}

static void *allocate(void *context, size_t size) {
  return counted(context, NULL, 0, size);
}

static void *resize(void *context, void *memory, size_t old_size, size_t size) {
  return counted(context, memory, memory ? old_size : 0, size);
}

static void release(void *context, void *memory) {
  size_t size;
  if (!memory) return;
  memcpy(&size, (char *)memory - HEAD, sizeof size);
  ((struct tally *)context)->now -= size;
  free((char *)memory - HEAD);
}

/* ---- the vocabulary ---- */

static void load_vocabulary(struct bench *b, const char *name) {
  struct tombola_error error = {0};
  size_t length;
  char *const file = read_file(name, &length);
  const uint32_t *const words = (const void *)file;
  if (length < 4 || length < 8 + 5 * (size_t)words[0]) fail(name, "isn't a vocabulary");
  b->count = words[0];
  size_t *const offsets = take(b->count + 1, sizeof *offsets);
  for (size_t i = 0; i <= b->count; i++)
    offsets[i] = words[1 + i];
  const uint8_t *const flags = (const uint8_t *)(words + 2 + b->count);
  const struct tombola_vocabulary_source source = {.struct_size = sizeof source,
                                                   .count = b->count,
                                                   .bytes = (const char *)flags + b->count,
                                                   .offsets = offsets,
                                                   .flags = flags};
  check(tombola_vocabulary_new(&source, NULL, &b->vocabulary, &error), name, &error);
  double best = 1e300;
  for (int i = 0; i < b->replays && i < 5; i++) {
    tombola_trie_free(b->trie);
    const double from = clock_of(CLOCK_PROCESS_CPUTIME_ID); /* it is long enough to be interrupted */
    check(tombola_trie_new(b->vocabulary, NULL, &b->trie, &error), "trie", &error);
    const double took = clock_of(CLOCK_PROCESS_CPUTIME_ID) - from;
    if (took < best) best = took;
  }
  printf("{\"tokens\": %zu, \"trie_ms\": %.2f, \"trie_mb\": %.2f}\n", b->count, best / 1e6,
         (double)tombola_trie_size(b->trie) / 1e6);
  free(offsets);
  free(file);
}

static void make_sampler(struct bench *b) {
  struct tombola_error error = {0};
  struct tombola_sampler_params params = {.struct_size = sizeof params};
  check(tombola_sampler_params_default(&params, "llama.cpp", &error), "parameters", &error);
  params.temperature = 0;
  check(tombola_sampler_new(&params, b->vocabulary, b->count, NULL, &b->sampler, &error), "sampler", &error);
  b->row = take(b->count, sizeof *b->row);
  uint32_t random = 1;
  for (size_t i = 0; i < b->count; i++) {
    random = random * 1664525u + 1013904223u;
    b->row[i] = (float)(random >> 8) * 0x1p-20f - 8.0f;
  }
}

/* ---- a schema ---- */

static void load_schema(struct bench *b, const char *schema, const char *tokens) {
  size_t length;
  b->schema = read_file(schema, &b->schema_length);
  char *const text = read_file(tokens, &length), *at = text;
  b->tokens = take(MOST_PLACES, sizeof *b->tokens);
  b->n = 0;
  for (char *end; b->n < MOST_PLACES; at = end) {
    const long id = strtol(at, &end, 10);
    if (end == at) break;
    b->tokens[b->n++] = (tombola_token)id;
  }
  free(text);
  double **const figures[] = {&b->cold, &b->warm, &b->choice};
  for (size_t f = 0; f < 3; f++) {
    *figures[f] = take(b->n, sizeof **figures[f]);
    for (size_t i = 0; i < b->n; i++)
      (*figures[f])[i] = 1e300;
  }
  b->first = 1e300;
  b->few = b->one = b->bytes = b->most_bytes = 0;
}

static tombola_grammar *compile(const struct bench *b, const struct tombola_allocator *allocator) {
  struct tombola_error error = {0};
  struct tombola_schema_verdict verdict;
  tombola_grammar *grammar = NULL;
  const struct tombola_grammar_source source = {.struct_size = sizeof source,
                                                .kind = TOMBOLA_GRAMMAR_JSON_SCHEMA,
                                                .text = b->schema,
                                                .length = b->schema_length};
  check(tombola_grammar_new(&source, b->trie, allocator, &grammar, &verdict, &error), "schema", &error);
  return grammar;
}

/* Along the document once; `began`: when compiling began, or 0. */
static void replay(struct bench *b, tombola_grammar *grammar, const struct tombola_allocator *allocator,
                   double *figures, bool choose, double began) {
  const struct tombola_row row = {.data = b->row, .count = b->count, .dtype = TOMBOLA_F32};
  struct tombola_error error = {0};
  tombola_matcher *matcher;
  tombola_token chosen;
  check(tombola_matcher_new(grammar, allocator, &matcher, &error), "matcher", &error);
  for (size_t i = 0; i < b->n; i++) {
    struct tombola_mask mask;
    const double from = now();
    check(tombola_matcher_mask(matcher, &mask, &error), "mask", &error);
    if (choose && tombola_sampler_sample(b->sampler, &row, &mask, &chosen)) fail("sampler", "no token");
    const double to = now();
    if (to - from < figures[i]) figures[i] = to - from;
    if (i == 0 && began > 0 && began < to && to - began < b->first) b->first = to - began;
    const size_t token = (size_t)b->tokens[i];
    if (!(mask.words[token / 32] >> token % 32 & 1)) fail("mask", "a token of the document isn't allowed");
    check(tombola_matcher_accept(matcher, b->tokens[i], &error), "accept", &error);
    if (began > 0) continue;
    b->few += mask.ids != NULL;
    b->one += mask.ids && mask.n_ids == 1;
  }
  if (!tombola_matcher_is_complete(matcher)) fail("document", "isn't complete");
  tombola_matcher_free(matcher);
}

static void fresh(struct bench *b, double *figures, bool choose) {
  struct tally tally = {0, 0};
  const struct tombola_allocator allocator = {allocate, resize, release, &tally};
  const double began = now();
  tombola_grammar *const grammar = compile(b, &allocator);
  replay(b, grammar, &allocator, figures, choose, began);
  b->bytes = tally.now;
  b->most_bytes = tally.most;
  tombola_grammar_free(grammar);
}

static void run(struct bench *b) {
  for (int i = 0; i < b->replays; i++)
    fresh(b, b->cold, false);
  for (int i = 0; i < b->replays; i++)
    fresh(b, b->choice, true);
  tombola_grammar *const grammar = compile(b, NULL);
  double *const unused = take(b->n, sizeof *unused);
  replay(b, grammar, NULL, unused, false, 1e300); /* it begins later: no first mask */
  for (int i = 0; i < b->replays; i++)
    replay(b, grammar, NULL, b->warm, false, 0);
  tombola_grammar_free(grammar);
  free(unused);
}

static void print_figures(const char *name, const double *figures, size_t n) {
  printf(", \"%s\": [", name);
  for (size_t i = 0; i < n; i++)
    printf("%s%.0f", i ? "," : "", figures[i]);
  printf("]");
}

static void report(const struct bench *b, const char *schema) {
  printf(
      "{\"schema\": \"%s\", \"tokens\": %zu, \"first_ms\": %.3f, \"bytes\": %zu, \"few\": %zu, \"one\": %zu",
      schema, b->n, b->first / 1e6, b->most_bytes, b->few / (size_t)b->replays, b->one / (size_t)b->replays);
  print_figures("cold", b->cold, b->n);
  print_figures("warm", b->warm, b->n);
  print_figures("choice", b->choice, b->n);
  printf("}\n");
}

int main(int argc, char **argv) {
  struct bench b = {.replays = argc > 2 ? atoi(argv[2]) : 0};
  if (argc < 3 || argc % 2 == 0 || b.replays < 1)
    fail("usage", "bench_constraint_masks VOCABULARY REPLAYS {SCHEMA TOKENS}...");
  load_vocabulary(&b, argv[1]);
  make_sampler(&b);
  for (int i = 3; i + 1 < argc; i += 2) {
    load_schema(&b, argv[i], argv[i + 1]);
    run(&b);
    report(&b, argv[i]);
    void *const held[] = {b.schema, b.tokens, b.cold, b.warm, b.choice};
    for (size_t k = 0; k < 5; k++)
      free(held[k]);
  }
  tombola_sampler_free(b.sampler);
  tombola_trie_free(b.trie);
  tombola_vocabulary_free(b.vocabulary);
  free(b.row);
  return 0;
}
