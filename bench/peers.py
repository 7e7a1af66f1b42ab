#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The time of one token in mlx-lm and transformers, beside what `tombola bench` says of tombola and llama.cpp.

  peers.py [--vocab N] [--runs N] [--tombola PROGRAM | --figures FILE]

For a machine of one's own, in an environment of one's own: pip install "mlx[cpu]" mlx-lm transformers torch. What isn't
installed is said on standard error, and its column stays empty. The rows are those of programs/bench_rows.c, made here
by the same arithmetic, so that nothing has to be written to disk; --check FILE compares a row with 32-bit floats from
elsewhere. Each peer gets the row as an array of its own, made once, and does what its generation loop does for a
token; one thread, the minimum of the runs counts. A case that an engine has no stage for is left out of its column.
"""
import argparse
import importlib.metadata
import json
import math
import os
import subprocess
import sys
import time

import numpy

CASES = ("greedy", "llama_default", "penalties", "min_p", "top_n_sigma", "plain", "top_p", "typical", "mirostat2", "dry")
DEFAULT = {"temperature": 0.8, "top_k": 40, "top_p": 0.95, "min_p": 0.05}
PARAMS = {
    "greedy": {"temperature": 0},
    "llama_default": DEFAULT,
    "penalties": {**DEFAULT, "repeat": 1.1},
    "min_p": {"temperature": 1, "min_p": 0.1},
    "plain": {"temperature": 1},
    "top_p": {"temperature": 1, "top_p": 0.9},
    "typical": {"temperature": 1, "typical": 0.9},
}
HISTORY = 64


# ---- the rows of programs/bench_rows.c ----

def numbers(seed, first, count):
    """splitmix64 is a function of a counter, so that all of them come at once."""
    with numpy.errstate(over="ignore"):
        steps = numpy.arange(first + 1, first + count + 1, dtype=numpy.uint64)
        z = numpy.uint64(seed) + steps * numpy.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
        return z ^ (z >> numpy.uint64(31))


def usual_row(vocab):
    uniform = (numbers(20240607, 0, 12 * vocab) >> numpy.uint64(11)).astype(numpy.float64) * 2.0**-53
    total = numpy.full(vocab, -6.0)
    for twelfth in uniform.reshape(vocab, 12).T:
        total += twelfth
    row = (total * 2.5).astype(numpy.float32)
    places = numbers(20240607, 12 * vocab, 64) % numpy.uint64(vocab)
    for rank, place in enumerate(places, 1):
        row[int(place)] = 22 - 2 * math.log(rank)
    return row


def flat_row(vocab):
    uniform = (numbers(11, 0, vocab) >> numpy.uint64(11)).astype(numpy.float64) * 2.0**-53
    return uniform.astype(numpy.float32) * numpy.float32(0.05)


def history(vocab):
    return [int(token) for token in numbers(7, 0, HISTORY) % numpy.uint64(vocab)]


# ---- the peers: a function that takes a case's parameters and a row, and returns what one token takes ----

def mlx_lm(vocab):
    import mlx.core as mx
    from mlx_lm.sample_utils import make_logits_processors, make_sampler

    mx.set_default_device(mx.cpu)
    tokens = mx.array(history(vocab))

    def subject(params, row):
        if "typical" in params:
            return None
        sampler = make_sampler(temp=params["temperature"], top_p=params.get("top_p", 0.0),
                               min_p=params.get("min_p", 0.0), top_k=params.get("top_k", 0))
        edits = []
        if "repeat" in params:
            edits = make_logits_processors(repetition_penalty=params["repeat"], repetition_context_size=HISTORY)
        logits = mx.array(row)[None]
        mx.eval(logits, tokens)

        def run():
            edited = logits
            for edit in edits:
                edited = edit(tokens, edited)
            mx.eval(sampler(edited - mx.logsumexp(edited, keepdims=True)))
        return run
    return subject


def transformers(vocab):
    import torch
    from transformers.generation import logits_process as stages

    torch.set_num_threads(1)
    tokens = torch.tensor([history(vocab)])

    def subject(params, row):
        logits = torch.from_numpy(row.copy())[None]
        if params["temperature"] == 0:
            return lambda: torch.argmax(logits, dim=-1).item()
        chain = stages.LogitsProcessorList()
        if "repeat" in params:
            chain.append(stages.RepetitionPenaltyLogitsProcessor(params["repeat"]))
        if params["temperature"] != 1:
            chain.append(stages.TemperatureLogitsWarper(params["temperature"]))
        if "top_k" in params:
            chain.append(stages.TopKLogitsWarper(params["top_k"]))
        if "top_p" in params:
            chain.append(stages.TopPLogitsWarper(params["top_p"]))
        if "min_p" in params:
            chain.append(stages.MinPLogitsWarper(params["min_p"]))
        if "typical" in params:
            chain.append(stages.TypicalLogitsWarper(params["typical"]))

        def run():
            with torch.inference_mode():
                weights = torch.softmax(chain(tokens, logits), dim=-1)
                torch.multinomial(weights, 1).item()
        return run
    return subject


PEERS = {"mlx-lm": mlx_lm, "transformers": transformers}


def least(run, runs):
    """The minimum in microseconds, after three that warm up."""
    best = math.inf
    for i in range(runs + 3):
        before = time.perf_counter_ns()
        run()
        took = time.perf_counter_ns() - before
        if i >= 3:
            best = min(best, took)
    return best / 1e3


def measure_peers(row, suffix, vocab, runs):
    """{peer: {case: microseconds}} for the peers that are installed."""
    found = {}
    for name, make in PEERS.items():
        try:
            subject = make(vocab)
        except (ImportError, OSError) as error:
            print(f"peers.py: no {name} here: {error}", file=sys.stderr)
            continue
        found[name] = {}
        for case, params in PARAMS.items():
            run = subject(params, row)
            if run:
                found[name][case + suffix] = least(run, runs)
    return found


def tombola_figures(options):
    if options.figures:
        with open(options.figures, encoding="utf-8") as file:
            lines = json.load(file)
    else:
        command = [options.tombola, "bench", "--json", "--quiet", "--vocab", str(options.vocab)]
        lines = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    lines = {line["case"]: line for line in lines if line["vocab"] == options.vocab}
    return ({case: line["ns_min"] / 1e3 for case, line in lines.items()},
            {case: line["peer_ns_min"] / 1e3 for case, line in lines.items() if line["peer_ns_min"]})


# ---- the table ----

def versions():
    known = []
    for package in ("mlx", "mlx-lm", "torch", "transformers"):
        try:
            known.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            pass
    return ", ".join(known) or "no peers installed"


def cell(value, ours):
    if value is None:
        return "–"
    return f"{value:.1f}" if value is ours else f"{value:.0f} ({value / ours:.0f}×)"


def print_table(columns, vocab):
    print(f"{vocab} tokens, one thread, minimum in µs, and how many times tombola's; {versions()}\n")
    print("| case | " + " | ".join(columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for suffix in ("", "/flat"):
        for case in CASES:
            ours = columns["tombola"].get(case + suffix)
            if ours is None:
                continue
            cells = [cell(column.get(case + suffix), ours) for column in columns.values()]
            print(f"| {case}{suffix} | " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vocab", type=int, default=151936)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--tombola", default=os.path.join(os.path.dirname(__file__), "..", "build", "tombola"))
    parser.add_argument("--figures", metavar="FILE", help="what `tombola bench --json` has said before")
    parser.add_argument("--check", metavar="FILE", help="see whether FILE is the usual row, and do nothing else")
    options = parser.parse_args()
    if options.check:
        same = open(options.check, "rb").read() == usual_row(options.vocab).tobytes()
        print("the same" if same else "another row")
        return 0 if same else 1
    usual = measure_peers(usual_row(options.vocab), "", options.vocab, options.runs)
    flat = measure_peers(flat_row(options.vocab), "/flat", options.vocab, options.runs)
    ours, llama = tombola_figures(options)
    columns = {"tombola": ours, "llama.cpp": llama}
    columns.update({name: {**usual[name], **flat[name]} for name in usual})
    print_table(columns, options.vocab)
    return 0


if __name__ == "__main__":
    sys.exit(main())
