# SPDX-License-Identifier: Apache-2.0
"""The command line: flags, aliases, bad values, help, version, --print-config, models."""
import json
import os
import re
import subprocess

import support


class Flags(support.Case):
    def config(self, *arguments, command="run"):
        result = self.call(command, *arguments, "--print-config", "--json")
        self.check(result, 0)
        self.assertEqual(result.stderr, b"")
        return json.loads(result.stdout)

    def value(self, name, *arguments):
        entry = self.config(*arguments)[name]
        return entry["value"], entry["origin"]

    def test_every_alias(self):
        rows = [
            ("model", "x", ["--model", "-m"]), ("prompt", "x", ["--prompt", "-p"]), ("file", "x", ["--file", "-f"]),
            ("system", "x", ["--system", "--system-prompt", "-sys"]), ("chat-template", "x", ["--chat-template", "--format"]),
            ("think-budget", "7", ["--think-budget", "--reasoning-budget"]),
            ("max-tokens", "-1", ["--max-tokens", "-n"]),
            ("max-tokens", "7", ["--max-tokens", "-n", "--n-predict", "--predict"]),
            ("ctx", "77", ["--ctx", "-c", "--ctx-size", "--n-ctx"]), ("threads", "3", ["--threads", "-t"]),
            ("seed", "9", ["--seed", "-s"]), ("dialect", "rml", ["--dialect"]),
            ("temperature", "0.5", ["--temperature", "--temp"]), ("top-k", "7", ["--top-k"]),
            ("top-p", "0.5", ["--top-p"]), ("min-p", "0.25", ["--min-p"]), ("min-keep", "2", ["--min-keep"]),
            ("repeat-penalty", "1.5", ["--repeat-penalty", "--repetition-penalty"]),
            ("repeat-last-n", "5", ["--repeat-last-n", "--repetition-context-size"]),
            ("frequency-penalty", "0.5", ["--frequency-penalty"]), ("presence-penalty", "0.5", ["--presence-penalty"]),
            ("penalty-scope", "output", ["--penalty-scope"]), ("logit-bias", "5+1.5", ["--logit-bias", "-l"]),
            ("kv", "i8", ["--kv"]), ("color", "never", ["--color"])]
        for name, value, flags in rows:
            for flag in flags:
                self.assertEqual(self.value(name, flag, value), (value, "flag"), flag)
                self.assertEqual(self.value(name, f"{flag}={value}"), (value, "flag"), flag)
        for name in ("ignore-eos", "quiet", "verbose"):
            self.assertEqual(self.value(name, "--" + name), ("yes", "flag"))
            self.assertEqual(self.value(name), ("no", "default"))
        self.assertEqual(self.value("top-k", "--top_k", "7"), ("7", "flag"))
        self.assertEqual(self.value("p-less", "--p-less"), ("true", "flag"))

    def test_defaults_come_from_the_dialect(self):
        ours = self.config()
        self.assertEqual((ours["dialect"]["value"], ours["dialect"]["origin"]), ("llama.cpp", "default"))
        self.assertEqual(ours["temperature"], {"value": "0.8", "origin": "dialect"})
        self.assertEqual(ours["seed"], {"value": "random", "origin": "dialect"})
        self.assertEqual(ours["max-tokens"], {"value": "512", "origin": "default"})
        self.assertEqual(ours["kv"], {"value": "f16", "origin": "default"})
        rml = self.config("--dialect", "rml")
        self.assertEqual(rml["temperature"], {"value": "0.7", "origin": "dialect"})
        self.assertEqual(rml["repeat-penalty"]["value"], "1.1")
        self.assertEqual(rml["seed"], {"value": "0", "origin": "dialect"})
        self.assertLess(rml["samplers"]["value"].index("temperature"), rml["samplers"]["value"].index("top_k"))

    def test_flags_hold_wherever_the_dialect_stands(self):
        for arguments in (["--top-k", "5", "--dialect", "rml"], ["--dialect", "rml", "--top-k", "5"]):
            config = self.config(*arguments)
            self.assertEqual(config["top-k"], {"value": "5", "origin": "flag"})
            self.assertEqual(config["temperature"]["value"], "0.7")

    def test_the_last_one_holds(self):
        self.assertEqual(self.value("top-k", "--top-k", "5", "--top-k", "6")[0], "6")
        self.assertEqual(self.value("temperature", "--greedy"), ("0", "flag"))
        self.assertEqual(self.value("temperature", "--greedy", "--temp", "0.5")[0], "0.5")
        self.assertEqual(self.value("temperature", "--temp", "0.5", "--greedy")[0], "0")
        self.assertEqual(self.value("dialect", "--dialect", "rml", "--dialect", "llama.cpp")[0], "llama.cpp")

    def test_foreign_flags(self):
        """Flags of llama-cli's: taken where they change nothing, else refused with a reason, never ignored."""
        usual = self.config("--top-k", "5")
        for flags in (["-ngl", "auto"], ["--gpu-layers=auto"], ["--n-gpu-layers", "auto"], ["--n_gpu_layers=auto"],
                      ["-fa", "auto"], ["--flash-attn=auto"], ["--no-warmup"], ["--mmap"], ["--no-jinja"],
                      ["--no-display-prompt"], ["-st"], ["--single-turn"]):
            self.assertEqual(self.config(*flags, "--top-k", "5"), usual, flags)
        for flag in ("-cnv", "--conversation"):
            self.check(self.call("chat", flag, "--print-config"), 0)
        for flags, reason in ((["-ngl", "7"], "-ngl 7 is not supported: "), (["-ngl"], "-ngl needs a value"),
                              (["-fa", "on"], "-fa on is not supported: libllama decides"),
                              (["--flash-attn=off"], "--flash-attn off is not supported"),
                              (["-cnv"], "tombola chat"), (["-no-cnv"], "--chat-template none"),
                              (["--jinja"], "--chat-template NAME"), (["--no-mmap"], "mapped"), (["--mlock"], "locked"),
                              (["--warmup"], "nothing is computed"), (["--mlock=1"], "--mlock takes no value"),
                              (["--display-prompt"], "isn't repeated"), (["--ngl", "auto"], "unknown option --ngl"),
                              (["-mlock"], "unknown option -mlock")):
            self.check_refused(["run", "-m", "x", "-p", "a", *flags], 2, reason)
        self.check_refused(["chat", "-m", "x", "-st"], 2, "tombola run")
        self.check_refused(["sample", "--mlock"], 2, "unknown option --mlock")
        self.assertEqual(self.value("color", "--color", "on"), ("always", "flag"))
        self.assertEqual(self.value("color", "--color=off"), ("never", "flag"))
        self.check_refused(["run", "--color", "odd"], 2, "auto, always, never")

    def test_order_of_stages(self):
        for flag, value in (("--samplers", "top_k;temp;min_p"), ("--samplers", "top_k,temperature,min_p"),
                            ("--sampling-seq", "ktm")):
            self.assertEqual(self.value("samplers", flag, value), ("top_k;temperature;min_p", "flag"), value)
        self.check_refused(["run", "--samplers", "top_k;nonsense"], 2, "--samplers", '"nonsense"', "top_k, ")
        self.check_refused(["run", "--sampling-seq", "k?"], 2, "--sampling-seq", '"?"')

    def test_biases(self):
        self.assertEqual(self.value("logit-bias", "-l", "5+1", "-l", "6-2.5", "-l", "7-inf", "-l", '"a+b"+1')[0],
                         '5+1 6-2.5 7-inf "a+b"+1')
        for bad in ("5", "x+1", "5+", "5+x", "5+inf", "5+nan", "-5+1", "", '"a"', '""+1', "99999999999+1", "5+1x"):
            self.check_refused(["run", "-l", bad], 2, "-l", "logit_bias")

    def test_lists(self):
        self.assertEqual(self.value("suppress", "--suppress", "1,2", "--suppress=30"), ("1,2,30", "flag"))
        self.assertEqual(self.value("suppress"), ("none", "default"))
        for bad in ("", "x", "1,,2", "1,", "-1", "1 2", "99999999999"):
            self.check_refused(["run", "--suppress", bad], 2, "--suppress", "suppress")
        for flag in ("--history", "--mask", "--watch", "--suppress"):
            for bad in ("1,,0", ",", "1 0", "", "1,", ",1", "1, 0", "-1", "+1", " 1", "1x", "99999999999"):
                self.check_refused(["sample", flag, bad], 2, flag, f'"{bad}" is no list of token ids')
        result = self.call("sample", "--json", "--history", "1,0", "--mask", "1", "--watch", "0,1", stdin="[1, 2]")
        self.check(result, 0)
        self.assertEqual(json.loads(result.stdout)["ids"], [1])
        breaker = "--dry-sequence-breaker"
        self.assertEqual(self.value("dry-sequence-breaker"), ("the dialect's", "dialect"))
        self.assertEqual(self.value("dry-sequence-breaker", breaker, "a\\n\\\\", breaker, "b")[0], '"a\n\\" "b"')
        self.assertEqual(self.value("dry-sequence-breaker", breaker, "a", breaker, "none"), ("none", "flag"))
        self.assertEqual(self.value("dry-sequence-breaker", breaker, "none", breaker, "b")[0], '"b"')

    def test_seed(self):
        self.assertEqual(self.value("seed", "--seed", "-1")[0], "random")
        self.assertEqual(self.value("seed", "--seed=4294967295")[0], "4294967295")
        self.check_refused(["run", "--seed", "4294967296"], 2, "--seed", "4294967296", "4294967295")
        self.check_refused(["run", "--seed", "abc"], 2, "--seed", "abc")

    def test_bad_values_name_flag_value_and_range(self):
        rows = [
            (["--top-p", "2"], "--top-p", "2", "[0, 1]"), (["--top-p", "nan"], "--top-p", "nan", ""),
            (["--temperature", "warm"], "--temperature", "warm", ""), (["--top-k", "1.5"], "--top-k", "1.5", ""),
            (["--repeat-penalty", "0"], "--repeat-penalty", "0", ""), (["--max-tokens", "0"], "--max-tokens", '"0"', "1 to"),
            (["-n", "-2"], "--max-tokens", '"-2"', "-1 for no limit"), (["--ctx", "0"], "--ctx", '"0"', "1 to"),
            (["--ctx", "9x"], "--ctx", '"9x"', "1 to"), (["--threads", "99999"], "--threads", '"99999"', "1024"),
            (["--threads", "99999999999999999999"], "--threads", "9999", "1024"),
            (["--kv", "f8"], "--kv", '"f8"', "f16, f32, i8"), (["--color", "red"], "--color", '"red"', "never"),
            (["--penalty-scope", "x"], "--penalty-scope", "x", "output"), (["--dialect", "x"], "--dialect", "x", "rml"),
            (["--dialect", "rml", "--temperature", "-1"], "--temperature", "-1", "rml")]
        for arguments, *texts in rows:
            self.check_refused(["run", *arguments], 2, *texts)

    def test_unknown_flags(self):
        self.check_refused(["run", "--bogus"], 2, "unknown option --bogus")
        self.check_refused(["run", "--bogus=5"], 2, "unknown option --bogus;")
        self.check_refused(["run", "--temprature", "1"], 2, "--temprature", "did you mean --temperature?")
        self.check_refused(["run", "--tpo-k", "1"], 2, "did you mean --top-k?")
        self.check_refused(["run", "--repetition-penality", "1"], 2, "did you mean --repetition-penalty?")
        self.check_refused(["run", "-x"], 2, "unknown option -x")
        self.check_refused(["run", "-temp", "1"], 2, "unknown option -temp")
        self.check_refused(["run", "--p", "x"], 2, "unknown option --p")
        self.check_refused(["models", "--prompt", "x"], 2, "--prompt is not an option of tombola models")
        self.check_refused(["run", "hello"], 2, '"hello" is not expected; did you mean -p "hello"?')
        self.check_refused(["models", "hello"], 2, '"hello" is not expected: tombola models takes its values by flags')

    def test_flags_of_the_plan(self):
        for flag in ("--host", "--api-key", "--parallel"):
            self.check_refused(["run", flag, "1"], 2, f"{flag} is not supported yet")
        self.check_refused(["serve"], 2, "serve is not supported yet")

    def test_values_are_needed_or_refused(self):
        self.check_refused(["run", "-p"], 2, "-p needs a value")
        self.check_refused(["run", "--greedy=1"], 2, "--greedy takes no value")
        for arguments in (["-m", ""], ["--model="]):
            self.check_refused(["run", *arguments, "-p", "x"], 2, "--model needs a file name")
        self.check_refused(["run", "--draft-model", "", "-p", "x"], 2, "--draft-model needs a file name")
        self.check_refused(["run", "-p", "a", "-f", "b"], 2, "--prompt or by --file")
        self.assertEqual(self.value("prompt", "-p", "--greedy")[0], "--greedy")

    def test_commands(self):
        self.check_refused(["nonsense"], 2, 'unknown command "nonsense"', "chat, run")
        self.check_refused(["--greedy", "run"], 2, "the command comes first")

    def test_messages_send_no_commands_to_the_terminal(self):
        red = "\x1b[31m"
        for arguments in (["run", "--samplers", red], ["run", "--samplers", "top_k;" + red], [red], ["run", "--" + red],
                          ["run", "-" + red], ["--" + red], ["run", red], ["run", "-m", "script:" + red, "-p", "x"],
                          ["run", "--dialect", red], ["run", "--ctx", red], ["run", "--preset", red], ["run", "-l", red],
                          ["sample", red], ["run", "--samplers", "\u009b31m"], ["run", "\r\n\x07\x7f"]):
            result = self.call(*arguments)
            self.assertIn(result.returncode, (1, 2))
            self.assertNotRegex(result.stderr.decode().removesuffix("\n"), "[\x00-\x1f\x7f-\x9f]", arguments)
        self.check_refused([red], 2, 'unknown command "?[31m"')
        self.check_refused(["run", b"\xff\xc3\xa9\xed\xa0\x80\xc3"], 2, '"?\u00e9????" is not expected')
        self.check_refused(["x" * 20000], 2, "unknown command")
        name = "\x1b[31m.json"
        model = self.script("a", name=name)
        result = self.call("run", "-m", model, "-p", "Hi", environment={"CLICOLOR_FORCE": "0"})
        self.check(result, 0, "a\n", "?[31m.json on ")
        self.assertNotIn(b"\x1b", result.stderr)


class Help(support.Case):
    def test_overview(self):
        for arguments in (["--help"], ["-h"], ["help"]):
            result = self.call(*arguments)
            self.check(result, 0)
            for text in ("Talk to a model", "  chat ", "  run ", "  models ", "  sample ", "  bench ", "llama.cpp, rml"):
                self.assertIn(text, result.stdout.decode())

    def test_no_command(self):
        self.check_refused([], 2, "a command is missing")
        terminal = self.terminal()
        terminal.expect("usage: tombola COMMAND")
        self.assertEqual(terminal.wait(), 0)

    def test_a_command_lists_all_its_flags(self):
        result = self.call("run", "--help")
        self.check(result, 0)
        text = result.stdout.decode()
        for name in json.loads(self.call("run", "--print-config", "--json").stdout):
            self.assertRegex(text, rf"--{re.escape(name)}\b")
        for part in ("-m, --model PATH", "--repetition-penalty", "-n, --max-tokens, --n-predict, --predict N",
                     "[0 to 1; default 0.95]", "\nSampling\n"):
            self.assertIn(part, text)
        self.assertEqual(text, self.call("help", "run").stdout.decode())
        self.assertNotIn("--prompt", self.call("models", "--help").stdout.decode())

    def test_version(self):
        result = self.call("--version")
        self.check(result, 0)
        lines = result.stdout.decode().splitlines()
        self.assertRegex(lines[0], r"^tombola \d+\.\d+\.\d+ \(commit .+\)$")
        self.assertRegex(lines[1], r"^libllama.* .+$")
        self.assertRegex(lines[2], r"^instruction set: (scalar|avx2)$")
        result = self.call("--version", environment={"TOMBOLA_CPU": "scalar"})
        self.assertIn(b"instruction set: scalar", result.stdout)

    def test_unknown_instruction_set(self):
        for arguments in (["--version"], ["run", "-p", "x", "-m", "script:nothing"]):
            result = self.call(*arguments, environment={"TOMBOLA_CPU": "nonsense"})
            self.check(result, 2, b"", "nonsense")

    def test_closed_output_is_an_error(self):
        for arguments in (["--help"], ["--version"], ["run", "--help"], ["run", "--print-config"]):
            with open("/dev/full", "wb") as full:
                result = subprocess.run([support.PROGRAM, *arguments], stdout=full, stderr=subprocess.PIPE,
                                        env=self.environment)
            self.assertEqual(result.returncode, 1, arguments)
            self.assertIn(b"cannot write to standard output", result.stderr)


class Models(support.Case):
    def test_none(self):
        result = self.call("models")
        self.check(result, 0, b"", "no model in", "make run")
        self.assertEqual(json.loads(self.call("models", "--json").stdout), [])

    def test_list(self):
        folder = os.path.join(self.environment["TOMBOLA_CACHE"], "models")
        os.makedirs(folder)
        for name, size in (("b.gguf", 1500), ("a-7B.Q4_K.gguf", 2500000), ("notes.txt", 5), (".hidden.gguf", 5)):
            with open(os.path.join(folder, name), "wb") as file:
                file.truncate(size)
        os.mkdir(os.path.join(folder, "folder.gguf"))
        found = json.loads(self.call("models", "--json").stdout)
        self.assertEqual(found, [
            {"name": "a-7B.Q4_K", "size": 2500000, "path": os.path.join(folder, "a-7B.Q4_K.gguf")},
            {"name": "b", "size": 1500, "path": os.path.join(folder, "b.gguf")}])
        lines = self.call("models").stdout.decode().splitlines()
        self.assertEqual([line.split() for line in lines], [
            ["a-7B.Q4_K", "2.5", "MB", os.path.join(folder, "a-7B.Q4_K.gguf")],
            ["b", "1.5", "kB", os.path.join(folder, "b.gguf")]])

    def test_cache_follows_xdg(self):
        folder = self.path("xdg/tombola/models")
        os.makedirs(folder)
        with open(os.path.join(folder, "c.gguf"), "wb"):
            pass
        del self.environment["TOMBOLA_CACHE"]
        result = self.call("models", environment={"XDG_CACHE_HOME": self.path("xdg")})
        self.assertIn(b"c.gguf", result.stdout)


if __name__ == "__main__":
    support.main()
