# SPDX-License-Identifier: Apache-2.0
"""The chat in tmux, as a person sees it: type, wait, interrupt, resize, look back, leave."""
import json
import os
import shutil
import subprocess
import time

import support


class Screen(support.Case):
    """One tmux server a test, on a socket of its own."""

    def setUp(self):
        super().setUp()
        self.socket = self.path("tmux")
        self.addCleanup(self.tmux, "kill-server")

    def tmux(self, *arguments):
        return subprocess.run(["tmux", "-S", self.socket, "-f", "/dev/null", *arguments], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, env=self.environment, timeout=support.WAIT)

    def start(self, *arguments):
        # The shell prints the exit status, since tmux itself ends with the program.
        command = " ".join([support.PROGRAM, *arguments]) + "; echo left with $?; sleep 1000"
        result = self.tmux("new-session", "-d", "-x", "90", "-y", "20", command)
        self.assertEqual(result.returncode, 0, result.stdout)

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def screen(self):
        return self.tmux("capture-pane", "-p").stdout.decode()

    def expect(self, test, what):
        end = time.monotonic() + support.WAIT
        while not test(self.screen()):
            if time.monotonic() > end:
                self.fail(f"{what} did not come; the screen:\n{self.screen()}")
            time.sleep(0.05)

    def expect_text(self, text, times=1):
        self.expect(lambda screen: screen.count(text) >= times, text)

    def expect_prompt(self):
        self.expect(lambda screen: screen.rstrip("\n").endswith("\n>>>"), "the prompt")

    def test_a_conversation(self):
        self.start("chat", "-m", self.script("Hello", " you"))
        self.expect_prompt()
        self.keys("How are yuo", "BSpace", "BSpace", "ou?", "Enter")
        self.expect_text("Hello you\n")
        self.expect_prompt()
        self.assertIn(">>> How are you?", self.screen())
        edits = os.path.isdir(self.path(".local/state/tombola"))  # built with libedit: then there is a history
        self.keys(*(["Up"] if edits else ["How are you?"]), "Enter")
        self.expect_text(">>> How are you?", 2)
        self.expect_text("Hello you\n", 2)
        self.expect_prompt()
        self.keys("C-d")
        self.expect_text("\nleft with 0")

    def test_interrupt_and_leave(self):
        self.start("chat", "-m", self.script("word ", after="repeat", delay_ms=20), "-n", "5000")
        self.expect_prompt()
        self.keys("Hi", "Enter")
        self.expect_text("word word")
        self.keys("C-c")
        self.expect_text("ended by interrupted")
        self.expect_prompt()
        self.keys("C-c")
        self.expect_text("\nleft with 130")

    def test_interrupt_while_it_reasons(self):
        think, word = support.ids("<think>", "hm ")
        self.start("chat", "-m", self.script("<think>", "hm ", steps=[think] + [word] * 3000, delay_ms=20), "-n", "5000",
                   "--greedy")
        self.expect_prompt()
        self.keys("Hi", "Enter")
        self.expect_text("hm hm")
        self.keys("C-c")
        self.expect_text("ended by interrupted")
        self.expect_prompt()
        self.keys("/undo", "Enter")
        self.expect_text("are forgotten")
        self.keys("C-d")
        self.expect_text("\nleft with 0")

    def edits(self):
        """Whether it is built with libedit: then a history is kept."""
        return os.path.isdir(self.path(".local/state/tombola"))

    def test_paste(self):
        self.start("chat", "-m", self.script("Hello", "\t", steps=support.ids("Hello")))
        self.expect_prompt()
        if not self.edits():
            self.skipTest("built without libedit")
        self.tmux("set-buffer", "first line\nsecond\tline\nthird")
        self.tmux("paste-buffer", "-p")
        self.expect_text("third")
        self.assertNotIn("Hello", self.screen())
        self.keys(" and typed", "Enter")
        self.expect_text("Hello\n")
        # One turn: 19 tokens of frame, then a token for each character, the line ends among them.
        self.expect_text(f"prompt {19 + len('first line/second/line/third and typed')} tokens")
        self.expect_prompt()
        self.keys("/save " + self.path("talk.json"), "Enter")
        self.expect_text("messages are in")
        with open(self.path("talk.json"), encoding="utf-8") as file:
            talk = json.load(file)
        self.assertEqual(talk["messages"][0]["content"], "first line\nsecond\tline\nthird and typed")
        self.keys("C-d")
        self.expect_text("\nleft with 0")

    def test_completion(self):
        self.start("chat", "-m", self.script("Hello", "\t", steps=support.ids("Hello")))
        self.expect_prompt()
        if not self.edits():
            self.skipTest("built without libedit")
        self.keys("/un", "Tab", "Enter")
        self.expect_text(">>> /undo")
        self.expect_text("nothing to undo")
        self.keys("/s", "Tab")
        self.expect_text("/system  /set  /show  /stats  /save")
        self.keys("t", "Tab", "Enter")
        self.expect_text("answers 0, tokens 0")
        self.keys("/nonsense", "Tab", "Enter")
        self.expect_text("no command /nonsense")
        self.keys("a", "Tab", "b", "Enter")
        self.expect_text("Hello\n")
        self.keys("C-c")
        self.expect_text("\nleft with 130")

    def test_a_block_and_the_commands(self):
        self.start("chat", "-m", self.script("<think>", "so", "</think>", "Hello"), "--greedy")
        self.expect_prompt()
        self.keys('"""one', "Enter")
        self.expect(lambda screen: screen.rstrip("\n").endswith("\n..."), "the prompt of a block")
        self.keys('two"""', "Enter")
        self.expect_text("so\nHello\n")
        self.expect_prompt()
        self.keys("/regen", "Enter")
        self.expect_text("so\nHello\n", 2)
        self.expect_prompt()
        self.keys("/bye", "Enter")
        self.expect_text("\nleft with 0")

    def test_resize(self):
        self.start("chat", "-m", self.script("Hello", " you"))
        self.expect_prompt()
        self.keys("a question that is to be seen")
        self.expect_text("to be seen")
        for width in ("40", "70", "50"):
            self.tmux("resize-window", "-x", width, "-y", "15")
            time.sleep(0.1)
        self.keys(" whole", "Enter")
        self.expect_text("Hello you\n")
        self.expect_prompt()
        self.keys("/exit", "Enter")
        self.expect_text("\nleft with 0")


if __name__ == "__main__":
    if not shutil.which("tmux"):
        support.skip("tmux is missing")
    if not support.has_terminals():
        support.skip("this machine has no pseudo-terminals")
    support.main()
