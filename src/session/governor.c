/* SPDX-License-Identifier: Apache-2.0 */
/* mlxcel's graded governor, the one that it uses without a GPU (mlxcel-core speculative/prompt_lookup.rs at
 * 2807850): hopeful at first, a budget a little above twice the average, and after three misses in a row a
 * pause that doubles until something is accepted again. */
#include "session/governor.h"

#define MISSES_TO_PAUSE 3
#define FIRST_PAUSE     4
#define LONGEST_PAUSE   32

void tombola__governor_init(struct tombola__governor *governor, bool on, size_t max_draft) {
  *governor = (struct tombola__governor){
      .on = on, .max_draft = max_draft, .average = (double)max_draft, .next_pause = FIRST_PAUSE};
}

size_t tombola__governor_budget(struct tombola__governor *governor) {
  if (!governor->on) return governor->max_draft;
  if (governor->pause > 0) {
    governor->pause--;
    return 0;
  }
  size_t budget = (size_t)(2 * governor->average + 0.5) + 2;
  return budget < governor->max_draft ? budget : governor->max_draft;
}

void tombola__governor_learn(struct tombola__governor *governor, size_t accepted) {
  governor->average = 0.5 * governor->average + 0.5 * (double)accepted;
  if (accepted > 0) {
    governor->misses = 0;
    governor->next_pause = FIRST_PAUSE;
    return;
  }
  if (++governor->misses < MISSES_TO_PAUSE) return;
  governor->misses = 0;
  governor->pause = governor->next_pause;
  if (governor->next_pause < LONGEST_PAUSE) governor->next_pause *= 2;
}
