#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check.sh PROGRAM EXPECTED: an example prints what is committed beside it.
set -eu
"$1" | diff -u "$2" -
