#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Masks against brute force, for small schemas and an independent validator (the jsonschema package).

usage: schema_masks.py SERVER [--seed N] [--schemas N] [--first N] [--show]

For each schema the texts that masks lead to by a few tokens are visited (mask_server). Of each:
- it is complete if and only if the validator says so;
- no mask forbids a token that a valid text goes on by: all JSON texts of a few letters up to a length are judged, and
  random ones that lean towards the schema;
- every mask's token leads to a complete text, which the validator finds valid: so no mask allows too much;
- where the text is complete, and only there, it may end; a token without bytes and a special one never come.
Then: valid texts are accepted however they are cut into tokens, invalid ones stop at the first byte that no valid text
goes on by; rollback, copies and cuts don't matter, and masks are the same on every instruction set. 764 schemas, ten
times as many with TOMBOLA_TEST_LONG=1: hand-made ones, then random ones, of which every ninth is conditions on a few
properties.
"""
import argparse
import collections
import json
import os
import random
import re
import subprocess
import sys

import schema_cases as cases
import schema_small as small
import schema_values

LONG = os.environ.get("TOMBOLA_TEST_LONG") == "1"
CUTS = ("longest", "bytes", "random", "random")
JUDGED = 4000 if LONG else 500  # texts a schema


class Case:
    """A schema with what is known of its language."""

    def __init__(self, schema, draft, seed):
        self.schema, self.text = schema, cases.write(schema)
        self.rng = random.Random(seed)
        self.seed = seed
        self.kinds = small.kinds_of(schema)
        self.judge = cases.judge(cases.read(self.text), draft)
        self.judged = {}
        self.problems = []
        texts = self.documents(draft)
        for kind in self.kinds:
            found = small.UNIVERSES[kind].texts
            some = JUDGED // len(self.kinds)
            if len(found) > some:
                found = found[:some // 4] + self.rng.sample(found[some // 4:], some * 3 // 4)
            texts += found
        for text in texts:
            self.valid(text.encode())
        self.index()

    def documents(self, draft):
        schemas = cases.Schemas(self.rng, small.TINY, draft)
        documents = schema_values.Documents(self.rng, schemas, self.schema)
        spelling = schema_values.Spelling(self.rng, 0)
        values = [documents.value(self.schema) for _ in range(40)]
        values += [documents.mutated(self.rng.choice(values)) for _ in range(20)]
        return [cases.write(value) for value in values] + [spelling.value(value) for value in values]

    def valid(self, text):
        if text not in self.judged:
            try:
                spaces = re.search(rb"\s", re.sub(rb'"(\\.|[^"\\])*"', b"", text))  # none outside strings
                self.judged[text] = not spaces and self.judge(text.decode())
            except UnicodeDecodeError:
                self.judged[text] = False
        return self.judged[text]

    def index(self):
        """By prefix of a valid text: the tokens that it goes on by, as bits."""
        self.next = collections.defaultdict(int)
        for text in [text for text, valid in self.judged.items() if valid]:
            for at in range(len(text)):
                for token in small.BY_FIRST[text[at]]:
                    if text.startswith(small.TOKENS[token], at):
                        self.next[text[:at]] |= 1 << token

    def request(self, nodes):
        valid = [text for text, good in self.judged.items() if good]
        wrong = [text for text, good in self.judged.items() if not good]
        self.tried = self.rng.sample(valid, min(len(valid), 8))
        self.stopped = self.rng.sample(wrong, min(len(wrong), 10)) + [self.mutate(text) for text in self.tried]
        rows = [small.tokenise(text, how, self.rng) for text in self.tried for how in CUTS]
        hints = sorted(set(re.findall(r'"(?:[^"\\]|\\.)*"|-?[0-9][-+.0-9eE]*', self.text)))[:40]
        return {"kind": "json_schema", "hints": hints, "text": self.text, "whitespace": "none", "seed": self.seed,
                "explore": {"letters": small.letters(self.kinds), "nodes": nodes}, "walks": {"count": 6},
                "accept": rows, "stops": [text.decode("latin-1") for text in self.stopped]}

    def mutate(self, text):
        """One byte is another, gone, or new."""
        at, how = self.rng.randrange(len(text)), self.rng.randrange(3)
        letter = self.rng.choice(b"\"{}[]:,ab01-.e\\\xc3 ")
        return text[:at] + (bytes([letter]) if how else b"") + text[at + (how < 2):]

    def wrong(self, what, *about):
        self.problems.append(f"{self.text}: {what}: " + " ".join(map(str, about)))

    # -- checks of an answer --

    def check(self, answer, count):
        if answer["message"] == "no value is valid under the schema":
            count["no value"] += 1
            for text, valid in self.judged.items():
                if valid:
                    self.wrong("no value is valid, it says, but", text)
                    break
            return
        if "verdict" not in answer:
            count["refused: " + answer["message"]] += 1
            return
        exact = answer["verdict"] == "exact"
        count[answer["verdict"]] += 1
        for what, text in answer["problems"]:
            if exact or what not in ("no byte may come next", "no mask"):
                self.wrong(what, text.encode("latin-1"))
        for node in answer["nodes"]:
            self.check_node(node, count, exact)
        for leaf in answer["leaves"]:
            self.check_leaf(leaf, leaf[2:], count, exact)
        self.check_rows(answer, count)
        self.check_stops(answer, count, exact)
        for text, complete in answer["walks"]:
            count["walks"] += 1
            if complete != self.valid(text.encode("latin-1")):
                self.wrong("a walk's end is complete" if complete else "a walk's end isn't complete", text)

    def check_leaf(self, node, witnesses, count, exact):
        text = node[0].encode("latin-1")
        if node[1] != self.valid(text):
            self.wrong("complete and not valid" if node[1] else "valid and not complete", text)
        for witness in witnesses:
            count["witnesses"] += 1
            if witness is None:
                count["undecided"] += 1
            elif exact and not self.valid(witness.encode("latin-1")):
                self.wrong("masks lead to what isn't valid", witness.encode("latin-1"))

    def check_node(self, node, count, exact):
        text, mask = node[0].encode("latin-1"), int(node[2], 16) if len(node) > 2 else 0
        count["nodes"] += 1
        self.check_leaf(node, node[3:], count, exact)
        missing = self.next.get(text, 0) & ~mask
        if missing:
            tokens = [small.TOKENS[i] for i in range(len(small.TOKENS)) if missing >> i & 1]
            self.wrong("the mask lacks", text, tokens[:8])
        if bool(mask >> small.END & 1) != node[1]:
            self.wrong("the end token", text)
        if mask >> small.SPECIAL & 1 or mask >> small.EMPTY & 1:
            self.wrong("a special or empty token", text)
        if exact and not mask:
            self.wrong("a dead end", text)

    def check_rows(self, answer, count):
        for i, (taken, complete) in enumerate(answer["accept"]):
            text, row = self.tried[i // len(CUTS)], self.rows[i]
            count["rows"] += 1
            if taken != len(row) or not complete:
                self.wrong("a valid text isn't accepted", text, [small.TOKENS[t] for t in row], "stops at", taken)

    def check_stops(self, answer, count, exact):
        for text, (fit, complete, witness) in zip(self.stopped, answer["stops"]):
            count["stops"] += 1
            if complete != self.valid(text):
                self.wrong("accepted and not valid" if complete else "valid and not accepted", text)
            if witness is None:
                count["undecided"] += 1
            elif exact and not self.valid(witness.encode("latin-1")):
                self.wrong("what was accepted of a text leads to what isn't valid", text[:fit], witness)
            if fit < len(text) and any(small.TOKENS[t] == text[fit:fit + 1] for t in range(256)
                                       if self.next.get(text[:fit], 0) >> t & 1):
                self.wrong("stops too early", text, fit)


def ask(server, requests, cpu=None):
    environment = {**os.environ, **({"TOMBOLA_CPU": cpu} if cpu else {})}
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    done = subprocess.run([server], input=lines, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return [json.loads(line) for line in done.stdout.split("\n") if line]


def schemas(options):
    """Hand-made ones first, then random ones."""
    yield from small.hand_made()
    rng, conditions = random.Random(options.seed), small.Conditions(random.Random(options.seed))
    while True:
        for _ in range(8):
            draft = "7" if rng.random() < 0.2 else "2020-12"
            yield cases.Schemas(rng, small.TINY, draft).root(), draft
        yield conditions.root(), "2020-12"


def run(options, found, count):
    """The problems of some cases."""
    requests = []
    for case in found:
        request = case.request(400 if LONG else 36)
        case.rows = request["accept"]
        requests.append(request)
    requests[0].update(small.vocabulary())
    answers = ask(options.server, requests)
    for case, answer in zip(found, answers):
        case.check(answer, count)
    plain = [{**request, "explore": {"letters": [], "nodes": 1}, "accept": [], "stops": []} for request in requests]
    for cpu in ("scalar", "avx2"):
        for case, answer, other in zip(found, answers, ask(options.server, plain, cpu)):
            if answer.get("digest") != other.get("digest"):
                count[f"other masks under TOMBOLA_CPU={cpu}"] += 1
                case.wrong("other masks under", cpu)
    return [problem for case in found for problem in case.problems]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("server")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--schemas", type=int, default=7640 if LONG else 764)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    count, problems, held = collections.Counter(), [], []
    for i, (schema, draft) in enumerate(schemas(options)):
        if i >= options.schemas:
            break
        if i >= options.first:
            held.append(Case(schema, draft, i + 1000 * options.seed))
        if len(held) == 50 or held and i == options.schemas - 1:
            problems += run(options, held, count)
            held = []
    print(f"{options.schemas} schemas; " + ", ".join(f"{number} {name}" for name, number in count.most_common()))
    print(f"{len(problems)} problems")
    shown = problems if options.show else problems[:40]
    print("\n".join(shown))
    if count["undecided"] * 100 > count["witnesses"] or count["exact"] < 0.72 * options.schemas:
        print("too little was decided")
        return 1
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
