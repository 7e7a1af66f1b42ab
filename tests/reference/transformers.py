# SPDX-License-Identifier: Apache-2.0
"""A model of the processors and warpers of transformers 5.24.0 (generation/logits_process.py), by our stages' names."""
import math

import plain
from plain import entropy, ranked, shares
from streams import Mt19937


class Transformers(plain.Model):
    def keep(self):
        return max(self.get("min_keep", 1), 1)

    def stream_of(self, seed):
        """Not torch's, which can't be repeated: ours, so that a draw can be compared at all."""
        return Mt19937(seed)

    def draw(self):
        return plain.draw(sorted(self.items), self.stream.double(), strict=True)

    def penalties(self):
        last = self.get("repeat_last_n", -1)
        seen = set(self.history if last < 0 else self.history[-last:] if last else [])
        r, = self.singles(repeat_penalty=1.0)
        self.edit(lambda i, x: x if i not in seen else plain.single(x * r if x < 0 else x / r))

    def no_repeat_ngram(self):
        n, h = self.get("no_repeat_ngram", 0), self.history
        if not n or len(h) + 1 < n:
            return
        start = h[len(h) - n + 1:] if n > 1 else []
        banned = {h[i + n - 1] for i in range(len(h) - n + 1) if h[i:i + n - 1] == start}
        self.edit(lambda i, x: -math.inf if i in banned else x)

    def temperature(self):
        t = self.get("temperature", 1.0)
        self.items = [(i, x / t) for i, x in self.items]

    def top_h(self):
        best = ranked(self.items)[:100]
        probabilities = shares(best)
        bound = self.get("top_h", 1.0) * entropy(probabilities)
        running, kept = 0.0, 0
        for p in probabilities:
            running += -p * math.log(p) if p > 0 else 0.0
            if running > bound * (1 + self.tilt() * 2e-6) + self.move:
                break
            kept += 1
        self.items = best
        self.cut(max(kept, 1))

    def top_k(self):
        k = min(max(self.get("top_k", 50), self.keep()), len(self.items))
        bound = ranked(self.items)[k - 1][1]
        self.items = [item for item in self.items if item[1] >= bound]

    def top_p(self):
        self.items = ranked(self.items)
        above = 0.0
        for n, p in enumerate(shares(self.items)):
            if above >= self.get("top_p", 1.0) + self.move and n >= self.keep():
                self.cut(n)
                return
            above += p

    def min_p(self):
        probabilities = shares(self.items)
        kept = self.at_least(probabilities, self.get("min_p", 0.0) * max(probabilities))
        if len(kept) < self.keep():
            self.items = ranked(self.items)
            self.cut(self.keep())
        else:
            self.items = kept

    def typical_p(self):
        best = max(x for _, x in self.items)
        norm = best + math.log(math.fsum(math.exp(x - best) for _, x in self.items))
        h = entropy(shares(self.items))
        scores = [abs(norm - x - h) for _, x in self.items]
        order = sorted((score, place) for place, score in enumerate(scores))
        probabilities, running, last = shares(self.items), 0.0, 0
        for n, (_, place) in enumerate(order):
            running += probabilities[place]
            last = n
            if running >= self.get("typical_p", 1.0) + self.move:
                break
        last = max(last, min(self.keep(), len(order)) - 1)
        bound = order[last][0] * (1 + self.tilt() * 1e-6) + self.tilt() * 1e-6
        kept = [item for item, score in zip(self.items, scores) if score <= bound]
        self.items = kept or [self.items[order[0][1]]]

    def guard(self, bound):
        """Those at least so likely, and those that reach the value of the last that is kept in any case."""
        kept = set(self.at_least(shares(self.items), bound))
        least = ranked(self.items)[min(self.keep(), len(self.items)) - 1][1]
        self.items = [item for item in self.items if item in kept or item[1] >= least]

    def epsilon(self):
        self.guard(self.get("epsilon_cutoff", 0.0))

    def eta(self):
        e = self.get("eta_cutoff", 0.0)
        self.guard(min(e, math.sqrt(e) * math.exp(-entropy(shares(self.items)))))
