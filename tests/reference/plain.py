# SPDX-License-Identifier: Apache-2.0
"""What the models of the engines have in common: a list of (id, logit), and how a doubtful bound is moved.

A model follows one engine's rules, stage by stage, in double precision and without any thought of speed; it shares no
code with the library and knows nothing of how that works. An engine that sums in single precision passes a bound a
little earlier or later than the exact sum. So each model can be run with its bounds moved: `move` is added to a bound of
mass (it is 0, or SLACK to keep more, or -SLACK to keep less), thresholds move by a few units of single precision the same
way, and `ties` keeps what equals the last token that is kept. A kept set is right when it lies between the least and the
most that such a run keeps.
"""
import math
import struct

SLACK = 1e-5  # of the mass, as the interface allows
GRAIN = 3e-7  # a threshold's, relative: a few units of single precision


def single(x):
    """Rounded to single precision."""
    return struct.unpack("f", struct.pack("f", x))[0] if math.isfinite(x) and abs(x) < 3.4e38 else x


def ranked(items):
    """The total order: logit descending, id ascending."""
    return [(i, -x) for x, i in sorted((-x, i) for i, x in items)]


def weights(items):
    best = max(x for _, x in items)
    return [math.exp(x - best) for _, x in items]


def shares(items):
    mass = weights(items)
    total = math.fsum(mass)
    return [w / total for w in mass]


def entropy(probabilities):
    return -math.fsum(p * math.log(p) for p in probabilities if p > 0)


def counts_of(window):
    seen = {}
    for token in window:
        seen[token] = seen.get(token, 0) + 1
    return seen


class Model:
    """A row on its way through the stages. `items` is what is left, in the engine's order."""

    def __init__(self, request, move=0.0, ties=False, stream=None):
        allowed = request.get("mask")
        allowed = None if allowed is None else set(allowed)
        self.items = [(i, x) for i, x in enumerate(request["logits"])
                      if x != -math.inf and (allowed is None or i in allowed)]
        self.history = request.get("history", [])
        self.params = request["params"]
        self.seed = request.get("seed", 0)
        self.move, self.ties = move, ties
        self.doubt = set()  # ids that stand at a bound by a score, within rounding
        self.stream = stream or self.stream_of(self.seed)
        for name in request["samplers"]:
            getattr(self, name)()

    def stream_of(self, seed):
        """The random numbers of a generation; models of one generation share it."""
        return None

    def get(self, name, default):
        return self.params.get(name, default)

    def singles(self, **defaults):
        """Parameters in single precision, in which every engine computes its penalties: so equal logits stay equal."""
        return [single(self.get(name, value)) for name, value in defaults.items()]

    def tilt(self):
        return (self.move > 0) - (self.move < 0)

    def edit(self, function):
        """Applies function(id, logit); -inf leaves."""
        self.items = [(i, y) for i, x in self.items for y in (function(i, x),) if y != -math.inf]

    def cut(self, n):
        """The first n, and with `ties` all that equal the last of them."""
        while self.ties and n < len(self.items) and self.items[n][1] == self.items[n - 1][1]:
            n += 1
        self.items = self.items[:n]

    def at_least(self, values, bound, scale=None):
        """Those whose value reaches the bound, which moves by a grain of `scale` (the bound itself by default)."""
        moved = bound - self.tilt() * GRAIN * abs(bound if scale is None else scale)
        if moved > max(values) and self.tilt():
            return ranked(self.items)[:1]
        return [item for item, value in zip(self.items, values) if value >= moved]

    def logit_bias(self):
        sums = {}
        pairs = self.params.get("logit_bias", [])
        for token, bias in pairs:
            sums[token] = sums.get(token, 0.0) + float(bias)
        if sums:
            self.edit(lambda i, x: x + sums.get(i, 0.0))

    def shares_of(self, items):
        """The probabilities of items as this model has them when it is done."""
        return shares(items)

    def result(self):
        """{id: probability} of a draw."""
        return {i: p for (i, _), p in zip(self.items, self.shares_of(self.items))}


def draw(items, u, strict=False):
    """The token of the inverse cumulative distribution, and all whose boundary is within 1e-6 of u."""
    mass = weights(items)
    total, running = sum(mass), 0.0
    chosen, near = None, set()
    for (token, _), weight in zip(items, mass):
        if not weight:
            continue
        low, running = running, running + weight
        if chosen is None and (running > u * total if strict else running >= u * total):
            chosen = token
        if low / total - 1e-6 <= u <= running / total + 1e-6:
            near.add(token)
    return chosen, near


def ulp(x):
    """A unit in the last place of single precision."""
    x = abs(x)
    return math.ldexp(1, max(math.frexp(x)[1] - 24, -149)) if x else 2.0**-149


def tolerance(logits, temperature):
    """How far probabilities may differ."""
    largest = max((abs(x) for x in logits if math.isfinite(x)), default=0.0)
    return 1e-6 + 4 * ulp(largest / temperature if temperature > 0 else largest)
