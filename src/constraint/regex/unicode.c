/* SPDX-License-Identifier: Apache-2.0 */
/* Unicode properties by name: those of ECMA-262, tables 66 to 68, that the table of code points answers. Names are exact,
 * as there: no other case, no spaces. Scripts and the other binary properties aren't known. */
#include <string.h>

#include "constraint/regex/regex.h"
#include "constraint/regex/unicode_table.h"

enum {
  LU,
  LL,
  LT,
  LM,
  LO,
  MN,
  MC,
  ME,
  ND,
  NL,
  NO,
  PC,
  PD,
  PS,
  PE,
  PI,
  PF,
  PO,
  SM,
  SC,
  SK,
  SO,
  ZS,
  ZL,
  ZP,
  CC,
  CF,
  CS,
  CO,
  CN,
  N_CATEGORIES
};

#define BIT(category)   (1u << (category))
#define FROM(low, high) (BIT((high) + 1) - BIT(low))
#define EVERY           FROM(LU, CN)

struct name {
  const char *short_name, *long_name, *other;
  uint32_t categories;
};

static const struct name categories[] = {
    {"C", "Other", NULL, FROM(CC, CN)},
    {"Cc", "Control", "cntrl", BIT(CC)},
    {"Cf", "Format", NULL, BIT(CF)},
    {"Cn", "Unassigned", NULL, BIT(CN)},
    {"Co", "Private_Use", NULL, BIT(CO)},
    {"Cs", "Surrogate", NULL, BIT(CS)},
    {"L", "Letter", NULL, FROM(LU, LO)},
    {"LC", "Cased_Letter", NULL, FROM(LU, LT)},
    {"Ll", "Lowercase_Letter", NULL, BIT(LL)},
    {"Lm", "Modifier_Letter", NULL, BIT(LM)},
    {"Lo", "Other_Letter", NULL, BIT(LO)},
    {"Lt", "Titlecase_Letter", NULL, BIT(LT)},
    {"Lu", "Uppercase_Letter", NULL, BIT(LU)},
    {"M", "Mark", "Combining_Mark", FROM(MN, ME)},
    {"Mc", "Spacing_Mark", NULL, BIT(MC)},
    {"Me", "Enclosing_Mark", NULL, BIT(ME)},
    {"Mn", "Nonspacing_Mark", NULL, BIT(MN)},
    {"N", "Number", NULL, FROM(ND, NO)},
    {"Nd", "Decimal_Number", "digit", BIT(ND)},
    {"Nl", "Letter_Number", NULL, BIT(NL)},
    {"No", "Other_Number", NULL, BIT(NO)},
    {"P", "Punctuation", "punct", FROM(PC, PO)},
    {"Pc", "Connector_Punctuation", NULL, BIT(PC)},
    {"Pd", "Dash_Punctuation", NULL, BIT(PD)},
    {"Pe", "Close_Punctuation", NULL, BIT(PE)},
    {"Pf", "Final_Punctuation", NULL, BIT(PF)},
    {"Pi", "Initial_Punctuation", NULL, BIT(PI)},
    {"Po", "Other_Punctuation", NULL, BIT(PO)},
    {"Ps", "Open_Punctuation", NULL, BIT(PS)},
    {"S", "Symbol", NULL, FROM(SM, SO)},
    {"Sc", "Currency_Symbol", NULL, BIT(SC)},
    {"Sk", "Modifier_Symbol", NULL, BIT(SK)},
    {"Sm", "Math_Symbol", NULL, BIT(SM)},
    {"So", "Other_Symbol", NULL, BIT(SO)},
    {"Z", "Separator", NULL, FROM(ZS, ZP)},
    {"Zl", "Line_Separator", NULL, BIT(ZL)},
    {"Zp", "Paragraph_Separator", NULL, BIT(ZP)},
    {"Zs", "Space_Separator", NULL, BIT(ZS)},
};

/* A run of the table belongs when its category is one of `categories`, or when it has one of `flags`. */
struct binary {
  const char *short_name, *long_name;
  uint32_t categories, flags;
};

static const struct binary binaries[] = {
    {"Any", "Any", EVERY, 0},
    {"Assigned", "Assigned", EVERY - BIT(CN), 0},
    {"Lower", "Lowercase", 0, TOMBOLA__UNICODE_LOWERCASE},
    {"Upper", "Uppercase", 0, TOMBOLA__UNICODE_UPPERCASE},
};

static const struct tombola__range ascii[] = {{0, 0x7F}};
/* White_Space can't grow out of what PropList.txt says since Unicode 6.3. */
static const struct tombola__range white_space[] = {
    {0x09, 0x0D},     {0x20, 0x20},     {0x85, 0x85},     {0xA0, 0xA0},     {0x1680, 0x1680},
    {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}};

static bool is(const char *name, size_t length, const char *known) {
  return known && strlen(known) == length && memcmp(known, name, length) == 0;
}

static const struct name *find_category(const char *name, size_t length) {
  for (size_t i = 0; i < TOMBOLA__COUNT(categories); i++) {
    const struct name *const c = &categories[i];
    if (is(name, length, c->short_name) || is(name, length, c->long_name) || is(name, length, c->other))
      return c;
  }
  return NULL;
}

/* Writes the ranges to `out` unless it is NULL; returns how many there are. */
static size_t collect(uint32_t categories_wanted, uint32_t flags, struct tombola__range *out) {
  size_t n = 0;
  bool inside = false;
  for (size_t i = 0; i < tombola__unicode_n_runs; i++) {
    const uint32_t run = tombola__unicode_runs[i], start = run >> 7;
    const bool wanted = (categories_wanted & BIT(run & 0x1F)) || (run & flags);
    if (wanted && !inside) {
      if (out) out[n].lo = start;
      n++;
    }
    if (inside && !wanted && out) out[n - 1].hi = start - 1;
    inside = wanted;
  }
  if (inside && out) out[n - 1].hi = TOMBOLA__LAST_CODE_POINT;
  return n;
}

static const struct tombola__range *ranges_of(struct tombola__store *s, uint32_t categories_wanted,
                                              uint32_t flags, size_t *n) {
  *n = collect(categories_wanted, flags, NULL);
  struct tombola__range *const ranges = tombola__store_take(s, *n, sizeof *ranges);
  if (ranges) collect(categories_wanted, flags, ranges);
  return ranges;
}

const struct tombola__range *tombola__unicode_property(struct tombola__store *s, const char *name,
                                                       size_t length, size_t *n) {
  const char *const equals = memchr(name, '=', length);
  const size_t key = equals ? (size_t)(equals - name) : 0;
  if (equals && !is(name, key, "gc") && !is(name, key, "General_Category")) return NULL;
  const size_t skip = equals ? key + 1 : 0;
  const struct name *const category = find_category(name + skip, length - skip);
  if (category) return ranges_of(s, category->categories, 0, n);
  if (equals) return NULL;
  for (size_t i = 0; i < TOMBOLA__COUNT(binaries); i++) {
    const struct binary *const b = &binaries[i];
    if (is(name, length, b->short_name) || is(name, length, b->long_name))
      return ranges_of(s, b->categories, b->flags, n);
  }
  if (is(name, length, "ASCII")) {
    *n = TOMBOLA__COUNT(ascii);
    return ascii;
  }
  if (is(name, length, "White_Space") || is(name, length, "space")) {
    *n = TOMBOLA__COUNT(white_space);
    return white_space;
  }
  return NULL;
}
