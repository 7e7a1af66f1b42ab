/* SPDX-License-Identifier: Apache-2.0 */
/* JSON Schema's front end: documents and their resources, dialects, references, keywords, formulas.
 *
 *   documents.c   texts read, places and failures       dialect.c     which keywords a draft has
 *   uri.c         RFC 3986                              resources.c   $id, anchors, what `$ref` names
 *   schema.c      a place and a dynamic scope ──▶ a formula, each pair once
 *   applicators.c, assertions.c, objects.c, arrays.c, unevaluated.c, equal.c     the keywords
 *   unknown.c     what no draft knows, for tombola_schema_unknown()
 *
 * A place is a schema within a document. Its formula depends on the dynamic scope too (`$dynamicRef`), of which only
 * resources with dynamic anchors are kept. What is applied to the same value is built in place; what is applied to
 * values inside becomes a LATER, and tombola__schema() builds all of them in the end, so that every complaint comes
 * while compiling, and recursion is a circle of LATERs. */
#ifndef TOMBOLA_SCHEMA_INTERNAL_H
#define TOMBOLA_SCHEMA_INTERNAL_H

#include <yyjson.h>

#include "constraint/formula/formula.h"
#include "constraint/regex/regex.h"

#define TOMBOLA__NO_PLACE UINT32_MAX

enum tombola__draft {
  TOMBOLA__DRAFT_4 = 1,
  TOMBOLA__DRAFT_6 = 2,
  TOMBOLA__DRAFT_7 = 4,
  TOMBOLA__DRAFT_2019 = 8,
  TOMBOLA__DRAFT_2020 = 16
};

/* X(identifier, "keyword", drafts that have it, vocabulary, subschemas, where it isn't a keyword). Ascending by name. */
#define TOMBOLA__FROM_6    (TOMBOLA__DRAFT_6 | TOMBOLA__FROM_7)
#define TOMBOLA__FROM_7    (TOMBOLA__DRAFT_7 | TOMBOLA__FROM_2019)
#define TOMBOLA__FROM_2019 (TOMBOLA__DRAFT_2019 | TOMBOLA__DRAFT_2020)
#define TOMBOLA__TO_2019   (TOMBOLA__DRAFT_4 | TOMBOLA__DRAFT_6 | TOMBOLA__DRAFT_7 | TOMBOLA__DRAFT_2019)
#define TOMBOLA__ALL       (TOMBOLA__DRAFT_4 | TOMBOLA__FROM_6)

#define TOMBOLA__KEYWORDS(X)                                                                       \
  X(ANCHOR, "$anchor", TOMBOLA__FROM_2019, CORE, NO, IGNORE)                                       \
  X(DEFS, "$defs", TOMBOLA__ALL, CORE, MAP, IGNORE)                                                \
  X(DYNAMIC_ANCHOR, "$dynamicAnchor", TOMBOLA__DRAFT_2020, CORE, NO, IGNORE)                       \
  X(DYNAMIC_REF, "$dynamicRef", TOMBOLA__DRAFT_2020, CORE, NO, REFUSE)                             \
  X(DOLLAR_ID, "$id", TOMBOLA__FROM_6, CORE, NO, IGNORE)                                           \
  X(RECURSIVE_ANCHOR, "$recursiveAnchor", TOMBOLA__DRAFT_2019, CORE, NO, IGNORE)                   \
  X(RECURSIVE_REF, "$recursiveRef", TOMBOLA__DRAFT_2019, CORE, NO, REFUSE)                         \
  X(REF, "$ref", TOMBOLA__ALL, CORE, NO, IGNORE)                                                   \
  X(SCHEMA, "$schema", TOMBOLA__ALL, CORE, NO, IGNORE)                                             \
  X(ADDITIONAL_ITEMS, "additionalItems", TOMBOLA__TO_2019, APPLICATOR, ONE, IGNORE)                \
  X(ADDITIONAL_PROPERTIES, "additionalProperties", TOMBOLA__ALL, APPLICATOR, ONE, IGNORE)          \
  X(ALL_OF, "allOf", TOMBOLA__ALL, APPLICATOR, LIST, IGNORE)                                       \
  X(ANY_OF, "anyOf", TOMBOLA__ALL, APPLICATOR, LIST, IGNORE)                                       \
  X(CONST, "const", TOMBOLA__FROM_6, VALIDATION, NO, REFUSE)                                       \
  X(CONTAINS, "contains", TOMBOLA__FROM_6, APPLICATOR, ONE, REFUSE)                                \
  X(CONTENT_SCHEMA, "contentSchema", TOMBOLA__FROM_2019, CORE, ONE, IGNORE)                        \
  X(DEFINITIONS, "definitions", TOMBOLA__ALL, CORE, MAP, IGNORE)                                   \
  X(DEPENDENCIES, "dependencies", TOMBOLA__ALL, APPLICATOR, MAP, IGNORE)                           \
  X(DEPENDENT_REQUIRED, "dependentRequired", TOMBOLA__FROM_2019, VALIDATION, NO, REFUSE)           \
  X(DEPENDENT_SCHEMAS, "dependentSchemas", TOMBOLA__FROM_2019, APPLICATOR, MAP, REFUSE)            \
  X(ELSE, "else", TOMBOLA__FROM_7, APPLICATOR, ONE, REFUSE)                                        \
  X(ENUM, "enum", TOMBOLA__ALL, VALIDATION, NO, IGNORE)                                            \
  X(EXCLUSIVE_MAXIMUM, "exclusiveMaximum", TOMBOLA__ALL, VALIDATION, NO, IGNORE)                   \
  X(EXCLUSIVE_MINIMUM, "exclusiveMinimum", TOMBOLA__ALL, VALIDATION, NO, IGNORE)                   \
  X(FORMAT, "format", TOMBOLA__ALL, FORMAT, NO, IGNORE)                                            \
  X(ID, "id", TOMBOLA__DRAFT_4, CORE, NO, IGNORE)                                                  \
  X(IF, "if", TOMBOLA__FROM_7, APPLICATOR, ONE, REFUSE)                                            \
  X(ITEMS, "items", TOMBOLA__ALL, APPLICATOR, ONE_OR_LIST, IGNORE)                                 \
  X(MAX_CONTAINS, "maxContains", TOMBOLA__FROM_2019, VALIDATION, NO, REFUSE)                       \
  X(MAX_ITEMS, "maxItems", TOMBOLA__ALL, VALIDATION, NO, IGNORE)                                   \
  X(MAX_LENGTH, "maxLength", TOMBOLA__ALL, VALIDATION, NO, IGNORE)                                 \
  X(MAX_PROPERTIES, "maxProperties", TOMBOLA__ALL, VALIDATION, NO, IGNORE)                         \
  X(MAXIMUM, "maximum", TOMBOLA__ALL, VALIDATION, NO, IGNORE)                                      \
  X(MIN_CONTAINS, "minContains", TOMBOLA__FROM_2019, VALIDATION, NO, REFUSE)                       \
  X(MIN_ITEMS, "minItems", TOMBOLA__ALL, VALIDATION, NO, IGNORE)                                   \
  X(MIN_LENGTH, "minLength", TOMBOLA__ALL, VALIDATION, NO, IGNORE)                                 \
  X(MIN_PROPERTIES, "minProperties", TOMBOLA__ALL, VALIDATION, NO, IGNORE)                         \
  X(MINIMUM, "minimum", TOMBOLA__ALL, VALIDATION, NO, IGNORE)                                      \
  X(MULTIPLE_OF, "multipleOf", TOMBOLA__ALL, VALIDATION, NO, IGNORE)                               \
  X(NOT, "not", TOMBOLA__ALL, APPLICATOR, ONE, IGNORE)                                             \
  X(NULLABLE, "nullable", TOMBOLA__ALL, CORE, NO, IGNORE)                                          \
  X(ONE_OF, "oneOf", TOMBOLA__ALL, APPLICATOR, LIST, IGNORE)                                       \
  X(PATTERN, "pattern", TOMBOLA__ALL, VALIDATION, NO, IGNORE)                                      \
  X(PATTERN_PROPERTIES, "patternProperties", TOMBOLA__ALL, APPLICATOR, MAP, IGNORE)                \
  X(PREFIX_ITEMS, "prefixItems", TOMBOLA__DRAFT_2020, APPLICATOR, LIST, REFUSE)                    \
  X(PROPERTIES, "properties", TOMBOLA__ALL, APPLICATOR, MAP, IGNORE)                               \
  X(PROPERTY_NAMES, "propertyNames", TOMBOLA__FROM_6, APPLICATOR, ONE, REFUSE)                     \
  X(REQUIRED, "required", TOMBOLA__ALL, VALIDATION, NO, IGNORE)                                    \
  X(THEN, "then", TOMBOLA__FROM_7, APPLICATOR, ONE, REFUSE)                                        \
  X(TYPE, "type", TOMBOLA__ALL, VALIDATION, NO, IGNORE)                                            \
  X(UNEVALUATED_ITEMS, "unevaluatedItems", TOMBOLA__FROM_2019, UNEVALUATED, ONE, REFUSE)           \
  X(UNEVALUATED_PROPERTIES, "unevaluatedProperties", TOMBOLA__FROM_2019, UNEVALUATED, ONE, REFUSE) \
  X(UNIQUE_ITEMS, "uniqueItems", TOMBOLA__ALL, VALIDATION, NO, IGNORE)

enum tombola__keyword {
#define TOMBOLA__X(id, name, drafts, vocabulary, subschemas, elsewhere) TOMBOLA__K_##id,
  TOMBOLA__KEYWORDS(TOMBOLA__X)
#undef TOMBOLA__X
      TOMBOLA__N_KEYWORDS
};

/* Vocabularies as bits. */
enum tombola__vocabulary {
  TOMBOLA__V_CORE = 1,
  TOMBOLA__V_APPLICATOR = 2,
  TOMBOLA__V_VALIDATION = 4,
  TOMBOLA__V_UNEVALUATED = 8,
  TOMBOLA__V_FORMAT = 16,
  TOMBOLA__V_FORMAT_ASSERTION = 32, /* asserted whatever the caller says */
  TOMBOLA__V_ALL = 31
};

/* Where a keyword holds schemas. */
enum tombola__subschemas {
  TOMBOLA__SUB_NO,
  TOMBOLA__SUB_ONE,
  TOMBOLA__SUB_LIST,
  TOMBOLA__SUB_ONE_OR_LIST,
  TOMBOLA__SUB_MAP
};

struct tombola__keyword_info {
  const char *name;
  size_t length;
  unsigned drafts, vocabulary;
  enum tombola__subschemas subschemas;
  bool refused_elsewhere; /* in drafts that don't have it: it would constrain if it were honoured */
};
extern const struct tombola__keyword_info tombola__keywords[TOMBOLA__N_KEYWORDS];

struct tombola__dialect {
  unsigned draft; /* 0: not known; `name` says what was asked for */
  unsigned vocabularies;
  yyjson_val *name; /* of `$schema`, or NULL */
};

struct tombola__document {
  struct tombola__document *next;
  yyjson_doc *json;
  const char *uri; /* "": the schema itself */
};

struct tombola__anchor {
  struct tombola__anchor *next;
  const char *name;
  size_t length;
  yyjson_val *schema;
  bool dynamic; /* `$recursiveAnchor` is one without a name */
};

struct tombola__resource {
  struct tombola__resource *next;
  const char *uri;   /* without a fragment */
  const char *alias; /* the URI under which the caller supplied it, or NULL */
  yyjson_val *root;
  struct tombola__document *document;
  struct tombola__dialect dialect;
  struct tombola__anchor *anchors;
  bool dynamic; /* has a dynamic anchor */
};

/* A schema in a document. */
struct tombola__place {
  yyjson_val *schema;
  struct tombola__resource *resource;
  uint64_t dropped; /* keywords, as bits: left out by `lenient` */
};

/* Resources entered, outermost first, innermost at the head of the list; only those with dynamic anchors, each once. */
struct tombola__scope {
  const struct tombola__scope *outer;
  struct tombola__resource *resource;
  uint32_t id;
};

struct tombola__pair {
  uint32_t place, scope;
  tombola__formula later, formula; /* MANY: not yet */
  bool building;
};

struct tombola__pattern {
  struct tombola__pattern *next;
  const char *text;
  size_t length;
  tombola__lang lang;
  enum tombola_status status;
  char reason[160];
};

/* A growing table in the compiler's memory. */
struct tombola__table {
  uint32_t *slots; /* index + 1 */
  size_t n_slots;
};

struct tombola__compiler {
  struct tombola__store *s;
  const struct tombola_grammar_source *source;
  struct tombola_schema_verdict *verdict;
  struct tombola__dropped **dropped, **dropped_end;
  struct tombola__document *documents;
  bool all_loaded;
  uint8_t *tried; /* of source->documents: loaded already */
  size_t bytes, max_source;
  struct tombola__resource *resources, **resources_end;
  struct tombola__dialect dialect; /* of documents that name none */
  struct tombola__place *places;
  size_t n_places, place_room;
  struct tombola__table place_table;
  const struct tombola__scope **scopes; /* [0]: none, NULL */
  size_t n_scopes, scope_room;
  struct tombola__pair *pairs;
  size_t n_pairs, pair_room;
  struct tombola__table pair_table;
  struct tombola__pattern *patterns;
  size_t refs, depth, max_depth;
  const yyjson_val **left_out; /* lenient: where something was */
  size_t n_left_out, left_out_room;
  bool again; /* lenient: what was left out is known */
};

/* The keywords of one schema that hold: absent ones, those of other drafts or vocabularies and dropped ones are NULL. */
struct tombola__keys {
  yyjson_val *v[TOMBOLA__N_KEYWORDS];
};

/* What is being built: a schema in a scope. */
struct tombola__build {
  struct tombola__compiler *c;
  uint32_t place, scope;
  yyjson_val *schema;
  struct tombola__resource *resource;
  struct tombola__keys keys;
  struct tombola__formulas_list {
    tombola__formula *f;
    size_t n, room;
  } parts; /* all of them must hold */
};

/* ---- documents.c ---- */

/* Reads a text; NULL after a failure. */
struct tombola__document *tombola__document_read(struct tombola__compiler *c, const char *uri,
                                                 const char *text, size_t length);

/* The JSON pointer of a value, cut at a whole step. */
void tombola__pointer(const struct tombola__document *document, const yyjson_val *value, char *out,
                      size_t size);

/* FORMAT, OUT_OF_RANGE: always a failure. The place is that of `at` in the resource's document. */
void tombola__complain(struct tombola__compiler *c, const struct tombola__resource *resource,
                       const yyjson_val *at, const char *keyword, enum tombola_status status,
                       const char *format, ...) TOMBOLA__PRINTF(6, 7);

/* UNSUPPORTED: a failure, or, when lenient, an entry in the list of what is left out. Returns TRUE, for the formula of
 * what is left out. */
tombola__formula tombola__refuse(struct tombola__build *b, const yyjson_val *at,
                                 enum tombola__keyword keyword, const char *format, ...)
    TOMBOLA__PRINTF(4, 5);

/* Whether something in a schema is left out, so that it allows more than it says: its negation would allow less. Known
 * only when a schema is built again. */
bool tombola__is_loose(const struct tombola__compiler *c, yyjson_val *value);

/* FORMAT: what the keyword must be. */
tombola__formula tombola__must(struct tombola__build *b, const yyjson_val *at, enum tombola__keyword keyword,
                               const char *what);

/* Room for one more element of a table in the store's memory. */
bool tombola__room(struct tombola__store *s, void **memory, size_t *room, size_t count, size_t size);
char *tombola__copy(struct tombola__store *s, const char *text, size_t length);

/* ---- uri.c: in the store's memory; NULL after a failure ---- */

const char *tombola__uri_resolve(struct tombola__store *s, const char *base, const char *reference,
                                 size_t length);
/* Percent-encoded bytes decoded, in place. */
size_t tombola__uri_decode(char *text, size_t length);

/* ---- dialect.c ---- */

const char *tombola__draft_name(unsigned draft);            /* "2020-12" */
int tombola__keyword_find(const char *name, size_t length); /* -1: none */
void tombola__keys_read(const struct tombola__dialect *dialect, yyjson_val *schema, uint64_t dropped,
                        struct tombola__keys *out);
/* The dialect of a `$schema`. */
struct tombola__dialect tombola__dialect_of(struct tombola__compiler *c, yyjson_val *name, unsigned depth);

/* ---- unknown.c ---- */

/* The distance that is too far for a name of this length to be another one misspelled; and whether a known name is nearer
 * than *least, which is then its distance. */
size_t tombola__misspelled(size_t length);
bool tombola__is_nearer(const char *name, size_t length, const char *known, size_t known_length,
                        size_t *least);

/* ---- resources.c ---- */

/* The supplied document of this URI, or NULL: read, with its resources. */
struct tombola__resource *tombola__resource_find(struct tombola__compiler *c, const char *uri, size_t length);
struct tombola__resource *tombola__resource_add(struct tombola__compiler *c,
                                                struct tombola__document *document, const char *uri,
                                                yyjson_val *root);
/* Registers a schema and those in it; `in` is the resource around it. */
void tombola__walk(struct tombola__compiler *c, struct tombola__resource *in, yyjson_val *schema,
                   size_t depth);
uint32_t tombola__place_of(struct tombola__compiler *c, const yyjson_val *schema);
/* What a reference names: a place, or NO_PLACE, and then *why says why. `anchor`: the anchor that it names, or NULL. */
uint32_t tombola__reference(struct tombola__compiler *c, const struct tombola__resource *from,
                            yyjson_val *reference, const struct tombola__anchor **anchor, const char **why);
uint32_t tombola__scope_with(struct tombola__compiler *c, uint32_t scope, struct tombola__resource *resource);
/* The outermost dynamic anchor of this name in scope, or NULL. */
const struct tombola__anchor *tombola__scope_anchor(const struct tombola__compiler *c, uint32_t scope,
                                                    const struct tombola__anchor *like);

/* ---- schema.c ---- */

/* Reads the schema itself and makes its places known; the place of its root, or NO_PLACE after a failure. The documents
 * are to be freed either way. */
uint32_t tombola__schema_root(struct tombola__compiler *c, const struct tombola__schema_source *source);

void tombola__part(struct tombola__build *b, tombola__formula f);
/* The formula of a schema for the value itself, and for values inside. */
tombola__formula tombola__in_place(struct tombola__build *b, uint32_t place);
tombola__formula tombola__sub(struct tombola__build *b, yyjson_val *schema);
tombola__formula tombola__child(struct tombola__build *b, yyjson_val *schema);
/* The place of a subschema of this one. */
uint32_t tombola__sub_place(struct tombola__build *b, yyjson_val *schema);
bool tombola__is_schema(yyjson_val *value);
/* A build's keywords and so on for another place in scope; false: not an object, or refused. */
bool tombola__build_begin(struct tombola__build *b, struct tombola__compiler *c, uint32_t place,
                          uint32_t scope);

/* ---- keywords: each adds parts ---- */

void tombola__build_references(struct tombola__build *b);
void tombola__build_applicators(struct tombola__build *b);
void tombola__build_assertions(struct tombola__build *b);
void tombola__build_object(struct tombola__build *b);
void tombola__build_array(struct tombola__build *b);
void tombola__build_unevaluated(struct tombola__build *b);

/* Where `$ref` (or one of the other two) leads here; NO_PLACE: nowhere (refused). */
uint32_t tombola__ref_target(struct tombola__build *b, enum tombola__keyword keyword);

/* A whole number that isn't negative; false: complained. Larger ones are cut at `most`. */
bool tombola__count_read(struct tombola__build *b, enum tombola__keyword keyword, uint32_t most,
                         uint32_t *out);
/* Strings in a pattern; NULL when it is refused. */
const tombola__lang *tombola__pattern(struct tombola__build *b, yyjson_val *text, const yyjson_val *at,
                                      enum tombola__keyword keyword);
/* Names that `properties` and `patternProperties` speak of; false: one of the patterns is left out. */
bool tombola__declared_names(struct tombola__build *b, tombola__lang *out);

/* The formula of a value; numbers are raw. */
tombola__formula tombola__equal_value(struct tombola__store *s, yyjson_val *value, size_t depth);
tombola__formula tombola__equal_any(struct tombola__store *s, yyjson_val *list, size_t depth);
/* Reads a raw number; the digits are in the store's memory. */
bool tombola__decimal_of(struct tombola__store *s, yyjson_val *value, struct tombola__decimal *out);

#endif
