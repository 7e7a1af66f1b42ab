#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The shell scripts of the project pass shellcheck.
set -eu
command -v shellcheck >/dev/null 2>&1 || { echo "shellcheck is not installed"; exit 77; }
cd "${TOMBOLA_SOURCE:?}"
list=$(mktemp)
trap 'rm -f "$list"' EXIT
{
  find scripts tests bench examples -type f 2>/dev/null | sort
  echo .ci/run
} | while IFS= read -r file; do
  case $file in *.sh) echo "$file" ;; *) if head -n 1 "$file" | grep -q '^#!.*sh$'; then echo "$file"; fi ;; esac
done >"$list"
[ "$(wc -l <"$list")" -ge 5 ]
xargs shellcheck -x <"$list"
echo "$(wc -l <"$list") scripts"
