#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the documents must say, where a promise of the acceptance table is that it is said: a user who reads the page
named here finds it. Words may stand on several lines. And what docs/constraints.md must name: every option of the
program's table that is about constraints, every keyword and every format that the code knows."""
import os
import re
import sys

SAID = [
    ("M38", "docs/determinism.md", "A block that is verified at once (speculation), beside the same tokens one by one."),
    ("M38", "docs/determinism.md", "a model may compute a batch's rows with other roundings than single ones: "
                                   "at temperature 0 a near tie can then fall the other way."),
    ("R36", "docs/constraints.md", "nothing is left out in silence."),
    ("M32", "docs/constraints.md", "mlxcel's limits are `max_source` 65536, `max_depth` 32, `max_refs` 64."),
]


# (what, file, what finds the names there, how the page writes a name)
NAMED = [
    ("option", "programs/options_table.c",
     r'\{\.name = "([a-z-]+)"[^{}]*(?:\([^()]*\)[^{}]*)*?\.group = GROUP_CONSTRAINT', r"--{}\b"),
    ("keyword", "src/constraint/schema/internal.h", r'  X\([A-Z_0-9]+, "([^"]+)"', "`{}`"),
    ("format", "src/constraint/regex/formats.c", r'^    \{"([a-z0-9-]+)", ', "`{}`"),
]


def unnamed(source):
    """What the page on constraints doesn't name; the number of names."""
    with open(os.path.join(source, "docs/constraints.md"), encoding="utf-8") as file:
        page = file.read()
    missing, count = [], 0
    for what, path, pattern, form in NAMED:
        with open(os.path.join(source, path), encoding="utf-8") as file:
            names = re.findall(pattern, file.read(), re.M)
        if len(names) < 10:
            missing.append(f"{path}: only {len(names)} names were found, the pattern is wrong")
        count += len(names)
        missing += [f"docs/constraints.md doesn't name the {what} {name}" for name in names
                    if not re.search(form.format(re.escape(name)), page)]
    return missing, count


def main():
    missing, names = unnamed(sys.argv[1])
    for line, path, words in SAID:
        with open(os.path.join(sys.argv[1], path), encoding="utf-8") as file:
            if words not in " ".join(file.read().split()):
                missing.append(f"{line}: {path} doesn't say: {words}")
    print("\n".join(missing) or f"{len(SAID)} statements and {names} names are there")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
