/* SPDX-License-Identifier: Apache-2.0 */
/* The formats of JSON Schema (2020-12, validation, section 7.3) that are regular languages, each with the rule of the
 * RFC that defines it, and OpenAPI's. Not here: what isn't regular (regex), what depends on tables and normal forms
 * (idn-hostname, idn-email), and relative-json-pointer, which isn't the same in all drafts. */
#include "constraint/regex/formats.h"

#include <string.h>

#include "constraint/regex/regex.h"

/* ---- dates and times: RFC 3339, section 5.6 ---- */

/* Years that have a 29 February: divisible by 4, but of the centuries only every fourth. */
#define LEAP_YEAR "(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
#define DATE                                                                                     \
  "(?:\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)" \
  "|02-(?:0[1-9]|1\\d|2[0-8]))|" LEAP_YEAR "-02-29)"

#define FRACTION "(?:\\.\\d+)?"
#define HOUR     "(?:[01]\\d|2[0-3])"
#define MINUTE   "[0-5]\\d"
#define USUAL    HOUR ":" MINUTE ":" MINUTE FRACTION "(?:[Zz]|[+\\-]" HOUR ":" MINUTE ")"

/* A leap second, 60, is 23:59:60 in UTC, and what clocks with an offset then show: behind UTC, 23 - h and 59 - m; before
 * UTC, h and m - 1, which is 59 of the hour before where m is 0. Which minutes had one isn't asked. Hours, tens and ones
 * of minutes are a condition each (what follows them doesn't matter), and the whole is their intersection. */
#define LEAP(sign) HOUR ":" MINUTE ":60" FRACTION sign HOUR ":" MINUTE

#define H_BEHIND "[^-]*-"
#define T_BEHIND "[^-]*-.{3}"
#define O_BEHIND "[^-]*-.{4}"
#define HOURS_BEHIND                                                                                   \
  "(?:0(?:0" H_BEHIND "23|1" H_BEHIND "22|2" H_BEHIND "21|3" H_BEHIND "20|4" H_BEHIND "19|5" H_BEHIND  \
  "18|6" H_BEHIND "17|7" H_BEHIND "16|8" H_BEHIND "15|9" H_BEHIND "14)|1(?:0" H_BEHIND "13|1" H_BEHIND \
  "12|2" H_BEHIND "11|3" H_BEHIND "10|4" H_BEHIND "09|5" H_BEHIND "08|6" H_BEHIND "07|7" H_BEHIND      \
  "06|8" H_BEHIND "05|9" H_BEHIND "04)|2(?:0" H_BEHIND "03|1" H_BEHIND "02|2" H_BEHIND "01|3" H_BEHIND \
  "00))"
#define TENS_BEHIND \
  ".{3}(?:0" T_BEHIND "5|1" T_BEHIND "4|2" T_BEHIND "3|3" T_BEHIND "2|4" T_BEHIND "1|5" T_BEHIND "0)"
#define ONES_BEHIND                                                                              \
  ".{4}(?:0" O_BEHIND "9|1" O_BEHIND "8|2" O_BEHIND "7|3" O_BEHIND "6|4" O_BEHIND "5|5" O_BEHIND \
  "4|6" O_BEHIND "3|7" O_BEHIND "2|8" O_BEHIND "1|9" O_BEHIND "0)"
#define BEHIND "(?=" HOURS_BEHIND ")(?=" TENS_BEHIND ")(?=" ONES_BEHIND ")" LEAP("-")

#define H_BEFORE "[^+]*\\+"
#define T_BEFORE "[^+]*\\+.{3}"
#define O_BEFORE "[^+]*\\+.{4}"
#define HOURS_BEFORE                                                                                   \
  "(?:0(?:0" H_BEFORE "00|1" H_BEFORE "01|2" H_BEFORE "02|3" H_BEFORE "03|4" H_BEFORE "04|5" H_BEFORE  \
  "05|6" H_BEFORE "06|7" H_BEFORE "07|8" H_BEFORE "08|9" H_BEFORE "09)|1(?:0" H_BEFORE "10|1" H_BEFORE \
  "11|2" H_BEFORE "12|3" H_BEFORE "13|4" H_BEFORE "14|5" H_BEFORE "15|6" H_BEFORE "16|7" H_BEFORE      \
  "17|8" H_BEFORE "18|9" H_BEFORE "19)|2(?:0" H_BEFORE "20|1" H_BEFORE "21|2" H_BEFORE "22|3" H_BEFORE \
  "23))"
#define TENS_BEFORE                                                                                         \
  ".{3}(?:0(?:[0-8]" T_BEFORE "0|9" T_BEFORE "1)|1(?:[0-8]" T_BEFORE "1|9" T_BEFORE "2)|2(?:[0-8]" T_BEFORE \
  "2|9" T_BEFORE "3)|3(?:[0-8]" T_BEFORE "3|9" T_BEFORE "4)|4(?:[0-8]" T_BEFORE "4|9" T_BEFORE              \
  "5)|5[0-8]" T_BEFORE "5)"
#define ONES_BEFORE                                                                              \
  ".{4}(?:0" O_BEFORE "1|1" O_BEFORE "2|2" O_BEFORE "3|3" O_BEFORE "4|4" O_BEFORE "5|5" O_BEFORE \
  "6|6" O_BEFORE "7|7" O_BEFORE "8|8" O_BEFORE "9|9" O_BEFORE "0)"
#define BEFORE "(?=" HOURS_BEFORE ")(?=" TENS_BEFORE ")(?=" ONES_BEFORE ")" LEAP("\\+")

#define NEXT_HOURS                                                                                     \
  "(?:0(?:0" H_BEFORE "01|1" H_BEFORE "02|2" H_BEFORE "03|3" H_BEFORE "04|4" H_BEFORE "05|5" H_BEFORE  \
  "06|6" H_BEFORE "07|7" H_BEFORE "08|8" H_BEFORE "09|9" H_BEFORE "10)|1(?:0" H_BEFORE "11|1" H_BEFORE \
  "12|2" H_BEFORE "13|3" H_BEFORE "14|4" H_BEFORE "15|5" H_BEFORE "16|6" H_BEFORE "17|7" H_BEFORE      \
  "18|8" H_BEFORE "19|9" H_BEFORE "20)|2(?:0" H_BEFORE "21|1" H_BEFORE "22|2" H_BEFORE "23|3" H_BEFORE \
  "00))"
#define FULL_HOURS_BEFORE "(?=" NEXT_HOURS ")" HOUR ":59:60" FRACTION "\\+" HOUR ":00"

static tombola__lang time_format(struct tombola__store *s) {
  static const char *const leap[] = {"23:59:60" FRACTION "[Zz]", BEHIND, BEFORE, FULL_HOURS_BEFORE};
  tombola__lang out = tombola__format_pattern(s, USUAL);
  for (size_t i = 0; i < TOMBOLA__COUNT(leap); i++)
    out = tombola__lang_or(s, out, tombola__format_pattern(s, leap[i]));
  return out;
}

static tombola__lang date_time_format(struct tombola__store *s) {
  return tombola__lang_concat(s, tombola__format_pattern(s, DATE "[Tt]"), time_format(s));
}

/* Appendix A; letters as ISO 8601 writes them, in capitals. */
#define SECONDS  "\\d+S"
#define MINUTES  "\\d+M(?:" SECONDS ")?"
#define HOURS    "\\d+H(?:" MINUTES ")?"
#define DAYS     "\\d+D"
#define MONTHS   "\\d+M(?:" DAYS ")?"
#define YEARS    "\\d+Y(?:" MONTHS ")?"
#define TIMES    "T(?:" HOURS "|" MINUTES "|" SECONDS ")"
#define DURATION "P(?:(?:" DAYS "|" MONTHS "|" YEARS ")(?:" TIMES ")?|" TIMES "|\\d+W)"

/* ---- names on the net ---- */

#define LETTER_DIGIT "[A-Za-z0-9]"

/* RFC 1123, section 2.1, with RFC 1034's lengths: labels of up to 63 octets, names of up to 253 with their dots. */
#define LABEL    LETTER_DIGIT "(?:[A-Za-z0-9\\-]{0,61}" LETTER_DIGIT ")?"
#define HOSTNAME "(?=.{1,253}$)" LABEL "(?:\\." LABEL ")*"

/* RFC 5321, section 4.1.2, "Mailbox", with the address literals of 4.1.3. There, Snum may have leading zeros, and "::"
 * stands for two groups at least. */
#define ATEXT        "[A-Za-z0-9!#$%&'*+/=?^_`{|}~\\-]+"
#define QUOTED       "\"(?:[ !#-\\[\\]-~]|\\\\[ -~])*\""
#define SUB_DOMAIN   LETTER_DIGIT "(?:[A-Za-z0-9\\-]*" LETTER_DIGIT ")?"
#define SNUM         "(?:25[0-5]|2[0-4]\\d|[01]?\\d?\\d)"
#define SNUMS        SNUM "(?:\\." SNUM "){3}"
#define LITERAL_IPV6 "[Ii][Pp][Vv]6:" TOMBOLA__IPV6("\\]", SNUMS, "5", "4")
#define EMAIL                                                                                      \
  "(?:" ATEXT "(?:\\." ATEXT ")*|" QUOTED ")@(?:" SUB_DOMAIN "(?:\\." SUB_DOMAIN ")*|\\[(?:" SNUMS \
  "|" LITERAL_IPV6 ")\\])"

/* ---- the rest ---- */

#define UUID \
  TOMBOLA__HEX "{8}-" TOMBOLA__HEX "{4}-" TOMBOLA__HEX "{4}-" TOMBOLA__HEX "{4}-" TOMBOLA__HEX "{12}"

/* RFC 6901, section 3. */
#define JSON_POINTER "(?:/(?:[^/~]|~[01])*)*"

/* RFC 6570, section 2; the operators held in reserve are part of its grammar. */
#define VARCHAR "(?:[A-Za-z0-9_]|" TOMBOLA__PCT ")"
#define VARSPEC VARCHAR "(?:\\.?" VARCHAR ")*(?::[1-9]\\d{0,3}|\\*)?"
#define URI_TEMPLATE                                                               \
  "(?:[!#$&(-;=?-\\[\\]_a-z~" TOMBOLA__UCSCHAR TOMBOLA__IPRIVATE "]|" TOMBOLA__PCT \
  "|\\{[+#./;?&=,!@|]?" VARSPEC "(?:," VARSPEC ")*\\})*"

/* RFC 4648, section 4: groups of four, the last one filled up. */
#define BASE64 "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"

static tombola__lang any_text(struct tombola__store *s) {
  (void)s;
  return TOMBOLA__LANG_ALL;
}

static tombola__lang uri_format(struct tombola__store *s) {
  return tombola__format_uri(s, false, false);
}

static tombola__lang uri_reference_format(struct tombola__store *s) {
  return tombola__format_uri(s, false, true);
}

static tombola__lang iri_format(struct tombola__store *s) {
  return tombola__format_uri(s, true, false);
}

static tombola__lang iri_reference_format(struct tombola__store *s) {
  return tombola__format_uri(s, true, true);
}

static const struct {
  const char *name, *pattern;
  tombola__lang (*make)(struct tombola__store *s); /* where it isn't one pattern */
} formats[] = {
    {"binary", NULL, any_text},
    {"byte", BASE64, NULL},
    {"date", DATE, NULL},
    {"date-time", NULL, date_time_format},
    {"double", NULL, any_text}, /* of numbers, and any of them is one */
    {"duration", DURATION, NULL},
    {"email", EMAIL, NULL},
    {"float", NULL, any_text},
    {"hostname", HOSTNAME, NULL},
    {"ipv4", TOMBOLA__IPV4, NULL},
    {"ipv6", TOMBOLA__IPV6_ADDRESS("$"), NULL},
    {"iri", NULL, iri_format},
    {"iri-reference", NULL, iri_reference_format},
    {"json-pointer", JSON_POINTER, NULL},
    {"password", NULL, any_text},
    {"time", NULL, time_format},
    {"uri", NULL, uri_format},
    {"uri-reference", NULL, uri_reference_format},
    {"uri-template", URI_TEMPLATE, NULL},
    {"uuid", UUID, NULL},
};

tombola__lang tombola__format_pattern(struct tombola__store *s, const char *pattern) {
  tombola__lang out;
  struct tombola_error error;
  const enum tombola_status status =
      tombola__regex(s, pattern, strlen(pattern), TOMBOLA__REGEX_WHOLE, &out, &error);
  if (status) tombola__store_fail(s, status, NULL, "%s", error.message);
  return out;
}

const char *tombola__format_name(size_t i) {
  return i < TOMBOLA__COUNT(formats) ? formats[i].name : NULL;
}

bool tombola__format(struct tombola__store *s, const char *name, size_t length, tombola__lang *out) {
  *out = TOMBOLA__LANG_NONE;
  for (size_t i = 0; i < TOMBOLA__COUNT(formats); i++) {
    if (strlen(formats[i].name) != length || memcmp(formats[i].name, name, length) != 0) continue;
    *out = formats[i].make ? formats[i].make(s) : tombola__format_pattern(s, formats[i].pattern);
    return true;
  }
  return false;
}
