# SPDX-License-Identifier: Apache-2.0
"""A model of mlxcel's chain after #1379 (mlxcel-core sampling.rs and turbo/sampling_rejection.cpp): filters on penalised,
untempered logits, the temperature last. The sort chain, where top_p sees the survivors of top_k; with the dual-pivot
draw (`rejection`) top_k and top_p both look at the whole row and ties share one fate."""
import math

import plain
from plain import counts_of, entropy, ranked, shares, single
from streams import MlxKeys, philox4x32, philox_uniform


class Mlxcel(plain.Model):
    def greedy(self):
        t, k = self.get("temperature", 0.0), self.get("top_k", 0)
        return k == 1 or (t <= 0 and not self.get("dynatemp_range", 0.0) > 0)

    def joint(self):
        """Whether the kernel judges top_k and top_p together; rows with XTC or the extended chain never get there."""
        return (self.get("draw", "gumbel") == "rejection" and not self.get("xtc_probability", 0.0) > 0
                and not self.get("dynatemp_range", 0.0) > 0 and 0 < self.get("top_p", 1.0) < 1)

    def keep_joint(self):
        """By value: fewer than k tokens above it, and a mass above it of at most p; both over all that came in."""
        p, k = self.get("top_p", 1.0), self.get("top_k", 0)
        order = ranked(self.items)
        probabilities, above, n = shares(order), 0.0, 0
        while n < len(order) and (k <= 0 or n < k) and above <= p + self.move:
            group = n
            while group < len(order) and order[group][1] == order[n][1]:
                above += probabilities[group]
                group += 1
            n = group
        self.items = sorted(order[:n])

    def penalties(self):
        """Repetition, then frequency and presence in one term; -1 is the whole history."""
        last = self.get("repeat_last_n", -1)
        seen = counts_of(self.history if last < 0 else self.history[-last:] if last else [])
        r, f, p = self.singles(repeat_penalty=1.0, frequency_penalty=0.0, presence_penalty=0.0)

        def penalize(token, x):
            if token not in seen:
                return x
            return single(single(x / r if x > 0 else x * r) - single(single(seen[token] * f) + p))

        self.edit(penalize)

    def dry(self):
        last, allowed = self.get("dry_penalty_last_n", -1), self.get("dry_allowed_length", 2)
        multiplier, base = self.get("dry_multiplier", 0.0), self.get("dry_base", 1.75)
        window = self.history if last < 0 else self.history[-last:] if last else []
        if not multiplier > 0 or base < 1 or len(window) < 2:
            return
        most = 88.72284 / math.log(base) if base > 1 else math.inf
        penalties = {}
        for place in range(len(window) - 1):
            if window[place] != window[-1]:
                continue
            length, a, b = 1, place, len(window) - 1
            while a > 0 and b > 0 and window[a - 1] == window[b - 1]:
                length, a, b = length + 1, a - 1, b - 1
            if length >= allowed:
                amount = multiplier * base ** min(length - allowed, most)
                following = window[place + 1]
                penalties[following] = max(penalties.get(following, 0.0), amount)
        self.edit(lambda i, x: x - penalties.get(i, 0.0))

    def top_n_sigma(self):
        n = self.get("top_n_sigma", 0.0)
        if self.greedy() or not n > 0:
            return
        values = [x for _, x in self.items]
        mean = math.fsum(values) / len(values)
        deviation = math.sqrt(math.fsum((x - mean) ** 2 for x in values) / len(values))
        self.items = self.at_least(values, max(values) - n * deviation, max(map(abs, values)) + n * deviation)

    def p_less(self):
        if self.greedy() or not self.get("p_less", 0):
            return
        t = self.get("temperature", 0.0)
        t = t if t > 0 else 1.0  # under a dynamic temperature from 0 up; the source doesn't say
        probabilities = shares([(i, x / t) for i, x in self.items])
        bound = math.fsum(p * p for p in probabilities)
        best = max(probabilities)
        self.items = self.at_least([max(p, bound) if p == best else p for p in probabilities], bound)

    def typical_p(self):
        p = self.get("typical_p", 1.0)
        if self.greedy() or not 0 < p < 1:
            return
        k = self.get("top_k", 0)
        if 1 < k < self.vocab:
            self.top_k(first=True)
        best = max(x for _, x in self.items)
        norm = best + math.log(math.fsum(math.exp(x - best) for _, x in self.items))
        probabilities = shares(self.items)
        h = entropy(probabilities)
        order = sorted((abs(norm - x - h), place) for place, (_, x) in enumerate(self.items))
        above, kept = 0.0, []
        for n, (score, place) in enumerate(order):
            tie = self.ties and n and score <= order[n - 1][0] * (1 + 1e-6) + 1e-6
            if n and above >= p + self.move and n >= self.get("min_keep", 0) and not tie:
                break
            above += probabilities[place]
            kept.append(place)
        self.items = [self.items[place] for place in sorted(kept)]

    def top_k(self, first=False):
        k = self.get("top_k", 0)
        if self.greedy() or k <= 0 or k >= len(self.items) or (self.joint() and not first):
            return
        bound = ranked(self.items)[k - 1][1]
        self.items = [item for item in self.items if item[1] >= bound]

    def top_p(self):
        p = self.get("top_p", 1.0)
        if self.greedy() or not 0 < p < 1:
            return
        if self.joint():
            self.keep_joint()
            return
        order = ranked(self.items)
        above, n = 0.0, 0
        for share in shares(order):
            if above > p + self.move and n >= self.get("min_keep", 0):
                break
            above += share
            n += 1
        self.items = order
        self.cut(n)
        self.items.sort()

    def min_p(self):
        m = self.get("min_p", 0.0)
        if self.greedy() or not 0 < m < 1:
            return
        probabilities = shares(self.items)
        keep = min(self.get("min_keep", 0), len(self.items))
        kept = self.at_least(probabilities, m * max(probabilities))
        self.items = kept if len(kept) >= keep else sorted(ranked(self.items)[:keep])

    def xtc(self):
        probability, threshold = self.get("xtc_probability", 0.0), self.get("xtc_threshold", 0.1)
        if self.greedy() or not probability > 0 or not self.stream.uniforms(1)[0] < probability:
            return
        bound = threshold * (1 - self.tilt() * 2e-6)
        above = [(p, i) for (i, _), p in zip(self.items, shares(self.items)) if p > bound]
        gone = {i for _, i in above} - {min(above)[1]} if len(above) > 1 else set()
        if len(self.items) - len(gone) >= self.get("min_keep", 0):
            self.items = [item for item in self.items if item[0] not in gone]

    def temperature(self):
        t, spread = self.get("temperature", 0.0), self.get("dynatemp_range", 0.0)
        if self.greedy():
            self.items = [ranked(self.items)[0]]
            return
        if spread > 0:
            if len(self.items) <= 1:
                return
            norm = max(entropy(shares(self.items)) / math.log(len(self.items)), 0.0)
            low, high = max(0.0, t - spread), t + spread
            t = max(1e-6, low + (high - low) * norm ** self.get("dynatemp_exponent", 1.0))
        self.items = [(i, x / t) for i, x in self.items]

    def __init__(self, request, move=0.0, ties=False, stream=None):
        self.vocab = len(request["logits"])
        super().__init__(request, move, ties, stream)

    def stream_of(self, seed):
        return MlxKeys(seed)

    def draw(self):
        """Gumbel-max with philox's words, keyed by the next of mlx's keys."""
        if self.greedy():
            return self.items[0][0], {self.items[0][0]}
        if self.get("draw", "gumbel") == "cdf":  # the framework's categorical, as for a single row
            return plain.draw(sorted(self.items), self.stream.uniforms(1)[0], strict=True)
        key, words = self.stream.next(), {}
        for i, _ in self.items:
            if i // 4 not in words:
                words[i // 4] = philox4x32(key, (i // 4, 0, 0, 0))
        noise = {i: -math.log(-math.log(philox_uniform(words[i // 4][i % 4]))) for i, _ in self.items}
        scored = sorted(((x + noise[i], -i) for i, x in self.items), reverse=True)
        best, token = scored[0]
        largest = max(abs(best), max(abs(x) for _, x in self.items))
        return -token, {-i for score, i in scored if score >= best - 4 * plain.ulp(largest) - 2e-6}
