/* SPDX-License-Identifier: Apache-2.0 */
/* The schema compiler: whatever it is given, it ends in a status, or in a grammar that can be walked through. The
 * input's bytes choose a schema's keywords and values, or are the schema. */
#include "fuzz_constraint.h"

static void put_schema(struct fuzz_text *t, struct fuzz_input *in, unsigned depth);

/* Lists of names, which may not come twice, go on from the first one's index. */
static void put_name(struct fuzz_text *t, size_t index) {
  static const char *const strings[] = {
      "a", "b", "ab", "", "\\u00e9", "aa", "\\n", "$x", "\\ud83d\\ude00", "1", "2020-01-01", "true", "c"};
  fuzz_put(t, "\"%s\"", strings[index % FUZZ_COUNT(strings)]);
}

static void put_string(struct fuzz_text *t, struct fuzz_input *in) {
  put_name(t, fuzz_below(in, 256));
}

static void put_number(struct fuzz_text *t, struct fuzz_input *in) {
  static const char *const numbers[] = {"0",   "1",    "2",   "-1",   "3.5", "1e2",
                                        "10",  "0.01", "-7",  "1e99", "1.0", "123456789012345678901234567890",
                                        "100", "-0",   "7e-3"};
  fuzz_put(t, "%s", numbers[fuzz_below(in, FUZZ_COUNT(numbers))]);
}

static void put_value(struct fuzz_text *t, struct fuzz_input *in, unsigned depth) {
  const size_t kind = fuzz_below(in, depth ? 7 : 5), n = fuzz_below(in, 4);
  switch (kind) {
  case 0: fuzz_put(t, "null"); break;
  case 1: fuzz_put(t, n % 2 ? "true" : "false"); break;
  case 2: put_number(t, in); break;
  case 3:
  case 4: put_string(t, in); break;
  default:
    fuzz_put(t, kind == 5 ? "[" : "{");
    for (size_t i = 0; i < n; i++) {
      if (i) fuzz_put(t, ",");
      if (kind == 6) fuzz_put(t, "\"%c\":", (char)('a' + i));
      put_value(t, in, depth - 1);
    }
    fuzz_put(t, kind == 5 ? "]" : "}");
  }
}

/* A pattern in quotes. */
static void put_pattern(struct fuzz_text *t, size_t index) {
  static const char *const patterns[] = {"a",
                                         "^a",
                                         "b$",
                                         "^[ab]{1,3}$",
                                         "^(a|bc)*$",
                                         "[^a]",
                                         "^x",
                                         "^\\\\d+$",
                                         "\\\\s",
                                         "^.{2}$",
                                         "(?!a)",
                                         "^(?!ab)",
                                         "a(?=b)",
                                         "\\\\bab\\\\b",
                                         "^$",
                                         "\\\\p{Lu}",
                                         "(a*)*b",
                                         "^(a|b|ab){2,5}$",
                                         "[\\\\u00e0-\\\\uffff]",
                                         "(",
                                         "a{3,1}",
                                         "(.*a.{4})"};
  fuzz_put(t, "\"%s\"", patterns[index % FUZZ_COUNT(patterns)]);
}

static void put_properties(struct fuzz_text *t, struct fuzz_input *in, unsigned depth, bool patterns) {
  const size_t n = fuzz_below(in, 4), from = fuzz_below(in, 256);
  fuzz_put(t, "{");
  for (size_t i = 0; i < n; i++) {
    if (i) fuzz_put(t, ",");
    if (patterns)
      put_pattern(t, from + i);
    else
      put_name(t, from + i);
    fuzz_put(t, ":");
    put_schema(t, in, depth);
  }
  fuzz_put(t, "}");
}

static void put_list(struct fuzz_text *t, struct fuzz_input *in, unsigned depth,
                     void (*put)(struct fuzz_text *, struct fuzz_input *, unsigned)) {
  fuzz_put(t, "[");
  for (size_t i = 0, n = 1 + fuzz_below(in, 3); i < n; i++) {
    if (i) fuzz_put(t, ",");
    put(t, in, depth);
  }
  fuzz_put(t, "]");
}

static void put_type(struct fuzz_text *t, size_t index) {
  static const char *const types[] = {"string", "integer", "number", "object", "array", "boolean", "null"};
  fuzz_put(t, "\"%s\"", types[index % FUZZ_COUNT(types)]);
}

static void put_names(struct fuzz_text *t, struct fuzz_input *in, void (*put)(struct fuzz_text *, size_t)) {
  const size_t from = fuzz_below(in, 256);
  fuzz_put(t, "[");
  for (size_t i = 0, n = 1 + fuzz_below(in, 3); i < n; i++) {
    if (i) fuzz_put(t, ",");
    put(t, from + i);
  }
  fuzz_put(t, "]");
}

/* What a keyword's value is. */
enum value {
  SCHEMA,
  SCHEMAS,
  PROPERTIES,
  PATTERNS,
  SMALL,
  NUMBER,
  VALUE,
  VALUES,
  NAMES,
  TYPE,
  PATTERN,
  BOOL,
  REF,
  DEPENDENT,
  FORMAT
};

static const struct {
  const char *name;
  enum value value;
} keywords[] = {
    {"type", TYPE},
    {"type", TYPE},
    {"type", TYPE},
    {"properties", PROPERTIES},
    {"items", SCHEMA},
    {"enum", VALUES},
    {"const", VALUE},
    {"anyOf", SCHEMAS},
    {"oneOf", SCHEMAS},
    {"allOf", SCHEMAS},
    {"not", SCHEMA},
    {"if", SCHEMA},
    {"then", SCHEMA},
    {"else", SCHEMA},
    {"required", NAMES},
    {"minLength", SMALL},
    {"maxLength", SMALL},
    {"pattern", PATTERN},
    {"format", FORMAT},
    {"minimum", NUMBER},
    {"maximum", NUMBER},
    {"exclusiveMinimum", NUMBER},
    {"exclusiveMaximum", NUMBER},
    {"multipleOf", NUMBER},
    {"minItems", SMALL},
    {"maxItems", SMALL},
    {"uniqueItems", BOOL},
    {"contains", SCHEMA},
    {"minContains", SMALL},
    {"maxContains", SMALL},
    {"prefixItems", SCHEMAS},
    {"additionalProperties", SCHEMA},
    {"patternProperties", PATTERNS},
    {"propertyNames", SCHEMA},
    {"minProperties", SMALL},
    {"maxProperties", SMALL},
    {"dependentRequired", DEPENDENT},
    {"dependentSchemas", PROPERTIES},
    {"unevaluatedProperties", SCHEMA},
    {"unevaluatedItems", SCHEMA},
    {"$ref", REF},
    {"$dynamicRef", REF},
    {"$comment", VALUE},
    {"default", VALUE},
    {"nonsense", VALUE},
};

static void put_keyword_value(struct fuzz_text *t, struct fuzz_input *in, enum value value, unsigned depth) {
  static const char *const refs[] = {"#",        "#/$defs/a", "#/$defs/b", "#/properties/a",
                                     "#nowhere", "http://x/y"};
  static const char *const formats[] = {"date", "ipv4",      "uuid", "email",
                                        "time", "date-time", "what", "hostname"};
  switch (value) {
  case SCHEMA: put_schema(t, in, depth); break;
  case SCHEMAS: put_list(t, in, depth, put_schema); break;
  case PROPERTIES: put_properties(t, in, depth, false); break;
  case PATTERNS: put_properties(t, in, depth, true); break;
  case SMALL: fuzz_put(t, "%zu", fuzz_below(in, 16) < 15 ? fuzz_below(in, 4) : fuzz_below(in, 65536)); break;
  case NUMBER: put_number(t, in); break;
  case VALUE: put_value(t, in, 2); break;
  case VALUES: put_list(t, in, 1, put_value); break;
  case NAMES: put_names(t, in, put_name); break;
  case TYPE:
    if (fuzz_below(in, 3))
      put_type(t, fuzz_below(in, 256));
    else
      put_names(t, in, put_type);
    break;
  case PATTERN: put_pattern(t, fuzz_below(in, 256)); break;
  case BOOL: fuzz_put(t, fuzz_below(in, 4) ? "true" : "false"); break;
  case REF: fuzz_put(t, "\"%s\"", refs[fuzz_below(in, 8) % FUZZ_COUNT(refs)]); break;
  case DEPENDENT:
    fuzz_put(t, "{");
    put_string(t, in);
    fuzz_put(t, ":");
    put_names(t, in, put_name);
    fuzz_put(t, "}");
    break;
  case FORMAT: fuzz_put(t, "\"%s\"", formats[fuzz_below(in, FUZZ_COUNT(formats))]); break;
  }
}

static void put_keywords(struct fuzz_text *t, struct fuzz_input *in, unsigned depth, bool first) {
  uint64_t used = 0;
  for (size_t n = fuzz_below(in, 5) + first; n > 0; n--) {
    size_t i = fuzz_below(in, FUZZ_COUNT(keywords));
    if (i < 3) i = 0; /* all are "type" */
    if (used >> i & 1) continue;
    used |= (uint64_t)1 << i;
    fuzz_put(t, "%s\"%s\":", first ? "" : ",", keywords[i].name);
    put_keyword_value(t, in, keywords[i].value, depth);
    first = false;
  }
}

static void put_schema(struct fuzz_text *t, struct fuzz_input *in, unsigned depth) {
  if (depth == 0 || fuzz_below(in, 12) == 0) {
    static const char *const leaves[] = {"true",
                                         "false",
                                         "{}",
                                         "{\"type\":\"integer\"}",
                                         "{\"type\":\"string\"}",
                                         "{\"$ref\":\"#\"}",
                                         "{\"$ref\":\"#/$defs/a\"}",
                                         "{\"const\":\"a\"}"};
    fuzz_put(t, "%s", leaves[fuzz_below(in, FUZZ_COUNT(leaves))]);
    return;
  }
  fuzz_put(t, "{");
  put_keywords(t, in, depth - 1, true);
  fuzz_put(t, "}");
}

static void put_document(struct fuzz_text *t, struct fuzz_input *in) {
  fuzz_put(t, "{\"$defs\":{\"a\":");
  put_schema(t, in, 2);
  fuzz_put(t, ",\"b\":");
  put_schema(t, in, 1);
  fuzz_put(t, "}");
  put_keywords(t, in, 3, false);
  fuzz_put(t, "}");
}

/* What says nothing is listed whatever the verdict; what compiles is listed, but for the limit of time. */
static void list_unknown(const struct tombola_grammar_source *source, bool compiled) {
  struct tombola_schema_note notes[3];
  struct tombola_error error = {.status = TOMBOLA_OK};
  size_t count = 99, all = 99;
  const enum tombola_status status = tombola_schema_unknown(source, NULL, notes, 3, &count, &error);
  FUZZ_ASSERT(status == error.status && (status == TOMBOLA_OK || (error.message[0] && count == 0)));
  FUZZ_ASSERT(!compiled || status == TOMBOLA_OK || fuzz_names_limit(&error));
  for (size_t i = 0; i < count && i < 3; i++)
    FUZZ_ASSERT(strchr(notes[i].pointer, '/') && notes[i].reason[0]);
  if (status == TOMBOLA_OK && tombola_schema_unknown(source, NULL, NULL, 0, &all, NULL) == TOMBOLA_OK)
    FUZZ_ASSERT(all == count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char alphabet[] = "{}[]\":,\\ut0123456789eE+-.truefalsn \"type\"$refitems#/";
  static struct fuzz_text text;
  struct fuzz_input in = {data, size, 0};
  const size_t kind = fuzz_below(&in, 16), options = fuzz_below(&in, 256);
  text.length = 0;
  if (kind < 2)
    fuzz_put_rest(&text, &in, kind ? alphabet : NULL);
  else
    put_document(&text, &in);
  struct tombola_grammar_source source = {.kind = TOMBOLA_GRAMMAR_JSON_SCHEMA,
                                          .text = text.bytes,
                                          .length = text.length,
                                          .whitespace = options % 3,
                                          .whitespace_max = options / 3 % 4,
                                          .spelling = options >> 3 & 1,
                                          .format = options >> 4 & 1,
                                          .order = options >> 5 & 1,
                                          .nullable = options >> 6 & 1,
                                          .lenient = options >> 7 & 1};
  tombola_grammar *const grammar = fuzz_compile(&source);
  list_unknown(&source, grammar != NULL);
  if (!grammar) return 0;
  fuzz_walk(grammar, &in, 24);
  fuzz_walk(grammar, &in, 24);
  tombola_grammar_free(grammar);
  return 0;
}
