#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The acceptance table, acceptance.tsv: every line that must be there is, each test that it names exists and has run, and
each mutation that it names is made by tests/mutations and noticed by one of those tests.

That they have run is read off ctest's list of what it has finished, so this test comes last. A run that was told to leave
tests out (ctest -R and the like) can't know: there this test is skipped.
"""
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SKIPPED = 77
PARTIAL = ("-R", "-E", "-I", "-F", "--rerun-failed", "--tests-", "--exclude-regex", "--label-regex")


def wanted():
    """Those lines of the four systems that are about sampling, text, sessions, speculation and constraints."""
    numbers = {"R": [*range(1, 42), 44, 45, 47], "M": [*range(1, 26), *range(27, 40), 43],
               "N": [*range(1, 20), 21, 22], "G": [*range(1, 18)]}
    return [f"{letter}{n:02}" for letter, list_ in numbers.items() for n in list_]


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t") for line in file if line.strip() and not line.startswith("#")]


def tests_of(build):
    """The names of all tests, in ctest's order."""
    done = subprocess.run(["ctest", "--show-only=json-v1"], cwd=build, stdout=subprocess.PIPE, check=True)
    return [test["name"] for test in json.loads(done.stdout)["tests"]]


def finished(build, tests):
    """The names of those that the present run of ctest has finished."""
    try:
        with open(os.path.join(build, "Testing", "Temporary", "CTestCheckpoint.txt")) as file:
            return {tests[int(number) - 1] for number in file.read().split()}
    except FileNotFoundError:
        return set()


def is_partial():
    with open(f"/proc/{os.getppid()}/cmdline") as file:
        words = file.read().split("\0")
    return "ctest" not in os.path.basename(words[0]) or any(
        word.startswith(PARTIAL) or (word.startswith("-L") and not word.startswith("-LE")) for word in words)


def check_table(lines, tests, mutations):
    problems = []
    ids = [line[0] for line in lines]
    if ids != wanted():
        problems.append(f"not every line once and in order: {sorted(set(ids) ^ set(wanted()))}")
    for line in lines:
        if len(line) != 4 or not line[2].split():
            problems.append(f"{line[0]}: not id, what, tests, mutations")
            continue
        named, made = line[2].split(), line[3].split()
        problems += [f"{line[0]}: there is no test {name}" for name in named if name not in tests]
        for name in made:
            if name not in mutations:
                problems.append(f"{line[0]}: there is no mutation {name}")
            elif not {test.split("@")[0] for test in mutations[name]} & {test.split("@")[0] for test in named}:
                problems.append(f"{line[0]}: {name} is noticed by {' '.join(mutations[name])}, none of which is named")
        if not made:
            problems.append(f"{line[0]}: no mutation")
        if set("[]") & set("".join(line)):
            problems.append(f"{line[0]}: brackets, which break CMake's list of the tests")
    return problems


def main():
    build = os.environ["TOMBOLA_BUILD"]
    lines = lines_of(f"{HERE}/acceptance.tsv")
    mutations = {line[0]: line[4].split() for line in lines_of(f"{HERE}/mutations/mutations.tsv") if len(line) > 4}
    tests = tests_of(build)
    problems = check_table(lines, tests, mutations)
    partial = is_partial()
    if not partial:
        ran = finished(build, tests)
        problems += [f"{line[0]}: {name} didn't run" for line in lines for name in line[2].split()
                     if name in tests and name not in ran]
    for problem in problems:
        print("FAILED", problem)
    print(f"{len(lines)} lines, {len(problems)} problems" + (", of a run that leaves tests out" if partial else ""))
    return 1 if problems else SKIPPED if partial else 0


if __name__ == "__main__":
    sys.exit(main())
