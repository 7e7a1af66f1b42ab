/* SPDX-License-Identifier: Apache-2.0 */
/* `tombola run`: one prompt, one answer. */
#include "run.h"
#include "conversation.h"
#include "terminal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yyjson.h>

/* ---- the prompt
 * -------------------------------------------------------------------------------------------------- */

static int read_stream(FILE *stream, const char *name, struct text *prompt) {
  if (!text_add_stream(prompt, stream)) return complain("cannot read %s: %s", name, strerror(errno));
  if (prompt->length && prompt->data[prompt->length - 1] == '\n') text_cut(prompt, prompt->length - 1);
  if (prompt->length && prompt->data[prompt->length - 1] == '\r') text_cut(prompt, prompt->length - 1);
  return EXIT_OK;
}

static int read_file(const char *path, struct text *prompt) {
  FILE *stream = fopen(path, "rb");
  int exit_status;
  if (!stream) return complain("cannot open the prompt file %s: %s", path, strerror(errno));
  exit_status = read_stream(stream, path, prompt);
  fclose(stream);
  return exit_status;
}

static int read_input(struct text *prompt) {
  if (isatty(STDIN_FILENO)) note("type the prompt; Ctrl-D on a line of its own ends it");
  return read_stream(stdin, "standard input", prompt);
}

static int read_prompt(const struct options *options, struct text *prompt) {
  int exit_status = EXIT_OK;
  if (options->prompt) {
    if (!text_add_string(prompt, options->prompt)) return complain("out of memory");
  } else if (options->file && strcmp(options->file, "-") != 0) {
    exit_status = read_file(options->file, prompt);
  } else {
    exit_status = read_input(prompt);
  }
  if (exit_status != EXIT_OK) return exit_status;
  if (!prompt->length) return complain_usage("the prompt is empty");
  if (strlen(prompt->data) != prompt->length)
    return complain_usage("the prompt holds a NUL byte at offset %zu; a prompt is text",
                          strlen(prompt->data));
  return EXIT_OK;
}

/* ---- --json
 * ------------------------------------------------------------------------------------------------------ */

static bool add_stats(yyjson_mut_doc *doc, yyjson_mut_val *root,
                      const struct tombola_generation_stats *stats) {
  yyjson_mut_val *object = yyjson_mut_obj_add_obj(doc, root, "stats");
  return object &&
         yyjson_mut_obj_add_uint(doc, object, "prompt_tokens", stats->prompt_run + stats->prompt_reused) &&
         yyjson_mut_obj_add_uint(doc, object, "cached_tokens", stats->prompt_reused) &&
         yyjson_mut_obj_add_uint(doc, object, "generated_tokens", stats->generated) &&
         yyjson_mut_obj_add_real(doc, object, "prefill_seconds", stats->prefill_seconds) &&
         yyjson_mut_obj_add_real(doc, object, "decode_seconds", stats->decode_seconds) &&
         yyjson_mut_obj_add_real(doc, object, "sample_seconds", stats->sample_seconds);
}

/* {"text", "tokens", "finish_reason", "stop_reason", "seed", "stats"} */
static char *to_json(const struct turn *turn, const struct engine *engine) {
  yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
  yyjson_mut_val *root = yyjson_mut_obj(doc);
  yyjson_mut_val *tokens = yyjson_mut_arr_with_sint32(doc, turn->tokens.data, turn->tokens.count);
  const char *text = turn->answer.data ? turn->answer.data : "";
  const char *reason = turn->end == TURN_STOPPED ? "interrupted" : tombola_stop_name(turn->stats.stop);
  char *json = NULL;
  if (!turn->tokens.count) tokens = yyjson_mut_arr(doc);
  yyjson_mut_doc_set_root(doc, root);
  if (turn->reasoning.length)
    yyjson_mut_obj_add_strn(doc, root, "reasoning", turn->reasoning.data, turn->reasoning.length);
  if (yyjson_mut_obj_add_strn(doc, root, "text", text, turn->answer.length) &&
      yyjson_mut_obj_add_val(doc, root, "tokens", tokens) &&
      yyjson_mut_obj_add_str(doc, root, "finish_reason", tombola_stop_finish(turn->stats.stop)) &&
      yyjson_mut_obj_add_str(doc, root, "stop_reason", reason) &&
      yyjson_mut_obj_add_uint(doc, root, "seed", tombola_sampler_seed(engine->sampler)) &&
      add_stats(doc, root, &turn->stats))
    json = yyjson_mut_write(doc, YYJSON_WRITE_NEWLINE_AT_END, NULL);
  yyjson_mut_doc_free(doc);
  return json;
}

static int print_json(const struct turn *turn, const struct engine *engine) {
  char *json = to_json(turn, engine);
  if (!json) return complain("out of memory");
  output_write(json, strlen(json));
  free(json);
  return turn->exit_status;
}

/* ---- the answer
 * -------------------------------------------------------------------------------------------------- */

static int answer(struct engine *engine, const char *prompt) {
  struct conversation conversation = {0};
  struct turn turn;
  int exit_status;
  if (!conversation_start(&conversation, engine)) return complain("out of memory");
  conversation_ask(&conversation, engine, prompt, &turn);
  exit_status = turn.exit_status;
  if (engine->options->json && turn.end <= TURN_STOPPED) exit_status = print_json(&turn, engine);
  turn_report(&turn, engine);
  turn_free(&turn);
  conversation_free(&conversation);
  return exit_status;
}

int run_once(struct options *options) {
  struct engine engine = {0};
  struct text prompt = {NULL, 0, 0};
  int exit_status = read_prompt(options, &prompt);
  int written;
  if (exit_status == EXIT_OK) exit_status = engine_start(&engine, options);
  if (exit_status == EXIT_OK) exit_status = answer(&engine, prompt.data);
  engine_free(&engine);
  text_free(&prompt);
  written = output_finish();
  return exit_status == EXIT_OK ? written : exit_status;
}

int command_run(struct options *options) {
  return run_once(options);
}
