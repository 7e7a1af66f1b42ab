/* SPDX-License-Identifier: Apache-2.0 */
/* Matchers: the input chooses a grammar and what is done to a matcher of it, and the same is done to one whose grammar
 * caches nothing. At every place: a token's bit is set exactly when it is accepted; what is refused changes nothing;
 * the masks of both are equal, and equal to those that were there when the same tokens had been accepted before (after
 * going back, after a reset, in a clone). The grammars stay from input to input, so that what is cached counts. */
#include "fuzz_constraint.h"

#define WORDS   ((FUZZ_TOKENS + 31) / 32)
#define LONGEST 48

static const struct tombola_mix_rule tools[] = {
    {"<t>", 3, TOMBOLA_GRAMMAR_JSON_OBJECT, NULL, 0, "</t>", 4, 0},
    {"ab", 2, TOMBOLA_GRAMMAR_REGEX, "[0-9a-f]{2,4}!", 14, NULL, 0, 0},
    {"{\"a\":", 5, TOMBOLA_GRAMMAR_JSON_SCHEMA, "{\"required\":[\"b\"]}", 18, "<eot>", 5, 1},
};

static const struct tombola_bytes choices[] = {
    {"aaa", 3}, {"aab", 3}, {"aa", 2}, {"\xE4\xB8\xAD\xE4\xB8\xAD", 6}, {"true", 4}};

static const struct tombola_grammar_source sources[] = {
    {.kind = TOMBOLA_GRAMMAR_JSON},
    {.kind = TOMBOLA_GRAMMAR_JSON, .whitespace = TOMBOLA_WHITESPACE_ANY, .free_prelude = 1},
    {.kind = TOMBOLA_GRAMMAR_JSON_OBJECT, .whitespace = TOMBOLA_WHITESPACE_NONE},
    {.kind = TOMBOLA_GRAMMAR_JSON_SCHEMA, .text = "{\"type\":\"string\",\"minLength\":1,\"maxLength\":30}"},
    {.kind = TOMBOLA_GRAMMAR_JSON_SCHEMA,
     .text = "{\"type\":\"array\",\"uniqueItems\":true,\"items\":{\"enum\":[1,12,\"a\",\"ab\",null,[]]}}"},
    {.kind = TOMBOLA_GRAMMAR_JSON_SCHEMA,
     .text = "{\"type\":\"array\",\"uniqueItems\":true,\"maxItems\":3}",
     .whitespace_max = 1},
    {.kind = TOMBOLA_GRAMMAR_JSON_SCHEMA,
     .text = "{\"type\":\"number\",\"minimum\":-3.5,\"exclusiveMaximum\":1200,\"multipleOf\":0.25}"},
    {.kind = TOMBOLA_GRAMMAR_JSON_SCHEMA,
     .text = "{\"anyOf\":[{\"properties\":{\"a\":{\"$ref\":\"#\"},\"b\":{\"minimum\":3}},\"required\":[\"a\"]"
             ",\"type\":\"object\"},{\"type\":\"array\",\"contains\":{\"const\":12},\"maxContains\":2},{"
             "\"const\":\"\\ud83d\\ude00\"}]}"},
    {.kind = TOMBOLA_GRAMMAR_JSON_SCHEMA,
     .text = "{\"oneOf\":[{\"required\":[\"a\"]},{\"required\":[\"b\"]}],\"patternProperties\":{\"^a\":{"
             "\"type\":[\"integer\",\"null\"]}},\"propertyNames\":{\"maxLength\":3},\"type\":\"object\"}"},
    {.kind = TOMBOLA_GRAMMAR_JSON_SCHEMA,
     .text = "{\"type\":\"string\",\"pattern\":\"^(a|ab)*[\\u00e9\\u4e2d]?$\",\"not\":{\"const\":\"aab\"}}"},
    {.kind = TOMBOLA_GRAMMAR_REGEX, .text = "(a|\xC3\xA9|\xF0\x9F\x98\x80){2,9}(-[0-9]+)?|true[^a]{3}"},
    {.kind = TOMBOLA_GRAMMAR_REGEX, .text = "[^\"]{0,12}"},
    {.kind = TOMBOLA_GRAMMAR_GBNF,
     .text = "root ::= \"[\" item (\",\" item)* \"]\" | \"a\" root?\nitem ::= [a-z]+ | [0-9]{1,3} | root"},
    {.kind = TOMBOLA_GRAMMAR_GBNF, .text = "root ::= \"a\" root \"a\" | \"a\" | [^a-b] root"},
    {.kind = TOMBOLA_GRAMMAR_CHOICE, .choices = choices, .n_choices = FUZZ_COUNT(choices)},
    {.kind = TOMBOLA_GRAMMAR_MIX, .rules = tools, .n_rules = FUZZ_COUNT(tools)},
};

/* What is known of a place: as long as the tokens in front of it stay the same, it does. */
struct place {
  uint32_t words[WORDS];
  uint32_t complete, engaged;
};

struct run {
  tombola_matcher *matcher, *uncached;
  tombola_token tokens[LONGEST];
  struct place places[LONGEST + 1];
  size_t n, known; /* tokens that are accepted; places that are filled in */
};

/* ---- one place ---- */

/* Where the mask is; false: a limit. */
static bool look(tombola_matcher *matcher, struct place *place, const tombola_token **ids, size_t *n_ids) {
  struct tombola_mask mask;
  if (!fuzz_mask(matcher, &mask)) return false;
  memset(place, 0, sizeof *place);
  memcpy(place->words, mask.words, sizeof place->words);
  if (FUZZ_TOKENS % 32) place->words[WORDS - 1] &= ((uint32_t)1 << FUZZ_TOKENS % 32) - 1;
  place->complete = tombola_matcher_is_complete(matcher) != 0;
  place->engaged = tombola_matcher_engaged(matcher) != 0;
  *ids = mask.ids;
  *n_ids = mask.n_ids;
  return true;
}

static void check_list(const struct place *place, const tombola_token *ids, size_t n) {
  const struct tombola_mask mask = {.words = place->words, .count = FUZZ_TOKENS};
  size_t set = 0;
  for (size_t i = 0; i < FUZZ_TOKENS; i++)
    set += fuzz_bit(&mask, i);
  FUZZ_ASSERT(set > 0);
  if (!ids) return;
  FUZZ_ASSERT(set == n);
  for (size_t i = 0; i < n; i++) {
    FUZZ_ASSERT(fuzz_bit(&mask, (size_t)ids[i]));
    FUZZ_ASSERT(i == 0 || ids[i - 1] < ids[i]);
  }
}

/* Every token by itself. False: a limit. */
static bool try_all(tombola_matcher *matcher, const struct place *place) {
  const struct tombola_mask mask = {.words = place->words, .count = FUZZ_TOKENS};
  for (size_t i = 0; i < FUZZ_TOKENS; i++) {
    const enum tombola_status status = tombola_matcher_accept(matcher, (tombola_token)i, NULL);
    if (status == TOMBOLA_OUT_OF_RANGE) return false;
    FUZZ_ASSERT(status == (fuzz_bit(&mask, i) ? TOMBOLA_OK : TOMBOLA_INVALID_ARGUMENT));
    if (status == TOMBOLA_OK) FUZZ_ASSERT(tombola_matcher_rollback(matcher, 1) == TOMBOLA_OK);
  }
  return true;
}

/* The place where the run is. */
static bool check_place(struct run *r, bool all) {
  struct place cached, uncached;
  const tombola_token *ids;
  size_t n;
  FUZZ_ASSERT(tombola_matcher_accepted(r->matcher) == r->n && tombola_matcher_accepted(r->uncached) == r->n);
  if (!look(r->matcher, &cached, &ids, &n)) return false;
  check_list(&cached, ids, n);
  if (!look(r->uncached, &uncached, &ids, &n)) return false;
  check_list(&uncached, ids, n);
  FUZZ_ASSERT(memcmp(&cached, &uncached, sizeof cached) == 0);
  if (r->n < r->known) FUZZ_ASSERT(memcmp(&cached, &r->places[r->n], sizeof cached) == 0);
  r->places[r->n] = cached;
  if (r->known <= r->n) r->known = r->n + 1;
  if (!all) return true;
  if (!try_all(r->uncached, &cached) || !look(r->uncached, &uncached, &ids, &n)) return false;
  FUZZ_ASSERT(memcmp(&cached, &uncached, sizeof cached) == 0);
  return true;
}

/* ---- moves ---- */

static bool accept(struct run *r, tombola_token token) {
  if (r->n == LONGEST) return true;
  const struct tombola_mask mask = {.words = r->places[r->n].words, .count = FUZZ_TOKENS};
  const bool allowed = fuzz_bit(&mask, (size_t)token);
  const enum tombola_status status = tombola_matcher_accept(r->matcher, token, NULL);
  const enum tombola_status other = tombola_matcher_accept(r->uncached, token, NULL);
  if (status == TOMBOLA_OUT_OF_RANGE || other == TOMBOLA_OUT_OF_RANGE) return false;
  FUZZ_ASSERT(status == (allowed ? TOMBOLA_OK : TOMBOLA_INVALID_ARGUMENT) && status == other);
  if (!allowed) return true;
  if (r->n + 1 < r->known && r->tokens[r->n] != token) r->known = r->n + 1;
  r->tokens[r->n++] = token;
  return true;
}

static void go_back(struct run *r, size_t n) {
  FUZZ_ASSERT(tombola_matcher_rollback(r->matcher, r->n + 1) == TOMBOLA_OUT_OF_RANGE);
  FUZZ_ASSERT(tombola_matcher_rollback(r->matcher, n) == TOMBOLA_OK);
  FUZZ_ASSERT(tombola_matcher_rollback(r->uncached, n) == TOMBOLA_OK);
  r->n -= n;
}

static bool be_cloned(struct run *r) {
  tombola_matcher *clone;
  if (tombola_matcher_clone(r->matcher, &clone, NULL)) return false;
  tombola_matcher_free(r->matcher);
  r->matcher = clone;
  return true;
}

static bool move(struct run *r, struct fuzz_input *in) {
  const size_t kind = fuzz_below(in, 16), which = fuzz_below(in, FUZZ_TOKENS);
  const struct tombola_mask mask = {.words = r->places[r->n].words, .count = FUZZ_TOKENS};
  if (kind < 9) return accept(r, fuzz_allowed(&mask, which));
  if (kind < 11) return accept(r, (tombola_token)which);
  if (kind < 13 && r->n + 1 < r->known) return accept(r, r->tokens[r->n]); /* again, after going back */
  if (kind < 14) {
    go_back(r, which % (r->n + 1));
  } else if (kind == 14) {
    return be_cloned(r);
  } else if (which % 4 == 0) {
    tombola_matcher_reset(r->matcher);
    tombola_matcher_reset(r->uncached);
    r->n = 0;
  } else {
    fuzz_forced(r->matcher, &mask);
  }
  return true;
}

/* ---- grammars ---- */

static tombola_grammar *grammars[FUZZ_COUNT(sources)][2];

static tombola_grammar *compile(size_t i, size_t mask_bytes) {
  struct tombola_grammar_limits limits = {.struct_size = sizeof limits, .mask_bytes = mask_bytes};
  struct tombola_grammar_source source = sources[i];
  struct tombola_error error;
  tombola_grammar *grammar;
  source.struct_size = sizeof source;
  source.length = source.text ? strlen(source.text) : 0;
  source.limits = &limits;
  const enum tombola_status status = tombola_grammar_new(&source, fuzz_trie(), NULL, &grammar, NULL, &error);
  if (status) fprintf(stderr, "%zu: %s\n", i, error.message);
  FUZZ_ASSERT(status == TOMBOLA_OK);
  return grammar;
}

/* New ones now and then: what they hold only grows. */
static void renew(void) {
  static size_t inputs;
  const bool now = inputs++ % 4000 == 0;
  for (size_t i = 0; now && i < FUZZ_COUNT(sources); i++)
    for (size_t k = 0; k < 2; k++) {
      tombola_grammar_free(grammars[i][k]);
      grammars[i][k] = compile(i, k ? 1 : 1 << 20);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static struct run r;
  struct fuzz_input in = {data, size, 0};
  renew();
  const size_t which = fuzz_below(&in, FUZZ_COUNT(sources));
  memset(&r, 0, sizeof r);
  FUZZ_ASSERT(tombola_matcher_new(grammars[which][0], NULL, &r.matcher, NULL) == TOMBOLA_OK);
  FUZZ_ASSERT(tombola_matcher_new(grammars[which][1], NULL, &r.uncached, NULL) == TOMBOLA_OK);
  for (size_t i = 0; i < 40 && check_place(&r, i % 4 == 0); i++)
    if (!move(&r, &in)) break;
  tombola_matcher_free(r.matcher);
  tombola_matcher_free(r.uncached);
  return 0;
}
