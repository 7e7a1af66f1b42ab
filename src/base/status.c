/* SPDX-License-Identifier: Apache-2.0 */
/* Names and texts of the statuses, and the version: all from the one map in status.h. */
#include <tombola/status.h>

const char *tombola_status_name(enum tombola_status status) {
  switch (status) {
#define NAME_CASE(suffix, value, name, text) \
  case TOMBOLA_##suffix: return name;
    TOMBOLA_STATUS_MAP(NAME_CASE)
#undef NAME_CASE
  }
  return "unknown";
}

const char *tombola_status_text(enum tombola_status status) {
  switch (status) {
#define TEXT_CASE(suffix, value, name, text) \
  case TOMBOLA_##suffix: return text;
    TOMBOLA_STATUS_MAP(TEXT_CASE)
#undef TEXT_CASE
  }
  return "unknown";
}

const char *tombola_version(void) {
  return TOMBOLA_VERSION_STRING;
}
