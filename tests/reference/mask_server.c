/* SPDX-License-Identifier: Apache-2.0 */
/* Answers questions about masks, for schema_masks.py: a JSON object a line in, one a line out. A request compiles a
 * grammar over a vocabulary and asks for some of: explore, walks, accept, stops (the other files). What contradicts
 * itself is listed under "problems"; judging the rest is the asker's. */
#include "mask_server.h"

#include <stdlib.h>
#include <string.h>

static void *need(void *memory) {
  if (!memory) {
    fputs("mask_server: out of memory\n", stderr);
    exit(1);
  }
  return memory;
}

void text_add(struct text *text, const char *bytes, size_t length) {
  if (text->length + length + 1 > text->room) {
    text->room = 2 * (text->length + length) + 64;
    text->data = need(realloc(text->data, text->room));
  }
  if (length) memcpy(text->data + text->length, bytes, length);
  text->length += length;
  text->data[text->length] = '\0';
}

yyjson_mut_val *bytes_value(struct server *server, const char *bytes, size_t length) {
  struct text out = {NULL, 0, 0};
  text_add(&out, "", 0);
  for (size_t i = 0; i < length; i++) {
    const unsigned char byte = (unsigned char)bytes[i];
    const char pair[2] = {(char)(0xC0 | byte >> 6), (char)(0x80 | (byte & 0x3F))};
    text_add(&out, byte < 0x80 ? &bytes[i] : pair, byte < 0x80 ? 1 : 2);
  }
  yyjson_mut_val *const value = yyjson_mut_strncpy(server->doc, out.data, out.length);
  free(out.data);
  return need(value);
}

struct text bytes_of(yyjson_val *value) {
  struct text out = {NULL, 0, 0};
  const char *const data = yyjson_get_str(value);
  const size_t length = yyjson_get_len(value);
  text_add(&out, "", 0);
  for (size_t i = 0; i < length; i++) {
    const unsigned char byte = (unsigned char)data[i];
    char one = data[i];
    if (byte >= 0xC0) one = (char)(byte << 6 | (data[++i] & 0x3F));
    text_add(&out, &one, 1);
  }
  return out;
}

void problem(struct server *server, const char *what, const struct text *text) {
  if (server->n_problems++ >= 8) return;
  yyjson_mut_val *const item = yyjson_mut_arr_add_arr(server->doc, server->problems);
  yyjson_mut_arr_add_strcpy(server->doc, item, what);
  yyjson_mut_arr_add_val(item, bytes_value(server, text->data, text->length));
}

/* ---- masks ---- */

bool mask_of(struct server *server, tombola_matcher *matcher, uint32_t *words, const struct text *text) {
  struct tombola_mask mask;
  struct tombola_error error = {0};
  memset(words, 0, server->n_words * sizeof *words);
  if (tombola_matcher_mask(matcher, &mask, &error) != TOMBOLA_OK) {
    problem(server, error.message[0] ? error.message : "no mask", text);
    return false;
  }
  memcpy(words, mask.words, server->n_words * sizeof *words);
  if (server->n_tokens % 32) words[server->n_words - 1] &= ((uint32_t)1 << server->n_tokens % 32) - 1;
  size_t count = 0;
  for (size_t t = 0; t < server->n_tokens; t++)
    count += has(words, t);
  if (mask.count != server->n_tokens) problem(server, "a mask of another vocabulary", text);
  if (!mask.ids) return true;
  bool same = mask.n_ids == count;
  for (size_t i = 0; same && i < mask.n_ids; i++)
    same = has(words, (size_t)mask.ids[i]) && (i == 0 || mask.ids[i - 1] < mask.ids[i]);
  if (!same) problem(server, "the list of a mask's tokens isn't the mask", text);
  return true;
}

/* A single byte that may come next. When eager, one of those that JSON texts end by, mostly a quote. */
static bool next_byte(struct server *server, const uint32_t *words, bool eager, unsigned char *byte) {
  static const char closers[] = "]}e-:,01234ab";
  unsigned char found[256];
  size_t n = 0;
  if (eager && has(words, '"') && support_below(&server->rng, 4)) return *byte = '"', true;
  for (const char *c = closers; eager && *c; c++)
    if (has(words, (unsigned char)*c)) found[n++] = (unsigned char)*c;
  for (unsigned b = 0; n == 0 && b < 256; b++)
    if (has(words, b)) found[n++] = (unsigned char)b;
  if (n == 0) return false;
  /* Where it closes something, it mostly does. */
  *byte = found[eager && support_below(&server->rng, 2) ? 0 : support_below(&server->rng, n)];
  return true;
}

/* Now and then a text that the asker thinks is of use here. */
static bool hint(struct server *server, tombola_matcher *matcher, struct text *out) {
  const size_t n = yyjson_arr_size(server->hints);
  if (n == 0 || support_below(&server->rng, 3)) return false;
  struct text text = bytes_of(yyjson_arr_get(server->hints, support_below(&server->rng, n)));
  const bool taken = tombola_matcher_accept_bytes(matcher, text.data, text.length, NULL, NULL) == TOMBOLA_OK;
  if (taken) text_add(out, text.data, text.length);
  free(text.data);
  return taken;
}

/* One walk of at most `most` bytes; goes back. */
static bool walk_to_end(struct server *server, tombola_matcher *matcher, struct text *out, size_t most,
                        bool eager) {
  uint32_t words[64];
  size_t taken = 0;
  while (!tombola_matcher_is_complete(matcher) && taken < most) {
    unsigned char byte;
    if (hint(server, matcher, out)) {
      taken++;
      continue;
    }
    if (!mask_of(server, matcher, words, out)) break;
    if (!next_byte(server, words, eager || support_below(&server->rng, 3), &byte)) {
      problem(server, "no byte may come next", out);
      break;
    }
    if (tombola_matcher_accept(matcher, (tombola_token)byte, NULL) != TOMBOLA_OK) {
      problem(server, "a token of the mask isn't accepted", out);
      break;
    }
    text_add(out, (const char *)&byte, 1);
    taken++;
  }
  const bool complete = tombola_matcher_is_complete(matcher);
  tombola_matcher_rollback(matcher, taken);
  return complete;
}

/* The shortest ways first, over what texts end by: finds the few digits that an exponent must be. */
static bool search_end(struct server *server, tombola_matcher *matcher, struct text *out) {
  enum { MOST = 12, WAYS = 3000 };
  static const char letters[] = "\"]}5e-210346789:,+ab";
  static char ways[WAYS][MOST];
  static size_t lengths[WAYS];
  uint32_t words[64];
  size_t n = 1;
  bool complete = false;
  lengths[0] = 0;
  for (size_t i = 0; i < n && !complete; i++) {
    const size_t length = lengths[i];
    if (length && tombola_matcher_accept_bytes(matcher, ways[i], length, NULL, NULL) != TOMBOLA_OK) {
      problem(server, "bytes of the mask aren't accepted", out);
      break;
    }
    complete = tombola_matcher_is_complete(matcher);
    const bool opened = !complete && length < MOST && mask_of(server, matcher, words, out);
    for (const char *c = letters; opened && *c && n < WAYS; c++) {
      if (!has(words, (unsigned char)*c)) continue;
      memcpy(ways[n], ways[i], length);
      ways[n][length] = *c;
      lengths[n++] = length + 1;
    }
    if (length) tombola_matcher_rollback(matcher, 1);
    if (complete) text_add(out, ways[i], length);
  }
  return complete;
}

bool complete_text(struct server *server, tombola_matcher *matcher, struct text *out) {
  const size_t before = out->length;
  if (walk_to_end(server, matcher, out, 40, true)) return true;
  out->length = before;
  if (search_end(server, matcher, out)) return true;
  for (size_t attempt = 0; attempt < 30; attempt++) {
    out->length = before;
    if (walk_to_end(server, matcher, out, 30 + 3 * attempt, false)) return true;
  }
  return false;
}

/* ---- accept: rows of tokens; stops: texts, byte by byte ---- */

void accept_tokens(struct server *server, yyjson_val *request, yyjson_mut_val *answer) {
  size_t i, max, k, n;
  yyjson_val *row, *id;
  uint32_t words[64];
  yyjson_mut_val *const list = yyjson_mut_obj_add_arr(server->doc, answer, "accept");
  yyjson_arr_foreach(request, i, max, row) {
    struct text text = {NULL, 0, 0};
    size_t taken = 0;
    text_add(&text, "", 0);
    tombola_matcher_reset(server->matcher);
    yyjson_arr_foreach(row, k, n, id) {
      const tombola_token token = (tombola_token)yyjson_get_int(id);
      size_t length;
      const bool allowed = mask_of(server, server->matcher, words, &text) && has(words, (size_t)token);
      const bool accepted = tombola_matcher_accept(server->matcher, token, NULL) == TOMBOLA_OK;
      if (allowed != accepted) problem(server, "accept and the mask differ", &text);
      if (!accepted) break;
      const char *const bytes = tombola_vocabulary_bytes(server->vocabulary, token, &length);
      text_add(&text, bytes, length);
      taken++;
    }
    yyjson_mut_val *const item = yyjson_mut_arr_add_arr(server->doc, list);
    yyjson_mut_arr_add_uint(server->doc, item, taken);
    yyjson_mut_arr_add_bool(server->doc, item, tombola_matcher_is_complete(server->matcher));
    free(text.data);
  }
}

void stops(struct server *server, yyjson_val *request, yyjson_mut_val *answer) {
  size_t i, max;
  yyjson_val *value;
  yyjson_mut_val *const list = yyjson_mut_obj_add_arr(server->doc, answer, "stops");
  yyjson_arr_foreach(request, i, max, value) {
    struct text text = bytes_of(value);
    size_t fit = 0;
    bool again = true;
    tombola_matcher_reset(server->matcher);
    while (fit < text.length &&
           tombola_matcher_accept_bytes(server->matcher, text.data + fit, 1, NULL, NULL) == TOMBOLA_OK)
      fit++;
    size_t whole = 0;
    const bool complete = fit == text.length && tombola_matcher_is_complete(server->matcher);
    struct text witness = {NULL, 0, 0};
    text_add(&witness, text.data, fit);
    again = complete_text(server, server->matcher, &witness);
    tombola_matcher_reset(server->matcher);
    if (tombola_matcher_accept_bytes(server->matcher, text.data, text.length, &whole, NULL) == TOMBOLA_OK)
      whole = text.length;
    if (whole != fit) problem(server, "accept_bytes stops elsewhere than byte by byte", &text);
    yyjson_mut_val *const item = yyjson_mut_arr_add_arr(server->doc, list);
    yyjson_mut_arr_add_uint(server->doc, item, fit);
    yyjson_mut_arr_add_bool(server->doc, item, complete);
    if (again)
      yyjson_mut_arr_add_val(item, bytes_value(server, witness.data, witness.length));
    else
      yyjson_mut_arr_add_null(server->doc, item);
    free(witness.data);
    free(text.data);
  }
}

/* ---- requests ---- */

static bool in_list(yyjson_val *list, size_t id) {
  size_t i, max;
  yyjson_val *value;
  yyjson_arr_foreach(list, i, max, value) if (yyjson_get_uint(value) == id) return true;
  return false;
}

/* The vocabulary stays until a request brings another. */
static bool set_vocabulary(struct server *server, yyjson_val *request) {
  yyjson_val *const list = yyjson_obj_get(request, "vocabulary"), *value;
  if (!list) return server->trie != NULL;
  size_t i, max;
  const size_t count = yyjson_arr_size(list);
  struct text bytes = {NULL, 0, 0};
  size_t *const offsets = need(calloc(count + 1, sizeof *offsets));
  uint8_t *const flags = need(calloc(count + 1, sizeof *flags));
  text_add(&bytes, "", 0);
  yyjson_arr_foreach(list, i, max, value) {
    struct text one = bytes_of(value);
    text_add(&bytes, one.data, one.length);
    offsets[i + 1] = bytes.length;
    if (in_list(yyjson_obj_get(request, "end"), i)) flags[i] |= TOMBOLA_TOKEN_END;
    if (in_list(yyjson_obj_get(request, "special"), i)) flags[i] |= TOMBOLA_TOKEN_SPECIAL;
    free(one.data);
  }
  const struct tombola_vocabulary_source source = {
      .struct_size = sizeof source, .count = count, .bytes = bytes.data, .offsets = offsets, .flags = flags};
  tombola_trie_free(server->trie);
  tombola_vocabulary_free(server->vocabulary);
  server->trie = NULL;
  server->vocabulary = NULL;
  server->n_tokens = count;
  server->n_words = (count + 31) / 32;
  const bool good = server->n_words <= 64 &&
                    tombola_vocabulary_new(&source, NULL, &server->vocabulary, NULL) == TOMBOLA_OK &&
                    tombola_trie_new(server->vocabulary, NULL, &server->trie, NULL) == TOMBOLA_OK;
  free(bytes.data);
  free(offsets);
  free(flags);
  return good;
}

/* The index of a text in a list; the first where there is none. */
static int choice(yyjson_val *request, const char *name, const char *const *names) {
  yyjson_val *const value = yyjson_obj_get(request, name);
  for (int i = 0; value && names[i]; i++)
    if (yyjson_equals_str(value, names[i])) return i;
  return 0;
}

static enum tombola_status compile(struct server *server, yyjson_val *request,
                                   struct tombola_schema_verdict *verdict, struct tombola_error *error) {
  static const char *const kinds[] = {"json", "json_object", "json_schema", "regex", "gbnf", "choice", NULL};
  static const char *const spaces[] = {"bounded", "none", "any", NULL};
  static const char *const formats[] = {"assert", "annotate", NULL}, *const orders[] = {"any", "declared",
                                                                                        NULL};
  yyjson_val *const text = yyjson_obj_get(request, "text"), *const list = yyjson_obj_get(request, "choices");
  yyjson_val *value;
  size_t i, max;
  struct tombola_bytes choices[64];
  struct tombola_grammar_source source = {.struct_size = sizeof source,
                                          .kind = (enum tombola_grammar_kind)choice(request, "kind", kinds),
                                          .text = yyjson_get_str(text),
                                          .length = yyjson_get_len(text),
                                          .choices = choices};
  source.whitespace = (enum tombola_whitespace)choice(request, "whitespace", spaces);
  source.whitespace_max = (size_t)yyjson_get_uint(yyjson_obj_get(request, "whitespace_max"));
  source.format = (enum tombola_format)choice(request, "format", formats);
  source.order = (enum tombola_property_order)choice(request, "order", orders);
  yyjson_arr_foreach(list, i, max, value) if (i < 64) {
    choices[i] = (struct tombola_bytes){yyjson_get_str(value), yyjson_get_len(value)};
    source.n_choices = i + 1;
  }
  return tombola_grammar_new(&source, server->trie, NULL, &server->grammar, verdict, error);
}

static void run(struct server *server, yyjson_val *request, yyjson_mut_val *answer) {
  static const struct {
    const char *name;
    void (*command)(struct server *server, yyjson_val *request, yyjson_mut_val *answer);
  } commands[] = {{"explore", explore}, {"walks", walks}, {"accept", accept_tokens}, {"stops", stops}};
  server->hints = yyjson_obj_get(request, "hints");
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
    yyjson_val *const argument = yyjson_obj_get(request, commands[i].name);
    /* What a command does is the same whichever come before it. */
    server->rng = (struct support_rng){yyjson_get_uint(yyjson_obj_get(request, "seed"))};
    tombola_matcher_reset(server->matcher);
    if (argument) commands[i].command(server, argument, answer);
  }
}

static void answer_line(struct server *server, char *line, size_t length) {
  static const char *const verdicts[] = {"exact", "may_backtrack", "refused"};
  struct tombola_schema_verdict verdict = {0};
  struct tombola_error error = {0};
  yyjson_doc *const doc = yyjson_read(line, length, YYJSON_READ_NOFLAG);
  yyjson_val *const request = yyjson_doc_get_root(doc);
  server->doc = need(yyjson_mut_doc_new(NULL));
  yyjson_mut_val *const answer = yyjson_mut_obj(server->doc);
  yyjson_mut_doc_set_root(server->doc, answer);
  server->problems = yyjson_mut_obj_add_arr(server->doc, answer, "problems");
  server->n_problems = 0;
  enum tombola_status status = TOMBOLA_FORMAT;
  if (doc && set_vocabulary(server, request)) status = compile(server, request, &verdict, &error);
  yyjson_mut_obj_add_str(server->doc, answer, "status", tombola_status_name(status));
  yyjson_mut_obj_add_str(server->doc, answer, "message", error.message);
  if (status == TOMBOLA_OK &&
      tombola_matcher_new(server->grammar, NULL, &server->matcher, NULL) == TOMBOLA_OK) {
    yyjson_mut_obj_add_str(server->doc, answer, "verdict", verdicts[verdict.verdict]);
    run(server, request, answer);
    tombola_matcher_free(server->matcher);
  }
  tombola_grammar_free(server->grammar);
  server->grammar = NULL;
  char *const out = need(yyjson_mut_write(server->doc, 0, NULL));
  puts(out);
  fflush(stdout);
  free(out);
  yyjson_mut_doc_free(server->doc);
  yyjson_doc_free(doc);
}

int main(void) {
  struct server server = {0};
  char *line = NULL;
  size_t room = 0;
  ssize_t length;
  while ((length = getline(&line, &room, stdin)) >= 0)
    answer_line(&server, line, (size_t)length);
  free(line);
  tombola_trie_free(server.trie);
  tombola_vocabulary_free(server.vocabulary);
  return 0;
}
