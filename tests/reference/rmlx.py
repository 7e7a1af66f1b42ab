# SPDX-License-Identifier: Apache-2.0
"""A model of rMLX's sampler: everything on probabilities, ascending for top_p, ties to the lowest ids."""
import plain
from plain import counts_of, shares, single
from streams import Pcg32


class RMlx(plain.Model):
    """items are (id, logit) until the temperature, then (id, probability)."""

    def penalties(self):
        last = self.get("repeat_last_n", 20)
        seen = counts_of(self.history[-last:] if last else [])
        r, p, f = self.singles(repeat_penalty=1.0, presence_penalty=0.0, frequency_penalty=0.0)

        def penalize(token, x):
            if token not in seen:
                return x
            x = single(single(x * r if x < 0 else x / r) - p)
            return single(x - single(f * seen[token]))

        self.edit(penalize)

    def temperature(self):
        t = self.get("temperature", 1.0)
        self.greedy = not t > 0
        if self.greedy:
            best = max(x for _, x in self.items)
            self.items = [(min(i for i, x in self.items if x == best), 1.0)]
        else:
            self.items = [(i, p) for (i, _), p in zip(self.items, shares([(i, x / t) for i, x in self.items]))]

    def top_p(self):
        p = self.get("top_p", 1.0)
        if not 0 < p < 1 or self.greedy:
            return
        rising = sorted(self.items, key=lambda item: (item[1], -item[0]))
        below, dropped = 0.0, 0
        for _, share in rising:
            below += share
            if not below <= 1 - p - self.move:
                break
            dropped += 1
        while self.ties and dropped and rising[dropped - 1][1] == rising[dropped][1]:
            dropped -= 1
        gone = {i for i, _ in rising[:dropped]}
        self.items = [item for item in self.items if item[0] not in gone]

    def min_p(self):
        m = self.get("min_p", 0.0)
        if m > 0 and not self.greedy:
            self.items = self.at_least([p for _, p in self.items], m * max(p for _, p in self.items))

    def top_k(self):
        k = self.get("top_k", 0)
        if k and not self.greedy and k < len(self.items):
            best = sorted(self.items, key=lambda item: (-item[1], item[0]))
            n = k
            while self.ties and n < len(best) and best[n][1] == best[n - 1][1]:
                n += 1
            self.items = sorted(best[:n])

    def stream_of(self, seed):
        return Pcg32(seed)

    def shares_of(self, items):
        total = sum(x for _, x in items)
        return [x / total for _, x in items]

    def draw(self):
        if self.greedy:
            return self.items[0][0], {self.items[0][0]}
        return walk(sorted(self.result().items()), self.stream.float(), strict=True)


def walk(pairs, u, strict):
    """The first by id whose running sum passes (or reaches) u, and all whose boundary is near."""
    running, chosen, near = 0.0, None, set()
    for token, p in pairs:
        if not p > 0:
            continue
        low, running = running, running + p
        if chosen is None and (running > u if strict else running >= u):
            chosen = token
        if low - 1e-6 <= u <= running + 1e-6:
            near.add(token)
    return (max(near) if chosen is None else chosen), near
