#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random schemas and random documents: `tombola schema check --batch` against the jsonschema package.

usage: schema_documents.py [--seed N] [--schemas N] [--show]

Every keyword, nested; documents lean towards the schema, are mutated, spelt in odd ways, or anything. Each difference
is a failure. 1,500 schemas, twenty times as many with TOMBOLA_TEST_LONG=1.
"""
import argparse
import collections
import json
import os
import random
import subprocess
import sys

import schema_cases as cases
import schema_values

LONG = os.environ.get("TOMBOLA_TEST_LONG") == "1"


def make(rng, draft):
    """A schema as text, and texts to judge."""
    schemas = cases.Schemas(rng, cases.RICH, draft)
    schema = schemas.root()
    documents = schema_values.Documents(rng, schemas, schema)
    spelling = schema_values.Spelling(rng, rng.choice([0, 0.1]))
    values = [documents.value(schema) for _ in range(16)]
    values += [documents.mutated(rng.choice(values)) for _ in range(10)]
    values += [schemas.value(2) for _ in range(6)]
    texts = list(dict.fromkeys(spelling.value(value) for value in values))
    return cases.write(schema), texts


def ask(requests):
    """The answers, in the same order."""
    program = os.environ.get("TOMBOLA_PROGRAM", "build/tombola")
    lines = "".join('{"schema":%s,"whitespace":"any","texts":%s}\n' % (schema, json.dumps(texts))
                    for _, schema, texts in requests)
    done = subprocess.run([program, "schema", "check", "--batch"], input=lines, stdout=subprocess.PIPE, text=True,
                          check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def compare(draft, schema, texts, answer, count):
    """The differences."""
    valid = cases.judge(cases.read(schema), draft)
    wanted = [valid(text) for text in texts]
    count["valid"] += sum(wanted)
    count["invalid"] += len(wanted) - sum(wanted)
    if "error" in answer:
        return [f"{schema}: {answer['error']['message']}"]
    count[answer["verdict"]] += 1
    if answer["verdict"] != "refused" and "texts" not in answer:
        return [f"{schema}: {answer}"]
    if answer["verdict"] == "refused":
        nothing = answer["reason"] == "no value is valid under the schema"
        count["no value" if nothing else f"refused: {answer['keyword']}: {answer['reason']}"] += 1
        return [f"{schema}: no value is valid, but {text} is" for text, good in zip(texts, wanted) if good and nothing]
    return [f"{schema}: {text} is {'valid' if good else 'invalid'}, and {'accepted' if got else 'rejected'}"
            for text, good, got in zip(texts, wanted, answer["texts"]) if good != got]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--schemas", type=int, default=30000 if LONG else 1500)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    requests = []
    for i in range(options.schemas):
        draft = "7" if i % 4 == 3 else "2020-12"
        requests.append((draft, *make(rng, draft)))
    count, problems = collections.Counter(), []
    for (draft, schema, texts), answer in zip(requests, ask(requests)):
        problems += compare(draft, schema, texts, answer, count)
    print(f"{options.schemas} schemas, {count['valid']} valid documents, {count['invalid']} invalid; {count['exact']} "
          f"exact, {count['may_backtrack']} may backtrack, {count['refused']} refused ({count['no value']}: no value)")
    if options.show:
        for name, number in count.most_common():
            print(f"  {number} {name}")
    print(f"{len(problems)} differences")
    print("\n".join(problems[:40]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
