/* SPDX-License-Identifier: Apache-2.0 */
/* The parser of GBNF, llama.cpp's notation of grammars (its grammars/README.md): rules `name ::= …` of literals,
 * classes of characters, names and groups, with `|` between alternatives and * + ? {m,n} behind what they repeat. A rule
 * ends with its line, except inside of parentheses and behind ::= and |. When a name is defined twice the last
 * definition counts, as there. <[123]> is a token by its id, <text> the one that this spelling (its < and > too) is, and
 * with ! in front any other token: they match whole tokens, and never a part of one, or bytes. */
#include <string.h>

#include "constraint/code_point.h"
#include "constraint/machine/rules.h"
#include "constraint/machine/token.h"

struct item {
  struct item *next;
  struct tombola__element element;
};

/* A rule's productions are one row of items. */
struct row {
  struct item *first, *last;
  size_t length;
};

struct parser {
  struct tombola__store *store;
  const tombola_vocabulary *vocabulary;
  const char *text;
  size_t length, at, depth;
  struct tombola__rule *rules;
  struct row *rows; /* of the rules */
  uint32_t n_rules, room;
  uint32_t *slots; /* rules by name: index + 1 */
  uint32_t n_slots;
  struct tombola__range *ranges; /* of one class */
  size_t n_ranges, ranges_room;
  char *literal; /* of one literal */
  size_t literal_length, literal_room;
};

static void alternatives(struct parser *p, uint32_t rule, bool nested);

static bool fine(const struct parser *p) {
  return p->store->status == TOMBOLA_OK;
}

static size_t line_of(const struct parser *p, size_t at) {
  size_t line = 1;
  for (size_t i = 0; i < at; i++)
    line += p->text[i] == '\n';
  return line;
}

static void fail_at(struct parser *p, size_t at, enum tombola_status status, const char *what,
                    const char *name, size_t length) {
  if (!fine(p)) return;
  tombola__store_fail(p->store, status, "grammar", "line %zu, byte %zu: %s%s%.*s", line_of(p, at), at, what,
                      length ? " " : "", (int)(length < 100 ? length : 100), name ? name : "");
  p->store->error.offset = at;
}

static void expected(struct parser *p, const char *what) {
  fail_at(p, p->at, TOMBOLA_FORMAT, what, NULL, 0);
}

/* The byte that comes next; 0 at the end, and a NUL in the text is an error wherever something is expected. */
static unsigned char peek(const struct parser *p) {
  return p->at < p->length ? (unsigned char)p->text[p->at] : 0;
}

static bool take(struct parser *p, char byte) {
  if (p->at >= p->length || p->text[p->at] != byte) return false;
  p->at++;
  return true;
}

static void space(struct parser *p, bool lines) {
  for (; p->at < p->length; p->at++) {
    const char c = p->text[p->at];
    if (c == '#')
      while (p->at + 1 < p->length && p->text[p->at + 1] != '\n' && p->text[p->at + 1] != '\r')
        p->at++;
    else if (c != ' ' && c != '\t' && !(lines && (c == '\n' || c == '\r')))
      return;
  }
}

static bool is_digit(unsigned char c) {
  return c >= '0' && c <= '9';
}

static bool is_word(unsigned char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '-' || c == '_';
}

/* ---- tables that grow ---- */

/* Twice the room, in the store; the old half is lost to it. */
static void *grown(struct parser *p, const void *old, size_t count, size_t *room, size_t size) {
  const size_t more = *room ? 2 * *room : 16;
  void *const table = tombola__store_take(p->store, more, size);
  if (!table) return NULL;
  if (count) memcpy(table, old, count * size);
  *room = more;
  return table;
}

static uint64_t hash_name(const char *name, size_t length) {
  uint64_t hash = length;
  for (size_t i = 0; i < length; i++)
    hash = tombola__mix(hash, (unsigned char)name[i]);
  return hash;
}

/* The slot of a name, or the empty one where it belongs. */
static uint32_t *slot_of(const struct parser *p, const char *name, size_t length) {
  uint32_t i = (uint32_t)(hash_name(name, length) >> 32) & (p->n_slots - 1);
  for (; p->slots[i]; i = (i + 1) & (p->n_slots - 1)) {
    const struct tombola__rule *const rule = &p->rules[p->slots[i] - 1];
    if (rule->name_length == length && memcmp(rule->name, name, length) == 0) break;
  }
  return &p->slots[i];
}

static bool grow_slots(struct parser *p) {
  const uint32_t n = p->n_slots ? 2 * p->n_slots : 64;
  uint32_t *const slots = tombola__store_take(p->store, n, sizeof *slots);
  if (!slots) return false;
  p->slots = slots;
  p->n_slots = n;
  for (uint32_t i = 0; i < p->n_rules; i++)
    if (p->rules[i].name_length) *slot_of(p, p->rules[i].name, p->rules[i].name_length) = i + 1;
  return true;
}

/* A rule more; a group's has no name. UINT32_MAX after a failure. */
static uint32_t add_rule(struct parser *p, const char *name, size_t length) {
  size_t room = p->room;
  if (p->n_rules == p->room) {
    struct tombola__rule *const rules = grown(p, p->rules, p->n_rules, &room, sizeof *rules);
    room = p->room;
    struct row *const rows = grown(p, p->rows, p->n_rules, &room, sizeof *rows);
    if (!rules || !rows) return UINT32_MAX;
    p->rules = rules;
    p->rows = rows;
    p->room = (uint32_t)room;
  }
  if (!tombola__store_state(p->store)) return UINT32_MAX;
  p->rules[p->n_rules] = (struct tombola__rule){.name = name, .name_length = length, .offset = p->at};
  return p->n_rules++;
}

static uint32_t rule_named(struct parser *p, const char *name, size_t length) {
  if (p->n_rules >= p->n_slots / 2 && !grow_slots(p)) return UINT32_MAX;
  uint32_t *const slot = slot_of(p, name, length);
  if (!*slot) {
    const uint32_t rule = add_rule(p, name, length);
    if (rule != UINT32_MAX) *slot = rule + 1;
    return rule;
  }
  return *slot - 1;
}

static struct item *append(struct parser *p, uint32_t rule, struct tombola__element element) {
  struct item *const item = fine(p) ? tombola__store_take(p->store, 1, sizeof *item) : NULL;
  if (!item) return NULL;
  struct row *const row = &p->rows[rule];
  item->element = element;
  if (row->last)
    row->last->next = item;
  else
    row->first = item;
  row->last = item;
  row->length++;
  return item;
}

/* ---- characters ---- */

static uint32_t hex(struct parser *p, unsigned digits) {
  uint32_t value = 0;
  for (unsigned i = 0; i < digits; i++, p->at++) {
    const unsigned char c = peek(p), lower = c | 0x20;
    if (is_digit(c))
      value = value << 4 | (uint32_t)(c - '0');
    else if (lower >= 'a' && lower <= 'f')
      value = value << 4 | (uint32_t)(lower - 'a' + 10);
    else {
      expected(p, digits == 2   ? "expected 2 hexadecimal digits"
                  : digits == 4 ? "expected 4 hexadecimal digits"
                                : "expected 8 hexadecimal digits");
      return 0;
    }
  }
  return value;
}

static uint32_t escape(struct parser *p) {
  const unsigned char c = peek(p);
  p->at++;
  switch (c) {
  case 'x': return hex(p, 2);
  case 'u': return hex(p, 4);
  case 'U': return hex(p, 8);
  case 't': return '\t';
  case 'r': return '\r';
  case 'n': return '\n';
  case '\\':
  case '"':
  case '[':
  case ']':
  case '-': return c;
  default:
    p->at--;
    expected(p, "expected an escape: one of n r t \\ \" [ ] - x u U");
    return 0;
  }
}

/* A well-formed character of the source. */
static uint32_t plain(struct parser *p) {
  uint32_t value = 0;
  const size_t length = tombola__utf8_read(p->text + p->at, p->length - p->at, &value);
  if (!length) {
    expected(p, "expected UTF-8");
    return 0;
  }
  p->at += length;
  return value;
}

/* A character of a literal or of a class, `close` is what ends it. */
static uint32_t character(struct parser *p, const char *close) {
  if (p->at >= p->length) {
    expected(p, close);
    return 0;
  }
  return take(p, '\\') ? escape(p) : plain(p);
}

static bool append_utf8(struct parser *p, uint32_t c) {
  if (p->literal_room - p->literal_length < 4) {
    char *const literal = grown(p, p->literal, p->literal_length, &p->literal_room, 1);
    if (!literal) return false;
    p->literal = literal;
  }
  p->literal_length += tombola__utf8_write(c, p->literal + p->literal_length);
  return true;
}

/* ---- items ---- */

static struct tombola__element of_lang(tombola__lang lang) {
  return (struct tombola__element){.kind = TOMBOLA__ELEMENT_LANG, .target = lang};
}

static void literal(struct parser *p, uint32_t rule) {
  p->literal_length = 0;
  while (fine(p) && !take(p, '"')) {
    const size_t at = p->at;
    const uint32_t c = character(p, "expected \" at the end of a literal");
    if (c > TOMBOLA__LAST_CODE_POINT || (c >= 0xD800 && c < 0xE000))
      fail_at(p, at, TOMBOLA_FORMAT, "expected a character, not a surrogate or what is beyond U+10FFFF", NULL,
              0);
    if (!fine(p) || !append_utf8(p, c)) return;
  }
  if (fine(p)) append(p, rule, of_lang(tombola__lang_text(p->store, p->literal, p->literal_length)));
}

static bool add_range(struct parser *p, uint32_t lo, uint32_t hi) {
  if (p->n_ranges == p->ranges_room) {
    struct tombola__range *const ranges = grown(p, p->ranges, p->n_ranges, &p->ranges_room, sizeof *ranges);
    if (!ranges) return false;
    p->ranges = ranges;
  }
  if (lo > TOMBOLA__LAST_CODE_POINT) return true;
  p->ranges[p->n_ranges++] =
      (struct tombola__range){lo, hi < TOMBOLA__LAST_CODE_POINT ? hi : TOMBOLA__LAST_CODE_POINT};
  return true;
}

static void class_of_characters(struct parser *p, uint32_t rule) {
  static const char close[] = "expected ] at the end of a class";
  const size_t start = p->at;
  const bool negated = take(p, '^');
  bool any = false;
  p->n_ranges = 0;
  while (fine(p) && !take(p, ']')) {
    const size_t at = p->at;
    const uint32_t lo = character(p, close);
    uint32_t hi = lo;
    if (peek(p) == '-' && !(p->at + 1 < p->length && p->text[p->at + 1] == ']')) {
      p->at++;
      hi = character(p, close);
    }
    if (fine(p) && hi < lo)
      fail_at(p, at, TOMBOLA_FORMAT, "expected a range whose end isn't before its start", NULL, 0);
    if (!fine(p) || !add_range(p, lo, hi)) return;
    any = true;
  }
  if (!any) fail_at(p, start, TOMBOLA_FORMAT, "expected a character in the class", NULL, 0);
  if (!fine(p)) return;
  tombola__lang lang = tombola__lang_set(p->store, p->ranges, p->n_ranges);
  if (negated)
    lang = tombola__lang_and(p->store, tombola__lang_any(p->store), tombola__lang_not(p->store, lang));
  append(p, rule, of_lang(lang));
}

static void group(struct parser *p, uint32_t rule) {
  const uint32_t inner = add_rule(p, "", 0);
  if (inner == UINT32_MAX) return;
  if (++p->depth > p->store->max_depth) {
    fail_at(p, p->at, TOMBOLA_OUT_OF_RANGE, "groups are nested deeper than max_depth", NULL, 0);
    return;
  }
  p->rules[inner].defined = true;
  space(p, true);
  alternatives(p, inner, true);
  if (fine(p) && !take(p, ')')) expected(p, "expected ) or an element");
  p->depth--;
  if (fine(p)) append(p, rule, (struct tombola__element){.kind = TOMBOLA__ELEMENT_CALL, .target = inner});
}

static void name(struct parser *p, uint32_t rule) {
  const size_t start = p->at;
  while (is_word(peek(p)))
    p->at++;
  const size_t length = p->at - start;
  p->at = start;
  const uint32_t target = rule_named(p, p->text + start, length);
  p->at = start + length;
  append(p, rule, (struct tombola__element){.kind = TOMBOLA__ELEMENT_CALL, .target = target});
}

/* ---- numbers and tokens ---- */

static uint32_t number(struct parser *p) {
  uint64_t value = 0;
  const size_t start = p->at;
  if (!is_digit(peek(p))) expected(p, "expected a number");
  for (; is_digit(peek(p)); p->at++) {
    value = value * 10 + (uint64_t)(peek(p) - '0');
    if (value >= TOMBOLA__LANG_UNBOUNDED) {
      fail_at(p, start, TOMBOLA_OUT_OF_RANGE, "a number of repetitions, or of a token, is beyond 4294967294",
              NULL, 0);
      return 0;
    }
  }
  return (uint32_t)value;
}

/* <text>, where it is what has this spelling. */
static uint32_t token_named(struct parser *p) {
  const size_t start = p->at;
  uint32_t token = 0;
  while (p->at < p->length && p->text[p->at] != '>')
    p->at++;
  if (!take(p, '>')) {
    expected(p, "expected > at the end of a token");
    return 0;
  }
  if (!tombola__store_state(p->store)) return 0;
  const struct tombola_bytes text = {p->text + start, p->at - start};
  const enum tombola_status status = tombola__token_named(p->vocabulary, text, &token);
  if (status)
    fail_at(p, start, status, "the vocabulary has no such token: expected the text of exactly one token, not",
            text.data, text.length);
  return token;
}

/* An element that no token matches isn't refused, because of llama.cpp's grammars; but where nothing fits it is why. */
static void hint(struct parser *p, size_t at, uint32_t token) {
  const bool is_there = token < tombola_vocabulary_count(p->vocabulary);
  const bool is_end =
      is_there && tombola_vocabulary_flags(p->vocabulary, (tombola_token)token) & TOMBOLA_TOKEN_END;
  tombola__store_hint(p->store, "line %zu, byte %zu: %.*s is %s", line_of(p, at), at,
                      (int)(p->at - at < 40 ? p->at - at : 40), p->text + at,
                      !is_there ? "no token of the vocabulary"
                      : is_end  ? "an end token, which no grammar holds: it comes where the text is whole"
                                : "a token that is never generated");
}

static void token(struct parser *p, uint32_t rule) {
  const size_t start = p->at;
  const bool negated = take(p, '!');
  uint32_t id;
  if (peek(p) != '<')
    expected(p, "expected < behind !");
  else if (!p->vocabulary)
    fail_at(p, start, TOMBOLA_UNSUPPORTED,
            "an element that is a token (<…>, !<…>), in a grammar without a vocabulary", NULL, 0);
  if (!fine(p)) return;
  if (p->at + 1 < p->length && p->text[p->at + 1] == '[') {
    p->at += 2;
    id = number(p);
    if (fine(p) && !take(p, ']')) expected(p, "expected ] behind a token's id");
    if (fine(p) && !take(p, '>')) expected(p, "expected > behind ]");
  } else
    id = token_named(p);
  if (!fine(p)) return;
  if (tombola__token_has_match(p->vocabulary, id, negated))
    append(p, rule,
           (struct tombola__element){.kind = TOMBOLA__ELEMENT_TOKEN, .negated = negated, .target = id});
  else {
    if (!negated) hint(p, start, id);
    append(p, rule, of_lang(TOMBOLA__LANG_NONE));
  }
}

/* ---- repeats ---- */

/* Behind a {. */
static void bounds(struct parser *p, bool nested, uint32_t *min, uint32_t *max) {
  const size_t start = p->at;
  space(p, nested);
  *min = *max = number(p);
  space(p, nested);
  if (fine(p) && take(p, ',')) {
    space(p, nested);
    *max = TOMBOLA__LANG_UNBOUNDED;
    if (is_digit(peek(p))) *max = number(p);
    space(p, nested);
    if (fine(p) && !take(p, '}')) expected(p, "expected } or a number");
  } else if (fine(p) && !take(p, '}'))
    expected(p, "expected } or ,");
  if (fine(p) && *max < *min)
    fail_at(p, start, TOMBOLA_FORMAT, "expected an upper bound that isn't below the lower one", NULL, 0);
  /* Counting is cheap, but no answer would ever come to the end of it. */
  if (fine(p) && *min > p->store->max_states)
    fail_at(p, start, TOMBOLA_OUT_OF_RANGE, "a lower bound beyond max_states", NULL, 0);
}

/* Repeats what came last. */
static void repeat(struct parser *p, struct item *item, uint32_t min, uint32_t max) {
  struct tombola__element *const e = &item->element;
  if (e->kind == TOMBOLA__ELEMENT_LANG) {
    e->target = tombola__lang_repeat(p->store, e->target, min, max);
    return;
  }
  if (e->kind != TOMBOLA__ELEMENT_CALL) { /* a repeat of a repeat, or of a token: that of a group */
    const uint32_t inner = add_rule(p, "", 0);
    if (inner == UINT32_MAX) return;
    p->rules[inner].defined = true;
    append(p, inner, *e);
    append(p, inner, (struct tombola__element){.kind = TOMBOLA__ELEMENT_END});
    e->target = inner;
  }
  e->kind = TOMBOLA__ELEMENT_REPEAT;
  e->min = min;
  e->max = max;
}

/* ---- sequences, alternatives, rules ---- */

/* What doesn't repeat something; false when nothing of the kind comes next. */
static bool element(struct parser *p, uint32_t rule) {
  const unsigned char c = peek(p);
  if (is_word(c)) {
    name(p, rule);
    return true;
  }
  switch (c) {
  case '"':
    p->at++;
    literal(p, rule);
    return true;
  case '[':
    p->at++;
    class_of_characters(p, rule);
    return true;
  case '(':
    p->at++;
    group(p, rule);
    return true;
  case '.':
    p->at++;
    append(p, rule, of_lang(tombola__lang_any(p->store)));
    return true;
  case '<':
  case '!': token(p, rule); return true;
  default: return false;
  }
}

static void sequence(struct parser *p, uint32_t rule, bool nested) {
  struct item *last = NULL; /* what * + ? { repeat */
  while (fine(p)) {
    uint32_t min = 0, max = TOMBOLA__LANG_UNBOUNDED;
    const size_t at = p->at;
    if (element(p, rule)) {
      last = fine(p) ? p->rows[rule].last : NULL;
      space(p, nested);
      continue;
    }
    if (take(p, '+'))
      min = 1;
    else if (take(p, '?'))
      max = 1;
    else if (take(p, '{'))
      bounds(p, nested, &min, &max);
    else if (!take(p, '*'))
      return;
    if (!last) fail_at(p, at, TOMBOLA_FORMAT, "expected an element in front of * + ? {", NULL, 0);
    if (!fine(p)) return;
    repeat(p, last, min, max);
    space(p, nested);
  }
}

static void alternatives(struct parser *p, uint32_t rule, bool nested) {
  for (;;) {
    sequence(p, rule, nested);
    append(p, rule, (struct tombola__element){.kind = TOMBOLA__ELEMENT_END});
    if (!fine(p) || !take(p, '|')) return;
    space(p, true);
  }
}

static void definition(struct parser *p) {
  const size_t start = p->at;
  if (!is_word(peek(p))) {
    expected(p, "expected a rule's name");
    return;
  }
  while (is_word(peek(p)))
    p->at++;
  const size_t end = p->at;
  space(p, false);
  if (p->length - p->at < 3 || memcmp(p->text + p->at, "::=", 3) != 0) {
    expected(p, "expected ::=");
    return;
  }
  const size_t body = p->at + 3;
  p->at = start;
  const uint32_t rule = rule_named(p, p->text + start, end - start);
  if (rule == UINT32_MAX) return;
  p->at = body;
  p->rules[rule].defined = true;
  p->rows[rule] = (struct row){0};
  space(p, true);
  alternatives(p, rule, false);
  if (fine(p) && p->at < p->length && peek(p) != '\n' && peek(p) != '\r')
    expected(p, "expected an element, | or the end of the line");
  space(p, true);
}

/* ---- from rows to rules ---- */

static bool check_names(struct parser *p, const char *root, uint32_t *index) {
  for (uint32_t i = 0; i < p->n_rules; i++)
    if (!p->rules[i].defined) {
      fail_at(p, p->rules[i].offset, TOMBOLA_FORMAT, "no definition of the rule", p->rules[i].name,
              p->rules[i].name_length);
      return false;
    }
  const uint32_t *const slot = p->n_slots ? slot_of(p, root, strlen(root)) : NULL;
  if (!slot || !*slot) {
    fail_at(p, p->length, TOMBOLA_FORMAT, "no definition of the first rule,", root, strlen(root));
    return false;
  }
  *index = *slot - 1;
  return true;
}

static bool flatten(struct parser *p, struct tombola__rules *out) {
  size_t n = 0;
  for (uint32_t i = 0; i < p->n_rules; i++)
    n += p->rows[i].length;
  if (n >= UINT32_MAX) {
    tombola__store_fail(p->store, TOMBOLA_OUT_OF_RANGE, "grammar", "more than 4294967294 elements");
    return false;
  }
  out->elements = tombola__store_take(p->store, n, sizeof *out->elements);
  if (!out->elements) return false;
  for (uint32_t i = 0; i < p->n_rules; i++) {
    p->rules[i].begin = out->n_elements;
    for (const struct item *item = p->rows[i].first; item; item = item->next)
      out->elements[out->n_elements++] = item->element;
    p->rules[i].end = out->n_elements;
  }
  out->rules = p->rules;
  out->n_rules = p->n_rules;
  return true;
}

enum tombola_status tombola__gbnf(struct tombola__store *s, const char *text, size_t length, const char *root,
                                  const tombola_vocabulary *vocabulary, const struct tombola__rules **out,
                                  struct tombola_error *error) {
  struct parser p = {.store = s, .vocabulary = vocabulary, .text = text, .length = length};
  struct tombola__rules parsed = {0};
  if (!root) root = "root";
  *out = NULL;
  space(&p, true);
  while (fine(&p) && p.at < length)
    definition(&p);
  if (fine(&p) && check_names(&p, root, &parsed.root) && flatten(&p, &parsed))
    *out = tombola__rules_build(s, &parsed);
  if (!fine(&p) && error) *error = s->error;
  return s->status;
}
