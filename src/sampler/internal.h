/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the sampler: candidates, history, stages and dialects.
 *
 * The path of one token: a chain of stages works on the candidates, then one draw picks from what is left. A
 * stage never touches the row; it asks the candidates to edit, to keep or to scale. */
#ifndef TOMBOLA_SAMPLER_INTERNAL_H
#define TOMBOLA_SAMPLER_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <tombola/sampler.h>
#include <tombola/stage.h>

#include "../base/base.h"
#include "../kernels/kernels.h"
#include "../random/random.h"

/* ---- the short list (entries.c) ---- */

/* Sorts into the total order: logit descending, id ascending (-0 equals 0). In place, no allocation. */
void tombola__entries_rank(struct tombola__entry *entries, size_t count);
/* Sorts by id. */
void tombola__entries_by_id(struct tombola__entry *entries, size_t count);
/* Moves the k best of the total order to the front, in no order; k <= count. */
void tombola__entries_select(struct tombola__entry *entries, size_t count, size_t k);

/* Deals entries into buckets that follow each other in the ranking: bucket k is [begin[k], begin[k + 1]). Within a
 * bucket they have no order. */
#define TOMBOLA__DEALT 256
void tombola__entries_deal(struct tombola__entry *entries, size_t count, size_t begin[TOMBOLA__DEALT + 1]);

/* Natural logarithm of x > 0 from exact operations only, so that it is the same on every machine; within
 * 1e-15. */
double tombola__log(double x);
/* x to the power y for x > 0, from exact operations too; 0 for other x, +inf when it is too large. */
double tombola__power(double x, double y);

/* ---- candidates (candidates.c, mass.c) ---- */

enum tombola__order {
  TOMBOLA__BY_ID,    /* ids ascending */
  TOMBOLA__BY_RANK,  /* logit descending, id ascending */
  TOMBOLA__BY_CHANCE /* neither: an edit has changed logits of a ranked list */
};

/* The tokens that are still in play. Dense: the row (and the mask), read through the block index, with
 * private copies of the blocks that were edited. Sparse, once something selected: a short list. Logits are
 * kept as they came; what a temperature does is `scale`: the effective logit is logit * scale. */
struct tombola__candidates {
  const struct tombola__kernels *kernels;
  struct tombola_allocator allocator;
  size_t vocab_size;
  size_t n_blocks;

  struct tombola_row row;
  const uint32_t *mask;
  const tombola_token *ids; /* the tokens that the mask allows, where it lists them */
  size_t n_ids;
  bool dense;
  bool indexed; /* maxima and max are valid */
  bool ranked;  /* dense, but a draw that walks the candidates as they lie walks the ranking */
  float floor;   /* dense: logits (not scaled) below it are out; -FLT_MAX: none is. Private copies lack them. */
  size_t split;  /* dense: in blocks after this one, logits equal to the floor are out too; n_blocks: in none */
  float scale;
  float max;     /* the largest logit (not scaled) */
  float *maxima; /* n_blocks */

  bool summed;  /* sums and total are valid for the present max and scale */
  double total; /* sum of exp((logit - max) * scale) over all candidates */
  float *sums;  /* n_blocks; made at the first need */

  uint32_t *slot_of; /* n_blocks: 1 + the slot of a block's private copy, 0 when it has none; made with the first */
  float (*blocks)[TOMBOLA__BLOCK];
  uint32_t *block_of; /* slot -> block */
  size_t n_slots, slot_capacity;

  struct tombola__entry *list;
  size_t count, capacity;
  enum tombola__order order;
};

/* 1 + the slot of a block's private copy, 0 when it has none. */
static inline size_t tombola__slot(const struct tombola__candidates *c, size_t block) {
  return c->n_slots ? c->slot_of[block] : 0;
}

enum tombola_status tombola__candidates_init(struct tombola__candidates *c,
                                             const struct tombola__kernels *kernels,
                                             const struct tombola_allocator *allocator, size_t vocab_size,
                                             size_t max_edits);
void tombola__candidates_free(struct tombola__candidates *c);
size_t tombola__candidates_memory(const struct tombola__candidates *c);

/* Starts with a row; nothing is read yet. */
void tombola__candidates_begin(struct tombola__candidates *c, const struct tombola_row *row,
                               const struct tombola_mask *mask);

/* Changes the effective logits of n distinct ids; those that are no candidates stay so. */
typedef float (*tombola__edit_fn)(const void *context, size_t index, float logit);
enum tombola_status tombola__candidates_edit(struct tombola__candidates *c, const tombola_token *ids,
                                             size_t n, tombola__edit_fn edit, const void *context);

/* Makes `max` valid. NOT_FINITE, NO_CANDIDATE. Everything below does this by itself. */
enum tombola_status tombola__candidates_index(struct tombola__candidates *c);

/* Multiplies the effective logits. */
void tombola__candidates_scale(struct tombola__candidates *c, float factor);

/* Keeps the best candidate (lowest id of equals). */
enum tombola_status tombola__candidates_keep_best(struct tombola__candidates *c);

/* Keeps what has logit >= threshold (not scaled), the best in any case. A list keeps its order; a dense set
 * becomes a list by id, or stays dense, with a floor, where more than a few thousand may remain. */
enum tombola_status tombola__candidates_keep_at_least(struct tombola__candidates *c, float threshold);

/* Keeps the k best (all, when there are fewer) as a ranked list. */
enum tombola_status tombola__candidates_keep_top(struct tombola__candidates *c, size_t k);

/* The same with all that tie with the k-th: at least k, a list by id or ranked, or dense. */
enum tombola_status tombola__candidates_keep_top_ties(struct tombola__candidates *c, size_t k);

/* Keeps what is at least exp(log_share) times as likely as the best, and the min_keep best in any case. */
enum tombola_status tombola__candidates_keep_share(struct tombola__candidates *c, double log_share,
                                                   size_t min_keep);

/* Makes a list of all candidates; ranked when asked, or where a dense set was to be walked so. A list that is one
 * already keeps its order otherwise. */
enum tombola_status tombola__candidates_list(struct tombola__candidates *c, bool ranked);

/* The smallest prefix of the ranking that holds `mass` of the total (reached, or with `exceed` passed), at
 * least min_keep tokens; a ranked list. */
enum tombola_status tombola__candidates_keep_mass(struct tombola__candidates *c, double mass, bool exceed,
                                                  size_t min_keep);

/* The same with what ties with the last of them. */
enum tombola_status tombola__candidates_keep_mass_ties(struct tombola__candidates *c, double mass, bool exceed,
                                                       size_t min_keep);

/* The sum of the weights exp((logit - max) * scale), into c->total. */
enum tombola_status tombola__candidates_sum(struct tombola__candidates *c);

/* Weights of up to 64 candidates beginning at `first`: a dense set's block first / 64, or list entries.
 * Returns how many entries it covers. */
size_t tombola__candidates_weights(const struct tombola__candidates *c, size_t first,
                                   float weights[TOMBOLA__BLOCK]);
/* The mass of what has logit >= threshold (not scaled) in a dense set; the set's own sums are lost. */
enum tombola_status tombola__candidates_sum_from(struct tombola__candidates *c, float threshold, double *mass);
/* The mass of list entries [first, last). */
double tombola__candidates_list_mass(const struct tombola__candidates *c, size_t first, size_t last);

/* A place in the ranking of a dense set: an entry, and the mass down to it. */
struct tombola__place {
  struct tombola__entry last;
  double mass;
  bool found;
};
/* The first place with which the mass reaches (or passes) the target, searched below `high`, above which the mass
 * is `above`; INFINITY and 0 for all. Not found, by rounding: the last entry with a weight that was seen, or none.
 * Uses the list, and the sums are lost (ranking.c). */
enum tombola_status tombola__candidates_find(struct tombola__candidates *c, double target, bool exceeds,
                                             float high, double above, struct tombola__place *place);

/* The entropy of the distribution, in nats. The sum is valid afterwards. */
enum tombola_status tombola__candidates_entropy(struct tombola__candidates *c, double *entropy);
/* The number of candidates, the sum of (logit - origin) and of its square; logits are not scaled. */
enum tombola_status tombola__candidates_moments(struct tombola__candidates *c, float origin,
                                                struct tombola__moments *moments);
/* The number of candidates and the standard deviation of their logits (of the population, not scaled). */
enum tombola_status tombola__candidates_deviation(struct tombola__candidates *c, size_t *count,
                                                  double *deviation);

/* How far `first` can go: n_blocks * 64 or the list's length. */
size_t tombola__candidates_span(const struct tombola__candidates *c);
/* The id and the effective logit at a place of that walk. */
tombola_token tombola__candidates_id(const struct tombola__candidates *c, size_t place);
float tombola__candidates_logit(const struct tombola__candidates *c, size_t place);

/* Room for `count` list entries (and the 64 more that a gather may write). */
enum tombola_status tombola__candidates_reserve(struct tombola__candidates *c, size_t count);
/* Appends the dense candidates with low <= logit < high to the list, ids ascending, until `limit` are in it.
 */
enum tombola_status tombola__candidates_gather(struct tombola__candidates *c, float low, float high,
                                               size_t limit);
/* The logits of a dense set's block (not scaled), -inf where there is no candidate; in `room` or elsewhere. */
const float *tombola__candidates_block(const struct tombola__candidates *c, size_t block,
                                       float room[TOMBOLA__BLOCK]);
/* Of a dense set: drops what is below the entry in the ranking, and leaves the set dense. */
enum tombola_status tombola__candidates_cut(struct tombola__candidates *c, struct tombola__entry last);
/* A threshold that at least k candidates of a dense set reach, not many more where logits are distinct. */
float tombola__candidates_bound(const struct tombola__candidates *c, size_t k);

/* ---- history (history.c) ---- */

/* The last `window` tokens, and how often each occurs among the last `count_window` of them. */
struct tombola__history {
  struct tombola_allocator allocator;
  size_t window;       /* tokens that are kept; 0: none */
  size_t count_window; /* tokens that are counted, at most window */
  tombola_token *ring;
  size_t ring_capacity, start, count;
  struct tombola__count { /* open addressing, linear probing; n == 0: free */
    tombola_token id;
    uint32_t n;
  } * table;
  size_t table_capacity, distinct;
};

enum tombola_status tombola__history_init(struct tombola__history *h,
                                          const struct tombola_allocator *allocator, size_t window,
                                          size_t count_window);
void tombola__history_free(struct tombola__history *h);
void tombola__history_clear(struct tombola__history *h);
enum tombola_status tombola__history_push(struct tombola__history *h, tombola_token token);
/* Token i, 0 is the oldest. */
tombola_token tombola__history_at(const struct tombola__history *h, size_t i);
size_t tombola__history_memory(const struct tombola__history *h);

/* ---- dialects (dialects/) ---- */

enum tombola__draw_order {
  TOMBOLA__DRAW_AS_IS, /* the order in which the chain left the candidates */
  TOMBOLA__DRAW_BY_ID
};

/* How the three penalties of a token that occurred meet on its logit. */
enum tombola__penalty_form {
  TOMBOLA__REPEAT_THEN_SUM,  /* repeat, then count * frequency + presence as one term (llama.cpp, mlxcel) */
  TOMBOLA__REPEAT_THEN_EACH, /* repeat, then presence, then count * frequency (rMLX, mlx-lm) */
  TOMBOLA__EACH_THEN_REPEAT  /* count * frequency, then presence, then repeat (minfer) */
};

/* A dialect's own default, or a range narrower than the row's. */
struct tombola__default {
  const char *param;
  double value;
};
struct tombola__range {
  const char *param;
  double min, max;
  bool min_open, max_open;
};

/* An engine's rules, as data. */
struct tombola__dialect {
  struct tombola_dialect_info info;
  const struct tombola__default *defaults;
  size_t n_defaults;
  const struct tombola__range *ranges;
  size_t n_ranges;
  const struct tombola__default *server_defaults; /* on top of the defaults, where its server has others */
  size_t n_server_defaults;
  bool server_seed_random; /* its server takes a random seed where its program has a constant */

  double greedy_at;  /* a temperature at or below this is greedy */
  bool greedy_draws; /* a greedy choice uses up a uniform, as any other */
  bool greedy_edits_only; /* a greedy choice looks at edited logits; no stage that keeps or shapes runs */
  bool greedy_at_top_k_1; /* top_k 1 is greedy, whatever the temperature */

  bool bias_skips_outside; /* biases of tokens outside the vocabulary do nothing; otherwise they are refused */
  enum tombola__penalty_form penalty_form;
  bool penalty_once_one;    /* a repeat_penalty below 1 does nothing */
  double penalty_dead_zone; /* values so near to neutral do nothing */
  bool negative_window_off; /* repeat_last_n < 0 means 0; otherwise the whole history */

  const char *const *min_keep_stages; /* the stages that heed min_keep; NULL: all but top_k */
  size_t n_min_keep_stages;
  bool top_k_min_keep; /* top_k keeps at least min_keep */
  bool top_k_ties;    /* tokens that tie with the k-th stay too */
  bool top_p_exceeds; /* top_p stops when the mass passes p; otherwise when it reaches p */
  bool top_p_ties;    /* tokens that tie with the last one stay too */
  bool zero_is_off;   /* top_p, min_p and typical_p at 0 are off; otherwise they keep the best alone */
  bool typical_exceeds, typical_ties; /* as for top_p, over the typical order */
  bool typical_top_k_first;           /* top_k is applied before typical_p looks */
  double dynatemp_floor; /* the least dynamic temperature; with 0 a temperature of 0 keeps the best alone */
  bool xtc_strict;  /* above the threshold, and a gate below the probability; otherwise at, and not above */
  bool xtc_exempts; /* newline and end tokens are never removed */
  bool xtc_keeps_ties;         /* what ties with the least likely above the threshold stays with it */
  bool xtc_keeps_first; /* of equals that are least likely the lowest id stays; otherwise the last of the ranking */
  bool dry_breaks_at_head; /* see stages/dry.c */
  bool select_saves;       /* mirostat and adaptive_p use up no uniform when one token is left */
  bool stages_share_generator; /* stages take their uniforms from the draw's generator; otherwise each has its
                                  own */
  const char *const *mirostat_order; /* the chain with mirostat on; NULL: as llama.cpp */
  size_t n_mirostat_order;
  const char *const *dry_breakers; /* the default sequence breakers */
  size_t n_dry_breakers;
  bool dry_breakers_of_server; /* they are its server's default; its program has none */

  enum tombola__draw_order draw_order;
  bool rejection_joint; /* the rejection draw judges top_k and top_p together, over the whole row */
  bool draw_strict; /* the draw takes the first with running sum > u * total; otherwise >= */
  const struct tombola__generator *generator;
  bool seed_random; /* without a seed: a random one; otherwise default_seed */
  uint64_t default_seed;
  uint64_t random_seed_value; /* a given seed that means "random" (0: none) */

  bool refuses_sampled_speculation; /* its server speculates only greedily */
};

/* NULL when there is none. */
const struct tombola__dialect *tombola__dialect_find(const char *name);

/* ---- parameters (params.c) ---- */

/* A caller's parameters, checked and made whole: members that its struct_size lacks have the dialect's
 * defaults. */
enum tombola_status tombola__params_resolve(const struct tombola_sampler_params *params,
                                            struct tombola_sampler_params *whole,
                                            const struct tombola__dialect **dialect,
                                            struct tombola_error *error);

struct tombola__plan;
struct tombola__link;

/* ---- stages (stages/) ---- */

/* What a stage sees when it runs. */
struct tombola__stage_call {
  const struct tombola__plan *plan;
  const struct tombola_sampler_params *params; /* the plan's */
  const struct tombola__dialect *dialect;      /* the plan's */
  struct tombola_sampler *sampler;
  const struct tombola__history *history;
  struct tombola__candidates *candidates;
  const struct tombola__link *link; /* the stage's place in the chain */
  void *state;                      /* the stage's own, state_size bytes; NULL when it has none */
};

/* A stage is one file: its parameters' rows, its functions and one const descriptor, listed once in
 * stages.def. Slots may be NULL but for active and apply. A stage's state is plain memory: a snapshot copies
 * it, and whatever only looks (a distribution, a trace) puts it back afterwards. */
struct tombola__stage {
  const char *name;
  const char *const *aliases; /* NULL-terminated, or NULL */
  char letter;                /* llama.cpp's, or 0 */
  bool keeps_best;            /* whatever it does, the best candidate stays the best: greedy may skip it */
  bool edits;                 /* it changes logits only, so that what comes before the keeps is its doing */
  bool bans;                  /* what it forbids stays forbidden, wherever it stands: greedy may not skip it */
  bool selects;               /* its engine chooses with it, in place of the draw */
  const struct tombola_param_info *params;
  size_t n_params;
  /* Whether it does anything with these parameters. */
  bool (*active)(const struct tombola_sampler_params *params, const struct tombola__dialect *dialect);
  /* Once for each plan: compiles what the stage needs (into *data) and checks what the rows can't say. */
  enum tombola_status (*prepare)(const struct tombola__plan *plan, void **data, struct tombola_error *error);
  void (*release)(const struct tombola__plan *plan, void *data);
  size_t (*window)(const struct tombola__plan *plan); /* tokens of history that it wants to see */
  size_t (*state_size)(const struct tombola__plan *plan);
  bool random_state; /* the state is a generator's: a rewind leaves it alone */
  void (*reset)(struct tombola__stage_call *call); /* the state at the beginning */
  enum tombola_status (*apply)(struct tombola__stage_call *call);
  void (*chosen)(struct tombola__stage_call *call,
                 tombola_token token); /* after a draw, candidates in place */
  void (*accept)(struct tombola__stage_call *call, tombola_token token); /* a token was taken */
};

#define TOMBOLA_STAGE(name) extern const struct tombola__stage tombola__stage_##name;
#include "stages.def"
#undef TOMBOLA_STAGE

/* A caller's stage (custom.c): its link says which. Not in stages.def, because it has no name of its own. */
extern const struct tombola__stage tombola__stage_custom;

/* All stages in the order of stages.def; NULL past the end. */
const struct tombola__stage *tombola__stage_at(size_t index);
/* By name, alias or letter; NULL. */
const struct tombola__stage *tombola__stage_find(const char *name);

/* Tokens that penalties count, from the parameters and the dialect. */
size_t tombola__penalty_window(const struct tombola_sampler_params *params,
                               const struct tombola__dialect *dialect);
/* The same for any window parameter: -1 is the whole history or nothing, as the dialect says. */
size_t tombola__window_of(int32_t last_n, const struct tombola__dialect *dialect);

/* ---- the plan (plan.c) ---- */

#define TOMBOLA__MAX_CHAIN 64

struct tombola__link {
  const struct tombola__stage *stage;
  const char *name;                          /* the stage's, or the custom stage's */
  const struct tombola_custom_stage *custom; /* the plan's copy, for tombola__stage_custom */
  size_t min_keep; /* tokens that the stage must leave */
  bool active;
  bool in_draw; /* active, but the rejection draw does its work */
  size_t state_offset; /* in the sampler's state */
  size_t state_size;
  void *data; /* what the stage's prepare made */
};

/* The keeps that the rejection draw makes itself (draw_rejection.c). */
struct tombola__rejection {
  bool on;
  size_t k;    /* 0: no test */
  double p;    /* 1: no test */
  float min_p; /* 0: no test */
  bool k_ties, p_ties, p_exceeds;
};

/* Parameters made ready: immutable, shared by a sampler and its clones, on any threads. */
struct tombola__plan {
  atomic_size_t users;
  struct tombola_allocator allocator;
  struct tombola_sampler_params params; /* its lists are the plan's own copies */
  const struct tombola__dialect *dialect;
  const struct tombola__kernels *kernels;
  const tombola_vocabulary *vocabulary;
  size_t vocab_size;
  struct tombola__link chain[TOMBOLA__MAX_CHAIN];
  size_t n_chain;
  struct tombola_custom_stage *customs; /* copies, and their names one after the other */
  char *custom_names;
  struct tombola__rejection rejection;
  bool greedy;
  bool single_saves;   /* a set of one token uses up no uniform */
  bool spends;         /* a stage may have used up a uniform, or changed its state, before the row fails */
  size_t window;       /* of the history: what the widest stage wants */
  size_t count_window; /* of the counts: what penalties want */
  size_t state_size;   /* the generator's state and every stage's, one after the other */
};

enum tombola_status tombola__plan_new(const struct tombola_sampler_params *params,
                                      const tombola_vocabulary *vocabulary, size_t vocab_size,
                                      const struct tombola_allocator *allocator, struct tombola__plan **out,
                                      struct tombola_error *error);
struct tombola__plan *tombola__plan_share(struct tombola__plan *plan);
void tombola__plan_free(struct tombola__plan *plan); /* one user less */

/* ---- the sampler (sampler.c, chain.c, draw.c) ---- */

struct tombola_sampler {
  struct tombola_allocator allocator;
  struct tombola__plan *plan;
  struct tombola__candidates candidates;
  struct tombola__history history;
  uint64_t seed;
  unsigned char *state; /* the generator's first, then the stages' */
  unsigned char *aside; /* as much again: the state while something only looks */
  uint32_t request;
  float filter_scale; /* the scale where the first keep stands that the rejection draw makes */
  bool in_batch;      /* while a batch is checked */
  struct tombola_trace *trace; /* while one is made, else NULL */
  struct tombola_draw_counts counts;
  struct tombola__logprobs {
    enum tombola_logprob_stage stage;
    size_t wanted; /* for every sampled row; 0: none */
    bool valid;
    struct tombola_logprob *top;
    size_t capacity;
    struct tombola_logprobs result;
  } logprobs;
  struct tombola_error error;
};

/* The call for a place in the chain. */
struct tombola__stage_call tombola__call(struct tombola_sampler *sampler, size_t place);
/* Runs the chain on a row: afterwards the candidates are what may be drawn. Where it fails, the state is as
 * before. */
enum tombola_status tombola__chain_run(struct tombola_sampler *sampler, const struct tombola_row *row,
                                       const struct tombola_mask *mask);
/* Puts the state back that the chain found, where it spends: for what fails after the chain. */
void tombola__take_back(struct tombola_sampler *sampler);
/* Adds the candidates, which stay as they are, to the trace that is being made (trace.c). */
void tombola__trace_look(struct tombola_sampler *sampler, const char *name);
/* Puts a list into the order that the dialect's draw walks. */
void tombola__draw_order(struct tombola_sampler *sampler);
/* Picks by inverse CDF, the dialect's boundary rule, with the uniform u. */
enum tombola_status tombola__draw(struct tombola_sampler *sampler, double u, tombola_token *token);
/* The draw down the ranking of a dense set, which stays as it is: the first token in it with which the sum of the
 * weights reaches (strict: passes) the target. The sum must be valid. */
enum tombola_status tombola__draw_ranked(struct tombola__candidates *c, double target, bool strict,
                                         tombola_token *token);
/* Picks the largest of logit + Gumbel noise (draw_gumbel.c). Uses up one key of the generator. */
enum tombola_status tombola__draw_gumbel(struct tombola_sampler *sampler, tombola_token *token);
/* Picks by dual-pivot rejection (draw_rejection.c). Uses up one key of the generator. */
enum tombola_status tombola__draw_rejection(struct tombola_sampler *sampler, tombola_token *token);
/* Marks the keeps that the rejection draw makes itself, once the chain is built. */
void tombola__rejection_plan(struct tombola__plan *plan);
/* Makes of the candidates what the rejection draw may give, where it makes keeps itself. */
enum tombola_status tombola__rejection_support(struct tombola_sampler *sampler);

/* Checks a row and a mask against the sampler, and explains a status in its error (sampler.c). */
enum tombola_status tombola__check_row(struct tombola_sampler *s, const struct tombola_row *row,
                                       const struct tombola_mask *mask);
enum tombola_status tombola__explain(struct tombola_sampler *s, enum tombola_status status);
/* The chain without its traces: stages that use random numbers or remember have their state put back. The
 * candidates are what may be drawn. */
enum tombola_status tombola__look(struct tombola_sampler *s, const struct tombola_row *row,
                                  const struct tombola_mask *mask);
/* After a draw, with the candidates as it left them: the stages that learn from it do, and the generator goes on
 * to the next token. */
void tombola__chosen(struct tombola_sampler *s, tombola_token token);
/* The candidates' distribution, one float for each token of the vocabulary; the sum must be valid. */
void tombola__write_probs(const struct tombola_sampler *s, float *probs);
/* After a draw, with the candidates as it left them: what was asked for (logprobs.c). Destroys them. */
void tombola__logprobs_note(struct tombola_sampler *s, const struct tombola_row *row,
                            const struct tombola_mask *mask, tombola_token token);

#endif
