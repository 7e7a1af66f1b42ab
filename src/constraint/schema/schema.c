/* SPDX-License-Identifier: Apache-2.0 */
/* From a schema to its formula: pairs of place and dynamic scope, each built once. */
#include <stdio.h>
#include <string.h>

#include "constraint/schema/internal.h"

/* However large max_depth is, the stack isn't. */
#define MOST_DEPTH ((size_t)1024)

void tombola__part(struct tombola__build *b, tombola__formula f) {
  void *memory = b->parts.f;
  if (f == TOMBOLA__TRUE) return;
  if (!tombola__room(b->c->s, &memory, &b->parts.room, b->parts.n, sizeof *b->parts.f)) return;
  b->parts.f = memory;
  b->parts.f[b->parts.n++] = f;
}

bool tombola__is_schema(yyjson_val *value) {
  return yyjson_is_obj(value) || yyjson_is_bool(value);
}

/* ---- pairs ---- */

static size_t slot_of(uint32_t place, uint32_t scope, size_t n_slots) {
  return (size_t)tombola__mix((uint64_t)place << 32 | scope, 7) & (n_slots - 1);
}

static void enter(struct tombola__compiler *c, uint32_t pair) {
  const struct tombola__table *const t = &c->pair_table;
  size_t at = slot_of(c->pairs[pair].place, c->pairs[pair].scope, t->n_slots);
  while (t->slots[at])
    at = (at + 1) & (t->n_slots - 1);
  t->slots[at] = pair + 1;
}

/* NO_PLACE after a failure. */
static uint32_t pair_of(struct tombola__compiler *c, uint32_t place, uint32_t scope) {
  const struct tombola__table *t = &c->pair_table;
  scope = tombola__scope_with(c, scope, c->places[place].resource);
  for (size_t at = t->n_slots ? slot_of(place, scope, t->n_slots) : 0; t->n_slots && t->slots[at];
       at = (at + 1) & (t->n_slots - 1)) {
    const struct tombola__pair *const p = &c->pairs[t->slots[at] - 1];
    if (p->place == place && p->scope == scope) return t->slots[at] - 1;
  }
  void *memory = c->pairs;
  if (!tombola__store_state(c->s) ||
      !tombola__room(c->s, &memory, &c->pair_room, c->n_pairs, sizeof *c->pairs))
    return TOMBOLA__NO_PLACE;
  c->pairs = memory;
  c->pairs[c->n_pairs] = (struct tombola__pair){place, scope, TOMBOLA__MANY, TOMBOLA__MANY, false};
  if ((c->n_pairs + 1) * 2 > t->n_slots) {
    const size_t larger = t->n_slots ? t->n_slots * 2 : 64;
    uint32_t *const slots = tombola__store_take(c->s, larger, sizeof *slots);
    if (!slots) return TOMBOLA__NO_PLACE;
    c->pair_table = (struct tombola__table){slots, larger};
    for (uint32_t i = 0; i < c->n_pairs; i++)
      enter(c, i);
  }
  enter(c, (uint32_t)c->n_pairs);
  return (uint32_t)c->n_pairs++;
}

/* ---- building ---- */

/* Keywords that other drafts have and this one hasn't are refused when they would constrain. */
static void refuse_others(struct tombola__build *b) {
  const unsigned draft = b->resource->dialect.draft;
  const char *const name = tombola__draft_name(draft);
  for (int k = 0; k < TOMBOLA__N_KEYWORDS; k++) {
    if (!b->keys.v[k] || (tombola__keywords[k].drafts & draft)) continue;
    tombola__refuse(b, b->keys.v[k], (enum tombola__keyword)k, "isn't a keyword of draft %s", name);
    b->keys.v[k] = NULL;
  }
}

bool tombola__build_begin(struct tombola__build *b, struct tombola__compiler *c, uint32_t place,
                          uint32_t scope) {
  const struct tombola__place *const p = &c->places[place];
  *b = (struct tombola__build){.c = c,
                               .place = place,
                               .scope = tombola__scope_with(c, scope, p->resource),
                               .schema = p->schema,
                               .resource = p->resource};
  if (!yyjson_is_obj(p->schema)) return false;
  if (p->resource->dialect.draft == 0) {
    yyjson_val *const name = p->resource->dialect.name;
    const char *const text = yyjson_get_str(name);
    if (text)
      tombola__refuse(b, name, TOMBOLA__K_SCHEMA, "%.160s isn't a known dialect, and wasn't supplied", text);
    else
      tombola__must(b, name, TOMBOLA__K_SCHEMA, "a string");
    return false;
  }
  tombola__keys_read(&p->resource->dialect, p->schema, p->dropped, &b->keys);
  refuse_others(b);
  return true;
}

static tombola__formula build_place(struct tombola__compiler *c, uint32_t place, uint32_t scope) {
  struct tombola__build b;
  if (!tombola__build_begin(&b, c, place, scope))
    return yyjson_is_false(c->places[place].schema) ? TOMBOLA__FALSE : TOMBOLA__TRUE;
  tombola__build_references(&b);
  tombola__build_applicators(&b);
  tombola__build_assertions(&b);
  tombola__build_object(&b);
  tombola__build_array(&b);
  tombola__build_unevaluated(&b);
  return tombola__and(c->s, b.parts.f, b.parts.n);
}

/* The formula of a pair, built now. */
static tombola__formula build_pair(struct tombola__compiler *c, uint32_t pair) {
  if (c->s->status || pair == TOMBOLA__NO_PLACE) return TOMBOLA__FALSE;
  if (c->pairs[pair].formula != TOMBOLA__MANY) return c->pairs[pair].formula;
  const struct tombola__place *const p = &c->places[c->pairs[pair].place];
  if (c->pairs[pair].building) {
    struct tombola__build b = {.c = c, .resource = p->resource, .schema = p->schema};
    return tombola__refuse(&b, p->schema, TOMBOLA__K_REF, "the schema is defined by itself alone");
  }
  if (c->depth >= c->max_depth) {
    tombola__complain(c, p->resource, p->schema, "", TOMBOLA_OUT_OF_RANGE,
                      "nested deeper than %zu (max_depth)", c->max_depth);
    return TOMBOLA__FALSE;
  }
  c->pairs[pair].building = true;
  c->depth++;
  const tombola__formula f = build_place(c, c->pairs[pair].place, c->pairs[pair].scope);
  c->depth--;
  c->pairs[pair].building = false;
  c->pairs[pair].formula = f;
  return c->s->status ? TOMBOLA__FALSE : f;
}

static tombola__formula build_later(struct tombola__store *s, void *context, uint32_t id) {
  (void)s;
  return build_pair(context, id);
}

tombola__formula tombola__in_place(struct tombola__build *b, uint32_t place) {
  return place == TOMBOLA__NO_PLACE ? TOMBOLA__FALSE : build_pair(b->c, pair_of(b->c, place, b->scope));
}

uint32_t tombola__sub_place(struct tombola__build *b, yyjson_val *schema) {
  if (!tombola__is_schema(schema)) {
    tombola__complain(b->c, b->resource, schema, "", TOMBOLA_FORMAT,
                      "a schema must be an object, true or false");
    return TOMBOLA__NO_PLACE;
  }
  tombola__walk(b->c, b->resource, schema, 0);
  return b->c->s->status ? TOMBOLA__NO_PLACE : tombola__place_of(b->c, schema);
}

tombola__formula tombola__sub(struct tombola__build *b, yyjson_val *schema) {
  if (yyjson_is_bool(schema)) return yyjson_is_true(schema) ? TOMBOLA__TRUE : TOMBOLA__FALSE;
  return tombola__in_place(b, tombola__sub_place(b, schema));
}

tombola__formula tombola__child(struct tombola__build *b, yyjson_val *schema) {
  struct tombola__compiler *const c = b->c;
  if (yyjson_is_bool(schema)) return yyjson_is_true(schema) ? TOMBOLA__TRUE : TOMBOLA__FALSE;
  const uint32_t place = tombola__sub_place(b, schema);
  if (place == TOMBOLA__NO_PLACE) return TOMBOLA__FALSE;
  const uint32_t pair = pair_of(c, place, b->scope);
  if (pair == TOMBOLA__NO_PLACE) return TOMBOLA__FALSE;
  if (c->pairs[pair].formula != TOMBOLA__MANY) return c->pairs[pair].formula;
  if (c->pairs[pair].later == TOMBOLA__MANY)
    c->pairs[pair].later = tombola__later(c->s, build_later, c, pair);
  return c->pairs[pair].later;
}

/* ---- the whole ---- */

static bool set_up(struct tombola__compiler *c, const struct tombola__schema_source *source) {
  static const struct tombola__scope **const none = NULL;
  const struct tombola_grammar_limits *const limits = source->source->limits;
  void *memory = (void *)none;
  c->source = source->source;
  c->resources_end = &c->resources;
  c->max_source = limits && limits->max_source ? limits->max_source : (size_t)16 << 20;
  c->max_depth = c->s->max_depth < MOST_DEPTH ? c->s->max_depth : MOST_DEPTH;
  c->dialect = (struct tombola__dialect){TOMBOLA__DRAFT_2020, TOMBOLA__V_ALL, NULL};
  c->tried = tombola__store_take(c->s, source->source->n_documents + 1, 1);
  if (!c->tried || !tombola__room(c->s, &memory, &c->scope_room, 0, sizeof *c->scopes)) return false;
  c->scopes = memory;
  c->n_scopes = 1;
  return true;
}

static tombola__formula build_all(struct tombola__compiler *c, uint32_t place) {
  const tombola__formula f = build_pair(c, pair_of(c, place, 0));
  for (uint32_t i = 0; i < c->n_pairs && !c->s->status; i++)
    if (c->pairs[i].later != TOMBOLA__MANY) tombola__resolve(c->s, c->pairs[i].later);
  return f;
}

uint32_t tombola__schema_root(struct tombola__compiler *c, const struct tombola__schema_source *source) {
  if (!set_up(c, source)) return TOMBOLA__NO_PLACE;
  struct tombola__document *const d = tombola__document_read(c, "", source->text, source->length);
  if (!d) return TOMBOLA__NO_PLACE;
  yyjson_val *const root = yyjson_doc_get_root(d->json);
  struct tombola__resource *const r = tombola__resource_add(c, d, "", root);
  if (!r) return TOMBOLA__NO_PLACE;
  if (!tombola__is_schema(root)) {
    tombola__complain(c, r, root, "", TOMBOLA_FORMAT, "a schema must be an object, true or false");
    return TOMBOLA__NO_PLACE;
  }
  yyjson_val *const name = yyjson_obj_get(root, "$schema");
  if (name) { /* documents that name no dialect have the schema's */
    const struct tombola__dialect dialect = tombola__dialect_of(c, name, 0);
    if (dialect.draft) c->dialect.draft = dialect.draft;
  }
  tombola__walk(c, r, root, 0);
  return c->s->status ? TOMBOLA__NO_PLACE : tombola__place_of(c, root);
}

static tombola__formula compile(struct tombola__compiler *c, const struct tombola__schema_source *source) {
  const uint32_t place = tombola__schema_root(c, source);
  if (place == TOMBOLA__NO_PLACE) return TOMBOLA__FALSE;
  const tombola__formula f = build_all(c, place);
  if (c->n_left_out == 0 || c->s->status) return f;
  /* Where something is left out below a negation, the negation must be left out too. */
  c->again = true;
  c->n_pairs = c->refs = 0;
  c->pair_table = (struct tombola__table){NULL, 0};
  return build_all(c, place);
}

void tombola__schema_close(struct tombola__compiler *kept) {
  for (struct tombola__document *d = kept ? kept->documents : NULL; d; d = d->next)
    yyjson_doc_free(d->json);
}

enum tombola_status tombola__schema(struct tombola__store *s, const struct tombola__schema_source *source,
                                    tombola__formula *out, struct tombola__dropped **dropped,
                                    struct tombola_schema_verdict *verdict, struct tombola_error *error) {
  if (verdict) *verdict = (struct tombola_schema_verdict){.verdict = TOMBOLA_VERDICT_EXACT};
  if (dropped) *dropped = NULL;
  *out = TOMBOLA__FALSE;
  struct tombola__compiler *const c = tombola__store_take(s, 1, sizeof *c);
  if (c) {
    c->s = s;
    c->verdict = verdict;
    c->dropped = c->dropped_end = dropped;
    *out = compile(c, source);
    if (source->kept)
      *source->kept = c;
    else
      tombola__schema_close(c);
  }
  if (s->status == TOMBOLA_OK) return TOMBOLA_OK;
  *out = TOMBOLA__FALSE;
  if (error) *error = s->error;
  if (verdict) verdict->verdict = TOMBOLA_VERDICT_REFUSED;
  return s->status;
}

/* ---- places of formulas ---- */

/* The keyword that is likely to have made alternatives. */
static yyjson_val *choosing(yyjson_val *schema, const char **keyword) {
  static const char *const names[] = {
      "oneOf", "anyOf", "if", "dependentSchemas", "dependencies", "dependentRequired", "not", "allOf"};
  for (size_t i = 0; i < TOMBOLA__COUNT(names); i++) {
    yyjson_val *const value = yyjson_obj_get(schema, names[i]);
    if (!value) continue;
    *keyword = names[i];
    return value;
  }
  *keyword = "";
  return schema;
}

static const struct tombola__pair *pair_with(const struct tombola__compiler *c, tombola__formula f) {
  for (size_t i = 0; i < c->n_pairs; i++)
    if (c->pairs[i].formula == f) return &c->pairs[i];
  return NULL;
}

bool tombola__schema_place(const struct tombola__compiler *kept, const tombola__formula *f, size_t n,
                           struct tombola_schema_verdict *verdict) {
  const struct tombola__pair *found = NULL;
  for (size_t i = 0; i < n && !found; i++) {
    const struct tombola__node *const node = tombola__node(kept->s, f[i]);
    found = pair_with(kept, f[i]);
    for (size_t k = 0; k < node->n_parts && !found; k++) /* what several places say of one value */
      found = pair_with(kept, node->parts[k]);
  }
  if (!found) return false;
  const struct tombola__place *const place = &kept->places[found->place];
  const char *keyword;
  yyjson_val *const at = choosing(place->schema, &keyword);
  tombola__pointer(place->resource->document, at, verdict->pointer, sizeof verdict->pointer);
  snprintf(verdict->keyword, sizeof verdict->keyword, "%s", keyword);
  return true;
}
