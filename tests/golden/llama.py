#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recordings of llama.cpp against `tombola sample --batch`.

Every record of llama.jsonl.gz must come out equal: the kept tokens, their probabilities, the drawn token. What may
differ: tokens that tie at the cut or whose cumulative mass is within 1e-5 of the bound of top_p; the order of equal
logits, which llama.cpp leaves to its sort; a draw within 1e-6 of a boundary. Each such case is worked out again in
double precision (model.py) and counted. A record where the engine is wrong stands in llama_defects.json with the
reason; one that comes out equal all the same is a failure too.
"""
import base64
import collections
import fnmatch
import gzip
import json
import math
import os
import struct
import subprocess
import sys
import zlib

import model

HERE = os.path.dirname(os.path.abspath(__file__))
UNIFORM = (1608637542 + 3421126067 * 2**32) / 2**64  # the first of std::mt19937(42)
PRECISION = 1e-6


def load(path):
    rows, records = {}, []
    with gzip.open(path, "rt") as file:
        for line in map(json.loads, file):
            if "f32" in line:
                data = base64.b64decode(line["f32"])
                line["logits"] = list(struct.unpack(f"<{len(data) // 4}f", data))
                rows[line["row"]] = line
            elif "case" in line:
                records.append(line)
    return rows, records


def number(x):
    return x if math.isfinite(x) else {math.inf: '"inf"', -math.inf: '"-inf"'}.get(x, '"nan"')


def answers(rows, records):
    """What the program says to each record. The text of a row is made once: some have 32,000 numbers."""
    texts = {name: "[" + ",".join(str(number(x)) for x in row["logits"]) + "]" for name, row in rows.items()}
    program = [os.environ["TOMBOLA_PROGRAM"], "sample", "--batch"]
    lines = []
    for record in records:
        rest = json.dumps({"history": rows[record["row"]]["history"], **record["request"]})
        lines.append(f'{{"logits": {texts[record["row"]]}, {rest[1:]}\n')
    done = subprocess.run(program, input="".join(lines), stdout=subprocess.PIPE, text=True, check=True)
    out = done.stdout.splitlines()
    assert len(out) == len(records), f"{len(records)} lines in, {len(out)} lines out"
    return map(json.loads, out)


def kept_of(record, vocab):
    if "ids" in record:
        return set(record["ids"])
    if "bits" not in record:
        return set(range(vocab)) if record["n"] == vocab else None
    bits = zlib.decompress(base64.b64decode(record["bits"]))
    return {i for i in range(vocab) if bits[i // 8] >> (i % 8) & 1}


def ulp32(x):
    x = abs(x)
    return math.ldexp(1, max(math.frexp(x)[1] - 24, -149)) if x else 2.0**-149


class Mismatch(Exception):
    pass


def require(condition, text):
    if not condition:
        raise Mismatch(text)


class Check:
    """One record against one answer; raises Mismatch, returns the exceptions that were needed."""

    def __init__(self, row, record, answer):
        self.row, self.record, self.answer = row["logits"], record, answer
        self.request, self.history = record["request"], row["history"]
        self.exceptions = []
        require("error" not in answer, answer.get("error", {}).get("status"))
        require("nan" not in record and "degenerate" not in record, "the engine has no distribution here")
        largest = max(abs(x) for x in self.row if math.isfinite(x))
        temperature = self.request["params"].get("temperature", 1.0)
        self.tolerance = PRECISION + 4 * ulp32(largest / temperature)
        self.exact = model.Chain(self.row, self.request, self.history)
        self.kept()
        self.probabilities()
        self.token()

    def kept(self):
        theirs, ours = kept_of(self.record, len(self.row)), set(self.answer["ids"])
        require(theirs is not None, "the recording has no kept set")
        self.same = ours == theirs
        if self.same:
            return
        low = model.Chain(self.row, self.request, self.history, move=-model.SLACK).items
        high = model.Chain(self.row, self.request, self.history, move=model.SLACK, ties=True).ids()
        cut = min((x for _, x in low), default=0)  # those that tie with the last may be exchanged for others
        core = {i for i, x in low if x > cut}
        for name, ids in (("ours", ours), ("theirs", theirs)):
            require(core <= ids <= high, f"{name} isn't a right set: {sorted(ids ^ self.exact.ids())[:8]} differ")
        tie = len(ours) == len(theirs)
        self.exceptions.append("tie at the cut" if tie else "mass within 1e-5 of the bound")

    def probabilities(self):
        ours = dict(zip(self.answer["ids"], self.answer["p"]))
        logits = dict(model.Chain(self.row, self.request, self.history, move=model.SLACK, ties=True).items)
        require(ours.keys() <= logits.keys(), f"kept {sorted(ours.keys() - logits.keys())[:8]} as well")
        items = [(i, logits[i]) for i in self.answer["ids"]]
        weights = model.weights(items)
        total = sum(weights)
        for (token, _), weight in zip(items, weights):
            require(abs(ours[token] - weight / total) <= self.tolerance, f"p of {token} is {ours[token]}")
        if not self.same:
            return
        theirs = zip(self.record["ids"], self.record["p"]) if "p" in self.record else self.record["top"]
        for token, p in theirs:
            require(abs(ours[token] - p) <= self.tolerance, f"p of {token} is {ours[token]}, not {p}")

    def token(self):
        ours, theirs = self.answer["tokens"][0], self.record["sel"]
        if self.same and ours == theirs:
            return
        kept = set(self.answer["ids"])
        wide = model.Chain(self.row, self.request, self.history, move=model.SLACK, ties=True)
        items = [item for item in wide.items if item[0] in kept]
        logits = dict(items)
        chosen, near = model.draw(items, UNIFORM)
        require(ours in near, f"token {ours} isn't at its place: {chosen} is")
        if ours == theirs or not self.same:
            return
        if logits.get(theirs) == logits[ours]:
            require(self.exact.sorted, "only a sort may exchange equal logits")
            self.exceptions.append("order of equal logits")
        else:
            require(theirs in near, f"token {ours}, not {theirs}")
            self.exceptions.append("draw within 1e-6 of a boundary")


def defect_of(defects, record):
    for defect in defects:
        if fnmatch.fnmatch(record["row"], defect["row"]) and any(
                fnmatch.fnmatch(record["case"], case) for case in defect["cases"]):
            return defect
    return None


def main():
    rows, records = load(f"{HERE}/llama.jsonl.gz")
    with open(f"{HERE}/llama_defects.json") as file:
        defects = json.load(file)
    counts, failures, used = collections.Counter(), [], collections.Counter()
    for record, answer in zip(records, answers(rows, records)):
        name = f'{record["row"]}, {record["case"]}'
        defect = defect_of(defects, record)
        try:
            found = Check(rows[record["row"]], record, answer).exceptions
            if defect:
                failures.append(f"{name}: is on the list of defects, but equals the recording")
            counts.update(found or ["equal"])
        except Mismatch as mismatch:
            if defect is None:
                failures.append(f"{name}: {mismatch}")
                continue
            used[id(defect)] += 1
            counts["defect of the engine"] += 1
            status = answer.get("error", {}).get("status", "ok")
            if status != defect["ours"]:
                failures.append(f'{name}: {status} instead of {defect["ours"]}')
            elif status == "ok" and not str(mismatch).startswith("theirs"):
                failures.append(f"{name}: on the list of defects, but ours is wrong: {mismatch}")
    failures += [f'defect {d["row"]} {d["cases"]}: no record' for d in defects if not used[id(d)]]
    print(f"{len(records)} records: " + ", ".join(f"{n} {what}" for what, n in counts.most_common()))
    for failure in failures[:40]:
        print("FAILED", failure)
    print(f"{len(failures)} failures")
    return 1 if failures or len(records) < 1000 else 0


if __name__ == "__main__":
    sys.exit(main())
