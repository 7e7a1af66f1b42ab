/* SPDX-License-Identifier: Apache-2.0 */
/* The formats of JSON Schema: what their RFCs take and what they don't. */
#include "store_group.h"

#include <stdio.h>

struct row {
  const char *format;
  const char *accepted[16], *rejected[16];
};

static tombola__lang language(const char *format) {
  tombola__lang lang;
  if (!tombola__format(&store, format, strlen(format), &lang)) fail_msg("%s isn't known", format);
  if (store.status) fail_msg("%s: %s", format, store.error.message);
  return lang;
}

static void check_all(const struct row *rows, size_t n) {
  for (size_t r = 0; r < n; r++)
    check_texts(rows[r].format, language(rows[r].format), rows[r].accepted, rows[r].rejected, 16);
}

/* Every day of 800 years, and the days that aren't. */
static void dates(void **state) {
  (void)state;
  static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const tombola__lang lang = language("date");
  char text[64];
  for (int year = 1600; year < 2400; year++)
    for (int month = 0; month <= 13; month++)
      for (int day = 28; day <= 32; day++) {
        const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
        const int last = month < 1 || month > 12 ? 0 : days[month - 1] + (month == 2 && leap);
        snprintf(text, sizeof text, "%04d-%02d-%02d", year, month, day);
        if (matches(lang, text) != (day <= last)) fail_msg("%s", text);
      }
  static const struct row rows[] = {
      {"date",
       {"0000-02-29", "9999-12-31", "2024-01-01"},
       {"2024-01-00", "2024-1-01", "24-01-01", "12024-01-01", "2024/01/01", "20240101", "2024-W01",
        "2024-001", "2024-01-01T00:00:00Z", "2024-01-0\xE0\xA7\xAA", ""}},
  };
  check_all(rows, TOMBOLA__COUNT(rows));
}

static void times(void **state) {
  (void)state;
  static const struct row rows[] = {
      {"time",
       {"00:00:00Z", "23:59:59z", "08:30:06.283185Z", "08:30:06+00:20", "08:30:06-23:59", "08:30:06-00:00"},
       {"24:00:00Z", "00:60:00Z", "00:00:61Z", "8:30:06Z", "08:30:06", "08:30:06.Z", "08:30:06,5Z",
        "08:30:06+24:00", "08:30:06+01:60", "08:30:06 PST", "08:30:06Z+00:30", "08:30:06+0100", "08:30Z",
        "1\xE0\xA7\xA8:00:00Z"}},
      {"date-time",
       {"1963-06-19T08:30:06.283185Z", "1937-01-01t12:00:27.87+00:20", "2024-02-29T00:00:00z",
        "1998-12-31T23:59:60Z", "1998-12-31T15:59:60.123-08:00"},
       {"1990-02-31T15:59:59Z", "2023-02-29T00:00:00Z", "1998-12-31T23:58:60Z", "1998-12-31T22:59:60Z",
        "1998-12-31 23:59:59Z", "1998-12-31T23:59:61Z", "1998-12-31", "2013-350T01:01:01",
        "1963-06-19T08:30:06.28123+01:00Z"}},
      {"duration",
       {"P4DT12H30M5S", "P4Y", "PT0S", "P0D", "P1M", "PT1M", "PT36H", "P1Y2M3DT4H5M6S", "P2W", "P1MT1S"},
       {"", "P", "PT", "P1", "P1YT", "PT1D", "P2D1Y", "P1D2H", "P2S", "P1Y2W", "P1Y1D", "PT1H1S", "4D",
        "P-1D", "P1.5D"}},
  };
  check_all(rows, TOMBOLA__COUNT(rows));
}

/* A leap second is the last one of a day in UTC, whatever the clock shows: all minutes against all offsets. */
static void leap_seconds(void **state) {
  (void)state;
  const tombola__lang lang = language("time");
  char text[64];
  for (int offset = -1439; offset < 1440; offset += 7)
    for (int minute = 0; minute < 1440; minute++) {
      const int size = offset < 0 ? -offset : offset;
      const bool right = (minute - offset + 2880) % 1440 == 1439;
      snprintf(text, sizeof text, "%02d:%02d:60%s%c%02d:%02d", minute / 60, minute % 60,
               minute % 2 ? ".5" : "", offset < 0 ? '-' : '+', size / 60, size % 60);
      if (matches(lang, text) != right) fail_msg("%s", text);
    }
  assert_true(matches(lang, "23:59:60Z"));
  assert_true(matches(lang, "23:59:60-00:00"));
  assert_false(matches(lang, "23:58:60Z"));
  assert_false(matches(lang, "00:00:60Z"));
}

static void hosts(void **state) {
  (void)state;
  static const struct row rows[] = {
      {"hostname",
       {"www.example.com", "h", "1host", "xn--4gbwdl.xn--wgbh1c", "a-b.c--d", "127.0.0.1"},
       {"", ".", "a.", ".a", "a..b", "-a", "a-", "a.-b", "a_b", "a b", "\xC3\xA9.com"}},
      {"ipv4",
       {"0.0.0.0", "255.255.255.255", "192.168.10.99", "1.2.3.4"},
       {"256.0.0.1", "1.2.3", "1.2.3.4.5", "01.2.3.4", "1.2.3.4/8", "0x7f000001", "", "1.2.3.", " 1.2.3.4",
        "1\xE0\xA7\xA8.0.0.1"}},
      {"ipv6",
       {"::", "::1", "1::", "1:2:3:4:5:6:7:8", "1:2:3::5:6:7:8", "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8",
        "fe80::ABCD", "::ffff:1.2.3.4", "1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5::1.2.3.4", "::1.2.3.4"},
       {"", ":", ":::", "1", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1::2::3", "1:2:3:4::5:6:7:8",
        ":1:2:3:4:5:6:7", "12345::", "::g", "1:2:3:4:5:6:7:1.2.3.4", "1:2:3:4:5:6::1.2.3.4", "::1.2.3.256",
        "fe80::1%eth0", "1.2.3.4"}},
  };
  check_all(rows, TOMBOLA__COUNT(rows));

  char name[300];
  const tombola__lang lang = language("hostname");
  for (size_t label = 62; label <= 64; label++) {
    snprintf(name, sizeof name, "%0*d.com", (int)label, 0);
    assert_int_equal(matches(lang, name), label <= 63);
  }
  for (size_t length = 252; length <= 254; length++) {
    memset(name, 'a', length);
    for (size_t i = 1; i < length - 1; i += 2)
      name[i] = '.';
    name[length] = '\0';
    assert_int_equal(matches(lang, name), length <= 253);
  }
}

static void mail(void **state) {
  (void)state;
  static const struct row rows[] = {
      {"email",
       {"joe.bloggs@example.com", "~t!#$%&'*+/=?^_`{|}-@a", "\"joe bloggs\"@example.com",
        "\"a..b@\\\"\\\\\"@b", "\"\"@b", "a@[127.0.0.1]", "a@[IPv6:::1]", "a@[IPv6:1:2:3:4:5:6:7:8]",
        "a@b.c-d"},
       {"2962", "@b", "a@", ".a@b", "a.@b", "a..b@c", "a@b=c", "a b@c", "a@-b", "a@b-", "a@[127.0.0.300]",
        "a@[::1]", "a@[IPv6:1:2:3:4:5:6:7::]", "\"a\"b@c", "a@b@c", "\xC3\xA9@b"}},
  };
  check_all(rows, TOMBOLA__COUNT(rows));
}

static void uris(void **state) {
  (void)state;
  static const struct row rows[] = {
      {"uri",
       {"http://foo.bar/?baz=qux#quux", "http://-.~_!$&'()*+,;=:%40:80%2f::::::@example.com",
        "ldap://[2001:db8::7]/c=GB?objectClass?one", "mailto:John.Doe@example.com", "urn:a:b",
        "a:", "file:///etc", "x+y-z.1:/a//b", "http://[v1.a:b]:80/", "http://a:/", "a:?/?#/?"},
       {"//foo.bar/", "/abc", "abc", "\\\\WINDOWS\\fileshare", "http:// a.com", ":// a", "bar,baz:foo",
        "1a:b", "http://a b/", "http://[::1", "http://[1::2::3]/", "a:%4", "a:#b#c", "http://a:8a/",
        "http://\xC3\xA9/", "a:\"b\""}},
      {"uri-reference",
       {"", "http://foo.bar/?baz=qux#quux", "//foo.bar/?baz", "/abc", "abc", "#fragment", "?q", "a/b:c",
        "./a:b"},
       {"\\\\WINDOWS\\fileshare", "#frag\\ment", "1a:b", "a b", "%zz", "[a]"}},
      {"iri",
       {"http://\xC6\x92\xC3\xB8.\xC3\x9F/?\xE2\x88\x82=\xCF\x80#\xCF\x80", "http://[2001:0db8::7334]",
        "a:?\xEE\x80\x80"},
       {"http://2001:0db8:85a3:0000:0000:8a2e:0370:7334", "/abc", "\xC3\xA2", "a:\xEE\x80\x80",
        "a:#\xEE\x80\x80", "a:\xEF\xBF\xBF"}},
      {"iri-reference",
       {"/\xC3\xA2\xCF\x80", "\xC3\xA2", "#\xC6\x92r", "//\xC3\x9F"},
       {"#\xC6\x92\\m", "\\\\WINDOWS"}},
      {"uri-template",
       {"", "http://example.com/dictionary/{term:1}/{term}", "dictionary", "{+a,b*}{/c:9999}{%41.b_1}", "%41",
        "\xC3\xA9"},
       {"{term", "}", "{}", "{a:0}", "{a:10000}", "{a..b}", "{.}", "a b", "a\"b", "a'b", "%4", "{-a}",
        "{a,}"}},
  };
  check_all(rows, TOMBOLA__COUNT(rows));
}

static void others(void **state) {
  (void)state;
  static const struct row rows[] = {
      {"uuid",
       {"2EB8AA08-AA98-11EA-B4AA-73B441D16380", "2eb8aa08-aa98-11ea-b4aa-73b441d16380",
        "00000000-0000-0000-0000-000000000000"},
       {"", "2eb8aa08-aa98-11ea-b4aa-73b441d1638", "2eb8aa08-aa98-11ea-b4ga-73b441d16380",
        "2eb8aa08aa9811eab4aa73b441d16380", "2eb8-aa08-aa98-11ea-b4aa73b44-1d16380",
        "{2eb8aa08-aa98-11ea-b4aa-73b441d16380}"}},
      {"json-pointer",
       {"", "/", "/foo//bar/", "/a~1b/~0", "/i\\j", "/ ", "/\xC3\xA9"},
       {"a", "#/", "/~", "/~2", "/a~", "~1"}},
      {"byte",
       {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "+/+/"},
       {"Z", "Zg", "Zg=", "Zm8", "Zg===", "Zm9vZg", "====", "Zg==Zm9v", "-_-_", "Zm 8", "Zm9v\n"}},
      {"password", {"", "a b\n"}, {NULL}},
      {"binary", {"", "\xC3\xA9\n"}, {NULL}},
  };
  check_all(rows, TOMBOLA__COUNT(rows));

  static const char *const unknown[] = {
      "", "dat", "date-", "idn-email", "idn-hostname", "regex", "relative-json-pointer", "Date"};
  tombola__lang lang;
  for (size_t i = 0; i < TOMBOLA__COUNT(unknown); i++)
    assert_false(tombola__format(&store, unknown[i], strlen(unknown[i]), &lang));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(dates, set_up, tear_down),
      cmocka_unit_test_setup_teardown(times, set_up, tear_down),
      cmocka_unit_test_setup_teardown(leap_seconds, set_up, tear_down),
      cmocka_unit_test_setup_teardown(hosts, set_up, tear_down),
      cmocka_unit_test_setup_teardown(mail, set_up, tear_down),
      cmocka_unit_test_setup_teardown(uris, set_up, tear_down),
      cmocka_unit_test_setup_teardown(others, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
