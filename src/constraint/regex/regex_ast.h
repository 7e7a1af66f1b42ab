/* SPDX-License-Identifier: Apache-2.0 */
/* A regular expression as a tree. Groups leave no trace: a capture can't be referred to. */
#ifndef TOMBOLA_REGEX_AST_H
#define TOMBOLA_REGEX_AST_H

#include "constraint/lang/lang.h"

#define TOMBOLA__REGEX_UNBOUNDED TOMBOLA__LANG_UNBOUNDED

enum tombola__regex_kind {
  TOMBOLA__REGEX_SET,          /* one code point of `ranges` */
  TOMBOLA__REGEX_SEQUENCE,     /* the children, one behind the other; none: the empty text */
  TOMBOLA__REGEX_ALTERNATIVES, /* one of the children */
  TOMBOLA__REGEX_REPEAT,       /* the child, min to max times */
  TOMBOLA__REGEX_START,        /* ^ */
  TOMBOLA__REGEX_END,          /* $ */
  TOMBOLA__REGEX_BOUNDARY,     /* \b */
  TOMBOLA__REGEX_NO_BOUNDARY,  /* \B */
  TOMBOLA__REGEX_AHEAD,        /* (?=child) */
  TOMBOLA__REGEX_NOT_AHEAD     /* (?!child) */
};

struct tombola__regex_node {
  enum tombola__regex_kind kind;
  bool plain; /* nothing in it looks at what is around it */
  bool made;  /* `lang` is known */
  tombola__lang lang;
  uint32_t min, max;
  size_t offset; /* in the pattern */
  struct tombola__regex_node *first, *last, *previous, *next;
  const struct tombola__range *ranges;
  size_t n; /* ranges, children */
  struct tombola__range one;
};

/* A growing list of ranges in the store's memory. */
struct tombola__regex_set {
  struct tombola__range *ranges;
  size_t n, capacity;
};

struct tombola__regex_parser {
  struct tombola__store *store;
  const char *text;
  size_t length, at, depth;
  enum tombola_status status;
  struct tombola_error *error;
  struct tombola__regex_set set; /* of the class or escape at hand */
};

/* What an escape stands for: a code point, or a set that was added to parser->set. */
struct tombola__regex_atom {
  bool single;
  uint32_t code_point;
};

/* NULL after an error; then parser->status says which. */
struct tombola__regex_node *tombola__regex_parse(struct tombola__regex_parser *p);

/* The first error, with an excerpt of the pattern from `offset`. Returns false. */
bool tombola__regex_error(struct tombola__regex_parser *p, enum tombola_status status, size_t offset,
                          const char *format, ...) TOMBOLA__PRINTF(4, 5);

/* The code point at parser->at; goes on behind it. The pattern is known to be well-formed. */
uint32_t tombola__regex_next(struct tombola__regex_parser *p);
/* Whether `c` is at parser->at; if so goes on behind it. */
bool tombola__regex_take(struct tombola__regex_parser *p, char c);
/* The byte `ahead` behind parser->at; 0 beyond the end. */
char tombola__regex_peek(const struct tombola__regex_parser *p, size_t ahead);

void tombola__regex_add(struct tombola__regex_parser *p, uint32_t lo, uint32_t hi);

/* The escape at parser->at, which stands on the backslash. Not for those that are assertions or references. */
bool tombola__regex_escape(struct tombola__regex_parser *p, bool in_class, struct tombola__regex_atom *atom);
/* The class at parser->at, which stands on the bracket: its code points are parser->set afterwards. */
bool tombola__regex_class(struct tombola__regex_parser *p);

/* The tree's language. FORMAT never; UNSUPPORTED, or the store's status. */
tombola__lang tombola__regex_lang(struct tombola__regex_parser *p, struct tombola__regex_node *root,
                                  bool whole);

#endif
