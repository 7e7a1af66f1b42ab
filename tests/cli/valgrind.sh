#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `tombola sample` under valgrind: no invalid access, no use of what was never written, no leak.
set -eu
command -v valgrind >/dev/null || { echo "valgrind is not installed" >&2; exit 77; }
check() { valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=all "${TOMBOLA_PROGRAM:?}" "$@" >/dev/null; }
echo '[2, 1, 0, -1, "-inf"]' | check sample --temperature 0.7 --top-p 0.9 --draws 100 --seed 1 --trace
for dialect in llama.cpp rmlx mlxcel minfer rml mlx-lm transformers tombola; do
  printf '{"logits": [2, 1, 0.5, -1, "-inf", 3], "dialect": "%s", "history": [1, 2, 1], "params": {"top_k": 4}, "draws": 5}\n' "$dialect"
done | check sample --batch
echo '{"logits": [1, "nan"]}' | check sample --batch
