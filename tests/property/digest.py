#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same token everywhere: runs `digest` in every way that this machine has and compares what it prints.

  digest.py PROGRAM [PAIRS]         the built program under each TOMBOLA_CPU
  digest.py --builds [PAIRS]        the core built anew: gcc and clang, without and with optimisation, and for 64-bit
                                    ARM under qemu-user; exit 77 when there is nothing but the machine's own compiler
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ["TOMBOLA_SOURCE"])
ROOMS = ("base", "kernels", "random", "vocabulary", "sampler", "text")


def run(command, cpu):
    done = subprocess.run(command, env={**os.environ, "TOMBOLA_CPU": cpu}, capture_output=True, text=True)
    if done.returncode:
        return None, done.stderr.strip()
    return done.stdout, done.stderr.strip()


def compare(results):
    """The first is what the others are held to."""
    first_name, first = results[0]
    bad = 0
    for name, text in results[1:]:
        if text == first:
            print(f"{name}: as {first_name}")
            continue
        bad += 1
        lines = [a.split()[0] for a, b in zip(text.splitlines(), first.splitlines()) if a != b]
        print(f"{name}: DIFFERS from {first_name} under {', '.join(lines)}")
    print(first, end="")
    return bad


def built_program(program, pairs):
    results = []
    for cpu in ("scalar", "avx2", "neon"):
        text, said = run([program, pairs], cpu)
        if text is None:
            if "does not have" not in said:
                sys.exit(f"{cpu}: {said}")
            print(f"{cpu}: not on this machine")
            continue
        results.append((cpu, text))
    return results


def builds(pairs, folder):
    sources = [str(p) for room in ROOMS for p in sorted((SOURCE / "src" / room).rglob("*.c"))]
    sources.append(str(SOURCE / "tests/property/digest.c"))
    common = ["-std=c11", "-ffp-contract=off", f"-I{SOURCE}/include", f"-I{SOURCE}/src", *sources, "-lm"]
    wanted = [("gcc", ["-O0"], []), ("gcc", ["-O3"], []), ("gcc", ["-O3", "-march=native"], []), ("clang", ["-O2"], []),
              ("aarch64-linux-gnu-gcc", ["-O2", "-static"], ["qemu-aarch64"])]
    results = []
    for compiler, flags, runner in wanted:
        name = " ".join([compiler, *flags])
        missing = [tool for tool in [compiler, *runner] if not shutil.which(tool)]
        if missing:
            print(f"{name}: SKIPPED, {', '.join(missing)} is not installed")
            continue
        program = os.path.join(folder, f"digest{len(results)}")
        subprocess.run([compiler, *flags, "-o", program, *common], check=True)
        for cpu in ("scalar", "neon" if runner else "avx2"):
            text, said = run([*runner, program, pairs], cpu)
            if text is None:
                print(f"{name} {cpu}: {said}")
            else:
                results.append((f"{name} {cpu}", text))
    return results


def main():
    if sys.argv[1] != "--builds":
        results = built_program(sys.argv[1], sys.argv[2])
    else:
        with tempfile.TemporaryDirectory() as folder:
            results = builds(sys.argv[2], folder)
    if len(results) < 2:
        print("nothing to compare with")
        sys.exit(77)
    sys.exit(1 if compare(results) else 0)


if __name__ == "__main__":
    main()
