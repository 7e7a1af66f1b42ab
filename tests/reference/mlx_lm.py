# SPDX-License-Identifier: Apache-2.0
"""A model of mlx-lm 0.32.2's samplers and processors (mlx_lm/sample_utils.py)."""
import math

import plain
from plain import counts_of, ranked, shares, single
from streams import MlxKeys, gumbel


class MlxLm(plain.Model):
    def penalties(self):
        """Repetition, presence, frequency, one after the other; each has its own window there, one here."""
        last = self.get("repeat_last_n", 20)
        seen = counts_of(self.history[-last:] if last else [])
        r, p, f = self.singles(repeat_penalty=1.0, presence_penalty=0.0, frequency_penalty=0.0)

        def penalize(token, x):
            if token not in seen:
                return x
            x = single(single(x * r if x < 0 else x / r) - p)
            return single(x - single(f * seen[token]))

        self.edit(penalize)

    def top_p(self):
        p = self.get("top_p", 0.0)
        if not 0 < p < 1:
            return
        order = ranked(self.items)
        probabilities = shares(order)
        above, n = 0.0, 0
        while n < len(order):
            group = n
            while group < len(order) and order[group][1] == order[n][1]:
                group += 1
            if n and above >= p + self.move:
                break
            above += math.fsum(probabilities[n:group])
            n = group
        kept = {i for i, _ in order[:n]}
        self.items = [item for item in self.items if item[0] in kept]

    def min_p(self):
        p, keep = self.get("min_p", 0.0), self.get("min_keep", 1)
        if p == 0:
            return
        values = [x for _, x in self.items]
        # Compared as logarithms in single precision, after the row has been made log-probabilities.
        kept = self.at_least(values, max(values) + math.log(p), max(map(abs, values)) + 20)
        if len(kept) < keep:
            order = ranked(self.items)
            kept = sorted(order[:keep])
        self.items = kept

    def xtc(self):
        probability, threshold = self.get("xtc_probability", 0.0), self.get("xtc_threshold", 0.0)
        if probability <= 0 or self.get("temperature", 0.0) == 0:
            return
        if self.stream.uniforms(1)[0] > probability:
            return
        bound = threshold * (1 - self.tilt() * 2e-6)
        above = [x for (_, x), p in zip(self.items, shares(self.items)) if p > bound]
        if above:
            least = min(above)  # as logits: equal probabilities may be different logits, rounded
            self.items = [item for item in self.items if item[1] <= least]

    def top_k(self):
        k = self.get("top_k", 0)
        if 0 < k < len(self.items):
            self.items = ranked(self.items)
            self.cut(k)

    def temperature(self):
        t = self.get("temperature", 0.0)
        if t > 0:
            self.items = [(i, x * (1 / t)) for i, x in self.items]
        else:
            self.items = [ranked(self.items)[0]]

    def draw(self):
        """categorical. By Gumbel noise it is the first of the largest logit + noise; near are those within a few units."""
        if self.get("temperature", 0.0) == 0:
            return self.items[0][0], {self.items[0][0]}
        if self.get("draw", "cdf") == "cdf":
            return plain.draw(sorted(self.items), self.stream.uniforms(1)[0], strict=True)
        noise = self.stream.uniforms(self.vocab)
        scored = sorted(((x + gumbel(noise[i]), -i) for i, x in self.items), reverse=True)
        best, token = scored[0]
        return -token, {-i for score, i in scored if score >= best - 4 * plain.ulp(best)}

    def __init__(self, request, move=0.0, ties=False, stream=None):
        self.vocab = len(request["logits"])
        super().__init__(request, move, ties, stream)

    def stream_of(self, seed):
        return MlxKeys(seed)
