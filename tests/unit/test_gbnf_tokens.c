/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of a GBNF grammar that are tokens: what llama.cpp's own tests of them say, which tokens a text names, and
 * random grammars over a small vocabulary, token by token, against the table of spans. */
#include "gbnf_grammars.h"

#include <stdlib.h>

#define MOST 16

/* ---- vocabularies ---- */

struct word {
  const char *bytes;
  unsigned flags;
};

struct vocabulary {
  tombola_vocabulary *tokens;
  tombola_trie *trie;
};

static struct vocabulary open_vocabulary(const struct word *words, size_t n, tombola_tokenize_fn tokenize,
                                         void *context) {
  char bytes[1024] = "";
  size_t offsets[64] = {0};
  uint8_t flags[64];
  struct vocabulary v = {NULL, NULL};
  for (size_t i = 0; i < n; i++) {
    const size_t length = strlen(words[i].bytes);
    memcpy(bytes + offsets[i], words[i].bytes, length);
    flags[i] = (uint8_t)words[i].flags;
    offsets[i + 1] = offsets[i] + length;
  }
  const struct tombola_vocabulary_source source = {.struct_size = sizeof source,
                                                   .count = n,
                                                   .bytes = bytes,
                                                   .offsets = offsets,
                                                   .flags = flags,
                                                   .tokenize = tokenize,
                                                   .tokenize_context = context};
  assert_int_equal(tombola_vocabulary_new(&source, NULL, &v.tokens, NULL), TOMBOLA_OK);
  assert_int_equal(tombola_trie_new(v.tokens, NULL, &v.trie, NULL), TOMBOLA_OK);
  return v;
}

static void close_vocabulary(struct vocabulary *v) {
  tombola_trie_free(v->trie);
  tombola_vocabulary_free(v->tokens);
}

static enum tombola_status compile(const char *text, size_t length, const struct vocabulary *v,
                                   tombola_grammar **grammar, struct tombola_error *error) {
  const struct tombola_grammar_source source = {
      .struct_size = sizeof source, .kind = TOMBOLA_GRAMMAR_GBNF, .text = text, .length = length};
  return tombola_grammar_new(&source, v ? v->trie : NULL, NULL, grammar, NULL, error);
}

static tombola_matcher *matcher_of(const char *text, const struct vocabulary *v) {
  tombola_grammar *grammar = NULL;
  tombola_matcher *matcher = NULL;
  struct tombola_error error = {.message = ""};
  if (compile(text, strlen(text), v, &grammar, &error)) fail_msg("%s\n%s", text, error.message);
  assert_int_equal(tombola_matcher_new(grammar, NULL, &matcher, NULL), TOMBOLA_OK);
  tombola_grammar_free(grammar);
  return matcher;
}

static bool bit(const struct tombola_mask *mask, size_t token) {
  return mask->words[token / 32] >> token % 32 & 1;
}

static bool is_allowed(tombola_matcher *m, tombola_token token) {
  struct tombola_mask mask;
  const enum tombola_status status = tombola_matcher_mask(m, &mask, NULL);
  assert_true(status == TOMBOLA_OK || status == TOMBOLA_NO_CANDIDATE);
  return status == TOMBOLA_OK && bit(&mask, (size_t)token);
}

/* As its mask says. */
static bool accept(tombola_matcher *m, tombola_token token) {
  const bool allowed = is_allowed(m, token);
  const size_t before = tombola_matcher_accepted(m);
  const enum tombola_status status = tombola_matcher_accept(m, token, NULL);
  assert_int_equal(status, allowed ? TOMBOLA_OK : TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(tombola_matcher_accepted(m), before + allowed);
  return allowed;
}

/* ---- llama.cpp's own ---- */

/* The ids of its tests are special tokens here, and their text is single letters. */
enum { LETTERS_FROM = 32, NO_MORE = 31 };

static struct vocabulary open_letters(void) {
  static char spelled[32][8];
  struct word words[59];
  for (size_t i = 0; i < 32; i++) {
    snprintf(spelled[i], sizeof spelled[i], "<t%zu>", i);
    words[i] = (struct word){spelled[i], i == NO_MORE ? TOMBOLA_TOKEN_END : TOMBOLA_TOKEN_SPECIAL};
  }
  static char letters[27][2];
  for (size_t i = 0; i < 27; i++) {
    letters[i][0] = i == 26 ? ' ' : (char)('a' + i);
    words[LETTERS_FROM + i] = (struct word){letters[i], 0};
  }
  return open_vocabulary(words, 59, NULL, NULL);
}

/* Letters are themselves, and a capital one is the token A: 10, B: 11, … */
static bool is_whole(tombola_matcher *m, const char *text) {
  bool fits = true;
  for (; *text && fits; text++) {
    const tombola_token token = *text >= 'A' && *text <= 'Z' ? 10 + *text - 'A'
                                : *text == ' '               ? LETTERS_FROM + 26
                                                             : LETTERS_FROM + *text - 'a';
    fits = accept(m, token);
  }
  const bool whole = fits && tombola_matcher_is_complete(m);
  assert_int_equal(whole, fits && is_allowed(m, NO_MORE));
  tombola_matcher_reset(m);
  return whole;
}

static const struct {
  const char *grammar, *good[MOST], *bad[MOST];
} worked[] = {
    {"root ::= <[10]> content <[11]>\ncontent ::= (!<[11]>)*",
     {"Ahello worldB", "Atext withC other tokens D mixed inB", "AB", "ACDEFB", "AaB", "AAB"},
     {"", "Ano end", "A", "no startB", "ABB", "Bwrong orderA", "ABa"}},
    {"root ::= reasoning+ content tool-call*\nreasoning ::= <[10]> (!<[11]>)* <[11]>\n"
     "content ::= <[20]> (!<[21]>)* <[21]>\ntool-call ::= <[12]> name <[13]> args <[14]>\n"
     "name ::= (!<[13]>)+\nargs ::= (!<[14]>)*",
     {"Ai am thinkingBKhello worldLCsearchDqueryE", "AoneBAtwoBKLCtoolDE", "ABKcontentL",
      "AthinkC nestedBKA more contentLCfnDxyECfnDE", "AaBAbBAcBKtextLCaDbECcDdE"},
     {"KcontentL", "Ano end", "ABKno end", "ABKLCno end", "ABBKL", "ABKLCDE"}},
    {"root ::= <[10]> !<[11]> <[11]>", {"AaB", "ACB", "AAB"}, {"AB", "ABB", "AaaB", "Aa"}},
    {"root ::= <t10> thinking <t11> .*\nthinking ::= !<t11>*", /* as in its manual */
     {"AB", "Aa CD bBthen text", "AAB"},
     {"aB", "ABC", "A"}},
    {"root ::= \"ab\" <[10]>{2,3} [c-d]? !<[10]>{1}", /* next to characters */
     {"abAAc", "abAAAcd", "abAAB", "abAAdB"},
     {"abA", "abAc", "abAAAA", "abAAcA", "aAAc", "abAAcdd"}},
    {"root ::= \"a\" | <[10]> root <[11]> | !<[10]> \"z\"", /* recursion, and two readings of one token */
     {"a", "AaB", "AAaBB", "az", "ABzB", "Bz", "AAazBB"},
     {"Aa", "AB", "Az", "AAaB", "aB", "z"}},
    {"root ::= pair*\npair ::= <[10]> pair <[11]> | <[12]>?",
     {"", "C", "AB", "ACBC", "AABBC"},
     {"A", "B", "ACCB"}},
    {"root ::= (<[10]>? | \"a\"){2} <[31]>?",
     {"", "A", "Aa", "aA", "AA"},
     {"AAA", "aaA"}}, /* 31 is an end token */
    {"root ::= \"a\" | <[77]>", {"a"}, {"A", ""}},
    {"root ::= !<[77]>", {"a", "A"}, {"", "aa"}},
};

static void grammars_accept_their_tokens(void **state) {
  (void)state;
  struct vocabulary v = open_letters();
  for (size_t i = 0; i < TOMBOLA__COUNT(worked); i++) {
    tombola_matcher *const m = matcher_of(worked[i].grammar, &v);
    for (size_t k = 0; k < MOST && worked[i].good[k]; k++)
      if (!is_whole(m, worked[i].good[k])) fail_msg("%s\nrefuses %s", worked[i].grammar, worked[i].good[k]);
    for (size_t k = 0; k < MOST && worked[i].bad[k]; k++)
      if (is_whole(m, worked[i].bad[k])) fail_msg("%s\naccepts %s", worked[i].grammar, worked[i].bad[k]);
    tombola_matcher_free(m);
  }
  close_vocabulary(&v);
}

/* ---- errors ---- */

static const struct {
  const char *grammar;
  enum tombola_status status;
  size_t offset;
  const char *says;
} wrong[] = {
    {"root ::= <[1>", TOMBOLA_FORMAT, 12, "expected ]"},
    {"root ::= <[]>", TOMBOLA_FORMAT, 11, "expected a number"},
    {"root ::= <[1] >", TOMBOLA_FORMAT, 13, "expected > behind"},
    {"root ::= <[4294967295]>", TOMBOLA_OUT_OF_RANGE, 11, "4294967294"},
    {"root ::= <t1", TOMBOLA_FORMAT, 12, "expected > at the end"},
    {"root ::= !\"a\"", TOMBOLA_FORMAT, 10, "expected < behind"},
    {"root ::= \"a\" !<think>", TOMBOLA_FORMAT, 14, "exactly one token, not <think>"},
    {"root ::= \"a\" !<think>", TOMBOLA_FORMAT, 14, "the vocabulary has no such token"},
    {"root ::= <[31]>", TOMBOLA_NO_CANDIDATE, 0,
     "(line 1, byte 9: <[31]> is an end token, which no grammar holds"},
    {"root ::= \"a\" x\nx ::= <t31>", TOMBOLA_NO_CANDIDATE, 0, "(line 2, byte 21: <t31> is an end token"},
    {"root ::= \"a\" <[59]>", TOMBOLA_NO_CANDIDATE, 0,
     "(line 1, byte 13: <[59]> is no token of the vocabulary)"},
    {"root ::= <[1]> root", TOMBOLA_NO_CANDIDATE, 0, ""},
    {"root ::= root <[1]> | \"a\"", TOMBOLA_UNSUPPORTED, 0, "the rule root begins with itself"},
};

static void errors_say_where(void **state) {
  (void)state;
  struct vocabulary v = open_letters();
  tombola_grammar *grammar = NULL;
  for (size_t i = 0; i < TOMBOLA__COUNT(wrong); i++) {
    struct tombola_error error = {.message = ""};
    const enum tombola_status status =
        compile(wrong[i].grammar, strlen(wrong[i].grammar), &v, &grammar, &error);
    if (status != wrong[i].status || error.offset != wrong[i].offset || !strstr(error.message, wrong[i].says))
      fail_msg("%s\n%s at %zu: %s", wrong[i].grammar, tombola_status_name(status), error.offset,
               error.message);
  }
  static const char text[] = "root ::= \"a\" !<[1]>";
  struct tombola_error error = {.message = ""};
  assert_int_equal(compile(text, strlen(text), NULL, &grammar, &error), TOMBOLA_UNSUPPORTED);
  assert_int_equal(error.offset, 13);
  close_vocabulary(&v);
  static const struct word lonely[] = {{"a", 0}, {"", 0}, {"z", TOMBOLA_TOKEN_END}};
  static const char other[] = "root ::= !<[0]>";
  v = open_vocabulary(lonely, TOMBOLA__COUNT(lonely), NULL, NULL); /* there is no other token */
  assert_int_equal(compile(other, strlen(other), &v, &grammar, NULL), TOMBOLA_NO_CANDIDATE);
  close_vocabulary(&v);
}

/* ---- texts ---- */

static const struct word named[] = {
    {"<a>", 0},
    {"<b>", 0},
    {"<a>", TOMBOLA_TOKEN_SPECIAL},
    {"<b>", 0},
    {"<c>", TOMBOLA_TOKEN_UNUSED},
    {"<c>", 0},
    {"<d>", TOMBOLA_TOKEN_END},
    {"<", 0},
    {"<d>x", 0},
    {"x>", 0},
};

/* Which of them a grammar takes first, as bits. */
static unsigned takes(const char *grammar, const struct vocabulary *v, enum tombola_status expected) {
  tombola_grammar *g = NULL;
  const enum tombola_status status = compile(grammar, strlen(grammar), v, &g, NULL);
  if (status != expected) fail_msg("%s: %s", grammar, tombola_status_name(status));
  tombola_grammar_free(g);
  if (status) return 0;
  tombola_matcher *const m = matcher_of(grammar, v);
  unsigned bits = 0;
  for (unsigned i = 0; i < TOMBOLA__COUNT(named); i++)
    if (accept(m, (tombola_token)i)) {
      bits |= 1u << i;
      assert_int_equal(tombola_matcher_rollback(m, 1), TOMBOLA_OK);
    }
  tombola_matcher_free(m);
  return bits;
}

static void texts_name_tokens_by_their_bytes(void **state) {
  (void)state;
  struct vocabulary v = open_vocabulary(named, TOMBOLA__COUNT(named), NULL, NULL);
  assert_int_equal(takes("root ::= <a>", &v, TOMBOLA_OK), 1u << 2); /* the special one */
  assert_int_equal(takes("root ::= !<a>", &v, TOMBOLA_OK), 0x3AB);
  assert_int_equal(takes("root ::= <b>", &v, TOMBOLA_FORMAT), 0); /* which one? */
  assert_int_equal(takes("root ::= <c>", &v, TOMBOLA_OK), 1u << 5);
  assert_int_equal(takes("root ::= <d> | <[7]>", &v, TOMBOLA_OK), 1u << 7); /* an end is none */
  assert_int_equal(takes("root ::= !<d>", &v, TOMBOLA_OK), 0x3AF);
  assert_int_equal(takes("root ::= <>", &v, TOMBOLA_FORMAT), 0);
  assert_int_equal(takes("root ::= \"<a>\"", &v, TOMBOLA_OK), 0x81); /* characters: no special token */
  assert_int_equal(takes("root ::= \"<a>\" | <[2]>", &v, TOMBOLA_OK), 0x85);
  assert_int_equal(takes("root ::= <[2]> | !<[2]>", &v, TOMBOLA_OK), 0x3AF);
  assert_int_equal(takes("root ::= !<[0]> | \"<\" .*", &v, TOMBOLA_OK), 0x3AF); /* its bytes may be read */
  assert_int_equal(takes("root ::= !<[0]> | !<[1]>", &v, TOMBOLA_OK), 0x3AF);
  assert_int_equal(takes("root ::= !<[8]> | \"<d>\" <[1]>", &v, TOMBOLA_OK),
                   0x2AF); /* not with bytes behind it */
  close_vocabulary(&v);
}

/* The tokens of <1>, <22>, … are as many as digits. */
static enum tombola_status tokenize(void *context, const char *text, size_t length, int special,
                                    tombola_token *tokens, size_t capacity, size_t *count) {
  *(int *)context = special;
  *count = length - 2;
  if (length > 2 && text[1] == 'f') return TOMBOLA_NO_MEMORY;
  for (size_t i = 0; i < *count && i < capacity; i++)
    tokens[i] = text[1 + i] - '0';
  return *count > capacity ? TOMBOLA_OUT_OF_RANGE : TOMBOLA_OK;
}

static void texts_name_tokens_by_the_tokeniser(void **state) {
  (void)state;
  int special = 0;
  struct vocabulary v = open_vocabulary(named, TOMBOLA__COUNT(named), tokenize, &special);
  assert_int_equal(takes("root ::= <3>", &v, TOMBOLA_OK), 1u << 3);
  assert_int_equal(special, 1);
  assert_int_equal(takes("root ::= !<3>", &v, TOMBOLA_OK), 0x3A7);
  assert_int_equal(takes("root ::= <>", &v, TOMBOLA_FORMAT), 0);
  assert_int_equal(takes("root ::= <12>", &v, TOMBOLA_FORMAT), 0);
  assert_int_equal(takes("root ::= <123>", &v, TOMBOLA_FORMAT), 0);
  assert_int_equal(takes("root ::= <f>", &v, TOMBOLA_NO_MEMORY), 0);
  close_vocabulary(&v);
}

/* ---- matchers ---- */

/* Bytes never take a token, and nothing is forced in front of one. */
static void bytes_are_no_tokens(void **state) {
  (void)state;
  struct vocabulary v = open_letters();
  tombola_matcher *const m = matcher_of("root ::= \"ab\" <[10]> \"cd\" | \"abz\" <t11>", &v);
  char forced[8];
  size_t length, fit;
  assert_int_equal(tombola_matcher_forced(m, forced, sizeof forced, &length, NULL), TOMBOLA_OK);
  assert_int_equal(length, 2);
  assert_int_equal(tombola_matcher_accept_bytes(m, "ab<t10>", 7, &fit, NULL), TOMBOLA_INVALID_ARGUMENT);
  assert_int_equal(fit, 2);
  assert_int_equal(tombola_matcher_accept_bytes(m, "ab", 2, NULL, NULL), TOMBOLA_OK);
  assert_int_equal(tombola_matcher_forced(m, forced, sizeof forced, &length, NULL), TOMBOLA_OK);
  assert_int_equal(length, 0); /* z is the only byte, but not the only token */
  for (unsigned byte = 0; byte < 256; byte++)
    if (byte != 'z')
      assert_int_equal(tombola_matcher_accept_bytes(m, &(char){(char)byte}, 1, NULL, NULL),
                       TOMBOLA_INVALID_ARGUMENT);
  assert_true(accept(m, 10));
  assert_int_equal(tombola_matcher_forced(m, forced, sizeof forced, &length, NULL), TOMBOLA_OK);
  assert_int_equal(length, 2);
  tombola_matcher *copy = NULL;
  assert_int_equal(tombola_matcher_accept_bytes(m, "c", 1, NULL, NULL), TOMBOLA_OK);
  assert_int_equal(tombola_matcher_clone(m, &copy, NULL), TOMBOLA_OK);
  assert_int_equal(tombola_matcher_accept_bytes(copy, "d", 1, NULL, NULL), TOMBOLA_OK);
  assert_true(tombola_matcher_is_complete(copy));
  assert_int_equal(tombola_matcher_rollback(copy, 3), TOMBOLA_OK);
  assert_int_equal(tombola_matcher_accepted(copy), 1);
  assert_true(accept(copy, LETTERS_FROM + 25) && accept(copy, 11) && tombola_matcher_is_complete(copy));
  assert_false(tombola_matcher_is_complete(m));
  tombola_matcher_free(copy);
  tombola_matcher_free(m);
  close_vocabulary(&v);
}

/* A long answer that was read without a mask has one at its end: nothing recurses by its length. */
static void long_answers_have_masks(void **state) {
  (void)state;
  struct vocabulary v = open_letters();
  tombola_matcher *const m = matcher_of("root ::= <[10]> root <[11]> | \"a\"", &v);
  const size_t n = 200000;
  for (size_t i = 0; i < n; i++)
    assert_int_equal(tombola_matcher_accept(m, 10, NULL), TOMBOLA_OK);
  assert_true(accept(m, LETTERS_FROM));
  for (size_t i = 0; i < n; i++)
    assert_int_equal(tombola_matcher_accept(m, 11, NULL), TOMBOLA_OK);
  assert_true(tombola_matcher_is_complete(m) && !accept(m, 11) && accept(m, NO_MORE));
  tombola_matcher_free(m);
  close_vocabulary(&v);
}

/* Inside of a mix: a special token that ends a rule is its end text, and what the rule's grammar takes. */
static void tokens_in_a_mix(void **state) {
  (void)state;
  struct vocabulary v = open_letters();
  static const char text[] = "root ::= \"x\" (!<t12> \"y\")*";
  const struct tombola_mix_rule rule = {.trigger = "<t10>",
                                        .trigger_length = 5,
                                        .kind = TOMBOLA_GRAMMAR_GBNF,
                                        .text = text,
                                        .length = sizeof text - 1,
                                        .end = "<t11>",
                                        .end_length = 5};
  const struct tombola_grammar_source source = {
      .struct_size = sizeof source, .kind = TOMBOLA_GRAMMAR_MIX, .rules = &rule, .n_rules = 1};
  tombola_grammar *grammar = NULL;
  tombola_matcher *m = NULL;
  assert_int_equal(tombola_grammar_new(&source, v.trie, NULL, &grammar, NULL, NULL), TOMBOLA_OK);
  assert_int_equal(tombola_matcher_new(grammar, NULL, &m, NULL), TOMBOLA_OK);
  tombola_grammar_free(grammar);
  enum { X = LETTERS_FROM + 23, Y };
  assert_true(accept(m, X) && !accept(m, 11) && !accept(m, 13) && accept(m, 10));
  assert_true(!accept(m, 10) && !accept(m, 13) && accept(m, X) && !accept(m, 12) && accept(m, 13));
  assert_true(tombola_matcher_engaged(m) && accept(m, Y) && accept(m, 11));
  /* The last one is the end of the rule, or taken by its grammar, which goes on with y and another token. */
  assert_true(tombola_matcher_is_complete(m) && accept(m, X) && !accept(m, 13));
  assert_int_equal(tombola_matcher_rollback(m, 1), TOMBOLA_OK);
  assert_true(accept(m, Y) && tombola_matcher_is_complete(m) && accept(m, 13));
  assert_true(tombola_matcher_engaged(m) && !tombola_matcher_is_complete(m));
  assert_int_equal(tombola_matcher_rollback(m, 3), TOMBOLA_OK);
  assert_true(tombola_matcher_engaged(m) && accept(m, X) && !accept(m, 14));
  tombola_matcher_free(m);
  close_vocabulary(&v);
}

/* ---- random grammars ---- */

/* Texts that spell the same, and the letters that grammars are made of. */
static const struct word words[] = {
    {"a", 0},
    {"b", 0},
    {"ab", 0},
    {"a", 0},
    {"ab", TOMBOLA_TOKEN_SPECIAL},
    {"", TOMBOLA_TOKEN_SPECIAL},
    {"b", TOMBOLA_TOKEN_SPECIAL},
    {"", 0},
    {"b", TOMBOLA_TOKEN_UNUSED},
    {"a", TOMBOLA_TOKEN_END},
};
enum { WORDS = TOMBOLA__COUNT(words), THE_END = 9, DEEPEST = 4, RANDOM = 400 };
static const bool matchable[WORDS] = {true, true, true, true, true, true, true};
static const struct tokens tokens = {WORDS, matchable};

struct walk {
  const struct grammar *g;
  tombola_matcher *matcher;
  struct table table;
  char text[LONGEST + 1];
  unsigned ids[LONGEST], at[LONGEST + 1], n;
  unsigned long masks, allowed;
};

/* Puts a token behind those that are there; false: no room. One without bytes has a place of its own. */
static bool add(struct walk *w, unsigned id) {
  const size_t length = strlen(words[id].bytes), places = length ? length : 1;
  const unsigned from = w->at[w->n];
  if (from + places > LONGEST) return false;
  for (size_t i = 0; i < places; i++) /* letters read no special token */
    w->text[from + i] = words[id].flags ? 0 : words[id].bytes[i];
  w->ids[w->n++] = id;
  w->at[w->n] = from + (unsigned)places;
  return true;
}

static unsigned fate(struct walk *w) {
  w->table = (struct table){
      .g = w->g, .text = w->text, .length = w->at[w->n], .ids = w->ids, .at = w->at, .n_ids = w->n};
  fill(&w->table);
  return fate_of(&w->table);
}

/* The fate of the text with one more token. */
static unsigned fate_with(struct walk *w, unsigned id) {
  assert_true(add(w, id));
  const unsigned found = matchable[id] ? fate(w) : DEAD;
  w->n--;
  return found;
}

static void check_mask(struct walk *w, const struct tombola_mask *mask, bool whole) {
  for (unsigned id = 0; id < WORDS; id++) {
    const bool expected = id == THE_END ? whole : fate_with(w, id) != DEAD;
    if (bit(mask, id) != expected)
      fail_msg("%s\ntoken %u is %s behind %u tokens, the last %u", w->g->text, id,
               expected ? "missing" : "too much", w->n, w->n ? w->ids[w->n - 1] : 0);
    w->allowed += expected;
    if (!expected)
      assert_int_equal(tombola_matcher_accept(w->matcher, (tombola_token)id, NULL), TOMBOLA_INVALID_ARGUMENT);
  }
  assert_int_equal(mask->words[0] >> WORDS, 0);
  w->masks++;
}

static void explore(struct walk *w) {
  struct tombola_mask mask;
  const bool whole = fate(w) == WHOLE;
  assert_int_equal(tombola_matcher_is_complete(w->matcher), whole);
  if (w->n == DEEPEST || w->at[w->n] + 2 > LONGEST) return;
  assert_int_equal(tombola_matcher_mask(w->matcher, &mask, NULL), TOMBOLA_OK);
  const uint32_t allowed = mask.words[0];
  for (size_t i = 0; mask.ids && i < mask.n_ids; i++)
    assert_true(bit(&mask, (size_t)mask.ids[i]) && (i == 0 || mask.ids[i - 1] < mask.ids[i]));
  check_mask(w, &mask, whole);
  for (unsigned id = 0; id < THE_END; id++) {
    if (!(allowed >> id & 1)) continue;
    assert_int_equal(tombola_matcher_accept(w->matcher, (tombola_token)id, NULL), TOMBOLA_OK);
    assert_true(add(w, id));
    explore(w);
    w->n--;
    assert_int_equal(tombola_matcher_rollback(w->matcher, 1), TOMBOLA_OK);
  }
  tombola_matcher *copy = NULL; /* and is as it was */
  assert_int_equal(tombola_matcher_clone(w->matcher, &copy, NULL), TOMBOLA_OK);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(tombola_matcher_mask(i ? copy : w->matcher, &mask, NULL), TOMBOLA_OK);
    assert_int_equal(mask.words[0], allowed);
  }
  assert_int_equal(tombola_matcher_accepted(copy), w->n);
  assert_int_equal(tombola_matcher_rollback(copy, w->n), TOMBOLA_OK);
  tombola_matcher_free(copy);
}

static void random_grammars_token_by_token(void **state) {
  (void)state;
  struct vocabulary v = open_vocabulary(words, WORDS, NULL, NULL);
  struct support_rng rng = support_rng(67);
  static struct grammar g;
  static struct walk w;
  unsigned read = 0;
  w = (struct walk){.g = &g};
  for (unsigned i = 0; i < RANDOM * (support_long() ? 10 : 1); i++) {
    tombola_grammar *grammar = NULL;
    struct tombola_error error = {.message = ""};
    make_grammar(&g, &tokens, &rng);
    analyse(&g);
    /* The rest of its text: a root of another name. */
    char text[sizeof g.text + 32];
    const int length = snprintf(text, sizeof text, "%sroot ::= root0\n", g.text);
    const enum tombola_status status = compile(text, (size_t)length, &v, &grammar, &error);
    if (status != expected_status(&g)) fail_msg("%s\n%d %s", text, (int)status, error.message);
    if (status) continue;
    assert_int_equal(tombola_matcher_new(grammar, NULL, &w.matcher, NULL), TOMBOLA_OK);
    explore(&w);
    tombola_matcher_free(w.matcher);
    tombola_grammar_free(grammar);
    read++;
  }
  print_message("%u grammars, %lu masks, %lu tokens allowed\n", read, w.masks, w.allowed);
  assert_true(read > RANDOM / 3 && w.masks > 5 * read && w.allowed > 2 * w.masks);
  close_vocabulary(&v);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(grammars_accept_their_tokens),
      cmocka_unit_test(errors_say_where),
      cmocka_unit_test(texts_name_tokens_by_their_bytes),
      cmocka_unit_test(texts_name_tokens_by_the_tokeniser),
      cmocka_unit_test(bytes_are_no_tokens),
      cmocka_unit_test(long_answers_have_masks),
      cmocka_unit_test(tokens_in_a_mix),
      cmocka_unit_test(random_grammars_token_by_token),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
