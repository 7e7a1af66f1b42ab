#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recordings of an engine against `tombola sample --batch`.

usage: golden.py llama|mlx|hf

Every record of ENGINE.jsonl.gz must come out equal: the kept tokens, their probabilities, the drawn token (of mlx-lm and
transformers: the best of those that are left). What may differ: tokens that tie at the cut or whose mass is within 1e-5
of a bound; the order of equal logits, which llama.cpp leaves to its sort; a draw within 1e-6 of a boundary. Each such
case is worked out again in double precision by the model of the engine (tests/reference) and counted. A record where
the engine is wrong stands in ENGINE_defects.json with the reason; one that comes out equal all the same is a failure too.
"""
import base64
import collections
import fnmatch
import gzip
import json
import math
import os
import struct
import sys
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "reference"))
import plain  # noqa: E402
from judge import Judge, Mismatch, ask, require, text_of  # noqa: E402

UNIFORM = (1608637542 + 3421126067 * 2**32) / 2**64  # the first of std::mt19937(42)
LARGE = 1000  # a row of more tokens goes through the model only where something differs or p is not all recorded


def lines_of(name):
    with gzip.open(f"{HERE}/{name}.jsonl.gz", "rt") as file:
        return [json.loads(line) for line in file]


def floats(text):
    data = base64.b64decode(text)
    return list(struct.unpack(f"<{len(data) // 4}f", data))


def requests(rows, records):
    """The text of a row is made once: some have 32,000 numbers."""
    texts = {name: text_of(row["logits"]) for name, row in rows.items()}
    for record in records:
        rest = json.dumps({"history": rows[record["row"]]["history"], **record["request"]})
        yield f'{{"logits": {texts[record["row"]]}, {rest[1:]}\n'


def kept_of(record, vocab):
    if "ids" in record:
        return set(record["ids"])
    if "bits" not in record:
        return set(range(vocab)) if record["n"] == vocab else None
    bits = zlib.decompress(base64.b64decode(record["bits"]))
    return {i for i in range(vocab) if bits[i // 8] >> (i % 8) & 1}


class Check(Judge):
    """One record against one answer; raises Mismatch, notes the exceptions that were needed."""

    def __init__(self, engine, row, record, answer):
        super().__init__({"logits": row["logits"], "history": row["history"], **record["request"]}, answer)
        self.row, self.record, self.engine = row["logits"], record, engine
        self.params = record["request"]["params"]
        require("error" not in answer, answer.get("error", {}).get("message"))
        self.absent()
        self.kept()
        self.probabilities()
        self.token()

    def absent(self):
        """Without a recorded distribution there is still a right answer."""
        about = {"err": "refuses this", "nan": "has NaN here", "degenerate": "has no distribution here"}
        for key in about.keys() & self.record.keys():
            ours = dict(zip(self.answer["ids"], self.answer["p"]))
            require(self.right_set(set(ours)), self.explain("ours", set(ours)))
            self.against_model(ours)
            raise Mismatch(f"the engine {about[key]}")

    def kept(self):
        theirs, ours = kept_of(self.record, len(self.row)), set(self.answer["ids"])
        require(theirs is not None, "the recording has no kept set")
        self.same = ours == theirs
        if self.same:
            return
        for name, ids in (("ours", ours), ("theirs", theirs)):
            require(self.right_set(ids), self.explain(name, ids))
        self.exceptions.append("tie at the cut" if len(ours) == len(theirs) else "mass within 1e-5 of the bound")

    def probabilities(self):
        ours = dict(zip(self.answer["ids"], self.answer["p"]))
        if not self.same or len(self.row) <= LARGE or "p" not in self.record:
            self.against_model(ours)
        if not self.same:
            return
        slack = self.wide()
        theirs = zip(self.record["ids"], self.record["p"]) if "p" in self.record else self.record["top"]
        for token, p in theirs:
            require(abs(ours[token] - p) <= slack, f"theirs has p {p} of {token}, ours {ours[token]}")

    def wide(self):
        """mlx subtracts a logsumexp before the stages, and what that rounds off stays off."""
        if self.engine != "mlx":
            return self.tolerance
        largest = max(abs(x) for x in self.row if math.isfinite(x)) + math.log(len(self.row))
        return self.tolerance + 4 * plain.ulp(largest / self.params.get("temperature", 1.0))

    def token(self):
        theirs = self.record["sel"]
        if self.engine != "llama":  # the best of what they keep, lowest id
            pairs = sorted(zip((-p for p in self.answer["p"]), self.answer["ids"]))
            bound = pairs[0][0] + 2 * self.wide()
            near = {i for p, i in pairs if p <= bound}
            require(theirs in near or not self.same, f"the best is {pairs[0][1]}, not {theirs}")
            return
        ours = self.answer["tokens"][0]
        if self.same and ours == theirs:
            return
        items = self.fitting(set(self.answer["ids"]))
        if items is None:  # other tokens of a tie: nothing to compare a place with
            return
        logits = dict(items)
        chosen, near = plain.draw(items, UNIFORM)
        if ours == theirs or not self.same:
            require(ours in near, f"token {ours} isn't at its place: {chosen} is")
        elif logits.get(theirs) == logits[ours]:
            require(self.model().exchanged, "only a sort may exchange equal logits")
            self.exceptions.append("order of equal logits")
        else:
            require(ours in near, f"token {ours} isn't at its place: {chosen} is")
            require(theirs in near, f"theirs, token {theirs}, isn't at its place: {ours} is")
            self.exceptions.append("draw within 1e-6 of a boundary")


def defect_of(defects, record):
    for defect in defects:
        if fnmatch.fnmatch(record["row"], defect["row"]) and any(
                fnmatch.fnmatch(record["case"], case) for case in defect["cases"]):
            return defect
    return None


def judge(engine, row, record, answer, defect, counts):
    """What is wrong, or None."""
    try:
        found = Check(engine, row, record, answer).exceptions
    except Mismatch as mismatch:
        if defect is None:
            return str(mismatch)
        counts["defect of the engine"] += 1
        status = answer.get("error", {}).get("status", "ok")
        if status != defect["ours"]:
            return f'{status} instead of {defect["ours"]}'
        if status == "ok" and not str(mismatch).startswith(("the engine", "theirs")):
            return f"on the list of defects, but ours is wrong: {mismatch}"
        return None
    counts.update(found or ["equal"])
    return "is on the list of defects, but equals the recording" if defect else None


def main():
    engine = sys.argv[1]
    rows = {line["row"]: {**line, "logits": floats(line["f32"])} for line in lines_of("rows")}
    records = lines_of(engine)[1:]
    with open(f"{HERE}/{engine}_defects.json") as file:
        defects = json.load(file)
    counts, failures, used, asked = collections.Counter(), [], collections.Counter(), 0
    for record, answer in zip(records, ask(requests(rows, records))):
        asked += 1
        defect = defect_of(defects, record)
        used[id(defect)] += 1
        wrong = judge(engine, rows[record["row"]], record, answer, defect, counts)
        if wrong:
            failures.append(f'{record["row"]}, {record["case"]}: {wrong}')
    failures += [f'defect {d["row"]} {d["cases"]}: no record' for d in defects if not used[id(d)]]
    if asked != len(records):
        failures.append(f"{asked} answers to {len(records)} records")
    print(f"{len(records)} records: " + ", ".join(f"{n} {what}" for what, n in counts.most_common()))
    for failure in failures[:int(os.environ.get("FAILURES", 40))]:
        print("FAILED", failure)
    print(f"{len(failures)} failures")
    return 1 if failures or len(records) < 1000 else 0


if __name__ == "__main__":
    sys.exit(main())
