"""Makes the fixtures of this package with NumPy alone.

    pip install numpy
    python reference.py all-MiniLM-L6-v2.safetensors all-MiniLM-L6-v2.vocab.txt

Writes matches.json (greedy matching of token embeddings: all-MiniLM-L6-v2 in double
precision, special tokens left out, with and without weights for rare tokens).
"""

import hashlib
import json
import math
import re
import struct
import sys

import numpy as np

PAIRS = [
    ("A cat sat on the mat.", "A kitten rests on a rug."),
    ("A cat sat on the mat.", "The central bank raised interest rates."),
    ("The central bank raised interest rates.", "Interest rates were raised by the bank."),
    ("The weather is cold today", "The weather is cold today"),
    ("It is freezing today", "The weather is cold today"),
    ("guitar", "piano"),
    ("piano", "The pianist played for two hours without a pause"),
    ("Amanda baked cookies and will bring Jerry some tomorrow.", "Amanda will bring Jerry cookies."),
    ("Amanda baked cookies and will bring Jerry some tomorrow.", "Jerry dislikes everything."),
    ("name: The Golden Goose, food: Italian", "The Golden Goose serves Italian food."),
    ("zyzzyva xylograph", "unbelievably antidisestablishmentarianism"),
    ("one two three", "three two one"),
    ("!?", "..."),
    ("42", "43"),
    ("the the the the", "the"),
]


def tensors(path):
    with open(path, "rb") as f:
        data = f.read()
    n = struct.unpack("<Q", data[:8])[0]
    out = {}
    for name, t in json.loads(data[8:8 + n]).items():
        if name != "__metadata__" and t["dtype"] == "F32":
            a, b = t["data_offsets"]
            out[name] = np.frombuffer(data[8 + n + a:8 + n + b], "<f4").reshape(t["shape"]).astype(np.float64)
    return out, hashlib.sha256(data).hexdigest()


def pieces(text, vocabulary):
    """Word pieces of plain ASCII."""
    out = []
    for word in re.findall(r"[a-z0-9]+|[^a-z0-9\s]", text.lower()):
        start = 0
        found = []
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = ("##" if start else "") + word[start:end]
                if piece in vocabulary:
                    break
            else:
                found = ["[UNK]"]
                break
            found.append(piece)
            start = end
        out += found
    return out


def norm(x, w, name):
    m = x.mean(-1, keepdims=True)
    v = ((x - m) ** 2).mean(-1, keepdims=True)
    return (x - m) / np.sqrt(v + 1e-12) * w[name + ".weight"] + w[name + ".bias"]


erf = np.vectorize(math.erf)


def forward(ids, w):
    def dense(x, name):
        return x @ w[name + ".weight"].T + w[name + ".bias"]

    e = "embeddings."
    x = w[e + "word_embeddings.weight"][ids] + w[e + "position_embeddings.weight"][:len(ids)]
    x = norm(x + w[e + "token_type_embeddings.weight"][0], w, e + "LayerNorm")
    for i in range(6):
        l = "encoder.layer.%d." % i
        q, k, v = (dense(x, l + "attention.self." + p).reshape(len(ids), 12, 32).transpose(1, 0, 2)
                   for p in ("query", "key", "value"))
        s = q @ k.transpose(0, 2, 1) / math.sqrt(32)
        s = np.exp(s - s.max(-1, keepdims=True))
        mixed = (s / s.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(len(ids), -1)
        x = norm(x + dense(mixed, l + "attention.output.dense"), w, l + "attention.output.LayerNorm")
        up = dense(x, l + "intermediate.dense")
        up = up * (1 + erf(up / math.sqrt(2))) / 2
        x = norm(x + dense(up, l + "output.dense"), w, l + "output.LayerNorm")
    return x


def encode(text, vocabulary, w):
    p = pieces(text, vocabulary)
    x = forward([vocabulary[t] for t in ["[CLS]"] + p + ["[SEP]"]], w)[1:-1]
    return p, x / np.linalg.norm(x, axis=-1, keepdims=True)


def greedy(want, got, idf):
    (wp, wv), (gp, gv) = want, got
    s = gv @ wv.T
    p = np.average(s.max(1), weights=[idf(t) for t in gp])
    r = np.average(s.max(0), weights=[idf(t) for t in wp])
    return [p, r, 2 * p * r / (p + r)]


def matches(weights, words):
    w, sha = tensors(weights)
    with open(words, encoding="utf-8") as f:
        vocabulary = {line.rstrip("\n"): i for i, line in enumerate(f)}
    encoded = [(encode(a, vocabulary, w), encode(b, vocabulary, w)) for a, b in PAIRS]

    def rare(piece):
        have = sum(piece in a[0] for a, _ in encoded)
        return math.log((len(PAIRS) + 1) / (have + 1))

    items = [{"want": a, "got": b, "pieces": g[0],
              "plain": greedy(x, g, lambda _: 1), "rare": greedy(x, g, rare)}
             for (a, b), (x, g) in zip(PAIRS, encoded)]
    with open("matches.json", "w") as f:
        json.dump({"made_with": "numpy " + np.__version__, "sha256": sha, "items": items}, f, indent=1)
        f.write("\n")


matches(sys.argv[1], sys.argv[2])
