/* SPDX-License-Identifier: Apache-2.0 */
/* The table of `tombola sample`: the kept tokens, the likeliest first, with a bar, and how often each was
 * drawn. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sample.h"

#define BAR_WIDTH 32

static int by_probability(const void *a, const void *b) {
  const struct tombola_candidate *x = a, *y = b;
  if (x->p != y->p) return x->p < y->p ? 1 : -1;
  if (x->logit < y->logit || x->logit > y->logit) return x->logit < y->logit ? 1 : -1;
  return (x->id > y->id) - (x->id < y->id);
}

static size_t count_of(const struct sample_result *result, tombola_token id) {
  size_t n = 0;
  for (size_t i = 0; i < result->n_tokens; i++)
    n += result->tokens[i] == id;
  return n;
}

bool sample_utf8(void) {
  static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *value = getenv(names[i]);
    if (value && *value)
      return strstr(value, "UTF-8") || strstr(value, "utf8") || strstr(value, "UTF8") ||
             strstr(value, "utf-8");
  }
  return false;
}

long sample_bar(FILE *out, double part, int width, bool utf8) {
  static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  long units = lround(part * width * 8);
  long full = utf8 ? units / 8 : (units + 4) / 8;
  for (long i = 0; i < full; i++)
    fputs(utf8 ? "█" : "#", out);
  if (!utf8 || units % 8 == 0) return full;
  fputs(eighths[units % 8], out);
  return full + 1;
}

/* The rest in one line, so that nothing kept or drawn is silently left out. */
static void print_rest(FILE *out, const struct sample_result *result, const struct tombola_candidate *sorted,
                       size_t shown) {
  double mass = 0;
  size_t draws = result->n_tokens;
  for (size_t i = shown; i < result->n_kept; i++)
    mass += sorted[i].p;
  for (size_t i = 0; i < shown; i++)
    draws -= count_of(result, sorted[i].id);
  fprintf(out, "%9s  %10s  %7.3f%%  %zu more tokens", "...", "", 100 * mass, result->n_kept - shown);
  if (draws) fprintf(out, ", drawn %zu times", draws);
  putc('\n', out);
}

static void print_tokens(FILE *out, const struct sample_result *result) {
  const size_t most = 32;
  if (result->n_tokens == 0) return;
  fputs("drawn:", out);
  for (size_t i = 0; i < result->n_tokens && i < most; i++)
    fprintf(out, " %d", (int)result->tokens[i]);
  fputs(result->n_tokens > most ? " ...\n" : "\n", out);
}

void sample_print_table(FILE *out, const struct sample_request *request, const struct sample_result *result,
                        size_t top) {
  struct tombola_candidate *sorted = malloc(result->n_kept * sizeof *sorted + 1);
  if (!sorted) return;
  memcpy(sorted, result->kept, result->n_kept * sizeof *sorted);
  qsort(sorted, result->n_kept, sizeof *sorted, by_probability);
  size_t shown = result->n_kept < top ? result->n_kept : top;
  bool utf8 = sample_utf8();

  fprintf(out, "%s: %zu of %zu tokens kept, seed %llu\n%s\n\n", request->params.dialect, result->n_kept,
          request->row.row.count, (unsigned long long)result->seed, result->chain);
  fprintf(out, "%9s  %10s  %8s  %-*s %8s\n", "token", "logit", "p", BAR_WIDTH, "", "drawn");
  for (size_t i = 0; i < shown; i++) {
    size_t count = count_of(result, sorted[i].id);
    fprintf(out, "%9d  %10.4f  %7.3f%%  ", (int)sorted[i].id, (double)sorted[i].logit, 100 * sorted[i].p);
    long width = sample_bar(out, sorted[i].p, BAR_WIDTH, utf8);
    if (count) fprintf(out, "%*s %8zu", (int)(BAR_WIDTH - width), "", count);
    putc('\n', out);
  }
  if (shown < result->n_kept) print_rest(out, result, sorted, shown);
  putc('\n', out);
  print_tokens(out, result);
  free(sorted);
}
