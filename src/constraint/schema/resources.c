/* SPDX-License-Identifier: Apache-2.0 */
/* Resources ($id), anchors, and what a reference names. Nothing is fetched: what isn't in the schema or in the
 * documents that came with it isn't there. */
#include <stdio.h>
#include <string.h>

#include "constraint/schema/internal.h"

/* ---- places ---- */

static size_t slot_of(uint64_t key, size_t n_slots) {
  return (size_t)tombola__mix(key, n_slots) & (n_slots - 1);
}

uint32_t tombola__place_of(struct tombola__compiler *c, const yyjson_val *schema) {
  const struct tombola__table *const t = &c->place_table;
  if (t->n_slots == 0) return TOMBOLA__NO_PLACE;
  for (size_t at = slot_of((uintptr_t)schema, t->n_slots); t->slots[at]; at = (at + 1) & (t->n_slots - 1))
    if (c->places[t->slots[at] - 1].schema == schema) return t->slots[at] - 1;
  return TOMBOLA__NO_PLACE;
}

static void enter(struct tombola__compiler *c, uint32_t place) {
  const struct tombola__table *const t = &c->place_table;
  size_t at = slot_of((uintptr_t)c->places[place].schema, t->n_slots);
  while (t->slots[at])
    at = (at + 1) & (t->n_slots - 1);
  t->slots[at] = place + 1;
}

static bool add_place(struct tombola__compiler *c, struct tombola__resource *resource, yyjson_val *schema) {
  void *memory = c->places;
  if (!tombola__room(c->s, &memory, &c->place_room, c->n_places, sizeof *c->places)) return false;
  c->places = memory;
  c->places[c->n_places] = (struct tombola__place){schema, resource, 0};
  if ((c->n_places + 1) * 2 > c->place_table.n_slots) {
    const size_t larger = c->place_table.n_slots ? c->place_table.n_slots * 2 : 64;
    uint32_t *const slots = tombola__store_take(c->s, larger, sizeof *slots);
    if (!slots) return false;
    c->place_table = (struct tombola__table){slots, larger};
    for (uint32_t i = 0; i < c->n_places; i++)
      enter(c, i);
  }
  enter(c, (uint32_t)c->n_places++);
  return true;
}

/* ---- resources ---- */

struct tombola__resource *tombola__resource_add(struct tombola__compiler *c,
                                                struct tombola__document *document, const char *uri,
                                                yyjson_val *root) {
  struct tombola__resource *const r = tombola__store_take(c->s, 1, sizeof *r);
  if (!r) return NULL;
  r->uri = uri;
  r->root = root;
  r->document = document;
  r->dialect = c->dialect;
  *c->resources_end = r;
  c->resources_end = &r->next;
  return r;
}

static struct tombola__resource *registered(struct tombola__compiler *c, const char *uri, size_t length) {
  for (struct tombola__resource *r = c->resources; r; r = r->next) {
    if (strlen(r->uri) == length && memcmp(r->uri, uri, length) == 0) return r;
    if (r->alias && strlen(r->alias) == length && memcmp(r->alias, uri, length) == 0) return r;
  }
  return NULL;
}

/* Reads one of the documents that came with the schema, unless it has been. */
static void load(struct tombola__compiler *c, size_t i) {
  const struct tombola_schema_document *const given = &c->source->documents[i];
  if (c->tried[i]) return;
  c->tried[i] = 1;
  size_t length = strlen(given->uri);
  while (length > 0 && given->uri[length - 1] == '#')
    length--;
  const char *const uri = tombola__copy(c->s, given->uri, length);
  struct tombola__document *const d = uri ? tombola__document_read(c, uri, given->text, given->length) : NULL;
  if (!d) return;
  struct tombola__resource *const r = tombola__resource_add(c, d, uri, yyjson_doc_get_root(d->json));
  if (!r) return;
  r->alias = uri;
  tombola__walk(c, r, r->root, 0);
}

struct tombola__resource *tombola__resource_find(struct tombola__compiler *c, const char *uri,
                                                 size_t length) {
  struct tombola__resource *found = registered(c, uri, length);
  for (size_t i = 0; i < c->source->n_documents && !found && !c->s->status; i++) {
    const char *const name = c->source->documents[i].uri;
    const size_t n = strlen(name);
    if (c->tried[i] || n < length || memcmp(name, uri, length) != 0 ||
        strspn(name + length, "#") < n - length)
      continue;
    load(c, i);
    found = registered(c, uri, length);
  }
  if (found || c->all_loaded || c->s->status) return found;
  c->all_loaded = true; /* it may be embedded in one */
  for (size_t i = 0; i < c->source->n_documents && !c->s->status; i++)
    load(c, i);
  return registered(c, uri, length);
}

/* ---- the walk ---- */

static void add_anchor(struct tombola__compiler *c, struct tombola__resource *r, const char *name,
                       size_t length, yyjson_val *schema, bool dynamic) {
  for (struct tombola__anchor *a = r->anchors; a; a = a->next) {
    if (a->length != length || memcmp(a->name, name, length) != 0) continue;
    if (a->schema == schema)
      a->dynamic = a->dynamic || dynamic;
    else
      tombola__complain(c, r, schema, "$anchor", TOMBOLA_FORMAT, "the anchor \"%s\" is there twice", name);
    r->dynamic = r->dynamic || a->dynamic;
    return;
  }
  struct tombola__anchor *const a = tombola__store_take(c->s, 1, sizeof *a);
  if (!a || !tombola__store_state(c->s)) return;
  *a = (struct tombola__anchor){r->anchors, name, length, schema, dynamic};
  r->anchors = a;
  r->dynamic = r->dynamic || dynamic;
}

/* The resource that `$id` begins, or `in`. */
static struct tombola__resource *identify(struct tombola__compiler *c, struct tombola__resource *in,
                                          yyjson_val *schema, yyjson_val *id, const char *keyword,
                                          unsigned draft) {
  const char *text = yyjson_get_str(id);
  size_t length = yyjson_get_len(id);
  if (!text) {
    tombola__complain(c, in, id, keyword, TOMBOLA_FORMAT, "must be a string");
    return in;
  }
  const char *const hash = memchr(text, '#', length);
  const size_t before = hash ? (size_t)(hash - text) : length;
  const size_t after = hash ? length - before - 1 : 0;
  if (after > 0 && draft >= TOMBOLA__DRAFT_2019) {
    tombola__complain(c, in, id, keyword, TOMBOLA_FORMAT, "must not have a fragment");
    return in;
  }
  struct tombola__resource *r = in;
  const char *const uri = before > 0 ? tombola__uri_resolve(c->s, in->uri, text, before) : NULL;
  if (uri && in->root == schema) {
    in->uri = uri;
  } else if (uri) {
    r = tombola__resource_add(c, in->document, uri, schema);
    if (!r) return in;
    r->dialect = in->dialect;
  }
  /* Up to draft 7 a fragment is an anchor; one that is a JSON pointer says nothing. */
  if (after > 0 && hash[1] != '/') add_anchor(c, r, hash + 1, after, schema, false);
  return r;
}

static void read_anchors(struct tombola__compiler *c, struct tombola__resource *r, yyjson_val *schema,
                         const struct tombola__keys *keys) {
  yyjson_val *const anchor = keys->v[TOMBOLA__K_ANCHOR], *const dynamic = keys->v[TOMBOLA__K_DYNAMIC_ANCHOR];
  yyjson_val *const recursive = keys->v[TOMBOLA__K_RECURSIVE_ANCHOR];
  if (anchor && !yyjson_is_str(anchor))
    tombola__complain(c, r, anchor, "$anchor", TOMBOLA_FORMAT, "must be a string");
  else if (anchor)
    add_anchor(c, r, yyjson_get_str(anchor), yyjson_get_len(anchor), schema, false);
  if (dynamic && !yyjson_is_str(dynamic))
    tombola__complain(c, r, dynamic, "$dynamicAnchor", TOMBOLA_FORMAT, "must be a string");
  else if (dynamic)
    add_anchor(c, r, yyjson_get_str(dynamic), yyjson_get_len(dynamic), schema, true);
  if (recursive && !yyjson_is_bool(recursive))
    tombola__complain(c, r, recursive, "$recursiveAnchor", TOMBOLA_FORMAT, "must be true or false");
  else if (yyjson_is_true(recursive) && r->root == schema)
    add_anchor(c, r, "", 0, schema, true);
}

static void walk_subschemas(struct tombola__compiler *c, struct tombola__resource *r, yyjson_val *value,
                            enum tombola__subschemas kind, size_t depth) {
  size_t index, max;
  yyjson_val *key, *child;
  const bool list = yyjson_is_arr(value);
  if (kind == TOMBOLA__SUB_MAP && yyjson_is_obj(value)) {
    yyjson_obj_foreach(value, index, max, key, child) tombola__walk(c, r, child, depth);
  } else if (list && (kind == TOMBOLA__SUB_LIST || kind == TOMBOLA__SUB_ONE_OR_LIST)) {
    yyjson_arr_foreach(value, index, max, child) tombola__walk(c, r, child, depth);
  } else if (kind == TOMBOLA__SUB_ONE || kind == TOMBOLA__SUB_ONE_OR_LIST) {
    tombola__walk(c, r, value, depth);
  }
}

/* The dialect of a resource is that of its `$schema`, or of what is around it. */
static void choose_dialect(struct tombola__compiler *c, struct tombola__resource *r, yyjson_val *schema) {
  yyjson_val *const name = yyjson_obj_get(schema, "$schema");
  if (!name || r->root != schema) return;
  r->dialect = tombola__dialect_of(c, name, 0);
}

void tombola__walk(struct tombola__compiler *c, struct tombola__resource *in, yyjson_val *schema,
                   size_t depth) {
  if (c->s->status || !tombola__is_schema(schema)) return;
  if (depth > c->max_depth) {
    tombola__complain(c, in, schema, "", TOMBOLA_OUT_OF_RANGE, "nested deeper than %zu (max_depth)",
                      c->max_depth);
    return;
  }
  const uint32_t before = tombola__place_of(c, schema);
  if (before != TOMBOLA__NO_PLACE) return;
  struct tombola__keys keys;
  struct tombola__dialect dialect = in->dialect;
  choose_dialect(c, in, schema);
  if (in->root == schema) dialect = in->dialect;
  tombola__keys_read(&dialect, schema, 0, &keys);
  const bool old = dialect.draft == TOMBOLA__DRAFT_4;
  yyjson_val *const id = keys.v[old ? TOMBOLA__K_ID : TOMBOLA__K_DOLLAR_ID];
  struct tombola__resource *r = in;
  if (id) r = identify(c, in, schema, id, old ? "id" : "$id", dialect.draft);
  if (r != in) choose_dialect(c, r, schema);
  if (r != in && r->dialect.draft != dialect.draft) tombola__keys_read(&r->dialect, schema, 0, &keys);
  if (c->s->status || !add_place(c, r, schema)) return;
  if (r->dialect.draft == 0) return; /* refused where it is used */
  read_anchors(c, r, schema, &keys);
  for (int k = 0; k < TOMBOLA__N_KEYWORDS; k++)
    if (keys.v[k]) walk_subschemas(c, r, keys.v[k], tombola__keywords[k].subschemas, depth + 1);
}

/* ---- references ---- */

/* One step of a JSON pointer, unescaped in place; returns the value it leads to. */
static yyjson_val *step(yyjson_val *in, char *text, size_t length) {
  size_t out = 0;
  for (size_t i = 0; i < length; i++) {
    const bool escape = text[i] == '~' && i + 1 < length && (text[i + 1] == '0' || text[i + 1] == '1');
    text[out++] = !escape ? text[i] : text[i + 1] == '0' ? '~' : '/';
    if (escape) i++;
  }
  if (yyjson_is_obj(in)) return yyjson_obj_getn(in, text, out);
  if (!yyjson_is_arr(in) || out == 0 || out > 9 || (out > 1 && text[0] == '0')) return NULL;
  size_t index = 0;
  for (size_t i = 0; i < out; i++) {
    if (text[i] < '0' || text[i] > '9') return NULL;
    index = index * 10 + (size_t)(text[i] - '0');
  }
  return yyjson_arr_get(in, index);
}

enum {
  MOST_KEYS = 64
}; /* that are looked at for what was meant: schemas may have many, and many references */

/* The reason for a step that leads nowhere: perhaps the name is misspelled. */
static void explain_step(struct tombola__compiler *c, yyjson_val *in, const char *name, size_t length,
                         const char **why) {
  char text[160] = "";
  size_t index, max, least = tombola__misspelled(length);
  yyjson_val *key, *value;
  yyjson_obj_foreach(in, index, max, key, value) {
    if (index < MOST_KEYS &&
        tombola__is_nearer(name, length, yyjson_get_str(key), yyjson_get_len(key), &least))
      snprintf(text, sizeof text, "%s; did you mean %s?", *why, yyjson_get_str(key));
  }
  const char *const copy = text[0] ? tombola__copy(c->s, text, strlen(text)) : NULL;
  if (copy) *why = copy;
}

static uint32_t by_pointer(struct tombola__compiler *c, struct tombola__resource *r, char *text,
                           size_t length, const char **why) {
  yyjson_val *at = r->root, *in;
  for (size_t i = 0; i < length && at;) {
    const uint32_t place = tombola__place_of(c, at);
    if (place != TOMBOLA__NO_PLACE) r = c->places[place].resource;
    size_t end = i + 1;
    while (end < length && text[end] != '/')
      end++;
    in = at;
    at = step(in, text + i + 1, end - i - 1);
    if (!at) explain_step(c, in, text + i + 1, end - i - 1, why);
    i = end;
  }
  if (!at || !tombola__is_schema(at)) return TOMBOLA__NO_PLACE;
  tombola__walk(c, r, at, 0); /* a place that no keyword leads to */
  return tombola__place_of(c, at);
}

uint32_t tombola__reference(struct tombola__compiler *c, const struct tombola__resource *from,
                            yyjson_val *reference, const struct tombola__anchor **anchor, const char **why) {
  *anchor = NULL;
  *why = "names nothing that was supplied";
  if (!tombola__store_state(c->s)) return TOMBOLA__NO_PLACE;
  const char *const whole =
      tombola__uri_resolve(c->s, from->uri, yyjson_get_str(reference), yyjson_get_len(reference));
  if (!whole) return TOMBOLA__NO_PLACE;
  const size_t length = strcspn(whole, "#");
  /* A reference into the same resource needs no look at others, which may have its URI too. */
  struct tombola__resource *const r = strlen(from->uri) == length && memcmp(from->uri, whole, length) == 0
                                          ? c->places[tombola__place_of(c, from->root)].resource
                                          : tombola__resource_find(c, whole, length);
  if (!r) return TOMBOLA__NO_PLACE;
  *why = "names nothing in that document";
  const char *const fragment = whole[length] ? whole + length + 1 : "";
  if (fragment[0] == '\0') return tombola__place_of(c, r->root);
  char *const text = tombola__copy(c->s, fragment, strlen(fragment));
  if (!text) return TOMBOLA__NO_PLACE;
  const size_t n = tombola__uri_decode(text, strlen(text));
  if (text[0] == '/') return by_pointer(c, r, text, n, why);
  for (const struct tombola__anchor *a = r->anchors; a; a = a->next)
    if (a->length == n && n > 0 && memcmp(a->name, text, n) == 0) {
      *anchor = a;
      return tombola__place_of(c, a->schema);
    }
  return TOMBOLA__NO_PLACE;
}

/* ---- dynamic scopes ---- */

uint32_t tombola__scope_with(struct tombola__compiler *c, uint32_t scope,
                             struct tombola__resource *resource) {
  if (!resource->dynamic) return scope;
  for (const struct tombola__scope *i = c->scopes[scope]; i; i = i->outer)
    if (i->resource == resource) return scope;
  for (uint32_t i = 1; i < c->n_scopes; i++)
    if (c->scopes[i]->outer == c->scopes[scope] && c->scopes[i]->resource == resource) return i;
  struct tombola__scope *const made = tombola__store_take(c->s, 1, sizeof *made);
  /* The table holds pointers; its elements are a pointer wide. */
  void *memory = c->scopes;
  if (!made || !tombola__room(c->s, &memory, &c->scope_room, c->n_scopes, sizeof *c->scopes)) return 0;
  c->scopes = memory;
  *made = (struct tombola__scope){c->scopes[scope], resource, (uint32_t)c->n_scopes};
  c->scopes[c->n_scopes] = made;
  return (uint32_t)c->n_scopes++;
}

const struct tombola__anchor *tombola__scope_anchor(const struct tombola__compiler *c, uint32_t scope,
                                                    const struct tombola__anchor *like) {
  const struct tombola__anchor *found = NULL;
  for (const struct tombola__scope *i = c->scopes[scope]; i; i = i->outer)
    for (const struct tombola__anchor *a = i->resource->anchors; a; a = a->next)
      if (a->dynamic && a->length == like->length && memcmp(a->name, like->name, a->length) == 0) found = a;
  return found;
}
