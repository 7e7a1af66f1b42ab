# SPDX-License-Identifier: Apache-2.0
"""A model of rml's sampler: weights relative to the best, which has 1; temperature first, min_p last.

Its generator and the comparison of its draw are not published. Ours are mt19937 and >=, which the model takes over, so
that a draw can be compared at all."""
import math

import plain
from streams import Mt19937


class Rml(plain.Model):
    """items are (id, logit) until the temperature, then (id, weight) in the order of the ranking."""

    def penalties(self):
        last = self.get("repeat_last_n", 64)
        seen = set(self.history[-last:] if last else [])
        r, = self.singles(repeat_penalty=1.1)
        self.edit(lambda i, x: x if i not in seen else plain.single(x / r if x > 0 else x * r))

    def temperature(self):
        t = self.get("temperature", 0.7)
        best = max(x for _, x in self.items)
        self.items = sorted(self.items, key=lambda item: (-item[1], item[0]))
        self.greedy = t == 0
        if self.greedy:
            self.items = [(self.items[0][0], 1.0)]
        else:
            self.items = [(i, math.exp((x - best) / t)) for i, x in self.items]

    def top_k(self):
        if self.get("top_k", 40) > 0 and not self.greedy:
            self.cut(min(self.get("top_k", 40), len(self.items)))

    def top_p(self):
        p = self.get("top_p", 0.95)
        if p >= 1 or self.greedy:
            return
        total, running = sum(w for _, w in self.items), 0.0
        for n, (_, w) in enumerate(self.items, 1):
            running += w
            if running >= (p + self.move) * total:
                self.cut(n)
                return

    def min_p(self):
        if not self.greedy:
            self.items = self.at_least([w for _, w in self.items], self.get("min_p", 0.05))

    def stream_of(self, seed):
        return Mt19937(seed)

    def shares_of(self, items):
        total = sum(x for _, x in items)
        return [x / total for _, x in items]

    def draw(self):
        """As the candidates lie: by rank once something ranked them, else by id."""
        if self.greedy:
            return self.items[0][0], {self.items[0][0]}
        u, running, chosen, near = self.stream.double(), 0.0, None, set()
        ranked = 0 < self.get("top_k", 40) or self.get("top_p", 0.95) < 1
        for token, p in [(i, self.result()[i]) for i, _ in (self.items if ranked else sorted(self.items))]:
            low, running = running, running + p
            if chosen is None and running >= u:
                chosen = token
            if low - 1e-6 <= u <= running + 1e-6:
                near.add(token)
        return chosen, near
