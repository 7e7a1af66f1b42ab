#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Faults that constraint engines have had (constraint_cases.jsonl): texts that a schema must accept and reject, through
`tombola schema check --batch`, with each bound of white space. What needs tokens is in tests/unit/test_constraint_cases.c.
"""
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = ("D03", "D05", "D06", "D07")


def text_of(name):
    """D07 says in words what is long."""
    words = name.split()
    if words[0] == "string" and words[1] == "of":
        return ['"' + words[3] * int(words[2]) + '"']
    if words[0] == "array" and words[1] == "of":
        counts = [int(w) for w in name.replace(",", " ").split() if w.isdigit()]
        return ["[" + ",".join("1.5e3" for _ in range(n)) + "]" for n in counts]
    return [name]


def texts_of(check, name, long):
    listed = check.get(name, [])
    return [text for entry in listed for text in (text_of(entry) if long else [entry])]


def requests():
    """(what it is, line, expected verdicts of its texts)"""
    with open(f"{HERE}/constraint_cases.jsonl") as file:
        cases = [json.loads(line) for line in file]
    assert tuple(case["id"] for case in cases) == CASES, "a case without a check, or a check without a case"
    for case in cases:
        long = case["id"] == "D07"
        lone = case["input"].get("lone_surrogate")
        for number, check in enumerate(case["input"]["checks"], 1):
            accept, reject = (texts_of(check, name, long) for name in ("accept", "reject"))
            if lone:  # nothing but whole characters, whatever the length
                reject = reject + [lone, lone[:-1] + lone[1:-1] + '"']
            for space in ("none", "bounded", "any"):
                inside = ["\n " + text for text in accept] if space != "none" else []
                behind = [text + " " for text in accept]
                texts = accept + inside + reject + behind
                wanted = [True] * len(accept + inside) + [False] * len(reject) + [space == "any"] * len(behind)
                yield (f"{case['id']}.{number} ({space})",
                       {"schema": check["schema"], "whitespace": space, "texts": texts}, wanted)


def main():
    asked = list(requests())
    lines = "".join(json.dumps(line) + "\n" for _, line, _ in asked)
    done = subprocess.run([os.environ["TOMBOLA_PROGRAM"], "schema", "check", "--batch"], input=lines, text=True,
                          stdout=subprocess.PIPE, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    failures = [] if len(answers) == len(asked) else [f"{len(answers)} answers to {len(asked)} lines"]
    texts = 0
    for (name, line, wanted), answer in zip(asked, answers):
        if answer.get("verdict") != "exact":
            failures.append(f"{name}: {json.dumps(answer)[:200]}")
            continue
        for text, want, got in zip(line["texts"], wanted, answer["texts"], strict=True):
            texts += 1
            if want != got:
                failures.append(f"{name}: {text[:60]!r} is {'accepted' if got else 'rejected'}")
    for failure in failures[:40]:
        print("FAILED", failure)
    print(f"{len(asked)} schemas of {len(CASES)} cases, {texts} texts, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
