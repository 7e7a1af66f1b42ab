/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of `tombola sample` share: a row read from a file, a request, and what the sampler made of
 * it. */
#ifndef TOMBOLA_SAMPLE_H
#define TOMBOLA_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <tombola/sampler.h>
#include <tombola/trace.h>

struct yyjson_val;
struct yyjson_mut_doc;
struct yyjson_mut_val;

/* How a row is written down. */
enum row_format { ROW_AUTO, ROW_JSON, ROW_NPY, ROW_F32, ROW_F16, ROW_BF16 };

/* A row and the memory that it lives in. */
struct sample_row {
  struct tombola_row row;
  void *memory;
};

/* Everything that one call of the sampler needs. All pointers but dialect names are owned; see
 * sample_request_free. */
struct sample_request {
  struct tombola_sampler_params params;
  const char **samplers;                    /* what params.samplers points to */
  char *sampler_text;                       /* the names that samplers points to */
  struct tombola_logit_bias *bias;          /* what params.logit_bias points to */
  struct tombola_logit_bias *fallback_bias; /* and params.fallback_bias */
  tombola_token *suppress;                  /* and params.suppress */
  const char **breakers;                    /* and params.dry_sequence_breakers */
  char *breaker_text;                       /* the texts that breakers points to */
  struct sample_row row;
  tombola_token *history;
  size_t n_history;
  uint32_t *mask_words; /* or NULL */
  size_t mask_count;
  size_t draws;
  bool trace; /* trace the first draw */
  tombola_token *watch;
  size_t n_watch;
};

/* The kept tokens (in the order of the draw), the drawn tokens, the seed that was used. */
struct sample_result {
  struct tombola_candidate *kept;
  size_t n_kept;
  tombola_token *tokens;
  size_t n_tokens;
  tombola_trace *trace; /* of the first draw, or NULL */
  uint64_t seed;
  char chain[512];
};

/* Fills in an error and returns its status. */
#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
enum tombola_status
sample_fail(struct tombola_error *error, enum tombola_status status, const char *param, const char *format,
            ...);

/* ---- rows (sample_row.c) ---- */

/* The format's name ("auto", "json", "npy", "f32", "f16", "bf16"); false when there is none of that name. */
bool row_format_find(const char *name, enum row_format *format);

/* Reads the row of a file, "-" for standard input. IO, FORMAT, NO_MEMORY, INVALID_ARGUMENT. */
enum tombola_status sample_row_load(const char *path, enum row_format format, struct sample_row *out,
                                    struct tombola_error *error);

/* A JSON array of numbers, "inf", "-inf" and "nan". */
enum tombola_status sample_row_from_json(struct yyjson_val *array, struct sample_row *out,
                                         struct tombola_error *error);

/* ---- requests (sample_request.c, sample_json.c) ---- */

void sample_request_free(struct sample_request *request);

/* A mask of `count` tokens that allows `n` ids. INVALID_ARGUMENT for an id outside, NO_MEMORY. */
enum tombola_status sample_request_mask(struct sample_request *request, const tombola_token *ids, size_t n,
                                        size_t count, struct tombola_error *error);

/* Makes a sampler, gives it the history, lists what the chain keeps and draws. The draws are independent:
 * nothing is accepted between them. Free the result in any case. */
enum tombola_status sample_request_run(const struct sample_request *request, struct sample_result *result,
                                       struct tombola_error *error);
void sample_result_free(struct sample_result *result);

/* Fills a zeroed request from one object of `--batch`. */
enum tombola_status sample_request_from_json(struct yyjson_val *object, struct sample_request *request,
                                             struct tombola_error *error);

/* Biases of JSON: {"id": bias} or [[id, bias]], a bias being a number, "-inf" or false; they take the place of *out.
 * INVALID_ARGUMENT, NO_MEMORY. */
enum tombola_status sample_biases(struct yyjson_val *value, const char *name, struct tombola_logit_bias **out,
                                  size_t *count, struct tombola_error *error);

/* One line of JSON on standard output for a result or for an error. `request` is given where the seed, the chain
 * and a trace are wanted too, else NULL. False: out of memory, or the write failed (output_finish() says that). */
bool sample_write_result(const struct sample_result *result, const struct sample_request *request);
bool sample_write_error(const struct tombola_error *error);

/* ---- output for people (sample_table.c) ---- */

/* A table of the `top` most likely kept tokens. */
void sample_print_table(FILE *out, const struct sample_request *request, const struct sample_result *result,
                        size_t top);
/* Eighths of a character where the terminal's character set is UTF-8, else '#'. */
bool sample_utf8(void);
/* A bar of `part` of `width` characters; returns how many it has. */
long sample_bar(FILE *out, double part, int width, bool utf8);

/* ---- traces (sample_trace.c) ---- */

/* The trace of a result as a table, or as the member "trace" of an object. False: out of memory. */
bool sample_print_trace(FILE *out, const struct sample_request *request, const struct sample_result *result,
                        bool color);
bool sample_add_trace(struct yyjson_mut_doc *doc, struct yyjson_mut_val *root,
                      const struct sample_request *request, const struct sample_result *result);

#endif
