/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a script from its JSON file. Every complaint about the content is FORMAT and carries the JSON pointer
 * (RFC 6901) of the value that is wrong, in error->param and at the head of the message. */
#include "model/scripted.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <yyjson.h>

/* A pointer is cut to what a tombola_error holds. */
#define POINTER_SIZE 64

#define MAX_VOCAB    ((size_t)1 << 24)
#define MAX_CONTEXT  (1 << 24)
#define MAX_DELAY_MS 60000

/* The reading of one script: the script, and what is needed only until its vocabulary is made. */
struct reader {
  struct tombola__script *script;
  const char *path;
  struct tombola_error *error;
  char *bytes;
  size_t *offsets;
  uint8_t *flags;
};

static enum tombola_status bad(const struct reader *r, const char *pointer, const char *format, ...)
    TOMBOLA__PRINTF(3, 4);

static enum tombola_status bad(const struct reader *r, const char *pointer, const char *format, ...) {
  char text[192];
  va_list arguments;
  va_start(arguments, format);
  int written = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (written < 0) text[0] = '\0';
  return tombola__fail(r->error, TOMBOLA_FORMAT, pointer, "%s%s%s (%s)", pointer, pointer[0] ? ": " : "",
                       text, r->path);
}

/* An integer within [min, max]. */
static enum tombola_status read_integer(const struct reader *r, yyjson_val *value, const char *pointer,
                                        int64_t min, int64_t max, int64_t *out) {
  if (!yyjson_is_int(value))
    return bad(r, pointer, "must be a whole number, %" PRId64 " to %" PRId64, min, max);
  if (yyjson_is_uint(value) && yyjson_get_uint(value) > INT64_MAX)
    return bad(r, pointer, "%" PRIu64 " is outside %" PRId64 " to %" PRId64, yyjson_get_uint(value), min,
               max);
  int64_t number = yyjson_get_sint(value);
  if (number < min || number > max)
    return bad(r, pointer, "%" PRId64 " is outside %" PRId64 " to %" PRId64, number, min, max);
  *out = number;
  return TOMBOLA_OK;
}

static enum tombola_status read_token(const struct reader *r, yyjson_val *value, const char *pointer,
                                      tombola_token *out) {
  int64_t number = 0;
  enum tombola_status status =
      read_integer(r, value, pointer, 0, (int64_t)r->script->vocab_size - 1, &number);
  if (status == TOMBOLA_OK) *out = (tombola_token)number;
  return status;
}

/* ---- the vocabulary ---- */

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/* The string that spells a token, directly or as {"hex": ...}; NULL when it is neither. */
static yyjson_val *token_spelling(yyjson_val *value, bool *is_hex) {
  *is_hex = yyjson_is_obj(value);
  yyjson_val *spelling = *is_hex && yyjson_obj_size(value) == 1 ? yyjson_obj_get(value, "hex") : value;
  return yyjson_is_str(spelling) ? spelling : NULL;
}

/* Appends the bytes of one token at *end; there is room, since the bytes are never more than the spelling's.
 */
static enum tombola_status read_spelling(struct reader *r, yyjson_val *value, size_t index, size_t *end) {
  char pointer[POINTER_SIZE];
  bool is_hex;
  yyjson_val *spelling = token_spelling(value, &is_hex);
  const char *text = yyjson_get_str(spelling);
  size_t length = yyjson_get_len(spelling);
  if (!is_hex) {
    memcpy(r->bytes + *end, text, length);
    *end += length;
    return TOMBOLA_OK;
  }
  for (size_t i = 0; i + 1 < length; i += 2) {
    int high = hex_digit(text[i]), low = hex_digit(text[i + 1]);
    if (high < 0 || low < 0) break;
    r->bytes[(*end)++] = (char)(unsigned char)(high * 16 + low);
    if (i + 2 == length) return TOMBOLA_OK;
  }
  if (length == 0) return TOMBOLA_OK;
  snprintf(pointer, sizeof pointer, "/vocab/%zu/hex", index);
  return bad(r, pointer, "must be pairs of hexadecimal digits");
}

static enum tombola_status read_vocab(struct reader *r, yyjson_val *value) {
  const struct tombola_allocator *allocator = &r->script->allocator;
  size_t count = yyjson_arr_size(value), room = 0, index, max;
  if (!yyjson_is_arr(value) || count == 0 || count > MAX_VOCAB)
    return bad(r, "/vocab", "must be an array of 1 to %zu tokens", MAX_VOCAB);
  yyjson_val *token;
  yyjson_arr_foreach(value, index, max, token) {
    bool is_hex;
    yyjson_val *spelling = token_spelling(token, &is_hex);
    char pointer[POINTER_SIZE];
    snprintf(pointer, sizeof pointer, "/vocab/%zu", index);
    if (!spelling) return bad(r, pointer, "must be a string or {\"hex\": \"...\"}");
    if (!tombola__add(room, yyjson_get_len(spelling), &room)) return tombola__no_memory(r->error);
  }
  r->bytes = tombola__new(allocator, room, 1);
  r->offsets = tombola__new(allocator, count + 1, sizeof *r->offsets);
  r->flags = tombola__new(allocator, count, sizeof *r->flags);
  if (!r->bytes || !r->offsets || !r->flags) return tombola__no_memory(r->error);
  size_t end = 0;
  yyjson_arr_foreach(value, index, max, token) {
    enum tombola_status status = read_spelling(r, token, index, &end);
    if (status != TOMBOLA_OK) return status;
    r->offsets[index + 1] = end;
  }
  r->script->vocab_size = count;
  return TOMBOLA_OK;
}

/* An array of token ids, each of which gets a flag; *first (if asked for) becomes the first of them. */
static enum tombola_status read_flagged(struct reader *r, yyjson_val *value, const char *pointer,
                                        unsigned flag, tombola_token *first) {
  if (!yyjson_is_arr(value)) return bad(r, pointer, "must be an array of token ids");
  size_t index, max;
  yyjson_val *element;
  yyjson_arr_foreach(value, index, max, element) {
    char place[POINTER_SIZE];
    tombola_token token;
    snprintf(place, sizeof place, "%s/%zu", pointer, index);
    enum tombola_status status = read_token(r, element, place, &token);
    if (status != TOMBOLA_OK) return status;
    r->flags[token] = (uint8_t)(r->flags[token] | flag);
    if (first && index == 0) *first = token;
  }
  return TOMBOLA_OK;
}

static enum tombola_status read_special(struct reader *r, yyjson_val *value) {
  return read_flagged(r, value, "/special", TOMBOLA_TOKEN_SPECIAL, NULL);
}

static enum tombola_status read_end(struct reader *r, yyjson_val *value) {
  return read_flagged(r, value, "/end", TOMBOLA_TOKEN_END, &r->script->first_end);
}

static enum tombola_status make_vocabulary(struct reader *r) {
  struct tombola__script *script = r->script;
  struct tombola_vocabulary_source source = {.struct_size = sizeof source,
                                             .count = script->vocab_size,
                                             .bytes = r->bytes,
                                             .offsets = r->offsets,
                                             .flags = r->flags,
                                             .tokenize = tombola__script_tokenize_callback,
                                             .tokenize_context = script};
  enum tombola_status status =
      tombola_vocabulary_new(&source, &script->allocator, &script->vocabulary, r->error);
  return status == TOMBOLA_OK ? tombola__script_index_tokens(script, r->error) : status;
}

/* ---- rows ---- */

static enum tombola_status read_logit(const struct reader *r, yyjson_val *value, const char *pointer,
                                      float *out) {
  if (yyjson_is_num(value)) {
    double number = yyjson_get_num(value);
    if (fabs(number) > (double)FLT_MAX) return bad(r, pointer, "%g doesn't fit into a float", number);
    *out = (float)number;
    return TOMBOLA_OK;
  }
  if (yyjson_equals_str(value, "-inf")) {
    *out = -INFINITY;
  } else if (yyjson_equals_str(value, "inf")) {
    *out = INFINITY;
  } else if (yyjson_equals_str(value, "nan")) {
    *out = NAN;
  } else {
    return bad(r, pointer, "must be a number, \"-inf\", \"inf\" or \"nan\"");
  }
  return TOMBOLA_OK;
}

static enum tombola_status read_logits(const struct reader *r, yyjson_val *value, const char *pointer,
                                       struct tombola__script_row *row) {
  char place[POINTER_SIZE + 32];
  size_t count = r->script->vocab_size, index, max;
  snprintf(place, sizeof place, "%s/logits", pointer);
  if (!yyjson_is_arr(value))
    return bad(r, place, "must be an array of %zu numbers, one for each token", count);
  if (yyjson_arr_size(value) != count)
    return bad(r, place, "has %zu numbers, the vocabulary has %zu tokens", yyjson_arr_size(value), count);
  row->logits = tombola__new(&r->script->allocator, count, sizeof *row->logits);
  if (!row->logits) return tombola__no_memory(r->error);
  yyjson_val *element;
  yyjson_arr_foreach(value, index, max, element) {
    snprintf(place, sizeof place, "%s/logits/%zu", pointer, index);
    enum tombola_status status = read_logit(r, element, place, &row->logits[index]);
    if (status != TOMBOLA_OK) return status;
  }
  return TOMBOLA_OK;
}

static enum tombola_status read_row(const struct reader *r, yyjson_val *value, const char *pointer,
                                    struct tombola__script_row *row) {
  if (yyjson_is_int(value)) return read_token(r, value, pointer, &row->favoured);
  yyjson_val *logits = yyjson_obj_size(value) == 1 ? yyjson_obj_get(value, "logits") : NULL;
  if (!logits) return bad(r, pointer, "must be a token's id or {\"logits\": [...]}");
  return read_logits(r, logits, pointer, row);
}

static enum tombola_status read_steps(struct reader *r, yyjson_val *value) {
  struct tombola__script *script = r->script;
  if (!yyjson_is_arr(value)) return bad(r, "/steps", "must be an array of rows");
  script->steps = tombola__new(&script->allocator, yyjson_arr_size(value), sizeof *script->steps);
  if (!script->steps) return tombola__no_memory(r->error);
  script->n_steps = yyjson_arr_size(value);
  size_t index, max;
  yyjson_val *element;
  yyjson_arr_foreach(value, index, max, element) {
    char pointer[POINTER_SIZE];
    snprintf(pointer, sizeof pointer, "/steps/%zu", index);
    enum tombola_status status = read_row(r, element, pointer, &script->steps[index]);
    if (status != TOMBOLA_OK) return status;
  }
  return TOMBOLA_OK;
}

/* PREFIX/KEY, with the key escaped as RFC 6901 has it and cut to what fits. */
static void make_pointer(char *pointer, const char *prefix, yyjson_val *key) {
  const char *text = yyjson_get_str(key);
  size_t length = yyjson_get_len(key);
  size_t at = (size_t)snprintf(pointer, POINTER_SIZE, "%s/", prefix);
  for (size_t i = 0; i < length && at + 2 < POINTER_SIZE; i++) {
    bool escape = text[i] == '~' || text[i] == '/';
    if (escape) pointer[at++] = '~';
    pointer[at++] = !escape ? text[i] : text[i] == '~' ? '0' : '1';
  }
  pointer[at] = '\0';
}

/* A token's id as a member's name: decimal digits without leading zeros, so that one token has one name. */
static bool key_token(yyjson_val *key, size_t vocab_size, size_t *out) {
  const char *text = yyjson_get_str(key);
  size_t length = yyjson_get_len(key), number = 0;
  if (length == 0 || length > 8 || (text[0] == '0' && length > 1)) return false;
  for (size_t i = 0; i < length; i++) {
    if (text[i] < '0' || text[i] > '9') return false;
    number = number * 10 + (size_t)(text[i] - '0');
  }
  *out = number;
  return number < vocab_size;
}

static enum tombola_status read_by_last(struct reader *r, yyjson_val *value) {
  struct tombola__script *script = r->script;
  if (!yyjson_is_obj(value)) return bad(r, "/by_last", "must be an object of rows by token id");
  script->by_last = tombola__new(&script->allocator, script->vocab_size, sizeof *script->by_last);
  script->last_rows = tombola__new(&script->allocator, yyjson_obj_size(value), sizeof *script->last_rows);
  if (!script->by_last || !script->last_rows) return tombola__no_memory(r->error);
  script->n_last_rows = yyjson_obj_size(value);
  for (size_t i = 0; i < script->vocab_size; i++)
    script->by_last[i] = -1;
  size_t index, max, token;
  yyjson_val *key, *element;
  yyjson_obj_foreach(value, index, max, key, element) {
    char pointer[POINTER_SIZE];
    make_pointer(pointer, "/by_last", key);
    if (!key_token(key, script->vocab_size, &token))
      return bad(r, pointer, "the name must be a token's id (\"0\" to \"%zu\")", script->vocab_size - 1);
    if (script->by_last[token] >= 0) return bad(r, pointer, "is given twice");
    script->by_last[token] = (int32_t)index;
    enum tombola_status status = read_row(r, element, pointer, &script->last_rows[index]);
    if (status != TOMBOLA_OK) return status;
  }
  return TOMBOLA_OK;
}

/* ---- the small members ---- */

static enum tombola_status read_template(struct reader *r, yyjson_val *value) {
  if (!yyjson_equals_str(value, "chatml"))
    return bad(r, "/template", "must be \"chatml\", the only one there is");
  r->script->has_template = true;
  return TOMBOLA_OK;
}

static enum tombola_status read_context(struct reader *r, yyjson_val *value) {
  int64_t number = 0;
  enum tombola_status status = read_integer(r, value, "/context", 1, MAX_CONTEXT, &number);
  if (status == TOMBOLA_OK) r->script->context = (size_t)number;
  return status;
}

static enum tombola_status read_hash(struct reader *r, yyjson_val *value) {
  if (!yyjson_is_uint(value)) return bad(r, "/hash", "must be a whole number, 0 to %" PRIu64, UINT64_MAX);
  r->script->hash = yyjson_get_uint(value);
  r->script->has_hash = true;
  return TOMBOLA_OK;
}

static enum tombola_status read_after(struct reader *r, yyjson_val *value) {
  r->script->repeats = yyjson_equals_str(value, "repeat");
  if (!r->script->repeats && !yyjson_equals_str(value, "end"))
    return bad(r, "/after", "must be \"end\" or \"repeat\"");
  return TOMBOLA_OK;
}

static enum tombola_status read_delay(struct reader *r, yyjson_val *value) {
  int64_t number = 0;
  enum tombola_status status = read_integer(r, value, "/delay_ms", 0, MAX_DELAY_MS, &number);
  if (status == TOMBOLA_OK) r->script->delay_ms = (int)number;
  return status;
}

static enum tombola_status read_fail_at(struct reader *r, yyjson_val *value) {
  return read_integer(r, value, "/fail_at", -1, INT32_MAX, &r->script->fail_at);
}

/* ---- the whole ---- */

/* In the order in which they are read: ids can be checked once the vocabulary is there. */
static const struct member {
  const char *name;
  bool required;
  enum tombola_status (*read)(struct reader *r, yyjson_val *value);
} members[] = {
    {"vocab", true, read_vocab},        {"special", false, read_special}, {"end", true, read_end},
    {"template", false, read_template}, {"context", false, read_context}, {"steps", false, read_steps},
    {"by_last", false, read_by_last},   {"hash", false, read_hash},       {"after", false, read_after},
    {"delay_ms", false, read_delay},    {"fail_at", false, read_fail_at},
};

static enum tombola_status check_names(const struct reader *r, yyjson_val *root) {
  bool seen[TOMBOLA__COUNT(members)] = {false};
  size_t index, max;
  yyjson_val *key, *value;
  yyjson_obj_foreach(root, index, max, key, value) {
    size_t i = 0;
    while (i < TOMBOLA__COUNT(members) && !yyjson_equals_str(key, members[i].name))
      i++;
    char pointer[POINTER_SIZE];
    make_pointer(pointer, "", key);
    if (i == TOMBOLA__COUNT(members)) return bad(r, pointer, "a script has no such member");
    if (seen[i]) return bad(r, pointer, "is given twice");
    seen[i] = true;
  }
  return TOMBOLA_OK;
}

/* What the members say together. */
static enum tombola_status check_whole(const struct reader *r) {
  const struct tombola__script *script = r->script;
  if (script->has_hash) return TOMBOLA_OK; /* it has a row for everything */
  if (script->repeats && script->n_steps == 0) return bad(r, "/after", "\"repeat\" needs steps");
  if (!script->repeats && script->first_end == TOMBOLA_NO_TOKEN)
    return bad(r, "/end", "must name a token, because it is what comes after the steps");
  return TOMBOLA_OK;
}

static enum tombola_status read_root(struct reader *r, yyjson_val *root) {
  if (!yyjson_is_obj(root)) return bad(r, "", "a script must be a JSON object");
  enum tombola_status status = check_names(r, root);
  for (size_t i = 0; i < TOMBOLA__COUNT(members) && status == TOMBOLA_OK; i++) {
    yyjson_val *value = yyjson_obj_get(root, members[i].name);
    if (value) {
      status = members[i].read(r, value);
    } else if (members[i].required) {
      char pointer[POINTER_SIZE];
      snprintf(pointer, sizeof pointer, "/%s", members[i].name);
      status = bad(r, pointer, "is missing");
    }
  }
  if (status == TOMBOLA_OK) status = check_whole(r);
  return status == TOMBOLA_OK ? make_vocabulary(r) : status;
}

static enum tombola_status syntax_error(const struct reader *r, const yyjson_read_err *problem) {
  if (problem->code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) return tombola__no_memory(r->error);
  if (problem->code == YYJSON_READ_ERROR_FILE_OPEN || problem->code == YYJSON_READ_ERROR_FILE_READ)
    return tombola__fail(r->error, TOMBOLA_IO, "model", "%s: %s", r->path, problem->msg);
  bad(r, "", "not JSON: %s at byte %zu", problem->msg, problem->pos);
  if (r->error) r->error->offset = problem->pos;
  return TOMBOLA_FORMAT;
}

enum tombola_status tombola__script_read(struct tombola__script *script, const char *path,
                                         const struct tombola_allocator *allocator,
                                         struct tombola_error *error) {
  memset(script, 0, sizeof *script);
  script->allocator = *allocator;
  script->first_end = TOMBOLA_NO_TOKEN;
  script->fail_at = -1;

  struct reader r = {.script = script, .path = path, .error = error};
  yyjson_alc memory = {allocator->allocate, allocator->resize, allocator->release, allocator->context};
  yyjson_read_err problem;
  yyjson_doc *document = yyjson_read_file(path, YYJSON_READ_NOFLAG, &memory, &problem);
  if (!document) return syntax_error(&r, &problem);
  enum tombola_status status = read_root(&r, yyjson_doc_get_root(document));
  yyjson_doc_free(document);
  tombola__free(allocator, r.bytes);
  tombola__free(allocator, r.offsets);
  tombola__free(allocator, r.flags);
  if (status != TOMBOLA_OK) tombola__script_free(script);
  return status;
}

static void free_rows(const struct tombola_allocator *allocator, struct tombola__script_row *rows,
                      size_t count) {
  for (size_t i = 0; i < count; i++)
    tombola__free(allocator, rows[i].logits);
  tombola__free(allocator, rows);
}

void tombola__script_free(struct tombola__script *script) {
  tombola_vocabulary_free(script->vocabulary);
  tombola__free(&script->allocator, script->table);
  free_rows(&script->allocator, script->steps, script->n_steps);
  free_rows(&script->allocator, script->last_rows, script->n_last_rows);
  tombola__free(&script->allocator, script->by_last);
}
