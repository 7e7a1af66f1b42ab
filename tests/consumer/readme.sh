#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The C program that README.md shows compiles without a warning and prints what the README says it prints: the first
# block marked "c", and the first block marked "text" after it.
set -eu
readme=${TOMBOLA_SOURCE:?}/README.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

awk '/^```c$/ && !seen {on = 1; seen = 1; next} /^```/ {on = 0} on' "$readme" >"$work/example.c"
awk '/^```c$/ {c = 1} c && /^```text$/ && !seen {on = 1; seen = 1; next} /^```/ {on = 0} on' "$readme" >"$work/expected"
for part in example.c expected; do
  [ -s "$work/$part" ] || { echo "README.md has no block for $part" >&2; exit 1; }
done
lines=$(grep -c . "$work/example.c")
[ "$lines" -le 20 ] || { echo "the example has $lines lines" >&2; exit 1; }

"${CC:-cc}" -std=c11 -Wall -Wextra -Wpedantic -Werror -I"$TOMBOLA_SOURCE/include" -o "$work/example" "$work/example.c" \
  "${TOMBOLA_BUILD:?}/lib/libtombola.a" -lm
"$work/example" >"$work/printed"
diff -u "$work/expected" "$work/printed"
echo "$lines lines"
