#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The draws of mlx-lm that tests/oracles/mlx_draws.py recorded, token for token from the same seeds, by both of mlx's
ways of drawing. And a control: the same requests with another seed must not come out equal."""
import base64
import gzip
import json
import os
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
LEAST = 1000  # draws


def read():
    rows, records = {}, []
    with gzip.open(f"{HERE}/mlx_draws.jsonl.gz", "rt") as lines:
        for line in map(json.loads, lines):
            if "f32" in line:
                data = base64.b64decode(line["f32"])
                rows[line["row"]] = struct.unpack(f"<{len(data) // 4}f", data)
            elif "tokens" in line:
                records.append(line)
    return rows, records


def ask(rows, requests):
    texts = {name: json.dumps([x if x > float("-inf") else "-inf" for x in row]) for name, row in rows.items()}
    lines = "".join(f'{{"logits": {texts[row]}, {json.dumps(request)[1:]}\n' for row, request in requests)
    done = subprocess.run([os.environ["TOMBOLA_PROGRAM"], "sample", "--batch"], input=lines, text=True,
                          stdout=subprocess.PIPE, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def main():
    rows, records = read()
    answers = ask(rows, [(r["row"], r["request"]) for r in records])
    draws, wrong = 0, 0
    for record, answer in zip(records, answers, strict=True):
        got = answer.get("tokens", answer)
        draws += len(record["tokens"])
        if got != record["tokens"]:
            wrong += 1
            print(f"{record['row']} {record['request']}: {got}, mlx-lm gave {record['tokens']}", file=sys.stderr)
    others = ask(rows, [(r["row"], {**r["request"], "seed": 99}) for r in records])
    equal = sum(a["tokens"] == r["tokens"] for r, a in zip(records, others) if r["request"]["params"]["temperature"])
    print(f"{draws} draws of {len(records)} records, {wrong} records differ; with another seed {equal} are equal")
    return wrong > 0 or draws < LEAST or equal > len(records) // 20


sys.exit(main())
