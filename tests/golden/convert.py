#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes rows.jsonl.gz and ENGINE.jsonl.gz from recordings of three engines.

usage: convert.py VECTORS [FOLDER]

VECTORS holds rows.npz (the logits of each row, and as NAME.hist the tokens that came before), {llama,mlx,hf}.jsonl.gz
(for each row and case: the samplers that were applied in order, and the candidates that they left) and hf_aux.jsonl.gz
(the processors of transformers that look at a sequence). They were recorded from llama.cpp 0c1e57098 through its C API
with dist(42) as the draw, from mlx-lm 0.32.2 and from transformers 5.24.0; those two record the best of what is left.

An output begins with a line about itself; then a line a record, with the request for `tombola sample --batch` that
should give the same.
"""
import ast
import base64
import gzip
import io
import json
import struct
import sys
import zipfile

SEED = 42
LLAMA = {"temp": "temperature", "temp_ext": "temperature", "typical": "typical_p", "mirostat_v2": "mirostat"}
ENGINES = {"llama": "llama.cpp 0c1e57098 (llama-cpp-python 0.3.36)", "mlx": "mlx-lm 0.32.2 on mlx 0.32.4",
           "hf": "transformers 5.24.0"}


def read_npy(data):
    """A little-endian one-dimensional array of f4 or i4."""
    stream = io.BytesIO(data)
    assert stream.read(6) == b"\x93NUMPY"
    major, _ = stream.read(2)
    length = struct.unpack("<H" if major == 1 else "<I", stream.read(2 if major == 1 else 4))[0]
    header = ast.literal_eval(stream.read(length).decode("latin1"))
    assert header["descr"] in ("<f4", "<i4") and len(header["shape"]) == 1, header
    return stream.read()


def read_rows(path):
    with zipfile.ZipFile(path) as archive:
        arrays = {name[:-4]: read_npy(archive.read(name)) for name in archive.namelist()}
    rows = []
    for name, data in arrays.items():
        if not name.endswith(".hist"):
            history = arrays[name + ".hist"]
            rows.append({"row": name, "f32": base64.b64encode(data).decode(),
                         "history": list(struct.unpack(f"<{len(history) // 4}i", history))})
    return rows


def bias_of(text):
    return [[i, b] for i, b in ast.literal_eval(text.replace("-inf", "'-inf'"))]


def llama_stage(name, values, params):
    if name == "logit_bias":
        params["logit_bias"] = bias_of(values[0])
    elif name == "penalties":
        params.update(zip(("repeat_last_n", "repeat_penalty", "frequency_penalty", "presence_penalty"), values))
    elif name == "dry":
        params.update(zip(("dry_multiplier", "dry_base", "dry_allowed_length", "dry_penalty_last_n"), values))
    elif name in ("top_p", "min_p", "typical"):
        params.update({LLAMA.get(name, name): values[0], "min_keep": values[1]})
    elif name == "xtc":
        assert values[3] == SEED
        params.update(zip(("xtc_probability", "xtc_threshold", "min_keep"), values))
    elif name == "temp_ext":
        params.update(zip(("temperature", "dynatemp_range", "dynatemp_exponent"), values))
    elif name in ("mirostat", "mirostat_v2"):
        assert values[0] == SEED and (name != "mirostat" or values[3] == 100)
        params.update(mirostat=2 if name == "mirostat_v2" else 1, mirostat_tau=values[1], mirostat_eta=values[2])
    elif name == "adaptive_p":
        assert values[2] == SEED
        params.update(zip(("adaptive_target", "adaptive_decay"), values))
    else:
        params[LLAMA.get(name, name)] = values[0]


def llama_request(record):
    params, samplers = {}, []
    for name, *values in record["spec"]:
        if name == "dist":
            assert values == [SEED]
            continue
        samplers.append(LLAMA.get(name, name))
        llama_stage(name, values, params)
    return {"dialect": "llama.cpp", "params": params, "samplers": samplers, "seed": SEED, "draws": 1}


def mlx_request(record):
    params, samplers = {"temperature": 1.0}, []
    for name, *values in record["spec"]:
        stage = {"rep": "penalties", "pres": "penalties", "freq": "penalties", "bias": "logit_bias",
                 "temp": "temperature"}.get(name, name)
        if stage != "logsumexp" and stage not in samplers:
            samplers.append(stage)
        if stage == "penalties":
            key = {"rep": "repeat_penalty", "pres": "presence_penalty", "freq": "frequency_penalty"}[name]
            params.update({key: values[0], "repeat_last_n": 4 if record["case"].endswith("_w4") else 64})
        elif name == "bias":
            params["logit_bias"] = bias_of(values[0])
        elif name == "min_p":
            params.update(min_p=values[0], min_keep=values[1])
        elif name == "xtc":
            params.update(xtc_probability=1.0, xtc_threshold=values[0])
        elif name != "logsumexp":
            params[stage] = values[0]
    if "err" in record:  # the only setting that it refused: the record ends before the stage
        k = record["case"][4:]
        samplers.append("top_k")
        params["top_k"] = 1 << 20 if k == "_over" else int(k)
    return {"dialect": "mlx-lm", "params": params, "samplers": samplers}


def hf_request(record):
    names = {"TopP": "top_p", "MinP": "min_p", "TopK": "top_k", "Temperature": "temperature", "Typical": "typical_p",
             "Epsilon": "epsilon", "Eta": "eta", "TopH": "top_h"}
    params, samplers = {}, []
    for name, value, *more in record["spec"]:
        if name == "SequenceBias":
            samplers.append("logit_bias")
            params["logit_bias"] = [[i, b if b == "-inf" else float(b)] for i, b in value]
        elif name == "RepetitionPenalty":
            samplers.append("penalties")
            params.update(repeat_penalty=value, repeat_last_n=4 if record["case"].endswith("_w4") else 64)
        else:
            stage = names[name]
            samplers.append(stage)
            params[stage + "_cutoff" if stage in ("epsilon", "eta") else stage] = value
            if more:
                params["min_keep"] = more[0]["min_tokens_to_keep"]
    return {"dialect": "transformers", "params": params, "samplers": samplers}


REQUESTS = {"llama": llama_request, "mlx": mlx_request, "hf": hf_request}


def hf_aux_records(path):
    """Those of the processors that a stage of ours answers to."""
    for text in gzip.open(path, "rt"):
        record = json.loads(text)
        name = record.get("name", [""])[0]
        if record["kind"] != "proc" or name not in ("no_repeat_ngram", "suppress", "rep"):
            continue
        assert "err" not in record
        value = record["name"][1]
        params = {"no_repeat_ngram": {"no_repeat_ngram": value}, "suppress": {"suppress": value},
                  "rep": {"repeat_penalty": value, "repeat_last_n": 64}}[name]
        samplers = {"no_repeat_ngram": ["no_repeat_ngram"], "suppress": [], "rep": ["penalties"]}[name]
        yield {"case": name, "x": record["x"], "y": record["y"], "history": record["ids"],
               "request": {"dialect": "transformers", "params": params, "samplers": samplers}}


def write(path, lines):
    with open(path, "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", compresslevel=9, mtime=0, filename="") as file:
        for line in lines:
            file.write((json.dumps(line, separators=(",", ":")) + "\n").encode())
    print(f"{path}: {len(lines)} lines")


def main():
    vectors = sys.argv[1]
    folder = sys.argv[2] if len(sys.argv) > 2 else "."
    write(f"{folder}/rows.jsonl.gz", read_rows(f"{vectors}/rows.npz"))
    for engine, about in ENGINES.items():
        lines = [{"engine": about}]
        for text in gzip.open(f"{vectors}/{engine}.jsonl.gz", "rt"):
            record = json.loads(text)
            request = REQUESTS[engine](record)
            lines.append({"row": record["row"], "case": record["case"], "request": request,
                          **{k: v for k, v in record.items() if k not in ("row", "case", "spec", "dp", "order")}})
        write(f"{folder}/{engine}.jsonl.gz", lines)
    write(f"{folder}/hf_aux.jsonl.gz", [{"engine": ENGINES["hf"]}, *hf_aux_records(f"{vectors}/hf_aux.jsonl.gz")])


if __name__ == "__main__":
    main()
