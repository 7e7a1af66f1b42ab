#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The core needs no build system: a plain compiler over its sources, libc and libm, and a program that draws a token.
set -eu
cd "${TOMBOLA_SOURCE:?}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Names in src have no spaces, and the list is meant to be split.
# shellcheck disable=SC2046
"${CC:-cc}" -std=c11 -O1 -ffp-contract=off -Iinclude -Isrc -o "$work/core" tests/consumer/core.c \
  $(find src/base src/kernels src/random src/vocabulary src/sampler src/text -name '*.c') -lm
"$work/core"
