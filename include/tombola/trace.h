/* SPDX-License-Identifier: Apache-2.0 */
/* What happened on the way from a row to a token: how many tokens each stage left and what they held, where
 * any token stood and which stage took it out, and where the random number fell.
 *
 * A trace is asked for by calling tombola_sampler_trace() in place of tombola_sampler_sample(); samplers that
 * are never asked do nothing for it. It costs a few passes over the row for each stage, in time and in
 * memory. */
#ifndef TOMBOLA_TRACE_H
#define TOMBOLA_TRACE_H

#include <tombola/sampler.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Belongs to the sampler's thread; made for rows of one size and a chain of one length, and used again for as
 * many rows as wanted. It may outlive its sampler. */
typedef struct tombola_trace tombola_trace;

/* The tokens that are left at a moment. */
struct tombola_trace_set {
  size_t count;
  float least;  /* the lowest logit among them, in effect (after a temperature): the threshold */
  double share; /* of the row's own probability (its softmax, under the mask), what they hold */
};

/* One look: at the row, after each stage that is on, and after what the draw does to the candidates by
 * itself. */
struct tombola_trace_step {
  const char *name; /* "row"; a stage's name; "greedy"; "rejection". The trace's, valid until it is freed */
  struct tombola_trace_set before, after;
  double kept; /* of the probability that came in, what the tokens that are left had; 1 when all are */
};

/* Where a token stands after a step. */
struct tombola_trace_place {
  int there;   /* 0: the step, or one before, took it out; the rest is then 0 */
  size_t rank; /* how many tokens are before it; the lower id goes first of equals */
  float logit; /* in effect */
  double p;    /* its probability if a token were drawn now */
};

/* The draw. */
struct tombola_trace_draw {
  tombola_token token;
  enum tombola_draw_rule rule;
  int greedy;       /* 1: there was nothing to draw */
  int has_uniform;  /* whether one uniform decided (rule CDF); the other rules use many */
  double uniform;   /* in [0, 1) */
  double low, high; /* the token's part of the cumulative sum, in the order that the draw walks; of 1 */
  size_t place;     /* where it comes in that order, from 0 */
  size_t count;     /* how many there are */
};

/* Room for traces of this sampler and of its clones. NO_MEMORY. */
TOMBOLA_API enum tombola_status tombola_trace_new(const tombola_sampler *sampler, tombola_trace **out);
TOMBOLA_API void tombola_trace_free(tombola_trace *trace);

/* As tombola_sampler_sample: the same token, the same statuses, the same use of the generator; and fills the
 * trace, whose contents are those of the row even where no token comes out (then without a draw, and as far
 * as the chain came). Custom stages are called twice. INVALID_ARGUMENT for a trace of a sampler with another
 * plan. */
TOMBOLA_API enum tombola_status tombola_sampler_trace(tombola_sampler *sampler, const struct tombola_row *row,
                                                      const struct tombola_mask *mask, tombola_trace *trace,
                                                      tombola_token *token);

TOMBOLA_API size_t tombola_trace_count(const tombola_trace *trace);
/* The trace's, valid until it is used again; NULL past the end. */
TOMBOLA_API const struct tombola_trace_step *tombola_trace_step(const tombola_trace *trace, size_t index);
/* NULL when no token came out. */
TOMBOLA_API const struct tombola_trace_draw *tombola_trace_draw(const tombola_trace *trace);

/* Where a token stood after a step. OUT_OF_RANGE for a step or a token that there isn't. */
TOMBOLA_API enum tombola_status tombola_trace_find(const tombola_trace *trace, size_t step,
                                                   tombola_token token, struct tombola_trace_place *place);
/* The step that took the token out; tombola_trace_count() when it could be drawn. The step 0, the row, takes
 * out what the mask forbids and what is -inf. */
TOMBOLA_API size_t tombola_trace_removed(const tombola_trace *trace, tombola_token token);

#ifdef __cplusplus
}
#endif
#endif
