/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of patterns and formats share: a store for each, and texts that a language has to accept or reject. */
#ifndef TOMBOLA_TESTS_STORE_GROUP_H
#define TOMBOLA_TESTS_STORE_GROUP_H

#include "support.h"

#include <stdbool.h>
#include <string.h>

#include "constraint/regex/regex.h"

static struct tombola__store store;

static inline int set_up(void **state) {
  (void)state;
  return tombola__store_new(&store, NULL, NULL, NULL) == TOMBOLA_OK ? 0 : -1;
}

static inline int tear_down(void **state) {
  (void)state;
  tombola__store_free(&store);
  return 0;
}

static inline bool matches(tombola__lang lang, const char *text) {
  const bool is = tombola__lang_matches(&store, lang, text, strlen(text));
  assert_int_equal(store.status, TOMBOLA_OK);
  return is;
}

/* At most n texts of each kind, up to a NULL. */
static inline void check_texts(const char *name, tombola__lang lang, const char *const *accepted,
                               const char *const *rejected, size_t n) {
  for (size_t i = 0; i < n && accepted[i]; i++)
    if (!matches(lang, accepted[i])) fail_msg("%s doesn't accept \"%s\"", name, accepted[i]);
  for (size_t i = 0; i < n && rejected[i]; i++)
    if (matches(lang, rejected[i])) fail_msg("%s accepts \"%s\"", name, rejected[i]);
}

#endif
