/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as text, whatever locale the host program has set. */
#ifndef TOMBOLA_NUMBER_H
#define TOMBOLA_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A decimal number and nothing else ("0.5", "-1e3"); "inf" and "nan" parse too, so that a range can refuse
 * them. */
bool tombola__parse_float(const char *text, double *value);
bool tombola__parse_uint64(const char *text, uint64_t *value);

/* The shortest text that reads back as the same float. All cut to `size` and NUL-terminated. */
void tombola__format_float(char *text, size_t size, double value);
void tombola__format_uint64(char *text, size_t size, uint64_t value);
void tombola__format_text(char *text, size_t size, const char *value);
/* "in [0, 1]", "> 0", "finite". */
void tombola__format_range(char *text, size_t size, double min, double max, bool min_open, bool max_open);

#endif
