#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Deliberate mistakes, each of which a named test must notice.

mutations.tsv has one mistake a line: id, file, old text, new text, tests (separated by spaces), acceptance ids
(the same, may be missing). The old text stands in the file exactly once.

  mutations.py check --source S --build B   every line still fits the source, and its tests exist (quick)
  mutations.py run --source S --work W ...  makes the mistakes one at a time in a copy of the source under W, builds
                                            what the tests need, and requires that each of them fails; without a
                                            mistake each must pass. --only ID... takes a few; arguments after -- go
                                            to cmake when W is first configured
  mutations.py self-test                    what is wrong with a table, and mistakes that nobody notices, are found

W is kept between runs, so that a second one compiles only what has changed.
"""
import argparse
import collections
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

Mutation = collections.namedtuple("Mutation", "id file old new tests acceptance")
TABLE = os.path.join("tests", "mutations", "mutations.tsv")
TIMEOUT = 300


def read_table(path):
    """The lines of the table, and what is wrong with its form."""
    mutations, problems, seen = [], [], set()
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.rstrip("\n")
            if not line.strip() or line.startswith("#"):
                continue
            fields = line.split("\t")
            if len(fields) not in (5, 6) or not all(fields[:5]):
                problems.append(f"{path}:{number}: not id, file, old, new, tests and perhaps acceptance ids")
                continue
            name, file_name, old, new, tests = fields[:5]
            mutation = Mutation(name, file_name, old, new, tests.split(), fields[5].split() if len(fields) == 6 else [])
            if name in seen:
                problems.append(f"{path}:{number}: {name} is there twice")
            if old == new:
                problems.append(f"{path}:{number}: {name} changes nothing")
            seen.add(name)
            mutations.append(mutation)
    if not mutations:
        problems.append(f"{path}: no mutation")
    return mutations, problems


def read(path):
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()


def misfits(mutations, source):
    """Lines whose old text isn't in its file exactly once."""
    for m in mutations:
        path = os.path.join(source, m.file)
        count = read(path).count(m.old) if os.path.isfile(path) else None
        if count is None:
            yield f"{m.id}: there is no file {m.file}"
        elif count != 1:
            yield f"{m.id}: {m.file} has {m.old!r} {count} times, not once"


def known_tests(build):
    """The tests of a build: name to the command's program, empty while that isn't built."""
    done = subprocess.run(["ctest", "--show-only=json-v1"], cwd=build, stdout=subprocess.PIPE, check=True)
    return {t["name"]: t.get("command", [""])[0] for t in json.loads(done.stdout)["tests"]}


def strangers(mutations, tests):
    for m in mutations:
        for name in m.tests:
            if name not in tests:
                yield f"{m.id}: there is no test {name}"


# ---- the copy ----

LEFT_OUT = re.compile(r"^(\.|build)|^__pycache__$")


def write_changed(path, data):
    """A file that is the same already keeps its time, so that nothing is compiled for it."""
    if os.path.isfile(path):
        with open(path, "rb") as file:
            if file.read() == data:
                return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def mirror(source, copy):
    """Makes `copy` the same tree as `source`, without build folders and hidden ones."""
    kept = set()
    for folder, folders, files in os.walk(source):
        top = os.path.relpath(folder, source)
        folders[:] = [f for f in folders if not LEFT_OUT.search(f)]
        for name in files:
            place = os.path.normpath(os.path.join(top, name))
            kept.add(place)
            with open(os.path.join(folder, name), "rb") as file:
                write_changed(os.path.join(copy, place), file.read())
            shutil.copymode(os.path.join(folder, name), os.path.join(copy, place))
    for folder, _, files in os.walk(copy):
        for name in files:
            place = os.path.normpath(os.path.join(os.path.relpath(folder, copy), name))
            if place not in kept:
                os.remove(os.path.join(copy, place))


# ---- running ----


class Workshop:
    """The copy, its build, and the tests there."""

    def __init__(self, source, work, options, out=print):
        self.copy, self.build = os.path.join(work, "source"), os.path.join(work, "build")
        self.out = out
        mirror(source, self.copy)
        if not os.path.isfile(os.path.join(self.build, "CMakeCache.txt")):
            self.call(["cmake", "-S", self.copy, "-B", self.build, *options], must=True)
        else:
            self.call(["cmake", self.build], must=True)
        self.tests = known_tests(self.build)

    def call(self, command, must=False):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        if must and done.returncode:
            sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-4000:]}")
        return done

    def target(self, test):
        """What a test needs: its own program (TombolaTest.cmake names it), or the program that a script calls."""
        program = self.tests[test]
        own = not program or os.path.realpath(program).startswith(os.path.realpath(self.build) + os.sep)
        return "test_" + test.split("@")[0] if own else "tombola_program"

    def make(self, tests):
        targets = sorted({self.target(t) for t in tests})
        return self.call(["cmake", "--build", self.build, "--target", *targets])

    def test(self, name):
        """"passed", "failed" or "skipped"; a test that hangs has failed."""
        command = ["ctest", "--test-dir", self.build, "-R", f"^{re.escape(name)}$", "--timeout", str(TIMEOUT)]
        done = self.call(command)
        if "1 tests passed" not in done.stdout and "100% tests passed" not in done.stdout:
            return "failed"
        return "skipped" if "(Skipped)" in done.stdout or "No tests were found" in done.stdout else "passed"

    def broken(self, tests):
        """The tests that don't build or pass without a mistake, each with what is wrong."""
        broken = {}
        whole = self.make(tests).returncode == 0
        for test in tests:
            done = None if whole else self.make([test])
            result = self.test(test) if whole or done.returncode == 0 else None
            if result is None:
                broken[test] = f"does not build\n{done.stdout[-2000:]}"
            elif result != "passed":
                broken[test] = f"is {result}"
        return broken

    def mutate(self, m):
        """None when every test of the mutation fails, else what happened."""
        path = os.path.join(self.copy, m.file)
        text = read(path)
        if text.count(m.old) != 1:
            return "its old text isn't there once"
        try:
            with open(path, "w", encoding="utf-8", newline="") as file:
                file.write(text.replace(m.old, m.new))
            done = self.make(m.tests)
            if done.returncode:
                return f"it does not build\n{done.stdout[-2000:]}"
            blind = [t for t in m.tests if self.test(t) != "failed"]
            return f"not noticed by {', '.join(blind)}" if blind else None
        finally:
            with open(path, "w", encoding="utf-8", newline="") as file:
                file.write(text)


def run(mutations, workshop):
    """The number of mutations that were not noticed, and other failures."""
    unknown = list(strangers(mutations, workshop.tests))
    for problem in unknown:
        workshop.out(problem)
    if unknown:
        return len(unknown)
    broken = workshop.broken(sorted({t for m in mutations for t in m.tests}))
    for test, problem in broken.items():
        workshop.out(f"without a mutation {test} {problem}")
    survivors = 0
    for number, m in enumerate(mutations, 1):
        start = time.monotonic()
        useless = [t for t in m.tests if t in broken]
        problem = f"not tried: {', '.join(useless)} fails without it" if useless else workshop.mutate(m)
        survivors += problem is not None
        verdict = problem or f"noticed by {', '.join(m.tests)}"
        workshop.out(f"{number}/{len(mutations)} {m.id}: {verdict} ({time.monotonic() - start:.1f} s)")
    workshop.out(f"{len(mutations) - survivors} of {len(mutations)} mutations are noticed")
    return survivors


# ---- itself ----

SELF_PROJECT = {
    "CMakeLists.txt": "cmake_minimum_required(VERSION 3.21)\nproject(p C)\nenable_testing()\n"
                      "add_executable(test_it it.c)\nadd_test(NAME it COMMAND test_it)\n",
    "it.c": "static int half(int x) {\n  return x / 2;\n}\nint main(void) { return half(6) != 3; } /* half(7) */\n",
}


def self_test():
    rows = [Mutation("noticed", "it.c", "x / 2", "x / 3", ["it"], []),
            Mutation("survives", "it.c", "x / 2", "(x + 1) / 2", ["it"], []),
            Mutation("broken", "it.c", "x / 2", "y / 2", ["it"], []),
            Mutation("twice", "it.c", "half", "double", ["it"], []),
            Mutation("gone", "it.c", "x * 2", "x", ["it"], []),
            Mutation("no file", "that.c", "x", "y", ["it"], []),
            Mutation("no test", "it.c", "x / 2", "x / 3", ["that"], [])]
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "p")
        for name, text in SELF_PROJECT.items():
            write_changed(os.path.join(source, name), text.encode())
        table = os.path.join(folder, "table.tsv")
        with open(table, "w", encoding="utf-8") as file:
            file.write("# a comment\na\tit.c\tx\ty\tit\tR01 R02\na\tit.c\tx\ty\tit\nb\tit.c\tx\tx\tit\nc\tit.c\n")
        good, problems = read_table(table)
        assert len(good) == 3 and good[0].acceptance == ["R01", "R02"] and len(problems) == 3, problems
        assert [p.split(":")[0] for p in misfits(rows, source)] == ["twice", "gone", "no file"]

        said = []
        workshop = Workshop(source, os.path.join(folder, "w"), [], said.append)
        assert list(strangers(rows, workshop.tests)) == ["no test: there is no test that"]
        assert run(rows[:1], workshop) == 0, said
        assert run(rows[:3], workshop) == 2, said
        assert any("survives: not noticed by it" in s for s in said) and any("does not build" in s for s in said), said
        write_changed(os.path.join(source, "it.c"), SELF_PROJECT["it.c"].replace("!= 3", "== 3").encode())
        assert run(rows[:1], Workshop(source, os.path.join(folder, "w"), [], said.append)) == 1
    print("mutations.py finds what it should")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["check", "run", "self-test"])
    parser.add_argument("--source")
    parser.add_argument("--build")
    parser.add_argument("--work")
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("options", nargs="*", help="for cmake, after --")
    arguments = sys.argv[1:]
    split = arguments.index("--") if "--" in arguments else len(arguments)
    args = parser.parse_args(arguments[:split])
    if args.what == "self-test":
        return self_test()
    os.environ["CMOCKA_TEST_ABORT"] = "1"  # a test that fails ends there: that it does is all that is asked
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    mutations, problems = read_table(os.path.join(args.source, TABLE))
    unknown = set(args.only) - {m.id for m in mutations}
    problems += [f"there is no mutation {name}" for name in sorted(unknown)]
    mutations = [m for m in mutations if not args.only or m.id in args.only]
    problems += misfits(mutations, args.source)
    if args.what == "check":
        problems += strangers(mutations, known_tests(args.build))
    for problem in problems:
        print(problem)
    if args.what == "run" and not problems:
        workshop = Workshop(args.source, args.work, arguments[split + 1:], lambda line: print(line, flush=True))
        return sys.exit(1 if run(mutations, workshop) else 0)
    if not problems:
        print(f"{len(mutations)} mutations fit the source")
    return sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
