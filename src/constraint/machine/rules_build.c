/* SPDX-License-Identifier: Apache-2.0 */
/* From rules as they are written to rules that can be read: what isn't recursive and has no tokens becomes languages, what has no finite
 * text goes, what may be empty is marked, and left recursion, with which reading from the left has no end, is refused.
 * No step of it recurses by the grammar: its size is the caller's. */
#include <string.h>

#include "constraint/machine/rules.h"

/* Rules that begin with each other in a row: reading recurses so deep. */
#define MOST_BEGINNINGS 1000

struct build {
  struct tombola__store *store;
  struct tombola__rules *rules;
  uint32_t *order;      /* rules, those that others use first */
  tombola__lang *langs; /* of the rules that aren't, and don't use one that is */
  bool *regular;
  bool *nullable;
};

static bool calls(const struct tombola__element *e) {
  return e->kind == TOMBOLA__ELEMENT_CALL || (e->kind == TOMBOLA__ELEMENT_REPEAT && e->max > 0);
}

/* ---- the order of the rules: Tarjan's strongly connected components (SIAM J. Comput. 1(2),
 * 1972), without recursion ---- */

struct components {
  uint32_t *index, *low; /* index: 0 for not yet seen */
  uint32_t *cursor;      /* the element that comes next */
  uint32_t *path, *open; /* stacks: of the search, of rules without a component yet */
  bool *is_open;
  uint32_t n_path, n_open, n_seen, n_order;
};

static void visit(struct build *b, struct components *c, uint32_t rule) {
  c->index[rule] = c->low[rule] = ++c->n_seen;
  c->cursor[rule] = b->rules->rules[rule].begin;
  c->path[c->n_path++] = rule;
  c->open[c->n_open++] = rule;
  c->is_open[rule] = true;
}

/* The rule's search has ended: closes its component when it is the first of it. */
static void leave(struct build *b, struct components *c, uint32_t rule) {
  c->n_path--;
  if (c->n_path) {
    const uint32_t caller = c->path[c->n_path - 1];
    if (c->low[rule] < c->low[caller]) c->low[caller] = c->low[rule];
  }
  if (c->low[rule] != c->index[rule]) return;
  uint32_t member;
  do {
    member = c->open[--c->n_open];
    c->is_open[member] = false;
    b->order[c->n_order++] = member;
  } while (member != rule);
}

static void search(struct build *b, struct components *c, uint32_t from) {
  const struct tombola__rules *const r = b->rules;
  visit(b, c, from);
  while (c->n_path) {
    const uint32_t rule = c->path[c->n_path - 1];
    if (c->cursor[rule] == r->rules[rule].end) {
      leave(b, c, rule);
      continue;
    }
    const struct tombola__element *const e = &r->elements[c->cursor[rule]++];
    if (!calls(e)) continue;
    if (!c->index[e->target])
      visit(b, c, e->target);
    else if (c->is_open[e->target] && c->index[e->target] < c->low[rule])
      c->low[rule] = c->index[e->target];
  }
}

static bool find_order(struct build *b) {
  struct tombola__store *const s = b->store;
  const uint32_t n = b->rules->n_rules;
  struct components c = {
      .index = tombola__store_take(s, n, sizeof *c.index),
      .low = tombola__store_take(s, n, sizeof *c.low),
      .cursor = tombola__store_take(s, n, sizeof *c.cursor),
      .path = tombola__store_take(s, n, sizeof *c.path),
      .open = tombola__store_take(s, n, sizeof *c.open),
      .is_open = tombola__store_take(s, n, sizeof *c.is_open),
  };
  b->order = tombola__store_take(s, n, sizeof *b->order);
  if (s->status) return false;
  for (uint32_t i = 0; i < n; i++)
    if (!c.index[i]) search(b, &c, i);
  return true;
}

/* ---- languages ---- */

/* The union, in halves: so that n languages cost n log n. */
static tombola__lang any_of(struct tombola__store *s, const tombola__lang *langs, size_t n) {
  if (n == 0) return TOMBOLA__LANG_NONE;
  if (n == 1) return langs[0];
  return tombola__lang_or(s, any_of(s, langs, n / 2), any_of(s, langs + n / 2, n - n / 2));
}

static tombola__lang element_lang(const struct build *b, const struct tombola__element *e) {
  switch (e->kind) {
  case TOMBOLA__ELEMENT_LANG: return e->target;
  case TOMBOLA__ELEMENT_CALL: return b->langs[e->target];
  default:
    return tombola__lang_repeat(b->store, e->max ? b->langs[e->target] : TOMBOLA__LANG_EMPTY, e->min, e->max);
  }
}

/* Elements begin to end (not included) in a row; in halves too. */
static tombola__lang row_of(const struct build *b, uint32_t begin, uint32_t end) {
  if (begin == end) return TOMBOLA__LANG_EMPTY;
  if (begin + 1 == end) return element_lang(b, &b->rules->elements[begin]);
  const uint32_t middle = begin + (end - begin) / 2;
  return tombola__lang_concat(b->store, row_of(b, begin, middle), row_of(b, middle, end));
}

static bool is_regular(const struct build *b, const struct tombola__element *e) {
  return e->kind != TOMBOLA__ELEMENT_TOKEN && (!calls(e) || b->regular[e->target]);
}

static uint32_t end_of(const struct tombola__rules *r, uint32_t position) {
  while (r->elements[position].kind != TOMBOLA__ELEMENT_END)
    position++;
  return position;
}

/* Gives a rule its language, when it has one: not when it has tokens, nor when it is recursive, for the first of a circle
 * uses one that has none yet. `langs` has room for its productions. */
static void find_lang(struct build *b, uint32_t rule, tombola__lang *langs) {
  const struct tombola__rules *const r = b->rules;
  const uint32_t begin = r->rules[rule].begin, end = r->rules[rule].end;
  for (uint32_t i = begin; i < end; i++)
    if (!is_regular(b, &r->elements[i])) return;
  size_t n = 0;
  for (uint32_t i = begin, stop; i < end; i = stop + 1) {
    stop = end_of(r, i);
    langs[n++] = row_of(b, i, stop);
  }
  b->langs[rule] = any_of(b->store, langs, n);
  b->regular[rule] = true;
}

static bool find_langs(struct build *b) {
  const uint32_t n = b->rules->n_rules;
  tombola__lang *const langs = tombola__store_take(b->store, b->rules->n_elements, sizeof *langs);
  b->langs = tombola__store_take(b->store, n, sizeof *b->langs);
  b->regular = tombola__store_take(b->store, n, sizeof *b->regular);
  if (b->store->status) return false;
  for (uint32_t i = 0; i < n && tombola__store_state(b->store); i++)
    find_lang(b, b->order[i], langs);
  return b->store->status == TOMBOLA_OK;
}

/* ---- elements again, shorter ---- */

struct output {
  struct tombola__element *elements;
  uint32_t n;
};

static void put_lang(struct output *out, tombola__lang lang) {
  if (lang != TOMBOLA__LANG_EMPTY)
    out->elements[out->n++] = (struct tombola__element){.kind = TOMBOLA__ELEMENT_LANG, .target = lang};
}

/* Makes two in a row that repeat the same rule into one: x{a,b} x{c,d} is x{a+c,b+d}. */
static bool join(struct tombola__element *e, const struct tombola__element *next) {
  const uint32_t most = TOMBOLA__LANG_UNBOUNDED - 1;
  if (e->kind != TOMBOLA__ELEMENT_REPEAT || next->kind != TOMBOLA__ELEMENT_REPEAT) return false;
  if (e->target != next->target || next->min > most - e->min) return false;
  const bool unbounded = e->max > most || next->max > most;
  if (!unbounded && next->max > most - e->max) return false;
  e->min += next->min;
  e->max = unbounded ? TOMBOLA__LANG_UNBOUNDED : e->max + next->max;
  return true;
}

/* A production: regular elements in a row become one. */
static void put_production(const struct build *b, struct output *out, uint32_t begin, uint32_t end) {
  const struct tombola__element *const elements = b->rules->elements;
  const uint32_t first = out->n;
  for (uint32_t i = begin, from; i < end; i++) {
    for (from = i; i < end && is_regular(b, &elements[i]); i++) {
    }
    if (from < i) put_lang(out, row_of(b, from, i));
    if (i == end) break;
    struct tombola__element e = elements[i];
    if (e.kind == TOMBOLA__ELEMENT_REPEAT && e.min == 1 && e.max == 1) e.kind = TOMBOLA__ELEMENT_CALL;
    if (out->n == first || !join(&out->elements[out->n - 1], &e)) out->elements[out->n++] = e;
  }
  out->elements[out->n++] = (struct tombola__element){.kind = TOMBOLA__ELEMENT_END};
}

static void put_rule(struct build *b, struct output *out, uint32_t index, tombola__lang *langs) {
  struct tombola__rule *const rule = &b->rules->rules[index];
  const uint32_t begin = out->n;
  size_t n = 0;
  if (b->regular[index])
    langs[n++] = b->langs[index];
  else
    for (uint32_t i = rule->begin, stop; i < rule->end; i = stop + 1) {
      stop = end_of(b->rules, i);
      uint32_t plain = i;
      while (plain < stop && is_regular(b, &b->rules->elements[plain]))
        plain++;
      if (plain == stop)
        langs[n++] = row_of(b, i, stop);
      else
        put_production(b, out, i, stop);
    }
  if (n) {
    put_lang(out, any_of(b->store, langs, n));
    out->elements[out->n++] = (struct tombola__element){.kind = TOMBOLA__ELEMENT_END};
  }
  rule->begin = begin;
  rule->end = out->n;
}

static bool shorten(struct build *b) {
  struct tombola__rules *const r = b->rules;
  const size_t room = (size_t)r->n_elements + 2 * (size_t)r->n_rules;
  struct output out = {.elements = tombola__store_take(b->store, room, sizeof *out.elements)};
  tombola__lang *const langs = tombola__store_take(b->store, r->n_elements, sizeof *langs);
  if (b->store->status) return false;
  for (uint32_t i = 0; i < r->n_rules; i++)
    put_rule(b, &out, i, langs);
  r->elements = out.elements;
  r->n_elements = out.n;
  return b->store->status == TOMBOLA_OK;
}

/* ---- which rules have a property that is theirs when all elements of one of their productions have it ---- */

struct marking {
  uint32_t *head, *next; /* elements by the rule that they wait for: index + 1 */
  uint32_t *stop;        /* the END of an element's production */
  uint32_t *missing;     /* by END: elements that don't have it yet */
  uint32_t *rule;        /* by END */
  uint32_t *queue;
  uint32_t n_queue;
  bool *marks;
};

static void mark(struct marking *m, uint32_t rule) {
  if (m->marks[rule]) return;
  m->marks[rule] = true;
  m->queue[m->n_queue++] = rule;
}

typedef bool (*has_fn)(struct tombola__store *s, const struct tombola__element *e);

static void prepare(struct build *b, struct marking *m, has_fn has) {
  const struct tombola__rules *const r = b->rules;
  for (uint32_t i = 0; i < r->n_rules; i++)
    for (uint32_t k = r->rules[i].end, stop = 0; k-- > r->rules[i].begin;) {
      const struct tombola__element *const e = &r->elements[k];
      if (e->kind == TOMBOLA__ELEMENT_END) m->rule[stop = k] = i;
      m->stop[k] = stop;
      if (e->kind == TOMBOLA__ELEMENT_END || has(b->store, e)) continue;
      m->missing[stop]++;
      if (e->kind == TOMBOLA__ELEMENT_LANG || e->kind == TOMBOLA__ELEMENT_TOKEN) continue; /* never will */
      m->next[k] = m->head[e->target];
      m->head[e->target] = k + 1;
    }
  for (uint32_t i = 0; i < r->n_rules; i++)
    for (uint32_t k = r->rules[i].begin; k < r->rules[i].end; k++)
      if (r->elements[k].kind == TOMBOLA__ELEMENT_END && m->missing[k] == 0) mark(m, i);
}

/* By rule; NULL after a failure. */
static bool *marked(struct build *b, has_fn has) {
  struct tombola__store *const s = b->store;
  const uint32_t n = b->rules->n_elements, n_rules = b->rules->n_rules;
  struct marking m = {
      .head = tombola__store_take(s, n_rules, sizeof *m.head),
      .next = tombola__store_take(s, n, sizeof *m.next),
      .stop = tombola__store_take(s, n, sizeof *m.stop),
      .missing = tombola__store_take(s, n, sizeof *m.missing),
      .rule = tombola__store_take(s, n, sizeof *m.rule),
      .queue = tombola__store_take(s, n_rules, sizeof *m.queue),
      .marks = tombola__store_take(s, n_rules, sizeof *m.marks),
  };
  if (s->status) return NULL;
  prepare(b, &m, has);
  for (uint32_t i = 0; i < m.n_queue; i++)
    for (uint32_t k = m.head[m.queue[i]]; k; k = m.next[k - 1])
      if (--m.missing[m.stop[k - 1]] == 0) mark(&m, m.rule[m.stop[k - 1]]);
  return s->status ? NULL : m.marks;
}

static bool may_be_empty(struct tombola__store *s, const struct tombola__element *e) {
  return e->kind == TOMBOLA__ELEMENT_LANG ? tombola__lang_accepts_empty(s, e->target)
                                          : e->kind == TOMBOLA__ELEMENT_REPEAT && e->min == 0;
}

static bool has_text(struct tombola__store *s, const struct tombola__element *e) {
  if (e->kind == TOMBOLA__ELEMENT_LANG) return !tombola__lang_is_none(s, e->target);
  return e->kind == TOMBOLA__ELEMENT_TOKEN || (e->kind == TOMBOLA__ELEMENT_REPEAT && e->min == 0);
}

static bool find_nullable(struct build *b) {
  if (!(b->nullable = marked(b, may_be_empty))) return false;
  b->rules->nullable = b->nullable[b->rules->root];
  for (uint32_t i = 0; i < b->rules->n_elements; i++) {
    struct tombola__element *const e = &b->rules->elements[i];
    if (e->kind == TOMBOLA__ELEMENT_END) continue;
    if (e->kind == TOMBOLA__ELEMENT_REPEAT && b->nullable[e->target]) e->min = 0;
    e->nullable = may_be_empty(b->store, e) || (calls(e) && b->nullable[e->target]);
  }
  return true;
}

/* ---- left recursion ---- */

struct descent {
  uint32_t *cursor; /* the element that comes next; 0: not begun, else index + 1 */
  uint32_t *path;
  uint32_t *height; /* rules that begin with each other from here on */
  bool *on_path;
  uint32_t n_path;
};

/* The next rule that the one may begin with, behind its cursor; false: there is none. */
static bool next_beginning(const struct build *b, struct descent *d, uint32_t rule, uint32_t *out) {
  const struct tombola__rules *const r = b->rules;
  for (uint32_t k = d->cursor[rule] - 1; k < r->rules[rule].end;) {
    const struct tombola__element *const e = &r->elements[k];
    const bool over = e->kind == TOMBOLA__ELEMENT_END || !e->nullable;
    k = over ? end_of(r, k) + 1 : k + 1;
    if (!calls(e)) continue;
    *out = e->target;
    d->cursor[rule] = k + 1;
    return true;
  }
  d->cursor[rule] = r->rules[rule].end + 1;
  return false;
}

/* `rule` is on the path, so that it begins with itself. Names one of the circle that has a name: a group is only
 * within one that has. */
static void refuse_circle(struct build *b, const struct descent *d, uint32_t rule) {
  const struct tombola__rule *named = &b->rules->rules[rule];
  for (uint32_t i = d->n_path; i-- > 0 && !named->name_length;)
    named = &b->rules->rules[d->path[i]];
  tombola__store_fail(b->store, TOMBOLA_UNSUPPORTED, "grammar",
                      "left recursion: the rule %.*s begins with itself",
                      (int)(named->name_length < 100 ? named->name_length : 100), named->name);
  b->store->error.offset = named->offset;
}

static void go_down(const struct build *b, struct descent *d, uint32_t rule) {
  d->path[d->n_path++] = rule;
  d->on_path[rule] = true;
  d->cursor[rule] = b->rules->rules[rule].begin + 1;
}

static void go_up(struct build *b, struct descent *d, uint32_t rule, uint32_t height) {
  d->n_path--;
  d->on_path[rule] = false;
  d->height[rule] = height;
  if (height > MOST_BEGINNINGS)
    tombola__store_fail(b->store, TOMBOLA_OUT_OF_RANGE, "grammar",
                        "more than %d rules begin with each other in a row", MOST_BEGINNINGS);
}

static void descend(struct build *b, struct descent *d, uint32_t from) {
  uint32_t target;
  go_down(b, d, from);
  while (d->n_path && !b->store->status) {
    const uint32_t rule = d->path[d->n_path - 1];
    if (!next_beginning(b, d, rule, &target)) {
      go_up(b, d, rule, d->height[rule] + 1);
      target = rule; /* now the caller's to count */
      if (!d->n_path) return;
    } else if (!d->cursor[target]) {
      go_down(b, d, target);
      continue;
    } else if (d->on_path[target]) {
      refuse_circle(b, d, target);
      return;
    }
    uint32_t *const height = &d->height[d->path[d->n_path - 1]];
    if (d->height[target] > *height) *height = d->height[target];
  }
}

static bool check_beginnings(struct build *b) {
  struct tombola__store *const s = b->store;
  const uint32_t n = b->rules->n_rules;
  struct descent d = {
      .cursor = tombola__store_take(s, n, sizeof *d.cursor),
      .path = tombola__store_take(s, n, sizeof *d.path),
      .height = tombola__store_take(s, n, sizeof *d.height),
      .on_path = tombola__store_take(s, n, sizeof *d.on_path),
  };
  for (uint32_t i = 0; i < n && !s->status; i++)
    if (!d.cursor[i]) descend(b, &d, i);
  return s->status == TOMBOLA_OK;
}

/* ---- what has no finite text ---- */

/* Takes out productions without a text, and elements that can only be repeated no times; finds where productions
 * begin. */
static bool prune(struct build *b) {
  struct tombola__rules *const r = b->rules;
  const bool *const good = marked(b, has_text);
  if (!good || !(r->starts = tombola__store_take(b->store, r->n_elements, sizeof *r->starts))) return false;
  uint32_t to = 0, n_starts = 0;
  for (uint32_t i = 0; i < r->n_rules; i++) {
    struct tombola__rule *const rule = &r->rules[i];
    const uint32_t end = rule->end;
    uint32_t begin = to, k = rule->begin;
    rule->begin = to;
    rule->first = n_starts;
    for (; k < end; k++) {
      const struct tombola__element e = r->elements[k];
      if (calls(&e) ? good[e.target] : e.kind == TOMBOLA__ELEMENT_END || has_text(b->store, &e))
        r->elements[to++] = e;
      else if (e.kind != TOMBOLA__ELEMENT_REPEAT || e.min > 0) {
        to = begin; /* the production goes */
        k = end_of(r, k);
        continue;
      }
      if (e.kind != TOMBOLA__ELEMENT_END) continue;
      r->starts[n_starts++] = begin;
      begin = to;
    }
    rule->end = to;
    rule->n = n_starts - rule->first;
  }
  r->n_elements = to;
  if (!good[r->root])
    tombola__store_fail(b->store, TOMBOLA_NO_CANDIDATE, "grammar", "no text at all fits the grammar%s%s%s",
                        b->store->hint[0] ? " (" : "", b->store->hint, b->store->hint[0] ? ")" : "");
  return b->store->status == TOMBOLA_OK;
}

const struct tombola__rules *tombola__rules_build(struct tombola__store *s, struct tombola__rules *parsed) {
  struct build b = {.store = s, .rules = tombola__store_take(s, 1, sizeof *b.rules)};
  if (!b.rules) return NULL;
  *b.rules = *parsed;
  if (!find_order(&b) || !find_langs(&b) || !shorten(&b) || !find_nullable(&b) || !check_beginnings(&b) ||
      !prune(&b))
    return NULL;
  return b.rules;
}

const struct tombola__rules *tombola__rules_of(struct tombola__store *s, tombola__lang lang) {
  struct tombola__rules parsed = {.elements = tombola__store_take(s, 2, sizeof *parsed.elements),
                                  .rules = tombola__store_take(s, 1, sizeof *parsed.rules),
                                  .n_elements = 2,
                                  .n_rules = 1};
  if (s->status) return NULL;
  parsed.elements[0] = (struct tombola__element){.kind = TOMBOLA__ELEMENT_LANG, .target = lang};
  parsed.rules[0] = (struct tombola__rule){.name = "", .defined = true, .end = 2};
  return tombola__rules_build(s, &parsed);
}
