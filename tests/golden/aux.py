#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""transformers' processors that look at a sequence, as far as a stage of ours answers to them: no_repeat_ngram, suppress,
the repetition penalty over the whole sequence. hf_aux.jsonl.gz holds the scores before (x) and after (y): what is left
must be drawn with the softmax of y, and nothing else may be drawn."""
import collections
import json
import math
import sys

import golden
import plain
from judge import ask, text_of


def wrong(record, answer):
    if "error" in answer:
        return str(answer["error"])
    items = [(i, x) for i, x in enumerate(golden.floats(record["y"])) if x != -math.inf]
    if [i for i, _ in items] != answer["ids"]:
        return f'kept {answer["ids"]}, not {[i for i, _ in items]}'
    for token, got, want in zip(answer["ids"], answer["p"], plain.shares(items)):
        if abs(got - want) > 1e-6:
            return f"p of {token} is {got}, not {want}"
    return None


def main():
    records = golden.lines_of("hf_aux")[1:]
    lines = (f'{{"logits": {text_of(golden.floats(r["x"]))}, '
             f'{json.dumps({"history": r["history"], **r["request"]})[1:]}\n' for r in records)
    counts, failures = collections.Counter(), []
    for record, answer in zip(records, ask(lines)):
        counts[record["case"]] += 1
        problem = wrong(record, answer)
        if problem:
            failures.append(f'{record["case"]} {record["request"]["params"]} after {record["history"]}: {problem}')
    for failure in failures[:20]:
        print("FAILED", failure)
    print(f"{sum(counts.values())} records ({dict(counts)}), {len(failures)} failures")
    return 1 if failures or sum(counts.values()) != 42 else 0


if __name__ == "__main__":
    sys.exit(main())
