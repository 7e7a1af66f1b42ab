# SPDX-License-Identifier: Apache-2.0
"""What ends and steers an answer: stop strings, budgets, guards, bans, reasoning and where it goes."""
import json

import support
from support import ids


class Endings(support.Case):
    def run_json(self, model, *flags):
        result = self.call("run", "-m", model, "-p", "Hi", "--greedy", "--json", *flags)
        self.check(result, 0)
        return json.loads(result.stdout)

    def test_stop(self):
        model = self.script("one ", "tw", "o thr", "ee")
        for flag in ("--stop", "--reverse-prompt", "-r"):
            result = self.call("run", "-m", model, "-p", "Hi", "--greedy", flag, "two")
            self.check(result, 0, "one \n", "ended by stop_string")
        answer = self.run_json(model, "--stop", "never", "--stop", "o t")
        self.assertEqual((answer["text"], answer["finish_reason"], answer["stop_reason"]),
                         ("one tw", "stop", "stop_string"))
        # What could have become a stop string comes out at the end.
        self.assertEqual(self.run_json(model, "--stop", "three!")["text"], "one two three")

    def test_stop_with_a_line_end(self):
        model = self.script("a", "\n", "b")
        self.check(self.call("run", "-m", model, "-p", "Hi", "--greedy", "--stop", "\\n"), 0, "a\n")

    def test_stop_of_minfer_counts_where_a_token_ends(self):
        model = self.script("a", "xbx", "xb", "c")
        self.assertEqual(self.run_json(model, "--stop", "xb")["text"], "a")
        self.assertEqual(self.run_json(model, "--stop", "xb", "--dialect", "minfer")["text"][:4], "axbx")

    def test_each_end_token_ends(self):
        for end in (0, 2):
            answer = self.run_json(self.script("a", steps=[*ids("a"), end, *ids("a")]))
            self.assertEqual((answer["text"], answer["tokens"], answer["finish_reason"]), ("a", ids("a"), "stop"))

    def test_min_tokens(self):
        model = self.script("a", steps=[*ids("a"), 0], after="repeat")
        self.assertEqual(len(self.run_json(model)["tokens"]), 1)
        self.assertGreaterEqual(len(self.run_json(model, "--min-tokens", "4")["tokens"]), 4)

    def test_time_limit(self):
        answer = self.run_json(self.script("a", after="repeat", delay_ms=20), "--time-limit", "0.3", "-n", "5000")
        self.assertEqual((answer["finish_reason"], answer["stop_reason"]), ("stop", "time_limit"))

    def test_loop_guard(self):
        answer = self.run_json(self.script("a", "b", after="repeat"), "--loop-guard", "4,3")
        self.assertEqual((answer["text"], answer["stop_reason"]), ("ababab", "loop"))

    def test_context_shift(self):
        model = self.script("a", after="repeat")
        answer = self.run_json(model, "--ctx", "40", "-n", "60", "--context-shift")
        self.assertEqual((len(answer["tokens"]), answer["stop_reason"]), (60, "max_tokens"))
        result = self.call("run", "-m", model, "-p", "Hi", "--ctx", "40", "-n", "60", "--context-shift")
        self.check(result, 0, "a" * 60 + "\n", "the context was full", "forgotten")

    def test_context_shift_forgets_the_oldest_turns(self):
        lines = "one\ntwo\nthree\nfour\n"
        flags = ["chat", "-m", self.script("aaaaaaaa"), "--ctx", "70"]
        self.check(self.call(*flags, stdin=lines), 0, None, "this was not asked")
        result = self.call(*flags, "--context-shift", "--system", "s", stdin=lines)
        self.check(result, 0, "aaaaaaaa\n" * 4, "the oldest turns are forgotten")
        self.assertNotIn(b"not asked", result.stderr)

    def test_ban(self):
        words = ("good ", "bad", "fine")
        good, bad, fine = ids(*words)
        row = {"logits": [0] * bad + [9, 8]}
        model = self.script(*words, steps=[good, row, 0])
        self.assertEqual(self.run_json(model)["text"], "good bad")
        self.assertEqual(self.run_json(model, "--ban", "bad")["text"], "good fine")
        self.assertEqual(self.run_json(model, "--ban", "BAD")["text"], "good bad")
        self.assertEqual(self.run_json(model, "--ban", "BAD", "--ban-ignore-case")["text"], "good fine")
        self.check(self.call("run", "-m", model, "-p", "Hi", "--greedy", "--ban", "d b"), 0, None, "taken back")

    def test_refused(self):
        rows = [(["--stop", ""], "--stop", "empty"), (["--ban", ""], "--ban", "empty"),
                (["--ban", "x" * 20000], "16384"), (["--min-tokens", "-1"], "--min-tokens", '"-1"'),
                (["--time-limit", "0"], "--time-limit", '"0"', "above 0"), (["--time-limit", "nan"], '"nan"'),
                (["--time-limit", "5s"], '"5s"'), (["--loop-guard", "5"], "--loop-guard: ", '"5"', "P,N"),
                (["--loop-guard", "5,1"], '"5,1"'), (["--loop-guard", "5000,3"], "4096"),
                (["--think-budget", "-2"], '"-2"'), (["--think-budget", "5", "--think-open", "none"], "markers"),
                (["--think-open", ""], "empty"), (["--think-open", "x", "--think-close", "x"], "differ"),
                (["--ban-ignore-case"], "needs --ban")]
        for arguments, *texts in rows:
            self.check_refused(["run", *arguments], 2, *texts)


class Reasoning(support.Case):
    PIECES = ("<think>", "hm", " so", "</think>", "yes")

    def ask(self, *flags, pieces=PIECES, **members):
        return self.call("run", "-m", self.script(*pieces, **members), "-p", "Hi", "--greedy", *flags)

    def test_only_the_answer_on_stdout(self):
        result = self.ask()
        self.check(result, 0, "yes\n", "\nhm so\n", "of reasoning)")
        self.assertNotIn(b"think>", result.stderr)

    def test_hidden(self):
        for flag in ("--hide-thinking", "--quiet"):
            result = self.ask(flag)
            self.check(result, 0, "yes\n")
            self.assertNotIn(b"hm so", result.stderr)

    def test_dim(self):
        self.check(self.ask("--color", "always"), 0, "yes\n", "\033[2mhm so\033[0m\n")

    def test_json(self):
        answer = json.loads(self.ask("--json").stdout)
        self.assertEqual((answer["text"], answer["reasoning"]), ("yes", "hm so"))
        self.assertEqual(len(answer["tokens"]), 5)

    def test_markers(self):
        pieces = ("<r>", "hm", "</r>", "yes")
        self.check(self.ask("--think-open", "<r>", "--think-close", "</r>", pieces=pieces), 0, "yes\n", "hm")
        self.check(self.ask("--think-open", "none"), 0, "<think>hm so</think>yes\n")

    def test_budget(self):
        pieces = ("<think>", "hm", "</think>", "yes")
        start, hm, _, yes = ids(*pieces)
        members = {"steps": [start, hm, hm, hm, hm, hm, hm, 0], "by_last": {str(ids(*pieces)[2]): {
            "logits": [0] * yes + [9]}, str(yes): {"logits": [9] + [0] * yes}}}
        result = self.ask("--think-budget", "2", pieces=pieces, **members)
        self.check(result, 0, "yes\n", "hmhm\n")
        result = self.ask("--think-budget", "0", pieces=pieces, **members)
        self.check(result, 0, "yes\n")
        self.assertNotIn(b"hm", result.stderr)

    def test_a_question_about_a_marker_opens_nothing(self):
        result = self.call("run", "-m", self.script("yes"), "-p", "what is <think> for", "--greedy")
        self.check(result, 0, "yes\n")

    def test_the_conversation_forgets_the_reasoning(self):
        result = self.call("chat", "-m", self.script(*self.PIECES), "--greedy", stdin="one\ntwo\n")
        self.check(result, 0, "yes\nyes\n")
        prompts = [int(line.split()[1]) for line in result.stderr.decode().split("\n") if line.startswith("[prompt")]
        frame = len("\n" "user\n" "\n" "assistant\n") + 4
        self.assertEqual(prompts[1] - prompts[0], 1 + frame + 3)


if __name__ == "__main__":
    support.main()
