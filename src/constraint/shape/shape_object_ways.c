/* SPDX-License-Identifier: Apache-2.0 */
/* An object as far as it is written: what may come next so that it can still be completed. */
#include <string.h>

#include "constraint/shape/shape_parts.h"

#define MOST_WORDS 1026  /* of bits of declared properties */
#define MOST_TRIES 20000 /* of ways to meet what is wanted */
#define TRY_WORK   50    /* steps that one such way is about worth */
#define MOST_SPLIT 8     /* wants that one property may or may not meet */

/* What is still open in a place. */
struct open {
  struct tombola__store *s;
  const struct tombola__object *o;
  struct tombola__object_state at;
  uint64_t extras; /* undeclared names that are left */
  size_t tries;
  size_t chosen_extras;
  uint64_t alive[MOST_WORDS];  /* declared properties that may still come */
  uint64_t needed[MOST_WORDS]; /* of them, those that must */
};

static size_t bits_in(uint64_t word) {
  size_t n = 0;
  for (; word; word &= word - 1)
    n++;
  return n;
}

static bool ordered(const struct tombola__store *s) {
  return s->order == TOMBOLA_ORDER_DECLARED;
}

/* Whether the properties that the schema gives an order are over. */
static bool order_is_over(const struct tombola__object *o, const struct tombola__object_state *at) {
  bool over = at->extras > 0;
  for (size_t w = 0; w < o->words; w++)
    over |= (at->seen[w] & o->unordered[w]) != 0;
  return over;
}

static uint32_t all_wants(const struct tombola__object_shape *shape) {
  return shape->n_wants == 32 ? UINT32_MAX : (UINT32_C(1) << shape->n_wants) - 1;
}

/* ---- what can be there, what must ---- */

static void find_alive(struct open *p) {
  const struct tombola__object *const o = p->o;
  const struct tombola__declared *const declared = o->shape.declared;
  const bool over = ordered(p->s) && order_is_over(o, &p->at);
  for (size_t w = 0; w < o->words; w++) {
    uint64_t word = o->possible[w] & ~p->at.seen[w];
    if (ordered(p->s))
      for (uint64_t left = word & ~o->unordered[w]; left; left &= left - 1) {
        const unsigned bit = tombola__lowest(left);
        if (over || declared[w * 64 + bit].order < p->at.last_order) word &= ~(UINT64_C(1) << bit);
      }
    p->alive[w] = word;
  }
  for (bool more = o->asking; more;) {
    more = false;
    for (size_t i = 0; i < o->shape.n_declared; i++)
      for (size_t k = 0; tombola__bit(p->alive, i) && k < declared[i].n_asks; k++) {
        const uint32_t other = declared[i].asks[k];
        if (tombola__bit(p->at.seen, other) || tombola__bit(p->alive, other)) continue;
        p->alive[i / 64] &= ~(UINT64_C(1) << i % 64);
        more = true;
      }
  }
}

/* Adds to `set` what its members, and those of `also`, ask for and isn't there. */
static void close_asks(const struct open *p, uint64_t *set, const uint64_t *also) {
  for (bool more = p->o->asking; more;) {
    more = false;
    for (size_t i = 0; i < p->o->shape.n_declared; i++) {
      const struct tombola__declared *const d = &p->o->shape.declared[i];
      if (d->n_asks == 0 || !(tombola__bit(set, i) || tombola__bit(also, i))) continue;
      for (size_t k = 0; k < d->n_asks; k++)
        if (!tombola__bit(p->at.seen, d->asks[k]) && !tombola__bit(set, d->asks[k])) {
          tombola__set_bit(set, d->asks[k]);
          more = true;
        }
    }
  }
}

/* False: something that must be there can't. */
static bool find_needed(struct open *p, size_t *count) {
  const struct tombola__object *const o = p->o;
  for (size_t w = 0; w < o->words; w++)
    p->needed[w] = o->required[w] & ~p->at.seen[w];
  close_asks(p, p->needed, p->at.seen);
  *count = 0;
  for (size_t w = 0; w < o->words; w++) {
    if (p->needed[w] & ~p->alive[w]) return false;
    *count += bits_in(p->needed[w]);
  }
  return true;
}

/* ---- wants ---- */

/* What one property must be to meet all of `set`. */
static tombola__formula value_of_wants(struct tombola__store *s, const struct tombola__object_shape *shape,
                                       uint32_t set) {
  tombola__formula value = TOMBOLA__TRUE;
  for (; set; set &= set - 1)
    value = tombola__and2(s, value, shape->wants[tombola__lowest(set)].value);
  return value;
}

/* Those of `set` that have the name. */
static uint32_t wants_of_name(struct tombola__store *s, const struct tombola__object_shape *shape,
                              uint32_t set, const char *name, size_t length) {
  uint32_t out = 0;
  for (; set; set &= set - 1)
    if (tombola__lang_matches(s, shape->wants[tombola__lowest(set)].keys, name, length)) out |= set & -set;
  return out;
}

/* Those of `set` that a property of this value meets whatever it is. */
static uint32_t met_anyway(struct tombola__store *s, const struct tombola__object_shape *shape,
                           tombola__formula value, uint32_t set) {
  uint32_t out = 0;
  value = tombola__and2(s, value, TOMBOLA__TRUE); /* as every AND is made: seen through, if it is LATER */
  for (; set; set &= set - 1)
    if (tombola__and2(s, value, shape->wants[tombola__lowest(set)].value) == value) out |= set & -set;
  return out;
}

/* Whether the search has gone on long enough: then it counts as successful, and as inexact. */
static bool spent(struct open *p) {
  tombola__store_work(p->s, TRY_WORK);
  if (++p->tries <= MOST_TRIES) return false;
  p->s->shapes->inexact = true;
  return true;
}

/* To meet more is never worse. So of the ways in which one property meets some of what is unmet, only the largest are
 * tried; `then` is asked with what is left. */
typedef bool (*then_fn)(struct open *p, uint64_t *chosen, uint32_t unmet);

/* An undeclared property that meets `set`. */
struct extra {
  uint32_t set;
  tombola__lang names;
  tombola__formula value;
};

/* The same that meets want i too; false: none can. */
static bool extended(struct open *p, const struct extra *extra, unsigned i, struct extra *out) {
  const struct tombola__key_group *const want = &p->o->shape.wants[i];
  out->set = extra->set | UINT32_C(1) << i;
  out->value = tombola__and2(p->s, extra->value, want->value);
  out->names = tombola__possible_names(p->s, &p->o->shape, tombola__lang_and(p->s, extra->names, want->keys),
                                       out->value);
  return out->names != TOMBOLA__LANG_NONE && !tombola__lang_is_none(p->s, out->names);
}

static bool is_largest(struct open *p, const struct extra *extra, uint32_t unmet) {
  struct extra larger;
  for (uint32_t others = unmet & ~extra->set; others; others &= others - 1)
    if (extended(p, extra, tombola__lowest(others), &larger)) return false;
  return true;
}

static bool with_extra(struct open *p, uint64_t *chosen, uint32_t unmet, const struct extra *extra,
                       uint32_t left, then_fn then) {
  struct extra more;
  if (spent(p)) return true;
  if (p->s->status) return false;
  if (left == 0) {
    if (!is_largest(p, extra, unmet)) return false;
    const uint64_t used = p->at.extras + p->chosen_extras;
    if (used && tombola__lang_count(p->s, extra->names, used + 1) <= used) p->s->shapes->inexact = true;
    p->chosen_extras++;
    const bool can = then(p, chosen, unmet & ~extra->set);
    p->chosen_extras--;
    return can;
  }
  const uint32_t rest = left & (left - 1);
  return (extended(p, extra, tombola__lowest(left), &more) &&
          with_extra(p, chosen, unmet, &more, rest, then)) ||
         with_extra(p, chosen, unmet, extra, rest, then);
}

/* Declared property i meets `first`, and perhaps others. */
static bool with_declared(struct open *p, uint64_t *chosen, uint32_t unmet, uint32_t first, size_t i,
                          then_fn then) {
  const struct tombola__object_shape *const shape = &p->o->shape;
  const struct tombola__declared *const d = &shape->declared[i];
  const uint32_t mine = wants_of_name(p->s, shape, unmet, d->name->text, d->name->length);
  if (!(mine & first)) return false;
  const uint32_t sure = met_anyway(p->s, shape, d->value, mine), may = mine & ~sure;
  uint32_t set = may;
  do {
    if (spent(p)) return true;
    const tombola__formula value = tombola__and2(p->s, d->value, value_of_wants(p->s, shape, set));
    if ((set | sure) & first && tombola__sat(p->s, value)) {
      tombola__set_bit(chosen, i);
      if (then(p, chosen, unmet & ~(set | sure))) return true;
      chosen[i / 64] &= ~(UINT64_C(1) << i % 64);
    }
    set = (set - 1) & may;
  } while (set != may && !p->s->status);
  return false;
}

static bool fits(const struct open *p, const uint64_t *chosen) {
  uint64_t all[MOST_WORDS];
  size_t count = p->at.count + p->chosen_extras;
  for (size_t w = 0; w < p->o->words; w++)
    all[w] = chosen[w] | p->needed[w];
  close_asks(p, all, p->at.seen);
  for (size_t w = 0; w < p->o->words; w++)
    count += bits_in(all[w]);
  return count <= p->o->shape.max;
}

/* Whether distinct properties can meet what is wanted, with all that is needed, within the size. */
static bool meet_wants(struct open *p, uint64_t *chosen, uint32_t unmet) {
  if (unmet == 0) return fits(p, chosen);
  const struct extra none = {.names = p->o->shape.extra, .value = TOMBOLA__TRUE};
  struct extra one;
  if (p->extras > p->chosen_extras && extended(p, &none, tombola__lowest(unmet), &one) &&
      with_extra(p, chosen, unmet, &one, unmet & (unmet - 1), meet_wants))
    return true;
  for (size_t i = 0; i < p->o->shape.n_declared && !p->s->status; i++)
    if (tombola__bit(p->alive, i) && !tombola__bit(chosen, i) &&
        with_declared(p, chosen, unmet, unmet & -unmet, i, meet_wants))
      return true;
  return false;
}

bool tombola__wants_split(struct tombola__store *s, const struct tombola__object_shape *shape) {
  const uint32_t all = all_wants(shape);
  uint32_t open = 0;
  for (uint32_t left = all; left; left &= left - 1) {
    const struct tombola__key_group *const want = &shape->wants[tombola__lowest(left)];
    if (want->value != TOMBOLA__TRUE &&
        !tombola__lang_is_none(s, tombola__lang_and(s, shape->extra, want->keys)))
      open |= left & -left;
  }
  size_t most = bits_in(open);
  for (size_t i = 0; i < shape->n_declared && !s->status; i++) {
    const struct tombola__declared *const d = &shape->declared[i];
    const uint32_t mine = wants_of_name(s, shape, all, d->name->text, d->name->length);
    const size_t n = bits_in(mine & ~met_anyway(s, shape, d->value, mine));
    if (n > most) most = n;
  }
  if (most <= MOST_SPLIT) return true;
  tombola__store_fail(s, TOMBOLA_OUT_OF_RANGE, "alternatives",
                      "a property that may meet more than %d conditions of which one must", MOST_SPLIT);
  return false;
}

/* ---- whether it can be completed ---- */

static bool completable(struct tombola__store *s, const struct tombola__object_state *at) {
  struct open p;
  p.s = s;
  p.o = tombola__object_of(at);
  p.at = *at;
  p.tries = p.chosen_extras = 0;
  p.extras = p.o->extra_count > at->extras ? p.o->extra_count - at->extras : 0;
  size_t needed, alive = 0;
  find_alive(&p);
  if (!find_needed(&p, &needed) || at->count + needed > p.o->shape.max) return false;
  for (size_t w = 0; w < p.o->words; w++)
    alive += bits_in(p.alive[w]);
  if (at->count + alive + p.extras < p.o->shape.min) return false;
  const uint32_t unmet = all_wants(&p.o->shape) & ~at->met;
  if (unmet == 0) return true;
  uint64_t chosen[MOST_WORDS];
  memset(chosen, 0, p.o->words * sizeof *chosen);
  return meet_wants(&p, chosen, unmet);
}

bool tombola__object_can_be(struct tombola__store *s, const struct tombola__object *o) {
  uint64_t none[MOST_WORDS];
  memset(none, 0, o->words * sizeof *none);
  return completable(s, &(struct tombola__object_state){.shape = &o->shape, .seen = none});
}

/* The place behind the property: `after` is where its bits go. */
static struct tombola__object_state behind(const struct tombola__object_state *at, uint32_t index,
                                           uint32_t met, uint64_t *after) {
  const struct tombola__object *const o = tombola__object_of(at);
  struct tombola__object_state next = *at;
  if (o->words) memcpy(after, at->seen, o->words * sizeof *after);
  next.seen = after;
  next.count++;
  next.met |= met;
  if (index == TOMBOLA__MANY) {
    next.extras++;
    return next;
  }
  tombola__set_bit(after, index);
  if (o->shape.declared[index].order != TOMBOLA__MANY) next.last_order = o->shape.declared[index].order + 1;
  return next;
}

/* ---- names ---- */

/* Of the names that have an order: clears those that would leave out a required one. Returns whether all required ones
 * are there. */
static bool keep_order(const struct tombola__object *o, const struct tombola__object_state *at,
                       uint64_t *names) {
  const struct tombola__declared *const declared = o->shape.declared;
  const bool over = order_is_over(o, at);
  uint32_t first = TOMBOLA__MANY; /* the first required one that isn't there */
  for (size_t w = 0; w < o->words; w++)
    for (uint64_t left = o->required[w] & ~at->seen[w] & ~o->unordered[w]; left; left &= left - 1) {
      const uint32_t order = declared[w * 64 + tombola__lowest(left)].order;
      if (order < first) first = order;
    }
  for (size_t w = 0; w < o->words; w++)
    for (uint64_t left = names[w]; left; left &= left - 1) {
      const unsigned bit = tombola__lowest(left);
      const uint32_t order = declared[w * 64 + bit].order;
      const bool good = order == TOMBOLA__MANY ? first == TOMBOLA__MANY
                                               : !over && order >= at->last_order && order <= first;
      if (!good) names[w] &= ~(UINT64_C(1) << bit);
    }
  return first == TOMBOLA__MANY;
}

struct found {
  bool any;
};

static void note(void *context, tombola__formula value, const void *more) {
  (void)value;
  (void)more;
  ((struct found *)context)->any = true;
}

/* Where the size leaves room for every name that may come and nothing is wanted any more, those are they that can have
 * what they ask for: each by itself is then as good as all. False: it has to be found out name by name. */
static bool keep_alive(struct tombola__store *s, const struct tombola__object_state *at, uint64_t *names) {
  struct open p;
  size_t needed, alive = 0;
  p.s = s;
  p.o = tombola__object_of(at);
  p.at = *at;
  if (ordered(s) || all_wants(&p.o->shape) & ~at->met) return false;
  find_alive(&p);
  for (size_t w = 0; w < p.o->words; w++)
    alive += bits_in(p.alive[w]);
  if (at->count + alive > p.o->shape.max || at->count + alive < p.o->shape.min) return false;
  if (!find_needed(&p, &needed)) return false;
  for (size_t w = 0; w < p.o->words; w++)
    names[w] &= p.alive[w];
  return true;
}

/* Clears the names after which the object can't be completed. */
static void keep_completable(struct tombola__store *s, const struct tombola__object_state *at,
                             uint64_t *names) {
  const struct tombola__object *const o = tombola__object_of(at);
  if (keep_alive(s, at, names)) return;
  for (size_t w = 0; w < o->words; w++)
    for (uint64_t left = names[w]; left && !s->status; left &= left - 1) {
      const unsigned bit = tombola__lowest(left);
      const struct tombola__name *const name = o->shape.declared[w * 64 + bit].name;
      struct found found = {false};
      tombola__object_ways(s, at, (uint32_t)(w * 64 + bit), name->text, name->length, note, &found);
      if (!found.any) names[w] &= ~(UINT64_C(1) << bit);
    }
}

static bool completes(struct open *p, uint64_t *chosen, uint32_t unmet) {
  (void)chosen;
  uint64_t after[MOST_WORDS];
  const uint32_t met = all_wants(&p->o->shape) & ~unmet;
  const struct tombola__object_state next = behind(&p->at, TOMBOLA__MANY, met, after);
  return completable(p->s, &next);
}

/* Whether some undeclared name can be completed, meeting some of what is wanted or nothing. */
static bool extra_completable(struct tombola__store *s, const struct tombola__object_state *at) {
  const struct tombola__object *const o = tombola__object_of(at);
  const uint32_t unmet = all_wants(&o->shape) & ~at->met;
  const struct extra none = {.names = o->shape.extra, .value = TOMBOLA__TRUE};
  struct open p;
  p.s = s;
  p.o = o;
  p.at = *at;
  p.extras = o->extra_count - at->extras;
  p.tries = p.chosen_extras = 0;
  return completes(&p, NULL, unmet) || (unmet && with_extra(&p, NULL, unmet, &none, unmet, completes));
}

bool tombola__object_names(struct tombola__store *s, const struct tombola__object_state *state,
                           uint64_t *names, bool *extra) {
  const struct tombola__object *const o = tombola__object_of(state);
  uint64_t any = 0;
  *extra = state->extras < o->extra_count;
  for (size_t w = 0; w < o->words; w++)
    any |= names[w] = o->possible[w] & ~state->seen[w];
  if (o->simple && !ordered(s)) {
    if (!o->shape.n_choices) return any || *extra;
    tombola__choices_names(s, state, names);
    any = 0;
    for (size_t w = 0; w < o->words; w++)
      any |= names[w];
    return any || *extra;
  }
  if (ordered(s) && !keep_order(o, state, names)) *extra = false;
  if (!o->simple || (o->shape.min > o->n_required && o->extra_count < TOMBOLA__MANY_NAMES)) {
    if (state->count >= o->shape.max) {
      memset(names, 0, o->words * sizeof *names);
      return *extra = false;
    }
    keep_completable(s, state, names);
    *extra = *extra && extra_completable(s, state);
  }
  any = 0;
  for (size_t w = 0; w < o->words; w++)
    any |= names[w];
  return any || *extra;
}

bool tombola__object_may_end(struct tombola__store *s, const struct tombola__object_state *state) {
  (void)s;
  const struct tombola__object *const o = tombola__object_of(state);
  const struct tombola__declared *const declared = o->shape.declared;
  if (state->count < o->shape.min || state->count > o->shape.max || (all_wants(&o->shape) & ~state->met))
    return false;
  for (size_t w = 0; w < o->words; w++)
    if (o->required[w] & ~state->seen[w]) return false;
  if (o->shape.n_choices) return tombola__choices_may_end(state);
  for (size_t i = 0; o->asking && i < o->shape.n_declared; i++)
    for (size_t k = 0; declared[i].n_asks && tombola__bit(state->seen, i) && k < declared[i].n_asks; k++)
      if (!tombola__bit(state->seen, declared[i].asks[k])) return false;
  return true;
}

/* ---- ways ---- */

/* Whether a property of this value meets more than `set` of `mine` anyway: then another way is the same, but better. */
static bool meets_more(struct tombola__store *s, const struct tombola__object_shape *shape,
                       tombola__formula value, uint32_t others) {
  for (; others; others &= others - 1)
    if (tombola__and2(s, value, shape->wants[tombola__lowest(others)].value) == value) return true;
  return false;
}

void tombola__object_ways(struct tombola__store *s, const struct tombola__object_state *state, uint32_t index,
                          const char *name, size_t length, tombola__way_fn visit, void *context) {
  const struct tombola__object *const o = tombola__object_of(state);
  const struct tombola__object_way nothing = {0, NULL};
  if (o->shape.n_choices && index != TOMBOLA__MANY) {
    tombola__choices_ways(s, state, index, visit, context);
    return;
  }
  const tombola__formula value = index == TOMBOLA__MANY ? tombola__group_value(s, &o->shape, name, length)
                                                        : o->shape.declared[index].value;
  /* In the declared order a name can leave out others, which a least number of properties may need. */
  if (o->simple && !(ordered(s) && o->shape.min > o->n_required)) {
    visit(context, value, &nothing);
    return;
  }
  if (index != TOMBOLA__MANY) {
    name = o->shape.declared[index].name->text;
    length = o->shape.declared[index].name->length;
  }
  const uint32_t unmet = all_wants(&o->shape) & ~state->met;
  const uint32_t mine = wants_of_name(s, &o->shape, unmet, name, length);
  const uint32_t sure = met_anyway(s, &o->shape, value, mine), may = mine & ~sure;
  uint64_t after[MOST_WORDS];
  uint32_t set = may;
  do {
    const tombola__formula both = tombola__and2(s, value, value_of_wants(s, &o->shape, set));
    const struct tombola__object_state next = behind(state, index, set | sure, after);
    if (!meets_more(s, &o->shape, both, may & ~set) && tombola__sat(s, both) && completable(s, &next))
      visit(context, both, &(struct tombola__object_way){set | sure, NULL});
    set = (set - 1) & may;
  } while (set != may && !s->status);
}
