/* SPDX-License-Identifier: Apache-2.0 */
/* What `tombola bench` says: a line a case, as a table or in JSON, and at the end, on standard error, which targets
 * the measured lines meet and by how much the others are missed. */
#include "bench.h"

#include <stdio.h>
#include <string.h>

#include "terminal.h"

#define MOST_OF_USUAL    3.0         /* the worst row, in usual rows */
#define MOST_MEMORY      2500000     /* bytes of any sampler */
#define DEFAULT_MEMORY   (64 * 1024) /* and of llama_default's on the target row */
#define MOST_CREATION_NS 100e3
#define MOST_MISSES      200

static const char *const floor_names[] = {NULL, "max", "expsum"};

static double quotient(double a, double b) {
  return a > 0 && b > 0 ? a / b : 0;
}

/* ---- lines ---- */

static void json_number(const char *name, double value, int decimals) {
  printf(", \"%s\": ", name);
  if (value > 0)
    printf("%.*f", decimals, value);
  else
    fputs("null", stdout);
}

static void print_json(const struct bench_line *line, const char *name, bool first) {
  const char *floor = line->floor.min > 0 ? floor_names[line->which->floor] : NULL;
  printf("%s{\"case\": \"%s\", \"vocab\": %zu", first ? "" : ",\n ", name, line->vocab);
  printf(", \"ns_min\": %.0f, \"ns_median\": %.0f", line->ours.min, line->ours.median);
  printf(floor ? ", \"floor\": \"%s\"" : ", \"floor\": null", floor);
  json_number("floor_ratio", quotient(line->ours.min, line->floor.min), 3);
  printf(", \"peer\": %s", line->peer.min > 0 ? "\"llama.cpp\"" : "null");
  json_number("peer_ns_min", line->peer.min, 0);
  json_number("ratio", quotient(line->peer.min, line->ours.min), 2);
  json_number("usual_ratio", quotient(line->ours.min, line->usual), 2);
  printf(", \"memory\": %zu, \"creation_ns\": %.0f, \"allocations\": %zu}", line->memory, line->creation,
         line->allocations);
}

static void print_row(const struct bench_line *line, const char *name) {
  printf("%-24s %7zu %9.1f %9.1f", name, line->vocab, line->ours.min / 1e3, line->ours.median / 1e3);
  if (line->floor.min > 0)
    printf(" %6.2f x %-6s", line->ours.min / line->floor.min, floor_names[line->which->floor]);
  else
    printf(" %15s", "");
  if (line->peer.min > 0)
    printf(" %10.1f %7.1f x", line->peer.min / 1e3, line->peer.min / line->ours.min);
  else
    printf(" %20s", "");
  if (line->shape != SHAPE_USUAL && line->usual > 0)
    printf(" %6.2f x", line->ours.min / line->usual);
  else
    printf(" %8s", "");
  printf(" %7.1f %6.1f %6zu\n", (double)line->memory / 1024, line->creation / 1e3, line->allocations);
}

void bench_print_head(bool json) {
  if (json)
    putchar('[');
  else
    printf("%-24s %7s %9s %9s %-15s %10s %9s %8s %7s %6s %6s\n", "case (times in us)", "vocab", "min",
           "median", " over its floor", "llama.cpp", "faster", "of usual", "KB", "to make", "allocs");
}

void bench_print_line(const struct bench_line *line, bool json, bool first) {
  char name[64];
  bench_line_name(line, name, sizeof name);
  if (json)
    print_json(line, name, first);
  else
    print_row(line, name);
  fflush(stdout);
}

/* ---- targets ---- */

static size_t judged, missed;
static double slowest_creation;
static size_t most_memory, most_allocations;
static char misses[MOST_MISSES][120]; /* said in the end, not among the lines of the table */

static char *next_miss(void) {
  size_t at = missed < MOST_MISSES ? missed : MOST_MISSES - 1;
  missed++;
  return misses[at];
}

/* Takes down a figure that misses its bound. */
static void judge(const struct bench_line *line, const char *what, double value, double bound,
                  bool at_least) {
  char name[64];
  if (value <= 0 || bound <= 0) return;
  judged++;
  if (at_least ? value >= bound : value <= bound) return;
  snprintf(next_miss(), sizeof *misses, "%s at %zu: %.2f x %s, should be at %s %g",
           bench_line_name(line, name, sizeof name), line->vocab, value, what, at_least ? "least" : "most",
           bound);
}

void bench_judge(const struct bench_line *line) {
  const struct bench_case *which = line->which;
  double ratio = quotient(line->peer.min, line->ours.min);
  double floor_ratio = quotient(line->ours.min, line->floor.min);
  if (line->shape == SHAPE_USUAL && line->vocab == BENCH_TARGET_VOCAB) {
    judge(line, "as fast as llama.cpp", ratio, which->least_ratio, true);
    if (line->floor.min > 0)
      judge(line, floor_names[which->floor], floor_ratio, which->most_floor_ratio, false);
  } else {
    judge(line, "as fast as llama.cpp", ratio, 1, true);
  }
  /* A cold row is as slow as the memory that it comes from, a flat one is judged beside llama.cpp. */
  if (line->shape > SHAPE_COLD)
    judge(line, "its usual row", quotient(line->ours.min, line->usual), MOST_OF_USUAL, false);
  if (strcmp(which->name, "llama_default") == 0 && line->shape == SHAPE_USUAL &&
      line->vocab == BENCH_TARGET_VOCAB)
    judge(line, "64 KB", (double)line->memory / DEFAULT_MEMORY, 1, false);
  judge(line, "2.5 MB", (double)line->memory / MOST_MEMORY, 1, false);
  judge(line, "100 us to make", line->creation / MOST_CREATION_NS, 1, false);
  judged++;
  if (line->allocations > 0)
    snprintf(next_miss(), sizeof *misses, "%s at %zu: %zu allocations, should be none", which->name,
             line->vocab, line->allocations);
  if (line->memory > most_memory) most_memory = line->memory;
  if (line->creation > slowest_creation) slowest_creation = line->creation;
  most_allocations += line->allocations;
}

void bench_print_verdict(void) {
  for (size_t i = 0; i < missed && i < MOST_MISSES; i++)
    note("missed: %s", misses[i]);
  note("%zu of %zu targets met; the largest sampler holds %.0f KB, the slowest took %.1f us to make; %zu "
       "allocations",
       judged - missed, judged, (double)most_memory / 1024, slowest_creation / 1e3, most_allocations);
}
