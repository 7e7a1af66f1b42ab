/* SPDX-License-Identifier: Apache-2.0 */
/* URIs (RFC 3986, appendix A) and IRIs (RFC 3987, section 2.2): the rules by their names there. IPv4address is within
 * reg-name. */
#include <stdio.h>

#include "constraint/regex/formats.h"

#define UNRESERVED "A-Za-z0-9._~\\-"
#define SUB_DELIMS "!$&'()*+,;="

struct maker {
  struct tombola__store *s;
  const char *more; /* unreserved code points beyond ASCII: part of a class */
};

/* Any of unreserved, sub-delims, `others` (parts of a class), or a pct-encoded byte. */
static tombola__lang chars(const struct maker *m, const char *others) {
  char pattern[640];
  snprintf(pattern, sizeof pattern, "[%s%s%s]|%s", UNRESERVED SUB_DELIMS, others, m->more, TOMBOLA__PCT);
  return tombola__format_pattern(m->s, pattern);
}

static tombola__lang text(const struct maker *m, const char *bytes) {
  return tombola__format_pattern(m->s, bytes);
}

static tombola__lang join(const struct maker *m, tombola__lang a, tombola__lang b) {
  return tombola__lang_concat(m->s, a, b);
}

static tombola__lang either(const struct maker *m, tombola__lang a, tombola__lang b) {
  return tombola__lang_or(m->s, a, b);
}

static tombola__lang many(const struct maker *m, tombola__lang a, uint32_t min) {
  return tombola__lang_repeat(m->s, a, min, TOMBOLA__LANG_UNBOUNDED);
}

static tombola__lang optional(const struct maker *m, tombola__lang a) {
  return tombola__lang_repeat(m->s, a, 0, 1);
}

/* "//" authority path-abempty */
static tombola__lang with_authority(const struct maker *m, tombola__lang path_abempty) {
  const tombola__lang userinfo = join(m, many(m, chars(m, ":"), 0), text(m, "@"));
  const tombola__lang literal = text(
      m, "\\[(?:" TOMBOLA__IPV6_ADDRESS("\\]") "|[Vv]" TOMBOLA__HEX "+\\.[" UNRESERVED SUB_DELIMS ":]+)\\]");
  const tombola__lang host = either(m, literal, many(m, chars(m, ""), 0));
  const tombola__lang authority = join(m, optional(m, userinfo), join(m, host, text(m, "(?::\\d*)?")));
  return join(m, text(m, "//"), join(m, authority, path_abempty));
}

tombola__lang tombola__format_uri(struct tombola__store *s, bool international, bool references) {
  const struct maker m = {s, international ? TOMBOLA__UCSCHAR : ""};
  const tombola__lang pchar = chars(&m, ":@");
  const tombola__lang path_abempty = many(&m, join(&m, text(&m, "/"), many(&m, pchar, 0)), 0);
  const tombola__lang path_rootless = join(&m, many(&m, pchar, 1), path_abempty);
  const tombola__lang path_absolute = join(&m, text(&m, "/"), optional(&m, path_rootless));
  const tombola__lang rooted = either(&m, with_authority(&m, path_abempty), path_absolute);
  const tombola__lang scheme = text(&m, "[A-Za-z][A-Za-z0-9+.\\-]*:");

  const tombola__lang hier_part = optional(&m, either(&m, rooted, path_rootless));
  tombola__lang out = join(&m, scheme, hier_part);
  if (references) {
    const tombola__lang path_noscheme = join(&m, many(&m, chars(&m, "@"), 1), path_abempty);
    out = either(&m, out, optional(&m, either(&m, rooted, path_noscheme)));
  }
  const tombola__lang fragment = many(&m, chars(&m, ":@/?"), 0);
  const tombola__lang query = international ? many(&m, chars(&m, ":@/?" TOMBOLA__IPRIVATE), 0) : fragment;
  return join(&m, out,
              join(&m, optional(&m, join(&m, text(&m, "\\?"), query)),
                   optional(&m, join(&m, text(&m, "#"), fragment))));
}
