#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tombola sample --trace`: the table that people read, and the same as JSON."""
import json
import math

import support

ROW = [math.log(p) for p in (1 / 8, 1 / 2, 1 / 16, 1 / 4, 1 / 16)]
FLAGS = ["--samplers", "top_k;top_p;temperature", "--top-k", "4", "--top-p", "0.7", "--temperature", "0.5", "--seed", "42"]


class Trace(support.Case):
    def sample(self, *arguments, row=ROW, environment=None):
        result = self.call("sample", self.write("row.json", json.dumps(row)), *FLAGS, *arguments, environment=environment)
        self.check(result, 0)
        return result.stdout.decode()

    def test_json(self):
        plain = json.loads(self.sample("--json"))
        self.assertNotIn("trace", plain)
        out = json.loads(self.sample("--json", "--trace", "--watch", "0,4"))
        trace = out.pop("trace")
        self.assertEqual(out, plain)
        self.assertEqual([s["name"] for s in trace["steps"]], ["row", "top_k", "top_p", "temperature"])
        self.assertEqual([s["after"]["tokens"] for s in trace["steps"]], [5, 4, 2, 2])
        self.assertEqual([s["before"]["tokens"] for s in trace["steps"]], [5, 5, 4, 2])
        for got, want in zip((s["after"]["share"] for s in trace["steps"]), (1, 15 / 16, 3 / 4, 3 / 4)):
            self.assertAlmostEqual(got, want, 6)
        for got, want in zip((s["kept"] for s in trace["steps"]), (1, 15 / 16, 0.8, 1)):
            self.assertAlmostEqual(got, want, 6)
        self.assertEqual(trace["removed"], [{"id": 0, "by": "top_p"}, {"id": 4, "by": "top_k"}])
        drawn, watched, _ = trace["steps"][0]["places"]
        self.assertEqual((drawn["id"], drawn["rank"], watched["id"], watched["rank"]), (1, 0, 0, 2))
        self.assertAlmostEqual(watched["p"], 1 / 8, 6)
        draw = trace["draw"]
        self.assertEqual((draw["token"], draw["rule"], draw["place"], draw["count"]), (1, "cdf", 0, 2))
        self.assertAlmostEqual(draw["uniform"], 0.796542984287846, 14)
        self.assertAlmostEqual(draw["high"], 0.8, 6)

    def test_table(self):
        table = self.sample("--trace", "--watch", "0,4")
        self.assertNotIn("\x1b", table)
        self.assertTrue(all(len(line) <= 110 for line in table.splitlines()))
        for words in (["row", "5", "100.000%", "all"], ["top_k", "4", "93.750%", "taken", "out"],
                      ["top_p", "2", "75.000%", "80.000%"], ["draw:", "0.796542984", "0.800000", "(1"]):
            lines = [line for line in table.splitlines() if line.split() and line.split()[0] == words[0]]
            self.assertTrue(any(all(w in line.split() for w in words) for line in lines), (words, table))
        self.assertIn("▼", table)
        self.assertNotIn("▼", self.sample("--trace", environment={"LC_ALL": "C"}))
        self.assertIn("\x1b[1m", self.sample("--trace", "--color", "always"))

    def test_other_draws(self):
        self.assertIn("greedy: token 1 is the best", self.sample("--trace", "--greedy"))
        self.assertIn("draw (Gumbel noise): token ", self.sample("--trace", "--draw", "gumbel"))
        self.assertIn("not allowed", self.sample("--trace", "--mask", "1,2", "--watch", "0"))
        self.assertIn("drawn: ", self.sample("--trace", "--draws", "0"))  # something must be drawn to be traced

    def test_refused(self):
        row = self.write("row.json", json.dumps(ROW))
        self.check_refused(["sample", row, "--watch", "5"], 2, "watch: token 5 is outside the row (0 to 4)")
        self.check_refused(["sample", row, "--watch", "x"], 2, '--watch: "x" is no list of token ids')
        self.check_refused(["sample", self.write("row.txt", "2 1 0\n")], 1, "6 bytes are no row of 4-byte numbers",
                           "a JSON array looks like [2, 1, 0]")
        self.check_refused(["sample", "--batch", "--trace"], 2, "trace can't be given with --batch")
        self.check_refused(["run", "--watch", "1"], 2, "--watch is not an option of tombola run")


if __name__ == "__main__":
    support.main()
