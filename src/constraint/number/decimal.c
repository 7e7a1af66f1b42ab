/* SPDX-License-Identifier: Apache-2.0 */
/* Decimals: JSON's texts of numbers, also when only their beginning is there, and comparison. */
#include <string.h>

#include "constraint/number/number_internal.h"

/* ---- reading ---- */

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* The part behind the significand, text[i] being e or E. */
static bool parse_exponent(const char *text, size_t length, size_t i, struct tombola__reading *out) {
  out->phase = TOMBOLA__AT_E;
  if (++i == length) return true;
  if (text[i] == '-' || text[i] == '+') {
    out->phase = TOMBOLA__AT_E_SIGN;
    out->exponent_negative = text[i] == '-';
    if (++i == length) return true;
  }
  out->phase = TOMBOLA__AT_EXPONENT;
  for (; i < length; i++) {
    if (!is_digit(text[i])) return false;
    out->exponent = out->exponent * 10 + (text[i] - '0');
    if (out->exponent > TOMBOLA__MOST_EXPONENT) out->exponent = TOMBOLA__MOST_EXPONENT;
  }
  return true;
}

/* The significand's digits [first, end), with the point, if `point` isn't 0, among them or in front. */
static void take_digits(const char *text, size_t first, size_t end, size_t point, char *buffer,
                        struct tombola__reading *out) {
  if (!point || first > point) {
    out->digits = text + first;
    out->n = (uint32_t)(end - first);
  } else {
    memcpy(buffer, text + first, point - first);
    memcpy(buffer + (point - first), text + point + 1, end - point - 1);
    out->digits = buffer;
    out->n = (uint32_t)(end - first - 1);
  }
}

bool tombola__number_parse(const char *text, size_t length, char *buffer, struct tombola__reading *out) {
  *out = (struct tombola__reading){.phase = TOMBOLA__AT_MINUS, .digits = text};
  size_t i = 0, point = 0, first = SIZE_MAX;
  uint64_t value = 0;
  if (length > UINT32_MAX) return false;
  if (i < length && text[i] == '-') {
    out->negative = true;
    if (++i == length) return true;
  }
  if (i == length || !is_digit(text[i])) return false;
  if (text[i] == '0') {
    out->phase = TOMBOLA__AT_ZERO;
    i++;
  } else {
    out->phase = TOMBOLA__AT_INTEGER;
    first = i;
    for (; i < length && is_digit(text[i]); i++)
      value = value * 10 + (uint64_t)(text[i] - '0');
  }
  if (i < length && text[i] == '.') {
    point = i++;
    const size_t start = i;
    for (; i < length && is_digit(text[i]); i++) {
      value = value * 10 + (uint64_t)(text[i] - '0');
      if (first == SIZE_MAX && text[i] != '0') first = i;
    }
    out->fraction = (int64_t)(i - start);
    out->phase = i > start ? TOMBOLA__AT_FRACTION : TOMBOLA__AT_POINT;
  }
  if (first != SIZE_MAX) take_digits(text, first, i, point, buffer, out);
  out->value = value;
  if (i == length) return true;
  if ((text[i] != 'e' && text[i] != 'E') || out->phase == TOMBOLA__AT_POINT) return false;
  return parse_exponent(text, length, i, out);
}

bool tombola__number_is_whole(const struct tombola__reading *r) {
  return r->phase == TOMBOLA__AT_ZERO || r->phase == TOMBOLA__AT_INTEGER ||
         r->phase == TOMBOLA__AT_FRACTION || r->phase == TOMBOLA__AT_EXPONENT;
}

struct tombola__decimal tombola__number_value(const struct tombola__reading *r) {
  uint32_t n = r->n;
  while (n > 0 && r->digits[n - 1] == '0')
    n--;
  if (n == 0) return (struct tombola__decimal){.digits = ""};
  const int64_t exponent = r->exponent_negative ? -r->exponent : r->exponent;
  return (struct tombola__decimal){.digits = r->digits,
                                   .length = n,
                                   .negative = r->negative,
                                   .exponent = exponent - r->fraction + (int64_t)(r->n - n)};
}

bool tombola__decimal_read(const char *text, size_t length, char *buffer, struct tombola__decimal *out) {
  struct tombola__reading r;
  if (!tombola__number_parse(text, length, buffer, &r) || !tombola__number_is_whole(&r)) return false;
  *out = tombola__number_value(&r);
  return true;
}

/* ---- comparing ---- */

int tombola__digits_compare(const char *a, uint32_t n_a, const char *b, uint32_t n_b) {
  const int order = memcmp(a, b, n_a < n_b ? n_a : n_b);
  return order ? order : (n_a > n_b) - (n_a < n_b);
}

int tombola__magnitude_compare(const struct tombola__decimal *a, const struct tombola__decimal *b) {
  const int64_t point_a = tombola__point(a), point_b = tombola__point(b);
  if (point_a != point_b) return point_a < point_b ? -1 : 1;
  return tombola__digits_compare(a->digits, a->length, b->digits, b->length);
}

bool tombola__magnitude_equal(const struct tombola__decimal *a, const struct tombola__decimal *b) {
  return a->length == b->length && a->exponent == b->exponent && !memcmp(a->digits, b->digits, a->length);
}

int tombola__decimal_compare(const struct tombola__decimal *a, const struct tombola__decimal *b) {
  const bool below_a = a->negative && a->length, below_b = b->negative && b->length;
  if (below_a != below_b) return below_a ? -1 : 1;
  return below_a ? tombola__magnitude_compare(b, a) : tombola__magnitude_compare(a, b);
}

/* ---- as integers ---- */

bool tombola__digits_value(const char *digits, uint32_t n, uint64_t *value) {
  uint64_t v = 0;
  if (n > 20) return false;
  for (uint32_t i = 0; i < n; i++) {
    const uint64_t digit = (uint64_t)(digits[i] - '0');
    if (i == 19 && (v > UINT64_MAX / 10 || v * 10 > UINT64_MAX - digit)) return false;
    v = v * 10 + digit;
  }
  *value = v;
  return true;
}

bool tombola__units(const struct tombola__decimal *d, int64_t e, uint64_t *units, bool *exact) {
  const int64_t places = tombola__point(d) - e;
  *units = 0;
  *exact = d->length == 0 || d->exponent >= e;
  if (d->length == 0 || places <= 0) return true;
  if (places > 20) return false;
  char digits[20];
  const uint32_t n = (uint32_t)places, given = d->length < n ? d->length : n;
  memcpy(digits, d->digits, given);
  memset(digits + given, '0', n - given);
  return tombola__digits_value(digits, n, units);
}

struct tombola__decimal tombola__of_units(uint64_t units, int64_t e, char *buffer) {
  char *end = buffer + 20, *at = end;
  for (; units > 0; units /= 10)
    *--at = (char)('0' + units % 10);
  while (end > at && end[-1] == '0') {
    end--;
    e++;
  }
  if (at == end) return (struct tombola__decimal){.digits = ""};
  return (struct tombola__decimal){.digits = at, .length = (uint32_t)(end - at), .exponent = e};
}
