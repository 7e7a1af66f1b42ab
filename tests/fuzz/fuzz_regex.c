/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions: the input's bytes choose one, as a tree too, and texts. Each text is a whole answer exactly when
 * a matcher by sets of positions, which knows neither derivatives nor classes, says so; and each of its beginnings can
 * be read when it does. Or the bytes are the expression, which then only has to end well. */
#include "fuzz_constraint.h"

#define NODES   60
#define LETTERS 5
#define LONGEST 8 /* letters of a text */

/* The letters of texts, in UTF-8. */
static const char *const letters[LETTERS] = {"a", "b", "c", "\xC3\xA9", "\xF0\x9F\x98\x80"};

enum kind { SET, SEQUENCE, EITHER, REPEAT, AHEAD, NOT_AHEAD, START, END, WORD };

struct node {
  enum kind kind;
  unsigned set;      /* SET: bits of letters */
  unsigned min, max; /* REPEAT; max 99: none */
  unsigned n, child[3];
};

struct tree {
  struct node nodes[NODES];
  unsigned n;
};

/* ---- making one, and its text ---- */

static unsigned make(struct tree *tree, struct fuzz_input *in, unsigned depth, bool repeated) {
  static const unsigned bounds[][2] = {{0, 99}, {1, 99}, {0, 1}, {2, 2}, {0, 3}, {2, 4}, {3, 99}, {0, 0}};
  const unsigned index = tree->n++;
  struct node *const node = &tree->nodes[index];
  *node = (struct node){.kind = SET};
  const size_t kind = fuzz_below(in, 16);
  if (depth == 0 || index > NODES - 12 || kind < 5) {
    static const unsigned sets[] = {1, 2, 4, 8, 16, 3, 6, 31, 30, 24, 0};
    node->set = sets[fuzz_below(in, FUZZ_COUNT(sets))];
    return index;
  }
  node->kind = kind < 9 ? SEQUENCE : kind < 11 ? EITHER : REPEAT;
  if (kind > 13 && !repeated) node->kind = AHEAD + (enum kind)fuzz_below(in, 5);
  if (node->kind == REPEAT) {
    const unsigned *const b = bounds[fuzz_below(in, FUZZ_COUNT(bounds))];
    node->min = b[0];
    node->max = b[1];
    repeated = true;
  }
  if (node->kind < START) node->n = node->kind < REPEAT ? (unsigned)fuzz_below(in, 4) : 1;
  if (node->kind == EITHER && node->n == 0) node->n = 2;
  for (unsigned i = 0; i < node->n; i++)
    node->child[i] = make(tree, in, depth - 1, repeated);
  return index;
}

static void spell(struct fuzz_text *t, const struct tree *tree, unsigned index);

static void spell_repeat(struct fuzz_text *t, const struct tree *tree, const struct node *node) {
  fuzz_put(t, "(?:");
  spell(t, tree, node->child[0]);
  if (node->max == 99)
    fuzz_put(t, node->min == 0 ? ")*" : node->min == 1 ? ")+?" : "){%u,}", node->min);
  else if (node->min == node->max)
    fuzz_put(t, "){%u}", node->min);
  else
    fuzz_put(t, node->min == 0 && node->max == 1 ? ")?" : "){%u,%u}", node->min, node->max);
}

static void spell(struct fuzz_text *t, const struct tree *tree, unsigned index) {
  static const char *const open[] = {"", "", "(", "", "(?=", "(?!", "^", "$", "\\b"};
  const struct node *const node = &tree->nodes[index];
  if (node->kind == REPEAT) {
    spell_repeat(t, tree, node);
    return;
  }
  fuzz_put(t, "%s", open[node->kind]);
  if (node->kind == SET) {
    fuzz_put(t, "[");
    for (unsigned i = 0; i < LETTERS; i++)
      if (node->set >> i & 1) fuzz_put(t, "%s", i == 4 ? "\\u{1F600}" : letters[i]);
    fuzz_put(t, "]");
  }
  for (unsigned i = 0; i < node->n; i++) {
    if (i && node->kind == EITHER) fuzz_put(t, "|");
    spell(t, tree, node->child[i]);
  }
  if (node->n && (node->kind == EITHER || node->kind == AHEAD || node->kind == NOT_AHEAD)) fuzz_put(t, ")");
}

/* ---- matching by sets of positions: bit i is the place in front of letter i ---- */

struct letters {
  unsigned at[LONGEST], n;
};

static bool is_word(const struct letters *text, unsigned at) {
  return at < text->n && text->at[at] < 3; /* a, b, c */
}

static unsigned ends(const struct tree *tree, unsigned index, const struct letters *text, unsigned starts);

/* A pass more adds nothing, when every place has been reached that ever will be: there are at most LONGEST + 1. */
static unsigned repeat_ends(const struct tree *tree, const struct node *node, const struct letters *text,
                            unsigned starts) {
  unsigned found = 0, here = starts;
  for (unsigned i = 0; i <= node->min + LONGEST + 1 && i <= node->max; i++) {
    if (i >= node->min) found |= here;
    here = ends(tree, node->child[0], text, here);
  }
  return found;
}

static unsigned places(const struct tree *tree, const struct node *node, const struct letters *text,
                       unsigned starts) {
  unsigned found = 0;
  for (unsigned i = 0; i <= text->n; i++) {
    bool fits = false;
    if (!(starts >> i & 1)) continue;
    if (node->kind == SET) {
      if (i < text->n && node->set >> text->at[i] & 1) found |= 2u << i;
      continue;
    }
    if (node->kind == AHEAD || node->kind == NOT_AHEAD)
      fits = (ends(tree, node->child[0], text, 1u << i) != 0) == (node->kind == AHEAD);
    else if (node->kind == START)
      fits = i == 0;
    else if (node->kind == END)
      fits = i == text->n;
    else
      fits = is_word(text, i) != (i > 0 && is_word(text, i - 1));
    if (fits) found |= 1u << i;
  }
  return found;
}

static unsigned ends(const struct tree *tree, unsigned index, const struct letters *text, unsigned starts) {
  const struct node *const node = &tree->nodes[index];
  unsigned found = 0;
  if (node->kind == REPEAT) return repeat_ends(tree, node, text, starts);
  if (node->kind == SEQUENCE) {
    for (unsigned i = 0; i < node->n; i++)
      starts = ends(tree, node->child[i], text, starts);
    return starts;
  }
  if (node->kind != EITHER) return places(tree, node, text, starts);
  for (unsigned i = 0; i < node->n; i++)
    found |= ends(tree, node->child[i], text, starts);
  return found;
}

/* ---- comparing ---- */

static bool engine_matches(tombola_matcher *matcher, const struct letters *text) {
  bool all = true;
  tombola_matcher_reset(matcher);
  for (unsigned i = 0; i < text->n && all; i++) {
    const char *const letter = letters[text->at[i]];
    all = tombola_matcher_accept_bytes(matcher, letter, strlen(letter), NULL, NULL) == TOMBOLA_OK;
  }
  return all && tombola_matcher_is_complete(matcher);
}

static void compare(tombola_grammar *grammar, const struct tree *tree, struct fuzz_input *in) {
  tombola_matcher *matcher;
  FUZZ_ASSERT(tombola_matcher_new(grammar, NULL, &matcher, NULL) == TOMBOLA_OK);
  for (unsigned i = 0; i < 60; i++) {
    struct letters text = {.n = 0};
    if (i < 31) /* every one of at most two, then what the input says */
      for (unsigned left = i; left > 0; left = (left - 1) / LETTERS)
        text.at[text.n++] = (left - 1) % LETTERS;
    else
      for (size_t n = fuzz_below(in, LONGEST + 1); n > 0; n--)
        text.at[text.n++] = (unsigned)fuzz_below(in, LETTERS);
    const bool matches = ends(tree, 0, &text, 1) >> text.n & 1;
    FUZZ_ASSERT(engine_matches(matcher, &text) == matches);
  }
  tombola_matcher_free(matcher);
}

/* Of an expression without texts: that texts of at most four letters don't match it. */
static void check_none(const struct tree *tree) {
  for (unsigned i = 0; i < 781; i++) {
    struct letters text = {.n = 0};
    for (unsigned left = i; left > 0; left = (left - 1) / LETTERS)
      text.at[text.n++] = (left - 1) % LETTERS;
    FUZZ_ASSERT(!(ends(tree, 0, &text, 1) >> text.n & 1));
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char alphabet[] = "ab()[]{}*+?|^$.\\dwspPuLx0123-,:=!<>nbB/";
  static struct fuzz_text text;
  static struct tree tree;
  struct fuzz_input in = {data, size, 0};
  const size_t kind = fuzz_below(&in, 16);
  text.length = 0;
  tree.n = 0;
  if (kind < 4) {
    fuzz_put_rest(&text, &in, kind ? alphabet : NULL);
  } else {
    make(&tree, &in, 4, false);
    spell(&text, &tree, 0);
  }
  struct tombola_grammar_source source = {
      .kind = TOMBOLA_GRAMMAR_REGEX, .text = text.bytes, .length = text.length};
  tombola_grammar *const grammar = fuzz_compile(&source);
  if (!grammar) {
    if (tree.n && fuzz_status == TOMBOLA_NO_CANDIDATE) check_none(&tree);
    return 0;
  }
  if (tree.n) compare(grammar, &tree, &in);
  fuzz_walk(grammar, &in, 24);
  tombola_grammar_free(grammar);
  return 0;
}
