#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each public header compiles alone, twice in one file, as C11 and as C++11, under strict warnings.
set -eu
cd "${TOMBOLA_SOURCE:?}/include"
warnings="-Wall -Wextra -Wpedantic -Wundef -Werror"
failed=0 count=0

# try LANGUAGE COMPILER...: compiles standard input.
try() {
  language=$1; shift
  if ! printf '#include <tombola/%s>\n#include <tombola/%s>\n' "$name" "$name" | "$@" -I. -fsyntax-only -x "$language" -; then
    echo "$header does not compile as $language" >&2
    failed=1
  fi
}

for header in tombola/*.h; do
  name=${header#tombola/}
  count=$((count + 1))
  # The warnings are a list of words. -Wshadow is for C alone: in C++ it objects to a function named as its struct is.
  # shellcheck disable=SC2086
  try c "${CC:-cc}" -std=c11 $warnings -Wshadow -Wstrict-prototypes
  # shellcheck disable=SC2086
  try c++ "${CXX:-c++}" -std=c++11 $warnings
done
[ "$count" -gt 0 ] || { echo "no headers found" >&2; exit 1; }
echo "$count headers"
exit $failed
