/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of `tombola bench`, and the clock.
 *
 * The usual row looks like the logits of a language model in the middle of a sentence: a bulk of tokens that
 * are out of the question, bell-shaped with deviation 2.5 around 0, and 64 contenders at random places whose
 * logits fall as 22 - 2 ln(rank), which is Zipf's law with exponent 2 for their probabilities. The bulk holds
 * about 0.1 % of the mass, so that a nucleus of 0.9 has six tokens and min-p 0.1 keeps three. */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "bench.h"
#include <math.h>

#define MIN_RUNS 30
#define MAX_RUNS 200
#define TURN     5
#define SECOND   1e9
#define BUDGET   (SECOND / 2)

/* More than the caches of a core hold; whatever else was there goes to a shared cache or to memory. */
#define PUSH_BYTES ((size_t)48 << 20)
#define PUSH_STEP  64

/* splitmix64 (Steele, Lea and Flood, 2014). */
static uint64_t next(uint64_t *state) {
  uint64_t z = *state += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/* The sum of twelve uniforms has variance 1 and needs no library function whose last bit differs by machine.
 */
static float bell(uint64_t *state, double deviation) {
  double sum = -6;
  for (int i = 0; i < 12; i++)
    sum += (double)(next(state) >> 11) * 0x1p-53;
  return (float)(sum * deviation);
}

static void fill_usual(float *row, size_t count) {
  uint64_t state = 20240607;
  for (size_t i = 0; i < count; i++)
    row[i] = bell(&state, 2.5);
  for (int rank = 1; rank <= 64; rank++)
    row[next(&state) % count] = (float)(22 - 2 * log(rank));
}

static void fill_even(float *row, size_t count, float width) {
  uint64_t state = 11;
  for (size_t i = 0; i < count; i++)
    row[i] = (float)((double)(next(&state) >> 11) * 0x1p-53) * width;
}

/* From 20 down to -20, so that the tail's weights vanish as in a real row. */
static float slope(size_t i, size_t count) {
  return (float)(20 - 40.0 * (double)i / (double)count);
}

void bench_fill_row(float *row, size_t count, enum bench_shape shape) {
  switch (shape) {
  case SHAPE_USUAL:
  case SHAPE_COLD:
  case SHAPE_COUNT: fill_usual(row, count); return;
  case SHAPE_ONE:
    /* So far above that everything else has no weight. */
    fill_usual(row, count);
    row[count / 3] = 150;
    return;
  case SHAPE_FLAT: fill_even(row, count, 0.05f); return;
  case SHAPE_ALL: fill_even(row, count, 2); return; /* min-p 0.1 reaches 2.3 down */
  case SHAPE_EQUAL:
    for (size_t i = 0; i < count; i++)
      row[i] = 1;
    return;
  case SHAPE_ASCENDING:
    for (size_t i = 0; i < count; i++)
      row[i] = slope(count - 1 - i, count);
    return;
  case SHAPE_DESCENDING:
    for (size_t i = 0; i < count; i++)
      row[i] = slope(i, count);
    return;
  }
}

const char *bench_shape_name(enum bench_shape shape) {
  static const char *const names[SHAPE_COUNT] = {"",           "/flat",       "/cold", "/equal",
                                                 "/ascending", "/descending", "/one",  "/all"};
  return names[shape];
}

/* The text uses 512 tokens, and each fourth stretch of 32 says what the one before it said; the last one does. */
void bench_fill_history(tombola_token *history, size_t n, size_t vocab) {
  uint64_t state = 7;
  size_t words = n > 64 && vocab > 512 ? 512 : vocab;
  for (size_t i = 0; i < n; i++) {
    uint64_t word = next(&state) % words;
    history[i] = (tombola_token)(word * (vocab / words));
    if (n > 64 && i / 32 % 4 == 3) history[i] = history[i - 32];
  }
}

/* ---- the clock ---- */

double bench_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * SECOND + (double)time.tv_nsec;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* One turn of a subject: once to have the row and its own memory in the cache, then a few times by the clock. */
static void take_turn(const struct bench_subject *subject, unsigned char *push, double *times, size_t n) {
  for (size_t i = 0; i <= n; i++) {
    if (subject->prepare) subject->prepare(subject->self);
    for (size_t at = 0; push && at < PUSH_BYTES; at += PUSH_STEP)
      push[at]++;
    double before = bench_now();
    subject->run(subject->self);
    if (i > 0) times[i - 1] = bench_now() - before;
  }
}

bool bench_measure(const struct bench_subject *subjects, size_t n, size_t runs, bool cold,
                   struct bench_times *times) {
  size_t room = runs ? runs : MAX_RUNS, done = 0;
  double *all = malloc(n * room * sizeof *all);
  unsigned char *push = cold ? calloc(PUSH_BYTES, 1) : NULL;
  bool ready = all && (push || !cold);
  double begun = bench_now();
  while (ready && done < room && (runs || done < MIN_RUNS || bench_now() - begun < BUDGET)) {
    size_t turn = room - done < TURN ? room - done : TURN;
    for (size_t s = 0; s < n; s++)
      take_turn(&subjects[s], push, all + s * room + done, turn);
    done += turn;
  }
  for (size_t s = 0; ready && s < n; s++) {
    qsort(all + s * room, done, sizeof *all, by_value);
    times[s] = (struct bench_times){.min = all[s * room], .median = all[s * room + done / 2]};
  }
  free(push);
  free(all);
  return ready;
}
