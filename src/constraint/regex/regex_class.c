/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions: escapes and character classes. */
#include <string.h>

#include "constraint/regex/regex.h"
#include "constraint/regex/regex_ast.h"

typedef struct tombola__regex_parser parser;
typedef struct tombola__regex_atom atom_t;

static const struct tombola__range digits[] = {{'0', '9'}};
static const struct tombola__range words[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
/* WhiteSpace and LineTerminator: of Unicode's Zs all, U+FEFF, and the controls that are named. */
static const struct tombola__range spaces[] = {
    {0x09, 0x0D},     {0x20, 0x20},     {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
    {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};

/* ---- sets ---- */

void tombola__regex_add(parser *p, uint32_t lo, uint32_t hi) {
  struct tombola__regex_set *const set = &p->set;
  if (p->status) return;
  if (set->n == set->capacity) {
    const size_t capacity = set->capacity ? 2 * set->capacity : 16;
    struct tombola__range *const ranges = tombola__store_take(p->store, capacity, sizeof *ranges);
    if (!ranges) {
      p->status = p->store->status;
      if (p->error) *p->error = p->store->error;
      return;
    }
    if (set->n) memcpy(ranges, set->ranges, set->n * sizeof *ranges);
    set->ranges = ranges;
    set->capacity = capacity;
  }
  set->ranges[set->n++] = (struct tombola__range){lo, hi};
}

/* Ascending, disjoint ranges, or what isn't in them. */
static void add_ranges(parser *p, const struct tombola__range *ranges, size_t n, bool outside) {
  uint32_t from = 0;
  for (size_t i = 0; i < n; i++) {
    if (!outside)
      tombola__regex_add(p, ranges[i].lo, ranges[i].hi);
    else if (ranges[i].lo > from)
      tombola__regex_add(p, from, ranges[i].lo - 1);
    from = ranges[i].hi + 1;
  }
  if (outside && from <= TOMBOLA__LAST_CODE_POINT) tombola__regex_add(p, from, TOMBOLA__LAST_CODE_POINT);
}

static void sift(struct tombola__range *ranges, size_t root, size_t n) {
  for (size_t child; (child = 2 * root + 1) < n; root = child) {
    if (child + 1 < n && ranges[child + 1].lo > ranges[child].lo) child++;
    if (ranges[root].lo >= ranges[child].lo) return;
    const struct tombola__range swap = ranges[root];
    ranges[root] = ranges[child];
    ranges[child] = swap;
  }
}

/* By heap: the C library's qsort may allocate. */
static void sort(struct tombola__range *ranges, size_t n) {
  for (size_t i = n / 2; i-- > 0;)
    sift(ranges, i, n);
  for (size_t end = n; end-- > 1;) {
    const struct tombola__range swap = ranges[0];
    ranges[0] = ranges[end];
    ranges[end] = swap;
    sift(ranges, 0, end);
  }
}

/* Makes parser->set what isn't in it. */
static void invert(parser *p) {
  struct tombola__range *const ranges = p->set.ranges;
  size_t n = 0;
  sort(ranges, p->set.n);
  for (size_t i = 0; i < p->set.n; i++) {
    if (n && ranges[i].lo <= ranges[n - 1].hi + 1) {
      if (ranges[i].hi > ranges[n - 1].hi) ranges[n - 1].hi = ranges[i].hi;
    } else {
      ranges[n++] = ranges[i];
    }
  }
  p->set = (struct tombola__regex_set){0};
  add_ranges(p, ranges, n, true);
}

/* ---- escapes ---- */

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Exactly n hexadecimal digits at parser->at + ahead. */
static bool hex(const parser *p, size_t ahead, size_t n, uint32_t *value) {
  *value = 0;
  for (size_t i = 0; i < n; i++) {
    const int digit = hex_digit(tombola__regex_peek(p, ahead + i));
    if (digit < 0) return false;
    *value = *value << 4 | (uint32_t)digit;
  }
  return true;
}

/* Behind "\u": four digits, two times four for a surrogate pair, or any number in braces. */
static bool unicode_escape(parser *p, size_t start, uint32_t *c) {
  uint32_t low;
  if (tombola__regex_take(p, '{')) {
    *c = 0;
    const size_t first = p->at;
    for (int digit; *c <= TOMBOLA__LAST_CODE_POINT && (digit = hex_digit(tombola__regex_peek(p, 0))) >= 0;
         p->at++)
      *c = *c << 4 | (uint32_t)digit;
    if (p->at > first && *c <= TOMBOLA__LAST_CODE_POINT && tombola__regex_take(p, '}')) return true;
    return tombola__regex_error(p, TOMBOLA_FORMAT, start, "\\u{...} holds a code point up to 10FFFF");
  }
  if (!hex(p, 0, 4, c)) return tombola__regex_error(p, TOMBOLA_FORMAT, start, "\\u takes four digits");
  p->at += 4;
  if ((*c & 0xFC00) == 0xD800 && tombola__regex_peek(p, 0) == '\\' && tombola__regex_peek(p, 1) == 'u' &&
      hex(p, 2, 4, &low) && (low & 0xFC00) == 0xDC00) {
    *c = 0x10000 + ((*c & 0x3FF) << 10 | (low & 0x3FF));
    p->at += 6;
  }
  return true;
}

/* Behind "\p" or "\P". */
static bool property(parser *p, size_t start, bool outside) {
  const size_t name = p->at + 1;
  size_t end = name, n;
  if (tombola__regex_peek(p, 0) == '{')
    while (end < p->length && p->text[end] != '}' && p->text[end] != '\\')
      end++;
  if (end == name || end == p->length || p->text[end] != '}')
    return tombola__regex_error(p, TOMBOLA_FORMAT, start, "\\p takes a property in braces");
  const struct tombola__range *const ranges =
      tombola__unicode_property(p->store, p->text + name, end - name, &n);
  if (!ranges && p->store->status) {
    p->status = p->store->status;
    if (p->error) *p->error = p->store->error;
    return false;
  }
  if (!ranges) {
    p->length = end + 1; /* what is behind it is no part of the trouble */
    return tombola__regex_error(p, TOMBOLA_UNSUPPORTED, start, "this Unicode property isn't supported");
  }
  p->at = end + 1;
  add_ranges(p, ranges, n, outside);
  return true;
}

static bool class_escape(parser *p, char c) {
  switch (c) {
  case 'd':
  case 'D': add_ranges(p, digits, TOMBOLA__COUNT(digits), c == 'D'); return true;
  case 'w':
  case 'W': add_ranges(p, words, TOMBOLA__COUNT(words), c == 'W'); return true;
  case 's':
  case 'S': add_ranges(p, spaces, TOMBOLA__COUNT(spaces), c == 'S'); return true;
  default: return false;
  }
}

/* Those that are one letter or name a code point; parser->at is behind the letter. */
static bool character_escape(parser *p, size_t start, char c, uint32_t *code_point) {
  static const char names[] = "tnvfr", values[] = "\t\n\v\f\r";
  const char *const known = c ? strchr(names, c) : NULL;
  const char letter = tombola__regex_peek(p, 0);
  if (known) {
    *code_point = (uint32_t)values[known - names];
    return true;
  }
  switch (c) {
  case 'c':
    if (!((letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z')))
      return tombola__regex_error(p, TOMBOLA_FORMAT, start, "\\c takes a letter");
    *code_point = (uint32_t)letter & 0x1F;
    p->at++;
    return true;
  case 'x':
    if (!hex(p, 0, 2, code_point))
      return tombola__regex_error(p, TOMBOLA_FORMAT, start, "\\x takes two digits");
    p->at += 2;
    return true;
  case 'u': return unicode_escape(p, start, code_point);
  case '0':
    *code_point = 0;
    if (letter < '0' || letter > '9') return true;
    return tombola__regex_error(p, TOMBOLA_FORMAT, start, "octal escapes aren't in ECMA-262");
  default: break;
  }
  const bool letter_or_digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  if (c < ' ' || c > '~' || letter_or_digit)
    return tombola__regex_error(p, TOMBOLA_FORMAT, start, "this escape isn't in ECMA-262");
  *code_point = (uint32_t)c; /* punctuation */
  return true;
}

bool tombola__regex_escape(parser *p, bool in_class, atom_t *atom) {
  const size_t start = p->at;
  *atom = (atom_t){0};
  if (++p->at == p->length)
    return tombola__regex_error(p, TOMBOLA_FORMAT, start, "nothing follows the backslash");
  const char c = p->text[p->at++];
  if (class_escape(p, c)) return !p->status;
  if (c == 'p' || c == 'P') return property(p, start, c == 'P') && !p->status;
  atom->single = true;
  if (in_class && c == 'b') {
    atom->code_point = '\b';
    return true;
  }
  return character_escape(p, start, c, &atom->code_point);
}

/* ---- classes ---- */

/* One code point or set in a class. */
static bool class_atom(parser *p, atom_t *atom) {
  if (p->at < p->length && p->text[p->at] == '\\') return tombola__regex_escape(p, true, atom);
  *atom = (atom_t){.single = true, .code_point = tombola__regex_next(p)};
  return true;
}

/* What other engines, or the flag v, read as more than code points: [:alpha:], [a-z--[aeiou]], [a-z&&[^b]]. */
static bool check_syntax(parser *p) {
  const char a = tombola__regex_peek(p, 0), b = tombola__regex_peek(p, 1), c = tombola__regex_peek(p, 2);
  if (a == '[' && b == ':')
    return tombola__regex_error(p, TOMBOLA_UNSUPPORTED, p->at, "POSIX classes aren't in ECMA-262");
  if (((a == '-' && b == '-') || (a == '&' && b == '&')) && (c == '[' || c == '\\'))
    return tombola__regex_error(p, TOMBOLA_UNSUPPORTED, p->at,
                                "set operations (the flag v) aren't supported");
  return true;
}

/* An atom, or the range that begins with it. */
static bool class_range(parser *p) {
  const size_t start = p->at;
  atom_t first, last;
  if (!check_syntax(p) || !class_atom(p, &first)) return false;
  const char behind = tombola__regex_peek(p, 1);
  if (!check_syntax(p)) return false;
  if (tombola__regex_peek(p, 0) != '-' || behind == ']' || p->length - p->at < 2) {
    if (first.single) tombola__regex_add(p, first.code_point, first.code_point);
    return true;
  }
  p->at++;
  if (!class_atom(p, &last)) return false;
  if (first.single && last.single) {
    if (first.code_point > last.code_point)
      return tombola__regex_error(p, TOMBOLA_FORMAT, start, "the range is out of order");
    tombola__regex_add(p, first.code_point, last.code_point);
    return true;
  }
  tombola__regex_add(p, '-', '-'); /* as without the flag u */
  if (first.single) tombola__regex_add(p, first.code_point, first.code_point);
  if (last.single) tombola__regex_add(p, last.code_point, last.code_point);
  return true;
}

bool tombola__regex_class(parser *p) {
  const size_t start = p->at++;
  const bool outside = tombola__regex_take(p, '^');
  p->set.n = 0;
  while (p->at < p->length && p->text[p->at] != ']')
    if (!class_range(p) || p->status) return false;
  if (!tombola__regex_take(p, ']'))
    return tombola__regex_error(p, TOMBOLA_FORMAT, start, "the class isn't closed");
  if (outside) invert(p);
  return !p->status;
}
