"""Makes the reference fixture of one model with llama.cpp's server (xllamacpp on PyPI).

    python dequantise.py model.gguf model.f32.gguf
    python served.py --model model.gguf --f32 model.f32.gguf --out reference-model.json.gz

The format is that of fixture.py, with the prompts of own.txt that are no chats, without
random tokens, and with a shorter greedy text. A prompt begins with the model's BOS token,
which is not among its `tokens`.
"""

import argparse
import gzip
import hashlib
import json
import os
import sys
import urllib.request

import prompts as texts
import tiny
import xllamacpp

TOP, GREEDY = 40, 8


def post(server, path, body):
    request = urllib.request.Request(server.listening_address + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)


def next_token(server, tokens, known):
    """The likeliest next tokens. The one that is drawn is plain text: see tiny.py."""
    body = {"prompt": tokens, "n_predict": 1, "n_probs": TOP, "temperature": 0, "cache_prompt": True, "logit_bias": [[known, 1000]]}
    top = post(server, "/completion", body)["completion_probabilities"][0]["top_logprobs"]
    return [{"id": entry["id"], "logprob": round(entry["logprob"], 5)} for entry in top]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--f32", required=True)
    parser.add_argument("--bos", required=True, type=int)
    parser.add_argument("--out", required=True)
    parser.add_argument("--most", type=int, default=1000, help="of the prompts, the shortest first")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    server = tiny.serve(args.f32, 2048, args.threads)
    tokenize = lambda text: post(server, "/tokenize", {"content": text, "add_special": False, "parse_special": False})["tokens"]
    known = tokenize("a")[0]
    found = []
    plain = [prompt for prompt in texts.own() if not prompt["special"] and prompt["text"]]
    for prompt in sorted(plain, key=lambda p: len(p["text"]))[: args.most]:
        tokens = tokenize(prompt["text"])
        entry = {"id": prompt["id"], "text": prompt["text"], "begin": True, "tokens": tokens, "greedy": [], "greedy_margin": []}
        sequence = [args.bos] + tokens
        for step in range(GREEDY):
            top = next_token(server, sequence, known)
            if step == 0:
                entry["top"] = top
            entry["greedy"].append(top[0]["id"])
            entry["greedy_margin"].append(round(top[0]["logprob"] - top[1]["logprob"], 5))
            sequence.append(top[0]["id"])
        found.append(entry)
        print(prompt["id"], file=sys.stderr, flush=True)
    with open(args.model, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    body = {
        "model": os.path.basename(args.model), "model_sha256": digest,
        "made_with": {"evaluation": "llama.cpp on an F32 copy of the weights, F32 key-value cache, no flash attention", "xllamacpp": xllamacpp.__version__},
        "prompts": found,
    }
    with open(args.out, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")


if __name__ == "__main__":
    main()
