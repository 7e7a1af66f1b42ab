/* SPDX-License-Identifier: Apache-2.0 */
/* Random grammars in GBNF, and a recogniser of them that fills in a table of spans and knows neither languages nor
 * frames: of every short text whether it is whole, and whether it can be completed. */
#ifndef GBNF_GRAMMARS_H
#define GBNF_GRAMMARS_H

#include "support.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <tombola/constraint.h>

#include "base/base.h"

#define LETTERS  "ab"
#define LONGEST  6
#define NODES    64
#define RULES    4
#define CHILDREN 3

enum kind { LETTER, SET, TOKEN, CALL, SEQUENCE, EITHER, REPEAT };

struct node {
  enum kind kind;
  char letter;
  unsigned rule, n, child[CHILDREN];
  unsigned token;         /* TOKEN */
  bool negated, possible; /* TOKEN; a leaf that something matches */
  unsigned min, max;      /* max 9: none */
};

/* What of a vocabulary grammars may name; ids go one beyond it. */
struct tokens {
  unsigned count;
  const bool *matchable; /* by an element that is a token */
};

struct grammar {
  const struct tokens *tokens; /* NULL: none */
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

static void name_token(const struct tokens *tokens, struct support_rng *rng, struct node *node) {
  node->kind = TOKEN;
  node->token = below(rng, tokens->count + 1);
  node->negated = below(rng, 3) == 0;
  node->possible = false;
  for (unsigned i = 0; i < tokens->count; i++)
    node->possible |= tokens->matchable[i] && (i == node->token) != node->negated;
}

static unsigned make(struct grammar *g, struct support_rng *rng, unsigned depth) {
  const unsigned index = g->n_nodes++;
  struct node *const node = &g->nodes[index];
  const bool leaf = depth == 0 || g->n_nodes > NODES - 16;
  const unsigned choice = below(rng, leaf ? 5 : 10);
  *node = (struct node){.kind = LETTER, .letter = LETTERS[below(rng, 2)], .possible = true};
  if (choice == 0 && g->tokens)
    name_token(g->tokens, rng, node);
  else if (choice >= 2 && choice < 4) {
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
  case TOKEN: snprintf(text, sizeof text, "%s<[%u]>", node->negated ? "!" : "", node->token); break;
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

static void make_grammar(struct grammar *g, const struct tokens *tokens, struct support_rng *rng) {
  *g = (struct grammar){.tokens = tokens, .n_rules = 1 + below(rng, RULES)};
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
  if (node->kind < CALL) return of_letter && node->possible;
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
  const char *text; /* 0: what no letter reads */
  unsigned length;
  const unsigned *ids, *at; /* tokens: from at[i] to at[i + 1] */
  unsigned n_ids;
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
  case SET:
  case TOKEN: break;
  }
  return false;
}

static void fill_leaf(struct table *t, unsigned k) {
  const struct node *const node = &t->g->nodes[k];
  for (unsigned i = 0; i < t->n_ids && node->kind == TOKEN; i++)
    t->span[k][t->at[i]][t->at[i + 1]] =
        t->g->tokens->matchable[t->ids[i]] && (t->ids[i] == node->token) != node->negated;
  for (unsigned i = 0; i < t->length && node->kind != TOKEN; i++)
    t->span[k][i][i + 1] = t->text[i] && (node->kind == SET || node->letter == t->text[i]);
  for (unsigned i = 0; i < t->length; i++)
    t->start[k][i] = t->span[k][i][t->length];
  t->start[k][t->length] = node->possible;
}

/* Of the text that is in the table. */
static void fill(struct table *t) {
  memset(t->span, 0, sizeof t->span);
  memset(t->start, 0, sizeof t->start);
  for (unsigned k = 0; k < t->g->n_nodes; k++)
    if (t->g->nodes[k].kind < CALL) fill_leaf(t, k);
  for (bool news = true; news;) {
    news = false;
    for (unsigned k = t->g->n_nodes; k-- > 0;)
      news |= update(t, k);
  }
}

/* ---- what becomes of a text, and of a grammar ---- */

enum { DEAD, ALIVE, WHOLE };

static unsigned fate_of(const struct table *t) {
  const unsigned root = t->g->roots[0];
  return t->span[root][0][t->length] ? WHOLE : t->start[root][0] ? ALIVE : DEAD;
}

static enum tombola_status expected_status(const struct grammar *g) {
  for (unsigned i = 0; i < g->n_rules; i++)
    if (g->begins[i][i]) return TOMBOLA_UNSUPPORTED;
  return g->productive[g->roots[0]] ? TOMBOLA_OK : TOMBOLA_NO_CANDIDATE;
}

#endif
