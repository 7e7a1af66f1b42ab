/* SPDX-License-Identifier: Apache-2.0 */
/* Drafts, vocabularies, and which keywords of a schema hold in them. */
#include <string.h>

#include "constraint/schema/internal.h"

const struct tombola__keyword_info tombola__keywords[TOMBOLA__N_KEYWORDS] = {
#define TOMBOLA__E_IGNORE false
#define TOMBOLA__E_REFUSE true
#define TOMBOLA__X(id, name, drafts, vocabulary, subschemas, elsewhere) \
  {name,                                                                \
   sizeof(name) - 1,                                                    \
   drafts,                                                              \
   TOMBOLA__V_##vocabulary,                                             \
   TOMBOLA__SUB_##subschemas,                                           \
   TOMBOLA__E_##elsewhere},
    TOMBOLA__KEYWORDS(TOMBOLA__X)
#undef TOMBOLA__X
};

int tombola__keyword_find(const char *name, size_t length) {
  int lo = 0, hi = TOMBOLA__N_KEYWORDS - 1;
  while (lo <= hi) {
    const int middle = (lo + hi) / 2;
    const struct tombola__keyword_info *const k = &tombola__keywords[middle];
    int order = memcmp(name, k->name, length < k->length ? length : k->length);
    if (order == 0) order = length < k->length ? -1 : length > k->length;
    if (order == 0) return middle;
    if (order < 0)
      hi = middle - 1;
    else
      lo = middle + 1;
  }
  return -1;
}

void tombola__keys_read(const struct tombola__dialect *dialect, yyjson_val *schema, uint64_t dropped,
                        struct tombola__keys *out) {
  *out = (struct tombola__keys){{NULL}};
  size_t index, max;
  yyjson_val *key, *value;
  yyjson_obj_foreach(schema, index, max, key, value) {
    const int k = tombola__keyword_find(yyjson_get_str(key), yyjson_get_len(key));
    if (k < 0 || dropped >> k & 1) continue;
    const struct tombola__keyword_info *const info = &tombola__keywords[k];
    if (!(info->drafts & dialect->draft) && !info->refused_elsewhere) continue;
    /* In 2019-09 the keywords of `unevaluated` are the applicators'. */
    const unsigned vocabulary =
        info->vocabulary == TOMBOLA__V_UNEVALUATED && dialect->draft == TOMBOLA__DRAFT_2019
            ? TOMBOLA__V_APPLICATOR
            : info->vocabulary;
    if (dialect->vocabularies & vocabulary) out->v[k] = value;
  }
  /* Up to draft 7, what stands beside a `$ref` isn't looked at; the definitions in it can still be named. */
  if (dialect->draft < TOMBOLA__DRAFT_2019 && out->v[TOMBOLA__K_REF]) {
    const struct tombola__keys all = *out;
    *out = (struct tombola__keys){{NULL}};
    out->v[TOMBOLA__K_REF] = all.v[TOMBOLA__K_REF];
    out->v[TOMBOLA__K_SCHEMA] = all.v[TOMBOLA__K_SCHEMA];
    out->v[TOMBOLA__K_DEFINITIONS] = all.v[TOMBOLA__K_DEFINITIONS];
    out->v[TOMBOLA__K_DEFS] = all.v[TOMBOLA__K_DEFS];
  }
}

const char *tombola__draft_name(unsigned draft) {
  static const struct {
    unsigned draft;
    const char *name;
  } names[] = {{TOMBOLA__DRAFT_4, "4"},
               {TOMBOLA__DRAFT_6, "6"},
               {TOMBOLA__DRAFT_7, "7"},
               {TOMBOLA__DRAFT_2019, "2019-09"},
               {TOMBOLA__DRAFT_2020, "2020-12"}};
  for (size_t i = 0; i < TOMBOLA__COUNT(names); i++)
    if (names[i].draft == draft) return names[i].name;
  return "";
}

/* ---- `$schema` ---- */

static bool is_uri(const char *text, size_t length, const char *uri) {
  while (length > 0 && text[length - 1] == '#')
    length--;
  if (length > 8 && memcmp(text, "https://", 8) == 0) {
    text += 8;
    length -= 8;
  } else if (length > 7 && memcmp(text, "http://", 7) == 0) {
    text += 7;
    length -= 7;
  }
  return strlen(uri) == length && memcmp(text, uri, length) == 0;
}

static unsigned known_draft(const char *text, size_t length) {
  static const struct {
    const char *uri;
    unsigned draft;
  } drafts[] = {{"json-schema.org/draft/2020-12/schema", TOMBOLA__DRAFT_2020},
                {"json-schema.org/draft/2019-09/schema", TOMBOLA__DRAFT_2019},
                {"json-schema.org/draft-07/schema", TOMBOLA__DRAFT_7},
                {"json-schema.org/draft-06/schema", TOMBOLA__DRAFT_6},
                {"json-schema.org/draft-04/schema", TOMBOLA__DRAFT_4}};
  for (size_t i = 0; i < TOMBOLA__COUNT(drafts); i++)
    if (is_uri(text, length, drafts[i].uri)) return drafts[i].draft;
  return 0;
}

/* A vocabulary's bits; 0: not known. */
static unsigned vocabulary_bits(const char *text, size_t length) {
  static const struct {
    const char *name;
    unsigned bits;
  } known[] = {{"core", TOMBOLA__V_CORE},
               {"applicator", TOMBOLA__V_APPLICATOR},
               {"validation", TOMBOLA__V_VALIDATION},
               {"unevaluated", TOMBOLA__V_UNEVALUATED},
               {"meta-data", TOMBOLA__V_CORE},
               {"content", TOMBOLA__V_CORE},
               {"format", TOMBOLA__V_FORMAT},
               {"format-annotation", TOMBOLA__V_FORMAT},
               {"format-assertion", TOMBOLA__V_FORMAT | TOMBOLA__V_FORMAT_ASSERTION}};
  size_t name = length;
  while (name > 0 && text[name - 1] != '/')
    name--;
  static const char end[] = "/vocab/";
  if (name < sizeof end - 1 || memcmp(text + name - (sizeof end - 1), end, sizeof end - 1) != 0) return 0;
  for (size_t i = 0; i < TOMBOLA__COUNT(known); i++)
    if (strlen(known[i].name) == length - name && memcmp(text + name, known[i].name, length - name) == 0 &&
        (is_uri(text, name - 7, "json-schema.org/draft/2020-12") ||
         is_uri(text, name - 7, "json-schema.org/draft/2019-09")))
      return known[i].bits;
  return 0;
}

struct tombola__dialect tombola__dialect_of(struct tombola__compiler *c, yyjson_val *name, unsigned depth) {
  struct tombola__dialect dialect = {0, TOMBOLA__V_ALL, name};
  const char *const text = yyjson_get_str(name);
  size_t length = yyjson_get_len(name);
  if (!text || depth > 8) return dialect;
  if ((dialect.draft = known_draft(text, length))) return dialect;
  while (length > 0 && text[length - 1] == '#')
    length--;
  const struct tombola__resource *const meta = tombola__resource_find(c, text, length);
  if (!meta) return dialect;
  yyjson_val *const its_name = yyjson_obj_get(meta->root, "$schema");
  yyjson_val *const vocabularies = yyjson_obj_get(meta->root, "$vocabulary");
  const struct tombola__dialect above = its_name ? tombola__dialect_of(c, its_name, depth + 1) : c->dialect;
  dialect.draft = above.draft;
  if (!yyjson_is_obj(vocabularies) || above.draft < TOMBOLA__DRAFT_2019) return dialect;
  dialect.vocabularies = TOMBOLA__V_CORE;
  size_t index, max;
  yyjson_val *key, *value;
  yyjson_obj_foreach(vocabularies, index, max, key, value) {
    const unsigned bits = vocabulary_bits(yyjson_get_str(key), yyjson_get_len(key));
    if (!bits && yyjson_is_true(value)) dialect.draft = 0; /* one that must be understood and isn't */
    dialect.vocabularies |= bits;
  }
  return dialect;
}
