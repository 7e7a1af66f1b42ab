# SPDX-License-Identifier: Apache-2.0
"""Where a value comes from: flags, TOMBOLA_ARG_*, presets, the model's recommendation, the dialect."""
import json
import os
import struct

import support
from support import ids


class Sources(support.Case):
    def setUp(self):
        super().setUp()
        self.variables = {}

    def preset(self, text):
        os.makedirs(self.path(".config/tombola"), exist_ok=True)
        self.write(".config/tombola/config.json", text if isinstance(text, str) else json.dumps({"presets": text}))

    def config(self, *arguments, command="run"):
        result = self.call(command, *arguments, "--print-config", "--json", environment=self.variables)
        self.check(result, 0)
        return json.loads(result.stdout)

    def value(self, name, *arguments, **options):
        entry = self.config(*arguments, **options)[name]
        return entry["value"], entry["origin"]

    def refused(self, *texts, arguments=("run",)):
        result = self.call(*arguments, environment=self.variables)
        self.check(result, 2, b"", *texts)
        self.assertEqual(result.stderr.count(b"\n"), 1, result.stderr)

    def test_environment_of_every_flag(self):
        help_text = self.call("run", "--help").stdout.decode()
        self.assertIn("TOMBOLA_ARG_TOP_K=5", help_text)
        for name, value in (("top-k", "5"), ("max-tokens", "7"), ("time-limit", "2.5"), ("kv", "i8"), ("model", "x"),
                            ("system", "s"), ("dialect", "rml"), ("think-budget", "3"), ("seed", "9")):
            self.variables = {"TOMBOLA_ARG_" + name.upper().replace("-", "_"): value}
            self.assertEqual(self.value(name), (value, "environment"))
        for value, wanted in (("1", "yes"), ("true", "yes"), ("0", "no"), ("off", "no")):
            self.variables = {"TOMBOLA_ARG_IGNORE_EOS": value}
            self.assertEqual(self.value("ignore-eos")[0], wanted)
        self.variables = {"TOMBOLA_ARG_GREEDY": "1"}
        self.assertEqual(self.value("temperature"), ("0", "environment"))
        self.assertEqual(self.value("temperature", "--temp", "0.5"), ("0.5", "flag"))

    def test_environment_refused(self):
        for name, value, text in (("TOP_K", "x", "TOMBOLA_ARG_TOP_K"), ("BOGUS", "1", "TOMBOLA_ARG_BOGUS names no option"),
                                  ("MAX_TOKENS", "0", "TOMBOLA_ARG_MAX_TOKENS"), ("QUIET", "2", "true or false"),
                                  ("PORT", "1", "not supported yet"), ("HELP", "1", "names no option")):
            self.variables = {"TOMBOLA_ARG_" + name: value}
            self.refused(text)
        self.variables = {"TOMBOLA_ARG_MAX_TOKENS": "5"}
        self.check(self.call("models", environment=self.variables), 0)

    def test_preset(self):
        self.preset({"code": {"temperature": 0.25, "top_k": 7, "stop": ["a", "b"], "greedy": False, "ignore-eos": True,
                              "samplers": "top_k;temperature", "dialect": "rml", "batch": False}, "other": {}})
        config = self.config("--preset", "code")
        for name, value in (("temperature", "0.25"), ("top-k", "7"), ("stop", '"a" "b"'), ("ignore-eos", "yes"),
                            ("samplers", "top_k;temperature"), ("dialect", "rml")):
            self.assertEqual(config[name], {"value": value, "origin": "preset"})
        self.assertEqual(config["repeat-penalty"]["value"], "1.1")
        self.variables = {"TOMBOLA_ARG_PRESET": "code"}
        self.assertEqual(self.value("top-k"), ("7", "preset"))
        self.assertIn("preset code ", self.call("run", "--print-config", environment=self.variables).stdout.decode())
        self.assertEqual(self.value("temperature", command="sample"), ("0.25", "preset"))

    def test_preset_of_xdg(self):
        os.makedirs(self.path("xdg/tombola"))
        self.write("xdg/tombola/config.json", '{"presets": {"p": {"top_k": 3}}}')
        self.variables = {"XDG_CONFIG_HOME": self.path("xdg")}
        self.assertEqual(self.value("top-k", "--preset", "p"), ("3", "preset"))

    def test_preset_refused(self):
        arguments = ("run", "--preset", "p")
        self.refused("--preset", "config.json", arguments=arguments)
        for text, *wanted in (("{", "config.json", "byte"), ({"q": {}, "r": {}}, 'no preset "p"', "q, r"), ("[]", '"presets"'),
                              ({"p": 5}, '"p" must be an object'), ({"p": {"bogus": 1}}, "preset p: bogus is no option"),
                              ({"p": {"top_k": "x"}}, "preset p: top_k"), ({"p": {"top_k": [1]}}, "no array"),
                              ({"p": {"help": True}}, "can't stand in a preset"), ({"p": {"top_k": None}}, "preset p: top_k"),
                              ({"p": {"stop": ["a\0b"]}}, "preset p: stop holds a NUL"),
                              ({"p": {"max_tokens": 0}}, "preset p: max_tokens", "1 to"),
                              ({"p": {"preset": "q"}}, "can't stand in a preset")):
            self.preset(text)
            self.refused(*wanted, arguments=arguments)

    def test_recommended(self):
        model = self.script("a")
        self.write("generation_config.json", json.dumps({
            "temperature": 0.6, "top_k": 20, "repetition_penalty": 1.05, "eos_token_id": 5, "do_sample": True}))
        config = self.config("-m", model)
        self.assertEqual(config["temperature"], {"value": "0.6", "origin": "model"})
        self.assertEqual(config["repeat-penalty"], {"value": "1.05", "origin": "model"})
        self.assertEqual(config["top-p"]["origin"], "dialect")
        self.write("generation_config.json", '{"temperature": -5, "top_k": 20}')
        result = self.call("run", "-m", model, "-p", "Hi", "--dialect", "rml", "-n", "1")
        self.check(result, 0, None, "generation_config.json: left out")
        self.write("generation_config.json", "{")
        self.check(self.call("run", "-m", model, "-p", "Hi", "-n", "1"), 0, "a\n", "is no JSON")

    def test_recommended_by_a_gguf_file(self):
        if b"libllama: not built in" in self.call("--version").stdout:
            self.skipTest("built without libllama")

        def text(value):
            return struct.pack("<Q", len(value)) + value.encode()

        keys = [("general.architecture", 8, text("llama")), ("general.sampling.top_k", 5, struct.pack("<i", 7)),
                ("general.sampling.temp", 6, struct.pack("<f", 0.25)),
                ("general.sampling.penalty_repeat", 6, struct.pack("<f", 1.25)),
                ("general.sampling.penalty_last_n", 4, struct.pack("<I", 9)),
                ("general.sampling.sequence", 8, text("top_k;temperature")),
                ("general.sampling.unheard_of", 8, text("x"))]
        with open(self.path("m.gguf"), "wb") as file:
            file.write(b"GGUF" + struct.pack("<IQQ", 3, 0, len(keys)))
            for key, kind, value in keys:
                file.write(text(key) + struct.pack("<I", kind) + value)
        config = self.config("-m", "m.gguf")
        for name, value in (("top-k", "7"), ("temperature", "0.25"), ("repeat-penalty", "1.25"), ("repeat-last-n", "9"),
                            ("samplers", "top_k;temperature")):
            self.assertEqual(config[name], {"value": value, "origin": "model"})
        self.assertEqual(config["min-p"]["origin"], "dialect")
        self.assertEqual(self.value("top-k", "-m", "m.gguf", "--top-k", "3"), ("3", "flag"))
        self.write("generation_config.json", '{"top_k": 11}')
        self.assertEqual(self.value("top-k", "-m", "m.gguf"), ("11", "model"))
        self.write("cut.gguf", "GGUF")
        self.assertEqual(self.value("min-p", "-m", "cut.gguf")[1], "dialect")

    def test_precedence(self):
        model = self.script("a")
        self.assertEqual(self.value("top-k", "-m", model), ("40", "dialect"))
        self.write("generation_config.json", '{"top_k": 11}')
        self.assertEqual(self.value("top-k", "-m", model), ("11", "model"))
        self.preset({"p": {"top_k": 12, "stop": ["weak"], "model": model}})
        self.assertEqual(self.value("top-k", "--preset", "p"), ("12", "preset"))
        self.variables = {"TOMBOLA_ARG_TOP_K": "13", "TOMBOLA_ARG_PROMPT": "weak"}
        self.assertEqual(self.value("top-k", "--preset", "p"), ("13", "environment"))
        self.assertEqual(self.value("top-k", "--preset", "p", "--top-k", "14"), ("14", "flag"))
        # A stronger list takes the place of a weaker one, and --file that of a weaker --prompt.
        self.assertEqual(self.value("stop", "--preset", "p", "--stop", "strong"), ('"strong"', "flag"))
        self.assertEqual(self.config("--file", "f")["prompt"]["value"], "(standard input)")


class Phases(support.Case):
    def test_names(self):
        result = self.call("run", "--answer-temperature", "0.2", "--answer-top-k=5", "--answer-temp", "0.25",
                           "--temperature", "0.9", "--print-config", "--json")
        self.check(result, 0)
        config = json.loads(result.stdout)
        self.assertEqual(config["answer-temperature"], {"value": "0.25", "origin": "flag"})
        self.assertEqual(config["answer-top-k"], {"value": "5", "origin": "flag"})
        self.assertEqual(config["temperature"]["value"], "0.9")
        self.assertNotIn("answer-top-p", config)
        self.assertIn("--answer-NAME", self.call("run", "--help").stdout.decode())
        self.check_refused(["run", "--answer-top-p", "2"], 2, "--answer-top-p", "[0, 1]")
        self.check_refused(["run", "--answer-bogus", "2"], 2, "unknown option")
        self.check_refused(["run", "--answer-seed", "2"], 2, "unknown option")

    def test_the_answer_is_drawn_by_its_own(self):
        pieces = ("<think>", "</think>", "x", "y")
        start, close, x, y = ids(*pieces)
        flat = {"logits": [-50] * x + [0.5, 0]}
        model = self.script(*pieces, steps=[start] + [flat] * 40 + [close] + [flat] * 40)
        flags = ["run", "-m", model, "-p", "Hi", "--temperature", "5", "--json", "-n", "82"]
        answer = json.loads(self.call(*flags, "--answer-temperature", "0").stdout)
        self.assertEqual(answer["text"], "x" * 40)
        self.assertGreater(len(set(answer["reasoning"])), 1)
        self.assertGreater(len(set(json.loads(self.call(*flags).stdout)["text"])), 1)
        seeded = [self.call(*flags, "--answer-top-k", "2", "-s", "5").stdout for _ in range(2)]
        self.assertEqual(*(json.loads(text)["tokens"] for text in seeded))


if __name__ == "__main__":
    support.main()
