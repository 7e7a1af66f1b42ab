/* SPDX-License-Identifier: Apache-2.0 */
/* explore: every text that masks lead to by a few tokens, each with its mask, whether it is complete, and, where it
 * isn't gone on from, a complete text that it begins. */
#include "mask_server.h"

#include <stdlib.h>
#include <string.h>

struct node {
  size_t at, length; /* of the texts' bytes */
  bool opened;
};

struct search {
  struct server *server;
  yyjson_val *letters; /* the tokens that are gone on by */
  struct text bytes;   /* the texts, one after the other */
  struct node *nodes;
  size_t n, room;
  uint32_t *slots; /* nodes by text, 1 + index */
  size_t n_slots;
};

static size_t slot_of(const struct search *search, const char *text, size_t length) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (size_t i = 0; i < length; i++)
    hash = (hash ^ (unsigned char)text[i]) * 0x100000001B3u;
  size_t slot = (size_t)(hash ^ hash >> 29) & (search->n_slots - 1);
  for (; search->slots[slot]; slot = (slot + 1) & (search->n_slots - 1)) {
    const struct node *const node = &search->nodes[search->slots[slot] - 1];
    if (node->length == length && memcmp(search->bytes.data + node->at, text, length) == 0) break;
  }
  return slot;
}

/* Adds the text, if it is new and there is room. */
static void add(struct search *search, const struct text *text) {
  const size_t slot = slot_of(search, text->data, text->length);
  if (search->slots[slot] || search->n == search->room) return;
  search->nodes[search->n++] = (struct node){search->bytes.length, text->length, false};
  search->slots[slot] = (uint32_t)search->n;
  text_add(&search->bytes, text->data, text->length);
}

/* Every token is accepted exactly where the mask has it, and a token that isn't changes nothing. */
static void try_all(struct server *server, const uint32_t *words, const struct text *text) {
  uint32_t again[64];
  const bool complete = tombola_matcher_is_complete(server->matcher);
  const size_t accepted = tombola_matcher_accepted(server->matcher);
  for (size_t t = 0; t < server->n_tokens; t++) {
    const bool taken = tombola_matcher_accept(server->matcher, (tombola_token)t, NULL) == TOMBOLA_OK;
    if (taken != has(words, t)) problem(server, "accept and the mask differ", text);
    if (taken) tombola_matcher_rollback(server->matcher, 1);
  }
  if (!mask_of(server, server->matcher, again, text)) return;
  if (memcmp(words, again, server->n_words * sizeof *words) != 0 ||
      tombola_matcher_is_complete(server->matcher) != complete ||
      tombola_matcher_accepted(server->matcher) != accepted)
    problem(server, "trying tokens changed the matcher", text);
}

static size_t count_bytes(const uint32_t *words) {
  size_t n = 0;
  for (size_t b = 0; b < 256; b++)
    n += has(words, b);
  return n;
}

/* What is forced is what the masks leave no choice about. */
static void check_forced(struct server *server, const struct text *text) {
  char forced[64];
  size_t length = 0, i = 0;
  uint32_t words[64];
  tombola_matcher *const m = server->matcher;
  if (tombola_matcher_forced(m, forced, sizeof forced, &length, NULL) != TOMBOLA_OK) {
    problem(server, "forced failed", text);
    return;
  }
  for (; i < length && mask_of(server, m, words, text); i++) {
    if (tombola_matcher_is_complete(m) || count_bytes(words) != 1 || !has(words, (unsigned char)forced[i]) ||
        tombola_matcher_accept_bytes(m, forced + i, 1, NULL, NULL) != TOMBOLA_OK)
      break;
  }
  if (i < length) problem(server, "bytes are called forced that aren't", text);
  if (i == length && length < sizeof forced && mask_of(server, m, words, text) &&
      !tombola_matcher_is_complete(m) && count_bytes(words) == 1)
    problem(server, "bytes are forced that aren't called so", text);
  tombola_matcher_rollback(m, i);
}

static void add_hex(struct server *server, yyjson_mut_val *item, const uint32_t *words) {
  char hex[64 * 8 + 1];
  for (size_t i = 0; i < server->n_words; i++) /* the highest first: a number in base 16 */
    snprintf(hex + 8 * i, 9, "%08lx", (unsigned long)words[server->n_words - 1 - i]);
  yyjson_mut_arr_add_strcpy(server->doc, item, hex);
}

static void add_witness(struct server *server, yyjson_mut_val *item, const struct text *text) {
  struct text witness = {NULL, 0, 0};
  text_add(&witness, text->data, text->length);
  if (complete_text(server, server->matcher, &witness))
    yyjson_mut_arr_add_val(item, bytes_value(server, witness.data, witness.length));
  else
    yyjson_mut_arr_add_null(server->doc, item);
  free(witness.data);
}

/* Some tokens that aren't gone on by: a witness for each. */
static void add_others(struct search *search, yyjson_mut_val *item, const uint32_t *words,
                       const struct text *text) {
  struct server *const server = search->server;
  size_t length;
  for (unsigned k = 0; k < 2; k++) {
    const size_t start = support_below(&server->rng, server->n_tokens);
    for (size_t i = 0; i < server->n_tokens; i++) {
      const tombola_token t = (tombola_token)((start + i) % server->n_tokens);
      const char *const bytes = tombola_vocabulary_bytes(server->vocabulary, t, &length);
      if (!has(words, (size_t)t) || (tombola_vocabulary_flags(server->vocabulary, t) & TOMBOLA_TOKEN_END))
        continue;
      if (tombola_matcher_accept(server->matcher, t, NULL) != TOMBOLA_OK) break;
      struct text longer = {NULL, 0, 0};
      text_add(&longer, text->data, text->length);
      text_add(&longer, bytes, length);
      add_witness(server, item, &longer);
      free(longer.data);
      tombola_matcher_rollback(server->matcher, 1);
      break;
    }
  }
}

/* [text, complete, mask, witness…] of a node that is gone on from; its successors are added. */
static void open_node(struct search *search, struct node *node, const struct text *text,
                      yyjson_mut_val *item) {
  struct server *const server = search->server;
  size_t i, max, length;
  yyjson_val *letter;
  uint32_t words[64];
  node->opened = true;
  if (!mask_of(server, server->matcher, words, text)) return;
  add_hex(server, item, words);
  try_all(server, words, text);
  check_forced(server, text);
  add_others(search, item, words, text);
  yyjson_arr_foreach(search->letters, i, max, letter) {
    const tombola_token t = (tombola_token)yyjson_get_int(letter);
    const char *const bytes = tombola_vocabulary_bytes(server->vocabulary, t, &length);
    struct text longer = {NULL, 0, 0};
    if (!has(words, (size_t)t) || (tombola_vocabulary_flags(server->vocabulary, t) & TOMBOLA_TOKEN_END))
      continue;
    text_add(&longer, text->data, text->length);
    text_add(&longer, bytes, length);
    add(search, &longer);
    free(longer.data);
  }
}

static void visit(struct search *search, size_t index, bool opens, yyjson_mut_val *list) {
  struct server *const server = search->server;
  struct node *const node = &search->nodes[index];
  struct text text = {NULL, 0, 0};
  text_add(&text, search->bytes.data + node->at, node->length);
  tombola_matcher_reset(server->matcher);
  if (tombola_matcher_accept_bytes(server->matcher, text.data, text.length, NULL, NULL) != TOMBOLA_OK)
    problem(server, "bytes of tokens aren't accepted", &text);
  yyjson_mut_val *const item = yyjson_mut_arr_add_arr(server->doc, list);
  yyjson_mut_arr_add_val(item, bytes_value(server, text.data, text.length));
  yyjson_mut_arr_add_bool(server->doc, item, tombola_matcher_is_complete(server->matcher));
  if (opens)
    open_node(search, node, &text, item);
  else
    add_witness(server, item, &text);
  free(text.data);
}

/* {"letters": [token…], "nodes": how many are gone on from}: the shortest texts for one half, then any. */
void explore(struct server *server, yyjson_val *request, yyjson_mut_val *answer) {
  const size_t many = (size_t)yyjson_get_uint(yyjson_obj_get(request, "nodes"));
  struct search search = {.server = server, .letters = yyjson_obj_get(request, "letters"), .room = 3 * many};
  struct text first = {NULL, 0, 0};
  for (search.n_slots = 64; search.n_slots < 2 * search.room; search.n_slots *= 2)
    ;
  search.slots = calloc(search.n_slots, sizeof *search.slots);
  search.nodes = calloc(search.room + 1, sizeof *search.nodes);
  yyjson_mut_val *const opened = yyjson_mut_obj_add_arr(server->doc, answer, "nodes");
  yyjson_mut_val *const leaves = yyjson_mut_obj_add_arr(server->doc, answer, "leaves");
  if (!search.slots || !search.nodes) exit(1);
  text_add(&first, "", 0);
  add(&search, &first);
  for (size_t i = 0, next = 0; i < many && next < search.n; i++) {
    size_t index = next;
    if (i > many / 2 && support_below(&server->rng, 2)) {
      index = next + support_below(&server->rng, search.n - next);
      if (search.nodes[index].opened) continue;
    }
    visit(&search, index, true, opened);
    while (next < search.n && search.nodes[next].opened)
      next++;
  }
  for (size_t i = 0; i < search.n; i++)
    if (!search.nodes[i].opened) visit(&search, i, false, leaves);
  free(first.data);
  free(search.bytes.data);
  free(search.nodes);
  free(search.slots);
}
