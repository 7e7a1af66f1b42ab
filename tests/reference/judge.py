# SPDX-License-Identifier: Apache-2.0
"""Asks the program, and judges an answer by the model of its dialect where two sides may differ."""
import itertools
import json
import math
import os
import subprocess
import threading

import models
import plain

EDITS = {"logit_bias", "penalties", "dry", "no_repeat_ngram"}


class Mismatch(Exception):
    pass


def require(condition, text):
    if not condition:
        raise Mismatch(text)


def number(x):
    return x if math.isfinite(x) else {math.inf: '"inf"', -math.inf: '"-inf"'}.get(x, '"nan"')


def text_of(logits):
    return "[" + ",".join(str(number(x)) for x in logits) + "]"


def ask(lines):
    """Feeds lines to `tombola sample --batch` and yields its answers while it works."""
    program = subprocess.Popen([os.environ["TOMBOLA_PROGRAM"], "sample", "--batch"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)

    def feed():
        try:
            program.stdin.writelines(lines)
            program.stdin.close()
        except BrokenPipeError:
            pass  # it ended early: its status says so

    feeder = threading.Thread(target=feed)
    feeder.start()
    for line in program.stdout:
        yield json.loads(line)
    feeder.join()
    assert program.wait() == 0, f"tombola sample: status {program.returncode}"


class Judge:
    """One request (with its samplers spelled out) and the answer to it."""

    def __init__(self, request, answer):
        self.request, self.answer = request, answer
        self.exceptions = []
        self.made = {}
        self.tolerance = plain.tolerance(request["logits"], request["params"].get("temperature", 1.0))

    def make(self, **more):
        return models.MODELS[self.request["dialect"]](self.request, **more)

    def model(self, move=0.0, ties=False):
        key = (move, ties)
        if key not in self.made:
            self.made[key] = self.make(move=move, ties=ties)
        return self.made[key]

    def variants(self):
        for move, ties in itertools.product((0.0, plain.SLACK, -plain.SLACK), (False, True)):
            yield self.model(move, ties)

    @staticmethod
    def ids(model):
        return {i for i, _ in model.items}

    def edited(self):
        """The logits of all tokens after the stages that edit."""
        if "edited" not in self.made:
            request = {**self.request, "samplers": [s for s in self.request["samplers"] if s in EDITS]}
            self.made["edited"] = dict(models.MODELS[request["dialect"]](request).items)
        return self.made["edited"]

    def same_but_ties(self, a, b):
        """Whether two sets differ only in which of equal logits they hold."""
        logits = self.edited()
        if len(a) != len(b) or not (a | b) <= logits.keys():
            return False
        return sorted(logits[i] for i in a - b) == sorted(logits[i] for i in b - a)

    def right_set(self, kept):
        """What one of the variants keeps, but for ties, or what lies between the least and the most of them."""
        for ids in map(self.ids, self.variants()):
            if kept == ids or self.same_but_ties(kept, ids):
                return True
        low, high = self.model(-plain.SLACK), self.model(plain.SLACK, True)
        cut = min((x for _, x in low.items), default=0.0)  # those that tie with the last may be exchanged
        core = {i for i, x in low.items if x > cut or low.doubt} - low.doubt
        return core <= kept <= self.ids(high)

    def big_enough(self, kept):
        """Ties may be exchanged, but they may not all go: that is what filters in a wrong order leave."""
        low = self.model(-plain.SLACK)
        return len(kept) >= len(self.ids(low) - low.doubt)

    def explain(self, name, ids):
        exact = self.ids(self.model())
        return f"{name} isn't a right set: {len(ids)}, exact {len(exact)}, {sorted(ids ^ exact)[:8]} differ"

    def fitting(self, kept):
        """The effective logits of a kept set by a variant that keeps it, in that variant's order."""
        for model in self.variants():
            if kept <= self.ids(model):
                return [item for item in model.items if item[0] in kept]
        return None

    def against_model(self, ours):
        """Probabilities as the model's. A set with other tokens of a tie has the model's probabilities by rank."""
        items = self.fitting(set(ours))
        if items is None:
            mine, exact = sorted(ours.values()), sorted(self.model().result().values())
            require(len(mine) == len(exact), f"kept {len(mine)} tokens, not {len(exact)}")
            for got, want in zip(mine, exact):
                require(abs(got - want) <= self.tolerance, f"p {got}, not {want}")
            return
        model = self.model()
        shares = model.result() if self.ids(model) == ours.keys() else dict(
            zip((i for i, _ in items), model.shares_of(items)))
        for token, share in shares.items():
            require(abs(ours[token] - share) <= self.tolerance, f"p of {token} is {ours[token]}, not {share}")
