/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of the formats of JSON Schema that more than one file needs, as regular expressions. */
#ifndef TOMBOLA_FORMATS_H
#define TOMBOLA_FORMATS_H

#include "constraint/lang/lang.h"

#define TOMBOLA__HEX "[0-9A-Fa-f]"
#define TOMBOLA__PCT "%" TOMBOLA__HEX "{2}"

/* RFC 3986's dec-octet: no leading zeros. */
#define TOMBOLA__OCTET "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)"
#define TOMBOLA__IPV4  TOMBOLA__OCTET "(?:\\." TOMBOLA__OCTET "){3}"

#define TOMBOLA__H16 TOMBOLA__HEX "{1,4}"

/* An IPv6 address that `end` follows. `most`: how many groups there may be but one where "::" stands for others;
 * `before_ipv4`: how many in front of the IPv4 address. */
#define TOMBOLA__IPV6(end, ipv4, most, before_ipv4)                                                     \
  "(?:" TOMBOLA__H16 "(?::" TOMBOLA__H16 "){7}|(?:" TOMBOLA__H16 ":){6}" ipv4 "|(?=:*(?:" TOMBOLA__HEX  \
  "+:+){0," most "}(?:" TOMBOLA__HEX "+:*)?" end ")(?:" TOMBOLA__H16 "(?::" TOMBOLA__H16                \
  ")*)?::(?:" TOMBOLA__H16 "(?::" TOMBOLA__H16 ")*)?"                                                   \
  "|(?=:*(?:" TOMBOLA__HEX "+:+){0," before_ipv4 "}[\\d.]+" end ")(?:" TOMBOLA__H16 "(?::" TOMBOLA__H16 \
  ")*)?::(?:" TOMBOLA__H16 ":)*" ipv4 ")"

/* RFC 3986: the "::" stands for one group or more. */
#define TOMBOLA__IPV6_ADDRESS(end) TOMBOLA__IPV6(end, TOMBOLA__IPV4, "6", "5")

/* RFC 3987's ucschar and iprivate, as parts of a class. */
#define TOMBOLA__UCSCHAR                                                                                 \
  "\\u{A0}-\\u{D7FF}\\u{F900}-\\u{FDCF}\\u{FDF0}-\\u{FFEF}\\u{10000}-\\u{1FFFD}\\u{20000}-\\u{2FFFD}"    \
  "\\u{30000}-\\u{3FFFD}\\u{40000}-\\u{4FFFD}\\u{50000}-\\u{5FFFD}\\u{60000}-\\u{6FFFD}\\u{70000}-\\u{7" \
  "FFFD}\\u{80000}-\\u{8FFFD}\\u{90000}-\\u{9FFFD}\\u{A0000}-\\u{AFFFD}\\u{B0000}-\\u{BFFFD}\\u{C0000}-" \
  "\\u{CFFFD}\\u{D0000}-\\u{DFFFD}\\u{E1000}-\\u{EFFFD}"
#define TOMBOLA__IPRIVATE "\\u{E000}-\\u{F8FF}\\u{F0000}-\\u{FFFFD}\\u{100000}-\\u{10FFFD}"

/* The language of a pattern of ours. */
tombola__lang tombola__format_pattern(struct tombola__store *s, const char *pattern);

/* RFC 3986's URI, or with `references` URI-reference; RFC 3987's when `international`. */
tombola__lang tombola__format_uri(struct tombola__store *s, bool international, bool references);

#endif
