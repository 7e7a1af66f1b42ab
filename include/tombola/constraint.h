/* SPDX-License-Identifier: Apache-2.0 */
/* Constraints: what an answer may look like (JSON, a JSON Schema, a regular expression, a GBNF grammar, a choice, tool
 * calls in free text), as a mask over the vocabulary at every token. Exact: a token is allowed if and only if the
 * answer can still be completed after it (as bytes: the vocabulary is taken to spell every single byte); what can't be
 * enforced is refused.
 *
 *   vocabulary ──▶ tombola_trie ──┐                      (once per model)
 *   schema, regex, GBNF, … ───────┴▶ tombola_grammar     (once per schema; shared)
 *                                        └▶ tombola_matcher   (one per answer)
 */
#ifndef TOMBOLA_CONSTRAINT_H
#define TOMBOLA_CONSTRAINT_H

#include <tombola/sampler.h>
#include <tombola/text.h>
#include <tombola/vocabulary.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the vocabulary, prepared ---- */

/* The tokens of a vocabulary in a trie, and sets of those that only a string can hold. Immutable: any number of
 * threads may use one. */
typedef struct tombola_trie tombola_trie;

/* The vocabulary is borrowed and must outlive the trie. NO_MEMORY. */
TOMBOLA_API enum tombola_status tombola_trie_new(const tombola_vocabulary *vocabulary,
                                                 const struct tombola_allocator *allocator,
                                                 tombola_trie **out, struct tombola_error *error);
TOMBOLA_API void tombola_trie_free(tombola_trie *trie);

/* Bytes that it holds. */
TOMBOLA_API size_t tombola_trie_size(const tombola_trie *trie);

/* ---- grammars ---- */

enum tombola_grammar_kind {
  TOMBOLA_GRAMMAR_JSON = 0,        /* any JSON text (RFC 8259), no duplicate keys; no source text */
  TOMBOLA_GRAMMAR_JSON_OBJECT = 1, /* a JSON object; no source text */
  TOMBOLA_GRAMMAR_JSON_SCHEMA = 2, /* a JSON text that is valid under a schema */
  TOMBOLA_GRAMMAR_REGEX = 3,       /* the whole answer matches a regular expression (ECMA-262's syntax) */
  TOMBOLA_GRAMMAR_GBNF = 4,        /* llama.cpp's grammar files */
  TOMBOLA_GRAMMAR_CHOICE = 5,      /* one of several texts */
  TOMBOLA_GRAMMAR_MIX = 6          /* free text; behind a trigger, a grammar; then free text again */
};

/* Insignificant white space between the tokens of a JSON text, and in front of it; behind it only with ANY. */
enum tombola_whitespace {
  TOMBOLA_WHITESPACE_BOUNDED = 0, /* at most whitespace_max bytes a place */
  TOMBOLA_WHITESPACE_NONE = 1,
  TOMBOLA_WHITESPACE_ANY = 2
};

enum tombola_format {
  TOMBOLA_FORMAT_ASSERT = 0,  /* a format that isn't known is refused */
  TOMBOLA_FORMAT_ANNOTATE = 1 /* formats say nothing (2020-12's default vocabulary) */
};

enum tombola_property_order {
  TOMBOLA_ORDER_ANY = 0,
  TOMBOLA_ORDER_DECLARED = 1 /* declared properties in the schema's order, others behind them */
};

/* How strings and numbers of JSON are spelled. */
enum tombola_spelling {
  TOMBOLA_SPELLING_ANY = 0, /* in every way that JSON has */
  /* Strings, names too, escape what must be, and nothing else: \" and \\, of control characters \b \f \n \r \t, and
   * \u00XX for the other ones. Numbers have no exponent, no fraction that ends in 0 and no -0, and at most 64 digits on
   * each side of the point: those that would take more aren't there. */
  TOMBOLA_SPELLING_PLAIN = 1
};

/* A schema that `$ref` may name. */
struct tombola_schema_document {
  const char *uri;
  const char *text;
  size_t length;
};

/* What happens behind a trigger of a MIX. */
struct tombola_mix_rule {
  const char *trigger; /* text that begins the rule; not empty */
  size_t trigger_length;
  enum tombola_grammar_kind kind; /* what follows it; not CHOICE or MIX */
  const char *text;               /* as in struct tombola_grammar_source */
  size_t length;
  const char *end; /* text that must follow the grammar's, or NULL */
  size_t end_length;
  int include_trigger; /* 1: the grammar's text begins with the trigger (llama.cpp's lazy grammars) */
};

/* What compiling and the matchers of a grammar may use; 0 is the default. Beyond it: OUT_OF_RANGE, and the message says
 * which. */
struct tombola_grammar_limits {
  size_t struct_size;
  size_t max_states;  /* of automata, alternatives of schemas: 1,000,000 */
  size_t max_bytes;   /* of memory: 256 MiB */
  size_t max_depth;   /* of nested schemas, groups, values: 256 */
  size_t max_refs;    /* `$ref`s in a schema: 4096 */
  size_t max_source;  /* bytes of source text: 16 MiB */
  size_t max_threads; /* readings of one text that are followed at a time: 4096 */
  double max_seconds; /* of compiling: 5 */
  size_t mask_bytes;  /* of cached masks: 64 MiB */
  size_t max_work;    /* steps of one call of a matcher, or of compiling: 20,000,000, a second or two */
};

struct tombola_grammar_source {
  size_t struct_size;
  enum tombola_grammar_kind kind;
  const char *text; /* the schema (JSON), regular expression or grammar; not NUL-terminated */
  size_t length;
  const struct tombola_bytes *choices; /* CHOICE: the texts */
  size_t n_choices;
  const struct tombola_mix_rule *rules; /* MIX */
  size_t n_rules;
  const char *root; /* GBNF: the first rule; NULL: "root" */

  /* Of JSON, and of JSON in a MIX. */
  enum tombola_whitespace whitespace;
  size_t whitespace_max; /* 0: 64, rMLX's */
  enum tombola_format format;
  enum tombola_property_order order;
  int nullable;     /* 1: OpenAPI's `nullable: true` allows null too; 0: an annotation */
  int lenient;      /* 1: what can't be enforced is left out, and tombola_grammar_dropped() lists it */
  int free_prelude; /* 1: rMLX's warm-up: anything until the first `{` or `[` */
  const struct tombola_schema_document *documents; /* what `$ref` may name; nothing is ever fetched */
  size_t n_documents;
  const struct tombola_grammar_limits *limits; /* or NULL */
  enum tombola_spelling spelling;
};

enum tombola_verdict {
  TOMBOLA_VERDICT_EXACT = 0,
  TOMBOLA_VERDICT_MAY_BACKTRACK =
      1, /* masks allow every token that can be completed, and maybe one that can't */
  TOMBOLA_VERDICT_REFUSED = 2
};

/* What a schema is worth. pointer: a JSON pointer to what the reason speaks of; "" is the whole schema. */
struct tombola_schema_verdict {
  enum tombola_verdict verdict;
  char pointer[512];
  char keyword[64];
  char reason[256];
};

/* Immutable and shared; the caches inside have a lock of their own. */
typedef struct tombola_grammar tombola_grammar;

/* Compiles. `trie` is borrowed and must outlive the grammar; NULL: no masks, only bytes, and no GBNF with tokens.
 * `verdict` may be NULL; it is filled in when a schema is compiled or refused. INVALID_ARGUMENT: a value out of range;
 * FORMAT: not JSON, not a schema, a syntax error (offset: where); UNSUPPORTED: refused (param: the JSON pointer, cut);
 * OUT_OF_RANGE: beyond a limit; NO_CANDIDATE: nothing at all would fit; NO_MEMORY. */
TOMBOLA_API enum tombola_status
tombola_grammar_new(const struct tombola_grammar_source *source, const tombola_trie *trie,
                    const struct tombola_allocator *allocator, tombola_grammar **out,
                    struct tombola_schema_verdict *verdict, struct tombola_error *error);

/* Grammars are counted: each _retain, and _new, takes a _free. */
TOMBOLA_API tombola_grammar *tombola_grammar_retain(tombola_grammar *grammar);
TOMBOLA_API void tombola_grammar_free(tombola_grammar *grammar);

/* The verdict again. */
TOMBOLA_API void tombola_grammar_verdict(const tombola_grammar *grammar,
                                         struct tombola_schema_verdict *verdict);

/* What a lenient grammar doesn't enforce: the i-th pointer and keyword, valid as long as the grammar; false beyond the
 * last. */
TOMBOLA_API int tombola_grammar_dropped(const tombola_grammar *grammar, size_t i, const char **pointer,
                                        const char **keyword);

/* A keyword of a schema that says nothing: no draft knows it, or another draft than the schema's does, or it is OpenAPI's
 * `nullable: true` without that rule. */
struct tombola_schema_note {
  char pointer[512]; /* to it, as in a verdict */
  char keyword[64];
  char nearest[64]; /* the keyword that it may be a misspelling of, or "" */
  char reason[64];
};

/* Lists those keywords of a JSON_SCHEMA and of what its references lead to, whatever its verdict. They are annotations,
 * as the standard has it, and mostly typing errors; names that are meant as annotations (`title`, `x-…`) aren't listed.
 * Fills in the first `capacity` notes and stores how many there are in *count, which is 0 for other kinds and after a
 * failure: INVALID_ARGUMENT, FORMAT, OUT_OF_RANGE, NO_MEMORY, as in tombola_grammar_new(). */
TOMBOLA_API enum tombola_status tombola_schema_unknown(const struct tombola_grammar_source *source,
                                                       const struct tombola_allocator *allocator,
                                                       struct tombola_schema_note *notes, size_t capacity,
                                                       size_t *count, struct tombola_error *error);

/* Grammars by content: the same source and options give the same grammar, compiled once. Thread-safe. */
typedef struct tombola_grammar_cache tombola_grammar_cache;

/* Keeps up to `capacity` grammars (0: 64), the least recently used goes first. */
TOMBOLA_API enum tombola_status tombola_grammar_cache_new(const tombola_trie *trie, size_t capacity,
                                                          const struct tombola_allocator *allocator,
                                                          tombola_grammar_cache **out,
                                                          struct tombola_error *error);
TOMBOLA_API void tombola_grammar_cache_free(tombola_grammar_cache *cache);

/* As tombola_grammar_new(); the caller frees the grammar. Failures aren't kept. */
TOMBOLA_API enum tombola_status tombola_grammar_cache_get(tombola_grammar_cache *cache,
                                                          const struct tombola_grammar_source *source,
                                                          tombola_grammar **out,
                                                          struct tombola_schema_verdict *verdict,
                                                          struct tombola_error *error);

/* ---- matchers ---- */

/* One answer's place in a grammar. One thread at a time. */
typedef struct tombola_matcher tombola_matcher;

/* Holds the grammar until it is freed. NO_MEMORY. */
TOMBOLA_API enum tombola_status tombola_matcher_new(tombola_grammar *grammar,
                                                    const struct tombola_allocator *allocator,
                                                    tombola_matcher **out, struct tombola_error *error);
TOMBOLA_API void tombola_matcher_free(tombola_matcher *matcher);

/* The tokens that may come next. The mask is borrowed: valid as long as the grammar where it is cached, and in any
 * case until the matcher's next call. Where the text is complete, the vocabulary's end tokens are allowed (and nothing
 * else where it can't go on). A token without bytes and a special one are never allowed inside a value, but where a
 * GBNF grammar asks for the token itself. UNSUPPORTED: a grammar without a trie; NO_CANDIDATE: a dead end (only where
 * the verdict is MAY_BACKTRACK); OUT_OF_RANGE: beyond a limit; NO_MEMORY. On every error the matcher is as it was. */
TOMBOLA_API enum tombola_status tombola_matcher_mask(tombola_matcher *matcher, struct tombola_mask *mask,
                                                     struct tombola_error *error);

/* Goes on by a token, or by bytes, which are never the token that a GBNF grammar asks for. INVALID_ARGUMENT: the token
 * isn't allowed here, or these bytes aren't; nothing changes. `accepted` (or NULL) then tells how many of the bytes
 * fit. An end token is accepted where the text is complete, and after it only end tokens. */
TOMBOLA_API enum tombola_status tombola_matcher_accept(tombola_matcher *matcher, tombola_token token,
                                                       struct tombola_error *error);
TOMBOLA_API enum tombola_status tombola_matcher_accept_bytes(tombola_matcher *matcher, const char *bytes,
                                                             size_t length, size_t *accepted,
                                                             struct tombola_error *error);

/* Takes back the last n calls of accept (a call of accept_bytes counts as one). OUT_OF_RANGE: there weren't so many. */
TOMBOLA_API enum tombola_status tombola_matcher_rollback(tombola_matcher *matcher, size_t n);

/* How many accepts rollback could take back. */
TOMBOLA_API size_t tombola_matcher_accepted(const tombola_matcher *matcher);

/* The bytes that every completion goes on with: writes at most `capacity` of them and stores how many there are, at
 * most `capacity`, in *length. Where the text may end here there are none, nor where a token itself is asked for. */
TOMBOLA_API enum tombola_status tombola_matcher_forced(tombola_matcher *matcher, char *bytes, size_t capacity,
                                                       size_t *length, struct tombola_error *error);

/* 1 where the text may end here. */
TOMBOLA_API int tombola_matcher_is_complete(const tombola_matcher *matcher);

/* Another matcher at the same place, with the same accepts to roll back. */
TOMBOLA_API enum tombola_status tombola_matcher_clone(const tombola_matcher *matcher, tombola_matcher **out,
                                                      struct tombola_error *error);

/* Back to the beginning. */
TOMBOLA_API void tombola_matcher_reset(tombola_matcher *matcher);

/* While the model thinks (1) the constraint stands aside: wants_mask is 0, and accept takes any token and changes
 * nothing but the count of accepts. */
TOMBOLA_API void tombola_matcher_set_thinking(tombola_matcher *matcher, int thinking);
TOMBOLA_API int tombola_matcher_wants_mask(const tombola_matcher *matcher);

/* 1 where the grammar's verdict is MAY_BACKTRACK. */
TOMBOLA_API int tombola_matcher_may_backtrack(const tombola_matcher *matcher);

/* 0 in the free text of a MIX and in a free prelude, 1 elsewhere. */
TOMBOLA_API int tombola_matcher_engaged(const tombola_matcher *matcher);

#ifdef __cplusplus
}
#endif
#endif
