#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes llama.jsonl.gz from recordings of llama.cpp.

usage: convert.py VECTORS [OUTPUT]

VECTORS holds rows.npz (the logits of each row, and as NAME.hist the tokens that came before) and llama.jsonl.gz (for
each row and case: the samplers that were applied in order, and the candidates that they left). They were recorded
through the C API of llama.cpp 0c1e57098 (the one that llama-cpp-python 0.3.36 vendors), with dist(42) as the draw.

The output begins with a line about itself; then a line a row; then a line a record whose stages we have, with the
request for `tombola sample --batch` that should give the same. Records of other stages are left for later.
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
STAGES = {"logit_bias", "penalties", "top_k", "top_p", "min_p", "temp"}


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


def request_of(spec):
    """The stages of a record as a request, or None when one of them isn't ours."""
    params, samplers = {}, []
    for name, *values in spec:
        if name == "dist":
            assert values == [SEED]
            continue
        if name not in STAGES:
            return None
        samplers.append({"temp": "temperature"}.get(name, name))
        if name == "logit_bias":
            params["logit_bias"] = bias_of(values[0])
        elif name == "penalties":
            params.update(zip(("repeat_last_n", "repeat_penalty", "frequency_penalty", "presence_penalty"), values))
        elif name in ("top_p", "min_p"):
            params.update({name: values[0], "min_keep": values[1]})
        else:
            params[samplers[-1]] = values[0]
    return {"dialect": "llama.cpp", "params": params, "samplers": samplers, "seed": SEED, "draws": 1}


def main():
    vectors = sys.argv[1]
    output = sys.argv[2] if len(sys.argv) > 2 else "llama.jsonl.gz"
    lines = [{"engine": "llama.cpp 0c1e57098 (llama-cpp-python 0.3.36)", "draw": f"dist({SEED})"}]
    lines += read_rows(f"{vectors}/rows.npz")
    left = 0
    for text in gzip.open(f"{vectors}/llama.jsonl.gz", "rt"):
        record = json.loads(text)
        request = request_of(record["spec"])
        if request is None:
            left += 1
            continue
        record = {"row": record["row"], "case": record["case"], "request": request,
                  **{k: v for k, v in record.items() if k not in ("row", "case", "spec", "dp")}}
        lines.append(record)
    with open(output, "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", compresslevel=9, mtime=0, filename="") as file:
        for line in lines:
            file.write((json.dumps(line, separators=(",", ":")) + "\n").encode())
    rows = sum("f32" in line for line in lines)
    print(f"{output}: {rows} rows, {len(lines) - rows - 1} records; {left} of stages that come later")


if __name__ == "__main__":
    main()
