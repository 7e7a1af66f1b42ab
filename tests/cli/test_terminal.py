# SPDX-License-Identifier: Apache-2.0
"""The program on a pseudo-terminal: prompt, editing, history, Ctrl-C, Ctrl-D, colour, progress."""
import json
import os
import re
import signal
import termios
import time

import support

PROMPT = ">>> "
CTRL_C, CTRL_D, CTRL_U, CTRL_Z = b"\x03", b"\x04", b"\x15", b"\x1a"
UP, LEFT, BACKSPACE = b"\x1b[A", b"\x1b[D", b"\x7f"


class Chat(support.Case):
    def endless(self, **members):
        return self.script("word ", after="repeat", **{"delay_ms": 20, **members})

    def test_a_question_and_ctrl_d(self):
        terminal = self.terminal("chat", "-m", self.script("Hello", " you"))
        terminal.expect("context 4096")
        terminal.expect(PROMPT)
        terminal.type("Hi\r")
        terminal.expect("Hello you\r\n")
        terminal.expect("[prompt 21 tokens")
        terminal.expect(PROMPT)
        terminal.type(CTRL_D)
        self.assertEqual(terminal.wait(), 0)

    def test_commands(self):
        terminal = self.terminal("chat", "-m", self.script("Hello"))
        terminal.expect(PROMPT)
        terminal.type("/help\r")
        terminal.expect("/reset")
        terminal.expect(PROMPT)
        terminal.type("/reset\r")
        terminal.expect("starts again")
        terminal.expect(PROMPT)
        terminal.type("/exit\r")
        self.assertEqual(terminal.wait(), 0)

    def test_an_empty_line(self):
        terminal = self.terminal("chat", "-m", self.script("Hello"))
        terminal.expect(PROMPT)
        terminal.type("\r")
        terminal.expect(PROMPT)
        terminal.type(CTRL_D)
        self.assertEqual(terminal.wait(), 0)
        terminal = self.terminal("chat", "-m", self.script("Hello"), "--dialect", "rml")
        terminal.expect(PROMPT)
        terminal.type("\r")
        self.assertEqual(terminal.wait(), 0)

    def test_ctrl_c_stops_the_answer_and_the_next_one_leaves(self):
        terminal = self.terminal("chat", "-m", self.endless(), "-n", "5000")
        terminal.expect(PROMPT)
        terminal.type("Hi\r")
        terminal.expect("word word ")
        terminal.type(CTRL_C)
        terminal.expect("ended by interrupted")
        terminal.expect(PROMPT)
        terminal.type("And\r")
        terminal.expect("word word ")
        terminal.type(CTRL_C)
        terminal.expect("ended by interrupted")
        terminal.expect(PROMPT)
        stats = [list(map(int, row)) for row in
                 re.findall(rb"prompt (\d+) tokens \((\d+) cached\).*?answer (\d+) tokens", terminal.seen)]
        self.assertEqual(len(stats), 2)
        # The partial answer is part of the conversation: it is cached but for its last token, which was not run.
        self.assertEqual(stats[1][1], stats[0][0] + stats[0][2] - 1)
        terminal.type(CTRL_C)
        self.assertEqual(terminal.wait(), 130)

    def test_two_ctrl_c_in_an_answer_leave_at_once(self):
        terminal = self.terminal("chat", "-m", self.endless(delay_ms=8000))
        terminal.expect(PROMPT)
        terminal.type("Hi\r")
        time.sleep(0.3)
        start = time.monotonic()
        terminal.type(CTRL_C)
        time.sleep(0.1)
        terminal.type(CTRL_C)
        self.assertEqual(terminal.wait(), 130)
        self.assertLess(time.monotonic() - start, 4)

    def test_ctrl_c_at_the_prompt(self):
        terminal = self.terminal("chat", "-m", self.script("Hello"))
        terminal.expect(PROMPT)
        terminal.type("half a line")
        terminal.expect("line")
        self.assertNotEqual(terminal.echoes(), self.edits(), "with editing, the terminal itself doesn't echo")
        terminal.type(CTRL_C)
        if self.edits():
            terminal.expect("^C\r\n")
            terminal.expect(PROMPT)
            self.assertIsNone(terminal.process.poll(), "the line is dropped, and the chat goes on")
            terminal.type(CTRL_C)
        self.assertEqual(terminal.wait(), 130)
        self.assertTrue(terminal.echoes(), "the terminal is left as it was found")

    def test_ctrl_c_drops_what_was_typed(self):
        terminal = self.terminal("chat", "-m", self.script("Hello", after="repeat"), "-n", "1")
        terminal.expect(PROMPT)
        if not self.edits():
            self.skipTest("built without libedit")
        # In the middle of a line, and while a search waits for its end.
        for typed, shown in ((b"dropped" + LEFT, "dropped"), (b"\x12", "bck")):
            terminal.type(typed)
            terminal.expect(shown)
            terminal.type(CTRL_C)
            terminal.expect("^C")
            terminal.expect(PROMPT)
        terminal.type("kept\r")
        terminal.expect("Hello\r\n")
        terminal.expect(PROMPT)
        terminal.type('"""one\r')
        terminal.expect("... ")
        terminal.type("two")
        terminal.expect("two")
        terminal.type(CTRL_C)  # the whole text, of which a line had come
        terminal.expect(PROMPT)
        terminal.type("also\r")
        terminal.expect("Hello\r\n")
        terminal.expect(PROMPT)
        terminal.type('"""one\r')
        terminal.expect("... ")
        terminal.type(CTRL_C)  # nothing typed in this line, but a text has begun
        terminal.expect(PROMPT)
        terminal.type("/save all.json\r")
        terminal.expect(PROMPT)
        terminal.type(CTRL_C)
        self.assertEqual(terminal.wait(), 130)
        self.assertTrue(terminal.echoes(), "the terminal is left as it was found")
        with open(self.path("all.json"), encoding="utf-8") as file:
            said = [m["content"] for m in json.load(file)["messages"] if m["role"] == "user"]
        self.assertEqual(said, ["kept", "also"])
        with open(self.path(".local/state/tombola/history"), encoding="utf-8") as file:
            self.assertEqual(file.read().split("\n")[1:], ["kept", '"""one', "also", '"""one', "/save\\040all.json", ""])

    def test_sigterm_at_the_prompt_restores_the_terminal(self):
        terminal = self.terminal("chat", "-m", self.script("Hello"))
        terminal.expect(PROMPT)
        terminal.process.send_signal(signal.SIGTERM)
        self.assertEqual(terminal.wait(), -signal.SIGTERM)
        self.assertTrue(terminal.echoes())

    def edits(self):
        """Whether the program has line editing: then typing goes through it and a history is kept."""
        folder = self.path(".local/state/tombola")
        return os.path.isdir(folder)

    def test_editing_and_history(self):
        model = self.script("Hello")
        terminal = self.terminal("chat", "-m", model)
        terminal.expect(PROMPT)
        if not self.edits():
            self.skipTest("built without libedit")
        terminal.type(b"Hx" + BACKSPACE + b"y" + LEFT + b"e" + b"\r")
        terminal.expect("Hello\r\n")
        terminal.expect(PROMPT)
        terminal.type("second\r")
        terminal.expect("Hello\r\n")
        terminal.expect(PROMPT)
        terminal.type(UP + UP + b"\r")
        terminal.expect("Hello\r\n")
        terminal.expect(PROMPT)
        terminal.type(CTRL_D)
        self.assertEqual(terminal.wait(), 0)
        path = self.path(".local/state/tombola/history")
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read().split("\n")[1:], ["Hey", "second", "Hey", ""])
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        terminal = self.terminal("chat", "-m", model)
        terminal.expect(PROMPT)
        terminal.type(UP)
        terminal.expect("Hey")
        terminal.type(CTRL_U + CTRL_D)
        self.assertEqual(terminal.wait(), 0)

    def test_history_follows_xdg_and_may_be_missing(self):
        terminal = self.terminal("chat", "-m", self.script("Hello"), environment={"XDG_STATE_HOME": "/proc/nowhere"})
        terminal.expect(PROMPT)
        terminal.type("Hi\r")
        terminal.expect("Hello\r\n")
        terminal.expect(PROMPT)
        terminal.type(CTRL_D)
        self.assertEqual(terminal.wait(), 0)

    def test_utf8_in_any_locale(self):
        for locale in ("C", "C.UTF-8"):
            model = self.script("Hello", "\u00e9", "\u4f60")
            terminal = self.terminal("chat", "-m", model, environment={"LC_ALL": locale})
            terminal.expect(PROMPT)
            terminal.type("\u00e9\u4f60\r")
            terminal.expect("Hello")
            terminal.expect("[prompt 21 tokens")
            terminal.type(CTRL_D)
            self.assertEqual(terminal.wait(), 0)

    def test_suspend_and_resume(self):
        terminal = self.terminal("chat", "-m", self.script("Hello"))
        terminal.expect(PROMPT)
        edits = not terminal.echoes()
        terminal.process.send_signal(signal.SIGSTOP)
        os.waitpid(terminal.process.pid, os.WUNTRACED)
        modes = termios.tcgetattr(terminal.master)  # as a shell does when its job stops
        modes[3] |= termios.ECHO | termios.ICANON
        termios.tcsetattr(terminal.master, termios.TCSANOW, modes)
        terminal.process.send_signal(signal.SIGCONT)
        if edits:
            terminal.expect(PROMPT)
            self.assertFalse(terminal.echoes())
        terminal.type("Hi\r")
        terminal.expect("Hello\r\n")
        terminal.expect(PROMPT)
        terminal.type(CTRL_D)
        self.assertEqual(terminal.wait(), 0)

    def test_typing_while_the_answer_comes(self):
        terminal = self.terminal("chat", "-m", self.script("word ", "again ", delay_ms=200))
        terminal.expect(PROMPT)
        terminal.type("Hi\r")
        if not self.edits():
            self.skipTest("built without libedit")
        terminal.expect("word ")
        terminal.type(b"next\r" + CTRL_D)
        terminal.expect("again \r\n")  # not mixed with what was typed
        terminal.expect(">>> next")
        terminal.expect("word again \r\n")
        self.assertEqual(terminal.wait(), 0)


class Streams(support.Case):
    def test_colour(self):
        rows = [([], {}, True), (["--color", "never"], {}, False), (["--color", "always"], {"NO_COLOR": "1"}, True),
                ([], {"NO_COLOR": "1"}, False), ([], {"NO_COLOR": ""}, True), ([], {"TERM": "dumb"}, False), ([], {"TERM": ""}, False),
                ([], {"NO_COLOR": "1", "CLICOLOR_FORCE": "1"}, False)]
        for flags, environment, wanted in rows:
            terminal = self.terminal("run", "-m", self.script("Hello"), "-p", "Hi", *flags, environment=environment)
            self.assertEqual(terminal.wait(), 0)
            self.assertEqual(b"\x1b[2m" in terminal.seen, wanted, (flags, environment, terminal.seen))
        for environment, wanted in (({}, False), ({"CLICOLOR_FORCE": "1"}, True), ({"CLICOLOR_FORCE": "0"}, False)):
            result = self.call("run", "-m", self.script("Hello"), "-p", "Hi", environment=environment)
            self.assertEqual(b"\x1b[2m" in result.stderr, wanted, environment)
            self.assertEqual(result.stdout, b"Hello\n")

    def test_only_answers_leave_through_a_pipe(self):
        reading, writing = os.pipe()
        terminal = self.terminal("chat", "-m", self.script("Hello"), stdout=writing)
        os.close(writing)
        terminal.expect(">>> ")
        terminal.type("Hi\r")
        terminal.expect("[prompt")
        terminal.type(CTRL_D)
        self.assertEqual(terminal.wait(), 0)
        self.assertEqual(os.read(reading, 1000), b"Hello\n")
        os.close(reading)

    def test_an_answer_sends_no_commands_to_the_terminal(self):
        model = self.script("a", "\x1b[2J", "\x07", "\u009b", "\u00e9\tb")
        terminal = self.terminal("run", "-m", model, "-p", "Hi", "--greedy", "--quiet")
        self.assertEqual(terminal.wait(), 0)
        self.assertEqual(terminal.seen.decode(), "a\ufffd[2J\ufffd\ufffd\u00e9\tb\r\n")
        result = self.call("run", "-m", model, "-p", "Hi", "--greedy")
        self.assertEqual(result.stdout.decode(), "a\x1b[2J\x07\u009b\u00e9\tb\n")

    def test_the_system_message_sends_none_either(self):
        terminal = self.terminal("chat", "-m", self.script("a"), "--system", "one\n\x1b[31mtwo")
        terminal.expect(PROMPT)
        terminal.type("/system\r")
        terminal.expect("one\r\n\ufffd[31mtwo\r\n")
        terminal.expect(PROMPT)
        terminal.type(CTRL_D)
        self.assertEqual(terminal.wait(), 0)

    def test_progress(self):
        terminal = self.terminal("run", "-m", self.script("Hello"), "-p", "Hi " * 300)
        self.assertEqual(terminal.wait(), 0)
        self.assertIn(b"reading the prompt [", terminal.seen)
        shown = terminal.seen.split(b"\x1b[K")[-1]
        self.assertNotIn(b"[#", shown, "the bar is gone when the answer comes")
        terminal = self.terminal("run", "-m", self.script("Hello"), "-p", "Hi " * 300, "--quiet")
        self.assertEqual(terminal.wait(), 0)
        self.assertEqual(terminal.seen, b"Hello\r\n")

    def test_a_dumb_terminal_is_sent_text_alone(self):
        for term in ("dumb", "", None):
            if term is None:
                del self.environment["TERM"]
            else:
                self.environment["TERM"] = term
            terminal = self.terminal("run", "-m", self.script("Hello"), "-p", "Hi " * 300)
            self.assertEqual(terminal.wait(), 0)
            self.assertNotIn(b"\x1b", terminal.seen, term)
            self.assertNotIn(b"reading the prompt", terminal.seen)
            self.assertIn(b"Hello\r\n", terminal.seen)

    def test_run_reads_a_terminal_up_to_ctrl_d(self):
        terminal = self.terminal("run", "-m", self.script("Hello"))
        terminal.expect("Ctrl-D")
        terminal.type("Hi\r" + "there\r")
        terminal.type(CTRL_D)
        terminal.expect("Hello\r\n")
        self.assertEqual(terminal.wait(), 0)

    def test_ctrl_c_while_the_prompt_is_awaited(self):
        terminal = self.terminal("run", "-m", self.script("Hello"))
        terminal.expect("Ctrl-D")
        terminal.type(CTRL_C)
        self.assertEqual(terminal.wait(), 130)


if __name__ == "__main__":
    if not support.has_terminals():
        support.skip("this machine has no pseudo-terminals")
    support.main()
