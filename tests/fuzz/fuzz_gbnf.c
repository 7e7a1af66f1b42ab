/* SPDX-License-Identifier: Apache-2.0 */
/* GBNF grammars: whatever the text is, it ends in a status, or in a grammar that can be walked through. The input's
 * bytes choose rules and what is in them, or are the text; or they are the rules of a mix. */
#include "fuzz_constraint.h"

static void put_sequence(struct fuzz_text *t, struct fuzz_input *in, unsigned depth);

static void put_alternatives(struct fuzz_text *t, struct fuzz_input *in, unsigned depth) {
  put_sequence(t, in, depth);
  for (size_t n = fuzz_below(in, 3); n > 0; n--) {
    fuzz_put(t, " | ");
    put_sequence(t, in, depth);
  }
}

static void put_item(struct fuzz_text *t, struct fuzz_input *in, unsigned depth) {
  static const char *const items[] = {"\"a\"",
                                      "\"b\"",
                                      "\"ab\"",
                                      "[ab]",
                                      "[^a]",
                                      "[a-c]",
                                      "\"\\\"\"",
                                      "\"\\u00e9\"",
                                      "[\\x00-\\x1f]",
                                      ".",
                                      "\"\"",
                                      "[^\"\\\\]",
                                      "\"{\"",
                                      "\"}\"",
                                      "\"\xE4\xB8\xAD\"",
                                      "[\\U0001F600-\\U0001F64F]",
                                      "a",
                                      "b",
                                      "c",
                                      "root",
                                      "ws",
                                      "\"true\"",
                                      "<t>",
                                      "!<t>",
                                      "<[97]>",
                                      "!<[98]>",
                                      "<[263]>",
                                      "<</s>>",
                                      "</t>",
                                      "<[9999]>",
                                      "<nothing>"};
  static const char *const repeats[] = {"",      "",     "",    "*",     "+",    "?",        "{2}",
                                        "{0,3}", "{1,}", "{0}", "{2,5}", "{90}", "{0,70000}"};
  const size_t i = fuzz_below(in, FUZZ_COUNT(items) + 3);
  if (i < FUZZ_COUNT(items)) {
    fuzz_put(t, "%s", items[i]);
  } else if (depth) {
    fuzz_put(t, "(");
    put_alternatives(t, in, depth - 1);
    fuzz_put(t, ")");
  } else {
    fuzz_put(t, "b");
  }
  fuzz_put(t, "%s", repeats[fuzz_below(in, FUZZ_COUNT(repeats))]);
}

static void put_sequence(struct fuzz_text *t, struct fuzz_input *in, unsigned depth) {
  const size_t n = fuzz_below(in, 4);
  if (n && fuzz_below(in, 8))
    fuzz_put(t, "\"%c\" ", (char)('a' + fuzz_below(in, 2))); /* else it may begin with itself */
  for (size_t i = 0; i < n; i++) {
    put_item(t, in, depth);
    fuzz_put(t, " ");
  }
}

static void put_rules(struct fuzz_text *t, struct fuzz_input *in) {
  static const char *const names[] = {"root", "a", "b", "c"};
  for (size_t i = 0; i < FUZZ_COUNT(names); i++) {
    fuzz_put(t, "%s ::= (", names[i]);
    put_alternatives(t, in, 2);
    fuzz_put(t, ")\n");
  }
  fuzz_put(t, "ws ::= [ \\t\\n]{0,2} # white space\n");
}

static void check(struct tombola_grammar_source *source, struct fuzz_input *in) {
  tombola_grammar *const grammar = fuzz_compile(source);
  if (!grammar) return;
  fuzz_walk(grammar, in, 24);
  fuzz_walk(grammar, in, 24);
  tombola_grammar_free(grammar);
}

/* The rule behind triggers that may begin with each other. */
static void check_mix(const struct fuzz_text *t, struct fuzz_input *in) {
  static const char *const triggers[] = {"a", "ab", "aab", "<t>", "<", "ba", "\xC3\xA9"};
  static const char *const ends[] = {NULL, "</t>", "a", "ab", ""};
  struct tombola_mix_rule rules[3];
  const size_t n = 1 + fuzz_below(in, 3);
  for (size_t i = 0; i < n; i++) {
    const char *const trigger = triggers[fuzz_below(in, FUZZ_COUNT(triggers))];
    const char *const end = ends[fuzz_below(in, FUZZ_COUNT(ends))];
    rules[i] = (struct tombola_mix_rule){.trigger = trigger,
                                         .trigger_length = strlen(trigger),
                                         .kind = i % 2 ? TOMBOLA_GRAMMAR_JSON : TOMBOLA_GRAMMAR_GBNF,
                                         .text = t->bytes,
                                         .length = t->length,
                                         .end = end,
                                         .end_length = end ? strlen(end) : 0,
                                         .include_trigger = fuzz_below(in, 4) == 0};
  }
  struct tombola_grammar_source source = {
      .kind = TOMBOLA_GRAMMAR_MIX, .rules = rules, .n_rules = n, .length = t->length};
  check(&source, in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char alphabet[] = "root ::= \"ab\"[^-]()*+?{,}|#\n0123\\nux.";
  static struct fuzz_text text;
  struct fuzz_input in = {data, size, 0};
  const size_t kind = fuzz_below(&in, 16);
  text.length = 0;
  if (kind < 2)
    fuzz_put_rest(&text, &in, kind ? alphabet : NULL);
  else
    put_rules(&text, &in);
  if (kind > 11) {
    check_mix(&text, &in);
    return 0;
  }
  struct tombola_grammar_source source = {.kind = TOMBOLA_GRAMMAR_GBNF,
                                          .text = text.bytes,
                                          .length = text.length,
                                          .free_prelude = size % 64 == 1};
  check(&source, &in);
  return 0;
}
