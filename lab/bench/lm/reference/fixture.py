"""Makes the reference fixture of one model with llama.cpp in F32.

    python dequantise.py model.gguf model.f32.gguf
    python fixture.py --model model.gguf --f32 model.f32.gguf --data shared/data --out reference-model.json.gz

Per prompt: the token ids, the next-token log-probabilities of the 40 likeliest
tokens and of 60 drawn at random, and the greedy continuation of 32 tokens with the
gap between the best and the second log-probability at each step. Weights, key-value
cache and activations are F32 and flash attention is off, so nothing is rounded
below F32. The format is described in README.md.
"""

import argparse
import gzip
import hashlib
import json
import os
import platform
import random
import sys

import gguf
import llama_cpp
import numpy as np
import prompts as texts

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from llamacpp import Model

TOP, OTHERS, GREEDY, GROUP = 40, 60, 32, 10


def log_softmax(logits):
    logits = logits.astype(np.float64)
    logits -= logits.max()
    return logits - np.log(np.exp(logits).sum())


def scores(name, logits):
    """The likeliest tokens, and random ones, drawn in a way that does not depend on the rest."""
    logp = log_softmax(logits)
    order = np.argsort(-logp, kind="stable")
    top = [int(i) for i in order[:TOP]]
    pool = random.Random(name)
    others = []
    while len(others) < OTHERS:
        i = pool.randrange(len(logp))
        if i not in top and i not in others:
            others.append(i)
    pairs = lambda ids: [{"id": i, "logprob": round(float(logp[i]), 5)} for i in ids]
    return {"top": pairs(top), "others": pairs(sorted(others))}


def best(logits):
    two = np.argpartition(-logits, 1)[:2]
    first, second = sorted(two, key=lambda i: (-logits[i], i))
    return int(first), round(float(logits[first]) - float(logits[second]), 5)


def evaluate(model, group):
    """Fills in scores and greedy continuations of a group of prompts, decoded side by side."""
    model.clear()
    pending = []
    for seq, prompt in enumerate(group):
        rows = model.decode([(t, i, [seq], i + 1 == len(prompt["ids"])) for i, t in enumerate(prompt["ids"])])
        prompt.update(scores(prompt["id"], rows[0]), greedy=[], greedy_margin=[])
        pending.append(rows[0])
    for step in range(GREEDY):
        batch = []
        for seq, prompt in enumerate(group):
            token, margin = best(pending[seq])
            prompt["greedy"].append(token)
            prompt["greedy_margin"].append(margin)
            batch.append((token, len(prompt["ids"]) + step, [seq], True))
        if step + 1 < GREEDY:
            pending = model.decode(batch)


def record(prompt):
    out = {"id": prompt["id"], "special": prompt["special"]}
    ids = prompt["ids"]
    if prompt["special"]:
        out["messages"] = texts.messages(prompt["source"]["template"] if "source" in prompt else prompt["text"])
    if "source" in prompt:
        out["source"] = prompt["source"]
        out["token_count"] = len(ids)
        out["tokens_sha256"] = hashlib.sha256(np.array(ids, "<u4").tobytes()).hexdigest()
    else:
        out["text"] = prompt["text"]
        out["tokens"] = ids
    return out | {key: prompt[key] for key in ("top", "others", "greedy", "greedy_margin")}


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True, help="the GGUF file whose weights the fixture is about")
    parser.add_argument("--f32", required=True, help="its F32 copy")
    parser.add_argument("--data", help="the folder with the data sets; without it only own.txt is used")
    parser.add_argument("--out", required=True)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()

    model = Model(args.f32, sequences=GROUP, context=GROUP * 1024, threads=args.threads, f32_cache=True)
    everything = texts.own() + (texts.data(args.data) if args.data else [])
    for prompt in everything:
        prompt["ids"] = model.tokenize(prompt["text"].encode(), prompt["special"])
    for at in range(0, len(everything), GROUP):
        evaluate(model, everything[at : at + GROUP])
        print(f"{min(at + GROUP, len(everything))} of {len(everything)}", file=sys.stderr, flush=True)

    body = {
        "model": os.path.basename(args.model),
        "model_sha256": digest(args.model),
        "made_with": {
            "evaluation": "llama.cpp on an F32 copy of the weights, F32 key-value cache, no flash attention",
            "llama-cpp-python": llama_cpp.__version__,
            "gguf": getattr(gguf, "__version__", None) or version("gguf"),
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
        "tokens_sha256_of": "token ids as little-endian 32-bit integers",
        "prompts": [record(p) for p in everything],
    }
    with open(args.out, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")


def version(package):
    from importlib import metadata

    return metadata.version(package)


if __name__ == "__main__":
    main()
