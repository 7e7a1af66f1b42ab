# SPDX-License-Identifier: Apache-2.0
"""`tombola chat` in a pipe: one line is one turn, the cache is reused, a full context is said and survived."""
import json
import os
import re
import signal
import subprocess
import time

import support
from support import PROGRAM


class Chat(support.Case):
    def chat(self, model, stdin, *flags):
        return self.call("chat", "-m", model, *flags, stdin=stdin)

    def stats(self, result):
        """(prompt tokens, cached, answer tokens) of each turn."""
        found = re.findall(rb"\[prompt (\d+) tokens \((\d+) cached\).*?answer (\d+) tokens", result.stderr)
        return [tuple(map(int, row)) for row in found]

    def test_one_line_one_turn(self):
        result = self.chat(self.script("Hello", " you"), "one\ntwo\nthree")
        self.check(result, 0, "Hello you\n" * 3)
        self.assertNotIn(b">>>", result.stdout + result.stderr)
        self.assertEqual(len(self.stats(result)), 3)

    def test_the_cache_serves_all_but_the_new_turn(self):
        turns = self.stats(self.chat(self.script("Hello", " you"), "one\ntwo\nthree"))
        # A turn adds the end token of the answer, a line end, the question in its frame and the beginning of the
        # answer; everything before it is cached, the answer included.
        frame = len("\n" "user\n" "\n" "assistant\n") + 4
        self.assertEqual(turns[0], (frame - 2 + 3, 0, 2))
        for before, turn, question in zip(turns, turns[1:], ("two", "three")):
            self.assertEqual(turn[1], before[0] + before[2])
            self.assertEqual(turn[0], before[0] + before[2] + frame + len(question))

    def test_tokens_that_their_text_would_not_give(self):
        # The answer is spelled in single letters, which the tokeniser would join: its tokens must be kept as they are.
        model = self.script("Hello", steps=[ord(c) - 32 + 3 for c in "Hello"])
        turns = self.stats(self.chat(model, "one\ntwo", "--greedy"))
        self.assertEqual(turns[0][2], 5)
        self.assertEqual(turns[1][1], turns[0][0] + 5)

    def test_text_that_is_no_utf8(self):
        turns = self.stats(self.chat(self.script(b"\xff", b"\xe2\x82", "\0x"), "one\ntwo", "--greedy"))
        self.assertEqual(turns[1][1], turns[0][0] + 3)

    def test_the_token_at_the_limit_is_not_cached(self):
        turns = self.stats(self.chat(self.script("a", after="repeat"), "one\ntwo", "-n", "5"))
        self.assertEqual(turns[0][2], 5)
        self.assertEqual(turns[1][1], turns[0][0] + 4)

    def test_without_a_template(self):
        result = self.chat(self.script("a", "b", template=None), "one\ntwo")
        self.check(result, 0, "ab\nab\n", "no chat template")
        turns = self.stats(result)
        self.assertEqual(turns, [(3, 0, 2), (3 + 2 + len("\ntwo"), 5, 2)])

    def test_reset(self):
        model = self.script("a", "b", "c", "d", steps=[], hash=7)
        flags = ["-n", "20", "--ignore-eos", "-s", "5", "--temp", "1"]
        result = self.chat(model, "one\n/reset\none\none\n", *flags)
        self.check(result, 0, None, "the conversation starts again")
        turns = self.stats(result)
        self.assertEqual(turns[0][0], turns[1][0])
        self.assertEqual(turns[1][1], 0)
        self.assertGreater(turns[2][1], 0)
        first = self.chat(model, "one\n", *flags).stdout
        self.assertTrue(result.stdout.startswith(first + first))

    def test_commands(self):
        result = self.chat(self.script("a"), "/help\n/nonsense\n/reset now\n /usr/bin\n/exit\nnot asked\n")
        self.check(result, 0, "a\n", "/reset", "/exit", "no command /nonsense", "/reset takes nothing")
        for word in ("/quit", "/bye", "/exit"):
            self.check(self.chat(self.script("a"), word + "\nnot asked\n"), 0, b"")

    def test_regen(self):
        model = self.script("a", "b", "c", "d", steps=[], hash=7)
        flags = ["-n", "20", "--ignore-eos", "-s", "5", "--temp", "1"]
        result = self.chat(model, "one\n/regen\ntwo\n", *flags)
        self.check(result, 0)
        first, second, _ = result.stdout.decode().splitlines()
        self.assertNotEqual(first, second)
        turns = self.stats(result)
        self.assertEqual(turns[0][0], turns[1][0])
        self.assertGreater(turns[1][1], 0)
        self.assertGreater(turns[2][0], turns[1][0] + 20)
        self.check(self.chat(model, "/regen\n"), 0, b"", "there is no answer yet")

    def test_undo(self):
        result = self.chat(self.script("a"), "one\ntwo\n/undo\ntwo\n/undo\n/undo\n/undo\n")
        self.check(result, 0, "a\na\na\n", "are forgotten", "nothing to undo")
        turns = self.stats(result)
        self.assertEqual(turns[1][0], turns[2][0])

    def test_system(self):
        result = self.chat(self.script("a"), "one\n/system\n/system Be brief\none\n/system\n/undo\n/undo\none\n"
                           "/reset\none\n/system none\n/undo\none\n/system\n")
        self.check(result, 0, "a\n" * 5, "(no system message)", "\nBe brief\n", "no system message any more")
        turns = self.stats(result)
        extra = 2 + len("system\nBe brief\n")
        self.assertEqual([turn[0] - turns[0][0] for turn in turns[2:]], [extra, extra, 0])

    def test_set_and_show(self):
        model = self.script("cat", "dog", "z", steps=[98 + 1, 98 + 2])
        result = self.chat(model, "/show\n/set temperature 0\n/set max-tokens 1\none\n/set stop \"og\"\n/set n 5\ntwo\n"
                           "/set stop none\nthree\n/set ignore_eos yes\n/show temperature\n", "--greedy")
        self.check(result, 0, "cat\ncatd\ncatdog\n", "temperature ", "top-k ", 'stop                 "og"', "ignore-eos           yes")
        self.assertIn("flag ", result.stderr.decode().splitlines()[-1])
        for line, text in (("/set", "/set NAME VALUE"), ("/set top-p 2", "tombola: top_p must be in"), ("/set bogus 1", "no option bogus"),
                           ("/set model x", "can't be changed here"), ("/set max-tokens 0", "1 to"),
                           ("/set ignore-eos maybe", "true or false"), ("/show bogus", "no option bogus"),
                           ("/set top-p 2\n/set temp x", "tombola: temperature"), ("/set stop \"\"", "empty"),
                           ("/set system x", "/system TEXT"),
                           ("/set think-open none\n/set think-budget 5", "needs the markers")):
            result = self.chat(model, line + "\none\n", "--greedy")
            self.check(result, 0, "catdog\n", text)

    def test_set_for_the_answer(self):
        result = self.chat(self.script("a"), "/set answer-top-k 3\n/set top-p 0.5\n/show answer-top-k\none\n")
        self.check(result, 0, "a\n", "answer-top-k         3", "top-p                0.5")

    def test_save_and_load(self):
        path = self.path("talk.json")
        result = self.chat(self.script("a"), f"/save {path}\none\n/save {path}\ntwo\n", "--system", "Be brief")
        self.check(result, 0, "a\na\n", "messages are in")
        with open(path, encoding="utf-8") as file:
            talk = json.load(file)
        self.assertEqual(talk, {"messages": [{"role": "system", "content": "Be brief"}, {"role": "user", "content": "one"},
                                             {"role": "assistant", "content": "a"}]})
        loaded = self.chat(self.script("a"), f"/load {path}\ntwo\n/system\n")
        self.check(loaded, 0, "a\n", "3 messages", "\nBe brief\n")
        self.assertEqual(self.stats(loaded)[0][0], self.stats(result)[1][0])
        for text, *wanted in (("{", "byte"), ("{}", '"messages"'), ('{"messages": [{"role": "x", "content": "a"}]}', "/messages/0"),
                              ('{"messages": [{"role": "user", "content": 5}]}', "/messages/0")):
            self.write("bad.json", text)
            self.check(self.chat(self.script("a"), "one\n/load bad.json\n/undo\n"), 0, "a\n", "bad.json", "are forgotten", *wanted)
        self.check(self.chat(self.script("a"), "/load none.json\n/load\n/save\n"), 0, b"", "none.json", "/load needs", "/save needs")
        self.check(self.chat(self.script("a"), "one\n/save no/such\n"), 0, "a\n", "cannot write no/such: No such file")

    def test_stats_command(self):
        result = self.chat(self.script("a", "b"), "one\ntwo\n/stats\n")
        self.check(result, 0, None, "answers 2, tokens 4", "4 messages")

    def test_a_block_of_lines(self):
        result = self.chat(self.script("a"), '"""one\n\n/two"""\n"""six"""\n"""\nlines\n"""\n')
        self.check(result, 0, "a\n" * 3)
        turns = self.stats(result)
        self.assertEqual(turns[0][0], 19 + len("one\n\n/two"))
        frame = len("\n" "user\n" "\n" "assistant\n") + 4
        self.assertEqual(turns[1][0] - turns[0][0], 1 + frame + 3)
        self.assertEqual(turns[2][0] - turns[1][0], 1 + frame + len("\nlines\n"))
        self.check(self.chat(self.script("a"), '"""one\ntwo\n'), 0, b"", "has no end")

    def test_empty_lines(self):
        self.check(self.chat(self.script("a"), "one\n\n \ntwo\n"), 0, "a\na\n")
        result = self.chat(self.script("a"), "one\n\ntwo\n", "--dialect", "rml")
        self.check(result, 0, "a\n")

    def test_a_prompt_is_answered_once(self):
        self.check(self.call("chat", "-m", self.script("a"), "-p", "Hi", stdin="not\nread\n"), 0, "a\n")
        path = self.write("prompt.txt", "Hi\n")
        self.check(self.call("chat", "-m", self.script("a"), "-f", path, stdin="not\nread\n"), 0, "a\n")

    def test_a_long_question_is_refused_and_the_chat_goes_on(self):
        result = self.chat(self.script("a"), "one\n" + "x" * 200 + "\ntwo\n", "--ctx", "100")
        self.check(result, 0, "a\na\n", "this was not asked", "tokens long", "holds 100", "/reset", "--ctx")
        turns = self.stats(result)
        self.assertEqual(len(turns), 2)
        self.assertEqual(turns[1][1], turns[0][0] + 1)

    def test_a_full_context_is_said_and_reset_helps(self):
        result = self.chat(self.script("a", after="repeat"), "one\ntwo\n/reset\nsix\n", "--ctx", "60")
        self.check(result, 0, None, "ended by context_full", "the context is full (60 tokens): /reset", "this was not asked")
        answers = result.stdout.split(b"\n")
        self.assertEqual(answers[0], answers[1])
        self.assertEqual(len(answers), 3)

    def test_a_forward_pass_that_fails(self):
        result = self.chat(self.script("a", "b", fail_at=1), "one\ntwo\n", "--greedy")
        self.check(result, 0, "a\nab\n", "ended by failed")

    def test_nul_byte(self):
        self.check(self.chat(self.script("a"), b"o\0ne\ntwo\n"), 0, "a\n", "NUL byte")

    def test_closed_output_ends_the_chat(self):
        process = subprocess.Popen([PROGRAM, "chat", "-m", self.script("a")], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment)
        process.stdout.close()
        process.stdin.write(b"one\n")
        process.stdin.flush()
        self.assertEqual(process.wait(timeout=60), 1)
        self.assertNotIn(b"cannot write", process.stderr.read())
        process.stdin.close()
        process.stderr.close()

    def test_interrupt_before_the_answer(self):
        process = subprocess.Popen([PROGRAM, "chat", "-m", self.script("a", delay_ms=300)], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment)
        process.stdin.write(b"x" * 3000 + b"\n")  # several chunks, so that it is interrupted between two of them
        process.stdin.flush()
        while b"context" not in os.read(process.stderr.fileno(), 1000):
            pass
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(b"two\n", timeout=60)
        self.assertEqual((process.returncode, stdout), (0, b"a\n"), stderr)
        self.assertIn(b"not part of the conversation", stderr)
        prompts = re.findall(rb"\[prompt (\d+) tokens", stderr)
        self.assertEqual(int(prompts[-1]), 22)

    def test_interrupt_stops_the_answer(self):
        process = subprocess.Popen([PROGRAM, "chat", "-m", self.script("a", after="repeat", delay_ms=20), "-n", "5000"],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=self.environment)
        process.stdin.write(b"one\n")
        process.stdin.flush()
        self.assertEqual(os.read(process.stdout.fileno(), 1), b"a")
        process.send_signal(signal.SIGINT)
        while b"\n" not in os.read(process.stdout.fileno(), 1000):
            pass
        process.stdin.write(b"two\n")
        process.stdin.flush()
        self.assertEqual(os.read(process.stdout.fileno(), 1), b"a")
        process.send_signal(signal.SIGINT)
        while b"\n" not in os.read(process.stdout.fileno(), 1000):
            pass
        while b"[prompt" not in os.read(process.stderr.fileno(), 10000):
            pass
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)


if __name__ == "__main__":
    support.main()
