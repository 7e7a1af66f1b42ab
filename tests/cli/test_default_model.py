# SPDX-License-Identifier: Apache-2.0
"""The default model: it knows Paris, a seed repeats an answer, every instruction set gives the same tokens, and a
conversation is served from the cache. One thread, which a busy machine slows down least."""
import json
import os
import re
import subprocess

import support


def find_model():
    """The file that the program itself would take; skips the test where it, or libllama, is not there."""
    version = subprocess.run([support.PROGRAM, "--version"], stdout=subprocess.PIPE, check=True).stdout
    if b"libllama: not built in" in version:
        support.skip("built without libllama")
    listed = subprocess.run([support.PROGRAM, "models", "--json"], stdout=subprocess.PIPE, check=True).stdout
    for model in json.loads(listed):
        if model["name"] == "SmolLM2-135M-Instruct.Q4_1":
            return model["path"]
    return support.skip("the default model is not in the cache")


class DefaultModel(support.Case):
    def run_model(self, *flags, environment=None):
        result = self.call("run", "-m", MODEL, "-t", "1", "--json", *flags, environment=environment)
        self.check(result, 0)
        return json.loads(result.stdout)

    def test_paris(self):
        result = self.call("run", "-m", MODEL, "-p", "What is the capital of France?", "--greedy", "-t", "1", "-n",
                           "30")
        self.check(result, 0, None, os.path.basename(MODEL) + " (Smollm2 135M", ") on CPU", "context 4096")
        self.assertIn(b"Paris", result.stdout)

    def test_found_without_a_flag(self):
        folder = os.path.join(self.environment["TOMBOLA_CACHE"], "models")
        os.makedirs(folder)
        os.symlink(MODEL, os.path.join(folder, os.path.basename(MODEL)))
        result = self.call("run", "-p", "What is the capital of France?", "--greedy", "-t", "1", "-n", "8")
        self.check(result, 0)
        self.assertIn(b"Paris", result.stdout)

    def test_greedy_and_seeds(self):
        question = ["-p", "Tell me about the sea.", "-n", "16"]
        greedy = self.run_model(*question, "--greedy")
        self.assertEqual(greedy["tokens"], self.run_model(*question, "--greedy")["tokens"])
        seeded = self.run_model(*question, "--seed", "11")
        self.assertEqual(seeded["tokens"], self.run_model(*question, "--seed", "11")["tokens"])
        self.assertNotEqual(seeded["tokens"], self.run_model(*question, "--seed", "12")["tokens"])

    def test_instruction_sets(self):
        question = ["-p", "Tell me about the sea.", "-n", "16", "--seed", "11"]
        for dialect in ("llama.cpp", "rml"):
            answers = [self.run_model(*question, "--dialect", dialect, environment={"TOMBOLA_CPU": cpu})["tokens"]
                       for cpu in self.instruction_sets()]
            self.assertEqual(len({tuple(answer) for answer in answers}), 1, answers)

    def instruction_sets(self):
        """Those that this machine has: asking for another one is an error."""
        names = ["scalar", "avx2"]
        return [n for n in names if self.call("--version", environment={"TOMBOLA_CPU": n}).returncode == 0]

    def test_conversation(self):
        result = self.call("chat", "-m", MODEL, "-t", "1", "-n", "12", "--seed", "3",
                           stdin="My name is Bob.\nTell me a joke.\nAnother one.\n")
        self.check(result, 0)
        turns = [tuple(map(int, row)) for row in
                 re.findall(rb"\[prompt (\d+) tokens \((\d+) cached\).*?answer (\d+) tokens", result.stderr)]
        limits = [b"ended by max_tokens" in line for line in result.stderr.splitlines() if b"[prompt" in line]
        self.assertEqual(len(turns), 3)
        for before, limited, turn in zip(turns, limits, turns[1:]):
            # Everything but the last token, where the limit ended the answer before that was run.
            self.assertEqual(turn[1], before[0] + before[2] - limited)

    def test_damaged_files(self):
        with open(MODEL, "rb") as file:
            head = file.read(3000000)
        for name, data in (("truncated.gguf", head), ("header.gguf", head[:100]), ("magic.gguf", b"GGUF"),
                           ("text.gguf", b"this is no model\n" * 100), ("empty.gguf", b"")):
            self.check_refused(["run", "-m", self.write(name, data), "-p", "Hi"], 1, name)


if __name__ == "__main__":
    MODEL = find_model()
    support.main()
