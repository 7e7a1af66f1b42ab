#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Numbers that were worked out by hand, against `tombola sample --batch`.

The worked examples and unit tests of rMLX, mlxcel, minfer and rml (where such an example contradicts its own code, the
corrected number), the probabilities of llama.cpp's own sampling tests, and one row that tells the dialects apart.
Where a case gives the logits after a stage, their softmax is what is compared.
"""
import json
import math
import os
import subprocess
import sys

OFF = {"temperature": 1, "top_k": 0, "top_p": 1, "min_p": 0, "repeat_penalty": 1}
INF = math.inf


def ln(*probabilities):
    return [math.log(p) for p in probabilities]


def softmax(*logits):
    best = max(logits)
    weights = [math.exp(x - best) for x in logits]
    return [w / sum(weights) for w in weights]


# (name, dialect, logits, parameters, expected, further members of the request)
# expected: a list of all probabilities; or a set of kept ids; or a number, how many are kept; or a status.
CASES = []


def case(name, dialect, logits, params, expected, **more):
    CASES.append((name, dialect, logits, params, expected, more))


def rml_example():
    row = [2, 1, 0, -1]
    case("rml 4.1: three reach 0.9", "rml", row, {"top_p": 0.9}, [0.665241, 0.244728, 0.090031, 0])
    case("rml 4.1: min-p keeps the three", "rml", row, {"top_p": 0.9, "min_p": 0.05}, [0.665241, 0.244728, 0.090031, 0])
    case("rml 4.1: min-p alone drops the fourth", "rml", row, {"min_p": 0.05}, {0, 1, 2})
    case("rml 4.1: penalty 1.1", "rml", row, {"repeat_penalty": 1.1, "repeat_last_n": 64},
         softmax(1.818182, 1, 0, -1.1), history=[0, 3])
    case("rml 4.1: temperature 0 is greedy", "rml", row, {"temperature": 0}, [1, 0, 0, 0])
    case("rml 4.1: the lower id wins", "rml", [1, 5, 5, 0], {"temperature": 0}, [0, 1, 0, 0])
    case("rml 4.1: k of equals are the lowest ids", "rml", [5, 5, 5, 5], {"top_k": 2}, {0, 1})
    for name, value in (("temperature", -0.5), ("top_k", -1), ("top_p", 0), ("top_p", 1.5), ("min_p", 1), ("min_p", -0.1),
                        ("repeat_penalty", 0), ("repeat_last_n", -1), ("temperature", "nan"), ("temperature", "inf")):
        case(f"rml 4.1: {name} {value} is refused", "rml", row, {name: value}, "invalid_argument")


def llama_tests():
    row = ln(0.1, 0.2, 0.3, 0.4)
    expect = [
        ({"temperature": 1}, [0.1, 0.2, 0.3, 0.4]), ({"temperature": 0}, [0, 0, 0, 1]),
        ({"top_k": 1}, [0, 0, 0, 1]), ({"top_k": 3}, [0, 0.222222, 0.333333, 0.444444]),
        ({"top_k": 4}, [0.1, 0.2, 0.3, 0.4]), ({"top_k": 0}, [0.1, 0.2, 0.3, 0.4]),
        ({"top_p": 0}, [0, 0, 0, 1]), ({"top_p": 0.7}, [0, 0, 0.428571, 0.571429]),
        ({"top_p": 0.8}, [0, 0.222222, 0.333333, 0.444444]), ({"top_p": 1}, [0.1, 0.2, 0.3, 0.4]),
    ]
    expect += [({"min_p": p}, [0.1, 0.2, 0.3, 0.4]) for p in (0, 0.24)]
    expect += [({"min_p": p}, [0, 0.222222, 0.333333, 0.444444]) for p in (0.26, 0.49)]
    expect += [({"min_p": p}, [0, 0, 0.428571, 0.571429]) for p in (0.51, 0.74)]
    expect += [({"min_p": p}, [0, 0, 0, 1]) for p in (0.76, 1)]
    for params, probabilities in expect:
        case(f"llama.cpp tests: {params}", "llama.cpp", row, params, probabilities)
    # frequency times the count (3 and 1), and presence once.
    equal = ln(0.25, 0.25, 0.25, 0.25)
    window = {"repeat_last_n": 64}
    l = equal[0]
    case("llama.cpp tests: repeat 50", "llama.cpp", equal, {"repeat_penalty": 50, **window},
         softmax(50 * l, l, l, l), history=[0])
    case("llama.cpp tests: repeat 50, thrice", "llama.cpp", equal, {"repeat_penalty": 50, **window},
         softmax(50 * l, 50 * l, 50 * l, l), history=[0, 1, 2, 0, 0])
    case("llama.cpp tests: frequency and presence 5", "llama.cpp", equal,
         {"frequency_penalty": 5, "presence_penalty": 5, **window}, softmax(l - 20, l - 10, l, l), history=[0, 0, 1, 0])


def rmlx_tests():
    def rmlx(name, logits, params, expected, **more):
        case(f"rMLX 1.13: {name}", "rmlx", logits, params, expected, **more)

    greedy = {"temperature": 0}
    rmlx("argmax, all allowed", [1, 5, 3], greedy, [0, 1, 0], mask=[0, 1, 2])
    rmlx("argmax, the best forbidden", [1, 5, 3], greedy, [0, 0, 1], mask=[0, 2])
    rmlx("nothing allowed", [1, 5, 3], greedy, "no_candidate", mask=[])
    rmlx("argmax of equals", [1, 9, 3, 2, 9, 0, 9, 4], greedy, {1})
    rmlx("a bias makes equals", [5, 1, 2, 3, 0.5, 4], {**greedy, "logit_bias": [[3, 2]]}, {0})
    row = ln(0.1, 0.4, 0.05, 0.3, 0.15)
    for k, kept in ((2, {1, 3}), (1, {1}), (0, 5), (5, 5)):
        rmlx(f"top-k {k}", row, {"top_k": k}, kept)
    rmlx("top-p .7: 0.4 and 0.3 are enough", ln(0.1, 0.2, 0.3, 0.4), {"top_p": 0.7}, {2, 3})
    for p in (0, 1):
        rmlx(f"top-p {p} is off", ln(0.1, 0.2, 0.3, 0.4), {"top_p": p}, 4)
    rmlx("min-p, cut at 0.15", ln(0.5, 0.2, 0.1, 0.14, 0.06), {"min_p": 0.3}, {0, 1})
    rmlx("a banned entry is exactly 0", [1, -INF, 3], {}, softmax(1, -INF, 3))
    rmlx("repetition 2", [4, -2, 3], {"repeat_penalty": 2}, softmax(2, -4, 3), history=[0, 1])
    rmlx("presence 0.5", [5, 5, 5], {"presence_penalty": 0.5}, softmax(4.5, 4.5, 5), history=[0, 1, 1, 1])
    rmlx("frequency 0.5", [5, 5, 5], {"frequency_penalty": 0.5}, softmax(3.5, 4.5, 5), history=[0, 0, 0, 1])
    rmlx("biases, one of no token", [1] * 10, {"logit_bias": [[5, 2], [9, -3], [100, 99]]},
         softmax(1, 1, 1, 1, 1, 3, 1, 1, 1, -2))
    rmlx("all on one token: 0.8", [2, 0.8], {"logit_bias": [[0, 1]], "repeat_penalty": 2, "presence_penalty": 0.3,
                                             "frequency_penalty": 0.2}, [0.5, 0.5], history=[0, 0])
    rmlx("the window is 20", [4] * 100, {"repeat_penalty": 2}, softmax(2, *[4] * 99), history=[99] * 30 + [0] * 20)
    rmlx("a loop is broken", [3, 2, 1.5, 1, 0.5, 0], {**greedy, "repeat_penalty": 3}, {1}, history=[0])


def mlxcel_tests():
    params = {"dry_multiplier": 1, "dry_base": 2, "dry_allowed_length": 1}
    for dialect in ("mlxcel", "tombola"):
        case("mlxcel 2.4: a match of two costs 2", dialect, [1, 1, 1], params, softmax(1, 1, -1), history=[0, 1, 2, 0, 1])
    case("mlxcel 2.1: a bias of no token", "mlxcel", [1, 2], {"logit_bias": [[7, 3]]}, softmax(1, 2))
    # Equality at the cut: .5 and .25 hold .75 exactly, and the mass above the third is <= .75.
    case("mlxcel 2.3: top-p keeps one more at the bound", "mlxcel", ln(0.5, 0.25, 0.125, 0.125), {"top_p": 0.75}, {0, 1, 2})
    case("mlxcel 2.2: top-k 1 is greedy", "mlxcel", [2, 3, 3], {"top_k": 1}, {1})
    case("mlxcel 2.3: ties of top-k stay", "mlxcel", [2, 3, 3, 1], {"top_k": 3, "min_p": 0.01}, {0, 1, 2})
    case("mlxcel 2.3: ties of top-k stay", "mlxcel", [2, 3, 2, 1], {"top_k": 2}, {0, 1, 2})


def minfer_tests():
    def minfer(name, logits, params, expected, **more):
        case(f"minfer 3.6: {name}", "minfer", logits, params, expected, **more)

    greedy = {"temperature": 0}
    minfer("greedy", [1, 5, -2, 3], greedy, {1})
    minfer("repeat 2", [1, 2, 3, 4], {"repeat_penalty": 2}, softmax(1, 2, 3, 2), history=[3])
    minfer("repeat 2, greedy then 2", [1, 2, 3, 4], {**greedy, "repeat_penalty": 2}, {2}, history=[3])
    minfer("repeat 2, negative", [-4, -2, -1, -3], {"repeat_penalty": 2}, softmax(-4, -2, -1, -6), history=[3])
    minfer("repeat 1", [1, 2, 3, 4], {}, softmax(1, 2, 3, 4), history=[3])
    minfer("repeat below 1 is ignored", [1, 2, 3, 4], {"repeat_penalty": 0.5}, softmax(1, 2, 3, 4), history=[3])
    minfer("top-k 2", [1, 5, 2, 4], {"top_k": 2}, {1, 3})
    minfer("top-p .5", [1, 2, 3, 4], {"top_p": 0.5}, {3})
    minfer("frequency .5", [1, 2, 3, 4], {"frequency_penalty": 0.5}, softmax(1, 2, 3, 3), history=[3, 3])
    for history in ([3], [3, 3]):
        minfer("presence .8", [1, 2, 3, 4], {"presence_penalty": 0.8}, softmax(1, 2, 3, 3.2), history=history)
    minfer("all three", [4, -4, 0, 0], {"frequency_penalty": 1, "presence_penalty": 1, "repeat_penalty": 2},
           softmax(1, -4, 0, 0), history=[0])
    minfer("repeat 2, negative", [4, -4, 0, 0], {"repeat_penalty": 2}, softmax(4, -8, 0, 0), history=[1])
    minfer("neutral values do nothing", [4, -4, 0, 0], {}, softmax(4, -4, 0, 0), history=[1, 2, 3])
    minfer("dead zone", [4, -4, 0, 0], {"repeat_penalty": 1.0000005, "frequency_penalty": 5e-7}, softmax(4, -4, 0, 0),
           history=[0])
    # The window: the last n of what was accepted.
    for n, seen in ((3, (3, 4, 5)), (64, range(6)), (0, ())):
        minfer(f"window {n}", [4] * 6, {"repeat_penalty": 2, "repeat_last_n": n},
               softmax(*(2 if i in seen else 4 for i in range(6))), history=range(6))
    minfer("the corrected example: 2.909", [4, 2.9090909], {"repeat_penalty": 1.1, "frequency_penalty": 0.5,
                                                          "presence_penalty": 0.3}, [0.5, 0.5], history=[0])
    minfer("the corrected example: 6.09", [8, 6.0909091], {"repeat_penalty": 1.1, "frequency_penalty": 0.5,
                                                         "presence_penalty": 0.3}, [0.5, 0.5], history=[0, 0])
    minfer("the table of temperatures", [2, 1, 0], {"temperature": 2}, [0.506480, 0.307196, 0.186324])
    minfer("just below 1e-6 is greedy", [1, 2], {"temperature": 9e-7}, {1})
    minfer("top-p at equality keeps one more", ln(0.5, 0.25, 0.125, 0.125), {"top_p": 0.75}, {0, 1, 2})


def discriminating_vector():
    """One row on which the dialects differ: where the temperature stands, what top_p counts, which ties stay."""
    row = [2, 3, 2.5, 1.5, 2, 1.5, 2]
    params = {"temperature": 0.7, "top_k": 3, "top_p": 0.8, "min_p": 0.2}
    three, two = [0.138591, 0.578305, 0.283104, 0, 0, 0, 0], [0, 0.671347, 0.328653, 0, 0, 0, 0]
    four = [0.121722, 0.507912, 0.248644, 0, 0.121722, 0, 0]
    five = [0.108513, 0.452797, 0.221663, 0, 0.108513, 0, 0.108513]
    for dialect, expected in (("rmlx", three), ("mlxcel", four), ("rml", two), ("llama.cpp", two), ("mlx-lm", three),
                              ("transformers", four), ("tombola", two)):
        case("5: the vector", dialect, row, params, expected)
    case("5: the vector", "mlxcel", row, {**params, "draw": "rejection"}, five)
    case("5: the vector", "minfer", row, {**params, "min_p": 0}, four)


def number(x):
    return x if math.isfinite(x) else {INF: "inf", -INF: "-inf"}.get(x, "nan")


def lines():
    for _, dialect, logits, params, _, more in CASES:
        yield json.dumps({"dialect": dialect, "logits": [number(x) for x in logits], "params": {**OFF, **params},
                          "seed": 1, "draws": 8, **{k: list(v) for k, v in more.items()}}) + "\n"


def problem_of(answer, logits, expected):
    """None, or what is wrong."""
    if isinstance(expected, str):
        status = answer.get("error", {}).get("status", "ok")
        return None if status == expected else f"{status} instead of {expected}: {answer}"
    if "error" in answer:
        return str(answer["error"])
    kept = dict(zip(answer["ids"], answer["p"]))
    if any(token not in kept for token in answer["tokens"]) or len(answer["tokens"]) != 8:
        return f'drew {answer["tokens"]} of {sorted(kept)[:8]}'
    if isinstance(expected, int):
        return None if len(kept) == expected else f"{len(kept)} kept, not {expected}"
    if isinstance(expected, set):
        return None if set(kept) == expected else f"kept {sorted(kept)}, not {sorted(expected)}"
    for token, p in enumerate(expected):
        got = kept.get(token, 0.0)
        if not abs(got - p) <= (1e-5 if p else 0.0):
            return f"p of {token} is {got}, not {p}"
    return None


def main():
    for add in (rml_example, llama_tests, rmlx_tests, mlxcel_tests, minfer_tests, discriminating_vector):
        add()
    program = [os.environ["TOMBOLA_PROGRAM"], "sample", "--batch"]
    done = subprocess.run(program, input="".join(lines()), stdout=subprocess.PIPE, text=True, check=True)
    out = [json.loads(line) for line in done.stdout.splitlines()]
    failures = 0 if len(out) == len(CASES) else 1
    for (name, dialect, logits, params, expected, _), answer in zip(CASES, out):
        problem = problem_of(answer, logits, expected)
        if problem:
            failures += 1
            print(f"FAILED {name} ({dialect}, {params}): {problem}")
    print(f"{len(CASES)} worked cases, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
