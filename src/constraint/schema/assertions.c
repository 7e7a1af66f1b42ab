/* SPDX-License-Identifier: Apache-2.0 */
/* Keywords about the value itself: type, enum, const, and those of strings and numbers. */
#include <string.h>

#include "constraint/schema/internal.h"

/* ---- types ---- */

#define INTEGER 256u

static unsigned type_bits(yyjson_val *name) {
  static const struct {
    const char *name;
    unsigned bits;
  } types[] = {{"null", TOMBOLA__NULL},    {"boolean", TOMBOLA__BOOLEAN}, {"number", TOMBOLA__NUMBER},
               {"integer", INTEGER},       {"string", TOMBOLA__STRING},   {"array", TOMBOLA__ARRAY},
               {"object", TOMBOLA__OBJECT}};
  for (size_t i = 0; i < TOMBOLA__COUNT(types); i++)
    if (yyjson_equals_str(name, types[i].name)) return types[i].bits;
  return 0;
}

static const char a_type[] = "null, boolean, number, integer, string, array or object";

/* OpenAPI 3.0: `nullable` lets `type` allow null too; without a `type` it says nothing. */
static unsigned nullable(struct tombola__build *b) {
  yyjson_val *const value = b->keys.v[TOMBOLA__K_NULLABLE];
  if (!value || !b->c->source->nullable) return 0;
  if (!yyjson_is_bool(value)) tombola__must(b, value, TOMBOLA__K_NULLABLE, "true or false");
  return yyjson_is_true(value) ? TOMBOLA__NULL : 0;
}

static void build_type(struct tombola__build *b) {
  struct tombola__store *const s = b->c->s;
  yyjson_val *const value = b->keys.v[TOMBOLA__K_TYPE], *name;
  const unsigned null = nullable(b);
  unsigned bits = 0;
  if (!value) return;
  if (yyjson_is_arr(value)) {
    size_t index, max;
    yyjson_arr_foreach(value, index, max, name) {
      const unsigned one = type_bits(name);
      if (!one || (bits & one)) {
        tombola__must(b, name, TOMBOLA__K_TYPE, one ? "given once" : a_type);
        return;
      }
      bits |= one;
    }
    if (yyjson_arr_size(value) == 0) tombola__must(b, value, TOMBOLA__K_TYPE, "not empty");
  } else if (!(bits = type_bits(value))) {
    tombola__must(b, value, TOMBOLA__K_TYPE, a_type);
    return;
  }
  const bool integer = (bits & INTEGER) && !(bits & TOMBOLA__NUMBER);
  bits |= null | (integer ? TOMBOLA__NUMBER : 0u);
  tombola__part(b, tombola__types(s, bits & TOMBOLA__ALL_TYPES));
  if (integer) tombola__part(b, tombola__numeric(s, tombola__numbers_integers(s)));
}

static void build_values(struct tombola__build *b) {
  yyjson_val *const list = b->keys.v[TOMBOLA__K_ENUM], *const value = b->keys.v[TOMBOLA__K_CONST];
  if (list && !yyjson_is_arr(list))
    tombola__must(b, list, TOMBOLA__K_ENUM, "an array");
  else if (list)
    tombola__part(b, tombola__equal_any(b->c->s, list, b->c->depth));
  if (value) tombola__part(b, tombola__equal_value(b->c->s, value, b->c->depth));
}

/* ---- counts ---- */

bool tombola__count_read(struct tombola__build *b, enum tombola__keyword keyword, uint32_t most,
                         uint32_t *out) {
  yyjson_val *const value = b->keys.v[keyword];
  struct tombola__decimal d;
  const bool is_number = tombola__decimal_of(b->c->s, value, &d);
  if (!is_number || d.exponent < 0 || (d.negative && d.length > 0)) {
    if (!b->c->s->status) tombola__must(b, value, keyword, "a whole number, 0 or more");
    return false;
  }
  uint64_t n = 0;
  for (uint32_t i = 0; i < d.length && n < most; i++)
    n = n * 10 + (uint64_t)(d.digits[i] - '0');
  for (int64_t i = 0; i < d.exponent && n > 0 && n < most; i++)
    n *= 10;
  *out = n < most ? (uint32_t)n : most;
  return true;
}

/* ---- strings ---- */

static struct tombola__pattern *compiled(struct tombola__compiler *c, const char *text, size_t length) {
  for (struct tombola__pattern *p = c->patterns; p; p = p->next)
    if (p->length == length && memcmp(p->text, text, length) == 0) return p;
  struct tombola__pattern *const p = tombola__store_take(c->s, 1, sizeof *p);
  if (!p || !tombola__store_state(c->s)) return NULL;
  struct tombola_error error = {TOMBOLA_OK, 0, "", ""};
  p->text = text;
  p->length = length;
  p->status = tombola__regex(c->s, text, length, TOMBOLA__REGEX_SEARCH, &p->lang, &error);
  memcpy(p->reason, error.message, sizeof p->reason - 1);
  p->next = c->patterns;
  c->patterns = p;
  return p;
}

const tombola__lang *tombola__pattern(struct tombola__build *b, yyjson_val *text, const yyjson_val *at,
                                      enum tombola__keyword keyword) {
  const struct tombola__pattern *const p = compiled(b->c, yyjson_get_str(text), yyjson_get_len(text));
  if (!p || b->c->s->status) return NULL;
  if (p->status == TOMBOLA_OK) return &p->lang;
  if (p->status == TOMBOLA_UNSUPPORTED)
    tombola__refuse(b, at, keyword, "%s", p->reason);
  else
    tombola__complain(b->c, b->resource, at, tombola__keywords[keyword].name, p->status, "%s", p->reason);
  return NULL;
}

static tombola__numset bounded(struct tombola__store *s, const char *lo, const char *hi) {
  char buffers[2][24];
  struct tombola__decimal min, max;
  if (!tombola__decimal_read(lo, strlen(lo), buffers[0], &min) ||
      !tombola__decimal_read(hi, strlen(hi), buffers[1], &max))
    return TOMBOLA__NUMBERS_NONE;
  return tombola__numbers_and(s, tombola__numbers_integers(s),
                              tombola__numbers_interval(s, &min, false, &max, false));
}

/* OpenAPI's formats of numbers: integers of so many bits. False: the name is none of them. */
static const struct {
  const char *name, *lo, *hi;
} integer_formats[] = {{"int8", "-128", "127"},
                       {"int16", "-32768", "32767"},
                       {"int32", "-2147483648", "2147483647"},
                       {"int64", "-9223372036854775808", "9223372036854775807"},
                       {"uint8", "0", "255"},
                       {"uint16", "0", "65535"},
                       {"uint32", "0", "4294967295"},
                       {"uint64", "0", "18446744073709551615"}};

static bool build_integer_format(struct tombola__build *b, yyjson_val *name) {
  for (size_t i = 0; i < TOMBOLA__COUNT(integer_formats); i++) {
    if (!yyjson_equals_str(name, integer_formats[i].name)) continue;
    tombola__part(b,
                  tombola__numeric(b->c->s, bounded(b->c->s, integer_formats[i].lo, integer_formats[i].hi)));
    return true;
  }
  return false;
}

/* The format that a name may be a misspelling of, or NULL. */
static const char *nearest_format(yyjson_val *name) {
  const char *const text = yyjson_get_str(name), *known, *found = NULL;
  const size_t length = yyjson_get_len(name);
  size_t least = tombola__misspelled(length);
  for (size_t i = 0; (known = tombola__format_name(i)); i++)
    if (tombola__is_nearer(text, length, known, strlen(known), &least)) found = known;
  return found;
}

static void refuse_format(struct tombola__build *b, yyjson_val *name) {
  const char *const near = nearest_format(name);
  tombola__refuse(b, name, TOMBOLA__K_FORMAT, "the format %.100s isn't known%s%s%s", yyjson_get_str(name),
                  near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static void build_format(struct tombola__build *b) {
  struct tombola__store *const s = b->c->s;
  yyjson_val *const format = b->keys.v[TOMBOLA__K_FORMAT];
  tombola__lang lang;
  if (!format) return;
  if (!yyjson_is_str(format)) {
    tombola__must(b, format, TOMBOLA__K_FORMAT, "a string");
    return;
  }
  if (b->c->source->format != TOMBOLA_FORMAT_ASSERT &&
      !(b->resource->dialect.vocabularies & TOMBOLA__V_FORMAT_ASSERTION))
    return;
  if (build_integer_format(b, format)) return;
  if (tombola__format(s, yyjson_get_str(format), yyjson_get_len(format), &lang))
    tombola__part(b, tombola__text(s, lang));
  else if (!s->status)
    refuse_format(b, format);
}

static void build_string(struct tombola__build *b) {
  struct tombola__store *const s = b->c->s;
  yyjson_val *const pattern = b->keys.v[TOMBOLA__K_PATTERN];
  uint32_t min = 0, max = TOMBOLA__LANG_UNBOUNDED;
  if (pattern && !yyjson_is_str(pattern)) {
    tombola__must(b, pattern, TOMBOLA__K_PATTERN, "a string");
  } else if (pattern) {
    const tombola__lang *const lang = tombola__pattern(b, pattern, pattern, TOMBOLA__K_PATTERN);
    if (lang) tombola__part(b, tombola__text(s, *lang));
  }
  if (b->keys.v[TOMBOLA__K_MIN_LENGTH] &&
      !tombola__count_read(b, TOMBOLA__K_MIN_LENGTH, TOMBOLA__MANY - 1, &min))
    return;
  if (b->keys.v[TOMBOLA__K_MAX_LENGTH] && !tombola__count_read(b, TOMBOLA__K_MAX_LENGTH, TOMBOLA__MANY, &max))
    return;
  if (min > 0 || max != TOMBOLA__LANG_UNBOUNDED)
    tombola__part(b, tombola__text(s, min > max ? TOMBOLA__LANG_NONE : tombola__lang_length(s, min, max)));
  build_format(b);
}

/* ---- numbers ---- */

/* A bound and whether it is left out: draft 4's exclusive keywords are flags, later ones are bounds of their own. */
static void build_bound(struct tombola__build *b, enum tombola__keyword keyword, bool upper, bool open) {
  struct tombola__store *const s = b->c->s;
  yyjson_val *const value = b->keys.v[keyword];
  struct tombola__decimal d;
  if (!value) return;
  if (!tombola__decimal_of(s, value, &d)) {
    if (!s->status) tombola__must(b, value, keyword, "a number");
    return;
  }
  tombola__part(b, tombola__numeric(s, upper ? tombola__numbers_interval(s, NULL, false, &d, open)
                                             : tombola__numbers_interval(s, &d, open, NULL, false)));
}

static bool flag(struct tombola__build *b, enum tombola__keyword keyword) {
  yyjson_val *const value = b->keys.v[keyword];
  if (value && !yyjson_is_bool(value)) tombola__must(b, value, keyword, "true or false (in draft 4)");
  return yyjson_is_true(value);
}

static void build_number(struct tombola__build *b) {
  struct tombola__store *const s = b->c->s;
  yyjson_val *const multiple = b->keys.v[TOMBOLA__K_MULTIPLE_OF];
  struct tombola__decimal d;
  if (b->resource->dialect.draft == TOMBOLA__DRAFT_4) {
    build_bound(b, TOMBOLA__K_MINIMUM, false, flag(b, TOMBOLA__K_EXCLUSIVE_MINIMUM));
    build_bound(b, TOMBOLA__K_MAXIMUM, true, flag(b, TOMBOLA__K_EXCLUSIVE_MAXIMUM));
  } else {
    build_bound(b, TOMBOLA__K_MINIMUM, false, false);
    build_bound(b, TOMBOLA__K_MAXIMUM, true, false);
    build_bound(b, TOMBOLA__K_EXCLUSIVE_MINIMUM, false, true);
    build_bound(b, TOMBOLA__K_EXCLUSIVE_MAXIMUM, true, true);
  }
  if (!multiple) return;
  if (tombola__decimal_of(s, multiple, &d) && d.length > 0 && !d.negative)
    tombola__part(b, tombola__numeric(s, tombola__numbers_multiple(s, &d)));
  else if (!s->status)
    tombola__must(b, multiple, TOMBOLA__K_MULTIPLE_OF, "a number greater than 0");
}

void tombola__build_assertions(struct tombola__build *b) {
  build_type(b);
  build_values(b);
  build_string(b);
  build_number(b);
}
