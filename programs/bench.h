/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of `tombola bench` share: the cases, the rows, and one way to measure. */
#ifndef TOMBOLA_BENCH_H
#define TOMBOLA_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <tombola/sampler.h>

/* The kernel that bounds a case from below: no sampler can do without it. */
enum bench_floor { FLOOR_NONE, FLOOR_MAX, FLOOR_EXPSUM };

/* The parameters of a case, for tombola and for its peer alike; stages in llama.cpp's order. */
struct bench_case {
  const char *name;
  enum bench_floor floor;
  float temperature; /* 0: greedy */
  float top_p, min_p, repeat_penalty;
  int32_t top_k, repeat_last_n;
};

/* How the logits of a row lie. */
enum bench_shape { SHAPE_USUAL, SHAPE_EQUAL, SHAPE_ASCENDING, SHAPE_DESCENDING, SHAPE_COUNT };

/* What is measured: one token from one row. `self` is the subject's state. */
struct bench_subject {
  void (*run)(void *self);
  void *self;
};

struct bench_times {
  double min, median; /* nanoseconds */
};

/* Fills a row; the same on every machine. */
void bench_fill_row(float *row, size_t count, enum bench_shape shape);

/* The 64 tokens that came before, for the penalties. */
void bench_fill_history(tombola_token *history, size_t n, size_t vocab);

/* Measures the subjects in turn, so that a slow moment of the machine hits all of them: `runs` times each, or
 * when that is 0 until a second has passed, at least 30 times and at most 200. */
bool bench_measure(const struct bench_subject *subjects, size_t n, size_t runs, struct bench_times *times);

/* llama.cpp's chain for a case (bench_peer.c). NULL without memory. */
struct bench_peer;
struct bench_peer *bench_peer_new(const struct bench_case *which, const float *row, size_t count,
                                  const tombola_token *history, size_t n_history);
void bench_peer_free(struct bench_peer *peer);
void bench_peer_run(void *peer);

#endif
