/* SPDX-License-Identifier: Apache-2.0 */
/* `tombola sample`: what a dialect makes of one row of logits, so that authors of engines can check their own
 * sampler against it. `--batch` answers JSON lines with JSON lines. */
#include "sample.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "options.h"
#include "terminal.h"
#include "yyjson.h"

#define TABLE_ROWS 20

/* The ids of a flag, none where it isn't given; the caller owns *out. */
static enum tombola_status ids_of_flag(const char *text, const char *flag, tombola_token **out, size_t *count,
                                       struct tombola_error *error) {
  if (!text) return TOMBOLA_OK;
  *out = malloc(option_ids_room(text) * sizeof **out);
  if (!*out) return sample_fail(error, TOMBOLA_NO_MEMORY, flag, "out of memory");
  return option_read_ids(text, flag, *out, count, error);
}

/* The lists are read before the row, so that a bad one is known before standard input is. */
static enum tombola_status fill(const struct options *options, struct sample_request *request,
                                struct tombola_error *error) {
  enum row_format format = (enum row_format)options->row_format;
  const char *path = options->n_operands ? options->operands[0] : "-";
  request->params = options->sampler;
  request->draws = (size_t)options->draws;
  request->trace = options->trace || options->watch;
  if (request->trace && !request->draws) request->draws = 1;
  tombola_token *mask = NULL;
  size_t n_mask = 0;
  enum tombola_status status =
      ids_of_flag(options->history, "--history", &request->history, &request->n_history, error);
  if (status == TOMBOLA_OK)
    status = ids_of_flag(options->watch, "--watch", &request->watch, &request->n_watch, error);
  if (status == TOMBOLA_OK) status = ids_of_flag(options->mask, "--mask", &mask, &n_mask, error);
  if (status == TOMBOLA_OK) status = sample_row_load(path, format, &request->row, error);
  if (status == TOMBOLA_OK && options->mask)
    status = sample_request_mask(request, mask, n_mask, request->row.row.count, error);
  free(mask);
  return status;
}

/* Colour where standard output is a terminal, or where it is asked for. */
static int print_for_people(const struct options *options, const struct sample_request *request,
                            const struct sample_result *result) {
  bool color = options->color == COLOR_ALWAYS || (terminal_color() && isatty(STDOUT_FILENO));
  if (result->trace && !sample_print_trace(stdout, request, result, color)) return complain("out of memory");
  sample_print_table(stdout, request, result, TABLE_ROWS);
  return EXIT_OK;
}

static int sample_one(struct options *options) {
  struct sample_request request = {0};
  struct sample_result result = {0};
  struct tombola_error error = {0};
  int code = EXIT_OK;
  enum tombola_status status = options_resolve_bias(options, NULL, &error);
  if (status == TOMBOLA_OK) status = fill(options, &request, &error);
  if (status == TOMBOLA_OK) status = sample_request_run(&request, &result, &error);
  if (status != TOMBOLA_OK)
    code = complain_error(status, &error);
  else if (options->json)
    code = sample_write_result(&result, &request) ? EXIT_OK : EXIT_FAILED;
  else
    code = print_for_people(options, &request, &result);
  sample_result_free(&result);
  sample_request_free(&request);
  return code;
}

/* Answers one line, a blank one too, so that the answers stay in step with the lines. False when
 * standard output failed. */
static bool answer(char *line, size_t length) {
  struct sample_request request = {0};
  struct sample_result result = {0};
  struct tombola_error error = {0};
  yyjson_read_err problem;
  enum tombola_status status;
  bool blank = strspn(line, " \t\r\n") == length;
  yyjson_doc *doc = blank ? NULL : yyjson_read_opts(line, length, YYJSON_READ_ALLOW_INF_AND_NAN, NULL, &problem);
  if (blank)
    status = sample_fail(&error, TOMBOLA_FORMAT, "", "the line is blank; it must be a JSON object");
  else if (doc)
    status = sample_request_from_json(yyjson_doc_get_root(doc), &request, &error);
  else
    status = sample_fail(&error, TOMBOLA_FORMAT, "", "byte %zu: %s", problem.pos, problem.msg);
  yyjson_doc_free(doc);
  if (status == TOMBOLA_OK) status = sample_request_run(&request, &result, &error);
  bool written =
      status == TOMBOLA_OK ? sample_write_result(&result, NULL) : sample_write_error(&error);
  sample_result_free(&result);
  sample_request_free(&request);
  return written && output_flush();
}

static int sample_lines(FILE *in, const char *path) {
  char *line = NULL;
  size_t room = 0;
  int code = EXIT_OK;
  ssize_t length;
  while ((length = getline(&line, &room, in)) >= 0) {
    if (!answer(line, (size_t)length)) {
      code = EXIT_FAILED;
      break;
    }
  }
  if (ferror(in)) code = complain("%s: %s", path, strerror(errno));
  free(line);
  return code;
}

/* The lines of a batch bring their own parameters; a flag that they would ignore is a mistake. */
static int refuse_flags(const struct options *options) {
  struct option option;
  for (size_t i = 0; option_at(i, &option); i++) {
    bool about_a_row = option.group == GROUP_SAMPLE && strcmp(option.name, "batch") != 0;
    if ((about_a_row || option.group == GROUP_SAMPLING) && options->origins[i] == ORIGIN_FLAG)
      return complain_usage("%s can't be given with --batch: each line has its own", option.name);
  }
  return EXIT_OK;
}

/* A failed line doesn't end the batch and doesn't change the exit status: its answer says so. */
static int sample_batch(const struct options *options) {
  const char *path = options->n_operands ? options->operands[0] : "-";
  if (strcmp(path, "-") == 0) return sample_lines(stdin, "standard input");
  FILE *in = fopen(path, "rb");
  if (!in) return complain("%s: %s", path, strerror(errno));
  int code = sample_lines(in, path);
  fclose(in);
  return code;
}

int command_sample(struct options *options) {
  if (options->n_operands > 1) return complain_usage("sample takes one file, not %zu", options->n_operands);
  int code = options->batch ? refuse_flags(options) : EXIT_OK;
  if (code != EXIT_OK) return code;
  code = options->batch ? sample_batch(options) : sample_one(options);
  int finished = output_finish(); /* quiet where the reader is gone, as everywhere */
  return code ? code : finished;
}
