/* SPDX-License-Identifier: Apache-2.0 */
/* The text side of the scripted model: tokens by longest match, and ChatML, the one chat format that a script
 * can ask for. */
#include "model/scripted.h"

#include <string.h>

/* FNV-1a, 64 bits: it grows byte by byte, so that one walk over the text gives the hash of every prefix. */
#define HASH_START UINT64_C(0xcbf29ce484222325)

static uint64_t hash_byte(uint64_t hash, char byte) {
  return (hash ^ (unsigned char)byte) * UINT64_C(0x100000001b3);
}

/* The low bits of FNV-1a of short texts are alike; folding the high half in spreads them. */
static size_t hash_slot(const struct tombola__script *script, uint64_t hash) {
  return (size_t)(hash ^ (hash >> 32)) & (script->table_size - 1);
}

/* The token with exactly these bytes; of several the lowest id, which was put into the table first. */
static tombola_token find_token(const struct tombola__script *script, uint64_t hash, const char *bytes,
                                size_t length, bool special) {
  size_t slot = hash_slot(script, hash);
  for (; script->table[slot] != TOMBOLA_NO_TOKEN; slot = (slot + 1) & (script->table_size - 1)) {
    tombola_token id = script->table[slot];
    size_t its_length;
    const char *its_bytes = tombola_vocabulary_bytes(script->vocabulary, id, &its_length);
    if (its_length != length || memcmp(its_bytes, bytes, length) != 0) continue;
    if (special || !(tombola_vocabulary_flags(script->vocabulary, id) & TOMBOLA_TOKEN_SPECIAL)) return id;
  }
  return TOMBOLA_NO_TOKEN;
}

enum tombola_status tombola__script_index_tokens(struct tombola__script *script,
                                                 struct tombola_error *error) {
  size_t size = 4;
  while (size < 2 * script->vocab_size)
    size *= 2;
  script->table = tombola__new(&script->allocator, size, sizeof *script->table);
  if (!script->table) return tombola__no_memory(error);
  script->table_size = size;
  for (size_t i = 0; i < size; i++)
    script->table[i] = TOMBOLA_NO_TOKEN;

  for (size_t id = 0; id < script->vocab_size; id++) {
    size_t length;
    const char *bytes = tombola_vocabulary_bytes(script->vocabulary, (tombola_token)id, &length);
    uint64_t hash = HASH_START;
    for (size_t i = 0; i < length; i++)
      hash = hash_byte(hash, bytes[i]);
    /* No text maps to no bytes, nor to bytes that an earlier token has and is always preferred for. */
    bool special =
        (tombola_vocabulary_flags(script->vocabulary, (tombola_token)id) & TOMBOLA_TOKEN_SPECIAL) != 0;
    if (length == 0 || find_token(script, hash, bytes, length, special) != TOMBOLA_NO_TOKEN) continue;
    if (length > script->longest_token) script->longest_token = length;
    size_t slot = hash_slot(script, hash);
    while (script->table[slot] != TOMBOLA_NO_TOKEN)
      slot = (slot + 1) & (size - 1);
    script->table[slot] = (tombola_token)id;
  }
  return TOMBOLA_OK;
}

/* The longest token that `text` starts with, and its length. */
static tombola_token longest_match(const struct tombola__script *script, const char *text, size_t length,
                                   bool special, size_t *matched) {
  tombola_token best = TOMBOLA_NO_TOKEN;
  uint64_t hash = HASH_START;
  if (length > script->longest_token) length = script->longest_token;
  for (size_t i = 0; i < length; i++) {
    hash = hash_byte(hash, text[i]);
    tombola_token id = find_token(script, hash, text, i + 1, special);
    if (id == TOMBOLA_NO_TOKEN) continue;
    best = id;
    *matched = i + 1;
  }
  return best;
}

enum tombola_status tombola__script_tokenize(const struct tombola__script *script, const char *text,
                                             size_t length, bool special, tombola_token *tokens,
                                             size_t capacity, size_t *count, struct tombola_error *error) {
  *count = 0;
  size_t n = 0;
  for (size_t at = 0; at < length; n++) {
    size_t matched = 0;
    tombola_token id = longest_match(script, text + at, length - at, special, &matched);
    if (id == TOMBOLA_NO_TOKEN) {
      tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "text",
                    "no token of the script begins with byte 0x%02x at offset %zu",
                    (unsigned)(unsigned char)text[at], at);
      if (error) error->offset = at;
      return TOMBOLA_INVALID_ARGUMENT;
    }
    if (n < capacity) tokens[n] = id;
    at += matched;
  }
  *count = n;
  if (n <= capacity) return TOMBOLA_OK;
  return tombola__fail(error, TOMBOLA_OUT_OF_RANGE, "capacity",
                       "the text has %zu tokens, there is room for %zu", n, capacity);
}

enum tombola_status tombola__script_tokenize_callback(void *context, const char *text, size_t length,
                                                      int special, tombola_token *tokens, size_t capacity,
                                                      size_t *count) {
  return tombola__script_tokenize(context, text, length, special != 0, tokens, capacity, count, NULL);
}

/* ---- ChatML ---- */

/* Text that grows in a buffer that may be too small: what doesn't fit is counted only. */
struct output {
  char *text;
  size_t capacity;
  size_t length;
};

static bool append(struct output *out, const char *piece) {
  size_t length = strlen(piece), end;
  if (!tombola__add(out->length, length, &end)) return false;
  if (end <= out->capacity) memcpy(out->text + out->length, piece, length);
  out->length = end;
  return true;
}

enum tombola_status tombola__chatml(const struct tombola_chat_message *messages, size_t n_messages,
                                    bool add_assistant, char *text, size_t capacity, size_t *length,
                                    struct tombola_error *error) {
  struct output out = {text, capacity, 0};
  bool ok = true;
  for (size_t i = 0; i < n_messages; i++) {
    ok = ok && append(&out, "<|im_start|>") && append(&out, messages[i].role) && append(&out, "\n") &&
         append(&out, messages[i].content) && append(&out, "<|im_end|>\n");
  }
  if (add_assistant) ok = ok && append(&out, "<|im_start|>assistant\n");
  if (!ok) return tombola__fail(error, TOMBOLA_OUT_OF_RANGE, "messages", "the messages are too long");
  *length = out.length;
  if (out.length <= capacity) return TOMBOLA_OK;
  return tombola__fail(error, TOMBOLA_OUT_OF_RANGE, "capacity",
                       "the prompt has %zu bytes, there is room for %zu", out.length, capacity);
}
