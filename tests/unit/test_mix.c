/* SPDX-License-Identifier: Apache-2.0 */
/* Mixes of free text and grammars: worked ones, and random ones against a reading straight from the definition (find
 * the first trigger, try every end of its grammar's text, go on behind it), in which the grammars are black boxes. */
#include "support.h"

#include <stdbool.h>
#include <string.h>

#include "constraint/machine/machine.h"

#define MOST 6

struct rule {
  const char *trigger, *grammar, *end; /* grammar "": any JSON text */
  bool include;
};

struct reader {
  struct tombola__store store;
  struct tombola__machine *machine;
  struct tombola__program grammars[MOST];
};

static enum tombola_status start_with(struct reader *r, const struct rule *rules, size_t n, bool prelude,
                                      struct tombola_error *error) {
  struct tombola__mix_part parts[MOST] = {{.include_trigger = false}};
  struct tombola__program program = {.part = TOMBOLA__MIX};
  r->machine = NULL;
  assert_int_equal(tombola__store_new(&r->store, NULL, NULL, NULL), TOMBOLA_OK);
  r->store.whitespace_max = 64;
  for (size_t i = 0; i < n; i++) {
    struct tombola__program *const p = &r->grammars[i];
    *p = (struct tombola__program){.part = rules[i].grammar[0] ? TOMBOLA__RULES : TOMBOLA__JSON};
    p->formula = TOMBOLA__TRUE;
    if (rules[i].grammar[0])
      assert_int_equal(
          tombola__gbnf(&r->store, rules[i].grammar, strlen(rules[i].grammar), NULL, NULL, &p->rules, error),
          TOMBOLA_OK);
    parts[i].trigger = (struct tombola_bytes){rules[i].trigger, strlen(rules[i].trigger)};
    if (rules[i].end) parts[i].end = (struct tombola_bytes){rules[i].end, strlen(rules[i].end)};
    parts[i].include_trigger = rules[i].include;
    parts[i].program = *p;
  }
  const enum tombola_status status = tombola__mix_new(&r->store, parts, n, prelude, &program.mix, error);
  if (status) return status;
  return tombola__machine_new(&r->store, &program, NULL, &r->machine);
}

static void finish(struct reader *r) {
  tombola__machine_free(r->machine);
  tombola__store_free(&r->store);
}

static size_t count(const struct rule *rules) {
  size_t n = 0;
  while (n < MOST && rules[n].grammar)
    n++;
  return n;
}

/* ---- worked ones ---- */

/* What a place is, by letter: f free text, g inside a grammar or an end (engaged); upper case: the text may end. */
static char letter_of(const struct reader *r) {
  const bool whole = tombola__machine_complete(r->machine);
  return tombola__machine_engaged(r->machine) ? (whole ? 'G' : 'g') : whole ? 'F' : 'f';
}

struct worked {
  struct rule rules[MOST];
  bool prelude;
  struct {
    const char *text,
        *places; /* the places after 0, 1, … bytes; shorter than that: the next byte is refused */
  } texts[MOST];
};

static const struct worked worked[] = {
    {{{"<t>", "root ::= [0-9]+", "</t>", false}},
     false,
     {{"a<t>12</t>b", "FFFFggggggFF"},
      {"<t>x", "FFFg"},
      {"<<t><t>", "FFFFg"},
      {"<t>1</t><t>2</t>", "FFFgggggFFFgggggF"},
      {"\xFF\x80<t>1", "FFFFFgg"}}},
    {{{"ab", "root ::= \"x\"", NULL, false}, {"abc", "root ::= \"y\"", NULL, false}},
     false,
     {{"abx", "FFgF"}, {"abc", "FFg"}, {"aabxab", "FFFgFFg"}}},
    {{{"bc", "root ::= \"x\"", NULL, false}, {"abc", "root ::= \"y\"", NULL, false}},
     false,
     {{"abcy", "FFFgF"}, {"abcx", "FFFg"}, {"cbcx", "FFFgF"}}}, /* of those that end together the longest */
    {{{"!", "root ::= \"a\" \"b\"", NULL, false},
      {"!", "root ::= \"a\" \"c\"", NULL, false},
      {"!", "root ::= \"d\"", NULL, false}},
     false,
     {{"!ab", "FggF"}, {"!ac", "FggF"}, {"!ad", "Fgg"}, {"!d", "FgF"}}}, /* one trigger, thrice */
    {{{"<f=", "root ::= \"<f=\" [a-z]+ (\">\" root)?", NULL, true}},
     false,
     {{"x<f=ab>", "FFFFgGGG"},
      {"<f=1", "FFFg"},
      {"<f=a>b", "FFFgGGF"}}}, /* free text and the grammar, both */
    {{{"((", "root ::= \"(\" root* \")\"", NULL, true}},
     false,
     {{"x(()())z", "FFFggggFF"}, {"(())x(())", "FFggFFFggF"}}},
    {{{"n", "root ::= \"\"", NULL, false}, {"m", "root ::= \"\" | \"1\"", "e", false}},
     false,
     {{"nn", "FFF"}, {"me", "FgF"}, {"m1e", "FggF"}}},
    {{{"", "root ::= \"{\" [a-z]* \"}\" | \"[\" root \"]\"", NULL, false}},
     true,
     {{"ok: {a}", "fffffggG"}, {"[{}]", "fgggG"}, {"x{}y", "ffgG"}, {"{1", "fg"}}},
    {{{"", "root ::= \"{}\" root?", NULL, false}}, true, {{"[{}{}", "f"}, {"-{}{}", "ffgGgG"}}},
};

static void check(const struct worked *w, const char *text, const char *places) {
  struct reader r;
  struct tombola_error error = {.message = ""};
  const enum tombola_status status = start_with(&r, w->rules, count(w->rules), w->prelude, &error);
  if (status) fail_msg("%s: %s", text, error.message);
  const size_t length = strlen(text), n = strlen(places);
  for (size_t i = 0; i < n; i++) {
    const char found = letter_of(&r);
    if (found != places[i]) fail_msg("%s after %zu bytes: %c, not %c", text, i, found, places[i]);
    if (i == length) continue;
    if (tombola__machine_push(r.machine, (uint8_t)text[i]) != (i + 1 < n)) fail_msg("%s, byte %zu", text, i);
  }
  assert_int_equal(r.store.status, TOMBOLA_OK);
  finish(&r);
}

static void mixes_read_their_texts(void **state) {
  (void)state;
  for (size_t i = 0; i < TOMBOLA__COUNT(worked); i++)
    for (size_t k = 0; k < MOST && worked[i].texts[k].text; k++)
      check(&worked[i], worked[i].texts[k].text, worked[i].texts[k].places);
}

/* JSON inside of a mix: numbers, which end with the byte behind them, also within a trigger that is read again. */
static const struct worked with_json[] = {
    {{{"", "", NULL, false}},
     true,
     {{"So: {\"a\":1}", "fffffggggggG"}, {"[1,-2.5]x", "fgggggggG"}, {"[{}]", "fgggG"}, {"1{]", "ffg"}}},
    {{{"<<", "", ">>", false}},
     false,
     {{"a<<12>>b", "FFFggggFF"}, {"<<\"x\">>", "FFgggggF"}, {"<<tru>>", "FFgggg"}, {"<<{}>>", "FFggggF"}}},
    {{{"{\"a\":", "", NULL, true}},
     false,
     {{"{\"a\":1,\"b\":2}x", "FFFFFggggggggFF"}, {"{\"a\":1,\"a\"", "FFFFFggggg"}}}, /* a key once */
    {{{"[[1,1", "", NULL, true}, {"[[1]", "", NULL, true}},
     false,
     {{"[[1,1],2]z", "FFFFFggggFF"},
      {"[[1],1]", "FFFFgggF"},
      {"[[1,1 ]]", "FFFFFgggF"},
      {"[[1,1}", "FFFFFg"}}},
};

static void mixes_read_json(void **state) {
  (void)state;
  for (size_t i = 0; i < TOMBOLA__COUNT(with_json); i++)
    for (size_t k = 0; k < MOST && with_json[i].texts[k].text; k++)
      check(&with_json[i], with_json[i].texts[k].text, with_json[i].texts[k].places);
}

/* ---- errors ---- */

static void what_can_not_be_is_refused(void **state) {
  (void)state;
  static const struct {
    struct rule rule;
    bool prelude;
    enum tombola_status status;
    const char *says;
  } wrong[] = {
      {{"", "root ::= \"a\"", NULL, false}, false, TOMBOLA_INVALID_ARGUMENT, "empty"},
      {{"ab", "root ::= \"ac\"", NULL, true}, false, TOMBOLA_INVALID_ARGUMENT, "rule 0"},
      {{"", "root ::= \"a\" | \"(\"", NULL, false}, true, TOMBOLA_NO_CANDIDATE, "{ or ["},
  };
  for (size_t i = 0; i < TOMBOLA__COUNT(wrong); i++) {
    struct reader r;
    struct tombola_error error = {.message = ""};
    assert_int_equal(start_with(&r, &wrong[i].rule, 1, wrong[i].prelude, &error), wrong[i].status);
    if (!strstr(error.message, wrong[i].says)) fail_msg("%s", error.message);
    finish(&r);
  }
}

static void a_long_trigger_of_a_grammar_is_refused(void **state) {
  (void)state;
  char trigger[258];
  for (size_t length = 256; length <= 257; length++) {
    struct reader r;
    memset(trigger, 'a', length);
    trigger[length] = 0;
    const struct rule rule = {trigger, "root ::= \"a\" root | \"b\"", NULL, true};
    assert_int_equal(start_with(&r, &rule, 1, false, NULL), length > 256 ? TOMBOLA_OUT_OF_RANGE : TOMBOLA_OK);
    for (size_t i = 0; r.machine && i < length; i++)
      assert_true(tombola__machine_push(r.machine, 'a'));
    if (r.machine) assert_true(tombola__machine_engaged(r.machine));
    if (r.machine) assert_true(tombola__machine_push(r.machine, 'b'));
    finish(&r);
  }
}

/* ---- freedom ---- */

static void freedom_leaves_out_what_ends_a_trigger(void **state) {
  (void)state;
  static const struct rule rules[] = {{"<tool>", "root ::= \"1\"", NULL, false},
                                      {"{", "root ::= \"}\"", NULL, false}};
  static const struct rule wide[] = {{"\xE2\x9C\x85", "root ::= \"1\"", NULL, false}};
  struct reader r;
  struct tombola__freedom f;
  assert_int_equal(start_with(&r, rules, 2, false, NULL), TOMBOLA_OK);
  assert_true(tombola__machine_freedom(r.machine, &f));
  for (unsigned c = 0; c < 128; c++)
    assert_int_equal(f.ascii[c / 32] >> c % 32 & 1, c != '>' && c != '{');
  assert_true(f.others && f.length == TOMBOLA__LANG_UNBOUNDED);
  finish(&r);
  assert_int_equal(start_with(&r, wide, 1, false, NULL), TOMBOLA_OK);
  assert_true(tombola__machine_freedom(r.machine, &f));
  assert_false(f.others);
  finish(&r);
}

/* ---- random ones against the definition ---- */

#define LONGEST 7
#define MIXES   300

static const char *const triggers[] = {"a", "b", "ab", "ba", "aa", "bb", "aba", "abb", "bab"};
static const char *const grammars[] = {
    "root ::= \"a\"+",
    "root ::= \"a\" root \"b\" | \"\"",
    "root ::= [ab]{2}",
    "root ::= \"ab\" | \"b\"",
    "root ::= \"a\" root | \"b\" root \"b\" | \"ab\"",
    "root ::= (\"ab\" | \"ba\" root \"a\")*",
};
static const char *const ends[] = {NULL, NULL, "a", "b", "ab"};

struct oracle {
  const struct rule *rules;
  size_t n;
  struct tombola__machine *machines[MOST];
  const char *text;
  size_t length;
  bool whole, alive;
};

static void read_free(struct oracle *o, size_t from);

/* Behind the grammar: the end text, then free text. */
static void read_end(struct oracle *o, const struct rule *rule, size_t at) {
  const size_t end = rule->end ? strlen(rule->end) : 0;
  const size_t here = o->length - at < end ? o->length - at : end;
  if (end && memcmp(o->text + at, rule->end, here) != 0) return;
  if (here < end)
    o->alive = true;
  else
    read_free(o, at + end);
}

/* The grammar's text begins at `at` and is no shorter than what it shares with the trigger. */
static void read_rule(struct oracle *o, size_t rule, size_t at, size_t least) {
  struct tombola__machine *const m = o->machines[rule];
  size_t n = 0;
  for (;; n++) {
    if (at + n >= least && tombola__machine_complete(m)) read_end(o, &o->rules[rule], at + n);
    if (at + n == o->length) {
      o->alive |= tombola__machine_can_go_on(m);
      break;
    }
    if (!tombola__machine_push(m, (uint8_t)o->text[at + n])) break;
  }
  tombola__machine_pop(m, n);
}

static void read_free(struct oracle *o, size_t from) {
  for (size_t end = from; end <= o->length; end++) {
    size_t longest = 0;
    for (size_t i = 0; i < o->n; i++) {
      const size_t n = strlen(o->rules[i].trigger);
      if (n <= end - from && n > longest && memcmp(o->text + end - n, o->rules[i].trigger, n) == 0)
        longest = n;
    }
    if (!longest) continue;
    for (size_t i = 0; i < o->n; i++) {
      if (strlen(o->rules[i].trigger) != longest ||
          memcmp(o->text + end - longest, o->rules[i].trigger, longest) != 0)
        continue;
      /* A machine is in use by the reading around this one: reads with a copy of its place. */
      const size_t length = tombola__machine_length(o->machines[i]);
      char before[LONGEST];
      if (length) memcpy(before, tombola__machine_text(o->machines[i]), length);
      tombola__machine_pop(o->machines[i], length);
      read_rule(o, i, o->rules[i].include ? end - longest : end, end);
      for (size_t k = 0; k < length; k++)
        assert_true(tombola__machine_push(o->machines[i], (uint8_t)before[k]));
    }
    return;
  }
  o->whole = o->alive = true;
}

static void walk(struct reader *r, struct oracle *o, char *text, size_t length, bool alive) {
  o->text = text;
  o->length = length;
  o->whole = o->alive = false;
  read_free(o, 0);
  const bool whole = alive && tombola__machine_complete(r->machine);
  if (alive != o->alive || whole != o->whole) {
    for (size_t i = 0; i < o->n; i++)
      print_message("%s%s %s, end %s\n", o->rules[i].trigger, o->rules[i].include ? "…" : "",
                    o->rules[i].grammar, o->rules[i].end ? o->rules[i].end : "none");
    fail_msg("%.*s: %d %d, not %d %d", (int)length, text, alive, whole, o->alive, o->whole);
  }
  for (const char *c = "ab"; *c && length < LONGEST; c++) {
    text[length] = *c;
    const bool pushed = alive && tombola__machine_push(r->machine, (uint8_t)*c);
    assert_int_equal(r->store.status, TOMBOLA_OK);
    walk(r, o, text, length + 1, pushed);
    if (pushed) tombola__machine_pop(r->machine, 1);
  }
}

static void random_mixes_against_the_definition(void **state) {
  (void)state;
  struct support_rng rng = support_rng(7);
  unsigned read = 0, included = 0;
  for (unsigned i = 0; i < MIXES; i++) {
    struct rule rules[MOST];
    struct reader r;
    char text[LONGEST];
    const size_t n = 1 + support_u32(&rng) % 3;
    for (size_t k = 0; k < n; k++)
      rules[k] = (struct rule){triggers[support_u32(&rng) % TOMBOLA__COUNT(triggers)],
                               grammars[support_u32(&rng) % TOMBOLA__COUNT(grammars)],
                               ends[support_u32(&rng) % TOMBOLA__COUNT(ends)], support_u32(&rng) % 3 == 0};
    const enum tombola_status status = start_with(&r, rules, n, false, NULL);
    struct oracle o = {.rules = rules, .n = n};
    for (size_t k = 0; k < n && !status; k++) {
      assert_int_equal(tombola__machine_new(&r.store, &r.grammars[k], NULL, &o.machines[k]), TOMBOLA_OK);
      included += rules[k].include;
    }
    if (!status) {
      walk(&r, &o, text, 0, true);
      read++;
    } else
      assert_int_equal(status, TOMBOLA_INVALID_ARGUMENT); /* a grammar that doesn't begin with its trigger */
    for (size_t k = 0; k < n; k++)
      tombola__machine_free(o.machines[k]);
    finish(&r);
  }
  assert_true(read > MIXES / 2 && included > MIXES / 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(mixes_read_their_texts),
      cmocka_unit_test(mixes_read_json),
      cmocka_unit_test(what_can_not_be_is_refused),
      cmocka_unit_test(a_long_trigger_of_a_grammar_is_refused),
      cmocka_unit_test(freedom_leaves_out_what_ends_a_trigger),
      cmocka_unit_test(random_mixes_against_the_definition),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
