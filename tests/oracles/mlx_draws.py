#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records what mlx-lm draws, for tests/golden/mlx_draws.jsonl.gz.

usage: mlx_draws.py > tests/golden/mlx_draws.jsonl.gz

Needs PyPI's mlx[cpu] and mlx-lm; nothing else in the project does. The output begins with a line about the engine,
then come the rows ({"row": name, "f32": base64}), then a line a record: the request for `tombola sample --batch` with
the row's logits left out, and the tokens that mlx-lm gave, one after the other from that seed, with nothing accepted
between them.

mlx 0.32.4 has two ways of drawing (its pull request 4177): by inverse CDF with one uniform where the logits are [1, V],
which is how mlx-lm's generate_step calls it, and by Gumbel noise otherwise: for several rows, for a bare [V], and in
earlier versions always. Both are recorded; `draw` in the request says which.
"""
import base64
import gzip
import json
import sys

import mlx.core as mx
import mlx_lm
import numpy as np
from mlx_lm.sample_utils import make_sampler

DRAWS = 12
SIZES = [(7, 1.0), (64, 2.0), (100, 3.0), (257, 2.0), (1000, 2.0), (1001, 4.0), (1024, 0.01)]
CASES = [
    {},
    {"temperature": 0.7},
    {"temperature": 1.5},
    {"top_p": 0.9},
    {"top_p": 0.5, "temperature": 0.8},
    {"min_p": 0.05},
    {"min_p": 0.3, "temperature": 1.2},
    {"top_k": 5},
    {"top_k": 6, "top_p": 0.95, "temperature": 0.6},
    {"top_p": 0.95, "min_p": 0.02, "top_k": 4, "temperature": 0.9},
    {"xtc_probability": 1.0, "xtc_threshold": 0.05},
    {"xtc_probability": 0.5, "xtc_threshold": 0.1, "temperature": 0.8},
    {"top_p": 0.9, "xtc_probability": 0.3, "xtc_threshold": 0.05, "top_k": 6},
    {"temperature": 0.0},
]
SEEDS = [0, 7, 1234, (5 << 32) | 9]


def rows():
    random = np.random.default_rng(20)
    for size, deviation in SIZES:
        yield f"normal{size}", (random.standard_normal(size) * deviation).astype(np.float32)
    coarse = random.standard_normal(200) * 3
    yield "halves200", (np.round(coarse * 2) / 2).astype(np.float32)
    banned = (random.standard_normal(500) * 2).astype(np.float32)
    banned[::3] = -np.inf
    yield "banned500", banned


def draw(row, case, seed, rule):
    sampler = make_sampler(temp=case.get("temperature", 1.0), top_p=case.get("top_p", 0.0),
                           min_p=case.get("min_p", 0.0), top_k=case.get("top_k", 0),
                           xtc_probability=case.get("xtc_probability", 0.0),
                           xtc_threshold=case.get("xtc_threshold", 0.1))
    logits = mx.array(row) if rule == "gumbel" else mx.array(row)[None]
    logprobs = logits - mx.logsumexp(logits, keepdims=True)  # as generate_step does
    mx.random.seed(seed)
    return [int(sampler(logprobs).item()) for _ in range(DRAWS)]


def main():
    version = f"mlx-lm {mlx_lm.__version__} on mlx {mx.__version__}"
    lines = [{"engine": version}]
    records = []
    for index, (name, row) in enumerate(rows()):
        lines.append({"row": name, "f32": base64.b64encode(row.tobytes()).decode()})
        for number, case in enumerate(CASES):
            seed = SEEDS[(index + number) % len(SEEDS)]
            for rule in ("cdf", "gumbel"):
                params = {"temperature": 1.0, **case, "draw": rule}
                request = {"dialect": "mlx-lm", "params": params, "seed": seed, "draws": DRAWS}
                records.append({"row": name, "request": request, "tokens": draw(row, case, seed, rule)})
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines + records)
    sys.stdout.buffer.write(gzip.compress(text.encode(), 9, mtime=0))
    print(f"{version}: {sum(len(r['tokens']) for r in records)} draws", file=sys.stderr)


main()
