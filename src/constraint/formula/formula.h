/* SPDX-License-Identifier: Apache-2.0 */
/* Schemas as formulas about a JSON value: what a schema says once keywords, references and drafts are gone.
 *
 *   schema text ──schema/──▶ formula ──shape.h──▶ shapes (per type, alternatives) ──machine.h──▶ texts
 *
 * A formula is hash-consed and in negation normal form: AND, OR and ONE_OF over atoms, each of which says something of
 * values of one type and is true of all others. Negation is built at once by the atoms' duals. What a value inside an
 * object or array must be is a formula too, and may be LATER: a part of the schema that is built when it is first
 * looked at, so that recursion costs nothing. */
#ifndef TOMBOLA_FORMULA_H
#define TOMBOLA_FORMULA_H

#include "constraint/lang/lang.h"
#include "constraint/number/number.h"

typedef uint32_t tombola__formula;

enum {
  TOMBOLA__FALSE = 0, /* no value */
  TOMBOLA__TRUE = 1   /* every value */
};

#define TOMBOLA__MANY UINT32_MAX /* no upper bound */

/* Types as bits; the booleans are two. */
enum tombola__type {
  TOMBOLA__NULL = 1,
  TOMBOLA__FALSE_VALUE = 2,
  TOMBOLA__TRUE_VALUE = 4,
  TOMBOLA__BOOLEAN = 6,
  TOMBOLA__NUMBER = 8,
  TOMBOLA__STRING = 16,
  TOMBOLA__ARRAY = 32,
  TOMBOLA__OBJECT = 64,
  TOMBOLA__ALL_TYPES = 127
};

enum tombola__node_kind {
  TOMBOLA__AND,
  TOMBOLA__OR,
  TOMBOLA__ONE_OF, /* exactly one of the parts; kept, because which parts exclude each other is known only later */
  TOMBOLA__LATER,   /* a part of the schema that isn't built yet, or its negation */
  TOMBOLA__TYPES,   /* the value has one of these types (the only atom that is false of other types) */
  TOMBOLA__TEXT,    /* a string: in `lang` */
  TOMBOLA__NUMERIC, /* a number: in `numbers` */
  /* an array: */
  TOMBOLA__LENGTH,     /* has min to max items */
  TOMBOLA__ITEM,       /* item `index`, if there is one, is `part` */
  TOMBOLA__ITEMS,      /* items from `index` on are `part` */
  TOMBOLA__CONTAINS,   /* min to max items from `index` on are `part` */
  TOMBOLA__UNIQUE,     /* no two items are equal */
  TOMBOLA__NOT_UNIQUE, /* two items are equal */
  /* an object: */
  TOMBOLA__SIZE,     /* has min to max properties */
  TOMBOLA__PROPERTY, /* property `name`, if it is there, is `part` */
  TOMBOLA__REQUIRED, /* property `name` is there */
  TOMBOLA__DEPENDS,  /* where property `name` is there, `other` is too */
  TOMBOLA__KEYS,     /* every property whose name is in `lang` is `part` */
  TOMBOLA__SOME_KEY  /* some property whose name is in `lang` is `part` */
};

/* A name: well-formed UTF-8, interned, so that equal names are equal pointers. */
struct tombola__name {
  const char *text;
  size_t length;
};

struct tombola__node {
  enum tombola__node_kind kind;
  unsigned types; /* TYPES */
  tombola__lang lang;
  tombola__numset numbers;
  uint32_t index, min, max;
  tombola__formula part;
  const struct tombola__name *name, *other;
  uint32_t
      order; /* PROPERTY, REQUIRED: place among the declared properties of its schema, MANY when undeclared */
  /* AND, OR, ONE_OF: ascending, without duplicates (ONE_OF: in any order, duplicates kept) */
  const tombola__formula *parts;
  size_t n_parts;
  uint32_t later;
  bool negated; /* LATER */
};

struct tombola__formulas *tombola__formulas_new(struct tombola__store *store);
void tombola__formulas_free(struct tombola__formulas *formulas);

/* The node of a formula; FALSE and TRUE are OR and AND of nothing. A LATER that has been built is seen through: the
 * node is that of what was built. Valid as long as the store. */
const struct tombola__node *tombola__node(const struct tombola__store *s, tombola__formula f);

const struct tombola__name *tombola__name(struct tombola__store *s, const char *text, size_t length);

/* ---- making formulas; FALSE after a failure of the store. They simplify what is plain to see (TRUE and FALSE, equal
 * parts, nested AND in AND, empty ranges), nothing that needs a search. ---- */

tombola__formula tombola__and(struct tombola__store *s, const tombola__formula *parts, size_t n);
tombola__formula tombola__or(struct tombola__store *s, const tombola__formula *parts, size_t n);
tombola__formula tombola__and2(struct tombola__store *s, tombola__formula a, tombola__formula b);
tombola__formula tombola__or2(struct tombola__store *s, tombola__formula a, tombola__formula b);
tombola__formula tombola__one_of(struct tombola__store *s, const tombola__formula *parts, size_t n);
/* The dual. Of ONE_OF: none of the parts, or two of them (each pair). */
tombola__formula tombola__not(struct tombola__store *s, tombola__formula f);

tombola__formula tombola__types(struct tombola__store *s, unsigned types);
tombola__formula tombola__text(struct tombola__store *s, tombola__lang lang);
tombola__formula tombola__numeric(struct tombola__store *s, tombola__numset numbers);
tombola__formula tombola__length(struct tombola__store *s, uint32_t min, uint32_t max);
tombola__formula tombola__item(struct tombola__store *s, uint32_t index, tombola__formula part);
tombola__formula tombola__items(struct tombola__store *s, uint32_t index, tombola__formula part);
tombola__formula tombola__contains(struct tombola__store *s, uint32_t index, tombola__formula part,
                                   uint32_t min, uint32_t max);
tombola__formula tombola__unique(struct tombola__store *s);
tombola__formula tombola__size(struct tombola__store *s, uint32_t min, uint32_t max);
tombola__formula tombola__property(struct tombola__store *s, const struct tombola__name *name, uint32_t order,
                                   tombola__formula part);
tombola__formula tombola__required(struct tombola__store *s, const struct tombola__name *name);
tombola__formula tombola__depends(struct tombola__store *s, const struct tombola__name *name,
                                  const struct tombola__name *other);
tombola__formula tombola__keys(struct tombola__store *s, tombola__lang lang, tombola__formula part);

/* A part that `build` makes when it is first looked at: build(context, id) is called once, from tombola__resolve. */
typedef tombola__formula (*tombola__build_fn)(struct tombola__store *s, void *context, uint32_t id);
tombola__formula tombola__later(struct tombola__store *s, tombola__build_fn build, void *context,
                                uint32_t id);

/* Builds a LATER (and what it turns out to be, as long as that is one): the result isn't LATER. Other formulas are
 * themselves. A part that turns out to be itself ({"$ref": "#"}) fails the store with UNSUPPORTED. */
tombola__formula tombola__resolve(struct tombola__store *s, tombola__formula f);

/* ---- schema/: from a schema to its formula ---- */

struct tombola__compiler;

struct tombola__schema_source {
  const struct tombola_grammar_source *source;
  const char *text;
  size_t length;
  struct tombola__compiler **kept; /* NULL, or what tombola__schema_place() needs; to be closed then */
};

struct tombola__dropped {
  struct tombola__dropped *next;
  const char *pointer, *keyword, *reason;
};

/* Reads a schema and checks all of it that a keyword or `$ref` reaches: FORMAT (not JSON, a keyword's value that isn't
 * what it must be, e.g. "minimum": "3"), UNSUPPORTED (refused; `verdict` says where and why), OUT_OF_RANGE. With
 * `lenient`, `dropped` lists what was left out instead. Nothing of the text is needed afterwards. */
enum tombola_status tombola__schema(struct tombola__store *s, const struct tombola__schema_source *source,
                                    tombola__formula *out, struct tombola__dropped **dropped,
                                    struct tombola_schema_verdict *verdict, struct tombola_error *error);

/* The place whose schema came to one of the formulas, the first that has one: its pointer and a keyword, into the verdict.
 * False: none has. */
bool tombola__schema_place(const struct tombola__compiler *kept, const tombola__formula *f, size_t n,
                           struct tombola_schema_verdict *verdict);
void tombola__schema_close(struct tombola__compiler *kept);

/* The formula of one JSON value (const): equal in JSON Schema's sense. `json` is well-formed. */
tombola__formula tombola__equal_to(struct tombola__store *s, const char *json, size_t length);
/* Of one of several; each ends with a NUL. */
tombola__formula tombola__equal_to_any(struct tombola__store *s, const char *const *texts, size_t n);

#endif
