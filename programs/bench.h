/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of `tombola bench` share: the cases, the rows, and one way to measure. */
#ifndef TOMBOLA_BENCH_H
#define TOMBOLA_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <tombola/sampler.h>

/* The kernel that bounds a case from below: no sampler can do without it. */
enum bench_floor { FLOOR_NONE, FLOOR_MAX, FLOOR_EXPSUM };

/* The parameters of a case, for tombola and for its peer alike; stages in llama.cpp's order. What is 0 (or 1 for
 * top_p, typical_p and repeat_penalty) is off. */
struct bench_case {
  const char *name;
  enum bench_floor floor;
  float temperature; /* 0: greedy */
  float top_p, min_p, typical_p, top_n_sigma, repeat_penalty, dry_multiplier, mirostat_tau;
  int32_t top_k;
  size_t n_history; /* tokens that came before; repeat_penalty or dry looks at all of them */
  /* What it should be at BENCH_TARGET_VOCAB on the usual row: at least so many times as fast as llama.cpp, at most so
   * many times its floor (0: no bound). */
  double least_ratio, most_floor_ratio;
};

#define BENCH_TARGET_VOCAB 151936
#define BENCH_MOST_HISTORY 4096
#define BENCH_MIROSTAT_ETA 0.1f
#define BENCH_DRY_BASE     1.75f
#define BENCH_DRY_ALLOWED  2

/* How the logits of a row lie (bench_rows.c). Cold is the usual row, pushed out of the near caches before each run. */
enum bench_shape {
  SHAPE_USUAL,
  SHAPE_FLAT,
  SHAPE_COLD,
  SHAPE_EQUAL,
  SHAPE_ASCENDING,
  SHAPE_DESCENDING,
  SHAPE_ONE,
  SHAPE_ALL,
  SHAPE_COUNT
};

/* What is measured: one token from one row. `self` is the subject's state. `prepare` may be NULL; it comes before each
 * run and isn't timed. */
struct bench_subject {
  void (*prepare)(void *self);
  void (*run)(void *self);
  void *self;
};

struct bench_times {
  double min, median; /* nanoseconds */
};

/* One line of the result. */
struct bench_line {
  const struct bench_case *which;
  enum bench_shape shape;
  size_t vocab;
  struct bench_times ours, peer, floor; /* a minimum of 0: not measured */
  double usual;                         /* our minimum on the usual row; 0: not measured */
  double creation;                      /* nanoseconds to make the sampler */
  size_t memory;                        /* bytes that it holds in the end */
  size_t allocations;                   /* during all runs that are measured */
};

/* ---- cases (bench_cases.c) ---- */

size_t bench_case_count(void);
const struct bench_case *bench_case_at(size_t index);
/* "min_p/flat". */
const char *bench_line_name(const struct bench_line *line, char *name, size_t size);
/* Measures a line on its row; the exit status, after a complaint. */
int bench_measure_line(struct bench_line *line, const float *row, size_t runs);

/* ---- rows and the clock (bench_rows.c) ---- */

/* "/flat"; "" for the usual row. */
const char *bench_shape_name(enum bench_shape shape);

/* Fills a row; the same on every machine. */
void bench_fill_row(float *row, size_t count, enum bench_shape shape);

/* The tokens that came before: random ones for up to 64, beyond that a text with repetitions. */
void bench_fill_history(tombola_token *history, size_t n, size_t vocab);

/* Measures the subjects in turn, so that a slow moment of the machine hits all of them: `runs` times each, or
 * when that is 0 until half a second has passed, at least 30 times and at most 200. With `cold` whatever was in the
 * near caches is pushed out before each run. */
bool bench_measure(const struct bench_subject *subjects, size_t n, size_t runs, bool cold,
                   struct bench_times *times);
double bench_now(void); /* nanoseconds */

/* ---- output (bench_report.c) ---- */

void bench_print_head(bool json);
void bench_print_line(const struct bench_line *line, bool json, bool first);
/* Takes a line's figures into account, and says in the end which targets they meet. */
void bench_judge(const struct bench_line *line);
void bench_print_verdict(void);

/* ---- llama.cpp's chain for a case (bench_peer.c) ---- */

struct bench_peer;
/* NULL without memory. The row and the history are borrowed. */
struct bench_peer *bench_peer_new(const struct bench_case *which, const float *row, size_t count,
                                  const tombola_token *history);
void bench_peer_free(struct bench_peer *peer);
void bench_peer_run(void *peer);
void bench_peer_reset(void *peer); /* to the state after _new */

#endif
