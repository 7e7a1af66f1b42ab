#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Faults that samplers have had (cases.jsonl), each under every dialect whose conventions it takes for granted.

A case holds its input and what must come out. Which dialects share its conventions stands here: A01 and A09 take -1 for
the whole history; A04 lets top_p end where the mass reaches p and keeps the best at 0; A06 to A09 need a dialect with
the stage. A refusal by name is right where a case says so. One check of A09 speaks of breakers, which need a vocabulary:
the unit test `dry` holds it.
"""
import json
import math
import os
import subprocess
import sys

import golden  # noqa: F401  it finds tests/reference
import judge

HERE = os.path.dirname(os.path.abspath(__file__))
ALL = ("llama.cpp", "rmlx", "mlxcel", "minfer", "rml", "mlx-lm", "transformers", "tombola")
OFF = {"temperature": 1, "top_k": 0, "top_p": 1, "min_p": 0, "repeat_penalty": 1}
CHECKS = []  # (name, request, function of the answer that says what is wrong, or None)


def check(name, dialect, logits, params, judge_answer, **more):
    request = {"dialect": dialect, "logits": logits, "params": {**OFF, **params}, "seed": 1, "draws": 8, **more}
    CHECKS.append((f"{name} ({dialect})", request, judge_answer))


def numbers(values):
    return [float(str(v).replace("+", "")) for v in values]


def softmax(logits):
    best = max(logits)
    weights = [math.exp(x - best) for x in logits]
    return [w / sum(weights) for w in weights]


def ln(probabilities):
    return [math.log(p) for p in probabilities]


def has(probabilities, tolerance=1e-6):
    def wrong(answer):
        if "error" in answer:
            return answer["error"]["message"]
        kept = dict(zip(answer["ids"], answer["p"]))
        for token, p in enumerate(probabilities):
            if abs(kept.get(token, 0.0) - p) > (tolerance if p else 0):
                return f"p of {token} is {kept.get(token, 0.0)}, not {p}"
        return None
    return wrong


def keeps(ids):
    def wrong(answer):
        if "error" in answer:
            return answer["error"]["message"]
        kept = [i for i, p in zip(answer["ids"], answer["p"]) if p > 0]
        drawn = set(answer["tokens"]) <= set(kept)
        return None if kept == sorted(ids) and drawn else f"kept {kept}, not {sorted(ids)}"
    return wrong


def status(*allowed):
    def wrong(answer):
        got = answer.get("error", {}).get("status", "ok")
        return None if got in allowed else f"{got}, not {allowed}"
    return wrong


def a01(case):
    """-1 is the whole history."""
    for dialect in ("rmlx", "mlxcel", "transformers", "minfer", "tombola"):
        for i, (c, after) in enumerate(zip(case["input"]["checks"], case["expected"]["logits_after"]), 1):
            check(f"A01.{i}", dialect, c["logits"], c["params"], has(softmax(numbers(after))), history=c["history"])


def a03(case):
    for dialect in ALL:
        for i, (c, probs) in enumerate(zip(case["input"]["checks"], case["expected"]["probs"]), 1):
            refused = dialect == "rml" and c["temperature"] < 0
            probs = [0, 1, 0, 0] if isinstance(probs, str) else probs
            check(f"A03.{i}", dialect, c["logits"], {"temperature": c["temperature"]},
                  status("invalid_argument") if refused else has(probs, case["expected"]["tolerance"]))


def a04(case):
    kept = case["expected"]["kept"]
    for dialect in ("llama.cpp", "rml", "transformers", "tombola"):
        for i, (c, ids) in enumerate(zip(case["input"]["checks"], kept), 1):
            logits = [0.5] * 50000 if isinstance(c["probs"], str) else ln(c["probs"])
            params = {k: v for k, v in c.items() if k != "probs"}
            judge_answer = keeps(range(50000) if ids == "all 50000" else [0] if isinstance(ids, str) else ids)
            if dialect == "rml" and c["top_p"] == 0:
                judge_answer = status("invalid_argument")
            check(f"A04.{i}", dialect, logits, params, judge_answer)
        check("A04, renormalised", dialect, ln(case["input"]["checks"][0]["probs"]), {"top_p": 0.8},
              has([*case["expected"]["renormalised_check_1"], 0]))


def a06(case):
    for dialect in ("llama.cpp", "mlxcel", "transformers", "tombola"):
        for i, (c, kept) in enumerate(zip(case["input"]["checks"], case["expected"]["kept"]), 1):
            logits = ln((0.6, 0.3, 0.1)) + (["-inf"] if "-inf" in c["logits"] else [])
            params = {k: v for k, v in c.items() if k != "logits"}
            check(f"A06.{i}", dialect, logits, params, keeps([0] if isinstance(kept, str) else kept))


def a07(case):
    for dialect in ("llama.cpp", "mlxcel", "tombola"):
        for i, (c, kept) in enumerate(zip(case["input"]["checks"], case["expected"]["kept"]), 1):
            check(f"A07.{i}", dialect, c["logits"], {"top_n_sigma": c["top_n_sigma"]}, keeps(kept))


def a08(case):
    for dialect in ("llama.cpp", "mlxcel", "mlx-lm", "tombola"):
        for i, (c, kept) in enumerate(zip(case["input"]["checks"], case["expected"]["kept"]), 1):
            params = {**case["input"]["params"], **{k: v for k, v in c.items() if k != "probs"}}
            check(f"A08.{i}", dialect, ln(c["probs"]), params, keeps(kept))
        check("A08, renormalised", dialect, ln(case["input"]["checks"][0]["probs"]),
              {"xtc_probability": 1, "xtc_threshold": 0.1}, has([0, 0, 0.75, 0.25]))


def a09(case):
    vocab = case["input"]["vocab"]
    for dialect in ("mlxcel", "tombola"):
        for i, c in enumerate(case["input"]["checks"], 1):
            params = {**case["input"]["params"], **({"temperature": c["temperature"]} if "temperature" in c else {})}
            if i == 3:
                continue
            history = [7] * 400 if isinstance(c["history"], str) else c["history"]
            logits = c["logits"] if isinstance(c["logits"], list) else [0] * vocab
            if i == 4:
                judge_answer = keeps([t for t in range(vocab) if t != 7])
            elif i == 5:
                judge_answer = keeps([case["expected"]["check_5_token"]])
            else:
                penalties = case["expected"]["penalties"][i - 1]
                judge_answer = has(softmax([-penalties.get(str(t), 0) for t in range(vocab)]))
            check(f"A09.{i}", dialect, logits, params, judge_answer, history=history)


def a11(case):
    wanted = ("not_finite", "not_finite", "not_finite", "no_candidate", "not_finite")
    for dialect in ALL:
        for i, (c, want) in enumerate(zip(case["input"]["checks"], wanted), 1):
            logits = [str(x).replace("+", "") if isinstance(x, str) else x for x in c["logits"]]
            for t in (0, 1):
                if ("greedy" in c["mode"], "sample" in c["mode"])[t]:
                    check(f"A11.{i}", dialect, logits, {"temperature": t}, status(want))


def seeds():
    """A13: one seed, one stream, whatever runs beside it; -1 is random; the seed that is reported repeats a run."""
    row = [0.1 * (i % 7) for i in range(64)]

    def run(seed, *more):
        given = [] if seed is None else ["--seed", str(seed)]
        done = subprocess.run([os.environ["TOMBOLA_PROGRAM"], "sample", "--json", "--draws", "16", *given, *more],
                              input=json.dumps(row), stdout=subprocess.PIPE, text=True, check=True)
        return json.loads(done.stdout)

    wrong = []
    for dialect in ALL:
        flags = ["--dialect", dialect, "--temperature", "1"]
        request = {"dialect": dialect, "logits": row, "params": {**OFF}, "draws": 16}
        lines = [{**request, "seed": 42}, {**request, "seed": 7}, request, {**request, "seed": 42}, {**request, "seed": 0}]
        among = [a["tokens"] for a in judge.ask(json.dumps(line) + "\n" for line in lines)]
        plain = ["--top-k", "0", "--top-p", "1", "--min-p", "0", "--repeat-penalty", "1"]
        alone, first, second = run(42, *flags, *plain), run(-1, *flags, *plain), run(-1, *flags, *plain)
        for fine, text in (
                (among[0] == among[3] == alone["tokens"], "seed 42 alone and among others"),
                (among[0] != among[1] and among[0] != among[4], "other seeds give other tokens"),
                (first["tokens"] != second["tokens"], "two runs with seed -1 differ"),
                (run(first["seed"], *flags, *plain)["tokens"] == first["tokens"], "the seed that is reported repeats a run")):
            if not fine:
                wrong.append(f"A13 ({dialect}): {text}")
    return wrong


def main():
    makers = {"A01": a01, "A03": a03, "A04": a04, "A06": a06, "A07": a07, "A08": a08, "A09": a09, "A11": a11}
    with open(f"{HERE}/cases.jsonl") as file:
        cases = {case["id"]: case for case in map(json.loads, file)}
    assert cases.keys() == makers.keys() | {"A13"}, "a case without a check, or a check without a case"
    for name, make in makers.items():
        make(cases[name])
    failures = seeds()
    answers = list(judge.ask(json.dumps(request) + "\n" for _, request, _ in CHECKS))
    if len(answers) != len(CHECKS):
        failures.append(f"{len(answers)} answers to {len(CHECKS)} checks")
    for (name, request, wrong), answer in zip(CHECKS, answers):
        problem = wrong(answer)
        if problem:
            failures.append(f"{name} {request['params']}: {problem}")
    for failure in failures[:40]:
        print("FAILED", failure)
    print(f"{len(CHECKS)} checks of {len(cases)} cases, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
