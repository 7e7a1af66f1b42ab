/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a regular expression by the grammar of ECMA-262 (2024), section 22.2.1, with the flag u. Schemas in the wild
 * are written for other engines too, so what has one meaning in all of them is taken although u forbids it: escaped
 * punctuation (\-, \_, \"), a brace or bracket that closes nothing, a hyphen behind \w in a class. */
#include "constraint/regex/regex.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "constraint/code_point.h"
#include "constraint/regex/regex_ast.h"

#define MOST_REPEATS INT32_MAX
#define EXCERPT      24

typedef struct tombola__regex_parser parser;
typedef struct tombola__regex_node node;

bool tombola__regex_error(parser *p, enum tombola_status status, size_t offset, const char *format, ...) {
  if (p->status) return false;
  char what[160], where[EXCERPT + 1] = "";
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  size_t n = p->length - offset;
  if (n > EXCERPT) {
    n = EXCERPT;
    while (n && ((unsigned char)p->text[offset + n] & 0xC0) == 0x80)
      n--;
  }
  memcpy(where, p->text + offset, n);
  if (n)
    p->status =
        tombola__fail(p->error, status, NULL, "regular expression, byte %zu: %s: %s", offset, what, where);
  else
    p->status = tombola__fail(p->error, status, NULL, "regular expression, at its end: %s", what);
  if (p->error) p->error->offset = offset;
  return false;
}

/* ---- characters ---- */

char tombola__regex_peek(const parser *p, size_t ahead) {
  return p->length - p->at > ahead ? p->text[p->at + ahead] : '\0';
}

bool tombola__regex_take(parser *p, char c) {
  if (p->at == p->length || p->text[p->at] != c) return false;
  p->at++;
  return true;
}

uint32_t tombola__regex_next(parser *p) {
  uint32_t c = 0;
  p->at += tombola__utf8_read(p->text + p->at, p->length - p->at, &c);
  return c;
}

static bool check_utf8(parser *p) {
  for (size_t at = 0, n; at < p->length; at += n) {
    uint32_t c;
    n = tombola__utf8_read(p->text + at, p->length - at, &c);
    if (!n) return tombola__regex_error(p, TOMBOLA_FORMAT, at, "not UTF-8");
  }
  return true;
}

/* ---- nodes ---- */

static node *new_node(parser *p, enum tombola__regex_kind kind, size_t offset) {
  node *const new = tombola__store_take(p->store, 1, sizeof *new);
  if (!new) {
    p->status = p->store->status;
    if (p->error) *p->error = p->store->error;
    return NULL;
  }
  new->kind = kind;
  new->offset = offset;
  new->plain = kind <= TOMBOLA__REGEX_REPEAT;
  return new;
}

static void append(node *parent, node *child) {
  child->previous = parent->last;
  if (parent->last)
    parent->last->next = child;
  else
    parent->first = child;
  parent->last = child;
  parent->n++;
  parent->plain = parent->plain && child->plain;
}

/* One code point of parser->set. */
static node *set_node(parser *p, size_t offset) {
  node *const new = new_node(p, TOMBOLA__REGEX_SET, offset);
  if (!new) return NULL;
  new->n = p->set.n;
  new->ranges = &new->one;
  if (new->n == 1) {
    new->one = p->set.ranges[0];
  } else if (new->n) {
    struct tombola__range *const ranges = tombola__store_take(p->store, new->n, sizeof *ranges);
    if (!ranges) return NULL;
    memcpy(ranges, p->set.ranges, new->n * sizeof *ranges);
    new->ranges = ranges;
  }
  return new;
}

static node *code_point_node(parser *p, size_t offset, uint32_t c) {
  p->set.n = 0;
  tombola__regex_add(p, c, c);
  return set_node(p, offset);
}

/* ---- quantifiers ---- */

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* The digits at *at; stays at one more than MOST_REPEATS when they are more. */
static uint64_t number(const parser *p, size_t *at) {
  uint64_t n = 0;
  for (; *at < p->length && is_digit(p->text[*at]); ++*at) {
    n = n * 10 + (uint64_t)(p->text[*at] - '0');
    if (n > MOST_REPEATS) n = (uint64_t)MOST_REPEATS + 1;
  }
  return n;
}

struct bounds {
  uint64_t min, max;
};

/* {n}, {n,} or {n,m}: the length of the text, or 0 when it is none of these. */
static size_t braces(const parser *p, struct bounds *b) {
  size_t at = p->at + 1;
  if (tombola__regex_peek(p, 0) != '{' || !is_digit(tombola__regex_peek(p, 1))) return 0;
  b->min = b->max = number(p, &at);
  if (at < p->length && p->text[at] == ',') {
    at++;
    const bool bounded = at < p->length && is_digit(p->text[at]);
    b->max = bounded ? number(p, &at) : TOMBOLA__REGEX_UNBOUNDED;
  }
  return at < p->length && p->text[at] == '}' ? at + 1 - p->at : 0;
}

/* The quantifier at parser->at; false when there is none, or an error. */
static bool quantifier(parser *p, struct bounds *b) {
  const size_t start = p->at;
  size_t n = 1;
  switch (tombola__regex_peek(p, 0)) {
  case '*': *b = (struct bounds){0, TOMBOLA__REGEX_UNBOUNDED}; break;
  case '+': *b = (struct bounds){1, TOMBOLA__REGEX_UNBOUNDED}; break;
  case '?': *b = (struct bounds){0, 1}; break;
  case '{': n = braces(p, b); break;
  default: return false;
  }
  if (!n) return false;
  if (b->min > MOST_REPEATS || (b->max > MOST_REPEATS && b->max != TOMBOLA__REGEX_UNBOUNDED))
    return tombola__regex_error(p, TOMBOLA_OUT_OF_RANGE, start, "a count above %d", MOST_REPEATS);
  if (b->min > b->max) return tombola__regex_error(p, TOMBOLA_FORMAT, start, "the counts are out of order");
  p->at += n;
  tombola__regex_take(p, '?'); /* lazy: the same texts match */
  return true;
}

static node *quantified(parser *p, node *child) {
  struct bounds b;
  const size_t start = p->at;
  if (!child || !quantifier(p, &b)) return p->status ? NULL : child;
  if (child->kind >= TOMBOLA__REGEX_START) {
    tombola__regex_error(p, TOMBOLA_FORMAT, start, "an assertion can't be repeated");
    return NULL;
  }
  node *const new = new_node(p, TOMBOLA__REGEX_REPEAT, child->offset);
  if (!new) return NULL;
  new->min = (uint32_t)b.min;
  new->max = (uint32_t)b.max;
  append(new, child);
  return new;
}

/* ---- groups ---- */

static node *alternatives(parser *p);

/* Behind "(?<": a name and ">". */
static bool group_name(parser *p, size_t start) {
  const size_t name = p->at;
  while (p->at < p->length && p->text[p->at] != '>') {
    const char c = p->text[p->at];
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
    if (!letter && (unsigned char)c < 0x80 && (!is_digit(c) || p->at == name)) break;
    p->at++;
  }
  if (p->at > name && tombola__regex_take(p, '>')) return true;
  return tombola__regex_error(p, TOMBOLA_FORMAT, start, "a group's name is letters and digits, then >");
}

/* What follows "(?": sets the kind of an assertion. */
static bool group_kind(parser *p, size_t start, enum tombola__regex_kind *kind) {
  const char c = tombola__regex_peek(p, 0), d = tombola__regex_peek(p, 1);
  if (c == '<' && (d == '=' || d == '!'))
    return tombola__regex_error(p, TOMBOLA_UNSUPPORTED, start, "look-behind isn't supported");
  if (c == '>') return tombola__regex_error(p, TOMBOLA_UNSUPPORTED, start, "atomic groups aren't supported");
  if (c == '-' || c == 'i' || c == 'm' || c == 's' || c == 'x')
    return tombola__regex_error(p, TOMBOLA_UNSUPPORTED, start, "flags inside of a pattern aren't supported");
  if (c == 'P') return tombola__regex_error(p, TOMBOLA_FORMAT, start, "a named group is (?<name>...)");
  if (c != '=' && c != '!' && c != ':' && c != '<')
    return tombola__regex_error(p, TOMBOLA_FORMAT, start, "no group begins like this");
  p->at++;
  if (c == '=') *kind = TOMBOLA__REGEX_AHEAD;
  if (c == '!') *kind = TOMBOLA__REGEX_NOT_AHEAD;
  return c != '<' || group_name(p, start);
}

static node *group(parser *p) {
  const size_t start = p->at++;
  enum tombola__regex_kind kind = TOMBOLA__REGEX_SEQUENCE;
  if (tombola__regex_take(p, '?') && !group_kind(p, start, &kind)) return NULL;
  if (++p->depth > p->store->max_depth) {
    tombola__regex_error(p, TOMBOLA_OUT_OF_RANGE, start, "groups nest deeper than %zu (max_depth)",
                         p->store->max_depth);
    return NULL;
  }
  node *inner = alternatives(p);
  p->depth--;
  if (!inner) return NULL;
  if (!tombola__regex_take(p, ')')) {
    tombola__regex_error(p, TOMBOLA_FORMAT, start, "the group isn't closed");
    return NULL;
  }
  /* What stands alone in a group is still repeated as a whole, even an assertion. */
  const bool wrap = kind != TOMBOLA__REGEX_SEQUENCE || inner->kind >= TOMBOLA__REGEX_START;
  node *const new = wrap ? new_node(p, kind, start) : inner;
  if (wrap && new) append(new, inner);
  if (new) new->offset = start;
  return new;
}

/* ---- terms ---- */

static node *escaped(parser *p) {
  const size_t start = p->at;
  const char c = tombola__regex_peek(p, 1);
  struct tombola__regex_atom atom;
  if (c == 'b' || c == 'B') {
    p->at += 2;
    return new_node(p, c == 'b' ? TOMBOLA__REGEX_BOUNDARY : TOMBOLA__REGEX_NO_BOUNDARY, start);
  }
  if (c == 'k' || (c >= '1' && c <= '9')) {
    tombola__regex_error(p, TOMBOLA_UNSUPPORTED, start, "back references aren't supported");
    return NULL;
  }
  p->set.n = 0;
  if (!tombola__regex_escape(p, false, &atom)) return NULL;
  if (atom.single) tombola__regex_add(p, atom.code_point, atom.code_point);
  return set_node(p, start);
}

/* "." */
static node *any_but_line_ends(parser *p) {
  p->set.n = 0;
  tombola__regex_add(p, 0, '\n' - 1);
  tombola__regex_add(p, '\n' + 1, '\r' - 1);
  tombola__regex_add(p, '\r' + 1, 0x2027);
  tombola__regex_add(p, 0x202A, TOMBOLA__LAST_CODE_POINT);
  return set_node(p, p->at++);
}

static node *atom_or_assertion(parser *p) {
  const size_t start = p->at;
  struct bounds b;
  switch (p->text[p->at]) {
  case '^': p->at++; return new_node(p, TOMBOLA__REGEX_START, start);
  case '$': p->at++; return new_node(p, TOMBOLA__REGEX_END, start);
  case '(': return group(p);
  case '[': return tombola__regex_class(p) ? set_node(p, start) : NULL;
  case '\\': return escaped(p);
  case '.': return any_but_line_ends(p);
  case '*':
  case '+':
  case '?': tombola__regex_error(p, TOMBOLA_FORMAT, start, "nothing to repeat"); return NULL;
  case '{':
    if (braces(p, &b)) {
      tombola__regex_error(p, TOMBOLA_FORMAT, start, "nothing to repeat");
      return NULL;
    }
    /* Elsewhere this means {0,n}, in ECMA-262 without u it would be text. */
    if (tombola__regex_peek(p, 1) == ',' && is_digit(tombola__regex_peek(p, 2))) {
      tombola__regex_error(p, TOMBOLA_FORMAT, start, "a quantifier without its least count");
      return NULL;
    }
    break;
  default: break;
  }
  const uint32_t c = tombola__regex_next(p);
  return code_point_node(p, start, c);
}

static node *sequence(parser *p) {
  node *const all = new_node(p, TOMBOLA__REGEX_SEQUENCE, p->at);
  while (all && p->at < p->length && p->text[p->at] != '|' && p->text[p->at] != ')') {
    node *const term = quantified(p, atom_or_assertion(p));
    if (!term || p->status) return NULL;
    append(all, term);
  }
  return all && all->n == 1 ? all->first : all;
}

static node *alternatives(parser *p) {
  const size_t start = p->at;
  node *const only = sequence(p);
  if (!only || tombola__regex_peek(p, 0) != '|') return only;
  node *const all = new_node(p, TOMBOLA__REGEX_ALTERNATIVES, start);
  if (!all) return NULL;
  append(all, only);
  while (tombola__regex_take(p, '|')) {
    node *const more = sequence(p);
    if (!more) return NULL;
    append(all, more);
  }
  return all;
}

node *tombola__regex_parse(parser *p) {
  if (!check_utf8(p)) return NULL;
  node *const root = alternatives(p);
  if (root && p->at < p->length) {
    tombola__regex_error(p, TOMBOLA_FORMAT, p->at, "no group is open here");
    return NULL;
  }
  return p->status ? NULL : root;
}

enum tombola_status tombola__regex(struct tombola__store *s, const char *text, size_t length,
                                   enum tombola__regex_mode mode, tombola__lang *out,
                                   struct tombola_error *error) {
  parser p = {.store = s, .text = text, .length = length, .error = error};
  *out = TOMBOLA__LANG_NONE;
  node *const root = tombola__regex_parse(&p);
  if (root) *out = tombola__regex_lang(&p, root, mode == TOMBOLA__REGEX_WHOLE);
  if (!p.status && s->status) {
    p.status = s->status;
    if (error) *error = s->error;
  }
  if (p.status) *out = TOMBOLA__LANG_NONE;
  return p.status;
}
