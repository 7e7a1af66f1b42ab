/* SPDX-License-Identifier: Apache-2.0 */
/* The outlook of a machine's places. Outside of strings JSON has few bytes; in a string its language says how long it
 * can get. */
#include "constraint/trie/outlook.h"

#include <string.h>

#include "constraint/lang/lang_terms.h"
#include "constraint/machine/json.h"

/* Whether nothing but JSON can follow this place before the thing around it ends by a byte of its own. */
static bool is_structure(const struct tombola__thread *t) {
  switch ((enum tombola__json_kind)t->kind) {
  case TOMBOLA__JSON_VALUE:
  case TOMBOLA__JSON_NAME:
  case TOMBOLA__JSON_COLON:
  case TOMBOLA__JSON_LITERAL:
  case TOMBOLA__JSON_NEXT:
  case TOMBOLA__JSON_CLOSE: return true;
  case TOMBOLA__JSON_NUMBER: return !t->up || t->up->part == TOMBOLA__JSON; /* it may have ended already */
  case TOMBOLA__JSON_STRING:
  case TOMBOLA__JSON_KEY:
  case TOMBOLA__JSON_AFTER: break;
  }
  return false;
}

static void add_bytes(struct tombola__outlook *out, const struct tombola__thread *t) {
  static const char structure[] = "{}[],:\"+-.0123456789eEtrufalsn \t\r\n";
  if (t->part == TOMBOLA__DONE) return;
  if (t->part != TOMBOLA__JSON || !is_structure(t)) {
    memset(out->bytes, 0xFF, sizeof out->bytes);
    return;
  }
  for (const char *c = structure; *c; c++)
    out->bytes[(uint8_t)*c / 32] |= (uint32_t)1 << (uint8_t)*c % 32;
}

/* How many plain characters can follow each other. */
static uint32_t most_of(const struct tombola__store *s, const struct tombola__thread *t) {
  if (t->part == TOMBOLA__DONE) return 0;
  if (t->part != TOMBOLA__JSON || t->kind != TOMBOLA__JSON_STRING || t->phase != TOMBOLA__JSON_PLAIN)
    return TOMBOLA__LANG_UNBOUNDED;
  const uint32_t longest = tombola__term(s, t->a)->longest;
  return longest >= TOMBOLA__FINITE ? TOMBOLA__LANG_UNBOUNDED : longest;
}

void tombola__machine_outlook(struct tombola__machine *m, struct tombola__outlook *out) {
  const struct tombola__store *const s = tombola__machine_store(m);
  size_t n;
  const struct tombola__thread *const threads = tombola__machine_readings(m, &n);
  *out = (struct tombola__outlook){.most = 0};
  for (size_t i = 0; i < n; i++) {
    const uint32_t most = most_of(s, &threads[i]);
    if (most > out->most) out->most = most;
    add_bytes(out, &threads[i]);
  }
}
