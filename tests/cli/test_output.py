# SPDX-License-Identifier: Apache-2.0
"""Drafts, the kept cache, biases of a file, log-probabilities, traces and statistics of `run` and `chat`."""
import json
import math
import os

import support
from support import ids


class Drafts(support.Case):
    WORDS = ("one ", "two ", "three ")

    def json(self, *flags, status=0):
        result = self.call("run", "-p", "Hi", "--greedy", "--json", *flags)
        self.check(result, status)
        return json.loads(result.stdout)

    def test_prompt_lookup(self):
        model = self.script(*self.WORDS, after="repeat")
        plain = self.json("-m", model, "-n", "40")
        self.assertNotIn("speculation", plain["stats"])
        for flags in (["--prompt-lookup"], ["--draft-kind", "prompt-lookup"], ["--prompt-lookup", "--draft", "3"]):
            answer = self.json("-m", model, "-n", "40", *flags)
            self.assertEqual(answer["tokens"], plain["tokens"])
            self.assertGreater(answer["stats"]["speculation"]["accepted"], 5)

    def test_draft_model(self):
        model = self.script(*self.WORDS)
        draft = self.script(*self.WORDS, name="draft.json", steps=[*ids(*self.WORDS)[:2], 5, 5])
        plain = self.json("-m", model)
        for flags in (["--draft-model", draft], ["-md", draft], ["--model-draft", draft], ["--draft", draft],
                      ["--draft-model", draft, "--draft-tokens", "2", "--draft-kind", "full-model"],
                      ["--draft-model", draft, "--draft-max", "2"], ["--draft-model", draft, "--draft-block-size=2"]):
            answer = self.json("-m", model, *flags)
            self.assertEqual(answer["text"], plain["text"], flags)
            self.assertGreater(answer["stats"]["speculation"]["drafted"], 0)
        result = self.call("run", "-m", model, "-p", "Hi", "--greedy", "-md", draft)
        self.check(result, 0, plain["text"] + "\n", "tokens accepted")

    def test_the_draft_model_reads_what_the_model_reads(self):
        # Rows that depend on the tokens before them: every draft is right only where those are the same.
        model = self.script("a", "b", "c", "d", steps=[], hash=7)
        stats = self.json("-m", model, "-md", model, "--ignore-eos", "-n", "40")["stats"]["speculation"]
        self.assertGreater(stats["drafted"], 20)
        self.assertEqual(stats["accepted"], stats["drafted"])
        self.assertEqual(stats["rounds"], 8)  # 39 tokens after the first, by 4 drafts and one more

    def test_no_draft_model(self):
        flags = ["run", "-m", self.script("one"), "-p", "Hi", "-md"]
        self.check(self.call(*flags, self.path("none.gguf")), 1, b"", "none.gguf")
        self.check(self.call(*flags, "script:" + self.write("bad.json", '{"vocab": 5')), 1, b"", "bad.json")

    def test_other_vocabulary(self):
        result = self.call("run", "-m", self.script("one"), "-md", self.script("two", name="b.json"), "-p", "Hi")
        self.check(result, 2, b"", f"token {ids('one')[0]} is")

    def test_refused(self):
        rows = [(["--draft-kind", "dflash"], "dflash is not supported"), (["--draft-kind", "mtp"], "mtp is not supported"),
                (["--draft-kind", "x"], '"x"', "full-model, prompt-lookup"), (["--draft-tokens", "5"], "--draft-model"),
                (["--draft", "65"], '"65"', "1 to 64"), (["--draft-tokens", "0"], '"0"'),
                (["--draft-kind", "full-model"], "needs --draft-model"),
                (["-md", "x", "--prompt-lookup"], "not from both")]
        for arguments, *texts in rows:
            self.check_refused(["run", *arguments], 2, *texts)

    def test_rmlx_refuses_to_sample(self):
        flags = ["run", "-m", self.script("a"), "-p", "Hi", "--prompt-lookup", "--dialect", "rmlx"]
        self.check(self.call(*flags, "--temperature", "1"), 2, b"", "--greedy")
        self.check(self.call(*flags, "--greedy"), 0, "a\n")


class Cache(support.Case):
    def test_kept(self):
        model = self.script("a", "b")
        path = self.path("kept.bin")
        flags = ["run", "-m", model, "-p", "Hi", "--greedy", "--json", "--prompt-cache", path]
        first = json.loads(self.call(*flags).stdout)
        self.assertEqual(first["stats"]["cached_tokens"], 0)
        second = json.loads(self.call(*flags).stdout)
        self.assertEqual(second["stats"]["cached_tokens"], second["stats"]["prompt_tokens"] - 1)
        self.assertEqual(second["tokens"], first["tokens"])

    def test_damaged_or_foreign(self):
        model = self.script("a", "b")
        path = self.write("bad.bin", b"nonsense")
        result = self.call("run", "-m", model, "-p", "Hi", "--prompt-cache", path)
        self.check(result, 1, b"", "--prompt-cache")
        with open(path, "rb") as file:
            self.assertEqual(file.read(), b"nonsense")
        result = self.call("run", "-m", model, "-p", "Hi", "--prompt-cache", self.path("no/such/folder"))
        self.check(result, 1, "ab\n", "--prompt-cache")


class Biases(support.Case):
    def test_file(self):
        words = ("cat", "dog")
        cat, dog = ids(*words)
        flags = ["run", "-m", self.script(*words, steps=[cat]), "-p", "Hi", "--greedy", "-n", "1", "--bias-file"]
        for data in ({str(dog): 20}, [[dog, 20]]):
            path = self.write("bias.json", json.dumps(data))
            self.check(self.call(*flags, path), 0, "dog\n")
            self.check(self.call(*flags, path, "-l", f"{cat}+0.5"), 0, "cat\n")
        for bad in ("", "{", "5", '{"x": 1}', '{"1": "y"}'):
            self.check_refused([*flags, self.write("bad.json", bad)], 2, "--bias-file")
        self.check_refused([*flags, self.path("none.json")], 2, "--bias-file", "none.json")


class Outputs(support.Case):
    def model(self, **members):
        return self.script("a", b"\xff", **members)

    def test_logprobs(self):
        flags = ["run", "-m", self.model(), "-p", "Hi", "--greedy", "--logprobs", "3"]
        answer = json.loads(self.call(*flags, "--json").stdout)
        first, second = answer["logprobs"]
        count = len(support.vocabulary("a", "b"))
        wanted = 10 - math.log(math.exp(10) + count - 1)
        self.assertAlmostEqual(first["logprob"], wanted, places=5)
        self.assertEqual((first["text"], len(first["top"]), first["top"][0]["id"]), ("a", 3, first["id"]))
        self.assertEqual((second["text"], second["hex"]), ("\ufffd", "ff"))
        answer = json.loads(self.call(*flags, "--json", "--logprobs-stage", "final").stdout)
        self.assertEqual(answer["logprobs"][0]["logprob"], 0)
        self.check(self.call(*flags), 0, None, '"a"', '"\\xff"')
        self.check_refused(["run", "--logprobs", "0"], 2, "--logprobs", '"0"')
        self.check_refused(["run", "--logprobs-stage", "x"], 2, "raw, penalized, final")

    def lines(self, path):
        with open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def test_trace(self):
        path = self.path("trace.jsonl")
        self.check(self.call("run", "-m", self.model(), "-p", "Hi", "--greedy", "--trace", path), 0)
        first, second, end = self.lines(path)
        self.assertEqual((first["index"], first["id"], first["text"], first["channel"], first["forced"]),
                         (0, ids("a")[0], "a", "content", False))
        self.assertAlmostEqual(first["probability"], math.exp(first["logprob"]), places=9)
        self.assertGreater(first["ms"], 0)
        self.assertNotIn("top", first)
        self.assertEqual(second["hex"], "ff")
        self.assertEqual((end["stop_reason"], end["stats"]["generated_tokens"]), ("end_token", 2))
        result = self.call("chat", "-m", self.model(), "--trace", path, "--logprobs", "2", stdin="one\ntwo\n")
        self.check(result, 0)
        self.assertEqual([len(line.get("top", [])) for line in self.lines(path)], [2, 2, 0, 2, 2, 0])

    def test_trace_that_cannot_be_written(self):
        flags = ["run", "-m", self.model(), "-p", "Hi", "--trace"]
        self.check(self.call(*flags, self.path("no/such")), 1, b"", "cannot write the trace")
        if os.path.exists("/dev/full"):
            self.check(self.call(*flags, "/dev/full"), 1, None, "cannot write the trace")

    def test_a_forced_token_has_no_probability(self):
        pieces = ("<think>", "hm", "</think>", "yes")
        start, hm, close, yes = ids(*pieces)
        model = self.script(*pieces, steps=[start, hm, hm, 0], by_last={
            str(close): {"logits": [0] * yes + [9]}, str(yes): {"logits": [9] + [0] * yes}})
        path = self.path("trace.jsonl")
        self.check(self.call("run", "-m", model, "-p", "Hi", "--greedy", "--think-budget", "1", "--trace", path), 0, "yes\n")
        forced = [line for line in self.lines(path) if line.get("forced")]
        self.assertEqual([(line["text"], line["probability"]) for line in forced], [("</think>", None)])

    def test_timings_and_stats(self):
        flags = ["run", "-m", self.model(), "-p", "Hi"]
        self.check(self.call(*flags, "--timings"), 0, None, "[per token: forward ", ", sampling ", ", text ")
        result = self.call(*flags, "--stats", "json")
        stats = json.loads(result.stderr.splitlines()[-1])
        self.assertEqual((stats["finish_reason"], stats["stats"]["generated_tokens"]), ("stop", 2))
        parts = sum(stats["stats"][name + "_seconds"] for name in ("prefill", "decode", "sample", "text"))
        self.assertAlmostEqual(parts, stats["stats"]["total_seconds"], delta=1e-3)
        self.check_refused(["run", "--stats", "x"], 2, "text, json")


if __name__ == "__main__":
    support.main()
