/* SPDX-License-Identifier: Apache-2.0 */
/* Grammars as rules, between their parser (gbnf.c), what is made of them (rules_build.c), and their reading (rules.c).
 *
 * A rule is a list of productions, a production a row of elements that ends with an END. Whatever isn't recursive has
 * become one language, so that most of a text is read by an automaton and only nesting needs frames. */
#ifndef TOMBOLA_RULES_H
#define TOMBOLA_RULES_H

#include "constraint/machine/machine.h"

enum tombola__element_kind {
  TOMBOLA__ELEMENT_END,
  TOMBOLA__ELEMENT_LANG,   /* a text of the language `target` */
  TOMBOLA__ELEMENT_CALL,   /* the rule `target` */
  TOMBOLA__ELEMENT_REPEAT, /* the rule `target`, min to max times */
  TOMBOLA__ELEMENT_TOKEN   /* the token `target`, or when negated any other; there is one */
};

struct tombola__element {
  uint8_t kind;
  bool nullable; /* the empty text is one of its texts */
  bool negated;  /* TOKEN */
  uint32_t target;
  uint32_t min, max; /* REPEAT; max may be TOMBOLA__LANG_UNBOUNDED */
};

struct tombola__rule {
  const char *name; /* "" in a group */
  size_t name_length;
  size_t offset;       /* where in the source it is named first */
  bool defined;        /* has productions (while parsing) */
  uint32_t begin, end; /* its elements, END and all */
  uint32_t first, n;   /* its productions, in starts */
};

/* As parsed: only elements, begin and end. As built: no left recursion, no rule without a text, and REPEATs of rules
 * that may be empty have min 0: then no turn of them has to be empty. */
struct tombola__rules {
  struct tombola__element *elements;
  uint32_t n_elements;
  struct tombola__rule *rules;
  uint32_t n_rules;
  uint32_t *starts; /* where productions begin, in elements */
  uint32_t root;
  bool nullable; /* the root */
};

/* Makes `parsed` into what can be read; its elements may be changed. NULL after a failure of the store: NO_CANDIDATE when
 * the root has no text, UNSUPPORTED for left recursion. */
const struct tombola__rules *tombola__rules_build(struct tombola__store *s, struct tombola__rules *parsed);

#endif
