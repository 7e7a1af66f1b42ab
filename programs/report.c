/* SPDX-License-Identifier: Apache-2.0 */
/* The line of statistics after an answer. */
#include "conversation.h"
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

void turn_report(const struct turn *turn, const struct engine *engine) {
  const struct tombola_generation_stats *stats = &turn->stats;
  const char *cause = why(turn);
  char prefill[32], decode[32];
  if (stats->prompt_run + stats->prompt_reused == 0 || engine->options->quiet) return;
  rate(prefill, sizeof(prefill), stats->prompt_run, stats->prefill_seconds);
  rate(decode, sizeof(decode), passes(stats), stats->decode_seconds);
  terminal_dim("[prompt %zu tokens (%zu cached), prefill %s; answer %zu tokens, decode %s; seed %" PRIu64
               "%s%s]",
               stats->prompt_run + stats->prompt_reused, stats->prompt_reused, prefill, stats->generated,
               decode, tombola_sampler_seed(engine->sampler), cause ? "; ended by " : "", cause ? cause : "");
  if (turn->end != TURN_ANSWERED || stats->stop != TOMBOLA_STOP_CONTEXT_FULL) return;
  note("the answer ends here because the context is full (%zu tokens)%s", engine->info.context,
       engine->options->command->bit == COMMAND_CHAT ? ": /reset starts again, a larger --ctx holds more"
                                                     : "; a larger --ctx holds more");
}
