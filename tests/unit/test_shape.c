/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes against a slow evaluation of the same formulas on a small universe of values: which formulas can be satisfied,
 * which values the shapes allow, and what may come next in an array or object as far as it is written. */
#include "shape_readers.h"

static struct universe flat, deep;

/* ---- a formula against the universe ---- */

struct check {
  struct tombola__store s;
  const struct universe *u;
  tombola__formula f;
  bool good[1024];
  size_t n_good, seed;
  bool exact;
  struct value prefix; /* of an object or array */
};

/* Only values of the universe, whose children are scalars. */
static tombola__formula bound(struct tombola__store *s, tombola__formula f) {
  const tombola__formula inside[] = {
      tombola__types(s, TOMBOLA__ALL_TYPES &
                            ~(unsigned)(TOMBOLA__FALSE_VALUE | TOMBOLA__ARRAY | TOMBOLA__OBJECT)),
      tombola__text(s, lang_of(s, 3)), tombola__numeric(s, numbers_of(s, 3))};
  const tombola__formula scalar = tombola__and(s, inside, 3);
  const tombola__formula parts[] = {f,
                                    tombola__types(s, TOMBOLA__ALL_TYPES & ~(unsigned)TOMBOLA__FALSE_VALUE),
                                    inside[1],
                                    inside[2],
                                    tombola__length(s, 0, 3),
                                    tombola__items(s, 0, scalar),
                                    tombola__keys(s, lang_of(s, 8), TOMBOLA__FALSE),
                                    tombola__keys(s, TOMBOLA__LANG_ALL, scalar)};
  return tombola__and(s, parts, 8);
}

/* Some good value of the type goes on from the prefix: with this property or item, when there is one. */
static bool can_be(const struct check *c, const char *name, const struct value *child) {
  const struct value *const p = &c->prefix;
  for (size_t i = 0; i < c->u->n; i++) {
    const struct value *const v = &c->u->values[i];
    if (!c->good[i] || v->type != p->type || v->n < p->n) continue;
    bool fits = true;
    for (size_t k = 0; k < p->n && fits; k++) {
      const struct value *const mine = p->type == TOMBOLA__OBJECT ? property(v, p->names[k]) : v->children[k];
      fits = mine == p->children[k];
    }
    if (!fits) continue;
    const struct value *const next = p->type == TOMBOLA__OBJECT ? (name ? property(v, name) : NULL)
                                     : v->n > p->n              ? v->children[p->n]
                                                                : NULL;
    if (child ? next == child : name ? next != NULL : v->n == p->n) return true;
  }
  return false;
}

#define AGREE(c, what, got, want)                                                                           \
  do {                                                                                                      \
    if ((got) != (want))                                                                                    \
      fail_msg("formula %zu: %s after %zu children: %d, should be %d", (c)->seed, what, (c)->prefix.n, got, \
               want);                                                                                       \
  } while (0)

static void check_object(struct check *c, const struct threads *threads) {
  AGREE(c, "the object's end", object_ends(&c->s, threads), can_be(c, NULL, NULL));
  for (size_t name = 0; name < 3 && c->prefix.n < 3; name++) {
    if (property(&c->prefix, letters[name])) continue;
    AGREE(c, "a name", offers(&c->s, threads, letters[name]), can_be(c, letters[name], NULL));
    for (size_t i = 0; i < c->u->n_children; i++) {
      struct threads next;
      const struct value *const child = c->u->children[i];
      read_property(&c->s, threads, letters[name], child, &next);
      AGREE(c, "a property", next.n > 0, can_be(c, letters[name], child));
      if (next.n == 0) continue;
      c->prefix.names[c->prefix.n] = letters[name];
      c->prefix.children[c->prefix.n++] = child;
      check_object(c, &next);
      c->prefix.n--;
    }
  }
}

static void check_array(struct check *c, const struct threads *threads) {
  const char *seen[MOST_CHILDREN];
  for (size_t i = 0; i < c->prefix.n; i++)
    seen[i] = c->prefix.children[i]->text;
  AGREE(c, "the array's end", array_ends(&c->s, threads), can_be(c, NULL, NULL));
  for (size_t i = 0; i < c->u->n_children && c->prefix.n < 3; i++) {
    struct threads next;
    const struct value *const child = c->u->children[i];
    read_item(&c->s, threads, seen, child, &next);
    AGREE(c, "an item", next.n > 0, can_be(c, NULL, child));
    if (next.n == 0) continue;
    c->prefix.children[c->prefix.n++] = child;
    check_array(c, &next);
    c->prefix.n--;
  }
}

/* `only`: f has no values beyond the universe. */
static void check_values(struct check *c, const struct tree *tree, tombola__formula f, bool only) {
  c->n_good = 0;
  for (size_t i = 0; i < c->u->n; i++) {
    c->good[i] = is(tree, &c->u->values[i]);
    c->n_good += c->good[i];
    const bool got = accepts(&c->s, f, &c->u->values[i]);
    if (c->s.status) return;
    if (got != c->good[i])
      fail_msg("formula %zu: %s: %d, should be %d", c->seed, c->u->values[i].text, got, c->good[i]);
  }
  if (c->n_good || (only && c->exact)) AGREE(c, "satisfiable", tombola__satisfiable(&c->s, f), c->n_good > 0);
}

static bool check_tree(struct check *c, const struct tree *tree) {
  const tombola__formula f = formula_of(&c->s, tree);
  c->f = bound(&c->s, f);
  const char *reason;
  tombola__explore(&c->s, c->f, &c->exact, &reason);
  check_store(&c->s);
  check_values(c, tree, f, false);
  check_store(&c->s);
  check_values(c, tree, c->f, true);
  check_store(&c->s);
  struct threads threads;
  c->prefix = (struct value){.type = TOMBOLA__OBJECT};
  start_objects(&c->s, c->f, &threads);
  if (c->exact) check_object(c, &threads);
  c->prefix = (struct value){.type = TOMBOLA__ARRAY};
  start_arrays(&c->s, c->f, &threads);
  if (c->exact) check_array(c, &threads);
  check_store(&c->s);
  return true;
}

static size_t random_trees(void) {
  return support_long() ? 6000 : 400;
}

static void test_random(void **state) {
  (void)state;
  size_t n = 0, inexact = 0, empty = 0;
  static struct check c;
  static struct trees r;
  r.rng = support_rng(1);
  const size_t all = random_trees();
  for (size_t i = 0; i < all; i++) {
    r.n = 0;
    const struct tree *const tree = random_tree(&r, 1, 2);
    memset(&c, 0, sizeof c);
    open_store(&c.s, TOMBOLA_ORDER_ANY);
    c.u = &flat;
    c.seed = i;
    if (check_tree(&c, tree)) {
      n++;
      inexact += !c.exact;
      empty += c.n_good == 0;
    }
    tombola__store_free(&c.s);
  }
  print_message("%zu formulas, %zu without a value, %zu not exact\n", n, empty, inexact);
  assert_true(n > all * 8 / 10 && empty > n / 20 && empty < n / 2 && inexact < n / 20);
}

/* Counts the objects of f that have choices, and those whose choices don't stand alone. */
static void count_choices(struct tombola__store *s, tombola__formula f, size_t *with, size_t *together) {
  const struct tombola__value *const v = tombola__value(s, f);
  for (size_t i = 0; v && i < v->n_objects; i++) {
    *with += v->objects[i]->n_choices > 0;
    for (size_t k = 0; k < v->objects[i]->n_choices; k++)
      *together += !v->objects[i]->choices[k].alone;
  }
}

/* Conditions that don't exclude each other, on the same few properties. */
static void test_conditions(void **state) {
  (void)state;
  size_t with = 0, together = 0, inexact = 0;
  static struct check c;
  static struct trees r;
  r.rng = support_rng(5);
  const size_t all = 2 * random_trees();
  for (size_t i = 0; i < all; i++) {
    r.n = 0;
    const struct tree *const tree = random_conditions(&r, i % 2);
    memset(&c, 0, sizeof c);
    open_store(&c.s, TOMBOLA_ORDER_ANY);
    c.u = &flat;
    c.seed = i;
    check_tree(&c, tree);
    inexact += !c.exact;
    count_choices(&c.s, c.f, &with, &together);
    tombola__store_free(&c.s);
  }
  print_message("%zu formulas, %zu objects with choices, %zu choices together, %zu not exact\n", all, with,
                together, inexact);
  assert_true(with > all / 2 && inexact < all / 20);
}

/* Arrays and objects of arrays and objects: which formulas have a value, and which values they have. */
static void test_nested(void **state) {
  (void)state;
  static struct check c;
  static struct trees r;
  r.rng = support_rng(2);
  tombola__formula children[16], parts[4];
  for (size_t i = 0; i < random_trees() / 2; i++) {
    r.n = 0;
    const struct tree *const tree = random_tree(&r, 2, 2);
    memset(&c, 0, sizeof c);
    open_store(&c.s, TOMBOLA_ORDER_ANY);
    c.u = &deep;
    c.seed = i;
    for (size_t k = 0; k < deep.n_children; k++)
      children[k] = tombola__equal_to(&c.s, deep.children[k]->text, strlen(deep.children[k]->text));
    const tombola__formula child = tombola__or(&c.s, children, deep.n_children);
    parts[0] = formula_of(&c.s, tree);
    const tombola__formula top[] = {
        tombola__types(&c.s, TOMBOLA__ALL_TYPES & ~(unsigned)TOMBOLA__FALSE_VALUE),
        tombola__text(&c.s, lang_of(&c.s, 3)), tombola__numeric(&c.s, numbers_of(&c.s, 3))};
    parts[1] = tombola__and(&c.s, top, 3);
    parts[2] = tombola__and2(&c.s, tombola__items(&c.s, 0, child), tombola__length(&c.s, 0, 2));
    parts[3] = tombola__and2(&c.s, tombola__keys(&c.s, lang_of(&c.s, 12), TOMBOLA__FALSE),
                             tombola__keys(&c.s, TOMBOLA__LANG_ALL, child));
    const tombola__formula f = tombola__and(&c.s, parts, 4);
    const char *reason;
    tombola__explore(&c.s, f, &c.exact, &reason);
    check_store(&c.s);
    check_values(&c, tree, parts[0], false);
    check_values(&c, tree, f, true);
    check_store(&c.s);
    tombola__store_free(&c.s);
  }
}

/* ---- the declared order ---- */

/* Whether every place that can be reached from here leads to an end; counts the ends. */
static bool leads_on(struct check *c, const struct threads *threads, size_t *ends) {
  bool good = object_ends(&c->s, threads);
  *ends += good;
  for (size_t name = 0; name < 3 && c->prefix.n < 3; name++) {
    if (property(&c->prefix, letters[name])) {
      assert_false(offers(&c->s, threads, letters[name]));
      continue;
    }
    bool any = false;
    for (size_t i = 0; i < c->u->n_children; i++) {
      struct threads next;
      read_property(&c->s, threads, letters[name], c->u->children[i], &next);
      if (next.n == 0) continue;
      any = good = true;
      c->prefix.names[c->prefix.n] = letters[name];
      c->prefix.children[c->prefix.n++] = c->u->children[i];
      if (!leads_on(c, &next, ends)) fail_msg("formula %zu: a dead end", c->seed);
      c->prefix.n--;
    }
    AGREE(c, "a name in order", offers(&c->s, threads, letters[name]), any);
  }
  return good;
}

/* In the declared order there is no dead end either, and no object has more than one order, but for undeclared names. */
static void test_order(void **state) {
  (void)state;
  static struct check c;
  static struct trees r;
  r.rng = support_rng(3);
  for (size_t i = 0; i < random_trees() / 2; i++) {
    r.n = 0;
    const struct tree *const tree = random_tree(&r, 1, 2);
    memset(&c, 0, sizeof c);
    open_store(&c.s, TOMBOLA_ORDER_DECLARED);
    c.u = &flat;
    c.seed = i;
    c.f = bound(&c.s, formula_of(&c.s, tree));
    const char *reason;
    tombola__explore(&c.s, c.f, &c.exact, &reason);
    struct threads threads;
    size_t ends = 0, objects = 0;
    for (size_t k = 0; k < flat.n; k++)
      objects += flat.values[k].type == TOMBOLA__OBJECT && is(tree, &flat.values[k]);
    check_store(&c.s);
    if (c.exact) {
      c.prefix = (struct value){.type = TOMBOLA__OBJECT};
      start_objects(&c.s, c.f, &threads);
      leads_on(&c, &threads, &ends);
      check_store(&c.s);
      assert_true(ends >= objects);
    }
    tombola__store_free(&c.s);
  }
}

static void make_universes(void) {
  static const struct value *children[16], *few[8];
  static struct value inner[4] = {{.type = TOMBOLA__ARRAY},
                                  {.type = TOMBOLA__ARRAY, .n = 1},
                                  {.type = TOMBOLA__OBJECT},
                                  {.type = TOMBOLA__OBJECT, .n = 1}};
  for (size_t i = 0; i < sizeof scalar_values / sizeof *scalar_values; i++)
    children[i] = &scalar_values[i];
  flat = (struct universe){.children = children, .n_children = 6, .longest = 3, .names = 3};
  make_universe(&flat);
  for (size_t i = 0; i < 4; i++) {
    inner[i].children[0] = &scalar_values[2];
    inner[i].names[0] = "a";
    write_text(&inner[i]);
    few[i] = &inner[i];
    few[4 + i] = &scalar_values[i == 3 ? 4 : i];
  }
  deep = (struct universe){.children = few, .n_children = 8, .longest = 2, .names = 2};
  make_universe(&deep);
}

int main(void) {
  make_universes();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random),
      cmocka_unit_test(test_conditions),
      cmocka_unit_test(test_nested),
      cmocka_unit_test(test_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
