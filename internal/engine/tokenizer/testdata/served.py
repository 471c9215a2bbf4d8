"""Adds to served.json what llama.cpp's server (xllamacpp on PyPI) makes of texts.

    python served.py MODEL.gguf
    python served.py MODEL.gguf RULE    # with the model's vocabulary and this cutting rule

The texts are those of texts.json.gz that are UTF-8, as JSON has no others. The file holds,
by the model's file name (and the rule), their number and the SHA-256 of their ids.
"""

import base64
import gzip
import hashlib
import json
import pathlib
import struct
import sys
import tempfile
import urllib.request

import xllamacpp

HERE = pathlib.Path(__file__).parent


def ruled(source, rule):
    """A file with the vocabulary of a model, another rule, and next to no weights."""
    import gguf
    import numpy

    reader = gguf.GGUFReader(source)
    target = pathlib.Path(tempfile.mkdtemp()) / "ruled.gguf"
    writer = gguf.GGUFWriter(str(target), "llama")
    for key, value in [("context_length", 64), ("embedding_length", 32), ("block_count", 1), ("feed_forward_length", 32), ("attention.head_count", 1)]:
        writer.add_uint32("llama." + key, value)
    writer.add_float32("llama.attention.layer_norm_rms_epsilon", 1e-5)
    for key in ["model", "tokens", "token_type", "merges", "bos_token_id", "eos_token_id"]:
        field = reader.fields["tokenizer.ggml." + key]
        inner = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(field.name, field.contents(), field.types[0], sub_type=inner)
    writer.add_string("tokenizer.ggml.pre", rule)
    shapes = {"token_embd": len(reader.fields["tokenizer.ggml.tokens"].data), "output_norm": 0, "blk.0.attn_norm": 0, "blk.0.ffn_norm": 0}
    for name in ["attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"]:
        shapes["blk.0." + name] = 32
    for name, rows in shapes.items():
        writer.add_tensor(name + ".weight", numpy.zeros((rows, 32) if rows else 32, numpy.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return target


def main():
    path = pathlib.Path(sys.argv[1])
    name = " ".join([path.name] + sys.argv[2:])
    if len(sys.argv) > 2:
        path = ruled(path, sys.argv[2])
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
    found[name] = {"texts": count, "sha256": total.hexdigest()}
    out.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
