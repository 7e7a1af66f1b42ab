#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The program that docs/constraints.md shows whole compiles without a warning and prints what the page says it prints:
# the block marked "c" that includes something, and the block marked "text" after it.
set -eu
page=${TOMBOLA_SOURCE:?}/docs/constraints.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

awk '/^```c$/ {getline; if (/^#include/) on = 1} /^```/ {on = 0} on' "$page" >"$work/example.c"
awk '/^```text$/ {on = 1; next} /^```/ {on = 0} on' "$page" >"$work/expected"
for part in example.c expected; do
  [ -s "$work/$part" ] || { echo "$page has no block for $part" >&2; exit 1; }
done

"${CC:-cc}" -std=c11 -Wall -Wextra -Wpedantic -Werror -I"$TOMBOLA_SOURCE/include" -o "$work/example" "$work/example.c" \
  "${TOMBOLA_BUILD:?}/lib/libtombola_constraint.a" "$TOMBOLA_BUILD/lib/libtombola.a" -lm -lpthread
"$work/example" >"$work/printed"
diff -u "$work/expected" "$work/printed"
