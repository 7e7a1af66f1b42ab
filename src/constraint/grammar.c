/* SPDX-License-Identifier: Apache-2.0 */
/* Compiling: what a caller gives is checked, each kind is made into a program, and what is known of it is kept. */
#include "constraint/grammar.h"

#include <stdio.h>
#include <string.h>

#include "constraint/code_point.h"
#include "constraint/regex/regex.h"

#define DEFAULT_WHITESPACE ((size_t)64)
#define MOST_WHITESPACE    ((size_t)65535)
#define DEFAULT_SOURCE     ((size_t)16 << 20)
#define DEFAULT_MASKS      ((size_t)64 << 20)
#define MOST_RULES         ((size_t)4096)

#define NO_VALUE "no value is valid under the schema"
#define NO_PLAIN NO_VALUE " that has a plain spelling"

/* What is being compiled. */
struct compiling {
  const struct tombola_grammar_source *source;
  struct tombola_grammar *grammar;
  struct tombola_error *error;
};

/* ---- checking ---- */

static bool is_utf8(const char *text, size_t length) {
  uint32_t point;
  for (size_t i = 0, n; i < length; i += n)
    if (!(n = tombola__utf8_read(text + i, length - i, &point))) return false;
  return true;
}

static enum tombola_status wrong(struct tombola_error *error, const char *param, const char *why) {
  return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, param, "%s %s", param, why);
}

static enum tombola_status check_text(const struct tombola_grammar_source *source, const char *param,
                                      const char *text, size_t length, struct tombola_error *error) {
  const size_t most =
      source->limits && source->limits->max_source ? source->limits->max_source : DEFAULT_SOURCE;
  if (!text && length > 0) return wrong(error, param, "is NULL");
  if (length > most)
    return tombola__fail(error, TOMBOLA_OUT_OF_RANGE, "max_source", "%s has %zu bytes, max_source is %zu",
                         param, length, most);
  return TOMBOLA_OK;
}

static enum tombola_status check_choices(const struct tombola_grammar_source *source,
                                         struct tombola_error *error) {
  if (source->n_choices == 0) return wrong(error, "choices", "is empty: there must be a text to choose");
  if (!source->choices) return wrong(error, "choices", "is NULL");
  for (size_t i = 0; i < source->n_choices; i++) {
    const struct tombola_bytes *const choice = &source->choices[i];
    const enum tombola_status status = check_text(source, "choices", choice->data, choice->length, error);
    if (status) return status;
    if (!is_utf8(choice->data, choice->length))
      return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "choices", "choices[%zu] isn't well-formed UTF-8",
                           i);
  }
  return TOMBOLA_OK;
}

/* A kind and its text. */
static enum tombola_status check_kind(const struct tombola_grammar_source *source,
                                      enum tombola_grammar_kind kind, const char *text, size_t length,
                                      struct tombola_error *error) {
  switch (kind) {
  case TOMBOLA_GRAMMAR_JSON:
  case TOMBOLA_GRAMMAR_JSON_OBJECT: return TOMBOLA_OK;
  case TOMBOLA_GRAMMAR_JSON_SCHEMA:
  case TOMBOLA_GRAMMAR_REGEX:
  case TOMBOLA_GRAMMAR_GBNF:
    if (!text) return wrong(error, "text", "is NULL");
    return check_text(source, "text", text, length, error);
  case TOMBOLA_GRAMMAR_CHOICE: return check_choices(source, error);
  case TOMBOLA_GRAMMAR_MIX: break;
  }
  return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "kind",
                       "kind is %d, which isn't one that is allowed here", (int)kind);
}

/* Says which rule of a mix a failure is about. */
static enum tombola_status in_rule(struct tombola_error *error, size_t index, enum tombola_status status) {
  char what[sizeof error->message];
  if (!status || !error) return status;
  memcpy(what, error->message, sizeof what);
  what[sizeof what - 1] = '\0';
  snprintf(error->message, sizeof error->message, "rules[%zu]: %.200s", index, what);
  return status;
}

static enum tombola_status check_rule(const struct tombola_grammar_source *source,
                                      const struct tombola_mix_rule *rule, struct tombola_error *error) {
  if (!rule->trigger || rule->trigger_length == 0) return wrong(error, "trigger", "is empty");
  if (rule->kind == TOMBOLA_GRAMMAR_CHOICE)
    return wrong(error, "kind", "CHOICE can't be in a mix: use REGEX");
  enum tombola_status status = check_text(source, "trigger", rule->trigger, rule->trigger_length, error);
  if (!status) status = check_text(source, "end", rule->end, rule->end_length, error);
  return status ? status : check_kind(source, rule->kind, rule->text, rule->length, error);
}

static enum tombola_status check_rules(const struct tombola_grammar_source *source,
                                       struct tombola_error *error) {
  if (source->n_rules == 0) return wrong(error, "rules", "is empty: a mix has at least one");
  if (!source->rules) return wrong(error, "rules", "is NULL");
  if (source->n_rules > MOST_RULES)
    return tombola__fail(error, TOMBOLA_OUT_OF_RANGE, "rules", "%zu rules, at most %zu", source->n_rules,
                         MOST_RULES);
  for (size_t i = 0; i < source->n_rules; i++) {
    const enum tombola_status status = in_rule(error, i, check_rule(source, &source->rules[i], error));
    if (status) return status;
  }
  return TOMBOLA_OK;
}

static enum tombola_status check_options(const struct tombola_grammar_source *source,
                                         struct tombola_error *error) {
  const unsigned whitespace = source->whitespace, format = source->format, order = source->order;
  const unsigned spelling = source->spelling;
  const bool is_json = source->kind <= TOMBOLA_GRAMMAR_JSON_SCHEMA;
  if (whitespace > TOMBOLA_WHITESPACE_ANY)
    return wrong(error, "whitespace", "isn't one of enum tombola_whitespace");
  if (source->whitespace_max > MOST_WHITESPACE)
    return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "whitespace_max",
                         "whitespace_max is %zu, at most %zu", source->whitespace_max, MOST_WHITESPACE);
  if (format > TOMBOLA_FORMAT_ANNOTATE) return wrong(error, "format", "isn't one of enum tombola_format");
  if (order > TOMBOLA_ORDER_DECLARED)
    return wrong(error, "order", "isn't one of enum tombola_property_order");
  if (spelling > TOMBOLA_SPELLING_PLAIN)
    return wrong(error, "spelling", "isn't one of enum tombola_spelling");
  if (source->free_prelude && !is_json) return wrong(error, "free_prelude", "is for JSON only");
  if (!source->documents && source->n_documents > 0) return wrong(error, "documents", "is NULL");
  for (size_t i = 0; i < source->n_documents; i++) {
    const struct tombola_schema_document *const d = &source->documents[i];
    if (!d->uri) return wrong(error, "documents", "has one without uri");
    if (!d->text) return wrong(error, "documents", "has one without text");
    const enum tombola_status status = check_text(source, "documents", d->text, d->length, error);
    if (status) return status;
  }
  return TOMBOLA_OK;
}

enum tombola_status tombola__grammar_check(const struct tombola_grammar_source *source,
                                           struct tombola_error *error) {
  if (!source) return wrong(error, "source", "is NULL");
  if (source->struct_size < sizeof *source)
    return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "struct_size",
                         "struct_size is %zu, must be at least %zu", source->struct_size, sizeof *source);
  const struct tombola_grammar_limits *const limits = source->limits;
  if (limits && limits->struct_size < sizeof *limits)
    return tombola__fail(error, TOMBOLA_INVALID_ARGUMENT, "limits",
                         "struct_size of limits is %zu, must be at least %zu", limits->struct_size,
                         sizeof *limits);
  if (limits && !(limits->max_seconds >= 0)) return wrong(error, "max_seconds", "must not be negative");
  const enum tombola_status status = check_options(source, error);
  if (status) return status;
  if (source->kind == TOMBOLA_GRAMMAR_MIX) return check_rules(source, error);
  return check_kind(source, source->kind, source->text, source->length, error);
}

/* ---- compiling ---- */

/* The store's failure, if there is one and none was told yet. */
static enum tombola_status told(const struct compiling *c, enum tombola_status status) {
  const struct tombola__store *const store = &c->grammar->store;
  if (status || !store->status) return status;
  if (c->error) *c->error = store->error;
  return store->status;
}

/* A formula as the program, when there is a value at all. */
static enum tombola_status use_formula(const struct compiling *c, tombola__formula f,
                                       struct tombola__program *out) {
  struct tombola__store *const s = &c->grammar->store;
  struct tombola_schema_verdict *const verdict = &c->grammar->verdict;
  bool exact = true;
  const char *reason = NULL;
  const bool satisfiable = tombola__value(s, f) && tombola__satisfiable(s, f);
  enum tombola_status status = told(c, TOMBOLA_OK);
  if (status) return status;
  if (!satisfiable)
    return tombola__fail(c->error, TOMBOLA_NO_CANDIDATE, NULL,
                         s->spelling == TOMBOLA_SPELLING_PLAIN ? NO_PLAIN : NO_VALUE);
  status = tombola__explore(s, f, &exact, &reason);
  if (status && !s->status) return tombola__fail(c->error, status, NULL, "%s", tombola_status_text(status));
  if ((status = told(c, TOMBOLA_OK))) return status;
  if (!exact && verdict->verdict == TOMBOLA_VERDICT_EXACT) {
    *verdict = (struct tombola_schema_verdict){.verdict = TOMBOLA_VERDICT_MAY_BACKTRACK};
    if (reason) strncpy(verdict->reason, reason, sizeof verdict->reason - 1);
  }
  *out = (struct tombola__program){.part = TOMBOLA__JSON, .formula = f};
  return TOMBOLA_OK;
}

/* What the front end has let pass and the rest can't enforce, or can't within the limits: the verdict says so too, and
 * where that is, as far as it is known. */
static enum tombola_status refused(const struct compiling *c, enum tombola_status status,
                                   const struct tombola__compiler *schema) {
  struct tombola_schema_verdict *const verdict = &c->grammar->verdict;
  const bool can_be =
      status == TOMBOLA_UNSUPPORTED || status == TOMBOLA_OUT_OF_RANGE || status == TOMBOLA_NO_CANDIDATE;
  if (!can_be || verdict->verdict == TOMBOLA_VERDICT_REFUSED) return status;
  const char *const reason = c->error->message[0] ? c->error->message : tombola_status_text(status);
  *verdict = (struct tombola_schema_verdict){.verdict = TOMBOLA_VERDICT_REFUSED};
  snprintf(verdict->reason, sizeof verdict->reason, "%s", reason);
  const tombola__formula *about;
  const size_t n = tombola__blamed(&c->grammar->store, &about);
  if (schema) tombola__schema_place(schema, about, n, verdict);
  return status;
}

static enum tombola_status compile_schema(const struct compiling *c, const char *text, size_t length,
                                          struct tombola__program *out) {
  struct tombola_schema_verdict verdict = {.verdict = TOMBOLA_VERDICT_EXACT};
  struct tombola__compiler *kept = NULL;
  const struct tombola__schema_source schema = {
      .source = c->source, .text = text, .length = length, .kept = &kept};
  struct tombola__dropped *dropped = NULL, **last = &c->grammar->dropped;
  tombola__formula f = TOMBOLA__FALSE;
  enum tombola_status status = tombola__schema(&c->grammar->store, &schema, &f, &dropped, &verdict, c->error);
  status = told(c, status);
  if (verdict.verdict > c->grammar->verdict.verdict) c->grammar->verdict = verdict;
  if (status) {
    status = refused(c, status, NULL);
  } else {
    while (*last)
      last = &(*last)->next;
    *last = dropped;
    status = refused(c, use_formula(c, f, out), kept);
  }
  tombola__schema_close(kept);
  return status;
}

static enum tombola_status use_rules(const struct compiling *c, const struct tombola__rules *rules,
                                     struct tombola__program *out) {
  const enum tombola_status status = told(c, TOMBOLA_OK);
  *out = (struct tombola__program){.part = TOMBOLA__RULES, .rules = rules};
  return status ? status : rules ? TOMBOLA_OK : tombola__no_memory(c->error);
}

/* The language as rules. */
static enum tombola_status use_lang(const struct compiling *c, tombola__lang lang,
                                    struct tombola__program *out) {
  struct tombola__store *const s = &c->grammar->store;
  const bool none = tombola__lang_is_none(s, lang);
  const enum tombola_status status = told(c, TOMBOLA_OK);
  if (status) return status;
  if (none) return tombola__fail(c->error, TOMBOLA_NO_CANDIDATE, "text", "no text matches");
  return use_rules(c, tombola__rules_of(s, lang), out);
}

/* Everything but MIX. */
static enum tombola_status compile_one(const struct compiling *c, enum tombola_grammar_kind kind,
                                       const char *text, size_t length, struct tombola__program *out) {
  struct tombola__store *const s = &c->grammar->store;
  const struct tombola__rules *rules = NULL;
  tombola__lang lang = TOMBOLA__LANG_NONE;
  enum tombola_status status;
  switch (kind) {
  case TOMBOLA_GRAMMAR_JSON: return use_formula(c, TOMBOLA__TRUE, out);
  case TOMBOLA_GRAMMAR_JSON_OBJECT: return use_formula(c, tombola__types(s, TOMBOLA__OBJECT), out);
  case TOMBOLA_GRAMMAR_JSON_SCHEMA: return compile_schema(c, text, length, out);
  case TOMBOLA_GRAMMAR_REGEX:
    status = told(c, tombola__regex(s, text, length, TOMBOLA__REGEX_WHOLE, &lang, c->error));
    return status ? status : use_lang(c, lang, out);
  case TOMBOLA_GRAMMAR_CHOICE:
    return use_lang(c, tombola__lang_texts(s, c->source->choices, c->source->n_choices), out);
  case TOMBOLA_GRAMMAR_GBNF:
    status = told(c, tombola__gbnf(s, text, length, c->source->root ? c->source->root : "root",
                                   c->grammar->trie ? c->grammar->trie->vocabulary : NULL, &rules, c->error));
    return status ? status : use_rules(c, rules, out);
  case TOMBOLA_GRAMMAR_MIX: break;
  }
  return TOMBOLA_INVALID_ARGUMENT;
}

static enum tombola_status use_mix(const struct compiling *c, const struct tombola__mix_part *parts, size_t n,
                                   bool prelude) {
  const struct tombola__mix *mix = NULL;
  const enum tombola_status status =
      told(c, tombola__mix_new(&c->grammar->store, parts, n, prelude, &mix, c->error));
  c->grammar->program = (struct tombola__program){.part = TOMBOLA__MIX, .mix = mix};
  return status;
}

static enum tombola_status compile_mix(const struct compiling *c) {
  const size_t n = c->source->n_rules;
  struct tombola__mix_part *const parts = tombola__store_take(&c->grammar->store, n, sizeof *parts);
  enum tombola_status status = told(c, TOMBOLA_OK);
  for (size_t i = 0; i < n && !status; i++) {
    const struct tombola_mix_rule *const rule = &c->source->rules[i];
    parts[i] = (struct tombola__mix_part){
        .trigger = {rule->trigger, rule->trigger_length},
        .end = {rule->end_length ? rule->end : NULL, rule->end ? rule->end_length : 0},
        .include_trigger = rule->include_trigger != 0,
    };
    status = in_rule(c->error, i, compile_one(c, rule->kind, rule->text, rule->length, &parts[i].program));
  }
  return status ? status : use_mix(c, parts, n, false);
}

static enum tombola_status compile_source(const struct compiling *c) {
  if (c->source->kind == TOMBOLA_GRAMMAR_MIX) return compile_mix(c);
  struct tombola__program program = {.part = TOMBOLA__JSON};
  const enum tombola_status status =
      compile_one(c, c->source->kind, c->source->text, c->source->length, &program);
  if (status) return status;
  if (c->source->free_prelude) {
    const struct tombola__mix_part part = {.program = program};
    return use_mix(c, &part, 1, true);
  }
  c->grammar->program = program;
  return TOMBOLA_OK;
}

/* Whether there is a text at all. Of rules it isn't known before. */
static enum tombola_status try_program(const struct compiling *c) {
  struct tombola__store *const s = &c->grammar->store;
  struct tombola__machine *m = NULL;
  enum tombola_status status = tombola__machine_new(s, &c->grammar->program, &c->grammar->allocator, &m);
  const bool possible = !status && (tombola__machine_complete(m) || tombola__machine_can_go_on(m));
  if (m) tombola__machine_free(m);
  if (s->status) return told(c, TOMBOLA_OK);
  if (status == TOMBOLA_NO_MEMORY) return tombola__no_memory(c->error);
  if (!status && possible) return TOMBOLA_OK;
  return tombola__fail(c->error, status ? status : TOMBOLA_NO_CANDIDATE, NULL,
                       "no text fits the grammar%s%s%s", s->hint[0] ? " (" : "", s->hint,
                       s->hint[0] ? ")" : "");
}

/* ---- special tokens of a MIX ---- */

static bool is_spelled(const char *text, size_t length, const char *bytes, size_t n) {
  return text && length == n && memcmp(text, bytes, n) == 0;
}

/* Those whose spelling is a trigger, or the text behind one. Two passes: to count, to fill in. */
static enum tombola_status find_specials(const struct compiling *c) {
  struct tombola_grammar *const g = c->grammar;
  if (!g->trie || c->source->kind != TOMBOLA_GRAMMAR_MIX) return TOMBOLA_OK;
  for (int fill = 0; fill < 2; fill++) {
    size_t n = 0;
    for (size_t token = 0; token < g->trie->count; token++) {
      struct tombola__special found = {.token = (tombola_token)token};
      const unsigned flags = tombola_vocabulary_flags(g->trie->vocabulary, found.token);
      if (!(flags & TOMBOLA_TOKEN_SPECIAL) || flags & (TOMBOLA_TOKEN_END | TOMBOLA_TOKEN_UNUSED)) continue;
      size_t length;
      const char *const bytes = tombola_vocabulary_bytes(g->trie->vocabulary, found.token, &length);
      for (size_t i = 0; i < c->source->n_rules && length > 0; i++) {
        const struct tombola_mix_rule *const rule = &c->source->rules[i];
        found.trigger |= is_spelled(rule->trigger, rule->trigger_length, bytes, length);
        found.end |= is_spelled(rule->end, rule->end_length, bytes, length);
      }
      if (!found.trigger && !found.end) continue;
      if (fill) g->specials[n] = found;
      n++;
    }
    if (n == 0) return TOMBOLA_OK;
    if (!fill && !(g->specials = tombola__new(&g->allocator, n, sizeof *g->specials)))
      return tombola__no_memory(c->error);
    g->n_specials = n;
  }
  return TOMBOLA_OK;
}

/* ---- the grammar ---- */

static void destroy(tombola_grammar *grammar) {
  const struct tombola_allocator allocator = grammar->allocator;
  tombola__mask_cache_free(grammar);
  tombola__free(&allocator, grammar->specials);
  tombola__store_free(&grammar->store);
  pthread_mutex_destroy(&grammar->lock);
  tombola__free(&allocator, grammar);
}

static enum tombola_status compile(const struct compiling *c) {
  const struct tombola_grammar_source *const source = c->source;
  struct tombola__store *const s = &c->grammar->store;
  s->whitespace = source->whitespace;
  s->whitespace_max = source->whitespace_max ? source->whitespace_max : DEFAULT_WHITESPACE;
  s->order = source->order;
  s->spelling = source->spelling;
  s->plain_names = c->grammar->trie && !c->grammar->trie->text.holds_names;
  enum tombola_status status = compile_source(c);
  if (!status) status = try_program(c);
  if (!status) status = find_specials(c);
  s->deadline = 0; /* matchers have no time limit; states and bytes go on counting */
  return status;
}

enum tombola_status tombola_grammar_new(const struct tombola_grammar_source *source, const tombola_trie *trie,
                                        const struct tombola_allocator *allocator, tombola_grammar **out,
                                        struct tombola_schema_verdict *verdict, struct tombola_error *error) {
  struct tombola_error own = {.message = ""};
  if (!out) return wrong(error, "out", "is NULL");
  if (!error) error = &own; /* the verdict takes its reason from it */
  *out = NULL;
  if (verdict) *verdict = (struct tombola_schema_verdict){.verdict = TOMBOLA_VERDICT_EXACT};
  enum tombola_status status = tombola__grammar_check(source, error);
  if (status) return status;
  const struct tombola_allocator use = tombola__allocator(allocator);
  tombola_grammar *const grammar = tombola__new(&use, 1, sizeof *grammar);
  if (!grammar) return tombola__no_memory(error);
  grammar->allocator = use;
  grammar->trie = trie;
  grammar->masks.max_bytes =
      source->limits && source->limits->mask_bytes ? source->limits->mask_bytes : DEFAULT_MASKS;
  atomic_init(&grammar->references, 1);
  if (pthread_mutex_init(&grammar->lock, NULL)) {
    tombola__free(&use, grammar);
    return tombola__no_memory(error);
  }
  const struct compiling c = {source, grammar, error};
  status = tombola__store_new(&grammar->store, source->limits, &use, error);
  if (!status) status = compile(&c);
  if (verdict) *verdict = grammar->verdict;
  if (status)
    destroy(grammar);
  else
    *out = grammar;
  return status;
}

tombola_grammar *tombola_grammar_retain(tombola_grammar *grammar) {
  if (grammar) atomic_fetch_add_explicit(&grammar->references, 1, memory_order_relaxed);
  return grammar;
}

void tombola_grammar_free(tombola_grammar *grammar) {
  if (grammar && atomic_fetch_sub_explicit(&grammar->references, 1, memory_order_acq_rel) == 1)
    destroy(grammar);
}

void tombola_grammar_verdict(const tombola_grammar *grammar, struct tombola_schema_verdict *verdict) {
  *verdict = grammar->verdict;
}

int tombola_grammar_dropped(const tombola_grammar *grammar, size_t i, const char **pointer,
                            const char **keyword) {
  const struct tombola__dropped *d = grammar->dropped;
  for (; d && i > 0; i--)
    d = d->next;
  if (!d) return 0;
  if (pointer) *pointer = d->pointer;
  if (keyword) *keyword = d->keyword;
  return 1;
}
