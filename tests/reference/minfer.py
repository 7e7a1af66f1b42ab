# SPDX-License-Identifier: Apache-2.0
"""A model of minfer's sampler (src/sampler.rs): the penalties in one pass, masks on logits, the temperature last."""
import plain
from plain import counts_of, shares, single
from rmlx import walk
from streams import ChaCha12


class Minfer(plain.Model):
    def penalties(self):
        last = self.get("repeat_last_n", 64)
        seen = counts_of(self.history[-last:] if last else [])
        r, p, f = self.singles(repeat_penalty=1.1, presence_penalty=0.0, frequency_penalty=0.0)
        if abs(r - 1) < 1e-6 and abs(f) < 1e-6 and abs(p) < 1e-6:
            return

        def penalize(token, x):
            if token not in seen:
                return x
            if abs(f) >= 1e-6 or abs(p) >= 1e-6:
                x = single(single(x - single(seen[token] * f)) - p)
            if abs(r - 1) >= 1e-6 and r >= 1:
                x = single(x * r if x <= 0 else x / r)
            return x

        self.edit(penalize)

    def top_k(self):
        k = self.get("top_k", 40)
        if self.greedy() or k == 0 or k >= len(self.items):
            return
        bound = sorted((x for _, x in self.items), reverse=True)[k - 1]
        self.items = [item for item in self.items if item[1] >= bound]

    def top_p(self):
        p = self.get("top_p", 0.95)
        if self.greedy() or p <= 0 or p >= 1:
            return
        order = sorted(range(len(self.items)), key=lambda place: (-self.items[place][1], place))
        probabilities, running = shares(self.items), 0.0
        for n, place in enumerate(order, 1):
            running += probabilities[place]
            if running > p + self.move:
                while self.ties and n < len(order) and self.items[order[n]][1] == self.items[order[n - 1]][1]:
                    n += 1
                self.items = [self.items[i] for i in sorted(order[:n])]
                return

    def greedy(self):
        return self.get("temperature", 0.8) < 1e-6

    def temperature(self):
        if self.greedy():
            best = max(x for _, x in self.items)
            self.items = [next(item for item in self.items if item[1] == best)]
        else:
            self.items = [(i, x * (1 / self.get("temperature", 0.8))) for i, x in self.items]

    def stream_of(self, seed):
        return ChaCha12(seed)

    def draw(self):
        if self.greedy():
            return self.items[0][0], {self.items[0][0]}
        return walk(sorted(self.result().items()), self.stream.float(), strict=False)
