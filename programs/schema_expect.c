/* SPDX-License-Identifier: Apache-2.0 */
/* What a document might have gone on with where it stops: the tokens of JSON that fit there, found by trying bytes. */
#include "schema.h"
#include "terminal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Names and values that begin alike are followed where so few bytes are possible. */
enum { BRANCHES = 8, STEPS = 200, MANY_DIGITS = 5, FREE = 60 };

/* An explanation isn't worth more. */
#define MOST_SECONDS 0.5

struct search {
  tombola_matcher *matcher;
  bool is_plain;   /* escapes are there only where they must be */
  bool is_shallow; /* strings are followed by one byte alone */
  int next;        /* the byte that the text has there, -1: none */
  struct schema_expected *out;
  size_t steps;    /* left */
  double deadline; /* seconds */
  char item[SCHEMA_ITEM];
  size_t length;
};

struct bytes {
  bool has[256];
  size_t count, digits, printable, high;
};

/* ---- what may come ---- */

static bool fits(struct search *s, unsigned char byte) {
  const char text = (char)byte;
  return tombola_matcher_accept_bytes(s->matcher, &text, 1, NULL, NULL) == TOMBOLA_OK;
}

/* The bytes that may come next. White space says nothing between tokens, nor do needless escapes in a string. */
static struct bytes possible(struct search *s, bool in_string) {
  struct bytes b = {.count = 0};
  if (s->steps == 0) return b;
  s->steps--;
  for (int i = 0; i < 256; i++) {
    const bool space = i == ' ' || i == '\t' || i == '\n' || i == '\r';
    if (i % 16 == 0 && monotonic_seconds() > s->deadline) return (struct bytes){.count = 0};
    if ((space && !in_string) || !fits(s, (unsigned char)i)) continue;
    tombola_matcher_rollback(s->matcher, 1);
    b.has[i] = true;
    b.count++;
    b.digits += i >= '0' && i <= '9';
    b.printable += i >= 0x20 && i < 0x7f;
    b.high += i >= 0x80;
  }
  if (in_string && !s->is_plain && b.has['\\'] && b.count > 1) {
    b.has['\\'] = false;
    b.count--;
  }
  return b;
}

/* ---- items ---- */

static void add(struct search *s, const char *text) {
  struct schema_expected *out = s->out;
  for (size_t i = 0; i < out->count; i++)
    if (strcmp(out->items[i], text) == 0) return;
  out->more = out->more || out->count == SCHEMA_ITEMS;
  if (out->count < SCHEMA_ITEMS) snprintf(out->items[out->count++], SCHEMA_ITEM, "%s", text);
}

/* What has been read of a token; `open`: it may go on in more ways than are followed. Whole characters alone are shown. */
static void add_item(struct search *s, bool open) {
  size_t n = s->length, whole = n;
  while (open && whole > 0 && ((unsigned char)s->item[whole - 1] & 0xC0) == 0x80)
    whole--;
  if (open && whole > 0 && (unsigned char)s->item[whole - 1] >= 0xC0) n = whole - 1;
  char text[SCHEMA_ITEM];
  snprintf(text, sizeof text, "%.*s%s", (int)n, s->item, open ? "\xe2\x80\xa6" : "");
  add(s, text);
}

static void follow(struct search *s, bool in_string);

/* Whether a quote behind what has been read ends the string. */
static bool ends_string(const struct search *s) {
  size_t escapes = 0;
  while (escapes < s->length && s->item[s->length - 1 - escapes] == '\\')
    escapes++;
  return escapes % 2 == 0;
}

/* Goes on by a byte. */
static void branch(struct search *s, unsigned char byte, bool in_string) {
  const bool begins = byte == '"' && !in_string, ends = byte == '"' && in_string && ends_string(s);
  if (s->length + 8 >= sizeof s->item) {
    add_item(s, true);
    return;
  }
  if (!fits(s, byte)) return;
  s->item[s->length++] = (char)byte;
  if (ends || (!begins && !in_string && strchr("{}[],:", byte)))
    add_item(s, false);
  else if (s->is_shallow && in_string)
    add_item(s, true);
  else
    follow(s, in_string || begins);
  s->length--;
  tombola_matcher_rollback(s->matcher, 1);
}

static bool is_of_word(int byte) {
  return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         byte == '.' || byte == '-' || byte == '+';
}

/* The rest of a string. */
static void follow_string(struct search *s, const struct bytes *b) {
  if (b->printable >= FREE && s->length == 1)
    add(s, "a string");
  else if (b->count == 0 || b->count > BRANCHES)
    add_item(s, true);
  for (int i = 0; i < 256 && b->count <= BRANCHES; i++)
    if (b->has[i]) branch(s, (unsigned char)i, true);
}

/* The rest of a number or a word: it ends where something else may come. */
static void follow_word(struct search *s, const struct bytes *b) {
  size_t count = 0;
  for (int i = 0; i < 256; i++)
    count += b->has[i] && is_of_word(i);
  const bool may_end = count < b->count || tombola_matcher_is_complete(s->matcher);
  if (count == 0 || count > BRANCHES || may_end) add_item(s, count > BRANCHES);
  for (int i = 0; i < 256 && count <= BRANCHES; i++)
    if (b->has[i] && is_of_word(i)) branch(s, (unsigned char)i, false);
}

static void follow(struct search *s, bool in_string) {
  const struct bytes b = possible(s, in_string);
  if (in_string)
    follow_string(s, &b);
  else
    follow_word(s, &b);
}

/* ---- the place ---- */

/* Where the token begins in which the text ends, and whether it is a string. */
static size_t token_start(const char *text, size_t length, bool *in_string) {
  size_t start = 0;
  *in_string = false;
  for (size_t i = 0; i < length; i++) {
    if (*in_string && text[i] == '\\')
      i++;
    else if (text[i] == '"') {
      *in_string = !*in_string;
      start = i;
    }
  }
  if (*in_string) return start;
  for (start = length; start > 0 && is_of_word((unsigned char)text[start - 1]);)
    start--;
  return start;
}

bool schema_in_number(const char *text, size_t at, size_t *start) {
  bool in_string;
  *start = token_start(text, at, &in_string);
  return !in_string && *start < at && strchr("-0123456789", text[*start]);
}

/* ---- at the place ---- */

/* Bytes of one kind that follow each other and may all come: `first` to `last`. */
static void add_run(struct search *s, int first, int last) {
  const bool is_digit = first >= '0' && first <= '9';
  char text[SCHEMA_ITEM];
  if (last - first < 2) {
    for (; first <= last; first++) {
      const char one[] = {(char)first, '\0'};
      add(s, one);
    }
    return;
  }
  snprintf(text, sizeof text, "a %s %c to %c", is_digit ? "digit" : "letter", first, last);
  add(s, first == '0' && last == '9' ? "a digit" : text);
}

/* What may come in a string where it is much and not nearly everything. */
static void add_classes(struct search *s, const struct bytes *b) {
  for (int i = 0x20; i < 0x7f; i++) {
    int last = i;
    if (!b->has[i]) continue;
    while (is_of_word(i) && i >= '0' && b->has[last + 1] && is_of_word(last + 1))
      last++;
    add_run(s, i, last);
    i = last;
  }
  if (b->high) add(s, "a character beyond ASCII");
}

static void look_in_string(struct search *s, const struct bytes *b) {
  if (b->high == b->count && b->count > 1)
    add(s, "the rest of a character");
  else if (b->printable >= FREE)
    add(s, s->next < 0 || s->next == '"' ? "more characters" : "another character");
  else if (b->count > BRANCHES)
    add_classes(s, b);
  else
    follow_string(s, b);
}

/* A number, whose digits say little; what is left in *b is looked at like anything else. */
static void look_at_digits(struct search *s, struct bytes *b) {
  const bool starts = s->length == 0;
  const bool is_other = s->next >= '0' && s->next <= '9'; /* a digit stands there, and isn't one of those */
  add(s, !starts                       ? is_other ? "another digit" : "a digit"
         : b->has['-'] || !s->is_plain ? "a number"
                                       : "a number without '-'");
  for (const char *part = "0123456789.+-eE"; *part; part++) {
    const char text[] = {*part, '\0'};
    const bool is_digit = *part >= '0' && *part <= '9';
    if (b->has[(unsigned char)*part] && !starts && !is_digit) add(s, text);
    b->has[(unsigned char)*part] = b->has[(unsigned char)*part] && starts && !is_digit && *part != '-';
  }
}

/* What may come where nothing is read of the item yet but what the document has of it. */
static void look(struct search *s, bool in_string) {
  struct bytes b = possible(s, in_string);
  if (in_string) {
    look_in_string(s, &b);
    return;
  }
  const struct search kept = *s;
  if (b.digits >= MANY_DIGITS || (!s->is_plain && kept.length == 0 && (b.digits || b.has['-'])))
    look_at_digits(s, &b);
  for (int i = 0; i < 256; i++) {
    if (!b.has[i]) continue;
    s->length = is_of_word(i) ? kept.length : 0; /* before a mark, what the document has is a whole token */
    memcpy(s->item, kept.item, sizeof s->item);
    branch(s, (unsigned char)i, false);
  }
  s->length = kept.length;
}

void schema_expect(tombola_grammar *grammar, bool is_plain, const char *text, size_t length, size_t at,
                   struct schema_expected *out) {
  static const char cut[] = "\xe2\x80\xa6";
  struct search s = {.is_plain = is_plain, .out = out, .steps = STEPS, .deadline = monotonic_seconds() + MOST_SECONDS};
  bool in_string;
  s.next = at < length ? (unsigned char)text[at] : -1;
  *out = (struct schema_expected){.at = at};
  if (tombola_matcher_new(grammar, NULL, &s.matcher, NULL) != TOMBOLA_OK) return;
  if (tombola_matcher_accept_bytes(s.matcher, text, at, NULL, NULL) == TOMBOLA_OK) {
    const size_t start = token_start(text, at, &in_string);
    if (at - start < sizeof s.item / 2) {
      s.length = at - start;
      memcpy(s.item, text + start, s.length);
    } else if (in_string) { /* too long to be shown: only its end is */
      s.length = sizeof cut - 1;
      memcpy(s.item, cut, s.length);
    }
    look(&s, in_string);
    if (out->more) {
      *out = (struct schema_expected){.at = at};
      s.is_shallow = true;
      s.steps = STEPS;
      look(&s, in_string);
    }
    if (tombola_matcher_is_complete(s.matcher)) add(&s, "the end");
  }
  tombola_matcher_free(s.matcher);
}

void schema_expect_marks(tombola_grammar *grammar, const char *text, size_t at, struct schema_expected *out) {
  struct search s = {.out = out};
  bool in_string;
  (void)token_start(text, at, &in_string);
  if (in_string || tombola_matcher_new(grammar, NULL, &s.matcher, NULL) != TOMBOLA_OK) return;
  if (tombola_matcher_accept_bytes(s.matcher, text, at, NULL, NULL) == TOMBOLA_OK) {
    for (const char *mark = ",:]}"; *mark; mark++) {
      const char item[] = {*mark, '\0'};
      if (!fits(&s, (unsigned char)*mark)) continue;
      add(&s, item);
      tombola_matcher_rollback(s.matcher, 1);
    }
    if (tombola_matcher_is_complete(s.matcher)) add(&s, "the end");
  }
  tombola_matcher_free(s.matcher);
}

void schema_expected_text(const struct schema_expected *expected, char *text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (size_t i = 0; i < expected->count && used < size; i++) {
    const char *const item = expected->items[i];
    const char *const quote = !item[1] && ispunct((unsigned char)item[0]) ? "'" : ""; /* a comma in a list */
    const bool last = i + 1 == expected->count && !expected->more;
    const int n = snprintf(text + used, size - used, "%s%s%s%s",
                           i == 0 ? ""
                           : last ? " or "
                                  : ", ",
                           quote, item, quote);
    used += n < 0 ? 0 : (size_t)n;
  }
  if (expected->more && used < size) snprintf(text + used, size - used, " or others");
}
