/* SPDX-License-Identifier: Apache-2.0 */
/* The draw by dual-pivot rejection (FlashInfer's, as mlxcel's kernel runs it): instead of ranking the
 * candidates to find what top_k and top_p keep, a token is drawn, and the two tests are made for it alone. If
 * it fails, the next round draws from what is above it, or from what is above a second pivot if that fails
 * too; the second pivot halves the distance between the bit patterns of the bounds, so that 31 rounds are
 * enough and 32 are never passed.
 *
 * A token fails when top_k or more tokens are above it, or when the mass above it is too much. "Above" is a
 * larger weight; between equal weights the lower id, where a dialect cuts between equals. The weights of the
 * tests are those before the temperature where the temperature comes after them, so there are two rows: p for
 * the tests and d for the draw. Accepted tokens have the law of d over what passes, whatever the rounds. */
#include <math.h>
#include <string.h>

#include "internal.h"

#define MAX_ROUNDS 32

struct place {
  float weight;
  tombola_token id;
};

/* What is above a place: with a larger weight, and with the same weight and a lower id. */
struct above {
  size_t count, tie_count;
  double mass, tie_mass;
};

struct rejection {
  const struct tombola__candidates *c;
  const struct tombola__rejection *rule;
  float filter_scale;
  double total;     /* of p */
  struct place low; /* what is above it may still be drawn */
  float high;
};

/* Up to 64 candidates with their two weights. */
struct stretch {
  size_t n, first;
  float p[TOMBOLA__BLOCK], d[TOMBOLA__BLOCK];
};

static float weight_of(const struct tombola__candidates *c, float logit, float scale) {
  return tombola__exp((logit - c->max) * scale);
}

static tombola_token id_of(const struct rejection *r, const struct stretch *s, size_t i) {
  return tombola__candidates_id(r->c, s->first + i);
}

/* Loads the stretch at *first, going on to the next one; false at the end. Blocks of a dense set whose best
 * weight is below `low` are left out; the margin is for an exponential that needn't be monotonic in its last
 * bit. */
static bool next_stretch(const struct rejection *r, size_t *first, float low, struct stretch *s) {
  const struct tombola__candidates *c = r->c;
  float room[TOMBOLA__BLOCK];
  const float *logits = room;
  while (c->dense && *first < tombola__candidates_span(c) &&
         weight_of(c, c->maxima[*first / TOMBOLA__BLOCK], r->filter_scale) < low * 0.9999f)
    *first += TOMBOLA__BLOCK;
  if (*first >= tombola__candidates_span(c)) return false;
  s->first = *first;
  s->n = TOMBOLA__BLOCK;
  if (c->dense) {
    logits = tombola__candidates_block(c, *first / TOMBOLA__BLOCK, room);
  } else {
    if (c->count - *first < s->n) s->n = c->count - *first;
    for (size_t i = 0; i < TOMBOLA__BLOCK; i++)
      room[i] = i < s->n ? c->list[*first + i].logit : -INFINITY;
  }
  c->kernels->expsum64(logits, c->max, c->scale, s->d);
  if (r->filter_scale == c->scale)
    memcpy(s->p, s->d, sizeof s->p);
  else
    c->kernels->expsum64(logits, c->max, r->filter_scale, s->p);
  *first += s->n;
  return true;
}

/* ---- the tests ---- */

static bool is_above(float weight, tombola_token id, struct place place) {
  return weight > place.weight || (weight == place.weight && id < place.id);
}

static struct above look_above(const struct rejection *r, struct place place) {
  struct above a = {0};
  struct stretch s;
  for (size_t first = 0; next_stretch(r, &first, place.weight, &s);) {
    for (size_t i = 0; i < s.n; i++) {
      if (s.p[i] > place.weight) {
        a.count++;
        a.mass += (double)s.p[i];
      } else if (s.p[i] == place.weight && s.p[i] > 0 && id_of(r, &s, i) < place.id) {
        a.tie_count++;
        a.tie_mass += (double)s.p[i];
      }
    }
  }
  return a;
}

static bool fails(const struct rejection *r, const struct above *a) {
  const struct tombola__rejection *rule = r->rule;
  size_t count = a->count + (rule->k_ties ? 0 : a->tie_count);
  double mass = a->mass + (rule->p_ties ? 0 : a->tie_mass), target = rule->p * r->total;
  if (mass <= 0) return false; /* the best one stays, whatever the numbers say */
  if (rule->k && count >= rule->k) return true;
  return rule->p < 1 && (rule->p_exceeds ? mass > target : mass >= target);
}

/* The total of p, and the least weight that min_p lets through. */
static struct rejection begin(const struct tombola_sampler *sampler) {
  struct rejection r = {.c = &sampler->candidates,
                        .rule = &sampler->plan->rejection,
                        .filter_scale =
                            sampler->plan->rejection.on ? sampler->filter_scale : sampler->candidates.scale,
                        .high = 1};
  struct stretch s;
  for (size_t first = 0; next_stretch(&r, &first, 0, &s);)
    for (size_t i = 0; i < s.n; i++)
      r.total += (double)s.p[i];
  if (r.rule->min_p > 0) r.low.weight = nextafterf(r.rule->min_p, 0);
  return r;
}

/* ---- the draw ---- */

static double mass_left(const struct rejection *r) {
  double mass = 0;
  struct stretch s;
  for (size_t first = 0; next_stretch(r, &first, r->low.weight, &s);)
    for (size_t i = 0; i < s.n; i++)
      if (is_above(s.p[i], id_of(r, &s, i), r->low)) mass += (double)s.d[i];
  return mass;
}

/* The first whose running sum passes the target; otherwise the best. */
static struct place pick(const struct rejection *r, double target, struct place best) {
  double sum = 0;
  struct stretch s;
  for (size_t first = 0; next_stretch(r, &first, r->low.weight, &s);) {
    for (size_t i = 0; i < s.n; i++) {
      tombola_token id = id_of(r, &s, i);
      if (!is_above(s.p[i], id, r->low)) continue;
      sum += (double)s.d[i];
      if (sum > target) return (struct place){s.p[i], id};
    }
  }
  return best;
}

static struct place best_of(const struct rejection *r) {
  struct place best = {-1, TOMBOLA_NO_TOKEN};
  struct stretch s;
  for (size_t first = 0; next_stretch(r, &first, 1, &s);)
    for (size_t i = 0; i < s.n; i++)
      if (s.p[i] > best.weight || (s.p[i] == best.weight && id_of(r, &s, i) < best.id))
        best = (struct place){s.p[i], id_of(r, &s, i)};
  return best;
}

/* Half way between two weights in their bit patterns: weights are in [0, 1], so the patterns rise with them.
 */
static float between(float low, float high) {
  uint32_t a, b;
  memcpy(&a, &low, sizeof a);
  memcpy(&b, &high, sizeof b);
  a += (b - a) / 2;
  memcpy(&low, &a, sizeof low);
  return low;
}

/* One round; true when the candidate is accepted. */
static bool accepts(struct rejection *r, struct place candidate) {
  struct above above = look_above(r, candidate);
  if (!fails(r, &above)) return true;
  float top = r->high > candidate.weight ? r->high : candidate.weight;
  struct place pivot = {between(candidate.weight, top), 0};
  above = look_above(r, pivot);
  if (fails(r, &above)) {
    r->low = pivot;
  } else {
    r->low = candidate;
    r->high = pivot.weight;
  }
  return false;
}

enum tombola_status tombola__draw_rejection(struct tombola_sampler *sampler, tombola_token *token) {
  enum tombola_status status = tombola__candidates_index(&sampler->candidates);
  if (status) return status;
  struct tombola__noise_key key;
  sampler->plan->dialect->generator->key(sampler->state, &key);
  struct rejection r = begin(sampler);
  struct place best = best_of(&r), candidate = best;
  bool accepted = false;
  size_t round = 0;
  while (!accepted && round < MAX_ROUNDS) {
    double u = (double)tombola__noise_philox.uniform(tombola__noise_philox.word(&key, 0, 4 * round++));
    candidate = pick(&r, u * mass_left(&r), best);
    accepted = accepts(&r, candidate);
  }
  sampler->counts.draws++;
  sampler->counts.rounds += round;
  sampler->counts.exhausted += !accepted;
  if (round > sampler->counts.most) sampler->counts.most = round;
  *token = accepted ? candidate.id : best.id;
  return TOMBOLA_OK;
}

/* ---- what may be drawn, for those who only look ---- */

/* The least weight that passes as the first of its equals, found by halving. */
static float find_cut(const struct rejection *r, struct above *above) {
  uint32_t low = 0, high = 0x3F800000u; /* 1: the best, which passes */
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    struct place place = {0, 0};
    memcpy(&place.weight, &middle, sizeof place.weight);
    struct above a = look_above(r, place);
    if (fails(r, &a))
      low = middle;
    else
      high = middle;
  }
  float cut;
  memcpy(&cut, &high, sizeof cut);
  *above = look_above(r, (struct place){cut, 0});
  return cut;
}

enum tombola_status tombola__rejection_support(struct tombola_sampler *sampler) {
  struct tombola__candidates *c = &sampler->candidates;
  if (!sampler->plan->rejection.on) return TOMBOLA_OK;
  enum tombola_status status = tombola__candidates_list(c, false);
  if (!status) status = tombola__candidates_index(c);
  if (status) return status;
  if (c->order != TOMBOLA__BY_ID) tombola__entries_by_id(c->list, c->count);
  c->order = TOMBOLA__BY_ID;
  struct rejection r = begin(sampler);
  struct above above;
  float cut = find_cut(&r, &above);
  size_t kept = 0;
  for (size_t i = 0; i < c->count; i++) {
    float weight = weight_of(c, c->list[i].logit, r.filter_scale);
    if (weight < cut || weight < r.rule->min_p || (weight == cut && fails(&r, &above))) continue;
    if (weight == cut) {
      above.tie_count++;
      above.tie_mass += (double)weight;
    }
    c->list[kept++] = c->list[i];
  }
  c->count = kept;
  c->indexed = c->summed = false;
  return TOMBOLA_OK;
}

/* ---- the plan ---- */

/* Which keeps the draw can make: those at the end of the chain, when their rules are tests of this kind. Two
 * at once are judged over the whole row, and equal weights share their fate, in a dialect whose engine has
 * this draw (mlxcel's kernel); a dialect that takes the mass of top_p from what top_k left keeps its own
 * stages, and the draw is over what they leave. */
void tombola__rejection_plan(struct tombola__plan *plan) {
  const struct tombola_sampler_params *params = &plan->params;
  const struct tombola__dialect *dialect = plan->dialect;
  plan->rejection = (struct tombola__rejection){.p = 1}; /* no test: what is drawn first is accepted */
  if (params->draw != TOMBOLA_DRAW_REJECTION || plan->greedy) return;
  if (params->min_keep > 1 || params->dynatemp_range > 0) return;
  struct tombola__link *k = NULL, *p = NULL, *m = NULL;
  bool tempered = false; /* keeps stand behind a temperature: those before it have other weights, and stay */
  for (size_t i = plan->n_chain; i-- > 0;) {
    struct tombola__link *link = &plan->chain[i];
    if (!link->active) continue;
    if (link->stage == &tombola__stage_temperature) {
      tempered = k || p || m;
      continue;
    }
    if (tempered) break;
    if (link->stage == &tombola__stage_top_k)
      k = link;
    else if (link->stage == &tombola__stage_top_p)
      p = link;
    else if (link->stage == &tombola__stage_min_p)
      m = link;
    else
      break;
  }
  bool apart = k && p && !dialect->rejection_joint;
  bool early = m && p && m < p && !dialect->rejection_joint;
  if (apart || early || !(k || p || m)) return;
  plan->rejection = (struct tombola__rejection){.on = true,
                                                .k = k ? (size_t)params->top_k : 0,
                                                .p = p ? (double)params->top_p : 1,
                                                .min_p = m ? params->min_p : 0,
                                                .k_ties = dialect->top_k_ties || dialect->rejection_joint,
                                                .p_ties = dialect->top_p_ties || dialect->rejection_joint,
                                                .p_exceeds = dialect->top_p_exceeds};
  if (k) k->in_draw = true;
  if (p) p->in_draw = true;
  if (m) m->in_draw = true;
}
