#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tombola dialects` against what the models say, the table of docs/dialects.md against the program.

usage: dialects.py            the test
       dialects.py --write    writes the table into docs/dialects.md
"""
import json
import os
import re
import subprocess
import sys

import models

# (temperature, top_k, top_p, min_p, repeat_penalty, repeat_last_n, seed), of the program and of the server.
DEFAULTS = {
    "rmlx": ((1, 0, 1, 0, 1, 20, "42919"), (1, 0, 1, 0, 1, 20, "42919")),
    "mlxcel": ((0, 0, 1, 0, 1, -1, "random"), (0.8, 40, 0.95, 0.05, 1, 64, "random")),
    "minfer": ((0.8, 40, 0.95, 0, 1.1, 64, "42"), (0.8, 40, 0.95, 0, 1.1, 64, "random")),
    "rml": ((0.7, 40, 0.95, 0.05, 1.1, 64, "0"), (0.7, 40, 0.95, 0.05, 1.1, 64, "0")),
    "llama.cpp": ((0.8, 40, 0.95, 0.05, 1, 64, "random"), (0.8, 40, 0.95, 0.05, 1, 64, "random")),
    "mlx-lm": ((0, 0, 1, 0, 1, 20, "random"), (0, 0, 1, 0, 1, 20, "random")),
    "transformers": ((1, 50, 1, 0, 1, -1, "random"), (1, 50, 1, 0, 1, -1, "random")),
    "tombola": ((0.8, 0, 1, 0.05, 1, 64, "random"), (0.8, 0, 1, 0.05, 1, 64, "random")),
}
NAMES = ("temperature", "top_k", "top_p", "min_p", "repeat_penalty", "repeat_last_n")
GENERATORS = {"rmlx": "pcg32", "mlxcel": "philox", "minfer": "chacha12", "rml": "mt19937", "llama.cpp": "mt19937",
              "mlx-lm": "threefry", "transformers": "mt19937", "tombola": "counter"}
BEGIN, END = "<!-- table: tests/reference/dialects.py --write -->", "<!-- end of table -->"
SHOWN = (*NAMES, "penalty_scope", "draw")


def program(*arguments, status=0):
    done = subprocess.run([os.environ["TOMBOLA_PROGRAM"], "dialects", *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    assert done.returncode == status, f"{arguments}: status {done.returncode}, {done.stderr}"
    return done.stdout if status == 0 else done.stderr


def value(dialect, name):
    a, b = dialect["defaults"][name], dialect["server_defaults"][name]
    return f"{a:g}" if a == b and not isinstance(a, str) else str(a) if a == b else f"{a:g} / {b:g}"


def table(dialects):
    lines = [["", *(d["name"] for d in dialects)], ["---"] * (len(dialects) + 1)]
    lines.append(["order", *("<br>".join(d["order"]) for d in dialects)])
    lines += [[name, *(value(d, name) for d in dialects)] for name in SHOWN]
    lines += [[rule, *(d["rules"][rule] for d in dialects)] for rule in dialects[0]["rules"]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def compare(dialects, failures):
    found = {d["name"]: d for d in dialects}
    if found.keys() != DEFAULTS.keys():
        failures.append(f"dialects: {sorted(found)}")
    for name, order in models.ORDERS.items():
        if found[name]["order"] != order.split():
            failures.append(f"{name}: the order is {found[name]['order']}, not {order}")
    for name, sides in DEFAULTS.items():
        for key, seed, want in zip(("defaults", "server_defaults"), ("seed", "seed of a server"), sides):
            got = (*(found[name][key][n] for n in NAMES), found[name]["rules"][seed])
            if got != want:
                failures.append(f"{name}: {key} are {got}, not {want}")
        if found[name]["rules"]["generator"] != GENERATORS[name]:
            failures.append(f"{name}: {found[name]['rules']['generator']}")


def look(failures):
    """The table for people: bold where it should be, one column for each name, an unknown name refused."""
    for fine, text in (
            ("\033[1m" in program("--color", "always"), "bold"),
            ("\033" not in program("--color", "never") and "\033" not in program(), "no bold in a pipe"),
            (all(name in program() for name in DEFAULTS), "every dialect"),
            ("mlxcel" not in program("rml", "rmlx"), "only those that were named"),
            ("nope" in program("nope", status=2), "an unknown name is refused by name"),
            (re.search(r"^temperature +0 / 0.8 +0.7", program("mlxcel", "rml"), re.M), "the server's default")):
        if not fine:
            failures.append(f"tombola dialects: {text}")


def main():
    dialects = json.loads(program("--json"))
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/dialects.md")
    with open(path) as file:
        text = file.read()
    before, rest = text.split(BEGIN)
    old, after = rest.split(END)
    new = f"\n{table(dialects)}\n"
    if sys.argv[1:] == ["--write"]:
        with open(path, "w") as file:
            file.write(before + BEGIN + new + END + after)
        return 0
    failures = [] if old == new else ["docs/dialects.md: its table isn't the program's (dialects.py --write)"]
    failures += [f"docs/dialects.md has no section on {d['name']}" for d in dialects if f"\n### {d['name']}" not in text]
    compare(dialects, failures)
    look(failures)
    for failure in failures:
        print("FAILED", failure)
    print(f"{len(dialects)} dialects, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
