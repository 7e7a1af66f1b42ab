/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as text. strtod and printf follow the host's locale; what is read and written here doesn't. */
#include "number.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST 400 /* the longest double in plain notation has 1 + 309 digits before the point */

bool tombola__parse_float(const char *text, double *value) {
  char copy[LONGEST];
  const char *point = localeconv()->decimal_point;
  size_t length = strlen(text), used = 0;
  if (!length || length + strlen(point) >= sizeof copy || strchr(" \t\n\r\v\f", text[0]) ||
      strpbrk(text, "xX,"))
    return false;
  for (size_t i = 0; i < length; i++) {
    if (text[i] != '.') {
      copy[used++] = text[i];
      continue;
    }
    memcpy(copy + used, point, strlen(point));
    used += strlen(point);
  }
  copy[used] = 0;
  char *end;
  *value = strtod(copy, &end);
  return *end == 0;
}

bool tombola__parse_uint64(const char *text, uint64_t *value) {
  if (!*text) return false;
  uint64_t sum = 0;
  for (; *text; text++) {
    if (*text < '0' || *text > '9') return false;
    uint64_t digit = (uint64_t)(*text - '0');
    if (sum > (UINT64_MAX - digit) / 10) return false;
    sum = sum * 10 + digit;
  }
  *value = sum;
  return true;
}

void tombola__format_text(char *text, size_t size, const char *value) {
  if (size) snprintf(text, size, "%s", value);
}

void tombola__format_uint64(char *text, size_t size, uint64_t value) {
  if (size) snprintf(text, size, "%llu", (unsigned long long)value);
}

void tombola__format_float(char *text, size_t size, double value) {
  char plain[40];
  const char *point = localeconv()->decimal_point;
  bool whole = fabs(value) <= 0x1p53 && floor(value) == value; /* in full: 2147483647, not 2.1474836e+09 */
  if (whole) snprintf(plain, sizeof plain, "%.0f", value);
  for (int digits = 6; digits <= 17 && !whole; digits++) {
    snprintf(plain, sizeof plain, "%.*g", digits, value);
    double back = strtod(plain, NULL);
    if (back == value || (float)back == (float)value || isnan(value)) break;
  }
  char *comma = strcmp(point, ".") ? strstr(plain, point) : NULL;
  if (comma) {
    *comma = '.';
    memmove(comma + 1, comma + strlen(point), strlen(comma + strlen(point)) + 1);
  }
  tombola__format_text(text, size, plain);
}

void tombola__format_range(char *text, size_t size, double min, double max, bool min_open, bool max_open) {
  char low[40], high[40];
  tombola__format_float(low, sizeof low, min);
  tombola__format_float(high, sizeof high, max);
  if (isinf(min) && isinf(max))
    tombola__format_text(text, size, "a finite number");
  else if (isinf(max))
    snprintf(text, size, "%s %s", min_open ? ">" : ">=", low);
  else if (isinf(min))
    snprintf(text, size, "%s %s", max_open ? "<" : "<=", high);
  else
    snprintf(text, size, "in %c%s, %s%c", min_open ? '(' : '[', low, high, max_open ? ')' : ']');
}
