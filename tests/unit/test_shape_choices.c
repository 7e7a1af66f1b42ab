/* SPDX-License-Identifier: Apache-2.0 */
/* Choices of objects: conditions on a few properties against all objects of these, how many readings a text has, and what
 * is refused. */
#include "machine_support.h"

#include <stdio.h>

#include "constraint/shape/shape.h"

enum { NAMES = 6, KINDS = 3, OBJECTS = 729, MOST_CONDITIONS = 16, MOST_EFFECTS = 4 };
enum { ABSENT, X, Y };

static const struct tombola__name *named(const char *letter, size_t i) {
  char text[16];
  const int n = snprintf(text, sizeof text, "%s%zu", letter, i);
  return tombola__name(&store, text, (size_t)n);
}

static tombola__formula text(const char *t) {
  return tombola__and2(&store, tombola__types(&store, TOMBOLA__STRING),
                       tombola__text(&store, tombola__lang_text(&store, t, strlen(t))));
}

static tombola__formula property(const char *letter, size_t i, tombola__formula value) {
  return tombola__property(&store, named(letter, i), TOMBOLA__MANY, value);
}

static tombola__formula required(const char *letter, size_t i) {
  return tombola__required(&store, named(letter, i));
}

/* ---- conditions against all objects ---- */

/* Of one property: which of absent, x and y are good, as bits. */
struct effect {
  size_t name;
  unsigned good;
};

/* OR of ANDs of two effects. */
struct condition {
  struct effect at[MOST_EFFECTS][2];
  size_t n;
};

struct world {
  struct condition conditions[MOST_CONDITIONS];
  size_t n;
  bool good[OBJECTS];
  size_t n_good;
};

static unsigned kind_of(size_t object, size_t name) {
  while (name-- > 0)
    object /= KINDS;
  return (unsigned)(object % KINDS);
}

static bool holds(const struct effect *e, size_t object) {
  return e->good >> kind_of(object, e->name) & 1;
}

static bool is_good(const struct world *w, size_t object) {
  for (size_t i = 0; i < w->n; i++) {
    bool any = false;
    for (size_t k = 0; k < w->conditions[i].n; k++)
      any |= holds(&w->conditions[i].at[k][0], object) && holds(&w->conditions[i].at[k][1], object);
    if (!any) return false;
  }
  return true;
}

static tombola__formula value_of(unsigned good) {
  const tombola__formula x = good >> X & 1 ? text("x") : TOMBOLA__FALSE;
  return tombola__or2(&store, x, good >> Y & 1 ? text("y") : TOMBOLA__FALSE);
}

static tombola__formula effect_formula(const struct effect *e) {
  const tombola__formula there = e->good >> ABSENT & 1 ? TOMBOLA__TRUE : required("p", e->name);
  return tombola__and2(&store, there, property("p", e->name, value_of(e->good)));
}

static tombola__formula world_formula(const struct world *w) {
  tombola__formula all = tombola__types(&store, TOMBOLA__OBJECT);
  for (size_t i = 0; i < NAMES; i++)
    all = tombola__and2(&store, all, property("p", i, value_of(7)));
  for (size_t i = 0; i < w->n; i++) {
    tombola__formula parts[MOST_EFFECTS];
    for (size_t k = 0; k < w->conditions[i].n; k++)
      parts[k] = tombola__and2(&store, effect_formula(&w->conditions[i].at[k][0]),
                               effect_formula(&w->conditions[i].at[k][1]));
    all = tombola__and2(&store, all, tombola__or(&store, parts, w->conditions[i].n));
  }
  return all;
}

static void make_world(struct world *w, struct support_rng *rng) {
  w->n = 6 + support_u32(rng) % (MOST_CONDITIONS - 6);
  for (size_t i = 0; i < w->n; i++) {
    w->conditions[i].n = 2 + support_u32(rng) % 2;
    for (size_t k = 0; k < w->conditions[i].n; k++)
      for (size_t e = 0; e < 2; e++)
        w->conditions[i].at[k][e] = (struct effect){support_u32(rng) % NAMES,
                                                    support_u32(rng) % 4 ? 7u & ~(1u << support_u32(rng) % 3)
                                                                         : 1 + support_u32(rng) % 7};
  }
  w->n_good = 0;
  for (size_t i = 0; i < OBJECTS; i++)
    w->n_good += w->good[i] = is_good(w, i);
}

/* Whether some good object has what is there of this one, and of another name this kind. */
static bool can_be(const struct world *w, size_t object, unsigned there, size_t name, unsigned kind) {
  for (size_t i = 0; i < OBJECTS; i++) {
    bool fits = w->good[i] && kind_of(i, name) == kind;
    for (size_t k = 0; k < NAMES && fits; k++)
      if (there >> k & 1) fits = kind_of(i, k) == kind_of(object, k);
    if (fits) return true;
  }
  return false;
}

static bool ends(const struct world *w, size_t object, unsigned there) {
  for (size_t k = 0, digit = 1; k < NAMES; k++, digit *= KINDS)
    if (!(there >> k & 1)) object -= kind_of(object, k) * digit;
  return w->good[object];
}

/* Reads a random object in a random order, and looks at every name and value on the way. */
static void walk_object(const struct world *w, struct tombola__machine *m, struct support_rng *rng,
                        size_t seed) {
  const size_t object = support_u32(rng) % OBJECTS;
  unsigned there = 0;
  assert_true(tombola__machine_push(m, '{'));
  for (;;) {
    const size_t at = tombola__machine_length(m);
    size_t going = NAMES;
    for (size_t name = 0; name < NAMES; name++) {
      if (there >> name & 1) continue;
      for (unsigned kind = X; kind <= Y; kind++) {
        char bytes[16];
        const int n =
            snprintf(bytes, sizeof bytes, "%s\"p%zu\":\"%c\"", there ? "," : "", name, kind == X ? 'x' : 'y');
        const bool got = fits(m, bytes, (size_t)n) == (size_t)n;
        well();
        tombola__machine_pop(m, tombola__machine_length(m) - at);
        if (got != can_be(w, object, there, name, kind))
          fail_msg("world %zu: %.*s and %s: %d", seed, (int)at, (const char *)tombola__machine_text(m), bytes,
                   got);
        if (got && kind_of(object, name) == kind && (going == NAMES || support_u32(rng) % 2)) going = name;
      }
    }
    const bool end = tombola__machine_push(m, '}');
    if (end) tombola__machine_pop(m, 1);
    if (end != ends(w, object, there))
      fail_msg("world %zu: %.*s and the end: %d", seed, (int)at, (const char *)tombola__machine_text(m), end);
    if (going == NAMES) break;
    char bytes[16];
    const int n = snprintf(bytes, sizeof bytes, "%s\"p%zu\":\"%c\"", there ? "," : "", going,
                           kind_of(object, going) == X ? 'x' : 'y');
    assert_int_equal(fits(m, bytes, (size_t)n), n);
    there |= 1u << going;
  }
  tombola__machine_pop(m, tombola__machine_length(m));
}

static void conditions_are_exact(void **state) {
  (void)state;
  static struct world w;
  struct support_rng rng = support_rng(6);
  const size_t worlds = support_long() ? 1000 : 60;
  size_t none = 0, together = 0;
  for (size_t i = 0; i < worlds; i++) {
    make_world(&w, &rng);
    tombola__store_free(&store);
    open_store(TOMBOLA_WHITESPACE_NONE, 0);
    const tombola__formula f = world_formula(&w);
    const char *reason;
    bool exact;
    assert_int_equal(tombola__explore(&store, f, &exact, &reason), TOMBOLA_OK);
    assert_true(exact);
    assert_int_equal(tombola__satisfiable(&store, f), w.n_good > 0);
    none += w.n_good == 0;
    if (!w.n_good) continue;
    const struct tombola__value *const v = tombola__value(&store, f);
    for (size_t k = 0; k < v->n_objects; k++)
      for (size_t c = 0; c < v->objects[k]->n_choices; c++)
        together += !v->objects[k]->choices[c].alone;
    struct tombola__machine *const m = machine_of(f);
    for (size_t k = 0; k < 6; k++) {
      tombola__store_begin(&store);
      walk_object(&w, m, &rng, i);
    }
    tombola__machine_free(m);
  }
  print_message("%zu worlds, %zu without an object, %zu choices together\n", worlds, none, together);
  assert_true(none < worlds / 2 && together > worlds / 4);
}

/* ---- readings ---- */

static size_t most_readings(struct tombola__machine *m, const char *bytes) {
  size_t most = 0, n;
  for (const char *c = bytes; *c; c++) {
    if (!tombola__machine_push(m, (uint8_t)*c)) fail_msg("stops in front of %s", c);
    tombola__machine_readings(m, &n);
    if (n > most) most = n;
  }
  well();
  return most;
}

/* Thirty conditions on different properties: one object, and few readings of what is in it. */
static void independent_conditions_do_not_multiply(void **state) {
  (void)state;
  tombola__formula f = tombola__types(&store, TOMBOLA__OBJECT);
  for (size_t i = 0; i < 30; i++) {
    const tombola__formula is = tombola__and2(&store, required("a", i), property("a", i, text("x")));
    f = tombola__and2(&store, f, tombola__or2(&store, tombola__not(&store, is), required("b", i)));
  }
  const struct tombola__value *const v = tombola__value(&store, f);
  well();
  assert_int_equal(v->n_objects, 1);
  assert_int_equal(v->objects[0]->n_choices, 30);
  struct tombola__machine *m = machine_of(f);
  assert_true(most_readings(
                  m, "{\"a0\":\"x\",\"a1\":\"y\",\"a2\":\"x\",\"z\":1,\"b0\":0,\"a3\":7,\"b2\":\"x\"") <= 2);
  assert_true(tombola__machine_push(m, '}'));
  tombola__machine_free(m);
  m = machine_of(f);
  most_readings(m, "{\"a0\":\"x\",\"a1\":\"y\",\"a2\":\"x\",\"b0\":0");
  assert_false(tombola__machine_push(m, '}'));
  tombola__machine_free(m);
}

/* What overlaps makes two readings of a value, which are one again behind it. */
static void overlapping_conditions_do_not_multiply(void **state) {
  (void)state;
  tombola__formula f = tombola__types(&store, TOMBOLA__OBJECT);
  char bytes[512] = "{";
  for (size_t i = 0; i < 20; i++) {
    const tombola__formula short_one = tombola__text(&store, tombola__lang_length(&store, 0, 3));
    const tombola__formula one = tombola__and2(&store, property("p", i, short_one), required("q", i));
    const tombola__formula other =
        tombola__and2(&store, property("p", i, tombola__types(&store, TOMBOLA__STRING)), required("r", i));
    f = tombola__and2(&store, f, tombola__or2(&store, one, other));
    snprintf(bytes + strlen(bytes), sizeof bytes - strlen(bytes), "%s\"p%zu\":%s", i ? "," : "", i,
             i % 2 ? "\"ab\"" : "\"abcd\"");
  }
  struct tombola__machine *const m = machine_of(f);
  well();
  assert_in_range(most_readings(m, bytes), 2, 3);
  tombola__machine_free(m);
}

static tombola__formula node; /* of the recursive formula */

static tombola__formula build_node(struct tombola__store *s, void *context, uint32_t id) {
  (void)s;
  (void)context;
  (void)id;
  return node;
}

/* Kinds of a node that it tells last: as deep as it goes there is one reading. */
static void late_kinds_do_not_multiply(void **state) {
  (void)state;
  const tombola__formula inner = tombola__later(&store, build_node, NULL, 0);
  tombola__formula kinds[3];
  for (size_t i = 0; i < 3; i++) {
    char kind[2] = {(char)('a' + i), 0};
    const tombola__formula parts[] = {
        tombola__types(&store, TOMBOLA__OBJECT), property("left", 0, inner), required("left", 0),
        property("op", 0, text(kind)),           required("op", 0),          required(kind, 0)};
    kinds[i] = tombola__and(&store, parts, 6);
  }
  node = tombola__or2(&store, tombola__types(&store, TOMBOLA__NULL), tombola__or(&store, kinds, 3));
  char bytes[4096] = "";
  for (size_t i = 0; i < 60; i++)
    strcat(bytes, "{\"left0\":");
  strcat(bytes, "null");
  for (size_t i = 0; i < 60; i++)
    strcat(bytes, i % 2 ? ",\"op0\":\"b\",\"b0\":1}" : ",\"a0\":1,\"op0\":\"a\"}");
  struct tombola__machine *const m = machine_of(inner);
  well();
  assert_in_range(most_readings(m, bytes), 1, 3);
  assert_true(tombola__machine_complete(m));
  tombola__machine_free(m);
}

/* Kinds that are closed, each with properties of its own. */
static void closed_kinds_are_one_object(void **state) {
  (void)state;
  tombola__formula kinds[10];
  for (size_t i = 0; i < 10; i++) {
    char kind[8];
    snprintf(kind, sizeof kind, "k%zu", i);
    const struct tombola__name *const own = named("own", i), *const tag = named("tag", 0);
    const struct tombola_bytes names[] = {{own->text, own->length}, {tag->text, tag->length}};
    const tombola__lang others = tombola__lang_not(&store, tombola__lang_texts(&store, names, 2));
    const tombola__formula parts[] = {tombola__types(&store, TOMBOLA__OBJECT), property("tag", 0, text(kind)),
                                      required("tag", 0), required("own", i),
                                      tombola__keys(&store, others, TOMBOLA__FALSE)};
    kinds[i] = tombola__and(&store, parts, 5);
  }
  const tombola__formula f = tombola__or(&store, kinds, 10);
  const struct tombola__value *const v = tombola__value(&store, f);
  well();
  assert_int_equal(v->n_objects, 1);
  struct tombola__machine *const m = machine_of(f);
  assert_true(accepts(m, "{\"own3\":1,\"tag0\":\"k3\"}", 22));
  assert_false(accepts(m, "{\"own3\":1,\"tag0\":\"k4\"}", 22));
  assert_int_equal(fits(m, "{\"own3\":1,\"own4\"", 16), 11);
  tombola__machine_free(m);
}

/* What one property may be by many conditions that overlap multiplies still. */
static void values_that_multiply_are_refused(void **state) {
  (void)state;
  tombola__formula f = tombola__types(&store, TOMBOLA__OBJECT);
  for (size_t i = 0; i < 30; i++) {
    const struct tombola__range letter = {(uint32_t)('a' + i % 26), (uint32_t)('a' + i % 26)};
    tombola__lang lang =
        tombola__lang_concat(&store, TOMBOLA__LANG_ALL, tombola__lang_set(&store, &letter, 1));
    lang = tombola__lang_concat(&store, lang, TOMBOLA__LANG_ALL);
    f = tombola__and2(&store, f,
                      tombola__or2(&store, required("q", i), property("p", 0, tombola__text(&store, lang))));
  }
  const char *reason;
  bool exact;
  assert_int_equal(tombola__explore(&store, f, &exact, &reason), TOMBOLA_OUT_OF_RANGE);
  assert_non_null(strstr(store.error.message, "alternatives"));
  const tombola__formula *about;
  assert_true(tombola__blamed(&store, &about) > 0);
  assert_int_equal(about[0], f);
}

/* A refusal says where. */
static void refusals_have_a_place(void **state) {
  (void)state;
  char schema[2048] = "{\"properties\":{\"x\":{\"minProperties\":3,\"allOf\":[";
  for (int i = 0; i < 13; i++)
    snprintf(schema + strlen(schema), sizeof schema - strlen(schema),
             "%s{\"anyOf\":[{\"required\":[\"a%d\"]},{\"required\":[\"b%d\"]}]}", i ? "," : "", i, i);
  strcat(schema, "]}}}");
  const struct tombola_grammar_source source = {.struct_size = sizeof source,
                                                .kind = TOMBOLA_GRAMMAR_JSON_SCHEMA,
                                                .text = schema,
                                                .length = strlen(schema)};
  struct tombola_schema_verdict verdict;
  tombola_grammar *grammar = NULL;
  assert_int_equal(tombola_grammar_new(&source, NULL, NULL, &grammar, &verdict, NULL), TOMBOLA_OUT_OF_RANGE);
  assert_int_equal(verdict.verdict, TOMBOLA_VERDICT_REFUSED);
  assert_string_equal(verdict.pointer, "/properties/x/allOf");
  assert_string_equal(verdict.keyword, "allOf");
  assert_non_null(strstr(verdict.reason, "alternatives"));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, open_one, close_one)

int main(void) {
  const struct CMUnitTest tests[] = {
      CASE(conditions_are_exact),
      CASE(independent_conditions_do_not_multiply),
      CASE(overlapping_conditions_do_not_multiply),
      CASE(late_kinds_do_not_multiply),
      CASE(closed_kinds_are_one_object),
      CASE(values_that_multiply_are_refused),
      CASE(refusals_have_a_place),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
