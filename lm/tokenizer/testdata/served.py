"""Adds to served.json what llama.cpp's server (xllamacpp on PyPI) makes of texts.

    python served.py MODEL.gguf

The texts are those of texts.json.gz that are UTF-8, as JSON has no others. The file holds,
by the model's file name, their number and the SHA-256 of their ids.
"""

import base64
import gzip
import hashlib
import json
import pathlib
import struct
import sys
import urllib.request

import xllamacpp

HERE = pathlib.Path(__file__).parent


def main():
    path = pathlib.Path(sys.argv[1])
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx, params.n_parallel, params.n_gpu_layers, params.warmup, params.fit_params = 64, 1, 0, False, False
    params.port = 0
    server = xllamacpp.Server(params)
    total, count = hashlib.sha256(), 0
    for case in json.loads(gzip.decompress((HERE / "texts.json.gz").read_bytes()))["cases"]:
        try:
            text = base64.b64decode(case["text"]).decode()
        except UnicodeDecodeError:
            continue
        body = json.dumps({"content": text, "add_special": False, "parse_special": False}).encode()
        request = urllib.request.Request(server.listening_address + "/tokenize", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as reply:
            ids = json.load(reply)["tokens"]
        total.update(struct.pack(f"<{len(ids)}i", *ids))
        count += 1
    out = HERE / "served.json"
    found = json.loads(out.read_text()) if out.exists() else {}
    found[path.name] = {"texts": count, "sha256": total.hexdigest()}
    out.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
