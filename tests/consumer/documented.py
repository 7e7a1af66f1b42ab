#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the documents must say, where a promise of the acceptance table is that it is said: a user who reads the page
named here finds it. Words may stand on several lines."""
import os
import sys

SAID = [
    ("M38", "docs/determinism.md", "A block that is verified at once (speculation), beside the same tokens one by one."),
    ("M38", "docs/determinism.md", "a model may compute a batch's rows with other roundings than single ones: "
                                   "at temperature 0 a near tie can then fall the other way."),
]


def main():
    missing = []
    for line, path, words in SAID:
        with open(os.path.join(sys.argv[1], path), encoding="utf-8") as file:
            if words not in " ".join(file.read().split()):
                missing.append(f"{line}: {path} doesn't say: {words}")
    print("\n".join(missing) or f"{len(SAID)} statements are there")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
