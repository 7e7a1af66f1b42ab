/* SPDX-License-Identifier: Apache-2.0 */
/* Random grammars against a recogniser that fills in a table of spans and knows neither languages nor frames: of every
 * short text, whether it is whole and whether it can be completed; that grammars are refused exactly when they should
 * be; and that places with one key have one future. */
#include "support.h"

#include <stdbool.h>
#include <string.h>

#include "../../src/constraint/machine.h"

#define LETTERS  "ab"
#define LONGEST  6
#define NODES    64
#define RULES    4
#define CHILDREN 3
#define GRAMMARS 1500

enum kind { LETTER, SET, CALL, SEQUENCE, EITHER, REPEAT };

struct node {
  enum kind kind;
  char letter;
  unsigned rule, n, child[CHILDREN];
  unsigned min, max; /* max 9: none */
};

struct grammar {
  struct node nodes[NODES];
  unsigned n_nodes, n_rules, roots[RULES];
  char text[4096];
  size_t length;

  /* By node: productive, nullable; begins[i][j]: rule i may begin with rule j. */
  bool productive[NODES], nullable[NODES];
  bool begins[RULES][RULES];
};

/* ---- making one, and its text ---- */

static unsigned below(struct support_rng *rng, unsigned n) {
  return support_u32(rng) % n;
}

static unsigned make(struct grammar *g, struct support_rng *rng, unsigned depth) {
  const unsigned index = g->n_nodes++;
  struct node *const node = &g->nodes[index];
  const bool leaf = depth == 0 || g->n_nodes > NODES - 16;
  const unsigned choice = below(rng, leaf ? 5 : 10);
  *node = (struct node){.kind = LETTER, .letter = LETTERS[below(rng, 2)]};
  if (choice >= 2 && choice < 4) {
    node->kind = CALL;
    node->rule = below(rng, g->n_rules);
  } else if (choice == 4)
    node->kind = SET;
  else if (choice >= 5) {
    node->kind = choice < 8 ? SEQUENCE : choice == 8 ? EITHER : REPEAT;
    node->n = node->kind == REPEAT ? 1 : below(rng, CHILDREN + 1);
    if (node->kind == EITHER && node->n == 0) node->n = 2;
    static const unsigned bounds[][2] = {{0, 9}, {1, 9}, {0, 1}, {0, 2}, {2, 3},
                                         {2, 2}, {1, 1}, {2, 9}, {0, 0}};
    const unsigned *const b = bounds[below(rng, TOMBOLA__COUNT(bounds))];
    node->min = b[0];
    node->max = b[1];
    for (unsigned i = 0; i < node->n; i++)
      node->child[i] = make(g, rng, depth - 1);
  }
  return index;
}

static void put(struct grammar *g, const char *text) {
  const size_t n = strlen(text);
  assert_true(g->length + n < sizeof g->text);
  memcpy(g->text + g->length, text, n + 1);
  g->length += n;
}

static void spell(struct grammar *g, unsigned index) {
  const struct node *const node = &g->nodes[index];
  char text[32];
  switch (node->kind) {
  case LETTER: snprintf(text, sizeof text, "\"%c\"", node->letter); break;
  case SET: snprintf(text, sizeof text, "[" LETTERS "]"); break;
  case CALL: snprintf(text, sizeof text, "%s%u", node->rule ? "r" : "root", node->rule); break;
  case SEQUENCE:
  case EITHER:
  case REPEAT:
    put(g, "(");
    for (unsigned i = 0; i < node->n; i++) {
      if (i) put(g, node->kind == EITHER ? " | " : " ");
      spell(g, node->child[i]);
    }
    if (node->n == 0) put(g, "\"\"");
    snprintf(text, sizeof text, ")");
    if (node->kind == REPEAT && node->max == 9)
      snprintf(text, sizeof text, "){%u,}", node->min);
    else if (node->kind == REPEAT)
      snprintf(text, sizeof text, "){%u,%u}", node->min, node->max);
  }
  put(g, text);
}

static void make_grammar(struct grammar *g, struct support_rng *rng) {
  *g = (struct grammar){.n_rules = 1 + below(rng, RULES)};
  for (unsigned i = 0; i < g->n_rules; i++)
    g->roots[i] = make(g, rng, 3);
  for (unsigned i = 0; i < g->n_rules; i++) {
    char name[32];
    snprintf(name, sizeof name, "%s%u ::= ", i ? "r" : "root", i);
    put(g, name);
    spell(g, g->roots[i]);
    put(g, "\n");
  }
}

/* ---- which nodes have texts, which the empty one, and which rules begin with which ---- */

static bool holds(const struct grammar *g, unsigned index, const bool *property, bool of_letter) {
  const struct node *const node = &g->nodes[index];
  bool all = true, some = false;
  if (node->kind == CALL) return property[g->roots[node->rule]];
  if (node->kind < CALL) return of_letter;
  for (unsigned i = 0; i < node->n; i++) {
    all = all && property[node->child[i]];
    some = some || property[node->child[i]];
  }
  return node->kind == SEQUENCE ? all : node->kind == EITHER ? some : some || node->min == 0;
}

static bool begin_with(struct grammar *g, unsigned rule, unsigned index) {
  const struct node *const node = &g->nodes[index];
  bool news = false;
  if (node->kind == CALL) {
    news = !g->begins[rule][node->rule];
    g->begins[rule][node->rule] = true;
  }
  if (node->kind == REPEAT && node->max == 0) return false;
  for (unsigned i = 0; i < node->n; i++) {
    news |= begin_with(g, rule, node->child[i]);
    if (node->kind == SEQUENCE && !g->nullable[node->child[i]]) break;
  }
  return news;
}

static void analyse(struct grammar *g) {
  for (unsigned round = 0; round <= NODES; round++)
    for (unsigned i = 0; i < g->n_nodes; i++) {
      g->productive[i] = holds(g, i, g->productive, true);
      g->nullable[i] = holds(g, i, g->nullable, false);
    }
  for (unsigned i = 0; i < g->n_rules; i++)
    begin_with(g, i, g->roots[i]);
  for (unsigned k = 0; k < g->n_rules; k++)
    for (unsigned i = 0; i < g->n_rules; i++)
      for (unsigned j = 0; j < g->n_rules; j++)
        g->begins[i][j] |= g->begins[i][k] && g->begins[k][j];
}

/* ---- the table of spans of one text ---- */

struct table {
  const struct grammar *g;
  const char *text;
  unsigned length;
  bool span[NODES][LONGEST + 1][LONGEST + 1]; /* the node has text[i..j) */
  bool start[NODES][LONGEST + 1];             /* text[i..) begins a text of the node */
};

/* Children in a row from i on: ends[k][j] is whether k of them may end at j. */
static void follow_row(const struct table *t, const struct node *node, unsigned count, unsigned i,
                       bool ends[][LONGEST + 1]) {
  memset(ends, 0, (count + 1) * sizeof *ends);
  ends[0][i] = true;
  for (unsigned k = 0; k < count; k++)
    for (unsigned from = i; from <= t->length; from++)
      for (unsigned to = from; ends[k][from] && to <= t->length; to++)
        ends[k + 1][to] |= t->span[node->child[node->kind == REPEAT ? 0 : k]][from][to];
}

static bool rest_is_productive(const struct table *t, const struct node *node, unsigned from) {
  if (node->kind == REPEAT) return from >= node->min || t->g->productive[node->child[0]];
  for (unsigned k = from; k < node->n; k++)
    if (!t->g->productive[node->child[k]]) return false;
  return true;
}

static bool update_row(struct table *t, unsigned index) {
  const struct node *const node = &t->g->nodes[index];
  bool ends[LONGEST + 8][LONGEST + 1], news = false;
  const bool repeat = node->kind == REPEAT;
  const unsigned most = !repeat ? node->n : node->max == 9 ? node->min + LONGEST + 1 : node->max;
  const unsigned least = repeat ? node->min : node->n;
  for (unsigned i = 0; i <= t->length; i++) {
    follow_row(t, node, most, i, ends);
    for (unsigned k = 0; k <= most; k++)
      for (unsigned j = i; j <= t->length; j++) {
        if (!ends[k][j]) continue;
        if (k >= least && !t->span[index][i][j]) news = t->span[index][i][j] = true;
        const bool begins =
            k < most && t->start[node->child[repeat ? 0 : k]][j] && rest_is_productive(t, node, k + 1);
        const bool over = j == t->length && rest_is_productive(t, node, k);
        if ((begins || over) && !t->start[index][i]) news = t->start[index][i] = true;
      }
  }
  return news;
}

static bool update_union(struct table *t, unsigned index, unsigned other) {
  bool news = false;
  for (unsigned i = 0; i <= t->length; i++) {
    if (t->start[other][i] && !t->start[index][i]) news = t->start[index][i] = true;
    for (unsigned j = i; j <= t->length; j++)
      if (t->span[other][i][j] && !t->span[index][i][j]) news = t->span[index][i][j] = true;
  }
  return news;
}

static bool update(struct table *t, unsigned index) {
  const struct node *const node = &t->g->nodes[index];
  bool news = false;
  switch (node->kind) {
  case CALL: return update_union(t, index, t->g->roots[node->rule]);
  case EITHER:
    for (unsigned k = 0; k < node->n; k++)
      news |= update_union(t, index, node->child[k]);
    return news;
  case SEQUENCE:
  case REPEAT: return update_row(t, index);
  case LETTER:
  case SET: break;
  }
  return false;
}

static void fill(struct table *t, const struct grammar *g, const char *text, unsigned length) {
  *t = (struct table){.g = g, .text = text, .length = length};
  for (unsigned k = 0; k < g->n_nodes; k++) {
    if (g->nodes[k].kind > SET) continue;
    t->start[k][length] = true;
    for (unsigned i = 0; i < length; i++) {
      t->span[k][i][i + 1] = g->nodes[k].kind == SET || g->nodes[k].letter == text[i];
      if (i + 1 == length) t->start[k][i] = t->span[k][i][i + 1];
    }
  }
  for (bool news = true; news;) {
    news = false;
    for (unsigned k = g->n_nodes; k-- > 0;)
      news |= update(t, k);
  }
}

/* ---- both, over every text ---- */

enum { DEAD, ALIVE, WHOLE };

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
  fill(&w->table, w->g, w->text, length);
  const unsigned root = w->g->roots[0];
  const unsigned expected = w->table.span[root][0][length] ? WHOLE : w->table.start[root][0] ? ALIVE : DEAD;
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

static enum tombola_status expected_status(const struct grammar *g) {
  for (unsigned i = 0; i < g->n_rules; i++)
    if (g->begins[i][i]) return TOMBOLA_UNSUPPORTED;
  return g->productive[g->roots[0]] ? TOMBOLA_OK : TOMBOLA_NO_CANDIDATE;
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
    make_grammar(&g, &rng);
    analyse(&g);
    memset(&w, 0, sizeof w);
    w.g = &g;
    assert_int_equal(tombola__store_new(&w.store, NULL, NULL, NULL), TOMBOLA_OK);
    const enum tombola_status status =
        tombola__gbnf(&w.store, g.text, g.length, "root0", &program.rules, &error);
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
