# SPDX-License-Identifier: Apache-2.0
"""`tombola sample --batch`: lines that are wrong, and what each one answers."""
import json
import os
import subprocess

import support


class Batch(support.Case):
    def answers(self, *lines):
        """One parsed answer a line of input."""
        result = self.call("sample", "--batch", stdin="".join(line + "\n" for line in lines))
        self.check(result, 0)
        answers = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual(len(answers), len(lines), result.stdout)
        return answers

    def check_error(self, line, param, *texts):
        """The line is refused, and the line behind it is answered."""
        refused, fine = self.answers(line, '{"logits": [1, 2]}')
        self.assertIn("error", refused, line)
        self.assertEqual(refused["error"]["param"], param, line)
        for text in texts:
            self.assertIn(text, refused["error"]["message"], line)
        self.assertIn("ids", fine)

    def test_given_twice(self):
        for line, param, text in (
                ('{"logits": [1, 2], "logits": [3]}', "logits", "logits is given twice"),
                ('{"logits": [1, 2], "draws": 1, "draws": 1}', "draws", "draws is given twice"),
                ('{"logits": [1, 2], "params": {"top_k": 1, "top_p": 1, "top_k": 1}}', "top_k", "top_k is given twice"),
                ('{"logits": [1, 2], "params": {"temperature": 1, "temp": 2}}', "temp", "temp is given twice"),
                ('{"logits": [1, 2], "params": {"logit_bias": {"1": 1, "0": 2, "1": 1}}}', "logit_bias",
                 'logit_bias: "1" is given twice'),
                ('{"logits": [1, 2], "params": {"logit_bias": {"1": 1, "01": 2}}}', "logit_bias", '"1" is given twice')):
            self.check_error(line, param, text)
        self.assertIn("ids", self.answers('{"logits": [1, 2], "params": {"logit_bias": [[1, 1], [1, 2]]}}')[0])

    def test_nul(self):
        for member, param in (('"dialect": "rml\\u0000x"', "dialect"), ('"samplers": ["top_k", "top_p\\u0000x"]', "samplers"),
                              ('"params": {"dry_sequence_breakers": ["a\\u0000b"]}', "dry_sequence_breakers"),
                              ('"params": {"top_k": "1\\u0000"}', "top_k"), ('"params": {"top_k\\u0000x": 1}', "params"),
                              ('"seed": "1\\u00002"', "seed")):
            self.check_error('{"logits": [1, 2], %s}' % member, param, param + " holds a NUL character")
        self.check_error('{"logits": [1, 2], "params": {"logit_bias": {"1\\u0000": 1}}}', "logit_bias")
        self.check_error('{"logits": [1, "inf\\u0000"]}', "logits")
        self.check_error('{"logits": [1, 2], "draws\\u0000": 1}', "draws", "unknown member")

    def test_blank_lines(self):
        for line in ("", " \t", "\r"):
            self.check_error(line, "", "the line is blank")
        self.check_error("\0", "", "byte 0")
        self.check_error('{"logits": [1, 2]', "", "byte 1")
        self.check_error("[1, 2]", "", "a line must be a JSON object")

    def test_values_that_are_no_scalar(self):
        for value in ("null", "[1]", '{"a":1}'):
            self.check_error('{"logits": [1, 2], "params": {"top_p": %s}}' % value, "top_p",
                             f"top_p: {value} is not allowed")
        self.check_error('{"logits": [1, 2], "params": {"bogus": null}}', "bogus", "bogus")
        self.check_error('{"logits": [1, 2], "params": null}', "params", "params must be an object")

    def test_names_that_are_cut(self):
        for name in ("\u00e9" * 60, "a" + "\u00e9" * 60, "\u4f60" * 60, "a\U0001f600" * 30, "\\u001b[31m"):
            self.check_error('{"logits": [1], "%s": 1}' % name, self.answers('{"%s": 1}' % name)[0]["error"]["param"],
                             "unknown member")

    def test_reader_gone(self):
        line = json.dumps({"logits": [1] * 500, "params": {"top_k": 0, "min_p": 0}}) + "\n"
        batch = self.write("batch.jsonl", line * 200)
        row = self.write("row.json", json.dumps([1] * 2000))
        for arguments in (["--batch", batch], ["--json", "--top-k", "0", "--min-p", "0", row], [row]):
            reading, writing = os.pipe()
            os.close(reading)
            result = subprocess.run([support.PROGRAM, "sample", *arguments], stdout=writing, stderr=subprocess.PIPE,
                                    env=self.environment, timeout=support.WAIT)
            os.close(writing)
            self.assertEqual((result.returncode, result.stderr), (1, b""), arguments)
            with open("/dev/full", "wb") as full:
                result = subprocess.run([support.PROGRAM, "sample", *arguments], stdout=full, stderr=subprocess.PIPE,
                                        env=self.environment, timeout=support.WAIT)
            self.assertEqual(result.returncode, 1)
            self.assertEqual(result.stderr.decode(),
                             "tombola: cannot write to standard output: No space left on device\n", arguments)


if __name__ == "__main__":
    support.main()
