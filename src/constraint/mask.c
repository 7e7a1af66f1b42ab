/* SPDX-License-Identifier: Apache-2.0 */
/* Masks: which tokens may come where a machine is. In a string, what its language says of tokens is known (mask_text.c),
 * and only what follows its end is looked at. Elsewhere whole sets of plain tokens are taken where their characters are
 * free, and the rest is walked: the machine reads a trie's bytes depth first, and what it refuses is skipped. Digits that
 * may follow a number whatever they are aren't read. */
#include <string.h>

#include "constraint/grammar.h"
#include "constraint/machine/token.h"
#include "constraint/trie/outlook.h"

/* Where allowed tokens go. */
struct sink {
  struct tombola_grammar *grammar;
  const tombola_trie *trie;
  struct tombola__mask_room *room;
  struct tombola__sheet *sheet;

  /* What can be read where the machine is: exactly; and not more than, also behind it until a string begins when the
   * whole text is JSON. */
  bool firsts[256];
  struct tombola__outlook outlook;
  bool is_json;
};

/* Begins with the tokens of a base. */
static void begin(struct sink *sink, const uint32_t *base) {
  sink->sheet = tombola__sheet(sink->grammar, sink->room, base);
}

static void allow(struct sink *sink, uint32_t token) {
  struct tombola__sheet *const sheet = sink->sheet;
  sheet->words[token / 32] |= (uint32_t)1 << token % 32;
  if (sheet->n_ids < TOMBOLA__SHEET_IDS)
    sheet->ids[sheet->n_ids++] = (tombola_token)token;
  else
    sheet->dirty = true;
}

static void allow_same(struct sink *sink, uint32_t token) {
  size_t n;
  token &= ~TOMBOLA__SAME_BYTES;
  const tombola_token *const pairs = tombola__trie_same(sink->trie, (tombola_token)token, &n);
  allow(sink, token);
  for (size_t i = 0; i < n; i++)
    allow(sink, (uint32_t)pairs[2 * i + 1]);
}

/* Whether a byte at this depth can be told to be dead without reading it. `quote`: the depth of the path's first one. */
static bool is_dead(const struct sink *sink, uint32_t depth, uint32_t quote, uint8_t byte) {
  if (depth == 1) return !sink->firsts[byte];
  return depth <= quote && !(sink->outlook.bytes[byte / 32] >> byte % 32 & 1);
}

/* Digits of a path that need no reading, as any may follow where the machine was asked. */
#define MOST_DIGITS 24u
#define MANY_NODES  8u /* behind a digit: it is worth asking */
struct digits {
  uint32_t from;   /* where: at this depth */
  uint32_t to;     /* all of the path behind that, to this depth, are such digits */
  uint32_t most;   /* the greatest `to` */
  uint32_t end;    /* of the nodes behind the place; 0: nothing is known */
  bool only_zeros; /* behind `most` */
  bool none;       /* behind `most` */
  uint8_t bytes[MOST_DIGITS];
};

static void ask_digits(struct digits *d, const struct tombola__machine *m, uint32_t depth, uint32_t end) {
  const struct tombola__digits found = tombola__machine_digits(m);
  const bool many = found.free > MOST_DIGITS;
  d->from = d->to = depth;
  d->most = depth + (many ? MOST_DIGITS : found.free);
  d->only_zeros = found.only_zeros && !many;
  d->none = found.none && !many;
  d->end = found.free || d->only_zeros || d->none ? end : 0;
}

static bool is_digit(uint8_t byte) {
  return byte >= '0' && byte <= '9';
}

static bool is_spared(struct digits *d, uint32_t depth, uint8_t byte) {
  if (depth != d->to + 1 || depth > d->most || !is_digit(byte)) return false;
  d->bytes[depth - d->from - 1] = byte;
  d->to = depth;
  return true;
}

/* Whether it is a digit that is known not to follow. */
static bool is_wrong_digit(const struct digits *d, uint32_t depth, uint8_t byte) {
  if (depth != d->most + 1 || d->to != d->most || !is_digit(byte)) return false;
  return d->none || (d->only_zeros && byte != '0');
}

static void allow_node(struct sink *sink, const struct tombola__trie_node *node) {
  if (node->token == TOMBOLA__NO_NODE_TOKEN) return;
  if (node->token & TOMBOLA__SAME_BYTES)
    allow_same(sink, node->token);
  else
    allow(sink, node->token);
}

static void walk(struct sink *sink, struct tombola__machine *m, struct tombola__trie_span span) {
  const struct tombola__trie_node *const nodes = sink->trie->nodes;
  const uint32_t no_quote = sink->is_json ? UINT32_MAX : 0;
  uint32_t read = 0, quote = no_quote; /* bytes of the path, which the machine has read */
  struct digits digits;
  ask_digits(&digits, m, 0, span.end);
  for (uint32_t i = span.first; i < span.end;) {
    const struct tombola__trie_node *const node = &nodes[i];
    const uint32_t depth = node->place >> 8;
    const uint8_t byte = (uint8_t)node->place;
    if (read >= depth) {
      tombola__machine_pop(m, read - depth + 1);
      read = depth - 1;
      if (quote >= depth) quote = no_quote;
    }
    if (i < digits.end) {
      if (digits.to >= depth) digits.to = depth - 1;
      if (is_spared(&digits, depth, byte)) {
        allow_node(sink, node);
        i++;
        continue;
      }
      if (is_wrong_digit(&digits, depth, byte)) {
        i = node->end;
        continue;
      }
    }
    while (read < depth - 1 && tombola__machine_push(m, digits.bytes[read - digits.from]))
      read++;
    if (read < depth - 1) break; /* a failure of the store */
    if (is_dead(sink, depth, quote, byte) || !tombola__machine_push(m, byte)) {
      i = node->end;
      continue;
    }
    read = depth;
    if (byte == '"' && depth < quote) quote = depth;
    if (is_digit(byte) && i >= digits.end && node->end - i > MANY_NODES)
      ask_digits(&digits, m, depth, node->end);
    allow_node(sink, node);
    i++;
  }
  tombola__machine_pop(m, read);
}

/* ---- in a string ---- */

/* Which of the texts behind a quote can be read. */
static void read_backs(struct tombola__machine *m, const struct tombola__text_tries *tries, bool *can) {
  uint32_t read = 0;
  memset(can, 0, tries->n_backs * sizeof *can);
  if (tries->empty_back) can[0] = true;
  for (uint32_t i = tries->backs.first; i < tries->backs.end;) {
    const struct tombola__trie_node *const node = &tries->nodes[i];
    const uint32_t depth = node->place >> 8;
    if (read >= depth) {
      tombola__machine_pop(m, read - depth + 1);
      read = depth - 1;
    }
    if (!tombola__machine_push(m, (uint8_t)node->place)) {
      i = node->end;
      continue;
    }
    read = depth;
    if (node->token != TOMBOLA__NO_NODE_TOKEN) can[node->token] = true;
    i++;
  }
  tombola__machine_pop(m, read);
}

/* What may not be in front of a closing quote, or what is a name of its own there. */
struct taking {
  struct sink *sink;
  struct tombola__machine *m;
  bool value;
};

static void set_taken(void *context, uint32_t leaf) {
  const struct taking *const t = context;
  t->sink->room->taken[leaf] = t->value;
}

static void try_leaf(void *context, uint32_t leaf) {
  const struct taking *const t = context;
  const tombola_trie *const trie = t->sink->trie;
  for (uint32_t k = trie->text.first_end[leaf]; k < trie->text.first_end[leaf + 1]; k++) {
    const uint32_t token = trie->text.ends[k].token;
    size_t length, n = 0;
    const char *const bytes = tombola_vocabulary_bytes(trie->vocabulary, (tombola_token)token, &length);
    while (n < length && tombola__machine_push(t->m, (uint8_t)bytes[n]))
      n++;
    tombola__machine_pop(t->m, n);
    if (n == length) allow(t->sink, token);
  }
}

/* Calls visit for the leaves that spell a name that is there, or a declared one. */
static void visit_names(struct taking *t, bool there, bool declared,
                        void (*visit)(void *context, uint32_t leaf)) {
  struct tombola_bytes rest;
  const void *at = NULL;
  while (there && tombola__machine_taken(t->m, &at, &rest))
    tombola__text_fronts_of(t->sink->trie, rest.data, rest.length, visit, t);
  for (uint32_t i = 0; declared && tombola__machine_declared(t->m, &i, &rest);)
    tombola__text_fronts_of(t->sink->trie, rest.data, rest.length, visit, t);
}

static void fill_text(struct sink *sink, struct tombola__machine *m, const struct tombola__text *text) {
  const struct tombola__text_tries *const tries = &sink->trie->text;
  const uint32_t *const ids = tombola__text_ids(text), *const fronts = tombola__text_fronts(text);
  begin(sink, text->base);
  for (uint32_t i = 0; i < text->n_ids; i++)
    allow(sink, ids[i]);
  if (!text->n_fronts || !tombola__machine_end_text(m)) return;
  read_backs(m, tries, sink->room->backs);
  tombola__machine_pop(m, 1);
  struct taking t = {sink, m, true};
  visit_names(&t, true, true, set_taken);
  for (uint32_t i = 0; i < text->n_fronts; i++)
    for (uint32_t k = tries->first_end[fronts[i]]; k < tries->first_end[fronts[i] + 1]; k++)
      if (sink->room->backs[tries->ends[k].back] && !sink->room->taken[fronts[i]])
        allow(sink, tries->ends[k].token);
  t.value = false;
  visit_names(&t, true, true, set_taken);
  visit_names(&t, false, true, try_leaf);
}

/* ---- sets that are taken whole ---- */

/* All plain tokens of at most `length` characters. */
static void take_plain(struct sink *sink, uint32_t length) {
  const tombola_trie *const trie = sink->trie;
  begin(sink, tombola__plain_mask(trie, length < TOMBOLA__MASK_LENGTHS ? length : TOMBOLA__MASK_LENGTHS));
  for (size_t i = 0; i < trie->n_long && trie->long_ones[i].characters <= length; i++)
    allow(sink, trie->long_ones[i].token);
}

size_t tombola__covered(const tombola_trie *trie, uint32_t free) {
  size_t n = 0;
  for (size_t g = 0; g < trie->n_groups; g++)
    if (!(trie->groups[g].signature & ~free)) n += trie->groups[g].last - trie->groups[g].first;
  return n;
}

/* A walk of all costs what can be read; taking groups pays off when it spares more than the groups' own beginnings. */
bool tombola__is_worth_it(const tombola_trie *trie, uint32_t free) {
  return tombola__covered(trie, free) > 8 * trie->n_groups;
}

static void try_bytes(struct sink *sink, struct tombola__machine *m) {
  for (unsigned byte = 0; byte < 256; byte++) {
    const bool may = sink->outlook.bytes[byte / 32] >> byte % 32 & 1;
    sink->firsts[byte] = may && tombola__machine_push(m, (uint8_t)byte);
    if (sink->firsts[byte]) tombola__machine_pop(m, 1);
  }
}

/* Where only some characters are free: groups of them are taken with the base, the others walked. */
static void take_groups(struct sink *sink, struct tombola__machine *m, uint32_t free, uint32_t length) {
  const tombola_trie *const trie = sink->trie;
  for (size_t g = 0; g < trie->n_groups; g++) {
    const struct tombola__group *const group = &trie->groups[g];
    const bool is_free = !(group->signature & ~free);
    if (is_free && (group->most <= length || sink->outlook.most <= length)) continue;
    walk(sink, m, group->nodes);
  }
  walk(sink, m, trie->rest);
}

/* Behind a backslash where any text may follow: only what begins with `u` isn't known yet. */
static void take_escaped(struct sink *sink, struct tombola__machine *m) {
  const bool plain = sink->grammar->store.spelling == TOMBOLA_SPELLING_PLAIN;
  begin(sink, plain ? sink->trie->text.behind_plain : sink->trie->text.behind_escape);
  walk(sink, m, sink->trie->rest);
  const bool hex = sink->firsts['u'];
  memset(sink->firsts, 0, sizeof sink->firsts);
  sink->firsts['u'] = hex;
  walk(sink, m, sink->trie->all);
}

static void fill_place(struct sink *sink, struct tombola__machine *m) {
  const tombola_trie *const trie = sink->trie;
  struct tombola__freedom freedom = {.length = 0};
  const uint32_t *base;
  uint32_t free = 0;
  tombola__machine_outlook(m, &sink->outlook);
  try_bytes(sink, m);
  if (tombola__machine_freedom(m, &freedom) && freedom.length > 0) free = tombola__free_categories(&freedom);
  if (tombola__machine_in_escape(m, trie->most_characters)) {
    take_escaped(sink, m);
  } else if (free == tombola__all_categories()) {
    take_plain(sink, freedom.length);
    const bool all = freedom.length >= trie->most_characters || sink->outlook.most <= freedom.length;
    walk(sink, m, all ? trie->rest : trie->all);
  } else if (free && tombola__is_worth_it(trie, free) &&
             (base = tombola__mask_base(sink->grammar, free, freedom.length))) {
    begin(sink, base);
    take_groups(sink, m, free, freedom.length);
  } else {
    begin(sink, NULL);
    walk(sink, m, trie->all);
  }
}

static void fill(struct sink *sink, struct tombola__machine *m) {
  tombola__lang lang;
  const struct tombola__text *text = NULL;
  if (tombola__machine_in_text(m, &lang)) {
    struct tombola__store *const s = tombola__machine_store(m);
    text = tombola__mask_text(sink->grammar, tombola__lang_like(s, lang, (uint32_t)sink->trie->longest));
  }
  if (text)
    fill_text(sink, m, text);
  else
    fill_place(sink, m);
}

/* ---- tokens that aren't in the tries ---- */

/* Whether a special token's bytes may be read where the machine is. */
static bool reads_special(struct tombola_grammar *grammar, struct tombola__machine *m,
                          const struct tombola__special *special) {
  size_t length, n = 0;
  const char *const bytes = tombola_vocabulary_bytes(grammar->trie->vocabulary, special->token, &length);
  const bool engaged = tombola__machine_engaged(m);
  while (n < length && tombola__machine_push(m, (uint8_t)bytes[n]))
    n++;
  const bool begins = special->trigger && !engaged;
  const bool fits = n == length && (begins || (special->end && engaged && !tombola__machine_engaged(m)));
  tombola__machine_pop(m, n);
  return fits;
}

static const struct tombola__special *special_of(const struct tombola_grammar *grammar, tombola_token token) {
  for (size_t i = 0; i < grammar->n_specials; i++)
    if (grammar->specials[i].token == token) return &grammar->specials[i];
  return NULL;
}

size_t tombola__token_push(struct tombola_grammar *grammar, struct tombola__machine *machine,
                           tombola_token token) {
  const tombola_trie *const trie = grammar->trie;
  if (!tombola__token_is_matchable(trie->vocabulary, (uint32_t)token)) return 0;
  size_t length;
  const char *const bytes = tombola_vocabulary_bytes(trie->vocabulary, token, &length);
  bool read = length > 0 && length <= trie->longest;
  if (tombola_vocabulary_flags(trie->vocabulary, token) & TOMBOLA_TOKEN_SPECIAL) {
    const struct tombola__special *const special = special_of(grammar, token);
    read = special && reads_special(grammar, machine, special);
  }
  return tombola__machine_push_token(machine, (uint32_t)token, bytes, length, read);
}

static void allow_ends(struct sink *sink) {
  size_t n;
  const tombola_token *const ends = tombola_vocabulary_ends(sink->trie->vocabulary, &n);
  for (size_t i = 0; i < n; i++)
    allow(sink, (uint32_t)ends[i]);
}

static void allow_specials(struct sink *sink, struct tombola_grammar *grammar, struct tombola__machine *m) {
  for (size_t i = 0; i < grammar->n_specials; i++)
    if (reads_special(grammar, m, &grammar->specials[i])) allow(sink, (uint32_t)grammar->specials[i].token);
}

/* ---- tokens that are taken as a whole ---- */

/* Those that places await by name. */
static void allow_awaited(struct sink *sink, struct tombola__machine *m) {
  size_t n;
  const struct tombola__thread *const threads = tombola__machine_readings(m, &n);
  for (size_t i = 0; i < n; i++) {
    uint32_t token;
    bool negated;
    if (!tombola__rules_awaits(&threads[i], &token, &negated)) continue;
    if (!(sink->sheet->words[token / 32] >> token % 32 & 1)) allow(sink, token);
  }
}

/* Where a place awaits any token but one nothing has to be walked: that one is tried. False: there is no such place. */
static bool allow_all_but_one(struct sink *sink, struct tombola_grammar *grammar,
                              struct tombola__machine *m) {
  size_t n, i = 0;
  uint32_t token = 0;
  bool negated = false;
  const struct tombola__thread *const threads = tombola__machine_readings(m, &n);
  while (i < n && !(tombola__rules_awaits(&threads[i], &token, &negated) && negated))
    i++;
  if (i == n) return false;
  begin(sink, sink->trie->matchable);
  if (token >= sink->trie->count) return true;
  const size_t levels = tombola__token_push(grammar, m, (tombola_token)token);
  tombola__machine_pop(m, levels);
  if (levels) return true;
  sink->sheet->words[token / 32] &= ~((uint32_t)1 << token % 32);
  sink->sheet->dirty = true;
  return true;
}

/* ---- all of it ---- */

static void sort_ids(tombola_token *ids, size_t n) {
  for (size_t i = 1; i < n; i++) {
    const tombola_token id = ids[i];
    size_t at = i;
    for (; at > 0 && ids[at - 1] > id; at--)
      ids[at] = ids[at - 1];
    ids[at] = id;
  }
}

static enum tombola_status show(const tombola_trie *trie, const uint32_t *words, const tombola_token *ids,
                                size_t n, struct tombola_mask *mask, struct tombola_error *error) {
  *mask = (struct tombola_mask){.words = words, .count = trie->count, .ids = ids, .n_ids = ids ? n : 0};
  if (!ids || n > 0) return TOMBOLA_OK;
  return tombola__fail(error, TOMBOLA_NO_CANDIDATE, NULL,
                       "no token of the vocabulary leads to a complete text");
}

static enum tombola_status failed(struct tombola_grammar *grammar, struct tombola_error *error) {
  const enum tombola_status status = grammar->store.status;
  if (error) *error = grammar->store.error;
  tombola__store_clear(&grammar->store);
  return status;
}

/* What decides about tokens: the place, the end, and special ones. False: a failure. */
static bool key_of(struct tombola_grammar *grammar, struct tombola__machine *machine, uint64_t key[2]) {
  tombola__machine_key(machine, grammar->trie->longest, key);
  key[0] = tombola__mix(key[0], 2u * tombola__machine_complete(machine) + tombola__machine_engaged(machine));
  return !grammar->store.status;
}

/* Makes the mask on a sheet. */
static void make(struct sink *sink, struct tombola__machine *machine) {
  if (!machine) {
    begin(sink, NULL);
  } else if (!allow_all_but_one(sink, sink->grammar, machine)) {
    fill(sink, machine);
    allow_specials(sink, sink->grammar, machine);
    allow_awaited(sink, machine);
  }
  if (!machine || tombola__machine_complete(machine)) allow_ends(sink);
}

enum tombola_status tombola__mask_at(struct tombola_grammar *grammar, struct tombola__machine *machine,
                                     struct tombola__mask_room *room, struct tombola_mask *mask,
                                     struct tombola_error *error) {
  struct sink sink = {.grammar = grammar,
                      .trie = grammar->trie,
                      .room = room,
                      .is_json = grammar->program.part == TOMBOLA__JSON};
  uint64_t key[2] = {0, 0};
  if (machine) {
    if (!key_of(grammar, machine, key)) return failed(grammar, error);
    struct tombola__mask_entry *const e = tombola__mask_find(grammar, key);
    if (e) {
      const uint32_t *const words = tombola__mask_words(grammar, e, room);
      return show(sink.trie, words, e->listed ? e->ids : NULL, e->n_ids, mask, error);
    }
  }
  make(&sink, machine);
  if (grammar->store.status) return failed(grammar, error);
  struct tombola__sheet *const sheet = sink.sheet;
  const bool listed = !sheet->base && !sheet->dirty && sheet->n_ids <= TOMBOLA__LISTED;
  if (listed) sort_ids(sheet->ids, sheet->n_ids);
  if (machine) tombola__mask_keep(grammar, sheet, key, listed);
  return show(sink.trie, sheet->words, listed ? sheet->ids : NULL, sheet->n_ids, mask, error);
}
