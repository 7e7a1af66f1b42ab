/* SPDX-License-Identifier: Apache-2.0 */
/* `tombola bench`: the time of one token, of tombola and of llama.cpp, on the same rows, in one process and
 * one thread. The minimum of many runs is compared: it is what the code costs; the median shows how calm the
 * machine was. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "terminal.h"

static const size_t vocabularies[] = {32000, 151936, 262144};
enum { VOCABULARIES = sizeof vocabularies / sizeof *vocabularies };

/* Our minimum on the usual row of each case and size, by the index of the case; 0: not measured. */
static double *usual_of(size_t which, size_t vocab) {
  static double usual[32][VOCABULARIES + 1];
  size_t at = 0;
  while (at < VOCABULARIES && vocabularies[at] != vocab)
    at++;
  return &usual[which % 32][at];
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
  bench_print_head(json);
  return EXIT_OK;
}

/* The cases and rows that were asked for. Flat and cold rows at every size, where they must not be slower than
 * llama.cpp; other worst rows only at one, unless a size was chosen. */
static bool wanted(const struct options *options, const struct bench_line *line) {
  char name[64];
  if (line->shape > SHAPE_COLD && !options->bench_vocab && line->vocab != BENCH_TARGET_VOCAB) return false;
  bench_line_name(line, name, sizeof name);
  return !options->bench_case || strcmp(options->bench_case, line->which->name) == 0 ||
         strcmp(options->bench_case, name) == 0;
}

static int bench_row(const struct options *options, enum bench_shape shape, size_t vocab, size_t *lines) {
  float *row = malloc(vocab * sizeof *row);
  int code = row ? EXIT_OK : complain("out of memory");
  if (row) bench_fill_row(row, vocab, shape);
  for (size_t i = 0; code == EXIT_OK && i < bench_case_count(); i++) {
    struct bench_line line = {.which = bench_case_at(i), .shape = shape, .vocab = vocab};
    if (!wanted(options, &line)) continue;
    progress_show(line.which->name, (double)i / (double)bench_case_count());
    code = bench_measure_line(&line, row, (size_t)options->bench_runs);
    progress_clear();
    if (code != EXIT_OK) break;
    if (shape == SHAPE_USUAL) *usual_of(i, vocab) = line.ours.min;
    line.usual = *usual_of(i, vocab);
    bench_print_line(&line, options->json, *lines == 0);
    bench_judge(&line);
    ++*lines;
  }
  free(row);
  return code;
}

/* Refuses a case that there is not, and says which there are. */
static int check_case(const char *wish) {
  char all[512] = "", name[64];
  size_t used = 0;
  for (size_t i = 0; i < bench_case_count(); i++) {
    for (int shape = 0; shape < SHAPE_COUNT; shape++) {
      struct bench_line line = {.which = bench_case_at(i), .shape = (enum bench_shape)shape};
      if (strcmp(bench_line_name(&line, name, sizeof name), wish) == 0) return EXIT_OK;
    }
    used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "", bench_case_at(i)->name);
  }
  used += (size_t)snprintf(all + used, sizeof all - used, "; each also as");
  for (int shape = SHAPE_USUAL + 1; shape < SHAPE_COUNT; shape++)
    used += (size_t)snprintf(all + used, sizeof all - used, "%s NAME%s", shape > 1 ? "," : "",
                             bench_shape_name((enum bench_shape)shape));
  return complain_usage("--case %s: no such case; there are %s", wish, all);
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
    for (size_t i = 0; code == EXIT_OK && i < VOCABULARIES; i++)
      code = bench_row(options, (enum bench_shape)shape, vocabularies[i], &lines);
  }
  if (options->json && code == EXIT_OK) puts("]");
  if (code == EXIT_OK) bench_print_verdict();
  return code;
}

int command_bench(struct options *options) {
  int code = bench_all(options);
  int finished = output_finish();
  return code ? code : finished;
}
