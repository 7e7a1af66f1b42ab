/* SPDX-License-Identifier: Apache-2.0 */
/* How much to draft, learned from what was accepted. */
#ifndef TOMBOLA_SESSION_GOVERNOR_H
#define TOMBOLA_SESSION_GOVERNOR_H

#include <stdbool.h>
#include <stddef.h>

struct tombola__governor {
  bool on;          /* otherwise the budget is always max_draft */
  size_t max_draft; /* at least 1 */
  double average;   /* of the drafts accepted in a round; each new round weighs as much as all before */
  unsigned misses;  /* rounds in a row whose draft was wrong from its first token */
  unsigned pause;   /* rounds without a draft that are left */
  unsigned next_pause;
};

void tombola__governor_init(struct tombola__governor *governor, bool on, size_t max_draft);

/* How many tokens the round that begins may draft; 0: it is one of a pause. To be asked once a round. */
size_t tombola__governor_budget(struct tombola__governor *governor);

/* What became of the draft of a round that had one. */
void tombola__governor_learn(struct tombola__governor *governor, size_t accepted);

#endif
