#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The recordings of transformers' acceptance of drafts, as a C header for tests/unit/test_speculative.c.

usage: speculative.py RECORDS          writes the header to standard output
       speculative.py --from VECTORS   writes RECORDS (gzip) from the recordings of transformers 5.24.0

A record has gamma drafts over 16 tokens, the logits of q (gamma rows) and p (gamma + 1 rows) as base64 of f32, the
uniforms that torch.rand_like was made to give, how many drafts were accepted, and the distribution that the next token
was then drawn from.
"""
import base64
import gzip
import json
import math
import struct
import sys

VOCAB = 16


def convert(vectors):
    kept = []
    with gzip.open(vectors, "rt") as lines:
        for line in lines:
            record = json.loads(line)
            if record.get("kind") == "spec" and record.get("ensemble", 0) is None and "err" not in record:
                kept.append({k: record[k] for k in ("gamma", "cand", "q", "p", "u", "n_matches", "resid")})
    text = "".join(json.dumps(r, separators=(",", ":")) + "\n" for r in kept)
    sys.stdout.buffer.write(gzip.compress(text.encode(), 9, mtime=0))


def softmax(row):
    best = max(row)
    weights = [math.exp(x - best) for x in row]
    return [w / sum(weights) for w in weights]


def rows(text, count):
    data = struct.unpack(f"<{count * VOCAB}f", base64.b64decode(text))
    return [softmax(data[i * VOCAB:(i + 1) * VOCAB]) for i in range(count)]


def floats(values):
    return "{" + ", ".join(struct.unpack("f", struct.pack("f", v))[0].hex() + "f" for v in values) + "}"


def main():
    if sys.argv[1] == "--from":
        convert(sys.argv[2])
        return
    print("/* Made by tests/golden/speculative.py. */")
    print(f"#define SPECULATIVE_VOCAB {VOCAB}")
    print("static const struct speculative_record {\n  size_t gamma, matches;\n  int draft[5];\n  float u[5];\n"
          f"  float q[5][{VOCAB}], p[6][{VOCAB}];\n  float residual[{VOCAB}];\n}} speculative_records[] = {{")
    with gzip.open(sys.argv[1], "rt") as lines:
        for record in map(json.loads, lines):
            gamma = record["gamma"]
            q, p = rows(record["q"], gamma), rows(record["p"], gamma + 1)
            print(f"  {{{gamma}, {record['n_matches']}, {{{', '.join(map(str, record['cand']))}}}, {floats(record['u'])},")
            print("   {" + ",\n    ".join(map(floats, q)) + "},\n   {" + ",\n    ".join(map(floats, p)) + "},")
            print(f"   {floats(record['resid'])}}},")
    print("};")


main()
