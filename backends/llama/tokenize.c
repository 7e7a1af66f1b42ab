/* SPDX-License-Identifier: Apache-2.0 */
/* libllama's vocabulary as tombola's: each token's bytes and kind, and tokenising.
 *
 * What a token is comes from its attributes and never from its spelling: a byte-fallback token is the byte,
 * and an ordinary token that is spelt "<0xEA>" is those six characters. */
#include "backend.h"

#include <limits.h>
#include <string.h>

/* ---- tokens to bytes ---- */

/* The bytes of all tokens, growing. */
struct pieces {
  const struct tombola_allocator *allocator;
  char *bytes;
  size_t *offsets; /* one more than tokens */
  uint8_t *flags;
  size_t used, capacity;
};

static void free_pieces(struct pieces *pieces) {
  tombola__free(pieces->allocator, pieces->bytes);
  tombola__free(pieces->allocator, pieces->offsets);
  tombola__free(pieces->allocator, pieces->flags);
}

static bool reserve(struct pieces *pieces, size_t more) {
  if (pieces->capacity - pieces->used >= more) return true;
  size_t wanted = pieces->capacity * 2 + more;
  char *bytes = tombola__resize(pieces->allocator, pieces->bytes, pieces->capacity, wanted, 1);
  if (!bytes) return false;
  pieces->bytes = bytes;
  pieces->capacity = wanted;
  return true;
}

static uint8_t flags_of(const struct llama_vocab *vocab, llama_token token) {
  unsigned attributes = (unsigned)llama_vocab_get_attr(vocab, token);
  unsigned flags = 0;
  if (attributes & (LLAMA_TOKEN_ATTR_CONTROL | LLAMA_TOKEN_ATTR_UNKNOWN)) flags |= TOMBOLA_TOKEN_SPECIAL;
  if (attributes & LLAMA_TOKEN_ATTR_BYTE) flags |= TOMBOLA_TOKEN_BYTE;
  if (attributes & LLAMA_TOKEN_ATTR_UNUSED) flags |= TOMBOLA_TOKEN_UNUSED;
  if (llama_vocab_is_eog(vocab, token)) flags |= TOMBOLA_TOKEN_END;
  return (uint8_t)flags;
}

/* Appends one token. libllama answers a buffer that is too small with the length that it needs, negated. */
static bool append(struct pieces *pieces, const struct llama_vocab *vocab, llama_token token) {
  enum { USUAL_LENGTH = 64 };
  if (!reserve(pieces, USUAL_LENGTH)) return false;
  int32_t length = llama_token_to_piece(vocab, token, pieces->bytes + pieces->used, USUAL_LENGTH, 0, true);
  if (length < 0) {
    int32_t needed = -length;
    if (!reserve(pieces, (size_t)needed)) return false;
    length = llama_token_to_piece(vocab, token, pieces->bytes + pieces->used, needed, 0, true);
  }
  if (length > 0) pieces->used += (size_t)length;
  pieces->offsets[token + 1] = pieces->used;
  pieces->flags[token] = flags_of(vocab, token);
  return true;
}

static bool collect(struct pieces *pieces, const struct llama_vocab *vocab, size_t count) {
  pieces->offsets = tombola__new(pieces->allocator, count + 1, sizeof *pieces->offsets);
  pieces->flags = tombola__new(pieces->allocator, count, sizeof *pieces->flags);
  if (!pieces->offsets || !pieces->flags) return false;
  for (size_t token = 0; token < count; token++)
    if (!append(pieces, vocab, (llama_token)token)) return false;
  return true;
}

/* ---- text that can't be tokenised ---- */

/* The vocabularies of SentencePiece's kind have no unknown token in libllama: a character that is no token is
 * written as its bytes, and a byte without a token throws through the C interface. So those are looked for
 * first. */
static bool is_sentencepiece(const struct llama_vocab *vocab) {
  return llama_vocab_type(vocab) == LLAMA_VOCAB_TYPE_SPM;
}

/* Whether a token is spelt so. libllama writes a space as U+2581. */
static bool is_spelling(const struct tombola__llama *self, const char *text, size_t length) {
  int32_t count = llama_vocab_n_tokens(self->vocab);
  for (llama_token token = 0; token < count; token++) {
    const char *spelling = llama_vocab_get_text(self->vocab, token);
    if (strncmp(spelling, text, length) == 0 && spelling[length] == '\0') return true;
  }
  return false;
}

static bool has_byte(const struct tombola__llama *self, unsigned char byte) {
  static const char hex[] = "0123456789ABCDEF";
  const char spelling[] = {'<', '0', 'x', hex[byte >> 4], hex[byte & 15], '>'};
  const char alone[] = {(char)byte};
  return is_spelling(self, spelling, sizeof spelling) || (byte && is_spelling(self, alone, 1));
}

static bool check_bytes(const struct tombola__llama *self) {
  if (!is_sentencepiece(self->vocab)) return true;
  for (unsigned byte = 0; byte < 256; byte++)
    if (!has_byte(self, (unsigned char)byte)) return false;
  return true;
}

/* The length of the character that starts with this byte, as libllama cuts text (by the lead byte alone). */
static size_t character_length(char lead) {
  static const unsigned char lengths[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 4};
  return lengths[(unsigned char)lead >> 4];
}

static bool has_character(const struct tombola__llama *self, const char *text, size_t length) {
  static const char space[] = "\xE2\x96\x81";
  if (length == 1 && *text == ' ') {
    text = space;
    length = sizeof space - 1;
  }
  if (is_spelling(self, text, length)) return true;
  for (size_t i = 0; i < length; i++)
    if (!has_byte(self, (unsigned char)text[i])) return false;
  return true;
}

/* Slow, but only for vocabularies without the whole set of bytes, which are rare. */
static bool has_characters(const struct tombola__llama *self, const char *text, size_t length) {
  if (self->every_byte || length == 0) return true;
  if (!has_character(self, " ", 1)) return false; /* libllama may put one in front */
  for (size_t i = 0; i < length;) {
    size_t step = character_length(text[i]);
    if (step > length - i) step = length - i;
    if (!has_character(self, text + i, step)) return false;
    i += step;
  }
  return true;
}

/* ---- tokenising ---- */

static enum tombola_status check_tokens(const struct tombola__llama *self, const tombola_token *tokens,
                                        size_t count, struct tombola_error *error) {
  int32_t size = llama_vocab_n_tokens(self->vocab);
  for (size_t i = 0; i < count; i++)
    if (tokens[i] < 0 || tokens[i] >= size)
      return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "text",
                           "the vocabulary has no token for a part of the text");
  return TOMBOLA_OK;
}

enum tombola_status tombola__llama_tokenize(void *object, const char *text, size_t length, unsigned flags,
                                            tombola_token *tokens, size_t capacity, size_t *count,
                                            struct tombola_error *error) {
  const struct tombola__llama *self = object;
  *count = 0;
  if (length > INT32_MAX)
    return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "text", "%zu bytes of text, at most %d are allowed",
                         length, INT32_MAX);
  if (!has_characters(self, text, length))
    return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "text",
                         "the vocabulary has no token for a part of the text");

  bool add = (flags & TOMBOLA_TOKENIZE_ADD_SPECIAL) && self->add_special;
  bool parse = flags & TOMBOLA_TOKENIZE_PARSE_SPECIAL;
  int32_t room = capacity > INT32_MAX ? INT32_MAX : (int32_t)capacity;
  int32_t result = llama_tokenize(self->vocab, text, (int32_t)length, tokens, room, add, parse);
  if (result == INT32_MIN)
    return tombola__fail(error, TOMBOLA_OUT_OF_RANGE, "text", "the text has more than %d tokens", INT32_MAX);
  if (result < 0) {
    *count = (size_t)-result;
    return tombola__fail(error, TOMBOLA_OUT_OF_RANGE, "tokens",
                         "the text has %zu tokens, there is room for %zu", *count, capacity);
  }
  *count = (size_t)result;
  enum tombola_status status = check_tokens(self, tokens, *count, error);
  if (status != TOMBOLA_OK) *count = 0;
  return status;
}

static enum tombola_status tokenize_plain(void *object, const char *text, size_t length, int special,
                                          tombola_token *tokens, size_t capacity, size_t *count) {
  unsigned flags = special ? TOMBOLA_TOKENIZE_PARSE_SPECIAL : 0;
  return tombola__llama_tokenize(object, text, length, flags, tokens, capacity, count, NULL);
}

/* A damaged file can ask for a start or end token that it doesn't have; libllama asserts on that. */
static bool can_add_special(const struct llama_vocab *vocab) {
  if (llama_vocab_get_add_bos(vocab) && llama_vocab_bos(vocab) == LLAMA_TOKEN_NULL) return false;
  if (llama_vocab_get_add_eos(vocab) && llama_vocab_eos(vocab) == LLAMA_TOKEN_NULL) return false;
  return true;
}

enum tombola_status tombola__llama_make_vocabulary(struct tombola__llama *self, struct tombola_error *error) {
  int32_t count = llama_vocab_n_tokens(self->vocab);
  self->add_special = can_add_special(self->vocab);
  self->every_byte = check_bytes(self);

  struct pieces pieces = {.allocator = &self->allocator};
  if (!collect(&pieces, self->vocab, (size_t)count)) {
    free_pieces(&pieces);
    return tombola__no_memory(error);
  }
  struct tombola_vocabulary_source source = {sizeof source, (size_t)count,  pieces.bytes, pieces.offsets,
                                             pieces.flags,  tokenize_plain, self};
  enum tombola_status status = tombola_vocabulary_new(&source, &self->allocator, &self->vocabulary, error);
  free_pieces(&pieces);
  return status;
}
