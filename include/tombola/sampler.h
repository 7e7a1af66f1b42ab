/* SPDX-License-Identifier: Apache-2.0 */
/* The sampler: a row of logits in, a token out.
 *
 * A sampler is parameters bound to a dialect (the engine whose rules it follows): a chain of stages and a
 * draw. Sampling never changes the row and allocates nothing once the sampler is warm: once it has seen a row
 * of which as many tokens were kept. A sampler belongs to one thread at a time; any number of samplers may
 * read one row, one mask and one vocabulary at once. Pointers to results must not be NULL. */
#ifndef TOMBOLA_SAMPLER_H
#define TOMBOLA_SAMPLER_H

#include <tombola/status.h>
#include <tombola/vocabulary.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- rows and masks ---- */

enum tombola_dtype { TOMBOLA_F32 = 0, TOMBOLA_F16 = 1, TOMBOLA_BF16 = 2 };

/* The logits of one position, in the machine's byte order, aligned to their own size. Read, never written.
 * Rules for rows that are no distribution: NaN or +inf anywhere that a mask allows is NOT_FINITE; nothing
 * above -inf is NO_CANDIDATE; -inf bans a token; a row of one token gives that token. */
struct tombola_row {
  const void *data;
  size_t count; /* the vocabulary's size */
  enum tombola_dtype dtype;
};

/* Which tokens are allowed: bit (id % 32) of word id / 32, least significant first (the layout of llguidance
 * and xgrammar). Borrowed for the call. */
struct tombola_mask {
  const uint32_t *words; /* (count + 31) / 32 words; bits beyond count are ignored */
  size_t count;          /* must equal the row's */
  /* The tokens that it allows, ascending, where whoever made it lists them because they are few: then only the
   * row's values in their neighbourhood are read. They must be those that the words allow. NULL: not listed. */
  const tombola_token *ids;
  size_t n_ids;
};

/* ---- parameters ---- */

/* How the seed is chosen. */
enum tombola_seed_mode {
  TOMBOLA_SEED_POLICY = 0, /* as the dialect says: a constant, or random */
  TOMBOLA_SEED_FIXED = 1,  /* `seed` */
  TOMBOLA_SEED_RANDOM = 2  /* from the system */
};

/* Which tokens penalties look at. */
enum tombola_scope {
  TOMBOLA_SCOPE_ALL = 0,   /* prompt and output */
  TOMBOLA_SCOPE_OUTPUT = 1 /* output only */
};

/* How a token is drawn from the distribution: the same law, other uses of the random numbers. */
enum tombola_draw_rule {
  TOMBOLA_DRAW_CDF = 0,      /* one uniform, inverse of the cumulative sum */
  TOMBOLA_DRAW_GUMBEL = 1,   /* the largest of logit + Gumbel noise */
  TOMBOLA_DRAW_REJECTION = 2 /* dual-pivot rejection (FlashInfer's), its rounds bounded */
};

struct tombola_custom_stage; /* <tombola/stage.h> */

/* Adds `bias` to the logit of `token`; -INFINITY bans it. Several entries for one token add up. */
struct tombola_logit_bias {
  tombola_token token;
  float bias;
};

/* Every sampling parameter. Fill it with tombola_sampler_params_default(), then change what you want; the
 * ranges, the off values and the texts are in the rows of tombola_param_at(). Members are only ever appended.
 */
struct tombola_sampler_params {
  size_t struct_size;  /* sizeof(struct tombola_sampler_params) as the caller knows it */
  const char *dialect; /* "llama.cpp", "rml"; a static string from the library */
  uint64_t seed;       /* with TOMBOLA_SEED_FIXED */
  enum tombola_seed_mode seed_mode;
  enum tombola_scope penalty_scope;
  const char *const
      *samplers; /* the stages' order by name, or NULL for the dialect's own; borrowed until _new returns */
  size_t n_samplers;
  const struct tombola_logit_bias *logit_bias; /* borrowed until _new returns */
  size_t n_logit_bias;
  float temperature;
  float top_p;
  float min_p;
  float repeat_penalty;
  float frequency_penalty;
  float presence_penalty;
  int32_t top_k;
  int32_t repeat_last_n;
  int32_t min_keep; /* stages that keep by mass or share leave at least so many */

  /* Lists; borrowed until _new returns. */
  const struct tombola_logit_bias
      *fallback_bias; /* used only when logit_bias is empty (mlxcel's language bias) */
  size_t n_fallback_bias;
  const tombola_token *suppress; /* never drawn, whatever a bias says */
  size_t n_suppress;
  const char *const *dry_sequence_breakers; /* NULL: the dialect's own; a list of none switches them off */
  size_t n_dry_sequence_breakers;
  const struct tombola_custom_stage *const
      *custom_stages; /* stages of the caller's own, named in `samplers` */
  size_t n_custom_stages;

  float typical_p;
  float top_n_sigma;
  float xtc_probability;
  float xtc_threshold;
  float epsilon_cutoff;
  float eta_cutoff;
  float top_h;
  float top_a;
  float tfs_z;
  float smoothing_factor;
  float dynatemp_range;
  float dynatemp_exponent;
  float dry_multiplier;
  float dry_base;
  float mirostat_tau;
  float mirostat_eta;
  float adaptive_target;
  float adaptive_decay;
  int32_t dry_allowed_length;
  int32_t dry_penalty_last_n;
  int32_t no_repeat_ngram;
  int32_t mirostat; /* 0, 1, 2 */
  int32_t p_less;   /* 0, 1 */
  enum tombola_draw_rule draw;
};

enum tombola_param_type {
  TOMBOLA_PARAM_FLOAT,      /* float */
  TOMBOLA_PARAM_INT,        /* int32_t */
  TOMBOLA_PARAM_SEED,       /* seed and seed_mode */
  TOMBOLA_PARAM_CHOICE,     /* an enum; its value is the index in `choices` */
  TOMBOLA_PARAM_LOGIT_BIAS, /* logit_bias and n_logit_bias; not settable from text */
  TOMBOLA_PARAM_STAGES,     /* samplers and n_samplers; not settable from text */
  TOMBOLA_PARAM_TOKENS,     /* a pointer to ids and their number; not settable from text */
  TOMBOLA_PARAM_STRINGS,    /* a pointer to strings and their number; not settable from text */
  TOMBOLA_PARAM_BOOL        /* int32_t, 0 or 1; "true", "false", "1", "0" */
};

/* One parameter: the single source for the command line, JSON, documentation and validation. */
struct tombola_param_info {
  const char *name;           /* as in JSON: "top_p" */
  const char *const *aliases; /* NULL-terminated, or NULL */
  const char *help;           /* one line */
  const char *stage;          /* the stage that reads it, or "" */
  const char *const *choices; /* CHOICE: NULL-terminated names */
  size_t offset;              /* in struct tombola_sampler_params */
  enum tombola_param_type type;
  double min, max; /* the widest range that any dialect takes; infinite ends mean "any finite value" */
  unsigned char min_open, max_open; /* 1: the end itself is not allowed */
  double off;                       /* the value with which the stage does nothing; NaN when there is none */
};

TOMBOLA_API size_t tombola_param_count(void);
/* The row, static; NULL past the end. */
TOMBOLA_API const struct tombola_param_info *tombola_param_at(size_t index);
/* By name or alias; '-' and '_' are the same. NULL when there is none. */
TOMBOLA_API const struct tombola_param_info *tombola_param_find(const char *name);

/* Fills `params` with a dialect's defaults (NULL: "llama.cpp"). params->struct_size must be set by the
 * caller: only so many bytes are written. NOT_FOUND names the dialects that there are; INVALID_ARGUMENT for a
 * struct_size too small. */
TOMBOLA_API enum tombola_status tombola_sampler_params_default(struct tombola_sampler_params *params,
                                                               const char *dialect,
                                                               struct tombola_error *error);
/* The same for a server, where an engine's server has other defaults than its program: mlxcel's temperature, say,
 * or minfer's seed, which is random for each request. */
TOMBOLA_API enum tombola_status tombola_sampler_params_default_server(struct tombola_sampler_params *params,
                                                                      const char *dialect,
                                                                      struct tombola_error *error);

/* Sets one parameter from text ("0.9", "-1", "all"). NOT_FOUND for an unknown name; INVALID_ARGUMENT, naming
 * the parameter, the value and the range, for text that isn't a number or is outside the dialect's range. */
TOMBOLA_API enum tombola_status tombola_sampler_params_set(struct tombola_sampler_params *params,
                                                           const char *name, const char *text,
                                                           struct tombola_error *error);

/* Writes a parameter as text, NUL-terminated and cut to `size`. NOT_FOUND; UNSUPPORTED for the list
 * parameters. */
TOMBOLA_API enum tombola_status tombola_sampler_params_get(const struct tombola_sampler_params *params,
                                                           const char *name, char *text, size_t size);

/* Checks every value against the dialect's ranges, as _new does. */
TOMBOLA_API enum tombola_status tombola_sampler_params_check(const struct tombola_sampler_params *params,
                                                             struct tombola_error *error);

/* ---- dialects and stages ---- */

struct tombola_dialect_info {
  const char *name;
  const char *summary;      /* one line */
  const char *source;       /* the engine and version or document that it follows */
  const char *const *order; /* stage names in order */
  size_t n_order;
};

TOMBOLA_API size_t tombola_dialect_count(void);
TOMBOLA_API const struct tombola_dialect_info *tombola_dialect_at(size_t index);
TOMBOLA_API const struct tombola_dialect_info *tombola_dialect_find(const char *name);
/* A rule of a dialect that is no parameter, for people: its name (static) into *name, what holds into `text`,
 * NUL-terminated and cut to `size`. NOT_FOUND for an unknown dialect, and past the last rule: all dialects have
 * the same rules in the same order. */
TOMBOLA_API enum tombola_status tombola_dialect_rule(const char *dialect, size_t index, const char **name,
                                                     char *text, size_t size);

TOMBOLA_API size_t tombola_stage_count(void);
/* The stage's name, static, in the order of the reference; NULL past the end. */
TOMBOLA_API const char *tombola_stage_at(size_t index);
/* The canonical name for a name, an alias ("temp", "typ_p") or llama.cpp's letter given as a one-letter
 * string; NULL. */
TOMBOLA_API const char *tombola_stage_find(const char *name);

/* ---- the sampler ---- */

typedef struct tombola_sampler tombola_sampler;

/* Makes a sampler for rows of `vocab_size` logits. `vocabulary` is borrowed (it must outlive the sampler) and
 * may be NULL when no stage speaks of text. Statuses: INVALID_ARGUMENT (a value out of range, a stage named
 * twice, a bias for a token outside the vocabulary, an unknown TOMBOLA_CPU), NOT_FOUND (a stage's name),
 * NO_MEMORY. */
TOMBOLA_API enum tombola_status tombola_sampler_new(const struct tombola_sampler_params *params,
                                                    const tombola_vocabulary *vocabulary, size_t vocab_size,
                                                    const struct tombola_allocator *allocator,
                                                    tombola_sampler **out, struct tombola_error *error);
TOMBOLA_API void tombola_sampler_free(tombola_sampler *sampler);

/* A second sampler in the same state, the generator's included. NO_MEMORY. */
TOMBOLA_API enum tombola_status tombola_sampler_clone(const tombola_sampler *sampler, tombola_sampler **out);

/* Chooses a token. `mask` may be NULL. Advances the generator as the dialect says; doesn't accept the token.
 * INVALID_ARGUMENT (wrong count, bad dtype, NULL), NOT_FINITE, NO_CANDIDATE, NO_MEMORY; on each of them
 * *token is TOMBOLA_NO_TOKEN, no random number is used, and tombola_sampler_error() explains. */
TOMBOLA_API enum tombola_status tombola_sampler_sample(tombola_sampler *sampler,
                                                       const struct tombola_row *row,
                                                       const struct tombola_mask *mask, tombola_token *token);

/* Tells the sampler that a token was taken as output. INVALID_ARGUMENT for an id outside the vocabulary. */
TOMBOLA_API enum tombola_status tombola_sampler_accept(tombola_sampler *sampler, tombola_token token);

/* Starts a generation: the history becomes exactly this prompt (count 0: empty), and the generator goes on.
 * The dialect decides whether penalties see the prompt. INVALID_ARGUMENT for an id outside the vocabulary,
 * NO_MEMORY. */
TOMBOLA_API enum tombola_status tombola_sampler_begin(tombola_sampler *sampler, const tombola_token *prompt,
                                                      size_t count);

/* Forgets the history and starts the generator again from the same seed. */
TOMBOLA_API void tombola_sampler_reset(tombola_sampler *sampler);

/* The seed in use, so that a run can be repeated. */
TOMBOLA_API uint64_t tombola_sampler_seed(const tombola_sampler *sampler);

/* Why the last call on this sampler failed; valid until the next call. */
TOMBOLA_API const struct tombola_error *tombola_sampler_error(const tombola_sampler *sampler);

/* Bytes that the sampler holds. */
TOMBOLA_API size_t tombola_sampler_memory(const tombola_sampler *sampler);

/* The chain as text, stages that do nothing with a '?': "logits -> ?logit_bias -> top_k -> temperature ->
 * draw". Cut to `size`, NUL-terminated; returns the length that it needs. */
TOMBOLA_API size_t tombola_sampler_describe(const tombola_sampler *sampler, char *text, size_t size);

/* The distribution that a draw would use: `probs` gets row->count floats that sum to 1 (exactly 0 where a
 * token can't be drawn). Changes nothing, the generator neither. Statuses as _sample; INVALID_ARGUMENT when
 * count differs. */
TOMBOLA_API enum tombola_status tombola_distribution(tombola_sampler *sampler, const struct tombola_row *row,
                                                     const struct tombola_mask *mask, float *probs,
                                                     size_t count);

/* One token that the chain kept. */
struct tombola_candidate {
  tombola_token id;
  float logit; /* after the chain */
  double p;    /* normalised; may be 0 by underflow */
};

/* The tokens that the chain keeps, in the order that the draw walks. Writes at most `capacity`; *count is how
 * many there are. Statuses as tombola_distribution. */
TOMBOLA_API enum tombola_status tombola_candidates(tombola_sampler *sampler, const struct tombola_row *row,
                                                   const struct tombola_mask *mask,
                                                   struct tombola_candidate *out, size_t capacity,
                                                   size_t *count);

/* ---- many rows ---- */

/* Changes the seed: the generator and what stages remember start again from it, as in a new sampler; the
 * history stays. So clones, which share one plan, can serve rows with equal parameters and other seeds.
 * INVALID_ARGUMENT for a seed that the dialect's generator can't take. */
TOMBOLA_API enum tombola_status tombola_sampler_set_seed(tombola_sampler *sampler, uint64_t seed);

/* Which of several requests with one seed this is: each has numbers of its own. The generator starts again, as
 * with a new seed. UNSUPPORTED where the dialect's generator knows no requests, unless it is 0. */
TOMBOLA_API enum tombola_status tombola_sampler_set_request(tombola_sampler *sampler, uint32_t request);

/* One row of a batch. */
struct tombola_batch_row {
  tombola_sampler *sampler; /* each row its own */
  struct tombola_row row;
  const struct tombola_mask *mask; /* or NULL */
  tombola_token token;             /* out: as tombola_sampler_sample gives it */
  enum tombola_status status;      /* out: that row's own */
};

/* Samples every row. Each token is the one that tombola_sampler_sample would give for the row alone, whatever
 * the others are, in whatever order; a row that fails doesn't keep the others from their tokens. To use several
 * threads give each a part of the rows. OK, or the status of the first row that failed; INVALID_ARGUMENT, and
 * nothing sampled, when a sampler is NULL or occurs twice. */
TOMBOLA_API enum tombola_status tombola_sample_batch(struct tombola_batch_row *rows, size_t count);

/* ---- the parts of speculation ---- */

/* Draws from any weights that aren't negative, by inverse CDF with the dialect's boundary rule and one uniform
 * of the sampler's generator; they needn't sum to 1. Weights without any mass give token 0 (rMLX's rule: a
 * bare draw has no way to say no; sampling a row does). INVALID_ARGUMENT for a weight that is negative, NaN or
 * infinite, or for no weights; no random number is used then. */
TOMBOLA_API enum tombola_status tombola_draw(tombola_sampler *sampler, const float *weights, size_t count,
                                             tombola_token *token);

/* Whether a token that was drawn from q may stand for one drawn from p (Leviathan et al., 2211.17192): it is
 * accepted with the probability min(1, p / q) of the token, always where q is 0; otherwise *token is drawn from
 * max(p - q, 0), or from p where that has no mass. *token has the law of p. p and q are tombola_distribution's, or
 * any weights that each sum to 1. One uniform when the token is accepted, two when it isn't (rMLX's rule).
 * INVALID_ARGUMENT for unequal counts, a draft that isn't below them, or a weight that is negative, NaN or
 * infinite; no random number is used then. */
TOMBOLA_API enum tombola_status tombola_speculative_accept(tombola_sampler *sampler, const float *p,
                                                           size_t p_count, const float *q, size_t q_count,
                                                           tombola_token draft, int *accepted,
                                                           tombola_token *token);

/* Chooses a token as tombola_sampler_sample does, with the same law, given a draft. `draft` was drawn from q,
 * `count` (the row's) weights that sum to 1, independently of the sampler's generator; p is room for as many.
 * The chain runs; then it is tombola_speculative_accept with the distribution of the draw as p, but a token that p
 * excludes is never accepted; then the stages that learn from a choice do. Without q (NULL), or where q is
 * certain of the draft, or greedily, a token is sampled and accepted if it is the draft. Doesn't accept the token.
 * Statuses as tombola_sampler_sample and tombola_speculative_accept. */
TOMBOLA_API enum tombola_status tombola_sampler_verify(tombola_sampler *sampler,
                                                       const struct tombola_row *row,
                                                       const struct tombola_mask *mask, tombola_token draft,
                                                       const float *q, float *p, size_t count, int *accepted,
                                                       tombola_token *token);

/* Makes a sampler that drafts for `target`, whose clone it is: its history and what its stages remember become the
 * target's, its generator goes another way, which the state of the target's decides. So what it draws is
 * independent of what the target is going to draw, and the same each time the run is repeated. INVALID_ARGUMENT:
 * no clone of the target, or the target itself; NO_MEMORY. */
TOMBOLA_API enum tombola_status tombola_sampler_follow(tombola_sampler *sampler,
                                                       const tombola_sampler *target);

/* 1 where the dialect's engine refuses to speculate with these parameters (rMLX, when it samples). The functions above
 * work all the same: it is for whoever offers speculation under the engine's name. */
TOMBOLA_API int tombola_sampler_refuses_speculation(const tombola_sampler *sampler);

/* ---- log-probabilities ---- */

enum tombola_logprob_stage {
  TOMBOLA_LOGPROB_RAW = 0,       /* the row as it came: no mask, no edits (rMLX) */
  TOMBOLA_LOGPROB_PENALIZED = 1, /* after the mask and the edits that begin the chain (mlxcel) */
  TOMBOLA_LOGPROB_FINAL = 2      /* the distribution of the draw (llama.cpp's post-sampling probabilities) */
};

struct tombola_logprob {
  tombola_token id;
  float logprob;
};

struct tombola_logprobs {
  tombola_token token;               /* the chosen one, or TOMBOLA_NO_TOKEN */
  float logprob;                     /* its own, whether or not it is in `top`; -inf when it can't occur */
  size_t rank;                       /* how many tokens come before it; SIZE_MAX when it can't occur */
  const struct tombola_logprob *top; /* most likely first, the lowest id first of equals */
  size_t count;                      /* of top: what was asked for, fewer where fewer can occur */
};

/* From now on every sampled row has its log-probabilities computed, the `count` most likely and the chosen one;
 * 0: none, and nothing is done for them. NO_MEMORY; INVALID_ARGUMENT for an unknown stage. */
TOMBOLA_API enum tombola_status tombola_sampler_set_logprobs(tombola_sampler *sampler,
                                                             enum tombola_logprob_stage stage, size_t count);

/* How many were asked for; 0: none. */
TOMBOLA_API size_t tombola_sampler_wants_logprobs(const tombola_sampler *sampler);

/* 1 where a stage's state follows what is drawn (mirostat, adaptive_p, a stage of the caller's): then a token that is the
 * only one must be drawn too, for the same law. */
TOMBOLA_API int tombola_sampler_learns(const tombola_sampler *sampler);

/* Those of the last row sampled; NULL when none were asked for, or where the row has none (raw: it holds NaN or
 * +inf under the mask). The sampler's, valid until its next call. */
TOMBOLA_API const struct tombola_logprobs *tombola_sampler_logprobs(const tombola_sampler *sampler);

/* The same for a row and any token, without sampling: what a token that was forced, or one of the prompt, would
 * have had. Changes nothing, the generator neither. With TOMBOLA_NO_TOKEN and count 0 nothing is computed.
 * *out is the sampler's, valid until its next call. Statuses as tombola_distribution. */
TOMBOLA_API enum tombola_status tombola_logprobs(tombola_sampler *sampler, const struct tombola_row *row,
                                                 const struct tombola_mask *mask,
                                                 enum tombola_logprob_stage stage, tombola_token token,
                                                 size_t count, const struct tombola_logprobs **out);

/* ---- what the rejection draw did ---- */

struct tombola_draw_counts {
  uint64_t draws;     /* by rejection, since the sampler was made */
  uint64_t rounds;    /* all of them together */
  uint64_t most;      /* in one draw; at most 32 */
  uint64_t exhausted; /* draws that found nothing in 32 rounds and gave the best token */
};

TOMBOLA_API struct tombola_draw_counts tombola_sampler_draw_counts(const tombola_sampler *sampler);

/* ---- snapshots ---- */

/* The state of a sampler (history, generator, whatever a stage remembers), kept to go back to. Made once,
 * taken as often as wanted without allocating; belongs to the sampler's thread and must be freed before the
 * sampler. */
typedef struct tombola_snapshot tombola_snapshot;

TOMBOLA_API enum tombola_status tombola_snapshot_new(const tombola_sampler *sampler, tombola_snapshot **out);
TOMBOLA_API void tombola_snapshot_free(tombola_snapshot *snapshot);
/* Copies the state of `sampler` into the snapshot. NO_MEMORY only if the history has grown since the snapshot
 * was made and there is no room for it. INVALID_ARGUMENT for a snapshot of a sampler with another plan. */
TOMBOLA_API enum tombola_status tombola_snapshot_take(tombola_snapshot *snapshot,
                                                      const tombola_sampler *sampler);
/* Puts the state back; into the same sampler or a clone of it. */
TOMBOLA_API enum tombola_status tombola_snapshot_restore(const tombola_snapshot *snapshot,
                                                         tombola_sampler *sampler);
/* The same, but the random numbers go on from where the sampler is: for another draw in place of one that was
 * refused. The number that led to the refused token would, used again, lead to its neighbours. */
TOMBOLA_API enum tombola_status tombola_snapshot_rewind(const tombola_snapshot *snapshot,
                                                        tombola_sampler *sampler);

#ifdef __cplusplus
}
#endif
#endif
