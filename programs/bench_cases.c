/* SPDX-License-Identifier: Apache-2.0 */
/* The cases of `tombola bench`: their parameters, the figures they should reach, and how one is measured.
 *
 * A floor is a kernel alone on the same row: "max", the pass that finds the blocks' maxima, or "expsum", the one that
 * adds up their exponentials. The targets are multiples of these and of llama.cpp's time, so that they hold on any
 * machine. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>

#include "kernels/kernels.h"
#include "options.h"
#include "terminal.h"

/* With so many tokens a window of 64 holds none of those that were there at the start, and no list grows further. */
#define WARM_RUNS 66

/* What llama.cpp does when nothing is asked for. */
#define LLAMA_DEFAULT .temperature = 0.8f, .top_k = 40, .top_p = 0.95f, .min_p = 0.05f, .typical_p = 1
#define NEUTRAL       .temperature = 1, .top_p = 1, .typical_p = 1, .repeat_penalty = 1

static const struct bench_case cases[] = {
    {.name = "greedy",
     .floor = FLOOR_MAX,
     .top_p = 1,
     .typical_p = 1,
     .repeat_penalty = 1,
     .least_ratio = 12,
     .most_floor_ratio = 1.5},
    {.name = "llama_default",
     .floor = FLOOR_MAX,
     LLAMA_DEFAULT,
     .repeat_penalty = 1,
     .least_ratio = 6,
     .most_floor_ratio = 2.5},
    {.name = "penalties",
     .floor = FLOOR_MAX,
     LLAMA_DEFAULT,
     .repeat_penalty = 1.1f,
     .n_history = 64,
     .least_ratio = 25,
     .most_floor_ratio = 3},
    {.name = "min_p", .floor = FLOOR_MAX, NEUTRAL, .min_p = 0.1f, .least_ratio = 12, .most_floor_ratio = 1.8},
    {.name = "top_n_sigma",
     .floor = FLOOR_MAX,
     NEUTRAL,
     .top_n_sigma = 1,
     .least_ratio = 80,
     .most_floor_ratio = 3},
    {.name = "plain", .floor = FLOOR_EXPSUM, NEUTRAL, .least_ratio = 18, .most_floor_ratio = 1.4},
    {.name = "top_p",
     .floor = FLOOR_EXPSUM,
     .temperature = 1,
     .top_p = 0.9f,
     .typical_p = 1,
     .repeat_penalty = 1,
     .least_ratio = 20,
     .most_floor_ratio = 1.7},
    {.name = "typical",
     .floor = FLOOR_EXPSUM,
     .temperature = 1,
     .top_p = 1,
     .typical_p = 0.9f,
     .repeat_penalty = 1,
     .least_ratio = 80,
     .most_floor_ratio = 3},
    {.name = "mirostat2",
     .floor = FLOOR_EXPSUM,
     NEUTRAL,
     .mirostat_tau = 5,
     .least_ratio = 100,
     .most_floor_ratio = 2},
    {.name = "dry",
     .floor = FLOOR_NONE,
     LLAMA_DEFAULT,
     .repeat_penalty = 1,
     .dry_multiplier = 0.8f,
     .n_history = BENCH_MOST_HISTORY,
     .least_ratio = 3},
};

size_t bench_case_count(void) {
  return sizeof cases / sizeof *cases;
}

const struct bench_case *bench_case_at(size_t index) {
  return &cases[index];
}

const char *bench_line_name(const struct bench_line *line, char *name, size_t size) {
  snprintf(name, size, "%s%s", line->which->name, bench_shape_name(line->shape));
  return name;
}

/* ---- tombola ---- */

struct ours {
  tombola_sampler *sampler;
  struct tombola_row row;
  const tombola_token *history;
  size_t n_history;
  size_t allocations;
  enum tombola_status status; /* the first failure */
};

static void *count_allocate(void *context, size_t size) {
  ++*(size_t *)context;
  return malloc(size);
}

static void *count_resize(void *context, void *memory, size_t old_size, size_t new_size) {
  (void)old_size;
  ++*(size_t *)context;
  return realloc(memory, new_size);
}

static void count_release(void *context, void *memory) {
  (void)context;
  free(memory);
}

static void remember(struct ours *ours, enum tombola_status status) {
  if (ours->status == TOMBOLA_OK) ours->status = status;
}

static void ours_run(void *self) {
  struct ours *ours = self;
  tombola_token token = TOMBOLA_NO_TOKEN;
  enum tombola_status status = tombola_sampler_sample(ours->sampler, &ours->row, NULL, &token);
  if (status == TOMBOLA_OK) status = tombola_sampler_accept(ours->sampler, token);
  remember(ours, status);
}

static void ours_reset(void *self) {
  struct ours *ours = self;
  tombola_sampler_reset(ours->sampler);
  remember(ours, tombola_sampler_begin(ours->sampler, ours->history, ours->n_history));
}

/* Where a token changes what the next one costs (mirostat's bound wanders, dry's repetition ends), each run starts
 * from the same state. */
static bool needs_reset(const struct bench_case *which) {
  return which->mirostat_tau > 0 || which->dry_multiplier > 0;
}

static enum tombola_status fill_params(const struct bench_case *which, struct tombola_sampler_params *params,
                                       struct tombola_error *error) {
  static const char *const none[] = {NULL};
  *params = (struct tombola_sampler_params){.struct_size = sizeof *params};
  enum tombola_status status = tombola_sampler_params_default(params, "llama.cpp", error);
  if (status != TOMBOLA_OK) return status;
  params->seed = 1;
  params->seed_mode = TOMBOLA_SEED_FIXED;
  params->temperature = which->temperature;
  params->top_k = which->top_k;
  params->top_p = which->top_p;
  params->min_p = which->min_p;
  params->typical_p = which->typical_p;
  if (which->top_n_sigma > 0) params->top_n_sigma = which->top_n_sigma;
  params->repeat_penalty = which->repeat_penalty;
  params->repeat_last_n = (int32_t)which->n_history;
  if (which->mirostat_tau > 0) {
    params->mirostat = 2;
    params->mirostat_tau = which->mirostat_tau;
    params->mirostat_eta = BENCH_MIROSTAT_ETA;
  }
  /* Breakers would need a vocabulary, and shorten the search. */
  params->dry_sequence_breakers = none;
  params->dry_multiplier = which->dry_multiplier;
  params->dry_base = BENCH_DRY_BASE;
  params->dry_allowed_length = BENCH_DRY_ALLOWED;
  params->dry_penalty_last_n = (int32_t)which->n_history;
  return TOMBOLA_OK;
}

/* The least of a few, with the usual allocator. */
static enum tombola_status time_creation(const struct tombola_sampler_params *params, size_t count,
                                         double *least, struct tombola_error *error) {
  *least = 0;
  for (int i = 0; i < 30; i++) {
    tombola_sampler *sampler = NULL;
    double before = bench_now();
    enum tombola_status status = tombola_sampler_new(params, NULL, count, NULL, &sampler, error);
    double took = bench_now() - before;
    tombola_sampler_free(sampler);
    if (status != TOMBOLA_OK) return status;
    if (i == 0 || took < *least) *least = took;
  }
  return TOMBOLA_OK;
}

static enum tombola_status ours_new(struct bench_line *line, const struct bench_case *which,
                                    struct ours *ours, struct tombola_error *error) {
  struct tombola_sampler_params params;
  struct tombola_allocator allocator = {count_allocate, count_resize, count_release, &ours->allocations};
  enum tombola_status status = fill_params(which, &params, error);
  if (status == TOMBOLA_OK) status = time_creation(&params, line->vocab, &line->creation, error);
  if (status == TOMBOLA_OK)
    status = tombola_sampler_new(&params, NULL, line->vocab, &allocator, &ours->sampler, error);
  if (status == TOMBOLA_OK) status = tombola_sampler_begin(ours->sampler, ours->history, ours->n_history);
  return status;
}

/* ---- the floor ---- */

struct floor_state {
  const struct tombola__kernels *kernels;
  struct tombola_row row;
  float *maxima, *sums;
  float max;
  volatile float sink; /* so that the work can't be dropped */
};

static void floor_max(void *self) {
  struct floor_state *state = self;
  state->kernels->block_max(&state->row, NULL, state->maxima);
  state->sink = state->maxima[0];
}

static void floor_expsum(void *self) {
  struct floor_state *state = self;
  state->kernels->block_expsum(&state->row, NULL, state->maxima, state->max, 1, state->sums);
  state->sink = state->sums[0];
}

static bool floor_new(struct floor_state *state, const float *row, size_t count) {
  size_t blocks = (count + TOMBOLA__BLOCK - 1) / TOMBOLA__BLOCK;
  *state = (struct floor_state){.kernels = tombola__kernels(NULL), .row = {row, count, TOMBOLA_F32}};
  state->maxima = malloc(2 * blocks * sizeof *state->maxima);
  if (!state->maxima || !state->kernels) return false;
  state->sums = state->maxima + blocks;
  state->kernels->block_max(&state->row, NULL, state->maxima);
  state->max = state->kernels->max(state->maxima, blocks);
  return true;
}

/* ---- a line ---- */

/* On a row where all survive, mirostat's bound must let them. */
static struct bench_case adapted(const struct bench_line *line) {
  struct bench_case which = *line->which;
  if (line->shape == SHAPE_ALL && which.mirostat_tau > 0) which.mirostat_tau *= 4;
  return which;
}

/* Measures all subjects; false without memory. */
static bool measure_all(struct bench_line *line, struct ours *ours, struct bench_peer *peer, size_t runs) {
  struct bench_subject subjects[3] = {{.run = ours_run, .self = ours}};
  struct bench_times times[3];
  struct floor_state state = {0};
  bool reset = needs_reset(line->which), cold = line->shape == SHAPE_COLD;
  size_t n = 1, peer_at = 0, floor_at = 0;
  if (reset) subjects[0].prepare = ours_reset;
#ifdef TOMBOLA_WITH_LLAMA
  if (peer) {
    peer_at = n;
    subjects[n++] = (struct bench_subject){reset ? bench_peer_reset : NULL, bench_peer_run, peer};
  }
#else
  (void)peer;
#endif
  if (line->which->floor != FLOOR_NONE) {
    if (!floor_new(&state, ours->row.data, line->vocab)) {
      free(state.maxima);
      return false;
    }
    floor_at = n;
    subjects[n++] =
        (struct bench_subject){NULL, line->which->floor == FLOOR_MAX ? floor_max : floor_expsum, &state};
  }
  bool done = bench_measure(subjects, n, runs, cold, times);
  if (done) line->ours = times[0];
  if (done && peer_at) line->peer = times[peer_at];
  if (done && floor_at) line->floor = times[floor_at];
  free(state.maxima);
  return done;
}

int bench_measure_line(struct bench_line *line, const float *row, size_t runs) {
  static tombola_token history[BENCH_MOST_HISTORY];
  struct bench_case which = adapted(line);
  struct bench_peer *peer = NULL;
  struct tombola_error error = {0};
  struct ours ours = {
      .row = {row, line->vocab, TOMBOLA_F32}, .history = history, .n_history = which.n_history};
  bench_fill_history(history, which.n_history, line->vocab);
  enum tombola_status status = ours_new(line, &which, &ours, &error);
  if (status != TOMBOLA_OK) {
    tombola_sampler_free(ours.sampler);
    return complain_error(status, &error);
  }
#ifdef TOMBOLA_WITH_LLAMA
  peer = bench_peer_new(&which, row, line->vocab, history);
#endif
  for (size_t i = 0; i < WARM_RUNS; i++)
    ours_run(&ours);
  ours.allocations = 0;
  bool done = measure_all(line, &ours, peer, runs);
  line->memory = tombola_sampler_memory(ours.sampler);
  line->allocations = ours.allocations;
#ifdef TOMBOLA_WITH_LLAMA
  bench_peer_free(peer);
#endif
  tombola_sampler_free(ours.sampler);
  if (!done) return complain("out of memory");
  if (ours.status == TOMBOLA_OK) return EXIT_OK;
  return complain("%s: %s", line->which->name, tombola_status_text(ours.status));
}
