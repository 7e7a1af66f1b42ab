#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The JSON texts of json_texts.jsonl, as a C header for tests/unit/test_json_text.c.

usage: json_texts.py TEXTS          writes the header to standard output

A row has a name, whether the text must be accepted, and the text: "text" where it is UTF-8, "hex" otherwise. The kinds
are those of JSONTestSuite, with one difference: a key that comes twice makes a text one to reject.
"""
import json
import sys


def main():
    print("static const struct json_text {\n  const char *name;\n  int accept;\n  size_t length;\n"
          "  const char *text;\n} json_texts[] = {")
    with open(sys.argv[1], encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            text = bytes.fromhex(row["hex"]) if "hex" in row else row["text"].encode()
            # An octal escape has three digits at most, so that what follows can't be read as a part of it.
            literal = "".join(f"\\{byte:03o}" for byte in text)
            print(f'    {{{json.dumps(row["name"])}, {int(row["accept"])}, {len(text)}, "{literal}"}},')
    print("};")


main()
