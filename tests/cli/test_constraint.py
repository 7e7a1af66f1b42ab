# SPDX-License-Identifier: Apache-2.0
"""Constraints from the outside: the flags of run and chat, and `schema check`."""
import json
import os
import signal
import subprocess

import support

PERSON = {"type": "object", "properties": {"name": {"enum": ["Ann", "Bob"]}, "age": {"enum": [30, 41]}},
          "required": ["name", "age"], "additionalProperties": False}


class Answers(support.Case):
    def run_with(self, pieces, *flags, **members):
        model = self.script(*pieces, template=None, **members)
        return self.call("run", "-m", model, "-p", "hi", "--greedy", *flags)

    def check_answer(self, expected, pieces, *flags, **members):
        result = self.run_with(pieces, *flags, **members)
        self.check(result, 0, expected + "\n")
        return result

    def test_schema(self):
        schema, pieces = json.dumps(PERSON), ("nonsense", '{"name":', '"', "B", "ob", '","age":', "41", "}")
        strict = ("--json-whitespace", "none")
        # The first wish can't be: the brace is the only one, after which the model is a step ahead.
        self.check_answer('{"name":"Bob","age":41}', pieces[1:], "--json-schema", schema, *strict)
        self.check_answer('{"name":"Bob","age":41}', pieces[1:], "--json-schema", self.write("s.json", schema), *strict)
        self.check_answer('{"name":"Bob","age":41}', pieces[1:], "-j", schema, *strict)
        for flag in ("--json-schema-file", "-jf"):
            self.check_answer('{"name":"Bob","age":41}', pieces[1:], flag, self.path("s.json"), *strict)
        result = self.check_answer('{"name":"Bob","age":41}', pieces[1:], "-j", schema, *strict, "--timings")
        self.assertRegex(result.stderr.decode(), r"sampling \d\.\d{4} ms, constraint \d\.\d{4} ms, text")
        result = self.run_with(pieces[1:], "-j", schema, *strict, "--stats", "json")
        stats = json.loads(result.stderr.splitlines()[-1])["stats"]
        self.assertGreater(stats["constraint_seconds"], 0)
        self.assertEqual(stats["dead_ends"], 0)
        self.assertEqual(stats["jumped_tokens"], 0)
        self.assertIs(stats["complete"], True)
        plain = json.loads(self.run_with(["a"], "--stats", "json").stderr.splitlines()[-1])["stats"]
        self.assertNotIn("constraint_seconds", plain)

    def test_schema_true(self):
        self.check_answer("true", ["true"], "-j", "true")
        self.check_answer("[1]", ["[", "1", "]"], "-j", " {} ")

    def test_order(self):
        pieces = ('{"', "age", '":30,"', "name", '":"Ann"}')
        schema, strict = json.dumps(PERSON), ("--json-whitespace", "none")
        self.check_answer('{"age":30,"name":"Ann"}', pieces, "-j", schema, *strict)
        result = self.run_with(pieces, "-j", schema, *strict, "--json-order", "declared")
        self.assertFalse(result.stdout.startswith(b'{"a'), result.stdout)
        self.check_answer('{"age":30,"name":"Ann"}', pieces, "-j", schema, "--whitespace", "any", "--order", "any")

    def test_object(self):
        self.check_answer('{"a":1}', ["[", '{"a":', "1", "}"][1:], "--json-object")
        result = self.run_with(["no", "[", "}"], "--json-object", "-n", "3", "--json-whitespace", "none")
        self.assertTrue(result.stdout.startswith(b"{"), result.stdout)

    def test_white_space(self):
        self.check_answer('{   "a":1}', ["{", " ", " ", " ", '"a":1', "}"], "--json-object", "--json-whitespace", "3")
        result = self.run_with(["{", " ", " ", " ", '"a":1', "}"], "--json-object", "--json-whitespace", "2")
        self.assertFalse(result.stdout.startswith(b"{   "), result.stdout)

    def test_others(self):
        self.check_answer("no", ["n", "maybe", "o"][:1], "--choice", "yes", "--choice", "no")
        self.check_answer("C:\\new", ["C:\n", "ew", "C:\\n"], "--choice", "C:\\new")
        self.check_answer("ab12", ["ab", "1", "2"], "--regex", "[a-z]+[0-9]{2}")
        self.check_answer("ab", ["cd", "ab"][1:], "--regex", "cd", "--regex", "ab")
        grammar = 'root ::= "<" [a-c]+ ">"'
        self.check_answer("<ab>", ["<a", "b>"], "--grammar", grammar)
        self.check_answer("<ab>", ["<a", "b>"], "--grammar-file", self.write("g.gbnf", grammar))

    def test_jump_ahead(self):
        result = self.check_answer("yes", ["no"], "--choice", "yes", "--timings")
        self.assertIn(b"[constraint: 3 tokens were the only ones, and not sampled]", result.stderr)

    def test_no_end(self):
        self.check_answer("yes", ["yes", "no"], "--regex", "yes", "--ignore-eos", "--min-tokens", "20")

    def test_refused(self):
        model = self.script("a")
        run = ["run", "-m", model, "-p", "hi"]
        bad = json.dumps({"properties": {"a": {"format": "no-such"}}})
        self.check_refused([*run, "-j", bad], 2, "--json-schema", "format", "/properties/a", "no-such")
        self.check_refused([*run, "-j", '{"type": 5}'], 2, "--json-schema", "type")
        self.check_refused([*run, "-j", '{"items": 5}'], 2, "--json-schema: at /items: a schema must be")
        self.check_refused([*run, "-j", '{"format": "date-tim"}'], 2, "the format date-tim isn't known; did you mean date-time?")
        self.check_refused([*run, "-j", '{"format": "idn-email"}'], 2, "the format idn-email isn't known\n")
        self.check_refused([*run, "-j", '{"$ref": "#/definition/a", "$defs": {}, "definitions": {"a": {}}}'], 2,
                           "#/definition/a names nothing in that document; did you mean definitions?")
        self.check_refused([*run, "-j", '{"$ref": "#/$defs/addres", "$defs": {"address": {}}}'], 2, "did you mean address?")
        self.check_refused([*run, "-j", '{"$ref": "#/$defs/b", "$defs": {"xyz": {}}}'], 2, "names nothing in that document\n")
        self.check_refused([*run, "-j", '{"type": '], 2, "--json-schema")
        self.check_refused([*run, "-j", '{"$ref": "http://example.com/x"}'], 2, "http://example.com/x")
        self.check_refused([*run, "-j", '{"allOf": [{"type": "string"}, {"type": "null"}]}'], 2, "no value")
        result = self.call(*run, "-j", '{"type": "integer", "minimum": 5, "maximum": 4}')
        self.check(result, 2, b"", "no value is valid")
        self.assertNotIn(b"spelling", result.stderr)
        self.check_refused([*run, "-j", '{"const": 1e70}'], 2, "no value is valid", "plain spelling")
        self.check_refused([*run, "--regex", "(a"], 2, "--regex")
        self.check_refused([*run, "--regex", r"^\p{Greek}+$"], 2, "isn't supported: \\p{Greek}\n")
        self.check_refused([*run, "--grammar", "root ::= x"], 2, "--grammar", "x")
        for name, why in (("<|im_end|>", "an end token"), ("<[9999]>", "no token"), ("<nothing>", "no such token")):
            self.check_refused([*run, "--grammar", f"root ::= \"a\" {name}"], 2, "--grammar", name, why)
        self.check_refused([*run, "--json-object", "--regex", "a"], 2, "one constraint")
        self.check_refused([*run, "--choice", "a", "-j", "true"], 2, "one constraint")
        for flag, value in (("--choice", ""), ("--json-whitespace", "x")):
            result = self.call(*run, flag, value)
            self.check(result, 2, b"", f"tombola: {flag}: ")
            self.assertEqual(result.stderr.count(flag[2:].encode()) + result.stderr.count(b"json_whitespace"), 1)
        for flag in ("--json-schema", "--json-schema-file", "--grammar-file"):
            self.check_refused([*run, flag, ""], 2, flag, "needs the name of a file")
        self.check_refused([*run, "--json-object", "--context-shift"], 2, "--json-object", "--context-shift")
        self.check_refused([*run, "--json-object", "--json-whitespace", "x"], 2, "whitespace")
        self.check_refused([*run, "--json-object", "--json-order", "x"], 2, "order")
        self.check_refused([*run, "-jf", self.path("s.json"), "-j", "true"], 2, "one constraint")
        self.check_refused([*run, "-jf", bad], 1, "No such file")
        for flag in ("--json-schema", "--json-schema-file", "--grammar-file"):
            self.check_refused([*run, flag, self.path("none")], 1, "none", "No such file")

    def test_cut(self):
        """A limit that ends an answer in the middle of its form: a message, a status, a member."""
        pieces = ('{"a"', ":1", "}")
        result = self.run_with(pieces, "--json-object", "-n", "2", "--stats", "json")
        self.check(result, 3, '{"a":1\n', "not complete", "max_tokens", "2 tokens")
        self.assertIs(json.loads(result.stderr.splitlines()[-1])["stats"]["complete"], False)
        result = self.run_with(pieces, "--json-object", "-n", "2", "--json", "--quiet")
        self.check(result, 3, None, "not complete")
        self.assertIs(json.loads(result.stdout)["stats"]["complete"], False)
        result = self.run_with(pieces, "--json-object", "--ctx", "3", context=3)
        self.check(result, 3, None, "not complete", "context_full")
        # A whole answer at the limit is whole; a stop string is what the person asked for.
        result = self.run_with(pieces, "--json-object", "-n", "3", "--stats", "json")
        self.check(result, 0, '{"a":1}\n')
        self.assertNotIn(b"not complete", result.stderr)
        for stop, whole in (("1", False), (":", False)):
            result = self.run_with(pieces, "--json-object", "--stop", stop, "--stats", "json")
            self.check(result, 0)
            self.assertIs(json.loads(result.stderr.splitlines()[-1])["stats"]["complete"], whole, stop)
        result = self.run_with(["ab", "ab"], "--regex", "(ab)+", "--stop", "b", "--stats", "json")
        self.assertIs(json.loads(result.stderr.splitlines()[-1])["stats"]["complete"], False)
        result = self.run_with(["ab", "ab."], "--regex", "(ab)+[.]", "--stop", "b.", "--stats", "json")
        self.assertIs(json.loads(result.stderr.splitlines()[-1])["stats"]["complete"], False)
        result = self.run_with(["ab", "ab."], "--regex", "(ab)+[.]?", "--stop", ".", "--stats", "json")
        self.check(result, 0, "abab\n")
        self.assertIs(json.loads(result.stderr.splitlines()[-1])["stats"]["complete"], True)
        self.check(self.run_with(["a", "b"], "-n", "1"), 0, "a\n")
        for flags in ([], ["--quiet"]):
            result = self.call("chat", "-m", self.script(*pieces), "--greedy", "--json-object", "-n", "2", *flags,
                               stdin="who?\n")
            self.check(result, 0, '{"a":1\n', "not complete")

    def test_interrupt(self):
        for flags, is_told in ((["--json-object"], True), ([], False)):
            model = self.script('{"', "a", template=None, after="repeat", delay_ms=20)
            process = subprocess.Popen([support.PROGRAM, "run", "-m", model, "-p", "a", "--greedy", *flags, "-n", "5000"],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment)
            self.assertEqual(os.read(process.stdout.fileno(), 1), b"{")
            process.send_signal(signal.SIGINT)
            stderr = process.communicate(timeout=support.WAIT)[1]
            self.assertEqual(process.returncode, 130)
            self.assertEqual(b"not complete under its constraint: Ctrl-C" in stderr, is_told, stderr)

    def test_needless(self):
        """A flag that has nothing to act on is refused; a variable or a preset waits for an answer that it is for."""
        run = ["run", "-m", self.script("a", template=None), "-p", "hi"]
        flags = (("whitespace", "none"), ("order", "any"), ("format", "assert"), ("spelling", "any"), ("nullable", None),
                 ("lenient", None))
        for name, value in flags:
            given = [f"--json-{name}"] + ([value] if value else [])
            self.check_refused([*run, *given], 2, f"--json-{name}", "--json-schema")
            self.check_refused([*run, *given, "--regex", "a"], 2, f"--json-{name}")
            self.check(self.call(*run, *given, "-n", "1", "-j", '{"type": "object"}'), 3)
            variable = {f"TOMBOLA_ARG_JSON_{name.upper()}": value or "true"}
            self.check(self.call(*run, "--greedy", environment=variable), 0, "a\n")

    def test_flag_over_variable(self):
        """A constraint of a stronger source takes the place of another kind of a weaker one."""
        os.makedirs(self.path(".config/tombola"))
        self.write(".config/tombola/config.json", json.dumps({"presets": {
            "form": {"json-object": True}, "null": {"json-schema": {"type": "null"}, "json-whitespace": "none"}, "bad": {"regex": {"a": 1}}}}))
        schema = {"TOMBOLA_ARG_JSON_SCHEMA": '{"type": "null"}', "TOMBOLA_ARG_JSON_WHITESPACE": "none"}
        run = ["run", "-m", self.script("ab", "null", "{}", template=None), "-p", "hi", "--greedy"]
        self.check(self.call(*run, environment=schema), 0, "null\n")
        for flags in (["--regex", "ab"], ["--choice", "ab"], ["--grammar", 'root ::= "ab"'],
                      ["--grammar-file", self.write("g.gbnf", 'root ::= "ab"')]):
            self.check(self.call(*run, *flags, environment=schema), 0, "ab\n")
        self.check(self.call(*run, "--preset", "form", environment=schema), 0, "null\n")
        self.check(self.call(*run, "--preset", "form", "--regex", "ab"), 0, "ab\n")
        self.check(self.call(*run, "--preset", "null"), 0, "null\n")
        self.check(self.call(*run, "--preset", "bad"), 2, b"", "preset bad: regex: a text")
        self.check(self.call(*run, environment={**schema, "TOMBOLA_ARG_REGEX": "ab"}), 2, b"", "one constraint")

    def test_lenient(self):
        schema = json.dumps({"properties": {"a": {"format": "no-such"}}, "type": "object"})
        result = self.run_with(["{}"], "-j", schema, "--json-lenient")
        self.check(result, 0, "{}\n", "not enforced: format", "/properties/a")
        self.check_answer("{}", ["{}"], "-j", schema, "--json-format", "annotate")

    def test_spelling(self):
        schema = json.dumps({"enum": ["a/b", 100]})
        for text, plain in (('"a/b"', True), ('"a\\/b"', False), ("1e2", False), ("100", True)):
            pieces = list(text)
            self.check_answer(text, pieces, "-j", schema, "--json-spelling", "any")
            if plain:
                self.check_answer(text, pieces, "-j", schema)
            path = self.write("text.json", text)
            for spelling in ([], ["--json-spelling", "any"], ["--json-spelling", "plain"]):
                result = self.call("schema", "check", self.write("s.json", schema), *spelling, "-i", path)
                self.assertEqual(result.returncode == 0, plain or spelling[-1:] != ["plain"], (text, spelling))
        result = self.run_with(['"a', "\\", "/b", '"'], "-j", schema)
        self.check(result, 0)
        self.assertNotIn(b"\\", result.stdout)

    def test_nullable(self):
        schema = json.dumps({"type": "string", "nullable": True})
        self.check_answer("null", ["null"], "-j", schema, "--json-nullable")
        self.assertNotIn(b"nullable", self.run_with(["null"], "-j", schema, "--json-nullable").stderr)
        result = self.run_with(["null", '"'], "-j", schema)
        self.assertNotIn(b"null", result.stdout)
        self.assertIn(b'"/nullable" isn\'t a keyword of JSON Schema, so it says nothing; with --json-nullable', result.stderr)

    def test_unknown_keywords(self):
        schema = json.dumps({"type": "object", "propertys": {"a": {}}, "q": 1, "title": "a"})
        result = self.run_with(["{}"], "-j", schema)
        self.check(result, 0, "{}\n", '"/propertys" isn\'t a keyword', "did you mean properties?", '"/q"')
        self.assertEqual(result.stderr.count(b"says nothing"), 2)
        self.assertNotIn(b"says nothing", self.run_with(["{}"], "-j", schema, "--quiet").stderr)
        model = self.script("{}", template="chatml")
        result = self.call("chat", "-m", model, "--greedy", "-j", schema, stdin="who?\nand now?\n")
        self.assertEqual(result.stderr.count(b"did you mean properties?"), 1)
        many = json.dumps({f"q{i}": 1 for i in range(20)})
        result = self.run_with(["{}"], "-j", many)
        self.check(result, 0, None, '"/q15"', "and 4 more")
        self.assertNotIn(b'"/q16"', result.stderr)

    def test_response_formats(self):
        """What a request has around a schema is taken off, with a note; what may be a schema itself is left alone."""
        schema = {"enum": [1.50]}
        named = {"name": "n", "strict": True, "schema": schema}
        tool = {"name": "n", "description": "d", "parameters": schema}
        for text, place in ((named, "/schema"), ({"strict": False, "schema": schema}, "/schema"),
                            ({"type": "json_schema", "json_schema": named}, "/json_schema/schema"),
                            ({"type": "json_schema", **named}, "/schema"),
                            ({"type": "json_object", "schema": schema}, "/schema"), ({**named, "x": 1}, "/schema"),
                            ({"json_schema": named}, "/json_schema/schema"), (tool, "/parameters"),
                            ({"type": "function", **tool}, "/parameters"),
                            ({"type": "function", "function": tool}, "/function/parameters"),
                            ({"name": "n", "input_schema": schema}, "/input_schema"),
                            ({"response_format": {"type": "json_schema", "json_schema": named}, "model": "m"},
                             "/response_format/json_schema/schema"),
                            ({"text": {"format": {"type": "json_schema", **named}}}, "/text/format/schema"),
                            ({"model": "m", "messages": [], "format": schema}, "/format")):
            text = json.dumps(text).replace("1.5", "1.50")
            for given in (text, self.write("format.json", text)):
                self.check(self.run_with(["1.5"], "-j", given), 0, "1.5\n", f"stands at {place} of it")
            result = self.call("schema", "check", self.path("format.json"), "-i", self.write("i.json", "1.5"))
            self.check(result, 0, None, "format.json: part of a request", f"stands at {place} of it")
            result = self.call("schema", "check", self.path("format.json"), "--json")
            self.assertEqual(json.loads(result.stdout)["schema_at"], place)
        result = self.run_with(["true"], "-j", json.dumps({"type": "json_schema", "json_schema": {"name": "n",
                                                                                                  "schema": True}}))
        self.check(result, 0, "true\n")
        for text in ({"schema": schema}, {"name": "n"}, {**named, "type": "number"}, {"parameters": schema},
                     {"name": "n", "schema": 5}, {**tool, "minimum": 2}, {**tool, "$defs": {}}):
            result = self.run_with(["2"], "-j", json.dumps(text))
            self.check(result, 0, "2\n", "says nothing")
            self.assertNotIn(b"part of a request", result.stderr)
        for text, hint in (({"type": "json_schema"}, "/json_schema/schema"), ({"type": "json_object"}, "--json-object"),
                           ({"type": "function", "function": {"name": "n"}}, "/function/parameters")):
            self.check(self.run_with(["2"], "-j", json.dumps(text)), 2, b"", "type", hint)

    def test_dead_end(self):
        pair = {"type": "array", "items": {"type": "string", "pattern": "^[a-z]$"}, "minItems": 2, "maxItems": 2}
        schema = json.dumps({"type": "array", "items": pair, "uniqueItems": True, "minItems": 2, "maxItems": 2})
        result = self.run_with(['[["a","b"],["a","b"', "]"], "-j", schema, "--json-whitespace", "none", "--json")
        self.check(result, 0, None, "may need to take back", "dead end", "tokens were taken back")
        answer = json.loads(result.stdout)
        self.assertEqual(len({tuple(p) for p in json.loads(answer["text"])}), 2)
        self.assertGreater(answer["stats"]["dead_ends"], 0)

    def test_print_config(self):
        result = self.call("run", "--print-config", "--regex", "a+", "--choice", "x", "--json-whitespace", "none",
                           environment={"TOMBOLA_ARG_JSON_ORDER": "declared"})
        self.check(result, 0)
        text = result.stdout.decode() + result.stderr.decode()
        for name, value in (("regex", "a+"), ("choice", '"x"'), ("json-whitespace", "none"), ("json-order", "declared")):
            self.assertRegex(text, rf"{name}\b.*{value.replace('+', '[+]')}")

    def test_help(self):
        for command in ("run", "chat"):
            text = self.call(command, "--help").stdout
            for flag in (b"--json-object", b"--json-schema", b"--regex", b"--grammar", b"--grammar-file", b"--choice",
                         b"--json-whitespace", b"--json-order", b"--json-spelling", b"--json-format", b"--json-nullable",
                         b"--json-lenient"):
                self.assertIn(flag, text)

    def test_chat(self):
        model = self.script('{"name":', '"Ann","age":', "30}", "user", "assistant", "system")
        result = self.call("chat", "-m", model, "--greedy", "-j", json.dumps(PERSON), "--json-whitespace", "none",
                           stdin="who?\nand now?\n")
        self.check(result, 0)
        self.assertEqual(result.stdout.count(b'{"name":"Ann","age":30}'), 2, result.stdout)

    def test_reasoning(self):
        pieces = ("<think>", "hm", "</think>", "y")
        model = self.script(*pieces, template=None)
        result = self.call("run", "-m", model, "-p", "a<think>", "--greedy", "--regex", "yes",
                           "--json")
        self.check(result, 0)
        self.assertEqual(json.loads(result.stdout)["text"], "yes")


class SchemaCheck(support.Case):
    def check_schema(self, schema, *flags, stdin=b""):
        if not isinstance(schema, str):
            schema = self.write("schema.json", json.dumps(schema))
        return self.call("schema", "check", schema, *flags, stdin=stdin)

    def test_verdicts(self):
        self.check(self.check_schema(PERSON), 0, self.path("schema.json") + ": exact\n")
        few = {"type": "array", "uniqueItems": True, "items": {"type": "array", "maxItems": 3}}
        result = self.check_schema(few)
        self.check(result, 0)
        self.assertIn(b": exact, may backtrack: ", result.stdout)
        result = self.check_schema({"properties": {"a/b": {"format": "no-such"}}})
        self.check(result, 1)
        self.assertIn(b': refused: format at "/properties/a~1b/format": ', result.stdout)
        result = self.check_schema({"properties": {"a": "string"}})
        self.check(result, 1)
        self.assertIn(b': refused at "/properties/a": a schema must be', result.stdout)
        self.check(self.check_schema({"allOf": [{"type": "string"}, {"type": "null"}]}), 1,
                   self.path("schema.json") + ": refused: no value is valid under the schema\n")

    def test_text(self):
        self.check(self.check_schema('{"type": "null"}', "-i", self.write("null.json", "null")), 0,
                   f"schema: exact\n{self.path('null.json')}: accepted\n")
        self.check(self.check_schema("false"), 1, "schema: refused: no value is valid under the schema\n")

    def test_json(self):
        result = self.check_schema(PERSON, "--json")
        self.check(result, 0)
        self.assertEqual(json.loads(result.stdout), {"verdict": "exact", "instances": []})
        result = self.check_schema({"items": {"format": "no-such"}}, "--json")
        self.check(result, 1)
        answer = json.loads(result.stdout)
        self.assertEqual((answer["verdict"], answer["keyword"]), ("refused", "format"))
        self.assertTrue(answer["pointer"].startswith("/items"))
        self.assertIn("no-such", answer["reason"])

    def test_unknown_keywords(self):
        result = self.check_schema({"items": {"maxlength": 1, "q/": 2}})
        self.check(result, 0, self.path("schema.json") + ": exact\n", '"/items/maxlength" ', "did you mean maxLength?",
                   '"/items/q~1" isn\'t a keyword of any draft, so it says nothing\n')
        answer = json.loads(self.check_schema({"items": {"maxlength": 1, "q": 2}}, "--json").stdout)
        self.assertEqual(answer["unknown_keywords"], [
            {"pointer": "/items/maxlength", "keyword": "maxlength", "reason": "isn't a keyword of any draft",
             "nearest": "maxLength"},
            {"pointer": "/items/q", "keyword": "q", "reason": "isn't a keyword of any draft"}])
        # A typing error that leaves no value at all.
        result = self.check_schema({"type": "object", "required": ["a"], "propertys": {"a": {}},
                                    "additionalProperties": False}, "--json")
        self.check(result, 1, None, "did you mean properties?")
        self.assertEqual(json.loads(result.stdout)["unknown_keywords"][0]["nearest"], "properties")

    def test_instances(self):
        good, bad, cut = (self.write(name, text) for name, text in (
            ("good.json", '{"name": "Ann",\n "age": 30}\n'), ("bad.json", '{"name": "Ann",\n "age": 31}'),
            ("cut.json", '{"name": "An')))
        result = self.check_schema(PERSON, "-i", good)
        self.check(result, 0, f"{self.path('schema.json')}: exact\n{good}: accepted\n")
        for end, accepted in (("\n", True), ("\r\n", True), ("\r\n\n\r\n", True), ("\r", False), ("\n\r", False)):
            result = self.check_schema({}, "-i", self.write("end.json", "1" + end))
            self.assertEqual(result.returncode == 0, accepted, end)
        path = self.write("\\new", "{}")
        self.check(self.check_schema({}, "-i", path), 0, f"{self.path('schema.json')}: exact\n{path}: accepted\n")
        result = self.check_schema(PERSON, "-i", good, "--instance", bad, "-i", cut)
        self.check(result, 1)
        lines = result.stdout.decode().splitlines()
        self.assertEqual(lines[1:], [
            f"{good}: accepted", f"{bad}: not accepted: stops at byte 25 (line 2, column 10): expected 30",
            f"{cut}: not accepted: it ends too early, at byte 12: expected \"Ann\""])
        answer = json.loads(self.check_schema(PERSON, "-i", bad, "--json").stdout)
        self.assertEqual(answer["instances"], [{"file": bad, "accepted": False, "bytes": 25, "expected": ["30"]}])
        answer = json.loads(self.check_schema(PERSON, "-i", good, "--json").stdout)
        self.assertEqual(answer["instances"], [{"file": good, "accepted": True, "bytes": 27}])

    def test_expected(self):
        many = {"enum": [f"a{i}" for i in range(20)]}
        age = {"properties": {"age": {"type": "integer", "minimum": 0, "maximum": 120}}}
        rows = [
            (PERSON, "", "'{'"), (PERSON, "[]", "'{'"), (PERSON, '{"nme": 1}', '"name"'), (PERSON, "{x", '"age" or "name"'),
            (PERSON, '{"name":"Ann"}', "','"), (PERSON, '{"name":"Ann","age":30,}', "'}'"),
            (PERSON, '{"name":"Ann","name":"Bob"}', '"age"'), (PERSON, '{"name":"Ann","age":30} x', "the end"),
            ({}, "x", "a number, a string, '[', false, null, true or '{'"), ({}, "nulx", "null"),
            ({}, "[1}", "a digit, '.', ',' or ']'"), ({}, "[1.0}", "a digit, ',' or ']'"),
            ({"type": "integer"}, "1x", "a digit or the end"), (age, '{"age":1.5}', "a digit, ',' or '}' at column 9"),
            (age, '{"age":150}', "',' or '}' at column 10"), (age, '{"age":-1}', "a number without '-' at column 8"),
            (age, '{"age":121}', "',', 120 or '}'"), (age, '{"x":1.0,\n"age":0.5}', "a number at column 7"),
            ({"multipleOf": 0.01}, "1.005", "another digit at column 4"),
            ({"uniqueItems": True}, '["a","b","a"]', "more characters"),
            ({"minLength": 3}, '"a"', "more characters"), ({"minLength": 3}, '"a', "more characters"),
            ({"properties": {"b": False}}, '{"b":1}', "more characters"), ({}, b'"\xff"', "another character"),
            ({"pattern": "^[a-z_]+$"}, '"aB"', "'\"', '_' or a letter a to z"),
            ({"format": "uuid"}, '"zz"', "a digit, a letter A to F or a letter a to f"),
            ({"pattern": "^[2-9\u00e0-\u02ff]+$"}, '"x"', "a digit 2 to 9 or a character beyond ASCII"), ({"type": "number"}, "-", "a digit"),
            ({"type": "string", "maxLength": 3}, '"abcd"', '"abc"'), ({"type": "string"}, '"a\n"', "another character"),
            ({"enum": ["caf\u00e9", "cafe"]}, '"cafx"', '"cafe" or "caf\u00e9"'), ({"enum": [1, 10, 100]}, "2", "1, 10 or 100"),
            ({"const": 'x"y'}, '"xy"', '"x\\"y"'), ({"const": "xy"}, '"\\u0078z"', '"\\u0078y"'),
            ({"type": "string"}, b'"\xc3x"', "the rest of a character"), (many, "1", '"a\u2026'),
            ({"type": "string", "format": "date"}, '"2020-13"', '"2020-10\u2026, "2020-11\u2026 or "2020-12\u2026'),
            ({"type": "string", "pattern": "^[ab]+$"}, '"abd"', '"ab", "aba\u2026 or "abb\u2026'),
            ({"enum": ["x" * 90]}, '"' + "x" * 50 + "y", "\u2026" + "x" * 40 + '"'),
        ]
        for schema, text, expected in rows:
            result = self.check_schema(schema, "-i", self.write("text.json", text))
            self.check(result, 1)
            self.assertTrue(result.stdout.decode().endswith(f": expected {expected}\n"), (text, result.stdout.decode()))
        result = self.check_schema({"enum": [10 * i for i in range(1, 10)]}, "-i", self.write("text.json", "x"))
        self.check(result, 1)
        result = self.check_schema({}, "-i", self.write("text.json", b"\xef\xbb\xbf{}"))
        self.assertTrue(result.stdout.endswith(b"column 1): expected no byte order mark (BOM)\n"), result.stdout)
        answer = json.loads(self.check_schema({}, "-i", self.write("text.json", "x"), "--json").stdout)
        self.assertEqual(answer["instances"][0]["expected"], ["a number", "a string", "[", "false", "null", "true", "{"])
        self.assertNotIn("expected_at", answer["instances"][0])
        answer = json.loads(self.check_schema(age, "-i", self.write("text.json", '{"age":1.5}'), "--json").stdout)
        self.assertEqual(answer["instances"][0], {"file": self.path("text.json"), "accepted": False, "bytes": 10,
                                                  "expected": ["a digit", ",", "}"], "expected_at": 8})
        answer = json.loads(self.check_schema(many, "--json-spelling", "plain", "-i", self.write("text.json", "1"),
                                              "--json").stdout)
        self.assertEqual(answer["instances"][0]["expected"], ['"a\u2026'])

    def test_by_token(self):
        good = self.write("good.json", '{"name":"Ann","age":30}')
        bad = self.write("bad.json", '{"name":"Ann","age":99}')
        model = self.script('{"name":', '"Ann"')
        result = self.check_schema(PERSON, "-m", model, "-i", good, "-i", bad)
        self.check(result, 1)
        lines = result.stdout.decode().splitlines()
        self.assertEqual(lines[1], f"{good}: accepted; by token too (12)")
        self.assertEqual(lines[2], f"{bad}: not accepted: stops at byte 20 (line 1, column 21): expected 30 or 41; "
                                   "by token: stops at token 10 of 12")
        answer = json.loads(self.check_schema(PERSON, "-m", model, "-i", good, "--json").stdout)
        self.assertEqual(answer["instances"][0]["accepted_by_token"], True)
        self.assertEqual(answer["instances"][0]["tokens"], 12)

    def test_standard_input(self):
        self.check(self.call("schema", "check", "-", stdin='{"type": "null"}'), 0, "-: exact\n")
        self.check(self.call("schema", "check", stdin='{"type": "null"}'), 0, "-: exact\n")

    def test_refs(self):
        schema = {"$ref": "http://example.com/person"}
        self.check(self.check_schema(schema), 1)
        person = self.write("person.json", json.dumps(PERSON))
        good = self.write("good.json", '{"name":"Ann","age":30}')
        self.check(self.check_schema(schema, "--ref", f"http://example.com/person={person}", "-i", good), 0)
        self.check(self.check_schema(schema, "--ref", "nothing"), 2)

    def test_batch(self):
        lines = [
            {"schema": {"type": "integer", "minimum": 3}, "instances": [3, 2, 3.0, "x"], "texts": ["3e0", " 3", "3 "]},
            {"schema": {"format": "date"}, "format": "annotate", "instances": ["x"], "whitespace": "any",
             "texts": ['"x" ']},
            {"schema": {"$ref": "urn:a"}, "refs": {"urn:a": {"const": 1.50}}, "instances": [1.5, 1.50, 2]},
            {"schema": {"format": "no-such"}},
            {"schema": {"type": "null"}, "other": 1},
            {"schema": {"type": "integer"}, "spelling": "plain", "texts": ["10", "1e1", "1.0"]},
            {"schema": True, "spelling": "odd"},
            {"schema": True, "id": 1.50},
            {"schema": True, "id": {"a": [None]}, "other": 1},
            {"schema": {"format": "no-such"}, "id": "x"},
            {"schema": {"propertys": {}}},
        ]
        text = "".join(json.dumps(line) + "\n" for line in lines) + "{no json\n" + '{"schema": true, "schema": {}}\n'
        result = self.call("schema", "check", "--batch", stdin=text)
        self.check(result, 0)
        answers = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual(len(answers), 13)
        self.assertEqual(answers[0], {"verdict": "exact", "instances": [True, False, True, False],
                                      "texts": [True, True, False]})
        self.assertEqual(answers[1], {"verdict": "exact", "instances": [True], "texts": [True]})
        self.assertEqual(answers[2]["instances"], [True, True, False])
        self.assertEqual((answers[3]["verdict"], answers[3]["keyword"]), ("refused", "format"))
        self.assertEqual(answers[4]["error"]["param"], "other")
        self.assertEqual(answers[5]["texts"], [True, False, False])
        self.assertEqual(answers[6]["error"]["param"], "spelling")
        self.assertEqual([answer.get("id") for answer in answers[7:10]], [1.5, {"a": [None]}, "x"])
        self.assertIn("error", answers[8])
        self.assertNotIn("id", answers[0])
        self.assertEqual(answers[10]["unknown_keywords"][0]["nearest"], "properties")
        self.assertEqual(answers[11]["error"]["status"], "format")
        self.assertEqual((answers[12]["error"]["param"], answers[12]["error"]["message"]),
                         ("schema", "schema: stands there twice"))
        self.check(self.call("schema", "check", self.write("batch.jsonl", text), "--batch"), 0, result.stdout)

    def test_refused(self):
        self.check_refused(["schema"], 2, "check")
        self.check_refused(["schema", "verify", "x"], 2, "check")
        self.check_refused(["schema", "check", "a", "b"], 2, "one file")
        self.check_refused(["schema", "check", self.path("none")], 1, "none", "No such file")
        self.check_refused(["schema", "check", "--batch", "-i", "x"], 2, "--batch")
        self.check(self.check_schema(PERSON, "-i", self.path("none")), 1, None, "none", "No such file")
        result = self.check_schema(self.write("bad.json", "{"))
        self.check(result, 1)
        self.assertIn(b": refused: not JSON", result.stdout)

    def test_help(self):
        lines = self.call("--help").stdout.splitlines()
        headings = [line for line in lines if line and not line.startswith(b" ")]
        self.assertEqual(len(headings), len(set(headings)), headings)
        result = self.call("schema", "check", "--help")
        self.check(result, 0)
        for flag in (b"--instance", b"--ref", b"--batch", b"--json", b"--model", b"--json-format"):
            self.assertIn(flag, result.stdout)


if __name__ == "__main__":
    support.main()
