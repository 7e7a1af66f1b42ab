# SPDX-License-Identifier: Apache-2.0
"""`tombola run` with scripted models: prompt sources, streaming, the end of an answer, bad input."""
import json
import os
import signal
import subprocess
import time

import support
from support import PROGRAM, ids


class Answers(support.Case):
    def test_answer_on_stdout_everything_else_on_stderr(self):
        model = self.script("Hello", " world")
        result = self.call("run", "-m", model, "-p", "Hi")
        self.check(result, 0, "Hello world\n", "context 4096", "prompt", "seed ")
        self.assertNotIn(b"\033", result.stderr)
        self.assertNotIn(b"ended by", result.stderr)

    def test_quiet(self):
        result = self.call("run", "-m", self.script("Hello"), "-p", "Hi", "--quiet")
        self.check(result, 0, "Hello\n")
        self.assertEqual(result.stderr, b"")

    def test_input_that_is_not_read(self):
        model, prompt = self.script("a"), self.write("prompt", "Hi")
        for arguments, text, whose in (
                (["-p", "Hi"], b"text", b"--prompt's"), (["-f", prompt], b"text", b"--file's"), (["-p", "Hi"], b"", None),
                (["-p", "Hi", "--quiet"], b"text", None), (["-f", "-"], b"text", None), ([], b"text", None)):
            reading, writing = os.pipe()  # filled before the program looks
            os.write(writing, text)
            os.close(writing)
            result = subprocess.run([PROGRAM, "run", "-m", model, *arguments], stdin=reading, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, env=self.environment, timeout=support.WAIT)
            os.close(reading)
            self.check(result, 0, "a\n")
            self.assertEqual(b"standard input is not read" in result.stderr, whose is not None, arguments)
            self.assertIn(whose or b"", result.stderr)

    def test_no_limit(self):
        model = self.script("word ", after="repeat", context=700)
        result = self.call("run", "-m", model, "-p", "Hi", "-n", "-1")
        self.check(result, 0, None, "ended by context")
        self.assertGreater(result.stdout.count(b"word "), 600)  # more than the 512 of the default

    def test_one_line_end_at_the_end(self):
        self.check(self.call("run", "-m", self.script("a", "\n"), "-p", "Hi"), 0, "a\n")
        self.check(self.call("run", "-m", self.script("a", "\n\n"), "-p", "Hi"), 0, "a\n\n")
        self.check(self.call("run", "-m", self.script(steps=[0]), "-p", "Hi"), 0, "\n")

    def test_special_tokens_are_no_text(self):
        model = self.script("a", "b", steps=[*ids("a"), 1, ids("a", "b")[1]])
        self.check(self.call("run", "-m", model, "-p", "Hi", "--greedy"), 0, "ab\n")

    def test_characters_split_over_tokens(self):
        model = self.script(b"\xf0\x9f", b"\x91", b"\x8b!", b"\xff", b"\xe2\x82")
        self.check(self.call("run", "-m", model, "-p", "Hi", "--greedy"), 0, "\U0001f44b!\ufffd\ufffd\n")

    def test_a_split_character_leaves_whole(self):
        model = self.script("a", b"\xf0\x9f", b"\x91\x8b", delay_ms=150)
        process = subprocess.Popen([PROGRAM, "run", "-m", model, "-p", "Hi", "--greedy"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=self.environment)
        pieces = []
        while piece := os.read(process.stdout.fileno(), 100):
            pieces.append(piece)
        process.communicate()
        self.assertEqual(pieces[:2], [b"a", "\U0001f44b".encode()])

    def test_max_tokens(self):
        result = self.call("run", "-m", self.script("a", "b", "c"), "-p", "Hi", "-n", "2")
        self.check(result, 0, "ab\n", "answer 2 tokens", "ended by max_tokens")

    def test_context_full_is_said(self):
        model = self.script("a", after="repeat")
        result = self.call("run", "-m", model, "-p", "Hi", "--ctx", "40")
        self.check(result, 0, None, "ended by context_full", "the context is full (40 tokens)")
        # The prompt is 21 tokens: 3 special ones, "user", "assistant", three line ends, "Hi". The last token of the
        # answer is reported and no longer run, so it needs no position.
        self.assertEqual(result.stdout, b"a" * (40 - 21 + 1) + b"\n")

    def test_prompt_longer_than_the_context(self):
        result = self.call("run", "-m", self.script("a"), "-p", "x" * 50, "--ctx", "40")
        self.check(result, 1, b"", "tokens long", "holds 40", "--ctx")

    def test_ignore_eos(self):
        model = self.script("a", "b", steps=[*ids("a"), 0], after="repeat")
        self.check(self.call("run", "-m", model, "-p", "Hi", "--greedy"), 0, "a\n")
        result = self.call("run", "-m", model, "-p", "Hi", "--greedy", "--ignore-eos", "-n", "4")
        self.check(result, 0, None, "ended by max_tokens", "answer 4 tokens")

    def test_biases_of_ids_and_of_text(self):
        model = self.script("cat", "dog", steps=[*ids("cat")])
        self.check(self.call("run", "-m", model, "-p", "Hi", "--greedy"), 0, "cat\n")
        self.check(self.call("run", "-m", model, "-p", "Hi", "--greedy", "-n", "1", "-l",
                             f"{ids('cat', 'dog')[1]}+20"), 0, "dog\n")
        self.check(self.call("run", "-m", model, "-p", "Hi", "--greedy", "-n", "1", "-l", '"dog"+20'), 0,
                   "dog\n")
        result = self.call("run", "-m", model, "-p", "Hi", "-l", '"doggy"+20')
        self.check(result, 2, b"", '"doggy" is 3 tokens')
        self.check(self.call("run", "-m", model, "-p", "Hi", "-l", "99999+1"), 2, b"", "99999")

    def test_json(self):
        result = self.call("run", "-m", self.script("a", "b"), "-p", "Hi", "--json", "--seed", "5")
        self.check(result, 0)
        answer = json.loads(result.stdout)
        self.assertEqual(answer["text"], "ab")
        self.assertEqual(answer["tokens"], ids("a", "b"))
        self.assertEqual((answer["finish_reason"], answer["stop_reason"], answer["seed"]), ("stop", "end_token", 5))
        self.assertEqual(answer["stats"]["generated_tokens"], 2)
        answer = json.loads(self.call("run", "-m", self.script("a", "b"), "-p", "Hi", "--json", "-n", "1").stdout)
        self.assertEqual((answer["finish_reason"], answer["stop_reason"]), ("length", "max_tokens"))

    def test_seed(self):
        model = self.script("a", "b", "c", "d", steps=[], hash=7)
        def text(*flags):
            result = self.call("run", "-m", model, "-p", "Hi", "-n", "40", "--ignore-eos", "--temp", "1", "--top-k",
                               "0", *flags)
            self.check(result, 0)
            return result
        self.assertEqual(text("-s", "1").stdout, text("-s", "1").stdout)
        self.assertNotEqual(text("-s", "1").stdout, text("-s", "2").stdout)
        self.assertNotEqual(text().stdout, text().stdout)
        free = text()
        seed = free.stderr.split(b"seed ")[1].split(b";")[0].split(b"]")[0].decode()
        self.assertEqual(text("-s", seed).stdout, free.stdout)
        self.assertEqual(text("--dialect", "rml").stdout, text("--dialect", "rml").stdout)
        self.assertIn(b"seed 0", text("--dialect", "rml").stderr)


class Prompts(support.Case):
    """What the model is given shows in the number of prompt tokens, and in what it can't tokenise."""

    def tokens(self, *arguments, stdin=b"", **members):
        result = self.call("run", "-m", self.script("ok", **members), "--json", *arguments, stdin=stdin)
        self.check(result, 0)
        return json.loads(result.stdout)["stats"]["prompt_tokens"]

    def test_sources(self):
        wanted = self.tokens("-p", "one\ntwo")
        path = self.write("prompt.txt", "one\ntwo\n")
        self.assertEqual(self.tokens("-f", path), wanted)
        self.assertEqual(self.tokens("--file=" + path), wanted)
        self.assertEqual(self.tokens("-f", "-", stdin=b"one\ntwo"), wanted)
        self.assertEqual(self.tokens(stdin=b"one\ntwo\n"), wanted)
        self.assertEqual(self.tokens(stdin=b"one\ntwo\r\n"), wanted)
        self.assertEqual(self.tokens(stdin=b"one\ntwo\n\n"), wanted + 1)
        self.assertEqual(self.tokens("-p", "one\ntwo", stdin=b"not read"), wanted)

    def test_stdin_is_not_read_with_a_prompt(self):
        reading, writing = os.pipe()
        process = subprocess.run([PROGRAM, "run", "-m", self.script("ok"), "-p", "Hi"], stdin=reading,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment, timeout=60)
        self.assertEqual(process.stdout, b"ok\n")
        os.write(writing, b"x")
        self.assertEqual(os.read(reading, 1), b"x")
        os.close(reading)
        os.close(writing)

    def test_system_message(self):
        with_system = self.tokens("-p", "Hi", "--system", "Be short")
        self.assertEqual(with_system - self.tokens("-p", "Hi"), len("system\nBe short\n") + 2)

    def test_templates(self):
        chatml = self.tokens("-p", "Hi")
        result = self.call("run", "-m", self.script("ok", template=None), "-p", "Hi", "--json")
        self.check(result, 0, None, "no chat template", "plain completion", "--chat-template")
        self.assertEqual(json.loads(result.stdout)["stats"]["prompt_tokens"], 2)
        self.assertEqual(self.tokens("-p", "Hi", "--chat-template", "none"), 2)
        self.assertEqual(self.tokens("-p", "Hi", "--format", "chatml", template=None), chatml)
        result = self.call("run", "-m", self.script("ok"), "-p", "Hi", "--chat-template", "nonsense")
        self.check(result, 2, b"", "--chat-template", "nonsense", "chatml")

    def test_bad_prompts(self):
        model = self.script("ok")
        self.check(self.call("run", "-m", model, "-p", ""), 2, b"", "the prompt is empty")
        self.check(self.call("run", "-m", model, stdin=b"\n"), 2, b"", "the prompt is empty")
        self.check(self.call("run", "-m", model, stdin=b"a\0b"), 2, b"", "NUL byte at offset 1")
        self.check(self.call("run", "-m", model, "-f", "missing.txt"), 1, b"", "missing.txt", "No such file")
        self.check(self.call("run", "-m", model, "-f", self.folder), 1, b"", self.folder, "directory")
        self.check(self.call("run", "-m", model, "-p", "\u00e9"), 1, b"", "0xc3")


class BadModels(support.Case):
    def test_refused(self):
        broken = self.write("broken.json", "{")
        rows = [("missing.gguf", "missing.gguf"), (self.folder, self.folder),
                ("script:missing.json", "missing.json"), ("script:" + broken, ""), ("script:" + self.folder, "")]
        for model, text in rows:
            self.check_refused(["run", "-m", model, "-p", "Hi"], 1, text)
        script = self.script("a")[len("script:"):]
        if b"libllama: not built in" not in self.call("--version").stdout:
            self.check_refused(["run", "-m", "missing.gguf", "-p", "Hi"], 1, "tombola models lists")
            self.check_refused(["run", "-m", script, "-p", "Hi"], 1, script, "--model script:FILE")

    def test_no_default_model(self):
        self.check_refused(["run", "-p", "Hi"], 1, "the default model is not here", "make run", "--model",
                           self.environment["TOMBOLA_CACHE"])

    def test_nothing_is_left_behind(self):
        self.call("run", "-m", "missing.gguf", "-p", "Hi")
        self.call("run", "-m", self.script("ok"), "-p", "Hi")
        self.assertEqual(os.listdir(self.folder), ["model.json"])

    def test_a_forward_pass_that_fails(self):
        result = self.call("run", "-m", self.script("a", "b", "c", fail_at=2), "-p", "Hi", "--greedy")
        self.check(result, 1, "ab\n", "ended by failed")
        result = self.call("run", "-m", self.script("a", fail_at=0), "-p", "Hi", "--greedy")
        self.check(result, 1, b"", "forward pass of step 0")

    def test_a_row_that_is_no_distribution(self):
        size = len(support.vocabulary("a"))
        for entry in ("nan", "-inf"):
            result = self.call("run", "-m", self.script("a", steps=[{"logits": [entry] * size}]), "-p", "Hi")
            self.check(result, 1, b"")
            self.assertNotEqual(result.stderr, b"")


class Ends(support.Case):
    """Closed output and Ctrl-C, without a terminal."""

    def start(self, model, *arguments, **streams):
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
        process = subprocess.Popen([PROGRAM, "run", "-m", model, "-p", "Hi", *arguments], env=self.environment, **streams)
        self.addCleanup(process.wait)
        return process

    def test_closed_pipe(self):
        process = self.start(self.script("a", after="repeat", delay_ms=10), "--quiet", "-n", "100000")
        os.read(process.stdout.fileno(), 1)
        process.stdout.close()
        self.assertEqual(process.wait(timeout=60), 1)
        self.assertEqual(process.stderr.read(), b"")
        process.stderr.close()

    def test_full_disk(self):
        with open("/dev/full", "wb") as full:
            process = self.start(self.script("a"), stdout=full)
            _, stderr = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1)
        self.assertIn(b"cannot write to standard output: No space left on device", stderr)

    def test_interrupt_keeps_the_partial_answer(self):
        process = self.start(self.script("a", after="repeat", delay_ms=30), "--ignore-eos")
        self.assertEqual(os.read(process.stdout.fileno(), 1), b"a")
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertRegex(stdout, rb"^a*\n$")
        self.assertIn(b"ended by interrupted", stderr)

    def test_second_interrupt_does_not_wait(self):
        process = self.start(self.script("a", after="repeat", delay_ms=8000))
        while b"context" not in os.read(process.stderr.fileno(), 1000):
            pass
        time.sleep(0.3)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=60), 130)
        self.assertLess(time.monotonic() - start, 4)
        process.stdout.close()
        process.stderr.close()


if __name__ == "__main__":
    support.main()
