/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions of ECMA-262 (2024, with the flag u, as JSON Schema asks), made into languages. Anchors; word
 * boundaries and look-ahead anywhere but in most groups that repeat without end; lazy quantifiers (the same language);
 * \p{…} by general category. What isn't regular, or what isn't known, is refused by name. */
#ifndef TOMBOLA_REGEX_H
#define TOMBOLA_REGEX_H

#include "constraint/lang/lang.h"

enum tombola__regex_mode {
  TOMBOLA__REGEX_SEARCH, /* a match anywhere in the text, as JSON Schema's pattern */
  TOMBOLA__REGEX_WHOLE   /* the whole text */
};

/* `text` is UTF-8. OK; FORMAT: a syntax error (error->offset says where); UNSUPPORTED: a construct that isn't (the
 * message names it); the store's status. */
enum tombola_status tombola__regex(struct tombola__store *s, const char *text, size_t length,
                                   enum tombola__regex_mode mode, tombola__lang *out,
                                   struct tombola_error *error);

/* The language of a format, of JSON Schema or OpenAPI; false when the name isn't known. Known: date-time, date (29
 * February only in leap years), time, duration, email, hostname, ipv4, ipv6, uri, uuid, byte, and others that are
 * regular; those that say nothing of strings are every text. */
bool tombola__format(struct tombola__store *s, const char *name, size_t length, tombola__lang *out);

/* The name of the i-th format, or NULL beyond the last. */
const char *tombola__format_name(size_t i);

/* The ranges of a Unicode property, by the names that ECMA-262 takes: a general category ("L", "Lu", "Letter", "gc=Lu",
 * "General_Category=Lu"), Any, ASCII, Assigned, Uppercase, Lowercase, White_Space. NULL when it isn't known, or after
 * a failure of the store. Ascending, disjoint, as long as the store. */
const struct tombola__range *tombola__unicode_property(struct tombola__store *s, const char *name,
                                                       size_t length, size_t *n);

#endif
