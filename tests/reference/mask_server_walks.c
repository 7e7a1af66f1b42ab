/* SPDX-License-Identifier: Apache-2.0 */
/* walks: random answers, and what must not matter on the way: taking tokens back, a copy of the matcher, how the same
 * bytes are cut into tokens. The digest of all masks must be the same on every instruction set. */
#include "mask_server.h"

#include <stdlib.h>
#include <string.h>

enum { WALK = 48 };

/* One walk: the tokens, the masks in front of each and at its end. */
struct walk {
  struct server *server;
  tombola_token tokens[WALK];
  size_t n;
  uint32_t *masks; /* (WALK + 1) * n_words */
  struct text text;
};

static uint32_t *mask_at(const struct walk *walk, size_t i) {
  return walk->masks + i * walk->server->n_words;
}

/* The mask where the matcher is must be the one that was seen after i tokens. */
static void expect(struct walk *walk, tombola_matcher *matcher, size_t i, const char *what) {
  uint32_t words[64];
  struct server *const server = walk->server;
  if (!mask_of(server, matcher, words, &walk->text)) return;
  if (memcmp(words, mask_at(walk, i), server->n_words * sizeof *words) != 0)
    problem(server, what, &walk->text);
}

/* A token of the mask: mostly a single byte of JSON, so that walks stay short; ends only where there's nothing else. */
static bool pick(struct server *server, const uint32_t *words, tombola_token *token) {
  tombola_token found[2048];
  size_t n = 0;
  for (size_t t = 0; t < server->n_tokens; t++) {
    const bool end = tombola_vocabulary_flags(server->vocabulary, (tombola_token)t) & TOMBOLA_TOKEN_END;
    const bool letter = t > 32 && t < 127;
    if (has(words, t) && !end && (t >= 256 || letter || support_below(&server->rng, 16) == 0))
      found[n++] = (tombola_token)t;
  }
  if (!n) return false;
  *token = found[support_below(&server->rng, n)];
  static const char closers[] = "\"]}:,";
  const char c = closers[support_below(&server->rng, 5)];
  if (support_below(&server->rng, 3) == 0 && has(words, (unsigned char)c)) *token = (unsigned char)c;
  return true;
}

/* Goes on until there are `most` tokens or none may come. */
static void go(struct walk *walk, size_t most) {
  struct server *const server = walk->server;
  while (mask_of(server, server->matcher, mask_at(walk, walk->n), &walk->text) && walk->n < most) {
    tombola_token token;
    size_t length;
    if (!pick(server, mask_at(walk, walk->n), &token)) break;
    if (tombola_matcher_accept(server->matcher, token, NULL) != TOMBOLA_OK)
      problem(server, "a token of the mask isn't accepted", &walk->text);
    const char *const bytes = tombola_vocabulary_bytes(server->vocabulary, token, &length);
    text_add(&walk->text, bytes, length);
    walk->tokens[walk->n++] = token;
  }
}

static void replay(struct walk *walk, tombola_matcher *matcher, size_t from, const char *what) {
  expect(walk, matcher, from, what);
  for (size_t i = from; i < walk->n; i++) {
    if (tombola_matcher_accept(matcher, walk->tokens[i], NULL) != TOMBOLA_OK)
      problem(walk->server, what, &walk->text);
    expect(walk, matcher, i + 1, what);
  }
}

/* Takes some back, goes on another way, takes that back too, and then the old way again. */
static void check_rollback(struct walk *walk) {
  struct server *const server = walk->server;
  tombola_matcher *const m = server->matcher;
  const size_t back = support_below(&server->rng, walk->n + 1);
  if (tombola_matcher_accepted(m) != walk->n) problem(server, "accepts are counted wrongly", &walk->text);
  if (tombola_matcher_rollback(m, walk->n + 1) != TOMBOLA_OUT_OF_RANGE)
    problem(server, "more was taken back than there was", &walk->text);
  tombola_matcher_rollback(m, back);
  expect(walk, m, walk->n - back, "taking back gives another mask");
  size_t other = 0;
  uint32_t words[64];
  tombola_token token;
  while (other < 6 && mask_of(server, m, words, &walk->text) && pick(server, words, &token) &&
         tombola_matcher_accept(m, token, NULL) == TOMBOLA_OK)
    other++;
  tombola_matcher_rollback(m, other);
  replay(walk, m, walk->n - back, "taking back and going on gives another mask");
}

/* A copy is where the matcher is and can go back as far; what one does is nothing to the other. */
static void check_clone(struct walk *walk) {
  struct server *const server = walk->server;
  tombola_matcher *copy;
  const size_t back = support_below(&server->rng, walk->n + 1);
  if (tombola_matcher_clone(server->matcher, &copy, NULL) != TOMBOLA_OK) {
    problem(server, "no copy", &walk->text);
    return;
  }
  expect(walk, copy, walk->n, "a copy has another mask");
  if (tombola_matcher_rollback(copy, back) != TOMBOLA_OK)
    problem(server, "a copy can't go back", &walk->text);
  expect(walk, server->matcher, walk->n, "a copy's way back moved the matcher");
  replay(walk, copy, walk->n - back, "a copy gives another mask");
  tombola_matcher_free(copy);
}

/* The same bytes, cut at random. */
static void check_cuts(struct walk *walk) {
  struct server *const server = walk->server;
  tombola_matcher *const m = server->matcher;
  tombola_matcher_reset(m);
  for (size_t at = 0; at < walk->text.length;) {
    size_t length = 1 + support_below(&server->rng, 4);
    if (length > walk->text.length - at) length = walk->text.length - at;
    if (tombola_matcher_accept_bytes(m, walk->text.data + at, length, NULL, NULL) != TOMBOLA_OK)
      problem(server, "the bytes of tokens aren't accepted", &walk->text);
    at += length;
  }
  expect(walk, m, walk->n, "bytes lead elsewhere than tokens");
  tombola_matcher_reset(m);
  replay(walk, m, 0, "a new beginning gives another mask");
}

static uint64_t add_digest(uint64_t digest, const struct walk *walk) {
  const unsigned char *const bytes = (const unsigned char *)walk->masks;
  const size_t length = (walk->n + 1) * walk->server->n_words * sizeof *walk->masks;
  for (size_t i = 0; i < length; i++)
    digest = (digest ^ bytes[i]) * 0x100000001B3u;
  return digest;
}

/* {"count": walks, "length": tokens at most}; answers the digest and the texts, with those that are complete marked. */
void walks(struct server *server, yyjson_val *request, yyjson_mut_val *answer) {
  const size_t count = (size_t)yyjson_get_uint(yyjson_obj_get(request, "count"));
  uint64_t digest = 0xCBF29CE484222325u;
  char text[24];
  yyjson_mut_val *const list = yyjson_mut_obj_add_arr(server->doc, answer, "walks");
  struct walk walk = {.server = server, .masks = calloc((WALK + 1) * server->n_words, sizeof(uint32_t))};
  if (!walk.masks) exit(1);
  for (size_t i = 0; i < count; i++) {
    walk.n = walk.text.length = 0;
    text_add(&walk.text, "", 0);
    tombola_matcher_reset(server->matcher);
    go(&walk, 1 + support_below(&server->rng, WALK));
    digest = add_digest(digest, &walk);
    check_rollback(&walk);
    check_clone(&walk);
    check_cuts(&walk);
    yyjson_mut_val *const item = yyjson_mut_arr_add_arr(server->doc, list);
    yyjson_mut_arr_add_val(item, bytes_value(server, walk.text.data, walk.text.length));
    yyjson_mut_arr_add_bool(server->doc, item, tombola_matcher_is_complete(server->matcher));
  }
  snprintf(text, sizeof text, "%016llx", (unsigned long long)digest);
  yyjson_mut_obj_add_strcpy(server->doc, answer, "digest", text);
  free(walk.text.data);
  free(walk.masks);
}
