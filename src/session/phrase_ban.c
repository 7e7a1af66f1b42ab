/* SPDX-License-Identifier: Apache-2.0 */
/* Banned phrases. An automaton over the bytes of the tokens says how much of the text could still begin a
 * phrase; those tokens are held back. When a phrase is complete, the generation goes back in front of the
 * token that the phrase begins in, and that token is banned there for as long as what is in front of it
 * stays.
 *
 * The samplers' states go back too, but for the random numbers: a number that led to the banned token would,
 * used again, lead to its neighbours rather than to the law without it. */
#include <string.h>

#include "session/internal.h"

/* Tokens that are held only because a rollback could lead to them. Beyond it, the phrase's first token that
 * can still be taken back stands for the first. */
#define MOST_IN_CHAIN 64

/* ---- letters without case ---- */

/* The first bytes of two-byte letters that have a small twin: Latin-1, Greek, Cyrillic. */
static bool is_lead(unsigned char byte) {
  return byte == 0xC3 || byte == 0xCE || byte == 0xD0;
}

static bool within(unsigned char byte, unsigned char first, unsigned char last) {
  return byte >= first && byte <= last;
}

/* The small twin of a two-byte letter (Unicode 15, CaseFolding.txt), which has two bytes too. */
static void fold_pair(unsigned char *lead, unsigned char *byte) {
  unsigned char b = *byte;
  if (*lead == 0xC3 && within(b, 0x80, 0x9E) && b != 0x97) {
    *byte = (unsigned char)(b + 0x20);
  } else if (*lead == 0xCE && within(b, 0x91, 0x9F)) {
    *byte = (unsigned char)(b + 0x20);
  } else if (*lead == 0xCE && within(b, 0xA0, 0xAB) && b != 0xA2) {
    *lead = 0xCF;
    *byte = (unsigned char)(b - 0x20);
  } else if (*lead == 0xD0 && within(b, 0x90, 0x9F)) {
    *byte = (unsigned char)(b + 0x20);
  } else if (*lead == 0xD0 && within(b, 0xA0, 0xAF)) {
    *lead = 0xD1;
    *byte = (unsigned char)(b - 0x20);
  } else if (*lead == 0xD0 && within(b, 0x80, 0x8F)) {
    *lead = 0xD1;
    *byte = (unsigned char)(b + 0x10);
  }
}

static unsigned char fold_ascii(unsigned char byte) {
  return within(byte, 'A', 'Z') ? (unsigned char)(byte + ('a' - 'A')) : byte;
}

static void fold_phrase(char *bytes, size_t length) {
  for (size_t i = 0; i < length; i++) {
    unsigned char byte = (unsigned char)bytes[i];
    if (is_lead(byte) && i + 1 < length) {
      unsigned char second = (unsigned char)bytes[i + 1];
      fold_pair(&byte, &second);
      bytes[i] = (char)byte;
      bytes[++i] = (char)second;
    } else {
      bytes[i] = (char)fold_ascii(byte);
    }
  }
}

/* ---- making ---- */

static enum tombola_status check(const struct tombola_phrase_bans *bans, struct tombola_error *error) {
  size_t total = 0;
  if (!bans->phrases && bans->n_phrases > 0)
    return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "bans", "bans has no phrases");
  for (size_t i = 0; i < bans->n_phrases; i++) {
    if (!bans->phrases[i].data || bans->phrases[i].length == 0)
      return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "bans", "phrase %zu of bans is empty", i);
    if (!tombola__add(total, bans->phrases[i].length, &total) || total > TOMBOLA__AUTOMATON_BYTES)
      return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "bans",
                           "the phrases of bans have more than %d bytes in all", TOMBOLA__AUTOMATON_BYTES);
  }
  return TOMBOLA_OK;
}

/* A copy of the phrases, folded; `copies` points into `bytes`. */
static void copy_phrases(const struct tombola_phrase_bans *bans, struct tombola_bytes *copies, char *bytes) {
  for (size_t i = 0; i < bans->n_phrases; i++) {
    size_t length = bans->phrases[i].length;
    memcpy(bytes, bans->phrases[i].data, length);
    if (bans->ignore_case) fold_phrase(bytes, length);
    copies[i] = (struct tombola_bytes){bytes, length};
    bytes += length;
  }
}

static enum tombola_status make_automaton(struct tombola__generation *g,
                                          const struct tombola_phrase_bans *bans) {
  const struct tombola_allocator *own = &g->session->allocator;
  size_t total = 0, longest = 0;
  for (size_t i = 0; i < bans->n_phrases; i++) {
    total += bans->phrases[i].length;
    if (bans->phrases[i].length > longest) longest = bans->phrases[i].length;
  }
  struct tombola_bytes *copies = tombola__new(own, bans->n_phrases, sizeof *copies);
  char *bytes = tombola__new(own, total, 1);
  enum tombola_status status = copies && bytes ? TOMBOLA_OK : tombola__no_memory(g->error);
  if (status == TOMBOLA_OK) {
    copy_phrases(bans, copies, bytes);
    status = tombola__automaton_new(&g->bans.phrases, copies, bans->n_phrases, "bans", own, g->error);
    g->bans.on = status == TOMBOLA_OK;
  }
  tombola__free(own, copies);
  tombola__free(own, bytes);
  if (status != TOMBOLA_OK) return status;
  /* A token that a phrase could begin with has a byte of it at least; two more wait for a second byte and to
   * be looked at. */
  return tombola__hold_room(g, longest + 2 + MOST_IN_CHAIN);
}

enum tombola_status tombola__bans_init(struct tombola__generation *g) {
  struct tombola_phrase_bans bans = {.struct_size = sizeof bans};
  const struct tombola_phrase_bans *given = g->params.bans;
  if (!given) return TOMBOLA_OK;
  if (given->struct_size < sizeof given->struct_size)
    return tombola__fail(g->error, TOMBOLA_INVALID_ARGUMENT, "bans", "struct_size of bans is not set");
  memcpy(&bans, given, given->struct_size < sizeof bans ? given->struct_size : sizeof bans);
  if (bans.max_rollbacks) g->back.max_rollbacks = bans.max_rollbacks;
  if (bans.max_tokens) g->back.max_tokens = bans.max_tokens;
  if (bans.n_phrases == 0) return TOMBOLA_OK;
  enum tombola_status status = check(&bans, g->error);
  if (status != TOMBOLA_OK) return status;
  g->bans.ignore_case = bans.ignore_case != 0;
  return make_automaton(g, &bans);
}

void tombola__bans_free(struct tombola__generation *g) {
  if (g->bans.on) tombola__automaton_free(&g->bans.phrases);
}

/* ---- finding ---- */

/* One byte; the length of the longest phrase that ends with it, else 0. */
static size_t step(struct tombola__generation *g, unsigned char byte) {
  const struct tombola__automaton *a = &g->bans.phrases;
  g->place.ban_state = tombola__automaton_step(a, g->place.ban_state, (char)byte);
  return a->length[g->place.ban_state];
}

size_t tombola__bans_scan(struct tombola__generation *g, const char *bytes, size_t length, size_t *used) {
  struct tombola__place *place = &g->place;
  for (size_t i = 0; i < length; i++) {
    unsigned char byte = (unsigned char)bytes[i], lead = place->lead;
    size_t found = 0;
    *used = i + 1;
    place->lead = 0;
    if (!g->bans.ignore_case) {
      found = step(g, byte);
    } else if (lead) {
      fold_pair(&lead, &byte);
      *used = i;
      found = step(g, lead);
      if (found) return found;
      *used = i + 1;
      found = step(g, fold_ascii(byte));
    } else if (is_lead(byte)) {
      place->lead = byte;
    } else {
      found = step(g, fold_ascii(byte));
    }
    if (found) return found;
  }
  return 0;
}

static size_t needed(const struct tombola__generation *g, const struct tombola__place *place) {
  return g->bans.phrases.depth[place->ban_state] + (size_t)(place->lead != 0);
}

/* What could begin a phrase now, and what could do so again after a rollback to one of those, and so on: a
 * token is let go only when no way back leads to it. */
size_t tombola__bans_hold(const struct tombola__generation *g) {
  size_t need = needed(g, &g->place), tokens = 0;
  while (need > 0 && tokens < g->n_held) {
    const struct tombola__held *held = &g->held[(g->held_first + g->n_held - ++tokens) % g->held_room];
    need -= held->length < need ? held->length : need;
    if (need == 0) need = needed(g, &held->before);
  }
  return tokens < g->held_room - 2 ? tokens : g->held_room - 2;
}

/* ---- going back ---- */

/* The held token that holds the phrase's first byte. */
static size_t first_token(struct tombola__generation *g, size_t phrase, size_t used) {
  size_t i = g->n_held - 1, length = used;
  while (phrase > length && i > 0) {
    phrase -= length;
    length = tombola__held_at(g, --i)->length;
  }
  return i;
}

enum tombola_status tombola__bans_roll_back(struct tombola__generation *g, size_t phrase, size_t used) {
  bool again;
  enum tombola_status status = tombola__go_back(g, first_token(g, phrase, used), &again);
  if (status != TOMBOLA_OK || again) return status;
  status = tombola__release_all(g);
  tombola__end(g, TOMBOLA_STOP_BAN);
  return status;
}
