/* SPDX-License-Identifier: Apache-2.0 */
/* The line of statistics after an answer. */
#include "generate.h"
#include "terminal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "123.4 tok/s", or "-" where nothing was computed. */
static void rate(char *text, size_t size, size_t count, double seconds) {
  if (count && seconds > 0)
    snprintf(text, size, "%.1f tok/s", (double)count / seconds);
  else
    snprintf(text, size, "-");
}

/* Forward passes of the answer: its last token is only run when an end token follows it. */
static size_t passes(const struct tombola_generation_stats *stats) {
  if (!stats->generated) return 0;
  return stats->stop == TOMBOLA_STOP_END_TOKEN ? stats->generated : stats->generated - 1;
}

const char *turn_stop_reason(const struct turn *turn) {
  return turn->end == TURN_STOPPED ? "interrupted" : tombola_stop_name(turn->stats.stop);
}

bool turn_is_cut(const struct turn *turn) {
  const bool is_asked_for = turn->end == TURN_ANSWERED && turn->stats.stop == TOMBOLA_STOP_STOP_STRING;
  return turn->end <= TURN_STOPPED && !turn->whole && !is_asked_for;
}

void turn_say_cut(const struct turn *turn, char *text, size_t size) {
  snprintf(text, size, "the answer is not complete under its constraint: %s ended it at %zu tokens",
           turn->end == TURN_STOPPED ? "Ctrl-C" : turn_stop_reason(turn), turn->stats.generated);
}

double turn_text_seconds(const struct turn *turn) {
  const struct tombola_generation_stats *stats = &turn->stats;
  double rest = turn->seconds - stats->prefill_seconds - stats->decode_seconds - stats->sample_seconds -
                stats->constraint_seconds - stats->speculation.draft_seconds;
  return rest > 0 ? rest : 0;
}

/* What a token of the answer cost. */
static void report_timings(const struct turn *turn, const struct engine *engine) {
  const struct tombola_generation_stats *stats = &turn->stats;
  double each = stats->generated ? 1e3 / (double)stats->generated : 0;
  char constraint[48] = "", draft[48] = "";
  if (engine->matcher)
    snprintf(constraint, sizeof(constraint), ", constraint %.4f ms", stats->constraint_seconds * each);
  if (engine->speculation) snprintf(draft, sizeof(draft), ", draft %.4f ms", stats->speculation.draft_seconds * each);
  terminal_dim("[per token: forward %.4f ms, sampling %.4f ms%s, text %.4f ms%s; prompt %.1f ms; in all %.1f ms]",
               stats->decode_seconds * each, stats->sample_seconds * each, constraint, turn_text_seconds(turn) * each, draft,
               stats->prefill_seconds * 1e3, turn->seconds * 1e3);
}

static void report_constraint(const struct tombola_generation_stats *stats) {
  if (stats->jumped) terminal_dim("[constraint: %zu tokens were the only ones, and not sampled]", stats->jumped);
  if (stats->dead_ends) note("the constraint led to a dead end %zu times", stats->dead_ends);
}

static void report_speculation(const struct tombola_speculation_stats *stats) {
  terminal_dim("[drafts: %zu of %zu tokens accepted (%.0f %%), %.2f tokens a round in %zu rounds]", stats->accepted,
               stats->drafted, stats->acceptance_rate * 100, stats->tokens_per_round, stats->rounds);
}

/* A token as a person reads it: its bytes in quotes, what is no plain text escaped. */
static void quote(const struct engine *engine, tombola_token token, char *text, size_t size) {
  size_t length, used = 1;
  const char *bytes = tombola_vocabulary_bytes(tombola_model_vocabulary(engine->model), token, &length);
  text[0] = '"';
  for (size_t i = 0; i < length && used + 6 < size; i++) {
    unsigned char c = (unsigned char)bytes[i];
    bool plain = c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
    int more = plain ? snprintf(text + used, size - used, "%c", c) : snprintf(text + used, size - used, "\\x%02x", c);
    used += (size_t)more;
  }
  snprintf(text + used, size - used, "\"");
}

static void report_logprobs(const struct turn *turn, const struct engine *engine) {
  for (size_t i = 0; i < turn->n_records; i++) {
    const struct record *record = &turn->records[i];
    char token[64], line[512] = "";
    for (size_t j = 0; j < record->count; j++) {
      const struct tombola_logprob *likely = &turn->likely[record->first + j];
      size_t length = strlen(line);
      quote(engine, likely->id, token, sizeof(token));
      snprintf(line + length, sizeof(line) - length, "  %s %.3f", token, (double)likely->logprob);
    }
    quote(engine, record->token, token, sizeof(token));
    if (record->known)
      terminal_dim("%8.3f %-16s%s", (double)record->logprob, token, line);
    else
      terminal_dim("  forced %s", token);
  }
}

static const char *why(const struct turn *turn) {
  if (turn->end == TURN_STOPPED || turn->end == TURN_INTERRUPTED) return "interrupted";
  if (turn->end != TURN_ANSWERED) return "failed";
  return turn->stats.stop == TOMBOLA_STOP_END_TOKEN ? NULL : tombola_stop_name(turn->stats.stop);
}

/* What happened beside the usual. */
static void report_events(const struct turn *turn, const struct engine *engine) {
  const struct tombola_generation_stats *stats = &turn->stats;
  if (stats->shifts)
    note("the context was full: %zu older tokens were forgotten (%zu times)", stats->shifted_away, stats->shifts);
  if (stats->rollbacks)
    note("%s were taken back %zu times (%zu tokens computed for nothing)",
         stats->dead_ends ? "tokens" : "banned phrases", stats->rollbacks, stats->rolled_back);
  if (stats->think == TOMBOLA_THINK_IGNORED)
    note("--think-budget had no effect: this model's tokens can't spell \"%s\"", engine->options->think_close);
}

static void report_json(const struct turn *turn, const struct engine *engine) {
  char *line = turn_stats_json(turn, engine);
  fputs(line ? line : "tombola: out of memory\n", stderr);
  free(line);
}

void turn_report(const struct turn *turn, const struct engine *engine) {
  const struct tombola_generation_stats *stats = &turn->stats;
  const char *cause = why(turn);
  char prefill[32], decode[32], thinking[48] = "";
  if (stats->prompt_run + stats->prompt_reused == 0 || engine->options->quiet) return;
  if (!engine->options->json) report_logprobs(turn, engine);
  if (engine->options->stats == STATS_JSON) {
    report_json(turn, engine);
    return;
  }
  rate(prefill, sizeof(prefill), stats->prompt_run, stats->prefill_seconds);
  if (stats->reasoning) snprintf(thinking, sizeof(thinking), " (%zu of reasoning)", stats->reasoning);
  rate(decode, sizeof(decode), passes(stats), stats->decode_seconds);
  terminal_dim("[prompt %zu tokens (%zu cached), prefill %s; answer %zu tokens%s, decode %s; seed %" PRIu64
               "%s%s]",
               stats->prompt_run + stats->prompt_reused, stats->prompt_reused, prefill, stats->generated,
               thinking, decode, tombola_sampler_seed(engine->sampler), cause ? "; ended by " : "", cause ? cause : "");
  if (engine->options->timings) report_timings(turn, engine);
  if (engine->matcher && (engine->options->timings || stats->dead_ends)) report_constraint(stats);
  if (engine->speculation) report_speculation(&stats->speculation);
  report_events(turn, engine);
  if (turn->end != TURN_ANSWERED || stats->stop != TOMBOLA_STOP_CONTEXT_FULL) return;
  note("the answer ends here because the context is full (%zu tokens)%s", engine->info.context,
       engine->options->command->bit == COMMAND_CHAT ? ": /reset starts again, a larger --ctx holds more"
                                                     : "; a larger --ctx holds more");
}
