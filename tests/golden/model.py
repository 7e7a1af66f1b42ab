# SPDX-License-Identifier: Apache-2.0
"""A slow, plain model of the chain in double precision, to judge where two samplers differ.

It follows llama.cpp's rules stage by stage, over (id, logit) pairs. The bound of top_p can be moved, because a mass that
is summed in single precision passes it a little earlier or later: a kept set is right when it lies between the set for
p - 1e-5 and the one for p + 1e-5, each without or with the tokens that tie with the last one.
"""
import math
import struct

SLACK = 1e-5


def ranked(items):
    """The total order: logit descending, id ascending."""
    return sorted(items, key=lambda item: (-item[1], item[0]))


def weights(items):
    best = max(logit for _, logit in items)
    return [math.exp(logit - best) for _, logit in items]


def single(x):
    """Rounded to single precision."""
    return struct.unpack("f", struct.pack("f", x))[0]


class Chain:
    """Runs a request. `items` is then what may be drawn, in the order of the draw."""

    def __init__(self, row, request, history=(), move=0.0, ties=False):
        self.items = [(i, x) for i, x in enumerate(row) if x != -math.inf]
        self.sorted = False
        self.move, self.ties = move, ties
        self.history = history
        self.params = request["params"]
        for name in request["samplers"]:
            getattr(self, name)()

    def logit_bias(self):
        sums = {}
        for token, bias in self.params["logit_bias"]:
            sums[token] = sums.get(token, 0.0) + float(bias)
        self.items = [(i, x + sums.get(i, 0.0)) for i, x in self.items]
        self.items = [(i, x) for i, x in self.items if x != -math.inf]

    def penalties(self):
        get = self.params.get
        window = max(get("repeat_last_n", 64), 0)
        seen = list(self.history)[-window:] if window else []
        repeat = get("repeat_penalty", 1.0)
        for i, (token, x) in enumerate(self.items):
            count = seen.count(token)
            if count:
                x = x * repeat if x <= 0 else x / repeat
                x -= count * get("frequency_penalty", 0.0) + get("presence_penalty", 0.0)
                self.items[i] = (token, x)
        self.sorted = False

    def cut(self, n):
        """The first n of the ranking, and with `ties` all that equal the last of them."""
        if self.ties:
            while n < len(self.items) and self.items[n][1] == self.items[n - 1][1]:
                n += 1
        self.items = self.items[:n]

    def rank(self):
        if not self.sorted:
            self.items = ranked(self.items)
        self.sorted = True

    def top_k(self):
        if self.params["top_k"] > 0:
            self.rank()
            self.cut(min(self.params["top_k"], len(self.items)))

    def top_p(self):
        p, keep = self.params["top_p"], self.params.get("min_keep", 0)
        if p >= 1:
            return
        self.rank()
        mass = weights(self.items)
        bound, running = (p + self.move) * sum(mass), 0.0
        for n, weight in enumerate(mass, 1):
            running += weight
            if running >= bound and n >= keep:
                self.cut(n)
                return

    def min_p(self):
        p, keep = self.params["min_p"], self.params.get("min_keep", 0)
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

    def temperature(self):
        t = self.params["temperature"]
        if t > 0:
            self.items = [(i, x / t) for i, x in self.items]
        else:
            self.items = [ranked(self.items)[0]]

    def ids(self):
        return {i for i, _ in self.items}


def draw(items, u):
    """The token of the inverse cumulative distribution, and all whose boundary is within 1e-6 of u."""
    mass = weights(items)
    total, running = sum(mass), 0.0
    chosen, near = None, set()
    for i, ((token, _), weight) in enumerate(zip(items, mass)):
        low, running = running, running + weight
        if chosen is None and running >= u * total:
            chosen = token
        if low / total - 1e-6 <= u <= running / total + 1e-6:
            near.add(token)
    return chosen, near
