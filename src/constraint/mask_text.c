/* SPDX-License-Identifier: Apache-2.0 */
/* What the tokens of a vocabulary do in the text of a JSON string, by the string's language: which stay in it, and which
 * may end it as far as the language is concerned. Made once a state of a language; a mask is that, and what may follow
 * the end. The tries are read by the language alone, which needs no machine. */
#include <string.h>

#include "constraint/grammar.h"
#include "constraint/lang/lang_terms.h"
#include "constraint/machine/json.h"

#define MOST_IDS   2048u /* beside a base; more become a base of their own */
#define MOST_BASES 256u

/* ---- bases ---- */

static void add_group(uint32_t *words, const tombola_trie *trie, const struct tombola__group *group,
                      uint32_t length) {
  uint32_t i = group->first;
  if (group->masks) {
    const uint32_t shown = length < TOMBOLA__WIDE_LENGTHS ? length : TOMBOLA__WIDE_LENGTHS;
    const uint32_t *const mask = group->masks + (shown - 1) * trie->words;
    for (size_t w = 0; w < trie->words; w++)
      words[w] |= mask[w];
    if (length == shown || group->most <= shown) return;
    uint32_t to = group->last; /* the first token that is longer than what is shown */
    while (i < to) {
      const uint32_t middle = i + (to - i) / 2;
      if (trie->plain[middle].characters <= shown)
        i = middle + 1;
      else
        to = middle;
    }
  }
  for (; i < group->last && trie->plain[i].characters <= length; i++)
    words[trie->plain[i].token / 32] |= (uint32_t)1 << trie->plain[i].token % 32;
}

/* The other way round, where few groups aren't free. */
static void add_plain(uint32_t *words, const tombola_trie *trie, uint32_t length) {
  const uint32_t shown = length < TOMBOLA__MASK_LENGTHS ? length : TOMBOLA__MASK_LENGTHS;
  memcpy(words, tombola__plain_mask(trie, shown), trie->words * sizeof *words);
  for (size_t i = 0; i < trie->n_long && trie->long_ones[i].characters <= length; i++)
    words[trie->long_ones[i].token / 32] |= (uint32_t)1 << trie->long_ones[i].token % 32;
}

static void take_off_group(uint32_t *words, const tombola_trie *trie, const struct tombola__group *group) {
  for (uint32_t i = group->first; i < group->last; i++)
    words[trie->plain[i].token / 32] &= ~((uint32_t)1 << trie->plain[i].token % 32);
}

/* Words that the grammar keeps; NULL: no memory. */
static uint32_t *new_words(struct tombola_grammar *grammar) {
  const size_t bytes = grammar->trie->words * sizeof(uint32_t);
  if (bytes > grammar->masks.max_bytes - grammar->masks.bytes) return NULL;
  uint32_t *const words = tombola__new(&grammar->allocator, grammar->trie->words, sizeof *words);
  if (words) grammar->masks.bytes += bytes;
  return words;
}

static struct tombola__base *add_base(struct tombola_grammar *grammar) {
  if (grammar->n_bases == MOST_BASES) return NULL;
  if (!grammar->bases) grammar->bases = tombola__new(&grammar->allocator, MOST_BASES, sizeof *grammar->bases);
  if (!grammar->bases) return NULL;
  struct tombola__base *const base = &grammar->bases[grammar->n_bases];
  *base = (struct tombola__base){.words = new_words(grammar)};
  if (!base->words) return NULL;
  grammar->n_bases++;
  return base;
}

const uint32_t *tombola__mask_base(struct tombola_grammar *grammar, uint32_t free, uint32_t length) {
  const tombola_trie *const trie = grammar->trie;
  if (length > trie->most_characters) length = (uint32_t)trie->most_characters;
  for (size_t i = 0; i < grammar->n_bases; i++)
    if (grammar->bases[i].free == free && grammar->bases[i].length == length) return grammar->bases[i].words;
  struct tombola__base *const base = add_base(grammar);
  if (!base) return NULL;
  base->free = free;
  base->length = length;
  if (2 * tombola__covered(trie, free) > trie->n_plain) {
    add_plain(base->words, trie, length);
    for (size_t g = 0; g < trie->n_groups; g++)
      if (trie->groups[g].signature & ~free) take_off_group(base->words, trie, &trie->groups[g]);
  } else {
    for (size_t g = 0; g < trie->n_groups; g++)
      if (!(trie->groups[g].signature & ~free)) add_group(base->words, trie, &trie->groups[g], length);
  }
  return base->words;
}

/* ---- reading by a language ---- */

struct tombola__text_place {
  tombola__lang a; /* not made yet when it is behind `via` in the place in front */
  uint32_t phase, b, c;
  bool is_behind;
  uint8_t via;
  bool knows_firsts;
  uint32_t firsts[4]; /* ASCII that may come next; known once it is asked for */
};

static bool read_part(struct tombola__store *s, const struct tombola__text_place *from, uint8_t byte,
                      struct tombola__text_place *to) {
  const struct tombola__thread t = {.phase = (uint16_t)from->phase, .b = from->b, .c = from->c};
  struct tombola__json_step step;
  tombola__json_decode(s->spelling, &t, byte, &step);
  *to = (struct tombola__text_place){.a = from->a, .phase = step.phase, .b = step.b, .c = step.c};
  if (step.n_ranges && step.phase == TOMBOLA__JSON_PLAIN) {
    to->a = tombola__lang_step(s, from->a, step.point);
    return to->a != TOMBOLA__LANG_NONE;
  }
  for (unsigned i = 0; i < step.n_ranges; i++)
    if (tombola__lang_can_step(s, from->a, step.ranges[i].lo, step.ranges[i].hi)) return true;
  return false;
}

/* Whether it may be a letter that comes next: by the form of the language. */
static bool may_come(const struct tombola__store *s, struct tombola__text_place *at, uint8_t byte) {
  if (!at->knows_firsts && at->is_behind)
    tombola__lang_seconds(s, at[-1].a, at->via, at->firsts);
  else if (!at->knows_firsts)
    tombola__lang_firsts(s, at->a, at->firsts);
  at->knows_firsts = true;
  return at->firsts[byte / 32] >> byte % 32 & 1;
}

/* Behind a whole letter; false: it isn't one of the language. */
static bool arrive(struct tombola__text_place *to, tombola__lang next) {
  if (to->a != next) to->knows_firsts = false;
  to->a = next;
  to->phase = TOMBOLA__JSON_PLAIN;
  to->is_behind = false;
  return next != TOMBOLA__LANG_NONE;
}

/* Makes the language of a place. */
static void settle(struct tombola__store *s, struct tombola__text_place *at) {
  if (!at->is_behind) return;
  at->a = tombola__lang_step(s, at[-1].a, at->via);
  at->is_behind = false;
}

/* ---- making ---- */

struct making {
  struct tombola_grammar *grammar;
  struct tombola__text_place *places; /* by depth */
  uint32_t *found;                    /* ids, then leaves of fronts */
  size_t n, room;
  bool failed;
};

static void find(struct making *k, uint32_t what) {
  if (k->n == k->room) {
    const size_t room = k->room ? 2 * k->room : 1024;
    uint32_t *const found = tombola__resize(&k->grammar->allocator, k->found, k->room, room, sizeof *found);
    if (!found) {
      k->failed = true;
      return;
    }
    k->found = found;
    k->room = room;
  }
  k->found[k->n++] = what;
}

enum leaves { TOKENS, STAYS, FRONTS };

static void find_leaf(struct making *k, const struct tombola__text_place *at, uint32_t leaf,
                      enum leaves kind) {
  const tombola_trie *const trie = k->grammar->trie;
  size_t n = 0;
  if (kind == FRONTS) {
    if (at->phase == TOMBOLA__JSON_PLAIN && tombola__lang_accepts_empty(&k->grammar->store, at->a))
      find(k, leaf);
  } else if (kind == STAYS) {
    for (uint32_t i = trie->text.first_stay[leaf]; i < trie->text.first_stay[leaf + 1]; i++)
      find(k, (uint32_t)trie->text.stay[i]);
  } else {
    const uint32_t token = leaf & ~TOMBOLA__SAME_BYTES;
    find(k, token);
    const tombola_token *const pairs =
        leaf == token ? NULL : tombola__trie_same(trie, (tombola_token)token, &n);
    for (size_t i = 0; i < n; i++)
      find(k, (uint32_t)pairs[2 * i + 1]);
  }
}

/* Where many languages at a time are followed a step costs most. */
static bool is_costly(const struct tombola__store *s, tombola__lang a) {
  const uint8_t kind = tombola__term(s, a)->kind;
  return kind == TOMBOLA__TERM_OR || kind == TOMBOLA__TERM_AND;
}

/* Reads a letter, that of a node, of which nothing is known yet. One that can't be isn't derived. Nor is what follows the
 * last one of a token, as it is enough that it can be; or one behind which no letter of the trie may come. */
static bool read_letter(struct making *k, const struct tombola__trie_node *nodes, uint32_t node, uint8_t byte,
                        enum leaves kind, struct tombola__text_place *to) {
  struct tombola__store *const s = &k->grammar->store;
  struct tombola__text_place *const from = to - 1;
  if (!may_come(s, from, byte)) return false;
  settle(s, from);
  if (kind != FRONTS && (nodes[node].end == node + 1 || is_costly(s, from->a))) {
    *to = (struct tombola__text_place){.is_behind = true, .via = byte};
    return tombola__lang_can_take(s, from->a, byte);
  }
  return arrive(to, tombola__lang_step(s, from->a, byte));
}

/* Reads a byte, that of a node, behind to[-1]. */
static bool read(struct making *k, const struct tombola__trie_node *nodes, uint32_t node, uint8_t byte,
                 enum leaves kind, struct tombola__text_place *to) {
  struct tombola__store *const s = &k->grammar->store;
  struct tombola__text_place *const from = to - 1;
  if (from->phase != TOMBOLA__JSON_PLAIN) return read_part(s, from, byte, to);
  if (byte == '"') return false;
  if (!tombola__json_is_plain(byte)) {
    settle(s, from);
    return read_part(s, from, byte, to);
  }
  const struct tombola__lang_table *const table = from->is_behind ? NULL : tombola__lang_table(s, from->a);
  const tombola__lang next = table ? table->next[table->class_of[byte]] : TOMBOLA__LANG_UNKNOWN;
  if (next == TOMBOLA__LANG_UNKNOWN) return read_letter(k, nodes, node, byte, kind, to);
  return arrive(to, next);
}

static void read_trie(struct making *k, const struct tombola__trie_node *nodes,
                      struct tombola__trie_span span, enum leaves kind) {
  struct tombola__store *const s = &k->grammar->store;
  for (uint32_t i = span.first; i < span.end && !s->status;) {
    const struct tombola__trie_node *const node = &nodes[i];
    struct tombola__text_place *const at = &k->places[node->place >> 8];
    if (!read(k, nodes, i, (uint8_t)node->place, kind, at)) {
      i = node->end;
      continue;
    }
    if (node->token != TOMBOLA__NO_NODE_TOKEN) find_leaf(k, at, node->token, kind);
    i++;
  }
}

/* The trie of all: kids are read one list after the other, what is below them as it lies. */
static void read_kids(struct making *k, size_t first, size_t n, size_t depth) {
  const tombola_trie *const trie = k->grammar->trie;
  struct tombola__text_place *const at = &k->places[depth];
  for (size_t i = first; i < first + n && !k->grammar->store.status; i++) {
    const struct tombola__trie_kid *const kid = &trie->kids[i];
    const uint32_t node = kid->place >> 8;
    if (!read(k, trie->nodes, node, (uint8_t)kid->place, TOKENS, at)) continue;
    if (trie->nodes[node].token != TOMBOLA__NO_NODE_TOKEN) find_leaf(k, at, trie->nodes[node].token, TOKENS);
    if (kid->n)
      read_kids(k, kid->first, kid->n, depth + 1);
    else
      read_trie(k, trie->nodes, (struct tombola__trie_span){node + 1, trie->nodes[node].end}, TOKENS);
  }
}

static void read_all(struct making *k) {
  const tombola_trie *const trie = k->grammar->trie;
  if (trie->kids)
    read_kids(k, 0, trie->n_roots, 1);
  else
    read_trie(k, trie->nodes, trie->all, TOKENS);
}

/* The groups that aren't free; those with characters that the language doesn't have are skipped. */
static void read_groups(struct making *k, uint32_t free, uint32_t length, uint32_t longest) {
  const tombola_trie *const trie = k->grammar->trie;
  const struct tombola__freedom letters = tombola__lang_alphabet(&k->grammar->store, k->places[0].a);
  const uint32_t known = tombola__met_categories(&letters);
  for (size_t g = 0; g < trie->n_groups; g++) {
    const struct tombola__group *const group = &trie->groups[g];
    if (group->signature & ~known) continue;
    if (!(group->signature & ~free) && (group->most <= length || longest <= length)) continue;
    read_trie(k, trie->nodes, group->nodes, TOKENS);
  }
}

static void read_stays(struct making *k) {
  const struct tombola__text_tries *const t = &k->grammar->trie->text;
  read_trie(k, t->nodes, t->stays, STAYS);
}

/* Those that stay in the text: a base, and the others as ids. */
static void read_inside(struct making *k, struct tombola__text *text) {
  const tombola_trie *const trie = k->grammar->trie;
  struct tombola__store *const s = &k->grammar->store;
  const struct tombola__freedom f = tombola__lang_freedom(s, text->lang);
  const uint32_t longest = tombola__term(s, text->lang)->longest;
  const uint32_t free = f.length ? tombola__free_categories(&f) : 0;
  if (free == tombola__all_categories()) {
    const size_t shown = f.length < TOMBOLA__MASK_LENGTHS ? f.length : TOMBOLA__MASK_LENGTHS;
    text->base = tombola__plain_mask(trie, shown);
    for (size_t i = 0; i < trie->n_long && trie->long_ones[i].characters <= f.length; i++)
      find(k, trie->long_ones[i].token);
    if (f.length >= trie->most_characters || longest <= f.length)
      read_stays(k);
    else
      read_all(k);
  } else if (free && tombola__is_worth_it(trie, free) &&
             (text->base = tombola__mask_base(k->grammar, free, f.length))) {
    read_groups(k, free, f.length, longest);
    read_stays(k);
  } else {
    read_all(k);
  }
}

static void read_fronts(struct making *k) {
  const struct tombola__text_tries *const t = &k->grammar->trie->text;
  if (t->empty_front) find_leaf(k, &k->places[0], 0, FRONTS);
  read_trie(k, t->nodes, t->fronts, FRONTS);
}

/* The language of all texts needs no reading. */
static void take_everything(struct making *k, struct tombola__text *text) {
  const tombola_trie *const trie = k->grammar->trie;
  text->base = tombola__plain_mask(trie, TOMBOLA__MASK_LENGTHS);
  for (size_t i = 0; i < trie->n_long; i++)
    find(k, trie->long_ones[i].token);
  for (uint32_t i = 0; i < trie->text.first_stay[trie->text.n_stays]; i++)
    find(k, (uint32_t)trie->text.stay[i]);
  text->n_ids = (uint32_t)k->n;
  for (uint32_t i = 0; i < trie->text.n_fronts; i++)
    find(k, i);
}

/* Many ids become words. */
static void use_words(struct making *k, struct tombola__text *text) {
  if (text->n_ids <= MOST_IDS) return;
  struct tombola__base *const base = add_base(k->grammar);
  if (!base) return;
  if (text->base) memcpy(base->words, text->base, k->grammar->trie->words * sizeof *base->words);
  for (size_t i = 0; i < text->n_ids; i++)
    base->words[k->found[i] / 32] |= (uint32_t)1 << k->found[i] % 32;
  text->base = base->words;
  k->n -= text->n_ids;
  memmove(k->found, k->found + text->n_ids, k->n * sizeof *k->found);
  text->n_ids = 0;
}

static struct tombola__text *make(struct tombola_grammar *grammar, tombola__lang lang) {
  const struct tombola_allocator *const a = &grammar->allocator;
  struct tombola__text *text = NULL, made = {.lang = lang};
  struct making k = {.grammar = grammar};
  k.places = tombola__new(a, grammar->trie->longest + 1, sizeof *k.places);
  if (k.places) {
    k.places[0].a = lang;
    if (lang == TOMBOLA__LANG_ALL && grammar->store.spelling == TOMBOLA_SPELLING_ANY) {
      take_everything(&k, &made);
    } else {
      read_inside(&k, &made);
      made.n_ids = (uint32_t)k.n;
      read_fronts(&k);
    }
    made.n_fronts = (uint32_t)(k.n - made.n_ids);
    use_words(&k, &made);
    const size_t bytes = sizeof made + k.n * sizeof *k.found;
    if (!k.failed && !grammar->store.status && bytes <= grammar->masks.max_bytes - grammar->masks.bytes)
      text = tombola__new(a, bytes, 1);
    if (text) {
      grammar->masks.bytes += bytes;
      *text = made;
      if (k.n) memcpy(text + 1, k.found, k.n * sizeof *k.found);
    }
  }
  tombola__free(a, k.places);
  tombola__free(a, k.found);
  return text;
}

/* ---- those that were made ---- */

static struct tombola__text **slot_of(struct tombola__text **slots, size_t n, tombola__lang lang) {
  size_t at = (size_t)tombola__mix(1, lang) & (n - 1);
  while (slots[at] && slots[at]->lang != lang)
    at = (at + 1) & (n - 1);
  return &slots[at];
}

static bool make_space(struct tombola_grammar *grammar) {
  if (2 * grammar->n_texts < grammar->n_text_slots) return true;
  const size_t n = grammar->n_text_slots ? 2 * grammar->n_text_slots : 64;
  struct tombola__text **const slots = tombola__new(&grammar->allocator, n, sizeof *slots);
  if (!slots) return false;
  for (size_t i = 0; i < grammar->n_text_slots; i++)
    if (grammar->texts[i]) *slot_of(slots, n, grammar->texts[i]->lang) = grammar->texts[i];
  tombola__free(&grammar->allocator, grammar->texts);
  grammar->texts = slots;
  grammar->n_text_slots = n;
  return true;
}

const struct tombola__text *tombola__mask_text(struct tombola_grammar *grammar, tombola__lang lang) {
  if (!make_space(grammar)) return NULL;
  struct tombola__text **const slot = slot_of(grammar->texts, grammar->n_text_slots, lang);
  if (*slot) return *slot;
  struct tombola__text *const text = make(grammar, lang);
  if (!text) return NULL;
  grammar->n_texts++;
  return *slot = text;
}

void tombola__mask_texts_free(struct tombola_grammar *grammar) {
  for (size_t i = 0; i < grammar->n_text_slots; i++)
    tombola__free(&grammar->allocator, grammar->texts[i]);
  for (size_t i = 0; i < grammar->n_bases; i++)
    tombola__free(&grammar->allocator, grammar->bases[i].words);
  tombola__free(&grammar->allocator, grammar->texts);
  tombola__free(&grammar->allocator, grammar->bases);
}
