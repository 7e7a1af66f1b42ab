/* SPDX-License-Identifier: Apache-2.0 */
/* The line of statistics after an answer. */
#include "generate.h"
#include "terminal.h"

#include <inttypes.h>
#include <stdio.h>

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
    note("banned phrases were taken back %zu times (%zu tokens computed for nothing)", stats->rollbacks,
         stats->rolled_back);
  if (stats->think == TOMBOLA_THINK_IGNORED)
    note("--think-budget had no effect: this model's tokens can't spell \"%s\"", engine->options->think_close);
}

void turn_report(const struct turn *turn, const struct engine *engine) {
  const struct tombola_generation_stats *stats = &turn->stats;
  const char *cause = why(turn);
  char prefill[32], decode[32], thinking[48] = "";
  if (stats->prompt_run + stats->prompt_reused == 0 || engine->options->quiet) return;
  rate(prefill, sizeof(prefill), stats->prompt_run, stats->prefill_seconds);
  if (stats->reasoning) snprintf(thinking, sizeof(thinking), " (%zu of reasoning)", stats->reasoning);
  rate(decode, sizeof(decode), passes(stats), stats->decode_seconds);
  terminal_dim("[prompt %zu tokens (%zu cached), prefill %s; answer %zu tokens%s, decode %s; seed %" PRIu64
               "%s%s]",
               stats->prompt_run + stats->prompt_reused, stats->prompt_reused, prefill, stats->generated,
               thinking, decode, tombola_sampler_seed(engine->sampler), cause ? "; ended by " : "", cause ? cause : "");
  report_events(turn, engine);
  if (turn->end != TURN_ANSWERED || stats->stop != TOMBOLA_STOP_CONTEXT_FULL) return;
  note("the answer ends here because the context is full (%zu tokens)%s", engine->info.context,
       engine->options->command->bit == COMMAND_CHAT ? ": /reset starts again, a larger --ctx holds more"
                                                     : "; a larger --ctx holds more");
}
