# SPDX-License-Identifier: Apache-2.0
"""A model of llama.cpp's samplers (commit 0c1e57098: src/llama-sampler.cpp, common/sampling.cpp), by their names."""
import math

import plain
from plain import counts_of, entropy, ranked, shares, single
from streams import Mt19937


class LlamaCpp(plain.Model):
    sorted = False
    exchanged = False  # whether a sort may have exchanged equal logits

    def rank(self):
        if not self.sorted:
            self.items = ranked(self.items)
        self.sorted = self.exchanged = True

    def penalties(self):
        last = self.get("repeat_last_n", 64)
        seen = counts_of(self.history[-last:] if last > 0 else [])
        repeat, frequency, presence = self.singles(repeat_penalty=1.0, frequency_penalty=0.0, presence_penalty=0.0)

        def penalize(token, x):
            if token not in seen:
                return x
            x = single(x * repeat if x <= 0 else x / repeat)
            return single(x - single(single(seen[token] * frequency) + presence))

        self.edit(penalize)
        self.sorted = False

    def dry(self):
        multiplier, base = self.get("dry_multiplier", 0.0), self.get("dry_base", 1.75)
        allowed, last = self.get("dry_allowed_length", 2), self.get("dry_penalty_last_n", 64)
        history = self.history[-last:] if last > 0 else []
        if multiplier == 0 or base < 1 or len(history) <= allowed:
            return
        longest = {}  # of the suffixes of the history that a token would continue as before
        for end in range(len(history) - 1):
            n = 0
            while n <= end and history[end - n] == history[-1 - n]:
                n += 1
            if n >= allowed:
                token = history[end + 1]
                longest[token] = max(longest.get(token, 0), n)
        most = math.floor(88.7228391 / math.log(base)) if base > 1.000001 else math.inf
        self.edit(lambda i, x: x - multiplier * base ** min(longest[i] - allowed, most) if i in longest else x)
        self.sorted = False

    def top_n_sigma(self):
        n = self.get("top_n_sigma", -1.0)
        if n <= 0 or len(self.items) <= 1:
            return
        values = [x for _, x in self.items]
        mean = math.fsum(values) / len(values)
        deviation = math.sqrt(math.fsum((x - mean) ** 2 for x in values) / len(values))
        self.items = self.at_least(values, max(values) - n * deviation, max(map(abs, values)) + n * deviation)

    def top_k(self):
        k = self.get("top_k", 40)
        if k > 0:
            self.rank()
            self.cut(min(k, len(self.items)))

    def typical_p(self):
        p, keep = self.get("typical_p", 1.0), self.get("min_keep", 0)
        if p >= 1:
            return
        self.rank()
        probabilities = shares(self.items)
        h = entropy(probabilities)
        # A probability that is zero has no logarithm; here it is as untypical as can be.
        best = self.items[0][1]
        norm = math.log(math.fsum(math.exp(x - best) for _, x in self.items))
        scored = sorted((abs(norm + best - x - h), place) for place, (_, x) in enumerate(self.items))
        order = [self.items[place] for _, place in scored]
        running = 0.0
        for n, (score, place) in enumerate(scored, 1):
            running += probabilities[place]
            if running > p + self.move and n >= keep:
                near = score * 1e-6 + 1e-6
                self.doubt = {order[i][0] for i, (s, _) in enumerate(scored) if abs(s - score) <= near}
                while self.ties and n < len(scored) and scored[n][0] <= score + near:
                    n += 1
                order = order[:n]
                break
        self.items, self.sorted = order, False

    def top_p(self):
        p, keep = self.get("top_p", 0.95), self.get("min_keep", 0)
        if p >= 1:
            return
        self.rank()
        running = 0.0
        for n, share in enumerate(shares(self.items), 1):
            running += share
            if running >= p + self.move and n >= keep:
                self.cut(n)
                return

    def min_p(self):
        p, keep = self.get("min_p", 0.05), self.get("min_keep", 0)
        if p <= 0 or not self.items:
            return
        # The rule itself is in single precision: logits that lie on the bound are kept.
        bound = single(max(x for _, x in self.items) + single(math.log(p)))
        kept = [item for item in self.items if item[1] >= bound]
        if len(kept) >= max(keep, 1):
            self.items = kept
            return
        self.rank()
        self.cut(min(max(keep, 1, len(kept)), len(self.items)))

    def xtc(self):
        probability, threshold = self.get("xtc_probability", 0.0), self.get("xtc_threshold", 0.1)
        if probability <= 0 or threshold > 0.5 or len(self.items) < 2:
            return
        if self.stream["xtc"].float() > single(probability):
            return
        self.rank()
        bound = threshold * (1 + self.tilt() * plain.GRAIN)
        above = sum(p >= bound for p in shares(self.items))
        if above > 1 and len(self.items) - (above - 1) >= self.get("min_keep", 0):
            self.items = self.items[above - 1:]

    def temperature(self):
        t, delta = self.get("temperature", 0.8), self.get("dynatemp_range", 0.0)
        if delta > 0:
            if len(self.items) <= 1:
                return
            self.rank()
            share = entropy(shares(self.items)) / math.log(len(self.items))
            low, high = max(0.0, t - delta), t + delta
            t = low + (high - low) * max(share, 0.0) ** self.get("dynatemp_exponent", 1.0)
        if t > 0:
            self.items = [(i, x / t) for i, x in self.items]
        else:
            self.items = [ranked(self.items)[0]]

    def mirostat(self):
        tau = self.get("mirostat_tau", 5.0)
        mu = 2 * tau
        self.rank()
        probabilities = shares(self.items)
        if self.get("mirostat", 2) == 2:
            n = sum(-math.log2(p) <= mu + self.tilt() * 1e-5 if p else False for p in probabilities)
            self.items = self.items[:max(n, 1)]
            return
        if len(self.items) == 1:
            return
        pairs = [(math.log((i + 2) / (i + 1)), math.log(probabilities[i] / probabilities[i + 1]))
                 for i in range(min(99, len(self.items) - 1)) if probabilities[i + 1] > 0]
        if not pairs:
            self.cut(1)
            return
        s = sum(t * b for t, b in pairs) / sum(t * t for t, _ in pairs)
        epsilon = s - 1
        vocab = self.vocab
        try:
            k = (epsilon * 2**mu / (1 - vocab ** -epsilon)) ** (1 / s)
        except (ZeroDivisionError, OverflowError):
            return
        k += self.tilt() * 1e-3 * k
        self.cut(max(1, min(int(k), len(self.items))))

    def adaptive_p(self):
        target = self.get("adaptive_target", -1.0)
        if target < 0:
            return
        def logit(p):
            d = abs(p - min(max(target, 0.0), 1.0)) / 0.3
            return 5 - 10 * d * d / (1 + d)
        self.items = [(i, logit(p)) for (i, _), p in zip(self.items, shares(self.items))]

    def __init__(self, request, move=0.0, ties=False, stream=None):
        self.vocab = len(request["logits"])
        super().__init__(request, move, ties, stream)

    def stream_of(self, seed):
        """Each of its samplers has a generator of its own."""
        return {"xtc": Mt19937(seed), "dist": Mt19937(seed)}

    def draw(self):
        return plain.draw(self.items, self.stream["dist"].double())
