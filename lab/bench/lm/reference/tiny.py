"""Makes the fixture of the tiny models, one of each architecture, with llama.cpp.

    SOTTO_TINY=/tmp/tiny go test ./internal/engine/llama -run TestTinyReference   # writes the models
    python tiny.py --models /tmp/tiny --out ../../../../internal/engine/llama/testdata/reference-tiny.json.gz

The models have random F32 weights, made from a seed by internal/engine/llama/tiny_test.go; the fixture
names the SHA-256 of each file. Their prompts are in prompts.json beside them. llama.cpp
runs in its server (xllamacpp on PyPI) with an F32 key-value cache and without flash
attention, and is asked for the log-probabilities of the whole vocabulary.
"""

import argparse
import gzip
import hashlib
import json
import pathlib
import sys
import urllib.request

import xllamacpp


def serve(path, context, threads):
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = context
    params.n_parallel = 1
    params.n_gpu_layers = 0
    params.warmup = False
    params.fit_params = False
    params.no_extra_bufts = True
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.cache_type_k = params.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
    params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    params.port = 0
    return xllamacpp.Server(params)


def ask(server, tokens, size):
    # The token that is drawn does not matter, but it must be text: with half a character
    # no probabilities are sent. The bias does not change those.
    body = {"prompt": tokens, "n_predict": 1, "n_probs": size, "temperature": 0, "cache_prompt": False, "logit_bias": [[65, 1000]]}
    request = urllib.request.Request(server.listening_address + "/completion", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as reply:
        answer = json.load(reply)
    top = answer["completion_probabilities"][0]["top_logprobs"]
    if len(top) != size:
        raise ValueError(f"{len(top)} of {size} tokens")
    row = [0.0] * size
    for entry in top:
        row[entry["id"]] = round(entry["logprob"], 5)
    return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", required=True, type=pathlib.Path)
    parser.add_argument("--out", required=True)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    listed = json.loads((args.models / "prompts.json").read_text())
    found = {}
    for name, model in sorted(listed.items(), key=lambda entry: (entry[1]["context"], entry[0])):
        path = args.models / (name.replace(" ", "-") + ".gguf")
        server = serve(path, model["context"], args.threads)
        rows = []
        for prompt in model["prompts"]:
            tokens = [(i * prompt["step"] + prompt["first"]) % model["vocabulary"] for i in range(prompt["length"])]
            rows.append(prompt | {"logprobs": ask(server, tokens, model["vocabulary"])})
        del server
        found[name] = {"sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "prompts": rows}
        print(name, file=sys.stderr, flush=True)
        write(args.out, found)


def write(path, found):
    body = {"made_with": {"llama.cpp": xllamacpp.BUILD_INFO, "xllamacpp": xllamacpp.__version__}, "models": found}
    with open(path, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(json.dumps(body, separators=(",", ":")).encode() + b"\n")


if __name__ == "__main__":
    main()
