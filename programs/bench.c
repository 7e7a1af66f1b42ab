/* SPDX-License-Identifier: Apache-2.0 */
/* `tombola bench`: the time of one token, of tombola and of llama.cpp, on the same rows, in one process and
 * one thread. The minimum of many runs is compared: it is what the code costs; the median shows how calm the
 * machine was. */
#include "bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "options.h"
#include "terminal.h"

#define HISTORY     64
#define WORST_VOCAB 151936

static const struct bench_case cases[] = {
    {.name = "greedy", .floor = FLOOR_MAX, .temperature = 0, .top_p = 1, .repeat_penalty = 1},
    {.name = "llama_default",
     .floor = FLOOR_MAX,
     .temperature = 0.8f,
     .top_k = 40,
     .top_p = 0.95f,
     .min_p = 0.05f,
     .repeat_penalty = 1},
    {.name = "penalties",
     .floor = FLOOR_MAX,
     .temperature = 0.8f,
     .top_k = 40,
     .top_p = 0.95f,
     .min_p = 0.05f,
     .repeat_penalty = 1.1f,
     .repeat_last_n = HISTORY},
    {.name = "min_p", .floor = FLOOR_MAX, .temperature = 1, .top_p = 1, .min_p = 0.1f, .repeat_penalty = 1},
    {.name = "plain", .floor = FLOOR_EXPSUM, .temperature = 1, .top_p = 1, .repeat_penalty = 1},
    {.name = "top_p", .floor = FLOOR_EXPSUM, .temperature = 1, .top_p = 0.9f, .repeat_penalty = 1},
};
enum { CASE_COUNT = sizeof cases / sizeof *cases };

static const size_t vocabularies[] = {32000, 151936, 262144};
static const char *const floor_names[] = {NULL, "max", "expsum"};
static const char *const shape_names[SHAPE_COUNT] = {"", "/equal", "/ascending", "/descending"};

/* One line of the result. */
struct bench_line {
  const struct bench_case *which;
  enum bench_shape shape;
  size_t vocab;
  struct bench_times ours, peer, floor; /* a minimum of 0: not measured */
};

static const char *line_name(const struct bench_line *line, char *name, size_t size) {
  snprintf(name, size, "%s%s", line->which->name, shape_names[line->shape]);
  return name;
}

/* ---- what is measured ---- */

struct ours {
  tombola_sampler *sampler;
  struct tombola_row row;
  enum tombola_status status; /* the first failure */
};

static void ours_run(void *self) {
  struct ours *ours = self;
  tombola_token token = TOMBOLA_NO_TOKEN;
  enum tombola_status status = tombola_sampler_sample(ours->sampler, &ours->row, NULL, &token);
  if (status == TOMBOLA_OK) status = tombola_sampler_accept(ours->sampler, token);
  if (ours->status == TOMBOLA_OK) ours->status = status;
}

static enum tombola_status ours_new(const struct bench_case *which, const float *row, size_t count,
                                    const tombola_token *history, struct ours *ours,
                                    struct tombola_error *error) {
  struct tombola_sampler_params params = {.struct_size = sizeof params};
  enum tombola_status status = tombola_sampler_params_default(&params, "llama.cpp", error);
  if (status != TOMBOLA_OK) return status;
  params.seed = 1;
  params.seed_mode = TOMBOLA_SEED_FIXED;
  params.temperature = which->temperature;
  params.top_k = which->top_k;
  params.top_p = which->top_p;
  params.min_p = which->min_p;
  params.repeat_penalty = which->repeat_penalty;
  params.repeat_last_n = which->repeat_last_n;
  *ours = (struct ours){.row = {.data = row, .count = count, .dtype = TOMBOLA_F32}};
  status = tombola_sampler_new(&params, NULL, count, NULL, &ours->sampler, error);
  return status == TOMBOLA_OK ? tombola_sampler_begin(ours->sampler, history, HISTORY) : status;
}

/* The floor: the kernel alone, on the same warm row. "max" is the pass over the row that finds the maxima. */
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

/* ---- one case ---- */

static int measure(struct bench_line *line, const float *row, const tombola_token *history, size_t runs) {
  struct bench_subject subjects[3];
  struct bench_times times[3];
  struct tombola_error error = {0};
  struct ours ours = {0};
  size_t n = 1;
  enum tombola_status status = ours_new(line->which, row, line->vocab, history, &ours, &error);
  if (status != TOMBOLA_OK) {
    tombola_sampler_free(ours.sampler);
    return complain_error(status, &error);
  }
  subjects[0] = (struct bench_subject){ours_run, &ours};
#ifdef TOMBOLA_WITH_LLAMA
  struct bench_peer *peer = bench_peer_new(line->which, row, line->vocab, history, HISTORY);
  size_t peer_at = n;
  if (peer) subjects[n++] = (struct bench_subject){bench_peer_run, peer};
#endif
  struct floor_state state;
  size_t floor_at = n;
  if (floor_new(&state, row, line->vocab))
    subjects[n++] =
        (struct bench_subject){line->which->floor == FLOOR_MAX ? floor_max : floor_expsum, &state};
  bool done = bench_measure(subjects, n, runs, times);
  line->ours = times[0];
  if (n > floor_at) line->floor = times[floor_at];
  free(state.maxima);
#ifdef TOMBOLA_WITH_LLAMA
  if (peer) line->peer = times[peer_at];
  bench_peer_free(peer);
#endif
  tombola_sampler_free(ours.sampler);
  if (!done) return complain("out of memory");
  return ours.status == TOMBOLA_OK ? EXIT_OK
                                   : complain("%s: %s", line->which->name, tombola_status_text(ours.status));
}

/* ---- output ---- */

static void print_number(const char *name, double value, int decimals) {
  printf(", \"%s\": ", name);
  if (value > 0)
    printf("%.*f", decimals, value);
  else
    fputs("null", stdout);
}

static void print_json(const struct bench_line *line, bool first) {
  const char *floor = line->floor.min > 0 ? floor_names[line->which->floor] : NULL;
  printf("%s{\"case\": \"%s%s\", \"vocab\": %zu", first ? "" : ",\n ", line->which->name,
         shape_names[line->shape], line->vocab);
  printf(", \"ns_min\": %.0f, \"ns_median\": %.0f", line->ours.min, line->ours.median);
  printf(floor ? ", \"floor\": \"%s\"" : ", \"floor\": null", floor);
  print_number("floor_ratio", floor ? line->ours.min / line->floor.min : 0, 3);
  printf(", \"peer\": %s", line->peer.min > 0 ? "\"llama.cpp\"" : "null");
  print_number("peer_ns_min", line->peer.min, 0);
  print_number("ratio", line->peer.min / line->ours.min, 2);
  putchar('}');
}

static void print_line(const struct bench_line *line) {
  char name[64];
  printf("%-24s %7zu %10.1f %10.1f", line_name(line, name, sizeof name), line->vocab, line->ours.min / 1e3,
         line->ours.median / 1e3);
  if (line->floor.min > 0)
    printf("   %6.2f x %-6s", line->ours.min / line->floor.min, floor_names[line->which->floor]);
  else
    printf("   %15s", "");
  if (line->peer.min > 0) printf(" %12.1f %8.1f x", line->peer.min / 1e3, line->peer.min / line->ours.min);
  putchar('\n');
}

/* "model name : ..." of the first processor, where the system tells. */
static void machine_name(char *name, size_t size) {
  char line[256];
  FILE *file = fopen("/proc/cpuinfo", "r");
  snprintf(name, size, "unknown processor");
  while (file && fgets(line, sizeof line, file)) {
    char *colon = strchr(line, ':');
    if (strncmp(line, "model name", 10) != 0 || !colon) continue;
    line[strcspn(line, "\n")] = '\0';
    snprintf(name, size, "%s", colon + 1 + strspn(colon + 1, " "));
    break;
  }
  if (file) fclose(file);
}

static int print_head(bool json) {
  struct tombola_error error = {0};
  const char *cpu = NULL;
  char machine[128];
  enum tombola_status status = tombola_cpu(&cpu, &error);
  if (status != TOMBOLA_OK) return complain_error(status, &error);
  machine_name(machine, sizeof machine);
  note("%s, %s, one thread, tombola %s", machine, cpu, tombola_version());
  if (json)
    putchar('[');
  else
    printf("%-24s %7s %10s %10s   %-15s %12s %10s\n", "case (times in us)", "vocab", "min", "median",
           "over its floor", "llama.cpp", "faster");
  return EXIT_OK;
}

/* ---- the command ---- */

/* The cases and shapes that were asked for; worst rows only at one size, unless sizes were chosen. */
static bool wanted(const struct options *options, const struct bench_line *line) {
  char name[64];
  if (line->shape != SHAPE_USUAL && !options->bench_vocab && line->vocab != WORST_VOCAB) return false;
  line_name(line, name, sizeof name);
  return !options->bench_case || strcmp(options->bench_case, line->which->name) == 0 ||
         strcmp(options->bench_case, name) == 0;
}

static int bench_row(const struct options *options, enum bench_shape shape, size_t vocab, size_t *lines) {
  tombola_token history[HISTORY];
  float *row = malloc(vocab * sizeof *row);
  int code = row ? EXIT_OK : complain("out of memory");
  if (row) bench_fill_row(row, vocab, shape);
  bench_fill_history(history, HISTORY, vocab);
  for (size_t i = 0; code == EXIT_OK && i < CASE_COUNT; i++) {
    struct bench_line line = {.which = &cases[i], .shape = shape, .vocab = vocab};
    if (!wanted(options, &line)) continue;
    progress_show(cases[i].name, (double)i / CASE_COUNT);
    code = measure(&line, row, history, (size_t)options->bench_runs);
    progress_clear();
    if (code != EXIT_OK) break;
    if (options->json)
      print_json(&line, *lines == 0);
    else
      print_line(&line);
    fflush(stdout);
    ++*lines;
  }
  free(row);
  return code;
}

static int check_case(const char *wish) {
  for (int shape = 0; shape < SHAPE_COUNT; shape++) {
    for (size_t i = 0; i < CASE_COUNT; i++) {
      struct bench_line line = {.which = &cases[i], .shape = (enum bench_shape)shape};
      char name[64];
      if (strcmp(line_name(&line, name, sizeof name), wish) == 0) return EXIT_OK;
    }
  }
  return complain_usage(
      "--case %s: no such case; there are greedy, llama_default, penalties, min_p, plain and top_p, "
      "each also as NAME/equal, NAME/ascending and NAME/descending",
      wish);
}

static int bench_all(const struct options *options) {
  size_t lines = 0;
  int code = options->bench_case ? check_case(options->bench_case) : EXIT_OK;
  if (code == EXIT_OK) code = print_head(options->json);
  for (int shape = 0; code == EXIT_OK && shape < SHAPE_COUNT; shape++) {
    if (options->bench_vocab) {
      code = bench_row(options, (enum bench_shape)shape, (size_t)options->bench_vocab, &lines);
      continue;
    }
    for (size_t i = 0; code == EXIT_OK && i < sizeof vocabularies / sizeof *vocabularies; i++)
      code = bench_row(options, (enum bench_shape)shape, vocabularies[i], &lines);
  }
  if (options->json && code == EXIT_OK) puts("]");
  return code;
}

int command_bench(struct options *options) {
  int code = bench_all(options);
  int finished = output_finish();
  return code ? code : finished;
}
