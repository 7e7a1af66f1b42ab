# SPDX-License-Identifier: Apache-2.0
# The version stands once, in status.h; this reads it from there.
file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/../include/tombola/status.h" lines REGEX "^#define TOMBOLA_VERSION_(MAJOR|MINOR|PATCH) ")
foreach(part MAJOR MINOR PATCH)
  if(NOT "${lines}" MATCHES "TOMBOLA_VERSION_${part} +([0-9]+)")
    message(FATAL_ERROR "include/tombola/status.h does not define TOMBOLA_VERSION_${part}")
  endif()
  set(TOMBOLA_VERSION_${part} ${CMAKE_MATCH_1})
endforeach()
set(TOMBOLA_VERSION ${TOMBOLA_VERSION_MAJOR}.${TOMBOLA_VERSION_MINOR}.${TOMBOLA_VERSION_PATCH})

# Before 1.0 each minor version may change the binary interface (semver §4), so the minor number is part of the soname.
if(TOMBOLA_VERSION_MAJOR EQUAL 0)
  set(TOMBOLA_SOVERSION 0.${TOMBOLA_VERSION_MINOR})
else()
  set(TOMBOLA_SOVERSION ${TOMBOLA_VERSION_MAJOR})
endif()
