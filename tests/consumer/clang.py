#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every C file of the build has no warning of clang's either, by the flags of its own entry in compile_commands.json.

  clang.py SOURCE BUILD      exits with 77 (skipped) where there is no clang
"""
import concurrent.futures
import json
import os
import shlex
import shutil
import subprocess
import sys


def check(entry):
    """clang's messages on one file, or ""."""
    words, flags = iter(shlex.split(entry["command"])[1:]), []
    for word in words:
        if word in ("-o", "-MT", "-MF"):
            next(words)
        elif word not in ("-c", "-MD"):
            flags.append(word)
    command = ["clang", "-fsyntax-only", "-Werror", *flags]  # the file is the last word
    return subprocess.run(command, cwd=entry["directory"], capture_output=True, text=True, check=False).stderr


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    if not shutil.which("clang"):
        print("clang is not installed")
        return 77
    source = os.path.abspath(sys.argv[1]) + os.sep
    with open(os.path.join(sys.argv[2], "compile_commands.json"), encoding="utf-8") as file:
        entries = [entry for entry in json.load(file) if entry["file"].startswith(source)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = [text for text in pool.map(check, entries) if text]
    print("".join(found) + f"{len(entries)} files, {len(found)} with warnings")
    return 1 if found or not entries else 0


if __name__ == "__main__":
    sys.exit(main())
