#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Answers in a fixed form, from the command line: a model whose rows look random answers under what is in examples/."""
import json
import os
import re

import support

EXAMPLES = os.path.join(os.environ["TOMBOLA_SOURCE"], "examples")


class Examples(support.Case):
    def answer(self, *arguments, tokens=2000, seeds=range(3), **members):
        """The answers of a model that says anything, with several seeds; each must have ended by itself."""
        model = self.script(*members.pop("pieces", ()), steps=[], hash=11, **members)
        for seed in seeds:
            result = self.call("run", "-m", model, "-p", "a", "--temperature", "1", "--seed", str(seed),
                               "--max-tokens", str(tokens), "--ctx", "8192", "--stats", "json", *arguments)
            self.check(result, 0)
            self.assertIn(b'"end_token"', result.stderr)
            yield result.stdout.decode()

    def test_schema(self):
        path = os.path.join(EXAMPLES, "city.json")
        with open(path, encoding="utf-8") as file:
            schema = file.read()
        for given in (path, schema):
            for text in self.answer("--json-schema", given, "--json-whitespace", "none"):
                value = json.loads(text)
                self.assertEqual(set(value), {"city", "sights"})
                self.assertLessEqual(len(value["city"]), 20)
                self.assertIn(len(value["sights"]), (2, 3))

    def test_regex_and_choice(self):
        for text in self.answer("--regex", r"\d{4}-\d{2}"):
            self.assertRegex(text, r"^\d{4}-\d{2}\n?$")
        for text in self.answer("--choice", "yes", "--choice", "no, never"):
            self.assertIn(text.rstrip("\n"), ("yes", "no, never"))

    def test_grammar_files(self):
        forms = {"arithmetic.gbnf": r"([-a-z0-9_+*/()= ]+\n)+", "list.gbnf": r"(- [^\n]+\n){1,20}",
                 "chess.gbnf": r"1\. \S+ \S+\n([1-9][0-9]?\. \S+( \S+)?\n)*(1-0|0-1|1/2-1/2)?"}
        for name, form in forms.items():
            # End tokens are likely, so that lines and lists end in time.
            biases = [flag for token in (0, 2, 97) for flag in ("--logit-bias", f"{token}+3")]
            for text in self.answer("--grammar-file", os.path.join(EXAMPLES, "grammars", name), *biases):
                self.assertTrue(re.fullmatch(form + r"\n?", text), (name, text))

    def test_grammar_text(self):
        for text in self.answer("--grammar", 'root ::= "a" ("b" | "c"){2,3} "."'):
            self.assertRegex(text, r"^a[bc]{2,3}\.\n?$")

    def test_what_is_wrong(self):
        model = self.script("x")
        run = ("run", "-m", model, "-p", "a")
        self.check(self.call(*run, "--regex", "a", "--choice", "b"), 2, None, "one constraint")
        self.check(self.call(*run, "--regex", "a(b"), 2, None, "--regex", "byte 1")
        self.check(self.call(*run, "--grammar", "root ::= b"), 2, None, "--grammar", "line 1")
        self.check(self.call(*run, "--grammar-file", self.path("none")), 1, None, "none")
        self.check(self.call(*run, "--json-schema", '{"format": "idn-email"}'), 2, None, "/format", "idn-email")

    def test_check(self):
        path = os.path.join(EXAMPLES, "city.json")
        good = self.write("good.json", '{"city": "Rome", "sights": ["a", "b"]}\n')
        bad = self.write("bad.json", '{"city": "Rome",\n "sights": ["a"]}\n')
        self.check(self.call("schema", "check", path, "--instance", good), 0, f"{path}: exact\n{good}: accepted\n")
        result = self.call("schema", "check", path, "--instance", good, "--instance", bad, "--json")
        self.assertEqual(result.returncode, 1)
        answer = json.loads(result.stdout)
        self.assertEqual(answer["verdict"], "exact")
        self.assertEqual([i["accepted"] for i in answer["instances"]], [True, False])
        self.assertEqual(answer["instances"][1]["bytes"], 32)

    def test_documented(self):
        """The commands of docs/constraints.md say what stands there."""
        with open(os.path.join(EXAMPLES, "..", "docs", "constraints.md"), encoding="utf-8") as file:
            text = file.read()
        document = re.search(r"^echo '(.*)' >paris.json$", text, re.M).group(1)
        answer = re.search(r'^\{"verdict": "exact", "instances": \[\{"file": "paris.json".*$', text, re.M).group()
        self.write("paris.json", document + "\n")
        self.assertIn("tombola schema check examples/city.json --instance paris.json\n", text)
        result = self.call("schema", "check", os.path.join(EXAMPLES, "city.json"), "--instance", "paris.json", "--json")
        self.assertEqual(json.loads(result.stdout), json.loads(answer))


if __name__ == "__main__":
    support.main()
