#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Numbers that were worked out by hand, against `tombola sample --batch`.

Three sources: the worked example of rml's sampler; the probabilities of llama.cpp's own sampling tests; and a list of
faults that samplers have had (A01, A03, A04, A11), each under the dialects whose conventions it takes for granted.
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


def both(name, logits, params, expected, **more):
    for dialect in ("llama.cpp", "rml"):
        case(name, dialect, logits, params, expected, **more)


def rml_example():
    row = [2, 1, 0, -1]
    case("rml 4.1: three reach 0.9", "rml", row, {"top_p": 0.9}, [0.665241, 0.244728, 0.090031, 0])
    case("rml 4.1: min-p keeps the three", "rml", row, {"top_p": 0.9, "min_p": 0.05}, [0.665241, 0.244728, 0.090031, 0])
    case("rml 4.1: min-p alone drops the fourth", "rml", row, {"min_p": 0.05}, {0, 1, 2})
    case("rml 4.1: penalty 1.1", "rml", row, {"repeat_penalty": 1.1, "repeat_last_n": 64},
         softmax(1.818182, 1, 0, -1.1), history=[0, 3])
    # The discriminating vector: temperature comes before the stages that keep.
    tied = [2, 3, 2.5, 1.5, 2, 1.5, 2]
    params = {"temperature": 0.7, "top_k": 3, "top_p": 0.8, "min_p": 0.2}
    case("rml 5: discriminating vector", "rml", tied, params, [0, 0.671347, 0.328653, 0, 0, 0, 0])
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


def faults():
    window = {"repeat_penalty": 2, "repeat_last_n": 5}
    both("A01.1", [2, -1, 0.5, 3], window, softmax(2, -2, 0.5, 1.5), history=[3, 3, 3, 1, 1])
    both("A01.2", [-INF, 0, 4, 1], {"repeat_penalty": 1.5, "repeat_last_n": 3}, softmax(-INF, 0, 2.6666667, 1),
         history=[0, 1, 2])
    both("A01.3", [1, 1, 1, 1], {"repeat_penalty": 2, "repeat_last_n": 2}, softmax(1, 1, 0.5, 0.5), history=[1, 1, 2, 3])
    both("A01.4", [1, 1, 1, 1], {"repeat_penalty": 2, "repeat_last_n": 0}, softmax(1, 1, 1, 1), history=[1, 1, 2, 3])

    both("A03.1", [11.0625, 2.9551, 2.875], {"temperature": 1e-5}, [1, 0, 0])
    both("A03.2: 1000 / 1e-36 is beyond a float", [1000, 999], {"temperature": 1e-36}, [1, 0])
    both("A03.3", [1, 3, 2, -INF], {"temperature": 0}, [0, 1, 0, 0])
    both("A03.4: a banned token stays at exactly 0", [1, 3, 2, -INF], {"temperature": 1e6}, [0.333333, 0.333334, 0.333333, 0])
    case("A03.5", "llama.cpp", [1, 3, 2, -INF], {"temperature": -1}, [0, 1, 0, 0])
    case("A03.5", "rml", [1, 3, 2, -INF], {"temperature": -1}, "invalid_argument")

    both("A04.1: the token that crosses is kept", ln(0.4, 0.3, 0.2, 0.1), {"top_p": 0.8}, [0.4444444, 0.3333333, 0.2222222, 0])
    both("A04.2: an exact hit is enough", ln(0.5, 0.25, 0.125, 0.125), {"top_p": 0.75}, {0, 1})
    both("A04.3", ln(0.5, 0.25, 0.125, 0.125), {"top_p": 0.5}, {0})
    both("A04.4: a tiny p keeps the best", ln(0.4, 0.3, 0.2, 0.1), {"top_p": 1e-8}, {0})
    case("A04.5", "llama.cpp", ln(0.4, 0.3, 0.2, 0.1), {"top_p": 0}, {0})
    case("A04.5", "rml", ln(0.4, 0.3, 0.2, 0.1), {"top_p": 0}, "invalid_argument")
    both("A04.6: after top-k the mass is the survivors'", ln(0.19, *[0.09] * 9), {"top_k": 1, "top_p": 0.8}, {0})
    both("A04.7: 1 is off", [0.5] * 50000, {"top_p": 1}, 50000)

    nan = math.nan
    both("A11.1", [nan, 1, 3, 2], {"temperature": 0}, "not_finite")
    both("A11.2", [1, nan, 3, 2], {}, "not_finite")
    both("A11.3", [1, INF, 2], {}, "not_finite")
    both("A11.4 greedy", [-INF] * 3, {"temperature": 0}, "no_candidate")
    both("A11.4", [-INF] * 3, {}, "no_candidate")
    both("A11.5", [nan, nan], {}, "not_finite")


def number(x):
    return x if math.isfinite(x) else {INF: "inf", -INF: "-inf"}.get(x, "nan")


def lines():
    for _, dialect, logits, params, _, more in CASES:
        yield json.dumps({"dialect": dialect, "logits": [number(x) for x in logits], "params": {**OFF, **params},
                          "seed": 1, "draws": 8, **more}) + "\n"


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
    rml_example()
    llama_tests()
    faults()
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
