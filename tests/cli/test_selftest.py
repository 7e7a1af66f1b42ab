#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tombola selftest`: its lines, as text and as JSON, and what it refuses. (A mutation shows that it can fail.)"""
import json
import re

import support


class Selftest(support.Case):
    def test_lines(self):
        result = self.call("selftest", "--draws", "5000")
        self.check(result, 0)
        lines = result.stdout.decode().splitlines()
        self.assertEqual(result.stderr, b"")  # the bar is for terminals
        self.assertNotIn("\x1b", "".join(lines))
        checks, summary = lines[:-2], lines[-1]
        self.assertRegex(summary, r"^\d+ checks, 0 failed, \d+\.\d s: all is well$")
        self.assertEqual(int(summary.split()[0]), len(checks))
        self.assertTrue(all(re.match(r"^(kernels|draws) .* ok$", line) for line in checks), checks)
        dialects = {line.split()[1].rstrip(",") for line in checks if line.startswith("draws")}
        self.assertIn("control", dialects)
        listed = self.call("sample", "--dialect", "nonsense").stderr.decode()
        for name in ("llama.cpp", "rml"):
            self.assertIn(name, dialects)
            self.assertIn(name, listed)
        for rule in ("cdf", "gumbel", "rejection"):
            self.assertTrue(any(f"control, {rule}" in line and "noticed" in line for line in checks))

    def test_json(self):
        result = self.call("selftest", "--draws", "5000", "--json")
        self.check(result, 0)
        lines = [json.loads(line) for line in result.stdout.decode().splitlines()]
        self.assertTrue(all(set(line) == {"group", "subject", "result", "good"} and line["good"] for line in lines))
        self.assertIn({"group": "kernels", "subject": "control", "result": "one bit of one logit changed: noticed",
                       "good": True}, lines)

    def test_refused(self):
        self.check_refused(["selftest", "--draws", "100"], 2, "--draws must be at least 5000, got 100")
        self.check_refused(["selftest", "row.json"], 2, "row.json")


if __name__ == "__main__":
    support.main()
