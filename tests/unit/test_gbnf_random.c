/* SPDX-License-Identifier: Apache-2.0 */
/* Random grammars against the table of spans: of every short text, whether it is whole and whether it can be completed;
 * that grammars are refused exactly when they should be; and that places with one key have one future. */
#include "gbnf_grammars.h"

#include "constraint/machine/machine.h"

#define GRAMMARS 1500

/* ---- both, over every text ---- */

struct walk {
  struct tombola__store store;
  struct tombola__machine *machine;
  const struct grammar *g;
  struct table table;
  char text[LONGEST + 1];
  uint8_t fate[2 << LONGEST]; /* by text: 1, then a bit a letter */
  uint64_t key[2 << LONGEST][2];
};

static void walk(struct walk *w, unsigned length, unsigned index, bool alive) {
  w->table = (struct table){.g = w->g, .text = w->text, .length = length};
  fill(&w->table);
  const unsigned expected = fate_of(&w->table);
  const unsigned found = !alive ? DEAD : tombola__machine_complete(w->machine) ? WHOLE : ALIVE;
  if (found != expected)
    fail_msg("%s\ntext %.*s: %u, not %u", w->g->text, (int)length, w->text, found, expected);
  w->fate[index] = (uint8_t)found;
  if (alive) tombola__machine_key(w->machine, 64, w->key[index]);
  for (unsigned letter = 0; letter < 2 && length < LONGEST; letter++) {
    w->text[length] = LETTERS[letter];
    const bool pushed = alive && tombola__machine_push(w->machine, (uint8_t)w->text[length]);
    assert_int_equal(w->store.status, TOMBOLA_OK);
    walk(w, length + 1, 2 * index + letter, pushed);
    if (pushed) tombola__machine_pop(w->machine, 1);
  }
}

/* Texts with the same key are followed by the same. */
static void compare(const struct walk *w, unsigned a, unsigned b, unsigned depth) {
  if (w->fate[a] != w->fate[b]) fail_msg("%s\ntexts %u and %u have one key", w->g->text, a, b);
  for (unsigned letter = 0; letter < 2 && depth > 0; letter++)
    compare(w, 2 * a + letter, 2 * b + letter, depth - 1);
}

static unsigned compare_keys(const struct walk *w) {
  unsigned same = 0;
  for (unsigned a = 1; a < 1 << 4; a++)
    for (unsigned b = 1; b < a; b++) {
      if (!w->fate[a] || !w->fate[b] || memcmp(w->key[a], w->key[b], sizeof w->key[a]) != 0) continue;
      compare(w, a, b, LONGEST - 3);
      same++;
    }
  return same;
}

static void random_grammars_against_a_table_of_spans(void **state) {
  (void)state;
  struct support_rng rng = support_rng(6);
  unsigned counts[3] = {0}, same = 0;
  static struct grammar g;
  static struct walk w;
  for (unsigned i = 0; i < GRAMMARS; i++) {
    struct tombola__program program = {.part = TOMBOLA__RULES};
    struct tombola_error error = {.message = ""};
    make_grammar(&g, NULL, &rng);
    analyse(&g);
    memset(&w, 0, sizeof w);
    w.g = &g;
    assert_int_equal(tombola__store_new(&w.store, NULL, NULL, NULL), TOMBOLA_OK);
    const enum tombola_status status =
        tombola__gbnf(&w.store, g.text, g.length, "root0", NULL, &program.rules, &error);
    if (status != expected_status(&g)) fail_msg("%s\n%d %s", g.text, (int)status, error.message);
    counts[status == TOMBOLA_OK ? 0 : status == TOMBOLA_UNSUPPORTED ? 1 : 2]++;
    if (!status) {
      assert_int_equal(tombola__machine_new(&w.store, &program, NULL, &w.machine), TOMBOLA_OK);
      walk(&w, 0, 1, true);
      same += compare_keys(&w);
      tombola__machine_free(w.machine);
    }
    tombola__store_free(&w.store);
  }
  print_message("%u grammars read, %u left-recursive, %u without a text; %u pairs with one key\n", counts[0],
                counts[1], counts[2], same);
  assert_true(counts[0] > GRAMMARS / 4 && counts[1] > GRAMMARS / 20 && counts[2] > 10 && same > 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_grammars_against_a_table_of_spans),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
