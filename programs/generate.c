/* SPDX-License-Identifier: Apache-2.0 */
#include "generate.h"
#include "constrain.h"
#include "terminal.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- what the engines do differently ---- */

/* minfer looks for stop strings where a token ends, and holds nothing back; rMLX looks for markers inside one token
 * and counts the budget by tokens. */
static const struct customs {
  const char *dialect;
  bool stops_at_piece_end, markers_by_piece;
} customs[] = {{"minfer", true, false}, {"rmlx", false, true}, {NULL, false, false}};

static const struct customs *find_customs(const char *dialect) {
  const struct customs *row = customs;
  while (row->dialect && strcmp(row->dialect, dialect) != 0)
    row++;
  return row;
}

/* ---- the stream ---- */

/* What the callbacks of a generation need. */
struct stream {
  const struct engine *engine;
  struct turn *turn;
  bool failed; /* no memory, or standard output failed */
  double last; /* when the last token came */
};

static bool shows_reasoning(const struct stream *stream) {
  const struct options *options = stream->engine->options;
  return !options->hide_thinking && !options->quiet && !options->json;
}

static int on_piece(void *context, enum tombola_channel channel, const char *text, size_t length) {
  struct stream *stream = context;
  bool reasons = channel == TOMBOLA_REASONING;
  progress_clear();
  if (!text_add(reasons ? &stream->turn->reasoning : &stream->turn->answer, text, length)) {
    complain("out of memory");
    stream->failed = true;
  } else if (reasons) {
    if (shows_reasoning(stream)) terminal_reasoning(text, length);
  } else if (!stream->engine->options->json) {
    terminal_reasoning_end();
    if (!output_text(text, length) || !output_flush()) stream->failed = true;
  }
  return !stream->failed;
}

/* Keeps the log-probabilities of a token. */
static bool record(struct turn *turn, const struct tombola_token_event *event) {
  const struct tombola_logprobs *given = event->logprobs;
  size_t count = given ? given->count : 0;
  struct record *records = realloc(turn->records, (turn->n_records + 1) * sizeof(*records));
  struct tombola_logprob *likely;
  if (!records) return false;
  turn->records = records;
  likely = realloc(turn->likely, (turn->n_likely + count + 1) * sizeof(*likely));
  if (!likely) return false;
  turn->likely = likely;
  if (count) memcpy(likely + turn->n_likely, given->top, count * sizeof(*likely));
  records[turn->n_records++] = (struct record){.token = event->token,
                                               .known = given != NULL,
                                               .logprob = given ? given->logprob : 0,
                                               .first = turn->n_likely,
                                               .count = count};
  turn->n_likely += count;
  return true;
}

/* A line of the trace; a failed write shows when the file is closed. */
static bool trace(struct stream *stream, const struct tombola_token_event *event) {
  double time = monotonic_seconds();
  char *line = token_json(event, stream->engine, (time - stream->last) * 1e3);
  stream->last = time;
  if (!line) return false;
  fputs(line, stream->engine->trace);
  free(line);
  return true;
}

static int on_token(void *context, const struct tombola_token_event *event) {
  struct stream *stream = context;
  progress_clear();
  if (!tokens_add(&stream->turn->tokens, &event->token, 1) ||
      (stream->engine->options->logprobs && !record(stream->turn, event)) ||
      (stream->engine->trace && !trace(stream, event))) {
    complain("out of memory");
    stream->failed = true;
  }
  return !stream->failed && !interrupted();
}

static int on_prefill(void *context, size_t done, size_t total) {
  (void)context;
  if (total - done > 256 || done > 0) progress_show("reading the prompt", (double)done / (double)total);
  return !interrupted();
}

/* The end of the line. */
static void finish_line(const struct stream *stream) {
  const struct text *answer = &stream->turn->answer;
  progress_clear();
  terminal_reasoning_end();
  if (stream->failed || stream->engine->options->json) return;
  if (answer->length && answer->data[answer->length - 1] == '\n') return;
  if (answer->length || stream->turn->end == TURN_ANSWERED) output_write("\n", 1);
  output_flush();
}

/* ---- the generation ---- */

/* The parameters of one generation, and what they point to. */
struct setting {
  struct tombola_generate_params params;
  struct tombola_text_params text;
  struct tombola_think_budget budget;
  struct tombola_phrase_bans bans;
};

static void set_text(struct setting *setting, const struct options *options, const struct question *question,
                     const struct customs *custom) {
  bool splits = strcmp(options->think_open, "none") != 0 && strcmp(options->think_close, "none") != 0;
  setting->text = (struct tombola_text_params){.struct_size = sizeof(setting->text),
                                               .stops = options->stops,
                                               .n_stops = options->n_stops,
                                               .stops_at_piece_end = custom->stops_at_piece_end,
                                               .marker_rule_of_pieces = custom->markers_by_piece};
  if (splits) {
    setting->text.think_open = options->think_open;
    setting->text.think_close = options->think_close;
    setting->text.starts_in_reasoning = question->opens_reasoning;
  }
  setting->params.text = &setting->text;
  setting->params.on_piece = on_piece;
}

static void set_limits(struct setting *setting, const struct options *options, const struct question *question) {
  struct tombola_generate_params *params = &setting->params;
  params->max_tokens = options->max_tokens < 0 ? INT32_MAX : options->max_tokens; /* the context ends it before */
  params->ignore_end = options->ignore_eos;
  params->min_tokens = options->min_tokens;
  params->time_limit = options->time_limit;
  params->loop_period = (size_t)options->loop_period;
  params->loop_repeats = (size_t)options->loop_repeats;
  params->context_shift = options->context_shift;
  params->keep_tokens = question->keep;
}

static void set_all(struct setting *setting, struct stream *stream, const struct question *question) {
  const struct options *options = stream->engine->options;
  const struct customs *custom = find_customs(options->sampler.dialect);
  *setting = (struct setting){.params = {.struct_size = sizeof(setting->params),
                                         .on_token = on_token,
                                         .on_prefill = on_prefill,
                                         .context = stream,
                                         .answer_sampler = stream->engine->answer_sampler,
                                         .speculation = stream->engine->speculation,
                                         .matcher = stream->engine->matcher}};
  set_text(setting, options, question, custom);
  set_limits(setting, options, question);
  if (options->think_budget >= 0) {
    setting->budget = (struct tombola_think_budget){.struct_size = sizeof(setting->budget),
                                                    .tokens = options->think_budget,
                                                    .rule_of_pieces = custom->markers_by_piece};
    setting->params.think_budget = &setting->budget;
  }
  if (options->n_bans) {
    setting->bans = (struct tombola_phrase_bans){.struct_size = sizeof(setting->bans),
                                                 .phrases = options->bans,
                                                 .n_phrases = options->n_bans,
                                                 .ignore_case = options->ban_ignore_case};
    setting->params.bans = &setting->bans;
  }
}

static void end_turn(struct turn *turn, enum turn_end end, int exit_status) {
  turn->end = end;
  turn->exit_status = exit_status;
}

/* The last line of an answer's trace: its statistics. */
static void trace_end(struct turn *turn, const struct engine *engine) {
  char *line = turn_stats_json(turn, engine);
  if (line)
    fputs(line, engine->trace);
  else
    end_turn(turn, TURN_FAILED, complain("out of memory"));
  free(line);
  fflush(engine->trace);
}

void generate(const struct engine *engine, const struct question *question, struct turn *turn) {
  struct stream stream = {.engine = engine, .turn = turn};
  struct setting setting;
  struct tombola_error error = {0};
  enum tombola_status status;
  double start = monotonic_seconds();
  stream.last = start;
  set_all(&setting, &stream, question);
  if (engine->matcher) tombola_matcher_reset(engine->matcher);
  interrupt_set(INTERRUPT_STOPS);
  status = tombola_session_generate(engine->session, engine->sampler, question->prompt->data, question->prompt->count,
                                    &setting.params, &turn->stats, &error);
  turn->seconds = monotonic_seconds() - start;
  turn->whole =
      !engine->matcher || (status == TOMBOLA_OK && constrain_is_whole(engine, &turn->answer, turn->stats.stop));
  end_turn(turn, TURN_ANSWERED, EXIT_OK);
  if (stream.failed)
    end_turn(turn, TURN_FAILED, EXIT_FAILED);
  else if (interrupted() && turn->tokens.count)
    end_turn(turn, TURN_STOPPED, EXIT_INTERRUPTED);
  else if (interrupted())
    end_turn(turn, TURN_INTERRUPTED, EXIT_INTERRUPTED);
  else if (status != TOMBOLA_OK)
    end_turn(turn, TURN_FAILED, EXIT_FAILED);
  finish_line(&stream);
  if (status != TOMBOLA_OK && status != TOMBOLA_CANCELLED && !stream.failed)
    turn->exit_status = complain_error(status, &error);
  if (engine->trace && turn->end <= TURN_STOPPED) trace_end(turn, engine);
}

void turn_free(struct turn *turn) {
  text_free(&turn->answer);
  text_free(&turn->reasoning);
  tokens_free(&turn->tokens);
  free(turn->records);
  free(turn->likely);
  *turn = (struct turn){0};
}
