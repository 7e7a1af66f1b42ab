/* SPDX-License-Identifier: Apache-2.0 */
/* `tombola sample --trace`: the way from the row to the token, a line a stage, as a table or as JSON. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sample.h"
#include "yyjson.h"

#define COLUMNS     2  /* tokens side by side */
#define FUNNEL      10 /* characters of the bar of all tokens */
#define LINE        60 /* characters of the line from 0 to 1 */
#define TOKEN_WIDTH 17

/* What the printing needs at hand. `ids` are the drawn token, then the watched ones. */
struct sheet {
  FILE *out;
  const tombola_trace *trace;
  const tombola_token *ids;
  size_t n_ids;
  bool utf8, color;
};

/* ---- the ids ---- */

/* The drawn token first, then those asked for, or the likeliest that were kept; each once. */
static size_t collect(const struct sample_request *request, const struct sample_result *result,
                      tombola_token *ids) {
  const struct tombola_trace_draw *draw = tombola_trace_draw(result->trace);
  size_t n = 0, wanted = request->n_watch ? request->n_watch : COLUMNS - 1;
  if (draw) ids[n++] = draw->token;
  for (size_t i = 0; i < wanted && (request->n_watch || i < result->n_kept); i++) {
    tombola_token id = request->n_watch ? request->watch[i] : TOMBOLA_NO_TOKEN;
    double best = -1;
    for (size_t k = 0; !request->n_watch && k < result->n_kept; k++) {
      bool have = false;
      for (size_t j = 0; j < n; j++)
        have = have || ids[j] == result->kept[k].id;
      if (have || result->kept[k].p <= best) continue;
      best = result->kept[k].p;
      id = result->kept[k].id;
    }
    bool have = id < 0;
    for (size_t j = 0; j < n; j++)
      have = have || ids[j] == id;
    if (!have) ids[n++] = id;
  }
  return n;
}

static size_t room_for_ids(const struct sample_request *request) {
  return request->n_watch + COLUMNS + 1;
}

/* ---- the table ---- */

static void paint(const struct sheet *s, const char *code) {
  if (s->color) fprintf(s->out, "\033[%sm", code);
}

static void print_head(const struct sheet *s, size_t first, size_t last) {
  fprintf(s->out, "%-11s %7s %*s %9s %8s %8s", "", "", FUNNEL, "", "lowest", "holds of", "of what");
  for (size_t i = first; i < last; i++) {
    char title[48];
    snprintf(title, sizeof title, i ? "token %d" : "%d (drawn)", (int)s->ids[i]);
    paint(s, i ? "0" : "1");
    fprintf(s->out, "  %*s", TOKEN_WIDTH, title);
    paint(s, "0");
  }
  fprintf(s->out, "\n%-11s %7s %*s %9s %8s %8s", "", "tokens", FUNNEL, "", "logit", "the row", "came in");
  for (size_t i = first; i < last; i++)
    fprintf(s->out, "  %*s %*s", TOKEN_WIDTH - 10, "rank", 9, "p");
  putc('\n', s->out);
}

/* One place of the funnel for each factor of the vocabulary's root: a stage that leaves 40 of 150,000 is seen
 * as well as one that leaves 4 of 40. */
static void print_funnel(const struct sheet *s, size_t count) {
  size_t all = tombola_trace_step(s->trace, 0)->before.count;
  double part = all > 1 && count ? log((double)count) / log((double)all) : 0;
  long width = sample_bar(s->out, part, FUNNEL, s->utf8);
  fprintf(s->out, "%*s", (int)(FUNNEL - width), "");
}

static void print_place(const struct sheet *s, size_t step, tombola_token id, bool drawn) {
  struct tombola_trace_place place;
  tombola_trace_find(s->trace, step, id, &place);
  fputs("  ", s->out);
  if (place.there) {
    paint(s, drawn ? "1" : "0");
    fprintf(s->out, "%*zu %8.3f%%", TOKEN_WIDTH - 10, place.rank + 1, 100 * place.p);
  } else if (tombola_trace_removed(s->trace, id) == step) {
    paint(s, "31");
    fprintf(s->out, "%*s", TOKEN_WIDTH, step ? "taken out" : "not allowed");
  } else {
    fprintf(s->out, "%*s", TOKEN_WIDTH, "");
  }
  paint(s, "0");
}

static void print_steps(const struct sheet *s, size_t first, size_t last) {
  print_head(s, first, last);
  for (size_t i = 0; i < tombola_trace_count(s->trace); i++) {
    const struct tombola_trace_step *step = tombola_trace_step(s->trace, i);
    fprintf(s->out, "%-11.11s %7zu ", step->name, step->after.count);
    print_funnel(s, step->after.count);
    fprintf(s->out, " %9.3f %7.3f%%", (double)step->after.least, 100 * step->after.share);
    if (step->after.count < step->before.count)
      fprintf(s->out, " %7.3f%%", 100 * step->kept);
    else
      fprintf(s->out, " %8s", "all");
    for (size_t k = first; k < last; k++)
      print_place(s, i, s->ids[k], k == 0);
    putc('\n', s->out);
  }
}

/* The line from 0 to 1, the drawn token's part of it, and where the number fell. */
static void print_line(const struct sheet *s, const struct tombola_trace_draw *draw) {
  long low = lround(draw->low * LINE), high = lround(draw->high * LINE), at = (long)(draw->uniform * LINE);
  if (high <= low) high = low + 1;
  if (at < low) at = low;
  if (at >= high) at = high - 1;
  fputs("  0 ", s->out);
  for (long i = 0; i < LINE; i++) {
    bool inside = i >= low && i < high;
    if (inside) paint(s, "1");
    if (i == at)
      fputs(s->utf8 ? "▼" : "V", s->out);
    else if (inside)
      fputs(s->utf8 ? "█" : "#", s->out);
    else
      fputs(s->utf8 ? "─" : "-", s->out);
    if (inside) paint(s, "0");
  }
  fputs(" 1\n", s->out);
}

static void print_draw(const struct sheet *s) {
  static const char *const rules[] = {"inverse CDF", "Gumbel noise", "rejection"};
  const struct tombola_trace_draw *draw = tombola_trace_draw(s->trace);
  if (!draw) return;
  if (draw->greedy) {
    fprintf(s->out, "greedy: token %d is the best%s\n", (int)draw->token,
            draw->has_uniform ? "; a random number was used up all the same" : "");
    return;
  }
  if (!draw->has_uniform) {
    fprintf(s->out, "draw (%s): token %d, %zu of %zu in the order of the draw, p %.6f\n", rules[draw->rule],
            (int)draw->token, draw->place + 1, draw->count, draw->high - draw->low);
    return;
  }
  fprintf(s->out,
          "draw: %.9f falls on token %d, whose part of the sum is %.6f to %.6f (%zu of %zu in order)\n",
          draw->uniform, (int)draw->token, draw->low, draw->high, draw->place + 1, draw->count);
  print_line(s, draw);
}

bool sample_print_trace(FILE *out, const struct sample_request *request, const struct sample_result *result,
                        bool color) {
  tombola_token *ids = malloc(room_for_ids(request) * sizeof *ids);
  if (!ids) return false;
  struct sheet s = {.out = out,
                    .trace = result->trace,
                    .ids = ids,
                    .n_ids = collect(request, result, ids),
                    .utf8 = sample_utf8(),
                    .color = color};
  for (size_t first = 0; first < s.n_ids; first += COLUMNS) {
    print_steps(&s, first, first + COLUMNS < s.n_ids ? first + COLUMNS : s.n_ids);
    putc('\n', out);
  }
  print_draw(&s);
  putc('\n', out);
  free(ids);
  return true;
}

/* ---- JSON ---- */

static void add_set(yyjson_mut_doc *doc, yyjson_mut_val *step, const char *name,
                    const struct tombola_trace_set *set) {
  yyjson_mut_val *object = yyjson_mut_obj_add_obj(doc, step, name);
  yyjson_mut_obj_add_uint(doc, object, "tokens", set->count);
  if (set->count) yyjson_mut_obj_add_real(doc, object, "threshold", (double)set->least);
  yyjson_mut_obj_add_real(doc, object, "share", set->share);
}

static void add_places(yyjson_mut_doc *doc, yyjson_mut_val *out, const tombola_trace *trace, size_t step,
                       const tombola_token *ids, size_t n) {
  yyjson_mut_val *places = yyjson_mut_obj_add_arr(doc, out, "places");
  for (size_t i = 0; i < n; i++) {
    struct tombola_trace_place place;
    yyjson_mut_val *object = yyjson_mut_arr_add_obj(doc, places);
    tombola_trace_find(trace, step, ids[i], &place);
    yyjson_mut_obj_add_int(doc, object, "id", ids[i]);
    if (!place.there) continue;
    yyjson_mut_obj_add_uint(doc, object, "rank", place.rank);
    yyjson_mut_obj_add_real(doc, object, "logit", (double)place.logit);
    yyjson_mut_obj_add_real(doc, object, "p", place.p);
  }
}

static void add_draw(yyjson_mut_doc *doc, yyjson_mut_val *out, const struct tombola_trace_draw *draw) {
  static const char *const rules[] = {"cdf", "gumbel", "rejection"};
  yyjson_mut_val *object = yyjson_mut_obj_add_obj(doc, out, "draw");
  yyjson_mut_obj_add_int(doc, object, "token", draw->token);
  yyjson_mut_obj_add_str(doc, object, "rule", draw->greedy ? "greedy" : rules[draw->rule]);
  if (draw->has_uniform) yyjson_mut_obj_add_real(doc, object, "uniform", draw->uniform);
  yyjson_mut_obj_add_real(doc, object, "low", draw->low);
  yyjson_mut_obj_add_real(doc, object, "high", draw->high);
  yyjson_mut_obj_add_uint(doc, object, "place", draw->place);
  yyjson_mut_obj_add_uint(doc, object, "count", draw->count);
}

bool sample_add_trace(yyjson_mut_doc *doc, yyjson_mut_val *root, const struct sample_request *request,
                      const struct sample_result *result) {
  const tombola_trace *trace = result->trace;
  size_t steps = tombola_trace_count(trace);
  tombola_token *ids = malloc(room_for_ids(request) * sizeof *ids);
  if (!ids) return false;
  size_t n = collect(request, result, ids);
  yyjson_mut_val *out = yyjson_mut_obj_add_obj(doc, root, "trace");
  yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, out, "steps");
  for (size_t i = 0; i < steps; i++) {
    const struct tombola_trace_step *step = tombola_trace_step(trace, i);
    yyjson_mut_val *object = yyjson_mut_arr_add_obj(doc, list);
    yyjson_mut_obj_add_strcpy(doc, object, "name", step->name);
    add_set(doc, object, "before", &step->before);
    add_set(doc, object, "after", &step->after);
    yyjson_mut_obj_add_real(doc, object, "kept", step->kept);
    add_places(doc, object, trace, i, ids, n);
  }
  yyjson_mut_val *removed = yyjson_mut_obj_add_arr(doc, out, "removed");
  for (size_t i = 0; i < n; i++) {
    size_t step = tombola_trace_removed(trace, ids[i]);
    if (step == steps) continue;
    yyjson_mut_val *object = yyjson_mut_arr_add_obj(doc, removed);
    yyjson_mut_obj_add_int(doc, object, "id", ids[i]);
    yyjson_mut_obj_add_strcpy(doc, object, "by", tombola_trace_step(trace, step)->name);
  }
  if (tombola_trace_draw(trace)) add_draw(doc, out, tombola_trace_draw(trace));
  free(ids);
  return true;
}
