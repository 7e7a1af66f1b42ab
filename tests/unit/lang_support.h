/* SPDX-License-Identifier: Apache-2.0 */
/* Short names for the tests of the languages. */
#ifndef LANG_SUPPORT_H
#define LANG_SUPPORT_H

#include "support.h"

#include <stdbool.h>
#include <string.h>

#include "constraint/lang/lang.h"

#define UNBOUNDED TOMBOLA__LANG_UNBOUNDED

static inline void begin(struct tombola__store *s, const struct tombola_grammar_limits *limits) {
  struct tombola_error error = {0};
  if (tombola__store_new(s, limits, NULL, &error)) fail_msg("%s", error.message);
  s->deadline = 0; /* slow machines */
}

static inline void end(struct tombola__store *s) {
  if (s->status) fail_msg("%s", s->error.message);
  tombola__store_free(s);
}

static inline tombola__lang text(struct tombola__store *s, const char *t) {
  return tombola__lang_text(s, t, strlen(t));
}

static inline bool matches(struct tombola__store *s, tombola__lang a, const char *t) {
  return tombola__lang_matches(s, a, t, strlen(t));
}

static inline tombola__lang range(struct tombola__store *s, uint32_t lo, uint32_t hi) {
  return tombola__lang_set(s, &(struct tombola__range){lo, hi}, 1);
}

static inline tombola__lang walk(struct tombola__store *s, tombola__lang a, const char *ascii) {
  for (; *ascii; ascii++)
    a = tombola__lang_step(s, a, (unsigned char)*ascii);
  return a;
}

#endif
