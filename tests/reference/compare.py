#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random rows and parameters: `tombola sample --batch` against the model of each dialect.

usage: compare.py [DIALECT...]

Each request leaves the order to the dialect, so that the order is compared too. The kept set, the probabilities and three
tokens in a row must be the model's; what may differ (a bound that is met within rounding, a draw within 1e-6 of a
boundary) is worked out again with the model's bounds moved, and counted. 1,000 rows a dialect, ten times as many with
TOMBOLA_TEST_LONG=1.
"""
import collections
import json
import math
import os
import random
import sys
import zlib

import models
from judge import Judge, Mismatch, ask, require, text_of

ROWS = 10000 if os.environ.get("TOMBOLA_TEST_LONG") == "1" else 1000
DRAWS = 3
RARE = 0.02  # of the rows may need an exception; more would hide a fault


def random_logits(rng):
    vocab = rng.choice((2, 3, 5, 8, 13, 21, 40, 64, 65, 130))
    kind = rng.randrange(6)
    if kind == 0:
        logits = [rng.gauss(0, 3) for _ in range(vocab)]
    elif kind == 1:
        logits = [round(rng.gauss(0, 2) * 2) / 2 for _ in range(vocab)]
    elif kind == 2:
        logits = [rng.gauss(0, 0.05) for _ in range(vocab)]
    elif kind == 3:
        logits = [rng.gauss(0, 15) for _ in range(vocab)]
    elif kind == 4:
        logits = [-math.inf if rng.random() < 0.4 else rng.gauss(0, 3) for _ in range(vocab)]
        logits[rng.randrange(vocab)] = 1.0
    else:
        logits = [float(rng.randrange(2)) for _ in range(vocab)]
    return [float(f"{x:.6g}") for x in logits]


def some(rng, params, name, values, chance=0.5):
    params[name] = rng.choice(values) if rng.random() < chance else models.OFF[name]


def random_params(rng, dialect):
    """Every parameter that the dialect's chain reads, off or on."""
    params = {}
    for name, values in models.CHOICES[dialect].items():
        some(rng, params, name, values, 0.8 if name == "temperature" else 0.4)
    return params


def random_request(rng, dialect):
    logits = random_logits(rng)
    vocab = len(logits)
    params = random_params(rng, dialect)
    request = {"dialect": dialect, "logits": logits, "params": params, "seed": rng.randrange(1 << 31), "draws": DRAWS,
               "history": [rng.randrange(min(vocab, 4)) for _ in range(rng.randrange(0, 40))]}
    if rng.random() < 0.2:
        params["logit_bias"] = [[rng.randrange(vocab), rng.choice((-1.5, 2.0, "-inf"))] for _ in range(2)]
    if rng.random() < 0.2:
        request["mask"] = sorted(rng.sample(range(vocab), rng.randrange(1, vocab + 1)))
    return request


def random_requests(dialect):
    rng = random.Random(zlib.crc32(dialect.encode()))
    for _ in range(ROWS):
        yield random_request(rng, dialect)


class Compare(Judge):
    def __init__(self, request, answer):
        super().__init__({**request, "samplers": models.order_of(request)}, answer)
        if not self.possible():
            require(answer.get("error", {}).get("status") == "no_candidate", f"{answer} where nothing is left")
            return
        require("error" not in answer, str(answer.get("error")))
        self.kept()
        self.tokens()

    def possible(self):
        return bool(self.edited())

    def kept(self):
        ours = dict(zip(self.answer["ids"], self.answer["p"]))
        # What has no weight may be in a set or not.
        mine = {i for i, p in ours.items() if p > 1e-30}
        theirs = {i for i, p in self.model().result().items() if p > 1e-30}
        self.same = mine == theirs
        if not self.same:
            require(self.right_set(set(ours)) and self.big_enough(ours), self.explain("ours", set(ours)))
            self.exceptions.append("bound")
        self.against_model(ours)

    def tokens(self):
        params = self.request["params"]
        if not self.same or params.get("draw") == "rejection":  # its law is draw_laws' matter
            gated = params.get("xtc_probability", 0.0) > 0  # each draw has a gate of its own
            kept = self.edited().keys() if gated else set(self.answer["ids"])
            require(set(self.answer["tokens"]) <= kept, "a token that isn't kept")
            return
        stream = None
        for i, token in enumerate(self.answer["tokens"]):
            model = self.make(stream=stream)
            stream = model.stream
            chosen, near = model.draw()
            if token == chosen:
                continue
            require(token in near, f"draw {i} is {token}, not {chosen}")
            self.exceptions.append("draw")


def compare(dialect):
    requests = list(random_requests(dialect))
    lines = (f'{{"logits": {text_of(r["logits"])}, {json.dumps({k: v for k, v in r.items() if k != "logits"})[1:]}\n'
             for r in requests)
    counts, failures, answers = collections.Counter(), [], 0
    for request, answer in zip(requests, ask(lines)):
        answers += 1
        try:
            counts.update(Compare(request, answer).exceptions)
        except Mismatch as mismatch:
            failures.append((mismatch, request))
    print(f"{dialect}: {answers} rows, {len(failures)} failures; exceptions: {dict(counts)}")
    for mismatch, request in failures[:int(os.environ.get("FAILURES", 5))]:
        print(f"FAILED {mismatch}: {json.dumps(request)[:1500]}")
    if sum(counts.values()) > RARE * ROWS * DRAWS:
        print(f"FAILED {dialect}: too many exceptions")
        return False
    return not failures and answers == ROWS


def main():
    results = [compare(dialect) for dialect in sys.argv[1:] or models.MODELS]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
