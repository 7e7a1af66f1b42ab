/* SPDX-License-Identifier: Apache-2.0 */
/* Keywords about arrays. */
#include "constraint/schema/internal.h"

/* A schema for each of the first items; returns how many there are. */
static uint32_t build_first(struct tombola__build *b, yyjson_val *list) {
  size_t index, max;
  yyjson_val *schema;
  yyjson_arr_foreach(list, index, max, schema)
      tombola__part(b, tombola__item(b->c->s, (uint32_t)index, tombola__child(b, schema)));
  return (uint32_t)yyjson_arr_size(list);
}

/* 2020-12: prefixItems and items. Before: items as a schema, or as a list with additionalItems. */
static void build_items(struct tombola__build *b) {
  struct tombola__store *const s = b->c->s;
  yyjson_val *const prefix = b->keys.v[TOMBOLA__K_PREFIX_ITEMS], *const items = b->keys.v[TOMBOLA__K_ITEMS];
  yyjson_val *const additional = b->keys.v[TOMBOLA__K_ADDITIONAL_ITEMS];
  uint32_t first = 0;
  if (prefix && (!yyjson_is_arr(prefix) || yyjson_arr_size(prefix) == 0)) {
    tombola__must(b, prefix, TOMBOLA__K_PREFIX_ITEMS, "an array of schemas, not empty");
    return;
  }
  if (prefix) first = build_first(b, prefix);
  if (!items) return;
  if (!yyjson_is_arr(items)) {
    tombola__part(b, tombola__items(s, first, tombola__child(b, items)));
  } else if (b->resource->dialect.draft == TOMBOLA__DRAFT_2020) {
    tombola__must(b, items, TOMBOLA__K_ITEMS, "a schema (prefixItems has the list since draft 2020-12)");
  } else {
    first = build_first(b, items);
    if (additional) tombola__part(b, tombola__items(s, first, tombola__child(b, additional)));
  }
}

static void build_contains(struct tombola__build *b) {
  yyjson_val *const schema = b->keys.v[TOMBOLA__K_CONTAINS];
  uint32_t min = 1, max = TOMBOLA__MANY;
  if (b->keys.v[TOMBOLA__K_MIN_CONTAINS] &&
      !tombola__count_read(b, TOMBOLA__K_MIN_CONTAINS, TOMBOLA__MANY - 1, &min))
    return;
  if (b->keys.v[TOMBOLA__K_MAX_CONTAINS] &&
      !tombola__count_read(b, TOMBOLA__K_MAX_CONTAINS, TOMBOLA__MANY, &max))
    return;
  if (!schema) return;
  const tombola__formula f = tombola__child(b, schema);
  if (max != TOMBOLA__MANY && tombola__is_loose(b->c, schema)) {
    tombola__refuse(b, b->keys.v[TOMBOLA__K_MAX_CONTAINS], TOMBOLA__K_MAX_CONTAINS,
                    "not all of `contains` can be enforced");
    max = TOMBOLA__MANY;
  }
  tombola__part(b, tombola__contains(b->c->s, 0, f, min, max));
}

void tombola__build_array(struct tombola__build *b) {
  yyjson_val *const unique = b->keys.v[TOMBOLA__K_UNIQUE_ITEMS];
  uint32_t min = 0, max = TOMBOLA__MANY;
  build_items(b);
  build_contains(b);
  if (b->keys.v[TOMBOLA__K_MIN_ITEMS] &&
      !tombola__count_read(b, TOMBOLA__K_MIN_ITEMS, TOMBOLA__MANY - 1, &min))
    return;
  if (b->keys.v[TOMBOLA__K_MAX_ITEMS] && !tombola__count_read(b, TOMBOLA__K_MAX_ITEMS, TOMBOLA__MANY, &max))
    return;
  tombola__part(b, tombola__length(b->c->s, min, max));
  if (unique && !yyjson_is_bool(unique)) tombola__must(b, unique, TOMBOLA__K_UNIQUE_ITEMS, "true or false");
  if (yyjson_is_true(unique)) tombola__part(b, tombola__unique(b->c->s));
}
