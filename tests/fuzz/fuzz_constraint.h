/* SPDX-License-Identifier: Apache-2.0 */
/* What the fuzz targets of constraints share: numbers and texts out of an input's bytes, a small vocabulary with
 * everything that is odd in one, and walks along masks that hold an engine to its word. */
#ifndef FUZZ_CONSTRAINT_H
#define FUZZ_CONSTRAINT_H

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <tombola/constraint.h>

#include "fuzz.h"

#define FUZZ_COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- an input ---- */

struct fuzz_input {
  const uint8_t *data;
  size_t size, at;
};

/* 0 to n - 1; 0 behind the input's end. */
static inline size_t fuzz_below(struct fuzz_input *in, size_t n) {
  if (n < 2 || in->at >= in->size) return 0;
  size_t value = in->data[in->at++];
  if (n > 256 && in->at < in->size) value = value << 8 | in->data[in->at++];
  return value % n;
}

struct fuzz_text {
  char bytes[6000];
  size_t length;
};

static inline void fuzz_put_bytes(struct fuzz_text *t, const char *bytes, size_t n) {
  if (n > sizeof t->bytes - t->length) n = sizeof t->bytes - t->length;
  memcpy(t->bytes + t->length, bytes, n);
  t->length += n;
}

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static inline void fuzz_put(struct fuzz_text *t, const char *format, ...) {
  char piece[400];
  va_list arguments;
  va_start(arguments, format);
  const int n = vsnprintf(piece, sizeof piece, format, arguments);
  va_end(arguments);
  fuzz_put_bytes(t, piece, n < (int)sizeof piece ? (size_t)n : sizeof piece - 1);
}

/* The rest of the input as it is, or made of the alphabet. */
static inline void fuzz_put_rest(struct fuzz_text *t, struct fuzz_input *in, const char *alphabet) {
  const size_t n = alphabet ? strlen(alphabet) : 0;
  for (; in->at < in->size && t->length < sizeof t->bytes; in->at++) {
    const uint8_t byte = in->data[in->at];
    t->bytes[t->length++] = n ? alphabet[byte % n] : (char)byte;
  }
}

/* ---- the vocabulary ---- */

/* Tokens 0 to 255 are bytes. */
static const struct {
  const char *bytes;
  uint8_t flags;
} fuzz_words[] = {
    {"</s>", TOMBOLA_TOKEN_END},
    {"<eot>", TOMBOLA_TOKEN_END | TOMBOLA_TOKEN_SPECIAL},
    {"<t>", TOMBOLA_TOKEN_SPECIAL},
    {"</t>", TOMBOLA_TOKEN_SPECIAL},
    {"<other>", TOMBOLA_TOKEN_SPECIAL},
    {"unused", TOMBOLA_TOKEN_UNUSED},
    {"", 0},
    {"", TOMBOLA_TOKEN_SPECIAL},
    {"a", 0}, /* the same bytes twice */
    {"true", 0},
    {"true", 0},
    {"null,", 0},
    {"\xE4\xB8", 0}, /* parts of characters */
    {"\xAD", 0},
    {"\xB8\xAD", 0},
    {"\xF0\x9F", 0},
    {"\x98\x80", 0},
    {"\xE4\xB8\xAD\xE4", 0},
    {"a\xC3", 0},
    {"\xA9\"", 0},
    {"\xC3\xA9", 0},
    {"ab", 0},
    {"abc", 0},
    {"aaaaaaaaaaaaaaaaaaaaaaaa", 0},
    {" b", 0},
    {"\"a\":", 0},
    {"\",\"", 0},
    {"\"}", 0},
    {"{\"", 0},
    {"[[", 0},
    {"]]", 0},
    {"1]", 0},
    {"00", 0},
    {"12", 0},
    {"-1.5e", 0},
    {"e+1", 0},
    {"\\u00", 0},
    {"\\u", 0},
    {"d83d", 0},
    {"\\\"", 0},
    {"  \n", 0},
    {", ", 0},
    {": {", 0},
    {"<t>{", 0},
    {"}</t>x", 0},
    {"<", 0},
};

enum { FUZZ_TOKENS = 256 + FUZZ_COUNT(fuzz_words), FUZZ_END = 256 };

/* Made once, for the life of the program. */
static inline const tombola_trie *fuzz_trie(void) {
  static tombola_trie *trie;
  static char bytes[256 + FUZZ_COUNT(fuzz_words) * 32];
  static size_t offsets[FUZZ_TOKENS + 1];
  static uint8_t flags[FUZZ_TOKENS];
  if (trie) return trie;
  for (size_t i = 0; i < FUZZ_TOKENS; i++) {
    const size_t n = i < 256 ? 1 : strlen(fuzz_words[i - 256].bytes);
    if (i < 256)
      bytes[offsets[i]] = (char)i;
    else
      memcpy(bytes + offsets[i], fuzz_words[i - 256].bytes, n);
    flags[i] = i < 256 ? TOMBOLA_TOKEN_BYTE : fuzz_words[i - 256].flags;
    offsets[i + 1] = offsets[i] + n;
  }
  const struct tombola_vocabulary_source source = {
      .struct_size = sizeof source, .count = FUZZ_TOKENS, .bytes = bytes, .offsets = offsets, .flags = flags};
  tombola_vocabulary *vocabulary;
  FUZZ_ASSERT(tombola_vocabulary_new(&source, NULL, &vocabulary, NULL) == TOMBOLA_OK);
  FUZZ_ASSERT(tombola_trie_new(vocabulary, NULL, &trie, NULL) == TOMBOLA_OK);
  return trie;
}

static inline bool fuzz_bit(const struct tombola_mask *mask, size_t token) {
  return mask->words[token / 32] >> token % 32 & 1;
}

/* ---- grammars ---- */

/* Small, so that an input is quick. */
static const struct tombola_grammar_limits fuzz_limits = {.struct_size = sizeof fuzz_limits,
                                                          .max_states = 30000,
                                                          .max_bytes = (size_t)32 << 20,
                                                          .max_depth = 48,
                                                          .max_threads = 256,
                                                          .max_seconds = 1,
                                                          .mask_bytes = 1 << 20};

static inline bool fuzz_names_limit(const struct tombola_error *error) {
  static const char *const limits[] = {"max_states", "max_bytes",   "max_depth",  "max_refs",
                                       "max_source", "max_threads", "max_seconds", "max_work"};
  for (size_t i = 0; i < FUZZ_COUNT(limits); i++)
    if (strstr(error->message, limits[i])) return true;
  return false;
}

static enum tombola_status fuzz_status; /* of the last compilation */

/* A grammar, or NULL and one of the statuses that compiling may end in. */
static inline tombola_grammar *fuzz_compile(struct tombola_grammar_source *source) {
  struct tombola_error error = {.status = TOMBOLA_OK};
  struct tombola_schema_verdict verdict;
  tombola_grammar *grammar = NULL;
  source->struct_size = sizeof *source;
  source->limits = &fuzz_limits;
  const enum tombola_status status =
      tombola_grammar_new(source, fuzz_trie(), NULL, &grammar, &verdict, &error);
  if (getenv("FUZZ_VERBOSE"))
    fprintf(stderr, "%s: %s\n%.*s\n", tombola_status_name(status), error.message, (int)source->length,
            source->text ? source->text : "");
  FUZZ_ASSERT((status == TOMBOLA_OK) == (grammar != NULL));
  fuzz_status = status;
  if (grammar) return grammar;
  FUZZ_ASSERT(status == TOMBOLA_INVALID_ARGUMENT || status == TOMBOLA_FORMAT ||
              status == TOMBOLA_UNSUPPORTED || status == TOMBOLA_OUT_OF_RANGE ||
              status == TOMBOLA_NO_CANDIDATE);
  FUZZ_ASSERT(error.status == status && error.message[0]);
  FUZZ_ASSERT(error.offset <= source->length);
  FUZZ_ASSERT(status != TOMBOLA_UNSUPPORTED || source->kind != TOMBOLA_GRAMMAR_JSON_SCHEMA ||
              (verdict.verdict == TOMBOLA_VERDICT_REFUSED && verdict.reason[0]));
  return NULL;
}

/* ---- walks ---- */

/* What is forced can be read, and nothing else can begin. */
static inline void fuzz_forced(tombola_matcher *matcher, const struct tombola_mask *mask) {
  char bytes[24];
  size_t n = 0, fit = 0;
  const size_t before = tombola_matcher_accepted(matcher);
  if (tombola_matcher_forced(matcher, bytes, sizeof bytes, &n, NULL)) return;
  FUZZ_ASSERT(n <= sizeof bytes);
  if (n == 0) return;
  FUZZ_ASSERT(!tombola_matcher_is_complete(matcher));
  for (size_t byte = 0; byte < 256; byte++)
    FUZZ_ASSERT(fuzz_bit(mask, byte) == (byte == (uint8_t)bytes[0]));
  FUZZ_ASSERT(tombola_matcher_accept_bytes(matcher, bytes, n, &fit, NULL) == TOMBOLA_OK && fit == n);
  FUZZ_ASSERT(tombola_matcher_accepted(matcher) == before + 1);
  FUZZ_ASSERT(tombola_matcher_rollback(matcher, 1) == TOMBOLA_OK);
}

/* A mask, or false: a limit, or a dead end where there may be one. */
static inline bool fuzz_mask(tombola_matcher *matcher, struct tombola_mask *mask) {
  struct tombola_error error = {.status = TOMBOLA_OK};
  const enum tombola_status status = tombola_matcher_mask(matcher, mask, &error);
  if (status == TOMBOLA_OK) {
    FUZZ_ASSERT(mask->count == FUZZ_TOKENS);
    FUZZ_ASSERT(fuzz_bit(mask, FUZZ_END) == (tombola_matcher_is_complete(matcher) != 0));
    return true;
  }
  FUZZ_ASSERT(error.status == status);
  FUZZ_ASSERT(status == TOMBOLA_OUT_OF_RANGE
                  ? fuzz_names_limit(&error)
                  : status == TOMBOLA_NO_CANDIDATE && tombola_matcher_may_backtrack(matcher));
  return false;
}

/* The allowed token that `from` or the first one behind it is. */
static inline tombola_token fuzz_allowed(const struct tombola_mask *mask, size_t from) {
  for (size_t i = 0; i < FUZZ_TOKENS; i++)
    if (fuzz_bit(mask, (from + i) % FUZZ_TOKENS)) return (tombola_token)((from + i) % FUZZ_TOKENS);
  return -1;
}

/* Along the masks, for so many tokens: never a dead end where the verdict is exact; what is allowed is accepted, and
 * what isn't is not. */
static inline void fuzz_walk(tombola_grammar *grammar, struct fuzz_input *in, size_t tokens) {
  tombola_matcher *matcher;
  struct tombola_mask mask;
  FUZZ_ASSERT(tombola_matcher_new(grammar, NULL, &matcher, NULL) == TOMBOLA_OK);
  for (size_t i = 0; i < tokens && fuzz_mask(matcher, &mask); i++) {
    fuzz_forced(matcher, &mask);
    const size_t other = fuzz_below(in, FUZZ_TOKENS);
    if (!fuzz_bit(&mask, other)) {
      const enum tombola_status status = tombola_matcher_accept(matcher, (tombola_token)other, NULL);
      FUZZ_ASSERT(status == TOMBOLA_INVALID_ARGUMENT || status == TOMBOLA_OUT_OF_RANGE);
      FUZZ_ASSERT(tombola_matcher_accepted(matcher) == i);
      if (status == TOMBOLA_OUT_OF_RANGE) break;
      FUZZ_ASSERT(fuzz_mask(matcher, &mask));
    }
    const tombola_token token = fuzz_allowed(&mask, fuzz_below(in, FUZZ_TOKENS));
    FUZZ_ASSERT(token >= 0);
    FUZZ_ASSERT(tombola_matcher_accept(matcher, token, NULL) == TOMBOLA_OK);
    FUZZ_ASSERT(tombola_matcher_accepted(matcher) == i + 1);
  }
  tombola_matcher_free(matcher);
}

#endif
