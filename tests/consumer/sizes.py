#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sizes that a reader can hold: files of at most 600 lines, functions of at most 60, public headers of at most 350.

  sizes.py SOURCE         prints what is larger, and the figures of the whole
  sizes.py --self-test    sees that a file and a function that are too long are found
"""
import os
import re
import sys
import tempfile

FILE_LINES, FUNCTION_LINES, HEADER_LINES = 600, 60, 350
# What may be longer, with the reason: {"path" or "path:function": "why"}.
EXCEPTIONS = {
    "include/tombola/sampler.h": "one type and all its calls; what stands alone is in stage.h and trace.h",
}
NO_FUNCTION = re.compile(r"^(struct|enum|union|typedef|extern|#)\b.*\{$|=\s*\{$|^#")
NAME = re.compile(r"([A-Za-z_][A-Za-z_0-9]*)\s*\(")


def functions(lines):
    """Name and length of each function. The house style begins and ends one in the first column."""
    name, start, head = None, 0, ""
    for number, line in enumerate(lines, 1):
        if name is None:
            head = head + line if line and not line.startswith(("#", "/", "}", " *")) else ""
            if line.endswith("{") and "(" in head and "=" not in head and not NO_FUNCTION.match(head):
                found = NAME.search(head)
                name, start, head = (found.group(1) if found else "?"), number, ""
            elif line.endswith(("{", ";", "}")):
                head = ""
        elif line.startswith("}"):
            yield name, number - start + 1
            name = None


def check_tree(source):
    """What is too long, the lengths of all functions, and the number of files."""
    found, lengths, files = [], [], 0
    for top in ("include", "src", "backends", "programs", "bench", "examples", "tests"):
        for folder, _, names in sorted(os.walk(os.path.join(source, top))):
            for name in sorted(names):
                if not name.endswith((".c", ".h", ".py", ".sh")):
                    continue
                path = os.path.relpath(os.path.join(folder, name), source)
                with open(os.path.join(source, path), encoding="utf-8") as file:
                    lines = file.read().splitlines()
                files += 1
                limit = HEADER_LINES if path.startswith("include") else FILE_LINES
                if len(lines) > limit and path not in EXCEPTIONS:
                    found.append(f"{path}: {len(lines)} lines, at most {limit}")
                for function, length in functions(lines) if name.endswith((".c", ".h")) else ():
                    lengths.append(length)
                    if length > FUNCTION_LINES and f"{path}:{function}" not in EXCEPTIONS:
                        found.append(f"{path}: {function} has {length} lines, at most {FUNCTION_LINES}")
    return found, sorted(lengths), files


def self_test():
    body = "  x();\n"
    short = "static int\nshort_one(int a,\n          int b) {\n" + body * 57 + "}\n"
    struct = "struct s {\n" + "  int a;\n" * 70 + "};\nstatic const int t[] = {\n" + "  1,\n" * 70 + "};\n"
    cases = [("src/a.c", short + struct, 0), ("src/b.c", "int long_one(void) {\n" + body * 60 + "}\n", 1),
             ("src/c.c", "/* x */\n" * 601, 1), ("include/tombola/d.h", "/* x */\n" * 351, 1),
             ("src/e.c", "static struct s *f(\n    int a) {\n" + body * 61 + "}\n", 1)]
    failed = 0
    for path, text, expected in cases:
        with tempfile.TemporaryDirectory() as tree:
            os.makedirs(os.path.join(tree, os.path.dirname(path)))
            with open(os.path.join(tree, path), "w", encoding="utf-8") as file:
                file.write(text)
            found, _, _ = check_tree(tree)
            if len(found) != expected:
                failed += 1
                print(f"{path}: found {found}, expected {expected}")
    print(f"{len(cases)} cases, {failed} not judged as they should be")
    return 1 if failed else 0


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    if sys.argv[1] == "--self-test":
        return self_test()
    found, lengths, files = check_tree(sys.argv[1])
    print("\n".join(found))
    if lengths:
        print(f"{files} files, {len(lengths)} functions: median {lengths[len(lengths) // 2]} lines, "
              f"p90 {lengths[len(lengths) * 9 // 10]}, longest {lengths[-1]}; {len(found)} too long")
    return 1 if found or not lengths else 0


if __name__ == "__main__":
    sys.exit(main())
